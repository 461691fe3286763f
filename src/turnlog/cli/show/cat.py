"""`turnlog cat`: print the entries of a file, byte for byte."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from typing import BinaryIO

    from turnlog.api.session import FilePiece


@click.command()
@click.argument("file")
@click.option("--explain", is_flag=True, help="Describe each entry instead of printing it.")
def cat(file: str, explain: bool) -> None:
    """Print the entries of a session file, byte for byte.

    The output is identical to the input even if the file is damaged, because turnlog reads files without loss.
    Control characters are escaped only if the output is a terminal. FILE is a path, or - for standard input.

    \b
    Examples:
      turnlog cat session.jsonl | cmp - session.jsonl
      turnlog cat --explain session.jsonl
      zcat old.jsonl.gz | turnlog cat --explain -
    """
    from turnlog.api.session import explain_pieces, scan_raw_pieces
    from turnlog.cli.output import print_lines, write_raw

    with _open_source(file) as source:
        pieces = scan_raw_pieces(source)
        if explain:
            print_lines(map(_render_piece, explain_pieces(pieces)))
        else:
            write_raw(piece.raw for piece in pieces)


def _open_source(file: str) -> AbstractContextManager[BinaryIO]:
    from turnlog.api.session import open_raw_file
    from turnlog.errors import Unreadable

    if file != "-":
        return open_raw_file(file)
    if sys.stdin is None:
        raise Unreadable("standard input is closed")
    return nullcontext(sys.stdin.buffer)


def _render_piece(piece: FilePiece) -> str:
    """Render an entry's line number, offset, size, type and problems."""
    from turnlog.cli.terminal import to_visible_line

    kind, problem = to_visible_line(piece.kind), to_visible_line(piece.problem)
    return f"{piece.line:>6}  {piece.offset:>10}  {piece.size:>8}  {kind}  {problem}".rstrip()
