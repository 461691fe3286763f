"""A session that was packed and unpacked for another user, in another folder, is resumed by the real client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interop.clients import NEWEST, client, list_missing_clients
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.normalise import NEXT
from tests.interop.recordings import DATA
from tests.interop.resume import MODEL, Resumed, environment, furnish, judge, run, scratch_folder
from turnlog.edit.package.contents import list_session_contents
from turnlog.edit.package.pack import pack_sessions
from turnlog.edit.package.package_reader import Package
from turnlog.edit.package.unpack import unpack_package

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(bool(list_missing_clients((NEWEST,))), reason="the newest client is not installed"),
]

SESSIONS = [
    "sessions/2.1.325/tools",
    "sessions/2.1.325/agents",
    "sessions/2.1.325/tui_basic",
    "sessions/2.1.325/misc",
    "sessions/2.0.76/agents",
    "sessions/2.1.45/compact",
]


def largest(folder: Path) -> Path:
    return max(folder.rglob("????????-*.jsonl"), key=lambda path: path.stat().st_size)


def resume_unpacked(home: Path, cwd: Path, name: str) -> Resumed:
    """What the client sends when it resumes a session."""
    with MockAnthropic() as mock:
        words = [str(client(NEWEST)), "-p", NEXT, "--resume", name, "--output-format", "json", "--model", MODEL]
        return judge(mock.requests, run(words, environment(home, mock.url), cwd, 60))


def list_conversation(found: Resumed, home: Path, cwd: Path) -> list[object]:
    """The conversation, without where it was resumed."""
    kept = [message for message in found.messages if message["role"] != "system"]
    plain: list[object] = json.loads(json.dumps(kept).replace(str(cwd), "CWD").replace(str(home), "HOME"))
    return plain


def unpack_elsewhere(path: Path, base: Path, *, new_ids: bool) -> tuple[Path, Path, str]:
    """The session in another home, for another project: home, project, id."""
    home, cwd = base / "home" / "erin", base / "work" / "other place"
    for folder in (home / "tmp", cwd):
        folder.mkdir(parents=True)
    package = pack_sessions([path], base / "p.tar.zst").path
    with Package(package) as opened:
        (done,) = unpack_package(
            opened, home / ".claude", project_folders={list_session_contents(path).project: cwd}, new_ids=new_ids
        )
    return home, cwd, done.arrival.session_id


@pytest.mark.parametrize("folder", SESSIONS)
def test_the_client_sends_the_same_for_an_unpacked_session(folder: str) -> None:
    path = largest(DATA / folder)
    with scratch_folder() as one:
        plain_home, plain_cwd = furnish(one, path, path.read_bytes(), path.stem)
        settings = (plain_home / ".claude.json").read_bytes()
        plain = resume_unpacked(plain_home, plain_cwd, path.stem)
    assert plain.outcome == "sent"
    for new_ids in (False, True):
        with scratch_folder() as two:
            home, cwd, name = unpack_elsewhere(path, two, new_ids=new_ids)
            (home / ".claude.json").write_bytes(settings)
            moved = resume_unpacked(home, cwd, name)
        assert moved.outcome == "sent", f"new ids: {new_ids}"
        assert len(list_conversation(moved, home, cwd)) > 1
        assert list_conversation(moved, home, cwd) == list_conversation(plain, plain_home, plain_cwd), (
            f"new ids: {new_ids}"
        )
