"""`make interop`: turnlog against fresh recordings of the real client.

The newest client resumes our test sessions; what it sends must be what turnlog says. The old client must
resume every session that the newest resumes, and send the same where the session is one chain (elsewhere it
loses parallel calls).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.interop.clients import NEWEST, ROOT, client, install, missing
from tests.interop.recordings import DATA, SETS, load, record
from tests.interop.report import table, write_docs
from tests.interop.verdicts import Verdict, newest_verdict, old_verdict

SAMPLE = 25


def main(words: list[str] | None = None) -> int:
    """Run the gate; 0 when nothing differs."""
    options = parse(words)
    if wanted := missing():
        obstacle = install(wanted)
        if obstacle:
            ci = os.environ.get("CI") == "true"
            print(f"interop: {obstacle}" + ("" if ci else "\ninterop: skipped"), file=sys.stderr)
            return int(ci)
    began = time.monotonic()
    verdicts = run(files() if options.all else sample(files(), options.sample), options.jobs)
    print(table(verdicts))
    for verdict in verdicts:
        if verdict.reason:
            print(f"{verdict.version} {verdict.word} {verdict.file}\n    {verdict.reason}")
    if options.write_docs:
        write_docs(ROOT / "docs" / "interop.md", verdicts)
    failed = sum(1 for verdict in verdicts if verdict.reason)
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{len(verdicts) - failed} passed, {failed} failed")
    return int(failed > 0)


def parse(words: list[str] | None) -> argparse.Namespace:
    """The words of the call."""
    parser = argparse.ArgumentParser(prog="interop", description="Compare turnlog with the real client.")
    parser.add_argument("--all", action="store_true", help="every session, not a sample")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="how many sessions (default: %(default)s)")
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
