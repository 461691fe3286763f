"""The body of a Messages API request, as a value.

Messages, tools and blocks are the API's own JSON; parts that turnlog does not understand pass through unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, overload

from msgspec import Struct

JsonObject = Mapping[str, Any]
Content = str | Sequence[JsonObject]


class ConversationMessages(Sequence[JsonObject]):
    """The messages of a growing conversation.

    Settled messages have the same form in all later requests, so they are encoded only once: none of them may change,
    and new messages are added only at the end. To change one of them, create a new list.
    """

    def __init__(self, settled: Sequence[JsonObject], rest: Sequence[JsonObject]) -> None:
        self.settled = settled
        self.taken = len(settled)
        """The number of settled messages in this request, which stays the same when the list grows."""
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
    model: str
    messages: Sequence[JsonObject]
    max_tokens: int = 4096
    system: Content = ""
    tools: Sequence[JsonObject] = ()
    """The tools that the model may call, in a fixed order, on which the prompt cache depends."""
    tool_choice: JsonObject | None = None
    thinking: JsonObject | None = None
    temperature: float | None = None
    stop_sequences: Sequence[str] = ()
    metadata: JsonObject | None = None
    extra: JsonObject = {}
    """Additional body fields, by their API names; they override the fields above."""
    betas: Sequence[str] = ()
    """Values of the `anthropic-beta` header."""

    def build_body(self) -> dict[str, Any]:
        """Build the JSON object to send, without empty fields, in a fixed order with the growing part last."""
        head = self.build_head()
        return head if "messages" in head else {**head, "messages": list(self.messages)}

    def build_head(self) -> dict[str, Any]:
        """Build the body without the messages."""
        fields = {
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
        present = {key: value for key, value in fields.items() if value is not None and value != "" and value != []}
        return {**present, **self.extra}


def build_prompt_request(model: str, prompt: str, *, system: str = "", max_tokens: int = 4096) -> ModelRequest:
    """Build a request with a single prompt."""
    return ModelRequest(model, [{"role": "user", "content": prompt}], max_tokens, system)
