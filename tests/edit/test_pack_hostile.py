"""A package may come from a stranger: each of its tricks is one line of words, and nothing is written."""

from __future__ import annotations

import io
import os
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.edit.forged_package import FOLDER, ID, LINE, MAIN, file, forge_package, manifest, member, session
from turnlog.edit.package.package import PackageTrailer, encode_trailer
from turnlog.edit.package.package_reader import Package
from turnlog.edit.package.tar_format import TAR_BLOCK_BYTES, build_tar_header, build_tar_padding
from turnlog.edit.package.unpack import unpack_package
from turnlog.errors import TurnlogError, Unreadable

INSIDE = f"config/projects/{FOLDER}/{ID}"
ASTRAY = {
    "absolute": "/etc/cron.d/evil",
    "up": f"{INSIDE}/../../../../../.bashrc",
    "up at once": "../evil",
    "dot": f"{INSIDE}/./x",
    "empty part": f"{INSIDE}//x",
    "escaped zero": f"{INSIDE}/a\0b",
    "settings": "config/settings.json",
    "hooks": f"config/hooks/{ID}/x.sh",
    "skill": f"config/skills/{ID}/SKILL.md",
    "command": f"config/commands/{ID}.md",
    "agent": f"config/agents/{ID}.md",
    "shell environment": f"config/session-env/{ID}/hook.sh",
    "memory": f"config/projects/{FOLDER}/memory/MEMORY.md",
    "another session": f"config/projects/{FOLDER}/99999999-2222-4333-8444-555555555555.jsonl",
    "another project": f"config/projects/-home-erin/{ID}.jsonl",
    "another's copies": "config/file-history/99999999-2222-4333-8444-555555555555/x@v1",
    "plan in a folder": "config/plans/deep/x.md",
    "no plan": "config/plans/x.sh",
    "history of another": "history/99999999-2222-4333-8444-555555555555.jsonl",
    "history itself": "history.jsonl",
    "nowhere": "other/x",
}


@pytest.fixture
def goal(tmp_path: Path) -> Path:
    """A config folder with one file that must survive."""
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "settings.json").write_text("{}")
    return folder


def unpack_refused(package: Path, goal: Path, tmp_path: Path) -> str:
    """Unpack what must be refused; gives the words."""
    (tmp_path / "project").mkdir(exist_ok=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(TurnlogError) as caught, Package(package) as opened:
        unpack_package(
            opened, goal, project_folders={"/home/dana/webshop": tmp_path / "project", None: tmp_path / "project"}
        )
    assert sorted(tmp_path.rglob("*")) == before
    assert (goal / "settings.json").read_text() == "{}"
    return str(caught.value)


def test_an_honest_forgery_is_unpacked(goal: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    with Package(forge_package(tmp_path / "p", manifest())) as package:
        (done,) = unpack_package(package, goal, project_folders={"/home/dana/webshop": tmp_path / "project"})
    assert done.path.read_bytes() == LINE.replace(b"/home/dana/webshop", str(tmp_path / "project").encode())


@pytest.mark.parametrize("trick", ASTRAY)
def test_a_name_that_is_no_place_of_the_session_is_refused(trick: str, goal: Path, tmp_path: Path) -> None:
    name = ASTRAY[trick]
    body = b"".join(member(each) for each in sorted([name, MAIN]))
    words = unpack_refused(forge_package(tmp_path / "p", manifest(file(name)), body), goal, tmp_path)
    assert "is not the path of a session file" in words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{INSIDE}/tool-results/A.txt", f"{INSIDE}/tool-results/a.txt"),
        (f"{INSIDE}/tool-results/\u00e9", f"{INSIDE}/tool-results/e\u0301"),
        (f"{INSIDE}/tool-results/stra\u00dfe", f"{INSIDE}/tool-results/STRASSE"),
        (f"{INSIDE}/tool-results/a", f"{INSIDE}/tool-results/a"),
        (f"{INSIDE}/tool-results/a", f"{INSIDE}/tool-results/A/b"),
    ],
)
def test_two_names_that_a_disk_may_not_tell_apart_are_refused(one: str, other: str, goal: Path, tmp_path: Path) -> None:
    body = b"".join(member(each) for each in sorted([one, other, MAIN]))
    words = unpack_refused(forge_package(tmp_path / "p", manifest(file(one), file(other)), body), goal, tmp_path)
    assert "(ignoring case)" in words


@pytest.mark.parametrize(
    "told",
    [
        manifest(format="zip"),
        manifest(version=2),
        manifest(sessions=[session(session_id="../x")]),
        manifest(sessions=[session(session_id="x" * 36)]),
        manifest(sessions=[session(folder="..")]),
        manifest(sessions=[session(folder="a/b")]),
        manifest(sessions=[session(), session()]),
        manifest(sessions=[session(), session(session_id=ID.replace("1", "2"))]),
        {**manifest(), "sessions": []},
        {**manifest(), "files": []},
        manifest(file(f"{INSIDE}/x", session="nobody")),
        manifest(file(f"{INSIDE}/x", mode=-1)),
        manifest(file(f"{INSIDE}/x", size=-1)),
        manifest(file(f"{INSIDE}/x", size="1")),
        manifest(file(f"{INSIDE}/x", size=1 << 70)),
        {"format": "turnlog-pack", "version": 1},
        [],
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b"",
    ],
    ids=str,
)
def test_a_manifest_that_can_not_be_is_refused(told: Any, goal: Path, tmp_path: Path) -> None:
    words = unpack_refused(forge_package(tmp_path / "p", told), goal, tmp_path)
    assert words.startswith(str(tmp_path / "p"))
    assert "\n" not in words


def test_more_bytes_than_the_manifest_says_are_not_unpacked(goal: Path, tmp_path: Path) -> None:
    bomb = member() + bytes(200 << 20)
    words = unpack_refused(forge_package(tmp_path / "p", manifest(), bomb), goal, tmp_path)
    assert "more content than the manifest declares" in words
    assert (tmp_path / "p").stat().st_size < 50_000


def test_a_file_that_is_larger_than_declared_is_refused(goal: Path, tmp_path: Path) -> None:
    small = file(f"{INSIDE}/z", bytes(10))
    body = member() + build_tar_header(f"{INSIDE}/z", 10, 0o600, 0) + bytes(100 << 20)
    words = unpack_refused(forge_package(tmp_path / "p", manifest(small), body), goal, tmp_path)
    assert "damaged" in words or "more content" in words


def test_a_size_that_no_disk_holds_is_refused_before_a_byte_is_read(goal: Path, tmp_path: Path) -> None:
    endless = manifest(file(f"{INSIDE}/z", size=1 << 60))
    assert "which no package of sessions does" in unpack_refused(forge_package(tmp_path / "p", endless), goal, tmp_path)


def test_gigabytes_in_a_small_package_are_refused_before_a_byte_is_written(goal: Path, tmp_path: Path) -> None:
    """Everything in it agrees with the manifest: zeros can be compressed to almost nothing."""
    zeros = bytes(200 << 20)
    name = f"{INSIDE}/subagents/agent-a.jsonl"
    files = sorted([(name, zeros), (MAIN, LINE)])
    body = b"".join(member(*item) for item in files)
    path = forge_package(tmp_path / "p", manifest(file(name, zeros)), body, level=1)
    assert path.stat().st_size < 200_000
    assert "209,7" in (words := unpack_refused(path, goal, tmp_path))
    assert "nothing was written" in words


def test_a_manifest_that_claims_to_be_endless_is_refused(goal: Path, tmp_path: Path) -> None:
    first = build_tar_header("manifest.json", 1 << 32, 0o644, 0) + bytes(1 << 20)
    assert "too long" in unpack_refused(forge_package(tmp_path / "p", b"", first=first), goal, tmp_path)


def test_a_frame_that_asks_for_gigabytes_of_memory_is_refused(goal: Path, tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=30)
    writer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    greedy = writer.compress(member("manifest.json", b"{}", 0o644)) + writer.flush()
    path = forge_package(tmp_path / "p", manifest())
    path.write_bytes(greedy + encode_trailer(PackageTrailer(len(greedy), 0, sha256(greedy).digest())))
    assert "damaged" in unpack_refused(path, goal, tmp_path)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_a_link_or_device_in_the_place_of_a_file_is_refused(kind: bytes, goal: Path, tmp_path: Path) -> None:
    info = tarfile.TarInfo(MAIN)
    info.type, info.linkname = kind, "/etc/passwd"
    words = unpack_refused(forge_package(tmp_path / "p", manifest(), info.tobuf()), goal, tmp_path)
    assert "unexpected content in place of" in words


def test_a_further_file_that_no_manifest_names_is_refused(goal: Path, tmp_path: Path) -> None:
    body = member() + member("config/settings.json", b'{"hooks":{}}')
    assert "unexpected content" in unpack_refused(forge_package(tmp_path / "p", manifest(), body), goal, tmp_path)


def test_a_second_copy_of_a_file_is_refused(goal: Path, tmp_path: Path) -> None:
    assert "unexpected content" in unpack_refused(
        forge_package(tmp_path / "p", manifest(), member() + member()), goal, tmp_path
    )


def test_files_in_another_order_are_refused(goal: Path, tmp_path: Path) -> None:
    body = member(f"{INSIDE}/z") + member()
    assert "unexpected content" in unpack_refused(
        forge_package(tmp_path / "p", manifest(file(f"{INSIDE}/z")), body), goal, tmp_path
    )


def test_a_header_with_further_fields_is_refused(goal: Path, tmp_path: Path) -> None:
    info = tarfile.TarInfo(MAIN)
    info.size, info.pax_headers = len(LINE), {"path": "/etc/passwd", "GNU.sparse.realsize": "99999999999"}
    body = info.tobuf(tarfile.PAX_FORMAT) + LINE + build_tar_padding(len(LINE))
    assert "unexpected content" in unpack_refused(forge_package(tmp_path / "p", manifest(), body), goal, tmp_path)


def test_another_hash_is_refused(goal: Path, tmp_path: Path) -> None:
    told = manifest(file(f"{INSIDE}/z", b"abc"))
    words = unpack_refused(
        forge_package(tmp_path / "p", told, member() + member(f"{INSIDE}/z", b"abd")), goal, tmp_path
    )
    assert "does not match the manifest" in words


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_file_is_refused_at_once(goal: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "missing"):
        assert str(path) in unpack_refused(path, goal, tmp_path)


@pytest.mark.parametrize("data", [b"", b"x", bytes(5000), b"PK\x03\x04" * 100, zstandard.compress(b"x" * 1000)])
def test_what_is_no_package_is_refused(data: bytes, goal: Path, tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(data)
    assert "not a turnlog package" in unpack_refused(tmp_path / "p", goal, tmp_path)


def test_a_tar_archive_of_another_tool_is_refused(goal: Path, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("manifest.json")
        info.size = 2
        archive.addfile(info, io.BytesIO(b"{}"))
    (tmp_path / "p").write_bytes(zstandard.compress(buffer.getvalue()))
    assert "not a turnlog package" in unpack_refused(tmp_path / "p", goal, tmp_path)
    assert "not a turnlog package" in unpack_refused(
        forge_package(tmp_path / "q", b"", first=b"x" * TAR_BLOCK_BYTES), goal, tmp_path
    )


@pytest.mark.skipif(os.name == "nt", reason="needs links")
@pytest.mark.parametrize("place", ["projects", "file-history"])
def test_a_link_in_the_config_folder_leads_nowhere(place: str, goal: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (goal / place).symlink_to(tmp_path / "elsewhere")
    name = f"config/file-history/{ID}/0123@v1"
    package = forge_package(tmp_path / "p", manifest(file(name)), member(name) + member())
    assert "outside " in unpack_refused(package, goal, tmp_path)


def test_the_owner_alone_may_write_what_was_unpacked(goal: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    told = manifest()
    told["files"][0]["mode"] = 0o6777
    package = forge_package(tmp_path / "p", told, member(mode=0o6777))
    with Package(package) as opened:
        (done,) = unpack_package(opened, goal, project_folders={"/home/dana/webshop": tmp_path / "project"})
    if os.name != "nt":
        assert done.path.stat().st_mode & 0o7777 == 0o755


def test_a_project_that_is_no_whole_path_is_not_taken_for_one_here(goal: Path, tmp_path: Path) -> None:
    for project in (".", "", "a\0b", "x" * 5000):
        package = forge_package(tmp_path / "p", manifest(sessions=[session(project=project)]))
        with pytest.raises(TurnlogError, match="--project"), Package(package) as opened:
            unpack_package(opened, goal)


def test_unreadable_is_the_one_kind_of_failure(tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        Package(forge_package(tmp_path / "p", b"{}"))
