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

from turnlog.edit.compress.band import Band, chosen
from turnlog.edit.compress.extract import extract, is_extract
from turnlog.edit.compress.shorten import Shortened, shorten
from turnlog.edit.compress.units import units
from turnlog.edit.draft import Draft
from turnlog.entries.entry import Entry
from turnlog.entries.marks import separated
from turnlog.model.cancel import Cancel
from turnlog.model.failures import Cancelled, ModelError, Unauthorised
from turnlog.model.metered import Metered
from turnlog.model.model import Model
from turnlog.session.prompts import understand
from turnlog.session.session import Session
from turnlog.session.usage.prices import SYNTHETIC

SMALL_MODEL = "claude-haiku-5-5"
"""The model that is asked when none is named."""
SHORTEST = 240
"""Texts with fewer characters, code not counted, stay as they are."""
JOBS = 4
"""So many requests at a time."""

Message = Mapping[str, Any]
Shorten = Callable[[str], Shortened]
Progress = Callable[[int, int], object]
"""Is told how many of how many texts are done."""


class Slot(NamedTuple):
    """A place in a session where a text stands that may become shorter."""

    entry: int
    """The index of its entry."""
    block: int | None
    """Which block of its content; None: the content is the text."""
    turn: int
    role: str
    text: str


class Piece(NamedTuple):
    """What became of a text."""

    slot: Slot
    short: str | None
    reason: str | None
    """Why it stayed as it was."""

    @property
    def after(self) -> str:
        """The text as it is now."""
        return self.slot.text if self.short is None else self.short


@dataclass(frozen=True)
class Compressed:
    """What compressing some turns comes to."""

    changes: dict[int, dict[str, Any]]
    """Entries by index, each with its new `message`."""
    pieces: tuple[Piece, ...]
    """All texts of these turns, in the order of the file."""
    turns: tuple[int, ...]
    to: float
    """The part that was wanted."""
    model: str | None
    """The model that was asked; None: none was."""
    used: Mapping[str, int]
    """Tokens that its answers took, by the API's names."""

    @property
    def shortened(self) -> list[Piece]:
        """The texts that became shorter."""
        return [piece for piece in self.pieces if piece.short is not None]

    @property
    def kept(self) -> list[Piece]:
        """The texts that should have become shorter and did not; short ones are not among them."""
        return [piece for piece in self.pieces if piece.short is None and piece.reason != SHORT]

    @property
    def before(self) -> int:
        """The characters of all texts of these turns."""
        return sum(len(piece.slot.text) for piece in self.pieces)

    @property
    def after(self) -> int:
        """The same, now."""
        return sum(len(piece.after) for piece in self.pieces)

    @property
    def ratio(self) -> float:
        """The part that was reached, of all texts of these turns."""
        return self.after / self.before if self.before else 1.0


SHORT = "short already"
DONE = "was shortened without a model before"


def compress(
    session: Session,
    bands: Sequence[Band],
    to: float,
    model: Model | None = None,
    *,
    name: str = SMALL_MODEL,
    prompts: bool = False,
    shortest: int = SHORTEST,
    jobs: int = JOBS,
    progress: Progress | None = None,
    current: Callable[[Entry], Any] | None = None,
) -> Compressed:
    """What becomes of the texts of some turns; without a model, sentences are left out.

    `current` gives the message that an entry has now, None if the entry is gone: other edits may have come before.
    A model that takes no key stops all; any other failure leaves a text as it was. An interrupt ends all requests.
    """
    turns = chosen(bands, len(session.turns))
    now = current or (lambda entry: session.body(entry).get("message"))
    messages: dict[int, Message] = {}
    slots = list(_slots(session, frozenset(turns), prompts, now, messages))
    cancel, meter = Cancel(), Metered(model) if model else None
    made = _made(slots, _shortener(meter, name, to, shortest, cancel), jobs if meter else 1, cancel, progress)
    pieces = tuple(Piece(slot, *made[slot.text]) for slot in slots)
    changes, used = _changes(pieces, messages), meter.used if meter else {}
    return Compressed(changes, pieces, tuple(turns), to, name if meter else None, used)


def applied(draft: Draft, found: Compressed) -> Draft:
    """A draft with the shorter texts."""
    places = draft.places()
    return draft.changing({places[index]: values for index, values in found.changes.items() if index in places})


def current_in(draft: Draft) -> Callable[[Entry], Any]:
    """What entries say in a draft, for `compress`."""
    places = draft.places()
    return lambda entry: draft.value(draft.rows[places[entry.index]], "message") if entry.index in places else None


# -- which texts


def _slots(
    session: Session,
    turns: frozenset[int],
    prompts: bool,
    now: Callable[[Entry], Any],
    messages: dict[int, Message],
) -> Iterator[Slot]:
    for entry in session.entries:
        if not _is_meant(session, entry, prompts):
            continue
        turn = session.turn_of(entry)
        if turn is None or turn.number not in turns:
            continue
        message = now(entry)
        if isinstance(message, dict):
            messages[entry.index] = message
            yield from _texts(entry, message, turn.number)


def _is_meant(session: Session, entry: Entry, prompts: bool) -> bool:
    head = entry.message
    if head is None or entry.lost or entry.is_api_error_message:
        return False
    if entry.type == "assistant":
        return head.model != SYNTHETIC
    return prompts and entry.type == "user" and understand(session.file, entry).kind == "prompt"


def _texts(entry: Entry, message: Message, turn: int) -> Iterator[Slot]:
    content, role = message.get("content"), "assistant" if entry.type == "assistant" else "user"
    blocks: list[tuple[int | None, Any]] = [*enumerate(content)] if isinstance(content, list) else [(None, content)]
    for at, block in blocks:
        text = block if at is None else _plain(block)
        if isinstance(text, str) and text.strip() and not (role == "user" and separated(text).context):
            yield Slot(entry.index, at, turn, role, text)


def _plain(block: Any) -> str | None:
    """The text of a block; one with citations names places in itself and stays as it is."""
    if not isinstance(block, dict) or block.get("type") != "text" or block.get("citations"):
        return None
    text = block.get("text")
    return text if isinstance(text, str) else None


# -- making them shorter


def _shortener(model: Model | None, name: str, to: float, shortest: int, cancel: Cancel) -> Shorten:
    def one(text: str) -> Shortened:
        prose = len(text) - sum(unit.end - unit.start for unit in units(text) if unit.kind == "code")
        if prose < shortest:
            return Shortened(None, SHORT)
        if model is None:
            return _extracted(text, round(prose * to))
        try:
            return shorten(text, to, model, name, cancel)
        except (Cancelled, Unauthorised):
            raise
        except ModelError as error:
            return Shortened(None, f"the model failed: {error}")

    return one


def _extracted(text: str, size: int) -> Shortened:
    if is_extract(text):
        return Shortened(None, DONE)
    found = extract(text, size)
    return Shortened(found.text) if found else Shortened(None, "leaving out sentences makes it no shorter")


def _made(
    slots: Sequence[Slot], one: Shorten, jobs: int, cancel: Cancel, progress: Progress | None
) -> dict[str, Shortened]:
    """What becomes of each text; equal ones are asked for once."""
    wanted = list(dict.fromkeys(slot.text for slot in slots))
    pool = ThreadPoolExecutor(max(1, jobs), thread_name_prefix="compress")
    try:
        futures: dict[Future[Shortened], str] = {pool.submit(one, text): text for text in wanted}
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


def _changes(pieces: Sequence[Piece], messages: Mapping[int, Message]) -> dict[int, dict[str, Any]]:
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
