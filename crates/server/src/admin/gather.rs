//! Gather: what handlers ask of all shards, and how shards' numbers become the node's.

use std::path::Path;
use std::sync::Arc;

use helenus_data::TableId;
use helenus_schema::{KeyspaceOrigin, SchemaSnapshot, Table};
use helenus_storage::{EstimatedHistogram, Histogram, TableStats, merge_estimates};

use super::AdminState;
use super::api::Distribution;
use super::problem::Refusal;
use crate::work::ShardView;

impl AdminState {
    pub(super) async fn shard_views(&self) -> Result<Vec<ShardView>, Refusal> {
        let views = self.links.run_on_all(|server| async move { ShardView::of(&server) });
        Ok(views.await?)
    }

    pub(super) async fn schema(&self) -> Result<Arc<SchemaSnapshot>, Refusal> {
        Ok(self.links.run(0, |server| async move { server.cluster.schema() }).await?)
    }

    /// Tables whose data is in files, by name.
    pub(super) fn stored_tables(schema: &SchemaSnapshot) -> Vec<Arc<Table>> {
        let stored = schema.keyspaces().filter(|keyspace| keyspace.origin != KeyspaceOrigin::Virtual);
        stored.flat_map(|keyspace| keyspace.tables.values().cloned()).collect()
    }

    /// For each table, what every shard says of it.
    pub(super) async fn table_stats(&self, tables: &[TableId]) -> Result<Vec<Vec<TableStats>>, Refusal> {
        let wanted: Arc<[TableId]> = tables.into();
        let job = move |server: std::rc::Rc<crate::shard::ShardServer>| {
            let wanted = Arc::clone(&wanted);
            async move {
                let storage = server.cluster.storage();
                wanted.iter().map(|table| storage.table_stats(*table)).collect::<Vec<_>>()
            }
        };
        let by_shard = self.links.run_on_all(job).await?;
        let of_table = |index: usize| by_shard.iter().filter_map(|stats| stats.get(index).cloned()).collect();
        Ok((0..tables.len()).map(of_table).collect())
    }
}

/// The node's load: bytes of all live files.
pub(super) fn load_bytes(stats: &[Vec<TableStats>]) -> u64 {
    stats.iter().flatten().map(|stats| stats.live_bytes).sum()
}

pub(super) fn distribution(histogram: &Histogram) -> Distribution {
    Distribution {
        count: histogram.count(),
        mean: mean(histogram).unwrap_or(0.0),
        min: histogram.min() as f64,
        max: histogram.max() as f64,
        ..percentiles(|share| histogram.percentile(share) as f64)
    }
}

pub(super) fn estimated_distribution(histogram: &EstimatedHistogram) -> Distribution {
    Distribution {
        count: histogram.count(),
        mean: histogram.mean(),
        min: histogram.min() as f64,
        max: histogram.max() as f64,
        ..percentiles(|share| histogram.percentile(share) as f64)
    }
}

/// A distribution of which only the percentiles are filled in.
fn percentiles(of: impl Fn(f64) -> f64) -> Distribution {
    Distribution { p50: of(0.5), p75: of(0.75), p95: of(0.95), p98: of(0.98), p99: of(0.99), ..Distribution::default() }
}

/// What the files of all shards say of their partitions; `None` without files.
pub(super) fn merged_estimates(
    stats: &[TableStats],
    field: impl Fn(&TableStats) -> Option<&EstimatedHistogram>,
) -> Option<EstimatedHistogram> {
    let mut all = None;
    stats.iter().filter_map(field).for_each(|estimate| merge_estimates(&mut all, estimate));
    all
}

/// `None` without observations.
pub(super) fn mean(histogram: &Histogram) -> Option<f64> {
    let count = histogram.count();
    (0 < count).then(|| histogram.sum() as f64 / count as f64)
}

pub(super) fn merged<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut all = Histogram::default();
    histograms.for_each(|histogram| all.merge(histogram));
    all
}

/// Bytes of RAM that the process has; 0 where the system does not say.
pub(super) fn resident_bytes() -> u64 {
    // A file of the kernel without a length, answered from memory: not what `env::Disk` is for.
    let text = read_proc(Path::new("/proc/self/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().unwrap_or(0);
    kibibytes.saturating_mul(1024)
}

fn read_proc(path: &Path) -> Option<String> {
    use rustix::fs::{Mode, OFlags};
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut buffer = [0u8; 4096];
    let read = rustix::io::read(&file, &mut buffer).ok()?;
    std::str::from_utf8(buffer.get(..read)?).ok().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_several_shards_are_those_of_all_observations() {
        let (mut one, mut two) = (Histogram::default(), Histogram::default());
        (1..=50).for_each(|value| one.record(value));
        (51..=100).for_each(|value| two.record(value));
        let all = distribution(&merged([&one, &two].into_iter()));
        assert_eq!((all.count, all.p50 as u64, all.max as u64), (100, 50, 100));
        assert!((all.mean - 50.5).abs() < 1e-9);
        assert_eq!(mean(&Histogram::default()), None);
    }

    #[test]
    fn the_process_has_memory() {
        assert!(1 << 20 < resident_bytes());
    }
}
