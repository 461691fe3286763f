"""What tests of tracing stand on: an endpoint that keeps what it is sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.trace.recorder import Recorder


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """A tracing backend on loopback that accepts everything, until it is told otherwise."""
    with Recorder() as found:
        yield found
