"""Rows that several stories share: the opening of a session, sub-agents, compactions and forks."""

from __future__ import annotations

from typing import Any

from demo.ids import Row, format_time, hash_text, make_slug, make_uuid
from demo.project import Call
from demo.recorder import Recorder

DEFERRED = [
    "CronCreate",
    "CronList",
    "EnterWorktree",
    "Monitor",
    "NotebookEdit",
    "SendMessage",
    "TaskCreate",
    "TaskList",
    "TaskUpdate",
    "WebFetch",
    "WebSearch",
]
AGENTS = {
    "Explore": "Fast agent that searches and reads, and changes nothing. (Tools: Bash, Glob, Grep, Read)",
    "general-purpose": "Agent for tasks of several steps. (Tools: *)",
    "Plan": "Agent that designs an implementation and changes nothing. (Tools: Glob, Grep, Read)",
}
SKILLS = {
    "changelog": "Write the changelog entry for the current branch.",
    "code-review": "Review the current diff for bugs.",
}
NAMES = {"claude-opus-5-5": "Opus 5.5", "claude-sonnet-5-5": "Sonnet 5.5"}


def add_opening(rec: Recorder, status: str, commits: str) -> None:
    """Add the attachments that the newest client writes below the first prompt."""
    windows = "\\" in rec.cwd
    rec.add_attachment(
        "environment",
        f"Working directory: {rec.cwd}",
        snapshot={
            "workingDirectory": rec.cwd,
            "isWorktree": False,
            "isGitRepo": True,
            "additionalWorkingDirectories": [],
            "platform": "win32" if windows else "linux",
            "shell": "powershell" if windows else "bash",
            "osVersion": "Windows 11" if windows else "Linux 6.8",
        },
    )
    name = NAMES[rec.model]
    description = f"You are powered by the model named {name}. The exact model ID is {rec.model}."
    rec.add_attachment(
        "model",
        description,
        identity={"modelId": rec.model, "marketingName": name, "knowledgeCutoff": "June 2026"},
        text=description,
    )
    rec.add_attachment(
        "deferred_tools_delta",
        "More tools can be loaded: " + ", ".join(DEFERRED),
        addedNames=DEFERRED,
        addedLines=DEFERRED,
        removedNames=[],
        wireHiddenNames=[],
        readdedNames=[],
        pendingMcpServers=[],
        needsAuthMcpServers=[],
        failedMcpServers=[],
    )
    lines = [f"- {kind}: {about}" for kind, about in AGENTS.items()]
    rec.add_attachment(
        "agent_listing_delta",
        "Agents:\n" + "\n".join(lines),
        addedTypes=list(AGENTS),
        addedLines=lines,
        builtInTypes=list(AGENTS),
        builtInPluginTypes=[],
        removedTypes=[],
        isInitial=True,
        showConcurrencyNote=True,
    )
    listing = "\n".join(f"- {skill}: {about}" for skill, about in SKILLS.items())
    rec.add_attachment(
        "skill_listing",
        f"Skills:\n{listing}",
        content=listing,
        skillCount=len(SKILLS),
        isInitial=True,
        names=list(SKILLS),
        digests=[hash_text(about, 16) for about in SKILLS.values()],
    )
    git = (
        f"This is the git status at the start of the conversation.\n\nCurrent branch: {rec.branch}\n\n"
        f"Status:\n{status}\n\nRecent commits:\n{commits}"
    )
    rec.add_attachment("session_context", f"# gitStatus\n{git}", role="user", context={"gitStatus": git})
    today = format_time(rec.clock)[:10]
    rec.add_attachment("date", f"Today's date is {today}.", date=today)
    rec.add_attachment(
        "remote_session_change",
        "Commits end with a Co-Authored-By line.",
        role="user",
        url=None,
        commit=f"Co-Authored-By: Claude {name} <noreply@anthropic.com>",
        pr="🤖 Generated with [Claude Code](https://claude.com/claude-code)",
        sendUserFileHint=False,
        managedCommit=False,
        managedPr=False,
    )
    rec.add_attachment(
        "prompt_snapshot",
        systemPrompt=["You are a coding agent. (A made-up prompt: the demo keeps it short.)"],
        reminderFold=False,
        echoWireToolInputs=False,
        contextRendering="announced",
    )
    _wrap_first_request(rec, git)


def _wrap_first_request(rec: Recorder, git: str) -> None:
    """Add reminders to the first message; it is then in no row, so it needs a blob."""
    prompt, _ = rec.tail[0]
    context = {"type": "text", "text": f"<system-reminder>\n# gitStatus\n{git}\n</system-reminder>"}
    reminders = {"type": "text", "text": f"Working directory: {rec.cwd}"}
    rec.tail[0] = ({"role": "user", "content": [context, *prompt["content"]]}, True)
    rec.tail.insert(1, ({"role": "system", "content": [reminders]}, True))


def begin_session(rec: Recorder) -> None:
    """Add the rows before the first prompt of an interactive session."""
    rec.add_metadata("mode", mode="normal")
    rec.add_metadata("permission-mode", permissionMode=rec.mode)
    rec.add_metadata("atis-latch", atis="")


def make_agent_id(seed: str, size: int) -> str:
    """Derive a sub-agent's id: `a` and hexadecimal digits."""
    return "a" + hash_text(seed, size)


def build_launch_call(rec: Recorder, agent: str, kind: str, about: str, prompt: str, name: str = "Agent") -> Call:
    """Build a call that starts a sub-agent in the background."""
    out = f"/tmp/claude-1000/{make_slug(rec.cwd)}/{rec.sid}/tasks/{agent}.output"
    content = (
        f"Async agent launched successfully.\nagentId: {agent} (internal ID - do not mention to user.)\n"
        "The agent is working in the background. You will be notified automatically when it completes."
    )
    result = {
        "isAsync": True,
        "status": "async_launched",
        "agentId": agent,
        "description": about,
        "resolvedModel": rec.model,
        "prompt": prompt,
        "outputFile": out,
        "canReadOutputFile": True,
        "canContinueAgent": True,
    }
    arguments = {"description": about, "subagent_type": kind, "prompt": prompt}
    return Call(name, arguments, [{"type": "text", "text": content}], result, None, 0.1)


def build_agent_call(child: Recorder, kind: str, about: str, prompt: str, report: str, name: str = "Agent") -> Call:
    """Build a call that waited for its sub-agent."""
    usage = next(r["message"]["usage"] for r in reversed(child.rows) if r["type"] == "assistant")
    total = sum(
        usage[key]
        for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    )
    count = sum(
        b["type"] == "tool_use" for r in child.rows if r["type"] == "assistant" for b in r["message"]["content"]
    )
    content = [{"type": "text", "text": report}]
    seconds = (child.clock - child.start).total_seconds()
    base = {
        "content": content,
        "totalDurationMs": round(seconds * 1000),
        "totalTokens": total,
        "totalToolUseCount": count,
        "usage": usage,
    }
    arguments: Row = {"description": about, "prompt": prompt, "subagent_type": kind}
    if child.version.startswith("1."):
        return Call(name, arguments, content, base, None, seconds + 6)
    blocks = [
        *content,
        {
            "type": "text",
            "text": f"agentId: {child.agent} (for resuming to continue this agent's work if needed)",
        },
    ]
    result: Row = {"status": "completed", "prompt": prompt, "agentId": child.agent, **base}
    if child.newest:
        stats = {
            "readCount": 1,
            "searchCount": 1,
            "bashCount": 0,
            "editFileCount": 0,
            "linesAdded": 0,
            "linesRemoved": 0,
            "otherToolCount": 0,
        }
        result |= {
            "agentType": kind,
            "toolsUsed": child.tools,
            "harnessNoteCount": 0,
            "harnessTailCount": 0,
            "harnessSectionHash": hash_text(report, 16),
            "resolvedModel": child.model,
            "toolStats": stats,
            "canContinueAgent": True,
        }
        arguments["run_in_background"] = False
    return Call(name, arguments, blocks, result, None, seconds + 6)


def build_agent_meta(kind: str, about: str, call: str, **more: Any) -> Row:
    """Build the `.meta.json` beside a sub-agent's file, which links it to the call that started it."""
    return {
        "agentType": kind,
        "isBuiltIn": True,
        "launchedWithDefaults": True,
        "description": about,
        "toolUseId": call,
        "spawnDepth": 1,
        "requestShape": "background",
        "requestNonInteractive": False,
        "finished": True,
        **more,
    }


def build_notification(
    rec: Recorder, task: str, call: str, summary: str, report: str, used: tuple[int, int, int]
) -> str:
    """Build the notification that a background task has ended."""
    out = f"/tmp/claude-1000/{make_slug(rec.cwd)}/{rec.sid}/tasks/{task}.output"
    return (
        f"<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{call}</tool-use-id>\n<output-file>{out}"
        f"</output-file>\n<status>completed</status>\n<summary>{summary}</summary>\n<result>{report}</result>\n"
        f"<usage><subagent_tokens>{used[0]}</subagent_tokens><tool_uses>{used[1]}</tool_uses>"
        f"<duration_ms>{used[2]}</duration_ms></usage>\n</task-notification>"
    )


def add_notification(rec: Recorder, text: str) -> None:
    """Add a notification that starts its own turn."""
    rec.add_queue_row("enqueue", text)
    rec.add_queue_row("dequeue")
    rec.prompt_id = rec.next_uuid()
    origin = {"kind": "task-notification", "producer": "session-task", "runId": hash_text(text, 9)}
    rec.add_row(
        "user",
        {"message": {"role": "user", "content": text}},
        tail={
            "permissionMode": rec.mode,
            "origin": origin,
            "promptSource": "system",
            "turnOrigin": "task_notification",
            "queueSkipAttachments": True,
        },
    )


def absorb_prompt(rec: Recorder, prompt: str, content: str | None = None) -> None:
    """Add a prompt that is typed while tools run and joins the running turn."""
    source, delivery = rec.next_uuid(), rec.next_uuid()
    human = content is None
    rec.add_queue_row("enqueue", prompt)
    rec.add_queue_row("remove", prompt, reason="absorbed_mid_turn", commandUuid=source, deliveryId=delivery)
    reminder = (
        "The user sent a new message while you were working:\n" + prompt + "\n\nThis is how Claude Code surfaces "
        "messages the user sends mid-turn."
    )
    origin = {"kind": "human"} if human else {"kind": "task-notification", "producer": "session-task"}
    turn: Row = {"humanTurn": True} if human else {}
    rec.add_attachment(
        "queued_command",
        reminder if human else content,
        prompt=prompt,
        source_uuid=source,
        delivery_id=delivery,
        commandMode="prompt" if human else "task-notification",
        origin=origin,
        timestamp=format_time(rec.clock),
        **turn,
    )


def add_compaction(rec: Recorder, summary: str, keep: int, command: str, kept_tokens: int) -> None:
    """Add a manual compaction that keeps the last rows."""
    before = rec.count_context_tokens()
    chain = {row["uuid"]: row for row in rec.rows if "uuid" in row}
    tail, at = list[str](), rec.parent
    while at and len(tail) < keep:
        if chain[at]["type"] in ("user", "assistant"):
            tail.insert(0, at)
        at = chain[at]["parentUuid"]
    leaf, boundary_count = rec.parent, rec._count
    anchor = make_uuid(f"{rec.name}/{rec.agent}/{boundary_count + 3}")
    rec.pass_time(21)
    rec.prompt_id = rec.next_uuid()
    metadata = {
        "trigger": "manual",
        "preTokens": before,
        "durationMs": 20_870,
        "preservedSegment": {"headUuid": tail[0], "anchorUuid": anchor, "tailUuid": tail[-1]},
        "preservedMessages": {"anchorUuid": anchor, "uuids": tail, "allUuids": tail},
        "postTokens": kept_tokens,
        "cumulativeDroppedTokens": before - kept_tokens,
    }
    rec.add_row(
        "system",
        {
            "logicalParentUuid": leaf,
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "compactMetadata": metadata,
        },
        parent=None,
    )
    text = (
        "This session is being continued from a previous conversation that ran out of context. The "
        "summary below "
        f"covers the earlier portion of the conversation.\n\nSummary:\n{summary}"
    )
    own = rec.add_note(text, isVisibleInTranscriptOnly=True, isCompactSummary=True)
    assert own == anchor
    rec.add_command_rows("compact", command, "\x1b[2mCompacted (ctrl+o to see full summary)\x1b[22m")
    rec.drop_context(kept_tokens)


def fork_session(rec: Recorder, name: str, title: str) -> Recorder:
    """Fork a session with `/branch`: the new file starts with a copy of every row so far."""
    copy = Recorder(rec.home, name, rec.project, rec.version, "2026-01-01", rec.model, branch=rec.branch)
    copy.clock = rec.clock
    for row in rec.rows:
        if "uuid" in row and "parentUuid" in row:
            origin = {"sessionId": rec.sid, "messageUuid": row["uuid"]}
            copy.rows.append({**row, "sessionId": copy.sid, "forkedFrom": origin})
    copy.parent, copy.tools, copy.prompt_id, copy._turns = (
        rec.parent,
        list(rec.tools),
        rec.prompt_id,
        rec._turns,
    )
    copy._cached, copy._fresh, copy._last_call, copy._prompts = (
        0,
        rec.count_context_tokens(),
        rec.clock,
        rec._prompts,
    )
    copy.title = ("custom-title", title)
    copy.add_metadata("custom-title", customTitle=title)
    copy.add_metadata("agent-name", agentName=title)
    copy.add_metadata("tools-used", tools=list(copy.tools))
    copy.add_local_command(
        "branch",
        title,
        f'Branched conversation "{title}". You are now in the new branch (session '
        f"{copy.sid}). Use /resume {rec.sid} to return to the original.",
    )
    return copy
