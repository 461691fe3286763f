"""Run tools on a case, and convert their output to the names in `expected.json`.

An adapter returns the total and, where a case requires them, the sums by session and by day. Values that a tool does
not report are omitted; they are neither right nor wrong.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Amounts = dict[str, Any]


class Run(NamedTuple):
    """A tool and the case to run it on."""

    command: list[str]
    config_dir: Path
    home: Path

    def __call__(self, *arguments: str, **environ: str) -> Any:
        """Run the tool in its own home folder, and return the JSON that it prints, or None if it prints none."""
        inherited = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "PYTHONPATH") if name in os.environ}
        own = {
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.config_dir),
            "TURNLOG_HOME": str(self.home / "turnlog"),
            "TZ": "UTC",
        }
        done = subprocess.run(
            [*self.command, *arguments],
            env={**inherited, **own, **environ},
            capture_output=True,
            check=False,
            timeout=60,
        )
        try:
            return json.loads(done.stdout)
        except ValueError:
            return None


class Answer(NamedTuple):
    """What a tool counts."""

    total: Amounts
    sessions: dict[str, Amounts]
    days: dict[str, dict[str, Amounts]]


def ask_turnlog(run: Run, zones: list[str]) -> Answer:
    """Run `turnlog usage --json`."""
    by_session = run("usage", "session", "--json") or {"total": {}, "rows": []}
    days = {zone: run("usage", "daily", "--timezone", zone, "--json") or {"rows": []} for zone in zones}
    return Answer(
        by_session["total"],
        {row["session_id"]: row for row in by_session["rows"]},
        {zone: {row["day"]: row for row in report["rows"]} for zone, report in days.items()},
    )


def ask_ccusage(run: Run, zones: list[str]) -> Answer:
    """Run `ccusage claude daily --json` offline; it reports neither unpriced tokens nor quality."""
    options = ("--json", "--offline", "--timezone")
    by_zone = {zone: run("claude", "daily", *options, zone) or {"daily": []} for zone in zones or ["UTC"]}
    sessions = run("claude", "session", *options, "UTC") or {"sessions": []}
    first = next(iter(by_zone.values()))
    return Answer(
        _convert_row(first.get("totals") or {}),
        {_get_session_id(row): _convert_row(row) for row in sessions.get("sessions", [])},
        {zone: {row["date"]: _convert_row(row) for row in by_zone[zone]["daily"]} for zone in zones},
    )


def _convert_row(row: dict[str, Any]) -> Amounts:
    names = {
        "input_tokens": "inputTokens",
        "output_tokens": "outputTokens",
        "cache_read_input_tokens": "cacheReadTokens",
        "cache_creation_input_tokens": "cacheCreationTokens",
        "cost_usd": "totalCost",
    }
    return {ours: row.get(theirs, 0) for ours, theirs in names.items()}


def _get_session_id(row: dict[str, Any]) -> str:
    return str(row.get("sessionId", ""))


def ask_plain_command(run: Run, zones: list[str]) -> Answer:
    """Run any command that reads CLAUDE_CONFIG_DIR and prints `{"total": {...}}` with the keys of `expected.json`."""
    document = run(TIMEZONE=(zones or ["UTC"])[0]) or {}
    return Answer(document.get("total", {}), document.get("sessions", {}), {})


ADAPTERS: dict[str, Callable[[Run, list[str]], Answer]] = {
    "turnlog": ask_turnlog,
    "ccusage": ask_ccusage,
    "plain": ask_plain_command,
}


def ask_tool(adapter: str, command: list[str], case: Path, zones: list[str]) -> Answer:
    """Return what a tool counts in one case."""
    with tempfile.TemporaryDirectory() as home:
        return ADAPTERS[adapter](Run(command, case, Path(home)), zones)
