"""The demo: three made-up sessions whose events show everything that the game can show, in about a minute and a half.

The sessions consist of live events, which go through the same translation and the same rules as those of real sessions.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from msgspec.structs import replace

from turnlog.live.events.event import (
    AgentFinished,
    AgentStarted,
    AnyEvent,
    CallFinished,
    Category,
    ContextCompacted,
    ContextFilled,
    ErrorOccurred,
    Outcome,
    PermissionAwaited,
    PlanProposed,
    PromptTyped,
    QuestionAsked,
    SessionEnded,
    SessionStarted,
    TextAnswered,
    Thought,
    TodoItem,
    TodosChanged,
    ToolCalled,
    TurnFinished,
    TurnInterrupted,
    WentIdle,
    WorkShipped,
)
from turnlog.quest.chests import LEVEL_CHEST_PREFIX, draw_offers
from turnlog.quest.cosmetics import STARTER_IDS
from turnlog.quest.experience import compute_level
from turnlog.quest.feed import add_reward
from turnlog.quest.game_event import GameEvent
from turnlog.quest.ledger import EventReward
from turnlog.quest.profile import QuestProfile, QuestStats, build_profile
from turnlog.quest.replay_script import QuestScript, build_script, merge_scripts
from turnlog.quest.translation import HeroFacts
from turnlog.session.clock import to_iso_time

DEMO_PREFIX = "demo-"
"""The ids of the demo's sessions and chests begin with it: nothing is ever saved for them."""
_START = datetime(2026, 1, 1, 10, tzinfo=UTC)
_START_XP = 3480
"""Shortly before the sixth level, so that the demo reaches it."""
_OWNED = ("hat-party",)
_WINDOW = 200_000


class _Story:
    """Writes the events of one session, with their times."""

    def __init__(self, name: str, project: str, title: str) -> None:
        self.hero = HeroFacts(DEMO_PREFIX + name, project, title)
        self.events: list[AnyEvent] = []
        self._calls = 0

    def add(self, at: float, kind: type[AnyEvent], actor: str = "main", /, **fields: Any) -> None:
        """Add an event that happens some seconds after the start."""
        time = to_iso_time(_START + timedelta(seconds=at))
        self.events.append(kind(session=self.hero.session, actor=actor, time=time, **fields))

    def call(
        self,
        at: float,
        tool: str,
        category: Category,
        title: str,
        actor: str = "main",
        *,
        seconds: float = 1.2,
        outcome: Outcome = "ok",
        text: str = "",
    ) -> str:
        """Add a call and its result; return the id of the call."""
        self._calls += 1
        name = f"{self.hero.session}-{self._calls}"
        self.add(at, ToolCalled, actor, call=name, tool=tool, category=category, title=title)
        end, common = at + seconds, {"call": name, "tool": tool, "category": category}
        self.add(end, CallFinished, actor, **common, outcome=outcome, text=text, seconds=seconds)
        if outcome == "failed":
            self.add(end, ErrorOccurred, actor, source="call", text=text, call=name)
        return name

    def start_agent(self, at: float, kind: str, description: str) -> str:
        """Add a sub-agent that starts; return its id."""
        self._calls += 1
        name = f"{self.hero.session}-{self._calls}"
        self.add(at, ToolCalled, call=name, tool="Agent", category="agent", title=description)
        self.add(at, AgentStarted, call=name, agent_type=kind, description=description)
        self.add(at + 0.2, PromptTyped, name, text=description)
        return name

    def finish_agent(self, at: float, name: str) -> None:
        """Add the end of a sub-agent."""
        self.add(at, CallFinished, call=name, tool="Agent", category="agent", outcome="ok", seconds=at)
        self.add(at, AgentFinished, call=name, agent=name)

    def build(self) -> QuestScript:
        """Return the game events of the session."""
        events = sorted(self.events, key=lambda event: event.time or "")
        begin = (datetime.fromisoformat(events[0].time or "") - _START).total_seconds()
        script = build_script(events, self.hero, {})
        return QuestScript([replace(event, at=event.at + begin) for event in script.events], script.seconds + begin)


class QuestDemo(NamedTuple):
    """The demo's events, and the profile that it starts with."""

    script: QuestScript
    profile: QuestProfile


def build_demo() -> QuestDemo:
    """Build the demo, the same every time."""
    script = merge_scripts(story.build() for story in (_tell_shop(), _tell_docs(), _tell_api()))
    profile = build_profile(_START_XP, QuestStats(sessions=41), owned=_OWNED, worn={"hat": "hat-party"})
    return QuestDemo(QuestScript(_add_levels(script.events), script.seconds), profile)


def _add_levels(events: list[GameEvent]) -> list[GameEvent]:
    """Add the levels that the experience of the events reaches."""
    found: list[GameEvent] = []
    xp = _START_XP
    for event in events:
        found.append(event)
        before, xp = xp, xp + sum(grant.amount for grant in event.xp)
        if (level := compute_level(xp)) > compute_level(before):
            name = f"{DEMO_PREFIX}{LEVEL_CHEST_PREFIX}{level}"
            offers = list(draw_offers(name, level, {*_OWNED, *STARTER_IDS}))
            source = SessionStarted(session=event.session, time=event.time)
            reached = add_reward([], EventReward(level=level), source)[0]
            chest = {"id": name, "kind": "level", "offers": offers}
            found.append(replace(reached, at=event.at, fields={**reached.fields, "chest": chest}))
    return found


def _tell_shop() -> _Story:
    """Return the story of a hero with four companions, who fights an error and ships."""
    story = _Story("webshop", "/home/dana/webshop", "Fix the rounding of cents")
    todos = ["Find the rounding", "Fix it", "Test it", "Push it"]

    def list_todos(at: float, done: int) -> None:
        items = [
            TodoItem(text, "completed" if place < done else "in_progress" if place == done else "pending")
            for place, text in enumerate(todos)
        ]
        story.add(at, TodosChanged, items=items)

    story.add(0, SessionStarted, cwd=story.hero.project)
    story.add(1, PromptTyped, text="Totals are off by a cent. Think hard about where they are rounded.", think="hard")
    story.add(2.5, Thought, text="Prices are floats, and a sum of floats drifts.", level="hard")
    list_todos(4, 0)
    story.call(5, "Grep", "read", "round\\(")
    story.call(6.5, "Read", "read", "src/cart.py")
    story.add(8, ContextFilled, tokens=52_000, window=_WINDOW, model="demo")
    scouts = [
        story.start_agent(9 + number * 0.6, kind, words)
        for number, (kind, words) in enumerate(
            (("Explore", "Find every sum of prices"), ("Explore", "Find the tests"), ("Plan", "Compare with decimals"))
        )
    ]
    for number, scout in enumerate(scouts):
        for step in range(3):
            story.call(10.5 + number * 0.4 + step * 2.1, ("Grep", "Read", "Bash")[step],
                       ("read", "read", "run")[step], ("price", "src/tax.py", "pytest -q")[step], scout)  # fmt: skip
    story.finish_agent(17, scouts[1])
    story.finish_agent(18.2, scouts[0])
    story.finish_agent(19.5, scouts[2])
    list_todos(20, 1)
    story.call(21, "Edit", "write", "src/cart.py")
    story.call(23, "Write", "write", "tests/test_cents.py")
    story.add(24.5, ContextFilled, tokens=128_000, window=_WINDOW, model="demo")
    list_todos(25, 2)
    story.call(26, "Bash", "run", "pytest -q", seconds=2, outcome="failed", text="Exit code 1: 2 failed")
    story.add(29, Thought, text="The tax is rounded before the discount.", level="think")
    story.call(30.5, "Edit", "write", "src/tax.py")
    for number in range(4):
        story.call(32 + number * 1.6, "Bash", "run", ("pytest -q", "ruff check", "mypy src", "git diff")[number])
    list_todos(39, 3)
    story.add(40, ContextFilled, tokens=171_000, window=_WINDOW, model="demo")
    story.add(41, PermissionAwaited, tool="Bash", title="git push", reason="the client reports it")
    push = story.call(40.5, "Bash", "run", "git push", seconds=7.5)
    story.add(48, WorkShipped, kind="push", url=None)
    story.add(48.6, WorkShipped, kind="pull-request", url="https://example.com/webshop/pull/7")
    list_todos(49, 4)
    story.add(50, TextAnswered, text=f"Totals are exact now, and pushed ({push[-2:]}).")
    story.add(50.5, TurnFinished, seconds=49.5)
    story.add(54, ContextFilled, tokens=189_000, window=_WINDOW, model="demo")
    story.add(58, ContextCompacted, trigger="manual", tokens_before=189_000)
    story.add(59, ContextFilled, tokens=21_000, window=_WINDOW, model="demo")
    story.add(60, WentIdle, reason="the client reports it")
    story.add(64, PromptTyped, text="ultrathink: could this happen elsewhere?", think="ultra")
    story.add(66, Thought, text="Shipping costs are summed the same way. And vouchers.", level="ultra")
    for number in range(8):
        story.call(68 + number * 1.1, "Read", "read", f"src/part{number}.py", seconds=0.8)
    story.add(79, TextAnswered, text="Only in the vouchers.")
    story.add(79.5, TurnFinished, seconds=15.5)
    story.add(82, WentIdle, reason="the client reports it")
    return story


def _tell_docs() -> _Story:
    """Return the story of a hero who asks a question, proposes a plan, and is interrupted."""
    story = _Story("bakery", "/home/dana/bakery", "Translate the recipes")
    story.add(3, SessionStarted, cwd=story.hero.project)
    story.add(3.5, PromptTyped, text="Translate the recipes into French.")
    story.call(5, "WebFetch", "web", "https://example.com/glossary", seconds=2)
    story.call(8, "Glob", "read", "**/*.md")
    story.add(10, ToolCalled, call="demo-ask", tool="AskUserQuestion", category="ask", title="Which French?")
    story.add(10, QuestionAsked, call="demo-ask", questions=["Which French: of France, or of Canada?"])
    story.add(19, CallFinished, call="demo-ask", tool="AskUserQuestion", category="ask", outcome="ok", seconds=9.0)
    story.add(22, ToolCalled, call="demo-plan", tool="ExitPlanMode", category="plan", title="Plan")
    story.add(22, PlanProposed, call="demo-plan", text="Translate one by one; keep the quantities.")
    story.add(30, CallFinished, call="demo-plan", tool="ExitPlanMode", category="plan", outcome="ok", seconds=8.0)
    for number in range(5):
        story.call(31 + number * 2, "Write", "write", f"fr/recipe{number + 1}.md")
    story.add(41.5, ContextFilled, tokens=88_000, window=_WINDOW, model="demo")
    story.add(43, TurnInterrupted)
    story.add(47, PromptTyped, text="Keep the English names in brackets. Think.", think="think")
    story.add(48.5, Thought, text="Then the glossary comes first.", level="think")
    story.call(50, "Edit", "write", "fr/recipe1.md")
    story.call(52, "Skill", "other", "spelling")
    story.add(55, TextAnswered, text="Done, with the names in brackets.")
    story.add(55.5, TurnFinished, seconds=8.5)
    story.add(57, WentIdle, reason="the client reports it")
    story.add(76, SessionEnded, reason="the client has exited")
    return story


def _tell_api() -> _Story:
    """Return the story of a hero in a storm: the API fails twice, and then answers."""
    story = _Story("tides", "/home/dana/harbour", "Forecast the tides")
    story.add(12, SessionStarted, cwd=story.hero.project)
    story.add(12.5, PromptTyped, text="Why is the forecast an hour late? Think harder.", think="harder")
    story.add(15, ErrorOccurred, source="api", text="Overloaded", attempt=1, max_attempts=10)
    story.add(19, ErrorOccurred, source="api", text="Overloaded", attempt=2, max_attempts=10)
    story.add(25, Thought, text="Summer time: the tables are in local time, the forecast is not.", level="harder")
    story.call(28, "mcp__tables__query", "read", "tides of June")
    helper = story.start_agent(30, "general-purpose", "Check the time zones")
    story.call(32, "Bash", "run", "zdump Europe/Lisbon", helper, seconds=2)
    story.call(36, "Bash", "run", "make test", helper, seconds=3, outcome="failed", text="Exit code 2")
    story.call(41, "Read", "read", "zones.py", helper)
    story.finish_agent(45, helper)
    story.call(47, "Edit", "write", "forecast.py")
    story.call(50, "Bash", "run", "make test", seconds=3)
    story.add(54, ContextFilled, tokens=61_000, window=None, model="unknown")
    story.add(56, TextAnswered, text="The forecast is in local time now.")
    story.add(56.5, TurnFinished, seconds=44.0)
    story.add(58, WentIdle, reason="the client reports it")
    return story
