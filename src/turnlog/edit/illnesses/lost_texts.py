"""The illness of answers whose text the client did not write."""

from __future__ import annotations

from turnlog.edit.illnesses.illness import Illness, Symptoms
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.session.lost_texts import count_lost_tokens, describe_lost_text

_ADVICE = "nothing can restore the text: it was never written to the file"


def detect_lost_texts(view: ResumeView, symptoms: Symptoms) -> None:
    """Find answers whose text is missing."""
    for message in view.session.messages:
        if (tokens := count_lost_tokens(message)) is not None:
            symptoms.add_items("lost-text", "warning", describe_lost_text(tokens), message.lines[:1])


LOST_TEXT = Illness(
    "lost-text",
    "You have read an answer that is not in the session, and after a resume the model does not know about it.",
    "the client wrote the thinking around a text, but not the text (#85443, #74260, #84153)",
    remedy=_ADVICE,
    alternative=_ADVICE,
)
