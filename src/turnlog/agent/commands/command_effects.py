"""What commands and skills change until the end of a turn: the rules in effect, and the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnlog.agent.setup import AgentSetup
    from turnlog.agent.tools.command_file import CommandFile


class CommandEffects:
    """The effects of the commands of one actor's turn."""

    def __init__(self, setup: AgentSetup) -> None:
        self._setup = setup
        self._model_before = self._model_of_turn = ""
        """The models before and since a command chose one for the turn."""

    def apply_command(self, command: CommandFile) -> dict[str, Any]:
        """Apply a command's rules and model, and return the attachment that records them."""
        setup = self._setup
        setup.guard.allow_until_turn_end(command.allowed, setup.place)
        permissions = {"type": "command_permissions", "allowedTools": list(command.allowed)}
        if not command.model:
            return permissions
        model = setup.aliases.get(command.model, command.model)
        self._model_before = self._model_before or setup.name
        self._model_of_turn = setup.name = model
        return {**permissions, "model": model}

    def undo(self) -> None:
        """Forget what commands set for the turn; a model that the person has chosen since then stays."""
        self._setup.guard.forget_turn_rules(self._setup.place)
        if self._model_before and self._setup.name == self._model_of_turn:
            self._setup.name = self._model_before
        self._model_before = self._model_of_turn = ""
