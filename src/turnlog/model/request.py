"""What a model is asked: the body of a Messages API request, as a value.

Messages, tools and blocks are the API's own JSON: what turnlog does not understand of them goes through unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, overload

from msgspec import Struct

JsonObject = Mapping[str, Any]
Content = str | Sequence[JsonObject]


class ConversationMessages(Sequence[JsonObject]):
    """The messages of a conversation that goes on.

    The settled ones are sent in the same form in all further requests, and so need to be encoded only once: nothing in
    them changes, and the list only grows at its end. Whoever wants one of them otherwise makes another list.
    """

    def __init__(self, settled: Sequence[JsonObject], rest: Sequence[JsonObject]) -> None:
        self.settled = settled
        self.taken = len(settled)
        """So many of them belong to this request, however long the list becomes."""
        self.rest = rest

    def __len__(self) -> int:
        return self.taken + len(self.rest)

    def __iter__(self) -> Iterator[JsonObject]:
        yield from islice(self.settled, self.taken)
        yield from self.rest

    @overload
    def __getitem__(self, at: int) -> JsonObject: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[JsonObject]: ...
    def __getitem__(self, at: int | slice) -> JsonObject | Sequence[JsonObject]:
        return list(self)[at]


class ModelRequest(Struct, frozen=True):
    """One request to a model."""

    model: str
    messages: Sequence[JsonObject]
    max_tokens: int = 4096
    system: Content = ""
    tools: Sequence[JsonObject] = ()
    """The tools that the model may call, in a fixed order: the prompt cache depends on it."""
    tool_choice: JsonObject | None = None
    thinking: JsonObject | None = None
    temperature: float | None = None
    stop_sequences: Sequence[str] = ()
    metadata: JsonObject | None = None
    extra: JsonObject = {}
    """Further fields of the body, as the API names them; they win over the fields above."""
    betas: Sequence[str] = ()
    """Values of the `anthropic-beta` header."""

    def build_body(self) -> dict[str, Any]:
        """The JSON object to send, without what was not given, in a fixed order: what grows stands at the end."""
        head = self.build_head()
        return head if "messages" in head else {**head, "messages": list(self.messages)}

    def build_head(self) -> dict[str, Any]:
        """All of it but the messages."""
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
        }
        kept = {key: value for key, value in given.items() if value is not None and value != "" and value != []}
        return {**kept, **self.extra}


def build_prompt_request(model: str, prompt: str, *, system: str = "", max_tokens: int = 4096) -> ModelRequest:
    """A request with a single prompt."""
    return ModelRequest(model, [{"role": "user", "content": prompt}], max_tokens, system)
