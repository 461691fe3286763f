"""The person who answers questions during a turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol

from turnlog.agent.permissions.decision import Decision
from turnlog.agent.tools.tool import Question


class PermissionAnswer(NamedTuple):
    """A person's answer to a call that needs permission."""

    verdict: Literal["once", "session", "always", "no", "denied", "nobody"]
    """`session` applies the suggested rules until the client exits, `always` also writes them to the settings; `denied`
    means that a program denied the call, for the reason in `words`; `nobody` means that no one could answer."""
    words: str = ""
    """Instructions for the model after a `no`; without them, a `no` ends the turn."""
    arguments: Mapping[str, Any] | None = None
    """The input that replaces the call's own; the rules are checked again for it."""


class Person(Protocol):
    """Someone who answers questions."""

    @property
    def answers_background_agents(self) -> bool:
        """Whether a sub-agent beside the conversation gets the same answers as one that the conversation waits for.

        If so, sub-agents work in the background unless the model wants to wait for them.
        """
        ...

    @property
    def fills_in_forms(self) -> bool:
        """Whether MCP servers may ask this person for data."""
        ...

    def permit(
        self, name: str, arguments: Mapping[str, Any], decision: Decision, agent: str | None
    ) -> PermissionAnswer:
        """Ask whether a call may run."""
        ...

    def answer(self, question: Question) -> Mapping[str, Any] | None:
        """Ask a question, or ask for approval of a plan; return None if the person declines."""
        ...


class Nobody:
    """Stands in for the person in print mode, where nobody can answer."""

    answers_background_agents = True
    fills_in_forms = False

    def permit(
        self, name: str, arguments: Mapping[str, Any], decision: Decision, agent: str | None
    ) -> PermissionAnswer:
        """Deny the call; the model is told why and continues."""
        return PermissionAnswer("nobody")

    def answer(self, question: Question) -> Mapping[str, Any] | None:
        return None
