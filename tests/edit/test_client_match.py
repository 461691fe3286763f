"""Which session an old client may have open, by its folder and by what was written since it started."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.edit.furnished_session import LONG_AGO
from tests.edit.running_clients import old_client, write_since
from tests.edit.test_busy import register
from tests.session.build import Build
from turnlog.edit.loose_clients import ask_ps, parse_elapsed, parse_lsof
from turnlog.edit.open_signs import OpenSign, find_open_signs, find_suspect_sessions
from turnlog.edit.session_target import SessionTarget, find_target
from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.trash import Trash
from turnlog.entries.clients import is_client_process
from turnlog.entries.slug import make_slug
from turnlog.errors import Busy

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
pytestmark = linux
OLD, NEW = (f"0ddba11{digit}-2222-4333-8444-555555555555" for digit in "12")


class Project:
    """A folder with two sessions of long ago."""

    def __init__(self, base: Path) -> None:
        self.cwd, self.config = base / "shop", base / "claude"
        self.cwd.mkdir()
        self.folder = self.config / "projects" / make_slug(str(self.cwd))
        self.folder.mkdir(parents=True)
        for name in (OLD, NEW):
            os.utime(_conversation().write(self.folder, name), (LONG_AGO, LONG_AGO))

    def target(self, name: str) -> SessionTarget:
        return find_target(self.folder / f"{name}.jsonl")

    def signs(self, name: str) -> list[OpenSign]:
        return [sign for sign in find_open_signs(self.target(name)) if sign.kind != "growth"]


def _conversation() -> Build:
    build = Build()
    build.prompt("on")
    build.answer("yes")
    return build


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_session_that_was_used_since_the_client_of_its_folder_started_may_be_open(project: Project) -> None:
    with old_client(project.cwd, project.config) as pid:
        write_since(project.folder / f"{OLD}.jsonl")
        (sign,) = project.signs(OLD)
    assert (sign.kind, sign.pid, sign.is_certain, sign.is_question) == ("client", pid, False, True)
    assert sign.words == f"Claude Code (process {pid}) runs in its folder, and the session was used after it started"
    assert sign.remedy == "end that process first, or use --force"
    assert project.signs(OLD) == []


@pytest.mark.parametrize("place", ["debug/{}.txt", "todos/{0}-agent-{0}.json"])
def test_a_client_that_only_resumed_a_session_has_written_its_log_or_list(project: Project, place: str) -> None:
    with old_client(project.cwd, project.config):
        log = project.config / place.format(OLD)
        log.parent.mkdir()
        write_since(log)
        write_since(project.folder / f"{NEW}.jsonl")
        assert ["used after" in sign.words for sign in project.signs(OLD)] == [True]


def test_any_session_of_the_folder_may_be_open_while_a_client_has_written_none(project: Project) -> None:
    with old_client(project.cwd, project.config) as pid:
        words = f"Claude Code (process {pid}) runs in its folder and does not say what it has open"
        for name in (OLD, NEW):
            assert project.signs(name) == [OpenSign("client", words, pid)]
        assert find_suspect_sessions([project.target(OLD), project.target(NEW)]) == [
            project.target(OLD),
            project.target(NEW),
        ]


def test_an_old_session_is_left_alone_when_the_client_has_written_another_conversation(project: Project) -> None:
    with old_client(project.cwd, project.config):
        write_since(project.folder / f"{NEW}.jsonl")
        assert project.signs(OLD) == []
        assert find_suspect_sessions([project.target(OLD)]) == []
        assert len(project.signs(NEW)) == 1


def test_a_file_without_an_answer_is_no_conversation_that_speaks_for_a_client(project: Project) -> None:
    with old_client(project.cwd, project.config):
        stub = project.folder / f"{NEW}.jsonl"
        stub.write_text('{"type":"progress"}\n')
        write_since(stub)
        assert len(project.signs(OLD)) == 1


def test_one_conversation_speaks_for_one_client_only(project: Project) -> None:
    with old_client(project.cwd, project.config), old_client(project.cwd, project.config):
        write_since(project.folder / f"{NEW}.jsonl")
        assert len(project.signs(OLD)) == 2


def test_a_client_of_another_folder_or_config_folder_has_it_not_open(project: Project, tmp_path: Path) -> None:
    (tmp_path / "shop" / "below").mkdir()
    (tmp_path / "other").mkdir()
    with (
        old_client(tmp_path / "shop" / "below", project.config),
        old_client(project.cwd, tmp_path / "other"),
        old_client(project.cwd, tmp_path / "other", CLAUDE_CONFIG_DIR="", HOME=str(tmp_path)),
    ):
        assert project.signs(OLD) == []


def test_a_client_that_registers_what_it_has_open_is_asked_for_nothing_else(project: Project) -> None:
    with old_client(project.cwd, project.config) as pid:
        register(project.folder / f"{OLD}.jsonl", pid=pid, sessionId=NEW)
        assert project.signs(OLD) == []
        assert [sign.kind for sign in project.signs(NEW)] == ["registered"]


def test_a_client_whose_folder_was_renamed_meanwhile_is_still_seen(project: Project, tmp_path: Path) -> None:
    with old_client(project.cwd, project.config) as pid:
        project.cwd.rename(tmp_path / "renamed")
        assert [sign.pid for sign in project.signs(OLD)] == [pid]


def test_a_session_that_may_be_open_is_deleted_when_the_user_says_so(project: Project, tmp_path: Path) -> None:
    trash = Trash(tmp_path / "trash")
    with old_client(project.cwd, project.config) as pid:
        for asked, force in ((False, True), (True, False)):
            path = project.folder / f"{OLD}.jsonl"
            with pytest.raises(Busy, match=rf"{OLD}: Claude Code \(process {pid}\) runs in its folder.*or use --force"):
                delete_session(path, trash)
            entry = delete_session(path, trash, asked=asked, force=force)
            trash.restore(entry)


@pytest.mark.skipif(shutil.which("lsof") is None or shutil.which("ps") is None, reason="needs ps and lsof")
def test_ps_and_lsof_tell_the_same_where_there_is_no_proc(project: Project) -> None:
    with old_client(project.cwd, project.config) as pid:
        (found,) = (client for client in ask_ps() if client.pid == pid)
    assert (found.folders, found.parent, found.config_dir) == ((str(project.cwd),), os.getpid(), None)


def test_the_words_of_lsof_are_read() -> None:
    lines = ["p12", "fcwd", "a ", "n/home/dana/shop", "f3", "aw", "n/x/a.jsonl", "f4", "ar", "n/x/b.jsonl", "f5", "au"]
    assert parse_lsof([*lines, "n/x/c"]) == (("/home/dana/shop",), frozenset({"/x/a.jsonl", "/x/c"}))
    assert parse_lsof([]) == ((), frozenset())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:07", 7), ("01:02:03", 3723), ("3-00:00:01", 259_201), ("-", None), ("", None), ("x", None)],
)
def test_the_age_of_a_process_is_read(text: str, seconds: int | None) -> None:
    assert parse_elapsed(text) == seconds


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("claude", True),
        ("/home/dana/.local/bin/claude --resume", True),
        ("node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js", True),
        ("/usr/bin/node --max-old-space-size=8192 /opt/node_modules/.bin/claude -c", True),
        ("vim claude", False),
        ("node server.js claude", False),
        ("claude-desktop", False),
        ("", False),
    ],
)
def test_a_client_is_known_by_its_command_line(line: str, expected: bool) -> None:
    assert is_client_process(line.split()) is expected
