"""The cost of a session while it is written equals what is computed from the whole session."""

from __future__ import annotations

from pathlib import Path

import pytest

import turnlog
from tests.live.session_moves import append, session_path
from turnlog.demo import config_dir
from turnlog.live.session_costs import CostBook, SessionCost

DEMO = sorted(config_dir().glob("projects/*/????????-*.jsonl"))


@pytest.mark.parametrize("path", DEMO, ids=lambda path: path.stem[:8])
def test_the_cost_is_that_of_the_whole_session_with_its_sub_agents(path: Path) -> None:
    cost = SessionCost(path)
    cost.read(1 << 40)
    assert cost.usd == pytest.approx(turnlog.describe_session(path).usage.cost_usd)


def test_a_growing_session_costs_what_it_has_so_far_and_a_budget_only_delays_it(tmp_path: Path) -> None:
    path, data = session_path(tmp_path), DEMO[-1].read_bytes()
    book = CostBook(budget=20_000)
    for end in range(0, len(data) + 7000, 7000):
        append(path, data[max(end - 7000, 0) : end])
        book.read({str(path): float(end)})
    while book.get(str(path)) is None or not book.is_complete:
        book.read({str(path): -1.0})
    book.read({str(path): -2.0})
    whole = SessionCost(path)
    whole.read(1 << 40)
    assert book.get(str(path)) == pytest.approx(whole.usd)


def test_a_replaced_session_is_counted_anew(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    path.write_bytes(DEMO[-1].read_bytes())
    cost = SessionCost(path)
    cost.read(1 << 40)
    before = cost.usd
    other = path.with_suffix(".new")
    other.write_bytes(DEMO[-1].read_bytes())
    other.replace(path)
    cost.read(1 << 40)
    cost.read(1 << 40)
    assert cost.usd == before
