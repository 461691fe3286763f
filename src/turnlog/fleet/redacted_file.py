"""Redacts one session file on its own, or a part of it.

Every file is read twice, so that a secret that a rule finds once is replaced everywhere in the file. The parts of a
huge file are searched at the same time; together, in the order of the file, their secrets are those of one pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from turnlog.entries.entry import Entry
from turnlog.entries.line_decoder import decode_body
from turnlog.entries.patch import encode_json_line
from turnlog.entries.reader import scan_lines
from turnlog.export.redaction import drop_stale_signatures, redact_scrap
from turnlog.redact.redactor import Redactor
from turnlog.redact.rules import SecretRules
from turnlog.redact.secret_ledger import SecretLedger
from turnlog.redact.secret_rule import SecretFinding

KnownSecrets = tuple[SecretFinding, ...]


@cache
def load_lake_rules() -> SecretRules:
    """Create the rules of a lake once per process: secrets, email addresses, and names in home folders."""
    return SecretRules(emails=True, homes=True)


def find_secrets(lines: Iterable[bytes]) -> KnownSecrets:
    """Find the secrets in lines, in the order of their first appearance."""
    ledger = SecretLedger()
    redactor = Redactor(load_lake_rules(), ledger=ledger)
    for _ in iter_redacted_lines(lines, redactor):
        pass
    return ledger.list_secrets()


def make_redactor(secrets: KnownSecrets) -> Redactor:
    """Create a redactor that knows these secrets and numbers them in this order."""
    ledger = SecretLedger()
    for finding in secrets:
        ledger.assign_mark(finding)
    return Redactor(load_lake_rules(), ledger=ledger)


def iter_redacted_lines(lines: Iterable[bytes], redactor: Redactor) -> Iterator[bytes]:
    """Yield the redacted form of each entry and scrap, as a line of its own."""
    for item, raw in scan_lines(lines):
        yield redact_raw_entry(raw, redactor) if isinstance(item, Entry) else redact_scrap(raw, redactor)


def redact_raw_entry(raw: bytes, redactor: Redactor) -> bytes:
    body = decode_body(raw)
    return encode_json_line(drop_stale_signatures(redactor.redact_entry_body(body), body)) + b"\n"
