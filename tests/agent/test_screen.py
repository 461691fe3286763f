"""The terminal while a session is at work: what is written stays, and what a person types stands below it."""

from __future__ import annotations

import pytest

from tests.agent.display import Display
from tests.cli.conftest import HOSTILE, harmful
from turnlog.agent.console.screen import ConsoleScreen
from turnlog.render import terminal


class Paper:
    """Keeps what is written."""

    def __init__(self, width: int | None = 40) -> None:
        self.written: list[str] = []
        self.screen = ConsoleScreen(self.written.append, terminal.TerminalScreen(False, width))

    @property
    def text(self) -> str:
        return "".join(self.written)

    @property
    def lines(self) -> list[str]:
        """What a terminal would show."""
        return Display(self.text).lines

    @property
    def plain(self) -> str:
        """The lines that a terminal would show."""
        return "\n".join(self.lines)


@pytest.fixture
def paper() -> Paper:
    return Paper()


def test_pieces_of_a_text_are_written_as_they_come(paper: Paper) -> None:
    shown = []
    for part in ("Hel", "lo\nwor", "ld and", " so"):
        paper.screen.write_text_part(part)
        shown.append(paper.plain)
    assert shown == ["Hel", "Hello\nwor", "Hello\nworld and", "Hello\nworld and so"]
    paper.screen.finish_line()
    assert paper.plain == "Hello\nworld and so\n"


def test_a_whole_line_ends_the_one_that_is_being_written(paper: Paper) -> None:
    paper.screen.write_text_part("half")
    paper.screen.write_lines("whole")
    paper.screen.write_lines("next")
    assert paper.plain == "half\nwhole\nnext\n"


def test_the_end_of_a_text_with_a_line_end_adds_none(paper: Paper) -> None:
    paper.screen.write_text_part("text\n")
    paper.screen.finish_line()
    assert paper.text == "text\n"


def test_what_a_model_says_can_t_act_on_the_terminal(paper: Paper) -> None:
    for char in HOSTILE:
        paper.screen.write_text_part(char)
    paper.screen.finish_line()
    assert harmful(paper.plain) == set()


def test_a_picture_made_of_several_characters_survives_being_cut(paper: Paper) -> None:
    for char in "a \U0001f468\u200d\U0001f469\u200d\U0001f467 b":
        paper.screen.write_text_part(char)
    paper.screen.finish_line()
    assert "\U0001f468\u200d\U0001f469\u200d\U0001f467" in paper.text


def test_what_is_typed_ahead_stays_below_whole_lines(paper: Paper) -> None:
    paper.screen.show_typed("wa")
    paper.screen.write_text_part("one\ntw")
    paper.screen.show_typed("wait")
    paper.screen.write_text_part("o\n")
    assert paper.lines == ["one", "two", "> wait"]


def test_a_line_that_was_begun_is_shown_when_nothing_is_typed_any_more(paper: Paper) -> None:
    paper.screen.show_typed("x")
    paper.screen.write_text_part("begun")
    assert paper.lines == ["begun", "> x"]
    paper.screen.show_typed("")
    paper.screen.write_text_part(" and ended\n")
    assert paper.lines == ["begun and ended", ""]


def test_typing_moves_below_a_line_that_is_being_written(paper: Paper) -> None:
    paper.screen.write_text_part("half ")
    paper.screen.show_typed("x")
    assert paper.lines == ["half", "> x"]


def test_an_answer_stays_where_it_was_typed_and_what_came_meanwhile_stands_above(paper: Paper) -> None:
    paper.screen.show_typed("", "allow? ", always=True)
    assert paper.lines == ["allow?"]
    paper.screen.show_typed("ye", "allow? ", always=True)
    paper.screen.write_lines("something else")
    paper.screen.show_typed("yes", "allow? ", always=True)
    paper.screen.keep_typed_line()
    paper.screen.keep_typed_line()
    paper.screen.write_lines("next")
    assert paper.lines == ["something else", "allow? yes", "next", ""]


def test_an_answer_that_was_too_long_for_the_line_is_shown_whole_in_the_end() -> None:
    paper = Paper(20)
    paper.screen.show_typed("a" * 30, "? ", always=True)
    paper.screen.keep_typed_line()
    assert paper.lines == ["? " + "a" * 30, ""]


def test_the_activity_stands_below_the_output_and_above_what_is_typed(paper: Paper) -> None:
    activity = ["3 s"]
    paper.screen.show_activity(lambda _: activity[0])
    assert paper.lines == ["3 s"]
    paper.screen.write_lines("done")
    paper.screen.write_text_part("half ")
    activity[0] = "4 s"
    paper.screen.refresh()
    assert paper.lines == ["done", "half", "4 s"]
    paper.screen.write_text_part("a line\n")
    paper.screen.show_typed("x")
    assert paper.lines == ["done", "half a line", "4 s", "> x"]
    paper.screen.show_activity(None)
    assert paper.lines[:3] == ["done", "half a line", "> x"]


def test_the_screen_is_as_wide_as_the_window_is_now() -> None:
    widths = iter([30, 30, 12, 12])
    screen = ConsoleScreen(lambda _: None, terminal.TerminalScreen(False, 80), lambda: next(widths))
    assert (screen.look.width, screen.look.width, screen.look.width) == (30, 30, 12)


def test_of_a_long_line_that_is_typed_the_end_is_shown() -> None:
    paper = Paper(20)
    paper.screen.show_typed("a" * 100 + "end")
    assert paper.lines[-1].endswith("end")
    assert len(paper.lines[-1]) < 20


def test_nothing_that_was_written_is_ever_cleared(paper: Paper) -> None:
    for number in range(50):
        paper.screen.write_text_part(f"{number} \x1b[2J\n")
        paper.screen.show_typed("x" * (number % 7))
        paper.screen.write_lines("line")
    paper.screen.show_typed("")
    assert paper.lines == [row for number in range(50) for row in (f"{number} \\x1b[2J", "line")] + [""]


def test_a_row_that_grows_is_not_written_again() -> None:
    paper = Paper(60)
    paper.screen.write_lines("before")
    for word in ["word "] * 10:
        paper.screen.write_text_part(word)
    assert paper.text == "before\n" + "word " * 10


def test_below_a_growing_row_the_input_stays_without_being_written_again() -> None:
    paper = Paper(60)
    paper.screen.show_typed("typed")
    before = len(paper.text)
    paper.screen.write_text_part("word")
    paper.screen.write_text_part("s")
    assert paper.lines == ["words", "> typed"]
    assert paper.text[before:].count("typed") == 1


def test_rows_that_a_narrower_window_wraps_are_painted_again() -> None:
    width = [40]
    written: list[str] = []
    screen = ConsoleScreen(written.append, terminal.TerminalScreen(False, 40), lambda: width[0], reflows=True)
    screen.write_lines("before")
    screen.write_text_part("one two three four five six seven")
    width[0] = 20
    display = Display("".join(written))
    display.rows[1:] = [list("one two three four f"), list("ive six seven")]
    display.row, display.column = 2, 13
    written.clear()
    screen.write_text_part(" eight\n")
    display.write("".join(written))
    assert display.lines[0] == "before"
    assert " ".join(display.lines[1:]).split() == "one two three four five six seven eight".split()


def test_a_dumb_terminal_gets_blanks_and_no_news() -> None:
    written: list[str] = []
    screen = ConsoleScreen(written.append, terminal.TerminalScreen(False, 20), is_plain=True)
    screen.show_activity(lambda _: "3 s")
    screen.show_typed("ab")
    screen.show_typed("a")
    screen.write_lines("line")
    screen.show_typed("")
    text = "".join(written)
    assert "\x1b" not in text
    assert [line.rpartition("\r")[2] for line in text.split("\n")] == ["line", ""]
