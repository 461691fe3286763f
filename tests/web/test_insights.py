"""The insights: the same figures as `turnlog usage --json`, and charts with the tables that say the same."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.session.build import Build
from tests.web.conftest import Folders, open_indexed, record_folders
from turnlog.store.usage.groupings import GROUPINGS
from turnlog.store.usage.tool_spend import list_tool_spend
from turnlog.web.app import build_application
from turnlog.web.charts.column_chart import ChartColumn, render_column_chart
from turnlog.web.charts.heat_map import render_heat_map
from turnlog.web.charts.line_chart import LinePoint, render_line_chart
from turnlog.web.charts.meter import render_meter
from turnlog.web.charts.scale import build_axis_scale, pick_label_places
from turnlog.web.insights.time_axis import build_time_axis
from turnlog.web.machine import Machine
from turnlog.web.project_names import name_projects

ONE = "aaaaaaaa-0000-4000-8000-000000000001"


# One machine for all of these tests but those that say otherwise: they only read.
@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return record_folders(tmp_path_factory.mktemp("insights"))


@pytest.fixture(scope="module")
def place(folders: Folders) -> Iterator[Machine]:
    with open_indexed(folders) as found:
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
    counts = {row[0]: (row[2], row[3]) for row in found["tools"][1:-1]}
    assert any(failed != "0" for _, failed in counts.values())
    assert counts == {name: (f"{row['calls']:,}", f"{row['failed']:,}") for name, row in tools.items()}


def test_every_chart_has_words_and_a_table_and_every_panel_says_what_is_counted(client: TestClient) -> None:
    text = client.get("/insights?range=all&parts=all").text
    panels = re.findall(r'<section class="panel.*?</section>', text, re.DOTALL)
    assert len(panels) >= 10
    for panel in panels:
        assert '<p class="definition">' in panel
        assert "<table" in panel or '<p class="muted">' in panel
    charts = re.findall(r'<svg class="plot"[^>]*>', text)
    assert len(charts) == 9
    assert all('role="img"' in chart and 'aria-label="' in chart for chart in charts)
    assert " style=" not in text


PANELS_WITH_SUMS = {"stack", "treemap", "time", "project", "model", "cache", "blocks", "hours"}


def list_figures(text: str) -> Iterator[tuple[str, str, str]]:
    """The panel, the figure and the address of each figure or mark that leads to sessions."""
    for key, panel in re.findall(r'<section class="panel[^"]*" id="(\w+)"(.*?)</section>', text, re.DOTALL):
        for href, figure in re.findall(r'<a href="(/insights/sessions[^"]+)"><bdi>([^<]*)</bdi>', panel):
            yield key, html.unescape(figure), html.unescape(href)
        for words, href in re.findall(r'data-words="([^"]+)" data-href="(/[^"]+)"', panel):
            yield key, html.unescape(words), html.unescape(href)


@pytest.mark.parametrize(
    "query", ["range=all", "range=all&model=haiku", "range=all&project=webshop&per=monthly&by=model"]
)
def test_every_figure_leads_to_sessions_with_the_same_sum(client: TestClient, query: str) -> None:
    seen = set()
    known: dict[str, list[str]] = {}
    for key, words, href in list_figures(client.get(f"/insights?{query}").text):
        assert href.startswith("/insights/sessions?"), href
        if href not in known:
            rows = tables(client.get(href).text)["sessions"]
            known[href] = rows[-1] if rows else ["", "", "", "$0.00", "0", "0"]
        _, _, _, cost, tokens, messages = known[href]
        seen.add(key)
        if (found := re.search(r"\$[\d.,]+", words)) and "saved" not in words:
            assert money(found[0]) == pytest.approx(money(cost), abs=0.0051), (words, href)
        if found := re.search(r"([\d.]+[kMG]?) tokens", words):
            assert found[1] == tokens, (words, href)
        if found := re.search(r"([\d,]+) messages?", words):
            assert found[1] == messages, (words, href)
        if key == "hours" and words.isdecimal():
            assert words == messages, href
    assert seen == PANELS_WITH_SUMS


def test_conditions_on_the_hour_the_block_and_the_days_hold_together(client: TestClient) -> None:
    text = client.get("/insights?range=all").text
    hours = [(words, href) for key, words, href in list_figures(text) if key == "hours" and ":" in words]
    blocks = [href for key, _, href in list_figures(text) if key == "blocks"]
    messages = int(re.search(r"(\d+) messages?", hours[0][0])[1])  # type: ignore[index]
    both = [
        int(row[-1][5])
        for block in dict.fromkeys(blocks)
        if (row := tables(client.get(f"{hours[0][1]}&{block.partition('?')[2]}").text)["sessions"])
    ]
    assert sum(both) == messages
    nothing = client.get(f"{hours[0][1]}&since=2001-01-01&until=2001-01-02").text
    assert "No usage" in nothing


@pytest.mark.parametrize("query", ["range=all", "range=all&measure=tokens&model=opus", "range=all&project=webshop"])
def test_the_share_of_each_tool_adds_up_and_leads_to_sessions_with_the_same_sum(client: TestClient, query: str) -> None:
    by_tool = tables(client.get(f"/insights?{query}&by=tool").text)["stack"]
    by_model = tables(client.get(f"/insights?{query}&by=model").text)["stack"]
    assert [row[:2] for row in by_tool] == [row[:2] for row in by_model]
    assert {"Bash", "no tool"} <= set(by_tool[0])
    page = client.get(f"/insights?{query}&by=tool").text
    links = [(words, href) for key, words, href in list_figures(page) if key == "stack" and "by_tool=" in href]
    assert links
    for words, href in links:
        cost, tokens = tables(client.get(href).text)["sessions"][-1][3:5]
        figure = words.rpartition(": ")[2]
        if figure.startswith("$"):
            assert money(cost) == pytest.approx(money(figure), abs=0.0051), href
        else:
            assert tokens == figure, href


@pytest.mark.parametrize("query", ["range=all", "range=all&by=tool", "range=all&project=webshop&model=opus&per=weekly"])
def test_the_calls_over_time_lead_to_sessions_with_as_many(folders: Folders, client: TestClient, query: str) -> None:
    page = client.get(f"/insights?{query}&measure=calls").text
    figures = [(words, href) for key, words, href in list_figures(page) if key == "stack" and ": " in words]
    assert figures
    for words, href in figures:
        rows = tables(client.get(href).text)["sessions"]
        place = rows[0].index("Calls")
        assert rows[-1][place] == words.partition("\n")[0].rpartition(": ")[2], (words, href)
    if "project" not in query:
        whole = usage(folders, "tool")["total"]["calls"]["calls"]
        assert tables(page)["stack"][-1][1] == f"{whole:,}"


def test_calls_are_not_divided_by_model(client: TestClient) -> None:
    text = client.get("/insights?range=all&measure=calls&by=model").text
    assert "Calls over time by project" in text
    assert "by=model" not in text
    assert "by model</a>" not in text


def test_a_period_without_usage_leads_nowhere_and_a_part_of_a_column_to_its_sessions(client: TestClient) -> None:
    text = client.get("/insights?range=all&per=daily").text
    stack = text.partition('id="stack"')[2].partition("</figure>")[0]
    columns = re.findall(r'<g class="mark" data-words="([^"]*)"( data-href="[^"]+")?>(.*?)</g>', stack, re.DOTALL)
    assert any("$0.00" in words and not href for words, href, _ in columns)
    for words, href, parts in columns:
        lines = html.unescape(words).split("\n")
        found = re.findall(r'data-words="([^"]+)" data-href="([^"]+)"', parts)
        assert bool(href) == (len(lines) > 1)
        assert [html.unescape(part).rpartition(": ")[2] for part, _ in reversed(found)] == [
            line.rpartition(": ")[2] for line in lines[1:] if not line.startswith("other")
        ]
        assert all("folder=" in address for _, address in found)


STRANGE_NAMES = (
    "  spaced  ", "x" * 1500, "unknown", "no tool", "nul\0", "line\nbreak", '<img src="x">', "a'b&c=d#e%41?+", "\ud800",
    "=1+1", "*?[a]", "a,b:c", "\u202egnp.exe",
)  # fmt: skip


def test_strange_names_of_projects_models_and_tools_lead_to_their_sessions(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "claude", tmp_path / "turnlog")
    for number, name in enumerate(STRANGE_NAMES):
        build = Build()
        build.prompt("Begin")
        usage = {"input_tokens": 1000 + number, "output_tokens": 9}
        build.call(f"c{number}", name, {"file_path": f"/x/{name}"}, usage=usage, model=name, id=f"m{number}")
        build.result(f"c{number}", "fine")
        build.answer("Done.", usage={"input_tokens": 10 + number, "output_tokens": 9}, id=f"n{number}")
        lines = [
            line | {"cwd": f"/home/dana/{name}", "sessionId": (uuid := f"{ONE[:-2]}{number:02}")}
            for line in build.lines
        ]
        folders.add(uuid, "".join(json.dumps(line) + "\n" for line in lines).encode(), f"-home-dana-{number}")
    with open_indexed(folders) as place:
        client = TestClient(build_application(place))
        text = client.get("/insights?range=all&measure=tokens&by=tool").text
        pages = text + client.get("/insights?range=all&measure=calls&by=tool").text
        known: dict[str, list[str]] = {}
        for key, words, href in list_figures(pages):
            if any(f"{part}=" in href for part in ("folder", "by_model", "by_tool")):
                if href not in known:
                    known[href] = (tables(client.get(href).text).get("sessions") or [[]])[-1]
                assert known[href], (key, words, href)
                if key == "stack" and words.replace(".", "").isalnum():
                    assert words in known[href], (words, href)
        others = set(re.findall(r'<a href="(/(?:insights|search)\?[^"]*(?:project|model|q)=[^"]+)"', text))
        others |= set(re.findall(r'<a href="(/search[^"]+)"', client.get("/insights/files?range=all").text))
        assert len(others) > len(STRANGE_NAMES)
        for href in others:
            found = client.get(html.unescape(href))
            assert found.status_code == 200, href
            assert 'class="failure-note"' not in found.text, href
        chart = text.partition('id="stack"')[2].partition("</figure>")[0]
        assert "\u202e" not in chart
        assert "[U+202E]gnp.exe" in chart


def test_the_calls_of_each_tool_lead_to_sessions_with_as_many(client: TestClient) -> None:
    page = client.get("/insights/tools?range=all").text
    panel = page.partition('id="tools"')[2].partition("</section>")[0]
    links = re.findall(r'<a href="(/insights/sessions[^"]+)"><bdi>([\d,]+)</bdi>', panel)
    assert any("outcome=failed" in href for href, _ in links)
    for href, figure in links:
        rows = tables(client.get(html.unescape(href)).text)["sessions"]
        place = rows[0].index("Failed" if "outcome=failed" in href else "Calls")
        assert rows[-1][place] == figure
        assert sum(int(row[place].replace(",", "")) for row in rows[1:-1]) == int(figure.replace(",", ""))


def test_a_message_is_divided_among_the_calls_it_makes(tmp_path: Path) -> None:
    build = Build()
    build.prompt("Begin")
    usage = {"input_tokens": 0, "output_tokens": 1_000_000}
    build.call("c1", "Bash", {"command": "ls"}, usage=usage, id="msg-1")
    build.call("c2", "Read", {"file_path": "/x"}, usage=usage, id="msg-1")
    build.call("c3", "Read", {"file_path": "/y"}, usage=usage, id="msg-1")
    for call in ("c1", "c2", "c3"):
        build.result(call, "fine")
    build.answer("Done.", usage=usage, id="msg-2")
    folders = Folders(tmp_path / "claude", tmp_path / "turnlog")
    folders.add(ONE, build.data())
    with open_indexed(folders) as place:
        rows = {row.tool: row for row in list_tool_spend(place.store.db)}
    assert {tool: round(row.tokens) for tool, row in rows.items()} == {
        "Bash": 333_333, "Read": 666_667, "no tool": 1_000_000,
    }  # fmt: skip


def read_list_sum(client: TestClient, href: str) -> tuple[str, int]:
    """What the list of sessions says about the part of the usage that it shows, and how many sessions it has."""
    text = client.get(href).text
    found = re.search(r'<span class="slice-sum"[^>]*>([^<]*)</span>', text)
    return html.unescape(found[1]) if found else "", text.count('<tr class="session')


def test_the_list_of_sessions_shows_the_same_sessions_and_the_same_sum(client: TestClient) -> None:
    links = {href for _, _, href in list_figures(client.get("/insights?range=all&by=tool&parts=all").text)}
    assert any("hour=" in href for href in links)
    assert any("outcome=failed" in href for href in links)
    for href in links:
        page = client.get(href).text
        listed = re.search(r'<a href="(/\?[^"]+)">show in the list', page)
        assert listed, href
        words, sessions = read_list_sum(client, html.unescape(listed[1]))
        rows = tables(page)["sessions"]
        if re.fullmatch(r"/insights/sessions\?folder=[^&]+", href):
            assert sessions >= len(rows) - 2, href  # a whole project has sessions without usage, too
        else:
            assert sessions == max(len(rows) - 2, 0), href
        if rows:
            cells = dict(zip(rows[0], rows[-1], strict=True))
            wanted = [cells[name] for name in ("Cost", "Calls", "Failed") if name in cells]
            is_whole_project = not re.search("since|until|model|tool|outcome|hour|block", listed[1])
            assert is_whole_project or all(cell in words for cell in wanted), (words, cells, href)


def test_filters_of_the_list_hold_together(client: TestClient) -> None:
    both = read_list_sum(client, "/?tool=Bash&outcome=failed")
    assert both[1] < read_list_sum(client, "/?tool=Bash")[1]
    assert "failed" in both[0]
    assert read_list_sum(client, "/?tool=Bash&since=2001-01-01&until=2001-01-02") == ("", 0)
    assert read_list_sum(client, "/?model=no-such-model") == ("", 0)
    assert read_list_sum(client, "/?hour=Someday") == ("", 0)
    assert "called Bash" in client.get("/?tool=Bash").text


@pytest.mark.parametrize(
    "query", ["hour=Sunday", "hour=Sun-24", "block=today", "since=someday", "project=nowhere", "outcome=x"]
)
def test_sessions_behind_a_figure_that_there_is_not_are_refused(client: TestClient, query: str) -> None:
    answer = client.get(f"/insights/sessions?{query}")
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert "<table" not in answer.text


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
    folders = record_folders(tmp_path)
    with open_indexed(folders) as place:
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
    with open_indexed(folders) as place:
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


TODAY = date(2026, 11, 19)


@pytest.mark.parametrize(
    ("days", "wanted", "kind", "periods"),
    [
        (30, "", "daily", 31),
        (400, "", "weekly", 58),
        (2000, "", "monthly", 67),
        (30, "monthly", "monthly", 2),
        (300, "daily", "daily", 301),
        (3000, "daily", "monthly", 99),
    ],
)
def test_charts_end_today_and_long_ones_are_by_week_or_month(days: int, wanted: str, kind: str, periods: int) -> None:
    axis = build_time_axis([TODAY - timedelta(days=days)], None, None, TODAY, wanted)
    found = list(axis.list_periods().values())
    assert (axis.kind, len(found)) == (kind, periods)
    assert (found[0].first, found[-1].last) == (TODAY - timedelta(days=days), TODAY)


def test_a_chart_has_years_if_it_spans_several_and_its_periods_end_with_its_days() -> None:
    axis = build_time_axis([date(2025, 12, 20)], date(2025, 12, 10), date(2026, 1, 7), TODAY, "weekly")
    found = list(axis.list_periods().values())
    assert [period.label for period in found][-1] == "5 Jan 2026"
    assert (found[0].first, found[-1].last) == (date(2025, 12, 10), date(2026, 1, 7))
    assert [period.label for period in axis._replace(first=date(2026, 1, 1)).list_periods().values()][-1] == "5 Jan"


def test_a_time_that_is_thousands_of_years_away_does_not_stretch_a_chart() -> None:
    axis = build_time_axis([date(2026, 1, 5), date(9999, 12, 31)], None, None, TODAY)
    assert len(axis.list_periods()) == 2


def test_projects_of_the_same_name_are_told_apart() -> None:
    assert name_projects(["/srv/app", "/home/app", "/home/site", "/home/app"]) == {
        "/srv/app": "srv/app", "/home/app": "home/app", "/home/site": "site",
    }  # fmt: skip
    assert name_projects(["/a/x/app", "/b/x/app", "app"]) == {
        "/a/x/app": "a/x/app",
        "/b/x/app": "b/x/app",
        "app": "app",
    }


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
    part = {"project": "folder", "model": "by_model"}[by]
    assert any(f"{part}=" in html.unescape(href) for href, _ in links)
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
