"""Views as Markdown, to be read on GitHub and the like.

What the model wrote is Markdown and stays so. HTML in texts is made harmless: nothing of a transcript may run, or
swallow what stands behind it, where the document is shown. Fences are longer than any in what they hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.render import card as parts
from turnlog.render.card import Card, Choice, Section
from turnlog.render.paragraphs import broken, emphasised, escaped, fenced, inline_code, prose, quoted, safe
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

_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
_WEB = re.compile(r"https?://[^\s<>()\"']+", re.IGNORECASE)
_BOXES = {"completed": "[x]"}
_TONES = {"error": "Error", "warning": "Warning"}


def markdown(view: AnyView, wishes: Wishes = Wishes()) -> str:  # noqa: B008 - a value, not an object
    """A view as Markdown that ends with a line end; empty where nothing of it is wished for."""
    chosen = wished(view, wishes)
    pieces = [piece.rstrip() for piece in _pieces(chosen, wishes)] if chosen is not None else []
    text = "\n\n".join(filter(None, pieces))
    return safe(text + "\n", folds=wishes.details) if text else ""


def _pieces(view: AnyView, wishes: Wishes) -> Iterator[str]:
    match view:
        case Prompt():
            yield from _prompt(view)
        case Answer():
            for block in view.blocks:
                yield from _block(block, wishes)
        case Event():
            yield from _event(view)
        case Compaction():
            yield "---"
            yield emphasised(compacted(view))
            yield from _folded("Summary", [quoted(prose(view.summary))] if view.summary else [], wishes)
        case Meta():
            yield "\n".join(
                f"- {inline_code(f'{row.name} {when(row.time)}'.strip())} {escaped(row.gist)}" for row in view.rows
            )


# -- what was said


def _prompt(view: Prompt) -> Iterator[str]:
    is_start = view.turn and view.kind != "typed"
    yield f"## {escaped(turn_head(view))}" if is_start else f"**{escaped(turn_head(view))}**"
    if view.text:
        yield quoted(broken(prose(view.text)))
    for name, text in view.context:
        yield f"*{escaped(name)}*"
        yield fenced(text)
    for picture in view.pictures:
        yield _picture(picture)


def _block(block: Block, wishes: Wishes) -> Iterator[str]:
    match block:
        case Said(text):
            yield prose(text)
        case Thought(text):
            if text.strip():
                yield from _folded("Thinking", [quoted("*Thinking*\n\n" + prose(text))], wishes)
        case Shot(picture):
            yield _picture(picture)
        case Called(card):
            yield from _card(card, wishes)
        case Odd(kind, value):
            yield f"*{escaped(kind or 'a block without a name')}*"
            yield fenced(pretty(value), "json")


def _event(view: Event) -> Iterator[str]:
    text = printed(view.text) if view.is_terminal else view.text.strip()
    tone = f"**{_TONES[view.tone]}:** " if view.tone in _TONES else ""
    if "\n" in text:
        yield f"{tone}*{escaped(view.kind)}*"
        yield fenced(text)
    elif text:
        yield tone + emphasised(text)
    if view.detail.strip():
        yield fenced(printed(view.detail) if view.is_terminal else view.detail)


# -- calls


def _card(card: Card, wishes: Wishes) -> Iterator[str]:
    title = " ".join(card.title.split())
    head = [
        f"**{escaped(card.tool or 'a tool without a name')}**",
        inline_code(title) if title else "",
        *map(escaped, facts(card)),
    ]
    line = " · ".join(filter(None, head))
    sections = [piece for section in (*card.asked, *card.answered) for piece in _section(section)]
    if wishes.details and sections:
        plain = " · ".join(filter(None, [card.tool, title, *facts(card)]))
        yield from _folded(plain, sections, wishes)
    else:
        yield line
        yield from sections


def _folded(title: str, pieces: list[str], wishes: Wishes) -> Iterator[str]:
    if not wishes.details or not pieces:
        yield from pieces
        return
    yield fold(title)
    yield from pieces
    yield "</details>"


def fold(title: str) -> str:
    """The beginning of what is folded away; it ends with `</details>`."""
    words = " ".join(title.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<details>\n<summary>{words}</summary>"


def _section(section: Section) -> Iterator[str]:
    match section:
        case parts.Code():
            yield from _titled(section.title, fenced(section.text, _language(section.language)))
        case parts.Terminal():
            if text := printed(section.text):
                yield from _titled("Error output" if section.stream == "error" else "", fenced(text))
        case parts.Diff():
            yield from _titled(section.note, fenced("\n".join(diff_lines(section)), "diff"))
        case parts.Text():
            yield from _titled(section.title, quoted(prose(section.text)))
        case parts.Plain():
            yield from _titled(section.title, fenced(section.text) if section.text.strip() else "")
        case parts.Fields():
            yield "\n".join(f"- {escaped(name)}: {inline_code(value)}" for name, value in section.rows)
        case parts.Tree():
            yield from _titled(section.title, fenced(pretty(section.value), "json"))
        case parts.Hits():
            yield fenced("\n".join(hit_lines(section))) if section.rows else ""
        case parts.Link():
            yield from _link(section)
        case parts.Checklist():
            yield "\n".join(_task(task) for task in section.tasks)
        case parts.Questions():
            yield from (_choice(choice) for choice in section.choices)
        case parts.Agent():
            yield f"*Sub-agent: {escaped(agent_words(section))}*"
        case parts.Picture():
            yield _picture(section)


def _titled(title: str, text: str) -> Iterator[str]:
    if title and text:
        yield f"*{escaped(' '.join(title.split()))}*"
    yield text


def _link(link: parts.Link) -> Iterator[str]:
    name = escaped(" ".join((link.title or link.url).split()))
    yield f"[{name}]({link.url})" if _WEB.fullmatch(link.url) else f"{name} {inline_code(link.url)}"
    if link.text:
        yield quoted(prose(link.text))


def _task(task: parts.Task) -> str:
    words = [task.state.replace("_", " ") if task.state not in ("pending", "completed") else "", task.change]
    note = ", ".join(filter(None, words))
    return f"- {_BOXES.get(task.state, '[ ]')} {escaped(' '.join(task.text.split()))}" + (
        f" *({escaped(note)})*" if note else ""
    )


def _choice(choice: Choice) -> str:
    lines = [f"**{escaped(' '.join(choice.question.split()))}**", ""]
    for label, description in choice.options:
        mark = "[x]" if label in choice.answers else "[ ]"
        more = f": {escaped(' '.join(description.split()))}" if description else ""
        lines.append(f"- {mark} {escaped(' '.join(label.split()))}{more}")
    labels = {label for label, _ in choice.options}
    lines += [f"- [x] {escaped(' '.join(answer.split()))}" for answer in choice.answers if answer not in labels]
    return "\n".join(lines)


def _picture(picture: parts.Picture) -> str:
    return f"*\\[{escaped(pictured(picture))}\\]*"


def _language(name: str) -> str:
    """What may stand behind a fence: the name of a language, or the ending of a file's name."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    word = last.rsplit(".", 1)[-1] if "." in last else last
    return word if _LANGUAGE.fullmatch(word) else ""
