"""Commands that are written to stop the client itself: the parser never sees what it can't finish."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.agent.waits import run
from turnlog.agent.permissions.command.parse_trial import can_parse
from turnlog.agent.permissions.decision import Decision
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.settings import PermissionMode, Settings
from turnlog.agent.tools.call_result import Workspace

ENDLESS = "a | b |<< x" + " | xargs ca" * 60 + " a{a,b}"
"""The parser's time doubles with each pipe, and nothing can interrupt it."""
NESTED = ("(", "$(", "${a:-", "`", "{ ", "$((", "a=(", "[[ ")
MAX_CPU_SECONDS = 300

SCRIPT = f"""
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_CPU, ({MAX_CPU_SECONDS}, {MAX_CPU_SECONDS}))
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.settings import Settings
from turnlog.agent.tools.call_result import Workspace
place = Workspace(Path(sys.argv[1]), Path(sys.argv[1]))
guard = SettingsGuard(Settings().with_flags({{"permissions": {{"deny": ["Read(.env)", "Bash(curl:*)"]}}}}, place.root))
print(guard.decide("Bash", {{"command": sys.argv[2]}}, place).verdict)
"""


def decide(command: str, folder: Path, mode: PermissionMode = "default", **permissions: list[str]) -> Decision:
    place = Workspace(folder, folder)
    settings = Settings().with_flags({"permissions": permissions}, folder)
    return SettingsGuard(settings, mode).decide("Bash", {"command": command}, place)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of CPU time")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(ENDLESS, id="pipes"),
        pytest.param(f"bash -c '{ENDLESS}'", id="script"),
        pytest.param(f"ls; python3 -c '{ENDLESS}'", id="argument"),
        pytest.param("[[ (<<< " * 8000, id="tests"),
        pytest.param("case x in " + "?(a|" * 8000, id="patterns"),
        pytest.param("echo " + "{" * 5000 + "," * 5000, id="braces"),
        pytest.param("echo " + "[" * 60000, id="classes"),
        pytest.param("cat " + "".join(f"<<A{number} " for number in range(600)) + "\n", id="documents"),
        pytest.param("cat <<" + "A" * 1017 + "\nx\n" + "A" * 1017 + "\n", id="name of a document"),
        pytest.param("rm -r" + " /usr" * 400, id="folders"),
        pytest.param("sudo " * 900 + "ls", id="runners"),
        *(pytest.param((text * 60000)[:60000], id=f"nested {text}") for text in NESTED),
    ],
)
def test_no_command_stops_the_client(command: str, tmp_path: Path) -> None:
    assert run([sys.executable, "-c", SCRIPT, str(tmp_path), command], encoding="utf-8").stdout == "ask\n"


def test_a_command_that_is_not_parsed_is_asked_about_whatever_is_allowed(tmp_path: Path) -> None:
    assert decide(ENDLESS, tmp_path).verdict == "ask"
    assert decide(ENDLESS, tmp_path, allow=["Bash(a:*)", "Bash(b:*)", "Bash(xargs:*)"]).verdict == "ask"
    assert decide(ENDLESS, tmp_path, allow=["Bash"], deny=["Bash(curl:*)"]).verdict == "ask"
    assert decide(ENDLESS, tmp_path, "bypassPermissions", deny=["Bash(curl:*)"]).verdict == "ask"
    assert decide(ENDLESS, tmp_path, "dontAsk").verdict == "deny"


def test_a_long_command_is_decided_like_a_short_one(tmp_path: Path) -> None:
    assert decide("ls -l && git status; " * 20, tmp_path).verdict == "allow"
    assert decide("ls -l; " * 20 + "curl x", tmp_path, allow=["Bash"], deny=["Bash(curl:*)"]).verdict == "deny"
    assert can_parse("cat > a.py <<'END'\n" + "print('x' | y)\n" * 500 + "END\n")
