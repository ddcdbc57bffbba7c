"""Stops: SIGTERM ends the node within five seconds with exit code 0, whatever its clients do, and loses nothing."""

import socket
import threading
import time

from .. import bodies
from ..bodies import Rows, int_value
from ..client import EXECUTE, QUERY, RESULT, Client, Closed, Nonsense, Silent, envelope
from ..node import Node
from ..world import MIB, create_schema
from .prepared import prepare

LIMIT_SECS = 5
WRITERS = 4


def check_stop(report, label, node):
    code, took = node.stop()
    report.check(f"SIGTERM {label}: exit code 0", code == 0, f"exit code {code}: {node.log_text()[-500:]}")
    report.check(f"SIGTERM {label}: within {LIMIT_SECS} s", took < LIMIT_SECS, f"{took:.1f} s")
    complaints = node.complaints()
    report.check(f"SIGTERM {label}: the log shows no defect", not complaints, complaints[:3])


def an_idle_node_stops(binary, report):
    with Node(binary) as node:
        check_stop(report, "of an idle node", node)


def a_node_under_load_stops_and_keeps_what_it_acknowledged(binary, report):
    with Node(binary) as node:
        with Client(node.port).established() as client:
            create_schema(client)
        acknowledged, problems = [set() for _ in range(WRITERS)], []
        threads = [threading.Thread(target=write, args=[node.port, number, acknowledged[number], problems]) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        time.sleep(2)
        check_stop(report, "under load", node)
        for thread in threads:
            thread.join(10)
        report.check("clients see a closed connection", not problems and not any(thread.is_alive() for thread in threads), problems[:2])
        keys = set().union(*acknowledged)
        node.start()
        with Client(node.port, timeout_secs=30).established() as client:
            found, state = set(), None
            while True:
                page = Rows(client.query("SELECT k FROM hostile.t", page_size=5000, paging_state=state))
                found |= {int.from_bytes(row[0], "big") for row in page.rows}
                state = page.paging_state
                if state is None:
                    break
        report.check(f"{len(keys)} acknowledged writes are there after the next start", keys and not keys - found,
                     f"{len(keys - found)} are missing")


def write(port, number, acknowledged, problems):
    """Pipelines inserts until the connection ends."""
    try:
        with Client(port).established() as client:
            prepared = prepare(client, "INSERT INTO hostile.t (k, v) VALUES (?, 'written')")
            sent = done = 0
            while True:
                while sent < done + 50:
                    key = int_value(number * 1_000_000 + sent)
                    client.send(client.request(EXECUTE, bodies.execute(4, prepared, [key]), 1 + sent % 1000))
                    sent += 1
                answer = client.receive()
                if answer.opcode == RESULT:
                    # Streams repeat after 1000 and at most 50 are under way, so this names the write.
                    key = next(key for key in range(max(0, sent - 1000), sent) if key % 1000 == answer.stream - 1)
                    acknowledged.add(number * 1_000_000 + key)
                done += 1
    except Closed:
        pass
    except (Silent, Nonsense) as error:
        problems.append(repr(error))


def a_node_with_stuck_clients_stops(binary, report):
    """Clients that read nothing, never finish a request or never log in."""
    with Node(binary) as node:
        with Client(node.port).established() as client:
            create_schema(client)
            client.query("INSERT INTO hostile.b (k, b) VALUES (1, ?)", values=[b"x" * MIB])
        stuck = []
        for number in range(30):
            client = Client(node.port, receive_bytes=4096)
            stuck.append(client)
            if number % 3 == 0:
                client.established()
                client.send(client.request(QUERY, bodies.query(4, "SELECT b FROM hostile.b WHERE k = 1")) * 20)
            elif number % 3 == 1:
                client.established()
                client.send(envelope(4, QUERY, b"half of it", length=5000))
        time.sleep(0.5)
        check_stop(report, "with stuck clients", node)
        for client in stuck:
            client.close()


def a_node_that_is_told_twice_stops(binary, report):
    with Node(binary) as node:
        with socket.create_connection(("127.0.0.1", node.port)):
            node.process.terminate()
            check_stop(report, "twice", node)


SCENARIOS = [an_idle_node_stops, a_node_under_load_stops_and_keeps_what_it_acknowledged, a_node_with_stuck_clients_stops,
             a_node_that_is_told_twice_stops]
