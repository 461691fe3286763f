"""README.md and docs/commands.md show what the commands really print, and leave none of them out."""

from __future__ import annotations

import ast
import os
import re
from functools import cache
from pathlib import Path

import click
import generate_commands_doc as document
import pytest

from turnlog.cli.table import COMMANDS

COMMANDS_PAGE = (document.ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
PROGRAMS_PAGE = (document.ROOT / "docs" / "sdk.md").read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="time zones and paths are told otherwise")
@pytest.mark.parametrize("path", document.DOCUMENTS, ids=lambda path: path.name)
def test_shown_outputs_are_real(path: Path) -> None:
    """If not: python scripts/generate_commands_doc.py."""
    text = path.read_text(encoding="utf-8")
    assert document.MARKED.search(text)
    assert document.renew_document(text) == text


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
            text = PROGRAMS_PAGE if parameter.hidden else prose
            assert f"`{max(parameter.opts, key=len)}" in text, parameter.opts
    assert "Examples:" in (command.help or "")


# -- which commands write session files

SESSION_WRITER = "turnlog.entries.writer"
"""An import contract names the modules that may import it; they write session files, and no others do."""
SHARING = {"pack"}
"""Commands that share a module with one that writes: `pack` with `unpack`."""
SOURCE = document.ROOT / "src"


@cache
def imports_of(module: str) -> frozenset[str]:
    """The modules of turnlog that a module imports, at its top or when it works; not those it only names types of."""
    path = SOURCE.joinpath(*module.split("."))
    path = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    if not path.is_file():
        return frozenset()
    found = set()
    tree = ast.parse(path.read_text("utf-8"))
    tree.body = [node for node in tree.body if not is_for_types_only(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("turnlog"):
            found |= {node.module or "", *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names if name.name.startswith("turnlog.")}
    return frozenset(found)


def is_for_types_only(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def list_reached_modules(module: str) -> set[str]:
    """All modules that a module leads to."""
    seen, todo = set[str](), [module]
    while todo:
        if (name := todo.pop()) not in seen:
            seen.add(name)
            todo += imports_of(name)
    return seen


def writes_sessions(module: str) -> bool:
    return SESSION_WRITER in imports_of(module)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SHARING])
def test_the_table_says_of_every_command_whether_it_writes_session_files(name: str) -> None:
    row = COMMANDS[name]
    writers = sorted(filter(writes_sessions, list_reached_modules(f"turnlog.cli{row.module}")))
    assert bool(row.changes or row.adds) is bool(writers), writers


@pytest.mark.parametrize("name", [name for name, row in COMMANDS.items() if row.changes or row.adds])
def test_the_calls_that_write_session_files_exist(name: str) -> None:
    row = COMMANDS[name]
    for call in filter(None, (row.changes, row.adds)):
        first, *rest = call.split()
        assert first == name
        command = row.load()
        known = set(command.commands) if isinstance(command, click.Group) else set()
        known |= {option for parameter in command.params for option in parameter.opts}
        assert set(rest) <= known


def test_the_page_opens_with_the_commands_that_write_session_files() -> None:
    opening = COMMANDS_PAGE.partition("\n## ")[0]
    assert document.describe_writers() in opening
    assert all(f"`{call}`" in opening for call in ("move", "repair --in-place", "undo"))
