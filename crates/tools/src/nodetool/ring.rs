//! `status` and `ring`: the nodes, what they own and how they are.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::api::{Ownership, Ring, RingNode, State, Status};
use super::java_text::{Table, file_size, percent};

fn by_data_center(ring: &Ring) -> BTreeMap<&str, Vec<&RingNode>> {
    let mut centers: BTreeMap<&str, Vec<&RingNode>> = BTreeMap::new();
    for node in &ring.nodes {
        centers.entry(&node.data_center).or_default().push(node);
    }
    centers
}

fn owns(ring: &Ring, node: &RingNode, digits: usize) -> String {
    match ring.ownership {
        Ownership::Effective => percent(node.owns, digits),
        Ownership::Raw => "?".to_owned(),
    }
}

fn load(node: &RingNode) -> String {
    node.load_bytes.map_or_else(|| "?".to_owned(), file_size)
}

fn note(ring: &Ring) -> String {
    ring.note.as_ref().map_or_else(String::new, |note| format!("Note: {note}\n"))
}

#[must_use]
pub fn status_text(ring: &Ring, with_port: bool) -> String {
    let mut text = String::new();
    let single_tokens = ring.nodes.iter().all(|node| node.tokens.len() == 1);
    for (center, nodes) in by_data_center(ring) {
        let title = format!("Datacenter: {center}");
        let _ = writeln!(text, "{title}\n{}", "=".repeat(title.chars().count()));
        text.push_str("Status=Up/Down\n|/ State=Normal/Leaving/Joining/Moving\n");
        text.push_str(&node_table(ring, &nodes, single_tokens, with_port));
    }
    let _ = write!(text, "\n{}", note(ring));
    text
}

fn node_table(ring: &Ring, nodes: &[&RingNode], single_tokens: bool, with_port: bool) -> String {
    let owns_title = if ring.ownership == Ownership::Effective { "Owns (effective)" } else { "Owns" };
    let mut table = Table::separated_by("  ");
    table.add(if single_tokens {
        ["--", "Address", "Load", owns_title, "Host ID", "Token", "Rack"]
    } else {
        ["--", "Address", "Load", "Tokens", owns_title, "Host ID", "Rack"]
    });
    for node in nodes {
        let (flags, address, load) = (flags(node), node.endpoint(with_port), load(node));
        let (owns, host_id, rack) = (owns(ring, node, 1), node.host_id.clone(), node.rack.clone());
        table.add(if single_tokens {
            [flags, address, load, owns, host_id, node.tokens.concat(), rack]
        } else {
            [flags, address, load, node.tokens.len().to_string(), owns, host_id, rack]
        });
    }
    table.to_string()
}

fn flags(node: &RingNode) -> String {
    let status = match node.status {
        Status::Up => 'U',
        Status::Down => 'D',
        Status::Unknown => '?',
    };
    let state = match node.state {
        State::Normal => 'N',
        State::Joining => 'J',
        State::Leaving => 'L',
        State::Moving => 'M',
    };
    format!("{status}{state}")
}

#[must_use]
pub fn ring_text(ring: &Ring, with_port: bool) -> String {
    let mut text = String::from("\n");
    // Cassandra measures addresses with their port and mostly prints them without.
    let width = ring.nodes.iter().map(|node| node.endpoint(true).len()).max().unwrap_or_default();
    for (center, nodes) in by_data_center(ring) {
        let _ = writeln!(text, "Datacenter: {center}\n==========");
        token_rows(ring, &nodes, width, with_port, &mut text);
        text.push('\n');
    }
    if ring.nodes.iter().any(|node| 1 < node.tokens.len()) {
        text.push_str("  Warning: \"nodetool ring\" is used to output all the tokens of a node.\n");
        text.push_str("  To view status related info of a node use \"nodetool status\" instead.\n\n");
    }
    let _ = write!(text, "\n  {}", note(ring));
    text
}

fn token_rows(ring: &Ring, nodes: &[&RingNode], width: usize, with_port: bool, text: &mut String) {
    let mut row = |cells: [&str; 7]| {
        let [address, rack, status, state, load, owns, token] = cells;
        let _ = writeln!(text, "{address:<width$}  {rack:<12}{status:<7}{state:<8}{load:<16}{owns:<20}{token:<44}");
    };
    let mut tokens: Vec<(i64, &str, &RingNode)> = nodes
        .iter()
        .flat_map(|node| node.tokens.iter().map(|token| (token.parse().unwrap_or_default(), token.as_str(), *node)))
        .collect();
    tokens.sort_by_key(|(position, _, _)| *position);
    row(["Address", "Rack", "Status", "State", "Load", "Owns", "Token"]);
    match tokens.as_slice() {
        // The ring closes: what lies before the first token belongs to the node of the last one.
        [_, .., (_, last, _)] => row(["", "", "", "", "", "", last]),
        _ => row([""; 7]),
    }
    for (_, token, node) in tokens {
        let status = match node.status {
            Status::Up => "Up",
            Status::Down => "Down",
            Status::Unknown => "?",
        };
        let state = match node.state {
            State::Normal => "Normal",
            State::Joining => "Joining",
            State::Leaving => "Leaving",
            State::Moving => "Moving",
        };
        row([&node.endpoint(with_port), &node.rack, status, state, &load(node), &owns(ring, node, 2), token]);
    }
}
