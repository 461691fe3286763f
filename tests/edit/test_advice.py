"""What to do about a window that fills."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import Build
from tests.session.test_filling import MODEL, usage
from turnlog.edit.strip.presets import Advice, choose_advice, estimate_savings
from turnlog.session.window.window_fill import compute_window_fill

LIMIT = 167_000


def advise_session(used: int, old_results: int = 0, model: str = MODEL, **fields: Any) -> Advice:
    """The advice for a session of so many tokens, of which so many are results of old calls."""
    build = Build()
    size = old_results * 5 // 2 // 20
    for number in range(20 if size else 0):
        build.prompt("do", **fields)
        build.call(f"c{number}", given={"command": str(number)}, model=model)
        build.result(f"c{number}", "r" * size)
        build.answer("did", model=model)
    build.prompt("well", **fields)
    build.answer("yes", usage=usage(used), model=model, **fields)
    session = build.session()
    found = compute_window_fill(session)
    return choose_advice(found, estimate_savings(found, session.file.entries))


def test_a_window_with_room_is_no_matter() -> None:
    found = advise_session(50_000)
    assert (found.action, found.preset) == ("go on", None)
    assert "30%" in found.reason


@pytest.mark.parametrize(("old_results", "preset"), [(120_000, "light"), (80_000, "standard")])
def test_a_window_that_fills_with_old_results_calls_for_the_mildest_clone_that_is_worth_it(
    old_results: int, preset: str
) -> None:
    found = advise_session(140_000, old_results)
    assert found.action == "clone stripped"
    assert found.preset is not None
    assert found.preset.name == preset


def test_a_full_window_that_no_preset_makes_room_in_calls_for_a_compaction() -> None:
    found = advise_session(160_000, 5_000)
    assert (found.action, found.preset) == ("compact", None)


def test_a_preset_is_only_advised_if_what_it_leaves_fits() -> None:
    found = advise_session(900_000, 500_000)
    assert found.action == "compact"
    assert "no preset gets below" in found.reason


def test_a_window_that_is_not_yet_full_and_has_nothing_to_strip_is_no_matter_yet() -> None:
    found = advise_session(110_000, 5_000)
    assert found.action == "go on"
    assert "no preset gets below 63%" in found.reason


def test_of_a_model_without_a_known_window_nothing_can_be_said() -> None:
    found = advise_session(500_000, model="nobody-1")
    assert (found.action, found.preset) == ("go on", None)
    assert "nobody-1" in found.reason


def test_a_sub_agent_is_not_resumed() -> None:
    assert advise_session(190_000, isSidechain=True).action is None


@pytest.mark.parametrize("used", [10_000, 110_000, 160_000])
def test_the_reason_is_one_sentence(used: int) -> None:
    reason = advise_session(used, 5_000).reason
    assert reason.endswith(".")
    assert "\n" not in reason
