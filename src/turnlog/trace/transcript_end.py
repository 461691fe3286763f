"""Whether the end of a transcript is there: at Stop the client has said its last word, but often not written it yet.

The newest clients tell the hook what that word is, and which prompt it answers. Of others it is known by a text that
nothing follows for a moment.
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
"""Of the end of a transcript: `passed` means that the session went on beyond it."""


class WaitLimits(NamedTuple):
    """How long is waited, in seconds."""

    answer: float = 5.0
    """For the last word of the model."""
    duration: float = 1.0
    """For the line that says how long the turn took."""
    quiet: float = 0.3
    """A text that nothing follows for so long was the last one."""

    def deduct_elapsed(self, made: int) -> WaitLimits:
        """What is left of it when something was told at a time (in nanoseconds since 1970)."""
        passed = (time.time_ns() - made) / 1e9
        return self._replace(answer=min(max(self.answer - passed, 0.0), self.answer))


class ExpectedEnd(NamedTuple):
    """What is known of the end of a transcript."""

    answer: str | None = None
    """The last text of the model; None: not known."""
    prompt_id: str | None = None


class TranscriptEnd(NamedTuple):
    """The end of a transcript as it stands."""

    is_rest: bool = False
    """The last thing said is an answer of the model that asks for no call."""
    text: str = ""
    """The text of the last answer."""
    prompts: tuple[str, ...] = ()
    """The ids of the prompts in it, in order, each once."""
    has_duration: bool = False
    """Behind the last answer stands how long the turn took."""


def wait_for_transcript_end(
    path: Path, expected: ExpectedEnd, patience: WaitLimits, enough: Callable[[], bool] = lambda: False
) -> EndPresence:
    """Wait for the end of a transcript: it is there, the session went on beyond it, or it did not come.

    `enough` says that waiting for more than the answer is of no use.
    """
    verdict = _wait_for_answer(path, expected, patience)
    if verdict == "there":
        _wait_until(lambda: enough() or read_transcript_end(path).has_duration, patience.duration)
    return verdict


def wait_until_quiet(path: Path, patience: WaitLimits) -> bool:
    """Wait until nothing is being written to a file; whether that came."""
    return _wait_until(lambda: _is_quiet(path, patience.quiet), patience.answer)


def read_transcript_end(path: Path) -> TranscriptEnd:
    """The end of a transcript, as far as it is written in whole lines."""
    size = _FIRST_TAIL_BYTES
    while True:
        data, is_whole = _read_tail(path, size)
        file = Transcript.from_bytes(data)
        said = _list_spoken_entries(file)
        if said or is_whole or size >= _MAX_TAIL_BYTES:
            return _build_end(file, said)
        size *= 8


def _wait_for_answer(path: Path, expected: ExpectedEnd, patience: WaitLimits) -> EndPresence:
    found: EndPresence = "missing"
    seen: tuple[int, int] | None = None

    def look() -> bool:
        nonlocal found, seen
        now = _read_file_state(path)
        if now != seen or found == "there":
            found, seen = judge_transcript_end(read_transcript_end(path), expected), now
        sure = expected.answer is not None or _is_quiet(path, patience.quiet)
        return found == "passed" or (found == "there" and sure)

    return found if _wait_until(look, patience.answer) else "missing"


def judge_transcript_end(end: TranscriptEnd, expected: ExpectedEnd) -> EndPresence:
    """Whether a transcript has the end that is expected."""
    wanted = expected.prompt_id
    if wanted in end.prompts and end.prompts[-1] != wanted:
        return "passed"
    if not end.is_rest or (wanted and end.prompts and end.prompts[-1] != wanted):
        return "missing"
    return "there" if end.text.strip().endswith((expected.answer or "").strip()) else "missing"


def _list_spoken_entries(file: Transcript) -> list[Entry]:
    """What the actor of a file said and was told; old clients write sub-agents into the session's own file."""
    found = [entry for entry in file.entries if entry.type in ("user", "assistant") and entry.message]
    return [entry for entry in found if not entry.is_sidechain] or found


def _build_end(file: Transcript, said: list[Entry]) -> TranscriptEnd:
    prompts = [text for entry in said if (text := _read_prompt_id(file, entry))]
    if not said or said[-1].type != "assistant":
        return TranscriptEnd(prompts=tuple(dict.fromkeys(prompts)))
    last = join_messages(said)[-1]
    blocks = read_message_content(file, last)
    after = file.entries[said[-1].index + 1 :]
    return TranscriptEnd(
        not any(block.get("type") == "tool_use" for block in blocks),
        "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text"),
        tuple(dict.fromkeys(prompts)),
        any(entry.name == "system/turn_duration" for entry in after),
    )


def _read_prompt_id(file: Transcript, entry: Entry) -> str | None:
    found = file.read_body(entry).get("promptId") if entry.type == "user" else None
    return found if isinstance(found, str) else None


def _read_tail(path: Path, size: int) -> tuple[bytes, bool]:
    """The whole lines at the end of a file, and whether they are all of it; a file that is not there is empty."""
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
    # A clock that was set back must not make a file seem to be written for ever.
    return state is None or abs(time.time() - state[1] / 1e9) >= seconds


def _wait_until(is_so: Callable[[], bool], seconds: float) -> bool:
    deadline, pause = time.monotonic() + seconds, _MIN_PAUSE_SECONDS
    while not is_so():
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, _MAX_PAUSE_SECONDS)
    return True
