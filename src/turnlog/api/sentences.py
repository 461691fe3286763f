"""What was done to a session, in sentences, for the terminal and for pages.

All text of transcripts in these lines is made visible: a line holds no control character.
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
    from turnlog.api.strip import StripPreview, StripSavings
    from turnlog.edit.strip.strip import RuleSavings

STRIP_DEFINITION = (
    "tokens: of the next request, estimated as in `turnlog context`; bytes: of the file; rows: lines that go"
)
REPAIR_DEFINITION = "before, after: in how many places the session has it"
REDACT_DEFINITION = "times: how often a secret stands there; secrets: how many different ones"
_DRY_RUN_NOTE = "Nothing was written: this was a dry run."
_MAX_LISTED_PLACES = 20
_STRIPPED_NOUNS = {"calls": "call", "results": "result", "copies": "copy", "images": "image", "thinking": "thought"}


# -- new sessions


def describe_clone(result: CloneResult) -> Iterator[str]:
    """Say what was done on the way, and what was made or would be."""
    yield from _describe_edits(result.edits)
    if result.plan:
        yield from (f"{step}; a dry run asks no model." for step in result.plan.model_steps)
        files = describe_file_count(result.plan.files)
        yield f"Would make: {to_visible_line(result.plan.title)}  ({format_size(result.plan.bytes)}{files})"
        yield _DRY_RUN_NOTE
    if result.made is not None:
        yield from describe_copy(result.made)


def describe_fork(result: ForkResult) -> Iterator[str]:
    """Say where the new session goes on, or would."""
    yield f"It {'goes' if result.made else 'would go'} on {result.point}."
    if result.made is None:
        yield _DRY_RUN_NOTE
    else:
        yield from describe_copy(result.made)


def describe_copy(made: SessionCopy) -> Iterator[str]:
    """Say what a new session is called, and how to go on with it."""
    size = f"{format_size(made.bytes)}{describe_file_count(made.files)}"
    yield f"{made.session_id}  {to_visible_line(made.title)}  ({size})"
    yield f"Resume it with: claude --resume {made.session_id}"


def list_copy_remarks(made: SessionCopy | None) -> Iterator[str]:
    """Say what of its source a new session lacks."""
    if made is None:
        return
    if made.torn_bytes:
        yield describe_torn_end(made.torn_bytes)
    for path in made.left_out:
        yield to_visible_line(f"{path}: is a link and was not followed; what it leads to is not in the new session.")


def describe_file_count(number: int) -> str:
    """Say how many files go along with a transcript; nothing for none."""
    belong = "belongs" if number == 1 else "belong"
    return f", with {format_count(number, 'file')} that {belong} to it" if number else ""


def _describe_edits(edits: CloneEdits) -> Iterator[str]:
    if edits.strip:
        yield from describe_savings(edits.strip)
    if edits.for_model:
        counts = ", ".join(f"{number:,} {words}" for words, number in edits.for_model.counts.items())
        yield make_visible(f"For {edits.for_model.model}: {counts or 'nothing had to go'}.")
    if edits.compress:
        yield make_visible(_describe_shortened_texts(edits.compress))
    if edits.compact:
        yield make_visible(_describe_compacted_turns(edits.compact))
    if edits.portable:
        yield "In the portable form: one line of user and assistant entries."


def _describe_shortened_texts(done: ShortenedTexts) -> str:
    texts, turns = format_count(done.texts, "text"), format_count(len(done.turns), "turn")
    if not done.shortened:
        why = f"{done.kept:,} could not be" if done.kept else "all are short already"
        return f"None of {texts} of {turns} was made shorter: {why}."
    by = "without a model: sentences were left out" if done.model is None else f"by {done.model}"
    rest = "it was" if done.kept == 1 else "they were"
    stayed = f"; {done.kept:,} could not be, and stayed as {rest}" if done.kept else ""
    ratio = done.characters_after / max(done.characters_before, 1)
    amount = f"{done.characters_before:,} characters before, {done.characters_after:,} after ({ratio:.0%})"
    return f"{done.shortened:,} of {texts} of {turns} made shorter, {by}: {amount}{stayed}."


def _describe_compacted_turns(done: CompactedTurns) -> str:
    by = "an outline made without a model" if done.model is None else f"a summary by {done.model}"
    return (
        f"{format_count(done.turns, 'turn')} summed up, {done.kept} kept word for word: about"
        f" {done.tokens_before:,} tokens before, {done.tokens_after:,} after; {by}."
    )


# -- strip


def describe_savings(savings: StripSavings | StripPreview) -> Iterator[str]:
    """Say what was stripped, by rule and in all."""
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
    """Say what was repaired, what was not, and what to do instead."""
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
        yield f"What is shown again has illnesses of its own: {', '.join(result.revealed)}; repair these too."
    if left := [item.kind for item in result.treatments if item.left]:
        yield f"{format_count(len(left), 'kind')} not cured: {', '.join(left)}."
    is_written = result.made is not None or result.change is not None
    if not any(item.done for item in result.treatments) if result.dry_run else not is_written:
        yield "Nothing could be repaired, and nothing was written."
    elif result.dry_run:
        yield _DRY_RUN_NOTE
    elif result.change is not None:
        yield f"Written in place. `turnlog undo {result.change}` brings the original back."
    if result.made is not None:
        yield from describe_copy(result.made)


def _explain_no_repair(only: Sequence[str]) -> Iterator[str]:
    if not only:
        yield "Nothing to repair: the doctor finds no illness; what it only notes is repaired when --only names it."
        return
    yield f"Nothing to repair: it has no {', no '.join(only)}."
    for kind in only:
        if kind in ALTERNATIVES_BY_KIND:
            yield f"{kind} is not repaired in a session: {ALTERNATIVES_BY_KIND[kind]}."


# -- secrets


def describe_redaction(result: RedactResult) -> Iterator[str]:
    """Say which secrets there are and where; never what they are."""
    if not result.found:
        yield "No secrets found. Rules know the forms of well-known secrets only; look yourself before you share."
        return
    width = max(16, 2 + max(len(item.rule) for item in result.rules))
    yield f"{'rule':<{width}}{'times':>7}{'secrets':>9}"
    for item in result.rules:
        yield make_visible(f"{item.rule:<{width}}{item.times:>7,}{item.secrets:>9,}")
    yield REDACT_DEFINITION
    for place in result.places[:_MAX_LISTED_PLACES]:
        where = place.file or (f"line {place.line}" if place.line else "")
        times = f" ({place.times} times)" if place.times > 1 else ""
        yield make_visible(f"  {place.rule} in {' '.join(filter(None, (where, place.path)))}{times}")
    if len(result.places) > _MAX_LISTED_PLACES:
        yield f"  … and {len(result.places) - _MAX_LISTED_PLACES:,} more places (--json lists them all)"
    if result.thinking_dropped:
        blocks = format_count(result.thinking_dropped, "block")
        goes = "went" if result.is_written else "would go"
        yield f"{blocks} of thinking with a secret {goes} as a whole: a changed one would be refused."


# -- labels


def describe_label(label: AppendedLabel, *, is_tag: bool = False) -> str:
    """Say what a session is called or tagged now."""
    if not is_tag:
        words = f"is now called {label.value!r}"
    else:
        words = f"is now tagged #{label.value}" if label.value else "has no tag any more"
    return to_visible_line(f"{label.session_id} {words}")


def list_label_remarks(label: AppendedLabel) -> Iterator[str]:
    """Warn of a client that has the session open."""
    if label.open_elsewhere:
        again = "When that goes on, it may bring back what it remembers; then do this again."
        yield f"Note: {label.open_elsewhere}. {again}"


# -- exports


def describe_export(done: ExportResult, options: ExportOptions, *, is_many: bool = False) -> Iterator[str]:
    """Say what was written, and which secrets were replaced."""
    if done.output is not None:
        many = f"{format_count(len(done.sessions), 'session')}, " if is_many else ""
        yield to_visible_line(f"Written to {done.output} ({many}{format_size(done.bytes)})")
        pages = done.output.with_name(f"{done.output.stem}-pages")
        if done.format == "html" and not is_many and pages.is_dir():
            long = f"It is long: its other pages stand in {pages}; the two belong together (--one-file writes one)"
            yield to_visible_line(long)
    if done.redaction is not None:
        rules = ", ".join(f"{item.rule} {item.times:,}" for item in done.redaction.rules)
        times = f"{format_count(done.redaction.found, 'time')} ({rules})" if rules else "never"
        known = "Rules know the forms of well-known secrets only; look yourself"
        yield to_visible_line(f"Secrets replaced by marks: {times}. {known}")
        if options.has_images:
            yield "Images and documents were not looked into; --no-images leaves them out"
