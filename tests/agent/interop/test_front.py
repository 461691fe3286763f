"""Print mode and project memory beside those of the real client: the same lines, the same keys, the same files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, says, script
from tests.agent.waits import HANG
from tests.interop.clients import NEWEST, OLD, client
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import KEY, environment
from turnlog.agent.conversation import to_blocks

pytestmark = pytest.mark.interop
MODEL = "claude-opus-5-5"
Json = dict[str, Any]

TOOLS = script(
    reply(
        says("Let me look."),
        call("Bash", command="echo hi", description="Say"),
        call("Bash", command="touch /etc/nobody-may", description="Touch"),
    ),
    "Done.",
)
FAILING = script(
    {"error": {"status": 400, "type": "invalid_request_error", "message": "bad thing"}}, when_done="repeat"
)
ENDLESS = script(reply(call("Bash", command="echo hi", description="Say")), when_done="repeat")
ELSEWHERE = {"context_management", "container", "diagnostics", "stop_details"}
"""Fields of a message that the client adds to what the server sent."""
SIDE = {".modelUsage.claude-haiku-4-5-20251001"}
"""The old client asks another model for a title."""


def real(
    version: str, base: Path, scenario: Json, *words: str, at: str | None = None, stdin: str = ""
) -> tuple[subprocess.CompletedProcess[str], MockAnthropic]:
    """Run a real client in the project of a desk."""
    home, cwd = base / (f"home-{version}" if at is None else at), base / "project"
    for folder in (home / ".claude", home / "tmp", cwd):
        folder.mkdir(parents=True, exist_ok=True)
    state = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(cwd): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(state))
    with MockAnthropic(scenario) as mock:
        done = subprocess.run(
            [str(client(version)), *words, "--model", MODEL],
            cwd=cwd,
            env=environment(home, mock.url),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=HANG,
        )
    return done, mock


def ours(
    base: Path, scenario: Json, *words: str, stdin: str | None = None
) -> tuple[subprocess.CompletedProcess[str], MockAnthropic]:
    with MockAnthropic(scenario) as mock:
        return Desk(base, mock).turnlog(*words, "--model", MODEL, stdin=stdin), mock


def lines(done: subprocess.CompletedProcess[str]) -> list[Json]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def kinds(told: list[Json]) -> list[tuple[str, str | None]]:
    """What the lines are; notes that only the newest client gives are left out."""
    known = [(line["type"], line.get("subtype")) for line in told]
    return [kind for kind in known if kind[0] != "system" or kind[1] == "init"]


def iter_missing_keys(theirs: Any, mine: Any, path: str = "") -> Iterator[str]:
    """The keys of the old client's objects that ours lack."""
    if isinstance(theirs, dict) and isinstance(mine, dict):
        for key in theirs.keys() - ELSEWHERE:
            if key not in mine:
                yield f"{path}.{key}"
            elif not re.fullmatch(r"\.modelUsage|.*tool_use_result", path):
                yield from iter_missing_keys(theirs[key], mine[key], f"{path}.{key}")


@pytest.mark.parametrize("version", [OLD, NEWEST])
def test_a_stream_has_the_lines_and_keys_of_the_real_client(tmp_path: Path, version: str) -> None:
    words = ("-p", "hello", "--output-format", "stream-json", "--verbose")
    theirs, mine = lines(real(version, tmp_path, TOOLS, *words)[0]), lines(ours(tmp_path, TOOLS, *words)[0])
    assert kinds(mine) == kinds(theirs)
    if version == OLD:
        pairs = zip(theirs, [line for line in mine if kinds([line])], strict=True)
        assert {key for one, other in pairs for key in iter_missing_keys(one, other)} - SIDE == set()


@pytest.mark.parametrize("version", [OLD, NEWEST])
@pytest.mark.parametrize(
    ("scenario", "more"), [(TOOLS, ()), (FAILING, ()), (ENDLESS, ("--max-turns", "2"))], ids=["tools", "error", "limit"]
)
def test_a_result_says_the_same(tmp_path: Path, version: str, scenario: Json, more: tuple[str, ...]) -> None:
    words = ("-p", "hello", "--output-format", "json", *more)
    (theirs,), (mine,) = lines(real(version, tmp_path, scenario, *words)[0]), lines(ours(tmp_path, scenario, *words)[0])
    same = ("type", "subtype", "num_turns", "permission_denials") if more or scenario is TOOLS else ("type", "subtype")
    assert [mine[key] for key in same] == [theirs[key] for key in same]
    if version == NEWEST:
        assert (mine["is_error"], mine["terminal_reason"]) == (theirs["is_error"], theirs["terminal_reason"])
        assert mine["stop_reason"] == theirs["stop_reason"]
    else:
        assert set(iter_missing_keys(theirs, mine)) - SIDE == set()


COLOURS = [{"label": name, "description": ""} for name in ("Red", "Blue")]
QUESTIONS = [{"question": "Which?", "header": "Colour", "options": COLOURS, "multiSelect": False}]
ASKS = script(reply(call("AskUserQuestion", questions=QUESTIONS)), "Done.")
PLANS = script(reply(call("ExitPlanMode", plan="1. do")), "Done.")
SETS = [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]


def run_for_program(words: list[str], cwd: Path, env: Json, response: Json) -> list[Json]:
    """What a client tells a program that gives one prompt, and says the same to whatever it is asked."""
    told: list[Json] = []
    flags = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--model", MODEL)
    with subprocess.Popen(
        [*words, *flags, "--permission-prompt-tool", "stdio"],
        cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        print(
            json.dumps({"type": "user", "message": {"role": "user", "content": "go"}}), file=process.stdin, flush=True
        )
        for line in process.stdout:
            told.append(json.loads(line))
            if told[-1]["type"] == "control_request":
                asked = told[-1]
                given = {**asked["request"]["input"], **response.get("updatedInput", {})}
                said = {**response, "updatedInput": given} if response["behavior"] == "allow" else response
                answer = {"subtype": "success", "request_id": asked["request_id"], "response": said}
                print(json.dumps({"type": "control_response", "response": answer}), file=process.stdin, flush=True)
            elif told[-1]["type"] == "result":
                process.stdin.close()
    return told


@pytest.mark.parametrize("version", [OLD, NEWEST])
@pytest.mark.parametrize(
    ("scenario", "mode", "response"),
    [
        (ASKS, "default", {"behavior": "allow", "updatedInput": {"answers": {"Which?": "Blue"}}}),
        (ASKS, "default", {"behavior": "allow", "updatedInput": {"answers": {"Which?": "Green"}}}),
        (ASKS, "default", {"behavior": "allow"}),
        (ASKS, "default", {"behavior": "deny", "message": "not now"}),
        (PLANS, "plan", {"behavior": "allow", "updatedInput": {"plan": "2. less"}}),
        (PLANS, "plan", {"behavior": "allow", "updatedPermissions": SETS}),
    ],
    ids=["a choice", "words", "no answer", "no", "another plan", "a mode"],
)
def test_a_program_is_asked_what_the_model_asks(
    tmp_path: Path, version: str, scenario: Json, mode: str, response: Json
) -> None:
    real(version, tmp_path, script("ok"), "-p", "hi")  # makes its home
    with MockAnthropic(scenario) as mock:
        env = environment(tmp_path / f"home-{version}", mock.url)
        words = [str(client(version)), "--permission-mode", mode]
        theirs = run_for_program(words, tmp_path / "project", env, response)
    with MockAnthropic(scenario) as mock:
        desk = Desk(tmp_path, mock)
        words = [sys.executable, "-m", "turnlog", "chat", "--permission-mode", mode]
        mine = run_for_program(words, desk.cwd, desk.environ, response)

    def summarize_run(told: list[Json]) -> list[Any]:
        asked = [line["request"] for line in told if line["type"] == "control_request"]
        (result,) = [line for line in told if line["type"] == "user"]
        names = [(one["subtype"], one["tool_name"], one["tool_use_id"]) for one in asked]
        return [names, result["message"]["content"][0].get("is_error"), told[-1]["subtype"]]

    def text(told: list[Json]) -> str:
        (result,) = [line for line in told if line["type"] == "user"]
        return str(result["message"]["content"][0]["content"])

    assert summarize_run(mine) == summarize_run(theirs)
    if version == NEWEST and scenario is ASKS:
        assert text(mine) == text(theirs)
    elif version == NEWEST and "updatedInput" in response:
        assert text(mine).partition("## ")[2] == text(theirs).partition("## ")[2]


def test_pieces_are_those_of_the_real_client(tmp_path: Path) -> None:
    words = ("-p", "hello", "--output-format", "stream-json", "--verbose", "--include-partial-messages")

    def pieces(told: list[Json]) -> list[Json]:
        found = [line["event"] for line in told if line["type"] == "stream_event"]
        return [event for event in found if event["type"] == "content_block_delta"]

    assert pieces(lines(ours(tmp_path, TOOLS, *words)[0])) == pieces(lines(real(OLD, tmp_path, TOOLS, *words)[0]))


@pytest.mark.parametrize("version", [OLD, NEWEST])
@pytest.mark.parametrize(("scenario", "more"), [(TOOLS, ()), (ENDLESS, ("--max-turns", "2"))], ids=["tools", "limit"])
def test_text_is_the_same(tmp_path: Path, version: str, scenario: Json, more: tuple[str, ...]) -> None:
    theirs, mine = real(version, tmp_path, scenario, "-p", "x", *more)[0], ours(tmp_path, scenario, "-p", "x", *more)[0]
    assert mine.stdout.rstrip() == theirs.stdout.rstrip()
    if version == NEWEST:
        assert mine.returncode == theirs.returncode


@pytest.mark.parametrize("version", [OLD, NEWEST])
def test_messages_on_standard_input_are_answered_with_the_same_lines(tmp_path: Path, version: str) -> None:
    words = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    given = [{"type": "user", "message": {"role": "user", "content": text}} for text in ("one", [says("two")])]
    stdin = "".join(json.dumps(line) + "\n" for line in given)
    for more in ((), ("--replay-user-messages",)):
        theirs = lines(real(version, tmp_path, script("A.", "B."), *words, *more, stdin=stdin)[0])
        mine = lines(ours(tmp_path, script("A.", "B."), *words, *more, stdin=stdin)[0])
        assert kinds(mine) == kinds(theirs)
        replayed = [
            [(line["message"], line["isReplay"]) for line in told if line["type"] == "user"] for told in (mine, theirs)
        ]
        assert replayed[0] == replayed[1]
        results = [
            [(line["result"], line["num_turns"]) for line in told if line["type"] == "result"]
            for told in (mine, theirs)
        ]
        assert results[0] == results[1]


def test_a_command_is_told_with_the_keys_of_the_newest_client(tmp_path: Path) -> None:
    words = ("-p", "/cost", "--output-format", "stream-json", "--verbose")
    theirs, mine = lines(real(NEWEST, tmp_path, script(), *words)[0]), lines(ours(tmp_path, script(), *words)[0])
    assert kinds(mine) == kinds(theirs)
    same = ("type", "subtype", "is_error", "num_turns", "stop_reason", "local_command")
    assert [mine[-1][key] for key in same] == [theirs[-1][key] for key in same]
    assert [line["message"]["model"] for line in (mine[1], theirs[1])] == ["<synthetic>"] * 2


MEMORY = {
    "project/CLAUDE.md": "SHOP @docs/a.md `@docs/code.md`\n```\n@docs/fence.md\n```\n- @docs/item.md\n@../out.md @x.md",
    "project/CLAUDE.local.md": "LOCAL @docs/sp\\ ace.md",
    "project/.claude/CLAUDE.md": "HIDDEN",
    "project/.claude/rules/r.md": "RULE",
    "project/.claude/rules/p.md": "---\npaths: src/**\n---\nNOT NOW",
    "project/docs/a.md": "A @b.md",
    "project/docs/b.md": "---\nt: 1\n---\nB @a.md @c1.md",
    **{f"project/docs/c{number}.md": f"C{number} @c{number + 1}.md" for number in range(1, 6)},
    "project/docs/code.md": "CODE",
    "project/docs/fence.md": "FENCE",
    "project/docs/item.md": "ITEM",
    "project/docs/sp ace.md": "SPACE",
    "out.md": "OUT",
    "CLAUDE.md": "ABOVE",
}


def list_instruction_files(mock: MockAnthropic) -> list[tuple[str, str, str]]:
    """The files of instructions in the first message: path, whose they are, and text."""
    (request,) = [request for request in mock.requests if request["kind"] == "main"]
    texts = [block["text"] for block in request["body"]["messages"][0]["content"]]
    (memory,) = [text for text in texts if "Contents of " in text]
    parts = re.split(r"^Contents of (.+) \((.+)\):$", memory, flags=re.MULTILINE)[1:]
    found = list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))
    ends = re.compile(r"\s*(?:IMPORTANT: this context.*)?</system-reminder>\s*\Z", re.DOTALL)
    return [(path, whose, ends.sub("", text).strip()) for path, whose, text in found]


@pytest.mark.parametrize("version", [OLD, NEWEST])
def test_instructions_are_sent_as_the_real_client_sends_them(tmp_path: Path, version: str) -> None:
    for name, text in MEMORY.items():
        path = tmp_path.resolve() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    mine = list_instruction_files(ours(tmp_path.resolve(), script("ok"), "-p", "hello")[1])
    theirs = list_instruction_files(real(version, tmp_path.resolve(), script("ok"), "-p", "hello")[1])
    assert mine == theirs
    assert len(mine) > 8


def list_spoken_texts(mock: MockAnthropic) -> list[Json]:
    """What was said in the last request, without reminders and marks for the cache."""
    body = [request for request in mock.requests if request["kind"] == "main"][-1]["body"]
    found = []
    for message in body["messages"]:
        for block in to_blocks(message["content"]):
            if message["role"] != "system" and not str(block.get("text")).startswith("<system-reminder>"):
                kept = {key: value for key, value in block.items() if key not in ("cache_control", "is_error")}
                if "text" in kept:
                    kept["text"] = kept["text"].rstrip("\n")  # the newest client ends lines where texts meet
                found.append({"role": message["role"], **kept})
    return found


@pytest.mark.parametrize("version", [OLD, NEWEST])
def test_a_session_goes_from_client_to_client(tmp_path: Path, version: str) -> None:
    base = tmp_path.resolve()
    looking = script(reply(says("I look."), call("Bash", command="echo hi", description="Say")), "Done.")
    first = ours(base, looking, "-p", "hello", "--output-format", "json")
    name = json.loads(first[0].stdout)["session_id"]
    there = real(version, base, script("Theirs."), "-p", "go on", "--resume", name, at="home")
    assert there[0].stdout.strip() == "Theirs."
    back = ours(base, script("Ours again."), "-p", "and back", "--resume", name)
    assert back[0].stdout == "Ours again.\n"
    begun, gone, come = list_spoken_texts(first[1]), list_spoken_texts(there[1]), list_spoken_texts(back[1])
    assert gone[: len(begun)] == begun
    assert come[: len(gone)] == gone
    assert [block["text"] for block in come[-3:]] == ["go on", "Theirs.", "and back"]


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("version", [OLD, NEWEST])
def test_what_was_done_at_the_console_is_taken_up_by_the_real_client(tmp_path: Path, version: str) -> None:
    base = tmp_path.resolve()
    ask = reply(call("Bash", command="touch x", description="Touch"))
    with MockAnthropic(script("One.", "I see.", ask, "After.")) as mock:
        here = Desk(base, mock)
        here.trust()
        words = ("--model", MODEL)
        with here.terminal(*words, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="") as terminal:
            for typed, told in (
                ("first\r", "One."),
                ("\x1b[Z", "acceptEdits > "),
                ("\x1b[Z", "plan > "),
                ("\x1b[Z", "\x1b[?2004h> "),
                ("!echo own\r", "I see."),
                ("touch it\r", "allow?"),
                ("\x1b", "interrupted"),
            ):
                terminal.send(typed)
                terminal.expect(told)
            terminal.expect("> ")
            terminal.send("and?\r")
            terminal.expect("After.")
            terminal.expect("> ")
            terminal.send("\x04")
            assert terminal.wait_for_end() == 0
    (path,) = here.config.glob("projects/*/*.jsonl")
    assert '"ai-title"' in path.read_text()
    there = real(version, base, script("Theirs."), "-p", "go on", "--resume", path.stem, at="home")
    assert there[0].stdout.strip() == "Theirs."
    begun, gone = list_spoken_texts(mock), list_spoken_texts(there[1])
    assert gone[: len(begun)] == begun
