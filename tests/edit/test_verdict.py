"""The verdict whether a session can be resumed, and whether an edit made it worse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import DATA, Build, base, encode_lines, genuine, open_variant, use
from tests.session.test_any import draw_damaged_session, entries, values
from turnlog.edit.illnesses.catalogue import ILLNESSES, diagnose_session
from turnlog.edit.illnesses.verdict import Verdict, judge_session, list_regressions
from turnlog.session.session import Session


def judge_build(build: Build) -> Verdict:
    return judge_session(build.session())


def broken(found: Verdict) -> set[str]:
    return {rule.name for rule in found.broken}


def full() -> Build:
    """A session with all that an edit must not lose."""
    build = base()
    build.note("permission-mode", permissionMode="plan")
    build.note("mode", mode="normal")
    build.note("custom-title", customTitle="Fruit")
    build.note("ai-title", aiTitle="About fruit")
    build.note("tag", tag="work")
    build.note("last-prompt", lastPrompt="u3 text", leafUuid="a3")
    return build


def test_a_sound_session_can_be_resumed() -> None:
    found = judge_build(full())
    assert found.is_ok
    assert found.broken == ()
    assert (found.users, found.assistants, found.messages, found.roots, found.compactions) == (3, 3, 6, 1, 0)
    assert found.kept == {
        "permission-mode": "plan",
        "mode": "normal",
        "custom-title": "Fruit",
        "ai-title": "About fruit",
        "tag": "work",
        "last-prompt": "a3",
    }


def test_the_last_value_of_what_is_kept_counts_and_an_empty_one_takes_it_away() -> None:
    build = full()
    build.note("custom-title", customTitle="Pears")
    build.note("tag", tag="")
    build.note("mode", mode=5)
    kept = judge_build(build).kept
    assert (kept["custom-title"], kept["mode"], "tag" in kept) == ("Pears", "normal", False)


def test_symptoms_are_rules_with_the_entries_they_concern() -> None:
    build = base()
    build["u3"]["parentUuid"] = "gone"
    found = judge_build(build)
    (rule,) = [rule for rule in found.broken if rule.name == "missing-parent"]
    assert (rule.severity, rule.count, rule.uuids) == ("error", 1, ("u3",))
    assert found.resumes
    assert not found.is_ok


def test_symptoms_of_one_kind_and_weight_are_one_rule() -> None:
    build = base()
    build.answer(use("c1", "a b"), use("c2", "x" * 201), uuid="x1")
    (rule,) = [rule for rule in judge_build(build).broken if rule.name == "long-tool-name"]
    assert (rule.count, rule.uuids) == (2, ("x1", "x1"))


def test_a_refused_session_has_no_messages() -> None:
    found = judge_session(open_variant("all-rows-issidechain-true"))
    assert (found.resumes, found.is_ok, found.messages) == (False, False, 0)


def test_an_open_call_at_the_end_breaks_no_rule() -> None:
    build = base()
    build.call("c1")
    assert judge_build(build).is_ok


def test_an_answer_that_ends_with_thinking_breaks_a_rule() -> None:
    build = base()
    build.answer("so", {"type": "thinking", "thinking": "hm", "signature": "abcd"})
    assert "api-last-thinking" not in broken(judge_build(build))  # the client mends the last one
    build.prompt("on")
    build.answer("yes")
    assert "api-last-thinking" in broken(judge_build(build))


def test_a_conversation_that_begins_with_an_answer_is_a_warning() -> None:
    build = Build()
    build.answer("first")
    build.prompt("well")
    found = judge_build(build)
    assert "api-first" in broken(found)
    assert found.is_ok


def test_a_prompt_alone_is_noted_and_can_be_resumed() -> None:
    build = Build()
    build.prompt()
    found = judge_build(build)
    assert "no-answer" in broken(found)
    assert found.is_ok


def test_an_entry_without_a_time_is_told() -> None:
    build = base()
    del build["u2"]["timestamp"]
    del build["a1"]["timestamp"], build["a1"]["uuid"]
    assert "no-time" in broken(judge_build(build))


def test_a_name_that_is_no_id_is_told(open_session: Callable[[Path], Session], tmp_path: Path) -> None:
    assert "file-name" not in broken(judge_session(open_session(base().write(tmp_path))))
    assert "file-name" in broken(judge_session(open_session(base().write(tmp_path, "notes"))))


# -- older clients


def count_losses(found: Verdict) -> dict[str, int]:
    return {loss.kind: loss.count for loss in found.old_clients}


def test_what_older_clients_lose_is_told() -> None:
    build = base()
    first = build.call("c1", id="m9")
    second = build.call("c2", id="m9")
    build.result("c1", parent=first)
    build.result("c2", parent=second)
    assert count_losses(judge_build(build)) == {"parallel-calls": 1}


def test_reports_of_progress_and_unknown_types_between_entries_are_told() -> None:
    build = base(step=1)
    build.progress()
    build.prompt("on")
    build.row("novelty")
    build.prompt("further")
    assert count_losses(judge_build(build)) == {"progress": 1, "unknown-type": 1}


def test_answers_that_are_plain_texts_are_told() -> None:
    assert count_losses(judge_session(open_variant("assistant-content-is-a-string")))["text-answer"] == 1


def test_a_later_time_on_another_branch_is_told() -> None:
    found = judge_session(open_variant("branch-newer-timestamps-but-earlier-in-the-file"))
    assert count_losses(found)["newest-time"] == 2


def test_the_linear_form_loses_nothing() -> None:
    assert count_losses(judge_session(open_variant("only-user-assistant-rows-kept-relinked-as-a-line"))) == {}
    assert count_losses(judge_session(open_variant("only-metadata-rows"))) == {}


# -- comparing


@pytest.mark.parametrize("run", ["1.0.128/tools", "2.1.29/tools", "2.1.325/compact"])
def test_a_session_is_never_worse_than_itself(run: str) -> None:
    found = judge_session(genuine(run))
    assert list_regressions(found, found) == []


def without(kind: str) -> Verdict:
    build = full()
    build.lines = [line for line in build.lines if line["type"] != kind]
    return judge_build(build)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("last-prompt", "the entry that says where to continue (last-prompt) is missing"),
        ("permission-mode", "the last permission mode is missing"),
        ("custom-title", "the title is missing"),
        ("mode", "the last mode is missing"),
        ("tag", "the tag is missing"),
    ],
)
def test_losing_what_must_be_kept_is_worse(kind: str, words: str) -> None:
    assert list_regressions(judge_build(full()), without(kind)) == [words]
    assert list_regressions(judge_build(full()), without(kind), apart_from=[kind]) == []
    assert list_regressions(without(kind), judge_build(full())) == []


def test_losing_the_compaction_is_worse_unless_that_is_meant() -> None:
    build = base()
    build.boundary()
    build.summary()
    build.answer("on")
    assert list_regressions(judge_build(build), judge_build(base())) == ["the last compaction is missing"]
    assert list_regressions(judge_build(build), judge_build(base()), apart_from={"compaction"}) == []


def test_a_new_fault_is_worse_and_one_that_was_there_is_not() -> None:
    faulty = base()
    faulty["u3"]["parentUuid"] = "gone"
    told = list_regressions(judge_build(base()), judge_build(faulty))
    assert "the parent of an entry is not in the file (1 instead of 0) [missing-parent]" in told
    assert list_regressions(judge_build(faulty), judge_build(faulty)) == []
    assert not [
        words
        for words in list_regressions(judge_build(base()), judge_build(faulty), apart_from=["missing-parent"])
        if "[missing" in words
    ]


def test_a_lost_parent_is_the_same_fault_wherever_it_went() -> None:
    faulty = base(step=1)
    faulty["u3"]["parentUuid"] = "gone"
    snapshot = base(step=1)
    snapshot["u3"]["parentUuid"] = "gone"
    snapshot.note("file-history-snapshot", messageId="gone")
    assert (
        list_regressions(judge_build(snapshot), judge_build(faulty))
        == list_regressions(judge_build(faulty), judge_build(snapshot))
        == []
    )


def test_a_note_is_no_reason_to_refuse() -> None:
    build = base()
    build["u3"]["parentUuid"] = None
    assert list_regressions(judge_build(base()), judge_build(build)) == []


def test_a_session_without_one_of_the_speakers_or_that_is_refused_is_worse() -> None:
    silent = base()
    silent.lines = [line for line in silent.lines if line["type"] == "system"]
    told = list_regressions(judge_build(base()), judge_build(silent))
    assert told[0] == "the client would no longer resume it"
    assert told[-2:] == ["no user entry is left", "no assistant entry is left"]


# -- any input


@given(st.lists(entries | st.dictionaries(st.text(max_size=6), values, max_size=4), max_size=8))
def test_no_json_objects_raise(lines: list[dict[str, Any]]) -> None:
    found = judge_session(Session.from_bytes(encode_lines(lines)))
    assert list_regressions(found, found) == []


@given(draw_damaged_session())
def test_no_damage_to_a_real_session_raises(lines: list[dict[str, Any]]) -> None:
    session = Session.from_bytes(encode_lines(lines))
    found = judge_session(session)
    assert list_regressions(found, found) == []
    assert {symptom.kind for symptom in diagnose_session(session)} <= ILLNESSES.keys()


@pytest.mark.parametrize("path", sorted((DATA / "variants").glob("*.jsonl")), ids=lambda path: path.stem)
def test_what_the_client_refused_is_judged_so(path: Path) -> None:
    refused = {
        "all-rows-issidechain-true",
        "minimum-without-timestamp",
        "minimum-without-message",
        "only-metadata-rows",
        "empty-file",
    }
    assert judge_session(Session.from_bytes(path.read_bytes())).resumes is (path.stem not in refused)


@pytest.mark.corpus
def test_no_session_of_the_corpus_raises(corpus: Path, open_session: Callable[[Path], Session]) -> None:
    for path in sorted(corpus.rglob("*.jsonl")):
        if path.name != "history.jsonl":
            found = judge_session(open_session(path))
            assert list_regressions(found, found) == []
