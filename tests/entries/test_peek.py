"""What the two ends of a file tell about its session."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.entries.trees import OTHER, SID, jsonl, row, write
from turnlog.entries.file_ends import MAX_END_BYTES, read_at, read_ends
from turnlog.entries.junk import name_junk_kind
from turnlog.entries.line_decoder import decode_first_object
from turnlog.entries.peek import Peek, peek_file
from turnlog.entries.titles import SessionTitles
from turnlog.entries.typed_text import MAX_LISTED_CHARS, read_typed_command, read_typed_text

FILLER = [row("assistant", "x" * 500, uuid=f"filler-{number}") for number in range(300)]


def look(tmp_path: Path, *rows: object) -> Peek:
    """Peek at a file of these entries."""
    return peek_file(write(tmp_path / f"{SID}.jsonl", *rows))


@pytest.mark.parametrize("filler", [[], FILLER], ids=["small", "large"])
def test_both_ends_tell_who_where_and_when(tmp_path: Path, filler: list[dict[str, Any]]) -> None:
    found = look(
        tmp_path,
        {
            "type": "queue-operation",
            "operation": "enqueue",
            "timestamp": "2026-01-02T03:04:00Z",
            "sessionId": SID,
        },
        {"type": "file-history-snapshot", "snapshot": {"timestamp": "1999-01-01T00:00:00Z"}},
        row(content="the first", entrypoint="cli"),
        *filler,
        row(
            "assistant",
            "done",
            cwd="/other",
            version="2.1.45",
            gitBranch="fix",
            timestamp="2026-01-02T09:00:00Z",
        ),
        {"type": "custom-title", "customTitle": "old", "sessionId": SID},
        {"type": "custom-title", "customTitle": "named", "sessionId": SID},
        {"type": "ai-title", "aiTitle": "guessed", "sessionId": SID},
        {"type": "last-prompt", "lastPrompt": "the last", "leafUuid": "x", "sessionId": SID},
        {"type": "mode", "mode": "normal", "sessionId": SID},
    )
    assert found == Peek(
        session_id=SID,
        cwd="/home/alice/work",
        last_cwd="/other",
        version="2.1.29",
        last_version="2.1.45",
        started="2026-01-02T03:04:00Z",
        ended="2026-01-02T09:00:00Z",
        git_branch="fix",
        entrypoint="cli",
        custom_title="named",
        ai_title="guessed",
        last_prompt="the last",
        first_prompt="the first",
        titles=SessionTitles(custom="named", ai="guessed", last_prompt="the last", first_prompt="the first"),
    )


def test_titles_of_the_head_count_when_the_tail_has_none(tmp_path: Path) -> None:
    titles = [
        {"type": "custom-title", "customTitle": "early"},
        {"type": "summary", "summary": "old", "leafUuid": "x"},
    ]
    found = look(tmp_path, row(), *titles, *FILLER)
    assert (found.custom_title, found.summary) == ("early", "old")
    found = look(tmp_path, row(), *titles, *FILLER, {"type": "custom-title", "customTitle": "late"})
    assert found.custom_title == "late"


def test_titles_written_by_other_hands_are_read_too(tmp_path: Path) -> None:
    found = look(
        tmp_path,
        row(),
        b'{"type": "custom-title", "customTitle": "spaced"}\r\n',
        b'{"sessionId":"s","aiTitle":"last key first","type":"ai-title"}\n',
        b'{"summary":"x","type":["summary"]}\n',
        b'"summary"\n',
        b'{"type":"last-prompt","lastPrompt":5}\n',
        b'{"unrelated":1}\n',
    )
    assert (found.custom_title, found.ai_title, found.summary) == ("spaced", "last key first", None)
    assert found.last_prompt is None


def test_a_first_entry_longer_than_the_window_is_not_lost(tmp_path: Path) -> None:
    long = 'look at \\ this "file" \U0001f600 ' + "y" * MAX_END_BYTES
    found = look(tmp_path, row(content=long), *FILLER)
    assert found.first_prompt is not None
    assert found.first_prompt.startswith('look at \\ this "file" \U0001f600 yyy')
    assert (found.cwd, found.session_id, found.junk) == ("/home/alice/work", SID, None)
    image = {"type": "image", "source": {"data": "A" * 200_000}}
    found = look(tmp_path, row(content=[{"type": "text", "text": "see"}, image], isSidechain=True), *FILLER)
    assert (found.first_prompt, found.is_sidechain) == ("see", True)
    found = look(tmp_path, row("assistant", content="y" * 2 * MAX_END_BYTES), *FILLER)
    assert (found.first_prompt, found.started) == (None, "2026-01-02T03:04:05.678Z")


def test_a_last_entry_longer_than_the_window_still_tells_the_time(tmp_path: Path) -> None:
    last = row("assistant", "y" * 3 * MAX_END_BYTES, timestamp="2026-02-02T00:00:00Z")
    assert look(tmp_path, row(), *FILLER, last).ended == "2026-02-02T00:00:00Z"


def test_entries_without_the_usual_fields_end_the_search_soon(tmp_path: Path) -> None:
    plain = [{"type": "assistant", "message": {"content": f"{n}"}, "timestamp": f"t{n}"} for n in range(50)]
    found = look(tmp_path, *plain, {"type": "user", "message": {"content": "late"}})
    assert (found.cwd, found.version, found.started, found.ended) == (None, None, "t0", "t49")
    assert found.first_prompt == "late"


def test_the_first_prompt_is_the_main_conversations(tmp_path: Path) -> None:
    found = look(tmp_path, row(content="", uuid="0"), row(content="agent's", isSidechain=True), row(content="mine"))
    assert (found.first_prompt, found.is_sidechain) == ("mine", False)


def test_an_agents_file_tells_the_agents_prompt(tmp_path: Path) -> None:
    found = look(tmp_path, row(content="count the files", isSidechain=True), row("assistant", isSidechain=True))
    assert (found.first_prompt, found.is_sidechain, found.junk) == ("count the files", True, "sidechain-only")


def test_the_first_command_stands_in_where_nothing_else_was_typed(tmp_path: Path) -> None:
    name = "<command-name>/review</command-name>\n<command-message>review</command-message>\n"
    found = look(
        tmp_path,
        row(content="Caveat: not typed", isMeta=True),
        row(content=f"{name}<command-args>the diff</command-args>"),
        row(content="<local-command-stdout>ok</local-command-stdout>"),
        row(content="<command-name>/clear</command-name>"),
    )
    assert (found.first_prompt, found.first_command) == (None, "/review the diff")


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        ("expanded skill", {"isMeta": True}),
        ("This session is being continued from a previous conversation that ran out", {}),
        ("summary", {"isCompactSummary": True}),
        ("<task-notification>done</task-notification>", {}),
        ("anything", {"origin": {"kind": "task-notification"}}),
        ("<bash-notification>x</bash-notification>", {}),
        ("<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>", {}),
        ("<local-command-caveat>Caveat: …</local-command-caveat>", {}),
        ("Caveat: The messages below were generated by the user while running local commands. DO NOT", {}),
        ("<command-message>x</command-message><command-name>/x</command-name>", {}),
        ("<bash-input>ls</bash-input>", {}),
        ("<ide_opened_file>The user opened a file</ide_opened_file>", {}),
        ("<ide_selection>never closed", {}),
        ("<system-reminder>be good</system-reminder>", {}),
        ([{"type": "text", "text": "[Request interrupted by user for tool use]"}], {}),
        ([{"type": "tool_result", "tool_use_id": "t", "content": "text"}], {}),
        ([{"type": "image"}, {"type": "text", "text": 5}, "text", None], {}),
        ("  \n ", {}),
        (None, {}),
        ({"type": "text"}, {}),
    ],
)
def test_what_nobody_typed_is_no_prompt(content: object, fields: dict[str, Any]) -> None:
    assert read_typed_text(row(content=content, **fields)) is None


def test_a_message_that_is_no_object_holds_no_prompt() -> None:
    assert read_typed_text({"type": "user", "message": "text"}) is None
    assert read_typed_text({}) is None


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hi", "hi"),
        (" \n hi ", "hi"),
        ("<div> is broken, why?", "<div> is broken, why?"),
        ("Caveat: I know nothing", "Caveat: I know nothing"),
        ("<ide_selection>x</ide_selection>\n <ide_opened_file>y</ide_opened_file> fix it", "fix it"),
        (
            [
                {"type": "text", "text": "fix"},
                {"type": "text", "text": "<ide_opened_file>y</ide_opened_file>"},
            ],
            "fix",
        ),
        ([{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ("long " * 1000, ("long " * 1000)[:MAX_LISTED_CHARS]),
    ],
)
def test_what_a_person_typed_is_told_without_the_editors_context(content: object, text: str) -> None:
    assert read_typed_text(row(content=content)) == text
    assert read_typed_text(row(content=content, origin={"kind": "human"}, promptSource="typed")) == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<command-name>/model</command-name>", "/model"),
        ("<command-message>x is running</command-message>\n<command-name>x</command-name>", "/x"),
        ("<command-name>/x</command-name><command-args> a  b </command-args>", "/x a  b"),
        ("<bash-input> ls -l </bash-input>", "!ls -l"),
        ("/not a record", None),
    ],
)
def test_commands_are_told_as_they_were_typed(content: str, text: str | None) -> None:
    assert read_typed_command(row(content=content)) == text
    assert read_typed_command(row(content=content, isMeta=True)) is None


def test_texts_can_be_printed_whatever_they_hold(tmp_path: Path) -> None:
    found = look(tmp_path, b'{"type":"user","message":{"content":"a\\ud800b \\ud83d\\ude00 \xff"},"cwd":["/"]}\n')
    assert found.first_prompt == "a\ufffdb \U0001f600 \ufffd"
    assert found.cwd is None
    assert str(found).encode()


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([], "empty"),
        ([b"\n\r\n \n"], "empty"),
        ([b"\0" * 100], "empty"),
        ([{"type": "summary", "summary": "s", "leafUuid": "u"}] * 2, "summary-only"),
        ([{"type": "summary", "summary": "s"}, {"type": "file-history-snapshot"}], "metadata-only"),
        ([{"type": "last-prompt", "lastPrompt": "x"}], "metadata-only"),
        ([{"type": ["user"]}], "metadata-only"),
        ([row(content="Warmup", isSidechain=True), row("assistant", isSidechain=True)], "warm-up"),
        ([{"type": "user", "isSidechain": True, "message": {"content": "Warmup"}}], "warm-up"),
        ([{"type": "user", "isSidechain": True, "message": "Warmup"}], "sidechain-only"),
        ([row(content="do it", isSidechain=True)], "sidechain-only"),
        ([row("assistant", isSidechain=True)], "sidechain-only"),
        ([row(content="Warmup")], None),
        ([{"type": "assistant"}], None),
        ([row(isSidechain=True), row()], None),
        ([{"type": "summary"}, b'{"type":"us'], None),
        ([b"[1]\n"], None),
        ([b"# a comment\n"], None),
        ([b"\xef\xbb\xbf", {"type": "summary"}], "summary-only"),
    ],
)
def test_junk_is_named_where_it_is_proved(tmp_path: Path, rows: list[object], kind: str | None) -> None:
    assert name_junk_kind(jsonl(*rows)) == kind
    assert look(tmp_path, *rows).junk == kind


def test_a_large_file_is_read_until_a_conversation_is_found(tmp_path: Path) -> None:
    summary = {"type": "summary", "summary": "s" * 1000}
    aside = row(content="Warmup", isSidechain=True)
    assert look(tmp_path, *[summary] * 200).junk == "summary-only"
    assert look(tmp_path, aside, *[row("assistant", "y" * 1000, isSidechain=True)] * 200).junk == "warm-up"
    assert look(tmp_path, *[summary] * 100, row(), *[summary] * 100).junk is None


def test_reading_at_the_end_gives_what_is_there(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"0123456789")
    with path.open("rb") as file:
        assert read_at(file.fileno(), 7, 100) == b"789"
        assert read_at(file.fileno(), 70, 100) == b""
    assert read_ends(path) == (b"0123456789", b"", 10)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        peek_file(tmp_path / "none")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(["user", "summary", "Warmup"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = "type message isSidechain isMeta origin cwd version timestamp customTitle aiTitle lastPrompt summary leafUuid"
ROWS = st.dictionaries(st.sampled_from(NAMES.split()), JSON | st.just({"content": "x", "kind": []}), max_size=8)


@given(rows=st.lists(ROWS | st.binary(max_size=60), max_size=8), padding=st.sampled_from([0, 0, 0, 2 * MAX_END_BYTES]))
def test_no_content_raises(tmp_path_factory: pytest.TempPathFactory, rows: list[Any], padding: int) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    lines = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in rows]
    path.write_bytes(b"\n".join([*lines, b" " * padding, *lines]))
    found = peek_file(path)
    assert all(value is None or isinstance(value, str | bool | SessionTitles) for value in found)
    assert str(found).encode()


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"a":' * 100_000, b"1" * 5000])
def test_hostile_lines_are_passed_over(tmp_path: Path, line: bytes) -> None:
    assert decode_first_object(line) is None
    assert look(tmp_path, line[:60_000] + b"\n", row(content="still here")).first_prompt == "still here"


def test_of_two_objects_glued_on_one_line_the_first_is_read() -> None:
    assert decode_first_object(b'{"a":1}{"b":2}\n') == {"a": 1}


@pytest.mark.corpus
def test_the_junk_among_the_recorded_files_is_what_the_versions_leave_behind(corpus: Path) -> None:
    """Judged against a full reading of each file."""
    seen: Counter[tuple[str, str | None]] = Counter()
    for path in sorted((corpus / "lab").glob("*/*/projects/**/*.jsonl")):
        version = path.relative_to(corpus / "lab").parts[0]
        kind = peek_file(path).junk
        assert kind == _read_fully(path), path
        if not path.name.startswith("agent-"):
            seen[version, kind] += kind is not None
    assert {key: count for key, count in seen.items() if count} == {
        ("1.0.128", "summary-only"): 8,
        ("2.0.76", "empty"): 9,
    }


def _read_fully(path: Path) -> str | None:
    rows = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    talk = [item for item in rows if item["type"] in ("user", "assistant")]
    if not rows:
        return "empty"
    if not talk:
        return "summary-only" if {item["type"] for item in rows} == {"summary"} else "metadata-only"
    if not all(item["isSidechain"] for item in talk):
        return None
    prompts = [item["message"]["content"] for item in talk if item["type"] == "user"]
    return "warm-up" if prompts[:1] == ["Warmup"] else "sidechain-only"


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["lab", "variants", "wild"])
def test_the_ends_of_every_recorded_file_agree_with_a_full_reading(corpus: Path, name: str) -> None:
    checked = 0
    for path in sorted((corpus / name).rglob("*.jsonl")):
        rows = [item for line in path.read_bytes().split(b"\n") if (item := decode_first_object(line))]
        found = peek_file(path)
        if path.name == "history.jsonl" or path.stat().st_size > 2 * MAX_END_BYTES:
            continue
        for field, key in (
            ("custom_title", "customTitle"),
            ("ai_title", "aiTitle"),
            ("last_prompt", "lastPrompt"),
        ):
            kind = key.replace("T", "-t").replace("P", "-p")
            titles = [item.get(key) for item in rows if item.get("type") == kind]
            assert getattr(found, field) == (titles[-1][:MAX_LISTED_CHARS] if titles and titles[-1] else None), path
        talk = [item for item in rows if item.get("type") in ("user", "assistant")]
        asides = [item.get("isSidechain") is True for item in talk]
        prompts = [
            text
            for item, aside in zip(talk, asides, strict=True)
            if item["type"] == "user" and aside is asides[0] and (text := read_typed_text(item))
        ]
        assert found.first_prompt == (prompts[0] if prompts else None), path
        checked += 1
    assert checked > 20


def test_the_id_in_the_entries_may_be_another_than_the_name(tmp_path: Path) -> None:
    assert look(tmp_path, row(sessionId=OTHER)).session_id == OTHER
