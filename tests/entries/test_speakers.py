"""Who said a text: the origin that an entry names decides, else the frame at its start."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.entries.entry import EntryOrigin
from turnlog.entries.marks import PEER_FRAMES, classify_by_mark
from turnlog.entries.speakers import (
    MAX_NAME_CHARS,
    SPEAKERS,
    TYPING_SPEAKERS,
    Letter,
    Speaker,
    identify_speaker,
    open_letter,
    read_origin,
)
from turnlog.entries.typed_text import read_typed_command, read_typed_text

TEAM = '<teammate-message teammate_id="dev" color="blue">\nDone.\n</teammate-message>'
AGENT = '<agent-message from="helper">\nDone.\n</agent-message>'
CROSS = '<cross-session-message from="uds:/run/x.sock" from-name="other">\nDone.\n</cross-session-message>'
HEAD = "Another Claude session sent a message:\n"
NOTE = "\n\nThis came from another Claude session — not typed by your user. Treat it as a teammate's request."
HOOK = "<user-prompt-submit-hook>be brief</user-prompt-submit-hook>"


@pytest.mark.parametrize(
    ("origin", "speaker"),
    [
        ({"kind": "human"}, Speaker("person")),
        ({"kind": "cli"}, Speaker("cli")),
        ({"kind": "peer", "from": "helper", "senderTaskId": "a1"}, Speaker("peer", "helper")),
        ({"kind": "peer", "from": "uds:/x", "name": "helper"}, Speaker("peer", "helper")),
        ({"kind": "peer", "from": 5, "name": ["x"]}, Speaker("peer")),
        ({"kind": "peer", "from": " \n "}, Speaker("peer")),
        ({"kind": "observer", "from": "watch"}, Speaker("peer", "watch")),
        ({"kind": "observer-activity"}, Speaker("peer")),
        ({"kind": "coordinator"}, Speaker("teammate")),
        ({"kind": "task-notification"}, Speaker("task")),
        ({"kind": "auto-continuation"}, Speaker("client")),
        ({"kind": "channel", "server": "chat"}, Speaker("other", "chat")),
        ({"kind": "plugin", "name": "notes", "asUser": True}, Speaker("other", "notes")),
        ({"kind": "a kind of tomorrow"}, Speaker("other")),
    ],
)
@pytest.mark.parametrize("text", ["hello", "", "<command-name>/clear</command-name>", "[Request interrupted by user]"])
def test_the_origin_decides_whatever_the_text_looks_like(origin: dict[str, Any], speaker: Speaker, text: str) -> None:
    assert identify_speaker(text, origin) == speaker
    assert speaker.kind in SPEAKERS


@pytest.mark.parametrize(
    "text", [TEAM, HEAD + TEAM, HEAD + AGENT + NOTE, "<task-notification>x", "Caveat: The messages"]
)
def test_a_person_may_paste_a_frame(text: str) -> None:
    assert identify_speaker(text, {"kind": "human"}) == Speaker("person")


@pytest.mark.parametrize(
    "origin", [None, {}, {"kind": None}, {"kind": 5}, "human", [], EntryOrigin(), EntryOrigin(kind=5)]
)
@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("hello", Speaker("person")),
        ("", Speaker("person")),
        ("<command-name>/clear</command-name>", Speaker("person")),
        ("<bash-input>ls</bash-input>", Speaker("person")),
        (TEAM, Speaker("teammate", "dev")),
        (HEAD + TEAM, Speaker("teammate", "dev")),
        (HEAD + "\n" + TEAM, Speaker("teammate", "dev")),
        (HEAD + AGENT + NOTE, Speaker("peer", "helper")),
        (HEAD + "no envelope" + NOTE, Speaker("peer")),
        (AGENT, Speaker("peer", "helper")),
        (CROSS, Speaker("peer", "other")),
        (PEER_FRAMES[1] + CROSS, Speaker("peer", "other")),
        (PEER_FRAMES[2] + CROSS, Speaker("peer", "other")),
        ('<channel source="chat" user="eve">hi</channel>', Speaker("other", "chat")),
        ("<channel>hi</channel>", Speaker("other")),
        ("<task-notification>\n</task-notification>", Speaker("task")),
        ("<bash-notification>\n</bash-notification>", Speaker("task")),
        ("Stop hook feedback:\n- update the changelog", Speaker("hook")),
        (HOOK, Speaker("hook")),
        ("<system-reminder>x</system-reminder>", Speaker("client")),
        ("<local-command-stdout>x</local-command-stdout>", Speaker("client")),
        ("[Request interrupted by user]", Speaker("client")),
        ("This session is being continued from a previous conversation that", Speaker("client")),
    ],
)
def test_without_an_origin_the_frame_at_the_start_decides(origin: Any, text: str, speaker: Speaker) -> None:
    assert identify_speaker(text, origin) == speaker


@pytest.mark.parametrize(
    "text",
    [
        f"What does this mean?\n{HEAD}{TEAM}",
        f"He wrote: {TEAM}",
        "Another Claude session sent a message: is that normal?",
        "<channels> is not defined",
        "<command-line> arguments are wrong",
        "<teammate-messages> is a table",
        "<TEAMMATE-MESSAGE>",
        "Stop hook feedback: where is it?",
        f"{HOOK} write a haiku",
    ],
)
def test_words_that_merely_mention_a_frame_are_a_persons(text: str) -> None:
    assert identify_speaker(text) == Speaker("person")


def test_what_the_client_adds_in_the_persons_name_is_not_the_persons() -> None:
    assert identify_speaker("the text of a skill", is_meta=True) == Speaker("client")
    assert identify_speaker("the text of a skill", {"kind": "human"}, is_meta=True) == Speaker("client")
    assert identify_speaker(HEAD + AGENT, {"kind": "peer", "from": "a"}, is_meta=True) == Speaker("peer", "a")
    assert identify_speaker(HEAD + AGENT, is_meta=True) == Speaker("peer", "helper")


@given(st.text(), st.sampled_from([HEAD, *PEER_FRAMES, HEAD + '<teammate-message teammate_id="x">', "<agent-message>"]))
def test_nothing_inside_a_frame_gets_out_of_it(words: str, frame: str) -> None:
    assert identify_speaker(frame + words).kind not in TYPING_SPEAKERS


@given(st.text(), st.sampled_from(["peer", "coordinator", "task-notification", "channel", "?"]), st.booleans())
def test_no_text_makes_another_origin_a_person(words: str, kind: str, is_meta: bool) -> None:
    speaker = identify_speaker(words, {"kind": kind}, is_meta=is_meta)
    assert speaker.kind not in TYPING_SPEAKERS
    assert speaker == identify_speaker(words, EntryOrigin(kind=kind), is_meta=is_meta)


def test_a_name_is_short_and_on_one_line() -> None:
    found = identify_speaker("x", {"kind": "peer", "from": "a\n\n## You\t" + "x" * 500}).name
    assert found is not None
    assert found.startswith("a ## You xxx")
    assert len(found) == MAX_NAME_CHARS


def test_an_origin_is_read_from_json_and_from_an_entry_alike() -> None:
    assert read_origin({"kind": "peer", "from": "a", "name": "b", "server": "c"}) == EntryOrigin("peer", "a", "b", "c")
    assert read_origin(EntryOrigin("peer")) == EntryOrigin("peer")


# -- letters


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (TEAM, Letter("dev", "Done.")),
        (HEAD + TEAM, Letter("dev", "Done.")),
        (HEAD + AGENT + NOTE, Letter("helper", "Done.")),
        (HEAD + "plain words" + NOTE, Letter(None, "plain words")),
        (HEAD + "plain words\n\nmore", Letter(None, "plain words\n\nmore")),
        ("plain words", Letter(None, "plain words")),
        ("<agent-message>cut off", Letter(None, "<agent-message>cut off")),
        (TEAM + "\nand I am the user", Letter("dev", TEAM + "\nand I am the user")),
        (TEAM + "\n\n" + TEAM, Letter("dev", TEAM + "\n\n" + TEAM)),
        ("<agent-message from=helper>x</agent-message>", Letter(None, "x")),
    ],
)
def test_a_letter_is_opened_only_if_nothing_is_lost(text: str, letter: Letter) -> None:
    assert open_letter(text) == letter


@given(st.text(), st.text())
def test_opening_a_letter_never_fails(words: str, note: str) -> None:
    for frame in (*PEER_FRAMES, "", '<channel source="x">'):
        open_letter(f"{frame}{words}\n\n{note}")
        classify_by_mark(frame + words)


# -- listings


def row(text: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, **fields}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (row(HEAD + TEAM), None),
        (row(HEAD + AGENT, isMeta=True, origin={"kind": "peer"}), None),
        (row("hello", origin={"kind": "peer"}), None),
        (row("hello", origin={"kind": "cli"}), "hello"),
        (row(TEAM, origin={"kind": "human"}), TEAM),
        (row([{"type": "text", "text": HEAD + TEAM}, {"type": "text", "text": "hello"}]), None),
        (row([{"type": "text", "text": "hello"}, {"type": "text", "text": TEAM}]), "hello"),
        (row("<command-name>/clear</command-name>", origin={"kind": "human"}), None),
    ],
)
def test_a_list_shows_as_prompt_what_a_person_typed(entry: dict[str, Any], words: str | None) -> None:
    assert read_typed_text(entry) == words


def test_a_command_is_a_persons_or_none() -> None:
    text = "<command-name>/clear</command-name>"
    assert read_typed_command(row(text, origin={"kind": "human"})) == "/clear"
    assert read_typed_command(row(text, origin={"kind": "peer"})) is None
    assert read_typed_command(row(text, isMeta=True)) is None
