"""What each strip preset would take away."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import Build
from tests.session.test_filling import MODEL, usage
from turnlog.edit.strip.presets import (
    MAX_MARK_CHARS,
    PLACEHOLDER_BYTES,
    PRESETS,
    Preset,
    RemainingSize,
    cut_text_middle,
    estimate_remaining,
    estimate_savings,
)
from turnlog.session.window.pieces import ContextPiece, build_context_pieces
from turnlog.session.window.window_fill import compute_window_fill

LIGHT, STANDARD, HEAVY, EXTREME = PRESETS
NOTHING = Preset("none", "", 0, None, 10**9, None, None, False, False, False, frozenset())
PICTURE = {"type": "image", "source": {}}


class Work(Build):
    """A session with one call in each turn."""

    def turn(self, call: str, result: object = "r" * 5000, tool: str = "Bash", given: object = None) -> None:
        self.prompt(f"do {call}")
        self.answer({"type": "thinking", "thinking": "t" * 100, "signature": "s"}, id=f"m{call}", model=MODEL)
        self.call(call, tool, given or {"command": call}, id=f"m{call}", model=MODEL)
        self.result(call, result)
        self.answer(f"did {call}", usage=usage(30_000), model=MODEL)

    def list_remaining(self, preset: Preset) -> list[tuple[ContextPiece, RemainingSize]]:
        found = build_context_pieces(self.session()).all
        return list(zip(found, estimate_remaining(found, preset), strict=True))

    def results(self, preset: Preset) -> list[int]:
        return [left.size for piece, left in self.list_remaining(preset) if piece.group == "results"]


def work(turns: int) -> Work:
    build = Work()
    for number in range(turns):
        build.turn(f"c{number}")
    return build


def test_a_preset_that_takes_nothing_away_leaves_everything() -> None:
    assert all(left == (piece.size, piece.fixed) for piece, left in work(3).list_remaining(NOTHING))


def test_each_preset_is_at_least_as_strong_as_the_one_before_in_every_respect() -> None:
    most = 10**9
    for mild, strong in pairwise(PRESETS):
        assert strong.whole <= mild.whole
        assert strong.longest <= mild.longest
        assert strong.whole + (most if strong.shortened is None else strong.shortened) <= mild.whole + (
            most if mild.shortened is None else mild.shortened
        )
        for name in ("thinking", "images"):
            one, other = getattr(strong, name), getattr(mild, name)
            assert (most if one is None else one) <= (most if other is None else other)
        assert (strong.noise, strong.duplicates, strong.stale_reads) >= (mild.noise, mild.duplicates, mild.stale_reads)
        assert strong.protected <= mild.protected


def test_the_last_turns_with_calls_stay_whole_and_older_ones_are_shortened() -> None:
    preset = replace(NOTHING, whole=2, longest=100)
    assert work(4).results(preset) == [100 + MAX_MARK_CHARS, 100 + MAX_MARK_CHARS, 5000, 5000]


def test_turns_without_calls_do_not_count() -> None:
    build = work(2)
    for _ in range(5):
        build.prompt("thanks")
        build.answer("welcome")
    assert build.results(replace(NOTHING, whole=2, longest=100)) == [5000, 5000]


def test_calls_that_are_older_still_go_with_their_results() -> None:
    build = work(4)
    left = build.list_remaining(replace(NOTHING, whole=1, shortened=1, longest=100))
    assert [kept.size for piece, kept in left if piece.group == "results"] == [0, 0, 100 + MAX_MARK_CHARS, 5000]
    assert [bool(kept.size) for piece, kept in left if piece.group == "calls"] == [False, False, True, True]


def test_protected_tools_are_never_touched() -> None:
    build = Work()
    build.turn("c1", tool="AskUserQuestion", given={"questions": "x" * 900})
    build.turn("c2")
    left = build.list_remaining(EXTREME)
    assert [kept.size == piece.size for piece, kept in left if piece.call] == [True, True, False, False]


def test_thinking_stays_in_the_last_turns_only() -> None:
    left = work(3).list_remaining(replace(NOTHING, thinking=1))
    assert [kept.size for piece, kept in left if piece.group == "thinking"] == [0, 0, 100]


def test_the_newest_images_stay_and_older_ones_become_a_placeholder() -> None:
    build = Work()
    build.prompt([PICTURE, {"type": "text", "text": "look"}])
    build.answer("seen")
    build.turn("c1", [{"type": "text", "text": "x"}, PICTURE])
    left = [kept.fixed for piece, kept in build.list_remaining(replace(NOTHING, images=1)) if piece.group == "images"]
    assert left[0] < 20
    assert left[1] == 1600
    assert [kept.fixed for piece, kept in build.list_remaining(EXTREME) if piece.group == "images"] == [left[0], 0]


def test_hook_output_is_noise() -> None:
    build = work(1)
    build.attachment("hook_success")
    build.lines[-1]["rendered"] = ["what the hook printed"]
    build.attachment("hook_additional_context")
    build.lines[-1]["rendered"] = ["what the hook says to the model"]
    build.answer("ok")
    left = build.list_remaining(replace(NOTHING, noise=True))
    assert [kept.size for piece, kept in left if piece.group == "attachments"] == [0, 31]


def test_a_result_that_a_later_call_has_again_goes() -> None:
    build = Work()
    build.turn("c1", given={"command": "same"})
    build.turn("c2", given={"command": "other"})
    build.turn("c3", given={"command": "same"})
    assert build.results(replace(NOTHING, duplicates=True)) == [PLACEHOLDER_BYTES, 5000, 5000]


@pytest.mark.parametrize(
    ("later", "given", "stale"),
    [
        ("Read", {"file_path": "/a"}, True),
        ("Edit", {"file_path": "/a", "old_string": "x"}, True),
        ("Write", {"file_path": "/a"}, True),
        ("Read", {"file_path": "/a", "offset": 10}, False),
        ("Read", {"file_path": "/b"}, False),
        ("Bash", {"command": "cat /a"}, False),
    ],
)
def test_a_read_is_stale_once_the_file_was_written_or_read_again(later: str, given: object, stale: bool) -> None:
    build = Work()
    build.turn("c1", tool="Read", given={"file_path": "/a", "limit": 5})
    build.turn("c2", tool=later, given=given)
    assert build.results(replace(NOTHING, stale_reads=True)) == [PLACEHOLDER_BYTES if stale else 5000, 5000]


def test_a_failed_call_makes_nothing_stale() -> None:
    build = Work()
    build.turn("c1", tool="Read", given={"file_path": "/a"})
    build.prompt("again")
    build.call("c2", "Edit", {"file_path": "/a"})
    build.result("c2", "no such text", error=True)
    build.call("c3", "Read", {"file_path": "/a"})
    build.result("c3", "no such file", error=True)
    build.answer("hm")
    assert build.results(replace(NOTHING, stale_reads=True, duplicates=True))[0] == 5000


def test_savings_are_of_what_is_sent_and_bytes_are_of_the_file() -> None:
    build = work(12)
    for _ in range(3):
        build.note("permission-mode", permissionMode="default")
    build.note("file-history-snapshot", snapshot={"x": "y" * 1000})
    session = build.session()
    found = compute_window_fill(session)
    light, standard, heavy, extreme = estimate_savings(found, session.file.entries)
    assert light.saved_tokens == 2 * (int(5000 * found.rate) - int((2000 + MAX_MARK_CHARS) * found.rate)) > 0
    assert light.bytes > 2 * (5000 - 2000 - MAX_MARK_CHARS) + 1000
    assert light.after > standard.after > heavy.after > extreme.after
    texts = sum(found.estimate_tokens(piece) for piece in found.pieces if piece.group in ("prompts", "answers"))
    assert extreme.after == found.unseen + found.later + texts


def test_a_preset_without_noise_counts_none() -> None:
    from turnlog.edit.strip import presets

    build = work(1)
    build.note("file-history-snapshot", snapshot={"x": "y" * 1000})
    session = build.session()
    assert presets.estimate_saving(NOTHING, compute_window_fill(session), session.file.entries).bytes == 0


@given(st.text(max_size=400), st.integers(0, 300))
def test_a_shortened_text_is_never_longer_and_says_what_was_cut(text: str, longest: int) -> None:
    short = cut_text_middle(text, longest)
    assert len(short) <= min(len(text), longest + MAX_MARK_CHARS)
    assert short == text or "characters cut]" in short


def test_head_and_tail_of_a_shortened_text_stay() -> None:
    assert cut_text_middle("a" * 500 + "z" * 500, 9) == "aaaaaa\n[turnlog: 991 characters cut]\nzzz"
    assert cut_text_middle("b" * 500, 0) == "\n[turnlog: 500 characters cut]\n"
