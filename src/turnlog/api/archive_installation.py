"""Installs the archive's triggers: a systemd timer, a crontab line or Claude Code hooks."""

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

from turnlog.api.config import data_dir, load_config
from turnlog.api.lookup import list_config_folders
from turnlog.errors import TurnlogError, UsageError
from turnlog.render.terminal import make_visible
from turnlog.store.archive import durable_write
from turnlog.store.archive.schedule import build_start_command
from turnlog.store.client_settings import add_client_hooks, iter_our_hooks, parse_client_settings, remove_client_hooks

INSTALL_KINDS = ("systemd", "cron", "hook")
HOOK_EVENTS = ("SessionEnd", "PreCompact")
_UNIT_NAME = "turnlog-archive"
_CRON_MARK = "# turnlog archive"
_HOOK_MARK = "archive run --quiet --hook"
_CARRIED_VARIABLES = ("TURNLOG_HOME", "TURNLOG_CONFIG", "TURNLOG_CONFIG_DIRS", "CLAUDE_CONFIG_DIR")


class InstallStep(NamedTuple):
    """One step of an installation: its description and the function that performs it."""

    words: list[str]
    act: Callable[[], None]


def plan_install_steps(kind: str | None, remove: bool, config_dir: str | None) -> list[InstallStep]:
    """List the steps that install or remove the triggers; the list is empty if there is nothing to do."""
    found: list[InstallStep] = []
    for name in (kind,) if kind else INSTALL_KINDS:
        if name == "systemd":
            found += _plan_systemd_steps(remove)
        elif name == "cron":
            found += _plan_cron_steps(remove, is_requested=kind is not None)
        else:
            found += _plan_hook_steps(remove, config_dir)
    return found


def build_unit_files() -> dict[Path, str]:
    """Build the systemd service and timer files, keyed by path."""
    base = os.environ.get("XDG_CONFIG_HOME") or ""
    folder = (Path(base) if os.path.isabs(base) else Path.home() / ".config") / "systemd" / "user"  # noqa: PTH117
    environment = "".join(f"Environment={_quote_unit_word(pair)}\n" for pair in _read_carried_environment())
    words = " ".join(
        _quote_unit_word(word).replace("$", "$$") for word in [*build_start_command(), "archive", "run", "--quiet"]
    )
    service = (
        "[Unit]\nDescription=Archive Claude Code sessions (turnlog)\n\n"
        f"[Service]\nType=oneshot\n{environment}ExecStart={words}\nNice=10\n"
    )
    timer = (
        "[Unit]\nDescription=Archive Claude Code sessions every six hours (turnlog)\n\n"
        "[Timer]\nOnCalendar=*-*-* 00/6:17\nPersistent=true\nRandomizedDelaySec=5min\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    return {folder / f"{_UNIT_NAME}.service": service, folder / f"{_UNIT_NAME}.timer": timer}


def cron_line() -> str:
    words = shlex.join([*_build_env_words(), *build_start_command(), "archive", "run", "--quiet"])
    return f"17 */6 * * * {words.replace('%', chr(92) + '%')} {_CRON_MARK}"


def hook_command() -> str:
    """Build the command that Claude Code runs when a session ends or is about to be compacted."""
    if sys.platform == "win32":
        return subprocess.list2cmdline([*build_start_command(), *_HOOK_MARK.split()])
    # Claude Code passes its own variables to hooks.
    carried = [pair for pair in _read_carried_environment() if not pair.startswith("CLAUDE_")]
    words = shlex.join([*(["env", *carried] if carried else []), *build_start_command(), *_HOOK_MARK.split()])
    # An archive that can't be reached must not stop Claude Code.
    return f"{words} || :"


def add_archive_hooks(text: str, command: str) -> str:
    """Add hooks for a command to the text of settings.json, unless they are already there."""
    present = {event for event, _ in iter_our_hooks(parse_client_settings(text), lambda other: other == command)}
    hook = {"type": "command", "command": command}
    return add_client_hooks(text, {event: hook for event in HOOK_EVENTS if event not in present})


def remove_archive_hooks(text: str) -> str:
    """Remove the archive hooks from the text of settings.json."""
    return remove_client_hooks(text, lambda command: _HOOK_MARK in command)


def _plan_systemd_steps(remove: bool) -> list[InstallStep]:
    if not remove:
        if not shutil.which("systemctl"):
            raise TurnlogError("systemctl: not found on this machine; use --cron or --hook instead")
        found = [_build_write_step(path, text) for path, text in build_unit_files().items()]
        return [
            *found,
            _build_systemctl_step("daemon-reload"),
            _build_systemctl_step("enable", "--now", f"{_UNIT_NAME}.timer"),
        ]
    units = [path for path in build_unit_files() if path.exists()]
    if not units:
        return []
    removals = [InstallStep([f"remove {make_visible(str(path))}"], path.unlink) for path in units]
    return [
        _build_systemctl_step("disable", "--now", f"{_UNIT_NAME}.timer", may_fail=True),
        *removals,
        _build_systemctl_step("daemon-reload", may_fail=True),
    ]


def _build_write_step(path: Path, text: str) -> InstallStep:
    words = [f"write {make_visible(str(path))}", *(f"    {make_visible(line)}" for line in text.splitlines())]
    return InstallStep(words, lambda: durable_write.write_durably(path, text.encode()))


def _build_systemctl_step(*words: str, may_fail: bool = False) -> InstallStep:
    command = ["systemctl", "--user", *words]

    def act() -> None:
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        except OSError as error:
            done = subprocess.CompletedProcess(command, 1, "", str(error))
        if done.returncode and not may_fail:
            reason = " ".join(done.stderr.split())
            raise TurnlogError(
                f"{shlex.join(command)}: {reason}; the files were written. To finish, run this command in a"
                " systemd user session"
            )

    return InstallStep([f"run {shlex.join(command)}"], act)


def _plan_cron_steps(remove: bool, is_requested: bool) -> list[InstallStep]:
    if not shutil.which("crontab"):
        if remove and not is_requested:
            return []
        raise TurnlogError("crontab: not found on this machine; use --systemd or --hook instead")
    lines = _read_crontab()
    others = [line for line in lines if not line.endswith(_CRON_MARK)]
    wanted = others if remove else [*others, cron_line()]
    if wanted == lines:
        return []
    words = (
        ["remove turnlog's line from the crontab"] if remove else [f"add to the crontab: {make_visible(cron_line())}"]
    )
    return [InstallStep(words, lambda: _write_crontab(wanted))]


def _read_crontab() -> list[str]:
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


def _plan_hook_steps(remove: bool, config_dir: str | None) -> list[InstallStep]:
    found = []
    for folder in _find_settings_folders(remove, config_dir):
        path = Path(os.path.realpath(folder / "settings.json"))
        before = path.read_bytes() if path.exists() else b""
        try:
            text = before.decode("utf-8")
            after = (remove_archive_hooks(text) if remove else add_archive_hooks(text, hook_command())).encode()
        except (TurnlogError, UnicodeDecodeError) as error:
            raise TurnlogError(f"{path}: {error}") from None
        if after != before:
            found.append(_build_settings_step(path, before, after, remove))
    return found


def _find_settings_folders(remove: bool, config_dir: str | None) -> list[Path]:
    if config_dir is not None:
        named = Path(config_dir).expanduser()
        if not named.is_dir():
            raise UsageError(f"{named}: no such folder")
        return [named]
    folders = list_config_folders(load_config())
    if not folders and not remove:
        raise TurnlogError("Claude Code has no config folder on this machine; use --config-dir DIR")
    return folders if remove else folders[:1]


def _build_settings_step(path: Path, before: bytes, after: bytes, remove: bool) -> InstallStep:
    copy = data_dir() / "archive" / "backups" / f"settings-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.json"

    def act() -> None:
        now = path.read_bytes() if path.exists() else b""
        if now != before:
            raise TurnlogError(f"{path}: modified in the meantime, so nothing was written; try again")
        if before:
            durable_write.write_durably(copy, before)
        mode = path.stat().st_mode & 0o777 if path.exists() else None
        durable_write.write_durably(path, after, mode)

    what = "remove turnlog's hooks from" if remove else "add hooks to"
    words = [f"{what} {make_visible(str(path))}"]
    if not remove:
        words += [f"    {', '.join(HOOK_EVENTS)}: {make_visible(hook_command())}"]
    return InstallStep([*words, *([f"    keep a copy as {make_visible(str(copy))}"] if before else [])], act)


def _read_carried_environment() -> list[str]:
    return [f"{name}={value}" for name in _CARRIED_VARIABLES if (value := os.environ.get(name))]


def _build_env_words() -> list[str]:
    carried = _read_carried_environment()
    return ["env", *carried] if carried else []


def _quote_unit_word(word: str) -> str:
    """Quote a word for a unit file and escape anything that systemd would expand."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text}"'
