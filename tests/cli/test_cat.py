"""`turnlog cat`: byte for byte, whatever the file holds."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import Turnlog
from tests.session.build import DATA
from turnlog.entries.reader import scan_lines

EVERY = sorted(DATA.glob("variants/*.jsonl")) + sorted(DATA.glob("sessions/2.1.325/**/????????-*.jsonl"))
PIECES = st.sampled_from(
    [b'{"type":"user","uuid":"u"}', b"{", b"}", b"[1]", b"\n", b"\r\n", b"\0", b"\xef\xbb\xbf", b"\xff", b'"\\ud800"',
     b" ", b"# x", b"// y", b'{"type":"a","type":"b","sessionId":"s"}', b"1e999", b"9" * 400, b"[" * 2000, b"\x1b[2J"]
)  # fmt: skip
ANY = st.binary(max_size=200) | st.lists(PIECES | st.binary(max_size=8), max_size=30).map(b"".join)


@given(ANY)
@example(b"")
@example(b"[" * 100_000)
@example(b'{"a":' * 100_000 + b"1" + b"}" * 100_000)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_the_output_is_the_input_for_any_bytes(turnlog: Turnlog, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(data)
    done = turnlog("cat", path)
    assert (done.status, done.raw, done.err) == (0, data, "")


@given(ANY)
def test_every_byte_is_explained_once_and_in_order(data: bytes) -> None:
    at = 0
    for item, raw in scan_lines(io.BytesIO(data)):
        assert (item.offset, item.size) == (at, len(raw))
        at += item.size
    assert at == len(data)


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem[:40])
def test_every_file_comes_back(turnlog: Turnlog, path: Path) -> None:
    assert turnlog("cat", path).raw == path.read_bytes()


@pytest.mark.parametrize("data", [b"", b"\r\n\0\xff\xfe{\n", b'{"type":"user"}' * 3 + b"\r", bytes(range(256)) * 500])
@pytest.mark.parametrize("word", ["file", "-"])
def test_bytes_pass_through_a_real_process(tmp_path: Path, data: bytes, word: str) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(data)
    words = [sys.executable, "-m", "turnlog", "cat", "-" if word == "-" else str(path)]
    with path.open("rb") as source:
        done = subprocess.run(words, stdin=source, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, data, b"")


def test_memory_is_bounded_by_the_longest_line(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(b'{"type":"user","text":"%s"}\n' % (b"x" * 10_000) * 3_000)  # 30 MB
    code = (
        "import sys, tracemalloc\nfrom turnlog.cli.program import run_program\nrun_program(['cat', "
        "sys.argv[1]])\ntracemalloc.start()\n"
        "status = run_program(['cat', sys.argv[2]])\nprint(status, tracemalloc.get_traced_memory()[1], file=sys.stderr)"
    )
    empty = tmp_path / "empty.jsonl"
    empty.touch()  # the first run imports, which is not what is measured
    words = [sys.executable, "-c", code, str(empty), str(path)]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, timeout=60)
    status, peak = map(int, done.stderr.split())
    assert status == 0
    assert peak < 3_000_000


def test_explain_tells_line_offset_size_kind_and_reason(turnlog: Turnlog, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b'{"type":"system","subtype":"turn_duration"}\n'
        b'{"type":"attachment","attachment":{"type":"date"}}\n'
        b'\n[1]\n{"uuid":"a"}{"type":"user","uuid":"b"}\n{"torn\x1b[2J'
    )
    rows = [line.split(maxsplit=3) for line in turnlog("cat", "--explain", path).lines]
    assert [row[:3] for row in rows] == [
        ["1", "0", "44"], ["2", "44", "51"], ["3", "95", "1"], ["4", "96", "4"],
        ["5", "100", "12"], ["5", "112", "27"], ["6", "139", "10"],
    ]  # fmt: skip
    assert [row[3] for row in rows] == [
        "system/turn_duration",
        "attachment/date",
        "(blank)  an empty line",
        "(value)  a JSON array, not an object",
        "(no type)  something else follows it on the same line",
        "user  follows something else on the same line, where Claude Code does not read it",
        "(torn)  the last line is cut off or still being written",
    ]


@pytest.mark.parametrize("name", ["gone.jsonl", ".", "a\0b"])
def test_a_file_that_can_not_be_read_is_told_in_one_line(turnlog: Turnlog, tmp_path: Path, name: str) -> None:
    done = turnlog("cat", f"{tmp_path}/{name}")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"turnlog: {tmp_path}/")
    assert done.err.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_on_a_terminal_what_could_act_on_it_is_spelled_out(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a\x1b[2J":"\xff"}\n{"b":1}')
    code = "import pty, sys; pty.spawn([sys.executable, '-m', 'turnlog', 'cat', sys.argv[1]])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    assert done.stdout == b'{"a\\x1b[2J":"\\xff"}\r\n{"b":1}\r\n'
