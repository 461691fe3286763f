"""What compressing has changed, as a Markdown document for people: every text before and after."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.edit.compress.compress import Compressed, Piece

_RUN = re.compile(r"`{3,}")
_SPEAKERS = {"assistant": "answer", "user": "prompt"}


def compress_log(found: Compressed, title: str = "") -> str:
    """The document. What it quotes stands in code blocks, so that nothing in it becomes a part of the document."""
    return "\n".join(_lines(found, " ".join(title.split()))) + "\n"


def _lines(found: Compressed, title: str) -> Iterator[str]:
    how = f"with the model {found.model}" if found.model else "without a model: sentences were left out"
    yield f"# Compressed: {title}" if title else "# Compressed"
    yield ""
    yield f"Turns {_turns(found.turns)}, {how}."
    yield (
        f"{len(found.shortened)} of {len(found.pieces)} texts are shorter: {found.before:,} characters before, "
        f"{found.after:,} after, {found.ratio:.0%}; wanted: {found.to:.0%}."
    )
    if found.used:
        asked, said = found.used.get("input_tokens", 0), found.used.get("output_tokens", 0)
        yield f"The model took {asked:,} tokens of input and gave {said:,}."
    for piece in found.shortened:
        yield from _changed(piece)
    if found.kept:
        yield from ("", "## Kept as they were", "")
        for piece in found.kept:
            yield f"- {_place(piece)}, {len(piece.slot.text):,} characters: {_one_line(piece.reason or '')}"


def _changed(piece: Piece) -> Iterator[str]:
    before, after = piece.slot.text, piece.after
    yield from ("", f"## {_place(piece)}: {len(before):,} → {len(after):,} characters")
    for name, text in (("Before", before), ("After", after)):
        fence = "`" * max(4, max((len(run) for run in _RUN.findall(text)), default=0) + 1)
        yield from ("", f"{name}:", "", f"{fence}text", text, fence)


def _place(piece: Piece) -> str:
    slot = piece.slot
    block = "" if slot.block is None else f", block {slot.block + 1}"
    return f"Turn {slot.turn}, {_SPEAKERS[slot.role]} (entry {slot.entry}{block})"


def _turns(numbers: tuple[int, ...]) -> str:
    """Numbers with runs put together: 1–3, 7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("`", "'")
