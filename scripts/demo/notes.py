"""The notes command line: many turns of hand and a failed run (2.1.325), and a program's run (2.1.220)."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from demo import shapes
from demo.home import Home
from demo.ids import Row, digest
from demo.project import Call, Project, text, think
from demo.recorder import Recorder

HAIKU = "claude-haiku-4-5-20251001"


def picture() -> str:
    """A small PNG of a terminal with coloured lines, stored without compression so that every zlib agrees."""
    width, height = 96, 48
    colours = bytes([24, 26, 31, 97, 175, 239, 152, 195, 121, 224, 108, 117])
    rows = bytearray()
    for y in range(height):
        line = [0] * width
        if y % 8 in (2, 3, 4) and y < 40:
            for x in range(6, 20 + (y // 8 * 37) % 64):
                line[x] = 1 + (y // 8) % 3
        rows += b"\0" + bytes(
            line[x] << 6 | line[x + 1] << 4 | line[x + 2] << 2 | line[x + 3] for x in range(0, width, 4)
        )
    data = bytes(rows)
    stored = b"\x78\x01\x01" + struct.pack("<HH", len(data), len(data) ^ 0xFFFF) + data
    stored += struct.pack(">I", zlib.adler32(data))

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 2, 3, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"PLTE", colours) + chunk(b"IDAT", stored)
    return base64.b64encode(png + chunk(b"IEND", b"")).decode()


def colours(home: Home) -> None:
    """2.1.325, no title: an image, !bash, /model, an interrupt, a rewind, a background job, auto mode."""
    p = Project(
        "/home/dana/notes-cli",
        files={
            "notes/show.py": 'def show(note):\n    print(note["text"])\n',
            "CLAUDE.md": "# notes\n\nKeep it small. No dependencies.\n",
        },
    )
    rec = Recorder(home, "notes-colours", p, "2.1.325", "2026-11-03T19:22:10", "claude-opus-5-5")
    shapes.begin(rec)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture()}}
    rec.prompt(
        [{"type": "text", "text": "[Image #1] I'd like the list to look like this, tags in colour."}, image],
        imagePasteIds=[1],
    )
    rec.note(
        [{"type": "text", "text": "[Image: source: /home/dana/.claude/image-cache/1.png]"}],
        isMeta=True,
        turnCompanion=True,
    )
    shapes.opening(rec, " M notes/show.py", "c0ffee1 First notes\n")
    rec.act(
        think("A dark terminal; three colours, one per tag, cycling."),
        text("Three colours that repeat: blue, green, red. Let me see how notes are printed."),
        p.read("notes/show.py"),
    )
    rec.act(
        p.write(
            "notes/show.py",
            "COLOURS = [34, 32, 31]\n\n\ndef show(note, number=0):\n"
            "    code = COLOURS[number % len(COLOURS)]\n"
            "    print(f\"\\x1b[{code}m{note['text']}\\x1b[0m\")\n",
        )
    )
    rec.act(
        p.bash(
            "python -m notes",
            "\x1b[34mbuy milk\x1b[0m\n\x1b[32mcall Sam\x1b[0m\n\x1b[31mpay rent\x1b[0m",
            "Show the notes",
        )
    )
    rec.act(text("Done: every note gets the next of three colours."))
    rec.end_turn()
    _shell(rec)
    _rewind(rec, p)
    _long_answer(rec)
    _background(rec)
    rec.save()


def _shell(rec: Recorder) -> None:
    rec.wait(38)
    rec.prompt("<bash-input>python -m notes | cat</bash-input>", shown="!python -m notes | cat")
    rec.note("<bash-stdout>\x1b[34mbuy milk\x1b[0m\n\x1b[32mcall Sam\x1b[0m</bash-stdout><bash-stderr></bash-stderr>")
    rec.act(text("The colour codes reach the pipe. They should only be written to a terminal."))
    rec.end_turn()
    rec.wait(20)
    rec.command_rows("model", "haiku", "Set model to `Haiku 4.5` and saved as your default for new sessions")
    rec.local_command(
        "context", "", "\x1b[1mContext Usage\x1b[22m\n\x1b[38;5;246mclaude-haiku-4-5\x1b[39m 21.4k/200k (11%)"
    )
    rec.system(
        "informational",
        content="Unknown command: /colour. Did you mean /color?",
        isMeta=False,
        level="warning",
    )


def _rewind(rec: Recorder, p: Project) -> None:
    back = rec.parent
    rec.wait(15)
    before = p.files["notes/show.py"]
    rec.prompt("Then add a --no-colour switch.")
    rec.act(
        text("A switch it is."),
        p.edit("notes/show.py", "def show(note, number=0):", "def show(note, number=0, colour=True):"),
        model=HAIKU,
    )
    rec.act(text("`show()` takes `colour=False` now; the command line still has to pass it on."), model=HAIKU)
    rec.end_turn()
    rec.wait(50)
    p.files["notes/show.py"] = before
    rec.rewind(back)
    rec.prompt(
        "Better without a switch: colour only when stdout is a terminal.",
        context=[
            (
                "edited_text_file",
                {"filename": p.path("notes/show.py"), "snippet": "4\tdef show(note, number=0):"},
            )
        ],
    )
    rec.act(
        think("sys.stdout.isatty() decides; honour NO_COLOR as well."),
        p.edit("notes/show.py", "COLOURS = [34, 32, 31]\n", "import os\nimport sys\n\nCOLOURS = [34, 32, 31]\n"),
        p.edit(
            "notes/show.py",
            "    code = COLOURS",
            '    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:\n        print(note["text"])\n'
            "        return\n    code = COLOURS",
        ),
        model=HAIKU,
    )
    rec.act(text("Colour appears only in a terminal, and never when `NO_COLOR` is set."), model=HAIKU)
    rec.end_turn()


def _long_answer(rec: Recorder) -> None:
    rec.wait(33)
    rec.prompt("Explain ANSI colours to me.")
    rec.act(
        text(
            "ANSI colours are escape sequences: the byte `ESC`, a bracket, numbers, and the letter `m`. "
            "In the "
            "beginning there were eight colours, because the terminals of the seventies had three"
        ),
        model=HAIKU,
        isAbortedMidStream=True,
    )
    answer = rec.rows[-1]
    answer["message"]["stop_reason"] = None
    answer["message"]["usage"]["output_tokens"] = 1
    rec.interrupt(interruptedMessageId=answer["message"]["id"])
    rec.wait(6)
    rec.prompt("Shorter. Just a table of the eight.")
    rec.act(
        text(
            "| code | colour | code | colour |\n|---|---|---|---|\n| 30 | black | 34 | blue |\n| 31 | "
            "red | 35 | "
            "magenta |\n| 32 | green | 36 | cyan |\n| 33 | yellow | 37 | white |"
        ),
        model=HAIKU,
    )
    rec.end_turn()


def _background(rec: Recorder) -> None:
    rec.wait(100)
    rec.mode = "auto"
    rec.prompt("Watch the tests while I edit.")
    rec.attach(
        "auto_mode",
        "Auto mode is on.",
        autoModeConsentFlow=False,
        finishExposedWork=False,
        bashFirst=True,
        bashFirstSteer="relaxed",
        steerOnly=True,
        bypass=False,
    )
    rec.attach("task_reminder", "The task tools have not been used for a while.", content=[], itemCount=0)
    task = "b" + digest("watch", 8)
    result = {
        "stdout": "",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
        "backgroundTaskId": task,
    }
    call = rec.act(
        Call(
            "Bash",
            {"command": "ptw --once", "description": "Watch the tests", "run_in_background": True},
            f"Command running in background with ID: {task}. You will be notified when it completes.",
            result,
            False,
            0.5,
            {"sandboxed": False},
        ),
        model=HAIKU,
    )[0]
    rec.act(text("The watcher runs in the background."), model=HAIKU)
    rec.end_turn()
    rec.wait(210)
    shapes.notified(
        rec,
        shapes.notification(
            rec,
            task,
            call,
            'Background command "Watch the tests" completed (exit code 0)',
            "12 passed",
            (0, 0, 208_000),
        ),
    )
    rec.act(text("The watcher ended: 12 tests passed."), model=HAIKU)
    rec.end_turn()


def failing_run(home: Home) -> None:
    """2.1.325 headless: two retries, then the API gives up; the session ends with an error."""
    p = Project("/home/dana/notes-cli", files={"notes/show.py": 'def show(note):\n    print(note["text"])\n'})
    rec = Recorder(home, "nightly", p, "2.1.325", "2026-11-05T02:00:03", "claude-opus-5-5", entrypoint="sdk-cli")
    rec.queue("enqueue", "Run the linter and fix what it finds.")
    rec.queue("dequeue")
    rec.prompt("Run the linter and fix what it finds.")
    shapes.opening(rec, "(clean)", "c0ffee1 First notes\n")
    rec.act(p.bash("ruff check .", "All checks passed!", "Run the linter"))
    for attempt, pause in ((1, 540), (2, 1107)):
        rec.system(
            "api_error",
            level="error",
            error={
                "message": '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
                "status": 529,
                "requestId": f"req_01demoNightly{attempt}",
                "formatted": "529 Overloaded",
                "connection": None,
                "isNetworkDown": False,
                "rateLimits": None,
                "noResponse": None,
            },
            retryInMs=pause,
            retryAttempt=attempt,
            maxRetries=2,
            source="request_retry",
        )
        rec.wait(pause / 1000)
    usage: Row = {
        "output_tokens_details": None,
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": None,
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "inference_geo": None,
        "iterations": None,
        "speed": None,
        "fallback_credit": None,
    }
    message = {
        "diagnostics": None,
        "id": rec.uid(),
        "container": None,
        "model": "<synthetic>",
        "role": "assistant",
        "stop_details": None,
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "type": "message",
        "usage": usage,
        "content": [{"type": "text", "text": "API Error: 529 Overloaded. Try again later."}],
        "context_management": None,
    }
    rec.row(
        "assistant",
        {"message": message},
        tail={
            "error": "server_error",
            "isApiErrorMessage": True,
            "apiErrorStatus": 529,
            "apiErrorType": "overloaded_error",
            "failedResponseHadNoToolCall": True,
            "madeBy": "model",
        },
    )
    rec.state()
    rec.save()


def scheduled(home: Home) -> None:
    """2.1.220 through the Python SDK: a scheduled task that answers with structured output."""
    p = Project(
        "/home/dana/notes-cli",
        files={"notes.json": '[{"text": "buy milk"}, {"text": "pay rent", "due": "2026-10-30"}]\n'},
    )
    rec = Recorder(home, "due-notes", p, "2.1.220", "2026-10-28T06:00:00", "claude-opus-5", entrypoint="sdk-py")
    rec.queue("enqueue")
    rec.queue("dequeue")
    rec.system("scheduled_task_fire", content='Scheduled task "due notes" fired (0 6 * * *)', isMeta=False)
    rec.prompt("Which notes are due this week?")
    rec.attach("total_tokens_reminder", text="Token usage: 18211/200000; 181789 remaining")
    rec.attach(
        "todo_reminder",
        content=[{"content": "Read the notes", "status": "pending", "activeForm": "Reading the notes"}],
        itemCount=1,
    )
    rec.act(p.read("notes.json"))
    data: dict[str, Any] = {"due": [{"text": "pay rent", "date": "2026-10-30"}], "count": 1}
    rec.act(
        Call(
            "StructuredOutput",
            data,
            "Structured output provided successfully",
            "Structured output provided successfully",
            None,
            0.02,
            {"toolEndsTurn": True},
        )
    )
    rec.attach("structured_output", data=data)
    rec.rows.append(
        {
            "type": "frame-link",
            "sessionId": rec.sid,
            "path": "/home/dana/notes-cli/due.html",
            "frameUrl": "https://example.com/frames/due",
            "title": "Due this week",
            "timestamp": rec.now(),
        }
    )
    rec.state()
    rec.save()
