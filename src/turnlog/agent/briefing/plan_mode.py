"""Plan mode: reminders for the model when plan mode starts and when the person ends it without a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnlog.agent.conversation import build_reminder

if TYPE_CHECKING:
    from turnlog.agent.loop import AgentLoop

_PLAN_MODE_HEAD = (
    "The session is in plan mode: until the person approves a plan, nothing may be changed, and calls that would"
    " change something are denied."
)
PLAN_MODE_REMINDER = (
    f"{_PLAN_MODE_HEAD} Find out what is needed, ask about open points, and then show the plan with ExitPlanMode."
)
PLAN_MODE_ENDED_REMINDER = "The person has ended plan mode: changes are possible again, within the permissions."


def build_plan_reminder(instructions: str = "") -> str:
    """Return the reminder for plan mode; a program's own instructions can't lift what holds in it."""
    if not instructions.strip():
        return PLAN_MODE_REMINDER
    return f"{_PLAN_MODE_HEAD}\n\n{instructions.strip()}\n\nWhen the plan is complete, show it with ExitPlanMode."


class PlanModeTracker:
    """Tracks whether the model has been told that plan mode is on; the text before the first prompt may say so."""

    def __init__(self, loop: AgentLoop) -> None:
        self._loop = loop
        self._model_knows = loop.setup.guard.mode == "plan"

    def announce_change(self) -> None:
        """Before a prompt, tell the model if the person has switched plan mode on or off."""
        if (is_planning := self._loop.setup.guard.mode == "plan") != self._model_knows:
            reminder = build_plan_reminder(self._loop.setup.plan_instructions)
            text = str(build_reminder(reminder if is_planning else PLAN_MODE_ENDED_REMINDER)["text"])
            self._loop.record.write_prompt(text, meta=True)
            self._loop.conversation.add_user_content(text)
        self._model_knows = is_planning

    def update_after_turn(self) -> None:
        """Record the mode after a turn: if a plan was approved, the model already knows that plan mode has ended."""
        self._model_knows = self._loop.setup.guard.mode == "plan"
