"""Files on a disk or in an object store, behind one small interface.

A location is a path or a URL (`s3://bucket/folder`, `gs://…`, `az://…`, `file://…`). Credentials and endpoints come
from the usual variables of the provider, such as `AWS_ACCESS_KEY_ID` and `AWS_ENDPOINT_URL`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from turnlog.errors import NotFound, TurnlogError, UsageError
from turnlog.store.lake.packages import import_package

_SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "file")
_DELETED_AT_ONCE = 500
_DOWNLOAD_CHUNK_BYTES = 8 << 20


class StoredFile(NamedTuple):
    """A file as a listing describes it."""

    name: str
    """Its path below the location."""
    size: int
    version: str
    """Changes whenever the content changes."""
    age_key: float
    """When it was last written, in seconds since 1970."""


class LakeFiles:
    """The files below one path or URL."""

    def __init__(self, location: str, *, create: bool = False) -> None:
        self.location = normalize_location(location)
        self._store_module = import_package("obstore")
        self._errors = import_package("obstore.exceptions")
        self._store = self._open_store(create)

    def _open_store(self, create: bool) -> Any:
        stores = import_package("obstore.store")
        if not self.is_remote:
            folder = Path(self.location)
            if folder.exists() and not folder.is_dir():
                raise UsageError(f"{self.location}: this is a file; name a folder")
            if not create and not folder.exists():
                raise NotFound(f"{self.location}: no such folder")
            try:
                return stores.LocalStore(self.location, mkdir=create, automatic_cleanup=True)
            except (self._errors.BaseError, OSError, ValueError) as error:
                raise TurnlogError(f"{self.location}: {_shorten_error(error)}") from None
        try:
            return stores.from_url(self.location)
        except (self._errors.BaseError, OSError, ValueError) as error:
            raise UsageError(f"{self.location}: {_shorten_error(error)}") from None

    @property
    def is_remote(self) -> bool:
        return "://" in self.location

    def join(self, name: str) -> str:
        """Return the path or URL of a file."""
        return f"{self.location}/{name}"

    def iter_listing(self, prefix: str | None = None) -> Iterator[StoredFile]:
        """List the files below a folder, in no particular order."""
        with self._translate_errors(prefix or ""):
            for batch in self._store_module.list(self._store, prefix, chunk_size=1000):
                for item in batch:
                    written = item["last_modified"].timestamp()
                    yield StoredFile(item["path"], item["size"], item["e_tag"] or f"{item['size']}-{written}", written)

    def read(self, name: str) -> bytes:
        with self._translate_errors(name):
            return bytes(self._store_module.get(self._store, name).bytes())

    def read_range(self, name: str, start: int, end: int) -> bytes:
        """Read the bytes from `start` to before `end`; `end` must not be beyond the end of the file."""
        if end <= start:
            return b""
        with self._translate_errors(name):
            return bytes(self._store_module.get_range(self._store, name, start=start, end=end))

    def read_head(self, name: str, size: int) -> bytes:
        """Read at most this many bytes from the start of a file."""
        return self.read_range(name, 0, min(size, self.measure(name)))

    def measure(self, name: str) -> int:
        """Return the size of a file in bytes."""
        with self._translate_errors(name):
            return int(self._store_module.head(self._store, name)["size"])

    def download(self, name: str, target: Path) -> None:
        """Copy a file to a local path, in pieces."""
        with self._translate_errors(name), target.open("wb") as out:
            for chunk in self._store_module.get(self._store, name).stream(min_chunk_size=_DOWNLOAD_CHUNK_BYTES):
                out.write(chunk)

    def write_new(self, name: str, data: bytes) -> None:
        """Write a file that doesn't exist yet; raise `FileExistsError` if another process was faster."""
        try:
            self._store_module.put(self._store, name, data, mode="create")
        except self._errors.AlreadyExistsError:
            raise FileExistsError(name) from None
        except self._errors.BaseError as error:
            raise TurnlogError(f"{self.join(name)}: {_shorten_error(error)}") from None

    def upload(self, name: str, source: Path) -> None:
        """Write a file from a local path."""
        with self._translate_errors(name):
            self._store_module.put(self._store, name, source)

    def delete(self, names: Iterable[str]) -> None:
        """Delete files; those that don't exist are ignored."""
        wanted = list(names)
        for start in range(0, len(wanted), _DELETED_AT_ONCE):
            for name in wanted[start : start + _DELETED_AT_ONCE]:
                try:
                    self._store_module.delete(self._store, name)
                except (FileNotFoundError, self._errors.NotFoundError):
                    continue
                except self._errors.BaseError as error:
                    raise TurnlogError(f"{self.join(name)}: {_shorten_error(error)}") from None

    @contextmanager
    def _translate_errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, self._errors.NotFoundError):
            raise NotFound(f"{self.join(name)}: no such file") from None
        except (self._errors.BaseError, OSError) as error:
            raise TurnlogError(f"{self.join(name)}: {_shorten_error(error)}") from None

    def register_in(self, connection: Any) -> None:
        """Let a DuckDB connection read these files if they are in an object store."""
        if self.is_remote:
            from turnlog.store.lake.remote_filesystem import build_filesystem

            connection.register_filesystem(build_filesystem(self, urlsplit(self.location).scheme))


def normalize_location(location: str) -> str:
    """Return an absolute path, or a URL without a slash at its end; raise `UsageError` for an unknown scheme."""
    scheme, mark, _ = location.partition("://")
    if not mark:
        return str(Path(location).expanduser().absolute())
    if scheme.lower() not in _SCHEMES:
        raise UsageError(f"{location}: unknown scheme {scheme!r}; use a path, or a URL such as s3://bucket/folder")
    if scheme.lower() == "file":
        return str(Path(unquote(urlsplit(location).path)).absolute())
    return location.rstrip("/")


def _shorten_error(error: BaseException) -> str:
    """Return the first line of an error, without the debugging output that follows it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:400] if lines else type(error).__name__
