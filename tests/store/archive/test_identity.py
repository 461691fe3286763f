"""Archiving and restoring is the identity, whatever happens to the files in between."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.archive.place import ONE, SLUG, TWO, Place, main, tree
from turnlog.store.archive.intake import CutSizes
from turnlog.store.archive.prune import PruneRules, prune_archive

PATHS = [
    main(ONE),
    f"projects/{SLUG}/{ONE}/subagents/agent-a1.jsonl",
    f"projects/{SLUG}/{ONE}/tool-results/x.txt",
    f"file-history/{ONE}/ab@v1",
    f"todos/{ONE}-agent-{ONE}.json",
    f"tasks/{ONE}/1.json",
    f"new-folder/{ONE}/50%.bin",
    main(TWO),
]

DATA = st.binary(max_size=60).flatmap(lambda seed: st.integers(0, 40).map(lambda times: seed * times))
STEP = st.one_of(
    st.tuples(st.sampled_from(["append", "replace"]), st.sampled_from(PATHS), DATA),
    st.tuples(st.just("cut"), st.sampled_from(PATHS), st.integers(0, 2000)),
    st.tuples(st.just("delete"), st.sampled_from(PATHS[1:-1]), st.none()),
    st.tuples(st.just("run"), st.none(), st.none()),
    st.tuples(st.just("sweep"), st.none(), st.none()),
)


def do(place: Place, word: str, path: str | None, value: bytes | int | None) -> None:
    if path is None:
        place.run() if word == "run" else prune_archive(place.archive, PruneRules())
        return
    file = place.config / path
    before = file.read_bytes() if file.exists() else b""
    match word, value:
        case "append", bytes():
            place.append(path, value) if file.exists() else place.write(path, value)
        case "replace", bytes():
            place.write(path, value, mode=0o644)
        case "cut", int():
            place.write(path, before[:value])
        case _:
            file.unlink(missing_ok=True)


@pytest.mark.slow
@settings(max_examples=80)
@given(st.lists(STEP, max_size=25))
def test_what_is_restored_is_what_was_there_at_the_last_run(steps: list[tuple[str, str | None, bytes | None]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name), CutSizes(blob=512, small=64))  # a few bytes are many blobs
        place.session()
        for step in steps:
            do(place, *step)
        place.run()
        back = Path(name, "back")
        for session in (item.name for item in place.archive.list_sessions()):
            place.restore(back, session, with_gone=False)
        assert tree(back) == tree(place.config)
        assert place.is_sound()
        again = place.run()
        assert (again.archived, again.stored) == (0, 0)


@settings(max_examples=40)
@given(st.lists(DATA, min_size=2, max_size=8))
def test_every_state_that_was_archived_can_be_restored_or_is_the_beginning_of_one(states: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name))
        for state in states:
            place.session(state)
            place.run()
        (session,) = place.archive.list_sessions()
        kept = [
            b"".join(place.archive.iter_chunks(file))
            for item in place.archive.list_generations(session.name)
            for file in item.files
        ]
        for state in states:
            assert any(found.startswith(state) for found in kept)
        assert kept[-1] == states[-1]
