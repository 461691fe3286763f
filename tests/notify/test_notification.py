"""The text of a message: redacted, printable, short, and no more than the user allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.notify.channels import CONTENT_LEVELS, ContentLevel
from turnlog.notify.notification import (
    MAX_BODY_CHARS,
    MAX_TITLE_CHARS,
    Notification,
    build_redaction,
    compose_notification,
)
from turnlog.notify.triggers import ALERT_KINDS, Alert, SessionSnapshot

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
REDACT = build_redaction()


def session(**facts: str) -> SessionSnapshot:
    home = str(Path.home() / "code" / "webshop")
    own: dict[str, Any] = {"project": home, "title": "Fix the rounding", "words": "asks: why?", "state": "waiting"}
    return SessionSnapshot("/s.jsonl", "1234", column="needs", **{**own, **facts})


def compose(alert: Alert, content: ContentLevel = "title") -> Notification:
    return compose_notification(alert, content, REDACT, key="k", now=0.0)


@pytest.mark.parametrize(
    ("content", "headline", "body"),
    [
        ("none", "A session needs you", ""),
        ("title", "Needs you: Fix the rounding", "webshop: waiting for your answer"),
        ("text", "Needs you: Fix the rounding", "~/code/webshop: asks: why?"),
    ],
)
def test_content_limits_what_is_sent(content: ContentLevel, headline: str, body: str) -> None:
    notice = compose(Alert("needs", session()), content)
    assert (notice.headline, notice.body) == (headline, body)


def test_without_content_nothing_of_the_session_is_in_the_message() -> None:
    data = msgspec.json.encode(compose(Alert("finished", session(), 720.0), "none"))
    assert msgspec.json.decode(data) == {
        "id": "k",
        "kind": "finished",
        "time": "1970-01-01T00:00:00.000Z",
        "headline": "A session finished after 12 minutes",
    }


@pytest.mark.parametrize(
    ("alert", "headline", "body"),
    [
        (Alert("needs", session(state="permission")), "Needs you: Fix the rounding", "webshop: waiting for permission"),
        (Alert("failed", session()), "Failed: Fix the rounding", "webshop: the API failed"),
        (Alert("finished", session(), 61.0), "Finished: Fix the rounding", "webshop: finished after 1 minute"),
        (
            Alert("context", session(), amount=91.9),
            "Context nearly full: Fix the rounding",
            "webshop: 91 % of the context window is full",
        ),
        (Alert("cost", session(), amount=5.0), "Cost limit: Fix the rounding", "webshop: $5.00 so far"),
        (Alert("cost", None, amount=1234.5), "Today's sessions cost $1,234.50 so far", ""),
        (Alert("needs", session(title="")), "Needs you: (no title)", "webshop: waiting for your answer"),
    ],
)
def test_each_kind_has_its_words(alert: Alert, headline: str, body: str) -> None:
    notice = compose(alert)
    assert (notice.headline, notice.body) == (headline, body)


@pytest.mark.parametrize("place", ["title", "words", "project"])
def test_secrets_are_replaced_everywhere(place: str) -> None:
    facts = {place: f"use /{KEY} now" if place == "project" else f"use {KEY} now"}
    notice = compose(Alert("needs", session(**facts)), "text")
    assert KEY not in repr(notice)
    assert "[secret:" in repr(notice)


def test_a_secret_that_control_characters_interrupt_is_replaced() -> None:
    notice = compose(Alert("needs", session(title=f"use \x1b[1m{KEY}\x1b[0m now")), "text")
    assert KEY not in repr(notice)


def test_a_secret_at_the_cut_is_not_sent_in_part() -> None:
    for length in range(7_900, 8_010):
        notice = compose(Alert("needs", session(title=" " * length + KEY)), "text")
        assert KEY[:12] not in repr(notice)


@pytest.mark.parametrize("kind", ALERT_KINDS)
@pytest.mark.parametrize("content", CONTENT_LEVELS)
def test_if_redaction_fails_nothing_of_the_session_is_sent(kind: str, content: ContentLevel) -> None:
    def fail(_: str) -> str:
        raise RuntimeError("a broken rule")

    alert = Alert(kind, session(title="private"))  # type: ignore[arg-type]
    notice = compose_notification(alert, content, fail, key="k", now=0.0)
    assert notice == compose(alert, "none")


def test_if_redaction_fails_on_the_state_alone_the_title_is_not_sent_either() -> None:
    def fail_on_state(text: str) -> str:
        if "asks" in text:
            raise RuntimeError("a broken rule")
        return text

    notice = compose_notification(Alert("needs", session()), "text", fail_on_state, key="k", now=0.0)
    assert (notice.headline, notice.title, notice.body) == ("A session needs you", None, "")


@given(st.text(), st.text(), st.text(), st.sampled_from(CONTENT_LEVELS))
def test_any_text_becomes_printable_short_lines(title: str, words: str, project: str, content: ContentLevel) -> None:
    notice = compose(Alert("needs", session(title=title, words=words, project=project)), content)
    msgspec.json.encode(notice)
    assert notice.headline.isprintable()
    assert notice.body.isprintable()
    assert len(notice.headline) <= MAX_TITLE_CHARS + 30
    assert len(notice.body) <= MAX_BODY_CHARS + MAX_TITLE_CHARS + 30


def test_a_huge_title_is_cut() -> None:
    notice = compose(Alert("needs", session(title="x y " * 5_000_000, words="\x1b" * 1_000_000)), "text")
    assert notice.title is not None
    assert len(notice.title) == MAX_TITLE_CHARS
    assert notice.title.endswith("…")
