"""What becomes of the pieces of a conversation, whatever is wished."""

from __future__ import annotations

from tests.session.build import Build, outcome, use
from turnlog.session.window.fates import (
    GONE,
    MAX_CALLS_OF_ONE_AGE,
    REPLACED,
    SHORTENED,
    STAYS,
    Ages,
    fates,
    without_copy,
)
from turnlog.session.window.noise import noise
from turnlog.session.window.pieces import pieces
from turnlog.session.window.presets import PRESETS, kept
from turnlog.session.window.wishes import MIN_FADED_CHARS, Rule, Wishes

REMOVE = Wishes(Rule(0, None, 0))
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
PICTURE = {"type": "image", "source": {"type": "base64", "data": "A" * 4000}}


def degrees(build: Build, wishes: Wishes) -> dict[str, int]:
    """What becomes of each piece, by its group and call."""
    found = pieces(build.session()).all
    return {f"{p.group} {p.call}".strip(): f.degree for p, f in zip(found, fates(found, wishes), strict=True)}


def turn(build: Build, call: str, tool: str = "Bash", output: object = "r" * 900) -> None:
    build.prompt(f"do {call}")
    build.call(call, tool, {"command": call})
    build.result(call, output)
    build.answer(f"did {call}")


def test_nothing_becomes_of_nothing() -> None:
    assert fates([], REMOVE) == []


def test_a_call_and_its_result_share_their_fate() -> None:
    build = Build()
    turn(build, "c1")
    turn(build, "c2")
    found = degrees(build, Wishes(Rule(1, None, 1)))
    assert (found["calls c1"], found["results c1"], found["calls c2"]) == (GONE, GONE, STAYS)


def test_the_thinking_of_an_answer_goes_with_its_last_call() -> None:
    build = Build()
    build.prompt()
    build.answer(THOUGHT, id="m")
    build.call("c1", id="m")
    build.result("c1")
    build.answer("done")
    assert degrees(build, REMOVE)["thinking"] == GONE


def test_an_answer_that_is_only_thinking_so_far_keeps_it() -> None:
    build = Build()
    build.prompt()
    build.call("c1", id="m")
    build.result("c1")
    build.answer(THOUGHT, "said", id="n")
    assert degrees(build, Wishes(thinking=0))["thinking"] == GONE
    only = [piece for piece in pieces(build.session()).all if piece.group != "answers"]
    assert [fate.degree for piece, fate in zip(only, fates(only, Wishes(thinking=0)), strict=True)][-1] == STAYS


def test_a_call_without_result_stays_and_holds_the_others_of_its_row() -> None:
    build = Build()
    build.prompt()
    build.answer(use("c1"), use("c2"), id="m")
    build.prompt([outcome("c1", "r" * 900)])
    found = degrees(build, REMOVE)
    assert (found["calls c1"], found["results c1"], found["calls c2"]) == (SHORTENED, SHORTENED, STAYS)


def test_the_last_row_is_not_removed() -> None:
    build = Build()
    build.prompt()
    build.answer("I look", id="m")
    build.call("c1", id="m")
    build.result("c1")
    assert degrees(build, REMOVE)["calls c1"] == SHORTENED


def test_prompts_alone_have_no_answer_to_hold() -> None:
    build = Build()
    build.prompt("a")
    assert degrees(build, REMOVE) == {"prompts": STAYS}


def test_an_image_in_a_result_goes_with_what_becomes_of_that() -> None:
    build = Build()
    turn(build, "c1", output=[{"type": "text", "text": "x"}, PICTURE])
    turn(build, "c2", output=[{"type": "text", "text": "x"}, PICTURE])
    build.lines[5]["message"]["content"][0]["input"] = {"command": "c1"}
    assert degrees(build, Wishes(Rule(1, 100)))["images c1"] == SHORTENED
    assert degrees(build, Wishes(Rule(1, 9000)))["images c1"] == STAYS
    assert degrees(build, Wishes(duplicates=True))["images c1"] == REPLACED
    found = pieces(build.session()).all
    left = [kept.fixed for p, kept in zip(found, kept(found, Wishes(duplicates=True)), strict=True) if p.fixed]
    assert left == [0, 1600]


def test_a_result_that_is_written_twice_is_no_duplicate_of_itself() -> None:
    build = Build()
    turn(build, "c1")
    build.prompt("more")
    build.answer("and", use("c1", given={"command": "c1"}), id="other")
    build.prompt([outcome("c1", "r")])
    found = pieces(build.session()).all
    assert all(fate.degree == STAYS for fate in fates(found, Wishes(duplicates=True, stale_reads=True)))


def test_the_clients_copies_go_by_the_age_of_the_call() -> None:
    build = Build()
    turn(build, "c1")
    turn(build, "c2", "Task")
    turn(build, "c3")
    found = pieces(build.session()).all
    assert without_copy(found, Wishes(copies=1)) == {"c1", "c2"}
    assert without_copy(found, Wishes(copies=1, protected=frozenset({"Agent"}))) == {"c1"}
    assert without_copy(found, Wishes()) == set()


def test_wishes_know_whether_they_ask_for_anything() -> None:
    assert Wishes().are_idle
    assert Wishes(named=(("Bash", Rule(3)),)).are_idle
    assert not Wishes(images=0).are_idle
    assert not Wishes(named=(("Bash", Rule(0, 5)),)).are_idle
    assert not any(preset.wishes.are_idle for preset in PRESETS)


def test_the_last_rule_that_fits_a_tool_counts_and_former_names_fit_too() -> None:
    wishes = Wishes(Rule(1), (("mcp__*", Rule(2)), ("mcp__a__*", Rule(3)), ("Task", Rule(4))), frozenset({"Ask*"}))
    rules = [wishes.rule(name) for name in ("Bash", "mcp__b", "mcp__a__b", "Agent", "AskUserQuestion")]
    assert rules == [Rule(1), Rule(2), Rule(3), Rule(4), None]


def test_of_repeated_metadata_only_the_last_is_no_noise() -> None:
    build = Build()
    for mode in ("plan", "default"):
        build.note("mode", mode=mode)
    build.note("attribution-snapshot")
    build.prompt()
    assert [entry.index for entry in noise(build.session().file.entries)] == [0, 2]


def test_a_turn_of_many_calls_ages_as_if_it_were_several() -> None:
    build = Build()
    turn(build, "first")
    build.prompt("work on")
    for number in range(2 * MAX_CALLS_OF_ONE_AGE + 1):
        build.call(f"c{number}", id=f"m{number}")
        build.result(f"c{number}")
    build.answer("done")
    ages = Ages(pieces(build.session()).all)
    newest, oldest = ages.of_call(f"c{2 * MAX_CALLS_OF_ONE_AGE}"), ages.of_call("c0")
    assert (newest, ages.of_call("c1"), oldest, ages.of_call("first")) == (0, 1, 2, 3)


def test_calls_that_one_message_makes_have_the_same_age() -> None:
    build = Build()
    build.prompt("all at once")
    names = [f"c{number}" for number in range(2 * MAX_CALLS_OF_ONE_AGE)]
    for name in names:
        build.call(name, id="one")
    for name in names:
        build.result(name)
    ages = Ages(pieces(build.session()).all)
    assert {ages.of_call(name) for name in names} == {0}


def test_what_is_shortened_gets_shorter_with_its_age_down_to_a_least() -> None:
    rule = Rule(3, 800, None, 10)
    assert [rule.max_chars(age) for age in (3, 10, 20, 40, 1000)] == [800, 800, 400, 200, MIN_FADED_CHARS]
    assert Rule(3, 50, None, 10).max_chars(1000) == 50
    assert Rule(3, 800).max_chars(1000) == 800
    assert Rule(3, None, None, 10).max_chars(1000) is None
