"""The conformance suite: plain-text CQL cases, golden answers recorded from Apache Cassandra, and their comparison.

Modules in reading order: `wire` (bytes), `cqltype` (type tree and canonical text), `literal` (values to bind),
`connection` (native protocol), `case` (the case format), `answer` (what a server said, as text), `session` (runs one
file), `golden` (recorded answers), `normal` (which statements count as distinct), `rules` (grammar coverage).
"""
