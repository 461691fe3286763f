"""How the program starts: fast, and without what it does not need."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from tests.cli.conftest import Turnlog
from tests.conftest import Program
from tests.interop.mock_anthropic import MockAnthropic
from turnlog import __version__
from turnlog.agent.toolbox import TOOL_MODULES as TOOLS
from turnlog.cli.table import COMMANDS, PIPED_COMMAND

HEAVY = {
    "click",
    "msgspec",
    "platformdirs",
    "json",
    "re",
    "typing",
    "inspect",
    "importlib.metadata",
    "pathlib",
}


SELDOM = {
    "anthropic",
    "asyncio",
    "click",
    "concurrent.futures",
    "dataclasses",
    "html",
    "httpx",
    "inspect",
    "logging",
    "mcp",
    "pygments",
    "rich",
    "secrets",
    "shutil",
    "subprocess",
    "tempfile",
    "tree_sitter",
    "typing_extensions",
}
"""What a question that needs no tool is answered without."""
FURTHER = ("edit", "export", "live", "redact", "store", "trace", "web", "agent.console", "agent.resume")


def run_turnlog(*words: str, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A run of `turnlog`; the last line of standard error names the modules that are loaded at its end."""
    code = (
        "import sys; sys.argv[0] = 'turnlog'\n"
        "from turnlog.__main__ import main; status = main()\n"
        "print(*sorted(sys.modules), file=sys.stderr); sys.exit(status)"
    )
    # -S: what the environment's own start-up files import is not ours.
    search = repr([path for path in sys.path if path])
    return subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {search}\n{code}", *words],
        env={**os.environ, **(environ or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )


def loaded_by(*words: str) -> set[str]:
    """The modules that are there at the end of a run of `turnlog`."""
    return set(run_turnlog(*words).stderr.splitlines()[-1].split())


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version_is_printed_on_one_line(program: Program, flag: str) -> None:
    done = program(flag)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"turnlog {__version__}\n", "")


def test_version_among_other_words_is_printed_too(program: Program) -> None:
    assert program("--version", "ls").stdout == f"turnlog {__version__}\n"


def test_version_loads_no_framework() -> None:
    assert loaded_by("--version") & HEAVY == set()


def list_other_packages(loaded: set[str]) -> set[str]:
    """The packages among some modules that neither Python nor turnlog ships."""
    return {name.partition(".")[0] for name in loaded} - {*sys.stdlib_module_names, "turnlog", "__main__"}


@pytest.mark.parametrize("word", ["--version", "statusline"])
def test_what_runs_all_the_time_loads_nothing_but_python(word: str) -> None:
    assert list_other_packages(loaded_by(word)) == set()


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ("--help", set()),
        ("ls", {"msgspec"}),
        ("show last", {"msgspec"}),
        ("messages last", {"msgspec"}),
        ("context last", {"msgspec"}),
        ("files last", {"msgspec"}),
        ("check last", {"msgspec"}),
        ("trace show last", {"msgspec"}),
        ("tools", {"msgspec", "apsw"}),
        ("search parser", {"msgspec", "apsw"}),
        ("usage", {"msgspec", "apsw"}),
    ],
)
def test_a_command_loads_no_server_no_template_and_no_parser(words: str, more: set[str]) -> None:
    """A command that prints text waits for its command line, the decoder and perhaps the index, and nothing else."""
    assert list_other_packages(loaded_by(*words.split())) <= {"click", "typing_extensions", *more}


@pytest.fixture
def ask_model(tmp_path: Path) -> Callable[..., set[str]]:
    """Asks a model that gives some answers, the last of which is "Done."; the modules that are there at the end."""
    for folder in ("home", "config"):
        (tmp_path / folder).mkdir()

    def ask(*answers: dict[str, Any]) -> set[str]:
        talk = {"kind": "main", "replies": [*({"content": [answer]} for answer in answers), "Done."]}
        with MockAnthropic({"conversations": [talk]}) as mock:
            environ = {
                "HOME": str(tmp_path / "home"),
                "CLAUDE_CONFIG_DIR": str(tmp_path / "config"),
                "TURNLOG_HOME": str(tmp_path / "data"),
                "ANTHROPIC_API_KEY": "a-key",
                "ANTHROPIC_BASE_URL": mock.url,
            }
            done = run_turnlog("-p", "Do it.", "--add-dir", str(tmp_path), environ=environ)
        assert done.stdout == "Done.\n"
        return set(done.stderr.split())

    return ask


def test_an_answer_needs_no_framework_and_no_tool(ask_model: Callable[..., set[str]]) -> None:
    loaded = ask_model()
    assert "turnlog.agent.loop" in loaded
    assert loaded & SELDOM == set()
    rooms = {f"turnlog.{room}" for room in FURTHER}
    # Whether the archive is due is looked up in every run; that is all of it.
    allowed = {"turnlog.store", "turnlog.store.archive", "turnlog.store.archive.schedule"}
    assert {name for name in loaded - allowed if any(f"{name}.".startswith(f"{room}.") for room in rooms)} == set()
    assert {name for name in loaded if name.startswith("turnlog.agent.tools.")} & set(map(home, TOOLS)) == set()


def test_a_tool_is_loaded_when_it_is_called(ask_model: Callable[..., set[str]], tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("x\n")
    call = {"type": "tool_use", "name": "Read", "input": {"file_path": str(tmp_path / "note.txt")}}
    loaded = ask_model(call)
    assert home("Read") in loaded
    assert loaded & {home("Bash"), home("WebFetch"), "subprocess", "tree_sitter"} == set()


def test_commands_are_taken_apart_by_what_is_loaded_for_them(ask_model: Callable[..., set[str]]) -> None:
    assert "tree_sitter" in ask_model({"type": "tool_use", "name": "Bash", "input": {"command": "rm -rf nothing"}})


def home(tool: str) -> str:
    """The module of a tool."""
    return f"turnlog.agent.tools.{TOOLS[tool]}"


def test_help_loads_no_command_and_no_decoder() -> None:
    loaded = loaded_by("--help")
    assert "click" in loaded
    assert loaded & {f"turnlog.cli{row.module}" for row in COMMANDS.values()} == set()
    assert loaded & {"msgspec", "platformdirs", "turnlog.entries", "turnlog.session"} == set()


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_every_command_with_what_it_does(program: Program, flag: str) -> None:
    done = program(flag)
    shown = " ".join(done.stdout.split())
    assert done.returncode == 0
    for name, row in COMMANDS.items():
        assert f"{name} {row.help}" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_row_of_the_table_leads_to_a_command_of_that_name(name: str) -> None:
    command = COMMANDS[name].load()
    assert isinstance(command, click.Command)
    assert command.name == name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_loads_the_rooms_below_only_when_it_works(name: str) -> None:
    """Whoever asks for help, or gets a word wrong, does not wait for decoders."""
    done = run_turnlog(name, "--help")
    assert done.stdout.startswith(f"Usage: turnlog {name} ")
    loaded = set(done.stderr.split())
    assert loaded & {"turnlog.entries", "turnlog.session"} == set()
    assert list_other_packages(loaded) <= {"click", "typing_extensions"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_word_for_help_gives_the_same(turnlog: Turnlog, name: str) -> None:
    short, long = turnlog(name, "-h"), turnlog(name, "--help")
    assert (short.status, short.out) == (0, long.out)
    assert short.out.startswith(f"Usage: turnlog {name} ")


def test_no_words_mean_the_list_where_nobody_watches(program: Program) -> None:
    assert program().stdout == program(PIPED_COMMAND).stdout
    assert program().returncode == 0
