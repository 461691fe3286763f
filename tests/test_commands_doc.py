"""README.md and docs/commands.md show what the commands really print, and leave none of them out."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click
import generate_commands_doc as document
import pytest

from turnlog.cli.table import COMMANDS

COMMANDS_PAGE = (document.ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="time zones and paths are told otherwise")
@pytest.mark.parametrize("path", document.DOCUMENTS, ids=lambda path: path.name)
def test_shown_outputs_are_real(path: Path) -> None:
    """If not: python scripts/generate_commands_doc.py."""
    text = path.read_text(encoding="utf-8")
    assert document.MARKED.search(text)
    assert document.renewed(text) == text


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_is_shown(name: str) -> None:
    assert f"<!-- output: turnlog {name} --help -->" in COMMANDS_PAGE


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_every_command_is_explained_and_has_an_example_beside_it(name: str) -> None:
    command = COMMANDS[name].load()
    assert isinstance(command, click.Command)
    page = COMMANDS_PAGE.partition(f"\n## turnlog {name}\n")[2].partition("\n## ")[0]
    prose = re.sub(r"````.*?````", "", page, flags=re.DOTALL)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert f"`{max(parameter.opts, key=len)}" in prose, parameter.opts
    assert "Examples:" in (command.help or "")
