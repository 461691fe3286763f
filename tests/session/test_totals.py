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

from bench.corpus.collection import generate_collection, generate_session
from bench.corpus.eras import ERAS
from tests.session.build import find_recording
from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.errors import Unreadable
from turnlog.session.messages import Message, join_messages
from turnlog.session.usage import totals
from turnlog.session.usage.message_counts import (
    ECHO_SIDE,
    MAX_MESSAGE_TOKENS,
    EchoLine,
    MessageCounts,
    count_echo,
    count_line,
    merge_counts,
    parse_version,
)
from turnlog.session.usage.prices import PricedTokens
from turnlog.session.usage.totals import (
    DayAndModel,
    count_usage,
    count_usage_by_file,
    merge_copies,
    sum_by_day_and_model,
)

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


def list_messages(file: Transcript) -> list[Message]:
    """The messages of a file, with those that it only has as echoes."""
    known = join_messages(file.entries)
    keys = {message.key for message in known}
    return known + [echo for echo in join_messages(echoes(file)) if echo.key not in keys]


def echoes(file: Transcript) -> Iterable[Entry]:
    """The lines of sub-agents that progress entries repeat, as entries of their own."""
    for entry in file.entries:
        if entry.type != "progress":
            continue
        data = file.read_body(entry).get("data")
        inner = data.get("message") if isinstance(data, dict) else None
        if isinstance(inner, dict):
            outer = {"version": entry.version, "isSidechain": True}
            (line,) = Transcript.from_bytes(json.dumps({**inner, **outer}).encode()).entries
            line.offset = entry.offset
            yield line


def total_by_reader(paths: Iterable[Path]) -> dict[str, tuple[PricedTokens, str]]:
    """Tokens and quality by the full reader; messages without any id are told apart by their files."""
    found: dict[str, tuple[PricedTokens, str]] = {}
    for path in paths:
        for message in list_messages(Transcript.from_bytes(path.read_bytes())):
            if not message.is_synthetic:
                key = f"{path}{message.key}" if message.key.startswith("@") else message.key
                found[key] = message.tokens or PricedTokens(), message.quality
                found |= {f"{key}#{item.place}": (item.tokens, "final") for item in message.separate_requests}
    return found


def total_by_scan(paths: Iterable[Path]) -> dict[str, tuple[PricedTokens, str]]:
    return {key: (best.tokens, best.quality) for key, best in count_usage(paths, 1).items()}


@pytest.fixture(scope="module")
def collections(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Generated sessions of every era, and a long one with echoes of its sub-agents."""
    many, one = tmp_path_factory.mktemp("many"), tmp_path_factory.mktemp("one")
    generate_collection(many, 3_000_000, seed=26)
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
        for row, numbers in sum_by_day_and_model(count_usage(files(folder), processes)).items():
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
    assert total_by_scan([path]) == total_by_reader([path])


def test_totals_of_generated_files_are_those_of_their_messages(collections: tuple[Path, Path]) -> None:
    for path in files(*collections):
        assert total_by_scan([path]) == total_by_reader([path])


numbers = st.none() | st.integers(0, 50)
iterations = st.lists(
    st.none()
    | st.fixed_dictionaries(
        {"type": st.sampled_from(["message", "advisor_message", "compaction", "fallback_message", None, 4])},
        optional={
            "model": st.sampled_from(["claude-opus-5", "claude-fable-5", None]),
            "input_tokens": numbers,
            "output_tokens": numbers,
            "cache_creation_input_tokens": numbers,
            "cache_creation": st.fixed_dictionaries(
                {"ephemeral_5m_input_tokens": numbers, "ephemeral_1h_input_tokens": numbers}
            ),
        },
    ),
    max_size=4,
)
usages = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "input_tokens": numbers | st.just("many") | st.just(1.5),
        "output_tokens": numbers,
        "cache_read_input_tokens": numbers,
        "cache_creation_input_tokens": numbers,
        "cache_creation": st.none()
        | st.fixed_dictionaries({"ephemeral_5m_input_tokens": numbers, "ephemeral_1h_input_tokens": numbers}),
        "iterations": st.none() | st.just("none") | iterations,
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
    assert total_by_scan([path]) == total_by_reader([path])


@given(
    st.lists(st.sampled_from([b"\n", b"x", totals.LINE_MARKER, b'"assis', b'tant"\n']), max_size=40), st.integers(1, 40)
)
def test_jumping_finds_the_lines_that_looking_at_every_line_finds(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], size: int
) -> None:
    path = tmp_path_factory.mktemp("jumps") / "s.jsonl"
    path.write_bytes(b"".join(parts))
    with BufferedReader(FileIO(path)) as one, BufferedReader(FileIO(path)) as other:
        assert list(totals._find_by_jumps(one, bytes.find, size)) == list(totals._find_by_line(other))


def test_the_quicker_search_is_used_where_it_is_installed(
    collections: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "stringzilla", None)
    plain = count_usage(files(*collections), 1)
    monkeypatch.delitem(sys.modules, "stringzilla")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "stringzilla.py").write_text("find = bytes.find\n")
    assert totals._choose_finder() is not totals._find_by_line
    assert count_usage(files(*collections), 1) == plain


def test_the_largest_value_of_each_field_counts(tmp_path: Path) -> None:
    first = answer(output_tokens=5, input_tokens=1, server_tool_use={"web_search_requests": 2})
    second = answer(output_tokens=3, input_tokens=4, cache_read_input_tokens=9)
    writes = {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 6}
    third = answer(cache_creation_input_tokens=7, cache_creation=writes)
    found = count_usage([write(tmp_path / "a.jsonl", first, second, third)])
    assert found["msg_1"].tokens == PricedTokens(4, 5, 9, 2, 6, 2)


def test_a_message_in_several_files_counts_once_on_the_day_of_the_file_that_has_it_first(tmp_path: Path) -> None:
    late = write(tmp_path / "a.jsonl", answer(time="2026-01-09T00:00:00.000Z", output_tokens=8))
    early = write(tmp_path / "b.jsonl", answer(time="2026-01-07T00:00:00.000Z", output_tokens=4))
    for paths in ([late, early], [early, late]):
        for processes in (1, 2):
            rows = sum_by_day_and_model(count_usage(paths, processes))
            assert rows == {DayAndModel("2026-01-07", "claude-opus-5"): [0, 8, 0, 0, 1]}


def test_a_message_belongs_to_the_day_on_which_it_ended(tmp_path: Path) -> None:
    times = ("2026-01-01T23:59:59.000Z", "2026-01-02T00:00:01.000Z")
    found = count_usage([write(tmp_path / "a.jsonl", *(answer(time=time) for time in times))])
    assert [row.day for row in sum_by_day_and_model(found)] == ["2026-01-02"]
    assert [row.day for row in sum_by_day_and_model(found, timezone(timedelta(hours=-1)))] == ["2026-01-01"]


def test_a_message_without_a_time_is_of_no_day(tmp_path: Path) -> None:
    found = count_usage([write(tmp_path / "a.jsonl", answer(time=""))])
    assert [row.day for row in sum_by_day_and_model(found)] == [""]


def test_lines_without_a_message_id_are_told_apart_by_uuid(tmp_path: Path) -> None:
    lines = [answer(None, time) for time in ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.000Z")]
    assert len(count_usage([write(tmp_path / "a.jsonl", *lines)])) == 2


def test_json_with_spaces_counts_and_a_torn_line_does_not(tmp_path: Path) -> None:
    spaced, torn = json.dumps(answer("a")).encode(), json.dumps(answer("b")).encode()[:-9]
    assert count_usage([write(tmp_path / "a.jsonl", spaced, torn)]).keys() == {"a"}


def test_a_file_that_is_gone_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", answer())
    assert count_usage([path, tmp_path / "gone.jsonl"]).keys() == {"msg_1"}


@pytest.mark.parametrize("processes", [1, 2])
def test_a_file_that_cannot_be_read_is_told_whichever_process_met_it(tmp_path: Path, processes: int) -> None:
    path = write(tmp_path / "a.jsonl", answer())
    (tmp_path / "folder").mkdir()
    with pytest.raises(Unreadable, match="folder"):
        count_usage([path, tmp_path / "folder", path], processes)


def test_a_process_with_threads_is_not_forked(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.jsonl", answer(name)) for name in "abc"]
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert count_usage(paths, 2).keys() == {"a", "b", "c"}
    finally:
        done.set()
        other.join()


def line(**fields: Any) -> Entry:
    """A line of an answer, decoded."""
    (entry,) = Transcript.from_bytes(json.dumps({**answer(), **fields}).encode()).entries
    return entry


def count_message(*lines: Entry) -> MessageCounts:
    """The one message of some lines."""
    found: dict[str, MessageCounts] = {}
    for number, item in enumerate(lines):
        count_line(found, item, "file", number)
    (best,) = found.values()
    return best


def test_counting_gives_the_message_of_a_line_and_nothing_for_other_lines() -> None:
    found: dict[str, MessageCounts] = {}
    assert count_line(found, line(), "file", 0) is found["msg_1"]
    assert count_line(found, line(type="user"), "file", 0) is None
    assert count_line(found, line(message=None), "file", 0) is None
    assert count_line(found, line(message={"model": "<synthetic>", "usage": {}}), "file", 0) is None
    assert len(found) == 1


def test_a_message_without_usage_is_a_message_of_which_nothing_is_known() -> None:
    best = count_message(line(message={"id": "m", "model": "x", "stop_reason": "end_turn"}))
    assert (best.tokens, best.quality, best.lowest) == (PricedTokens(), "missing", -1)


def test_numbers_that_no_request_can_have_are_no_counts() -> None:
    usage = {
        "input_tokens": MAX_MESSAGE_TOKENS + 1,
        "output_tokens": 10**30,
        "cache_read_input_tokens": -3,
        "cache_creation": {"ephemeral_1h_input_tokens": 10**20, "ephemeral_5m_input_tokens": 4},
        "server_tool_use": {"web_search_requests": 10**9},
    }
    best = count_message(line(message={"id": "m", "usage": usage}))
    assert best.tokens == PricedTokens(web_searches=10_000)
    assert best.lowest == 0
    split = {"ephemeral_1h_input_tokens": 20, "ephemeral_5m_input_tokens": 10**20}
    assert count_message(line(message={"id": "m", "usage": {"cache_creation": split}})).tokens == PricedTokens(
        cache_write_1h=20
    )


def test_a_request_that_is_not_billed_as_usual_says_on_which_terms() -> None:
    usual = {"speed": "standard", "service_tier": "standard", "inference_geo": "not_available"}
    assert count_message(line(message={"id": "m", "usage": usual})).terms is None
    assert count_message(line(message={"id": "m", "usage": {"speed": "fast"}})).terms == "fast||"
    geo = {"service_tier": "batch", "inference_geo": "us" * 500}
    assert count_message(line(message={"id": "m", "usage": geo})).terms == f"|batch|{'us' * 20}"


def test_client_and_side_are_those_of_the_last_line() -> None:
    best = count_message(line(version="2.1.7", isSidechain=True), line(version="2.1.8"))
    assert (best.version, best.sidechain) == ("2.1.8", 0)


def test_a_version_of_thousands_of_digits_is_an_unknown_one() -> None:
    assert parse_version("2.1." + "9" * 5000) == (999,)


def echo(text: str = "I looked.", **message: Any) -> dict[str, Any]:
    """The whole object of a progress entry that repeats the line of a sub-agent."""
    blocks = [
        {"type": "text", "text": text},
        {"type": "tool_use", "input": {"path": ["abc", 1], "n": None}},
        {"type": "redacted", "data": "xyz"},
        "?",
    ]
    inner = {**answer(), "message": {"id": "m", "model": "claude-opus-5", "content": blocks, "usage": {}, **message}}
    return {"type": "progress", "version": "2.1.29", "data": {"type": "agent_progress", "message": inner}}


def test_an_echo_counts_as_a_sub_agents_line_with_the_letters_of_its_texts_and_inputs() -> None:
    found: dict[str, MessageCounts] = {}
    best = count_echo(found, echo(), "file", 0)
    assert best is found["m"]
    assert (best.letters, best.version, best.sidechain, best.quality) == (12, "2.1.29", ECHO_SIDE, "placeholder")
    count_echo(found, echo(content="said at once"), "file", 0)
    count_echo(found, {**echo(content=[]), "version": 7}, "file", 0)
    assert (best.letters, best.version) == (12, None)


@pytest.mark.parametrize("data", [None, "text", {"message": "text"}, {"message": {"type": "user"}}])
def test_progress_without_an_answer_in_it_is_no_echo(data: object) -> None:
    found: dict[str, MessageCounts] = {}
    assert count_echo(found, {"type": "progress", "data": data}, "file", 0) is None
    assert not found


def test_an_echo_that_the_quick_decoder_refuses_counts_too(tmp_path: Path) -> None:
    strange = {**echo(usage={"output_tokens": 7, "input_tokens": "many"}), "cwd": 7}
    found = count_usage([write(tmp_path / "a.jsonl", strange, {**echo(), "data": ["assistant"]})])
    assert found["m"].output_tokens == 7


def test_other_news_of_running_tools_are_no_echoes(tmp_path: Path) -> None:
    news = {"type": "progress", "data": {"type": "query_update", "query": "assistant"}}
    assert count_usage([write(tmp_path / "a.jsonl", news)]) == {}


def test_an_echo_pays_only_where_there_is_nothing_else(tmp_path: Path) -> None:
    main = write(tmp_path / "a.jsonl", echo(usage={"output_tokens": 9}))
    agent = write(tmp_path / "b.jsonl", {**answer("m", "2026-01-05T00:00:00.000Z"), "isSidechain": True})
    assert count_usage([main])["m"].first == "2026-01-02T03:04:05.000Z"
    both = count_usage([main, agent])["m"]
    assert (both.first, both.output_tokens, both.sidechain) == ("2026-01-05T00:00:00.000Z", 9, 1)


def test_copies_are_judged_together_by_the_client_that_wrote_the_first() -> None:
    old = MessageCounts("x", "2026-01-01", "2026-01-01", output_tokens=1, lowest=1, version="2.1.29")
    new = MessageCounts("x", "2026-01-02", "2026-01-02", output_tokens=1, lowest=1, version="2.1.325")
    assert new.quality == "partial"
    assert merge_counts([new, old]).quality == "placeholder"
    assert merge_counts([new, old]).version == "2.1.29"
    ended = MessageCounts("x", "2026-01-02", "2026-01-02", output_tokens=80, lowest=80, stopped=True)
    assert (merge_counts([old, ended]).quality, merge_counts([old, ended]).output_tokens) == ("final", 80)


def test_merging_takes_over_what_the_first_copy_does_not_say() -> None:
    bare = MessageCounts(None, "2026-01-01", "2026-01-01")
    full = MessageCounts("x", "", "", 1, 2, 3, 4, 5, 6, lowest=2, terms="fast||", letters=9)
    found = merge_counts([full, bare])
    assert (found.model, found.terms, found.lowest, found.letters) == ("x", "fast||", 2, 9)
    assert found.first == "2026-01-01"  # one without a time is not the earliest
    assert merge_counts([bare, MessageCounts("x", "2026", "2026", lowest=0)]).lowest == 0
    assert merge_counts([full, MessageCounts("x", "2026", "2026", lowest=0)]).lowest == 0
    assert bare == MessageCounts(None, "2026-01-01", "2026-01-01")


def test_the_messages_of_each_file_can_be_had_before_they_are_joined(tmp_path: Path) -> None:
    one, two, three = (write(tmp_path / f"{n}.jsonl", answer(output_tokens=n + 1)) for n in range(3))
    found = count_usage_by_file([three, one, two])
    assert {path: best["msg_1"].output_tokens for path, best in found.items()} == {
        str(one): 1,
        str(two): 2,
        str(three): 3,
    }
    assert merge_copies(found)["msg_1"].output_tokens == 3


def test_an_echo_is_a_line_as_counting_wants_it() -> None:
    assert (EchoLine().is_sidechain, EchoLine().version) == (True, None)


def test_counting_reports_its_progress_in_bytes(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{n}.jsonl", answer(output_tokens=n + 1)) for n in range(3)]
    size = paths[0].stat().st_size
    seen: list[tuple[int, int]] = []
    count_usage_by_file(paths, 1, lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3 * size), (size, 3 * size), (2 * size, 3 * size)]


def test_a_file_that_a_formatter_rewrote_has_the_same_totals(tmp_path: Path) -> None:
    plain, spread = tmp_path / "plain.jsonl", tmp_path / "spread.jsonl"
    plain.write_bytes(find_recording("2.1.325/tools").read_bytes())
    rows = [json.loads(line) for line in plain.read_bytes().splitlines()]
    spread.write_text("".join(json.dumps(row, indent=2) + "\n" for row in rows))
    assert sorted(value for value, _ in total_by_scan([plain]).values()) == sorted(
        value for value, _ in total_by_scan([spread]).values()
    )
    assert total_by_scan([plain])
