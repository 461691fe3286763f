"""A session that was moved to another folder is found there by the real client, which sends the same as before."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.interop.clients import NEWEST, client
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.normalise import NEXT
from tests.interop.resume import MODEL, Resumed, environment, furnish, judge, run
from tests.interop.test_manage import Place, Terminal
from tests.session.build import find_recording
from turnlog.edit.move.move import move_project
from turnlog.edit.move.move_plan import plan_move
from turnlog.edit.move.path_translation import PathTranslation
from turnlog.edit.undo.undo import Undo
from turnlog.entries.layout import list_session_files

pytestmark = pytest.mark.interop


class Project:
    """A home with one session of a project, and the client in it."""

    def __init__(self, base: Path, name: str) -> None:
        path = find_recording(name)
        self.home, self.cwd = furnish(base, path, path.read_bytes(), path.stem)
        subprocess.run(["chmod", "-R", "u+w", str(base)], check=True)  # the recorded files are read-only
        self.config = self.home / ".claude"
        at_home = PathTranslation("/tmp/demo/webshop", str(self.cwd))
        for file in self.config.rglob("*.jsonl"):
            file.write_bytes(b"".join(map(at_home.translate_line, file.read_bytes().splitlines(keepends=True))))
            os.utime(file, (1_790_000_000, 1_790_000_000))
        self.undo = Undo(base / "undo")

    def move(self, to: Path) -> None:
        """Rename the project's folder, and let the sessions follow."""
        shutil.move(self.cwd, to)
        move_project(plan_move(str(self.cwd), str(to), [self.config]), self.undo)
        self.cwd = to

    def resume_project(self, *words: str) -> Resumed:
        """What the client sends when it goes on."""
        with MockAnthropic() as mock:
            command = [str(client(NEWEST)), "-p", NEXT, *words, "--model", MODEL, "--output-format", "json"]
            return judge(mock.requests, run(command, environment(self.home, mock.url), self.cwd, 60))

    def session(self) -> Path:
        (found,) = list_session_files(self.config)
        return found.path


def drop_reminders(got: Resumed, project: Project) -> list[dict[str, object]]:
    """The messages without reminders of the place where they were sent."""
    text = json.dumps([message for message in got.messages if message["role"] != "system"])
    found: list[dict[str, object]] = json.loads(
        text.replace(str(project.cwd), "<cwd>").replace(str(project.home), "<home>")
    )
    return found


@pytest.mark.parametrize("name", ["2.1.325/tui_basic", "2.1.325/tools", "2.1.325/agents", "2.1.29/tui_progress"])
def test_a_moved_session_is_continued_in_its_new_folder_with_the_same_messages(tmp_path: Path, name: str) -> None:
    plain, moved = Project(tmp_path / "one", name), Project(tmp_path / "two", name)
    moved.move(tmp_path / "two" / "else where" / "wébshop")
    own = moved.session().stem
    expected, got = plain.resume_project("--resume", plain.session().stem), moved.resume_project("--continue")
    assert (expected.outcome, got.outcome) == ("sent", "sent")
    assert drop_reminders(got, moved) == drop_reminders(expected, plain)
    assert moved.session().stem == own  # it was continued, no other was begun
    assert NEXT.encode() in moved.session().read_bytes()


def test_without_the_move_and_after_its_undoing_a_new_session_is_begun_in_the_new_folder(tmp_path: Path) -> None:
    project = Project(tmp_path / "one", "2.1.325/tui_basic")
    before = project.session().read_bytes()
    project.move(tmp_path / "one" / "new")
    (record,) = project.undo.list_records()
    project.undo.undo_record(record)
    session = project.session()
    assert session.read_bytes() == before
    got = project.resume_project("--continue")
    assert [message["role"] for message in got.messages if message["role"] != "system"] == ["user"]
    assert session.read_bytes() == before


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_the_clients_own_list_in_the_new_folder_shows_a_moved_session(tmp_path: Path) -> None:
    project = Project(tmp_path / "one", "2.1.325/tui_basic")
    title = next(
        row["customTitle"]
        for row in map(json.loads, project.session().read_text().splitlines())
        if row["type"] == "custom-title"
    )
    project.move(tmp_path / "one" / "new")
    place = Place.__new__(Place)
    place.home, place.cwd = project.home, project.cwd
    with MockAnthropic() as mock:
        terminal = Terminal(place, tmp_path / "tmux", mock.url)
        try:
            assert title in terminal.until(title)
        finally:
            subprocess.run([*terminal._tmux, "kill-server"], capture_output=True, check=False)
