"""The rest of a file whose conversation is already in the index: inputs, results, thinking and attachments.

The file is read again up to its checkpoint, piece by piece. Before a piece is used, the file is compared with the
checkpoint: if it is no longer the same file, the next refresh reads it from the start anyway.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

from turnlog.entries.file_ends import open_regular_file
from turnlog.entries.tail import is_same_start, read_lines_before
from turnlog.store.index import batch_reader
from turnlog.store.index.batch_reader import BatchReader, IndexBatch, ReadTask
from turnlog.store.index.name_numbers import NameNumbers


def read_rest(task: ReadTask, names: NameNumbers) -> Iterator[IndexBatch]:
    """Yield what is left of a file; a batch with a `failure` says why the file can't be read."""
    try:
        fd, _ = open_regular_file(task.source)
    except OSError as error:
        yield _build_failure(task, error.strerror or str(error))
        return
    try:
        yield from _read_pieces(fd, task, names)
    except OSError as error:
        yield _build_failure(task, error.strerror or str(error))
    finally:
        os.close(fd)


def _read_pieces(fd: int, task: ReadTask, names: NameNumbers) -> Iterator[IndexBatch]:
    reader = BatchReader(task, names, itertools.count(task.room))
    start, end, room = task.filled, task.checkpoint.offset, task.room
    while start < end:
        data = read_lines_before(fd, start, end, batch_reader.PIECE_BYTES)
        if not data or not is_same_start(fd, task.checkpoint):
            yield _build_failure(task, "changed after its conversation was indexed")
            return
        batch = reader.read_batch(None, task.checkpoint, data, start)
        start += len(data)
        room = batch.places[-1][0] + 1 if batch.places else room
        batch.filled, batch.room = start, room
        yield batch


def _build_failure(task: ReadTask, reason: str) -> IndexBatch:
    failure = f"{task.path}: {reason}"
    return IndexBatch(
        task.file,
        task.session,
        None,
        task.checkpoint,
        task.outline,
        [],
        {},
        {},
        [],
        [],
        [],
        failure=failure,
        part="rest",
    )
