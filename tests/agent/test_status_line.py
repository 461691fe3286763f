"""The status above the prompt."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.desk import KEY, Desk, script
from tests.agent.waits import wait_until
from tests.cli.conftest import HOSTILE, harmful
from turnlog.agent.console.status_line import find_status_command, paint_status
from turnlog.agent.settings import load_settings
from turnlog.render.terminal import TerminalScreen

MakeDesk = Callable[[dict[str, Any]], Desk]
READY = "\x1b[?2004h> "


def status(command: str, **others: Any) -> str:
    return json.dumps({"statusLine": {"type": "command", "command": command}, **others})


def ask_and_leave(here: Desk, until: Callable[[], bool] = lambda: True) -> str:
    """Ask one question; all that was on the screen."""
    with here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("hi\r")
        terminal.expect("Hello.")
        terminal.expect(READY)
        wait_until(until)
        terminal.send("/help\r")
        terminal.expect("/exit")
        terminal.expect(READY)
        terminal.send("\x04")
        assert terminal.wait_for_end() == 0
        return terminal.screen_text


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_the_status_is_shown_before_the_next_prompt(desk: MakeDesk) -> None:
    here = desk(script("Hello."))
    here.trust()
    (here.cwd / ".git").mkdir()
    (here.cwd / ".git" / "HEAD").write_text("ref: refs/heads/feature/x\n")
    shown = ask_and_leave(here)
    (line,) = [line for line in shown.splitlines() if line.startswith("claude-sonnet-5-5 · project ")]
    assert line.startswith("claude-sonnet-5-5 · project (feature/x) · context ")
    assert "$" in line


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_command_of_the_settings_gets_the_facts_and_not_the_key(desk: MakeDesk) -> None:
    here = desk(script("Hello."))
    here.trust()
    keep = here.base / "given.jsonl"
    program = f"(cat; echo) >> {keep}; echo my status $ANTHROPIC_API_KEY."
    (here.config / "settings.json").write_text(status(program))
    shown = ask_and_leave(here, lambda: keep.exists() and '"output_tokens"' in keep.read_text())
    first, *_, last = [json.loads(line) for line in keep.read_text().splitlines()]
    assert "my status ." in shown
    assert KEY not in keep.read_text()
    assert (first["context_window"]["current_usage"], first["cost"]["total_cost_usd"]) == (None, 0)
    assert last["context_window"]["current_usage"]["output_tokens"] > 0
    assert last["cwd"] == last["workspace"]["current_dir"] == str(here.cwd)
    assert last["transcript_path"].endswith(f"{last['session_id']}.jsonl")
    assert last["model"]["id"] == "claude-sonnet-5-5"


def test_the_command_comes_only_from_where_hooks_may_come_from(desk: MakeDesk) -> None:
    here = desk(script())
    (here.cwd / ".claude").mkdir()
    (here.cwd / ".claude" / "settings.json").write_text(status("touch x"))

    def find(*, is_trusted: bool) -> str:
        return find_status_command(load_settings(here.cwd, here.config, is_trusted=is_trusted))

    assert [find(is_trusted=trusted) for trusted in (False, True)] == ["", "touch x"]
    (here.config / "settings.json").write_text(status("date", disableAllHooks=True))
    assert [find(is_trusted=trusted) for trusted in (False, True)] == ["", ""]
    (here.config / "settings.json").write_text(status("date"))
    assert [find(is_trusted=trusted) for trusted in (False, True)] == ["date", "touch x"]


def test_of_what_the_command_prints_only_colours_act_on_the_terminal() -> None:
    look = TerminalScreen(True, 200)
    assert paint_status("\x1b[31mred\x1b[0m plain", look) == "\x1b[31mred\x1b[0m plain\x1b[0m"
    assert "\x1b[2J" not in paint_status(f"\x1b[31m{HOSTILE}", look)
    assert harmful(paint_status(f"\x1b[31m{HOSTILE}", TerminalScreen(False, 200))) == set()
