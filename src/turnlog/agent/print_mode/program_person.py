"""A program in the place of the person: it is asked for leave over standard output, and answers on standard input.

Claude Code's SDKs do so (`can_use_tool`), and hear the questions of the model in the same way. An answer that allows a
call may change its input (`updatedInput`).
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
_GONE_RESPONSE = {"behavior": "deny", "message": "nobody is there to be asked any more"}


class ProgramPerson:
    """Somebody who is asked in lines of JSON; several threads may ask at the same time."""

    def __init__(self, write: Callable[[dict[str, Any]], None]) -> None:
        self._write = write
        self._lock = threading.Condition()
        self._waiting: set[str] = set()
        self._answers: dict[str, Object] = {}
        self._is_gone = False

    def permit(self, name: str, given: Object, decision: Decision, agent: str | None) -> PermissionAnswer:
        """Whether a call may be made."""
        request = {"subtype": "can_use_tool", "tool_name": name, "input": dict(given), "permission_suggestions": []}
        more = {"decision_reason": decision.reason} if decision.reason else {}
        answer = self._send_request({**request, **more})
        if answer.get("behavior") == "allow":
            changed = answer.get("updatedInput")
            if changed is not None and not isinstance(changed, Mapping):
                return PermissionAnswer("no", "The program that was asked gave back an input that is no object.")
            return PermissionAnswer("once", given=changed)
        if answer.get("interrupt") is True:
            return PermissionAnswer("no")
        return PermissionAnswer("no", str(answer.get("message") or "The program that was asked does not allow it."))

    def answer(self, question: Question) -> Object:
        """What is said to a question or a plan: that stands in what the call is given back with."""
        request = {
            "subtype": "can_use_tool",
            "tool_name": _TOOLS_BY_QUESTION_KIND[question.kind],
            "input": dict(question.given),
        }
        answer = self._send_request({**request, "tool_use_id": question.call, "requires_user_interaction": True})
        if answer.get("interrupt") is True:
            raise RequestCancelled("cancelled")
        if answer.get("behavior") != "allow":
            return {"words": str(answer.get("message") or "")}
        given = to_object(answer.get("updatedInput"))
        return {**given, "answers": given.get("answers"), "approved": True, "mode": _read_wanted_mode(answer)}

    def accept_response(self, response: Object) -> None:
        """Take an answer that came."""
        told = response.get("response") if response.get("subtype") == "success" else None
        failure = {"behavior": "deny", "message": str(response.get("error") or "The program that was asked failed.")}
        with self._lock:
            if (name := str(response.get("request_id"))) in self._waiting:
                self._answers[name] = told if isinstance(told, Mapping) else failure
                self._lock.notify_all()

    def withdraw_questions(self) -> None:
        """Whoever waits for an answer does so no longer: the turn is over."""
        with self._lock:
            self._answers |= {name: {"behavior": "deny", "interrupt": True} for name in self._waiting}
            self._lock.notify_all()

    def close_answers(self) -> None:
        """No more answers will come."""
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
    """The permission mode that an answer wants (`updatedPermissions`), if any."""
    wanted = answer.get("updatedPermissions")
    updates = [one for one in wanted if isinstance(one, Mapping)] if isinstance(wanted, list) else []
    return next((str(one.get("mode")) for one in updates if one.get("type") == "setMode"), None)
