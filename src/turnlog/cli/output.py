"""Writing results: lines for people, JSON for programs, remarks on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from turnlog.cli.terminal import is_on_terminal, make_visible, to_visible_line
from turnlog.errors import UsageError


def print_lines(lines: Iterable[str]) -> None:
    """Write lines as they come; texts of strangers in them must have been made visible."""
    if sys.stdout is None:
        return
    for text in lines:
        sys.stdout.write(text + "\n")


def print_remark(text: str) -> None:
    """Write one line for people, beside the output."""
    if sys.stderr is not None:
        sys.stderr.write(to_visible_line(text) + "\n")
        sys.stderr.flush()


def mention_unlisted(places: Sequence[object]) -> None:
    """Warn of folders that can't be listed."""
    if places:
        from turnlog.api import lookup

        lookup.mention_unlisted(places, print_remark)


def mention_others(count: int) -> None:
    """Say how many files may hold conversations and are not listed with the sessions."""
    if count:
        files = "1 .jsonl file has" if count == 1 else f"{count:,} .jsonl files have"
        print_remark(f"{files} a name that is not a session id; `turnlog ls --other` lists them.")


def print_json(value: Any) -> None:
    """Write a JSON document."""
    _get_writer()(_indent_for_terminal(encode_json(value)) + b"\n")


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
    """Write bytes as they are; on a terminal, made visible line by line."""
    if is_on_terminal():
        print_lines(make_visible(chunk.decode("utf-8", "backslashreplace").rstrip("\r\n")) for chunk in chunks)
        return
    write = _get_writer()
    for chunk in chunks:
        write(chunk)


@contextmanager
def spell_flags(*names: str) -> Iterator[None]:
    """Spell an argument that an error starts with as the option of the command line: `--fit` for `fit`."""
    try:
        yield
    except UsageError as error:
        is_named = str(error).startswith(tuple(f"{name} " for name in names))
        raise UsageError(f"--{error}" if is_named else str(error)) from None


class StandardOutput:
    """Standard output as a place to write a copy to; on a terminal, control characters are made visible."""

    def writelines(self, chunks: Iterable[bytes]) -> None:
        """Write chunks as they come."""
        write_raw(chunks)


def encode_json(value: Any) -> bytes:
    """A value as JSON in UTF-8."""
    from turnlog.render.json_bytes import to_json_bytes

    return to_json_bytes(value)


def _indent_for_terminal(document: bytes) -> bytes:
    """The same document, on a terminal indented and with what it would act on spelled as JSON spells it."""
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
    """What takes the bytes of standard output, behind all text that was written before."""
    if sys.stdout is None:
        return len  # a program without standard output writes nothing, and that is no failure
    sys.stdout.flush()
    return sys.stdout.buffer.write
