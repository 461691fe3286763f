"""What is wished to be stripped from a session, as data; presets are such wishes with a name."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

MIN_FADED_CHARS = 100
"""However old it is, a text that is only shortened keeps this much."""
_FORMER_TOOL_NAMES = {"Agent": ("Task",)}
"""What tools were called before: calls in a file have the name of their time, and are sent with the new one."""


@dataclass(frozen=True, slots=True)
class StripRule:
    """What becomes of calls and their results by their age (`fates.Ages`)."""

    whole: int = 0
    """Those of the last so many such turns stay as they are."""
    longest: int | None = None
    """Older ones are shortened to so many characters; None: they are not."""
    gone: int | None = None
    """Those before the last so many such turns go, call and result both; None: none do."""
    fade_from: int | None = None
    """From this age on a shortened text keeps half as much each time its age doubles; None: always `longest`."""

    def get_max_chars(self, age: int) -> int | None:
        """How many characters a shortened text of this age keeps; None: it is not shortened."""
        if self.longest is None or self.fade_from is None or age <= self.fade_from:
            return self.longest
        return max(min(self.longest, MIN_FADED_CHARS), self.longest * self.fade_from // age)

    @property
    def is_idle(self) -> bool:
        """Whether it asks for nothing."""
        return self.longest is None and self.gone is None


@dataclass(frozen=True, slots=True)
class StripOptions:
    """What is stripped from a session. As it stands: nothing."""

    tools: StripRule = StripRule()
    """What becomes of the calls of all tools that no other rule names."""
    named: tuple[tuple[str, StripRule], ...] = ()
    """Rules for some tools, by name or pattern (`mcp__*`); the last one that fits counts."""
    protected: frozenset[str] = frozenset()
    """Tools, by name or pattern, whose calls and results are never touched."""
    duplicates: bool = False
    """Whether a result goes when a later call of the same tool with the same input has one."""
    stale_reads: bool = False
    """Whether a file that was read goes when it was written, or read as a whole, later."""
    thinking: int | None = None
    """The last so many turns keep their thinking; None: all do."""
    images: int | None = None
    """So many of the newest images stay; None: all do."""
    copies: int | None = None
    """The client's own copies of results (`toolUseResult`, never sent) stay in the last so many turns with calls;
    None: they are treated as the results are."""
    noise: bool = False
    """Whether that goes which no request and no resumption needs (`edit.strip.fates`)."""
    preset: str = ""
    """The name of the preset that they began with."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is asked for."""
        rules = [self.tools, *(rule for _, rule in self.named)]
        kept = (self.thinking, self.images, self.copies)
        asked = self.duplicates or self.stale_reads or self.noise or any(count is not None for count in kept)
        return not asked and all(rule.is_idle for rule in rules)

    def find_rule(self, tool: str) -> StripRule | None:
        """The rule for a tool; None for a protected one."""
        names = (tool, *_FORMER_TOOL_NAMES.get(tool, ()))
        if any(_fits_pattern(names, pattern) for pattern in self.protected):
            return None
        return next((rule for pattern, rule in reversed(self.named) if _fits_pattern(names, pattern)), self.tools)


def _fits_pattern(names: tuple[str, ...], pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)
