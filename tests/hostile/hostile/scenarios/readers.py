"""Readers that do not read, or a byte a second: what waits for them is bounded, and others are served meanwhile."""

import time

from .. import bodies
from ..bystander import percentile
from ..client import OPTIONS, QUERY, RESULT, Closed, Nonsense, Silent
from ..world import MEMORY_BYTES, MIB, grown

BLOB_BYTES = MIB
MUTE, SLOW = 40, 10
CROWD = 300

#: A few requests of 1 MiB each may be under way for every connection when it is noticed that the client does not read.
BYTES_PER_CONNECTION = 8 * MIB
SLACK_BYTES = 64 * MIB


def clients_that_do_not_read_hold_little(world):
    report, node = world.report, world.node
    with world.connect(timeout_secs=30) as client:
        client.query("INSERT INTO hostile.b (k, b) VALUES (1, ?)", values=[b"x" * BLOB_BYTES])
    world.bystander.take()
    time.sleep(1.5)
    quiet, _ = world.bystander.take()
    before = node.reset_peak()
    files = node.open_files()
    clients = [world.connect(3 + number % 3, receive_bytes=4096) for number in range(MUTE + SLOW)]
    request_count = 0
    for client in clients:
        request = client.request(QUERY, bodies.query(client.version, "SELECT b FROM hostile.b WHERE k = 1"), 9)
        client.socket.settimeout(0)
        try:
            for _ in range(300):
                request_count += client.socket.send(request) == len(request)
        except OSError:
            pass
        client.socket.settimeout(10)
    until = time.monotonic() + world.seconds
    slow = clients[MUTE:]
    while time.monotonic() < until:
        time.sleep(1)
        for client in slow:
            try:
                client.socket.recv(1)
            except OSError:
                pass
    limit = before + (MUTE + SLOW) * BYTES_PER_CONNECTION + SLACK_BYTES
    report.check(f"{request_count} answers of 1 MiB that {MUTE + SLOW} clients do not read", node.peak_bytes < limit,
                 f"{grown(before, node.peak_bytes)} at the peak")
    latencies, problems = world.bystander.take()
    slowed = percentile(latencies, 0.99)
    # Reading 50 rows of 1 MiB at once takes a debug build's two shards a while; a bystander waits for its turn, not for ever.
    allowed = max(1.0, 10 * percentile(quiet, 0.99))
    report.check("others are served beside them", not problems and slowed < allowed,
                 f"p99 {slowed * 1000:.0f} ms, allowed {allowed * 1000:.0f}; {problems[:2]}")
    for client in clients:
        client.reset() if client.version == 3 else client.close()
    report.check("their connections are given back", wait_for(lambda: node.open_files() <= files + 4, 10),
                 f"{node.open_files()} open files, {files} before")
    wait_for(lambda: node.rss_bytes() < before + SLACK_BYTES, 5)
    report.note(f"resident {grown(before, node.peak_bytes)} at the peak, {node.rss_bytes() / MIB:.0f} MiB once they are gone")


def more_slow_readers_than_memory_are_cut_off(world):
    """What they ask for is several times what the node may use; half of them read a byte a second to look alive."""
    report, node = world.report, world.node
    world.bystander.take()
    clients = [world.connect(3 + number % 3, receive_bytes=4096, timeout_secs=30) for number in range(CROWD)]
    for client in clients:
        request = client.request(QUERY, bodies.query(client.version, "SELECT b FROM hostile.b WHERE k = 1"), 9)
        client.socket.settimeout(0)
        try:
            client.socket.send(request * 10)
        except OSError:
            pass
    before = node.reset_peak()
    until = time.monotonic() + world.seconds
    while time.monotonic() < until:
        for client in clients[::2]:
            try:
                client.socket.recv(1)
            except OSError:
                pass
        time.sleep(1)
    report.check(f"{CROWD * 10} answers of 1 MiB that {CROWD} clients do not read", node.peak_bytes < MEMORY_BYTES * 1.1,
                 f"{grown(before, node.peak_bytes)} at the peak")
    _, problems = world.bystander.take()
    report.check("others are served beside the crowd", not problems, problems[:2])
    report.note(f"resident {grown(before, node.peak_bytes)} at the peak")
    for client in clients:
        client.close()


def endless_small_requests_without_reading_stop_being_read(world):
    """A client that only sends meets back-pressure: the server stops reading instead of keeping answers."""
    report, node = world.report, world.node
    before = node.reset_peak()
    found = []
    for opcode, body in [(OPTIONS, b""), (QUERY, bodies.query(4, "SELECT * FROM system_schema.columns")), (0x77, b"unknown opcode")]:
        with world.connect(4, receive_bytes=4096) as client:
            burst = client.request(opcode, body, 3) * 2000
            client.socket.settimeout(0.5)
            sent, until = 0, time.monotonic() + 4
            try:
                while time.monotonic() < until:
                    sent += client.socket.send(burst)
                found.append(f"{sent} bytes were taken")
            except TimeoutError:
                found.append(None)
            except OSError:
                found.append(None)  # Closed: as good.
    report.check("sending without reading is stopped", not any(found), found)
    report.check("memory of endless requests", node.peak_bytes < before + 4 * SLACK_BYTES, grown(before, node.peak_bytes))


def an_answer_larger_than_the_memory_is_refused(world):
    """One request for 1.6 GiB on a node that may use 512 MiB."""
    report, node = world.report, world.node
    with world.connect(timeout_secs=60) as client:
        for k in range(100):
            client.query("INSERT INTO hostile.b (k, b) VALUES (?, ?)", values=[bodies.int_value(k), bytes([k]) * BLOB_BYTES])
        node.reset_peak()
        columns = ", ".join(f"b AS b{number}" for number in range(16))
        try:
            found = client.ask(QUERY, bodies.query(4, f"SELECT {columns} FROM hostile.b")).code
        except Nonsense as error:
            found = f"a RESULT larger than clients take: {error}"
        except (Closed, Silent) as error:
            found = repr(error)
        report.check("an answer of 1.6 GiB is an ERROR", isinstance(found, int) and found, found)
        report.check("memory stays within --memory", node.peak_bytes < MEMORY_BYTES * 1.1 + SLACK_BYTES, f"{node.peak_bytes / MIB:.0f} MiB at the peak")
    with world.connect(timeout_secs=60) as client:
        client.query("TRUNCATE hostile.b")


def half_sent_requests_hold_nothing_up(world):
    """A request a byte at a time, on many connections; each is answered once it is whole."""
    clients = [world.connect(3 + number % 3) for number in range(30)]
    raw = [client.request(QUERY, bodies.query(client.version, "SELECT v FROM hostile.t WHERE k = 77777")) for client in clients]
    for at in range(max(map(len, raw))):
        for client, request in zip(clients, raw):
            client.send(request[at:at + 1])
    found = []
    for client in clients:
        try:
            found.append(client.receive(1).opcode)
        except (Closed, Silent, Nonsense) as error:
            found.append(repr(error))
        client.close()
    world.report.check("requests that come a byte at a time are answered", set(found) == {RESULT}, found)


def connections_that_end_in_the_middle_leave_nothing(world):
    report, node = world.report, world.node
    files, before = node.open_files(), node.rss_bytes()
    for number in range(300):
        with world.connect(3 + number % 3) as client:
            request = client.request(QUERY, bodies.query(client.version, "SELECT * FROM hostile.p"))
            client.send(request * 5 + request[:number % len(request)])
            if number % 2:
                client.reset()
    report.check("300 connections cut off in the middle are given back", wait_for(lambda: node.open_files() <= files + 4, 10),
                 f"{node.open_files()} open files, {files} before")
    report.check("and their memory", node.rss_bytes() < before + SLACK_BYTES, grown(before, node.rss_bytes()))


def wait_for(is_so, seconds):
    until = time.monotonic() + seconds
    while not is_so():
        if until < time.monotonic():
            return False
        time.sleep(0.05)
    return True


SCENARIOS = [clients_that_do_not_read_hold_little, more_slow_readers_than_memory_are_cut_off, endless_small_requests_without_reading_stop_being_read,
             an_answer_larger_than_the_memory_is_refused, half_sent_requests_hold_nothing_up, connections_that_end_in_the_middle_leave_nothing]
