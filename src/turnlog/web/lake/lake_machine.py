"""A lake as the pages see it: an index of its newest snapshot, in a temporary folder."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from turnlog.store.lake.lake import Lake
from turnlog.store.lake.lake_files import LakeFiles
from turnlog.store.lake.lake_index import Progress, create_lake_index
from turnlog.store.lake.snapshot import list_snapshots
from turnlog.store.store import Store
from turnlog.web.machine import LakeLabel, Machine
from turnlog.web.preferences import PreferenceStore


class LakeMachine(Machine):
    """The sessions of a lake. The lake is only read, and this machine's sessions are not."""

    def __init__(
        self,
        location: str,
        data_dir: Path,
        *,
        tell: Callable[[str], object] = str,
        progress: Progress | None = None,
    ) -> None:
        """`data_dir` is turnlog's data folder, which has the preferences."""
        self._files = LakeFiles(location)
        self._root = Path(tempfile.mkdtemp(prefix="turnlog-lake-"))
        try:
            folder, label = self._index_newest_snapshot(progress)
            super().__init__([], folder, tell=tell, fills_in_background=False)
        except BaseException:
            shutil.rmtree(self._root, ignore_errors=True)
            raise
        self.lake = label
        self.preferences = PreferenceStore(data_dir)

    def refresh(self) -> bool:
        """Show the newest snapshot, and return whether it is another one than before.

        The index of the snapshot before is deleted by the next call, because a request may be about to open it.
        """
        assert self.lake is not None
        self._delete_old_indexes()
        newest = max((entry.number for entry in list_snapshots(self._files)), default=0)
        if newest in (0, self.lake.snapshot):
            return False
        folder, label = self._index_newest_snapshot(None)
        before, self._first = self._first, Store.open(folder)
        # The connections of other threads are closed when these need them again.
        self.lake, self.index, self.data_dir = label, self._first.path, folder
        self.state = self.state._replace(generation=self.state.generation + 1)
        before.close()
        return True

    def _delete_old_indexes(self) -> None:
        for folder in self._root.iterdir():
            if folder != self.index.parent:
                shutil.rmtree(folder, ignore_errors=True)

    def _index_newest_snapshot(self, progress: Progress | None) -> tuple[Path, LakeLabel]:
        with Lake(self._files.location) as lake:
            folder = self._root / str(lake.snapshot.number)
            create_lake_index(lake, folder, progress)
            return folder, LakeLabel(self._files.location, lake.snapshot.number, lake.snapshot.created)

    def close(self) -> None:
        super().close()
        shutil.rmtree(self._root, ignore_errors=True)
