"""Planted secrets are found, wherever they stand; what only looks like one stays."""

from __future__ import annotations

import pytest

from tests.redact.plants import CLEAN, TOKENS, Plant, drawer, password, plants
from turnlog.redact.redactor import Redactor
from turnlog.redact.secret_rule import SECRET_MARK


@pytest.mark.parametrize("seed", [1, 2])
def test_every_planted_secret_is_found(seed: int) -> None:
    missed = [(plant.kind, plant.place) for plant in plants(seed) if plant.secret in Redactor().redact_text(plant.text)]
    assert missed == []


def test_what_surrounds_a_secret_stays() -> None:
    for plant in _list_named_plants():
        before, after = plant.text.split(plant.secret)[0], plant.text.split(plant.secret)[-1]
        redacted = Redactor().redact_text(plant.text)
        assert redacted.startswith(before[:-3]), plant.place
        assert redacted.endswith(after[3:]), plant.place


@pytest.mark.parametrize("text", CLEAN)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert Redactor().redact_text(text) == text


def test_the_mark_names_whose_secret_it_is() -> None:
    draw = drawer(5)
    names = {kind: Redactor().redact_text(make(draw)) for kind, make in TOKENS.items()}
    assert names["github fine"] == "[secret:github:1]"
    assert names["aws id"] == "[secret:aws:1]"
    assert names["anthropic oauth"] == "[secret:anthropic:1]"
    assert names["slack hook"] == "https://hooks.slack.com/services/[secret:slack:1]"
    assert all(SECRET_MARK.search(text) for text in names.values())


def test_a_token_is_named_by_its_form_and_not_by_its_variable() -> None:
    token = TOKENS["github"](drawer(3))
    assert Redactor().redact_text(f'PASSWORD="{token}"') == 'PASSWORD="[secret:github:1]"'
    assert Redactor().redact_text(f"Authorization: Bearer {token}") == "Authorization: Bearer [secret:github:1]"


def test_a_password_in_a_url_leaves_the_rest_of_the_url() -> None:
    secret = password(drawer(4))
    assert (
        Redactor().redact_text(f"postgres://app:{secret}@db:5432/x?y=1")
        == "postgres://app:[secret:database:1]@db:5432/x?y=1"
    )
    assert Redactor().redact_text(f"https://me:{secret}@h/x") == "https://me:[secret:url-password:1]@h/x"


def test_a_password_with_quotes_in_it_goes_as_a_whole() -> None:
    assert Redactor().redact_text(r'{"password": "ab\"cd1", "x": 1}') == '{"password": "[secret:password:1]", "x": 1}'
    assert (
        Redactor().redact_text(r"{\"password\": \"ab\\\"cd1\", \"x\": 1}")
        == r"{\"password\": \"[secret:password:1]\", \"x\": 1}"
    )


def _list_named_plants() -> list[Plant]:
    return [plant for plant in plants(3, rounds=1) if plant.kind in TOKENS or plant.kind == "password"]
