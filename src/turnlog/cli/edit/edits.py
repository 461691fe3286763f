"""The edits that a new session can be made with, in their fixed order: strip, for a model, compress, compact, portable.

`docs/clone.md` says why in this order. Each step tells what it did, in words and as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.edit.draft import Draft
from turnlog.errors import UsageError
from turnlog.render.figures import count
from turnlog.session.session import Session
from turnlog.session.window.wishes import Wishes

if TYPE_CHECKING:
    from turnlog.edit.compress.compress import Compressed

TO = "35%"
KEEP = 2


class Squeeze(NamedTuple):
    """How texts are made shorter."""

    words: tuple[str, ...]
    to: str = TO
    prompts: bool = False
    model: str | None = None


class Summing(NamedTuple):
    """How older turns are summed up."""

    offline: bool
    keep: int | None = None
    """How many turns stay word for word; None: two, or fewer where there are no more."""
    model: str | None = None


class Order(NamedTuple):
    """What is to be done on the way."""

    strip: Wishes | None = None
    for_model: str | None = None
    compress: Squeeze | None = None
    compact: Summing | None = None
    portable: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done."""
        return self == Order()


@dataclass
class Edited:
    """A session on its way, and what was done to it."""

    draft: Draft
    lines: list[str] = field(default_factory=list)
    """What was done, for people."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What was done, for programs."""
    log: str | None = None
    """Texts before and after, as Markdown."""


def ordered(options: dict[str, Any], strip: Wishes | None) -> Order:
    """What the words of a call ask for."""
    squeeze = summing = None
    if options["compress"]:
        squeeze = Squeeze(options["compress"], options["to"] or TO, options["prompts"], options["with_model"])
    elif options["to"] or options["prompts"] or options["compress_log"]:
        raise UsageError("--to, --prompts and --compress-log belong to --compress")
    if (how := options["compact"]) is not None:
        if how not in ("model", "offline"):
            raise UsageError(f"--compact {how}: it is --compact, or --compact offline")
        summing = Summing(how == "offline", options["keep"], options["with_model"])
    elif options["keep"] is not None:
        raise UsageError("--keep belongs to --compact; `--tools keep=N` keeps calls")
    if options["with_model"] and not squeeze and not summing:
        raise UsageError("--with-model belongs to --compress and --compact")
    return Order(strip, options["for_model"], squeeze, summing, options["portable"])


def edited(session: Session, order: Order, transcript: str | None, *, dry_run: bool) -> Edited:
    """Carry out what was ordered; nothing is written."""
    found = Edited(Draft.of(session.file))
    if order.strip is not None:
        _strip(session, found, order.strip)
    if order.for_model is not None:
        _for_model(found, order.for_model)
    if order.compress is not None:
        _compress(session, found, order.compress, dry_run)
    if order.compact is not None:
        _compact(found, order.compact, transcript, dry_run)
    if order.portable:
        from turnlog.edit.fork.linear import linear

        found.draft = linear(session, found.draft)
        found.lines.append("In the portable form: one line of user and assistant entries.")
        found.facts["portable"] = True
    return found


def _strip(session: Session, found: Edited, wishes: Wishes) -> None:
    from turnlog.cli.edit.strip_options import strip_document, strip_lines
    from turnlog.edit.strip.strip import strip

    stripped = strip(session, found.draft, wishes)
    found.draft = stripped.draft
    found.lines += strip_lines(stripped.report)
    found.facts["strip"] = strip_document(stripped.report)


def _for_model(found: Edited, model: str) -> None:
    from turnlog.edit.fork.for_model import for_model

    fitted = for_model(found.draft, model)
    found.draft = fitted.draft
    done = ", ".join(f"{number:,} {words}" for words, number in fitted.counts.items()) or "nothing had to go"
    found.lines.append(f"For {model}: {done}.")
    found.facts["for_model"] = {"model": model, "counts": dict(fitted.counts)}


def _compress(session: Session, found: Edited, squeeze: Squeeze, dry_run: bool) -> None:
    from turnlog.cli.edit.asking import asked
    from turnlog.cli.progress import progress
    from turnlog.edit.compress.band import chosen, share, wanted
    from turnlog.edit.compress.compress import SMALL_MODEL, applied, compress, current_in
    from turnlog.edit.compress.log import compress_log
    from turnlog.edit.compress.mark import mark_compression

    wish, to = wanted(squeeze.words), share(squeeze.to)
    name = squeeze.model or SMALL_MODEL
    turns = chosen(wish.bands, len(session.turns))  # what is wrong with them is told before a model is looked for
    if dry_run and not wish.offline:
        found.lines.append(f"{name} would make texts of {count(len(turns), 'turn')} shorter; a dry run asks no model.")
        return
    with asked(None if wish.offline else name) as model:
        done = compress(
            session,
            wish.bands,
            to,
            model,
            name=name,
            prompts=squeeze.prompts,
            progress=progress("shortening texts: {done:,} of {total:,} …"),
            current=current_in(found.draft),
        )
    found.draft = mark_compression(session, applied(found.draft, done), done)
    found.log = compress_log(done, session.title or "")
    found.lines.append(_compressed(done))
    found.facts["compress"] = {
        "model": done.model,
        "turns": list(done.turns),
        "texts": len(done.pieces),
        "shortened": len(done.shortened),
        "kept": len(done.kept),
        "characters_before": done.before,
        "characters_after": done.after,
        "to": done.to,
    }


def _compressed(done: Compressed) -> str:
    """What compressing did, for people."""
    texts, turns = count(len(done.pieces), "text"), count(len(done.turns), "turn")
    kept = len(done.kept)
    if not done.shortened:
        why = f"{kept:,} could not be" if kept else "all are short already"
        return f"None of {texts} of {turns} was made shorter: {why}."
    by = "without a model: sentences were left out" if done.model is None else f"by {done.model}"
    stayed = f"; {kept:,} could not be, and stayed as {'it was' if kept == 1 else 'they were'}" if kept else ""
    amount = f"{done.before:,} characters before, {done.after:,} after ({done.ratio:.0%})"
    return f"{len(done.shortened):,} of {texts} of {turns} made shorter, {by}: {amount}{stayed}."


def _compact(found: Edited, summing: Summing, transcript: str | None, dry_run: bool) -> None:
    from pathlib import Path

    from turnlog.cli.edit.asking import asked
    from turnlog.edit.compress.compact import Summarise, compact
    from turnlog.edit.compress.compress import SMALL_MODEL
    from turnlog.edit.compress.recap import recap
    from turnlog.edit.compress.summary import by_model

    name = summing.model or SMALL_MODEL
    if dry_run and not summing.offline:
        found.lines.append(f"{name} would sum up older turns; a dry run asks no model.")
        return
    with asked(None if summing.offline else name) as model:
        summarise: Summarise = recap if model is None else by_model(model, name)
        keep = summing.keep if summing.keep is not None else _kept_turns(found.draft)
        done = compact(found.draft, summarise, keep=keep, transcript=Path(transcript) if transcript else None)
    found.draft = done.draft
    by = "an outline made without a model" if summing.offline else f"a summary by {name}"
    found.lines.append(
        f"{count(done.turns, 'turn')} summed up, {done.kept} kept word for word: about {done.before:,} tokens before,"
        f" {done.after:,} after; {by}."
    )
    found.facts["compact"] = {
        "model": None if summing.offline else name,
        "turns": done.turns,
        "kept": done.kept,
        "tokens_before": done.before,
        "tokens_after": done.after,
    }


def _kept_turns(draft: Draft) -> int:
    """How many turns are kept word for word if nobody says: two, but never all."""
    session = Session(draft.transcript())
    turns = {turn.number for row in session.thread().rows if (turn := session.turn_of(row)) is not None}
    return max(0, min(KEEP, len(turns) - 1))
