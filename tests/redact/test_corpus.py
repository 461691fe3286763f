"""Published sessions: how many things in them are taken for secrets. Nothing of them is quoted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turnlog.redact.redactor import Redactor


@pytest.mark.slow
@pytest.mark.corpus
def test_published_sessions_raise_few_alarms(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = secrets = size = 0
    for path in sorted((corpus / "wild").rglob("*.jsonl")):
        redactor = Redactor()
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            try:
                body = json.loads(line)
            except ValueError:
                continue
            if isinstance(body, dict):
                redactor.redact_entry_body(body, number)
        report = redactor.build_report()
        found += report.replacement_count
        secrets += sum(count.secrets for count in report.rules.values())
        size += path.stat().st_size
    with capsys.disabled():
        print(f"\n{size / 1e6:.0f} MB of published sessions: {found} places, {secrets} different alarms")
    assert size > 0
    assert secrets <= 20
    assert found <= 100
