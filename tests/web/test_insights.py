"""The insights: the same figures as `turnlog usage --json`, and charts with the tables that say the same."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.session.build import Build
from tests.web.conftest import Folders, indexed, recorded
from turnlog.store.usage.groupings import GROUPINGS
from turnlog.web.app import build_application
from turnlog.web.charts.column_chart import ChartColumn, render_column_chart
from turnlog.web.charts.heat_map import render_heat_map
from turnlog.web.charts.line_chart import LinePoint, render_line_chart
from turnlog.web.charts.meter import render_meter
from turnlog.web.charts.scale import build_axis_scale, pick_label_places
from turnlog.web.insights.periods import choose_period
from turnlog.web.machine import Machine

ONE = "aaaaaaaa-0000-4000-8000-000000000001"


# One machine for all of these tests but those that say otherwise: they only read.
@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return recorded(tmp_path_factory.mktemp("insights"))


@pytest.fixture(scope="module")
def place(folders: Folders) -> Iterator[Machine]:
    with indexed(folders) as found:
        yield found


@cache
def usage(folders: Folders, *words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "turnlog", "usage", *words, "--json"],
        env=folders.environment,
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", GROUPINGS)
def test_every_report_of_the_api_equals_that_of_the_command(folders: Folders, client: TestClient, kind: str) -> None:
    found = client.get(f"/api/usage/{kind}")
    assert found.status_code == 200
    assert found.json() == usage(folders, kind)
    assert found.json()["rows"]


def test_the_reports_take_the_same_filters(folders: Folders, client: TestClient) -> None:
    words = {"since": "2026-01-01", "until": "2027-01-01", "project": "webshop", "timezone": "+05:30"}
    found = client.get("/api/usage/daily", params=words).json()
    assert found == usage(folders, "daily", *(part for name, value in words.items() for part in (f"--{name}", value)))


def test_a_report_that_there_is_not_and_words_that_make_no_sense_are_refused(client: TestClient) -> None:
    assert client.get("/api/usage/yearly").status_code == 404
    refused = client.get("/api/usage/daily?since=someday")
    assert refused.status_code == 400
    assert "not a day" in refused.json()["error"]


def test_the_page_shows_the_sums_of_the_report(folders: Folders, client: TestClient) -> None:
    total = usage(folders, "model")["total"]
    text = client.get("/insights?range=all").text
    assert f"${total['cost_usd']:,.2f}" in text
    assert f"in {usage(folders, 'model')['sessions']} sessions" in text


def tables(text: str) -> dict[str, list[list[str]]]:
    """The cells of each panel's table, as somebody reads them."""
    found = {}
    for key, panel in re.findall(r'<section class="panel[^"]*" id="(\w+)"(.*?)</section>', text, re.DOTALL):
        rows = re.findall(r"<tr>(.*?)</tr>", panel, re.DOTALL)
        found[key] = [
            [
                html.unescape(re.sub(r"<[^>]+>", "", cell)).strip()
                for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)
            ]
            for row in rows
        ]
    return found


def test_tables_hold_the_figures_of_the_reports(folders: Folders, client: TestClient) -> None:
    found = tables(client.get("/insights?range=all&parts=all").text)
    projects = usage(folders, "project")["rows"]
    assert [row[2] for row in found["project"][1:-1]] == [f"${row['cost_usd']:,.2f}" for row in projects]
    days = usage(folders, "daily")["rows"]
    assert [row[0] for row in found["time"][1:-1]] == [row["day"] for row in reversed(days)]
    tools = {row["tool"]: row for row in usage(folders, "tool")["rows"]}
    assert {row[0]: row[4] for row in found["filling"][1:-1]} == {
        name: f"{row['calls']:,}" for name, row in list(tools.items())[:15]
    }
    failing = {row[0]: (row[2], row[3]) for row in found["failures"][1:-1]}
    assert failing
    assert all((f"{tools[name]['failed']}", f"{tools[name]['calls']}") == pair for name, pair in failing.items())


def test_every_chart_has_words_and_a_table_and_every_panel_says_what_is_counted(client: TestClient) -> None:
    text = client.get("/insights?range=all&parts=all").text
    panels = re.findall(r'<section class="panel.*?</section>', text, re.DOTALL)
    assert len(panels) >= 10
    for panel in panels:
        assert '<p class="definition">' in panel
        assert "<table" in panel or '<p class="muted">' in panel
    charts = re.findall(r'<svg class="plot"[^>]*>', text)
    assert len(charts) == 7
    assert all('role="img"' in chart and 'aria-label="' in chart for chart in charts)
    assert " style=" not in text


def test_columns_lead_to_what_was_said_then(folders: Folders, client: TestClient) -> None:
    day = usage(folders, "daily")["rows"][0]["day"]
    text = html.unescape(client.get("/insights?range=all").text)
    found = re.search(rf'data-words="{day}:[^"]+" data-href="(/search[^"]+)"', text)
    assert found is not None
    answer = client.get(found[1])
    assert answer.status_code == 200
    assert "hit" in answer.text
    assert 'class="mistake"' not in answer.text


@pytest.mark.parametrize("part", ["tools", "files", "waits"])
def test_parts_that_take_longer_come_by_themselves(client: TestClient, part: str) -> None:
    answer = client.get(f"/insights/{part}?range=all")
    assert answer.status_code == 200
    assert "<section" in answer.text
    assert "<html" not in answer.text
    assert f'data-src="/insights/{part}?range=all"' in client.get("/insights?range=all").text


def test_a_part_that_there_is_not_is_not_found(client: TestClient) -> None:
    assert client.get("/insights/everything").status_code == 404


def test_slow_calls_lead_to_their_place(client: TestClient) -> None:
    text = html.unescape(client.get("/insights/waits?range=all").text)
    assert re.search(r'href="/s/[0-9a-f-]{36}\?at=@\d+', text)
    found = client.get("/api/insights?range=all").json()
    assert set(found) == {
        "since", "until", "project", "hours", "slowest_calls", "longest_turns", "busiest_files",
    }  # fmt: skip
    assert found["slowest_calls"][0]["session_id"]
    assert found["busiest_files"][0]["calls"] >= found["busiest_files"][-1]["calls"]


def test_a_project_that_there_is_not_is_explained_and_everything_is_shown(client: TestClient) -> None:
    answer = client.get("/insights?project=nowhere-at-all")
    assert answer.status_code == 200
    assert "no session has this project" in answer.text
    assert "Over time" in answer.text


def test_days_without_usage_say_so(client: TestClient) -> None:
    text = client.get("/insights?since=2001-01-01&until=2001-01-02").text
    assert "No usage in this period" in text


def test_a_new_session_is_in_the_figures_at_once(tmp_path: Path) -> None:
    folders = recorded(tmp_path)
    with indexed(folders) as place:
        client = TestClient(build_application(place))
        before = client.get("/insights?range=all").text
        build = Build()
        build.prompt("More")
        build.answer("Much more.", usage={"input_tokens": 10, "output_tokens": 2_000_000}, id="msg-huge")
        folders.add(ONE, build.data())
        place.store.refresh(place.config_dirs)
        assert client.get("/insights?range=all").text != before


def test_what_a_transcript_says_is_escaped(tmp_path: Path) -> None:
    build = Build()
    build.prompt("<script>alert(1)</script>")
    build.call("c1", "<script>Bash", {"file_path": '/x/"><script>y'}, usage={"input_tokens": 9, "output_tokens": 9})
    build.result("c1", "no", error=True)
    build.answer("x", model="<script>model", usage={"input_tokens": 9, "output_tokens": 9})
    folders = Folders(tmp_path / "claude", tmp_path / "turnlog")
    folders.add(ONE, build.data().replace(b"/home/dana/webshop", b"/home/<script>"))
    with indexed(folders) as place:
        text = TestClient(build_application(place)).get("/insights?range=all&parts=all").text
    assert "&lt;script&gt;Bash" in text
    assert "<script>" not in text


# -- charts


def test_a_scale_ends_at_a_round_number_above_the_highest_value() -> None:
    assert build_axis_scale(33.6).ticks == (0, 10, 20, 30, 40)
    assert build_axis_scale(1.0).top == 1.0
    assert build_axis_scale(0).ticks == build_axis_scale(float("inf")).ticks == (0.0, 1.0)
    assert [build_axis_scale(40).to_share(value) for value in (-1, 0, 20, 99)] == [0, 0, 0.5, 1]


def test_labels_keep_their_distance() -> None:
    assert list(pick_label_places(60, 8)) == [0, 8, 16, 24, 32, 40, 48, 56]
    assert list(pick_label_places(3, 8)) == [0, 1, 2]
    assert list(pick_label_places(0, 8)) == []


def test_columns_are_as_high_as_their_values_and_stand_on_each_other() -> None:
    found = render_column_chart(
        "Cost", ("a", "b"), [ChartColumn("1", (10, 30), "forty <", "/x"), ChartColumn("2", (0, 0), "none")], str
    )
    heights = [float(value) for value in re.findall(r'class="s\d" x=[^>]* height="([\d.]+)"', found)]
    assert heights[1] == pytest.approx(3 * heights[0])
    assert len(heights) == 2
    assert 'data-words="forty &lt;" data-href="/x"' in found
    assert found.count('class="mark"') == 2


def test_a_line_is_broken_where_nothing_is_known() -> None:
    points = [LinePoint("a", 0.5, "a"), LinePoint("b", None, "b"), LinePoint("c", 1.0, "c"), LinePoint("d", 0.0, "d")]
    found = render_line_chart("Share", points, str, highest=1.0)
    assert re.findall(r'points="([^"]+)"', found) == ["12.500,50.000", "62.500,0.000 87.500,100.000"]
    assert found.count("<circle") == 3


def test_the_darkest_field_of_a_grid_is_the_fullest() -> None:
    table = [[0] * 24 for _ in range(7)]
    table[2][5], table[3][6] = 100, 1
    found = render_heat_map("Hours", table, lambda day, hour, value: f"{day}-{hour}-{value}")
    assert found.count('class="h6"') == found.count('class="h1"') == 1
    assert 'data-words="2-5-100"' in found


def test_a_bar_of_nothing_is_empty() -> None:
    assert "<rect" not in render_meter([0], 0)
    assert 'width="50%"' in render_meter([1], 2)


def test_charts_of_nothing_are_drawn_all_the_same() -> None:
    assert "<svg" in render_column_chart("Cost", ("a",), [], str)
    assert "<svg" in render_line_chart("Share", [], str)


def test_long_times_are_told_by_week_and_month() -> None:
    day = 86400
    assert [choose_period(0, days * day) for days in (30, 400, 2000)] == ["daily", "weekly", "monthly"]


@pytest.mark.parametrize(("days", "kind"), [(300, "week"), (1200, "month")])
def test_periods_without_usage_are_a_part_of_the_picture(tmp_path: Path, days: int, kind: str) -> None:
    build = Build()
    build.prompt("Begin")
    build.answer("Yes.", usage={"input_tokens": 10, "output_tokens": 10})
    build.wait(days * 86400)
    build.prompt("End")
    build.answer("No.", usage={"input_tokens": 10, "output_tokens": 10})
    config = Folders(tmp_path / "other", tmp_path / "data")
    config.add(ONE, build.data())
    place = Machine([config.config], config.data)
    place.store.refresh(place.config_dirs)
    text = TestClient(build_application(place)).get("/insights?range=all").text
    first = text.partition(f"Cost by {kind}")[2].partition("</figure>")[0]
    assert first.count('class="mark"') >= days // (7 if kind == "week" else 31)
    assert len(tables(text)["time"]) == 4
    place.close()


def money(text: str) -> float:
    return float(text.replace("$", "").replace(",", ""))


@pytest.mark.parametrize("by", ["project", "model"])
def test_the_sessions_behind_a_part_of_a_stack_have_the_same_sum(client: TestClient, by: str) -> None:
    text = client.get(f"/insights?range=all&by={by}").text
    stack = re.search(r'<section class="panel[^"]*" id="stack".*?</section>', text, re.DOTALL)
    assert stack
    links = re.findall(r'<a href="(/insights/sessions[^"]+)"><bdi>(\$[\d.,]+)</bdi>', stack[0])
    assert any(f"{by}=" in html.unescape(href) for href, _ in links)
    for href, figure in links:
        rows = tables(client.get(html.unescape(href)).text)["sessions"]
        assert money(rows[-1][3]) == pytest.approx(money(figure), abs=0.0051)
        assert sum(money(row[3]) for row in rows[1:-1]) == pytest.approx(money(figure), abs=0.01 * len(rows))


def test_the_stack_and_the_treemap_add_up_to_the_report(folders: Folders, client: TestClient) -> None:
    total = usage(folders, "model")["total"]
    found = tables(client.get("/insights?range=all").text)
    assert money(found["stack"][-1][1]) == pytest.approx(total["cost_usd"], abs=0.0051)
    assert money(found["treemap"][-1][2]) == pytest.approx(total["cost_usd"], abs=0.0051)
    tokens = tables(client.get("/insights?range=all&measure=messages&by=model").text)["stack"]
    assert tokens[-1][1] == f"{total['messages']:,}"
