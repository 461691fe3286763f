"""What tests of the console client share: a desk with a scripted server that looks at every request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.agent.api import Api
from tests.agent.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[[dict[str, Any]], Desk]]:
    """Makes a desk for a scenario; each has a server, all of them one home."""
    begun: list[Api] = []
    with ExitStack() as servers:

        def make_desk(scenario: dict[str, Any]) -> Desk:
            begun.append(Api(scenario=scenario))
            return Desk(tmp_path, servers.enter_context(begun[-1]))

        yield make_desk
    assert [reason for api in begun for reason in api.refused] == []
