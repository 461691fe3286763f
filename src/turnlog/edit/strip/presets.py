"""Presets for stripping a session, estimates of what each would save, and a recommendation.

Each preset removes at least as much as the one before it. If several rules apply to a piece, the strictest wins, so
rules never conflict. Nothing is written here.
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
"""The maximum length of the mark that replaces what was cut."""
PLACEHOLDER_BYTES = 40
"""The approximate size of the text that replaces a removed result."""
PLACEHOLDER_TOKENS = 15
"""The approximate number of tokens in the text that replaces an image."""

_TALK_TOOLS = frozenset({"AskUserQuestion", "ExitPlanMode"})
_LIST_TOOLS = frozenset("TodoWrite TaskCreate TaskUpdate TaskList TaskGet".split())
_AGENT_TOOLS = frozenset({"Task", "Agent", "Skill"})


@dataclass(frozen=True, slots=True)
class Preset:
    """A named set of strip options."""

    name: str
    about: str
    whole: int
    """The number of latest turns with calls whose calls and results are not changed."""
    shortened: int | None
    """The number of earlier turns whose calls are shortened; still older calls are removed. None shortens them all."""
    longest: int
    """The number of characters that shortened text keeps, from its beginning and its end together."""
    thinking: int | None
    """The number of latest turns that keep their thinking; None means all."""
    images: int | None
    """The number of newest images to keep; None means all."""
    noise: bool
    """Whether to remove noise, hook output, and all but the last of repeated entries."""
    duplicates: bool
    """Whether to remove a result if a later call to the same tool with the same input has one."""
    stale_reads: bool
    """Whether to remove the content of a file that was later written or read completely."""
    protected: frozenset[str]
    """Tools whose calls and results are never changed."""
    copies: int | None = None
    """The number of latest turns with calls that keep the client's own copies of results; None means that the copies
    are treated like the results.
    """
    fade_from: int | None = None
    """The age from which text is shortened more the older it is (`StripRule.fade_from`)."""

    @property
    def strip_options(self) -> StripOptions:
        removal_age = None if self.shortened is None else self.whole + self.shortened
        return StripOptions(
            StripRule(self.whole, self.longest, removal_age, self.fade_from),
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
        "shortens long outputs of old calls, drops repeated results and noise",
        whole=10, shortened=None, longest=2_000, thinking=None, images=20,
        noise=True, duplicates=True, stale_reads=False, protected=_TALK_TOOLS | _LIST_TOOLS | _AGENT_TOOLS,
    ),
    Preset(
        "standard",
        "also drops outdated reads and the thinking of old turns; the older an output, the shorter",
        whole=3, shortened=None, longest=800, thinking=1, images=5,
        noise=True, duplicates=True, stale_reads=True, protected=_TALK_TOOLS | _LIST_TOOLS | _AGENT_TOOLS,
        copies=1, fade_from=10,
    ),
    Preset(
        "heavy",
        "removes the calls of old turns, shortens recent ones to a few lines",
        whole=2, shortened=8, longest=300, thinking=1, images=2,
        noise=True, duplicates=True, stale_reads=True, protected=_TALK_TOOLS | _LIST_TOOLS, copies=1,
    ),
    Preset(
        "extreme",
        "keeps only what was said: no calls, results, thinking or images",
        whole=0, shortened=0, longest=0, thinking=0, images=0,
        noise=True, duplicates=True, stale_reads=True, protected=_TALK_TOOLS, copies=0,
    ),
)  # fmt: skip
"""All presets, from the mildest to the strongest."""


class PresetSaving(NamedTuple):
    """The effect of a preset on a conversation."""

    preset: Preset
    before: int
    """The estimated number of tokens in the next request."""
    after: int
    bytes: int
    """The number of bytes that would be removed from the file, including noise outside the conversation."""

    @property
    def saved_tokens(self) -> int:
        """The number of tokens that would no longer be sent."""
        return self.before - self.after


def cut_text_middle(text: str, max_chars: int) -> str:
    """Return the beginning and end of text with a mark between them, or the whole text if that is not longer."""
    if len(text) <= max_chars + MAX_MARK_CHARS:
        return text
    head = max_chars - max_chars // 3
    return f"{text[:head]}\n{CUT_MARK}{len(text) - max_chars:,} characters cut]\n{text[len(text) - max_chars // 3 :]}"


def estimate_savings(fill: WindowFill, entries: Iterable[Entry]) -> list[PresetSaving]:
    """Estimate what each preset would save in a conversation; `entries` are those of the whole file."""
    rows = list(entries)
    return [estimate_saving(preset, fill, rows) for preset in PRESETS]


def estimate_saving(preset: Preset, fill: WindowFill, entries: Iterable[Entry]) -> PresetSaving:
    after, saved_bytes = estimate_strip_effect(preset.strip_options, fill, entries)
    return PresetSaving(preset, fill.estimate, after, saved_bytes)


class StripEffect(NamedTuple):
    """The estimated effect of strip options: tokens in the next request, and bytes removed from the file."""

    after: int
    bytes: int


def estimate_strip_effect(options: StripOptions, fill: WindowFill, entries: Iterable[Entry]) -> StripEffect:
    """Estimate the tokens in the next request, and the bytes that would be removed from the file."""
    without_copy = find_calls_without_copy(fill.pieces, options)
    saved_tokens, saved_bytes = 0, sum(entry.size for entry in list_noise_entries(entries)) if options.noise else 0
    for piece, (size, fixed) in zip(fill.pieces, estimate_remaining(fill.pieces, options), strict=True):
        saved_tokens += fill.estimate_tokens(piece) - estimate_text_tokens(size, fill.rate) - fixed
        loses_copy = piece.group == "results" and piece.call in without_copy
        saved_bytes += piece.stored - size if loses_copy else _count_freed_bytes(piece, size, fixed)
    return StripEffect(fill.estimate - saved_tokens, saved_bytes)


def _count_freed_bytes(piece: ContextPiece, size: int, fixed: int) -> int:
    """Count the bytes saved by cutting a piece; the client's own copies are cut in the same way."""
    if size < piece.size:
        return piece.stored - piece.stored * size // piece.size
    return piece.stored if fixed < piece.fixed else 0


class RemainingSize(NamedTuple):
    """The size of a piece after stripping."""

    size: int
    fixed: int


def estimate_remaining(pieces: Sequence[ContextPiece], choice: Preset | StripOptions) -> list[RemainingSize]:
    """Estimate how much of each piece a preset or other options keep."""
    options = choice.strip_options if isinstance(choice, Preset) else choice
    return [_measure_remaining(piece, fate) for piece, fate in zip(pieces, decide_fates(pieces, options), strict=True)]


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


def _count_bytes_after_cut(piece: ContextPiece, max_chars: int) -> int:
    """Count the bytes that remain of a piece when its text is shortened."""
    cut = (
        size - size * max_chars // chars - MAX_MARK_CHARS
        for chars, size in piece.texts
        if chars > max_chars + MAX_MARK_CHARS
    )
    return piece.size - sum(cut)


# -- advice: continue, clone the session stripped, or compact it (docs/context.md)

AdviceAction = Literal["go on", "clone stripped", "compact"]

MAX_ROOMY_SHARE = 0.6
"""Below this share of the limit there is nothing to do, and a stripped clone has enough room."""
MIN_SAVED_SHARE = 0.1
"""A clone that frees less than this share of the limit is not worth a full write of the prompt cache."""
FULL_SHARE = 0.85
"""At or above this share, if no preset frees enough room, the advice is to compact now, before the client does so in
the middle of a task.
"""


class Advice(NamedTuple):
    """A recommendation and its reason in one sentence."""

    action: AdviceAction | None
    preset: Preset | None
    reason: str


def choose_advice(fill: WindowFill, savings: Sequence[PresetSaving]) -> Advice:
    """Recommend the mildest step that frees enough of the context window before the client compacts automatically."""
    limit = fill.threshold or fill.window
    if fill.is_agent:
        return Advice(None, None, "A sub-agent's conversation ends with its task; no client resumes it.")
    if not limit:
        return Advice("go on", None, f"turnlog does not know the context window of {fill.model or 'its model'}.")
    share = fill.estimate / limit
    if share < MAX_ROOMY_SHARE:
        return Advice("go on", None, f"The next request fills {share:.0%} of what fits before Claude Code compacts.")
    candidates = (
        item
        for item in savings
        if item.after <= MAX_ROOMY_SHARE * limit and item.saved_tokens >= MIN_SAVED_SHARE * limit
    )
    if best := next(candidates, None):
        after = best.after / limit
        return Advice(
            "clone stripped",
            best.preset,
            f"{best.preset.name} is the mildest preset that fits: it brings the next request from {share:.0%} to"
            f" {after:.0%} of the limit.",
        )
    least = min((saving.after for saving in savings), default=fill.estimate) / limit
    if share >= FULL_SHARE:
        reason = f"{share:.0%} of the limit is used, and no preset gets below {least:.0%}."
        return Advice("compact", None, reason)
    return Advice("go on", None, f"{share:.0%} of the limit is used, and no preset gets below {least:.0%}.")
