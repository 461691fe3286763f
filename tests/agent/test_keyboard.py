"""What a terminal sends, as keys; what is typed without a line editor; and what is kept of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnlog.agent.console.draft import InputDraft
from turnlog.agent.console.keys import Key, KeyParser
from turnlog.agent.console.prompt_history import MAX_HISTORY_PROMPTS, PromptHistory


def parse_keys(sent: str) -> list[Key]:
    """The keys of what a terminal sends at once."""
    parser = KeyParser()
    return [*parser.feed(sent.encode()), *parser.end_burst()]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("a漢\t", ["a", "漢", "\t"]),
        ("\r\x7f\x17\x15\x04", ["enter", "backspace", "word", "clear", "end"]),
        ("\x1b", ["escape"]),
        ("\x1b[Z", ["mode"]),
        ("\x1b[A\x1bOB\x1b[1;5C\x1bb\x01", ["up", "down", "other", "other", "other"]),
        ("\x1b[1;\x1b[Ax", ["up", "x"]),
        ("x\x1b[200~one\r\ntwo\x1b[Z\x1b[201~y", ["x", "paste", "paste"]),
        ("\x1b[200~\x1b[201~\x16", ["paste", "picture"]),
    ],
)
def test_keys_are_known_by_what_they_send(sent: str, expected: list[str]) -> None:
    assert [key.name or key.text for key in parse_keys(sent)] == expected


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("ab\x7f\x7f\x7fc", "c"),
        ("one two \x17", "one "),
        ("  \x17", ""),
        ("one\x15two", "two"),
        ("a\x1b[Zb\x04", "ab"),
        ("\x1b[200~a\nb\x1b[201~c", "a\nbc"),
    ],
)
def test_a_draft_is_changed_at_its_end(sent: str, expected: str) -> None:
    draft = InputDraft()
    for key in parse_keys(sent):
        draft.press_key(key)
    assert draft.take_text() == expected
    assert draft.text == ""


def test_history_keeps_prompts_of_several_lines_and_backslashes(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "new" / "history")
    said = ["one\ntwo\n  three", r"a\nb \ \\ c", "plain"]
    for text in said:
        history.add(text)
    assert PromptHistory(tmp_path / "new" / "history").load() == said


def test_history_does_not_grow_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("".join(f"{number}\n" for number in range(3 * MAX_HISTORY_PROMPTS)))
    assert PromptHistory(path).load() == [
        str(number) for number in range(2 * MAX_HISTORY_PROMPTS, 3 * MAX_HISTORY_PROMPTS)
    ]
    assert len(path.read_text().splitlines()) == MAX_HISTORY_PROMPTS


def test_a_history_that_can_t_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = PromptHistory(tmp_path / "file" / "history")
    history.add("x")
    assert history.load() == []
