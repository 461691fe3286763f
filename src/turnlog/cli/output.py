"""Writing results: lines for people, JSON for programs, remarks on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from turnlog.cli.terminal import line, on_terminal, visible


def say(lines: Iterable[str]) -> None:
    """Write lines as they come; texts of strangers in them must have been made visible."""
    if sys.stdout is None:
        return
    for text in lines:
        sys.stdout.write(text + "\n")


def remark(text: str) -> None:
    """Write one line for people, beside the output."""
    if sys.stderr is not None:
        sys.stderr.write(line(text) + "\n")
        sys.stderr.flush()


def mention_unlisted(places: Sequence[object]) -> None:
    """Warn of folders that can't be listed: what is in them is not shown, and is not gone."""
    for place in places[:3]:
        remark(f"Can't look into {place}. What turnlog knows of it is kept.")
    if len(places) > 3:
        remark(f"… and {len(places) - 3} more folders or files that can't be looked at.")


def mention_others(count: int) -> None:
    """Say how many files may hold conversations and are not listed with the sessions."""
    if count:
        files = "1 .jsonl file has" if count == 1 else f"{count:,} .jsonl files have"
        remark(f"{files} a name that is not a session id; `turnlog ls --other` lists them.")


def dump(value: Any) -> None:
    """Write a JSON document."""
    _writer()(_shown(encode(value)) + b"\n")


def dump_list(name: str, items: Iterable[Any]) -> None:
    """Write a JSON document with one long list, item by item."""
    if on_terminal():
        dump({name: list(items)})
        return
    write = _writer()
    write(b'{"%s":[' % name.encode())
    for number, item in enumerate(items):
        write((b"," if number else b"") + encode(item))
    write(b"]}\n")


def write_raw(chunks: Iterable[bytes]) -> None:
    """Write bytes as they are; on a terminal, made visible line by line."""
    if on_terminal():
        say(visible(chunk.decode("utf-8", "backslashreplace").rstrip("\r\n")) for chunk in chunks)
        return
    write = _writer()
    for chunk in chunks:
        write(chunk)


def encode(value: Any) -> bytes:
    """A value as JSON in UTF-8."""
    from turnlog.render.encoding import encoded

    return encoded(value)


def _shown(document: bytes) -> bytes:
    """The same document, on a terminal indented and with what it would act on spelled as JSON spells it."""
    if not on_terminal():
        return document
    import msgspec

    text = msgspec.json.format(document, indent=2).decode()
    return "\n".join(map(_as_json_spells, text.split("\n"))).encode()


def _as_json_spells(text: str) -> str:
    return text if visible(text) == text else "".join(_unit(char) for char in text)


def _unit(char: str) -> str:
    if char == " " or visible(char) == char:
        return char
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _writer() -> Callable[[bytes], object]:
    """What takes the bytes of standard output, behind all text that was written before."""
    if sys.stdout is None:
        return len  # a program without standard output writes nothing, and that is no failure
    sys.stdout.flush()
    return sys.stdout.buffer.write
