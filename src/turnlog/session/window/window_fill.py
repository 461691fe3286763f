"""What fills the context window of the conversation that would be resumed now.

How full the window was is measured: every answer states how many tokens its request held. What filled it is estimated
from the sizes of the pieces and made to fit what was measured (docs/context.md). The two are kept apart: a number is
either one or the other, and says which.
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
"""Tokens per byte where nothing was measured: the middle of what sessions of the current models show."""
MIN_TOKENS_PER_BYTE, MAX_TOKENS_PER_BYTE = 0.2, 0.6
"""What tokens per byte can be believed to be: genuine sessions with ten steps or more show 0.30 to 0.49."""
MIN_FITTED_TOKENS_PER_BYTE = 0.1
"""A request that states fewer tokens than its texts have at this rate did not hold them, or states nothing real."""
MAX_HEAVIEST_PIECES = 20
_MIN_STEP_BYTES = 400
"""Growth by fewer bytes of known text than this tells nothing about the rate: what is not in the file outweighs it."""
_MIN_TOTAL_BYTES = 4_000
"""And so do all steps together where they have fewer bytes than this."""
SUMMARY_RESERVE_TOKENS, SAFETY_BUFFER_TOKENS = 20_000, 13_000
"""The client compacts so many tokens before the window's end: for the summary that is then written, and to be safe."""
UNSEEN_GROUP = "system"
"""What is sent and not in the file: the system prompt, the definitions of the tools, the client's own notes."""


class MeasuredRequest(NamedTuple):
    """An answer of the conversation, and what its request held."""

    before: int
    """How many pieces the request held."""
    tokens: int
    turn: int
    model: str | None


class FillPart(NamedTuple):
    """What some pieces take together, estimated."""

    group: str
    kind: str
    tokens: int
    pieces: int


class TurnFill(NamedTuple):
    """What a turn did to the window."""

    number: int
    measured: int | None
    """What its last request held."""
    growth: int | None
    """How much more that is than the last request of the turn before held, or than its own first request."""
    added: dict[str, int]
    """What it added, by group: estimated."""


class HeavyPiece(NamedTuple):
    """A piece with its estimated tokens."""

    piece: ContextPiece
    tokens: int


@dataclass(frozen=True)
class WindowFill:
    """A conversation by what it takes of the window."""

    pieces: Sequence[ContextPiece]
    requests: Sequence[MeasuredRequest]
    rate: float
    """Tokens per byte of text."""
    steps: int
    """From how many steps between two requests the rate was taken; 0: it is the usual one."""
    unseen: int
    """Estimated tokens that are sent and not in the file, at the first request."""
    later: int
    """Measured growth since then that nothing in the file explains."""
    is_agent: bool
    compacted: bool

    @property
    def model(self) -> str | None:
        """The model that answered last."""
        return self.requests[-1].model if self.requests else None

    @property
    def measured_tokens(self) -> int | None:
        """What the last request held."""
        return self.requests[-1].tokens if self.requests else None

    @property
    def estimate(self) -> int:
        """What the next request would hold, without a new prompt: the sum of all parts."""
        return self.unseen + self.later + sum(map(self.estimate_tokens, self.pieces))

    @property
    def window(self) -> int | None:
        """The model's window."""
        return find_context_window(self.model, self.measured_tokens or 0)

    @property
    def threshold(self) -> int | None:
        """Where the client compacts by itself."""
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
        """About how many tokens a piece takes."""
        return estimate_text_tokens(piece.size, self.rate) + piece.fixed

    def list_parts(self) -> list[FillPart]:
        """What the window is filled with, by group and kind, the largest first; together the estimate."""
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
        """The pieces that take most, of the whole conversation or of one turn."""
        chosen = (piece for piece in self.pieces if turn is None or piece.turn == turn)
        found = nlargest(
            count, ((self.estimate_tokens(piece), -at, piece) for at, piece in enumerate(chosen)), key=_get_token_order
        )
        return [HeavyPiece(piece, tokens) for tokens, _, piece in found]

    def list_turn_fills(self) -> list[TurnFill]:
        """What each turn of the conversation measured and added."""
        added: dict[int, Counter[str]] = {}
        for piece in self.pieces:
            if piece.turn:
                added.setdefault(piece.turn, Counter())[piece.group] += self.estimate_tokens(piece)
        found: list[TurnFill] = []
        before: int | None = None
        for number in sorted(added):
            own = [request.tokens for request in self.requests if request.turn == number]
            last = own[-1] if own else None
            growth = last - (own[0] if before is None else before) if last is not None else None
            groups = {group: added[number][group] for group in PIECE_GROUPS if added[number][group]}
            found.append(TurnFill(number, last, growth, groups))
            before = last if last is not None else before
        return found


def _get_token_order(item: tuple[int, int, ContextPiece]) -> tuple[int, int]:
    return item[:2]


def estimate_text_tokens(size: int, rate: float) -> int:
    """About how many tokens a text of so many bytes has."""
    return int(size * rate)


def compute_window_fill(session: Session, leaf: str | None = None) -> WindowFill:
    """What fills the window of the conversation that would be resumed now, or of another leaf's."""
    found = build_context_pieces(session, leaf)
    requests = _list_requests(session, found.all)
    rate, steps = _measure_rate(found.all, requests)
    if requests:
        rate = _fit_rate(found.all[: requests[-1].before], requests[-1].tokens, rate)
    unseen, later = _estimate_unseen(session, found.all, requests, rate)
    return WindowFill(
        found.all,
        requests,
        rate,
        steps,
        unseen,
        later,
        is_agent=bool(found.thread.leaf.is_sidechain),
        compacted=any(piece.group == "summary" for piece in found.all),
    )


def _list_requests(session: Session, found: Sequence[ContextPiece]) -> list[MeasuredRequest]:
    """The answers that state what their request held; of preserved messages, that was before the compaction."""
    messages = {line.index: message for message in session.messages for line in message.lines}
    start = max((piece.row.index for piece in found if piece.group == "summary"), default=-1)
    requests: list[MeasuredRequest] = []
    seen: set[str] = set()
    for at, piece in enumerate(found):
        message = messages.get(piece.row.index)
        if message is None or message.key in seen or piece.row.index < start:
            continue
        seen.add(message.key)
        if held := count_context_tokens(message):
            requests.append(MeasuredRequest(at, held, piece.turn, message.model))
    return requests


def _measure_rate(found: Sequence[ContextPiece], requests: Sequence[MeasuredRequest]) -> tuple[float, int]:
    """Tokens per byte: the median of what the steps from request to request show, each by its bytes."""
    steps: list[tuple[float, int]] = []
    for one, other in pairwise(requests):
        between = found[one.before : other.before]
        size = sum(piece.size for piece in between)
        if size >= _MIN_STEP_BYTES and one.model == other.model:
            growth = other.tokens - one.tokens - sum(piece.fixed for piece in between)
            steps.append((growth / size, size))
    steps.sort()
    half = sum(size for _, size in steps) / 2
    if half * 2 < _MIN_TOTAL_BYTES:
        return USUAL_TOKENS_PER_BYTE, 0
    middle = (
        rate for (rate, _), sofar in zip(steps, accumulate(size for _, size in steps), strict=True) if sofar >= half
    )
    return min(MAX_TOKENS_PER_BYTE, max(MIN_TOKENS_PER_BYTE, next(middle, USUAL_TOKENS_PER_BYTE))), len(steps)


def _fit_rate(held: Sequence[ContextPiece], measured: int, rate: float) -> float:
    """The rate, or the highest one at which the pieces of a request are no more than was measured, within reason."""
    size, fixed = sum(piece.size for piece in held), sum(piece.fixed for piece in held)
    return min(rate, max(MIN_FITTED_TOKENS_PER_BYTE, (measured - fixed) / size)) if size else rate


def _estimate_unseen(
    session: Session, found: Sequence[ContextPiece], requests: Sequence[MeasuredRequest], rate: float
) -> tuple[int, int]:
    """What was measured and is not in the file: at the first request, and what came since."""
    if not requests:
        return _estimate_unseen_at_start(session, rate), 0
    first, last = (
        max(0, item.tokens - _sum_tokens(found[: item.before], rate)) for item in (requests[0], requests[-1])
    )
    return min(first, last), last - min(first, last)


def _estimate_unseen_at_start(session: Session, rate: float) -> int:
    """The same from the first request of the whole session: no answer followed on the last compaction yet."""
    first = next((message for message in session.messages if count_context_tokens(message)), None)
    if first is None:
        return 0
    before = [row for row in session.entries if row.index < first.lines[0].index]
    return max(0, count_context_tokens(first) - _sum_tokens(list_pieces_of_rows(session, before), rate))


def _sum_tokens(found: Iterable[ContextPiece], rate: float) -> int:
    return sum(estimate_text_tokens(piece.size, rate) + piece.fixed for piece in found)
