"""What can go wrong when a model is asked, as one tree.

    ModelError              anything that kept a model from answering
    |-- Busied              the server is there and says: not now (408, 409, 429, 5xx, 529); tried again
    |   `-- RateLimited     too many requests or tokens (429)
    |-- Unreachable         no connection, or none any more; tried again
    |   `-- BrokenOff       an answer that began and did not end, or that can't be read
    |-- Rejected            the request is not accepted (other 4xx), or the server is none of these; not tried again
    |   `-- Unauthorised    the key is missing or not accepted (401, 403)
    `-- Cancelled           whoever asked does not want to know any more

No message of these holds a key.
"""

from __future__ import annotations

from turnlog.errors import TurnlogError


class ModelError(TurnlogError):
    """A model did not answer."""

    is_passing = False
    """Whether asking again may help."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        kind: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status."""
        self.kind = kind
        """What the API calls the error: `overloaded_error`, `invalid_request_error` …"""
        self.request_id = request_id
        self.retry_after = retry_after
        """Seconds after which the server wants to be asked again."""


class ServerBusy(ModelError):
    """The server is there, but can't answer now."""

    is_passing = True


class RateLimited(ServerBusy):
    """Too many requests, or too many tokens."""


class ServerUnreachable(ModelError):
    """There is no connection to the server."""

    is_passing = True


class AnswerBrokenOff(ServerUnreachable):
    """An answer began and did not come to its end."""


class RequestRejected(ModelError):
    """The request is not accepted as it is."""


class KeyRejected(RequestRejected):
    """There is no key, or none that is accepted."""


class RequestCancelled(ModelError):
    """Whoever asked has taken it back."""


_PASSING_KINDS = frozenset({"overloaded_error", "api_error", "timeout_error"})


def build_model_error(
    status: int, message: str, kind: str | None = None, *, again: bool | None = None, **facts: object
) -> ModelError:
    """The error for an HTTP status, or for an `error` event (status 200); `again` is the server's own word."""
    told = {name: value for name, value in facts.items() if value is not None}
    return _choose_error_class(status, kind, again)(message, status=status, kind=kind, **told)  # type: ignore[arg-type]


def _choose_error_class(status: int, kind: str | None, again: bool | None) -> type[ModelError]:
    if status in (401, 403) or kind in ("authentication_error", "permission_error"):
        return KeyRejected
    if status == 429 or kind == "rate_limit_error":
        return RequestRejected if again is False else RateLimited
    passing = status in (408, 409) or status >= 500 or kind in _PASSING_KINDS
    return ServerBusy if (passing if again is None else again) else RequestRejected
