"""What the index knows of sessions counts as long as the files are as it read them."""

from __future__ import annotations

import os
from pathlib import Path

from tests.session.build import Build
from turnlog.entries.layout import SessionFile, list_session_files
from turnlog.entries.peek import Peek, complete_titles, peek_file
from turnlog.entries.titles import TITLE_ORDER, SessionTitles
from turnlog.store.known_peeks import build_peek_lookup
from turnlog.store.store import Store

DATA = Path(__file__).parent.parent / "data"
ONE = "aaaaaaaa-0000-4000-8000-000000000001"


def put(config: Path, title: str) -> list[SessionFile]:
    build = Build()
    build.prompt("typed")
    build.note("custom-title", customTitle=title)
    path = config / "projects" / "-p" / f"{ONE}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(build.data())
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return list(list_session_files(config))


def refresh(data: Path, config: Path) -> Path:
    with Store.open(data) as store:
        store.refresh([config])
        return store.path


def test_the_index_tells_the_names_of_files_that_are_as_it_read_them(tmp_path: Path) -> None:
    files = put(tmp_path / "claude", "Named")
    known = build_peek_lookup(refresh(tmp_path / "data", tmp_path / "claude"))
    assert {path: peek.titles and peek.titles.best for path, peek in known(files).items()} == {files[0].file: "Named"}
    assert known(put(tmp_path / "claude", "Named otherwise")) == {}


def test_an_index_that_is_missing_or_damaged_or_of_another_version_knows_nothing(tmp_path: Path) -> None:
    files = put(tmp_path / "claude", "Named")
    index = refresh(tmp_path / "data", tmp_path / "claude")
    assert build_peek_lookup(tmp_path / "none.db")(files) == {}
    with Store.open(tmp_path / "data") as store:
        store.db.pragma("user_version", 1)
    assert build_peek_lookup(index)(files) == {}
    index.write_bytes(b"no database" * 100)
    assert build_peek_lookup(index)(files) == {}


def test_the_index_chooses_the_title_in_the_same_order(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        for count in range(len(TITLE_ORDER)):
            names = TITLE_ORDER[count:]
            columns, values = ", ".join(names), [tmp_path.as_posix() + str(count), *names]
            marks = ",".join("?" * len(values))
            store.db.execute(
                f"INSERT INTO file (kind, session, path, {columns}) VALUES ('session', 1, {marks})", values
            )
        titles = [title for (title,) in store.db.execute("SELECT title FROM file ORDER BY id")]
    assert titles == list(TITLE_ORDER)


def test_the_index_describes_sessions_as_the_ends_of_their_files_do(tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    sources = sorted(path for name in ("sessions", "variants", "usage") for path in (DATA / name).rglob("*.jsonl"))
    for number, source in enumerate(sources):
        path = folder / f"aaaaaaaa-0000-4000-8000-{number:012d}.jsonl"
        path.write_bytes(source.read_bytes())
        os.utime(path, (1_700_000_000, 1_700_000_000))
    files = list(list_session_files(tmp_path / "claude"))
    known = build_peek_lookup(refresh(tmp_path / "data", tmp_path / "claude"))(files)
    assert len(known) > 50
    for name, peek in known.items():
        read = peek_file(name)
        assert describe(peek, peek.titles) == describe(read, complete_titles(name, read)), sources[int(name[-18:-6])]
        # In the index these are the earliest and the latest time, which is not always the first and the last.
        assert (peek.started or "") <= (read.started or "")
        assert (peek.ended or "") >= (read.ended or "")


def describe(peek: Peek, titles: SessionTitles | None) -> tuple[object, ...]:
    return peek.cwd, peek.last_cwd, peek.git_branch, peek.last_version, peek.junk, titles
