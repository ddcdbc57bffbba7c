"""Runs one case file against a server and returns what it answered, one list of lines a statement.

Each file works in its own keyspace, which is dropped and created first and dropped at the end, so files can run side by
side. Connections are opened when first needed, one a protocol version, all with that keyspace in use.

Paging: a statement with `pages` is read once per page size, to the end. The rows must be the same each time; how many
came on each page is part of the answer.
"""

from .answer import Answer, render
from .case import DEFAULT_PROTOCOL
from .connection import ERROR, RESULT, Connection, ConnectionLost, Options

PAGES_MAX = 1000
LOST_MAX = 3  # after so many lost connections the rest of a file is given up: the server is down or hangs


class Session:
    def __init__(self, case, host, port, protocol=None, timeout_secs=30):
        self.case = case
        self._host, self._port = host, port
        self._protocol = protocol
        self._timeout_secs = timeout_secs
        self._connections = {}
        self._lost = 0

    def run(self):
        """A list of (statement, lines); lines of a statement that got no answer start with `lost`."""
        answers = []
        problem = self._set_up()
        for statement in self.case.statements:
            if problem or self._lost >= LOST_MAX:
                answers.append((statement, [f"lost {problem or 'given up after lost connections'}"]))
                continue
            answers.append((statement, self._run_statement(statement)))
        if not problem:
            self._tear_down()
        for connection in self._connections.values():
            connection.close()
        return answers

    def _set_up(self):
        own = self.case.keyspace
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        statements = [f"DROP KEYSPACE IF EXISTS {name}" for name in (own, *self.case.extra_keyspaces)]
        statements.append(f"CREATE KEYSPACE {own} WITH replication = {replication}")
        try:
            connection = Connection(self._host, self._port, self._version_of(None), self._timeout_secs)
            for text in statements:
                response = connection.query(text)
                if response.opcode != RESULT:
                    return f"set-up failed: {text}: {bytes(response.body[4:])!r}"
            connection.close()
        except ConnectionLost as error:
            return f"set-up failed: {error}"
        return None

    def _tear_down(self):
        try:
            connection = self._connection(self._version_of(None))
            for name in (self.case.keyspace, *self.case.extra_keyspaces):
                connection.query(f"DROP KEYSPACE IF EXISTS {name}")
        except ConnectionLost:
            pass

    def _version_of(self, statement):
        if statement is not None and statement.pinned_protocol:
            return statement.protocol
        return self._protocol or DEFAULT_PROTOCOL

    def _connection(self, version, no_keyspace=False):
        """The connection of this version with the file's keyspace in use, or a second one with none."""
        name = (version, no_keyspace)
        if name not in self._connections:
            connection = Connection(self._host, self._port, version, self._timeout_secs)
            if not no_keyspace:
                connection.query(f"USE {self.case.keyspace}")
            self._connections[name] = connection
        return self._connections[name]

    def _run_statement(self, statement):
        version = self._version_of(statement)
        try:
            connection = self._connection(version, statement.no_keyspace)
            if statement.children is not None:
                return self._run_batch(connection, statement)
            if statement.prepare:
                return self._run_prepared(connection, statement)
            return self._run_query(connection, statement)
        except (ConnectionLost, ValueError) as error:
            self._lost += 1
            broken = self._connections.pop((version, statement.no_keyspace), None)
            if broken:
                broken.close()
            return [f"lost {error}"]

    def _run_query(self, connection, statement):
        lines = []
        for at, values in enumerate(statement.binds or [()]):
            lines += [f"-- {at + 1}"] if len(statement.binds) > 1 else []
            lines += self._read(
                statement, connection.version, lambda options: connection.query(statement.text, values, options))
        return lines

    def _run_prepared(self, connection, statement):
        response = connection.prepare(statement.text, Options(keyspace=statement.keyspace))
        prepared = render(response, connection.version, statement)
        lines = list(prepared.lines)
        if prepared.prepared_id is None:
            return lines
        for at, values in enumerate(statement.binds):
            lines.append(f"-- {at + 1}")
            lines += self._read(
                statement, connection.version,
                lambda options: connection.execute(prepared.prepared_id, prepared.result_id, values, options),
                prepared.schema_columns)
        return lines

    def _run_batch(self, connection, statement):
        children = []
        for text, is_prepared, values in statement.children:
            if is_prepared:
                prepared = render(connection.prepare(text), connection.version, statement)
                if prepared.prepared_id is None:
                    return ["child not prepared"] + prepared.lines
                children.append((prepared.prepared_id, values))
            else:
                children.append((text, values))
        return self._read(statement, connection.version,
                          lambda options: connection.batch(statement.batch_kind, children, options))

    def _read(self, statement, version, send, known_columns=None):
        """One request, or one walk through all pages per page size."""
        if not statement.page_sizes:
            answer = render(send(self._options(statement, statement.page_size)), version, statement, known_columns)
            more = ["has more pages"] if answer.paging_state is not None else []
            return answer.lines + more + answer.rows
        walks = [(size, *self._walk(statement, version, send, known_columns, size)) for size in statement.page_sizes]
        _, whole, _ = walks[-1]
        lines = list(whole.lines)
        for size, answer, counts in walks:
            lines.append(f"pages of {size}: {' '.join(map(str, counts))}")
            if answer.all_lines() != whole.all_lines():
                lines += [f"  differs: {line}" for line in answer.all_lines()]
        return lines + whole.rows

    def _walk(self, statement, version, send, known_columns, size):
        whole, counts, state = Answer(), [], None
        while len(counts) < PAGES_MAX:
            response = send(self._options(statement, size, state))
            page = render(response, version, statement, known_columns)
            counts.append(len(page.rows))
            if not whole.lines or response.opcode == ERROR:
                whole.lines += page.lines
            elif page.lines != whole.lines:
                whole.lines += [f"page {len(counts)}: {line}" for line in page.lines if line not in whole.lines]
            whole.rows += page.rows
            state = page.paging_state
            if state is None:
                return whole, counts
        whole.lines.append(f"more than {PAGES_MAX} pages")
        return whole, counts

    @staticmethod
    def _options(statement, page_size, paging_state=None):
        return Options(
            consistency=statement.consistency, serial=statement.serial, page_size=page_size, paging_state=paging_state,
            timestamp=statement.timestamp, keyspace=statement.keyspace, now_in_seconds=statement.now_in_seconds,
            skip_metadata=statement.skip_metadata, tracing=statement.tracing, payload=statement.payload)
