"""The sessions that the words of a command mean."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.cli.config import Config, data_dir
from turnlog.cli.output import remark
from turnlog.demo import is_demo
from turnlog.entries.layout import config_dirs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnlog.entries.layout import SessionFile
    from turnlog.entries.titles import Titles
    from turnlog.session.find import KnownTitles
    from turnlog.session.session import Session

_SHORT = 8


def folders(config: Config) -> list[Path]:
    """The config folders of this machine, and those that the user named."""
    return config_dirs(further=config.config_dirs)


def located(name: str, config: Config) -> Path:
    """The file of the session that a name means; says so when it is a made-up one."""
    from turnlog.session.find import find

    path = find(name, folders(config), titles_in_index(config))
    if is_demo(path):
        remark("This is a made-up session: a demo that comes with turnlog.")
    return path


def titles_in_index(config: Config) -> KnownTitles:
    """The names of sessions as the index knows them; nothing is loaded unless somebody asks."""

    def look(files: Sequence[SessionFile]) -> Mapping[str, Titles]:
        from turnlog.store.known_titles import known_titles
        from turnlog.store.place import index_name

        return known_titles(data_dir() / index_name(config.config_dirs))(files)

    return look


def opened(name: str, config: Config) -> Session:
    """Open the session that a name means."""
    from datetime import timedelta

    from turnlog.session.session import Session  # a mere list of sessions does without

    return Session.open(located(name, config), gap=timedelta(minutes=config.gap_minutes))


def short_ids(ids: list[str]) -> dict[str, str]:
    """The shortest start of each id, of eight letters or more, that no other id has."""
    ordered = sorted(set(ids))
    needed = dict.fromkeys(ordered, _SHORT)
    for one, other in pairwise(ordered):
        if one[:_SHORT] == other[:_SHORT]:
            common = next(at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b) + 1
            needed[one], needed[other] = max(needed[one], common), max(needed[other], common)
    return {name: name[:length] for name, length in needed.items()}
