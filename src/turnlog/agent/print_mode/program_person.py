"""A program in place of the person: it reads permission requests from standard output and answers on standard input.

Claude Code's SDKs work this way (`can_use_tool`); the model's questions arrive in the same form. An answer that allows
a call may change its input (`updatedInput`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from turnlog.agent.permissions.decision import Decision
from turnlog.agent.person import PermissionAnswer
from turnlog.agent.tools.call_result import to_object
from turnlog.agent.tools.tool import Question
from turnlog.model.failures import RequestCancelled

Object = Mapping[str, Any]
_TOOLS_BY_QUESTION_KIND = {"question": "AskUserQuestion", "plan": "ExitPlanMode"}
_GONE_RESPONSE = {"behavior": "deny", "message": "standard input was closed, so nobody can answer"}


class ProgramPerson:
    """Asks a program by writing lines of JSON; several threads may ask at the same time."""

    def __init__(self, write: Callable[[dict[str, Any]], None]) -> None:
        self._write = write
        self._lock = threading.Condition()
        self._waiting: set[str] = set()
        self._answers: dict[str, Object] = {}
        self._is_gone = False

    def permit(self, name: str, arguments: Object, decision: Decision, agent: str | None) -> PermissionAnswer:
        """Ask the program whether a call may run."""
        request = {"subtype": "can_use_tool", "tool_name": name, "input": dict(arguments), "permission_suggestions": []}
        reason = {"decision_reason": decision.reason} if decision.reason else {}
        answer = self._send_request({**request, **reason})
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
        answer = self._send_request({**request, "tool_use_id": question.call, "requires_user_interaction": True})
        if answer.get("interrupt") is True:
            raise RequestCancelled("cancelled")
        if answer.get("behavior") != "allow":
            return {"words": str(answer.get("message") or "")}
        changes = to_object(answer.get("updatedInput"))
        return {**changes, "answers": changes.get("answers"), "approved": True, "mode": _read_wanted_mode(answer)}

    def accept_response(self, response: Object) -> None:
        """Pass an answer from the program to the request that is waiting for it."""
        content = response.get("response") if response.get("subtype") == "success" else None
        failure = {"behavior": "deny", "message": str(response.get("error") or "The program failed to answer.")}
        with self._lock:
            if (name := str(response.get("request_id"))) in self._waiting:
                self._answers[name] = content if isinstance(content, Mapping) else failure
                self._lock.notify_all()

    def withdraw_questions(self) -> None:
        """Interrupt all waiting requests, since the turn is over."""
        with self._lock:
            self._answers |= {name: {"behavior": "deny", "interrupt": True} for name in self._waiting}
            self._lock.notify_all()

    def close_answers(self) -> None:
        """Deny all waiting and later requests, since no more answers will arrive."""
        with self._lock:
            self._is_gone = True
            self._lock.notify_all()

    def _send_request(self, request: dict[str, Any]) -> Object:
        name = str(uuid4())
        with self._lock:
            self._waiting.add(name)
        self._write({"type": "control_request", "request_id": name, "request": request})
        with self._lock:
            self._lock.wait_for(lambda: name in self._answers or self._is_gone)
            self._waiting.discard(name)
            return self._answers.pop(name, _GONE_RESPONSE)


def _read_wanted_mode(answer: Object) -> str | None:
    """Return the permission mode that an answer requests (`updatedPermissions`), if any."""
    listed = answer.get("updatedPermissions")
    updates = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    return next((str(one.get("mode")) for one in updates if one.get("type") == "setMode"), None)
