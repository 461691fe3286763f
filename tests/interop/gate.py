"""`make interop`: turnlog against fresh recordings of the real client.

The newest client resumes our test sessions; what it sends must be what turnlog says. The old client must
resume every session that the newest resumes, and send the same where the session is one chain (elsewhere it
loses parallel calls). Then turnlog makes and changes sessions in all its ways (`edits`), and both clients resume the
results (`edited_sessions`).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.interop import edited_sessions
from tests.interop.clients import NEWEST, ROOT, client, install, list_missing_clients
from tests.interop.edits import EDITS
from tests.interop.recordings import DATA, SETS, load, record
from tests.interop.report import edit_table, table, write_docs, write_edits
from tests.interop.verdicts import Verdict, newest_verdict, old_verdict

SAMPLE = 25


def main(words: list[str] | None = None) -> int:
    """Run the gate; 0 when nothing differs."""
    options = parse(words)
    if wanted := list_missing_clients():
        obstacle = install(wanted)
        if obstacle:
            ci = os.environ.get("CI") == "true"
            print(f"interop: {obstacle}" + ("" if ci else "\ninterop: skipped"), file=sys.stderr)
            return int(ci)
    began = time.monotonic()
    passed = failed = 0
    for part in (sessions, edits):
        if options.only in (None, part.__name__):
            counted = part(options)
            passed, failed = passed + counted[0], failed + counted[1]
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


def sessions(options: argparse.Namespace) -> tuple[int, int]:
    """Resume the recorded sessions as they are; how many passed and failed."""
    verdicts = run(files() if options.all else sample(files(), options.sample), options.jobs)
    print(table(verdicts))
    for verdict in verdicts:
        if verdict.reason:
            print(f"{verdict.version} {verdict.word} {verdict.file}\n    {verdict.reason}")
    if options.write_docs:
        write_docs(ROOT / "docs" / "interop.md", verdicts)
    failed = sum(1 for verdict in verdicts if verdict.reason)
    return len(verdicts) - failed, failed


def edits(options: argparse.Namespace) -> tuple[int, int]:
    """Make and change sessions and resume the results; how many passed and failed."""
    chosen = tuple(edit for edit in EDITS if edit.name.startswith(options.edit or ""))
    outcomes = edited_sessions.run(edited_sessions.tasks(chosen, None if options.all else options.edited), options.jobs)
    print(edit_table(outcomes))
    for outcome in outcomes:
        if outcome.reason:
            print(f"{outcome.edit}: {outcome.file}\n    {outcome.reason}")
    if absent := [edit.name for edit in chosen if not edit.is_there]:
        print(f"not there yet: {'; '.join(absent)}")
    if options.write_docs and not options.edit:
        write_edits(ROOT / "docs" / "interop.md", outcomes)
    failed = sum(1 for outcome in outcomes if outcome.reason)
    return len(outcomes) - failed, failed


def parse(words: list[str] | None) -> argparse.Namespace:
    """The words of the call."""
    parser = argparse.ArgumentParser(prog="interop", description="Compare turnlog with the real client.")
    parser.add_argument("--all", action="store_true", help="every session, not a sample")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="how many sessions (default: %(default)s)")
    parser.add_argument("--only", choices=("sessions", "edits"), help="only this part")
    parser.add_argument("--edit", metavar="NAME", help="only edits whose name begins so")
    parser.add_argument(
        "--edited",
        type=int,
        default=edited_sessions.SAMPLE,
        help="how many sessions for each edit (default: %(default)s)",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="clients at a time")
    parser.add_argument("--write-docs", action="store_true", help="write the results into docs/interop.md")
    return parser.parse_args(words)


def files() -> list[str]:
    """The recorded files of the repository, relative to its data folder."""
    return [f"{name}/{entry.file}" for name in SETS for entry in load(DATA / f"{name}.oracle.jsonl")]


def sample(names: list[str], size: int) -> list[str]:
    """Some files, always the same ones: new files push out few of the others."""
    chosen = sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:size]
    return sorted(chosen)


def run(names: list[str], jobs: int) -> list[Verdict]:
    """Resume the files with both clients and judge."""
    paths = {name: DATA / name for name in names}
    fresh = record(client(NEWEST), DATA, list(paths.values()), jobs)
    newest = [newest_verdict(entry, paths[entry.file]) for entry in fresh]
    resumed = [entry.file for entry in fresh if entry.outcome == "sent"]
    with ThreadPoolExecutor(jobs) as pool:
        old = pool.map(old_verdict, resumed, (paths[name] for name in resumed))
        return [*newest, *old]
