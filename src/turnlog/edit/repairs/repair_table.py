"""Which kinds of illness are repaired by what, and in which order; and what is done about the others."""

from __future__ import annotations

from collections.abc import Callable

from turnlog.edit.repairs import agents, blocks, bulk, copies, leaf, lines, parents, picker_listing, results, strangers
from turnlog.edit.repairs.case import RepairAttempt, RepairCase

REPAIRS_BY_KIND: dict[str, Callable[[RepairCase], RepairAttempt]] = {
    "torn-line": lines.drop_torn_line,
    "glued-line": lines.split_glued_lines,
    "control-bytes": lines.mend_broken_lines,
    "broken-line": lines.mend_broken_lines,
    "other-session": strangers.drop_strangers,
    "duplicate-uuid": copies.separate_copies,
    "cycle": parents.cut_rings,
    "parent-in-agent": agents.bring_in_agent_entries,
    "snapshot-id": parents.hang_orphans,
    "missing-parent": parents.hang_orphans,
    "several-roots": parents.hang_orphans,
    "hidden-tail": parents.hang_orphans,
    "lost-preserved": leaf.repair_preserved,
    "stale-parent": parents.repair_stale_parents,
    "hidden-answer": parents.move_behind_answers,
    "refused": leaf.repair_refusal,
    "hidden-end": leaf.repair_end,
    "lost-leaf": leaf.repair_leaf_mark,
    "late-result": results.move_late_results,
    "unanswered-call": results.answer_open_calls,
    "orphan-result": results.drop_orphan_results,
    "bad-thinking": blocks.repair_thinking,
    "bad-image": blocks.repair_images,
    "long-tool-name": blocks.repair_tool_names,
    "giant-result": bulk.shorten_giant_results,
    "progress-bloat": bulk.drop_progress,
    "not-in-picker": picker_listing.make_listable,
    "title-not-in-tail": picker_listing.repeat_title,
}
"""The kinds that can be repaired, in the order in which they are: lines, links, the end, calls, blocks, size, list."""

REMEDIES_BY_KIND: dict[str, str] = {
    "two-writers": "both halves are real; `turnlog fork SESSION --at leaf:K` makes a session of each",
    "unreadable": "see to it that the file can be read",
    "no-session": "another program wrote the file",
    "stale-index": "move the project's sessions-index.json away; the client writes it anew",
    "missing-cwd": "`turnlog move OLD NEW`, if the project has a new place",
    "broken-state-file": "it is the client's own file; take the newest copy that `turnlog doctor --all` names",
    "transcript-gone": "`turnlog salvage` lists what is left",
}
"""The kinds that are not repaired in a session's file, each with what to do instead."""
