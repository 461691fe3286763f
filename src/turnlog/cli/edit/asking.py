"""Asking a model for an edit: which one, and where, is told before anything is sent."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from turnlog.cli.output import print_remark

if TYPE_CHECKING:
    from turnlog.model.model import Model


@contextlib.contextmanager
def open_edit_model(name: str | None) -> Iterator[Model | None]:
    """The model of that name, after saying where texts are sent to; None for none."""
    if name is None:
        yield None
        return
    from turnlog.model.anthropic import connect_model
    from turnlog.model.endpoint import Endpoint, format_public_address, parse_server_address

    endpoint = Endpoint.from_environment()
    print_remark(
        f"Texts of the session are sent to {name} at {format_public_address(parse_server_address(endpoint.url))}."
    )
    yield connect_model(endpoint)
