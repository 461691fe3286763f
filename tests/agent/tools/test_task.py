"""Task."""

from __future__ import annotations

from pathlib import Path

from tests.agent.tools.workshop import Workshop
from turnlog.agent.tools.call_result import CallResult
from turnlog.agent.tools.task import AgentType, Task

AGENTS = {"explore": AgentType("explore", "Looks around.", "You look."), "fix": AgentType("fix", "Mends.", "You mend.")}
GIVEN = {"description": "look", "prompt": "Find it.", "subagent_type": "explore"}


def test_the_model_is_told_which_agents_there_are() -> None:
    assert Task(AGENTS).description.endswith("- explore: Looks around.\n- fix: Mends.")


def test_the_work_is_handed_on_and_the_report_given_back(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    assert shop.call(Task(AGENTS), **GIVEN) == CallResult("a report", {"status": "completed"})
    assert shop.clerk.delegated == [("toolu_1", GIVEN)]
    assert shop.progress == [{"type": "agent_progress"}]


def test_sub_agents_run_side_by_side() -> None:
    assert Task(AGENTS).is_safe(GIVEN)
