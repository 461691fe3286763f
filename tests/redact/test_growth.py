"""Work grows with the length of a text and not faster, whatever the text is.

Time is not measured. Instead the calls are counted that a text takes, at one length and at twice that, and the parts of
every expression are looked at: none may repeat what repeats in more than one way.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pkgutil import iter_modules
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import turnlog.redact
from turnlog.redact import command_lines, password_hashes, password_places, token_forms, tokens
from turnlog.redact.anchored_pattern import AnchoredPattern
from turnlog.redact.redactor import Redactor
from turnlog.redact.rules import SecretRules

SIZE = 6_000
PIECES = (
    *("a", "A1", "=", " ", "\\", '\\"', "\n", "$", "(", ":", "::", "\t", "%3A", "a-b_", "x1y2z3w4-", "[secret:a:1]"),
    *(
        "password=",
        "password: ",
        "pass ",
        "password is ",
        "password | ",
        "--token \\\n",
        "psk=",
        "key=",
        "mnemonic: abc ",
    ),
    *(
        "user,password\n",
        "a,b1c2d3e\n",
        "| password | a |\n",
        "user  password\n",
        "insert into a (password) values ('b1'),",
    ),
    *(
        "seed phrase: abc ",
        "recovery codes:\n",
        "recovery codes: ab12-cd34 ",
        "password for a ",
        "-----BEGIN a key-----",
    ),
    *('"+"', 'ab12" + "', '"\n  "', "ab1234567890abcdef12' +\n '", "token: str | None = "),
    *("auth(", "auth=('a','b1',", 'login("a",', "creds: a ", "$ cat pass ", " cat pass\n", "a:5432:a:a:"),
    *(" -p", "mysql -p", "curl -u a:", "htpasswd -b ", "vault login -a ", "machine a login b ", "identified by '"),
    *("://", "://a:b@", "?sig=", "&key=ab1", "bearer ", "authorization: digest ", "cookie: abcdefgh=abcdefg1;"),
    *(
        "eyJ",
        "eyJhbGciOi.",
        "sk-",
        "hf_",
        "$6$",
        "{SSHA}",
        "ab12cd34ef56ab12cd34ef\n",
        "-----BEGIN PRIV" + "ATE KEY-----\n",
    ),
)


def count_calls(text: str) -> int:
    """How many functions, of Python and of C, are called to redact a text."""
    calls = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    redactor = Redactor(SecretRules())
    sys.setprofile(count)
    try:
        redactor.redact_text(text)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("piece", PIECES, ids=[str(number) for number in range(len(PIECES))])
def test_twice_the_text_takes_at_most_a_little_more_than_twice_the_calls(piece: str) -> None:
    once, twice = ((piece * (size // len(piece) + 1))[:size] for size in (SIZE, 2 * SIZE))
    count_calls(once)  # expressions are compiled on use
    count_calls(twice)
    assert count_calls(twice) <= 2.3 * count_calls(once) + 500


def expressions() -> dict[str, str]:
    """Every expression of the rules, by where it stands."""
    found: dict[str, str] = {}
    for module in iter_modules(turnlog.redact.__path__):
        for name, value in vars(import_module(f"turnlog.redact.{module.name}")).items():
            for number, item in enumerate(value if isinstance(value, tuple) else (value,)):
                if isinstance(item, re.Pattern):
                    found[f"{module.name}.{name}.{number}"] = item.pattern
                if isinstance(item, AnchoredPattern):
                    found[f"{module.name}.{name}.{number}"] = item.expression.pattern
    found |= {f"forms.{form.name}.{form.start}": form.start + form.rest for form in token_forms.TOKEN_FORMS}
    found |= {f"hashes.{form.whose}.{form.anchor}": form.form for form in password_hashes.HASH_FORMS}
    found |= {f"commands.{name}": form for name, form in command_lines._VALUE_FORMS.items()}
    found |= {
        f"places.{anchor}.{number}": rest
        for rows in password_places.PASSWORD_PLACES.values()
        for number, (anchor, rest) in enumerate(rows)
    }
    return {**found, "tokens.start": tokens._compile_token_start(True).pattern}


def nested_repeats(tree: Any, around: frozenset[str] | None = None) -> list[str]:
    """Repetitions inside of others that could share their letters among them in many ways.

    One that is possessive keeps what it took. One whose turns begin with a letter that it can't take itself, such as
    `(?:-[a-z]+)+`, has one way only.
    """
    found = []
    for op, argument in tree:
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT) and argument[1] > 16:
            if around is not None and letters(argument[2]) & around:
                found.append(str(argument))
            found += nested_repeats(argument[2], first_letters(argument[2]))
        else:
            inner = around if op not in (ops.POSSESSIVE_REPEAT, ops.ATOMIC_GROUP) else None
            for part in parts(op, argument):
                found += nested_repeats(part, inner)
    return found


def parts(op: Any, argument: Any) -> list[Any]:
    """The expressions inside of one piece of an expression."""
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
        return [argument[2]]
    if op is ops.SUBPATTERN:
        return [argument[3]]
    if op is ops.BRANCH:
        return list(argument[1])
    return [argument] if op is ops.ATOMIC_GROUP else [argument[1]] if op in (ops.ASSERT, ops.ASSERT_NOT) else []


def letters(tree: Any) -> frozenset[str]:
    """The letters of ASCII that an expression may take."""
    found: frozenset[str] = frozenset()
    for op, argument in tree:
        inner = parts(op, argument)
        found |= frozenset().union(*map(letters, inner)) if inner else list_taken_letters(op, argument)
    return found


def first_letters(tree: Any) -> frozenset[str]:
    """The letters with which one turn of a repetition may begin."""
    found: frozenset[str] = frozenset()
    for op, argument in tree:
        inner = parts(op, argument)
        found |= frozenset().union(*map(first_letters, inner)) if inner else list_taken_letters(op, argument)
        is_optional = op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT) and argument[0] == 0
        if not is_optional and op not in (ops.ASSERT, ops.ASSERT_NOT, ops.AT):
            break
    return found


def list_taken_letters(op: Any, argument: Any) -> frozenset[str]:
    """The letters that one piece without parts takes."""
    return frozenset(letter for letter in map(chr, range(128)) if _takes(op, argument, letter))


def _takes(op: Any, argument: Any, letter: str) -> bool:
    if op is ops.LITERAL:
        return chr(argument) == letter
    if op in (ops.ANY, ops.NOT_LITERAL):
        return op is ops.ANY or chr(argument) != letter
    if op is ops.RANGE:
        return bool(argument[0] <= ord(letter) <= argument[1])
    if op is ops.CATEGORY:
        tests = {
            ops.CATEGORY_SPACE: letter.isspace(),
            ops.CATEGORY_NOT_SPACE: not letter.isspace(),
            ops.CATEGORY_DIGIT: letter.isdigit(),
            ops.CATEGORY_WORD: letter.isalnum() or letter == "_",
        }
        return tests[argument]
    if op is ops.IN:
        is_negated = argument[0][0] is ops.NEGATE
        return any(_takes(kind, what, letter) for kind, what in argument if kind is not ops.NEGATE) != is_negated
    return False


@pytest.mark.parametrize(("place", "expression"), expressions().items(), ids=expressions())
def test_no_expression_repeats_what_repeats_in_more_than_one_way(place: str, expression: str) -> None:
    assert nested_repeats(parser.parse(expression)) == [], place


def test_the_check_itself_finds_a_repetition_that_can_take_for_ever() -> None:
    assert nested_repeats(parser.parse("(?:a+)+$"))
    assert nested_repeats(parser.parse(r"(?:\s?[a-z]*)*x"))
    assert not nested_repeats(parser.parse("(?:-[a-z]+)+$"))
    assert not nested_repeats(parser.parse("(?:a++)+$"))
