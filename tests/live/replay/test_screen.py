"""The screen of a replay: a text that only grows, and a footer that changes in place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import HOSTILE
from tests.live.replay.model_terminal import ModelTerminal
from turnlog.live.replay.screen import ReplayScreen
from turnlog.render.terminal import TerminalScreen


class Stage:
    """A replay's screen on a terminal of the tests."""

    def __init__(self, columns: int = 40, rows: int = 8, *, color: bool = False) -> None:
        self.terminal = ModelTerminal(columns, rows)
        self.writes: list[str] = []
        self.color = color
        self.screen = ReplayScreen(self._write, self._look)

    def _look(self) -> TerminalScreen:
        return TerminalScreen(self.color, self.terminal.columns)

    def _write(self, text: str) -> None:
        self.writes.append(text)
        self.terminal.feed(text)


def test_streamed_text_grows_above_a_footer_that_stays() -> None:
    stage = Stage()
    stage.screen.set_footer(["", "status"])
    seen = []
    for part in ("Hello ", "wide ", "world, here I am"):
        stage.screen.write_text(part)
        stage.screen.refresh()
        seen.append(stage.terminal.screen)
    assert seen == [["Hello", "", "status"], ["Hello wide", "", "status"], ["Hello wide world, here I", "", "status"]]
    stage.screen.finish_text()
    stage.screen.refresh()
    assert stage.terminal.screen == ["Hello wide world, here I am", "", "", "status"]


def test_what_scrolls_away_stays_in_the_scrollback() -> None:
    stage = Stage(rows=5)
    stage.screen.set_footer(["status"])
    for number in range(20):
        stage.screen.write_lines([f"line {number}"])
        stage.screen.refresh()
    assert stage.terminal.text == "\n".join([*(f"line {number}" for number in range(20)), "", "status"])
    stage.screen.close()
    assert stage.terminal.text == "\n".join(f"line {number}" for number in range(20))
    assert stage.terminal.lines[-1] == ""
    assert stage.terminal.x == 0


def test_nothing_is_written_while_nothing_changes() -> None:
    stage = Stage()
    stage.screen.set_footer(["status"])
    stage.screen.write_lines(["line"])
    stage.screen.refresh()
    stage.screen.refresh()
    stage.screen.set_footer(["status"])
    stage.screen.refresh()
    assert len(stage.writes) == 1


def test_a_new_footer_replaces_a_longer_one() -> None:
    stage = Stage()
    stage.screen.write_lines(["line"])
    stage.screen.set_footer(["one", "two", "three"])
    stage.screen.refresh()
    stage.screen.set_footer(["only"])
    stage.screen.refresh()
    assert stage.terminal.screen == ["line", "", "only"]


def test_long_lines_are_broken_before_the_terminal_would_break_them() -> None:
    stage = Stage(columns=10, color=True)
    stage.screen.write_lines(["\x1b[31m" + "x" * 25 + "\x1b[0m"])
    stage.screen.refresh()
    assert stage.terminal.screen == ["x" * 9, "x" * 9, "x" * 7, ""]
    assert "x\x1b[0m\x1b[K\r\n\x1b[31mx" in stage.writes[0], "the colour ends with a line and continues on the next"


def test_a_terminal_that_became_narrower_gets_lines_that_fit() -> None:
    stage = Stage(columns=60)
    stage.screen.write_text("a line that is not finished ")
    stage.screen.set_footer(["status"])
    stage.screen.refresh()
    stage.terminal.columns = 20
    stage.screen.write_text("and goes on for quite a while")
    stage.screen.finish_text()
    stage.screen.refresh()
    assert stage.terminal.screen[-2:] == ["", "status"]
    assert all(len(line) < 20 for line in stage.terminal.screen)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["text", "end"]), st.text(st.sampled_from("ab \n\tü漢😀`#-|*" + HOSTILE), max_size=60)
        ),
        max_size=12,
    ),
    st.integers(12, 60),
)
def test_no_text_acts_on_the_terminal_or_leaves_its_width(parts: list[tuple[bool, str]], columns: int) -> None:
    stage = Stage(columns, 6, color=True)
    stage.screen.set_footer(["footer"])
    for is_last, text in parts:
        stage.screen.write_text(text)
        if is_last:
            stage.screen.finish_text()
        stage.screen.refresh()
        assert stage.terminal.screen[-1] == "footer"
    stage.screen.close()
