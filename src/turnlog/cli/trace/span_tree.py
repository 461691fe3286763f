"""Draws the spans of a session as trees for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.cli import time_format
from turnlog.cli.terminal import TerminalScreen, measure_width, pad_to_cells, to_visible_line
from turnlog.render.events import format_prompt_label, read_notification
from turnlog.trace.spans.attributes import build_span
from turnlog.trace.spans.content import ContentPolicy, SpanContents
from turnlog.trace.spans.span import Span
from turnlog.trace.spans.span_trees import SpanNode, Trace

_MAX_TEXT_CHARS = 200
_MAX_READ_CHARS = 2_000
"""The maximum number of characters of text to read; the tree shows only the start."""
_DEFINITION = (
    "One tree per turn. A generation starts at the message it answers and ends with the last line of its own message; a"
    " call ends with its result. Tokens: new input, read from the cache (r), written to the cache (w), output."
)
_MARK_NAMES = ("continued", "interrupted", "compacted")


def render_span_trees(traces: list[Trace], screen: TerminalScreen, *, nest: bool) -> Iterator[str]:
    """Render the trees as lines; on a terminal, they are cut to its width."""
    for trace in traces:
        contents = SpanContents(trace.session, ContentPolicy(limit=_MAX_READ_CHARS))
        spans = {node.id: build_span(node, trace, contents, nest=nest) for node in trace.nodes}
        yield _render_head(trace, spans, screen)
        drawn = list(_walk_spans(trace, spans))
        width = max(
            (measure_width(branch) + measure_width(to_visible_line(node.name)) for branch, node in drawn), default=0
        )
        for branch, node in drawn:
            yield _render_row(branch, node, spans[node.id], width, screen)
        yield ""
    yield from screen.wrap_prose(_DEFINITION if traces else "No turn has an answer yet.", "dim")


def _render_head(trace: Trace, spans: dict[bytes, Span], screen: TerminalScreen) -> str:
    prompt_text = str(spans[trace.nodes[0].id].attributes.get("input.value", ""))
    title, prompt = to_visible_line(trace.name), trace.work.prompt
    if prompt is not None and prompt.kind == "notification":
        prompt_text = read_notification(prompt_text)
    elif prompt is not None and not prompt.is_typed:
        title += f" ({to_visible_line(format_prompt_label(prompt.kind, prompt.speaker.name))})"
    return screen.paint(title, "bold") + screen.fit(
        f"  {to_visible_line(prompt_text)[:_MAX_TEXT_CHARS]}", measure_width(title)
    )


def _walk_spans(trace: Trace, spans: dict[bytes, Span]) -> Iterator[tuple[str, SpanNode]]:
    """Yield each span with the lines that connect it to its parents, ordered by time."""
    below: dict[bytes | None, list[SpanNode]] = {}
    for node in sorted(trace.nodes, key=lambda node: node.start):
        parent = spans[node.id].parent
        below.setdefault(parent if parent in spans else None, []).append(node)
    stack = [(node, "", number == 1) for number, node in enumerate(reversed(below.get(None, [])), 1)]
    while stack:
        node, above, is_last = stack.pop()
        yield above + ("└─ " if is_last else "├─ "), node
        deeper = above + ("   " if is_last else "│  ")
        stack += [(child, deeper, number == 1) for number, child in enumerate(reversed(below.get(node.id, [])), 1)]


def _render_row(branch: str, node: SpanNode, span: Span, width: int, screen: TerminalScreen) -> str:
    name = pad_to_cells(to_visible_line(node.name), width - measure_width(branch))
    duration = time_format.format_milliseconds((span.end - span.start) / 1_000_000)
    facts = "  ".join(filter(None, [f"{duration:<5}", _format_tokens(span), *_list_notes(span)])).rstrip()
    text = f"{branch}{name}  {screen.fit(facts, width + 2)}"
    return screen.paint(text, "red") if span.error else text


def _format_tokens(span: Span) -> str:
    used = [span.attributes.get(f"gen_ai.usage.{name}") for name in _USAGE_FIELDS]
    if used[0] is None:
        return ""
    total, read, written, output = (int(value) if isinstance(value, int) else 0 for value in used)
    return f"{total - read - written:,} + {read:,} r + {written:,} w → {output:,}"


_USAGE_FIELDS = ("input_tokens", "cache_read.input_tokens", "cache_creation.input_tokens", "output_tokens")


def _list_notes(span: Span) -> Iterator[str]:
    for mark in _MARK_NAMES:
        if span.attributes.get(f"claude_code.{mark}"):
            yield f"[{mark}]"
    if time := span.attributes.get("claude_code.time"):
        yield f"[time {time}]"
    if span.attributes.get("claude_code.outcome") in ("unanswered", "open", "waiting"):
        yield f"[{span.attributes['claude_code.outcome']}]"
    if span.error:
        yield f"✗ {to_visible_line(span.error)[:_MAX_TEXT_CHARS]}"
