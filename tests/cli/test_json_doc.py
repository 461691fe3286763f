"""docs/json.md tells the truth: every printed key is documented, and every documented key is printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cli.conftest import Turnlog
from tests.session.build import DATA, ROOT, Build, variant
from turnlog.demo import config_dir
from turnlog.entries.layout import session_files

FREE = {"entries.by_type", "entries.by_kind", "entries.scraps"}
"""Objects whose keys are not fixed."""
OPAQUE = {"messages[].content"}
"""Not ours: the Messages API says what is in it."""


def documented(command: str) -> set[str]:
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", text, flags=re.MULTILINE)
    (found,) = [part for part in section if part.startswith(f"`turnlog {command}")]
    return set(re.findall(r"^\| `([^`]+)` \|", found, re.MULTILINE))


def keys(value: Any, path: str = "") -> Iterator[str]:
    if path in OPAQUE:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            name = f"{path}.*" if path in FREE else f"{path}.{key}".lstrip(".")
            yield name
            yield from keys(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{path}[]")


def sessions() -> list[Path]:
    recorded = sorted(DATA.glob("sessions/**/????????-*.jsonl"))
    return recorded + [item.path for item in session_files(config_dir())] + [variant("garbage-line-in-the-middle")]


def test_every_key_of_ls_is_documented_and_printed(turnlog: Turnlog) -> None:
    assert set(keys(turnlog("ls", "--all", "--json").json)) == documented("ls")


def test_every_key_of_show_is_documented_and_printed(turnlog: Turnlog) -> None:
    found = {key for path in sessions() for key in keys(turnlog("show", path, "--json").json)}
    assert found == documented("show")


def test_every_key_of_messages_is_documented_and_printed(turnlog: Turnlog) -> None:
    assert set(keys(turnlog("messages", "bee7dbd3", "--json").json)) == documented("messages")


def test_every_key_of_check_is_documented_and_printed(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.note("api-request", id="r", tail=["0"])
    path = build.write(tmp_path)
    words = ["check", "--requests", "--json", path, config_dir(), variant("unknown-entry-types-and-extra-fields")]
    assert set(keys(turnlog(*words).json)) == documented("check")
