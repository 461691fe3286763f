"""Skill: loads the text of a skill or command into the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from turnlog.agent.tools.call_result import CallResult, Object, RejectedCall
from turnlog.agent.tools.tool import CallContext, Tool

if TYPE_CHECKING:
    from turnlog.agent.tools.command_file import CommandFile

MAX_DESCRIPTION_CHARS = 1536
"""How much of the description of a skill the model sees before it loads the skill."""
MAX_LISTING_CHARS = 16_000
"""How long the list of skills may be; further skills are listed by name alone."""
MAX_UNDESCRIBED_NAMES = 500


class Skill(Tool):
    """Offers the skills and commands of a session to the model."""

    name = "Skill"

    def __init__(self, commands: Mapping[str, CommandFile]) -> None:
        self._commands = commands

    @property
    def description(self) -> str:
        """The description for the model, with everything that it can load."""
        head = (
            "Loads a skill: instructions that the user or the project has written for a kind of task. If one of those"
            " below covers the task at hand, call this tool first and follow the instructions that it adds; some run in"
            " a sub-agent and return its report.\n"
        )
        return "\n".join([head, *self._list_skills()])

    def _list_skills(self) -> list[str]:
        lines, names, size = list[str](), list[str](), 0
        for name, command in self._commands.items():
            if not command.is_for_model or command.problem:
                continue
            line = f"- {name}: {_shorten(' '.join(command.description.split()))}"
            size += len(line)
            if size <= MAX_LISTING_CHARS:
                lines.append(line)
            else:
                names.append(name)
        return [*lines, f"- also: {', '.join(names[:MAX_UNDESCRIBED_NAMES])}"] if names else lines

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
                f" /{name} themselves. Do not replicate its workflow by other means."
            )
        return context.desk.run_skill(command, str(arguments.get("args") or ""), context)


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_DESCRIPTION_CHARS else f"{text[: MAX_DESCRIPTION_CHARS - 1]}…"
