"""A page that imports the modules of the quest from a small server: without the web app, and without Node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from quest_page import serve_modules

from tests.web.conftest import Complaints

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


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
