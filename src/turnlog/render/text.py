"""Views as plain text, for mails, tickets and programs that know no markup."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.render import card as parts
from turnlog.render.card import Card, Section
from turnlog.render.view import (
    Answer,
    AnyView,
    Block,
    Called,
    Compaction,
    Event,
    Meta,
    Odd,
    Prompt,
    Said,
    Shot,
    Thought,
)
from turnlog.render.wishes import Wishes, wished
from turnlog.render.wording import (
    agent_words,
    compacted,
    diff_lines,
    facts,
    hit_lines,
    pictured,
    pretty,
    printed,
    turn_head,
    when,
)

INDENT = "    "
_RULE = "=" * 72
_BOXES = {"completed": "[x]", "in_progress": "[>]"}


def text(view: AnyView, wishes: Wishes = Wishes()) -> str:  # noqa: B008 - a value, not an object
    """A view as plain text that ends with a line end; empty where nothing of it is wished for."""
    chosen = wished(view, wishes)
    pieces = [piece.strip("\n") for piece in _pieces(chosen)] if chosen is not None else []
    return "".join(f"{piece}\n\n" for piece in pieces if piece.strip())


def _pieces(view: AnyView) -> Iterator[str]:
    match view:
        case Prompt():
            yield from _prompt(view)
        case Answer():
            for block in view.blocks:
                yield from _block(block)
        case Event():
            words = printed(view.text) if view.is_terminal else view.text
            tone = f"{view.tone.upper()}: " if view.tone in ("error", "warning") else ""
            yield _bracketed(tone + words.strip())
            yield indented(printed(view.detail) if view.is_terminal else view.detail)
        case Compaction():
            yield f"{_RULE}\n{compacted(view)}"
            yield indented(view.summary)
        case Meta():
            yield "\n".join(" ".join(filter(None, (row.name, when(row.time), _line(row.gist)))) for row in view.rows)


def _bracketed(words: str) -> str:
    return f"[{words}]" if words else ""


def _prompt(view: Prompt) -> Iterator[str]:
    yield turn_head(view) if view.kind == "typed" else f"{_RULE}\n{turn_head(view)}\n{_RULE}"
    yield indented(view.text, "> ")
    for name, words in view.context:
        yield f"{_line(name)}:\n{indented(words)}"
    for picture in view.pictures:
        yield _bracketed(pictured(picture))


def _block(block: Block) -> Iterator[str]:
    match block:
        case Said(words):
            yield _lines(words)
        case Thought(words):
            yield f"(thinking)\n{indented(words, '| ')}" if words.strip() else ""
        case Shot(picture):
            yield _bracketed(pictured(picture))
        case Called(card):
            yield _card(card)
        case Odd(kind, value):
            yield f"[{_line(kind)}]\n{indented(pretty(value))}"


def _card(card: Card) -> str:
    more = ", ".join(map(_line, facts(card)))
    head = f"* {_line(card.tool)} {_line(card.title)}".rstrip() + (f" ({more})" if more else "")
    pieces = [piece for section in (*card.asked, *card.answered) for piece in _section(section)]
    return "\n".join([head, *(indented(piece.strip("\n")) for piece in pieces if piece.strip())])


def _section(section: Section) -> Iterator[str]:
    match section:
        case parts.Code() | parts.Text() | parts.Plain():
            yield _titled(section.title, section.text)
        case parts.Terminal():
            yield _titled("error output" if section.stream == "error" else "", printed(section.text))
        case parts.Diff():
            yield _titled(section.note, "\n".join(diff_lines(section)))
        case parts.Fields():
            yield "\n".join(f"{_line(name)}: {_line(value)}" for name, value in section.rows)
        case parts.Tree():
            yield _titled(section.title, pretty(section.value))
        case parts.Hits():
            yield "\n".join(hit_lines(section))
        case parts.Link():
            yield "\n".join(filter(None, (_line(section.title), section.url, section.text)))
        case parts.Checklist():
            yield "\n".join(_task(task) for task in section.tasks)
        case parts.Questions():
            yield from (_choice(choice) for choice in section.choices)
        case parts.Agent():
            yield f"sub-agent: {_line(agent_words(section))}"
        case parts.Picture():
            yield _bracketed(pictured(section))


def _titled(title: str, words: str) -> str:
    return f"{_line(title)}:\n{words}" if title and words.strip() else words


def _task(task: parts.Task) -> str:
    state = "" if task.state in ("pending", *_BOXES) else task.state
    note = ", ".join(filter(None, (state, task.change)))
    return f"{_BOXES.get(task.state, '[ ]')} {_line(task.text)}" + (f" ({_line(note)})" if note else "")


def _choice(choice: parts.Choice) -> str:
    lines = [_line(choice.question)]
    for label, description in choice.options:
        lines.append(
            f"{_chosen(label in choice.answers)} {_line(label)}" + (f": {_line(description)}" if description else "")
        )
    labels = {label for label, _ in choice.options}
    lines += [f"{_chosen(True)} {_line(answer)}" for answer in choice.answers if answer not in labels]
    return "\n".join(lines)


def _chosen(is_so: bool) -> str:
    return "(x)" if is_so else "( )"


def _line(words: str) -> str:
    return " ".join(words.split())


def _lines(words: str) -> str:
    return words.replace("\r\n", "\n").replace("\r", "\n")


def indented(words: str, by: str = INDENT) -> str:
    """A text with something before each line; nothing stays nothing."""
    if not words.strip():
        return ""
    return "\n".join(f"{by}{line}".rstrip() for line in _lines(words).strip("\n").split("\n"))
