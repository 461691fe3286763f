"""The client's own totals (`cost-state`), held against the messages in the file.

The messages alone give too little: a request for a summary, a title or a recap, and one that was interrupted or tried
again, leaves no message behind. The last `cost-state` has what the client itself added up, by model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from turnlog.entries.entry import Body, Entry
from turnlog.entries.reader import Transcript
from turnlog.session.message_usage import list_billed_requests
from turnlog.session.messages import Message
from turnlog.session.usage.prices import PICO_PER_DOLLAR, SYNTHETIC_MODEL, parse_model_name

MAX_TOTAL_TOKENS = 1 << 53
"""Larger totals are nonsense."""
MAX_MODEL_CHARS = 200
_COST_TOLERANCE_USD = 0.0005
_COST_TYPE = "cost-state"
_COUNT_FIELDS = (
    *("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"),
    "webSearchRequests",
)


class ModelTotals(NamedTuple):
    """The tokens and cost of the requests to one model."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    web_searches: int = 0
    cost_usd: float = 0.0

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        return self[:5]

    def add(self, other: ModelTotals, sign: int = 1) -> ModelTotals:
        """Return the sum or, with the sign -1, the difference."""
        counts = [one + sign * two for one, two in zip(self.counts, other.counts, strict=True)]
        return _build_totals(counts, self.cost_usd + sign * other.cost_usd)


def _build_totals(counts: Sequence[int], cost_usd: float) -> ModelTotals:
    prompt, output, read, written, searches = counts
    return ModelTotals(prompt, output, read, written, searches, cost_usd)


NOTHING = ModelTotals()
Agreement = Literal["equal", "more", "carried_over", "less"]
"""How the client's totals relate to the counted messages."""


class ClientTotals(Struct, frozen=True):
    """The client's own totals, and what they contain besides the messages."""

    agreement: Agreement
    """`equal`; `more`, because some requests left no message; `carried_over`, if the session is a fork and the totals
    include those of its source; `less`, if they don't cover all messages, so that nothing follows from them."""
    whole: ModelTotals
    """The client's own figure."""
    rest: dict[str, ModelTotals]
    """By model, what the messages don't account for; empty unless there is more."""
    later_messages: int
    """Messages that came after the client's figure was written."""

    @property
    def is_confirmed(self) -> bool:
        """Whether the client's figure confirms what was counted."""
        return self.agreement == "equal" and not self.later_messages


class CountedSession(NamedTuple):
    """What a session's own figures are computed from."""

    file: Transcript
    session_id: str | None
    entries: Sequence[Entry]
    messages: Sequence[Message]
    agent_messages: Sequence[Message]


def compare_client_totals(session: CountedSession) -> ClientTotals | None:
    """Compare the client's last totals with the messages before them; return None if the file has no totals."""
    state = next((entry for entry in reversed(session.entries) if entry.type == _COST_TYPE), None)
    client = _read_model_totals(session.file.read_body(state)) if state is not None else None
    if state is None or client is None:
        return None
    covered, later = _divide_messages(session, state)
    counted = _sum_by_model(covered)
    models = dict.fromkeys([*client, *counted])
    rest = {model: client.get(model, NOTHING).add(counted.get(model, NOTHING), -1) for model in models}
    whole = NOTHING
    for totals in client.values():
        whole = whole.add(totals)
    agreement = _judge_agreement(session, list(rest.values()))
    left = {model: totals for model, totals in rest.items() if _is_much(totals)}
    return ClientTotals(agreement, whole, left if agreement in ("more", "carried_over") else {}, later)


def _judge_agreement(session: CountedSession, rest: Sequence[ModelTotals]) -> Agreement:
    if any(count < 0 for totals in rest for count in totals.counts):
        return "less"
    if not any(map(_is_much, rest)):
        return "equal"
    return "carried_over" if _is_fork(session) else "more"


def _is_much(totals: ModelTotals) -> bool:
    return any(totals.counts) or abs(totals.cost_usd) > _COST_TOLERANCE_USD


def _is_fork(session: CountedSession) -> bool:
    """Return whether the first prompt or answer was copied from another session."""
    spoken = (entry for entry in session.entries if entry.type in ("user", "assistant"))
    for entry in _take_first_of_each_type(spoken):
        body = session.file.read_body(entry)
        source = body.get("requestSessionId")
        if body.get("forkedFrom") or (isinstance(source, str) and source != session.session_id):
            return True
    return False


def _take_first_of_each_type(entries: Iterable[Entry]) -> Iterator[Entry]:
    seen: set[str | None] = set()
    for entry in entries:
        if entry.type not in seen:
            seen.add(entry.type)
            yield entry


def _divide_messages(session: CountedSession, state: Entry) -> tuple[list[Message], int]:
    """Return the messages that the totals cover, and count the later ones.

    The totals have no time: a sub-agent's message is covered if it ended before the last dated entry above them.
    """
    main = [message for message in session.messages if message.lines[-1].index < state.index]
    times = [entry.timestamp for entry in session.entries if entry.index < state.index and entry.timestamp]
    until = max(times, default="")
    early = [message for message in session.agent_messages if (message.ended_at or "") <= until]
    later = len(session.messages) - len(main) + len(session.agent_messages) - len(early)
    return [*main, *early], later


def _sum_by_model(messages: Iterable[Message]) -> dict[str, ModelTotals]:
    sums: dict[str, ModelTotals] = {}
    seen: set[str] = set()
    for message in messages:
        if message.model == SYNTHETIC_MODEL or message.key in seen:
            continue
        seen.add(message.key)
        for request in list_billed_requests(message):
            key, tokens = parse_model_name(request.model or "").key, request.tokens
            cost = (request.compute_cost(message.started_at).pico or 0) / PICO_PER_DOLLAR
            written = tokens.cache_write_5m + tokens.cache_write_1h
            totals = ModelTotals(tokens.input, tokens.output, tokens.cache_read, written, tokens.web_searches, cost)
            sums[key] = sums.get(key, NOTHING).add(totals)
    return sums


def _read_model_totals(body: Body) -> dict[str, ModelTotals] | None:
    """Read the totals by model; return None if they are not what a client writes."""
    usage = body.get("modelUsage")
    if not isinstance(usage, dict):
        return None
    found: dict[str, ModelTotals] = {}
    for model, counts in usage.items():
        if not isinstance(counts, dict):
            return None
        numbers = [_to_count(counts.get(name, 0)) for name in _COUNT_FIELDS]
        cost = counts.get("costUSD", 0)
        if None in numbers or not _is_amount(cost):
            return None
        key = parse_model_name(model[:MAX_MODEL_CHARS]).key
        totals = _build_totals([number or 0 for number in numbers], float(cost))
        found[key] = found.get(key, NOTHING).add(totals)
    return found


def _to_count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_TOTAL_TOKENS else None


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
