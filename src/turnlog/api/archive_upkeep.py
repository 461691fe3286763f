"""Maintenance of the archive: verify its content and remove old generations."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.lookup import Notify, list_config_folders
from turnlog.errors import UsageError
from turnlog.session.clock import to_iso_time
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.prune import PruneRules, is_session_gone

_AGE_PATTERN = re.compile(r"(\d+)\s*(h|d|w|m|y)", re.IGNORECASE)
_UNIT_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}
_SIZE_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)


def open_archive() -> Archive:
    return Archive(data_dir())


class DamagedCopy(Struct, frozen=True):
    """A file in an archived session that can't be restored."""

    session_id: str
    generation: int
    path: str
    """Relative to the config folder."""
    reason: str


class ArchiveVerification(Struct, frozen=True):
    """The result of a verification: what was read and what is damaged."""

    sound: bool
    manifests: int
    files: int
    bytes: int
    blobs: int
    unused_blobs: int
    damaged: tuple[DamagedCopy, ...]
    manifests_damaged: list[str]
    mended: list[str]
    """The outcome of each repair of a damaged manifest."""


class PrunedGeneration(Struct, frozen=True):
    """A generation that was (or would be) removed."""

    session_id: str
    generation: int
    title: str | None
    archived: str
    gone: bool


class ArchivePruning(Struct, frozen=True):
    """The generations that were (or would be) removed from the archive."""

    done: bool
    dropped: tuple[PrunedGeneration, ...]
    bytes_freed: int
    bytes_left: int


def verify_archive(
    *, repair: bool = False, config: Config | None = None, notify: Notify | None = None
) -> ArchiveVerification:
    """Read everything in the archive and check it against its hashes.

    `repair` moves damaged blobs aside and rebuilds damaged manifests from blobs.
    """
    from turnlog.store.archive.rebuild import mend_manifests
    from turnlog.store.archive.verify import put_damaged_blobs_aside
    from turnlog.store.archive.verify import verify_archive as read_again

    archive = open_archive()
    found = read_again(archive)
    if repair and found.blobs_damaged:
        folder = put_damaged_blobs_aside(archive, found)
        if notify:
            notify(
                f"Moved damaged blobs to {folder}; `turnlog archive run` replaces those whose source files still exist."
            )
    mended: list[str] = []
    if repair and found.manifests_damaged:
        mended = [str(item) for item in mend_manifests(archive, list_config_folders(config or load_config()))]
    return ArchiveVerification(
        sound=found.is_sound,
        manifests=found.manifests,
        files=found.files,
        bytes=found.bytes,
        blobs=found.blobs,
        unused_blobs=found.unused,
        damaged=tuple(DamagedCopy(item.session_id, item.generation, item.path, item.reason) for item in found.damaged),
        manifests_damaged=found.manifests_damaged,
        mended=mended,
    )


def prune_archive(
    *,
    keep: int | None = None,
    older_than: str | None = None,
    max_size: str | int | None = None,
    gone: bool = False,
    dry_run: bool = False,
) -> ArchivePruning:
    """Remove old generations from the archive.

    `keep` is the number of generations to keep per session, `older_than` is an age (`90d`, `2y`) or a date, and
    `max_size` is a number of bytes or a string such as `2GB`. The newest generation of a session is kept, unless the
    session is no longer on disk and `gone` is true.
    """
    from turnlog.store.archive.prune import plan_prune
    from turnlog.store.archive.prune import prune_archive as drop

    if gone and older_than is None and max_size is None:
        raise UsageError("gone requires older_than or max_size")
    size = parse_size_bytes(max_size) if isinstance(max_size, str) else max_size
    plan = (plan_prune if dry_run else drop)(open_archive(), PruneRules(keep, parse_age_ns(older_than), size, gone))
    dropped = tuple(
        PrunedGeneration(
            item.session_id,
            item.generation,
            item.title,
            to_time_text(item.changed_ns / 1e9),
            is_session_gone(item),
        )
        for item in plan.drop
    )
    return ArchivePruning(not dry_run, dropped, plan.freed, plan.left)


# -- times and sizes


def parse_typed_time(text: str) -> datetime:
    """Parse a date or a time in the local time zone; a date alone means the end of that day."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"{text!r} is not a valid time; use a value such as 2026-11-03 or 2026-11-03T14:05") from None
    if len(text.strip()) <= 10:
        found += timedelta(days=1) - timedelta(microseconds=1)
    return found.astimezone()


def parse_generation(text: str | None) -> int | datetime | None:
    """Parse a generation number or a time."""
    if text is None:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else parse_typed_time(text)


def parse_age_ns(text: str | None) -> int | None:
    """Parse an age or a date into nanoseconds since 1970."""
    if text is None:
        return None
    if age := _AGE_PATTERN.fullmatch(text.strip()):
        return time.time_ns() - int(age[1]) * _UNIT_HOURS[age[2].lower()] * 3600 * 10**9
    try:
        return int(parse_typed_time(text).timestamp() * 1e9)
    except UsageError:
        raise UsageError(
            f"{text!r} is not a valid age; use an age such as 90d, 12w or 2y, or a date such as 2026-11-03"
        ) from None


def parse_size_bytes(text: str | None) -> int | None:
    """Parse a size such as `500MB`, `2 GB` or `1.5GiB` into bytes."""
    if text is None:
        return None
    found = _SIZE_PATTERN.fullmatch(text.strip())
    if not found:
        raise UsageError(f"{text!r} is not a valid size; use a value such as 500MB or 2GB")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** " KMGT".index(found[2].upper() or " "))


def to_time_text(seconds: float) -> str:
    """Format seconds since 1970 as a JSON time string."""
    return to_iso_time(datetime.fromtimestamp(seconds, UTC)) or ""
