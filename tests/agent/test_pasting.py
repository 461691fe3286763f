"""What a person pastes: folded texts, pictures from the clipboard and from files, and what none of it may do."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, script
from tests.agent.talk import PIXEL
from turnlog.agent.console.clipboard import find_program, read_clipboard_picture
from turnlog.agent.console.pasted_content import MAX_PICTURE_BYTES, PastedContent, find_picture_path, find_picture_type
from turnlog.errors import TurnlogError, UsageError

MakeDesk = Callable[[dict[str, Any]], Desk]
READY = "\x1b[?2004h> "
PICTURE = base64.b64decode(PIXEL)
LONG = "".join(f"line {number}\n" for number in range(500)) + "end"


def paste(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


def read_last_blocks(here: Desk) -> list[dict[str, Any]]:
    """The last prompt, without reminders."""
    blocks = here.requests[-1]["messages"][-1]["content"]
    return [block for block in blocks if not str(block.get("text")).startswith("<system-reminder>")]


def write_program(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{body}")
    path.chmod(0o755)


# -- without a terminal


def test_a_long_text_is_folded_and_expanded() -> None:
    pasted = PastedContent()
    assert pasted.adopt_paste("a\nb\nc") == "a\nb\nc"
    assert pasted.adopt_paste(LONG) == "[Pasted text #1 +500 lines]"
    assert pasted.adopt_paste("x" * 801) == "[Pasted text #2]"
    assert pasted.expand("see [Pasted text #1 +500 lines] and [Pasted text #9]") == f"see {LONG} and [Pasted text #9]"
    assert pasted.list_pictures("[Image #1] [Pasted text #1]") == []


def test_what_was_pasted_is_not_expanded_again() -> None:
    pasted = PastedContent()
    evil = "[Pasted text #1 +3 lines]\n" * 4
    name = pasted.adopt_paste(evil)
    assert pasted.expand(name) == evil


@pytest.mark.parametrize("form", ["{}", "'{}'", "file://{}", " {} "])
def test_the_path_of_a_picture_is_known_as_terminals_write_it(tmp_path: Path, form: str) -> None:
    path = tmp_path / "shot.PNG"
    path.write_bytes(PICTURE)
    assert find_picture_path(form.format(path)) == path


def test_a_path_with_blanks_is_known_and_other_texts_are_no_path(tmp_path: Path) -> None:
    path = tmp_path / "my shot.png"
    path.write_bytes(PICTURE)
    assert find_picture_path(str(path).replace(" ", "\\ ")) == path
    for text in ("", "shot.png", str(path), f"'{path}' x", "'", f"{tmp_path}/none.png", str(tmp_path), "\0.png"):
        assert find_picture_path(text) is None


def test_a_picture_becomes_a_block_and_other_files_are_refused(tmp_path: Path) -> None:
    pasted, path = PastedContent(), tmp_path / "shot.png"
    path.write_bytes(PICTURE)
    assert pasted.adopt_paste(str(path)) == "[Image #1]"
    (picture,) = pasted.list_pictures("look at [Image #1], [Image #1] and [Image #7]")
    assert picture.block["source"] == {"type": "base64", "data": PIXEL, "media_type": "image/png"}
    path.write_text("no picture")
    with pytest.raises(UsageError, match="not a picture"):
        pasted.adopt_paste(str(path))
    with pytest.raises(UsageError, match="at most"):
        pasted.add_picture(PICTURE + bytes(MAX_PICTURE_BYTES))
    assert find_picture_type(b"RIFF\0\0\0\0WEBPVP8 ") == "image/webp"


def test_a_picture_that_a_rule_protects_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "shot.png"
    path.write_bytes(PICTURE)
    with pytest.raises(TurnlogError, match="a rule denies it"):
        PastedContent(lambda _: "a rule denies it").adopt_paste(str(path))


@pytest.mark.skipif(os.name == "nt", reason="needs executable files")
def test_no_clipboard_program_of_the_working_folder_runs(tmp_path: Path) -> None:
    folder, outside = tmp_path / "project", tmp_path / "bin"
    evil = f"open({str(tmp_path / 'ran')!r}, 'w')"
    write_program(folder / "xclip", evil)
    write_program(folder / "bin" / "wl-paste", evil)
    outside.mkdir()
    (outside / "pngpaste").symlink_to(folder / "xclip")
    search_path = os.pathsep.join(["", ".", "bin", str(folder), str(folder / "bin"), str(outside)])
    for name in ("xclip", "wl-paste", "pngpaste"):
        assert find_program(name, search_path, folder) is None
    with pytest.raises(UsageError, match="no program"):
        read_clipboard_picture({"PATH": search_path}, folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(os.name == "nt", reason="needs executable files")
@pytest.mark.parametrize(
    ("output", "expected"), [(PICTURE, PICTURE), (f"«data PNGf{PICTURE.hex().upper()}»\n".encode(), PICTURE)]
)
def test_a_picture_is_read_from_the_clipboard(tmp_path: Path, output: bytes, expected: bytes) -> None:
    write_program(tmp_path / "bin" / "xclip", f"import sys; sys.stdout.buffer.write({output!r})")
    assert read_clipboard_picture({"PATH": str(tmp_path / "bin")}, tmp_path / "project") == expected
    write_program(tmp_path / "bin" / "xclip", "raise SystemExit(1)")
    with pytest.raises(UsageError, match="no picture"):
        read_clipboard_picture({"PATH": str(tmp_path / "bin")}, tmp_path / "project")


# -- at a terminal


@pytest.fixture
def trusted_desk(desk: MakeDesk) -> Desk:
    here = desk(script("One.", "Two."))
    here.trust()
    return here


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_pasted_text_is_folded_on_the_input_line_and_sent_whole(trusted_desk: Desk) -> None:
    with trusted_desk.terminal() as terminal:
        terminal.expect(READY)
        terminal.send(f"see {paste(LONG)}!\r")
        terminal.expect("> see [Pasted text #1 +500 lines]!")
        terminal.expect("One.")
        terminal.expect(READY)
        terminal.send("\x1b[A")
        terminal.expect("see [Pasted text #1 +500 lines]!")
        terminal.send("\r")
        terminal.expect("Two.")
        assert "line 17" not in terminal.text
    assert [block["text"] for block in read_last_blocks(trusted_desk)] == [f"see {LONG}!"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_pasted_text_attaches_no_file_and_runs_no_command(trusted_desk: Desk) -> None:
    (trusted_desk.home / "key.txt").write_text("s3cret")
    (trusted_desk.cwd / ".claude" / "commands").mkdir(parents=True)
    (trusted_desk.cwd / ".claude" / "commands" / "go.md").write_text("expanded")
    evil = f"/go\n@{trusted_desk.home}/key.txt\n\n!touch made\n"
    with trusted_desk.terminal() as terminal:
        terminal.expect(READY)
        terminal.send(f"{paste(evil)}\r")
        terminal.expect("One.")
    assert [block["text"] for block in read_last_blocks(trusted_desk)] == [evil]
    assert "s3cret" not in str(trusted_desk.requests)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_dragged_picture_and_the_clipboard_s_are_attached(trusted_desk: Desk) -> None:
    write_program(trusted_desk.base / "bin" / "xclip", f"import sys; sys.stdout.buffer.write({PICTURE!r})")
    shot = trusted_desk.base / "shot.png"
    shot.write_bytes(PICTURE)
    with trusted_desk.terminal(PATH=f"{trusted_desk.base}/bin:{os.environ['PATH']}") as terminal:
        terminal.expect(READY)
        terminal.send(f"compare {paste(str(shot))} and \x16")
        terminal.expect("> compare [Image #1] and [Image #2]")
        terminal.send("\r")
        terminal.expect("One.")
    text, first, second = read_last_blocks(trusted_desk)
    assert text["text"] == "compare [Image #1] and [Image #2]"
    assert first["source"]["data"] == second["source"]["data"] == PIXEL
    (line,) = [line for line in trusted_desk.session if line.get("imagePasteIds")]
    assert line["imagePasteIds"] == [1, 2]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_denied_picture_stays_a_path_and_the_reason_is_told(trusted_desk: Desk) -> None:
    shot = trusted_desk.cwd / "shot.png"
    shot.write_bytes(PICTURE)
    (trusted_desk.config / "settings.json").write_text('{"permissions": {"deny": ["Read(./shot.png)"]}}')
    with trusted_desk.terminal() as terminal:
        terminal.expect(READY)
        terminal.send(paste(str(shot)))
        terminal.expect("shot.png is not attached")
        terminal.expect(READY)
        terminal.send("\r")
        terminal.expect("One.")
    assert [block["text"] for block in read_last_blocks(trusted_desk)] == [str(shot)]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_without_a_picture_on_the_clipboard_a_line_says_so_and_the_input_stays(trusted_desk: Desk) -> None:
    with trusted_desk.terminal(PATH=str(trusted_desk.base)) as terminal:
        terminal.expect(READY)
        terminal.send("so \x16")
        terminal.expect("no program can read the clipboard")
        terminal.expect("> so ")
        terminal.send("far\r")
        terminal.expect("One.")
    assert [block["text"] for block in read_last_blocks(trusted_desk)] == ["so far"]
