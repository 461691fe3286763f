"""A session as one JSON document: what `turnlog show --json` prints (docs/json.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import to_builtins

from turnlog.session.agents import SubAgent
from turnlog.session.calls import Call, find_tool_family
from turnlog.session.compactions import Compaction
from turnlog.session.lineage import find_current_leaf_uuid
from turnlog.session.message_usage import Usage
from turnlog.session.overview import count_entries_by_type
from turnlog.session.session import Session
from turnlog.session.turns import Turn

Json = dict[str, Any]


def to_session_document(session: Session) -> Json:
    """Everything that is known of a session, without its texts."""
    started, ended = session.span
    return {
        "session_id": session.session_id,
        "path": str(session.path) if session.path else None,
        "title": session.title,
        "titles": session.titles.to_document(),
        "versions": session.versions,
        "models": session.models,
        "cwd": session.folders[-1] if session.folders else None,
        "folders": session.folders,
        "git_branches": session.git_branches,
        "started": started,
        "ended": ended,
        "entries": to_session_entries_document(session),
        "messages": len(session.messages),
        "prompts": session.prompts,
        "turns": to_session_turn_documents(session),
        "calls": to_session_calls_document(session),
        "graph": to_session_graph_document(session),
        "compactions": [to_session_compaction_document(item) for item in session.compactions],
        "agents": [to_session_agent_document(item) for item in session.agents],
        "usage": to_session_usage_document(session.usage),
        "context": to_session_context_document(session),
        "files": [to_builtins(item) for item in session.files],
        "permission_modes": [{"time": event.time, "mode": event.value} for event in session.permission_modes],
        "pull_requests": session.pull_requests,
        "api_errors": [{"time": event.time, "text": _read_error_text(event.value)} for event in session.api_errors],
    }


def to_session_entries_document(session: Session) -> Json:
    """How many entries the file holds, by type, and what in it is none."""
    scraps: dict[str, int] = {}
    for scrap in session.file.scraps:
        scraps[scrap.kind] = scraps.get(scrap.kind, 0) + 1
    kinds: dict[str, int] = {}
    for entry in session.file.entries:
        if entry.kind is not None:
            name = f"{entry.type}/{entry.kind}"
            kinds[name] = kinds.get(name, 0) + 1
    return {
        "total": len(session.file.entries),
        "by_type": count_entries_by_type(session.file.entries),
        "by_kind": kinds,
        "broken": sum(scraps.get(kind, 0) for kind in ("broken", "torn", "value")),
        "scraps": scraps,
    }


def to_session_turn_documents(session: Session) -> list[Json]:
    """The turns, all branches, with what was reported later of the calls that went on in the background."""
    ends = {key: item.status for item in session.notices for key in (item.call_id, item.task_id) if key}
    return [to_session_turn_document(item, ends) for item in session.turns]


def to_session_turn_document(item: Turn, ends: Mapping[str, str | None]) -> Json:
    """One turn."""
    return {
        "index": item.number,
        "uuid": item.start.uuid,
        "kind": item.kind,
        "speaker": item.speaker._asdict(),
        "text": item.text,
        "further": item.further,
        "origin": item.origin._asdict() if item.origin else None,
        "started": item.started_at,
        "ended": item.ended_at,
        "duration_ms": item.duration_ms,
        "outcome": item.outcome,
        "round": item.round,
        "messages": len(item.messages),
        "calls": [
            to_session_call_document(each) | {"reported": ends.get(each.id) or ends.get(each.agent_id or "")}
            for each in item.calls
        ],
    }


def to_session_call_document(item: Call) -> Json:
    """One call, without what was asked and answered."""
    return {
        "id": item.id,
        "name": item.name,
        "family": find_tool_family(item.name),
        "is_error": item.is_error,
        "agent_id": item.agent_id,
        "started": item.started_at,
        "ended": item.ended_at,
    }


def to_session_calls_document(session: Session) -> Json:
    """How many calls there are, and how they ended."""
    unanswered = sum(item.result is None for item in session.calls)
    return {
        "total": len(session.calls),
        "answered": len(session.calls) - unanswered,
        "unanswered": unanswered,
        "errors": sum(bool(item.is_error) for item in session.calls),
        "orphan_results": len(session.orphans),
    }


def to_session_graph_document(session: Session) -> Json:
    """The shape of the conversation in numbers."""
    view = session.graph
    return {
        "roots": len(view.roots),
        "leaves": len(view.leaves),
        "branches": len(view.branches),
        "missing_parents": len(view.rows_missing_parent),
        "compactions": len(view.compactions),
        "leaf": find_current_leaf_uuid(session),
        "leaf_uuids": [leaf.uuid for leaf in view.leaves],
    }


def to_session_compaction_document(item: Compaction) -> Json:
    """One compaction."""
    return {
        "boundary": item.boundary.uuid,
        "trigger": item.trigger,
        "pre_tokens": item.pre_tokens,
        "post_tokens": item.post_tokens,
        "summary": item.summary.uuid if item.summary else None,
        "preserved": list(item.preserved),
        "summarised": len(item.summarised),
    }


def to_session_agent_document(item: SubAgent) -> Json:
    """One sub-agent."""
    return {
        "agent_id": item.agent_id,
        "type": item.type,
        "kind": item.kind,
        "description": item.description,
        "path": str(item.path) if item.path else None,
        "call_id": item.call_id,
        "parent_agent_id": item.parent_agent_id,
        "incomplete": item.is_incomplete,
    }


def to_session_context_document(session: Session) -> Json:
    """How full the context window was at the end and at its fullest."""
    fills = session.context
    return {
        "tokens": fills[-1].tokens if fills else None,
        "window": fills[-1].window if fills else None,
        "peak": max((fill.tokens for fill in fills), default=None),
    }


def _read_error_text(error: object) -> str | None:
    """What an error says: its text, or the message inside it."""
    if isinstance(error, dict):
        inner = error.get("message") or error.get("error")
        return _read_error_text(inner) if inner else json.dumps(error)
    return error if isinstance(error, str) else None


def to_session_usage_document(item: Usage) -> Json:
    """Tokens and cost."""
    return {
        "input_tokens": item.input_tokens,
        "output_tokens": item.output_tokens,
        "cache_read_input_tokens": item.cache_read_input_tokens,
        "cache_creation_input_tokens": item.cache_creation_input_tokens,
        "cache_creation_5m": item.cache_creation_5m,
        "cache_creation_1h": item.cache_creation_1h,
        "web_searches": item.web_searches,
        "cost_usd": item.cost_usd,
        "unpriced_tokens": item.unpriced_tokens,
        "quality": item.quality,
    }
