"""From rows to messages: rules 18 to 32 of docs/format.md, and what the client would add."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import BASE, Build, base, describe_resumed, genuine, open_variant, outcome, use
from turnlog.session.resume.parts import build_message_part, may_contribute, to_client_json
from turnlog.session.session import Session

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
NOTICE = "<task-notification><task-id>b1</task-id></task-notification>"


def text(words: Any) -> dict[str, Any]:
    return {"type": "text", "text": words}


def messages(build: Build) -> list[dict[str, Any]]:
    return build.session().conversation().messages


def resume_with_prompt(content: Any) -> list[str]:
    """What is sent when the second prompt has such a content."""
    build = base()
    build["u2"]["message"]["content"] = content
    return build.describe_resumed()


def resume_with_answer(content: Any) -> list[str]:
    """What is sent when the second answer has such a content."""
    build = base()
    build["a2"]["message"]["content"] = content
    return build.describe_resumed()


def build_calls(*results: Any, first: Any = None) -> Build:
    """Two calls, answered by rows with these contents."""
    build = Build()
    build.prompt("go")
    build.answer(first or use("c1"), use("c2"), id="m1")
    for content in results:
        build.prompt(content)
    build.answer("done", id="m2")
    return build


R1, R2 = outcome("c1", "one"), outcome("c2", "two")


# -- rule 18


@pytest.mark.parametrize("flag", ["isMeta", "isVisibleInTranscriptOnly", "isCompactSummary"])
def test_rule_18_marked_rows_are_sent(flag: str) -> None:
    build = base()
    build["u2"][flag] = build["a2"][flag] = True
    assert build.describe_resumed() == BASE


def test_rule_18_of_system_rows_only_local_commands_are_sent() -> None:
    build = base()
    build.system("turn_duration", content="5 s")
    build.system("local_command", content="/cost")
    build.system("local_command", content="/hidden", isDisplayOnly=True)
    build.system("local_command", content=" ")
    build.system("local_command")
    assert build.describe_resumed() == [*BASE, "U /cost"]


@pytest.mark.parametrize("message", [None, "text", [], {}, {"content": None}, {"content": 5}, {"content": {}}])
def test_rule_18_a_row_without_a_proper_message_says_nothing(message: Any) -> None:
    build = base()
    build["u2"]["message"] = message
    assert build.describe_resumed() == [*BASE[:2], BASE[3], *BASE[4:]]
    build = base()
    build["a2"]["message"] = message
    assert build.describe_resumed() == [*BASE[:2], "U u2 text + u3 text", BASE[5]]


def test_rule_18_the_type_of_the_row_decides_not_the_role_of_the_message() -> None:
    build = base()
    build["u2"]["message"]["role"] = "assistant"
    build["a2"]["message"]["role"] = "user"
    assert build.describe_resumed() == BASE


# -- rule 19


def test_rule_19_of_attachments_only_queued_prompts_are_something_that_was_said() -> None:
    build = base()
    build.attachment("date", content="today")
    build.attachment("queued_command", prompt="and this")
    build.attachment("queued_command", prompt=[text("and that"), IMAGE])
    build.row("attachment")
    build.row("attachment", attachment="odd")
    assert build.describe_resumed() == [*BASE, "U and this + and that + image"]


def test_rule_19_a_notification_is_given_as_it_is() -> None:
    build = base()
    build.prompt(NOTICE, origin={"kind": "task-notification"})
    assert build.describe_resumed()[-1] == f"U {NOTICE}"


# -- rule 20


def test_rule_20_an_api_error_is_not_sent() -> None:
    build = base()
    build["a2"].update(isApiErrorMessage=True)
    assert build.describe_resumed() == BASE
    build["a2"]["message"]["model"] = "<synthetic>"
    assert build.describe_resumed() == [*BASE[:2], "U u2 text + u3 text", BASE[5]]
    del build["a2"]["isApiErrorMessage"]
    assert build.describe_resumed() == BASE


@pytest.mark.parametrize(
    "content", ["", "  \n", [], [text("")], [text(" ")], [text(None)], [text(5)], [{"type": "text"}]]
)
def test_rule_20_empty_texts_say_nothing(content: Any) -> None:
    assert resume_with_prompt(content) == [*BASE[:2], BASE[3], *BASE[4:]]
    assert resume_with_answer(content) == [*BASE[:2], "U u2 text + u3 text", BASE[5]]


def test_rule_20_empty_texts_beside_others_are_left_out() -> None:
    assert resume_with_prompt([text(""), text("u2 text"), text("\n")]) == BASE


@pytest.mark.parametrize("kind", ["thinking", "redacted_thinking"])
def test_rule_20_a_message_of_thinking_alone_is_not_sent(kind: str) -> None:
    assert resume_with_answer([{"type": kind, "thinking": "hm"}])[2:] == ["U u2 text + u3 text", "A a3 text"]
    assert resume_with_answer([{"type": kind, "thinking": "hm"}, text("a2 text")])[3] == f"A {kind} + a2 text"


# -- blocks


@pytest.mark.parametrize("block", ["text", None, 5, [], {}, {"type": None}, {"type": 5}, {"text": "no type"}])
def test_blocks_that_are_none_are_left_out(block: Any) -> None:
    assert resume_with_prompt([text("u2 text"), block]) == BASE
    assert resume_with_answer([text("a2 text"), block]) == BASE


def test_blocks_of_unknown_types_are_sent() -> None:
    assert resume_with_prompt([{"type": "wombat"}])[2] == "U wombat"
    assert resume_with_answer([text("a2 text"), {"type": "wombat", "x": 1}])[3] == "A a2 text + wombat"


def test_blocks_on_the_other_side_are_sent_but_for_results() -> None:
    assert resume_with_prompt([text("u2 text"), use("c9"), {"type": "thinking"}])[2] == "U u2 text + call c9 + thinking"
    assert resume_with_answer([text("a2 text"), IMAGE])[3] == "A a2 text + image"
    assert resume_with_answer([text("a2 text"), outcome("c9")]) == BASE


def test_an_answer_may_be_a_string() -> None:
    assert resume_with_answer("a2 text") == BASE
    assert describe_resumed(open_variant("assistant-content-is-a-string"))


# -- rule 21


def test_rule_21_an_answer_whose_calls_all_lack_a_result_is_left_out_as_a_whole() -> None:
    assert resume_with_answer([text("I look."), use("c1")]) == [*BASE[:2], "U u2 text + u3 text", BASE[5]]


def test_rule_21_one_answered_call_keeps_the_whole_answer() -> None:
    assert build_calls([R1]).describe_resumed() == ["U go", "A call c1 + call c2", "U result c1", "A done"]


def test_rule_21_the_last_message_keeps_its_open_call() -> None:
    build = base()
    build.answer("I look.", id="m4", uuid="x1")
    build.call("c1", id="m4")
    assert build.describe_resumed()[-1] == "A I look. + call c1"


# -- rule 22


def test_rule_22_adjacent_user_rows_are_one_message_with_the_results_first() -> None:
    build = base()
    build.prompt("u4 text")
    build.prompt([text("u5 text"), IMAGE])
    assert build.describe_resumed()[-1] == "U u4 text + u5 text + image"
    whole = "U result c1 + result c2 + x"
    x = [text("x")]
    for rows in ([[*x, R1], [R2]], [[R1], [*x, R2]], [[R1], "x", [R2]], ["x", [R1, R2]], [[R1, *x], [R2]]):
        assert build_calls(*rows).describe_resumed()[2] == whole
    assert build_calls([*x, R1, R2], "y").describe_resumed()[2] == whole + " + y"


def test_rule_22_within_one_row_the_order_stays() -> None:
    assert build_calls([text("x"), R1, R2]).describe_resumed()[2] == "U x + result c1 + result c2"
    assert build_calls([R1, text("x"), R2]).describe_resumed()[2] == "U result c1 + x + result c2"
    assert build_calls([R2, R1]).describe_resumed()[2] == "U result c2 + result c1"


def test_rule_22_a_second_result_of_a_call_is_left_out() -> None:
    build = build_calls([R1, outcome("c1", "again"), R2], [outcome("c2", "again")])
    assert build.describe_resumed()[2] == "U result c1 + result c2"
    assert messages(build)[2]["content"][0]["content"] == "one"


# -- rule 23


def test_rule_23_rows_of_one_answer_are_one_message_across_results() -> None:
    build = Build()
    build.prompt("go")
    build.answer("first", id="m")
    build.call("c1", id="m")
    build.result("c1")
    build.answer("then", id="m")
    build.call("c2", id="m")
    build.result("c2")
    assert build.describe_resumed() == ["U go", "A first + then + call c1 + call c2", "U result c1 + result c2"]


def test_rule_23_a_prompt_in_between_keeps_them_apart() -> None:
    build = base()
    build["a3"]["message"]["id"] = "m2"
    assert build.describe_resumed() == BASE


def answers(*fields: dict[str, Any]) -> list[str]:
    build = Build()
    build.prompt("go")
    for number, given in enumerate(fields):
        build.answer(f"a{number}", **given)
    return build.describe_resumed()[1:]


def test_rule_23_without_any_id_rows_are_never_one_message() -> None:
    assert answers({"id": None}, {"id": None}) == ["A a0", "A a1"]
    assert answers({"id": ""}, {"id": ""}) == ["A a0", "A a1"]
    assert answers({"id": "x"}, {"id": "y"}) == ["A a0", "A a1"]


def test_rule_23_rows_without_an_id_but_with_a_request_are_one_message() -> None:
    assert answers({"id": None, "requestId": "r"}, {"id": None, "requestId": "s"}) == ["A a0 + a1"]


def test_rule_23_other_answers_may_stand_in_between() -> None:
    assert answers({"id": "x"}, {"id": "y"}, {"id": "x"}) == ["A a0 + a2", "A a1"]


# -- rule 24


def test_rule_24_calls_come_last_in_an_answer() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", id="m")
    build.answer("words", id="m")
    build.result("c1")
    assert build.describe_resumed()[1] == "A words + call c1"


def thinks(*answers: Any) -> list[str]:
    """The kinds of the blocks of an answer in rows of one block each, with calls c1, c2 …"""
    build = Build()
    build.prompt("go")
    for block in answers:
        build.answer(block, id="m")
    build.prompt([outcome(block["id"]) for block in answers if block["type"] == "tool_use"])
    return [block.get("thinking") or block.get("id") or block["text"] for block in messages(build)[1]["content"]]


def test_rule_24_calls_stay_where_thoughts_would_meet_that_were_apart() -> None:
    one, two = ({"type": "thinking", "thinking": name, "signature": name} for name in "AB")
    assert thinks(one, use("c1"), two, use("c2"), text("x")) == ["A", "c1", "B", "c2", "x"]
    assert thinks(one, text("x"), use("c1"), two, use("c2")) == ["A", "x", "B", "c1", "c2"]
    assert thinks(one, two, use("c1"), text("x")) == ["A", "B", "x", "c1"]
    assert thinks(use("c1"), one, two) == ["A", "c1", "B"]


def test_rule_24_of_a_call_that_is_written_twice_the_later_one_stays() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", id="m", given={"command": "old"})
    build.call("c1", id="m", given={"command": "new"})
    build.result("c1")
    assert [block["input"] for block in messages(build)[1]["content"]] == [{"command": "new"}]


# -- rules 25 and 26


def test_rule_25_a_result_that_is_not_in_the_next_message_is_left_out() -> None:
    build = build_calls([R1], [R2])
    build.result("c1", "late")
    build.prompt("and now?")
    assert build.describe_resumed() == [
        "U go",
        "A call c1 + call c2",
        "U result c1 + result c2",
        "A done",
        "U and now?",
    ]


def test_rule_25_a_message_of_lost_results_is_left_out() -> None:
    build = base()
    build.result("c9")
    assert build.describe_resumed() == BASE
    assert describe_resumed(open_variant("tool-use-removed-results-left-orphans"))


def test_rule_26_nothing_is_made_up_at_the_end() -> None:
    build = base()
    build.prompt("u4 text")
    build.call("c1")
    assert build.describe_resumed() == [*BASE, "U u4 text", "A call c1"]
    assert describe_resumed(open_variant("last-row-unanswered-user-prompt"))[-1].startswith("U ")


# -- rule 27


def test_rule_27_a_task_is_sent_as_an_agent() -> None:
    block = messages(build_calls([R1, R2], first=use("c1", "Task", {"prompt": "look"})))[1]["content"][0]
    assert (block["name"], block["input"]) == ("Agent", {"prompt": "look"})


def test_rule_27_of_a_message_to_an_agent_only_three_keys_are_sent() -> None:
    given = {"to": "a", "summary": "s", "message": "m", "more": 1}
    block = messages(build_calls([R1, R2], first=use("c1", "SendMessage", given)))[1]["content"][0]
    assert block["input"] == {"to": "a", "summary": "s", "message": "m"}
    odd = messages(build_calls([R1, R2], first=use("c1", "SendMessage", "odd")))[1]["content"][0]
    assert odd["input"] == "odd"


@pytest.mark.parametrize("given", ["ls", None, [1], 5, ""])
def test_rule_27_any_input_is_sent_as_it_is(given: Any) -> None:
    block = {**use("c1"), "input": given, "caller": {"type": "direct"}}
    assert messages(build_calls([R1, R2], first=block))[1]["content"][0] == block


@pytest.mark.parametrize("name", [None, 5, "", "Zorgle", ["x"]])
def test_rule_27_any_name_is_sent_as_it_is(name: Any) -> None:
    block = {**use("c1"), "name": name}
    assert messages(build_calls([R1, R2], first=block))[1]["content"][0] == block


@pytest.mark.parametrize("identity", [1, "", None])
def test_rule_27_any_id_is_paired_with_the_same_value(identity: Any) -> None:
    build = build_calls([outcome(identity), R2], first=use(identity))
    assert build.describe_resumed()[2] == f"U result {identity} + result c2"


def test_rule_27_an_id_that_is_an_object_equals_nothing() -> None:
    build = Build()
    build.prompt("go")
    build.answer(use({"a": 1}))
    build.prompt([outcome({"a": 1})])
    build.answer("done")
    assert build.describe_resumed() == ["U go", "A done"]


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use", "advisor_tool_result"])
def test_rule_27_a_call_of_the_server_s_without_a_result_is_not_sent_nor_is_advice(kind: str) -> None:
    assert resume_with_answer([{"type": kind, "id": "s1", "tool_use_id": "s1"}, text("a2 text")]) == BASE


def test_rule_27_what_a_tool_of_the_server_s_found_is_sent_with_its_call() -> None:
    build = Build()
    build.prompt("go")
    for block in ({"type": "server_tool_use", "id": "s1"}, {"type": "web_search_tool_result", "tool_use_id": "s1"}):
        build.answer(block, id="m")
    assert [block["type"] for block in messages(build)[1]["content"]] == ["server_tool_use", "web_search_tool_result"]


def test_rule_27_an_answer_of_a_server_s_call_alone_is_nothing() -> None:
    build = Build()
    build.prompt("go")
    build.answer({"type": "server_tool_use", "id": "s1"}, id="m")
    build.prompt("again")
    assert build.describe_resumed() == ["U go + again"]


# -- results


def result_of(content: Any, **fields: Any) -> Any:
    block = {**outcome("c1", content), **fields}
    return messages(build_calls([block, R2]))[2]["content"][0]["content"]


@pytest.mark.parametrize("content", [None, [], "", "  ", [text("")], ["x", text("y")], [text("x"), {"type": "wombat"}]])
def test_results_are_sent_as_they_are(content: Any) -> None:
    assert result_of(content) == content


@pytest.mark.parametrize(
    ("content", "expected"), [({"a": 1}, '{"a":1}'), (5, "5"), (True, "true"), ({"é": 1.0}, '{"é":1}')]
)
def test_a_result_that_is_neither_text_nor_blocks_is_sent_as_json(content: Any, expected: str) -> None:
    assert result_of(content) == expected


def test_of_an_error_only_the_texts_are_sent_as_one() -> None:
    assert result_of([text("bad"), IMAGE, text("worse"), "odd"], is_error=True) == [text("bad\n\nworse")]
    assert result_of([IMAGE], is_error=True) == []
    assert result_of("bad", is_error=True) == "bad"
    assert result_of([text("fine"), IMAGE], is_error=False) == [text("fine"), IMAGE]


# -- rules 28 to 31


def test_rule_28_thinking_is_included() -> None:
    assert (
        resume_with_answer([{"type": "thinking", "thinking": "hm", "signature": "s"}, text("a2 text")])[3]
        == "A thinking + a2 text"
    )


def test_rule_29_images_are_sent_as_they_are() -> None:
    build = base()
    build["u2"]["message"]["content"] = [IMAGE, text("what is this?")]
    assert messages(build)[2]["content"] == [IMAGE, text("what is this?")]


def test_rule_31_the_files_of_sub_agents_add_nothing() -> None:
    found = describe_resumed(genuine("2.1.325/agents"))
    assert found[0] == "U Use two helpers"
    assert not any("look" in line.lower() and line.startswith("U look") for line in found)


# -- numbers and texts


NUMBERS = [
    (12345678901234567890, 12345678901234567000),
    (9007199254740993, 9007199254740992),
    (1.0, 1),
    (-0.0, 0),
    (0.1, 0.1),
    (1e21, 1e21),
    (10**400, None),
    (float("inf"), None),
    (float("nan"), None),
    (True, True),
    (None, None),
]


@pytest.mark.parametrize(("number", "expected"), NUMBERS)
def test_numbers_are_doubles_for_the_client(number: Any, expected: Any) -> None:
    found = to_client_json({"x": [number]})["x"][0]
    assert found == expected
    assert type(found) is type(expected)


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    assert to_client_json({"\ud800": "é\udc00", "b": "\ud83d\ude00"}) == {"\ufffd": "é\ufffd", "b": "😀"}
    data = base().data().replace(b"u2 text", b"u2 \\ud800 text")
    assert describe_resumed(Session.from_bytes(data))[2] == "U u2 \ufffd text"


def test_values_are_followed_to_a_certain_depth() -> None:
    deep: Any = "x"
    for _ in range(550):
        deep = [deep]
    assert to_client_json(deep) == deep
    for _ in range(100):
        deep = {"a": deep}
    assert to_client_json(deep) != deep


# -- what the client would add


def describe_sent(build: Build) -> list[str]:
    return build.describe_resumed(as_sent=True)


def test_as_sent_an_unanswered_prompt_gets_an_answer() -> None:
    build = base()
    build.prompt("u4 text")
    assert describe_sent(build) == [*BASE, "U u4 text", "A No response requested."]


def test_as_sent_an_open_call_gets_a_result_that_says_so() -> None:
    build = base()
    build.prompt("u4 text")
    build.call("c1")
    assert describe_sent(build)[-3:] == ["A call c1", "U result c1", "A No response requested."]
    block = build.session().conversation(as_sent=True).messages[-2]["content"][0]
    assert block["is_error"] is True
    assert block["content"].startswith("[Tool call interrupted")


def test_as_sent_a_lost_result_is_told() -> None:
    found = build_calls([R1]).session().conversation(as_sent=True).messages[2]["content"]
    assert [block["tool_use_id"] for block in found] == ["c2", "c1"]
    assert found[0]["content"].startswith("[Tool result missing")
    build = Build()
    build.prompt("go")
    build.answer(use("c1"), use("c2"), id="m1")
    build.answer("done", id="m2")
    build.prompt([R1])
    build.answer("really", id="m3")
    assert describe_sent(build)[:4] == ["U go", "A call c1 + call c2", "U result c1 + result c2", "A done"]


def test_as_sent_a_message_of_lost_results_is_not_left_empty() -> None:
    build = base()
    build.result("c9")
    assert describe_sent(build)[-2:] == ["U (no content)", "A No response requested."]


def test_as_sent_a_queued_prompt_and_a_notification_are_wrapped() -> None:
    build = base()
    build.attachment("queued_command", prompt=[text("and {this}"), IMAGE])
    build.prompt(NOTICE, origin={"kind": "task-notification"})
    found = describe_sent(build)[-2]
    assert found.startswith("U <system-reminder>\nThe user sent a new message while you were working:\nand {this}\n")
    assert "[SYSTEM NOTIFICATION - NOT USER INPUT]" in found
    assert NOTICE in found


def test_as_sent_attachments_say_what_the_client_rendered_them_to() -> None:
    build = base()
    build.attachment("date")
    build.lines[-1].update(rendered=[{"content": "It is Thursday."}, "Really.", 5], renderedRole="user")
    build.attachment("environment")
    system = [{"content": "<system-reminder>\nLinux\n</system-reminder>"}, {"content": "x"}]
    build.lines[-1].update(rendered=system, renderedRole="system")
    build.attachment("mood", rendered="no list")
    build.prompt("u4 text")
    assert describe_sent(build)[-2:] == ["U It is Thursday. + Really. + u4 text", "S Linux\nx"]
    assert build.describe_resumed() == [*BASE, "U u4 text"]


def test_as_sent_a_queued_prompt_of_a_person_is_not_taken_from_what_was_rendered() -> None:
    build = base()
    build.attachment("queued_command", prompt="and this", humanTurn=True, origin={"kind": "human"})
    build.lines[-1].update(rendered=[{"content": "rendered"}])
    assert "while you were working:\nand this" in describe_sent(build)[-2]
    build = base()
    build.attachment("queued_command", prompt="and this")
    build.lines[-1].update(rendered=[{"content": "rendered"}])
    assert describe_sent(build)[-2] == "U rendered"


def test_a_row_that_is_not_decoded_would_contribute_nothing() -> None:
    build = base()
    build.row("progress", "p1", data={"type": "bash_progress", "output": "x"})
    build.row("progress", "p2", message={"role": "assistant", "content": "no report", "id": "m"}, data={})
    build.row("progress", "p3", message="neither", data={})
    file = build.session().file
    rows = {str(row.uuid): row for row in file.entries}
    assert [uuid for uuid, row in rows.items() if not may_contribute(row)] == ["p1"]
    assert build_message_part(rows["p1"], file.read_body(rows["p1"]), as_sent=False) is None
    assert build_message_part(rows["p2"], file.read_body(rows["p2"]), as_sent=False) is not None


def test_a_thread_that_a_caller_changed_is_built_again_as_it_was() -> None:
    session = base().session()
    rows = session.build_thread().rows
    before = list(rows)
    rows.clear()
    assert session.build_thread().rows == before != []
