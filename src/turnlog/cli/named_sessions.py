"""The sessions that the words of a command mean."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.cli.config import Config, data_dir
from turnlog.cli.output import print_remark
from turnlog.demo import is_demo
from turnlog.entries.layout import find_config_dirs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnlog.entries.layout import SessionFile
    from turnlog.entries.titles import SessionTitles
    from turnlog.session.session import Session
    from turnlog.session.session_lookup import KnownTitles

_MIN_ID_CHARS = 8


def list_config_folders(config: Config) -> list[Path]:
    """The config folders of this machine, and those that the user named."""
    return find_config_dirs(further=config.config_dirs)


def locate_session(name: str, config: Config) -> Path:
    """The file of the session that a name means; says so when it is a made-up one."""
    from turnlog.session.session_lookup import find_session_file

    path = find_session_file(name, list_config_folders(config), titles_in_index(config))
    if is_demo(path):
        print_remark("This is a made-up session: a demo that comes with turnlog.")
    return path


def titles_in_index(config: Config) -> KnownTitles:
    """The names of sessions as the index knows them; nothing is loaded unless somebody asks."""

    def look(files: Sequence[SessionFile]) -> Mapping[str, SessionTitles]:
        from turnlog.store.index_file_name import build_index_name
        from turnlog.store.known_titles import build_title_lookup

        return build_title_lookup(data_dir() / build_index_name(config.config_dirs))(files)

    return look


def open_named_session(name: str, config: Config) -> Session:
    """Open the session that a name means."""
    from datetime import timedelta

    from turnlog.session.session import Session  # a mere list of sessions does without

    return Session.open(locate_session(name, config), gap=timedelta(minutes=config.gap_minutes))


def shorten_ids(ids: list[str]) -> dict[str, str]:
    """The shortest start of each id, of eight letters or more, that no other id has."""
    ordered = sorted(set(ids))
    needed = dict.fromkeys(ordered, _MIN_ID_CHARS)
    for one, other in pairwise(ordered):
        if one[:_MIN_ID_CHARS] == other[:_MIN_ID_CHARS]:
            common = next(at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b) + 1
            needed[one], needed[other] = max(needed[one], common), max(needed[other], common)
    return {name: name[:length] for name, length in needed.items()}
