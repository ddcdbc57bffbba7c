//! The command line: what Cassandra's nodetool understands, parsed by clap.
//!
//! Cassandra's parser has options of one dash and several letters (`-pw`, `-cf`); they are respelled before clap sees
//! them. Its complaints are worded here as scripts know them.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};

use super::failure::Failure;
use super::unsupported;

/// One dash and several letters, and what clap calls it.
const RESPELLED: [(&str, &str); 11] = [
    ("-pw", "--password"),
    ("-pwf", "--password-file"),
    ("-pp", "--print-port"),
    ("-cf", "--table"),
    ("-kt", "--kt-list"),
    ("-kc", "--kt-list"),
    ("-sf", "--skip-flush"),
    ("-nt", "--no-ttl"),
    ("-st", "--start-token"),
    ("-et", "--end-token"),
    ("-id", "--compaction-id"),
];

#[derive(Debug, Parser)]
#[command(name = "nodetool", disable_help_flag = true, disable_help_subcommand = true, disable_version_flag = true)]
pub struct CommandLine {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Args, Debug)]
pub struct Global {
    /// Host name or address of the node's admin API
    #[arg(short = 'h', long, global = true, default_value = "127.0.0.1")]
    pub host: String,
    /// Port of the node's admin API
    #[arg(short, long, global = true, default_value = "7199", allow_hyphen_values = true)]
    pub port: String,
    /// Accepted and not used: the admin API asks for no password
    #[arg(short, long, global = true)]
    username: Option<String>,
    /// Accepted and not used (-pw)
    #[arg(long, global = true)]
    password: Option<String>,
    /// Accepted and not used (-pwf)
    #[arg(long, global = true)]
    password_file: Option<String>,
    /// Show nodes with their port (-pp)
    #[arg(long, global = true)]
    pub print_port: bool,
    /// json or yaml instead of text
    #[arg(short = 'F', long, global = true)]
    pub format: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// State, load, ownership and identity of every node
    Status(RingArgs),
    /// Every token of every node
    Ring(RingArgs),
    /// The node itself: identity, load, memory, caches
    Info {
        /// Print every token
        #[arg(short = 'T', long)]
        tokens: bool,
    },
    /// Name, snitch, partitioner, schema versions and keyspaces of the cluster
    Describecluster,
    /// The version of Cassandra that the node stands for
    Version {
        /// Also the version of Helenus
        #[arg(short, long)]
        verbose: bool,
    },
    /// What the nodes tell each other
    Gossipinfo,
    /// Write memtables to disk
    Flush {
        /// A keyspace and its tables
        words: Vec<String>,
    },
    /// Merge all SSTables of tables into one
    Compact(CompactArgs),
    /// Numbers of tables
    #[command(alias = "cfstats")]
    Tablestats(TablestatsArgs),
    /// Percentiles of one table's latencies and sizes
    #[command(alias = "cfhistograms")]
    Tablehistograms {
        /// KEYSPACE TABLE or KEYSPACE.TABLE
        words: Vec<String>,
    },
    /// Percentiles of what clients waited for
    Proxyhistograms,
    /// Work that is running, waiting, done and dropped
    Tpstats,
    /// Compactions that run, wait and are done
    Compactionstats {
        /// Sizes with units
        #[arg(short = 'H', long)]
        human_readable: bool,
        /// The columns of system_views.sstable_tasks
        #[arg(short = 'V', long)]
        vtable: bool,
    },
    /// Keep the files of tables as they are now
    Snapshot(SnapshotArgs),
    /// Snapshots and the space they take
    Listsnapshots {
        /// Leave out those that expire (-nt)
        #[arg(long)]
        no_ttl: bool,
        /// Also those that end with the process
        #[arg(short, long)]
        ephemeral: bool,
    },
    /// Remove snapshots
    Clearsnapshot(ClearsnapshotArgs),
    /// Stop taking requests and write everything to disk
    Drain,
    /// Loggers and their levels
    Getlogginglevels,
    /// Give a logger another level until the next start
    Setlogginglevel {
        /// Logger and level; the level alone missing: back to its own; both missing: all back
        words: Vec<String>,
    },
    /// The part of requests that is traced
    Gettraceprobability,
    /// Trace this part of the requests, from 0 to 1
    Settraceprobability {
        #[arg(value_name = "trace_probability", allow_hyphen_values = true)]
        probability: String,
    },
    /// Whether CQL clients are served
    Statusbinary,
    /// Whether the node gossips
    Statusgossip,
    /// Whether SSTables are merged without being asked
    Statusautocompaction {
        /// Single keyspaces are not in Helenus yet
        words: Vec<String>,
        /// Not in Helenus yet
        #[arg(short, long)]
        all: bool,
    },
    /// Merge SSTables without being asked, on the whole node
    Enableautocompaction {
        /// Single keyspaces are not in Helenus yet
        words: Vec<String>,
    },
    /// Merge SSTables only when asked, on the whole node
    Disableautocompaction {
        /// Single keyspaces are not in Helenus yet
        words: Vec<String>,
    },
    /// How many MiB a second compactions may read
    Getcompactionthroughput {
        /// Not rounded
        #[arg(short = 'd', long)]
        precise_mib: bool,
    },
    /// Let compactions read so many MiB a second; 0: as many as they can
    Setcompactionthroughput {
        #[arg(value_name = "compaction_throughput", allow_hyphen_values = true)]
        throughput: String,
    },
    /// Compactions that have ended, the newest first
    Compactionhistory,
    /// Stop compactions that run
    Stop {
        #[arg(value_name = "compaction_type", default_value = "COMPACTION")]
        kind: String,
        /// Not in Helenus yet (-id)
        #[arg(long)]
        compaction_id: Option<String>,
    },
    /// Explain the commands
    Help { words: Vec<String> },
    #[command(external_subcommand)]
    Other(Vec<String>),
}

#[derive(Args, Debug)]
pub struct RingArgs {
    /// The keyspace whose replication says who owns what
    pub words: Vec<String>,
    /// Names instead of addresses, where they are known
    #[arg(short, long)]
    pub resolve_ip: bool,
}

#[derive(Args, Debug)]
pub struct CompactArgs {
    /// A keyspace and its tables
    pub words: Vec<String>,
    /// Several files instead of a big one
    #[arg(short, long)]
    pub split_output: bool,
    /// Not in Helenus yet
    #[arg(long)]
    pub user_defined: bool,
    /// Not in Helenus yet (-st)
    #[arg(long, allow_hyphen_values = true)]
    pub start_token: Option<String>,
    /// Not in Helenus yet (-et)
    #[arg(long, allow_hyphen_values = true)]
    pub end_token: Option<String>,
    /// Not in Helenus yet
    #[arg(long)]
    pub partition: Option<String>,
}

#[derive(Args, Debug, Default)]
pub struct TablestatsArgs {
    /// Keyspaces, or KEYSPACE.TABLE
    pub words: Vec<String>,
    /// All but those named
    #[arg(short)]
    pub ignore: bool,
    /// Sizes with units
    #[arg(short = 'H', long)]
    pub human_readable: bool,
    /// Largest first by this number
    #[arg(short, long)]
    pub sort: Option<String>,
    /// Only so many, with --sort
    #[arg(short, long, allow_hyphen_values = true)]
    pub top: Option<String>,
    /// Whether the files lie where they belong
    #[arg(short = 'l', long)]
    pub sstable_location_check: bool,
}

#[derive(Args, Debug)]
pub struct SnapshotArgs {
    /// Keyspaces; none: all
    pub keyspaces: Vec<String>,
    /// One table of the one keyspace given (-cf)
    #[arg(long, alias = "column-family")]
    pub table: Option<String>,
    /// The snapshot's name; by default the time in milliseconds
    #[arg(short, long)]
    pub tag: Option<String>,
    /// KEYSPACE.TABLE,KEYSPACE.TABLE,… (-kt)
    #[arg(long, alias = "kc.list")]
    pub kt_list: Option<String>,
    /// Leave out what is only in memory (-sf)
    #[arg(long)]
    pub skip_flush: bool,
    /// Remove the snapshot after this time: 5h, 7d
    #[arg(long)]
    pub ttl: Option<String>,
}

#[derive(Args, Debug)]
pub struct ClearsnapshotArgs {
    /// Keyspaces; none: all
    pub keyspaces: Vec<String>,
    /// The snapshot's name
    #[arg(short = 't', value_name = "snapshot_name")]
    pub tag: Option<String>,
    /// Every snapshot
    #[arg(long)]
    pub all: bool,
    /// Only those older than this: 5h, 7d
    #[arg(long)]
    pub older_than: Option<String>,
    /// Only those made before this time: 2022-12-03T10:15:30Z
    #[arg(long)]
    pub older_than_timestamp: Option<String>,
}

/// Parses the words behind `nodetool`.
///
/// # Errors
/// [`Failure::BadUse`] with Cassandra's wording, [`Failure::Unsupported`] for a command that only Cassandra has.
pub fn parse(words: &[String]) -> Result<CommandLine, Failure> {
    let respelled = words.iter().map(|word| {
        let known = RESPELLED.iter().find(|(short, _)| short == word);
        known.map_or(word.as_str(), |(_, long)| long)
    });
    let parsed = CommandLine::try_parse_from(std::iter::once("nodetool").chain(respelled));
    match parsed.map_err(|error| Failure::BadUse(complaint(&error)))? {
        CommandLine { command: Some(Command::Other(words)), .. } => Err(match words.first() {
            Some(name) if unsupported::COMMANDS.contains(&name.as_str()) => Failure::Unsupported(name.clone()),
            _ => Failure::BadUse(format!("Found unexpected parameters: [{}]", words.join(", "))),
        }),
        line => Ok(line),
    }
}

/// clap's complaint in the words of Cassandra's parser.
fn complaint(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    let named = context(ContextKind::InvalidArg).unwrap_or_default();
    let bare = |text: &str| {
        text.split_whitespace()
            .find_map(|word| word.strip_prefix("--"))
            .unwrap_or(text)
            .trim_matches(['<', '>', '.', '[', ']'])
            .to_owned()
    };
    match error.kind() {
        ErrorKind::UnknownArgument => format!("Found unexpected parameters: [{named}]"),
        ErrorKind::MissingRequiredArgument => format!("Required parameters are missing: {}", bare(&named)),
        ErrorKind::InvalidValue if context(ContextKind::InvalidValue).is_none_or(|value| value.is_empty()) => {
            format!("Required values for option '{}' not provided", bare(&named))
        }
        _ => error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<&str, &str>) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match (parse(&words), expected) {
            (Ok(found), Ok(text)) => assert!(format!("{found:?}").contains(text), "{found:?}"),
            (Err(Failure::BadUse(found) | Failure::Unsupported(found)), Err(text)) => assert_eq!(found, text),
            (found, _) => panic!("{line}: {found:?}"),
        }
    }

    #[test]
    fn global_options_stand_before_and_behind_the_command() {
        check("-h ::1 -p 7200 -u me -pw secret status", Ok("host: \"::1\", port: \"7200\""));
        check("status -h ::1 ks", Ok("host: \"::1\""));
        check("-pp status", Ok("print_port: true"));
        check("", Ok("command: None"));
    }

    #[test]
    fn options_of_one_dash_and_several_letters_are_understood() {
        check("snapshot -cf t -sf ks -t tag", Ok("keyspaces: [\"ks\"], table: Some(\"t\"), tag: Some(\"tag\")"));
        check("snapshot -kt a.b,c.d", Ok("kt_list: Some(\"a.b,c.d\")"));
        check("listsnapshots -nt -e", Ok("no_ttl: true, ephemeral: true"));
        check("compact -st -5 -et 7 ks", Ok("start_token: Some(\"-5\")"));
        check("cfstats -H", Ok("Tablestats"));
    }

    #[test] // The texts are those of Cassandra 5.0.9.
    fn complaints_are_worded_as_cassandra_words_them() {
        check("nosuchcommand a", Err("Found unexpected parameters: [nosuchcommand, a]"));
        check("drain extra", Err("Found unexpected parameters: [extra]"));
        check("listsnapshots --nosuch", Err("Found unexpected parameters: [--nosuch]"));
        check("settraceprobability", Err("Required parameters are missing: trace_probability"));
        check("-p", Err("Required values for option 'port' not provided"));
        check("-h", Err("Required values for option 'host' not provided"));
        check("repair -pr ks", Err("repair"));
    }
}
