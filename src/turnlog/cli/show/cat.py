"""`turnlog cat`: the entries of a file, written back byte for byte."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from turnlog.entries.reader import RawItem


@click.command()
@click.argument("file")
@click.option("--explain", is_flag=True, help="Say of each piece what it is instead of writing it.")
def cat(file: str, explain: bool) -> None:
    """Write the entries of a file back, byte for byte.

    Proof that reading loses nothing: the output equals the input for any file, broken ones too. FILE is a path,
    or - for standard input. On a terminal, what could act on it is spelled out.

    \b
    Examples:
      turnlog cat session.jsonl | cmp - session.jsonl
      turnlog cat --explain session.jsonl
      zcat old.jsonl.gz | turnlog cat --explain -
    """
    from turnlog.cli.output import print_lines, write_raw
    from turnlog.entries.file_ends import read_lines
    from turnlog.entries.reader import scan_lines

    with _open_source(file) as source:
        pieces = scan_lines(read_lines(source) if source.seekable() else source)
        if explain:
            print_lines(_explain_pieces(pieces))
        else:
            write_raw(piece.raw for piece in pieces)


def _open_source(file: str) -> AbstractContextManager[BinaryIO]:
    from turnlog.errors import Unreadable

    if file == "-":
        if sys.stdin is None:
            raise Unreadable("standard input is closed")
        return nullcontext(sys.stdin.buffer)
    try:
        return open(file, "rb", buffering=1 << 20)  # noqa: PTH123 - a path as given, no Path needed
    except (OSError, ValueError) as error:
        raise Unreadable(f"{file}: {getattr(error, 'strerror', None) or error}") from None


def _explain_pieces(pieces: Iterator[RawItem]) -> Iterator[str]:
    """One line for each piece: line number, offset, size, what it is, and what is wrong with it."""
    from turnlog.cli.terminal import to_visible_line
    from turnlog.entries.entry import FLAW_DESCRIPTIONS, Scrap

    number = 1
    for item, raw in pieces:
        if isinstance(item, Scrap):
            kind, words = f"({item.kind})", item.reason
        else:
            inner = item.kind or next((k.type for k in (item.attachment, item.data) if k and k.type), None)
            kind = f"{item.name}/{inner}" if inner else item.name
            words = FLAW_DESCRIPTIONS[item.flaw] if item.flaw else ""
        yield (
            f"{number:>6}  {item.offset:>10}  {item.size:>8}  {to_visible_line(kind)}  {to_visible_line(words)}"
        ).rstrip()
        number += raw.endswith(b"\n")
