"""Where branches alternate is found as the rule says, whatever the graph is."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turnlog.edit.illnesses.branch_switches import find_branch_switches
from turnlog.session.graph import get_message_id, is_said
from turnlog.session.session import Session

KINDS = ("user", "assistant", "system")


def build_session(rows: list[tuple[int, int, int]], is_shuffled: bool) -> Session:
    """A session with a row for each kind, distance to its parent, and message."""
    lines = []
    for number, (kind, distance, message) in enumerate(rows):
        above = number - 1 - distance
        parent = f"u{above}" if above >= 0 else None
        line: dict[str, Any] = {"type": KINDS[kind], "uuid": f"u{number}", "parentUuid": parent}
        if kind < 2:
            line["message"] = {"role": KINDS[kind], "content": [{"type": "text", "text": "x"}]}
        if kind == 1:
            line["message"]["id"] = f"m{message}"
        lines.append(json.dumps(line).encode() + b"\n")
    if is_shuffled:
        lines = lines[1::2] + lines[::2]
    return Session.from_bytes(b"".join(lines))


def list_switches(session: Session) -> dict[int, list[int]]:
    """The rule as it is stated: below each fork, the rows whose predecessor is in another branch."""
    graph, entries, found = session.graph, session.file.entries, {}
    for branch in graph.branches:
        message = get_message_id(branch.fork)
        below = sorted(
            (index, at) for at, start in enumerate(branch.starts) for index in graph.list_descendants(start.index)
        )
        rows = [
            (at, index)
            for index, at in below
            if is_said(entries[index]) and (message is None or get_message_id(entries[index]) != message)
        ]
        found[branch.fork.index] = [index for (one, _), (other, index) in pairwise(rows) if one != other]
    return found


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(0, 2)), max_size=40), st.booleans())
def test_the_switches_are_those_that_the_rule_gives(rows: list[tuple[int, int, int]], is_shuffled: bool) -> None:
    session = build_session(rows, is_shuffled)
    found = find_branch_switches(session.graph, session.file.entries)
    assert {fork.index: [row.index for row in later] for fork, later in found} == list_switches(session)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(0, 2)), max_size=40), st.booleans())
def test_a_fork_has_two_continuations_with_something_said(rows: list[tuple[int, int, int]], is_shuffled: bool) -> None:
    session = build_session(rows, is_shuffled)
    graph, entries, expected = session.graph, session.file.entries, {}
    for row in graph.rows:
        message = get_message_id(row)
        starts = [
            start
            for start in graph.list_children(row.index)
            if any(
                is_said(entries[index]) and (message is None or get_message_id(entries[index]) != message)
                for index in graph.list_descendants(start)
            )
        ]
        if len(starts) > 1:
            expected[row.index] = starts
    assert {branch.fork.index: [row.index for row in branch.starts] for branch in graph.branches} == expected
