"""The hooks around a call: before it, when it needs permission, and after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from turnlog.agent.hooks.hook_definitions import TOOL_ALIASES
from turnlog.agent.hooks.hook_scope import HookOutcome, HookScope
from turnlog.agent.permissions.decision import CallGuard, Decision, apply_mode
from turnlog.agent.tools.call_result import CallResult, Object, Workspace
from turnlog.model.cancel import Cancel


class CallFacts(NamedTuple):
    """A call, as hooks receive it."""

    id: str
    name: str
    arguments: Object

    @property
    def fields(self) -> dict[str, Any]:
        return {"tool_name": TOOL_ALIASES.get(self.name, self.name), "tool_input": dict(self.arguments)}


def run_hooks_before_call(scope: HookScope, call: CallFacts, cancel: Cancel) -> HookOutcome:
    """Run the PreToolUse hooks; a block or a `deny` is in `block_reason`."""
    report = scope.run_event("PreToolUse", cancel, subject=call.name, call=call.id, **call.fields, tool_use_id=call.id)
    if report.block_reason is not None:
        is_exit = next(one for one in report.answers if one.block_reason == report.block_reason)
        report.verdict = "deny"
        report.block_reason = f"{_name_hook(call)} hook error: {is_exit.block_reason}"
    return report


def find_hook_obstacle(scope: HookScope, call: CallFacts, cancel: Cancel) -> str:
    """Run the PreToolUse hooks for a call that the client makes itself, and return why it may not run, or "".

    Nobody is asked and no input is replaced then, so a hook that wants either refuses the call."""
    report = run_hooks_before_call(scope, call, cancel)
    if report.block_reason is not None or report.verdict == "deny":
        return report.block_reason or report.verdict_reason or f"{_name_hook(call)} hook denied it"
    if report.stop_reason is not None:
        return report.stop_reason
    if report.verdict == "ask":
        return report.verdict_reason or "a hook requires permission"
    return "a hook changes it" if report.updated_input is not None else ""


def _name_hook(call: CallFacts) -> str:
    return f"PreToolUse:{TOOL_ALIASES.get(call.name, call.name)}"


def decide_with_hooks(report: HookOutcome, guard: CallGuard, call: CallFacts, place: Workspace) -> Decision:
    """Decide on a call by the rules, the mode and the hooks; a hook never overrides what a rule forbids."""
    if report.verdict == "allow":
        return guard.decide_with_rules(call.name, call.arguments, place, [call.name])
    decision = guard.decide(call.name, call.arguments, place)
    if report.verdict != "ask" or decision.verdict == "deny":
        return decision
    return apply_mode(Decision("ask", report.verdict_reason or "A hook requires permission.", is_firm=True), guard.mode)


def run_hooks_for_permission(scope: HookScope, call: CallFacts, decision: Decision, cancel: Cancel) -> HookOutcome:
    """Run the PermissionRequest hooks, which can answer in place of the person."""
    suggestions = [_describe_rule(rule) for rule in decision.suggested]
    suggested: dict[str, Any] = {} if decision.is_firm else {"permission_suggestions": suggestions}
    return scope.run_event(
        "PermissionRequest",
        cancel,
        subject=call.name,
        call=call.id,
        **call.fields,
        **suggested,
    )


def _describe_rule(rule: str) -> dict[str, Any]:
    tool, has_content, content = rule.partition("(")
    named = {"toolName": tool, "ruleContent": content[:-1]} if has_content else {"toolName": tool}
    return {"type": "addRules", "rules": [named], "behavior": "allow", "destination": "localSettings"}


def run_hooks_after_call(
    scope: HookScope, call: CallFacts, result: CallResult, milliseconds: int, cancel: Cancel
) -> HookOutcome:
    """Run the hooks for a result or a failure."""
    if result.is_error:
        text = result.content if isinstance(result.content, str) else ""
        outcome: Mapping[str, Any] = {"error": text, "is_interrupt": False}
        event = "PostToolUseFailure"
    else:
        outcome = {"tool_response": result.content if result.structured is None else result.structured}
        event = "PostToolUse"
    return scope.run_event(
        event,
        cancel,
        subject=call.name,
        call=call.id,
        **call.fields,
        **outcome,
        tool_use_id=call.id,
        duration_ms=milliseconds,
    )
