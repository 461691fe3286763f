"""docs/json.md tells the truth: every printed key is documented, and every documented key is printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.session.build import DATA, ROOT, Build, variant
from tests.trace.recorder import Recorder
from turnlog.demo import config_dir
from turnlog.entries.layout import list_session_files
from turnlog.session.clock import to_iso_time
from turnlog.store.usage.groupings import GROUPINGS

FREE = {
    "entries.by_type",
    "entries.by_kind",
    "entries.scraps",
    "turns[].added",
    "files[].resumable.kept",
    "edits.for_model.counts",
    "edits.strip",
}
"""Objects whose keys are not fixed."""
OPAQUE = {"messages[].content", "edits.strip.*"}
"""Said elsewhere what is in it: by the Messages API, or of another command."""


def list_documented_keys(command: str) -> set[str]:
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", text, flags=re.MULTILINE)
    (found,) = [part for part in section if part.startswith(f"`turnlog {command}")]
    return set(re.findall(r"^\| `([^`]+)` \|", found, re.MULTILINE))


def keys(value: Any, path: str = "") -> Iterator[str]:
    if path in OPAQUE:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            name = f"{path}.*" if path in FREE else f"{path}.{key}".lstrip(".")
            yield name
            yield from keys(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{path}[]")


def sessions() -> list[Path]:
    recorded = sorted(DATA.glob("sessions/**/????????-*.jsonl"))
    return recorded + [item.path for item in list_session_files(config_dir())] + [variant("garbage-line-in-the-middle")]


def test_every_key_of_ls_is_documented_and_printed(turnlog: Turnlog) -> None:
    assert set(keys(turnlog("ls", "--all", "--json").json)) == list_documented_keys("ls")


def test_every_key_of_show_is_documented_and_printed(turnlog: Turnlog) -> None:
    found = {key for path in sessions() for key in keys(turnlog("show", path, "--json").json)}
    assert found == list_documented_keys("show")


def test_every_key_of_search_is_documented_and_printed(turnlog: Turnlog) -> None:
    runs = (["rounding"], ["roundin"], ["rounding", "--context", "1"], ["--substring", "rounding"])
    found = {key for words in runs for key in keys(turnlog("search", *words, "--json").json)}
    assert found == list_documented_keys("search")


def test_every_key_of_messages_is_documented_and_printed(turnlog: Turnlog) -> None:
    assert set(keys(turnlog("messages", "bee7dbd3", "--json").json)) == list_documented_keys("messages")


def test_every_key_of_check_is_documented_and_printed(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.note("api-request", id="r", tail=["0"])
    path = build.write(tmp_path)
    odd = [variant("unknown-entry-types-and-extra-fields"), variant("assistant-content-is-a-string")]
    words = ["check", "--requests", "--resumable", "--json", path, config_dir(), *odd]
    assert set(keys(turnlog(*words).json)) == list_documented_keys("check")


def test_every_key_of_doctor_is_documented_and_printed(turnlog: Turnlog, machine: Machine) -> None:
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", variant("parent-cycle").read_bytes())
    (machine.folder / ".claude.json").write_text("")
    assert set(keys(turnlog("doctor", "--json").json)) == list_documented_keys("doctor")


def test_every_key_of_salvage_is_documented_and_printed(turnlog: Turnlog, machine: Machine) -> None:
    name = "aaaaaaaa-0000-4000-8000-000000000001"
    (machine.folder / "history.jsonl").write_text(f'{{"display":"hi","sessionId":"{name}"}}\n')
    (machine.folder / "file-history" / name).mkdir(parents=True)
    (machine.folder / "file-history" / name / "x@v1").write_text("x")
    build = Build()
    build.prompt(sessionId=name)
    machine.add("bbbbbbbb-0000-4000-8000-000000000002", build.data())
    assert set(keys(turnlog("salvage", "--json").json)) == list_documented_keys("salvage --json")
    assert set(keys(turnlog("salvage", name, "--json").json)) == list_documented_keys("salvage ID --json")


def test_every_key_of_context_is_documented_and_printed(turnlog: Turnlog) -> None:
    assert set(keys(turnlog("context", "bee7dbd3", "--json").json)) == list_documented_keys("context")


def test_every_key_of_archive_is_documented_and_printed(
    turnlog: Turnlog, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    name = "aaaaaaaa-0000-4000-8000-000000000001"
    runs = []
    for text in (b"a\n", b"b\n"):
        path = machine.add(name, text)
        runs.append(turnlog("archive", "run", "--json").json)
    assert set(keys(runs[-1])) == list_documented_keys("archive run")
    assert set(keys(turnlog("archive", "status", "--json").json)) == list_documented_keys("archive status")
    assert set(keys(turnlog("archive", "list", "--json").json)) == list_documented_keys("archive list")
    assert set(keys(turnlog("archive", "prune", "--keep", "1", "--json").json)) == list_documented_keys("archive prune")
    path.unlink()
    assert set(keys(turnlog("archive", "restore", name, "--json").json)) == list_documented_keys("archive restore")
    for blob in (tmp_path / "data" / "archive" / "blobs").rglob("*.zst"):
        blob.unlink()
    assert set(keys(turnlog("archive", "verify", "--json").json)) == list_documented_keys("archive verify")


def test_every_key_of_files_is_documented_and_printed(turnlog: Turnlog) -> None:
    name = "22161731"
    assert set(keys(turnlog("files", name, "--json").json)) == list_documented_keys("files SESSION --json")
    assert set(keys(turnlog("files", name, "--diff", "--json").json)) == list_documented_keys(
        "files SESSION --diff --json"
    )
    assert set(keys(turnlog("files", "--project", "webshop", "--json").json)) == list_documented_keys(
        "files --project P --json"
    )


def test_every_key_of_restore_is_documented_and_printed(turnlog: Turnlog) -> None:
    words = ["restore", "cart.py", "--list", "--session", "22161731", "--json"]
    assert set(keys(turnlog(*words).json)) == list_documented_keys("restore FILE --list --json")


def test_every_key_of_tools_is_documented_and_printed(turnlog: Turnlog) -> None:
    found = {key for words in (["22161731"], []) for key in keys(turnlog("tools", *words, "--json").json)}
    assert found == list_documented_keys("tools --json")


def test_every_key_of_tree_is_documented_and_printed(turnlog: Turnlog, machine: Machine) -> None:
    found = set(keys(turnlog("tree", "--json").json))
    assert {re.sub(r"(\.children\[\])+", "", key) for key in found} == list_documented_keys("tree")


def test_every_key_of_pack_and_unpack_is_documented_and_printed(
    turnlog: Turnlog, machine: Machine, tmp_path: Path
) -> None:
    build = Build()
    build.prompt("use ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6", cwd=str(tmp_path))
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", build.data(), mtime=1_700_000_000)
    package = tmp_path / "p"
    assert set(keys(turnlog("pack", "aaaaaaaa", "-o", package, "--redact", "--json").json)) == list_documented_keys(
        "pack"
    )
    listed = turnlog("unpack", package, "--list", "--json").json
    assert set(keys(listed)) == list_documented_keys("unpack FILE --list")
    done = turnlog("unpack", package, "--config", tmp_path / "there", "--json").json
    assert set(keys(done)) == list_documented_keys("unpack FILE --json")


def test_every_key_of_undelete_is_documented_and_printed(
    turnlog: Turnlog, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", b"{}\n", mtime=1_700_000_000)
    turnlog("delete", "aaaaaaaa", "--yes")
    assert set(keys(turnlog("undelete", "--list", "--json").json)) == list_documented_keys("undelete")


def test_every_key_of_undo_and_move_is_documented_and_printed(
    turnlog: Turnlog, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", b'{"cwd":"/a"}\n', slug="-a", mtime=1_700_000_000)
    assert set(keys(turnlog("move", "/a", "/b", "--json").json)) == list_documented_keys("move")
    assert set(keys(turnlog("undo", "--list", "--json").json)) == list_documented_keys("undo")


def test_every_key_of_usage_is_documented_and_printed(
    turnlog: Turnlog, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    build = Build()
    build.answer("before", usage={"output_tokens": 5})
    build.call(usage={"output_tokens": 5})
    build.lines[0]["timestamp"] = to_iso_time(datetime.now(UTC) - timedelta(minutes=10))
    build.lines[1]["timestamp"] = to_iso_time(datetime.now(UTC))
    build.result()
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", build.data())
    found = {key for kind in GROUPINGS for key in keys(turnlog("usage", kind, "--json").json)}
    assert found == list_documented_keys("usage")


def test_every_key_of_index_is_documented_and_printed(
    turnlog: Turnlog, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", b"{}\n")
    assert set(keys(turnlog("index", "--json").json)) == list_documented_keys("index [ACTION] --json")
    assert set(keys(turnlog("index", "verify", "--json").json)) == list_documented_keys("index verify --json")


def test_every_key_of_fork_is_documented_and_printed(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt()
    build.answer("hi")
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", build.data(), mtime=1_700_000_000)
    assert set(keys(turnlog("fork", "aaaaaaaa", "--at", "1", "--json").json)) == list_documented_keys("fork")


def test_every_key_of_repair_is_documented_and_printed(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt()
    build.answer("hi", parent="gone")
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", build.data(), mtime=1_700_000_000)
    assert set(keys(turnlog("repair", "aaaaaaaa", "--json").json)) == list_documented_keys("repair")


FIT_KEYS = {"fit", "fit.target", "fit.after", "fit.command"}


def test_every_key_of_strip_is_documented_and_printed(turnlog: Turnlog) -> None:
    plain = set(keys(turnlog("strip", "bee7dbd3", "--preset", "extreme", "--json").json))
    fitted = set(keys(turnlog("strip", "bee7dbd3", "--fit", "26k", "--json").json))
    assert plain | fitted == list_documented_keys("strip")
    assert fitted - plain == FIT_KEYS


def test_every_key_of_clone_is_documented_and_printed(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    for number in range(4):
        build.prompt(f"question {number}")
        build.call(f"c{number}")
        build.result(f"c{number}", "x" * 5000)
        thought = {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"}
        build.answer(thought, "The total is off by a cent now and then. " * 20)
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", build.data(), mtime=1_700_000_000)
    wishes = "--tools truncate --for-model other-provider --compress offline --compact offline --portable"
    found = turnlog("clone", "aaaaaaaa", *wishes.split(), "--json").json
    planned = turnlog("clone", "aaaaaaaa", "--dry-run", "--json").json
    assert set(keys(found)) | set(keys(planned)) == list_documented_keys("clone")
    assert set(planned) - set(found) == {"plan"}
    assert set(keys(found["edits"]["strip"])) == list_documented_keys("strip") - {"session", "preset"} - FIT_KEYS


def test_every_key_of_redact_is_documented_and_printed(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("use ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6")
    build.answer("hi")
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", build.data(), mtime=1_700_000_000)
    assert set(keys(turnlog("redact", "aaaaaaaa", "--clone", "--json").json)) == list_documented_keys("redact SESSION")
    assert set(keys(turnlog("redact", "--all", "--json").json)) == list_documented_keys("redact --all")


def test_every_key_of_export_is_documented_and_printed(turnlog: Turnlog, machine: Machine, tmp_path: Path) -> None:
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", variant("minimum-without-timestamp").read_bytes())
    build = Build()
    build.prompt("in /home/dana")
    machine.add("bbbbbbbb-0000-4000-8000-000000000002", build.data())
    words = ["export", "--all", "-f", "messages", "-o", tmp_path / "out", "--share", "--json"]
    assert set(keys(turnlog(*words).json)) == list_documented_keys("export")


def test_every_key_of_trace_show_is_documented_and_printed(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("hello")
    build.answer("hi")
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", build.data())
    found = turnlog("trace", "show", "aaaaaaaa", "--json").json
    assert {key for key in keys(found) if "attributes." not in key} == list_documented_keys("trace show")


def test_every_key_of_trace_backfill_is_documented_and_printed(
    turnlog: Turnlog, machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build = Build()
    build.prompt("hello")
    build.answer("hi")
    machine.add("aaaaaaaa-0000-4000-8000-000000000001", build.data())
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "home"))
    with Recorder() as recorder:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", recorder.url)
        preview = turnlog("trace", "backfill", "--all", "--dry-run").json
        found = turnlog("trace", "backfill", "--all", "--json").json
    assert {key for key in keys(preview) if "spans[]" not in key} == list_documented_keys("trace backfill --dry-run")
    assert set(keys(found)) == list_documented_keys("trace backfill --json")


def test_every_key_of_trace_status_and_flush_is_documented_and_printed(
    turnlog: Turnlog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "trouble").write_text("no room")
    assert set(keys(turnlog("trace", "status", "--json").json)) == list_documented_keys("trace status")
    assert set(keys(turnlog("trace", "flush", "--json").json)) == list_documented_keys("trace flush")


def test_every_key_of_hook_status_is_documented_and_printed(
    turnlog: Turnlog, machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path))
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "trouble").write_text("no room")
    assert set(keys(turnlog("hook", "status", "--json").json)) == list_documented_keys("hook status")


def test_mcp_status(machine: Machine, turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    turnlog("mcp", "install", "--skill")
    assert set(keys(turnlog("mcp", "status", "--json").json)) == list_documented_keys("mcp status")
