"""The outcome of handing a message to a channel."""

from __future__ import annotations

from typing import Literal, NamedTuple

SendResult = Literal["sent", "later", "refused"]


class SendOutcome(NamedTuple):
    """Whether a message was accepted, can be sent again, or will never be accepted."""

    result: SendResult
    reason: str = ""
    after: float | None = None
    """How many seconds the server wants us to wait before the next attempt."""


def accept_message() -> SendOutcome:
    """Return the outcome of a message that the channel has accepted."""
    return SendOutcome("sent")


def defer_message(reason: str, after: float | None = None) -> SendOutcome:
    """Return the outcome of a message that may be accepted later, or may even have arrived."""
    return SendOutcome("later", reason, after)


def refuse_message(reason: str) -> SendOutcome:
    """Return the outcome of a message that the channel will never accept."""
    return SendOutcome("refused", reason)
