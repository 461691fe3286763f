"""Timelines: every entry is in an item, items stand in the order in which they are read, and excerpts lead to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import DATA, Build, encode_lines, find_recording, genuine, open_variant, use
from tests.session.test_any import entries, realistic
from turnlog.demo import config_dir
from turnlog.entries.entry import Entry, Scrap
from turnlog.session.lineage import Descent, list_turns_to
from turnlog.session.session import Session
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import Timeline, TimelineItem
from turnlog.session.timeline.timeline_builder import build_timeline
from turnlog.session.turns import Turn

SESSIONS = sorted([*DATA.glob("sessions/**/*.jsonl"), *DATA.glob("variants/*.jsonl"), *config_dir().rglob("*.jsonl")])
NAMES = ["/".join(path.parts[-5:]) for path in SESSIONS]


def of(build: Build) -> Timeline:
    return build_timeline(build.session())


def kinds(made: Timeline) -> list[str]:
    return [item.kind for item in made.items]


def places(made: Timeline) -> list[int]:
    return sorted(place.offset for item in made.items for place in item.lines)


def covers(session: Session, made: Timeline) -> None:
    """Every line of the session is in an item, and in one only, but for results of several messages."""
    own, results = places(made), {place.offset for item in made.items for place in item.results}
    lines: list[Entry | Scrap] = [*session.entries, *session.file.scraps]
    expected = [line.offset for line in lines]
    assert len(own) == len(set(own))
    assert sorted([*own, *results - set(own)]) == sorted(expected)
    assert sum(chapter.count for chapter in made.head.chapters) == len(made.items)
    assert [chapter.first for chapter in made.head.chapters] == _starts(made)


def _starts(made: Timeline) -> list[int]:
    found, place = [], 0
    for chapter in made.head.chapters:
        found.append(place)
        place += chapter.count
    return found


@pytest.mark.parametrize("path", SESSIONS, ids=NAMES)
def test_every_line_of_a_genuine_session_is_in_an_item(path: Path) -> None:
    with Session.open(path) as session:
        covers(session, build_timeline(session))
        for agent in session.agents:
            inner = session.open_agent_session(agent)
            own = places(build_timeline(inner))
            assert len(own) == len(set(own))


@given(st.lists(entries, max_size=12))
def test_every_line_of_any_file_is_in_an_item(lines: list[dict[str, object]]) -> None:
    session = Session.from_bytes(encode_lines(lines))
    covers(session, build_timeline(session))


@given(st.permutations(realistic()))
def test_every_line_is_in_an_item_in_whatever_order_they_stand(lines: list[dict[str, object]]) -> None:
    session = Session.from_bytes(encode_lines(lines))
    covers(session, build_timeline(session))


def test_a_turn_is_a_prompt_then_answers_with_their_results() -> None:
    build = Build()
    build.prompt("first", "u1")
    build.answer("text", id="m1", uuid="a1")
    build.answer(use("c1"), id="m1")
    result = build.result("c1", uuid="r1")
    build.answer("done", uuid="a2")
    made = of(build)
    assert [(item.key, item.kind, item.turn) for item in made.items] == [
        ("u1", "prompt", 1),
        ("a1", "answer", 1),
        ("a2", "answer", 1),
    ]
    answer = made.items[1]
    assert len(answer.lines) == 2
    assert [place.offset for place in answer.results] == [build.session().file.by_uuid and _offset(build, result)]
    assert (made.head.chapters[0].title, made.head.chapters[0].calls) == ("first", 1)


def _offset(build: Build, uuid: str) -> int:
    session = build.session()
    return session.file.entries[session.file.by_uuid[uuid]].offset


def test_a_result_of_two_messages_belongs_to_both() -> None:
    build = Build()
    build.prompt()
    build.call("c1")
    build.call("c2")
    build.prompt([{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in ("c1", "c2", "c2")])
    made = of(build)
    assert [len(item.results) for item in made.items] == [0, 1, 1]


def test_book_keeping_that_stands_together_is_one_item_and_ends_with_its_chapter() -> None:
    build = Build()
    build.note("mode", mode="normal")
    build.note("ai-title", aiTitle="x")
    build.prompt()
    build.system("turn_duration", durationMs=5)
    build.note("file-history-snapshot", snapshot={})
    build.answer("x")
    made = of(build)
    assert [(item.kind, len(item.lines)) for item in made.items] == [
        ("meta", 2),
        ("prompt", 1),
        ("meta", 2),
        ("answer", 1),
    ]
    assert [chapter.turn for chapter in made.head.chapters] == [0, 1]


def test_broken_lines_are_book_keeping() -> None:
    build = Build()
    build.prompt()
    session = Session.from_bytes(b"\0broken\n" + build.data() + b"{more\n")
    made = build_timeline(session)
    assert kinds(made) == ["meta", "prompt", "meta"]
    assert made.items[0].key == "@0"


def test_events_are_told_apart_from_book_keeping() -> None:
    build = Build()
    build.prompt("<command-name>/cost</command-name>")
    build.prompt("<local-command-stdout>42</local-command-stdout>")
    build.prompt("go on", "u1")
    build.attachment("hook_blocking_error", hookName="x")
    build.attachment("todo_reminder")
    build.attachment("queued_command", prompt="<task-notification><summary>x</summary></task-notification>")
    build.row("attachment", attachment="odd")
    build.system("api_error", error={"message": "no"})
    build.system("local_command", content="x", isMeta=True)
    build.interrupt()
    build.result("nobody")
    build.prompt("reminder", isMeta=True)
    found = kinds(of(build))
    assert found == [
        "event",
        "event",
        "prompt",
        "event",
        "meta",
        "event",
        "meta",
        "event",
        "meta",
        "event",
        "event",
        "meta",
    ]


def test_messages_of_other_agents_are_events_of_the_turn_that_they_reach() -> None:
    build = Build()
    build.prompt("work")
    build.attachment("queued_command", prompt="5 files", origin={"kind": "peer", "from": "a"})
    build.attachment("queued_command", prompt="skill", isMeta=True)
    build.attachment("teammate_mailbox", messages=[{"from": "a", "text": "x"}])
    build.answer("x")
    build.prompt("idle", origin={"kind": "peer", "from": "a"}, isMeta=True)
    assert kinds(of(build)) == ["prompt", "event", "meta", "event", "answer", "event"]


def test_an_answer_that_the_client_made_up_is_book_keeping_and_an_api_error_is_an_answer() -> None:
    build = Build()
    build.prompt("work")
    build.answer("No response requested.", model="<synthetic>")
    build.answer("API Error: 529", model="<synthetic>", isApiErrorMessage=True)
    build.answer("something else", model="<synthetic>")
    assert kinds(of(build)) == ["prompt", "meta", "answer", "answer"]


def test_what_was_typed_meanwhile_is_an_item_of_its_own_once() -> None:
    build = Build()
    build.prompt("work")
    build.note("queue-operation", operation="enqueue", content="more")
    build.note("queue-operation", operation="remove")
    build.attachment("queued_command", prompt=[{"type": "text", "text": "and that"}])
    build.attachment("queued_command", prompt={"odd": 1})
    build.answer("x")
    assert kinds(of(build)) == ["prompt", "meta", "typed", "meta", "answer"]
    old = Build("2.0.76")
    old.prompt("work")
    old.note("queue-operation", operation="enqueue", content="more")
    old.note("queue-operation", operation="remove", content={})
    old.answer("x")
    assert kinds(of(old)) == ["prompt", "typed", "meta", "answer"]


def test_a_summary_belongs_to_its_compaction_on_whichever_side_it_stands() -> None:
    build = Build()
    build.prompt("1")
    build.answer("a")
    build.boundary("b1", preservedMessages={"uuids": ["x"]})
    build.summary(uuid="s1")
    made = of(build)
    (item,) = (item for item in made.items if item.kind == "compaction")
    assert (item.key, len(item.lines)) == ("b1", 2)
    facts = made.head.compactions[0]
    assert (facts.key, facts.trigger, facts.before, facts.entries, facts.preserved) == ("b1", "auto", 1000, 2, 1)
    session = Session.from_bytes(encode_lines([*build.lines[:2], build.lines[3], build.lines[2]]))
    turned = build_timeline(session)
    assert [len(item.lines) for item in turned.items if item.kind == "compaction"] == [2]


def test_a_compaction_without_uuid_is_known_by_its_place() -> None:
    build = Build()
    build.prompt("1")
    build.system("compact_boundary")
    build.system("compact_boundary")
    build.lines[1]["uuid"] = build.lines[2]["uuid"] = "twice"
    made = of(build)
    assert next(item.key for item in made.items if item.kind == "compaction") == "twice"
    assert len({item.key for item in made.items}) == len(made.items)


def test_branches_share_what_is_before_the_fork_and_the_current_one_comes_first() -> None:
    build = Build()
    build.prompt("1", "u1")
    build.answer("a", uuid="a1")
    build.prompt("2", "u2")
    build.answer("b", uuid="a2")
    build.prompt("3", "u3", parent="a1")
    build.answer("c", uuid="a3")
    made = of(build)
    chapters = made.head.chapters
    lines = [(line.leaf, line.is_current, [chapters[n].title for n in line.chapters]) for line in made.head.branches]
    assert lines == [("a3", True, ["1", "3"]), ("a2", False, ["1", "2"])]
    (fork,) = made.head.forks
    assert fork.after == "a1"
    assert [(way.key, way.leaf, way.turn, way.title) for way in fork.ways] == [
        ("u2", "a2", 2, "2"),
        ("u3", "a3", 3, "3"),
    ]


def test_a_fork_inside_a_turn_leads_to_no_other_turns() -> None:
    build = Build()
    build.prompt("1", "u1")
    build.answer("a", uuid="a1")
    build.answer("b", uuid="a2", parent="u1")
    made = of(build)
    assert len(made.head.branches) == 1
    assert made.head.forks == []


def test_a_fork_before_any_turn_has_ways_of_no_turn() -> None:
    build = Build()
    build.system("informational", content="x")
    build.answer("a", uuid="a1")
    top = build.lines[0]["uuid"]
    build.prompt("2", "u2", parent=top)
    build.answer("b", uuid="a2")
    build.prompt("3", "u3", parent=top)
    build.answer("c", uuid="a3")
    ways = [way for fork in of(build).head.forks for way in fork.ways]
    assert {way.turn for way in ways} >= {1, 2}


def follow_turns(descent: Descent, uuid: str) -> list[Turn]:
    """The turns that lead to an entry, one after the other from the last one up."""
    found: list[Turn] = []
    turn = descent.find_last_turn(uuid)
    while turn is not None and turn not in found:
        found.append(turn)
        turn = descent.find_turn_before(turn)
    return sorted([*found, *descent.loose_turns], key=lambda turn: turn.index)


def test_the_chapters_of_each_branch_are_those_of_the_turns_that_lead_to_it() -> None:
    build = Build()
    fork = build.prompt("begin", "u0")
    for number in range(5):
        build.prompt(f"aside {number}", f"x{number}", parent=fork)
        build.answer("a", uuid=f"ax{number}")
        build.prompt(f"on {number}", f"u{number + 1}", parent=fork)
        fork = build.answer("b", uuid=f"b{number}")
    session = build.session()
    head = build_timeline(session).head
    assert len(head.branches) == 6
    for branch in head.branches:
        numbers = {turn.number for turn in list_turns_to(session, branch.leaf)}
        chapters = [n for n, chapter in enumerate(head.chapters) if not chapter.turn or chapter.turn in numbers]
        assert branch.chapters == chapters


@pytest.mark.parametrize("path", SESSIONS, ids=NAMES)
def test_descent_tells_what_turns_to_tells_of_each_leaf(path: Path) -> None:
    with Session.open(path) as session:
        descent = Descent(session)
        for leaf in session.graph.leaves:
            assert follow_turns(descent, leaf.uuid or "") == list_turns_to(session, leaf.uuid or "")
        assert follow_turns(descent, "nobody") == [turn for turn in session.turns if not turn.start.uuid]


def test_descent_ends_in_a_ring_of_parents() -> None:
    session = open_variant("parent-cycle")
    descent = Descent(session)
    rows = [row.uuid for row in session.graph.rows if row.uuid]
    assert all(isinstance(follow_turns(descent, uuid), list) for uuid in rows)
    assert set(descent.map_first_leaves(rows).values()) <= set(rows)


def test_sub_agents_are_listed_with_what_they_used() -> None:
    with Session.open(find_recording("2.1.325/agents")) as session:
        helpers = build_timeline(session).head.agents
    assert helpers
    assert all(helper.output > 0 and helper.turn > 0 and helper.call_id for helper in helpers)


def test_the_costs_of_turns_and_of_the_sub_agents_that_they_started_add_up_to_that_of_the_session() -> None:
    with Session.open(find_recording("2.1.325/agents")) as session:
        head = build_timeline(session).head
    started = head.sum_agent_costs()
    assert sum(started.values()) > 0
    assert sum(chapter.cost_usd + started.get(chapter.turn, 0) for chapter in head.chapters) == pytest.approx(
        head.cost_usd
    )


@pytest.mark.parametrize(
    ("ends", "outcome"), [("answer", "finished"), ("call", "open"), ("error", "error"), ("nothing", "")]
)
def test_a_sub_agent_has_the_outcome_of_its_last_message(tmp_path: Path, ends: str, outcome: str) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Task", {"prompt": "look"})
    build.result("c1", "Seen.", toolUseResult={"agentId": "a1", "status": "completed"})
    path = build.write(tmp_path)
    inner = Build()
    more: dict[str, Any] = {"isSidechain": True, "agentId": "a1"}
    if ends == "nothing":
        inner.note("mode", mode="normal")
    else:
        inner.prompt("look", **more)
    if ends == "answer":
        inner.answer("Seen.", stop_reason="end_turn", **more)
    elif ends == "call":
        inner.call("c2", **more)
    elif ends == "error":
        inner.answer("API Error: 500", isApiErrorMessage=True, **more)
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(inner.data())
    with Session.open(path) as session:
        (agent,) = build_timeline(session).head.agents
    assert agent.outcome == outcome


def test_files_tell_the_turns_that_read_and_changed_them() -> None:
    build = Build()
    build.prompt("1")
    build.call("c1", "Read", {"file_path": "/x/a.py"})
    build.result("c1")
    build.prompt("2")
    build.call("c2", "Edit", {"file_path": "/x/a.py", "old_string": "a", "new_string": "b"})
    build.result("c2")
    build.call("c3", "Read", {"file_path": "/x/gone.py"})
    build.result("c3", error=True)
    uses = {use.path: (use.reads, use.writes) for use in of(build).head.files}
    assert uses == {"/x/a.py": ([1], [2]), "/x/gone.py": ([], [])}


def test_steps_lead_to_the_items_of_messages_that_state_their_usage() -> None:
    build = Build()
    build.prompt("1")
    build.answer("a", usage={"input_tokens": 5, "cache_read_input_tokens": 20, "output_tokens": 3})
    build.answer("b", usage={"output_tokens": 3})
    build.answer("c", model="<synthetic>", usage={"input_tokens": 7})
    build.answer("d")
    made = of(build)
    (step,) = made.steps
    assert (made.items[step.item].kind, step.context, step.cache_read, step.output) == ("answer", 25, 20, 3)
    assert made.head.chapters[0].context == 25


@pytest.mark.parametrize("name", ["2.1.325/tools", "2.0.76/tools", "1.0.128/tools"])
def test_an_excerpt_reads_the_same_entries_as_the_whole(name: str) -> None:
    session = genuine(name)
    whole = Excerpt.from_session(session)
    for item in build_timeline(session).items:
        part = Excerpt.read(session.file.source, [item])
        for place in (*item.lines, *item.results):
            mine, theirs = part.find_entry(place), whole.find_entry(place)
            assert mine is not None
            assert theirs is not None
            assert part.session.read_body(mine) == session.read_body(theirs)
            assert part.find_offset(mine) == whole.find_offset(theirs) == place.offset


def test_an_excerpt_holds_broken_lines_and_entries_that_share_a_line() -> None:
    data = b'{"type":"user","uuid":"a"}{"type":"user","uuid":"b"}\r\n\0\0broken\n'
    session = Session.from_bytes(data)
    made = build_timeline(session)
    excerpt = Excerpt.read(session.file.source, made.items)
    found = [excerpt.find_item_at(place.offset) for item in made.items for place in item.lines]
    assert [type(item).__name__ for item in found] == ["Entry", "Entry", "Scrap"]
    assert excerpt.find_entry(made.items[-1].lines[-1]) is None
    assert excerpt.find_item_at(7) is None
    assert isinstance(found[-1], Scrap)


def test_an_empty_session_has_an_empty_timeline() -> None:
    made = of(Build())
    assert (made.items, made.head.chapters, made.steps) == ([], [], [])
    assert Excerpt.read(Session.from_bytes(b"").file.source, list[TimelineItem]()).session.entries == []


def test_a_line_with_two_results_of_one_message_is_there_once() -> None:
    build = Build()
    build.prompt()
    build.answer(use("c1"), use("c2"))
    build.prompt([{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in ("c1", "c2")])
    assert [len(item.results) for item in of(build).items] == [0, 1]


def test_a_result_before_all_turns_makes_no_chapter() -> None:
    build = Build()
    build.result("c1", parent=None)
    build.prompt()
    build.call("c1")
    made = of(build)
    assert [chapter.turn for chapter in made.head.chapters] == [1]
    assert [len(item.results) for item in made.items] == [0, 1]
