"""What the tests of writing verbs share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.edit.furnished_session import furnish
from turnlog.edit.trash.trash import Trash
from turnlog.session.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session with all that can belong to one, long untouched."""
    return furnish(tmp_path / "claude")


@pytest.fixture
def config(session: Path) -> Path:
    """The config folder of the session."""
    return session.parents[2]


@pytest.fixture
def trash(tmp_path: Path) -> Trash:
    """An empty trash."""
    return Trash(tmp_path / "data" / "trash")


@pytest.fixture
def open_session() -> Iterator[Callable[[Path], Session]]:
    """Open session files, and close them when the test is over."""
    with ExitStack() as stack:
        yield lambda path: stack.enter_context(Session.open(path))
