"""What `turnlog fleet` prints."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Turnlog
from tests.cli.conftest import turnlog as turnlog_command
from tests.cli.test_json_doc import keys, list_documented_keys
from tests.fleet.lakes import add_recorded, add_session, build_session

turnlog = turnlog_command


@pytest.fixture
def source(tmp_path: Path) -> Path:
    add_recorded(tmp_path / "src/web/ana")
    add_session(tmp_path / "src/ops/ben", build_session())
    return tmp_path / "src"


def build(turnlog: Turnlog, source: Path, lake: Path, *options: str) -> str:
    done = turnlog("fleet", "build", str(source), str(lake), "--workers", "1", "--layout", "{team}/{person}", *options)
    assert done.status == 0, done.err
    return done.out


def test_every_key_is_documented_and_printed(turnlog: Turnlog, source: Path, lake: Path) -> None:
    built = json.loads(build(turnlog, source, lake, "--json"))
    assert {name.replace("rows.", "rows.*.").split(".*")[0] for name in keys(built)} <= list_documented_keys(
        "fleet build --json"
    )
    report = json.loads(turnlog("fleet", "report", str(lake), "--json").out)
    assert {*keys(report)} | {"unknown[].version", "unknown[].name", "unknown[].count"} == list_documented_keys(
        "fleet report --json"
    )
    answer = json.loads(turnlog("fleet", "sql", str(lake), "SELECT 1 AS one", "--json").out)
    assert (answer, {*keys(answer)}) == (
        {"columns": ["one"], "rows": [[1]], "is_cut": False},
        list_documented_keys("fleet sql --json"),
    )
    erased = json.loads(turnlog("fleet", "forget", str(lake), "ben", "--yes", "--json").out)
    assert {*keys(erased)} == list_documented_keys("fleet forget --json")


def test_the_report_shows_every_table(turnlog: Turnlog, source: Path, lake: Path) -> None:
    assert "were up to date" in build(turnlog, source, lake)
    out = turnlog("fleet", "report", str(lake), "--limit", "3").out
    for head in ("month ", "team ", "person ", "project ", "model ", "tool ", "started in ", "version "):
        assert f"\n{head}" in out
    assert "ops" in out
    assert " p-" in out.replace("\np-", " p-")


def test_a_query_is_a_table_or_csv(turnlog: Turnlog, source: Path, lake: Path) -> None:
    build(turnlog, source, lake)
    query = "SELECT team, count(*) AS n FROM sessions WHERE is_session GROUP BY 1 ORDER BY 1"
    out = turnlog("fleet", "sql", str(lake), query).out.splitlines()
    assert [line.split() for line in out][0::1][0] == ["team", "n"]
    rows = list(csv.reader(turnlog("fleet", "sql", str(lake), query, "--csv").out.splitlines()))
    assert rows[1] == ["ops", "1"]
    cut = turnlog("fleet", "sql", str(lake), "SELECT * FROM range(5)", "--limit", "2")
    assert len(cut.out.splitlines()) == 3
    assert "--limit N prints more" in cut.err


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELEC", "syntax error"),
        ("SELECT 1; SELECT 2", "only one SELECT"),
        ("COPY (SELECT 1) TO 'x.csv'", "only one SELECT"),
        ("DROP VIEW usage", "only one SELECT"),
        ("SET threads = 1", "only one SELECT"),
        ("SELECT * FROM read_text('/etc/hostname')", "disabled by configuration"),
        ("SELECT * FROM nothing", "nothing does not exist"),
    ],
)
def test_a_query_can_only_read_the_lake(turnlog: Turnlog, source: Path, lake: Path, query: str, reason: str) -> None:
    add_session(source, build_session())
    build(turnlog, source, lake)
    done = turnlog("fleet", "sql", str(lake), query)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert reason in done.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["build", "src", "lake", "--layout", "{team}"], "--layout '{team}': it must contain {person}"),
        (["build", "src", "lake", "--scheduler", "tcp://127.0.0.1:1"], "--scheduler requires the engine dask"),
        (["build", "src", "lake", "--layout", "{person}", "--person", "me"], "use only one of layout and person"),
        (["build", "src", "ftp://host/lake"], "unknown scheme"),
        (["forget", "lake", "ana"], "confirm it with --yes"),
        (["sql", "lake", "SELECT 1", "--csv", "--json"], "only one of --csv and --json"),
        (["report", "lake", "--since", "someday"], "not a day"),
    ],
)
def test_wrong_arguments_are_one_line(turnlog: Turnlog, words: list[str], reason: str) -> None:
    done = turnlog("fleet", *words)
    assert done.status == 2
    assert reason in done.err


@pytest.mark.parametrize("package", ["obstore", "duckdb", "pyarrow"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    tmp_path: Path, source: Path, lake: Path, package: str
) -> None:
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / f"{package}.py").write_text("raise ImportError")
    shadow = str(tmp_path / "shadow")
    code = f"import sys; sys.path.insert(0, {shadow!r}); from turnlog.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "fleet", "build", str(source), str(lake), "--workers", "1"]
    add_session(source, build_session())
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "run `pip install 'turnlog[" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["build", "report", "sql"])
def test_a_file_is_no_lake(turnlog: Turnlog, source: Path, tmp_path: Path, command: str) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    words = {"build": [str(source), str(file)], "report": [str(file)], "sql": [str(file), "SELECT 1"]}[command]
    done = turnlog("fleet", command, *words)
    assert (done.status, done.err) == (2, f"turnlog: {file}: this is a file; name a folder\n")
    assert file.read_text() == "mine"


def test_a_refused_lake_leaves_no_folder_in_the_source(turnlog: Turnlog, source: Path) -> None:
    lake = source / "lake"
    done = turnlog("fleet", "build", str(source), str(lake), "--layout", "{team}/{person}")
    assert (done.status, done.err) == (2, f"turnlog: {lake}: the lake must not be inside the source\n")
    assert not lake.exists()
