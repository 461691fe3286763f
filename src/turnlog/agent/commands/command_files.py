"""Commands and skills in files: `/name` runs one, and the model can call those that allow it (the Skill tool).

    <place>/commands/**/name.md      /name, or /folder:name for a file in a subfolder
    <place>/skills/name/SKILL.md     a skill, which may have further files beside it

The places are the person's config folder, the project's `.claude` and the folders of plugins (`/plugin:name`). If names
collide, a skill takes precedence over a command, and the person's file over the project's. The files of a project that
the person does not trust are not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from turnlog.agent.plugins import EnabledPlugin, fold_plugin_name
from turnlog.agent.settings import SETTING_SOURCES
from turnlog.agent.small_file import leaves_folder, read_small_file
from turnlog.agent.tools.command_file import CommandFile

MAX_COMMAND_FILE_BYTES = 1 << 20
MAX_COMMANDS = 1000
_NAME_PATTERN = re.compile(r"[\w-]+(:[\w-]+)*")
_HOOKS_PROBLEM = "turnlog does not run hooks of a skill"


def load_commands(
    cwd: Path,
    config_dir: Path,
    plugins: Sequence[EnabledPlugin] = (),
    *,
    is_trusted: bool,
    warn: Callable[[str], object] = lambda _: None,
    sources: Collection[str] = SETTING_SOURCES,
) -> dict[str, CommandFile]:
    """Return all commands and skills by name; `warn` receives a line for each file that can't be used."""
    found: dict[str, CommandFile] = {}
    project = cwd / ".claude"
    places: list[tuple[Path, Path | None, str]] = [(config_dir, None, "")] if "user" in sources else []
    if "project" in sources and is_trusted and os.path.realpath(project) != os.path.realpath(config_dir):
        places.append((project, cwd, ""))
    places += [(plugin.folder, plugin.folder, plugin.name) for plugin in plugins]
    reserved = {fold_plugin_name(plugin.name) for plugin in plugins}
    for kind in ("skills", "commands"):
        for folder, root, plugin in places:
            for name, path in _list_files(folder / kind, root, kind, warn):
                if not plugin and ":" in name and fold_plugin_name(name.partition(":")[0]) in reserved:
                    warn(f"{path}: /{name} is skipped, since names like this belong to a plugin")
                    continue
                whole = f"{plugin}:{name}" if plugin else name
                command = _read_command(whole, path, kind == "skills", str(folder) if plugin else "")
                if isinstance(command, str):
                    warn(f"{path}: {command}; it is skipped")
                elif len(found) < MAX_COMMANDS:
                    found.setdefault(whole, command)
    return found


def _list_files(
    folder: Path, root: Path | None, kind: str, warn: Callable[[str], object]
) -> Iterator[tuple[str, Path]]:
    """Yield names and files, except links that leave a project or plugin, which could expose any file."""
    if not folder.is_dir():
        return
    pattern = "*/SKILL.md" if kind == "skills" else "**/*.md"
    for path in sorted(folder.glob(pattern)):
        if root is not None and leaves_folder(path, root):
            warn(f"{path} is skipped because it resolves to {os.path.realpath(path)}, which is outside {root}")
            continue
        place = path.parent if kind == "skills" else path.with_suffix("")
        name = ":".join(place.relative_to(folder).parts)
        if _NAME_PATTERN.fullmatch(name):
            yield name, path


def _read_command(name: str, path: Path, is_skill: bool, plugin_root: str) -> CommandFile | str:
    """Return the command in a file, or why it can't be read."""
    from turnlog.agent.frontmatter import split_frontmatter

    try:
        text = read_small_file(path, MAX_COMMAND_FILE_BYTES).decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except OSError as error:
        return error.strerror or "it can't be read"
    document = split_frontmatter(text)
    model = document.get_text("model")
    body = document.body.strip()
    about = document.get_text("description") or next(iter(body.splitlines()), "")
    return CommandFile(
        name,
        path,
        body,
        " - ".join(filter(None, (about, document.get_text("when_to_use")))),
        document.get_text("argument-hint"),
        tuple(document.get_text("arguments").replace(",", " ").split()),
        tuple(_list_rules(document.fields.get("allowed-tools"))),
        None if model in ("", "inherit") else model,
        is_skill,
        document.get_text("context") == "fork",
        document.get_text("agent"),
        document.get_text("user-invocable").lower() != "false",
        document.get_text("disable-model-invocation").lower() != "true",
        plugin_root,
        problem=_HOOKS_PROBLEM if "hooks" in document.fields else "",
    )


def _list_rules(value: str | list[str] | None) -> list[str]:
    from turnlog.agent.permissions.rules import split_rule_list

    if value is None:
        return []
    return list(split_rule_list([value] if isinstance(value, str) else value))
