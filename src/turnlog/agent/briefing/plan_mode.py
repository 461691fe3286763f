"""Plan mode: what the model is told when it begins, and when the person ends it without a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnlog.agent.conversation import build_reminder

if TYPE_CHECKING:
    from turnlog.agent.loop import AgentLoop

PLAN_MODE_REMINDER = (
    "The session is in plan mode: until the person has agreed to a plan, nothing may be changed, and calls that"
    " would change something are denied. Find out what is needed, ask what is open, and then show the plan with"
    " ExitPlanMode."
)
PLAN_MODE_ENDED_REMINDER = (
    "The person has ended plan mode: changes may be made again, as far as the permissions allow them."
)


class PlanModeTracker:
    """Knows what the model knows of the mode; it begins with what stands before the first prompt."""

    def __init__(self, loop: AgentLoop) -> None:
        self._loop = loop
        self._is_told = loop.setup.guard.mode == "plan"

    def announce_change(self) -> None:
        """Before a prompt: tell the model of a change that the person made since."""
        if (is_planning := self._loop.setup.guard.mode == "plan") != self._is_told:
            text = str(build_reminder(PLAN_MODE_REMINDER if is_planning else PLAN_MODE_ENDED_REMINDER)["text"])
            self._loop.record.write_prompt(text, meta=True)
            self._loop.conversation.add_user_content(text)
        self._is_told = is_planning

    def update_after_turn(self) -> None:
        """Behind a turn: a plan that was agreed to told the model by itself."""
        self._is_told = self._loop.setup.guard.mode == "plan"
