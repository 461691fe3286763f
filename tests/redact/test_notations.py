"""Secrets are found in the notations of files, protocols, commands, code and sentences, whatever they look like."""

from __future__ import annotations

import json

import pytest

from tests.redact.cases import (
    MAX_NOTATION_ALARMS,
    MIN_HELD_OUT_FOUND,
    MIN_LATER_FOUND,
    MIN_NOTATIONS_FOUND,
    NOTATIONS,
    NOTATIONS_HARMLESS,
    NOTATIONS_HELD_OUT,
    NOTATIONS_LATER,
    Case,
)
from turnlog.redact.redactor import Redactor


def list_missed_names(cases: list[Case]) -> list[str]:
    return [case.name for case in cases if not case.is_safe(Redactor().redact_text(case.text))]


def test_every_case_holds_its_secrets() -> None:
    assert (len(NOTATIONS), len(NOTATIONS_HELD_OUT), len(NOTATIONS_HARMLESS)) == (400, 120, 114)
    assert len(NOTATIONS_LATER) == 100
    for case in (*NOTATIONS, *NOTATIONS_HELD_OUT, *NOTATIONS_LATER):
        assert case.secrets, case.name
        assert all(secret in case.text for secret in case.secrets), case.name


def test_almost_every_secret_is_found_in_its_notation() -> None:
    missed = list_missed_names(NOTATIONS)
    assert len(NOTATIONS) - len(missed) >= MIN_NOTATIONS_FOUND, missed
    missed = list_missed_names(NOTATIONS_HELD_OUT)
    assert len(NOTATIONS_HELD_OUT) - len(missed) >= MIN_HELD_OUT_FOUND, missed
    missed = list_missed_names(NOTATIONS_LATER)
    assert len(NOTATIONS_LATER) - len(missed) >= MIN_LATER_FOUND, missed


def test_code_prose_and_settings_without_secrets_stay() -> None:
    alarms = [case.name for case in NOTATIONS_HARMLESS if Redactor().redact_text(case.text) != case.text]
    assert len(alarms) <= MAX_NOTATION_ALARMS, alarms


def test_redacting_twice_is_redacting_once() -> None:
    for case in (*NOTATIONS, *NOTATIONS_HELD_OUT):
        once = Redactor().redact_text(case.text)
        assert Redactor().redact_text(once) == once, case.name


@pytest.mark.parametrize(
    "notation", ["{}", "DB_PASSWORD={}", "password: {}", "<password>{}</password>", "--password={}"]
)
def test_json_around_a_notation_stays_valid(notation: str) -> None:
    text = json.dumps({"password": notation.format("harbor.Lantern2291"), "n": 1})
    redacted = json.loads(Redactor().redact_text(text))
    assert "harbor" not in redacted["password"]
    assert redacted["n"] == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("?user=app&password=Maple.Leaf&x=1", "Maple.Leaf"),
        ("Server=s;Pwd=Maple.Leaf;Encrypt=no", "Maple.Leaf"),
        ("password: Maple.Leaf\nuser: app", "Maple.Leaf"),
        ('<entry key="x"/><passwd>Maple.Leaf</passwd>', "Maple.Leaf"),
        ("next=%2Flogin%3Fpassword%3DMaple.Leaf%26a%3D1", "Maple.Leaf"),
    ],
)
def test_where_only_a_value_can_be_a_dotted_one_is_no_code(text: str, value: str) -> None:
    assert value not in Redactor().redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "password = form.password",
        "login(user=user.name, password=user.password)",
        "token = Token.Identifier",
        "{ password: this.state.password }",
        "password: config.Database",
        "secret_key = Settings.Value",
    ],
)
def test_a_dotted_name_in_code_stays(text: str) -> None:
    assert Redactor().redact_text(text) == text


def test_every_value_of_a_kubernetes_secret_is_found_but_not_those_of_its_neighbours() -> None:
    manifests = (
        "kind: ConfigMap\ndata:\n  level: verbose-mode\n---\napiVersion: v1\nkind: Secret\nstringData:\n"
        "  licence: plain words9\n  other: seven-Geese\n---\nkind: ConfigMap\ndata:\n  colour: dark-blue\n"
    )
    redacted = Redactor().redact_text(manifests)
    assert "seven-Geese" not in redacted
    assert "verbose-mode" in redacted
    assert "dark-blue" in redacted
