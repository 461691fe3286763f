"""Options for stripping a session; a preset is a named set of options."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

MIN_FADED_CHARS = 100
"""The minimum length in characters of text that gets shorter with age."""
_FORMER_TOOL_NAMES = {"Agent": ("Task",)}
"""Former names of tools: calls in a file have the old name but are sent with the new one."""


@dataclass(frozen=True, slots=True)
class StripRule:
    """How calls and their results are treated, by age (`fates.PieceAges`)."""

    whole: int = 0
    """The number of latest turns with calls whose calls are not changed."""
    longest: int | None = None
    """The maximum length of older text in characters; None means that it is not shortened."""
    gone: int | None = None
    """The age, in turns with calls, from which calls and results are removed; None means never."""
    fade_from: int | None = None
    """The age from which text is halved each time its age doubles; None applies `longest` at any age."""

    def get_max_chars(self, age: int) -> int | None:
        """Return the maximum length of text of this age in characters, or None if it is not shortened."""
        if self.longest is None or self.fade_from is None or age <= self.fade_from:
            return self.longest
        return max(min(self.longest, MIN_FADED_CHARS), self.longest * self.fade_from // age)

    @property
    def is_idle(self) -> bool:
        """Whether the rule changes nothing."""
        return self.longest is None and self.gone is None


@dataclass(frozen=True, slots=True)
class StripOptions:
    """Options for stripping a session. The defaults strip nothing."""

    tools: StripRule = StripRule()
    """The rule for all tools without a rule of their own."""
    named: tuple[tuple[str, StripRule], ...] = ()
    """Rules for some tools, by name or pattern (`mcp__*`); the last match applies."""
    protected: frozenset[str] = frozenset()
    """Tools, by name or pattern, whose calls and results are never changed."""
    duplicates: bool = False
    """Whether to remove a result if a later call to the same tool with the same input has one."""
    stale_reads: bool = False
    """Whether to remove the content of a file that was later written or read completely."""
    thinking: int | None = None
    """The number of latest turns that keep their thinking; None means all."""
    images: int | None = None
    """The number of newest images to keep; None means all."""
    copies: int | None = None
    """The number of latest turns with calls that keep the client's own copies of results (`toolUseResult`, never sent);
    None means that the copies are treated like the results.
    """
    noise: bool = False
    """Whether to remove what neither requests nor clients need (`edit.strip.fates`)."""
    preset: str = ""
    """The name of the preset that the options are based on."""

    @property
    def is_idle(self) -> bool:
        """Whether the options change nothing."""
        rules = [self.tools, *(rule for _, rule in self.named)]
        limits = (self.thinking, self.images, self.copies)
        strips = self.duplicates or self.stale_reads or self.noise or any(count is not None for count in limits)
        return not strips and all(rule.is_idle for rule in rules)

    def find_rule(self, tool: str) -> StripRule | None:
        """Return the rule for a tool, or None if the tool is protected."""
        names = (tool, *_FORMER_TOOL_NAMES.get(tool, ()))
        if any(_fits_pattern(names, pattern) for pattern in self.protected):
            return None
        return next((rule for pattern, rule in reversed(self.named) if _fits_pattern(names, pattern)), self.tools)


def _fits_pattern(names: tuple[str, ...], pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)
