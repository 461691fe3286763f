"""Nothing that a transcript holds can act in a page: every attack, in every field of every view."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup
from playwright.sync_api import Browser

from tests.render.attacks import ATTACKS
from tests.render.fill import all_views
from tests.render.walk import Walk
from turnlog.render import card as cards
from turnlog.render.html import HtmlWriter
from turnlog.render.jinja_templates import load_template_environment
from turnlog.render.view import AnswerCall, AnswerPicture, AnswerText, AnswerView

HIDDEN = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\U000e0000-\U000e0fff]"
)


class Addresses:
    """Links as the web app has them."""

    def raw(self, offset: int) -> str | None:
        return f"/s/x/raw/{offset}"

    def agent(self, agent_id: str) -> str | None:
        return "/s/x/agent/y/window/0"

    def permalink(self, key: str) -> str | None:
        return "/s/x#y"


def writer() -> HtmlWriter:
    return HtmlWriter(lambda picture: "data:image/png;base64,iVBORw0KGgo=", Addresses(), buttons=True)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_in_any_field_of_any_view_is_shown_and_does_nothing(name: str) -> None:
    html = str(writer().write_views(all_views(ATTACKS[name])))
    html.encode()
    assert not HIDDEN.search(html)
    assert Walk(html).faults == []


def test_the_tags_of_an_attack_can_be_read_as_they_were_written() -> None:
    html = str(writer().write_view(AnswerView("k", 1, None, 0, (AnswerText("see <script>alert(1)</script> there"),))))
    assert "see <script>alert(1)</script> there" in Walk(html).text


def test_every_template_is_reached_by_the_views_of_these_tests() -> None:
    reached: set[str] = set()

    class Noting(HtmlWriter):
        def _render(self, name: str, **values: Any) -> Markup:
            reached.add(name)
            return super()._render(name, **values)

    Noting(lambda picture: None).write_views(all_views("x"))
    assert reached | {"item.html", "fold.html"} == set(load_template_environment().list_templates())


def test_templates_escape_whatever_they_print() -> None:
    env = load_template_environment()
    assert env.autoescape is True
    for name in env.list_templates():
        source = env.loader.get_source(env, name)[0] if env.loader else ""
        assert "|safe" not in source.replace(" ", "")
        assert "autoescape" not in source
        assert "style=" not in source
        assert not re.search(r"\son\w+=", source)


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("image", "javascript:alert(1)"),
        ("image", "data:image/svg+xml;base64,AAAA"),
        ("image", "data:text/html,<script>"),
        ("document", "data:text/html,<script>alert(1)</script>"),
        ("document", "data:image/svg+xml,<svg onload=alert(1)>"),
        ("document", "JAVASCRIPT:alert(1)"),
        ("document", " javascript:alert(1)"),
    ],
)
def test_a_source_that_could_act_is_not_used(kind: str, source: str) -> None:
    html = HtmlWriter(lambda picture: source).write_section(cards.Picture(kind, "image/png", "", "x"))
    assert "href" not in html
    assert "src" not in html


def test_a_browser_executes_and_loads_nothing(browser: Browser, tmp_path: Path) -> None:
    texts = [text for text in ATTACKS.values() if len(text) < 1_000]
    blocks = [AnswerPicture(cards.Picture("document", text, "", text)) for text in texts]
    card = cards.Card("c", "Bash", "running", "x", "answered")
    views = [
        AnswerView(
            f"k{number}", 1, None, 0, (AnswerText(text), blocks[number], AnswerCall(_load_card(card, text, number)))
        )
        for number, text in enumerate(texts)
    ]
    policy = "default-src 'none'; img-src data:; style-src 'none'"
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
    file = tmp_path / "page.html"
    file.write_text(f"<!doctype html>{head}<main>{writer().write_views(views)}</main>", encoding="utf-8")
    page = browser.new_page()
    happened: list[str] = []
    page.on("dialog", lambda dialog: happened.append(dialog.message))
    page.on("console", lambda message: happened.append(message.text))
    page.on("request", lambda request: happened.append(request.url))
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    page.wait_for_timeout(200)
    others = [what for what in happened if not what.startswith(("data:image/png", file.as_uri()))]
    assert others == []
    assert page.locator("article").count() == len(texts)
    assert page.locator("script, style, iframe, object, svg, math, form, [style], [onload], [onerror]").count() == 0
    page.close()


def _load_card(card: cards.Card, text: str, number: int) -> cards.Card:
    sections = (
        cards.CodeSection(text, "html"),
        cards.TerminalSection(text),
        cards.TextSection(text, text),
        cards.TreeSection({text: text}),
    )
    from msgspec.structs import replace

    return replace(card, id=f"{number} {text}", title=text, tool=text, badges=(text,), asked=sections)
