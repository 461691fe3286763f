"""A command that the person runs themselves (`!git status`): the model sees it and what came of it, and is asked."""

from __future__ import annotations

from turnlog.agent.console.showing import Showing
from turnlog.agent.events import CallEnded, CallProgress, CallStarted
from turnlog.agent.loop import Loop
from turnlog.agent.record.lines import text_of
from turnlog.agent.tools.bash import Bash
from turnlog.agent.tools.tool import Object, Result, Scene, ToolError
from turnlog.model.cancel import Cancel
from turnlog.model.failures import Cancelled


def run(loop: Loop, command: str, showing: Showing, cancel: Cancel) -> None:
    """Run it where the session is at work; nobody is asked for leave, as it was the person who wrote it."""
    asked = f"<bash-input>{command}</bash-input>"
    loop.record.prompt(asked)
    loop.conversation.said(asked)
    given = {"command": command}
    showing.watch(CallStarted("", "!", given))
    result = _ran(loop, given, showing, cancel)
    showing.watch(CallEnded("", "!", given, result, 0))
    out = text_of(result.content)
    told = ("", out) if result.is_error else (out, "")
    text = "<bash-stdout>{}</bash-stdout><bash-stderr>{}</bash-stderr>".format(*told)
    loop.record.added(text)
    loop.conversation.said(text)
    if not cancel.is_set:
        loop.work(cancel)


def _ran(loop: Loop, given: Object, showing: Showing, cancel: Cancel) -> Result:
    shared, record, setup = loop.shared, loop.record, loop.setup
    scene = Scene(
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
        return error.result()
    except Cancelled:
        return Result("interrupted", is_error=True)
