"""One session, our messages and both clients: what each of them says about it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.interop.clients import NEWEST, OLD, client
from tests.interop.digest import difference, digests
from tests.interop.linear import is_linear
from tests.interop.reader import messages_of
from tests.interop.recordings import Recording, disagreement
from tests.interop.resume import resume

KNOWN = {
    "variants/assistant-content-is-a-string.jsonl": "it expects blocks in an assistant row and gives up",
    "variants/parent-cycle.jsonl": "it walks up without an end",
}
"""Files that the old client cannot resume, and why."""


class Verdict(NamedTuple):
    """What one client's run says about one file."""

    file: str
    version: str
    word: str
    """same | refused | not judged | resumed | known | DIFFERENT | NOT RESUMED"""
    reason: str | None = None
    """Why it fails, or None."""


def newest_verdict(recording: Recording, path: Path) -> Verdict:
    """Are our messages those that the newest client sent?"""
    if recording.outcome not in ("sent", "refused"):
        return Verdict(recording.file, NEWEST, "DIFFERENT", f"the client's outcome is {recording.outcome}")
    found = disagreement(recording, messages_of(path))
    if found and recording.unjudged:
        return Verdict(recording.file, NEWEST, "not judged")
    if found:
        return Verdict(recording.file, NEWEST, "DIFFERENT", found)
    return Verdict(recording.file, NEWEST, "refused" if recording.outcome == "refused" else "same")


def old_verdict(file: str, path: Path) -> Verdict:
    """Does the old client resume the file, and does it send the same if the session is one chain?"""
    if file in KNOWN:
        return Verdict(file, OLD, "known")
    got = resume(client(OLD), path)
    if got.outcome != "sent" or got.status != 0:
        why = f"outcome {got.outcome}, exit status {got.status}: {got.note}"
        return Verdict(file, OLD, "NOT RESUMED", why)
    if not is_linear(path):
        return Verdict(file, OLD, "resumed")
    found = difference(digests(got.messages), digests(messages_of(path) or []))
    return Verdict(file, OLD, "DIFFERENT" if found else "same", found)
