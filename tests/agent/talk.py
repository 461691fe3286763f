"""Sessions as the loop writes them, one for each thing that can happen in a turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from turnlog.agent.record.record import SessionRecord
from turnlog.agent.tools.call_result import CallResult
from turnlog.model.answer import ModelAnswer
from turnlog.model.events import RetryStarted

MODEL = "claude-opus-5-5"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
USAGE = {"input_tokens": 12, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 0, "output_tokens": 7}
Line = dict[str, Any]


def text(words: str) -> Line:
    """A block of text."""
    return {"type": "text", "text": words}


def build_thinking(words: str, signature: str = "c2lnbmVk") -> Line:
    """A block of thinking."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def use(call: str, command: str = "ls") -> Line:
    """A call of Bash."""
    return {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}


def answer(*blocks: Line | str, id: str | None = None, model: str = MODEL) -> ModelAnswer:  # noqa: A002
    """An answer; strings are texts."""
    name = id or f"msg_{uuid4().hex}"
    content = tuple(text(block) if isinstance(block, str) else block for block in blocks)
    calls = any(block["type"] == "tool_use" for block in content)
    return ModelAnswer(content, "tool_use" if calls else "end_turn", USAGE, name, model, request_id=f"req_{name}")


def plain(record: SessionRecord) -> None:
    """Two questions and their answers."""
    record.write_queue_operation("enqueue", "What is here?")
    record.write_queue_operation("dequeue")
    record.write_prompt("What is here?")
    record.write_answer(answer("A shop."))
    record.write_turn_end(120)
    record.write_title("The shop")
    record.write_prompt([text("And what is in it?"), text("Say it with “care” – \U0001f34e.")])
    record.write_answer(answer("Apples.", "Pears."))
    record.write_turn_end(80)


def write_thinking(record: SessionRecord) -> None:
    """Thinking before a text, and before a call."""
    record.write_prompt("Think about it")
    record.write_answer(answer(build_thinking("Let me see."), "I look.", use("toolu_t1")))
    record.write_result("toolu_t1", CallResult("a.py", {"stdout": "a.py", "stderr": ""}))
    record.write_answer(answer(build_thinking("I see.", "b3RoZXI="), "One file."))
    record.write_turn_end(5)


def parallel(record: SessionRecord) -> None:
    """Three calls at once, answered in another order."""
    record.write_prompt("Do three things")
    record.write_answer(answer("All three.", use("toolu_1"), use("toolu_2", "pwd"), use("toolu_3", "id")))
    record.write_result("toolu_3", CallResult("root", {"stdout": "root", "stderr": ""}))
    record.write_result("toolu_1", CallResult("a b", {"stdout": "a b", "stderr": ""}))
    record.write_result("toolu_2", CallResult([text("/here"), text("and there")], {"stdout": "/here", "stderr": ""}))
    record.write_answer(answer("Done."))
    record.write_turn_end(5)


def errors(record: SessionRecord) -> None:
    """Calls that fail, one of them because there is no such tool."""
    record.write_prompt("Try it")
    record.write_answer(answer(use("toolu_e1", "false")))
    record.write_result("toolu_e1", CallResult("Exit code 1\nno", None, True))
    record.write_answer(answer({"type": "tool_use", "id": "toolu_e2", "name": "Nope", "input": {}}))
    wrong = "<tool_use_error>Error: No such tool available: Nope</tool_use_error>"
    record.write_result("toolu_e2", CallResult(wrong, None, True))
    record.write_answer(answer("It does not work."))
    record.write_turn_end(5)


def failure(record: SessionRecord) -> None:
    """A request that failed, was tried again and failed for good; then it works."""
    record.write_prompt("Are you there?")
    record.write_retry(RetryStarted(2, 0.5, "529 overloaded", 11, 529))
    record.write_failure("API Error: 529 overloaded", "server_error", 529, "overloaded_error")
    record.write_turn_end(5)
    record.write_prompt("And now?")
    record.write_answer(answer("Yes."))
    record.write_turn_end(5)


def interrupt(record: SessionRecord) -> None:
    """A person stops the model while it speaks, then a tool that runs; and asks again."""
    record.write_prompt("Tell me a long story")
    record.write_answer(ModelAnswer((text("Once upon a"),), None, USAGE, "msg_1", MODEL, request_id="req_1"))
    record.write_interruption()
    record.write_prompt("Run something")
    record.write_answer(answer("Now.", use("toolu_i1", "sleep 60")))
    rejected = "The user doesn't want to proceed with this tool use."
    record.write_result(
        "toolu_i1", CallResult(rejected, "User rejected tool use", True), toolDenialKind="user-rejected"
    )
    record.write_interruption(for_tool=True)
    record.write_prompt("Never mind")
    record.write_answer(answer("As you like."))
    record.write_turn_end(5)


def commands(record: SessionRecord) -> None:
    """Commands of the client, of which the model hears, and others."""
    record.write_prompt("Hello")
    record.write_answer(answer("Hi."))
    record.write_turn_end(5)
    record.write_local_command("/model", "opus", "Set model to opus")
    record.write_local_command("cost", stdout="Total cost: \x1b[1m$0.01\x1b[0m", is_sent=False)
    record.write_prompt("Go on")
    record.write_prompt("A reminder of the client's", meta=True)
    record.write_answer(answer("I do."))
    record.write_turn_end(5)


def progress(record: SessionRecord) -> None:
    """News of a call that takes its time, between others."""
    record.write_prompt("Take your time")
    record.write_answer(answer(use("toolu_g1", "make"), use("toolu_g2", "make more")))
    for number in range(3):
        record.write_progress(
            "toolu_g1", {"type": "bash_progress", "output": f"{number}", "elapsedTimeSeconds": number}
        )
    record.write_result("toolu_g1", CallResult("made", {"stdout": "made", "stderr": ""}))
    record.write_progress("toolu_g2", {"type": "bash_progress", "output": "x", "elapsedTimeSeconds": 1})
    record.write_result("toolu_g2", CallResult("more", {"stdout": "more", "stderr": ""}))
    record.write_answer(answer("Made."))
    record.write_turn_end(5)


def agents(record: SessionRecord) -> None:
    """Two sub-agents, in files of their own."""
    record.write_prompt("Let others work")
    calls = [
        {
            "type": "tool_use",
            "id": f"toolu_{name}",
            "name": "Task",
            "input": {"prompt": name, "subagent_type": "Explore"},
        }
        for name in ("one", "two")
    ]
    record.write_answer(answer(*calls))
    for name in ("one", "two"):
        inner = record.create_agent_record(
            f"toolu_{name}", f"a{name:0<16}", "Explore", f"Look at {name}", description="Look"
        )
        inner.write_answer(answer(use(f"toolu_in_{name}")))
        inner.write_result(f"toolu_in_{name}", CallResult("x", {"stdout": "x", "stderr": ""}))
        inner.write_answer(answer(f"Seen {name}."))
        inner.finish_agent()
        told = {"status": "completed", "prompt": f"Look at {name}", "agentId": f"a{name:0<16}", "totalToolUseCount": 1}
        record.write_result(f"toolu_{name}", CallResult([text(f"Seen {name}.")], told))
    record.write_answer(answer("Both are seen."))
    record.write_turn_end(5)


def compaction(record: SessionRecord) -> None:
    """A summary takes the place of what was said, twice; and it goes on."""
    plain(record)
    record.write_compaction("manual", 5000, "They asked about the shop.", 70)
    record.write_local_command("/compact", "", "Compacted")
    record.write_prompt("Go on")
    record.write_answer(answer("With pleasure."))
    record.write_turn_end(5)
    record.write_compaction("auto", 6000, "They asked to go on.", 70)
    record.write_prompt("Again")
    record.write_answer(answer("Here I am."))
    record.write_turn_end(5)


def pictures(record: SessionRecord) -> None:
    """A prompt of several blocks, and a result with an image in it."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    record.write_prompt([image, text("What is in this picture?"), text("And in this?"), image])
    record.write_answer(answer(use("toolu_m1", "show")))
    record.write_result("toolu_m1", CallResult([text("Here:"), image], {"isImage": True}))
    record.write_answer(answer("A pixel."))
    record.write_turn_end(5)


def write_paused_answer(record: SessionRecord) -> None:
    """An answer with a search of the server's, which went on after a pause; and one that never did."""
    found = {"type": "web_search_result", "url": "https://example.org", "title": "X", "encrypted_content": "e"}
    record.write_prompt("Search for it")
    name = record.write_answer(replace(answer("I search."), stop_reason="pause_turn"))
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]}
    record.write_answer(answer(search, result, "It is X.", id=name), goes_on=True)
    record.write_turn_end(5)
    record.write_prompt("Once more")
    record.write_answer(replace(answer("I search again."), stop_reason="pause_turn"))
    record.write_turn_end(5)


def write_unanswered_prompt(record: SessionRecord) -> None:
    """It ends with a prompt."""
    plain(record)
    record.write_prompt("Are you still there?")


def cut_off(record: SessionRecord) -> None:
    """It ends with two calls, of which one was answered."""
    plain(record)
    record.write_prompt("Two more")
    record.write_answer(answer("Two.", use("toolu_c1"), use("toolu_c2")))
    record.write_result("toolu_c1", CallResult("a b", {"stdout": "a b", "stderr": ""}))


Story = Callable[[SessionRecord], None]
STORIES: dict[str, Story] = {
    story.__name__: story
    for story in (
        plain,
        write_thinking,
        parallel,
        errors,
        failure,
        interrupt,
        commands,
        progress,
        agents,
        compaction,
        pictures,
        write_paused_answer,
        write_unanswered_prompt,
        cut_off,
    )
}


def write_story(config: Path, story: Story, cwd: Path | None = None) -> SessionRecord:
    """A session in which a story happened."""
    record = SessionRecord.create_session(config, cwd or config)
    story(record)
    return record


def rows(path: Path) -> list[Line]:
    """The lines of a file."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]
