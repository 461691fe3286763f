"""Finds secrets in every store that holds transcripts, and writes copies without them or removes them in place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from turnlog.api.changes import open_undo_store
from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.lookup import list_config_folders
from turnlog.api.values import RuleFindings, list_rule_findings
from turnlog.edit.store_redaction.store_redaction import StoreFinding, StoreRedaction
from turnlog.errors import UsageError
from turnlog.redact.redaction_report import SecretPlace
from turnlog.redact.redactor import Redactor
from turnlog.redact.rules import SecretRules
from turnlog.redact.user_patterns import parse_user_patterns

if TYPE_CHECKING:
    from turnlog.api.index import Progress


class StoreSecrets(Struct, frozen=True):
    """The secrets in one store."""

    store: str
    """Its name: a folder of the config folder, or a store of turnlog's own."""
    root: Path
    files: int
    found: int
    """The number of places with a secret."""
    rules: tuple[RuleFindings, ...]
    places: tuple[SecretPlace, ...]
    problems: tuple[str, ...]
    """Files that could not be read."""


class RedactStoresResult(Struct, frozen=True):
    """The secrets in all stores, and what was done about them."""

    found: int
    stores: tuple[StoreSecrets, ...]
    output: Path | None
    """The folder with copies of the stores."""
    change: str | None
    """The change that `undo` reverses; None if nothing was changed in place."""

    @property
    def is_written(self) -> bool:
        """True if copies were written or the stores were changed."""
        return self.output is not None or self.change is not None


def redact_stores(
    *,
    output: str | Path | None = None,
    in_place: bool = False,
    emails: bool = False,
    homes: bool = False,
    patterns: Sequence[str] = (),
    without: Sequence[str] = (),
    force: bool = False,
    config: Config | None = None,
    progress: Progress | None = None,
) -> RedactStoresResult:
    """Find secrets in all stores that hold transcripts, and write copies without them or remove them in place.

    `output` is a new folder for the copies. With `in_place`, the files are changed, which `undo` reverses; it is
    refused while a process has one of them open, and `force` overrides uncertain signs of that.
    """
    if in_place and output is not None:
        raise UsageError("use either in_place, which changes the stores, or output, which writes copies")
    rules = SecretRules(emails=emails, homes=homes, patterns=parse_user_patterns(patterns), without=tuple(without))
    folders = list_config_folders(config or load_config())
    redaction = StoreRedaction(folders, data_dir(), Redactor(rules))
    redaction.learn_secrets(progress)
    goal = None if output is None else Path(output).absolute()
    change = None
    if goal is not None:
        redaction.write_copies(goal, progress)
    elif in_place:
        record = redaction.change_in_place(open_undo_store(), progress, force=force)
        change = record.name if record else None
    else:
        redaction.write_report(progress)
    if progress:
        progress(1, 1)
    stores = tuple(map(_to_store_secrets, redaction.findings))
    return RedactStoresResult(sum(store.found for store in stores), stores, goal, change)


def _to_store_secrets(finding: StoreFinding) -> StoreSecrets:
    report = finding.report
    return StoreSecrets(
        store=finding.name,
        root=finding.root,
        files=finding.files,
        found=report.replacement_count,
        rules=list_rule_findings(report),
        places=report.places,
        problems=finding.problems,
    )
