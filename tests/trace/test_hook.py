"""The hook: what the client runs. It notes what it was told, starts a worker, and never fails."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from turnlog.trace import hook
from turnlog.trace.hook import hash_surroundings
from turnlog.trace.wakes import announce_worker, list_waiting_wakes

SCRIPT = Path(hook.__file__)
SAID = {"session_id": "s", "transcript_path": "/home/dana/s.jsonl", "hook_event_name": "Stop"}
posix = pytest.mark.skipif(os.name == "nt" or not shutil.which("bash"), reason="needs a shell of POSIX")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`trace` in a data folder that does not exist yet."""
    return tmp_path / "a b" / "trace"


def run(*words: object, said: bytes = b"", python: str = sys.executable, **env: str) -> None:
    """Run the hook as the client does; it must say nothing and succeed."""
    done = subprocess.run(
        [python, "-I", "-S", str(SCRIPT), *map(str, words)],
        input=said,
        capture_output=True,
        env={**os.environ, **env},
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def without_worker(folder: Path, mark: str | None = None) -> None:
    """Let the hook think that a worker is on its way."""
    (folder / "wakes").mkdir(parents=True)
    (folder / "wakes" / f"starting-{mark or hash_surroundings(dict(os.environ))}").touch()


NOTE = """
import os, sys
about = [sys.argv[2:], os.getcwd(), os.environ["TURNLOG_HOME"], os.environ.get("TURNLOG_CONFIG"), os.getsid(0)]
about.append([os.path.realpath(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)])
open(sys.argv[1] + ".tmp", "w").write(repr(about))
os.rename(sys.argv[1] + ".tmp", sys.argv[1])
"""


@pytest.fixture
def interpreter(tmp_path: Path) -> tuple[str, Path]:
    """A Python that runs scripts as ever, and only notes how it was called where it was to run turnlog."""
    log, script, note = tmp_path / "log", tmp_path / "python", tmp_path / "note.py"
    note.write_text(NOTE)
    script.write_text(
        f'#!/usr/bin/env bash\nif [ "$1" = -P ]; then exec {sys.executable} {note} {log} "$@"; fi\n'
        f'exec -a {script} {sys.executable} "$@"\n'
    )
    script.chmod(0o755)
    return str(script), log


def test_what_the_client_says_is_kept_as_it_is_with_the_words_of_the_call(folder: Path) -> None:
    without_worker(folder)
    said = json.dumps({**SAID, "last_assistant_message": "é\n\x00"}, ensure_ascii=False).encode() + b"\n"
    run(folder, "--since", "12", "--target", "a'b", "--target", "ü", said=said)
    (wake,) = list_waiting_wakes(folder, hash_surroundings(dict(os.environ)))
    assert wake.path.read_bytes().partition(b"\n")[2] == said
    assert (wake.targets, wake.since, wake.event) == (("a'b", "ü"), 12.0, "Stop")
    assert abs(time.time_ns() - wake.time_ns) < 60 * 10**9
    if os.name != "nt":
        assert wake.path.stat().st_mode & 0o777 == 0o600


def test_every_run_leaves_a_wake_of_its_own(folder: Path) -> None:
    without_worker(folder)
    for _ in range(3):
        run(folder, said=json.dumps(SAID).encode())
    assert len(list_waiting_wakes(folder, hash_surroundings(dict(os.environ)))) == 3


@pytest.mark.parametrize("said", [b"", b"\xff\xfe", b"{", b"x" * 5_000_000])
def test_it_succeeds_whatever_it_is_told(folder: Path, said: bytes) -> None:
    without_worker(folder)
    run(folder, said=said)
    assert list_waiting_wakes(folder, hash_surroundings(dict(os.environ))) == []
    assert len(list((folder / "broken").iterdir())) == 1
    assert max(path.stat().st_size for path in (folder / "broken").iterdir()) < 4_300_000


@pytest.mark.parametrize("words", [[], ["--target"], ["\udcff\udcfe"], ["/proc/nowhere"]])
def test_it_succeeds_whatever_the_words_of_the_call_are(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPT), *words], cwd=tmp_path, input=b"{}", capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@posix
def test_it_succeeds_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    run(tmp_path / "file" / "trace", said=b"{}")
    run("/dev/null/trace", said=b"{}")


@posix
def test_it_succeeds_on_a_full_disk_and_leaves_nothing_half_written(folder: Path) -> None:
    without_worker(folder)
    limit = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (100, 100))"
    limited = f"import os, sys; {limit}; os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", limited, sys.executable, "-I", "-S", str(SCRIPT), str(folder)],
        input=b"x" * 100_000,
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [path.name[:9] for path in (folder / "wakes").iterdir()] == ["starting-"]


@posix
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_worker_is_on_its_own(folder: Path, interpreter: tuple[str, Path], tmp_path: Path) -> None:
    python, log = interpreter
    read, write = os.pipe()
    os.set_inheritable(write, True)
    with subprocess.Popen(
        [python, "-I", "-S", str(SCRIPT), str(folder), "--config", "/etc/a b.toml"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[write],
    ) as process:
        assert process.communicate(b"{}", timeout=60)[0] == b""
    os.close(write)
    assert os.read(read, 1) == b"", "somebody still holds what the client had open"
    os.close(read)
    words, where, home, config, session, files = ast.literal_eval(wait_for_file(log))
    assert words == ["-P", "-m", "turnlog", "trace", "work"]
    assert (where, home, config) == (str(folder / "wakes"), str(folder.parent), "/etc/a b.toml")
    assert session != os.getsid(0)
    assert files == ["/dev/null"] * 3


@posix
def test_a_burst_of_hooks_starts_one_worker_and_the_next_after_it_has_looked(
    folder: Path, interpreter: tuple[str, Path]
) -> None:
    python, log = interpreter
    run(folder, said=b"{}", python=python)
    wait_for_file(log)
    log.unlink()
    run(folder, said=b"{}", python=python)
    assert not log.exists(), "one is on its way"
    announce_worker(folder, hash_surroundings(dict(os.environ)))
    run(folder, said=b"{}", python=python)
    wait_for_file(log)


@posix
def test_a_worker_that_never_came_is_not_waited_for(folder: Path, interpreter: tuple[str, Path]) -> None:
    python, log = interpreter
    without_worker(folder)
    (flag,) = (folder / "wakes").iterdir()
    os.utime(flag, (1_700_000_000, 1_700_000_000))
    run(folder, said=b"{}", python=python)
    wait_for_file(log)


@posix
def test_a_python_that_is_gone_is_no_failure(folder: Path, tmp_path: Path) -> None:
    gone = tmp_path / "python"
    gone.write_text(f'#!/usr/bin/env bash\nrm "$0"\nexec -a "$0" {sys.executable} "$@"\n')
    gone.chmod(0o755)
    run(folder, said=json.dumps(SAID).encode(), python=str(gone))
    assert len(list_waiting_wakes(folder, hash_surroundings(dict(os.environ)))) == 1


def test_only_variables_that_say_where_spans_go_are_surroundings() -> None:
    plain = hash_surroundings({"HOME": "/home/dana", "PATH": "/bin"})
    assert hash_surroundings({"HOME": "/home/eve"}) == plain
    marks = {
        hash_surroundings({name: value})
        for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "LANGFUSE_HOST", "CC_LANGFUSE_HOST", "TURNLOG_CONFIG")
        for value in ("a", "b", "\udcff")
    }
    assert len(marks | {plain}) == 13


def test_another_file_of_settings_is_another_surrounding(folder: Path, tmp_path: Path) -> None:
    mark = hash_surroundings({**os.environ, "TURNLOG_CONFIG": "/etc/other.toml"})
    without_worker(folder, mark)
    run(folder, "--config", "/etc/other.toml", said=json.dumps(SAID).encode())
    assert len(list_waiting_wakes(folder, mark)) == 1


def test_it_loads_nothing_but_what_every_python_has_at_hand(folder: Path) -> None:
    without_worker(folder)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", str(SCRIPT), str(folder)],
        input=b"{}",
        capture_output=True,
        timeout=60,
    )
    loaded = {row.rsplit(b"|", 1)[-1].strip() for row in done.stderr.splitlines()}
    assert {b"os", b"time"} <= loaded
    assert not loaded & {b"json", b"subprocess", b"pathlib", b"re", b"hashlib", b"ast", b"site", b"typing"}


def wait_for_file(path: Path) -> str:
    """What is in a file, once it is there."""
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not come"
        time.sleep(0.02)
    return path.read_text()
