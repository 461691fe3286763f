"""Lets DuckDB read an object store, through fsspec: every read is one request for a range of bytes."""

from __future__ import annotations

from typing import Any, Protocol

from turnlog.store.lake.packages import import_package


class RangeSource(Protocol):
    """Where the bytes come from."""

    location: str

    def read_range(self, name: str, start: int, end: int) -> bytes:
        """Read the bytes from `start` to before `end`."""

    def measure(self, name: str) -> int:
        """Return the size of a file in bytes."""


def build_filesystem(files: RangeSource, scheme: str) -> Any:
    """Build a read-only fsspec file system with the files below one location."""
    spec = import_package("fsspec.spec")

    class RangeFile(spec.AbstractBufferedFile):  # type: ignore[misc, name-defined]
        """A file that is read in ranges."""

        def _fetch_range(self, start: int, end: int) -> bytes:
            return files.read_range(_get_name(self.path), start, end)

    class LakeFilesystem(spec.AbstractFileSystem):  # type: ignore[misc, name-defined]
        """The files of one lake."""

        protocol = scheme
        cachable = False

        def info(self, path: str, **_: Any) -> dict[str, Any]:
            return {"name": path, "size": files.measure(_get_name(path)), "type": "file"}

        def _get_write_time(self, path: str) -> Any:
            """Return a constant: the files of a lake never change."""
            from datetime import UTC, datetime

            return datetime(2000, 1, 1, tzinfo=UTC)

        modified = _get_write_time

        def _open(self, path: str, mode: str = "rb", **_: Any) -> RangeFile:
            return RangeFile(self, path, mode="rb", cache_type="none")

    def _get_name(path: str) -> str:
        bare = files.location.partition("://")[2]
        return path.partition("://")[2].removeprefix(f"{bare}/") if "://" in path else path.removeprefix(f"{bare}/")

    return LakeFilesystem()
