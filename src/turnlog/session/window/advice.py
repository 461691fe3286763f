"""What to do about a window that fills: go on, clone the session stripped, or compact it.

The rules are documented in docs/context.md. `limit` is where the client compacts by itself, else the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from turnlog.session.window.presets import Preset, PresetSaving
from turnlog.session.window.window_fill import WindowFill

AdviceAction = Literal["go on", "clone stripped", "compact"]

MAX_ROOMY_SHARE = 0.6
"""Below this share of the limit there is nothing to do, and a stripped clone has room to work in."""
MIN_SAVED_SHARE = 0.1
"""A clone that frees less than this share of the limit is not worth its full write of the prompt cache."""
FULL_SHARE = 0.85
"""From this share on, where no preset makes room, compact before the client does so in the middle of the work."""


class Advice(NamedTuple):
    """A recommendation, and its reason in one sentence."""

    action: AdviceAction | None
    preset: Preset | None
    reason: str


def choose_advice(found: WindowFill, savings: Sequence[PresetSaving]) -> Advice:
    """Recommend the mildest step that leaves room in the window."""
    limit = found.threshold or found.window
    if found.is_agent:
        return Advice(None, None, "A sub-agent's conversation ends with its task; no client resumes it.")
    if not limit:
        return Advice("go on", None, f"The size of the window of {found.model or 'its model'} is not known.")
    share = found.estimate / limit
    if share < MAX_ROOMY_SHARE:
        return Advice("go on", None, f"The next request fills {share:.0%} of what fits before the client compacts.")
    fitting = (
        item
        for item in savings
        if item.after <= MAX_ROOMY_SHARE * limit and item.saved_tokens >= MIN_SAVED_SHARE * limit
    )
    if best := next(fitting, None):
        after = best.after / limit
        return Advice(
            "clone stripped",
            best.preset,
            f"{best.preset.name} is the mildest preset that fits: it brings the next request from {share:.0%} to"
            f" {after:.0%} of the limit.",
        )
    least = min((saving.after for saving in savings), default=found.estimate) / limit
    if share >= FULL_SHARE:
        reason = f"{share:.0%} of the limit is used, and no preset gets below {least:.0%}."
        return Advice("compact", None, reason)
    return Advice("go on", None, f"{share:.0%} of the limit is used, and no preset gets below {least:.0%}.")
