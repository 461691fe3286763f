"""Pasted text is text behind every key, in every state of the input line, in whatever pieces it arrives."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.api import Gate
from tests.agent.desk import Desk, Terminal, call, reply, says, script
from turnlog.agent.console.keys import ENTER, ESCAPE, NEXT_MODE, PASTE, PASTE_END, PASTE_START, KeyParser

needs_terminal = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
MakeDesk = Callable[[dict[str, Any]], Desk]
READY = "\x1b[?2004h> "
EVIL = "!touch made\r!touch made\rtwo\r!touch made\rEND"
READER = """
import json, sys
from pathlib import Path
from turnlog.agent.console import keyboard as keys
board = keys.Keyboard(Path(sys.argv[1]))
if sys.argv[2] == "vi":
    board.use_vi_keys()
board.complete = lambda word, is_first: ["completed", "complete"] if word == "com" else []
board.paste_picture = lambda: "PICTURE"
draft = ""
while True:
    try:
        found = ["line", board.read_line("> ", draft=draft, keep=True)]
        draft = ""
    except EOFError:
        break
    except KeyboardInterrupt:
        found = ["interrupt", ""]
    except (keys.ModeKeyPressed, keys.RewindKeyPressed, keys.TypingInterrupted) as event:
        found = [type(event).__name__, str(event)]
        draft = found[1]
    print(f"\\r\\n<<{json.dumps(found)}>>", flush=True)
board.close()
"""
CONTROLS = [chr(number) for number in range(1, 32) if chr(number) not in "\x03\x04\t\n\r\x13\x1a\x1c"]
SEQUENCES = [
    *("\x1b", "\x1b\x1b", "\x1b[A", "\x1bOA", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[H", "\x1b[F", "\x1b[3~", "\x1b[Z"),
    *(
        "\x1b[1;5D",
        "\x1b[1;3C",
        "\x1b\r",
        "\x1b\x7f",
        "\x7f",
        "\t",
        "com\t\t",
        "\r",
        "\x1b[",
        "\x1bO",
        "\x1b[2",
        "\x1b[200",
    ),
    *(
        "\x18",
        "\x18\x18",
        "\x18(",
        "\x12abc",
        "\x13\x11x",
        "\x1b5",
        "\x1b-",
        "\x11",
        "\x1d",
        "\xff",
        "\xe4",
        "漢",
        "é\x1b",
    ),
    *("!", "!\x1b", "x\x1b", "x\x01", "text\x1b[D", "\\", "a\\\r"),
]
VI_KEYS = [f"word\x1b{char}" for char in map(chr, range(0x21, 0x7F))] + [
    "\x1b/",
    "\x1b2d",
    "\x1b8",
    "\x1b[2V\x1bgs",
    "\x1bd8",
    '\x1b"a',
    "\x1br",
    "\x1bR",
]


def paste(text: str) -> str:
    return f"{PASTE_START.decode()}{text}{PASTE_END.decode()}"


# -- the parser


def parse(pieces: list[bytes], *, pauses: bool) -> list[tuple[str, str]]:
    """The keys of a terminal's input in pieces, with or without a pause behind each."""
    parser = KeyParser()
    keys = []
    for piece in pieces:
        keys += parser.feed(piece)
        if pauses:
            keys += parser.end_burst()
    return [(key.name, key.text) for key in [*keys, *parser.end_burst()]]


@pytest.mark.parametrize(
    "before", [b"", b"\x1b", b"\x1b\x1b", b"\x1b[", b"\x1bO", b"\x1b[1;", b"\x1b[2", b"\x1b[200", b"a\xe6"]
)
@pytest.mark.parametrize("pauses", [False, True])
def test_pasted_text_in_two_pieces_is_one_key_wherever_it_is_cut(before: bytes, pauses: bool) -> None:
    sent = before + PASTE_START + b"one\r!two\n\x1b[Z\xc3\xa9\x1b" + PASTE_END
    for at in range(len(sent) + 1):
        keys = parse([sent[:at], sent[at:]], pauses=pauses)
        assert keys[-1] == (PASTE, "one\n!two\n\x1b[Zé\x1b"), at
        assert ENTER not in [name for name, _ in keys]


@given(
    before=st.lists(
        st.sampled_from([b"\x1b", b"a", b"!", b"\x1b[A", b"\x1b[", b"\x1bO", b"\xe6\xbc", b"\x11", b"\x1b[20"])
    ),
    body=st.lists(st.sampled_from([b"\r", b"\n", b"!x", b"\x1b", b"[", b"20", b"~", PASTE_START, PASTE_END, b"\x03"])),
    cuts=st.lists(st.integers(0, 80)),
    data=st.data(),
)
def test_no_line_of_pasted_text_is_ever_entered(
    before: list[bytes], body: list[bytes], cuts: list[int], data: st.DataObject
) -> None:
    """The body may hold marks of its own: no pause comes behind it, since it arrives as one paste."""
    start = b"".join(before) + PASTE_START
    parser = KeyParser()
    keys = []
    places = sorted({cut for cut in cuts if cut < len(start)})
    for first, last in zip([0, *places], [*places, len(start)], strict=True):
        keys += parser.feed(start[first:last])
        if last < len(start) and data.draw(st.booleans()):
            keys += parser.end_burst()
    for piece in (b"".join(body), PASTE_END):
        keys += parser.feed(piece)
    keys += parser.end_burst()
    assert ENTER not in [key.name for key in keys]
    assert NEXT_MODE not in [key.name for key in keys]
    pasted = "".join(key.text for key in keys if key.name == PASTE)
    assert pasted.count("!x") == b"".join(body).count(b"!x")
    assert parser.feed(b"y") == [("y", "", b"y")]


@pytest.mark.parametrize("tail", ["\r!evil\r", "\r!evil\r\x1b[201~", "\r\x1b[201~", "\x1b[Z\x1b[201~", "x\ry", "\n\n"])
def test_lines_glued_to_the_end_of_pasted_text_are_text(tail: str) -> None:
    text = tail.replace("\x1b[201~", "").replace("\r", "\n")
    assert parse([paste(f"a{tail}").encode()], pauses=False) == [(PASTE, f"a{text}")] or "\x1b[201~" not in tail
    assert parse([paste("a").encode() + tail.encode()], pauses=False) == [(PASTE, f"a{text}")]


def test_a_last_enter_glued_to_pasted_text_is_pressed_and_characters_before_it_are_pasted() -> None:
    assert parse([paste("a").encode() + b"!b\x1b\r"], pauses=False)[-1][0] != ESCAPE
    assert parse([paste("").encode() + b"!b\r"], pauses=False) == [
        (PASTE, ""),
        (PASTE, "!"),
        (PASTE, "b"),
        (ENTER, "\r"),
    ]


def test_pasted_text_without_an_end_is_given_up_as_text() -> None:
    parser = KeyParser()
    assert parser.feed(PASTE_START + b"a\r!b\r") == []
    assert parser.end_burst() == []
    parser.give_up_end()
    assert parser.feed(b"!c\r") == []  # the rest of it, which arrives late
    assert [(key.name, key.text) for key in parser.end_burst()] == [(PASTE, "a\n!b\n!c\n")]
    assert [key.text for key in parser.feed(b"x")] == ["x"]
    parser.give_up_end()
    assert [key.text for key in parser.feed(b"x")] == ["x"]


def test_a_very_long_paste_is_passed_on_in_pieces_and_nothing_of_it_is_lost() -> None:
    size = 40 << 20
    parser = KeyParser()
    keys = parser.feed(PASTE_START)
    for _ in range(size >> 16):
        keys += parser.feed(b"x" * 65536)
    keys += [*parser.feed(PASTE_END), *parser.end_burst()]
    assert {key.name for key in keys} == {PASTE}
    assert sum(len(key.text) for key in keys) == size


# -- the input line


class Line:
    """An input line in a terminal of its own."""

    def __init__(self, base: Path, kind: str, term: str = "xterm") -> None:
        environ = {**os.environ, "TERM": term, "LANG": "C.UTF-8", "HOME": str(base)}
        if kind == "simple":  # a Python whose module is not GNU readline
            (base / "modules").mkdir(exist_ok=True)
            (base / "modules" / "readline.py").write_text('"""Uses libedit."""')
            environ["PYTHONPATH"] = f"{base / 'modules'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        self.terminal = Terminal([sys.executable, "-c", READER, str(base / "history"), kind], base, environ, (24, 100))

    def type_and_paste(self, keys: str, pasted: str, *, has_pause: bool = False) -> list[list[str]]:
        """Press keys, paste a text that ends with END, press Enter; what was read until then."""
        start = len(self.terminal.text)
        if has_pause:
            self.terminal.send_raw(keys.encode("latin-1" if keys == "\xff" else "utf-8"))
            time.sleep(0.06)  # long enough for an Esc to be taken for a key; nothing depends on it
            keys = ""
        self.terminal.send_raw(keys.encode("latin-1" if keys == "\xff" else "utf-8") + paste(pasted).encode())
        self.terminal.expect("END")
        found: list[list[str]] = []
        for _ in range(3):
            self.terminal.send("\r")
            self.terminal.expect(">>")
            found = [json.loads(one) for one in re.findall("<<(.*?)>>", self.terminal.text[start:])]
            if any(name == "line" and "END" in text for name, text in found):
                break
        return found


@pytest.fixture
def make_line(tmp_path: Path) -> Iterator[Callable[..., Line]]:
    made: list[Line] = []

    def make(kind: str, term: str = "xterm") -> Line:
        made.append(Line(tmp_path, kind, term))
        made[-1].terminal.expect("> ")
        return made[-1]

    yield make
    for line in made:
        line.terminal.close()


def check_pasted(found: list[list[str]], keys: str) -> None:
    """The pasted text is in one line, in one piece, and is no command unless a typed mark stands before it."""
    (text,) = [text for name, text in found if name == "line" and "END" in text]
    assert EVIL.replace("\r", "\n") in text, (keys, text)
    assert text[:1] not in ("!", "/") or keys.lstrip("\x1b")[:1] == text[0], (keys, text)
    for name, other in found:
        assert other == text or "touch" not in other or name != "line", (keys, found)


@pytest.mark.slow
@needs_terminal
@pytest.mark.parametrize("has_pause", [False, True])
@pytest.mark.parametrize("kind", ["emacs", "simple", "vi"])
def test_a_paste_behind_every_key_is_one_text(make_line: Callable[..., Line], kind: str, has_pause: bool) -> None:
    line = make_line(kind)
    letters = [f"\x1b{chr(number)}" for number in range(0x20, 0x7F)]
    for keys in [*CONTROLS, *SEQUENCES, *(VI_KEYS if kind == "vi" else letters)]:
        check_pasted(line.type_and_paste(keys, EVIL, has_pause=has_pause), keys)
    line.terminal.send("\x04")
    assert line.terminal.wait_for_end() == 0


@needs_terminal
@pytest.mark.parametrize("kind", ["emacs", "simple", "vi"])
def test_a_mark_at_the_start_counts_only_if_it_is_typed(make_line: Callable[..., Line], kind: str) -> None:
    line = make_line(kind)
    to_start, delete = ("\x1b0", "x") if kind == "vi" else ("\x01", "\x1b[3~")

    def read(keys: str) -> str:
        line.terminal.send(keys)
        line.terminal.expect("<<")
        found = json.loads(line.terminal.expect(">>").removesuffix(">>"))
        line.terminal.expect("\x1b[?2004h")
        line.terminal.expect("> ")  # before this, the terminal itself would show what is typed
        return str(found[1])

    def paste_and_read(text: str, keys: str) -> str:
        line.terminal.send(paste(text))
        line.terminal.expect(text)
        return read(keys)

    insert = "i" if kind == "vi" else ""
    assert read("!ls\r") == "!ls"
    assert read("/help\r") == "/help"
    assert read(f"{paste('!ls')}\r") == " !ls"
    assert read(f"{paste('/ls')}\r") == " /ls"
    assert paste_and_read("x!ls", f"{to_start}{delete}\r") == " !ls"
    assert read(f"!{paste('ls')}\r") == "!ls"
    assert read(f"!ls{to_start}{paste('!rm ')}\r") == " !rm !ls"
    assert paste_and_read("made", f"{to_start}{insert}!\r") == "!made"
    assert kind == "vi" or read(f"{paste('ls')}{to_start}!\r") == " !ls"  # glued to the paste
    assert read(" x\r") == " x"


@needs_terminal
@pytest.mark.parametrize("kind", ["emacs", "simple", "vi"])
def test_ctrl_c_gives_up_pasted_text_whose_end_does_not_come(make_line: Callable[..., Line], kind: str) -> None:
    line = make_line(kind)
    line.terminal.send("\x1b[200~!lost\r!touch made\r")
    line.terminal.wait_for_rest()
    line.terminal.press("\x03", "touch made")
    line.terminal.send("\r")
    line.terminal.expect("<<")
    assert json.loads(line.terminal.expect(">>").removesuffix(">>")) == ["line", " !lost\n!touch made\n"]


@needs_terminal
def test_a_typed_command_comes_back_from_the_history_and_a_pasted_text_does_not_become_one(
    make_line: Callable[..., Line],
) -> None:
    for kind in ("emacs", "simple"):
        line = make_line(kind)
        for keys, expected in (
            ("!true\r", "!true"),
            ("\x1b[A\r", "!true"),
            (f"{paste('!bad')}\r", " !bad"),
            ("\x1b[A\r", " !bad"),
        ):
            line.terminal.send(keys)
            line.terminal.expect("<<")
            assert json.loads(line.terminal.expect(">>").removesuffix(">>"))[1] == expected
        line = make_line(kind)  # and in the next session, from the file
        line.terminal.send("\x1b[A\r")
        line.terminal.expect("<<")
        assert json.loads(line.terminal.expect(">>").removesuffix(">>"))[1] == " !bad"


# -- the console


@pytest.mark.slow
@needs_terminal
@pytest.mark.parametrize("editor", ["normal", "vim"])
@pytest.mark.parametrize("state", ["idle", "escape", "turn", "question", "rewind"])
def test_a_paste_in_every_state_of_the_console_runs_nothing(desk: MakeDesk, editor: str, state: str) -> None:
    gate = Gate()
    first = (
        reply(call("Bash", command="touch asked")) if state == "question" else {**reply(says("word " * 40)), "do": gate}
    )
    here = desk(script(first, "Second.", "Third.") if state in ("turn", "question") else script("First.", "Second."))
    here.trust()
    (here.config / "settings.json").write_text(json.dumps({"editorMode": editor}))
    with here.terminal(*([] if state in ("idle", "escape") else ["first"])) as terminal:
        terminal.expect({"turn": "word", "question": "allow?"}.get(state, READY))
        if state == "rewind":
            terminal.send("/rewind\r")
            terminal.expect("Enter to cancel")
        if state == "escape":
            terminal.send("\x1b")
            time.sleep(0.06)
        for char in paste(EVIL):
            terminal.send(char)
        terminal.expect("END" if state in ("question", "rewind") else "[Pasted text")
        gate.open()
        terminal.send("\r")
        if state == "turn":
            terminal.expect("Second.")
        terminal.expect(READY)
        terminal.send("\x04")
        assert terminal.wait_for_end() == 0
    assert not (here.cwd / "made").exists()
    assert not (here.cwd / "asked").exists()
