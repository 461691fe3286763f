"""Views as Markdown, for GitHub and similar sites.

The model writes Markdown, which is kept. HTML in text is escaped, so that nothing in a transcript can run or hide what
follows it. Each fence is longer than any fence in its content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.render import card as parts
from turnlog.render.card import Card, QuestionChoice, Section
from turnlog.render.markdown_text import (
    close_open_fence,
    emphasise_text,
    escape_html_tags,
    escape_markdown,
    fence_text,
    keep_line_breaks,
    quote_text,
    to_inline_code,
)
from turnlog.render.phrases import (
    describe_agent,
    describe_compaction,
    describe_picture,
    format_json,
    format_turn_head,
    format_utc_time,
    list_card_facts,
    list_diff_lines,
    list_hit_lines,
    to_screen_text,
)
from turnlog.render.render_options import RenderOptions, filter_view
from turnlog.render.view import (
    AnswerBlock,
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
from turnlog.session.lost_texts import describe_lost_text

_LANGUAGE_NAME = re.compile(r"[\w+#.-]{1,40}")
_WEB_ADDRESS = re.compile(r"https?://[^\s<>()\"']+", re.IGNORECASE)
_TASK_BOXES = {"completed": "[x]"}
_TONE_LABELS = {"error": "Error", "warning": "Warning"}


def render_markdown(view: AnyView, options: RenderOptions = RenderOptions()) -> str:  # noqa: B008 - a value, not an object
    """Render a view as Markdown that ends with a newline; return an empty string if the options exclude all of it."""
    chosen = filter_view(view, options)
    pieces = [piece.rstrip() for piece in _iter_pieces(chosen, options)] if chosen is not None else []
    text = "\n\n".join(filter(None, pieces))
    return escape_html_tags(text + "\n", folds=options.details) if text else ""


def _iter_pieces(view: AnyView, options: RenderOptions) -> Iterator[str]:
    match view:
        case PromptView():
            yield from _render_prompt(view)
        case AnswerView():
            yield emphasise_text(lost) if (lost := describe_lost_text(view.lost_tokens)) else ""
            for block in view.blocks:
                yield from _render_block(block, options)
        case EventView():
            yield from _render_event(view)
        case CompactionView():
            yield "---"
            yield emphasise_text(describe_compaction(view))
            yield from _render_fold(
                "Summary", [quote_text(close_open_fence(view.summary))] if view.summary else [], options
            )
        case MetaView():
            yield "\n".join(
                f"- {to_inline_code(f'{row.name} {format_utc_time(row.time)}'.strip())} {escape_markdown(row.gist)}"
                for row in view.rows
            )


# -- prompts and answers


def _render_prompt(view: PromptView) -> Iterator[str]:
    is_start = view.turn and view.kind != "typed"
    yield (
        f"## {escape_markdown(format_turn_head(view))}"
        if is_start
        else f"**{escape_markdown(format_turn_head(view))}**"
    )
    if view.text:
        yield quote_text(keep_line_breaks(close_open_fence(view.text)))
    for name, text in view.context:
        yield f"*{escape_markdown(name)}*"
        yield fence_text(text)
    for picture in view.pictures:
        yield _render_picture(picture)


def _render_block(block: AnswerBlock, options: RenderOptions) -> Iterator[str]:
    match block:
        case AnswerText(text):
            yield close_open_fence(text)
        case AnswerThinking(text):
            if text.strip():
                yield from _render_fold("Thinking", [quote_text("*Thinking*\n\n" + close_open_fence(text))], options)
        case AnswerPicture(picture):
            yield _render_picture(picture)
        case AnswerCall(card):
            yield from _render_card(card, options)
        case AnswerOther(kind, value):
            yield f"*{escape_markdown(kind or 'a block without a name')}*"
            yield fence_text(format_json(value), "json")


def _render_event(view: EventView) -> Iterator[str]:
    text = to_screen_text(view.text) if view.is_terminal else view.text.strip()
    tone = f"**{_TONE_LABELS[view.tone]}:** " if view.tone in _TONE_LABELS else ""
    if "\n" in text:
        yield f"{tone}*{escape_markdown(view.kind)}*"
        yield fence_text(text)
    elif text:
        yield tone + emphasise_text(text)
    if view.detail.strip():
        yield fence_text(to_screen_text(view.detail) if view.is_terminal else view.detail)


# -- calls


def _render_card(card: Card, options: RenderOptions) -> Iterator[str]:
    title = " ".join(card.title.split())
    head = [
        f"**{escape_markdown(card.tool or 'a tool without a name')}**",
        to_inline_code(title) if title else "",
        *map(escape_markdown, list_card_facts(card)),
    ]
    line = " · ".join(filter(None, head))
    sections = [piece for section in (*card.asked, *card.answered) for piece in _render_section(section)]
    if options.details and sections:
        plain = " · ".join(filter(None, [card.tool, title, *list_card_facts(card)]))
        yield from _render_fold(plain, sections, options)
    else:
        yield line
        yield from sections


def _render_fold(title: str, pieces: list[str], options: RenderOptions) -> Iterator[str]:
    if not options.details or not pieces:
        yield from pieces
        return
    yield open_details(title)
    yield from pieces
    yield "</details>"


def open_details(title: str) -> str:
    """Start a fold, which ends with `</details>`."""
    summary = " ".join(title.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<details>\n<summary>{summary}</summary>"


def _render_section(section: Section) -> Iterator[str]:
    match section:
        case parts.CodeSection():
            yield from _render_titled(section.title, fence_text(section.text, _to_fence_language(section.language)))
        case parts.TerminalSection():
            if text := to_screen_text(section.text):
                yield from _render_titled("Error output" if section.stream == "error" else "", fence_text(text))
        case parts.DiffSection():
            yield from _render_titled(section.note, fence_text("\n".join(list_diff_lines(section)), "diff"))
        case parts.TextSection():
            yield from _render_titled(section.title, quote_text(close_open_fence(section.text)))
        case parts.PlainSection():
            yield from _render_titled(section.title, fence_text(section.text) if section.text.strip() else "")
        case parts.FieldsSection():
            yield "\n".join(f"- {escape_markdown(name)}: {to_inline_code(value)}" for name, value in section.rows)
        case parts.TreeSection():
            yield from _render_titled(section.title, fence_text(format_json(section.value), "json"))
        case parts.HitsSection():
            yield fence_text("\n".join(list_hit_lines(section))) if section.rows else ""
        case parts.LinkSection():
            yield from _render_link(section)
        case parts.ChecklistSection():
            yield "\n".join(_render_task(task) for task in section.tasks)
        case parts.QuestionsSection():
            yield from (_render_choice(choice) for choice in section.choices)
        case parts.AgentSection():
            yield f"*Sub-agent: {escape_markdown(describe_agent(section))}*"
        case parts.Picture():
            yield _render_picture(section)


def _render_titled(title: str, text: str) -> Iterator[str]:
    if title and text:
        yield f"*{escape_markdown(' '.join(title.split()))}*"
    yield text


def _render_link(link: parts.LinkSection) -> Iterator[str]:
    name = escape_markdown(" ".join((link.title or link.url).split()))
    yield f"[{name}]({link.url})" if _WEB_ADDRESS.fullmatch(link.url) else f"{name} {to_inline_code(link.url)}"
    if link.text:
        yield quote_text(close_open_fence(link.text))


def _render_task(task: parts.ChecklistTask) -> str:
    notes = [task.state.replace("_", " ") if task.state not in ("pending", "completed") else "", task.change]
    note = ", ".join(filter(None, notes))
    return f"- {_TASK_BOXES.get(task.state, '[ ]')} {escape_markdown(' '.join(task.text.split()))}" + (
        f" *({escape_markdown(note)})*" if note else ""
    )


def _render_choice(choice: QuestionChoice) -> str:
    lines = [f"**{escape_markdown(' '.join(choice.question.split()))}**", ""]
    for label, description in choice.options:
        mark = "[x]" if label in choice.answers else "[ ]"
        more = f": {escape_markdown(' '.join(description.split()))}" if description else ""
        lines.append(f"- {mark} {escape_markdown(' '.join(label.split()))}{more}")
    labels = {label for label, _ in choice.options}
    lines += [f"- [x] {escape_markdown(' '.join(answer.split()))}" for answer in choice.answers if answer not in labels]
    return "\n".join(lines)


def _render_picture(picture: parts.Picture) -> str:
    return f"*\\[{escape_markdown(describe_picture(picture))}\\]*"


def _to_fence_language(name: str) -> str:
    """Return what may follow a fence: the name of a language, or the extension of a file name."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    word = last.rsplit(".", 1)[-1] if "." in last else last
    return word if _LANGUAGE_NAME.fullmatch(word) else ""
