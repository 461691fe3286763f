"""Commands that the client runs itself: `/help`, `/clear`, `/compact` …

Each returns the lines to show. As in the newest Claude Code, commands that affect the model are written to the session
as prompts, and the others as remarks for people.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from turnlog.agent import session_commands
from turnlog.agent.loop import AgentLoop
from turnlog.agent.record import line_bodies as written
from turnlog.agent.thinking_choice import EFFORT_LEVELS
from turnlog.errors import UsageError
from turnlog.model.cancel import Cancel
from turnlog.render.figures import format_cost_usd, format_count, format_duration, format_thousands
from turnlog.render.terminal import make_visible, to_visible_line


class CommandHost(Protocol):
    """The parts of the console that commands use."""

    @property
    def loop(self) -> AgentLoop:
        """The loop of the current session."""
        ...

    def clear(self) -> None:
        """Start a new session."""
        ...

    def resume(self, name: str) -> bool:
        """Switch to a different session; without a name, the person chooses. Returns False if none was chosen."""
        ...

    def compact(self, instructions: str) -> bool:
        """Replace the conversation with a summary; return False if that was interrupted."""
        ...

    def rewind(self) -> Sequence[str]:
        """Let the person go back to an earlier prompt; return the lines to show."""
        ...

    def edit_file(self, path: Path) -> None:
        """Let the person edit a file in their editor."""
        ...

    def leave(self) -> None:
        """Exit after the current command."""
        ...


class SlashCommand(NamedTuple):
    help: str
    run: Callable[[CommandHost, str], Iterator[str]]
    arguments: str = ""
    """The arguments, as the help shows them."""


def run_slash_command(host: CommandHost, text: str) -> list[str] | None:
    """Run a command, record it in the session and return the lines to show, or None if the command is unknown."""
    name, arguments = _split_command(text)
    if name not in SLASH_COMMANDS:
        return None
    lines = list(SLASH_COMMANDS[name].run(host, arguments))
    if name not in UNRECORDED_COMMANDS and host.loop.record.path.exists():
        host.loop.record.write_local_command(name, arguments, "\n".join(lines), is_sent=False)
    return lines


def _split_command(text: str) -> tuple[str, str]:
    """Split a command into its name and the text that follows."""
    name, *rest = text.strip().removeprefix("/").split(maxsplit=1)
    return name, "".join(rest)


def is_slash_command(text: str) -> bool:
    """Return whether text is a command as Claude Code defines it: a slash and a name that is not an existing path."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return re.fullmatch(r"/[\w:-]+", first) is not None and not Path(first).exists()


class PrintCommandHost(NamedTuple):
    """A session in print mode, where actions that need a person do nothing."""

    loop: AgentLoop
    cancel: Cancel

    def clear(self) -> None:
        pass  # print mode ends with its session

    def resume(self, _name: str) -> bool:
        return False

    def compact(self, instructions: str) -> bool:
        self.loop.compact(instructions, self.cancel)
        return True

    def rewind(self) -> Sequence[str]:
        return ()

    def edit_file(self, path: Path) -> None:
        raise UsageError("/memory NUMBER opens an editor, which print mode can't")

    def leave(self) -> None:
        pass


def run_printed_command(loop: AgentLoop, text: str, cancel: Cancel) -> tuple[str, str] | None:
    """Run a command in print mode and return its name and output, or None if the text is a prompt.

    An unknown command raises UsageError, since a model would treat it as a prompt.
    """
    if not is_slash_command(text):
        return None
    name = _split_command(text)[0]
    if name not in SLASH_COMMANDS and name in loop.setup.commands:
        return None
    if name not in PRINTABLE_COMMANDS:
        problem = "not available in print mode" if name in SLASH_COMMANDS else "no such command"
        raise UsageError(
            f"/{name}: {problem}. To send this as text, put a space before the slash; /help lists the commands"
        )
    return name, "\n".join(run_slash_command(PrintCommandHost(loop, cancel), text) or ())


def describe_unknown_command(text: str) -> str:
    name = text.split(maxsplit=1)[0]
    return f"{to_visible_line(name)}: unknown command; /help lists the commands"


def is_custom_command(loop: AgentLoop, text: str) -> bool:
    """Return whether text runs a command or skill from a file; the client's own commands take precedence."""
    name = _split_command(text)[0]
    return is_slash_command(text) and name not in SLASH_COMMANDS and name in loop.setup.commands


def _run_help(host: CommandHost, _arguments: str) -> Iterator[str]:
    for name, command in SLASH_COMMANDS.items():
        yield f"  /{f'{name} {command.arguments}'.strip():<24} {command.help}"
    for name, custom in host.loop.setup.commands.items():
        if custom.is_for_people and name not in SLASH_COMMANDS:
            usage, about = f"{name} {custom.hint}".strip(), custom.description[:200]
            yield f"  /{to_visible_line(usage):<24} {to_visible_line(about)}"
    yield f"  {'!COMMAND':<25} run a shell command yourself; the model sees the output"
    yield "  Shift-Tab switches the permission mode: default, acceptEdits, plan."
    yield "  Esc or Ctrl-C interrupts a turn; what you type during a turn is sent next. Ctrl-D exits."
    yield "  A line that ends with \\ continues on the next one; Esc and Enter also start a new line."


def _run_clear(host: CommandHost, _arguments: str) -> Iterator[str]:
    previous_id = host.loop.record.session_id
    host.clear()
    yield f"Started a new session. To return to the previous one: /resume {previous_id}"


def _run_compact(host: CommandHost, arguments: str) -> Iterator[str]:
    if not host.loop.conversation.messages:
        yield "There is nothing to compact yet."
    elif host.compact(arguments):
        _record_command(host.loop, "compact", arguments, "Compacted")
    else:
        yield "The conversation is unchanged."


def _run_resume(host: CommandHost, arguments: str) -> Iterator[str]:
    if not host.resume(arguments):
        yield "The session is unchanged."


def _run_model(host: CommandHost, arguments: str) -> Iterator[str]:
    setup = host.loop.setup
    if not arguments:
        short = ", ".join(f"{name} ({model})" for name, model in setup.aliases.items())
        yield f"The model is {to_visible_line(setup.name)}. /model NAME switches to another: {short}, or a full name."
        return
    setup.name = setup.aliases.get(arguments, arguments)
    message = f"Set model to {setup.name}"
    _record_command(host.loop, "model", arguments, message)
    yield to_visible_line(message)


def _run_effort(host: CommandHost, level: str) -> Iterator[str]:
    setup = host.loop.setup
    if level:
        if level not in EFFORT_LEVELS:
            raise UsageError(f"/effort {level[:40]}: no such level; use one of {', '.join(EFFORT_LEVELS)}")
        setup.thinking = setup.thinking._replace(effort=level)
    sent = host.loop.build_request().extra.get("output_config", {}).get("effort")
    yield f"The effort is {sent}." if sent else f"{to_visible_line(setup.name)} does not accept a level of effort."


def _run_cost(host: CommandHost, _arguments: str) -> Iterator[str]:
    spent = host.loop.spent
    yield (
        f"{format_cost_usd(spent.dollars)} at list prices, {format_count(spent.requests, 'request')}, "
        f"{format_duration(round(spent.milliseconds))} of model time, counted since "
        f"this client opened the session."
    )
    for name, used in spent.models.items():
        tokens = used.tokens
        yield (
            f"  {to_visible_line(name)}: {tokens.input:,} in, {tokens.output:,} out, {tokens.cache_read:,} read "
            f"from cache, "
            f"{tokens.cache_write_5m + tokens.cache_write_1h:,} written to it · {format_cost_usd(used.dollars)}"
        )


def _run_context(host: CommandHost, arguments: str) -> Iterator[str]:
    if arguments == "--raw":
        body = json.dumps(host.loop.encode_next_request(), ensure_ascii=False, indent=2, default=str)
        yield from (make_visible(part) for part in body.split("\n"))
        return
    usage = host.loop.measure_context()
    share = 100 * usage.used / usage.window if usage.window else 0
    yield f"{format_thousands(usage.used)} of {format_thousands(usage.window)} tokens ({share:.0f} %)"
    width = max((len(name) for name, _ in usage.parts), default=0)
    for name, tokens in sorted(usage.parts, key=lambda part: -part[1]):
        yield f"  {to_visible_line(name):<{width}}  {format_thousands(tokens):>7}"
    basis = "The API counted the total; the parts are" if usage.is_exact else "All numbers are"
    yield f"{basis} estimated from text length. /context --raw prints the next request."


def _run_rewind(host: CommandHost, _arguments: str) -> Iterator[str]:
    yield from host.rewind()


def _run_tasks(host: CommandHost, arguments: str) -> Iterator[str]:
    verb, _, name = arguments.partition(" ")
    if verb == "stop" and name.strip():
        return session_commands.stop_task(host.loop, name.strip())
    return session_commands.describe_tasks(host.loop)


def _run_memory(host: CommandHost, number: str) -> Iterator[str]:
    if number:
        path = session_commands.find_memory_file(host.loop, number)
        host.edit_file(path)
        yield f"Edited {to_visible_line(str(path))}. Changes take effect in the next session (/clear)."
    else:
        yield from session_commands.describe_memory(host.loop)


def _run_agents(host: CommandHost, name: str) -> Iterator[str]:
    return session_commands.describe_agent(host.loop, name) if name else session_commands.describe_agents(host.loop)


def _run_mcp(host: CommandHost, _arguments: str) -> Iterator[str]:
    servers = host.loop.setup.servers
    if servers is None:
        yield "This session has no MCP servers."
        return
    for one in servers.statuses.values():
        count = format_count(one.tools, "tool")
        state = f"failed: {one.problem}" if one.problem else f"connected, {count}"
        yield f"  {to_visible_line(one.config.name)} ({one.config.scope}): {to_visible_line(state)}"


def _run_exit(host: CommandHost, _arguments: str) -> Iterator[str]:
    host.leave()
    return iter(())


def _record_command(loop: AgentLoop, name: str, arguments: str, output: str) -> None:
    """Write a command and its output to the session and the conversation so that the model sees both."""
    loop.record.write_local_command(name, arguments, output)
    for text in (
        written.LOCAL_COMMAND_CAVEAT,
        written.format_command(name, arguments),
        written.format_command_output(output),
    ):
        loop.conversation.add_user_content(text)


SLASH_COMMANDS: dict[str, SlashCommand] = {
    "help": SlashCommand("list the commands", _run_help),
    "clear": SlashCommand("start a new session and keep this one", _run_clear),
    "compact": SlashCommand("replace the conversation with a summary", _run_compact, "[INSTRUCTIONS]"),
    "resume": SlashCommand("switch to a different session", _run_resume, "[ID]"),
    "model": SlashCommand("show or change the model", _run_model, "[NAME]"),
    "effort": SlashCommand("show or change how much the model thinks", _run_effort, "[LEVEL]"),
    "status": SlashCommand(
        "show the session, its folders, its model and its mode",
        lambda host, _: session_commands.describe_status(host.loop),
    ),
    "permissions": SlashCommand(
        "show the rules for calls, with their sources",
        lambda host, _: session_commands.describe_permissions(host.loop),
    ),
    "memory": SlashCommand("show the instruction files of this session, or edit one", _run_memory, "[NUMBER]"),
    "agents": SlashCommand("show the types of sub-agents, or one of them", _run_agents, "[NAME]"),
    "tasks": SlashCommand("show what runs in the background, or stop a task", _run_tasks, "[stop ID]"),
    "hooks": SlashCommand("show the hooks of this session", lambda host, _: session_commands.describe_hooks(host.loop)),
    "rename": SlashCommand(
        "give the session a title", lambda host, title: session_commands.rename_session(host.loop, title), "TITLE"
    ),
    "export": SlashCommand(
        "export the session to a file (.md, .html, .txt, .json)",
        lambda host, name: session_commands.export_conversation(host.loop, name),
        "[FILE]",
    ),
    "cost": SlashCommand("show what this session has cost so far", _run_cost),
    "context": SlashCommand(
        "show what fills the context window; --raw shows the next request", _run_context, "[--raw]"
    ),
    "rewind": SlashCommand("go back to an earlier prompt: the conversation, the files, or both", _run_rewind),
    "mcp": SlashCommand("list the MCP servers of this session", _run_mcp),
    "exit": SlashCommand("exit turnlog", _run_exit),
}
_INTERACTIVE_COMMANDS = frozenset({"clear", "resume", "rewind", "exit"})
PRINTABLE_COMMANDS = tuple(name for name in SLASH_COMMANDS if name not in _INTERACTIVE_COMMANDS)
"""Commands that work in print mode, where nobody is waiting for the next prompt."""
UNRECORDED_COMMANDS = frozenset({"clear", "resume", "exit", "model", "compact", "rewind"})
"""Commands without a remark in the session: they write their own entries or are not about the session."""
