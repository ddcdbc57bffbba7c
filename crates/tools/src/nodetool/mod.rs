//! `helenus nodetool`: a client of a node's admin API that looks and sounds like Cassandra 5.0's nodetool.
//!
//! Role: parse the command line, ask the node, print what Cassandra would print: columns, blanks, units, texts of errors
//! and exit codes, because scripts parse them. `--format json` and `yaml` print documents instead.
//!
//! Neighbours: docs/admin-api.md is the contract that `api` mirrors; `helenus_server::admin` answers it. No rules of the
//! database live here.
//!
//! Source: the answers of Cassandra 5.0.9 to the same commands; the tests hold them.

mod api;
mod background;
mod cluster;
mod command_line;
mod document;
mod failure;
mod help;
mod histograms;
mod http;
mod info;
mod java_text;
mod node;
mod progress;
mod ring;
mod snapshots;
mod tablestats;
#[cfg(test)]
mod tests;
mod unsupported;

use std::io::Write;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::api::{
    AutoCompaction, Cluster, CompactionHistory, CompactionThroughput, Compactions, Gossip, Logging, ProxyHistograms,
    Ring, Snapshots, TableHistograms, Tables,
};
use self::api::{ThreadPools, TraceProbability};
use self::background::CompactionColumns;
use self::command_line::{CommandLine, CompactArgs, RingArgs, TablestatsArgs};
use self::document::Format;
use self::failure::Failure;
use self::node::{Address, Node, Transport, parse, with_query};
use self::progress::Progress;
use self::snapshots::Listing;

/// `nodetool` as one subcommand of the binary. Its words are parsed in here, since `-h` is a host and `-pw` one option.
#[derive(clap::Args, Clone, Debug)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct Command {
    /// A command of Cassandra's nodetool; without one they are listed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    words: Vec<String>,
}

/// Runs it against the node that the words name.
#[must_use]
pub fn run(command: &Command) -> ExitCode {
    nodetool(&command.words)
}

/// Runs the words behind `nodetool`.
///
/// Exit codes as Cassandra's: 0 done, 1 the command line or the connection, 2 the node.
#[must_use]
pub fn nodetool(words: &[String]) -> ExitCode {
    let (mut out, mut errors) = (std::io::stdout(), std::io::stderr());
    let exit_code = match command_line::parse(words).and_then(|line| connect_and_execute(&line, &mut out)) {
        Ok(()) => 0,
        Err(failure) => failure.report(&mut out, &mut errors),
    };
    ExitCode::from(exit_code)
}

fn connect_and_execute(line: &CommandLine, out: &mut dyn Write) -> Result<(), Failure> {
    let port = line.global.port.trim();
    let port = port.parse::<i32>().map_err(|_| Failure::BadUse(format!("For input string: \"{port}\"")))?;
    let port = u16::try_from(port).map_err(|_| Failure::BadUse(format!("port out of range:{port}")))?;
    execute(line, &Address { host: line.global.host.clone(), port }, out)
}

fn execute(line: &CommandLine, transport: &dyn Transport, out: &mut dyn Write) -> Result<(), Failure> {
    let node = Node { transport, name: format!("{}:{}", line.global.host, line.global.port) };
    let format = line.global.format.as_deref().map(Format::parse).transpose()?;
    let mut session = Session { node, with_port: line.global.print_port, format, out };
    match &line.command {
        Some(command) => session.run(command),
        None => session.print(&help::overview()),
    }
}

const SINGLE_KEYSPACES: &str = "automatic compaction of single keyspaces";

/// One command on its way: the node, and how and where to print.
struct Session<'a> {
    node: Node<'a>,
    with_port: bool,
    format: Option<Format>,
    out: &'a mut dyn Write,
}

impl Session<'_> {
    fn run(&mut self, command: &command_line::Command) -> Result<(), Failure> {
        use command_line::Command as C;
        let with_port = self.with_port;
        match command {
            C::Status(arguments) => self.ring(arguments, ring::status_text),
            C::Ring(arguments) => self.ring(arguments, ring::ring_text),
            C::Info { tokens } => self.show("/node", |node| info::info_text(node, *tokens)),
            C::Version { verbose } => self.show("/node", |node| info::version_text(node, *verbose)),
            C::Describecluster => self.describe_cluster(),
            C::Gossipinfo => self.show("/gossip", |gossip: &Gossip| cluster::gossip_text(gossip, with_port)),
            C::Flush { words } => self.on_tables("/flush", "flushing", words, json!({})),
            C::Compact(arguments) => self.compact(arguments),
            C::Tablestats(arguments) => self.tablestats(arguments),
            C::Tablehistograms { words } => self.tablehistograms(words),
            C::Proxyhistograms => self.show("/histograms", |found: &ProxyHistograms| histograms::proxy_text(found)),
            C::Tpstats => self.tpstats(),
            C::Compactionstats { human_readable, vtable } => {
                let columns = CompactionColumns { human_readable: *human_readable, virtual_table: *vtable };
                self.show("/compactions", |stats: &Compactions| background::compactions_text(stats, columns))
            }
            C::Snapshot(arguments) => {
                let answer = match self.format {
                    None => snapshots::take(&self.node, arguments, now_ms(), self.out),
                    Some(_) => snapshots::take(&self.node, arguments, now_ms(), &mut std::io::sink()),
                }?;
                self.done(&answer)
            }
            C::Listsnapshots { no_ttl, ephemeral } => {
                let listing = Listing { without_expiring: *no_ttl, with_ephemeral: *ephemeral };
                self.show("/snapshots", |found: &Snapshots| snapshots::list_text(found, listing))
            }
            C::Clearsnapshot(arguments) => {
                let answer = match self.format {
                    None => snapshots::clear(&self.node, arguments, self.out),
                    Some(_) => snapshots::clear(&self.node, arguments, &mut std::io::sink()),
                }?;
                self.done(&answer)
            }
            C::Drain => self.action("/drain", "draining", &json!({}), None, &[]),
            C::Getlogginglevels => self.show("/logging", logging_text),
            C::Setlogginglevel { words } => self.set_logging_level(words),
            C::Gettraceprobability => self.show("/trace-probability", |found: &TraceProbability| {
                format!("Current trace probability: {}\n", java_text::double(found.probability))
            }),
            C::Settraceprobability { probability } => self.set_trace_probability(probability),
            C::Statusbinary => self.show("/node", |node: &api::Node| running(node.native_transport_active)),
            C::Statusgossip => self.show("/node", |node: &api::Node| running(node.gossip_active)),
            C::Statusautocompaction { words, all } if *all || !words.is_empty() => {
                Err(Failure::Unsupported(SINGLE_KEYSPACES.to_owned()))
            }
            C::Statusautocompaction { .. } => {
                self.show("/auto-compaction", |found: &AutoCompaction| running(found.enabled))
            }
            C::Enableautocompaction { words } => self.set_auto_compaction(words, true),
            C::Disableautocompaction { words } => self.set_auto_compaction(words, false),
            C::Getcompactionthroughput { precise_mib } => self
                .show("/compaction-throughput", |found: &CompactionThroughput| {
                    throughput_text(found.throughput_mib_per_sec, *precise_mib)
                }),
            C::Setcompactionthroughput { throughput } => self.set_compaction_throughput(throughput),
            C::Compactionhistory => self.compaction_history(),
            C::Stop { compaction_id: Some(_), .. } => {
                Err(Failure::Unsupported("stop of a single compaction".to_owned()))
            }
            C::Stop { kind, .. } if kind == "COMPACTION" => {
                self.action("/compactions/stop", "stopping", &json!({}), None, &[])
            }
            C::Stop { kind, .. } => {
                Err(Failure::BadUse(format!("compaction_type: can not convert \"{kind}\" to a OperationType")))
            }
            C::Help { words } => {
                let text = words.first().map_or_else(help::overview, |name| help::of_command(name));
                self.print(&text)
            }
            C::Other(words) => Err(unexpected(words)),
        }
    }

    fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.out.write_all(text.as_bytes())?;
        Ok(self.out.flush()?)
    }

    /// One GET: as text, or as the node's own document.
    fn show<T: DeserializeOwned>(&mut self, path: &str, text: impl Fn(&T) -> String) -> Result<(), Failure> {
        let answer = self.node.get(path)?;
        match self.format {
            Some(format) => self.print(&format.print(&answer)),
            None => self.print(&text(&parse(answer)?)),
        }
    }

    /// An action says nothing, unless a document was asked for.
    fn done(&mut self, answer: &Value) -> Result<(), Failure> {
        self.format.map_or(Ok(()), |format| self.print(&format.print(answer)))
    }

    fn ring(&mut self, arguments: &RingArgs, text: fn(&Ring, bool) -> String) -> Result<(), Failure> {
        let keyspace = arguments.words.last().map(String::as_str); // Cassandra's parser lets the last one win.
        let with_port = self.with_port;
        let path = with_query("/ring", &[("keyspace", keyspace)]);
        match (self.show(&path, |ring| text(ring, with_port)), keyspace) {
            (Err(Failure::UnknownKeyspace(_)), Some(keyspace)) => {
                self.print(&format!("\nError: The keyspace {keyspace}, does not exist\n"))?;
                Err(Failure::Told { exit_code: 1 })
            }
            (outcome, _) => outcome,
        }
    }

    fn describe_cluster(&mut self) -> Result<(), Failure> {
        let ring: Ring = self.node.get_as("/ring")?;
        let with_port = self.with_port;
        self.show("/cluster", |cluster| cluster::describe_text(cluster, &ring, with_port))
    }

    fn on_tables(&mut self, path: &str, what: &'static str, words: &[String], mut body: Value) -> Result<(), Failure> {
        let (keyspace, tables) = words.split_first().map_or((None, &[][..]), |(first, rest)| (Some(first), rest));
        body["keyspace"] = json!(keyspace);
        body["tables"] = json!(tables);
        self.action(path, what, &body, keyspace.map(String::as_str), tables)
    }

    fn action(
        &mut self,
        path: &str,
        what: &'static str,
        body: &Value,
        keyspace: Option<&str>,
        tables: &[String],
    ) -> Result<(), Failure> {
        let progress = Progress::start(what);
        let answer = self.node.post(path, body, &mut || progress.tick(&self.node, keyspace, tables))?;
        drop(progress);
        self.done(&answer)
    }

    fn compact(&mut self, arguments: &CompactArgs) -> Result<(), Failure> {
        let CompactArgs { words, split_output, user_defined, start_token, end_token, partition } = arguments;
        if *user_defined || start_token.is_some() || end_token.is_some() || partition.is_some() {
            return Err(Failure::Unsupported("compact of single files, token ranges and partitions".to_owned()));
        }
        self.on_tables("/compact", "compacting", words, json!({"split_output": split_output}))
    }

    fn tablestats(&mut self, arguments: &TablestatsArgs) -> Result<(), Failure> {
        let tables: Tables = self.node.get_as("/tables")?;
        let cluster: Cluster = self.node.get_as("/cluster")?;
        let keyspaces = cluster.keyspaces.into_iter().filter(|keyspace| !keyspace.is_virtual);
        let keyspaces: Vec<String> = keyspaces.map(|keyspace| keyspace.name).collect();
        let report = tablestats::report(&tables.tables, &keyspaces, arguments)?;
        match self.format {
            Some(format) => self.print(&format.print(&report.document())),
            None => self.print(&report.text()),
        }
    }

    fn tpstats(&mut self) -> Result<(), Failure> {
        let stats: ThreadPools = self.node.get_as("/threadpools")?;
        match self.format {
            Some(format) => self.print(&format.print(&background::pools_document(&stats))),
            None => self.print(&background::pools_text(&stats)),
        }
    }

    fn compaction_history(&mut self) -> Result<(), Failure> {
        let history: CompactionHistory = self.node.get_as("/compactions/history")?;
        match self.format {
            Some(format) => self.print(&format.print(&background::history_document(&history))),
            None => self.print(&background::history_text(&history)),
        }
    }

    fn tablehistograms(&mut self, words: &[String]) -> Result<(), Failure> {
        let tables: Vec<(String, String)> = match words {
            [] => {
                let tables: Tables = self.node.get_as("/tables")?;
                tables.tables.into_iter().map(|table| (table.keyspace, table.table)).collect()
            }
            [name] => {
                let (keyspace, table) = name.split_once('.').ok_or_else(|| {
                    Failure::BadUse("tablehistograms requires keyspace and table name arguments".to_owned())
                })?;
                vec![(keyspace.to_owned(), table.to_owned())]
            }
            [keyspace, table] => vec![(keyspace.clone(), table.clone())],
            _ => {
                let usage = "tablehistograms requires <keyspace> <table> or <keyspace.table> format argument.";
                return Err(Failure::BadUse(usage.to_owned()));
            }
        };
        let mut answers = Vec::new();
        for (keyspace, table) in &tables {
            let path = format!("/tables/{}/{}/histograms", http::percent_encode(keyspace), http::percent_encode(table));
            let answer = self.node.get(&path).map_err(|failure| match failure {
                Failure::UnknownKeyspace(_) | Failure::UnknownTable(_) => {
                    Failure::BadUse(format!("Unknown table {keyspace}.{table}"))
                }
                other => other,
            })?;
            match self.format {
                Some(_) => answers.push(answer),
                None => self.print(&histograms::table_text(&parse::<TableHistograms>(answer)?))?,
            }
        }
        self.format.map_or(Ok(()), |format| self.print(&format.print(&json!({"tables": answers}))))
    }

    fn set_auto_compaction(&mut self, keyspaces: &[String], enabled: bool) -> Result<(), Failure> {
        if !keyspaces.is_empty() {
            return Err(Failure::Unsupported(SINGLE_KEYSPACES.to_owned()));
        }
        let answer = self.node.put("/auto-compaction", &json!({"enabled": enabled}))?;
        self.done(&answer)
    }

    fn set_compaction_throughput(&mut self, text: &str) -> Result<(), Failure> {
        let throughput = text
            .parse::<i32>()
            .map_err(|_| Failure::BadUse(format!("compaction_throughput: can not convert \"{text}\" to a Integer")))?;
        if throughput < 0 {
            return Err(Failure::BadUse("Invalid data rate: value must be non-negative".to_owned()));
        }
        let answer = self.node.put("/compaction-throughput", &json!({"throughput_mib_per_sec": throughput}))?;
        self.done(&answer)
    }

    fn set_logging_level(&mut self, words: &[String]) -> Result<(), Failure> {
        let body = match words {
            [] => json!({"logger": null, "level": null}),
            [logger] => json!({"logger": logger, "level": null}),
            [logger, level] => json!({"logger": logger, "level": level.to_uppercase()}),
            _ => return Err(unexpected(words)),
        };
        let answer = self.node.put("/logging", &body)?;
        self.done(&answer)
    }

    fn set_trace_probability(&mut self, text: &str) -> Result<(), Failure> {
        let probability = text
            .parse::<f64>()
            .map_err(|_| Failure::BadUse(format!("trace_probability: can not convert \"{text}\" to a Double")))?;
        if !(0.0..=1.0).contains(&probability) {
            return Err(Failure::BadUse("Trace probability must be between 0 and 1".to_owned()));
        }
        let answer = self.node.put("/trace-probability", &json!({"probability": probability}))?;
        self.done(&answer)
    }
}

fn unexpected(words: &[String]) -> Failure {
    Failure::BadUse(format!("Found unexpected parameters: [{}]", words.join(", ")))
}

fn running(is_running: bool) -> String {
    format!("{}\n", if is_running { "running" } else { "not running" })
}

fn throughput_text(mib_per_sec: f64, precise: bool) -> String {
    // Cassandra writes MB where it has rounded.
    let amount =
        if precise { format!("{} MiB", java_text::double(mib_per_sec)) } else { format!("{mib_per_sec:.0} MB") };
    format!("Current compaction throughput: {amount}/s\n")
}

fn logging_text(logging: &Logging) -> String {
    let rows = logging.levels.iter().map(|level| (level.logger.as_str(), level.level.as_str()));
    let rows = std::iter::once(("Logger Name", "Log Level")).chain(rows);
    std::iter::once("\n".to_owned()).chain(rows.map(|(name, level)| format!("{name:<50}{level:>10}\n"))).collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a command-line client has no environment; the time is a snapshot's name"
)]
fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis())
}
