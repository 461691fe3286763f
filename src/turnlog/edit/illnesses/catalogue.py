"""The catalogue of illnesses, and a diagnosis that checks for all of them.

The names of illnesses never change: `turnlog repair --only KIND` and other programs use them. docs/doctor.md describes
the illnesses in the same order, and docs/repair.md the repairs.
"""

from __future__ import annotations

from collections.abc import Callable

from turnlog.edit.illnesses import (
    attachments,
    blocks,
    bulk,
    calls,
    files,
    lines,
    lost_parts,
    lost_texts,
    lost_transcripts,
    parents,
    picker,
    resumption,
    writers,
)
from turnlog.edit.illnesses.illness import Illness, RepairAttempt, RepairCase, Symptom, Symptoms
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.session.session import Session

ILLNESSES: dict[str, Illness] = {
    illness.kind: illness
    for illness in (
        # lines
        lines.TORN_LINE,
        lines.BROKEN_LINE,
        lines.GLUED_LINE,
        lines.CONTROL_BYTES,
        lines.SPREAD_LINES,
        # links
        parents.MISSING_PARENT,
        parents.PARENT_IN_AGENT,
        parents.SNAPSHOT_ID,
        writers.DUPLICATE_UUID,
        writers.REPLAYED_HISTORY,
        parents.CYCLE,
        parents.SEVERAL_ROOTS,
        writers.OTHER_SESSION,
        writers.TWO_WRITERS,
        # what a resume shows
        resumption.REFUSED,
        attachments.BAD_ATTACHMENT,
        files.UNREADABLE,
        files.NO_SESSION,
        lost_parts.EMPTY_FILE,
        lost_parts.LOST_BEGINNING,
        resumption.HIDDEN_TAIL,
        resumption.HIDDEN_END,
        resumption.HIDDEN_ANSWER,
        resumption.STALE_PARENT,
        resumption.LOST_PRESERVED,
        resumption.LOST_LEAF,
        lost_texts.LOST_TEXT,
        # what the API refuses
        calls.UNANSWERED_CALL,
        calls.ORPHAN_RESULT,
        calls.LATE_RESULT,
        blocks.BAD_THINKING,
        blocks.BAD_IMAGE,
        blocks.LONG_TOOL_NAME,
        # size
        bulk.GIANT_RESULT,
        bulk.PROGRESS_BLOAT,
        # around the file
        picker.NOT_IN_PICKER,
        picker.STALE_INDEX,
        picker.MISSING_CWD,
        picker.TITLE_NOT_IN_TAIL,
        # the machine
        files.BROKEN_STATE_FILE,
        lost_transcripts.TRANSCRIPT_GONE,
    )
}
"""The illnesses by kind."""

_REPAIR_ORDER = (
    *("spread-lines", "torn-line", "glued-line", "control-bytes", "broken-line"),
    *("other-session", "replayed-history", "duplicate-uuid", "cycle"),
    *("parent-in-agent", "snapshot-id", "missing-parent", "several-roots"),
    "bad-attachment",
    *("hidden-tail", "lost-preserved", "stale-parent", "hidden-answer", "refused", "hidden-end", "lost-leaf"),
    *("late-result", "unanswered-call", "orphan-result"),
    *("bad-thinking", "bad-image", "long-tool-name"),
    *("giant-result", "progress-bloat"),
    *("not-in-picker", "title-not-in-tail"),
)
"""The order of repairs (lines, links, the end, calls, blocks, size, and the list): each relies on the earlier ones."""

REPAIRS_BY_KIND: dict[str, Callable[[RepairCase], RepairAttempt]] = {
    kind: repair for kind in _REPAIR_ORDER if (repair := ILLNESSES[kind].repair) is not None
}
"""The kinds that can be repaired in a session's file, in the order of the repairs."""

ALTERNATIVES_BY_KIND = {kind: illness.alternative for kind, illness in ILLNESSES.items() if illness.repair is None}
"""The kinds that can't be repaired in a session's file, and what to do instead."""

_DETECTORS: tuple[Callable[[ResumeView, Symptoms], None], ...] = (
    lines.detect_damaged_lines,
    lost_parts.detect_empty_file,
    lost_parts.detect_lost_beginning,
    resumption.detect_refusal,
    attachments.detect_bad_attachments,
    resumption.detect_hidden_beginning,
    resumption.detect_hidden_end,
    resumption.detect_hidden_answers,
    resumption.detect_stale_parent,
    resumption.detect_lost_preserved,
    resumption.detect_bad_last_prompt,
    lost_texts.detect_lost_texts,
    parents.detect_missing_parents,
    parents.detect_extra_roots,
    writers.detect_copies,
    parents.detect_rings,
    writers.detect_strangers,
    writers.detect_parallel_writers,
    bulk.detect_giant_results,
    bulk.detect_progress_bloat,
    calls.detect_unmatched_calls,
    blocks.detect_bad_tool_names,
    blocks.detect_bad_thinking,
    blocks.detect_bad_images,
)
"""The detectors for a session's file; symptoms of the same severity are listed in this order."""


def diagnose_session(session: Session) -> list[Symptom]:
    """Find the symptoms in a session's main file, most severe first."""
    return diagnose_resume_view(ResumeView(session))


def diagnose_resume_view(view: ResumeView) -> list[Symptom]:
    """Find the symptoms of a session whose resume view has already been built."""
    symptoms = Symptoms()
    files.detect_foreign_file(view, symptoms)
    if not symptoms.list_symptoms():  # another program's file is not examined further
        for detect in _DETECTORS:
            detect(view, symptoms)
    return symptoms.list_symptoms()
