"""Hooks that a program defines in `initialize`: they run as callbacks in the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog.agent.hooks.hook_definitions import HookDefinition, parse_callbacks
from turnlog.agent.hooks.hook_runner import HookRunner
from turnlog.agent.hooks.hook_scope import HookScope
from turnlog.agent.loop import AgentLoop
from turnlog.agent.print_mode.control_channel import ControlChannel
from turnlog.errors import UsageError
from turnlog.model.cancel import Cancel

Object = Mapping[str, Any]
_REPLACED_TEXT = "The program has defined its hooks anew while this one was waiting for its answer. Try again."


def attach_program_hooks(loop: AgentLoop, hooks: Object, channel: ControlChannel) -> None:
    """Run a program's callbacks in a session, in place of those that it defined before.

    Raises UsageError if one of them can't run."""
    found = list(parse_callbacks(hooks))
    if problem := next((one for one in found if isinstance(one, str)), None):
        raise UsageError(f"initialize: {problem}")

    def send(callback: str, given: Object, call: str | None, seconds: float, cancel: Cancel) -> Object | str:
        request = {"subtype": "hook_callback", "callback_id": callback, "input": dict(given)}
        answer = channel.send_request({**request, "tool_use_id": call}, seconds, cancel)
        if answer.is_withdrawn:
            return _build_refusal(str(given.get("hook_event_name")))
        return answer.content if answer.content is not None else answer.error

    channel.withdraw_subtype("hook_callback")
    if loop.hooks is None:
        loop.attach_hooks(HookScope(HookRunner((), loop.setup.place.root), loop.setup, loop.record, loop.tell))
    if loop.hooks is not None:
        loop.hooks.runner.replace_callbacks([one for one in found if isinstance(one, HookDefinition)], send)


def _build_refusal(event: str) -> Object | str:
    """Return the answer for a callback whose program has defined its hooks anew: nothing happens unchecked."""
    if event == "PreToolUse":
        decision = {"permissionDecision": "deny", "permissionDecisionReason": _REPLACED_TEXT}
        return {"hookSpecificOutput": {"hookEventName": event, **decision}}
    return {"decision": "block", "reason": _REPLACED_TEXT} if event == "UserPromptSubmit" else _REPLACED_TEXT
