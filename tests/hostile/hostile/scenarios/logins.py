"""Logins: the order of the handshake, right and wrong passwords, guessing, and thousands of strangers at the door."""

import socket
import struct
import threading
import time

from .. import bodies
from ..bystander import percentile
from ..client import (AUTH_RESPONSE, AUTH_SUCCESS, AUTHENTICATE, BATCH, ERROR, EXECUTE, OPTIONS, PREPARE, QUERY, REGISTER, RESULT, STARTUP,
                      SUPPORTED, Client, Closed, Nonsense, Refused, Silent, envelope)
from ..world import MIB, grown
from .envelopes import check_envelopes

SETTINGS = ("authenticator=PasswordAuthenticator",)
BAD_CREDENTIALS = 0x0100
PASSWORD_FILE = "initial-superuser-password"

#: Connections of the storm: 10,000 scaled to two cores that the clients share with a debug build. `--scale` makes more.
STORM, STORM_MAX = 1500, 10_000
STORM_THREADS = 8
SLACK_BYTES = 160 * MIB


def superuser(node):
    """Name and password from the file that the node writes once."""
    password = (node.directory / PASSWORD_FILE).read_text().split()[-1]
    return "cassandra", password


def attempt(world, user, password, version=4, source=None):
    """The answer to a login on a new connection, which may come from an address of its own."""
    with Client(world.node.port, version, timeout_secs=20, source=source) as client:
        client.startup()
        return client.login(user, password)


def the_right_password_logs_in_and_nothing_else_does(world):
    report = world.report
    user, password = world.login
    mode = (world.node.directory / PASSWORD_FILE).stat().st_mode & 0o777
    report.check("the password file is its owner's alone", mode == 0o600, oct(mode))
    for version in (3, 4, 5):
        with Client(world.node.port, version) as client:
            answer = client.startup()
            is_good = answer.opcode == AUTHENTICATE and b"org.apache.cassandra.auth.PasswordAuthenticator" in answer.body
            report.check(f"version {version}: STARTUP is answered with AUTHENTICATE", is_good, answer)
            answer = client.login(user, password)
            report.check(f"version {version}: the right password", answer.opcode == AUTH_SUCCESS, answer.text)
            report.check(f"version {version}: requests are served then", client.ask(QUERY, bodies.query(version, "SELECT * FROM hostile.t")).opcode
                         == RESULT, "they are not")
    text = "Provided username {} and/or password are incorrect"
    for label, name, word in [("a wrong password", "cassandra", "cassandra"), ("an unknown user", "nobody", password),
                              ("the password in other case", "cassandra", password.swapcase()),
                              ("a password of 60,000 bytes", "cassandra", "x" * 60_000), ("a password and more", "cassandra", password + "x")]:
        answer = attempt(world, name, word)
        report.check(label, answer.code == BAD_CREDENTIALS and answer.text == text.format(name), answer.text)
    answer = attempt(world, "cassandra", "")
    report.check("an empty password", answer.code == BAD_CREDENTIALS and answer.text == "Password must not be null", answer.text)
    with Client(world.node.port, timeout_secs=20) as client:
        client.startup()
        first, second = client.login("mallory", "no").code, client.login(user, password).opcode
        report.check("another try on the same connection", (first, second) == (BAD_CREDENTIALS, AUTH_SUCCESS), (first, second))


def malformed_tokens_are_refused(world):
    report = world.report
    user, password = world.login
    right = b"\0" + user.encode() + b"\0" + password.encode()
    tokens = {"null": struct.pack(">i", -1), "empty": struct.pack(">i", 0), "one zero": b"\0\0\0\1\0", "only zeros": b"\0\0\0\5" + bytes(5),
              "no zeros": b"\0\0\0\5abcde", "not UTF-8": b"\0\0\0\6\0\xff\xfe\0\xc0\x80", "longer than the body": b"\0\0\0\x40\0a\0b",
              "negative": struct.pack(">i", -70) + b"\0a\0b", "cut off in its length": b"\0\0", "nothing at all": b"",
              "a zero inside the password": struct.pack(">i", len(right) + 2) + right + b"\0x"}
    for label, body in tokens.items():
        with Client(world.node.port) as client:
            client.startup()
            try:
                found = client.ask(AUTH_RESPONSE, body)
                is_good = found.opcode == ERROR and found.code in (BAD_CREDENTIALS, 0x0A)
                after = client.ask(QUERY, bodies.query(4, "SELECT * FROM system.local"))
                is_good = is_good and "expecting SASL_RESPONSE" in after.text
            except Closed:
                is_good, found = True, "closed"
            except (Silent, Nonsense) as error:
                is_good, found = False, repr(error)
        report.check(f"a token that is {label}", is_good, found)


def strangers_are_served_nothing_but_options(world):
    report = world.report
    requests = {"QUERY": (QUERY, bodies.query(4, "SELECT * FROM hostile.t")), "PREPARE": (PREPARE, bodies.prepare(4, "SELECT * FROM hostile.t")),
                "EXECUTE": (EXECUTE, struct.pack(">H", 1) + b"x" + bodies.parameters(4)), "BATCH": (BATCH, bodies.batch(4, [])),
                "REGISTER": (REGISTER, bodies.register()), "AUTH_RESPONSE": (AUTH_RESPONSE, struct.pack(">i", -1))}
    for name, (opcode, body) in requests.items():
        with Client(world.node.port) as client:
            try:
                text = client.ask(opcode, body).text
            except Closed as error:
                text = str(error)
            report.check(f"{name} before STARTUP", f"Unexpected message {name}, expecting STARTUP or OPTIONS" in text, text)
        if name == "AUTH_RESPONSE":
            continue
        with Client(world.node.port) as client:
            client.startup()
            try:
                text = client.ask(opcode, body).text
            except Closed as error:
                text = str(error)
            report.check(f"{name} before the password", f"Unexpected message {name}, expecting SASL_RESPONSE" in text, text)
    with Client(world.node.port) as client:
        before = client.ask(OPTIONS, b"").opcode
        client.startup()
        report.check("OPTIONS before both", (before, client.ask(OPTIONS, b"").opcode) == (SUPPORTED, SUPPORTED), before)
    # Everything at once: what follows an unproven claim must not slip through behind it.
    with Client(world.node.port) as client:
        startup = struct.pack(">H", 1) + b"\0\x0bCQL_VERSION\0\x053.0.0"
        client.send(envelope(4, STARTUP, startup, 1) + envelope(4, AUTH_RESPONSE, struct.pack(">i", 4) + b"\0a\0b", 2)
                    + envelope(4, QUERY, bodies.query(4, "CREATE KEYSPACE slipped WITH replication = {'class': 'SimpleStrategy'}"), 3))
        client.timeout_secs = 20
        opcodes = [answer.opcode for answer in client.drain(20)]
        report.check("a pipelined request behind a wrong password", opcodes[:1] == [AUTHENTICATE] and set(opcodes[1:]) <= {ERROR}, opcodes)


def strangers_cannot_make_us_hold_much(world):
    report, node = world.report, world.node
    before = node.reset_peak()
    for stage in ("STARTUP", "password"):
        clients = []
        for _ in range(60):
            client = Client(node.port)
            if stage == "password":
                client.startup()
            client.send(envelope(4, AUTH_RESPONSE, b"x" * (512 << 10), length=16 * MIB - 100))
            clients.append(client)
        time.sleep(0.3)
        report.check(f"60 strangers with half a MiB each of giant messages before the {stage}", node.peak_bytes < before + 24 * MIB,
                     grown(before, node.peak_bytes))
        for client in clients:
            client.close()


def random_envelopes_before_the_password(world):
    def connect(version, compression):
        client = Client(world.node.port, version, compression)
        client.startup()
        return client
    check_envelopes(world, connect, world.seconds)


def guessing_gets_slower_and_does_not_lock_others_out(world):
    report = world.report
    waits = []
    for number in range(7):
        started = time.monotonic()
        answer = attempt(world, "guessed", f"guess {number}")
        waits.append(time.monotonic() - started)
    report.check("each guess waits longer than the last", answer.code == BAD_CREDENTIALS and sum(waits[:2]) + 1.0 < sum(waits[-2:]),
                 [f"{wait:.2f}" for wait in waits])
    started = time.monotonic()
    answer = attempt(world, *world.login)
    took = time.monotonic() - started
    report.check("another user is not slowed by it", answer.opcode == AUTH_SUCCESS and took < max(1.5, 3 * waits[0]), f"{took:.1f} s")
    # A new connection is no way around the wait.
    started, answered = time.monotonic(), []
    threads = [threading.Thread(target=lambda: answered.append((attempt(world, "guessed", "again").code, time.monotonic() - started)))
               for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report.check("five guesses on five connections wait as well", len(answered) == 5 and 2.5 < min(took for _, took in answered),
                 [f"{took:.2f}" for _, took in answered])


def a_storm_of_logins_leaves_established_sessions_alone(world):
    report, node = world.report, world.node
    world.bystander.take()
    time.sleep(2)
    quiet, _ = world.bystander.take()
    before, files = node.reset_peak(), node.open_files()
    storm = min(STORM_MAX, int(STORM * world.scale))
    clients, failures, lock = [], [], threading.Lock()
    startup = envelope(4, STARTUP, struct.pack(">H", 1) + b"\0\x0bCQL_VERSION\0\x053.0.0")

    def connect(part):
        for number in range(storm // STORM_THREADS):
            one = socket.socket()
            one.settimeout(5)
            token = f"\0user{part * 10_000 + number}\0wrong".encode() if number % 10 else b"\0" + "\0".join(world.login).encode()
            try:
                one.connect(("127.0.0.1", node.port))
                one.sendall(startup + envelope(4, AUTH_RESPONSE, struct.pack(">i", len(token)) + token))
                with lock:
                    clients.append(one)
            except OSError as error:
                one.close()
                with lock:
                    failures.append(error)

    threads = [threading.Thread(target=connect, args=[part]) for part in range(STORM_THREADS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    burst = time.monotonic() - started
    # From an address of its own: strangers of one address have so many places that others from there may find none.
    knocked = time.monotonic()
    in_storm = log_in_until(world, knocked + 6, "127.0.0.2")
    took = time.monotonic() - knocked
    report.check("the right login is answered within seconds in the storm", in_storm == AUTH_SUCCESS and took < 5, f"{in_storm} after {took:.1f} s")
    report.note(f"the right login from elsewhere took {took:.2f} s")
    time.sleep(max(0, started + 6 - time.monotonic()))
    latencies, problems = world.bystander.take()
    slowed, calm = percentile(latencies, 0.99), percentile(quiet, 0.99)
    # Twice the quiet p99, but not less than what the clients themselves take from two cores.
    allowed = max(2 * calm, 0.5)
    report.note(f"{len(clients)} connected in {burst:.1f} s, {len(failures)} not; p99 {calm * 1000:.0f} ms before, {slowed * 1000:.0f} ms in the storm")
    report.check("established sessions are served in the storm", len(latencies) > 20 and not problems and slowed <= allowed,
                 f"{len(latencies)} answers, p99 {slowed * 1000:.0f} ms, allowed {allowed * 1000:.0f}; {problems[:2]}")
    report.check("memory of the storm", node.peak_bytes < before + SLACK_BYTES, grown(before, node.peak_bytes))
    for one in clients:
        one.close()
    started = time.monotonic()
    code = log_in_until(world, started + 15)
    took = time.monotonic() - started
    report.check("a new login works once it is over", code == AUTH_SUCCESS, code)
    report.note(f"after {took:.1f} s")
    until = time.monotonic() + 15
    while files + 4 < node.open_files() and time.monotonic() < until:
        time.sleep(0.1)
    report.check("the storm's connections are given back", node.open_files() <= files + 4, f"{node.open_files()} open files, {files} before")


def log_in_until(world, until, source=None):
    """AUTH_SUCCESS, or what came instead of it when the time was over."""
    code = None
    while time.monotonic() < until and code != AUTH_SUCCESS:
        try:
            code = attempt(world, *world.login, source=source).opcode
        except (Closed, Silent, Refused) as error:
            code = repr(error)
            time.sleep(0.1)
    return code


SCENARIOS = [the_right_password_logs_in_and_nothing_else_does, malformed_tokens_are_refused, strangers_are_served_nothing_but_options,
             strangers_cannot_make_us_hold_much, random_envelopes_before_the_password, guessing_gets_slower_and_does_not_lock_others_out,
             a_storm_of_logins_leaves_established_sessions_alone]
