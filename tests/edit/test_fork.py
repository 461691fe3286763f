"""Forking: what leads to a point stays, and the conversation is the one that it was there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.build import DATA, Build, describe_resumed, find_recording, outcome, stamp, use
from turnlog.agent.file_history.rewind_points import list_rewind_points
from turnlog.agent.resume.resume import load_resumable_session
from turnlog.edit.draft import Draft
from turnlog.edit.fork.fork import check_fork_resumes, fork_session
from turnlog.edit.fork.fork_points import parse_fork_point
from turnlog.errors import Refused, UsageError
from turnlog.session.session import Session

SESSIONS = sorted(DATA.glob("sessions/*/*/projects/*/????????-*.jsonl")) + sorted(DATA.glob("variants/*.jsonl"))
TANGLED = ("parent-cycle", "rows-in-reverse-order")
"""Files in which what stands later in the file does not come later in the conversation."""


def fork_at(session: Session, at: str) -> Session:
    return Session(
        fork_session(session, Draft.from_transcript(session.file), parse_fork_point(session, at)).to_transcript()
    )


def describe_fork(build: Build, at: str) -> list[str]:
    return describe_resumed(fork_at(build.session(), at))


def types(session: Session) -> list[str]:
    return [entry.name for entry in session.file.entries]


@pytest.fixture
def compacted_build() -> Build:
    """Two compactions; the second preserved the last question and answer."""
    build = Build()
    build.prompt("one", "u1")
    build.answer("ONE", uuid="a1")
    build.boundary("b1")
    build.summary("SUM1", "s1")
    build.prompt("two", "u2")
    build.answer("TWO", uuid="a2")
    kept = {"anchorUuid": "s2", "uuids": ["u2", "a2"]}
    build.boundary("b2", preservedMessages=kept)
    build.summary("SUM2", "s2")
    build.prompt("three", "u3")
    build.answer("THREE", uuid="a3")
    return build


# -- over everything that was recorded


def points(session: Session) -> Iterator[str]:
    """Every point that commands and pages offer; a sub-agent's file has none, and nor has a turn without uuids."""
    if not any(not row.is_sidechain and row.type in ("user", "assistant") for row in session.graph.rows):
        return
    yield from (str(turn.number) for turn in session.turns if turn.last.uuid)
    yield from (f"leaf:{number + 1}" for number in range(len(session.graph.leaves)))
    yield from (f"compaction:{number + 1}" for number in range(len(session.compactions)))
    if len(session.file.entries) < 400:
        yield from (row.uuid or "" for row in session.graph.rows if row.type in ("user", "assistant") and row.uuid)


def as_it_was(session: Session, leaf: str) -> list[dict[str, object]]:
    """The conversation at a leaf, before any compaction that was written behind it."""
    place = session.file.by_uuid[leaf]
    later = [row.offset for row in session.graph.compactions if row.index > place]
    if later:
        raw = b"".join(session.file.read_raw(item) for item in session.file.items if item.offset < later[0])
        session = Session.from_bytes(raw)
    return session.conversation(leaf).messages


def check_all_points(path: Path) -> int:
    count = 0
    with Session.open(path) as session:
        try:
            session.find_leaf()
        except Refused:
            return 0
        for at in points(session):
            wanted = parse_fork_point(session, at)
            try:
                expected = as_it_was(session, wanted.leaf)
            except Refused:  # nothing is said up to there that the client would show
                continue
            draft = fork_session(session, Draft.from_transcript(session.file), wanted)
            assert Session(draft.to_transcript()).conversation().messages == expected, f"{path.name} --at {at}"
            count += 1
    return count


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.relative_to(DATA).as_posix())
def test_a_fork_says_what_was_said_at_its_point(path: Path) -> None:
    if path.stem not in TANGLED:
        check_all_points(path)


def test_the_recorded_sessions_have_many_points() -> None:
    assert sum(map(check_all_points, sorted(DATA.glob("sessions/2.1.325/*/projects/*/????????-*.jsonl")))) > 300


@pytest.mark.slow
@pytest.mark.corpus
def test_a_fork_of_any_real_session_says_what_was_said_at_its_point(corpus: Path) -> None:
    files = [path for path in sorted(corpus.glob("wild/**/*.jsonl")) if path.stat().st_size < 400_000]
    assert sum(map(check_all_points, files)) > 1000


@pytest.mark.slow
@pytest.mark.corpus
def test_the_conversation_of_any_session_can_be_taken_back_to_every_prompt(corpus: Path) -> None:
    files = [path for path in sorted(corpus.glob("*/**/*.jsonl")) if path.stat().st_size < 4_000_000]
    assert sum(map(check_rewind_points, files)) > 300


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.relative_to(DATA).as_posix())
def test_every_rewind_point_that_is_offered_can_be_chosen(path: Path) -> None:
    check_rewind_points(path)


def check_rewind_points(path: Path) -> int:
    try:
        with Session.open(path) as session:
            points = list_rewind_points(session, session.find_leaf().uuid)
    except Refused:
        return 0
    leaves = [point.leaf for point in points if point.leaf]
    for leaf in leaves[:5] + leaves[-5:]:
        load_resumable_session(path, leaf)
    return len(leaves)


# -- points


@pytest.fixture
def build_after_hook() -> Build:
    """A compaction and a second branch right after progress reports of a hook whose parent was never written."""
    build = Build()
    build.prompt("one", "u1")
    build.answer("ONE", uuid="a1")
    build.progress("p1", parent="never-written", type="hook_progress")
    build.progress("p2", type="hook_progress")
    return build


def test_a_compaction_after_a_hook_continues_the_last_entry_of_the_conversation(build_after_hook: Build) -> None:
    build_after_hook.boundary("b1")
    build_after_hook.summary("SUM")
    for at in ("compaction:last", "1"):
        assert describe_fork(build_after_hook, at) == ["U one", "A ONE"]


def test_a_branch_of_nothing_but_progress_reports_ends_where_the_conversation_does(build_after_hook: Build) -> None:
    session = build_after_hook.session()
    for number in range(len(session.graph.leaves)):
        assert describe_fork(build_after_hook, f"leaf:{number + 1}") == ["U one", "A ONE"]


def test_progress_reports_below_an_answer_are_no_end_either() -> None:
    build = Build()
    build.prompt("one", "u1")
    build.answer("ONE", uuid="a1")
    build.progress("p1")
    build.boundary("b1")
    build.summary("SUM")
    assert describe_fork(build, "compaction:1") == ["U one", "A ONE"]


def test_a_prompt_below_a_line_that_clients_skip_can_be_taken_back(tmp_path: Path) -> None:
    build = Build()
    build.prompt("one", "u1")
    build.answer("ONE", uuid="a1")
    build.progress("p1")
    build.prompt("two", "u2")
    path = build.write(tmp_path)
    with Session.open(path) as session:
        points = list_rewind_points(session, "u2")
    assert [point.leaf for point in points] == [None, "a1"]


def test_a_turn_ends_behind_its_last_entry() -> None:
    build = Build()
    build.prompt("one")
    build.call("c1")
    build.result("c1")
    build.answer("ONE")
    build.prompt("two")
    build.answer("TWO")
    assert describe_fork(build, "1") == ["U one", "A call c1", "U result c1", "A ONE"]


def test_a_compaction_that_was_asked_for_behind_a_turn_is_no_part_of_it() -> None:
    build = Build()
    build.prompt("one")
    build.answer("ONE")
    build.boundary()
    build.summary("SUM")
    build.prompt("two")
    build.answer("TWO")
    assert describe_fork(build, "1") == ["U one", "A ONE"]


def test_a_turn_that_went_on_behind_a_compaction_ends_there() -> None:
    build = Build()
    build.prompt("one")
    build.call("c1")
    build.result("c1")
    build.boundary()
    build.summary("SUM")
    build.answer("ONE")
    build.prompt("two")
    assert describe_fork(build, "1") == ["U SUM", "A ONE"]


def test_just_before_a_compaction_all_of_the_earlier_context_is_back(compacted_build: Build) -> None:
    assert describe_fork(compacted_build, "compaction:1") == ["U one", "A ONE"]
    assert describe_fork(compacted_build, "compaction:2") == ["U SUM1 + two", "A TWO"]


@pytest.mark.parametrize("word", ["compaction:last", "compaction:-1", "compaction:2"])
def test_compactions_are_counted_from_either_end(word: str, compacted_build: Build) -> None:
    assert parse_fork_point(compacted_build.session(), word).words == "just before compaction 2 of 2"


def test_what_a_compaction_preserved_stays_with_it(compacted_build: Build) -> None:
    assert describe_fork(compacted_build, "u3") == ["U SUM2 + two", "A TWO", "U three"]


def test_a_fork_can_be_forked_again_before_its_own_compactions(compacted_build: Build) -> None:
    once = fork_at(compacted_build.session(), "3")
    assert describe_resumed(fork_at(once, "compaction:1")) == ["U one", "A ONE"]


def test_an_entry_that_a_compaction_preserved_goes_on_where_it_was_written(compacted_build: Build) -> None:
    assert describe_fork(compacted_build, "a2") == ["U SUM1 + two", "A TWO"]


def test_a_point_may_be_the_end_of_a_branch_or_the_start_of_a_uuid() -> None:
    build = Build()
    build.prompt("one", "u1")
    build.answer("ONE", uuid="a1")
    build.prompt("two", "fork-2")
    build.answer("TWO")
    build.prompt("other", "fork-3", parent="a1")
    build.answer("OTHER")
    assert describe_fork(build, "leaf:1") == ["U one", "A ONE", "U two", "A TWO"]
    assert describe_fork(build, "leaf:2") == ["U one", "A ONE", "U other", "A OTHER"]
    assert describe_fork(build, "fork-3") == ["U one", "A ONE", "U other"]
    with pytest.raises(UsageError, match="2 entries have a uuid with this prefix"):
        parse_fork_point(build.session(), "fork-")


def test_the_point_is_the_last_thing_that_is_kept() -> None:
    build = Build()
    build.prompt("one", "u1")
    build.answer("ONE")
    assert describe_fork(build, "u1") == ["U one"]


def test_a_call_is_kept_with_its_results() -> None:
    build = Build()
    build.prompt("one")
    build.answer(use("c1"), uuid="first", id="m")
    call = build.answer(use("c2"), id="m")
    build.result("c1", parent="first")
    build.result("c2", parent=call)
    build.answer("ONE")
    assert describe_fork(build, "first") == ["U one", "A call c1 + call c2", "U result c1 + result c2"]


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("0", "--at 0: this session has turns 1 to 3"),
        ("4", "--at 4: this session has turns 1 to 3"),
        ("compaction:3", "this session has compactions 1 to 2"),
        ("compaction:0", "this session has compactions 1 to 2"),
        ("compaction:-3", "this session has compactions 1 to 2"),
        ("leaf:2", "this session has only leaf 1"),
        ("b2", "this entry is a compaction; to fork just before it, use compaction:2"),
        ("u9", "no entry in this session has a uuid with this prefix; closest matches: u3, u2, u1"),
        ("nothing-like-it", "no entry in this session has a uuid with this prefix; use the number of a turn"),
        ("turn:1", "use the number of a turn, the uuid of an entry, compaction:K or leaf:K"),
        ("", "use the number of a turn"),
    ],
)
def test_a_point_that_is_not_there_is_answered_with_those_that_are(
    word: str, words: str, compacted_build: Build
) -> None:
    with pytest.raises(UsageError) as told_off:
        parse_fork_point(compacted_build.session(), word)
    assert words in str(told_off.value)


def test_a_session_without_compactions_says_so() -> None:
    build = Build()
    build.prompt("one")
    with pytest.raises(UsageError, match="this session has no compactions"):
        parse_fork_point(build.session(), "compaction:1")


def test_progress_and_entries_without_uuid_are_no_points() -> None:
    build = Build()
    build.prompt("one")
    build.progress("p1")
    with pytest.raises(UsageError, match="can't end with a progress entry"):
        parse_fork_point(build.session(), "p1")
    bare = Build()
    del bare[bare.prompt("one")]["uuid"]
    with pytest.raises(UsageError, match="has no uuid"):
        parse_fork_point(bare.session(), "1")


# -- what stays and what goes


def test_what_came_later_and_other_branches_go_and_metadata_of_the_time_stays() -> None:
    build = Build()
    build.note("mode", mode="normal")
    build.note("custom-title", customTitle="Old")
    build.prompt("one", "u1")
    build.note("file-history-snapshot", messageId="u1", snapshot={"messageId": "u1"})
    build.answer("ONE", uuid="a1")
    build.prompt("abandoned", "x1")
    build.note("file-history-snapshot", messageId="x1", snapshot={"messageId": "x1"})
    build.note("last-prompt", leafUuid="x1", lastPrompt="abandoned")
    build.prompt("two", "u2", parent="a1")
    build.answer("TWO", uuid="a2")
    build.note("custom-title", customTitle="New")
    build.note("permission-mode", permissionMode="plan")
    build.prompt("three")
    found = fork_at(build.session(), "a2")
    assert types(found) == (
        "mode custom-title user file-history-snapshot assistant user assistant permission-mode last-prompt".split()
    )
    assert found.read_body(found.file.entries[1])["customTitle"] == "Old"


def test_the_fork_says_where_it_goes_on() -> None:
    build = Build()
    build.prompt("what   is\nthis?")
    build.answer("ONE", uuid="a1")
    build.prompt("two")
    found = fork_at(build.session(), "1")
    last = found.read_body(found.file.entries[-1])
    assert (last["type"], last["leafUuid"], last["lastPrompt"]) == ("last-prompt", "a1", "what is this?")


def test_notes_beside_the_chain_stay_and_what_was_said_there_does_not() -> None:
    build = Build()
    build.prompt("one", "u1")
    build.attachment("file", parent="u1", uuid="note")
    build.attachment("queued_command", parent="u1", uuid="queued", prompt="psst")
    build.progress("p", parent="u1")
    build.answer("ONE", parent="u1")
    build.attachment("file", uuid="late")
    found = fork_at(build.session(), "1")
    assert {row.uuid for row in found.graph.rows} == {"u1", "note", "p", found.graph.rows[-1].uuid}


def test_rows_on_which_nothing_is_left_are_hung_on_the_row_before_them() -> None:
    build = Build()
    build.prompt("lost", "u0")
    build.answer("copy", uuid="a0", id="m")
    build.prompt("one", "u1", parent=None)
    build.answer("ONE", uuid="a1", id="m")
    found = fork_at(build.session(), "a1")
    assert describe_resumed(found) == describe_resumed(build.session(), "a1")
    assert len(found.graph.roots) == 1


def test_a_parent_that_the_client_finds_by_time_is_written_down() -> None:
    build = Build(step=1)
    build.prompt("one", "u1")
    build.answer("ONE", uuid="a1", parent="gone")
    build.prompt("two", parent="a1")
    found = fork_at(build.session(), "a1")
    assert found.graph.rows_missing_parent == []
    assert describe_resumed(found) == ["U one", "A ONE"]


def test_a_ring_is_opened() -> None:
    build = Build()
    build.prompt("one", "u1", parent="a1")
    build.answer("ONE", uuid="a1", parent="u1")
    found = fork_at(build.session(), "a1")
    assert found.graph.cycles == []
    assert describe_resumed(found) == ["U one", "A ONE"]


def test_the_last_row_is_the_newest_for_clients_that_go_by_time() -> None:
    build = Build()
    build.prompt("one", "u1", timestamp=stamp(9000))
    build.answer("ONE", uuid="a1")
    found = fork_at(build.session(), "a1")
    assert found.file.entries[1].timestamp == stamp(9000.001)


def test_an_entry_written_twice_stays_twice() -> None:
    build = Build()
    build.prompt("one", "u1")
    build.lines.append(dict(build["u1"]))
    build.answer("ONE", uuid="a1", parent="u1")
    assert types(fork_at(build.session(), "a1")) == ["user", "user", "assistant", "last-prompt"]


def test_scraps_and_lines_that_no_client_reads_go() -> None:
    build = Build()
    build.prompt("one", "u1")
    build.answer("ONE", uuid="a1")
    raw = b"no json\n" + build.data() + b'{"type":"us'
    session = Session.from_bytes(raw)
    draft = fork_session(session, Draft.from_transcript(session.file), parse_fork_point(session, "1"))
    assert [line[:9] for line in draft.iterate_lines()] == [b'{"parentU', b'{"parentU', b'{"type":"']


def test_sub_agents_inside_the_file_stay_with_the_call_that_started_them() -> None:
    path = find_recording("1.0.128/agents")
    session = Session.from_bytes(path.read_bytes())
    inside = [entry for entry in session.file.entries if entry.is_sidechain]
    assert inside
    whole = fork_at(session, "leaf:1")
    assert sum(bool(entry.is_sidechain) for entry in whole.file.entries) == len(inside)
    start = fork_at(session, session.turns[0].start.uuid or "")
    assert not any(entry.is_sidechain for entry in start.file.entries)


def test_a_large_session_is_forked_before_its_compaction_as_a_small_one_is() -> None:
    build = Build()
    build.prompt("one")
    build.answer("x" * (6 << 20))
    build.boundary()
    build.summary("SUM")
    build.answer("TWO")
    assert describe_fork(build, "compaction:1")[0] == "U one"
    assert describe_fork(build, "leaf:1") == ["U SUM", "A TWO"]


# -- what is refused


def test_a_session_of_a_sub_agent_alone_is_not_forked() -> None:
    build = Build()
    build.prompt("one", "u1", isSidechain=True)
    session = build.session()
    with pytest.raises(UsageError, match="this entry belongs to a sub-agent"):
        fork_session(session, Draft.from_transcript(session.file), parse_fork_point(session, "u1"))


def test_a_fork_that_the_client_would_not_resume_is_refused() -> None:
    build = Build()
    build.prompt("one", "u1")
    build.answer("ONE", timestamp=None)
    build.answer("TWO", uuid="a2")
    session = build.session()
    check_fork_resumes(session, fork_at(session, "u1").file)
    with pytest.raises(Refused, match="would not resume the session from this point"):
        check_fork_resumes(session, fork_at(session, "assistant-1").file)


def test_a_fork_that_breaks_a_rule_which_its_session_keeps_is_refused() -> None:
    whole, broken = Build(), Build()
    for build in (whole, broken):
        build.prompt("one")
        build.answer("ONE", uuid="a1")
    broken.lines[1]["parentUuid"] = "nowhere"
    check_fork_resumes(whole.session(), whole.session().file)
    with pytest.raises(Refused, match=r"\[hidden-tail\]; nothing was written"):
        check_fork_resumes(whole.session(), broken.session().file)


def test_a_result_in_another_answer_is_not_forked_away_from_its_call() -> None:
    build = Build()
    build.prompt("one")
    build.answer(use("c1"), use("c2"))
    build.prompt([outcome("c1"), outcome("c2")], "both")
    assert describe_fork(build, "both") == ["U one", "A call c1 + call c2", "U result c1 + result c2"]
