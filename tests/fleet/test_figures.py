"""The figures of a lake are those of `turnlog usage` on the same files."""

from __future__ import annotations

from pathlib import Path

import pytest

import turnlog
from tests.fleet.lakes import add_recorded, add_session, build_session, report_usage_of
from tests.surfaces.machines import copy_recorded, link_published
from turnlog.api.usage import to_usage_amounts
from turnlog.store.lake.lake import Lake
from turnlog.store.lake.lake_report import build_lake_report
from turnlog.store.lake.lake_spend import LakeSpend


def check_figures(config: Path, lake: Path, data: Path, *, same_tools: bool = True) -> None:
    """Compare every kind of figure that both have."""
    with Lake(str(lake)) as opened:
        spend = LakeSpend(opened)
        for kind, dimension in (("model", "model"), ("monthly", "month")):
            report = report_usage_of(config, data, kind)
            assert spend.sum_usage_by(dimension) == {next(iter(row.labels.values())): row.sum for row in report.rows}
        assert sum(usage.tokens for usage in spend.sum_usage_by("project").values()) == report.total.tokens
        found = build_lake_report(opened, max_rows=None)
        assert found.total == report.total
        tools = report_usage_of(config, data, "tool").tools
        if same_tools:
            assert {tool[:6] for tool in found.tools} == {tuple(tool) for tool in tools}
        # Made-up files use the id of one call for several tools.
        assert [sum(column) for column in list(zip(*found.tools, strict=True))[1:6]] == [
            sum(column) for column in list(zip(*tools, strict=True))[1:]
        ]


@pytest.mark.parametrize("redact", [True, False], ids=["redacted", "plain"])
def test_a_lake_of_recorded_sessions_has_the_figures_of_usage(tmp_path: Path, lake: Path, redact: bool) -> None:
    config = add_recorded(tmp_path / "claude")
    done = turnlog.build_lake(config, lake, workers=1, redact=redact)
    assert done.failed == []
    assert done.rows["usage"] > 100
    check_figures(config, lake, tmp_path / "data")


@pytest.mark.corpus
@pytest.mark.slow
def test_a_lake_of_published_sessions_has_the_figures_of_usage(tmp_path: Path, lake: Path, corpus: Path) -> None:
    config = tmp_path / "claude"
    link_published(config, corpus / "wild")
    copy_recorded(config, (corpus / "lab").glob("*/*"))
    done = turnlog.build_lake(config, lake, workers=2, redact=False)
    assert done.failed == []
    check_figures(config, lake, tmp_path / "data", same_tools=False)


def test_a_message_that_two_people_have_counts_once_with_its_largest_numbers(tmp_path: Path, lake: Path) -> None:
    session = build_session()
    add_session(tmp_path / "src/ana", session)
    add_session(tmp_path / "src/ben", session.data().replace(b'"output_tokens":21', b'"output_tokens":99'))
    turnlog.build_lake(tmp_path / "src", lake, workers=1, layout="{person}")
    total = turnlog.report_lake(lake).total
    assert (total.amounts.messages, total.amounts.output_tokens, total.sessions) == (2, 20 + 99, 2)
    assert [row.amounts.messages for row in turnlog.report_lake(lake).persons if row.amounts.messages] == [2]


def test_a_report_can_be_limited_to_days(tmp_path: Path, lake: Path) -> None:
    add_session(tmp_path / "src", build_session())
    turnlog.build_lake(tmp_path / "src", lake, workers=1)
    whole, day = turnlog.report_lake(lake), turnlog.report_lake(lake, since="2026-01-01", until="2026-01-01")
    assert whole.total == day.total
    after = turnlog.report_lake(lake, since="2026-01-02")
    assert (after.total.amounts.messages, after.sessions, after.tools) == (0, 0, [])
    before = turnlog.report_lake(lake, until="2025-12-31")
    assert (before.total.amounts.messages, before.adoption) == (0, [])


def test_teams_people_and_projects_add_up_to_the_total(tmp_path: Path, lake: Path) -> None:
    source = tmp_path / "src"
    for place, cwd in (("web/ana", "/home/ana/shop"), ("web/ben", "/home/ben/shop"), ("ops/eve", "/home/eve/infra")):
        add_session(source / place / ".claude", build_session(cwd=cwd))
    turnlog.build_lake(source, lake, workers=1, layout="{team}/{person}")
    found = turnlog.report_lake(lake)
    assert {row.name: (row.sessions, row.people, row.amounts.messages) for row in found.teams} == {
        "web": (2, 2, 4),
        "ops": (1, 1, 2),
    }
    assert {row.name: row.amounts.messages for row in found.projects} == {"~/shop": 4, "~/infra": 2}
    for rows in (found.teams, found.persons, found.projects, found.models, found.months):
        assert sum(row.amounts.cost_usd for row in rows) == pytest.approx(found.total.amounts.cost_usd)
    assert [(tool.tool, tool.calls, tool.failed) for tool in found.tools] == [("Bash", 6, 3)]
    assert [(month.month, month.people, month.sessions) for month in found.adoption] == [("2026-01", 3, 3)]


def test_amounts_are_those_of_the_usage_api(tmp_path: Path, lake: Path) -> None:
    config = tmp_path / "claude"
    add_session(config, build_session())
    turnlog.build_lake(config, lake, workers=1)
    expected = to_usage_amounts(report_usage_of(config, tmp_path / "data", "daily").total)
    assert turnlog.report_lake(lake).total.amounts == expected
