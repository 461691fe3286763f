"""Write one answer: a line for each block, with usage in the style of the era."""

from __future__ import annotations

import base64
from typing import NamedTuple

from .writer import Json, Writer


class _Request(NamedTuple):
    message_id: str
    request_id: str
    input: int
    written: int
    output: int


def write_answer(w: Writer, blocks: list[Json], stop: str) -> list[str]:
    """Write one answer and return the uuids of its lines."""
    r = w.r
    request = _Request(
        "msg_01" + w.draw_base58(22),
        "req_011C" + w.draw_base58(20),
        r.randint(1, 12),
        int(min(60_000, r.lognormvariate(7.0, 1.1))),
        max(1, int(sum(len(str(block)) for block in blocks) / 3.7)),
    )
    uuids, usage = [], {}
    for block in blocks:
        is_last = block is blocks[-1]
        usage = _build_usage(w, request, is_last)
        message = _build_message(w, request, block, stop if is_last or w.is_new else None, usage)
        body = {"message": message, "requestId": request.request_id, "type": "assistant"}
        uuids.append(w.write_chained_line(body, {"effort": "high"} if w.is_new else None, 0.3, 9))
        if w.sink is not None:
            _echo_answer(w.sink, message, request.request_id, uuids[-1], w.agent)
    w.truth.count_answer(w.now.strftime("%Y-%m-%d"), w.model, usage)
    w.truth.facts["answers"] += 1
    w.context = min(190_000, w.context + request.written)
    w.history.append(uuids[-1])
    return uuids


def _build_message(w: Writer, request: _Request, block: Json, stop: str | None, usage: Json) -> Json:
    message: Json = {
        "model": w.model,
        "id": request.message_id,
        "type": "message",
        "role": "assistant",
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
    }
    if w.is_new:
        return message | {"stop_details": None, "usage": usage, "diagnostics": None}
    return message | {"usage": usage}


def _build_usage(w: Writer, request: _Request, is_last: bool) -> Json:
    written = request.written
    usage: Json = {
        "input_tokens": request.input,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": w.context,
    }
    if not w.is_new:
        usage["cache_creation"] = {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}
        known = is_last or w.era_name in ("1.0", "2.0")
        usage["output_tokens"] = request.output if known else w.r.randint(1, 8)
        usage["service_tier"] = "standard"
        return usage
    iteration = {
        "input_tokens": request.input,
        "output_tokens": request.output,
        "cache_read_input_tokens": w.context,
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": written},
        "type": "message",
    }
    return usage | {
        "output_tokens": request.output,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": written, "ephemeral_5m_input_tokens": 0},
        "inference_geo": "not_available",
        "iterations": [iteration],
        "speed": "standard",
    }


def _echo_answer(w: Writer, message: Json, request_id: str, uuid: str, agent: str | None) -> None:
    """Write a sub-agent's line again, into the session that started it."""
    inner = {
        "type": "assistant",
        "timestamp": w.advance_clock(0, 0.1),
        "message": message,
        "requestId": request_id,
        "uuid": uuid,
    }
    _write_progress(w, inner, agent, "agent_" + message["id"])


def echo_result(w: Writer, message: Json, uuid: str, agent: str | None) -> None:
    """Write the result of a sub-agent's call again, into the session that started it."""
    inner = {"type": "user", "message": message, "uuid": uuid, "timestamp": w.advance_clock(0, 0.1)}
    _write_progress(w, inner, agent, "agent_msg_01" + w.draw_base58(22))


def _write_progress(w: Writer, inner: Json, agent: str | None, call: str) -> None:
    data: Json = {"message": inner, "normalizedMessages": [], "type": "agent_progress", "prompt": "", "agentId": agent}
    parent = "toolu_01" + w.draw_base58(22)
    w.write_chained_line({"type": "progress", "data": data, "toolUseID": call, "parentToolUseID": parent})


def make_thinking_block(w: Writer) -> Json:
    """Make a thinking block; the newest clients usually omit the text."""
    text = ""
    if not (w.is_new and w.r.random() < 0.7):
        chars = int(min(30_000, w.r.lognormvariate(5.9, 1.2)))
        text = w.plant_needle(w.bank.make_prose(w.r, chars, chinese=w.project.chinese))
    signature = base64.b64encode(w.r.randbytes(int(min(12_000, w.r.lognormvariate(5.8, 0.9))))).decode()
    return {"type": "thinking", "thinking": text, "signature": signature}


def make_text_block(w: Writer, *, is_final: bool = False) -> Json:
    chars = int(min(25_000, w.r.lognormvariate(6.6 if is_final else 4.8, 0.9)))
    return {"type": "text", "text": w.plant_needle(w.bank.make_markdown(w.r, chars, chinese=w.project.chinese))}
