"""Views as Markdown: readable, and nothing of a transcript acts in it or breaks out of its place."""

from __future__ import annotations

from typing import Any

import pyromark
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.attacks import ATTACKS
from tests.render.fill import all_views
from turnlog.render import card as cards
from turnlog.render.markdown import render_markdown
from turnlog.render.markdown_text import (
    close_open_fence,
    escape_html_tags,
    escape_markdown,
    fence_text,
    quote_text,
    to_inline_code,
)
from turnlog.render.render_options import SHOW_EVERYTHING, RenderOptions
from turnlog.render.view import (
    AnswerCall,
    AnswerPicture,
    AnswerText,
    AnswerThinking,
    AnswerView,
    AnyView,
    CompactionView,
    EventView,
    MetaRow,
    MetaView,
    PromptView,
)
from turnlog.session.files.patches import Hunk

TIME = "2026-01-01T10:01:00.000Z"


def prompt(text: str, kind: str = "prompt", turn: int = 3) -> PromptView:
    return PromptView("k", turn, TIME, 0, kind, text)


def answer(*blocks: Any) -> AnswerView:
    return AnswerView("k", 1, TIME, 0, blocks)


def call(*sections: cards.Section, **more: Any) -> AnswerView:
    fields = {"title": "npm test", "outcome": "answered"} | more
    return answer(AnswerCall(cards.Card("c", "Bash", "running", asked=sections, **fields)))


def html_in(text: str) -> list[str]:
    found = pyromark.events(text)
    return [str(event) for event in found if isinstance(event, dict) and {"Html", "InlineHtml"} & event.keys()]


def code_in(text: str) -> list[str]:
    """The texts of the code blocks of a document."""
    found: list[str] = []
    inside = False
    for event in pyromark.events(text, merge_text=True):
        if isinstance(event, dict) and "CodeBlock" in str(event.get("Start", "")):
            inside = True
            found.append("")
        elif event == {"End": "CodeBlock"}:
            inside = False
        elif inside and isinstance(event, dict) and "Text" in event:
            found[-1] += event["Text"]
    return found


def test_a_prompt_is_a_heading_and_a_quotation_whose_lines_stay_lines() -> None:
    assert render_markdown(prompt("one\ntwo\n\nthree")) == (
        "## Turn 3 · 2026-01-01 10:01 UTC\n\n> one  \n> two\n>\n> three\n"
    )


def test_what_was_typed_while_it_worked_is_no_heading() -> None:
    assert render_markdown(prompt("wait", "typed")).startswith(
        "**Typed while the model worked · 2026-01-01 10:01 UTC**\n\n> wait"
    )


def test_a_prompt_of_a_sub_agent_is_no_heading() -> None:
    assert render_markdown(prompt("look", turn=0)).startswith("**Prompt · ")


def test_the_markdown_of_an_answer_stays_as_it_is() -> None:
    text = "# Head\n\n| a | b |\n|---|---|\n| 1 | *2* |\n\n```python\nx = '<b>'\n```"
    assert render_markdown(answer(AnswerText(text))) == text + "\n"


def test_a_fence_that_is_left_open_is_closed() -> None:
    text = render_markdown(answer(AnswerText("```python\nx = 1"), AnswerText("after")))
    assert code_in(text) == ["x = 1\n"]


def test_a_fence_is_longer_than_any_in_its_text() -> None:
    inner = "a\n````\nb\n```\nc"
    assert code_in(fence_text(inner)) == [inner + "\n"]


def test_html_in_an_answer_becomes_text_and_html_in_code_stays() -> None:
    text = render_markdown(answer(AnswerText("a <script>x</script> `<i>`\n\n<div>\nb\n</div>\n\n```\n<p>\n```")))
    assert html_in(text) == []
    assert "&lt;script>x&lt;/script>" in text
    assert "`<i>`" in text
    assert code_in(text) == ["<p>\n"]


def test_a_comment_that_never_ends_does_not_swallow_the_rest() -> None:
    text = render_markdown(answer(AnswerText("<!-- open"), AnswerText("the rest")))
    assert html_in(text) == []
    assert "the rest" in text


def test_a_diff_is_a_diff() -> None:
    diff = cards.DiffSection("a.py", (Hunk(1, 1, (" x", "-y", "+z")),))
    assert "```diff\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n```" in render_markdown(call(diff))


def test_a_call_has_a_head_of_one_line() -> None:
    text = render_markdown(call(title="a `b`\nc", badges=("exit 1",), outcome="error", duration_ms=2300))
    assert text == "**Bash** · ``a `b` c`` · exit 1 · failed · 2.3 s\n"


def test_what_a_program_printed_has_no_escapes() -> None:
    assert code_in(render_markdown(call(cards.TerminalSection("\x1b[31mred\x1b[0m\rblue")))) == ["blue\n"]


def test_an_address_is_a_link_only_if_it_leads_to_the_web() -> None:
    assert "[x](https://a.example/b)" in render_markdown(call(cards.LinkSection("https://a.example/b", "x")))
    for url in ("javascript:alert(1)", "https://a.example/b) [y](javascript:x", "data:text/html,x"):
        events = pyromark.events(render_markdown(call(cards.LinkSection(url, "x"))))
        assert not any("Link" in str(event) for event in events)


def test_the_other_sections_of_a_card() -> None:
    sections = (
        cards.CodeSection("x = 1", "cart.py", "new"),
        cards.FieldsSection((("glob", "*.py"),)),
        cards.TreeSection({"a": [1]}, "given"),
        cards.HitsSection((("a.py", "3", "hit"),), 5),
        cards.ChecklistSection(
            (cards.ChecklistTask("buy", "completed"), cards.ChecklistTask("sell", "in_progress", "new"))
        ),
        cards.QuestionsSection((cards.QuestionChoice("Which?", (("A", "first"), ("B", "")), ("A", "mine")),)),
        cards.AgentSection("a1", "Explore", "look", 2, 1000, 61_000),
        cards.Picture("image", "image/png", "AAAA" * 1000, "a.png"),
        cards.TextSection("*plan*", "Plan"),
        cards.PlainSection("broken", "", "error"),
    )
    assert render_markdown(call(*sections)).split("\n\n")[1:] == [
        "*new*",
        "```py\nx = 1\n```",
        "- glob: `*.py`",
        "*given*",
        '```json\n{\n  "a": [\n    1\n  ]\n}\n```',
        "```\na.py:3: hit\n… and 4 more\n```",
        "- [x] buy\n- [ ] sell *(in progress, new)*",
        "**Which?**",
        "- [x] A: first\n- [ ] B\n- [x] mine",
        "*Sub-agent: Explore, look, 2 calls, 1,000 tokens, 1 min 1 s*",
        "*\\[image: image/png, a.png, 3 KB\\]*",
        "*Plan*",
        "> *plan*",
        "```\nbroken\n```\n",
    ]


def test_wishes_leave_out_calls_thinking_and_book_keeping() -> None:
    view = answer(AnswerThinking("hmm"), AnswerText("so"), call().blocks[0])
    assert render_markdown(view, RenderOptions(tools=False, thinking=False)) == "so\n"
    assert render_markdown(answer(AnswerThinking("hmm")), RenderOptions(thinking=False)) == ""
    assert render_markdown(MetaView("k", 0, None, 0, (MetaRow(0, "mode", TIME, "plan"),))) == ""
    assert render_markdown(MetaView("k", 0, None, 0, (MetaRow(0, "mode", TIME, "plan"),)), SHOW_EVERYTHING) == (
        "- `mode 2026-01-01 10:01 UTC` plan\n"
    )


def test_details_fold_calls_and_thinking_away_on_request() -> None:
    text = render_markdown(
        answer(AnswerThinking("hmm"), call(cards.PlainSection("out"), title="<b>").blocks[0]),
        RenderOptions(details=True),
    )
    assert text.startswith("<details>\n<summary>Thinking</summary>\n\n> *Thinking*\n>\n> hmm\n\n</details>")
    assert "<summary>Bash · &lt;b&gt;</summary>\n\n```\nout\n```\n\n</details>" in text


def test_thinking_that_was_not_recorded_is_not_mentioned() -> None:
    assert render_markdown(answer(AnswerThinking(""), AnswerText("so"))) == "so\n"


def test_an_event_is_one_line_and_its_detail_a_block() -> None:
    view = EventView("k", 1, TIME, 0, "hook", "The hook failed", "error", "line 1\nline 2")
    assert render_markdown(view) == "**Error:** *The hook failed*\n\n```\nline 1\nline 2\n```\n"


def test_a_compaction_has_its_summary() -> None:
    view = CompactionView("k", 1, TIME, 0, "auto", 1000, 200, 12, 2, "# Summary")
    assert render_markdown(view) == (
        "---\n\n*Compacted (auto): 1,000 tokens before, 200 after; the summary replaces 12 entries; 2 messages"
        " kept*\n\n> # Summary\n"
    )


def test_a_picture_without_data_is_named() -> None:
    assert render_markdown(answer(AnswerPicture(cards.Picture("image", "image/png", "", "a.png")))) == (
        "*\\[image: image/png, a.png\\]*\n"
    )


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_in_every_field_of_every_view_leaves_no_html(name: str) -> None:
    for view in all_views(ATTACKS[name]):
        text = render_markdown(view, SHOW_EVERYTHING)
        text.encode()
        assert "<" not in text or html_in(text) == []


def test_where_details_are_wished_for_they_are_the_only_html() -> None:
    for view in all_views("</details></summary><script>alert(1)</script>"):
        found = html_in(render_markdown(view, RenderOptions(meta=True, details=True)))
        assert all("details>" in event or "summary>" in event for event in found)
        assert not any("script" in event for event in found if "summary" not in event)


@given(st.text(st.sampled_from("<>a`~\t #*-_[]()!&;\n\\\"'="), max_size=60))
def test_no_text_makes_html_in_a_quotation_of_a_quotation(text: str) -> None:
    assert html_in(escape_html_tags(quote_text(quote_text(close_open_fence(text))) + "\n")) == []


@given(st.text(st.sampled_from("<>a`~\t #*-_[]()!&;\\\"'="), max_size=40))
def test_an_escaped_text_is_read_as_it_was_written(text: str) -> None:
    found = [
        event["Text"]
        for event in pyromark.events("x" + escape_markdown(text))
        if isinstance(event, dict) and "Text" in event
    ]
    assert "".join(found) == "x" + " ".join(text.split())


@given(st.text(st.sampled_from("a` b"), max_size=20))
def test_code_in_a_line_is_read_as_it_was_written(text: str) -> None:
    line = " ".join(text.split())
    found = [
        event["Code"]
        for event in pyromark.events("x " + to_inline_code(text))
        if isinstance(event, dict) and "Code" in event
    ]
    assert found == ([line] if line else [])


@given(st.text(st.sampled_from("`~a\n >"), max_size=60))
def test_nothing_stands_in_a_fence_that_was_opened_by_the_text_before(text: str) -> None:
    view: AnyView = answer(AnswerText(text), AnswerText("THE-END"))
    assert not any("THE-END" in code for code in code_in(render_markdown(view)))
