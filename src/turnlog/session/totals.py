"""Usage over many files without an index: every message once, as fast as the files can be read.

Only lines of answers are decoded, and of them only what is counted, by as many processes as pay off. The numbers are those
that `messages.join` gives over all entries of all files; a message that stands in several files is counted once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
from msgspec import Struct

from ..entries.decode import FAILURES, salvage
from ..entries.entry import Entry, MessageHead, ServerTools, CacheWrites
from ..errors import Unreadable
