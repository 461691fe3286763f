"""A program in place of the person: it reads permission requests from standard output and answers on standard input.

Claude Code's SDKs work this way (`can_use_tool`); the model's questions arrive in the same form. An answer that allows
a call may change its input (`updatedInput`). A tool of an MCP server can answer in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from turnlog.agent.mcp_servers.server_link import ServerFailure
from turnlog.agent.mcp_servers.server_tool import ServerTool
from turnlog.agent.permissions.decision import Decision
from turnlog.agent.person import PermissionAnswer
from turnlog.agent.print_mode.control_channel import ControlChannel
from turnlog.agent.print_mode.permission_answer import check_permission_answer
from turnlog.agent.print_mode.permission_updates import build_suggestions
from turnlog.agent.tools.call_result import to_object
from turnlog.agent.tools.tool import Question, Tool
from turnlog.model.failures import RequestCancelled

Object = Mapping[str, Any]
_TOOLS_BY_QUESTION_KIND = {"question": "AskUserQuestion", "plan": "ExitPlanMode"}


QuestionSender = Callable[[dict[str, Any]], Object]
"""Sends a `can_use_tool` request and returns its answer."""


class ProgramPerson:
    """Asks a program, or a tool of an MCP server."""

    answers_background_agents = True

    def __init__(self, channel: ControlChannel | None = None) -> None:
        self._channel = channel
        """Reaches the program that answers MCP servers."""
        self.send_question: QuestionSender = lambda _: {"behavior": "deny", "message": "Nobody can answer yet."}
        self.apply_updates: Callable[[Sequence[Any]], None] = lambda _: None
        """Changes the permissions of the session, as an answer demands."""

    @property
    def fills_in_forms(self) -> bool:
        return self._channel is not None

    def permit(self, name: str, arguments: Object, decision: Decision, agent: str | None) -> PermissionAnswer:
        """Ask the program whether a call may run."""
        request = {
            "subtype": "can_use_tool",
            "tool_name": name,
            "input": dict(arguments),
            "permission_suggestions": build_suggestions(decision),
            **({"tool_use_id": decision.call} if decision.call else {}),
            **({"decision_reason": decision.reason} if decision.reason else {}),
        }
        answer = check_permission_answer(self.send_question(request))
        if answer["behavior"] == "allow":
            updates = answer.get("updatedPermissions")
            self.apply_updates(updates if isinstance(updates, list) else [])
            return PermissionAnswer("once", arguments=answer.get("updatedInput"))
        if answer.get("interrupt") is True:
            return PermissionAnswer("no")
        return PermissionAnswer("denied", str(answer.get("message") or "The program denied the call."))

    def answer(self, question: Question) -> Object:
        """Ask a question or ask for approval of a plan; the answer is in the call's updated input."""
        if question.kind == "form" and self._channel is not None:
            from turnlog.agent.print_mode.program_elicitation import send_elicitation

            return send_elicitation(self._channel, question.arguments)
        request: dict[str, Any] = {
            "subtype": "can_use_tool",
            "tool_name": _TOOLS_BY_QUESTION_KIND[question.kind],
            "input": dict(question.arguments),
        }
        request |= {"tool_use_id": question.call, "requires_user_interaction": True}
        answer = check_permission_answer(self.send_question(request))
        if answer.get("interrupt") is True:
            raise RequestCancelled("cancelled")
        if answer.get("behavior") != "allow":
            return {"words": str(answer.get("message") or "")}
        changes = to_object(answer.get("updatedInput"))
        return {**changes, "answers": changes.get("answers"), "approved": True, "mode": _read_wanted_mode(answer)}


def send_to_program(channel: ControlChannel, request: dict[str, Any]) -> Object:
    """Ask the program that runs turnlog."""
    answer = channel.send_request(request)
    if answer.is_withdrawn:
        return {"behavior": "deny", "message": "", "interrupt": True}
    if answer.content is None:
        return {"behavior": "deny", "message": f"Tool permission request failed: Error: {answer.error}"}
    return answer.content


def send_to_tool(find_tool: Callable[[], Tool | None], request: dict[str, Any]) -> Object:
    """Ask a tool of an MCP server, whose result is text that contains the answer as JSON."""
    tool = find_tool()
    if not isinstance(tool, ServerTool):
        return {"behavior": "deny", "message": "The tool that decides about permissions is not available."}
    question = {"tool_name": request["tool_name"], "input": request["input"]}
    try:
        text = tool.fetch_text({**question, "tool_use_id": request.get("tool_use_id")})
        answer = to_object(msgspec.json.decode(text))
    except (ServerFailure, msgspec.MsgspecError, RecursionError) as error:
        return {"behavior": "deny", "message": f"The tool that decides about permissions failed: {error}"}
    return answer


def _read_wanted_mode(answer: Object) -> str | None:
    """Return the permission mode that an answer requests (`updatedPermissions`), if any."""
    listed = answer.get("updatedPermissions")
    updates = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    return next((str(one.get("mode")) for one in updates if one.get("type") == "setMode"), None)
