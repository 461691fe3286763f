"""The hook for live views: one short line for each event, nothing printed, and success whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnlog.live.hook_reports import HookReport, HookReports
from turnlog.live.processes import open_processes
from turnlog.trace import hook
from turnlog.trace.hook_settings import HOOK_EVENTS

SCRIPT = Path(hook.__file__)
SESSION = "30000000-0000-4000-8000-000000000000"
posix = pytest.mark.skipif(os.name == "nt" or not shutil.which("bash"), reason="needs POSIX")
SECRET = "the prompt is confidential"
INPUTS: dict[str, dict[str, Any]] = {
    "Notification": {"message": "Claude needs your permission", "notification_type": "permission_prompt"},
    "PermissionRequest": {"tool_name": "Bash", "tool_input": {"command": SECRET}, "permission_suggestions": [SECRET]},
    "PreCompact": {"trigger": "manual", "custom_instructions": SECRET},
    "SessionEnd": {"reason": "prompt_input_exit"},
    "SessionStart": {"source": "startup", "model": "claude-opus-5-5"},
    "Stop": {"last_assistant_message": SECRET, "background_tasks": [{"status": "running", "description": SECRET}, 1]},
    "SubagentStop": {"agent_id": "a450d1dd", "last_assistant_message": SECRET},
    "UserPromptSubmit": {"prompt": SECRET, "message": SECRET, "reason": SECRET, "source": SECRET, "tool_name": SECRET},
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder that does not exist yet."""
    return tmp_path / "it's data"


def build_input(event: str, **fields: Any) -> bytes:
    common = {"session_id": SESSION, "transcript_path": f"/home/dana/{SESSION}.jsonl", "cwd": f"/home/{SECRET}"}
    return json.dumps({**common, "hook_event_name": event, **INPUTS.get(event, {}), **fields}).encode()


def run(data: Path, text: bytes, *words: str, script: Path = SCRIPT, **options: Any) -> None:
    """Run the hook as Claude Code does; it must print nothing and succeed."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(script), str(data / "trace"), *(words or ("--for", "live"))],
        input=text,
        capture_output=True,
        timeout=60,
        **options,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def read_spool(data: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((data / "hook-reports").iterdir()))


@pytest.mark.parametrize("event", HOOK_EVENTS["live"])
def test_each_event_is_reported_without_what_anyone_wrote(data: Path, event: str) -> None:
    before = time.time()
    run(data, build_input(event))
    (report,) = HookReports(data).poll()
    assert (report.event, report.session_id) == (event, SESSION)
    assert before - 0.01 <= report.time <= time.time()
    assert SECRET.encode() not in read_spool(data)
    assert not (data / "trace").exists(), "no worker is needed"


def test_a_report_has_the_few_facts_that_its_event_is_about(data: Path) -> None:
    for event in INPUTS:
        run(data, build_input(event))
    found = {report.event: report for report in HookReports(data).poll()}
    assert found["Notification"].detail == "permission_prompt: Claude needs your permission"
    assert found["PermissionRequest"].detail == "Bash"
    assert found["PreCompact"].detail == "manual"
    assert found["SessionEnd"].detail == "prompt_input_exit"
    assert found["SessionStart"].detail == "startup"
    assert found["Stop"].background == 1
    assert found["SubagentStop"].detail == "a450d1dd"
    assert found["UserPromptSubmit"].detail == ""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_report_names_the_processes_that_started_the_hook(data: Path) -> None:
    command = f'"{sys.executable}" -I -S "{SCRIPT}" "$1/trace" --for live; true'  # so that the shell stays
    subprocess.run(["bash", "-c", command, "-", str(data)], input=build_input("Stop"), check=True, timeout=60)
    (report,) = HookReports(data).poll()
    own_start = int(Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19])
    assert report.processes[1] == (os.getpid(), own_start)
    assert report.process_space == open_processes().process_space


def test_long_text_is_cut(data: Path) -> None:
    run(data, build_input("Notification", message="😀" * 5000, notification_type="x" * 5000))
    (report,) = HookReports(data).poll()
    assert (report.message, len(report.notification_type)) == ("😀" * 200, 200)
    assert len(read_spool(data)) < 4096


def test_a_line_that_would_be_too_long_for_one_write_is_not_written(data: Path) -> None:
    run(data, build_input("Notification", message="😀" * 200, session_id="😀" * 200, agent_id="😀" * 200))
    assert not (data / "hook-reports").exists()


def test_an_event_that_the_hook_does_not_report_leaves_nothing(data: Path) -> None:
    run(data, build_input("PreToolUse"))
    run(data, json.dumps({"hook_event_name": ["Stop"]}).encode())
    assert not data.exists()


@pytest.mark.parametrize(
    "text",
    [b"", b"null", b"{", b"[1]", b"\xff\xfe\x00", b'{"hook_event_name": "Stop', b"[" * 100_000, b"x" * 5_000_000],
)
def test_input_that_is_not_a_hooks_input_leaves_nothing(data: Path, text: bytes) -> None:
    run(data, text)
    assert not data.exists()


def test_a_prompt_larger_than_what_is_read_is_reported_all_the_same(data: Path) -> None:
    run(data, build_input("UserPromptSubmit", prompt="x" * 9_000_000))
    (report,) = HookReports(data).poll()
    assert (report.event, report.session_id) == ("UserPromptSubmit", SESSION)


@posix
def test_it_succeeds_with_a_closed_input_and_closed_outputs(data: Path) -> None:
    command = f'"{sys.executable}" -I -S "{SCRIPT}" "$1/trace" --for live <&- >&- 2>&-'
    assert subprocess.run(["bash", "-c", command, "-", str(data)], check=False, timeout=60).returncode == 0
    assert not data.exists()


@posix
def test_an_input_that_nobody_closes_is_not_waited_for_forever(data: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-I", "-S", str(SCRIPT), str(data / "trace"), "--for", "live"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(build_input("Stop"))
        process.stdin.flush()
        assert process.stdout.read() == b""
        assert process.wait(60) == 0
        assert [report.event for report in HookReports(data).poll()] == ["Stop"]


@posix
def test_it_needs_no_variables(data: Path) -> None:
    run(data, build_input("Stop"), env={})
    assert len(HookReports(data).poll()) == 1


@posix
def test_only_the_owner_can_read_reports(data: Path) -> None:
    run(data, build_input("Stop"), umask=0)
    (spool,) = (data / "hook-reports").iterdir()
    assert (spool.stat().st_mode & 0o777, spool.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def today(data: Path) -> Path:
    """The file of today, whose folder exists."""
    (data / "hook-reports").mkdir(parents=True, exist_ok=True)
    return data / "hook-reports" / time.strftime("%Y-%m-%d.jsonl", time.gmtime())


@posix
def test_a_spool_that_is_a_link_is_not_followed(data: Path, tmp_path: Path) -> None:
    for target in (tmp_path / "other", tmp_path / "missing"):
        today(data).unlink(missing_ok=True)
        today(data).symlink_to(target)
        (tmp_path / "other").write_bytes(b"mine")
        run(data, build_input("Stop"))
    assert (tmp_path / "other").read_bytes() == b"mine"
    assert not (tmp_path / "missing").exists()
    assert HookReports(data).poll() == []


@posix
@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_a_spool_that_is_no_file_is_left_alone(data: Path, kind: str) -> None:
    if kind == "folder":
        today(data).mkdir()
    elif kind == "pipe":
        os.mkfifo(today(data))
    else:
        (data / "hook-reports").mkdir(parents=True)
        (data / "hook-reports").rmdir()
        (data / "hook-reports").symlink_to("/dev/null")
    run(data, build_input("Stop"))
    assert HookReports(data).poll() == []


@posix
def test_a_data_folder_that_cannot_exist_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    run(tmp_path / "file" / "data", build_input("Stop"))
    run(Path("/dev/null/data"), build_input("Stop"))
    run(Path("/proc/nowhere"), build_input("Stop"))


@posix
def test_a_line_that_a_full_disk_cut_off_does_not_damage_the_next_one(data: Path) -> None:
    run(data, build_input("Stop"))
    size = today(data).stat().st_size
    limit = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({size + 50}, {size + 50}))"
    limited = f"import os, sys; {limit}; os.execv(sys.argv[1], sys.argv[1:])"
    words = [sys.executable, "-I", "-S", str(SCRIPT), str(data / "trace"), "--for", "live"]
    done = subprocess.run(
        [sys.executable, "-c", limited, *words], input=build_input("Stop"), capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert today(data).stat().st_size == size + 50
    run(data, build_input("SessionEnd"))
    assert [report.event for report in HookReports(data).poll()] == ["Stop", "SessionEnd"]


def test_many_hooks_at_once_write_whole_lines(data: Path) -> None:
    texts = [build_input("Notification", session_id=f"s{number}", message="é" * 200) for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: run(data, text), texts))
    assert sorted(report.session_id for report in HookReports(data).poll()) == sorted(f"s{n}" for n in range(40))


def test_a_full_file_is_set_aside_and_few_are_kept(data: Path) -> None:
    reports = HookReports(data)
    seen = []
    for number in range(12):
        spool = today(data)
        with spool.open("ab") as file:
            file.write(b"x" * (1 << 20) + b"\n")
        run(data, build_input("Stop", session_id=f"s{number}"))
        run(data, build_input("SessionEnd", session_id=f"s{number}"))
        seen += [report.session_id for report in reports.poll()]
    assert seen == [f"s{number}" for number in range(12) for _ in range(2)], "each report is read once"
    assert len(list((data / "hook-reports").iterdir())) <= 9


@pytest.mark.parametrize("event", HOOK_EVENTS["live"])
def test_one_hook_serves_both_and_only_the_end_of_something_is_traced(data: Path, event: str) -> None:
    wakes = data / "trace" / "wakes"
    wakes.mkdir(parents=True)
    (wakes / f"starting-{hook.hash_surroundings(dict(os.environ))}").touch()
    run(data, build_input(event), "--since", "12", "--for", "trace", "--for", "live")
    assert len(HookReports(data).poll()) == 1
    left = [path.read_bytes().partition(b"\n")[2] for path in wakes.glob("*.wake")]
    assert left == ([build_input(event)] if event in HOOK_EVENTS["trace"] else [])


@posix
def test_tracing_does_not_depend_on_the_spool(data: Path) -> None:
    wakes = data / "trace" / "wakes"
    wakes.mkdir(parents=True)
    (wakes / f"starting-{hook.hash_surroundings(dict(os.environ))}").touch()
    today(data).mkdir()
    run(data, build_input("Stop"), "--for", "trace", "--for", "live")
    assert len(list(wakes.glob("*.wake"))) == 1


def test_it_loads_nothing_but_what_every_python_has_at_hand(data: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", str(SCRIPT), str(data / "trace"), "--for", "live"],
        input=build_input("Notification", message="plain text"),
        capture_output=True,
        timeout=60,
    )
    loaded = {row.rsplit(b"|", 1)[-1].strip() for row in done.stderr.splitlines()}
    assert b"_json" in loaded
    assert not loaded & {b"json", b"signal", b"enum", b"re", b"subprocess", b"pathlib", b"site", b"typing"}
    assert len(HookReports(data).poll()) == 1


def test_a_python_without_the_fast_parser_reports_the_same(data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "hook.py"
    source = SCRIPT.read_text(encoding="utf-8")
    assert source.count("import _json\n") == 1
    copy.write_text(source.replace("import _json\n", "import _no_such_json as _json\n"), encoding="utf-8")
    for script in (SCRIPT, copy):
        run(data, build_input("Notification", message='é "\\ \n'), script=script)
    first, second = HookReports(data).poll()
    assert first.detail == second.detail == 'permission_prompt: é "\\ \n'


@given(fields=st.dictionaries(st.sampled_from(["message", "session_id", "agent_id", "extra"]), st.text(max_size=300)))
@settings(max_examples=100, deadline=None)
def test_any_text_survives_the_way_into_the_spool(fields: dict[str, str]) -> None:
    encodable = {name: "".join(c for c in text if not "\ud800" <= c <= "\udfff") for name, text in fields.items()}
    given_fields = {"session_id": "s", **encodable, "hook_event_name": "Notification"}
    parsed = hook._parse_fields(json.dumps(given_fields).encode())
    assert parsed == given_fields
    line = hook.build_report(parsed, 1.5)
    if line is not None:
        report = msgspec.json.decode(line, type=HookReport)
        assert report.session_id == given_fields["session_id"][:200]
        assert report.message == given_fields.get("message", "")[:200]
        assert b"\n" not in line


@given(cut=st.integers(min_value=0), text=st.text(max_size=20))
@settings(max_examples=100, deadline=None)
def test_input_that_was_cut_off_gives_the_fields_before_the_cut(cut: int, text: str) -> None:
    whole = {"a": text, "b": [1, {"c": None}], "d": -1.5e3, "e": True, "f": text}
    data = json.dumps(whole, indent=1).encode()
    parsed = hook._parse_fields(data[: cut % (len(data) + 1)])
    assert list(parsed) == list(whole)[: len(parsed)]
    assert all(parsed[name] == whole[name] for name in parsed if name != "d")  # a number may lose its last digits
