"""Compactions: where a summary took the place of older messages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import DATA, base, genuine
from turnlog.session.compactions import Compaction
from turnlog.session.session import Session


def find_compaction(**metadata: Any) -> Compaction:
    build = base()
    build.boundary("b", **metadata)
    build.summary(uuid="s")
    (found,) = build.session().compactions
    return found


def test_a_compaction_tells_what_set_it_off_and_how_much_it_saved() -> None:
    found = find_compaction(trigger="manual", preTokens=5000, postTokens=700.0)
    assert (found.trigger, found.pre_tokens, found.post_tokens) == ("manual", 5000, 700)


def test_what_was_summarised_is_still_reachable() -> None:
    assert [row.uuid for row in find_compaction().summarised] == ["u1", "a1", "u2", "a2", "u3", "a3"]


def test_the_second_compaction_stands_for_what_came_after_the_first() -> None:
    build = base()
    build.boundary("b1")
    build.summary(uuid="s1")
    build.answer("on", uuid="a4")
    build.boundary("b2")
    build.summary(uuid="s2")
    first, second = build.session().compactions
    assert [row.uuid for row in second.summarised] == ["s1", "a4"]
    assert first.summary is not None
    assert first.summary.uuid == "s1"


def test_preserved_messages_are_named() -> None:
    kept = {"anchorUuid": "s", "uuids": ["u3", "a3"]}
    assert find_compaction(preservedMessages=kept).preserved == ("u3", "a3")
    assert find_compaction().preserved == ()
    assert find_compaction(preservedMessages={"uuids": 3}).preserved == ()


def test_the_summary_may_stand_behind_attachments() -> None:
    build = base()
    build.boundary("b")
    build.attachment("session_context")
    build.attachment("date")
    build.summary(uuid="s")
    (found,) = build.session().compactions
    assert found.summary is not None
    assert found.summary.uuid == "s"


def test_the_summary_of_another_compaction_is_not_taken() -> None:
    build = base()
    build.boundary("b")
    build.prompt("no summary here")
    build.summary("somebody else's")
    (found,) = build.session().compactions
    assert found.summary is None


def test_odd_metadata_tells_nothing() -> None:
    build = base()
    build.boundary("b", before="gone")
    build["b"]["compactMetadata"] = "odd"
    (found,) = build.session().compactions
    assert found[1:] == (None, None, None, None, (), ())
    build["b"]["compactMetadata"] = {"trigger": 5, "preTokens": "many", "postTokens": 12345}
    build["b"]["logicalParentUuid"] = 7
    (found,) = Session.from_bytes(build.data().replace(b"12345", b"1e400")).compactions
    assert found[1:] == (None, None, None, None, (), ())


@pytest.mark.parametrize("version", ["1.0.128", "2.0.76", "2.1.29", "2.1.45", "2.1.325"])
def test_every_recorded_compaction_has_its_summary_and_what_was_before(version: str) -> None:
    paths = sorted(DATA.glob(f"sessions/{version}/compact/projects/*/????????-*.jsonl"))
    found = [item for path in paths for item in Session.from_bytes(path.read_bytes()).compactions]
    assert [item.trigger for item in found] == ["manual", "auto", "auto"]
    assert all(item.summary is not None and item.summarised for item in found)


def test_the_newest_client_preserved_messages_in_a_recorded_compaction() -> None:
    found = [item.preserved for item in genuine("2.1.325/compact").compactions]
    assert any(found)
