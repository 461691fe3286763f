"""Checks a program's answer to a permission request, as strictly as Claude Code: an answer that is not valid denies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

INVALID_ANSWER_TEXT = (
    "The canUseTool callback returned an invalid permission result. Expected {behavior: 'allow', updatedInput?: object}"
    " or {behavior: 'deny', message: string}. updatedPermissions may hold at most 4096 updates, rules and directories"
    " in all."
)
_MAX_UPDATES = 4096


def check_permission_answer(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer or, if it is not valid, one that denies the call."""
    return answer if _is_valid(answer) else {"behavior": "deny", "message": INVALID_ANSWER_TEXT}


def _is_valid(answer: Mapping[str, Any]) -> bool:
    if not isinstance(answer.get("toolUseID", ""), str):
        return False
    if answer.get("behavior") == "allow":
        return isinstance(answer.get("updatedInput", {}), Mapping) and _count_updates(answer) <= _MAX_UPDATES
    is_denied = answer.get("behavior") == "deny"
    return is_denied and isinstance(answer.get("message"), str) and isinstance(answer.get("interrupt", False), bool)


def _count_updates(answer: Mapping[str, Any]) -> int:
    """Count the changes of permissions, with their rules and folders."""
    updates = answer.get("updatedPermissions")
    found = [one for one in updates if isinstance(one, Mapping)] if isinstance(updates, list) else []
    lists = [one.get(name) for one in found for name in ("rules", "directories")]
    return len(found) + sum(len(one) for one in lists if isinstance(one, list))
