"""The edits together, through the program: what is counted, what is found again, what hostile content does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, Turnlog, harmful
from tests.session.build import BASE, SESSION, Build, base, describe_resumed, find_recording
from turnlog.session.session import Session

LONG_AGO = 1_700_000_000
NEW: list[tuple[str, ...]] = [
    ("clone",),
    ("clone", "--preset", "extreme"),
    ("clone", "--portable"),
    ("clone", "--for-model", "other-provider"),
    ("clone", "--compress", "offline", "--prompts"),
    ("clone", "--compact", "offline", "--keep", "0"),
    ("fork", "--at", "1"),
    ("redact", "--clone"),
    ("repair",),
]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where turnlog keeps what it needs to undo, and its index."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def tokens(turnlog: Turnlog) -> Any:
    return turnlog("usage", "--json").json["total"]


def test_no_edit_makes_tokens_count_twice_and_every_copy_is_listed_below_its_source(
    turnlog: Turnlog, machine: Machine
) -> None:
    source = find_recording("2.1.325/tools")
    path = machine.add(source.stem, source.read_bytes(), slug=source.parent.name, mtime=LONG_AGO)
    before = tokens(turnlog)
    assert before["input_tokens"]
    for words in NEW[:-1]:
        done = turnlog(words[0], path, *words[1:], "--json")
        assert done.status == 0, (words, done.err)
        assert tokens(turnlog) == before, words
    again = turnlog("clone", done.json["made"]["path"], "--json").json["made"]
    assert tokens(turnlog) == before
    assert turnlog("index").status == 0
    assert tokens(turnlog) == before
    tree = turnlog("tree").out
    assert tree.count(f" of {source.stem[:8]}, ") == len(NEW) - 1, tree
    assert f"Clone 2 of {again['title'][11:]}" in turnlog("ls").out


def test_what_was_stripped_is_not_stripped_again_and_is_sound(turnlog: Turnlog, machine: Machine) -> None:
    source = find_recording("2.1.325/tools")
    path = machine.add(source.stem, source.read_bytes(), slug=source.parent.name, mtime=LONG_AGO)
    made = turnlog("clone", path, "--preset", "heavy", "--json").json["made"]["path"]
    assert "There is nothing to strip." in turnlog("strip", made, "--preset", "heavy").out
    assert turnlog("repair", made).out.startswith("Nothing to repair")
    portable = turnlog("clone", made, "--compact", "offline", "--keep", "0", "--portable", "--json").json["made"][
        "path"
    ]
    assert turnlog("check", "--resumable", portable).status == 0


def build_nested_json(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def surrogates() -> bytes:
    build = Build()
    build.note("custom-title", customTitle="ti\ud800tle\udfff")
    build.prompt("pro\ud800mpt " * 50, cwd="/home/d\ud800")
    build.call("c1", "To\ud83dol", {"file_path": "/home/da\udc00na/x"})
    build.result("c1", "res\ud800" * 2000, toolUseResult={"stdout": "\ud800" * 5000})
    build.answer("an\udfffswer. " * 200)
    return build.data()


def of(**fields: Any) -> bytes:
    build = base()
    for line in build.lines:
        line.update(fields)
    return build.data()


HOSTILE = {
    "empty": b"",
    "blank": b"\n\r\n\0\n",
    "metadata": b'{"type":"custom-title","customTitle":"x\\u0000"}\n{"type":"summary","leafUuid":"x","summary":"y"}\n',
    "sidechains": of(isSidechain=True),
    "same-uuids": of(uuid="same"),
    "itself": of(uuid=SESSION, parentUuid=SESSION),
    "no-strings": of(uuid=[1], parentUuid={"a": 1}, sessionId=5, timestamp=[], cwd={}, version=None),
    "no-message": of(message=[1, {"role": 5}]),
    "odd-blocks": of(message={"role": "assistant", "content": [5, None, {"type": 5}, {"type": "tool_use"}, [[]]]}),
    "repeated": base().data().replace(b'"type":"user"', b'"type":"user","uuid":"x","uuid":"y","n":1e400,"type":"user"'),
    "deep": base().data().replace(b'"content":"u2 text"', b'"content":' + build_nested_json(2000)),
    "very-deep": base().data().replace(b'"version"', b'"toolUseResult":' + build_nested_json(5_000) + b',"version"'),
    "surrogates": surrogates(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_a_session_holds_each_edit_makes_one_or_says_in_a_line_why_not(
    turnlog: Turnlog, machine: Machine, name: str
) -> None:
    path = machine.add(SESSION, HOSTILE[name], mtime=LONG_AGO)
    for words in NEW:
        before = set(machine.folder.rglob("*"))
        done = turnlog(words[0], path, *words[1:])
        made = set(machine.folder.rglob("*")) - before
        assert done.status in (0, 1, 2)
        assert "internal error" not in done.err
        assert done.err.count("\n") <= 1
        assert not harmful(done.out + done.err)
        assert not any(file.name.startswith(".") for file in made)
        if done.status == 2 or not done.out:
            assert not made
        elif words[0] != "repair":
            assert len([file for file in made if file.suffix == ".jsonl"]) == 1
    assert path.read_bytes() == HOSTILE[name]


SECRET = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
WITH_SECRET = {
    "prompt": base().data().replace(b"u1 text", SECRET.encode()),
    "cut-in-the-title": base().data().replace(b"u1 text", b"x " * 90 + SECRET.encode()),
    "title": base().data() + json.dumps({"type": "custom-title", "customTitle": SECRET}).encode() + b"\n",
    "zero-byte": base().data().replace(b"u2 text", b"\0 " + SECRET.encode()),
    "not-text": base().data().replace(b"u2 text", b"\xff " + SECRET.encode()),
    "too-deep": base().data().replace(b'"a3"', b'"a3","x":' + build_nested_json(5_000).replace(b"[]", b'["%s"]'), 1),
}
WITH_SECRET["too-deep"] = WITH_SECRET["too-deep"].replace(b"%s", SECRET.encode())


@pytest.mark.parametrize("of_agent", [False, True])
@pytest.mark.parametrize("name", WITH_SECRET)
def test_a_secret_gets_through_neither_by_a_title_nor_by_a_line_that_is_broken(
    turnlog: Turnlog, machine: Machine, tmp_path: Path, name: str, of_agent: bool
) -> None:
    path = machine.add(SESSION, base().data() if of_agent else WITH_SECRET[name], mtime=LONG_AGO)
    if of_agent:
        agent = path.with_suffix("") / "subagents" / "agent-a1b2c3d.jsonl"
        agent.parent.mkdir(parents=True)
        agent.write_bytes(WITH_SECRET[name])
    done = turnlog("redact", path, "--clone", "--json")
    assert done.status == 0, done.err
    new = Path(done.json["made"]["path"])
    assert turnlog("redact", path, "-o", tmp_path / "out.jsonl").status == 0
    written = [new, *(file for file in new.with_suffix("").rglob("*") if file.is_file()), tmp_path / "out.jsonl"]
    assert len(written) == 3 + of_agent
    for file in written:
        assert SECRET[:12].encode() not in file.read_bytes(), file
    assert SECRET[:12] not in done.out + done.err


def long_session(path: Path) -> Path:
    row = json.dumps({"type": "assistant", "message": {"role": "assistant", "content": "word " * 2000}})
    path.write_bytes(base().data() + (row.encode() + b"\n") * 8_000)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
@pytest.mark.parametrize("words", [("clone",), ("redact", "--clone")])
def test_an_interrupt_ends_it_at_once_and_leaves_nothing(machine: Machine, words: tuple[str, ...]) -> None:
    path = long_session(machine.add(SESSION, b""))
    program = [sys.executable, "-m", "turnlog", words[0], str(path), *words[1:]]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        _wait_until(lambda: len(list(path.parent.iterdir())) > 1 or words[0] != "clone", process)
        if words[0] != "clone":
            time.sleep(0.6)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert (process.returncode, told) == (130, "turnlog: interrupted\n")
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def _wait_until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not holds():
        assert process.poll() is None
        time.sleep(0.002)


def test_changes_are_undone_one_after_the_other_and_a_move_can_be_made_again(
    turnlog: Turnlog, machine: Machine
) -> None:
    build = base()
    build["u2"]["parentUuid"] = "gone"
    build["a3"]["timestamp"] = "2025-01-01T00:00:00.000Z"
    path = machine.add(SESSION, build.data(), slug="-home-dana-webshop", mtime=LONG_AGO)
    assert turnlog("repair", path, "--in-place").status == 0
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert turnlog("move", "/home/dana/webshop", "/home/dana/shop").status == 0
    first = next(line.split()[0] for line in turnlog("undo", "--list").lines if "-repair" in line)
    assert turnlog("undo", first).status == 1, "the move stands on it"
    for _ in range(2):
        assert turnlog("undo").status == 0
    assert path.read_bytes() == build.data()
    assert turnlog("move", "/home/dana/webshop", "/home/dana/shop").status == 0
    assert not path.exists()
    with Session.open(machine.folder / "projects" / "-home-dana-shop" / path.name) as session:
        assert describe_resumed(session) != BASE
