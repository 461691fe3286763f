"""The notes command line: an interactive session and a failed run (2.1.325), and a run by a program (2.1.220)."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from demo import shapes
from demo.home import Home
from demo.ids import Row, hash_text
from demo.project import Call, Project, build_text, build_thinking
from demo.recorder import Recorder

HAIKU = "claude-haiku-4-5-20251001"


def draw_picture() -> str:
    """Draw a small PNG of a terminal with coloured lines, uncompressed so that the bytes don't depend on zlib."""
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

    def pack_chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 2, 3, 0, 0, 0)
    png = (
        b"\x89PNG\r\n\x1a\n" + pack_chunk(b"IHDR", header) + pack_chunk(b"PLTE", colours) + pack_chunk(b"IDAT", stored)
    )
    return base64.b64encode(png + pack_chunk(b"IEND", b"")).decode()


def record_colours_session(home: Home) -> None:
    """Record an untitled 2.1.325 session: an image, !bash, /model, an interrupt, a rewind and a background job."""
    p = Project(
        "/home/dana/notes-cli",
        files={
            "notes/show.py": 'def show(note):\n    print(note["text"])\n',
            "CLAUDE.md": "# notes\n\nKeep it small. No dependencies.\n",
        },
    )
    rec = Recorder(home, "notes-colours", p, "2.1.325", "2026-11-03T19:22:10", "claude-opus-5-5")
    shapes.begin_session(rec)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": draw_picture()}}
    rec.add_prompt(
        [{"type": "text", "text": "[Image #1] I'd like the list to look like this, tags in colour."}, image],
        imagePasteIds=[1],
    )
    rec.add_note(
        [{"type": "text", "text": "[Image: source: /home/dana/.claude/image-cache/1.png]"}],
        isMeta=True,
        turnCompanion=True,
    )
    shapes.add_opening(rec, " M notes/show.py", "c0ffee1 First notes\n")
    rec.add_answer(
        build_thinking("A dark terminal; three colours, one per tag, cycling."),
        build_text("Three colours that repeat: blue, green, red. Let me see how notes are printed."),
        p.read_file("notes/show.py"),
    )
    rec.add_answer(
        p.write_file(
            "notes/show.py",
            "COLOURS = [34, 32, 31]\n\n\ndef show(note, number=0):\n"
            "    code = COLOURS[number % len(COLOURS)]\n"
            "    print(f\"\\x1b[{code}m{note['text']}\\x1b[0m\")\n",
        )
    )
    rec.add_answer(
        p.run_command(
            "python -m notes",
            "\x1b[34mbuy milk\x1b[0m\n\x1b[32mcall Sam\x1b[0m\n\x1b[31mpay rent\x1b[0m",
            "Show the notes",
        )
    )
    rec.add_answer(build_text("Done: every note gets the next of three colours."))
    rec.end_turn()
    _record_shell(rec)
    _record_rewind(rec, p)
    _record_long_answer(rec)
    _record_background_job(rec)
    rec.save_session()


def _record_shell(rec: Recorder) -> None:
    rec.pass_time(38)
    rec.add_prompt("<bash-input>python -m notes | cat</bash-input>", shown="!python -m notes | cat")
    rec.add_note(
        "<bash-stdout>\x1b[34mbuy milk\x1b[0m\n\x1b[32mcall Sam\x1b[0m</bash-stdout><bash-stderr></bash-stderr>"
    )
    rec.add_answer(build_text("The colour codes reach the pipe. They should only be written to a terminal."))
    rec.end_turn()
    rec.pass_time(20)
    rec.add_command_rows("model", "haiku", "Set model to `Haiku 4.5` and saved as your default for new sessions")
    rec.add_local_command(
        "context", "", "\x1b[1mContext Usage\x1b[22m\n\x1b[38;5;246mclaude-haiku-4-5\x1b[39m 21.4k/200k (11%)"
    )
    rec.add_system_row(
        "informational",
        content="Unknown command: /colour. Did you mean /color?",
        isMeta=False,
        level="warning",
    )


def _record_rewind(rec: Recorder, p: Project) -> None:
    back = rec.parent
    rec.pass_time(15)
    before = p.files["notes/show.py"]
    rec.add_prompt("Then add a --no-colour switch.")
    rec.add_answer(
        build_text("A switch it is."),
        p.edit_file("notes/show.py", "def show(note, number=0):", "def show(note, number=0, colour=True):"),
        model=HAIKU,
    )
    rec.add_answer(
        build_text("`show()` takes `colour=False` now; the command line still has to pass it on."), model=HAIKU
    )
    rec.end_turn()
    rec.pass_time(50)
    p.files["notes/show.py"] = before
    rec.rewind_to(back)
    rec.add_prompt(
        "Better without a switch: colour only when stdout is a terminal.",
        context=[
            (
                "edited_text_file",
                {"filename": p.resolve_path("notes/show.py"), "snippet": "4\tdef show(note, number=0):"},
            )
        ],
    )
    rec.add_answer(
        build_thinking("sys.stdout.isatty() decides; honour NO_COLOR as well."),
        p.edit_file("notes/show.py", "COLOURS = [34, 32, 31]\n", "import os\nimport sys\n\nCOLOURS = [34, 32, 31]\n"),
        p.edit_file(
            "notes/show.py",
            "    code = COLOURS",
            '    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:\n        print(note["text"])\n'
            "        return\n    code = COLOURS",
        ),
        model=HAIKU,
    )
    rec.add_answer(build_text("Colour appears only in a terminal, and never when `NO_COLOR` is set."), model=HAIKU)
    rec.end_turn()


def _record_long_answer(rec: Recorder) -> None:
    rec.pass_time(33)
    rec.add_prompt("Explain ANSI colours to me.")
    rec.add_answer(
        build_text(
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
    rec.add_interrupt(interruptedMessageId=answer["message"]["id"])
    rec.pass_time(6)
    rec.add_prompt("Shorter. Just a table of the eight.")
    rec.add_answer(
        build_text(
            "| code | colour | code | colour |\n|---|---|---|---|\n| 30 | black | 34 | blue |\n| 31 | "
            "red | 35 | "
            "magenta |\n| 32 | green | 36 | cyan |\n| 33 | yellow | 37 | white |"
        ),
        model=HAIKU,
    )
    rec.end_turn()


def _record_background_job(rec: Recorder) -> None:
    rec.pass_time(100)
    rec.mode = "auto"
    rec.add_prompt("Watch the tests while I edit.")
    rec.add_attachment(
        "auto_mode",
        "Auto mode is on.",
        autoModeConsentFlow=False,
        finishExposedWork=False,
        bashFirst=True,
        bashFirstSteer="relaxed",
        steerOnly=True,
        bypass=False,
    )
    rec.add_attachment("task_reminder", "The task tools have not been used for a while.", content=[], itemCount=0)
    task = "b" + hash_text("watch", 8)
    result = {
        "stdout": "",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
        "backgroundTaskId": task,
    }
    call = rec.add_answer(
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
    rec.add_answer(build_text("The watcher runs in the background."), model=HAIKU)
    rec.end_turn()
    rec.pass_time(210)
    shapes.add_notification(
        rec,
        shapes.build_notification(
            rec,
            task,
            call,
            'Background command "Watch the tests" completed (exit code 0)',
            "12 passed",
            (0, 0, 208_000),
        ),
    )
    rec.add_answer(build_text("The watcher ended: 12 tests passed."), model=HAIKU)
    rec.end_turn()


def record_failing_run(home: Home) -> None:
    """Record a headless 2.1.325 run: after two retries, the API gives up, and the session ends with an error."""
    p = Project("/home/dana/notes-cli", files={"notes/show.py": 'def show(note):\n    print(note["text"])\n'})
    rec = Recorder(home, "nightly", p, "2.1.325", "2026-11-05T02:00:03", "claude-opus-5-5", entrypoint="sdk-cli")
    rec.add_queue_row("enqueue", "Run the linter and fix what it finds.")
    rec.add_queue_row("dequeue")
    rec.add_prompt("Run the linter and fix what it finds.")
    shapes.add_opening(rec, "(clean)", "c0ffee1 First notes\n")
    rec.add_answer(p.run_command("ruff check .", "All checks passed!", "Run the linter"))
    for attempt, pause in ((1, 540), (2, 1107)):
        rec.add_system_row(
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
        rec.pass_time(pause / 1000)
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
        "id": rec.next_uuid(),
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
    rec.add_row(
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
    rec.add_state_rows()
    rec.save_session()


def record_scheduled_task(home: Home) -> None:
    """Record a 2.1.220 session of the Python SDK: a scheduled task that answers with structured output."""
    p = Project(
        "/home/dana/notes-cli",
        files={"notes.json": '[{"text": "buy milk"}, {"text": "pay rent", "due": "2026-10-30"}]\n'},
    )
    rec = Recorder(home, "due-notes", p, "2.1.220", "2026-10-28T06:00:00", "claude-opus-5", entrypoint="sdk-py")
    rec.add_queue_row("enqueue")
    rec.add_queue_row("dequeue")
    rec.add_system_row("scheduled_task_fire", content='Scheduled task "due notes" fired (0 6 * * *)', isMeta=False)
    rec.add_prompt("Which notes are due this week?")
    rec.add_attachment("total_tokens_reminder", text="Token usage: 18211/200000; 181789 remaining")
    rec.add_attachment(
        "todo_reminder",
        content=[{"content": "Read the notes", "status": "pending", "activeForm": "Reading the notes"}],
        itemCount=1,
    )
    rec.add_answer(p.read_file("notes.json"))
    data: dict[str, Any] = {"due": [{"text": "pay rent", "date": "2026-10-30"}], "count": 1}
    rec.add_answer(
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
    rec.add_attachment("structured_output", data=data)
    rec.rows.append(
        {
            "type": "frame-link",
            "sessionId": rec.sid,
            "path": "/home/dana/notes-cli/due.html",
            "frameUrl": "https://example.com/frames/due",
            "title": "Due this week",
            "timestamp": rec.next_time(),
        }
    )
    rec.add_state_rows()
    rec.save_session()
