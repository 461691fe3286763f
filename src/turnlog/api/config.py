"""Settings: flags take precedence over the environment, and the environment over one optional file, `config.toml`.

    setting        environment             file
    config_dirs    TURNLOG_CONFIG_DIRS     config_dirs = ["~/old/.claude"]      more Claude config folders
    gap_minutes    TURNLOG_GAP_MINUTES     gap_minutes = 5                      a longer pause counts as a resume
    color          NO_COLOR, FORCE_COLOR   color = true                         default: only on a terminal
    index_in_background                    index_in_background = false          read everything before answering
    presets                                [presets.mine] base = "standard"     custom strip presets; see docs/strip.md
    trace                                  [trace.targets.mine] endpoint = …    where spans go; see docs/trace.md
    notify                                 [notify.channels.desktop]            notifications; see docs/notify.md

TURNLOG_CONFIG sets a different file, and TURNLOG_HOME sets a different data folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.errors import UsageError

# name in the file -> what it must be
_EXPECTED_VALUES = {
    "config_dirs": "a list of folders",
    "gap_minutes": "a whole number of minutes, 1 or more",
    "color": "true or false",
    "index_in_background": "true or false",
    "presets": "tables such as [presets.mine]",
    "trace": "a table with targets such as [trace.targets.mine]",
    "notify": "a table with channels such as [notify.channels.desktop]",
}


class Config(NamedTuple):
    """The user's settings, or the defaults."""

    config_dirs: tuple[str, ...] = ()
    """Claude config folders in addition to the usual one."""
    gap_minutes: int = 5
    """A prompt after a pause of more than this many minutes resumes the session rather than starting a new round."""
    color: bool | None = None
    """Whether to colour the output; None means only on a terminal."""
    presets: Mapping[str, Mapping[str, Any]] = {}
    """The user's own strip presets, by name."""
    trace: Mapping[str, Any] = {}
    """Where spans are sent and how much they contain; `turnlog.trace.targets` checks it."""
    notify: Mapping[str, Any] = {}
    """Which notifications are sent, and through which channels; `turnlog.notify.settings` checks it."""
    index_in_background: bool = True
    """Whether a large amount of new text may be indexed by a background process after the conversations are."""


def load_config(**flags: Any) -> Config:
    """Read the settings; flags (if not None) take precedence over the environment and the file."""
    chosen = {name: value for name, value in flags.items() if value is not None}
    return Config(**{**_from_file(), **_from_environment(), **chosen})


def config_file() -> Path:
    """Return the path of the settings file, whether it exists or not."""
    if named := os.environ.get("TURNLOG_CONFIG"):
        return Path(named).expanduser()
    return _find_own_folder("XDG_CONFIG_HOME", ".config") / "config.toml"


def data_dir() -> Path:
    """Return the folder for turnlog's own data, without creating it."""
    if named := os.environ.get("TURNLOG_HOME"):
        return Path(named).expanduser()
    return _find_own_folder("XDG_DATA_HOME", ".local/share")


def trace_dir() -> Path:
    """Return the folder for the tracing outbox and the hook's requests."""
    return data_dir() / "trace"


def _find_own_folder(variable: str, usual: str) -> Path:
    # The same as platformdirs, whose import takes as long as starting the interpreter.
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "turnlog"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "turnlog"
    base = os.environ.get(variable, "")
    return (Path(base) if os.path.isabs(base) else Path.home() / usual) / "turnlog"  # noqa: PTH117 - no Path yet


def _from_environment() -> dict[str, Any]:
    found: dict[str, Any] = {}
    if folders := os.environ.get("TURNLOG_CONFIG_DIRS"):
        found["config_dirs"] = _expand_folders(folders.split(os.pathsep))
    if minutes := os.environ.get("TURNLOG_GAP_MINUTES"):
        if not minutes.isdecimal() or int(minutes) < 1:
            raise UsageError(f"TURNLOG_GAP_MINUTES={minutes}: expected {_EXPECTED_VALUES['gap_minutes']}")
        found["gap_minutes"] = int(minutes)
    if os.environ.get("NO_COLOR"):
        found["color"] = False
    elif os.environ.get("FORCE_COLOR"):
        found["color"] = True
    return found


def _from_file() -> dict[str, Any]:
    path = config_file()
    found: dict[str, Any] = {}
    for key, value in _parse_file(path).items():
        if key not in _EXPECTED_VALUES:
            print(f"turnlog: warning: {path}: unknown key {key!r}{_suggest_key(key)}", file=sys.stderr)
        elif not _is_valid(key, value):
            raise UsageError(f"{path}: {key} = {value!r}: expected {_EXPECTED_VALUES[key]}")
        else:
            found[key] = _expand_folders(value) if key == "config_dirs" else value
    return found


def _parse_file(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        if os.environ.get("TURNLOG_CONFIG"):
            raise UsageError(f"{path}: no such file; correct or unset TURNLOG_CONFIG") from None
        return {}
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; can't read the settings file") from error
    import tomllib

    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}, line {line}: not UTF-8; save the file as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}; correct the file or move it aside") from error


def _is_valid(key: str, value: object) -> bool:
    if key == "config_dirs":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if key == "gap_minutes":
        return type(value) is int and value >= 1
    if key == "presets":
        return isinstance(value, dict) and all(isinstance(item, dict) for item in value.values())
    return isinstance(value, dict if key in ("trace", "notify") else bool)


def _expand_folders(names: list[str]) -> tuple[str, ...]:
    return tuple(str(Path(name).expanduser()) for name in names if name)


def _suggest_key(key: str) -> str:
    from difflib import get_close_matches

    return "".join(f"; did you mean {name!r}?" for name in get_close_matches(key, _EXPECTED_VALUES, 1))
