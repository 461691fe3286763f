"""Every genuine session in every form: nothing that was said is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import msgspec
import pytest

from tests.render.walk import Walk
from tests.session.build import DATA
from turnlog.demo import config_dir
from turnlog.errors import Refused
from turnlog.export.formats import iter_exported_bytes
from turnlog.export.html import render_one_page
from turnlog.export.material import ExportChoice, ExportMaterial
from turnlog.render.render_options import SHOW_EVERYTHING
from turnlog.render.view import AnswerText, AnswerView, AnyView, PromptView
from turnlog.session.messages import is_filler
from turnlog.session.session import Session

SESSIONS = sorted(
    path
    for folder in (DATA / "sessions", DATA / "variants", config_dir() / "projects")
    for path in folder.rglob("*.jsonl")
    if not path.name.startswith(("agent-", "history"))
)
CHOICE = ExportChoice(all_branches=True)


def name_of(path: Path) -> str:
    return "/".join(path.parts[-4:])


def write_export(form: str, session: Session, choice: ExportChoice = CHOICE) -> str:
    material = ExportMaterial(session, choice)
    return b"".join(render_one_page(material) if form == "html" else iter_exported_bytes(form, material)).decode()


def iter_spoken_texts(session: Session) -> Iterator[str]:
    """Every prompt and every answer of a session, all branches, without answers that the client made up."""
    for turn in session.turns:
        if turn.kind == "prompt":
            yield turn.text
    for message in session.messages:
        for block in [] if is_filler(session.file, message) else session.read_content(message):
            if block.get("type") == "text" and isinstance(block.get("text"), str):
                yield block["text"]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def bare(line: str) -> str:
    return re.sub(r"^(?:[>|] ?| )+", "", line.replace("&lt;", "<")).strip()


@pytest.fixture(params=SESSIONS, ids=name_of)
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    with Session.open(request.param) as found:
        yield found


@pytest.mark.parametrize("form", ["md", "txt"])
def test_every_line_that_was_said_stands_in_the_document(session: Session, form: str) -> None:
    lines = {bare(line) for line in write_export(form, session).splitlines()}
    for text in iter_spoken_texts(session):
        missing = [line for line in re.split(r"\r\n|\r|\n", text) if line.strip() and bare(line) not in lines]
        assert missing == []


def test_the_json_holds_every_text_as_it_is_and_can_be_read_as_views(session: Session) -> None:
    document = json.loads(write_export("json", session))
    views = msgspec.convert(document["items"], list[AnyView])
    texts = {view.text for view in views if isinstance(view, PromptView)}
    texts |= {
        block.text
        for view in views
        if isinstance(view, AnswerView)
        for block in view.blocks
        if isinstance(block, AnswerText)
    }
    assert [
        text for text in iter_spoken_texts(session) if text.strip() and text.strip() not in {t.strip() for t in texts}
    ] == []


def test_every_word_that_was_said_can_be_seen_in_the_page(session: Session) -> None:
    page = write_export("html", session).split("<main", 1)[1]
    # Words may be cut by colours, and may stand directly behind those of another element.
    seen = {word for text in (Walk(page).text, unescape(re.sub("<[^>]*>", " ", page))) for word in words(text)}
    for text in iter_spoken_texts(session):
        assert set(words(re.sub(r"https?://\S+|&\w+;", "", text))) - seen == set()


def test_every_entry_can_be_found_in_the_json_of_everything(session: Session) -> None:
    document = json.loads(write_export("json", session, ExportChoice(SHOW_EVERYTHING, all_branches=True)))
    assert len(document["items"]) == len(ExportMaterial(session).timeline.items)


def test_a_conversation_is_what_would_be_sent_and_openai_has_all_its_texts(session: Session) -> None:
    try:
        sent = session.conversation().messages
    except Refused:
        with pytest.raises(Refused):
            write_export("messages", session, ExportChoice())
        return
    assert json.loads(write_export("messages", session, ExportChoice())) == {"messages": sent}
    chat = write_export("openai", session, ExportChoice())
    calls = [call["id"] for message in json.loads(chat)["messages"] for call in message.get("tool_calls", [])]
    blocks = [block for message in sent for block in message["content"]]
    assert calls == [str(block.get("id")) for block in blocks if block["type"] == "tool_use"]
    texts = json.dumps([part for message in json.loads(chat)["messages"] for part in [message["content"]]])
    assert [b for b in blocks if b["type"] == "text" and json.dumps(b["text"])[1:-1] not in texts] == []
