"""`turnlog pack`: pack sessions into one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.api.packages import PackedSessions, SessionInPackage

_MAX_TITLE_CHARS = 200


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...")
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="File to write the package to, such as shop.tar.zst."
)
@click.option("--redact", is_flag=True, help="Replace API keys, tokens and passwords with placeholders.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def pack(sessions: tuple[str, ...], output: str, redact: bool, force: bool, as_json: bool) -> None:
    """Pack sessions and everything that belongs to them into one file.

    `turnlog unpack` restores them on a different machine or in a different folder, where Claude Code can resume them.
    The package is a tar archive compressed with zstd; its manifest contains the SHA-256 hash of every file. You can
    pack a session while it is open; the package contains its transcript up to the last complete line. SESSION is a
    path, an id, an id prefix, a title, or `last` (the most recent session).

    \b
    Examples:
      turnlog pack last -o shop.tar.zst
      turnlog pack bee7dbd3 0ddba11e -o both.tar.zst --redact
    """
    from turnlog.api.documents import to_document
    from turnlog.api.packages import pack_sessions
    from turnlog.cli.output import print_json, print_lines, print_remark

    package = pack_sessions(sessions, output, redact=redact, force=force, notify=print_remark)
    if as_json:
        print_json(to_document(package))
        return
    print_lines(_render_package(package))
    if any(item.bytes_left_out for item in package.sessions):
        print_remark("The last line was still being written and was left out.")


def _render_package(package: PackedSessions) -> Iterator[str]:
    from turnlog.cli.terminal import make_visible, to_visible_line
    from turnlog.render.figures import format_count, format_size

    yield from render_packed_sessions(package.sessions)
    amount = f"{format_count(package.files, 'file')}, {format_size(package.bytes)} in {format_size(package.size)}"
    yield f"Packed {format_count(len(package.sessions), 'session')} into {make_visible(str(package.path))}: {amount}"
    yield f"SHA-256 {package.sha256}"
    if package.redaction is not None:
        rules = ", ".join(f"{item.rule} {item.times:,}" for item in package.redaction.rules)
        times = f"{format_count(package.redaction.found, 'time')} ({rules})" if rules else "never"
        yield to_visible_line(
            f"Secrets replaced with placeholders: {times}; check the package yourself before you share it"
        )
    for path in package.left_out:
        yield "Left out " + make_visible(str(path))


def render_packed_sessions(sessions: Iterable[SessionInPackage]) -> Iterator[str]:
    """Render the sessions of a package, one per line."""
    from turnlog.cli.terminal import make_visible, to_visible_line
    from turnlog.render.figures import format_count, format_size

    for item in sessions:
        title = to_visible_line((item.title or "(no title)")[:_MAX_TITLE_CHARS])
        amount = f"{format_count(item.files, 'file')}, {format_size(item.bytes)}"
        yield f"{item.session_id}  {title}  ({amount}; {make_visible(item.project or 'no working folder')})"
