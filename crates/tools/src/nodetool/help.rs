//! `nodetool`, `nodetool help`, `nodetool help COMMAND`.

use std::fmt::Write;

use clap::CommandFactory;

use super::command_line::CommandLine;
use super::unsupported;

/// The list of commands.
#[must_use]
pub fn overview() -> String {
    let mut text = String::from(
        "usage: nodetool [(-h <host> | --host <host>)] [(-p <port> | --port <port>)]\n        \
         [(-pp | --print-port)] [(-F <format> | --format <format>)] <command> [<args>]\n\n\
         The most commonly used nodetool commands are:\n",
    );
    for command in CommandLine::command().get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, "    {:<35} {about}", command.get_name());
    }
    text.push_str("\nSee 'nodetool help <command>' for more information on a specific command.\n\n");
    text
}

#[must_use]
pub fn of_command(name: &str) -> String {
    let mut line = CommandLine::command();
    line.build();
    let found = line
        .get_subcommands_mut()
        .find(|command| command.get_name() == name || command.get_all_aliases().any(|alias| alias == name));
    match found {
        Some(command) => format!("{}\n", command.render_help()),
        None if unsupported::COMMANDS.contains(&name) => format!("{name} is not in Helenus yet\n\n"),
        None => format!("Unknown command {name}\n\n"),
    }
}
