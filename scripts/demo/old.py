"""Old clients: 1.0.x with sub-agents inside, 2.0.76 with flat agent files, 2.1.22 with progress rows."""

from __future__ import annotations

from demo import shapes
from demo.home import Home
from demo.ids import Row, stamp, uuid
from demo.project import Call, Project, failed, text, think
from demo.recorder import Recorder

OPUS, SONNET = "claude-opus-4-20250514", "claude-sonnet-4-20250514"
CART = """def total(items):
    s = 0
    for i in items:
        s += i["price"]
    return s
"""


def todo(content: str, status: str) -> Row:
    """One line of a todo list."""
    return {"content": content, "status": status, "activeForm": content}


def first_cart(home: Home) -> None:
    """The shop's first cart: begun with 1.0.53, gone on with 1.0.128, in one file."""
    p = Project("/home/dana/webshop", False, {"shop.py": CART, "prices.json": '{"mug": 10.0, "sticker": 0.1}\n'})
    rec = Recorder(home, "first-cart", p, "1.0.53", "2026-10-05T09:12:31", OPUS, base=14_200)
    rec.rows.append({"type": "summary", "summary": "First Cart With Tax and Quantities", "leafUuid": ""})
    rec.prompt("The cart can't do quantities or tax yet. Please add both, prices.json has the prices.")
    listing = "- /home/dana/webshop/\n  - prices.json\n  - shop.py\n"
    rec.act(text("I'll look at what is there."), Call("LS", {"path": p.cwd}, listing, listing), p.read("shop.py"))
    todos = [
        todo("Add quantities", "in_progress"),
        todo("Add tax", "pending"),
        todo("Write a test", "pending"),
    ]
    rec.act(p.todos([], todos))
    rec.act(
        p.multi_edit(
            "shop.py",
            [
                ("def total(items):", "TAX = 0.19\n\n\ndef total(items):"),
                ('s += i["price"]', 's += i["price"] * i.get("quantity", 1)'),
                ("    return s\n", "    return round(s * (1 + TAX), 2)\n"),
            ],
        )
    )
    rec.system(None, content="Claude Opus 4 limit reached, now using Sonnet 4", isMeta=False, level="warning")
    rec.model = SONNET
    done = [
        todo("Add quantities", "completed"),
        todo("Add tax", "completed"),
        todo("Write a test", "in_progress"),
    ]
    rec.act(p.todos(todos, done))
    rec.act(text("Quantities and tax are in; the test is next. Shall I use pytest?"))
    rec.version = "1.0.128"
    rec.wait(7200)
    rec.prompt("Yes. And let an agent check which prices have more than two digits.")
    prompt = "Read prices.json and list prices with more than two digits after the point."
    child = rec.spawn("side", "general-purpose", base=7_900)
    child.ask(prompt)
    child.act(p.read("prices.json"))
    child.act(text("None: both prices have at most two digits."))
    rec.act(
        shapes.finished(
            child,
            "general-purpose",
            "Check the prices",
            prompt,
            "None: both prices have at most two digits.",
            name="Task",
        ),
        during=lambda _: rec.keep_agent(child, "inside"),
    )
    rec.act(
        p.write(
            "test_shop.py",
            'from shop import total\n\n\ndef test_tax():\n    assert total([{"price": 10.0}]) == 11.9\n',
        )
    )
    rec.act(
        Call(
            "Bash",
            {"command": "python -m pytest -q", "description": "Run the test"},
            "1 passed in 0.01s",
            {"stdout": "1 passed in 0.01s", "stderr": "", "interrupted": False, "isImage": False},
            False,
            1.1,
        )
    )
    rec.act(text("The test passes, and no price has more than two digits."))
    rec.rows[0]["leafUuid"] = rec.parent
    home.put_json(f"todos/{rec.sid}-agent-{rec.sid}.json", [todo(item["content"], "completed") for item in done], 2)
    rec.save()
    home.rows(
        f"{rec.folder()}/{uuid('first-cart/summary')}.jsonl",
        [{"type": "summary", "summary": "First Cart With Tax and Quantities", "leafUuid": rec.parent}],
    )


def notes_search(home: Home) -> None:
    """2.0.76: parallel agents in flat files, a background shell, a queued prompt, an automatic compaction."""
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
    rec.prompt("notes needs a `search` command. Have two agents look at the code and at the data first.")
    asked = {
        "code": "Which modules would a search command touch?",
        "data": "How big is a typical notes file?",
    }
    reports = {
        "code": "Two: `notes/store.py` for the data and `notes/__main__.py` for the command line.",
        "data": "About 400 notes, 60 KB. A linear search is fine.",
    }
    calls, agents = [], []
    for key, look in (("code", p.glob("**/*.py", ".py")), ("data", p.read("notes/store.py"))):
        child = rec.spawn(shapes.agent_id(f"notes/{key}", 6), "Explore", "claude-haiku-4-5-20251001")
        child.ask(asked[key])
        child.act(look)
        child.act(text(reports[key]))
        agents.append(child)
        calls.append(shapes.finished(child, "Explore", f"Look at the {key}", asked[key], reports[key], name="Task"))
    rec.act(text("Two agents, at the same time."), *calls)
    for child in agents:
        rec.keep_agent(child, "flat")
    _search_command(rec, p)
    warm = rec.spawn(shapes.agent_id("notes/warm", 6), "Explore")
    warm.ask("Warmup")
    warm.act(text("Ready to explore."))
    rec.keep_agent(warm, "flat")
    home.put(f"{rec.folder()}/{uuid('notes-search/empty')}.jsonl", "")
    home.put_json(f"todos/{rec.sid}-agent-{rec.sid}.json", [])
    rec.save()


def _search_command(rec: Recorder, p: Project) -> None:
    rec.act(
        p.edit(
            "notes/__main__.py",
            'for note in load():\n    print(note["text"])\n',
            'words = sys.argv[2:] if sys.argv[1:2] == ["search"] else []\nfor note in load():\n'
            '    if all(word in note["text"] for word in words):\n        print(note["text"])\n',
        )
    )
    task = "b3d91f2"
    out = f"/tmp/claude/-home-dana-notes-cli/tasks/{task}.output"
    given = {
        "command": "python -m notes search milk",
        "description": "Try the search",
        "run_in_background": True,
    }
    result = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, "backgroundTaskId": task}
    rec.act(
        Call(
            "Bash",
            given,
            f"Command running in background with ID: {task}. Output is being written to: {out}",
            result,
            False,
        )
    )
    rec.queue("enqueue", "upper and lower case should not matter")
    rec.queue("remove")
    rec.act(
        think("The queued wish: ignore case."),
        text("I saw your note: case will not matter."),
        p.edit(
            "notes/__main__.py",
            'if all(word in note["text"] for word in words)',
            'if all(word.lower() in note["text"].lower() for word in words)',
        ),
    )
    rec.act(text("`notes search milk eggs` now finds every note with all the words, whatever their case."))
    rec.wait(3)
    rec.note(
        f"<bash-notification>\n<shell-id>{task}</shell-id>\n<output-file>{out}</output-file>\n<status>completed"
        '</status>\n<summary>Background command "Try the search" completed (exit code 0).</summary>\n'
        "Read the output file to retrieve the output.\n</bash-notification>"
    )
    rec.act(failed("Read", {"file_path": out}, "File does not exist."))
    rec.act(text("The output was empty: no note matched."))
    leaf, before = rec.parent, rec.context_tokens()
    rec.wait(400)
    rec.row(
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
    rec.note(
        "This session is being continued from a previous conversation that ran out of context. The "
        "conversation "
        "is summarized below:\nAnalysis:\nShort.\n\nSummary:\n1. Primary Request and Intent:\n   A "
        "search command "
        "for notes; it works and ignores case.",
        isVisibleInTranscriptOnly=True,
        isCompactSummary=True,
    )
    rec.forget(15_900 + 600)
    rec.queue("enqueue", "Thanks. Is there a test?")
    rec.queue("dequeue")
    rec.prompt("Thanks. Is there a test?")
    rec.system("api_error", level="error", error={}, retryInMs=551, retryAttempt=1, maxRetries=10)
    rec.act(text("Not yet. I'd start with three: all words must match, case is ignored, no words lists everything."))


def progress_rows(home: Home) -> None:
    """2.1.22: progress rows of every kind in the chain, placeholder usage, a micro-compaction."""
    p = Project(
        "/home/dana/webshop",
        False,
        {"shop/cart.py": CART, "deploy.sh": "#!/bin/sh\nset -e\nmake build\nmake push\n"},
    )
    rec = Recorder(home, "deploy", p, "2.1.22", "2026-10-21T10:02:48", "claude-opus-4-5-20251101", base=16_700)
    rec.slug = "brisk-sailing-lantern"
    rec.progress(
        {
            "type": "hook_progress",
            "hookEvent": "SessionStart",
            "hookName": "SessionStart:startup",
            "command": "scripts/hello",
        },
        rec.uid(),
    )
    rec.prompt(
        "Implement the following plan:\n\n# Deploy faster\n\n1. find out why deploy.sh takes minutes\n2. "
        "build in "
        "parallel",
        planContent="# Deploy faster\n\n1. find out why deploy.sh takes minutes\n2. build in parallel",
    )
    prompt = "Which step of deploy.sh is the slowest? Look at the log of the last run."
    child = rec.spawn(shapes.agent_id("deploy/1", 6), "general-purpose", "claude-haiku-4-5-20251001")
    child.ask(prompt)
    child.act(p.read("deploy.sh"))
    child.act(text("`make build`: 140 of 160 seconds, on one core."))
    rec.act(
        think("Measure first."),
        text("An agent reads the log while I read the script."),
        shapes.finished(
            child,
            "general-purpose",
            "Find the slow step",
            prompt,
            "`make build`: 140 of 160 seconds, on one core.",
            name="Task",
        ),
        p.read("deploy.sh"),
        during=lambda ids: _agent_progress(rec, child, ids[0]),
    )
    rec.keep_agent(child, "folder")
    rec.progress(
        {
            "type": "hook_progress",
            "hookEvent": "PostToolUse",
            "hookName": "PostToolUse:Read",
            "command": "callback",
        },
        rec.rows[-1]["message"]["content"][0]["tool_use_id"],
    )
    _parallel_build(rec, p)
    _tickets(rec)
    home.put_json(
        f"{rec.folder()}/sessions-index.json",
        {
            "version": 1,
            "entries": [
                {
                    "sessionId": rec.sid,
                    "fullPath": f"/home/dana/.claude/{rec.folder()}/{rec.sid}.jsonl",
                    "firstPrompt": "Implement the following plan:",
                    "messageCount": len(rec.rows),
                    "created": rec.rows[0]["timestamp"],
                    "modified": stamp(rec.clock),
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
    rec.save()


def _agent_progress(rec: Recorder, child: Recorder, call: str) -> None:
    prompt = child.rows[0]["message"]["content"]
    for row in child.rows[:3]:
        message = {key: row[key] for key in ("type", "message", "uuid", "timestamp")}
        rec.progress(
            {
                "message": message,
                "normalizedMessages": [],
                "type": "agent_progress",
                "prompt": prompt,
                "agentId": child.agent,
            },
            call,
            own="agent_" + uuid(call)[:12],
        )


def _parallel_build(rec: Recorder, p: Project) -> None:
    def watch(ids: list[str]) -> None:
        for second in (3, 6):
            out = "\n".join(f"[{n}/40] cc shop_{n}.c" for n in range(1, second * 5))
            rec.progress(
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

    def push(ids: list[str]) -> None:
        waiting = {"type": "waiting_for_task", "taskType": "local_bash", "taskDescription": "Push the image"}
        rec.progress(waiting, ids[0])

    rec.act(text("One core only. Let me use all of them."), p.edit("deploy.sh", "make build", "make -j8 build"))
    rec.act(
        p.bash(
            "time ./deploy.sh --dry-run",
            "[40/40] cc shop_40.c\nreal    0m22.4s",
            "Measure the build",
            seconds=22.4,
        ),
        during=watch,
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
    rec.act(
        Call(
            "Bash",
            {"command": "make push", "description": "Push the image", "run_in_background": True},
            "Command running in background with ID: b81f0c2",
            result,
            False,
        )
    )
    rec.act(
        Call(
            "TaskOutput",
            {"task_id": "b81f0c2", "block": True, "timeout": 30000},
            "<retrieval_status>success</retrieval_status>\n<status>completed</status>\n<output>pushed</output>",
            done,
            None,
            4,
        ),
        during=push,
    )
    rec.system(
        "microcompact_boundary",
        content="Context microcompacted",
        isMeta=False,
        level="info",
        microcompactMetadata={
            "trigger": "auto",
            "preTokens": rec.context_tokens(),
            "tokensSaved": 1_180,
            "compactedToolIds": [],
            "clearedAttachmentUUIDs": [],
        },
    )
    rec.act(text("The deploy takes **22 seconds** instead of 160: the build now runs on 8 cores."))
    rec.system(
        "stop_hook_summary",
        hookCount=1,
        hookInfos=[{"command": "scripts/check-tests"}],
        hookErrors=[],
        preventedContinuation=False,
        stopReason="",
        hasOutput=False,
        level="suggestion",
        toolUseID=rec.uid(),
    )
    rec.end_turn()


def _tickets(rec: Recorder) -> None:
    rec.wait(70)
    rec.prompt("Is there a ticket for that? And does make have a flag for keeping the output in order?")
    shown = "#31 Deploys take ages (open)\n#28 Mugs are sold out (closed)"

    def ask(ids: list[str]) -> None:
        for status, more in (("started", {}), ("completed", {"elapsedTimeMs": 412})):
            rec.progress(
                {
                    "type": "mcp_progress",
                    "status": status,
                    "serverName": "tickets",
                    "toolName": "list_issues",
                    **more,
                },
                ids[0],
            )
        rec.progress({"type": "query_update", "query": "make parallel output order"}, ids[1], own="search-1")
        rec.progress(
            {"type": "search_results_received", "resultCount": 3, "query": "make parallel output order"},
            ids[1],
            own="search-2",
        )

    link = {"title": "Output During Parallel Execution", "url": "https://example.org/make/parallel-output"}
    rec.act(
        Call(
            "mcp__tickets__list_issues",
            {"query": "deploy"},
            [{"type": "text", "text": shown}],
            [{"type": "text", "text": shown}],
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
        during=ask,
    )
    rec.queue("popAll", "close it then")
    rec.act(text("Ticket **#31** is about it and still open. The flag is `--output-sync`."))
    rec.end_turn()
    rec.wait(25)
    rec.command_rows("cost", "", "Total cost: $0.41")
