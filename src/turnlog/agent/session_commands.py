"""Slash commands that show the state of a session, or keep something of it: `/status`, `/permissions`, `/export` …

Each returns lines to show. All text from settings, files and models is made visible first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from turnlog._version import __version__
from turnlog.agent.loop import AgentLoop
from turnlog.errors import TurnlogError, UsageError
from turnlog.render.figures import format_count, format_size, format_thousands
from turnlog.render.terminal import to_visible_line

MAX_TITLE_CHARS = 200
_MAX_LISTED_CHARS = 120
_ABSENT = "none"


def describe_status(loop: AgentLoop) -> Iterator[str]:
    """Describe the session: where it is, what it works with, and how full its context is."""
    setup, record = loop.setup, loop.record
    window = loop.measure_context()
    folders = [setup.place.root, *setup.place.further]
    facts = {
        "turnlog": __version__,
        "session": record.session_id,
        "file": str(record.path) if record.path.exists() else "created with the first prompt",
        "folders": ", ".join(map(str, folders)),
        "model": setup.name,
        "mode": setup.guard.mode,
        "context": f"{format_thousands(window.used)} of {format_thousands(window.window)} tokens",
        "instructions": _count(len(setup.instructions), "file", "/memory"),
        "rules": _count(len(setup.guard.list_rules()), "rule", "/permissions"),
        "sub-agents": _count(len(setup.agents), "type", "/agents"),
        "background": _count(len(loop.shared.shells.list_running()), "command", "/tasks"),
        "file copies": "made before changes (/rewind)" if loop.shared.history else "not made",
    }
    for name, value in facts.items():
        yield f"  {name:<13} {to_visible_line(value)}"


def _count(number: int, noun: str, command: str) -> str:
    return f"{format_count(number, noun)} ({command})" if number else _ABSENT


def describe_permissions(loop: AgentLoop) -> Iterator[str]:
    """List the permission mode and the rules in effect, in the order in which they are applied."""
    guard = loop.setup.guard
    yield f"Mode: {guard.mode}. Rules are applied in this order: deny, ask, allow."
    rules = guard.list_rules()
    for rule in rules:
        yield f"  {to_visible_line(rule[:_MAX_LISTED_CHARS])}"
    if not rules:
        yield "  No rules are set."
    yield f"Edit them in {to_visible_line(str(loop.setup.place.root / '.claude' / 'settings.local.json'))}"


def describe_memory(loop: AgentLoop) -> Iterator[str]:
    """List the instruction files that the model received when the session started."""
    files = loop.setup.instructions
    for file in files:
        yield f"  {file.kind:<8} {format_size(file.size):>8}  {to_visible_line(str(file.path))}"
    yield (
        "Changes take effect in the next session (/clear)."
        if files
        else f"There are none. Write instructions for this project to {to_visible_line(str(_find_memory_path(loop)))}"
    )


def _find_memory_path(loop: AgentLoop) -> Path:
    return loop.setup.place.root / "CLAUDE.md"


def describe_agents(loop: AgentLoop) -> Iterator[str]:
    """List the types of sub-agents that the model can start."""
    for name, kind in loop.setup.agents.items():
        yield f"  {to_visible_line(name):<18} {to_visible_line(kind.description)[:_MAX_LISTED_CHARS]}"
    yield "Add your own as .claude/agents/NAME.md."


def describe_tasks(loop: AgentLoop) -> Iterator[str]:
    """List the commands that run in the background."""
    shells = loop.shared.shells.list_running()
    for shell in shells:
        what = to_visible_line(shell.description or shell.command)[:_MAX_LISTED_CHARS]
        yield f"  {shell.id}  {what}"
        yield f"             {to_visible_line(str(shell.path))}"
    if not shells:
        yield "No commands are running in the background."


def stop_task(loop: AgentLoop, name: str) -> Iterator[str]:
    """Stop a background command."""
    shell = loop.shared.shells.find_shell(name)
    if shell is None or shell.status != "running":
        raise UsageError(f"{to_visible_line(name)}: no such background command; /tasks lists them")
    shell.stop("client")
    yield f"Stopped {shell.id}."


def rename_session(loop: AgentLoop, title: str) -> Iterator[str]:
    """Give the session a title, which lists of sessions show."""
    plain = " ".join(title.split())
    if not plain or len(plain) > MAX_TITLE_CHARS:
        raise UsageError(f"/rename requires a title of at most {MAX_TITLE_CHARS} characters")
    loop.record.write_title(plain)
    yield f"The session is called {to_visible_line(plain)}."


def export_conversation(loop: AgentLoop, name: str) -> Iterator[str]:
    """Export the session to a new file; the extension chooses the format."""
    from turnlog.api.exports import export_session  # imports templates and renderers

    if not loop.record.path.exists():
        raise TurnlogError("there is nothing to export yet")
    path = loop.setup.place.root / Path(name or f"{loop.record.session_id[:8]}.md").expanduser()
    result = export_session(loop.record.path, path)
    yield f"Exported to {to_visible_line(str(result.output))} ({format_size(result.bytes)})."
