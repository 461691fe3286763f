"""The index file itself: made when it is missing, made again when it is damaged, and never anybody's problem."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.conftest import ROOT
from tests.store.index_build import LONG_AGO, ONE, SLUG, TWO, Desk, build_prompts, content, main, recorded_lines
from turnlog.errors import TurnlogError
from turnlog.store.index_file_name import DEFAULT_INDEX_NAME, INDEX_VERSION
from turnlog.store.store import Store

posix = pytest.mark.skipif(os.name == "nt", reason="needs the modes of POSIX")
noise = random.Random(4).randbytes


@pytest.fixture
def filled_desk(desk: Desk) -> Desk:
    """An index of two sessions."""
    lines = recorded_lines()
    desk.write(main(), b"".join(lines[:60]))
    desk.write(main(TWO), b"".join(lines[60:90]))
    desk.refresh()
    return desk


def opened_again(desk: Desk) -> list[str]:
    """Open and refresh; what was told. The index must then be as if it were new."""
    told: list[str] = []
    with desk.open(told.append) as store:
        store.refresh([desk.config])
        assert not store.is_temporary
        found = content(store.db)
    assert found == desk.scratch(desk.data.with_name("scratch"))
    return told


def test_an_index_is_made_where_there_is_none(desk: Desk) -> None:
    with desk.open() as store:
        assert store.path == desk.data / DEFAULT_INDEX_NAME
        assert store.status().files == 0
        assert store.db.pragma("journal_mode") == "wal"
    assert (desk.data / DEFAULT_INDEX_NAME).stat().st_size > 0


def test_its_size_is_told_as_if_all_were_merged(desk: Desk) -> None:
    desk.write(main(), b"".join(recorded_lines()))
    with desk.open() as store:
        store.refresh([desk.config])
        assert (desk.data / f"{DEFAULT_INDEX_NAME}-wal").stat().st_size > 0
        told = store.status().size
    assert told == (desk.data / DEFAULT_INDEX_NAME).stat().st_size


@posix
def test_nobody_else_may_read_it(filled_desk: Desk) -> None:
    os.umask(before := os.umask(0o022))
    assert before is not None
    with filled_desk.open() as store:
        store.db.execute("UPDATE file SET gone = NULL")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in filled_desk.data.iterdir()}
    assert stat.S_IMODE(filled_desk.data.stat().st_mode) == 0o700
    assert {name for name in modes if name.startswith(DEFAULT_INDEX_NAME)} >= {
        DEFAULT_INDEX_NAME,
        f"{DEFAULT_INDEX_NAME}-wal",
    }
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: noise(len(data)),
        lambda data: b"\0" * 100 + data[100:],
        lambda data: b"SQLite format 3\0" + noise(84) + data[100:],
        lambda data: data[: len(data) // 2],
        lambda data: data[:50],
        lambda data: data[:4096] + noise(len(data) - 4096),
        lambda data: data[:100] + bytes(len(data) - 100),
    ],
    ids=["noise", "no header", "a strange header", "half of it", "fifty bytes", "noise behind the first page", "zeros"],
)
def test_a_damaged_index_is_put_aside_and_made_again(filled_desk: Desk, damage: object) -> None:
    path = filled_desk.data / DEFAULT_INDEX_NAME
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    told = opened_again(filled_desk)
    assert len(told) == 1
    assert "is damaged" in told[0]
    assert "will be rebuilt" in told[0]
    assert (filled_desk.data / f"{DEFAULT_INDEX_NAME}.old").exists()
    assert opened_again(filled_desk) == []


def test_damage_in_the_middle_is_no_wrong_answer_and_no_crash(filled_desk: Desk) -> None:
    path, chance = filled_desk.data / DEFAULT_INDEX_NAME, random.Random(7)
    whole = path.read_bytes()
    lines = recorded_lines()
    for number in range(12):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 3, 10])):
            page = chance.randrange(1, len(data) // 4096)
            data[page * 4096 : page * 4096 + 512] = chance.choice([bytes(512), noise(512)])
        path.write_bytes(data)
        filled_desk.append(main(), b"".join(lines[100 + number : 102 + number]))
        with filled_desk.open() as store:
            try:
                store.refresh([filled_desk.config])
                store.status()
            except (apsw.CorruptError, TurnlogError):
                continue
        for name in (f"{DEFAULT_INDEX_NAME}-wal", f"{DEFAULT_INDEX_NAME}-shm"):
            (filled_desk.data / name).unlink(missing_ok=True)
    path.write_bytes(noise(5000))
    assert len(opened_again(filled_desk)) == 1


@pytest.mark.parametrize("version", [INDEX_VERSION - 1, INDEX_VERSION + 1, 0, 99])
def test_an_index_of_another_version_is_put_aside_and_made_again(filled_desk: Desk, version: int) -> None:
    with filled_desk.open() as store:
        store.db.pragma("user_version", version)
    (told,) = opened_again(filled_desk)
    assert "written by a different version" in told
    old = apsw.Connection(str(filled_desk.data / f"{DEFAULT_INDEX_NAME}.old"), flags=apsw.SQLITE_OPEN_READONLY)
    assert old.pragma("user_version") == version
    old.close()


def test_an_empty_file_is_a_new_index(desk: Desk) -> None:
    desk.data.mkdir()
    (desk.data / DEFAULT_INDEX_NAME).touch()
    desk.write(main(), build_prompts("one"))
    assert opened_again(desk) == []


@posix
def test_an_index_that_is_a_link_is_followed(desk: Desk, tmp_path: Path) -> None:
    desk.data.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (desk.data / DEFAULT_INDEX_NAME).symlink_to(tmp_path / "elsewhere" / DEFAULT_INDEX_NAME)
    desk.write(main(), build_prompts("one"))
    assert opened_again(desk) == []
    assert (tmp_path / "elsewhere" / DEFAULT_INDEX_NAME).stat().st_size > 0


def test_a_data_folder_that_is_a_file_is_told(desk: Desk) -> None:
    desk.data.write_text("no folder")
    told: list[str] = []
    with desk.open(told.append) as store:
        assert store.is_temporary
    assert str(desk.data) in told[0]


def tree(folder: Path) -> dict[str, tuple[bytes, int, int, int]]:
    def read_file_state(path: Path) -> tuple[bytes, int, int, int]:
        now = path.lstat()
        return path.read_bytes() if path.is_file() else b"", now.st_mode, now.st_mtime_ns, now.st_ino

    return {str(path): read_file_state(path) for path in [folder, *folder.rglob("*")]}


def test_nothing_is_written_into_the_folders_of_the_client(desk: Desk) -> None:
    lines = recorded_lines()
    desk.write(main(), b"".join(lines[:50]))
    desk.write(f"projects/{SLUG}/{ONE}/subagents/agent-a.jsonl", build_prompts("agent"))
    desk.write(f"projects/{SLUG}/{ONE}/tool-results/a.txt", b"output")
    (desk.config / "projects" / "-empty").mkdir()
    before = tree(desk.config)
    with desk.open() as store:
        store.refresh([desk.config])
        store.refresh([desk.config])
    assert tree(desk.config) == before


def test_a_config_folder_that_is_not_there_is_an_empty_one(desk: Desk, tmp_path: Path) -> None:
    with desk.open() as store:
        assert store.refresh([tmp_path / "nowhere"]).known == 0
    assert not (tmp_path / "nowhere").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if sys.platform != "linux":
        pytest.skip("needs a tmpfs")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this user may not mount a disk: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_on_a_full_disk_a_copy_in_a_temporary_folder_goes_on_and_the_index_stays_as_it_was(
    desk: Desk, small_disk: Path
) -> None:
    desk.data = small_disk / "turnlog"
    desk.write(main(), build_prompts("before"))
    desk.refresh()
    words = " ".join(f"word{number}" for number in range(100_000))
    desk.write(main(TWO), build_prompts(words))
    with desk.open() as store:
        store.refresh([desk.config])
        assert (store.is_temporary, store.path.is_relative_to(small_disk)) == (True, False)
        for word in ("before", "word99999"):
            assert store.db.execute("SELECT count(*) FROM said WHERE said MATCH ?", (word,)).get == 1
    assert not store.path.exists()
    with desk.open() as store:
        assert not store.is_temporary
        assert store.db.execute("PRAGMA integrity_check").get == "ok"
        assert store.db.execute("SELECT count(*) FROM said WHERE said MATCH 'before'").get == 1
    (desk.config / main(TWO)).unlink()
    desk.write(main(TWO), build_prompts("small"))
    desk.refresh()
    assert desk.content().there == desk.scratch(desk.config.with_name("scratch")).there


def fill_disk(disk: Path) -> None:
    """Leave no byte free."""
    with (disk / "filler").open("ab", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"x" * 4096)


def test_a_complete_index_on_a_full_disk_is_copied_and_nothing_is_read_again(desk: Desk, small_disk: Path) -> None:
    desk.data = small_disk / "turnlog"
    desk.write(main(), build_prompts("before"))
    os.utime(desk.config / main(), (LONG_AGO, LONG_AGO))
    desk.refresh()
    fill_disk(small_disk)
    told: list[str] = []
    with Store.open(desk.data, told.append) as store:
        assert (store.is_temporary, store.refresh([desk.config]).files) == (True, 0)
        assert store.db.execute("SELECT count(*) FROM said WHERE said MATCH 'before'").get == 1
    assert told == [f"{desk.data}: the disk is full; this run uses a copy of the index in a temporary folder"]


def test_a_first_index_for_which_the_disk_has_no_room_is_built_in_a_temporary_folder(
    desk: Desk, small_disk: Path
) -> None:
    desk.data = small_disk / "turnlog"
    desk.write(main(), build_prompts("before"))
    fill_disk(small_disk)
    told: list[str] = []
    with Store.open(desk.data, told.append) as store:
        assert (store.is_temporary, store.refresh([desk.config]).files) == (True, 1)
    assert "the disk is full; this run builds the index in a temporary folder" in told[0]


def test_a_disk_that_is_full_from_the_beginning_is_told(desk: Desk, small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "ballast").write_bytes(bytes(2 << 20))
    desk.data = small_disk / "turnlog"
    desk.write(main(), build_prompts("before"))
    told: list[str] = []
    try:
        with desk.open(told.append) as store:
            store.refresh([desk.config])
            assert store.is_temporary
            assert len(told) == 1
    except TurnlogError as error:
        assert "disk is full" in str(error)  # noqa: PT017


@posix
def test_a_limit_of_the_size_of_files_is_told_in_one_line(desk: Desk) -> None:
    desk.write(main(), build_prompts(" ".join(f"word{number}" for number in range(200_000))))
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))\n"
        "from turnlog.cli.program import run_program; sys.exit(run_program(['index']))"
    )
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(desk.config), "TURNLOG_HOME": str(desk.data)}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 1
    assert "internal error" not in done.stderr
    assert desk.refresh().files == 1


@pytest.fixture
def read_only(filled_desk: Desk, tmp_path: Path) -> Iterator[Desk]:
    """A desk whose data folder lies on a disk that can't be written to."""
    folder = tmp_path / "frozen"
    folder.mkdir()
    if sys.platform != "linux":
        pytest.skip("needs a tmpfs")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this user may not mount a disk: {done.stderr.strip()}")
    shutil.copytree(filled_desk.data, folder / "data")
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    filled_desk.data = folder / "data"
    yield filled_desk
    subprocess.run(["umount", "-l", folder], check=True)


def test_in_a_read_only_home_the_index_is_made_for_once(read_only: Desk) -> None:
    read_only.append(main(), build_prompts("later"))
    told: list[str] = []
    with read_only.open(told.append) as store:
        assert store.is_temporary
        assert store.refresh([read_only.config]).files == 2
        folder = store.folder
    assert len(told) == 1
    assert not folder.exists()


@posix
def test_what_a_killed_process_left_in_a_read_only_home_does_no_harm(filled_desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "frozen"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this user may not mount a disk: {done.stderr.strip()}")
    try:
        with filled_desk.open() as store:
            filled_desk.append(main(), build_prompts("later"))
            store.refresh([filled_desk.config])
            shutil.copytree(filled_desk.data, folder / "data")
        assert (folder / "data" / f"{DEFAULT_INDEX_NAME}-wal").exists()
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        with Store.open(folder / "data") as store:
            store.refresh([filled_desk.config])
            found = content(store.db)
        assert found == filled_desk.scratch(tmp_path / "scratch")
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


UNREADABLE = """
import os, sys
from pathlib import Path
from turnlog.store.store import Store
config, data, other = map(Path, sys.argv[1:])
with Store.open(other / "data") as store:
    store.refresh([other / "claude"])  # so that all modules are loaded: who is not root may not find them
if os.geteuid() == 0:
    os.seteuid(65534)
with Store.open(data) as store:
    done = store.refresh([config])
    print(done.files, done.left, *done.unread)
"""


@posix
def test_a_file_that_cannot_be_read_is_told_and_the_others_are_read(desk: Desk, tmp_path: Path) -> None:
    desk.write(main(), build_prompts("loaded"))
    with tempfile.TemporaryDirectory() as folder:
        other = Desk(Path(folder))
        other.data.mkdir()
        other.write(main(), build_prompts("open"))
        other.write(main(TWO), build_prompts("closed")).chmod(0)
        if os.geteuid() == 0:
            for path in [Path(folder), *Path(folder).rglob("*")]:
                os.chown(path, 65534, -1)
        words = [sys.executable, "-c", UNREADABLE, str(other.config), str(other.data), str(tmp_path)]
        # Whoever measures the lines could not write down what it measured.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        done = subprocess.run(words, cwd=ROOT, capture_output=True, encoding="utf-8", env=environment)
        assert done.stderr == ""
        files, left, unread = done.stdout.split(" ", 2)
        assert files == "1"
        assert unread == f"{other.config / main(TWO)}: Permission denied\n"
        assert left == "0", "nothing was interrupted"


def test_a_file_from_the_future_is_read_once_and_noticed_again(desk: Desk, tmp_path: Path) -> None:
    path = desk.write(main(), build_prompts("one"))
    os.utime(path, (4_000_000_000, 4_000_000_000))
    desk.refresh()
    desk.write(main(), build_prompts("two"))
    os.utime(path, (4_000_000_000, 4_000_000_000))
    desk.refresh()
    assert desk.content() == desk.scratch(tmp_path / "scratch")


def test_a_file_whose_time_jumps_back_is_read_again(desk: Desk, tmp_path: Path) -> None:
    path = desk.write(main(), build_prompts("one"))
    desk.settle()
    desk.refresh()
    desk.write(main(), build_prompts("two"))
    os.utime(path, (1_000_000, 1_000_000))
    desk.refresh()
    assert desk.content() == desk.scratch(tmp_path / "scratch")
    os.utime(path, (0, 0))
    desk.refresh()
    assert desk.content() == desk.scratch(tmp_path / "scratch2")


def test_other_bytes_of_the_same_size_and_time_are_noticed_while_the_time_is_young(desk: Desk, tmp_path: Path) -> None:
    path = desk.write(main(), build_prompts("one"))
    now = path.stat().st_mtime_ns
    desk.refresh()
    path.write_bytes(build_prompts("two"))
    os.utime(path, ns=(now, now))
    desk.refresh()
    assert desk.content() == desk.scratch(tmp_path / "scratch")
