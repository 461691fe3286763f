"""Parses options for stripping a session, estimates their savings, and finds options that reach a given size.

    preset       light | standard | heavy | extreme, or one of the user's own
    tools        keep=N: keep the calls of the last N turns that have calls, and remove older ones
                 truncate[=CHARS]: shorten older ones instead
                 remove[=N]: remove older calls with their results; with N, those before the last N such turns
                 MODE:NAME,NAME: the same for some tools only; names can be patterns such as mcp__*
    thinking     keep, remove, or keep-last=N
    images       keep, or keep=N; the same for copies
    protect      tools whose calls never change

These options take precedence over a preset. `keep` alone overrides the preset.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from turnlog.api.config import Config, config_file, load_config
from turnlog.api.lookup import Notify, open_session
from turnlog.edit.draft import Draft
from turnlog.edit.illnesses.verdict import check_resumes
from turnlog.edit.strip.presets import PRESETS, estimate_strip_effect
from turnlog.edit.strip.strip import RuleSavings, StripReport
from turnlog.edit.strip.strip import strip_session as strip_draft
from turnlog.edit.strip.strip_options import StripOptions, StripRule
from turnlog.entries.layout import is_session_id
from turnlog.errors import Refused, UsageError
from turnlog.session.session import Session
from turnlog.session.window.window_fill import compute_window_fill

DEFAULT_PRESET = "standard"
DEFAULT_TRUNCATE_CHARS = 800
"""The number of characters that shortened text keeps by default."""
_TOOLS_PATTERN = re.compile(
    r"(?:keep=(?P<keep>\d{1,6})|(?P<mode>truncate|remove)(?:=(?P<number>\d{1,6}))?(?::(?P<names>.+))?)"
)
_THINKING_PATTERN = re.compile(r"(?P<all>keep)|remove|keep-last=(?P<number>\d{1,6})")
_NEWEST_PATTERN = re.compile(r"(?P<all>keep)|(?:keep=)?(?P<number>\d{1,6})")
_PRESET_KEYS = ("base", "tools", "protect", "duplicates", "stale_reads", "thinking", "images", "copies", "noise")
_FLAG_KEYS = ("duplicates", "stale_reads", "noise")
_COUNT_FORMS = {
    "thinking": (_THINKING_PATTERN, "keep, remove, or keep-last=N with N from 0 to 999999"),
    "images": (_NEWEST_PATTERN, "keep, or keep=N with N from 0 to 999999"),
    "copies": (_NEWEST_PATTERN, "keep, or keep=N with N from 0 to 999999"),
}
"""Options that keep the newest items: the pattern of the value, and its description."""
STRIP_RUNGS: tuple[Mapping[str, Any], ...] = (
    {"noise": True, "duplicates": True},
    {"noise": True, "duplicates": True, "stale_reads": True},
    {"noise": True, "duplicates": True, "stale_reads": True, "thinking": "keep-last=3"},
    {"preset": "light", "stale_reads": True, "thinking": "keep-last=3"},
    {"preset": "standard", "tools": "keep=10"},
    {"preset": "standard", "tools": "keep=5"},
    {"preset": "standard"},
    {"preset": "standard", "tools": "keep=1"},
    {"preset": "heavy", "tools": "keep=5"},
    {"preset": "heavy"},
    {"preset": "heavy", "tools": "keep=1"},
    {"preset": "extreme"},
)
"""The options that `fit` tries, mildest first."""
_TARGET_PATTERN = re.compile(r"(?P<share>\d{1,3})%|(?P<tokens>\d{1,9})(?P<thousand>[kK])?")


class StripSavings(Struct, frozen=True):
    """What stripping removes from a session."""

    rules: tuple[RuleSavings, ...]
    """What each rule removes; rules that find nothing are not listed."""
    bytes_before: int
    bytes_after: int
    tokens_before: int | None
    """The estimated number of tokens in the next request; None if nothing would be resumed."""
    tokens_after: int | None
    rows_before: int
    rows_after: int


class FitSummary(Struct, frozen=True):
    """The options that shrink a session to the requested size."""

    target: int
    """The maximum number of tokens in the next request."""
    after: int
    """The estimated number of tokens in the next request."""
    command: str
    """The `turnlog clone` command that creates the session."""


class StripPreview(Struct, frozen=True):
    """What stripping a session would save; nothing was written."""

    session: Path
    preset: str | None
    """The preset that the options start from."""
    rules: tuple[RuleSavings, ...]
    bytes_before: int
    bytes_after: int
    tokens_before: int | None
    tokens_after: int | None
    rows_before: int
    rows_after: int
    fit: FitSummary | UnsetType = UNSET
    """The chosen options, if `fit` was used."""


class StripFit(NamedTuple):
    """The mildest options that shrink a session to the requested size."""

    options: StripOptions
    flags: tuple[str, ...]
    """The equivalent options of `turnlog clone`."""
    target: int
    after: int


def to_strip_savings(report: StripReport) -> StripSavings:
    """Convert the stripper's report to the public type."""
    return StripSavings(**{name: getattr(report, name) for name in StripSavings.__struct_fields__})


def strip_session(
    session: str | Path,
    strip: StripOptions | str | None = None,
    *,
    fit: str | None = None,
    protect: Sequence[str] = (),
    config: Config | None = None,
    notify: Notify | None = None,
) -> StripPreview:
    """Preview what stripping a session would save, without writing anything.

    `strip` is a value from `build_strip_options` or the name of a preset (default: `standard`). `fit` chooses the
    mildest options that shrink the session to a share of the context window (`60%`) or a number of tokens (`120k`). To
    create the stripped session, call `clone_session` with the same options.
    """
    config = config or load_config()
    if fit is not None and strip is not None:
        raise UsageError("fit chooses the options automatically; use either fit or strip")
    with open_session(session, config, notify) as opened:
        fitted = choose_fit(opened, fit, protect, config=config) if fit is not None else None
        options = fitted.options if fitted else resolve_strip_options(strip or DEFAULT_PRESET, config, protect)
        result = strip_draft(opened, Draft.from_transcript(opened.file), options)
        check_resumes(opened, result.draft)
    assert opened.path is not None
    flags = fitted.flags if fitted else ()
    command = shlex.join(["turnlog", "clone", choose_pasteable_name(session, opened.path), *flags])
    return StripPreview(
        session=opened.path,
        preset=options.preset or None,
        fit=FitSummary(fitted.target, fitted.after, command) if fitted else UNSET,
        **{key: getattr(result.report, key) for key in StripSavings.__struct_fields__},
    )


def choose_pasteable_name(name: str | Path, path: Path) -> str:
    """Choose a name that works in a later command, when `last` or a title may refer to a different session."""
    if Path(name).exists():
        return str(name)
    return path.stem if is_session_id(path.stem) else str(path)


# -- options


def resolve_strip_options(
    strip: StripOptions | str, config: Config | None = None, protect: Sequence[str] = ()
) -> StripOptions:
    """Return the options, or look up a preset by name."""
    if isinstance(strip, StripOptions):
        return strip
    options = build_strip_options(preset=strip, protect=protect, config=config)
    assert options is not None
    return options


def build_strip_options(
    *,
    preset: str | None = None,
    tools: str | Sequence[str] = (),
    protect: str | Sequence[str] = (),
    duplicates: bool | None = None,
    stale_reads: bool | None = None,
    thinking: str | None = None,
    images: str | None = None,
    copies: str | None = None,
    noise: bool | None = None,
    config: Config | None = None,
    prefix: str = "",
) -> StripOptions | None:
    """Build the strip options from a preset and values such as `keep=5`; return None if there are none.

    Error messages put `prefix` before option names; the command line passes `--`.
    """
    values = {
        "tools": tools, "protect": protect, "duplicates": duplicates, "stale_reads": stale_reads,
        "thinking": thinking, "images": images, "copies": copies, "noise": noise,
    }  # fmt: skip
    start = _load_preset(preset, config or load_config()) if preset is not None else None
    options = _change_options(start, values, prefix)
    return None if start is None and options.is_idle else options


def _load_preset(name: str, config: Config, seen: tuple[str, ...] = ()) -> StripOptions:
    """Load a user-defined or built-in preset."""
    own = config.presets.get(name)
    if own is None or name in seen:
        known = next((preset.strip_options for preset in PRESETS if preset.name == name), None)
        if known is None:
            names = ", ".join([*(preset.name for preset in PRESETS), *config.presets])
            raise UsageError(f"unknown preset {name!r}; use one of {names}")
        return known
    place = f"{config_file()}, [presets.{name}]: "
    if unknown := sorted(own.keys() - set(_PRESET_KEYS)):
        raise UsageError(f"{place}unknown key {unknown[0]!r}; use one of {', '.join(_PRESET_KEYS)}")
    base = own.get("base")
    start = _load_preset(str(base), config, (*seen, name)) if base is not None else None
    return replace(_change_options(start, own, place), preset=name)


def _change_options(start: StripOptions | None, values: Mapping[str, Any], place: str) -> StripOptions:
    """Change some options; errors start with `place`."""
    changed: dict[str, Any] = {}
    for key in _FLAG_KEYS:
        if values.get(key) not in (None, False, True):
            raise UsageError(f"{place}{key} = {values[key]!r}: expected true or false")
        changed |= {key: values[key]} if values.get(key) is not None else {}
    changed |= {key: _parse_count(key, str(values[key]), place) for key in _COUNT_FORMS if values.get(key) is not None}
    options = replace(start or StripOptions(), **changed)
    if protect := list(_to_word_list(values.get("protect"), "protect", place)):
        names = {name.strip() for words in protect for name in words.split(",")} - {""}
        options = replace(options, protected=options.protected | names)
    return _apply_tool_rules(options, list(_to_word_list(values.get("tools"), "tools", place)), place)


def _to_word_list(value: Any, key: str, place: str) -> Iterable[str]:
    items = [value] if isinstance(value, str) else value or ()
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise UsageError(f"{place}{key} = {value!r}: expected a string or a list of strings")
    return items


def _parse_count(key: str, text: str, place: str) -> int | None:
    """Parse how many of the newest items to keep; None means all."""
    form, expected = _COUNT_FORMS[key]
    if (value := form.fullmatch(text)) is None:
        raise UsageError(f"{place}{key} {text}: expected {expected}")
    return None if value["all"] else int(value["number"] or 0)


def _apply_tool_rules(options: StripOptions, rules: list[str], place: str) -> StripOptions:
    """Add rules for tools; `keep=N` applies to every rule, regardless of order."""
    parsed = []
    for text in rules:
        if (rule := _TOOLS_PATTERN.fullmatch(text)) is None:
            forms = "keep=N, truncate, truncate=CHARS, remove or remove=N (a mode may be followed by :NAME,NAME)"
            raise UsageError(f"{place}tools {text}: expected {forms}; numbers must be from 0 to 999999")
        parsed.append(rule)
    keeps = [int(rule["keep"]) for rule in parsed if rule["keep"]]
    if len(keeps) > 1:
        raise UsageError(f"{place}tools: keep=N is used {len(keeps)} times; use it only once")
    keep = keeps[0] if keeps else None
    modes: dict[str | None, list[re.Match[str]]] = {}
    for rule in parsed:
        for name in (rule["names"] or "").split(",") if rule["mode"] else ():
            modes.setdefault(name.strip() or None, []).append(rule)
    built = {name: _build_rule(some, keep or 0, place) for name, some in modes.items()}
    named = tuple((name, rule) for name, rule in built.items() if name is not None)
    options = replace(options, tools=built.get(None, options.tools), named=options.named + named)
    if keep is not None and not built:
        older = options.tools
        options = replace(
            options, tools=StripRule(keep, None, keep) if older.is_idle else _keep_last_turns(older, keep)
        )
    return options


def _build_rule(matches: list[re.Match[str]], keep: int, place: str) -> StripRule:
    """Combine parsed values into one rule; the last value for each mode wins."""
    numbers = {match["mode"]: int(match["number"]) if match["number"] else None for match in matches}
    gone = None
    if "remove" in numbers:
        gone = keep if numbers["remove"] is None else numbers["remove"]
        if gone < keep:
            raise UsageError(f"{place}tools remove={gone}: lower than keep={keep}; use a number from {keep} to 999999")
    longest = numbers.get("truncate")
    return StripRule(keep, DEFAULT_TRUNCATE_CHARS if "truncate" in numbers and longest is None else longest, gone)


def _keep_last_turns(rule: StripRule, keep: int) -> StripRule:
    """Make a preset's rule keep the most recent turns unchanged."""
    gone = None if rule.gone is None else max(keep, keep + rule.gone - rule.whole)
    return replace(rule, whole=keep, gone=gone)


# -- what fits


def choose_fit(session: Session, target: str, protect: Sequence[str], *, config: Config | None = None) -> StripFit:
    """Choose the mildest options that reach the target size; raise `Refused` if none do."""
    fill = compute_window_fill(session)
    room = _parse_target_tokens(target, fill.threshold or fill.window)
    entries = list(session.file.entries)
    if fill.estimate <= room:
        raise Refused(
            f"{session.path}: the session already fits ({fill.estimate:,} of {room:,} tokens); nothing to strip"
        )
    after = fill.estimate
    for rung in STRIP_RUNGS:
        options = build_rung_options(rung, protect, config=config)
        after = estimate_strip_effect(options, fill, entries).after
        if after <= room:
            return StripFit(options, _spell_flags(rung, protect), room, after)
    raise Refused(
        f"{session.path}: stripping can't shrink the session to {target} ({room:,} tokens): {after:,} tokens remain"
        f" even without any calls;"
        f" `turnlog clone {session.session_id or session.path} --compact` replaces older turns with a summary"
    )


def build_rung_options(
    rung: Mapping[str, Any], protect: Sequence[str] = (), *, config: Config | None = None
) -> StripOptions:
    """Build the options for one entry in `STRIP_RUNGS`."""
    options = build_strip_options(**rung, protect=list(protect), config=config)
    assert options is not None
    return options if "preset" in rung else replace(options, preset="")


def _parse_target_tokens(target: str, limit: int | None) -> int:
    value = _TARGET_PATTERN.fullmatch(target)
    if value is None or (value["share"] and not 1 <= int(value["share"]) <= 100):
        raise UsageError(f"fit {target}: expected a share such as 60%, or a number of tokens such as 120000 or 120k")
    if value["tokens"]:
        return int(value["tokens"]) * (1000 if value["thousand"] else 1)
    if limit is None:
        raise UsageError(
            f"fit {target}: the size of this model's context window is unknown; use a number of tokens such as 120k"
        )
    return limit * int(value["share"]) // 100


def _spell_flags(rung: Mapping[str, Any], protect: Sequence[str]) -> tuple[str, ...]:
    words = [
        word
        for key, value in rung.items()
        for word in (f"--{key.replace('_', '-')}", *(() if value is True else (value,)))
    ]
    return (*words, *(word for tool in protect for word in ("--protect", tool)))
