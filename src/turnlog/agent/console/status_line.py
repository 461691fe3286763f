"""The status above the prompt: model, folder, branch, context and cost, or what the `statusLine` command prints.

The command comes only from settings that may define hooks. It runs in the background, and its output is shown at the
next prompt if it takes longer than a moment.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from turnlog.agent.compaction import get_window_tokens
from turnlog.agent.events import EntryWritten, TurnEvent
from turnlog.agent.key_shield import build_child_environment
from turnlog.agent.loop import AgentLoop
from turnlog.agent.record.chain import RECORD_VERSION
from turnlog.agent.record.git_branch import DETACHED_HEAD, read_git_branch
from turnlog.agent.settings import Settings
from turnlog.agent.spending_tally import count_window_tokens
from turnlog.model.cancel import Cancel
from turnlog.render.figures import format_cost_usd
from turnlog.render.terminal import TerminalScreen, cut_to_cells, make_visible, to_visible_line

_COMMAND_SECONDS = 10.0
_WAIT_SECONDS = 0.3
"""How long the prompt waits for the command."""
_MAX_STATUS_LINES = 3
_MAX_STATUS_CHARS = 1000
_EXTENDED_CONTEXT_TOKENS = 200_000
_STYLE_PATTERN = re.compile("(\x1b\\[[0-9;]*m)")


def find_status_command(settings: Settings) -> str:
    """Return the command for the status line; "" if there is none, or if hooks are turned off."""
    managed = [layer for layer in settings.layers if layer.name == "managed"]
    is_managed_only = any(layer.values.get("allowManagedHooksOnly") is True for layer in managed)
    if settings.get_value("disableAllHooks", bool) is True:
        return ""
    for layer in managed if is_managed_only else settings.list_trusted_layers():
        value = layer.values.get("statusLine")
        if isinstance(value, Mapping) and value.get("type", "command") == "command":
            return str(value.get("command") or "")
    return ""


class StatusLine:
    """Follows a session, and renders its status."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._usage: Mapping[str, Any] = {}
        """The usage of the latest answer."""
        self._cwd = ""
        self._lines: list[str] = []
        """What the command printed last."""
        self._last: list[str] = []
        self._lock = threading.Lock()
        self._input: bytes | None = None
        """What the next run of the command will read."""
        self._worker: threading.Thread | None = None

    def watch(self, event: TurnEvent) -> None:
        if isinstance(event, EntryWritten) and event.agent is None:
            message = event.entry.get("message")
            usage = message.get("usage") if isinstance(message, Mapping) else None
            if isinstance(usage, Mapping):
                self._usage = usage
            self._cwd = str(event.entry.get("cwd") or self._cwd)

    def render_change(self, loop: AgentLoop, settings: Settings, look: TerminalScreen) -> list[str]:
        """Return the lines of the status if they differ from what was returned before."""
        command = find_status_command(settings)
        lines = self._run_command(command, loop) if command else [*self._render_facts(loop)]
        if lines == self._last:
            return []
        self._last = lines
        return [paint_status(line, look) for line in lines]

    def _render_facts(self, loop: AgentLoop) -> Iterator[str]:
        used, place = loop.conversation.used, Path(self._cwd or loop.setup.place.root)
        if not used:
            return
        branch = read_git_branch(place)
        facts = [
            loop.setup.name,
            place.name + (f" ({branch})" if branch != DETACHED_HEAD else ""),
            f"context {100 * used / get_window_tokens(loop.setup):.0f} %",
            format_cost_usd(loop.spent.dollars),
        ]
        yield " · ".join(map(to_visible_line, facts))

    def _run_command(self, command: str, loop: AgentLoop) -> list[str]:
        """Run the command, after the run before it has ended; return what was printed last."""
        with self._lock:
            self._input = json.dumps(self._build_input(loop)).encode()
            if self._worker is None:
                environ = build_child_environment(loop.setup.environ)
                place = (command, loop.setup.place.root, environ)
                self._worker = threading.Thread(target=self._run_waiting, args=place, name="status", daemon=True)
                self._worker.start()
            worker = self._worker
        worker.join(_WAIT_SECONDS)
        return self._lines

    def _run_waiting(self, command: str, folder: Path, environ: Mapping[str, str]) -> None:
        from turnlog.agent.hooks.hook_definitions import HookDefinition
        from turnlog.agent.hooks.hook_process import run_hook_command

        hook = HookDefinition("Status", command=command)
        while True:
            with self._lock:
                given, self._input = self._input, None
                if given is None:
                    self._worker = None
                    return
            output = run_hook_command(hook, given, folder, environ, _COMMAND_SECONDS, Cancel())
            if not output.exit_code:
                lines = output.stdout[: _MAX_STATUS_LINES * _MAX_STATUS_CHARS].strip().splitlines()
                self._lines = lines[:_MAX_STATUS_LINES]

    def _build_input(self, loop: AgentLoop) -> dict[str, Any]:
        """Build what the command reads on standard input, as Claude Code does."""
        setup, window = loop.setup, get_window_tokens(loop.setup)
        used = count_window_tokens(self._usage)
        percent = round(100 * used / window)
        cwd = self._cwd or str(setup.place.root)
        counts = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        return {
            "hook_event_name": "Status",
            "session_id": loop.record.session_id,
            "transcript_path": str(loop.record.path),
            "cwd": cwd,
            "model": {"id": setup.name, "display_name": setup.name},
            "workspace": {"current_dir": cwd, "project_dir": str(setup.place.root)},
            "version": RECORD_VERSION,
            "output_style": {"name": setup.style},
            "cost": {
                "total_cost_usd": loop.spent.dollars,
                "total_duration_ms": round((time.monotonic() - self._start) * 1000),
                "total_api_duration_ms": round(loop.spent.milliseconds),
            },
            "context_window": {
                "total_input_tokens": sum(model.tokens.input for model in loop.spent.models.values()),
                "total_output_tokens": sum(model.tokens.output for model in loop.spent.models.values()),
                "context_window_size": window,
                "current_usage": {name: self._usage.get(name, 0) for name in counts} if self._usage else None,
                "used_percentage": percent if self._usage else None,
                "remaining_percentage": 100 - percent if self._usage else None,
            },
            "exceeds_200k_tokens": used > _EXTENDED_CONTEXT_TOKENS,
        }


def paint_status(line: str, look: TerminalScreen) -> str:
    """Keep a line's colours, and nothing else that a terminal would act on."""
    parts = _STYLE_PATTERN.split(line[:_MAX_STATUS_CHARS].expandtabs(4))
    room = max((look.width or 80) - 1, 1)
    if not look.color or len(parts) == 1:
        return look.paint(cut_to_cells(make_visible("".join(parts[::2])), room), "dim")
    return "".join(part if at % 2 else make_visible(part) for at, part in enumerate(parts)) + "\x1b[0m"
