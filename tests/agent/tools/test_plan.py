"""ExitPlanMode."""

from __future__ import annotations

from pathlib import Path

from tests.agent.tools.workshop import Clerk, Workshop
from turnlog.agent.tools.call_result import CallResult
from turnlog.agent.tools.plan import ExitPlanMode
from turnlog.agent.tools.tool import Question


def call(base: Path, clerk: Clerk, plan: str | None = "# Do it") -> CallResult:
    return Workshop(base, clerk).call(ExitPlanMode(), **({} if plan is None else {"plan": plan}))


def test_an_approved_plan_is_repeated(tmp_path: Path) -> None:
    clerk = Clerk({"approved": True})
    assert call(tmp_path, clerk) == CallResult(
        "User has approved your plan. You can now start coding. Start with updating your todo list if applicable\n\n"
        "## Approved Plan:\n# Do it",
        {"plan": "# Do it", "isAgent": False},
    )
    assert clerk.asked == [Question("plan", {"plan": "# Do it"}, "toolu_1")]


def test_a_plan_that_the_user_changed_is_told_as_changed(tmp_path: Path) -> None:
    found = call(tmp_path, Clerk({"approved": True, "plan": "# Do less"}))
    assert found.structured == {"plan": "# Do less", "isAgent": False, "planWasEdited": True}
    assert str(found.content).endswith("## Approved Plan (edited by user):\n# Do less")


def test_without_a_plan_the_mode_is_left(tmp_path: Path) -> None:
    found = call(tmp_path, Clerk({"approved": True}), None)
    assert found == CallResult(
        "User has approved exiting plan mode. You can now proceed.", {"plan": None, "isAgent": False}
    )


def test_a_refused_plan_is_told_with_the_words_of_the_user(tmp_path: Path) -> None:
    found = call(tmp_path, Clerk({"approved": False, "words": "smaller"}))
    assert found.is_error
    assert str(found.content).endswith("The user said:\nsmaller")


def test_without_an_answer_nothing_may_be_changed(tmp_path: Path) -> None:
    found = call(tmp_path, Clerk(None))
    assert found.is_error
    assert "still in plan mode" in str(found.content)


def test_a_person_is_asked_one_thing_at_a_time() -> None:
    assert not ExitPlanMode().is_safe({})
