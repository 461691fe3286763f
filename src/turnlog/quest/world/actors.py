"""What an actor plays: one animation, and a short queue behind it, so that a burst of events stays readable.

Time is counted in ticks of 10 ms, in whole numbers, as in `animations.js`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct, field

TICKS_PER_SECOND = 100
FRAMES_PER_SECOND = 24
MAX_QUEUED_ANIMATIONS = 6
CALM_QUEUED_ANIMATIONS = 2
"""With more than this many animations behind it, an animation plays at twice the speed."""
IDLE_TICKS = 60 * TICKS_PER_SECOND
"""Without an event for this long, an actor that walked stands still."""
MIN_REST_TICKS = 2 * TICKS_PER_SECOND
"""A camp lasts at least this long: of an old compaction, transcripts know only the end."""


class Animation(NamedTuple):
    frames: int
    loops: int
    """How often it plays before the next one; 0 means for ever."""


ANIMATIONS = {
    "idle": Animation(16, 0),
    "enter": Animation(20, 1),
    "walk": Animation(16, 0),
    "casting": Animation(16, 1),
    "attack": Animation(16, 1),
    "writing": Animation(16, 1),
    "thinking": Animation(16, 2),
    "hurt": Animation(16, 1),
    "victory": Animation(20, 1),
    "pose": Animation(20, 1),
    "rest": Animation(20, 0),
    "waiting": Animation(20, 0),
    "poof": Animation(16, 1),
}


class WorldActor(Struct):
    """A hero or a companion, as far as animations go."""

    anim: str
    age: int = 0
    queue: list[str] = field(default_factory=list)
    active: bool = False
    silence: int = 0
    waiting: dict[str, Any] | None = None
    resting: bool = False
    rested: int = 0
    dawn: bool = False
    leaving: bool = False


def find_frame(actor: WorldActor) -> int:
    """Return the frame that an actor shows now."""
    return actor.age * FRAMES_PER_SECOND // TICKS_PER_SECOND % ANIMATIONS[actor.anim].frames


def count_duration(anim: str) -> int:
    """Return how many ticks an animation takes; 0 if it has no end."""
    frames, loops = ANIMATIONS[anim]
    return -(-frames * loops * TICKS_PER_SECOND // FRAMES_PER_SECOND)


def choose_base(actor: WorldActor) -> str:
    """Return what an actor does when its queue is empty."""
    if actor.resting:
        return "rest"
    if actor.waiting:
        return "waiting"
    return "walk" if actor.active else "idle"


def enqueue_animation(actor: WorldActor, anim: str) -> None:
    """Play an animation after those that already wait; of a long queue, the oldest is dropped."""
    if actor.leaving:
        return
    if count_duration(actor.anim) == 0 and not actor.resting:
        start_animation(actor, anim)
        return
    actor.queue.append(anim)
    if len(actor.queue) > MAX_QUEUED_ANIMATIONS:
        del actor.queue[0]


def start_animation(actor: WorldActor, anim: str) -> None:
    """Play an animation now, whatever else is going on."""
    if not actor.leaving:
        actor.anim, actor.age = anim, 0


def settle_actor(actor: WorldActor) -> None:
    """Drop what is queued and go over to what the actor does without events."""
    actor.queue = []
    start_animation(actor, choose_base(actor))


def wake_actor(actor: WorldActor) -> None:
    """Let an actor walk on, because something happened."""
    actor.silence = 0
    actor.active = True
    end_rest(actor)
    end_wait(actor)


def begin_rest(actor: WorldActor) -> None:
    """Make camp; what was queued no longer matters."""
    actor.waiting = None
    actor.active = actor.resting = True
    actor.rested, actor.dawn = 0, False
    settle_actor(actor)


def end_rest(actor: WorldActor) -> None:
    """Break camp, as soon as it has been seen."""
    actor.dawn = actor.resting


def cut_rest(actor: WorldActor) -> None:
    """Break camp at once."""
    actor.resting = actor.dawn = False


def end_wait(actor: WorldActor) -> None:
    """End a wait, because a person answered, or it no longer matters."""
    if actor.waiting is None:
        return
    actor.waiting = None
    if actor.anim == "waiting":
        start_animation(actor, choose_base(actor))


def leave_world(actor: WorldActor) -> None:
    """Play the last animation of an actor."""
    if actor.leaving:
        return
    actor.queue, actor.waiting = [], None
    cut_rest(actor)
    start_animation(actor, "poof")
    actor.leaving = True


def tick_actor(actor: WorldActor) -> bool:
    """Let one tick pass; return whether the actor is still there."""
    actor.age += 2 if len(actor.queue) > CALM_QUEUED_ANIMATIONS else 1
    actor.silence += 1
    if actor.silence >= IDLE_TICKS:
        actor.active = False
    if actor.resting:
        actor.rested += 1
        if actor.dawn and actor.rested >= MIN_REST_TICKS:
            cut_rest(actor)
    duration = count_duration(actor.anim)
    if duration == 0:
        if choose_base(actor) != actor.anim:
            _start_next(actor)
        return True
    if actor.age < duration:
        return True
    if actor.leaving:
        return False
    _start_next(actor)
    return True


def _start_next(actor: WorldActor) -> None:
    start_animation(actor, actor.queue.pop(0) if actor.queue else choose_base(actor))
