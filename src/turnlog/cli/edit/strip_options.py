"""The options that say what is stripped from a session, for `turnlog strip` and `turnlog clone`, and what they say.

    --preset NAME                 light | standard | heavy | extreme, or one of the user's own
    --tools keep=N                the calls of the last N turns that have calls stay; older ones go
    --tools truncate[=CHARS]      older ones are shortened instead
    --tools remove[=N]            older ones go, call and result both; with N, those before the last N such turns
    --tools MODE:NAME,NAME        the same for some tools only; patterns such as mcp__* are names too
    --thinking keep|remove|keep-last=N   --images keep[=N]   --copies keep[=N]   --protect NAME
    --noise   --duplicates   --stale-reads, each also with `--no-` before it

What is given beside a preset goes before it. `keep` alone takes back what the preset asks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.api.config import Config
    from turnlog.edit.strip.strip import RuleSavings, StripReport
    from turnlog.edit.strip.strip_options import StripOptions, StripRule

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT_TRUNCATE_CHARS = 800
"""So many characters stay of what is shortened, if not told otherwise."""
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
"""What stays of the newest: its form, and that in words."""

_STRIP_OPTIONS = (
    click.option("--preset", metavar="NAME", help="light, standard, heavy, extreme, or one of your own."),
    click.option(
        "--tools", multiple=True, metavar="RULE", help="keep=N, truncate[=CHARS], remove[=N]; :NAME,… for some tools."
    ),
    click.option("--protect", multiple=True, metavar="TOOL", help="Never touch the calls of a tool; may be repeated."),
    click.option("--duplicates/--no-duplicates", default=None, help="Drop results that the same call has again later."),
    click.option("--stale-reads/--no-stale-reads", default=None, help="Drop files that were read and are out of date."),
    click.option("--thinking", metavar="WHAT", help="remove, or keep-last=N: that of the last N turns stays."),
    click.option("--images", metavar="keep=N", help="Keep the newest N images; others become a short text."),
    click.option("--copies", metavar="keep=N", help="Keep the client's own copies of results in the last N turns."),
    click.option("--noise/--no-noise", default=None, help="Drop progress, snapshots, hook output, repeated metadata."),
)


def add_strip_options(command: Command) -> Command:
    """Give a command the options that say what is stripped."""
    for option in reversed(_STRIP_OPTIONS):
        command = option(command)
    return command


def parse_strip_options(config: Config, options: dict[str, Any]) -> StripOptions | None:
    """What the options ask for, taken out of them; None if nothing."""
    given = {key: options.pop(key) for key in _PRESET_KEYS if key in options}
    preset = options.pop("preset", None)
    begun = _load_preset(preset, config) if preset is not None else None
    wishes = _change_wishes(begun, given, "")
    return None if begun is None and wishes.is_idle else wishes


def _load_preset(name: str, config: Config, seen: tuple[str, ...] = ()) -> StripOptions:
    """A preset by its name: one of the user's own, or one of those that come along."""
    from turnlog.api.config import config_file
    from turnlog.edit.strip.presets import PRESETS

    own = config.presets.get(name)
    if own is None or name in seen:
        found = next((preset.strip_options for preset in PRESETS if preset.name == name), None)
        if found is None:
            names = ", ".join([*(preset.name for preset in PRESETS), *config.presets])
            raise UsageError(f"no preset is called {name!r}; there are {names}")
        return found
    place = f"{config_file()}, [presets.{name}]: "
    if unknown := sorted(own.keys() - set(_PRESET_KEYS)):
        raise UsageError(f"{place}unknown key {unknown[0]!r}; there are {', '.join(_PRESET_KEYS)}")
    base = own.get("base")
    begun = _load_preset(str(base), config, (*seen, name)) if base is not None else None
    return replace(_change_wishes(begun, own, place), preset=name)


def _change_wishes(begun: StripOptions | None, given: Mapping[str, Any], place: str) -> StripOptions:
    """Wishes with some of them changed; `place` says where a wrong one stands."""
    from turnlog.edit.strip.strip_options import StripOptions

    changed: dict[str, Any] = {}
    for key in _FLAG_KEYS:
        if given.get(key) not in (None, False, True):
            raise UsageError(f"{place}{key} = {given[key]!r}: expected true or false")
        changed |= {key: given[key]} if given.get(key) is not None else {}
    changed |= {key: _parse_count(key, str(given[key]), place) for key in _COUNT_FORMS if given.get(key) is not None}
    found = replace(begun or StripOptions(), **changed)
    if protected := list(_to_word_list(given.get("protect"), "protect", place)):
        names = {name.strip() for words in protected for name in words.split(",")} - {""}
        found = replace(found, protected=found.protected | names)
    return _apply_tool_rules(found, list(_to_word_list(given.get("tools"), "tools", place)), place)


def _to_word_list(value: Any, key: str, place: str) -> Iterable[str]:
    items = [value] if isinstance(value, str) else value or ()
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise UsageError(f"{place}{key} = {value!r}: expected a text or a list of texts")
    return items


def _name_option(key: str, place: str) -> str:
    """What to call a wish that is wrong: the option, or the key in the settings."""
    return f"{place}{key}" if place else f"--{key}"


def _parse_count(key: str, words: str, place: str) -> int | None:
    """How many of the newest stay; None: all."""
    form, expected = _COUNT_FORMS[key]
    if (found := form.fullmatch(words)) is None:
        raise UsageError(f"{_name_option(key, place)} {words}: expected {expected}")
    return None if found["all"] else int(found["number"] or 0)


def _apply_tool_rules(found: StripOptions, rules: list[str], place: str) -> StripOptions:
    """Wishes with rules for tools; `keep=N` holds for all of them, wherever it stands."""
    from turnlog.edit.strip.strip_options import StripRule

    parsed = []
    for words in rules:
        if (rule := _TOOLS_PATTERN.fullmatch(words)) is None:
            forms = "keep=N, truncate, truncate=CHARS, remove, remove=N, each mode also as MODE:NAME,NAME"
            raise UsageError(
                f"{_name_option('tools', place)} {words}: expected one of {forms}; numbers from 0 to 999999"
            )
        parsed.append(rule)
    keeps = [int(rule["keep"]) for rule in parsed if rule["keep"]]
    if len(keeps) > 1:
        raise UsageError(f"{_name_option('tools', place)}: keep=N is given {len(keeps)} times; once is enough")
    keep = keeps[0] if keeps else None
    modes: dict[str | None, list[re.Match[str]]] = {}
    for rule in parsed:
        for name in (rule["names"] or "").split(",") if rule["mode"] else ():
            modes.setdefault(name.strip() or None, []).append(rule)
    made = {name: _build_rule(some, keep or 0, place) for name, some in modes.items()}
    named = tuple((name, rule) for name, rule in made.items() if name is not None)
    found = replace(found, tools=made.get(None, found.tools), named=found.named + named)
    if keep is not None and not made:
        older = found.tools
        found = replace(found, tools=StripRule(keep, None, keep) if older.is_idle else _keep_last_turns(older, keep))
    return found


def _build_rule(words: list[re.Match[str]], keep: int, place: str) -> StripRule:
    """The rule that some words make together; the last of each mode counts."""
    from turnlog.edit.strip.strip_options import StripRule

    numbers = {word["mode"]: int(word["number"]) if word["number"] else None for word in words}
    gone = None
    if "remove" in numbers:
        gone = keep if numbers["remove"] is None else numbers["remove"]
        if gone < keep:
            tools = _name_option("tools", place)
            raise UsageError(f"{tools} remove={gone}: keep={keep} keeps these; valid are {keep} to 999999")
    longest = numbers.get("truncate")
    return StripRule(keep, DEFAULT_TRUNCATE_CHARS if "truncate" in numbers and longest is None else longest, gone)


def _keep_last_turns(rule: StripRule, keep: int) -> StripRule:
    """A preset's rule that leaves the last so many turns alone."""
    gone = None if rule.gone is None else max(keep, keep + rule.gone - rule.whole)
    return replace(rule, whole=keep, gone=gone)


# -- what was stripped


def to_strip_document(report: StripReport) -> dict[str, Any]:
    """A report for programs."""
    return {
        "rules": [saved._asdict() for saved in report.rules],
        "bytes_before": report.bytes_before,
        "bytes_after": report.bytes_after,
        "tokens_before": report.tokens_before,
        "tokens_after": report.tokens_after,
        "rows_before": report.rows_before,
        "rows_after": report.rows_after,
    }


def _describe_counts(saved: RuleSavings) -> Iterator[str]:
    names = {"calls": "call", "results": "result", "copies": "copy", "images": "image", "thinking": "thought"}
    for key, noun in names.items():
        if number := getattr(saved, key):
            many = key if key == "copies" else f"{noun}s"
            yield f"{number:,} {noun if number == 1 else many}"


STRIP_DEFINITION = (
    "tokens: of the next request, estimated as in `turnlog context`; bytes: of the file; rows: lines that go"
)


def render_strip_report(report: StripReport) -> Iterator[str]:
    """A report for people."""
    from turnlog.cli.time_format import format_size
    from turnlog.edit.strip.strip_tally import STRIP_RULES

    if not report.rules:
        yield "There is nothing to strip."
        return
    yield f"{'stripped':<38}{'tokens':>9}{'bytes':>11}{'rows':>7}  what"
    for saved in report.rules:
        what = ", ".join(_describe_counts(saved))
        yield (
            f"{STRIP_RULES[saved.rule]:<38}{saved.tokens:>9,}{format_size(saved.bytes):>11}{saved.rows:>7,}  {what}"
        ).rstrip()
    before, after = report.bytes_before, report.bytes_after
    yield (
        f"File: {format_size(before)} before, {format_size(after)} after "
        f"({(before - after) / max(before, 1):.0%} less)."
    )
    if report.tokens_before is not None and report.tokens_after is not None:
        less = (report.tokens_before - report.tokens_after) / max(report.tokens_before, 1)
        after_all = f"{report.tokens_after:,} after ({less:.0%} less)"
        yield f"Next request: about {report.tokens_before:,} tokens before, {after_all}."
    yield STRIP_DEFINITION
