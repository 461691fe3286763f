"""`turnlog chat` and `turnlog -p`: the words of the call, and what is loaded for an answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from tests.conftest import Program
from tests.interop.mock_anthropic import MockAnthropic
from turnlog.agent.print_mode.turn_printer import PRINT_FORMATS
from turnlog.agent.settings import PERMISSION_MODES
from turnlog.agent.start_options import StartOptions
from turnlog.cli.chat import options as chat_options
from turnlog.cli.chat.chat import chat
from turnlog.cli.chat.options import CHAT_OPTIONS, parse_plain_words

HEAVY = {
    "click",
    "pygments",
    "rich",
    "prompt_toolkit",
    "jinja2",
    "starlette",
    "uvicorn",
    "apsw",
    "anthropic",
    "mcp",
    "httpx2",
    "asyncio",
    "readline",
    "turnlog.web",
    "turnlog.export",
    "turnlog.trace",
    "turnlog.agent.console.console",
    "tree_sitter",
}


def by_click(words: list[str]) -> dict[str, Any]:
    """What click makes of the words, without what was not given."""
    with chat.make_context("chat", list(words)) as context:
        return {name: value for name, value in context.params.items() if value not in (None, False, ())}


@pytest.mark.parametrize(
    "words",
    [
        ["-p", "hi"],
        ["hi", "--print"],
        ["-p", "hi", "--model", "opus", "--output-format", "json"],
        ["-p", "hi", "--model=opus", "--allowedTools", "a", "--allowed-tools=b"],
        ["-p", "--continue", "--fork-session", "--max-turns", "3", "--max-budget-usd", "0.5"],
        ["-p", "--resume", "7f3a", "hi"],
        ["-p", "--resume=7f3a", "--add-dir", "x", "--add-dir", "y", "--verbose"],
        ["-p", "hi", "--system-prompt", ""],
        ["-p", "hi", "--allowedTools", "Bash(git log:*)", "Read", "mcp__a__b", "--disallowed-tools", "Edit", "Write"],
        ["-p", "--allowed-tools", "Read", "Edit", "Read this for me"],
    ],
)
def test_plain_words_are_read_as_click_reads_them(words: list[str]) -> None:
    found = parse_plain_words(words)
    assert found is not None
    expected = by_click(words)
    assert {name: value for name, value in found.items() if value is not None} == expected


@pytest.mark.parametrize(
    "words",
    [
        ["-p", "hi", "--nope"],
        ["-p", "one", "two"],
        ["-p", "hi", "--model"],
        ["-p", "hi", "--model", "--verbose"],
        ["-p", "hi", "--output-format", "xml"],
        ["-p", "hi", "--max-turns", "many"],
        ["-p", "hi", "--max-turns", "0"],
        ["-p", "hi", "--max-budget-usd", "0"],
        ["-p", "hi", "--verbose=1"],
        ["-p", "--resume"],
        ["-p", "--help"],
        ["-ph"],
    ],
)
def test_words_that_are_not_plain_are_left_to_click(words: list[str]) -> None:
    assert parse_plain_words(words) is None


def test_rules_may_follow_each_other_and_anything_else_is_the_prompt() -> None:
    found = parse_plain_words(["-p", "--allowedTools", "Read", "Bash(git log:*)", "Read it", "--disallowedTools", "x"])
    assert found == {
        "is_printed": True, "allowed": ("Read", "Bash(git log:*)"), "prompt": "Read it", "disallowed": ("x",)
    }  # fmt: skip
    assert parse_plain_words(["-p", "--allowedTools", "Read", "why", "Edit"]) is None  # two prompts


def test_folders_and_configurations_may_follow_each_other(tmp_path: Path) -> None:
    one, two, servers = tmp_path / "one", tmp_path / "two", tmp_path / "servers.json"
    one.mkdir()
    two.mkdir()
    servers.write_text("{}")
    words = ["-p", "--add-dir", str(one), str(two), "--mcp-config", "{}", str(servers), "Compare them"]
    expected = {"folders": (str(one), str(two)), "mcp_configs": ("{}", str(servers)), "prompt": "Compare them"}
    assert parse_plain_words(words) == {"is_printed": True, **expected}
    assert by_click(words) == by_click([*words[:3], "--add-dir", *words[3:6], "--mcp-config", *words[6:]])
    assert parse_plain_words(["-p", "--add-dir", str(one), f"{tmp_path}/missing"]) == {
        "is_printed": True, "folders": (str(one),), "prompt": f"{tmp_path}/missing"
    }  # fmt: skip


_PROGRAM_NAMES = {"answerer", "prints_hooks", "is_mirrored", "is_debugged", "debug_file", "awaits_initialize"}


def test_the_table_of_options_says_what_the_client_knows() -> None:
    assert chat_options.OUTPUT_FORMATS == PRINT_FORMATS
    assert chat_options.PERMISSION_MODES == PERMISSION_MODES
    names = {option.name for option in CHAT_OPTIONS}
    printed = {"is_printed", "form", "input_form", "is_replayed", "asked", "partial", *_PROGRAM_NAMES}
    files = {"system_prompt_file", "appended_prompt_file"}
    assert names - set(StartOptions._fields) == {*printed, *files, "is_bypassed", "is_verbose"}
    assert set(StartOptions._fields) - names == {"copies_files", "defines_agents"}  # set elsewhere


def test_every_option_is_a_parameter_of_the_command() -> None:
    options = [param for param in chat.params if isinstance(param, click.Option)]
    assert {param.name for param in options} == {option.name for option in CHAT_OPTIONS}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--output-format", "json", "hi"], "require -p"),
        (["-p", "hi", "--continue", "--resume", "x"], "not both"),
        (["-p", "hi", "--fork-session"], "requires --continue or --resume"),
        (["-p", "hi", "-c", "--session-id", "0" * 36], "--fork-session"),
        (["-p", "hi", "--dangerously-skip-permissions", "--permission-mode", "plan"], "not both"),
        (["-p", "hi", "--resume"], "requires a session id"),
        (["hi"], "turnlog -p"),
        (["-p", "hi", "--permission-mode", "yolo"], "yolo"),
        (["-p", "hi", "--session-id", "x"], "not a session id"),
        (["-p", "hi", "--max-budget-usd", "nan"], "number of dollars"),
        (["-p", "hi", "--include-partial-messages"], "stream-json"),
        (["-p", "hi", "--max-budget-usd", "inf"], "number of dollars"),
        (["-p", "hi", "--settings", "missing.json"], "no such file"),
    ],
)
def test_words_that_make_no_sense_are_told(program: Program, words: list[str], message: str) -> None:
    done = program("chat", *words)
    assert done.returncode == 2
    assert message in done.stderr


def test_print_mode_without_a_key_names_the_variable(program: Program) -> None:
    done = program("-p", "hi", ANTHROPIC_API_KEY="", ANTHROPIC_AUTH_TOKEN="")
    assert done.returncode == 2
    assert "ANTHROPIC_API_KEY" in done.stderr


def test_the_shortcut_says_what_is_wrong_as_the_command_does(program: Program) -> None:
    short, long = program("-p", "hi", "--nope"), program("chat", "-p", "hi", "--nope")
    assert (short.returncode, short.stderr) == (long.returncode, long.stderr)
    assert "--nope" in short.stderr


def test_the_shortcut_is_one_wherever_the_flag_stands(tmp_path: Path) -> None:
    for words in (["-p", "hi"], ["--model", "opus", "-p", "hi"], ["chat", "-p", "hi"]):
        assert run_chat(tmp_path, *words)[0].stdout == "OK.\n"


def run_chat(tmp_path: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], set[str]]:
    """A run of the program against a scripted server, and the modules that it loaded."""
    code = (
        "import sys; sys.argv[0] = 'turnlog'\n"
        "from turnlog.__main__ import main; status = main()\n"
        "print(*sorted(sys.modules), file=sys.stderr); sys.exit(status)"
    )
    search = repr([path for path in sys.path if path])
    with MockAnthropic() as mock:
        done = subprocess.run(
            [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {search}\n{code}", *words],
            cwd=tmp_path,
            env={
                **os.environ,
                "HOME": str(tmp_path),
                "TURNLOG_HOME": str(tmp_path / "data"),
                "ANTHROPIC_BASE_URL": mock.url,
                "ANTHROPIC_API_KEY": "sk-ant-test",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    return done, set(done.stderr.split())


@pytest.mark.parametrize("form", PRINT_FORMATS)
def test_an_answer_loads_nothing_that_it_does_not_need(tmp_path: Path, form: str) -> None:
    done, loaded = run_chat(tmp_path, "-p", "hi", "--output-format", form)
    assert "OK." in done.stdout
    assert loaded & HEAVY == set()


def test_json_is_one_line_of_one_object(tmp_path: Path) -> None:
    done, _ = run_chat(tmp_path, "-p", "hi", "--output-format", "json")
    assert json.loads(done.stdout)["result"] == "OK."
    assert done.stdout.count("\n") == 1
