package helenus.driver;

import static helenus.driver.Main.equal;
import static helenus.driver.Main.holds;

import com.datastax.oss.driver.api.core.CqlIdentifier;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.metadata.Metadata;
import com.datastax.oss.driver.api.core.metadata.schema.ClusteringOrder;
import com.datastax.oss.driver.api.core.metadata.schema.KeyspaceMetadata;
import com.datastax.oss.driver.api.core.metadata.schema.SchemaChangeListenerBase;
import com.datastax.oss.driver.api.core.metadata.schema.TableMetadata;
import helenus.driver.Main.Check;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** What the driver reads out of the schema tables, and the events that keep it fresh. */
final class SchemaChecks {
    private final Server server;

    SchemaChecks(Server server) {
        this.server = server;
    }

    private TableMetadata table(String name) {
        return server.session.getMetadata().getKeyspace(Server.KEYSPACE).orElseThrow().getTable(name).orElseThrow();
    }

    @Check
    void tableHasItsKeysOrderStaticsAndTypes() {
        server.session.execute("CREATE TABLE described (a int, b text, c timeuuid, \"D\" int, s text STATIC, m map<text, frozen<set<int>>>, "
            + "v vector<float, 3>, PRIMARY KEY ((a, b), c, \"D\")) WITH CLUSTERING ORDER BY (c DESC, \"D\" ASC) AND comment = 'it''s'");
        TableMetadata table = table("described");
        equal(List.of("a", "b"), table.getPartitionKey().stream().map(column -> column.getName().asInternal()).toList());
        equal(List.of(ClusteringOrder.DESC, ClusteringOrder.ASC), List.copyOf(table.getClusteringColumns().values()));
        holds(table.getColumn("s").orElseThrow().isStatic(), "s is not static");
        equal("map<text, frozen<set<int>>>", table.getColumn("m").orElseThrow().getType().asCql(true, true));
        equal("it's", table.getOptions().get(CqlIdentifier.fromInternal("comment")));
        holds(table.getId().isPresent(), "no id");
    }

    @Check
    void describedTableCanBeMadeAgain() {
        server.session.execute("CREATE TABLE original (a int, b text, v set<int>, PRIMARY KEY (a, b)) WITH CLUSTERING ORDER BY (b DESC)");
        String text = table("original").describe(true);
        server.session.execute("DROP TABLE original");
        server.session.execute(text);
        equal(text, table("original").describe(true));
    }

    @Check
    void keyspaceFollowsAlterAndDrop() {
        server.session.execute("DROP KEYSPACE IF EXISTS drivers_java_alter");
        server.session.execute("CREATE KEYSPACE drivers_java_alter WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1} "
            + "AND durable_writes = false");
        KeyspaceMetadata keyspace = server.session.getMetadata().getKeyspace("drivers_java_alter").orElseThrow();
        equal("1", keyspace.getReplication().get("datacenter1"));
        holds(!keyspace.isDurableWrites(), "durable");
        server.session.execute("ALTER KEYSPACE drivers_java_alter WITH durable_writes = true");
        holds(server.session.getMetadata().getKeyspace("drivers_java_alter").orElseThrow().isDurableWrites(), "not durable");
        server.session.execute("DROP KEYSPACE drivers_java_alter");
        holds(server.session.getMetadata().getKeyspace("drivers_java_alter").isEmpty(), "still known");
    }

    @Check
    void changesMadeByOthersAreAnnounced() throws Exception {
        LinkedBlockingQueue<String> seen = new LinkedBlockingQueue<>();
        try (CqlSession listening = server.connect(settings -> settings, builder -> builder.withSchemaChangeListener(new SchemaChangeListenerBase() {
            @Override
            public void onTableCreated(TableMetadata table) {
                seen.add("created " + table.getName());
            }

            @Override
            public void onTableUpdated(TableMetadata current, TableMetadata previous) {
                seen.add("updated " + current.getName());
            }

            @Override
            public void onTableDropped(TableMetadata table) {
                seen.add("dropped " + table.getName());
            }
        }))) {
            seen.clear();
            for (String[] change : new String[][] {{"CREATE TABLE announced (k int PRIMARY KEY)", "created announced"},
                {"ALTER TABLE announced ADD v int", "updated announced"}, {"DROP TABLE announced", "dropped announced"}}) {
                server.session.execute(change[0]);
                String event = seen.poll(20, TimeUnit.SECONDS);
                equal(change[1], event);
            }
            holds(listening.checkSchemaAgreement(), "no agreement");
        }
    }

    @Check
    void systemKeyspacesAndVirtualOnesAreRead() {
        try (CqlSession everything = server.connect(settings -> settings
                .withStringList(DefaultDriverOption.METADATA_SCHEMA_REFRESHED_KEYSPACES, List.of("/.*/")), builder -> builder)) {
            Metadata metadata = everything.getMetadata();
            KeyspaceMetadata system = metadata.getKeyspace("system").orElseThrow();
            holds(system.getTable("local").isPresent() && system.getTable("peers_v2").isPresent(), "no local or peers_v2");
            holds(system.getTable(CqlIdentifier.fromInternal("IndexInfo")).isPresent(), "no IndexInfo");
            holds(metadata.getKeyspace("system_schema").orElseThrow().getTable("columns").isPresent(), "no system_schema.columns");
            KeyspaceMetadata views = metadata.getKeyspace("system_views").orElseThrow();
            holds(views.isVirtual() && views.getTable("clients").isPresent(), "no virtual table clients");
        }
    }
}
