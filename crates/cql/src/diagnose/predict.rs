//! Prediction: which alternative of a decision the next tokens ask for.
//!
//! All alternatives are followed at once, token by token, until one is left. A rule that ends where the decision began
//! in it may be followed by whatever follows any of its calls: Cassandra's parser knows no more either.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, DefaultHasher};

use super::network::{DecisionId, Network, Node, NodeId};
use super::stream::{NotAToken, Stream};
use crate::token::TokenKind;

/// Without a random seed; nothing depends on the order either.
type Hasher = BuildHasherDefault<DefaultHasher>;

/// Where one alternative may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Config {
    node: NodeId,
    alternative: u32,
    /// Calls to return from, in [`Predictor::frames`].
    stack: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Frame {
    return_to: NodeId,
    below: u32,
}

/// More than any decision has: statements are chosen among 43.
const ALTERNATIVES_MAX: usize = 64;

/// A mark for each alternative.
pub(super) type Alternatives = [bool; ALTERNATIVES_MAX];

/// The bottom of every stack: what was called before the decision is not known.
const EMPTY: u32 = 0;

/// What a decision comes to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Prediction {
    /// Take this alternative; so many tokens were looked at.
    Take { alternative: usize, looked_at: usize },
    /// The first token leaves several alternatives, and one of them has a guard to ask: Cassandra looks no further.
    Ask { alternatives: Alternatives },
    /// Nothing fits the token so far ahead.
    Stuck { ahead: usize },
}

/// Where the alternatives of one decision stand after certain tokens.
struct State {
    configs: Vec<Config>,
    verdict: Verdict,
    /// Tokens already followed from here, and the states that they lead to.
    edges: Vec<(TokenKind, StateId)>,
}

type StateId = u32;

/// What a state says about its decision.
#[derive(Clone, Copy, Debug)]
enum Verdict {
    /// Another token is needed.
    Open,
    Take(u32),
    Ask(Alternatives),
    Stuck,
}

/// Predicts, and remembers every state that it computed: the next prediction with the same tokens is a look-up.
pub(super) struct Predictor<'a> {
    network: &'a Network,
    frames: Vec<Frame>,
    frame_ids: HashMap<Frame, u32, Hasher>,
    states: Vec<State>,
    /// By decision.
    starts: Vec<Option<StateId>>,
    steps_left: usize,
}

impl<'a> Predictor<'a> {
    pub(super) fn new(network: &'a Network, steps_max: usize) -> Self {
        Self {
            network,
            frames: vec![Frame { return_to: 0, below: EMPTY }],
            frame_ids: HashMap::default(),
            states: Vec::new(),
            starts: vec![None; network.decisions.len()],
            steps_left: steps_max,
        }
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.steps_left == 0
    }

    /// Follows the alternatives of a decision from the visible token `at` on.
    pub(super) fn predict(&mut self, id: DecisionId, stream: &Stream<'_>, at: usize) -> Result<Prediction, NotAToken> {
        let mut state = self.start(id);
        let mut looked_at = 0;
        loop {
            let kind = stream.fetch(at + looked_at)?;
            state = self.follow(id, state, kind);
            looked_at += 1;
            match self.states[state as usize].verdict {
                Verdict::Open => {}
                Verdict::Take(alternative) => {
                    return Ok(Prediction::Take { alternative: alternative as usize, looked_at });
                }
                Verdict::Ask(alternatives) => return Ok(Prediction::Ask { alternatives }),
                Verdict::Stuck => return Ok(Prediction::Stuck { ahead: looked_at - 1 }),
            }
        }
    }

    fn start(&mut self, id: DecisionId) -> StateId {
        if let Some(start) = self.starts[id as usize] {
            return start;
        }
        let starts = self.network.decision(id).alternatives.iter().zip(0..);
        let starts = starts.map(|(node, alternative)| Config { node: *node, alternative, stack: EMPTY }).collect();
        let configs = self.closure(starts);
        let start = self.add_state(configs, Verdict::Open);
        self.starts[id as usize] = Some(start);
        start
    }

    fn add_state(&mut self, configs: Vec<Config>, verdict: Verdict) -> StateId {
        self.states.push(State { configs, verdict, edges: Vec::new() });
        u32::try_from(self.states.len() - 1).expect("states are fewer than steps")
    }

    /// The state after one more token.
    fn follow(&mut self, id: DecisionId, from: StateId, kind: TokenKind) -> StateId {
        let state = &self.states[from as usize];
        if let Some((_, to)) = state.edges.iter().find(|(followed, _)| *followed == kind) {
            return *to;
        }
        let moved: Vec<Config> = state.configs.iter().filter_map(|config| self.step(*config, kind)).collect();
        let left = alternatives_left(&moved);
        let unique = left.iter().filter(|left| **left).count() == 1;
        // With one alternative left there is nothing to look ahead for.
        let mut configs = if unique { moved } else { self.closure(moved) };
        let first = self.starts[id as usize] == Some(from);
        let verdict = self.judge(id, &mut configs, left, first);
        let to = self.add_state(configs, verdict);
        self.states[from as usize].edges.push((kind, to));
        to
    }

    /// `first`: one token was seen so far.
    fn judge(&self, id: DecisionId, configs: &mut Vec<Config>, left: Alternatives, first: bool) -> Verdict {
        let guards = &self.network.decision(id).guards;
        let several = left.iter().filter(|left| **left).count() > 1;
        if first && several && guards.iter().zip(left).any(|(guard, left)| left && guard.is_some()) {
            return Verdict::Ask(left);
        }
        loop {
            let Some(alternative) = configs.first().map(|config| config.alternative) else {
                return Verdict::Stuck;
            };
            if configs.iter().all(|config| config.alternative == alternative) {
                return Verdict::Take(alternative);
            }
            let Some(conflicting) = self.conflicting(configs) else {
                return if self.is_exhausted() { Verdict::Stuck } else { Verdict::Open };
            };
            let kept = conflicting.iter().position(|conflicts| *conflicts).unwrap_or(0);
            configs.retain(|config| {
                let index = config.alternative as usize;
                index == kept || !conflicting[index]
            });
        }
    }

    fn step(&self, config: Config, kind: TokenKind) -> Option<Config> {
        let next = match self.network.node(config.node) {
            Node::Token { kind: wanted, next } if *wanted == kind => *next,
            Node::Set { kinds, next } if kinds.contains(kind) => *next,
            _ => return None,
        };
        Some(Config { node: next, ..config })
    }

    /// Everything reachable without a token; only what waits for a token is kept.
    fn closure(&mut self, mut pending: Vec<Config>) -> Vec<Config> {
        pending.reverse();
        let mut seen: HashSet<Config, Hasher> = HashSet::default();
        let mut waiting = Vec::new();
        while let Some(config) = pending.pop() {
            if !seen.insert(config) || self.steps_left == 0 {
                continue;
            }
            self.steps_left -= 1;
            match self.network.node(config.node) {
                Node::Token { .. } | Node::Set { .. } => waiting.push(config),
                Node::Pass(next) => pending.push(Config { node: *next, ..config }),
                Node::Choice(decision) => {
                    let alternatives = &self.network.decision(*decision).alternatives;
                    pending.extend(alternatives.iter().rev().map(|node| Config { node: *node, ..config }));
                }
                Node::Call { rule, next } => {
                    let stack = self.push(*next, config.stack);
                    pending.push(Config { node: self.network.rule(*rule).start, stack, ..config });
                }
                Node::End(rule) if config.stack == EMPTY => {
                    let follows = &self.network.rule(*rule).follows;
                    if follows.is_empty() {
                        // Past the end of the text: nothing to wait for, but a place to stand.
                        waiting.push(config);
                    }
                    pending.extend(follows.iter().rev().map(|node| Config { node: *node, ..config }));
                }
                Node::End(_) => {
                    let frame = self.frames[config.stack as usize];
                    pending.push(Config { node: frame.return_to, stack: frame.below, ..config });
                }
            }
        }
        waiting
    }

    fn push(&mut self, return_to: NodeId, below: u32) -> u32 {
        let frame = Frame { return_to, below };
        let next = u32::try_from(self.frames.len()).unwrap_or(EMPTY);
        let id = *self.frame_ids.entry(frame).or_insert(next);
        if id == next {
            self.frames.push(frame);
        }
        id
    }

    /// Alternatives that stand at the same node and would go on alike.
    fn conflicting(&self, configs: &[Config]) -> Option<Alternatives> {
        let mut sorted: Vec<&Config> = configs.iter().collect();
        sorted.sort_by_key(|config| config.node);
        let mut conflicting = [false; ALTERNATIVES_MAX];
        for group in sorted.chunk_by(|a, b| a.node == b.node) {
            for (index, one) in group.iter().enumerate() {
                for other in &group[index + 1..] {
                    if one.alternative != other.alternative && self.goes_on_alike(one.stack, other.stack) {
                        for alternative in [one.alternative, other.alternative] {
                            if let Some(flag) = conflicting.get_mut(alternative as usize) {
                                *flag = true;
                            }
                        }
                    }
                }
            }
        }
        conflicting.contains(&true).then_some(conflicting)
    }

    /// Equal stacks, or one the upper part of the other: an unknown rest may be anything.
    fn goes_on_alike(&self, mut one: u32, mut other: u32) -> bool {
        while one != EMPTY && other != EMPTY {
            if one == other {
                return true;
            }
            let (upper, lower) = (self.frames[one as usize], self.frames[other as usize]);
            if upper.return_to != lower.return_to {
                return false;
            }
            (one, other) = (upper.below, lower.below);
        }
        true
    }
}

fn alternatives_left(configs: &[Config]) -> Alternatives {
    let mut left = [false; ALTERNATIVES_MAX];
    for config in configs {
        if let Some(flag) = left.get_mut(config.alternative as usize) {
            *flag = true;
        }
    }
    left
}
