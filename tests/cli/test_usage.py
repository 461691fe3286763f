"""`turnlog usage`: what people and programs see, and the conformance set through the whole program."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from make_usage_cases import write_cases
from usage_conformance import CASES_FOLDER, find_differences, judge_case

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.conftest import Program
from tests.session.build import Build
from turnlog.cli.terminal import TerminalScreen
from turnlog.cli.usage.table import format_compact_number, format_pico_dollars, render_usage_table
from turnlog.errors import UsageError
from turnlog.session.usage.message_counts import QUALITIES
from turnlog.session.usage.totals import count_usage
from turnlog.store.usage.groupings import GROUPINGS, build_usage_report
from turnlog.store.usage.memory_tables import build_usage_tables
from turnlog.store.usage.time_zones import TimeZone
from turnlog.store.usage.usage_document import UsageReportDetails
from turnlog.store.usage.usage_reports import UsageRequest

CASES = sorted(path.parent for path in CASES_FOLDER.glob("*/expected.json"))
ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def counts(output: int = 100, **more: int) -> dict[str, Any]:
    return {"input_tokens": 10, "output_tokens": output, **more}


@pytest.fixture
def shop(machine: Machine) -> Machine:
    """A machine with two sessions: one of two models, one of an old client."""
    build = Build()
    build.prompt("Make it work")
    build.call("c1", usage=counts(cache_read_input_tokens=5000, cache_creation_input_tokens=100))
    build.result("c1", "no such file", error=True)
    build.answer("Done.", usage=counts(200), model="mystery-model")
    machine.add(ONE, build.data())
    old = Build("2.1.29")
    old.prompt("Hello")
    old.answer("x" * 1000, stop=None, usage=counts(1))
    machine.add(TWO, old.data().replace(b"msg-", b"old-"), slug="-home-eve")
    return machine


# -- the conformance set


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_every_case_of_the_set_is_right_through_the_program(case: Path) -> None:
    assert judge_case(case, "turnlog", [sys.executable, "-m", "turnlog"]) == []


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_every_case_of_the_set_is_right_in_a_scan_without_an_index(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_bytes())
    found = count_usage(sorted(case.rglob("*.jsonl")))
    tokens = [best.tokens for best in found.values()]
    total = {
        "messages": len(found),
        "input_tokens": sum(item.input for item in tokens),
        "output_tokens": sum(item.output for item in tokens),
        "cache_read_input_tokens": sum(item.cache_read for item in tokens),
        "cache_creation_input_tokens": sum(item.cache_write_5m + item.cache_write_1h for item in tokens),
        "quality": {name: sum(best.quality == name for best in found.values()) for name in QUALITIES},
    }
    assert list(find_differences(expected["total"], total, "total")) == []
    sums = build_usage_report(build_usage_tables([case]), UsageRequest("session", zone=TimeZone("UTC")))
    assert sums.total.cost / 1e12 == pytest.approx(expected["total"]["cost_usd"])
    assert sums.total.unpriced == expected["total"]["unpriced_tokens"]
    for row in sums.rows if "sessions" in expected else ():
        assert row.sum.output == expected["sessions"][row.labels["session_id"]]["output_tokens"]


def test_the_set_is_what_its_generator_makes(tmp_path: Path) -> None:
    """If not: python scripts/make_usage_cases.py."""
    write_cases(tmp_path)
    for folder in (CASES_FOLDER, tmp_path):
        assert (folder / "growth" / "expected.json").exists()
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    kept = {path.relative_to(CASES_FOLDER): path.read_bytes() for path in CASES_FOLDER.rglob("*") if path.is_file()}
    kept.pop(Path("README.md"))
    assert kept == made


def test_the_readme_of_the_set_lists_every_case() -> None:
    text = (CASES_FOLDER / "README.md").read_text(encoding="utf-8")
    assert [case.name for case in CASES if f"`{case.name}`" not in text] == []


def test_a_tool_that_counts_wrong_is_told_so(tmp_path: Path) -> None:
    tool = tmp_path / "tool.py"
    tool.write_text('print(\'{"total": {"output_tokens": 7, "quality": {}}}\')', encoding="utf-8")
    wrong = judge_case(CASES_FOLDER / "growth", "plain", [sys.executable, str(tool)])
    assert wrong == ["total.output_tokens: 7, expected 412"]
    assert judge_case(CASES_FOLDER / "growth", "plain", [sys.executable, "-c", "pass"]) == ["no answer"]


def test_the_conformance_script_gives_a_score(tmp_path: Path, program: Program) -> None:
    import subprocess

    script = Path(judge_case.__code__.co_filename)
    command = shlex.join([sys.executable, "-m", "turnlog"])
    done = subprocess.run(
        [sys.executable, script, "--command", command, "growth", "days"],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0
    assert done.stdout == "right  growth\nright  days\n2 of 2 cases are right; 2 have the right total\n"


# -- for people


def test_the_table_has_a_total_its_definition_and_what_is_doubtful(turnlog: Turnlog, shop: Machine) -> None:
    done = turnlog("usage", "--timezone", "UTC")
    assert done.status == 0
    heads, *rows = (line.split() for line in done.lines[:3])
    assert heads[:5] == ["day", "messages", "input", "output", "cache"]
    assert rows[0][:4] == ["2026-01-01", "3", "30", "301"]
    assert rows[1][:4] == ["total", "3", "30", "301"]
    text = done.out
    assert "Counted: every message once, sub-agents included, on the day on which it ended (UTC)." in text
    assert "at list prices as of 20" in text
    assert "Unpriced: 210 tokens from models without a known price; they are not in the cost." in text
    assert "Not final: the output of 1 of 3 messages (1 placeholders only)" in text
    assert "by about 399 tokens" in text


@pytest.mark.parametrize("kind", GROUPINGS)
def test_every_kind_of_report_prints_a_total_and_its_definition(turnlog: Turnlog, shop: Machine, kind: str) -> None:
    done = turnlog("usage", kind)
    assert done.status == 0
    assert [line for line in done.lines if line.startswith("total ")]
    assert [line for line in done.lines if line.startswith("Counted: ")]


def test_calls_are_told_by_tool(turnlog: Turnlog, shop: Machine) -> None:
    rows = [line.split() for line in turnlog("usage", "tool").lines]
    assert rows[1][:4] == ["Bash", "1", "1", "0"]
    assert rows[2][:4] == ["total", "1", "1", "0"]


def test_sessions_that_the_client_deleted_still_count_and_are_told(turnlog: Turnlog, shop: Machine) -> None:
    before = turnlog("usage", "--json").json["total"]
    (shop.folder / "projects" / "-home-eve" / f"{TWO}.jsonl").unlink()
    done = turnlog("usage")
    assert "1 of 2 sessions no longer have a file; their counts come from the index." in done.out
    after = turnlog("usage", "--json").json
    assert (after["total"], after["gone_sessions"]) == (before, 1)
    assert "(gone) Hello" in turnlog("usage", "session").out


def write_open_block(machine: Machine, *minutes_ago: float) -> None:
    """A session whose messages ended so many minutes ago."""
    from datetime import UTC, datetime, timedelta

    build = Build()
    for ago in minutes_ago:
        build.answer("x", usage=counts())
        time = datetime.now(UTC) - timedelta(minutes=ago)
        build.lines[-1]["timestamp"] = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    machine.add(ONE, build.data())


def test_the_open_block_is_listed_with_its_pace(turnlog: Turnlog, machine: Machine) -> None:
    write_open_block(machine, 10, 0)
    done = turnlog("usage", "blocks", "--timezone", "UTC")
    assert " open " in done.out
    assert "22 tokens a minute" in done.out
    (row,) = turnlog("usage", "blocks", "--json").json["rows"]
    assert row["open"]
    assert round(row["pace"]["tokens_per_minute"]) == 22


def test_seconds_of_work_give_no_pace_of_the_open_block(turnlog: Turnlog, machine: Machine) -> None:
    write_open_block(machine, 2.6 / 60, 0)
    done = turnlog("usage", "blocks", "--timezone", "UTC")
    assert "too little so far to tell a pace" in done.out
    (row,) = turnlog("usage", "blocks", "--json").json["rows"]
    assert (row["open"], row["pace"]) == (True, None)


def test_a_machine_without_sessions_shows_the_demo(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("usage", "model", "--json")
    assert done.json["demo"]
    assert "demo" in done.err
    assert done.json["total"]["messages"] > 100


def test_a_machine_without_usage_says_so(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt()
    machine.add(ONE, build.data())
    assert turnlog("usage").out == "No usage yet.\n"
    assert turnlog("usage", "--since", "2026-01-01").out == "No usage in these sessions.\n"


def hostile(text: str) -> bytes:
    """A session in which everything that is shown has been written by a stranger."""
    build = Build()
    build.prompt(text)
    build.call("c", name=text, usage=counts(), model=text)
    for line in build.lines:
        line["cwd"] = text
    return build.data()


@pytest.mark.parametrize("kind", GROUPINGS)
def test_what_strangers_wrote_does_no_harm(turnlog: Turnlog, machine: Machine, kind: str) -> None:
    machine.add(ONE, hostile(HOSTILE.replace("\ud800", "")))
    done = turnlog("usage", kind)
    assert (done.status, harmful(done.out)) == (0, set())
    assert turnlog("usage", kind, "--csv").status == 0
    assert turnlog("usage", kind, "--json").json["total"]["output_tokens"] == 100


def test_what_strangers_wrote_does_no_harm_without_an_index(machine: Machine) -> None:
    machine.add(ONE, hostile(HOSTILE))
    for kind in ("session", "project", "model"):
        request = UsageRequest(kind, zone=TimeZone("UTC"))
        shown = UsageReportDetails(request, build_usage_report(build_usage_tables([machine.folder]), request), None)
        assert harmful("\n".join(render_usage_table(shown, TerminalScreen()))) == set()


def test_a_narrow_terminal_gets_short_numbers(shop: Machine) -> None:
    request = UsageRequest("session", zone=TimeZone("UTC"))
    shown = UsageReportDetails(
        request, build_usage_report(build_usage_tables([shop.folder]), request), "2026-01-01", is_indexed=False
    )
    wide, narrow = (list(render_usage_table(shown, TerminalScreen(False, size))) for size in (300, 60))
    assert [line for line in wide if "5,000" in line]
    assert [line for line in narrow if "5.0k" in line]
    assert not [line for line in wide if "by about" in line]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (99_949, "99.9k"),
        (99_999, "100k"),
        (999_600, "1.0M"),
        (5 * 10**12, "5000G"),
    ],
)
def test_short_numbers(number: int, text: str) -> None:
    assert format_compact_number(number) == text


def test_amounts_below_a_cent_have_more_digits() -> None:
    assert [format_pico_dollars(pico) for pico in (0, 10**9, 10**12, -(10**9), 1234 * 10**12)] == [
        "0.00",
        "0.0010",
        "1.00",
        "-0.0010",
        "1,234.00",
    ]


# -- for programs


def test_json_has_rows_and_a_total(turnlog: Turnlog, shop: Machine) -> None:
    found = turnlog("usage", "model", "--json").json
    assert found["total"]["cost_usd"] == pytest.approx((20 * 5 + 101 * 25 + 5000 * 0.5 + 100 * 6.25) / 1e6)
    assert found["total"]["unpriced_tokens"] == 210
    assert found["total"]["quality"] == {"final": 2, "partial": 0, "placeholder": 1, "missing": 0}
    assert [row["model"] for row in found["rows"]] == ["claude-opus-5", "mystery-model"]
    saved = (5100 * 5 - 5000 * 0.5 - 100 * 6.25) / 1e6
    assert found["rows"][0]["cache_saved_usd"] == pytest.approx(saved)


def test_reports_can_be_of_some_days_a_project_and_a_model(turnlog: Turnlog, shop: Machine) -> None:
    def output(*words: str) -> int:
        return int(turnlog("usage", "--json", *words).json["total"]["output_tokens"])

    assert output("--since", "2026-01-01", "--until", "20260101") == 301
    assert output("--since", "2026-01-02") == 0
    assert output("--model", "mystery") == 200
    assert output("--project", "/home/dana/webshop") == 301


def test_csv_has_a_header_and_no_total_and_nothing_that_a_spreadsheet_would_run(
    turnlog: Turnlog, machine: Machine
) -> None:
    for name, title in ((ONE, '=HYPERLINK("http://x", "a,b")'), (TWO, "+1\nnext")):
        build = Build()
        build.prompt(title)
        build.answer("x", usage=counts(int(name[-1])), id=name)
        machine.add(name, build.data())
    done = turnlog("usage", "session", "--csv")
    assert done.out.count("\r\n") == 3
    rows = list(csv.DictReader(io.StringIO(done.out, newline="")))
    assert {row["session_id"]: row["title"] for row in rows} == {
        ONE: '\'=HYPERLINK("http://x", "a,b")',
        TWO: "'+1 next",
    }
    assert [row["output_tokens"] for row in rows] == ["2", "1"]
    assert float(rows[0]["cost_usd"]) == 0.0001
    assert rows[0]["gone"] == "false"
    tools = turnlog("usage", "tool", "--csv").lines
    assert tools == ["tool,calls,failed,unanswered,input_characters,result_characters,estimated_tokens"]


def test_csv_can_t_act_on_a_terminal(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt(HOSTILE)
    build.answer("x", usage=counts(1))
    machine.add(ONE, build.data())
    done = turnlog("usage", "session", "--csv")
    assert done.status == 0
    assert not harmful(done.out.replace("\r\n", "\n"))


def test_numbers_of_sessions_stand_below_each_other(turnlog: Turnlog, machine: Machine) -> None:
    for number in range(11):
        build = Build()
        build.prompt("hello", cwd="/home/dana/one" if number else "/home/dana/other")
        build.answer("x", usage=counts(1), id=f"msg_{number}", cwd="/home/dana/one" if number else "/home/dana/other")
        machine.add(f"aaaaaaaa-0000-4000-8000-0000000000{number:02}", build.data(), slug=f"-home-{number > 0}")
    head, first, second, *_ = turnlog("usage", "project").lines
    end = head.index("sessions") + len("sessions")
    assert [first[:end].split()[-1], second[:end].split()[-1]] == ["10", "1"]
    assert first[end - 2 : end + 1] == "10 "


# -- what goes wrong


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--since", "soon"], "turnlog: --since 'soon': not a day; use a value such as 2026-11-03, yesterday or 30d"),
        (
            ["--timezone", "Moon"],
            "turnlog: unknown time zone 'Moon'; use a name such as Europe/Berlin, or an offset such as +02:00",
        ),
        (["--since", "2026-02-01", "--until", "2026-01-01"], "turnlog: --since 2026-02-01 is after --until 2026-01-01"),
        (["--json", "--csv"], "turnlog: use --json or --csv, not both"),
        (["--model", "gpt"], "turnlog: --model 'gpt': no session has this model"),
        (["tool", "--model", "opus"], "turnlog: --model can't filter tool calls"),
        (["hourly"], "turnlog: Invalid value for '[daily|weekly|monthly|session|project|model|tool|blocks]'"),
    ],
)
def test_wrong_words_are_one_line_and_status_2(turnlog: Turnlog, shop: Machine, words: list[str], message: str) -> None:
    done = turnlog("usage", *words)
    assert (done.status, done.raw) == (2, b"")
    assert done.err.startswith(message)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything can be written to")
def test_a_read_only_home_is_answered_out_of_the_files(turnlog: Turnlog, shop: Machine, own_data: Path) -> None:
    expected = turnlog("usage", "--json").json["total"]
    next(own_data.glob("index*.db")).chmod(0o400)
    own_data.chmod(0o500)
    try:
        done = turnlog("usage", "--json")
    finally:
        own_data.chmod(0o700)
    assert done.json["total"] == {**expected, "estimated_further_output_tokens": None}


def test_where_no_index_can_be_kept_the_files_are_read(
    turnlog: Turnlog, shop: Machine, own_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = turnlog("usage", "--json").json["total"]
    unwritable(monkeypatch, own_data)
    done = turnlog("usage", "--json")
    assert done.json["total"] == {**expected, "estimated_further_output_tokens": None}
    total = next(line for line in turnlog("usage").lines if line.startswith("total"))
    assert total.endswith(" ?")
    assert "not writable" in done.err
    assert turnlog("usage", "tool").status == 1
    assert "it is too low." in turnlog("usage").out


def test_where_no_index_can_be_kept_the_demo_is_shown_too(
    turnlog: Turnlog, machine: Machine, own_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unwritable(monkeypatch, own_data)
    assert turnlog("usage", "--json").json["demo"]


def unwritable(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Put the data folder where nobody can make one: below a file of the system's that is no folder."""
    monkeypatch.setenv("TURNLOG_HOME", str(Path("/proc/self") / folder.name if os.name != "nt" else "Z:/none"))


def test_the_price_table_of_another_version_is_replaced(turnlog: Turnlog, shop: Machine, own_data: Path) -> None:
    import apsw

    expected = turnlog("usage", "--json").json
    db = apsw.Connection(str(next(own_data.glob("index*.db"))))
    db.execute("UPDATE fact SET value = 'old' WHERE name LIKE 'price%'")
    db.execute("UPDATE spend SET cost = 0")
    db.close()
    assert turnlog("usage", "--json").json == expected


def test_the_plain_form_fails_as_the_others_do(program: Program, tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text("gap_minutes = 'many'\n")
    plain, full = (program(*words, TURNLOG_CONFIG=str(settings)) for words in (["usage"], ["usage", "daily"]))
    assert (plain.returncode, plain.stdout, plain.stderr) == (full.returncode, full.stdout, full.stderr)
    assert plain.returncode == 2


def test_the_plain_form_answers_as_the_others_do(program: Program) -> None:
    plain, full = program("usage", "--json"), program("usage", "daily", "--json")
    assert (plain.returncode, plain.stdout, plain.stderr) == (0, full.stdout, full.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="no signals of this kind")
def test_ctrl_c_ends_the_plain_form_with_130_and_one_line(tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    os.mkfifo(settings)  # whoever reads it waits
    environment = {**os.environ, "TURNLOG_CONFIG": str(settings)}
    words = [sys.executable, "-m", "turnlog", "usage"]
    with (
        subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running,
        settings.open("wb"),  # as soon as somebody reads it
    ):
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=20)
    assert (running.returncode, out, err) == (130, b"", b"turnlog: interrupted\n")


HOUR_GROUPING = """
import sys
from turnlog.cli.program import run_program
from turnlog.store.usage.groupings import GROUPINGS, UsageGrouping, build_label_column, build_row_report
from turnlog.store.usage.usage_reports import UsageReportRow
from turnlog.store.usage.usage_sums import sum_spend_by

def list_rows(db, wanted, _stretches):
    return [UsageReportRow({"clock": f"{hour:02} h"}, found) for hour, found in sum_spend_by(db, wanted, "hour % 24")]

GROUPINGS["clock"] = UsageGrouping(
    build_row_report(list_rows), ("clock",), (build_label_column("clock", "hour (UTC)"),), ", in the hour of the day"
)
sys.exit(run_program(sys.argv[1:]))
"""


def test_a_grouping_that_is_added_in_one_place_has_a_report_a_table_csv_and_json(shop: Machine) -> None:
    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", HOUR_GROUPING, "usage", *words], capture_output=True, encoding="utf-8", timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    table, total = run("clock").splitlines(), json.loads(run("--json"))["total"]
    assert table[0].split()[:3] == ["hour", "(UTC)", "messages"]
    assert table[1].startswith("10 h  ")
    assert table[2].startswith("total  ")
    assert "Counted: every message once, sub-agents included, in the hour of the day." in table
    records = list(csv.DictReader(io.StringIO(run("clock", "--csv"))))
    assert [(row["clock"], int(row["output_tokens"])) for row in records] == [("10 h", total["output_tokens"])]
    document = json.loads(run("clock", "--json"))
    assert (document["kind"], document["total"]) == ("clock", total)
    assert [(row["clock"], row["messages"]) for row in document["rows"]] == [("10 h", 3)]
    assert "clock" in run("--help")


def test_a_report_that_there_is_not_is_refused_in_one_line(turnlog: Turnlog, shop: Machine) -> None:
    assert turnlog("usage", "clock").status == 2
    with pytest.raises(UsageError, match=r"unknown report 'clock'; choose one of daily, weekly, .*blocks"):
        build_usage_report(build_usage_tables([shop.folder]), UsageRequest("clock"))
