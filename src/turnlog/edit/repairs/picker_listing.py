"""Repairs of what keeps a session, or its title, out of the client's list, as far as its own file is the reason."""

from __future__ import annotations

from turnlog.edit.closing_entries import build_title_entries
from turnlog.edit.draft import Draft
from turnlog.edit.repairs.case import RepairAttempt, RepairCase
from turnlog.edit.repairs.leaf import repair_refusal
from turnlog.session.health.surroundings import HIDDEN_ENTRYPOINTS

_PROGRAM_REASON, _AGENT_REASON, _ELSEWHERE_REASON = (
    "a program wrote it",
    "it begins with entries of a sub-agent",
    "it lies in the folder of",
)
"""What the symptoms say that are told apart here."""
_TALK_TYPES = ("user", "assistant")


def repeat_title(case: RepairCase) -> RepairAttempt:
    """The title that a person gave once more, at the end."""
    named = str(case.session.read_body(case.entries[-1])["customTitle"])
    draft = case.draft.with_added_lines(*build_title_entries(named, case.session.session_id or ""))
    return RepairAttempt(draft, 1, "the title stands at the end too")


def make_listable(case: RepairCase) -> RepairAttempt:
    """What in a file keeps it out of the list; other reasons are told."""
    draft, told, left = case.draft, list[str](), 0
    for symptom in case.symptoms:
        if symptom.text.startswith(_PROGRAM_REASON):
            draft = _mark_as_typed(case, draft)
            told.append("its entries say that a person began it (entrypoint cli)")
        elif symptom.text.startswith(_AGENT_REASON):
            draft, words = _put_main_first(case, draft)
            told.append(words)
        else:
            left += 1
            remedy = (
                "`turnlog move` brings it home"
                if symptom.text.startswith(_ELSEWHERE_REASON)
                else "no edit changes that"
            )
            told.append(f"{symptom.text}; {remedy}")
    return RepairAttempt(draft, len(case.symptoms) - left, "; ".join(told), left)


def _mark_as_typed(case: RepairCase, draft: Draft) -> Draft:
    changes = {
        at: {"entrypoint": "cli"}
        for at, row in enumerate(draft.rows)
        if row.entry is not None and case.session.read_body(row.entry).get("entrypoint") in HIDDEN_ENTRYPOINTS
    }
    return draft.with_changes(changes)


def _put_main_first(case: RepairCase, draft: Draft) -> tuple[Draft, str]:
    """With the first entry of the conversation before those of sub-agents."""
    heads = [row.entry for row in draft.rows]
    main = [at for at, head in enumerate(heads) if head and head.type in _TALK_TYPES and not head.is_sidechain]
    if not main:
        made = repair_refusal(case)
        return made.draft, made.words
    before = [row for row in draft.rows[: main[0]] if row.entry and row.entry.is_sidechain]
    others = [row for row in draft.rows[: main[0]] if not (row.entry and row.entry.is_sidechain)]
    rows = (*others, draft.rows[main[0]], *before, *draft.rows[main[0] + 1 :])
    return draft._replace(rows=rows), "the first entry of the conversation stands before those of sub-agents"
