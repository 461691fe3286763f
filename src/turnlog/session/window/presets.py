"""What can be stripped from a session, as data: four presets, each taking away at least what the one before does.

`turnlog context` tells what each would save; nothing is written here. A piece that several rules reach keeps the
least that any of them leaves, so rules never work against each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from turnlog.entries.entry import Entry
from turnlog.session.window.fates import GONE, REPLACED, SHORTENED, Fate, fates, without_copy
from turnlog.session.window.filling import Filling, estimated
from turnlog.session.window.noise import noise
from turnlog.session.window.pieces import CUT, Piece
from turnlog.session.window.wishes import Rule, Wishes

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
    copies: int | None = None
    """The client's own copies of results stay in the last so many turns with calls; None: as long as the results."""
    fade_from: int | None = None
    """From this age on, what is shortened gets shorter with its age (`Rule.fade_from`)."""

    @property
    def wishes(self) -> Wishes:
        """What it asks for."""
        gone = None if self.shortened is None else self.whole + self.shortened
        return Wishes(
            Rule(self.whole, self.longest, gone, self.fade_from),
            protected=self.protected,
            duplicates=self.duplicates,
            stale_reads=self.stale_reads,
            thinking=self.thinking,
            images=self.images,
            copies=self.copies,
            noise=self.noise,
            preset=self.name,
        )


PRESETS: tuple[Preset, ...] = (
    Preset(
        "light",
        "long outputs of old calls shortened, repeated results and noise dropped",
        whole=10, shortened=None, longest=2_000, thinking=None, images=20,
        noise=True, duplicates=True, stale_reads=False, protected=_TALK | _LISTS | _HIRED,
    ),
    Preset(
        "standard",
        "also reads that are out of date, the thinking of old turns, and more of an output the older it is",
        whole=3, shortened=None, longest=800, thinking=1, images=5,
        noise=True, duplicates=True, stale_reads=True, protected=_TALK | _LISTS | _HIRED, copies=1, fade_from=10,
    ),
    Preset(
        "heavy",
        "calls of old turns removed, those of the recent ones shortened to a few lines",
        whole=2, shortened=8, longest=300, thinking=1, images=2,
        noise=True, duplicates=True, stale_reads=True, protected=_TALK | _LISTS, copies=1,
    ),
    Preset(
        "extreme",
        "only what was said: no calls, no results, no thinking, no images",
        whole=0, shortened=0, longest=0, thinking=0, images=0,
        noise=True, duplicates=True, stale_reads=True, protected=_TALK, copies=0,
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
    return f"{text[:head]}\n{CUT}{len(text) - longest:,} characters cut]\n{text[len(text) - longest // 3 :]}"


def savings(found: Filling, entries: Iterable[Entry]) -> list[Saving]:
    """What each preset would save of a conversation; `entries` are those of the whole file."""
    rows = list(entries)
    return [saving(preset, found, rows) for preset in PRESETS]


def saving(preset: Preset, found: Filling, entries: Iterable[Entry]) -> Saving:
    """What one preset would save."""
    after, stored = spared(preset.wishes, found, entries)
    return Saving(preset, found.estimate, after, stored)


class Spared(NamedTuple):
    """What some wishes would leave of the next request, and take from the file."""

    after: int
    bytes: int


def spared(wishes: Wishes, found: Filling, entries: Iterable[Entry]) -> Spared:
    """What some wishes would do: tokens that the next request would then hold, and bytes of the file that go."""
    bare = without_copy(found.pieces, wishes)
    tokens, stored = 0, sum(entry.size for entry in noise(entries)) if wishes.noise else 0
    for piece, (size, fixed) in zip(found.pieces, kept(found.pieces, wishes), strict=True):
        tokens += found.tokens(piece) - estimated(size, found.rate) - fixed
        is_bare = piece.group == "results" and piece.call in bare
        stored += piece.stored - size if is_bare else _freed(piece, size, fixed)
    return Spared(found.estimate - tokens, stored)


def _freed(piece: Piece, size: int, fixed: int) -> int:
    """The bytes of the file that go with a part of a piece; the client's own copies are cut in the same way."""
    if size < piece.size:
        return piece.stored - piece.stored * size // piece.size
    return piece.stored if fixed < piece.fixed else 0


class Kept(NamedTuple):
    """What is left of a piece."""

    size: int
    fixed: int


def kept(found: Sequence[Piece], wanted: Preset | Wishes) -> list[Kept]:
    """What a preset or other wishes leave of each piece."""
    wishes = wanted.wishes if isinstance(wanted, Preset) else wanted
    return [_left(piece, fate) for piece, fate in zip(found, fates(found, wishes), strict=True)]


def _left(piece: Piece, fate: Fate) -> Kept:
    if fate.degree == GONE:
        return Kept(0, 0)
    if piece.group == "images":
        return Kept(0, (piece.fixed, min(piece.fixed, PLACEHOLDER_TOKENS), 0)[fate.degree])
    if fate.degree == REPLACED:
        return Kept(min(piece.size, PLACEHOLDER), piece.fixed)
    return Kept(_cut(piece, fate.longest) if fate.degree == SHORTENED else piece.size, piece.fixed)


def _cut(piece: Piece, longest: int) -> int:
    """The bytes that are left of a piece when its texts are shortened."""
    cut = (size - size * longest // chars - MARK for chars, size in piece.texts if chars > longest + MARK)
    return piece.size - sum(cut)
