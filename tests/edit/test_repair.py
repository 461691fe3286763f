"""Repair: each kind of illness is gone afterwards, and the conversation is what it should have been."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.edit.sick import CASES, IDS, SICK, Sick, hidden_end
from tests.session.build import (
    BASE,
    DATA,
    ROOT,
    SESSION,
    Build,
    base,
    describe_resumed,
    encode_lines,
    find_recording,
    open_variant,
    outcome,
    use,
)
from turnlog.edit.illnesses.calls import LOST_RESULT_TEXT
from turnlog.edit.illnesses.catalogue import ALTERNATIVES_BY_KIND, ILLNESSES, REPAIRS_BY_KIND, diagnose_session
from turnlog.edit.illnesses.illness import RepairCase
from turnlog.edit.illnesses.parent_finder import ParentFinder
from turnlog.edit.illnesses.repair import (
    RepairOutcome,
    Treatment,
    count_sent_blocks,
    repair_session,
)
from turnlog.entries.spread_values import join_lines, join_to_line
from turnlog.errors import UsageError
from turnlog.session.session import Session


def well(data: bytes, *only: str) -> bytes:
    found = repair_session(Session.from_bytes(data), only)
    assert found.draft is not None
    assert found.is_cured
    return b"".join(found.draft.iterate_lines())


def rows(data: bytes) -> dict[str, dict[str, Any]]:
    return {row["uuid"]: row for row in map(json.loads, data.splitlines()) if "uuid" in row}


def kinds(data: bytes) -> set[str]:
    return {symptom.kind for symptom in diagnose_session(Session.from_bytes(data))}


def get_treatment(found: RepairOutcome, kind: str) -> Treatment:
    return next(treatment for treatment in found.treatments if treatment.kind == kind)


# -- every kind


@pytest.mark.parametrize(("kind", "make"), CASES, ids=IDS)
def test_what_a_session_has_is_gone_after_its_repair(kind: str, make: Callable[[], Sick]) -> None:
    sick = make()
    assert kind in kinds(sick.data)
    after = well(sick.data, *([kind] if sick.only else []))
    assert kind not in kinds(after)
    assert describe_resumed(Session.from_bytes(after)) == sick.well


@pytest.mark.parametrize(("kind", "make"), CASES, ids=IDS)
def test_one_kind_alone_is_repaired_when_it_is_named(kind: str, make: Callable[[], Sick]) -> None:
    sick = make()
    found = repair_session(Session.from_bytes(sick.data), [kind])
    assert {treatment.kind for treatment in found.treatments} <= {kind, "torn-line"}
    assert get_treatment(found, kind).left == 0


@pytest.mark.parametrize(("kind", "make"), CASES, ids=IDS)
def test_every_line_that_no_repair_is_about_stays_byte_for_byte(kind: str, make: Callable[[], Sick]) -> None:
    sick = make()
    whole = b"".join(map(join_to_line, join_lines(sick.data.splitlines(keepends=True))))
    data = whole if kind == "spread-lines" else sick.data  # whose lines are no entries
    before, after = data.splitlines(), well(sick.data, *([kind] if sick.only else [])).splitlines()
    touched = sum(line not in after for line in before)
    assert touched <= len(before) // 2 or kind in ("refused", "missing-parent")


@pytest.mark.parametrize(("kind", "make"), CASES, ids=IDS)
def test_a_note_is_left_alone_unless_its_kind_is_named(kind: str, make: Callable[[], Sick]) -> None:
    sick = make()
    assert (repair_session(Session.from_bytes(sick.data)).draft is None) == sick.only


@pytest.mark.parametrize(("kind", "make"), CASES, ids=IDS)
def test_a_repaired_session_needs_no_second_repair(kind: str, make: Callable[[], Sick]) -> None:
    sick = make()
    only = [kind] if sick.only else []
    assert repair_session(Session.from_bytes(well(sick.data, *only)), only) == RepairOutcome([], None, [])


@pytest.mark.parametrize(("kind", "make"), CASES, ids=IDS)
def test_an_unasked_repair_takes_nothing_from_what_is_sent(kind: str, make: Callable[[], Sick]) -> None:
    before = Session.from_bytes(make().data)
    draft = repair_session(before).draft
    if draft is not None:
        exempt = {name for illness in ILLNESSES.values() for name in illness.refused_blocks}
        lost = count_sent_blocks(before) - count_sent_blocks(Session(draft.file))
        assert {name for name, _ in lost} <= (exempt if ILLNESSES[kind].refused_blocks else set())


def test_a_repair_that_would_send_less_says_how_to_ask_for_it() -> None:
    found = get_treatment(repair_session(Session.from_bytes(hidden_end().data)), "hidden-end")
    assert (found.done, found.left) == (0, 2)
    assert found.words == (
        "not done: Claude Code sends blocks that would be removed (2 text); `--only hidden-end` removes them anyway"
    )


def test_only_those_entries_of_another_session_go_unasked_that_are_not_sent() -> None:
    build = base()
    build.prompt("lost", "s1", parent=None, sessionId="another")
    build.answer("lost too", uuid="s2", sessionId="another")
    build.prompt("sent", "s3", parent="a3", sessionId="another")
    build.answer("sent too", uuid="s4", sessionId="another")
    build.note("last-prompt", leafUuid="s4")
    found = repair_session(build.session())
    assert found.draft is not None
    assert describe_resumed(Session(found.draft.file)) == [*BASE, "U sent", "A sent too"]
    assert (get_treatment(found, "other-session").done, get_treatment(found, "other-session").left) == (2, 2)
    assert (
        "2 stay because Claude Code sends them; `--only other-session`" in get_treatment(found, "other-session").words
    )
    assert describe_resumed(Session.from_bytes(well(build.data(), "other-session"))) == BASE


def test_every_kind_of_the_catalogue_is_repaired_or_says_what_to_do_instead() -> None:
    assert sorted([*REPAIRS_BY_KIND, *ALTERNATIVES_BY_KIND]) == sorted(ILLNESSES)
    assert all(ALTERNATIVES_BY_KIND.values())


def test_every_kind_that_is_repaired_has_a_sick_session_here() -> None:
    assert set(REPAIRS_BY_KIND) - set(SICK) == {"parent-in-agent", "not-in-picker", "title-not-in-tail"}


def test_every_repair_is_documented_in_its_order() -> None:
    text = (ROOT / "docs" / "repair.md").read_text(encoding="utf-8")
    first, second = text.partition("## What is done")[2].split("## What is not")
    assert re.findall(r"^\| `([^`]+)` \|", first, re.MULTILINE) == list(REPAIRS_BY_KIND)
    assert re.findall(r"^\| `([^`]+)` \|", second.partition("\n## ")[0], re.MULTILINE) == list(ALTERNATIVES_BY_KIND)


# -- the whole


def test_a_sound_session_is_left_as_it_is() -> None:
    assert repair_session(base().session()) == RepairOutcome([], None, [])


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="choose from torn-line, broken-line"):
        repair_session(base().session(), ["headache"])


@pytest.mark.parametrize(
    "path", sorted(DATA.glob("sessions/*/*/projects/*/????????-*.jsonl")), ids=lambda p: f"{p.parts[-5]}-{p.stem[:8]}"
)
def test_sound_sessions_of_the_real_client_are_not_touched(path: Path) -> None:
    with Session.open(path) as session:
        treated = [treatment.kind for treatment in repair_session(session).treatments]
    assert treated == (["parent-in-agent"] if path.stem.startswith("f9f95e52") else [])


def test_several_illnesses_are_repaired_one_after_the_other() -> None:
    build = base()
    build.call("c1", uuid="x1")
    build.prompt("on", parent="gone")
    build.answer({"type": "thinking", "thinking": "hm"}, "yes")
    first, *rest = build.data().splitlines(keepends=True)
    found = repair_session(Session.from_bytes(first.rstrip() + b"".join(rest) + b"{broken}\n" + b'{"torn'))
    assert [t.kind for t in found.treatments if t.done] == [
        "torn-line",
        "glued-line",
        "broken-line",
        "missing-parent",
        "unanswered-call",
        "bad-thinking",
    ]
    assert found.is_cured
    assert found.draft is not None
    assert describe_resumed(Session(found.draft.file)) == [*BASE, "A call c1", "U result c1 + on", "A yes"]


def test_what_another_repair_has_cured_is_told_as_gone() -> None:
    build = base()
    build["u3"]["parentUuid"] = "gone"
    assert get_treatment(repair_session(build.session()), "hidden-tail") == Treatment(
        "hidden-tail", 1, 0, 0, "cured by the other repairs"
    )


def test_what_is_shown_again_and_ill_itself_is_repaired_too() -> None:
    build = base()
    build["a1"]["message"]["content"].insert(0, {"type": "thinking", "thinking": "hm"})
    build["u2"]["parentUuid"] = "gone"
    assert kinds(build.data()) == {"missing-parent", "hidden-tail"}
    assert describe_resumed(Session.from_bytes(well(build.data()))) == BASE


def test_what_is_shown_again_and_ill_itself_is_told_when_only_one_kind_is_wished() -> None:
    build = base()
    build["a1"]["message"]["content"].insert(0, {"type": "thinking", "thinking": "hm"})
    build["u2"]["parentUuid"] = "gone"
    assert repair_session(build.session(), ["missing-parent"]).revealed == ["bad-thinking"]


def test_a_repair_that_would_make_it_worse_is_not_done() -> None:
    build = Build()
    build.result("c9")
    build.answer("what?")
    found = repair_session(build.session())
    assert found.draft is None
    assert not found.is_cured
    assert get_treatment(found, "orphan-result").words == "not done: no user entry is left"


def test_two_writers_are_left_and_told_what_to_do() -> None:
    build = base()
    for number in range(3):
        build.prompt("left", f"l{number}", parent=f"l{number - 1}" if number else "a3")
        build.prompt("right", f"r{number}", parent=f"r{number - 1}" if number else "a3")
    found = repair_session(build.session(), ["two-writers"])
    assert found.draft is None
    assert not found.is_cured
    assert "turnlog fork" in get_treatment(found, "two-writers").words


def test_a_file_of_another_program_is_told_to_be_one() -> None:
    found = repair_session(Session.from_bytes(b'{"type":"session_meta","payload":{},"timestamp":"x"}\n'))
    assert [(t.kind, t.left) for t in found.treatments] == [("no-session", 1)]


# -- lines


def test_a_cut_off_line_goes_whatever_is_repaired() -> None:
    build = base()
    build["u3"]["parentUuid"] = "gone"
    assert kinds(well(build.data() + b'{"type":"us', "missing-parent")) == set()


def test_a_byte_order_mark_stays_with_its_line() -> None:
    first, second, *rest = base().data().splitlines(keepends=True)
    after = well(b"\xef\xbb\xbf" + first + second.rstrip() + b"".join(rest))
    assert after == b"\xef\xbb\xbf" + base().data()


def test_lines_that_can_not_be_read_are_left_out_and_counted() -> None:
    found = repair_session(Session.from_bytes(base().data() + b"{broken}\nmore\n"))
    assert get_treatment(found, "broken-line").words == "left out 2: only the source has what they contained"


def test_an_entry_that_was_written_over_several_lines_becomes_one() -> None:
    lines = base().lines
    spread = json.dumps(lines[2], indent=2).encode() + b"\n"
    assert (
        describe_resumed(Session.from_bytes(well(encode_lines(lines[:2]) + spread + encode_lines(lines[3:])))) == BASE
    )


# -- links


def test_no_real_branches_are_joined() -> None:
    build = base()
    build.prompt("another way", "b1", parent="a1")
    build.answer("fine", uuid="b2")
    build.note("last-prompt", leafUuid="b2")
    build["b2"]["parentUuid"] = "gone"
    after = rows(well(build.data()))
    assert after["b2"]["parentUuid"] == "b1"
    assert after["b1"]["parentUuid"] == "a1"
    assert after["u2"]["parentUuid"] == "a1"


def test_a_prompt_that_hangs_on_a_later_result_makes_no_ring() -> None:
    build = Build()
    build.result("c1", uuid="r1", parent="gone")
    build.prompt("hello", "p1", parent="gone too")
    build.call("c1", uuid="x1")
    build.answer("done")
    session = build.session()
    homes = ParentFinder(RepairCase(session, ()))
    result, prompt, call, _ = session.file.entries
    assert homes.find_parent(result) is call
    assert homes.find_parent(prompt) is None


def test_copies_of_an_entry_get_the_same_parent() -> None:
    build = base()
    build["u3"]["parentUuid"] = "gone"
    build.lines.append(dict(build["u3"]))
    after = [json.loads(line) for line in well(build.data()).splitlines()]
    assert [row["parentUuid"] for row in after if row["uuid"] == "u3"] == ["a2", "a2"]


def test_an_answer_with_a_conversation_below_stays_a_branch() -> None:
    build = base()
    build.prompt("u4", "u4")
    build.answer("hidden", uuid="a4")
    build.prompt("on", "p4")
    build.system("away_summary", parent="u4", uuid="s4")
    build.prompt("u5", "u5")
    found = repair_session(build.session())
    assert found.draft is None
    assert "stay branches" in get_treatment(found, "hidden-answer").words


def test_lines_that_the_client_wrote_into_a_sub_agents_file_are_brought_back(tmp_path: Path) -> None:
    source = find_recording("2.1.29/tui_progress")
    with Session.open(source) as session:
        before = len(describe_resumed(session))
        found = repair_session(session)
    assert found.draft is not None
    assert get_treatment(found, "parent-in-agent").left == 0
    after = Session(found.draft.file)
    assert len(after.graph.rows_missing_parent) == 0
    assert len(describe_resumed(after)) >= before
    brought = [
        entry for entry in after.file.entries if entry.uuid not in Session.from_bytes(source.read_bytes()).file.by_uuid
    ]
    assert [entry.type for entry in brought if entry.uuid] == ["assistant"]
    assert not any(entry.is_sidechain or entry.agent_id for entry in brought)


def test_what_hangs_on_a_sub_agents_own_conversation_does_not_bring_that_in(tmp_path: Path) -> None:
    build = base()
    build["u3"]["parentUuid"] = "g1"
    path = build.write(tmp_path)
    inner = Build()
    inner.prompt("work", "g0", isSidechain=True, agentId="a1234567")
    inner.answer("working", uuid="g1", isSidechain=True, agentId="a1234567")
    folder = tmp_path / SESSION / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1234567.jsonl").write_bytes(inner.data())
    with Session.open(path) as session:
        found = repair_session(session)
    assert get_treatment(found, "parent-in-agent").words == "attached 1 to what was written just before"
    assert found.draft is not None
    assert describe_resumed(Session(found.draft.file)) == BASE


def test_two_entries_with_one_uuid_keep_what_was_written_behind_each() -> None:
    build = base()
    build.prompt("u4 text", "u2", parent="a3")
    build.answer("a4 text", uuid="a4", parent="u2")
    build.note("last-prompt", leafUuid="u2", lastPrompt="x")
    after = rows(well(build.data()))
    assert after["a2"]["parentUuid"] == "u2"
    new = after["a4"]["parentUuid"]
    assert after[new]["message"]["content"] == "u4 text"


# -- calls


def test_a_made_up_result_says_so_and_has_all_that_a_result_has() -> None:
    build = base()
    build.call("c1", uuid="x1", gitBranch="main", entrypoint="cli")
    build.prompt("on", "p1")
    build.answer("yes")
    after = rows(well(build.data()))
    made = after[after["p1"]["parentUuid"]]
    (block,) = made["message"]["content"]
    assert block == {"type": "tool_result", "tool_use_id": "c1", "content": LOST_RESULT_TEXT, "is_error": True}
    assert (made["parentUuid"], made["sourceToolAssistantUUID"], made["gitBranch"]) == ("x1", "x1", "main")
    assert (made["type"], made["isSidechain"], made["sessionId"]) == ("user", False, SESSION)
    assert made["timestamp"] == after["x1"]["timestamp"]


def test_a_call_without_an_id_can_not_be_answered() -> None:
    build = base()
    build.answer(use(None))
    build.prompt("on")
    build.answer("yes")
    found = repair_session(build.session())
    assert get_treatment(found, "unanswered-call").left == 1
    assert "no id" in get_treatment(found, "unanswered-call").words


def test_the_clients_copy_of_a_result_goes_with_the_last_result() -> None:
    build = base()
    build.prompt([{"type": "text", "text": "x"}, outcome("c9")], "r1", toolUseResult="done")
    build.answer("yes")
    assert "toolUseResult" not in rows(well(build.data()))["r1"]


def test_wrong_types_among_the_blocks_do_not_shift_what_goes() -> None:
    build = base()
    build.prompt(["stray", outcome("c9"), {"type": "text", "text": "stays"}], "r1")
    build.answer("yes")
    assert rows(well(build.data()))["r1"]["message"]["content"] == ["stray", {"type": "text", "text": "stays"}]


def test_the_same_tool_gets_the_same_shorter_name() -> None:
    build = base()
    build.call("c1", "x" * 300, uuid="x1")
    build.result("c1")
    build.call("c2", "x" * 300, uuid="x2")
    build.result("c2")
    after = rows(well(build.data()))
    assert {after[uuid]["message"]["content"][0]["name"] for uuid in ("x1", "x2")} == {"x" * 200}


# -- size


def test_a_giant_result_keeps_its_head_and_tail_and_its_images() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "https://example.org/i.png"}}
    build = base()
    build.call("c1")
    texts = [{"type": "text", "text": f"{number} " + "word " * 30_000 + "end"} for number in range(12)]
    build.prompt([outcome("c1", [*texts, image])], "r1")
    build.answer("yes")
    content = rows(well(build.data(), "giant-result"))["r1"]["message"]["content"][0]["content"]
    assert content[-1] == image
    assert content[3]["text"].startswith("3 word ")
    assert content[3]["text"].endswith(" word end")
    assert sum(len(block.get("text", "")) for block in content) < 1 << 20


# -- what is not repaired


def test_a_session_in_which_nothing_was_said_stays_refused() -> None:
    found = repair_session(open_variant("minimum-without-message"))
    assert get_treatment(found, "refused").words == "nothing in it is a prompt or an answer"
    only = repair_session(open_variant("only-metadata-rows"), ["refused", "lost-leaf"])
    assert not only.is_cured
