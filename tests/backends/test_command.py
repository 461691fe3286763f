"""`turnlog trace backfill` with both backends in the config file: the whole way from a config folder to the servers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.backends.seen_spans import Backend, wait_for_spans
from tests.conftest import Program
from turnlog.demo import config_dir
from turnlog.session.session import Session

pytestmark = pytest.mark.backends

PROJECT = "demo"


def write_config(backends: dict[str, Backend]) -> str:
    """A config file that names both."""
    lines = []
    for name, backend in backends.items():
        target = backend.target(PROJECT)
        headers = ", ".join(f"{key} = {json.dumps(value)}" for key, value in target.headers.items())
        lines += [f"[trace.targets.{name}]", f"endpoint = {json.dumps(target.url)}", f"headers = {{ {headers} }}"]
    return "\n".join(lines)


def read_targets(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    """What a command says of each target, by its name."""
    assert done.returncode == 0, done.stderr
    return {entry["target"].split()[0]: entry for entry in json.loads(done.stdout)["targets"]}


@pytest.fixture
def machine(backends: dict[str, Backend], tmp_path: Path) -> dict[str, str]:
    """The environment of a machine that has the demo sessions as its own."""
    shutil.copytree(config_dir(), tmp_path / "claude")
    for path in (tmp_path / "claude").rglob("*.jsonl"):
        os.utime(path, (10**9, 10**9))  # nobody is at work in them
    (tmp_path / "config.toml").write_text(write_config(backends), "utf-8")
    return {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "TURNLOG_CONFIG": str(tmp_path / "config.toml"),
        "TURNLOG_HOME": str(tmp_path / "home"),
    }


def test_all_sessions_of_a_machine_arrive_at_both_and_a_second_time_nothing(
    program: Program, backends: dict[str, Backend], machine: dict[str, str]
) -> None:
    first = read_targets(program("trace", "backfill", "--all", "--json", **machine))
    for name, backend in backends.items():
        assert (first[name]["pending"], first[name]["quarantined"], first[name]["last_error"]) == (0, 0, None)
        assert first[name]["spans"] > 200
        assert len(wait_for_spans(backend, PROJECT, first[name]["spans"])) == first[name]["spans"]
    again = read_targets(program("trace", "backfill", "--all", "--json", **machine))
    assert {name: entry["spans"] for name, entry in again.items()} == {"phoenix": 0, "mlflow": 0}
    for path in Path(machine["CLAUDE_CONFIG_DIR"]).glob("projects/*/22161731-*.jsonl"):
        with Session.open(path) as session:
            shown = {name: len(backend.session(PROJECT, path.stem)) for name, backend in backends.items()}
            assert shown == dict.fromkeys(backends, len(session.turns))
