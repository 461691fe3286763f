"""Repairs of what keeps a session, or its title, out of the client's list, as far as its own file is the reason."""

from __future__ import annotations

from turnlog.edit.draft import Draft
from turnlog.edit.ending import titles
from turnlog.edit.repairs.case import Case, Repaired
from turnlog.edit.repairs.leaf import refusal
from turnlog.session.health.surroundings import HIDDEN_ENTRYPOINTS

_PROGRAM, _AGENT, _ELSEWHERE = "a program wrote it", "it begins with entries of a sub-agent", "it lies in the folder of"
"""What the symptoms say that are told apart here."""
_TALK = ("user", "assistant")


def title(case: Case) -> Repaired:
    """The title that a person gave once more, at the end."""
    named = str(case.session.body(case.entries[-1])["customTitle"])
    draft = case.draft.adding(*titles(named, case.session.session_id or ""))
    return Repaired(draft, 1, "the title stands at the end too")


def listed(case: Case) -> Repaired:
    """What in a file keeps it out of the list; other reasons are told."""
    draft, told, left = case.draft, list[str](), 0
    for symptom in case.symptoms:
        if symptom.text.startswith(_PROGRAM):
            draft = _by_a_person(case, draft)
            told.append("its entries say that a person began it (entrypoint cli)")
        elif symptom.text.startswith(_AGENT):
            draft, words = _main_first(case, draft)
            told.append(words)
        else:
            left += 1
            remedy = "`turnlog move` brings it home" if symptom.text.startswith(_ELSEWHERE) else "no edit changes that"
            told.append(f"{symptom.text}; {remedy}")
    return Repaired(draft, len(case.symptoms) - left, "; ".join(told), left)


def _by_a_person(case: Case, draft: Draft) -> Draft:
    changes = {
        at: {"entrypoint": "cli"}
        for at, row in enumerate(draft.rows)
        if row.entry is not None and case.session.body(row.entry).get("entrypoint") in HIDDEN_ENTRYPOINTS
    }
    return draft.changing(changes)


def _main_first(case: Case, draft: Draft) -> tuple[Draft, str]:
    """With the first entry of the conversation before those of sub-agents."""
    heads = [row.entry for row in draft.rows]
    main = [at for at, head in enumerate(heads) if head and head.type in _TALK and not head.is_sidechain]
    if not main:
        made = refusal(case)
        return made.draft, made.words
    before = [row for row in draft.rows[: main[0]] if row.entry and row.entry.is_sidechain]
    others = [row for row in draft.rows[: main[0]] if not (row.entry and row.entry.is_sidechain)]
    rows = (*others, draft.rows[main[0]], *before, *draft.rows[main[0] + 1 :])
    return draft._replace(rows=rows), "the first entry of the conversation stands before those of sub-agents"
