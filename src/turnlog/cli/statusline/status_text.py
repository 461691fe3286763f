"""The status line: one line about a session, from the JSON that Claude Code sends to its status line command.

It never fails: it leaves out anything missing or invalid, and exits with status 0.
"""

from __future__ import annotations

import os
import sys

from turnlog.cli.statusline import status_facts

TYPE_CHECKING = False  # like in typing, which takes as long to import as the rest of this module
if TYPE_CHECKING:
    from typing import Any

PLACEHOLDERS = {
    "model": "the model's name",
    "folder": "the name of the working folder",
    "branch": "the git branch, or the start of the checked-out commit",
    "context": "how full the context window is: `42% 84k`",
    "percent": "the same in percent of the window: `42%`",
    "tokens": "the same in tokens: `84k`",
    "window": "the size of the window: `200k`",
    "cost": "the cost of the session, as Claude Code counts it: `$1.25`",
    "today": "today's cost of all sessions in turnlog's index: `$12.40`, or `≥$12.40`",
    "block": "time left in the five-hour block: `2h14m`",
    "limit": "the share of the five-hour limit that has been used: `37%`",
    "session": "the start of the session's id",
    "version": "the version of Claude Code",
}
"""The fields that a template may contain in braces."""

_DEFAULT_PARTS = (
    ("model", "{model}"),
    ("folder", "{folder}"),
    ("branch", "({branch})"),
    ("context", "ctx {context}"),
    ("cost", "{cost}"),
    ("today", "today {today}"),
    ("block", "block {block} left"),
)
_HELP_TEXT = "turnlog statusline reads Claude Code's JSON on standard input; see turnlog statusline --help"
_YELLOW_PERCENT, _RED_PERCENT = 60, 80
"""The fill is yellow from the first percentage, and red from the second."""
_RED, _YELLOW, _DIM, _PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[0m"
_MAX_NAME_CHARS = 60


def run_statusline(words: list[str]) -> int | None:
    """Read standard input and print the line; return None if the arguments require the full program."""
    template: str | None = None
    if words:
        name, equals, value = words[0].partition("=")
        if name != "--format" or len(words) != (1 if equals else 2):
            return None
        template = value if equals else words[1]
    try:
        shown = render_status_line(_read_client_json(), template, color=not os.environ.get("NO_COLOR"))
    except Exception as error:  # noqa: BLE001 - a failing status line would be blank
        shown = f"turnlog statusline: {type(error).__name__}"
    _write_line(shown)
    return 0


def _read_client_json() -> object:
    """Read Claude Code's JSON, or explain why there is none."""
    if sys.stdin is None or sys.stdin.isatty():
        return _HELP_TEXT
    try:
        found = status_facts.decode_status_json(sys.stdin.buffer.read().decode("utf-8", "replace"))
    except (OSError, ValueError):
        found = None
    return found if isinstance(found, dict) else "turnlog statusline: no JSON object on standard input"


def _write_line(shown: str) -> None:
    """Write without sys.stdout: if the reader has closed the pipe, the interpreter would fail at exit."""
    try:  # noqa: SIM105 - contextlib costs more than this
        os.write(1, (shown + "\n").encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def render_status_line(given: object, template: str | None = None, *, color: bool = False) -> str:
    if not isinstance(given, dict):
        return str(given)
    facts = _StatusFacts(given, color)
    if template is not None:
        return _fill_template(_make_harmless(template), facts)
    parts = (_fill_template(shape, facts) for name, shape in _DEFAULT_PARTS if facts[name])
    separator = f"{_DIM} · {_PLAIN}" if color else " · "
    return separator.join(parts) or "turnlog: no data yet"


def _fill_template(template: str, facts: _StatusFacts) -> str:
    for name in PLACEHOLDERS:
        if "{" + name + "}" in template:
            template = template.replace("{" + name + "}", facts[name])
    return template


class _StatusFacts:
    """The values of the placeholders, computed on demand."""

    def __init__(self, given: dict[str, Any], color: bool) -> None:
        self._given = given
        self._color = color
        self._known: dict[str, str] = {}
        self._filled: tuple[int | None, int | None] | None = None

    def __getitem__(self, name: str) -> str:
        if name not in self._known:
            self._known[name] = getattr(self, "_" + name)()
        return self._known[name]

    def _model(self) -> str:
        model = status_facts.get_nested_value(self._given, "model")
        return _make_harmless(
            status_facts.to_status_text(status_facts.get_nested_value(model, "display_name"))
            or status_facts.to_status_text(status_facts.get_nested_value(model, "id"))
        )

    def _find_path(self) -> str:
        places = (("workspace", "current_dir"), ("cwd",), ("workspace", "project_dir"))
        return next(
            (
                path
                for names in places
                if (path := status_facts.to_status_text(status_facts.get_nested_value(self._given, *names)))
            ),
            "",
        )

    def _folder(self) -> str:
        path = self._find_path().rstrip("/\\")
        return _make_harmless(path.replace("\\", "/").rpartition("/")[2] or self._find_path()[:1])

    def _branch(self) -> str:
        path = self._find_path()
        return _make_harmless(status_facts.find_git_branch(path)) if os.path.isabs(path) and "\0" not in path else ""  # noqa: PTH117

    def _get_fill(self) -> tuple[int | None, int | None]:
        if self._filled is None:
            self._filled = status_facts.measure_fill(self._given)
        return self._filled

    def _context(self) -> str:
        return " ".join(part for part in (self["percent"], self["tokens"]) if part)

    def _percent(self) -> str:
        held, window = self._get_fill()
        if not held or not window:
            return ""
        share = round(held / window * 100)
        return _paint_share(f"{share}%", share if self._color else 0)

    def _tokens(self) -> str:
        held, _ = self._get_fill()
        return _format_tokens(held) if held else ""

    def _window(self) -> str:
        _, window = self._get_fill()
        return _format_tokens(window) if window else ""

    def _cost(self) -> str:
        cost = status_facts.to_status_number(status_facts.get_nested_value(self._given, "cost", "total_cost_usd"))
        return "" if cost is None else f"${cost:,.2f}"

    def _today(self) -> str:
        found = status_facts.read_cost_today(status_facts.to_status_text(self._given.get("transcript_path")))
        return "" if found is None else f"{'' if found[1] else '≥'}${found[0]:,.2f}"

    def _block(self) -> str:
        seconds = status_facts.count_seconds_left(self._given)
        return "" if seconds is None else f"{seconds // 3600}h{seconds // 60 % 60:02}m"

    def _limit(self) -> str:
        used = status_facts.to_status_number(
            status_facts.get_nested_value(self._given, "rate_limits", "five_hour", "used_percentage")
        )
        return "" if used is None else _paint_share(f"{round(used)}%", round(used) if self._color else 0)

    def _session(self) -> str:
        return _make_harmless(status_facts.to_status_text(self._given.get("session_id"))[:8])

    def _version(self) -> str:
        return _make_harmless(status_facts.to_status_text(self._given.get("version")))


def _paint_share(text: str, share: int) -> str:
    style = _RED if share >= _RED_PERCENT else _YELLOW if share >= _YELLOW_PERCENT else ""
    return f"{style}{text}{_PLAIN}" if style else text


def _format_tokens(tokens: int) -> str:
    """Format a number of tokens: `950`, `8.4k`, `84k`, `1M`."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 9_950:
        return f"{tokens / 1000:.1f}k".replace(".0k", "k")
    return f"{round(tokens / 1000)}k" if tokens < 999_500 else f"{tokens / 1_000_000:.2f}".rstrip("0").rstrip(".") + "M"


def _make_harmless(name: str) -> str:
    """Put an untrusted name on one line, with control characters escaped."""
    if len(name) > _MAX_NAME_CHARS * 4:
        name = name[: _MAX_NAME_CHARS * 4]
    if name.isascii() and name.isprintable():
        return name
    from turnlog.cli.terminal import to_visible_line as visible_line  # as slow to import as the rest, and rarely needed

    return visible_line(name)
