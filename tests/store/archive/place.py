"""A config folder with sessions, an archive beside it, and what a test does with both."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from turnlog.store.archive import Archive
from turnlog.store.archive.archive_run import ArchiveReport, run_archive
from turnlog.store.archive.intake import CutSizes
from turnlog.store.archive.restore import RestoreOutcome, restore_generation
from turnlog.store.archive.verify import verify_archive

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "bbbbbbbb-0000-4000-8000-000000000002"
SLUG = "-home-dana-webshop"
OLD = time.time() - 3600


class Place:
    """Files below a config folder, by their paths there."""

    def __init__(self, folder: Path, sizes: CutSizes = CutSizes()) -> None:  # noqa: B008
        self.sizes = sizes
        self.config = folder / "claude"
        self.data = folder / "data"
        (self.config / "projects").mkdir(parents=True, exist_ok=True)

    @property
    def archive(self) -> Archive:
        return Archive(self.data)

    def write(self, path: str, data: bytes = b"{}\n", *, mtime: float = OLD, mode: int = 0o600) -> Path:
        target = self.config / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(mode)
        os.utime(target, (mtime, mtime))
        return target

    def session(self, data: bytes = b'{"type":"user"}\n', name: str = ONE) -> Path:
        return self.write(main(name), data)

    def append(self, path: str, data: bytes) -> None:
        whole = (self.config / path).read_bytes() + data
        self.write(path, whole, mtime=OLD + len(whole) % 1000)

    def run(self, only: Iterable[str] | None = None) -> ArchiveReport:
        return run_archive(self.archive, [self.config], None if only is None else set(only), sizes=self.sizes)

    def restore(self, to: Path, name: str = ONE, **options: bool) -> list[RestoreOutcome]:
        return restore_generation(self.archive, self.archive.find_session(name), to, **options)

    def is_sound(self) -> bool:
        return verify_archive(self.archive).is_sound


def main(name: str = ONE) -> str:
    return f"projects/{SLUG}/{name}.jsonl"


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder: its bytes and its mode."""
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
