"""The advisor: another model that the API asks in the middle of an answer."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.render.card import Plain, Text
from turnlog.render.figures import dollars
from turnlog.render.tools.anything import results
from turnlog.render.tools.work import Parts, Sections, Work
from turnlog.render.values import fields, line, text
from turnlog.session.messages import Message
from turnlog.session.usage.usage import context_of, separate_requests

_SEALED = "The advice is encrypted: only the API can read it."


def advisor(work: Work) -> Parts:
    """What the advisor said, who it is and what it cost."""
    return Parts(work.name, (), _advice(work), work.request_figures)


def _advice(work: Work) -> Sections:
    if work.outcome == "unanswered":
        return ()
    said = fields(work.detail.result)
    if code := text(said.get("error_code")):
        return (Plain(code, "", "error"),)
    if advice := text(said.get("text")):
        return (Text(advice),)
    return (Plain(_SEALED, "", "note"),) if "encrypted_content" in said else results(work)


def advisor_figures(message: Message) -> Iterator[tuple[str, ...]]:
    """Model, tokens and cost of the advisor's answers, in the order in which it was asked."""
    for request in separate_requests(message):
        if request.kind == "advisor_message":
            used, usd = request.tokens, request.cost(message.started).usd
            figures = (f"{context_of(used):,} in", f"{used.output:,} out", dollars(usd))
            yield line(request.model or "", 40), *figures
