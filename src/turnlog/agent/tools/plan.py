"""ExitPlanMode: show the plan, and begin with the work if the person agrees."""

from __future__ import annotations

from typing import Any

from turnlog.agent.tools.call_result import CallResult, Object, ToolError
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.tool import CallContext, Question

_APPROVED_TEXT = (
    "User has approved your plan. You can now start coding. Start with updating your todo list if applicable"
)


class ExitPlanMode(DescribedTool):
    """Asks for agreement to a plan."""

    def run(self, given: Object, scene: CallContext) -> CallResult:
        """Ask. The desk answers with `approved`, and with `plan` if it was edited or `words` if it was refused."""
        plan = str(given.get("plan") or "")
        found = scene.desk.ask(Question("plan", {"plan": plan}, scene.call)) or {}
        if not found.get("approved"):
            raise _build_refusal(str(found.get("words") or ""))
        edited = str(found.get("plan") or plan)
        structured: dict[str, Any] = {"plan": edited or None, "isAgent": False}
        by = ""
        if edited != plan:
            structured["planWasEdited"], by = True, " (edited by user)"
        if not edited.strip():
            return CallResult("User has approved exiting plan mode. You can now proceed.", structured)
        return CallResult(f"{_APPROVED_TEXT}\n\n## Approved Plan{by}:\n{edited}", structured)


def _build_refusal(words: str) -> ToolError:
    told = "The plan was not approved; you are still in plan mode, and nothing may be changed."
    return ToolError(told + (f" The user said:\n{words}" if words else " Ask what should be different."))
