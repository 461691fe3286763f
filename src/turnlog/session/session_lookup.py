"""Looks up a session by a path, an id or id prefix, a title or part of one, or `last`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from turnlog.demo import config_dir
from turnlog.entries.belongings import read_history
from turnlog.entries.layout import SessionFile, Survey, list_session_files
from turnlog.entries.peek import Peek, complete_all_titles, peek_files, peek_safely
from turnlog.entries.titles import SessionTitles
from turnlog.errors import Ambiguous, NotFound
from turnlog.session.clock import parse_timestamp

LAST_SESSION_NAME = "last"
_FIRST_BATCH_FILES = 20
"""How many of the files that were written last are read first in search of the last session."""
_MAX_LISTED_SESSIONS = 5
_MAX_LISTED_TITLE_CHARS = 60
_CUT_MARK = "…"
"""The mark at the end of a title that a list shortened."""

KnownPeeks = Callable[[Sequence[SessionFile]], Mapping[str, Peek]]
"""Describes conversations from an index, by path, without reading the files: their folders, times and titles."""
_MIN_INDEXED_FILES = 500
"""Fewer files are read faster than an index is opened."""


class SessionFileList(NamedTuple):
    """The session files in the given config folders, or those of the demo."""

    files: list[SessionFile]
    is_demo: bool
    """Whether these are the package's sample sessions, because the machine has no sessions."""
    survey: Survey
    """The other contents of the folders, and the folders that can't be listed."""


class PeekedSession(NamedTuple):
    """A session file with the information from its two ends."""

    file: SessionFile
    ends: Peek
    titles: SessionTitles

    @property
    def names(self) -> set[str]:
        """The case-folded titles by which it can be found; junk files, which have other sessions' titles, have none."""
        titles = (self.titles.custom, self.titles.ai, self.titles.summary, self.titles.best)
        return set() if self.ends.junk else {_fold_text(title) for title in titles if title}


def list_sessions_or_demo(config_dirs: Iterable[Path]) -> SessionFileList:
    """List the session files in the given config folders, or those of the demo if there never were any."""
    survey, folders = Survey(), list(config_dirs)
    files = [item for folder in folders for item in list_session_files(folder, survey)]
    is_demo = not files and not survey.unlisted and not survey.others and not any(map(_has_typed_prompts, folders))
    return SessionFileList(list(list_session_files(config_dir())) if is_demo else files, is_demo, survey)


def _has_typed_prompts(config_dir: Path) -> bool:
    """Return whether something was typed in a session here, although no session is left."""
    return any(row.get("sessionId") for row in read_history(config_dir))


def peek_sessions(files: Sequence[SessionFile], known: KnownPeeks | None = None) -> list[Peek]:
    """Describe session files; if there are many, read only those that an index does not know in their current state."""
    found = known(files) if known and len(files) >= _MIN_INDEXED_FILES else {}
    left = [item.file for item in files if item.file not in found]
    read = dict(zip(left, peek_files(left), strict=True))
    return [found.get(item.file) or read[item.file] for item in files]


def read_all_titles(
    files: Sequence[SessionFile], ends: Sequence[Peek], known: KnownPeeks | None = None
) -> list[SessionTitles]:
    """Return all titles of the given sessions; read a file only if neither its ends nor an index has them."""
    unsure = [item for item, peek in zip(files, ends, strict=True) if peek.titles is None]
    peeks = known(unsure) if known and unsure else {}
    found = {path: peek.titles for path, peek in peeks.items() if peek.titles is not None}
    left = [item.file for item in unsure if item.file not in found]
    found |= dict(zip(left, complete_all_titles(left), strict=True))
    return [peek.titles or found[item.file] for item, peek in zip(files, ends, strict=True)]


class SessionFinder:
    """Finds sessions by name; the folders are listed, and the titles read, once for all names."""

    def __init__(self, config_dirs: Iterable[Path], known: KnownPeeks | None = None) -> None:
        self._config_dirs = config_dirs
        self._known = known

    @cached_property
    def _file_list(self) -> SessionFileList:
        return list_sessions_or_demo(self._config_dirs)

    @cached_property
    def _peeked_sessions(self) -> list[PeekedSession]:
        files = self._file_list.files
        ends = peek_sessions(files, self._known)
        titles = read_all_titles(files, ends, self._known)
        return [PeekedSession(*parts) for parts in zip(files, ends, titles, strict=True)]

    def find_file(self, name: str) -> Path:
        """Return the file of the one session that a name refers to."""
        path = _expand_user(name)
        if name != LAST_SESSION_NAME and _is_path(name, path):
            return path
        files, is_demo, survey = self._file_list
        if name == LAST_SESSION_NAME:
            return _find_last_of_demo(files) if is_demo else _find_last(files, self._known)
        if _looks_like_path(name, path):
            return _find_by_path_title(name, self._peeked_sessions).path
        found = _filter_by_id(name, files)
        if len(found) > 1:
            raise Ambiguous(f"{name!r} matches {len(found)} sessions: {_describe_candidates(found)}")
        return found[0].path if found else _find_by_title(name, self._peeked_sessions, survey).path


def find_session_file(name: str, config_dirs: Iterable[Path], known: KnownPeeks | None = None) -> Path:
    """Return the file of the one session that a name refers to."""
    return SessionFinder(config_dirs, known).find_file(name)


def _expand_user(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:  # ~nobody
        return Path(name)


def _is_path(name: str, path: Path) -> bool:
    """Return whether a name is the path of an existing file; raise NotFound for a folder."""
    # The methods of Path would raise when a title is too long for a file name.
    if os.path.isfile(path):  # noqa: PTH113
        return True
    if os.path.isdir(path) and (  # noqa: PTH112
        "/" in name or "\\" in name or name in (".", "..")
    ):
        raise NotFound(f"{name}: a folder, not a session file; name one of the files in it")
    return False


def _looks_like_path(name: str, path: Path) -> bool:
    return path.suffix == ".jsonl" or path.is_absolute() or name.startswith(("./", "../", ".\\", "..\\", "~"))


def _filter_by_id(name: str, files: list[SessionFile]) -> list[SessionFile]:
    """List the sessions whose ids start with a name."""
    start = name.lower()
    return [item for item in files if start and item.session_id.lower().startswith(start)]


def _find_by_path_title(name: str, peeked: list[PeekedSession]) -> SessionFile:
    """Find the session whose title looks like a path, such as `/clear`.

    A partial match is not enough: a mistyped path must not match a session that merely mentions it.
    """
    whole = _fold_text(name)
    found = [item for item in peeked if whole in item.names]
    if not found and (start := _fold_text(name.removesuffix(_CUT_MARK))) != whole:
        found = [item for item in peeked if any(title.startswith(start) for title in item.names)]
    if not found:
        raise NotFound(f"{name}: no such file")
    return _require_one(name, found)


def _find_by_title(name: str, peeked: list[PeekedSession], survey: Survey) -> SessionFile:
    """Find the session with this title or, if there is none, the one whose title contains it."""
    whole, part = _fold_text(name), _fold_text(name.removesuffix(_CUT_MARK))
    found = [item for item in peeked if whole in item.names]
    if not found and part:
        found = [item for item in peeked if any(part in title for title in item.names)]
    if not found:
        hint = f"; can't list {survey.unlisted[0]}" if survey.unlisted else _describe_closest(name, peeked)
        raise NotFound(f"no session is called {name!r}{hint}; `turnlog ls` lists all sessions")
    return _require_one(name, found)


def _require_one(name: str, found: list[PeekedSession]) -> SessionFile:
    if len(found) > 1:
        raise Ambiguous(f"{name!r} is in the titles of {len(found)} sessions: {_describe_titled_candidates(found)}")
    return found[0].file


def _describe_titled_candidates(found: list[PeekedSession]) -> str:
    newest = sorted(found, key=lambda item: -item.file.mtime_ns)[:_MAX_LISTED_SESSIONS]
    titles = ", ".join(f"{item.file.session_id} {_shorten_title(item.titles.best)!r}" for item in newest)
    return f"{titles}{' …' if len(found) > _MAX_LISTED_SESSIONS else ''}; use one of these ids"


def _shorten_title(title: str | None) -> str:
    text = " ".join((title or "").split())
    return text if len(text) <= _MAX_LISTED_TITLE_CHARS else text[:_MAX_LISTED_TITLE_CHARS] + _CUT_MARK


def _fold_text(text: str) -> str:
    return " ".join(text.split()).casefold()


def _describe_candidates(found: list[SessionFile]) -> str:
    newest = sorted(found, key=lambda item: -item.mtime_ns)[:_MAX_LISTED_SESSIONS]
    more = " …" if len(found) > _MAX_LISTED_SESSIONS else ""
    if len({item.session_id for item in found}) < len(found):
        return ", ".join(item.file for item in newest) + f"{more}; use the path"
    return ", ".join(item.session_id for item in newest) + f"{more}; use more of the id"


def _find_last(files: list[SessionFile], known: KnownPeeks | None) -> Path:
    """Return the newest session that is not junk, reading only files that may be the newest."""
    best: tuple[float, Path] | None = None
    newest = sorted(files, key=lambda item: -item.mtime_ns)
    first, size = 0, _FIRST_BATCH_FILES
    while first < len(newest) and (best is None or newest[first].mtime_ns / 1e9 >= best[0]):
        # If files were copied without their times, any of them may be the newest.
        batch = newest[first : first + size]
        for item, ends in zip(batch, peek_sessions(batch, known), strict=True):
            if not ends.junk and (best is None or compute_recency(item, ends) > best[0]):
                best = compute_recency(item, ends), item.path
        first, size = first + size, len(newest)
    if best is None:
        raise NotFound("no session on this machine contains a conversation; `turnlog ls --all` lists all files")
    return best[1]


def _find_last_of_demo(files: list[SessionFile]) -> Path:
    return max(files, key=lambda item: compute_recency(item, peek_safely(item.file), is_demo=True)).path


def compute_recency(item: SessionFile, ends: Peek, *, is_demo: bool = False) -> float:
    """Return when a session was last active, in seconds since 1970, but never later than its file was written."""
    ended, written = parse_timestamp(ends.ended), item.mtime_ns / 1e9
    if is_demo:  # these files date from the installation of the package
        return ended.timestamp() if ended else 0
    return min(ended.timestamp(), written) if ended else written


def _describe_closest(name: str, peeked: list[PeekedSession]) -> str:
    """List the sessions whose id or title is most similar to a name that matches no session."""
    import difflib

    by_text = {item.file.session_id[: len(name)].lower(): item for item in peeked}
    by_text |= {_fold_text(title)[:200]: item for item in peeked if (title := item.titles.best)}
    near = difflib.get_close_matches(_fold_text(name)[:200], by_text, 3, 0.5) if name else []
    ids = dict.fromkeys(by_text[text].file.session_id for text in near)
    return f"; closest matches: {', '.join(ids)}" if ids else ""
