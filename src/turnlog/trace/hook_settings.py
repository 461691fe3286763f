"""Installs turnlog's hooks in Claude Code's settings.json: plans the change, then applies it in one reversible step.

`store.settings_file` keeps a copy of the file before the first change.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.errors import TurnlogError
from turnlog.store.client_settings import (
    HookSetting,
    add_client_hooks,
    iter_our_hooks,
    parse_client_settings,
    remove_client_hooks,
)
from turnlog.store.settings_file import (
    SettingsPlan,
    build_backup_path,
    decode_settings_text,
    encode_settings_text,
    name_settings_file,
    read_settings_bytes,
    read_settings_text,
    resolve_settings_path,
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
    return _find_installed_hooks(parse_client_settings(read_settings_text(resolve_settings_path(path))[1]))


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
    real = resolve_settings_path(path)
    before, text = read_settings_text(real)
    installed = list(iter_our_hooks(parse_client_settings(text), is_our_hook))
    ours: HookSetting = {
        "type": "command",
        "command": build_hook_command(options, since),
        "timeout": HOOK_TIMEOUT_SECONDS,
    }
    backup = build_backup_path(real)
    if sorted(installed, key=_get_event) == sorted(((event, ours) for event in options.events), key=_get_event):
        return SettingsPlan(real, before, before, backup)
    with name_settings_file(real):
        rest = remove_client_hooks(text, is_our_hook) if installed else text
        after = add_client_hooks(rest, dict.fromkeys(options.events, ours))
    return SettingsPlan(
        real, before, encode_settings_text(before, after), backup, makes_backup=before is not None and not installed
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
            real = resolve_settings_path(path)
            data = read_settings_bytes(real)
            return SettingsPlan(real, data, data, build_backup_path(real))
        if rest:
            kept = HookOptions(options.folder, purposes=rest)
            if "trace" in rest:
                kept = kept._replace(targets=installed.targets, config=installed.config)
            return _plan_exact_hooks(path, kept, int(installed.since or 0))
    return _plan_whole_removal(path)


def _plan_whole_removal(path: Path) -> SettingsPlan:
    real = resolve_settings_path(path)
    before, text = read_settings_text(real)
    backup = build_backup_path(real)
    if not any(iter_our_hooks(parse_client_settings(text), is_our_hook)):
        return SettingsPlan(real, before, before, backup)
    with name_settings_file(real):
        remaining = remove_client_hooks(text, is_our_hook)
    original = backup.read_bytes() if backup.is_file() else None
    if original is not None and _normalise_settings(decode_settings_text(original, backup)) == _normalise_settings(
        remaining
    ):
        return SettingsPlan(real, before, original, backup, drops_backup=True)
    if original is None and not parse_client_settings(remaining):
        return SettingsPlan(real, before, None, backup)
    return SettingsPlan(real, before, encode_settings_text(before, remaining), backup)


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
