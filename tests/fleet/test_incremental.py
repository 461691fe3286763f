"""A build reads only what is new or changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import turnlog
from tests.fleet.lakes import add_recorded, add_session, build_session, read_rows
from turnlog.errors import NotFound, TurnlogError, UsageError
from turnlog.fleet.upkeep import KEPT_SNAPSHOTS, MAX_SMALL_PARTS
from turnlog.store.lake.lake import Lake
from turnlog.store.lake.lake_files import LakeFiles
from turnlog.store.lake.snapshot import list_snapshots, load_snapshot


def build(source: Path, lake: Path, **options: object) -> turnlog.LakeBuild:
    return turnlog.build_lake(source, lake, **{"workers": 1, **options})  # type: ignore[arg-type]


def test_a_second_build_changes_nothing(tmp_path: Path, lake: Path) -> None:
    source = add_recorded(tmp_path / "src")
    first = build(source, lake)
    second = build(source, lake)
    assert (second.files_read, second.files_unchanged, second.snapshot) == (0, first.files_read, first.snapshot)


def test_appended_lines_replace_the_rows_of_the_old_version(tmp_path: Path, lake: Path) -> None:
    source, fresh = tmp_path / "src", tmp_path / "fresh"
    growing = build_session(1)
    path = add_session(source, growing)
    add_session(source, build_session(3))
    build(source, lake)
    growing.prompt("more")
    growing.answer("sure", id="msg_more", usage={"input_tokens": 1, "output_tokens": 7})
    path.write_bytes(growing.data())
    done = build(source, lake)
    assert (done.files_read, done.files_unchanged) == (1, 1)
    build(source, fresh)
    assert read_rows(lake) == read_rows(fresh)


def test_a_deleted_file_is_marked_and_still_counts(tmp_path: Path, lake: Path) -> None:
    source = tmp_path / "src"
    path = add_session(source, build_session())
    add_session(source, build_session())
    build(source, lake)
    path.unlink()
    assert build(source, lake).files_deleted == 1
    assert build(source, lake).files_deleted == 0
    found = turnlog.report_lake(lake)
    assert (found.deleted_files, found.sessions, found.total.amounts.messages) == (1, 2, 4)
    rows = turnlog.query_lake(lake, "SELECT count(*) FROM sessions WHERE deleted IS NOT NULL").rows
    assert rows == [[1]]


def test_a_file_that_comes_back_is_live_again(tmp_path: Path, lake: Path) -> None:
    source = tmp_path / "src"
    path, data = add_session(source, build_session()), b""
    add_session(source, build_session())
    build(source, lake)
    data = path.read_bytes()
    path.unlink()
    build(source, lake)
    path.write_bytes(data)
    build(source, lake)
    assert turnlog.report_lake(lake).deleted_files == 0
    assert turnlog.report_lake(lake).total.amounts.messages == 4


def test_an_older_snapshot_can_still_be_read(tmp_path: Path, lake: Path) -> None:
    source = tmp_path / "src"
    add_session(source, build_session())
    build(source, lake)
    add_session(source, build_session())
    build(source, lake)
    assert turnlog.report_lake(lake, snapshot=1).total.amounts.messages == 2
    assert turnlog.report_lake(lake).total.amounts.messages == 4
    with pytest.raises(NotFound, match="no snapshot 9; this lake has 1 to 2"):
        turnlog.report_lake(lake, snapshot=9)


@pytest.mark.slow
def test_small_parts_are_joined_and_old_snapshots_expire(tmp_path: Path, lake: Path) -> None:
    source, fresh = tmp_path / "src", tmp_path / "fresh"
    for _ in range(MAX_SMALL_PARTS + 3):
        add_session(source, build_session(1))
        build(source, lake)
    files = LakeFiles(str(lake))
    assert len(load_snapshot(files).parts) <= 3
    assert len(list_snapshots(files)) <= KEPT_SNAPSHOTS + 1
    assert len(load_snapshot(files).catalogs) < MAX_SMALL_PARTS
    build(source, fresh)
    assert read_rows(lake) == read_rows(fresh)
    assert build(source, lake).files_read == 0


def test_a_file_that_cannot_be_read_is_reported_and_tried_again(tmp_path: Path, lake: Path) -> None:
    source = tmp_path / "src"
    add_session(source, build_session())
    secret = add_session(source, build_session())
    data = secret.read_bytes()
    secret.write_bytes(data + b'{"type":"user","uuid":"x","message":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n")
    done = build(source, lake)
    assert done.files_read + len(done.failed) == 2
    assert turnlog.report_lake(lake).total.amounts.messages == 2 * done.files_read
    secret.write_bytes(data)
    done = build(source, lake)
    assert done.failed == []
    assert turnlog.report_lake(lake).total.amounts.messages == 4
    assert turnlog.report_lake(lake).failed_files == 0


def test_changing_the_team_of_a_person_reads_the_files_again(tmp_path: Path, lake: Path) -> None:
    source = tmp_path / "src"
    add_session(source / "ana", build_session())
    build(source, lake, layout="{person}", team="web")
    assert build(source, lake, layout="{person}", team="ops").files_read == 1
    assert [row.name for row in turnlog.report_lake(lake).teams] == ["ops"]


def test_all_files_can_be_read_again(tmp_path: Path, lake: Path) -> None:
    source = add_recorded(tmp_path / "src")
    first = build(source, lake)
    before = read_rows(lake)
    assert build(source, lake, again=True).files_read == first.files_read
    assert read_rows(lake) == before


def test_two_sources_share_a_lake(tmp_path: Path, lake: Path) -> None:
    for name in ("one", "two"):
        add_session(tmp_path / name, build_session())
        build(tmp_path / name, lake)
    assert build(tmp_path / "one", lake).files_deleted == 0
    assert turnlog.report_lake(lake).sessions == 2


def test_a_lake_is_built_with_one_key(tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_session(tmp_path / "src", build_session())
    build(tmp_path / "src", lake)
    monkeypatch.setenv("TURNLOG_FLEET_KEY", "another key of sufficient length")
    with pytest.raises(UsageError, match="built with another key"):
        build(tmp_path / "src", lake)


def test_a_lake_is_redacted_or_not(tmp_path: Path, lake: Path) -> None:
    add_session(tmp_path / "src", build_session())
    build(tmp_path / "src", lake)
    with pytest.raises(UsageError, match="this lake is redacted"):
        build(tmp_path / "src", lake, redact=False)


def test_the_lake_must_not_be_inside_the_source(tmp_path: Path) -> None:
    add_session(tmp_path / "src", build_session())
    with pytest.raises(UsageError, match="must not be inside"):
        build(tmp_path / "src", tmp_path / "src" / "lake")


def test_a_source_without_files_is_an_error(tmp_path: Path, lake: Path) -> None:
    (tmp_path / "src").mkdir()
    with pytest.raises(NotFound, match="contains no files"):
        build(tmp_path / "src", lake)
    with pytest.raises(NotFound, match="no such folder"):
        build(tmp_path / "nowhere", lake)


def test_what_is_not_a_lake_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound, match="not a lake"):
        turnlog.report_lake(tmp_path / "empty")
    with pytest.raises(UsageError, match="unknown scheme 'ftp'"):
        turnlog.report_lake("ftp://host/lake")


def test_a_damaged_snapshot_is_a_one_line_error(tmp_path: Path, lake: Path) -> None:
    add_session(tmp_path / "src", build_session())
    build(tmp_path / "src", lake)
    (snapshot,) = (lake / "_turnlog/snapshots").iterdir()
    snapshot.write_bytes(b"nothing")
    with pytest.raises(TurnlogError, match=r"damaged .*--snapshot"):
        turnlog.report_lake(lake)


def test_the_schemas_state_their_table_and_format(tmp_path: Path, lake: Path) -> None:
    from importlib import import_module

    add_session(tmp_path / "src", build_session())
    build(tmp_path / "src", lake)
    with Lake(str(lake)) as opened:
        for table in opened.snapshot.schemas:
            (path,) = opened.snapshot.list_table_paths(table)
            schema = import_module("pyarrow.parquet").read_schema(os.path.join(lake, path))  # noqa: PTH118
            assert (schema.metadata[b"turnlog.table"], schema.metadata[b"turnlog.format"]) == (table.encode(), b"2")
            assert schema.names == list(opened.snapshot.schemas[table])
            assert f"{table}/month=2026-01/project_key=shop-" in path
