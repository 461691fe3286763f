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
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from turnlog.agent.permissions.decision import MODES, Mode
from turnlog.agent.small_file import small_file
from turnlog.entries.writer import read_whole, replace
from turnlog.errors import TurnlogError, UsageError

Kind = Literal["allow", "ask", "deny"]
Value = TypeVar("Value")
_OWN = ("local", "project")
_FORBIDDING = ("deny", "ask")
_LARGEST = 16 << 20


class Layer(NamedTuple):
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
    layer: Layer


class Settings(Struct, frozen=True):
    """All layers, the highest first."""

    layers: tuple[Layer, ...] = ()
    is_trusted: bool = True
    warnings: list[str] = []

    def rules(self, kind: Kind) -> list[WrittenRule]:
        """The rules of one kind, with the layer that each is from."""
        layers: Sequence[Layer] = self.trusted_layers() if kind == "allow" else self.layers
        managed = [layer for layer in layers if layer.name == "managed"]
        if kind == "allow" and any(layer.values.get("allowManagedPermissionRulesOnly") is True for layer in managed):
            layers = managed
        return [WrittenRule(text, layer) for layer in layers for text in self._listed(layer, kind)]

    def folders(self) -> list[Path]:
        """Other folders that may be worked in."""
        found = [
            (layer, text) for layer in self.trusted_layers() for text in self._listed(layer, "additionalDirectories")
        ]
        return [Path(os.path.normpath(layer.root / Path(text).expanduser())) for layer, text in found]

    def mode(self) -> Mode | None:
        """The mode to begin with (`permissions.defaultMode`); a project can't choose the one that asks nothing."""
        for layer in self.trusted_layers():
            given = self._permissions(layer).get("defaultMode")
            mode = next((mode for mode in MODES if mode == given), None)
            if mode is not None and (mode != "bypassPermissions" or layer.name not in _OWN):
                return mode
            if given is not None and mode is None:
                self._warn(layer, f"permissions.defaultMode is {str(given)[:40]!r}, which turnlog does not know")
        return None

    def may_bypass(self) -> bool:
        """Whether the mode that asks nothing may be used."""
        found = (self._permissions(layer).get("disableBypassPermissionsMode") for layer in self.layers)
        return "disable" not in found

    def env(self) -> dict[str, str]:
        """Variables for the client and its commands."""
        found: dict[str, str] = {}
        for layer in reversed(self.trusted_layers()):
            given = layer.values.get("env", {})
            if not isinstance(given, Mapping):
                self._warn(layer, "env is no object")
                continue
            found |= {name: value for name, value in given.items() if isinstance(value, str)}
        return found

    def value(self, name: str, kind: type[Value]) -> Value | None:
        """A single value (`model`, `cleanupPeriodDays`), if it is of the type that it should be."""
        for layer in self.trusted_layers():
            value = layer.values.get(name)
            if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
                return value
            if value is not None:
                self._warn(layer, f"{name} is no {kind.__name__}")
        return None

    def with_flags(self, values: Mapping[str, Any], root: Path) -> Settings:
        """The same with values that were given later."""
        layer = Layer("flags", "the answers that were given", values, root)
        return Settings((layer, *self.layers), self.is_trusted, self.warnings)

    def trusted_layers(self) -> list[Layer]:
        """The layers whose values count: the project's own only in a folder that is trusted."""
        return [layer for layer in self.layers if self.is_trusted or layer.name not in _OWN]

    def _permissions(self, layer: Layer) -> Mapping[str, Any]:
        found: Mapping[str, Any] = layer.values.get("permissions") or {}
        return found

    def _listed(self, layer: Layer, name: str) -> Iterator[str]:
        found = self._permissions(layer).get(name) or []
        if isinstance(found, str) and name in _FORBIDDING:  # what forbids must not be lost for want of brackets
            found = [found]
        if not isinstance(found, Sequence) or isinstance(found, str):
            self._warn(layer, f"permissions.{name} is no list")
            return
        for item in found:
            if isinstance(item, str) and item.strip():
                yield item.strip()
            else:
                self._warn(layer, f"permissions.{name} holds {str(item)[:40]!r}, which is no rule")

    def _warn(self, layer: Layer, text: str) -> None:
        warning = f"{layer.where}: {text}; it is ignored"
        if warning not in self.warnings:
            self.warnings.append(warning)


def load(
    root: Path,
    config_dir: Path,
    *,
    is_trusted: bool,
    flags: Sequence[str | Mapping[str, Any] | Layer] = (),
    managed: Path | None = None,
) -> Settings:
    """Read all layers for a folder; a flag is a file, a text in JSON, values, or was read before."""
    managed = managed or managed_file()
    layers = [_file("managed", path, root) for path in [*_further(managed), managed]]
    layers += [flag if isinstance(flag, Layer) else given(flag, root) for flag in reversed(flags)]
    layers.append(_file("local", root / ".claude" / "settings.local.json", root))
    layers.append(_file("project", root / ".claude" / "settings.json", root))
    layers.append(_file("user", config_dir / "settings.json", config_dir))
    return Settings(tuple(layer for layer in layers if layer), is_trusted, [])


def managed_file(platform: str | None = None) -> Path:
    """Where the machine's administrator puts settings."""
    folders = {
        "win32": r"C:\Program Files\ClaudeCode",
        "darwin": "/Library/Application Support/ClaudeCode",
    }
    return Path(folders.get(platform or sys.platform, "/etc/claude-code")) / "managed-settings.json"


def _further(managed: Path) -> list[Path]:
    """Files that add to the administrator's settings; the last by name counts most."""
    return sorted(managed.with_suffix(".d").glob("*.json"), reverse=True)


def _file(name: str, path: Path, root: Path) -> Layer | None:
    values = _values(lambda: small_file(path, _LARGEST))
    if isinstance(values, str):
        theirs = "the administrator of this machine must put it right"
        own = "put it right or move it away, for what it forbids would be lost"
        raise UsageError(f"{path}: {values}; {theirs if name == 'managed' else own}")
    return None if values is None else Layer(name, str(path), values, root)


def _values(read: Callable[[], bytes]) -> Mapping[str, Any] | str | None:
    """What a text holds, or what is wrong with it, or with its rules that forbid; None if there is none."""
    try:
        values = decoded(read())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return error.strerror or "it can't be read"
    permissions = (values.get("permissions") or {}) if isinstance(values, Mapping) else {}
    if not isinstance(permissions, Mapping):
        return "permissions is no object"
    wrong = [name for name in _FORBIDDING if not isinstance(permissions.get(name) or [], list | str)]
    return f"permissions.{wrong[0]} is no list" if wrong else values


def given(flag: str | Mapping[str, Any], root: Path) -> Layer:
    """What was given when the client was started: that holds, or nothing is done."""
    if isinstance(flag, Mapping):
        return Layer("flags", "the command line", flag, root)
    is_text = flag.lstrip().startswith("{")
    where = "--settings" if is_text else f"--settings {flag}"
    found = _values(
        lambda: flag.encode("utf-8", "surrogatepass") if is_text else _piped(root / Path(flag).expanduser())
    )
    if not isinstance(found, Mapping):
        raise UsageError(f"{where}: {found or 'there is no such file'}")
    return Layer("flags", where, found, root)


def _piped(path: Path) -> bytes:
    """What a file holds that a person named: it may be a pipe (`<(…)`)."""
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise OSError(errno.EFBIG, "it is too large")
    return data


def decoded(data: bytes) -> Mapping[str, Any] | str:
    """The object that a text holds, or what is wrong with it."""
    try:
        found = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf").strip() or b"{}")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return _trouble(data, error)
    return found if isinstance(found, dict) else "it holds no object"


def _trouble(data: bytes, error: Exception) -> str:
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


def add_rules(path: Path, kind: Kind, rules: Sequence[str], *, root: Path) -> None:
    """Add rules to a file of settings, and leave all else in it as it is; the file must stay within `root`."""

    def added(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
        permissions = values.get("permissions", {})
        listed = permissions.get(kind, []) if isinstance(permissions, dict) else None
        if not isinstance(listed, list):
            return None
        new = [rule for rule in dict.fromkeys(rules) if rule not in listed]
        return {**values, "permissions": {**permissions, kind: [*listed, *new]}} if new else values

    path.parent.mkdir(parents=True, exist_ok=True)
    rewrite(path, added, f"permissions.{kind} is no list", root=root)


def rewrite(
    path: Path, change: Callable[[Mapping[str, Any]], Mapping[str, Any] | None], trouble: str, *, root: Path
) -> None:
    """Change the object that a file holds, in the file's own style; nothing is written if it is not as it should be."""
    old = read_whole(path) if path.exists() else None
    text = old.data.decode("utf-8-sig", "replace") if old else "\n"
    values = decoded(old.data) if old else {}
    changed = values if isinstance(values, str) else change(values)
    if changed is None or isinstance(changed, str):
        raise TurnlogError(f"{path}: {changed or trouble}; put it right first, nothing was written")
    if changed == values:
        return
    indent = re.search(r"\n([ \t]+)\"", text)
    data = json.dumps(changed, indent=indent[1] if indent else 2, ensure_ascii=False)
    data += "\n" if text.endswith("\n") else ""
    replace(path, data.encode("utf-8", "surrogatepass"), root=root, expected=old.checkpoint if old else None)
