"""What `toolUseResult` holds, tool by tool. A failed call has a string there instead, whatever the tool.

Field by field, with the versions in brackets as in the classes; the shapes differ from call to call, and
fields come and go. `tests/entries/test_types.py` holds this table against the corpus.
"""

from __future__ import annotations

_PATCH = {
    "filePath": "",
    "structuredPatch": "Hunks of a unified diff: `{oldStart, oldLines, newStart, newLines, lines}`.",
    "originalFile": "The file before; null when it is new or too large. For Write from 2.0.50 on.",
    "userModified": "Whether the person changed the proposal. For Write from 2.1.110 on.",
    "memdirStamped": "[2.1.215–2.1.237]",
}

_SHELL = {
    "stdout": "",
    "stderr": "",
    "interrupted": "",
    "isImage": "",
    "sandbox": "[1.0.17–1.0.17]",
    "returnCodeInterpretation": "[1.0.31–2.1.235] Words for an exit code that is no error, such as grep's 1.",
    "backgroundTaskId": "[1.0.98+] The command runs on in the background.",
    "backgroundCwdHint": "[2.1.220–2.1.228]",
    "noOutputExpected": "[2.1.38+]",
    "persistedOutputPath": "[2.1.90+] The whole output, when it was too long.",
    "persistedOutputSize": "[2.1.90+]",
    "gitOperation": "[2.1.156–2.1.235] A commit, push or pull request that was recognised.",
    "timedOutAfterMs": "[2.1.215–2.1.232]",
    "staleReadFileStateHint": "[2.1.220–2.1.232]",
    "dangerouslyDisableSandbox": "[2.1.232–2.1.233]",
    "bashEditDiff": "[2.1.325+] Files that the command changed.",
}

_AGENT = {
    "content": "The report, as blocks.",
    "usage": "Of the agent's last message.",
    "totalTokens": "",
    "totalDurationMs": "",
    "totalToolUseCount": "",
    "wasInterrupted": "[1.0.51–1.0.53]",
    "agentId": "[2.0.50+] Names the agent's file.",
    "status": "[2.0.50+] `completed`; `async_launched` when it runs in the background.",
    "prompt": "[2.0.50+]",
    "isAsync": "[2.0.76+] Runs in the background; the outcome comes as a notification.",
    "description": "[2.0.76+] Only when in the background.",
    "outputFile": "[2.0.76+] Only when in the background.",
    "canReadOutputFile": "[2.1.178+]",
    "agentType": "[2.1.101+]",
    "toolStats": "[2.1.101+]",
    "resolvedModel": "[2.1.178+]",
    "toolsUsed": "[2.1.325+]",
    "canContinueAgent": "[2.1.325+] SendMessage can reach it again.",
    "harnessNoteCount": "[2.1.325+]",
    "harnessTailCount": "[2.1.325+]",
    "harnessSectionHash": "[2.1.325+]",
}

RESULTS: dict[str, dict[str, str]] = {
    "Agent": _AGENT
    | dict.fromkeys(
        (
            "agent_id",
            "agent_type",
            "color",
            "is_splitpane",
            "model",
            "name",
            "plan_mode_required",
            "team_name",
            "teammate_id",
            "tmux_pane_id",
            "tmux_session_name",
            "tmux_window_name",
        ),
        "[2.1.177–2.1.232] Of a member of a team.",
    ),
    "Task": _AGENT,
    "AskUserQuestion": {
        "questions": "",
        "answers": "By question.",
        "annotations": "[2.1.172+]",
        "afkTimeoutMs": "[2.1.199–2.1.232]",
    },
    "Bash": _SHELL,
    "PowerShell": _SHELL,
    "BashOutput": dict.fromkeys(
        (
            "shellId",
            "command",
            "status",
            "exitCode",
            "stdout",
            "stderr",
            "stdoutLines",
            "stderrLines",
            "timestamp",
        ),
        "",
    ),
    "Edit": _PATCH
    | {"oldString": "", "newString": "", "replaceAll": "", "staleRecovered": "[2.1.215–2.1.233]"},
    "MultiEdit": _PATCH | {"edits": "", "originalFileContents": ""},
    "Write": _PATCH | {"content": "", "type": "`create` or `update`."},
    "NotebookEdit": dict.fromkeys(
        ("cell_number", "cell_type", "edit_mode", "error", "language", "new_source"), ""
    ),
    "EnterPlanMode": {"message": ""},
    "ExitPlanMode": {
        "plan": "",
        "filePath": "",
        "isAgent": "",
        "planWasEdited": "[2.1.207–2.1.207]",
    },
    "Glob": {
        "filenames": "",
        "numFiles": "",
        "durationMs": "",
        "truncated": "",
        "totalMatches": "[2.1.220+]",
        "countIsComplete": "[2.1.220+]",
    },
    "Grep": {
        "mode": "`files_with_matches`, `content` or `count`.",
        "filenames": "",
        "numFiles": "",
        "content": "",
        "numLines": "",
        "numMatches": "",
        "appliedLimit": "[2.0.76–2.1.220]",
        "totalLines": "[2.1.220+]",
        "totalFiles": "[2.1.220–2.1.221]",
    },
    "KillBash": {"success": "", "message": "", "shell_id": ""},
    "KillShell": {"message": "", "shell_id": ""},
    "LSP": {"operation": "", "filePath": "", "fileCount": "", "result": "", "resultCount": ""},
    "Monitor": {"taskId": "", "timeoutMs": "", "persistent": ""},
    "Read": {
        "type": "`text`, `image`, `notebook`, `pdf`, …",
        "file": "For a text: `{filePath, content, numLines, startLine, totalLines}`.",
    },
    "ScheduleWakeup": {"scheduledFor": "", "clampedDelaySeconds": "", "wasClamped": ""},
    "SendMessage": {
        "success": "",
        "message": "",
        "routing": "[2.1.177–2.1.232]",
        "msg_id": "[2.1.232–2.1.232]",
        "pin": "[2.1.220+]",
        "resumedAgentId": "[2.1.220+]",
        "revivedAgentId": "[2.1.325+]",
    },
    "SendUserFile": {"attachments": "", "caption": "", "display": ""},
    "Skill": {
        "success": "",
        "commandName": "",
        "allowedTools": "[2.1.221–2.1.237]",
        "model": "[2.1.226–2.1.226]",
    },
    "TaskCreate": {"task": "`{id, subject}`."},
    "TaskList": {"tasks": ""},
    "TaskOutput": {"retrieval_status": "", "task": ""},
    "TaskStop": {"message": "", "task_id": "", "task_type": "", "command": ""},
    "TaskUpdate": {
        "success": "",
        "taskId": "",
        "updatedFields": "",
        "statusChange": "`{from, to}`.",
        "error": "[2.1.29–2.1.109]",
        "verificationNudgeNeeded": "[2.1.91–2.1.126]",
    },
    "TodoWrite": {
        "oldTodos": "",
        "newTodos": "",
        "verificationNudgeNeeded": "[2.1.79–2.1.79]",
    },
    "ToolSearch": {"matches": "", "query": "", "total_deferred_tools": ""},
    "WebFetch": {"url": "", "code": "", "codeText": "", "bytes": "", "result": "", "durationMs": ""},
    "WebSearch": {"query": "", "results": "", "durationSeconds": "", "searchCount": "[2.1.177–2.1.231]"},
    "Workflow": dict.fromkeys(
        ("runId", "scriptPath", "status", "summary", "taskId", "taskType", "transcriptDir", "workflowName"),
        "",
    ),
}
"""By the name of the tool. MCP tools have a list of blocks, or a string."""
