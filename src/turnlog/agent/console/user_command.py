"""A command that the person runs (`!git status`): the model sees the command and its output, and then responds."""

from __future__ import annotations

from turnlog.agent.console.turn_display import TurnDisplay
from turnlog.agent.events import CallEnded, CallProgress, CallStarted
from turnlog.agent.loop import AgentLoop
from turnlog.agent.record.line_bodies import extract_content_text
from turnlog.agent.tools.bash import Bash
from turnlog.agent.tools.call_result import CallResult, Object, ToolError
from turnlog.agent.tools.tool import CallContext
from turnlog.model.cancel import Cancel
from turnlog.model.failures import RequestCancelled


def run_user_command(loop: AgentLoop, command: str, display: TurnDisplay, cancel: Cancel) -> None:
    """Run a command in the session's folder without a permission check, since the person typed it."""
    prompt = f"<bash-input>{command}</bash-input>"
    loop.record.write_prompt(prompt)
    loop.conversation.add_user_content(prompt)
    arguments = {"command": command}
    display.watch(CallStarted("", "!", arguments))
    result = _run_in_shell(loop, arguments, display, cancel)
    display.watch(CallEnded("", "!", arguments, result, 0))
    output = extract_content_text(result.content)
    streams = ("", output) if result.is_error else (output, "")
    text = "<bash-stdout>{}</bash-stdout><bash-stderr>{}</bash-stderr>".format(*streams)
    loop.record.write_addition(text)
    loop.conversation.add_user_content(text)
    if not cancel.is_set:
        loop.run_to_rest(cancel)


def _run_in_shell(loop: AgentLoop, arguments: Object, display: TurnDisplay, cancel: Cancel) -> CallResult:
    shared, record, setup = loop.shared, loop.record, loop.setup
    context = CallContext(
        "",
        setup.place,
        record.folder,
        record.session_id,
        shared.files,
        shared.shells,
        loop.services,
        cancel,
        setup.environ,
        lambda data: display.watch(CallProgress("", data)),
    )
    try:
        return Bash().run(arguments, context)
    except ToolError as error:
        return error.to_result()
    except RequestCancelled:
        return CallResult("interrupted", is_error=True)
