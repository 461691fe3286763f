"""Asking a model for an edit: which one, and where, is told before anything is sent."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from turnlog.cli.output import remark

if TYPE_CHECKING:
    from turnlog.model.model import Model


@contextlib.contextmanager
def asked(name: str | None) -> Iterator[Model | None]:
    """The model of that name, after saying where texts are sent to; None for none."""
    if name is None:
        yield None
        return
    from turnlog.model.anthropic import connect
    from turnlog.model.endpoint import Endpoint, checked, shown

    endpoint = Endpoint.from_environment()
    remark(f"Texts of the session are sent to {name} at {shown(checked(endpoint.url))}.")
    yield connect(endpoint)
