package helenus.driver;

import static helenus.driver.Main.equal;
import static helenus.driver.Main.fails;
import static helenus.driver.Main.holds;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.InvalidKeyspaceException;
import com.datastax.oss.driver.api.core.Version;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.metadata.Node;
import com.datastax.oss.driver.api.core.metadata.NodeState;
import com.datastax.oss.driver.api.core.metadata.TokenMap;
import helenus.driver.Main.Check;
import java.net.InetSocketAddress;
import java.util.Set;

/** Connecting: version negotiation, compression, and what the driver learns about the node. */
final class ConnectionChecks {
    private final Server server;

    ConnectionChecks(Server server) {
        this.server = server;
    }

    @Check
    void defaultProtocolVersionIsNegotiatedDownTo5() {
        equal("V5", server.session.getContext().getProtocolVersion().name());
    }

    @Check
    void eachVersionAnswersWithEachCompressionItHas() {
        for (String choice : new String[] {"V3 none", "V3 lz4", "V3 snappy", "V4 none", "V4 lz4", "V4 snappy", "V5 none", "V5 lz4"}) {
            String[] parts = choice.split(" ");
            try (CqlSession session = server.connect(settings -> settings
                    .withString(DefaultDriverOption.PROTOCOL_VERSION, parts[0]).withString(DefaultDriverOption.PROTOCOL_COMPRESSION, parts[1]),
                    builder -> builder)) {
                equal(parts[0], session.getContext().getProtocolVersion().name());
                int rows = session.execute("SELECT keyspace_name, table_name, column_name, type FROM system_schema.columns").all().size();
                holds(rows > 100, choice + ": " + rows + " columns");
            }
        }
    }

    @Check
    void theOneNodeIsUpAndDescribed() {
        Set<?> nodes = Set.copyOf(server.session.getMetadata().getNodes().values());
        equal(1, nodes.size());
        Node node = server.session.getMetadata().getNodes().values().iterator().next();
        equal(NodeState.UP, node.getState());
        equal(Server.DATA_CENTRE, node.getDatacenter());
        equal("rack1", node.getRack());
        equal(server.address, node.getBroadcastRpcAddress().orElse((InetSocketAddress) null));
        holds(node.getHostId() != null && node.getSchemaVersion() != null, "no host id or schema version");
        holds(node.getCassandraVersion().compareTo(Version.parse("5.0.0")) >= 0, node.getCassandraVersion());
        equal(null, node.getExtras().get("DSE_VERSION"));
    }

    @Check
    void tokenMapRoutesEveryKeyToTheNode() {
        TokenMap tokens = server.session.getMetadata().getTokenMap().orElseThrow();
        equal("Murmur3Partitioner", tokens.getPartitionerName().replaceAll(".*\\.", ""));
        holds(!tokens.getTokenRanges().isEmpty(), "no token ranges");
        equal(1, tokens.getReplicas(Server.KEYSPACE, java.nio.ByteBuffer.wrap(new byte[] {0, 0, 0, 1})).size());
    }

    @Check
    void unknownKeyspaceIsRefusedAtConnect() {
        fails(InvalidKeyspaceException.class, "no_such_keyspace", () -> server.connectTo("no_such_keyspace").close());
    }

    @Check
    void clusterNameIsReadWithoutWhere() {
        Row row = server.session.execute("SELECT cluster_name FROM system.local").one();
        holds(row != null && !row.getString("cluster_name").isEmpty(), "no cluster name");
    }

    @Check
    void schemaIsAgreedUpon() {
        holds(server.session.checkSchemaAgreement(), "no agreement");
    }
}
