"""A lake contains no secrets and no names, and a person can be erased from it."""

from __future__ import annotations

from pathlib import Path

import pytest

import turnlog
from tests.fleet.lakes import add_session, build_session, read_rows
from turnlog.errors import NotFound, TurnlogError, UsageError
from turnlog.fleet.people import PersonRules, PseudonymKey, load_people, parse_layout

SECRET = "ghp_" + "Zk3Jx9QwLm2Vt8RbYc5HnPd7" + "SfGu4AeXoW1i"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for person in ("ana", "ben"):
        for _ in range(2):
            build = build_session(cwd=f"/home/{person}/shop", secret=SECRET)
            build.prompt(f"write to {person}.lopez@example.com about /home/{person}/shop/main.py")
            add_session(tmp_path / "src" / person / ".claude", build, slug=f"-home-{person}-shop")
    return tmp_path / "src"


def read_bytes(lake: Path) -> bytes:
    """All text of a lake and all of its file names."""
    rows = repr(read_rows(lake))
    return (rows + repr(sorted(str(path.relative_to(lake)) for path in lake.rglob("*")))).encode()


def test_neither_secrets_nor_names_nor_addresses_are_in_a_lake(source: Path, lake: Path) -> None:
    done = turnlog.build_lake(source, lake, workers=1, layout="{person}")
    assert done.secrets_replaced > 0
    found = read_bytes(lake)
    assert b"[secret:" in found
    for text in (SECRET, "ana", "ben.", "lopez", "/home/ben"):
        assert text.encode() not in found


def test_a_lake_without_redaction_must_be_asked_for(source: Path, lake: Path) -> None:
    turnlog.build_lake(source, lake, workers=1, layout="{person}", redact=False)
    assert SECRET.encode() in read_bytes(lake)


def test_a_lake_can_leave_out_all_texts(source: Path, lake: Path) -> None:
    turnlog.build_lake(source, lake, workers=1, layout="{person}", text=False)
    found = read_bytes(lake)
    assert b"prompt 0" not in found
    assert b"write to" not in found
    assert turnlog.report_lake(lake).total.amounts.messages == 8


def test_pseudonyms_depend_on_the_key_alone() -> None:
    one, other = PseudonymKey(b"one key that is long"), PseudonymKey(b"another key that is long")
    assert one.name_person("Ana") == PseudonymKey(b"one key that is long").name_person("ana")
    assert one.name_person("ana") != other.name_person("ana")
    assert one.name_person("ana") != one.name_person("ben")
    assert one.key_id != other.key_id


def test_the_key_is_created_once_and_only_for_its_owner(
    tmp_path: Path, source: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TURNLOG_FLEET_KEY")
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    turnlog.build_lake(source, lake, workers=1)
    key = tmp_path / "data" / "fleet.key"
    assert key.stat().st_mode & 0o777 == 0o600
    before = key.read_bytes()
    turnlog.build_lake(source, lake, workers=1)
    assert key.read_bytes() == before
    with pytest.raises(TurnlogError, match="no such key"):
        turnlog.build_lake(source, lake, workers=1, key=tmp_path / "missing")


def test_people_have_teams_and_other_names(tmp_path: Path) -> None:
    path = tmp_path / "people.toml"
    path.write_text('[people.ana]\nteam = "web"\nalso = ["ana-laptop"]\n[people.ben]\n')
    key = PseudonymKey(b"one key that is long")
    rules = PersonRules(key, "{team}/{person}", load_people(path))
    ana = rules.find_owner("ops/ana-laptop/.claude/projects/x/y.jsonl")
    assert ana == (key.name_person("ana"), "web")
    assert rules.find_owner("ops/ben/projects/x/y.jsonl") == (key.name_person("ben"), "ops")
    assert rules.find_owner("projects.jsonl") == (None, None)
    assert rules.name_person("ANA-laptop") == key.name_person("ana")


@pytest.mark.parametrize("text", ["", "{team}", "{person}/{name}", "a//{person}", "{person}x"])
def test_a_layout_must_name_the_person(text: str) -> None:
    with pytest.raises(UsageError, match="layout"):
        parse_layout(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[people", "people.toml"),
        ("people = 1", "expected tables"),
        ("[other.ana]", "expected tables"),
        ("[people.ana]\nage = 5", "may contain team and also"),
        ("[people.ana]\nalso = 5", "must be a list"),
        ('[people.ana]\nalso = ["x"]\n[people.ben]\nalso = ["X"]', "belongs to both"),
    ],
)
def test_a_wrong_people_file_is_a_one_line_error(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "people.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=reason):
        load_people(path)


def test_a_forgotten_person_is_gone_from_every_file_of_the_lake(source: Path, lake: Path) -> None:
    turnlog.build_lake(source, lake, workers=1, layout="{person}")
    add_session(source / "ana" / ".claude", build_session(cwd="/home/ana/shop"), slug="-home-ana-shop")
    turnlog.build_lake(source, lake, workers=1, layout="{person}")
    before = turnlog.report_lake(lake)
    done = turnlog.forget_person(lake, "Ana")
    assert (done.files, done.snapshot) == (3, before.snapshot + 1)
    after = turnlog.report_lake(lake)
    assert (after.people, after.sessions, after.files) == (1, 2, 2)
    assert after.total.amounts.messages == before.total.amounts.messages - 6
    for rows in read_rows(lake).values():
        assert done.person not in {row["person"] for row in rows}
    with pytest.raises(NotFound, match="no snapshot"):
        turnlog.report_lake(lake, snapshot=before.snapshot)
    for path in lake.rglob("*.parquet"):
        assert done.person.encode() not in path.read_bytes()


def test_a_forgotten_person_does_not_come_back(source: Path, lake: Path) -> None:
    turnlog.build_lake(source, lake, workers=1, layout="{person}")
    person = turnlog.forget_person(lake, "ana").person
    done = turnlog.build_lake(source, lake, workers=1, layout="{person}")
    assert (done.files_read, turnlog.report_lake(lake).people) == (0, 1)
    assert turnlog.build_lake(source, lake, workers=1, layout="{person}", again=True).files_read == 2
    assert turnlog.forget_person(lake, person).files == 0


def test_rows_of_others_are_the_same_after_somebody_was_forgotten(tmp_path: Path, source: Path, lake: Path) -> None:
    turnlog.build_lake(source, lake, workers=1, layout="{person}")
    done = turnlog.forget_person(lake, "ana")
    turnlog.build_lake(source, tmp_path / "fresh", workers=1, layout="{person}")
    expected = {
        table: [row for row in rows if row["person"] != done.person]
        for table, rows in read_rows(tmp_path / "fresh").items()
    }
    assert read_rows(lake) == expected
