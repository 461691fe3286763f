"""The archive: copies of whole sessions that survive Claude Code's clean-up.

    <data folder>/archive/
      blobs/ab/ab12….zst               compressed bytes, named by the SHA-256 of the original; written once
      sessions/<id>.<place>.<n>.json.zst a manifest: the files of a session, generation n, and their blobs
      schedule                          how often the archive updates itself; missing while it is off
      last.json                         how the last run ended
      replaced/, backups/               files that `restore --force` and `install` replaced
      lock                              held by the process that writes

Files are cut into blobs at multiples of 4 MiB, so only the growth of a file is stored again; small pieces share a
blob. A manifest is written after its blobs are safely on disk, and replaced in one step, so a process may be killed at
any time. Blobs that no manifest refers to are removed later.

A *generation* of a session lasts as long as its files only grow. When one of them is rewritten or truncated, the next
generation starts, and the old one is not changed. A deleted file is kept in the session, marked as gone.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnlog.store.archive.archive import Archive
    from turnlog.store.archive.schedule import maybe_start

__all__ = ["Archive", "maybe_start"]

_MODULE_BY_NAME = {"Archive": "turnlog.store.archive.archive", "maybe_start": "turnlog.store.archive.schedule"}

if not TYPE_CHECKING:  # every start of turnlog checks the schedule, and must not load a compressor for that

    def __getattr__(name: str) -> object:
        if name not in _MODULE_BY_NAME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_MODULE_BY_NAME[name]), name)
