"""Claude Code's settings, layer by layer: managed > flags > local > project > user.

    managed   set by the machine's administrator
    flags     from the command line
    local     .claude/settings.local.json
    project   .claude/settings.json
    user      <config>/settings.json

Lists from all layers are joined; for other values, the highest layer takes precedence. If a file, or its deny or ask
rules, can't be read, turnlog does not start, so that no prohibition is lost (Claude Code continues without the file).
Other malformed values are ignored with a warning; unknown settings are ignored. The project's own files (local and
project) come with a checkout: until the folder is trusted, they can forbid actions but not allow them, and their other
values have no effect. `--setting-sources` can leave out the user, project and local layers.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import Struct

from turnlog.agent.small_file import read_small_file
from turnlog.entries.atomic_file import read_whole_file, replace_file
from turnlog.errors import TurnlogError, UsageError

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk"]
UNSUPPORTED_AUTO_MODE = "the permission mode auto needs a classifier of calls, which turnlog does not have"
PERMISSION_MODES: tuple[PermissionMode, ...] = get_args(PermissionMode)
RuleKind = Literal["allow", "ask", "deny"]
SETTING_SOURCES = ("user", "project", "local")
"""The places that `--setting-sources` can choose from."""
Value = TypeVar("Value")
PROGRAM_LAYER = "apply_flag_settings"
"""Where the settings come from that a program sets while the session runs."""
_PROJECT_LAYERS = ("local", "project")
_FORBIDDING_KINDS = ("deny", "ask")
_MAX_SETTINGS_BYTES = 16 << 20


class SettingsLayer(NamedTuple):
    """The settings from one source."""

    name: str
    """managed, flags, local, project or user."""
    where: str
    """The file or the command-line option."""
    values: Mapping[str, Any]
    root: Path
    """The folder that `/` stands for in the layer's path rules."""


class WrittenRule(NamedTuple):
    """A rule as written in the settings."""

    text: str
    layer: SettingsLayer


class Settings(Struct, frozen=True):
    """All layers of settings, highest first."""

    layers: tuple[SettingsLayer, ...] = ()
    is_trusted: bool = True
    warnings: list[str] = []

    def list_rules(self, kind: RuleKind) -> list[WrittenRule]:
        """Return the rules of one kind, each with its layer."""
        layers: Sequence[SettingsLayer] = self.list_trusted_layers() if kind == "allow" else self.layers
        managed = [layer for layer in layers if layer.name == "managed"]
        if kind == "allow" and any(layer.values.get("allowManagedPermissionRulesOnly") is True for layer in managed):
            layers = managed
        return [WrittenRule(text, layer) for layer in layers for text in self._list_permission_values(layer, kind)]

    def list_folders(self) -> list[Path]:
        """Return the additional working folders."""
        entries = [
            (layer, text)
            for layer in self.list_trusted_layers()
            for text in self._list_permission_values(layer, "additionalDirectories")
        ]
        return [Path(os.path.normpath(layer.root / Path(text).expanduser())) for layer, text in entries]

    def get_default_mode(self) -> PermissionMode | None:
        """Return the initial permission mode (`permissions.defaultMode`); a project can't choose bypassPermissions."""
        for layer in self.list_trusted_layers():
            value = self._get_permissions(layer).get("defaultMode")
            mode = next((mode for mode in PERMISSION_MODES if mode == value), None)
            if mode is not None and (mode != "bypassPermissions" or layer.name not in _PROJECT_LAYERS):
                return mode
            if value == "auto":
                self._add_warning(layer, UNSUPPORTED_AUTO_MODE, ", so the session starts in the default mode")
                return "default"
            if value is not None and mode is None:
                self._add_warning(layer, f"unknown permissions.defaultMode {str(value)[:40]!r}")
        return None

    def may_bypass_permissions(self) -> bool:
        values = (self._get_permissions(layer).get("disableBypassPermissionsMode") for layer in self.layers)
        return "disable" not in values

    def collect_variables(self) -> dict[str, str]:
        """Return environment variables for the client and its commands."""
        variables: dict[str, str] = {}
        for layer in reversed(self.list_trusted_layers()):
            values = layer.values.get("env", {})
            if not isinstance(values, Mapping):
                self._add_warning(layer, "env is not an object")
                continue
            variables |= {name: value for name, value in values.items() if isinstance(value, str)}
        return variables

    def get_value(self, name: str, kind: type[Value]) -> Value | None:
        """Return a single value (`model`, `cleanupPeriodDays`) if it has the right type."""
        for layer in self.list_trusted_layers():
            value = layer.values.get(name)
            if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
                return value
            if value is not None:
                self._add_warning(layer, f"{name} is not of type {kind.__name__}")
        return None

    def with_flags(self, values: Mapping[str, Any], root: Path) -> Settings:
        """Return the same settings with the given values as the highest layer."""
        layer = SettingsLayer("flags", "the answers in this session", values, root)
        return Settings((layer, *self.layers), self.is_trusted, self.warnings)

    def with_local_value(self, name: str, value: Any, path: Path, root: Path) -> Settings:
        """Return the same settings with a value that was written to the folder's local settings."""
        above = [layer for layer in self.layers if layer.name not in ("local", "project", "user")]
        below = [layer for layer in self.layers if layer.name in ("project", "user")]
        before = next((layer for layer in self.layers if layer.name == "local"), None)
        layer = before or SettingsLayer("local", str(path), {}, root)
        layers = (*above, layer._replace(values={**layer.values, name: value}), *below)
        return Settings(layers, self.is_trusted, self.warnings)

    def with_program_values(self, values: Mapping[str, Any], root: Path) -> Settings:
        """Return the same settings with what a program has set in place of what it had set before."""
        others = [layer for layer in self.layers if layer.where != PROGRAM_LAYER]
        above = [layer for layer in others if layer.name == "managed"]
        layer = SettingsLayer("flags", PROGRAM_LAYER, values, root)
        below = [layer for layer in others if layer.name != "managed"]
        return Settings((*above, layer, *below), self.is_trusted, self.warnings)

    def list_trusted_layers(self) -> list[SettingsLayer]:
        """Return the layers that take effect; those of the project are included only if the folder is trusted."""
        return [layer for layer in self.layers if self.is_trusted or layer.name not in _PROJECT_LAYERS]

    def _get_permissions(self, layer: SettingsLayer) -> Mapping[str, Any]:
        found: Mapping[str, Any] = layer.values.get("permissions") or {}
        return found

    def _list_permission_values(self, layer: SettingsLayer, name: str) -> Iterator[str]:
        found = self._get_permissions(layer).get(name) or []
        if (
            isinstance(found, str) and name in _FORBIDDING_KINDS
        ):  # a prohibition must not be lost because of missing brackets
            found = [found]
        if not isinstance(found, Sequence) or isinstance(found, str):
            self._add_warning(layer, f"permissions.{name} is not a list")
            return
        for item in found:
            if isinstance(item, str) and item.strip():
                yield item.strip()
            else:
                self._add_warning(layer, f"permissions.{name} contains {str(item)[:40]!r}, which is not a rule")

    def _add_warning(self, layer: SettingsLayer, text: str, instead: str = "; it is ignored") -> None:
        warning = f"{layer.where}: {text}{instead}"
        if warning not in self.warnings:
            self.warnings.append(warning)


def load_settings(
    root: Path,
    config_dir: Path,
    *,
    is_trusted: bool,
    flags: Sequence[str | Mapping[str, Any] | SettingsLayer] = (),
    managed: Path | None = None,
    sources: Collection[str] = SETTING_SOURCES,
) -> Settings:
    """Read all layers for a folder; a flag is a path, JSON text, values, or a layer that has already been read."""
    managed = managed or find_managed_file()
    layers = [_read_layer_file("managed", path, root) for path in [*_list_managed_additions(managed), managed]]
    layers += [flag if isinstance(flag, SettingsLayer) else read_flag_layer(flag, root) for flag in reversed(flags)]
    places = (
        ("local", root / ".claude" / "settings.local.json", root),
        ("project", root / ".claude" / "settings.json", root),
        ("user", config_dir / "settings.json", config_dir),
    )
    layers += [_read_layer_file(*place) for place in places if place[0] in sources]
    return Settings(tuple(layer for layer in layers if layer), is_trusted, [])


def find_managed_file(platform: str | None = None) -> Path:
    """Return the path of the administrator's settings."""
    folders = {
        "win32": r"C:\Program Files\ClaudeCode",
        "darwin": "/Library/Application Support/ClaudeCode",
    }
    return Path(folders.get(platform or sys.platform, "/etc/claude-code")) / "managed-settings.json"


def _list_managed_additions(managed: Path) -> list[Path]:
    """Return the files that extend the administrator's settings, highest priority (last by name) first."""
    return sorted(managed.with_suffix(".d").glob("*.json"), reverse=True)


def _read_layer_file(name: str, path: Path, root: Path) -> SettingsLayer | None:
    values = _read_values(lambda: read_small_file(path, _MAX_SETTINGS_BYTES))
    if isinstance(values, str):
        administrator_remedy = "the administrator of this machine must fix it"
        remedy = "fix it or move it aside; until then, turnlog can't apply its restrictions"
        raise UsageError(f"{path}: {values}; {administrator_remedy if name == 'managed' else remedy}")
    return None if values is None else SettingsLayer(name, str(path), values, root)


def _read_values(read: Callable[[], bytes]) -> Mapping[str, Any] | str | None:
    """Return the parsed settings, a description of what is wrong with them, or None if the file does not exist."""
    try:
        values = decode_settings(read())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return error.strerror or "not readable"
    permissions = (values.get("permissions") or {}) if isinstance(values, Mapping) else {}
    if not isinstance(permissions, Mapping):
        return "permissions is not an object"
    malformed = [name for name in _FORBIDDING_KINDS if not isinstance(permissions.get(name) or [], list | str)]
    return f"permissions.{malformed[0]} is not a list" if malformed else values


def read_flag_layer(flag: str | Mapping[str, Any], root: Path) -> SettingsLayer:
    """Read settings from the command line; raise UsageError if they can't be read."""
    if isinstance(flag, Mapping):
        return SettingsLayer("flags", "the command line", flag, root)
    is_text = flag.lstrip().startswith("{")
    where = "--settings" if is_text else f"--settings {flag}"
    values = _read_values(
        lambda: flag.encode("utf-8", "surrogatepass") if is_text else _read_named_file(root / Path(flag).expanduser())
    )
    if not isinstance(values, Mapping):
        raise UsageError(f"{where}: {values or 'no such file'}")
    return SettingsLayer("flags", where, values, root)


def _read_named_file(path: Path) -> bytes:
    """Read a file that the person named, which may be a pipe (`<(…)`)."""
    with path.open("rb") as file:
        data = file.read(_MAX_SETTINGS_BYTES + 1)
    if len(data) > _MAX_SETTINGS_BYTES:
        raise OSError(errno.EFBIG, "too large")
    return data


def decode_settings(data: bytes) -> Mapping[str, Any] | str:
    """Parse a JSON object, or return a description of what is wrong with it."""
    try:
        found = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf").strip() or b"{}")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return _describe_json_error(data, error)
    return found if isinstance(found, dict) else "not a JSON object"


def _describe_json_error(data: bytes, error: Exception) -> str:
    """Describe why text is not valid JSON, naming the line."""
    try:
        json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        return f"line {data.count(bytes([10]), 0, problem.start) + 1}: not valid UTF-8"
    except json.JSONDecodeError as problem:
        return f"line {problem.lineno}: not valid JSON ({problem.msg})"
    except (RecursionError, ValueError):
        pass
    return f"not valid JSON ({error})"


def add_rules(path: Path, kind: RuleKind, rules: Sequence[str], *, root: Path) -> None:
    """Add rules to a settings file without changing anything else in it; the file must be inside `root`."""

    def add_to_list(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
        permissions = values.get("permissions", {})
        listed = permissions.get(kind, []) if isinstance(permissions, dict) else None
        if not isinstance(listed, list):
            return None
        new = [rule for rule in dict.fromkeys(rules) if rule not in listed]
        return {**values, "permissions": {**permissions, kind: [*listed, *new]}} if new else values

    path.parent.mkdir(parents=True, exist_ok=True)
    rewrite_settings(path, add_to_list, f"permissions.{kind} is not a list", root=root)


def rewrite_settings(
    path: Path, change: Callable[[Mapping[str, Any]], Mapping[str, Any] | None], trouble: str, *, root: Path
) -> None:
    """Change the object in a file, keeping the file's style; refuse to change a malformed file."""
    old = read_whole_file(path) if path.exists() else None
    text = old.data.decode("utf-8-sig", "replace") if old else "\n"
    values = decode_settings(old.data) if old else {}
    changed = values if isinstance(values, str) else change(values)
    if changed is None or isinstance(changed, str):
        raise TurnlogError(f"{path}: {changed or trouble}, so nothing was written; fix the file first")
    if changed == values:
        return
    indent = re.search(r"\n([ \t]+)\"", text)
    data = json.dumps(changed, indent=indent[1] if indent else 2, ensure_ascii=False)
    data += "\n" if text.endswith("\n") else ""
    replace_file(path, data.encode("utf-8", "surrogatepass"), root=root, expected=old.checkpoint if old else None)
