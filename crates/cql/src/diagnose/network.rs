//! The transition network: `productions.txt` as nodes and decisions.
//!
//! Invariant: every node's successors exist; rule references are resolved when the text is read, which a test does for
//! the one text there is.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::token::TokenKind;

/// Built once, on the first faulty text.
pub(super) static NETWORK: LazyLock<Network> = LazyLock::new(|| Network::read(include_str!("productions.txt")));

pub(super) type NodeId = u32;
pub(super) type RuleId = u32;
pub(super) type DecisionId = u32;

/// A set of token kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TokenSet([u64; 4]);

impl TokenSet {
    pub(super) fn insert(&mut self, kind: TokenKind) {
        let bit = kind as usize;
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    pub(super) fn contains(&self, kind: TokenKind) -> bool {
        let bit = kind as usize;
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }
}

/// One step.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Token {
        kind: TokenKind,
        next: NodeId,
    },
    Set {
        kinds: TokenSet,
        next: NodeId,
    },
    Call {
        rule: RuleId,
        next: NodeId,
    },
    Choice(DecisionId),
    /// Nothing; goes on at `next`.
    Pass(NodeId),
    End(RuleId),
}

/// What a decision decides about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecisionKind {
    /// One of the alternatives must match.
    Block,
    /// The last alternative leaves an optional part or a loop.
    Exit,
}

/// A place with several ways to go on.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub kind: DecisionKind,
    /// Made by table: reads a token more than it needs, and an exit must be seen to fit.
    pub by_table: bool,
    pub alternatives: Vec<NodeId>,
    /// For each alternative the rule that must match from here before it is taken.
    pub guards: Vec<Option<RuleId>>,
}

/// Where a rule starts, and what may follow its calls.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub start: NodeId,
    pub follows: Vec<NodeId>,
}

/// All of it.
#[derive(Debug)]
pub(super) struct Network {
    pub nodes: Vec<Node>,
    pub decisions: Vec<Decision>,
    pub rules: Vec<Rule>,
    names: BTreeMap<String, RuleId>,
}

impl Network {
    pub(super) fn rule_named(&self, name: &str) -> Option<RuleId> {
        self.names.get(name).copied()
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    pub(super) fn decision(&self, id: DecisionId) -> &Decision {
        &self.decisions[id as usize]
    }

    pub(super) fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[id as usize]
    }

    fn read(text: &str) -> Self {
        let productions = productions(text);
        let mut network = Self { nodes: Vec::new(), decisions: Vec::new(), rules: Vec::new(), names: BTreeMap::new() };
        let kinds = TokenKind::ALL.iter().map(|kind| (kind.display_name(), *kind)).collect();
        for (name, _) in &productions {
            network.add_rule(name);
        }
        for (name, body) in &productions {
            let words = words(body);
            let mut builder = Builder { network: &mut network, kinds: &kinds, words: &words, at: 0 };
            let rule = builder.network.names[name];
            let start = builder.rule_body(rule);
            network.rules[rule as usize].start = start;
        }
        network.link_follows();
        network
    }

    fn add_rule(&mut self, name: &str) -> RuleId {
        let id = id32(self.rules.len());
        self.rules.push(Rule { start: 0, follows: Vec::new() });
        self.names.insert(name.to_owned(), id);
        id
    }

    fn link_follows(&mut self) {
        for node in &self.nodes {
            if let Node::Call { rule, next } = node {
                self.rules[*rule as usize].follows.push(*next);
            }
        }
    }

    fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        id32(self.nodes.len() - 1)
    }
}

fn id32(index: usize) -> u32 {
    u32::try_from(index).expect("the network has some thousand nodes")
}

/// Name and body of each production; continued lines start with a space.
fn productions(text: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if let Some(more) = line.strip_prefix(' ') {
            let (_, body) = all.last_mut().expect("the first line starts a production");
            body.push(' ');
            body.push_str(more);
        } else {
            let (name, body) = line.split_once(':').expect("a line is a production or continues one");
            all.push((name.to_owned(), body.to_owned()));
        }
    }
    all
}

/// Words, quoted signs, and the signs of the notation.
fn words(body: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = body.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            _ if rest.starts_with("]=>") => 3,
            _ if first.is_ascii_alphabetic() => {
                rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '_').unwrap_or(rest.len())
            }
            _ => 1,
        };
        let (word, after) = rest.split_at(length);
        all.push(word);
        rest = after.trim_start();
    }
    all
}

struct Builder<'a> {
    network: &'a mut Network,
    kinds: &'a BTreeMap<&'static str, TokenKind>,
    words: &'a [&'a str],
    at: usize,
}

/// Alternatives read but not yet linked to what follows them.
struct Fragment {
    start: NodeId,
    /// A `Pass` whose successor is still to be set.
    end: NodeId,
}

const UNLINKED: NodeId = NodeId::MAX;

impl Builder<'_> {
    fn word(&self) -> Option<&str> {
        self.words.get(self.at).copied()
    }

    fn accept(&mut self, word: &str) -> bool {
        let found = self.word() == Some(word);
        self.at += usize::from(found);
        found
    }

    fn link(&mut self, from: NodeId, to: NodeId) {
        if let Node::Pass(next) = &mut self.network.nodes[from as usize] {
            *next = to;
        }
    }

    fn rule_body(&mut self, rule: RuleId) -> NodeId {
        let by_table = self.accept("@");
        let (alternatives, guards) = self.alternatives();
        let end = self.network.add(Node::End(rule));
        for alternative in &alternatives {
            self.link(alternative.end, end);
        }
        self.choice(&alternatives, guards, DecisionKind::Block, by_table)
    }

    /// A choice among alternatives, or the only one.
    fn choice(
        &mut self,
        alternatives: &[Fragment],
        guards: Vec<Option<RuleId>>,
        kind: DecisionKind,
        by_table: bool,
    ) -> NodeId {
        if let [only] = alternatives {
            return only.start;
        }
        let starts = alternatives.iter().map(|alternative| alternative.start).collect();
        let id = id32(self.network.decisions.len());
        self.network.decisions.push(Decision { kind, by_table, alternatives: starts, guards });
        self.network.add(Node::Choice(id))
    }

    fn alternatives(&mut self) -> (Vec<Fragment>, Vec<Option<RuleId>>) {
        let (mut all, mut guards) = (Vec::new(), Vec::new());
        loop {
            guards.push(self.guard());
            all.push(self.sequence());
            if !self.accept("|") {
                return (all, guards);
            }
        }
    }

    /// `[x]=>`: x becomes a rule of its own.
    fn guard(&mut self) -> Option<RuleId> {
        if !self.accept("[") {
            return None;
        }
        let name = format!("guard {}", self.network.rules.len());
        let rule = self.network.add_rule(&name);
        let body = self.sequence();
        let end = self.network.add(Node::End(rule));
        self.link(body.end, end);
        self.network.rules[rule as usize].start = body.start;
        assert!(self.accept("]=>"), "a guard is closed");
        Some(rule)
    }

    fn sequence(&mut self) -> Fragment {
        let start = self.network.add(Node::Pass(UNLINKED));
        let mut end = start;
        while let Some(word) = self.word() {
            if matches!(word, "|" | ")" | "]=>") {
                break;
            }
            let item = self.repeated();
            self.link(end, item.start);
            end = item.end;
        }
        Fragment { start, end }
    }

    /// An item with what says how often it stands.
    fn repeated(&mut self) -> Fragment {
        let group = self.accept("(");
        let (mut alternatives, mut guards) = if group {
            let inner = self.alternatives();
            assert!(self.accept(")"), "a group is closed");
            inner
        } else {
            (vec![self.single()], vec![None])
        };
        let by_table = self.accept("@");
        let end = self.network.add(Node::Pass(UNLINKED));
        let (optional, looped) = (self.accept("?"), self.accept("*"));
        if !optional && !looped {
            for alternative in &alternatives {
                self.link(alternative.end, end);
            }
            return Fragment { start: self.choice(&alternatives, guards, DecisionKind::Block, by_table), end };
        }
        let exit = self.network.add(Node::Pass(end));
        alternatives.push(Fragment { start: exit, end: exit });
        guards.push(None);
        let start = self.choice(&alternatives, guards, DecisionKind::Exit, by_table);
        alternatives.pop();
        for alternative in &alternatives {
            self.link(alternative.end, if looped { start } else { end });
        }
        Fragment { start, end }
    }

    /// A token, a set of tokens or a rule.
    fn single(&mut self) -> Fragment {
        let end = self.network.add(Node::Pass(UNLINKED));
        let word = self.words.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        let node = if word == "<" {
            let mut kinds = TokenSet::default();
            while !self.accept(">") {
                kinds.insert(self.kind(self.words[self.at]).expect("sets hold tokens"));
                self.at += 1;
            }
            Node::Set { kinds, next: end }
        } else if let Some(kind) = self.kind(word) {
            Node::Token { kind, next: end }
        } else {
            let rule = *self.network.names.get(word).unwrap_or_else(|| unreachable!("no rule {word}"));
            Node::Call { rule, next: end }
        };
        Fragment { start: self.network.add(node), end }
    }

    fn kind(&self, word: &str) -> Option<TokenKind> {
        // The vocabulary spells the asterisk with a backslash.
        self.kinds.get(if word == "'*'" { "'\\*'" } else { word }).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_successor_exists_and_every_rule_but_the_entry_is_called() {
        let count = NETWORK.nodes.len();
        for node in &NETWORK.nodes {
            let next = match node {
                Node::Token { next, .. } | Node::Set { next, .. } | Node::Call { next, .. } | Node::Pass(next) => *next,
                Node::Choice(_) | Node::End(_) => 0,
            };
            assert!((next as usize) < count);
        }
        for (name, rule) in &NETWORK.names {
            let uncalled = NETWORK.rule(*rule).follows.is_empty();
            assert!(!uncalled || name == "query" || name.starts_with("guard"), "{name}");
        }
    }
}
