"""What fills the context window of a session, and what could be stripped from it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from turnlog.api.config import Config, load_config
from turnlog.api.lookup import Notify, find_leaf, open_session
from turnlog.edit.strip.presets import PresetSaving, choose_advice, estimate_savings
from turnlog.errors import Refused, UsageError
from turnlog.render.call_titles import build_call_title, to_title_line
from turnlog.render.terminal import make_visible
from turnlog.session.session import Session
from turnlog.session.window.pieces import ContextPiece, read_piece_text
from turnlog.session.window.window_fill import FillPart, HeavyPiece, TurnFill, WindowFill, compute_window_fill

_MAX_GIST_CHARS = 200


class MeasuredContext(Struct, frozen=True):
    """The context sizes that answers report for their requests."""

    tokens: int | None
    """The number of tokens in the last request."""
    requests: int


class EstimatedContext(Struct, frozen=True):
    """What fills the window, estimated from the text and fitted to the measurements."""

    tokens: int
    """The number of tokens in the next request."""
    tokens_per_byte: float
    steps: int
    """The number of steps between requests that the rate is based on; 0 for the usual rate."""
    not_in_file: int
    """Tokens in the first request that did not come from the file, such as the system prompt and the tools."""
    not_in_file_later: int
    parts: list[FillPart]


class HeavyBlock(Struct, frozen=True):
    """One of the heaviest blocks of the conversation."""

    group: str
    kind: str
    turn: int | None
    entry: str | None
    call_id: str | None
    tokens: int
    share: float | None
    what: str
    """A description on one line."""


class PresetEstimate(Struct, frozen=True):
    """What a strip preset would save."""

    name: str
    about: str
    before: int
    after: int
    saved: int
    bytes: int


class ContextAdvice(Struct, frozen=True):
    """A recommendation for reducing what fills the context window."""

    action: str | None
    preset: str | None
    reason: str


class ContextReport(Struct, frozen=True):
    """What fills the context window of a session."""

    session_id: str | None
    path: str | None
    title: str | None
    model: str | None
    window: int | None
    threshold: int | None
    """The number of tokens at which Claude Code compacts automatically."""
    compacted: bool
    measured: MeasuredContext
    estimated: EstimatedContext
    turns: list[TurnFill]
    heaviest: list[HeavyBlock]
    presets: list[PresetEstimate]
    advice: ContextAdvice


def describe_context(
    session: str | Path,
    *,
    branch: str | None = None,
    turn: int | None = None,
    config: Config | None = None,
    notify: Notify | None = None,
) -> ContextReport:
    """Describe what fills the context window of the conversation that Claude Code would resume now.

    `branch` selects a different branch by its number or its last entry; `turn` limits the report to what one turn
    added.
    """
    with open_session(session, config or load_config(), notify) as found:
        try:
            fill = compute_window_fill(found, find_leaf(found, branch) if branch is not None else None)
        except Refused as reason:
            raise Refused(f"{found.path}: {reason}") from None
        return _build_report(found, fill, turn)


def _build_report(session: Session, fill: WindowFill, turn: int | None) -> ContextReport:
    turns = _select_turns(fill.list_turn_fills(), turn)
    savings = estimate_savings(fill, session.file.entries)
    advice = choose_advice(fill, savings)
    return ContextReport(
        session.session_id,
        str(session.path) if session.path else None,
        session.title,
        fill.model,
        fill.window,
        fill.threshold,
        fill.compacted,
        MeasuredContext(fill.measured_tokens, len(fill.requests)),
        EstimatedContext(
            fill.estimate, round(fill.rate, 4), fill.steps, fill.unseen, fill.later, list(fill.list_parts())
        ),
        turns,
        [_to_heavy_block(session, item, fill.estimate) for item in fill.list_heaviest(turn)],
        [_to_preset_estimate(item) for item in savings],
        ContextAdvice(advice.action, advice.preset.name if advice.preset else None, advice.reason),
    )


def _select_turns(turns: list[TurnFill], number: int | None) -> list[TurnFill]:
    if number is None:
        return turns
    chosen = [item for item in turns if item.number == number]
    if not chosen:
        valid = f"turns {turns[0].number} to {turns[-1].number}" if turns else "no turns"
        raise UsageError(f"--turn {number}: this conversation has {valid}")
    return chosen


def _to_heavy_block(session: Session, item: HeavyPiece, whole: int) -> HeavyBlock:
    piece = item.piece
    return HeavyBlock(
        piece.group,
        piece.kind,
        piece.turn or None,
        piece.row.uuid,
        piece.call or None,
        item.tokens,
        round(item.tokens / whole, 4) if whole else None,
        _describe_piece(session, piece),
    )


def _describe_piece(session: Session, piece: ContextPiece) -> str:
    call = next((call for call in session.calls if call.id == piece.call), None) if piece.call else None
    if call is not None:
        return make_visible(build_call_title(call.name, session.read_detail(call).input, call.line.cwd))
    text = read_piece_text(session, piece)
    return make_visible(to_title_line(text))[:_MAX_GIST_CHARS] if text.strip() else ""


def _to_preset_estimate(item: PresetSaving) -> PresetEstimate:
    return PresetEstimate(item.preset.name, item.preset.about, item.before, item.after, item.saved_tokens, item.bytes)
