//! Every command against canned answers: what is printed is what Cassandra 5.0.9 printed.
//!
//! `golden/nodetool/*.txt` are answers of Cassandra's nodetool (one node, `SimpleSnitch`, 16 tokens), byte for byte;
//! `*.json` hold the same numbers as the admin API gives them.

use std::cell::RefCell;

use super::http::{HttpError, Method, Response};
use super::*;

/// Answers from a list of `(method and path, status, body)` and remembers what was asked.
struct Canned {
    answers: Vec<(&'static str, u16, &'static str)>,
    asked: RefCell<Vec<String>>,
}

impl Transport for Canned {
    fn request(
        &self,
        method: Method,
        target: &str,
        body: Option<&str>,
        _while_waiting: &mut dyn FnMut(),
    ) -> Result<Response, HttpError> {
        let asked = format!("{method:?} {}", target.trim_start_matches("/api/v1"));
        self.asked.borrow_mut().push(format!("{asked} {}", body.unwrap_or_default()).trim_end().to_owned());
        let known = self.answers.iter().find(|(what, _, _)| *what == asked);
        let (status, body) = known.map_or((404, "{}"), |(_, status, body)| (*status, *body));
        Ok(Response { status, body: body.as_bytes().to_vec() })
    }
}

/// Runs `nodetool LINE` and answers the exit code, both outputs and what the node was asked.
fn nodetool_with(answers: Vec<(&'static str, u16, &'static str)>, line: &str) -> (u8, String, String, Vec<String>) {
    let node = Canned { answers, asked: RefCell::default() };
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let exit_code = match command_line::parse(&words).and_then(|parsed| execute(&parsed, &node, &mut out)) {
        Ok(()) => 0,
        Err(failure) => failure.report(&mut out, &mut errors),
    };
    let text = |bytes| String::from_utf8(bytes).expect("nodetool prints UTF-8");
    (exit_code, text(out), text(errors), node.asked.into_inner())
}

fn check(line: &str, path: &'static str, answer: &'static str, expected: &str) {
    let cluster = ("Get /cluster", 200, include_str!("../../golden/nodetool/cluster.json"));
    let (exit_code, out, errors, _) = nodetool_with(vec![(path, 200, answer), cluster], line);
    assert_eq!((exit_code, errors.as_str()), (0, ""), "{line}");
    let difference = out.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert_eq!(difference, None, "{line}: the first line that differs");
    assert_eq!(out, expected, "{line}");
}

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("../../golden/nodetool/", $name))
    };
}

#[test]
fn status_and_ring_print_as_cassandra_does() {
    let (effective, raw) = (golden!("ring-effective.json"), golden!("ring-raw.json"));
    check("status shop", "Get /ring?keyspace=shop", effective, golden!("status-effective.txt"));
    check("status -r", "Get /ring", raw, golden!("status-raw.txt"));
    check("ring shop", "Get /ring?keyspace=shop", effective, golden!("ring-effective.txt"));
    // Cassandra ends without a line break when there is no note, and the golden answer with one shows both.
    check("ring", "Get /ring", raw, golden!("ring-raw.txt"));
}

#[test]
fn info_and_version_print_as_cassandra_does() {
    check("info -T", "Get /node", golden!("node.json"), golden!("info-tokens.txt"));
    check("version", "Get /node", golden!("node.json"), "ReleaseVersion: 5.0.9\n");
}

#[test]
fn gossipinfo_prints_as_cassandra_does() {
    check("gossipinfo", "Get /gossip", golden!("gossip.json"), golden!("gossipinfo.txt"));
}

#[test]
fn describecluster_prints_as_cassandra_does() {
    check("describecluster", "Get /ring", golden!("ring-raw.json"), golden!("describecluster.txt"));
}

#[test]
fn histograms_print_as_cassandra_does() {
    check(
        "tablehistograms shop orders",
        "Get /tables/shop/orders/histograms",
        golden!("histograms-orders.json"),
        golden!("tablehistograms.txt"),
    );
    check(
        "tablehistograms shop.empty",
        "Get /tables/shop/empty/histograms",
        golden!("histograms-empty.json"),
        golden!("tablehistograms-empty.txt"),
    );
    check("proxyhistograms", "Get /histograms", golden!("histograms-proxy.json"), golden!("proxyhistograms.txt"));
}

#[test]
fn tablestats_prints_as_cassandra_does() {
    let tables = golden!("tables.json");
    check("tablestats -H shop.orders", "Get /tables", tables, golden!("tablestats-human.txt"));
    check("cfstats -l shop.lcs", "Get /tables", tables, golden!("tablestats-location.txt"));
}

#[test]
fn tablestats_sorts_the_largest_first_and_selects_tables() {
    let answers = || vec![("Get /tables", 200, golden!("tables.json")), ("Get /cluster", 200, golden!("cluster.json"))];
    let titles = |line: &str| {
        let (_, out, _, _) = nodetool_with(answers(), line);
        let wanted =
            out.lines().filter(|line| line.contains("Table: ") || line.contains("Window") || line.contains("number"));
        wanted.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        titles("tablestats -s reads -t 2 shop"),
        ["Total number of tables: 4 (showing top 2 by reads)", "Table: shop.orders", "Table: shop.empty"]
    );
    assert_eq!(
        titles("tablestats -i shop"),
        [
            "Total number of tables: 1",
            "Table: view_build_status",
            "SSTables Time Window: 1 DAYS, max duration: 1 day 1 hour 1 minute 1 second"
        ]
    );
    for (line, complaint) in [
        ("tablestats nosuch", "Unknown keyspace: nosuch"),
        ("tablestats shop.nosuch", "Unknown tables: [nosuch] in keyspace: shop"),
        ("tablestats -F bad", "arguments for -F are json,yaml only."),
    ] {
        let (exit_code, out, _, _) = nodetool_with(answers(), line);
        let expected = format!("nodetool: {complaint}\nSee 'nodetool help' or 'nodetool help <command>'.\n");
        assert_eq!((exit_code, out), (1, expected));
    }
    let (_, out, _, _) = nodetool_with(answers(), "tablestats -F json shop.lcs");
    let document: Value = serde_json::from_str(&out).expect("-F json prints JSON");
    assert_eq!(document["total_number_of_tables"], json!(1));
    assert_eq!(document["shop"]["read_count"], json!(60));
    assert_eq!(document["shop"]["tables"]["lcs"]["space_used_live"], json!("13397"));
    assert_eq!(document["shop"]["tables"]["lcs"]["average_live_cells_per_slice_last_five_minutes"], json!("NaN"));
}

#[test]
fn background_work_prints_as_cassandra_does() {
    check("tpstats", "Get /threadpools", golden!("threadpools.json"), golden!("tpstats.txt"));
    let path = "Get /compactions";
    check("compactionstats", path, golden!("compactions.json"), golden!("compactionstats.txt"));
    check("compactionstats -V", path, golden!("compactions-vtable.json"), golden!("compactionstats-vtable.txt"));
    check("compactionstats -H", path, golden!("compactions-later.json"), golden!("compactionstats-human.txt"));
    check("compactionstats", path, golden!("compactions-idle.json"), golden!("compactionstats-idle.txt"));
    let (_, out, _, _) = nodetool_with(vec![("Get /threadpools", 200, golden!("threadpools.json"))], "tpstats -F yaml");
    assert!(out.starts_with("ThreadPools:\n  MutationStage:\n    TotalBlockedTasks: 0\n"), "{out}");
}

#[test]
fn snapshots_print_as_cassandra_does() {
    let path = "Get /snapshots";
    check("listsnapshots -e", path, golden!("snapshots.json"), golden!("listsnapshots-ephemeral.txt"));
    check("listsnapshots -nt", path, golden!("snapshots.json"), golden!("listsnapshots-no-ttl.txt"));
    check("listsnapshots", path, golden!("no-snapshots.json"), "Snapshot Details: \nThere are no snapshots\n");
}

fn check_snapshot(
    line: &str,
    expected_exit_code: u8,
    expected_out: &str,
    expected_errors: &str,
    expected_request: &str,
) {
    let (exit_code, out, errors, asked) = nodetool_with(
        vec![
            ("Post /snapshots", 200, r#"{"tag": "s"}"#),
            ("Delete /snapshots?tag=s", 200, r#"{"removed": 1}"#),
            ("Delete /snapshots?all=true&older_than_secs=3600&keyspace=a&keyspace=b", 200, r#"{"removed": 1}"#),
        ],
        line,
    );
    assert_eq!(
        (exit_code, out.as_str(), errors.as_str()),
        (expected_exit_code, expected_out, expected_errors),
        "{line}"
    );
    assert_eq!(asked.concat(), expected_request, "{line}");
}

#[test]
fn snapshot_says_what_it_asks_for_and_then_asks() {
    check_snapshot(
        "snapshot -t s --ttl 1h shop -cf orders",
        0,
        "Requested creating snapshot(s) for [shop] with snapshot name [s] and options {skipFlush=false, ttl=1h}\n\
         Snapshot directory: s\n",
        "",
        r#"Post /snapshots {"tag":"s","keyspaces":[],"tables":["shop.orders"],"skip_flush":false,"ttl_secs":3600}"#,
    );
    check_snapshot(
        "snapshot -t s -kt shop.orders,other",
        0,
        "Requested creating snapshot(s) for [shop.orders,other] with snapshot name [s] and options {skipFlush=false}\n\
         Snapshot directory: s\n",
        "",
        r#"Post /snapshots {"tag":"s","keyspaces":["other"],"tables":["shop.orders"],"skip_flush":false,"ttl_secs":null}"#,
    );
    check_snapshot(
        "snapshot -t s -sf -kt shop.orders,Mixed.T",
        0,
        "Requested creating snapshot(s) for [shop.orders,Mixed.T] with snapshot name [s] and options {skipFlush=true}\n\
         Snapshot directory: s\n",
        "",
        r#"Post /snapshots {"tag":"s","keyspaces":[],"tables":["shop.orders","Mixed.T"],"skip_flush":true,"ttl_secs":null}"#,
    );
    check_snapshot(
        "snapshot -t s --ttl 5s",
        1,
        "Requested creating snapshot(s) for [all keyspaces] with snapshot name [s] and options {skipFlush=false, ttl=5s}\n\
         nodetool: ttl for snapshot must be at least 60 seconds\n\
         See 'nodetool help' or 'nodetool help <command>'.\n",
        "",
        "",
    );
    check_snapshot(
        "snapshot -t s -cf orders a b",
        2,
        "Requested creating snapshot(s) for [a, b] with snapshot name [s] and options {skipFlush=false}\n",
        "error: When specifying the table for a snapshot, you must specify one and only one keyspace\n",
        "",
    );
}

#[test]
fn clearsnapshot_wants_a_name_or_all() {
    check_snapshot(
        "clearsnapshot -t s",
        0,
        "Requested clearing snapshot(s) for [all keyspaces] with snapshot name [s]\n",
        "",
        "Delete /snapshots?tag=s",
    );
    check_snapshot(
        "clearsnapshot --all --older-than 1h a b",
        0,
        "Requested clearing snapshot(s) for [a, b] with [all snapshots] older than 3600 seconds.\n",
        "",
        "Delete /snapshots?all=true&older_than_secs=3600&keyspace=a&keyspace=b",
    );
    let see = "\nSee 'nodetool help' or 'nodetool help <command>'.\n";
    check_snapshot("clearsnapshot", 1, &format!("nodetool: Specify snapshot name or --all{see}"), "", "");
    check_snapshot(
        "clearsnapshot --all --older-than xx",
        1,
        &format!(
            "nodetool: Invalid duration: xx Accepted units:[SECONDS, MINUTES, HOURS, DAYS] where case matters and only \
             non-negative values.{see}"
        ),
        "",
        "",
    );
}

#[test]
fn switches_print_and_set() {
    check("getlogginglevels", "Get /logging", golden!("logging.json"), golden!("getlogginglevels.txt"));
    check(
        "gettraceprobability",
        "Get /trace-probability",
        r#"{"probability": 0.5}"#,
        "Current trace probability: 0.5\n",
    );
    for (line, request) in [
        ("settraceprobability 0.5", r#"Put /trace-probability {"probability":0.5}"#),
        ("setlogginglevel a::b debug", r#"Put /logging {"logger":"a::b","level":"DEBUG"}"#),
        ("setlogginglevel", r#"Put /logging {"logger":null,"level":null}"#),
        ("flush shop a b", r#"Post /flush {"keyspace":"shop","tables":["a","b"]}"#),
        ("flush", r#"Post /flush {"keyspace":null,"tables":[]}"#),
        ("compact -s shop", r#"Post /compact {"split_output":true,"keyspace":"shop","tables":[]}"#),
        ("drain", "Post /drain {}"),
    ] {
        let paths = ["Put /trace-probability", "Put /logging", "Post /flush", "Post /compact", "Post /drain"];
        let (exit_code, out, errors, asked) = nodetool_with(paths.map(|path| (path, 200, "{}")).to_vec(), line);
        assert_eq!((exit_code, out, errors, asked.concat().as_str()), (0, String::new(), String::new(), request));
    }
    for (line, complaint) in [
        ("settraceprobability 2", "Trace probability must be between 0 and 1"),
        ("settraceprobability abc", "trace_probability: can not convert \"abc\" to a Double"),
    ] {
        let (exit_code, out, _, _) = nodetool_with(Vec::new(), line);
        assert!(exit_code == 1 && out.starts_with(&format!("nodetool: {complaint}\n")), "{out}");
    }
}

#[test]
fn compactions_are_steered_as_cassandras() {
    let node = golden!("node.json");
    check("statusbinary", "Get /node", node, "running\n");
    check("statusgossip", "Get /node", node, "running\n");
    check("statusautocompaction", "Get /auto-compaction", r#"{"enabled": false}"#, "not running\n");
    let (path, limit) = ("Get /compaction-throughput", r#"{"throughput_mib_per_sec": 64.0}"#);
    check("getcompactionthroughput", path, limit, "Current compaction throughput: 64 MB/s\n");
    check("getcompactionthroughput -d", path, limit, "Current compaction throughput: 64.0 MiB/s\n");
    check(
        "compactionhistory",
        "Get /compactions/history",
        r#"{"compactions": [{"id": "9599fdb0-e544-11f1-935d-0d20acf17da5", "kind": "Major compaction", "keyspace": "shop",
            "table": "orders", "compacted_at_micros": 1795221815656000, "bytes_in": 18586, "bytes_out": 18586}]}"#,
        "Compaction History: \n\
         id                                   keyspace_name columnfamily_name compacted_at            bytes_in bytes_out \
         rows_merged compaction_properties             \n\
         9599fdb0-e544-11f1-935d-0d20acf17da5 shop          orders            2026-11-21T00:43:35.656 18586    18586     \
         {}          {compaction_type:Major compaction}\n",
    );
    for (line, request) in [
        ("setcompactionthroughput 16", r#"Put /compaction-throughput {"throughput_mib_per_sec":16}"#),
        ("disableautocompaction", r#"Put /auto-compaction {"enabled":false}"#),
        ("stop", "Post /compactions/stop {}"),
        ("stop COMPACTION", "Post /compactions/stop {}"),
    ] {
        let paths = ["Put /compaction-throughput", "Put /auto-compaction", "Post /compactions/stop"];
        let (exit_code, out, _, asked) = nodetool_with(paths.map(|path| (path, 200, "{}")).to_vec(), line);
        assert_eq!((exit_code, out, asked.concat().as_str()), (0, String::new(), request));
    }
}

fn check_refusal(line: &str, path: &'static str, status: u16, body: &'static str, expected: (u8, &str, &str)) {
    let (exit_code, out, errors, _) = nodetool_with(vec![(path, status, body)], line);
    assert_eq!((exit_code, out.as_str(), errors.as_str()), expected);
}

#[test] // Texts and exit codes are those of Cassandra 5.0.9; its stack traces are left out.
fn refusals_are_told_as_cassandra_tells_them() {
    let unknown_keyspace = r#"{"error": {"code": "unknown_keyspace", "message": "Keyspace [nosuch] does not exist."}}"#;
    let unknown_table = r#"{"error": {"code": "unknown_table", "message": "Unknown keyspace/cf pair (shop.nosuch)"}}"#;
    let see = "See 'nodetool help' or 'nodetool help <command>'.\n";
    check_refusal(
        "flush nosuch",
        "Post /flush",
        404,
        unknown_keyspace,
        (1, &format!("nodetool: Keyspace [nosuch] does not exist.\n{see}"), ""),
    );
    check_refusal(
        "compact shop nosuch",
        "Post /compact",
        404,
        unknown_table,
        (2, "", "error: Unknown keyspace/cf pair (shop.nosuch)\n"),
    );
    check_refusal(
        "status nosuch",
        "Get /ring?keyspace=nosuch",
        404,
        unknown_keyspace,
        (1, "\nError: The keyspace nosuch, does not exist\n", ""),
    );
    let requested =
        "Requested creating snapshot(s) for [nosuch] with snapshot name [s] and options {skipFlush=false}\n";
    check_refusal(
        "snapshot -t s nosuch",
        "Post /snapshots",
        404,
        unknown_keyspace,
        (1, &format!("{requested}nodetool: Keyspace nosuch does not exist\n{see}"), ""),
    );
    check_refusal(
        "drain",
        "Post /drain",
        500,
        r#"{"error": {"code": "failed", "message": "flush /data: No space left"}}"#,
        (2, "", "error: flush /data: No space left\n"),
    );
    check_refusal("drain", "Post /drain", 502, "<html>", (2, "", "error: /drain: HTTP status 502\n"));
}

#[test]
fn unknown_and_unsupported_commands_and_dead_nodes_have_cassandras_exit_codes() {
    let see = "See 'nodetool help' or 'nodetool help <command>'.\n";
    let (exit_code, out, _, _) = nodetool_with(Vec::new(), "nosuchcommand");
    assert_eq!((exit_code, out), (1, format!("nodetool: Found unexpected parameters: [nosuchcommand]\n{see}")));
    let (exit_code, out, errors, _) = nodetool_with(Vec::new(), "repair -pr shop");
    assert_eq!((exit_code, out.as_str(), errors.as_str()), (2, "", "nodetool: repair is not in Helenus yet\n"));
    let failure = Failure::Connection {
        node: "127.0.0.1:7199".to_owned(),
        cause: HttpError::Connect(std::io::ErrorKind::ConnectionRefused.into()).to_string(),
    };
    let mut errors = Vec::new();
    assert_eq!(failure.report(&mut Vec::new(), &mut errors), 1);
    assert_eq!(
        String::from_utf8(errors).expect("text"),
        "nodetool: Failed to connect to '127.0.0.1:7199' - ConnectException: 'Connection refused (Connection refused)'.\n"
    );
}

#[test]
fn every_command_prints_documents_too() {
    let (_, json, _, _) = nodetool_with(vec![("Get /node", 200, golden!("node.json"))], "info --format json");
    assert_eq!(serde_json::from_str::<Value>(&json).ok(), serde_json::from_str(golden!("node.json")).ok());
    let (_, yaml, _, _) = nodetool_with(vec![("Post /flush", 200, "{}")], "flush -F yaml");
    assert_eq!(yaml, "{}\n");
}

#[test]
fn help_names_every_command() {
    let (exit_code, overview, _, _) = nodetool_with(Vec::new(), "");
    assert_eq!(exit_code, 0);
    for name in ["status", "tablestats", "settraceprobability", "clearsnapshot"] {
        assert!(overview.contains(&format!("    {name} ")), "{overview}");
        let (_, help, _, _) = nodetool_with(Vec::new(), &format!("help {name}"));
        assert!(help.contains("Usage: nodetool") && help.contains(name), "{help}");
    }
    assert_eq!(nodetool_with(Vec::new(), "help nosuch").1, "Unknown command nosuch\n\n");
    assert!(unsupported::COMMANDS.is_sorted());
}

#[test] // The binary mounts `Command`; words that look like options must reach our own parser.
fn the_mounted_command_takes_every_word_as_it_is() {
    #[derive(clap::Parser)]
    enum Binary {
        Nodetool(Command),
    }
    use clap::Parser;
    let Binary::Nodetool(command) =
        Binary::try_parse_from(["helenus", "nodetool", "-h", "::1", "-pw", "x", "snapshot", "-t", "a", "--help"])
            .expect("every word is accepted");
    assert_eq!(command.words, ["-h", "::1", "-pw", "x", "snapshot", "-t", "a", "--help"]);
}
