"""`turnlog quest`: the profile, the rebuild, and the quest in the terminal."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.cli.terminals import WrittenSession, open_seat
from tests.cli.test_json_doc import keys, list_documented_keys
from tests.quest.stories import tell
from tests.session.build import DATA, ROOT
from turnlog.api.quest import read_quest_profile
from turnlog.quest.cosmetics import COSMETICS
from turnlog.quest.experience import DEED_XP, FLOW_PEAK_XP, STREAK_XP
from turnlog.quest.game_event import GAME_KINDS
from turnlog.quest.ledger import ProfileKeeper
from turnlog.web.security import _PLAIN_QUERY_PATTERN

SESSIONS = ("2.1.325/tools", "2.1.325/agents", "2.1.29/tools", "2.0.76/errors")


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a profile of its own."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "turnlog"))


def add_recorded(machine: Machine) -> None:
    for name in SESSIONS:
        shutil.copytree(DATA / "sessions" / name / "projects", machine.folder / "projects", dirs_exist_ok=True)


def test_an_empty_profile_is_printed_without_creating_anything(machine: Machine, turnlog: Turnlog) -> None:
    done = turnlog("quest", "profile")
    assert done.lines[0].endswith("0 of 100 xp")
    assert turnlog("quest", "profile", "--json").json["unlocked"] == ["hat-wizard", "face-mustache"]
    assert read_quest_profile().stats.sessions == 0


def test_every_key_of_the_profile_is_documented_and_printed(turnlog: Turnlog, tmp_path: Path) -> None:
    keeper = ProfileKeeper(tmp_path / "turnlog")
    for number in range(6):
        keeper.count_events(tell(["ultra"] * 10, f"s{number}", pause=60 + number))
    assert set(keys(turnlog("quest", "profile", "--json").json)) == list_documented_keys("quest profile --json")


def test_a_rebuild_counts_genuine_sessions_once_however_often_it_runs(machine: Machine, turnlog: Turnlog) -> None:
    add_recorded(machine)
    first = turnlog("quest", "profile", "--rebuild", "--json")
    assert first.json["xp"] > 100
    assert first.json["stats"]["sessions"] == len(list(machine.folder.glob("projects/*/????????-*.jsonl")))
    assert first.json["stats"]["agents"] > 0
    again = turnlog("quest", "profile", "--rebuild", "--json")
    assert again.json == {**first.json, "flow": again.json["flow"]}
    assert "nothing was missing" in again.err


def test_copies_of_sessions_add_nothing(machine: Machine, turnlog: Turnlog) -> None:
    add_recorded(machine)
    before = turnlog("quest", "profile", "--rebuild", "--json").json["xp"]
    for number, path in enumerate(sorted(machine.folder.glob("projects/*/????????-*.jsonl"))):
        copy = f"{number:08x}-0000-4000-8000-000000000000"
        path.with_name(f"{copy}.jsonl").write_bytes(path.read_bytes().replace(path.stem.encode(), copy.encode()))
    assert turnlog("quest", "profile", "--rebuild", "--json").json["xp"] == before


def test_what_was_earned_in_a_deleted_session_stays(machine: Machine, turnlog: Turnlog) -> None:
    add_recorded(machine)
    before = turnlog("quest", "profile", "--rebuild", "--json").json["xp"]
    shutil.rmtree(machine.folder / "projects")
    (machine.folder / "projects").mkdir()
    assert turnlog("quest", "profile", "--rebuild", "--json").json["xp"] == before


def test_an_unreadable_session_is_named_and_keeps_its_experience(machine: Machine, turnlog: Turnlog) -> None:
    add_recorded(machine)
    before = turnlog("quest", "profile", "--rebuild", "--json").json["xp"]
    path = next(machine.folder.glob("projects/*/????????-*.jsonl"))
    path.unlink()
    path.mkdir()
    done = turnlog("quest", "profile", "--rebuild", "--json")
    assert done.json["xp"] == before


def test_a_replay_in_a_pipe_is_told_in_lines(machine: Machine, turnlog: Turnlog) -> None:
    add_recorded(machine)
    session = next((DATA / "sessions/2.1.325/agents").glob("projects/*/????????-*.jsonl")).stem
    done = turnlog("quest", "--tty", "--replay", session)
    assert done.status == 0
    assert any("is joined by" in line for line in done.lines)
    assert any("sees a companion off" in line for line in done.lines)
    assert done.lines[-1].endswith("has finished: victory!")
    assert read_quest_profile().xp == 0, "a replay never counts"


def test_the_demo_is_told_in_lines_without_any_session(machine: Machine, turnlog: Turnlog) -> None:
    lines = turnlog("quest", "--tty", "--demo").lines
    assert sum("WAITS FOR YOU" in line for line in lines) == 3
    assert any("has SHIPPED" in line for line in lines)
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize(
    "words", [("--demo", "--session", "x"), ("--speed", "2"), ("--tty", "--speed", "2"), ("--demo", "profile")]
)
def test_options_that_do_not_go_together_are_refused(
    machine: Machine, turnlog: Turnlog, words: tuple[str, ...]
) -> None:
    assert turnlog("quest", *words).status == 2


def read_doc(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_table_in_the_documentation_is_the_one_in_the_program() -> None:
    text = read_doc("quest.md")
    for game, kind in GAME_KINDS.items():
        fields = ", ".join(f"`{name}`" for name in kind.fields) or "none"
        row = f"| {kind.sources} | `{game}` | {kind.animation or 'unchanged'} | {kind.effect or 'nothing'} | {fields} |"
        assert row in text, row


def test_the_documentation_names_every_amount_and_every_item() -> None:
    text = read_doc("quest.md")
    for item in COSMETICS:
        assert f"| {item.slot} | {item.name} | {item.level} |" in text
    for amount in (*{xp for xp in DEED_XP.values() if xp}, STREAK_XP, FLOW_PEAK_XP):
        assert f"| {amount} |" in text, amount


@pytest.mark.slow
def test_the_demo_is_drawn_in_a_terminal_and_keys_control_it(tmp_path: Path) -> None:
    home = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "TURNLOG_HOME": str(tmp_path / "turnlog")}
    with open_seat(["quest", "--tty", "--demo", "--speed", "4"], 100, 36, COLORTERM="truecolor", **home) as seat:
        seat.wait_for(lambda screen: "WAITS FOR YOU" in screen.text)
        assert any("▀" in line for line in seat.screen.lines)
        seat.press(" ")
        seat.wait_for(lambda screen: "Paused" in screen.text)
        seat.press("\t")
        seat.wait_for(lambda screen: "Wizard hat" in screen.text)
        seat.resize(60, 20)
        seat.press("\t")
        seat.wait_for(lambda screen: "Wizard hat" not in screen.text)
        seat.press("q")
        assert seat.wait() == 0
        assert seat.is_restored


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_live_sessions_are_drawn_and_counted_until_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    machine = Machine(tmp_path / "claude")
    home = {"CLAUDE_CONFIG_DIR": str(machine.folder), "TURNLOG_HOME": str(tmp_path / "turnlog")}
    (machine.folder / "projects").mkdir(parents=True)
    session = WrittenSession(machine)
    with open_seat(["quest", "--tty"], 100, 30, **home) as seat:
        seat.wait_for(lambda screen: "Fix the cart" in screen.text)
        session.build.call("c1", "Read", {"file_path": "/home/dana/webshop/cart.py"}, cwd=session.cwd)
        session.build.result("c1", cwd=session.cwd)
        session.write()
        seat.wait_for(lambda screen: "5 of 100 xp" in screen.text)
        seat.end(number)
        assert seat.is_restored


@pytest.mark.slow
def test_the_page_of_the_demo_is_served_behind_an_address_that_works_once(tmp_path: Path) -> None:
    home = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "TURNLOG_HOME": str(tmp_path / "turnlog")}
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog", "quest", "--demo"],
        env={**os.environ, **home},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/quest\?demo=1&token=\S+)\n", process.stdout.readline())
        assert found
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
        connection.request("GET", found[2])
        answer = connection.getresponse()
        answer.read()
        goal, _, fragment = (answer.getheader("location") or "").partition("#")
        assert (answer.status, goal) == (303, "/quest?demo=1")
        assert fragment.startswith("turnlog-token=")
        cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
        connection.request("GET", "/quest?demo=1", headers={"cookie": cookie})
        assert connection.getresponse().status == 200
        connection.close()
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.parametrize("query", ["x=%0d%0aset-cookie:a", "x=//evil", "X=1", "demo"])
def test_a_strange_query_is_not_carried_over_to_the_redirect(query: str) -> None:
    assert not _PLAIN_QUERY_PATTERN.fullmatch(query.encode())
