"""The side of the comparison that is ours."""

from __future__ import annotations

from pathlib import Path

import turnlog
from tests.interop.classify import Object
from turnlog.errors import Refused


def messages_of(path: Path) -> list[Object] | None:
    """What turnlog says would be sent if this file were resumed; None when it would be refused."""
    with turnlog.open(path) as session:
        try:
            return session.conversation().messages
        except Refused:
            return None
