"""`turnlog replay` in a pipe, as JSON, and as a recording."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.live.replay.model_terminal import ModelTerminal
from tests.session.build import SESSION, Build

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def build_story() -> Build:
    """Three turns: calls that overlap, an edit, tasks, an error, a compaction, an interruption."""
    build = Build(step=2)
    build.prompt("Please fix the rounding", "p1")
    build.answer("I'll look at **both** files.", uuid="a1", usage={"input_tokens": 50_000})
    build.call("c1", "Read", {"file_path": "/home/dana/cart.py"}, uuid="k1")
    build.call("c2", "Bash", {"command": "make test"}, uuid="k2")
    build.result("c1", "1\tone\n", toolUseResult={"file": {"numLines": 12}})
    build.result("c2", "Exit code 2\nboom", error=True)
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-round(x)", "+exact(x)"]}
    build.call("c3", "Edit", {"file_path": "/home/dana/cart.py"}, uuid="k3")
    build.result("c3", "updated", toolUseResult={"structuredPatch": [hunk]})
    todos = [{"content": "Test it", "status": "in_progress"}, {"content": "Ship it", "status": "pending"}]
    build.call("c4", "TodoWrite", {"todos": todos}, uuid="k4")
    build.result("c4", "ok", toolUseResult={"oldTodos": [], "newTodos": todos})
    build.answer("Done.", uuid="a2", stop_reason="end_turn")
    build.boundary("b1", trigger="auto", preTokens=150_000)
    build.summary("SUMMARY", "s1")
    build.wait(7200)
    build.prompt("And now the docs", "p2")
    build.call("c5", "Bash", {"command": "sleep 100"}, uuid="k5")
    build.interrupt()
    build.prompt("Never mind", "p3")
    build.answer("Fine.", uuid="a3", stop_reason="end_turn")
    return build


def play_recording(path: Path) -> tuple[dict[str, Any], list[tuple[float, str]], ModelTerminal]:
    """Check a recording against asciinema's format, and play it on a terminal of the tests."""
    head, *rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert head["version"] == 2
    assert all(isinstance(head[name], int) and head[name] > 0 for name in ("width", "height"))
    assert all(len(row) == 3 and row[1] == "o" and isinstance(row[2], str) for row in rows)
    times = [row[0] for row in rows]
    assert times == sorted(times)
    assert times[0] >= 0
    terminal = ModelTerminal(head["width"], head["height"])
    for _, _, text in rows:
        terminal.feed(text)
    return head, [(at, text) for at, _, text in rows], terminal


@pytest.fixture
def story(machine: Machine) -> Path:
    return machine.add(SESSION, build_story().data())


def test_in_a_pipe_a_replay_is_plain_text_and_waits_for_nothing(turnlog: Turnlog, story: Path) -> None:
    done = turnlog("replay", story)
    assert (done.status, done.err) == (0, "")
    assert "\x1b" not in done.out
    assert "> Please fix the rounding" in done.lines
    assert "I'll look at **both** files." in done.lines
    assert "● Read /home/dana/cart.py\n  ⎿ 12 lines\n\n● Bash make test\n  ⎿ Exit code 2\n    boom\n" in done.out
    assert "  ⎿ 1 - round(x)\n    1 + exact(x)\n" in done.out
    assert "● Tasks 0 of 2 done\n  [>] Test it\n  [ ] Ship it\n" in done.out
    assert "── a summary replaced the conversation (auto), 150k tokens before ──" in done.lines
    assert done.out.index("> And now the docs") < done.out.index("· interrupted") < done.out.index("> Never mind")


def test_each_call_is_drawn_once_even_if_several_run_together(turnlog: Turnlog, story: Path) -> None:
    lines = turnlog("replay", story).lines
    assert [line for line in lines if line.startswith("● ")] == [
        "● Read /home/dana/cart.py",
        "● Bash make test",
        "● Edit /home/dana/cart.py",
        "● Tasks 0 of 2 done",
        "● Bash sleep 100",
    ]


def test_turns_choose_a_part(turnlog: Turnlog, story: Path) -> None:
    out = turnlog("replay", story, "--from", "2", "--until", "2").out
    assert "> And now the docs" in out
    assert "> Please fix" not in out
    assert "> Never mind" not in out


def test_a_part_that_does_not_exist_is_refused(turnlog: Turnlog, story: Path) -> None:
    done = turnlog("replay", story, "--from", "9")
    assert (done.status, done.err) == (2, f"turnlog: {story}: there is no turn 9; the last turn is 3\n")
    done = turnlog("replay", story, "--from", "3", "--until", "2")
    assert done.status == 2
    assert "the last turn to replay (2) is before the first (3)" in done.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--speed", "64"], "--speed 64 is outside the range from 0.25 to 32"),
        (["--max-gap", "soon"], "'soon' is not a duration"),
        (["--force"], "--size and --force require --record FILE"),
        (["--json", "--record", "x.cast"], "use either --record"),
        (["--record", "x.cast", "--size", "big"], "--size big: use a form such as 100x30"),
        (["--record", "x.cast", "--size", "5x5"], "--size 5x5 is outside the range"),
        (["--record", "-"], "--record requires a file name"),
        (["--record", ""], "--record requires a file name"),
        (["--record", "."], ".: this path already exists; choose a different name with --record, or use --force"),
        (["--record", ".", "--force"], "not written by turnlog; choose a different name with --record"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    turnlog: Turnlog, story: Path, words: list[str], complaint: str
) -> None:
    done = turnlog("replay", story, *words)
    assert done.status == 2
    assert complaint in done.err
    assert len(done.err.splitlines()) <= 2


def test_events_as_json_carry_their_times_and_turns(turnlog: Turnlog, story: Path) -> None:
    rows = [json.loads(line) for line in turnlog("replay", story, "--json", "--speed", "2").lines]
    assert [row["event"] for row in rows][:3] == ["session-start", "prompt", "text"]
    assert (rows[2]["at"], rows[2]["elapsed"], rows[2]["turn"]) == (1.0, 2.0, 1)
    seconds = [row["at"] for row in rows]
    assert seconds == sorted(seconds)
    assert seconds[-1] < 60, "two hours of silence take three seconds"
    assert rows[-1]["elapsed"] > 7200
    assert {row["turn"] for row in rows} == {1, 2, 3}


def test_nothing_in_a_transcript_acts_on_the_terminal(turnlog: Turnlog, machine: Machine) -> None:
    build = Build(step=1)
    build.prompt(HOSTILE)
    build.answer(f"{HOSTILE}\n```\n{HOSTILE}\n```")
    build.call("c1", HOSTILE, {"command": HOSTILE})
    build.result("c1", HOSTILE)
    build.call("c2", "Bash", {"command": HOSTILE})
    build.result("c2", f"Exit code 1\n{HOSTILE}", error=True)
    build.call("c3", "TodoWrite", {"todos": [{"content": HOSTILE, "status": "pending"}]})
    build.result("c3", "ok")
    build.system("api_error", error={"message": HOSTILE})
    build.note("custom-title", customTitle=HOSTILE, sessionId=SESSION)
    path = machine.add(SESSION, build.data())
    assert harmful(turnlog("replay", path).out) == set()
    goal = path.with_suffix(".cast")
    turnlog("replay", path, "--record", goal)
    head, _, _ = play_recording(goal)
    assert harmful(head["title"]) == set()


# -- recordings


def test_a_recording_is_an_asciinema_file_that_shows_the_session(turnlog: Turnlog, story: Path, tmp_path: Path) -> None:
    goal = tmp_path / "out.cast"
    done = turnlog("replay", story, "--record", goal, "--size", "80x24")
    assert done.status == 0
    assert re.fullmatch(rf"{goal}: 0:\d\d long, \d+ KB", done.lines[0])
    head, rows, terminal = play_recording(goal)
    assert (head["width"], head["height"], head["idle_time_limit"]) == (80, 24, 3.0)
    assert head["title"] == "Please fix the rounding"
    assert len(rows) > 50
    assert terminal.is_cursor_visible
    plain = turnlog("replay", story).out.rstrip("\n")
    assert terminal.text == plain, "in the end everything is there, in the order of the plain text"


def test_a_recording_shows_text_piece_by_piece_and_a_spinner(turnlog: Turnlog, story: Path, tmp_path: Path) -> None:
    goal = tmp_path / "out.cast"
    turnlog("replay", story, "--record", goal)
    _, rows, _ = play_recording(goal)
    terminal, screens = ModelTerminal(100, 30), []
    for _, text in rows:
        terminal.feed(text)
        screens.append(terminal.screen)
    lines = {line for screen in screens for line in screen}
    assert {"I'll look at", "I'll look at **both**", "I'll look at **both** files."} & lines > {"I'll look at"}
    assert any("Bash make test" in line and "0:0" in line for line in lines), "the spinner names what runs"
    assert any("▰" in line and "50k of" in line for line in lines), "how full the context is"


def test_a_faster_recording_is_shorter(turnlog: Turnlog, story: Path, tmp_path: Path) -> None:
    lengths = []
    for speed in ("1", "8"):
        turnlog("replay", story, "--record", tmp_path / speed, "--speed", speed)
        lengths.append(play_recording(tmp_path / speed)[1][-2][0])
    assert lengths[0] == pytest.approx(8 * lengths[1], rel=0.01)


def test_a_recording_has_no_secrets_unless_it_is_asked_for_them(
    turnlog: Turnlog, machine: Machine, tmp_path: Path
) -> None:
    build = Build(step=1)
    build.prompt(f"use {SECRET}")
    build.call("c1", "Bash", {"command": f"curl -H 'Authorization: Bearer {SECRET}' x"})
    build.result("c1", f"token={SECRET}")
    build.answer(f"I used {SECRET}.")
    path = machine.add(SESSION, build.data())
    done = turnlog("replay", path, "--record", tmp_path / "safe.cast")
    assert SECRET not in (tmp_path / "safe.cast").read_text()
    assert done.lines[1] == "4 secrets replaced"
    done = turnlog("replay", path, "--record", tmp_path / "open.cast", "--no-redact")
    assert SECRET in (tmp_path / "open.cast").read_text()
    assert "Redaction is off" in done.err
    assert SECRET in turnlog("replay", path).out
    assert SECRET not in turnlog("replay", path, "--redact").out
    assert SECRET not in turnlog("replay", path, "--redact", "--json").out


def test_a_recording_never_replaces_a_file_without_force(turnlog: Turnlog, story: Path, tmp_path: Path) -> None:
    goal = tmp_path / "out.cast"
    goal.write_text("mine")
    done = turnlog("replay", story, "--record", goal)
    assert (done.status, goal.read_text()) == (2, "mine")
    assert "already exists" in done.err
    assert turnlog("replay", story, "--record", goal, "--force").status == 0
    play_recording(goal)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["out.cast"]


def test_a_sub_agent_s_work_is_indented_and_has_its_name(turnlog: Turnlog, machine: Machine) -> None:
    build = Build(step=10)
    build.prompt("Go")
    build.call("t1", "Task", {"description": "Look at the tests", "prompt": "look", "subagent_type": "Explore"})
    build.result("t1", "All good", toolUseResult={"agentId": "a1", "totalToolUseCount": 1, "totalTokens": 900})
    path = machine.add(SESSION, build.data())
    agent = Build(step=1)
    agent.wait(22)
    agent.prompt("look", isSidechain=True, agentId="a1")
    agent.call("x1", "Grep", {"pattern": "def test"}, isSidechain=True, agentId="a1")
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(agent.data())
    lines = turnlog("replay", path).lines
    head = lines.index("● Task Look at the tests")
    assert lines[head + 1] == "  ┆ Look at the tests Grep def test"
    assert turnlog("replay", folder / "agent-a1.jsonl").lines[-1] == "● Grep def test"


def test_a_session_without_messages_is_played_and_not_recorded(
    turnlog: Turnlog, machine: Machine, tmp_path: Path
) -> None:
    path = machine.add(SESSION, b"")
    assert turnlog("replay", path).status == 0
    done = turnlog("replay", path, "--record", tmp_path / "x.cast")
    assert done.status == 2
    assert "nothing to record" in done.err
    assert not (tmp_path / "x.cast").exists()
