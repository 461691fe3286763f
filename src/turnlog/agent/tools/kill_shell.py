"""KillShell: stops a background command or a sub-agent in the background."""

from __future__ import annotations

import json

from turnlog.agent.tools.background_agents import BackgroundAgent
from turnlog.agent.tools.bash_output import find_background_shell
from turnlog.agent.tools.call_result import CallResult, Object, RejectedCall
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.shell_process import KILL_GRACE_SECONDS
from turnlog.agent.tools.tool import CallContext

_MAX_AGENT_STOP_SECONDS = 5.0


class KillShell(DescribedTool):
    def run(self, arguments: Object, context: CallContext) -> CallResult:
        agent = context.agents.find_agent(arguments["shell_id"]) if context.agents is not None else None
        if agent is not None:
            return _stop_agent(agent)
        shell = find_background_shell(context, arguments["shell_id"])
        if shell.status != "running":
            raise RejectedCall(f"Task {shell.id} is not running (status: {shell.status})")
        shell.stop("model")
        shell.process.ended.wait(2 * KILL_GRACE_SECONDS)
        structured = {
            "message": f"Successfully stopped task: {shell.id} ({shell.command})",
            "task_id": shell.id,
            "task_type": "local_bash",
            "command": shell.command,
        }
        return _build_result(structured)


def _stop_agent(agent: BackgroundAgent) -> CallResult:
    if agent.status != "running":
        raise RejectedCall(f"Task {agent.id} is not running (status: {agent.status})")
    agent.stop("model")
    agent.thread.join(_MAX_AGENT_STOP_SECONDS)
    about = f"Successfully stopped task: {agent.id} ({agent.description})"
    return _build_result(
        {"message": about, "task_id": agent.id, "task_type": "local_agent", "command": agent.description}
    )


def _build_result(structured: dict[str, str]) -> CallResult:
    return CallResult(json.dumps(structured, separators=(",", ":"), ensure_ascii=False), structured)
