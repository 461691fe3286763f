"""Runs a conversation with a model from the command line, in print mode or at the console."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlog.errors import TurnlogError, UsageError

if TYPE_CHECKING:
    from turnlog.agent.start_options import StartOptions


_PRINT_OPTIONS = (
    "form",
    "partial",
    "input_form",
    "is_replayed",
    "asked",
    "answerer",
    "output_schema",
    "prints_hooks",
    "is_mirrored",
    "is_debugged",
    "debug_file",
    "awaits_initialize",
)
"""Options that only print mode has."""


def run_chat(said: Mapping[str, Any]) -> int:
    """Run `turnlog chat` and return the exit status."""
    from turnlog.agent.key_shield import shield_keys
    from turnlog.agent.session_starter import SessionStarter
    from turnlog.api.config import data_dir
    from turnlog.cli.progress import hide_work

    hide_work()
    shield_keys(os.environ, (text for text in said.get("settings") or () if text.lstrip().startswith("{")))
    try:
        cwd = Path(os.path.realpath(Path.cwd()))
    except FileNotFoundError:
        raise TurnlogError("the current folder no longer exists") from None
    wishes = _build_start_options(said)
    starting = SessionStarter(cwd, data_dir(), config_root=_find_config_root(wishes))
    # Programs that send prompts as lines of JSON omit -p.
    if said.get("is_printed") or said.get("input_form") == "stream-json":
        from turnlog.cli.chat.print_session import run_print_mode

        return run_print_mode(starting, wishes, said)
    if any(said.get(name) for name in _PRINT_OPTIONS):
        raise UsageError("--output-format, --input-format and related options require -p")
    from turnlog.cli.chat.console import run_chat_console
    from turnlog.cli.chat.print_output import END_SIGNALS

    return run_chat_console(starting, wishes, said.get("prompt"), END_SIGNALS)


def _build_start_options(said: Mapping[str, Any]) -> StartOptions:
    from turnlog.agent.start_options import StartOptions

    given = {name: said[name] for name in StartOptions._fields if said.get(name) is not None}
    for name, flag in (("system_prompt", "--system-prompt"), ("appended_prompt", "--append-system-prompt")):
        if path := said.get(f"{name}_file"):
            if name in given:
                raise UsageError(f"use {flag} or {flag}-file, not both")
            given[name] = _read_text_file(path, f"{flag}-file")
    if said.get("is_bypassed"):
        if said.get("mode") not in (None, "bypassPermissions"):
            raise UsageError("use --dangerously-skip-permissions or --permission-mode, not both")
        given["mode"] = "bypassPermissions"
    if given.get("is_continued") and given.get("resume") is not None:
        raise UsageError("use --continue or --resume, not both")
    if not isfinite(given.get("dollars", 0)):
        raise UsageError("--max-budget-usd must be a finite number of dollars")
    takes_up = given.get("is_continued") or given.get("resume") is not None
    if given.get("is_forked") and not takes_up:
        raise UsageError("--fork-session requires --continue or --resume")
    if given.get("session_id") and takes_up and not given.get("is_forked"):
        raise UsageError(
            "--session-id sets the id of a new session; to use it with --continue or --resume, add --fork-session"
        )
    if given.get("leaf") and given.get("resume") is None:
        raise UsageError("--resume-session-at requires --resume")
    if given.get("dropped_prompt") is not None and not given.get("leaf"):
        raise UsageError("--resume-drops-turn requires --resume-session-at")
    given["defines_agents"] = said.get("input_form") == "stream-json"
    if "sources" in given:
        given["sources"] = _parse_setting_sources(given["sources"])
    if "output_schema" in given:
        from turnlog.agent.tools.structured_output import parse_output_schema

        given["output_schema"] = parse_output_schema(given["output_schema"])
    given["copies_files"] = os.environ.get("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "").lower() in ("1", "true")
    return StartOptions(**given)


def _find_config_root(options: StartOptions) -> Path | None:
    if options.config_root is None:
        return None
    folder = Path(options.config_root).expanduser()
    if not folder.is_absolute() or not folder.is_dir():
        raise UsageError(f"--project-config-root {folder}: not the absolute path of a folder")
    return Path(os.path.realpath(folder))


def _parse_setting_sources(text: str) -> tuple[str, ...]:
    from turnlog.agent.settings import SETTING_SOURCES

    sources = tuple(filter(None, (word.strip() for word in text.split(","))))
    if unknown := [source for source in sources if source not in SETTING_SOURCES]:
        raise UsageError(f"--setting-sources: unknown source {unknown[0]!r}; use {', '.join(SETTING_SOURCES)}")
    return sources


def _read_text_file(name: str, flag: str) -> str:
    try:
        return Path(name).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{flag} {name}: {reason}") from None
