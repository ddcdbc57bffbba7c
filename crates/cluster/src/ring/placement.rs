//! Placement: the nodes that hold each range's copies, computed once per topology and replication.
//!
//! Source: Cassandra 5.0, `SimpleStrategy.calculateNaturalReplicas`, `NetworkTopologyStrategy.calculateNaturalReplicas`.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use helenus_data::TableId;
use helenus_schema::SchemaSnapshot;
use helenus_types::token::Token;
use smallvec::SmallVec;

use super::{NodeIndex, Replication, Ring, RingNode};

type Replicas = SmallVec<[NodeIndex; 6]>;

/// The replicas of every range under one replication.
#[derive(Debug)]
pub(crate) struct Placement {
    pub replication: Replication,
    pub ring: Rc<Ring>,
    /// By range, in ring order from the range's owner on.
    by_range: Vec<Replicas>,
}

impl Placement {
    pub fn new(ring: &Rc<Ring>, replication: Replication) -> Self {
        let replicas_of = |range| match &replication {
            Replication::Local => SmallVec::from_slice(&[ring.local()]),
            Replication::Simple { factor } => first_distinct(ring, range, *factor),
            Replication::NetworkTopology(factors) => spread_over_racks(ring, range, factors),
        };
        let by_range = (0..ring.range_count().max(1)).map(replicas_of).collect();
        Self { replication, ring: Rc::clone(ring), by_range }
    }

    pub fn replicas(&self, token: Token) -> &[NodeIndex] {
        &self.by_range[self.ring.range_of(token)]
    }

    /// The different sets of replicas that the ranges have.
    pub fn distinct_replicas(&self) -> impl Iterator<Item = &[NodeIndex]> {
        let mut seen = BTreeSet::new();
        self.by_range.iter().map(|replicas| &**replicas).filter(move |replicas| seen.insert(*replicas))
    }
}

fn first_distinct(ring: &Ring, range: usize, factor: usize) -> Replicas {
    let mut replicas = Replicas::new();
    for node in ring.owners_from(range) {
        if factor <= replicas.len() {
            break;
        }
        if !replicas.contains(&node) {
            replicas.push(node);
        }
    }
    replicas
}

/// What is still to be placed in one data centre.
struct Quota<'r> {
    left: usize,
    /// Nodes of racks that have one already may be taken so many times, because there are fewer racks than copies.
    repeats_left: usize,
    racks: BTreeSet<&'r str>,
}

fn spread_over_racks(ring: &Ring, range: usize, factors: &BTreeMap<String, usize>) -> Replicas {
    let mut quotas: BTreeMap<&str, Quota<'_>> = BTreeMap::new();
    for (data_center, factor) in factors {
        let nodes: Vec<&RingNode> = ring.all_nodes().filter(|node| *node.data_center == **data_center).collect();
        let rack_count = nodes.iter().map(|node| &node.rack).collect::<BTreeSet<_>>().len();
        let repeats_left = factor.saturating_sub(rack_count);
        quotas.insert(data_center, Quota { left: nodes.len().min(*factor), repeats_left, racks: BTreeSet::new() });
    }
    let mut replicas = Replicas::new();
    for index in ring.owners_from(range) {
        let node = ring.node(index);
        let Some(quota) = quotas.get_mut(&*node.data_center) else { continue };
        if quota.left == 0 || replicas.contains(&index) {
            continue;
        }
        if !quota.racks.insert(&node.rack) {
            // The copies that are left must go to as many other racks.
            let Some(repeats_left) = quota.repeats_left.checked_sub(1) else { continue };
            quota.repeats_left = repeats_left;
        }
        quota.left -= 1;
        replicas.push(index);
        if quotas.values().all(|quota| quota.left == 0) {
            break;
        }
    }
    replicas
}

/// The placement of every stored table of a schema.
pub(crate) struct Placements {
    ring: Rc<Ring>,
    by_table: BTreeMap<TableId, Rc<Placement>>,
}

impl Placements {
    pub fn new(ring: Rc<Ring>, schema: &SchemaSnapshot) -> Self {
        let mut placements = Self { ring, by_table: BTreeMap::new() };
        placements.adopt(schema);
        placements
    }

    /// Takes a schema over; what the ring and a replication give is computed once.
    pub fn adopt(&mut self, schema: &SchemaSnapshot) {
        let known = std::mem::take(&mut self.by_table).into_values();
        let mut known: BTreeMap<Replication, Rc<Placement>> =
            known.map(|placement| (placement.replication.clone(), placement)).collect();
        for keyspace in schema.keyspaces().filter(|keyspace| !keyspace.is_virtual()) {
            let replication = Replication::of(keyspace);
            let placement = known
                .entry(replication)
                .or_insert_with_key(|replication| Rc::new(Placement::new(&self.ring, replication.clone())));
            let tables = keyspace.tables.values().map(|table| (table.id, Rc::clone(placement)));
            self.by_table.extend(tables);
        }
    }

    /// `None` for a table that is not in the schema, or whose contents are computed.
    pub fn of(&self, table: TableId) -> Option<&Rc<Placement>> {
        self.by_table.get(&table)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Random rings, replications and tokens with the replicas that Cassandra 5.0.9 chose; see `tests/oracle/Placement.java`.
    const GOLDEN: &str = include_str!("../../golden/placement.txt");

    /// The node numbers of the golden file by index here.
    fn ring_of(nodes: &BTreeMap<usize, (RingNode, Vec<Token>)>) -> (Rc<Ring>, Vec<usize>) {
        let ring = Ring::new(nodes.values().cloned().collect(), NodeIndex(0));
        (Rc::new(ring), nodes.keys().copied().collect())
    }

    fn replication_of(words: &[&str]) -> Replication {
        let factors: Vec<(&str, usize)> = words[2..]
            .iter()
            .map(|word| word.split_once('=').expect("name=factor"))
            .map(|(name, factor)| (name, factor.parse().expect("a factor")))
            .collect();
        match words[1] {
            "SimpleStrategy" => Replication::Simple { factor: factors[0].1 },
            _ => {
                let factors = factors.into_iter().filter(|(_, factor)| 0 < *factor);
                Replication::NetworkTopology(factors.map(|(name, factor)| (name.to_owned(), factor)).collect())
            }
        }
    }

    #[test]
    fn replicas_stand_where_cassandra_puts_them() {
        let mut nodes: BTreeMap<usize, (RingNode, Vec<Token>)> = BTreeMap::new();
        let mut placement = None;
        let mut checked = 0;
        for line in GOLDEN.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[0] {
                "ring" => nodes.clear(),
                "node" => {
                    let node = RingNode { data_center: words[2].into(), rack: words[3].into() };
                    let tokens = words[4..].iter().map(|word| Token(word.parse().expect("a token"))).collect();
                    nodes.insert(words[1].parse().expect("a number"), (node, tokens));
                }
                "replication" => {
                    let (ring, numbers) = ring_of(&nodes);
                    placement = Some((Placement::new(&ring, replication_of(&words)), numbers));
                }
                "at" => {
                    let (placement, numbers) = placement.as_ref().expect("a replication stands before");
                    let token = Token(words[1].parse().expect("a token"));
                    let found: Vec<usize> = placement.replicas(token).iter().map(|node| numbers[node.0]).collect();
                    let expected: Vec<usize> = words[2..].iter().map(|word| word.parse().expect("a number")).collect();
                    assert_eq!(found, expected, "{:?} at {token} of {nodes:?}", placement.replication);
                    checked += 1;
                }
                _ => assert!(line.starts_with('#'), "{line}"),
            }
        }
        assert!(500 < checked, "{checked} tokens");
    }
}
