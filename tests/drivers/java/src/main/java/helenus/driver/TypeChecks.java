package helenus.driver;

import static helenus.driver.Main.equal;
import static helenus.driver.Main.holds;

import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.data.CqlDuration;
import com.datastax.oss.driver.api.core.data.CqlVector;
import com.datastax.oss.driver.api.core.data.TupleValue;
import com.datastax.oss.driver.api.core.data.UdtValue;
import com.datastax.oss.driver.api.core.type.TupleType;
import com.datastax.oss.driver.api.core.type.UserDefinedType;
import com.datastax.oss.driver.api.core.uuid.Uuids;
import helenus.driver.Main.Check;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** Values of every CQL type, bound and read back. */
final class TypeChecks {
    private final Server server;

    TypeChecks(Server server) {
        this.server = server;
    }

    @Check
    void scalarsOfEveryTypeComeBackEqual() throws Exception {
        Object[][] values = {
            {"ascii", "plain"}, {"bigint", Long.MIN_VALUE}, {"blob", ByteBuffer.wrap(new byte[] {0, -1, 16})}, {"boolean", true},
            {"date", LocalDate.of(2024, 2, 29)}, {"decimal", new BigDecimal("123456789012345678901234567890.0001230")},
            {"double", -1.5e300}, {"duration", CqlDuration.newInstance(14, 3, 123456789L)}, {"float", 0.25f},
            {"inet", InetAddress.getByName("2001:db8::1")}, {"int", Integer.MAX_VALUE}, {"smallint", Short.MIN_VALUE},
            {"text", "grüße 🌍"}, {"time", LocalTime.of(23, 59, 59, 999_999_999)}, {"timestamp", Instant.ofEpochMilli(1296705906789L)},
            {"timeuuid", Uuids.timeBased()}, {"tinyint", Byte.MIN_VALUE}, {"uuid", UUID.randomUUID()}, {"varchar", ""},
            {"varint", new BigInteger("-123456789012345678901234567890")},
        };
        StringBuilder columns = new StringBuilder("k int PRIMARY KEY");
        for (Object[] value : values) {
            columns.append(", c_").append(value[0]).append(' ').append(value[0]);
        }
        server.session.execute("CREATE TABLE scalars (" + columns + ")");
        for (Object[] value : values) {
            PreparedStatement insert = server.session.prepare("INSERT INTO scalars (k, c_" + value[0] + ") VALUES (1, ?)");
            server.session.execute(insert.bind(value[1]));
            equal(value[1], server.session.execute("SELECT c_" + value[0] + " FROM scalars WHERE k = 1").one().getObject(0));
            server.session.execute(insert.bind((Object) null));
            Row row = server.session.execute("SELECT c_" + value[0] + " FROM scalars WHERE k = 1").one();
            holds(row == null || row.isNull(0), value[0] + " is not null");
        }
    }

    @Check
    void collectionsAndNestedOnesComeBackEqual() {
        server.session.execute("CREATE TABLE collections (k int PRIMARY KEY, l list<int>, s set<text>, m map<text, int>, "
            + "n map<text, frozen<map<int, frozen<list<text>>>>>)");
        PreparedStatement insert = server.session.prepare("INSERT INTO collections (k, l, s, m, n) VALUES (1, ?, ?, ?, ?)");
        Map<String, Map<Integer, List<String>>> nested = Map.of("a", Map.of(1, List.of("x", "y")), "b", Map.of());
        server.session.execute(insert.bind(List.of(3, 1, 2), Set.of("b", "a"), Map.of("x", 1, "y", 2), nested));
        server.session.execute("UPDATE collections SET l = l + [4], s = s - {'a'}, m['z'] = 3 WHERE k = 1");
        Row row = server.session.execute("SELECT l, s, m, n FROM collections WHERE k = 1").one();
        equal(List.of(3, 1, 2, 4), row.getList("l", Integer.class));
        equal(Set.of("b"), row.getSet("s", String.class));
        equal(Map.of("x", 1, "y", 2, "z", 3), row.getMap("m", String.class, Integer.class));
        equal(nested, row.getObject("n"));
    }

    @Check
    void tuplesMayHoldNulls() {
        server.session.execute("CREATE TABLE tuples (k int PRIMARY KEY, t tuple<int, text, float>)");
        PreparedStatement insert = server.session.prepare("INSERT INTO tuples (k, t) VALUES (1, ?)");
        TupleType type = (TupleType) insert.getVariableDefinitions().get(0).getType();
        TupleValue value = type.newValue(7, null, 0.5f);
        server.session.execute(insert.bind(value));
        equal(value, server.session.execute("SELECT t FROM tuples WHERE k = 1").one().getTupleValue("t"));
    }

    @Check
    void userTypesAreKnownBeforeAndAfterTheyGrow() {
        server.session.execute("CREATE TYPE address (street text, number int, tags frozen<set<text>>)");
        server.session.execute("CREATE TABLE people (k int PRIMARY KEY, home frozen<address>, loose address)");
        UserDefinedType type = server.session.getMetadata().getKeyspace(Server.KEYSPACE).orElseThrow().getUserDefinedType("address").orElseThrow();
        UdtValue home = type.newValue("Long Street", 7, Set.of("a"));
        server.session.execute(server.session.prepare("INSERT INTO people (k, home, loose) VALUES (1, ?, ?)").bind(home, home));
        Row row = server.session.execute("SELECT home, loose FROM people WHERE k = 1").one();
        equal(home, row.getUdtValue("home"));
        equal(home, row.getUdtValue("loose"));
        server.session.execute("UPDATE people SET loose.number = 8 WHERE k = 1");
        server.session.execute("ALTER TYPE address ADD city text");
        UdtValue grown = server.session.execute("SELECT loose FROM people WHERE k = 1").one().getUdtValue("loose");
        equal(8, grown.getInt("number"));
        holds(grown.isNull("city"), "the new field has a value");
    }

    @Check
    void vectorsOfFloats() {
        server.session.execute("CREATE TABLE vectors (k int PRIMARY KEY, v vector<float, 3>)");
        CqlVector<Float> vector = CqlVector.newInstance(0.5f, -1f, 2f);
        server.session.execute(server.session.prepare("INSERT INTO vectors (k, v) VALUES (1, ?)").bind(vector));
        equal(vector, server.session.execute("SELECT v FROM vectors WHERE k = 1").one().getVector("v", Float.class));
    }

    @Check
    void countersAddUp() {
        server.session.execute("CREATE TABLE counters (k int PRIMARY KEY, n counter)");
        PreparedStatement add = server.session.prepare("UPDATE counters SET n = n + ? WHERE k = 1");
        for (long amount : new long[] {5, 10, -3}) {
            server.session.execute(add.bind(amount));
        }
        equal(12L, server.session.execute("SELECT n FROM counters WHERE k = 1").one().getLong("n"));
    }

    @Check
    void blobOfThreeMegabytesTravelsInManyFrames() {
        server.session.execute("CREATE TABLE big (k int PRIMARY KEY, b blob)");
        byte[] bytes = new byte[3_000_000];
        for (int index = 0; index < bytes.length; index++) {
            bytes[index] = (byte) (index * 31);
        }
        server.session.execute(server.session.prepare("INSERT INTO big (k, b) VALUES (1, ?)").bind(ByteBuffer.wrap(bytes)));
        ByteBuffer read = server.session.execute("SELECT b FROM big WHERE k = 1").one().getByteBuffer("b");
        holds(Arrays.equals(bytes, com.datastax.oss.protocol.internal.util.Bytes.getArray(read)), "the bytes differ");
    }
}
