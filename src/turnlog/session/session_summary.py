"""Everything about a session except its text: what `turnlog show --json` prints (docs/json.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct

from turnlog.entries.speakers import Speaker
from turnlog.entries.titles import SessionNames
from turnlog.session.agents import SubAgent
from turnlog.session.calls import Call, find_tool_family
from turnlog.session.client_totals import Agreement, ClientTotals
from turnlog.session.compactions import Compaction
from turnlog.session.lineage import find_current_leaf_uuid
from turnlog.session.message_usage import Usage
from turnlog.session.notices import Notice
from turnlog.session.overview import count_entries_by_type
from turnlog.session.session import Session
from turnlog.session.touched_files import TouchedFile
from turnlog.session.turns import Turn


class EntryCounts(Struct, frozen=True):
    """The number of entries in the file, and of lines that are not entries."""

    total: int
    by_type: dict[str, int]
    by_kind: dict[str, int]
    """Attachments and progress reports by kind."""
    broken: int
    """Lines that are not a JSON object."""
    scraps: dict[str, int]
    """Everything that is not an entry, by kind."""


class CallOverview(Struct, frozen=True):
    """One call, without its input and result."""

    id: str
    name: str
    family: str
    is_error: bool | None
    """None while unanswered."""
    agent_id: str | None
    started: str | None
    ended: str | None
    reported: str | None
    """The reported outcome of a call that continued in the background."""


class TurnOverview(Struct, frozen=True):
    """One turn."""

    index: int
    uuid: str | None
    kind: str
    speaker: Speaker
    text: str
    further: list[str]
    """Text that was typed while the turn was running."""
    origin: Notice | None
    started: str | None
    ended: str | None
    duration_ms: float | None
    outcome: str
    round: str
    messages: int
    calls: list[CallOverview]


class CallTotals(Struct, frozen=True):
    """The number of calls by outcome."""

    total: int
    answered: int
    unanswered: int
    errors: int
    orphan_results: int


class GraphCounts(Struct, frozen=True):
    """The shape of the conversation."""

    roots: int
    leaves: int
    branches: int
    missing_parents: int
    compactions: int
    leaf: str | None
    """The entry from which the client would continue, or None if it would refuse to resume."""
    leaf_uuids: list[str | None]


class CompactionOverview(Struct, frozen=True):
    """One compaction."""

    boundary: str | None
    trigger: str | None
    pre_tokens: int | None
    post_tokens: int | None
    summary: str | None
    preserved: list[str]
    summarised: int


class AgentOverview(Struct, frozen=True):
    """One sub-agent."""

    agent_id: str
    type: str | None
    kind: str
    description: str | None
    path: str | None
    call_id: str | None
    parent_agent_id: str | None
    incomplete: bool
    """Whether its file is missing, so that only what the session's own file repeats is known."""


class TotalsOverview(Struct, frozen=True):
    """Tokens and cost in the client's own totals."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_creation_input_tokens: int
    web_searches: int
    cost_usd: float


class ModelRest(TotalsOverview, frozen=True, kw_only=True):
    """What one model did without a message."""

    model: str


class ClientUsage(Struct, frozen=True):
    """The client's own totals beside the counted messages."""

    agreement: Agreement
    """`equal`; `more`, because some requests left no message; `carried_over`, if the session is a fork and the totals
    include those of its source; `less`, if the totals don't cover all messages."""
    total: TotalsOverview
    without_message: list[ModelRest]
    """What the counted messages don't account for; empty unless there is more."""
    later_messages: int
    """Messages that came after the totals were written."""


class UsageOverview(Struct, frozen=True):
    """Tokens and cost including sub-agents, with each message counted once."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_creation_input_tokens: int
    cache_creation_5m: int
    cache_creation_1h: int
    web_searches: int
    cost_usd: float
    unpriced_tokens: int
    quality: dict[str, int]
    client: ClientUsage | None
    """The client's own totals; None if the file has none."""


class ContextFill(Struct, frozen=True):
    """How full the context window was, in tokens."""

    tokens: int | None
    """The number of tokens at the last message that records its usage."""
    window: int | None
    peak: int | None


class ModeChange(Struct, frozen=True):
    """A change of permission mode."""

    time: str | None
    mode: str


class ApiFailure(Struct, frozen=True):
    """A failed request to the API."""

    time: str | None
    text: str | None


class SessionSummary(Struct, frozen=True):
    """Everything known about a session, without its text."""

    session_id: str | None
    path: str | None
    title: str | None
    titles: SessionNames
    versions: list[str]
    models: list[str]
    cwd: str | None
    folders: list[str]
    resume: str | None
    """The command that resumes the session in its folder."""
    git_branches: list[str]
    started: str | None
    ended: str | None
    entries: EntryCounts
    messages: int
    prompts: int
    turns: list[TurnOverview]
    calls: CallTotals
    graph: GraphCounts
    compactions: list[CompactionOverview]
    agents: list[AgentOverview]
    usage: UsageOverview
    context: ContextFill
    files: list[TouchedFile]
    permission_modes: list[ModeChange]
    pull_requests: list[str]
    api_errors: list[ApiFailure]


def summarize_session(session: Session) -> SessionSummary:
    """Collect everything known about a session, without its text."""
    started, ended = session.span
    return SessionSummary(
        session_id=session.session_id,
        path=str(session.path) if session.path else None,
        title=session.title,
        titles=session.titles.names,
        versions=session.versions,
        models=session.models,
        cwd=session.folders[-1] if session.folders else None,
        folders=session.folders,
        resume=session.resume_command,
        git_branches=session.git_branches,
        started=started,
        ended=ended,
        entries=_count_entries(session),
        messages=len(session.messages),
        prompts=session.prompts,
        turns=_list_turns(session),
        calls=_count_calls(session),
        graph=_measure_graph(session),
        compactions=[_to_compaction_overview(item) for item in session.compactions],
        agents=[_to_agent_overview(item) for item in session.agents],
        usage=_to_usage_overview(session.usage, session.client_totals),
        context=_measure_context(session),
        files=session.files,
        permission_modes=[ModeChange(event.time, event.value) for event in session.permission_modes],
        pull_requests=session.pull_requests,
        api_errors=[ApiFailure(event.time, _read_error_text(event.value)) for event in session.api_errors],
    )


def _count_entries(session: Session) -> EntryCounts:
    scraps: dict[str, int] = {}
    for scrap in session.file.scraps:
        scraps[scrap.kind] = scraps.get(scrap.kind, 0) + 1
    kinds: dict[str, int] = {}
    for entry in session.file.entries:
        if entry.kind is not None:
            name = f"{entry.type}/{entry.kind}"
            kinds[name] = kinds.get(name, 0) + 1
    broken = sum(scraps.get(kind, 0) for kind in ("broken", "torn", "value"))
    return EntryCounts(len(session.file.entries), count_entries_by_type(session.file.entries), kinds, broken, scraps)


def _list_turns(session: Session) -> list[TurnOverview]:
    """List the turns in all branches, with later reports about calls that continued in the background."""
    ends = {key: item.status for item in session.notices for key in (item.call_id, item.task_id) if key}
    return [_to_turn_overview(item, ends) for item in session.turns]


def _to_turn_overview(turn: Turn, ends: Mapping[str, str | None]) -> TurnOverview:
    return TurnOverview(
        turn.number,
        turn.start.uuid,
        turn.kind,
        turn.speaker,
        turn.text,
        list(turn.further),
        turn.origin,
        turn.started_at,
        turn.ended_at,
        turn.duration_ms,
        turn.outcome,
        turn.round,
        len(turn.messages),
        [_to_call_overview(call, ends) for call in turn.calls],
    )


def _to_call_overview(call: Call, ends: Mapping[str, str | None]) -> CallOverview:
    return CallOverview(
        call.id,
        call.name,
        find_tool_family(call.name),
        call.is_error,
        call.agent_id,
        call.started_at,
        call.ended_at,
        ends.get(call.id) or ends.get(call.agent_id or ""),
    )


def _count_calls(session: Session) -> CallTotals:
    unanswered = sum(item.result is None for item in session.calls)
    errors = sum(bool(item.is_error) for item in session.calls)
    return CallTotals(len(session.calls), len(session.calls) - unanswered, unanswered, errors, len(session.orphans))


def _measure_graph(session: Session) -> GraphCounts:
    view = session.graph
    return GraphCounts(
        len(view.roots),
        len(view.leaves),
        len(view.branches),
        len(view.rows_missing_parent),
        len(view.compactions),
        find_current_leaf_uuid(session),
        [leaf.uuid for leaf in view.leaves],
    )


def _to_compaction_overview(item: Compaction) -> CompactionOverview:
    return CompactionOverview(
        item.boundary.uuid,
        item.trigger,
        item.pre_tokens,
        item.post_tokens,
        item.summary.uuid if item.summary else None,
        list(item.preserved),
        len(item.summarised),
    )


def _to_agent_overview(item: SubAgent) -> AgentOverview:
    return AgentOverview(
        item.agent_id,
        item.type,
        item.kind,
        item.description,
        str(item.path) if item.path else None,
        item.call_id,
        item.parent_agent_id,
        item.is_incomplete,
    )


def _measure_context(session: Session) -> ContextFill:
    fills = session.context
    return ContextFill(
        fills[-1].tokens if fills else None,
        fills[-1].window if fills else None,
        max((fill.tokens for fill in fills), default=None),
    )


def _read_error_text(error: object) -> str | None:
    """Return the text of an error, or the message inside it."""
    if isinstance(error, dict):
        inner = error.get("message") or error.get("error")
        return _read_error_text(inner) if inner else json.dumps(error)
    return error if isinstance(error, str) else None


def _to_usage_overview(item: Usage, client: ClientTotals | None) -> UsageOverview:
    return UsageOverview(
        item.input_tokens,
        item.output_tokens,
        item.cache_read_input_tokens,
        item.cache_creation_input_tokens,
        item.cache_creation_5m,
        item.cache_creation_1h,
        item.web_searches,
        item.cost_usd,
        item.unpriced_tokens,
        item.quality,
        None if client is None else _to_client_usage(client),
    )


def _to_client_usage(client: ClientTotals) -> ClientUsage:
    rest = [ModelRest(*totals, model=model) for model, totals in client.rest.items()]
    return ClientUsage(client.agreement, TotalsOverview(*client.whole), rest, client.later_messages)
