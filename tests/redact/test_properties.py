"""What holds for every text and value."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from tests.redact.plants import TOKENS, drawer
from turnlog.redact.redactor import Redactor
from turnlog.redact.rules import SecretRules

PIECES = st.sampled_from(
    [
        *(make(drawer(21)) for make in TOKENS.values()),
        *(
            "password",
            "=",
            ": ",
            '"',
            "'",
            "\\",
            "\\n",
            "\n",
            "secret",
            "[secret:github:1]",
            "[secret:",
            "]",
            "token is ",
            "hunter22",
        ),
        *(
            "://",
            "@",
            "me:",
            "Bearer ",
            "Basic ",
            "--password ",
            "\x1b[31m",
            "\\u001b[0m",
            "-----BEGIN RSA PRIV" + "ATE KEY-----",
        ),
        *(
            "-----END RSA PRIV" + "ATE KEY-----",
            "QUFBQUFBQUFBQUFBQUFBQUFBQUFB",
            "/home/bob/",
            "bob@corp.example",
            "<",
            ">",
            "curl -u a:",
        ),
    ]
)
TEXTS = st.one_of(
    st.text(),
    st.text(st.characters(codec=None)),
    st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=12).map("".join),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)


def redactor() -> Redactor:
    return Redactor(SecretRules(emails=True, homes=True))


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return ("object", [shape(item) for item in value.values()])
    if isinstance(value, list):
        return ("list", [shape(item) for item in value])
    return "text" if isinstance(value, str) else value


@given(VALUES)
def test_a_value_keeps_its_shape(value: Any) -> None:
    assert shape(redactor().redact_value(value)) == shape(value)
    assert shape(redactor().redact_entry_body({"body": value})) == shape({"body": value})


@given(TEXTS)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redactor().redact_text(text)
    assert redactor().redact_text(once) == once


@given(TEXTS)
def test_the_same_redactor_gives_the_same_again(text: str) -> None:
    same = redactor()
    once = same.redact_text(text)
    assert same.redact_text(once) == once


@given(st.sampled_from(sorted(TOKENS)), TEXTS, TEXTS, st.sampled_from(["plain", "json", "url", "base64", "twice"]))
def test_no_planted_secret_survives(kind: str, before: str, after: str, spelling: str) -> None:
    secret = TOKENS[kind](drawer(23)).rpartition("services/")[2]
    text = f"{before} {TOKENS[kind](drawer(23))} {after}"
    if spelling in ("json", "twice"):
        text = json.dumps(text)
    if spelling == "twice":
        text = json.dumps({"x": text})
    if spelling == "url":
        text = quote(text, errors="replace")
    if spelling == "base64":
        text = base64.b64encode(f"x {TOKENS[kind](drawer(23))}".encode()).decode()
    redacted = redactor().redact_text(text)
    assert secret not in redacted
    assert quote(secret, safe="") not in redacted
    assert text not in redacted


@given(st.binary())
def test_any_bytes_can_be_redacted(data: bytes) -> None:
    redactor().redact_file_data(data)


@given(VALUES)
def test_json_in_a_text_stays_json(value: Any) -> None:
    text = json.dumps(value)
    json.loads(redactor().redact_text(text))
