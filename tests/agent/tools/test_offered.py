"""What the model is told of the tools is true, and the same for all who tell it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turnlog.agent.toolbox import build_tools
from turnlog.agent.tools import bash, command_output, described_tool, glob, grep, read, web_fetch


@pytest.fixture
def words() -> dict[str, Any]:
    """The file, tool by tool."""
    path = Path(described_tool.__file__).with_name("offered.json")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def test_every_tool_is_described_and_nothing_else(words: dict[str, Any]) -> None:
    assert list(words) == list(build_tools({}, lambda _: False))


def test_a_description_is_short_and_has_no_blank_lines(words: dict[str, Any]) -> None:
    for name, told in words.items():
        assert all(line.strip() == line != "" for line in told["description"]), name
        assert sum(map(len, told["description"])) < 800, name


def test_all_that_must_be_given_is_described(words: dict[str, Any]) -> None:
    for name, told in words.items():
        schema = told["input_schema"]
        assert schema["type"] == "object", name
        assert set(schema["required"]) <= set(schema["properties"]), name


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("Bash", bash.DEFAULT_TIMEOUT_MS),
        ("Bash", bash.MAX_TIMEOUT_MS),
        ("Bash", command_output.MAX_INLINE_CHARS),
        ("Glob", glob.MAX_GLOB_FILES),
        ("Grep", grep.DEFAULT_HEAD_LIMIT),
        ("Read", read.MAX_UNLIMITED_BYTES // 1024),
        ("WebFetch", web_fetch.MAX_READ_CHARS),
        ("WebFetch", int(web_fetch.PAGE_CACHE_SECONDS // 60)),
    ],
)
def test_the_limits_that_are_told_are_those_that_hold(words: dict[str, Any], name: str, number: int) -> None:
    assert str(number) in json.dumps(words[name])
