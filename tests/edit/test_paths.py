"""Paths of a folder that was renamed are rewritten where they are paths, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.edit.move.path_translation import PathTranslation
from turnlog.entries.reader import scan_lines
from turnlog.errors import UsageError

HERE = PathTranslation("/a/old", "/b/new")
WINDOWS = PathTranslation("C:\\code\\old", "D:\\new place")


@pytest.mark.parametrize(
    ("path", "now"),
    [
        ("/a/old", "/b/new"),
        ("/a/old/", "/b/new/"),
        ("/a/old/x y.py", "/b/new/x y.py"),
        ("file:///a/old/x", "file:///b/new/x"),
        ("/a/older", "/a/older"),
        ("/a/old.py", "/a/old.py"),
        ("/x/a/old", "/x/a/old"),
        ("a/old", "a/old"),
        ("/A/old", "/A/old"),
        (
            "/home/u/.claude/projects/-a-old/x/tool-results/1.txt",
            "/home/u/.claude/projects/-b-new/x/tool-results/1.txt",
        ),
        ("/home/u/.claude/projects/-a-old-x/1.jsonl", "/home/u/.claude/projects/-a-old-x/1.jsonl"),
        ("/tmp/claude-0/-a-old/x/tasks/1.output", "/tmp/claude-0/-a-old/x/tasks/1.output"),
        ("/a/old/.claude/projects/-a-old", "/b/new/.claude/projects/-b-new"),
    ],
)
def test_a_path_is_rewritten_when_it_is_the_folder_or_below_it(path: str, now: str) -> None:
    assert HERE.translate_path(path) == now


@pytest.mark.parametrize(
    ("path", "now"),
    [
        ("C:\\code\\old", "D:\\new place"),
        ("c:\\Code\\old\\a.txt", "D:\\new place\\a.txt"),
        ("c:/code/old/a.txt", "D:/new place/a.txt"),
        ("file:///C:/code/old/a", "file:///D:/new place/a"),
        ("C:\\code\\older", "C:\\code\\older"),
        ("C:\\Users\\u\\.claude\\projects\\C--code-old\\x", "C:\\Users\\u\\.claude\\projects\\D--new-place\\x"),
    ],
)
def test_a_path_of_windows_is_rewritten_in_any_spelling(path: str, now: str) -> None:
    assert WINDOWS.translate_path(path) == now


def test_a_path_that_comes_from_another_system_gets_the_separators_of_this_one() -> None:
    assert PathTranslation("C:\\code\\old", "/home/x").translate_path("C:\\code\\old\\a\\b") == "/home/x/a/b"
    assert PathTranslation("/home/x", "C:\\code").translate_path("/home/x/a/b") == "C:\\code\\a\\b"
    assert PathTranslation("\\\\server\\share\\p", "/p").translate_path("\\\\server\\share\\p\\q") == "/p/q"


@pytest.mark.parametrize("path", ["", "relative", "./x", "/", "//", "~/x"])
def test_what_is_no_whole_path_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="expected the absolute path of a folder"):
        PathTranslation(path, "/b")


def test_in_texts_whole_paths_are_rewritten() -> None:
    text = 'cd /a/old && ls "/a/old/x" (/a/old) `/a/old`: /a/old. file:///a/old/y ~/.claude/projects/-a-old/s\n/a/old'
    assert HERE.translate_text(text) == text.replace("/a/old", "/b/new").replace("-a-old", "-b-new")


@pytest.mark.parametrize("text", ["/a/older", "/a/old.txt", "x/a/old", "./a/old", "/a/old-2", "/a/old_x", "/a/oldé"])
def test_in_texts_longer_names_stay(text: str) -> None:
    assert HERE.translate_text(f"see {text} there") == f"see {text} there"


def test_in_texts_paths_of_windows_are_rewritten_in_any_spelling() -> None:
    text = 'in C:\\code\\old, "c:\\\\code\\\\old\\\\a" c:/code/old/b C:\\code\\older'
    assert WINDOWS.translate_text(text) == 'in D:\\new place, "D:\\\\new place\\\\a" D:/new place/b C:\\code\\older'


def line(**values: Any) -> bytes:
    return json.dumps(values).encode() + b"\n"


def rewrite_values(**values: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(HERE.translate_line(line(**values)))
    return found


@pytest.mark.parametrize(
    "entry",
    [
        {"cwd": "/a/old/sub"},
        {"toolUseResult": {"filePath": "/a/old/x", "file": {"filePath": "/a/old/y"}, "filenames": ["/a/old/z", "q"]}},
        {"toolUseResult": {"persistedOutputPath": "/h/.claude/projects/-a-old/s/tool-results/1.txt"}},
        {"toolUseResult": {"bashEditDiff": {"changedFiles": ["/a/old/x"]}, "worktreePath": "/a/old/w"}},
        {"attachment": {"filename": "/a/old/x", "content": {"file": {"filePath": "/a/old/x"}}}},
        {"attachment": {"files": [{"uri": "file:///a/old/x"}], "snapshot": {"workingDirectory": "/a/old"}}},
        {"snapshot": {"trackedFileBackups": {"/a/old/x": {"realParentDir": "/a/old"}, "rel": None}}},
        {"trackingPath": "/a/old/x", "backup": {"realParentDir": "/a/old"}},
        {"worktreeSession": {"originalCwd": "/a/old", "worktreePath": "/a/old/.claude/worktrees/w"}},
        {"relocatedCwd": "/a/old/.claude/worktrees/w"},
        {"data": {"normalizedMessages": [{"toolUseResult": {"filePath": "/a/old/x"}}]}},
        {"neverSeen": [[{"place": "/a/old"}]]},
    ],
)
def test_every_path_of_an_envelope_is_rewritten(entry: dict[str, Any]) -> None:
    expected = json.loads(json.dumps(entry).replace("/a/old", "/b/new").replace("-a-old", "-b-new"))
    assert rewrite_values(**entry) == expected


@pytest.mark.parametrize(
    "entry",
    [
        {"message": {"content": "/a/old"}, "lastPrompt": "/a/old", "customTitle": "/a/old", "content": "/a/old"},
        {"toolUseResult": {"stdout": "/a/old", "content": "/a/old/x", "originalFile": "/a/old", "prompt": "/a/old"}},
        {"toolUseResult": "/a/old"},
        {"attachment": {"prompt": "/a/old", "content": "/a/old"}, "rendered": [{"content": "/a/old"}]},
        {"data": {"message": {"message": {"content": [{"input": {"file_path": "/a/old/x"}}]}}}},
        {"structuredPatch": [{"lines": ["/a/old"]}], "gitBranch": "a/old", "hookInfos": [{"command": "/a/old/h.sh x"}]},
        {"file": {"filePath": "/a/older"}, "both": {"/a/old": 1, "/b/new": 2}},
    ],
)
def test_what_was_said_stays_as_it_is(entry: dict[str, Any]) -> None:
    assert HERE.translate_line(line(**entry)) == line(**entry)


def test_with_texts_what_was_said_is_rewritten_but_for_what_is_signed() -> None:
    blocks = [
        {"type": "thinking", "thinking": "in /a/old", "signature": "s"},
        {"type": "text", "text": "in /a/old."},
        {"type": "tool_use", "input": {"command": "cat /a/old/x"}},
        {"type": "image", "source": {"data": "/a/old/AAAA"}},
    ]
    raw = line(type="assistant", message={"content": blocks}, toolUseResult="at /a/old/x")
    found = json.loads(HERE.translate_line(raw, text=True))
    assert found["message"]["content"] == [
        blocks[0],
        {"type": "text", "text": "in /b/new."},
        {"type": "tool_use", "input": {"command": "cat /b/new/x"}},
        blocks[3],
    ]
    assert found["toolUseResult"] == "at /b/new/x"


def test_with_texts_a_recorded_request_stays_because_it_is_hashed() -> None:
    raw = line(type="api-request-blob", hash="h", message={"content": "in /a/old"})
    assert HERE.translate_line(raw, text=True) == raw


def test_every_other_byte_of_a_line_stays() -> None:
    head, path = b'\xef\xbb\xbf {"n":1.50e1,"s":"\\u00e9\\/","cwd":', b'"\\/a\\/old\\/\\u0078"'
    tail = b',"u":"\\ud800","n2":12345678901234567890123} \r\n'
    assert HERE.translate_line(head + path + tail) == head + b'"/b/new/x"' + tail


@pytest.mark.parametrize(
    "raw",
    [
        b'{"cwd":"/a/old"',
        b'{"cwd":"/a/old"}{"cwd":"/a/old"}\n',
        b'["/a/old"]\n',
        b'"/a/old"\n',
        b"/a/old\n",
        b'{"cwd":["/a/old"}\n',
        b"\0\0/a/old",
        b'{"a":' + b"[" * 5000 + b'"/a/old"' + b"]" * 5000 + b"}\n",
    ],
)
def test_what_is_no_entry_stays_byte_for_byte(raw: bytes) -> None:
    assert HERE.translate_line(raw) == raw
    assert HERE.translate_line(raw, text=True) == raw


def test_bytes_that_are_no_text_stay_beside_a_path() -> None:
    assert HERE.translate_line(b'{"x":"\xff","cwd":"/a/old"}\n') == b'{"x":"\xff","cwd":"/b/new"}\n'


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["/a/old", "/a/old/x", "/a/older"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["cwd", "x", "message", "toolUseResult", "content"]), VALUES))
def test_there_and_back_is_the_same_line(entry: dict[str, Any]) -> None:
    raw = json.dumps(entry, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
    there = HERE.translate_line(raw)
    assert HERE.translate_line(there) == there
    assert (
        json.loads(PathTranslation("/b/new", "/a/old").translate_line(there).decode("utf-8", "surrogatepass")) == entry
    )


@pytest.mark.corpus
def test_in_recorded_sessions_no_path_of_the_project_is_left_in_an_envelope(corpus: Path) -> None:
    away = PathTranslation("/tmp/demo/webshop", "/srv/elsewhere")
    left, files = [], 0
    for path in (corpus / "lab").rglob("*.jsonl"):
        with path.open("rb") as file:
            for _, raw in scan_lines(file):
                new = away.translate_line(raw)
                files += new != raw
                left += [place for place in _paths(_object(new), ()) if not _is_said(place[0])]
    assert files > 1000
    assert left == []


def _object(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def _paths(value: Any, keys: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
    """Where a string begins with the old path."""
    if isinstance(value, str):
        return [(keys, value)] if value.startswith("/tmp/demo/webshop") and value[17:18] in ("", "/") else []
    if isinstance(value, dict):
        found = [(keys, key) for key in value if key.startswith("/tmp/demo/webshop/")]
        return found + [place for key, inner in value.items() for place in _paths(inner, (*keys, key))]
    return [place for inner in value for place in _paths(inner, keys)] if isinstance(value, list) else []


def _is_said(keys: tuple[str, ...]) -> bool:
    return "message" in keys or keys[-1] in (
        "content",
        "stdout",
        "text",
        "toolUseResult",
        "display",
        "rendered",
        "shape",
    )
