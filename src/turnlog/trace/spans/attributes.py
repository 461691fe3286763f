"""Nodes -> spans: attributes that describe what a span is, what it used and what it contains.

Each payload is sent once, in the terms of OpenTelemetry's GenAI conventions, plus what Langfuse and OpenInference need.
`claude_code.*` attributes cover what the conventions don't.
"""

from __future__ import annotations

from collections.abc import Iterable

from turnlog.session.calls import TOOLS_WAITING_FOR_PERSON
from turnlog.session.messages import Message
from turnlog.session.usage.iterations import SeparateRequest
from turnlog.session.usage.prices import PricedTokens
from turnlog.trace.spans.content import SpanContents, WorkTexts
from turnlog.trace.spans.parts import SpanPart, shorten_name, to_json_text
from turnlog.trace.spans.span import AttributeValue, Span
from turnlog.trace.spans.span_trees import SpanNode, Trace
from turnlog.trace.spans.stretches import StretchAnswer, WorkStretch

_MAX_TOKENS = 1 << 53


def build_usage_attributes(message: Message) -> dict[str, AttributeValue]:
    """Build the attributes for the usage of an answer and its reliability."""
    attributes: dict[str, AttributeValue] = {}
    if message.quality != "final":
        attributes["claude_code.usage_quality"] = message.quality
    if message.terms is not None and message.terms.speed == "fast":
        attributes["langfuse.observation.model.parameters"] = '{"speed":"fast"}'
    if message.tokens is not None:
        attributes |= _build_count_attributes(PricedTokens(*map(clamp_count, message.tokens)))
    return attributes


def build_separate_usage_attributes(request: SeparateRequest) -> dict[str, AttributeValue]:
    """Build the same attributes for a request that was billed separately."""
    return _build_count_attributes(PricedTokens(*map(clamp_count, request.tokens)))


def clamp_count(number: int) -> int:
    """Limit a number so that sums of such numbers fit into 64 bits."""
    return max(0, min(number, _MAX_TOKENS))


def _build_count_attributes(tokens: PricedTokens) -> dict[str, AttributeValue]:
    written = tokens.cache_write_5m + tokens.cache_write_1h
    total = tokens.input + tokens.cache_read + written
    attributes: dict[str, AttributeValue] = {
        "gen_ai.usage.input_tokens": total,
        "gen_ai.usage.output_tokens": tokens.output,
        "gen_ai.usage.cache_read.input_tokens": tokens.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": written,
        "langfuse.observation.usage_details": to_json_text(_split_by_price(tokens)),
    }
    if tokens.cache_write_1h:
        # Only in this case; otherwise, MLflow computes the same from the counts above.
        usage = {
            "input_tokens": total,
            "output_tokens": tokens.output,
            "total_tokens": total + tokens.output,
            "cache_read_input_tokens": tokens.cache_read,
            "cache_creation_input_tokens": written,
            "cache_creation_input_tokens_above_1hr": tokens.cache_write_1h,
        }
        attributes["mlflow.chat.tokenUsage"] = to_json_text(usage)
    return attributes


def _split_by_price(tokens: PricedTokens) -> dict[str, int]:
    cached = {
        "input_cached_tokens": tokens.cache_read,
        "input_cache_creation_5m": tokens.cache_write_5m,
        "input_cache_creation_1h": tokens.cache_write_1h,
    }
    return {"input": tokens.input, "output": tokens.output, **{name: count for name, count in cached.items() if count}}


_OPENINFERENCE_KINDS = {"agent": "AGENT", "generation": "LLM", "tool": "TOOL"}
_ERROR_TYPES = {"error": "tool_error", "denied": "denied", "interrupted": "interrupted"}
_MAX_ERROR_CHARS = 500
"""The maximum length in characters of the reason why a span failed."""

SpanAttributes = dict[str, AttributeValue]


def build_span(
    node: SpanNode, trace: Trace, contents: SpanContents, *, nest: bool = False, user: str | None = None
) -> Span:
    """Build the span of a node, with everything that is sent."""
    shared = _get_shared_attributes(trace, contents, user)
    attributes = {**shared, **_build_own_attributes(node)}
    match node.kind:
        case "agent":
            error = _fill_agent(node, trace, contents, attributes)
        case "generation":
            error = _fill_generation(node, contents, attributes)
        case "tool":
            error = _fill_tool(node, contents, attributes)
    parent = node.nested if nest else node.parent
    return Span(trace.id, node.id, parent, node.kind, node.name, node.start, node.end, attributes, error, shared)


def _get_shared_attributes(trace: Trace, contents: SpanContents, user: str | None) -> SpanAttributes:
    """Return the attributes shared by all spans in a trace, because some backends process each span separately."""
    if (shared := contents.shared.get((trace.id, user))) is None:
        shared = contents.shared[trace.id, user] = _build_trace_attributes(trace, contents, user)
    return shared


def _build_trace_attributes(trace: Trace, contents: SpanContents, user: str | None) -> SpanAttributes:
    context, session = contents.read_context(trace), trace.session.session_id or ""
    attributes: dict[str, AttributeValue | None] = {
        "session.id": session,
        "gen_ai.conversation.id": session,
        "user.id": user,
        "langfuse.trace.name": trace.name,
        "langfuse.trace.tags": ["claude-code"],
        "langfuse.trace.metadata.source": "claude-code",
        "langfuse.trace.metadata.session_id": session,
        "langfuse.trace.metadata.turn_number": str(trace.number) if trace.number else None,
        "langfuse.trace.metadata.cwd": context.cwd,
        "langfuse.trace.metadata.git_branch": context.git_branch,
        "langfuse.trace.metadata.slug": context.slug,
        "langfuse.version": context.version,
    }
    return {name: value for name, value in attributes.items() if value is not None}


def _build_own_attributes(node: SpanNode) -> SpanAttributes:
    attributes: SpanAttributes = {
        "openinference.span.kind": _OPENINFERENCE_KINDS[node.kind],
        "langfuse.observation.type": node.kind,
    }
    if node.times.borrowed or node.times.clamped:
        attributes["claude_code.time"] = "borrowed" if node.times.borrowed else "clamped"
    return attributes


# -- agents


def _fill_agent(node: SpanNode, trace: Trace, contents: SpanContents, attributes: SpanAttributes) -> str | None:
    stretch, agent = node.stretch, node.agent
    attributes["gen_ai.operation.name"] = "invoke_agent"
    attributes["gen_ai.agent.name"] = node.name.removeprefix("invoke_agent ")
    attributes["gen_ai.agent.id"] = shorten_name(agent.agent_id) if agent else trace.session.session_id or ""
    attributes["claude_code.outcome"] = _judge_outcome(stretch)
    if (prompt := node.work.prompt) is not None and not prompt.is_typed:
        attributes["claude_code.speaker"] = prompt.speaker.kind
    for flag in ("continued", "interrupted", "compacted"):
        if getattr(stretch, flag):
            attributes[f"claude_code.{flag}"] = True
    if stretch.duration_ms is not None:
        attributes["claude_code.turn_duration_ms"] = clamp_count(stretch.duration_ms)
    if not contents.is_silent:
        attributes["input.value"] = _read_input_text(node, contents)
        attributes["output.value"] = _read_output_text(node, contents)
    if _judge_outcome(stretch) != "error":
        return None
    return _describe_failure(node, stretch.answers[-1], contents, attributes)


def _judge_outcome(stretch: WorkStretch) -> str:
    """Return how a stretch ended, using the terms for a turn's outcome."""
    if stretch.interrupted:
        return "interrupted"
    if stretch.failed:
        return "error"
    last = stretch.answers[-1].key
    unanswered = [call for call in stretch.calls if call.result is None and call.message == last]
    if stretch.at_rest and not unanswered:
        return "finished"
    if not stretch.cut_off:
        return "interrupted"
    return "waiting" if any(call.name in TOOLS_WAITING_FOR_PERSON for call in unanswered) else "open"


def _read_input_text(node: SpanNode, contents: SpanContents) -> str:
    """Return what started the work: the prompt, or the message after a rest."""
    start = contents.get_texts(node.work).read_parts(node.stretch.start.index)
    return _join_texts(start.parts) if node.stretch.start.type != "assistant" else ""


def _read_output_text(node: SpanNode, contents: SpanContents) -> str:
    """Return the model's last text."""
    texts = contents.get_texts(node.work)
    for answer in reversed(node.stretch.answers):
        if text := _join_texts(_list_answer_parts(texts, answer)):
            return text
    return ""


def _join_texts(parts: Iterable[SpanPart]) -> str:
    return "\n".join(part.text for part in parts if part.kind == "text")


# -- generations


def _fill_generation(node: SpanNode, contents: SpanContents, attributes: SpanAttributes) -> str | None:
    answer = node.answer
    assert answer is not None
    message = answer.message
    attributes["gen_ai.operation.name"] = "chat"
    attributes["gen_ai.provider.name"] = "anthropic"
    attributes["claude_code.message_id"] = shorten_name(message.key)
    if (request := node.request) is not None:
        attributes["claude_code.request_kind"] = shorten_name(request.kind)
        if request.model:
            attributes["gen_ai.request.model"] = shorten_name(request.model)
        attributes.update(build_separate_usage_attributes(request))
        return None
    attributes["langfuse.observation.metadata.tool_count"] = answer.calls
    if message.request_id:
        attributes["claude_code.request_id"] = shorten_name(message.request_id)
    if not contents.is_silent:
        _fill_messages(node, answer, message, contents, attributes)
    if message.is_error:
        return _describe_failure(node, answer, contents, attributes)
    if message.model:
        attributes["gen_ai.request.model"] = shorten_name(message.model)
    if message.stop_reason:
        attributes["gen_ai.response.finish_reasons"] = [shorten_name(message.stop_reason)]
    attributes.update(build_usage_attributes(message))
    return None


def _fill_messages(
    node: SpanNode, answer: StretchAnswer, message: Message, contents: SpanContents, attributes: SpanAttributes
) -> None:
    """Add the messages since the previous answer and the answer itself."""
    texts = contents.get_texts(node.work)
    inputs = []
    for entry in answer.inputs:
        parts = texts.read_parts(entry.index).parts
        results = [_to_sent_part(part) for part in parts if part.kind == "tool_call_response"]
        others = [_to_sent_part(part) for part in parts if part.kind != "tool_call_response"]
        inputs += [{"role": "tool", "parts": results}] if results else []
        inputs += [{"role": "user", "parts": others}] if others else []
    if inputs:
        attributes["gen_ai.input.messages"] = to_json_text(inputs)
    sent = [_to_sent_part(part) for part in _list_answer_parts(texts, answer)]
    output = {"role": "assistant", "parts": sent, "finish_reason": shorten_name(message.stop_reason or "unknown")}
    attributes["gen_ai.output.messages"] = to_json_text([output])


def _list_answer_parts(texts: WorkTexts, answer: StretchAnswer) -> list[SpanPart]:
    """List the parts of an answer, without those that are repeated on another line."""
    parts: list[SpanPart] = []
    known: set[tuple[str, str]] = set()
    for line in answer.lines:
        fresh = [part for part in texts.read_parts(line.index).parts if (part.kind, part.id or part.text) not in known]
        known.update((part.kind, part.id or part.text) for part in fresh)
        parts += fresh
    return parts


def _to_sent_part(part: SpanPart) -> dict[str, object]:
    match part.kind:
        case "tool_call":
            return {"type": part.kind, "id": part.id, "name": part.name, "arguments": part.value}
        case "tool_call_response":
            return {"type": part.kind, "id": part.id, "response": part.text}
    return {"type": part.kind, "content": part.text}


def _describe_failure(node: SpanNode, answer: StretchAnswer, contents: SpanContents, attributes: SpanAttributes) -> str:
    """Return why a request failed."""
    last = contents.get_texts(node.work).read_parts(answer.lines[-1].index)
    kind = attributes["error.type"] = last.error or "api_error"
    return _join_texts(last.parts)[:_MAX_ERROR_CHARS] or kind


# -- tools


def _fill_tool(node: SpanNode, contents: SpanContents, attributes: SpanAttributes) -> str | None:
    call = node.call
    assert call is not None
    texts = contents.get_texts(node.work)
    attributes["gen_ai.operation.name"] = "execute_tool"
    attributes["gen_ai.tool.name"] = shorten_name(call.name)
    attributes["gen_ai.tool.call.id"] = shorten_name(call.id)
    attributes["gen_ai.tool.type"] = "function"
    attributes["langfuse.observation.metadata.tool_name"] = shorten_name(call.name)
    attributes["langfuse.observation.metadata.tool_id"] = shorten_name(call.id)
    outcome, result = "unanswered", ""
    if call.result is not None:
        outcome = texts.read_parts(call.result.index).outcomes.get(call.id, "answered")
        answer = texts.find_part(call.result.index, "tool_call_response", call.id)
        result = answer.text if answer else ""
    attributes["claude_code.outcome"] = outcome
    if not contents.is_silent:
        request = texts.find_part(call.line.index, "tool_call", "" if call.id.startswith("@") else call.id)
        arguments = request.value if request else None
        attributes["gen_ai.tool.call.arguments"] = arguments if isinstance(arguments, str) else to_json_text(arguments)
        if call.result is not None:
            attributes["gen_ai.tool.call.result"] = result
    if outcome not in _ERROR_TYPES:
        return None
    attributes["error.type"] = _ERROR_TYPES[outcome]
    return result[:_MAX_ERROR_CHARS] or outcome
