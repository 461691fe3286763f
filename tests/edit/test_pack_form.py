"""The small parts of a package: lines out of pieces, and headers that any tar reads."""

from __future__ import annotations

import io
import tarfile

from hypothesis import given
from hypothesis import strategies as st

from turnlog.edit.package.pack_source import split_byte_lines
from turnlog.edit.package.tar_format import build_tar_header, build_tar_padding

PIECES = st.lists(st.text("ab\n", max_size=6).map(str.encode), max_size=8)
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=300)


@given(PIECES)
def test_lines_are_the_same_however_the_bytes_are_cut(pieces: list[bytes]) -> None:
    assert list(split_byte_lines(pieces)) == io.BytesIO(b"".join(pieces)).readlines()


@given(NAMES, st.sampled_from([0, 1, 511, 512, 8**11 - 1, 8**11, 10**15]), st.sampled_from([0o600, 0o755, 0o7777]))
def test_another_program_reads_name_size_and_mode_from_a_header(name: str, size: int, mode: int) -> None:
    data = build_tar_header(name, size, mode, 1_700_000_000)
    assert len(data) % 512 == 0
    with tarfile.open(fileobj=io.BytesIO(data + bytes(1024)), mode="r|") as archive:
        found = archive.next()
    assert found is not None
    expected = name.rstrip("/") if name.endswith("/") else name
    assert found.name.rstrip("/") == expected.rstrip("/")
    assert (found.size, found.mode, found.mtime, found.isreg()) == (size, mode, 1_700_000_000, True)


@given(st.integers(0, 10_000))
def test_what_stands_behind_a_file_fills_its_last_block(size: int) -> None:
    assert (size + len(build_tar_padding(size))) % 512 == 0
    assert len(build_tar_padding(size)) < 512


@given(st.integers(-(10**20), 10**20))
def test_a_time_that_tar_can_not_write_is_the_nearest_that_it_can(mtime: int) -> None:
    assert len(build_tar_header("x", 0, 0o600, mtime)) == 512
