"""The shell and web tools give the results of the real clients': the same text, the same record."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.interop.side_by_side import HERE, Call, Outcome, theirs
from tests.agent.tools.workshop import Clerk, Workshop
from tests.interop.clients import NEWEST, OLD, client, list_missing_clients
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import KEY, MODEL, environment, run
from turnlog.agent.tools.bash import Bash
from turnlog.agent.tools.kill_shell import KillShell
from turnlog.agent.tools.tool import Tool
from turnlog.agent.tools.web_search import WebSearch

pytestmark = [pytest.mark.interop, pytest.mark.skipif(bool(list_missing_clients()), reason="no client")]

TOOLS: dict[str, Tool] = {"Bash": Bash(), "KillShell": KillShell()}
KEPT = re.compile(r"(saved to: |Path\": \")\S*/tool-results/\w+\.txt")
PLAIN = [
    "echo hi",
    "echo out; echo err >&2; echo out",
    "exit 3",
    "echo a; echo b >&2; exit 3",
    "true",
    "",
    "printf '\\n\\n  lead\\ntrail  \\n\\n'",
    "cat",
    "cd /",
    "cd /tmp && pwd",
    "mkdir -p sub; cd sub",
    "pwd",
    "cd ..; false",
    "pwd",
    "cd ..",
    "export FOO=1; echo $FOO",
    "echo [$FOO]",
    "echo $CLAUDECODE $GIT_EDITOR",
    "nosuchcommand",
    "printf 'a\\x00b\\xff\\n'",
    "printf '\\033[31mred\\033[0m\\n'",
    "echo 'unclosed",
    "echo $0 $# $1",
    "cat <<EOF\nhere $((1+1))\nEOF",
]
CODES = [
    "grep x /dev/null",
    "egrep x /dev/null",
    "cat /dev/null | grep x",
    "true && grep x /dev/null",
    "grep x /dev/null; true",
    "LC_ALL=C grep x /dev/null",
    "timeout 5 grep x /dev/null",
    "diff /dev/null /etc/passwd > /dev/null",
    "diff nosuch1 nosuch2",
    "git diff --no-index /dev/null a.txt",
    "test -f nosuch",
    "[ 1 = 2 ]",
    "[[ a = b ]]",
    "cmp a.txt /dev/null",
    "which nosuch",
    "grep x /dev/null > out",
    "grep x /dev/null 2>&1",
    "grep x /dev/null &> /dev/null",
    "true || false; test -f x || test -f y",
    "(grep x /dev/null)",
    "/usr/bin/grep x /dev/null",
    "! true",
]
SILENT = [
    "touch f1",
    "cp f1 f2 && mv f2 f3; rm f3",
    "ln -s f1 l",
    "chmod 600 f1",
    "unset X",
    "wait",
    "touch f1 | cat",
    "touch a || echo x",
    "cd . && true",
    ":",
]
LARGE = [
    "head -c 29999 /dev/zero | tr '\\0' a",
    "head -c 30000 /dev/zero | tr '\\0' a",
    "head -c 30001 /dev/zero | tr '\\0' a; echo",
    "seq 1 8000",
    "echo short; head -c 40000 /dev/zero | tr '\\0' b",
    "seq 1 300000; echo x",
    "head -c 9988 /dev/zero | tr '\\0' b; exit 2",
    "head -c 9989 /dev/zero | tr '\\0' b; exit 2",
    "head -c 12000 /dev/zero | tr '\\0' b; exit 2",
    "seq 1 5000; exit 2",
]


def calls(commands: list[str], **more: object) -> list[Call]:
    return [("Bash", {"command": text, "description": "x", **more}) for text in commands]


def furnish(folder: Path) -> None:
    (folder / "a.txt").write_text("a\n")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop((tmp_path / "ours").resolve())
    yield made
    made.shells.close()


def ours(shop: Workshop, given: list[Call]) -> list[Outcome]:
    furnish(shop.root)
    made = []
    for name, fields in given:
        found = shop.call(TOOLS[name], **fields)
        made.append(
            Outcome((name, fields), _here(found.content, shop.root), found.is_error, _here(found.structured, shop.root))
        )
    return made


def _here(value: Any, folder: Path) -> Any:
    return json.loads(json.dumps(value).replace(str(folder), HERE))


def same(outcome: Outcome) -> Outcome:
    """An outcome without what differs from run to run."""
    text = json.dumps([outcome.content, outcome.structured], ensure_ascii=False)
    content, structured = json.loads(KEPT.sub(r"\1KEPT", text))
    return outcome._replace(content=content, structured=structured)


def compare(base: Path, shop: Workshop, given: list[Call]) -> None:
    (base / "theirs").mkdir()
    expected = theirs((base / "theirs").resolve(), NEWEST, furnish, given)
    found = ours(shop, given)
    for mine, other in zip(found, expected, strict=True):
        assert same(mine) == same(other)


@pytest.mark.parametrize("commands", [PLAIN, CODES, SILENT, LARGE], ids=["plain", "codes", "silent", "large"])
def test_commands_give_the_same_text_and_the_same_record(tmp_path: Path, shop: Workshop, commands: list[str]) -> None:
    compare(tmp_path, shop, calls(commands))


def test_a_command_that_times_out_is_told_and_recorded_alike(tmp_path: Path, shop: Workshop) -> None:
    given = calls(["echo first; sleep 3"], timeout=1500) + calls(["sleep 4; echo x"], timeout=500)
    (tmp_path / "theirs").mkdir()
    moved, slept = theirs((tmp_path / "theirs").resolve(), NEWEST, furnish, given)
    mine, paused = ours(shop, given)
    assert _cut_opening(mine.content) == _cut_opening(moved.content)
    assert mine.keys == moved.keys
    assert {key: mine.structured[key] for key in ("stdout", "timedOutAfterMs")} == {
        key: moved.structured[key] for key in ("stdout", "timedOutAfterMs")
    }
    assert paused == slept


def test_a_background_command_is_told_and_recorded_alike(tmp_path: Path, shop: Workshop) -> None:
    given = calls(["sleep 1", "cd sub; sleep 1"], run_in_background=True)
    (tmp_path / "theirs").mkdir()
    for mine, other in zip(
        ours(shop, given), theirs((tmp_path / "theirs").resolve(), NEWEST, furnish, given), strict=True
    ):
        assert _cut_opening(mine.content) == _cut_opening(other.content)
        assert mine.keys == other.keys


def _cut_opening(text: str) -> str:
    """What both say: that it runs, and where it writes; which tools help further is each client's own."""
    return re.sub(r"\b(ID: )\w+|(written to: )\S+", r"\1\2", text[: text.index("You will be notified when")])


def test_a_command_that_is_not_there_can_t_be_ended_in_any_client(tmp_path: Path, shop: Workshop) -> None:
    given: list[Call] = [("KillShell", {"shell_id": "nosuch"})]
    (tmp_path / "theirs").mkdir()
    assert ours(shop, given) == theirs((tmp_path / "theirs").resolve(), NEWEST, furnish, given)


def test_the_old_client_has_the_same_records_but_for_what_came_later(tmp_path: Path, shop: Workshop) -> None:
    given = calls(["echo hi", "grep x /dev/null", "exit 3", "cd /", "seq 1 8000"])
    (tmp_path / "theirs").mkdir()
    later = {"noOutputExpected", "persistedOutputPath", "persistedOutputSize"}
    for mine, other in zip(
        ours(shop, given), theirs((tmp_path / "theirs").resolve(), OLD, furnish, given), strict=True
    ):
        if isinstance(other.structured, dict):
            assert set(mine.structured) - later == set(other.structured) - later
        else:
            assert mine.structured == other.structured
        assert mine.is_error == other.is_error


# -- WebSearch

HITS = [
    {"type": "web_search_result", "title": f"T{n}", "url": f"https://a.com/{n}", "encrypted_content": "x"} for n in "12"
]
FOUND: list[dict[str, Any]] = [
    {"type": "text", "text": "I'll search."},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "sessions"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": HITS},
    {"type": "text", "text": "Found two."},
    {"type": "text", "text": " More."},
]
FAILED: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_search", "input": {"query": "sessions"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_2",
        "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
    },
    {"type": "text", "text": "Nothing."},
]


def run_search(base: Path, blocks: list[dict[str, Any]], given: dict[str, Any]) -> tuple[str, Any, Any]:
    """What the newest client makes of a search: the text, the record, and the server tool that it asked for."""
    home, folder = base / "home", base / "demo"
    (home / "tmp").mkdir(parents=True)
    folder.mkdir()
    settings = {"hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []}}
    (home / ".claude.json").write_text(json.dumps(settings))
    call = {"content": [{"type": "tool_use", "name": "WebSearch", "input": given}]}
    aside = {"kind": "agent", "replies": [{"content": blocks, "stop_reason": "end_turn"}]}
    script = {"conversations": [{"kind": "main", "replies": [call, "done"]}, aside]}
    words = [str(client(NEWEST)), "-p", "go", "--model", MODEL, "--permission-mode", "bypassPermissions"]
    with MockAnthropic(script) as mock:
        run(words, environment(home, mock.url) | {"IS_SANDBOX": "1"}, folder, 60)
        asked = next(request["body"]["tools"] for request in mock.requests if request["kind"] == "agent")
    lines = "\n".join(path.read_text() for path in (home / ".claude" / "projects").rglob("*.jsonl")).split("\n")
    row = next(row for row in map(json.loads, filter(None, lines)) if "toolUseResult" in row)
    return row["message"]["content"][0]["content"], row["toolUseResult"], asked


@pytest.mark.parametrize(
    ("blocks", "more"), [(FOUND, {}), (FAILED, {"allowed_domains": ["a.com"]})], ids=["found", "failed"]
)
def test_a_search_is_asked_for_told_and_recorded_alike(
    tmp_path: Path, blocks: list[dict[str, Any]], more: dict[str, Any]
) -> None:
    given = {"query": "sessions", **more}
    shop = Workshop(tmp_path / "ours", Clerk(blocks=blocks))
    mine = shop.call(WebSearch(), **given)
    text, record, asked = run_search(tmp_path / "theirs", blocks, given)
    assert mine.content == text
    assert mine.structured | {"durationSeconds": 0} == record | {"durationSeconds": 0}
    assert shop.clerk.consulted[0].tools == asked
