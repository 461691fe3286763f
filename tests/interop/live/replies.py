"""What the scripted model answers in the runs."""

from __future__ import annotations

from typing import Any

from tests.interop.classify import Object

LINGER = 6.0
"""How long a run stays in a state that nothing ends."""
ANSWER = 4.0
"""How long the model takes to answer."""


def say(text: str, delay: float = 0.0, **more: Any) -> Object:
    """Build an answer of one text."""
    return {"delay": delay, "content": [{"type": "text", "text": text}], **more}


def call(name: str, delay: float = ANSWER, *, words: str = "", **arguments: Any) -> Object:
    """Build an answer that calls a tool."""
    block = {"type": "tool_use", "name": name, "input": arguments}
    return {"delay": delay, "content": [*([{"type": "text", "text": words}] if words else []), block]}


def run(command: str, delay: float = ANSWER, **more: Any) -> Object:
    """Build an answer that runs a command."""
    return call("Bash", delay, words="I run a command.", command=command, description="Run a command", **more)


def answer(*replies: Object, kind: str = "main", **more: Any) -> Object:
    """Build a conversation; after the last reply it repeats that one."""
    return {"kind": kind, "replies": list(replies), "when_done": "repeat", **more}


SUMMARY = say("<analysis>a</analysis>\n<summary>\nThe user asked one question.\n</summary>", 6.0)
DONE = say("All done.", ANSWER)
ASK = call(
    "AskUserQuestion",
    questions=[
        {
            "question": "Which fruit?",
            "header": "Fruit",
            "multiSelect": False,
            "options": [{"label": "Apple", "description": "red"}, {"label": "Pear", "description": "green"}],
        }
    ],
)
AGENTS = [
    answer(
        {
            "delay": ANSWER,
            "content": [
                {
                    "type": "tool_use",
                    "name": "Task",
                    "input": {"description": name, "prompt": f"{name}: look", "subagent_type": "general-purpose"},
                }
                for name in ("ALPHA", "BETA")
            ],
        },
        say("Two helpers were started.", 3.0),
        DONE,
    ),
    answer(run("./work 4", 2.0), say("alpha is over", 4.0), kind="agent", match="ALPHA"),
    answer(say("beta is over", 5.0), kind="agent", match="BETA"),
]
OVERLOADED = {
    "error": {"status": 529, "type": "overloaded_error", "message": "Overloaded", "headers": {"retry-after": "5"}}
}
BROKEN = {"error": {"status": 500, "type": "api_error", "message": "Internal error"}}
"""The client waits half a second before the second attempt, and twice as long each time after that."""
