"""Every page in states that pass within minutes: the first prompt of a machine has no answer yet, or the prices are
new."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.session.build import SESSION, Build
from tests.web.conftest import Folders, open_indexed
from tests.web.test_security import addresses
from turnlog.web.app import build_application
from turnlog.web.machine import Machine

_ENDLESS = ("/updates", "/events")


def forget_prices(machine: Machine) -> None:
    """Leave the index as a version with other prices would."""
    machine.store.db.execute("DELETE FROM fact WHERE name LIKE 'price%'")


def list_failures(machine: Machine, ref: str, prepare: Callable[[Machine], None]) -> list[tuple[str, int]]:
    """Request every address that only reads; return those that answer with an internal error."""
    app: Starlette = build_application(machine)
    client = TestClient(app, raise_server_exceptions=False)
    paths = [path for method, path in addresses(app, ref=ref) if method == "GET" and not path.endswith(_ENDLESS)]
    assert "/" in paths
    failures = []
    for path in paths:
        prepare(machine)
        status = client.get(path).status_code
        if status >= 500:
            failures.append((path, status))
    return failures


@pytest.mark.parametrize("prepare", [lambda _: None, forget_prices], ids=["prices-known", "prices-forgotten"])
def test_every_page_opens_while_the_only_session_has_no_answer(
    tmp_path: Path, prepare: Callable[[Machine], None]
) -> None:
    folders = Folders(tmp_path / "claude", tmp_path / "turnlog")
    build = Build()
    build.prompt("hello")
    folders.add(SESSION, build.data())
    with open_indexed(folders) as machine:
        assert list_failures(machine, SESSION, prepare) == []


def test_every_page_opens_when_the_prices_have_changed(folders: Folders) -> None:
    with open_indexed(folders) as machine:
        ref = folders.sessions[0]
        cost = machine.store.db.execute("SELECT sum(cost) FROM spend").get
        assert list_failures(machine, ref, forget_prices) == []
        assert machine.store.db.execute("SELECT sum(cost) FROM spend").get == cost
