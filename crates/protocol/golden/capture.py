#!/usr/bin/env python3
"""Records what a real Cassandra answers, byte for byte, into cassandra-5.0.9.txt beside this file.

usage: capture.py HOST [PORT] > cassandra-5.0.9.txt

Each line is `<name> <version> <request|response|event> <hex of one envelope>`. Version 5 envelopes are recorded without
their segments; the line kind `segment` keeps some segments whole. The kinds `lz4` and `snappy` are answers on compressed
connections as they stood on the wire: READY, then SUPPORTED. Needs nothing but Python's standard library.
"""
import socket
import struct
import sys
import zlib

HOST = sys.argv[1]
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 9042

OPCODES = {"STARTUP": 1, "OPTIONS": 5, "QUERY": 7, "PREPARE": 9, "EXECUTE": 10, "REGISTER": 11, "BATCH": 13}


def crc24(data):
    crc = 0x875060
    for byte in data:
        crc ^= byte << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1974F0B
    return crc & 0xFFFFFF


def crc32(data):
    return zlib.crc32(data, zlib.crc32(b"\xfa\x2d\x55\xca"))


def segment(payload, self_contained=True):
    header = struct.pack("<I", len(payload) | (0x20000 if self_contained else 0))[:3]
    return header + struct.pack("<I", crc24(header))[:3] + payload + struct.pack("<I", crc32(payload))


def string(s):
    return struct.pack(">H", len(s.encode())) + s.encode()


def long_string(s):
    return struct.pack(">I", len(s.encode())) + s.encode()


def short_bytes(b):
    return struct.pack(">H", len(b)) + b


def value(b):
    if b is None:
        return struct.pack(">i", -1)
    if b is UNSET:
        return struct.pack(">i", -2)
    return struct.pack(">i", len(b)) + b


UNSET = object()


def string_map(m):
    return struct.pack(">H", len(m)) + b"".join(string(k) + string(v) for k, v in m.items())


def string_list(items):
    return struct.pack(">H", len(items)) + b"".join(map(string, items))


def params(version, consistency=1, values=None, names=None, skip_metadata=False, page_size=None, paging_state=None,
           serial=None, timestamp=None, keyspace=None, now=None):
    flags, tail = 0, b""
    if values is not None:
        flags |= 1
        tail += struct.pack(">H", len(values))
        for i, v in enumerate(values):
            tail += (string(names[i]) if names else b"") + value(v)
    if names:
        flags |= 0x40
    if skip_metadata:
        flags |= 2
    if page_size is not None:
        flags |= 4
        tail += struct.pack(">i", page_size)
    if paging_state is not None:
        flags |= 8
        tail += value(paging_state)
    if serial is not None:
        flags |= 0x10
        tail += struct.pack(">H", serial)
    if timestamp is not None:
        flags |= 0x20
        tail += struct.pack(">q", timestamp)
    if keyspace is not None:
        flags |= 0x80
        tail += string(keyspace)
    if now is not None:
        flags |= 0x100
        tail += struct.pack(">i", now)
    packed = struct.pack(">I", flags) if version >= 5 else struct.pack(">B", flags)
    return struct.pack(">H", consistency) + packed + tail


class Connection:
    def __init__(self, version, log=True, options=None):
        self.version, self.log = version, log
        self.sock = socket.create_connection((HOST, PORT))
        self.sock.settimeout(10)
        self.framed, self.buffer, self.stream = False, b"", 0
        self.events = []
        self.raw("startup", "STARTUP", string_map(options or {"CQL_VERSION": "3.0.0"}))
        self.framed = version >= 5

    def read(self, n):
        out = b""
        while len(out) < n:
            chunk = self.sock.recv(n - len(out))
            if not chunk:
                raise EOFError(out)
            out += chunk
        return out

    def read_bytes(self, n):
        if not self.framed:
            return self.read(n)
        while len(self.buffer) < n:
            header = self.read(6)
            length = int.from_bytes(header[:3], "little") & 0x1FFFF
            payload = self.read(length)
            trailer = self.read(4)
            self.last_segment = header + payload + trailer
            self.buffer += payload
        out, self.buffer = self.buffer[:n], self.buffer[n:]
        return out

    def receive(self):
        header = self.read_bytes(9)
        body = self.read_bytes(struct.unpack(">I", header[5:])[0])
        return header + body

    def raw(self, name, opcode, body, flags=0):
        self.stream += 1
        request = struct.pack(">BBhBI", self.version, flags, self.stream, OPCODES[opcode], len(body)) + body
        self.sock.sendall(segment(request) if self.framed else request)
        if self.log:
            print(name, self.version, "request", request.hex())
            if self.framed and name == "select_local":
                print(name, self.version, "segment", segment(request).hex())
        while True:
            answer = self.receive()
            if answer[4] == 12:
                print(name, self.version, "event", answer.hex())
                continue
            break
        if self.log:
            print(name, self.version, "response", answer.hex())
            if self.framed and name == "select_local":
                print(name, self.version, "segment", self.last_segment.hex())
        return answer

    def query(self, name, text, flags=0, payload=b"", **kw):
        return self.raw(name, "QUERY", payload + long_string(text) + params(self.version, **kw), flags)

    def prepare(self, name, text, keyspace=None):
        body = long_string(text)
        if self.version >= 5:
            body += struct.pack(">I", 1) + string(keyspace) if keyspace else struct.pack(">I", 0)
        answer = self.raw(name, "PREPARE", body)
        at = 9
        if answer[1] & 8:  # A list of warnings stands before the message.
            count, at = struct.unpack(">H", answer[at:at + 2])[0], at + 2
            for _ in range(count):
                at += 2 + struct.unpack(">H", answer[at:at + 2])[0]
        at += 4  # The result kind.
        ids = []
        for _ in range(2 if self.version >= 5 else 1):
            length = struct.unpack(">H", answer[at:at + 2])[0]
            ids.append(answer[at + 2:at + 2 + length])
            at += 2 + length
        self.prepared_id, self.metadata_id = ids[0], ids[-1]
        return self.prepared_id

    def execute(self, name, **kw):
        body = short_bytes(self.prepared_id)
        if self.version >= 5:
            body += short_bytes(kw.pop("metadata_id", self.metadata_id))
        return self.raw(name, "EXECUTE", body + params(self.version, **kw))


def compressed(version, algorithm):
    """Every request of these connections is sent uncompressed, which is allowed; only the answers are compressed."""
    def receive(framed):
        if not framed:
            header = connection.recv(9, socket.MSG_WAITALL)
            return header + connection.recv(struct.unpack(">I", header[5:])[0], socket.MSG_WAITALL)
        header = connection.recv(8, socket.MSG_WAITALL)
        return header + connection.recv((int.from_bytes(header[:5], "little") & 0x1FFFF) + 4, socket.MSG_WAITALL)

    connection = socket.create_connection((HOST, PORT))
    startup = string_map({"CQL_VERSION": "3.0.0", "COMPRESSION": algorithm})
    connection.sendall(struct.pack(">BBhBI", version, 0, 1, OPCODES["STARTUP"], len(startup)) + startup)
    print("ready", version, algorithm, receive(False).hex())
    options = struct.pack(">BBhBI", version, 0, 2, OPCODES["OPTIONS"], 0)
    if version >= 5:
        fields = struct.pack("<Q", len(options) | 1 << 34)[:5]
        options = fields + struct.pack("<I", crc24(fields))[:3] + options + struct.pack("<I", crc32(options))
    connection.sendall(options)
    print("supported", version, algorithm, receive(version >= 5).hex())


def main():
    for version, algorithm in ((3, "lz4"), (4, "lz4"), (4, "snappy"), (5, "lz4")):
        compressed(version, algorithm)
    for version in (3, 4, 5):
        c = Connection(version)
        ks = f"golden{version}"
        Connection(version, log=False).query("drop", f"DROP KEYSPACE IF EXISTS {ks}")
        c.raw("options", "OPTIONS", b"")
        c.raw("register", "REGISTER", string_list(["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"]))
        c.query("create_keyspace",
                f"CREATE KEYSPACE {ks} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}")
        c.query("use", f"USE {ks}")
        c.query("create_type", "CREATE TYPE address (street text, zip int)")
        c.query("create_table",
                "CREATE TABLE everything (k int PRIMARY KEY, a ascii, b bigint, bl blob, bo boolean, da date, de decimal, "
                "du duration, dbl double, f float, i inet, s smallint, t text, ti time, ts timestamp, tu timeuuid, "
                "ty tinyint, u uuid, v varint, l list<text>, se set<int>, m map<text, frozen<list<int>>>, "
                "tup tuple<int, text>, ud frozen<address>, ud2 address, vec vector<float, 3>, "
                "vecl vector<frozen<list<int>>, 2>, ld list<duration>, c 'org.apache.cassandra.db.marshal.DynamicCompositeType(a=>org.apache.cassandra.db.marshal.Int32Type)')")
        c.query("create_function", "CREATE FUNCTION plus (x int, y frozen<list<text>>) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE java AS 'return x;'")
        c.query("create_counters", "CREATE TABLE counters (k int PRIMARY KEY, c counter)")
        c.query("create_clustered", "CREATE TABLE clustered (k int, c int, v text, PRIMARY KEY (k, c))")
        c.query("insert", "INSERT INTO everything (k, t, l, vec) VALUES (1, 'one', ['a', 'b'], [1, 2, 3])")
        c.query("select_all_types", "SELECT * FROM everything")
        c.query("select_local", "SELECT key, cluster_name FROM system.local WHERE key='local'")
        c.query("select_counters", "SELECT * FROM counters")
        c.query("values_positional", "INSERT INTO clustered (k, c, v) VALUES (?, ?, ?)",
                values=[b"\0\0\0\1", b"\0\0\0\1", b"x"], serial=9, timestamp=1700000000000000)
        c.query("values_named", "INSERT INTO clustered (k, c, v) VALUES (:k, :c, :v)",
                values=[None, b"\0\0\0\2", b"\0\0\0\1"], names=["v", "c", "k"])
        c.query("page_first", "SELECT * FROM clustered", page_size=1)
        if version >= 5:
            c.query("keyspace_and_now", "SELECT * FROM clustered", keyspace=ks, now=1700000000)
        if version >= 4:
            c.query("values_unset", "INSERT INTO clustered (k, c, v) VALUES (?, ?, ?)",
                    values=[b"\0\0\0\1", b"\0\0\0\3", UNSET])
            c.query("warning", "SELECT count(*) FROM clustered")
            c.query("custom_payload", "SELECT * FROM clustered", flags=4,
                    payload=struct.pack(">H", 1) + string("key") + value(b"\1\2"))
        c.query("tracing", "SELECT * FROM clustered", flags=2)
        c.query("conditional", "INSERT INTO clustered (k, c, v) VALUES (7, 7, 'x') IF NOT EXISTS", serial=8)
        c.prepare("prepare_insert", f"INSERT INTO {ks}.clustered (k, c, v) VALUES (?, ?, ?)")
        c.execute("execute_insert", values=[b"\0\0\0\1", b"\0\0\0\4", b"four"])
        insert_id = c.prepared_id
        c.prepare("prepare_select", "SELECT * FROM clustered WHERE k = ?", keyspace=ks)
        c.execute("execute_select", values=[b"\0\0\0\1"], skip_metadata=True)
        c.execute("execute_paged", values=[b"\0\0\0\1"], skip_metadata=True, page_size=2)
        if version >= 5:
            c.execute("execute_metadata_changed", values=[b"\0\0\0\1"], skip_metadata=True, page_size=1,
                      metadata_id=b"\7" * 16)
        c.raw("batch", "BATCH",
              struct.pack(">BH", 1, 2)
              + b"\0" + long_string("INSERT INTO clustered (k, c, v) VALUES (2, 2, 'b')") + struct.pack(">H", 0)
              + b"\1" + short_bytes(insert_id) + struct.pack(">H", 3)
              + value(b"\0\0\0\2") + value(b"\0\0\0\5") + value(b"five")
              + params(version, consistency=6, timestamp=1700000000000001))
        c.query("error_syntax", "SELECTT")
        c.query("error_invalid", "SELECT * FROM nope")
        c.query("error_unavailable", "SELECT * FROM clustered", consistency=2)
        c.query("error_already_exists", "CREATE TABLE clustered (k int PRIMARY KEY)")
        c.query("error_config", f"CREATE KEYSPACE x{version} WITH replication = {{'class': 'Nope'}}")
        c.query("error_unauthorized", "DROP KEYSPACE system")
        c.query("error_protocol", "SELECT * FROM clustered", consistency=77)
        c.prepared_id, c.metadata_id = b"\5" * 16, b"\6" * 16
        c.execute("error_unprepared")
        c.query("alter_table", "ALTER TABLE clustered ADD w int")
        c.query("drop_function", "DROP FUNCTION plus")
        c.query("drop_keyspace", f"DROP KEYSPACE {ks}")


if __name__ == "__main__":
    main()
