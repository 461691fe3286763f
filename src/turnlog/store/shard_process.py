"""A process that fills one shard of an index: `python -m turnlog.store.shard_process INDEX NUMBER TASK`.

It prints how many bytes it has read, and ends when its work is done or when its standard input is closed, which is also
the case when the process that started it dies.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

from turnlog.store.index.shard_writer import ShardTask, fill_shard


def run_shard_process(index: Path, number: int, task: ShardTask) -> None:
    """Fill a shard until it is complete or nobody waits for it any more."""
    fill_shard(index, number, _print_bytes, _watch_input(), task)


def _print_bytes(done: int) -> None:
    try:
        print(done, flush=True)
    except OSError:  # the process that started this one is gone; `is_stopped` notices it too
        return


def _watch_input() -> Callable[[], bool]:
    """Return a function that says whether standard input was closed."""
    if sys.platform == "win32":
        is_closed = threading.Event()

        def wait_for_end() -> None:
            sys.stdin.buffer.read()
            is_closed.set()

        threading.Thread(target=wait_for_end, daemon=True).start()
        return is_closed.is_set
    import select

    # Asked directly: after the other side's death, not even one more transaction may start.
    return lambda: bool(select.select([0], [], [], 0)[0])


if __name__ == "__main__":
    run_shard_process(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])  # type: ignore[arg-type]
