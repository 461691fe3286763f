"""What turnlog says would be sent is what the real client sent, for every recorded session."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import pytest

from tests.interop import cases
from tests.interop.reader import messages_of
from tests.interop.recordings import DATA, SETS, Recording, disagreement, load

RECORDED = [(name, entry) for name in SETS for entry in load(DATA / f"{name}.oracle.jsonl")]
CASES = {Path(entry.file).stem: entry for entry in load(DATA / "cases.oracle.jsonl")}


@cache
def build_cases() -> dict[str, bytes]:
    return cases.cases()


@pytest.mark.parametrize(
    ("name", "entry"), [pytest.param(name, entry, id=f"{name}/{entry.file}") for name, entry in RECORDED]
)
def test_a_committed_session_gives_the_messages_that_the_client_sent(name: str, entry: Recording) -> None:
    assert disagreement(entry, messages_of(DATA / name / entry.file)) is None


@pytest.mark.parametrize(("name", "entry"), [pytest.param(n, e, id=f"{n}/{e.file}") for n, e in RECORDED])
def test_a_committed_session_is_the_one_that_was_recorded(name: str, entry: Recording) -> None:
    assert hashlib.sha256((DATA / name / entry.file).read_bytes()).hexdigest() == entry.sha256


@pytest.mark.parametrize("name", CASES)
def test_a_hand_made_file_gives_the_messages_that_the_client_sent(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(build_cases()[name])
    found = disagreement(CASES[name], messages_of(path))
    if name in cases.KNOWN:
        assert found is not None, "turnlog agrees with the client now: take it from KNOWN"
    else:
        assert found is None


def test_every_hand_made_file_is_recorded_as_it_is() -> None:
    digests = {name: hashlib.sha256(raw).hexdigest() for name, raw in build_cases().items()}
    assert digests == {name: entry.sha256 for name, entry in CASES.items()}


def test_every_known_difference_names_a_hand_made_file() -> None:
    assert cases.KNOWN.keys() <= CASES.keys()


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["wild", "lab", "variants"])
def test_the_corpus_gives_the_messages_that_the_client_sent(name: str, corpus: Path) -> None:
    """Every judged file, and 99 of 100 if the others are judged too."""
    entries = [e for e in load(corpus / f"{name}.oracle.jsonl") if e.outcome in ("sent", "refused")]
    found = [(entry, disagreement(entry, messages_of(corpus / name / entry.file))) for entry in entries]
    differing = [entry for entry, words in found if words]
    for entry, words in found:
        if words:
            print(f"{'not judged' if entry.unjudged else 'DIFFERENT'} {entry.file}: {words}")
    assert [entry.file for entry in differing if not entry.unjudged] == []
    assert len(differing) <= 0.01 * len(entries)
