"""Leaving out sentences: what stays, what is named, and that nothing else happens."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.edit.compress.extract import extract_sentences, is_extracted_text
from turnlog.edit.compress.key_terms import find_key_terms, find_lost_terms, has_term
from turnlog.edit.compress.units import join_units, split_units

REPORT = """\
# What I found

The `total()` function in src/cart.py adds price times quantity. It ignores the discount, which is why test_discount \
fails. I looked at the history: the discount was lost in commit 4f2a9c1 when the loop was rewritten. Nobody noticed \
because the tests were skipped, e.g. on Windows.

```python
def total(items):
    return sum(i.price * i.qty for i in items)
```

## Next steps

1. Put the discount back into `total()`.
2. Add a test for 15% and for 0.
   It should also cover rounding.
3. Tell the team, because they asked about it.

| a | b |
|---|---|
| 1 | 2 |

I would do the first step now. Thank you for your patience!
"""
WORDS = st.sampled_from(
    "the cart total discount `foo()` src/a.py 42 3.5 a_b camelCase x.y.z https://e.org/a?b=1 --flag e.g. "
    "i.e. 漢字 Ärger #12 10% `a b` 4f2a9c1 2. 1) | - # ``` ~~~ ⟦".split(" ")
)
ENDS = st.sampled_from(
    [". ", "! ", "? ", "。", "！", "\n", "\n\n", "\n- ", "\n1. ", "\n## ", "\n```\n", ": ", ", ", " "]
)
TEXTS = st.lists(st.tuples(st.lists(WORDS, min_size=1, max_size=8).map(" ".join), ENDS), max_size=30).map(
    lambda parts: "".join(text + end for text, end in parts)
)


def code_of(text: str) -> list[str]:
    return [text[unit.start : unit.end] for unit in split_units(text) if unit.kind == "code"]


@given(st.one_of(TEXTS, st.text(max_size=400)))
def test_the_pieces_and_blanks_are_the_text(text: str) -> None:
    every = split_units(text)
    assert all(one.end <= other.start for one, other in pairwise(every))
    rest = text
    for unit in reversed(every):
        assert text[unit.start : unit.end].strip()
        rest = rest[: unit.start] + rest[unit.end :]
    assert not rest.strip()
    assert join_units(text, every, every).strip() == text.strip()


@given(st.one_of(TEXTS, st.text(max_size=400)), st.integers(0, 600))
def test_an_extract_is_shorter_has_every_mark_and_all_code_and_is_always_the_same(text: str, size: int) -> None:
    found = extract_sentences(text, size)
    assert found == extract_sentences(text, size)
    if found is None:
        return
    assert 0 < len(found.text.strip()) < len(text)
    assert not find_lost_terms(find_key_terms(text), found.text)
    assert 0 < found.left_out < found.sentences
    at = 0
    for code in code_of(text):
        at = found.text.index(code, at) + len(code)


@given(TEXTS, st.integers(0, 600))
def test_what_stays_stays_in_order(text: str, size: int) -> None:
    found = extract_sentences(text, size)
    if found is None:
        return
    body, at = found.text[: found.text.rindex("\n\n[Shortened by turnlog")], 0
    for unit in split_units(body):
        words = body[unit.start : unit.end].strip()
        at = text.index(words, at) + len(words)


def test_the_central_sentences_stay_and_the_rest_is_told() -> None:
    found = extract_sentences(REPORT, 300)
    assert found is not None
    assert "The `total()` function in src/cart.py adds price times quantity." in found.text
    assert "Thank you" not in found.text
    assert "\n```python\ndef total(items):\n    return sum(i.price * i.qty for i in items)\n```\n" in found.text
    assert found.text.endswith("]")
    assert f"{found.left_out} of {found.sentences} sentences left out." in found.text
    assert is_extracted_text(found.text)
    assert not is_extracted_text(REPORT)


def test_a_smaller_size_gives_a_shorter_text() -> None:
    sizes = [len(found.text) for size in (600, 400, 250, 100) if (found := extract_sentences(REPORT, size))]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] < len(REPORT)


def test_a_heading_stays_only_with_what_stands_below_it() -> None:
    found = extract_sentences(REPORT, 250)
    assert found is not None
    assert "# What I found" in found.text
    assert "## Next steps" not in found.text


def test_a_text_of_one_sentence_has_nothing_to_leave_out() -> None:
    assert extract_sentences("One sentence that goes on and on " * 30, 50) is None
    assert extract_sentences("```\ncode\n```\n" * 40, 50) is None
    assert extract_sentences("", 50) is None


def test_a_giant_text_takes_no_giant_time() -> None:
    text = " ".join(f"Sentence number {n} speaks of module_{n % 50} and of many other things." for n in range(4000))
    found = extract_sentences(text, len(text) // 3)
    assert found is not None
    assert len(found.text) <= len(text) // 3


STRANGE = ["a-", "a.", "a/", "a.1.", "a_", "aA", ".", "!", "x. ", "X. ", "e.g. ", "`", "` ", "| ", "1. ", "1,", "/."]
STRANGE += ["- \n", "# x\n", "```\n", "````", "漢。", "漢", "a+b/", "<a>", "--a", "C:\\", "a://", "\n ", "⟦"]


@pytest.mark.parametrize("piece", STRANGE)
def test_no_text_is_so_strange_that_it_takes_long(piece: str) -> None:
    text = (piece * 60_000)[:60_000]
    extract_sentences(text + " End. Really.", 9_000)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("One. Two! Three?", ["sentence"] * 3),
        ("See e.g. Foo. And i.e. this.", ["sentence"] * 2),
        ("It is version 2.1.3 now. Fine.", ["sentence"] * 2),
        ("Run `a. B` now. Fine.", ["sentence"] * 2),
        ("第一句。第二句！第三句？", ["sentence"] * 3),
        ("- one\n- two\n  goes on\n- three", ["item"] * 3),
        ("# T\n## U\ntext", ["heading", "heading", "sentence"]),
        ("a\n```x\n1. b. C\n```\nd", ["sentence", "code", "sentence"]),
        ("````\n```\n````\nd", ["code", "sentence"]),
        ("```\nnever closed. Really.", ["code"]),
        ("```not code``` but a line. Really.", ["sentence"] * 2),
        ("| a |\n| b |\nText.", ["table", "sentence"]),
    ],
)
def test_a_text_falls_into_pieces(text: str, kinds: list[str]) -> None:
    assert [unit.kind for unit in split_units(text)] == kinds


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("look at `x y` and `z`", ["x y", "z"]),
        ("in src/cart.py, /etc/hosts, ~/x/y or C:\\a\\b.c", ["src/cart.py", "/etc/hosts", "~/x/y", "C:\\a\\b.c"]),
        ("README.md and cart.py.", ["README.md", "cart.py"]),
        ("and/or he/she 1/2", ["1", "2"]),
        ("https://e.org/a?b=1#c.", ["https://e.org/a?b=1#c"]),
        ("snake_case camelCase PascalCase os.path.join total() Foo::bar", [
            "snake_case", "camelCase", "PascalCase", "os.path.join", "total()", "Foo::bar"]),
        ("3.5 s, 1,000 rows, 15%, 12ms, #42, 4f2a9c1", ["3.5", "1,000", "15%", "12ms", "#42", "4f2a9c1"]),
        ("use --dry-run or -n", ["--dry-run", "-n"]),
        ("1. first\n2) second 3", ["3"]),
        ("Plain words only, e.g. these. A-B well-known.", []),
    ],
)  # fmt: skip
def test_what_has_a_name_is_a_mark(text: str, names: list[str]) -> None:
    assert find_key_terms(text) == names


@pytest.mark.parametrize(
    ("text", "name", "there"),
    [
        ("it is 42.", "42", True),
        ("it is 1425", "42", False),
        ("it is 42.5", "42", False),
        ("it is 4,200", "4", False),
        ("`total()` is", "total()", True),
        ("subtotal() is", "total()", False),
        ("共42个", "42", True),
        ("a_b_c", "a_b", False),
    ],
)
def test_a_mark_is_held_only_as_a_whole(text: str, name: str, there: bool) -> None:
    assert has_term(text, name) is there
