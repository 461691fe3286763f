"""Which entry a session goes on from when a client that writes no `last-prompt` has compacted it."""

from __future__ import annotations

import pytest

from tests.session.build import Build, encode_lines
from turnlog.session.session import Session


def texts(build: Build) -> list[str]:
    found = Session.from_bytes(encode_lines(build.lines)).conversation().messages
    return [block["text"] for message in found for block in message["content"]]


@pytest.fixture
def build() -> Build:
    found = Build()
    found.prompt("old question")
    found.answer("old answer", uuid="old")
    return found


def test_what_was_named_before_a_compaction_no_longer_counts(build: Build) -> None:
    build.note("last-prompt", lastPrompt="x", leafUuid="old")
    build.boundary()
    build.summary("summary")
    assert texts(build) == ["summary"]
    build.prompt("new question")
    build.answer("new answer")
    assert texts(build) == ["summary", "new question", "new answer"]


def test_what_is_named_behind_it_counts_even_if_it_stands_before(build: Build) -> None:
    build.boundary()
    build.summary("summary")
    build.note("last-prompt", lastPrompt="x", leafUuid="old")
    assert texts(build) == ["old question", "old answer"]
