"""Markdown as HTML."""

from __future__ import annotations

import pytest
from markupsafe import Markup, escape

from tests.render.walk import Walk
from turnlog.render.sections import render_prose


def code(text: str, language: str) -> Markup:
    return Markup('<div class="code {}">{}</div>').format(language, text)


def html(text: str) -> str:
    return str(render_prose(text, code)).strip()


def test_headings_stand_below_those_of_the_page() -> None:
    assert html("# One\n## Two") == "<h3>One</h3>\n<h4>Two</h4>"


def test_tables_keep_their_sides() -> None:
    found = html("|a|b|\n|-|-:|\n|1|2|")
    assert '<th class="right">b</th>' in found
    assert "<td>1</td>" in found


def test_tasks_show_whether_they_are_done() -> None:
    found = Walk(html("- [x] one\n- [ ] two")).text
    assert "☑ one" in found
    assert "☐ two" in found


def test_raw_html_is_shown_as_text() -> None:
    found = html("a <b onclick=x>bold</b>\n\n<div>\nblock **x**\n</div>")
    assert Walk(found).faults == []
    assert "<b onclick=x>bold</b>" in Walk(found).text
    assert "<div>\nblock **x**\n</div>" in Walk(found).text


@pytest.mark.parametrize("url", ["https://ok.example/a?b=c&d", "http://ok.example", "mailto:dana@ok.example"])
def test_links_of_the_web_and_of_mail_open_elsewhere_and_tell_nothing(url: str) -> None:
    wanted = f'<p><a href="{escape(url)}" target="_blank" rel="noopener noreferrer">x</a></p>'
    assert html(f"[x]({url})") == wanted


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "src/cart.py", "//evil"]
)
def test_any_other_address_is_told_and_no_link(url: str) -> None:
    assert html(f"[x]({url})") == f'<p><span class="dead-link" title="{url}">x</span></p>'


def test_a_bare_address_is_a_link_without_the_full_stop_after_it() -> None:
    assert 'href="https://ok.example/a"' in html("see https://ok.example/a. Or (https://ok.example/b)")
    assert 'href="https://ok.example/b"' in html("see https://ok.example/a. Or (https://ok.example/b)")


def test_an_address_in_code_is_no_link() -> None:
    assert "href" not in html("`https://ok.example`")


def test_pictures_are_not_loaded() -> None:
    found = html("![a chart](https://ok.example/x.png)")
    assert "<img" not in found
    assert 'href="https://ok.example/x.png"' in found
    assert "a chart" in found


def test_a_picture_in_a_link_is_one_link() -> None:
    found = html("[![a](https://ok.example/x.png)](https://ok.example)")
    assert found.count("<a ") == 1
    assert Walk(found).faults == []


def test_code_is_handed_on_with_its_language() -> None:
    assert html("```py title=x\nx = 1 < 2\n```") == '<div class="code py">x = 1 &lt; 2</div>'


def test_code_within_a_list_stays_there() -> None:
    assert html("1. a\n   ```sh\n   ls\n   ```\n2. b") == (
        '<ol><li>a<div class="code sh">ls</div>\n</li>\n<li>b</li>\n</ol>'
    )


def test_text_that_looks_like_the_place_of_a_code_block_stays_text() -> None:
    found = html('<pre data-code="0"></pre>\n\n```\nx\n```')
    assert found.count('<div class="code ">x</div>') == 1


@pytest.mark.parametrize("formula", ["$a_1 * b_1 * c$", "\\(x^2\\)", "$$\\frac{a}{b}$$"])
def test_formulas_stay_as_they_were_typed(formula: str) -> None:
    found = html(f"so {formula} holds")
    assert formula in Walk(found).text
    assert "<em>" not in found


def test_a_displayed_formula_keeps_its_brackets_and_escaped_brackets_lose_their_backslashes() -> None:
    assert Walk(html("\\[ x \\]\n")).text.strip() == "\\[ x \\]"
    assert Walk(html("an \\[x\\] here")).text.strip() == "an [x] here"


def test_backslashes_of_formulas_stay_as_they_are_in_code() -> None:
    assert html("```\nre.match('\\(x\\)')\n```") == str(code("re.match('\\(x\\)')", ""))


def test_a_text_of_any_depth_is_written_in_bounded_depth() -> None:
    found = html("> " * 5_000 + "x")
    assert found.count("<blockquote>") < 100
    assert "x" in Walk(found).text


def test_what_cant_be_seen_is_marked() -> None:
    found = html("user\u202egnp.exe `a\u200bb`")
    assert found.count('class="hidden-char"') == 2
    assert "RIGHT-TO-LEFT OVERRIDE" in found


def test_halves_of_characters_and_nuls_do_no_harm() -> None:
    html("a\ud800b\0c").encode()


def test_footnotes_and_alerts_are_written() -> None:
    found = html("a[^1]\n\n[^1]: the note\n\n> [!WARNING]\n> careful")
    assert "<sup>[1]</sup>" in found
    assert '<blockquote class="alert warning">' in found
    assert Walk(found).faults == []
