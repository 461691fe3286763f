"""Old clients do not say which session they have open: an edit asks, and whatever they write afterwards is not lost."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from tests.interop.clients import NEWEST, OLD, client
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.place import Failed, Place
from tests.interop.resume import KEY, environment
from tests.session.build import SESSION, base
from turnlog.edit.open_signs import find_open_signs
from turnlog.edit.session_target import find_target

pytestmark = [pytest.mark.interop, pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")]
VERSIONS = (OLD, "2.1.45", "2.0.50")
"""`scripts/install-clients` gets them."""
MOST_SECONDS = 120


class Running:
    """An old client in a terminal, in the project of a place."""

    def __init__(self, place: Place, version: str, url: str) -> None:
        self.place = place
        self._prompts = 0
        self._tmux = ["tmux", "-S", str(place.base / "tmux")]
        env = {**environment(place.home, url), "TERM": "xterm-256color", "PWD": str(place.cwd)}
        words = ["env", "-i", *(f"{name}={value}" for name, value in env.items()), str(client(version))]
        self._do(
            "-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "45", "-c", str(place.cwd), shlex.join(words)
        )
        self._until(lambda: "shortcuts" in self._do("capture-pane", "-p"))
        self.pid = int(self._do("list-panes", "-F", "#{pane_pid}"))

    def _do(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True).stdout

    def _until(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + MOST_SECONDS
        while not is_so():
            assert time.monotonic() < end, self._do("capture-pane", "-p")
            time.sleep(0.2)

    def say(self, text: str) -> Path:
        """Type a prompt and wait until it is written and answered; gives the session's file, which is quiet then."""
        self._prompts += 1
        self._until(lambda: self._type(text))
        self._until(lambda: self._enter(text))
        found = self._find_prompt(text)
        assert found is not None
        self._until(lambda: all(sign.kind != "growth" for sign in find_open_signs(find_target(found))))
        return found

    def _type(self, text: str) -> bool:
        """Type a prompt, again if the client was not listening yet; whether it is on the screen."""
        self._do("send-keys", "C-u")
        self._do("send-keys", "-l", text)
        time.sleep(1)
        return text in self._do("capture-pane", "-p")

    def _enter(self, text: str) -> bool:
        """Press Enter, again if the client took it for a part of what was typed; whether the answer is there."""
        self._do("send-keys", "Enter")
        time.sleep(1)
        # Not by the file: where that vanished meanwhile, 2.1.29 writes the prompt and at times loses its own answer.
        is_answered = self._do("capture-pane", "-p").count("● OK.") >= self._prompts
        return is_answered and self._find_prompt(text) is not None

    def _find_prompt(self, text: str) -> Path | None:
        for path in self.place.sessions():
            rows = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
            if any(row["type"] == "user" and text in json.dumps(row["message"]) for row in rows):
                return path
        return None

    def end(self) -> None:
        """End the client, and the terminal."""
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)
        self._wait_for_end()

    def _wait_for_end(self) -> None:
        end = time.monotonic() + MOST_SECONDS
        while Path(f"/proc/{self.pid}/cwd").exists() and time.monotonic() < end:
            time.sleep(0.1)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    found = str(request.param)
    if not client(found).is_file():
        pytest.skip(f"client {found} is not installed")
    return found


def make_older(path: Path) -> None:
    """Let a session be an hour old: a client removes those that nobody has used for a month."""
    os.utime(path, (time.time() - 3600, time.time() - 3600))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "source").mkdir()
    own = str(uuid4())  # clients of other tests that run now are started with the usual id
    source = tmp_path / "source" / f"{own}.jsonl"
    source.write_bytes(base().data().replace(SESSION.encode(), own.encode()))  # newer ones stop 2.0.50
    found = Place(tmp_path, source)
    make_older(found.session)
    settings = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(found.cwd): {"hasTrustDialogAccepted": True}},
    }
    (found.home / ".claude.json").write_text(json.dumps(settings))
    return found


@contextmanager
def run_client(place: Place, version: str) -> Iterator[Running]:
    with MockAnthropic() as mock:
        found = Running(place, version, mock.url)
        try:
            yield found
        finally:
            found.end()


def list_resumed_prompts(place: Place, path: Path) -> list[str]:
    """The prompts that the newest client sends when it resumes a session."""
    got = place.resume_copy(client(NEWEST), path)
    assert got.outcome == "sent"
    return [text for text in ("first words", "more words") if text in json.dumps(got.messages)]


def test_a_deleted_session_comes_back_with_what_its_client_wrote_since(place: Place, version: str) -> None:
    with run_client(place, version) as terminal:
        session = terminal.say("first words")
        with pytest.raises(Failed, match=rf"\(process {terminal.pid}\) runs in its folder, and the session was used"):
            place.turnlog("delete", session.stem, "--yes")
        place.turnlog("delete", session.stem, "--yes", "--force")
        assert not session.exists()
        assert terminal.say("more words") == session
    place.turnlog("undelete", session.stem)
    assert list_resumed_prompts(place, session) == ["first words", "more words"]


def test_a_moved_session_comes_back_with_what_its_client_wrote_since(place: Place, version: str) -> None:
    with run_client(place, version) as terminal:
        session = terminal.say("first words")
        new = place.base / "renamed"
        with pytest.raises(Failed, match=f"process {terminal.pid}"):
            place.turnlog("move", str(place.cwd), str(new))
        place.turnlog("move", str(place.cwd), str(new), "--force")
        assert not session.exists()
        assert terminal.say("more words") == session
    place.turnlog("undo", "--force")  # the client has also written the history and its state, which the move changed
    assert list_resumed_prompts(place, session) == ["first words", "more words"]


def test_an_old_session_can_be_deleted_while_a_client_has_another_one(place: Place, version: str) -> None:
    with run_client(place, version) as terminal:
        terminal.say("first words")
        make_older(place.session)  # some clients add a summary to other sessions
        place.turnlog("delete", place.session.stem, "--yes")
    assert not place.session.exists()
