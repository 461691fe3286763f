"""Sessions as Parquet tables."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import ROOT, Build, find_recording, use
from turnlog.export.parquet import ParquetTables
from turnlog.export.table_columns import TABLE_COLUMNS, fit_column_value
from turnlog.export.tables import iter_table_rows
from turnlog.session.session import Session


def tables(folder: Path, *sessions: Session) -> dict[str, list[dict[str, Any]]]:
    with ParquetTables(folder) as found:
        for session in sessions:
            found.add(session)
    read = import_module("pyarrow.parquet").read_table
    rows = {name: read(folder / f"{name}.parquet").to_pylist() for name in TABLE_COLUMNS}
    assert {name: len(items) for name, items in rows.items()} == found.counts
    return rows


def test_an_advisors_answer_is_a_row_of_its_own_that_adds_up_with_the_messages() -> None:
    build = Build()
    advice = {"type": "advisor_message", "model": "claude-fable-5", "input_tokens": 500, "output_tokens": 60}
    counts = {"input_tokens": 1, "output_tokens": 20}
    build.answer("so", id="m", usage=counts | {"iterations": [counts | {"type": "message"}, advice]})
    session = build.session()
    found = [row for table, row in iter_table_rows(session) if table == "usage"]
    assert [(row["message_id"], row["request"], row["model"]) for row in found] == [
        ("m", "message", "claude-opus-5"),
        ("m#1", "advisor_message", "claude-fable-5"),
    ]
    assert sum(row["cost_usd"] for row in found) == pytest.approx(session.usage.cost_usd)


def test_the_tables_hold_what_the_session_holds(tmp_path: Path) -> None:
    with Session.open(find_recording("2.1.325/agents")) as session:
        found = tables(tmp_path, session)
        inner = [session.open_agent_session(agent) for agent in session.agents]
        every = [session, *inner]
        assert len(found["entries"]) == sum(len(one.entries) for one in every)
        assert len(found["calls"]) == sum(len(one.calls) for one in every)
        answers = [row for row in found["messages"] if row["role"] == "assistant"]
        assert len(answers) == sum(len(one.messages) for one in every)
        assert {row["agent_id"] for row in found["entries"]} == {None, *(agent.agent_id for agent in session.agents)}
        assert sum(row["cost_usd"] or 0 for row in found["usage"]) == pytest.approx(session.usage.cost_usd)
        assert sum(row["output_tokens"] for row in found["usage"]) == session.usage.output_tokens


def test_a_call_has_its_input_its_result_and_its_times(tmp_path: Path) -> None:
    build = Build()
    build.prompt("go")
    build.answer(use("c1", "Bash", {"command": "ls"}), id="m1", stop="tool_use")
    build.result("c1", "a\nb", error=True)
    (call,) = tables(tmp_path, build.session())["calls"]
    assert call["input"] == '{"command":"ls"}'
    assert call["result"] == "a\nb"
    assert (call["tool"], call["family"], call["outcome"], call["is_error"]) == ("Bash", "running", "error", True)
    assert (call["message_id"], call["turn"], call["duration_ms"]) == ("m1", 1, 60_000)
    assert call["time"].isoformat() == "2026-01-01T10:02:00+00:00"


def test_what_a_table_cannot_hold_becomes_what_it_can(tmp_path: Path) -> None:
    build = Build()
    build.prompt("half \ud800 of it", timestamp="long ago")
    build.answer("so", usage={"input_tokens": 2**70, "output_tokens": 5})
    build.answer(use("c1", "Bash", {"n": 2**80, "s": "\udfff"}))
    raw = build.data() + b'{"type":"user","uuid":"x","message":{"role":"user","content":"\xff\xfe"}}\n'
    found = tables(tmp_path, Session.from_bytes(raw))
    assert "half" in found["messages"][0]["text"]
    assert found["messages"][0]["time"] is None
    assert "�" in found["entries"][-1]["json"]
    assert str(2**80) in found["calls"][0]["input"]


@pytest.mark.parametrize(
    ("kind", "value", "held"),
    [
        ("text", "a\ud800", "a\ufffd"),
        ("text", 5, None),
        ("number", 2**70, None),
        ("number", 7, 7),
        ("real", 1, 1.0),
        ("truth", "yes", None),
        ("time", "never", None),
    ],
)
def test_values_of_other_kinds_are_nothing(kind: str, value: Any, held: Any) -> None:
    assert fit_column_value(kind, value) == held


def test_many_rows_are_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnlog.export.parquet._MAX_WAITING_ROWS", 3)
    build = Build()
    for number in range(10):
        build.prompt(f"p{number}")
    assert len(tables(tmp_path, build.session(), build.session())["entries"]) == 20


def test_every_column_is_documented_and_there() -> None:
    text = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    for name, columns in TABLE_COLUMNS.items():
        (section,) = re.findall(rf"^#### `{name}.parquet`\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
        assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(columns)
