"""Describes results in sentences, for the terminal and for web pages.

Control characters in text from transcripts are made visible, so no line contains any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from turnlog.api.values import describe_torn_end
from turnlog.edit.illnesses.catalogue import ALTERNATIVES_BY_KIND
from turnlog.edit.strip.strip_tally import STRIP_RULES
from turnlog.render.figures import format_count, format_size
from turnlog.render.terminal import make_visible, pad_to_cells, to_visible_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnlog.api.changes import AppendedLabel
    from turnlog.api.clones import CloneEdits, CloneResult, CompactedTurns, ForkResult, SessionCopy, ShortenedTexts
    from turnlog.api.exports import ExportOptions, ExportResult
    from turnlog.api.redaction import RedactResult
    from turnlog.api.repairs import RepairResult
    from turnlog.api.store_redaction import RedactStoresResult
    from turnlog.api.strip import StripPreview, StripSavings
    from turnlog.edit.strip.strip import RuleSavings

STRIP_DEFINITION = (
    "tokens: of the next request, estimated as in `turnlog context`; bytes: of the file; rows: removed lines"
)
REPAIR_DEFINITION = "before, after: number of places in the session that have the problem"
REDACT_DEFINITION = "times: number of places with a secret; secrets: number of different secrets"
_DRY_RUN_NOTE = "Nothing was written: this was a dry run."
KEPT_STORES = {
    "turnlog trash": "`turnlog delete --empty-trash`",
    "turnlog undo": "`turnlog undo --prune 0`",
}
"""The stores that are not changed in place, and what empties them."""
_MAX_STORE_PLACES = 5
_MAX_LISTED_PLACES = 20
_STRIPPED_NOUNS = {"calls": "call", "results": "result", "copies": "copy", "images": "image", "thinking": "thought"}


# -- new sessions


def describe_clone(result: CloneResult) -> Iterator[str]:
    """Describe the edits and the session that was (or would be) created."""
    yield from _describe_edits(result.edits)
    if result.plan:
        yield from (f"{step}; a dry run does not call a model." for step in result.plan.model_steps)
        files = describe_file_count(result.plan.files)
        yield f"Would create: {to_visible_line(result.plan.title)}  ({format_size(result.plan.bytes)}{files})"
        yield _DRY_RUN_NOTE
    if result.made is not None:
        yield from describe_copy(result.made)


def describe_fork(result: ForkResult) -> Iterator[str]:
    """Describe where the fork continues."""
    yield f"The fork {'continues' if result.made else 'would continue'} {result.point}."
    if result.made is None:
        yield _DRY_RUN_NOTE
    else:
        yield from describe_copy(result.made)


def describe_copy(copy: SessionCopy) -> Iterator[str]:
    """Describe a new session and how to resume it."""
    size = f"{format_size(copy.bytes)}{describe_file_count(copy.files)}"
    yield f"{copy.session_id}  {to_visible_line(copy.title)}  ({size})"
    if copy.refusal is None:
        yield f"Resume it with: {to_visible_line(copy.resume)}"
    else:
        yield to_visible_line(f"Claude Code would not resume it: {copy.refusal}")


def list_copy_remarks(copy: SessionCopy | None) -> Iterator[str]:
    """List what a new session lacks compared with its source."""
    if copy is None:
        return
    if copy.torn_bytes:
        yield describe_torn_end(copy.torn_bytes)
    for path in copy.left_out:
        yield to_visible_line(
            f"{path}: a link, which was not followed; the new session does not have the files behind it."
        )


def describe_file_count(number: int) -> str:
    """Describe how many other files a session has; return an empty string if there are none."""
    return f", with {format_count(number, 'other file')}" if number else ""


def _describe_edits(edits: CloneEdits) -> Iterator[str]:
    if edits.strip:
        yield from describe_savings(edits.strip)
    if edits.for_model:
        counts = ", ".join(f"{number:,} {noun}" for noun, number in edits.for_model.counts.items())
        yield make_visible(f"For {edits.for_model.model}: {counts or 'nothing had to be removed'}.")
    if edits.compress:
        yield make_visible(_describe_shortened_texts(edits.compress))
    if edits.compact:
        yield make_visible(_describe_compacted_turns(edits.compact))
    if edits.portable:
        yield "Portable: one chain of user and assistant entries."


def _describe_shortened_texts(done: ShortenedTexts) -> str:
    texts, turns = format_count(done.texts, "text"), format_count(len(done.turns), "turn")
    if not done.shortened:
        reason = f"{done.kept:,} could not be" if done.kept else "all are already short"
        return f"None of {texts} in {turns} was shortened: {reason}."
    by = "by leaving out sentences" if done.model is None else f"by {done.model}"
    unchanged = f"; {done.kept:,} could not be shortened" if done.kept else ""
    ratio = done.characters_after / max(done.characters_before, 1)
    amount = f"{done.characters_before:,} characters before, {done.characters_after:,} after ({ratio:.0%})"
    return f"Shortened {done.shortened:,} of {texts} in {turns} {by}: {amount}{unchanged}."


def _describe_compacted_turns(done: CompactedTurns) -> str:
    by = "an outline written without a model" if done.model is None else f"a summary by {done.model}"
    return (
        f"Summarised {format_count(done.turns, 'turn')}, kept {done.kept} word for word: about"
        f" {done.tokens_before:,} tokens before, {done.tokens_after:,} after; {by}."
    )


# -- strip


def describe_savings(savings: StripSavings | StripPreview) -> Iterator[str]:
    """Describe the savings by rule and in total."""
    if not savings.rules:
        yield "There is nothing to strip."
        return
    yield f"{'stripped':<38}{'tokens':>9}{'bytes':>11}{'rows':>7}  what"
    for rule in savings.rules:
        what = ", ".join(_describe_counts(rule))
        size = format_size(rule.bytes)
        yield f"{STRIP_RULES[rule.rule]:<38}{rule.tokens:>9,}{size:>11}{rule.rows:>7,}  {what}".rstrip()
    before, after = savings.bytes_before, savings.bytes_after
    less = (before - after) / max(before, 1)
    yield f"File: {format_size(before)} before, {format_size(after)} after ({less:.0%} less)."
    if savings.tokens_before is not None and savings.tokens_after is not None:
        less = (savings.tokens_before - savings.tokens_after) / max(savings.tokens_before, 1)
        tokens = f"{savings.tokens_before:,} tokens before, {savings.tokens_after:,} after ({less:.0%} less)"
        yield f"Next request: about {tokens}."
    yield STRIP_DEFINITION


def _describe_counts(rule: RuleSavings) -> Iterator[str]:
    for key, noun in _STRIPPED_NOUNS.items():
        if number := getattr(rule, key):
            yield format_count(number, noun, key if key == "copies" else "")


# -- repair


def describe_repair(result: RepairResult, only: Sequence[str] = ()) -> Iterator[str]:
    """Describe what was repaired, what was not, and what to do instead."""
    if not result.treatments:
        yield from _explain_no_repair(only)
        return
    yield f"{pad_to_cells('kind', 18)}{'before':>7}{'after':>7}   what was done"
    for item in result.treatments:
        outcome = "not repaired: " if not item.done and item.left else ""
        amounts = f"{pad_to_cells(item.kind, 18)}{item.found:>7,}{item.left:>7,}"
        yield f"{amounts}   {outcome}{to_visible_line(item.words)}"
    yield REPAIR_DEFINITION
    if result.revealed:
        yield f"The recovered entries have other problems: {', '.join(result.revealed)}; repair these too."
    if left := [item.kind for item in result.treatments if item.left]:
        yield f"Not repaired: {', '.join(left)}."
    is_written = result.made is not None or result.change is not None
    if not any(item.done for item in result.treatments) if result.dry_run else not is_written:
        yield "Nothing could be repaired; nothing was written."
    elif result.dry_run:
        yield _DRY_RUN_NOTE
    elif result.change is not None:
        yield f"Repaired in place. `turnlog undo {result.change}` restores the original."
    if result.made is not None:
        yield from describe_copy(result.made)


def _explain_no_repair(only: Sequence[str]) -> Iterator[str]:
    if not only:
        yield "Nothing to repair: the doctor finds no problem. To repair a note, use --only with its kind."
        return
    yield f"Nothing to repair: the session has no {' and no '.join(only)}."
    for kind in only:
        if kind in ALTERNATIVES_BY_KIND:
            yield f"{kind} can't be repaired in a session: {ALTERNATIVES_BY_KIND[kind]}."


# -- secrets


def describe_redaction(result: RedactResult) -> Iterator[str]:
    """Describe which kinds of secrets were found and where, without showing them."""
    if not result.found:
        yield "No secrets found. The rules only cover common formats; check the session yourself before you share it."
        return
    width = max(16, 2 + max(len(item.rule) for item in result.rules))
    yield f"{'rule':<{width}}{'times':>7}{'secrets':>9}"
    for item in result.rules:
        yield make_visible(f"{item.rule:<{width}}{item.times:>7,}{item.secrets:>9,}")
    yield REDACT_DEFINITION
    for place in result.places[:_MAX_LISTED_PLACES]:
        where = place.file or (f"line {place.line}" if place.line else "")
        times = f" ({place.times} times)" if place.times > 1 else ""
        spot = " ".join(filter(None, (where, place.path))) or "lines that can't be read"
        yield make_visible(f"  {place.rule} in {spot}{times}")
    if len(result.places) > _MAX_LISTED_PLACES:
        yield f"  … and {len(result.places) - _MAX_LISTED_PLACES:,} more places (--json lists them all)"
    if result.thinking_dropped:
        blocks = format_count(result.thinking_dropped, "block")
        verb = "Removed" if result.is_written else "A copy leaves out"
        yield f"{verb} {blocks} of thinking with a secret: the API refuses changed thinking."


def describe_store_redaction(result: RedactStoresResult) -> Iterator[str]:
    """Describe how many secrets each store has and what was done, without showing them."""
    names = {store.store: max(5, len(store.store)) for store in result.stores}
    width = 2 + max(names.values(), default=5)
    yield f"{'store':<{width}}{'files':>7}{'secrets':>9}  rules"
    for store in result.stores:
        rules = ", ".join(f"{item.rule} {item.times:,}" for item in store.rules)
        yield make_visible(f"{store.store:<{width}}{store.files:>7,}{store.found:>9,}  {rules}".rstrip())
    for store in result.stores:
        for place in store.places[:_MAX_STORE_PLACES]:
            spot = " ".join(filter(None, (place.file or (f"line {place.line}" if place.line else ""), place.path)))
            yield make_visible(f"  {place.rule} in {store.store}{', ' if spot else ''}{spot}")
        if len(store.places) > _MAX_STORE_PLACES:
            yield f"  … and {len(store.places) - _MAX_STORE_PLACES:,} more places (--json lists them all)"
        for problem in store.problems:
            yield make_visible(f"Not searched: {problem}")
    kept = sorted(store.store for store in result.stores if store.store in KEPT_STORES and store.found)
    if result.output is not None:
        yield make_visible(f"Wrote copies without the secrets to {result.output}.")
    elif result.change is not None:
        yield make_visible(
            f"Replaced the secrets in the stores ({result.change}). `turnlog undo` restores the originals,"
        )
        yield "which turnlog keeps until `turnlog undo --prune 0`."
    elif not result.found:
        yield "No secrets found. The rules only cover common formats."
    for name in kept:
        yield f"{name} keeps originals: {KEPT_STORES[name]} removes them for good."


# -- labels


def describe_label(label: AppendedLabel, *, is_tag: bool = False) -> str:
    """Describe the new title or tag of a session."""
    if not is_tag:
        effect = f"is now titled {label.value!r}"
    else:
        effect = f"is now tagged #{label.value}" if label.value else "no longer has a tag"
    return to_visible_line(f"{label.session_id} {effect}")


def list_label_remarks(label: AppendedLabel) -> Iterator[str]:
    """Warn if the session is open in Claude Code."""
    if label.open_elsewhere:
        warning = "It may write the old value again; in that case, repeat this command."
        yield f"Note: {label.open_elsewhere}. {warning}"


# -- exports


def describe_export(done: ExportResult, options: ExportOptions, *, is_many: bool = False) -> Iterator[str]:
    """Describe what was written and how many secrets were replaced."""
    if done.output is not None:
        many = f"{format_count(len(done.sessions), 'session')}, " if is_many else ""
        yield to_visible_line(f"Wrote {done.output} ({many}{format_size(done.bytes)})")
        pages = done.output.with_name(f"{done.output.stem}-pages")
        if done.format == "html" and not is_many and pages.is_dir():
            yield to_visible_line(f"More pages are in {pages}; keep them together (--one-file writes a single page)")
    if done.redaction is not None:
        rules = ", ".join(f"{item.rule} {item.times:,}" for item in done.redaction.rules)
        times = f"{format_count(done.redaction.found, 'time')} ({rules})" if rules else "never"
        warning = "The rules only cover common formats; check the export yourself"
        yield to_visible_line(f"Secrets replaced with placeholders: {times}. {warning}")
        if options.has_images:
            yield "Images and documents were not searched; --no-images leaves them out"
