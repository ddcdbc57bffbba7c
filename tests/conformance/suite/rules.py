"""Grammar coverage: which rules of Cassandra 5.0's CQL grammar a statement exercises, and how many statements each has.

Role: `classify` tags a statement with the rules whose pattern its text matches, plus those of its `-- rule:` lines. The
patterns look at text without string contents; they are a sieve for counting, not a parser. Broken statements count only
for `syntaxError`.

Source of the names: Cassandra 5.0, `src/antlr/Parser.g` and `Lexer.g`; a suffix after `.` splits a rule by alternative.
Rules of features kept apart in cases/later (indexes, views, functions, triggers, roles, masks) are not listed.
"""

import re
from collections import Counter

from .normal import distinct_key, without_literals

CASES_PER_RULE_MIN = 3

_NATIVE_TYPES = ("ascii bigint blob boolean counter decimal double duration float inet int smallint text timestamp "
                 "tinyint uuid varchar varint timeuuid date time").split()
_COMPARE = r"(?:=|<=?|>=?|!=)"
_NAME = r'(?:\w+|"(?:[^"]|"")+")'
_QNAME = rf"(?:{_NAME}\s*\.\s*)?{_NAME}"

_RULES = {
    "selectStatement": r"^\s*select\b",
    "selectStatement.json": r"^\s*select\s+json\b",
    "selectStatement.distinct": r"^\s*select\s+(json\s+)?distinct\b",
    "selectStatement.limit": r"^\s*select\b.*(?<!partition )\blimit\b",
    "selectStatement.perPartitionLimit": r"\bper\s+partition\s+limit\b",
    "selectStatement.allowFiltering": r"\ballow\s+filtering\b",
    "selectors.star": r"^\s*select\s+(json\s+|distinct\s+)*\*",
    "selectors.list": r"^\s*select\s+[^*]*?,.*\bfrom\b",
    "selector.alias": r"^\s*select\b.*\bas\s+" + _NAME + r".*\bfrom\b",
    "selector.count": r"^\s*select\b.*\bcount\s*\(",
    "selector.writetime": r"^\s*select\b.*\b(max)?writetime\s*\(",
    "selector.ttl": r"^\s*select\b.*\bttl\s*\(",
    "selector.cast": r"^\s*select\b.*\bcast\s*\(",
    "selectionAddition": r"^\s*select\b[^']*[\w)]\s+[+-]\s*[\w(].*\bfrom\b",
    "selectionMultiplication": r"^\s*select\b[^']*[\w)]\s*(?:[/%]|\*\s*[\w(]).*\bfrom\b",
    "selectionGroup.minus": r"^\s*select\b.*[\s(,]-\s*[a-z(].*\bfrom\b",
    "selectionTypeHint": r"^\s*select\b.*\(\s*(?:" + "|".join(_NATIVE_TYPES)
    + r"|list<.*|set<.*|map<.*|tuple<.*|vector<.*)\s*\)\s*[^,\s].*\bfrom\b",
    "selectionList": r"^\s*select\b.*[\s,(]\[.*\bfrom\b",
    "selectionMapOrSet": r"^\s*select\b.*\{.*\}.*\bfrom\b",
    "selectionTuple": r"^\s*select\b.*[\s,]\((?!\s*(?:" + "|".join(_NATIVE_TYPES)
    + r"|list|set|map|tuple|vector)\b).*,.*\).*\bfrom\b",
    "selectionFunction": r"^\s*select\b.*\b(?!count|writetime|maxwritetime|ttl|cast|token)\w+\s*\(.*\bfrom\b",
    "selectionFunction.token": r"^\s*select\b.*\btoken\s*\(.*\bfrom\b",
    "selectionLiteral": r"^\s*select\b.*[\s,(](?:'s'|-?\d|null|true|false|0x).*\bfrom\b",
    "collectionSubSelection.element": r"^\s*select\b.*\w\s*\[[^.\]]+\].*\bfrom\b",
    "collectionSubSelection.slice": r"^\s*select\b.*\w\s*\[.*\.\..*\].*\bfrom\b",
    "selectorModifier.field": r"^\s*select\b(?:(?!\bfrom\b).)*[\w\])]\.[a-z\"]\w*.*\bfrom\b",
    "whereClause": r"\bwhere\b",
    "whereClause.and": r"\bwhere\b.*\band\b",
    "relation.eq": r"\bwhere\b.*=",
    "relation.slice": r"\bwhere\b.*(?:<|>)",
    "relation.in": r"\bwhere\b.*\bin\s*\(",
    "relation.inMarker": r"\bwhere\b.*\bin\s*(?:\?|:\w)",
    "relation.token": r"\bwhere\b.*\btoken\s*\(",
    "relation.contains": r"\bwhere\b.*\bcontains\s+(?!key\b)",
    "relation.containsKey": r"\bwhere\b.*\bcontains\s+key\b",
    "relation.mapEntry": r"\bwhere\b.*" + _NAME + r"\s*\[.*\]\s*" + _COMPARE,
    "relation.tuple": r"\bwhere\b.*\([\w\s,\"]+\)\s*" + _COMPARE,
    "relation.tupleIn": r"\bwhere\b.*\([\w\s,\"]+\)\s*in\b",
    "relation.isNotNull": r"\bwhere\b.*\bis\s+not\s+null\b",
    "relation.like": r"\bwhere\b.*\blike\b",
    "relation.notEqual": r"\bwhere\b.*!=",
    "relation.parenthesised": r"\bwhere\s*\(\s*" + _NAME + r"\s*(?:=|<|>|in\b)",
    "orderByClause": r"\border\s+by\b",
    "orderByClause.desc": r"\border\s+by\b.*\bdesc\b",
    "groupByClause": r"\bgroup\s+by\b",
    "insertStatement": r"^\s*insert\s+into\b",
    "insertStatement.json": r"^\s*insert\s+into\b.*\bjson\b",
    "insertStatement.jsonDefault": r"^\s*insert\s+into\b.*\bjson\b.*\bdefault\s+(null|unset)\b",
    "insertStatement.ifNotExists": r"^\s*insert\s+into\b.*\bif\s+not\s+exists\b",
    "usingClause.timestamp": r"\busing\b.*\btimestamp\b",
    "usingClause.ttl": r"\busing\b.*\bttl\b",
    "usingClause.both": r"\busing\b.*\b(?:ttl\b.*\band\s+timestamp|timestamp\b.*\band\s+ttl)\b",
    "updateStatement": r"^\s*update\b",
    "updateStatement.if": r"^\s*update\b.*\bif\s+(?!exists)",
    "updateStatement.ifExists": r"^\s*update\b.*\bif\s+exists\b",
    "normalColumnOperation": r"\bset\b.*=\s*(?!" + _NAME + r"\s*[+-])",
    "normalColumnOperation.append": r"\bset\b.*=\s*" + _NAME + r"\s*\+",
    "normalColumnOperation.subtract": r"\bset\b.*=\s*" + _NAME + r"\s*-",
    "normalColumnOperation.prepend": r"\bset\b.*=\s*[^,]+[\]})?]\s*\+\s*" + _NAME,
    "shorthandColumnOperation": r"\bset\b.*(?:\+=|-=)",
    "collectionColumnOperation": r"\bset\s.*\w\s*\[.*?\]\s*=",
    "udtColumnOperation": r"\bset\s.*\w\.\w+\s*=",
    "columnCondition.eq": r"\bif\s+(?!exists|not).*=",
    "columnCondition.compare": r"\bif\s+(?!exists|not).*(?:<|>|!=)",
    "columnCondition.in": r"\bif\s+(?!exists|not).*\bin\b",
    "columnCondition.element": r"\bif\s+(?!exists|not).*\[.*\]\s*(?:=|<|>|!=|in)",
    "columnCondition.field": r"\bif\s+(?!exists|not).*\w\.\w+\s*(?:=|<|>|!=|in)",
    "columnCondition.and": r"\bif\s+(?!exists|not).*\band\b",
    "deleteStatement": r"^\s*delete\b",
    "deleteStatement.columns": r"^\s*delete\s+(?!from\b)",
    "deleteStatement.if": r"^\s*delete\b.*\bif\s+(?!exists)",
    "deleteStatement.ifExists": r"^\s*delete\b.*\bif\s+exists\b",
    "deleteOp.element": r"^\s*delete\s+.*\[.*\].*\bfrom\b",
    "deleteOp.field": r"^\s*delete\s+\w+\.\w+.*\bfrom\b",
    "batchStatement": r"^\s*begin\b",
    "batchStatement.unlogged": r"^\s*begin\s+unlogged\b",
    "batchStatement.counter": r"^\s*begin\s+counter\b",
    "batchStatement.using": r"^\s*begin\s+(?:\w+\s+)?batch\s+using\b",
    "batchStatement.if": r"^\s*begin\b.*\bif\b",
    "useStatement": r"^\s*use\b",
    "truncateStatement": r"^\s*truncate\b",
    "createKeyspaceStatement": r"^\s*create\s+keyspace\b",
    "alterKeyspaceStatement": r"^\s*alter\s+keyspace\b",
    "dropKeyspaceStatement": r"^\s*drop\s+keyspace\b",
    "createTableStatement": r"^\s*create\s+(?:table|columnfamily)\b",
    "createTableStatement.ifNotExists": r"^\s*create\s+table\s+if\s+not\b",
    "tableColumns.static": r"^\s*create\s+table\b.*\bstatic\b",
    "tableColumns.inlineKey": r"^\s*create\s+table\b.*\w\s+primary\s+key\s*[,)]",
    "tablePartitionKey.composite": r"^\s*create\s+table\b.*primary\s+key\s*\(\s*\(",
    "tableClusteringOrder": r"\bclustering\s+order\s+by\b",
    "tableProperty": r"^\s*(?:create|alter)\s+table\b.*\bwith\b",
    "tableProperty.id": r"\bwith\s+id\s*=|\band\s+id\s*=",
    "tableProperty.compactStorage": r"\bcompact\s+storage\b",
    "alterTableStatement.add": r"^\s*alter\s+table\b.*\badd\b",
    "alterTableStatement.drop": r"^\s*alter\s+table\b.*\bdrop\b",
    "alterTableStatement.dropUsing": r"^\s*alter\s+table\b.*\bdrop\b.*\busing\s+timestamp\b",
    "alterTableStatement.rename": r"^\s*alter\s+table\b.*\brename\b",
    "alterTableStatement.with": r"^\s*alter\s+table\b.*\bwith\b",
    "alterTableStatement.alter": r"^\s*alter\s+table\b.*\balter\s+\w+\s+type\b",
    "alterTableStatement.ifExists": r"^\s*alter\s+table\s+if\s+exists\b",
    "dropTableStatement": r"^\s*drop\s+(?:table|columnfamily)\b",
    "createTypeStatement": r"^\s*create\s+type\b",
    "alterTypeStatement.add": r"^\s*alter\s+type\b.*\badd\b",
    "alterTypeStatement.rename": r"^\s*alter\s+type\b.*\brename\b",
    "alterTypeStatement.alter": r"^\s*alter\s+type\b.*\balter\s+\w+\s+type\b",
    "dropTypeStatement": r"^\s*drop\s+type\b",
    "describeStatement.cluster": r"^\s*desc(?:ribe)?\s+cluster\b",
    "describeStatement.schema": r"^\s*desc(?:ribe)?\s+(?:full\s+)?schema\b",
    "describeStatement.keyspace": r"^\s*desc(?:ribe)?\s+(?:only\s+)?keyspace\b",
    "describeStatement.table": r"^\s*desc(?:ribe)?\s+(?:table|columnfamily)\b",
    "describeStatement.type": r"^\s*desc(?:ribe)?\s+type\b",
    "describeStatement.list": r"^\s*desc(?:ribe)?\s+(?:keyspaces|tables|types|functions|aggregates)\b",
    "describeStatement.generic":
        r"^\s*desc(?:ribe)?\s+(?!cluster|full|schema|keyspace|only|table|type|function|aggregate|index|materialized)\S",
    "describeStatement.withInternals": r"^\s*desc(?:ribe)?\b.*\bwith\s+internals\b",
    "constant.string": r"'s'",
    "constant.integer": r"[=,(\s]-?\d+\b(?![.\w-])",
    "constant.float": r"[=,(\s\[]-?\d+(?:\.\d*(?:e[+-]?\d+)?|e[+-]?\d+)",
    "constant.boolean": r"[=,(\s\[{]\b(?:true|false)\b",
    "constant.duration": r"[=,(\s\[]-?(?:\d+(?:y|mo|w|d|h|m|s|ms|us|ns))+\b|[=,(\s\[]-?P[\dT]",
    "constant.uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-",
    "constant.blob": r"[=,(\s\[]0x[0-9a-f]*",
    "constant.nanInfinity": r"[=,(\s\[]-?\b(?:nan|infinity)\b",
    "term.null": r"[=,(\s\[:]null\b",
    "term.typeCast": r"(?:values|where|set)\b.*\(\s*(?:" + "|".join(_NATIVE_TYPES) + r")\s*\)\s*[-\w'(:?]",
    "term.function": r"(?:values|where|set)\b.*[=,(\s]\w+\s*\(\s*(?:[\w'?:]|\))",
    "term.arithmetic": r"(?:values|where|set)\b.*[\d)?]\s*[+*/%-]\s*[\d(?]",
    "listLiteral": r"(?:values|where|set|if)\b.*\[[^\]]*\]",
    "setOrMapLiteral": r"(?:values|where|set|if)\b.*\{",
    "usertypeLiteral": r"(?:values|where|set|if)\b.*\{\s*(?:[a-z]\w*|\"[^\"]+\")\s*:",
    "tupleLiteral": r"(?:values|where|set|if)\b.*[,=(\s]\((?:[^()]*,[^()]*|\([^()]*\)[^()]*)\)",
    "bindMarker.positional": r"\?",
    "bindMarker.named": r"[=,(\s]:\w",
    "collectionType": r"\b(?:list|set|map)\s*<",
    "frozenType": r"\bfrozen\s*<",
    "tupleType": r"\btuple\s*<",
    "vectorType": r"\bvector\s*<",
    "customType": r"^\s*(?:create|alter)\b(?:(?!\bwith\b).)*\w\s+'s'",
    "ident.quoted": r'"[^"]+"',
    "keyspaceQualifiedName": r"\b(?:from|into|update|table|type|truncate)\s+" + _NAME + r"\s*\.\s*" + _NAME,
    "comment": r"--|//|/\*",
}
_RULES.update({
    f"nativeType.{name}": rf"^\s*(?:create|alter)\s+(?:table|type)\b.*[\s<,(]{name}\b" for name in _NATIVE_TYPES})
_PATTERNS = {name: re.compile(pattern, re.I | re.S) for name, pattern in _RULES.items()}

# Tagged by directives or by the kind of request, not by text.
_BY_REQUEST = ("prepare", "executeUnset", "batchMessage", "batchMessage.prepared", "namedValues", "paging",
               "syntaxError", "requestTimestamp", "requestKeyspace", "requestNow", "protocol3", "protocol4")


def classify(statement):
    if "syntaxError" in statement.rules:
        return {"syntaxError"}
    rules = set(statement.rules)
    texts = [text for text, _, _ in statement.children] if statement.children is not None else [statement.text]
    for text in texts:
        # a child of a CQL batch is looked at as a statement of its own
        plain = without_literals(text)
        pieces = [plain]
        if re.match(r"\s*begin\b", plain, re.I):
            pieces += re.split(r"(?=\b(?:insert|update|delete)\b)|\bapply\b", plain, flags=re.I)[1:]
        for piece in pieces:
            rules |= {name for name, pattern in _PATTERNS.items() if pattern.search(piece)}
    return rules | set(_request_rules(statement))


def _request_rules(statement):
    if statement.prepare:
        yield "prepare"
    if statement.children is not None:
        yield "batchMessage"
        if any(prepared for _, prepared, _ in statement.children):
            yield "batchMessage.prepared"
    values = [value for bind in statement.binds for value in bind]
    if any(name is not None for name, _ in values):
        yield "namedValues"
    if any(raw is not None and not isinstance(raw, bytes) for _, raw in values):
        yield "executeUnset"
    if statement.page_sizes or statement.page_size:
        yield "paging"
    if statement.timestamp is not None:
        yield "requestTimestamp"
    if statement.keyspace is not None:
        yield "requestKeyspace"
    if statement.now_in_seconds is not None:
        yield "requestNow"
    if statement.pinned_protocol and statement.protocol in (3, 4):
        yield f"protocol{statement.protocol}"


def count(statements):
    """(distinct statements per rule, number of distinct statements, names of rules below the minimum)."""
    seen, per_rule = set(), Counter()
    for statement in statements:
        key = distinct_key(statement)
        if key in seen:
            continue
        seen.add(key)
        per_rule.update(classify(statement))
    names = list(_RULES) + [name for name in _BY_REQUEST]
    unknown = sorted(set(per_rule) - set(names))
    table = [(name, per_rule[name]) for name in names + unknown]
    return table, len(seen), [name for name, cases in table if cases < CASES_PER_RULE_MIN]
