"""Which kinds of illness are repaired by what, and in which order; and what is done about the others."""

from __future__ import annotations

from collections.abc import Callable

from turnlog.edit.repairs import agents, blocks, bulk, copies, leaf, lines, parents, picker, results, strangers
from turnlog.edit.repairs.case import Case, Repaired

REPAIRS: dict[str, Callable[[Case], Repaired]] = {
    "torn-line": lines.torn,
    "glued-line": lines.glued,
    "control-bytes": lines.mended,
    "broken-line": lines.mended,
    "other-session": strangers.strangers,
    "duplicate-uuid": copies.copies,
    "cycle": parents.rings,
    "parent-in-agent": agents.brought,
    "snapshot-id": parents.hung,
    "missing-parent": parents.hung,
    "several-roots": parents.hung,
    "hidden-tail": parents.hung,
    "lost-preserved": leaf.preserved,
    "stale-parent": parents.stale,
    "hidden-answer": parents.answers,
    "refused": leaf.refusal,
    "hidden-end": leaf.end,
    "lost-leaf": leaf.mark,
    "late-result": results.late,
    "unanswered-call": results.unanswered,
    "orphan-result": results.orphans,
    "bad-thinking": blocks.thinking,
    "bad-image": blocks.images,
    "long-tool-name": blocks.names,
    "giant-result": bulk.results,
    "progress-bloat": bulk.progress,
    "not-in-picker": picker.listed,
    "title-not-in-tail": picker.title,
}
"""The kinds that can be repaired, in the order in which they are: lines, links, the end, calls, blocks, size, list."""

ELSEWHERE: dict[str, str] = {
    "two-writers": "both halves are real; `turnlog fork SESSION --at leaf:K` makes a session of each",
    "unreadable": "see to it that the file can be read",
    "no-session": "another program wrote the file",
    "stale-index": "move the project's sessions-index.json away; the client writes it anew",
    "missing-cwd": "`turnlog move OLD NEW`, if the project has a new place",
    "broken-state-file": "it is the client's own file; take the newest copy that `turnlog doctor --all` names",
    "transcript-gone": "`turnlog salvage` lists what is left",
}
"""The kinds that are not repaired in a session's file, each with what to do instead."""
