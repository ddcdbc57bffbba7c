// Drives a server with the unmodified Node driver: each test is a behaviour that applications rely on.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import cassandra from 'cassandra-driver';

const { types } = cassandra;
const host = process.env.HELENUS_HOST ?? '127.0.0.1';
const port = Number(process.env.HELENUS_PORT ?? 9042);
const keyspace = 'drivers_node';

function newClient(options = {}) {
  return new cassandra.Client({
    contactPoints: [`${host}:${port}`],
    localDataCenter: 'datacenter1',
    socketOptions: { readTimeout: 30_000, connectTimeout: 30_000 },
    ...options,
  });
}

let client;
const run = (query, values, options) => client.execute(query, values, options);
const prepared = (query, values, options = {}) => run(query, values, { prepare: true, ...options });

before(async () => {
  const first = newClient();
  await first.execute(`DROP KEYSPACE IF EXISTS ${keyspace}`);
  await first.execute(`CREATE KEYSPACE ${keyspace} WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`);
  await first.shutdown();
  client = newClient({ keyspace });
  await client.connect();
  await run('CREATE TABLE pairs (k int PRIMARY KEY, v text, w int)');
  await run('CREATE TABLE numbers (p int, c int, v text, PRIMARY KEY (p, c))');
  await Promise.all(Array.from({ length: 250 }, (_, c) =>
    prepared('INSERT INTO numbers (p, c, v) VALUES (?, ?, ?)', [0, c, `v${c}`])));
});

after(async () => {
  await run(`DROP KEYSPACE ${keyspace}`);
  await client.shutdown();
});

test('version 4 is settled on after version 66 was refused', () => {
  assert.equal(client.controlConnection.protocolVersion, 4);
});

test('versions 3 and 4 answer', async () => {
  for (const maxVersion of [3, 4]) {
    const other = newClient({ keyspace, protocolOptions: { maxVersion } });
    const rows = (await other.execute('SELECT c FROM numbers WHERE p = 0')).rows;
    assert.equal(rows.length, 250);
    assert.equal(other.controlConnection.protocolVersion, maxVersion);
    await other.shutdown();
  }
});

test('the one node is described', () => {
  const hosts = client.getState().getConnectedHosts();
  assert.equal(hosts.length, 1);
  assert.equal(hosts[0].address, `${host}:${port}`);
  assert.equal(hosts[0].datacenter, 'datacenter1');
  assert.equal(hosts[0].rack, 'rack1');
  assert.match(hosts[0].cassandraVersion, /^5\.0/);
});

test('an unknown keyspace is refused at connect', async () => {
  const other = newClient({ keyspace: 'no_such_keyspace' });
  await assert.rejects(other.connect(), /no_such_keyspace|NoHostAvailable|All host/);
  await other.shutdown();
});

test('tokens route every key to the node', () => {
  const replicas = client.getReplicas(keyspace, Buffer.from([0, 0, 0, 1]));
  assert.equal(replicas.length, 1);
  assert.ok(client.metadata.getTokenRanges().size > 0);
});

test('scalars of every type come back equal', async () => {
  const values = {
    ascii: 'plain', bigint: types.Long.MIN_VALUE, blob: Buffer.from([0, 255, 16]), boolean: true,
    date: types.LocalDate.fromString('2024-02-29'), decimal: types.BigDecimal.fromString('12345678901234567890.0001230'),
    double: -1.5e300, duration: new types.Duration(14, 3, types.Long.fromNumber(123456789)), float: 0.25,
    inet: types.InetAddress.fromString('2001:db8::1'), int: 2147483647, smallint: -32768, text: 'grüße 🌍',
    time: types.LocalTime.fromString('23:59:59.999999999'), timestamp: new Date(1296705906789), timeuuid: types.TimeUuid.now(),
    tinyint: -128, uuid: types.Uuid.random(), varchar: '', varint: types.Integer.fromString('-123456789012345678901234567890'),
  };
  const columns = Object.keys(values).map((name) => `c_${name} ${name}`).join(', ');
  await run(`CREATE TABLE scalars (k int PRIMARY KEY, ${columns})`);
  for (const [name, value] of Object.entries(values)) {
    await prepared(`INSERT INTO scalars (k, c_${name}) VALUES (1, ?)`, [value]);
    const read = (await run(`SELECT c_${name} AS v FROM scalars WHERE k = 1`)).first().v;
    assert.ok(value?.equals ? value.equals(read) : String(value) === String(read), `${name}: ${read}`);
    await prepared(`INSERT INTO scalars (k, c_${name}) VALUES (1, ?)`, [null]);
    assert.equal((await run(`SELECT c_${name} AS v FROM scalars WHERE k = 1`)).first()?.v ?? null, null);
  }
});

test('collections, tuples, user types and vectors come back equal', async () => {
  await run('CREATE TYPE address (street text, number int, tags frozen<set<text>>)');
  await run(`CREATE TABLE complexes (k int PRIMARY KEY, l list<int>, s set<text>, m map<text, int>, t tuple<int, text>,
    home frozen<address>, n map<text, frozen<list<int>>>, v vector<float, 3>)`);
  const home = { street: 'Long Street', number: 7, tags: ['a', 'b'] };
  await prepared('INSERT INTO complexes (k, l, s, m, t, home, n, v) VALUES (1, ?, ?, ?, ?, ?, ?, ?)',
    [[3, 1, 2], ['b', 'a'], { x: 1 }, new types.Tuple(7, null), home, { a: [1, 2] }, new types.Vector([0.5, -1, 2], 'float')]);
  await run("UPDATE complexes SET l = l + [4], s = s - {'a'}, m['y'] = 2 WHERE k = 1");
  const row = (await run('SELECT * FROM complexes WHERE k = 1')).first();
  assert.deepEqual(row.l, [3, 1, 2, 4]);
  assert.deepEqual(row.s, ['b']);
  assert.deepEqual(row.m, { x: 1, y: 2 });
  assert.deepEqual(row.t.values(), [7, null]);
  assert.deepEqual({ ...row.home }, home);
  assert.deepEqual(row.n, { a: [1, 2] });
  assert.deepEqual([...row.v], [0.5, -1, 2]);
});

test('counters add up', async () => {
  await run('CREATE TABLE counters (k int PRIMARY KEY, n counter)');
  for (const amount of [5, 10, -3]) {
    await prepared('UPDATE counters SET n = n + ? WHERE k = 1', [amount]);
  }
  assert.equal(String((await run('SELECT n FROM counters WHERE k = 1')).first().n), '12');
});

test('pages of any size give every row once', async () => {
  for (const fetchSize of [1, 7, 100, 5000]) {
    const seen = [];
    for await (const row of await run('SELECT c FROM numbers WHERE p = 0', [], { fetchSize })) {
      seen.push(row.c);
    }
    assert.deepEqual(seen, Array.from({ length: 250 }, (_, c) => c));
  }
});

test('a paging state continues where it stopped', async () => {
  const first = await prepared('SELECT c FROM numbers WHERE p = ?', [0], { fetchSize: 10 });
  assert.equal(first.rows.length, 10);
  const second = await prepared('SELECT c FROM numbers WHERE p = ?', [0], { fetchSize: 10, pageState: first.pageState });
  assert.deepEqual(second.rows.map((row) => row.c), Array.from({ length: 10 }, (_, c) => 10 + c));
});

test('batches of all kinds apply', async () => {
  const insert = 'INSERT INTO pairs (k, v) VALUES (?, ?)';
  await client.batch([{ query: insert, params: [100, 'a'] }, { query: insert, params: [101, 'b'] }], { prepare: true });
  await client.batch([{ query: insert, params: [102, 'a'] }, "INSERT INTO pairs (k, v) VALUES (103, 'b')"], { prepare: true, logged: false });
  assert.equal((await run('SELECT k FROM pairs WHERE k IN (100, 101, 102, 103)')).rows.length, 4);
  await run('CREATE TABLE clicks (k int PRIMARY KEY, n counter)');
  await client.batch(['UPDATE clicks SET n = n + 1 WHERE k = 1', 'UPDATE clicks SET n = n + 2 WHERE k = 1'], { counter: true });
  assert.equal(String((await run('SELECT n FROM clicks WHERE k = 1')).first().n), '3');
});

test('conditional writes answer with what was there', async () => {
  const insert = "INSERT INTO pairs (k, v) VALUES (200, 'mine') IF NOT EXISTS";
  assert.equal((await run(insert)).wasApplied(), true);
  const refused = await run(insert);
  assert.equal(refused.wasApplied(), false);
  assert.deepEqual({ ...refused.first() }, { '[applied]': false, k: 200, v: 'mine', w: null });
  assert.equal((await run("UPDATE pairs SET v = 'b' WHERE k = 200 IF v = 'other'")).wasApplied(), false);
  assert.equal((await run("UPDATE pairs SET v = 'b' WHERE k = 200 IF v = 'mine'")).wasApplied(), true);
  assert.equal((await run('SELECT v FROM pairs WHERE k = 200', [], { consistency: types.consistencies.serial })).first().v, 'b');
});

test('two thousand requests at once are answered each with its own row', async () => {
  const keys = Array.from({ length: 1000 }, (_, n) => 1000 + n);
  await Promise.all(keys.map((k) => prepared('INSERT INTO pairs (k, w) VALUES (?, ?)', [k, k * 2])));
  const answers = await Promise.all(keys.map((k) => prepared('SELECT w FROM pairs WHERE k = ?', [k])));
  assert.deepEqual(answers.map((answer) => answer.first().w), keys.map((k) => k * 2));
});

test('a blob of three megabytes survives', async () => {
  await run('CREATE TABLE big (k int PRIMARY KEY, b blob)');
  const bytes = Buffer.alloc(3_000_000, Buffer.from(Array.from({ length: 251 }, (_, n) => n)));
  await prepared('INSERT INTO big (k, b) VALUES (1, ?)', [bytes]);
  assert.ok(bytes.equals((await run('SELECT b FROM big WHERE k = 1')).first().b));
});

test('a prepared statement follows a changed table', async () => {
  await run('CREATE TABLE growing (k int PRIMARY KEY, a int)');
  await prepared('INSERT INTO growing (k, a) VALUES (?, ?)', [1, 2]);
  assert.deepEqual({ ...(await prepared('SELECT * FROM growing WHERE k = ?', [1])).first() }, { k: 1, a: 2 });
  await run('ALTER TABLE growing ADD b text');
  await run("INSERT INTO growing (k, b) VALUES (1, 'new')");
  assert.equal((await prepared('SELECT k, a, b FROM growing WHERE k = ?', [1])).first().b, 'new');
});

test('timestamps and times to live are readable', async () => {
  await prepared("INSERT INTO pairs (k, v) VALUES (300, 'x') USING TTL 1000", [], { timestamp: 12345 });
  const row = (await run('SELECT writetime(v) AS w, ttl(v) AS t FROM pairs WHERE k = 300')).first();
  assert.equal(String(row.w), '12345');
  assert.ok(row.t > 990 && row.t <= 1000);
});

test('a trace tells who did what', async () => {
  const { info } = await run('SELECT v FROM pairs WHERE k = 1000', [], { traceQuery: true });
  let trace;
  for (const deadline = Date.now() + 20_000; !trace?.duration && Date.now() < deadline;) {
    trace = await new Promise((done) => { client.metadata.getTrace(info.traceId, (error, found) => done(error ? undefined : found)); });
  }
  assert.equal(trace.requestType, 'Execute CQL3 query');
  assert.ok(trace.events.length >= 2);
});

test('warnings travel beside the answer, payloads beside the question', async () => {
  const { info } = await run('SELECT count(*) FROM numbers', [], { customPayload: { question: Buffer.from([1]) } });
  assert.deepEqual(info.warnings, ['Aggregation query used without partition key']);
});

test('errors have codes and words', async () => {
  const { responseErrorCodes: codes } = types;
  for (const [statement, code, words] of [
    ['SELEKT 1', codes.syntaxError, "line 1:0 no viable alternative at input 'SELEKT'"],
    ['SELECT nope FROM pairs', codes.invalid, `Undefined column name nope in table ${keyspace}.pairs`],
    ['SELECT * FROM nope', codes.invalid, 'table nope does not exist'],
    ["SELECT * FROM pairs WHERE v = 'x'", codes.invalid, 'use ALLOW FILTERING'],
    ['CREATE TABLE pairs (k int PRIMARY KEY)', codes.alreadyExists, 'pairs'],
    ['ALTER TABLE pairs WITH gc_grace_seconds = -1', codes.configError, 'gc_grace_seconds'],
    ['CREATE TABLE system.x (k int PRIMARY KEY)', codes.unauthorized, 'system keyspace is not user-modifiable'],
  ]) {
    await assert.rejects(run(statement), (error) => error.code === code && error.message.includes(words), statement);
  }
});

test('an unreachable consistency is unavailable with its numbers', async () => {
  await assert.rejects(run('SELECT * FROM pairs WHERE k = 1', [], { consistency: types.consistencies.three }), (error) => {
    const inner = error.innerErrors ? Object.values(error.innerErrors)[0] : error;
    return inner.code === types.responseErrorCodes.unavailableException && inner.required === 3 && inner.alive === 1;
  });
});

test('table metadata is read lazily and follows changes', async () => {
  await run(`CREATE TABLE described (a int, b text, c timeuuid, s text STATIC, m map<text, frozen<set<int>>>,
    PRIMARY KEY ((a, b), c)) WITH CLUSTERING ORDER BY (c DESC) AND comment = 'described'`);
  const table = await client.metadata.getTable(keyspace, 'described');
  assert.deepEqual(table.partitionKeys.map((column) => column.name), ['a', 'b']);
  assert.deepEqual(table.clusteringKeys.map((column) => column.name), ['c']);
  assert.deepEqual(table.clusteringOrder, ['DESC']);
  assert.equal(table.comment, 'described');
  assert.deepEqual(table.columns.map((column) => column.name).sort(), ['a', 'b', 'c', 'm', 's']);
  const type = await client.metadata.getUdt(keyspace, 'address');
  assert.deepEqual(type.fields.map((field) => field.name), ['street', 'number', 'tags']);
  assert.equal(await client.metadata.getTable(keyspace, 'nope'), null);
});

test('schema changes of another client are announced', async () => {
  const other = newClient({ keyspace, refreshSchemaDelay: 50 });
  try {
    await run('CREATE TABLE announced (k int PRIMARY KEY)');
    await other.connect();
    assert.ok(await other.metadata.getTable(keyspace, 'announced'));
    await run('ALTER TABLE announced ADD v int');
    let columns = 0;
    for (const deadline = Date.now() + 20_000; columns !== 2 && Date.now() < deadline;) {
      columns = (await other.metadata.getTable(keyspace, 'announced')).columns.length;
      await new Promise((done) => { setImmediate(done); }); // Lets the socket be read: a known table is answered from memory.
    }
    assert.equal(columns, 2);
  } finally {
    await other.shutdown();
  }
});
