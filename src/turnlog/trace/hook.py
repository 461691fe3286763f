"""The program that Claude Code runs as a hook: it leaves a note for the tracing worker, a report for watchers, or both.

    PYTHON -I -S hook.py FOLDER [--config FILE] [--since SECONDS] [--target NAME]… [--for trace] [--for live]

Claude Code waits for this program, so it is a separate script that imports nothing from turnlog and hardly anything
from Python, waits for nothing, prints nothing, and never fails. FOLDER is `trace` in turnlog's data folder. Without
`--for`, the program only leaves notes for the worker.

    FOLDER/wakes/<ns>-<pid>.wake       first line: (version, surroundings, since, [targets]); then the hook's input
    FOLDER/wakes/starting-<mark>       a worker was started, and has not read the wakes yet
    FOLDER/../hook-reports/<day>.jsonl         one report per line; `live.hook_reports` reads them
    FOLDER/../hook-reports/<day>-<ns>.jsonl    full files
"""

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MAX_INPUT_BYTES = 4 << 20
_INPUT_TIMEOUT_SECONDS = 5
"""Less than the time that Claude Code allows, so that a report is written even if nobody closes our input."""
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
_REPORTED_FIELDS = {
    "Notification": ("notification_type", "message"),
    "PermissionRequest": ("tool_name",),
    "PreCompact": ("trigger",),
    "SessionEnd": ("reason",),
    "SessionStart": ("source",),
    "Stop": (),
    "SubagentStop": (),
    "UserPromptSubmit": (),
}
"""What a report copies from the input of an event, besides the ids; never a prompt, an answer or an argument."""
_TRACED_EVENTS = ("Stop", "SubagentStop", "SessionEnd")
_MAX_FIELD_CHARS = 200
_MAX_REPORT_BYTES = 4000
"""A report must be short: each line is appended with a single write, so that several processes can append at once."""
_MAX_SPOOL_BYTES = 1 << 20
_MAX_SPOOLS = 8
_MAX_ANCESTORS = 3
"""How many of the processes above this one are reported: a client may start a hook through a shell or two."""


def run_hook(arguments: list[str]) -> None:
    """Write what the arguments request: a report, a wake, or both."""
    options, folder = _parse_options(arguments[1:]), arguments[0]
    purposes = options["--for"] or ["trace"]
    data = _read_input()
    event: object = None
    try:
        if "live" in purposes:
            fields = _parse_fields(data)
            event = fields.get("hook_event_name")
            if (line := build_report(fields, time.time(), _list_ancestors(), _read_process_space())) is not None:
                _append_report(os.path.join(os.path.dirname(os.path.abspath(folder)), "hook-reports"), line)  # noqa: PTH100, PTH118, PTH120 - pathlib costs more than the rest
    finally:
        if "trace" in purposes and (event in _TRACED_EVENTS or event not in _REPORTED_FIELDS):
            _request_worker(folder, options, data)


# -- reports


def _parse_fields(data: bytes) -> dict[str, object]:
    """Parse the fields of the input, up to the first one that was cut off."""
    scan_string, scan_value = _load_json_scanners()
    text = data.decode("utf-8", "replace")
    fields: dict[str, object] = {}
    try:
        at = _skip_characters(text, text.index("{") + 1, " \t\r\n")
        while text[at] == '"':
            name, at = scan_string(text, at + 1, False)
            value, at = scan_value(text, _skip_characters(text, at, " \t\r\n:"))
            fields[name] = value
            at = _skip_characters(text, at, " \t\r\n,")
    except (StopIteration, ValueError, IndexError, RecursionError, SystemError):
        pass  # Python 3.11 fails with a SystemError, because `json` isn't loaded
    return fields


def _load_json_scanners() -> "tuple[Callable[..., Any], Callable[..., Any]]":
    """Return the functions that scan a string and a value.

    Importing `json` takes as long as starting Python; importing only the part that is written in C takes no time.
    """
    try:
        import _json

        settings: Any = _ScannerSettings
        return _json.scanstring, _json.make_scanner(settings)
    except (ImportError, AttributeError, TypeError):  # other Pythons don't have it
        import json.decoder

        decoder: Any = json.decoder
        return decoder.scanstring, decoder.JSONDecoder(strict=False).scan_once


class _ScannerSettings:
    """The attributes that the scanner reads from a `json.JSONDecoder`."""

    strict = False
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _skip_characters(text: str, at: int, characters: str) -> int:
    while text[at] in characters:
        at += 1
    return at


def _list_ancestors() -> "list[tuple[int, int]]":
    """List the processes that started this one, each with its start in clock ticks since boot; empty where unknown."""
    found: list[tuple[int, int]] = []
    pid = os.getppid()
    while pid > 1 and len(found) < _MAX_ANCESTORS:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read(1024).rpartition(b")")[2].split()
            found.append((pid, int(fields[19])))
            pid = int(fields[1])
        except (OSError, ValueError, IndexError):
            break
    return found


def _read_process_space() -> int | None:
    """Return the number of the process namespace: a container has its own, where process ids mean something else."""
    try:
        return int(os.readlink("/proc/self/ns/pid")[5:-1])  # noqa: PTH115 - `pid:[4026531836]`
    except (OSError, ValueError):
        return None


def build_report(
    fields: dict[str, object],
    now: float,
    ancestors: "list[tuple[int, int]] | tuple[()]" = (),
    process_space: int | None = None,
) -> bytes | None:
    """Build the line for an event that is reported; None for any other event."""
    event = fields.get("hook_event_name")
    if not isinstance(event, str) or event not in _REPORTED_FIELDS:
        return None
    parts = [f'"event":"{event}","time":{now:.3f}']
    parts += [
        f'"{name}":{_quote_text(value[:_MAX_FIELD_CHARS])}'
        for name in ("session_id", "agent_id", *_REPORTED_FIELDS[event])
        if isinstance(value := fields.get(name), str)
    ]
    tasks = fields.get("background_tasks")
    if isinstance(tasks, list):
        parts.append(f'"background":{len([task for task in tasks if _is_running(task)])}')
    if process_space is not None:
        parts.append(f'"process_space":{process_space}')
    if ancestors:
        parts.append('"processes":[' + ",".join(f"[{pid},{start}]" for pid, start in ancestors) + "]")
    line = ("{" + ",".join(parts) + "}").encode("ascii")
    return line if len(line) <= _MAX_REPORT_BYTES else None


def _quote_text(text: str) -> str:
    """Quote text for JSON; anything but plain ASCII text is escaped."""
    if text.isascii() and text.isprintable() and not {'"', "\\"} & {*text}:
        return f'"{text}"'
    units = text.encode("utf-16-be", "surrogatepass")
    return '"' + "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)) + '"'


def _is_running(task: object) -> bool:
    return isinstance(task, dict) and task.get("status") == "running"


def _append_report(folder: str, line: bytes) -> None:
    path = os.path.join(folder, time.strftime("%Y-%m-%d.jsonl", time.gmtime()))  # noqa: PTH118
    # A link is not followed, and a pipe is not waited for.
    flags = os.O_WRONLY | os.O_APPEND
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
        flags |= getattr(os, name, 0)
    is_new = False
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        is_new = True
        os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103
        fd = os.open(path, flags | os.O_CREAT, 0o600)
    status = os.fstat(fd)
    if status.st_mode & 0o170000 == 0o100000:  # a regular file
        # It starts a new line too: a full disk may have cut off the one before.
        os.write(fd, b"\n" + line + b"\n")
    if status.st_size > _MAX_SPOOL_BYTES:
        os.rename(path, f"{path[:-6]}-{time.time_ns()}.jsonl")  # noqa: PTH104
    if is_new:
        _remove_old_spools(folder, path)


def _remove_old_spools(folder: str, current: str) -> None:
    """Delete all but the newest spools, so that they don't pile up if nobody reads them."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".jsonl"))  # noqa: PTH208
    for name in names[:-_MAX_SPOOLS]:
        if (path := os.path.join(folder, name)) != current:  # noqa: PTH118
            os.unlink(path)  # noqa: PTH108


# -- wakes


def _request_worker(folder: str, options: dict[str, list[str]], data: bytes) -> None:
    """Leave a wake, and make sure that a worker starts."""
    config = options["--config"][-1:]
    environ = {**os.environ, **({"TURNLOG_CONFIG": config[0]} if config else {})}
    wakes, mark = os.path.join(folder, "wakes"), hash_surroundings(environ)  # noqa: PTH118
    head = ascii((1, mark, options["--since"][-1:], options["--target"]))
    _write_wake(wakes, head.encode() + b"\n" + data)
    if _is_first(os.path.join(wakes, f"starting-{mark}")):  # noqa: PTH118
        environ["TURNLOG_HOME"] = os.path.dirname(os.path.abspath(folder))  # noqa: PTH100, PTH120
        _start_worker([sys.executable, "-P", "-m", "turnlog", "trace", "work"], wakes, environ)


def hash_surroundings(environ: dict[str, str]) -> str:
    """Hash the variables that determine where spans are sent; a worker with different values must not send them."""
    chosen = sorted(f"{name}={value}" for name, value in environ.items() if name.startswith(_TARGET_VARIABLES))
    digest = 0xCBF29CE484222325  # FNV-1a: a hash that needs no module
    for byte in "\0".join(chosen).encode("utf-8", "surrogateescape"):
        digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{digest:016x}"


def _parse_options(arguments: list[str]) -> dict[str, list[str]]:
    options: dict[str, list[str]] = {"--config": [], "--since": [], "--target": [], "--for": []}
    for name, value in zip(arguments[::2], arguments[1::2], strict=False):
        options.setdefault(name, []).append(value)
    return options


def _read_input() -> bytes:
    """Read the hook's input from Claude Code, or as much of it as arrives in time."""
    parts, size = [], 0
    _limit_wait()
    try:
        while size < _MAX_INPUT_BYTES and (part := os.read(0, 1 << 16)):
            parts.append(part)
            size += len(part)
    except OSError:
        pass
    return b"".join(parts)


def _limit_wait() -> None:
    """Raise a TimeoutError in a call that takes too long, on systems that support this."""
    import _signal  # type: ignore[import-not-found]  # `signal` takes as long to import as Python to start

    def stop_waiting(*_: object) -> None:
        raise TimeoutError

    if hasattr(_signal, "alarm"):
        _signal.signal(_signal.SIGALRM, stop_waiting)
        _signal.alarm(_INPUT_TIMEOUT_SECONDS)


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
