"""What `turnlog archive install` does: a timer of systemd, a line for cron, or hooks of the client."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from turnlog.cli.config import data_dir, load
from turnlog.cli.named import folders
from turnlog.cli.terminal import visible
from turnlog.errors import TurnlogError, UsageError
from turnlog.store.archive import durable
from turnlog.store.archive.schedule import program
from turnlog.store.client_settings import hooks_of, parsed, with_hooks, without_hooks

KINDS = ("systemd", "cron", "hook")
EVENTS = ("SessionEnd", "PreCompact")
_UNIT = "turnlog-archive"
_CRON_MARK = "# turnlog archive"
_HOOK_MARK = "archive run --quiet --hook"
_CARRIED = ("TURNLOG_HOME", "TURNLOG_CONFIG", "TURNLOG_CONFIG_DIRS", "CLAUDE_CONFIG_DIR")


class Step(NamedTuple):
    """One thing to do: how it is told, and how it is done."""

    words: list[str]
    act: Callable[[], None]


def steps(kind: str | None, remove: bool, config_dir: str | None) -> list[Step]:
    """What is to be done; nothing if it is done already."""
    found: list[Step] = []
    for one in (kind,) if kind else KINDS:
        if one == "systemd":
            found += _systemd(remove)
        elif one == "cron":
            found += _cron(remove, is_asked_for=kind is not None)
        else:
            found += _hooks(remove, config_dir)
    return found


def units() -> dict[Path, str]:
    """The files of a timer, by their paths."""
    base = os.environ.get("XDG_CONFIG_HOME") or ""
    folder = (Path(base) if os.path.isabs(base) else Path.home() / ".config") / "systemd" / "user"  # noqa: PTH117
    environment = "".join(f"Environment={_unit_quoted(pair)}\n" for pair in _environment())
    words = " ".join(_unit_quoted(word).replace("$", "$$") for word in [*program(), "archive", "run", "--quiet"])
    service = (
        "[Unit]\nDescription=Archive Claude Code sessions (turnlog)\n\n"
        f"[Service]\nType=oneshot\n{environment}ExecStart={words}\nNice=10\n"
    )
    timer = (
        "[Unit]\nDescription=Archive Claude Code sessions every six hours (turnlog)\n\n"
        "[Timer]\nOnCalendar=*-*-* 00/6:17\nPersistent=true\nRandomizedDelaySec=5min\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    return {folder / f"{_UNIT}.service": service, folder / f"{_UNIT}.timer": timer}


def cron_line() -> str:
    """The line for cron."""
    words = shlex.join([*_env_words(), *program(), "archive", "run", "--quiet"])
    return f"17 */6 * * * {words.replace('%', chr(92) + '%')} {_CRON_MARK}"


def hook_command() -> str:
    """What the client runs when a session ends or is about to be compacted."""
    if sys.platform == "win32":
        return subprocess.list2cmdline([*program(), *_HOOK_MARK.split()])
    carried = [pair for pair in _environment() if not pair.startswith("CLAUDE_")]  # the client hands on its own
    words = shlex.join([*(["env", *carried] if carried else []), *program(), *_HOOK_MARK.split()])
    # An archive that can't be reached must not keep the client from what it is about to do.
    return f"{words} || :"


def with_command(text: str, command: str) -> str:
    """The client's settings with hooks that run a command; unchanged where they are there already."""
    there = {event for event, _ in hooks_of(parsed(text), lambda other: other == command)}
    hook = {"type": "command", "command": command}
    return with_hooks(text, {event: hook for event in EVENTS if event not in there})


def without(text: str) -> str:
    """The client's settings without hooks that archive."""
    return without_hooks(text, lambda command: _HOOK_MARK in command)


def _systemd(remove: bool) -> list[Step]:
    if not remove:
        if not shutil.which("systemctl"):
            raise TurnlogError("systemctl: not found; this machine has no systemd, --cron or --hook may do")
        found = [_written(path, text) for path, text in units().items()]
        return [*found, _systemctl("daemon-reload"), _systemctl("enable", "--now", f"{_UNIT}.timer")]
    there = [path for path in units() if path.exists()]
    if not there:
        return []
    gone = [Step([f"remove {visible(str(path))}"], path.unlink) for path in there]
    return [
        _systemctl("disable", "--now", f"{_UNIT}.timer", may_fail=True),
        *gone,
        _systemctl("daemon-reload", may_fail=True),
    ]


def _written(path: Path, text: str) -> Step:
    words = [f"write {visible(str(path))}", *(f"    {visible(line)}" for line in text.splitlines())]
    return Step(words, lambda: durable.write(path, text.encode()))


def _systemctl(*words: str, may_fail: bool = False) -> Step:
    command = ["systemctl", "--user", *words]

    def act() -> None:
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        except OSError as error:
            done = subprocess.CompletedProcess(command, 1, "", str(error))
        if done.returncode and not may_fail:
            reason = " ".join(done.stderr.split())
            raise TurnlogError(f"{shlex.join(command)}: {reason}; the files are written, run it where your systemd is")

    return Step([f"run {shlex.join(command)}"], act)


def _cron(remove: bool, is_asked_for: bool) -> list[Step]:
    if not shutil.which("crontab"):
        if remove and not is_asked_for:
            return []
        raise TurnlogError("crontab: not found; this machine has no cron, --systemd or --hook may do")
    there = _crontab()
    others = [line for line in there if not line.endswith(_CRON_MARK)]
    wanted = others if remove else [*others, cron_line()]
    if wanted == there:
        return []
    words = (
        ["take the line of turnlog out of the crontab"] if remove else [f"add to the crontab: {visible(cron_line())}"]
    )
    return [Step(words, lambda: _write_crontab(wanted))]


def _crontab() -> list[str]:
    done = subprocess.run(
        ["crontab", "-l"], capture_output=True, encoding="utf-8", errors="surrogateescape", check=False
    )
    if done.returncode and "no crontab" not in done.stderr.lower():
        raise TurnlogError(f"crontab -l: {' '.join(done.stderr.split())}; nothing was changed")
    return done.stdout.splitlines() if not done.returncode else []


def _write_crontab(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
    done = subprocess.run(["crontab", "-"], input=text, capture_output=True, check=False)
    if done.returncode:
        raise TurnlogError(f"crontab: {done.stderr.decode(errors='replace').strip()}")


def _hooks(remove: bool, config_dir: str | None) -> list[Step]:
    found = []
    for folder in _settings_folders(remove, config_dir):
        path = Path(os.path.realpath(folder / "settings.json"))
        before = path.read_bytes() if path.exists() else b""
        try:
            text = before.decode("utf-8")
            after = (without(text) if remove else with_command(text, hook_command())).encode()
        except (TurnlogError, UnicodeDecodeError) as error:
            raise TurnlogError(f"{path}: {error}") from None
        if after != before:
            found.append(_settings_step(path, before, after, remove))
    return found


def _settings_folders(remove: bool, config_dir: str | None) -> list[Path]:
    if config_dir is not None:
        named = Path(config_dir).expanduser()
        if not named.is_dir():
            raise UsageError(f"{named}: no such folder")
        return [named]
    there = folders(load())
    if not there and not remove:
        raise TurnlogError("there is no config folder of the client on this machine; name one with --config-dir DIR")
    return there if remove else there[:1]


def _settings_step(path: Path, before: bytes, after: bytes, remove: bool) -> Step:
    copy = data_dir() / "archive" / "backups" / f"settings-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.json"

    def act() -> None:
        now = path.read_bytes() if path.exists() else b""
        if now != before:
            raise TurnlogError(f"{path}: was changed meanwhile; nothing was written, try again")
        if before:
            durable.write(copy, before)
        mode = path.stat().st_mode & 0o777 if path.exists() else None
        durable.write(path, after, mode)

    what = "take the hooks of turnlog out of" if remove else "add hooks to"
    words = [f"{what} {visible(str(path))}"]
    if not remove:
        words += [f"    {', '.join(EVENTS)}: {visible(hook_command())}"]
    return Step([*words, *([f"    a copy is kept as {visible(str(copy))}"] if before else [])], act)


def _environment() -> list[str]:
    return [f"{name}={value}" for name in _CARRIED if (value := os.environ.get(name))]


def _env_words() -> list[str]:
    carried = _environment()
    return ["env", *carried] if carried else []


def _unit_quoted(word: str) -> str:
    """A word of a unit file: quoted, and without what systemd would expand."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text}"'
