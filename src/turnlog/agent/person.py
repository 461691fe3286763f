"""The person at the other end: what they are asked in the middle of a turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol

from turnlog.agent.permissions.decision import Decision
from turnlog.agent.tools.tool import Question


class PermissionAnswer(NamedTuple):
    """What a person says to a call that needs their leave."""

    verdict: Literal["once", "always", "no", "nobody"]
    """`always` writes the suggested rules; `nobody` was there to say anything."""
    words: str = ""
    """What they want instead; with `no`, the model is told and goes on, without words the turn ends."""
    given: Mapping[str, Any] | None = None
    """The input that the call runs with in place of its own; the rules are asked about it again."""


class Person(Protocol):
    """Somebody who can be asked."""

    def permit(self, name: str, given: Mapping[str, Any], decision: Decision, agent: str | None) -> PermissionAnswer:
        """Whether a call may be made."""
        ...

    def answer(self, question: Question) -> Mapping[str, Any] | None:
        """What they say to a question or a plan; None if they decline."""
        ...


class Nobody:
    """Nobody is there: print mode."""

    def permit(self, name: str, given: Mapping[str, Any], decision: Decision, agent: str | None) -> PermissionAnswer:
        """No; the model is told why, and goes on."""
        return PermissionAnswer("nobody")

    def answer(self, question: Question) -> Mapping[str, Any] | None:
        """Nobody answers."""
        return None
