"""What the tools share: the sessions that may be read, without their secrets, and the index."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from turnlog.api.config import Config, load_config
from turnlog.api.lookup import list_config_folders
from turnlog.entries.clients import read_client_file
from turnlog.mcp.index_upkeep import MAX_WAIT_SECONDS, BackgroundIndexing
from turnlog.mcp.pages import LazyText, cut_page
from turnlog.mcp.redacted_sessions import RedactedSessions
from turnlog.mcp.redacting_reader import LineCache, RedactingReader
from turnlog.mcp.untrusted_text import clean_text, quote_untrusted

if TYPE_CHECKING:
    from turnlog.entries.layout import SessionFile
    from turnlog.mcp.arguments import PagedArguments
    from turnlog.mcp.project_scope import ProjectScope
    from turnlog.session.session import Session
    from turnlog.store.store import Store


class NamedSession(NamedTuple):
    """A session that a tool was asked for."""

    file: SessionFile
    session: Session
    """Its redacted copy."""

    @property
    def short_id(self) -> str:
        return self.file.session_id[:8]


class SessionLibrary:
    """The sessions that an agent may read."""

    def __init__(
        self,
        scope: ProjectScope,
        *,
        redact: bool = True,
        config: Config | None = None,
        max_wait_seconds: float = MAX_WAIT_SECONDS,
    ) -> None:
        self.config = config or load_config()
        self.scope = scope
        self.sessions = RedactedSessions(self.config, redact=redact)
        self._upkeep = BackgroundIndexing(self.config, max_wait_seconds=max_wait_seconds)
        self._lines = LineCache()
        self._salt = os.urandom(16)

    def close(self) -> None:
        self.sessions.close()

    def open_named(self, name: str) -> NamedSession:
        """Open a session that may be read."""
        file = self.find_file(name)
        return NamedSession(file, self.sessions.open_session(file.path))

    def find_file(self, name: str) -> SessionFile:
        """Find the file of a session that may be read."""
        return self.scope.find_session(name, self.config, self.find_current_session())

    def find_current_session(self) -> str | None:
        """Return the id of the session that the client works in, if the client has registered it.

        The agent has that session in its context, and its own query would always be the newest hit.
        """
        for folder in list_config_folders(self.config):
            found = read_client_file(str(folder / "sessions" / f"{os.getppid()}.json")).get("sessionId")
            if isinstance(found, str):
                return found
        return None

    @contextmanager
    def open_index(self) -> Iterator[tuple[Store, str]]:
        """Open the index, up to date if possible; with a sentence about what is missing from it, if anything is."""
        from turnlog.api.index import open_index

        remark = self._upkeep.update_index()
        with open_index(self.config, fresh=False) as (store, _):
            yield store, remark

    def describe_coverage(self, store: Store) -> str:
        """Say what the index contains while it is still being filled; empty if it contains everything."""
        from turnlog.store.index.coverage import read_coverage

        share = read_coverage(store.db).share
        if share == 1:
            return ""
        percent = int(100 * share)
        return f"Calls, results and thinking are indexed to {percent} %, newest first; ask again later for the rest."

    def build_reader(self, store: Store) -> RedactingReader:
        """Build the reader for one search."""
        return RedactingReader(self.sessions, store, self._lines)

    def shuffle_key(self, text: str) -> bytes:
        """Return a key that puts alike rows into an order that says nothing about their texts, which may be secret."""
        return blake2b(text.encode("utf-8", "replace"), key=self._salt, digest_size=8).digest()

    def clean(self, text: str) -> str:
        """Remove secrets and anything that hides or imitates something."""
        return clean_text(self.sessions.redact_text(text))

    def build_answer(self, head: str, items: Sequence[LazyText], arguments: PagedArguments, remark: str = "") -> str:
        """Build the answer of a tool: what it is, how it continues, and the quoted text.

        `head` and `remark` are our own words and must not contain anything from a session.
        """
        if not items:
            return "\n".join(filter(None, [head, remark]))
        page = cut_page([self._make_cleaner(item) for item in items], arguments.cursor or None, arguments.max_tokens)
        more = f'This is not all: call again with the same arguments and cursor "{page.cursor}".' if page.cursor else ""
        return "\n".join(filter(None, [head, remark, more, quote_untrusted(page.text)]))

    def _make_cleaner(self, item: LazyText) -> LazyText:
        return lambda: self.clean(item())
