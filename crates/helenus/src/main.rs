//! The one binary: nothing but the command line.

mod allocator;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use helenus_server::config::{Layers, units};
use helenus_server::{Build, StartError};

const BUILD: Build = Build { version: env!("CARGO_PKG_VERSION"), commit: env!("HELENUS_COMMIT") };

/// The start was refused: nothing was changed.
const EXIT_REFUSED: u8 = 2;
/// The node ran and broke.
const EXIT_BROKEN: u8 = 1;

/// A drop-in Apache Cassandra.
#[derive(Parser)]
#[command(name = "helenus", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a node.
    Start(Box<Start>),
    /// Look at a running node and tell it what to do, as Cassandra's nodetool does.
    Nodetool(helenus_tools::nodetool::Command),
    /// Print version and commit.
    Version,
    /// Print a configuration file with every setting and its default.
    Settings,
}

#[derive(clap::Args)]
struct Start {
    /// A configuration file in the form of cassandra.yaml.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where everything is kept: data/, commitlog/, metadata/.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// The address for CQL clients and for other nodes.
    #[arg(long, value_name = "IP")]
    address: Option<String>,
    /// The port for CQL clients.
    #[arg(long, value_name = "PORT")]
    cql_port: Option<String>,
    /// The port of the admin API, on loopback; 0 turns it off.
    #[arg(long, value_name = "PORT")]
    admin_port: Option<String>,
    /// How many shards; one for each core when left out.
    #[arg(long, value_name = "N")]
    shards: Option<String>,
    /// What the node may use, such as 4G; a quarter of the memory when left out.
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// Serve other addresses than loopback without asking for passwords.
    #[arg(long)]
    insecure: bool,
    /// How log lines look: text or json.
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
    /// Any setting of the configuration file; may be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    sets: Vec<String>,
}

fn main() -> ExitCode {
    allocator::give_back_soon();
    match Arguments::parse().command {
        Command::Start(start) => run(*start),
        Command::Nodetool(command) => helenus_tools::nodetool::run(&command),
        Command::Version => {
            println!("helenus {} ({})", BUILD.version, BUILD.commit);
            ExitCode::SUCCESS
        }
        Command::Settings => {
            print!("{}", helenus_server::config::settings_file());
            ExitCode::SUCCESS
        }
    }
}

fn run(start: Start) -> ExitCode {
    let outcome = start.layers().and_then(|layers| helenus_server::run(&layers, BUILD));
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    eprintln!("helenus: {error}");
    match error {
        StartError::Refused(_) => ExitCode::from(EXIT_REFUSED),
        StartError::Broken(_) => ExitCode::from(EXIT_BROKEN),
    }
}

impl Start {
    fn layers(self) -> Result<Layers, StartError> {
        let mut flags = Vec::new();
        let mut add = |flag, name, value: Option<String>| flags.extend(value.map(|value| (flag, name, value)));
        add("--data-dir", "data_directory", self.data_dir);
        add("--address", "listen_address", self.address.clone());
        add("--address", "rpc_address", self.address);
        add("--cql-port", "native_transport_port", self.cql_port);
        add("--admin-port", "admin_port", self.admin_port);
        add("--shards", "shards", self.shards);
        add("--log-format", "log_format", self.log_format);
        add("--insecure", "allow_insecure", self.insecure.then(|| "true".to_owned()));
        if let Some(memory) = self.memory {
            let bytes =
                units::parse_memory(&memory).map_err(|problem| StartError::Refused(format!("--memory: {problem}")))?;
            add("--memory", "memory", Some(format!("{}MiB", bytes >> 20)));
        }
        Ok(Layers { file: self.config, sets: self.sets, flags })
    }
}
