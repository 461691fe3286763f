"""The Python interface: what `import turnlog` gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import turnlog
from turnlog.demo import config_dir

DEMO = next(config_dir().glob("projects/*/bee7dbd3-*.jsonl"))


def test_all_names_are_listed_in_order_and_lead_somewhere() -> None:
    assert turnlog.__all__ == sorted(turnlog.__all__, key=lambda name: (name.strip("_").islower(), name))
    assert set(turnlog._WHERE) | {"__version__"} == set(turnlog.__all__)
    assert dir(turnlog) == sorted(turnlog.__all__)
    assert all(getattr(turnlog, name) is not None for name in turnlog.__all__)


@pytest.mark.parametrize("name", sorted(set(turnlog.__all__) - {"__version__"}))
def test_every_name_says_what_it_is(name: str) -> None:
    assert getattr(turnlog, name).__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        turnlog.opne  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys; before = {*sys.modules}; import turnlog; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"turnlog", "turnlog._version", "__future__"}


def test_a_session_gives_turns_messages_calls_graph_and_usage() -> None:
    with turnlog.open(str(DEMO)) as session:
        assert isinstance(session, turnlog.Session)
        assert [turn.outcome for turn in session.turns] == ["finished", "finished"]
        assert sum(len(turn.messages) for turn in session.turns) == len(session.messages) == 14
        assert {call.name for call in session.calls} >= {"Bash", "Edit", "Read"}
        assert len(session.graph.leaves) == 1
        assert session.usage.cost_usd > 0
        assert session.conversation().messages[0]["role"] == "user"
        assert all(finding.severity != "error" for finding in turnlog.check(session))


def test_sessions_lists_the_files_of_given_folders() -> None:
    found = list(turnlog.sessions([config_dir()]))
    assert DEMO in {item.path for item in found}
    assert all(isinstance(item.path, Path) for item in found)
