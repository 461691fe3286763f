"""Output styles: how the model is to answer (`outputStyle` in the settings), built in or from a file.

    <config>/output-styles/*.md, .claude/output-styles/*.md, plugins: frontmatter (`name`, `description`,
    `keep-coding-instructions`) and the instructions

A style from a file takes the place of the client's instructions about work, unless it keeps them. The files of a
project that the person does not trust are not read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from turnlog.agent.settings import SETTING_SOURCES
from turnlog.agent.small_file import leaves_folder, read_small_file

if TYPE_CHECKING:
    from turnlog.agent.plugins import EnabledPlugin

MAX_STYLE_FILE_BYTES = 1 << 20
DEFAULT_STYLE_NAME = "default"


class OutputStyle(NamedTuple):
    name: str
    text: str
    keeps_guide: bool = True
    """Whether the client's own instructions stay."""


BUILT_IN_STYLES = (
    OutputStyle(
        "Explanatory",
        "# Output style: Explanatory\nWhile you work, explain what is worth knowing about the code at hand: why it is"
        " built this way, which alternatives there were, what is easily overlooked. Keep each explanation to a few"
        " sentences, next to the change it is about, and about this code rather than programming in general.",
    ),
    OutputStyle(
        "Learning",
        "# Output style: Learning\nThe person wants to learn by doing. Leave small, well-chosen pieces of the work (two"
        " to ten lines with a real decision in them) to the person: mark the place with TODO(human), say what is"
        " needed and what to weigh, and wait. Do everything else yourself, and explain what you notice on the way.",
    ),
)


def find_output_style(
    name: str,
    cwd: Path,
    config_dir: Path,
    plugins: Sequence[EnabledPlugin] = (),
    *,
    is_trusted: bool,
    sources: Collection[str] = SETTING_SOURCES,
) -> OutputStyle | None:
    """Return a style by name, or None if there is none; the project's file takes precedence over the person's."""
    found = _iterate_styles(cwd, config_dir, plugins, is_trusted=is_trusted, sources=sources)
    return next((style for style in (*found, *BUILT_IN_STYLES) if style.name.lower() == name.lower()), None)


def list_output_styles(
    cwd: Path,
    config_dir: Path,
    plugins: Sequence[EnabledPlugin] = (),
    *,
    is_trusted: bool,
    sources: Collection[str] = SETTING_SOURCES,
) -> list[str]:
    """Return the names of all styles, first those that are built in."""
    found = _iterate_styles(cwd, config_dir, plugins, is_trusted=is_trusted, sources=sources)
    return list(dict.fromkeys([DEFAULT_STYLE_NAME, *(style.name for style in (*BUILT_IN_STYLES, *found))]))


def _iterate_styles(
    cwd: Path, config_dir: Path, plugins: Sequence[EnabledPlugin], *, is_trusted: bool, sources: Collection[str]
) -> Iterator[OutputStyle]:
    """Yield the styles in files, those of the project first."""
    places: list[tuple[str, Path, Path | None]] = []
    if is_trusted and "project" in sources:
        places.append(("", cwd / ".claude", cwd))
    if "user" in sources:
        places.append(("", config_dir, None))
    places += [(f"{plugin.name}:", plugin.folder, plugin.folder) for plugin in plugins]
    for prefix, folder, root in places:
        yield from _read_styles(prefix, folder / "output-styles", root)


def _read_styles(prefix: str, folder: Path, root: Path | None) -> Iterator[OutputStyle]:
    from turnlog.agent.frontmatter import split_frontmatter

    for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
        if root is not None and leaves_folder(path, root):
            continue
        try:
            text = read_small_file(path, MAX_STYLE_FILE_BYTES).decode("utf-8-sig", "replace").replace("\r\n", "\n")
        except OSError:
            continue
        document = split_frontmatter(text)
        keeps_guide = document.get_text("keep-coding-instructions").lower() == "true"
        name = prefix + (document.get_text("name") or path.stem)
        yield OutputStyle(name, f"# Output style: {name}\n{document.body.strip()}", keeps_guide)
