"""A huge file is read in parts, with the same result as in one piece."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnlog
from tests.fleet.lakes import add_recorded, add_session, build_session, read_rows
from turnlog.fleet.source import SourceFile
from turnlog.fleet.task import iter_part_lines
from turnlog.store.lake.lake_files import LakeFiles

SECRET = "ghp_" + "Zk3Jx9QwLm2Vt8RbYc5HnPd7" + "SfGu4AeXoW1i"


@pytest.mark.parametrize("redact", [True, False], ids=["redacted", "plain"])
def test_the_rows_do_not_depend_on_whether_a_file_is_split(tmp_path: Path, lake: Path, redact: bool) -> None:
    source = add_recorded(tmp_path / "src")
    build = build_session(4, secret=SECRET)
    build.prompt("at last: " + SECRET + " and mail to dana@example.com")
    add_session(source, build)
    turnlog.build_lake(source, lake, workers=1, redact=redact)
    done = turnlog.build_lake(source, tmp_path / "split", workers=1, redact=redact, split_bytes=700)
    assert done.failed == []
    assert read_rows(lake) == read_rows(tmp_path / "split")


def test_a_split_file_is_one_part_per_piece(tmp_path: Path, lake: Path) -> None:
    path = add_session(tmp_path / "src", build_session(20))
    done = turnlog.build_lake(tmp_path / "src", lake, workers=1, split_bytes=path.stat().st_size // 3)
    assert done.parts >= 4
    assert done.rows["sessions"] == 1


@given(
    lines=st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), max_size=12),
    cuts=st.lists(st.integers(0, 300), max_size=5),
    ends=st.booleans(),
)
def test_parts_of_a_file_cover_every_line_once(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cuts: list[int], ends: bool
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    data = b"\n".join(lines) + (b"\n" if ends else b"")
    (folder / "file.jsonl").write_bytes(data)
    file = SourceFile(1, "file.jsonl", len(data), "", "", None, "file.jsonl", 1, None, None)
    places = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    source = LakeFiles(str(folder))
    found = [
        line for start, end in pairwise(places) if start < end for line in iter_part_lines(source, file, start, end)
    ]
    whole = data.split(b"\n")
    assert b"".join(found) == b"".join(line + b"\n" for line in whole[:-1])
