"""BashOutput: returns the new output of a background command."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from datetime import UTC, datetime

from turnlog.agent.tools import command_output
from turnlog.agent.tools.call_result import CallResult, Object, RejectedCall
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.shells import Shell
from turnlog.agent.tools.tool import CallContext


class BashOutput(DescribedTool):
    """Reads the next part of a background command's output."""

    only_reads = True

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        shell = find_background_shell(context, arguments["bash_id"])
        pattern = _compile_filter(arguments.get("filter"))
        text = _read_new_output(shell)
        if pattern is not None:
            text = "\n".join(line for line in text.split("\n") if pattern.search(line))
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        code = None if shell.status == "running" else shell.process.exit_code
        left = shell.path.stat().st_size - shell.shown
        parts = [
            f"<status>{shell.status}</status>",
            f"<exit_code>{code}</exit_code>" if code is not None else "",
            f"<stdout>\n{text}\n</stdout>" if text else "",
            f"{command_output.format_byte_size(left)} more: call again, or read {shell.path}" if left > 4 else "",
            f"<timestamp>{now}</timestamp>",
        ]
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
        return CallResult(
            "\n\n".join(filter(None, parts)), structured | ({"filterPattern": pattern.pattern} if pattern else {})
        )


def find_background_shell(context: CallContext, name: str) -> Shell:
    shell = context.shells.find_shell(name)
    if shell is None:
        raise RejectedCall(f"No task found with ID: {name}")
    return shell


def _compile_filter(text: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise RejectedCall(f"The filter is not a valid regular expression: {error}") from None


def _read_new_output(shell: Shell) -> str:
    """Return the output since the previous call, up to the size limit."""
    is_over = shell.status != "running"
    with shell.path.open("rb") as file:
        file.seek(shell.shown)
        data = file.read(command_output.MAX_INLINE_CHARS)
    decoder = getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data, final=is_over and len(data) < command_output.MAX_INLINE_CHARS)
    shell.shown += len(data) - len(decoder.getstate()[0])  # an incomplete character is returned with the next part
    return command_output.trim_output(text)
