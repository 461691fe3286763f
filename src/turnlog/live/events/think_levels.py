"""How much thinking a prompt asks for, and how much a thought took."""

from __future__ import annotations

import re

from turnlog.live.events.event import ThinkLevel

LEVEL_PHRASES: dict[ThinkLevel, tuple[str, ...]] = {
    "ultra": ("ultrathink",),
    "harder": (
        "think harder",
        "think really hard",
        "think very hard",
        "think super hard",
        "think intensely",
        "think longer",
        "really think",
    ),
    "hard": (
        "think hard",
        "think deeply",
        "think carefully",
        "think a lot",
        "think more",
        "deep think",
        "deeply think",
        "carefully think",
        "megathink",
    ),
    "think": ("think",),
}
"""The phrases that ask for each level, the highest first."""
LEVEL_TOKENS: dict[ThinkLevel, int] = {"ultra": 10_000, "harder": 4_000, "hard": 1_000}
"""How many tokens of thinking make each level, the highest first."""
CHARS_PER_TOKEN = 4
"""Used for thoughts whose tokens the client did not record."""

_MAX_SEARCHED_CHARS = 20_000
"""How much is searched at each end of a prompt: a pasted file in the middle asks for nothing."""
_LEVELS: tuple[ThinkLevel, ...] = ("none", "think", "hard", "harder", "ultra")
_NO_REQUEST = "".join(
    rf"(?<!\b{words} )"
    for words in "i|we|you|they|who|people|i really|you really|i also|not|don't|don\u2019t".split("|")
)
"""Words before `think` that make it a statement or a refusal: `I think`, `what do you think`, `don't think hard`."""


def _build_pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    words = "|".join(phrase.replace(" ", r"\s+") for phrase in phrases)
    return re.compile(rf"(?<![\w./-]){_NO_REQUEST}(?:{words})(?![\w/-]|\.\w)", re.IGNORECASE)


_PATTERNS = {level: _build_pattern(phrases) for level, phrases in LEVEL_PHRASES.items()}


def find_requested_level(text: str) -> ThinkLevel:
    """Return the level of thinking that the words of a prompt ask for."""
    if len(text) > 2 * _MAX_SEARCHED_CHARS:
        text = f"{text[:_MAX_SEARCHED_CHARS]}\n{text[-_MAX_SEARCHED_CHARS:]}"
    lowered = text.lower()
    if "think" not in lowered:
        return "none"
    return next((level for level, pattern in _PATTERNS.items() if pattern.search(lowered)), "none")


def choose_level(tokens: int, requested: ThinkLevel) -> ThinkLevel:
    """Return the level of a thought: by its length or by what the prompt asked for, whichever is higher."""
    reached: ThinkLevel = next((level for level, least in LEVEL_TOKENS.items() if tokens >= least), "think")
    return max(reached, requested, key=_LEVELS.index)
