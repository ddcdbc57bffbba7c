//! Boot: what a node reads of its metadata before the shards start, and founding a cluster of one.

use std::path::Path;
use std::sync::Arc;

use helenus_env::Env;
use helenus_schema::SchemaSnapshot;
use helenus_types::token::Token;

use crate::error::ClusterError;
use crate::metadata::log::MetadataLog;
use crate::metadata::state::{Command, MetadataState};
use crate::topology::NodeIdentity;

/// What the configuration says about a cluster that may have to be founded.
#[derive(Clone, Debug)]
pub struct Founding {
    pub cluster_name: String,
    pub num_tokens: u32,
    /// When given, its length wins over `num_tokens`.
    pub initial_tokens: Vec<Token>,
}

/// The metadata of a node that is about to start; goes to shard 0.
pub struct Boot {
    pub(crate) log: MetadataLog,
    pub(crate) state: MetadataState,
    identity: NodeIdentity,
    is_new: bool,
}

impl Boot {
    /// Opens the metadata under `directory`; a directory without any founds a cluster of one.
    ///
    /// # Errors
    /// [`ClusterError::Identity`] when the directory belongs to another cluster; disk and format errors.
    pub async fn open(env: &Env, directory: &Path, founding: &Founding) -> Result<Self, ClusterError> {
        let mut is_new = false;
        let first = || {
            is_new = true;
            Command::Found(found(env, founding))
        };
        let (log, state) = MetadataLog::open(env, directory, first).await?;
        let identity = state.identity.clone().expect("a log without it is refused");
        if identity.cluster_name != founding.cluster_name {
            return Err(ClusterError::Identity(format!(
                "Saved cluster name {} != configured name {}: start with --set cluster_name='{}', or give another --data-dir",
                identity.cluster_name, founding.cluster_name, identity.cluster_name
            )));
        }
        Ok(Self { log, state, identity, is_new })
    }

    /// Whether this start founded the cluster.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    #[must_use]
    pub fn identity(&self) -> &NodeIdentity {
        &self.identity
    }

    #[must_use]
    pub fn schema(&self) -> Arc<SchemaSnapshot> {
        Arc::new(self.state.snapshot())
    }

    #[must_use]
    pub fn roles(&self) -> Vec<crate::metadata::Role> {
        self.state.roles.values().cloned().collect()
    }
}

/// A single node's tokens are spread evenly from a random start: replication-aware by construction.
fn found(env: &Env, founding: &Founding) -> NodeIdentity {
    let mut tokens = founding.initial_tokens.clone();
    if tokens.is_empty() {
        let count = u64::from(founding.num_tokens.max(1));
        let stride = u64::MAX / count;
        let start = env.random_u64();
        tokens = (0..count)
            .map(|index| Token::of_hash(start.wrapping_add(stride.wrapping_mul(index)).cast_signed()))
            .collect();
    }
    tokens.sort_unstable();
    NodeIdentity { cluster_name: founding.cluster_name.clone(), host_id: env.new_uuid(), tokens }
}
