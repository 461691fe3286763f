"""What people typed last, according to the histories of prompts that clients write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.live.typed_commands import TypedCommand, TypedCommands


def line(session: str, display: str, seconds: float = 5) -> str:
    fields = {"display": display, "pastedContents": {}, "timestamp": seconds * 1000, "project": "/shop"}
    return json.dumps({**fields, "sessionId": session}) + "\n"


@pytest.mark.parametrize(
    ("display", "command"),
    [("fix it", ""), ("/compact ", "/compact"), ("/compact keep the plan", "/compact"), ("! make", "!"), ("", "")],
)
def test_only_the_name_of_a_command_is_kept(tmp_path: Path, display: str, command: str) -> None:
    (tmp_path / "history.jsonl").write_text(line("one", display))
    commands = TypedCommands([tmp_path])
    commands.poll()
    assert commands.find_latest("one") == TypedCommand(5.0, command)


def test_the_latest_line_of_each_session_counts(tmp_path: Path) -> None:
    history, commands = tmp_path / "history.jsonl", TypedCommands([tmp_path])
    commands.poll()
    assert commands.find_latest("one") is None
    history.write_text(line("one", "hello", 1) + line("two", "/clear", 2))
    commands.poll()
    with history.open("a") as file:
        file.write(line("one", "/compact", 3))
    commands.poll()
    assert commands.find_latest("one") == TypedCommand(3.0, "/compact")
    assert commands.find_latest("two") == TypedCommand(2.0, "/clear")


def test_the_end_of_a_long_history_is_enough(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text(line("old", "hello") + line("two", "x" * 100_000) + line("one", "hello"))
    commands = TypedCommands([tmp_path])
    commands.poll()
    assert [commands.find_latest(name) is None for name in ("old", "two", "one")] == [True, True, False]


LINES = st.sampled_from(["{", "[1]", line("one", "x", 1e200), line("a", "/x")])


@given(data=st.binary() | st.lists(LINES).map("".join))
def test_nothing_in_a_history_does_harm(tmp_path_factory: pytest.TempPathFactory, data: bytes | str) -> None:
    folder = tmp_path_factory.mktemp("config")
    (folder / "history.jsonl").write_bytes(data if isinstance(data, bytes) else data.encode())
    commands = TypedCommands([folder, folder / "missing"])
    commands.poll()
    commands.find_latest("one")
