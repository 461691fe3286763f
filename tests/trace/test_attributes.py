"""The attributes of spans: what Langfuse, OpenInference and OpenTelemetry's GenAI conventions want to know."""

from __future__ import annotations

import json
from typing import Any

from inline_snapshot import snapshot

from tests.session.build import SESSION, Build, use
from tests.trace.trees import OVER, spans
from turnlog.trace.spans.attributes import build_span
from turnlog.trace.spans.content import SpanContents
from turnlog.trace.spans.span import Span
from turnlog.trace.spans.span_trees import build_session_traces

USAGE = {
    "input_tokens": 12,
    "output_tokens": 210,
    "cache_read_input_tokens": 18_000,
    "cache_creation_input_tokens": 950,
    "cache_creation": {"ephemeral_5m_input_tokens": 250, "ephemeral_1h_input_tokens": 700},
}


def turn() -> Build:
    """A turn with everything that a span tells of."""
    build = Build()
    build.prompt("run the tests", "u1", gitBranch="main", slug="merry-otter")
    build.answer({"type": "thinking", "thinking": "first the tests"}, id="m1", stop=None, usage=USAGE, requestId="r1")
    build.call("c1", "Bash", {"command": "pytest"}, id="m1", usage=USAGE, requestId="r1")
    build.result("c1", "1 failed", error=True)
    build.answer("One fails.", id="m2", usage={"input_tokens": 1, "output_tokens": 2, "speed": "fast"})
    build.system("turn_duration", durationMs=2_500)
    return build


def build_spans(build: Build) -> list[Span]:
    return spans(build.session())


def own(item: Span) -> dict[str, Any]:
    """What a span says that not every span of its trace does."""
    shared = ("session.id", "gen_ai.conversation.id", "langfuse.trace.", "langfuse.version")
    return {
        name: json.loads(value) if isinstance(value, str) and value[0] in "[{" else value
        for name, value in item.attributes.items()
        if not name.startswith(shared)
    }


def test_every_span_says_where_it_belongs() -> None:
    build = turn()
    session = build.session()
    trace = build_session_traces(session)[0]
    for node in trace.nodes:
        item = build_span(node, trace, SpanContents(session), user="dana")
        shared = {name: value for name, value in item.attributes.items() if name not in own(item) or name == "user.id"}
        assert shared == {
            "session.id": SESSION,
            "gen_ai.conversation.id": SESSION,
            "user.id": "dana",
            "langfuse.trace.name": "Turn 1",
            "langfuse.trace.tags": ["claude-code"],
            "langfuse.trace.metadata.source": "claude-code",
            "langfuse.trace.metadata.session_id": SESSION,
            "langfuse.trace.metadata.turn_number": "1",
            "langfuse.trace.metadata.cwd": "/home/dana/webshop",
            "langfuse.trace.metadata.git_branch": "main",
            "langfuse.trace.metadata.slug": "merry-otter",
            "langfuse.version": "2.1.325",
        }


def test_an_agent_says_what_it_was_asked_and_what_it_answered() -> None:
    assert own(build_spans(turn())[0]) == snapshot(
        {
            "openinference.span.kind": "AGENT",
            "langfuse.observation.type": "agent",
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "claude-code",
            "gen_ai.agent.id": "11111111-2222-4333-8444-555555555555",
            "claude_code.outcome": "finished",
            "claude_code.turn_duration_ms": 2500,
            "input.value": "run the tests",
            "output.value": "One fails.",
        }
    )


def test_a_generation_says_what_it_used_and_only_the_first_one_has_the_prompt() -> None:
    first, second = build_spans(turn())[1:3]
    assert own(first) == snapshot(
        {
            "openinference.span.kind": "LLM",
            "langfuse.observation.type": "generation",
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "anthropic",
            "claude_code.message_id": "m1",
            "langfuse.observation.metadata.tool_count": 1,
            "claude_code.request_id": "r1",
            "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "run the tests"}]}],
            "gen_ai.output.messages": [
                {
                    "role": "assistant",
                    "parts": [
                        {"type": "reasoning", "content": "first the tests"},
                        {"type": "tool_call", "id": "c1", "name": "Bash", "arguments": {"command": "pytest"}},
                    ],
                    "finish_reason": "tool_use",
                }
            ],
            "gen_ai.request.model": "claude-opus-5",
            "gen_ai.response.finish_reasons": ["tool_use"],
            "gen_ai.usage.input_tokens": 18962,
            "gen_ai.usage.output_tokens": 210,
            "gen_ai.usage.cache_read.input_tokens": 18000,
            "gen_ai.usage.cache_creation.input_tokens": 950,
            "langfuse.observation.usage_details": {
                "input": 12,
                "output": 210,
                "input_cached_tokens": 18000,
                "input_cache_creation_5m": 250,
                "input_cache_creation_1h": 700,
            },
            "mlflow.chat.tokenUsage": {
                "input_tokens": 18962,
                "output_tokens": 210,
                "total_tokens": 19172,
                "cache_read_input_tokens": 18000,
                "cache_creation_input_tokens": 950,
                "cache_creation_input_tokens_above_1hr": 700,
            },
        }
    )
    assert own(second) == snapshot(
        {
            "openinference.span.kind": "LLM",
            "langfuse.observation.type": "generation",
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "anthropic",
            "claude_code.message_id": "m2",
            "langfuse.observation.metadata.tool_count": 0,
            "gen_ai.input.messages": [
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "1 failed"}]}
            ],
            "gen_ai.output.messages": [
                {"role": "assistant", "parts": [{"type": "text", "content": "One fails."}], "finish_reason": "end_turn"}
            ],
            "gen_ai.request.model": "claude-opus-5",
            "gen_ai.response.finish_reasons": ["end_turn"],
            "langfuse.observation.model.parameters": {"speed": "fast"},
            "gen_ai.usage.input_tokens": 1,
            "gen_ai.usage.output_tokens": 2,
            "gen_ai.usage.cache_read.input_tokens": 0,
            "gen_ai.usage.cache_creation.input_tokens": 0,
            "langfuse.observation.usage_details": {"input": 1, "output": 2},
        }
    )


def test_a_tool_says_what_it_was_given_what_it_gave_and_that_it_failed() -> None:
    item = build_spans(turn())[3]
    assert own(item) == snapshot(
        {
            "openinference.span.kind": "TOOL",
            "langfuse.observation.type": "tool",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "Bash",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.type": "function",
            "langfuse.observation.metadata.tool_name": "Bash",
            "langfuse.observation.metadata.tool_id": "c1",
            "claude_code.outcome": "error",
            "gen_ai.tool.call.arguments": {"command": "pytest"},
            "gen_ai.tool.call.result": "1 failed",
            "error.type": "tool_error",
        }
    )
    assert item.error == "1 failed"


def test_every_kind_of_cache_write_is_counted_once_and_input_includes_the_cache() -> None:
    item = build_spans(turn())[1]
    details = json.loads(str(item.attributes["langfuse.observation.usage_details"]))
    assert details["input_cache_creation_5m"] + details["input_cache_creation_1h"] == 950
    total = sum(count for name, count in details.items() if name != "output")
    assert item.attributes["gen_ai.usage.input_tokens"] == total == 18_962


def test_a_request_that_failed_is_an_error_without_model_and_usage() -> None:
    build = Build()
    build.prompt()
    build.answer(
        "API Error: 529", model="<synthetic>", isApiErrorMessage=True, apiErrorType="overloaded_error", usage=USAGE
    )
    root, chat = build_spans(build)
    assert (root.error, chat.error) == ("API Error: 529", "API Error: 529")
    assert chat.name == "chat"
    assert {"gen_ai.request.model", "gen_ai.usage.input_tokens"}.isdisjoint(chat.attributes)
    assert root.attributes["claude_code.outcome"] == "error"
    assert root.attributes["error.type"] == chat.attributes["error.type"] == "overloaded_error"


def test_a_duration_that_comes_after_the_turn_was_over_is_not_told() -> None:
    build = Build()
    first = build.prompt()
    build.answer("one")
    build.prompt()
    build.answer("two")
    build.system("turn_duration", durationMs=5, parent=first)
    assert not [item for item in build_spans(build) if "claude_code.turn_duration_ms" in item.attributes]


def test_what_is_typed_while_the_model_works_is_said_to_the_next_generation() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1")
    build.result("c1", "done")
    build.attachment("queued_command", prompt="and hurry")
    build.answer("yes")
    messages = json.loads(str(build_spans(build)[2].attributes["gen_ai.input.messages"]))
    assert [message["role"] for message in messages] == ["tool", "user"]
    assert messages[1]["parts"] == [{"type": "text", "content": "and hurry"}]


def test_a_block_that_two_lines_of_a_message_have_is_said_once() -> None:
    build = Build()
    build.prompt()
    build.answer("Let me see.", id="m1", stop=None)
    build.answer("Let me see.", use("c1"), id="m1", stop="tool_use")
    parts = json.loads(str(build_spans(build)[1].attributes["gen_ai.output.messages"]))[0]["parts"]
    assert [part["type"] for part in parts] == ["text", "tool_call"]


def test_work_that_begins_with_an_answer_was_asked_nothing() -> None:
    build = Build()
    build.answer("from nowhere")
    root, chat = build_spans(build)
    assert root.attributes["input.value"] == ""
    assert "gen_ai.input.messages" not in chat.attributes


def test_a_call_without_an_id_says_what_it_was_given() -> None:
    build = Build()
    build.prompt()
    build.answer(use(None, "Bash", {"command": "ls"}), stop="tool_use")
    assert build_spans(build)[2].attributes["gen_ai.tool.call.arguments"] == '{"command":"ls"}'


def test_names_are_not_longer_than_names_are() -> None:
    build = Build()
    build.prompt()
    build.answer(use("c" * 5000, "N" * 5000), stop="x" * 5000, model="m" * 5000, id="i" * 5000)
    for trace in build_session_traces(build.session(), OVER):
        for node in trace.nodes:
            item = build_span(node, trace, SpanContents(build.session()))
            assert len(item.name) < 250
    longest = max(
        len(str(value))
        for item in build_spans(build)
        for name, value in item.attributes.items()
        if "messages" not in name
    )
    assert longest < 250


def test_a_turn_that_no_prompt_set_off_says_who_did() -> None:
    build = Build()
    build.prompt("go")
    build.answer("yes")
    build.prompt("Another Claude session sent a message:\nlook", isMeta=True, origin={"kind": "peer", "from": "a"})
    build.answer("looking")
    build.prompt("<task-notification><summary>over</summary></task-notification>")
    build.answer("fine")
    agents = [item.attributes for item in build_spans(build) if item.kind == "agent"]
    assert [item.get("claude_code.speaker") for item in agents] == [None, "peer", "task"]
    assert agents[1]["input.value"] == "look"
