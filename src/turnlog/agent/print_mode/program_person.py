"""A program in place of the person: it reads permission requests from standard output and answers on standard input.

Claude Code's SDKs work this way (`can_use_tool`); the model's questions arrive in the same form. An answer that allows
a call may change its input (`updatedInput`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog.agent.permissions.decision import Decision
from turnlog.agent.person import PermissionAnswer
from turnlog.agent.print_mode.control_channel import ControlChannel
from turnlog.agent.tools.call_result import to_object
from turnlog.agent.tools.tool import Question
from turnlog.model.failures import RequestCancelled

Object = Mapping[str, Any]
_TOOLS_BY_QUESTION_KIND = {"question": "AskUserQuestion", "plan": "ExitPlanMode"}


class ProgramPerson:
    """Asks a program by writing lines of JSON."""

    def __init__(self, channel: ControlChannel) -> None:
        self._channel = channel

    def permit(self, name: str, arguments: Object, decision: Decision, agent: str | None) -> PermissionAnswer:
        """Ask the program whether a call may run."""
        request = {"subtype": "can_use_tool", "tool_name": name, "input": dict(arguments), "permission_suggestions": []}
        reason = {"decision_reason": decision.reason} if decision.reason else {}
        answer = self._send_question({**request, **reason})
        if answer.get("behavior") == "allow":
            changed = answer.get("updatedInput")
            if changed is not None and not isinstance(changed, Mapping):
                return PermissionAnswer("no", "The program returned an updatedInput that is not an object.")
            return PermissionAnswer("once", arguments=changed)
        if answer.get("interrupt") is True:
            return PermissionAnswer("no")
        return PermissionAnswer("no", str(answer.get("message") or "The program denied the call."))

    def answer(self, question: Question) -> Object:
        """Ask a question or ask for approval of a plan; the answer is in the call's updated input."""
        request = {
            "subtype": "can_use_tool",
            "tool_name": _TOOLS_BY_QUESTION_KIND[question.kind],
            "input": dict(question.arguments),
        }
        answer = self._send_question({**request, "tool_use_id": question.call, "requires_user_interaction": True})
        if answer.get("interrupt") is True:
            raise RequestCancelled("cancelled")
        if answer.get("behavior") != "allow":
            return {"words": str(answer.get("message") or "")}
        changes = to_object(answer.get("updatedInput"))
        return {**changes, "answers": changes.get("answers"), "approved": True, "mode": _read_wanted_mode(answer)}

    def _send_question(self, request: dict[str, Any]) -> Object:
        answer = self._channel.send_request(request)
        if answer.is_withdrawn:
            return {"behavior": "deny", "interrupt": True}
        return answer.content if answer.content is not None else {"behavior": "deny", "message": answer.error}


def _read_wanted_mode(answer: Object) -> str | None:
    """Return the permission mode that an answer requests (`updatedPermissions`), if any."""
    listed = answer.get("updatedPermissions")
    updates = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    return next((str(one.get("mode")) for one in updates if one.get("type") == "setMode"), None)
