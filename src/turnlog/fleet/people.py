"""Whose sessions they are: names from paths or from `people.toml`, and pseudonyms from a secret key.

A lake contains pseudonyms only. The same key gives a person the same pseudonym in every build; without the key, a
pseudonym can't be traced back by trying out names.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import tomllib
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.entries.atomic_file import create_file
from turnlog.errors import TurnlogError, UsageError

KEY_VARIABLE = "TURNLOG_FLEET_KEY"
MIN_KEY_BYTES = 16
_PSEUDONYM = re.compile(r"p-[0-9a-f]{16}")
_PLACEHOLDERS = ("{person}", "{team}", "*")


class FileOwner(NamedTuple):
    """Whose file it is; None if that is unknown."""

    person: str | None
    team: str | None


class PseudonymKey:
    """The secret key of a lake."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @property
    def key_id(self) -> str:
        """Identifies the key without revealing it."""
        return self._sign("key", "")[:16]

    def name_person(self, name: str) -> str:
        """Return the pseudonym of a person; upper and lower case don't matter."""
        return f"p-{self._sign('person', unicodedata.normalize('NFC', name).casefold())[:16]}"

    def number(self, kind: str, text: str) -> int:
        """Return a number for a text, such as the path of a file, that fits into 63 bits."""
        return int(self._sign(kind, text)[:16], 16) >> 1

    def _sign(self, kind: str, text: str) -> str:
        data = f"{kind}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, data, hashlib.sha256).hexdigest()


def is_pseudonym(text: str) -> bool:
    return _PSEUDONYM.fullmatch(text) is not None


def load_key(path: Path | None, default: Path, *, create: bool) -> PseudonymKey:
    """Load the key from a file, from TURNLOG_FLEET_KEY, or from turnlog's data folder, where it can be created."""
    if path is None and (text := os.environ.get(KEY_VARIABLE)):
        return _parse_key(text.encode(), f"${KEY_VARIABLE}")
    place = path or default
    try:
        return _parse_key(place.read_bytes(), str(place))
    except FileNotFoundError:
        if not create:
            raise TurnlogError(f"{place}: no such key; use --key FILE with the key of this lake") from None
    except OSError as error:
        raise TurnlogError(f"{place}: {error.strerror or error}; can't read the key") from None
    place.parent.mkdir(parents=True, exist_ok=True)
    data = secrets.token_hex(32).encode() + b"\n"
    create_file(place, data, root=place.parent)
    return _parse_key(data, str(place))


def _parse_key(data: bytes, place: str) -> PseudonymKey:
    key = data.strip()
    if len(key) < MIN_KEY_BYTES:
        raise UsageError(f"{place}: a key must have at least {MIN_KEY_BYTES} characters")
    return PseudonymKey(key)


class PersonRules:
    """Finds the owner of a file by its path below the source."""

    def __init__(
        self,
        key: PseudonymKey,
        layout: str | None = None,
        people: Mapping[str, Any] | None = None,
        person: str | None = None,
        team: str | None = None,
    ) -> None:
        self._key = key
        self._layout = parse_layout(layout) if layout else []
        self._fixed_person, self._fixed_team = person, team
        self._teams: dict[str, str | None] = {}
        self._names: dict[str, str] = {}
        for name, entry in (people or {}).items():
            self._teams[name] = entry.get("team")
            for alias in (name, *entry.get("also", ())):
                self._names[alias.casefold()] = name

    def find_owner(self, path: str) -> FileOwner:
        """Return the pseudonym and the team of a file's owner."""
        found = self._match_layout(path.split("/")[:-1])
        name = found.get("{person}", self._fixed_person)
        if name is None:
            return FileOwner(None, found.get("{team}", self._fixed_team))
        known = self._names.get(name.casefold(), name)
        team = self._teams.get(known) or found.get("{team}", self._fixed_team)
        return FileOwner(self._key.name_person(known), team)

    def name_person(self, name: str) -> str:
        """Return the pseudonym of a person under any of their names."""
        return self._key.name_person(self._names.get(name.casefold(), name))

    def _match_layout(self, folders: list[str]) -> dict[str, str]:
        if len(folders) < len(self._layout):
            return {}
        found: dict[str, str] = {}
        for expected, folder in zip(self._layout, folders, strict=False):
            if expected in ("{person}", "{team}"):
                found[expected] = folder
            elif expected not in ("*", folder):
                return {}
        return found


def parse_layout(text: str) -> list[str]:
    """Parse a path template such as `{team}/{person}`."""
    parts = text.strip("/").split("/")
    for part in parts:
        if not part or (part not in _PLACEHOLDERS and re.search(r"[{}*]", part)):
            raise UsageError(f"layout {text!r}: each part must be {{person}}, {{team}}, * or the name of a folder")
    if "{person}" not in parts:
        raise UsageError(f"layout {text!r}: it must contain {{person}}, such as {{team}}/{{person}}")
    return parts


def load_people(path: Path) -> dict[str, Any]:
    """Load `people.toml`: a table `[people.NAME]` for each person, with `team` and, as `also`, other names."""
    try:
        document = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise TurnlogError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    people = document.get("people")
    if not isinstance(people, dict) or set(document) != {"people"}:
        raise UsageError(f"{path}: expected tables such as [people.alice], and nothing else")
    seen: dict[str, str] = {}
    for name, entry in people.items():
        if not isinstance(entry, dict) or not set(entry) <= {"team", "also"}:
            raise UsageError(f"{path}: [people.{name}] may contain team and also, and nothing else")
        also = entry.get("also", [])
        if not isinstance(also, list) or not all(isinstance(item, str) for item in [entry.get("team", ""), *also]):
            raise UsageError(f"{path}: [people.{name}]: team must be text, and also must be a list of names")
        for alias in (name, *also):
            other = seen.setdefault(alias.casefold(), name)
            if other != name:
                raise UsageError(f"{path}: the name {alias!r} belongs to both {other!r} and {name!r}")
    return people
