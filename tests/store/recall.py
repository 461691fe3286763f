"""A planted corpus: one word, found nowhere else, in every kind of place that a transcript has.

`Garden.word(place)` gives the word of a place. Places of the known format come from its registry (`entries.format`),
so that a new type or field is planted as soon as it is known; the others are named one by one.
"""

from __future__ import annotations

import itertools
import json
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.session.build import SESSION, Build, outcome, use
from turnlog.entries.format import FieldFormat, ObjectFormat, load_format

Line = dict[str, Any]
REGISTRY = load_format()

NO_TEXT = frozenset(
    # ids, and what links entries
    "uuid parentUuid logicalParentUuid sessionId session_id messageUuid messageId message_id snapshotMessageId leafUuid"
    " toolUseID parentToolUseID tool_use_id id agentId agent_id promptId requestId requestRef requestID hash shapeHash"
    " base requestDigest sourceToolAssistantUUID sourceToolUseID interruptedMessageId refusedMessageId runId deliveryId"
    " delivery_id commandUuid source_uuid headUuid tailUuid anchorUuid file_id taskId processId pluginId backupFileName"
    " bridgeSessionId ownerAccountUuid ownerOrganizationUuid sessionGroupingId parentSessionId parentLastUuid"
    " summarizedTurnPromptUuids requestSessionId mcpCallNotReadOnly"
    " from senderTaskId imagePasteIds clearedAttachmentUUIDs compactedToolIds digests"
    # when, where and by whom, which filters are for
    " timestamp version cwd gitBranch userType entrypoint slug sessionKind teamName model role type level"
    # one of a few words of the client's own
    " permissionMode promptSource kind producer turnOrigin toolDenialKind decision source reasonType reasonCode"
    " ruleSource grantScope queuePriority classifierMetaLines stop_reason stop_sequence stop_details service_tier"
    " inference_geo speed fallback_credit container context_management diagnostics provider error apiErrorType madeBy"
    " requestedModel effort perTurnEffort advisorModel attributionSkill attributionPlugin"
    " attributionMcpServer attributionMcpTool attributionAgent thinkingDisplay promptCacheRequested"
    " serverClassifierRequest triggers usage caller cache_control modelUsage".split()
)
"""Fields that hold no text of a person, a model or a tool."""
UNREADABLE = frozenset({"thinking.signature", "redacted_thinking.data", "image.source", "document.source"}) | frozenset(
    {"user.origin.name", "user.origin.body"}  # of a peer's message, which the entry itself repeats
)
WORDLESS = frozenset(
    "permission-mode fork-context-ref cost-state ended-by-model data-flow-incomplete attribution-snapshot session-owner"
    " observer-ref auto_mode_exit ultra_effort_exit workflow_keyword_request max_turns_reached redacted_thinking image"
    " container_upload".split()
)
"""Types that have no text at all, or only in places that are named one by one."""
SAME_TWICE = frozenset({"Edit.structuredPatch", "Write.structuredPatch"})
"""Beside the file before and the new text, the patch says nothing new."""


class Garden:
    """Words, each for one place."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}
        self._numbers = itertools.count()

    def word(self, place: str) -> str:
        assert place not in self.words, place
        number, letters = next(self._numbers), ""
        for _ in range(4):
            number, rest = divmod(number, 26)
            letters += string.ascii_lowercase[rest]
        self.words[place] = f"zq{letters}x"
        return self.words[place]


def whole(garden: Garden, kind: ObjectFormat, path: str, **tag: str) -> Line:
    """An object with a word in every field that can hold a text."""
    found: Line = dict(tag)
    for name, field in REGISTRY.list_fields(kind).items():
        if name in found or name in NO_TEXT or f"{path.rpartition('/')[2]}.{name}" in UNREADABLE:
            continue
        value = _value(garden, field, f"{path}.{name}")
        if value is not None:
            found[name] = value
    return found


def _value(garden: Garden, field: FieldFormat, path: str) -> Any:
    if field.type == "any":
        return {"inner": [garden.word(path)]}
    if "string" in field.type:
        return garden.word(path)
    return whole(garden, REGISTRY.objects[field.holds], path) if field.holds else None


def registry(garden: Garden) -> Iterator[Line]:
    """A line for each known type."""
    for tag, kind in REGISTRY.entries.items():
        yield whole(garden, kind, f"entry/{tag}", type=tag)
    for tag, kind in REGISTRY.system.items():
        yield {"type": "system", **whole(garden, kind, f"system/{tag}", subtype=tag)}
    for tag, kind in REGISTRY.attachments.items():
        yield {"type": "attachment", "attachment": whole(garden, kind, f"attachment/{tag}", type=tag)}
    for tag, kind in REGISTRY.progress.items():
        yield {"type": "progress", "data": whole(garden, kind, f"progress/{tag}", type=tag)}
    for tag, kind in REGISTRY.blocks.items():
        said = {"role": "assistant", "content": [whole(garden, kind, f"block/{tag}", type=tag)]}
        yield {"type": "assistant", "message": said}
    for tool, kind in REGISTRY.tool_results.items():
        names = [name for name in REGISTRY.list_fields(kind) if name not in NO_TEXT]
        yield result({name: {"inner": [garden.word(f"result/{tool}.{name}")]} for name in names})


def result(structured: Any, told: str = "ok") -> Line:
    """A result with the client's own structure of it; its call is not in the file, so nothing in it stands there."""
    said = {"role": "user", "content": [outcome("elsewhere", told)]}
    return {"type": "user", "message": said, "toolUseResult": structured}


def prompt(content: Any, **fields: Any) -> Line:
    return {"type": "user", "sessionId": SESSION, "message": {"role": "user", "content": content}, **fields}


def answer(*content: Any, **fields: Any) -> Line:
    return {"type": "assistant", "message": {"role": "assistant", "model": "m", "content": list(content)}, **fields}


def call(given: Any, name: str = "Bash") -> Line:
    return answer(use("c", name, given))


def text(words: str) -> Line:
    return {"type": "text", "text": words}


LONG = "The file has not changed since it was last read, so its content is not repeated here. " * 5

NAMED: dict[str, Callable[[str], Any]] = {
    "a prompt": prompt,
    "a prompt of blocks": lambda word: prompt([text(word)]),
    "the second block of a prompt": lambda word: prompt([text("look"), text(word)]),
    "a bare string among the blocks of a prompt": lambda word: prompt([word, text("look")]),
    "a prompt behind a reminder": lambda word: prompt(f"<system-reminder>x</system-reminder>{word}"),
    "a reminder inside a prompt": lambda word: prompt(f"<system-reminder>{word}</system-reminder>look"),
    "the name of a slash command": lambda word: prompt(f"<command-name>/{word}</command-name>"),
    "the arguments of a slash command": lambda word: prompt(
        f"<command-name>/x</command-name><command-args>{word}</command-args>"
    ),
    "the output of a slash command": lambda word: prompt(f"<local-command-stdout>{word}</local-command-stdout>"),
    "a ! command": lambda word: prompt(f"<bash-input>{word}</bash-input>"),
    "the output of a ! command": lambda word: prompt(f"<bash-stdout>{word}</bash-stdout><bash-stderr></bash-stderr>"),
    "the errors of a ! command": lambda word: prompt(f"<bash-stdout></bash-stdout><bash-stderr>{word}</bash-stderr>"),
    "a caveat": lambda word: prompt(f"Caveat: {word}", isMeta=True),
    "a notification of a task": lambda word: prompt(f"<task-notification>{word}</task-notification>"),
    "a message of a teammate": lambda word: prompt(f'<teammate-message teammate_id="{word}">x</teammate-message>'),
    "the summary of a compaction": lambda word: prompt(word, isCompactSummary=True),
    "an answer": lambda word: answer(text(word)),
    "an answer that is a string": lambda word: {"type": "assistant", "message": {"content": word}},
    "an error of the API in an answer": lambda word: answer(text(word), isApiErrorMessage=True),
    "thinking": lambda word: answer({"type": "thinking", "thinking": word, "signature": "AAAA"}),
    "a sidechain inside the session": lambda word: prompt(word, isSidechain=True),
    "the name of a tool": lambda word: call({}, word),
    "the input of a call": lambda word: call({"command": word}),
    "a nested input": lambda word: call({"edits": [{"deep": {"deeper": [word]}}]}),
    "an input called data": lambda word: call({"data": word}, "mcp__x__y"),
    "an input called id": lambda word: call({"id": word}, "mcp__x__y"),
    "an input called model": lambda word: call({"model": word}, "mcp__x__y"),
    "the path of a call": lambda word: call({"file_path": f"/home/dana/{word}.py"}, "Read"),
    "a result": lambda word: prompt([outcome("c", word)]),
    "a result of blocks": lambda word: prompt([outcome("c", [text(word)])]),
    "a nested result": lambda word: prompt([outcome("c", [{"type": "search_result", "content": [text(word)]}])]),
    "a failed result": lambda word: prompt([outcome("c", word, error=True)]),
    "a structured result that is a string": lambda word: result(f"Error: {word}"),
    "a structured result that is a list": lambda word: result([text(word)]),
    "stdout": lambda word: result({"stdout": word, "stderr": ""}),
    "stderr": lambda word: result({"stdout": "", "stderr": word}),
    "a file before an edit": lambda word: result(
        {"filePath": "/a", "originalFile": word, "oldString": "", "newString": ""}
    ),
    "an old string": lambda word: result({"oldString": word, "newString": "b"}),
    "a new string": lambda word: result({"oldString": "a", "newString": word}),
    "a patch alone": lambda word: result({"filePath": "/a", "structuredPatch": [{"lines": [f"+{word}"]}]}),
    "the content of a written file": lambda word: result({"type": "create", "filePath": "/a", "content": word}),
    "a file that was read": lambda word: result(
        {"type": "text", "file": {"filePath": "/a", "content": f"{word}\n" * 9}}
    ),
    "a file that was read, of which the model saw something else": lambda word: result(
        {"type": "text", "file": {"filePath": "/a", "content": word}}, LONG
    ),
    "the path of a file that was read": lambda word: result({"type": "text", "file": {"filePath": f"/{word}"}}),
    "file names": lambda word: result({"filenames": ["a", word]}),
    "a query": lambda word: result({"query": word, "results": []}),
    "hits on the web": lambda word: result({"query": "q", "results": [{"content": [{"title": word, "url": "u"}]}]}),
    "an address": lambda word: result({"url": f"https://example.com/{word}"}),
    "what was fetched": lambda word: result({"url": "u", "result": word}),
    "what a person made of a proposal": lambda word: [
        call({"file_path": "/a", "old_string": "a", "new_string": "b"}, "Edit"),
        {
            **result({"oldString": "a", "newString": word, "userModified": True}),
            "message": prompt([outcome("c")])["message"],
        },
    ],
    "a question to a person": lambda word: result({"questions": [{"question": word}], "answers": {}}),
    "a person's answer": lambda word: result({"questions": [], "answers": {"Which?": word}}),
    "a to-do": lambda word: result({"oldTodos": [], "newTodos": [{"content": word, "status": "pending"}]}),
    "the report of a sub-agent": lambda word: result({"status": "completed", "content": [text(word)]}),
    "the prompt of a sub-agent": lambda word: result({"status": "completed", "prompt": word}),
    "the structure that an MCP server sent": lambda word: result({"data": {"id": "1", "words": word}}),
    "a document": lambda word: prompt([{"type": "document", "source": {"type": "text", "data": word}}]),
    "the title of a document": lambda word: prompt([{"type": "document", "title": word, "source": {}}]),
    "an unknown block": lambda word: prompt([{"type": "hologram", "words": word}]),
    "an unknown block of an answer": lambda word: answer({"type": "hologram", "words": word}),
    "an unknown entry": lambda word: {"type": "hologram", "words": {"deep": word}},
    "an unknown attachment": lambda word: {"type": "attachment", "attachment": {"type": "hologram", "words": word}},
    "an unknown system entry": lambda word: {"type": "system", "subtype": "hologram", "words": word},
    "an entry without a type": lambda word: {"words": word},
    "a message of the wrong shape": lambda word: {"type": "user", "message": [{"content": word}]},
    "the echo of a sub-agent's prompt": lambda word: {
        "type": "progress",
        "data": {"type": "agent_progress", "message": {"type": "user", "message": {"content": [text(word)]}}},
    },
    "the echo of a sub-agent's answer": lambda word: {
        "type": "progress",
        "data": {"type": "agent_progress", "message": {"type": "assistant", "message": {"content": [text(word)]}}},
    },
    "a file named with @": lambda word: {
        "type": "attachment",
        "attachment": {"type": "file", "filename": "a", "content": {"type": "text", "file": {"content": word}}},
    },
    "the error of a request": lambda word: {
        "type": "system",
        "subtype": "api_error",
        "error": {"error": {"error": {"type": "overloaded", "message": word}}},
    },
    "what a person said when refusing": lambda word: prompt([outcome("c", "no", error=True)], userFeedback=word),
    "the plan that a session carries out": lambda word: prompt("Implement the plan", planContent=word),
    "a path in a snapshot of the file history": lambda word: {
        "type": "file-history-snapshot",
        "messageId": "m",
        "snapshot": {"messageId": "m", "trackedFileBackups": {f"src/{word}.py": {"version": 1}}},
    },
    "another working folder": lambda word: prompt("go on", cwd=f"/home/dana/{word}"),
    "another branch": lambda word: prompt("go on", gitBranch=f"feature/{word}"),
    "half of a surrogate pair beside it": lambda word: prompt(f"\ud800 {word}"),
    "behind a long ruler": lambda word: prompt([outcome("c", [text("-" * 300 + f"\n{word}")])]),
    "behind an escape of a terminal": lambda word: prompt([outcome("c", f"\x1b[31m{word}\x1b[0m")]),
    "a camelCase name": lambda word: answer(text(f"call get{word.capitalize()}Now")),
    "a snake_case name": lambda word: answer(text(f"call get_{word}_now")),
    "a sentence in Chinese": lambda word: answer(text(f"请看{word}的定义")),
}
"""Places by name, and the entry that has a word there."""


def raw(garden: Garden) -> bytes:
    """Lines that are not as they should be, with words in them; the last one has no line end."""
    one, two = (json.dumps(prompt(garden.word(f"glued line, {place}"), uuid=place)) for place in ("first", "second"))
    bad = garden.word("beside bytes that are no UTF-8")
    padded = json.dumps(prompt(garden.word("behind padding"), uuid="p"))
    last = json.dumps(prompt(garden.word("a last line without line end"), uuid="l"))
    return b"".join(
        [
            f"{one}{two}\n".encode(),
            b'{"type":"user","message":{"content":"\xff\xfe ' + bad.encode() + b' \xc3"}}\n',
            bytes(64) + padded.encode() + b"\n",
            b"no JSON at all\n",
            last.encode(),
        ]
    )


def layouts(garden: Garden) -> dict[str, bytes]:
    """Files of every layout, below a project."""
    places = {
        f"{SESSION}/subagents/agent-a1.jsonl": "a sub-agent's file",
        f"{SESSION}/subagents/workflows/w1/agent-a2.jsonl": "an agent of a workflow",
        "agent-a3.jsonl": "a loose agent of 2.0.x",
        "subagents/agent-a4.jsonl": "a loose agent in a folder",
    }
    found = {path: _agent(garden.word(place)) for path, place in places.items()}
    found[f"{SESSION}/tool-results/call.txt"] = f"long output\nwith {garden.word('a large output beside it')}".encode()
    return found


def _agent(word: str) -> bytes:
    build = Build()
    build.prompt(word, isSidechain=True, agentId="a")
    return build.data()


HIDDEN: dict[str, Callable[[str], Line]] = {
    "the data of a picture": lambda word: prompt(
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": word}}]
    ),
    "the data of a picture in a result": lambda word: prompt(
        [outcome("c", [{"type": "image", "source": {"type": "base64", "data": word}}])]
    ),
    "the data of a PDF": lambda word: prompt([{"type": "document", "source": {"type": "base64", "data": word}}]),
    "a picture that was read": lambda word: result({"type": "image", "file": {"base64": word, "type": "image/png"}}),
    "a signature": lambda word: answer({"type": "thinking", "thinking": "hm", "signature": word}),
    "redacted thinking": lambda word: answer({"type": "redacted_thinking", "data": word}),
    "a uuid": lambda word: prompt("x", uuid=word),
    "a parent": lambda word: prompt("x", parentUuid=word),
    "the id of a request": lambda word: answer(text("x"), requestId=word),
    "the id of a prompt": lambda word: prompt("x", promptId=word),
}
"""What nobody looks for: a word there must not be found."""


def plant(garden: Garden, folder: Path) -> None:
    """Write the corpus."""
    folder.mkdir(parents=True)
    lines = [*registry(garden)]
    for place, make in NAMED.items():
        made = make(garden.word(place))
        lines += made if isinstance(made, list) else [made]
    lines += [make(garden.word(f"hidden: {place}")) for place, make in HIDDEN.items()]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    (folder / f"{SESSION}.jsonl").write_bytes(data + raw(garden))
    for path, content in layouts(garden).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
