"""Game events: which live events lead to them."""

from __future__ import annotations

from typing import Any

from tests.quest.stories import SESSION, Story
from turnlog.live.events.event import (
    AgentFinished,
    AgentStarted,
    AnyEvent,
    CallFinished,
    ContextCompacted,
    ContextFilled,
    PermissionAwaited,
    PromptTyped,
    QuestionAsked,
    TextAnswered,
    TodosChanged,
    ToolCalled,
    TurnFinished,
    TurnInterrupted,
)
from turnlog.quest.demo_script import build_demo
from turnlog.quest.game_event import GAME_KINDS, GameEvent
from turnlog.quest.party_state import PartyState
from turnlog.quest.translation import CompanionFacts, GameTranslator, HeroFacts

HERO = HeroFacts(SESSION, "/home/dana/webshop", "Fix the cents")


def translate(events: list[AnyEvent], facts: dict[str, CompanionFacts] | None = None) -> list[GameEvent]:
    translator = GameTranslator(HERO, (facts or {}).get)
    return [game for event in events for game in translator.translate(event)]


def names(games: list[GameEvent]) -> list[str]:
    return [game.game for game in games]


def spawn(story: Story, call: str, kind: str = "Explore") -> None:
    story.add(AgentStarted, call=call, agent_type=kind, description=f"task of {call}")


def test_the_demo_shows_every_kind_of_game_event_but_the_bonus_chest() -> None:
    assert {event.game for event in build_demo().script.events} == GAME_KINDS.keys() - {"chest"}


def test_every_game_event_has_the_fields_of_its_kind() -> None:
    for event in build_demo().script.events:
        assert tuple(event.fields) == GAME_KINDS[event.game].fields, event


def test_the_hero_enters_once_whatever_comes_first() -> None:
    story = Story()
    story.add(TextAnswered, text="hi")
    story.start()
    story.start()
    assert names(translate(story.events)) == ["enter", "text"]


def test_calls_become_what_their_category_does() -> None:
    story = Story()
    story.start()
    for tool, category in (
        ("Read", "read"),
        ("Edit", "write"),
        ("Bash", "run"),
        ("WebFetch", "web"),
        ("Skill", "other"),
    ):
        story.add(ToolCalled, call=tool, tool=tool, category=category, title="what")
    games = translate(story.events)[1:]
    assert names(games) == ["read", "write", "bash", "web", "tool"]
    assert games[4].fields == {"tool": "Skill", "target": "what", "category": "other"}


def test_a_finished_agent_takes_only_its_own_companion_away() -> None:
    story = Story()
    for call in ("c1", "c2", "c3"):
        spawn(story, call)
    story.add(AgentFinished, call="c2", agent="a2")
    party = PartyState()
    for game in translate(story.events):
        party.apply_event(game)
    assert list(party.heroes[SESSION].agents) == ["c1", "c3"]


def test_the_events_of_a_sub_agent_belong_to_the_companion_of_its_call() -> None:
    story = Story()
    spawn(story, "c1", "Explore")
    spawn(story, "c2", "Plan")
    story.add(TextAnswered, actor="a2", text="go")
    story.add(TextAnswered, actor="a1", text="go")
    story.add(AgentFinished, call="c2", agent="a2")
    facts = {"a1": CompanionFacts("c1"), "a2": CompanionFacts("c2")}
    games = translate(story.events, facts)
    assert [game.actor for game in games if game.game == "text"] == ["c2", "c1"]
    assert [game.fields["agent"] for game in games if game.game == "agent_finish"] == ["c2"]


def test_without_further_facts_sub_agents_belong_to_the_calls_in_order() -> None:
    story = Story()
    spawn(story, "c1")
    spawn(story, "c2")
    story.add(TextAnswered, actor="x", text="a")
    story.add(TextAnswered, actor="y", text="b")
    story.add(AgentFinished, call="c2", agent="x")
    games = translate(story.events)
    assert [game.actor for game in games if game.game == "text"] == ["c1", "c2"]
    assert [game.fields["agent"] for game in games if game.game == "agent_finish"] == ["c1"], "the one that acted as x"


def test_a_sub_agent_that_was_started_earlier_gets_a_companion_with_its_first_event() -> None:
    story = Story()
    story.add(TextAnswered, actor="a7", text="busy")
    games = translate(story.events, {"a7": CompanionFacts("c7", "Plan", "plan it")})
    assert names(games) == ["enter", "agent_start", "text"]
    assert games[1].fields == {"agent": "c7", "agent_type": "Plan", "description": "plan it"}
    assert games[2].actor == "c7"


def ask(story: Story, call: str = "q") -> None:
    story.add(ToolCalled, call=call, tool="AskUserQuestion", category="ask", title="?")
    story.add(QuestionAsked, call=call, questions=["Which?"])


def test_a_question_waits_until_its_own_result() -> None:
    story = Story()
    ask(story)
    story.finish("Read", "read")
    story.add(CallFinished, call="q", tool="AskUserQuestion", category="ask", outcome="ok")
    assert names(translate(story.events))[1:] == ["tool", "question", "result", "answered", "result"]


def test_an_interruption_ends_a_wait() -> None:
    story = Story()
    ask(story)
    story.add(TurnInterrupted)
    assert names(translate(story.events))[-2:] == ["answered", "interrupt"]


def test_a_permission_waits_until_no_call_of_its_tool_is_open() -> None:
    story = Story()
    for call in ("b1", "b2"):
        story.add(ToolCalled, call=call, tool="Bash", category="run", title=call)
    story.add(PermissionAwaited, tool="Bash", title="b2")
    story.add(CallFinished, call="b1", tool="Bash", category="run", outcome="ok")
    story.add(CallFinished, call="b2", tool="Bash", category="run", outcome="ok")
    assert names(translate(story.events))[3:] == ["permission", "result", "answered", "result"]


def test_a_compaction_has_a_start_even_if_only_its_end_is_recorded() -> None:
    story = Story()
    story.add(ContextCompacted, trigger="manual")
    assert names(translate(story.events)) == ["enter", "compact_start", "compact_end"]


def test_a_compaction_that_was_seen_to_start_does_not_start_again() -> None:
    translator = GameTranslator(HERO)
    story = Story()
    story.add(ContextCompacted)
    assert names(translator.start_rest(None) + translator.start_rest(None)) == ["compact_start"]
    assert names(translator.translate(story.events[0])) == ["enter", "compact_end"]


def test_the_share_of_an_unknown_window_is_unknown() -> None:
    story = Story()
    story.add(ContextFilled, tokens=150, window=200)
    story.add(ContextFilled, tokens=150, window=None)
    shares: list[Any] = [game.fields["share"] for game in translate(story.events) if game.game == "context"]
    assert shares == [0.75, None]


def test_unknown_and_repeated_ends_of_agents_do_nothing() -> None:
    story = Story()
    spawn(story, "c1")
    story.add(AgentFinished, call="c1", agent="a1")
    story.add(AgentFinished, call="c1", agent="a1")
    story.add(AgentFinished, call="never")
    assert names(translate(story.events)).count("agent_finish") == 1


def test_the_quest_the_tasks_the_streak_and_the_victory_on_the_screen_are_those_of_the_hero() -> None:
    story = Story()
    story.add(PromptTyped, text="quest", think="none")
    spawn(story, "c1")
    story.add(PromptTyped, actor="a1", text="task", think="ultra")
    story.add(TodosChanged, actor="a1", items=[])
    story.finish("Bash", "run", actor="a1")
    story.add(TurnFinished, actor="a1", seconds=1.0)
    games = translate(story.events, {"a1": CompanionFacts("c1")})
    assert names(games) == ["enter", "quest", "agent_start", "result", "idle"]
    assert games[3].fields["streak"] is None
    assert games[4].actor == "c1"


def test_a_sub_agent_that_has_finished_and_gets_a_further_task_comes_back() -> None:
    story = Story()
    spawn(story, "c1")
    story.add(TextAnswered, actor="a1", text="hi")
    story.add(AgentFinished, call="c1", agent="a1")
    story.add(PromptTyped, actor="a1", text="more")
    assert names(translate(story.events, {"a1": CompanionFacts("c1")}))[-2:] == ["agent_finish", "agent_start"]
