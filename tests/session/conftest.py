"""What the tests of `session` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from turnlog.session.session import Session


@pytest.fixture
def open_session() -> Iterator[Callable[[Path], Session]]:
    """Open session files, and close them when the test is over."""
    with ExitStack() as stack:
        yield lambda path: stack.enter_context(Session.open(path))
