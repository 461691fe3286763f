"""A machine with two projects, and their sessions as an agent sees them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.session.build import Build
from tests.web.loops import run_apart
from turnlog.entries.slug import make_slug
from turnlog.mcp.library import SessionLibrary
from turnlog.mcp.project_scope import ProjectScope
from turnlog.mcp.toolbox import TOOLS, ToolAnswer, call_tool

OWN = "aaaaaaaa-1111-4111-8111-111111111111"
FOREIGN = "bbbbbbbb-2222-4222-8222-222222222222"
LIMIT_SECONDS = 300
QUOTE = re.compile(r"<past-session ([0-9a-f]{8})>\n(.*)\n</past-session \1>\Z", re.DOTALL)
T = TypeVar("T")


class Shelf:
    """Sessions of several projects on one machine."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.config = base / "claude"
        self.project = base / "webshop"
        self.foreign = base / "bank"
        for folder in (self.config / "projects", self.project, self.foreign):
            folder.mkdir(parents=True)

    def add(self, name: str, build: Build, folder: Path | None = None) -> Path:
        """Store a session that worked in a folder."""
        place = folder or self.project
        for line in build.lines:
            if "cwd" in line:
                line["cwd"] = str(place)
            line["sessionId"] = name
        path = self.config / "projects" / make_slug(str(place)) / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(build.data())
        return path

    def open(self, folder: Path | None = None, **options: Any) -> SessionLibrary:
        # The index is waited for, however slow the machine is.
        return SessionLibrary(ProjectScope(folder or self.project), max_wait_seconds=LIMIT_SECONDS, **options)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    found = Shelf(tmp_path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(found.config))
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return found


Ask = Callable[..., str]


@pytest.fixture
def library(shelf: Shelf) -> Iterator[SessionLibrary]:
    """The sessions of the project `webshop`, to be filled by the test before its first call."""
    found = shelf.open()
    yield found
    found.close()


@pytest.fixture
def ask(library: SessionLibrary) -> Ask:
    """Call a tool that must answer."""

    def do(name: str, **given: Any) -> str:
        answer = call_tool(library, name, given)
        assert not answer.is_error, answer.text
        return answer.text

    return do


def extract_quote(answer: str) -> str:
    """What an answer quotes; fails if the quote can't be told from the rest."""
    found = QUOTE.search(answer)
    assert found, answer
    assert answer.count(found[1]) == 3  # in the sentence about it, and at both ends
    return found[2]


def call_every_tool(library: SessionLibrary, session: str, file: str = "a.py") -> dict[str, ToolAnswer]:
    """The answers of all tools about one session, as large as they can be."""
    given: dict[str, dict[str, Any]] = {
        "search_sessions": {"query": "password OR token OR hello OR key OR notes"},
        "list_sessions": {},
        "get_session": {"session": session},
        "get_turns": {"session": session, "results": "full"},
        "get_messages": {"session": session},
        "get_files_touched": {"session": session},
        "get_file_version": {"file": file, "session": session},
        "get_usage": {"by": "session"},
    }
    assert given.keys() == TOOLS.keys()
    return {name: call_tool(library, name, {**words, "max_tokens": 20_000}) for name, words in given.items()}


async def call_until_indexed(client: Client, name: str, **given: Any) -> str:
    """Call a tool, again if its answer says that the index is still being built."""
    for _ in range(LIMIT_SECONDS):
        answer = await client.call_tool(name, given)
        assert not answer.is_error
        text = "".join(item.text for item in answer.content if item.type == "text")
        if "The index is being built" not in text:
            return text
    raise AssertionError("the index was not built in time")


def with_client(shelf: Shelf, work: Callable[[Client], Coroutine[Any, Any, T]], *words: str) -> T:
    """Start the server as a client does, and let the client of the official package work with it."""

    async def run() -> T:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-P", "-m", "turnlog", "mcp", *words],
            env={**os.environ},
            cwd=shelf.project,
        )
        async with Client(stdio_client(parameters)) as client:
            return await work(client)

    return run_apart(run())
