"""Lists everything that a person typed, across all sessions, newest first, with what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.lookup import Notify
from turnlog.entries.resume_command import build_resume_command
from turnlog.errors import TurnlogError, UsageError
from turnlog.session.clock import to_iso_time

if TYPE_CHECKING:
    from datetime import date

    import apsw

    from turnlog.api.index import Progress
    from turnlog.redact.redactor import Redactor
    from turnlog.store.insight.prompt_places import PromptPlace

MAX_PROMPTS_PER_PAGE = 1000


class ListedPrompt(Struct, frozen=True):
    """Something that a person typed."""

    session_id: str
    path: str
    project: str
    title: str | None
    """The title of the session."""
    time: str | None
    text: str
    """What was typed, with secrets replaced by placeholders such as `[secret:github:1]`."""
    offset: int
    """Where its entry starts in the file."""
    turn: int | None
    """The number of the turn that it started; None if it was typed during a turn, or if the session can't be read."""
    round: str | None
    """new_session, new_round or resume; None if there is no turn."""
    outcome: str | None
    """finished, interrupted, error, waiting or open; None if there is no turn."""
    calls: int | None
    cost_usd: float | None
    """The cost of the turn's messages at list prices, without sub-agents."""
    gone: bool
    """Whether the session's file was deleted."""
    resume: str
    """The command that resumes the session."""


class PromptList(Struct, frozen=True):
    """One page of prompts."""

    prompts: list[ListedPrompt]
    total: int
    """How many prompts match, on all pages; copies in forks are counted but not listed."""
    page: int
    pages: int


class PromptQuery(NamedTuple):
    """Which prompts to list."""

    words: tuple[str, ...] = ()
    """Words that must all occur in the text, the title or the project."""
    projects: tuple[int, ...] | None = None
    since: int | None = None
    """Seconds since 1970."""
    until: int | None = None
    page: int = 1
    limit: int = 50


def list_prompts(
    query: str = "",
    *,
    limit: int = 50,
    page: int = 1,
    project: str | None = None,
    since: str | date | None = None,
    until: str | date | None = None,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> PromptList:
    """List the prompts and commands that a person typed in all sessions, newest first, with secrets masked.

    `query` contains words that must all occur in a prompt, its session's title or its project. Days are dates or
    expressions such as `yesterday` or `30d`.
    """
    from turnlog.api.index import open_index

    if not 1 <= limit <= MAX_PROMPTS_PER_PAGE or page < 1:
        raise UsageError(f"--limit must be between 1 and {MAX_PROMPTS_PER_PAGE:,}, and --page at least 1")
    config = config or load_config()
    with open_index(config, is_whole=False, notify=notify, progress=progress) as (store, _):
        wanted = build_prompt_query(store.db, query, project, since, until, limit, page)
        return collect_prompts(store.db, data_dir(), wanted)


def build_prompt_query(
    db: apsw.Connection,
    query: str = "",
    project: str | None = None,
    since: str | date | None = None,
    until: str | date | None = None,
    limit: int = 50,
    page: int = 1,
) -> PromptQuery:
    """Resolve a project and days; raise `UsageError` if they are invalid."""
    from turnlog.store.filter_values import require_projects
    from turnlog.store.usage.time_zones import TimeZone
    from turnlog.store.usage.usage_reports import parse_usage_request

    request = parse_usage_request("daily", _to_day_text(since), _to_day_text(until))
    zone = TimeZone()
    return PromptQuery(
        tuple(query.casefold().split()),
        None if project is None else tuple(require_projects(db, project)),
        None if request.since is None else zone.find_day_start(request.since),
        None if request.until is None else zone.find_day_start(request.until) + 86400,
        page,
        limit,
    )


def _to_day_text(day: str | date | None) -> str | None:
    return None if day is None else str(day)


def collect_prompts(db: apsw.Connection, data_folder: Path, query: PromptQuery) -> PromptList:
    """Read one page of prompts."""
    from turnlog.redact.redactor import Redactor
    from turnlog.store.insight.prompt_places import list_prompt_places

    places = list_prompt_places(db, query.projects, query.since, query.until)
    texts = _PromptTexts(data_folder)
    if query.words:
        places = texts.select_matches(places, query.words)
    turns, redactor = _TurnFacts(), Redactor()
    prompts = [_build_prompt(place, text, turns, redactor) for place, text in _choose_page(places, texts, query)]
    return PromptList(prompts, len(places), query.page, max(-(-len(places) // query.limit), 1))


def _choose_page(
    places: Sequence[PromptPlace], texts: _PromptTexts, query: PromptQuery
) -> Iterator[tuple[PromptPlace, str]]:
    """Yield the prompts of a page; copies of a prompt in forks are omitted."""
    first = (query.page - 1) * query.limit
    seen: set[tuple[int, str]] = set()
    for place in places[first : first + query.limit]:
        text = texts.read_text(place)
        if text and (place.time, text) not in seen:
            seen.add((place.time, text))
            yield place, text


class _PromptTexts:
    """Reads what was typed at a place, from the file or from the archive."""

    def __init__(self, data_folder: Path) -> None:
        from turnlog.store.search.index_source import IndexSource

        self._source = IndexSource(data_folder)

    def read_text(self, place: PromptPlace) -> str | None:
        """Return what was typed; None if it can't be read or was not typed by a person."""
        return _decode_typed_text(self._source.read_passage(place.path, place.offset, False))

    def select_matches(self, places: Sequence[PromptPlace], words: Sequence[str]) -> list[PromptPlace]:
        """Return the places with all words in the text, the title or the project, in the same order."""
        by_file: dict[str, list[PromptPlace]] = {}
        for place in places:
            by_file.setdefault(place.path, []).append(place)
        found = {(place.file, place.offset) for group in by_file.values() for place in self._iter_matches(group, words)}
        return [place for place in places if (place.file, place.offset) in found]

    def _iter_matches(self, places: Sequence[PromptPlace], words: Sequence[str]) -> Iterator[PromptPlace]:
        """Yield the matches among the prompts of one file, which is opened once."""
        about = f"{places[0].title or ''}\n{places[0].project}".casefold()
        missing = [word for word in words if word not in about]
        try:
            with Path(places[0].path).open("rb") as file:
                for place in places:
                    file.seek(place.offset)
                    if _holds_words(file.readline(), missing):
                        yield place
        except OSError:  # deleted: perhaps the archive has it
            yield from (place for place in places if _holds_text_words(self.read_text(place), missing))


def _holds_words(raw: bytes, words: Sequence[str]) -> bool:
    # Decoding a line takes much longer than looking for the letters and digits of a word in it.
    if any(word.isascii() and word.isalnum() and word.encode() not in raw.lower() for word in words):
        return False
    return _holds_text_words(_decode_typed_text(raw), words)


def _holds_text_words(text: str | None, words: Sequence[str]) -> bool:
    folded = (text or "").casefold()
    return bool(folded) and all(word in folded for word in words)


def _decode_typed_text(raw: bytes | None) -> str | None:
    from turnlog.entries.line_decoder import decode_first_object

    body = decode_first_object(raw) if raw else None
    return None if body is None else _read_typed_text(body)


def _read_typed_text(body: dict[str, Any]) -> str | None:
    from turnlog.session.prompts import parse_queued_prompt, parse_user_body

    if body.get("isSidechain") is True:
        return None
    attachment = body.get("attachment")
    prompt = parse_queued_prompt(attachment) if isinstance(attachment, dict) else parse_user_body(body)
    return prompt.text.strip() or None if prompt.is_typed else None


class TurnFact(NamedTuple):
    """What came of a prompt."""

    number: int
    round: str
    outcome: str
    calls: int
    cost_usd: float


class _TurnFacts(dict[str, dict[int, TurnFact]]):
    """What came of the prompts of each session, by path and offset; each session is read once."""

    def find_fact(self, place: PromptPlace) -> TurnFact | None:
        """Return what came of the prompt at a place; None if it didn't start a turn or the session can't be read."""
        if place.path not in self:
            self[place.path] = {} if place.is_gone else _read_turn_facts(Path(place.path))
        return self[place.path].get(place.offset)


def _read_turn_facts(path: Path) -> dict[int, TurnFact]:
    from turnlog.session.message_usage import sum_usage
    from turnlog.session.session import Session

    try:
        with Session.open(path) as session:
            return {
                turn.start.offset: TurnFact(
                    turn.number, turn.round, turn.outcome, len(turn.calls), sum_usage(turn.messages).cost_usd
                )
                for turn in session.turns
            }
    except (OSError, TurnlogError):
        return {}


def _build_prompt(place: PromptPlace, text: str, turns: _TurnFacts, redactor: Redactor) -> ListedPrompt:
    fact = turns.find_fact(place)
    return ListedPrompt(
        session_id=place.uuid,
        path=place.path,
        project=place.project,
        title=None if place.title is None else redactor.redact_text(place.title),
        time=None if not place.time else to_iso_time(_to_utc(place.time)),
        text=redactor.redact_text(text),
        offset=place.offset,
        turn=fact and fact.number,
        round=fact and fact.round,
        outcome=fact and fact.outcome,
        calls=None if fact is None else fact.calls,
        cost_usd=None if fact is None else fact.cost_usd,
        gone=place.is_gone,
        resume=build_resume_command(place.uuid, place.cwd),
    )


def _to_utc(seconds: int) -> Any:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC)
