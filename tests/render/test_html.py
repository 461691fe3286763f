"""Views, cards and sections as HTML."""

from __future__ import annotations

import re
from typing import Any

import pytest

import turnlog
from tests.render.walk import Walk
from turnlog.render import card as cards
from turnlog.render import view as sights
from turnlog.render.html import HtmlWriter
from turnlog.render.sections import StandaloneLinks
from turnlog.render.view_builder import build_item_views
from turnlog.session.files.patches import Hunk
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline_builder import build_timeline

TIME = "2026-11-03T14:05:06.789Z"


class Addresses(StandaloneLinks):
    def raw(self, offset: int) -> str | None:
        return f"/raw/{offset}"

    def agent(self, agent_id: str) -> str | None:
        return f"/agent/{agent_id}"


def html(buttons: bool = False, **more: Any) -> HtmlWriter:
    return HtmlWriter(lambda picture: "/picture/1" if picture.data else None, Addresses(), buttons=buttons, **more)


def answer(*blocks: sights.AnswerBlock, **more: Any) -> sights.AnswerView:
    return sights.AnswerView("key-1", 3, TIME, 77, blocks, **more)


def call(*sections: cards.Section, **more: Any) -> cards.Card:
    given = {"id": "toolu_1", "tool": "Bash", "family": "running", "title": "ls", "outcome": "answered"} | more
    return cards.Card(**given, answered=sections)


def text_of(markup: str) -> str:
    return " ".join(Walk(markup).text.split())


# -- views


def test_an_item_says_what_and_where_it_is() -> None:
    found = html().write_view(sights.PromptView("@12", 3, TIME, 12, "prompt", "hello"))
    head = '<article class="item prompt kind-prompt" id="i-@12" data-key="@12" data-turn="3" data-time="' + TIME
    assert found.startswith(head)
    assert '<time datetime="2026-11-03T14:05:06.789000Z" title="2026-11-03 14:05:06 UTC">14:05:06</time>' in found
    assert '<a class="permalink" href="#i-@12"' in found
    assert '<a class="raw" href="/raw/12"' in found


def test_buttons_are_only_where_there_is_a_script() -> None:
    view = answer(sights.AnswerText("```\nx\n```"))
    assert "<button" not in html().write_view(view)
    found = html(buttons=True).write_view(view)
    assert '<button class="copy" type="button">' in found
    assert '<button class="copy-markdown" type="button"' in found


def test_a_time_that_is_none_is_shown_as_it_is() -> None:
    assert "yester&lt;day" in html().write_view(sights.PromptView("k", 0, "yester<day", 0, "prompt", "x"))


def test_a_prompt_is_shown_as_it_was_typed() -> None:
    found = html().write_view(sights.PromptView("k", 1, None, 0, "prompt", "def f():\n    return 1_000 * x_1"))
    assert '<div class="typed">def f():\n    return 1_000 * x_1</div>' in found


def test_a_prompt_in_markdown_is_shown_as_such() -> None:
    assert "<h3>Plan</h3>" in html().write_view(sights.PromptView("k", 1, None, 0, "prompt", "# Plan\n\n- a\n- b"))


def test_a_long_prompt_is_folded_between_paragraphs_and_nothing_is_lost() -> None:
    text = "# Plan\n\n```\n" + "code\n\n" * 40 + "```\n\n" + "a paragraph\n\n" * 100
    found = html().write_view(sights.PromptView("k", 1, None, 0, "prompt", text))
    assert found.count("a paragraph") == 100
    assert '<details class="fold"><summary>' in found


def test_what_an_editor_added_is_folded() -> None:
    found = html().write_view(sights.PromptView("k", 1, None, 0, "prompt", "x", (("ide_selection", "the <lines>"),)))
    assert (
        '<details class="context"><summary>ide_selection</summary><pre class="plain">the &lt;lines&gt;</pre>' in found
    )


def test_an_answer_tells_what_it_used() -> None:
    used = sights.AnswerTokens(10, 512, 12_000, 300, 0.0213, "final")
    found = html().write_view(answer(sights.AnswerText("x"), model="claude-opus-5-5", tokens=used))
    assert "12.3k in, 512 out" in text_of(found)
    assert "$0.021" in text_of(found)
    assert "input 10, cache read 12000, cache write 300, output 512" in found


def test_tokens_that_are_not_final_are_doubted() -> None:
    found = html().write_view(answer(tokens=sights.AnswerTokens(10, 2, quality="placeholder")))
    assert "10 in, out unknown" in text_of(found)
    assert "(placeholder: the file has no final count)" in found


def test_a_model_is_named_when_it_changes() -> None:
    models = ("one", "one", "two", "two")
    found = html().write_views([answer(sights.AnswerText("x"), model=model) for model in models])
    assert re.findall(r'class="model">(\w+)<', found) == ["one", "two"]


def test_thinking_is_folded_with_its_first_words() -> None:
    found = html().write_view(answer(sights.AnswerThinking("Two **questions**.\nMore.")))
    assert '<details class="thinking"><summary>' in found
    assert "Two questions. More." in text_of(found)


def test_thinking_that_was_not_recorded_is_said_to_be_missing() -> None:
    assert "Thinking, not recorded" in text_of(html().write_view(answer(sights.AnswerThinking(""))))


def test_a_block_of_an_unknown_kind_is_shown() -> None:
    found = html().write_view(answer(sights.AnswerOther("hologram", {"depth": 3})))
    assert "hologram" in found
    assert "depth" in found


def test_an_api_error_is_told_apart() -> None:
    assert 'class="item answer error"' in html().write_view(answer(sights.AnswerText("Overloaded"), is_error=True))


def test_an_event_has_its_tone_and_folds_its_detail() -> None:
    view = sights.EventView("k", 0, TIME, 0, "hook", "Stop failed", "warning", "the words")
    found = html().write_view(view)
    assert 'class="item event tone-warning kind-hook"' in found
    assert '<details class="detail"><summary>details</summary>' in found


def test_an_event_of_a_terminal_has_its_colours() -> None:
    view = sights.EventView("k", 0, TIME, 0, "output", "\x1b[32mok\x1b[0m", is_terminal=True)
    assert '<span class="fg-green">ok</span>' in html().write_view(view)


def test_a_compaction_tells_what_it_did_and_folds_the_summary() -> None:
    found = html().write_view(sights.CompactionView("k", 0, TIME, 0, "auto", 155_000, 12_400, 340, 4, "# Summary"))
    assert "Compacted (auto) 155k → 12.4k tokens 340 entries summarised, 4 messages kept" in text_of(found)
    assert '<details class="summary"><summary>Summary</summary><div class="prose"><h3>Summary</h3>' in found


def test_book_keeping_is_folded_with_a_link_to_each_entry() -> None:
    rows = tuple(sights.MetaRow(offset, "mode", None, "mode: plan") for offset in (5, 6))
    found = html().write_view(sights.MetaView("k", 0, TIME, 5, rows))
    assert "2 entries mode ×2" in text_of(found)
    assert 'href="/raw/6"' in found


# -- cards


def test_a_card_says_what_happened_on_one_line() -> None:
    card = call(outcome="error", badges=("exit 1",), duration_ms=1_230, offset=5, result_offset=9)
    found = html().write_card(card)
    head = '<details class="card family-running outcome-error" id="c-toolu_1" data-tool="Bash" open>'
    assert found.startswith(head)
    assert "Bash ls exit 1 error 1.2 s" in text_of(found)
    assert 'href="/raw/5"' in found
    assert 'href="/raw/9"' in found


@pytest.mark.parametrize(
    ("family", "outcome", "is_open"),
    [("reading", "answered", False), ("running", "answered", False), ("writing", "answered", True),
     ("reading", "error", True), ("asking", "answered", True)],
)  # fmt: skip
def test_edits_and_errors_are_open_and_reads_are_not(family: str, outcome: str, is_open: bool) -> None:
    assert (" open>" in html().write_card(call(family=family, outcome=outcome)).split("\n")[0]) is is_open


def test_a_fact_stands_in_the_head_once() -> None:
    assert text_of(html().write_card(call(outcome="launched", badges=("in background",)))).count("in background") == 1


def test_an_agent_leads_to_its_transcript() -> None:
    agent = cards.AgentSection("a12", "Explore", "Look around", 3, 12_345, 61_000)
    found = html().write_section(agent)
    assert '<details class="agent" data-agent="a12">' in found
    assert '<div class="agent-body" data-src="/agent/a12"></div>' in found
    assert "Explore Look around 3 calls 12.3k tokens 1 min 1 s" in text_of(found)


def test_a_transcript_can_stand_inside_of_its_agent() -> None:
    found = html(transcript=lambda agent: html().write_section(cards.PlainSection(f"did {agent}"))).write_section(
        cards.AgentSection("a12")
    )
    assert "did a12" in found


# -- sections


def test_long_output_is_folded_and_nothing_is_lost() -> None:
    found = html().write_section(cards.TerminalSection("\x1b[31m" + "\n".join(map(str, range(500)))))
    assert "440 more lines" in found
    text = Walk(found).text.replace("440 more lines", "\n")
    assert [int(line) for line in text.split()] == list(range(500))
    assert found.count('<span class="fg-red">') == 2


def test_lines_are_numbered_from_the_first() -> None:
    found = html().write_section(cards.CodeSection("a\nb", "py", first_line=41))
    assert '<pre class="numbers" aria-hidden="true">41\n42</pre>' in found


def test_numbers_go_on_in_the_fold() -> None:
    found = html().write_section(cards.CodeSection("x\n" * 200, first_line=1))
    numbers = re.findall(r'<pre class="numbers" aria-hidden="true">(.*?)</pre>', found, re.DOTALL)
    assert "\n".join(numbers).split() == [str(number) for number in range(1, 201)]


def test_a_diff_has_both_forms_and_a_box_to_switch() -> None:
    found = html().write_section(cards.DiffSection("a.py", (Hunk(1, 1, ("-a", "+b")),), note="from memory"))
    assert '<div class="unified">' in found
    assert '<div class="split">' in found
    assert '<input type="checkbox" class="side-by-side">' in found
    assert "from memory" in found


def test_a_diff_repeats_no_path_that_the_card_has() -> None:
    diff = cards.DiffSection("/home/dana/shop/cart.py", (Hunk(1, 1, ("-a", "+b")),))
    assert "/home/dana" not in html().write_card(call(diff, family="writing", title="shop/cart.py"))
    assert "/home/dana" in html().write_card(call(diff, family="writing", title="other.py"))


def test_questions_show_what_was_chosen_and_what_was_said_instead() -> None:
    choice = cards.QuestionChoice("Which?", (("A", "the first"), ("B", "")), ("B", "none of them"))
    found = html().write_section(cards.QuestionsSection((choice,)))
    assert text_of(found) == "Which? ○A the first ●B (chosen) ●none of them custom answer"


def test_a_question_is_called_unanswered_only_when_its_call_has_ended() -> None:
    """While the client waits for the answer, the card must not contradict the state beside it."""
    choice = cards.QuestionChoice("Which?", (("A", ""),), ())
    ended, is_open = (
        html().write_section(cards.QuestionsSection((choice,), has_result)) for has_result in (True, False)
    )
    assert text_of(ended) == "Which? ○A no answer"
    assert text_of(is_open) == "Which? ○A"


def test_a_checklist_shows_states_and_changes() -> None:
    tasks = (
        cards.ChecklistTask("one", "completed"),
        cards.ChecklistTask("two", "in_progress", "changed"),
        cards.ChecklistTask("three", "blocked"),
    )
    found = html().write_section(cards.ChecklistSection(tasks))
    assert text_of(found) == "☑completed: one ◐in progress: two changed •blocked: three blocked"


def test_hits_are_grouped_by_file_and_the_rest_is_counted() -> None:
    rows = (("a.py", "1", "x"), ("a.py", "2", "y"), ("b.py", "", ""))
    found = html().write_section(cards.HitsSection(rows, 12))
    assert found.count("a.py") == 1
    assert "and 9 more that the tool omitted" in found


def test_many_hits_are_folded() -> None:
    rows = tuple((f"{number}.py", "", "") for number in range(90))
    found = html().write_section(cards.HitsSection(rows, 90))
    assert "50 more places" in found
    assert "89.py" in found


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///x", "mailto:x@y.example", "https://x.example/\u202e"])
def test_only_the_web_becomes_a_link(url: str) -> None:
    assert "<a " not in html().write_section(cards.LinkSection(url, "title"))
    assert '<a href="https://ok.example"' in html().write_section(cards.LinkSection("https://ok.example"))


def test_an_image_is_shown_and_named() -> None:
    found = html().write_section(cards.Picture("image", "image/png", "AAAA", "shot.png"))
    assert '<img src="/picture/1" alt="shot.png" loading="lazy"' in found


def test_a_picture_without_a_source_is_named() -> None:
    found = html().write_section(cards.Picture("image", "image/png", "", "shot.png"))
    assert text_of(found) == "shot.png image, image/png, not shown"


def test_a_document_is_a_download() -> None:
    found = html().write_section(cards.Picture("document", "application/pdf", "AAAA", "a.pdf"))
    assert '<a href="/picture/1" download>a.pdf</a>' in found


def test_a_text_too_large_for_prose_is_shown_as_it_is() -> None:
    found = html().write_section(cards.TextSection("*word*\n" * 50_000))
    assert "<em>" not in found
    assert found.count("*word*") == 50_000


# -- genuine sessions


def test_every_genuine_session_is_written_without_a_fault(genuine: list[Any]) -> None:
    for path in genuine:
        with turnlog.open(path) as session:
            line = build_timeline(session)
            found = str(
                html(buttons=True).write_views(build_item_views(Excerpt.from_session(session), line.items, line.head))
            )
        walk = Walk(found)
        assert walk.faults == [], path
        items = [name for name in walk.ids if name.startswith("i-")]
        assert len(items) == len(set(items)) == len(line.items), path


@pytest.fixture
def genuine() -> list[Any]:
    from pathlib import Path

    from turnlog.demo import __file__ as demo

    data = Path(__file__).parents[1] / "data" / "sessions"
    found = [*data.rglob("*.jsonl"), *Path(demo).parent.rglob("projects/*/*.jsonl")]
    assert len(found) > 10
    return [path for path in sorted(found) if path.stat().st_size]
