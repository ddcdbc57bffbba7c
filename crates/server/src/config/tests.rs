use super::*;

const MACHINE: Machine = Machine { memory_bytes: Some(8 << 30), cores: 4 };

fn load(text: &str) -> Result<Config, ConfigError> {
    let mut values = Values::default();
    let path = Path::new("/etc/c.yaml");
    let entries =
        tree::parse(text).map_err(|(line, problem)| ConfigError::InFile { path: path.to_owned(), line, problem })?;
    check_seeds(path, &entries)?;
    values.set_file(path, &entries)?;
    Config::from_values(values, MACHINE, ("datacenter1".to_owned(), "rack1".to_owned()))
}

fn check_refused(text: &str, expected: &str) {
    let error = load(text).expect_err("the configuration should be refused").to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn defaults_are_cassandras() {
    let config = load("").unwrap();
    assert_eq!(config.cluster_name, "Test Cluster");
    assert_eq!(config.cql.to_string(), "127.0.0.1:9042");
    assert_eq!(config.admin.map(|admin| admin.to_string()).as_deref(), Some("127.0.0.1:7199"));
    assert_eq!(config.shard_aware_port, Some(19042));
    assert_eq!(config.memory.total, 2 << 30);
    assert_eq!(config.shard_count, 4);
    assert_eq!(config.requests.read, Duration::from_secs(5));
    assert_eq!(config.commit_log_sync, CommitLogSync::Periodic { period: Duration::from_secs(10) });
    assert_eq!(config.directories.data, Path::new("helenus-data/data"));
    assert!(config.warnings.is_empty());
}

#[test]
fn a_file_with_everything_that_cassandras_own_sets_is_accepted() {
    let config = load(include_str!("../../testdata/cassandra-5.0-settings.yaml")).unwrap();
    assert_eq!(config.requests.truncate, Duration::from_secs(60));
    assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
    assert!(config.warnings[0].contains("hinted_handoff_enabled"));
}

#[test]
fn what_would_open_the_data_to_everybody_must_be_asked_for() {
    check_refused("rpc_address: 192.0.2.1", "/etc/c.yaml:1: rpc_address is 192.0.2.1, where everybody");
    assert!(load("rpc_address: 192.0.2.1\nallow_insecure: true").is_ok());
    assert!(load("rpc_address: 192.0.2.1\nauthenticator: PasswordAuthenticator").is_ok());
}

#[test]
fn what_cannot_be_done_is_refused_with_its_place() {
    check_refused("\ndata_file_directories: [/a, /b]", "/etc/c.yaml:2: data_file_directories: 2 directories are given");
    check_refused("authorizer: CassandraAuthorizer", "Helenus has only AllowAllAuthorizer");
    check_refused("partitioner: RandomPartitioner", "Helenus has only Murmur3Partitioner");
    check_refused("memory: 64MiB", "memory: at least 128 MiB are needed");
    check_refused("rpc_address: 0.0.0.0\nallow_insecure: true", "set broadcast_rpc_address");
    check_refused("initial_token: 1, x", "initial_token: '1, x' is not a list");
    let seeds =
        "seed_provider:\n  - class_name: a.SimpleSeedProvider\n    parameters:\n      - seeds: \"192.0.2.7:7000\"\n";
    check_refused(seeds, "/etc/c.yaml:4: seed_provider: 192.0.2.7 is not this node");
    check_refused("commitlog_segment_size: 0MiB", "/etc/c.yaml:1: commitlog_segment_size: expected a size from 1MiB");
    check_refused("commitlog_segment_size: 4GiB", "expected a size from 1MiB to 2047MiB");
    check_refused("num_tokens: 4\nnum_tokens: 5", "/etc/c.yaml:2: num_tokens is set twice");
    check_refused("auth_superuser_name: a", "needs auth_superuser_salted_password");
}

#[test]
fn directories_follow_the_root_unless_set_apart() {
    let directories = |text: &str| load(text).unwrap().directories;
    assert_eq!(directories("data_directory: /d").commit_log, Path::new("/d/commitlog"));
    let apart = directories("data_file_directories: [/var/lib/cassandra/data]\ncommitlog_directory: /log");
    assert_eq!(apart.root, Path::new("/var/lib/cassandra"));
    assert_eq!(
        (apart.data.as_path(), apart.commit_log.as_path()),
        (Path::new("/var/lib/cassandra/data"), Path::new("/log"))
    );
}

#[test]
fn rack_and_data_centre_come_from_the_properties() {
    let path = Path::new("p");
    let found = rack_and_dc(path, "# comment\ndc = east\nrack=r2\n").unwrap();
    assert_eq!(found, ("east".to_owned(), "r2".to_owned()));
    assert_eq!(rack_and_dc(path, "dc=east\n").unwrap_err().to_string(), "p:1: expected a line rack=NAME");
}

#[test]
fn the_guide_has_the_table_of_all_settings() {
    let guide = include_str!("../../../../docs/configuration.md");
    assert!(guide.ends_with(&settings_table()), "write it anew: cargo run -p helenus-server --example settings_file");
}

#[test]
fn the_shipped_file_sets_nothing_but_defaults() {
    let shipped = load(include_str!("../../../../conf/helenus.yaml")).unwrap();
    let default = load("").unwrap();
    assert!(shipped.warnings.is_empty());
    assert_eq!(format!("{:?}", shipped.requests), format!("{:?}", default.requests));
    assert_eq!((shipped.memory, shipped.connections), (default.memory, default.connections));
}

#[test]
fn the_shipped_file_shows_every_setting_with_its_default() {
    let shipped = include_str!("../../../../conf/helenus.yaml");
    assert_eq!(shipped, settings_file(), "write it anew: cargo run -p helenus-server --example settings_file");
}
