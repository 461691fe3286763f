"""Skill: loads the text of a skill or command into the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from turnlog.agent.tools.call_result import CallResult, Object, RejectedCall
from turnlog.agent.tools.tool import CallContext, Tool

if TYPE_CHECKING:
    from turnlog.agent.tools.command_file import CommandFile

MAX_LISTED_CHARS = 250
"""How much of a description the model sees before it loads a skill."""


class Skill(Tool):
    """Offers the skills and commands of a session to the model."""

    name = "Skill"

    def __init__(self, commands: Mapping[str, CommandFile]) -> None:
        self._commands = commands

    @property
    def description(self) -> str:
        """The description for the model, with everything that it can load."""
        listed = [
            f"- {name}: {' '.join(command.description.split())[:MAX_LISTED_CHARS]}"
            for name, command in self._commands.items()
            if command.is_for_model and not command.problem
        ]
        head = (
            "Loads a skill: instructions that the user or the project has written for a kind of task. If one of those"
            " below covers the task at hand, call this tool first and follow the instructions that it adds.\n"
        )
        return "\n".join([head, *listed])

    @property
    def schema(self) -> Object:
        text = {"type": "string"}
        properties = {
            "skill": {**text, "description": "The exact name, without a slash"},
            "args": {**text, "description": "Arguments for the skill"},
        }
        return {"type": "object", "properties": properties, "required": ["skill"], "additionalProperties": False}

    def is_safe(self, arguments: Object) -> bool:
        return False

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        name = str(arguments["skill"]).removeprefix("/")
        command = self._commands.get(name)
        if command is None:
            raise RejectedCall(f"Unknown skill: {name}")
        if not command.is_for_model:
            raise RejectedCall(
                f"Skill {name} cannot be used with Skill tool due to disable-model-invocation. Ask the user to run"
                f" /{name} themselves."
            )
        context.desk.load_skill(command, str(arguments.get("args") or ""), context)
        return CallResult(f"Launching skill: {name}", {"success": True, "commandName": name})
