"""What becomes of each piece of a conversation when it is stripped, and which entries are noise.

A piece that several wishes reach has the hardest fate of them. Whatever is wished, calls and results stay pairs:

- a call without a result is never touched: nobody knows what it did;
- a call is not removed but shortened when its result stands beside something that was said, when another call in its
  row has no result, and when it is the last thing that the model did without a word, because the session goes on there;
- thinking stays in an answer that is not finished, and goes with an answer of which nothing else is left.
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
"""Entries that are never sent, and that no client needs to resume: noise."""
REPEATED_TYPES = frozenset(
    "ai-title custom-title agent-name mode permission-mode last-prompt tools-used cost-state atis-latch".split()
)
"""Entries that are written again and again: only the last of each type counts."""
HOOK_OUTPUT_TYPES = frozenset(
    "hook_success hook_blocking_error hook_non_blocking_error hook_error_during_execution hook_cancelled"
    " hook_system_message".split()
)
"""Attachments that tell what a hook printed. What a hook gave the model as context is not among them."""

FATE_STAYS, FATE_SHORTENED, FATE_REPLACED, FATE_GONE = range(4)
MAX_CALLS_OF_ONE_AGE = 25
"""So many calls of one turn have the same age."""
_READ_TOOLS = frozenset({"Read", "NotebookRead"})
_WRITE_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})


def list_noise_entries(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that can go, in the order of the file."""
    rows = [entry for entry in entries if not entry.is_lost]
    last = {entry.type: entry.index for entry in rows if entry.type in REPEATED_TYPES}
    return [entry for entry in rows if _is_noise(entry) or (entry.type in last and last[entry.type] != entry.index)]


def _is_noise(entry: Entry) -> bool:
    return entry.type in NOISE_TYPES or (entry.type == "attachment" and entry.kind in HOOK_OUTPUT_TYPES)


class Fate(NamedTuple):
    """What becomes of a piece."""

    degree: int = FATE_STAYS
    """STAYS, SHORTENED (of an image: a placeholder), REPLACED by a placeholder, or GONE."""
    longest: int = 0
    """How many characters of each shortened text stay."""
    why: str = ""
    """The wish: tools, duplicates, stale_reads, thinking, images or noise."""

    @property
    def hardness(self) -> tuple[int, int]:
        """What fates are compared by."""
        return self.degree, -self.longest


WHOLE_FATE = Fate()


def decide_fates(found: Sequence[ContextPiece], wishes: StripOptions) -> list[Fate]:
    """What becomes of each piece of one conversation; `found` is in its order."""
    judge = _FateJudge(found, wishes)
    given = [judge.decide_fate(at, piece) for at, piece in enumerate(found)]
    speaking = {
        _get_message_key(piece.row) for piece, fate in zip(found, given, strict=True) if _is_spoken(piece, fate)
    }
    emptied = {_get_message_key(piece.row) for piece in found if piece.group == "calls"} - speaking
    return [
        Fate(FATE_GONE, 0, fate.why or "tools")
        if piece.group == "thinking" and _get_message_key(piece.row) in emptied
        else fate
        for piece, fate in zip(found, given, strict=True)
    ]


def find_calls_without_copy(found: Sequence[ContextPiece], wishes: StripOptions) -> set[str]:
    """The calls whose result loses the client's own copy because of its age."""
    if wishes.copies is None:
        return set()
    ages, held = PieceAges(found), _ProtectedPieces(found)
    own = (call for call in held.answered if wishes.find_rule(held.names[call]) is not None)
    return {call for call in own if ages.get_call_age(call) >= wishes.copies}


def _is_spoken(piece: ContextPiece, fate: Fate) -> bool:
    return piece.row.type == "assistant" and piece.group != "thinking" and fate.degree != FATE_GONE


def _get_message_key(row: Entry) -> str:
    """What tells a message from others."""
    return (row.message.id if row.message else None) or f"@{row.index}"


class _FateJudge:
    """All that must be known of a conversation to decide about one of its pieces."""

    def __init__(self, found: Sequence[ContextPiece], wishes: StripOptions) -> None:
        self._wishes = wishes
        self._ages = PieceAges(found)
        self._held = _ProtectedPieces(found)
        self._repeated = _find_duplicates(found) if wishes.duplicates else set()
        self._replaced = self._repeated | (_find_stale_reads(found) if wishes.stale_reads else set())
        self._rules = {name: wishes.find_rule(name) for name in set(self._held.names.values())}
        images = [at for at, piece in enumerate(found) if piece.group == "images"]
        self._old = set() if wishes.images is None else set(images[: max(0, len(images) - wishes.images)])

    def decide_fate(self, at: int, piece: ContextPiece) -> Fate:
        if piece.group == "thinking":
            return self._decide_thinking(piece)
        if piece.group == "attachments" and self._wishes.noise and piece.kind in HOOK_OUTPUT_TYPES:
            return Fate(FATE_GONE, 0, "noise")
        found = Fate(FATE_SHORTENED, 0, "images") if at in self._old else WHOLE_FATE
        return max(found, self._decide_call(piece), key=lambda fate: fate.hardness) if piece.call else found

    def _decide_thinking(self, piece: ContextPiece) -> Fate:
        stays = self._wishes.thinking is None or self._ages.get_turn_age(piece) < self._wishes.thinking
        return (
            WHOLE_FATE if stays or _get_message_key(piece.row) == self._held.working else Fate(FATE_GONE, 0, "thinking")
        )

    def _decide_call(self, piece: ContextPiece) -> Fate:
        """What becomes of a call, its result, or an image in that."""
        if piece.call not in self._held.answered or (rule := self._rules[self._held.names[piece.call]]) is None:
            return WHOLE_FATE
        age = self._ages.get_call_age(piece.call)
        is_too_old = rule.gone is not None and age >= rule.gone
        if is_too_old and piece.call not in self._held.calls:
            return Fate(FATE_GONE, 0, "tools")
        if piece.group != "calls" and piece.call in self._replaced:
            return Fate(FATE_REPLACED, 0, "duplicates" if piece.call in self._repeated else "stale_reads")
        if is_too_old or (age >= rule.whole and rule.longest is not None):
            return self._shorten_piece(piece, rule.get_max_chars(age) or 0)
        return WHOLE_FATE

    def _shorten_piece(self, piece: ContextPiece, longest: int) -> Fate:
        """Shortened, if there is anything to shorten; an image as a whole or not at all."""
        return (
            WHOLE_FATE
            if piece.group == "images" and piece.stored <= longest
            else Fate(FATE_SHORTENED, longest, "tools")
        )


class PieceAges:
    """How many turns ago a piece was said: 0 in the last turn.

    An agent may work for hundreds of calls on one prompt. Of such a turn the last `MAX_CALLS_OF_ONE_AGE` calls have
    the turn's own age, those before them count as the turn before, and so on; else nothing in it would ever be old.
    """

    def __init__(self, found: Iterable[ContextPiece]) -> None:
        found = list(found)
        turns = sorted({piece.turn for piece in found}, reverse=True)
        self._all = {number: age for age, number in enumerate(turns)}
        self._of_call = _compute_call_ages(found)

    def get_turn_age(self, piece: ContextPiece) -> int:
        """Among all turns."""
        return self._all[piece.turn]

    def get_call_age(self, call: str) -> int:
        """Among the turns that have calls; a result is as old as its call."""
        return self._of_call[call]


def _compute_call_ages(found: Sequence[ContextPiece]) -> dict[str, int]:
    """The age of each call; parallel calls, which one message makes, have the same age."""
    latest: dict[str, ContextPiece] = {}
    for piece in found:
        if piece.group == "calls" and piece.turn >= (latest[piece.call].turn if piece.call in latest else 0):
            latest[piece.call] = piece
    newest_first = sorted(latest.values(), key=lambda piece: piece.turn)[::-1]
    ages: dict[str, int] = {}
    age, count, before = -1, 0, None
    for piece in newest_first:
        is_same_message = before is not None and _get_message_key(before.row) == _get_message_key(piece.row)
        if before is None or before.turn != piece.turn or (count >= MAX_CALLS_OF_ONE_AGE and not is_same_message):
            age, count = age + 1, 0
        ages[piece.call] = age
        count, before = count + 1, piece
    return ages


class _ProtectedPieces:
    """What must stay, whatever is wished."""

    def __init__(self, found: Sequence[ContextPiece]) -> None:
        rows: dict[int, list[ContextPiece]] = {}
        for piece in found:
            rows.setdefault(piece.row.index, []).append(piece)
        self.names = {piece.call: piece.kind for piece in found if piece.group == "calls"}
        """The calls, with their tools."""
        results = {piece.call for piece in found if piece.group == "results"}
        self.answered = results & self.names.keys()
        self.calls: set[str] = set()
        """Calls that are not removed."""
        for row in rows.values():
            calls = {piece.call for piece in row if piece.call}
            is_mixed = any(piece.group == "results" for piece in row) and any(not piece.call for piece in row)
            if is_mixed or not calls <= self.answered:
                self.calls |= calls
        self.working = self._protect_end(found)
        """The answer that is not finished when the session ends: it only thinks, or its calls are being worked on."""

    def _protect_end(self, found: Sequence[ContextPiece]) -> str | None:
        last = next((piece for piece in reversed(found) if piece.row.type == "assistant"), None)
        if last is None:
            return None
        message = [piece for piece in found if _get_message_key(piece.row) == _get_message_key(last.row)]
        calls = {piece.call for piece in message if piece.group == "calls"}
        if not any(piece.group == "answers" for piece in message):
            self.calls |= calls
        if found[-1].call:
            self.calls |= {piece.call for piece in found if piece.row.index == found[-1].row.index}
        is_at_work = found[-1].call in calls or not calls <= self.answered or {p.group for p in message} == {"thinking"}
        return _get_message_key(last.row) if is_at_work else None


def _find_duplicates(found: Sequence[ContextPiece]) -> set[str]:
    """The calls whose result a later call with the same input has again."""
    last: dict[int, str] = {}
    gone = set()
    for piece in found:
        if piece.group == "results" and piece.twin and not piece.failed:
            if last.get(piece.twin, piece.call) != piece.call:
                gone.add(last[piece.twin])
            last[piece.twin] = piece.call
    return gone


def _find_stale_reads(found: Sequence[ContextPiece]) -> set[str]:
    """The calls that have read a file that was written, or read as a whole, later."""
    reads: dict[str, set[str]] = {}
    gone: set[str] = set()
    for piece in found:
        if piece.group != "results" or piece.failed or not piece.path:
            continue
        if piece.kind in _WRITE_TOOLS or (piece.kind in _READ_TOOLS and not piece.partial):
            gone |= reads.pop(piece.path, set()) - {piece.call}
        if piece.kind in _READ_TOOLS:
            reads.setdefault(piece.path, set()).add(piece.call)
    return gone
