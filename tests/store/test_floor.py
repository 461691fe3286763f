"""The lower bounds that an index is compared with read the files of genuine clients, whatever these leave out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.store_floor import prepare_conversation_floor, prepare_floor
from tests.session.build import DATA, Build

NOTHING_STATED = {"input_tokens": None, "output_tokens": None}


def make_collection(folder: Path) -> Path:
    """A copy of all recorded sessions, and one whose answer has neither an id nor token counts."""
    for number, path in enumerate(sorted(DATA.glob("sessions/**/*.jsonl"))):
        target = folder / "projects" / "slug" / f"{number}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    build = Build()
    build.prompt("word")
    build.answer("reply", usage=NOTHING_STATED)
    line = build.data().replace(b'"uuid"', b'"other"').replace(b'"id"', b'"other"')
    (folder / "projects" / "slug" / "bare.jsonl").write_bytes(line)
    return folder


@pytest.mark.parametrize("prepare", [prepare_floor, prepare_conversation_floor])
def test_a_lower_bound_reads_genuine_sessions(tmp_path: Path, prepare: object) -> None:
    assert callable(prepare)
    (tmp_path / "index").mkdir()
    counts = prepare(str(make_collection(tmp_path / "claude")), str(tmp_path / "index"))()
    assert counts["texts"] > 100


def test_an_answer_without_an_id_and_with_unstated_usage_is_loaded(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "claude")
    for path in (folder / "projects" / "slug").glob("[0-9]*.jsonl"):
        path.unlink()
    counts = prepare_floor(str(folder), str(tmp_path))()
    assert counts == {"texts": 2, "letters": len("word") + len("reply")}
