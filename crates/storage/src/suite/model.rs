//! Random operations against a plain map: whatever is flushed, compacted, killed or resharded, reads stay the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use helenus_data::read::{ReadCommand, ReadTarget};
use helenus_data::{Cell, CellRule, Direction, Liveness, Partition, PartitionKey, Side, Slice};
use helenus_env::Env;
use helenus_types::time::Ttl;

use super::world::{
    OTHER, ROWS, Rng, STATIC, VALUE, World, all_rows, assert_same, calm, clustering, deletion, expected, key, no_tweak,
    schema, schema_of, text,
};

/// How wild it gets.
#[derive(Clone, Copy, Debug)]
pub struct ModelOptions {
    pub seed: u64,
    pub steps: u32,
    /// Restarts change the number of shards, up to this many.
    pub shard_count_max: u32,
    /// With 0, compactions purge at once.
    pub gc_grace_secs: i32,
    /// Whether strategies compact in the background.
    pub auto_compaction: bool,
}

const KEYS: u64 = 12;
const CLUSTERINGS: u64 = 24;

/// # Panics
/// When a read differs from the model.
pub async fn random_operations_match_the_model(env: Env, root: &Path, options: ModelOptions) {
    let mut params = if options.auto_compaction { helenus_schema::TableParams::default() } else { calm() };
    params.gc_grace_seconds = options.gc_grace_secs;
    let schema = schema(params);
    let mut rng = Rng(options.seed);
    let mut model: BTreeMap<PartitionKey, Partition> = BTreeMap::new();
    let mut world = World::start(&env, root, schema.clone()).await;
    let mut timestamp = env.wall_micros();
    for step in 0..options.steps {
        let what = format!("{options:?}, step {step}");
        match rng.below(100) {
            0..70 => {
                timestamp += 1;
                let update = random_update(&mut rng, timestamp, env.wall_secs());
                let entry = model.entry(update.key.clone());
                entry.or_insert_with(|| Partition::new(update.key.clone())).absorb(update.clone(), CellRule::Regular);
                world.write(update).await;
            }
            70..80 => check_one(&world, &model, &mut rng, &what).await,
            80..84 => check_all(&world, &model, &what).await,
            84..92 => world.flush().await,
            92..94 => world.compact().await,
            94 => {
                // Dropped and made again under the same id, as soon as that is noted on disk or when the files are gone.
                world.shards.iter().for_each(|shard| shard.set_schema(schema_of(Vec::new())));
                for _ in 0..300 {
                    let is_noted = world.names_in(&world.table_directory()).await.contains(&"dropped.json".to_owned());
                    if is_noted && rng.below(20) != 0 {
                        break;
                    }
                    env.sleep(Duration::from_millis(1)).await;
                }
                world.shards.iter().for_each(|shard| shard.set_schema(schema.clone()));
                model.clear();
            }
            95 => {
                for shard in &world.shards {
                    shard.truncate(ROWS, env.wall_micros()).await.expect("a healthy node truncates");
                }
                model.clear();
            }
            96..98 => {
                let shard_count = 1 + u32::try_from(rng.below(u64::from(options.shard_count_max))).unwrap_or(0);
                world.kill().await;
                let restarted = World::start_with(&env, root, schema.clone(), shard_count, no_tweak).await;
                world = restarted.unwrap_or_else(|error| panic!("{what}: the node does not start again: {error}"));
                check_all(&world, &model, &what).await;
            }
            _ => {
                let shard_count = 1 + u32::try_from(rng.below(u64::from(options.shard_count_max))).unwrap_or(0);
                world.stop().await;
                let restarted = World::start_with(&env, root, schema.clone(), shard_count, no_tweak).await;
                world = restarted.unwrap_or_else(|error| panic!("{what}: the node does not start again: {error}"));
            }
        }
    }
    check_all(&world, &model, "at the end").await;
    world.stop().await;
}

async fn check_all(world: &World, model: &BTreeMap<PartitionKey, Partition>, what: &str) {
    let now_secs = world.env.wall_secs();
    let found = world.read_all(ROWS, now_secs).await;
    assert_same(&found, &expected(model, &all_rows(ROWS, now_secs)), what);
}

/// One partition, by random slices, in either direction, with limits.
async fn check_one(world: &World, model: &BTreeMap<PartitionKey, Partition>, rng: &mut Rng, what: &str) {
    let key = random_key(rng);
    let mut command = ReadCommand {
        target: ReadTarget::Partition(key.clone()),
        direction: if rng.below(2) == 0 { Direction::Forward } else { Direction::Reversed },
        ..all_rows(ROWS, world.env.wall_secs())
    };
    if rng.below(2) == 0 {
        command.slices = vec![random_slice(rng)];
        command.limits.static_only_counts = false;
    }
    if rng.below(3) == 0 {
        command.limits.rows = 1 + rng.below(5);
    }
    let read = world.shard_of(&key).read(&world.context(), &command).await;
    let read = read.expect("a healthy node answers a read");
    assert_same(&read.partitions, &expected(model, &command), &format!("{what}: {command:?}"));
}

fn random_key(rng: &mut Rng) -> PartitionKey {
    key(small(rng, KEYS))
}

fn small(rng: &mut Rng, bound: u64) -> i32 {
    i32::try_from(rng.below(bound)).expect("small numbers")
}

fn random_slice(rng: &mut Rng) -> Slice {
    let (a, b) = (small(rng, CLUSTERINGS), small(rng, CLUSTERINGS));
    let side = |rng: &mut Rng| if rng.below(2) == 0 { Side::Before } else { Side::After };
    Slice { start: clustering(a.min(b)).as_bound(side(rng)), end: clustering(a.max(b) + 1).as_bound(side(rng)) }
}

fn random_update(rng: &mut Rng, timestamp: i64, now_secs: i64) -> Partition {
    let mut partition = Partition::new(random_key(rng));
    let value = text(&"x".repeat(usize::try_from(rng.below(60)).expect("small numbers")));
    let row_at = clustering(small(rng, CLUSTERINGS));
    match rng.below(12) {
        0..6 => {
            for _ in 0..1 + rng.below(4) {
                let row = partition.row_mut(&clustering(small(rng, CLUSTERINGS)));
                row.liveness = Liveness::new(timestamp, None, now_secs);
                row.add_cell(VALUE, Cell::live(timestamp, value.clone()));
            }
        }
        6 => partition.row_mut(&row_at).add_cell(OTHER, Cell::live(timestamp, value)),
        7 => partition.row_mut(&row_at).add_cell(VALUE, Cell::tombstone(timestamp, now_secs)),
        8 => partition.row_mut(&row_at).deletion = deletion(timestamp, now_secs),
        9 => partition.delete_range(random_slice(rng), deletion(timestamp, now_secs)),
        10 if rng.below(3) == 0 => partition.deletion = deletion(timestamp, now_secs),
        10 => {
            let ttl = Ttl::from_secs(1 + i64::try_from(rng.below(2)).unwrap_or(0)).expect("one or two seconds");
            partition.row_mut(&row_at).add_cell(VALUE, Cell::expiring(timestamp, ttl, now_secs, value));
        }
        _ => partition.static_row_mut().add_cell(STATIC, Cell::live(timestamp, value)),
    }
    partition
}
