"""Answers as data through the newest client and through ours: the same course and the same result."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.interop.test_front import real
from tests.agent.test_structured_output import CASES, WORDS, Course, run
from tests.interop.clients import NEWEST

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("case", CASES)
def test_the_course_is_the_same(tmp_path: Path, case: str) -> None:
    done, mock = real(NEWEST, tmp_path, CASES[case], *WORDS, "--allowedTools", "Bash")
    theirs, found = Course(done.stdout, done.returncode, mock), run(tmp_path, case)
    assert vars(found) == vars(theirs)
