"""Sub-agent types: built in, or defined by a person or project in `.claude/agents/*.md`.

A definition has frontmatter (see `agent_definition`) and a body, which is the system prompt of the sub-agent. If names
collide, the project's definition takes precedence over the person's, and the person's over the built-in one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from turnlog.agent.settings import SETTING_SOURCES
from turnlog.agent.small_file import leaves_folder, read_small_file
from turnlog.agent.tools.task import AgentType

if TYPE_CHECKING:
    from turnlog.agent.plugins import EnabledPlugin

MAX_AGENT_FILE_BYTES = 1 << 20
_READ_ONLY_TOOLS = ("Bash", "BashOutput", "KillShell", "Glob", "Grep", "Read", "WebFetch", "WebSearch")
_REPORT_INSTRUCTION = (
    "Your last message is your report, and the only part that the caller will see: say what you found or did, with"
    " absolute paths and line numbers, and what is still open. You can't ask questions; if something is unclear, choose"
    " sensibly and say so."
)

BUILT_IN_AGENT_TYPES = (
    AgentType(
        "general-purpose",
        "Does any task of several steps on its own: searches, reads, changes files, runs commands. For work that"
        " can be done apart from the conversation.",
        "You are a sub-agent of turnlog and do one task for another agent. Do exactly what is asked, completely, and"
        " nothing beyond it. Search broadly first, then read what matters; change existing files rather than creating"
        " new ones.\n\n" + _REPORT_INSTRUCTION,
    ),
    AgentType(
        "Explore",
        "Searches a code base and answers questions about it, without changing anything. Say how thorough it should"
        " be: quick, medium or very thorough.",
        "You are a sub-agent of turnlog that explores code. You only read: create, change or remove no file, and use"
        " commands only to look at things. Start with Glob and Grep, try several names and places, read excerpts,"
        " and make independent calls in parallel.\n\n" + _REPORT_INSTRUCTION,
        _READ_ONLY_TOOLS,
    ),
    AgentType(
        "Plan",
        "Designs how to make a change: steps, files that matter, alternatives and their cost. Changes nothing.",
        "You are a sub-agent of turnlog that plans software changes. You only read. Find out how the code is"
        " built and how similar things were done in it; then write the plan: what to change where and in which order,"
        " which alternatives you considered, what could go wrong, how to verify it. End with the three to five"
        " files that matter most.\n\n" + _REPORT_INSTRUCTION,
        _READ_ONLY_TOOLS,
    ),
)


def load_agent_types(
    cwd: Path,
    config_dir: Path,
    warn: Callable[[str], object] = lambda _: None,
    *,
    ignores_hooks: bool = False,
    plugins: Sequence[EnabledPlugin] = (),
    sources: Collection[str] = SETTING_SOURCES,
    is_trusted: bool = False,
) -> dict[str, AgentType]:
    """Return all sub-agent types available in a folder, by name.

    `warn` receives a line for each file that is skipped and each field that is ignored.
    """
    types = {kind.name: kind for kind in BUILT_IN_AGENT_TYPES}
    places: list[tuple[Path, Path | None]] = [(config_dir, None)] if "user" in sources else []
    if "project" in sources:
        places += [(folder / ".claude", folder) for folder in _list_project_folders(cwd)]
    belongs_to_plugin = _build_plugin_check(plugins)
    for place, root in places:
        if place == config_dir and root is not None:
            continue
        paths: dict[str, Path] = {}
        for path in _list_agent_files(place / "agents", root, warn):
            may_widen = root is None or is_trusted
            if kind := _read_agent_type(path, warn, may_widen=may_widen, ignores_hooks=ignores_hooks):
                if belongs_to_plugin(kind.name):
                    warn(f"{path}: the sub-agent is skipped, since names like {kind.name[:60]} belong to a plugin")
                    continue
                if before := paths.get(kind.name):
                    warn(f"{path}: its sub-agent has the name of the one in {before.name} and replaces it")
                types[kind.name], paths[kind.name] = kind, path
    for plugin in plugins:
        for path in _list_agent_files(plugin.folder / "agents", plugin.folder, warn):
            if kind := _read_agent_type(path, warn, may_widen=False, ignores_hooks=ignores_hooks):
                name = f"{plugin.name}:{kind.name}"
                types[name] = replace(kind, name=name)
    return types


def _build_plugin_check(plugins: Sequence[EnabledPlugin]) -> Callable[[str], bool]:
    """Return a function that decides whether only a plugin may define a sub-agent of a name."""
    if not plugins:
        return lambda _: False
    from turnlog.agent.plugins import fold_plugin_name  # few sessions have plugins

    names = {fold_plugin_name(plugin.name) for plugin in plugins}
    return lambda name: ":" in name and fold_plugin_name(name.partition(":")[0]) in names


def _list_agent_files(folder: Path, root: Path | None, warn: Callable[[str], object]) -> Iterator[Path]:
    """Yield a folder's definition files, except links to files outside the project, which could expose any file."""

    def belongs(path: Path) -> bool:
        if root is None or not leaves_folder(path, root):
            return True
        warn(f"{path} is skipped because it resolves to {os.path.realpath(path)}, which is outside {root}")
        return False

    if folder.is_dir() and belongs(folder):
        yield from filter(belongs, sorted(folder.glob("**/*.md")))


def _list_project_folders(cwd: Path) -> list[Path]:
    """Return the folders from the top of the repository to `cwd`, or only `cwd` if there is no repository."""
    folders = [cwd, *cwd.parents]
    top = next((at for at, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    return folders[top::-1]


def _read_agent_type(
    path: Path, warn: Callable[[str], object], *, may_widen: bool, ignores_hooks: bool
) -> AgentType | None:
    """Return the sub-agent type that a file defines, or None if it defines none or is skipped."""
    from turnlog.agent.briefing.agent_definition import parse_agent_definition  # most sessions have no such files

    try:
        text = read_small_file(path, MAX_AGENT_FILE_BYTES).decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except OSError as error:
        warn(f"{path}: {error.strerror or 'it can not be read'}; the sub-agent is skipped")
        return None
    kind = parse_agent_definition(
        text,
        _REPORT_INSTRUCTION,
        lambda line: warn(f"{path}: {line}"),
        may_widen=may_widen,
        ignores_hooks=ignores_hooks,
    )
    if isinstance(kind, AgentType):
        return kind
    if kind:
        warn(f"{path}: {kind}; the sub-agent is skipped")
    return None
