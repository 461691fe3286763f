"""`rewind_files`: a program brings files back to their state before one of its prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog.agent.file_history.restoration import RestoreStep
from turnlog.agent.loop import AgentLoop
from turnlog.agent.session_rewind import plan_session_files, restore_session_files
from turnlog.errors import TurnlogError

NOT_KEPT_REMEDY = "set CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=1 when you start the session"


def answer_rewind_request(loop: AgentLoop, request: Mapping[str, Any]) -> dict[str, Any]:
    """Restore the files, or with `dry_run` only describe what would change, in the words of the client's own answer."""
    prompt = request.get("user_message_id")
    if not isinstance(prompt, str):
        raise TurnlogError("rewind_files: user_message_id is missing")
    if loop.shared.history is None:
        return {"canRewind": False, "error": f"File rewinding is not enabled; {NOT_KEPT_REMEDY}."}
    try:
        steps = plan_session_files(loop, prompt)
    except TurnlogError as error:
        return {"canRewind": False, "error": str(error)}
    if request.get("dry_run") is True:
        return _describe_changes([step for step in steps if step.action != "skip"])
    done = restore_session_files(loop, steps)
    if done.skipped:
        problems = "; ".join(f"{step.path}: {step.reason}" for step in done.skipped)
        raise TurnlogError(f"{len(done.changed)} files restored, {len(done.skipped)} left unchanged: {problems}")
    return _describe_changes(steps)


def _describe_changes(steps: list[RestoreStep]) -> dict[str, Any]:
    return {
        "canRewind": True,
        "filesChanged": [str(step.path) for step in steps],
        "insertions": sum(step.added for step in steps),
        "deletions": sum(step.removed for step in steps),
    }
