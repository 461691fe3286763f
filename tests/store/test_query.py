"""The language of queries: what is understood, and how what is not is explained."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.store.search.query import parse_query
from turnlog.store.search.syntax import (
    AllNode,
    EitherNode,
    NotNode,
    QueryError,
    QueryFilter,
    QueryNode,
    QueryTerm,
    iter_all_terms,
)


def short(node: QueryNode) -> str:
    """A tree on one line."""
    match node:
        case QueryTerm():
            text = f'"{node.text}"' if node.is_phrase else node.text
            return text + "*" * node.is_prefix
        case QueryFilter():
            return f"{node.name}={'|'.join(value.text for value in node.values)}"
        case NotNode():
            return f"!{short(node.item)}"
        case AllNode():
            return f"({' & '.join(map(short, node.items))})"
        case EitherNode():
            return f"({' | '.join(map(short, node.items))})"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("rounding error", "(rounding & error)"),
        ("a AND b", "(a & b)"),
        ('"cent rounding" foo*', '("cent rounding" & foo*)'),
        ('"cent rou"*', '("cent rou"*)'),
        (r'"say \"it\" \\ now"', r'("say "it" \ now")'),
        ("a OR b c", "((a | (b & c)))"),
        ("(a OR b) c", "((a | b) & c)"),
        ("a NOT b -c", "(a & !b & !c)"),
        ('x -"a b" -(c d)', '(x & !"a b" & !(c & d))'),
        ("NOT NOT a", "(a)"),
        ("and or not", "(and & or & not)"),
        ("foo.bar() (f(x) OR y)", "(foo.bar() & (f(x) | y))"),
        ("--force -v", "(--force & !v)"),
        (
            "std::vector http://x/y main.py:12 C:\\dir 12:30",
            "(std::vector & http://x/y & main.py:12 & C:\\dir & 12:30)",
        ),
        ('project:webshop -tool:Bash,"my tool"', "(project=webshop & !tool=Bash|my tool)"),
        ("Project:x", "(project=x)"),
        ("project:/home/dana file:///x", "(project=/home/dana & file:///x)"),
        ("tool:Bash OR error:yes", "((tool=Bash | error=yes))"),
        ("foo( *args **kw 日本*", "(foo( & *args & **kw & 日本*)"),
        ("=> foo", "(foo)"),
    ],
)
def test_a_query_is_understood(text: str, tree: str) -> None:
    assert short(parse_query(text).root) == tree


@pytest.mark.parametrize(
    ("text", "reason", "at"),
    [
        ('fix "cent', "this quote is never closed", 4),
        ("a (b OR c", "this parenthesis is never closed", 2),
        ("(", "this parenthesis is never closed", 0),
        ("a) b", "this parenthesis was never opened", 1),
        ("a OR", "a word or filter must follow this OR", 2),
        ("a AND OR b", "a word or filter must follow this AND", 2),
        ("OR a", "a word or filter must come before this OR", 0),
        ("a NOT", "a word or filter must follow this NOT", 2),
        ("a -(", "this parenthesis is never closed", 3),
        ("()", "these parentheses are empty", 0),
        ("projct:x", 'unknown filter projct:; did you mean project:? To search for the word, quote it: "projct:"', 0),
        ("a since:7d", 'unknown filter since:; did you mean after:? To search for the word, quote it: "since:"', 2),
        ("a proj:x", "unknown filter proj:; did you mean project:?", 2),
        ("sess:x", "unknown filter sess:; did you mean session:?", 0),
        ("mod:opus", "unknown filter mod:; did you mean model:?", 0),
        ("tool:", "tool: needs a value", 5),
        ("tool:a, b", "tool: needs a value", 7),
        ("=>", "the query contains no letters or digits; use --substring to search for symbols", 0),
        ("  ", "the query is empty", 0),
        ("(" * 50 + "a" + ")" * 50, "nested too deep", 41),
        ("a " * 65, "more than 64 words and filters", 128),
    ],
)
def test_a_bad_query_is_explained_at_its_place(text: str, reason: str, at: int) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert str(caught.value).startswith(reason)
    assert (caught.value.at, caught.value.query, caught.value.exit_status) == (at, text, 2)


def test_signs_alone_are_left_out_and_told() -> None:
    assert parse_query("a => b ->").ignored == ("=>", "->")


def test_the_terms_are_those_that_must_be_there() -> None:
    query = parse_query('a (b OR "c d") -e NOT (f g) tool:h')
    assert [term.text for term in query.terms] == ["a", "b", "c d"]
    assert len(list(iter_all_terms(query.root))) == 7


@given(st.text(st.sampled_from('ab "()-*:,\\\n=日ANDORT'), max_size=40))
def test_any_text_is_understood_or_explained_within_it(text: str) -> None:
    try:
        parse_query(text)
        at = 0
    except QueryError as error:
        at = error.at
    assert 0 <= at <= len(text)
