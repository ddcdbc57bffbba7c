"""DESCRIBE in all its forms: the server writes these texts, and they must make the same schema again."""

import re

from conftest import KEYSPACE

PEOPLE = f"""CREATE TABLE {KEYSPACE}.people (
    id int PRIMARY KEY,
    home frozen<address>,
    name text,
    tags set<text>
) WITH additional_write_policy = '99p'
    AND allow_auto_snapshot = true
    AND bloom_filter_fp_chance = 0.01
    AND caching = {{'keys': 'ALL', 'rows_per_partition': 'NONE'}}
    AND cdc = false
    AND comment = ''
    AND compaction = {{'class': 'org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy', 'max_threshold': '32', 'min_threshold': '4'}}
    AND compression = {{'chunk_length_in_kb': '16', 'class': 'org.apache.cassandra.io.compress.LZ4Compressor'}}
    AND memtable = 'default'
    AND crc_check_chance = 1.0
    AND default_time_to_live = 0
    AND extensions = {{}}
    AND gc_grace_seconds = 864000
    AND incremental_backups = true
    AND max_index_interval = 2048
    AND memtable_flush_period_in_ms = 0
    AND min_index_interval = 128
    AND read_repair = 'BLOCKING'
    AND speculative_retry = '99p';"""
TYPE = f"CREATE TYPE {KEYSPACE}.address (\n    street text,\n    number int\n);"
MADE = f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': '1'}}  AND durable_writes = true;"


def test_describe_table_gives_every_option_in_order(shell):
    for form in ("DESCRIBE TABLE people", f"DESC TABLE {KEYSPACE}.people", "DESCRIBE people"):
        assert shell.run(form).strip() == PEOPLE


def test_describe_type_and_types(shell):
    assert shell.run("DESCRIBE TYPE address").strip() == TYPE
    assert "address" in shell.run("DESCRIBE TYPES").split()


def test_describe_keyspace_lists_types_before_tables(shell):
    for form in (f"DESCRIBE KEYSPACE {KEYSPACE}", "DESCRIBE KEYSPACE", f"DESCRIBE {KEYSPACE}"):
        text = shell.run(form)
        parts = [text.index(part) for part in (MADE, TYPE, PEOPLE, f"CREATE TABLE {KEYSPACE}.readings")]
        assert parts == sorted(parts)


def test_describe_keyspaces_and_tables_list_names(shell):
    assert set(shell.run("DESCRIBE KEYSPACES").split()) >= {
        KEYSPACE, "system", "system_auth", "system_distributed", "system_schema", "system_traces", "system_views",
        "system_virtual_schema"}
    assert {"people", "readings"} <= set(shell.run("DESCRIBE TABLES").split())
    everywhere = shell.run("DESCRIBE TABLES", keyspace=None)
    assert f"Keyspace {KEYSPACE}" in everywhere and "Keyspace system_schema" in everywhere


def test_describe_cluster_names_partitioner_and_snitch(shell):
    text = shell.run("DESCRIBE CLUSTER", keyspace=None)
    assert re.search(r"Cluster: \S.*", text) and "Partitioner: Murmur3Partitioner" in text and "Snitch: " in text
    assert "Range ownership:" in shell.run("DESCRIBE CLUSTER")


def test_describe_schema_leaves_out_system_keyspaces_unless_full(shell):
    text = shell.run("DESCRIBE SCHEMA")
    assert PEOPLE in text and "CREATE KEYSPACE system_schema" not in text
    assert "CREATE TABLE system_schema.tables" in shell.run("DESCRIBE FULL SCHEMA")


def test_describe_lists_of_kinds_that_are_absent_are_empty(shell):
    for form in ("DESCRIBE FUNCTIONS", "DESCRIBE AGGREGATES"):
        assert KEYSPACE not in shell.run(form)


def test_describe_system_table_and_virtual_table(shell):
    assert "CREATE TABLE system.local (" in shell.run("DESCRIBE TABLE system.local")
    assert "VIRTUAL TABLE system_views.clients" in shell.run("DESCRIBE TABLE system_views.clients")


def test_describe_what_does_not_exist_says_so(shell):
    assert "'nope' not found in keyspace" in shell.run("DESCRIBE TABLE nope", ok=False)
    assert "'nope' not found in keyspaces" in shell.run("DESCRIBE KEYSPACE nope", ok=False)


def test_described_table_can_be_made_again(shell):
    text = shell.run("DESCRIBE TABLE readings")
    assert "WITH CLUSTERING ORDER BY (c DESC)" in text and "comment = 'for cqlsh'" in text
    shell.run(text.replace(".readings (", ".again ("))
    assert shell.run("DESCRIBE TABLE again").replace(".again (", ".readings (") == text


def test_internals_give_the_table_id(shell):
    text = shell.run("DESCRIBE TABLE people WITH INTERNALS")
    assert re.search(r"WITH ID = [0-9a-f-]{36}\n    AND additional_write_policy", text)


def test_quoted_names_stay_quoted(shell):
    shell.run('CREATE TABLE "MixedCase" ("Key" int PRIMARY KEY, "select" text);')
    text = shell.run('DESCRIBE TABLE "MixedCase"')
    assert f'CREATE TABLE {KEYSPACE}."MixedCase" (\n    "Key" int PRIMARY KEY,\n    "select" text\n)' in text
    shell.run('DROP TABLE "MixedCase";')
