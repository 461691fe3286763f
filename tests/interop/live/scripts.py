"""The runs: what a person at the keyboard does, while the model answers as `replies` says.

Each function is one run. `./work N` is an allowed command that takes N seconds; a plain `sleep` is refused by newer
clients. States last several seconds, as they do in practice, because each change costs the board a moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.interop.live.ending_scripts import (
    clear,
    kill_answering,
    kill_idle,
    kill_permission,
    leave,
    resume,
    terminate_idle,
    terminate_tool,
    two_sessions,
)
from tests.interop.live.mixed_scripts import bumpy_api, careful_person, office_day
from tests.interop.live.replies import (
    AGENTS,
    ANSWER,
    ASK,
    BROKEN,
    DONE,
    LINGER,
    OVERLOADED,
    SUMMARY,
    answer,
    call,
    run,
    say,
)
from tests.interop.live.stage import Stage


def permission_allow(stage: Stage) -> None:
    """A command waits for permission and is allowed."""
    player = stage.open_client([answer(run("touch a.txt && ./work 5"), DONE)])
    player.prompt("make a file")
    player.wait_for("permission")
    stage.stay(10)
    player.press("1")
    player.wait_for("idle")
    stage.stay(LINGER)


def permission_deny(stage: Stage) -> None:
    """A command waits for permission and is denied; then a second prompt."""
    player = stage.open_client([answer(run("touch a.txt"), DONE)])
    player.prompt("make a file")
    player.wait_for("permission")
    stage.stay(5)
    player.press("Escape")
    player.wait_for("interrupted", "idle")
    stage.stay(LINGER)
    player.prompt("go on then")
    player.wait_for("idle")
    stage.stay(3)


def permission_edit(stage: Stage) -> None:
    """A new file waits for permission."""
    player = stage.open_client([answer(call("Write", file_path="notes.md", content="# Notes\n"), DONE)])
    player.prompt("write a note")
    player.wait_for("permission")
    stage.stay(8)
    player.press("1")
    player.wait_for("idle")
    stage.stay(3)


def long_command(stage: Stage) -> None:
    """An allowed command runs for a long time without a word."""
    player = stage.open_client([answer(run("./work 45"), DONE)])
    player.prompt("run the long job")
    player.wait_for("tool")
    player.wait_for("idle")
    stage.stay(LINGER)


def question(stage: Stage) -> None:
    """The model asks a question, and the person answers after a while."""
    player = stage.open_client([answer(ASK, DONE)])
    player.prompt("which fruit")
    player.wait_for("question")
    stage.stay(8)
    player.press("1")
    player.wait_for("idle")
    stage.stay(3)


def plan(stage: Stage) -> None:
    """The model writes a plan, and the person approves it."""
    write = call("Write", file_path="{{plan}}", content="# Plan\n\n1. Add a discount\n")
    write["capture"] = {"plan": r"(/[^ ]*plans/[^ ]*?\.md)"}
    leave = call("ExitPlanMode", plan="# Plan\n\n1. Add a discount\n")
    player = stage.open_client([answer(write, leave, run("./work 3"), DONE)], "--permission-mode", "plan")
    player.prompt("plan a discount")
    player.wait_for("plan")
    stage.stay(8)
    player.press("Down", "Enter")
    player.wait_for("idle")
    stage.stay(3)


def parallel_agents(stage: Stage) -> None:
    """Two sub-agents work at the same time."""
    player = stage.open_client(AGENTS)
    player.prompt("start two helpers")
    player.wait_for("tool", "background")
    stage.stay(3)
    player.wait_for("idle", text="All done.")
    stage.stay(LINGER)


def background_agent(stage: Stage) -> None:
    """A sub-agent goes on in the background after the turn is over."""
    start = call(
        "Task", description="ALPHA", prompt="ALPHA: look", subagent_type="general-purpose", run_in_background=True
    )
    agent = answer(run("./work 6", 3.0), say("alpha is over", 6.0), kind="agent")
    player = stage.open_client([answer(start, say("It works in the background.", 3.0), DONE), agent])
    player.prompt("start a helper")
    player.wait_for("background")
    player.wait_for("idle", text="All done.")
    stage.stay(LINGER)


def agent_permission(stage: Stage) -> None:
    """A sub-agent's command waits for permission."""
    start = call("Task", description="ALPHA", prompt="ALPHA: look", subagent_type="general-purpose")
    agent = answer(run("touch b.txt && ./work 4", 1.0), say("alpha is over", 3.0), kind="agent")
    player = stage.open_client([answer(start, DONE), agent])
    player.prompt("start a helper")
    player.wait_for("permission")
    stage.stay(8)
    player.press("1")
    player.wait_for("idle", text="All done.")
    stage.stay(LINGER)


def background_shell(stage: Stage) -> None:
    """A shell goes on in the background after the turn is over."""
    start = run("./work 14", run_in_background=True)
    player = stage.open_client([answer(start, say("It runs in the background.", 3.0), DONE)])
    player.prompt("start a job")
    player.wait_for("background")
    player.wait_for("idle", text="All done.")
    stage.stay(LINGER)


def person_shell(stage: Stage) -> None:
    """The person runs a command."""
    player = stage.open_client([answer(DONE)])
    player.prompt("hello")
    player.wait_for("working")
    player.wait_for("idle")
    stage.stay(3)
    player.prompt("!sleep 8")
    player.wait_for("shell")
    player.wait_for("idle")
    stage.stay(LINGER)


def person_shell_first(stage: Stage) -> None:
    """The person runs a command before any prompt."""
    player = stage.open_client([answer(DONE)])
    player.prompt("!sleep 8")
    player.wait_for("shell")
    player.wait_for("idle")
    stage.stay(LINGER)


def interrupt_answer(stage: Stage) -> None:
    """Esc while the model answers."""
    slow = {"pace": 1.0, "content": [{"type": "text", "text": "A slow sentence. " * 8}]}
    player = stage.open_client([answer(say("Yes.", ANSWER), slow)])
    player.prompt("hello")
    player.wait_for("working")
    player.wait_for("idle")
    player.prompt("tell me a story")
    player.wait_for("working")
    stage.stay(5)
    player.press("Escape")
    player.wait_for("interrupted", "idle")
    stage.stay(LINGER)


def interrupt_tool(stage: Stage) -> None:
    """Esc while a command runs."""
    player = stage.open_client([answer(run("./work 60"), DONE)])
    player.prompt("run the long job")
    player.wait_for("tool")
    stage.stay(6)
    player.press("Escape")
    player.wait_for("interrupted", "idle")
    stage.stay(LINGER)
    player.prompt("never mind")
    player.wait_for("idle")
    stage.stay(3)


def interrupt_wait(stage: Stage) -> None:
    """Esc before the first word of an answer."""
    player = stage.open_client([answer(say("Yes.", 8.0))])
    player.prompt("hello")
    player.wait_for("working")
    stage.stay(4)
    player.press("Escape")
    player.wait_for("interrupted", "idle")
    stage.stay(LINGER)


def manual_compaction(stage: Stage) -> None:
    """The person compacts the conversation."""
    player = stage.open_client([answer(SUMMARY, kind="compact"), answer(say("Yes.", ANSWER))])
    for text in ("hello", "and again"):
        player.prompt(text)
        player.wait_for("working")
        player.wait_for("idle")
    stage.stay(3)
    player.prompt("/compact")
    player.wait_for("compacting")
    player.wait_for("idle")
    stage.stay(LINGER)
    player.prompt("after it")
    player.wait_for("working")
    player.wait_for("idle")
    stage.stay(3)


def automatic_compaction(stage: Stage) -> None:
    """The context is full, so the client compacts it before it answers."""
    full = {"input_tokens": 10, "cache_read_input_tokens": 990_000, "output_tokens": 500}
    replies = [say("Yes.", ANSWER, usage=full), say("After the summary.", ANSWER)]
    player = stage.open_client([answer(SUMMARY, kind="compact"), answer(*replies)])
    player.prompt("hello")
    player.wait_for("working")
    player.wait_for("idle")
    stage.stay(3)
    player.prompt("and again")
    player.wait_for("compacting")
    player.wait_for("idle")
    stage.stay(LINGER)


def final_error(stage: Stage) -> None:
    """The API refuses a request for good."""
    bad = {"delay": 2.0, "error": {"status": 400, "type": "invalid_request_error", "message": "Bad request"}}
    player = stage.open_client([answer(bad, last="fails(?!.*works)"), answer(DONE)])
    player.prompt("this fails")
    player.wait_for("error")
    stage.stay(LINGER)
    player.prompt("this works")
    player.wait_for("working")
    player.wait_for("idle")
    stage.stay(3)


def retries_overloaded(stage: Stage) -> None:
    """The API is overloaded twice, and says how long to wait."""
    player = stage.open_client([answer(OVERLOADED, OVERLOADED, DONE)])
    player.prompt("hello")
    player.wait_for("retrying")
    player.wait_for("idle", "error")
    stage.stay(LINGER)


def retries_broken(stage: Stage) -> None:
    """The API fails five times, in the middle of a turn."""
    player = stage.open_client([answer(run("./work 2"), *[BROKEN] * 5, DONE)])
    player.prompt("hello")
    player.wait_for("retrying")
    player.wait_for("idle", "error")
    stage.stay(LINGER)


def retries_interrupted(stage: Stage) -> None:
    """Esc while the client waits for another attempt."""
    player = stage.open_client([answer(BROKEN)])
    player.prompt("hello")
    player.wait_for("retrying")
    stage.stay(7)
    player.press("Escape")
    player.wait_for("interrupted", "idle")
    stage.stay(LINGER)


def queued_prompt(stage: Stage) -> None:
    """The person types the next prompt while a command runs."""
    player = stage.open_client([answer(run("./work 8"), say("Finished, and I saw your note.", ANSWER), DONE)])
    player.prompt("run the job")
    player.wait_for("tool")
    stage.stay(1)
    player.prompt("and say hello")
    player.wait_for("idle")
    stage.stay(LINGER)


def slow_stream(stage: Stage) -> None:
    """Thinking and a text arrive slowly."""
    slow = {
        "pace": 1.6,
        "content": [
            {"type": "thinking", "thinking": "Slowly thinking about it.", "signature": "c2ln"},
            {"type": "text", "text": "A slow sentence that takes a while."},
        ],
    }
    player = stage.open_client([answer(slow)])
    player.prompt("think about it")
    player.wait_for("working")
    player.wait_for("idle")
    stage.stay(LINGER)


def slow_hook(stage: Stage) -> None:
    """A Stop hook runs for a while after the answer."""
    player = stage.open_client([answer(say("Yes.", ANSWER))])
    player.prompt("hello")
    player.wait_for("working")
    player.wait_for("idle")
    stage.stay(LINGER)


def many_tools(stage: Stage) -> None:
    """A turn of several short calls, with thinking between them."""
    read = call("Read", 2.0, words="I read it.", file_path="README.md")
    player = stage.open_client([answer(read, run("./work 2", 3.0), run("./work 3", 6.0), say("Done.", 7.0))])
    player.prompt("look around")
    player.wait_for("working")
    player.wait_for("idle")
    stage.stay(12)


class Script(NamedTuple):
    """A run and the settings of its client."""

    play: Callable[[Stage], None]
    settings: dict[str, Any]

    @property
    def name(self) -> str:
        return self.play.__name__


SETTINGS = {"permissions": {"allow": ["Bash(./work:*)"]}}
_SLOW_HOOK = {**SETTINGS, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sleep 7"}]}]}}
_PLAYS: list[Callable[[Stage], None]] = [
    agent_permission, permission_edit, many_tools, slow_hook, slow_stream, two_sessions, retries_broken, resume,
    retries_overloaded, retries_interrupted, final_error, kill_answering, terminate_tool, kill_permission,
    queued_prompt, interrupt_tool, permission_allow, permission_deny, question, plan, parallel_agents,
    background_agent, background_shell, manual_compaction, automatic_compaction, clear, leave, long_command,
    person_shell, person_shell_first, interrupt_answer, interrupt_wait, terminate_idle, kill_idle,
    office_day, careful_person, bumpy_api,
]  # fmt: skip
SCRIPTS = {play.__name__: Script(play, _SLOW_HOOK if play is slow_hook else SETTINGS) for play in _PLAYS}
