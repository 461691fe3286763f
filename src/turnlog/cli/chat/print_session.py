"""Runs print mode: one prompt, or the prompts that a program sends."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from turnlog.cli.chat.print_output import catch_interrupts, choose_exit_status, print_remarks, write_json, write_text
from turnlog.cli.chat.prompt_input import read_prompt
from turnlog.errors import Busy, TurnlogError, UsageError

if TYPE_CHECKING:
    from turnlog.agent.actor import EventWatcher
    from turnlog.agent.events import TurnEvent
    from turnlog.agent.loop import AgentLoop
    from turnlog.agent.person import Person
    from turnlog.agent.print_mode.control_channel import ControlChannel
    from turnlog.agent.print_mode.program_person import ProgramPerson
    from turnlog.agent.print_mode.turn_printer import TurnPrinter
    from turnlog.agent.session_starter import SessionStarter
    from turnlog.agent.start_options import StartOptions
    from turnlog.agent.started_session import StartedSession
    from turnlog.model.cancel import Cancel

_MAX_BUSY_SECONDS = 2.0
_BUSY_PAUSE_SECONDS = 0.05
PROGRAM_TOOL = "stdio"
"""The value of `--permission-prompt-tool` that stands for the calling program."""


def run_print_mode(starting: SessionStarter, wishes: StartOptions, said: Mapping[str, Any]) -> int:
    from turnlog.agent.print_mode.turn_printer import TurnPrinter

    is_fed = _has_prompt_stream(said)
    prompt = None if is_fed else read_prompt(said.get("prompt"))
    if wishes.resume == "":
        raise UsageError("in print mode, --resume requires a session id; use --continue to resume the newest session")
    printing = TurnPrinter(
        said.get("form") or "text",
        write_json,
        write_text,
        partial=bool(said.get("partial")),
        prints_hooks=bool(said.get("prints_hooks")),
    )
    with _open_log(said) as log:
        watch = _build_watcher(printing, log)
        try:
            if prompt is None:
                return _run_prompt_stream(starting, wishes, said, printing, watch)
            return _run_one_prompt(starting, wishes, said, prompt, printing, watch)
        except TurnlogError as error:
            printing.print_failure(str(error))
            raise


def _run_one_prompt(
    starting: SessionStarter,
    wishes: StartOptions,
    said: Mapping[str, Any],
    prompt: str,
    printing: TurnPrinter,
    watch: EventWatcher,
) -> int:
    """Answer one prompt and return the exit status."""
    from turnlog.agent.person import Nobody
    from turnlog.model.cancel import Cancel

    person = _create_person(said, None)
    with contextlib.closing(_begin_session(starting, wishes, watch, person or Nobody())) as begun:
        print_remarks(*begun.warnings, *map(_describe_missing_program, begun.loop.setup.program_servers))
        _attach_program(begun.loop, person, said)
        with catch_interrupts(cancel := Cancel()) as heard:
            printing.begin_turn(begun.loop, starting.key_source)
            status = _run_prompt(begun.loop, printing, prompt, cancel)
            status = _run_notice_turns(begun.loop, printing, cancel, status, starting.key_source)
            printing.print_last_result()
            return choose_exit_status(status, heard)


def _run_prompt_stream(
    starting: SessionStarter,
    wishes: StartOptions,
    said: Mapping[str, Any],
    printing: TurnPrinter,
    watch: EventWatcher,
) -> int:
    """Answer prompts until the input ends, and return the exit status of the last one."""
    from turnlog.agent.briefing.plan_mode import PlanModeTracker
    from turnlog.agent.print_mode.control_channel import ControlChannel
    from turnlog.agent.print_mode.program_elicitation import FormFiller
    from turnlog.agent.print_mode.prompt_feed import PromptFeed

    channel, status = ControlChannel(write_json), 0
    person = _create_person(said, channel)
    lines: Iterable[bytes] = _open_input()
    if said.get("awaits_initialize"):
        from turnlog.agent.print_mode.initial_plugins import read_initial_plugins

        wishes, lines = read_initial_plugins(wishes, lines)
    with contextlib.closing(_begin_session(starting, wishes, watch, person or FormFiller(channel))) as begun:
        print_remarks(*begun.warnings)
        _attach_program(begun.loop, person, said)
        awaited_agent = wishes.agent if wishes.agent not in begun.loop.setup.agents else None
        planning = PlanModeTracker(begun.loop)  # before reading the first line, which may change the mode
        feed = PromptFeed(begun, lines, write_json, channel)
        while (message := feed.next_message()) is not None:
            feed.connect_servers()
            if awaited_agent:
                from turnlog.agent.main_agent import adopt_agent

                adopt_agent(begun.loop, awaited_agent, wishes)
                awaited_agent = None
            with catch_interrupts(cancel := feed.create_cancel(), channel.withdraw_requests) as heard:
                if message.is_notice:
                    status = _run_waiting_notice(begun.loop, printing, cancel, status, starting.key_source)
                    continue
                printing.begin_turn(begun.loop, starting.key_source)
                if said.get("is_replayed"):
                    printing.replay_message(message.content, message.uuid)
                planning.announce_change()
                try:
                    status = _run_prompt(
                        begun.loop,
                        printing,
                        message.content,
                        cancel,
                        planning.update_after_turn,
                        uuid=message.uuid,
                        typed_text="" if message.is_verbatim else None,
                    )
                except UsageError as error:  # only this message is invalid; the next one may be fine
                    printing.print_failure(str(error))
                    status = error.exit_status
            if heard:
                return choose_exit_status(status, heard)
        with catch_interrupts(cancel := feed.create_cancel()) as heard:
            status = _run_notice_turns(begun.loop, printing, cancel, status, starting.key_source)
    return choose_exit_status(status, heard)


def _begin_session(
    starting: SessionStarter, wishes: StartOptions, watch: EventWatcher, person: Person
) -> StartedSession:
    """Begin a session; wait a moment for a process that has just printed its last line and is about to let go of it."""
    deadline = time.monotonic() + _MAX_BUSY_SECONDS
    while True:
        try:
            return starting.begin_session(wishes, watch, person)
        except Busy:
            if time.monotonic() > deadline:
                raise
            time.sleep(_BUSY_PAUSE_SECONDS)


def _open_input() -> BinaryIO:
    """Open standard input for the thread that waits for lines: the interpreter can't end while one holds sys.stdin."""
    return open(sys.stdin.fileno(), "rb", closefd=False)


def _run_waiting_notice(loop: AgentLoop, printing: TurnPrinter, cancel: Cancel, status: int, key_source: str) -> int:
    """Let the model respond to the end of a background task, unless an earlier turn has done so."""
    if not loop.shared.notices.list_waiting():
        return status
    printing.begin_turn(loop, key_source, is_notice=True)
    ended = loop.run_notice_turn(cancel)
    return printing.end_turn(loop, ended) if ended is not None else status


def _run_notice_turns(loop: AgentLoop, printing: TurnPrinter, cancel: Cancel, status: int, key_source: str) -> int:
    """Wait for what runs in the background, let the model respond to its end, and return the last exit status."""
    from turnlog.agent.print_mode.notice_wait import wait_for_notice

    while not status and wait_for_notice(loop, cancel):
        printing.begin_turn(loop, key_source, is_notice=True)
        ended = loop.run_notice_turn(cancel)
        status = printing.end_turn(loop, ended) if ended is not None else status
    return status


def _run_prompt(
    loop: AgentLoop,
    printing: TurnPrinter,
    prompt: Any,
    cancel: Cancel,
    note_end: Callable[[], object] = lambda: None,
    *,
    uuid: str | None = None,
    typed_text: str | None = None,
) -> int:
    """Answer one prompt or slash command and return the exit status.

    `note_end` is called before the result is printed, after which a program may change the mode. Only `typed_text`, by
    default the whole prompt, can mention files and name a command."""
    text = _read_plain_text(prompt) if typed_text is None else typed_text
    if text.startswith("/"):
        from turnlog.agent.events import TurnEnded
        from turnlog.agent.slash_commands import run_printed_command
        from turnlog.model.failures import ModelError

        began = time.monotonic()
        try:
            told = run_printed_command(loop, text, cancel)
        except ModelError as error:
            return printing.end_turn(loop, TurnEnded("error", f"API Error: {error}", 0, 0))
        if told is not None:
            return printing.print_command_result(loop, *told, round((time.monotonic() - began) * 1000))
    ended = loop.run_turn(prompt, cancel, typed_text=typed_text, typed=False, uuid=uuid)
    note_end()
    return printing.end_turn(loop, ended)


def _read_plain_text(prompt: Any) -> str:
    """Return the text of a text-only prompt, which programs may send as a block."""
    if isinstance(prompt, list) and len(prompt) == 1 and prompt[0].get("type") == "text":
        prompt = prompt[0].get("text")
    return prompt if isinstance(prompt, str) else ""


def _create_person(said: Mapping[str, Any], channel: ControlChannel | None) -> ProgramPerson | None:
    """Return who answers permission requests, or None if nobody does."""
    asked = said.get("asked")
    if not asked or said.get("answerer") == "none":
        return None
    from turnlog.agent.print_mode.program_person import ProgramPerson, send_to_program

    person = ProgramPerson(channel)
    if channel is not None and asked == PROGRAM_TOOL:
        person.send_question = partial(send_to_program, channel)
    return person


def _describe_missing_program(server: str) -> str:
    return f"the MCP server {server!r} is inside a program, and programs are asked only with --input-format stream-json"


def _attach_program(loop: AgentLoop, person: ProgramPerson | None, said: Mapping[str, Any]) -> None:
    """Give the program, or the tool that answers for it, its hold on the session."""
    if person is not None:
        from turnlog.agent.print_mode.permission_updates import apply_permission_updates

        person.apply_updates = partial(apply_permission_updates, loop)
        if (name := said["asked"]) != PROGRAM_TOOL:
            from turnlog.agent.print_mode.program_person import send_to_tool

            person.send_question = partial(send_to_tool, lambda: loop.setup.tools.get(name))
    if said.get("is_mirrored"):
        from turnlog.agent.print_mode.transcript_mirror import build_mirror_line

        loop.record.mirror_lines(lambda path, data: write_json(build_mirror_line(path, data)))


@contextlib.contextmanager
def _open_log(said: Mapping[str, Any]) -> Iterator[EventWatcher | None]:
    """Open the log that the options ask for."""
    name = said.get("debug_file")
    if not name and not said.get("is_debugged"):
        yield None
        return
    from turnlog.agent.print_mode.debug_log import DebugLog

    if not name:
        yield DebugLog(sys.stderr.write).add_event
        return
    try:
        file = Path(name).expanduser().open("a", encoding="utf-8", buffering=1)
    except OSError as error:
        raise UsageError(f"--debug-file {name}: {error.strerror}") from None
    with file:
        yield DebugLog(file.write).add_event


def _build_watcher(printing: TurnPrinter, log: EventWatcher | None) -> EventWatcher:
    """Build a watcher that prints a turn; notices for people, such as retries, also go to standard error."""
    from turnlog.agent.events import HookMessage, WarningIssued

    def watch(event: TurnEvent) -> None:
        if isinstance(event, WarningIssued) or (
            isinstance(event, HookMessage) and event.level == "warning" and not event.details
        ):
            print_remarks(event.text)
        if log is not None:
            log(event)
        printing.watch(event)

    return watch


def _has_prompt_stream(said: Mapping[str, Any]) -> bool:
    """Return whether prompts arrive as lines of JSON; raise an error if options contradict each other."""
    is_fed = said.get("input_form") == "stream-json"
    if is_fed and said.get("form") != "stream-json":
        raise UsageError("--input-format stream-json requires --output-format stream-json")
    if not is_fed and (said.get("is_replayed") or said.get("asked") == PROGRAM_TOOL):
        raise UsageError("--replay-user-messages and --permission-prompt-tool stdio require --input-format stream-json")
    if said.get("partial") and said.get("form") != "stream-json":
        raise UsageError("--include-partial-messages requires --output-format stream-json")
    if is_fed and said.get("prompt"):
        raise UsageError("with --input-format stream-json, send prompts on standard input, not as an argument")
    return is_fed
