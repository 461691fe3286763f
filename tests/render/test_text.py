"""Views as plain text."""

from __future__ import annotations

from typing import Any

import pytest

from tests.render.attacks import ATTACKS
from tests.render.fill import all_views
from turnlog.render import card as cards
from turnlog.render.render_options import SHOW_EVERYTHING, RenderOptions
from turnlog.render.text import indent_text, render_text
from turnlog.render.view import (
    AnswerCall,
    AnswerOther,
    AnswerPicture,
    AnswerText,
    AnswerThinking,
    AnswerView,
    CompactionView,
    EventView,
    MetaRow,
    MetaView,
    PromptView,
)
from turnlog.session.files.patches import Hunk

TIME = "2026-01-01T10:01:00.000Z"
RULE = "=" * 72


def answer(*blocks: Any) -> AnswerView:
    return AnswerView("k", 1, TIME, 0, blocks)


def call(*sections: cards.Section, **more: Any) -> AnswerView:
    fields = {"title": "npm test", "outcome": "answered"} | more
    return answer(AnswerCall(cards.Card("c", "Bash", "running", answered=sections, **fields)))


def test_a_prompt_has_the_head_of_its_turn() -> None:
    view = PromptView("k", 3, TIME, 0, "command", "/clear\nnow", (("ide_opened_file", "a.py"),))
    assert render_text(view) == (
        f"{RULE}\nTurn 3 · 2026-01-01 10:01 UTC · Command\n{RULE}\n\n> /clear\n> now\n\nide_opened_file:\n    a.py\n\n"
    )


def test_an_answer_stays_as_it_is() -> None:
    assert render_text(answer(AnswerText("# a\n\n  *b*"), AnswerText("c"))) == "# a\n\n  *b*\n\nc\n\n"


def test_thinking_stands_apart_and_is_not_mentioned_where_it_was_not_recorded() -> None:
    assert render_text(answer(AnswerThinking("one\ntwo"))) == "(thinking)\n| one\n| two\n\n"
    assert render_text(answer(AnswerThinking(""))) == ""


def test_a_call_has_a_head_of_one_line_and_its_sections_indented() -> None:
    view = call(cards.TerminalSection("\x1b[31ma\x1b[0m\n\nb", "error"), badges=("exit 1",), outcome="error")
    assert render_text(view) == "* Bash npm test (exit 1, failed)\n    error output:\n    a\n\n    b\n\n"


def test_the_other_sections_of_a_card() -> None:
    sections = (
        cards.CodeSection("x = 1", "py", "new"),
        cards.DiffSection("a.py", (Hunk(1, 1, (" x", "-y", "+z")),), note="not sure"),
        cards.FieldsSection((("glob", "*.py"),)),
        cards.TreeSection([1], "given"),
        cards.HitsSection((("a.py", "3", "hit"),), 5),
        cards.LinkSection("https://a.example", "title", "words"),
        cards.ChecklistSection(
            (cards.ChecklistTask("buy", "completed"), cards.ChecklistTask("sell", "in_progress", "new"))
        ),
        cards.QuestionsSection((cards.QuestionChoice("Which?", (("A", "first"), ("B", "")), ("A", "mine")),)),
        cards.AgentSection("a1", "Explore", "look"),
        cards.Picture("image", "image/png", "AAAA" * 1000, "a.png"),
    )
    assert render_text(call(*sections)).split("\n")[1:-2] == [
        "    new:",
        "    x = 1",
        "    not sure:",
        "    --- a/a.py",
        "    +++ b/a.py",
        "    @@ -1,2 +1,2 @@",
        "     x",
        "    -y",
        "    +z",
        "    glob: *.py",
        "    given:",
        "    [",
        "      1",
        "    ]",
        "    a.py:3: hit",
        "    … and 4 more",
        "    title",
        "    https://a.example",
        "    words",
        "    [x] buy",
        "    [>] sell (new)",
        "    Which?",
        "    (x) A: first",
        "    ( ) B",
        "    (x) mine",
        "    sub-agent: Explore, look",
        "    [image: image/png, a.png, 3 KB]",
    ]


def test_other_views() -> None:
    assert (
        render_text(EventView("k", 1, TIME, 0, "x", "It failed", "error", "why")) == "[ERROR: It failed]\n\n    why\n\n"
    )
    assert (
        render_text(CompactionView("k", 1, TIME, 0, None, None, None, 0, 0, "so far"))
        == f"{RULE}\nCompacted\n\n    so far\n\n"
    )
    assert render_text(answer(AnswerPicture(cards.Picture("document", "", "", "a.pdf")))) == "[document: a.pdf]\n\n"
    assert render_text(answer(AnswerOther("new", {"a": 1}))) == '[new]\n    {\n      "a": 1\n    }\n\n'
    meta = MetaView("k", 0, None, 0, (MetaRow(0, "mode", TIME, "plan"),))
    assert render_text(meta) == ""
    assert render_text(meta, SHOW_EVERYTHING) == "mode 2026-01-01 10:01 UTC plan\n\n"


def test_pictures_that_are_not_wished_for_lose_their_data_everywhere() -> None:
    picture = cards.Picture("image", "image/png", "QUJD" * 100, "a.png")
    odd = {"source": {"data": "QUJD" * 100}, "name": "kept"}
    view = answer(AnswerPicture(picture), AnswerOther("new", odd), *call(picture, cards.TreeSection(odd)).blocks)
    assert "QUJDQUJD" in render_text(view)
    found = render_text(view, RenderOptions(pictures=False))
    assert "QUJDQUJD" not in found
    assert found.count("kept") == 2
    assert found.count("[image: image/png, a.png]") == 2


def test_nothing_indented_is_nothing() -> None:
    assert indent_text(" \n ") == ""


@pytest.mark.parametrize("name", ATTACKS)
def test_any_text_in_any_field_can_be_written(name: str) -> None:
    for view in all_views(ATTACKS[name]):
        assert isinstance(render_text(view, SHOW_EVERYTHING), str)
