//! The walk through the network: match tokens, enter and leave rules, decide, and stop at the first fault.

use std::collections::BTreeMap;

use super::network::{DecisionId, DecisionKind, Network, Node, NodeId, RuleId};
use super::predict::{Prediction, Predictor};
use super::stream::{NotAToken, Stream};
use crate::token::TokenKind;

/// Elementary steps of all predictions together; remembered states take some ten bytes a step. A statement with a
/// thousand rows needs a hundredth of it.
pub(super) const PREDICTION_STEPS_MAX: usize = 1_000_000;

/// Nodes walked. Ten decisions a token, a few nodes a decision: enough for statements of some hundred KiB.
pub(super) const STEPS_MAX: usize = 8_000_000;

/// Guards within guards: nested parentheses of a select clause, which the tree builder has already bounded.
const GUARDS_MAX: usize = 64;

/// The first thing that Cassandra complains about.
#[derive(Debug)]
pub(super) enum Fault {
    /// Not even a token; noticed while the parser stood at this visible token.
    Lexical {
        noticed: usize,
    },
    Mismatch {
        at: usize,
        expected: &'static str,
    },
    /// The decision began at `start`; the token `at` fits none of the alternatives that were left.
    NoViableAlternative {
        start: usize,
        at: usize,
    },
}

/// Why a walk stops early.
enum Stop {
    Fault(Fault),
    GaveUp,
}

/// What a guard found, by guard and token, so that nested ones are not asked again and again.
type GuardAnswers = BTreeMap<(RuleId, usize), bool>;

pub(super) struct Walk<'a> {
    network: &'a Network,
    stream: Stream<'a>,
    predictor: Predictor<'a>,
    answers: GuardAnswers,
    guards_open: usize,
    steps: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(network: &'a Network, stream: Stream<'a>) -> Self {
        let predictor = Predictor::new(network, PREDICTION_STEPS_MAX);
        Self { network, stream, predictor, answers: GuardAnswers::new(), guards_open: 0, steps: 0 }
    }

    pub(super) fn stream(self) -> Stream<'a> {
        self.stream
    }

    /// The first fault, if there is one and it is found in time.
    pub(super) fn run(&mut self, entry: &str) -> Option<Fault> {
        let rule = self.network.rule_named(entry)?;
        if let Err(NotAToken) = self.stream.fetch(0) {
            return Some(Fault::Lexical { noticed: 0 });
        }
        match self.rule(rule, 0) {
            Err(Stop::Fault(fault)) => Some(fault),
            Err(Stop::GaveUp) | Ok(_) => None,
        }
    }

    /// Walks one rule from the visible token `at`; returns the token after it.
    fn rule(&mut self, rule: RuleId, mut at: usize) -> Result<usize, Stop> {
        let mut stack: Vec<NodeId> = Vec::new();
        let mut node = self.network.rule(rule).start;
        loop {
            self.steps += 1;
            if self.steps > STEPS_MAX || self.predictor.is_exhausted() {
                return Err(Stop::GaveUp);
            }
            match self.network.node(node) {
                Node::Pass(next) => node = *next,
                Node::Token { kind, next } => {
                    if self.fetch(at, at)? != *kind {
                        return Err(Stop::Fault(Fault::Mismatch { at, expected: kind.display_name() }));
                    }
                    if *kind != TokenKind::EndOfInput {
                        at += 1;
                        // Taking a token reads the next one.
                        self.fetch(at, at)?;
                    }
                    node = *next;
                }
                Node::Set { kinds, next } => {
                    if !kinds.contains(self.fetch(at, at)?) {
                        return Err(Stop::Fault(Fault::Mismatch { at, expected: "set null" }));
                    }
                    at += 1;
                    self.fetch(at, at)?;
                    node = *next;
                }
                Node::Call { rule, next } => {
                    stack.push(*next);
                    node = self.network.rule(*rule).start;
                }
                Node::End(_) => match stack.pop() {
                    Some(next) => node = next,
                    None => return Ok(at),
                },
                Node::Choice(decision) => node = self.decide(*decision, at)?,
            }
        }
    }

    fn fetch(&self, visible: usize, noticed: usize) -> Result<TokenKind, Stop> {
        self.stream.fetch(visible).map_err(|NotAToken| Stop::Fault(Fault::Lexical { noticed }))
    }

    fn decide(&mut self, id: DecisionId, at: usize) -> Result<NodeId, Stop> {
        let network = self.network;
        let decision = network.decision(id);
        let prediction = self.predictor.predict(id, &self.stream, at);
        let prediction = prediction.map_err(|NotAToken| Stop::Fault(Fault::Lexical { noticed: at }))?;
        match prediction {
            Prediction::Take { alternative, looked_at } => {
                if decision.by_table && self.fetch(at + looked_at - 1, at)? != TokenKind::EndOfInput {
                    self.fetch(at + looked_at, at)?;
                }
                Ok(decision.alternatives[alternative])
            }
            Prediction::Stuck { .. } if self.predictor.is_exhausted() => Err(Stop::GaveUp),
            Prediction::Stuck { ahead } => match (decision.kind, decision.by_table) {
                (DecisionKind::Exit, false) => Ok(decision.alternatives[decision.alternatives.len() - 1]),
                _ => Err(Stop::Fault(Fault::NoViableAlternative { start: at, at: at + ahead })),
            },
            Prediction::Ask { alternatives } => {
                for (index, guard) in decision.guards.iter().enumerate() {
                    if alternatives.get(index) != Some(&true) {
                        continue;
                    }
                    let matches = match guard {
                        Some(rule) => self.guard_matches(*rule, at)?,
                        None => true,
                    };
                    if matches {
                        // The table reads on past the guard's first token.
                        if self.fetch(at + 1, at)? != TokenKind::EndOfInput {
                            self.fetch(at + 2, at)?;
                        }
                        return Ok(decision.alternatives[index]);
                    }
                }
                Err(Stop::Fault(Fault::NoViableAlternative { start: at, at }))
            }
        }
    }

    /// Whether the guard's rule matches from `at`; faults inside only mean that it does not.
    fn guard_matches(&mut self, rule: RuleId, at: usize) -> Result<bool, Stop> {
        if let Some(answer) = self.answers.get(&(rule, at)) {
            return Ok(*answer);
        }
        if self.guards_open == GUARDS_MAX {
            return Err(Stop::GaveUp);
        }
        self.guards_open += 1;
        let outcome = self.rule(rule, at);
        self.guards_open -= 1;
        let answer = match outcome {
            Ok(_) => true,
            Err(Stop::Fault(Fault::Lexical { .. })) => return Err(Stop::Fault(Fault::Lexical { noticed: at })),
            Err(Stop::Fault(_)) => false,
            Err(Stop::GaveUp) => return Err(Stop::GaveUp),
        };
        self.answers.insert((rule, at), answer);
        Ok(answer)
    }
}
