"""A line of bash, taken apart."""

from __future__ import annotations

import sys

import pytest

from tests.agent.waits import run
from turnlog.agent.permissions.command.bash_line import parse_bash_line
from turnlog.agent.permissions.command.words import split_words


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a && b || c; d\ne | f |& g", ["a", "b", "c", "d", "e", "f", "g"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for i in 1 2; do a; done", ["a"]),
        ("while a; do b; done", ["a", "b"]),
        ("! a", ["a"]),
        ("a \\\n b", ["a \\\n b"]),
        ("cat <<'E'\n$(a)\nE", ["cat"]),
        ("a # b\nc", ["a", "c"]),
        ("[ -f x ] && a", ["[ -f x ]", "a"]),
        ("a 2>&1 >/dev/null <x", ["a"]),
        ("X=1 a", ["a"]),
    ],
)
def test_the_commands_of_a_line_are_found(text: str, parts: list[str]) -> None:
    line = parse_bash_line(text)
    assert [part.text for part in line.parts] == parts
    assert line.doubts == ()


@pytest.mark.parametrize(
    "text",
    [
        *[
            "a & b",
            "(b)",
            "{ b; }",
            "f() { b; }",
            "case x in x) b;; esac",
            "a $(b)",
            "a `b`",
            'a "$(b)"',
            "a <(b)",
            "a >(b)",
        ],
        *["a ${x:-$(b)}", "a $(( $(b) ))", "[[ -f $(b) ]]", "x=$(b)", "x=$(b) a", "cat <<E\n$(b)\nE", "a <<< $(b)"],
        *["cat <<'E' && b\nE", "for i in $(b); do a; done", "export x=$(b)", "a=(1 $(b))", "a[$(b)]=1"],
    ],
)
def test_commands_in_doubtful_places_are_found_too(text: str) -> None:
    line = parse_bash_line(text)
    assert "b" in [part.text for part in line.parts]
    assert line.doubts


@pytest.mark.parametrize(
    "text",
    [
        "a \\ #x; b",
        "a 'x",
        "if a; then b",
        "a\u00a0b",
        "a\rb",
        "a\x1bb",
        "a > x b",
        "a " + "x" * 70000,
        "(" * 300,
        "cat <<'A'B\nAB\nb",
    ],
)
def test_a_line_that_may_hide_something_is_opaque(text: str) -> None:
    assert parse_bash_line(text).is_opaque


def test_redirects_belong_to_the_commands_that_they_surround() -> None:
    first, second = parse_bash_line("if a; then b < in; fi > out").parts
    assert [(one.target.text, one.is_written) for one in first.redirects] == [("out", True)]
    assert [(one.target.text, one.is_written) for one in second.redirects] == [
        ("in", False),
        ("out", True),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a 'b c'd\"e\"\\ f", ["a", "b cde f"]),
        ("a \"\\$x\" '$x' $", ["a", "$x", "$x", "$"]),
        ("a '' \"\"", ["a", "", ""]),
        ("a\\\nb  c\td", ["ab", "c", "d"]),
        ("a {} '{b,c}' x#y", ["a", "{}", "{b,c}", "x#y"]),
    ],
)
def test_words_are_read_as_bash_reads_them(text: str, words: list[str]) -> None:
    found = split_words(text) or []
    assert [word.text for word in found] == words
    assert all(word.is_known for word in found)


@pytest.mark.parametrize(
    "text", ["a $(b)", "a `b`", "a {b,c}", "a {1..3}", "a;b", "a>b", "a #b", "a 'b", 'a "b', "a $'b'", "a\\"]
)
def test_what_is_more_than_words_is_not_read(text: str) -> None:
    assert split_words(text) is None


def test_words_tell_what_the_shell_will_make_of_them() -> None:
    found = split_words("$x \"$y\" ~/z ~root *.py '*'x? [ab] a=~/b") or []
    assert [word.is_known for word in found] == [False, False, True, False, True, True, False, False]
    assert [word.pattern for word in found] == [None, None, None, None, "*.py", "[*]x?", "[ab]", None]
    assert [word.has_tilde for word in found] == [False, False, True, True, False, False, False, False]


def test_no_character_ends_the_process() -> None:
    script = """
from tests.agent.waits import run
from turnlog.agent.permissions.command.bash_line import parse_bash_line
for point in (*range(0x80, 0x110000, 499), 0x10FFFF):
    for text in ("{%s", "{1%s..2}", "a {%s", "$%s", "${%s}", "<<%s", "a[%s]=1", "%s=1 a", "[[ %s ]]", "$((%s))"):
        parse_bash_line(text % chr(point))
print("done")
"""
    assert run([sys.executable, "-c", script], encoding="utf-8").stdout == "done\n"


@pytest.mark.parametrize("text", ["é=1 b", "é b", "日本=1 b", "a \U0010ffff b", "b é#c", "a é→ü \U0001f34e"])
def test_characters_outside_ascii_are_parts_of_words(text: str) -> None:
    (part,) = parse_bash_line(text).parts
    assert (part.text, [word.text for word in part.words], part.assigned) == (text, text.split(), ())
