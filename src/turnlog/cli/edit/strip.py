"""`turnlog strip`: what could be taken out of a session, without writing anything."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from turnlog.api.config import Config
from turnlog.cli.edit.strip_options import (
    add_strip_options,
    parse_strip_options,
    render_strip_report,
    to_strip_document,
)
from turnlog.cli.named_sessions import open_named_session
from turnlog.cli.output import print_json, print_lines
from turnlog.cli.terminal import make_visible, to_visible_line
from turnlog.edit.draft import Draft
from turnlog.edit.illnesses.verdict import check_resumes
from turnlog.edit.strip.presets import PRESETS, estimate_strip_effect
from turnlog.edit.strip.strip import strip_session
from turnlog.edit.strip.strip_options import StripOptions
from turnlog.errors import Refused, UsageError
from turnlog.session.session import Session
from turnlog.session.window.window_fill import compute_window_fill


@click.command()
@click.argument("session")
@add_strip_options
@click.option("--fit", metavar="SIZE", help="Choose the mildest options that fit 60% of the window, or 120k tokens.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def strip(session: str, fit: str | None, as_json: bool, **options: Any) -> None:
    """Say what stripping a session would save; nothing is written. `turnlog clone` with the same options does it.

    Without options the preset `standard` is tried. Pairs stay pairs: a call goes with its result. What people and the
    model said is never touched. SESSION is a path, an id or the start of one, a title, or `last`.

    \b
    Examples:
      turnlog strip last
      turnlog strip last --fit 60%            prints the command that makes the clone
      turnlog strip last --preset heavy --protect Bash
      turnlog strip last --tools keep=5 --thinking keep-last=2 --images keep=3
      turnlog strip last --tools 'truncate=500:Bash,mcp__*' --noise --json
    """
    from turnlog.api.config import load_config

    run_strip(session, load_config(), options, fit=fit, as_json=as_json)


DEFAULT_PRESET = "standard"


def run_strip(name: str, config: Config, options: dict[str, Any], *, fit: str | None, as_json: bool) -> None:
    """Strip a session in memory and report what that saves."""
    protected = options["protect"]
    chosen = parse_strip_options(config, options)
    if fit is not None and chosen is not None:
        raise UsageError("--fit chooses what to strip: only --protect goes with it")
    with open_named_session(name, config) as session:
        fitted = choose_fit(session, config, fit, protected) if fit is not None else None
        wishes = fitted.wishes if fitted else chosen or _default_wishes()
        found = strip_session(session, Draft.from_transcript(session.file), wishes)
        check_resumes(session, found.draft)
        if as_json:
            document = {
                "session": str(session.path),
                "preset": wishes.preset or None,
                **to_strip_document(found.report),
            }
            print_json({**document, **_to_fit_document(_choose_pasteable_name(name, session), fitted)})
            return
        if wishes.preset and not fitted:
            print_lines([to_visible_line(f"Preset {wishes.preset}.")])
        print_lines(map(make_visible, render_strip_report(found.report)))
        print_lines(
            _describe_next_step(_choose_pasteable_name(name, session), fitted, has_options=chosen is not None)
            if found.report.rules
            else ()
        )


def _default_wishes() -> StripOptions:
    return next(preset.strip_options for preset in PRESETS if preset.name == DEFAULT_PRESET)


def _choose_pasteable_name(name: str, session: Session) -> str:
    """What to call the session in another command: `last` or a title may be another one by then."""
    return name if Path(name).exists() else session.session_id or str(session.path)


def _to_fit_document(name: str, fitted: StripFit | None) -> dict[str, Any]:
    if fitted is None:
        return {}
    return {"fit": {"target": fitted.target, "after": fitted.after, "command": fitted.build_command(name)}}


def _describe_next_step(name: str, fitted: StripFit | None, *, has_options: bool) -> Iterator[str]:
    if fitted:
        yield f"Fits {fitted.target:,} tokens with these options. Nothing was written. To make that session:"
        yield to_visible_line(f"  {fitted.build_command(name)}")
    elif has_options:
        yield "Nothing was written: `turnlog clone SESSION` with the same options makes a session like that."
    else:
        command = shlex.join(["turnlog", "clone", name, "--preset", DEFAULT_PRESET])
        yield to_visible_line(f"Nothing was written: `{command}` makes a session like that.")


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
