"""Tries in a child process whether a command can be parsed.

The grammar's parser can't be interrupted, and its time and its stack have no bound: thirty pipes with a mistake among
them take longer than anybody waits. A longer command is therefore parsed in a child process first. If the child runs
out of time or crashes, the command counts as one that can't be checked, and the client never parses it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from functools import lru_cache

from turnlog.agent.key_shield import build_child_environment
from turnlog.agent.permissions.command.bash_line import MAX_LINE_CHARS, parse_bash_line
from turnlog.agent.permissions.command.runners import iterate_argument_commands, iterate_nested_commands

_MAX_UNTRIED_TOKENS = 30
"""The worst line of this size that a search for slow ones has found takes some milliseconds."""
_TOKEN_PATTERN = re.compile(r"\w+|[^\w \t]")
_MAX_CPU_SECONDS = 1.0
_MAX_SECONDS = 15.0
"""The limit where a process can't limit its own CPU time, and for a machine that is very busy."""
_STACK_BYTES = 1 << 20
"""Less than any thread of the client has, so that what fits here fits there."""


def can_parse(command: str) -> bool:
    """Return whether parsing a command neither takes too long nor crashes."""
    is_short = len(_TOKEN_PATTERN.findall(command[:MAX_LINE_CHARS])) <= _MAX_UNTRIED_TOKENS
    return is_short or len(command) > MAX_LINE_CHARS or _passes_trial(command)


@lru_cache(maxsize=128)
def _passes_trial(command: str) -> bool:
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "turnlog.agent.permissions.command.parse_trial"],
            input=command.encode("utf-8", "surrogatepass"),
            env=build_child_environment(os.environ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_MAX_SECONDS,
            start_new_session=os.name == "posix",  # Ctrl-C is for the client
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _parse_everything(command: str) -> None:
    """Parse all that deciding on a command parses."""
    for part in iterate_nested_commands(parse_bash_line(command)):
        for _ in iterate_argument_commands(part):
            pass


def run_trial() -> int:
    """Parse the command on standard input; a process that takes too long is ended by the system."""
    command = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
    if os.name == "posix":
        import resource
        import signal

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.setitimer(signal.ITIMER_PROF, _MAX_CPU_SECONDS)
    finished: list[bool] = []

    def try_parsing() -> None:
        _parse_everything(command)
        finished.append(True)

    threading.stack_size(_STACK_BYTES)
    thread = threading.Thread(target=try_parsing)
    thread.start()
    thread.join()
    return 0 if finished else 1


if __name__ == "__main__":
    sys.exit(run_trial())
