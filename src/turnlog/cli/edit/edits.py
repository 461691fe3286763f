"""The edits that a new session can be made with, in their fixed order: strip, for a model, compress, compact, portable.

`docs/clone.md` says why in this order. Each step tells what it did, in words and as JSON.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.cli.output import print_remark
from turnlog.edit.draft import Draft
from turnlog.edit.strip.strip_options import StripOptions
from turnlog.errors import UsageError
from turnlog.render.figures import format_count
from turnlog.session.session import Session

if TYPE_CHECKING:
    from turnlog.edit.compress.compress import CompressionResult
if TYPE_CHECKING:
    from turnlog.model.model import Model

DEFAULT_COMPRESS_SHARE = "35%"
DEFAULT_KEPT_TURNS = 2


class CompressOptions(NamedTuple):
    """How texts are made shorter."""

    words: tuple[str, ...]
    to: str = DEFAULT_COMPRESS_SHARE
    prompts: bool = False
    model: str | None = None


class CompactOptions(NamedTuple):
    """How older turns are summed up."""

    offline: bool
    keep: int | None = None
    """How many turns stay word for word; None: two, or fewer where there are no more."""
    model: str | None = None


class CloneEdits(NamedTuple):
    """What is to be done on the way."""

    strip: StripOptions | None = None
    for_model: str | None = None
    compress: CompressOptions | None = None
    compact: CompactOptions | None = None
    portable: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done."""
        return self == CloneEdits()


@dataclass
class EditedSession:
    """A session on its way, and what was done to it."""

    draft: Draft
    lines: list[str] = field(default_factory=list)
    """What was done, for people."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What was done, for programs."""
    log: str | None = None
    """Texts before and after, as Markdown."""


def parse_clone_edits(options: dict[str, Any], strip: StripOptions | None) -> CloneEdits:
    """What the words of a call ask for."""
    squeeze = summing = None
    if options["compress"]:
        squeeze = CompressOptions(
            options["compress"], options["to"] or DEFAULT_COMPRESS_SHARE, options["prompts"], options["with_model"]
        )
    elif options["to"] or options["prompts"] or options["compress_log"]:
        raise UsageError("--to, --prompts and --compress-log belong to --compress")
    if (how := options["compact"]) is not None:
        if how not in ("model", "offline"):
            raise UsageError(f"--compact {how}: it is --compact, or --compact offline")
        summing = CompactOptions(how == "offline", options["keep"], options["with_model"])
    elif options["keep"] is not None:
        raise UsageError("--keep belongs to --compact; `--tools keep=N` keeps calls")
    if options["with_model"] and not squeeze and not summing:
        raise UsageError("--with-model belongs to --compress and --compact")
    return CloneEdits(strip, options["for_model"], squeeze, summing, options["portable"])


def apply_clone_edits(session: Session, order: CloneEdits, transcript: str | None, *, dry_run: bool) -> EditedSession:
    """Carry out what was ordered; nothing is written."""
    found = EditedSession(Draft.from_transcript(session.file))
    if order.strip is not None:
        _apply_strip(session, found, order.strip)
    if order.for_model is not None:
        _fit_to_model(found, order.for_model)
    if order.compress is not None:
        _apply_compress(session, found, order.compress, dry_run)
    if order.compact is not None:
        _apply_compact(found, order.compact, transcript, dry_run)
    if order.portable:
        from turnlog.edit.fork.linear import linearise_draft

        found.draft = linearise_draft(session, found.draft)
        found.lines.append("In the portable form: one line of user and assistant entries.")
        found.facts["portable"] = True
    return found


def _apply_strip(session: Session, found: EditedSession, wishes: StripOptions) -> None:
    from turnlog.cli.edit.strip_options import render_strip_report, to_strip_document
    from turnlog.edit.strip.strip import strip_session

    stripped = strip_session(session, found.draft, wishes)
    found.draft = stripped.draft
    found.lines += render_strip_report(stripped.report)
    found.facts["strip"] = to_strip_document(stripped.report)


def _fit_to_model(found: EditedSession, model: str) -> None:
    from turnlog.edit.fork.model_adapter import adapt_to_model

    fitted = adapt_to_model(found.draft, model)
    found.draft = fitted.draft
    done = ", ".join(f"{number:,} {words}" for words, number in fitted.counts.items()) or "nothing had to go"
    found.lines.append(f"For {model}: {done}.")
    found.facts["for_model"] = {"model": model, "counts": dict(fitted.counts)}


def _apply_compress(session: Session, found: EditedSession, squeeze: CompressOptions, dry_run: bool) -> None:

    from turnlog.cli.progress import show_progress
    from turnlog.edit.compress.compress import SMALL_MODEL, apply_compression, build_message_reader, compress_turns
    from turnlog.edit.compress.compression_mark import mark_compression
    from turnlog.edit.compress.log import render_compress_log
    from turnlog.edit.compress.turn_bands import list_chosen_turns, parse_compress_selection, parse_share

    wish, to = parse_compress_selection(squeeze.words), parse_share(squeeze.to)
    name = squeeze.model or SMALL_MODEL
    turns = list_chosen_turns(
        wish.bands, len(session.turns)
    )  # what is wrong with them is told before a model is looked for
    if dry_run and not wish.offline:
        found.lines.append(
            f"{name} would make texts of {format_count(len(turns), 'turn')} shorter; a dry run asks no model."
        )
        return
    with open_edit_model(None if wish.offline else name) as model:
        done = compress_turns(
            session,
            wish.bands,
            to,
            model,
            name=name,
            prompts=squeeze.prompts,
            progress=show_progress("shortening texts: {done:,} of {total:,} …"),
            current=build_message_reader(found.draft),
        )
    found.draft = mark_compression(session, apply_compression(found.draft, done), done)
    found.log = render_compress_log(done, session.title or "")
    found.lines.append(_describe_compression(done))
    found.facts["compress"] = {
        "model": done.model,
        "turns": list(done.turns),
        "texts": len(done.pieces),
        "shortened": len(done.shortened_texts),
        "kept": len(done.unshortened_texts),
        "characters_before": done.chars_before,
        "characters_after": done.chars_after,
        "to": done.to,
    }


def _describe_compression(done: CompressionResult) -> str:
    """What compressing did, for people."""
    texts, turns = format_count(len(done.pieces), "text"), format_count(len(done.turns), "turn")
    kept = len(done.unshortened_texts)
    if not done.shortened_texts:
        why = f"{kept:,} could not be" if kept else "all are short already"
        return f"None of {texts} of {turns} was made shorter: {why}."
    by = "without a model: sentences were left out" if done.model is None else f"by {done.model}"
    stayed = f"; {kept:,} could not be, and stayed as {'it was' if kept == 1 else 'they were'}" if kept else ""
    amount = f"{done.chars_before:,} characters before, {done.chars_after:,} after ({done.ratio:.0%})"
    return f"{len(done.shortened_texts):,} of {texts} of {turns} made shorter, {by}: {amount}{stayed}."


def _apply_compact(found: EditedSession, summing: CompactOptions, transcript: str | None, dry_run: bool) -> None:
    from pathlib import Path

    from turnlog.edit.compress.compact import Summariser, compact_draft
    from turnlog.edit.compress.compress import SMALL_MODEL
    from turnlog.edit.compress.recap import build_recap
    from turnlog.edit.compress.summary import build_model_summariser

    name = summing.model or SMALL_MODEL
    if dry_run and not summing.offline:
        found.lines.append(f"{name} would sum up older turns; a dry run asks no model.")
        return
    with open_edit_model(None if summing.offline else name) as model:
        summarise: Summariser = build_recap if model is None else build_model_summariser(model, name)
        keep = summing.keep if summing.keep is not None else _choose_kept_turns(found.draft)
        done = compact_draft(found.draft, summarise, keep=keep, transcript=Path(transcript) if transcript else None)
    found.draft = done.draft
    by = "an outline made without a model" if summing.offline else f"a summary by {name}"
    found.lines.append(
        f"{format_count(done.turns, 'turn')} summed up, {done.kept} kept word for word: about {done.before:,} "
        f"tokens before,"
        f" {done.after:,} after; {by}."
    )
    found.facts["compact"] = {
        "model": None if summing.offline else name,
        "turns": done.turns,
        "kept": done.kept,
        "tokens_before": done.before,
        "tokens_after": done.after,
    }


def _choose_kept_turns(draft: Draft) -> int:
    """How many turns are kept word for word if nobody says: two, but never all."""
    session = Session(draft.to_transcript())
    turns = {turn.number for row in session.build_thread().rows if (turn := session.find_turn(row)) is not None}
    return max(0, min(DEFAULT_KEPT_TURNS, len(turns) - 1))


@contextlib.contextmanager
def open_edit_model(name: str | None) -> Iterator[Model | None]:
    """The model of that name, after saying where texts are sent to; None for none."""
    if name is None:
        yield None
        return
    from turnlog.model.anthropic import connect_model
    from turnlog.model.endpoint import Endpoint
    from turnlog.network.addresses import format_public_address, parse_server_address

    endpoint = Endpoint.from_environment()
    print_remark(
        f"Texts of the session are sent to {name} at {format_public_address(parse_server_address(endpoint.url))}."
    )
    yield connect_model(endpoint)
