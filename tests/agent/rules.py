"""What the Messages API refuses, as rules over one request and over what a server remembers of those before it.

Some rules are stricter than the API, because this client can keep them: roles alternate without being merged, the last
message is the user's, a call in the history names a tool that is offered (or one that the model made up itself), and
the prompt cache would be hit. The first rule that a request breaks is named; later rules may trust the earlier ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise

from tests.interop.classify import Object, first_user_text
from turnlog.agent.conversation import CLEARED_RESULT_TEXT
from turnlog.session.resume.refusals import THINKING_TYPES, find_image_fault, find_thinking_fault
from turnlog.session.usage.prices import find_price

IDS = re.compile(r"[a-zA-Z0-9_-]+")
NAMES = re.compile(r"[a-zA-Z0-9_-]{1,128}")
MOST_MARKS = 4
LOOK_BACK = 20
"""So many blocks before a mark the API looks for something that it remembers."""
FIELDS = frozenset(
    "model messages max_tokens system tools tool_choice thinking temperature stop_sequences metadata stream top_k top_p"
    " service_tier container context_management mcp_servers output_config".split()
)
KEYS = {
    "text": {"text", "citations"},
    "image": {"source"},
    "tool_use": {"id", "name", "input", "caller"},
    "tool_result": {"tool_use_id", "content", "is_error"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
}
OF_USER = frozenset({"tool_result", "image", "document"})
OF_ASSISTANT = frozenset({"tool_use", "server_tool_use", *THINKING_TYPES})


def find_refusal(body: Object, headers: Mapping[str, str], memory: Memory) -> str | None:
    """Why a request is refused; None if it is not."""
    rules = (
        _headers(headers),
        _letters(body),
        _fields(body),
        _tools(body),
        _messages(body, memory),
        _blocks(body),
        _pairs(body),
        _marks(body),
        memory.objections(body),
    )
    return next(chain.from_iterable(rules), None)


# -- a request by itself


def _headers(headers: Mapping[str, str]) -> Iterator[str]:
    if not headers.get("x-api-key") and not headers.get("authorization"):
        yield "headers: x-api-key or authorization is missing"
    if headers.get("anthropic-version") != "2023-06-01":
        yield "headers: anthropic-version"
    if headers.get("content-type", "").split(";")[0] != "application/json":
        yield "headers: content-type"


def _letters(body: Object) -> Iterator[str]:
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        yield "half of a surrogate pair"


def _fields(body: Object) -> Iterator[str]:
    if further := body.keys() - FIELDS:
        yield f"fields that there are not: {', '.join(sorted(further))}"
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model"
    if not _is_count(body.get("max_tokens")):
        yield "max_tokens"
    most = find_price(body["model"])
    if most and most.max_output and body["max_tokens"] > most.max_output:
        yield f"max_tokens: {body['max_tokens']} > {most.max_output}, which is the maximum for {body['model']}"
    if body.get("stream") is not True:
        yield "stream"
    thinking = body.get("thinking") or {"type": "disabled"}
    if thinking["type"] not in ("adaptive", "disabled", "enabled"):
        yield "thinking: type"
    if body.get("output_config", {}).get("effort", "low") not in ("low", "medium", "high", "xhigh", "max"):
        yield "output_config: effort"
    if thinking["type"] == "enabled" and not 1024 <= thinking.get("budget_tokens", 0) < body["max_tokens"]:
        yield "thinking: budget_tokens"
    system = body.get("system", [])
    for block in system if isinstance(system, list) else [{"type": "text", "text": system}]:
        if block.get("type") != "text" or not str(block.get("text") or "").strip():
            yield "system: text must be non-empty"


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _tools(body: Object) -> Iterator[str]:
    names = [str(tool.get("name")) for tool in body.get("tools", ())]
    if len(set(names)) != len(names):
        yield "tools: names must be unique"
    for tool in body.get("tools", ()):
        if not NAMES.fullmatch(str(tool.get("name"))):
            yield "tools: a name"
        if "type" not in tool and (tool.get("input_schema") or {}).get("type") != "object":
            yield f"tools: the schema of {tool['name']}"


def _messages(body: Object, memory: Memory) -> Iterator[str]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: at least one is needed"
        return
    for at, message in enumerate(messages):
        if message.keys() != {"role", "content"} or message["role"] not in ("user", "assistant"):
            yield f"messages.{at}: role and content"
        content = message["content"]
        if not (content.strip() if isinstance(content, str) else content):
            yield f"messages.{at}: content must be non-empty"
    if messages[0]["role"] != "user":
        yield "messages: the first must be the user's"
    if any(one["role"] == other["role"] for one, other in pairwise(messages)):
        yield "messages: roles must alternate"
    if messages[-1]["role"] != "user" and not memory.goes_on(body):
        yield "messages: the last must be the user's"


def _blocks(body: Object) -> Iterator[str]:
    for at, message in enumerate(body["messages"]):
        blocks = blocks_of(message)
        for block in blocks:
            yield from (f"messages.{at}: {fault}" for fault in _block(block, str(message["role"])))
        if blocks[-1]["type"] in THINKING_TYPES:
            yield f"messages.{at}: the final block in an assistant message cannot be thinking"


def _block(block: Object, role: str) -> Iterator[str]:
    kind = block.get("type")
    if not isinstance(kind, str):
        yield "a block without a type"
        return
    if further := block.keys() - {"type", "cache_control"} - KEYS.get(kind, block.keys()):
        yield f"{kind}: fields that there are not: {', '.join(sorted(further))}"
    if (kind in OF_USER and role != "user") or (kind in OF_ASSISTANT and role != "assistant"):
        yield f"{kind} of the {role}"
    if kind == "text" and not str(block.get("text") or "").strip():
        yield "text content blocks must be non-empty"
    if kind in THINKING_TYPES and (fault := find_thinking_fault(block)):
        yield fault
    if kind == "image" and (fault := find_image_fault(block)):
        yield fault
    if kind == "tool_use":
        yield from _call(block)
    if kind == "tool_result":
        yield from _result(block)


def _call(block: Object) -> Iterator[str]:
    if not isinstance(block.get("id"), str) or not IDS.fullmatch(block["id"]):
        yield "tool_use: id"
    if not isinstance(block.get("name"), str) or not NAMES.fullmatch(block["name"]):
        yield "tool_use: name"
    if not isinstance(block.get("input"), dict):
        yield "tool_use: input must be an object"


def _result(block: Object) -> Iterator[str]:
    if not isinstance(block.get("tool_use_id"), str) or not IDS.fullmatch(block["tool_use_id"]):
        yield "tool_result: tool_use_id"
    content = block.get("content")
    if block.get("is_error") and not (content.strip() if isinstance(content, str) else content):
        yield "tool_result: content cannot be empty if is_error is true"
    for inner in content if isinstance(content, list) else ():
        if inner.get("type") not in ("text", "image", "document", "search_result"):
            yield f"tool_result: {inner.get('type')} in it"
        yield from (f"tool_result: {fault}" for fault in _block(inner, "user"))


def _pairs(body: Object) -> Iterator[str]:
    """Each call is answered once, in the next message, before anything else; each result has its call."""
    seen: set[str] = set()
    calls: list[str] = []
    for at, message in enumerate(body["messages"]):
        blocks = blocks_of(message)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if without := [call for call in calls if call not in results]:
            yield f"messages.{at}: tool_use ids were found without tool_result blocks immediately after: {without}"
        if len(set(results)) != len(results):
            yield f"messages.{at}: each tool_use must have a single result"
        if alone := [result for result in results if result not in calls]:
            yield f"messages.{at}: unexpected tool_use_id found in tool_result blocks: {alone}"
        if any(block["type"] == "tool_result" for block in blocks[len(results) :]):
            yield f"messages.{at}: tool_result blocks must come first"
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(calls)) != len(calls) or not seen.isdisjoint(calls):
            yield f"messages.{at}: tool_use ids must be unique"
        seen.update(calls)
        is_last = message is body["messages"][-1]
        yield from (f"messages.{at}: {fault}" for fault in _server_pairs(blocks, is_open=is_last or bool(calls)))


def _server_pairs(blocks: Sequence[Object], *, is_open: bool) -> Iterator[str]:
    """What a tool of the server's found stands behind its call, in the same message, unless that goes on."""
    called = {block.get("id") for block in blocks if block["type"] == "server_tool_use"}
    found = {block.get("tool_use_id") for block in blocks}
    if not is_open and (without := called - found):
        yield f"server_tool_use without its result: {without}"
    for block in blocks:
        if block["type"].endswith("_tool_result") and block.get("tool_use_id") not in called:
            yield f"{block['type']} without its server_tool_use"


def _marks(body: Object) -> Iterator[str]:
    blocks = [block for _, block in sequence(body)]
    marks = [block for block in blocks if "cache_control" in block]
    if len(marks) > MOST_MARKS:
        yield f"a maximum of {MOST_MARKS} blocks with cache_control may be provided, found {len(marks)}"
    for block in marks:
        if block["cache_control"].get("type") != "ephemeral" or block.get("type") in THINKING_TYPES:
            yield "cache_control where none may be"


# -- a request and what came before


class Memory:
    """What a server knows of a conversation: what it said itself, and what it was asked."""

    def __init__(self, foreign: Mapping[str, str] | None = None, names: Sequence[str] = ()) -> None:
        self._thoughts: dict[str, tuple[Object, str]] = {}
        self._blocks: dict[str, Object] = {}
        self._beside: dict[str, tuple[list[str], str]] = {}
        self._asked: dict[str, list[tuple[str, Object]]] = {}
        self.foreign = dict(foreign or {})
        """Thinking that others signed, and for which model: sessions that were recorded elsewhere."""
        self.names = set(names)
        """Tools that are called in such sessions."""
        self._paused: list[list[Object]] = []
        """Answers that are gone on with when they come back."""

    def rewind(self) -> None:
        """A person went back: the next request need not begin like the one before."""
        self._asked.clear()

    def gave(self, message: Object) -> None:
        """Remember an answer: what is in it may come back, but only as it was."""
        if message.get("stop_reason") == "pause_turn":
            self._paused.append(message["content"])
        seals = [seal(block) for block in message["content"] if block["type"] in THINKING_TYPES]
        for block in message["content"]:
            if block["type"] in THINKING_TYPES:
                self._thoughts[seal(block)] = block, message["model"]
            elif block["type"] == "tool_use":
                self._blocks[block["id"]] = block
                self._beside[block["id"]] = seals, message["model"]
                self.names.add(block["name"])
            elif block["type"] != "text" and (name := block.get("id") or block.get("tool_use_id")):
                self._blocks[f"{block['type']} {name}"] = block

    def goes_on(self, body: Object) -> bool:
        """Whether a request asks to go on with an answer that was paused."""
        last = body["messages"][-1]
        blocks = blocks_of(last) if last["role"] == "assistant" else []
        return any(blocks[-len(paused) :] == paused for paused in self._paused)

    def objections(self, body: Object) -> Iterator[str]:
        """What is wrong with a request after all that was said before."""
        offered = {tool["name"] for tool in body.get("tools", ())} | self.names
        for message in body["messages"]:
            blocks = [drop_cache_mark(block) for block in blocks_of(message)]
            for block in blocks:
                yield from self._check_changed_calls(block, body["model"])
                if block["type"] == "tool_use" and block["name"] not in offered:
                    yield f"tool_use: there is no tool {block['name']}"
            yield from self._check_missing_thinking(blocks, body["model"])
        yield from self._check_cached_prefix(body)

    def _check_changed_calls(self, block: Object, model: str) -> Iterator[str]:
        if block["type"] in THINKING_TYPES:
            known, signer = self._thoughts.get(seal(block), (block, self.foreign.get(seal(block))))
            if signer is None:
                yield "thinking: invalid signature"
            elif signer != model:
                yield f"thinking: signed for {signer}, not for {model}"
            elif known != block:
                yield "thinking blocks cannot be modified"
            return
        name = block.get("id") if block["type"] == "tool_use" else None
        name = name or f"{block['type']} {block.get('id') or block.get('tool_use_id')}"
        if self._blocks.get(name, block) != block:
            yield f"{block['type']}: is not what the model said"

    def _check_missing_thinking(self, blocks: Sequence[Object], model: str) -> Iterator[str]:
        """Whoever gives a call back gives back what the model thought of it."""
        here = {seal(block) for block in blocks if block["type"] in THINKING_TYPES}
        for block in blocks:
            seals, signer = self._beside.get(str(block.get("id")), ([], ""))
            if block["type"] == "tool_use" and signer == model and not here.issuperset(seals):
                yield "thinking: what the model thought before it called is missing"

    def _check_cached_prefix(self, body: Object) -> Iterator[str]:
        """The bytes up to the last mark but one of the request before are those of this one, and are found again."""
        now = [(place, drop_cache_mark(block)) for place, block in sequence(body)]
        marks = [at for at, (_, block) in enumerate(sequence(body)) if "cache_control" in block]
        if marks and marks[-1] != len(now) - 1 and not self.goes_on(body):
            yield "cache_control: the last block has no mark"
        key = json.dumps([body["model"], body.get("system"), body.get("tools"), first_user_text(body)])
        before = self._asked.get(key)
        if before is not None and len(body["messages"]) > 1:  # else it begins anew, behind a summary that says the same
            old = [at for at, (_, block) in enumerate(before) if "cache_control" in block]
            end = old[-2] + 1 if len(old) > 1 else 0
            yield from _check_moved_blocks(before[:end], now)
            if old and not any(0 <= mark - at < LOOK_BACK for mark in marks for at in old[-2:]):
                yield "cache_control: nothing of the request before is found again"
        self._asked[key] = sequence(body)


def _check_moved_blocks(before: Sequence[tuple[str, Object]], now: Sequence[tuple[str, Object]]) -> Iterator[str]:
    for at, (place, block) in enumerate(before):
        if at >= len(now) or now[at][0] != place or not _is_same(drop_cache_mark(block), now[at][1]):
            yield f"the beginning is not that of the request before: {place}: {json.dumps(block)[:200]}"
            return


def _is_same(before: Object, now: Object) -> bool:
    """Whether a block stayed as it was, to the order of its fields; results may be cleared to make room."""
    if now.get("type") == "tool_result" and now.get("content") == CLEARED_RESULT_TEXT:
        return bool(before.get("tool_use_id") == now["tool_use_id"])
    return json.dumps(before) == json.dumps(now)


def sequence(body: Object) -> list[tuple[str, Object]]:
    """All blocks in the order in which the cache has them, with their places."""
    system = body.get("system", [])
    places = [("tools", tool) for tool in body.get("tools", ())]
    places += [
        ("system", block) for block in (system if isinstance(system, list) else [{"type": "text", "text": system}])
    ]
    for at, message in enumerate(body["messages"]):
        places += [(f"messages.{at} {message['role']}", block) for block in blocks_of(message)]
    return places


def blocks_of(message: Object) -> list[Object]:
    """The content of a message as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def drop_cache_mark(block: Object) -> Object:
    """A block without its mark for the cache."""
    return {key: value for key, value in block.items() if key != "cache_control"}


def seal(block: Object) -> str:
    """What thinking is known by."""
    return str(block.get("signature") or block.get("data") or "")
