"""KillShell: stops a background command."""

from __future__ import annotations

import json

from turnlog.agent.tools.bash_output import find_background_shell
from turnlog.agent.tools.call_result import CallResult, Object, RejectedCall
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.shell_process import KILL_GRACE_SECONDS
from turnlog.agent.tools.tool import CallContext


class KillShell(DescribedTool):
    def run(self, arguments: Object, context: CallContext) -> CallResult:
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
        return CallResult(json.dumps(structured, separators=(",", ":"), ensure_ascii=False), structured)
