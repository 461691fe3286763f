"""`turnlog strip --fit`: the mildest stripping after which the next request fits a share of the window, or a number.

The rungs go from the mildest to the strongest, each taking away at least what the one before does. A rung is written as
options of `turnlog clone`, so that what is chosen can be pasted, and means the same there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from turnlog.cli.config import Config
from turnlog.cli.edit.strip_options import parse_strip_options
from turnlog.errors import Refused, UsageError
from turnlog.session.session import Session
from turnlog.session.window.filling import compute_window_fill
from turnlog.session.window.presets import estimate_strip_effect
from turnlog.session.window.wishes import StripOptions

_FLAG_KEYS = "noise duplicates stale_reads".split()
_STRIP_RUNGS: tuple[dict[str, str], ...] = (
    {"noise": "", "duplicates": ""},
    {"noise": "", "duplicates": "", "stale_reads": ""},
    {"noise": "", "duplicates": "", "stale_reads": "", "thinking": "keep-last=3"},
    {"preset": "light", "stale_reads": "", "thinking": "keep-last=3"},
    {"preset": "standard", "tools": "keep=10"},
    {"preset": "standard", "tools": "keep=5"},
    {"preset": "standard"},
    {"preset": "standard", "tools": "keep=1"},
    {"preset": "heavy", "tools": "keep=5"},
    {"preset": "heavy"},
    {"preset": "heavy", "tools": "keep=1"},
    {"preset": "extreme"},
)
_TARGET_PATTERN = re.compile(r"(?P<share>\d{1,3})%|(?P<tokens>\d{1,9})(?P<thousand>[kK])?")


class StripFit(NamedTuple):
    """What was chosen."""

    wishes: StripOptions
    options: tuple[str, ...]
    """Options of `turnlog clone` that ask for the same."""
    target: int
    """Tokens that the next request may hold."""
    after: int
    """Tokens that it would hold."""

    def build_command(self, name: str) -> str:
        """A line for the shell."""
        return shlex.join(["turnlog", "clone", name, *self.options])


def choose_fit(session: Session, config: Config, target: str, protected: Sequence[str]) -> StripFit:
    """Choose the mildest rung that fits; raises `Refused` where none does."""
    found = compute_window_fill(session)
    room = _parse_target_tokens(target, found.threshold or found.window)
    entries = list(session.file.entries)
    if found.estimate <= room:
        raise Refused(f"{session.path}: it already fits: {found.estimate:,} tokens of {room:,}; nothing to strip")
    after = found.estimate
    for rung in _STRIP_RUNGS:
        wishes = _build_wishes(rung, config, protected)
        after = estimate_strip_effect(wishes, found, entries).after
        if after <= room:
            return StripFit(wishes, _build_options(rung, protected), room, after)
    raise Refused(
        f"{session.path}: no stripping fits {target} ({room:,} tokens): {after:,} tokens are left without any call;"
        f" `turnlog clone {session.session_id or session.path} --compact` puts a summary in the place of older turns"
    )


def _parse_target_tokens(target: str, limit: int | None) -> int:
    found = _TARGET_PATTERN.fullmatch(target)
    if found is None or (found["share"] and not 1 <= int(found["share"]) <= 100):
        raise UsageError(f"--fit {target}: expected a share such as 60%, or tokens such as 120000 or 120k")
    if found["tokens"]:
        return int(found["tokens"]) * (1000 if found["thousand"] else 1)
    if limit is None:
        raise UsageError(f"--fit {target}: the size of this model's window is not known; give tokens, such as 120k")
    return limit * int(found["share"]) // 100


def _build_wishes(rung: dict[str, str], config: Config, protected: Sequence[str]) -> StripOptions:
    options: dict[str, Any] = {key: True if key in _FLAG_KEYS else value for key, value in rung.items()}
    wishes = parse_strip_options(config, {**options, "protect": list(protected)})
    assert wishes is not None
    return wishes if "preset" in rung else replace(wishes, preset="")


def _build_options(rung: dict[str, str], protected: Sequence[str]) -> tuple[str, ...]:
    words = [word for key, value in rung.items() for word in (f"--{key.replace('_', '-')}", value) if word]
    return (*words, *(word for tool in protected for word in ("--protect", tool)))
