package helenus.driver;

import static helenus.driver.Main.equal;
import static helenus.driver.Main.fails;
import static helenus.driver.Main.holds;

import com.datastax.oss.driver.api.core.AllNodesFailedException;
import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.DefaultConsistencyLevel;
import com.datastax.oss.driver.api.core.cql.AsyncResultSet;
import com.datastax.oss.driver.api.core.cql.BatchStatement;
import com.datastax.oss.driver.api.core.cql.BatchType;
import com.datastax.oss.driver.api.core.cql.BoundStatement;
import com.datastax.oss.driver.api.core.cql.DefaultBatchType;
import com.datastax.oss.driver.api.core.cql.PagingState;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.QueryTrace;
import com.datastax.oss.driver.api.core.cql.ResultSet;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import com.datastax.oss.driver.api.core.servererrors.AlreadyExistsException;
import com.datastax.oss.driver.api.core.servererrors.InvalidConfigurationInQueryException;
import com.datastax.oss.driver.api.core.servererrors.InvalidQueryException;
import com.datastax.oss.driver.api.core.servererrors.SyntaxError;
import com.datastax.oss.driver.api.core.servererrors.UnauthorizedException;
import com.datastax.oss.driver.api.core.servererrors.UnavailableException;
import helenus.driver.Main.Check;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;

/** Preparing, paging, batches, conditional writes, concurrency, tracing, warnings, errors. */
final class StatementChecks {
    private static final int ROWS = 250;

    private final CqlSession session;

    StatementChecks(Server server) {
        session = server.session;
        session.execute("CREATE TABLE pairs (k int PRIMARY KEY, v text, w int)");
        session.execute("CREATE TABLE numbers (p int, c int, v text, PRIMARY KEY (p, c))");
        PreparedStatement insert = session.prepare("INSERT INTO numbers (p, c, v) VALUES (?, ?, ?)");
        List<CompletionStage<AsyncResultSet>> waiting = new ArrayList<>();
        for (int c = 0; c < ROWS; c++) {
            waiting.add(session.executeAsync(insert.bind(0, c, "v" + c)));
            waiting.add(session.executeAsync(insert.bind(1 + c, 0, "w" + c)));
        }
        waiting.forEach(answer -> answer.toCompletableFuture().join());
    }

    @Check
    void preparedStatementKnowsItsRoutingKey() {
        PreparedStatement insert = session.prepare("INSERT INTO pairs (v, k) VALUES (?, ?)");
        equal(List.of(1), insert.getPartitionKeyIndices());
        equal(16, insert.getId().remaining());
        BoundStatement bound = insert.bind("x", 5);
        equal(ByteBuffer.wrap(new byte[] {0, 0, 0, 5}), bound.getRoutingKey());
        session.execute(bound);
        equal("x", session.execute("SELECT v FROM pairs WHERE k = 5").one().getString(0));
    }

    @Check
    void namedValuesAndUnsetValues() {
        PreparedStatement insert = session.prepare("INSERT INTO pairs (k, v, w) VALUES (:key, :v, :w)");
        session.execute(insert.boundStatementBuilder().setInt("key", 6).setString("v", "kept").setInt("w", 1).build());
        session.execute(insert.boundStatementBuilder().setInt("key", 6).setInt("w", 2).build());
        Row row = session.execute(SimpleStatement.newInstance("SELECT v, w FROM pairs WHERE k = :k", Map.of("k", 6))).one();
        equal("kept", row.getString("v"));
        equal(2, row.getInt("w"));
    }

    @Check
    void preparedSelectStarSeesAColumnAddedLater() {
        session.execute("CREATE TABLE growing (k int PRIMARY KEY, a int)");
        session.execute("INSERT INTO growing (k, a) VALUES (1, 2)");
        PreparedStatement select = session.prepare("SELECT * FROM growing WHERE k = ?");
        equal(2, session.execute(select.bind(1)).getColumnDefinitions().size());
        session.execute("ALTER TABLE growing ADD b text");
        session.execute("INSERT INTO growing (k, b) VALUES (1, 'new')");
        equal("new", session.execute(select.bind(1)).one().getString("b"));
    }

    @Check
    void pagesOfAnySizeGiveEveryRowOnce() {
        for (int size : new int[] {1, 7, 100, 5000}) {
            ResultSet rows = session.execute(SimpleStatement.newInstance("SELECT c FROM numbers WHERE p = 0").setPageSize(size));
            int expected = 0;
            for (Row row : rows) {
                equal(expected++, row.getInt("c"));
            }
            equal(ROWS, expected);
        }
        Set<Integer> keys = new HashSet<>();
        for (Row row : session.execute(SimpleStatement.newInstance("SELECT DISTINCT p FROM numbers").setPageSize(13))) {
            holds(keys.add(row.getInt(0)), "twice: " + row.getInt(0));
        }
        equal(ROWS + 1, keys.size());
    }

    @Check
    void pagingStateIsContinuedByAnotherStatement() {
        SimpleStatement select = SimpleStatement.newInstance("SELECT c FROM numbers WHERE p = 0").setPageSize(10);
        PagingState state = session.execute(select).getExecutionInfo().getSafePagingState();
        equal(10, session.execute(select.setPagingState(PagingState.fromString(state.toString()))).one().getInt("c"));
    }

    @Check
    void batchesOfAllKindsApply() {
        PreparedStatement insert = session.prepare("INSERT INTO pairs (k, v) VALUES (?, ?)");
        int key = 100;
        for (BatchType kind : new BatchType[] {DefaultBatchType.LOGGED, DefaultBatchType.UNLOGGED}) {
            session.execute(BatchStatement.newInstance(kind, insert.bind(key, "prepared"),
                SimpleStatement.newInstance("INSERT INTO pairs (k, v) VALUES (?, ?)", key + 1, "simple")));
            equal(2, session.execute("SELECT v FROM pairs WHERE k IN (" + key + ", " + (key + 1) + ")").all().size());
            key += 10;
        }
        session.execute("CREATE TABLE clicks (k int PRIMARY KEY, n counter)");
        session.execute(BatchStatement.newInstance(DefaultBatchType.COUNTER,
            SimpleStatement.newInstance("UPDATE clicks SET n = n + 1 WHERE k = 1"), SimpleStatement.newInstance("UPDATE clicks SET n = n + 2 WHERE k = 2")));
        equal(2L, session.execute("SELECT n FROM clicks WHERE k = 2").one().getLong(0));
    }

    @Check
    void conditionalWritesAnswerWithWhatWasThere() {
        SimpleStatement insert = SimpleStatement.newInstance("INSERT INTO pairs (k, v) VALUES (200, 'mine') IF NOT EXISTS");
        holds(session.execute(insert).wasApplied(), "first insert refused");
        ResultSet refused = session.execute(insert);
        holds(!refused.wasApplied(), "second insert applied");
        Row row = refused.one();
        equal("mine", row.getString("v"));
        equal(200, row.getInt("k"));
        holds(!session.execute("UPDATE pairs SET v = 'b' WHERE k = 200 IF v = 'other'").wasApplied(), "wrong condition applied");
        holds(session.execute("UPDATE pairs SET v = 'b' WHERE k = 200 IF v = 'mine'").wasApplied(), "right condition refused");
        holds(session.execute("DELETE FROM pairs WHERE k = 200 IF EXISTS").wasApplied(), "delete refused");
        Row read = session.execute(SimpleStatement.newInstance("SELECT * FROM pairs WHERE k = 200").setConsistencyLevel(ConsistencyLevel.SERIAL)).one();
        equal(null, read);
    }

    @Check
    void twoThousandRequestsAtOnce() {
        PreparedStatement insert = session.prepare("INSERT INTO pairs (k, w) VALUES (?, ?)");
        PreparedStatement select = session.prepare("SELECT w FROM pairs WHERE k = ?");
        List<CompletionStage<AsyncResultSet>> writes = new ArrayList<>();
        for (int n = 0; n < 1000; n++) {
            writes.add(session.executeAsync(insert.bind(1000 + n, n)));
        }
        writes.forEach(answer -> answer.toCompletableFuture().join());
        List<CompletionStage<AsyncResultSet>> reads = new ArrayList<>();
        for (int n = 0; n < 1000; n++) {
            reads.add(session.executeAsync(select.bind(1000 + n)));
        }
        for (int n = 0; n < 1000; n++) {
            equal(n, reads.get(n).toCompletableFuture().join().one().getInt("w"));
        }
    }

    @Check
    void requestMayNameItsKeyspaceAndItsTimestamp() {
        session.execute(SimpleStatement.newInstance("INSERT INTO pairs (k, v) VALUES (300, 'x')").setKeyspace(Server.KEYSPACE).setQueryTimestamp(12345));
        equal(12345L, session.execute("SELECT writetime(v) FROM pairs WHERE k = 300").one().getLong(0));
        session.execute("INSERT INTO pairs (k, v) VALUES (301, 'x') USING TTL 1000");
        int ttl = session.execute("SELECT ttl(v) FROM pairs WHERE k = 301").one().getInt(0);
        holds(990 <= ttl && ttl <= 1000, ttl);
    }

    @Check
    void requestMayTellTheTime() {
        int now = (int) (System.currentTimeMillis() / 1000);
        session.execute(SimpleStatement.newInstance("INSERT INTO pairs (k, v) VALUES (302, 'x') USING TTL 100").setNowInSeconds(now));
        SimpleStatement select = SimpleStatement.newInstance("SELECT v FROM pairs WHERE k = 302");
        equal("x", session.execute(select.setNowInSeconds(now + 99)).one().getString(0));
        equal(null, session.execute(select.setNowInSeconds(now + 101)).one());
    }

    @Check
    void traceTellsWhoDidWhat() {
        ResultSet result = session.execute(SimpleStatement.newInstance("SELECT v FROM pairs WHERE k = 1000").setTracing(true));
        QueryTrace trace = result.getExecutionInfo().getQueryTrace();
        equal("Execute CQL3 query", trace.getRequestType());
        holds(trace.getDurationMicros() > 0 && trace.getEvents().size() >= 3, trace.getEvents());
        equal("SELECT v FROM pairs WHERE k = 1000", trace.getParameters().get("query"));
    }

    @Check
    void warningsAndPayloadsTravelBesideTheAnswer() {
        ResultSet result = session.execute(SimpleStatement.newInstance("SELECT count(*) FROM numbers")
            .setCustomPayload(Map.of("question", ByteBuffer.wrap(new byte[] {1}))));
        equal(List.of("Aggregation query used without partition key"), result.getExecutionInfo().getWarnings());
        equal(2L * ROWS, result.one().getLong(0));
    }

    @Check
    void errorsHaveTheirClassesAndWords() {
        fails(SyntaxError.class, "line 1:0 no viable alternative at input 'SELEKT'", () -> session.execute("SELEKT 1"));
        fails(InvalidQueryException.class, "Undefined column name nope", () -> session.execute("SELECT nope FROM pairs"));
        fails(InvalidQueryException.class, "table nope does not exist", () -> session.prepare("SELECT * FROM nope"));
        fails(InvalidQueryException.class, "use ALLOW FILTERING", () -> session.execute("SELECT * FROM pairs WHERE v = 'x'"));
        fails(AlreadyExistsException.class, "pairs", () -> session.execute("CREATE TABLE pairs (k int PRIMARY KEY)"));
        fails(InvalidConfigurationInQueryException.class, "gc_grace_seconds", () -> session.execute("ALTER TABLE pairs WITH gc_grace_seconds = -1"));
        fails(UnauthorizedException.class, "system keyspace is not user-modifiable",
            () -> session.execute("CREATE TABLE system.x (k int PRIMARY KEY)"));
    }

    @Check
    void unreachableConsistencyIsUnavailableWithItsNumbers() {
        AllNodesFailedException all = fails(AllNodesFailedException.class, "THREE", () -> session.execute(
            SimpleStatement.newInstance("SELECT * FROM pairs WHERE k = 1").setConsistencyLevel(ConsistencyLevel.THREE)));
        UnavailableException error = (UnavailableException) all.getAllErrors().values().iterator().next().get(0);
        equal(DefaultConsistencyLevel.THREE, error.getConsistencyLevel());
        equal(3, error.getRequired());
        equal(1, error.getAlive());
    }
}
