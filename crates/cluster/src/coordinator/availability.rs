//! Availability: how many replicas a consistency level waits for, and whether enough of them are alive to begin.

use crate::consistency::Consistency;
use crate::error::ClusterError;
use crate::ring::{NodeIndex, Placement, Replication};

impl Consistency {
    /// How many replicas must answer, seen from `data_center`.
    pub(crate) fn block_for(self, replication: &Replication, data_center: &str) -> usize {
        match self {
            Consistency::Any | Consistency::One | Consistency::LocalOne | Consistency::NodeLocal => 1,
            Consistency::Two => 2,
            Consistency::Three => 3,
            Consistency::Quorum | Consistency::Serial => quorum(replication.factor()),
            Consistency::LocalQuorum | Consistency::LocalSerial => quorum(replication.factor_in(data_center)),
            Consistency::EachQuorum => match replication.per_data_center() {
                Some(factors) => factors.values().map(|factor| quorum(*factor)).sum(),
                None => quorum(replication.factor()),
            },
            Consistency::All => replication.factor(),
        }
    }

    /// Refuses what cannot succeed: not enough of `replicas` are alive.
    ///
    /// # Errors
    /// [`ClusterError::Unavailable`], with Cassandra's counts.
    ///
    /// Source: Cassandra 5.0, `locator.ReplicaPlans.assureSufficientLiveReplicas`.
    pub(crate) fn check_available(
        self,
        placement: &Placement,
        replicas: &[NodeIndex],
        is_alive: impl Fn(NodeIndex) -> bool,
    ) -> Result<(), ClusterError> {
        let ring = &*placement.ring;
        let local = ring.local_data_center();
        let required = self.block_for(&placement.replication, local);
        let alive_in = |data_center: Option<&str>| {
            let counts = |index: NodeIndex| data_center.is_none_or(|name| *ring.node(index).data_center == *name);
            replicas.iter().filter(|index| is_alive(**index) && counts(**index)).count()
        };
        let refuse_below = |alive: usize| {
            if alive < required {
                return Err(ClusterError::Unavailable { consistency: self, required, alive, data_center: None });
            }
            Ok(())
        };
        match self {
            // A hint here will do.
            Consistency::Any => Ok(()),
            Consistency::LocalOne | Consistency::LocalQuorum | Consistency::LocalSerial => {
                refuse_below(alive_in(Some(local)))
            }
            Consistency::EachQuorum if let Some(factors) = placement.replication.per_data_center() => {
                for (data_center, factor) in factors {
                    let required = quorum(*factor);
                    if alive_in(Some(data_center)) < required {
                        let data_center = Some(data_center.clone());
                        // Cassandra says 0 here however many are alive.
                        return Err(ClusterError::Unavailable { consistency: self, required, alive: 0, data_center });
                    }
                }
                Ok(())
            }
            Consistency::One
            | Consistency::Two
            | Consistency::Three
            | Consistency::Quorum
            | Consistency::All
            | Consistency::EachQuorum
            | Consistency::Serial
            | Consistency::NodeLocal => refuse_below(alive_in(None)),
        }
    }
}

fn quorum(factor: usize) -> usize {
    factor / 2 + 1
}
