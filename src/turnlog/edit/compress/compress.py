"""Making the texts of older turns shorter, with a model or without one.

What is made shorter: what the model said in these turns and, if wanted, what was typed. Thinking, calls and results
stay as they are, and so does code inside of a text. A text stays as it was if it is short already, if the model fails,
or if what comes back is no shorter or has lost a name, a path, a number or code: `shorten` and `extract` see to that.
Nothing is written here: the result says which entries would get which message.
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
"""The model that is asked when none is named."""
MIN_TEXT_CHARS = 240
"""Texts with fewer characters, code not counted, stay as they are."""
MAX_PARALLEL_REQUESTS = 4
"""So many requests at a time."""

MessageObject = Mapping[str, Any]
Shortener = Callable[[str], ShortenedText]
CompressProgress = Callable[[int, int], object]
"""Is told how many of how many texts are done."""


class TextSlot(NamedTuple):
    """A place in a session where a text stands that may become shorter."""

    entry: int
    """The index of its entry."""
    block: int | None
    """Which block of its content; None: the content is the text."""
    turn: int
    role: str
    text: str


class CompressedText(NamedTuple):
    """What became of a text."""

    slot: TextSlot
    short: str | None
    reason: str | None
    """Why it stayed as it was."""

    @property
    def text_after(self) -> str:
        """The text as it is now."""
        return self.slot.text if self.short is None else self.short


@dataclass(frozen=True)
class CompressionResult:
    """What compressing some turns comes to."""

    changes: dict[int, dict[str, Any]]
    """Entries by index, each with its new `message`."""
    pieces: tuple[CompressedText, ...]
    """All texts of these turns, in the order of the file."""
    turns: tuple[int, ...]
    to: float
    """The part that was wanted."""
    model: str | None
    """The model that was asked; None: none was."""
    used: Mapping[str, int]
    """Tokens that its answers took, by the API's names."""

    @property
    def shortened_texts(self) -> list[CompressedText]:
        """The texts that became shorter."""
        return [piece for piece in self.pieces if piece.short is not None]

    @property
    def unshortened_texts(self) -> list[CompressedText]:
        """The texts that should have become shorter and did not; short ones are not among them."""
        return [piece for piece in self.pieces if piece.short is None and piece.reason != SHORT_ALREADY_REASON]

    @property
    def chars_before(self) -> int:
        """The characters of all texts of these turns."""
        return sum(len(piece.slot.text) for piece in self.pieces)

    @property
    def chars_after(self) -> int:
        """The same, now."""
        return sum(len(piece.text_after) for piece in self.pieces)

    @property
    def ratio(self) -> float:
        """The part that was reached, of all texts of these turns."""
        return self.chars_after / self.chars_before if self.chars_before else 1.0


SHORT_ALREADY_REASON = "short already"
SHORTENED_BEFORE_REASON = "was shortened without a model before"


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
    """What becomes of the texts of some turns; without a model, sentences are left out.

    `current` gives the message that an entry has now, None if the entry is gone: other edits may have come before.
    A model that takes no key stops all; any other failure leaves a text as it was. An interrupt ends all requests.
    """
    turns = list_chosen_turns(bands, len(session.turns))
    now = current or (lambda entry: session.read_body(entry).get("message"))
    messages: dict[int, MessageObject] = {}
    slots = list(_find_slots(session, frozenset(turns), prompts, now, messages))
    cancel, meter = Cancel(), MeteredModel(model) if model else None
    made = _shorten_slots(
        slots, _build_shortener(meter, name, to, shortest, cancel), jobs if meter else 1, cancel, progress
    )
    pieces = tuple(CompressedText(slot, *made[slot.text]) for slot in slots)
    changes, used = _build_message_changes(pieces, messages), meter.used_tokens if meter else {}
    return CompressionResult(changes, pieces, tuple(turns), to, name if meter else None, used)


def apply_compression(draft: Draft, found: CompressionResult) -> Draft:
    """A draft with the shorter texts."""
    places = draft.map_entry_places()
    return draft.with_changes({places[index]: values for index, values in found.changes.items() if index in places})


def build_message_reader(draft: Draft) -> Callable[[Entry], Any]:
    """What entries say in a draft, for `compress`."""
    places = draft.map_entry_places()
    return lambda entry: draft.get_value(draft.rows[places[entry.index]], "message") if entry.index in places else None


# -- which texts


def _find_slots(
    session: Session,
    turns: frozenset[int],
    prompts: bool,
    now: Callable[[Entry], Any],
    messages: dict[int, MessageObject],
) -> Iterator[TextSlot]:
    for entry in session.entries:
        if not _is_compressible(session, entry, prompts):
            continue
        turn = session.find_turn(entry)
        if turn is None or turn.number not in turns:
            continue
        message = now(entry)
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
    """The text of a block; one with citations names places in itself and stays as it is."""
    if not isinstance(block, dict) or block.get("type") != "text" or block.get("citations"):
        return None
    text = block.get("text")
    return text if isinstance(text, str) else None


# -- making them shorter


def _build_shortener(model: Model | None, name: str, to: float, shortest: int, cancel: Cancel) -> Shortener:
    def one(text: str) -> ShortenedText:
        prose = len(text) - sum(unit.end - unit.start for unit in split_units(text) if unit.kind == "code")
        if prose < shortest:
            return ShortenedText(None, SHORT_ALREADY_REASON)
        if model is None:
            return _shorten_by_extract(text, round(prose * to))
        try:
            return shorten_with_model(text, to, model, name, cancel)
        except (RequestCancelled, KeyRejected):
            raise
        except ModelError as error:
            return ShortenedText(None, f"the model failed: {error}")

    return one


def _shorten_by_extract(text: str, size: int) -> ShortenedText:
    if is_extracted_text(text):
        return ShortenedText(None, SHORTENED_BEFORE_REASON)
    found = extract_sentences(text, size)
    return ShortenedText(found.text) if found else ShortenedText(None, "leaving out sentences makes it no shorter")


def _shorten_slots(
    slots: Sequence[TextSlot], one: Shortener, jobs: int, cancel: Cancel, progress: CompressProgress | None
) -> dict[str, ShortenedText]:
    """What becomes of each text; equal ones are asked for once."""
    wanted = list(dict.fromkeys(slot.text for slot in slots))
    pool = ThreadPoolExecutor(max(1, jobs), thread_name_prefix="compress")
    try:
        futures: dict[Future[ShortenedText], str] = {pool.submit(one, text): text for text in wanted}
        for done, future in enumerate(as_completed(futures), 1):
            future.result()
            if progress is not None:
                progress(done, len(wanted))
        return {text: future.result() for future, text in futures.items()}
    except BaseException:
        cancel.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _build_message_changes(
    pieces: Sequence[CompressedText], messages: Mapping[int, MessageObject]
) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for piece in pieces:
        index, at = piece.slot.entry, piece.slot.block
        if piece.short is None:
            continue
        message = found.setdefault(index, {"message": dict(messages[index])})["message"]
        if at is None:
            message["content"] = piece.short
        else:
            content = list(message["content"])
            content[at] = {**content[at], "text": piece.short}
            message["content"] = content
    return found
