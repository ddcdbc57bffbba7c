//! Replication: how many copies a keyspace has, per cluster or per data centre, as its `replication` map says.
//!
//! Source: Cassandra 5.0, `locator.SimpleStrategy`, `locator.NetworkTopologyStrategy`, `locator.LocalStrategy`.

use std::collections::BTreeMap;

use helenus_schema::Keyspace;

/// The class names, without their package.
const LOCAL: &str = "LocalStrategy";
const SIMPLE: &str = "SimpleStrategy";

/// A keyspace's strategy with its factors.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Replication {
    /// Each node has contents of its own.
    Local,
    Simple {
        factor: usize,
    },
    /// Factors by data centre; those without copies are left out.
    NetworkTopology(BTreeMap<String, usize>),
}

impl Replication {
    /// DDL accepted the map; what it cannot have let through counts as no copies.
    pub fn of(keyspace: &Keyspace) -> Self {
        let map = &keyspace.params.replication;
        let factor_of = |text: &str| text.parse().unwrap_or(0);
        let class = map.get("class").map_or(LOCAL, String::as_str);
        match class.rsplit('.').next().unwrap_or(class) {
            LOCAL => Self::Local,
            SIMPLE => Self::Simple { factor: map.get("replication_factor").map_or(0, |text| factor_of(text)) },
            _ => {
                let factors = map.iter().filter(|(name, _)| *name != "class");
                let factors = factors.map(|(name, text)| (name.clone(), factor_of(text)));
                Self::NetworkTopology(factors.filter(|(_, factor)| 0 < *factor).collect())
            }
        }
    }

    /// Copies in the whole cluster.
    pub fn factor(&self) -> usize {
        match self {
            Self::Local => 1,
            Self::Simple { factor } => *factor,
            Self::NetworkTopology(factors) => factors.values().sum(),
        }
    }

    /// Copies that `LOCAL_*` levels of a data centre count: the cluster's, unless the strategy tells centres apart.
    pub fn factor_in(&self, data_center: &str) -> usize {
        match self {
            Self::Local | Self::Simple { .. } => self.factor(),
            Self::NetworkTopology(factors) => factors.get(data_center).copied().unwrap_or(0),
        }
    }

    /// Factors by data centre, when the strategy has them.
    pub fn per_data_center(&self) -> Option<&BTreeMap<String, usize>> {
        match self {
            Self::Local | Self::Simple { .. } => None,
            Self::NetworkTopology(factors) => Some(factors),
        }
    }
}
