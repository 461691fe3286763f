"""The gate's sample, its table and its way out on a machine without Node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop import clients, gate, report
from tests.interop.case_rows import base, raw
from tests.interop.clients import NEWEST, OLD
from tests.interop.recordings import Recording
from tests.interop.verdicts import KNOWN, Verdict, newest_verdict

VERDICTS = [
    Verdict("sessions/2.0.76/plain/a.jsonl", NEWEST, "same"),
    Verdict("sessions/2.0.76/plain/b.jsonl", NEWEST, "refused"),
    Verdict("variants/c.jsonl", NEWEST, "DIFFERENT", "message 0"),
    Verdict("sessions/2.0.76/plain/a.jsonl", OLD, "same"),
    Verdict("variants/c.jsonl", OLD, "resumed"),
]


def test_the_sample_is_always_the_same_and_of_both_sets() -> None:
    chosen = gate.sample(gate.files(), gate.SAMPLE)
    assert chosen == gate.sample(gate.files()[::-1], gate.SAMPLE)
    assert len(chosen) == gate.SAMPLE
    assert {name.split("/")[0] for name in chosen} == {"sessions", "variants"}


def test_a_file_more_pushes_out_at_most_one_other() -> None:
    before = gate.sample(gate.files(), gate.SAMPLE)
    after = gate.sample([*gate.files(), "sessions/new.jsonl"], gate.SAMPLE)
    assert len(set(before) - set(after)) <= 1


def test_files_that_the_old_client_cannot_resume_exist() -> None:
    assert KNOWN.keys() <= set(gate.files())


def test_the_table_has_a_line_for_each_file() -> None:
    lines = report.table(VERDICTS).splitlines()
    assert len(lines) == 4
    assert lines[3].split() == ["DIFFERENT", "resumed", "variants/c.jsonl"]


def test_the_documents_table_is_written_between_its_marks(tmp_path: Path) -> None:
    document = tmp_path / "interop.md"
    document.write_text(f"before\n{report.START}\nold\n{report.END}\nafter\n")
    report.write_docs(document, VERDICTS)
    report.write_docs(document, VERDICTS)
    text = document.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old\n" not in text
    assert "| written by 2.0.76 | 1 | 1 | 0 | 1 | 1 | 0 |" in text
    assert "| one session, edited | 0 | 0 | 1 | 1 | 0 | 0 |" in text
    assert "| all | 1 | 1 | 1 | 2 | 1 | 0 |" in text


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_without_a_client_the_gate_says_so_and_fails_only_in_ci(
    ci: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("TURNLOG_CLAUDE_DIR", str(tmp_path))
    assert gate.main([]) == status
    assert f"TURNLOG_CLAUDE_DIR has no client {NEWEST} and no {OLD}" in capsys.readouterr().err


def test_without_node_the_gate_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TURNLOG_CLAUDE_DIR", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "not found: node, npm" in (clients.install([NEWEST]) or "")


@pytest.mark.parametrize(
    ("fields", "word", "words"),
    [
        ({}, "DIFFERENT", "client end"),
        ({"unjudged": "rows without uuid"}, "not judged", None),
        ({"outcome": "refused"}, "DIFFERENT", "turnlog does not"),
        ({"outcome": "timeout"}, "DIFFERENT", "outcome is timeout"),
    ],
)
def test_a_recording_that_says_otherwise_is_told(
    fields: dict[str, str], word: str, words: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw(base()))
    entry = Recording(**{"file": "s.jsonl", "sha256": "", "version": NEWEST, "outcome": "sent", **fields}, messages=[])
    verdict = newest_verdict(entry, path)
    assert (verdict.word, words is None) == (word, verdict.reason is None)
    assert (words or "") in (verdict.reason or "")
