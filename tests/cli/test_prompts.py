"""`turnlog prompts`: everything that was typed, as text and as JSON."""

from __future__ import annotations

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import Build

SESSION = "aaaaaaaa-0000-4000-8000-000000000001"


def add_prompt(machine: Machine, text: str) -> None:
    build = Build()
    build.prompt(text)
    build.answer("Done.")
    machine.add(SESSION, build.data())


def test_each_line_of_a_prompt_is_a_line(turnlog: Turnlog, machine: Machine) -> None:
    add_prompt(machine, "Plan:\n\n1. read\n2. write")
    done = turnlog("prompts")
    assert done.lines[1:5] == ["Plan:", "", "1. read", "2. write"]


def test_long_prompts_are_shortened_unless_asked_for_in_full(turnlog: Turnlog, machine: Machine) -> None:
    add_prompt(machine, "\n".join(f"line {number}" for number in range(9)))
    shortened, full = turnlog("prompts"), turnlog("prompts", "--full")
    assert shortened.lines[6:8] == ["line 5", "… 3 more lines (--full)"]
    assert "line 8" not in shortened.lines
    assert full.lines[9] == "line 8"


def test_a_hostile_prompt_controls_no_terminal(turnlog: Turnlog, machine: Machine) -> None:
    add_prompt(machine, HOSTILE)
    done = turnlog("prompts", "--full")
    assert done.status == 0
    assert not harmful(done.out)


def test_an_empty_page_says_how_many_there_are(turnlog: Turnlog, machine: Machine) -> None:
    add_prompt(machine, "hello")
    assert turnlog("prompts", "--page", "2").lines == ["Page 2 is empty; there is 1 page."]
    assert turnlog("prompts", "nowhere").lines == ["No prompts."]
    assert turnlog("prompts", "--json").json["prompts"][0]["text"] == "hello"
