"""KillShell: end a command in the background."""

from __future__ import annotations

import json

from turnlog.agent.tools.bash_output import found
from turnlog.agent.tools.command import GRACE
from turnlog.agent.tools.offered import Offered
from turnlog.agent.tools.tool import Object, Result, Scene, Unfit


class KillShell(Offered):
    """Ends background commands."""

    def run(self, given: Object, scene: Scene) -> Result:
        """End it."""
        shell = found(scene, given["shell_id"])
        if shell.status != "running":
            raise Unfit(f"Task {shell.id} is not running (status: {shell.status})")
        shell.stop("model")
        shell.process.ended.wait(2 * GRACE)
        structured = {
            "message": f"Successfully stopped task: {shell.id} ({shell.command})",
            "task_id": shell.id,
            "task_type": "local_bash",
            "command": shell.command,
        }
        return Result(json.dumps(structured, separators=(",", ":"), ensure_ascii=False), structured)
