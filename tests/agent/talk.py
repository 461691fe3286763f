"""Sessions as the loop writes them, one for each thing that can happen in a turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from turnlog.agent.record.record import Record
from turnlog.agent.tools.tool import Result
from turnlog.model.answer import Answer
from turnlog.model.events import Retrying

MODEL = "claude-opus-5-5"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
USAGE = {"input_tokens": 12, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 0, "output_tokens": 7}
Line = dict[str, Any]


def text(words: str) -> Line:
    """A block of text."""
    return {"type": "text", "text": words}


def thought(words: str, signature: str = "c2lnbmVk") -> Line:
    """A block of thinking."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def use(call: str, command: str = "ls") -> Line:
    """A call of Bash."""
    return {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}


def answer(*blocks: Line | str, id: str | None = None, model: str = MODEL) -> Answer:  # noqa: A002
    """An answer; strings are texts."""
    name = id or f"msg_{uuid4().hex}"
    content = tuple(text(block) if isinstance(block, str) else block for block in blocks)
    calls = any(block["type"] == "tool_use" for block in content)
    return Answer(content, "tool_use" if calls else "end_turn", USAGE, name, model, request_id=f"req_{name}")


def plain(record: Record) -> None:
    """Two questions and their answers."""
    record.queued("enqueue", "What is here?")
    record.queued("dequeue")
    record.prompt("What is here?")
    record.answer(answer("A shop."))
    record.turn_ended(120)
    record.title("The shop")
    record.prompt([text("And what is in it?"), text("Say it with “care” – \U0001f34e.")])
    record.answer(answer("Apples.", "Pears."))
    record.turn_ended(80)


def thinking(record: Record) -> None:
    """Thinking before a text, and before a call."""
    record.prompt("Think about it")
    record.answer(answer(thought("Let me see."), "I look.", use("toolu_t1")))
    record.result("toolu_t1", Result("a.py", {"stdout": "a.py", "stderr": ""}))
    record.answer(answer(thought("I see.", "b3RoZXI="), "One file."))
    record.turn_ended(5)


def parallel(record: Record) -> None:
    """Three calls at once, answered in another order."""
    record.prompt("Do three things")
    record.answer(answer("All three.", use("toolu_1"), use("toolu_2", "pwd"), use("toolu_3", "id")))
    record.result("toolu_3", Result("root", {"stdout": "root", "stderr": ""}))
    record.result("toolu_1", Result("a b", {"stdout": "a b", "stderr": ""}))
    record.result("toolu_2", Result([text("/here"), text("and there")], {"stdout": "/here", "stderr": ""}))
    record.answer(answer("Done."))
    record.turn_ended(5)


def errors(record: Record) -> None:
    """Calls that fail, one of them because there is no such tool."""
    record.prompt("Try it")
    record.answer(answer(use("toolu_e1", "false")))
    record.result("toolu_e1", Result("Exit code 1\nno", None, True))
    record.answer(answer({"type": "tool_use", "id": "toolu_e2", "name": "Nope", "input": {}}))
    wrong = "<tool_use_error>Error: No such tool available: Nope</tool_use_error>"
    record.result("toolu_e2", Result(wrong, None, True))
    record.answer(answer("It does not work."))
    record.turn_ended(5)


def failure(record: Record) -> None:
    """A request that failed, was tried again and failed for good; then it works."""
    record.prompt("Are you there?")
    record.retrying(Retrying(2, 0.5, "529 overloaded", 11, 529))
    record.failed("API Error: 529 overloaded", "server_error", 529, "overloaded_error")
    record.turn_ended(5)
    record.prompt("And now?")
    record.answer(answer("Yes."))
    record.turn_ended(5)


def interrupt(record: Record) -> None:
    """A person stops the model while it speaks, then a tool that runs; and asks again."""
    record.prompt("Tell me a long story")
    record.answer(Answer((text("Once upon a"),), None, USAGE, "msg_1", MODEL, request_id="req_1"))
    record.interrupted()
    record.prompt("Run something")
    record.answer(answer("Now.", use("toolu_i1", "sleep 60")))
    rejected = "The user doesn't want to proceed with this tool use."
    record.result("toolu_i1", Result(rejected, "User rejected tool use", True), toolDenialKind="user-rejected")
    record.interrupted(for_tool=True)
    record.prompt("Never mind")
    record.answer(answer("As you like."))
    record.turn_ended(5)


def commands(record: Record) -> None:
    """Commands of the client, of which the model hears, and others."""
    record.prompt("Hello")
    record.answer(answer("Hi."))
    record.turn_ended(5)
    record.local_command("/model", "opus", "Set model to opus")
    record.local_command("cost", stdout="Total cost: \x1b[1m$0.01\x1b[0m", is_sent=False)
    record.prompt("Go on")
    record.prompt("A reminder of the client's", meta=True)
    record.answer(answer("I do."))
    record.turn_ended(5)


def progress(record: Record) -> None:
    """News of a call that takes its time, between others."""
    record.prompt("Take your time")
    record.answer(answer(use("toolu_g1", "make"), use("toolu_g2", "make more")))
    for number in range(3):
        record.progress("toolu_g1", {"type": "bash_progress", "output": f"{number}", "elapsedTimeSeconds": number})
    record.result("toolu_g1", Result("made", {"stdout": "made", "stderr": ""}))
    record.progress("toolu_g2", {"type": "bash_progress", "output": "x", "elapsedTimeSeconds": 1})
    record.result("toolu_g2", Result("more", {"stdout": "more", "stderr": ""}))
    record.answer(answer("Made."))
    record.turn_ended(5)


def agents(record: Record) -> None:
    """Two sub-agents, in files of their own."""
    record.prompt("Let others work")
    calls = [
        {
            "type": "tool_use",
            "id": f"toolu_{name}",
            "name": "Task",
            "input": {"prompt": name, "subagent_type": "Explore"},
        }
        for name in ("one", "two")
    ]
    record.answer(answer(*calls))
    for name in ("one", "two"):
        inner = record.agent(f"toolu_{name}", f"a{name:0<16}", "Explore", f"Look at {name}", description="Look")
        inner.answer(answer(use(f"toolu_in_{name}")))
        inner.result(f"toolu_in_{name}", Result("x", {"stdout": "x", "stderr": ""}))
        inner.answer(answer(f"Seen {name}."))
        inner.finished()
        told = {"status": "completed", "prompt": f"Look at {name}", "agentId": f"a{name:0<16}", "totalToolUseCount": 1}
        record.result(f"toolu_{name}", Result([text(f"Seen {name}.")], told))
    record.answer(answer("Both are seen."))
    record.turn_ended(5)


def compaction(record: Record) -> None:
    """A summary takes the place of what was said, twice; and it goes on."""
    plain(record)
    record.compacted("manual", 5000, "They asked about the shop.", 70)
    record.local_command("/compact", "", "Compacted")
    record.prompt("Go on")
    record.answer(answer("With pleasure."))
    record.turn_ended(5)
    record.compacted("auto", 6000, "They asked to go on.", 70)
    record.prompt("Again")
    record.answer(answer("Here I am."))
    record.turn_ended(5)


def pictures(record: Record) -> None:
    """A prompt of several blocks, and a result with an image in it."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    record.prompt([image, text("What is in this picture?"), text("And in this?"), image])
    record.answer(answer(use("toolu_m1", "show")))
    record.result("toolu_m1", Result([text("Here:"), image], {"isImage": True}))
    record.answer(answer("A pixel."))
    record.turn_ended(5)


def paused(record: Record) -> None:
    """An answer with a search of the server's, which went on after a pause; and one that never did."""
    found = {"type": "web_search_result", "url": "https://example.org", "title": "X", "encrypted_content": "e"}
    record.prompt("Search for it")
    name = record.answer(replace(answer("I search."), stop_reason="pause_turn"))
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]}
    record.answer(answer(search, result, "It is X.", id=name), goes_on=True)
    record.turn_ended(5)
    record.prompt("Once more")
    record.answer(replace(answer("I search again."), stop_reason="pause_turn"))
    record.turn_ended(5)


def unanswered(record: Record) -> None:
    """It ends with a prompt."""
    plain(record)
    record.prompt("Are you still there?")


def cut_off(record: Record) -> None:
    """It ends with two calls, of which one was answered."""
    plain(record)
    record.prompt("Two more")
    record.answer(answer("Two.", use("toolu_c1"), use("toolu_c2")))
    record.result("toolu_c1", Result("a b", {"stdout": "a b", "stderr": ""}))


Story = Callable[[Record], None]
STORIES: dict[str, Story] = {
    story.__name__: story
    for story in (
        plain,
        thinking,
        parallel,
        errors,
        failure,
        interrupt,
        commands,
        progress,
        agents,
        compaction,
        pictures,
        paused,
        unanswered,
        cut_off,
    )
}


def written(config: Path, story: Story, cwd: Path | None = None) -> Record:
    """A session in which a story happened."""
    record = Record.new(config, cwd or config)
    story(record)
    return record


def rows(path: Path) -> list[Line]:
    """The lines of a file."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]
