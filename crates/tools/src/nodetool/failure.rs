//! Why a command did not do what was asked, and how Cassandra's nodetool says so: stream, text and exit code.

use std::io::{self, Write};

/// Exit codes: 1 the user can change the command, 2 the node failed or the command does not exist here.
#[derive(Debug)]
pub enum Failure {
    /// The command line does not make sense, or names what does not exist.
    BadUse(String),
    /// `message` says which keyspace.
    UnknownKeyspace(String),
    UnknownTable(String),
    Connection {
        node: String,
        cause: String,
    },
    /// The node tried and failed, or answered what nobody understands.
    Failed(String),
    /// A command that Cassandra 5.0 has and Helenus does not.
    Unsupported(String),
    /// All has been said on the standard output.
    Told {
        exit_code: u8,
    },
}

impl From<io::Error> for Failure {
    /// Whoever read our output went away, as `head` does: nothing to say and nobody to say it to.
    fn from(_: io::Error) -> Self {
        Self::Told { exit_code: 1 }
    }
}

impl Failure {
    /// Tells the user and answers the exit code. What cannot be written is not written.
    pub fn report(&self, out: &mut dyn Write, errors: &mut dyn Write) -> u8 {
        match self {
            Self::BadUse(message) | Self::UnknownKeyspace(message) => {
                let _ = writeln!(out, "nodetool: {message}\nSee 'nodetool help' or 'nodetool help <command>'.");
                1
            }
            Self::Connection { node, cause } => {
                let _ = writeln!(errors, "nodetool: Failed to connect to '{node}' - {cause}.");
                1
            }
            Self::UnknownTable(message) | Self::Failed(message) => {
                let _ = writeln!(errors, "error: {message}");
                2
            }
            Self::Unsupported(name) => {
                let _ = writeln!(errors, "nodetool: {name} is not in Helenus yet");
                2
            }
            Self::Told { exit_code } => *exit_code,
        }
    }
}
