"""Diagnosis: each illness of the catalogue is found where it is, and nowhere else."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import DATA, ROOT, SESSION, Build, base, find_recording, open_variant, outcome, use
from tests.session.replays import build_replays
from turnlog.edit.illnesses.bulk import GIANT_RESULT_BYTES
from turnlog.edit.illnesses.catalogue import ILLNESSES, diagnose_session
from turnlog.edit.illnesses.illness import Symptom, Symptoms, SymptomSpot
from turnlog.render.figures import format_size
from turnlog.session.session import Session

GOOD = base().data()
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + (10).to_bytes(4, "big") + (10).to_bytes(4, "big")).decode()


def find_symptoms(session: Session, kind: str) -> list[Symptom]:
    return [symptom for symptom in diagnose_session(session) if symptom.kind == kind]


def one(session: Session | Build, kind: str) -> Symptom:
    (symptom,) = find_symptoms(session.session() if isinstance(session, Build) else session, kind)
    return symptom


def uuids(symptom: Symptom) -> list[str | None]:
    return [entry.uuid for entry in symptom.entries]


def list_ailments(session: Session) -> set[str]:
    return {symptom.kind for symptom in diagnose_session(session) if symptom.severity != "info"}


# -- health


def test_a_sound_session_has_no_symptoms() -> None:
    assert diagnose_session(base().session()) == []


KNOWN_SICK = {"f9f95e52-346e-4f2f-9aed-dd1159259183"}
"""Client 2.1.29 wrote a line of it into a sub-agent's file only."""


@pytest.mark.parametrize(
    "path", sorted(DATA.glob("sessions/*/*/projects/*/????????-*.jsonl")), ids=lambda p: f"{p.parts[-5]}-{p.stem[:8]}"
)
def test_no_recorded_session_of_the_real_client_raises_a_false_alarm(
    open_session: Callable[[Path], Session], path: Path
) -> None:
    expected = {"parent-in-agent"} if path.stem in KNOWN_SICK else set()
    assert list_ailments(open_session(path)) == expected


def test_every_kind_is_in_the_catalogue_with_words_and_a_remedy() -> None:
    for illness in ILLNESSES.values():
        assert illness.notice.endswith((".", "”", "missing"))
        assert illness.cause
        assert "{" not in illness.describe_cure("abc", "/p/f", "/p")
    assert ILLNESSES["cycle"].describe_cure("abc") == "turnlog repair abc --only cycle"


def test_every_kind_is_documented_and_every_documented_kind_exists() -> None:
    text = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8").partition("## Illnesses")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE) == list(ILLNESSES)


def test_the_gravest_symptoms_come_first_and_places_are_counted() -> None:
    notes = Symptoms()
    entries = base().session().file.entries
    notes.note("lost-leaf", "info", "a")
    notes.add_items("cycle", "error", "b", [entries[1], entries[0], entries[1]])
    first, last = notes.list_symptoms()
    assert (first.kind, first.count, uuids(first)) == ("cycle", 3, ["u1", "a1"])
    assert (last.kind, last.count, last.spots) == ("lost-leaf", 1, ())


def test_a_file_of_another_program_is_no_session() -> None:
    (symptom,) = diagnose_session(Session.from_bytes(b'{"type":"session_meta","payload":{},"timestamp":"x"}\n'))
    assert (symptom.kind, symptom.severity) == ("no-session", "error")


# -- lines


def test_a_torn_last_line_is_found() -> None:
    symptom = one(Session.from_bytes(GOOD + b'{"type":"us'), "torn-line")
    assert symptom.severity == "warning"
    assert [spot.item.offset for spot in symptom.spots] == [len(GOOD)]
    assert symptom.entries == ()


def test_a_broken_line_is_found() -> None:
    assert one(Session.from_bytes(GOOD + b"{broken}\n"), "broken-line").severity == "error"


def test_json_that_is_no_entry_is_a_broken_line_too() -> None:
    assert one(Session.from_bytes(GOOD + b"[1]\n"), "broken-line").severity == "warning"


def test_blank_lines_do_no_harm() -> None:
    assert diagnose_session(Session.from_bytes(GOOD + b"\n\n")) == []


def test_two_entries_on_one_line_are_found() -> None:
    first, second, *rest = GOOD.splitlines(keepends=True)
    symptom = one(Session.from_bytes(first.rstrip() + second + b"".join(rest)), "glued-line")
    assert (symptom.severity, uuids(symptom)) == ("error", ["a1"])


def test_padding_and_unescaped_control_bytes_are_found() -> None:
    assert one(Session.from_bytes(GOOD + b"\0\0\n"), "control-bytes").severity == "warning"
    bad = GOOD.replace(b"u2 text", b"u2 \x01text")
    assert one(Session.from_bytes(bad), "control-bytes").severity == "error"


# -- links


def test_a_missing_parent_that_cuts_the_conversation_is_an_error() -> None:
    build = base()
    build["u3"]["parentUuid"] = "gone"
    assert (one(build, "missing-parent").severity, uuids(one(build, "missing-parent"))) == ("error", ["u3"])
    tail = one(build, "hidden-tail")
    assert (tail.severity, uuids(tail), tail.spots[0].detail) == ("error", ["u3"], "gone")
    assert "4 prompts and answers" in tail.text


def test_a_missing_parent_that_the_client_bridges_by_time_is_a_warning() -> None:
    build = base(step=1)
    build["u3"]["parentUuid"] = "gone"
    assert one(build, "missing-parent").severity == "warning"
    assert not find_symptoms(build.session(), "hidden-tail")


def test_a_parent_that_the_first_entry_misses_harms_nobody() -> None:
    build = base()
    build["u1"]["parentUuid"] = "gone"
    assert one(build, "missing-parent").severity == "info"


def test_a_missing_parent_behind_reports_of_progress_cuts_too() -> None:
    build = base()
    build.progress(parent="gone")
    build.prompt("more")
    assert one(build, "missing-parent").severity == "error"


def test_a_parent_in_a_sub_agents_file_is_told_apart(open_session: Callable[[Path], Session]) -> None:
    session = open_session(find_recording("2.1.29/tui_progress"))
    assert one(session, "parent-in-agent").severity == "warning"
    assert not find_symptoms(session, "missing-parent")


def test_a_parent_of_which_only_the_snapshot_was_written_is_told_apart() -> None:
    build = base()
    build.note("file-history-snapshot", messageId="gone")
    build.note("file-history-snapshot", messageId=5)
    build["u3"]["parentUuid"] = "gone"
    assert uuids(one(build, "snapshot-id")) == ["u3"]
    assert not find_symptoms(build.session(), "missing-parent")


def test_a_snapshot_of_a_message_that_is_there_is_no_symptom() -> None:
    build = base()
    build.note("file-history-snapshot", messageId="u1")
    assert diagnose_session(build.session()) == []


def test_a_cycle_is_found() -> None:
    assert one(open_variant("parent-cycle"), "cycle").severity == "error"


def test_copies_of_an_entry_are_told_apart_from_others_with_its_uuid() -> None:
    assert one(open_variant("first-rows-written-twice-same-uuids"), "duplicate-uuid").severity == "info"
    build = base()
    build.prompt("another", "u2", parent="a1")
    build.prompt("another", "a1", parent="u3")
    same, other = find_symptoms(build.session(), "duplicate-uuid")[::-1]
    assert (same.severity, len(same.spots)) == ("info", 1)
    assert (other.severity, uuids(other)) == ("warning", ["a1", "a1"])


def test_history_that_a_compaction_wrote_again_is_found_with_its_bytes() -> None:
    build = build_replays(3)
    session = build.session()
    symptom = one(build, "replayed-history")
    size = sum(row.size for row in session.replays)
    assert (symptom.severity, symptom.count) == ("warning", 12)
    assert symptom.text == f"earlier history is written again: 12 entries, {format_size(size)}"
    assert not find_symptoms(session, "duplicate-uuid")


def test_an_answer_without_a_parent_in_the_middle_is_a_further_root() -> None:
    build = base()
    build["a2"]["parentUuid"] = None
    assert (one(build, "several-roots").severity, uuids(one(build, "several-roots"))) == ("warning", ["a2"])
    assert one(build, "hidden-tail").severity == "error"


def test_a_prompt_that_begins_anew_may_be_a_rewind() -> None:
    build = base()
    build["u3"]["parentUuid"] = None
    assert one(build, "several-roots").severity == "info"
    assert one(build, "hidden-tail").severity == "info"
    assert list_ailments(build.session()) == set()


def test_a_context_that_was_cleared_below_reports_of_progress_is_no_damage() -> None:
    build = base()
    build.progress(parent=None)
    build.prompt("the plan")
    build.system("turn_duration", parent=None)
    assert one(build, "several-roots").severity == "info"


def test_compactions_are_no_further_roots() -> None:
    build = base()
    build.boundary()
    build.summary()
    build.prompt("on")
    build.answer("yes")
    assert diagnose_session(build.session()) == []


def test_entries_of_another_session_are_found() -> None:
    build = base()
    build.prompt("stray", "s1", parent=None, sessionId="another")
    build.answer("stray", uuid="s2", sessionId="another")
    build.note("last-prompt", leafUuid="a3")
    assert uuids(one(build, "other-session")) == ["s1", "s2"]


def test_entries_that_a_fork_has_copied_are_no_strangers(
    open_session: Callable[[Path], Session], tmp_path: Path
) -> None:
    build = base()
    for line in build.lines[:4]:
        line["sessionId"] = "another"
    assert not find_symptoms(open_session(build.write(tmp_path)), "other-session")


def test_a_renamed_file_has_no_strangers(open_session: Callable[[Path], Session], tmp_path: Path) -> None:
    assert not find_symptoms(open_session(base().write(tmp_path, SESSION.replace("1", "2"))), "other-session")


def test_branches_that_take_turns_in_the_file_have_two_writers() -> None:
    build = base()
    for number in range(3):
        build.prompt("left", f"l{number}", parent=f"l{number - 1}" if number else "a3")
        build.prompt("right", f"r{number}", parent=f"r{number - 1}" if number else "a3")
    symptom = one(build, "two-writers")
    assert symptom.severity == "warning"
    assert uuids(symptom)[:2] == ["a3", "r0"]


def test_a_rewind_has_one_writer() -> None:
    build = base()
    build.prompt("left", "l0", parent="a3")
    build.answer("late")
    build.prompt("right", "r0", parent="a3")
    build.answer("yes")
    assert not find_symptoms(build.session(), "two-writers")


# -- what a resume shows


def test_a_session_that_the_client_refuses_is_found() -> None:
    build = base()
    del build["a3"]["timestamp"]
    assert one(build, "refused").severity == "error"
    assert one(open_variant("all-rows-issidechain-true"), "refused").severity == "info"


def test_what_was_added_without_telling_the_client_is_hidden() -> None:
    build = base()
    build.note("last-prompt", leafUuid="a3")
    build.prompt("branch", "b1", parent="a2")
    build.answer("fine", uuid="b2")
    assert (one(build, "hidden-end").severity, uuids(one(build, "hidden-end"))) == ("warning", ["b1", "b2"])


def test_an_answer_beside_a_line_of_the_client_is_hidden() -> None:
    build = base()
    build.prompt("u4", "u4")
    build.answer("hidden", uuid="a4")
    build.system("away_summary", parent="u4", uuid="s4")
    build.prompt("u5", "u5")
    symptom = one(build, "hidden-answer")
    assert (symptom.severity, uuids(symptom), symptom.spots[0].detail) == ("warning", ["a4"], "s4")


def test_an_api_error_beside_a_line_of_the_client_is_not() -> None:
    build = base()
    build.prompt("u4", "u4")
    build.answer("API Error", model="<synthetic>", isApiErrorMessage=True)
    build.attachment("reminder", parent="u4")
    build.answer("at last")
    assert diagnose_session(build.session()) == []


def test_an_entry_that_goes_on_from_before_the_last_compaction_is_found() -> None:
    build = base()
    build.boundary()
    build.summary()
    build.prompt("on", "u4", parent="a2")
    build.answer("what?")
    symptom = one(build, "stale-parent")
    assert (uuids(symptom), symptom.spots[0].detail) == (["u4"], "a2")


def test_messages_that_a_compaction_kept_are_not_stale() -> None:
    build = base()
    build.boundary(preservedMessages={"anchorUuid": "s1", "uuids": ["u3", "a3"]})
    build.summary(uuid="s1")
    build.prompt("on", parent="a3")
    build.answer("yes")
    assert diagnose_session(build.session()) == []


def test_what_a_compaction_kept_and_is_not_there_is_found() -> None:
    build = base()
    build.boundary("b1", preservedMessages={"anchorUuid": "s1", "uuids": ["u3", "gone"]})
    build.summary(uuid="s1")
    symptom = one(build, "lost-preserved")
    assert (symptom.severity, uuids(symptom), symptom.spots[0].detail) == ("error", ["b1"], "gone")


def test_a_mark_that_names_nothing_is_noted() -> None:
    build = base()
    build.note("last-prompt", leafUuid="gone")
    build.note("last-prompt", lastPrompt="x")
    assert one(build, "lost-leaf").severity == "info"
    build.note("last-prompt", leafUuid="00000000-0000-0000-0000-000000000000", explicit=True)
    assert not find_symptoms(build.session(), "lost-leaf")


# -- calls


def test_a_call_without_a_result_is_found_but_for_one_at_the_end() -> None:
    build = base()
    build.answer("and", use("c1"), uuid="x1")
    build.prompt("on")
    build.answer("yes")
    build.call("c2")
    symptom = one(build, "unanswered-call")
    assert symptom.spots == (SymptomSpot(symptom.spots[0].item, (1,), "c1"),)
    assert uuids(symptom) == ["x1"]


def test_on_a_branch_that_is_not_resumed_a_call_without_a_result_harms_nobody() -> None:
    build = base()
    build.call("c1")
    build.prompt("again", parent="a3")
    build.answer("yes")
    assert one(build, "unanswered-call").severity == "info"


def test_a_result_without_its_call_is_found() -> None:
    build = base()
    build.prompt([{"type": "text", "text": "x"}, outcome("c9")], "r1")
    build.answer("yes")
    symptom = one(build, "orphan-result")
    assert (symptom.severity, uuids(symptom), symptom.spots[0][1:]) == ("warning", ["r1"], ((1,), "c9"))


def test_a_result_that_comes_too_late_is_found() -> None:
    build = base()
    build.call("c1")
    build.prompt("meanwhile")
    build.answer("well")
    build.result("c1", uuid="r1")
    build.answer("done")
    symptom = one(build, "late-result")
    assert (uuids(symptom), symptom.spots[0].detail) == (["r1"], "c1")
    assert not find_symptoms(build.session(), "unanswered-call")


def test_parallel_calls_are_sound() -> None:
    build = base()
    first = build.call("c1", id="m9")
    second = build.call("c2", id="m9")
    build.result("c1", parent=first)
    build.result("c2", parent=second)
    build.answer("both")
    assert diagnose_session(build.session()) == []


@pytest.mark.parametrize("name", ["x" * 201, "a b", ""])
def test_a_tool_name_that_the_api_refuses_is_found(name: str) -> None:
    build = base()
    build.call("c1", name, uuid="x1")
    build.result("c1")
    assert (one(build, "long-tool-name").severity, uuids(one(build, "long-tool-name"))) == ("error", ["x1"])
    build.prompt("again", parent="a3")
    assert one(build, "long-tool-name").severity == "info"


# -- what the API refuses


def build_thinking(**fields: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "hm", **fields}


@pytest.mark.parametrize(
    "block", [build_thinking(), build_thinking(signature=""), build_thinking(signature="[redacted]")]
)
def test_thinking_without_a_valid_signature_is_found(block: dict[str, Any]) -> None:
    build = base()
    build.answer(block, "so", uuid="x1")
    symptom = one(build, "bad-thinking")
    assert (symptom.severity, uuids(symptom), symptom.spots[0].blocks) == ("error", ["x1"], (0,))


def test_thinking_of_another_provider_is_only_noted() -> None:
    build = base()
    build.answer(build_thinking(), "so", model="glm-5")
    assert one(build, "bad-thinking").severity == "info"


def test_thinking_whose_text_is_left_out_is_sound() -> None:
    build = base()
    build.answer(build_thinking(thinking="", signature="Ab+/9=="), "so")
    assert diagnose_session(build.session()) == []


def test_thinking_that_was_broken_off_is_not_sent_and_does_no_harm() -> None:
    build = base()
    build.answer(build_thinking(signature=""), stop=None)
    assert diagnose_session(build.session()) == []


def image(data: Any = PNG, kind: Any = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def test_a_damaged_image_is_found_in_prompts_and_in_results() -> None:
    build = base()
    build.prompt([{"type": "text", "text": "look"}, image("!")], "p1")
    build.call("c1")
    build.prompt([outcome("c1", [image("?"), "x"]), "x"], "r1")
    symptom = one(build, "bad-image")
    assert [(spot.item.uuid, spot.blocks) for spot in symptom.spots] == [("p1", (1,)), ("r1", (0, 0))]  # type: ignore[union-attr]


def test_a_sound_image_is_no_symptom() -> None:
    build = base()
    build.prompt([image()])
    assert diagnose_session(build.session()) == []


# -- size


def test_a_result_of_megabytes_is_found_images_aside() -> None:
    build = base()
    build.call("c1")
    build.result("c1", "x" * GIANT_RESULT_BYTES, toolUseResult={"stdout": ["y" * 10], "n": 1}, uuid="r1")
    build.call("c2")
    build.prompt([outcome("c2", [image("A" * GIANT_RESULT_BYTES)])])
    assert uuids(one(build, "giant-result")) == ["r1"]


def test_a_file_that_is_mostly_progress_is_found() -> None:
    build = base()
    build.progress("p1", output="x" * (1 << 20))
    build.prompt("on")
    assert one(build, "progress-bloat").severity == "warning"
    build.prompt("x" * (3 << 20))
    assert not find_symptoms(build.session(), "progress-bloat")


def test_a_large_file_that_was_compacted_hides_nothing() -> None:
    build = base()
    build.prompt("x" * (6 << 20))
    build.boundary()
    build.summary()
    build.prompt("on", parent="u1")
    build.answer("yes")
    assert not find_symptoms(build.session(), "hidden-tail")
    assert not find_symptoms(build.session(), "stale-parent")


def test_a_call_without_an_id_has_no_block_that_could_be_named() -> None:
    build = Build()
    build.prompt("x")
    build.answer(use(None), uuid="a1")
    build.prompt("y")
    build.answer("z")
    (spot,) = one(build, "unanswered-call").spots
    assert (spot.blocks, uuids(one(build, "unanswered-call"))) == ((), ["a1"])
