"""Instructions from files (`--system-prompt-file`, `--append-system-prompt-file`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.desk import Desk, script

MakeDesk = Callable[[dict[str, Any]], Desk]


def test_instructions_come_from_files(desk: MakeDesk) -> None:
    here = desk(script("ok"))
    (here.cwd / "a.md").write_text("Be brief.")
    (here.cwd / "b.md").write_text("Be kind.")
    done = here.turnlog("-p", "hi", "--system-prompt-file", "a.md", "--append-system-prompt-file", "b.md")
    assert (done.returncode, done.stderr) == (0, "")
    text = " ".join(block["text"] for block in here.requests[-1]["system"])
    assert "Be brief." in text
    assert "Be kind." in text


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--system-prompt-file", "none.md"), "--system-prompt-file none.md: No such file or directory"),
        (("--append-system-prompt-file", "bad.md"), "--append-system-prompt-file bad.md: not UTF-8 text"),
        (("--system-prompt", "x", "--system-prompt-file", "bad.md"), "use --system-prompt or --system-prompt-file"),
    ],
)
def test_a_file_that_can_t_be_read_ends_the_start(desk: MakeDesk, words: tuple[str, ...], problem: str) -> None:
    here = desk(script("ok"))
    (here.cwd / "bad.md").write_bytes(b"\xff\xfe\x00")
    done = here.turnlog("-p", "hi", *words)
    assert done.returncode == 2
    assert problem in done.stderr
