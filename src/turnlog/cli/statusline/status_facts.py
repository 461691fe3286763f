"""The facts for a status line, from Claude Code's JSON, the end of the transcript, git's files and the index.

Claude Code reruns the status line constantly while the user types, so this must take barely longer than starting the
interpreter: it imports only cheap standard library modules and reads only the end of a transcript. `_json` and
`_sqlite3` are the C parts of `json` and `sqlite3`; if an interpreter lacks them, the full modules are used.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False  # like in typing, which takes as long to import as the rest of this module
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

TAIL_SIZES_BYTES = (64 * 1024, 1 << 20, 8 << 20)
"""How many bytes at the end of a transcript to read, in growing steps."""
MILLION_TOKENS = 1_000_000
PICO_PER_DOLLAR = 10**12
_MAX_PARENT_FOLDERS = 100
"""Number of parent folders in which to look for a repository."""
_HELD_TOKEN_FIELDS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_DAY_SECONDS = 86_400


def decode_status_json(text: str) -> Any:
    """Decode JSON; raise `ValueError` if it is invalid."""
    try:
        from _json import make_scanner
    except ImportError:
        from json import loads

        return loads(text)

    class Rules:
        strict = False
        object_hook = object_pairs_hook = None
        parse_float = float
        parse_int = int
        parse_constant = float
        memo: dict[str, str] = {}  # noqa: RUF012 - the scanner's own

    try:
        return make_scanner(Rules())(text.strip(" \t\r\n"), 0)[0]  # type: ignore[arg-type]
    except (StopIteration, RecursionError, SystemError) as error:  # last: the scanner lacks the error class of `json`
        raise ValueError("no JSON") from error


def to_status_number(value: object) -> float | None:
    """Return a finite number, or None."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15
    return value if fits and isinstance(value, int | float) else None


def get_nested_value(value: object, *names: str) -> Any:
    """Look up nested keys; return None if one is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def to_status_text(value: object) -> str:
    return value if isinstance(value, str) else ""


# -- the context window


def measure_fill(given: object) -> tuple[int | None, int | None]:
    """Find the tokens of the latest request and the window size, in Claude Code's JSON or else in the transcript."""
    size = to_status_number(get_nested_value(given, "context_window", "context_window_size"))
    usage = get_nested_value(given, "context_window", "current_usage")
    model = to_status_text(get_nested_value(given, "model", "id"))
    held = _count_held_tokens(usage) if isinstance(usage, dict) else None
    told = get_nested_value(given, "context_window")
    is_empty = isinstance(told, dict) and told.get("current_usage", "") is None  # Claude Code reports no usage yet
    if held is None and not is_empty:
        held, answered_by = read_last_fill(to_status_text(get_nested_value(given, "transcript_path")))
        model = model or answered_by
    return held, int(size) if size else find_model_window(model, held or 0)


def _count_held_tokens(usage: object) -> int | None:
    """Count the tokens of a message's last request; the top-level counts are sums over all its requests."""
    listed = get_nested_value(usage, "iterations")
    for item in reversed(listed) if isinstance(listed, list) else ():
        if get_nested_value(item, "type") not in ("advisor_message", "compaction"):
            return _count_prompt_tokens(item) or _count_prompt_tokens(usage)
    return _count_prompt_tokens(usage)


def _count_prompt_tokens(usage: object) -> int | None:
    found = [to_status_number(get_nested_value(usage, name)) for name in _HELD_TOKEN_FIELDS]
    split = [
        to_status_number(get_nested_value(usage, "cache_creation", f"ephemeral_{life}_input_tokens"))
        for life in ("5m", "1h")
    ]
    written = max(found[2] or 0, sum(count or 0 for count in split))
    return int((found[0] or 0) + (found[1] or 0) + written) or None


def read_last_fill(path: str) -> tuple[int | None, str]:
    """Read the tokens and model of the last answer in a transcript; both are missing if a compaction follows it."""
    for size in TAIL_SIZES_BYTES:
        key, best, model = "", 0, ""
        for body in _read_last_entries(path, size):
            if body.get("subtype") == "compact_boundary":
                return (best or None), model
            message = body.get("message")
            kind = body.get("type", get_nested_value(message, "role"))  # some tools omit the type of answers
            if kind != "assistant" or body.get("isSidechain") or not isinstance(message, dict):
                continue
            held = _count_held_tokens(message.get("usage"))
            if message.get("model") == "<synthetic>" or held is None:
                continue
            own = to_status_text(message.get("id")) or to_status_text(body.get("uuid"))
            if best and own != key:
                return best, model
            # The lines of one message repeat its usage, and the largest value counts.
            key, best, model = own, max(best, held), to_status_text(message.get("model"))
        if best:
            return best, model
    return None, ""


def _read_last_entries(path: str, size: int) -> Iterator[dict[str, Any]]:
    """Yield the last entries of a file, newest first, skipping lines that are cut off or not JSON."""
    for raw in reversed(_read_tail(path, size)):
        if b'"usage"' in raw or b'"compact_boundary"' in raw:
            try:
                body = decode_status_json(raw.decode("utf-8", "replace"))
            except ValueError:
                continue
            if isinstance(body, dict):
                yield body


def _read_tail(path: str, size: int) -> list[bytes]:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs as much as the interpreter
            start = max(0, file.seek(0, 2) - size)
            file.seek(start)
            return file.read(size).split(b"\n")[1 if start else 0 :]
    except (OSError, ValueError):
        return []


def find_model_window(model: str, held: int) -> int | None:
    """Return the size of a model's context window, as in `turnlog context`.

    If the model has two sizes, this is the larger one only if `held` exceeds the smaller.
    """
    if not model:
        return None
    if model.endswith("[1m]"):
        return MILLION_TOKENS
    known = get_nested_value(
        _load_prices(), "models", model.rstrip("0123456789").rstrip("-") if model[-8:].isdecimal() else model
    )
    if isinstance(known, dict):
        return int(known["context_window"] if held <= known["context_window"] else known["max_window"])
    from turnlog.session.usage import prices  # handles every spelling of a model's name, but is slow to import

    return prices.find_context_window(model, held)


def _load_prices() -> object:
    # Without pathlib, which takes longer to load than the rest of the line.
    path = os.path.join(os.path.dirname(__file__), "..", "..", "session", "usage", "prices.json")  # noqa: PTH118, PTH120
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return decode_status_json(file.read())


# -- the folder


def find_git_branch(folder: str) -> str:
    """Read the checked-out git branch, or the start of the commit id, without running git."""
    for _ in range(_MAX_PARENT_FOLDERS):
        place = os.path.join(folder, ".git")  # noqa: PTH118
        if os.path.exists(place):  # noqa: PTH110
            return _read_git_head(place)
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder or not above:
            break
        folder = above
    return ""


def _read_git_head(place: str) -> str:
    if os.path.isfile(place):  # noqa: PTH113 - a worktree or submodule names its folder in a file
        named = _read_first_line(place).removeprefix("gitdir:").strip()
        place = os.path.join(os.path.dirname(place), named)  # noqa: PTH118, PTH120
    head = _read_first_line(os.path.join(place, "HEAD"))  # noqa: PTH118
    return head.removeprefix("ref:").strip().removeprefix("refs/heads/") if head.startswith("ref:") else head[:7]


def _read_first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.readline(4096).strip()
    except (OSError, ValueError):
        return ""


# -- money and time


def read_cost_today(transcript: str) -> tuple[float, bool] | None:
    """Return today's cost from the index, and whether the index covers this session to its end.

    The index is read only if it exists and is not locked; this function never builds one and never waits.
    """
    from turnlog.store.index_file_name import build_index_name

    further = tuple(filter(None, os.environ.get("TURNLOG_CONFIG_DIRS", "").split(os.pathsep)))
    path = os.path.join(data_folder(), build_index_name(further))  # noqa: PTH118
    if not os.path.isfile(path):  # noqa: PTH113
        return None
    try:
        from _sqlite3 import connect
    except ImportError:
        from sqlite3 import connect

    try:
        with_slashes = os.path.abspath(path).replace("\\", "/").replace("%", "%25").replace("?", "%3f")  # noqa: PTH100
        address = "file:" + ("/" if with_slashes[1:2] == ":" else "") + with_slashes.replace("#", "%23") + "?mode=ro"
        db = connect(address, uri=True, timeout=0)
        try:
            row = db.execute(
                "SELECT total(cost), count(*) FROM spend WHERE hour >= ?", (_find_midnight() // 3600,)
            ).fetchone()
            read = db.execute("SELECT offset FROM file WHERE path = ?", (transcript,)).fetchone()
        finally:
            db.close()
    except Exception:  # noqa: BLE001 - an index that is busy, damaged or of another version tells nothing
        return None
    if not row[1]:
        return None
    return row[0] / PICO_PER_DOLLAR, read is not None and read[0] == _read_file_size(transcript)


def _read_file_size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except (OSError, ValueError):
        return -1


def _find_midnight() -> int:
    now = time.localtime()
    return int(time.mktime((now.tm_year, now.tm_mon, now.tm_mday, 0, 0, 0, 0, 0, -1)))


def data_folder() -> str:
    """Return turnlog's data folder, as `turnlog.api.config.data_dir` does."""
    home = os.path.expanduser
    if named := os.environ.get("TURNLOG_HOME"):
        return home(named)
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or home("~/AppData/Local"), "turnlog")  # noqa: PTH118
    if sys.platform == "darwin":
        return home("~/Library/Application Support/turnlog")
    base = os.environ.get("XDG_DATA_HOME", "")
    return os.path.join(base if os.path.isabs(base) else home("~/.local/share"), "turnlog")  # noqa: PTH117, PTH118


def count_seconds_left(given: object, limit: str = "five_hour") -> int | None:
    """Count the seconds until a rate limit of the subscription resets."""
    ends = to_status_number(get_nested_value(given, "rate_limits", limit, "resets_at"))
    seconds = None if ends is None else int(ends - time.time())
    return seconds if seconds is not None and 0 < seconds < 31 * _DAY_SECONDS else None
