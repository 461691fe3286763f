"""The span trees that `turnlog trace show` draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.cli import when
from turnlog.cli.terminal import Screen, line, pad, width
from turnlog.render.events import notified
from turnlog.render.labels import prompt_label
from turnlog.trace.spans.attributes import span
from turnlog.trace.spans.content import Contents, Policy
from turnlog.trace.spans.span import Span
from turnlog.trace.spans.spans import Node, Trace
from turnlog.trace.wire.otlp import readable

_LONGEST = 200
_READ = 2_000
"""Characters of a text in which what is shown of it stands."""
_DEFINITION = (
    "One tree a turn. A generation lasts from what it answers to the last line of its message, a call from its own line"
    " to its result. Tokens: new input, read from the cache (r), written to it (w), output."
)
_MARKS = ("continued", "interrupted", "compacted")


def lines(traces: list[Trace], screen: Screen, *, nest: bool) -> Iterator[str]:
    """The trees as lines; on a terminal, cut to its width."""
    for trace in traces:
        contents = Contents(trace.session, Policy(limit=_READ))
        spans = {node.id: span(node, trace, contents, nest=nest) for node in trace.nodes}
        yield _head(trace, spans, screen)
        drawn = list(_walk(trace, spans))
        wide = max((width(branch) + width(line(node.name)) for branch, node in drawn), default=0)
        for branch, node in drawn:
            yield _row(branch, node, spans[node.id], wide, screen)
        yield ""
    yield from screen.prose(_DEFINITION if traces else "No turn has an answer yet.", "dim")


def document(traces: list[Trace], policy: Policy, *, nest: bool) -> dict[str, Any]:
    """The same as JSON, with all that would be sent."""
    found = []
    for trace in traces:
        contents = Contents(trace.session, policy)
        spans = readable(span(node, trace, contents, nest=nest) for node in trace.nodes)
        found.append({"trace": trace.id.hex(), "turn": trace.number or None, "name": trace.name, "spans": spans})
    return {"traces": found}


def _head(trace: Trace, spans: dict[bytes, Span], screen: Screen) -> str:
    said = str(spans[trace.nodes[0].id].attributes.get("input.value", ""))
    title, prompt = line(trace.name), trace.work.prompt
    if prompt is not None and prompt.kind == "notification":
        said = notified(said)
    elif prompt is not None and not prompt.is_typed:
        title += f" ({line(prompt_label(prompt.kind, prompt.speaker.name))})"
    return screen.paint(title, "bold") + screen.fit(f"  {line(said)[:_LONGEST]}", width(title))


def _walk(trace: Trace, spans: dict[bytes, Span]) -> Iterator[tuple[str, Node]]:
    """Each span with the branches that lead to it, in the order of their times."""
    below: dict[bytes | None, list[Node]] = {}
    for node in sorted(trace.nodes, key=lambda node: node.start):
        parent = spans[node.id].parent
        below.setdefault(parent if parent in spans else None, []).append(node)
    stack = [(node, "", number == 1) for number, node in enumerate(reversed(below.get(None, [])), 1)]
    while stack:
        node, above, is_last = stack.pop()
        yield above + ("└─ " if is_last else "├─ "), node
        deeper = above + ("   " if is_last else "│  ")
        stack += [(child, deeper, number == 1) for number, child in enumerate(reversed(below.get(node.id, [])), 1)]


def _row(branch: str, node: Node, sent: Span, wide: int, screen: Screen) -> str:
    name = pad(line(node.name), wide - width(branch))
    lasted = when.lasted((sent.end - sent.start) / 1_000_000)
    facts = "  ".join(filter(None, [f"{lasted:<5}", _tokens(sent), *_notes(sent)])).rstrip()
    text = f"{branch}{name}  {screen.fit(facts, wide + 2)}"
    return screen.paint(text, "red") if sent.error else text


def _tokens(sent: Span) -> str:
    used = [sent.attributes.get(f"gen_ai.usage.{name}") for name in _USED]
    if used[0] is None:
        return ""
    total, read, written, output = (int(value) if isinstance(value, int) else 0 for value in used)
    return f"{total - read - written:,} + {read:,} r + {written:,} w → {output:,}"


_USED = ("input_tokens", "cache_read.input_tokens", "cache_creation.input_tokens", "output_tokens")


def _notes(sent: Span) -> Iterator[str]:
    for mark in _MARKS:
        if sent.attributes.get(f"claude_code.{mark}"):
            yield f"[{mark}]"
    if time := sent.attributes.get("claude_code.time"):
        yield f"[time {time}]"
    if sent.attributes.get("claude_code.outcome") in ("unanswered", "open", "waiting"):
        yield f"[{sent.attributes['claude_code.outcome']}]"
    if sent.error:
        yield f"✗ {line(sent.error)[:_LONGEST]}"
