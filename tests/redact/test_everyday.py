"""Secrets in everyday forms are found, look-alikes stay; who wrote the cases had not read the rules."""

from __future__ import annotations

import json

from tests.redact.cases import (
    EVERYDAY,
    FURTHER,
    FURTHER_HARMLESS,
    HARMLESS,
    MAX_ALARMS,
    MAX_FURTHER_ALARMS,
    MIN_FOUND,
    MIN_FURTHER_FOUND,
)
from turnlog.redact.redactor import Redactor


def test_there_are_as_many_cases_as_the_bounds_say() -> None:
    assert (len(EVERYDAY), len(HARMLESS)) == (150, 120)
    assert (len(FURTHER), len(FURTHER_HARMLESS)) == (60, 40)
    for case in (*EVERYDAY, *FURTHER):
        assert case.secrets, case.name
        assert all(secret in case.text for secret in case.secrets), case.name


def test_almost_every_everyday_secret_is_found() -> None:
    missed = [case.name for case in EVERYDAY if not case.is_safe(Redactor().redact_text(case.text))]
    assert len(EVERYDAY) - len(missed) >= MIN_FOUND, missed


def test_almost_every_secret_of_the_second_set_is_found() -> None:
    missed = [case.name for case in FURTHER if not case.is_safe(Redactor().redact_text(case.text))]
    assert len(FURTHER) - len(missed) >= MIN_FURTHER_FOUND, missed


def test_almost_no_look_alike_of_the_second_set_is_taken_for_a_secret() -> None:
    alarms = [case.name for case in FURTHER_HARMLESS if Redactor().redact_text(case.text) != case.text]
    assert len(alarms) <= MAX_FURTHER_ALARMS, alarms


def test_almost_no_look_alike_is_taken_for_a_secret() -> None:
    alarms = [case.name for case in HARMLESS if Redactor().redact_text(case.text) != case.text]
    assert len(alarms) <= MAX_ALARMS, alarms


def test_an_everyday_secret_is_also_found_in_json_in_a_text() -> None:
    """Files of sessions hold each other: what was a line break is `\\n` then. What spans lines may be missed."""
    missed = []
    for case in EVERYDAY:
        redacted = json.loads(Redactor().redact_text(json.dumps({"stdout": case.text})))
        if not case.is_safe(redacted["stdout"]):
            missed.append(case.name)
    assert len(missed) <= 8, missed


def test_redacting_an_everyday_text_twice_is_redacting_it_once() -> None:
    for case in (*EVERYDAY, *HARMLESS, *FURTHER, *FURTHER_HARMLESS):
        once = Redactor().redact_text(case.text)
        assert Redactor().redact_text(once) == once, case.name
