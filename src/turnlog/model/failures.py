"""The errors that requests to a model can raise, as one hierarchy.

    ModelError                  any reason why a model did not answer
    |-- ServerBusy              the server can't answer now (408, 409, 429, 5xx, 529); retried
    |   `-- RateLimited         too many requests or tokens (429)
    |-- ServerUnreachable       there is no connection, or it was lost; retried
    |   `-- AnswerBrokenOff     the answer ended early or can't be read
    |-- RequestRejected         the request is invalid (other 4xx), or the server has no Messages API; not retried
    |   `-- KeyRejected         the key is missing or not accepted (401, 403)
    `-- RequestCancelled        the caller cancelled the request

Messages never contain a key.
"""

from __future__ import annotations

from turnlog.errors import TurnlogError


class ModelError(TurnlogError):
    """A request to a model failed."""

    is_passing = False
    """Whether a retry may help."""

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
        """The API's name for the error, such as `overloaded_error` or `invalid_request_error`."""
        self.request_id = request_id
        self.retry_after = retry_after
        """How many seconds the server asks clients to wait before a retry."""


class ServerBusy(ModelError):
    """The server is reachable but can't answer now."""

    is_passing = True


class RateLimited(ServerBusy):
    """Too many requests, or too many tokens."""


class ServerUnreachable(ModelError):
    """There is no connection to the server."""

    is_passing = True


class AnswerBrokenOff(ServerUnreachable):
    """An answer ended early or can't be read."""


class RequestRejected(ModelError):
    """The server did not accept the request."""


class KeyRejected(RequestRejected):
    """The key is missing or was not accepted."""


class RequestCancelled(ModelError):
    """The caller cancelled the request."""


_PASSING_KINDS = frozenset({"overloaded_error", "api_error", "timeout_error"})


def build_model_error(
    status: int, message: str, kind: str | None = None, *, again: bool | None = None, **facts: object
) -> ModelError:
    """Build the error for an HTTP status or an `error` event (status 200); `again` is the server's retry hint."""
    details = {name: value for name, value in facts.items() if value is not None}
    return _choose_error_class(status, kind, again)(message, status=status, kind=kind, **details)  # type: ignore[arg-type]


def _choose_error_class(status: int, kind: str | None, again: bool | None) -> type[ModelError]:
    if status in (401, 403) or kind in ("authentication_error", "permission_error"):
        return KeyRejected
    if status == 429 or kind == "rate_limit_error":
        return RequestRejected if again is False else RateLimited
    passing = status in (408, 409) or status >= 500 or kind in _PASSING_KINDS
    return ServerBusy if (passing if again is None else again) else RequestRejected
