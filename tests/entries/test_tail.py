"""Reading what was added to a file: every whole line once, in order, and resets when the file is another."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnlog.entries.tail import Checkpoint, Tail, is_same_start, read_lines_before, read_tail

CHUNKS = st.lists(st.binary(max_size=40) | st.sampled_from([b"\n", b"{}\n", b"\n\n", b"a" * 300]), max_size=20)
LIMITS = st.none() | st.integers(min_value=0, max_value=64)


def settle(path: Path, seconds: float = 60) -> None:
    """Make a file look as if it had not been touched for a while."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def drain(path: Path, checkpoint: Checkpoint | None, limit: int | None = None) -> tuple[list[Tail], Checkpoint]:
    """Read until nothing is left."""
    tails = []
    while (tail := read_tail(path, checkpoint, limit)).data or tail.reset:
        tails.append(tail)
        checkpoint = tail.checkpoint
    return tails, tail.checkpoint


@given(chunks=CHUNKS, limit=LIMITS, saved=st.booleans())
@example(chunks=[b"a", b"b", b"\n"], limit=1, saved=True)
@example(chunks=[b"x" * 9000 + b"\n", b"y\n"], limit=5, saved=False)
def test_any_split_into_appended_chunks_gives_every_whole_line_once(
    chunks: list[bytes], limit: int | None, saved: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.touch()
        checkpoint: Checkpoint | None = None
        got = b""
        for chunk in chunks:
            with path.open("ab") as file:
                file.write(chunk)
            tails, checkpoint = drain(path, checkpoint, limit)
            for tail in tails:
                assert tail.reset is None
                assert tail.start == len(got)
                assert tail.data.endswith(b"\n")
                assert limit is None or len(tail.data) <= max(limit, 1) or tail.data.count(b"\n") == 1
                got += tail.data
            whole = path.read_bytes()
            assert got == whole[: whole.rfind(b"\n") + 1]
            assert checkpoint.offset == len(got)
            if saved:
                checkpoint = Checkpoint.from_json(checkpoint.to_json())


@given(before=st.binary(min_size=1, max_size=600), after=st.binary(max_size=600))
def test_other_content_under_the_same_name_starts_again_or_begins_with_what_was_read(
    before: bytes, after: bytes
) -> None:
    """Only a changed middle of a long beginning is not noticed; these files are too short for one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.write_bytes(before + b"\n")
        first = read_tail(path)
        path.write_bytes(after)
        second = read_tail(path, first.checkpoint)
        if after.startswith(first.data):
            assert second.reset is None
            assert first.data + second.data == after[: after.rfind(b"\n") + 1]
        else:
            assert second.reset in ("truncated", "replaced", "rewritten")
            assert (second.start, second.data) == (0, after[: after.rfind(b"\n") + 1])
            assert second.checkpoint.generation == first.checkpoint.generation + 1


def test_a_torn_last_line_waits_for_its_newline(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'{"a":1}\n{"b":')
    first = read_tail(path)
    assert first.data == b'{"a":1}\n'
    with path.open("ab") as file:
        file.write(b"2}")
    assert read_tail(path, first.checkpoint).data == b""
    with path.open("ab") as file:
        file.write(b"\n")
    assert read_tail(path, first.checkpoint).data == b'{"b":2}\n'


def test_a_missing_file_is_said_and_keeps_the_checkpoint(tmp_path: Path) -> None:
    assert read_tail(tmp_path / "none") == Tail(b"", 0, Checkpoint(), "missing")
    path = tmp_path / "a"
    path.write_bytes(b"one\n")
    checkpoint = read_tail(path).checkpoint
    path.unlink()
    assert read_tail(path, checkpoint) == Tail(b"", 4, checkpoint, "missing")
    assert read_tail(path / "below", checkpoint).reset == "missing"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"not a regular file|denied"):
        read_tail(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"not a regular file"):
        read_tail(tmp_path / "pipe")


def test_a_shorter_file_is_truncated(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\n")
    first = read_tail(path)
    os.truncate(path, 4)
    second = read_tail(path, first.checkpoint)
    assert (second.reset, second.data, second.checkpoint.generation) == ("truncated", b"one\n", 1)


@pytest.mark.skipif(os.name == "nt", reason="needs inodes")
def test_a_file_moved_into_place_is_replaced_even_with_the_same_content(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"one\n")
    first = read_tail(path)
    other.write_bytes(b"one\ntwo\n")
    other.replace(path)
    second = read_tail(path, first.checkpoint)
    assert (second.reset, second.start, second.data) == ("replaced", 0, b"one\ntwo\n")


def test_a_copied_and_cut_log_that_grew_again_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n")
    first = read_tail(path)
    path.write_bytes(b"another\nand more\n")
    assert read_tail(path, first.checkpoint).reset == "replaced"


def test_content_of_the_same_size_written_into_the_same_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n")
    settle(path)
    first = read_tail(path)
    path.write_bytes(b"two\n")
    assert read_tail(path, first.checkpoint).reset == "replaced"


def test_rewritten_last_lines_behind_the_same_beginning_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 5000 + b"\nold\n")
    first = read_tail(path)
    path.write_bytes(b"x" * 5000 + b"\nnew\nmore\n")
    second = read_tail(path, first.checkpoint)
    assert (second.reset, second.start) == ("rewritten", 0)


def test_a_change_within_the_resolution_of_the_clock_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n")
    status = path.stat()
    first = read_tail(path)
    path.write_bytes(b"two\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert first.checkpoint.mtime_ns == 0
    assert read_tail(path, first.checkpoint).data == b"two\n"


def test_an_unchanged_file_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntorn")
    settle(path)
    first = read_tail(path)
    opened: list[object] = []
    watching = True

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open":
            opened.append(arguments[0])

    sys.addaudithook(watch)
    again = read_tail(path, first.checkpoint)
    assert opened == []
    read_tail(path)
    watching = False
    assert opened == [str(path)]
    assert again == Tail(b"", 4, first.checkpoint, None)


def test_with_a_limit_the_rest_is_not_mistaken_for_seen(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1\n22\n333\n")
    settle(path)
    first = read_tail(path, None, limit=4)
    assert first.data == b"1\n"
    assert read_tail(path, first.checkpoint, limit=4).data == b"22\n"


def test_a_line_beyond_the_limit_comes_whole_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    long = b"x" * (3 << 20) + b"\n"
    path.write_bytes(long + b"next\n" + b"y" * (2 << 20))
    tails, checkpoint = drain(path, None, limit=1000)
    assert [tail.data for tail in tails] == [long, b"next\n"]
    assert checkpoint.offset == len(long) + 5


def test_replacing_a_file_of_which_nothing_was_read_is_no_reset(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"torn")
    first = read_tail(path)
    path.unlink()
    path.write_bytes(b"new\n")
    second = read_tail(path, first.checkpoint)
    assert (second.data, second.reset, second.checkpoint.generation) == (b"new\n", None, 0)


def test_a_removed_torn_tail_is_no_reset(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntorn")
    first = read_tail(path)
    os.truncate(path, 4)
    assert read_tail(path, first.checkpoint)[::3] == (b"", None)


def test_a_checkpoint_survives_json() -> None:
    checkpoint = Checkpoint(7, 8, 9, 10, "aa", "bb", 3)
    assert Checkpoint.from_json(checkpoint.to_json()) == checkpoint
    assert json.loads(checkpoint.to_json())["offset"] == 7


@pytest.mark.parametrize(
    "change",
    [{"offset": -1}, {"offset": "1"}, {"offset": True}, {"offset": None}, {"head_hash": 5}, {"new": 1}],
)
def test_what_is_no_checkpoint_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not a checkpoint"):
        Checkpoint.from_json(json.dumps({**Checkpoint()._asdict(), **change}))


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", b"\xff"])
def test_other_json_is_no_checkpoint(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"checkpoint|Expecting|decode"):
        Checkpoint.from_json(text)


@pytest.mark.corpus
def test_recorded_files_come_back_whole_in_small_bites(corpus: Path) -> None:
    for path in sorted((corpus / "lab").rglob("*.jsonl"))[::7]:
        data = path.read_bytes()
        tails, _ = drain(path, None, limit=5000)
        assert b"".join(tail.data for tail in tails) == data[: data.rfind(b"\n") + 1]


def test_a_file_that_has_only_grown_has_the_same_start(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntwo\n")
    checkpoint = read_tail(path).checkpoint
    with path.open("ab") as file:
        file.write(b"three\n")
    with path.open("rb") as file:
        assert is_same_start(file.fileno(), checkpoint)
    path.write_bytes(b"one\n")
    with path.open("rb") as file:
        assert not is_same_start(file.fileno(), checkpoint)
    path.write_bytes(b"one\nsix\nthree\n")
    with path.open("rb") as file:
        assert not is_same_start(file.fileno(), checkpoint)


@pytest.mark.parametrize(
    ("start", "end", "limit", "expected"),
    [
        (0, 8, 100, b"one\ntwo\n"),
        (0, 8, 5, b"one\n"),
        (4, 8, 1, b"two\n"),
        (8, 11, 100, b"end"),
        (4, 11, 100, b"two\n"),
    ],
)
def test_lines_before_a_place_are_whole_but_for_a_last_one(
    start: int, end: int, limit: int, expected: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntwo\nend")
    with path.open("rb") as file:
        assert read_lines_before(file.fileno(), start, end, limit) == expected
