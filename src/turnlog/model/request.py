"""What a model is asked: the body of a Messages API request, as a value.

Messages, tools and blocks are the API's own JSON: what turnlog does not understand of them goes through unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

Object = Mapping[str, Any]
Content = str | Sequence[Object]


class Request(Struct, frozen=True):
    """One request to a model."""

    model: str
    messages: Sequence[Object]
    max_tokens: int = 4096
    system: Content = ""
    tools: Sequence[Object] = ()
    """The tools that the model may call, in a fixed order: the prompt cache depends on it."""
    tool_choice: Object | None = None
    thinking: Object | None = None
    temperature: float | None = None
    stop_sequences: Sequence[str] = ()
    metadata: Object | None = None
    extra: Object = {}
    """Further fields of the body, as the API names them; they win over the fields above."""
    betas: Sequence[str] = ()
    """Values of the `anthropic-beta` header."""

    def body(self) -> dict[str, Any]:
        """The JSON object to send, without what was not given, in a fixed order."""
        given = {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "system": self.system,
            "tools": list(self.tools),
            "tool_choice": self.tool_choice,
            "thinking": self.thinking,
            "temperature": self.temperature,
            "stop_sequences": list(self.stop_sequences),
            "metadata": self.metadata,
            "messages": list(self.messages),
        }
        kept = {key: value for key, value in given.items() if value is not None and value != "" and value != []}
        return {**kept, **self.extra}


def ask(model: str, prompt: str, *, system: str = "", max_tokens: int = 4096) -> Request:
    """A request with a single prompt."""
    return Request(model, [{"role": "user", "content": prompt}], max_tokens, system)
