"""ExitPlanMode: shows the plan and starts the work if the person approves."""

from __future__ import annotations

from typing import Any

from turnlog.agent.tools.call_result import CallResult, Object, ToolError
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.tool import CallContext, Question

_APPROVED_TEXT = (
    "User has approved your plan. You can now start coding. Start with updating your todo list if applicable"
)


class ExitPlanMode(DescribedTool):
    """Asks the person to approve a plan."""

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        """Ask for approval. The host returns `approved`, plus `plan` if it was edited or `words` if it was refused."""
        plan = str(arguments.get("plan") or "")
        reply = context.desk.ask(Question("plan", {"plan": plan}, context.call)) or {}
        if not reply.get("approved"):
            raise _build_refusal(str(reply.get("words") or ""))
        edited = str(reply.get("plan") or plan)
        structured: dict[str, Any] = {"plan": edited or None, "isAgent": False}
        note = ""
        if edited != plan:
            structured["planWasEdited"], note = True, " (edited by user)"
        if not edited.strip():
            return CallResult("User has approved exiting plan mode. You can now proceed.", structured)
        return CallResult(f"{_APPROVED_TEXT}\n\n## Approved Plan{note}:\n{edited}", structured)


def _build_refusal(reason: str) -> ToolError:
    message = "The plan was not approved; you are still in plan mode, and nothing may be changed."
    return ToolError(message + (f" The user said:\n{reason}" if reason else " Ask what should be different."))
