"""`turnlog compare`: two sessions side by side, as text and as JSON."""

from __future__ import annotations

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import Build

LEFT = "aaaaaaaa-0000-4000-8000-000000000001"
RIGHT = "bbbbbbbb-0000-4000-8000-000000000002"


@pytest.fixture
def pair(machine: Machine) -> Machine:
    """Two sessions that share their first turn; the second of the right one calls a tool."""
    left, right = Build(), Build()
    for build in (left, right):
        build.prompt("Round the cents")
        build.answer("Done.")
    left.prompt("Explain")
    left.answer("Because.")
    right.prompt(f"Change {HOSTILE}")
    right.call("c-1", "Edit", {"file_path": "/src/cart.py", "old_string": "a", "new_string": "b"})
    right.result("c-1")
    right.answer("Changed.")
    machine.add(LEFT, left.data())
    machine.add(RIGHT, right.data())
    return machine


def test_shared_turns_are_counted_and_own_turns_listed(turnlog: Turnlog, pair: Machine) -> None:
    done = turnlog("compare", LEFT[:8], RIGHT[:8])
    assert done.lines[0] == "1 shared turn."
    assert "  2  finished, 0 calls, $0.00  Explain" in done.lines
    assert any(line.startswith("  2  finished, 1 call, $0.00  Change a") for line in done.lines)
    assert done.lines[-1].split() == ["0/0", "1/0", "/src/cart.py"]
    assert not harmful(done.out)


def test_the_document_has_both_sides(turnlog: Turnlog, pair: Machine) -> None:
    found = turnlog("compare", LEFT, RIGHT, "--json").json
    assert (found["shared_turns"], len(found["left"]["own"]), found["right"]["calls"]) == (1, 1, 1)


def test_a_session_equals_itself(turnlog: Turnlog, pair: Machine) -> None:
    assert turnlog("compare", LEFT, LEFT).lines == ["2 shared turns; the two sides are the same."]


def test_one_session_without_branches_is_not_enough(turnlog: Turnlog, pair: Machine) -> None:
    done = turnlog("compare", LEFT)
    assert done.status == 2
    assert done.err.startswith("turnlog: name two sessions, or one session and two branches")
