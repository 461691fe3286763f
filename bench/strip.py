"""What stripping saves, against a program that prunes session files; and how fast it is."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.draft import Draft
from turnlog.edit.strip.presets import PRESETS
from turnlog.edit.strip.strip import strip_session as stripped
from turnlog.errors import TurnlogError
from turnlog.session.session import Session
from turnlog.session.window.pieces import build_context_pieces
from turnlog.session.window.window_fill import WindowFill, compute_window_fill, estimate_text_tokens

from .corpora import corpus
from .measure import ROOT, Failed, compare, run
from .peers import cozempic
from .report import Goal, Part, Report, task

_SMALLEST = 20_000
"""Files that are smaller tell nothing about stripping."""


class Left(NamedTuple):
    """What is left of a session."""

    bytes: int
    tokens: int
    """Of the next request, at the rate that the untouched session shows."""
    turns: int
    calls: int
    """Turns and calls of the next request."""
    file_turns: int
    file_calls: int

    @property
    def kept(self) -> tuple[int, ...]:
        """Turns and calls, of the next request and of the file."""
        return self[2:]


class Compared(NamedTuple):
    """One session: as it was, stripped by us, and pruned by the other program."""

    before: Left
    ours: Left
    theirs: Left


def strip(runs: int, scale: float) -> Report:
    """What the standard preset saves of genuine sessions, and what cozempic's standard prescription does."""
    program = cozempic.install()
    if isinstance(program, str):
        raise Failed(program)
    found = list(_compared(program, _genuine()))
    yield f"  {len(found)} genuine sessions, {sum(one.before.bytes for one in found) / 1e6:.1f} MB"
    equal = [one for one in found if one.ours.kept == one.theirs.kept]
    more = sum(one.theirs.kept < one.ours.kept for one in found)
    yield f"  turns and calls that stay are equal in {len(equal)}; in {more} cozempic drops more of them"
    for name, some in (("all sessions", found), ("equally many turns and calls", equal)):
        yield from _sums(name, some)
    yield Goal("tokens saved, times those of cozempic", _ratio(equal, "tokens"), 1, at_least=True)
    yield Goal("bytes saved, times those of cozempic", _ratio(equal, "bytes"), 1, at_least=True)
    yield from _old_outputs(program, scale)
    yield from _speed(runs, scale)


def _old_outputs(program: Path, scale: float) -> Report:
    """What is left of one long session that old outputs fill, where turns and calls stay equally many."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "00000000-0000-4000-8000-000000000001.jsonl")
        _write_old_outputs(path, turns=max(20, int(400 * scale)))
        one = next(_compared(program, [path]))
    yield f"  a generated session of {one.before.bytes / 1e6:.0f} MB, {one.before.tokens:,} tokens, mostly old outputs:"
    yield f"         turnlog leaves {one.ours.tokens:,} tokens, cozempic {one.theirs.tokens:,}"
    yield f"         turns and calls that stay: turnlog {one.ours.kept}, cozempic {one.theirs.kept}"
    yield Goal("tokens left of it, times those that cozempic leaves", one.ours.tokens / one.theirs.tokens, 1)


def _write_old_outputs(path: Path, turns: int) -> None:
    """Write a session of ten calls a turn, each with 15 KB of output, and no compaction."""
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


def _sums(name: str, found: list[Compared]) -> Iterator[str]:
    for what in ("tokens", "bytes"):
        whole = sum(getattr(one.before, what) for one in found) or 1
        ours, theirs = (_saved(found, what, whose) for whose in ("ours", "theirs"))
        yield (
            f"  {name}, {what}: turnlog saves {ours:,} ({ours / whole:.1%}), cozempic {theirs:,} ({theirs / whole:.1%})"
        )


def _saved(found: list[Compared], what: str, whose: str) -> int:
    return sum(getattr(one.before, what) - getattr(getattr(one, whose), what) for one in found)


def _ratio(found: list[Compared], what: str) -> float:
    return _saved(found, what, "ours") / max(1, _saved(found, what, "theirs"))


def _compared(program: Path, paths: Sequence[Path]) -> Iterator[Compared]:
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(paths):
            session = Session.open(path)
            try:
                rate = compute_window_fill(session)
            except TurnlogError:
                continue
            ours = Session(
                stripped(session, Draft.from_transcript(session.file), PRESETS[1].strip_options).draft.to_transcript()
            )
            copy = Path(folder, f"{number:08}-0000-4000-8000-000000000000.jsonl")
            copy.write_bytes(path.read_bytes())
            run(cozempic.treat(program, copy, Path(folder)))
            yield Compared(_left(session, rate), _left(ours, rate), _left(Session.open(copy), rate))


def _genuine() -> list[Path]:
    shared = Path(os.environ.get("TURNLOG_CORPUS") or ROOT.parent / "shared" / "corpus")
    found = [*ROOT.glob("tests/data/sessions/**/????????-*.jsonl"), *shared.glob("wild/**/*.jsonl")]
    return sorted(path for path in found if path.stat().st_size >= _SMALLEST and "agent-" not in path.name)


def _left(session: Session, rate: WindowFill) -> Left:
    found = build_context_pieces(session).all
    tokens = sum(estimate_text_tokens(piece.size, rate.rate) + piece.fixed for piece in found)
    return Left(
        sum(len(line) for line in Draft.from_transcript(session.file).iterate_lines()),
        tokens,
        len({piece.turn for piece in found}),
        sum(piece.group == "calls" for piece in found),
        len(session.turns),
        len(session.calls),
    )


def _speed(runs: int, scale: float) -> Report:
    path = next(iter(sorted(corpus("large", scale=scale).glob("projects/*/*.jsonl"))))
    costs = compare({name: task(name, path) for name in ("orjson-dropped", "strip")}, min(runs, 3))
    size = path.stat().st_size / 1e6
    yield f"  the standard preset on {size:.0f} MB: {costs['strip'].wall:.1f} s, {size / costs['strip'].wall:.0f} MB/s"
    yield f"         {costs['strip'].wall / costs['orjson-dropped'].wall:.1f} times decoding each line once with orjson"


PARTS: Mapping[str, Part] = {"strip": strip}
