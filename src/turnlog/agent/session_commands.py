"""Slash commands that show the state of a session, or keep something of it: `/status`, `/permissions`, `/export` …

Each returns lines to show. All text from settings, files and models is made visible first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from turnlog._version import __version__
from turnlog.agent.loop import AgentLoop
from turnlog.errors import NotFound, TurnlogError, UsageError
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
        "background": _count(len(loop.shared.tasks.list_running()), "task", "/tasks"),
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
        yield f"  {_cut_listed(rule)}"
    if not rules:
        yield "  No rules are set."
    yield f"Edit them in {to_visible_line(str(loop.setup.place.root / '.claude' / 'settings.local.json'))}"


def describe_memory(loop: AgentLoop) -> Iterator[str]:
    """List the instruction files that the model received when the session started."""
    files = loop.setup.instructions
    for number, file in enumerate(files, 1):
        yield f"  {number:>2}  {file.kind:<8} {format_size(file.size):>8}  {to_visible_line(str(file.path))}"
    yield (
        "/memory NUMBER opens one in your editor. Changes take effect in the next session (/clear)."
        if files
        else f"There are none. Write instructions for this project to {to_visible_line(str(_find_memory_path(loop)))}"
    )


def find_memory_file(loop: AgentLoop, number: str) -> Path:
    """Return the instruction file that a number stands for in the list of /memory."""
    files = loop.setup.instructions
    if not number.isdecimal() or not 1 <= int(number) <= len(files):
        raise UsageError(f"/memory {to_visible_line(number[:20])}: no such file; /memory lists them with their numbers")
    return files[int(number) - 1].path


def _find_memory_path(loop: AgentLoop) -> Path:
    return loop.setup.place.root / "CLAUDE.md"


def describe_agents(loop: AgentLoop) -> Iterator[str]:
    """List the types of sub-agents that the model can start."""
    for name, kind in loop.setup.agents.items():
        yield f"  {to_visible_line(name):<18} {_cut_listed(kind.description)}"
    yield "/agents NAME shows one. Add your own as .claude/agents/NAME.md."


def describe_agent(loop: AgentLoop, name: str) -> Iterator[str]:
    """Show everything about a type of sub-agent."""
    kind = loop.setup.agents.get(name)
    if kind is None:
        raise UsageError(f"/agents {to_visible_line(name[:60])}: no such sub-agent; /agents lists them")
    yield to_visible_line(kind.description)
    yield f"  model  {to_visible_line(kind.model or 'that of the session')}"
    yield f"  tools  {to_visible_line(', '.join(kind.tools) if kind.tools is not None else 'all')}"
    if kind.denied_tools:
        yield f"  not    {to_visible_line(', '.join(kind.denied_tools))}"
    yield ""
    yield from (to_visible_line(line) for line in kind.prompt.splitlines())


def describe_hooks(loop: AgentLoop) -> Iterator[str]:
    """List the hooks that run in this session, with the files that define them."""
    hooks = loop.hooks.runner.list_hooks() if loop.hooks is not None else ()
    for hook in hooks:
        matcher = f" [{hook.matcher}]" if hook.matcher else ""
        yield f"  {_cut_listed(f'{hook.event}{matcher}: {hook.label}')}"
        yield f"      {to_visible_line(hook.where or 'the program that runs this session')}"
    if not hooks:
        yield "This session has no hooks. Settings and plugins define them."


def describe_tasks(loop: AgentLoop) -> Iterator[str]:
    """List the commands and sub-agents that run in the background."""
    tasks = loop.shared.tasks.list_running()
    for task in tasks:
        kind = "agent" if task.kind == "local_agent" else "command"
        yield f"  {task.id}  {kind}: {_cut_listed(task.what)}"
        yield f"             {to_visible_line(str(task.path))}"
    yield "/tasks stop ID stops one." if tasks else "Nothing is running in the background."


def stop_task(loop: AgentLoop, name: str) -> Iterator[str]:
    """Stop a background task."""
    try:
        task = loop.shared.tasks.stop_task(name)
    except NotFound:
        raise UsageError(f"{to_visible_line(name)}: no such background task; /tasks lists them") from None
    yield f"Stopped {task.id}."


def _cut_listed(text: str) -> str:
    """Return text as a list shows it: on one line, and cut if it is long."""
    line = to_visible_line(text[: _MAX_LISTED_CHARS + 1])
    return line if len(line) <= _MAX_LISTED_CHARS else f"{line[:_MAX_LISTED_CHARS]}…"


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
