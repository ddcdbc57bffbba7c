//! Holds the crates' dependencies against the table of rooms in ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const ALL_ABOVE: &str = "all above";
const ANY: &str = "any";

/// Rooms in the page's order, with the rooms that each may use.
fn documented(page: &str) -> Vec<(String, BTreeSet<String>)> {
    let mut rooms: Vec<(String, BTreeSet<String>)> = Vec::new();
    let rows = page.lines().filter(|line| line.starts_with("| `")).map(|line| line.split('|').collect::<Vec<_>>());
    for row in rows.filter(|row| row.len() == 5) {
        let name = row[1].trim().trim_matches('`').to_owned();
        let uses = match row[3].trim() {
            ALL_ABOVE | ANY => rooms.iter().map(|(name, _)| name.clone()).collect(),
            listed => listed.split(", ").filter(|name| *name != "–").map(str::to_owned).collect(),
        };
        rooms.push((name, uses));
    }
    rooms
}

/// Direct dependencies of each room on other rooms, development ones included.
fn actual(metadata: &serde_json::Value) -> BTreeMap<String, BTreeSet<String>> {
    let room = |name: &str| name.strip_prefix("helenus-").map(str::to_owned);
    let packages = metadata["packages"].as_array().expect("cargo metadata lists packages");
    packages
        .iter()
        .filter_map(|package| {
            let name = room(package["name"].as_str()?)?;
            let dependencies = package["dependencies"].as_array()?;
            let uses = dependencies.iter().filter_map(|dependency| room(dependency["name"].as_str()?)).collect();
            Some((name, uses))
        })
        .collect()
}

#[test]
fn crates_use_only_the_rooms_that_the_architecture_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the page stands at the root");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(&root)
        .output()
        .expect("cargo runs, since it runs this test");
    let metadata = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let documented: BTreeMap<_, _> = documented(&page).into_iter().collect();
    let actual = actual(&metadata);
    assert_eq!(
        documented.keys().collect::<Vec<_>>(),
        actual.keys().collect::<Vec<_>>(),
        "rooms in ARCHITECTURE.md and crates differ"
    );
    for (room, uses) in &actual {
        let extra: Vec<_> = uses.difference(&documented[room]).collect();
        assert!(extra.is_empty(), "{room} uses {extra:?}, which ARCHITECTURE.md does not allow");
    }
}

#[test]
fn an_edge_that_is_not_documented_is_found() {
    let page = "| `a` | x | – |\n| `b` | y | – |\n";
    let metadata = serde_json::json!({"packages": [
        {"name": "helenus-a", "dependencies": []},
        {"name": "helenus-b", "dependencies": [{"name": "helenus-a"}]},
    ]});
    let documented: BTreeMap<_, _> = documented(page).into_iter().collect();
    assert!(!actual(&metadata)["b"].is_subset(&documented["b"]));
}
