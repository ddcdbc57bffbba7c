//! Events: what registered clients are told unasked.

use helenus_protocol::{
    EVENT_STREAM, Event, Response, ResponseMessage, SchemaChange, SchemaChangeKind, SchemaChangeTarget,
};
use helenus_schema::{Keyspace, SchemaSnapshot, Table};

use super::clients::Clients;

/// Tells every client of this shard that registered for it.
pub fn publish(clients: &Clients, event: &Event) {
    for (client, output) in clients.registered(event.event_type()) {
        let Some(version) = client.version.get() else { continue };
        let message = ResponseMessage::plain(Response::Event(event.clone()));
        output.append(|out| {
            // An event is small; only a body of 2 GiB cannot be encoded.
            let _ = message.encode(version, EVENT_STREAM, out);
        });
    }
}

/// What became of keyspaces, tables and types, in the order in which clients hear of it: what went, what came, what changed.
/// A type that changed takes the tables that use it with it, a keyspace that went everything that was in it.
///
/// Source: Cassandra 5.0, `schema.SchemaChangeNotifier`.
pub fn schema_changes(before: &SchemaSnapshot, after: &SchemaSnapshot) -> Vec<SchemaChange> {
    let mut changes = Vec::new();
    for old in before.keyspaces() {
        match after.keyspace(&old.name) {
            None => keyspace_dropped(old, &mut changes),
            Some(new) if old != new => keyspace_altered(old, new, &mut changes),
            Some(_) => {}
        }
    }
    for new in after.keyspaces().filter(|new| before.keyspace(&new.name).is_none()) {
        changes.push(change(SchemaChangeKind::Created, new, SchemaChangeTarget::Keyspace));
        contents_created(None, new, &mut changes);
    }
    changes
}

fn keyspace_dropped(old: &Keyspace, changes: &mut Vec<SchemaChange>) {
    let kind = SchemaChangeKind::Dropped;
    changes.extend(old.tables.keys().map(|name| change(kind, old, table(name))));
    changes.extend(old.types.keys().map(|name| change(kind, old, user_type(name))));
    changes.push(change(kind, old, SchemaChangeTarget::Keyspace));
}

fn keyspace_altered(old: &Keyspace, new: &Keyspace, changes: &mut Vec<SchemaChange>) {
    let dropped = SchemaChangeKind::Dropped;
    let has_table = |name: &str, id| new.tables.get(name).is_some_and(|table| table.id == id);
    let gone = old.tables.iter().filter(|(name, table)| !has_table(name, table.id));
    changes.extend(gone.map(|(name, _)| change(dropped, old, table(name))));
    let gone = old.types.keys().filter(|name| !new.types.contains_key(*name));
    changes.extend(gone.map(|name| change(dropped, old, user_type(name))));
    contents_created(Some(old), new, changes);
    let updated = SchemaChangeKind::Updated;
    if old.params != new.params {
        changes.push(change(updated, new, SchemaChangeTarget::Keyspace));
    }
    let altered = new.types.iter().filter(|(name, ty)| old.types.get(*name).is_some_and(|before| before != *ty));
    changes.extend(altered.map(|(name, _)| change(updated, new, user_type(name))));
    let is_altered =
        |name: &str, now: &Table| old.tables.get(name).is_some_and(|before| before.id == now.id && **before != *now);
    let altered = new.tables.iter().filter(|(name, now)| is_altered(name, now));
    changes.extend(altered.map(|(name, _)| change(updated, new, table(name))));
}

fn contents_created(old: Option<&Keyspace>, new: &Keyspace, changes: &mut Vec<SchemaChange>) {
    let created = SchemaChangeKind::Created;
    let is_new = |name: &str| old.is_none_or(|old| !old.types.contains_key(name));
    changes.extend(new.types.keys().filter(|name| is_new(name)).map(|name| change(created, new, user_type(name))));
    let is_new = |name: &str, id| old.and_then(|old| old.tables.get(name)).is_none_or(|table| table.id != id);
    let tables = new.tables.iter().filter(|(name, table)| is_new(name, table.id));
    changes.extend(tables.map(|(name, _)| change(created, new, table(name))));
}

fn change(kind: SchemaChangeKind, keyspace: &Keyspace, target: SchemaChangeTarget) -> SchemaChange {
    SchemaChange { kind, keyspace: keyspace.name.to_string(), target }
}

fn table(name: &str) -> SchemaChangeTarget {
    SchemaChangeTarget::Table { name: name.to_owned() }
}

fn user_type(name: &str) -> SchemaChangeTarget {
    SchemaChangeTarget::Type { name: name.to_owned() }
}
