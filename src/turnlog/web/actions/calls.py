"""Calls the Python API function for each action, and describes its result for a page.

The options were already checked against the table in `verbs`. The descriptions are the same as on the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.api.config import load_config
from turnlog.api.documents import to_document
from turnlog.errors import UsageError

_STRIP_OPTIONS = ("preset", "tools", "protect", "duplicates", "stale_reads", "thinking", "images", "copies", "noise")
_LIST_OPTIONS = ("protect", "without", "only")


class ActionCall(NamedTuple):
    path: Path
    options: Mapping[str, Any]
    dry_run: bool
    folder: Path | None
    """An empty folder for the file of an export."""
    notify: Callable[[str], object]

    def get(self, name: str) -> Any:
        """Return the value of an option; a list if the option can be repeated."""
        value = self.options.get(name)
        return [value] if name in _LIST_OPTIONS and isinstance(value, str) else value

    def require(self, name: str) -> Any:
        """Return the value of a required option."""
        if (value := self.options.get(name)) is None:
            raise UsageError(f"{name}: required")
        return value


class ActionOutcome(NamedTuple):
    words: str = ""
    document: dict[str, Any] | None = None
    """The result as JSON, if a session was created or changed."""
    has_findings: bool = False
    """Whether the command line would exit with status 1."""


def call_clone(call: ActionCall) -> ActionOutcome:
    """Clone the session, with parts stripped."""
    from turnlog.api.clones import clone_session
    from turnlog.api.sentences import describe_clone
    from turnlog.api.strip import build_strip_options

    chosen = {name: call.get(name) for name in _STRIP_OPTIONS if call.get(name) is not None}
    result = clone_session(
        call.path,
        title=call.get("title"),
        strip=build_strip_options(**chosen, prefix="--"),
        portable=bool(call.get("portable")),
        dry_run=call.dry_run,
        notify=call.notify,
    )
    return _build_outcome(call, result, describe_clone(result))


def call_fork(call: ActionCall) -> ActionOutcome:
    """Create a session that continues from a point in this one."""
    from turnlog.api.clones import fork_session
    from turnlog.api.sentences import describe_fork

    result = fork_session(
        call.path,
        call.require("at"),
        title=call.get("title"),
        portable=bool(call.get("portable")),
        dry_run=call.dry_run,
        config=load_config(),
        notify=call.notify,
    )
    return _build_outcome(call, result, describe_fork(result))


def call_redact(call: ActionCall) -> ActionOutcome:
    """Find secrets, or create a session without them."""
    from turnlog.api.redaction import redact_session
    from turnlog.api.sentences import describe_redaction

    result = redact_session(
        call.path,
        clone=not call.dry_run,
        emails=bool(call.get("emails")),
        homes=bool(call.get("homes")),
        without=call.get("without") or (),
        title=None if call.dry_run else call.get("title"),
        notify=call.notify,
    )
    outcome = _build_outcome(call, result, describe_redaction(result))
    return outcome._replace(has_findings=bool(result.found and not result.is_written))


def call_repair(call: ActionCall) -> ActionOutcome:
    from turnlog.api.repairs import repair_session
    from turnlog.api.sentences import describe_repair

    only = call.get("only") or ()
    if call.get("force") and not call.get("in_place"):
        raise UsageError("--force requires --in-place")
    result = repair_session(
        call.path,
        only=only,
        in_place=bool(call.get("in_place")),
        title=call.get("title"),
        force=bool(call.get("force")),
        dry_run=call.dry_run,
        notify=call.notify,
    )
    outcome = _build_outcome(call, result, describe_repair(result, only))
    return outcome._replace(has_findings=not result.cured)


def call_rename(call: ActionCall) -> ActionOutcome:
    """Give the session a title."""
    from turnlog.api.changes import rename_session
    from turnlog.api.sentences import describe_label, list_label_remarks

    label = rename_session(call.path, call.require("title"), notify=call.notify)
    for remark in list_label_remarks(label):
        call.notify(remark)
    return ActionOutcome(describe_label(label))


def call_tag(call: ActionCall) -> ActionOutcome:
    """Give the session a tag, or remove its tag."""
    from turnlog.api.changes import tag_session
    from turnlog.api.sentences import describe_label, list_label_remarks

    tag = call.get("tag")
    if bool(call.get("remove")) is (tag is not None):
        raise UsageError("use either TAG or --remove")
    label = tag_session(call.path, tag, notify=call.notify)
    for remark in list_label_remarks(label):
        call.notify(remark)
    return ActionOutcome(describe_label(label, is_tag=True))


def call_export(call: ActionCall) -> ActionOutcome:
    """Export the session to the download folder."""
    from turnlog.api.exports import ExportOptions, check_export_options, export_session
    from turnlog.api.sentences import describe_export

    options = ExportOptions(
        turns=call.get("turns"),
        tools=not call.get("no_tools"),
        thinking=not call.get("no_thinking"),
        agents=not call.get("no_agents"),
        images=call.get("images"),
        redact=call.get("redact"),
        share=bool(call.get("share")),
    )
    form = call.get("format") or "html"
    check_export_options(options, form, prefix="--")
    result = export_session(call.path, f"{call.folder}/", format=form, options=options, notify=call.notify)
    words = "\n".join(describe_export(result, options))
    return ActionOutcome(words.replace(f"{call.folder}/", ""))


CALLS: Mapping[str, Callable[[ActionCall], ActionOutcome]] = {
    "clone": call_clone,
    "fork": call_fork,
    "redact": call_redact,
    "repair": call_repair,
    "export": call_export,
    "rename": call_rename,
    "tag": call_tag,
}
"""The functions by command name."""


def _build_outcome(call: ActionCall, result: Any, lines: Iterable[str]) -> ActionOutcome:
    """Return a description for a dry run, and the document otherwise."""
    return ActionOutcome("\n".join(lines)) if call.dry_run else ActionOutcome(document=to_document(result))
