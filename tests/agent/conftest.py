"""What tests of the console client share: a desk with a scripted server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk
from tests.interop.mock_anthropic import MockAnthropic


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[[dict[str, Any]], Desk]]:
    """Makes a desk for a scenario; each has a server, all of them one home."""
    with ExitStack() as servers:
        yield lambda scenario: Desk(tmp_path, servers.enter_context(MockAnthropic(scenario)))
