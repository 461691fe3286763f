"""The Claude Code plugin: its parts agree with the package. `tests/interop` loads it in the real client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from turnlog._version import __version__
from turnlog.api import mcp_installation
from turnlog.mcp.toolbox import TOOLS
from turnlog.trace.hook_settings import HOOK_EVENTS
from turnlog.trace.wakes import count_wakes

PLUGIN = ROOT / "plugins" / "turnlog"
RUN = (
    "import sys; sys.argv = ['turnlog', 'hook', 'run']\n"
    "from turnlog.__main__ import main\n"
    "status = main()\n"
    "print(status, *sorted({name.partition('.')[0] for name in sys.modules} - {*sys.stdlib_module_names}))\n"
)


def read(name: str) -> Any:
    return json.loads((PLUGIN / name).read_text())


def run_hook(folder: Path, **event: Any) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(event),
        env={**os.environ, "TURNLOG_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert not done.stderr
    return done.stdout.split()


def test_the_plugin_has_the_version_of_the_package() -> None:
    assert read(".claude-plugin/plugin.json")["version"] == __version__


def test_the_marketplace_leads_to_the_plugin() -> None:
    (entry,) = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    assert (ROOT / entry["source"] / ".claude-plugin" / "plugin.json").is_file()
    assert entry["name"] == read(".claude-plugin/plugin.json")["name"]


def test_the_plugin_contains_the_skill_of_the_package() -> None:
    skill = (PLUGIN / "skills" / "turnlog" / "SKILL.md").read_text()
    assert skill == (Path(mcp_installation.__file__).parent / "mcp_skill.md").read_text()
    assert all(name in skill for name in ("search_sessions", "get_turns", "get_file_version"))


def test_the_plugin_handles_every_event_that_a_purpose_needs() -> None:
    hooks = read("hooks/hooks.json")["hooks"]
    assert {*hooks} == {event for events in HOOK_EVENTS.values() for event in events}
    commands = {hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]}
    assert commands == {"turnlog hook run 2>/dev/null || :"}


def test_commands_name_only_tools_that_exist() -> None:
    names = {path.stem for path in (PLUGIN / "commands").iterdir()}
    assert names == {"search", "cost", "lighten", "setup"}
    for name, tool in (("search", "search_sessions"), ("search", "get_turns"), ("cost", "get_usage")):
        assert tool in TOOLS
        assert f"`{tool}`" in (PLUGIN / "commands" / f"{name}.md").read_text()


def test_the_hook_reports_an_event_with_the_standard_library_alone(tmp_path: Path) -> None:
    status, *packages = run_hook(tmp_path, hook_event_name="SessionStart", session_id="s", source="startup")
    assert status == "0"
    assert {*packages} <= {"turnlog", "__main__"} | {name for name in packages if name.startswith("_")}
    (report,) = (tmp_path / "hook-reports").iterdir()
    assert json.loads(report.read_text())["event"] == "SessionStart"
    since = (tmp_path / "trace" / "plugin-since").read_text()
    assert since.isdecimal()
    run_hook(tmp_path, hook_event_name="UserPromptSubmit", session_id="s")
    assert (tmp_path / "trace" / "plugin-since").read_text() == since


@pytest.mark.parametrize("text", ["", "junk", "-1", "١"])
def test_a_broken_mark_of_the_first_run_is_no_obstacle(tmp_path: Path, text: str) -> None:
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "plugin-since").write_text(text)
    assert run_hook(tmp_path, hook_event_name="SessionStart", session_id="s")[0] == "0"


def test_a_data_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run_hook(tmp_path / "file", hook_event_name="SessionStart", session_id="s")[0] == "0"
    assert not count_wakes(tmp_path / "file" / "trace").waiting
