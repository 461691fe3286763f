"""What is packed, in which form, and what a package says of itself."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
import zstandard

from tests.edit.furnished_session import LONG_AGO, MINE, OTHER, conversation, picture
from turnlog.edit.package.pack import pack_sessions
from turnlog.edit.package.pack_source import inspect_source
from turnlog.edit.package.package_reader import Package
from turnlog.edit.package.package_redaction import PackageRedaction
from turnlog.errors import Changed, TurnlogError, UsageError
from turnlog.redact.redactor import Redactor

FOLDER = "config/projects/-home-dana-webshop"
NAMES = {
    f"config/file-history/{MINE}/0123@v1",
    "config/plans/calm-blue-fox.md",
    "config/plans/shared-red-fox.md",
    f"{FOLDER}/{MINE}.jsonl",
    f"{FOLDER}/{MINE}/custom-title.json",
    f"{FOLDER}/{MINE}/news/unknown.bin",
    f"{FOLDER}/{MINE}/subagents/agent-a1b2c3d.jsonl",
    f"{FOLDER}/{MINE}/subagents/agent-a1b2c3d.meta.json",
    f"{FOLDER}/{MINE}/subagents/workflows/wf_1/journal.jsonl",
    f"{FOLDER}/{MINE}/tool-results/toolu_1.txt",
    f"{FOLDER}/agent-beef.jsonl",
    f"config/tasks/{MINE}/1.json",
    f"config/todos/{MINE}-agent-{MINE}.json",
    f"history/{MINE}.jsonl",
}


def read_package(path: Path) -> dict[str, bytes]:
    """The files of a package as any other program finds them."""
    with path.open("rb") as file:
        data = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    found = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for item in archive:
            content = archive.extractfile(item)
            assert item.isreg()
            assert content is not None
            found[item.name] = content.read()
    return found


def test_everything_that_belongs_to_a_session_is_packed(session: Path, config: Path, tmp_path: Path) -> None:
    before = picture(config)
    made = pack_sessions([session], tmp_path / "p.tar.zst")
    files = read_package(made.path)
    assert files.keys() == NAMES | {"manifest.json"}
    for name, data in files.items():
        if name.startswith("config/"):
            assert data == (config / name.removeprefix("config/")).read_bytes()
    assert files[f"history/{MINE}.jsonl"] == b'{"display":"b","sessionId":"%s"}\n' % MINE.encode()
    assert picture(config) == before


def test_shell_code_logs_caches_links_and_unknown_folders_are_left_out_and_told(session: Path, tmp_path: Path) -> None:
    (session.with_suffix("") / "resume-head.jsonl").write_text("{}\n")
    made = pack_sessions([session], tmp_path / "p")
    left = {path.name for path in made.left_out}
    links = {"link"} if os.name != "nt" else set()
    assert left == {f"{MINE}.txt", MINE, f"{MINE}.json", "resume-head.jsonl"} | links


def test_the_manifest_tells_sessions_and_files_with_their_hashes(session: Path, tmp_path: Path) -> None:
    made = pack_sessions([session], tmp_path / "p")
    files = read_package(made.path)
    told = json.loads(files.pop("manifest.json"))
    (known,) = told["sessions"]
    assert known["session_id"] == MINE
    assert (known["title"], known["project"], known["history_lines"]) == ("prompt 0", "/home/dana/webshop", 1)
    assert {row["name"]: row["sha256"] for row in told["files"]} == {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items()
    }
    (main,) = [row for row in told["files"] if row["name"] == f"{FOLDER}/{MINE}.jsonl"]
    status = session.stat()
    assert (main["size"], main["mtime_ns"]) == (status.st_size, status.st_mtime_ns)
    assert main["mode"] == status.st_mode & 0o7777
    assert made.sha256 == hashlib.sha256(made.path.read_bytes()).hexdigest()


def test_the_same_sessions_give_the_same_bytes(session: Path, tmp_path: Path) -> None:
    other = session.with_name(f"{OTHER}.jsonl")
    one = pack_sessions([session, other], tmp_path / "one").path.read_bytes()
    time.sleep(1.1)
    assert pack_sessions([session, other], tmp_path / "two").path.read_bytes() == one


@pytest.mark.skipif(not (shutil.which("tar") and shutil.which("zstd")), reason="needs tar and zstd")
def test_the_usual_tools_open_a_package(session: Path, config: Path, tmp_path: Path) -> None:
    deep = session.with_suffix("") / "tool-results" / ("n" * 120) / "café\n.txt"
    deep.parent.mkdir()
    deep.write_text("deep")
    os.utime(deep, (LONG_AGO, LONG_AGO))
    path = pack_sessions([session], tmp_path / "p.tar.zst").path
    (tmp_path / "x").mkdir()
    done = subprocess.run(["tar", "--zstd", "-xf", path, "-C", tmp_path / "x"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert subprocess.run(["zstd", "-tq", path]).returncode == 0
    found = tmp_path / "x" / "config" / deep.relative_to(config)
    assert found.read_text() == "deep"
    assert int(found.stat().st_mtime) == LONG_AGO


def test_a_plan_that_two_sessions_name_is_packed_once(session: Path, tmp_path: Path) -> None:
    made = pack_sessions([session, session.with_name(f"{OTHER}.jsonl")], tmp_path / "p")
    assert [file.name for file in made.manifest.files].count("config/plans/shared-red-fox.md") == 1
    assert f"{FOLDER}/agent-cafe.jsonl" in read_package(made.path)
    with Package(made.path) as package:
        package.verify()


def test_a_file_that_is_there_is_replaced_only_by_force(session: Path, tmp_path: Path) -> None:
    (tmp_path / "p").write_text("precious")
    with pytest.raises(UsageError, match="--force"):
        pack_sessions([session], tmp_path / "p")
    assert (tmp_path / "p").read_text() == "precious"
    pack_sessions([session], tmp_path / "p", force=True)
    with Package(tmp_path / "p") as package:
        assert package.manifest.sessions[0].session_id == MINE


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_only_the_owner_may_read_a_package(session: Path, tmp_path: Path) -> None:
    assert pack_sessions([session], tmp_path / "p").path.stat().st_mode & 0o777 == 0o600


def test_what_is_no_session_of_the_clients_is_refused(session: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="not a session id"):
        pack_sessions([tmp_path / "notes.jsonl"], tmp_path / "p")
    stray = tmp_path / f"{MINE}.jsonl"
    stray.write_bytes(session.read_bytes())
    with pytest.raises(TurnlogError, match="not in a Claude Code projects folder"):
        pack_sessions([stray], tmp_path / "p")
    with pytest.raises(Changed, match="no longer exists"):
        pack_sessions([session.with_name("0" * 8 + session.name[8:])], tmp_path / "p")
    assert not (tmp_path / "p").exists()


def test_two_sessions_of_one_id_are_refused(session: Path, config: Path, tmp_path: Path) -> None:
    copy = config / "projects" / "-elsewhere" / session.name
    copy.parent.mkdir()
    copy.write_bytes(session.read_bytes())
    with pytest.raises(UsageError, match="two of the sessions have the id"):
        pack_sessions([session, copy], tmp_path / "p")


@pytest.mark.skipif(sys.platform != "linux", reason="the disk tells capitals apart")
def test_names_that_differ_only_in_capitals_are_refused_before_they_are_packed(session: Path, tmp_path: Path) -> None:
    folder = session.with_suffix("") / "tool-results"
    (folder / "a.txt").write_text("1")
    (folder / "A.txt").write_text("2")
    with pytest.raises(TurnlogError, match=r"two files are named .* .ignoring case."):
        pack_sessions([session], tmp_path / "p")
    assert not (tmp_path / "p").exists()


# -- sessions that are being written


def test_a_line_that_is_being_written_is_left_out_and_told(session: Path, tmp_path: Path) -> None:
    whole = session.read_bytes()
    session.write_bytes(whole + b'{"type":"user","uu')
    made = pack_sessions([session], tmp_path / "p")
    (main,) = [file for file in made.manifest.files if file.name.endswith(f"{MINE}.jsonl") and file.place]
    assert main.left_out == 18
    assert read_package(made.path)[main.name] == whole


def test_a_torn_tail_of_a_quiet_session_is_packed_as_it_is(session: Path, tmp_path: Path) -> None:
    torn = session.read_bytes() + b'{"type":"user","uu'
    session.write_bytes(torn)
    os.utime(session, (LONG_AGO, LONG_AGO))
    assert read_package(pack_sessions([session], tmp_path / "p").path)[f"{FOLDER}/{MINE}.jsonl"] == torn


APPENDER = """
import json, os, sys, time
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
number = 0
while True:
    line = json.dumps({"type": "user", "uuid": f"x{number}", "text": "x" * (number * 7919 % 30_000)}).encode() + b"\\n"
    half = len(line) // 2
    os.write(fd, line[:half])
    os.write(fd, line[half:])
    number += 1
    time.sleep(0.002)
"""


def test_a_session_that_grows_is_packed_in_whole_lines(session: Path, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", APPENDER, str(session)]) as writer:
        try:
            sizes: list[int] = []
            for number in range(500):
                if number > 8 and sizes[-1] > sizes[0]:
                    break
                made = pack_sessions([session], tmp_path / f"{number}")
                data = read_package(made.path)[f"{FOLDER}/{MINE}.jsonl"]
                assert data.endswith(b"\n")
                assert all(isinstance(json.loads(line), dict) for line in data.splitlines())
                assert session.read_bytes().startswith(data)
                sizes.append(len(data))
        finally:
            writer.kill()
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


@pytest.mark.parametrize("name", [f"{MINE}.jsonl", "agent-a1.jsonl", "output.txt", "notes.jsonl"])
def test_a_file_that_changes_between_the_look_and_the_reading_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"old old\n" * 100_000)
    os.utime(path, (LONG_AGO, LONG_AGO))
    looked = inspect_source(path)
    for other in (b"new old\n" + b"old old\n" * 99_999, b"old old\n", b""):
        path.write_bytes(other)
        with pytest.raises(Changed, match="rewritten"):
            list(looked.read_pieces())
    path.unlink()
    with pytest.raises(Changed):
        list(looked.read_pieces())


def test_a_transcript_may_grow_between_the_look_and_the_reading(tmp_path: Path) -> None:
    path = tmp_path / f"{MINE}.jsonl"
    path.write_bytes(b"{}\n" * 10)
    looked = inspect_source(path)
    with path.open("ab") as file:
        file.write(b"{}\n" * 10)
    assert b"".join(looked.read_pieces()) == b"{}\n" * 10


REWRITER = """
import os, sys
path, data = sys.argv[1], open(sys.argv[1], "rb").read()
for number in range(100_000):
    with open(path + ".new", "wb") as file:
        file.write(b'{"a":%d}\\n' % number + data)
    os.replace(path + ".new", path)
"""


@pytest.mark.skipif(os.name == "nt", reason="an open file can't be replaced there")
def test_a_session_that_is_rewritten_meanwhile_is_never_a_mixture(session: Path, tmp_path: Path) -> None:
    lines = conversation(*["calm-blue-fox"] * 500)
    session.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines.lines))
    tail = session.read_bytes()
    with subprocess.Popen([sys.executable, "-c", REWRITER, str(session)]) as writer:
        try:
            for number in range(15):
                path = tmp_path / f"{number}"
                with contextlib.suppress(Changed):
                    pack_sessions([session], path)
                assert not path.exists() or read_package(path)[f"{FOLDER}/{MINE}.jsonl"].endswith(tail)
        finally:
            writer.kill()


# -- redaction

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"


def test_secrets_are_replaced_everywhere_and_counted(session: Path, config: Path, tmp_path: Path) -> None:
    inside = session.with_suffix("")
    extra = {"type": "user", "uuid": "s", "message": {"role": "user", "content": f"use {TOKEN}"}, "n": 1.50}
    line = json.dumps(extra, separators=(",", ":")).replace("1.5}", "1.50}").encode() + b"\n"
    session.write_bytes(session.read_bytes() + line)
    for path in (inside / "tool-results" / "toolu_1.txt", config / "file-history" / MINE / "0123@v1"):
        path.write_text(f"export TOKEN={TOKEN}\n")
    agent = inside / "subagents" / "agent-a1b2c3d.jsonl"
    agent.write_text(json.dumps({"type": "user", "isSidechain": True, "text": TOKEN}) + "\n")
    with (config / "history.jsonl").open("a") as history:
        history.write(json.dumps({"display": TOKEN, "sessionId": MINE}) + "\n")
    for path in config.rglob("*"):
        if path.is_file():
            os.utime(path, (LONG_AGO, LONG_AGO))
    redaction = PackageRedaction(Redactor())
    made = pack_sessions([session], tmp_path / "p", redaction=redaction)
    files = read_package(made.path)
    assert not any(TOKEN.encode() in data for data in files.values())
    assert made.manifest.redacted
    assert redaction.build_report().replacement_count == 5
    main = files[f"{FOLDER}/{MINE}.jsonl"]
    assert main.splitlines()[-1].endswith(b'"n":1.50}')  # what holds no secret keeps its bytes
    assert main.startswith(session.read_bytes()[: -len(line)])
    with Package(made.path) as package:
        package.verify()


def test_a_title_that_holds_a_secret_is_redacted_in_the_manifest(session: Path, tmp_path: Path) -> None:
    title = {"type": "custom-title", "customTitle": f"key {TOKEN}", "sessionId": MINE}
    session.write_bytes(session.read_bytes() + json.dumps(title).encode() + b"\n")
    made = pack_sessions([session], tmp_path / "p", redaction=PackageRedaction(Redactor()))
    assert made.manifest.sessions[0].title == "key [secret:github:1]"
    assert TOKEN.encode() not in read_package(made.path)["manifest.json"]


def test_a_secret_in_the_name_of_a_file_is_redacted_in_the_package(session: Path, tmp_path: Path) -> None:
    results = session.with_suffix("") / "tool-results"
    for number in range(2):
        (results / f"{TOKEN}-{number}.txt").write_text(f"plain {number}")
    made = pack_sessions([session], tmp_path / "p", redaction=PackageRedaction(Redactor()))
    files = read_package(made.path)
    assert not any(TOKEN in name for name in files)
    assert not any(TOKEN.encode() in data for data in files.values())
    folder = f"{FOLDER}/{MINE}/tool-results"
    assert files[f"{folder}/secret-github-1-0.txt"] == b"plain 0"
    assert files[f"{folder}/secret-github-1-1.txt"] == b"plain 1"
    with Package(made.path) as package:
        package.verify()
