"""Notifications of background tasks."""

from __future__ import annotations

import pytest

from tests.session.build import Build, genuine
from turnlog.session.notices import Notice, parse_notice


def test_a_notification_names_the_task_the_call_and_how_it_ended() -> None:
    text = (
        "<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>c1</tool-use-id>\n<status>completed</status>\n"
        "<summary>Background job\nfinished</summary>\n</task-notification>"
    )
    assert parse_notice(text) == Notice("b1", "c1", "completed", "Background job\nfinished")


def test_the_notification_of_an_old_shell_names_the_shell() -> None:
    assert parse_notice("<bash-notification><shell-id>s1</shell-id></bash-notification>").task_id == "s1"


def test_a_text_without_fields_names_nothing() -> None:
    assert parse_notice("hello") == Notice(None, None, None, None)


@pytest.mark.parametrize("run", ["2.0.76/tui_edge", "2.1.45/tui_edge", "2.1.325/tui_edge", "2.1.325/agents"])
def test_recorded_notifications_name_their_task(run: str) -> None:
    turns = [turn for turn in genuine(run).turns if turn.kind == "notification"]
    assert turns
    for turn in turns:
        assert turn.origin is not None
        assert turn.origin.task_id
        assert turn.origin.status == "completed"


def test_a_background_call_has_its_later_outcome() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1")
    build.result("c1", toolUseResult={"backgroundTaskId": "b1"})
    build.call("c2", "Agent")
    build.result("c2", toolUseResult={"isAsync": True, "agentId": "a2"})
    build.call("c3")
    build.result("c3")
    build.attachment("queued_command", prompt="<task-notification><task-id>a2</task-id><status>failed</status>")
    build.attachment("queued_command", prompt="no notification")
    build.row("attachment", attachment={"type": "queued_command", "prompt": 5})
    build.prompt("<task-notification><task-id>b1</task-id><status>running</status></task-notification>")
    build.prompt("<task-notification><tool-use-id>c1</tool-use-id><status>completed</status></task-notification>")
    session = build.session()
    found = [session.find_report(call) for call in session.calls]
    assert [notice and notice.status for notice in found] == ["completed", "failed", None]


def test_an_odd_attachment_reports_nothing() -> None:
    build = Build()
    build.row("progress", data={"type": "queued_command"})
    assert build.session().notices == []


@pytest.mark.parametrize("run", ["2.0.76/tui_edge", "2.1.45/tui_edge", "2.1.325/tui_edge", "2.1.325/agents"])
def test_recorded_background_calls_have_their_later_outcome(run: str) -> None:
    session = genuine(run)
    launched = [call for call in session.calls if session.read_detail(call).outcome == "launched"]
    assert launched
    for call in launched:
        report = session.find_report(call)
        assert report is not None
        assert report.status == "completed"


def test_tags_that_never_end_are_passed_over() -> None:
    found = parse_notice("<result>" * 50_000 + "<summary>done</summary><status>x")
    assert (found.summary, found.status) == ("done", None)
