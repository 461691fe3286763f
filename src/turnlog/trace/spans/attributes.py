"""Nodes -> spans: the attributes by which backends know what a span is, what it used and what it said.

One copy of each payload, in the terms of OpenTelemetry's GenAI conventions, with what Langfuse and OpenInference need
beside them. Where a convention has no word, `claude_code.*` has.
"""

from __future__ import annotations

from collections.abc import Iterable

from turnlog.session.calls import WAITS_FOR_PERSON
from turnlog.session.messages import Message
from turnlog.trace.spans.content import Contents, Texts
from turnlog.trace.spans.parts import Part, json_of, short
from turnlog.trace.spans.span import Span, Value
from turnlog.trace.spans.spans import Node, Trace
from turnlog.trace.spans.stretches import Answer, Stretch
from turnlog.trace.spans.usage import fitting, separate_usage, usage

_KINDS = {"agent": "AGENT", "generation": "LLM", "tool": "TOOL"}
_FAILED = {"error": "tool_error", "denied": "denied", "interrupted": "interrupted"}
_WORDS = 500
"""How much of a text tells why a span failed."""

Attributes = dict[str, Value]


def span(node: Node, trace: Trace, contents: Contents, *, nest: bool = False, user: str | None = None) -> Span:
    """A node with all that is sent of it."""
    shared = _shared(trace, contents, user)
    attributes = {**shared, **_own(node)}
    match node.kind:
        case "agent":
            error = _agent(node, trace, contents, attributes)
        case "generation":
            error = _generation(node, contents, attributes)
        case "tool":
            error = _tool(node, contents, attributes)
    parent = node.nested if nest else node.parent
    return Span(trace.id, node.id, parent, node.kind, node.name, node.start, node.end, attributes, error, shared)


def _shared(trace: Trace, contents: Contents, user: str | None) -> Attributes:
    """What every span of a trace says: some backends look at each span by itself."""
    if (shared := contents.shared.get((trace.id, user))) is None:
        shared = contents.shared[trace.id, user] = _of_trace(trace, contents, user)
    return shared


def _of_trace(trace: Trace, contents: Contents, user: str | None) -> Attributes:
    about, session = contents.about(trace), trace.session.session_id or ""
    found: dict[str, Value | None] = {
        "session.id": session,
        "gen_ai.conversation.id": session,
        "user.id": user,
        "langfuse.trace.name": trace.name,
        "langfuse.trace.tags": ["claude-code"],
        "langfuse.trace.metadata.source": "claude-code",
        "langfuse.trace.metadata.session_id": session,
        "langfuse.trace.metadata.turn_number": str(trace.number) if trace.number else None,
        "langfuse.trace.metadata.cwd": about.cwd,
        "langfuse.trace.metadata.git_branch": about.git_branch,
        "langfuse.trace.metadata.slug": about.slug,
        "langfuse.version": about.version,
    }
    return {name: value for name, value in found.items() if value is not None}


def _own(node: Node) -> Attributes:
    found: Attributes = {"openinference.span.kind": _KINDS[node.kind], "langfuse.observation.type": node.kind}
    if node.times.borrowed or node.times.clamped:
        found["claude_code.time"] = "borrowed" if node.times.borrowed else "clamped"
    return found


# -- agents


def _agent(node: Node, trace: Trace, contents: Contents, attributes: Attributes) -> str | None:
    stretch, agent = node.stretch, node.agent
    attributes["gen_ai.operation.name"] = "invoke_agent"
    attributes["gen_ai.agent.name"] = node.name.removeprefix("invoke_agent ")
    attributes["gen_ai.agent.id"] = short(agent.agent_id) if agent else trace.session.session_id or ""
    attributes["claude_code.outcome"] = _outcome(stretch)
    if (prompt := node.work.prompt) is not None and not prompt.is_typed:
        attributes["claude_code.speaker"] = prompt.speaker.kind
    for flag in ("continued", "interrupted", "compacted"):
        if getattr(stretch, flag):
            attributes[f"claude_code.{flag}"] = True
    if stretch.duration_ms is not None:
        attributes["claude_code.turn_duration_ms"] = fitting(stretch.duration_ms)
    if not contents.silent:
        attributes["input.value"] = _asked(node, contents)
        attributes["output.value"] = _answered(node, contents)
    if _outcome(stretch) != "error":
        return None
    return _failure(node, stretch.answers[-1], contents, attributes)


def _outcome(stretch: Stretch) -> str:
    """How some work ended, in the words of a turn's outcome."""
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
    return "waiting" if any(call.name in WAITS_FOR_PERSON for call in unanswered) else "open"


def _asked(node: Node, contents: Contents) -> str:
    """What began the work: the prompt, or what was said after a rest."""
    said = contents.texts(node.work).said(node.stretch.start.index)
    return _words(said.parts) if node.stretch.start.type != "assistant" else ""


def _answered(node: Node, contents: Contents) -> str:
    """The last text that the model gave."""
    texts = contents.texts(node.work)
    for answer in reversed(node.stretch.answers):
        if words := _words(_brought(texts, answer)):
            return words
    return ""


def _words(parts: Iterable[Part]) -> str:
    return "\n".join(part.text for part in parts if part.kind == "text")


# -- generations


def _generation(node: Node, contents: Contents, attributes: Attributes) -> str | None:
    answer = node.answer
    assert answer is not None
    message = answer.message
    attributes["gen_ai.operation.name"] = "chat"
    attributes["gen_ai.provider.name"] = "anthropic"
    attributes["claude_code.message_id"] = short(message.key)
    if (request := node.request) is not None:
        attributes["claude_code.request_kind"] = short(request.kind)
        if request.model:
            attributes["gen_ai.request.model"] = short(request.model)
        attributes.update(separate_usage(request))
        return None
    attributes["langfuse.observation.metadata.tool_count"] = answer.calls
    if message.request_id:
        attributes["claude_code.request_id"] = short(message.request_id)
    if not contents.silent:
        _messages(node, answer, message, contents, attributes)
    if message.is_error:
        return _failure(node, answer, contents, attributes)
    if message.model:
        attributes["gen_ai.request.model"] = short(message.model)
    if message.stop_reason:
        attributes["gen_ai.response.finish_reasons"] = [short(message.stop_reason)]
    attributes.update(usage(message))
    return None


def _messages(node: Node, answer: Answer, message: Message, contents: Contents, attributes: Attributes) -> None:
    """What was said since the answer before, and the answer itself."""
    texts = contents.texts(node.work)
    given = []
    for entry in answer.inputs:
        parts = texts.said(entry.index).parts
        results = [_as_sent(part) for part in parts if part.kind == "tool_call_response"]
        others = [_as_sent(part) for part in parts if part.kind != "tool_call_response"]
        given += [{"role": "tool", "parts": results}] if results else []
        given += [{"role": "user", "parts": others}] if others else []
    if given:
        attributes["gen_ai.input.messages"] = json_of(given)
    brought = [_as_sent(part) for part in _brought(texts, answer)]
    said = {"role": "assistant", "parts": brought, "finish_reason": short(message.stop_reason or "unknown")}
    attributes["gen_ai.output.messages"] = json_of([said])


def _brought(texts: Texts, answer: Answer) -> list[Part]:
    """What an answer says; what a line repeats of an earlier one is not doubled."""
    found: list[Part] = []
    known: set[tuple[str, str]] = set()
    for line in answer.lines:
        fresh = [part for part in texts.said(line.index).parts if (part.kind, part.id or part.text) not in known]
        known.update((part.kind, part.id or part.text) for part in fresh)
        found += fresh
    return found


def _as_sent(part: Part) -> dict[str, object]:
    match part.kind:
        case "tool_call":
            return {"type": part.kind, "id": part.id, "name": part.name, "arguments": part.value}
        case "tool_call_response":
            return {"type": part.kind, "id": part.id, "response": part.text}
    return {"type": part.kind, "content": part.text}


def _failure(node: Node, answer: Answer, contents: Contents, attributes: Attributes) -> str:
    """Why a request failed."""
    said = contents.texts(node.work).said(answer.lines[-1].index)
    kind = attributes["error.type"] = said.error or "api_error"
    return _words(said.parts)[:_WORDS] or kind


# -- tools


def _tool(node: Node, contents: Contents, attributes: Attributes) -> str | None:
    call = node.call
    assert call is not None
    texts = contents.texts(node.work)
    attributes["gen_ai.operation.name"] = "execute_tool"
    attributes["gen_ai.tool.name"] = short(call.name)
    attributes["gen_ai.tool.call.id"] = short(call.id)
    attributes["gen_ai.tool.type"] = "function"
    attributes["langfuse.observation.metadata.tool_name"] = short(call.name)
    attributes["langfuse.observation.metadata.tool_id"] = short(call.id)
    outcome, result = "unanswered", ""
    if call.result is not None:
        outcome = texts.said(call.result.index).outcomes.get(call.id, "answered")
        answer = texts.part(call.result.index, "tool_call_response", call.id)
        result = answer.text if answer else ""
    attributes["claude_code.outcome"] = outcome
    if not contents.silent:
        asked = texts.part(call.line.index, "tool_call", "" if call.id.startswith("@") else call.id)
        given = asked.value if asked else None
        attributes["gen_ai.tool.call.arguments"] = given if isinstance(given, str) else json_of(given)
        if call.result is not None:
            attributes["gen_ai.tool.call.result"] = result
    if outcome not in _FAILED:
        return None
    attributes["error.type"] = _FAILED[outcome]
    return result[:_WORDS] or outcome
