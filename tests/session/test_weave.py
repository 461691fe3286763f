"""What stands beside the chain and is put back: rules 16 and 17 of docs/format.md."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import BASE, Build, base, describe_resumed, genuine


def parallel() -> Build:
    """Two calls of one answer, each with its result below it; the chain runs through the second."""
    build = Build()
    build.prompt("go", "go")
    build.call("c1", uuid="x1", id="m")
    build.call("c2", uuid="x2", id="m")
    build.result("c1", uuid="r1", parent="x1")
    build.result("c2", uuid="r2", parent="x2")
    build.answer("done", uuid="end")
    return build


WHOLE = ["U go", "A call c1 + call c2", "U result c1 + result c2", "A done"]


def test_rule_16_the_other_results_of_parallel_calls_are_put_back() -> None:
    assert parallel().describe_resumed() == WHOLE


def test_rule_16_results_stand_in_the_order_of_the_file() -> None:
    build = parallel()
    first, second = build.lines.index(build["r1"]), build.lines.index(build["r2"])
    build.lines[first], build.lines[second] = build.lines[second], build.lines[first]
    assert build.describe_resumed() == ["U go", "A call c1 + call c2", "U result c2 + result c1", "A done"]


def test_rule_16_the_other_lines_of_an_answer_are_put_back_wherever_they_hang() -> None:
    build = parallel()
    build["x2"]["parentUuid"] = None
    build["end"]["parentUuid"] = "r1"
    assert build.describe_resumed("end") == WHOLE
    build = base()
    build.answer("more of a2", id="m2", parent=None)
    assert build.describe_resumed("a3") == [*BASE[:3], "A a2 text + more of a2", *BASE[4:]]


def test_rule_16_an_earlier_line_goes_behind_the_first_of_the_chain() -> None:
    build = base()
    build.answer("early", id="m2", parent=None)
    build.lines.insert(0, build.lines.pop())
    assert build.describe_resumed() == [*BASE[:3], "A a2 text + early", *BASE[4:]]


def test_rule_16_lines_in_a_side_chain_are_put_back_too() -> None:
    build = base()
    build.answer("side extra", id="m2", parent="u2", isSidechain=True)
    assert build.describe_resumed() == [*BASE[:3], "A a2 text + side extra", *BASE[4:]]


def test_rule_16_results_are_found_by_id_not_by_parent() -> None:
    build = parallel()
    build["r1"]["parentUuid"] = "gone"
    assert build.describe_resumed() == WHOLE


def test_rule_16_a_line_of_an_answer_below_its_own_result_keeps_the_order() -> None:
    """2.1.325 runs a tool while the answer is still being written."""
    build = Build()
    build.prompt("go")
    build.call("c1", id="m")
    build.result("c1")
    build.call("c2", id="m")
    build.result("c2")
    build.answer("done")
    assert build.describe_resumed() == WHOLE


def resume_with_rows(*rows: dict[str, Any], beside: str = "x1") -> list[str]:
    """What is sent with rows beside the chain of two parallel calls."""
    build = parallel()
    parent = beside
    for fields in rows:
        parent = build.row(**fields, parent=parent)
    return build.describe_resumed("end")


NOTE: dict[str, Any] = {"kind": "user", "message": {"content": "a note"}, "isMeta": True}
COMMAND: dict[str, Any] = {"kind": "system", "subtype": "local_command", "content": "/cost"}
QUEUED: dict[str, Any] = {"kind": "attachment", "attachment": {"type": "queued_command", "prompt": "and this"}}
PROMPT: dict[str, Any] = {"kind": "user", "message": {"content": "a prompt"}}


@pytest.mark.parametrize(("note", "text"), [(NOTE, "a note"), (COMMAND, "/cost"), (QUEUED, "and this")])
def test_rule_17_notes_beside_a_call_are_put_back(note: dict[str, Any], text: str) -> None:
    assert resume_with_rows(note) == [*WHOLE[:2], f"U result c1 + result c2 + {text}", "A done"]


def test_rule_17_a_whole_side_branch_of_notes_is_put_back_in_order() -> None:
    assert resume_with_rows(QUEUED, COMMAND, beside="r1")[2] == "U result c1 + result c2 + and this + /cost"


def test_rule_17_notes_below_attachments_behind_a_result_are_put_back() -> None:
    build = parallel()
    build.attachment("date", parent="r2", uuid="date")
    build["end"]["parentUuid"] = "date"
    build.row(**NOTE, parent="date")
    assert build.describe_resumed("end")[2] == "U result c1 + result c2 + a note"


@pytest.mark.parametrize("rows", [(PROMPT,), (NOTE, PROMPT)])
def test_rule_17_a_side_branch_with_a_prompt_is_not_put_back(rows: tuple[dict[str, Any], ...]) -> None:
    assert resume_with_rows(*rows) == WHOLE


@pytest.mark.parametrize("beside", ["go", "end"])
def test_rule_17_nothing_is_put_back_beside_a_plain_prompt_or_answer(beside: str) -> None:
    assert resume_with_rows(NOTE, beside=beside) == WHOLE


@pytest.mark.parametrize("version", ["1.0.128", "2.0.76", "2.1.29", "2.1.45", "2.1.325"])
def test_all_recorded_versions_of_the_scripted_session_have_all_their_calls_sent(version: str) -> None:
    found = describe_resumed(genuine(f"{version}/tools"))
    assert " ".join(found).count("call ") == " ".join(found).count("result ") == 11
