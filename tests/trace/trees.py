"""Span trees as text: what hangs on what, without ids and clocks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from turnlog.session.session import Session
from turnlog.trace.spans.attributes import build_span
from turnlog.trace.spans.content import ContentPolicy, SpanContents
from turnlog.trace.spans.span import SessionSignals, Span
from turnlog.trace.spans.span_trees import build_session_traces

OVER = SessionSignals(over=True)
_SHOWN = ("outcome", "continued", "interrupted", "compacted", "time", "usage_quality")


def spans(
    session: Session, told: SessionSignals = OVER, policy: ContentPolicy = ContentPolicy(), *, nest: bool = False
) -> list[Span]:
    """All spans of a session that are final."""
    found = []
    for trace in build_session_traces(session, told):
        contents = SpanContents(session, policy)
        found += [build_span(node, trace, contents, nest=nest) for node in trace.nodes if node.final]
    return found


def tree(session: Session | Path, told: SessionSignals = OVER, *, nest: bool = False) -> str:
    """The span trees of a session, a line for each span, in the order of their beginnings."""
    if isinstance(session, Path):
        with Session.open(session) as opened:
            return tree(opened, told, nest=nest)
    found = spans(session, told, nest=nest)
    known = {item.id for item in found}
    tops = [item for item in found if item.parent not in known]
    return "\n".join(line for top in tops for line in _lines(top, found, 0))


def _lines(top: Span, found: list[Span], depth: int) -> Iterator[str]:
    yield f"{'. ' * depth}{top.name}{_facts(top)}"
    below = [item for item in found if item.parent == top.id]
    for item in sorted(below, key=lambda item: item.start):
        yield from _lines(item, found, depth + 1)


def _facts(item: Span) -> str:
    found = {name: item.attributes.get(f"claude_code.{name}") for name in _SHOWN}
    facts = list(dict.fromkeys(name if fact is True else str(fact) for name, fact in found.items() if fact is not None))
    if item.error is not None:
        facts.append(f"ERROR {item.attributes['error.type']}")
    return f" ({', '.join(facts)})" if facts else ""
