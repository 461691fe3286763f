"""What is remembered about a text or a line never decides about another place, or about what is learned later."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnlog.redact.personal_data import _HOME_FOLDER, HomeFolderRule
from turnlog.redact.redactor import Redactor
from turnlog.redact.rules import SecretRules
from turnlog.redact.secret_ledger import SecretLedger

WORD = "Tr0ub4dor-und-3-more"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
PIECES = st.sampled_from(
    [WORD, TOKEN, f"token={TOKEN}", f"{WORD} is fine", "/home/carol/work", "C:\\Users\\carol\\x", "x", "", "é\n", '"'],
)
TEXTS = st.lists(PIECES, max_size=3).map(" ".join)
BODIES = st.fixed_dictionaries(
    {"type": st.just("user"), "cwd": st.just("/home/carol/work"), "note": TEXTS},
    optional={"password": TEXTS, WORD: TEXTS, "items": st.lists(TEXTS, max_size=3), TOKEN: st.integers()},
)
Body = dict[str, Any]


def encode_line(body: Body) -> bytes:
    return msgspec.json.encode(body) + b"\n"


def redact_all(bodies: list[Body], redactor: Redactor) -> list[Body]:
    """Redact entries as `turnlog redact` does: an entry that is settled stays as it is."""
    lines = [encode_line(body) for body in bodies]
    return [
        body if redactor.is_settled(line) else redactor.redact_entry_body(body, raw=line)
        for body, line in zip(bodies, lines, strict=True)
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(BODIES, max_size=6), st.booleans())
def test_a_second_pass_that_remembers_the_first_redacts_as_one_that_does_not(bodies: list[Body], homes: bool) -> None:
    ledger, forgetful = SecretLedger(), SecretLedger()
    first = Redactor(SecretRules(homes=homes), ledger=ledger)
    redact_all(bodies, first)
    for secret in ledger.list_secrets():
        forgetful.assign_mark(secret)
    expected = [Redactor(SecretRules(homes=homes), ledger=forgetful).redact_entry_body(body) for body in bodies]
    assert redact_all(bodies, first) == expected
    assert redact_all(bodies, first.make_rehearsal()) == expected


def test_a_value_that_is_clean_elsewhere_is_replaced_under_the_name_of_a_secret() -> None:
    redactor = Redactor()
    assert redactor.redact_value({"title": WORD}) == {"title": WORD}
    assert redactor.redact_value({"password": WORD}) == {"password": "[secret:password:1]"}


def test_a_clean_text_is_searched_again_for_a_secret_that_is_learned_later() -> None:
    redactor = Redactor()
    assert redactor.redact_text(WORD) == WORD
    redactor.redact_value({"password": WORD})
    assert redactor.redact_text(WORD) == "[secret:password:1]"
    assert redactor.redact_value({WORD: 1}) == {"[secret:password:1]": 1}


@pytest.mark.parametrize("secret", ['q"8w\\e7/r6!t5', "zoë-8w7e6r5t4", "tab\t8w7e6r5t4"])
def test_a_settled_line_is_searched_for_every_character_of_a_later_secret(secret: str) -> None:
    redactor = Redactor()
    body = {"type": "user", "note": f"see {secret} here"}
    line = encode_line(body)
    redactor.redact_entry_body(body, raw=line)
    assert redactor.is_settled(line)
    redactor.redact_value({"password": secret})
    assert not redactor.is_settled(line)


@pytest.mark.parametrize(
    "line",
    [b'{"a":"x","a":"y"}\n', b'{"a": "x"}\n', b'{"a":"\\u0078"}\n', b'{"a":"x"} trailing\n', b'{"a":"x"}'],
)
def test_a_line_that_is_not_written_plainly_is_never_settled(line: bytes) -> None:
    redactor = Redactor()
    redactor.redact_entry_body({"a": "x"}, raw=line)
    assert not redactor.is_settled(line)


def test_a_line_whose_text_hides_a_split_word_is_not_settled() -> None:
    redactor = Redactor()
    body = {"type": "user", "note": f"{WORD[:6]}\x1b[31m{WORD[6:]}"}
    redactor.redact_entry_body(body, raw=encode_line(body))
    redactor.redact_value({"password": WORD})
    assert not redactor.is_settled(encode_line(body))
    assert WORD[6:] not in str(redactor.redact_entry_body(body))


@given(st.from_regex(re.compile(_HOME_FOLDER.pattern, re.ASCII)))
def test_every_home_folder_contains_a_hint_of_its_rule(text: str) -> None:
    assert any(hint in text.lower() for hint in HomeFolderRule.hints)
