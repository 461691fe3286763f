"""What turnlog writes is what the real client reads: titles, tags, and sessions back from the trash."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.interop.clients import NEWEST, client
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.normalise import NEXT
from tests.interop.resume import MODEL, environment, furnish, judge, run
from tests.session.build import find_recording
from turnlog.edit.open_signs import find_open_signs
from turnlog.edit.rename import rename_session
from turnlog.edit.session_target import find_target
from turnlog.edit.tag import tag_session
from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.trash import Trash

pytestmark = pytest.mark.interop
TITLES = {"custom-title": "customTitle", "agent-name": "agentName", "tag": "tag"}


class Place:
    """A home with one session, and the client in it."""

    def __init__(self, base: Path, path: Path) -> None:
        self.home, self.cwd = furnish(base, path, path.read_bytes(), path.stem)
        (self.session,) = self.home.glob(".claude/projects/*/*.jsonl")
        subprocess.run(["chmod", "-R", "u+w", str(base)], check=True)  # the recorded files are read-only
        os.utime(self.session, (1, 1))
        self.trash = Trash(base / "trash")

    def resume_session(self) -> tuple[str, list[dict[str, object]]]:
        """What the client sends when it resumes the session; the session goes on."""
        with MockAnthropic() as mock:
            words = [str(client(NEWEST)), "-p", NEXT, "--resume", self.session.stem, "--model", MODEL]
            ended = run(words, environment(self.home, mock.url), self.cwd, 60)
            got = judge(mock.requests, ended)
        os.utime(self.session, (1, 1)) if self.session.exists() else None
        return got.outcome, got.messages

    def last(self) -> dict[str, str]:
        """The titles and tags that stand last in the file."""
        rows = map(json.loads, self.session.read_text().splitlines())
        return {row["type"]: row[TITLES[row["type"]]] for row in rows if row["type"] in TITLES}


@pytest.fixture
def two_places(tmp_path: Path) -> list[Place]:
    """Two equal places."""
    path = find_recording("2.1.325/tui_basic")
    return [Place(tmp_path / name, path) for name in ("one", "other")]


def drop_paths(messages: list[dict[str, object]]) -> str:
    """Messages without the paths and times of the place where they were sent."""
    kept = [message for message in messages if message["role"] != "system"]
    return json.dumps(kept).replace("/one/", "/x/").replace("/other/", "/x/")


def test_a_renamed_session_resumes_the_same_and_keeps_its_title_when_it_goes_on(two_places: list[Place]) -> None:
    plain, named = two_places
    rename_session(named.session, "Named by turnlog")
    tag_session(named.session, "urgent")
    (_, expected), (outcome, messages) = plain.resume_session(), named.resume_session()
    assert outcome == "sent"
    assert [m["role"] for m in messages] == [m["role"] for m in expected]
    assert drop_paths(messages)[:2000] == drop_paths(expected)[:2000]
    assert named.last() == {"custom-title": "Named by turnlog", "agent-name": "Named by turnlog", "tag": "urgent"}
    assert b"Named by turnlog" in named.session.read_bytes()[-20_000:]


def test_a_deleted_session_is_gone_for_the_client_and_resumes_the_same_when_it_is_back(two_places: list[Place]) -> None:
    plain, gone = two_places
    entry = delete_session(gone.session, gone.trash, force=True)
    assert gone.resume_session()[0] == "refused"
    gone.trash.restore(entry)
    (_, expected), (outcome, messages) = plain.resume_session(), gone.resume_session()
    assert outcome == "sent"
    assert drop_paths(messages)[:2000] == drop_paths(expected)[:2000]


class Terminal:
    """A real terminal with the client's list of sessions in it."""

    def __init__(self, place: Place, socket: Path, url: str) -> None:
        self._tmux = ["tmux", "-S", str(socket)]
        env = {**environment(place.home, url), "TERM": "xterm-256color"}
        words = ["env", "-i", *(f"{name}={value}" for name, value in env.items()), str(client(NEWEST)), "--resume"]
        size = ["-x", "150", "-y", "45"]
        self.do("-f", "/dev/null", "new-session", "-d", *size, "-c", str(place.cwd), shlex.join(words))

    def do(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True).stdout

    def until(self, text: str, limit: float = 30) -> str:
        """Wait until a text is on the screen; give the screen."""
        end = time.monotonic() + limit
        while text not in (screen := self.do("capture-pane", "-p")):
            assert time.monotonic() < end, screen
            time.sleep(0.2)
        return screen

    def type(self, text: str) -> None:
        self.do("send-keys", "-l", text)
        time.sleep(0.5)
        self.do("send-keys", "Enter")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_the_clients_own_list_shows_title_and_tag_and_a_running_client_is_not_disturbed_by_new_ones(
    two_places: list[Place], tmp_path: Path
) -> None:
    place, _ = two_places
    rename_session(place.session, "Named by turnlog")
    tag_session(place.session, "urgent")
    with MockAnthropic() as mock:
        terminal = Terminal(place, tmp_path / "tmux", mock.url)
        try:
            assert "#urgent" in terminal.until("Named by turnlog")
            terminal.do("send-keys", "Enter")
            terminal.until("auto mode")
            _wait_for_registration(place)
            assert rename_session(place.session, "While it runs").busy[0].kind == "registered"
            tag_session(place.session, None)
            terminal.type("hello again")
            terminal.until("OK.")
            terminal.type("/exit")
            _wait_for_end(place)
        finally:
            subprocess.run([*terminal._tmux, "kill-server"], capture_output=True, check=False)
    rows = [json.loads(line) for line in place.session.read_text().splitlines()]
    titles = [row["customTitle"] for row in rows if row["type"] == "custom-title"]
    assert "While it runs" in titles
    assert titles[-1] in ("Named by turnlog", "While it runs")  # it takes up what others append, but not always
    prompts = [row for row in rows if row["type"] == "user" and row["message"]["content"] == "hello again"]
    assert len(prompts) == 1


def _wait_for_registration(place: Place) -> None:
    end = time.monotonic() + 30
    while not any(sign.kind == "registered" for sign in find_open_signs(find_target(place.session))):
        assert time.monotonic() < end
        time.sleep(0.2)


def _wait_for_end(place: Place) -> None:
    end = time.monotonic() + 30
    while (
        any(sign.kind == "registered" for sign in find_open_signs(find_target(place.session)))
        and time.monotonic() < end
    ):
        time.sleep(0.2)
