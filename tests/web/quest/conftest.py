"""A page that imports the modules of the quest from a small server: without the web app, and without Node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from quest_page import serve_modules

from tests.web.conftest import Complaints
from tests.web.quest.quest_driver import PATIENCE_SECONDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Let expectations wait as long as a busy machine may need."""
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE_SECONDS * 1000)
    yield
    expect.set_options(timeout=None)


@pytest.fixture(scope="module")
def modules() -> Iterator[str]:
    with serve_modules() as address:
        yield address


@pytest.fixture(scope="module")
def module_page(browser: Browser, modules: str) -> Iterator[Page]:
    """An empty page whose scripts can import `/web/static/quest/*.js`; a complaint of the browser fails the tests."""
    context = browser.new_context()
    page = context.new_page()
    complaints = Complaints()
    complaints.watch(page)
    page.goto(modules)
    yield page
    context.close()
    assert not complaints, "\n".join(complaints)
