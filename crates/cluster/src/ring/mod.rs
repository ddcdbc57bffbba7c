//! Ring: which node owns which token, and which nodes hold a copy of what is there.
//!
//! ```text
//!          t0        t1          t2       t3
//!   ───┬────┬─────────┬───────────┬────────┬───   range i is (t(i-1), ti]; what is above the last token
//!      …  0 │    1    │     2     │    3   │  0   belongs to range 0, which wraps
//! ```
//!
//! Read `Ring`, then `replication` (how many copies a keyspace wants, and where), then `placement` (the nodes that hold
//! them, per range). All of it is immutable and free of I/O: a change of topology or schema makes new ones.

mod placement;
mod replication;

pub(crate) use placement::{Placement, Placements};
pub(crate) use replication::Replication;

use std::sync::Arc;

use helenus_types::token::Token;

use crate::topology::Topology;

/// A node's place in [`Ring::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeIndex(pub usize);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RingNode {
    pub data_center: Arc<str>,
    pub rack: Arc<str>,
}

/// Invariant: `tokens` rise strictly, and each one's node is in `nodes`.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    nodes: Vec<RingNode>,
    tokens: Vec<(Token, NodeIndex)>,
    local: NodeIndex,
}

impl Ring {
    /// `nodes` with their tokens; `local` is the node that we are.
    pub fn new(nodes: Vec<(RingNode, Vec<Token>)>, local: NodeIndex) -> Self {
        let mut tokens: Vec<(Token, NodeIndex)> = Vec::new();
        for (index, (_, own)) in nodes.iter().enumerate() {
            tokens.extend(own.iter().map(|token| (*token, NodeIndex(index))));
        }
        tokens.sort_unstable();
        // Two nodes never own one token; were it ever so, all must agree on who has it.
        tokens.dedup_by_key(|(token, _)| *token);
        Self { nodes: nodes.into_iter().map(|(node, _)| node).collect(), tokens, local }
    }

    pub fn of(topology: &Topology) -> Self {
        let address = &topology.address;
        let node = RingNode { data_center: address.data_center.as_str().into(), rack: address.rack.as_str().into() };
        Self::new(vec![(node, topology.identity.tokens.clone())], NodeIndex(0))
    }

    pub fn node(&self, index: NodeIndex) -> &RingNode {
        &self.nodes[index.0]
    }

    pub fn local(&self) -> NodeIndex {
        self.local
    }

    pub fn local_data_center(&self) -> &Arc<str> {
        &self.node(self.local).data_center
    }

    pub fn range_count(&self) -> usize {
        self.tokens.len()
    }

    /// The range that holds `token`, below [`Ring::range_count`]. Zero on a ring without tokens.
    pub fn range_of(&self, token: Token) -> usize {
        let above = self.tokens.partition_point(|(end, _)| *end < token);
        if above == self.tokens.len() { 0 } else { above }
    }

    /// The owners of the ranges from `range` on, once around the ring.
    fn owners_from(&self, range: usize) -> impl Iterator<Item = NodeIndex> + '_ {
        let (before, after) = self.tokens.split_at(range.min(self.tokens.len()));
        after.iter().chain(before).map(|(_, node)| *node)
    }

    fn all_nodes(&self) -> impl Iterator<Item = &RingNode> {
        self.nodes.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(data_center: &str, rack: &str) -> RingNode {
        RingNode { data_center: data_center.into(), rack: rack.into() }
    }

    #[test]
    fn a_token_belongs_to_the_range_that_ends_at_the_next_one_and_the_ring_wraps() {
        let nodes = vec![(node("a", "r"), vec![Token(10), Token(-10)]), (node("a", "r"), vec![Token(0)])];
        let ring = Ring::new(nodes, NodeIndex(0));
        let range_of = |token: i64| ring.range_of(Token(token));
        assert_eq!([-11, -10, -9, 0, 1, 10, 11].map(range_of), [0, 0, 1, 1, 2, 2, 0]);
        assert_eq!(ring.owners_from(1).collect::<Vec<_>>(), [NodeIndex(1), NodeIndex(0), NodeIndex(0)]);
    }
}
