"""`turnlog check`: what is broken, unusual or new in session files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from turnlog.api.config import Config
    from turnlog.cli.health.findings import CheckedFile


@click.command()
@click.argument("names", metavar="SESSION|FILE|DIR...", nargs=-1, required=True)
@click.option("--requests", is_flag=True, help="Prove our messages by the requests that the file records.")
@click.option("--resumable", is_flag=True, help="Judge whether the client and the API would go on with it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def check(names: tuple[str, ...], requests: bool, resumable: bool, as_json: bool) -> int:
    """Say what is broken, unusual or new in session files.

    Errors are what the client or turnlog can't read or resume; warnings what looks damaged; notes what is good
    to know. Types and fields that this version has not heard of are listed as news of the format. In a folder,
    all .jsonl files below it are checked, sub-agents too. The exit status is 1 if there is any error.

    With --resumable, what would be resumed is judged by the rules of the client and of the Messages API: links,
    calls with their results, thinking, images, and what older clients would lose. `turnlog doctor` explains the same
    in other words, with remedies.

    \b
    Examples:
      turnlog check last
      turnlog check ~/.claude/projects
      turnlog check last --requests
      turnlog check last --resumable
      turnlog check damaged.jsonl --json
    """
    from turnlog.api.config import load_config
    from turnlog.cli.health.findings import CheckReport
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    report = CheckReport(list(_check_files(list(_find_files(names, config)), requests, resumable)))
    if as_json:
        print_json(report.to_document())
    else:
        print_lines(report.render_lines(detect_screen(config.color), requests))
    return 1 if report.count_findings("error") or any(file.is_refused for file in report.files) else 0


def _find_files(names: Iterable[str], config: Config) -> Iterator[Path]:
    """The files that the words of the call mean, each once."""
    from pathlib import Path

    from turnlog.cli.named_sessions import locate_named_session

    seen: set[Path] = set()
    for name in names:
        folder = Path(os.path.expanduser(name))  # noqa: PTH111 - Path raises for ~nobody
        found = _find_session_files(folder) if folder.is_dir() else [locate_named_session(name, config)]
        for path in found:
            if path not in seen:
                seen.add(path)
                yield path


def _find_session_files(folder: Path) -> list[Path]:
    """The session files in a folder; what the client keeps of all prompts beside them is none."""
    found = sorted(path for path in folder.rglob("*.jsonl") if path.is_file() and path.name != "history.jsonl")
    if not found:
        from turnlog.errors import NotFound

        raise NotFound(f"{folder}: there are no .jsonl files in it")
    return found


def _check_files(paths: list[Path], requests: bool, resumable: bool) -> Iterator[CheckedFile]:
    import sys

    from turnlog.cli.health.findings import check_session_file

    watched = len(paths) > 1 and sys.stderr is not None and sys.stderr.isatty()
    for number, path in enumerate(paths, 1):
        if watched:
            sys.stderr.write(f"\rchecking {number} of {len(paths)} …")
            sys.stderr.flush()
        yield check_session_file(path, requests, resumable)
    if watched:
        sys.stderr.write("\r\x1b[K")
