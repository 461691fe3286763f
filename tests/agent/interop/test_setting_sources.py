"""`--setting-sources` through the newest client and through ours: the same files have an effect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agent.desk import Desk
from tests.agent.interop.test_front import MODEL, real
from tests.agent.test_setting_sources import CHOICES, EXPECTED, SHOW, WORDS, find_marks, furnish
from tests.interop.clients import NEWEST
from tests.interop.mock_anthropic import MockAnthropic

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("choice", CHOICES)
def test_the_same_files_have_an_effect(tmp_path: Path, choice: str) -> None:
    furnish(tmp_path)
    done, mock = real(NEWEST, tmp_path, SHOW, *WORDS, f"--setting-sources={choice}", at="home")
    theirs = find_marks(done.stdout, json.dumps([request["body"] for request in mock.requests]))
    with MockAnthropic(SHOW) as mock:
        here = Desk(tmp_path, mock)
        here.trust()
        done = here.turnlog(*WORDS, f"--setting-sources={choice}", "--model", MODEL)
        found = find_marks(done.stdout, json.dumps(here.requests))
    assert found == theirs == set().union(*(EXPECTED[source] for source in choice.split(",") if source))
