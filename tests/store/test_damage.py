"""Whatever is wrong with the file of an index, it is made again; an index that is only busy or locked is left alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bound import Machine, permissions_bind, posix
from tests.store.index_build import Desk, build_prompts, main
from turnlog.store.database_damage import is_database_damage, put_database_aside
from turnlog.store.index.upkeep import list_index_faults
from turnlog.store.index_file_name import DEFAULT_INDEX_NAME
from turnlog.store.store import Store

HEADER = 100


class Patient:
    """A machine with one session, and an index that is damaged again and again."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder)
        self.desk.write(main(), build_prompts("alpha"))
        self.desk.settle()
        self.desk.refresh()
        self.path = self.desk.data / DEFAULT_INDEX_NAME
        with self.desk.open() as store:
            store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.sound = self.path.read_bytes()

    def restore(self) -> Path:
        shutil.rmtree(self.desk.data)
        self.desk.data.mkdir()
        self.path.write_bytes(self.sound)
        return self.path

    def recover(self) -> list[str]:
        """Use the index as every command does; gives what it says."""
        told: list[str] = []
        with self.desk.open(told.append) as store:
            assert not store.is_temporary
            store.refresh([self.desk.config])
            try:
                count = store.db.execute("SELECT count(*) FROM said('alpha')").get
            except apsw.Error as error:
                if not store.shows_damage(error):
                    raise
                store.discard_damage(error)
                store.refresh([self.desk.config])
                count = store.db.execute("SELECT count(*) FROM said('alpha')").get
            assert count == 1
            faults = list(list_index_faults(store.db))
        assert not faults or not told, "an index that was made again is sound"
        return told


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Patient:
    return Patient(tmp_path_factory.mktemp("patient"))


@pytest.mark.parametrize("place", range(HEADER))
def test_any_byte_of_the_header_may_be_damaged(patient: Patient, place: int) -> None:
    for bits in (0xFF, 0x01, 0x80):
        data = bytearray(patient.sound)
        data[place] ^= bits
        patient.restore().write_bytes(data)
        patient.recover()
        assert patient.recover() == []


@settings(max_examples=60)
@given(changes=st.dictionaries(st.integers(0, HEADER - 1), st.integers(0, 255), min_size=1, max_size=8))
def test_several_bytes_of_the_header_may_be_damaged(patient: Patient, changes: dict[int, int]) -> None:
    data = bytearray(patient.sound)
    for place, value in changes.items():
        data[place] = value
    patient.restore().write_bytes(data)
    patient.recover()


@settings(max_examples=60)
@given(share=st.floats(0, 1))
def test_it_may_be_cut_anywhere(patient: Patient, share: float) -> None:
    patient.restore().write_bytes(patient.sound[: int(len(patient.sound) * share)])
    patient.recover()
    assert patient.recover() == []


@settings(max_examples=40)
@given(ending=st.sampled_from(["-wal", "-shm", "-journal"]), data=st.binary(max_size=70_000))
def test_what_lies_beside_it_may_be_anything(patient: Patient, ending: str, data: bytes) -> None:
    path = patient.restore()
    path.with_name(path.name + ending).write_bytes(data)
    patient.recover()


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_a_folder_in_its_place_is_put_aside(patient: Patient, ending: str) -> None:
    patient.restore()
    path = patient.path.with_name(patient.path.name + ending)
    for _ in range(3):  # also when one was put aside before
        path.unlink(missing_ok=True)
        path.mkdir()
        (path / "something").write_text("of somebody's")
        assert len(patient.recover()) == 1
    kept = list(patient.desk.data.rglob("something"))
    assert len(kept) == 3
    patient.restore()


def test_the_old_index_is_kept_with_its_log(patient: Patient) -> None:
    path = patient.restore()
    path.with_name(f"{DEFAULT_INDEX_NAME}-wal").write_bytes(b"log")
    assert put_database_aside(path).read_bytes() == patient.sound
    assert (path.parent / f"{DEFAULT_INDEX_NAME}.old-wal").read_bytes() == b"log"
    path.write_bytes(b"another")
    put_database_aside(path)
    assert not (path.parent / f"{DEFAULT_INDEX_NAME}.old-wal").exists()
    patient.restore()


@pytest.mark.parametrize("table", ["said", "done", "hump"])
def test_a_full_text_table_that_cannot_be_opened_is_damage(patient: Patient, table: str) -> None:
    patient.restore()
    with patient.desk.open() as store:
        store.db.execute(f"UPDATE {table}_config SET v = 99 WHERE k = 'version'")
    with patient.desk.open() as store:
        assert list(list_index_faults(store.db)) != []
        error = catch_error(lambda: store.db.execute(f"SELECT rowid FROM {table}(?)", ("alpha",)).fetchall())
        assert store.shows_damage(error)
        store.discard_damage(error)
        store.refresh([patient.desk.config])
        assert list(list_index_faults(store.db)) == []


# -- what is no damage


def catch_error(act: Callable[[], object]) -> apsw.Error:
    with pytest.raises(apsw.Error) as caught:
        act()
    return caught.value


def test_a_database_that_is_locked_is_not_damaged(tmp_path: Path) -> None:
    path = tmp_path / DEFAULT_INDEX_NAME
    holder, other = apsw.Connection(str(path)), apsw.Connection(str(path))
    holder.execute("CREATE TABLE t (a); BEGIN EXCLUSIVE")
    assert not is_database_damage(catch_error(lambda: other.execute("SELECT * FROM t").fetchall()), path)
    holder.close()
    other.close()


def test_a_place_that_is_missing_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "none" / DEFAULT_INDEX_NAME
    assert not is_database_damage(catch_error(lambda: apsw.Connection(str(path))), path)


def test_a_mistake_in_a_statement_is_no_damage(patient: Patient) -> None:
    patient.restore()
    with patient.desk.open() as store:
        assert not store.shows_damage(catch_error(lambda: store.db.execute("SELECT one FROM nowhere")))


@posix
@pytest.mark.parametrize(("name", "mode"), [(DEFAULT_INDEX_NAME, 0o400), (DEFAULT_INDEX_NAME, 0o000), (".", 0o500)])
def test_an_index_that_may_not_be_written_stays_where_it_is(patient: Patient, name: str, mode: int) -> None:
    path = patient.restore()
    place = path.parent / name
    place.chmod(mode)
    try:
        with permissions_bind(), Store.open(path.parent) as store:
            assert store.is_temporary
    finally:
        place.chmod(0o700)
    assert path.read_bytes() == patient.sound
    assert not (path.parent / f"{DEFAULT_INDEX_NAME}.old").exists()


@pytest.mark.parametrize(
    ("command", "status"),
    [(["index"], 0), (["index", "rebuild"], 0), (["index", "status"], 0), (["index", "verify"], 1), (["tree"], 0)],
)
def test_every_command_gets_over_a_damaged_header(tmp_path: Path, command: list[str], status: int) -> None:
    machine = Machine(tmp_path)
    machine.write(main(), build_prompts("alpha"))
    machine.turnlog("index")
    (path,) = machine.data.glob("index*.db")
    data = bytearray(path.read_bytes())
    data[44:48] = b"\xff\xff\xff\xff"
    path.write_bytes(data)
    done = machine.turnlog(*command)
    assert done.returncode == status
    assert "is damaged (unsupported file format); it will be rebuilt" in done.stderr
    assert "alpha" in machine.turnlog("search", "alpha").stdout
