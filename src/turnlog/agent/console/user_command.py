"""A command that the person runs themselves (`!git status`): the model sees it and what came of it, and is asked."""

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


def run_user_command(loop: AgentLoop, command: str, showing: TurnDisplay, cancel: Cancel) -> None:
    """Run it where the session is at work; nobody is asked for leave, as it was the person who wrote it."""
    asked = f"<bash-input>{command}</bash-input>"
    loop.record.write_prompt(asked)
    loop.conversation.add_user_content(asked)
    given = {"command": command}
    showing.watch(CallStarted("", "!", given))
    result = _run_in_shell(loop, given, showing, cancel)
    showing.watch(CallEnded("", "!", given, result, 0))
    out = extract_content_text(result.content)
    told = ("", out) if result.is_error else (out, "")
    text = "<bash-stdout>{}</bash-stdout><bash-stderr>{}</bash-stderr>".format(*told)
    loop.record.write_addition(text)
    loop.conversation.add_user_content(text)
    if not cancel.is_set:
        loop.run_to_rest(cancel)


def _run_in_shell(loop: AgentLoop, given: Object, showing: TurnDisplay, cancel: Cancel) -> CallResult:
    shared, record, setup = loop.shared, loop.record, loop.setup
    scene = CallContext(
        "",
        setup.place,
        record.folder,
        record.session_id,
        shared.files,
        shared.shells,
        loop,
        cancel,
        setup.environ,
        lambda data: showing.watch(CallProgress("", data)),
    )
    try:
        return Bash().run(given, scene)
    except ToolError as error:
        return error.to_result()
    except RequestCancelled:
        return CallResult("interrupted", is_error=True)
