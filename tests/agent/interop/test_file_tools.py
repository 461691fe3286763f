"""The file tools give the results of the real clients': the same text, the same record."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.interop.side_by_side import HERE, Call, Furnish, ours, set_mtime, theirs
from tests.interop.clients import NEWEST, OLD, client, list_missing_clients

pytestmark = [pytest.mark.interop, pytest.mark.skipif(bool(list_missing_clients()), reason="no client")]


def read(name: str, **more: object) -> Call:
    return "Read", {"file_path": f"{HERE}/{name}", **more}


def edit(name: str, old: str, new: str, **more: object) -> Call:
    return "Edit", {"file_path": f"{HERE}/{name}", "old_string": old, "new_string": new, **more}


def put(name: str, content: str) -> Call:
    return "Write", {"file_path": f"{HERE}/{name}", "content": content}


def cell(name: str, source: str, **more: object) -> Call:
    return "NotebookEdit", {"notebook_path": f"{HERE}/{name}", "new_source": source, **more}


def shell(command: str) -> Call:
    return "Bash", {"command": command}


def grep(pattern: str, **more: object) -> Call:
    return "Grep", {
        "pattern": pattern,
        **{key.replace("_", "-", 1) if key[0] == "_" else key: value for key, value in more.items()},
    }


def glob(pattern: str, **more: object) -> Call:
    return "Glob", {"pattern": pattern, **more}


def todos(*tasks: object) -> Call:
    return "TodoWrite", {"todos": list(tasks)}


def compare(
    base: Path, furnish: Furnish, calls: list[Call], *flags: str, same: Callable[[Any], Any] = lambda x: x
) -> None:
    """The newest client and ours must agree on every call."""
    (base / "theirs").mkdir()
    (base / "ours").mkdir()
    for their, our in zip(
        theirs(base / "theirs", NEWEST, furnish, calls, *flags), ours(base / "ours", furnish, calls), strict=True
    ):
        assert (same(our.content), our.is_error) == (same(their.content), their.is_error), their.call
        if their.call[0] != "Bash":
            assert our.keys == their.keys, their.call
            assert timeless(our.structured, same) == timeless(their.structured, same), their.call


def timeless(structured: Any, same: Callable[[Any], Any]) -> Any:
    text = json.dumps(structured, ensure_ascii=False)
    return same(re.sub(r'"durationMs": \d+', '"durationMs": 0', text))


# -- Read


def readable(folder: Path) -> None:
    texts = {
        "a.txt": "one\ntwo\nthree\n",
        "empty.txt": "",
        "no-end.txt": "x\ny",
        "blank.txt": "\n\n",
        "main.py": "x",
        "odd.txt": "a\x0cb\u2028c\x85d\rz\n",
        "big.txt": "0123456789\n" * 30000,
        "many.txt": "".join(f"{n}\n" for n in range(1, 3001)),
        "wide.txt": "x" * 5000 + "\nz\n",
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode())
    (folder / "crlf.txt").write_bytes(b"a\r\nb\r\n")
    (folder / "bom.txt").write_bytes("\ufeffhi\nho\n".encode())
    (folder / "utf16.txt").write_bytes("\ufeffhi\nho\n".encode("utf-16-le"))
    (folder / "latin.txt").write_bytes(b"caf\xe9\n")
    (folder / "nul.txt").write_bytes(b"a\0b\n")
    (folder / "b.bin").write_bytes(b"\0\1")
    (folder / "d").mkdir()


READS = [
    *(read(f"{name}.txt") for name in "a empty no-end blank odd big many wide crlf bom utf16 latin nul".split()),
    ("Read", {"file_path": "a.txt", "offset": 2, "limit": 1}),
    read("a.txt", offset=9),
    read("a.txt", offset=3, limit=0),
    read("a.txt", offset="2"),
    read("big.txt", offset=10, limit=2),
    read("big.txt", offset=2),
    read("d"),
    read("b.bin"),
    read("main.ts"),
    read("nope.txt"),
    read("a.txt/x"),
    ("Read", {"file_path": "/dev/zero"}),
    ("Read", {}),
    ("Read", {"file_path": 3}),
    read("a.txt", more=1),
    read("a.txt", offset="two"),
]


def test_read_gives_the_same_as_the_newest_client(tmp_path: Path) -> None:
    def same(text: Any) -> Any:
        # Our schema, that of the older client, has no `allow_large`.
        return re.sub(r" To read it anyway, up to what still fits.*?whole file\.", "", text)

    compare(tmp_path, readable, READS, same=same)


# -- Edit and Write


def editable(folder: Path) -> None:
    numbers = "one two three four five six seven eight nine ten"
    texts = {
        "a.txt": numbers.replace(" ", "\n") + "\n",
        "dup.txt": "a\na\nb\n",
        "crlf.txt": "a\r\nb\r\nc\r\n",
        "bom.txt": "\ufeffhi\r\nho\r\n",
        "quotes.txt": "say “hello” ‘x’ don’t\n",
        "empty.txt": "",
        "nb.ipynb": "{}",
        "w.txt": "old\n",
        "moved.txt": "old\n",
        "stale.txt": "one\n",
        "x.sh": "#!/bin/sh\n",
        "part.txt": "1\n2\n3\n",
        "no-end.txt": "x\ny",
        "spaces.txt": "foo  \nbar\n",
        "gone.txt": "a\nb\nc\n",
        "m.md": "x\n",
        "far.txt": "".join(f"l{n}\n" for n in range(1, 31)),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode())
    (folder / "utf16.txt").write_bytes("\ufeffhi\nho\n".encode("utf-16-le"))
    (folder / "latin.txt").write_bytes(b"caf\xe9\nx\n")
    (folder / "nul.txt").write_bytes(b"a\0b\n")
    (folder / "x.sh").chmod(0o755)
    (folder / "d").mkdir()


EDITS = [
    read("a.txt"),
    edit("a.txt", "five", "FIVE"),
    edit("a.txt", "nope", "x"),
    edit("a.txt", "x", "x"),
    read("dup.txt"),
    edit("dup.txt", "a", "c"),
    edit("dup.txt", "a", "c", replace_all=True),
    edit("dup.txt", "", "z"),
    read("crlf.txt"),
    edit("crlf.txt", "b\n", "B\nD\n"),
    shell("od -c crlf.txt"),
    put("crlf.txt", "p\nq\n"),
    shell("od -c crlf.txt"),
    read("bom.txt"),
    edit("bom.txt", "hi", "HI"),
    shell("od -c bom.txt"),
    read("utf16.txt"),
    edit("utf16.txt", "hi", "HI"),
    shell("od -c utf16.txt"),
    read("latin.txt"),
    edit("latin.txt", "x", "y"),
    put("latin.txt", "new"),
    read("nul.txt"),
    edit("nul.txt", "b", "c"),
    read("quotes.txt"),
    edit("quotes.txt", 'say "hello"', 'say "bye"'),
    edit("quotes.txt", "don't", "won't"),
    put("d", "x"),
    edit("missing.txt", "a", "b"),
    edit("new/made.txt", "", "fresh\n"),
    edit("nb.ipynb", "a", "b"),
    read("w.txt"),
    put("w.txt", "new\n"),
    put("w.txt", "new\n"),
    put("deep/er/n.txt", "x\ny\n"),
    read("moved.txt"),
    shell("sleep 0.1; echo changed > moved.txt"),
    edit("moved.txt", "old", "x"),
    put("moved.txt", "forced\n"),
    edit("moved.txt", "changed", "x"),
    edit("moved.txt", "x", "y"),
    read("stale.txt"),
    shell("sleep 0.1; touch stale.txt"),
    put("stale.txt", "two\n"),
    read("x.sh"),
    edit("x.sh", "sh", "bash"),
    shell("ls -l x.sh | cut -c1-10"),
    read("part.txt", limit=1),
    edit("part.txt", "3", "4"),
    put("part.txt", "z\n"),
    read("no-end.txt"),
    edit("no-end.txt", "y", "z"),
    read("spaces.txt"),
    edit("spaces.txt", "foo", "foo   "),
    edit("spaces.txt", "bar", "q  \nz \t\n"),
    shell("od -c spaces.txt"),
    read("gone.txt"),
    edit("gone.txt", "b", ""),
    edit("gone.txt", "a\n", "zzz"),
    shell("od -c gone.txt"),
    read("m.md"),
    edit("m.md", "x", "y  \nz "),
    put("n.txt", "a  \nb\n"),
    read("far.txt"),
    edit("far.txt", "l1", "L1", replace_all=True),
    put("far.txt", "".join(f"l{n}\n" if n not in (3, 9, 17, 28) else "new\n" for n in range(1, 31))),
    put("a.txt", ""),
    ("Edit", {"file_path": "there.txt", "old_string": "", "new_string": "x"}),
    ("Write", {"file_path": f"{HERE}/a.txt"}),
    edit("a.txt", "a", 5, replace_all="yes"),  # type: ignore[arg-type]
]


def test_edit_and_write_give_the_same_as_the_newest_client(tmp_path: Path) -> None:
    def same(text: Any) -> Any:
        return text.replace("(Bash completed with no output)", "")

    compare(tmp_path, editable, EDITS, same=same)


def test_files_that_were_not_read_are_refused_as_the_older_client_does_it(tmp_path: Path) -> None:
    calls = [edit("a.txt", "one", "two"), put("a.txt", "x\n")]
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    their = theirs(tmp_path / "theirs", OLD, editable, calls)
    assert ours(tmp_path / "ours", editable, calls) == their
    assert all(outcome.is_error for outcome in their)


def test_hunks_are_those_of_the_real_client_for_texts_at_random(tmp_path: Path) -> None:
    chance = random.Random(7)
    texts = ["".join(f"{chance.choice('abcd')}\n" for _ in range(chance.randrange(40))) for _ in range(40)]
    calls = [put("t.txt", text + chance.choice(["", "end"])) for text in texts]
    compare(tmp_path, lambda folder: None, calls)


# -- Glob and Grep


def searchable(folder: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["rm", "-rf", ".git/hooks"], cwd=folder, check=True)
    files = {
        ".gitignore": "ignored.py\nbuild/\n",
        "a.py": 'import os\nprint("hello")\n# TODO one\n\n\n\n\n\ndef f():\n    return 1 # TODO two TODO\n',
        "sub/b.py": "hello TODO\nx\ny\nz\nHello\n",
        "sub/deep/c.txt": "TODO\n",
        "ignored.py": "TODO\n",
        "build/o.py": "TODO\n",
        ".hidden.py": "TODO\n",
        ".dot/h.py": "TODO\n",
        "sp ace.md": "TODO: a\nb\n",
        "colon:1.txt": "TODO\n",
        "long.txt": "TODO " + "x" * 900 + "\n",
        "crlf.txt": "a\r\nTODO\r\n",
        "no-end.txt": "TODO",
        ".env": "TODO\n",
        **{f"many/{n:03}.zz": "hit\n" * 3 for n in range(150)},
    }
    for at, (name, text) in enumerate(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        set_mtime(path, 1_700_000_000 + at * 37 % 1000)
    (folder / "bin.dat").write_bytes(b"TODO\0\1\2")
    set_mtime(folder / "bin.dat", 1_600_000_000)
    (folder / "link.py").symlink_to("a.py")


SEARCHES = [
    glob("*.py"),
    glob("**/*.py"),
    glob("sub/*"),
    glob("*.{py,md}"),
    glob("**/*.py", path="sub"),
    glob("**/*.py", path=f"{HERE}/sub"),
    glob("*.none"),
    glob("*", path="nope"),
    glob("*", path="a.py"),
    glob(f"{HERE}/sub/**"),
    glob("**/deep/*"),
    glob("[ab].py"),
    glob("?.py"),
    glob(".hidden*"),
    glob("sub"),
    glob("./a.py"),
    glob("**/.env"),
    glob("many/*"),
    grep("TODO"),
    grep("TODO", output_mode="content"),
    grep("TODO", output_mode="count"),
    grep("zzzz"),
    grep("zzzz", output_mode="content"),
    grep("zzzz", output_mode="count"),
    grep("hello", output_mode="content", _i=True),
    grep("def f", output_mode="content", _A=1, _B=2),
    grep("x|z", path="sub/b.py", output_mode="content", _C=1),
    grep("def", output_mode="content", context=1),
    grep("TODO", output_mode="content", path="sub", _n=False),
    grep("TODO", output_mode="content", path="sub", head_limit=1),
    grep("TODO", head_limit=2),
    grep("TODO", head_limit=2, offset=1),
    grep("hit", path="many", output_mode="count", head_limit=0),
    grep("hit", path="many", offset=149),
    grep("hit", path="many", offset=200),
    grep("hit", path="many", offset=200, output_mode="count"),
    grep("TODO", glob="*.py"),
    grep("TODO", glob="*.{py,md}"),
    grep("TODO", glob="*.py,*.md"),
    grep("TODO", glob="*.py *.md"),
    grep("TODO", glob="sub/**"),
    grep("TODO", glob="!*.py"),
    grep("TODO", type="rust"),
    grep("TODO", type="nope"),
    grep("(", output_mode="content"),
    grep("hello.*x", multiline=True, output_mode="content", path="sub"),
    grep("TODO", path="nope"),
    grep("TODO", path="a.py"),
    grep("TODO", path="a.py", output_mode="content"),
    grep("TODO", path="a.py", output_mode="count"),
    grep("-x"),
    grep("TODO", output_mode="content", glob="*.py", offset=50),
    grep("TODO", output_mode="bad"),
]


def sorted_lines(text: Any) -> Any:
    """The real client gives files in any order, if it gives lines or counts."""
    text = re.sub(r"rg: regex parse error.*", "", text, flags=re.DOTALL)
    return "\n".join(sorted(re.split(r"\\n|\n|\"", text)))


def test_glob_and_grep_give_the_same_as_the_newest_client(tmp_path: Path) -> None:
    ordered = [call for call in SEARCHES if call[1].get("output_mode") is None and call[1].get("type") != "nope"]
    for name in ("files", "lines"):
        (tmp_path / name).mkdir()
    compare(tmp_path / "files", searchable, ordered, "--tools", "Glob,Grep,Bash")
    compare(tmp_path / "lines", searchable, SEARCHES, "--tools", "Glob,Grep,Bash", same=sorted_lines)


# -- NotebookEdit and TodoWrite


CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "id": "m1", "metadata": {}, "source": ["# Title\n", "text"]},
    {
        "cell_type": "code",
        "id": "c1",
        "execution_count": 3,
        "metadata": {},
        "outputs": [
            {"name": "stdout", "output_type": "stream", "text": ["hi\n", "there\n"]},
            {"output_type": "execute_result", "data": {"text/plain": ["42"]}, "metadata": {}},
            {"output_type": "display_data", "data": {"image/png": "iVBORw==", "text/plain": ["<F>"]}, "metadata": {}},
            {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["l1", "l2"]},
        ],
        "source": ["print('hi')\n", "42"],
    },
    {"cell_type": "code", "id": "c2", "execution_count": None, "metadata": {}, "outputs": [], "source": "y = 1"},
]


def notebooks(folder: Path) -> None:
    new = {"cells": CELLS, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    bare = [{key: value for key, value in cell.items() if key != "id"} for cell in CELLS]
    for name, notebook in {"n": new, "unread": new, "old": {**new, "cells": bare, "nbformat_minor": 2}}.items():
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook, indent=1))
    (folder / "a.txt").write_text("x")


def task(name: str, status: str) -> dict[str, str]:
    return {"content": name, "status": status, "activeForm": f"{name}ing"}


CHANGES = [
    cell("unread.ipynb", "z", cell_id="c2"),
    read("n.ipynb"),
    cell("n.ipynb", "y = 2\nz = 3", cell_id="c2"),
    shell("cat n.ipynb"),
    cell("n.ipynb", "new", cell_id="c1", edit_mode="insert", cell_type="code"),
    cell("n.ipynb", "", cell_id="c2", edit_mode="delete"),
    cell("n.ipynb", "x", cell_id="nope"),
    cell("n.ipynb", "x"),
    cell("n.ipynb", "x", edit_mode="insert"),
    cell("n.ipynb", "x", cell_id="c1"),
    shell("cat n.ipynb"),
    cell("missing.ipynb", "x", cell_id="c"),
    read("old.ipynb"),
    cell("old.ipynb", "q", cell_id="cell-1"),
    cell("old.ipynb", "q", cell_id="cell-9"),
    cell("old.ipynb", "ins", cell_id="cell-1", edit_mode="insert", cell_type="code"),
    cell("n.ipynb", "x", cell_id="c1", edit_mode="bad"),
    todos(task("a", "pending"), task("b", "in_progress")),
    todos(task("a", "completed"), task("b", "completed")),
    todos(),
    todos({"content": "a", "status": "weird"}),
    todos({**task("a", "pending"), "more": 1}),
    ("TodoWrite", {"todos": "x"}),
    ("TodoWrite", {"todos": json.dumps([task("j", "pending")])}),
]


def test_notebook_edit_and_todo_write_give_the_same_as_the_newest_client(tmp_path: Path) -> None:
    def same(text: Any) -> Any:
        if isinstance(text, list):
            text = json.dumps([dict(sorted(block.items())) for block in text], sort_keys=True)
        return re.sub(r"\b[0-9a-f]{8}\b", "ID", text)

    compare(tmp_path, notebooks, CHANGES, "--tools", "Bash,Read,NotebookEdit,TodoWrite", same=same)


def test_the_older_client_offers_these_tools_with_the_same_parameters(tmp_path: Path) -> None:
    from tests.agent.tools.room import TOOLS
    from tests.interop.mock_anthropic import MockAnthropic
    from tests.interop.resume import MODEL, environment, run

    (tmp_path / "tmp").mkdir()
    with MockAnthropic() as mock:
        run([str(client(OLD)), "-p", "go", "--model", MODEL], environment(tmp_path, mock.url), tmp_path, 60)
        offered = next(request["body"]["tools"] for request in mock.requests if request["kind"] == "main")
    schemas = {tool["name"]: tool["input_schema"] for tool in offered}
    for tool in TOOLS:
        assert shape(tool.schema) == shape(schemas[tool.name]), tool.name


def shape(schema: Any) -> Any:
    """A schema without its words; what a nested object does with other keys is not sent by us."""
    if isinstance(schema, dict):
        dropped = ("description", "$schema", "additionalProperties")
        return {key: shape(value) for key, value in schema.items() if key not in dropped}
    return schema
