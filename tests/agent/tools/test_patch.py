"""Hunks lead from one text to the other, and hold three lines around each change."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.agent.tools.patch import build_patch

NO_END = "\\ No newline at end of file"


def lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def apply_hunks(before: str, hunks: list[dict[str, Any]]) -> str:
    """Follow the hunks, checking every line that they speak of."""
    old, made, at = lines(before), [], 0
    for hunk in hunks:
        made += old[at : hunk["oldStart"] - 1]
        at = hunk["oldStart"] - 1
        assert len(made) == hunk["newStart"] - 1
        for line, after in zip(hunk["lines"], [*hunk["lines"][1:], ""], strict=True):
            if line == NO_END:
                continue
            text = line[1:] + ("" if after == NO_END else "\n")
            if line[0] != "+":
                assert old[at] == text
                at += 1
            if line[0] != "-":
                made.append(text)
    return "".join(made + old[at:])


texts = st.lists(st.sampled_from("abc"), max_size=25).map("\n".join)


@given(texts, texts, st.sampled_from(["", "\n"]))
def test_hunks_lead_from_one_text_to_the_other(before: str, after: str, end: str) -> None:
    hunks = build_patch(before + end, after)
    assert apply_hunks(before + end, hunks) == after
    for hunk in hunks:
        assert hunk["oldLines"] == sum(line[0] in " -" for line in hunk["lines"])
        assert hunk["newLines"] == sum(line[0] in " +" for line in hunk["lines"])


def test_equal_texts_have_no_hunks() -> None:
    assert build_patch("a\nb\n", "a\r\nb\r\n") == []


def test_changes_that_are_far_apart_stand_in_hunks_of_their_own() -> None:
    before = [f"{n}\n" for n in range(1, 31)]
    after = before.copy()
    after[4], after[11], after[25] = "x\n", "y\n", "z\n"
    hunks = build_patch("".join(before), "".join(after))
    assert [(hunk["oldStart"], hunk["oldLines"]) for hunk in hunks] == [(2, 14), (23, 7)]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("", "a\n", ["+a"]),
        ("a\n", "", ["-a"]),
        ("x\ny", "x\nz", [" x", "-y", NO_END, "+z", NO_END]),
        ("a\n", "a", ["-a", "+a", NO_END]),
    ],
)
def test_ends_of_files_are_told(before: str, after: str, told: list[str]) -> None:
    assert build_patch(before, after)[0]["lines"] == told


def test_texts_that_have_little_in_common_are_told_as_one_block() -> None:
    before = "head\n" + "".join(f"old {n}\n" for n in range(3000)) + "tail\n"
    after = "head\n" + "".join(f"new {n}\n" for n in range(3000)) + "tail\n"
    (hunk,) = build_patch(before, after)
    assert (hunk["oldLines"], hunk["newLines"]) == (3002, 3002)
    assert apply_hunks(before, [hunk]) == after
