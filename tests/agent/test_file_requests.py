"""Files that a program reads through turnlog, or counts as read: never more than the Read tool may read by itself."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import control, fed, user

Json = dict[str, Any]
MakeDesk = Callable[[Json], Desk]


def read(here: Desk, *requests: Json, more: tuple[str, ...] = ()) -> list[Json]:
    sent = [control(str(number), subtype="read_file", **one) for number, one in enumerate(requests)]
    return [line["response"] for line in fed(here, *sent, more=more) if line["type"] == "control_response"]


def test_a_file_is_read_up_to_a_limit_as_text_or_as_bytes(desk: MakeDesk) -> None:
    here = desk(script("One."))
    (here.cwd / "a.txt").write_text("äöü\n")
    (here.cwd / "b.bin").write_bytes(b"\xff\xfe\x00abc")
    wanted: list[Json] = [
        {"path": "a.txt"},
        {"path": str(here.cwd / "a.txt"), "max_bytes": 4},
        {"path": "a.txt", "max_bytes": 5},
        {"path": "b.bin", "encoding": "base64"},
        {"path": "a.txt", "max_bytes": 0, "encoding": "other"},
    ]
    found = [one["response"] for one in read(here, *wanted)]
    assert [(one["contents"], one.get("lossy"), one.get("truncated", False)) for one in found] == [
        ("äöü\n", False, False),
        ("äö", False, True),
        ("äö\ufffd", True, True),
        (base64.b64encode(b"\xff\xfe\x00abc").decode(), None, False),
        ("äöü\n", False, False),
    ]
    assert found[3]["encoding"] == "base64"
    assert {one["absPath"] for one in found} == {str(here.cwd / "a.txt"), str(here.cwd / "b.bin")}


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
def test_what_the_read_tool_may_not_read_by_itself_stays_closed(desk: MakeDesk, mode: str) -> None:
    here = desk(script("One."))
    secret = here.base / "outside.txt"
    secret.write_text("secret")
    (here.cwd / "denied.txt").write_text("secret")
    (here.cwd / "link").symlink_to(secret)
    (here.cwd / "inner").symlink_to(here.cwd / "denied.txt")
    (here.cwd / "folder").mkdir()
    rules = {"permissions": {"deny": ["Read(denied.txt)", f"Read(/{secret})"]}}
    more = ("--permission-mode", mode, "--settings", json.dumps(rules))
    names = ["denied.txt", "inner", "link", str(secret), "../outside.txt", "folder", "gone", "", "a\0b", "/dev/zero"]
    paths = [*names, "/proc/self/environ"]
    answers = read(here, *({"path": name} for name in paths), {}, {"path": 3}, more=more)
    assert [one.get("error") for one in answers] == [*(f"read denied: {name}" for name in [*paths, "", "3"])]


def test_without_a_rule_a_file_outside_the_project_stays_closed(desk: MakeDesk) -> None:
    here = desk(script("One."))
    (here.base / "outside.txt").write_text("secret")
    (here.cwd / "link").symlink_to(here.base / "outside.txt")
    assert [one["subtype"] for one in read(here, {"path": "../outside.txt"}, {"path": "link"})] == ["error"] * 2
    allowed = read(here, {"path": "../outside.txt"}, more=("--add-dir", str(here.base)))
    assert allowed[0]["response"]["contents"] == "secret"


EDIT = {"old_string": "old", "new_string": "new"}


@pytest.mark.parametrize(
    ("seconds", "rule", "expected"),
    [(0, "", "new text"), (10, "", "new text"), (-10, "", "old text"), (0, "Read(notes.md)", "old text")],
)
def test_a_file_counts_as_read_if_it_was_not_written_since(
    desk: MakeDesk, tmp_path: Path, seconds: int, rule: str, expected: str
) -> None:
    path = tmp_path.resolve() / "project" / "notes.md"
    here = desk(script(reply(call("Edit", file_path=str(path), **EDIT)), "Done."))
    path.write_text("old text")
    os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    more = ("--permission-mode", "acceptEdits", *(("--disallowedTools", rule) if rule else ()))
    seed = control("a", subtype="seed_read_state", path="notes.md", mtime=1_700_000_000_123 + 1000 * seconds)
    fed(here, seed, user("go"), more=more)
    assert path.read_text() == expected


def test_a_request_to_count_something_else_as_read_does_nothing(desk: MakeDesk) -> None:
    here = desk(script("One."))
    wishes: list[Json] = [{"path": "gone", "mtime": 1}, {"path": "gone"}, {"path": ".", "mtime": True}, {}]
    answers = fed(here, *(control(str(at), subtype="seed_read_state", **one) for at, one in enumerate(wishes)))
    assert [one["response"]["subtype"] for one in answers if one["type"] == "control_response"] == ["success"] * 4
