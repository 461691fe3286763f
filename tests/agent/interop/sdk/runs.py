"""A program with an SDK, once with the real client and once with ours: what it sees, and what the server receives."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tests.agent.waits import run
from tests.interop.clients import NEWEST, ROOT, client
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import KEY, MODEL, environment

Json = dict[str, Any]
MARKS = ("not here", "no shell", "Looks fine.")
"""Words of the scripts in errors and reports of sub-agents; the rest of these is each client's own wording."""
Language = Literal["python", "typescript"]
LANGUAGES: tuple[Language, ...] = ("python", "typescript")
HERE = "@HERE@"
"""Stands for the project's folder in plans, scripts and what is seen."""
SDKS = ROOT / ".tools" / "sdks"
PROGRAMS = Path(__file__).parent
HOOK_KEYS = ("hook_event_name", "tool_name", "tool_input", "prompt", "stop_hook_active", "source", "agent_type")
RESULT_KEYS = ("subtype", "is_error", "result", "num_turns", "structured_output", "terminal_reason")


class Feature(NamedTuple):
    """A documented feature of the SDKs: a program that uses it, and what to compare."""

    plan: Json | Sequence[Json]
    """What the program does, or several such plans, one after the other; see `program.py`."""
    scenario: Json
    languages: tuple[Language, ...] = LANGUAGES
    furnish: Callable[[Path], object] = lambda _: None
    """Makes the project's files."""
    look: Callable[[list[Json], Path], object] = lambda requests, folder: len(requests)
    """What matters of the requests of the conversation, and in the project afterwards."""
    systems: tuple[str, ...] = ()
    """Types of `system` messages to compare; the newest client also sends some that say how it is doing."""
    ignored: tuple[str, ...] = ()
    """Kinds of lines that are not compared."""
    is_ordered: bool = True
    """Whether the order of what is seen counts."""
    answers: Mapping[str, Callable[[Any], object]] = {}
    """What matters of the answers of a method."""


class Course(NamedTuple):
    """What a program saw, and what came of it."""

    seen: list[tuple[Any, ...]]
    looked: object


def is_installed(language: Language) -> bool:
    return (SDKS / language).is_dir()


def run_feature(feature: Feature, language: Language, base: Path, *, ours: bool) -> Course:
    """Run a program with one of the clients."""
    home, folder = base / "home", base / "project"
    for made in (home / ".claude", home / "tmp", folder):
        made.mkdir(parents=True)
    state = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(base / name): {"hasTrustDialogAccepted": True} for name in ("project", "trusted")},
    }
    (home / ".claude.json").write_text(json.dumps(state))
    feature.furnish(folder)
    executable = write_turnlog_script(base) if ours else client(NEWEST)
    given = [feature.plan] if isinstance(feature.plan, dict) else feature.plan
    given, scenario = json.loads(json.dumps([given, feature.scenario]).replace(HERE, str(folder)))
    plans = [{**plan, "options": {"model": MODEL, **plan.get("options", {})}} for plan in given]
    with MockAnthropic(scenario) as mock:
        env = {**environment(home, mock.url), "TURNLOG_HOME": str(base / "data")}
        done = run([*list_words(language), str(executable)], json.dumps(plans), cwd=folder, env=env, encoding="utf-8")
        requests = [one["body"] for one in mock.requests if one["kind"] == "main"]
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.replace(str(folder), HERE).splitlines()]
    described = [found for line in lines if (found := describe_line(feature, line)) is not None]
    seen = [found for found in described if found[0] not in feature.ignored]
    return Course(seen if feature.is_ordered else sorted(seen, key=repr), feature.look(requests, folder))


def list_words(language: Language) -> list[str]:
    folder = SDKS / language
    if language == "python":
        return [str(folder / "bin" / "python"), str(PROGRAMS / "program.py")]
    return ["node", str(PROGRAMS / "program.mjs"), str(folder)]


def write_turnlog_script(base: Path) -> Path:
    """Write the script of docs/sdk.md."""
    script = base / "turnlog-chat"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m turnlog chat "$@"\n')
    script.chmod(0o755)
    return script


def describe_line(feature: Feature, line: Json) -> tuple[Any, ...] | None:
    """What matters of a line that a program printed; None if nothing does."""
    ((kind, value),) = line.items()
    if kind == "message":
        return describe_message(feature, value)
    if kind == "hook":
        return "hook", {key: value[key] for key in HOOK_KEYS if key in value}
    if kind == "answer":
        name, answer = value
        is_error = isinstance(answer, dict) and answer.keys() == {"error"}
        return "answer", name, answer if is_error or name not in feature.answers else feature.answers[name](answer)
    if kind == "asked":
        name, given, suggestions = value
        return "asked", name, given, bool(suggestions)  # each client suggests rules of its own
    return kind, value


def describe_message(feature: Feature, message: Json) -> tuple[Any, ...] | None:
    """What matters of a message, whichever SDK it comes from."""
    kind = message["type"]
    if kind == "system":
        found = message.get("data") or message
        return ("system", found["subtype"]) if found["subtype"] in feature.systems else None
    if kind == "result":
        found = {key: message[key] for key in RESULT_KEYS if message.get(key) is not None}
        return "result", {**found, "result": describe_text(found.get("result") or "")}
    if kind in ("assistant", "user"):
        content = (message.get("message") or message)["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if is_command_output(blocks):
            return None
        return kind, bool(message.get("parent_tool_use_id")), [describe_block(block) for block in blocks]
    if kind == "stream_event":
        return None if message["event"]["type"] == "ping" else ("event", message["event"]["type"])
    return None


def is_command_output(blocks: list[Json]) -> bool:
    """Whether a message only shows what a command of the client did, which the newest client also prints."""
    return [block.get("text", "")[:22] for block in blocks] == ["<local-command-stdout>"]


def describe_text(text: str) -> str:
    """A text without the wording that differs between clients."""
    return re.sub(r"(API Error: )(?:http://[\d.:]+: )?(\d+):? ", r"\1\2 ", text)


def describe_block(block: Json) -> object:
    if block["type"] == "tool_result":
        content = block["content"]
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])
        is_error = bool(block.get("is_error"))
        return (
            "tool_result",
            [mark for mark in MARKS if mark in text] if is_error or "agentId" in text else text,
            is_error,
        )
    found = {key: block[key] for key in ("type", "text", "name", "input", "thinking") if block.get(key) is not None}
    return {**found, "text": describe_text(found["text"])} if "text" in found else found
