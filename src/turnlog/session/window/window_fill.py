"""What fills the context window of the conversation that would be resumed now.

The fill level is measured: every answer records how many tokens its request contained. The contents are estimated from
the sizes of the pieces and fitted to the measurement (docs/context.md). The two are kept separate: each number is
labelled as either measured or estimated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import accumulate, pairwise
from typing import NamedTuple

from turnlog.session.message_usage import count_context_tokens
from turnlog.session.session import Session
from turnlog.session.usage.prices import find_context_window, find_price
from turnlog.session.window.pieces import PIECE_GROUPS, ContextPiece, build_context_pieces, list_pieces_of_rows

USUAL_TOKENS_PER_BYTE = 0.4
"""The rate without a measurement: the middle of the range seen in sessions with the current models."""
MIN_TOKENS_PER_BYTE, MAX_TOKENS_PER_BYTE = 0.2, 0.6
"""The plausible range of the rate: genuine sessions with ten steps or more show 0.30 to 0.49."""
MIN_FITTED_TOKENS_PER_BYTE = 0.1
"""A request with fewer tokens than its text has at this rate did not contain the text, or its count is wrong."""
MAX_HEAVIEST_PIECES = 20
_MIN_STEP_BYTES = 400
"""Smaller growth in known text can't be used to measure the rate: what is not in the file outweighs it."""
_MIN_TOTAL_BYTES = 4_000
"""With fewer bytes in all steps together, the rate can't be measured either."""
SUMMARY_RESERVE_TOKENS, SAFETY_BUFFER_TOKENS = 20_000, 13_000
"""The client compacts this many tokens before the window is full: room for the summary, and a safety margin."""
UNSEEN_GROUP = "system"
"""What is sent but not in the file: the system prompt, the tool definitions, and the client's own notes."""


class MeasuredRequest(NamedTuple):
    """An answer in the conversation, and the size of its request."""

    before: int
    """The number of pieces in the request."""
    tokens: int
    turn: int
    model: str | None


class FillPart(NamedTuple):
    """The estimated total tokens of a set of pieces."""

    group: str
    kind: str
    tokens: int
    pieces: int


class TurnFill(NamedTuple):
    """The effect of a turn on the context window."""

    number: int
    measured: int | None
    """The tokens of its last request."""
    growth: int | None
    """The growth since the last request of the previous turn, or since its own first request."""
    added: dict[str, int]
    """The estimated tokens that it added, by group."""


class HeavyPiece(NamedTuple):
    piece: ContextPiece
    tokens: int


@dataclass(frozen=True)
class WindowFill:
    """How much of the context window each part of a conversation occupies."""

    pieces: Sequence[ContextPiece]
    requests: Sequence[MeasuredRequest]
    rate: float
    """Tokens per byte of text."""
    steps: int
    """The number of steps from request to request on which the rate is based; 0 for the usual rate."""
    unseen: int
    """The estimated number of tokens that were in the first request but are not in the file."""
    later: int
    """The measured growth since then that nothing in the file explains."""
    is_agent: bool
    compacted: bool

    @property
    def model(self) -> str | None:
        """The model that wrote the latest answer."""
        return self.requests[-1].model if self.requests else None

    @property
    def measured_tokens(self) -> int | None:
        """The number of tokens in the last request."""
        return self.requests[-1].tokens if self.requests else None

    @property
    def estimate(self) -> int:
        """The number of tokens in the next request, without a new prompt: the sum of all parts."""
        return self.unseen + self.later + sum(map(self.estimate_tokens, self.pieces))

    @property
    def window(self) -> int | None:
        """The size of the model's context window."""
        return find_context_window(self.model, self.measured_tokens or 0)

    @property
    def threshold(self) -> int | None:
        """The number of tokens at which the client compacts automatically."""
        size, price = self.window, find_price(self.model)
        if size is None:
            return None
        return (
            size
            - min(
                SUMMARY_RESERVE_TOKENS, price.max_output or SUMMARY_RESERVE_TOKENS if price else SUMMARY_RESERVE_TOKENS
            )
            - SAFETY_BUFFER_TOKENS
        )

    def estimate_tokens(self, piece: ContextPiece) -> int:
        return estimate_text_tokens(piece.size, self.rate) + piece.fixed

    def list_parts(self) -> list[FillPart]:
        """List what fills the window by group and kind, largest first; the sum is the estimate."""
        tokens: Counter[tuple[str, str]] = Counter()
        number: Counter[tuple[str, str]] = Counter()
        for piece in self.pieces:
            tokens[piece.group, piece.kind] += self.estimate_tokens(piece)
            number[piece.group, piece.kind] += 1
        found = [FillPart(group, kind, tokens[group, kind], count) for (group, kind), count in number.items()]
        unseen = [FillPart(UNSEEN_GROUP, "", self.unseen, 0)] + [FillPart(UNSEEN_GROUP, "later", self.later, 0)] * bool(
            self.later
        )
        return unseen + sorted(found, key=lambda item: (-item.tokens, item.group, item.kind))

    def list_heaviest(self, turn: int | None = None, count: int = MAX_HEAVIEST_PIECES) -> list[HeavyPiece]:
        """List the largest pieces of the whole conversation or of one turn."""
        chosen = (piece for piece in self.pieces if turn is None or piece.turn == turn)
        found = nlargest(
            count, ((self.estimate_tokens(piece), -at, piece) for at, piece in enumerate(chosen)), key=_get_token_order
        )
        return [HeavyPiece(piece, tokens) for tokens, _, piece in found]

    def list_turn_fills(self) -> list[TurnFill]:
        """List the size measured in each turn of the conversation, and what the turn added."""
        added: dict[int, Counter[str]] = {}
        for piece in self.pieces:
            if piece.turn:
                added.setdefault(piece.turn, Counter())[piece.group] += self.estimate_tokens(piece)
        measured: dict[int, list[int]] = {}
        for request in self.requests:
            measured.setdefault(request.turn, []).append(request.tokens)
        found: list[TurnFill] = []
        before: int | None = None
        for number in sorted(added):
            own = measured.get(number, [])
            last = own[-1] if own else None
            growth = last - (own[0] if before is None else before) if last is not None else None
            groups = {group: added[number][group] for group in PIECE_GROUPS if added[number][group]}
            found.append(TurnFill(number, last, growth, groups))
            before = last if last is not None else before
        return found


def _get_token_order(item: tuple[int, int, ContextPiece]) -> tuple[int, int]:
    return item[:2]


def estimate_text_tokens(size: int, rate: float) -> int:
    """Estimate the number of tokens in text from its size in bytes."""
    return int(size * rate)


def compute_window_fill(session: Session, leaf: str | None = None) -> WindowFill:
    """Compute what fills the window of the conversation that would be resumed now, or that ends at a different leaf."""
    context = build_context_pieces(session, leaf)
    pieces = context.all
    requests = _list_requests(session, pieces)
    rate, steps = _measure_rate(pieces, requests)
    if requests:
        rate = _fit_rate(pieces[: requests[-1].before], requests[-1].tokens, rate)
    unseen, later = _estimate_unseen(session, pieces, requests, rate)
    return WindowFill(
        pieces,
        requests,
        rate,
        steps,
        unseen,
        later,
        is_agent=bool(context.thread.leaf.is_sidechain),
        compacted=any(piece.group == "summary" for piece in pieces),
    )


def _list_requests(session: Session, pieces: Sequence[ContextPiece]) -> list[MeasuredRequest]:
    """List the answers that record the size of their request, excluding those before the last compaction."""
    messages = {line.index: message for message in session.messages for line in message.lines}
    start = max((piece.row.index for piece in pieces if piece.group == "summary"), default=-1)
    requests: list[MeasuredRequest] = []
    seen: set[str] = set()
    for at, piece in enumerate(pieces):
        message = messages.get(piece.row.index)
        if message is None or message.key in seen or piece.row.index < start:
            continue
        seen.add(message.key)
        if tokens := count_context_tokens(message):
            requests.append(MeasuredRequest(at, tokens, piece.turn, message.model))
    return requests


def _measure_rate(pieces: Sequence[ContextPiece], requests: Sequence[MeasuredRequest]) -> tuple[float, int]:
    """Measure tokens per byte as the median over the steps from request to request, weighted by bytes."""
    steps: list[tuple[float, int]] = []
    for one, other in pairwise(requests):
        between = pieces[one.before : other.before]
        size = sum(piece.size for piece in between)
        if size >= _MIN_STEP_BYTES and one.model == other.model:
            growth = other.tokens - one.tokens - sum(piece.fixed for piece in between)
            steps.append((growth / size, size))
    steps.sort()
    half = sum(size for _, size in steps) / 2
    if half * 2 < _MIN_TOTAL_BYTES:
        return USUAL_TOKENS_PER_BYTE, 0
    middle = (
        rate for (rate, _), total in zip(steps, accumulate(size for _, size in steps), strict=True) if total >= half
    )
    return min(MAX_TOKENS_PER_BYTE, max(MIN_TOKENS_PER_BYTE, next(middle, USUAL_TOKENS_PER_BYTE))), len(steps)


def _fit_rate(pieces: Sequence[ContextPiece], measured: int, rate: float) -> float:
    """Return the rate, lowered within limits so that the pieces of a request don't exceed the measurement."""
    size, fixed = sum(piece.size for piece in pieces), sum(piece.fixed for piece in pieces)
    return min(rate, max(MIN_FITTED_TOKENS_PER_BYTE, (measured - fixed) / size)) if size else rate


def _estimate_unseen(
    session: Session, pieces: Sequence[ContextPiece], requests: Sequence[MeasuredRequest], rate: float
) -> tuple[int, int]:
    """Estimate the measured tokens that are not in the file: those at the first request, and the growth since then."""
    if not requests:
        return _estimate_unseen_at_start(session, rate), 0
    first, last = (
        max(0, item.tokens - _sum_tokens(pieces[: item.before], rate)) for item in (requests[0], requests[-1])
    )
    return min(first, last), last - min(first, last)


def _estimate_unseen_at_start(session: Session, rate: float) -> int:
    """Make the same estimate from the session's first request if no answer follows the last compaction yet."""
    first = next((message for message in session.messages if count_context_tokens(message)), None)
    if first is None:
        return 0
    before = [row for row in session.entries if row.index < first.lines[0].index]
    return max(0, count_context_tokens(first) - _sum_tokens(list_pieces_of_rows(session, before), rate))


def _sum_tokens(pieces: Iterable[ContextPiece], rate: float) -> int:
    return sum(estimate_text_tokens(piece.size, rate) + piece.fixed for piece in pieces)
