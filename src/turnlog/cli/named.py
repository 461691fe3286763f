"""The sessions that the words of a command mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.cli.config import Config
from turnlog.cli.output import remark
from turnlog.demo import is_demo
from turnlog.entries.layout import config_dirs

if TYPE_CHECKING:
    from turnlog.session.session import Session


def folders(config: Config) -> list[Path]:
    """The config folders of this machine, and those that the user named."""
    return config_dirs(further=config.config_dirs)


def located(name: str, config: Config) -> Path:
    """The file of the session that a name means; says so when it is a made-up one."""
    from turnlog.session.find import find

    path = find(name, folders(config))
    if is_demo(path):
        remark("This is a made-up session: a demo that comes with turnlog.")
    return path


def opened(name: str, config: Config) -> Session:
    """Open the session that a name means."""
    from datetime import timedelta

    from turnlog.session.session import Session  # a mere list of sessions does without

    return Session.open(located(name, config), gap=timedelta(minutes=config.gap_minutes))
