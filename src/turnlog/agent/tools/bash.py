"""Bash: runs a command in a new shell, in the folder where the previous one ended.

The folder is kept only if it is inside the working folders. A command that takes too long continues in the background,
and its output so far becomes the result. The command's environment contains none of the client's keys (`key_shield`).
"""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from turnlog.agent.key_shield import build_child_environment
from turnlog.agent.tools import command_output
from turnlog.agent.tools.call_result import CallResult, Object, ToolError, Workspace
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.shell_process import KILL_GRACE_SECONDS, MAX_OUTPUT_BYTES
from turnlog.agent.tools.shells import Shell
from turnlog.agent.tools.tool import CallContext
from turnlog.model.failures import RequestCancelled

_EXIT_CODE_MEANINGS = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg", "git grep"), "No matches found"),
    "find": "Some directories were inaccessible",
    "diff": "Files differ",
    "git diff": "Files differ",
    "test": "Condition is false",
    "[": "Condition is false",
}
_SILENT_PROGRAMS = frozenset("cd chgrp chmod chown cp export ln mkdir mv rm rmdir touch unset wait".split())
_FOLDER_CHANGING_PROGRAMS = frozenset({"cd", "chdir", "pushd", "popd"})
_JOINED_STREAM_PATTERN = re.compile(r"\d*[<>]&(?=[\d-])|&>>?")
_COMMAND_JOINTS = frozenset({";", "&&", "||", "|", "|&", "&"})


def explain_exit_code(command: str, code: int) -> str | None:
    """Explain an exit status of 1 that does not mean an error; return None in all other cases."""
    parts = _split_simple_commands(command)
    if code != 1 or not parts:
        return None
    words = parts[-1]
    return _EXIT_CODE_MEANINGS.get(words[0]) or _EXIT_CODE_MEANINGS.get(" ".join(words[:2]))


def is_expected_silent(command: str) -> bool:
    """Return whether a command normally prints nothing on success."""
    parts = _split_simple_commands(command, frozenset({";", "&&"}))
    return bool(parts) and all(
        words[0] in _SILENT_PROGRAMS and not _COMMAND_JOINTS.intersection(words) for words in parts
    )


def begins_with_pause(command: str) -> bool:
    """Return whether a command starts with `sleep`, in which case moving it to the background is pointless."""
    parts = _split_simple_commands(command)
    return bool(parts) and parts[0][0] == "sleep"


def changes_folder(command: str) -> bool:
    return any(words[0] in _FOLDER_CHANGING_PROGRAMS for words in _split_simple_commands(command))


def _split_simple_commands(command: str, joints: frozenset[str] = _COMMAND_JOINTS) -> list[list[str]]:
    """Split a command into the words of its simple commands, as well as possible without a parser."""
    plain = _JOINED_STREAM_PATTERN.sub(">", command).replace("\n", " ; ")
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split, lexer.commenters = True, ""
    parts: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word in joints:
                parts.append([])
            else:
                parts[-1].append(word)
    except ValueError:
        return []
    return [part for part in parts if part]


DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000
DEFAULT_BACKGROUND_MS = 1_800_000
"""How long a command may run in the background by default."""
MAX_BACKGROUND_MS = 7_200_000
PROGRESS_DELAY_SECONDS = 2.0
"""The delay before the first progress report."""
_FOLDER_CHANGE_PATTERN = re.compile(r"\b(?:cd|pushd|popd)\b")
_SHELL_FUNCTION_PREFIX = "BASH_FUNC_"
_UNSAFE_VARIABLES = frozenset({"BASH_ENV", "ENV", "CDPATH"})
"""Variables that can run code or change folders before an allowed command runs, as a parent shell's functions can."""
_ADDED_VARIABLES = {"CLAUDECODE": "1", "GIT_EDITOR": "true"}


class Bash(DescribedTool):
    def __init__(self, is_readonly: Callable[[str], bool] = lambda _: False) -> None:
        self._is_readonly = is_readonly

    def is_safe(self, arguments: Object) -> bool:
        """Return whether the command only reads and does not change folders, so that later calls can't depend on it."""
        command = arguments["command"]
        return not (arguments.get("run_in_background") or _FOLDER_CHANGE_PATTERN.search(command)) and self._is_readonly(
            command
        )

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        context.cancel.check()
        reset_note = _ensure_folder(context.place)
        shell = context.shells.start_shell(
            arguments["command"],
            call=context.call,
            cwd=context.place.cwd,
            environ=build_command_environment(context.environ),
            description=arguments.get("description") or "",
            is_of_agent=context.agent is not None,
        )
        if arguments.get("run_in_background"):
            limit = _read_timeout_ms(arguments, DEFAULT_BACKGROUND_MS, MAX_BACKGROUND_MS)
            return _build_background_result(shell, context, limit)
        limit = _read_timeout_ms(arguments, DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS)
        if _wait_for_end(shell, context, limit / 1000):
            return _build_finished_result(shell, context, reset_note)
        if shell.is_moved:
            return _build_background_result(shell, context, DEFAULT_BACKGROUND_MS)
        if begins_with_pause(shell.command):
            return _build_timeout_result(shell, limit)
        return _build_background_result(shell, context, MAX_TIMEOUT_MS, limit)


def build_command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a command's variables, without the client's own (above all its keys) and without any that affect bash."""
    variables = build_child_environment(environ)
    unsafe = [name for name in variables if name in _UNSAFE_VARIABLES or name.startswith(_SHELL_FUNCTION_PREFIX)]
    return {name: value for name, value in variables.items() if name not in unsafe} | _ADDED_VARIABLES


def _ensure_folder(place: Workspace) -> str:
    """Reset the folder and return a note for the model if the folder no longer exists."""
    if place.cwd.is_dir():
        return ""
    place.cwd = place.root
    if not place.root.is_dir():
        raise ToolError(f"The working folder {place.root} no longer exists, so no command can run in it.")
    return _describe_reset(place)


def _describe_reset(place: Workspace) -> str:
    return f"Shell cwd was reset to {place.root}"


def _read_timeout_ms(arguments: Object, default: int, longest: int) -> int:
    requested = arguments.get("timeout") or default
    return int(min(requested, longest)) if requested > 0 else default


def _wait_for_end(shell: Shell, context: CallContext, seconds: float) -> bool:
    """Wait for the command and report progress; return False if it goes on, out of time or in the background."""
    process = shell.process
    try:
        with context.cancel.on_cancel(process.kill):
            while not shell.awaited.wait(
                max(0.0, min(_choose_report_interval(process.seconds), seconds - process.seconds))
            ):
                if process.seconds >= seconds:
                    return False
                if process.seconds >= PROGRESS_DELAY_SECONDS:
                    context.progress(_build_progress_report(shell, seconds))
        context.cancel.check()
    except RequestCancelled:
        process.kill()
        process.ended.wait(2 * KILL_GRACE_SECONDS)
        shell.remove_files()
        raise
    return not shell.is_moved


def _choose_report_interval(elapsed: float) -> float:
    return 1.0 if elapsed < 10 else 5.0


def _build_progress_report(shell: Shell, seconds: float) -> dict[str, Any]:
    text = command_output.read_output_tail(shell.path, command_output.PREVIEW_CHARS)
    return {
        "type": "bash_progress",
        "output": "\n".join(text.rstrip("\n").split("\n")[-5:]),
        "fullOutput": text,
        "elapsedTimeSeconds": int(shell.process.seconds),
        "totalLines": shell.process.lines,
        "totalBytes": shell.process.bytes,
        "taskId": shell.id,
        "timeoutMs": int(seconds * 1000),
    }


def _build_finished_result(shell: Shell, context: CallContext, reset_note: str) -> CallResult:
    code = shell.process.exit_code or 0
    meaning = explain_exit_code(shell.command, code)
    if shell.process.is_too_large:
        return _build_failure_result(
            shell,
            (
                f"Exit code {code}\nCommand was stopped after it had written "
                f"{command_output.format_byte_size(MAX_OUTPUT_BYTES)}"
            ),
        )
    if code and meaning is None:
        return _build_failure_result(shell, "\n".join(filter(None, [f"Exit code {code}", reset_note])))
    reset_note = _carry_over_folder(shell, context.place) or reset_note
    structured = _build_structured_result(stderr=f"\n{reset_note}" if reset_note else "")
    if meaning:
        structured["returnCodeInterpretation"] = meaning
    structured["noOutputExpected"] = is_expected_silent(shell.command)
    text = command_output.read_inline_output(shell.path)
    if text is None:
        text = _persist_output(shell, context, structured)
    else:
        structured["stdout"] = text
    shell.remove_files()
    return CallResult("\n".join(filter(None, [text, reset_note])) or "(Bash completed with no output)", structured)


def _persist_output(shell: Shell, context: CallContext, structured: dict[str, Any]) -> str:
    """Move the output to the session's folder for large results, and return a preview for the model."""
    path = context.session / "tool-results" / f"{shell.id}.txt"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    preview, total = command_output.read_output_head(shell.path), shell.path.stat().st_size
    shutil.move(shell.path, path)
    structured["stdout"] = preview[: command_output.MAX_INLINE_CHARS]
    structured |= {"persistedOutputPath": str(path), "persistedOutputSize": total}
    return command_output.describe_persisted_output(preview, path, total)


def _carry_over_folder(shell: Shell, place: Workspace) -> str:
    """Keep the folder where the command ended if it is a working folder; otherwise, reset it and return a note."""
    try:
        there = Path(shell.cwd_path.read_text("utf-8", "surrogateescape").removesuffix("\n"))
    except OSError:
        return ""
    if any(there.is_relative_to(folder.resolve()) for folder in (place.root, *place.further)):
        place.cwd = there
        return ""
    place.cwd = place.root
    return _describe_reset(place)


def _build_structured_result(**more: Any) -> dict[str, Any]:
    return {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, **more}


def _build_failure_result(shell: Shell, first: str) -> CallResult:
    text = command_output.describe_failed_output(first, shell.path)
    shell.remove_files()
    return CallResult(text, f"Error: {text}", is_error=True)


def _build_timeout_result(shell: Shell, limit: int) -> CallResult:
    shell.process.kill()
    shell.process.ended.wait(2 * KILL_GRACE_SECONDS)
    return _build_failure_result(
        shell, f"Exit code {shell.process.exit_code}\nCommand timed out after {_format_duration(limit)}"
    )


def _build_background_result(shell: Shell, context: CallContext, limit: int, waited: int | None = None) -> CallResult:
    structured = _build_structured_result(noOutputExpected=False, backgroundTaskId=shell.id)
    output = ""
    if shell.is_moved:
        text = f"Command was manually backgrounded by user with ID: {shell.id}. "
        structured["backgroundedByUser"] = True
    elif waited is None:
        text = f"Command running in background with ID: {shell.id}. "
    else:
        text = (
            f"Command did not complete within its {(waited + 500) // 1000}s timeout and was moved to the background "
            f"(ID: {shell.id}). "
        )
        structured["timedOutAfterMs"] = waited
        output = structured["stdout"] = command_output.trim_output(command_output.read_output_head(shell.path))[
            : command_output.MAX_INLINE_CHARS
        ]
        with contextlib.suppress(OSError):
            shell.shown = shell.path.stat().st_size
    text += (
        f"Output is being written to: {shell.path}. You will be notified when it completes; after "
        f"{_format_duration(limit)} it is stopped. BashOutput shows what it has written since, KillShell ends it."
    )
    if changes_folder(shell.command):
        hint = f"Session cwd remains {context.place.cwd}; background commands can't change it."
        structured["backgroundCwdHint"] = hint
        text += f"\n{hint}"
    context.shells.keep_in_background(shell, limit / 1000)
    return CallResult("\n".join(filter(None, [output, text])), structured)


def _format_duration(milliseconds: int) -> str:
    seconds = milliseconds // 1000 if milliseconds < 60_000 else (milliseconds + 500) // 1000
    return f"{seconds // 60}m {seconds % 60}s" if seconds >= 60 else f"{seconds}s"
