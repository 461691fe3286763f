"""Reports anything that is wrong with a session or new in its format, as findings with their places."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from msgspec import Struct

from turnlog.entries.drift import Drift, UnknownItem
from turnlog.entries.entry import FLAW_DESCRIPTIONS, Entry, EntryOrScrap, Scrap
from turnlog.entries.line_decoder import decode_body, is_plainly_encoded
from turnlog.entries.old_names import OldName
from turnlog.entries.reader import Transcript
from turnlog.errors import Refused
from turnlog.session.foreign_files import explain_foreign_file
from turnlog.session.resume.attachment_faults import list_attachment_faults
from turnlog.session.resume.request_proof import RequestProof, prove_requests
from turnlog.session.session import Session
from turnlog.work_progress import report_items

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Most severe first. An error means that the client or the API rejects the session, or that part of the conversation is
lost. A warning means that some clients reject it, or that it costs time or space. Info requires no action."""
MAX_NAMED_PLACES = 20
"""How many places a finding lists; its count includes the rest."""


class FindingPlace(Struct, frozen=True):
    """The position of a finding in the file."""

    line: int
    offset: int
    uuid: str | None = None


class Finding(Struct):
    """A problem or oddity in a session file and the places where it occurs."""

    kind: str
    severity: Severity
    text: str
    count: int = 0
    places: list[FindingPlace] = []
    unknown: UnknownItem | None = None
    """The item that is not in the registry, for a finding of kind `drift`."""

    def add_place(self, place: FindingPlace) -> None:
        """Count one more place, and list it if there is room."""
        self.count += 1
        if len(self.places) < MAX_NAMED_PLACES:
            self.places.append(place)

    add = OldName("add_place")


class Findings:
    """Findings collected by kind and text, each with its places."""

    def __init__(self, file: Transcript) -> None:
        self._found: dict[tuple[str, str], Finding] = {}
        self._lines = map_line_numbers(file)

    def add(self, kind: str, severity: Severity, text: str, items: Iterable[EntryOrScrap]) -> None:
        """Report a finding about entries or scraps."""
        for item in items:
            finding = self._found.setdefault((kind, text), Finding(kind, severity, text))
            uuid = item.uuid if isinstance(item, Entry) else None
            finding.add_place(FindingPlace(self._lines.get(item.offset, 0), item.offset, uuid))

    def note(
        self, kind: str, severity: Severity, text: str, count: int = 1, places: Iterable[FindingPlace] = ()
    ) -> Finding:
        """Report a finding about the whole session."""
        finding = self._found[kind, text] = Finding(kind, severity, text, count, list(places))
        return finding

    def find_line_number(self, offset: int) -> int:
        """Return the number of the line that starts at an offset, or 0 if no line starts there."""
        return self._lines.get(offset, 0)

    def list_findings(self) -> list[Finding]:
        """Return the findings, most severe first."""
        return sorted(self._found.values(), key=lambda finding: SEVERITIES.index(finding.severity))


def map_line_numbers(file: Transcript) -> dict[int, int]:
    """Map the offset of each entry and scrap to its line number."""
    numbers, line = {}, 1
    for item in file.items:
        numbers[item.offset] = line
        is_spread = isinstance(item, Entry) and item.flaw == "spread"
        line += file.read_raw(item).count(b"\n") if is_spread else file.source.read(item.end - 1, 1) == b"\n"
    return numbers


SEVERITY_OF_SCRAP: dict[str, Severity] = {
    "broken": "error",
    "torn": "warning",
    "value": "warning",
    "padding": "warning",
}


def check(session: Session, *, requests: bool = False) -> list[Finding]:
    """Check the integrity of a session; with `requests`, also compare recorded requests with the reconstruction."""
    found = Findings(session.file)
    if reason := explain_foreign_file(session.file):
        found.note("foreign", "error", f"this is not a Claude Code session: {reason}")
        return found.list_findings()
    _check_lines(session.file, found)
    if not session.file.entries:
        found.note("empty", "warning", "the file has no entries; old clients leave such files behind")
        return found.list_findings()
    _check_graph(session, found)
    _check_calls(session, found)
    _check_resume(session, found)
    _check_content(session, found)
    if requests:
        _check_requests(session, found)
    return found.list_findings()


def _check_lines(file: Transcript, found: Findings) -> None:
    for scrap in file.scraps:
        found.add(f"{scrap.kind}-line", SEVERITY_OF_SCRAP.get(scrap.kind, "info"), _describe_scrap(scrap), [scrap])
    for entry in file.entries:
        if entry.flaw is not None:
            severity: Severity = "error" if entry.is_lost else "warning"
            found.add(f"flaw-{entry.flaw}", severity, FLAW_DESCRIPTIONS[entry.flaw], [entry])


def _describe_scrap(scrap: Scrap) -> str:
    return {
        "broken": f"a line is not valid JSON: {scrap.reason}",
        "torn": "the last line is incomplete; the client skips it, and old clients append their next line to it",
        "value": f"a line contains {scrap.reason}",
        "padding": "NUL bytes, probably left by a system crash",
        "comment": "a comment line, which the client skips",
        "blank": "an empty line, which the client skips",
        "bom": "a byte order mark at the start",
    }[scrap.kind]


def _check_graph(session: Session, found: Findings) -> None:
    graph = session.graph
    elsewhere = session.find_parents_elsewhere()
    lost = [row for row in graph.rows_missing_parent if row.parent_uuid not in elsewhere]
    moved = [row for row in graph.rows_missing_parent if row.parent_uuid in elsewhere]
    found.add("missing-parent", "warning", "the parent of an entry is not in the file", lost)
    found.add("parent-in-agent", "warning", "the parent of an entry is in a sub-agent's file", moved)
    found.add("duplicate-uuid", "warning", "a uuid occurs more than once", [*graph.duplicates, *session.replays])
    for ring in graph.cycles:
        found.add("cycle", "error", "entries are their own ancestors; client 2.0.76 hangs on them", ring)
    found.add("branch", "info", "the conversation branches here", [branch.fork for branch in graph.branches])
    others = [entry for entry in session.entries if entry.session_id and entry.session_id != session.session_id]
    if len({entry.session_id for entry in session.entries if entry.session_id}) > 1:
        found.add("other-session", "warning", "an entry names a different session than most entries do", others)


def _check_calls(session: Session, found: Findings) -> None:
    last = session.messages[-1].key if session.messages else None
    open_calls = [call.line for call in session.calls if call.result is None and call.message == last]
    unanswered = [call.line for call in session.calls if call.result is None and call.message != last]
    found.add("open-call", "info", "a call at the end has no result yet", open_calls)
    found.add("unanswered-call", "warning", "a call has no result; the client omits it", unanswered)
    found.add("orphan-result", "warning", "a result belongs to no call; the client omits it", session.orphans)


def _check_resume(session: Session, found: Findings) -> None:
    """Report a session that the client would not resume, as an error if the session has its own conversation."""
    if session.path is not None and session.path.stem.startswith("agent-"):
        return  # nobody resumes a sub-agent's file
    talks = any(entry.type in ("user", "assistant") and not entry.is_sidechain for entry in session.file.entries)
    try:
        thread = session.build_thread()
    except Refused as reason:
        found.note("refused", "error" if talks else "info", f"the client would not resume this session: {reason}")
        return
    for fault in list_attachment_faults(session.file, thread.rows):
        found.add("bad-attachment", "error", f"the client would not resume this session: {fault.text}", [fault.row])


def _check_content(session: Session, found: Findings) -> None:
    """Report what is visible only in the full JSON of each entry: repeated keys and unknown parts of the format."""
    drift = Drift()
    for entry in report_items("checking", session.file.entries):
        raw = session.file.read_raw(entry)
        body = decode_body(raw)
        drift.add_entry(body, entry.version, entry.offset)
        # Encoding a line again takes a tenth of the time of looking for keys.
        if not is_plainly_encoded(raw, body) and (keys := find_repeated_keys(raw)):
            found.add(
                "repeated-key",
                "warning",
                f"an object repeats the key {keys[0]}; its last value counts",
                [entry],
            )
    for unknown in drift:
        since = f", first seen in {unknown.version}" if unknown.version else ""
        offset = unknown.place or 0
        places = [FindingPlace(found.find_line_number(offset), offset)]
        text = f"unknown {unknown.kind} {unknown.path}{since}"
        found.note("drift", "info", text, unknown.count, places).unknown = unknown


def find_repeated_keys(raw: bytes) -> list[str]:
    """List the keys that occur more than once in any object in the JSON text."""
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys):
            found.extend(key for key in dict.fromkeys(keys) if keys.count(key) > 1)

    try:
        json.loads(raw, object_pairs_hook=note)
    except (ValueError, RecursionError):
        return []
    return found


def _check_requests(session: Session, found: Findings) -> None:
    proof = prove_session_requests(session)
    if not proof.requests:
        found.note("requests", "info", "the file records no requests; only the newest clients record them", 0)
        return
    for request, digest in proof.unresolved:
        found.note(
            "request-unresolved",
            "warning",
            f"request {request}: message {digest[:12]} is not in the reconstruction",
        )
    changed = f", {proof.altered} changed since" if proof.altered else ""
    total = f"{proof.resolved_count} of {proof.total} recorded messages found"
    text = f"{total}: {proof.rebuilt} rebuilt, {proof.blobs} recorded in full{changed}"
    found.note("requests", "info", text, proof.requests)


def prove_session_requests(session: Session) -> RequestProof:
    """Look up the messages of the session's recorded requests in the reconstruction."""
    return prove_requests(session.file, session.messages, session.calls)


def filter_error_findings(findings: Iterable[Finding]) -> Iterator[Finding]:
    return (finding for finding in findings if finding.severity == "error")
