"""What a person is asked: a call exactly as it would be made, questions, plans; and what they say to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, harmful
from turnlog.agent.console import person_questions
from turnlog.agent.console.plan_review import ask_plan_approval
from turnlog.agent.permissions.decision import Decision
from turnlog.agent.person import PermissionAnswer
from turnlog.agent.tools.call_result import Workspace
from turnlog.render.terminal import TerminalScreen, measure_width

LOOK = TerminalScreen()
ASKS = Decision("ask", "No rule allows it.", ("Bash(npm test:*)",))


def answer_in_turn(*lines: str | None) -> Callable[[str], str | None]:
    waiting = iter(lines)
    return lambda _: next(waiting)


def render_call(name: str, **given: object) -> list[str]:
    return list(person_questions.render_whole_call(name, given, Workspace(Path.cwd(), Path.cwd()), LOOK))


def test_a_command_is_shown_whole_with_every_character_visible() -> None:
    command = f"echo {HOSTILE}\n" + "x" * 5000
    told = render_call("Bash", command=command, timeout=5)
    assert harmful("".join(told)) == set()
    assert "\\x1b[2J" in told[0]
    assert told[1] == "x" * 5000
    assert told[2:] == ["timeout: 5"]


def test_an_edit_is_shown_as_the_difference_that_it_makes(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\nthree\n")
    told = render_call("Edit", file_path=str(file), old_string="two", new_string="2")
    assert told == [str(file), "1   one", "2 - two", "2 + 2", "3   three"]


def test_every_place_of_an_edit_of_all_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("".join("x\n" if number % 20 == 0 else "\n" for number in range(60)))
    told = render_call("Edit", file_path=str(file), old_string="x", new_string="y", replace_all=True)
    assert sum(" + y" in line for line in told) == 3
    assert told[-1] == "replace_all: true"


def test_a_new_file_and_one_that_is_written_over_are_shown_as_differences(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    assert render_call("Write", file_path=str(file), content="new\n")[1:] == ["1 + new"]
    file.write_text("old\n")
    assert render_call("Write", file_path=str(file), content="new\n")[1:] == ["1 - old", "1 + new"]


def test_a_file_is_the_one_that_the_call_would_change(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "a.txt").write_text("above\n")
    (inner / "a.txt").write_text("below\n")
    given = {"file_path": "a.txt", "content": "new\n"}
    told = list(person_questions.render_whole_call("Write", given, Workspace(tmp_path, inner), LOOK))
    assert told == [str(inner / "a.txt"), "1 - below", "1 + new"]


def test_a_name_that_no_file_has_is_spelled_out() -> None:
    assert render_call("Write", file_path="/a\0b", content="x\n") == ["/a\\x00b", "1 + x"]


def test_line_ends_that_would_change_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"one\r\ntwo\r\n")
    told = render_call("Write", file_path=str(file), content="one\ntwo\n")
    assert told[1:] == ["1 - one\\r", "2 - two\\r", "1 + one", "2 + two"]
    file.write_bytes(b"one\r\ntwo\nthree\r\n")
    told = render_call("Edit", file_path=str(file), old_string="one\ntwo\n", new_string="one\n2\n")
    assert told[1:] == ["1   one\\r", "2 - two", "2 + 2\\r", "3   three\\r"]


def test_line_ends_that_stay_are_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    told = render_call("Edit", file_path=str(file), old_string="two\n", new_string="2\n")
    assert told[1:] == ["1   one", "2 - two", "2 + 2", "3   three"]


def test_an_edit_is_shown_as_it_will_stand_there(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("say “no”\n", "utf-8")
    told = render_call("Edit", file_path=str(file), old_string='say "no"', new_string='say "yes"   ')
    assert told[1:] == ["1 - say “no”", "1 + say “yes”"]


def test_an_edit_that_does_not_fit_is_shown_as_what_was_given(tmp_path: Path) -> None:
    told = render_call("Edit", file_path=str(tmp_path / "missing"), old_string="a", new_string="b")
    assert [line for line in told if line[:1].isdigit()] == ["1 - a", "1 + b"]


def test_a_cell_is_shown_as_it_will_be() -> None:
    told = render_call("NotebookEdit", notebook_path="/n.ipynb", new_source="print(1)", edit_mode="insert")
    assert told[0] == "/n.ipynb"
    assert "1 + print(1)" in told
    assert told[-1] == "edit_mode: insert"


def test_any_other_call_is_shown_field_by_field() -> None:
    assert render_call("WebFetch", url="https://x", prompt="a\nb", n=[1]) == [
        "url: https://x",
        "prompt: a",
        "    b",
        "n: [1]",
    ]


def test_always_tells_which_rule_is_written_and_where(tmp_path: Path) -> None:
    place = Workspace(tmp_path, tmp_path)
    told = "\n".join(
        person_questions.render_permission_question("Bash", {"command": "npm test"}, ASKS, place, LOOK, None)
    )
    assert f"adds Bash(npm test:*) to {tmp_path}/.claude/settings.local.json" in told.replace("\\", "/")
    bare = "\n".join(
        person_questions.render_permission_question("Bash", {"command": "x"}, Decision("ask"), place, LOOK, "call")
    )
    assert "always" not in bare
    assert bare.startswith("A sub-agent wants")


def test_a_call_can_t_look_like_the_question_below_it(tmp_path: Path) -> None:
    command = "rm x\n  y  yes, this once\n  n  no"
    told = list(
        person_questions.render_permission_question(
            "Bash", {"command": command}, ASKS, Workspace(tmp_path, tmp_path), LOOK, None
        )
    )
    assert sum(line.startswith("  y  ") for line in told) == 1


@pytest.mark.parametrize("name", ["Bash", "Write", "Other"])
def test_no_line_of_a_call_goes_on_without_its_bar(tmp_path: Path, name: str) -> None:
    text = "x" * 54 + "  y  yes, this once" + "漢" * 60
    given = {"command": text, "content": text, "file_path": str(tmp_path / "new")}
    told = list(
        person_questions.render_permission_question(
            name, given, ASKS, Workspace(tmp_path, tmp_path), TerminalScreen(False, 60), None
        )
    )
    shown = [line for line in told if line.startswith("  │ ")]
    assert max(map(measure_width, shown)) <= 60
    assert "漢" * 60 in "".join(line[4:].strip() for line in shown)
    assert sum(line.startswith("  y  ") for line in told) == 1


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["y"], PermissionAnswer("once")),
        (["YES"], PermissionAnswer("once")),
        (["s"], PermissionAnswer("session")),
        (["a"], PermissionAnswer("always")),
        (["n"], PermissionAnswer("no")),
        (["n use make"], PermissionAnswer("no", "use make")),
        (["use make instead"], PermissionAnswer("no", "use make instead")),
        (["yes but carefully"], PermissionAnswer("no", "yes but carefully")),
        ([None], PermissionAnswer("no")),
        (["", "?", "x", "y"], PermissionAnswer("once")),
    ],
)
def test_only_a_plain_yes_is_a_yes(lines: list[str | None], expected: PermissionAnswer) -> None:
    assert person_questions.ask_permission(ASKS, answer_in_turn(*lines)) == expected


@pytest.mark.parametrize("letter", ["a", "s"])
def test_only_this_once_is_an_answer_where_no_rule_would_do(letter: str) -> None:
    assert person_questions.ask_permission(Decision("ask"), answer_in_turn(letter, "n")) == PermissionAnswer("no")


QUESTION = {
    "question": "Which fruit?",
    "options": [{"label": "Apple", "description": "red"}, {"label": "Pear", "description": ""}],
    "multiSelect": False,
}


@pytest.mark.parametrize(
    ("lines", "many", "expected"),
    [
        (["2"], False, "Pear"),
        (["1 2", "1"], False, "Apple"),
        (["1, 2"], True, "Apple, Pear"),
        (["1 1"], True, "Apple"),
        (["", "3", "a quince"], False, "a quince"),
    ],
)
def test_a_question_is_answered_by_number_or_in_words(lines: list[str], many: bool, expected: str) -> None:
    said: list[str] = []
    given = {"questions": [{**QUESTION, "multiSelect": many}, "junk"]}
    found = person_questions.ask_questions(given, answer_in_turn(*lines), lambda *told: said.extend(told), LOOK)
    assert found == {"answers": {"Which fruit?": expected}}
    assert said == ["Which fruit?", "  1  Apple · red", "  2  Pear"]


def test_whoever_turns_away_from_a_question_answers_nothing() -> None:
    assert (
        person_questions.ask_questions({"questions": [QUESTION]}, answer_in_turn(None), lambda *_: None, LOOK) is None
    )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["y"], {"approved": True, "mode": "default"}),
        (["a"], {"approved": True, "mode": "acceptEdits"}),
        (["", "n"], {"approved": False, "words": ""}),
        (["n tests first"], {"approved": False, "words": "tests first"}),
        (["tests first"], {"approved": False, "words": "tests first"}),
        ([None], None),
    ],
)
def test_a_plan_is_agreed_to_or_not(lines: list[str | None], expected: dict[str, object] | None) -> None:
    said: list[str] = []
    found = ask_plan_approval(
        {"plan": f"1. do\n{HOSTILE}"}, answer_in_turn(*lines), lambda *told: said.extend(told), LOOK
    )
    assert found == expected
    assert harmful("".join(said)) == set()
