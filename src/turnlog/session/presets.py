"""What can be stripped from a session, as data: four presets, each taking away at least what the one before does.

`turnlog context` tells what each would save; nothing is written here. A piece that several rules reach keeps the
least that any of them leaves, so rules never work against each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..entries.entry import Entry
from .filling import Filling, estimated
from .pieces import Piece

NOISE = frozenset(
    "progress file-history-snapshot file-history-delta api-request api-request-shape api-request-blob".split()
)
"""Entries that are never sent, and that no client needs to resume."""
REPEATED = frozenset(
    "ai-title custom-title agent-name mode permission-mode last-prompt tools-used cost-state atis-latch".split()
)
"""Entries that are written again and again: only the last of each type counts."""
HOOK_OUTPUT = frozenset(
    "hook_success hook_blocking_error hook_non_blocking_error hook_error_during_execution hook_cancelled"
    " hook_system_message".split()
)
"""Attachments that tell what a hook printed. What a hook gave the model as context is not among them."""
_READING = frozenset({"Read", "NotebookRead"})
_WRITING = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})

MARK = 60
"""The mark in the place of what was cut is never longer."""
PLACEHOLDER = 40
"""What stands for a result that was taken out has so many bytes …"""
PLACEHOLDER_TOKENS = 15
"""… and what stands for an image so many tokens."""

_TALK = frozenset({"AskUserQuestion", "ExitPlanMode"})
_LISTS = frozenset("TodoWrite TaskCreate TaskUpdate TaskList TaskGet".split())
_HIRED = frozenset({"Task", "Agent", "Skill"})


@dataclass(frozen=True, slots=True)
class Preset:
    """What is kept of a conversation."""

    name: str
    about: str
    whole: int
    """Calls and results of the last so many turns that have calls stay as they are."""
    shortened: int | None
    """Those of so many such turns before them are shortened, older ones go, call and result both; None: none go."""
    longest: int
    """So many characters of a shortened text stay, at its head and its tail."""
    thinking: int | None
    """The last so many turns keep their thinking; None: all do."""
    images: int | None
    """So many of the newest images stay; None: all do."""
    noise: bool
    """Whether NOISE, HOOK_OUTPUT and all but the last of REPEATED go."""
    duplicates: bool
    """Whether a result goes when a later call of the same tool with the same input has one."""
    stale_reads: bool
    """Whether a file that was read goes when it was written, or read as a whole, later."""
    protected: frozenset[str]
    """Tools whose calls and results are never touched."""


PRESETS: tuple[Preset, ...] = (
    Preset(
        "light",
        "long outputs of old calls shortened, repeated results and noise dropped",
        whole=10, shortened=None, longest=2_000, thinking=None, images=20,
        noise=True, duplicates=True, stale_reads=False, protected=_TALK | _LISTS | _HIRED,
    ),
    Preset(
        "standard",
        "also reads that are out of date, the thinking of old turns, and more of old outputs",
        whole=5, shortened=None, longest=800, thinking=5, images=5,
        noise=True, duplicates=True, stale_reads=True, protected=_TALK | _LISTS | _HIRED,
    ),
    Preset(
        "heavy",
        "calls of old turns removed, those of the recent ones shortened to a few lines",
        whole=2, shortened=8, longest=300, thinking=1, images=2,
        noise=True, duplicates=True, stale_reads=True, protected=_TALK | _LISTS,
    ),
    Preset(
        "extreme",
        "only what was said: no calls, no results, no thinking, no images",
        whole=0, shortened=0, longest=0, thinking=0, images=0,
        noise=True, duplicates=True, stale_reads=True, protected=_TALK,
    ),
)  # fmt: skip
"""From the mildest to the strongest."""


class Saving(NamedTuple):
    """What a preset would do to a conversation."""

    preset: Preset
    before: int
    """Tokens that the next request would hold, estimated."""
    after: int
    bytes: int
    """Bytes of the file that would go: of the conversation's entries, and of noise anywhere."""

    @property
    def saved(self) -> int:
        """Tokens that would be sent no more."""
        return self.before - self.after


def shortened(text: str, longest: int) -> str:
    """The head and the tail of a text with a mark between them; the text itself where that would not be shorter."""
    if len(text) <= longest + MARK:
        return text
    head = longest - longest // 3
    return f"{text[:head]}\n[turnlog: {len(text) - longest:,} characters cut]\n{text[len(text) - longest // 3 :]}"


def savings(found: Filling, entries: Iterable[Entry]) -> list[Saving]:
    """What each preset would save of a conversation; `entries` are those of the whole file."""
    rows = list(entries)
    return [saving(preset, found, rows) for preset in PRESETS]


def saving(preset: Preset, found: Filling, entries: Iterable[Entry]) -> Saving:
    """What one preset would save."""
    before = found.estimate
    tokens, stored = 0, _noise(entries) if preset.noise else 0
    for piece, (size, fixed) in zip(found.pieces, kept(found.pieces, preset), strict=True):
        tokens += found.tokens(piece) - estimated(size, found.rate) - fixed
        stored += _freed(piece, size, fixed)
    return Saving(preset, before, before - tokens, stored)


def _freed(piece: Piece, size: int, fixed: int) -> int:
    """The bytes of the file that go with a part of a piece; the client's own copies are cut in the same way."""
    if size < piece.size:
        return piece.stored - piece.stored * size // piece.size
    return piece.stored if fixed < piece.fixed else 0


def _noise(entries: Iterable[Entry]) -> int:
    total, last = 0, dict[str, int]()
    for entry in entries:
        if entry.type in NOISE or entry.kind in HOOK_OUTPUT:
            total += entry.size
        elif entry.type in REPEATED:
            total += last.get(entry.type, 0)
            last[entry.type] = entry.size
    return total


class Kept(NamedTuple):
    """What is left of a piece."""

    size: int
    fixed: int


def kept(found: Sequence[Piece], preset: Preset) -> list[Kept]:
    """What a preset leaves of each piece."""
    ages = _Ages(found)
    images = [at for at, piece in enumerate(found) if piece.group == "images"]
    gone = set() if preset.images is None else set(images[: max(0, len(images) - preset.images)])
    replaced = _duplicates(found) if preset.duplicates else set()
    replaced |= _stale(found) if preset.stale_reads else set()
    return [
        _left(piece, preset, ages, is_old_image=at in gone, is_replaced=at in replaced)
        for at, piece in enumerate(found)
    ]


def _left(piece: Piece, preset: Preset, ages: _Ages, *, is_old_image: bool, is_replaced: bool) -> Kept:
    if piece.group == "thinking":
        is_kept = preset.thinking is None or ages.turn(piece) < preset.thinking
        return Kept(piece.size, piece.fixed) if is_kept else Kept(0, 0)
    if piece.group == "attachments" and preset.noise and piece.kind in HOOK_OUTPUT:
        return Kept(0, 0)
    size, fixed = piece.size, piece.fixed
    if is_old_image:
        fixed = min(fixed, PLACEHOLDER_TOKENS)
    if not piece.call or piece.kind in preset.protected:
        return Kept(size, fixed)
    age = ages.with_calls(piece)
    if preset.shortened is not None and age >= preset.whole + preset.shortened:
        return Kept(0, 0)
    if age >= preset.whole:
        size = min(size, _cut(piece, preset.longest))
    return Kept(min(size, PLACEHOLDER) if is_replaced else size, fixed)


def _cut(piece: Piece, longest: int) -> int:
    """The bytes that are left of a piece when its texts are shortened."""
    cut = (size - size * longest // chars - MARK for chars, size in piece.texts if chars > longest + MARK)
    return piece.size - sum(cut)


class _Ages:
    """How many turns ago a piece was said: 0 in the last turn."""

    def __init__(self, found: Sequence[Piece]) -> None:
        turns = sorted({piece.turn for piece in found}, reverse=True)
        calling = sorted({piece.turn for piece in found if piece.group == "calls"}, reverse=True)
        self._all = {number: age for age, number in enumerate(turns)}
        self._calling = {number: age for age, number in enumerate(calling)}

    def turn(self, piece: Piece) -> int:
        return self._all[piece.turn]

    def with_calls(self, piece: Piece) -> int:
        """Among the turns that have calls; a result without its call is as old as can be."""
        return self._calling.get(piece.turn, len(self._calling))


def _duplicates(found: Sequence[Piece]) -> set[int]:
    """The results that a later call with the same input has again."""
    last: dict[int, int] = {}
    gone = set()
    for at, piece in enumerate(found):
        if piece.group == "results" and piece.twin and not piece.failed:
            if piece.twin in last:
                gone.add(last[piece.twin])
            last[piece.twin] = at
    return gone


def _stale(found: Sequence[Piece]) -> set[int]:
    """The results of reading a file that was written, or read as a whole, later."""
    reads: dict[str, list[int]] = {}
    gone: set[int] = set()
    for at, piece in enumerate(found):
        if piece.group != "results" or piece.failed or not piece.path:
            continue
        if piece.kind in _WRITING or (piece.kind in _READING and not piece.partial):
            gone.update(reads.pop(piece.path, ()))
        if piece.kind in _READING:
            reads.setdefault(piece.path, []).append(at)
    return gone
