"""Writes a Markdown report of a compression, with all text before and after."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.edit.compress.compress import CompressedText, CompressionResult

_BACKTICK_RUN_PATTERN = re.compile(r"`{3,}")
_SPEAKER_LABELS = {"assistant": "answer", "user": "prompt"}


def render_compress_log(result: CompressionResult, title: str = "") -> str:
    """Render the report. Quoted text is in code blocks, so its markup has no effect."""
    return "\n".join(_render_lines(result, " ".join(title.split()))) + "\n"


def _render_lines(result: CompressionResult, title: str) -> Iterator[str]:
    how = f"with the model {result.model}" if result.model else "without a model: sentences were left out"
    yield f"# Compressed: {title}" if title else "# Compressed"
    yield ""
    yield f"Turns {_format_turn_numbers(result.turns)}, {how}."
    yield (
        f"{len(result.shortened_texts)} of {len(result.pieces)} texts are shorter: {result.chars_before:,} "
        f"characters before, "
        f"{result.chars_after:,} after, {result.ratio:.0%}; target: {result.to:.0%}."
    )
    if result.used:
        sent, received = result.used.get("input_tokens", 0), result.used.get("output_tokens", 0)
        yield f"The model used {sent:,} input tokens and {received:,} output tokens."
    for piece in result.shortened_texts:
        yield from _render_change(piece)
    if result.unshortened_texts:
        yield from ("", "## Unchanged", "")
        for piece in result.unshortened_texts:
            yield f"- {_describe_place(piece)}, {len(piece.slot.text):,} characters: {_to_one_line(piece.reason or '')}"


def _render_change(piece: CompressedText) -> Iterator[str]:
    before, after = piece.slot.text, piece.text_after
    yield from ("", f"## {_describe_place(piece)}: {len(before):,} → {len(after):,} characters")
    for name, text in (("Before", before), ("After", after)):
        fence = "`" * max(4, max((len(run) for run in _BACKTICK_RUN_PATTERN.findall(text)), default=0) + 1)
        yield from ("", f"{name}:", "", f"{fence}text", text, fence)


def _describe_place(piece: CompressedText) -> str:
    slot = piece.slot
    block = "" if slot.block is None else f", block {slot.block + 1}"
    return f"Turn {slot.turn}, {_SPEAKER_LABELS[slot.role]} (entry {slot.entry}{block})"


def _format_turn_numbers(numbers: tuple[int, ...]) -> str:
    """Join consecutive numbers: 1–3, 7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _to_one_line(text: str) -> str:
    return " ".join(text.split()).replace("`", "'")
