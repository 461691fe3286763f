"""Claude Code's settings, layer by layer: managed > flags > local > project > user.

    managed   the machine's administrator        flags     given when the client was started
    local     .claude/settings.local.json        project   .claude/settings.json
    user      <config>/settings.json

Lists of all layers are joined; of other values the highest layer's counts. A file that can't be read, or whose rules
that forbid can't be, ends the start: what it forbids must not be lost (the real client goes on without the file). What
else is malformed is left out with a warning, and what is not known spoils nothing. The project's own files (local and
project) come with a checkout: until the folder is trusted they can forbid, but not allow, and none of their other
values count.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import Struct

from turnlog.agent.small_file import read_small_file
from turnlog.entries.atomic_file import read_whole_file, replace_file
from turnlog.errors import TurnlogError, UsageError

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk"]
PERMISSION_MODES: tuple[PermissionMode, ...] = get_args(PermissionMode)
RuleKind = Literal["allow", "ask", "deny"]
Value = TypeVar("Value")
_PROJECT_LAYERS = ("local", "project")
_FORBIDDING_KINDS = ("deny", "ask")
_MAX_SETTINGS_BYTES = 16 << 20


class SettingsLayer(NamedTuple):
    """The settings of one place."""

    name: str
    """managed, flags, local, project or user."""
    where: str
    """The file, or the words with which they were given."""
    values: Mapping[str, Any]
    root: Path
    """What `/` stands for in its rules for paths."""


class WrittenRule(NamedTuple):
    """A rule as it stands in the settings."""

    text: str
    layer: SettingsLayer


class Settings(Struct, frozen=True):
    """All layers, the highest first."""

    layers: tuple[SettingsLayer, ...] = ()
    is_trusted: bool = True
    warnings: list[str] = []

    def list_rules(self, kind: RuleKind) -> list[WrittenRule]:
        """The rules of one kind, with the layer that each is from."""
        layers: Sequence[SettingsLayer] = self.list_trusted_layers() if kind == "allow" else self.layers
        managed = [layer for layer in layers if layer.name == "managed"]
        if kind == "allow" and any(layer.values.get("allowManagedPermissionRulesOnly") is True for layer in managed):
            layers = managed
        return [WrittenRule(text, layer) for layer in layers for text in self._list_permission_values(layer, kind)]

    def list_folders(self) -> list[Path]:
        """Other folders that may be worked in."""
        found = [
            (layer, text)
            for layer in self.list_trusted_layers()
            for text in self._list_permission_values(layer, "additionalDirectories")
        ]
        return [Path(os.path.normpath(layer.root / Path(text).expanduser())) for layer, text in found]

    def get_default_mode(self) -> PermissionMode | None:
        """The mode to begin with (`permissions.defaultMode`); a project can't choose the one that asks nothing."""
        for layer in self.list_trusted_layers():
            given = self._get_permissions(layer).get("defaultMode")
            mode = next((mode for mode in PERMISSION_MODES if mode == given), None)
            if mode is not None and (mode != "bypassPermissions" or layer.name not in _PROJECT_LAYERS):
                return mode
            if given is not None and mode is None:
                self._add_warning(layer, f"permissions.defaultMode is {str(given)[:40]!r}, which turnlog does not know")
        return None

    def may_bypass_permissions(self) -> bool:
        """Whether the mode that asks nothing may be used."""
        found = (self._get_permissions(layer).get("disableBypassPermissionsMode") for layer in self.layers)
        return "disable" not in found

    def collect_variables(self) -> dict[str, str]:
        """Variables for the client and its commands."""
        found: dict[str, str] = {}
        for layer in reversed(self.list_trusted_layers()):
            given = layer.values.get("env", {})
            if not isinstance(given, Mapping):
                self._add_warning(layer, "env is no object")
                continue
            found |= {name: value for name, value in given.items() if isinstance(value, str)}
        return found

    def get_value(self, name: str, kind: type[Value]) -> Value | None:
        """A single value (`model`, `cleanupPeriodDays`), if it is of the type that it should be."""
        for layer in self.list_trusted_layers():
            value = layer.values.get(name)
            if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
                return value
            if value is not None:
                self._add_warning(layer, f"{name} is no {kind.__name__}")
        return None

    def with_flags(self, values: Mapping[str, Any], root: Path) -> Settings:
        """The same with values that were given later."""
        layer = SettingsLayer("flags", "the answers that were given", values, root)
        return Settings((layer, *self.layers), self.is_trusted, self.warnings)

    def list_trusted_layers(self) -> list[SettingsLayer]:
        """The layers whose values count: the project's own only in a folder that is trusted."""
        return [layer for layer in self.layers if self.is_trusted or layer.name not in _PROJECT_LAYERS]

    def _get_permissions(self, layer: SettingsLayer) -> Mapping[str, Any]:
        found: Mapping[str, Any] = layer.values.get("permissions") or {}
        return found

    def _list_permission_values(self, layer: SettingsLayer, name: str) -> Iterator[str]:
        found = self._get_permissions(layer).get(name) or []
        if isinstance(found, str) and name in _FORBIDDING_KINDS:  # what forbids must not be lost for want of brackets
            found = [found]
        if not isinstance(found, Sequence) or isinstance(found, str):
            self._add_warning(layer, f"permissions.{name} is no list")
            return
        for item in found:
            if isinstance(item, str) and item.strip():
                yield item.strip()
            else:
                self._add_warning(layer, f"permissions.{name} holds {str(item)[:40]!r}, which is no rule")

    def _add_warning(self, layer: SettingsLayer, text: str) -> None:
        warning = f"{layer.where}: {text}; it is ignored"
        if warning not in self.warnings:
            self.warnings.append(warning)


def load_settings(
    root: Path,
    config_dir: Path,
    *,
    is_trusted: bool,
    flags: Sequence[str | Mapping[str, Any] | SettingsLayer] = (),
    managed: Path | None = None,
) -> Settings:
    """Read all layers for a folder; a flag is a file, a text in JSON, values, or was read before."""
    managed = managed or find_managed_file()
    layers = [_read_layer_file("managed", path, root) for path in [*_list_managed_additions(managed), managed]]
    layers += [flag if isinstance(flag, SettingsLayer) else read_flag_layer(flag, root) for flag in reversed(flags)]
    layers.append(_read_layer_file("local", root / ".claude" / "settings.local.json", root))
    layers.append(_read_layer_file("project", root / ".claude" / "settings.json", root))
    layers.append(_read_layer_file("user", config_dir / "settings.json", config_dir))
    return Settings(tuple(layer for layer in layers if layer), is_trusted, [])


def find_managed_file(platform: str | None = None) -> Path:
    """Where the machine's administrator puts settings."""
    folders = {
        "win32": r"C:\Program Files\ClaudeCode",
        "darwin": "/Library/Application Support/ClaudeCode",
    }
    return Path(folders.get(platform or sys.platform, "/etc/claude-code")) / "managed-settings.json"


def _list_managed_additions(managed: Path) -> list[Path]:
    """Files that add to the administrator's settings; the last by name counts most."""
    return sorted(managed.with_suffix(".d").glob("*.json"), reverse=True)


def _read_layer_file(name: str, path: Path, root: Path) -> SettingsLayer | None:
    values = _read_values(lambda: read_small_file(path, _MAX_SETTINGS_BYTES))
    if isinstance(values, str):
        theirs = "the administrator of this machine must put it right"
        own = "put it right or move it away, for what it forbids would be lost"
        raise UsageError(f"{path}: {values}; {theirs if name == 'managed' else own}")
    return None if values is None else SettingsLayer(name, str(path), values, root)


def _read_values(read: Callable[[], bytes]) -> Mapping[str, Any] | str | None:
    """What a text holds, or what is wrong with it, or with its rules that forbid; None if there is none."""
    try:
        values = decode_settings(read())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return error.strerror or "it can't be read"
    permissions = (values.get("permissions") or {}) if isinstance(values, Mapping) else {}
    if not isinstance(permissions, Mapping):
        return "permissions is no object"
    wrong = [name for name in _FORBIDDING_KINDS if not isinstance(permissions.get(name) or [], list | str)]
    return f"permissions.{wrong[0]} is no list" if wrong else values


def read_flag_layer(flag: str | Mapping[str, Any], root: Path) -> SettingsLayer:
    """What was given when the client was started: that holds, or nothing is done."""
    if isinstance(flag, Mapping):
        return SettingsLayer("flags", "the command line", flag, root)
    is_text = flag.lstrip().startswith("{")
    where = "--settings" if is_text else f"--settings {flag}"
    found = _read_values(
        lambda: flag.encode("utf-8", "surrogatepass") if is_text else _read_named_file(root / Path(flag).expanduser())
    )
    if not isinstance(found, Mapping):
        raise UsageError(f"{where}: {found or 'there is no such file'}")
    return SettingsLayer("flags", where, found, root)


def _read_named_file(path: Path) -> bytes:
    """What a file holds that a person named: it may be a pipe (`<(…)`)."""
    with path.open("rb") as file:
        data = file.read(_MAX_SETTINGS_BYTES + 1)
    if len(data) > _MAX_SETTINGS_BYTES:
        raise OSError(errno.EFBIG, "it is too large")
    return data


def decode_settings(data: bytes) -> Mapping[str, Any] | str:
    """The object that a text holds, or what is wrong with it."""
    try:
        found = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf").strip() or b"{}")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return _describe_json_error(data, error)
    return found if isinstance(found, dict) else "it holds no object"


def _describe_json_error(data: bytes, error: Exception) -> str:
    """Why a text is no JSON, and in which line."""
    try:
        json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as wrong:
        return f"line {data.count(bytes([10]), 0, wrong.start) + 1}: no UTF-8"
    except json.JSONDecodeError as wrong:
        return f"line {wrong.lineno}: no JSON ({wrong.msg})"
    except (RecursionError, ValueError):
        pass
    return f"no JSON ({error})"


def add_rules(path: Path, kind: RuleKind, rules: Sequence[str], *, root: Path) -> None:
    """Add rules to a file of settings, and leave all else in it as it is; the file must stay within `root`."""

    def add_to_list(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
        permissions = values.get("permissions", {})
        listed = permissions.get(kind, []) if isinstance(permissions, dict) else None
        if not isinstance(listed, list):
            return None
        new = [rule for rule in dict.fromkeys(rules) if rule not in listed]
        return {**values, "permissions": {**permissions, kind: [*listed, *new]}} if new else values

    path.parent.mkdir(parents=True, exist_ok=True)
    rewrite_settings(path, add_to_list, f"permissions.{kind} is no list", root=root)


def rewrite_settings(
    path: Path, change: Callable[[Mapping[str, Any]], Mapping[str, Any] | None], trouble: str, *, root: Path
) -> None:
    """Change the object that a file holds, in the file's own style; nothing is written if it is not as it should be."""
    old = read_whole_file(path) if path.exists() else None
    text = old.data.decode("utf-8-sig", "replace") if old else "\n"
    values = decode_settings(old.data) if old else {}
    changed = values if isinstance(values, str) else change(values)
    if changed is None or isinstance(changed, str):
        raise TurnlogError(f"{path}: {changed or trouble}; put it right first, nothing was written")
    if changed == values:
        return
    indent = re.search(r"\n([ \t]+)\"", text)
    data = json.dumps(changed, indent=indent[1] if indent else 2, ensure_ascii=False)
    data += "\n" if text.endswith("\n") else ""
    replace_file(path, data.encode("utf-8", "surrogatepass"), root=root, expected=old.checkpoint if old else None)
