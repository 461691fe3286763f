"""Commands that the client carries out itself, on a session with a scripted model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, harmful
from turnlog.agent.events import TurnEvent
from turnlog.agent.loop import AgentLoop
from turnlog.agent.person import Nobody
from turnlog.agent.resume.resume import load_resumable_session
from turnlog.agent.session_starter import SessionStarter
from turnlog.agent.slash_commands import SLASH_COMMANDS, describe_unknown_command, is_slash_command, run_slash_command
from turnlog.agent.start_options import StartOptions
from turnlog.model.cancel import Cancel
from turnlog.model.scripted_model import ScriptedModel


class Room:
    """A session, and what commands asked for."""

    def __init__(self, base: Path, *answers: str) -> None:
        config = base / "config"
        config.mkdir(exist_ok=True)
        self.model = ScriptedModel(answers)
        starting = SessionStarter(base, base / "data", {"CLAUDE_CONFIG_DIR": str(config)}, self.model)
        self.events: list[TurnEvent] = []
        self.begun = starting.begin_session(StartOptions(), self.events.append, Nobody())
        self.asked: list[str] = []

    @property
    def loop(self) -> AgentLoop:
        return self.begun.loop

    def clear(self) -> None:
        self.asked.append("clear")

    def resume(self, name: str) -> bool:
        self.asked.append(f"resume {name}")
        return bool(name)

    def compact(self, instructions: str) -> bool:
        self.asked.append(f"compact {instructions}")
        return instructions != "stop"

    def rewind(self) -> tuple[str, ...]:
        self.asked.append("rewind")
        return ()

    def edit_file(self, path: Path) -> None:
        self.asked.append(f"edit {path.name}")

    def leave(self) -> None:
        self.asked.append("leave")

    def run_command(self, text: str) -> str:
        found = run_slash_command(self, text)
        assert found is not None
        return "\n".join(found)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path, "One.", "Two.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/help", True),
        ("/model opus", True),
        ("/nope", True),
        ("/usr/bin/x is broken", False),
        ("/", False),
        ("hi", False),
        ("/a.txt", False),
        ("", False),
        ("// comment", False),
    ],
)
def test_a_command_is_a_slash_and_a_word(text: str, expected: bool) -> None:
    assert is_slash_command(text) is expected


def test_help_lists_every_command(room: Room) -> None:
    told = room.run_command("/help")
    assert all(f"/{name}" in told and command.help in told for name, command in SLASH_COMMANDS.items())


def test_an_unknown_command_is_told_and_points_to_help(room: Room) -> None:
    assert run_slash_command(room, "/nope x") is None
    assert describe_unknown_command("/nope x") == "/nope: unknown command; /help lists the commands"
    assert harmful(describe_unknown_command("/" + HOSTILE.replace(" ", ""))) == set()


def test_commands_about_sessions_are_handed_to_the_console(room: Room) -> None:
    room.loop.run_turn("hi", Cancel())
    for text in ("/clear", "/resume", "/resume 7f3a", "/compact keep names", "/exit"):
        room.run_command(text)
    assert room.asked == ["clear", "resume ", "resume 7f3a", "compact keep names", "leave"]


@pytest.mark.parametrize("text", ["/resume 7f3a", " /resume   7f3a ", "/resume\t7f3a", "/resume\n7f3a"])
def test_any_blank_ends_the_name_of_a_command(room: Room, text: str) -> None:
    assert is_slash_command(text)
    room.run_command(text)
    assert room.asked == ["resume 7f3a"]


def test_a_command_leaves_a_remark_in_a_session_that_has_begun(room: Room) -> None:
    room.run_command("/cost")
    assert not room.loop.record.path.exists()
    room.loop.run_turn("hi", Cancel())
    room.run_command("/cost")
    assert room.loop.record.path.read_text("utf-8").count("/cost</command-name>") == 1


def test_a_new_model_is_asked_from_then_on_and_the_session_says_so(room: Room) -> None:
    room.loop.run_turn("hi", Cancel())
    assert room.run_command("/model haiku").startswith("Set model to claude-haiku-")
    room.loop.run_turn("again", Cancel())
    first, second = room.model.requests
    assert first.model != second.model == room.loop.setup.aliases["haiku"]
    room.begun.close()
    found = load_resumable_session(room.loop.record.path)
    assert found.messages == [dict(message) for message in room.loop.conversation.messages]
    assert "<command-name>/model</command-name>" in json.dumps(found.messages)


def test_the_model_is_told_without_a_name(room: Room) -> None:
    told = room.run_command("/model")
    assert room.loop.setup.name in told
    assert "haiku (" in told


def test_cost_adds_up_what_was_used(room: Room) -> None:
    assert room.run_command("/cost").startswith("$0.00 at list prices, 0 requests")
    room.loop.run_turn("hi", Cancel())
    assert "1 request," in room.run_command("/cost")
    assert f"{room.loop.setup.name}: 1 in, 1 out" in room.run_command("/cost")


def test_context_tells_what_fills_the_window(room: Room) -> None:
    told = room.run_command("/context")
    assert "system prompt" in told
    assert "All numbers are estimated" in told
    room.loop.run_turn("hi", Cancel())
    assert "The API counted the total" in room.run_command("/context")


def test_raw_context_is_the_very_request(room: Room) -> None:
    room.loop.run_turn("hi", Cancel())
    before = json.loads(room.run_command("/context --raw"))
    assert before["system"] == list(room.model.requests[0].system)
    assert before["messages"][0]["content"][-1]["text"] == "hi"


def test_raw_context_can_t_act_on_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text(HOSTILE.replace("\ud800", ""))
    room = Room(tmp_path, "One.")
    room.loop.run_turn("hi", Cancel())
    assert harmful(room.run_command("/context --raw")) == set()


def test_what_was_not_said_is_not_summed_up(room: Room) -> None:
    assert room.run_command("/compact") == "There is nothing to compact yet."
    room.loop.run_turn("hi", Cancel())
    assert room.run_command("/compact stop") == "The conversation is unchanged."
    assert "compact" not in json.dumps(list(room.loop.conversation.messages))
    assert room.run_command("/compact") == ""
    assert "<command-name>/compact</command-name>" in json.dumps(list(room.loop.conversation.messages))
