"""Game events: what the heroes of the quest do, each with the animation that shows it.

They are derived from live events alone (`translation`), so that a game never shows what did not happen. `GAME_KINDS` is
the table that docs/quest.md shows.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from msgspec import Struct

from turnlog.live.events.event import MAIN_ACTOR

GameName = Literal[
    "enter",
    "leave",
    "quest",
    "read",
    "write",
    "bash",
    "web",
    "tool",
    "result",
    "think",
    "text",
    "agent_start",
    "agent_finish",
    "todos",
    "question",
    "plan",
    "permission",
    "answered",
    "error",
    "turn_finish",
    "interrupt",
    "compact_start",
    "compact_end",
    "context",
    "ship",
    "idle",
    "level_up",
    "chest",
    "flow",
]
MAX_GAME_TEXT_CHARS = 400
"""Longer texts are cut: a thought bubble or a quest shows no more than this."""


class XpGrant(Struct, frozen=True):
    """Experience, and what it was earned by."""

    amount: int
    reason: str


class GameEvent(Struct, frozen=True):
    """Something that a hero, or a companion, does."""

    __flat_fields__ = ("fields",)

    game: GameName
    session: str
    actor: str = MAIN_ACTOR
    """`main` for the hero, otherwise the companion."""
    time: str | None = None
    at: float = 0.0
    """Seconds since the start of the feed or of the replay."""
    xp: tuple[XpGrant, ...] = ()
    fields: dict[str, Any] = {}
    """The fields of its kind (docs/quest.md)."""

    def to_document(self) -> dict[str, Any]:
        """Return the event as its JSON has it, with the fields of its kind beside the common ones."""
        return {
            "game": self.game,
            "session": self.session,
            "actor": self.actor,
            "time": self.time,
            "at": round(self.at, 3),
            "xp": [{"amount": grant.amount, "reason": grant.reason} for grant in self.xp],
            **self.fields,
        }


class GameKind(NamedTuple):
    """A row of the table: from session event to game event to animation."""

    sources: str
    """The live events that lead to it (docs/events.md)."""
    fields: tuple[str, ...]
    animation: str
    """What the actor does; empty if nothing changes."""
    effect: str
    """What else the screen shows."""


GAME_KINDS: dict[GameName, GameKind] = {
    "enter": GameKind(
        "the session appears, or `session-start`", ("project", "title", "biome"), "enter", "a hero joins the party"
    ),
    "leave": GameKind("`session-end`", ("reason",), "poof", "the hero and its companions leave"),
    "quest": GameKind(
        "`prompt` of the main agent", ("text", "level"), "walk", "quest text; fireworks if the prompt asks for thinking"
    ),
    "read": GameKind("`call` of category `read`", ("tool", "target"), "casting", "the tool's name in blue"),
    "write": GameKind("`call` of category `write`", ("tool", "target"), "writing", "the tool's name in green"),
    "bash": GameKind("`call` of category `run`", ("tool", "target"), "attack", "the tool's name in red"),
    "web": GameKind("`call` of category `web`", ("tool", "target"), "casting", "the tool's name in yellow"),
    "tool": GameKind(
        "`call` of category `agent`, `plan`, `ask` or `other`",
        ("tool", "target", "category"),
        "casting",
        "the tool's name in purple (`agent`) or grey",
    ),
    "result": GameKind("`result`", ("category", "outcome", "streak"), "", "experience"),
    "think": GameKind("`think`", ("level", "text"), "thinking", "a thought bubble, if the file has the text"),
    "text": GameKind("`text`", ("text",), "", "a line in the text log"),
    "agent_start": GameKind(
        "`agent-start`, or the first event of a sub-agent that is not known yet",
        ("agent", "agent_type", "description"),
        "enter",
        "a companion with its type as label",
    ),
    "agent_finish": GameKind("`agent-finish`", ("agent", "outcome"), "poof", "this companion alone leaves"),
    "todos": GameKind("`todos` of the main agent", ("items",), "", "the list of tasks"),
    "question": GameKind("`question`", ("text",), "waiting", "WAITS FOR YOU, also in the title of the tab"),
    "plan": GameKind("`plan`", ("text",), "waiting", "WAITS FOR YOU, also in the title of the tab"),
    "permission": GameKind(
        "`permission-wait`", ("tool", "title"), "waiting", "WAITS FOR YOU, also in the title of the tab"
    ),
    "answered": GameKind(
        "the wait is over: a `result`, or a different state; or the state says that the session works (`reason`)",
        ("reason",),
        "walk",
        "the sign disappears",
    ),
    "error": GameKind(
        "`error`", ("source", "text", "attempt"), "hurt", "an enemy hits the actor (`call`), or a storm (`api`)"
    ),
    "turn_finish": GameKind("`turn-finish` of the main agent", ("seconds",), "victory", "confetti"),
    "interrupt": GameKind("`interrupt`", (), "idle", ""),
    "compact_start": GameKind("the state `compacting`, or `compaction`", (), "rest", "a camp, and Zzz"),
    "compact_end": GameKind("`compaction`, or the state `compacting` is over", (), "idle", "the mana refills"),
    "context": GameKind(
        "`context`", ("used", "window", "share"), "", "the mana bar: yellow over 75 % used, red over 90 %"
    ),
    "ship": GameKind("`ship`", ("kind", "url"), "pose", "SHIPPED"),
    "idle": GameKind(
        "`idle`, `turn-finish` of a sub-agent, or the state says that the session does not work",
        ("reason",),
        "idle",
        "",
    ),
    "level_up": GameKind("enough experience", ("level", "chest"), "victory", "a chest, if there is an item for it"),
    "chest": GameKind("a bonus was won", ("chest", "reason"), "", "a bonus chest"),
    "flow": GameKind("a `result` or `think` of the main agent", ("meter",), "", "the flow meter"),
}
