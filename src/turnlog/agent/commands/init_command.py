"""`/init`: lets the model write the project's instructions. A command of the same name from a file replaces it."""

from __future__ import annotations

from pathlib import Path

from turnlog.agent.tools.command_file import CommandFile

_INIT_TEXT = """\
Write CLAUDE.md in the start folder: the instructions that every future session in this project begins with.

First look: the README, the files that describe the build (such as package.json, pyproject.toml, Makefile), the CI \
configuration, other instruction files (AGENTS.md, .cursor/rules, .cursorrules, .github/copilot-instructions.md), and \
enough of the source to know how it is put together.

Then write what a capable newcomer could not quickly find out alone:
- the commands to build, check, format and test, and how to run a single test; only those that you have seen defined
- the parts of the system and how they work together, where several files must be read to understand it
- conventions and traps that the files themselves state

Leave out generic advice, lists of every file, and anything that you would have to invent. Keep it under 100 lines. If \
CLAUDE.md exists, improve it rather than replace it, keep what people wrote, and say what you changed and why."""

INIT_COMMAND = CommandFile(
    "init", Path("CLAUDE.md"), _INIT_TEXT, "write CLAUDE.md, the instructions for this project", is_for_model=False
)
