"""A command or skill, as prompts and the Skill tool use it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct


class CommandFile(Struct, frozen=True):
    """One command or skill."""

    name: str
    path: Path
    body: str
    description: str = ""
    hint: str = ""
    """The arguments, as help shows them."""
    names: tuple[str, ...] = ()
    """The names of the arguments (`$name`)."""
    allowed: tuple[str, ...] = ()
    """Rules that apply until the end of the turn (`allowed-tools`)."""
    model: str | None = None
    is_skill: bool = False
    is_forked: bool = False
    """Whether it runs in a sub-agent of its own (`context: fork`)."""
    agent: str = ""
    """The type of that sub-agent."""
    is_for_people: bool = True
    """Whether people can run it."""
    is_for_model: bool = True
    """Whether the model can call it."""
    plugin_root: str = ""
    fetch: Callable[[str], str] | None = None
    """Returns the text for some arguments, if it comes from an MCP server; such text is not expanded further."""
    problem: str = ""
    """Why it can't run."""

    @property
    def is_plain(self) -> bool:
        """Whether it only gives a model text, so that the model may call it without asking."""
        return not self.allowed and "!`" not in self.body and "```!" not in self.body
