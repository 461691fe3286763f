"""Names that are completed on the input line, vi keys, and queued input that is edited."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.api import Gate
from tests.agent.desk import Desk, reply, says, script

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")]
MakeDesk = Callable[[dict[str, Any]], Desk]
READY = "\x1b[?2004h> "


def list_prompts(here: Desk) -> list[str]:
    """The prompts that were written to the session."""
    return [row["message"]["content"] for row in here.session if row.get("promptSource")]


def test_tab_completes_commands_and_files(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two."))
    here.trust()
    (here.cwd / "docs").mkdir()
    for name in ("docs/my notes.txt", "docs/.hidden", "docs/my\x1b[2Jodd"):
        (here.cwd / name).write_text("x")
    commands = here.config / "commands"
    commands.mkdir()
    (commands / "review.md").write_text("Review it.")
    with here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("see @do\t")
        terminal.expect("@docs/")
        terminal.send("\t")
        terminal.expect('@"docs/my notes.txt" ')
        terminal.send("/st\tplease\r")
        terminal.expect("One.")
        terminal.expect(READY)
        terminal.send("/stat\t\r")
        terminal.expect("context")
        terminal.expect(READY)
        terminal.send("/revi\tnow\r")
        terminal.expect("Two.")
        terminal.expect(READY)
        terminal.send("\x04")
        assert terminal.wait_for_end() == 0
    assert list_prompts(here)[0] == 'see @"docs/my notes.txt" /stplease'
    assert "Review it." in json.dumps(here.requests[-1]["messages"][-1])


def test_tab_again_lists_again_and_takes_no_key_that_follows(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two."))
    here.trust()
    for name in ("main.py", "mail.py"):
        (here.cwd / name).write_text("x")
    with here.terminal() as terminal:
        terminal.expect(READY)
        for _ in range(3):
            terminal.send("@ma\t")
            terminal.expect("@mail.py")
            terminal.send("\t")
            terminal.expect("@mail.py")
            terminal.send("\t\x15")
        terminal.send("see @mail\t\tand @main\t\tnow\r")
        terminal.expect("One.")
        terminal.expect(READY)
        terminal.send("x\t\t\x1b[200~pasted\x1b[201~\r")
        terminal.expect("Two.")
    assert list_prompts(here) == ["see @mail.py and @main.py now", "xpasted"]


def test_the_keys_of_vi_edit_the_line(desk: MakeDesk) -> None:
    here = desk(script("One."))
    here.trust()
    (here.config / "settings.json").write_text(json.dumps({"editorMode": "vim"}))
    with here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("one two three\x1bbdwA\x1b0iX")
        terminal.send("\x1b[Z")
        terminal.expect("acceptEdits > Xone two")
        terminal.send("\r")
        terminal.expect("One.")
    assert [text.strip() for text in list_prompts(here)] == ["Xone two"]


def test_up_brings_queued_input_back_to_be_edited(desk: MakeDesk) -> None:
    gate = Gate()
    here = desk(script({**reply(says("word " * 40)), "do": gate}, "Second."))
    here.trust()
    with here.terminal("first") as terminal:
        terminal.expect("word")
        terminal.send("second\r")
        terminal.expect("queued: second")
        terminal.send("\x1b[A")
        terminal.expect("> second")
        terminal.send("\x17third\r")
        terminal.expect("queued: third")
        gate.open()
        terminal.expect("Second.")
    assert list_prompts(here) == ["first", "third"]
