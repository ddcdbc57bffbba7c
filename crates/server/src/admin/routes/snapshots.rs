//! Snapshots: list, take, remove.

use std::rc::Rc;
use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use helenus_data::TableId;
use helenus_schema::{SchemaSnapshot, Table};
use helenus_storage::{SnapshotInfo, SnapshotOptions, clear_snapshots, list_snapshots};

use super::{Answer, to_the_end};
use crate::admin::api::{NewSnapshot, Snapshot, SnapshotTaken, Snapshots, SnapshotsRemoved};
use crate::admin::problem::{Body, Refusal};
use crate::admin::{AdminState, Shared};
use crate::shard::{ShardServer, chain};

#[utoipa::path(get, path = "/api/v1/snapshots", responses((status = 200, body = Snapshots)))]
pub(in crate::admin) async fn snapshots(State(state): State<Shared>) -> Answer<Snapshots> {
    let mut found = list(&state).await?;
    found.sort_by(|a, b| (&a.keyspace, &a.table, &a.tag).cmp(&(&b.keyspace, &b.table, &b.tag)));
    let true_bytes = found.iter().map(|info| info.true_sstable_bytes).sum();
    let shown = found.into_iter().map(|info| Snapshot {
        created_at_micros: info.created_at.as_deref().and_then(parse_instant),
        expires_at_micros: info.expires_at.as_deref().and_then(parse_instant),
        tag: info.tag,
        keyspace: info.keyspace,
        table: info.table,
        true_bytes: info.true_bytes,
        size_bytes: info.bytes,
        ephemeral: info.is_ephemeral,
    });
    Ok(Json(Snapshots { snapshots: shown.collect(), true_bytes }))
}

async fn list(state: &AdminState) -> Result<Vec<SnapshotInfo>, Refusal> {
    let directories = vec![state.node.config.directories.data.clone()];
    let found = state.links.run(0, |server: Rc<ShardServer>| async move {
        list_snapshots(&server.env, &directories).await.map_err(|error| chain(&error))
    });
    found.await?.map_err(Refusal::Failed)
}

/// A manifest's instant, `2026-11-21T00:00:00.123Z`, in microseconds since 1970.
fn parse_instant(text: &str) -> Option<i64> {
    let bytes = helenus_types::CqlType::Timestamp.parse_string(text).ok()?;
    let millis = i64::from_be_bytes(bytes.try_into().ok()?);
    millis.checked_mul(1_000)
}

/// Flushes and links the files of the tables that were named.
#[utoipa::path(
    post,
    path = "/api/v1/snapshots",
    request_body = NewSnapshot,
    responses((status = 200, body = SnapshotTaken))
)]
pub(in crate::admin) async fn take(
    State(state): State<Shared>,
    Body(wanted): Body<NewSnapshot>,
) -> Answer<SnapshotTaken> {
    to_the_end(take_on_all_shards(state, wanted)).await
}

async fn take_on_all_shards(state: Shared, wanted: NewSnapshot) -> Answer<SnapshotTaken> {
    let tag = wanted.tag.clone();
    check_tag(&tag)?;
    let created_at_micros = state.env.wall_micros();
    let expires_at_micros = expiry(created_at_micros, wanted.ttl_secs)?;
    let options = SnapshotOptions { created_at_micros, expires_at_micros, skip_flush: wanted.skip_flush };
    let schema = state.schema().await?;
    let tables = selected(&schema, &wanted)?;
    let is_selected = |info: &SnapshotInfo| {
        tables.iter().any(|table| *table.name == *info.table && *table.keyspace == *info.keyspace)
    };
    if list(&state).await?.iter().any(|info| info.tag == tag && is_selected(info)) {
        return Err(Refusal::SnapshotExists { tag });
    }
    let ids: Arc<[TableId]> = tables.iter().map(|table| table.id).collect();
    // One shard after the other: they share each table's directory and manifest.
    for shard in 0..state.node.config.shard_count {
        let (ids, tag) = (Arc::clone(&ids), tag.clone());
        let linked = state.links.run(shard, move |server: Rc<ShardServer>| async move {
            server.cluster.storage().snapshot(&tag, &ids, options).await.map_err(|error| chain(&error))
        });
        linked.await?.map_err(Refusal::Failed)?;
    }
    tracing::info!(tag, tables = tables.len(), skip_flush = wanted.skip_flush, "a snapshot was taken");
    Ok(Json(SnapshotTaken { tag }))
}

/// Snapshots must live so long. Source: Cassandra 5.0, `cassandra.snapshot.min_allowed_ttl_seconds`.
const TTL_SECS_MIN: u64 = 60;

fn expiry(created_at_micros: i64, ttl_secs: Option<u64>) -> Result<Option<i64>, Refusal> {
    let Some(secs) = ttl_secs else { return Ok(None) };
    if secs < TTL_SECS_MIN {
        return Err(Refusal::InvalidRequest(format!("ttl for snapshot must be at least {TTL_SECS_MIN} seconds")));
    }
    let micros = i64::try_from(secs).ok().and_then(|secs| secs.checked_mul(1_000_000));
    let expires = micros.and_then(|micros| created_at_micros.checked_add(micros));
    expires.map(Some).ok_or_else(|| Refusal::InvalidRequest(format!("ttl_secs: {secs} seconds are too many")))
}

/// A tag becomes a directory's name.
fn check_tag(tag: &str) -> Result<(), Refusal> {
    let is_name = !tag.is_empty() && tag != "." && tag != ".." && tag.len() <= 255;
    if is_name && !tag.contains(['/', '\0']) {
        return Ok(());
    }
    Err(Refusal::InvalidRequest("tag: must be a name that a directory can have".to_owned()))
}

/// All tables when neither keyspaces nor tables are named.
fn selected(schema: &SchemaSnapshot, wanted: &NewSnapshot) -> Result<Vec<Arc<Table>>, Refusal> {
    let stored = AdminState::stored_tables(schema);
    for name in &wanted.tables {
        let (keyspace, table) = name.split_once('.').unwrap_or(("", name));
        if !stored.iter().any(|known| &*known.keyspace == keyspace && &*known.name == table) {
            return Err(Refusal::UnknownTable { keyspace: keyspace.to_owned(), table: table.to_owned() });
        }
    }
    if let Some(unknown) = wanted.keyspaces.iter().find(|name| schema.keyspace(name).is_none()) {
        return Err(Refusal::UnknownKeyspace(unknown.clone()));
    }
    let is_wanted = |table: &Arc<Table>| {
        (wanted.keyspaces.is_empty() && wanted.tables.is_empty())
            || wanted.keyspaces.iter().any(|keyspace| **keyspace == *table.keyspace)
            || wanted.tables.iter().any(|name| *name == table.full_name())
    };
    Ok(stored.into_iter().filter(is_wanted).collect())
}

/// What is to be removed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Removal {
    tag: Option<String>,
    all: bool,
    /// All when empty.
    keyspaces: Vec<String>,
    /// Only those created before this instant.
    before_micros: Option<i64>,
}

impl Removal {
    /// By hand, because `keyspace` may come again and again.
    fn parse(query: &str, now_micros: i64) -> Result<Self, String> {
        let mut removal = Self::default();
        for (name, value) in
            query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        {
            let value = percent_decoded(value).ok_or_else(|| format!("{name}: broken percent encoding"))?;
            let number = || value.parse::<i64>().map_err(|_| format!("{name}: '{value}' is no number"));
            match name {
                "tag" => removal.tag = Some(value),
                "all" => removal.all = value == "true",
                "keyspace" => removal.keyspaces.push(value),
                "older_than_secs" => {
                    removal.before_micros = Some(now_micros.saturating_sub(number()?.saturating_mul(1_000_000)));
                }
                "older_than_micros" => removal.before_micros = Some(number()?),
                _ => return Err(format!("unknown parameter {name}")),
            }
        }
        match (&removal.tag, removal.all) {
            (None, false) => Err("Specify snapshot name or --all".to_owned()),
            (Some(_), true) => Err("Specify only one of snapshot name or --all".to_owned()),
            (Some(_), false) | (None, true) => Ok(removal),
        }
    }

    fn takes(&self, info: &SnapshotInfo) -> bool {
        let created = info.created_at.as_deref().and_then(parse_instant);
        let is_old = match (self.before_micros, created) {
            (None, _) => true,
            (Some(before), Some(created)) => created < before,
            (Some(_), None) => false,
        };
        let is_tagged = self.tag.as_ref().is_none_or(|tag| *tag == info.tag);
        let is_inside = self.keyspaces.is_empty() || self.keyspaces.contains(&info.keyspace);
        is_old && is_tagged && is_inside
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                bytes.push(digit(rest.next()?)? << 4 | digit(rest.next()?)?);
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).ok()
}

#[utoipa::path(
    delete,
    path = "/api/v1/snapshots",
    params(
        ("tag" = Option<String>, Query),
        ("all" = Option<bool>, Query),
        ("keyspace" = Option<Vec<String>>, Query),
        ("older_than_secs" = Option<i64>, Query),
        ("older_than_micros" = Option<i64>, Query)
    ),
    responses((status = 200, body = SnapshotsRemoved))
)]
pub(in crate::admin) async fn remove(
    State(state): State<Shared>,
    RawQuery(query): RawQuery,
) -> Answer<SnapshotsRemoved> {
    let removal = Removal::parse(query.as_deref().unwrap_or_default(), state.env.wall_micros());
    let removal = removal.map_err(Refusal::InvalidRequest)?;
    to_the_end(remove_chosen(state, removal)).await
}

async fn remove_chosen(state: Shared, removal: Removal) -> Answer<SnapshotsRemoved> {
    let chosen: Vec<SnapshotInfo> = list(&state).await?.into_iter().filter(|info| removal.takes(info)).collect();
    let mut pairs: Vec<(String, String)> =
        chosen.iter().map(|info| (info.tag.clone(), info.keyspace.clone())).collect();
    pairs.sort();
    pairs.dedup();
    for (tag, keyspace) in pairs {
        let directories = vec![state.node.config.directories.data.clone()];
        let cleared = state.links.run(0, move |server: Rc<ShardServer>| async move {
            let keyspaces = [keyspace];
            let cleared = clear_snapshots(&server.env, &directories, Some(&tag), &keyspaces);
            cleared.await.map_err(|error| chain(&error))
        });
        cleared.await?.map_err(Refusal::Failed)?;
    }
    tracing::info!(removed = chosen.len(), "snapshots were removed");
    Ok(Json(SnapshotsRemoved { removed: chosen.len() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_one_name_of_a_directory() {
        assert!(check_tag("before-upgrade").is_ok());
        for bad in ["", "a/b", "..", "x\0"] {
            assert!(check_tag(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_snapshot_expires_after_a_minute_or_later() {
        assert_eq!(expiry(5, None).unwrap(), None);
        assert_eq!(expiry(5, Some(60)).unwrap(), Some(60_000_005));
        assert!(expiry(5, Some(59)).is_err());
        assert!(expiry(5, Some(u64::MAX)).is_err());
    }

    #[test]
    fn a_removal_names_a_tag_or_all_and_may_be_restricted() {
        let parse = |query: &str| Removal::parse(query, 10_000_000);
        let removal = parse("tag=a%20b&keyspace=k1&keyspace=k2").unwrap();
        assert_eq!((removal.tag.as_deref(), removal.keyspaces.len()), (Some("a b"), 2));
        assert_eq!(parse("all=true&older_than_secs=3").unwrap().before_micros, Some(7_000_000));
        assert!(parse("").is_err());
        assert!(parse("tag=a&all=true").is_err());
        assert!(parse("tag=a&nonsense=1").is_err());
    }

    #[test]
    fn a_manifests_instant_is_read() {
        assert_eq!(parse_instant("1970-01-01T00:00:01.500Z"), Some(1_500_000));
        assert_eq!(parse_instant("nonsense"), None);
    }
}
