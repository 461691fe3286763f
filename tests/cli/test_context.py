"""`turnlog context`: what fills the window, for people and programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.conftest import Program
from tests.session.build import SESSION, Build, find_recording, variant
from tests.session.test_filling import MODEL, long_talk, usage
from tests.surfaces.test_call_titles import TITLES
from turnlog.demo import config_dir
from turnlog.render.terminal import make_visible
from turnlog.session.window.pieces import PIECE_GROUPS
from turnlog.session.window.window_fill import UNSEEN_GROUP


def test_people_see_what_is_measured_what_is_estimated_and_how(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("context", machine.add(SESSION, long_talk().data()))
    assert (done.status, done.err) == (0, "")
    assert f"{MODEL} · window 200,000 tokens · Claude Code compacts at about 167,000" in done.out
    assert "measured   the last request had 30,378 tokens (15.2% of the window)" in done.lines
    assert "estimated  the next one would have 30,413 tokens (15.2% of the window)" in done.lines
    assert "Estimated: everything else, at 0.350 tokens per byte of text, the median of 8 steps" in done.out
    assert "Advice: go on. The next request fills 18% of what fits before Claude Code compacts." in done.lines


def test_tables_tell_the_parts_the_turns_the_heaviest_and_the_presets(turnlog: Turnlog, machine: Machine) -> None:
    out = turnlog("context", machine.add(SESSION, long_talk().data())).lines
    rows = {" ".join(row.split()) for row in out}
    assert "results 9,451 31.1% 7" in rows
    assert "Bash 6,300 20.7% 6" in rows
    assert "1 26,904 +6,554 350 280 246 6,300" in rows
    assert "results Read 3,151 10.4% 2 " + "x" * 100 in rows
    assert any(row.startswith("extreme ") for row in rows)


def test_json_has_the_same_numbers(turnlog: Turnlog, machine: Machine) -> None:
    found = turnlog("context", machine.add(SESSION, long_talk().data()), "--json").json
    assert found["measured"] == {"tokens": 30_378, "requests": 9}
    assert sum(part["tokens"] for part in found["estimated"]["parts"]) == found["estimated"]["tokens"] == 30_413
    assert {part["group"] for part in found["estimated"]["parts"]} <= {UNSEEN_GROUP, *PIECE_GROUPS}
    assert [preset["name"] for preset in found["presets"]] == ["light", "standard", "heavy", "extreme"]
    assert all(preset["before"] - preset["saved"] == preset["after"] for preset in found["presets"])
    assert found["heaviest"][0]["kind"] == "Read"
    assert found["heaviest"][0]["what"] == "x" * 100


def test_of_many_pieces_exactly_the_twenty_heaviest_are_listed(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    for number in range(1, 31):
        build.prompt(f"piece{number:02} " + "word " * 10 * number)
        build.answer("ok", usage=usage(1000 * number))
    path = machine.add(SESSION, build.data())
    found = turnlog("context", path, "--json").json
    assert sum(part["pieces"] for part in found["estimated"]["parts"]) == 60
    expected = [f"piece{number:02}" for number in range(30, 10, -1)]
    assert [item["what"].split()[0] for item in found["heaviest"]] == expected
    lines = turnlog("context", path).lines
    start = next(at for at, line in enumerate(lines) if line.startswith("heaviest"))
    listed = lines[start + 1 : lines.index("", start)]
    assert [line.partition("piece")[2][:2] for line in listed] == [name[5:] for name in expected]


def test_one_turn_can_be_asked_for(turnlog: Turnlog, machine: Machine) -> None:
    path = machine.add(SESSION, long_talk().data())
    found = turnlog("context", path, "--turn", "2", "--json").json
    assert [turn["number"] for turn in found["turns"]] == [2]
    assert {item["turn"] for item in found["heaviest"]} == {2}
    out = turnlog("context", path, "--turn", "2").out
    assert "heaviest" in out
    assert "Advice" not in out
    wrong = turnlog("context", path, "--turn", "9")
    assert (wrong.status, wrong.out) == (2, "")
    assert wrong.err == "turnlog: --turn 9: this conversation has turns 1 to 2\n"


def test_only_the_last_turns_are_listed(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    for number in range(30):
        build.prompt(f"p{number}")
        build.answer("a" * 50, model=MODEL, usage=usage(20_000 + number))
    out = turnlog("context", machine.add(SESSION, build.data())).out
    assert "(10 earlier turns: --turn N shows one, --json all)" in out


def build_branches() -> Build:
    build = Build()
    build.prompt("one", "u1")
    build.answer("first", uuid="a1", usage=usage(1_000))
    build.prompt("two", "u2")
    build.answer("second", uuid="a2", usage=usage(2_000))
    build.prompt("other", "u3", parent="a1")
    build.answer("third", uuid="a3", usage=usage(3_000))
    return build


@pytest.mark.parametrize(
    ("words", "tokens"),
    [([], 3_000), (["--branch", "1"], 2_000), (["--leaf", "a1"], 1_000), (["--branch", "a3"], 3_000)],
)
def test_another_branch_or_leaf_can_be_asked_for(
    turnlog: Turnlog, machine: Machine, words: list[str], tokens: int
) -> None:
    path = machine.add(SESSION, build_branches().data())
    assert turnlog("context", path, *words, "--json").json["measured"]["tokens"] == tokens


@pytest.mark.parametrize(
    ("branch", "problem"),
    [
        ("7", "this session has branches 1 to 2"),
        ("nobody", "no entry in this session has a uuid with this prefix"),
        ("u", "several entries have a uuid with this prefix; use more of the uuid"),
    ],
)
def test_a_wrong_branch_is_explained(turnlog: Turnlog, machine: Machine, branch: str, problem: str) -> None:
    done = turnlog("context", machine.add(SESSION, build_branches().data()), "--branch", branch)
    assert (done.status, done.out, done.err) == (2, "", f"turnlog: --branch {branch}: {problem}\n")


def test_a_session_that_the_client_refuses_ends_with_1_and_the_reason(turnlog: Turnlog) -> None:
    done = turnlog("context", variant("only-metadata-rows"))
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"turnlog: {variant('only-metadata-rows')}: the client finds no conversation")


def test_a_sub_agents_file_is_told_too(turnlog: Turnlog) -> None:
    (path,) = (config_dir() / "projects").rglob("agent-a0f26af.jsonl")
    done = turnlog("context", path)
    assert done.status == 0
    assert "Advice: nothing to do. A sub-agent's conversation ends with its task; no client resumes it." in done.out


@pytest.mark.parametrize("name", ["2.1.325/compact", "2.1.325/tools", "2.1.45/tui_edge", "1.0.128/agents"])
def test_recorded_sessions_of_the_real_client_are_told(turnlog: Turnlog, name: str) -> None:
    done = turnlog("context", find_recording(name))
    assert done.status == 0
    assert "Advice: " in done.out


def test_a_session_without_usage_says_so(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("hello")
    build.answer("hi")
    out = turnlog("context", machine.add(SESSION, build.data())).out
    assert "measured   no request in this conversation recorded its size" in out
    assert "no model has answered yet · window size unknown" in out
    assert "the usual rate, because this conversation doesn't show its own" in out


def test_a_machine_without_sessions_shows_the_demo(program: Program) -> None:
    done = program("context", "last", "--json")
    assert json.loads(done.stdout)["measured"]["tokens"] > 0
    assert "demo" in done.stderr


def test_a_hostile_transcript_does_no_harm(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.note("custom-title", customTitle=HOSTILE)
    build.prompt([{"type": "text", "text": HOSTILE}, {"type": HOSTILE}])
    build.call("c1", HOSTILE, {"command": HOSTILE})
    build.result("c1", [{"type": "text", "text": HOSTILE}])
    build.attachment(HOSTILE)
    build.lines[-1]["rendered"] = [HOSTILE]
    build.answer({"type": HOSTILE}, "ok", model=HOSTILE, usage=usage(100))
    path = machine.add(SESSION, build.data())
    done = turnlog("context", path)
    assert done.status == 0
    assert harmful(done.out) == set()
    json.loads(turnlog("context", path, "--json").raw.decode("utf-8"))


def test_nothing_is_written(turnlog: Turnlog, machine: Machine, tmp_path: Path) -> None:
    path = machine.add(SESSION, long_talk().data())
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    turnlog("context", path)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before


def test_a_preset_that_saves_nothing_is_said_to_save_nothing(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("hello")
    build.answer("hi", usage={"input_tokens": 5000, "output_tokens": 2})
    machine.add(SESSION, build.data())
    rows = [line for line in turnlog("context", SESSION).lines if line.startswith(("light", "extreme"))]
    assert [row.split()[4] for row in rows] == ["–", "–"]


@pytest.mark.parametrize(("name", "given", "title"), TITLES)
def test_a_call_has_the_title_that_it_has_everywhere(
    turnlog: Turnlog, machine: Machine, name: str, given: object, title: str
) -> None:
    build = Build()
    build.prompt()
    build.call("c1", name, given)
    build.result("c1")
    found = turnlog("context", machine.add(SESSION, build.data()), "--json").json["heaviest"]
    assert {item["what"] for item in found if item["group"] in ("calls", "results")} == {make_visible(title)}
