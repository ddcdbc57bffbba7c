package helenus.driver;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.CqlSessionBuilder;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.config.ProgrammaticDriverConfigLoaderBuilder;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.UnaryOperator;

/** The server under test (HELENUS_HOST, HELENUS_PORT) and one session in a keyspace of our own. */
final class Server implements AutoCloseable {
    static final String KEYSPACE = "drivers_java";
    static final String DATA_CENTRE = "datacenter1";

    final InetSocketAddress address = new InetSocketAddress(
        System.getenv().getOrDefault("HELENUS_HOST", "127.0.0.1"), Integer.parseInt(System.getenv().getOrDefault("HELENUS_PORT", "9042")));
    final CqlSession session;

    Server() {
        session = connect(settings -> settings, builder -> builder);
        session.execute("DROP KEYSPACE IF EXISTS " + KEYSPACE);
        session.execute("CREATE KEYSPACE " + KEYSPACE + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
        session.execute("USE " + KEYSPACE);
    }

    /** A new session; its closing is the caller's. */
    CqlSession connect(UnaryOperator<ProgrammaticDriverConfigLoaderBuilder> settings, UnaryOperator<CqlSessionBuilder> choices) {
        ProgrammaticDriverConfigLoaderBuilder loader = DriverConfigLoader.programmaticBuilder()
            .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(30))
            .withDuration(DefaultDriverOption.CONNECTION_INIT_QUERY_TIMEOUT, Duration.ofSeconds(30))
            .withDuration(DefaultDriverOption.CONTROL_CONNECTION_TIMEOUT, Duration.ofSeconds(30))
            .withDuration(DefaultDriverOption.METADATA_SCHEMA_REQUEST_TIMEOUT, Duration.ofSeconds(30))
            .withDuration(DefaultDriverOption.METADATA_SCHEMA_WINDOW, Duration.ofMillis(10));
        CqlSessionBuilder builder = CqlSession.builder().addContactPoint(address).withLocalDatacenter(DATA_CENTRE)
            .withConfigLoader(settings.apply(loader).build());
        return choices.apply(builder).build();
    }

    CqlSession connectTo(String keyspace) {
        return connect(settings -> settings, builder -> builder.withKeyspace(keyspace));
    }

    @Override
    public void close() {
        session.execute("DROP KEYSPACE IF EXISTS " + KEYSPACE);
        session.close();
    }
}
