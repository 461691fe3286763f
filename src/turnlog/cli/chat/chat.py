"""`turnlog chat`: work with a model in this folder, in a session that Claude Code can continue."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from turnlog.cli.chat.chat_option import ChatOption
from turnlog.cli.chat.options import CHAT_OPTIONS, repeat_list_options

_OPTION_TYPES = {"number": click.IntRange(1), "count": click.IntRange(0), "amount": click.FloatRange(0, min_open=True)}


class ChatChoice(click.Choice[str]):
    """One of an option's values; a value that only Claude Code has is refused with the reason."""

    def __init__(self, row: ChatOption) -> None:
        super().__init__(row.choices)
        self._refusals = row.refusals

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if reason := self._refusals.get(value):
            self.fail(f"{value!r} is not supported: {reason}; use one of {', '.join(self.choices)}", param, ctx)
        return super().convert(value, param, ctx)


def _build_option(row: ChatOption) -> Any:
    option = partial(click.option, *row.words, row.name, help=row.help, hidden=row.is_hidden)
    if row.kind == "flag":
        return option(is_flag=True)
    if row.kind == "maybe":
        return option(is_flag=False, flag_value="", metavar="[ID]")
    if row.choices:
        return option(type=ChatChoice(row))
    return option(type=_OPTION_TYPES.get(row.kind, str), multiple=row.kind == "many")


def _add_options(command: Any) -> Any:
    for row in reversed(CHAT_OPTIONS):
        command = _build_option(row)(command)
    return command


class ChatCommand(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, repeat_list_options(args))


@click.command(cls=ChatCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("prompt", required=False)
@_add_options
def chat(**said: Any) -> int:
    """Work with a model that, with your permission, reads and edits files and runs commands in this folder.

    The session is an ordinary Claude Code session: `claude --resume` can continue it, and `turnlog chat --resume` can
    continue sessions that Claude Code started. Settings, permission rules, CLAUDE.md files and .claude/agents work as
    in Claude Code.

    With -p, turnlog prints the answer to standard output and exits. Calls that would need your permission are denied
    and reported. Text on standard input is added to the prompt. `turnlog -p` is short for `turnlog chat -p`.

    Set the ANTHROPIC_API_KEY environment variable to your API key.

    \b
    Examples:
      turnlog chat
      turnlog chat --continue
      turnlog chat --resume 7f3a "now the tests"
      turnlog -p "what does this project do?"
      git diff | turnlog -p "review this" --output-format json
    """
    from turnlog.cli.chat.chat_command import run_chat

    return run_chat(said)
