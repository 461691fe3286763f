"""Symptoms in what a resume shows: the file holds more of the conversation than the client finds."""

from __future__ import annotations

from itertools import pairwise

from turnlog.entries.entry import Entry
from turnlog.session.graph import is_said
from turnlog.session.health.symptoms import Symptoms, SymptomSpot
from turnlog.session.resume_view import ResumeView


def detect_refusal(view: ResumeView, found: Symptoms) -> None:
    """Whether the client would resume it; of a sub-agent's file or mere titles nobody expects that."""
    if view.refusal is not None:
        talks = any(row.type in ("user", "assistant") and not row.is_sidechain for row in view.session.file.entries)
        found.note("refused", "error" if talks else "info", view.refusal)


def detect_hidden_beginning(view: ResumeView, found: Symptoms) -> None:
    """A resume that shows only the tail."""
    lost = len(view.hidden_before)
    if not lost:
        return
    top = view.chain[0]
    if view.walk_end == "missing" or not (top.type == "user" and is_said(top)):
        text = f"{lost:,} prompts and answers before this entry are not shown: the way up ends here"
        found.add("hidden-tail", "error", text, [SymptomSpot(top, detail=top.parent_uuid or "")])
    else:
        text = f"{lost:,} prompts and answers before this prompt are not shown: it begins anew"
        found.add_items("hidden-tail", "info", text, [top])


def detect_hidden_end(view: ResumeView, found: Symptoms) -> None:
    """A resume that goes back behind what was said last."""
    text = "said later than the entry that a resume goes on from, and not shown"
    found.add_items("hidden-end", "warning", text, view.hidden_after)


def detect_hidden_answers(view: ResumeView, found: Symptoms) -> None:
    """Answers beside a line of the client that the conversation went on from."""
    for above, row in pairwise(view.chain):
        if row.type in ("system", "attachment"):
            beside = (view.rows.rows[key] for key in view.rows.children.get(above.uuid, []))
            hidden = [other for other in beside if _is_hidden_answer(view, other)]
            text = "an answer stands beside a line of the client, and the conversation went on from that"
            found.add("hidden-answer", "warning", text, [SymptomSpot(other, detail=row.uuid or "") for other in hidden])


def _is_hidden_answer(view: ResumeView, row: Entry) -> bool:
    return row.type == "assistant" and row.index not in view.members and not row.is_api_error_message


def detect_stale_parent(view: ResumeView, found: Symptoms) -> None:
    """An entry behind the last compaction that goes on from what was before it."""
    place, boundary = view.rows.place, view.rows.boundary
    for above, row in pairwise(view.chain):
        if place[above.uuid] < boundary < place[row.uuid] and not _is_cut(view, boundary):
            text = "an entry goes on from before the last compaction"
            found.add("stale-parent", "warning", text, [SymptomSpot(row, detail=above.uuid or "")])


def _is_cut(view: ResumeView, boundary: int) -> bool:
    """Whether the client leaves out what was before the last compaction, but for what that kept."""
    last = next(row for row in view.rows.rows.values() if view.rows.place[row.uuid] == boundary)
    return any(row.index < last.index and row.uuid not in view.rows.rows for row in view.session.graph.rows)


def detect_lost_preserved(view: ResumeView, found: Symptoms) -> None:
    """Messages that the last compaction kept and that are not in the file: the client then shows none of them."""
    session = view.session
    for boundary in session.graph.compactions[-1:]:
        metadata = session.read_body(boundary).get("compactMetadata")
        kept = metadata.get("preservedMessages") if isinstance(metadata, dict) else None
        uuids = kept.get("uuids") if isinstance(kept, dict) else None
        named = map(str, uuids) if isinstance(uuids, list) else ()
        lost = [uuid for uuid in named if uuid not in session.file.by_uuid]
        text = "the last compaction kept a message that is not in the file; the client then shows none of those it kept"
        found.add("lost-preserved", "error", text, [SymptomSpot(boundary, detail=uuid) for uuid in lost])


def detect_bad_last_prompt(view: ResumeView, found: Symptoms) -> None:
    """An entry that says where to go on, and names nothing in the file."""
    session = view.session
    named = [entry for entry in session.file.entries if entry.type == "last-prompt"]
    for entry in reversed(named):
        uuid = session.read_body(entry).get("leafUuid")
        if isinstance(uuid, str):
            if uuid not in session.file.by_uuid and uuid.strip("0-"):
                text = "the client's mark of the last entry names one that is not in the file"
                found.add("lost-leaf", "info", text, [SymptomSpot(entry, detail=uuid)])
            return
