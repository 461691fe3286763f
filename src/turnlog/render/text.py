"""Views as plain text, for emails, tickets and programs without markup."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.render import card as parts
from turnlog.render.card import Card, Section
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

INDENT = "    "
_RULE_LINE = "=" * 72
_TASK_BOXES = {"completed": "[x]", "in_progress": "[>]"}


def render_text(view: AnyView, options: RenderOptions = RenderOptions()) -> str:  # noqa: B008 - a value, not an object
    """Render a view as plain text that ends with a newline; return an empty string if the options exclude all of it."""
    chosen = filter_view(view, options)
    pieces = [piece.strip("\n") for piece in _iter_pieces(chosen)] if chosen is not None else []
    return "".join(f"{piece}\n\n" for piece in pieces if piece.strip())


def _iter_pieces(view: AnyView) -> Iterator[str]:
    match view:
        case PromptView():
            yield from _render_prompt(view)
        case AnswerView():
            yield _bracket_text(describe_lost_text(view.lost_tokens))
            for block in view.blocks:
                yield from _render_block(block)
        case EventView():
            text = to_screen_text(view.text) if view.is_terminal else view.text
            tone = f"{view.tone.upper()}: " if view.tone in ("error", "warning") else ""
            yield _bracket_text(tone + text.strip())
            yield indent_text(to_screen_text(view.detail) if view.is_terminal else view.detail)
        case CompactionView():
            yield f"{_RULE_LINE}\n{describe_compaction(view)}"
            yield indent_text(view.summary)
        case MetaView():
            yield "\n".join(
                " ".join(filter(None, (row.name, format_utc_time(row.time), _to_line(row.gist)))) for row in view.rows
            )


def _bracket_text(text: str) -> str:
    return f"[{text}]" if text else ""


def _render_prompt(view: PromptView) -> Iterator[str]:
    yield format_turn_head(view) if view.kind == "typed" else f"{_RULE_LINE}\n{format_turn_head(view)}\n{_RULE_LINE}"
    yield indent_text(view.text, "> ")
    for name, text in view.context:
        yield f"{_to_line(name)}:\n{indent_text(text)}"
    for picture in view.pictures:
        yield _bracket_text(describe_picture(picture))


def _render_block(block: AnswerBlock) -> Iterator[str]:
    match block:
        case AnswerText(text):
            yield _normalise_line_ends(text)
        case AnswerThinking(text):
            yield f"(thinking)\n{indent_text(text, '| ')}" if text.strip() else ""
        case AnswerPicture(picture):
            yield _bracket_text(describe_picture(picture))
        case AnswerCall(card):
            yield _render_card(card)
        case AnswerOther(kind, value):
            yield f"[{_to_line(kind)}]\n{indent_text(format_json(value))}"


def _render_card(card: Card) -> str:
    more = ", ".join(map(_to_line, list_card_facts(card)))
    head = f"* {_to_line(card.tool)} {_to_line(card.title)}".rstrip() + (f" ({more})" if more else "")
    pieces = [piece for section in (*card.asked, *card.answered) for piece in _render_section(section)]
    return "\n".join([head, *(indent_text(piece.strip("\n")) for piece in pieces if piece.strip())])


def _render_section(section: Section) -> Iterator[str]:
    match section:
        case parts.CodeSection() | parts.TextSection() | parts.PlainSection():
            yield _render_titled(section.title, section.text)
        case parts.TerminalSection():
            yield _render_titled("error output" if section.stream == "error" else "", to_screen_text(section.text))
        case parts.DiffSection():
            yield _render_titled(section.note, "\n".join(list_diff_lines(section)))
        case parts.FieldsSection():
            yield "\n".join(f"{_to_line(name)}: {_to_line(value)}" for name, value in section.rows)
        case parts.TreeSection():
            yield _render_titled(section.title, format_json(section.value))
        case parts.HitsSection():
            yield "\n".join(list_hit_lines(section))
        case parts.LinkSection():
            yield "\n".join(filter(None, (_to_line(section.title), section.url, section.text)))
        case parts.ChecklistSection():
            yield "\n".join(_render_task(task) for task in section.tasks)
        case parts.QuestionsSection():
            yield from (_render_choice(choice) for choice in section.choices)
        case parts.AgentSection():
            yield f"sub-agent: {_to_line(describe_agent(section))}"
        case parts.Picture():
            yield _bracket_text(describe_picture(section))


def _render_titled(title: str, text: str) -> str:
    return f"{_to_line(title)}:\n{text}" if title and text.strip() else text


def _render_task(task: parts.ChecklistTask) -> str:
    state = "" if task.state in ("pending", *_TASK_BOXES) else task.state
    note = ", ".join(filter(None, (state, task.change)))
    return f"{_TASK_BOXES.get(task.state, '[ ]')} {_to_line(task.text)}" + (f" ({_to_line(note)})" if note else "")


def _render_choice(choice: parts.QuestionChoice) -> str:
    lines = [_to_line(choice.question)]
    for label, description in choice.options:
        lines.append(
            f"{_render_choice_mark(label in choice.answers)} {_to_line(label)}"
            + (f": {_to_line(description)}" if description else "")
        )
    labels = {label for label, _ in choice.options}
    lines += [f"{_render_choice_mark(True)} {_to_line(answer)}" for answer in choice.answers if answer not in labels]
    return "\n".join(lines)


def _render_choice_mark(is_chosen: bool) -> str:
    return "(x)" if is_chosen else "( )"


def _to_line(text: str) -> str:
    return " ".join(text.split())


def _normalise_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def indent_text(text: str, prefix: str = INDENT) -> str:
    """Put a prefix before each line of text; empty text is left empty."""
    if not text.strip():
        return ""
    return "\n".join(f"{prefix}{line}".rstrip() for line in _normalise_line_ends(text).strip("\n").split("\n"))
