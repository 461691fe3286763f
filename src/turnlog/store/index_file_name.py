"""The file name of the index: one per set of config folders, so that an index covers only the folders in use."""

from __future__ import annotations

import os
from binascii import crc32

DEFAULT_INDEX_NAME = "index.db"


def build_index_name(further: tuple[str, ...] = ()) -> str:
    """Return the file name in the data folder; `further` lists the config folders from the settings."""
    chosen = "\0".join((os.environ.get("CLAUDE_CONFIG_DIR", "").strip(), *further))
    return (
        f"index-{crc32(chosen.encode(errors='surrogateescape')):08x}.db" if chosen.strip("\0") else DEFAULT_INDEX_NAME
    )
