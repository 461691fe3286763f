"""The file name of the index: one per set of config folders, so that an index covers only the folders in use.

The name contains the version of the index, so that two versions of turnlog on one machine don't rebuild each other's.
"""

from __future__ import annotations

import os
from binascii import crc32

INDEX_VERSION = 14
"""The version of the tables and their content; an index with a different version is not used."""
DEFAULT_INDEX_NAME = f"index-v{INDEX_VERSION}.db"


def build_index_name(further: tuple[str, ...] = ()) -> str:
    """Return the file name in the data folder; `further` lists the config folders from the settings."""
    chosen = "\0".join((os.environ.get("CLAUDE_CONFIG_DIR", "").strip(), *further))
    if not chosen.strip("\0"):
        return DEFAULT_INDEX_NAME
    return f"index-v{INDEX_VERSION}-{crc32(chosen.encode(errors='surrogateescape')):08x}.db"
