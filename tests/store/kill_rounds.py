"""Kills processes that index at random moments while another one searches.

`python -m tests.store.kill_rounds CONFIG DATA ROUNDS` prints how many processes it killed at work, and how many
searches were answered meanwhile. Each process is a fork of this one: starting an interpreter takes longer.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from tests.store.index_build import ONE, SLUG, TWO, Desk, main, recorded_lines
from tests.store.index_work import small_steps
from turnlog.store.index import refresh, shard_workers, shard_writer
from turnlog.store.index.refresh import ignore_progress
from turnlog.store.index.shards import list_full_text_tables
from turnlog.store.store import Store

FILES = (main(), main(TWO), f"projects/{SLUG}/{ONE}/subagents/agent-a1.jsonl")


def change(desk: Desk, chance: random.Random, lines: list[bytes]) -> None:
    """Let files grow, or replace or delete them."""
    for path in FILES:
        start = chance.randrange(len(lines) - 40)
        some = b"".join(lines[start : start + chance.choice([1, 5, 40])])
        match chance.randrange(8):
            case 0:
                desk.write(path, some)
            case 1:
                (desk.config / path).unlink(missing_ok=True)
            case _ if (desk.config / path).exists():
                desk.append(path, some)
            case _:
                desk.write(path, some)


def index(config: Path, data: Path, number: int) -> None:
    """Read everything at once, or in stages: the rest goes to the index, or to shards, or to processes."""
    refresh.MAX_WHOLE_BYTES = 1 << 30 if number % 4 == 0 else -1
    shard_workers.MIN_SHARD_BYTES = 1 << 30 if number % 4 == 1 else -1
    shard_workers.MIN_PROCESS_BYTES = -1 if number % 4 == 3 else 1 << 30
    shard_workers.count_shard_workers = lambda: 3
    shard_writer.MAX_COMMIT_SECONDS = 0.01
    with Store.open(data) as store:
        store.refresh([config], is_whole=False)
        refresh.fill_index(store.db, ignore_progress)


def read(data: Path) -> None:
    """Read what a search reads; any error ends the program."""
    with Store.open(data) as store:
        for schema, table in list_full_text_tables(store.db):
            store.db.execute(
                f"SELECT file, offset FROM {schema}.{table} JOIN {schema}.text ON text.id = {table}.rowid"
                f" WHERE {table} MATCH 'the' ORDER BY {table}.rowid DESC LIMIT 50"
            ).fetchall()
        store.db.execute("SELECT count(*) FROM call JOIN text ON text.file = call.file").fetchall()
        store.db.execute("SELECT sum(output) FROM spend").fetchall()


def choose_victim(pid: int, chance: random.Random) -> int:
    """The process itself, or one that it started."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    return chance.choice([pid, *map(int, children)])


def play(config: Path, data: Path, rounds: int) -> None:
    chance, lines = random.Random(7), recorded_lines()
    desk = Desk(config.parent)
    small_steps()
    cut_off = answered = 0
    for number in range(rounds):
        change(desk, chance, lines)
        pid = os.fork()
        if pid == 0:
            try:
                index(config, data, number)
            finally:
                os._exit(0)
        until = time.monotonic() + chance.uniform(0, 1.5 if number % 4 == 3 else 0.08)
        while time.monotonic() < until:
            read(data)
            answered += 1
        with suppress(ProcessLookupError):  # it may just have ended
            os.kill(choose_victim(pid, chance), signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        cut_off += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    print(cut_off, answered)


if __name__ == "__main__":
    play(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
