"""What becomes of the pieces of a conversation, whatever is wished."""

from __future__ import annotations

from tests.session.build import Build, outcome, use
from turnlog.edit.strip.fates import (
    FATE_GONE,
    FATE_REPLACED,
    FATE_SHORTENED,
    FATE_STAYS,
    MAX_CALLS_OF_ONE_AGE,
    PieceAges,
    decide_fates,
    find_calls_without_copy,
    list_noise_entries,
)
from turnlog.edit.strip.presets import PRESETS, estimate_remaining
from turnlog.edit.strip.strip_options import MIN_FADED_CHARS, StripOptions, StripRule
from turnlog.session.window.pieces import build_context_pieces

REMOVE = StripOptions(StripRule(0, None, 0))
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
PICTURE = {"type": "image", "source": {"type": "base64", "data": "A" * 4000}}


def degrees(build: Build, wishes: StripOptions) -> dict[str, int]:
    """What becomes of each piece, by its group and call."""
    found = build_context_pieces(build.session()).all
    return {f"{p.group} {p.call}".strip(): f.degree for p, f in zip(found, decide_fates(found, wishes), strict=True)}


def turn(build: Build, call: str, tool: str = "Bash", output: object = "r" * 900) -> None:
    build.prompt(f"do {call}")
    build.call(call, tool, {"command": call})
    build.result(call, output)
    build.answer(f"did {call}")


def test_nothing_becomes_of_nothing() -> None:
    assert decide_fates([], REMOVE) == []


def test_a_call_and_its_result_share_their_fate() -> None:
    build = Build()
    turn(build, "c1")
    turn(build, "c2")
    found = degrees(build, StripOptions(StripRule(1, None, 1)))
    assert (found["calls c1"], found["results c1"], found["calls c2"]) == (FATE_GONE, FATE_GONE, FATE_STAYS)


def test_the_thinking_of_an_answer_goes_with_its_last_call() -> None:
    build = Build()
    build.prompt()
    build.answer(THOUGHT, id="m")
    build.call("c1", id="m")
    build.result("c1")
    build.answer("done")
    assert degrees(build, REMOVE)["thinking"] == FATE_GONE


def test_an_answer_that_is_only_thinking_so_far_keeps_it() -> None:
    build = Build()
    build.prompt()
    build.call("c1", id="m")
    build.result("c1")
    build.answer(THOUGHT, "said", id="n")
    assert degrees(build, StripOptions(thinking=0))["thinking"] == FATE_GONE
    only = [piece for piece in build_context_pieces(build.session()).all if piece.group != "answers"]
    assert [fate.degree for piece, fate in zip(only, decide_fates(only, StripOptions(thinking=0)), strict=True)][
        -1
    ] == FATE_STAYS


def test_a_call_without_result_stays_and_holds_the_others_of_its_row() -> None:
    build = Build()
    build.prompt()
    build.answer(use("c1"), use("c2"), id="m")
    build.prompt([outcome("c1", "r" * 900)])
    found = degrees(build, REMOVE)
    assert (found["calls c1"], found["results c1"], found["calls c2"]) == (FATE_SHORTENED, FATE_SHORTENED, FATE_STAYS)


def test_the_last_row_is_not_removed() -> None:
    build = Build()
    build.prompt()
    build.answer("I look", id="m")
    build.call("c1", id="m")
    build.result("c1")
    assert degrees(build, REMOVE)["calls c1"] == FATE_SHORTENED


def test_prompts_alone_have_no_answer_to_hold() -> None:
    build = Build()
    build.prompt("a")
    assert degrees(build, REMOVE) == {"prompts": FATE_STAYS}


def test_an_image_in_a_result_goes_with_what_becomes_of_that() -> None:
    build = Build()
    turn(build, "c1", output=[{"type": "text", "text": "x"}, PICTURE])
    turn(build, "c2", output=[{"type": "text", "text": "x"}, PICTURE])
    build.lines[5]["message"]["content"][0]["input"] = {"command": "c1"}
    assert degrees(build, StripOptions(StripRule(1, 100)))["images c1"] == FATE_SHORTENED
    assert degrees(build, StripOptions(StripRule(1, 9000)))["images c1"] == FATE_STAYS
    assert degrees(build, StripOptions(duplicates=True))["images c1"] == FATE_REPLACED
    found = build_context_pieces(build.session()).all
    left = [
        kept.fixed
        for p, kept in zip(found, estimate_remaining(found, StripOptions(duplicates=True)), strict=True)
        if p.fixed
    ]
    assert left == [0, 1600]


def test_a_result_that_is_written_twice_is_no_duplicate_of_itself() -> None:
    build = Build()
    turn(build, "c1")
    build.prompt("more")
    build.answer("and", use("c1", given={"command": "c1"}), id="other")
    build.prompt([outcome("c1", "r")])
    found = build_context_pieces(build.session()).all
    assert all(
        fate.degree == FATE_STAYS for fate in decide_fates(found, StripOptions(duplicates=True, stale_reads=True))
    )


def test_the_clients_copies_go_by_the_age_of_the_call() -> None:
    build = Build()
    turn(build, "c1")
    turn(build, "c2", "Task")
    turn(build, "c3")
    found = build_context_pieces(build.session()).all
    assert find_calls_without_copy(found, StripOptions(copies=1)) == {"c1", "c2"}
    assert find_calls_without_copy(found, StripOptions(copies=1, protected=frozenset({"Agent"}))) == {"c1"}
    assert find_calls_without_copy(found, StripOptions()) == set()


def test_wishes_know_whether_they_ask_for_anything() -> None:
    assert StripOptions().is_idle
    assert StripOptions(named=(("Bash", StripRule(3)),)).is_idle
    assert not StripOptions(images=0).is_idle
    assert not StripOptions(named=(("Bash", StripRule(0, 5)),)).is_idle
    assert not any(preset.strip_options.is_idle for preset in PRESETS)


def test_the_last_rule_that_fits_a_tool_counts_and_former_names_fit_too() -> None:
    wishes = StripOptions(
        StripRule(1),
        (("mcp__*", StripRule(2)), ("mcp__a__*", StripRule(3)), ("Task", StripRule(4))),
        frozenset({"Ask*"}),
    )
    rules = [wishes.find_rule(name) for name in ("Bash", "mcp__b", "mcp__a__b", "Agent", "AskUserQuestion")]
    assert rules == [StripRule(1), StripRule(2), StripRule(3), StripRule(4), None]


def test_of_repeated_metadata_only_the_last_is_no_noise() -> None:
    build = Build()
    for mode in ("plan", "default"):
        build.note("mode", mode=mode)
    build.note("attribution-snapshot")
    build.prompt()
    assert [entry.index for entry in list_noise_entries(build.session().file.entries)] == [0, 2]


def test_a_turn_of_many_calls_ages_as_if_it_were_several() -> None:
    build = Build()
    turn(build, "first")
    build.prompt("work on")
    for number in range(2 * MAX_CALLS_OF_ONE_AGE + 1):
        build.call(f"c{number}", id=f"m{number}")
        build.result(f"c{number}")
    build.answer("done")
    ages = PieceAges(build_context_pieces(build.session()).all)
    newest, oldest = ages.get_call_age(f"c{2 * MAX_CALLS_OF_ONE_AGE}"), ages.get_call_age("c0")
    assert (newest, ages.get_call_age("c1"), oldest, ages.get_call_age("first")) == (0, 1, 2, 3)


def test_calls_that_one_message_makes_have_the_same_age() -> None:
    build = Build()
    build.prompt("all at once")
    names = [f"c{number}" for number in range(2 * MAX_CALLS_OF_ONE_AGE)]
    for name in names:
        build.call(name, id="one")
    for name in names:
        build.result(name)
    ages = PieceAges(build_context_pieces(build.session()).all)
    assert {ages.get_call_age(name) for name in names} == {0}


def test_what_is_shortened_gets_shorter_with_its_age_down_to_a_least() -> None:
    rule = StripRule(3, 800, None, 10)
    assert [rule.get_max_chars(age) for age in (3, 10, 20, 40, 1000)] == [800, 800, 400, 200, MIN_FADED_CHARS]
    assert StripRule(3, 50, None, 10).get_max_chars(1000) == 50
    assert StripRule(3, 800).get_max_chars(1000) == 800
    assert StripRule(3, None, None, 10).get_max_chars(1000) is None
