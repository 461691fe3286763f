"""The documents about the web app: they name every address, key and module that there is, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape

import pytest
from starlette.routing import Route

from tests.conftest import ROOT
from turnlog.web import app

TEMPLATES = ROOT / "src" / "turnlog" / "web" / "templates"


def doc(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def section(text: str, heading: str) -> str:
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def first_cells(table: str) -> str:
    return "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))


def codes(text: str) -> set[str]:
    return set(re.findall("`([^`]+)`", text))


def test_every_address_is_documented_and_every_documented_one_is_there() -> None:
    every = (*app.STATIC_ROUTES, *(route for page in app.PAGE_MODULES for route in page.routes))
    found = (route for route in every if isinstance(route, Route))
    routes = {re.sub(r":\w+}", "}", route.path) for route in found}
    api, pages = doc("api.md"), doc("web.md").partition("\n## ")[0]
    told = set(re.findall(r"^## (?:GET|POST) (\S+)$", api, re.MULTILINE))
    told |= codes(first_cells(section(api, "Parts of pages"))) | codes(first_cells(pages))
    assert routes == told


def shown_keys(template: str) -> set[str]:
    """The keys that the dialog of a page lists."""
    rows = re.findall("<dt>(<kbd>.*?)</dt>", (TEMPLATES / template).read_text("utf-8"))
    return {unescape(key) for row in rows for key in keys(re.findall("<kbd>(.*?)</kbd>", row))}


def keys(found: Iterable[str]) -> set[str]:
    """Keys by themselves: `g s` is one, `j` and `k` are two."""
    row = list(found)
    return {" ".join(row)} if row[0] == "g" else set(row)


@pytest.mark.parametrize(
    ("name", "heading", "template"),
    [
        ("web.md", "Keys", "base.html"),
        ("web.md", "Sessions", "home.html"),
        ("web.md", "Search", "search.html"),
        ("reading.md", "Keys", "session.html"),
        ("replay.md", "In the browser", "replay.html"),
    ],
)
def test_the_keys_of_a_page_are_those_that_its_document_tells(name: str, heading: str, template: str) -> None:
    assert codes(first_cells(section(doc(name), heading))) == shown_keys(template)


def test_every_module_of_the_web_app_has_its_place_in_the_table_of_modules() -> None:
    folder = ROOT / "src" / "turnlog" / "web"
    there = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    there |= {f"{path.parent.name}/" for path in folder.glob("*/__init__.py")}
    assert codes(first_cells(section(doc("web.md"), "For developers"))) == there
