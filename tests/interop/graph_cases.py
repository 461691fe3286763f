"""Hand-made files whose rows are linked, timed or marked in odd ways."""

from __future__ import annotations

from typing import Any

from tests.interop.case_rows import (
    base,
    between,
    branched,
    changed,
    compacted,
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


def linked(uuid: Any, parent: Any) -> list[Object]:
    """The session with another uuid of u2 and parentUuid of a2."""
    rows = changed(2, uuid=uuid)
    rows[3]["parentUuid"] = parent
    return rows


def timed(value: Any) -> list[Object]:
    """The session with another timestamp on its last answer."""
    return changed(5, timestamp=value)


def orphaned(timestamp: Any) -> list[Object]:
    """The session with a missing parent of u2 and another timestamp on it; a1 is of 10:02:00."""
    return changed(2, parentUuid=uid(99), timestamp=timestamp)


def marked(*numbers: int, value: Any = True) -> list[Object]:
    """The session with numbered rows marked as sidechain."""
    return [r | {"isSidechain": value} if i + 1 in numbers else r for i, r in enumerate(base())]


def links() -> dict[str, list[Object]]:
    """Ids that are no uuids."""
    return {
        "uuid-number": linked(33, 33),
        "uuid-number-parent-string": linked(33, "33"),
        "uuid-true": linked(True, True),
        "uuid-empty": linked("", ""),
        "uuid-empty-passed-by": linked("", uid(2)),
        "uuid-word": linked("abc", "abc"),
        "uuid-empty-leaf": changed(5, uuid=""),
        "uuid-letter-case": linked("ab", "AB"),
        "parent-number": changed(3, parentUuid=7),
        "parent-empty": changed(3, parentUuid=""),
        "parent-false": changed(3, parentUuid=False),
        "parent-list": changed(3, parentUuid=[uid(3)]),
    }


def times() -> dict[str, list[Object]]:
    """Timestamps that the client can do with."""
    bare = [{k: v for k, v in r.items() if k != "timestamp"} for r in base()]
    system = row(10, 6, "system", subtype="informational", content="x")
    return {
        "time-middle-number": changed(2, timestamp=1767261780000),
        "time-middle-word": changed(2, timestamp="yesterday"),
        "time-leaf-only": [*bare[:5], base()[5]],
        "time-leaf-with-a-space": timed("2026-01-01 10:00:00"),
        "time-leaf-date-only": timed("2026-01-01"),
        "time-leaf-offset": timed("2026-01-01T10:06:00+02:00"),
        "time-leaf-nanoseconds": timed("2026-01-01T10:06:00.123456789Z"),
        "time-leaf-in-words": timed("Jan 1 2026"),
        "time-leaf-small-letters": timed("2026-01-01t10:06:00z"),
        "time-leaf-one-digit": timed("1"),
        "time-leaf-30-february": timed("2026-02-30T10:06:00Z"),
        "time-none-on-a-trailing-system-row": without([*base(), system], 6, "timestamp"),
        "time-none-on-another-branch": without(branched(), 3, "timestamp"),
        "time-none-on-the-root": without(base(), 0, "timestamp"),
    }


def refused_times() -> dict[str, list[Object]]:
    """Timestamps of the leaf that make the client refuse the file."""
    bare = [{k: v for k, v in r.items() if k != "timestamp"} for r in base()]
    system = row(10, 6, "system", subtype="informational", content="x")
    return {
        "refused-time-leaf-none": without(base(), 5, "timestamp"),
        "refused-time-only-on-the-root": [base()[0], *bare[1:]],
        "refused-time-leaf-number": timed(1767261900000),
        "refused-time-leaf-word": timed("yesterday"),
        "refused-time-leaf-empty": timed(""),
        "refused-time-leaf-hour-25": timed("2026-01-01T25:06:00Z"),
        "refused-time-leaf-basic-form": timed("20260101T100600Z"),
        "refused-time-leaf-digits": timed("1767261900000"),
        "refused-time-leaf-none-system-below": without([*base(), system], 5, "timestamp"),
        "refused-time-named-leaf-none": without([*branched(), last_prompt(uid(12))], 3, "timestamp"),
    }


def repairs() -> dict[str, list[Object]]:
    """A missing parent two seconds after another row, in several notations."""
    return {
        "repair": orphaned("2026-01-01T10:02:02.000Z"),
        "repair-too-late": orphaned("2026-01-01T10:02:05.001Z"),
        "repair-offset": orphaned("2026-01-01T12:02:02.000+02:00"),
        "repair-number": orphaned(1767261722000),
        "repair-words": orphaned("Thu, 01 Jan 2026 10:02:02 GMT"),
        "repair-no-time": orphaned("yesterday"),
        "repair-not-to-a-sidechain": [
            *base()[:2],
            row(40, None, "user", "side", isSidechain=True, timestamp="2026-01-01T10:02:58.000Z"),
            *orphaned("2026-01-01T10:03:00.000Z")[2:],
        ],
    }


def sidechains() -> dict[str, list[Object]]:
    """Rows of a sidechain: part of the graph, but never the leaf."""
    apart = [row(42, None, "user", "s1", isSidechain=True), row(43, 42, "assistant", "s2", isSidechain=True)]
    extra = row(41, 3, "assistant", "side extra", isSidechain=True)
    extra["message"]["id"] = "msg_4"
    return {
        "sidechain-in-the-chain": marked(3, 4),
        "sidechain-leaf": marked(6),
        "sidechain-all-but-the-leaf": marked(1, 2, 3, 4, 5),
        "sidechain-all": marked(1, 2, 3, 4, 5, 6),
        "sidechain-all-by-a-string": marked(1, 2, 3, 4, 5, 6, value="false"),
        "sidechain-zero-and-null": marked(1, 2, 3, value=0),
        "sidechain-root-of-a-prompt": [*base(), *apart, row(44, 43, "user", "u4 main")],
        "sidechain-row-of-a-message": [*base()[:4], extra, *base()[4:]],
        "sidechain-child-of-the-leaf": [*base(), row(45, 6, "user", "s child", isSidechain=True)],
        "sidechain-named-as-leaf": [*base(), row(45, 6, "user", "s", isSidechain=True), last_prompt(uid(45))],
    }


def types() -> dict[str, list[Object]]:
    """Row types in the chain, and flags."""
    return {
        "type-missing": without(base(), 2, "type"),
        "type-number": changed(3, type=5),
        "type-capital": changed(2, type="User"),
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
        "flag-meta-assistant": changed(3, isMeta=True),
        "flag-transcript-only": changed(2, isVisibleInTranscriptOnly=True),
        "flag-api-error": changed(3, isApiErrorMessage=True),
    }


def leaves() -> dict[str, list[Object]]:
    """What last-prompt rows may name."""
    dead = row(10, 4, "system", subtype="informational", content="x")
    kept = {"anchorUuid": uid(21), "uuids": [uid(5), uid(6)], "allUuids": [uid(5), uid(6)]}
    named = [*branched(), last_prompt(uid(12))]
    return {
        "leaf-system-row": [*base()[:4], dead, *base()[4:], last_prompt(uid(10))],
        "leaf-progress-row": [*base()[:4], row(10, 4, "progress"), *base()[4:], last_prompt(uid(10))],
        "leaf-with-descendants": [*base(), last_prompt(uid(4))],
        "leaf-other-branch": named,
        "leaf-named-first-in-the-file": [last_prompt(uid(12)), *branched()],
        "leaf-then-a-row-without-one": [*named, last_prompt()],
        "leaf-then-null": [*named, last_prompt(None)],
        "leaf-then-empty": [*named, last_prompt("")],
        "leaf-then-unknown": [*named, last_prompt(uid(99))],
        "leaf-then-number": [*named, last_prompt(5)],
        "leaf-then-zeros": [*named, last_prompt(ZERO, explicit=True)],
        "leaf-before-the-boundary": [*compacted(), last_prompt(uid(4))],
        "leaf-just-before-the-boundary": [*compacted(), last_prompt(uid(6))],
        "leaf-the-boundary": [*compacted(), last_prompt(uid(20))],
        "leaf-dropped-by-a-compaction": [*compacted(preservedMessages=kept), last_prompt(uid(2))],
        "prompt-below-a-row-before-the-boundary": [*compacted(), row(23, 6, "user", "back")],
    }
