"""Waits until a transcript is complete: at Stop, Claude Code has often not written the last answer yet.

The newest clients pass the last answer and its prompt to the hook. For older clients, the end is an answer after which
nothing is written for a moment.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.file_ends import open_regular_file, read_at
from turnlog.entries.reader import Transcript
from turnlog.session.messages import join_messages, read_message_content

_FIRST_TAIL_BYTES = 1 << 18
_MAX_TAIL_BYTES = 1 << 24
_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 0.02, 0.2

EndPresence = Literal["there", "passed", "missing"]
"""Whether a transcript has reached its expected end; `passed` means that the session has continued after it."""


class WaitLimits(NamedTuple):
    """How long to wait, in seconds."""

    answer: float = 5.0
    """For the last answer of the model."""
    duration: float = 1.0
    """For the line that records how long the turn took."""
    quiet: float = 0.3
    """Text is considered the last if nothing follows for this long."""

    def deduct_elapsed(self, since_ns: int) -> WaitLimits:
        """Return the limits that remain for a wake that was written at this time (in nanoseconds since 1970)."""
        elapsed = (time.time_ns() - since_ns) / 1e9
        return self._replace(answer=min(max(self.answer - elapsed, 0.0), self.answer))


class ExpectedEnd(NamedTuple):
    """What is known about the end of a transcript."""

    answer: str | None = None
    """The model's last text; None if unknown."""
    prompt_id: str | None = None


class TranscriptEnd(NamedTuple):
    is_rest: bool = False
    """Whether the last entry is a model's answer without calls."""
    text: str = ""
    """The text of the last answer."""
    prompts: tuple[str, ...] = ()
    """The ids of the prompts in it, in order, without duplicates."""
    has_duration: bool = False
    """Whether the last answer is followed by the line that records how long the turn took."""


def wait_for_transcript_end(
    path: Path, expected: ExpectedEnd, patience: WaitLimits, enough: Callable[[], bool] = lambda: False
) -> EndPresence:
    """Wait for the end of a transcript; return whether it was reached or passed, or is missing.

    `enough` returns whether waiting for anything after the answer is pointless.
    """
    verdict = _wait_for_answer(path, expected, patience)
    if verdict == "there":
        _wait_until(lambda: enough() or read_transcript_end(path).has_duration, patience.duration)
    return verdict


def wait_until_quiet(path: Path, patience: WaitLimits) -> bool:
    """Wait until nothing is being written to a file; return whether this succeeded."""
    return _wait_until(lambda: _is_quiet(path, patience.quiet), patience.answer)


def read_transcript_end(path: Path) -> TranscriptEnd:
    """Read the complete lines at the end of a transcript."""
    size = _FIRST_TAIL_BYTES
    while True:
        data, is_whole = _read_tail(path, size)
        file = Transcript.from_bytes(data)
        spoken = _list_spoken_entries(file)
        if spoken or is_whole or size >= _MAX_TAIL_BYTES:
            return _build_end(file, spoken)
        size *= 8


def _wait_for_answer(path: Path, expected: ExpectedEnd, patience: WaitLimits) -> EndPresence:
    presence: EndPresence = "missing"
    state: tuple[int, int] | None = None

    def look() -> bool:
        nonlocal presence, state
        now = _read_file_state(path)
        if now != state or presence == "there":
            presence, state = judge_transcript_end(read_transcript_end(path), expected), now
        sure = expected.answer is not None or _is_quiet(path, patience.quiet)
        return presence == "passed" or (presence == "there" and sure)

    return presence if _wait_until(look, patience.answer) else "missing"


def judge_transcript_end(end: TranscriptEnd, expected: ExpectedEnd) -> EndPresence:
    """Compare the end of a transcript with the expected one."""
    wanted = expected.prompt_id
    if wanted in end.prompts and end.prompts[-1] != wanted:
        return "passed"
    if not end.is_rest or (wanted and end.prompts and end.prompts[-1] != wanted):
        return "missing"
    return "there" if end.text.strip().endswith((expected.answer or "").strip()) else "missing"


def _list_spoken_entries(file: Transcript) -> list[Entry]:
    """List the messages of a file's actor; old clients write sub-agents to the session's own file."""
    entries = [entry for entry in file.entries if entry.type in ("user", "assistant") and entry.message]
    return [entry for entry in entries if not entry.is_sidechain] or entries


def _build_end(file: Transcript, spoken: list[Entry]) -> TranscriptEnd:
    prompts = [text for entry in spoken if (text := _read_prompt_id(file, entry))]
    if not spoken or spoken[-1].type != "assistant":
        return TranscriptEnd(prompts=tuple(dict.fromkeys(prompts)))
    last = join_messages(spoken)[-1]
    blocks = read_message_content(file, last)
    after = file.entries[spoken[-1].index + 1 :]
    return TranscriptEnd(
        not any(block.get("type") == "tool_use" for block in blocks),
        "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text"),
        tuple(dict.fromkeys(prompts)),
        any(entry.name == "system/turn_duration" for entry in after),
    )


def _read_prompt_id(file: Transcript, entry: Entry) -> str | None:
    prompt_id = file.read_body(entry).get("promptId") if entry.type == "user" else None
    return prompt_id if isinstance(prompt_id, str) else None


def _read_tail(path: Path, size: int) -> tuple[bytes, bool]:
    """Read the complete lines at the end of a file, and whether they are the whole file; a missing file is empty."""
    try:
        fd, status = open_regular_file(path)
    except OSError:
        return b"", True
    try:
        start = max(status.st_size - size, 0)
        data = read_at(fd, start, status.st_size - start)
    finally:
        os.close(fd)
    first = data.find(b"\n") + 1 if start else 0
    return data[first : data.rfind(b"\n") + 1], start == 0


def _read_file_state(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _is_quiet(path: Path, seconds: float) -> bool:
    state = _read_file_state(path)
    # If the clock was set back, a file must not seem to be in use forever.
    return state is None or abs(time.time() - state[1] / 1e9) >= seconds


def _wait_until(is_met: Callable[[], bool], seconds: float) -> bool:
    deadline, pause = time.monotonic() + seconds, _MIN_PAUSE_SECONDS
    while not is_met():
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, _MAX_PAUSE_SECONDS)
    return True
