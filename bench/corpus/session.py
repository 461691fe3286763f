"""Write one session: prompts, answers, calls and results, sub-agents and compactions."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from .answers import echo_result, make_text_block, make_thinking_block, write_answer
from .prompts import write_attachment, write_prompt, write_snapshot
from .tools import Outcome, call_tool, pick_tool, write_progress
from .writer import Json, Writer


class _Call(NamedTuple):
    id: str
    name: str
    outcome: Outcome


def write_turns(w: Writer, turns: int, steps: int | None = None, min_bytes: int | None = None) -> None:
    """Write `turns` turns or, if `min_bytes` is given, as many as it takes to reach that size."""
    _write_preamble(w)
    count = 0
    while count < turns if min_bytes is None else w.size < min_bytes:
        count += 1
        _write_turn(w, steps, min_bytes)


def _write_preamble(w: Writer) -> None:
    if not w.agent and w.era_name in ("1.0", "2.0") and w.r.random() < 0.3:
        for _ in range(w.r.randint(1, 4)):
            w.write_line({"type": "summary", "summary": w.make_prose(40), "leafUuid": w.make_uuid()})
    if w.is_new and not w.agent:
        w.write_line({"type": "permission-mode", "permissionMode": "default", "sessionId": w.session_id})


def _write_turn(w: Writer, steps: int | None, min_bytes: int | None) -> None:
    r, start = w.r, w.now
    write_prompt(w)
    if not w.agent:
        w.truth.facts["turns"] += 1
    for _ in range(steps if steps is not None else int(min(150, r.lognormvariate(1.7, 1.0)))):
        _write_step(w)
        if min_bytes is not None and w.size > min_bytes:
            break
    if r.random() < 0.03 and not w.agent:
        blocks = [{"type": "text", "text": "[Request interrupted by user]"}]
        w.write_chained_line({"type": "user", "message": {"role": "user", "content": blocks}})
    else:
        _write_final_step(w)
    if not w.agent:
        _write_epilogue(w, start)


def _write_epilogue(w: Writer, start: datetime) -> None:
    if w.era_name in ("2.1a", "2.1b"):
        if w.r.random() < 0.5:
            hooks = [{"command": "hooks/stop.sh", "durationMs": 112}]
            body: Json = {"type": "system", "subtype": "stop_hook_summary", "hookCount": 1, "hookInfos": hooks}
            body |= {"hookErrors": [], "preventedContinuation": False, "stopReason": "", "hasOutput": False}
            w.write_chained_line(body | {"level": "suggestion"})
        duration = int((w.now - start).total_seconds() * 1000)
        w.write_chained_line({"type": "system", "subtype": "turn_duration", "durationMs": duration, "isMeta": False})
    if w.is_new:
        w.write_line({"type": "ai-title", "aiTitle": w.make_prose(40), "sessionId": w.session_id})
        w.write_line(
            {"type": "last-prompt", "lastPrompt": w.make_prose(90), "leafUuid": w.parent, "sessionId": w.session_id}
        )


def _write_final_step(w: Writer) -> None:
    blocks = [make_thinking_block(w)] if w.r.random() < 0.40 else []
    write_answer(w, [*blocks, make_text_block(w, is_final=True)], "end_turn")


def _write_step(w: Writer) -> None:
    """Write one answer with calls, and their results."""
    r = w.r
    blocks = [make_thinking_block(w)] if r.random() < 0.40 else []
    if r.random() < 0.40:
        blocks.append(make_text_block(w))
    calls = [_make_call(w) for _ in range(r.choices((1, 2, 3, 5), weights=(80, 13, 5, 2))[0])]
    for call in calls:
        block: Json = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.outcome.input}
        blocks.append(block | {"caller": {"type": "direct"}} if w.is_new else block)
    sources = write_answer(w, blocks, "tool_use")[-len(calls) :]
    w.truth.facts["tool_uses"] += len(calls)
    for call, source in zip(calls, sources, strict=True):
        _write_result(w, call, source)
    if w.is_new and not w.agent and r.random() < 0.15:
        write_attachment(w)
    _write_mishap(w)
    if w.context > 165_000 and not w.agent:
        _write_compaction(w)


def _make_call(w: Writer) -> _Call:
    name = pick_tool(w)
    call_id = "toolu_01" + w.draw_base58(22)
    if name == "Task" and (w.agent or w.r.random() < 0.3):
        name = "Grep"
    if name != "Task":
        return _Call(call_id, name, call_tool(w, name))
    prompt = w.make_prose(700)
    arguments = {"description": w.make_prose(30), "prompt": prompt, "subagent_type": "Explore"}
    return _Call(call_id, name, Outcome(arguments, None, None))


def _write_result(w: Writer, call: _Call, source: str) -> None:
    write_progress(w, call.id, call.name)
    outcome = _run_sub_agent(w, call.outcome.input) if call.name == "Task" else call.outcome
    block: Json = {"tool_use_id": call.id, "type": "tool_result", "content": outcome.content}
    if call.name == "Bash":
        block["is_error"] = isinstance(outcome.structured, str)
    body: Json = {"type": "user", "message": {"role": "user", "content": [block]}}
    if w.is_new:
        body = {"promptId": w.prompt_id, **body}
    tail = {"toolUseResult": outcome.structured}
    if w.era_name in ("2.1a", "2.1b"):
        tail["sourceToolAssistantUUID"] = source
    uuid = w.write_chained_line(body, tail, 0.1, 20)
    if w.sink is not None:
        echo_result(w.sink, body["message"], uuid, w.agent)
    w.truth.facts["tool_results"] += 1
    if call.name in ("Edit", "Write") and w.era_name != "1.0" and not w.agent and w.r.random() < 0.5:
        write_snapshot(w, is_update=True)


def _run_sub_agent(w: Writer, arguments: Json) -> Outcome:
    """Write the lines of a sub-agent where its era puts them."""
    r = w.r
    agent = f"a{r.getrandbits(64):016x}" if w.is_new else f"a{r.getrandbits(24):06x}"
    sink = w if w.era_name == "2.1a" else None
    sub = Writer(r, w.bank, w.project, w.truth, w.era, w.now, w.session_id, agent, w.version, sink)
    write_turns(sub, turns=1, steps=max(1, int(min(60, r.lognormvariate(1.9, 0.8)))))
    w.now = sub.now
    if w.era_name == "1.0":
        w.lines += sub.lines
        w.size += sub.size
    else:
        folder = "" if w.era_name == "2.0" else f"{w.session_id}/subagents/"
        w.extra[f"{folder}agent-{agent}.jsonl"] = b"\n".join(sub.lines) + b"\n"
    w.extra.update(sub.extra)
    w.truth.facts["subagents"] += 1
    report = {"type": "text", "text": w.bank.make_markdown(r, 900)}
    usage = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 191,
        "cache_read_input_tokens": 125212,
        "output_tokens": 782,
    }
    result = {"status": "completed", "prompt": arguments["prompt"], "agentId": agent, "content": [report]}
    result["totalDurationMs"] = r.randint(9_000, 900_000)
    result["totalTokens"] = r.randint(9_000, 150_000)
    result |= {"totalToolUseCount": r.randint(1, 60), "usage": usage}
    note = {"type": "text", "text": f"agentId: {agent} (for resuming)"}
    return Outcome(arguments, [report, note], result)


def _write_mishap(w: Writer) -> None:
    """Occasionally write an API error, a synthetic answer or a queued prompt."""
    share = w.r.random()
    if share < 0.004:
        error = {"status": 529, "message": "Overloaded"}
        body: Json = {"type": "system", "subtype": "api_error", "level": "error", "error": error}
        w.write_chained_line(body | {"retryInMs": 600.5, "retryAttempt": 1, "maxRetries": 10})
    elif share < 0.008:
        w.write_chained_line({"message": _build_synthetic_message(w), "type": "assistant", "isApiErrorMessage": True})
    elif share < 0.014 and not w.agent:
        queued = {
            "type": "queue-operation",
            "operation": "enqueue",
            "timestamp": w.advance_clock(0, 1),
            "sessionId": w.session_id,
        }
        w.write_line(queued | {"content": w.make_prose(90)})
        w.write_line(queued | {"operation": "dequeue", "timestamp": w.advance_clock(0, 1)})


def _build_synthetic_message(w: Writer) -> Json:
    fields = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return {
        "id": w.make_uuid(),
        "container": None,
        "model": "<synthetic>",
        "role": "assistant",
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "type": "message",
        "usage": dict.fromkeys(fields, 0),
        "content": [{"type": "text", "text": "API Error: 500"}],
    }


def _write_compaction(w: Writer) -> None:
    body = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False}
    metadata = {"trigger": "auto", "preTokens": w.context}
    body |= {"level": "info", "logicalParentUuid": w.parent, "compactMetadata": metadata}
    w.write_chained_line(body, None, 20, 90, parent=None)
    opening = "This session is being continued from a previous conversation that ran out of context. "
    message = {"role": "user", "content": opening + w.bank.make_markdown(w.r, 9000)}
    w.write_chained_line(
        {"type": "user", "message": message, "isVisibleInTranscriptOnly": True, "isCompactSummary": True}
    )
    w.context = w.r.randint(15_000, 35_000)
    w.truth.facts["compactions"] += 1
