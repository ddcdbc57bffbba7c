import java.util.*;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.dht.Token;
import org.apache.cassandra.locator.*;

/**
 * Prints where Cassandra's strategies place replicas on random rings, for crates/cluster/golden/placement.txt:
 *
 *   ring <case>
 *   node <index> <data centre> <rack> <token> ...
 *   replication <class> [<data centre or replication_factor>=<factor> ...]
 *   at <token> <node index> ...
 */
public class Placement {
    // java -cp "$(tests/oracle/cassandra classpath)" tests/oracle/Placement.java SEED RINGS | grep -v INFO
    public static void main(String[] args) throws Exception {
        DatabaseDescriptor.clientInitialization();
        DatabaseDescriptor.setPartitionerUnsafe(Murmur3Partitioner.instance);
        Random random = new Random(Long.parseLong(args[0]));
        int rings = Integer.parseInt(args[1]);
        for (int ring = 0; ring < rings; ring++) {
            System.out.println("ring " + ring);
            int centres = 1 + random.nextInt(3), nodes = 1 + random.nextInt(10), vnodes = 1 + random.nextInt(4);
            Map<InetAddressAndPort, String[]> places = new LinkedHashMap<>();
            Map<InetAddressAndPort, Integer> indexes = new HashMap<>();
            Map<InetAddressAndPort, List<Token>> owned = new LinkedHashMap<>();
            for (int node = 0; node < nodes; node++) {
                InetAddressAndPort address = InetAddressAndPort.getByName("127.0.1." + (node + 1));
                String[] place = { "dc" + random.nextInt(centres), "r" + random.nextInt(4) };
                places.put(address, place);
                indexes.put(address, node);
                List<Token> tokens = new ArrayList<>();
                for (int i = 0; i < vnodes; i++) tokens.add(new Murmur3Partitioner.LongToken(random.nextInt(2000) - 1000L + node * 10000L % 7));
                owned.put(address, tokens);
            }
            // One owner a token.
            Set<Token> seen = new HashSet<>();
            for (List<Token> tokens : owned.values()) tokens.removeIf(token -> !seen.add(token));
            owned.values().removeIf(List::isEmpty);
            IEndpointSnitch snitch = new AbstractNetworkTopologySnitch() {
                public String getRack(InetAddressAndPort endpoint) { return places.get(endpoint)[1]; }
                public String getDatacenter(InetAddressAndPort endpoint) { return places.get(endpoint)[0]; }
            };
            DatabaseDescriptor.setEndpointSnitch(snitch);
            TokenMetadata metadata = new TokenMetadata(snitch);
            for (Map.Entry<InetAddressAndPort, List<Token>> entry : owned.entrySet()) {
                metadata.updateNormalTokens(entry.getValue(), entry.getKey());
                StringBuilder line = new StringBuilder("node " + indexes.get(entry.getKey()) + " " + String.join(" ", places.get(entry.getKey())));
                for (Token token : entry.getValue()) line.append(" ").append(token);
                System.out.println(line);
            }
            for (int replication = 0; replication < 4; replication++) {
                Map<String, String> options = new TreeMap<>();
                AbstractReplicationStrategy strategy;
                if (replication == 0) {
                    options.put("replication_factor", String.valueOf(1 + random.nextInt(5)));
                    strategy = new SimpleStrategy("k", metadata, snitch, options);
                } else {
                    for (int centre = 0; centre < centres; centre++)
                        if (random.nextInt(4) != 0) options.put("dc" + centre, String.valueOf(random.nextInt(5)));
                    if (options.isEmpty()) continue;
                    strategy = new NetworkTopologyStrategy("k", metadata, snitch, options);
                }
                StringBuilder line = new StringBuilder("replication " + strategy.getClass().getSimpleName());
                options.forEach((name, factor) -> line.append(" ").append(name).append("=").append(factor));
                System.out.println(line);
                for (int i = 0; i < 6; i++) {
                    Token token = new Murmur3Partitioner.LongToken(random.nextInt(2400) - 1200L);
                    StringBuilder at = new StringBuilder("at " + token);
                    for (Replica replica : strategy.calculateNaturalReplicas(token, metadata)) at.append(" ").append(indexes.get(replica.endpoint()));
                    System.out.println(at);
                }
            }
        }
    }
}
