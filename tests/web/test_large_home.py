"""The list of sessions on a machine with thousands: the newest are shown first, and the others follow."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from starlette.testclient import TestClient

from tests.session.build import Build
from tests.web.conftest import Folders
from turnlog.entries.layout import list_session_files
from turnlog.store.index.file_changes import MAX_NEWEST_FILES, note_newest_files
from turnlog.store.store import Store
from turnlog.web.home.session_list import MAX_QUICK_SESSIONS
from turnlog.web.machine import Machine

WAIT_SECONDS = 60.0


def add_sessions(machine: Machine, count: int) -> None:
    """Put sessions into the index as if they had been read from files."""
    db = machine.store.db
    with db:
        db.execute("INSERT INTO name (id, kind, text) VALUES (100000, 'project', '-home-dana-many')")
        for number in range(count):
            uuid = f"aaaaaaaa-0000-4000-8000-{number:012d}"
            time_text = f"2027-01-{number % 28 + 1:02d}T{number // 28 % 24:02d}:{number // 672 % 60:02d}:00.000Z"
            db.execute("INSERT INTO session (id, project, uuid) VALUES (?, 100000, ?)", (100000 + number, uuid))
            db.execute(
                "INSERT INTO file (path, kind, session, offset, size, mtime_ns, entries, talks, started, ended, cwd,"
                " first_prompt) VALUES (?, 'session', ?, 10, 10, 1, 1, 1, ?, ?, '/home/dana/many', ?)",
                (f"/nowhere/{uuid}.jsonl", 100000 + number, time_text, time_text, f"prompt {number}"),
            )


def test_the_newest_of_thousands_of_sessions_are_shown_before_all_are_described(
    place: Machine, client: TestClient
) -> None:
    add_sessions(place, MAX_QUICK_SESSIONS + 1)
    generation = client.get("/api/state").json()["generation"]
    first = client.get("/").text
    total = place.store.db.execute("SELECT count(*) FROM file WHERE is_session AND kind = 'session'").get
    assert f"{total:,} sessions; reading the list" in first
    assert first.count('<tr class="session') == 60
    until = time.monotonic() + WAIT_SECONDS
    while client.get("/api/state").json()["generation"] == generation and time.monotonic() < until:
        time.sleep(0.05)
    later = client.get("/").text
    assert f"{total:,} sessions in " in later
    assert re.findall(r'data-ref="([^"]+)"', later) == re.findall(r'data-ref="([^"]+)"', first)


def test_a_filter_finds_the_oldest_of_thousands_of_sessions(place: Machine, client: TestClient) -> None:
    add_sessions(place, MAX_QUICK_SESSIONS + 1)
    assert client.get("/api/sessions?q=prompt 0").json()["total"] > 0
    assert "1 session of" in client.get("/rows?q=8000-000000000000").text


def test_an_empty_index_notes_the_sessions_that_were_written_last_before_it_lists_the_others(folders: Folders) -> None:
    build = Build()
    build.prompt("hello")
    count = MAX_NEWEST_FILES + 1
    for number in range(count):
        path = folders.add(f"bbbbbbbb-0000-4000-8000-{number:012d}", build.data(), "-home-dana-many")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    for path in folders.projects.glob("*/*.jsonl"):
        if path.parent.name != "-home-dana-many":
            os.utime(path, (1_600_000_000, 1_600_000_000))
    with Store.open(folders.data) as store:
        assert note_newest_files(store.db, [folders.config])
        noted = [Path(path).stem for (path,) in store.db.execute("SELECT path FROM file ORDER BY id")]
        assert noted == [f"bbbbbbbb-0000-4000-8000-{count - 1 - number:012d}" for number in range(MAX_NEWEST_FILES)]
        assert not note_newest_files(store.db, [folders.config])
        store.refresh([folders.config])
        rows = store.db.execute("SELECT path, size FROM file WHERE kind = 'session'").fetchall()
    assert sorted(rows) == sorted((file.file, file.size) for file in list_session_files(folders.config))
