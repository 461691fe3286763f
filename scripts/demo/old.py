"""Old clients: 1.0.x with sub-agents inside, 2.0.76 with flat agent files, 2.1.22 with progress rows."""

from __future__ import annotations

from demo import shapes
from demo.home import Home
from demo.ids import Row, format_time, make_uuid
from demo.project import Call, Project, build_failed_call, build_text, build_thinking
from demo.recorder import Recorder

OPUS, SONNET = "claude-opus-4-20250514", "claude-sonnet-4-20250514"
CART = """def total(items):
    s = 0
    for i in items:
        s += i["price"]
    return s
"""


def build_todo(content: str, status: str) -> Row:
    return {"content": content, "status": status, "activeForm": content}


def record_first_cart(home: Home) -> None:
    """Record the shop's first cart: one file, started with 1.0.53 and continued with 1.0.128."""
    p = Project("/home/dana/webshop", False, {"shop.py": CART, "prices.json": '{"mug": 10.0, "sticker": 0.1}\n'})
    rec = Recorder(home, "first-cart", p, "1.0.53", "2026-10-05T09:12:31", OPUS, base=14_200)
    rec.rows.append({"type": "summary", "summary": "First Cart With Tax and Quantities", "leafUuid": ""})
    rec.add_prompt("The cart can't do quantities or tax yet. Please add both, prices.json has the prices.")
    listing = "- /home/dana/webshop/\n  - prices.json\n  - shop.py\n"
    rec.add_answer(
        build_text("I'll look at what is there."), Call("LS", {"path": p.cwd}, listing, listing), p.read_file("shop.py")
    )
    todos = [
        build_todo("Add quantities", "in_progress"),
        build_todo("Add tax", "pending"),
        build_todo("Write a test", "pending"),
    ]
    rec.add_answer(p.write_todos([], todos))
    rec.add_answer(
        p.edit_file_repeatedly(
            "shop.py",
            [
                ("def total(items):", "TAX = 0.19\n\n\ndef total(items):"),
                ('s += i["price"]', 's += i["price"] * i.get("quantity", 1)'),
                ("    return s\n", "    return round(s * (1 + TAX), 2)\n"),
            ],
        )
    )
    rec.add_system_row(None, content="Claude Opus 4 limit reached, now using Sonnet 4", isMeta=False, level="warning")
    rec.model = SONNET
    done = [
        build_todo("Add quantities", "completed"),
        build_todo("Add tax", "completed"),
        build_todo("Write a test", "in_progress"),
    ]
    rec.add_answer(p.write_todos(todos, done))
    rec.add_answer(build_text("Quantities and tax are in; the test is next. Shall I use pytest?"))
    rec.version = "1.0.128"
    rec.pass_time(7200)
    rec.add_prompt("Yes. And let an agent check which prices have more than two digits.")
    prompt = "Read prices.json and list prices with more than two digits after the point."
    child = rec.start_sub_agent("side", "general-purpose", base=7_900)
    child.add_task_prompt(prompt)
    child.add_answer(p.read_file("prices.json"))
    child.add_answer(build_text("None: both prices have at most two digits."))
    rec.add_answer(
        shapes.build_agent_call(
            child,
            "general-purpose",
            "Check the prices",
            prompt,
            "None: both prices have at most two digits.",
            name="Task",
        ),
        during=lambda _: rec.keep_sub_agent(child, "inside"),
    )
    rec.add_answer(
        p.write_file(
            "test_shop.py",
            'from shop import total\n\n\ndef test_tax():\n    assert total([{"price": 10.0}]) == 11.9\n',
        )
    )
    rec.add_answer(
        Call(
            "Bash",
            {"command": "python -m pytest -q", "description": "Run the test"},
            "1 passed in 0.01s",
            {"stdout": "1 passed in 0.01s", "stderr": "", "interrupted": False, "isImage": False},
            False,
            1.1,
        )
    )
    rec.add_answer(build_text("The test passes, and no price has more than two digits."))
    rec.rows[0]["leafUuid"] = rec.parent
    home.put_json(
        f"todos/{rec.sid}-agent-{rec.sid}.json", [build_todo(item["content"], "completed") for item in done], 2
    )
    rec.save_session()
    home.put_rows(
        f"{rec.find_folder()}/{make_uuid('first-cart/summary')}.jsonl",
        [{"type": "summary", "summary": "First Cart With Tax and Quantities", "leafUuid": rec.parent}],
    )


def record_notes_search(home: Home) -> None:
    """Record a 2.0.76 session: parallel agents in flat files, a background shell, a queued prompt and a compaction."""
    p = Project(
        "/home/dana/notes-cli",
        False,
        {
            "notes/store.py": "import json\nfrom pathlib import Path\n\n"
            'FILE = Path.home() / ".notes.json"\n\n\n'
            "def load():\n    return json.loads(FILE.read_text()) if FILE.exists() else []\n",
            "notes/__main__.py": "import sys\n\nfrom notes.store import load\n\n"
            'for note in load():\n    print(note["text"])\n',
        },
    )
    model = "claude-sonnet-4-5-20250929"
    rec = Recorder(home, "notes-search", p, "2.0.76", "2026-10-13T16:20:05", model, base=15_900)
    rec.slug = "tidy-humming-fox"
    rec.add_prompt("notes needs a `search` command. Have two agents look at the code and at the data first.")
    prompts = {
        "code": "Which modules would a search command touch?",
        "data": "How big is a typical notes file?",
    }
    reports = {
        "code": "Two: `notes/store.py` for the data and `notes/__main__.py` for the command line.",
        "data": "About 400 notes, 60 KB. A linear search is fine.",
    }
    calls, agents = [], []
    for key, look in (("code", p.list_files("**/*.py", ".py")), ("data", p.read_file("notes/store.py"))):
        child = rec.start_sub_agent(shapes.make_agent_id(f"notes/{key}", 6), "Explore", "claude-haiku-4-5-20251001")
        child.add_task_prompt(prompts[key])
        child.add_answer(look)
        child.add_answer(build_text(reports[key]))
        agents.append(child)
        calls.append(
            shapes.build_agent_call(child, "Explore", f"Look at the {key}", prompts[key], reports[key], name="Task")
        )
    rec.add_answer(build_text("Two agents, at the same time."), *calls)
    for child in agents:
        rec.keep_sub_agent(child, "flat")
    _record_search_command(rec, p)
    warm = rec.start_sub_agent(shapes.make_agent_id("notes/warm", 6), "Explore")
    warm.add_task_prompt("Warmup")
    warm.add_answer(build_text("Ready to explore."))
    rec.keep_sub_agent(warm, "flat")
    home.put_file(f"{rec.find_folder()}/{make_uuid('notes-search/empty')}.jsonl", "")
    home.put_json(f"todos/{rec.sid}-agent-{rec.sid}.json", [])
    rec.save_session()


def _record_search_command(rec: Recorder, p: Project) -> None:
    rec.add_answer(
        p.edit_file(
            "notes/__main__.py",
            'for note in load():\n    print(note["text"])\n',
            'words = sys.argv[2:] if sys.argv[1:2] == ["search"] else []\nfor note in load():\n'
            '    if all(word in note["text"] for word in words):\n        print(note["text"])\n',
        )
    )
    task = "b3d91f2"
    out = f"/tmp/claude/-home-dana-notes-cli/tasks/{task}.output"
    arguments = {
        "command": "python -m notes search milk",
        "description": "Try the search",
        "run_in_background": True,
    }
    result = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, "backgroundTaskId": task}
    rec.add_answer(
        Call(
            "Bash",
            arguments,
            f"Command running in background with ID: {task}. Output is being written to: {out}",
            result,
            False,
        )
    )
    rec.add_queue_row("enqueue", "upper and lower case should not matter")
    rec.add_queue_row("remove")
    rec.add_answer(
        build_thinking("The queued wish: ignore case."),
        build_text("I saw your note: case will not matter."),
        p.edit_file(
            "notes/__main__.py",
            'if all(word in note["text"] for word in words)',
            'if all(word.lower() in note["text"].lower() for word in words)',
        ),
    )
    rec.add_answer(build_text("`notes search milk eggs` now finds every note with all the words, whatever their case."))
    rec.pass_time(3)
    rec.add_note(
        f"<bash-notification>\n<shell-id>{task}</shell-id>\n<output-file>{out}</output-file>\n<status>completed"
        '</status>\n<summary>Background command "Try the search" completed (exit code 0).</summary>\n'
        "Read the output file to retrieve the output.\n</bash-notification>"
    )
    rec.add_answer(build_failed_call("Read", {"file_path": out}, "File does not exist."))
    rec.add_answer(build_text("The output was empty: no note matched."))
    leaf, before = rec.parent, rec.count_context_tokens()
    rec.pass_time(400)
    rec.add_row(
        "system",
        {
            "logicalParentUuid": leaf,
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "compactMetadata": {"trigger": "auto", "preTokens": before},
        },
        parent=None,
    )
    rec.add_note(
        "This session is being continued from a previous conversation that ran out of context. The "
        "conversation "
        "is summarized below:\nAnalysis:\nShort.\n\nSummary:\n1. Primary Request and Intent:\n   A "
        "search command "
        "for notes; it works and ignores case.",
        isVisibleInTranscriptOnly=True,
        isCompactSummary=True,
    )
    rec.drop_context(15_900 + 600)
    rec.add_queue_row("enqueue", "Thanks. Is there a test?")
    rec.add_queue_row("dequeue")
    rec.add_prompt("Thanks. Is there a test?")
    rec.add_system_row("api_error", level="error", error={}, retryInMs=551, retryAttempt=1, maxRetries=10)
    rec.add_answer(
        build_text("Not yet. I'd start with three: all words must match, case is ignored, no words lists everything.")
    )


def record_progress_rows(home: Home) -> None:
    """Record a 2.1.22 session: every kind of progress row in the chain, placeholder usage and a micro-compaction."""
    p = Project(
        "/home/dana/webshop",
        False,
        {"shop/cart.py": CART, "deploy.sh": "#!/bin/sh\nset -e\nmake build\nmake push\n"},
    )
    rec = Recorder(home, "deploy", p, "2.1.22", "2026-10-21T10:02:48", "claude-opus-4-5-20251101", base=16_700)
    rec.slug = "brisk-sailing-lantern"
    rec.add_progress(
        {
            "type": "hook_progress",
            "hookEvent": "SessionStart",
            "hookName": "SessionStart:startup",
            "command": "scripts/hello",
        },
        rec.next_uuid(),
    )
    rec.add_prompt(
        "Implement the following plan:\n\n# Deploy faster\n\n1. find out why deploy.sh takes minutes\n2. "
        "build in "
        "parallel",
        planContent="# Deploy faster\n\n1. find out why deploy.sh takes minutes\n2. build in parallel",
    )
    prompt = "Which step of deploy.sh is the slowest? Look at the log of the last run."
    child = rec.start_sub_agent(shapes.make_agent_id("deploy/1", 6), "general-purpose", "claude-haiku-4-5-20251001")
    child.add_task_prompt(prompt)
    child.add_answer(p.read_file("deploy.sh"))
    child.add_answer(build_text("`make build`: 140 of 160 seconds, on one core."))
    rec.add_answer(
        build_thinking("Measure first."),
        build_text("An agent reads the log while I read the script."),
        shapes.build_agent_call(
            child,
            "general-purpose",
            "Find the slow step",
            prompt,
            "`make build`: 140 of 160 seconds, on one core.",
            name="Task",
        ),
        p.read_file("deploy.sh"),
        during=lambda ids: _add_agent_progress(rec, child, ids[0]),
    )
    rec.keep_sub_agent(child, "folder")
    rec.add_progress(
        {
            "type": "hook_progress",
            "hookEvent": "PostToolUse",
            "hookName": "PostToolUse:Read",
            "command": "callback",
        },
        rec.rows[-1]["message"]["content"][0]["tool_use_id"],
    )
    _record_parallel_build(rec, p)
    _record_tickets(rec)
    home.put_json(
        f"{rec.find_folder()}/sessions-index.json",
        {
            "version": 1,
            "entries": [
                {
                    "sessionId": rec.sid,
                    "fullPath": f"/home/dana/.claude/{rec.find_folder()}/{rec.sid}.jsonl",
                    "firstPrompt": "Implement the following plan:",
                    "messageCount": len(rec.rows),
                    "created": rec.rows[0]["timestamp"],
                    "modified": format_time(rec.clock),
                    "gitBranch": "main",
                    "projectPath": p.cwd,
                    "isSidechain": False,
                }
            ],
            "originalPath": p.cwd,
        },
        indent=2,
    )
    home.put_json(f"todos/{rec.sid}-agent-{rec.sid}.json", [])
    rec.save_session()


def _add_agent_progress(rec: Recorder, child: Recorder, call: str) -> None:
    prompt = child.rows[0]["message"]["content"]
    for row in child.rows[:3]:
        message = {key: row[key] for key in ("type", "message", "uuid", "timestamp")}
        rec.add_progress(
            {
                "message": message,
                "normalizedMessages": [],
                "type": "agent_progress",
                "prompt": prompt,
                "agentId": child.agent,
            },
            call,
            own="agent_" + make_uuid(call)[:12],
        )


def _record_parallel_build(rec: Recorder, p: Project) -> None:
    def add_build_progress(ids: list[str]) -> None:
        for second in (3, 6):
            out = "\n".join(f"[{n}/40] cc shop_{n}.c" for n in range(1, second * 5))
            rec.add_progress(
                {
                    "type": "bash_progress",
                    "output": out[-40:],
                    "fullOutput": out,
                    "elapsedTimeSeconds": second,
                    "totalLines": second * 5 - 1,
                    "timeoutMs": 120_000,
                },
                ids[0],
                own=f"bash-progress-{second}",
            )

    def add_push_progress(ids: list[str]) -> None:
        waiting = {"type": "waiting_for_task", "taskType": "local_bash", "taskDescription": "Push the image"}
        rec.add_progress(waiting, ids[0])

    rec.add_answer(
        build_text("One core only. Let me use all of them."), p.edit_file("deploy.sh", "make build", "make -j8 build")
    )
    rec.add_answer(
        p.run_command(
            "time ./deploy.sh --dry-run",
            "[40/40] cc shop_40.c\nreal    0m22.4s",
            "Measure the build",
            seconds=22.4,
        ),
        during=add_build_progress,
    )
    done = {
        "retrieval_status": "success",
        "task": {
            "task_id": "b81f0c2",
            "task_type": "local_bash",
            "status": "completed",
            "description": "Push the image",
            "output": "pushed\n",
            "exitCode": 0,
        },
    }
    result = {
        "stdout": "",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "backgroundTaskId": "b81f0c2",
    }
    rec.add_answer(
        Call(
            "Bash",
            {"command": "make push", "description": "Push the image", "run_in_background": True},
            "Command running in background with ID: b81f0c2",
            result,
            False,
        )
    )
    rec.add_answer(
        Call(
            "TaskOutput",
            {"task_id": "b81f0c2", "block": True, "timeout": 30000},
            "<retrieval_status>success</retrieval_status>\n<status>completed</status>\n<output>pushed</output>",
            done,
            None,
            4,
        ),
        during=add_push_progress,
    )
    rec.add_system_row(
        "microcompact_boundary",
        content="Context microcompacted",
        isMeta=False,
        level="info",
        microcompactMetadata={
            "trigger": "auto",
            "preTokens": rec.count_context_tokens(),
            "tokensSaved": 1_180,
            "compactedToolIds": [],
            "clearedAttachmentUUIDs": [],
        },
    )
    rec.add_answer(build_text("The deploy takes **22 seconds** instead of 160: the build now runs on 8 cores."))
    rec.add_system_row(
        "stop_hook_summary",
        hookCount=1,
        hookInfos=[{"command": "scripts/check-tests"}],
        hookErrors=[],
        preventedContinuation=False,
        stopReason="",
        hasOutput=False,
        level="suggestion",
        toolUseID=rec.next_uuid(),
    )
    rec.end_turn()


def _record_tickets(rec: Recorder) -> None:
    rec.pass_time(70)
    rec.add_prompt("Is there a ticket for that? And does make have a flag for keeping the output in order?")
    content = "#31 Deploys take ages (open)\n#28 Mugs are sold out (closed)"

    def add_mcp_progress(ids: list[str]) -> None:
        for status, more in (("started", {}), ("completed", {"elapsedTimeMs": 412})):
            rec.add_progress(
                {
                    "type": "mcp_progress",
                    "status": status,
                    "serverName": "tickets",
                    "toolName": "list_issues",
                    **more,
                },
                ids[0],
            )
        rec.add_progress({"type": "query_update", "query": "make parallel output order"}, ids[1], own="search-1")
        rec.add_progress(
            {"type": "search_results_received", "resultCount": 3, "query": "make parallel output order"},
            ids[1],
            own="search-2",
        )

    link = {"title": "Output During Parallel Execution", "url": "https://example.org/make/parallel-output"}
    rec.add_answer(
        Call(
            "mcp__tickets__list_issues",
            {"query": "deploy"},
            [{"type": "text", "text": content}],
            [{"type": "text", "text": content}],
        ),
        Call(
            "WebSearch",
            {"query": "make parallel output order"},
            f'Web search results for query: "make parallel output order"\n\nLinks: [{link}]',
            {
                "query": "make parallel output order",
                "results": [{"tool_use_id": "srvtoolu_01old", "content": [link]}],
                "durationSeconds": 2.8,
            },
            None,
            2.8,
        ),
        during=add_mcp_progress,
    )
    rec.add_queue_row("popAll", "close it then")
    rec.add_answer(build_text("Ticket **#31** is about it and still open. The flag is `--output-sync`."))
    rec.end_turn()
    rec.pass_time(25)
    rec.add_command_rows("cost", "", "Total cost: $0.41")
