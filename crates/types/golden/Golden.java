import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;

import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.cql3.*;
import org.apache.cassandra.cql3.functions.*;
import org.apache.cassandra.db.marshal.*;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.transport.ProtocolVersion;
import org.apache.cassandra.utils.*;
import org.apache.cassandra.utils.bytecomparable.*;

/** Asks Cassandra's own classes about values of every type and prints one JSON array a line; see README.md. */
public class Golden
{
    static final Random random = new Random(Long.getLong("seed", 42));
    static final int SAMPLE = Integer.getInteger("sample", 8);
    static final StringBuilder line = new StringBuilder();

    static void row(Object... fields)
    {
        line.setLength(0);
        append(Arrays.asList(fields));
        System.out.println(line);
    }

    static void append(Object field)
    {
        if (field == null) line.append("null");
        else if (field instanceof Boolean || field instanceof Number) line.append(field);
        else if (field instanceof Collection)
        {
            line.append('[');
            boolean first = true;
            for (Object inner : (Collection<?>) field)
            {
                if (!first) line.append(',');
                first = false;
                append(inner);
            }
            line.append(']');
        }
        else line.append('"').append(JsonUtils.quoteAsJsonString(field.toString())).append('"');
    }

    interface Ask { Object answer() throws Exception; }

    /** The answer, or "!" and the exception's text. */
    static Object ask(Ask ask)
    {
        try { return ask.answer(); }
        catch (Throwable e)
        {
            return "!" + e.getMessage();
        }
    }

    static String hex(ByteBuffer bytes) { return bytes == null ? null : ByteBufferUtil.bytesToHex(bytes); }
    static ByteBuffer unhex(String hex) { return ByteBufferUtil.hexToBytes(hex); }

    static final String P = "org.apache.cassandra.db.marshal.";
    static final String[] NATIVES = {
        "AsciiType", "LongType", "BytesType", "BooleanType", "CounterColumnType", "SimpleDateType", "DecimalType", "DoubleType",
        "DurationType", "EmptyType", "FloatType", "InetAddressType", "Int32Type", "ShortType", "UTF8Type", "TimeType",
        "TimestampType", "TimeUUIDType", "ByteType", "UUIDType", "IntegerType" };
    static final String[] NESTED = {
        "ListType(Int32Type)", "SetType(UTF8Type)", "MapType(UTF8Type,Int32Type)", "MapType(Int32Type,ListType(UTF8Type))",
        "FrozenType(ListType(Int32Type))", "FrozenType(SetType(IntegerType))", "FrozenType(MapType(TimestampType,BooleanType))",
        "FrozenType(MapType(InetAddressType,DecimalType))", "ListType(FrozenType(ListType(DoubleType)))",
        "FrozenType(ListType(FrozenType(SetType(BytesType))))", "TupleType(Int32Type,UTF8Type,UUIDType)",
        "TupleType(ListType(Int32Type),TupleType(BytesType,DecimalType))",
        "UserType(ks,74797065,61:Int32Type,62:UTF8Type,4363:ListType(DateType))".replace("DateType", "SimpleDateType"),
        "FrozenType(UserType(ks,54797065,61:Int32Type,6220:FloatType,73656c656374:TimeType))",
        "ListType(FrozenType(UserType(ks,74,61:Int32Type)))", "FrozenType(ListType(UserType(ks,74,61:Int32Type)))",
        "VectorType(FloatType,3)", "VectorType(Int32Type,2)", "VectorType(UTF8Type,2)", "VectorType(ShortType,2)",
        "VectorType(VectorType(FloatType,2),2)", "VectorType(ListType(Int32Type),2)", "ListType(VectorType(FloatType,2))",
        "TupleType(VectorType(FloatType,2),SetType(Int32Type))", "MapType(UTF8Type,FrozenType(MapType(Int32Type,UTF8Type)))",
        "SetType(TupleType(DurationType,ByteType))", "ListType(TimeUUIDType)", "SetType(LongType)" };

    static AbstractType<?> type(String name) { return TypeParser.parse(name); }

    static List<AbstractType<?>> types()
    {
        List<AbstractType<?>> types = new ArrayList<>();
        for (String n : NATIVES) types.add(type(P + n));
        for (String n : NESTED) types.add(type(n));
        return types;
    }

    // ------------------------------------------------------------------ values

    static ByteBuffer b(int... bytes)
    {
        byte[] out = new byte[bytes.length];
        for (int i = 0; i < bytes.length; i++) out[i] = (byte) bytes[i];
        return ByteBuffer.wrap(out);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static ByteBuffer d(AbstractType type, Object value) { return type.decompose(value); }

    static ByteBuffer randomBytes(int length)
    {
        byte[] out = new byte[length];
        random.nextBytes(out);
        if (random.nextInt(3) == 0) for (int i = 0; i < length; i++) if (random.nextBoolean()) out[i] = 0;
        return ByteBuffer.wrap(out);
    }

    static final long[] LONGS = { 0, 1, -1, 63, 64, -64, -65, 127, 128, -128, -129, 255, 256, 8191, 8192, -8192, -8193, 32767, 32768, -32768,
        1048575, 1048576, 134217727, 134217728, 2147483647L, -2147483648L, 2147483648L, (1L << 34) - 1, 1L << 34, (1L << 41) - 1, 1L << 41,
        (1L << 47) - 1, 1L << 47, (1L << 48) - 1, 1L << 48, -(1L << 48), (1L << 55) - 1, 1L << 55, -(1L << 55), -(1L << 55) - 1, (1L << 56) - 1, 1L << 56, 1L << 62, -(1L << 62) - 1, Long.MAX_VALUE, Long.MIN_VALUE, 1297_000_123_456L, 86_399_999_999_999L };

    static List<ByteBuffer> values(AbstractType<?> t)
    {
        List<ByteBuffer> v = new ArrayList<>();
        v.add(b());
        String name = t.getClass().getSimpleName();
        switch (name)
        {
            case "AsciiType": case "UTF8Type": case "BytesType":
                for (String s : new String[]{ "a", "abc", "it's", "a\u0000b", "\u0000", "\u0000\u0000", "a\u0000", "\u0000\u0000b", "q\"uo\\te\n\t\u0001\u001f/\b\f\r\u007f", "NULL", "x".repeat(40) })
                    v.add(ByteBufferUtil.bytes(s));
                v.add(ByteBufferUtil.bytes("ä€😀\u2028")); v.add(b(0xc3)); v.add(b(0xff, 0x00)); v.add(b(0xed, 0xa0, 0x80)); v.add(b(0xc0, 0x80)); v.add(b(0xf4, 0x90, 0x80, 0x80));
                break;
            case "LongType": case "CounterColumnType": case "TimestampType": case "TimeType":
                for (long l : LONGS) v.add(ByteBufferUtil.bytes(l));
                v.add(ByteBufferUtil.bytes(253402300800000L)); v.add(ByteBufferUtil.bytes(-62135596800001L)); v.add(ByteBufferUtil.bytes(-99999999999999L)); v.add(ByteBufferUtil.bytes(29387654321987L));
                break;
            case "Int32Type": case "SimpleDateType":
                for (long l : LONGS) if (l == (int) l) v.add(ByteBufferUtil.bytes((int) l));
                v.add(ByteBufferUtil.bytes(0x80000000 + 15000)); v.add(ByteBufferUtil.bytes(0x80000000 - 719529)); v.add(ByteBufferUtil.bytes(0x80000000 - 719528)); v.add(ByteBufferUtil.bytes(0x80000000 - 800000)); v.add(ByteBufferUtil.bytes(0x80000000 + 2932897));
                break;
            case "ShortType": for (long l : LONGS) if (l == (short) l) v.add(ByteBufferUtil.bytes((short) l)); break;
            case "ByteType": for (long l : LONGS) if (l == (byte) l) v.add(b((int) l)); break;
            case "BooleanType": v.add(b(0)); v.add(b(1)); v.add(b(2)); v.add(b(255)); break;
            case "IntegerType":
                for (long l : LONGS) v.add(d(t, BigInteger.valueOf(l)));
                for (int bits : new int[]{ 56, 63, 64, 100, 120, 127, 128, 200, 1000, 1032, 2100 })
                    for (int add : new int[]{ -1, 0, 1 })
                    {
                        v.add(d(t, BigInteger.ONE.shiftLeft(bits).add(BigInteger.valueOf(add))));
                        v.add(d(t, BigInteger.ONE.shiftLeft(bits).negate().add(BigInteger.valueOf(add))));
                    }
                v.add(b(0, 0, 5)); v.add(b(0xff, 0xff, 0x80)); v.add(b(0, 0x80)); v.add(b(0xff, 0x7f));
                break;
            case "DecimalType":
                for (String s : new String[]{ "0", "0.00", "0E+5", "1", "-1", "10", "100", "0.1", "-0.1", "0.01", "0.001", "-0.001", "1.10", "1.1", "123.456", "-123.456", "12345678901234567890.123456789", "-12345678901234567890.123456789",
                    "1E+10", "1E-10", "-1E+10", "9.99E+100", "1E-7", "0.000001", "0.0000001", "99", "-99", "-100", "-10.5", "1E+2147483647", "1E-2147483647", "-1E+1000", "5E-1000", "340282366920938463463374607431768211455", "340282366920938463463374607431768211456.5", "170141183460469231731687303715884105728", "-170141183460469231731687303715884105729", "1E+38", "3.4E+38" })
                    v.add(d(t, new BigDecimal(s)));
                v.add(b(0, 0, 0, 1)); v.add(b(0, 0, 0, 1, 0, 5)); v.add(b(0x7f, 0xff, 0xff, 0xff, 0)); v.add(b(0x80, 0, 0, 0, 1));
                break;
            case "DoubleType":
                for (double x : new double[]{ 0, -0.0, 1, -1, 0.1, 1e10, 1e7, 9999999, 0.001, 0.0001, 123456.789, -1.5e-10, Double.MAX_VALUE, Double.MIN_VALUE, Double.MIN_NORMAL, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 1e23, 3.0E-5, 100, 1234567 })
                    v.add(ByteBufferUtil.bytes(x));
                break;
            case "FloatType":
                for (float x : new float[]{ 0, -0.0f, 1, -1, 0.1f, 1e10f, 1e7f, 9999999, 0.001f, 0.0001f, 123456.79f, -1.5e-10f, Float.MAX_VALUE, Float.MIN_VALUE, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, 16777216, 3.3e-5f })
                    v.add(ByteBufferUtil.bytes(x));
                break;
            case "DurationType":
                for (String s : new String[]{ "1y2mo3d4h5m6s7ms8us9ns", "-1y", "1d", "1ns", "12mo", "178956970y7mo", "2147483647d", "9223372036854775807ns", "-9223372036854775807ns", "36h", "0s", "1mo", "100us" })
                    v.add(d(t, Duration.from(s)));
                v.add(b(1)); v.add(b(2, 1, 2)); v.add(b(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0)); v.add(b(0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0)); v.add(b(0, 0, 0, 0)); v.add(b(0xff, 1, 2)); v.add(b(1, 0, 0)); v.add(b(0, 0, 0xff));
                break;
            case "InetAddressType":
                for (String s : new String[]{ "127.0.0.1", "0.0.0.0", "255.255.255.255", "::1", "::", "2001:db8::ff00:42:8329", "fe80::1", "::ffff:1.2.3.4" }) v.add(t.fromString(s));
                v.add(b(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4)); v.add(b(1, 2, 3)); v.add(b(1, 2, 3, 4, 5));
                break;
            case "UUIDType": case "TimeUUIDType": case "LexicalUUIDType":
                for (String s : new String[]{ "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "8c0d1b30-1d2c-11b2-8000-000000000000",
                    "8c0d1b30-1d2c-11b2-7f7f-7f7f7f7f7f7f", "8c0d1b30-1d2c-11b2-8080-808080808080", "13814000-1dd2-11b2-8000-000000000000", "13813fff-1dd2-11b2-80ff-7f0001020304", "13813fff-1dd3-11b2-007f-ff0001020304",
                    "13813fff-1dd2-1fff-8000-000000000000", "13813fff-1dd2-1000-8000-000000000000", "f3b5e7d0-1dd2-4a11-9c2b-000000000001", "03b5e7d0-1dd2-4a11-9c2b-000000000001", "03b5e7d0-1dd2-4a11-1c2b-000000000001", "01890a5d-ac96-774b-bcce-b302099a8057", "03b5e7d0-1dd2-3a11-9c2b-000000000001", "03b5e7d0-1dd2-5a11-9c2b-000000000001", "03b5e7d0-1dd2-0a11-9c2b-000000000001" })
                    v.add(UUIDType.instance.fromString(s));
                for (int i = 0; i < 8; i++) { ByteBuffer r = randomBytes(16); r.put(6, (byte) ((r.get(6) & 0x0f) | 0x10)); v.add(r); }
                v.add(b(1, 2, 3));
                break;
            case "EmptyType": v.add(b(0)); break;
            default: nested(t, v);
        }
        for (int i = 0; i < 12; i++) v.add(randomBytes(random.nextInt(20)));
        Integer fixed = name.equals("Int32Type") || name.equals("SimpleDateType") || name.equals("FloatType") ? Integer.valueOf(4)
                      : name.equals("LongType") || name.equals("TimestampType") || name.equals("DoubleType") ? Integer.valueOf(8) : null;
        if (fixed != null) for (int i = 0; i < 8; i++) v.add(randomBytes(fixed));
        return v;
    }

    static ByteBuffer pick(AbstractType<?> t)
    {
        List<ByteBuffer> all = values(t);
        for (int i = 0; i < 100; i++)
        {
            ByteBuffer one = all.get(random.nextInt(all.size()));
            try { t.validate(one); if (one.remaining() < 60) return one; } catch (Throwable e) { }
        }
        return b();
    }

    static ByteBuffer pack(boolean counted, int count, List<ByteBuffer> parts)
    {
        int size = counted ? 4 : 0;
        for (ByteBuffer p : parts) size += 4 + (p == null ? 0 : p.remaining());
        ByteBuffer out = ByteBuffer.allocate(size);
        if (counted) out.putInt(count);
        for (ByteBuffer p : parts)
        {
            if (p == null) out.putInt(-1);
            else { out.putInt(p.remaining()); out.put(p.duplicate()); }
        }
        out.flip();
        return out;
    }

    static void nested(AbstractType<?> t, List<ByteBuffer> v)
    {
        for (int round = 0; round < 10; round++)
        {
            List<ByteBuffer> parts = new ArrayList<>();
            if (t instanceof ListType || t instanceof SetType)
            {
                AbstractType<?> e = t instanceof ListType ? ((ListType<?>) t).getElementsType() : ((SetType<?>) t).getElementsType();
                int n = random.nextInt(4);
                TreeSet<ByteBuffer> sorted = new TreeSet<>(e);
                for (int i = 0; i < n; i++) { ByteBuffer p = pick(e); parts.add(p); sorted.add(p); }
                if (t instanceof SetType) parts = new ArrayList<>(sorted);
                v.add(pack(true, parts.size(), parts));
            }
            else if (t instanceof MapType)
            {
                MapType<?, ?> m = (MapType<?, ?>) t;
                TreeMap<ByteBuffer, ByteBuffer> sorted = new TreeMap<>(m.getKeysType());
                int n = random.nextInt(3);
                for (int i = 0; i < n; i++) sorted.put(pick(m.getKeysType()), pick(m.getValuesType()));
                for (Map.Entry<ByteBuffer, ByteBuffer> e : sorted.entrySet()) { parts.add(e.getKey()); parts.add(e.getValue()); }
                v.add(pack(true, sorted.size(), parts));
            }
            else if (t instanceof TupleType)
            {
                TupleType tt = (TupleType) t;
                int n = random.nextInt(4) == 0 ? random.nextInt(tt.size() + 1) : tt.size();
                for (int i = 0; i < n; i++) parts.add(random.nextInt(5) == 0 ? null : pick(tt.type(i)));
                v.add(pack(false, 0, parts));
            }
            else if (t instanceof VectorType)
            {
                VectorType<?> vt = (VectorType<?>) t;
                for (int i = 0; i < vt.dimension; i++) { ByteBuffer p; do p = pick(vt.getElementsType()); while (!p.hasRemaining() && vt.getElementsType().isValueLengthFixed()); parts.add(p); }
                v.add(vt.decomposeRaw(parts));
            }
        }
        int made = v.size();
        for (int i = 1; i < Math.min(made, 7); i++)
        {
            byte[] raw = ByteBufferUtil.getArray(v.get(i));
            if (raw.length > 0)
            {
                v.add(ByteBuffer.wrap(raw, 0, raw.length - 1).slice());
                v.add(ByteBuffer.wrap(Arrays.copyOf(raw, raw.length + 1)));
                byte[] changed = raw.clone(); changed[random.nextInt(raw.length)] ^= 1 << random.nextInt(8); v.add(ByteBuffer.wrap(changed));
            }
        }
        v.add(b(0, 0, 0, 0)); v.add(b(0, 0, 0, 1)); v.add(b(0xff, 0xff, 0xff, 0xff)); v.add(b(0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff)); v.add(b(0x7f, 0xff, 0xff, 0xff)); v.add(b(0, 0, 0));
    }

    static String comparable(AbstractType<?> t, ByteBuffer v)
    {
        ByteSource s = t.asComparableBytes(ByteBufferAccessor.instance, v, ByteComparable.Version.OSS50);
        if (s == null) return null;
        StringBuilder out = new StringBuilder();
        for (int c = s.next(); c != ByteSource.END_OF_STREAM; c = s.next()) out.append(String.format("%02x", c));
        return out.toString();
    }

    static void typeRows()
    {
        for (AbstractType<?> t : types())
            row("type", t.toString(), t.asCQL3Type().toString(), t.valueLengthIfFixed(), t.allowsEmpty(), t.isEmptyValueMeaningless(), t.isMultiCell(), t.freeze().toString());
        row("type", "org.apache.cassandra.db.marshal.DynamicCompositeType(a=>org.apache.cassandra.db.marshal.BytesType,b=>org.apache.cassandra.db.marshal.Int32Type)", "'" + type("DynamicCompositeType(a=>BytesType,b=>Int32Type)").toString() + "'", -1, true, false, false, type("DynamicCompositeType(a=>BytesType,b=>Int32Type)").toString());
        for (AbstractType<?> a : types())
            for (AbstractType<?> b : types())
                if (!a.equals(b) && a.isValueCompatibleWith(b)) row("compatible", a.toString(), b.toString());
    }

    static void valueRows()
    {
        for (AbstractType<?> t : types())
        {
            List<ByteBuffer> valid = new ArrayList<>();
            Set<String> seen = new HashSet<>();
            for (ByteBuffer v : values(t))
            {
                if (!seen.add(hex(v))) continue;
                try { t.validate(v); valid.add(v); }
                catch (Throwable e) { row("invalid", t.toString(), hex(v), e.getMessage()); continue; }
                row("value", t.toString(), hex(v), ask(() -> t.getString(v)), ask(() -> t.asCQL3Type().toCQLLiteral(v)), ask(() -> t.toJSONString(v, ProtocolVersion.V5)), ask(() -> comparable(t, v)));
            }
            try
            {
                if (t instanceof DecimalType) valid.removeIf(v -> v.remaining() == 4); // Java has no number for a scale alone.
                valid.sort(t);
                List<List<String>> classes = new ArrayList<>();
                ByteBuffer last = null;
                for (ByteBuffer v : valid)
                {
                    if (last == null || t.compare(last, v) != 0) classes.add(new ArrayList<>());
                    classes.get(classes.size() - 1).add(hex(v));
                    last = v;
                }
                row("order", t.toString(), classes);
            }
            catch (Throwable e) { System.err.println("no order of " + t + ": " + e); }
        }
    }

    static final Map<String, String[]> STRINGS = new LinkedHashMap<>();
    static
    {
        String[] numbers = { "", "0", "1", "-1", "+5", "127", "128", "-129", "32768", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "abc", " 1", "1 ", "1.0", "1e3", "0x10", "1_0", "--1", "-", "007" };
        for (String t : new String[]{ "LongType", "CounterColumnType", "Int32Type", "ShortType", "ByteType", "IntegerType" }) STRINGS.put(t, numbers);
        STRINGS.put("DecimalType", new String[]{ "", "0", "1.10", "-1.5E+3", "1e-7", "1E2147483648", "1E-2147483647", "1E-2147483648", ".5", "5.", ".", "abc", "+3.0", "1e", "1e+", "1E99999999999", "NaN", "--1", "12345678901234567890.0001", "0E-10" });
        String[] floats = { "", "0", "-0", "1.5", "1e10", "NaN", "-NaN", "Infinity", "-Infinity", "+Infinity", "inf", "nan", "infinity", "1.5f", "1.5d", " 1 ", "abc", "1e400", "1e-400", "-1e400", "3.4028236e38", ".5", "5.", ".", "1e", "0.1", "123456789.123456789" };
        STRINGS.put("FloatType", floats); STRINGS.put("DoubleType", floats);
        STRINGS.put("BooleanType", new String[]{ "", "true", "FALSE", "TrUe", "yes", "1", " true" });
        STRINGS.put("BytesType", new String[]{ "", "00ff", "00FF", "0x00", "0", "zz" });
        STRINGS.put("AsciiType", new String[]{ "", "abc", "ä" }); STRINGS.put("UTF8Type", new String[]{ "", "abc", "ä€" });
        STRINGS.put("EmptyType", new String[]{ "", "a" });
        STRINGS.put("InetAddressType", new String[]{ "", "127.0.0.1", "::1", "2001:db8::1", "::ffff:1.2.3.4", "300.1.1.1", "1.2.3", "fe80:", "::1::", "[::1]" });
        String[] uuids = { "", "00000000-0000-0000-0000-000000000000", "8c0d1b30-1d2c-11b2-8000-000000000000", "8C0D1B30-1D2C-11B2-8000-000000000000", "f3b5e7d0-1dd2-4a11-9c2b-000000000001", "f3b5e7d01dd24a119c2b000000000001", "x", "now", "123", "{f3b5e7d0-1dd2-4a11-9c2b-000000000001}" };
        STRINGS.put("UUIDType", uuids); STRINGS.put("TimeUUIDType", uuids);
        STRINGS.put("SimpleDateType", new String[]{ "", "0", "2147483648", "4294967295", "4294967296", "-1", "-2147483649", "2147483647", "1970-01-01", "2011-02-03", "2011-2-3", "0000-01-01", "-0001-12-31", "-0100-01-01", "-0000-01-01", "+10000-01-01", "10000-01-01", "2012-02-29", "2011-02-29", "2011-02-30", "2011-13-01", "2011-02-03T00:00", "-5877641-06-23", "-5877641-06-22", "5881580-07-11", "+5881580-07-11", "+5881580-07-12", "+2011-01-01", "-2011-01-01", "abc", "2011/02/03", " 2011-02-03" });
        STRINGS.put("TimeType", new String[]{ "", "0", "86399999999999", "86400000000000", "-1", "08:12:54", "08:12:54.1", "08:12:54.123456789", "08:12:54.1234567890", "8:1:4", "24:00:00", "23:60:00", "23:00:60", "08:12", "08:12:54.", "abc", "08:12:54.abc", "08:12:54,1", " 08:12:54 ", "-1:00:00", "+1:00:00", "08:12:54.1a", "1:2:3:4" });
        STRINGS.put("DurationType", new String[]{ "", "1y2mo3d4h5m6s7ms8us9ns", "1Y2MO", "-2w", "P1Y2M3DT4H5M6S", "-P1Y", "P3W", "P", "PT", "P1YT", "P0001-02-03T04:05:06", "-P0001-02-03T04:05:06", "P1-2-3T4:5:6", "3µs", "3µS", "1d1y", "1d1d", "1h30", "h", "1x", "x1d", "1 d", "178956971y", "2147483648mo", "306783379w", "2147483648d", "9223372036854775808ns", "2562048h", "2562047h48m", "1m1mo", "10mo10m", "-", "--1d", "1d-", "99999999999999999999d", "P1M1Y", "PT1S1M", "PT5M", "p1y", "1us1µs", "0y" });
        STRINGS.put("TimestampType", new String[]{ "", "0", "-1", "1296705900000", "9223372036854775807", "9223372036854775808", "2011-02-03 04:05", "2011-02-03 04:05:06", "2011-02-03 04:05:06.7", "2011-02-03 04:05:06.789", "2011-02-03 04:05:06.7891234", "2011-02-03 04:05:06.1234567890", "2011-02-03T04:05", "2011-02-03T04:05:06", "2011-02-03T04:05:06.789",
            "2011-02-03 04:05+0000", "2011-02-03 04:05:06+0100", "2011-02-03 04:05:06.789+01:00", "2011-02-03T04:05Z", "2011-02-03T04:05:06.789Z", "2011-02-03T04:05:06-08", "2011-02-03T04:05:06 -0800", "2011-02-03 04:05 +01", "2011-02-03 04:05 +01:30", "2011-02-03 04:05 UTC", "2011-02-03 04:05 GMT", "2011-02-03 04:05 PST", "2011-07-03 04:05 PDT", "2011-07-03 04:05 PST", "2011-02-03 04:05 CET", "2011-02-03 04:05 Europe/Berlin", "2011-02-03 04:05 Pacific Standard Time", "2011-02-03 04:05 GMT+1", "2011-02-03 04:05 UTC+01:00", "2011-02-03 04:05 EST", "2011-02-03 04:05 MST", "2011-02-03 04:05 CST", "2011-02-03 04:05 JST", "2011-02-03 04:05 IST", "2011-02-03 04:05 BST", "2011-02-03 04:05 MSK", "2011-02-03 04:05 America/New_York",
            "2011-02-03", "2011-02-03Z", "2011-02-03+0000", "2011-02-03+01:00", "2011-02-03 +0100", "2011-02-03 UTC", "2011-02-03+01", "2011-2-3", "2011-2-3 4:5", "2011-2-3T4:5:6", "0001-01-01", "0000-01-01", "-0001-01-01", "-2011-02-03 04:05", "10000-01-01", "+10000-01-01", "12345-01-01 00:00", "+12345-01-01 00:00", "99-01-01 00:00", "2011-02-30", "2011-02-30 00:00", "2011-02-32", "2011-13-01", "2011-00-01", "2011-01-01 24:00", "2011-01-01 24:01", "2011-01-01 25:00", "2011-01-01 10:60", "2011-01-01 10:00:60", "abc", "2011", "2011-02", " 2011-02-03", "2011-02-03 ", "2011-02-03  04:05", "2011-02-03 04", "2011-02-03 04:05:06.", "2011-02-03 04:05.5", "2011-02-03t04:05z", "2011-02-03 04:05:06.+01", "2011-02-03T04:05:06.789+0130", "2011-02-03 04:05+1", "2011-02-03 04:05+01:3", "2011-02-03 04:05+1900", "2011-02-03 04:05+013015", "2011-02-03 04:05+01:30:15", "2011-02-03 04:05  UTC", "-1000-01-01", "292278994-08-17 07:12:55.807Z",
            "2011-02-03 04:05 GMT+01", "2011-02-03 04:05 GMT+01:00", "2011-02-03 04:05 UT", "2011-02-03 04:05 +0130", "2011-02-03 04:05 Z", "2011-02-03 04:05 Asia/Tokyo", "2011-02-03 04:05:06.123 Europe/Berlin", "2011-03-27 02:30 Europe/Berlin", "2011-10-30 02:30 Europe/Berlin", "2011-02-03 04:05 EET", "2011-02-03 04:05 ACST", "2011-07-03 04:05 CEST", "2011-02-03 04:05 NZST", "2011-02-03 04:05 Japan Standard Time", "2011-02-03 04:05 utc", "2011-02-03 UTC+01:00", "2011-02-03 Europe/Berlin" });
        STRINGS.put("ListType(Int32Type)", new String[]{ "", "00000000", "zz" });
        STRINGS.put("VectorType(FloatType,3)", new String[]{ "", "3f8000003f8000003f800000", "zz" });
        STRINGS.put("TupleType(Int32Type,UTF8Type,UUIDType)", new String[]{ "", "1", "1:a", "@:@:@", "1:a\\:b:@", "1:a\\@b", "1:a:8c0d1b30-1d2c-11b2-8000-000000000000:x", "x:a", ":", "1:" });
        STRINGS.put("FrozenType(UserType(ks,54797065,61:Int32Type,6220:FloatType,73656c656374:TimeType))", new String[]{ "", "1:2.5:10\\:11\\:12", "1:@", "1:2:3:4" });
    }

    static void stringRows()
    {
        STRINGS.forEach((name, texts) -> {
            AbstractType<?> t = type(name);
            for (String s : texts) row("string", t.toString(), s, ask(() -> hex(t.fromString(s))));
        });
    }

    static final String[] JSONS = { "0", "1", "-1", "128", "32768", "2147483648", "9223372036854775808", "1.5", "1.0", "1e3", "-0.0", "1e400", "0.1", "true", "\"true\"", "\"\"", "\"1\"", "\"abc\"", "\"ä\"", "\"0x00ff\"", "\"0x0\"", "\"00ff\"", "\"0xzz\"", "\"NaN\"", "\"1.5\"",
        "[]", "{}", "[1]", "[1,2]", "[2,1,1]", "[null]", "[\"a\",\"b\"]", "[\"b\",\"a\",\"b\"]", "{\"a\":1}", "{\"b\":1,\"a\":2}", "{\"1\":[\"x\"]}", "{\"a\":null}", "\"[1,2]\"", "\"{\\\"a\\\":1}\"", "[1.5,2.5,-3]", "[1,\"a\",null]", "[1,\"a\",\"8c0d1b30-1d2c-11b2-8000-000000000000\"]", "[1,\"a\"]", "[1,\"a\",null,4]", "{\"a\":1,\"B \":2}", "{\"a\":1,\"b \":2.5,\"select\":\"01:02:03\"}", "{\"A\":1}", "{\"\\\"a\\\"\":1}", "{\"x\":1}", "{\"a\":\"x\"}", "[[1,2],[3,4]]", "[[1.5],[]]",
        "\"8c0d1b30-1d2c-11b2-8000-000000000000\"", "\"2011-02-03\"", "\"2011-02-03 04:05:06.789Z\"", "\"01:02:03\"", "\"1d\"", "\"127.0.0.1\"", "{\"2011-02-03\":true}", "{\"127.0.0.1\":1.10}", "1.10", "100000000000000000000", "12345678901234567890.123456789", "1296705900000", "[1,\"\"]", "{\"k\":{\"1\":\"v\"}}", "1E+2", "0.00001", "123456789.0", "[3,2,[1]]", "3.4e39", "{\"a\":1,\"b\":\"x\",\"\\\"Cc\\\"\":[\"2011-02-03\"]}", "{\"a\":1,\"b\":\"x\",\"Cc\":[]}" };

    static void jsonRows()
    {
        for (AbstractType<?> t : types())
            for (String json : JSONS)
                row("json", t.toString(), json, ask(() -> {
                    Object parsed = ((Map<?, ?>) JsonUtils.JSON_OBJECT_MAPPER.readValue("{\"v\":" + json + "}", Map.class)).get("v");
                    return hex(t.fromJSONObject(parsed).bindAndGet(QueryOptions.DEFAULT));
                }));
    }

    static void tokenRows()
    {
        for (int length = 0; length < 70; length++)
        {
            ByteBuffer key = randomBytes(length);
            long[] hash = new long[2];
            MurmurHash.hash3_x64_128(key, 0, length, 0, hash);
            row("token", hex(key), Murmur3Partitioner.instance.getToken(key).toString(), Long.toString(hash[0]), Long.toString(hash[1]));
        }
    }

    static Object call(Function f, ByteBuffer... values)
    {
        return ask(() -> {
            ScalarFunction s = (ScalarFunction) f;
            Arguments args = s.newArguments(ProtocolVersion.V5);
            for (int i = 0; i < values.length; i++) args.set(i, values[i] == null ? null : values[i].duplicate());
            return hex(s.execute(args));
        });
    }

    static final Map<String, ByteBuffer[]> OPERANDS = new LinkedHashMap<>();
    static
    {
        OPERANDS.put("ByteType", new ByteBuffer[]{ b(0), b(7), b(0xfd), b(127), b(128) });
        OPERANDS.put("ShortType", new ByteBuffer[]{ b(0, 0), b(0, 7), b(0xff, 0xfd), b(0x7f, 0xff), b(0x80, 0) });
        OPERANDS.put("Int32Type", new ByteBuffer[]{ ByteBufferUtil.bytes(0), ByteBufferUtil.bytes(7), ByteBufferUtil.bytes(-3), ByteBufferUtil.bytes(Integer.MAX_VALUE), ByteBufferUtil.bytes(Integer.MIN_VALUE), b() });
        OPERANDS.put("LongType", new ByteBuffer[]{ ByteBufferUtil.bytes(0L), ByteBufferUtil.bytes(7L), ByteBufferUtil.bytes(-3L), ByteBufferUtil.bytes(Long.MAX_VALUE), ByteBufferUtil.bytes(Long.MIN_VALUE) });
        OPERANDS.put("CounterColumnType", new ByteBuffer[]{ ByteBufferUtil.bytes(0L), ByteBufferUtil.bytes(7L), ByteBufferUtil.bytes(-3L), ByteBufferUtil.bytes(Long.MAX_VALUE) });
        OPERANDS.put("FloatType", new ByteBuffer[]{ ByteBufferUtil.bytes(0f), ByteBufferUtil.bytes(7.5f), ByteBufferUtil.bytes(-0.1f), ByteBufferUtil.bytes(Float.NaN), ByteBufferUtil.bytes(Float.MAX_VALUE), ByteBufferUtil.bytes(Float.POSITIVE_INFINITY) });
        OPERANDS.put("DoubleType", new ByteBuffer[]{ ByteBufferUtil.bytes(0d), ByteBufferUtil.bytes(7.5d), ByteBufferUtil.bytes(-0.1d), ByteBufferUtil.bytes(Double.NaN), ByteBufferUtil.bytes(1e300d), ByteBufferUtil.bytes(Double.NEGATIVE_INFINITY) });
        List<ByteBuffer> decimals = new ArrayList<>();
        for (String s : new String[]{ "0", "7", "-3", "1.10", "0.001", "1E+10", "-12345678901234567890.12", "3.000", "1E-40", "100" }) decimals.add(d(DecimalType.instance, new BigDecimal(s)));
        OPERANDS.put("DecimalType", decimals.toArray(new ByteBuffer[0]));
        List<ByteBuffer> integers = new ArrayList<>();
        for (String s : new String[]{ "0", "7", "-3", "123456789012345678901234567890" }) integers.add(d(IntegerType.instance, new BigInteger(s)));
        OPERANDS.put("IntegerType", integers.toArray(new ByteBuffer[0]));
    }

    static void arithmeticRows()
    {
        String[][] ops = { { "_add", "+" }, { "_substract", "-" }, { "_multiply", "*" }, { "_divide", "/" }, { "_modulo", "%" } };
        for (String[] op : ops)
            for (Function f : NativeFunctions.instance.getFunctions(FunctionName.nativeFunction(op[0])))
            {
                AbstractType<?> l = f.argTypes().get(0), r = f.argTypes().get(1);
                row("result", op[1], l.toString(), r.toString(), f.returnType().toString());
                ByteBuffer[] ls = operands(l), rs = operands(r);
                for (ByteBuffer x : ls) for (ByteBuffer y : rs)
                    if (random.nextInt(SAMPLE) == 0) row("arithmetic", op[1], l.toString(), hex(x), r.toString(), hex(y), call(f, x, y));
            }
        for (Function f : NativeFunctions.instance.getFunctions(FunctionName.nativeFunction("_negate")))
            for (ByteBuffer x : operands(f.argTypes().get(0)))
                row("negate", f.argTypes().get(0).toString(), hex(x), f.returnType().toString(), call(f, x));
    }

    static ByteBuffer[] operands(AbstractType<?> t)
    {
        ByteBuffer[] known = OPERANDS.get(t.getClass().getSimpleName());
        if (known != null) return known;
        List<ByteBuffer> out = new ArrayList<>();
        String[] texts;
        switch (t.getClass().getSimpleName())
        {
            case "TimestampType": texts = new String[]{ "0", "1296705900123", "-99999999999999", "2012-02-29", "2011-01-31" }; break;
            case "SimpleDateType": texts = new String[]{ "1970-01-01", "2012-02-29", "2011-01-31", "-0044-03-15" }; break;
            case "DurationType": texts = new String[]{ "1d", "1mo", "-1mo", "1y2mo3d", "36h", "1ms", "1us", "64ns", "-13mo40d", "12mo5d6h7ms", "365000d", "1mo999h" }; break;
            case "UTF8Type": case "AsciiType": texts = new String[]{ "", "a", "b" }; break;
            default: return values(t).toArray(new ByteBuffer[0]);
        }
        for (String s : texts) out.add(t.fromString(s));
        return out.toArray(new ByteBuffer[0]);
    }

    static void castRows()
    {
        for (String n : NATIVES)
        {
            AbstractType<?> to = type(P + n);
            String name = "cast_as_" + to.asCQL3Type().toString().toLowerCase();
            for (Function f : NativeFunctions.instance.getFunctions(FunctionName.nativeFunction(name)))
            {
                AbstractType<?> from = f.argTypes().get(0);
                row("castable", from.toString(), to.toString());
                List<ByteBuffer> vs = new ArrayList<>();
                for (ByteBuffer v : values(from)) { try { from.validate(v); vs.add(v); } catch (Throwable e) { } }
                Collections.shuffle(vs, random);
                for (ByteBuffer v : vs.subList(0, Math.min(vs.size(), 16)))
                    row("cast", from.toString(), to.toString(), hex(v), call(f, v));
            }
        }
    }

    public static void main(String[] args) throws Exception
    {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        DatabaseDescriptor.clientInitialization();
        switch (args[0])
        {
            case "types": typeRows(); break;
            case "values": valueRows(); break;
            case "texts": stringRows(); jsonRows(); break;
            case "tokens": tokenRows(); break;
            case "functions": arithmeticRows(); castRows(); break;
        }
    }
}
