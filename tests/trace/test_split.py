"""Exporting a session while it grows gives the same spans as exporting it when it is over."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.session.build import DATA
from tests.trace.growth import Piece, grow_spans, map_final_spans, metas, pieces, recorded_files, write
from tests.trace.stories import MAIN, Story, stories
from turnlog.trace.spans.span import SessionSignals

pytestmark = pytest.mark.slow

Files = list[tuple[Path, bytes]]
RECORDED = sorted(path for path in DATA.glob("sessions/*/*/projects/*/????????-*.jsonl") if path.stat().st_size)


def check(main: Path, files: Files, meta: Files, parts: list[list[Piece]]) -> None:
    """Compare what is sent while a session grows with what is sent of it in the end."""
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        write(Path(one), meta)
        first = grow_spans(Path(one), main, parts)
        write(Path(other), [*meta, *files])
        whole = map_final_spans(Path(other) / main, SessionSignals(over=True))
    assert {identity: emitted.span for identity, emitted in first.items()} == whole


def split(given: list[Piece], cuts: list[float]) -> list[list[Piece]]:
    """The pieces in parts; a cut may go through the middle of a line."""
    parts: list[list[Piece]] = []
    rest = given
    for cut in sorted(cuts, reverse=True):
        place = cut * len(given)
        whole = int(place)
        if whole >= len(rest):
            continue
        piece = rest[whole]
        at = round((place - whole) * len(piece.data))
        parts.append([piece._replace(data=piece.data[at:]), *rest[whole + 1 :]])
        rest = [*rest[:whole], piece._replace(data=piece.data[:at])]
    return [rest, *parts[::-1]]


@given(stories(), st.lists(st.floats(0, 0.999), max_size=8))
def test_any_split_of_a_session_gives_the_same_spans(story: Story, cuts: list[float]) -> None:
    files = story.files()
    check(MAIN, files, story.metas(), split(pieces(files), cuts))


@settings(max_examples=40)
@given(stories())
def test_a_session_read_line_by_line_gives_the_same_spans(story: Story) -> None:
    files = story.files()
    check(MAIN, files, story.metas(), [[piece] for piece in pieces(files)])


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parts[-5]}/{path.parts[-4]}/{path.stem[:8]}")
def test_a_recorded_session_read_line_by_line_gives_the_same_spans(path: Path) -> None:
    files = recorded_files(path)
    check(Path(path.name), files, metas(path), [[piece] for piece in pieces(files)])


@pytest.mark.corpus
def test_sessions_of_others_give_the_same_spans_in_any_split(corpus: Path) -> None:
    for path in sorted(corpus.glob("wild/**/*.jsonl")):
        files = [(MAIN, path.read_bytes())]
        found = pieces(files)
        size = max(1, len(found) // 4)
        check(MAIN, files, [], [found[place : place + size] for place in range(0, len(found), size)])
