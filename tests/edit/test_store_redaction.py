"""`redact --all` finds a secret in every store, copies the stores without it, and removes it so that it comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
import zstandard

import turnlog
from turnlog.errors import Busy, TurnlogError
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.wire.batch import SpanBatch
from turnlog.trace.wire.otlp import compress_body

SESSION = "0b6c2f1e-8f3d-4c55-9d0a-5b7e6f1c2d3e"
TOKENS = {
    store: "gh" + f"p_{number:02}" + "kQ9zLm3XwV7TyUiOpAs2dF5gH8jRe4Tb6N"
    for number, store in enumerate(
        (
            "projects",
            "agent",
            "history.jsonl",
            "file-history",
            "binary",
            "paste-cache",
            "shell-snapshots",
            "debug",
            "todos",
            "tool-name",
            "new-store",
            "archive-only",
            "outbox",
            "title",
        ),
        10,
    )
}


def _write(path: Path, *lines: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines) + b"\n")


def _entry(number: int, text: str, **more: object) -> str:
    parent = f"00000000-0000-4000-8000-{number - 1:012}" if number else None
    return json.dumps(
        {
            "type": "user",
            "uuid": f"00000000-0000-4000-8000-{number:012}",
            "parentUuid": parent,
            "sessionId": SESSION,
            "timestamp": f"2026-01-01T00:00:{number:02}.000Z",
            "cwd": "/srv/app",
            "version": "2.1.328",
            "isSidechain": False,
            "message": {"role": "user", "content": text},
            **more,
        }
    )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with one token in each store."""
    config, data = tmp_path / "claude", tmp_path / "data"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(config))
    monkeypatch.setenv("TURNLOG_HOME", str(data))
    project = config / "projects" / "-srv-app"
    call = {"type": "tool_use", "id": "toolu_01", "name": f"mcp__{TOKENS['tool-name']}__list", "input": {}}
    _write(
        project / f"{SESSION}.jsonl",
        _entry(0, f"deploy {TOKENS['title']}"),
        _entry(1, f"use {TOKENS['archive-only']}"),
        _entry(2, f"use {TOKENS['projects']}"),
        _entry(3, "", type="assistant", message={"role": "assistant", "id": "m", "model": "x", "content": [call]}),
    )
    turnlog.archive_sessions()
    # What only the archive still has.
    lines = [line for line in (project / f"{SESSION}.jsonl").read_text().splitlines() if "archive" not in line]
    _write(project / f"{SESSION}.jsonl", *(line for line in lines if TOKENS["archive-only"] not in line))
    turnlog.search_sessions("deploy")
    _write(project / SESSION / "subagents" / "agent-a1.jsonl", _entry(0, f"use {TOKENS['agent']}", agentId="a1"))
    _write(config / "history.jsonl", json.dumps({"display": f"use {TOKENS['history.jsonl']}", "project": "/srv/app"}))
    _write(config / "file-history" / SESSION / "0123@v1", f"KEY = '{TOKENS['file-history']}'")
    _write(config / "file-history" / SESSION / "4567@v1", b"\x7fELF\0\0" + TOKENS["binary"].encode() + b"\0\x01end")
    _write(config / "paste-cache" / "89ab.txt", TOKENS["paste-cache"])
    _write(config / "shell-snapshots" / "snapshot-bash-1.sh", f"export GH_TOKEN={TOKENS['shell-snapshots']}")
    _write(config / "debug" / f"{SESSION}.txt", f"[DEBUG] {TOKENS['debug']}")
    _write(config / "todos" / f"{SESSION}-agent-{SESSION}.json", json.dumps([{"content": TOKENS["todos"]}]))
    _write(config / "store-of-tomorrow" / "x.txt", TOKENS["new-store"])
    _write(config / ".credentials.json", json.dumps({"token": TOKENS["debug"]}))
    with Outbox.open(data / "trace" / "outbox.db") as outbox:
        # The length of the token is its only neighbour: "(" for 40, and a digit for some others.
        body = compress_body(b"\x0a\x28" + TOKENS["outbox"].encode() + b"\x18\x01")
        outbox.put("target", [SpanBatch(b"t" * 16, (b"s" * 8,), body)])
    _age(tmp_path)
    return tmp_path


def _age(folder: Path) -> None:
    """Make everything look as if it was written a minute ago, so that no session seems to be in use."""
    then = time.time() - 60
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


def _read_everything(folder: Path) -> dict[str, bytes]:
    """Read every file, with compressed blobs and database values in plain."""
    return {
        str(path.relative_to(folder)): b"".join(_iterate_plain(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _iterate_plain(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    yield data
    if path.suffix == ".zst":
        yield zstandard.ZstdDecompressor().decompress(data)
    if path.suffix == ".db":
        db = apsw.Connection(str(path))
        for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE name IN ('body', 'file')").fetchall():
            for row in db.execute(f"SELECT * FROM {table}"):
                yield from (_unpack(value) for value in row if isinstance(value, str | bytes))
        db.close()


def _unpack(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    try:
        return zlib.decompress(data, 31)
    except zlib.error:
        return data


def _list_found(folder: Path, *, without: tuple[str, ...] = ()) -> set[str]:
    contents = [
        data
        for name, data in _read_everything(folder).items()
        if not name.endswith(".credentials.json") and not name.startswith(without)
    ]
    return {store for store, token in TOKENS.items() if any(token.encode() in data for data in contents)}


def test_a_token_in_each_store_is_reported_without_being_shown(home: Path) -> None:
    before = _read_everything(home)
    result = turnlog.redact_stores()
    counts = {store.store: store.found for store in result.stores}
    expected = {"projects", "history.jsonl", "file-history", "paste-cache", "shell-snapshots", "debug", "todos"}
    expected |= {"store-of-tomorrow", "turnlog archive", "turnlog outbox", "turnlog index"}
    assert {store for store, count in counts.items() if count} == expected
    assert not any(token in repr(result) for token in TOKENS.values())
    assert not result.is_written
    assert _read_everything(home) == before


def test_copies_have_no_token_and_the_stores_keep_theirs(home: Path, tmp_path: Path) -> None:
    turnlog.redact_stores(output=tmp_path / "copies")
    assert _list_found(tmp_path / "copies") == set()
    assert _list_found(home / "claude") == set(TOKENS) - {"archive-only", "outbox"}
    files = _read_everything(tmp_path / "copies")
    assert not any(name.endswith(".credentials.json") for name in files)
    assert b"\x7fELF\0\0" + b"*" * 40 + b"\0\x01end" in files[f"config-1/file-history/{SESSION}/4567@v1"]


def test_in_place_all_tokens_go_and_undo_brings_them_back(home: Path) -> None:
    before = {name: data for name, data in _read_everything(home).items() if "undo" not in name}
    result = turnlog.redact_stores(in_place=True)
    assert result.change is not None
    assert _list_found(home, without=("data/undo",)) == set()
    credentials = home / "claude" / ".credentials.json"
    assert TOKENS["debug"] in credentials.read_text()
    assert not list((home / "data").glob("index*.db"))
    turnlog.undo()
    after = _read_everything(home)
    assert {name: after[name] for name in before} == before
    assert _list_found(home, without=("data/undo",)) == set(TOKENS)


def test_after_a_redaction_in_place_everything_still_works(home: Path) -> None:
    turnlog.redact_stores(in_place=True)
    assert turnlog.verify_archive().sound
    assert turnlog.redact_stores(in_place=True).change is None
    path = home / "claude" / "projects" / "-srv-app" / f"{SESSION}.jsonl"
    call = json.loads(path.read_text().splitlines()[-1])["message"]["content"][0]
    assert call["name"].startswith("mcp__secret_github_")
    assert len(turnlog.search_sessions("deploy").sessions) == 1


def test_a_file_that_another_process_writes_stops_the_whole_change(home: Path) -> None:
    before = _read_everything(home / "claude")
    path = home / "claude" / "debug" / f"{SESSION}.txt"
    program = "import sys; f = open(sys.argv[1], 'a'); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(Busy, match=f"process {writer.pid}"):
            turnlog.redact_stores(in_place=True)
        writer.terminate()
    assert _read_everything(home / "claude") == before


def test_a_link_in_a_store_is_not_followed(home: Path) -> None:
    outside = home / "outside.txt"
    outside.write_text(TOKENS["debug"])
    (home / "claude" / "debug" / "latest").symlink_to(outside)
    turnlog.redact_stores(in_place=True)
    assert outside.read_text() == TOKENS["debug"]


def test_copies_never_go_into_a_folder_with_files(home: Path) -> None:
    with pytest.raises(TurnlogError, match="not an empty folder"):
        turnlog.redact_stores(output=home / "claude")


def test_a_secret_in_a_file_name_is_replaced_too(home: Path) -> None:
    folder = home / "claude" / "paste-cache"
    _write(folder / f"{TOKENS['debug']}.txt", "plain text")
    turnlog.redact_stores(in_place=True)
    assert not any(TOKENS["debug"] in path.name for path in folder.iterdir())
    turnlog.undo()
    assert (folder / f"{TOKENS['debug']}.txt").read_text() == "plain text\n"
