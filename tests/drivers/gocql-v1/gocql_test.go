// Package gocqlv1 drives a server with the unmodified gocql v1: each test is a behaviour that applications rely on.
package gocqlv1

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"gopkg.in/inf.v0"
)

const keyspace = "drivers_gocql_v1"

var session *gocql.Session

func environment(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// newCluster knows only the node under test.
func newCluster() *gocql.ClusterConfig {
	cluster := gocql.NewCluster(environment("HELENUS_HOST", "127.0.0.1"))
	port, err := strconv.Atoi(environment("HELENUS_PORT", "9042"))
	if err != nil {
		panic(err)
	}
	cluster.Port = port
	cluster.Timeout = 30 * time.Second
	cluster.ConnectTimeout = 30 * time.Second
	cluster.Consistency = gocql.One
	return cluster
}

func connect(t *testing.T, cluster *gocql.ClusterConfig) *gocql.Session {
	t.Helper()
	connected, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connected.Close)
	return connected
}

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

// runAll makes the keyspace anew, runs the tests in it and drops it.
func runAll(m *testing.M) int {
	first, err := newCluster().CreateSession()
	if err != nil {
		fmt.Println("cannot connect:", err)
		return 1
	}
	defer first.Close()
	for _, statement := range []string{
		"DROP KEYSPACE IF EXISTS " + keyspace,
		"CREATE KEYSPACE " + keyspace + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
	} {
		if err := first.Query(statement).Exec(); err != nil {
			fmt.Println(statement, err)
			return 1
		}
	}
	cluster := newCluster()
	cluster.Keyspace = keyspace
	if session, err = cluster.CreateSession(); err != nil {
		fmt.Println("cannot connect to the keyspace:", err)
		return 1
	}
	defer first.Query("DROP KEYSPACE " + keyspace).Exec()
	defer session.Close()
	return m.Run()
}

func do(t *testing.T, statement string, values ...any) {
	t.Helper()
	if err := session.Query(statement, values...).Exec(); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func one(t *testing.T, into any, statement string, values ...any) {
	t.Helper()
	if err := session.Query(statement, values...).Scan(into); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func equal(t *testing.T, expected, actual any) {
	t.Helper()
	if !reflect.DeepEqual(expected, actual) {
		t.Errorf("expected %#v, got %#v", expected, actual)
	}
}

func TestVersionsAndCompressionsAnswer(t *testing.T) {
	for version := 3; version <= 4; version++ {
		for _, compressor := range compressors(version) {
			cluster := newCluster()
			cluster.ProtoVersion = version
			cluster.Compressor = compressor
			connected := connect(t, cluster)
			rows := connected.Query("SELECT column_name, type FROM system_schema.columns").Iter()
			if count := len(readAll(t, rows)); count <= 100 {
				t.Errorf("version %d: %d columns", version, count)
			}
		}
	}
}

func TestVersionIsDiscovered(t *testing.T) {
	cluster := newCluster()
	cluster.ProtoVersion = 0
	connected := connect(t, cluster)
	var release string
	if err := connected.Query("SELECT release_version FROM system.local WHERE key = 'local'").Scan(&release); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(release, "5.0") {
		t.Error(release)
	}
}

func readAll(t *testing.T, rows *gocql.Iter) []map[string]any {
	t.Helper()
	read, err := rows.SliceMap()
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestScalarsOfEveryTypeComeBackEqual(t *testing.T) {
	varint, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	decimal, _ := new(inf.Dec).SetString("12345678901234567890.0001230")
	random := gocql.MustRandomUUID()
	values := []struct {
		name  string
		value any
	}{
		{"ascii", "plain"}, {"bigint", int64(-1 << 63)}, {"blob", []byte{0, 255, 16}}, {"boolean", true},
		{"date", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)}, {"decimal", decimal}, {"double", -1.5e300},
		{"duration", gocql.Duration{Months: 14, Days: 3, Nanoseconds: 123456789}}, {"float", float32(0.25)},
		{"inet", net.ParseIP("2001:db8::1")}, {"int", 2147483647}, {"smallint", int16(-32768)}, {"text", "grüße 🌍"},
		{"time", 23*time.Hour + 59*time.Minute + 999999999}, {"timestamp", time.UnixMilli(1296705906789).UTC()},
		{"timeuuid", gocql.TimeUUID()}, {"tinyint", int8(-128)}, {"uuid", random}, {"varint", varint},
	}
	for _, row := range values {
		do(t, fmt.Sprintf("CREATE TABLE scalar_%s (k int PRIMARY KEY, v %s)", row.name, row.name))
		do(t, fmt.Sprintf("INSERT INTO scalar_%s (k, v) VALUES (1, ?)", row.name), row.value)
		read := reflect.New(reflect.TypeOf(row.value))
		one(t, read.Interface(), fmt.Sprintf("SELECT v FROM scalar_%s WHERE k = 1", row.name))
		if fmt.Sprint(row.value) != fmt.Sprint(read.Elem().Interface()) {
			t.Errorf("%s: expected %v, got %v", row.name, row.value, read.Elem().Interface())
		}
	}
}

func TestCollectionsComeBackEqual(t *testing.T) {
	do(t, "CREATE TABLE collections (k int PRIMARY KEY, l list<int>, s set<text>, m map<text, int>, n map<text, frozen<list<int>>>)")
	do(t, "INSERT INTO collections (k, l, s, m, n) VALUES (1, ?, ?, ?, ?)", []int{3, 1, 2}, []string{"b", "a"},
		map[string]int{"x": 1}, map[string][]int{"a": {1, 2}, "b": {}})
	do(t, "UPDATE collections SET l = l + ?, s = s - ?, m['y'] = 2 WHERE k = 1", []int{4}, []string{"a"})
	var list []int
	var set []string
	var maps map[string]int
	var nested map[string][]int
	if err := session.Query("SELECT l, s, m, n FROM collections WHERE k = 1").Scan(&list, &set, &maps, &nested); err != nil {
		t.Fatal(err)
	}
	equal(t, []int{3, 1, 2, 4}, list)
	equal(t, []string{"b"}, set)
	equal(t, map[string]int{"x": 1, "y": 2}, maps)
	equal(t, map[string][]int{"a": {1, 2}, "b": {}}, nested)
}

type address struct {
	Street string   `cql:"street"`
	Number int      `cql:"number"`
	Tags   []string `cql:"tags"`
}

func TestUserTypesAndTuplesMapToStructs(t *testing.T) {
	do(t, "CREATE TYPE address (street text, number int, tags frozen<set<text>>)")
	do(t, "CREATE TABLE people (k int PRIMARY KEY, home frozen<address>, t tuple<int, text>)")
	home := address{"Long Street", 7, []string{"a", "b"}}
	do(t, "INSERT INTO people (k, home, t) VALUES (1, ?, (?, ?))", home, 5, "five")
	var read address
	var number int
	var word string
	if err := session.Query("SELECT home, t FROM people WHERE k = 1").Scan(&read, &number, &word); err != nil {
		t.Fatal(err)
	}
	equal(t, home, read)
	equal(t, 5, number)
	equal(t, "five", word)
}

func TestCountersAddUp(t *testing.T) {
	do(t, "CREATE TABLE counters (k int PRIMARY KEY, n counter)")
	for _, amount := range []int64{5, 10, -3} {
		do(t, "UPDATE counters SET n = n + ? WHERE k = 1", amount)
	}
	var n int64
	one(t, &n, "SELECT n FROM counters WHERE k = 1")
	equal(t, int64(12), n)
}

func TestNullsAndUnsetValues(t *testing.T) {
	do(t, "CREATE TABLE unset (k int PRIMARY KEY, v text, w int)")
	do(t, "INSERT INTO unset (k, v, w) VALUES (?, ?, ?)", 1, "kept", 1)
	do(t, "INSERT INTO unset (k, v, w) VALUES (?, ?, ?)", 1, gocql.UnsetValue, nil)
	var v string
	var w *int
	if err := session.Query("SELECT v, w FROM unset WHERE k = 1").Scan(&v, &w); err != nil {
		t.Fatal(err)
	}
	equal(t, "kept", v)
	if w != nil {
		t.Errorf("w is %d", *w)
	}
}

func fillNumbers(t *testing.T, table string) {
	t.Helper()
	do(t, "CREATE TABLE "+table+" (p int, c int, v text, PRIMARY KEY (p, c))")
	for c := range 250 {
		do(t, "INSERT INTO "+table+" (p, c, v) VALUES (?, ?, ?)", 0, c, fmt.Sprint("v", c))
	}
}

func TestPagesOfAnySizeGiveEveryRowOnce(t *testing.T) {
	fillNumbers(t, "paged")
	for _, size := range []int{1, 7, 100, 5000} {
		rows := session.Query("SELECT c FROM paged WHERE p = 0").PageSize(size).Iter()
		expected, c := 0, 0
		for rows.Scan(&c) {
			if c != expected {
				t.Fatalf("page size %d: expected %d, got %d", size, expected, c)
			}
			expected++
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		equal(t, 250, expected)
	}
}

func TestPagingStateContinuesWhereItStopped(t *testing.T) {
	fillNumbers(t, "continued")
	first := session.Query("SELECT c FROM continued WHERE p = 0").PageSize(10).PageState(nil).Iter()
	state := first.PageState()
	equal(t, 10, first.NumRows())
	if len(state) == 0 {
		t.Fatal("no paging state")
	}
	var c int
	next := session.Query("SELECT c FROM continued WHERE p = 0").PageSize(10).PageState(state).Iter()
	next.Scan(&c)
	equal(t, 10, c)
	if err := errors.Join(first.Close(), next.Close()); err != nil {
		t.Error(err)
	}
}

func TestConditionalWritesAnswerWithWhatWasThere(t *testing.T) {
	do(t, "CREATE TABLE guarded (k int PRIMARY KEY, v text)")
	insert := "INSERT INTO guarded (k, v) VALUES (?, ?) IF NOT EXISTS"
	for _, expected := range []bool{true, false} {
		before := map[string]any{}
		applied, err := session.Query(insert, 1, "mine").MapScanCAS(before)
		if err != nil || applied != expected {
			t.Fatal(applied, err)
		}
		if !expected {
			equal(t, map[string]any{"k": 1, "v": "mine"}, before)
		}
	}
	var was string
	applied, err := session.Query("UPDATE guarded SET v = 'b' WHERE k = 1 IF v = ?", "other").ScanCAS(&was)
	if err != nil || applied || was != "mine" {
		t.Error(applied, was, err)
	}
	applied, err = session.Query("UPDATE guarded SET v = 'b' WHERE k = 1 IF v = ?", "mine").SerialConsistency(gocql.LocalSerial).ScanCAS(&was)
	if err != nil || !applied {
		t.Error(applied, err)
	}
}

func TestConcurrentRequestsShareConnections(t *testing.T) {
	do(t, "CREATE TABLE busy (k int PRIMARY KEY, v int)")
	var waiting sync.WaitGroup
	failures := make(chan error, 2000)
	for worker := range 20 {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			for n := range 100 {
				key, read := worker*100+n, 0
				if err := session.Query("INSERT INTO busy (k, v) VALUES (?, ?)", key, n).Exec(); err != nil {
					failures <- err
				}
				if err := session.Query("SELECT v FROM busy WHERE k = ?", key).Scan(&read); err != nil || read != n {
					failures <- fmt.Errorf("key %d: read %d, not %d: %w", key, read, n, err)
				}
			}
		}()
	}
	waiting.Wait()
	close(failures)
	for failure := range failures {
		t.Error(failure)
	}
	var count int
	one(t, &count, "SELECT count(*) FROM busy")
	equal(t, 2000, count)
}

func TestBlobOfThreeMegabytesTravelsInManyFrames(t *testing.T) {
	do(t, "CREATE TABLE big (k int PRIMARY KEY, b blob)")
	value := make([]byte, 3_000_000)
	for index := range value {
		value[index] = byte(index * 31)
	}
	do(t, "INSERT INTO big (k, b) VALUES (1, ?)", value)
	var read []byte
	one(t, &read, "SELECT b FROM big WHERE k = 1")
	if !reflect.DeepEqual(value, read) {
		t.Error("the bytes differ")
	}
}

func TestTimestampsAndTimesToLive(t *testing.T) {
	do(t, "CREATE TABLE timed (k int PRIMARY KEY, v text)")
	if err := session.Query("INSERT INTO timed (k, v) VALUES (1, 'x') USING TTL 1000").WithTimestamp(12345).Exec(); err != nil {
		t.Fatal(err)
	}
	var written int64
	var ttl int
	if err := session.Query("SELECT writetime(v), ttl(v) FROM timed WHERE k = 1").Scan(&written, &ttl); err != nil {
		t.Fatal(err)
	}
	equal(t, int64(12345), written)
	if ttl < 990 || ttl > 1000 {
		t.Error(ttl)
	}
}

func TestPreparedStatementFollowsAChangedTable(t *testing.T) {
	do(t, "CREATE TABLE growing (k int PRIMARY KEY, a int)")
	do(t, "INSERT INTO growing (k, a) VALUES (?, ?)", 1, 2)
	equal(t, 2, len(readAll(t, session.Query("SELECT * FROM growing WHERE k = ?", 1).Iter())[0]))
	do(t, "ALTER TABLE growing ADD b text")
	do(t, "INSERT INTO growing (k, b) VALUES (?, ?)", 1, "new")
	equal(t, map[string]any{"k": 1, "a": 2, "b": "new"}, readAll(t, session.Query("SELECT * FROM growing WHERE k = ?", 1).Iter())[0])
}

// TestTraceIsWrittenAndReadable polls as tools do: a session's duration is null until its trace is complete.
func TestTraceIsWrittenAndReadable(t *testing.T) {
	do(t, "CREATE TABLE traced (k int PRIMARY KEY)")
	recorder := &recordingTracer{}
	if err := session.Query("SELECT k FROM traced WHERE k = ?", 1).Trace(recorder).Exec(); err != nil {
		t.Fatal(err)
	}
	if len(recorder.id) != 16 {
		t.Fatalf("no tracing id: %x", recorder.id)
	}
	var duration *int
	for deadline := time.Now().Add(20 * time.Second); duration == nil; {
		err := session.Query("SELECT duration FROM system_traces.sessions WHERE session_id = ?", recorder.id).Scan(&duration)
		if err != nil && !errors.Is(err, gocql.ErrNotFound) {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("the trace was never complete")
		}
	}
	events := readAll(t, session.Query("SELECT activity, source FROM system_traces.events WHERE session_id = ?", recorder.id).Iter())
	if len(events) < 2 {
		t.Error("few events: ", events)
	}
}

type recordingTracer struct{ id []byte }

func (tracer *recordingTracer) Trace(id []byte) { tracer.id = append([]byte{}, id...) }

func TestWarningsAndPayloadsTravelBesideTheAnswer(t *testing.T) {
	fillNumbers(t, "warned")
	rows := session.Query("SELECT count(*) FROM warned").CustomPayload(map[string][]byte{"question": {1}}).Iter()
	equal(t, []string{"Aggregation query used without partition key"}, rows.Warnings())
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
}

func TestErrorsHaveCodesAndWords(t *testing.T) {
	do(t, "CREATE TABLE erroneous (k int PRIMARY KEY, v text)")
	for _, row := range []struct {
		statement string
		code      int
		words     string
	}{
		{"SELEKT 1", gocql.ErrCodeSyntax, "line 1:0 no viable alternative at input 'SELEKT'"},
		{"SELECT nope FROM erroneous", gocql.ErrCodeInvalid, "Undefined column name nope in table " + keyspace + ".erroneous"},
		{"SELECT * FROM nope", gocql.ErrCodeInvalid, "table nope does not exist"},
		{"SELECT * FROM erroneous WHERE v = 'x'", gocql.ErrCodeInvalid, "use ALLOW FILTERING"},
		{"CREATE TABLE erroneous (k int PRIMARY KEY)", gocql.ErrCodeAlreadyExists, "erroneous"},
		{"ALTER TABLE erroneous WITH gc_grace_seconds = -1", gocql.ErrCodeConfig, "gc_grace_seconds"},
		{"CREATE TABLE system.x (k int PRIMARY KEY)", gocql.ErrCodeUnauthorized, "system keyspace is not user-modifiable"},
	} {
		err := session.Query(row.statement).Exec()
		var answered gocql.RequestError
		if !errors.As(err, &answered) || answered.Code() != row.code || !strings.Contains(answered.Message(), row.words) {
			t.Errorf("%s: expected 0x%04x %s, got %v", row.statement, row.code, row.words, err)
		}
	}
}

func TestUnreachableConsistencyIsUnavailable(t *testing.T) {
	do(t, "CREATE TABLE remote (k int PRIMARY KEY)")
	err := session.Query("SELECT * FROM remote WHERE k = 1").Consistency(gocql.Three).Exec()
	var unavailable *gocql.RequestErrUnavailable
	if !errors.As(err, &unavailable) || unavailable.Required != 3 || unavailable.Alive != 1 {
		t.Errorf("%v", err)
	}
}

func TestSchemaMetadataIsReadByThePreparedQueries(t *testing.T) {
	do(t, `CREATE TABLE described (a int, b text, c timeuuid, s text STATIC, m map<text, frozen<set<int>>>,
		PRIMARY KEY ((a, b), c)) WITH CLUSTERING ORDER BY (c DESC)`)
	metadata, err := connect(t, newCluster()).KeyspaceMetadata(keyspace) // A session of its own: another may know the old schema.
	if err != nil {
		t.Fatal(err)
	}
	table := metadata.Tables["described"]
	if table == nil {
		t.Fatal("the table is not known")
	}
	equal(t, []string{"a", "b"}, []string{table.PartitionKey[0].Name, table.PartitionKey[1].Name})
	equal(t, "c", table.ClusteringColumns[0].Name)
	equal(t, gocql.ColumnOrder(gocql.DESC), table.ClusteringColumns[0].Order)
	equal(t, gocql.ColumnStatic, table.Columns["s"].Kind)
	equal(t, "org.apache.cassandra.locator.SimpleStrategy", metadata.StrategyClass)
}

func TestSchemaAgrees(t *testing.T) {
	if err := session.AwaitSchemaAgreement(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestBatchesOfAllKindsApply(t *testing.T) {
	do(t, "CREATE TABLE batched (k int PRIMARY KEY, v text)")
	do(t, "CREATE TABLE clicks (k int PRIMARY KEY, n counter)")
	for index, kind := range []gocql.BatchType{gocql.LoggedBatch, gocql.UnloggedBatch} {
		batch := session.NewBatch(kind)
		batch.Query("INSERT INTO batched (k, v) VALUES (?, ?)", 10*index, "prepared")
		batch.Query(fmt.Sprintf("INSERT INTO batched (k, v) VALUES (%d, 'simple')", 10*index+1))
		if err := session.ExecuteBatch(batch); err != nil {
			t.Fatal(err)
		}
	}
	counters := session.NewBatch(gocql.CounterBatch)
	counters.Query("UPDATE clicks SET n = n + ? WHERE k = ?", int64(2), 1)
	counters.Query("UPDATE clicks SET n = n + 3 WHERE k = 1")
	if err := session.ExecuteBatch(counters); err != nil {
		t.Fatal(err)
	}
	var rows int
	var n int64
	one(t, &rows, "SELECT count(*) FROM batched")
	one(t, &n, "SELECT n FROM clicks WHERE k = 1")
	equal(t, 4, rows)
	equal(t, int64(5), n)
}
