"""Hand-made files whose rows are linked, timed or marked in odd ways."""

from __future__ import annotations

from typing import Any

from tests.interop.case_rows import (
    base,
    between,
    build_branch,
    build_compaction,
    change_row,
    last_prompt,
    raw,
    row,
    text,
    uid,
    without,
)
from tests.interop.classify import Object

ZERO = "00000000-0000-0000-0000-000000000000"


def graph_cases() -> dict[str, bytes]:
    """Name and bytes of each file."""
    made = links() | times() | refused_times() | repairs() | sidechains() | types() | leaves()
    return {name: raw(rows) for name, rows in made.items()}


def link_row(uuid: Any, parent: Any) -> list[Object]:
    """The session with another uuid of u2 and parentUuid of a2."""
    rows = change_row(2, uuid=uuid)
    rows[3]["parentUuid"] = parent
    return rows


def time_answer(value: Any) -> list[Object]:
    """The session with another timestamp on its last answer."""
    return change_row(5, timestamp=value)


def orphan_row(timestamp: Any) -> list[Object]:
    """The session with a missing parent of u2 and another timestamp on it; a1 is of 10:02:00."""
    return change_row(2, parentUuid=uid(99), timestamp=timestamp)


def mark_sidechains(*numbers: int, value: Any = True) -> list[Object]:
    """The session with numbered rows marked as sidechain."""
    return [r | {"isSidechain": value} if i + 1 in numbers else r for i, r in enumerate(base())]


def links() -> dict[str, list[Object]]:
    """Ids that are no uuids."""
    return {
        "uuid-number": link_row(33, 33),
        "uuid-number-parent-string": link_row(33, "33"),
        "uuid-true": link_row(True, True),
        "uuid-empty": link_row("", ""),
        "uuid-empty-passed-by": link_row("", uid(2)),
        "uuid-word": link_row("abc", "abc"),
        "uuid-empty-leaf": change_row(5, uuid=""),
        "uuid-letter-case": link_row("ab", "AB"),
        "parent-number": change_row(3, parentUuid=7),
        "parent-empty": change_row(3, parentUuid=""),
        "parent-false": change_row(3, parentUuid=False),
        "parent-list": change_row(3, parentUuid=[uid(3)]),
    }


def times() -> dict[str, list[Object]]:
    """Timestamps that the client can do with."""
    bare = [{k: v for k, v in r.items() if k != "timestamp"} for r in base()]
    system = row(10, 6, "system", subtype="informational", content="x")
    return {
        "time-middle-number": change_row(2, timestamp=1767261780000),
        "time-middle-word": change_row(2, timestamp="yesterday"),
        "time-leaf-only": [*bare[:5], base()[5]],
        "time-leaf-with-a-space": time_answer("2026-01-01 10:00:00"),
        "time-leaf-date-only": time_answer("2026-01-01"),
        "time-leaf-offset": time_answer("2026-01-01T10:06:00+02:00"),
        "time-leaf-nanoseconds": time_answer("2026-01-01T10:06:00.123456789Z"),
        "time-leaf-in-words": time_answer("Jan 1 2026"),
        "time-leaf-small-letters": time_answer("2026-01-01t10:06:00z"),
        "time-leaf-one-digit": time_answer("1"),
        "time-leaf-30-february": time_answer("2026-02-30T10:06:00Z"),
        "time-none-on-a-trailing-system-row": without([*base(), system], 6, "timestamp"),
        "time-none-on-another-branch": without(build_branch(), 3, "timestamp"),
        "time-none-on-the-root": without(base(), 0, "timestamp"),
    }


def refused_times() -> dict[str, list[Object]]:
    """Timestamps of the leaf that make the client refuse the file."""
    bare = [{k: v for k, v in r.items() if k != "timestamp"} for r in base()]
    system = row(10, 6, "system", subtype="informational", content="x")
    return {
        "refused-time-leaf-none": without(base(), 5, "timestamp"),
        "refused-time-only-on-the-root": [base()[0], *bare[1:]],
        "refused-time-leaf-number": time_answer(1767261900000),
        "refused-time-leaf-word": time_answer("yesterday"),
        "refused-time-leaf-empty": time_answer(""),
        "refused-time-leaf-hour-25": time_answer("2026-01-01T25:06:00Z"),
        "refused-time-leaf-basic-form": time_answer("20260101T100600Z"),
        "refused-time-leaf-digits": time_answer("1767261900000"),
        "refused-time-leaf-none-system-below": without([*base(), system], 5, "timestamp"),
        "refused-time-named-leaf-none": without([*build_branch(), last_prompt(uid(12))], 3, "timestamp"),
    }


def repairs() -> dict[str, list[Object]]:
    """A missing parent two seconds after another row, in several notations."""
    return {
        "repair": orphan_row("2026-01-01T10:02:02.000Z"),
        "repair-too-late": orphan_row("2026-01-01T10:02:05.001Z"),
        "repair-offset": orphan_row("2026-01-01T12:02:02.000+02:00"),
        "repair-number": orphan_row(1767261722000),
        "repair-words": orphan_row("Thu, 01 Jan 2026 10:02:02 GMT"),
        "repair-no-time": orphan_row("yesterday"),
        "repair-not-to-a-sidechain": [
            *base()[:2],
            row(40, None, "user", "side", isSidechain=True, timestamp="2026-01-01T10:02:58.000Z"),
            *orphan_row("2026-01-01T10:03:00.000Z")[2:],
        ],
    }


def sidechains() -> dict[str, list[Object]]:
    """Rows of a sidechain: part of the graph, but never the leaf."""
    apart = [row(42, None, "user", "s1", isSidechain=True), row(43, 42, "assistant", "s2", isSidechain=True)]
    extra = row(41, 3, "assistant", "side extra", isSidechain=True)
    extra["message"]["id"] = "msg_4"
    return {
        "sidechain-in-the-chain": mark_sidechains(3, 4),
        "sidechain-leaf": mark_sidechains(6),
        "sidechain-all-but-the-leaf": mark_sidechains(1, 2, 3, 4, 5),
        "sidechain-all": mark_sidechains(1, 2, 3, 4, 5, 6),
        "sidechain-all-by-a-string": mark_sidechains(1, 2, 3, 4, 5, 6, value="false"),
        "sidechain-zero-and-null": mark_sidechains(1, 2, 3, value=0),
        "sidechain-root-of-a-prompt": [*base(), *apart, row(44, 43, "user", "u4 main")],
        "sidechain-row-of-a-message": [*base()[:4], extra, *base()[4:]],
        "sidechain-child-of-the-leaf": [*base(), row(45, 6, "user", "s child", isSidechain=True)],
        "sidechain-named-as-leaf": [*base(), row(45, 6, "user", "s", isSidechain=True), last_prompt(uid(45))],
    }


def types() -> dict[str, list[Object]]:
    """Row types in the chain, and flags."""
    return {
        "type-missing": without(base(), 2, "type"),
        "type-number": change_row(3, type=5),
        "type-capital": change_row(2, type="User"),
        "type-unknown-leaf": [*base(), row(10, 6, "my-row")],
        "type-system-in-the-chain": between("system", subtype="informational", content="x"),
        "type-system-without-subtype": between("system"),
        "type-attachment-in-the-chain": between("attachment", attachment={"type": "todo_reminder"}),
        "type-attachment-empty": between("attachment"),
        "type-progress-in-the-chain": between("progress", data={}),
        "type-summary-with-uuid": between("summary", summary="t", leafUuid=uid(4)),
        "flag-meta-user-blocks": [
            r | {"isMeta": True, "message": {"role": "user", "content": [text("m1"), text("m2")]}} if i == 2 else r
            for i, r in enumerate(base())
        ],
        "flag-meta-assistant": change_row(3, isMeta=True),
        "flag-transcript-only": change_row(2, isVisibleInTranscriptOnly=True),
        "flag-api-error": change_row(3, isApiErrorMessage=True),
    }


def leaves() -> dict[str, list[Object]]:
    """What last-prompt rows may name."""
    dead = row(10, 4, "system", subtype="informational", content="x")
    kept = {"anchorUuid": uid(21), "uuids": [uid(5), uid(6)], "allUuids": [uid(5), uid(6)]}
    named = [*build_branch(), last_prompt(uid(12))]
    return {
        "leaf-system-row": [*base()[:4], dead, *base()[4:], last_prompt(uid(10))],
        "leaf-progress-row": [*base()[:4], row(10, 4, "progress"), *base()[4:], last_prompt(uid(10))],
        "leaf-with-descendants": [*base(), last_prompt(uid(4))],
        "leaf-other-branch": named,
        "leaf-named-first-in-the-file": [last_prompt(uid(12)), *build_branch()],
        "leaf-then-a-row-without-one": [*named, last_prompt()],
        "leaf-then-null": [*named, last_prompt(None)],
        "leaf-then-empty": [*named, last_prompt("")],
        "leaf-then-unknown": [*named, last_prompt(uid(99))],
        "leaf-then-number": [*named, last_prompt(5)],
        "leaf-then-zeros": [*named, last_prompt(ZERO, explicit=True)],
        "leaf-before-the-boundary": [*build_compaction(), last_prompt(uid(4))],
        "leaf-just-before-the-boundary": [*build_compaction(), last_prompt(uid(6))],
        "leaf-the-boundary": [*build_compaction(), last_prompt(uid(20))],
        "leaf-dropped-by-a-compaction": [*build_compaction(preservedMessages=kept), last_prompt(uid(2))],
        "prompt-below-a-row-before-the-boundary": [*build_compaction(), row(23, 6, "user", "back")],
    }
