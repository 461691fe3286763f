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
    project: str | None = None
    """The folder of the session's project."""

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


def call_pack(call: ActionCall) -> ActionOutcome:
    """Pack the session into the download folder."""
    from turnlog.api.packages import pack_sessions
    from turnlog.render.figures import format_count, format_size

    assert call.folder is not None
    goal = call.folder / f"{call.path.stem}.turnlog"
    package = pack_sessions([call.path], goal, redact=bool(call.get("redact")), notify=call.notify)
    amount = f"{format_count(package.files, 'file')}, {format_size(package.bytes)} in {format_size(package.size)}"
    return ActionOutcome(f"Packed into {goal.name}: {amount}\nSHA-256 {package.sha256}")


def call_archive(call: ActionCall) -> ActionOutcome:
    """Keep a copy of the session in the archive."""
    from turnlog.api.archives import archive_sessions
    from turnlog.render.figures import format_size

    run = archive_sessions([call.path.stem], config=load_config())
    for trouble in run.troubles:
        call.notify(trouble)
    if run.archived:
        return ActionOutcome(f"Archived: {format_size(run.bytes_read)} read, {format_size(run.bytes_stored)} stored")
    return ActionOutcome("The archive already had everything in this session.")


def call_move(call: ActionCall) -> ActionOutcome:
    """Give the sessions of the project the new path of its folder."""
    from turnlog.api.changes import move_project
    from turnlog.render.figures import format_count

    assert call.project is not None
    result = move_project(
        call.project,
        call.require("new_path"),
        text=bool(call.get("text")),
        merge=bool(call.get("merge")),
        force=bool(call.get("force")),
        dry_run=call.dry_run,
        config=load_config(),
        notify=call.notify,
    )
    verb, now = ("Would move", "becomes") if result.dry_run else ("Moved", "is now")
    sessions = format_count(sum(len(folder.sessions) for folder in result.folders), "session")
    changed = "would change" if result.dry_run else "changed"
    lines = f"{format_count(result.lines, 'line')} {changed} in {format_count(result.files, 'file')}"
    undo = "" if result.change is None else f"\n`turnlog undo {result.change}` takes it back."
    return ActionOutcome(f"{verb} {sessions}: {result.old_path} {now} {result.new_path}\n{lines}{undo}")


def call_delete(call: ActionCall) -> ActionOutcome:
    """Move the session to the trash."""
    from turnlog.api.trash import delete_session
    from turnlog.render.figures import format_count, format_size

    has_history = bool(call.get("history"))
    done = delete_session(
        call.path,
        history=has_history,
        force=bool(call.get("force")),
        dry_run=call.dry_run,
        config=load_config(),
        notify=call.notify,
    )
    (item,) = done.sessions
    amount = f"{format_count(item.files, 'file')}, {format_size(item.bytes)}"
    if has_history:
        amount += f", {format_count(item.history_lines, 'line')} of history.jsonl"
    if call.dry_run:
        return ActionOutcome(f"Would move to the trash: {amount}. `turnlog undelete {item.session_id}` restores it.")
    return ActionOutcome(f"Moved to the trash: {amount}. `turnlog undelete {item.session_id}` restores it.")


CALLS: Mapping[str, Callable[[ActionCall], ActionOutcome]] = {
    "clone": call_clone,
    "fork": call_fork,
    "redact": call_redact,
    "repair": call_repair,
    "export": call_export,
    "rename": call_rename,
    "tag": call_tag,
    "pack": call_pack,
    "archive": call_archive,
    "move": call_move,
    "delete": call_delete,
}
"""The functions by command name."""


def _build_outcome(call: ActionCall, result: Any, lines: Iterable[str]) -> ActionOutcome:
    """Return a description for a dry run, and the document otherwise."""
    return ActionOutcome("\n".join(lines)) if call.dry_run else ActionOutcome(document=to_document(result))
