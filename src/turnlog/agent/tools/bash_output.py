"""BashOutput: what a command in the background has written since it was last looked at."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import ClassVar

from turnlog.agent.tools import output
from turnlog.agent.tools.shells import Shell
from turnlog.agent.tools.tool import Object, Result, Scene, Unfit

_UNFINISHED = re.compile(rb"[\xc0-\xff][\x80-\xbf]{0,3}\Z")


class BashOutput:
    """Reads on in the output of a background command."""

    name = "BashOutput"
    description = (
        "See what a command in the background has written since you last looked, and whether it still runs.\n"
        "`bash_id` is the ID that Bash gave. `filter` is a regular expression: only lines that match are shown, and "
        "the others are gone for later calls (the output file has all)."
    )
    schema: ClassVar[Object] = {
        "type": "object",
        "properties": {
            "bash_id": {"type": "string", "description": "The ID of the background command"},
            "filter": {"type": "string", "description": "Show only lines that match this regular expression"},
        },
        "required": ["bash_id"],
        "additionalProperties": False,
    }

    def is_safe(self, given: Object) -> bool:
        """It only reads."""
        return True

    def run(self, given: Object, scene: Scene) -> Result:
        """Read on."""
        shell = found(scene, given["bash_id"])
        wanted = _pattern(given.get("filter"))
        text = _news(shell)
        if wanted is not None:
            text = "\n".join(line for line in text.split("\n") if wanted.search(line))
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        code = None if shell.status == "running" else shell.process.exit_code
        parts = [f"<status>{shell.status}</status>"]
        parts += [] if code is None else [f"<exit_code>{code}</exit_code>"]
        parts += [f"<stdout>\n{text}\n</stdout>"] if text else []
        parts += _rest(shell)
        parts.append(f"<timestamp>{now}</timestamp>")
        structured = {
            "shellId": shell.id,
            "command": shell.command,
            "status": shell.status,
            "exitCode": code,
            "stdout": text,
            "stderr": "",
            "stdoutLines": text.count("\n") + 1,
            "stderrLines": 1,
            "timestamp": now,
        }
        return Result("\n\n".join(parts), structured | ({"filterPattern": wanted.pattern} if wanted else {}))


def found(scene: Scene, name: str) -> Shell:
    """The background command of an id."""
    shell = scene.shells.find(name)
    if shell is None:
        raise Unfit(f"No task found with ID: {name}")
    return shell


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise Unfit(f"The filter is no regular expression: {error}") from None


def _news(shell: Shell) -> str:
    """What was written since the last look, as far as it may be shown at once."""
    with shell.path.open("rb") as file:
        file.seek(shell.shown)
        data = file.read(output.LIMIT)
    if unfinished := _UNFINISHED.search(data) if len(data) > 4 else None:
        data = data[: unfinished.start()] if not _is_whole(unfinished[0]) else data
    shell.shown += len(data)
    return output.trimmed(data.decode("utf-8", "replace"))


def _is_whole(data: bytes) -> bool:
    try:
        return bool(data.decode())
    except UnicodeDecodeError:
        return False


def _rest(shell: Shell) -> list[str]:
    left = shell.path.stat().st_size - shell.shown
    return [f"{output.size(left)} more: call again, or read {shell.path}"] if left > 4 else []
