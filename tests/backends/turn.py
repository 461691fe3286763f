"""A turn made by hand: every kind of span, a failure, a sub-agent, and both kinds of cache writes.

invoke_agent claude-code
  chat claude-opus-5-5               writes 950 tokens into the one-hour cache
  execute_tool Bash                  fails
  execute_tool Task
    invoke_agent Explore
      chat claude-haiku-4-5-20251001
      execute_tool Grep
      chat claude-haiku-4-5-20251001
  chat claude-opus-5-5               writes 700 tokens into the five-minute cache
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import NamedTuple

from turnlog.trace.spans import ids
from turnlog.trace.spans.span import AttributeValue, Span, SpanKind

SESSION = "5d0a8f5e-1111-4000-8000-000000000001"
USER = "dev@example.test"
PROMPT = "Run the tests and find where foo() is defined."
ANSWER = "One test fails; foo() is defined in src/foo.py."
THOUGHT = "Both can be done at once."
OPUS, HAIKU = "claude-opus-5-5", "claude-haiku-4-5-20251001"

TRACE = ids.build_trace_id("u-1")
ROOT, FIRST, LAST = (
    ids.build_root_span_id("u-1"),
    ids.build_generation_span_id("msg_1"),
    ids.build_generation_span_id("msg_2"),
)
BASH, TASK, GREP = (
    ids.build_tool_span_id("toolu_bash"),
    ids.build_tool_span_id("toolu_task"),
    ids.build_tool_span_id("toolu_grep"),
)
EXPLORE, ASKED, FOUND = (
    ids.build_agent_span_id("toolu_task", "a1"),
    ids.build_generation_span_id("msg_3"),
    ids.build_generation_span_id("msg_4"),
)

# By the list prices of docs/prices.md, in dollars.
FIRST_COST = (12 * 4 + 18_000 * 0.2 + 950 * 8 + 210 * 20) / 1e6
LAST_COST = (8 * 4 + 18_950 * 0.2 + 700 * 5 + 95 * 20) / 1e6
AGENT_COST = (2500 + 60 * 5 + 2700 + 25 * 5) / 1e6
COST = FIRST_COST + LAST_COST + AGENT_COST
# What a backend without a price for the one-hour cache makes of it.
LESS = 950 * (8 - 5) / 1e6


class Use(NamedTuple):
    """The tokens of a generation, as the API counts them."""

    input: int
    output: int
    read: int = 0
    five_minutes: int = 0
    one_hour: int = 0

    @property
    def all_input(self) -> int:
        """What came in, from wherever."""
        return self.input + self.read + self.five_minutes + self.one_hour


def spans() -> list[Span]:
    """The spans, root first."""
    return [
        _span(ROOT, None, "agent", "invoke_agent claude-code", (0, 41.5), _agent("claude-code", PROMPT, ANSWER)),
        _span(FIRST, ROOT, "generation", f"chat {OPUS}", (0, 6.25), _first()),
        _span(BASH, ROOT, "tool", "execute_tool Bash", (6.25, 9), _bash(), "Exit code 1"),
        _span(
            TASK, ROOT, "tool", "execute_tool Task", (6.25, 30.1), _tool("Task", {"prompt": "find foo()"}, "src/foo.py")
        ),
        _span(EXPLORE, TASK, "agent", "invoke_agent Explore", (6.4, 30), _agent("Explore", "find foo()", "src/foo.py")),
        _span(ASKED, EXPLORE, "generation", f"chat {HAIKU}", (6.4, 10), _build_request_attributes()),
        _span(
            GREP, EXPLORE, "tool", "execute_tool Grep", (10, 10.3), _tool("Grep", {"pattern": "foo"}, "src/foo.py:12")
        ),
        _span(FOUND, EXPLORE, "generation", f"chat {HAIKU}", (10.3, 30), _build_result_attributes()),
        _span(LAST, ROOT, "generation", f"chat {OPUS}", (30.1, 41.5), _last()),
    ]


def moment(seconds: float) -> int:
    """So many seconds after the turn began."""
    begun = int(datetime.fromisoformat("2026-03-01T10:00:00+00:00").timestamp())
    return begun * 10**9 + round(seconds * 1000) * 10**6


def _span(
    key: bytes,
    parent: bytes | None,
    kind: SpanKind,
    name: str,
    seconds: tuple[float, float],
    attributes: dict[str, AttributeValue],
    error: str | None = None,
) -> Span:
    shared: dict[str, AttributeValue] = {
        "session.id": SESSION,
        "gen_ai.conversation.id": SESSION,
        "user.id": USER,
        "openinference.span.kind": {"agent": "AGENT", "generation": "LLM", "tool": "TOOL"}[kind],
        "langfuse.observation.type": kind,
        "langfuse.trace.name": "Turn 1",
        "langfuse.trace.tags": ("claude-code",),
    }
    start, end = map(moment, seconds)
    return Span(TRACE, key, parent, kind, name, start, end, shared | attributes, error)


def _agent(name: str, prompt: str, answer: str) -> dict[str, AttributeValue]:
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "input.value": prompt,
        "output.value": answer,
    }


def _first() -> dict[str, AttributeValue]:
    calls = [{"type": "tool_call", "id": f"toolu_{name.lower()}", "name": name} for name in ("Bash", "Task")]
    parts = [{"type": "reasoning", "content": THOUGHT}, *calls]
    return _chat(OPUS, Use(12, 210, read=18_000, one_hour=950), [_text("user", PROMPT)], parts)


def _build_request_attributes() -> dict[str, AttributeValue]:
    call = {"type": "tool_call", "id": "toolu_grep", "name": "Grep"}
    return _chat(HAIKU, Use(2500, 60), [_text("user", "find foo()")], [call])


def _build_result_attributes() -> dict[str, AttributeValue]:
    return _chat(HAIKU, Use(2700, 25), [_text("user", "src/foo.py:12")], [{"type": "text", "content": "src/foo.py"}])


def _last() -> dict[str, AttributeValue]:
    use = Use(8, 95, read=18_950, five_minutes=700)
    return _chat(OPUS, use, [_text("user", "Exit code 1")], [{"type": "text", "content": ANSWER}])


def _chat(model: str, use: Use, asked: list[object], parts: list[dict[str, str]]) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": use.all_input,
        "gen_ai.usage.output_tokens": use.output,
        "gen_ai.usage.cache_read.input_tokens": use.read,
        "gen_ai.usage.cache_creation.input_tokens": use.five_minutes + use.one_hour,
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts, "finish_reason": "stop"}]),
    }
    if use.one_hour:
        found["mlflow.chat.tokenUsage"] = json.dumps(
            {
                "input_tokens": use.all_input,
                "output_tokens": use.output,
                "total_tokens": use.all_input + use.output,
                "cache_read_input_tokens": use.read,
                "cache_creation_input_tokens": use.five_minutes + use.one_hour,
                "cache_creation_input_tokens_above_1hr": use.one_hour,
            }
        )
    return found


def _bash() -> dict[str, AttributeValue]:
    return _tool("Bash", {"command": "pytest -q"}, "1 failed, 3 passed") | {"error.type": "tool_error"}


def _tool(name: str, arguments: dict[str, str], result: str) -> dict[str, AttributeValue]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": f"toolu_{name.lower()}",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.tool.call.result": result,
    }


def _text(role: str, text: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}
