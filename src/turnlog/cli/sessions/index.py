"""`turnlog index`: show, update and rebuild the index of all sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.api.index import IndexReport, IndexVerification

INDEX_ACTIONS = ("status", "rebuild", "verify", "vacuum", "stop")


@click.command()
@click.argument("action", type=click.Choice(INDEX_ACTIONS), required=False)
@click.option("--wait", is_flag=True, help="Read everything now instead of leaving the rest to the background.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def index(action: str | None, wait: bool, as_json: bool) -> int:
    """Update the index of all sessions and show what it contains.

    Commands that need the index update it automatically, so you don't have to run this command. The index is stored in
    turnlog's own data folder. It doesn't contain any text, only the positions of text in the session files. Sessions
    that Claude Code has deleted are still counted.

    If more than 32 MB are new, turnlog first indexes usage, titles, prompts and answers. A background process reads the
    rest, newest files first. It has the lowest priority, gives way to other commands, and ends when everything is read.

    \b
    status     show what the index contains, without updating it
    rebuild    empty the index and read all sessions again
    verify     check the index and compare it with the files; exit status 1 on errors
    vacuum     merge the pieces of the index and free unused space
    stop       stop the background process; `turnlog index` starts it again

    \b
    Examples:
      turnlog index
      turnlog index --wait
      turnlog index verify
      turnlog index status --json | jq .size
    """
    from turnlog.api.documents import to_document
    from turnlog.cli.output import print_json, print_lines
    from turnlog.errors import UsageError

    if wait and action is not None:
        raise UsageError(f"--wait doesn't apply to `turnlog index {action}`; omit one of them")
    if action == "verify":
        from turnlog.api.index import verify_index
        from turnlog.cli.output import print_remark
        from turnlog.cli.progress import show_progress

        checked = verify_index(notify=print_remark, progress=show_progress("checking: step {done} of {total} …"))
        if as_json:
            print_json(to_document(checked))
        else:
            print_lines(_render_verification(checked))
        return 1 if checked.faults or checked.unlisted else 0
    report = _run_action(action, wait=wait)
    if as_json:
        print_json(to_document(report))
    else:
        print_lines(_render_status(report))
    return 0


def _run_action(action: str | None, *, wait: bool) -> IndexReport:
    from turnlog.api import index as api
    from turnlog.cli.index_bar import show_index_bar

    with show_index_bar() as bar:
        if action == "rebuild":
            return api.rebuild_index(notify=bar.notify, progress=bar.show)
        if action == "vacuum":
            return api.compact_index(notify=bar.notify)
        if action == "status":
            return api.read_index_status(notify=bar.notify)
        if action == "stop":
            return api.stop_indexing(notify=bar.notify)
        return api.update_index(notify=bar.notify, progress=bar.show, wait=wait)


def _render_verification(checked: IndexVerification) -> list[str]:
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count

    lines = [*checked.faults, *(f"{place}; its files were not compared" for place in checked.unlisted)]
    if checked.waiting:
        files = format_count(checked.waiting, "file")
        lines.append(f"Added or removed since the last update: {files}; the next command reads what is new.")
    if checked.cut_texts:
        pieces = format_count(checked.cut_texts, "piece")
        lines.append(f"Only the first 32 million characters of {pieces} of text are in the index.")
    if checked.needs_rebuild:
        lines.append("Run `turnlog index rebuild` to rebuild it.")
    elif checked.faults:
        lines.append("Run `turnlog index --wait` to rebuild these parts.")
    elif not checked.unlisted:
        lines.append(f"{checked.path}: no problems found")
    return [to_visible_line(line) for line in lines]


def _describe_rest(status: IndexReport) -> str:
    done = f"all conversations are indexed; other texts: {int(100 * status.share)} %, newest first"
    if status.paused is not None:
        return f"{done}; {status.paused}; run `turnlog index` to continue"
    return f"{done}; {'being read in the background' if status.filling else 'run `turnlog index --wait` to continue'}"


def _render_status(status: IndexReport) -> list[str]:
    from turnlog.cli import time_format
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count

    done = status.refreshed
    gone = f", {status.gone} of them deleted since" if status.gone else ""
    uncounted = []
    if status.without_conversation:
        uncounted.append(f"{format_count(status.without_conversation, 'file')} without a conversation")
    if status.without_transcript:
        uncounted.append(f"{format_count(status.without_transcript, 'session')} with only sub-agent files left")
    found = [
        to_visible_line(status.path),
        (
            f"{format_count(status.sessions, 'session')} in {format_count(status.files, 'file')}{gone}; "
            f"{time_format.format_size(status.read)} of text and data"
        ),
        ", ".join(
            format_count(count, noun)
            for count, noun in ((status.texts, "text"), (status.messages, "answer"), (status.calls, "call"))
        ),
        f"{time_format.format_size(status.size)} on disk",
    ]
    found[2:2] = [f"not counted: {words}" for words in uncounted]
    if not status.files:
        found.append("the index is empty; run `turnlog index` to read the sessions on this machine")
    elif status.unread and not done.left:
        found.append(f"{format_count(status.unread, 'file')} not indexed yet; run `turnlog index` to read the rest")
    if status.share < 1:
        found.append(_describe_rest(status))
    if status.others:
        found.append(
            f"{format_count(status.others, '.jsonl file')} not in it: the name is not a session id; `turnlog ls "
            f"--other` lists them"
        )
    if done.files:
        files, size = format_count(done.files, "file"), time_format.format_size(done.bytes)
        found.append(f"read {files}, {size}, in {done.seconds:.1f} s")
    return found
