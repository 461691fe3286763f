"""`turnlog export`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.conftest import CHROMIUM, Program
from tests.redact.plants import TOKENS, drawer
from tests.session.build import Build, variant
from turnlog.export import html
from turnlog.export.pdf import print_pdf
from turnlog.export.pdf_pages import read_turn_pages

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "bbbbbbbb-0000-4000-8000-000000000002"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to write into."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return folder


def talk(*texts: str, **fields: str) -> bytes:
    build = Build()
    for text in texts or ("hello",):
        build.prompt(text, **fields)
        build.answer(f"answer to {text}")
    return build.data()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_session_becomes_a_page_that_is_named_by_its_title(turnlog: Turnlog, here: Path) -> None:
    done = turnlog("export", "bee7dbd3")
    assert done.status == 0
    assert names(here) == {"fix-cent-rounding-in-the-cart-bee7dbd3.html"}
    assert done.out.startswith("Wrote fix-cent-rounding-in-the-cart-bee7dbd3.html (")
    assert "<h1>Fix cent rounding in the cart</h1>" in (here / names(here).pop()).read_text()


@pytest.mark.parametrize("form", ["md", "txt", "html"])
def test_a_model_without_a_known_price_is_not_called_free(turnlog: Turnlog, machine: Machine, form: str) -> None:
    build = Build()
    build.prompt("hello")
    build.answer("hi", model="unheard-of-1", usage={"input_tokens": 1_000, "output_tokens": 500})
    machine.add(ONE, build.data())
    text = turnlog("export", ONE, "--format", form, "--output", "-").out
    assert "500 output tokens, unpriced: 1,500 tokens from models without a known price" in text
    assert "$0.00" not in text


def test_a_small_cost_is_not_rounded_to_nothing(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("hello")
    build.answer("hi", model="claude-sonnet-4-5", usage={"input_tokens": 100, "output_tokens": 100})
    machine.add(ONE, build.data())
    assert "100 output tokens, $0.0018 at list prices" in turnlog("export", ONE, "--format", "md", "-o", "-").out


@pytest.mark.parametrize(
    ("sender", "label"),
    [("peer", "From another agent (helper)"), ("zork", "From outside, not typed by a person")],
)
def test_a_page_calls_the_words_of_others_a_prompt_to_nobody(
    turnlog: Turnlog, machine: Machine, sender: str, label: str
) -> None:
    build = Build()
    build.prompt("Done.", origin={"kind": sender, "name": "helper"})
    build.answer("hi")
    machine.add(ONE, build.data())
    page = turnlog("export", ONE, "--format", "html", "--output", "-").out
    assert f'aria-label="{label}' in page
    assert 'aria-label="Prompt"' not in page


@pytest.mark.parametrize(
    ("form", "ending"),
    [("md", ".md"), ("txt", ".txt"), ("json", ".json"), ("messages", ".messages.json"), ("openai", ".openai.json")],
)
def test_each_format_has_its_ending(turnlog: Turnlog, here: Path, form: str, ending: str) -> None:
    assert turnlog("export", "bee7dbd3", "--format", form).status == 0
    assert names(here) == {f"fix-cent-rounding-in-the-cart-bee7dbd3{ending}"}


def test_the_ending_of_the_file_tells_the_format(turnlog: Turnlog, here: Path) -> None:
    assert turnlog("export", "bee7dbd3", "-o", "a.md").status == 0
    assert (here / "a.md").read_text().startswith("# Fix cent rounding in the cart\n")


@pytest.mark.parametrize("form", ["md", "txt"])
@pytest.mark.parametrize("session", ["bee7dbd3", "67df1d90", "22161731"])
def test_documents_of_the_demo_read_well(
    turnlog: Turnlog, session: str, form: str, snapshot: SnapshotAssertion
) -> None:
    assert turnlog("export", session, "-f", form, "-o", "-", "--turns", "1..2").out == snapshot


def test_standard_output_gets_the_document_and_nothing_else(turnlog: Turnlog, here: Path) -> None:
    done = turnlog("export", "bee7dbd3", "-f", "json", "-o", "-", "--redact")
    assert done.json["session"]["session_id"].startswith("bee7dbd3")
    assert "Secrets replaced with placeholders: never" in done.err
    assert names(here) == set()


def test_the_messages_are_those_of_turnlog_messages(turnlog: Turnlog) -> None:
    exported = turnlog("export", "bee7dbd3", "-f", "messages", "-o", "-").json
    assert exported == turnlog("messages", "bee7dbd3", "--json").json


def test_what_is_there_is_replaced_only_by_force(turnlog: Turnlog, here: Path) -> None:
    (here / "a.md").write_text("mine")
    done = turnlog("export", "bee7dbd3", "-o", "a.md")
    assert done.status == 2
    assert "--force" in done.err
    assert (here / "a.md").read_text() == "mine"
    assert turnlog("export", "bee7dbd3", "-o", "a.md", "--force").status == 0
    assert (here / "a.md").read_text() != "mine"


def test_a_folder_is_where_the_file_is_put(turnlog: Turnlog, here: Path) -> None:
    (here / "out").mkdir()
    assert turnlog("export", "bee7dbd3", "-o", "out").status == 0
    assert turnlog("export", "bee7dbd3", "-f", "parquet", "-o", "out/").status == 0
    name = "fix-cent-rounding-in-the-cart-bee7dbd3"
    assert names(here / "out") == {f"{name}.html", f"{name}-parquet"}


def test_options_choose_what_is_exported(turnlog: Turnlog) -> None:
    words = ["export", "bee7dbd3", "-f", "md", "-o", "-"]
    assert "**Bash**" in turnlog(*words).out
    short = turnlog(*words, "--no-tools", "--no-thinking", "--turns", "2").out
    assert "**Bash**" not in short
    assert "*Thinking*" not in short
    assert "## Turn 1" not in short
    assert "## Turn 2" in short
    assert "<details>" in turnlog(*words, "--details").out
    assert "mode" in turnlog(*words, "--meta").out


def test_a_branch_is_chosen_by_its_number(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("one", "u1")
    build.answer("a", uuid="a1")
    build.prompt("old way", "u2")
    build.prompt("new way", "u3", parent="a1")
    build.answer("b", uuid="a3")
    path = machine.add(ONE, build.data())
    words = ["export", path, "-f", "txt", "-o", "-"]
    assert "old way" not in turnlog(*words).out
    assert "old way" in turnlog(*words, "--branch", "1").out
    both = turnlog(*words, "--branch", "all").out
    assert "old way" in both
    assert "new way" in both


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "use SESSION, --project P or --all"),
        (["last", "--all"], "use only one of SESSION"),
        (["--all", "--turns", "1"], "require one SESSION"),
        (["--all", "-f", "pdf"], "pdf requires one SESSION"),
        (["--all", "-o", "-"], "requires one SESSION"),
        (["last", "-f", "parquet", "-o", "-"], "otherwise, write to a folder"),
        (["last", "-f", "parquet", "--turns", "1"], "whole sessions"),
        (["last", "-o", "-", "--json"], "--json and --output - both write to standard output"),
        (["last", "-f", "openai", "--turns", "1"], "--branch K"),
        (["last", "--share", "--meta"], "--share can't be combined with --meta"),
        (["last", "--turns", "x"], "such as 2..5"),
        (["last", "--turns", "999"], "this session has turns"),
        (["last", "--branch", "999"], "this session has branches"),
        (["last", "-o", "gone/a.html"], "no such folder"),
    ],
)
def test_words_that_make_no_sense_are_refused(turnlog: Turnlog, here: Path, words: list[str], reason: str) -> None:
    done = turnlog("export", *words)
    assert done.status == 2
    assert reason in done.err
    assert names(here) == set()


def test_a_project_becomes_a_small_site(turnlog: Turnlog, machine: Machine, here: Path) -> None:
    machine.add(ONE, talk("first", cwd="/home/dana/shop"))
    machine.add(TWO, talk("second", cwd="/home/dana/shop"))
    machine.add("cccccccc-0000-4000-8000-000000000003", talk("third", cwd="/home/dana/other"))
    done = turnlog("export", "--project", "shop", "-o", "site")
    assert done.status == 0
    assert done.out.startswith("Wrote site (2 sessions, ")
    assert names(here / "site") == {".turnlog-export", "index.html", "first-aaaaaaaa.html", "second-bbbbbbbb.html"}
    assert "third" not in (here / "site" / "index.html").read_text()
    assert turnlog("export", "--project", "shop", "-o", "site").status == 2
    assert turnlog("export", "--all", "-o", "site", "--force").status == 0
    assert "third-cccccccc.html" in names(here / "site")


def test_a_project_in_another_format_is_a_file_for_each_session(turnlog: Turnlog, machine: Machine, here: Path) -> None:
    machine.add(ONE, talk("first"))
    machine.add(TWO, talk("second"))
    assert turnlog("export", "--all", "-f", "md").status == 0
    assert names(here / "turnlog-export") == {".turnlog-export", "first-aaaaaaaa.md", "second-bbbbbbbb.md"}


def test_a_session_that_cant_be_exported_is_left_out_and_told(turnlog: Turnlog, machine: Machine, here: Path) -> None:
    machine.add(ONE, talk("first"))
    machine.add(TWO, variant("minimum-without-timestamp").read_bytes())
    done = turnlog("export", "--all", "-f", "messages", "--json")
    assert done.status == 0
    assert [item["session_id"] for item in done.json["sessions"]] == [ONE]
    assert [Path(item["path"]).stem for item in done.json["skipped"]] == [TWO]
    assert "would not resume" in done.json["skipped"][0]["reason"]
    assert "Left out: " in turnlog("export", "--all", "-f", "messages", "--force").err


def test_an_unknown_project_is_told(turnlog: Turnlog, machine: Machine, here: Path) -> None:
    machine.add(ONE, talk("first"))
    done = turnlog("export", "--project", "nowhere")
    assert done.status == 2
    assert done.err == "turnlog: --project 'nowhere': no session has this project\n"
    assert names(here) == set()


def test_all_sessions_become_tables(turnlog: Turnlog, machine: Machine, here: Path) -> None:
    machine.add(ONE, talk("first"))
    machine.add(TWO, talk("second"))
    assert turnlog("export", "--all", "-f", "parquet", "-o", "tables").status == 0
    assert names(here / "tables") == {".turnlog-export"} | {
        f"{name}.parquet" for name in ("sessions", "turns", "messages", "calls", "usage", "entries")
    }


def test_without_pyarrow_the_extra_is_named(program: Program, tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError('no')\n")
    done = program("export", "bee7dbd3", "-f", "parquet", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "turnlog[parquet]" in done.stderr
    assert not list(tmp_path.glob("*-parquet"))
    assert not list(tmp_path.glob(".turnlog*"))


def test_secrets_are_replaced_and_counted(turnlog: Turnlog, machine: Machine, here: Path) -> None:
    secret = TOKENS["github"](drawer(1))
    path = machine.add(ONE, talk(f"use {secret}", f"{secret} again"))
    done = turnlog("export", path, "-o", "a.html", "--redact")
    assert secret not in (here / "a.html").read_text()
    assert "Secrets replaced with placeholders: " in done.out
    assert "github " in done.out
    assert secret in path.read_text()
    turnlog("export", path, "-o", "b.html")
    assert secret in (here / "b.html").read_text()


def test_a_page_for_strangers_names_nobody(turnlog: Turnlog, machine: Machine, here: Path) -> None:
    secret = TOKENS["github"](drawer(2))
    build = Build()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    build.prompt([{"type": "text", "text": f"{secret} for dana@example.org in /home/dana/shop"}, picture])
    path = machine.add(ONE, build.data())
    done = turnlog("export", path, "--share")
    (file,) = here.iterdir()
    text = file.read_text()
    assert not [word for word in (secret, "dana", "iVBORw0KGgo=") if word in text]
    assert secret[4:].lower() not in file.name
    assert "user " in done.out
    assert "iVBORw0KGgo=" in turnlog("export", path, "--share", "--images", "-o", "-", "-f", "html").out
    assert secret in turnlog("export", path, "--share", "--no-redact", "-o", "-").out


def test_a_long_session_says_where_its_other_pages_are(
    turnlog: Turnlog, machine: Machine, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "MAX_PAGE_ITEMS", 4)
    path = machine.add(ONE, talk(*(f"p{number}" for number in range(60))))
    done = turnlog("export", path, "-o", "a.html")
    assert "a-pages" in done.out
    assert names(here) == {"a.html", "a-pages"}
    assert turnlog("export", path, "-o", "b.html", "--one-file").status == 0
    assert names(here) == {"a.html", "a-pages", "b.html"}


def test_nothing_of_a_transcript_acts_on_a_terminal(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.note("custom-title", customTitle=HOSTILE)
    build.prompt("x")
    path = machine.add(ONE, build.data())
    done = turnlog("export", path, "-f", "txt", "--redact")
    assert harmful(done.out) == set()
    assert harmful(done.err) == set()


@pytest.mark.skipif(not CHROMIUM.is_file(), reason="no Chromium")
def test_a_pdf_is_printed_by_the_installed_browser(turnlog: Turnlog, here: Path) -> None:
    assert turnlog("export", "bee7dbd3", "-o", "a.pdf", "--browser", CHROMIUM).status == 0
    assert (here / "a.pdf").read_bytes().startswith(b"%PDF-")
    assert names(here) == {"a.pdf"}


@pytest.mark.skipif(not CHROMIUM.is_file(), reason="no Chromium")
def test_the_contents_of_a_pdf_have_the_page_of_each_turn(here: Path) -> None:
    slots = "".join(
        f'<p><a href="#t-{turn}">{turn}</a> <span class="page-number" data-turn="t-{turn}"></span></p>'
        for turn in (1, 2, 3, 4)
    )
    style = "<style>.page-number { position: absolute; right: 0 } h2 { break-before: page }</style>"
    turns = "".join(f'<h2 id="t-{turn}">Turn {turn}</h2>' for turn in (1, 2, 3))
    pieces = [f"<!doctype html>{style}<h1>Contents</h1>{slots}".encode(), turns.encode()]
    source = here / "printed.html"

    printed = print_pdf(pieces, str(CHROMIUM))
    numbers = read_turn_pages(printed)
    assert numbers == {"t-1": 2, "t-2": 3, "t-3": 4}

    filled = slots
    for name, number in numbers.items():
        filled = filled.replace(f'data-turn="{name}"></span>', f'data-turn="{name}">{number}</span>')
    assert filled.count("</span>") == 4  # a turn that is not there keeps an empty slot
    source.write_bytes(pieces[0].replace(slots.encode(), filled.encode()) + pieces[1])
    wanted = print_pdf([source.read_bytes()], str(CHROMIUM))
    assert _list_streams(printed) == _list_streams(wanted)
    assert _list_streams(printed) != _list_streams(print_pdf([b"", pieces[0] + pieces[1]], str(CHROMIUM)))


def _list_streams(pdf: bytes) -> list[bytes]:
    """List what is drawn on the pages."""
    return re.findall(rb"stream\n(.*?)endstream", pdf, re.DOTALL)


def test_a_pdf_of_another_program_gives_no_page_numbers() -> None:
    assert read_turn_pages(b"%PDF-1.7 nothing that is known") == {}
    loop = b"\n1 0 obj\n<</Type /Pages /Kids [1 0 R]>>\nendobj\n2 0 obj\n<</t-1 [9 0 R /XYZ 0 0 0]>>\nendobj\n"
    assert read_turn_pages(loop + b"<</Type /Catalog\n/Pages 1 0 R\n/Dests 2 0 R>>") == {}


def test_without_a_browser_that_is_said_in_one_line(
    turnlog: Turnlog, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(here))
    monkeypatch.setattr("turnlog.export.pdf._USUAL_BROWSER_PATHS", ())
    done = turnlog("export", "bee7dbd3", "-f", "pdf")
    assert done.status == 1
    assert "needs Chromium or Chrome" in done.err
    assert turnlog("export", "bee7dbd3", "-f", "pdf", "--browser", "nothing").status == 1
    assert names(here) == set()


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_a_browser_that_prints_nothing_is_told(turnlog: Turnlog, here: Path) -> None:
    fake = here / "browser"
    fake.write_text("#!/bin/sh\necho no display >&2\n")
    fake.chmod(0o755)
    done = turnlog("export", "bee7dbd3", "-o", "a.pdf", "--browser", str(fake))
    assert done.status == 1
    assert "printed nothing: no display" in done.err
    assert names(here) == {"browser"}


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interrupted_export_leaves_nothing(tmp_path: Path, here: Path) -> None:
    path = tmp_path / f"{ONE}.jsonl"
    path.write_bytes(talk(*(f"p{number} " + "`code` " * 200 for number in range(700))))
    words = [sys.executable, "-m", "turnlog", "export", str(path), "-o", "a.html"]
    with subprocess.Popen(words, cwd=here, stderr=subprocess.PIPE, text=True) as running:
        while not names(here):  # what it is written to before it has its name
            assert running.poll() is None
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    assert running.returncode == 130, err
    assert names(here) == set()


def test_the_report_is_json_on_request(turnlog: Turnlog, here: Path) -> None:
    found = turnlog("export", "bee7dbd3", "-o", "a.md", "--json", "--redact").json
    assert found["output"] == "a.md"
    assert found["format"] == "md"
    assert found["bytes"] == (here / "a.md").stat().st_size
    assert found["redaction"] == {"found": 0, "rules": []}
    assert json.loads(json.dumps(found["sessions"]))[0]["file"] == "a.md"
