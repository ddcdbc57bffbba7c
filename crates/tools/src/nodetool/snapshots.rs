//! `snapshot`, `listsnapshots`, `clearsnapshot`.

use std::fmt::Write as _;
use std::io::Write;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{Snapshot, Snapshots};
use super::command_line::{ClearsnapshotArgs, SnapshotArgs};
use super::failure::Failure;
use super::java_text::{Table, file_size, instant};
use super::node::{Node, with_query};

const TTL_SECS_MIN: u64 = 60;

/// Which rows and columns `listsnapshots` prints.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listing {
    pub without_expiring: bool,
    pub with_ephemeral: bool,
}

#[must_use]
pub fn list_text(snapshots: &Snapshots, listing: Listing) -> String {
    let mut text = String::from("Snapshot Details: \n");
    let wanted = |snapshot: &&Snapshot| {
        !(listing.without_expiring && snapshot.expires_at_micros.is_some())
            && (listing.with_ephemeral || !snapshot.ephemeral)
    };
    let rows: Vec<&Snapshot> = snapshots.snapshots.iter().filter(wanted).collect();
    if rows.is_empty() {
        text.push_str("There are no snapshots\n");
        return text;
    }
    let columns = if listing.with_ephemeral { 8 } else { 7 };
    let mut table = Table::default();
    let titles = [
        "Snapshot name",
        "Keyspace name",
        "Column family name",
        "True size",
        "Size on disk",
        "Creation time",
        "Expiration time",
        "Ephemeral",
    ];
    table.add(titles.into_iter().take(columns));
    for row in rows {
        let cells = [
            row.tag.clone(),
            row.keyspace.clone(),
            row.table.clone(),
            file_size(row.true_bytes),
            file_size(row.size_bytes),
            row.created_at_micros.map_or_else(String::new, instant),
            row.expires_at_micros.map_or_else(String::new, instant),
            row.ephemeral.to_string(),
        ];
        table.add(cells.into_iter().take(columns));
    }
    let _ = write!(text, "{table}\nTotal TrueDiskSpaceUsed: {}\n\n", file_size(snapshots.true_bytes));
    text
}

/// Takes a snapshot. What is asked for is printed before it is tried, as Cassandra does.
///
/// # Errors
/// [`Failure`] with Cassandra's texts. `now_ms`: the tag when none is given.
pub fn take(node: &Node<'_>, arguments: &SnapshotArgs, now_ms: u128, out: &mut dyn Write) -> Result<Value, Failure> {
    let tag = arguments.tag.clone().unwrap_or_else(|| now_ms.to_string());
    let list = arguments.kt_list.as_ref().map(|list| list.replace(' ', "")).filter(|list| !list.is_empty());
    if list.is_some() && !(arguments.keyspaces.is_empty() && arguments.table.is_none()) {
        return Err(Failure::Failed(
            "When specifying the Keyspace table list (using -kt,--kt-list,-kc,--kc.list), you must not also specify \
             keyspaces to snapshot"
                .to_owned(),
        ));
    }
    if tag.contains('/') {
        return Err(Failure::Failed("Snapshot name cannot contain /".to_owned()));
    }
    let ttl_secs = arguments.ttl.as_deref().map(|text| duration_secs(text, Unit::Nanoseconds)).transpose()?;
    announce(arguments, list.as_deref(), &tag, out)?;
    if let Some(0..TTL_SECS_MIN) = ttl_secs {
        return Err(Failure::BadUse(format!("ttl for snapshot must be at least {TTL_SECS_MIN} seconds")));
    }
    // What stands in the list without a point is a keyspace.
    let (tables, listed): (Vec<String>, Vec<String>) =
        list.iter().flat_map(|list| list.split(',')).map(str::to_owned).partition(|name| name.contains('.'));
    let tables: Vec<String> = match (&list, &arguments.table, arguments.keyspaces.as_slice()) {
        (Some(_), _, _) => tables,
        (None, Some(table), [keyspace]) => vec![format!("{keyspace}.{table}")],
        (None, Some(_), _) => {
            return Err(Failure::Failed(
                "When specifying the table for a snapshot, you must specify one and only one keyspace".to_owned(),
            ));
        }
        (None, None, _) => Vec::new(),
    };
    if tag.is_empty() {
        return Err(Failure::Failed("You must supply a snapshot name.".to_owned()));
    }
    let keyspaces = match (&list, tables.as_slice()) {
        (Some(_), _) => listed.as_slice(),
        (None, []) => arguments.keyspaces.as_slice(),
        (None, _) => &[],
    };
    let body = json!({
        "tag": tag, "keyspaces": keyspaces, "tables": tables, "skip_flush": arguments.skip_flush, "ttl_secs": ttl_secs,
    });
    let answer = node.post("/snapshots", &body, &mut || ()).map_err(|failure| match failure {
        // Here Cassandra writes the keyspace without brackets, and takes an unknown table for a mistake of the user's.
        Failure::UnknownKeyspace(message) => {
            Failure::BadUse(message.replace(['[', ']'], "").trim_end_matches('.').to_owned())
        }
        Failure::UnknownTable(message) => Failure::BadUse(message),
        other => other,
    })?;
    writeln!(out, "Snapshot directory: {tag}")?;
    Ok(answer)
}

fn announce(arguments: &SnapshotArgs, list: Option<&str>, tag: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let what = match (list, arguments.keyspaces.as_slice()) {
        (Some(list), _) => list.to_owned(),
        (None, []) => "all keyspaces".to_owned(),
        (None, keyspaces) => keyspaces.join(", "),
    };
    let name = if tag.is_empty() { String::new() } else { format!(" with snapshot name [{tag}]") };
    let ttl = arguments.ttl.as_ref().map_or_else(String::new, |ttl| format!(", ttl={ttl}"));
    let skip_flush = arguments.skip_flush;
    writeln!(out, "Requested creating snapshot(s) for [{what}]{name} and options {{skipFlush={skip_flush}{ttl}}}")?;
    Ok(())
}

/// # Errors
/// [`Failure`] with Cassandra's texts.
pub fn clear(node: &Node<'_>, arguments: &ClearsnapshotArgs, out: &mut dyn Write) -> Result<Value, Failure> {
    let bad_use = |message: &str| Err(Failure::BadUse(message.to_owned()));
    let tag = arguments.tag.as_deref().filter(|tag| !tag.is_empty());
    match (tag, arguments.all, &arguments.older_than, &arguments.older_than_timestamp) {
        (None, false, _, _) => return bad_use("Specify snapshot name or --all"),
        (Some(_), true, _, _) => return bad_use("Specify only one of snapshot name or --all"),
        (_, _, Some(_), Some(_)) => return bad_use("Specify only one of --older-than or --older-than-timestamp"),
        (Some(_), _, Some(_), _) => {
            return bad_use("Specifying snapshot name together with --older-than flag is not allowed");
        }
        (Some(_), _, _, Some(_)) => {
            return bad_use("Specifying snapshot name together with --older-than-timestamp flag is not allowed");
        }
        _ => {}
    }
    let older_than = arguments.older_than.as_deref().map(|text| duration_secs(text, Unit::Seconds)).transpose()?;
    let before = arguments.older_than_timestamp.as_deref().map(str::parse::<Timestamp>).transpose();
    let before = before.map_err(|_| {
        Failure::BadUse("Parameter --older-than-timestamp has to be a valid instant in ISO format.".to_owned())
    })?;

    let keyspaces =
        if arguments.keyspaces.is_empty() { "all keyspaces".to_owned() } else { arguments.keyspaces.join(", ") };
    let what = tag.map_or_else(|| "[all snapshots]".to_owned(), |tag| format!("snapshot name [{tag}]"));
    let age = older_than.map_or_else(String::new, |secs| format!(" older than {secs} seconds."));
    let time = arguments.older_than_timestamp.as_ref();
    let time = time.map_or_else(String::new, |time| format!(" older than timestamp {time}"));
    writeln!(out, "Requested clearing snapshot(s) for [{keyspaces}] with {what}{age}{time}")?;

    let older_than = older_than.map(|secs| secs.to_string());
    let before = before.map(|time| time.as_microsecond().to_string());
    let mut pairs = vec![
        ("tag", tag),
        ("all", arguments.all.then_some("true")),
        ("older_than_secs", older_than.as_deref()),
        ("older_than_micros", before.as_deref()),
    ];
    pairs.extend(arguments.keyspaces.iter().map(|keyspace| ("keyspace", Some(keyspace.as_str()))));
    node.delete(&with_query("/snapshots", &pairs))
}

/// The smallest unit that a duration may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Nanoseconds,
    Seconds,
}

/// `5h` as seconds, rounded down. Source: Cassandra 5.0, `DurationSpec`.
fn duration_secs(text: &str, smallest: Unit) -> Result<u64, Failure> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = text.split_at(digits);
    let nanos = match unit {
        "d" => Some(86_400_000_000_000_u64),
        "h" => Some(3_600_000_000_000),
        "m" => Some(60_000_000_000),
        "s" => Some(1_000_000_000),
        "ms" if smallest == Unit::Nanoseconds => Some(1_000_000),
        "us" | "µs" if smallest == Unit::Nanoseconds => Some(1000),
        "ns" if smallest == Unit::Nanoseconds => Some(1),
        _ => None,
    };
    let secs = nanos
        .and_then(|nanos| u64::try_from(count.parse::<u128>().ok()?.checked_mul(nanos.into())? / 1_000_000_000).ok());
    let units = match smallest {
        Unit::Nanoseconds => "NANOSECONDS, MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS",
        Unit::Seconds => "SECONDS, MINUTES, HOURS, DAYS",
    };
    secs.ok_or_else(|| {
        Failure::BadUse(format!(
            "Invalid duration: {text} Accepted units:[{units}] where case matters and only non-negative values."
        ))
    })
}
