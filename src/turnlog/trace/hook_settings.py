"""Installs turnlog's hooks in Claude Code's settings.json: plans the change, then applies it in one reversible step.

<settings>.before-turnlog       the file before the first change; deleted when it has been restored
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.errors import TurnlogError
from turnlog.store.archive import durable_write
from turnlog.store.client_settings import (
    HookSetting,
    add_client_hooks,
    iter_our_hooks,
    parse_client_settings,
    remove_client_hooks,
)
from turnlog.trace import hook as hook_script

HOOK_EVENTS = {
    "trace": ("Stop", "SubagentStop", "SessionEnd"),
    "live": (
        "Stop",
        "SubagentStop",
        "SessionEnd",
        "SessionStart",
        "UserPromptSubmit",
        "PermissionRequest",
        "Notification",
        "PreCompact",
    ),
}
"""The events that each purpose of the hook needs."""
HOOK_TIMEOUT_SECONDS = 10
"""Without a timeout, Claude Code gives all SessionEnd hooks together one and a half seconds."""
_HOOK_OPTIONS = ("--config", "--for", "--since", "--target")
_OUR_HOOK = re.compile(r"turnlog[\\/]+trace[\\/]+hook\.py")
_BYTE_ORDER_MARK = "\ufeff"


class HookOptions(NamedTuple):
    """The arguments of the hook."""

    folder: Path
    """`trace` in turnlog's data folder."""
    targets: Sequence[str] = ()
    config: Path | None = None
    """turnlog's config file, if not the default one."""
    purposes: Sequence[str] = ("trace",)
    """What it does, in the order of HOOK_EVENTS."""

    @property
    def events(self) -> tuple[str, ...]:
        """The events at which Claude Code runs it."""
        return tuple(dict.fromkeys(event for purpose in self.purposes for event in HOOK_EVENTS[purpose]))


class SettingsPlan(NamedTuple):
    """A planned change to a settings file."""

    path: Path
    """The real path, with links resolved."""
    before: bytes | None
    """The file's current content, or None if it doesn't exist."""
    after: bytes | None
    """The file's new content, or None if it will be deleted."""
    backup: Path
    makes_backup: bool = False
    drops_backup: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether the plan changes nothing."""
        return self.before == self.after


class InstalledHooks(NamedTuple):
    """turnlog's hooks in a settings file."""

    events: tuple[str, ...]
    commands: tuple[str, ...]
    """The commands, without duplicates; more than one if somebody has edited them."""
    targets: tuple[str, ...]
    since: float | None
    """When the hooks were installed, in seconds since 1970."""
    is_disabled: bool
    """Whether the settings disable all hooks in Claude Code."""
    purposes: tuple[str, ...] = ()
    config: Path | None = None


def build_hook_command(options: HookOptions, since: int) -> str:
    arguments = [
        sys.executable,
        "-I",
        "-S",
        str(Path(hook_script.__file__)),
        str(options.folder),
        "--since",
        str(since),
    ]
    arguments += ["--config", str(options.config)] if options.config else []
    arguments += [word for name in options.targets for word in ("--target", name)]
    if tuple(options.purposes) != ("trace",):  # the only purpose of the first versions, which didn't name it
        arguments += [word for purpose in options.purposes for word in ("--for", purpose)]
    if sys.platform == "win32":  # both kinds of shell accept this
        return subprocess.list2cmdline([word.replace("\\", "/") for word in arguments])
    # Python exits with 2 if the script is missing, which tells Claude Code not to stop but to continue working.
    return f"{shlex.join(arguments)} || :"


def is_our_hook(text: str) -> bool:
    """Return whether a command runs turnlog's hook, from any installation."""
    return _OUR_HOOK.search(text) is not None


def read_installed_hooks(path: Path) -> InstalledHooks:
    """Read which of turnlog's hooks a settings file contains."""
    return _find_installed_hooks(parse_client_settings(_read_text(_resolve_path(path))[1]))


def _find_installed_hooks(settings: Mapping[str, Any]) -> InstalledHooks:
    ours = list(iter_our_hooks(settings, is_our_hook))
    commands = tuple(dict.fromkeys(str(hook["command"]) for _, hook in ours))
    options = [_parse_hook_options(command) for command in commands]
    purposes = {name for found in options for name in found.get("--for", ["trace"])}
    times = [int(text) for found in options for text in found.get("--since", []) if text.isdecimal()]
    targets = dict.fromkeys(name for found in options for name in found.get("--target", []))
    configs = [Path(name) for found in options for name in found.get("--config", [])]
    return InstalledHooks(
        tuple(dict.fromkeys(event for event, _ in ours)),
        commands,
        tuple(targets),
        min(times, default=None),
        settings.get("disableAllHooks") is True,
        tuple(name for name in HOOK_EVENTS if name in purposes),
        configs[-1] if configs else None,
    )


def plan_hook_install(path: Path, options: HookOptions, now: float) -> SettingsPlan:
    """Plan to replace turnlog's existing hooks with new ones; the plan is empty if they are the same.

    Other purposes of the existing hooks are kept, with their arguments.
    """
    installed = read_installed_hooks(path)
    purposes = tuple(name for name in HOOK_EVENTS if name in {*options.purposes, *installed.purposes})
    wanted = options._replace(purposes=purposes)
    if "trace" not in options.purposes:
        wanted = wanted._replace(targets=installed.targets, config=installed.config)
    # Tracing sends nothing from before it was installed, even if the other reports were installed earlier.
    is_new = "trace" in purposes and "trace" not in installed.purposes
    since = now if is_new or installed.since is None else installed.since
    return _plan_exact_hooks(path, wanted, int(since))


def _plan_exact_hooks(path: Path, options: HookOptions, since: int) -> SettingsPlan:
    """Plan to install these hooks and remove all other hooks of turnlog."""
    real = _resolve_path(path)
    before, text = _read_text(real)
    installed = list(iter_our_hooks(parse_client_settings(text), is_our_hook))
    ours: HookSetting = {
        "type": "command",
        "command": build_hook_command(options, since),
        "timeout": HOOK_TIMEOUT_SECONDS,
    }
    backup = _build_backup_path(real)
    if sorted(installed, key=_get_event) == sorted(((event, ours) for event in options.events), key=_get_event):
        return SettingsPlan(real, before, before, backup)
    with _name_file(real):
        rest = remove_client_hooks(text, is_our_hook) if installed else text
        after = add_client_hooks(rest, dict.fromkeys(options.events, ours))
    return SettingsPlan(
        real, before, _encode_text(before, after), backup, makes_backup=before is not None and not installed
    )


def plan_hook_removal(path: Path, options: HookOptions | None = None) -> SettingsPlan:
    """Plan to remove turnlog's hooks; if nothing else has changed, restore the file byte for byte.

    With options, only their purposes are removed; hooks for the other purposes are installed again with the options'
    folder.
    """
    if options is not None:
        installed = read_installed_hooks(path)
        rest = tuple(name for name in installed.purposes if name not in options.purposes)
        if rest == installed.purposes:
            real = _resolve_path(path)
            data = _read_bytes(real)
            return SettingsPlan(real, data, data, _build_backup_path(real))
        if rest:
            kept = HookOptions(options.folder, purposes=rest)
            if "trace" in rest:
                kept = kept._replace(targets=installed.targets, config=installed.config)
            return _plan_exact_hooks(path, kept, int(installed.since or 0))
    return _plan_whole_removal(path)


def _plan_whole_removal(path: Path) -> SettingsPlan:
    real = _resolve_path(path)
    before, text = _read_text(real)
    backup = _build_backup_path(real)
    if not any(iter_our_hooks(parse_client_settings(text), is_our_hook)):
        return SettingsPlan(real, before, before, backup)
    with _name_file(real):
        remaining = remove_client_hooks(text, is_our_hook)
    original = backup.read_bytes() if backup.is_file() else None
    if original is not None and _normalise_settings(_decode_text(original, backup)) == _normalise_settings(remaining):
        return SettingsPlan(real, before, original, backup, drops_backup=True)
    if original is None and not parse_client_settings(remaining):
        return SettingsPlan(real, before, None, backup)
    return SettingsPlan(real, before, _encode_text(before, remaining), backup)


def apply_settings_plan(plan: SettingsPlan) -> None:
    """Apply a plan, unless the file has changed in the meantime."""
    if plan.is_idle:
        return
    if _read_bytes(plan.path) != plan.before:
        raise TurnlogError(f"{plan.path}: modified by another program, so nothing was written; try again")
    mode = plan.path.stat().st_mode & 0o777 if plan.before is not None else 0o600
    if plan.makes_backup and plan.before is not None:
        durable_write.write_durably(plan.backup, plan.before, mode)
    if plan.after is None:
        plan.path.unlink()
    else:
        durable_write.write_durably(plan.path, plan.after, mode)
    if plan.drops_backup:
        plan.backup.unlink(missing_ok=True)


def _resolve_path(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _build_backup_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.before-turnlog")


def _read_bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TurnlogError(f"{path}: {error.strerror}") from None


def _read_text(path: Path) -> tuple[bytes | None, str]:
    """Read a file's bytes, and its text without a byte order mark; raise an error if it doesn't contain settings."""
    data = _read_bytes(path)
    text = _decode_text(data or b"", path)
    with _name_file(path):
        parse_client_settings(text)
    return data, text


@contextmanager
def _name_file(path: Path) -> Iterator[None]:
    """Put the file's name before what is wrong with its settings."""
    try:
        yield
    except TurnlogError as error:
        raise TurnlogError(f"{path}: {error}") from None


def _decode_text(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TurnlogError(f"{path}, line {line}: not UTF-8; correct the file first") from None


def _encode_text(before: bytes | None, text: str) -> bytes:
    has_mark = before is not None and before.startswith(_BYTE_ORDER_MARK.encode())
    return (_BYTE_ORDER_MARK + text if has_mark else text).encode()


def _normalise_settings(text: str) -> str:
    """Return settings in a form that doesn't depend on their layout or on empty hooks."""
    try:
        settings = parse_client_settings(text)
    except TurnlogError:
        return text
    hooks = {event: groups for event, groups in settings.get("hooks", {}).items() if groups}
    normal: dict[str, Any] = {**settings, "hooks": hooks}
    return json.dumps({name: value for name, value in normal.items() if value or name != "hooks"})


def _parse_hook_options(command: str) -> dict[str, list[str]]:
    """Parse the options in a command of turnlog's hook; return an empty dict if somebody has broken the command."""
    try:
        words = shlex.split(command, posix=sys.platform != "win32")
    except ValueError:
        return {}
    options: dict[str, list[str]] = {}
    for name, value in pairwise(words):
        if name in _HOOK_OPTIONS:
            options.setdefault(name, []).append(value)
    return options


def _get_event(pair: tuple[str, HookSetting]) -> str:
    return pair[0]
