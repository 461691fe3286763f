"""Bash: run a command, in a fresh shell each time, in the folder where the last one ended.

The folder is carried over only within the working folders. A command that takes too long goes on in the background;
what it wrote until then is the result. The client's own keys are not in its environment (`key_shield`).
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from turnlog.agent.key_shield import child_environment
from turnlog.agent.tools import exit_codes, output
from turnlog.agent.tools.command import GRACE, LARGEST
from turnlog.agent.tools.offered import Offered
from turnlog.agent.tools.shells import Shell
from turnlog.agent.tools.tool import Object, Place, Result, Scene, ToolError
from turnlog.model.failures import Cancelled

DEFAULT_TIMEOUT = 120_000
LONGEST_TIMEOUT = 600_000
BACKGROUND_LIMIT = 1_800_000
"""Milliseconds that a command may run in the background, unless the call says otherwise."""
LONGEST_BACKGROUND = 7_200_000
QUIET = 2.0
"""Seconds before the first report of progress."""
_MOVING = re.compile(r"\b(?:cd|pushd|popd)\b")
_SHELL_FUNCTIONS = "BASH_FUNC_"
_MEDDLING = frozenset({"BASH_ENV", "ENV", "CDPATH"})
"""What would run code, or lead elsewhere, before a command that was allowed, as functions of a parent shell do."""
_ADDED = {"CLAUDECODE": "1", "GIT_EDITOR": "true"}


class Bash(Offered):
    """Runs commands."""

    def __init__(self, is_readonly: Callable[[str], bool] = lambda _: False) -> None:
        self._is_readonly = is_readonly

    def is_safe(self, given: Object) -> bool:
        """Whether the command only reads, and stays where it is: what follows one that moves is meant to run there."""
        command = given["command"]
        return not (given.get("run_in_background") or _MOVING.search(command)) and self._is_readonly(command)

    def run(self, given: Object, scene: Scene) -> Result:
        """Run it."""
        scene.cancel.check()
        moved = _settle(scene.place)
        shell = scene.shells.start(
            given["command"],
            call=scene.call,
            cwd=scene.place.cwd,
            environ=command_environment(scene.environ),
            description=given.get("description") or "",
        )
        if given.get("run_in_background"):
            limit = _milliseconds(given, BACKGROUND_LIMIT, LONGEST_BACKGROUND)
            return _in_background(shell, scene, limit)
        limit = _milliseconds(given, DEFAULT_TIMEOUT, LONGEST_TIMEOUT)
        if _has_ended(shell, scene, limit / 1000):
            return _finished(shell, scene, moved)
        if exit_codes.is_pause(shell.command):
            return _timed_out(shell, limit)
        return _in_background(shell, scene, LONGEST_TIMEOUT, limit)


def command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables for a command: none of the client's own, above all not its keys, and none that meddles with bash."""
    kept = child_environment(environ)
    meddling = [name for name in kept if name in _MEDDLING or name.startswith(_SHELL_FUNCTIONS)]
    return {name: value for name, value in kept.items() if name not in meddling} | _ADDED


def _settle(place: Place) -> str:
    """See to it that the folder is there; what the model is told if it was not."""
    if place.cwd.is_dir():
        return ""
    place.cwd = place.root
    if not place.root.is_dir():
        raise ToolError(f"The working folder {place.root} is no longer there, so that no command can be run in it.")
    return _reset(place)


def _reset(place: Place) -> str:
    return f"Shell cwd was reset to {place.root}"


def _milliseconds(given: Object, default: int, most: int) -> int:
    wanted = given.get("timeout") or default
    return int(min(wanted, most)) if wanted > 0 else default


def _has_ended(shell: Shell, scene: Scene, seconds: float) -> bool:
    """Wait for the end, and tell now and then how far it is; False when the time is over."""
    process = shell.process
    try:
        with scene.cancel.then(process.kill):
            while not process.ended.wait(max(0.0, min(_pulse(process.seconds), seconds - process.seconds))):
                if process.seconds >= seconds:
                    return False
                if process.seconds >= QUIET:
                    scene.progress(_report(shell, seconds))
        scene.cancel.check()
    except Cancelled:
        process.kill()
        process.ended.wait(2 * GRACE)
        shell.forget()
        raise
    return True


def _pulse(elapsed: float) -> float:
    return 1.0 if elapsed < 10 else 5.0


def _report(shell: Shell, seconds: float) -> dict[str, Any]:
    text = output.tail(shell.path, output.PREVIEW)
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


def _finished(shell: Shell, scene: Scene, moved: str) -> Result:
    code = shell.process.exit_code or 0
    meaning = exit_codes.meaning(shell.command, code)
    if shell.process.is_too_large:
        return _failure(shell, f"Exit code {code}\nCommand was stopped after it had written {output.size(LARGEST)}")
    if code and meaning is None:
        return _failure(shell, "\n".join(filter(None, [f"Exit code {code}", moved])))
    moved = _carry_over(shell, scene.place) or moved
    structured = _structured(stderr=f"\n{moved}" if moved else "")
    if meaning:
        structured["returnCodeInterpretation"] = meaning
    structured["noOutputExpected"] = exit_codes.is_silent(shell.command)
    text = output.shown(shell.path)
    if text is None:
        text = _persisted(shell, scene, structured)
    else:
        structured["stdout"] = text
    shell.forget()
    return Result("\n".join(filter(None, [text, moved])) or "(Bash completed with no output)", structured)


def _persisted(shell: Shell, scene: Scene, structured: dict[str, Any]) -> str:
    """Move the output to where the session keeps large results; what the model is shown of it."""
    kept = scene.session / "tool-results" / f"{shell.id}.txt"
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    begin, total = output.head(shell.path), shell.path.stat().st_size
    shutil.move(shell.path, kept)
    structured["stdout"] = begin[: output.LIMIT]
    structured |= {"persistedOutputPath": str(kept), "persistedOutputSize": total}
    return output.persisted(begin, kept, total)


def _carry_over(shell: Shell, place: Place) -> str:
    """Stay in the folder where the command ended, if one may work there; else go back, and say so."""
    try:
        there = Path(shell.whereabouts.read_text("utf-8", "surrogateescape").removesuffix("\n"))
    except OSError:
        return ""
    if any(there.is_relative_to(folder.resolve()) for folder in (place.root, *place.further)):
        place.cwd = there
        return ""
    place.cwd = place.root
    return _reset(place)


def _structured(**more: Any) -> dict[str, Any]:
    return {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, **more}


def _failure(shell: Shell, first: str) -> Result:
    text = output.failed(first, shell.path)
    shell.forget()
    return Result(text, f"Error: {text}", is_error=True)


def _timed_out(shell: Shell, limit: int) -> Result:
    shell.process.kill()
    shell.process.ended.wait(2 * GRACE)
    return _failure(shell, f"Exit code {shell.process.exit_code}\nCommand timed out after {_duration(limit)}")


def _in_background(shell: Shell, scene: Scene, limit: int, waited: int | None = None) -> Result:
    structured = _structured(noOutputExpected=False, backgroundTaskId=shell.id)
    wrote = ""
    if waited is None:
        told = f"Command running in background with ID: {shell.id}. "
    else:
        told = (
            f"Command did not complete within its {(waited + 500) // 1000}s timeout and was moved to the background "
            f"(ID: {shell.id}). "
        )
        structured["timedOutAfterMs"] = waited
        wrote = structured["stdout"] = output.trimmed(output.head(shell.path))[: output.LIMIT]
        with contextlib.suppress(OSError):
            shell.shown = shell.path.stat().st_size
    told += (
        f"Output is being written to: {shell.path}. You will be notified when it completes; after "
        f"{_duration(limit)} it is stopped. BashOutput shows what it has written since, KillShell ends it."
    )
    if exit_codes.moves(shell.command):
        hint = f"Session cwd remains {scene.place.cwd}; the folder that a background command goes to is its own."
        structured["backgroundCwdHint"] = hint
        told += f"\n{hint}"
    scene.shells.keep(shell, limit / 1000)
    return Result("\n".join(filter(None, [wrote, told])), structured)


def _duration(milliseconds: int) -> str:
    seconds = milliseconds // 1000 if milliseconds < 60_000 else (milliseconds + 500) // 1000
    return f"{seconds // 60}m {seconds % 60}s" if seconds >= 60 else f"{seconds}s"
