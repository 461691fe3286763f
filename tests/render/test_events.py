"""Events: what happens beside prompts and answers, in plain words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.render.cards import build_views, recorded_sessions
from tests.session.build import Build, find_recording, open_variant, outcome
from turnlog.demo import config_dir
from turnlog.render.events import EVENT_KINDS, describe_entry_event
from turnlog.render.view import EventView, MetaView
from turnlog.session.session import Session

NOTICE = (
    "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n<summary>Agent finished</summary>\n"
    "<result>All good.</result>\n</task-notification>"
)


def events(session: Session) -> list[EventView]:
    return [view for view in build_views(session) if isinstance(view, EventView)]


def one(build: Build) -> EventView:
    """The only event of a session."""
    (found,) = events(build.session())
    return found


def build_working() -> Build:
    """A turn that is at work."""
    build = Build()
    build.prompt("go")
    build.answer("Yes.")
    return build


def test_an_interruption_is_told() -> None:
    build = build_working()
    build.interrupt()
    found = one(build)
    assert (found.kind, found.text, found.tone) == ("interrupt", "interrupted by the user", "warning")
    assert found.offset == build.session().entries[-1].offset


def test_a_failed_request_is_told_with_its_retries() -> None:
    build = build_working()
    error = {"status": 529, "formatted": "529\nOverloaded", "requestId": "req_1"}
    build.system("api_error", error=error, retryAttempt=1, maxRetries=10, retryInMs=571)
    found = one(build)
    assert (found.kind, found.tone) == ("api-error", "error")
    assert found.text == "API error: 529 Overloaded (attempt 1 of 10)"
    assert found.detail == "retried after 0.6 s, request req_1"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"error": {"status": 500, "error": {"message": "broken"}}}, "500 broken"),
        ({"error": {}, "cause": {"code": "ECONNRESET"}}, "ECONNRESET"),
        ({"error": "no"}, "no"),
        ({"error": [1]}, "no reason given"),
    ],
)
def test_a_failed_request_says_the_shortest_words_it_has(fields: dict[str, Any], words: str) -> None:
    build = build_working()
    build.system("api_error", **fields)
    assert one(build).text == f"API error: {words}"


def test_the_output_of_a_command_is_for_a_terminal_and_its_first_line_comes_first() -> None:
    build = build_working()
    build.prompt("<local-command-stdout>\x1b[1mTotal\x1b[0m\nmore</local-command-stdout>")
    found = one(build)
    assert (found.kind, found.text, found.is_terminal) == ("output", "\x1b[1mTotal\x1b[0m", True)
    assert found.detail == "\x1b[1mTotal\x1b[0m\nmore"


def test_a_command_that_the_client_carried_out_is_told_as_typed() -> None:
    build = build_working()
    build.system("local_command", content="<command-name>/rename</command-name><command-args>Fruit</command-args>")
    assert (one(build).kind, one(build).text) == ("command", "/rename Fruit")


def test_a_command_without_output_is_told_by_its_name() -> None:
    build = build_working()
    run = {"command": "clear", "args": ""}
    build.system("local_command", content="<local-command-stdout></local-command-stdout>", commandRun=run)
    assert (one(build).kind, one(build).text) == ("system", "/clear")


@pytest.mark.parametrize("attached", [True, False])
def test_a_notification_says_what_has_ended_and_what_came_of_it(attached: bool) -> None:
    build = build_working()
    if attached:
        build.attachment("queued_command", prompt=NOTICE)
    else:
        build.prompt(NOTICE)
    found = one(build)
    assert (found.kind, found.text, found.detail) == ("notification", "Agent finished", "All good.")


@pytest.mark.parametrize(("status", "words"), [("<status>failed</status>", "failed"), ("", "sent an update")])
def test_a_notification_without_a_summary_names_the_task(status: str, words: str) -> None:
    build = build_working()
    build.prompt(f"<task-notification><task-id>b1</task-id>{status}</task-notification>")
    assert one(build).text == f"background task b1: {words}"


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("hook_blocking_error", {"blockingError": {"blockingError": "no test"}}, "hook Stop blocked: no test"),
        ("hook_non_blocking_error", {"stderr": "not found"}, "hook Stop failed: not found"),
        ("hook_cancelled", {}, "hook Stop was cancelled"),
        ("hook_error_during_execution", {"content": "no shell"}, "hook Stop could not run: no shell"),
    ],
)
def test_a_hook_that_failed_is_told_with_its_words(kind: str, fields: dict[str, Any], words: str) -> None:
    build = build_working()
    build.attachment(kind, hookName="Stop", command="./check", stdout="out", **fields)
    found = one(build)
    assert (found.kind, found.tone, found.text, found.detail) == ("hook", "warning", words, "$ ./check\nout")


def test_what_stop_hooks_had_to_say_is_in_their_row() -> None:
    build = build_working()
    build.system("stop_hook_summary", hookErrors=["update the changelog"], preventedContinuation=False)
    build.system("stop_hook_summary", hookErrors=[], preventedContinuation=True, stopReason="enough")
    build.system("stop_hook_summary", hookCount=1, hookErrors=[])
    (meta,) = [view for view in build_views(build.session()) if isinstance(view, MetaView)]
    assert [row.gist for row in meta.rows] == [
        "stop hook reported errors: update the changelog",
        "stop hook ended the turn: enough",
        "hookCount 1",
    ]


def test_modes_titles_and_other_book_keeping_say_what_they_are_about() -> None:
    build = Build()
    build.note("permission-mode", permissionMode="plan")
    build.note("ai-title", aiTitle="Fruit shop")
    build.note("last-prompt", lastPrompt="go on\nplease")
    build.attachment("edited_text_file", filename="/a.py", snippet="1 x")
    build.attachment("deferred_tools_delta", addedNames=["A", "B"])
    build.progress(output="step 1\nstep 2")
    build.note("x-new", what={"is": "this"}, count=2)
    (meta,) = build_views(build.session())
    assert isinstance(meta, MetaView)
    assert [(row.name, row.gist) for row in meta.rows] == [
        ("permission-mode", "permission mode: plan"),
        ("ai-title", "title: Fruit shop"),
        ("last-prompt", "go on please"),
        ("attachment/edited_text_file", "/a.py"),
        ("attachment/deferred_tools_delta", "addedNames 2 items"),
        ("progress/bash_progress", "step 1 step 2"),
        ("x-new", "what this, count 2"),
    ]


def test_a_result_without_its_call_is_told() -> None:
    build = build_working()
    build.prompt([outcome("lost", "its words")])
    found = one(build)
    assert (found.kind, found.text) == ("orphan", "result of a call that is not in the session: lost")
    assert found.detail == "its words"
    assert any(event.kind == "orphan" for event in events(open_variant("tool-use-removed-results-left-orphans")))


def test_a_microcompaction_tells_what_was_cleared() -> None:
    build = build_working()
    build.system("microcompact_boundary", microcompactMetadata={"tokensSaved": 21_294, "compactedToolIds": ["a", "b"]})
    assert (one(build).kind, one(build).detail) == ("microcompaction", "2 results, 21,294 tokens saved")


@pytest.mark.parametrize(
    ("level", "tone"), [("warning", "warning"), ("error", "error"), ("info", "plain"), (5, "plain")]
)
def test_a_note_of_the_client_has_the_tone_of_its_level(level: Any, tone: str) -> None:
    build = build_working()
    build.system("informational", content="Unknown command", level=level)
    assert (one(build).kind, one(build).text, one(build).tone) == ("system", "Unknown command", tone)


def test_a_note_without_words_is_told_by_its_name() -> None:
    build = build_working()
    build.system("model_refusal_fallback")
    assert one(build).text == "model refusal fallback"


def test_a_summary_without_a_boundary_is_folded_away() -> None:
    build = build_working()
    build.summary("All of it.")
    assert (one(build).kind, one(build).detail) == ("summary", "All of it.")


def test_a_message_of_a_teammate_that_set_off_no_work_is_told() -> None:
    build = build_working()
    build.prompt('<teammate-message teammate_id="x">idle</teammate-message>')
    assert (one(build).kind, one(build).text, one(build).detail) == ("teammate", "From a teammate (x)", "idle")


@pytest.mark.parametrize(
    ("kind", "fields", "told"),
    [
        ("queued_command", {"prompt": "5 files", "origin": {"kind": "peer", "from": "a"}}, ("peer", "a", "5 files")),
        ("queued_command", {"prompt": "hi", "origin": {"kind": "channel", "server": "b"}}, ("other", "b", "hi")),
        (
            "teammate_mailbox",
            {"messages": [{"from": "a", "text": "one"}, {"from": "b", "text": "two"}, {"from": "a"}, 5]},
            ("teammate", "a, b", "one\n\ntwo"),
        ),
    ],
)
def test_messages_of_other_agents_in_the_middle_of_a_turn_name_who_sent_them(
    kind: str, fields: dict[str, Any], told: tuple[str, str, str]
) -> None:
    build = build_working()
    build.attachment(kind, **fields)
    found = one(build)
    assert (found.kind, found.detail.strip()) == (told[0], told[2])
    assert f"({told[1]})" in found.text


def test_a_mailbox_without_messages_says_nothing() -> None:
    build = build_working()
    build.attachment("teammate_mailbox", messages=[])
    assert one(build).kind == "system"


def test_the_demo_tells_of_errors_hooks_and_commands() -> None:
    seen: set[str] = set()
    for path in config_dir().glob("projects/*/????????-*.jsonl"):
        with Session.open(path) as session:
            seen |= {event.kind for event in events(session)}
    assert {"api-error", "hook", "command", "output", "interrupt", "microcompaction", "notification"} <= seen


@pytest.mark.parametrize("path", recorded_sessions(), ids=lambda path: "/".join(path.parts[-6:]))
def test_every_event_of_a_recorded_session_has_a_known_kind_and_words(path: Path) -> None:
    with Session.open(path) as session:
        for event in events(session):
            assert event.kind in EVENT_KINDS
            assert event.text.strip()
            assert event.tone in ("plain", "note", "warning", "error")


def test_what_was_typed_meanwhile_is_known_as_such() -> None:
    with Session.open(find_recording("2.1.325/tui_edge")) as session:
        queued = [entry for entry in session.entries if entry.kind == "queued_command"]
        found = [describe_entry_event(session.file, entry) for entry in queued]
    assert [item.text for item in found if item and item.kind == "typed"] == ["also do this queued thing"]
