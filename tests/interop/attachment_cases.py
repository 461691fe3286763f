"""Hand-made files with one attachment each, whose fields have odd values."""

from __future__ import annotations

from typing import Any

from tests.interop.case_rows import base, raw, row
from tests.interop.classify import Object

VALUES: dict[str, Any] = {
    "null": None,
    "number": 5,
    "zero": 0,
    "true": True,
    "text": "text",
    "no-text": "",
    "empty-list": [],
    "texts": ["a"],
    "null-in-a-list": [None],
    "object-in-a-list": [{}],
    "object": {"a": 1},
}
FIELDS = {
    "account_memory_recall": ["content"],
    "at_mention_reference": ["mentions"],
    "cowork_memory_context": ["content"],
    "critical_system_reminder": ["content"],
    "dir_sync_notice": ["content"],
    "dynamic_skill": ["skillDir"],
    "hook_blocking_error": ["blockingError"],
    "nested_memory": ["content"],
    "peer_mention": ["mention", "candidates"],
    "poll_events": ["envelopes"],
    "queued_command": ["prompt", "batchedRelayPrompts"],
    "read_truncation_notice": ["banner"],
    "relevant_memories": ["memories"],
    "selected_lines_in_diff": ["content"],
    "selected_lines_in_ide": ["content"],
    "task_status": ["description", "shell"],
    "tool_search_usage_reminder": ["undiscoveredToolNames"],
}
"""The fields that the client reads without a check, of the kinds that have some."""
NOT_COMPARED = {
    "prompt": {"null", "number", "zero", "true", "object"},
    "batchedRelayPrompts": {"empty-list", "texts", "null-in-a-list", "object-in-a-list"},
}
"""Values of a queued prompt that the client sends as JavaScript prints them, or in place of the prompt."""
REMINDER = "<system-reminder>\nwords\n</system-reminder>"
RUNNING = {"taskType": "local_bash", "status": "running", "description": "tests"}
SOUND: dict[str, Object] = {
    "peer_mention": {"mention": "@peer", "status": "resolved", "candidates": [{"token": "t", "where": "here"}]},
    "queued_command": {"prompt": "queued"},
    "task_status": RUNNING,
}
"""What else an attachment of a kind needs."""
RENDERED = {"rendered": [{"content": REMINDER}], "renderedRole": "user"}
SPECIAL: dict[str, Object] = {
    "peer-second-candidate-null": {**SOUND["peer_mention"], "candidates": [{"token": "t"}, None]},
    "peer-asked-second-candidate-empty": {
        **SOUND["peer_mention"],
        "status": "ask",
        "candidates": [{"token": "t", "where": "w"}, {}],
    },
    "relevant_memories-header": {"memories": [{"header": "h"}]},
    "relevant_memories-path": {"memories": [{"path": "/a"}]},
    "relevant_memories-path-number": {"memories": [{"path": 5, "mtimeMs": 5}]},
    "cowork_memory_context-anchor": {"anchor": True},
    "cowork_memory_context-withdrawn": {"prefetchedWithdrawn": True},
    "poll_events-delivered": {"deliveredVia": None},
    "poll_events-guarded": {"userRoleGuard": True},
    "queued_command-by-another": {"prompt": [None], "renderedByBatchHead": True},
    "selected_lines_in_ide-2000-items": {"content": [1] * 2000},
    "selected_lines_in_ide-2001-items": {"content": [1] * 2001},
    "task_status-of-an-agent": {"taskType": "agent", "status": "running"},
}
WORDS: dict[str, Any] = {
    "text": "words",
    "none": [],
    "blank": [{"content": ""}],
    "block": [{"content": [{"type": "text", "text": REMINDER}]}],
    "no-blocks": [{"content": []}],
    "image": [{"content": [{"type": "image", "text": REMINDER}]}],
    "block-without-text": [{"content": [{"type": "text"}]}],
    "one-of-two": [{"content": REMINDER}, {"content": ""}],
}


def attachment_cases() -> dict[str, bytes]:
    """Name and bytes of each file."""
    made = {}
    for kind, fields in FIELDS.items():
        made[f"{kind}-bare"] = with_attachment(kind, SOUND.get(kind, {}) if kind == "queued_command" else {})
        made[f"{kind}-rendered"] = with_attachment(kind, {fields[0]: 5}, **RENDERED)
        for field in fields:
            for name, value in VALUES.items():
                if name in NOT_COMPARED.get(field, ()):
                    continue
                made[f"{kind}-{field}-{name}"] = with_attachment(kind, {**SOUND.get(kind, {}), field: value})
    for name, body in SPECIAL.items():
        kind = next(kind for kind in FIELDS if name.startswith((kind, kind.split("_")[0] + "-")))
        made[name] = with_attachment(kind, body)
    for name, words in WORDS.items():
        made[f"rendered-{name}"] = with_attachment("read_truncation_notice", {}, rendered=words)
    return {f"attachment-{name}": raw(rows) for name, rows in made.items()}


def with_attachment(kind: str, body: Object, **fields: Any) -> list[Object]:
    """A session with an attachment behind its second prompt."""
    rows = base()
    rows.insert(3, row(10, 3, "attachment", attachment={"type": kind, **body}, **fields))
    rows[4]["parentUuid"] = rows[3]["uuid"]
    return rows
