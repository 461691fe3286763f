"""Measure how much stripping saves, compared with a program that prunes session files, and how fast it is."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.draft import Draft
from turnlog.edit.strip.presets import PRESETS
from turnlog.edit.strip.strip import strip_session
from turnlog.errors import TurnlogError
from turnlog.session.session import Session
from turnlog.session.window.pieces import build_context_pieces
from turnlog.session.window.window_fill import WindowFill, compute_window_fill, estimate_text_tokens

from .corpora import generate_corpus
from .measure import ROOT, BenchmarkError, compare_programs, run_program
from .peers import cozempic
from .report import Goal, Part, Report, build_task

_MIN_FILE_BYTES = 20_000
"""Smaller files show nothing about stripping."""


class Remainder(NamedTuple):
    """What is left of a session."""

    bytes: int
    tokens: int
    """Tokens in the next request, at the rate that the original session shows."""
    turns: int
    calls: int
    """Turns and calls in the next request."""
    file_turns: int
    file_calls: int

    @property
    def turns_and_calls(self) -> tuple[int, ...]:
        """The turns and calls in the next request and in the file."""
        return self[2:]


class Comparison(NamedTuple):
    """One session: the original, stripped by turnlog, and pruned by the other program."""

    before: Remainder
    ours: Remainder
    theirs: Remainder


def measure_strip(runs: int, scale: float) -> Report:
    """How much the standard preset saves on genuine sessions, compared with cozempic's standard prescription."""
    program = cozempic.install_program()
    if isinstance(program, str):
        raise BenchmarkError(program)
    comparisons = list(_compare_sessions(program, _find_sessions()))
    size = sum(comparison.before.bytes for comparison in comparisons) / 1e6
    yield f"  {len(comparisons)} genuine sessions, {size:.1f} MB"
    equal = [item for item in comparisons if item.ours.turns_and_calls == item.theirs.turns_and_calls]
    more = sum(item.theirs.turns_and_calls < item.ours.turns_and_calls for item in comparisons)
    yield f"  both keep the same turns and calls in {len(equal)}; cozempic drops more of them in {more}"
    for name, selection in (("all sessions", comparisons), ("the same turns and calls", equal)):
        yield from _format_savings(name, selection)
    yield Goal("tokens saved, times those of cozempic", _divide_savings(equal, "tokens"), 1, is_minimum=True)
    yield Goal("bytes saved, times those of cozempic", _divide_savings(equal, "bytes"), 1, is_minimum=True)
    yield from _compare_old_outputs(program, scale)
    yield from _measure_speed(runs, scale)


def _compare_old_outputs(program: Path, scale: float) -> Report:
    """Compare the programs on a long session that consists mostly of old output."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "00000000-0000-4000-8000-000000000001.jsonl")
        _write_old_outputs(path, turns=max(20, int(400 * scale)))
        before, ours, theirs = next(_compare_sessions(program, [path]))
    yield f"  a generated session of {before.bytes / 1e6:.0f} MB, {before.tokens:,} tokens, mostly old outputs:"
    yield f"         turnlog leaves {ours.tokens:,} tokens, cozempic {theirs.tokens:,}"
    yield f"         turns and calls kept: turnlog {ours.turns_and_calls}, cozempic {theirs.turns_and_calls}"
    yield Goal("tokens left, times those that cozempic leaves", ours.tokens / theirs.tokens, 1)


def _write_old_outputs(path: Path, turns: int) -> None:
    """Write a session with ten calls per turn, each with 15 KB of output, and without a compaction."""
    rows: list[dict[str, object]] = []
    session = path.stem

    def add(kind: str, content: object, **message: object) -> None:
        uuid = f"00000000-0000-4000-9000-{len(rows):012}"
        when = f"2026-03-{1 + len(rows) // 4000:02}T{len(rows) // 180 % 24:02}:{len(rows) // 3 % 60:02}:00.000Z"
        head = {"parentUuid": rows[-1]["uuid"] if rows else None, "isSidechain": False, "userType": "external"}
        place = {"cwd": "/home/alice/work", "sessionId": session, "version": "2.1.325", "gitBranch": "main"}
        body = {"role": kind, "content": content, **message}
        rows.append({**head, **place, "type": kind, "message": body, "uuid": uuid, "timestamp": when})

    def answer(block: dict[str, object]) -> None:
        add("assistant", [block], id=f"msg_{len(rows):08}", type="message", model="claude-opus-4-5")

    for turn in range(turns):
        add("user", f"Look into part {turn} and mend what is broken there.")
        for number in range(10):
            call = f"toolu_{turn:06}{number:02}"
            answer({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"make part-{turn}-{number}"}})
            lines = [f"{turn}.{number}.{line}: compiled src/module_{line}.c without a word\n" for line in range(300)]
            add("user", [{"type": "tool_result", "tool_use_id": call, "content": "".join(lines)}])
        answer({"type": "text", "text": f"Part {turn} builds again; a header was missing in its third module."})
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))


def _format_savings(name: str, comparisons: list[Comparison]) -> Iterator[str]:
    for field in ("tokens", "bytes"):
        whole = sum(getattr(comparison.before, field) for comparison in comparisons) or 1
        ours, theirs = (_sum_savings(comparisons, field, side) for side in ("ours", "theirs"))
        shares = f"turnlog saves {ours:,} ({ours / whole:.1%}), cozempic {theirs:,} ({theirs / whole:.1%})"
        yield f"  {name}, {field}: {shares}"


def _sum_savings(comparisons: list[Comparison], field: str, side: str) -> int:
    return sum(
        getattr(comparison.before, field) - getattr(getattr(comparison, side), field) for comparison in comparisons
    )


def _divide_savings(comparisons: list[Comparison], field: str) -> float:
    return _sum_savings(comparisons, field, "ours") / max(1, _sum_savings(comparisons, field, "theirs"))


def _compare_sessions(program: Path, paths: Sequence[Path]) -> Iterator[Comparison]:
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(paths):
            session = Session.open(path)
            try:
                rate = compute_window_fill(session)
            except TurnlogError:
                continue
            stripped = strip_session(session, Draft.from_transcript(session.file), PRESETS[1].strip_options)
            ours = Session(stripped.draft.to_transcript())
            copy = Path(folder, f"{number:08}-0000-4000-8000-000000000000.jsonl")
            copy.write_bytes(path.read_bytes())
            run_program(cozempic.build_prune_command(program, copy, Path(folder)))
            yield Comparison(
                _measure_remainder(session, rate),
                _measure_remainder(ours, rate),
                _measure_remainder(Session.open(copy), rate),
            )


def _find_sessions() -> list[Path]:
    shared = Path(os.environ.get("TURNLOG_CORPUS") or ROOT.parent / "shared" / "corpus")
    paths = [*ROOT.glob("tests/data/sessions/**/????????-*.jsonl"), *shared.glob("wild/**/*.jsonl")]
    return sorted(path for path in paths if path.stat().st_size >= _MIN_FILE_BYTES and "agent-" not in path.name)


def _measure_remainder(session: Session, rate: WindowFill) -> Remainder:
    pieces = build_context_pieces(session).all
    tokens = sum(estimate_text_tokens(piece.size, rate.rate) + piece.fixed for piece in pieces)
    return Remainder(
        sum(len(line) for line in Draft.from_transcript(session.file).iterate_lines()),
        tokens,
        len({piece.turn for piece in pieces}),
        sum(piece.group == "calls" for piece in pieces),
        len(session.turns),
        len(session.calls),
    )


def _measure_speed(runs: int, scale: float) -> Report:
    path = next(iter(sorted(generate_corpus("large", scale=scale).glob("projects/*/*.jsonl"))))
    costs = compare_programs({name: build_task(name, path) for name in ("orjson-dropped", "strip")}, min(runs, 3))
    size = path.stat().st_size / 1e6
    yield f"  the standard preset on {size:.0f} MB: {costs['strip'].wall:.1f} s, {size / costs['strip'].wall:.0f} MB/s"
    yield f"         {costs['strip'].wall / costs['orjson-dropped'].wall:.1f} times one decode with orjson"


PARTS: Mapping[str, Part] = {"strip": measure_strip}
