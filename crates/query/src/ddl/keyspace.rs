//! Keyspaces: durable writes and replication.
//!
//! Source: Cassandra 5.0, `CreateKeyspaceStatement`, `KeyspaceAttributes`, `locator.SimpleStrategy`,
//! `NetworkTopologyStrategy`.

use std::collections::BTreeMap;

use helenus_cql::{AlterKeyspace, CreateKeyspace, DropKeyspace, Property};
use helenus_protocol::{SchemaChangeKind, SchemaChangeTarget};
use helenus_schema::options::parse_boolean;
use helenus_schema::{KeyspaceParams, SchemaChange};

use crate::ddl::properties::{map_of, text_of, to_options};
use crate::ddl::{DdlContext, DdlOutcome, event};
use crate::error::{QueryError, Result, ensure, invalid};

const LOCATOR: &str = "org.apache.cassandra.locator.";
const SIMPLE: &str = "org.apache.cassandra.locator.SimpleStrategy";
const NETWORK: &str = "org.apache.cassandra.locator.NetworkTopologyStrategy";
const FACTOR: &str = "replication_factor";
/// `default_keyspace_rf`.
const FACTOR_DEFAULT: &str = "1";

type Replication = BTreeMap<String, String>;

fn config(text: impl Into<String>) -> QueryError {
    QueryError::Config(text.into())
}

/// What a statement says of a keyspace; `None` where it says nothing.
struct Attributes {
    durable_writes: Option<bool>,
    replication: Option<Replication>,
}

fn attributes(properties: &[Property]) -> Result<Attributes> {
    let options = to_options(properties);
    if let Some((unknown, _)) = options.iter().find(|(name, _)| name != "replication" && name != "durable_writes") {
        return Err(QueryError::Syntax(format!("Unknown property '{unknown}'")));
    }
    let replication: Option<Replication> =
        map_of(&options, "replication")?.map(|entries| entries.iter().cloned().collect());
    if replication.as_ref().is_some_and(|map| !map.is_empty() && !map.contains_key("class")) {
        return Err(config("Missing replication strategy class"));
    }
    let durable_writes = match text_of(&options, "durable_writes")? {
        None => None,
        Some(text) => Some(parse_boolean("durable_writes", text)?),
    };
    Ok(Attributes { durable_writes, replication })
}

pub fn create(context: &DdlContext<'_>, create: &CreateKeyspace) -> Result<DdlOutcome> {
    let name = create.name.as_str();
    let attributes = attributes(&create.properties)?;
    let replication = attributes.replication.ok_or_else(|| invalid!("Missing mandatory option 'replication'"))?;
    if context.schema.keyspace(name).is_some() {
        if create.if_not_exists {
            return Ok(DdlOutcome::nothing());
        }
        return Err(QueryError::AlreadyExists {
            keyspace: name.to_owned(),
            table: String::new(),
            message: format!("Cannot add existing keyspace \"{name}\""),
        });
    }
    let (replication, warnings) = resolve_replication(context, name, replication, &BTreeMap::new())?;
    let params = KeyspaceParams { durable_writes: attributes.durable_writes.unwrap_or(true), replication };
    let change = SchemaChange::PutKeyspace { name: name.into(), params };
    let created = event(SchemaChangeKind::Created, name, SchemaChangeTarget::Keyspace);
    Ok(DdlOutcome { warnings, ..DdlOutcome::one(change, created) })
}

pub fn alter(context: &DdlContext<'_>, alter: &AlterKeyspace) -> Result<DdlOutcome> {
    let name = alter.name.as_str();
    let attributes = attributes(&alter.properties)?;
    let Some(keyspace) = context.schema.keyspace(name) else {
        ensure!(alter.if_exists, "Keyspace '{name}' doesn't exist");
        return Ok(DdlOutcome::nothing());
    };
    let before = &keyspace.params;
    let (replication, mut warnings) = match attributes.replication.filter(|map| map.contains_key("class")) {
        None => {
            let mut warnings = Vec::new();
            warn_of_factors(context, name, &before.replication, &mut warnings);
            (before.replication.clone(), warnings)
        }
        Some(new) => resolve_replication(context, name, new, &before.replication)?,
    };
    let params =
        KeyspaceParams { durable_writes: attributes.durable_writes.unwrap_or(before.durable_writes), replication };
    if params == *before {
        return Ok(DdlOutcome { warnings, ..DdlOutcome::nothing() });
    }
    if replicas(&before.replication) < replicas(&params.replication) {
        warnings.push(
            "When increasing replication factor you need to run a full (-full) repair to distribute the data."
                .to_owned(),
        );
    }
    let change = SchemaChange::PutKeyspace { name: name.into(), params };
    let updated = event(SchemaChangeKind::Updated, name, SchemaChangeTarget::Keyspace);
    Ok(DdlOutcome { warnings, ..DdlOutcome::one(change, updated) })
}

pub fn drop(context: &DdlContext<'_>, drop: &DropKeyspace) -> Result<DdlOutcome> {
    let name = drop.name.as_str();
    if context.schema.keyspace(name).is_none() {
        ensure!(drop.if_exists, "Keyspace '{name}' doesn't exist");
        return Ok(DdlOutcome::nothing());
    }
    let change = SchemaChange::DropKeyspace { name: name.into() };
    Ok(DdlOutcome::one(change, event(SchemaChangeKind::Dropped, name, SchemaChangeTarget::Keyspace)))
}

/// Replicas in all data centres.
fn replicas(replication: &Replication) -> u32 {
    replication.iter().filter(|(name, _)| *name != "class").filter_map(|(_, factor)| factor.parse::<u32>().ok()).sum()
}

/// The strategy's full class name and its options with defaults filled in, and warnings.
fn resolve_replication(
    context: &DdlContext<'_>,
    keyspace: &str,
    mut options: Replication,
    previous: &Replication,
) -> Result<(Replication, Vec<String>)> {
    let class = options.remove("class").unwrap_or_default();
    let class = if class.contains('.') { class } else { format!("{LOCATOR}{class}") };
    if class == format!("{LOCATOR}OldNetworkTopologyStrategy") {
        return Err(config(
            "The support for the OldNetworkTopologyStrategy has been removed in C* version 4.0. The keyspace strategy should be \
             switch to NetworkTopologyStrategy",
        ));
    }
    let known = [SIMPLE, NETWORK].contains(&class.as_str());
    if !known && class != format!("{LOCATOR}LocalStrategy") {
        return Err(config(format!("Unable to find replication strategy class '{class}'")));
    }
    ensure!(known, "Unable to use given strategy class: LocalStrategy is reserved for internal use.");
    let previous: Replication =
        previous.iter().filter(|(name, _)| *name != "class").map(|(k, v)| (k.clone(), v.clone())).collect();
    let inherited = previous.get(FACTOR).cloned().unwrap_or_else(|| FACTOR_DEFAULT.to_owned());
    if class == SIMPLE {
        options.entry(FACTOR.to_owned()).or_insert(inherited);
    } else {
        expand_data_centers(context, &mut options, &previous, inherited)?;
    }
    for factor in options.values() {
        parse_factor(factor)?;
    }
    let mut warnings = Vec::new();
    if class == SIMPLE {
        check_options(&options, &[FACTOR], "SimpleStrategy", keyspace)?;
        let factor = options.get(FACTOR).map_or(Ok(0), |factor| parse_factor(factor))?;
        warn_of_factor(context, keyspace, factor, None, &mut warnings);
    } else {
        if options.is_empty() {
            return Err(config("Configuration for at least one datacenter must be present"));
        }
        check_options(&options, &[context.data_center], "NetworkTopologyStrategy", keyspace)?;
        for (data_center, factor) in &options {
            warn_of_factor(context, keyspace, parse_factor(factor)?, Some(data_center), &mut warnings);
        }
    }
    options.insert("class".to_owned(), class);
    Ok((options, warnings))
}

/// `replication_factor` of NetworkTopologyStrategy stands for every data centre that is not named.
fn expand_data_centers(
    context: &DdlContext<'_>,
    options: &mut Replication,
    previous: &Replication,
    inherited: String,
) -> Result<()> {
    if options.is_empty() {
        options.insert(FACTOR.to_owned(), inherited);
    }
    if let Some(factor) = options.remove(FACTOR) {
        for (name, value) in previous.iter().filter(|(name, _)| *name != FACTOR) {
            options.entry(name.clone()).or_insert_with(|| value.clone());
        }
        parse_factor(&factor)?;
        options.entry(context.data_center.to_owned()).or_insert(factor);
    }
    options.retain(|_, factor| factor != "0");
    Ok(())
}

fn check_options(options: &Replication, known: &[&str], strategy: &str, keyspace: &str) -> Result<()> {
    match options.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(unknown) => Err(config(format!(
            "Unrecognized strategy option {{{unknown}}} passed to {strategy} for keyspace {keyspace}"
        ))),
    }
}

fn parse_factor(text: &str) -> Result<i32> {
    if text.contains('/') {
        return Err(config("Transient replication is not enabled on this node"));
    }
    let factor: i32 = text.parse().map_err(|_| config(format!("For input string: \"{text}\"")))?;
    if factor < 0 {
        return Err(config(format!("Replication factor must be non-negative, found {factor}")));
    }
    Ok(factor)
}

/// Of a replication that was accepted earlier.
fn warn_of_factors(context: &DdlContext<'_>, keyspace: &str, replication: &Replication, warnings: &mut Vec<String>) {
    let is_simple = replication.get("class").is_some_and(|class| class == SIMPLE);
    for (name, factor) in replication.iter().filter(|(name, _)| *name != "class") {
        let data_center = (!is_simple).then_some(name.as_str());
        warn_of_factor(context, keyspace, factor.parse().unwrap_or(0), data_center, warnings);
    }
}

fn warn_of_factor(
    context: &DdlContext<'_>,
    keyspace: &str,
    factor: i32,
    data_center: Option<&str>,
    warnings: &mut Vec<String>,
) {
    let is_system = matches!(keyspace, "system_auth" | "system_distributed" | "system_traces");
    if is_system || i64::from(factor) <= i64::from(context.node_count) {
        return;
    }
    let place = data_center.map_or_else(String::new, |name| format!(" for datacenter {name}"));
    warnings.push(format!(
        "Your replication factor {factor} for keyspace {keyspace} is higher than the number of nodes {}{place}",
        context.node_count
    ));
}
