"""Usage over many files: the same numbers as the full reader, and as the generator of the files knows them."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterable
from datetime import timedelta, timezone
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.corpus.collection import generate, generate_session
from bench.corpus.eras import ERAS
from turnlog.entries.reader import Transcript
from turnlog.errors import Unreadable
from turnlog.session import totals
from turnlog.session.messages import join
from turnlog.session.prices import Tokens
from turnlog.session.totals import Row, by_day_and_model, scan

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = [path for name in ("tests/data", "src/turnlog/demo") for path in sorted((ROOT / name).rglob("*.jsonl"))]


def answer(message: str | None = "msg_1", time: str = "2026-01-02T03:04:05.000Z", **usage: Any) -> dict[str, Any]:
    """A line of an answer."""
    head = {"model": "claude-opus-5", "usage": {"output_tokens": 1, **usage}}
    if message is not None:
        head["id"] = message
    return {"type": "assistant", "uuid": f"u-{time}", "timestamp": time, "message": head}


def write(path: Path, *lines: dict[str, Any] | bytes) -> Path:
    """A file of such lines."""
    raw = [line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode() for line in lines]
    path.write_bytes(b"".join(line + b"\n" for line in raw))
    return path


def joined(paths: Iterable[Path]) -> dict[str, Tokens]:
    """The same by the full reader; messages without any id are told apart by their files."""
    found = {}
    for path in paths:
        for message in join(Transcript.of(path.read_bytes()).entries):
            if message.tokens is not None and not message.is_synthetic:
                found[f"{path}{message.key}" if message.key.startswith("@") else message.key] = message.tokens
    return found


def scanned(paths: Iterable[Path]) -> dict[str, Tokens]:
    return {key: best.tokens for key, best in scan(paths, 1).items()}


@pytest.fixture(scope="module")
def collections(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Generated sessions of every era, and a long one with echoes of its sub-agents."""
    many, one = tmp_path_factory.mktemp("many"), tmp_path_factory.mktemp("one")
    generate(many, 3_000_000, seed=26)
    generate_session(one, 2_000_000, seed=1)
    return many, one


def files(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.jsonl"))


@pytest.mark.parametrize("processes", [1, 2])
def test_totals_of_generated_files_are_those_the_generator_knows(
    collections: tuple[Path, Path], processes: int
) -> None:
    for folder in collections:
        rows: dict[str, dict[str, list[int]]] = {}
        for row, numbers in by_day_and_model(scan(files(folder), processes)).items():
            rows.setdefault(row.day, {})[row.model] = numbers
        assert rows == json.loads((folder / "truth.json").read_bytes())["usage_by_day_and_model"]


def test_generated_files_have_all_that_makes_counting_hard(collections: tuple[Path, Path]) -> None:
    facts = json.loads((collections[0] / "truth.json").read_bytes())["facts"]
    text = b"".join(path.read_bytes() for path in files(*collections))
    assert all(any(f'"version":"{name}"'.encode() in text for name in era.versions) for era in ERAS)
    assert min(facts[name] for name in ("resumed_copies", "subagents", "compactions")) > 0
    assert b'"agent_progress"' in text
    assert b"<synthetic>" in text


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: "/".join(path.parts[-4:]))
def test_totals_of_a_recorded_session_are_those_of_its_messages(path: Path) -> None:
    assert scanned([path]) == joined([path])


def test_totals_of_generated_files_are_those_of_their_messages(collections: tuple[Path, Path]) -> None:
    for path in files(*collections):
        assert scanned([path]) == joined([path])


numbers = st.none() | st.integers(0, 50)
usages = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "input_tokens": numbers | st.just("many") | st.just(1.5),
        "output_tokens": numbers,
        "cache_read_input_tokens": numbers,
        "cache_creation_input_tokens": numbers,
        "cache_creation": st.none()
        | st.fixed_dictionaries({"ephemeral_5m_input_tokens": numbers, "ephemeral_1h_input_tokens": numbers}),
        "server_tool_use": st.none() | st.fixed_dictionaries({"web_search_requests": numbers}),
    },
)
names = st.none() | st.sampled_from(["a", "b", "c", ""]) | st.integers(0, 2)
any_line = st.fixed_dictionaries(
    {"type": st.sampled_from(["assistant", "assistant", "progress", "user"])},
    optional={
        "uuid": names,
        "timestamp": st.sampled_from(["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", 5, None]),
        "message": st.none()
        | st.just("assistant")
        | st.fixed_dictionaries(
            {"role": st.just("assistant"), "usage": usages},
            optional={"id": names, "model": st.sampled_from(["claude-opus-5", "<synthetic>"])},
        ),
        "cwd": st.sampled_from(["/p", 7, "\ud800"]),
    },
)
spacings = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")])
glue = st.sampled_from(["\n", "\n", "\r\n", "\n\n", "", "\0\n", '\n{"type":"assistant"'])


@given(st.lists(st.tuples(any_line, spacings, glue), max_size=8), st.booleans())
def test_totals_of_any_lines_are_those_of_their_messages(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[Any, tuple[str, str], str]], bom: bool
) -> None:
    path = tmp_path_factory.mktemp("any") / "s.jsonl"
    text = "".join(json.dumps(line, separators=spacing) + end for line, spacing, end in lines)
    path.write_bytes(b"\xef\xbb\xbf" * bom + text.encode())
    assert scanned([path]) == joined([path])


@given(st.lists(st.sampled_from([b"\n", b"x", totals.MARKER, b'"assis', b'tant"\n']), max_size=40), st.integers(1, 40))
def test_jumping_finds_the_lines_that_looking_at_every_line_finds(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], size: int
) -> None:
    path = tmp_path_factory.mktemp("jumps") / "s.jsonl"
    path.write_bytes(b"".join(parts))
    with BufferedReader(FileIO(path)) as one, BufferedReader(FileIO(path)) as other:
        assert list(totals._by_jumps(one, bytes.find, size)) == list(totals._by_line(other))


def test_the_quicker_search_is_used_where_it_is_installed(
    collections: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "stringzilla", None)
    plain = scan(files(*collections), 1)
    monkeypatch.delitem(sys.modules, "stringzilla")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "stringzilla.py").write_text("find = bytes.find\n")
    assert totals._finder() is not totals._by_line
    assert scan(files(*collections), 1) == plain


def test_the_largest_value_of_each_field_counts(tmp_path: Path) -> None:
    first = answer(output_tokens=5, input_tokens=1, server_tool_use={"web_search_requests": 2})
    second = answer(output_tokens=3, input_tokens=4, cache_read_input_tokens=9)
    writes = {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 6}
    third = answer(cache_creation_input_tokens=7, cache_creation=writes)
    found = scan([write(tmp_path / "a.jsonl", first, second, third)])
    assert found["msg_1"].tokens == Tokens(4, 5, 9, 2, 6, 2)


def test_a_message_in_several_files_counts_once_on_the_day_of_the_file_that_has_it_first(tmp_path: Path) -> None:
    late = write(tmp_path / "a.jsonl", answer(time="2026-01-09T00:00:00.000Z", output_tokens=8))
    early = write(tmp_path / "b.jsonl", answer(time="2026-01-07T00:00:00.000Z", output_tokens=4))
    for paths in ([late, early], [early, late]):
        for processes in (1, 2):
            rows = by_day_and_model(scan(paths, processes))
            assert rows == {Row("2026-01-07", "claude-opus-5"): [0, 8, 0, 0, 1]}


def test_a_message_belongs_to_the_day_on_which_it_ended(tmp_path: Path) -> None:
    times = ("2026-01-01T23:59:59.000Z", "2026-01-02T00:00:01.000Z")
    found = scan([write(tmp_path / "a.jsonl", *(answer(time=time) for time in times))])
    assert [row.day for row in by_day_and_model(found)] == ["2026-01-02"]
    assert [row.day for row in by_day_and_model(found, timezone(timedelta(hours=-1)))] == ["2026-01-01"]


def test_a_message_without_a_time_is_of_no_day(tmp_path: Path) -> None:
    found = scan([write(tmp_path / "a.jsonl", answer(time=""))])
    assert [row.day for row in by_day_and_model(found)] == [""]


def test_lines_without_a_message_id_are_told_apart_by_uuid(tmp_path: Path) -> None:
    lines = [answer(None, time) for time in ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.000Z")]
    assert len(scan([write(tmp_path / "a.jsonl", *lines)])) == 2


def test_json_with_spaces_counts_and_a_torn_line_does_not(tmp_path: Path) -> None:
    spaced, torn = json.dumps(answer("a")).encode(), json.dumps(answer("b")).encode()[:-9]
    assert scan([write(tmp_path / "a.jsonl", spaced, torn)]).keys() == {"a"}


def test_a_file_that_is_gone_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", answer())
    assert scan([path, tmp_path / "gone.jsonl"]).keys() == {"msg_1"}


@pytest.mark.parametrize("processes", [1, 2])
def test_a_file_that_cannot_be_read_is_told_whichever_process_met_it(tmp_path: Path, processes: int) -> None:
    path = write(tmp_path / "a.jsonl", answer())
    (tmp_path / "folder").mkdir()
    with pytest.raises(Unreadable, match="folder"):
        scan([path, tmp_path / "folder", path], processes)


def test_a_process_with_threads_is_not_forked(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.jsonl", answer(name)) for name in "abc"]
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert scan(paths, 2).keys() == {"a", "b", "c"}
    finally:
        done.set()
        other.join()
