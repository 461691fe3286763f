"""The illness of attachments that the client can't read: it refuses the whole session because of one."""

from __future__ import annotations

from typing import Any

from turnlog.edit.illnesses.illness import Illness, RepairAttempt, RepairCase, Symptoms, SymptomSpot
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.edit.strip.new_parents import rehang_rows

_TYPED_KIND = "queued_command"
"""The kind that contains what a person typed."""


def detect_bad_attachments(view: ResumeView, symptoms: Symptoms) -> None:
    """Find attachments that the client can't read."""
    for fault in view.attachment_faults:
        symptoms.add("bad-attachment", "error", fault.text, [SymptomSpot(fault.row, detail=fault.field)])


def repair_attachments(case: RepairCase) -> RepairAttempt:
    """Keep what a person typed in a form that the client reads; remove the other attachments that it can't read."""
    typed = [entry for entry in case.entries if entry.kind == _TYPED_KIND]
    changes = {
        case.places[entry.index]: {"attachment": _mend_queued(case.session.read_body(entry)["attachment"])}
        for entry in typed
    }
    removed = {case.places[entry.index] for entry in case.entries if entry not in typed}
    leaf = case.view.chain[-1] if case.view.chain else None
    draft = case.draft.with_changes(changes)
    draft = draft.with_changes(rehang_rows(draft, removed, case.view.thread, leaf)).without_rows(removed)
    words = [f"removed {len(removed):,}"] if removed else []
    words += [f"kept the text of {len(typed):,} queued prompts"] if typed else []
    return RepairAttempt(draft, len(case.entries), ", ".join(words))


def _mend_queued(attachment: dict[str, Any]) -> dict[str, Any]:
    """Return a queued prompt without what is no text or block; the text of a faulty batch is added to the prompt."""
    mended = dict(attachment)
    batch, prompt = mended.pop("batchedRelayPrompts", None), mended.get("prompt")
    if isinstance(prompt, list):
        mended["prompt"] = [block for block in prompt if block is not None]
    elif isinstance(batch, str):
        mended["prompt"] = f"{prompt}\n\n{batch}" if isinstance(prompt, str) else batch
    return mended


BAD_ATTACHMENT = Illness(
    "bad-attachment",
    "Resuming ends with “… is not a function” or “… is not an object” (2.1.325 and later; not 2.1.45).",
    "an edit, a program or another version wrote an attachment with a field of the wrong type",
    repair_attachments,
    refused_blocks=frozenset({"text"}),
)
