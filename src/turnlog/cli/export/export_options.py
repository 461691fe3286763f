"""The words of `turnlog export`: what they mean together, and which don't go together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from turnlog.errors import UsageError
from turnlog.export.formats import EXPORT_FORMATS, find_file_ending
from turnlog.export.material import ExportChoice
from turnlog.plugin_lookup import EXPORTER_GROUP, list_plugin_names
from turnlog.redact.rules import SecretRules
from turnlog.render.render_options import RenderOptions

_TURN_RANGE = re.compile(r"(\d{0,9})\.\.(\d{0,9})|(\d{1,9})")
_CONVERSATION_FORMATS = frozenset({"messages", "openai"})


class ExportOptions(NamedTuple):
    """The words of the call."""

    form: str | None = None
    output: str | None = None
    turns: str | None = None
    branch: str | None = None
    no_tools: bool = False
    no_thinking: bool = False
    no_agents: bool = False
    images: bool | None = None
    meta: bool = False
    details: bool = False
    redact: bool | None = None
    share: bool = False
    project: str | None = None
    everything: bool = False
    one_file: bool = False
    browser: str | None = None
    force: bool = False
    as_json: bool = False

    @property
    def is_many(self) -> bool:
        """Whether more than one session is meant."""
        return self.everything or self.project is not None

    @property
    def is_piped(self) -> bool:
        """Whether the export goes to standard output."""
        return self.output == "-"

    @property
    def format(self) -> str:
        """The format that was named, or that a file's name ends with."""
        if self.form is not None:
            return self.form
        ending = Path(self.output or "").suffix.lower().removeprefix(".")
        if ending in EXPORT_FORMATS or (ending and ending in list_plugin_names(EXPORTER_GROUP)):
            return ending
        return "html"

    @property
    def file_ending(self) -> str:
        """How files of the format end."""
        return find_file_ending(self.format)

    @property
    def is_redacted(self) -> bool:
        """Whether secrets are replaced."""
        return self.share if self.redact is None else self.redact

    def build_rules(self) -> SecretRules | None:
        """What is replaced; None for nothing."""
        return SecretRules(emails=self.share, homes=self.share) if self.is_redacted else None

    def build_choice(self) -> ExportChoice:
        """What of each session is wanted."""
        first, last = _parse_turn_range(self.turns)
        wishes = RenderOptions(
            tools=not self.no_tools,
            thinking=not self.no_thinking,
            meta=self.meta,
            pictures=not self.share if self.images is None else self.images,
            details=self.details,
        )
        return ExportChoice(
            wishes,
            first,
            last,
            all_branches=self.branch == "all",
            agents=not self.no_agents,
            is_redacted=self.is_redacted,
        )


def check_export_options(name: str | None, wish: ExportOptions) -> None:
    """Refuse words that don't go together."""
    form = wish.format
    if wish.is_many == (name is not None):
        raise UsageError("give a SESSION, or --project P, or --all" + (", and not both" if name else ""))
    if wish.is_many and (wish.turns or wish.branch):
        raise UsageError("--turns and --branch belong to one SESSION")
    if wish.is_many and form == "pdf":
        raise UsageError("--format pdf is for one SESSION; export html and print that")
    if wish.is_piped and (wish.is_many or form == "parquet"):
        raise UsageError("--output - is for one SESSION in a format of one file; give the name of a folder")
    if wish.is_piped and wish.as_json:
        raise UsageError("--json tells what was written and can't go where the export goes; leave out --output -")
    if wish.share and wish.meta:
        raise UsageError("--share leaves out the client's book-keeping; --meta does not go with it")
    if form in _CONVERSATION_FORMATS and (wish.turns or wish.branch == "all"):
        raise UsageError(f"--format {form} is one conversation from its beginning on: choose it by --branch K")
    if form == "parquet" and (wish.turns or wish.branch):
        raise UsageError("--format parquet holds whole sessions; leave out --turns and --branch")


def _parse_turn_range(words: str | None) -> tuple[int | None, int | None]:
    """The first and the last turn that a number or a range names."""
    if words is None:
        return None, None
    found = _TURN_RANGE.fullmatch(words.strip())
    if found is None:
        raise UsageError(f"--turns {words}: give a number, as in 3, or a range, as in 2..5")
    first, last = found[3] or found[1], found[3] or found[2]
    return int(first or 1), int(last) if last else None
