"""Notifications of background tasks."""

from __future__ import annotations

import pytest

from tests.session.build import genuine
from turnlog.session.notices import Notice, notice


def test_a_notification_names_the_task_the_call_and_how_it_ended() -> None:
    text = (
        "<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>c1</tool-use-id>\n<status>completed</status>\n"
        "<summary>Background job\nfinished</summary>\n</task-notification>"
    )
    assert notice(text) == Notice("b1", "c1", "completed", "Background job\nfinished")


def test_the_notification_of_an_old_shell_names_the_shell() -> None:
    assert notice("<bash-notification><shell-id>s1</shell-id></bash-notification>").task_id == "s1"


def test_a_text_without_fields_names_nothing() -> None:
    assert notice("hello") == Notice(None, None, None, None)


@pytest.mark.parametrize("run", ["2.0.76/tui_edge", "2.1.45/tui_edge", "2.1.325/tui_edge", "2.1.325/agents"])
def test_recorded_notifications_name_their_task(run: str) -> None:
    turns = [turn for turn in genuine(run).turns if turn.kind == "notification"]
    assert turns
    for turn in turns:
        assert turn.origin is not None
        assert turn.origin.task_id
        assert turn.origin.status == "completed"
