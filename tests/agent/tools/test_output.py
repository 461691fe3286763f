"""How much of an output the model is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnlog.agent.tools import command_output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "output"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1KB"),
        (30_002, "29.3KB"),
        (38_893, "38KB"),
        (12_000_000, "11.4MB"),
        (1 << 30, "1GB"),
        (5 << 40, "5120GB"),
    ],
)
def test_sizes_are_told_as_the_client_tells_them(count: int, text: str) -> None:
    assert command_output.format_byte_size(count) == text


def test_an_output_is_shown_whole_up_to_the_limit(file: Path) -> None:
    file.write_text("ä" * command_output.MAX_INLINE_CHARS + "\n\n")
    assert command_output.read_inline_output(file) == "ä" * command_output.MAX_INLINE_CHARS
    file.write_text("ä" * (command_output.MAX_INLINE_CHARS + 1))
    assert command_output.read_inline_output(file) is None


def test_a_huge_output_of_blanks_is_too_large(file: Path) -> None:
    file.write_text(" " * 10 * command_output.MAX_INLINE_CHARS)
    assert command_output.read_inline_output(file) is None


def test_a_preview_ends_with_a_line_if_there_is_one_in_its_second_half(tmp_path: Path) -> None:
    text = "a" * 1500 + "\n" + "b" * 5000
    assert command_output.describe_persisted_output(text, tmp_path, 9000).endswith(
        "(first 2KB):\n" + "a" * 1500 + "\n...\n</persisted-output>"
    )


def test_a_preview_without_such_a_line_is_cut(tmp_path: Path) -> None:
    text = "short\n" + "b" * 5000
    assert command_output.describe_persisted_output(text, tmp_path, 9000).endswith(
        "(first 2KB):\nshort\n" + "b" * 1994 + "\n...\n</persisted-output>"
    )


def test_an_error_of_ten_thousand_characters_is_shown_whole(file: Path) -> None:
    file.write_text("b" * 9989)
    assert command_output.describe_failed_output("Exit code 2", file) == "Exit code 2\n" + "b" * 9989


def test_a_longer_error_lacks_its_middle(file: Path) -> None:
    file.write_text("b" * 12_000)
    text = command_output.describe_failed_output("Exit code 2", file)
    assert text == "Exit code 2\n" + "b" * 4988 + "\n\n... [2012 characters truncated] ...\n\n" + "b" * 5000


def test_the_end_of_a_huge_error_is_the_end_of_the_output(file: Path) -> None:
    file.write_text("b" * 1_000_000 + "\nthe reason\n")
    assert command_output.describe_failed_output("Exit code 2", file).endswith("b\nthe reason")


def test_the_end_of_a_file_has_so_many_characters(file: Path) -> None:
    file.write_text("äöü€" * 100)
    assert command_output.read_output_tail(file, 6) == "ü€äöü€"
    assert command_output.read_output_tail(file, 1000) == "äöü€" * 100
