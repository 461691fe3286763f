"""Output: lines for people, JSON for programs, and remarks on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from turnlog.cli.progress import begin_output, clear_progress
from turnlog.cli.terminal import is_on_terminal, make_visible, spell_unstyled_controls, to_visible_line
from turnlog.errors import UsageError


def print_lines(lines: Iterable[str]) -> None:
    """Print lines one by one, with the controls in them spelled out; their layout is up to the caller."""
    if sys.stdout is None:
        return
    for text in lines:
        begin_output()
        sys.stdout.write(spell_unstyled_controls(text) + "\n")


def print_remark(text: str) -> None:
    """Print one line to standard error."""
    if sys.stderr is not None:
        clear_progress()
        sys.stderr.write(to_visible_line(text) + "\n")
        sys.stderr.flush()


def mention_unlisted(places: Sequence[object]) -> None:
    """Warn about folders that can't be listed."""
    if places:
        from turnlog.api import lookup

        lookup.mention_unlisted(places, print_remark)


def mention_others(count: int) -> None:
    """Print how many other files may contain conversations."""
    if count:
        is_one = count == 1
        names = (
            "1 .jsonl file has a name that is not a session id"
            if is_one
            else (f"{count:,} .jsonl files have names that are not session ids")
        )
        print_remark(f"{names}; `turnlog ls --other` lists {'it' if is_one else 'them'}.")


def describe_hidden_files(count: int) -> str:
    """Describe how many files without a conversation are not listed."""
    subject = "1 file without a conversation is" if count == 1 else f"{count:,} files without a conversation are"
    return f"{subject} hidden; --all shows {'it' if count == 1 else 'them'}."


def print_json(value: Any) -> None:
    _get_writer()(_indent_for_terminal(encode_json(value)) + b"\n")


def print_json_line(value: Any) -> None:
    """Write a value as one line, also on a terminal."""
    document = encode_json(value)
    _get_writer()((_escape_as_json(document.decode()).encode() if is_on_terminal() else document) + b"\n")


def print_json_list(name: str, items: Iterable[Any]) -> None:
    """Write a JSON document with one long list, item by item."""
    if is_on_terminal():
        print_json({name: list(items)})
        return
    write = _get_writer()
    write(b'{"%s":[' % name.encode())
    for number, item in enumerate(items):
        write((b"," if number else b"") + encode_json(item))
    write(b"]}\n")


def write_raw(chunks: Iterable[bytes]) -> None:
    """Write bytes unchanged; on a terminal, show them as text, with control characters spelled out."""
    if is_on_terminal():
        print_lines(map(make_visible, _split_into_lines(chunks)))
        return
    write = _get_writer()
    for chunk in chunks:
        write(chunk)


def _split_into_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Decode chunks, which may end inside a line or a character, and split them into lines."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.rstrip(b"\r").decode("utf-8", "backslashreplace") for line in lines)
    if rest:
        yield rest.decode("utf-8", "backslashreplace")


@contextmanager
def spell_flags(*names: str) -> Iterator[None]:
    """Rewrite the argument at the start of an error message as a command-line option: `fit` becomes `--fit`."""
    try:
        yield
    except UsageError as error:
        is_named = str(error).startswith(tuple(f"{name} " for name in names))
        raise UsageError(f"--{error}" if is_named else str(error)) from None


class StandardOutput:
    """Standard output as a destination for copies; escapes control characters on a terminal."""

    def writelines(self, chunks: Iterable[bytes]) -> None:
        """Write chunks as they arrive."""
        write_raw(chunks)


def encode_json(value: Any) -> bytes:
    from turnlog.render.json_bytes import to_json_bytes

    return to_json_bytes(value)


def _indent_for_terminal(document: bytes) -> bytes:
    """Indent the document on a terminal, and escape control characters as JSON does."""
    if not is_on_terminal():
        return document
    import msgspec

    text = msgspec.json.format(document, indent=2).decode()
    return "\n".join(map(_escape_as_json, text.split("\n"))).encode()


def _escape_as_json(text: str) -> str:
    return text if make_visible(text) == text else "".join(_escape_char(char) for char in text)


def _escape_char(char: str) -> str:
    if char == " " or make_visible(char) == char:
        return char
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _get_writer() -> Callable[[bytes], object]:
    """Return the byte stream of standard output, after flushing pending text."""
    if sys.stdout is None:
        return len  # a closed standard output is not an error
    begin_output()
    sys.stdout.flush()
    return sys.stdout.buffer.write
