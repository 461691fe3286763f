"""Decides what happens to each piece of a conversation when it is stripped, and which entries are noise.

If several rules apply to a piece, the strictest wins. Regardless of the options, calls and results remain paired:

- a call without a result is never changed, because its effect is unknown;
- a call is shortened instead of removed if its result is next to other text, if another call in its row has no result,
  or if it is in the last answer and that answer has no text, because the session continues there;
- thinking is kept in an unfinished answer, and is removed if nothing else is left of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turnlog.edit.strip.strip_options import StripOptions
from turnlog.entries.entry import Entry
from turnlog.session.window.pieces import ContextPiece

NOISE_TYPES = frozenset(
    "progress file-history-snapshot file-history-delta attribution-snapshot"
    " api-request api-request-shape api-request-blob".split()
)
"""Noise: entries that are never sent and that no client needs to resume."""
REPEATED_TYPES = frozenset(
    "ai-title custom-title agent-name mode permission-mode last-prompt tools-used cost-state atis-latch".split()
)
"""Entries that are written repeatedly; only the last of each type counts."""
HOOK_OUTPUT_TYPES = frozenset(
    "hook_success hook_blocking_error hook_non_blocking_error hook_error_during_execution hook_cancelled"
    " hook_system_message".split()
)
"""Attachments with the output of a hook, but not the context that a hook gave the model."""

FATE_STAYS, FATE_SHORTENED, FATE_REPLACED, FATE_GONE = range(4)
MAX_CALLS_OF_ONE_AGE = 25
"""The number of calls in one turn that have the same age."""
_READ_TOOLS = frozenset({"Read", "NotebookRead"})
_WRITE_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})


def list_noise_entries(entries: Iterable[Entry]) -> list[Entry]:
    """List the entries that can be removed, in file order."""
    rows = [entry for entry in entries if not entry.is_lost]
    last = {entry.type: entry.index for entry in rows if entry.type in REPEATED_TYPES}
    return [entry for entry in rows if _is_noise(entry) or (entry.type in last and last[entry.type] != entry.index)]


def _is_noise(entry: Entry) -> bool:
    return entry.type in NOISE_TYPES or (entry.type == "attachment" and entry.kind in HOOK_OUTPUT_TYPES)


class Fate(NamedTuple):
    """What happens to a piece when a session is stripped."""

    degree: int = FATE_STAYS
    """One of the `FATE_…` values; a shortened image becomes a placeholder."""
    longest: int = 0
    """The maximum length of shortened text in characters."""
    why: str = ""
    """The option that decided: tools, duplicates, stale_reads, thinking, images or noise."""

    @property
    def hardness(self) -> tuple[int, int]:
        """The key by which fates are compared."""
        return self.degree, -self.longest


WHOLE_FATE = Fate()


def decide_fates(pieces: Sequence[ContextPiece], options: StripOptions) -> list[Fate]:
    """Decide the fate of each piece of a conversation; the pieces must be in conversation order."""
    judge = _FateJudge(pieces, options)
    fates = [judge.decide_fate(at, piece) for at, piece in enumerate(pieces)]
    speaking = {
        _get_message_key(piece.row) for piece, fate in zip(pieces, fates, strict=True) if _is_spoken(piece, fate)
    }
    emptied = {_get_message_key(piece.row) for piece in pieces if piece.group == "calls"} - speaking
    return [
        Fate(FATE_GONE, 0, fate.why or "tools")
        if piece.group == "thinking" and _get_message_key(piece.row) in emptied
        else fate
        for piece, fate in zip(pieces, fates, strict=True)
    ]


def find_calls_without_copy(pieces: Sequence[ContextPiece], options: StripOptions) -> set[str]:
    """Find the calls that are so old that the client's own copies of their results are removed."""
    if options.copies is None:
        return set()
    ages, protected = PieceAges(pieces), _ProtectedPieces(pieces)
    calls = (call for call in protected.answered if options.find_rule(protected.names[call]) is not None)
    return {call for call in calls if ages.get_call_age(call) >= options.copies}


def _is_spoken(piece: ContextPiece, fate: Fate) -> bool:
    return piece.row.type == "assistant" and piece.group != "thinking" and fate.degree != FATE_GONE


def _get_message_key(row: Entry) -> str:
    return (row.message.id if row.message else None) or f"@{row.index}"


class _FateJudge:
    """The facts about a conversation that determine the fate of each piece."""

    def __init__(self, pieces: Sequence[ContextPiece], options: StripOptions) -> None:
        self._options = options
        self._ages = PieceAges(pieces)
        self._protected = _ProtectedPieces(pieces)
        self._repeated = _find_duplicates(pieces) if options.duplicates else set()
        self._replaced = self._repeated | (_find_stale_reads(pieces) if options.stale_reads else set())
        self._rules = {name: options.find_rule(name) for name in set(self._protected.names.values())}
        images = [at for at, piece in enumerate(pieces) if piece.group == "images"]
        self._old = set() if options.images is None else set(images[: max(0, len(images) - options.images)])

    def decide_fate(self, at: int, piece: ContextPiece) -> Fate:
        if piece.group == "thinking":
            return self._decide_thinking(piece)
        if piece.group == "attachments" and self._options.noise and piece.kind in HOOK_OUTPUT_TYPES:
            return Fate(FATE_GONE, 0, "noise")
        fate = Fate(FATE_SHORTENED, 0, "images") if at in self._old else WHOLE_FATE
        return max(fate, self._decide_call(piece), key=lambda candidate: candidate.hardness) if piece.call else fate

    def _decide_thinking(self, piece: ContextPiece) -> Fate:
        stays = self._options.thinking is None or self._ages.get_turn_age(piece) < self._options.thinking
        return (
            WHOLE_FATE
            if stays or _get_message_key(piece.row) == self._protected.working
            else Fate(FATE_GONE, 0, "thinking")
        )

    def _decide_call(self, piece: ContextPiece) -> Fate:
        """Decide the fate of a call, its result, or an image in the result."""
        if (
            piece.call not in self._protected.answered
            or (rule := self._rules[self._protected.names[piece.call]]) is None
        ):
            return WHOLE_FATE
        age = self._ages.get_call_age(piece.call)
        is_too_old = rule.gone is not None and age >= rule.gone
        if is_too_old and piece.call not in self._protected.calls:
            return Fate(FATE_GONE, 0, "tools")
        if piece.group != "calls" and piece.call in self._replaced:
            return Fate(FATE_REPLACED, 0, "duplicates" if piece.call in self._repeated else "stale_reads")
        if is_too_old or (age >= rule.whole and rule.longest is not None):
            return self._shorten_piece(piece, rule.get_max_chars(age) or 0)
        return WHOLE_FATE

    def _shorten_piece(self, piece: ContextPiece, max_chars: int) -> Fate:
        """Shorten a piece if that saves anything; an image is replaced completely or not at all."""
        return (
            WHOLE_FATE
            if piece.group == "images" and piece.stored <= max_chars
            else Fate(FATE_SHORTENED, max_chars, "tools")
        )


class PieceAges:
    """The age of pieces in turns; the last turn has age 0.

    An agent may make hundreds of calls for one prompt. In such a turn, the last `MAX_CALLS_OF_ONE_AGE` calls have the
    turn's own age, the same number of calls before them count as one turn older, and so on; otherwise, none of its
    calls would ever be old.
    """

    def __init__(self, pieces: Iterable[ContextPiece]) -> None:
        pieces = list(pieces)
        turns = sorted({piece.turn for piece in pieces}, reverse=True)
        self._all = {number: age for age, number in enumerate(turns)}
        self._of_call = _compute_call_ages(pieces)

    def get_turn_age(self, piece: ContextPiece) -> int:
        """Return the age of a piece among all turns."""
        return self._all[piece.turn]

    def get_call_age(self, call: str) -> int:
        """Return the age of a call, counting only turns with calls; a result is as old as its call."""
        return self._of_call[call]


def _compute_call_ages(pieces: Sequence[ContextPiece]) -> dict[str, int]:
    """Compute the age of each call; parallel calls of one message have the same age."""
    latest: dict[str, ContextPiece] = {}
    for piece in pieces:
        if piece.group == "calls" and piece.turn >= (latest[piece.call].turn if piece.call in latest else 0):
            latest[piece.call] = piece
    newest_first = sorted(latest.values(), key=lambda piece: piece.turn)[::-1]
    ages: dict[str, int] = {}
    age, count, previous = -1, 0, None
    for piece in newest_first:
        is_same_message = previous is not None and _get_message_key(previous.row) == _get_message_key(piece.row)
        if previous is None or previous.turn != piece.turn or (count >= MAX_CALLS_OF_ONE_AGE and not is_same_message):
            age, count = age + 1, 0
        ages[piece.call] = age
        count, previous = count + 1, piece
    return ages


class _ProtectedPieces:
    """Pieces that must be kept regardless of the options."""

    def __init__(self, pieces: Sequence[ContextPiece]) -> None:
        rows: dict[int, list[ContextPiece]] = {}
        for piece in pieces:
            rows.setdefault(piece.row.index, []).append(piece)
        self.names = {piece.call: piece.kind for piece in pieces if piece.group == "calls"}
        """The tool of each call."""
        results = {piece.call for piece in pieces if piece.group == "results"}
        self.answered = results & self.names.keys()
        self.calls: set[str] = set()
        """Calls that must not be removed."""
        for row in rows.values():
            calls = {piece.call for piece in row if piece.call}
            is_mixed = any(piece.group == "results" for piece in row) and any(not piece.call for piece in row)
            if is_mixed or not calls <= self.answered:
                self.calls |= calls
        self.working = self._protect_end(pieces)
        """The key of the last answer if it is unfinished: it contains only thinking, or its calls are still running."""

    def _protect_end(self, pieces: Sequence[ContextPiece]) -> str | None:
        last = next((piece for piece in reversed(pieces) if piece.row.type == "assistant"), None)
        if last is None:
            return None
        message = [piece for piece in pieces if _get_message_key(piece.row) == _get_message_key(last.row)]
        calls = {piece.call for piece in message if piece.group == "calls"}
        if not any(piece.group == "answers" for piece in message):
            self.calls |= calls
        if pieces[-1].call:
            self.calls |= {piece.call for piece in pieces if piece.row.index == pieces[-1].row.index}
        is_at_work = (
            pieces[-1].call in calls or not calls <= self.answered or {p.group for p in message} == {"thinking"}
        )
        return _get_message_key(last.row) if is_at_work else None


def _find_duplicates(pieces: Sequence[ContextPiece]) -> set[str]:
    """Find the calls whose result is repeated by a later call with the same input."""
    latest: dict[int, str] = {}
    repeated = set()
    for piece in pieces:
        if piece.group == "results" and piece.twin and not piece.failed:
            if latest.get(piece.twin, piece.call) != piece.call:
                repeated.add(latest[piece.twin])
            latest[piece.twin] = piece.call
    return repeated


def _find_stale_reads(pieces: Sequence[ContextPiece]) -> set[str]:
    """Find the calls that read a file that was later written or read completely."""
    reads: dict[str, set[str]] = {}
    stale: set[str] = set()
    for piece in pieces:
        if piece.group != "results" or piece.failed or not piece.path:
            continue
        if piece.kind in _WRITE_TOOLS or (piece.kind in _READ_TOOLS and not piece.partial):
            stale |= reads.pop(piece.path, set()) - {piece.call}
        if piece.kind in _READ_TOOLS:
            reads.setdefault(piece.path, set()).add(piece.call)
    return stale
