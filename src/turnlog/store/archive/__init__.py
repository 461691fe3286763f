"""The archive: copies of whole sessions that outlive the client's clean-up.

    <data folder>/archive/
      blobs/ab/ab12….zst               bytes, compressed, under the SHA-256 of what they were; written once
      sessions/<id>.<place>.<n>.json.zst a manifest: the files of a session, generation n, and their blobs
      schedule                          how often the archive brings itself up to date; there is none while it is off
      last.json                         how the last run ended
      replaced/, backups/               what `restore --force` and `install` put out of the way
      lock                              held by whoever writes

A file is cut into blobs at multiples of 4 MiB, so that what it grows by is all that is stored anew; small things
share a blob. A manifest is written when its blobs are safely on disk, and replaced in one step, so a process may
be killed at any moment. Blobs that no manifest names are swept later.

A *generation* of a session lasts as long as its files only grow. When one of them is rewritten or cut, the next
generation begins, and the old one stays as it is. A file that vanishes stays in the session, marked as gone.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnlog.store.archive.archive import Archive
    from turnlog.store.archive.schedule import maybe_start

__all__ = ["Archive", "maybe_start"]

_MODULE_BY_NAME = {"Archive": "turnlog.store.archive.archive", "maybe_start": "turnlog.store.archive.schedule"}

if not TYPE_CHECKING:  # every start of turnlog asks the schedule, and must not load a compressor for it

    def __getattr__(name: str) -> object:
        if name not in _MODULE_BY_NAME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_MODULE_BY_NAME[name]), name)
