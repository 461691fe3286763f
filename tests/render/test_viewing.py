"""Views of a timeline's items: one for each, the same from a whole session and from an excerpt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.cards import build_views, cards, recorded_sessions
from tests.session.build import Build, encode_lines, find_recording, genuine, outcome, use
from tests.session.test_any import draw_damaged_session, entries, spans
from turnlog.demo import config_dir
from turnlog.render.card import LinkSection, Picture, TreeSection
from turnlog.render.html import HtmlWriter
from turnlog.render.markdown import render_markdown
from turnlog.render.pictures import find_picture, find_pictures
from turnlog.render.text import render_text
from turnlog.render.view import (
    AnswerCall,
    AnswerOther,
    AnswerPicture,
    AnswerText,
    AnswerThinking,
    AnswerView,
    AnyView,
    CompactionView,
    EventView,
    MetaView,
    PromptView,
)
from turnlog.render.view_builder import build_item_views
from turnlog.session.session import Session
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline_builder import build_timeline

PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
PDF = {"type": "document", "title": "terms.pdf", "source": {"media_type": "application/pdf", "data": "JVBERi0="}}


def alike(session: Session, window: int = 5) -> None:
    """Views of the whole, of all items read again, and of windows of items must be the same."""
    found = build_timeline(session)
    whole = Excerpt.from_session(session)
    everything = build_item_views(whole, found.items, found.head)
    assert len(everything) == len(found.items)
    assert build_item_views(Excerpt.read(session.file.source, found.items), found.items, found.head) == everything
    for first in range(0, len(found.items), window):
        some = found.items[first : first + window]
        assert build_item_views(Excerpt.read(session.file.source, some), some) == build_item_views(whole, some)


@pytest.mark.parametrize("path", recorded_sessions(), ids=lambda path: "/".join(path.parts[-6:]))
def test_an_excerpt_gives_the_views_that_the_whole_session_gives(path: Path) -> None:
    with Session.open(path) as session:
        alike(session)


@pytest.mark.slow
@pytest.mark.corpus
def test_an_excerpt_of_any_published_session_gives_the_views_of_the_whole(corpus: Path) -> None:
    for path in corpus.rglob("*.jsonl"):
        with Session.open(path) as session:
            alike(session, window=100)


def test_every_line_of_a_file_is_in_a_view_at_its_place() -> None:
    session = genuine("2.1.325/tools")
    offsets = {entry.offset for entry in session.file.items}
    told: set[int] = set()
    for item in build_timeline(session).items:
        told |= {place[0] for place in (*item.lines, *item.results)}
    assert told == offsets
    assert {view.offset for view in build_views(session)} <= offsets


def test_broken_lines_have_rows_with_the_reason_wherever_they_stand() -> None:
    lines = b"\xef\xbb\xbf" + encode_lines([{"type": "mode", "mode": "plan"}]) + b'{"torn": tru\n\n\0\0\n// note\n'
    session = Session.from_bytes(lines + b'{"type":"tag","tag":"x"}{"a":1}\n{"cut')
    alike(session)
    (meta,) = build_views(session)
    assert isinstance(meta, MetaView)
    assert [(row.name, row.gist) for row in meta.rows] == [
        ("no entry/bom", "a byte order mark"),
        ("mode", "mode: plan"),
        ("no entry/broken", "JSON is malformed: invalid character (byte 13)"),
        ("no entry/blank", "an empty line"),
        ("no entry/padding", "2 NUL bytes"),
        ("no entry/comment", "a comment line"),
        ("tag", "tag x"),
        ("(no type)", "a 1"),
        ("no entry/broken", "JSON is malformed: invalid character (byte 5)"),
    ]
    assert [row.offset for row in meta.rows][:3] == [0, 3, 33]


# -- prompts


def first(build: Build) -> AnyView:
    return build_views(build.session())[0]


def test_a_prompt_has_its_words_its_context_and_its_pictures() -> None:
    build = Build()
    words = {"type": "text", "text": "<ide_opened_file>cart.py</ide_opened_file>Why?"}
    build.prompt([words, PNG, PDF])
    build.answer("So.")
    view = first(build)
    assert isinstance(view, PromptView)
    assert (view.kind, view.text, view.context) == ("prompt", "Why?", (("ide_opened_file", "cart.py"),))
    assert view.pictures == (
        Picture("image", "image/png", "iVBORw0KGgo=", "", 0, 0),
        Picture("document", "application/pdf", "JVBERi0=", "terms.pdf", 0, 1),
    )
    assert (view.turn, view.offset, view.key) == (1, 0, "user-0")


def test_a_picture_can_be_found_again_by_its_place() -> None:
    body: dict[str, Any] = {"message": {"content": [outcome("c1", [PNG]), PDF, "x", {"type": "image"}]}}
    found = find_pictures(body, 7)
    assert [(item.owner, item.picture.kind, item.picture.place) for item in found] == [
        ("c1", "image", 0),
        (None, "document", 1),
        (None, "image", 2),
    ]
    assert [find_picture(body, 7, place) for place in range(3)] == [item.picture for item in found]
    assert find_picture(body, 7, 3) is None
    assert find_picture(body, 7, -1) is None


def test_a_picture_that_only_the_record_holds_belongs_to_the_result() -> None:
    file = {"base64": "JVBERi0=", "filePath": "/a.pdf"}
    body = {"message": {"content": [outcome("c1", "read")]}, "toolUseResult": {"type": "pdf", "file": file}}
    (found,) = find_pictures(body, 0)
    assert (found.owner, found.picture.media_type, found.picture.name) == ("c1", "application/pdf", "/a.pdf")


def test_a_slash_command_a_bash_line_and_a_message_of_a_teammate_are_prompts_of_their_kind() -> None:
    build = Build()
    build.prompt("<command-name>/greet</command-name><command-args>World</command-args>")
    build.answer("Hi.")
    build.prompt("<bash-input>ls</bash-input>")
    build.prompt('<teammate-message teammate_id="lead">Build it.</teammate-message>')
    build.answer("Yes.")
    found = [view for view in build_views(build.session()) if isinstance(view, PromptView)]
    assert [(view.kind, view.text) for view in found] == [
        ("command", "/greet World"),
        ("bash", "!ls"),
        ("teammate", "Build it."),
    ]
    assert [(view.speaker, view.sender) for view in found] == [("person", None), ("person", None), ("teammate", "lead")]


def test_the_prompt_of_a_sub_agent_is_not_headed_as_the_persons() -> None:
    build = Build()
    build.prompt("count the files", isSidechain=True)
    build.answer("5", isSidechain=True)
    view = first(build)
    assert isinstance(view, PromptView)
    html = str(HtmlWriter(lambda _: None).write_view(view))
    assert "Parent agent" in html
    assert "You" not in html


def test_a_message_of_another_agent_is_a_prompt_that_names_who_sent_it() -> None:
    build = Build()
    words = 'Another Claude session sent a message:\n<agent-message from="x">\nDone.\n</agent-message>'
    build.prompt(words, isMeta=True, origin={"kind": "peer", "from": "helper"})
    build.answer("Thanks.")
    view = first(build)
    assert isinstance(view, PromptView)
    assert (view.kind, view.speaker, view.sender, view.text) == ("peer", "peer", "helper", "Done.")
    heads = render_markdown(view), render_text(view), str(HtmlWriter(lambda _: None).write_view(view))
    assert all("From another agent (helper)" in head and "You" not in head for head in heads)


def test_a_notification_that_set_off_work_says_what_happened_and_what_was_handed_over() -> None:
    build = Build()
    build.prompt(
        "<task-notification><task-id>b1</task-id><status>completed</status><summary>Agent finished</summary>"
        "<result>All **good**.</result></task-notification>"
    )
    build.answer("Nice.")
    view = first(build)
    assert isinstance(view, PromptView)
    assert (view.kind, view.text, view.context) == ("notification", "Agent finished", (("result", "All **good**."),))


def test_what_was_typed_meanwhile_is_a_prompt_where_it_was_taken_up() -> None:
    build = Build()
    build.prompt("go")
    build.call()
    build.result()
    build.attachment("queued_command", prompt=[{"type": "text", "text": "and the tests"}, PNG])
    build.answer("Yes.")
    view = next(view for view in build_views(build.session()) if isinstance(view, PromptView) and view.kind == "typed")
    assert (view.text, len(view.pictures)) == ("and the tests", 1)


def test_what_old_clients_queued_is_a_prompt_too() -> None:
    path = next(config_dir().glob("projects/*/67df1d90-*.jsonl"))
    with Session.open(path) as session:
        typed = [view for view in build_views(session) if isinstance(view, PromptView) and view.kind == "typed"]
    assert [view.text for view in typed] == ["upper and lower case should not matter"]


# -- answers


def answer(*blocks: Any, **fields: Any) -> AnswerView:
    build = Build()
    build.prompt()
    build.answer(*blocks, **fields)
    found = build_views(build.session())[1]
    assert isinstance(found, AnswerView)
    return found


def test_the_blocks_of_an_answer_stand_in_true_order() -> None:
    view = answer(
        {"type": "thinking", "thinking": "hm\n"},
        {"type": "redacted_thinking", "data": "x"},
        "So **this**.",
        use("c1", "Bash"),
        PNG,
        {"type": "fallback", "to": 1},
        {"type": "text", "text": ["no text"]},
        "  ",
    )
    assert [type(block) for block in view.blocks] == [
        AnswerThinking,
        AnswerThinking,
        AnswerText,
        AnswerCall,
        AnswerPicture,
        AnswerOther,
        AnswerOther,
    ]
    assert view.blocks[:3] == (AnswerThinking("hm"), AnswerThinking(""), AnswerText("So **this**."))
    shot, odd = view.blocks[4:6]
    assert isinstance(shot, AnswerPicture)
    assert (shot.picture.offset, shot.picture.place) == (view.offset, 0)
    assert odd == AnswerOther("fallback", {"type": "fallback", "to": 1})


def test_an_answer_says_what_it_used_and_cost() -> None:
    usage = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 7}
    view = answer("x", usage=usage, model="claude-opus-4-8")
    assert view.tokens is not None
    assert (view.tokens.input, view.tokens.output, view.tokens.cache_read, view.tokens.cache_write) == (10, 20, 5, 7)
    assert view.tokens.cost_usd is not None
    assert view.tokens.quality == "final"
    unknown = answer("x", usage=usage, model="nobody-knows-1").tokens
    assert unknown is not None
    assert unknown.cost_usd is None
    assert answer("x").tokens is None


def test_the_lines_of_one_message_are_one_answer_with_the_results_between_them() -> None:
    build = Build(step=1)
    build.prompt()
    build.answer(use("c1"), id="m1", stop=None)
    build.result("c1", "one")
    build.answer(use("c2"), id="m1", uuid="second")
    build.result("c2", "two")
    found = [view for view in build_views(build.session()) if isinstance(view, AnswerView)]
    assert len(found) == 1
    one, two = cards(list(found))
    offsets = [entry.offset for entry in build.session().entries]
    assert (one.offset, one.result_offset, one.duration_ms) == (offsets[1], offsets[2], 1000)
    assert (two.offset, two.result_offset) == (offsets[3], offsets[4])


def test_a_call_without_an_id_is_shown_at_its_place_without_a_result() -> None:
    view = answer(use(None, "Read", {"file_path": "/a"}), use(5, "Read", {"file_path": "/b"}))
    found = list(cards([view]))
    assert [(card.id, card.title, card.outcome) for card in found] == [
        (f"@{view.offset}", "/a", "unanswered"),
        (f"@{view.offset}", "/b", "unanswered"),
    ]


def test_what_the_api_carried_out_itself_is_a_card_with_its_result() -> None:
    call = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "fruit"}}
    page = {"type": "web_search_result", "url": "https://example.com", "title": "Fruit", "encrypted_content": "x"}
    failed = {"type": "web_search_tool_result", "tool_use_id": "s2", "content": {"error_code": "unavailable"}}
    sealed = {"type": "advisor_tool_result", "tool_use_id": "s3", "content": {"encrypted_content": "x"}}
    lost = {"type": "web_fetch_tool_result", "tool_use_id": "none", "content": []}
    view = answer(
        call,
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [page]},
        {**call, "id": "s2"},
        failed,
        {**call, "id": "s3", "name": "advisor", "input": {}},
        sealed,
        {**call, "id": "s4"},
        lost,
    )
    found = list(cards([view]))
    assert [(card.tool, card.family, card.title, card.outcome) for card in found] == [
        ("web_search", "web", "fruit", "answered"),
        ("web_search", "web", "fruit", "error"),
        ("advisor", "other", "", "answered"),
        ("web_search", "web", "fruit", "unanswered"),
    ]
    assert found[0].answered == (LinkSection("https://example.com", "Fruit"),)
    assert not any(isinstance(section, TreeSection) for section in found[2].answered)
    assert isinstance(view.blocks[-1], AnswerOther)


def test_an_api_error_is_an_answer_that_says_so() -> None:
    view = answer("API Error: 529", model="<synthetic>", isApiErrorMessage=True)
    assert (view.is_error, view.is_synthetic) == (True, True)


# -- compactions


def test_a_compaction_tells_what_the_head_knows_and_shows_the_summary() -> None:
    build = Build()
    build.prompt("one", "u1")
    build.answer("two", uuid="a1")
    build.boundary("b1", trigger="manual", postTokens=90, preservedMessages={"uuids": ["a1"]})
    build.summary("We **talked**.")
    found = next(view for view in build_views(build.session()) if isinstance(view, CompactionView))
    assert (found.trigger, found.before, found.after) == ("manual", 1000, 90)
    assert (found.entries, found.preserved) == (2, 1)
    assert found.summary == "We **talked**."
    alone = next(view for view in build_views(build.session(), head=False) if isinstance(view, CompactionView))
    assert (alone.trigger, alone.before, alone.entries, alone.preserved) == ("manual", 1000, 0, 1)


# -- genuine sessions of every era


@pytest.mark.parametrize("version", ["1.0.128", "2.0.76", "2.1.29", "2.1.45", "2.1.325"])
def test_a_session_of_every_era_has_prompts_answers_and_cards_that_say_what_they_are_about(version: str) -> None:
    with Session.open(find_recording(f"{version}/tools")) as session:
        found = build_views(session)
    assert any(isinstance(view, PromptView) for view in found)
    made = list(cards(found))
    assert {"Bash", "Read", "Edit", "Write"} <= {card.tool for card in made}
    assert all(card.title and "\n" not in card.title and len(card.title) <= 200 for card in made)
    assert any(card.outcome == "error" for card in made)
    assert all(card.answered for card in made if card.outcome == "error")


def test_the_demo_has_every_kind_of_view() -> None:
    seen: set[str] = set()
    for path in config_dir().glob("projects/*/????????-*.jsonl"):
        with Session.open(path) as session:
            seen |= {type(view).__name__ for view in build_views(session)}
    assert seen == {kind.__name__ for kind in (PromptView, AnswerView, EventView, CompactionView, MetaView)}


# -- whatever stands there


@given(st.lists(entries, max_size=6))
def test_any_json_objects_give_the_same_views_from_the_whole_and_from_an_excerpt(lines: list[dict[str, Any]]) -> None:
    alike(Session.from_bytes(encode_lines(lines)))


@given(draw_damaged_session())
def test_real_entries_with_fields_of_any_json_give_the_same_views_too(lines: list[dict[str, Any]]) -> None:
    alike(Session.from_bytes(encode_lines(lines)))


def test_an_entry_that_is_nested_without_end_has_views() -> None:
    alike(Session.from_bytes(spans(100_000)))
