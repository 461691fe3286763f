"""Every text of an entry, by kind; what nobody can read, or what stands there twice, is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import outcome, use
from turnlog.session.texts.lines import PlacedLine, read_text_lines
from turnlog.session.texts.texts import (
    SAID_KINDS,
    TEXT_KINDS,
    SearchText,
    ShownEarlier,
    find_whole_file_path,
    join_result,
    list_readable_strings,
    list_search_texts,
)


def read_placed_line(entry: Any) -> PlacedLine:
    (found,) = read_text_lines([json.dumps(entry).encode()])
    assert found is not None
    return found


def list_texts(entry: Any, familiar: ShownEarlier | None = None) -> list[tuple[str, str]]:
    given = (
        list_search_texts(read_placed_line(entry))
        if familiar is None
        else list_search_texts(read_placed_line(entry), familiar)
    )
    return [(text.kind, text.words) for text in given]


def prompt(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


def answer(*blocks: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": list(blocks)}, **fields}


def text(words: Any) -> dict[str, Any]:
    return {"type": "text", "text": words}


def result(structured: Any, told: str = "told", call: str = "c") -> dict[str, Any]:
    return prompt([outcome(call, told)], toolUseResult=structured)


def beyond(structured: Any, told: str = "told", familiar: ShownEarlier | None = None) -> list[str]:
    """The words that a structured result adds."""
    return [words for _, words in list_texts(result(structured, told), familiar)[1:]]


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (prompt("hello"), "prompt"),
        (prompt([text("hello")]), "prompt"),
        (prompt("Take this"), "prompt"),
        (prompt("<command-name>/x</command-name>"), "prompt"),
        (prompt("<bash-input>ls</bash-input>"), "prompt"),
        (prompt("<bash-stdout>x</bash-stdout>"), "meta"),
        (prompt("<local-command-stdout>x</local-command-stdout>"), "meta"),
        (prompt("hello", isMeta=True), "meta"),
        (prompt("hello", isCompactSummary=True), "summary"),
        (prompt("This session is being continued from a previous conversation …"), "summary"),
        (answer(text("hello")), "answer"),
        ({"type": "assistant", "message": {"content": "hello"}}, "answer"),
        (answer({"type": "thinking", "thinking": "hm"}), "thinking"),
        (answer(use()), "call"),
        (answer({"type": "server_tool_use", "name": "web_search", "input": {"query": "q"}}), "call"),
        (answer({"type": "web_search_tool_result", "content": [{"title": "t"}]}), "result"),
        (answer({"type": "hologram", "words": "w"}), "other"),
        (prompt([{"type": "hologram", "words": "w"}]), "attachment"),
        (prompt([outcome()]), "result"),
        ({"type": "attachment", "attachment": {"type": "date", "date": "today"}}, "attachment"),
        ({"type": "system", "content": "note"}, "system"),
        ({"type": "custom-title", "customTitle": "name"}, "title"),
        ({"type": "summary", "summary": "name"}, "title"),
        ({"type": "hologram", "words": "w"}, "other"),
        ({"words": "w"}, "other"),
        ({"type": "user", "words": "w"}, "other"),
    ],
)
def test_a_text_has_the_kind_of_its_place(entry: Any, kind: str) -> None:
    assert [kind for kind, _ in list_texts(entry)] == [kind]
    assert kind in TEXT_KINDS


def test_what_people_remember_are_kinds() -> None:
    assert set(SAID_KINDS) < set(TEXT_KINDS)


def test_an_entry_has_all_of_its_texts_in_order() -> None:
    entry = answer({"type": "thinking", "thinking": "hm"}, text("said"), use("c", "Read", {"file_path": "/a"}))
    assert list_texts(entry) == [("thinking", "hm"), ("answer", "said"), ("call", "Read\n/a")]


def test_a_call_has_its_tool_its_id_and_the_files_that_it_names() -> None:
    (call,) = list_search_texts(
        read_placed_line(answer(use("c1", "Edit", {"file_path": "/a", "edits": [{"new": "b"}], "path": ""})))
    )
    assert call == SearchText("call", "Edit\n/a\nb", ("/a",), "Edit", "c1")


def test_a_result_without_is_error_has_failed_if_its_words_say_so() -> None:
    assert list_search_texts(read_placed_line(prompt([outcome("c1", "Exit code 1\nno")])))[0].failed
    assert not list_search_texts(
        read_placed_line(prompt([outcome("c1", "Exit code 1\nno")], toolUseResult={"stdout": "x"}))
    )[0].failed


def test_a_call_without_a_name_or_an_input_is_one() -> None:
    (call,) = list_search_texts(read_placed_line(answer({"type": "tool_use"})))
    assert call == SearchText("call", "", (), "", None)


@pytest.mark.parametrize("error", [True, False])
def test_a_result_has_the_id_of_its_call_and_says_if_it_failed(error: bool) -> None:
    (given,) = list_search_texts(read_placed_line(prompt([outcome("c1", [text("a"), text("b")], error)])))
    assert given == SearchText("result", "a\nb", call="c1", failed=error)


def test_errors_of_the_api_are_failures() -> None:
    assert list_search_texts(read_placed_line(answer(text("x"), isApiErrorMessage=True)))[0].failed
    assert list_search_texts(read_placed_line({"type": "system", "subtype": "api_error", "error": {"message": "x"}}))[
        0
    ].failed
    assert not list_search_texts(read_placed_line({"type": "system", "subtype": "informational", "content": "x"}))[
        0
    ].failed


def test_blocks_that_are_not_as_they_should_be_are_looked_at_in_full() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}}
    entry = prompt([{"type": "text", "text": ["deep"]}, {"type": "thinking"}, picture, "bare", 7])
    assert list_texts(entry) == [("attachment", "deep"), ("other", "bare")]


def test_what_an_answer_cites_belongs_to_it() -> None:
    cited = {"type": "text", "text": "said", "citations": [{"cited_text": "source"}]}
    assert list_texts(answer(cited)) == [("answer", "said\nsource")]


def test_what_stands_beside_a_message_is_meta() -> None:
    assert list_texts(prompt("no", userFeedback="because", planContent="plan")) == [
        ("prompt", "no"),
        ("meta", "plan\nbecause"),
    ]


def test_a_document_of_text_has_its_text_and_its_title() -> None:
    document = {"type": "document", "title": "T", "source": {"type": "text", "data": "words"}}
    assert {"words", "T"} == set(list_texts(prompt([document]))[0][1].split())
    assert list_texts(prompt([{"type": "document", "source": {"type": "base64", "data": "x"}}])) == []
    assert list_texts(prompt([{"type": "document", "source": "plain"}])) == [("attachment", "plain")]


@pytest.mark.parametrize("entry", [prompt(None), prompt([]), prompt([{"type": "image"}]), {"type": "custom-title"}, {}])
def test_an_entry_without_texts_has_none(entry: Any) -> None:
    assert list_texts(entry) == []


def test_a_structured_result_adds_what_the_model_did_not_see() -> None:
    assert beyond({"stdout": "told", "stderr": "more", "interrupted": False, "uuid": "x"}) == ["more"]
    assert beyond({"stdout": "told", "stderr": ""}) == []
    assert beyond("Error: told") == []
    assert beyond("Error: else") == ["Error: else"]
    assert beyond([text("told"), text("more")]) == ["more"]
    assert beyond(["told"]) == []
    assert beyond({"deep": {"deeper": ["told", "more"]}}) == ["more"]


def test_a_structured_result_without_a_result_is_one() -> None:
    assert list_texts(prompt([], toolUseResult={"stdout": "alone"})) == [("result", "alone")]


def test_a_structured_result_has_the_call_and_the_files_of_the_result() -> None:
    _, extra = list_search_texts(read_placed_line(result({"filePath": "/a", "stdout": "more"})))
    assert extra == SearchText("result", "/a\nmore", ("/a",), call="c")
    _, extra = list_search_texts(
        read_placed_line(result({"file": {"filePath": "/b", "content": "told"}}, "told and more"))
    )
    assert extra.paths == ("/b",)


def test_a_file_that_was_read_is_what_the_model_saw_without_its_numbers() -> None:
    read = {"type": "text", "file": {"filePath": "/a", "content": "one\ntwo\n", "numLines": 2}}
    assert beyond(read, "1\tone\n2\ttwo\n and /a") == [""]
    assert beyond(read, "no") == ["/a\none\ntwo\n"]
    assert beyond(read, "File unchanged since the last time") == ["/a\none\ntwo\n"]
    assert beyond({"file": {"content": ["cell"], "cells": "told"}}) == ["cell"]
    assert beyond({"type": "image", "file": {"base64": "AAAA", "type": "image/png"}}) == []


def test_a_patch_beside_both_sides_says_nothing_new() -> None:
    patch = [{"lines": ["+new"]}]
    assert beyond({"originalFile": "before", "newString": "new", "structuredPatch": patch}) == ["before\nnew"]
    assert beyond({"originalFile": "before", "content": "new", "structuredPatch": patch}) == ["before\nnew"]
    assert beyond({"originalFile": "before", "structuredPatch": patch}) == ["before\n+new"]
    assert beyond({"originalFile": None, "newString": "new", "structuredPatch": patch}) == ["new\n+new"]


def test_what_a_result_repeats_of_its_call_is_left_out() -> None:
    known = ShownEarlier(calls={"c"})
    edit = {"oldString": "a", "newString": "b", "extra": "x"}
    assert beyond(edit, familiar=known) == ["x"]
    assert beyond(edit, familiar=ShownEarlier(calls={"other"})) == ["a\nb\nx"]
    assert beyond(edit | {"userModified": True}, familiar=known) == ["a\nb\nx"]
    assert beyond({"type": "create", "content": "all", "extra": "x"}, familiar=known) == ["x"]
    assert beyond({"type": "text", "content": "all"}, familiar=known) == ["all"]


def test_a_file_that_was_shown_before_is_left_out() -> None:
    edit = {"filePath": "/a", "originalFile": "all of it", "extra": "x"}
    assert beyond(edit, familiar=ShownEarlier(files={"/a"})) == ["/a\nx"]
    assert beyond(edit, familiar=ShownEarlier(files={"/b"})) == ["/a\nall of it\nx"]


@pytest.mark.parametrize(
    ("structured", "path"),
    [
        ({"filePath": "/a", "originalFile": "x"}, "/a"),
        ({"filePath": "/a", "originalFile": None}, None),
        ({"filePath": "/a", "type": "create", "content": "x"}, "/a"),
        ({"filePath": "/a", "type": "update", "content": 5}, None),
        ({"filePath": "/a", "type": "other", "content": "x"}, None),
        ({"file": {"filePath": "/a", "content": "x", "startLine": 1, "numLines": 3, "totalLines": 3}}, "/a"),
        ({"file": {"filePath": "/a", "content": "x", "startLine": 2, "numLines": 3, "totalLines": 3}}, None),
        ({"file": {"filePath": "/a", "content": "x", "startLine": 1, "numLines": 2, "totalLines": 3}}, None),
        ({"file": {"filePath": 7, "content": "x", "startLine": 1, "numLines": 3, "totalLines": 3}}, None),
        ({"file": {"filePath": "/a", "startLine": 1, "numLines": 3, "totalLines": 3}}, None),
        ({"file": "x"}, None),
        ("a string", None),
    ],
)
def test_a_result_shows_a_file_whole_or_not(structured: Any, path: str | None) -> None:
    assert find_whole_file_path(structured) == path


def test_an_attachment_names_its_files() -> None:
    (given,) = list_search_texts(
        read_placed_line({"type": "attachment", "attachment": {"type": "file", "filename": "/a", "displayPath": "a"}})
    )
    assert given.paths == ("/a", "a")


def test_a_snapshot_of_the_file_history_names_its_files() -> None:
    snapshot = {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": {"a.py": {}, "b.py": {}}}}
    assert list_search_texts(read_placed_line(snapshot)) == [SearchText("other", "", ("a.py", "b.py"))]
    assert list_texts({"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": []}}) == []
    assert list_texts({"type": "file-history-snapshot", "snapshot": 3}) == []


def test_a_text_that_an_entry_repeats_stands_there_once() -> None:
    assert list_texts({"type": "hologram", "a": "same", "b": ["same", "other"]}) == [("other", "same\nother")]


def test_encoded_files_are_no_texts() -> None:
    encoded = "iVBORw0KGgo" * 40
    assert list(list_readable_strings([encoded, "word"])) == ["word"]
    assert beyond({"stdout": encoded, "stderr": "more"}) == ["more"]
    assert list(list_readable_strings(["word " * 100])) == ["word " * 100]


def test_a_text_that_begins_with_a_long_ruler_is_one() -> None:
    assert list(list_readable_strings(["-" * 300 + "\nword"])) == ["-" * 300 + "\nword"]


def test_strings_come_in_order_without_ids() -> None:
    value = {"a": "1", "uuid": "x", "b": [{"c": "2", "signature": "x"}, "3", 4, None, ""], "d": {"e": ["5"]}}
    assert list(list_readable_strings(value)) == ["1", "2", "3", "5"]


NAMES = (
    "type text thinking content input name id tool_use_id message toolUseResult originalFile filePath file"
    " structuredPatch newString oldString userModified source data attachment snapshot trackedFileBackups startLine"
    " numLines totalLines customTitle summary subtype forkedFrom sessionId isMeta cwd"
).split()
TAGS = "user assistant system attachment text thinking tool_use tool_result document image summary create".split()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(TAGS) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
BLOCK = st.dictionaries(st.sampled_from(NAMES[:8]), VALUES, max_size=4)
MESSAGE = st.fixed_dictionaries({"content": st.lists(BLOCK | VALUES, max_size=3) | VALUES})
ENTRY = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "hm"]), "message": MESSAGE | VALUES},
    optional={"toolUseResult": st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5) | VALUES},
)


@pytest.mark.parametrize(
    "entry",
    [
        prompt([{"type": []}]),
        prompt([{"type": {"text": "x"}}]),
        result({"originalFile": "x", "filePath": []}),
        result({"originalFile": "x", "filePath": {}, "type": []}),
        prompt([{"type": "tool_result", "tool_use_id": []}], toolUseResult={"file": {"filePath": []}}),
        {"type": "system", "subtype": []},
        {"type": "attachment", "attachment": {"path": []}},
        {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": {"": []}}},
    ],
)
def test_values_of_the_wrong_type_do_no_harm(entry: Any) -> None:
    assert all(
        text.kind in TEXT_KINDS for text in list_search_texts(read_placed_line(entry), ShownEarlier({"c"}, {"/a"}))
    )


@given(ENTRY)
def test_no_entry_is_too_strange(entry: dict[str, Any]) -> None:
    given_texts = list_search_texts(read_placed_line(entry), ShownEarlier({"c"}, {"/a"}))
    assert all(text.kind in TEXT_KINDS and isinstance(text.words, str) for text in given_texts)
    assert find_whole_file_path(entry.get("toolUseResult")) is None or isinstance(entry["toolUseResult"], dict)


def build_numbered_text(sign: str = "\u2192", start: int = 1) -> str:
    return f"     {start}{sign}one\n     {start + 1}{sign}}}"


@pytest.mark.parametrize("sign", ["\u2192", "\t"])
def test_a_file_that_was_read_is_taken_without_the_numbers_of_its_lines(sign: str) -> None:
    told = build_numbered_text(sign, 7) + "\n\n<system-reminder>Beware of }\n</system-reminder>"
    read = {"file": {"content": "one\n}", "startLine": 7}}
    (only,) = list_search_texts(read_placed_line(result(read, told)))
    assert only.words == "one\n}\n\n<system-reminder>Beware of }\n</system-reminder>"
    assert only.seen == len(told)


@pytest.mark.parametrize(
    "read",
    [
        {"content": "one\n}"},
        {"content": "one\n}", "startLine": "1"},
        {"content": "one\n}", "startLine": 2},
        {"content": "two\n}", "startLine": 1},
        {"content": 7, "startLine": 1},
    ],
)
def test_what_the_model_saw_stays_where_it_is_not_the_numbered_file(read: dict[str, Any]) -> None:
    first, *_ = list_search_texts(read_placed_line(result({"file": read}, build_numbered_text())))
    assert (first.words, first.seen) == (build_numbered_text(), None)


def test_a_reading_without_a_result_is_no_numbered_file() -> None:
    entry = prompt([], toolUseResult={"file": {"content": "one", "startLine": 1}})
    assert list_texts(entry) == [("result", "one")]


FRAME = "Another Claude session sent a message:\n"


@pytest.mark.parametrize(
    ("entry", "kinds"),
    [
        (prompt(f"{FRAME}<agent-message>x</agent-message>"), ["peer"]),
        (prompt("x", isMeta=True, origin={"kind": "peer"}), ["peer"]),
        (prompt([text(f"{FRAME}x"), text("me")]), ["peer", "peer"]),
        (prompt([text("me"), text(f"{FRAME}x")]), ["prompt", "peer"]),
        (prompt([text(f"{FRAME}x"), outcome("c", "told")]), ["peer", "result"]),
        (prompt("x", origin={"kind": "channel"}), ["peer"]),
        (prompt("x", origin={"kind": "cli"}), ["prompt"]),
        (prompt("<task-notification>x", origin={"kind": "human"}), ["prompt"]),
        (prompt("x", origin={"kind": "task-notification"}), ["meta"]),
        (prompt("Stop hook feedback:\n- no"), ["meta"]),
        (prompt("<system-reminder>x</system-reminder>\nbut why?"), ["prompt"]),
    ],
)
def test_only_what_a_person_said_is_a_prompt(entry: Any, kinds: list[str]) -> None:
    assert [kind for kind, _ in list_texts(entry)] == kinds


def build_queued_command(words: Any, **fields: Any) -> dict[str, Any]:
    attachment = {"type": "queued_command", "prompt": words, **fields}
    return {"type": "attachment", "attachment": attachment, "rendered": [{"content": f"framed: {words}"}, "note"]}


def test_what_came_while_the_model_worked_is_found_as_what_it_is() -> None:
    assert list_texts(build_queued_command("me", origin={"kind": "human"})) == [
        ("prompt", "me"),
        ("attachment", "human\nnote"),
    ]
    assert list_texts(build_queued_command("you", origin={"kind": "peer", "from": "a"}))[0] == ("peer", "you")
    assert list_texts(build_queued_command("it", commandMode="task-notification"))[0] == ("meta", "it")
    assert list_texts(build_queued_command(""))[0][0] == "attachment"


def test_an_answer_that_the_client_made_up_is_meta() -> None:
    filler = {"type": "assistant", "message": {"model": "<synthetic>", "content": "No response requested."}}
    assert list_texts(filler)[0][0] == "meta"
    assert list_texts(filler | {"isApiErrorMessage": True})[0][0] == "answer"
    assert list_texts(answer(text("No response requested.")))[0][0] == "answer"


# -- one text for a result and its structure


def join_texts(entry: Any) -> list[SearchText]:
    found = list_search_texts(read_placed_line(entry))
    join_result(found)
    return found


def test_a_result_and_what_its_structure_adds_are_joined() -> None:
    (found,) = join_texts(result({"stdout": "told", "stderr": "beyond", "filePath": "/home/dana/a.py"}))
    words = "told\nbeyond\n/home/dana/a.py"
    assert (found.kind, found.words, found.call, found.seen) == ("result", words, "c", len("told"))
    assert found.paths == ("/home/dana/a.py",)


def test_the_size_of_an_empty_result_stays_zero() -> None:
    (found,) = join_texts(result({"stdout": "beyond"}, ""))
    assert (found.words.strip(), found.seen) == ("beyond", 0)


def test_a_structure_that_adds_only_a_path_leaves_the_words_as_they_are() -> None:
    (found,) = join_texts(result({"filePath": "/home/dana/a.py"}, "/home/dana/a.py has changed"))
    assert (found.words, found.paths) == ("/home/dana/a.py has changed", ("/home/dana/a.py",))


@pytest.mark.parametrize(
    "entry",
    [
        prompt("hello"),
        result({"stdout": "told"}),
        prompt([outcome("c", "one"), outcome("d", "two")]),
        prompt([outcome("c", "one"), text("two")]),
        answer(text("one"), use("c", "Bash", {"command": "ls"})),
    ],
)
def test_other_texts_stay_apart(entry: Any) -> None:
    assert join_texts(entry) == list_search_texts(read_placed_line(entry))
