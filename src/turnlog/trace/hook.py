"""The program that Claude Code runs when a turn, a sub-agent or a session ends: it leaves a note and starts a worker.

    PYTHON -I -S hook.py FOLDER [--config FILE] [--since SECONDS] [--target NAME]…

Claude Code waits for this program, so it is a separate script that imports nothing from turnlog and very little from
Python, waits for nothing, prints nothing, and never fails. FOLDER is `trace` in turnlog's data folder.

    FOLDER/wakes/<ns>-<pid>.wake       first line: (version, surroundings, since, [targets]); then the hook's input
    FOLDER/wakes/starting-<mark>       a worker was started but has not read the wakes yet
"""

import os
import sys
import time

_MAX_INPUT_BYTES = 4 << 20
_WORKER_START_SECONDS = 10
_TARGET_VARIABLES = (
    "OTEL_EXPORTER_OTLP_",
    "OTEL_SDK_DISABLED",
    "OTEL_TRACES_EXPORTER",
    "LANGFUSE_",
    "CC_LANGFUSE_",
    "TRACE_TO_LANGFUSE",
    "TURNLOG_CONFIG",
)


def run_hook(arguments: list[str]) -> None:
    """Leave a wake, and make sure that a worker starts."""
    options, folder = _parse_options(arguments[1:]), arguments[0]
    config = options["--config"][-1:]
    environ = {**os.environ, **({"TURNLOG_CONFIG": config[0]} if config else {})}
    wakes, mark = os.path.join(folder, "wakes"), hash_surroundings(environ)  # noqa: PTH118 - pathlib costs more than the rest
    head = ascii((1, mark, options["--since"][-1:], options["--target"]))
    _write_wake(wakes, head.encode() + b"\n" + _read_input())
    if _is_first(os.path.join(wakes, f"starting-{mark}")):  # noqa: PTH118
        environ["TURNLOG_HOME"] = os.path.dirname(os.path.abspath(folder))  # noqa: PTH100, PTH120
        _start_worker([sys.executable, "-P", "-m", "turnlog", "trace", "work"], wakes, environ)


def hash_surroundings(environ: dict[str, str]) -> str:
    """Hash the variables that determine where spans are sent; a worker with different ones must not send them."""
    chosen = sorted(f"{name}={value}" for name, value in environ.items() if name.startswith(_TARGET_VARIABLES))
    digest = 0xCBF29CE484222325  # FNV-1a: a hash that needs no module
    for byte in "\0".join(chosen).encode("utf-8", "surrogateescape"):
        digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{digest:016x}"


def _parse_options(arguments: list[str]) -> dict[str, list[str]]:
    options: dict[str, list[str]] = {"--config": [], "--since": [], "--target": []}
    for name, value in zip(arguments[::2], arguments[1::2], strict=False):
        options.setdefault(name, []).append(value)
    return options


def _read_input() -> bytes:
    """Read the hook's input from Claude Code."""
    parts, size = [], 0
    while size < _MAX_INPUT_BYTES and (part := os.read(0, 1 << 16)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _write_wake(wakes: str, data: bytes) -> None:
    name = os.path.join(wakes, f"{time.time_ns():020d}-{os.getpid()}")  # noqa: PTH118
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        fd = os.open(name + ".tmp", flags, 0o600)
    except FileNotFoundError:
        os.makedirs(wakes, 0o700)  # noqa: PTH103
        fd = os.open(name + ".tmp", flags, 0o600)
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        os.close(fd)
        os.unlink(name + ".tmp")  # noqa: PTH108
        raise
    os.close(fd)
    os.rename(name + ".tmp", name + ".wake")  # noqa: PTH104


def _is_first(path: str) -> bool:
    """Return whether no other worker is starting; a starting worker deletes this file and then reads the wakes."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if abs(time.time() - os.stat(path).st_mtime) < _WORKER_START_SECONDS:  # noqa: PTH116
            return False
        os.utime(path)
    return True


def _start_worker(command: list[str], folder: str, environ: dict[str, str]) -> None:
    """Start a program that outlives this one, the terminal and Claude Code, and keeps none of their files open."""
    if not hasattr(os, "posix_spawn"):
        _start_on_windows(command, folder, environ)
        return
    os.chdir(folder)
    os.closerange(3, 64)
    nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    try:
        os.posix_spawn(command[0], command, environ, file_actions=nowhere, setsid=True)
    except NotImplementedError:  # systems that can't start a session this way
        os.posix_spawn(command[0], command, environ, file_actions=nowhere, setpgroup=0)


def _start_on_windows(command: list[str], folder: str, environ: dict[str, str]) -> None:
    import subprocess

    flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    none = subprocess.DEVNULL
    subprocess.Popen(
        command, cwd=folder, env=environ, stdin=none, stdout=none, stderr=none, close_fds=True, creationflags=flags
    )


if __name__ == "__main__":
    try:
        run_hook(sys.argv[1:])
    finally:
        os._exit(0)  # always success, without spending time on cleanup
