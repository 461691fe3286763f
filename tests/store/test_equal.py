"""Whatever happens to the files, in whatever steps: the index equals one that is built from the files as they are."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.store.index_build import (
    ODD,
    ONE,
    SLUG,
    TWO,
    Content,
    Desk,
    FileContent,
    content,
    humps,
    main,
    recorded_lines,
    recount_spend,
)
from turnlog.store.index import batch_reader, refresh, shard_workers
from turnlog.store.index.coverage import read_coverage
from turnlog.store.index.refresh import fill_index, ignore_progress

pytestmark = pytest.mark.slow

FILES = (
    main(),
    main(TWO),
    main(ONE, "-home-dana-other"),
    f"projects/{SLUG}/{ONE}/subagents/agent-a1.jsonl",
    f"projects/{SLUG}/{ONE}/subagents/workflows/w1/agent-a2.jsonl",
    f"projects/{SLUG}/{TWO}/subagents/deep/deeper/agent-a3.jsonl",
    f"projects/{SLUG}/agent-loose1.jsonl",
    f"projects/{SLUG}/subagents/agent-loose2.jsonl",
    f"projects/{SLUG}/{ONE}/tool-results/call1.txt",
    f"projects/{SLUG}/notes.jsonl",
)
PHASES = (Phase.explicit, Phase.generate)
"""Looking for the smallest example would take minutes: each one builds an index."""


class Step(NamedTuple):
    """Something that happens to a file."""

    act: str
    file: int
    first: int
    many: int
    is_refreshed: bool


@cache
def lines() -> list[bytes]:
    return [*recorded_lines(), *ODD]


def some(step: Step) -> bytes:
    found = lines()
    start = step.first % len(found)
    return b"".join((found + found)[start : start + step.many])


def append_lines(desk: Desk, path: Path, step: Step) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(some(step))


def torn(desk: Desk, path: Path, step: Step) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = some(step)
    with path.open("ab") as file:
        file.write(data[: len(data) - 1 - step.first % 50])


def without_line_end(desk: Desk, path: Path, step: Step) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(some(step).rstrip(b"\n"))


def end_line(desk: Desk, path: Path, step: Step) -> None:
    """The line end, which was missing, comes."""
    if path.exists():
        with path.open("ab") as file:
            file.write(b"\n")


def rewritten(desk: Desk, path: Path, step: Step) -> None:
    """Other bytes in the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(some(step))


def replace_file(desk: Desk, path: Path, step: Step) -> None:
    """Another file with the same name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    other = path.with_name(".new")
    other.write_bytes(some(step))
    other.replace(path)


def shorten_file(desk: Desk, path: Path, step: Step) -> None:
    if path.exists():
        os.truncate(path, path.stat().st_size * (step.first % 4) // 4)


def changed_inside(desk: Desk, path: Path, step: Step) -> None:
    """A line in the middle goes, and with it the ends that a checkpoint remembers are others."""
    if path.exists():
        kept = path.read_bytes().splitlines(keepends=True)
        if len(kept) > 2:
            del kept[step.first % (len(kept) - 1)]
            path.write_bytes(b"".join(kept)[:-2] + b"\n")


def delete_file(desk: Desk, path: Path, step: Step) -> None:
    path.unlink(missing_ok=True)


def forgotten(desk: Desk, path: Path, step: Step) -> None:
    """The client's clean-up: the whole folder goes."""
    shutil.rmtree(path.parent, ignore_errors=True)


def rename_file(desk: Desk, path: Path, step: Step) -> None:
    target = desk.config / FILES[step.first % len(FILES)]
    if path.exists() and target != path:
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)


def settle_files(desk: Desk, path: Path, step: Step) -> None:
    desk.settle()


ACTS: dict[str, Callable[[Desk, Path, Step], None]] = {
    act.__name__: act
    for act in (
        append_lines,
        torn,
        without_line_end,
        end_line,
        rewritten,
        replace_file,
        shorten_file,
        changed_inside,
        delete_file,
        forgotten,
        rename_file,
        settle_files,
    )
}
STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["append_lines"] * 6 + ["settle_files"] * 2 + list(ACTS)),
        st.integers(0, len(FILES) - 1),
        st.integers(0, 500),
        st.integers(1, 6),
        st.booleans(),
    ),
    min_size=1,
    max_size=14,
)


class History:
    """What an index held of each file when it was last there."""

    def __init__(self) -> None:
        self.known: dict[str, FileContent] = {}

    def look(self, now: Content) -> None:
        """What is known of files that are gone must stay as it was."""
        for path, found in now.gone.items():
            assert found == self.known[path], path
        self.known |= now.there


def refresh_in_stages(desk: Desk, step: Step) -> None:
    """Read the conversation, and of the rest nothing, some pieces, or all that can be read."""
    with desk.open() as store:
        assert not store.refresh([desk.config], is_whole=False).unread
        pieces = itertools.count()
        if step.first % 3:
            fill_index(store.db, ignore_progress, lambda: step.first % 3 == 1 and next(pieces) >= step.many)


def refresh_whole(desk: Desk, step: Step) -> None:
    assert not desk.refresh().unread


def play(steps: list[Step], folder: Path, refresh: Callable[[Desk, Step], None] = refresh_whole) -> None:
    desk, history = Desk(folder), History()
    for step in steps:
        ACTS[step.act](desk, desk.config / FILES[step.file], step)
        if step.is_refreshed:
            refresh(desk, step)
            history.look(desk.content())
    desk.refresh()
    with desk.open() as store:
        assert read_coverage(store.db).left == 0
        found = content(store.db)
        assert found.spend == recount_spend(store.db), "spend is not what the answers give"
    history.look(found)
    fresh = desk.scratch(folder / "scratch")
    assert found.there.keys() == fresh.there.keys()
    for path, expected in fresh.there.items():
        for name, ours, theirs in zip(FileContent._fields, found.there[path], expected, strict=True):
            assert ours == theirs, f"{path}: {name}"
    if not found.gone:
        assert found.spend == fresh.spend
    assert humps(desk.data) >= humps(folder / "scratch")


@given(STEPS)
@settings(max_examples=60, phases=PHASES)
def test_an_index_equals_one_that_is_built_from_scratch(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        play(steps, Path(folder))


@given(STEPS)
@settings(max_examples=15, phases=PHASES)
def test_and_so_it_does_when_files_are_read_in_small_pieces(steps: list[Step]) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(batch_reader, "PIECE_BYTES", 700)
        play(steps, Path(folder))


@given(STEPS)
@settings(max_examples=60, phases=PHASES)
def test_and_so_it_does_when_the_conversation_is_read_first(steps: list[Step]) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(refresh, "MAX_WHOLE_BYTES", -1)
        play(steps, Path(folder), refresh_in_stages)


@given(STEPS)
@settings(max_examples=25, phases=PHASES)
def test_and_so_it_does_when_both_stages_read_small_pieces(steps: list[Step]) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(refresh, "MAX_WHOLE_BYTES", -1)
        patch.setattr(batch_reader, "PIECE_BYTES", 700)
        play(steps, Path(folder), refresh_in_stages)


def treat_as_large(patch: pytest.MonkeyPatch) -> None:
    """Treat every change as so large that its rest goes to one of three shards, which this process fills."""
    patch.setattr(refresh, "MAX_WHOLE_BYTES", -1)
    patch.setattr(shard_workers, "MIN_SHARD_BYTES", -1)
    patch.setattr(shard_workers, "count_shard_workers", lambda: 3)


@given(STEPS)
@settings(max_examples=60, phases=PHASES)
def test_and_so_it_does_when_the_rest_goes_to_shards(steps: list[Step]) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        treat_as_large(patch)
        play(steps, Path(folder), refresh_in_stages)


@given(STEPS)
@settings(max_examples=40, phases=PHASES)
def test_and_so_it_does_when_small_changes_follow_in_the_index_itself(steps: list[Step]) -> None:
    """Some changes are treated as large and others as small, so that calls and results are in different databases."""

    def refresh_in_turn(desk: Desk, step: Step) -> None:
        with pytest.MonkeyPatch.context() as patch:
            if step.first % 2:
                patch.setattr(refresh, "MAX_WHOLE_BYTES", 1 << 30)
            refresh_in_stages(desk, step)

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        treat_as_large(patch)
        patch.setattr(batch_reader, "PIECE_BYTES", 700)
        play(steps, Path(folder), refresh_in_turn)
