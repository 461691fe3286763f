"""The advisor: another model that the API asks in the middle of an answer."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.render.card import PlainSection, TextSection
from turnlog.render.figures import format_cost_usd
from turnlog.render.tools.card_parts import CardParts, CardSource, SectionList
from turnlog.render.tools.generic_tools import show_result
from turnlog.render.values import pick_text, to_dict, to_short_line
from turnlog.session.message_usage import list_separate_requests, sum_context_tokens
from turnlog.session.messages import Message

_SEALED_TEXT = "The advice is encrypted: only the API can read it."


def build_advisor_parts(work: CardSource) -> CardParts:
    """What the advisor said, who it is and what it cost."""
    return CardParts((), _show_advice(work), work.request_figures)


def _show_advice(work: CardSource) -> SectionList:
    if work.outcome == "unanswered":
        return ()
    said = to_dict(work.detail.result)
    if code := pick_text(said.get("error_code")):
        return (PlainSection(code, "", "error"),)
    if advice := pick_text(said.get("text")):
        return (TextSection(advice),)
    return (PlainSection(_SEALED_TEXT, "", "note"),) if "encrypted_content" in said else show_result(work)


def iter_advisor_figures(message: Message) -> Iterator[tuple[str, ...]]:
    """Model, tokens and cost of the advisor's answers, in the order in which it was asked."""
    for request in list_separate_requests(message):
        if request.kind == "advisor_message":
            used, usd = request.tokens, request.compute_cost(message.started_at).usd
            figures = (f"{sum_context_tokens(used):,} in", f"{used.output:,} out", format_cost_usd(usd))
            yield to_short_line(request.model or "", 40), *figures
