"""Sources and lakes in an object store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import turnlog
from tests.fleet.lakes import add_recorded, add_session, build_session, read_rows
from tests.fleet.object_store import BUCKET, list_variables, serve_bucket
from turnlog.errors import TurnlogError, UsageError
from turnlog.store.lake.lake_files import LakeFiles


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty bucket."""
    with serve_bucket(tmp_path) as address:
        for name, value in list_variables(address).items():
            monkeypatch.setenv(name, value)
        yield f"s3://{BUCKET}"


def upload(source: Path, url: str) -> None:
    files = LakeFiles(url)
    for path in source.rglob("*.jsonl"):
        files.upload(path.relative_to(source).as_posix(), path)


@pytest.mark.slow
def test_a_lake_in_a_bucket_is_the_same_as_one_on_a_disk(tmp_path: Path, lake: Path, bucket: str) -> None:
    source = add_recorded(tmp_path / "src/ana")
    add_session(source, build_session(30))
    upload(tmp_path / "src", f"{bucket}/raw")
    options = {"workers": 1, "layout": "{person}", "split_bytes": 30_000}
    done = turnlog.build_lake(f"{bucket}/raw", f"{bucket}/lake", **options)  # type: ignore[arg-type]
    assert done.failed == []
    assert turnlog.build_lake(f"{bucket}/raw", f"{bucket}/lake", **options).files_read == 0  # type: ignore[arg-type]
    turnlog.build_lake(tmp_path / "src", lake, workers=1, layout="{person}")
    own = ("file", "session_key")  # computed from the place of the source
    assert read_rows(f"{bucket}/lake", *own) == read_rows(lake, *own)
    assert turnlog.report_lake(f"{bucket}/lake").total == turnlog.report_lake(lake).total
    assert turnlog.query_lake(f"{bucket}/lake", "SELECT count(*) FROM usage").rows == [[done.rows["usage"]]]
    turnlog.forget_person(f"{bucket}/lake", "ana")
    assert turnlog.report_lake(f"{bucket}/lake").sessions == 0
    assert [item.name for item in LakeFiles(f"{bucket}/lake").iter_listing("usage")] == []


def test_of_two_writers_of_a_snapshot_one_fails(bucket: str) -> None:
    files = LakeFiles(f"{bucket}/lake")
    files.write_new("a/b", b"first")
    with pytest.raises(FileExistsError):
        files.write_new("a/b", b"second")
    assert files.read("a/b") == b"first"


def test_a_query_can_not_leave_the_lake(tmp_path: Path, bucket: str) -> None:
    add_session(tmp_path / "src", build_session())
    turnlog.build_lake(tmp_path / "src", f"{bucket}/lake", workers=1)
    LakeFiles(f"{bucket}/other").write_new("secret.txt", b"secret")
    with pytest.raises(UsageError, match="disabled by configuration"):
        turnlog.query_lake(f"{bucket}/lake", f"SELECT * FROM read_text('{bucket}/other/secret.txt')")


def test_a_bucket_that_does_not_exist_is_a_one_line_error(tmp_path: Path, bucket: str) -> None:
    add_session(tmp_path / "src", build_session())
    with pytest.raises(TurnlogError) as failure:
        turnlog.build_lake(tmp_path / "src", "s3://no-such-bucket/lake", workers=1)
    assert "s3://no-such-bucket/lake" in str(failure.value)
    assert "\n" not in str(failure.value)
