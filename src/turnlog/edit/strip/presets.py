"""What can be stripped from a session: four presets, what each would save, and when to use which.

Each preset takes away at least what the one before it does. A piece that several rules reach keeps the least that any
of them leaves, so rules never work against each other. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from turnlog.edit.strip.fates import (
    FATE_GONE,
    FATE_REPLACED,
    FATE_SHORTENED,
    Fate,
    decide_fates,
    find_calls_without_copy,
    list_noise_entries,
)
from turnlog.edit.strip.strip_options import StripOptions, StripRule
from turnlog.entries.entry import Entry
from turnlog.session.window.pieces import CUT_MARK, ContextPiece
from turnlog.session.window.window_fill import WindowFill, estimate_text_tokens

MAX_MARK_CHARS = 60
"""The mark in the place of what was cut is never longer."""
PLACEHOLDER_BYTES = 40
"""What stands for a result that was taken out has so many bytes …"""
PLACEHOLDER_TOKENS = 15
"""… and what stands for an image so many tokens."""

_TALK_TOOLS = frozenset({"AskUserQuestion", "ExitPlanMode"})
_LIST_TOOLS = frozenset("TodoWrite TaskCreate TaskUpdate TaskList TaskGet".split())
_AGENT_TOOLS = frozenset({"Task", "Agent", "Skill"})


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
    def strip_options(self) -> StripOptions:
        """What it asks for."""
        gone = None if self.shortened is None else self.whole + self.shortened
        return StripOptions(
            StripRule(self.whole, self.longest, gone, self.fade_from),
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
        noise=True, duplicates=True, stale_reads=False, protected=_TALK_TOOLS | _LIST_TOOLS | _AGENT_TOOLS,
    ),
    Preset(
        "standard",
        "also reads that are out of date, the thinking of old turns, and more of an output the older it is",
        whole=3, shortened=None, longest=800, thinking=1, images=5,
        noise=True, duplicates=True, stale_reads=True, protected=_TALK_TOOLS | _LIST_TOOLS | _AGENT_TOOLS,
        copies=1, fade_from=10,
    ),
    Preset(
        "heavy",
        "calls of old turns removed, those of the recent ones shortened to a few lines",
        whole=2, shortened=8, longest=300, thinking=1, images=2,
        noise=True, duplicates=True, stale_reads=True, protected=_TALK_TOOLS | _LIST_TOOLS, copies=1,
    ),
    Preset(
        "extreme",
        "only what was said: no calls, no results, no thinking, no images",
        whole=0, shortened=0, longest=0, thinking=0, images=0,
        noise=True, duplicates=True, stale_reads=True, protected=_TALK_TOOLS, copies=0,
    ),
)  # fmt: skip
"""From the mildest to the strongest."""


class PresetSaving(NamedTuple):
    """What a preset would do to a conversation."""

    preset: Preset
    before: int
    """Tokens that the next request would hold, estimated."""
    after: int
    bytes: int
    """Bytes of the file that would go: of the conversation's entries, and of noise anywhere."""

    @property
    def saved_tokens(self) -> int:
        """Tokens that would be sent no more."""
        return self.before - self.after


def cut_text_middle(text: str, longest: int) -> str:
    """The head and the tail of a text with a mark between them; the text itself where that would not be shorter."""
    if len(text) <= longest + MAX_MARK_CHARS:
        return text
    head = longest - longest // 3
    return f"{text[:head]}\n{CUT_MARK}{len(text) - longest:,} characters cut]\n{text[len(text) - longest // 3 :]}"


def estimate_savings(found: WindowFill, entries: Iterable[Entry]) -> list[PresetSaving]:
    """What each preset would save of a conversation; `entries` are those of the whole file."""
    rows = list(entries)
    return [estimate_saving(preset, found, rows) for preset in PRESETS]


def estimate_saving(preset: Preset, found: WindowFill, entries: Iterable[Entry]) -> PresetSaving:
    """What one preset would save."""
    after, stored = estimate_strip_effect(preset.strip_options, found, entries)
    return PresetSaving(preset, found.estimate, after, stored)


class StripEffect(NamedTuple):
    """What some wishes would leave of the next request, and take from the file."""

    after: int
    bytes: int


def estimate_strip_effect(wishes: StripOptions, found: WindowFill, entries: Iterable[Entry]) -> StripEffect:
    """What some wishes would do: tokens that the next request would then hold, and bytes of the file that go."""
    bare = find_calls_without_copy(found.pieces, wishes)
    tokens, stored = 0, sum(entry.size for entry in list_noise_entries(entries)) if wishes.noise else 0
    for piece, (size, fixed) in zip(found.pieces, estimate_remaining(found.pieces, wishes), strict=True):
        tokens += found.estimate_tokens(piece) - estimate_text_tokens(size, found.rate) - fixed
        is_bare = piece.group == "results" and piece.call in bare
        stored += piece.stored - size if is_bare else _count_freed_bytes(piece, size, fixed)
    return StripEffect(found.estimate - tokens, stored)


def _count_freed_bytes(piece: ContextPiece, size: int, fixed: int) -> int:
    """The bytes of the file that go with a part of a piece; the client's own copies are cut in the same way."""
    if size < piece.size:
        return piece.stored - piece.stored * size // piece.size
    return piece.stored if fixed < piece.fixed else 0


class RemainingSize(NamedTuple):
    """What is left of a piece."""

    size: int
    fixed: int


def estimate_remaining(found: Sequence[ContextPiece], wanted: Preset | StripOptions) -> list[RemainingSize]:
    """What a preset or other wishes leave of each piece."""
    wishes = wanted.strip_options if isinstance(wanted, Preset) else wanted
    return [_measure_remaining(piece, fate) for piece, fate in zip(found, decide_fates(found, wishes), strict=True)]


def _measure_remaining(piece: ContextPiece, fate: Fate) -> RemainingSize:
    if fate.degree == FATE_GONE:
        return RemainingSize(0, 0)
    if piece.group == "images":
        return RemainingSize(0, (piece.fixed, min(piece.fixed, PLACEHOLDER_TOKENS), 0)[fate.degree])
    if fate.degree == FATE_REPLACED:
        return RemainingSize(min(piece.size, PLACEHOLDER_BYTES), piece.fixed)
    return RemainingSize(
        _count_bytes_after_cut(piece, fate.longest) if fate.degree == FATE_SHORTENED else piece.size, piece.fixed
    )


def _count_bytes_after_cut(piece: ContextPiece, longest: int) -> int:
    """The bytes that are left of a piece when its texts are shortened."""
    cut = (
        size - size * longest // chars - MAX_MARK_CHARS
        for chars, size in piece.texts
        if chars > longest + MAX_MARK_CHARS
    )
    return piece.size - sum(cut)


# -- advice: go on, clone the session stripped, or compact it (docs/context.md)

AdviceAction = Literal["go on", "clone stripped", "compact"]

MAX_ROOMY_SHARE = 0.6
"""Below this share of the limit there is nothing to do, and a stripped clone has room to work in."""
MIN_SAVED_SHARE = 0.1
"""A clone that frees less than this share of the limit is not worth its full write of the prompt cache."""
FULL_SHARE = 0.85
"""From this share on, where no preset makes room, compact before the client does so in the middle of the work."""


class Advice(NamedTuple):
    """A recommendation, and its reason in one sentence."""

    action: AdviceAction | None
    preset: Preset | None
    reason: str


def choose_advice(found: WindowFill, savings: Sequence[PresetSaving]) -> Advice:
    """Recommend the mildest step that leaves room in the window, up to where the client compacts by itself."""
    limit = found.threshold or found.window
    if found.is_agent:
        return Advice(None, None, "A sub-agent's conversation ends with its task; no client resumes it.")
    if not limit:
        return Advice("go on", None, f"The size of the window of {found.model or 'its model'} is not known.")
    share = found.estimate / limit
    if share < MAX_ROOMY_SHARE:
        return Advice("go on", None, f"The next request fills {share:.0%} of what fits before the client compacts.")
    fitting = (
        item
        for item in savings
        if item.after <= MAX_ROOMY_SHARE * limit and item.saved_tokens >= MIN_SAVED_SHARE * limit
    )
    if best := next(fitting, None):
        after = best.after / limit
        return Advice(
            "clone stripped",
            best.preset,
            f"{best.preset.name} is the mildest preset that fits: it brings the next request from {share:.0%} to"
            f" {after:.0%} of the limit.",
        )
    least = min((saving.after for saving in savings), default=found.estimate) / limit
    if share >= FULL_SHARE:
        reason = f"{share:.0%} of the limit is used, and no preset gets below {least:.0%}."
        return Advice("compact", None, reason)
    return Advice("go on", None, f"{share:.0%} of the limit is used, and no preset gets below {least:.0%}.")
