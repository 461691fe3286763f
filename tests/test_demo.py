"""The demo sessions: every known kind occurs, they are whole, name no machine, and can be made again."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from turnlog import demo

Row = dict[str, Any]
SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "make_demo.py"
SESSIONS = sorted(demo.config_dir().rglob("projects/**/*.jsonl"))

TYPES = set(
    """
    agent-color agent-name agent-setting ai-title api-request api-request-blob api-request-shape
    assistant atis-latch attachment bridge-session cost-state custom-title file-history-delta
    file-history-snapshot fork-context-ref frame-link last-prompt mode permission-mode pr-link
    progress queue-operation relocated summary system tools-used user worktree-state""".split()
)
SUBTYPES = {None} | set(
    """
    api_error away_summary bridge_status compact_boundary informational local_command
    microcompact_boundary scheduled_task_fire stop_hook_summary turn_duration""".split()
)
PROGRESS = set(
    """
    agent_progress bash_progress hook_progress mcp_progress query_update search_results_received
    waiting_for_task""".split()
)
ATTACHMENTS = set(
    """
    agent_listing_delta already_read_file async_hook_response auto_mode command_permissions
    compact_file_reference date date_change deferred_tools_delta deferred_tools_record diagnostics
    directory edited_text_file environment file goal_status hook_additional_context
    hook_blocking_error hook_cancelled hook_non_blocking_error hook_success hook_system_message
    invoked_skills mcp_instructions_delta model nested_memory opened_file_in_ide plan_mode
    plan_mode_exit plan_mode_reentry prompt_snapshot queued_command read_truncation_notice
    remote_session_change selected_lines_in_ide session_context skill_listing structured_output
    task_reminder todo_reminder total_tokens_reminder ultra_effort_enter ultra_effort_exit
    workflow_keyword_request""".split()
)
QUEUE = {
    ("enqueue", True),
    ("enqueue", False),
    ("dequeue", False),
    ("remove", True),
    ("remove", False),
    ("popAll", True),
}
TOOLS = set(
    """
    Agent AskUserQuestion Bash Edit ExitPlanMode Glob Grep MultiEdit PowerShell Read Task TaskCreate
    TaskUpdate TodoWrite WebFetch WebSearch Write mcp__tickets__list_issues""".split()
)


def rows_of(path: Path) -> list[Row]:
    """Every line of a file, decoded."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """The lines of all session files together."""
    return [row for path in SESSIONS for row in rows_of(path)]


def blocks(rows: list[Row], kind: str) -> Iterator[Row]:
    """The content blocks of one kind in rows."""
    for row in rows:
        content = row.get("message", {}).get("content") if row["type"] in ("user", "assistant") else None
        for block in content if isinstance(content, list) else []:
            if block["type"] == kind:
                yield block


def test_every_known_type_occurs(rows: list[Row]) -> None:
    """Each entry type of the inventory and the census is in some demo file."""
    assert TYPES - {row["type"] for row in rows} == set()


def test_every_known_system_subtype_occurs(rows: list[Row]) -> None:
    """Each subtype is there, and the old system rows without one."""
    assert SUBTYPES - {row.get("subtype") for row in rows if row["type"] == "system"} == set()


def test_every_known_attachment_kind_occurs(rows: list[Row]) -> None:
    """Each attachment kind is in some demo file, and no kind is made up."""
    assert {row["attachment"]["type"] for row in rows if row["type"] == "attachment"} == ATTACHMENTS


def test_every_known_progress_kind_occurs(rows: list[Row]) -> None:
    """Each progress kind is in some demo file, and no kind is made up."""
    assert {row["data"]["type"] for row in rows if row["type"] == "progress"} == PROGRESS


def test_every_queue_operation_occurs(rows: list[Row]) -> None:
    """Each operation is there, with and without content where both are known."""
    assert {(row["operation"], "content" in row) for row in rows if row["type"] == "queue-operation"} == QUEUE


def test_the_tools_worth_showing_occur(rows: list[Row]) -> None:
    """The demo has calls of all the common tools."""
    assert TOOLS - {block["name"] for block in blocks(rows, "tool_use")} == set()


def test_several_versions_and_permission_modes_occur(rows: list[Row]) -> None:
    """Old, middle and new clients are there, and prompts in every mode that the stories need."""
    versions = {row["version"] for row in rows if row["type"] in ("user", "assistant")}
    assert {"1.0.53", "1.0.128", "2.0.76", "2.1.22", "2.1.220", "2.1.233", "2.1.325"} == versions
    assert {"default", "plan", "acceptEdits", "auto"} <= {row.get("permissionMode") for row in rows}


def test_every_line_ends_and_is_an_object() -> None:
    """Files are whole: a final line break, an object on every line."""
    for path in SESSIONS:
        data = path.read_bytes()
        assert data == b"" or data.endswith(b"\n"), path
        assert all(isinstance(row, dict) for row in rows_of(path)), path


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem[:13])
def test_parents_and_results_are_found(path: Path) -> None:
    """No parent is missing, no uuid is used twice, and calls and results pair one to one."""
    rows = rows_of(path)
    uuids = Counter(row["uuid"] for row in rows if "uuid" in row)
    assert all(count == 1 for count in uuids.values())
    assert {row["parentUuid"] for row in rows if row.get("parentUuid")} <= set(uuids)
    calls = Counter(block["id"] for block in blocks(rows, "tool_use"))
    assert calls == Counter(block["tool_use_id"] for block in blocks(rows, "tool_result"))


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem[:13])
def test_a_parent_stands_before_its_child(path: Path) -> None:
    """Rows are in the order in which they were written, and time goes forward."""
    seen, last = set(), ""
    for row in rows_of(path):
        assert row.get("parentUuid") is None or row["parentUuid"] in seen
        if row["type"] in ("user", "assistant") and not row["isSidechain"]:
            assert row["timestamp"] > last
            last = row["timestamp"]
        seen.add(row.get("uuid"))


def test_sub_agents_are_linked_to_a_call() -> None:
    """Every meta file names a call of its session, and stands beside the agent's rows."""
    metas = sorted(demo.config_dir().rglob("*.meta.json"))
    assert metas
    for meta in metas:
        session = meta.parent.parent.with_suffix(".jsonl")
        call = json.loads(meta.read_text("utf-8"))["toolUseId"]
        assert call in {block["id"] for block in blocks(rows_of(session), "tool_use")}
        assert meta.with_name(meta.name.replace(".meta.json", ".jsonl")).is_file()


def test_file_backups_exist() -> None:
    """Each backup that a row names is in file-history."""
    named = 0
    for path in SESSIONS:
        for row in rows_of(path):
            backups = (
                [row["backup"]]
                if row["type"] == "file-history-delta"
                else list(row.get("snapshot", {}).get("trackedFileBackups", {}).values())
            )
            for backup in filter(None, (b["backupFileName"] for b in backups)):
                assert (demo.config_dir() / "file-history" / path.stem / backup).is_file()
                named += 1
    assert named


def test_usage_grows_like_in_a_real_session(rows: list[Row]) -> None:
    """Cache reads grow over a session, early 2.1 rows hold placeholders, the newest files tell their cost."""
    reads = [
        row["message"]["usage"]["cache_read_input_tokens"]
        for row in rows
        if row["type"] == "assistant" and row["sessionId"] == "bee7dbd3-a71b-48ef-8c53-70ecb3f99f59"
    ]
    assert reads == sorted(reads)
    assert reads[0] == 0
    assert reads[-1] > 15_000
    early = [row["message"] for row in rows if row["type"] == "assistant" and row["version"] == "2.1.22"]
    assert all(m["stop_reason"] is None and m["usage"]["output_tokens"] < 9 for m in early)
    assert all(row["totalCostUSD"] > 0.05 for row in rows if row["type"] == "cost-state")


def test_recorded_requests_can_be_resolved() -> None:
    """Every hash that a request names is a blob of the file, or an answer or results in its rows."""
    checked = 0
    for path in SESSIONS:
        rows = rows_of(path)
        known = {row["hash"] for row in rows if row["type"] == "api-request-blob"}
        known |= set(map(message_hash, answers_and_results(rows)))
        for row in rows:
            if row["type"] == "api-request":
                assert set(row["tail"]) <= known
                checked += len(row["tail"])
    assert checked > 20


def answers_and_results(rows: list[Row]) -> Iterator[Row]:
    """Messages as they were sent: an answer's blocks together, then all its results together."""
    answers: dict[str, list[Row]] = {}
    for row in rows:
        if row["type"] == "assistant":
            answers.setdefault(row["message"]["id"], []).extend(row["message"]["content"])
    results = {block["tool_use_id"]: block for block in blocks(rows, "tool_result")}
    for content in answers.values():
        yield {"role": "assistant", "content": content}
        yield {"role": "user", "content": [results[b["id"]] for b in content if b["type"] == "tool_use"]}


def message_hash(message: Row) -> str:
    """The hash of a message in `api-request` rows."""
    raw = json.dumps(message, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(raw.encode()).hexdigest()


def test_the_picture_is_a_png(rows: list[Row]) -> None:
    """The pasted image decodes to a PNG with all its parts."""
    images = list(blocks(rows, "image"))
    assert images
    for image in images:
        data = base64.b64decode(image["source"]["data"], validate=True)
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert data.endswith(b"IEND\xaeB`\x82")


def test_nothing_names_a_machine() -> None:
    """All absolute paths are those of the made-up developer."""
    allowed = ("/home/dana/", "/tmp/claude")
    for path in (p for p in demo.config_dir().rglob("*") if p.is_file()):
        text = path.read_text("utf-8")
        found = re.findall(r"(?<![\w./~:<-])/(?:home|root|tmp|work|usr|var|opt|Users|mnt)/[\w./-]*", text)
        assert [f for f in found if not f.startswith(allowed)] == [], path
        assert not re.search(r"sk-ant-|127\.0\.0\.1|localhost", text), path


def test_the_data_is_small() -> None:
    """The package does not grow by more than 1.2 MB for the demo."""
    assert sum(p.stat().st_size for p in demo.config_dir().rglob("*") if p.is_file()) < 1_200_000


def test_is_demo_tells_demo_files_from_others(tmp_path: Path) -> None:
    """A path below the made-up folder is demo, any other is not."""
    assert demo.is_demo(SESSIONS[0])
    assert demo.is_demo(demo.config_dir())
    assert not demo.is_demo(tmp_path / "projects" / SESSIONS[0].name)


@pytest.mark.skipif(not SCRIPT.is_file(), reason="the generator is not part of an installed package")
def test_the_generator_makes_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running scripts/make_demo.py gives exactly the files in the package."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    spec = importlib.util.spec_from_file_location("make_demo", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        module.write_demo(tmp_path / "claude")
    finally:
        for name in [name for name in sys.modules if name == "demo" or name.startswith("demo.")]:
            del sys.modules[name]
    assert contents(tmp_path / "claude") == contents(demo.config_dir())


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by its path in it."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
