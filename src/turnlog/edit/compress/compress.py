"""Shortens the text of older turns, with a model or without one.

In these turns, the model's text is shortened and, on request, the prompts are too. Thinking, calls, results, and code
within the text are not changed. Text is left unchanged if it is already short, if the model fails, or if the new
version is not shorter or has lost a name, a path, a number or code; `model_shortener` and `extract` check this. Nothing
is written here; the result contains the new message for each entry that would change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, NamedTuple

from turnlog.edit.compress.extract import extract_sentences, is_extracted_text
from turnlog.edit.compress.model_shortener import ShortenedText, shorten_with_model
from turnlog.edit.compress.turn_bands import TurnBand, list_chosen_turns
from turnlog.edit.compress.units import split_units
from turnlog.edit.draft import Draft
from turnlog.entries.entry import Entry
from turnlog.entries.marks import separate_context
from turnlog.model.cancel import Cancel
from turnlog.model.failures import KeyRejected, ModelError, RequestCancelled
from turnlog.model.metered_model import MeteredModel
from turnlog.model.model import Model
from turnlog.session.prompts import parse_user_entry
from turnlog.session.session import Session
from turnlog.session.usage.prices import SYNTHETIC_MODEL

SMALL_MODEL = "claude-haiku-5-5"
"""The default model."""
MIN_TEXT_CHARS = 240
"""Text with fewer characters, not counting code, is not shortened."""
MAX_PARALLEL_REQUESTS = 4
"""The maximum number of concurrent requests."""

MessageObject = Mapping[str, Any]
Shortener = Callable[[str], ShortenedText]
CompressProgress = Callable[[int, int], object]
"""Called with the number of finished items and the total."""


class TextSlot(NamedTuple):
    """The position of text that may be shortened."""

    entry: int
    """The index of the entry."""
    block: int | None
    """The position of the block in the content, or None if the content itself is the text."""
    turn: int
    role: str
    text: str


class CompressedText(NamedTuple):
    """The original text and its shorter version, if there is one."""

    slot: TextSlot
    short: str | None
    reason: str | None
    """The reason why the text is unchanged."""

    @property
    def text_after(self) -> str:
        """The shorter text, or the original if it could not be shortened."""
        return self.slot.text if self.short is None else self.short


@dataclass(frozen=True)
class CompressionResult:
    changes: dict[int, dict[str, Any]]
    """The new `message` of each changed entry, by its index."""
    pieces: tuple[CompressedText, ...]
    """All text in these turns, in file order."""
    turns: tuple[int, ...]
    to: float
    """The requested length as a share of the original."""
    model: str | None
    """The model that shortened the text, or None if none was used."""
    used: Mapping[str, int]
    """The tokens that the model used, by their API names."""

    @property
    def shortened_texts(self) -> list[CompressedText]:
        return [piece for piece in self.pieces if piece.short is not None]

    @property
    def unshortened_texts(self) -> list[CompressedText]:
        """The items whose text could not be shortened, not counting text that was already short."""
        return [piece for piece in self.pieces if piece.short is None and piece.reason != SHORT_ALREADY_REASON]

    @property
    def chars_before(self) -> int:
        """The total number of characters in these turns before compression."""
        return sum(len(piece.slot.text) for piece in self.pieces)

    @property
    def chars_after(self) -> int:
        """The total number of characters in these turns after compression."""
        return sum(len(piece.text_after) for piece in self.pieces)

    @property
    def ratio(self) -> float:
        """The total length after compression as a share of the original."""
        return self.chars_after / self.chars_before if self.chars_before else 1.0


SHORT_ALREADY_REASON = "already short"
SHORTENED_BEFORE_REASON = "already shortened without a model"


def compress_turns(
    session: Session,
    bands: Sequence[TurnBand],
    to: float,
    model: Model | None = None,
    *,
    name: str = SMALL_MODEL,
    prompts: bool = False,
    shortest: int = MIN_TEXT_CHARS,
    jobs: int = MAX_PARALLEL_REQUESTS,
    progress: CompressProgress | None = None,
    current: Callable[[Entry], Any] | None = None,
) -> CompressionResult:
    """Shorten the text of some turns; without a model, leave out sentences.

    `current` returns an entry's message as edited so far, or None if an earlier edit removed the entry. A rejected API
    key stops the whole run; after any other failure, the text in question is left unchanged. An interrupt cancels all
    requests.
    """
    turns = list_chosen_turns(bands, len(session.turns))
    read_message = current or (lambda entry: session.read_body(entry).get("message"))
    messages: dict[int, MessageObject] = {}
    slots = list(_find_slots(session, frozenset(turns), prompts, read_message, messages))
    cancel, meter = Cancel(), MeteredModel(model) if model else None
    shortened = _shorten_slots(
        slots, _build_shortener(meter, name, to, shortest, cancel), jobs if meter else 1, cancel, progress
    )
    pieces = tuple(CompressedText(slot, *shortened[slot.text]) for slot in slots)
    changes, used = _build_message_changes(pieces, messages), meter.used_tokens if meter else {}
    return CompressionResult(changes, pieces, tuple(turns), to, name if meter else None, used)


def apply_compression(draft: Draft, result: CompressionResult) -> Draft:
    places = draft.map_entry_places()
    changes = {places[index]: values for index, values in result.changes.items() if index in places}
    for at, copies in draft.map_replays().items():
        if at in changes:
            changes |= dict.fromkeys(copies, changes[at])
    return draft.with_changes(changes)


def build_message_reader(draft: Draft) -> Callable[[Entry], Any]:
    """Return a function that reads an entry's current message in a draft, for `compress_turns`."""
    places = draft.map_entry_places()
    return lambda entry: draft.get_value(draft.rows[places[entry.index]], "message") if entry.index in places else None


# -- which texts


def _find_slots(
    session: Session,
    turns: frozenset[int],
    prompts: bool,
    read_message: Callable[[Entry], Any],
    messages: dict[int, MessageObject],
) -> Iterator[TextSlot]:
    for entry in session.entries:
        if not _is_compressible(session, entry, prompts):
            continue
        turn = session.find_turn(entry)
        if turn is None or turn.number not in turns:
            continue
        message = read_message(entry)
        if isinstance(message, dict):
            messages[entry.index] = message
            yield from _find_text_slots(entry, message, turn.number)


def _is_compressible(session: Session, entry: Entry, prompts: bool) -> bool:
    head = entry.message
    if head is None or entry.is_lost or entry.is_api_error_message:
        return False
    if entry.type == "assistant":
        return head.model != SYNTHETIC_MODEL
    return prompts and entry.type == "user" and parse_user_entry(session.file, entry).kind == "prompt"


def _find_text_slots(entry: Entry, message: MessageObject, turn: int) -> Iterator[TextSlot]:
    content, role = message.get("content"), "assistant" if entry.type == "assistant" else "user"
    blocks: list[tuple[int | None, Any]] = [*enumerate(content)] if isinstance(content, list) else [(None, content)]
    for at, block in blocks:
        text = block if at is None else _get_plain_text(block)
        if isinstance(text, str) and text.strip() and not (role == "user" and separate_context(text).context):
            yield TextSlot(entry.index, at, turn, role, text)


def _get_plain_text(block: Any) -> str | None:
    """Return the text of a block, or None if it has citations, which refer to positions in that text."""
    if not isinstance(block, dict) or block.get("type") != "text" or block.get("citations"):
        return None
    text = block.get("text")
    return text if isinstance(text, str) else None


# -- shortening


def _build_shortener(model: Model | None, name: str, to: float, min_chars: int, cancel: Cancel) -> Shortener:
    def shorten(text: str) -> ShortenedText:
        prose = len(text) - sum(unit.end - unit.start for unit in split_units(text) if unit.kind == "code")
        if prose < min_chars:
            return ShortenedText(None, SHORT_ALREADY_REASON)
        if model is None:
            return _shorten_by_extract(text, round(prose * to))
        try:
            return shorten_with_model(text, to, model, name, cancel)
        except (RequestCancelled, KeyRejected):
            raise
        except ModelError as error:
            return ShortenedText(None, f"the model failed: {error}")

    return shorten


def _shorten_by_extract(text: str, size: int) -> ShortenedText:
    if is_extracted_text(text):
        return ShortenedText(None, SHORTENED_BEFORE_REASON)
    extract = extract_sentences(text, size)
    return (
        ShortenedText(extract.text)
        if extract
        else ShortenedText(None, "leaving out sentences does not make it shorter")
    )


def _shorten_slots(
    slots: Sequence[TextSlot], shorten: Shortener, jobs: int, cancel: Cancel, progress: CompressProgress | None
) -> dict[str, ShortenedText]:
    """Shorten the text in each slot; identical text is shortened only once."""
    texts = list(dict.fromkeys(slot.text for slot in slots))
    pool = ThreadPoolExecutor(max(1, jobs), thread_name_prefix="compress")
    try:
        futures: dict[Future[ShortenedText], str] = {pool.submit(shorten, text): text for text in texts}
        for count, future in enumerate(as_completed(futures), 1):
            future.result()
            if progress is not None:
                progress(count, len(texts))
        return {text: future.result() for future, text in futures.items()}
    except BaseException:
        cancel.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _build_message_changes(
    pieces: Sequence[CompressedText], messages: Mapping[int, MessageObject]
) -> dict[int, dict[str, Any]]:
    changes: dict[int, dict[str, Any]] = {}
    for piece in pieces:
        index, at = piece.slot.entry, piece.slot.block
        if piece.short is None:
            continue
        message = changes.setdefault(index, {"message": dict(messages[index])})["message"]
        if at is None:
            message["content"] = piece.short
        else:
            content = list(message["content"])
            content[at] = {**content[at], "text": piece.short}
            message["content"] = content
    return changes
