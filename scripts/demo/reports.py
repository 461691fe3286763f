"""Monthly reports on Windows, in an editor (2.1.233): IDE context, hooks, a worktree and a remote bridge."""

from __future__ import annotations

from demo.home import Home
from demo.ids import hash_text, make_uuid
from demo.project import Call, Project, build_text, build_thinking
from demo.recorder import Recorder

REPORT = """import csv


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def total(path, column="amount"):
    return sum(float(row[column]) for row in rows(path))
"""


def record_report_session(home: Home) -> None:
    """Record a session that reads a broken CSV file, fixes the reader, tries a worktree, and continues on a phone."""
    p = Project(
        "C:\\Users\\dana\\reports",
        files={
            "report.py": REPORT,
            "CLAUDE.md": "# reports\n\nAmounts use a comma.\n",
            "data/2026-10.csv": "date;amount\n2026-10-01;12,50\n2026-10-02;8,00\n",
        },
    )
    rec = Recorder(
        home,
        "reports",
        p,
        "2.1.233",
        "2026-10-30T22:47:19",
        "claude-opus-5",
        entrypoint="claude-vscode",
        base=16_100,
    )
    rec.hour = True
    rec.add_metadata("agent-setting", agentSetting="reviewer")
    rec.add_metadata("agent-color", agentColor="cyan")
    rec.add_metadata("ai-title", aiTitle="Monthly report reads commas")
    rec.title = ("ai-title", "Monthly report reads commas")
    _record_question(rec, p)
    _record_effort(rec, p)
    _record_worktree(rec, p)
    _record_bridge(rec)
    rec.add_metadata("tag", tag="reports")
    rec.save_session()


def _describe_hook(event: str, name: str, call: str) -> dict[str, str]:
    return {"hookName": name, "toolUseID": call, "hookEvent": event}


def _record_question(rec: Recorder, p: Project) -> None:
    start = _describe_hook("SessionStart", "SessionStart:startup", rec.next_uuid())
    rec.add_attachment("hook_additional_context", content=["The accounting year ends in October."], **start)
    rec.add_attachment("hook_system_message", content="Welcome back, Dana.", **start)
    rec.add_prompt(
        [
            {
                "type": "text",
                "text": "<ide_opened_file>The user opened the file c:\\Users\\dana\\reports\\report.py in "
                "the IDE. This may or may not be related to the current task.</ide_opened_file>",
            },
            {"type": "text", "text": "Why does this raise ValueError for the October file?"},
        ],
        shown="Why does this raise ValueError for the October file?",
    )
    rec.add_attachment("opened_file_in_ide", filename=p.resolve_path("report.py"))
    rec.add_attachment(
        "selected_lines_in_ide",
        ideName="Visual Studio Code",
        lineStart=10,
        lineEnd=10,
        filename=p.resolve_path("report.py"),
        content="    return sum(float(row[column]) for row in rows(path))",
        displayPath="report.py",
    )
    rec.add_attachment(
        "nested_memory",
        path=p.resolve_path("CLAUDE.md"),
        displayPath="CLAUDE.md",
        content={
            "path": p.resolve_path("CLAUDE.md"),
            "type": "Project",
            "content": p.files["CLAUDE.md"],
            "contentDiffersFromDisk": False,
        },
    )
    rec.add_attachment(
        "mcp_instructions_delta",
        addedNames=["tickets"],
        addedBlocks=["## tickets\nUse list_issues first."],
        removedNames=[],
    )
    rec.add_attachment("directory", path=p.resolve_path("data"), content="2026-10.csv", displayPath="data")
    call = rec.add_answer(
        build_thinking("Semicolons and decimal commas: csv's defaults do not fit."),
        build_text("I look at the data."),
        p.read_file("data/2026-10.csv"),
    )[0]
    rec.add_attachment("read_truncation_notice", banner="Showing the first 3 lines", toolUseID=call)
    rec.add_attachment(
        "hook_non_blocking_error",
        **_describe_hook("PostToolUse", "PostToolUse:Read", call),
        stderr="lint: not found",
        stdout="",
        exitCode=127,
        command="lint --quick",
        durationMs=14,
    )
    rec.add_answer(
        build_text(
            'The file uses `;` between columns and a comma in amounts; `float("12,50")` raises. I\'ll read both.'
        ),
        p.edit_file("report.py", "list(csv.DictReader(file))", 'list(csv.DictReader(file, delimiter=";"))'),
        p.edit_file("report.py", "float(row[column])", 'float(row[column].replace(",", "."))'),
    )
    rec.add_attachment(
        "diagnostics",
        files=[
            {
                "uri": "file:///c:/Users/dana/reports/report.py",
                "diagnostics": [
                    {
                        "message": '"path" has no type',
                        "severity": "Warning",
                        "source": "Pylance",
                        "code": "reportMissingParameterType",
                        "range": {"start": {"line": 3, "character": 9}, "end": {"line": 3, "character": 13}},
                    }
                ],
            }
        ],
        isNew=True,
    )
    arguments = {
        "command": "python -c \"import report; print(report.total('data/2026-10.csv'))\"",
        "description": "Try October",
    }
    rec.add_answer(
        Call(
            "PowerShell",
            arguments,
            "20.5",
            {"stdout": "20.5", "stderr": "", "interrupted": False, "isImage": False},
            False,
            0.9,
        )
    )
    rec.add_answer(build_text("October adds up to **20.50**. The reader now takes `;` and decimal commas."))
    stop = rec.next_uuid()
    rec.add_attachment(
        "hook_cancelled", **_describe_hook("Stop", "Stop", stop), command="slow-check", durationMs=60_000
    )
    rec.add_attachment(
        "async_hook_response",
        processId="async_hook_5120",
        hookName="Stop",
        hookEvent="Stop",
        response={},
        stdout="",
        stderr="",
        exitCode=0,
    )
    rec.end_turn()


def _record_effort(rec: Recorder, p: Project) -> None:
    rec.pass_time(4500)
    rec.add_attachment("date_change", newDate="2026-10-31")
    rec.mode = "plan"
    plan = "C:\\Users\\dana\\.claude\\plans\\commas-soft-badger.md"
    rec.add_prompt("ultracode: think about a workflow that checks every month, goal is no ValueError.")
    rec.add_attachment("ultra_effort_enter", reminderType="full")
    rec.add_attachment("workflow_keyword_request")
    rec.add_attachment("plan_mode_reentry", planFilePath=plan)
    count = p.files["report.py"].count("\n") + 1
    rec.add_attachment(
        "already_read_file",
        filename=p.resolve_path("report.py"),
        displayPath="report.py",
        content={
            "type": "text",
            "file": {
                "filePath": p.resolve_path("report.py"),
                "content": p.files["report.py"],
                "numLines": count,
                "startLine": 1,
                "totalLines": count,
            },
        },
    )
    rec.add_attachment(
        "invoked_skills",
        skills=[
            {
                "name": "code-review",
                "path": "bundled:code-review",
                "content": "Review the current diff for bugs.",
            }
        ],
    )
    rec.add_answer(
        build_thinking("One loop over the files is enough."),
        build_text("A loop over `data/*.csv` that prints month and total is enough; no workflow needed."),
    )
    rec.add_attachment(
        "goal_status",
        met=True,
        condition="no ValueError for any month",
        reason="October, the only file, is read",
        iterations=1,
        durationMs=9_800,
        tokens=2_400,
    )
    rec.add_attachment("ultra_effort_exit")
    rec.mode = "default"
    rec.end_turn()


def _record_worktree(rec: Recorder, p: Project) -> None:
    rec.pass_time(60)
    rec.add_prompt("Try that in a worktree.")
    tree = p.resolve_path(".claude/worktrees/months")
    rec.add_answer(
        Call(
            "EnterWorktree",
            {"name": "months"},
            f"Created worktree at {tree} on branch worktree-months",
            {"worktreePath": tree, "worktreeBranch": "worktree-months"},
        )
    )
    rec.add_metadata(
        "worktree-state",
        worktreeSession={
            "originalCwd": p.cwd,
            "preEnterOriginalCwd": p.cwd,
            "worktreePath": tree,
            "worktreeName": "months",
            "worktreeBranch": "worktree-months",
            "originalBranch": "main",
            "originalHeadCommit": hash_text("reports", 40),
            "sessionId": rec.sid,
        },
    )
    rec.add_metadata("relocated", relocatedCwd=tree)
    rec.cwd, rec.branch = tree, "worktree-months"
    arguments = {"command": "python months.py", "description": "Print all months"}
    rec.add_answer(
        Call(
            "PowerShell",
            arguments,
            "2026-10  20.50",
            {"stdout": "2026-10  20.50", "stderr": "", "interrupted": False, "isImage": False},
            False,
            0.8,
        )
    )
    rec.add_answer(build_text("It works in the worktree: `2026-10  20.50`."))
    rec.end_turn()


def _record_bridge(rec: Recorder) -> None:
    rec.pass_time(600)
    rec.add_system_row(
        "bridge_status",
        content="/remote-control is active. Code in CLI or at the address below",
        isMeta=False,
        url="https://example.com/code/session_demo",
    )
    for number in (1, 4):
        rec.add_metadata(
            "bridge-session",
            bridgeSessionId="session_01demoBridge",
            lastSequenceNum=number,
            ownerAccountUuid=make_uuid("dana"),
            ownerOrganizationUuid=make_uuid("dana/org"),
        )
    rec.add_prompt("Looks good from the phone. Merge it.")
    rec.add_answer(
        Call(
            "PowerShell",
            {"command": "git merge --ff-only worktree-months", "description": "Merge"},
            "Fast-forward",
            {"stdout": "Fast-forward", "stderr": "", "interrupted": False, "isImage": False},
            False,
        )
    )
    rec.add_answer(build_text("Merged."))
    rec.end_turn()
