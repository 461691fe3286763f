"""Reading the hook's reports: each once, whatever else is in the folder, and only as long as they are true."""

from __future__ import annotations

import json
import os
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.clock import ManualClock, recent
from tests.session.build import Build
from turnlog.entries.reader import scan_lines
from turnlog.live.activity import Activity
from turnlog.live.board import Board
from turnlog.live.hook_reports import HookReport, HookReports, find_hook_sign, inspect_spool
from turnlog.live.processes import NoProcesses
from turnlog.live.signs import HookSign, SessionSigns
from turnlog.live.states import SessionState, judge_state
from turnlog.session.clock import parse_timestamp

SESSION = "00000001-2222-4333-8444-555555555555"
START = 1_800_000_000.0


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    """The file of a day, in a data folder."""
    (tmp_path / "hook-reports").mkdir()
    return tmp_path / "hook-reports" / time.strftime("%Y-%m-%d.jsonl", time.gmtime())


def line(event: str, **fields: Any) -> bytes:
    return b"\n" + json.dumps({"event": event, "time": START, "session_id": SESSION, **fields}).encode() + b"\n"


def append(path: Path, *parts: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(parts))


def read(spool: Path, *lines: bytes) -> HookReports:
    append(spool, *lines)
    reports = HookReports(spool.parent.parent)
    reports.poll()
    return reports


def test_each_report_is_returned_once_when_its_line_is_complete(spool: Path) -> None:
    reports = HookReports(spool.parent.parent)
    assert reports.poll() == []
    whole = line("Stop") + line("SessionEnd", reason="clear")
    seen = []
    for at in range(len(whole)):
        append(spool, whole[at : at + 1])
        seen += [report.event for report in reports.poll()]
    assert seen == ["Stop", "SessionEnd"]
    assert reports.poll() == []


def test_a_renamed_file_is_not_read_again_and_a_new_one_is(spool: Path) -> None:
    reports = read(spool, line("Stop"))
    spool.rename(spool.with_name(f"{spool.stem}-123.jsonl"))
    append(spool, line("UserPromptSubmit"))
    assert [report.event for report in reports.poll()] == ["UserPromptSubmit"]


def test_a_deleted_folder_and_one_that_comes_back_are_no_failure(spool: Path) -> None:
    reports = read(spool, line("Stop"))
    spool.unlink()
    spool.parent.rmdir()
    assert reports.poll() == []
    spool.parent.mkdir()
    append(spool, line("SessionEnd"))
    assert [report.event for report in reports.poll()] == ["SessionEnd"]


def test_a_file_that_was_emptied_is_read_from_its_start(spool: Path) -> None:
    reports = read(spool, line("Stop"), line("Stop"))
    spool.write_bytes(line("SessionEnd"))
    assert [report.event for report in reports.poll()] == ["SessionEnd"]


@pytest.mark.parametrize(
    "rubbish",
    [
        b"\n\n\n",
        b"{}\n",
        b"[]\n",
        b"\xff\xfe\x00\n",
        b"[" * 4000 + b"\n",
        b"x" * 100_000 + b"\n",
        line("PreToolUse"),
        line("Stop", time="now"),
        line("Stop", session_id=7),
        line("Stop", message="x" * 5000),
        line("Stop", session_id="\ud800"),
        line("Stop")[:-9] + b"\n",
    ],
)
def test_lines_that_are_no_reports_are_skipped(spool: Path, rubbish: bytes) -> None:
    append(spool, rubbish, line("SessionEnd"))
    assert [report.event for report in HookReports(spool.parent.parent).poll()] == ["SessionEnd"]


@given(data=st.binary(max_size=300))
def test_any_bytes_are_tolerated(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("data")
    (folder / "hook-reports").mkdir()
    spool = folder / "hook-reports" / "2026-11-16.jsonl"
    append(spool, data, line("Stop"))
    assert HookReports(folder).poll()[-1].event == "Stop"


def test_other_files_in_the_folder_are_left_alone(spool: Path, tmp_path: Path) -> None:
    old = time.time() - 90 * 86400
    mine = tmp_path / "mine.jsonl"
    append(mine, line("Stop"))
    (spool.parent / "notes.jsonl").write_bytes(line("Stop"))
    os.utime(spool.parent / "notes.jsonl", (old, old))
    (spool.parent / "2020-01-01.jsonl").mkdir()
    if os.name != "nt":
        (spool.parent / "2020-01-02.jsonl").symlink_to(mine)
        os.mkfifo(spool.parent / "2020-01-03.jsonl")
    with (spool.parent / "2020-01-04.jsonl").open("wb") as file:
        file.truncate(1 << 30)
    names = sorted(path.name for path in spool.parent.iterdir())
    assert HookReports(tmp_path).poll() == []
    assert sorted(path.name for path in spool.parent.iterdir()) == names


def test_files_that_are_a_week_old_or_from_the_future_are_removed(spool: Path) -> None:
    now = time.time()
    for name, days in (("2026-01-01.jsonl", -8), ("2026-01-02-5.jsonl", -6), ("2099-01-01.jsonl", 30)):
        append(spool.with_name(name), line("Stop"))
        os.utime(spool.with_name(name), (now + days * 86400,) * 2)
    read(spool, line("Stop"))
    assert sorted(path.name for path in spool.parent.iterdir()) == sorted(["2026-01-02-5.jsonl", spool.name])


def test_few_sessions_are_remembered(spool: Path) -> None:
    reports = read(spool, *(line("Stop", session_id=f"s{number}") for number in range(2500)))
    assert reports.latest("s0") is None
    assert reports.latest("s2499") is not None
    assert len(reports._sessions) == 2000


def test_a_session_id_may_be_anything(spool: Path, tmp_path: Path) -> None:
    for name in ("../../etc/passwd", "a/b\n", "", "\x00"):
        reports = read(spool, line("PermissionRequest", session_id=name, agent_id="../../x", tool_name="Bash"))
        assert len(reports.list_agent_requests(name)) == 1
    reports = read(spool, line("PermissionRequest", agent_id="../../x"))
    assert find_hook_sign(reports, tmp_path / f"{SESSION}.jsonl", START) is None, "no path is made of it"


# -- which report says what a session is doing


def find_latest(spool: Path, *lines: bytes) -> HookReport:
    report = read(spool, *lines).latest(SESSION)
    assert report is not None
    return report


def test_a_sub_agent_that_stops_says_nothing_about_the_session(spool: Path) -> None:
    latest = find_latest(spool, line("Stop"), line("SubagentStop", agent_id="a1"))
    assert latest.event == "Stop"


def test_a_reminder_of_a_request_does_not_replace_it(spool: Path) -> None:
    request = line("PermissionRequest", tool_name="Bash")
    reminder = {"notification_type": "permission_prompt", "message": "Claude needs your permission"}
    assert find_latest(spool, request, line("Notification", time=START + 6, **reminder)).detail == "Bash"
    assert find_latest(spool, line("Notification", time=START + 60, **reminder)).event == "Notification"


@pytest.mark.parametrize(
    ("message", "decides"),
    [
        ({"notification_type": "auth_success", "message": "Login successful"}, False),
        ({"message": "Claude needs your permission to use Bash"}, True),
        ({"message": "Claude is waiting for your input"}, True),
        ({"notification_type": "agent_needs_input", "message": "needs your choice"}, True),
    ],
)
def test_only_some_notifications_say_what_a_session_is_doing(
    spool: Path, message: dict[str, str], decides: bool
) -> None:
    latest = find_latest(spool, line("UserPromptSubmit"), line("Notification", **message))
    assert latest.event == ("Notification" if decides else "UserPromptSubmit")


def test_a_compaction_in_the_middle_of_a_turn_does_not_end_it(spool: Path) -> None:
    latest = find_latest(spool, line("UserPromptSubmit"), line("SessionStart", source="compact"))
    assert latest.event == "UserPromptSubmit"


def test_a_compaction_counts_until_the_session_has_started_again(spool: Path) -> None:
    lines = [line("Stop"), line("PreCompact", trigger="manual"), line("SessionStart", source="compact")]
    assert [find_latest(spool, *lines[:count]).event for count in (1, 2, 3)] == ["Stop", "PreCompact", "Stop"]


def test_a_sub_agents_request_is_kept_until_it_stops_or_the_session_ends(spool: Path) -> None:
    requests = [line("PermissionRequest", agent_id=name, tool_name="Bash") for name in ("a1", "a2")]
    reports = read(spool, *requests, line("Stop"), line("SubagentStop", agent_id="a1"))
    assert [report.agent_id for report in reports.list_agent_requests(SESSION)] == ["a2"]
    append(spool, line("SessionEnd"))
    reports.poll()
    assert reports.list_agent_requests(SESSION) == []


# -- how long a report counts


def fold_lines(build: Build) -> Activity:
    return Activity().add_all(scan_lines(build.data().splitlines(keepends=True)))


def to_time(build: Build) -> datetime:
    """When the last message was written."""
    last = parse_timestamp(fold_lines(build).since)
    assert last is not None
    return last


def judge(build: Build, event: str, seconds: float, detail: str = "", agent: str = "", **signs: Any) -> SessionState:
    """The state with a report from so many seconds after the last message."""
    time_of_report = to_time(build) + timedelta(seconds=seconds)
    hook = HookSign(event, time_of_report, detail, agent)
    return judge_state(fold_lines(build), time_of_report + timedelta(seconds=1), SessionSigns(hook=hook, **signs))


def start_turn() -> Build:
    build = Build()
    build.prompt("hello")
    return build


def make_calls() -> Build:
    build = start_turn()
    build.call("c1", "Read", {})
    build.call("c2", "Bash", {"command": "make"})
    return build


@pytest.mark.parametrize(
    ("event", "detail", "kind"),
    [
        ("Stop", "", "finished"),
        ("PermissionRequest", "Bash", "permission"),
        ("Notification", "permission_prompt: Claude needs your permission", "permission"),
        ("Notification", "Claude is waiting for your input", "finished"),
        ("Notification", "agent_needs_input: needs your choice", "waiting"),
        ("SessionEnd", "prompt_input_exit", "ended"),
        ("SessionEnd", "clear", "left"),
        ("SessionStart", "resume", "finished"),
    ],
)
def test_a_state_is_sure_until_the_transcript_has_a_later_message(event: str, detail: str, kind: str) -> None:
    current = judge(make_calls(), event, 1, detail)
    assert (current.kind, current.confidence) == (kind, "sure")
    assert event in current.reason
    old = judge(make_calls(), event, -1, detail if "permission" not in kind else "Write")
    assert event not in old.reason


def test_a_prompt_that_was_sent_makes_a_finished_session_work() -> None:
    build = start_turn()
    build.answer("done")
    assert judge(build, "UserPromptSubmit", 1).kind == "answering"
    assert judge(build, "UserPromptSubmit", -1).kind == "finished"


def test_entries_that_are_no_messages_do_not_outdate_a_report() -> None:
    build = make_calls()
    time_of_report = to_time(build) + timedelta(seconds=0.5)
    build.system("informational", content="a remark")
    build.attachment("hook_success")
    build.note("last-prompt", lastPrompt="hello")
    signs = SessionSigns(hook=HookSign("Stop", time_of_report))
    assert judge_state(fold_lines(build), time_of_report + timedelta(seconds=1), signs).kind == "finished"


def test_a_request_counts_while_its_call_has_no_result_even_if_a_parallel_one_has() -> None:
    build = make_calls()
    time_of_report = to_time(build) + timedelta(seconds=0.5)
    signs = SessionSigns(hook=HookSign("PermissionRequest", time_of_report, "Bash"))
    build.result("c1", "text")
    state = judge_state(fold_lines(build), to_time(build), signs)
    assert (state.kind, state.words) == ("permission", "waiting for permission: Bash: make")
    build.result("c2", "text")
    assert judge_state(fold_lines(build), to_time(build), signs).kind == "answering"


def test_a_sub_agents_request_does_not_depend_on_what_the_main_agent_writes() -> None:
    build = start_turn()
    build.answer("it runs in the background")
    state = judge(build, "PermissionRequest", -60, "Bash", "a1")
    assert (state.kind, state.words, state.confidence) == ("permission", "waiting for permission: Bash", "sure")


def test_the_clients_own_status_outdates_an_earlier_report() -> None:
    build = make_calls()
    later = to_time(build) + timedelta(seconds=5)
    signs: dict[str, Any] = {"status": "busy", "status_time": later, "is_open": True, "presence": "open"}
    assert judge(build, "PermissionRequest", 1, "Bash", **signs).kind == "running"
    assert judge(build, "PermissionRequest", 9, "Bash", **signs).kind == "permission"


def test_a_report_from_the_future_does_not_count(spool: Path, tmp_path: Path) -> None:
    session = tmp_path / f"{SESSION}.jsonl"
    reports = read(spool, line("Stop"))
    assert find_hook_sign(reports, session, START) is not None
    assert find_hook_sign(reports, session, START - 3600) is None
    reports = read(spool, line("PermissionRequest", agent_id="a1", time=START + 7200))
    sign = find_hook_sign(reports, session, START + 60)
    assert sign is not None
    assert sign.event == "Stop"


@pytest.mark.parametrize("seconds", [-1e300, 1e300, -1e17])
def test_a_time_that_is_none_is_no_failure(spool: Path, tmp_path: Path, seconds: float) -> None:
    reports = read(spool, line("Stop", time=seconds))
    assert find_hook_sign(reports, tmp_path / f"{SESSION}.jsonl", START) is None


def test_a_sub_agent_that_needs_permission_comes_first_until_it_writes(spool: Path, tmp_path: Path) -> None:
    session = tmp_path / "project" / f"{SESSION}.jsonl"
    agent = session.with_suffix("") / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_text("{}\n")
    os.utime(agent, (START - 1, START - 1))
    reports = read(spool, line("PermissionRequest", agent_id="a1", tool_name="Bash"), line("Stop"))
    sign = find_hook_sign(reports, session, START + 60)
    assert sign is not None
    assert (sign.agent, sign.detail) == ("a1", "Bash")
    os.utime(agent, (START + 5, START + 5))
    sign = find_hook_sign(reports, session, START + 60)
    assert sign is not None
    assert sign.event == "Stop"


def test_the_board_is_sure_where_the_hook_reported(spool: Path, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "projects" / "-home-dana-webshop"
    folder.mkdir(parents=True)
    path = recent(make_calls()).write(folder, SESSION)
    clock = ManualClock()
    board = Board([tmp_path / "config"], clock, NoProcesses(), reports=HookReports(tmp_path))
    board.poll()
    before = board.rows[str(path)]
    assert "hook" not in before.state.reason
    append(spool, line("PermissionRequest", tool_name="Bash", time=time.time()))
    clock.skip(0.5)
    board.poll()
    after = board.rows[str(path)]
    assert (after.column, after.state.kind, after.state.confidence) == ("needs", "permission", "sure")
    assert after.state.reason == "the PermissionRequest hook reported it"


# -- for `turnlog hook status`


def test_the_size_of_the_spool_is_known(spool: Path) -> None:
    assert inspect_spool(spool.parent.parent / "none")[1:] == (0, 0, None, None)
    append(spool, line("Stop"))
    os.utime(spool, (START, START))
    assert inspect_spool(spool.parent.parent)[1:] == (1, len(line("Stop")), START, None)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_what_keeps_the_hook_from_writing_is_named_with_a_remedy(spool: Path, tmp_path: Path) -> None:
    spool.symlink_to(tmp_path)
    assert (
        inspect_spool(tmp_path).problem == f"{spool}: not a regular file; remove it, so that the hook can write reports"
    )
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "hook-reports").touch()
    assert "not a folder" in str(inspect_spool(tmp_path / "other").problem)
