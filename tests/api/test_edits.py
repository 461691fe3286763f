"""The functions that edit and share sessions, called by a program."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import turnlog
from tests.conftest import Program

DEMO = "bee7dbd3"

DRY_RUNS: dict[str, Callable[[], Any]] = {
    "clone": lambda: turnlog.clone_session(DEMO, strip="heavy", portable=True, dry_run=True),
    "strip": lambda: turnlog.strip_session(DEMO, "extreme"),
    "fork": lambda: turnlog.fork_session(DEMO, "1", dry_run=True),
    "redact": lambda: turnlog.redact_session(DEMO, emails=True),
    "repair": lambda: turnlog.repair_session(DEMO, dry_run=True),
    "move": lambda: turnlog.move_project("/home/dana/webshop", "/home/dana/shop", dry_run=True),
    "delete": lambda: turnlog.delete_session(DEMO, dry_run=True),
    "empty": lambda: turnlog.empty_trash(dry_run=True),
    "prune": lambda: turnlog.prune_archive(keep=1, dry_run=True),
    "trace": lambda: turnlog.trace_session(DEMO),
}


def read_all(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", DRY_RUNS)
def test_a_dry_run_writes_and_prints_nothing_and_is_a_document(
    shop: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    before = read_all(shop)
    value = DRY_RUNS[name]()
    assert read_all(shop) == before
    assert capsys.readouterr() == ("", "")
    assert json.loads(json.dumps(turnlog.to_document(value))) == turnlog.to_document(value)


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (
            "clone bee7dbd3 --preset heavy --dry-run --json",
            lambda: turnlog.clone_session(DEMO, strip="heavy", dry_run=True),
        ),
        ("strip bee7dbd3 --preset light --json", lambda: turnlog.strip_session(DEMO, "light")),
        ("fork bee7dbd3 --at 1 -n --json", lambda: turnlog.fork_session(DEMO, "1", dry_run=True)),
        ("redact bee7dbd3 --homes --json", lambda: turnlog.redact_session(DEMO, homes=True)),
        ("repair bee7dbd3 -n --json", lambda: turnlog.repair_session(DEMO, dry_run=True)),
        ("undelete --list --json", turnlog.list_trash),
        ("undo --list --json", turnlog.list_changes),
        ("archive list --json", turnlog.list_archive),
        ("archive verify --json", turnlog.verify_archive),
        ("trace show bee7dbd3 --json", lambda: turnlog.trace_session(DEMO)),
        ("trace status --json", turnlog.read_trace_status),
    ],
)
def test_the_document_of_a_value_is_what_the_command_prints(
    shop: Path, program: Program, words: str, call: Callable[[], Any]
) -> None:
    turnlog.rename_session("c1eff3e3", "Another title")
    turnlog.archive_sessions(["c1eff3e3"])
    printed = json.loads(program(*words.split()).stdout)
    assert turnlog.to_document(call()) == printed
    assert list(turnlog.to_document(call())) == list(printed)


def test_an_edit_is_undone_byte_for_byte(shop: Path) -> None:
    before = read_all(shop)
    turnlog.tag_session(DEMO, "urgent")
    assert read_all(shop) != before
    assert turnlog.undo().change.verb == "tag"
    assert read_all(shop) == before
    with pytest.raises(turnlog.NotFound):
        turnlog.undo()


def test_a_session_comes_back_from_the_trash_with_all_that_belongs_to_it(shop: Path) -> None:
    before = read_all(shop)
    assert turnlog.delete_session(DEMO).deleted
    assert read_all(shop) != before
    assert turnlog.undelete_session().lost == []
    assert read_all(shop) == before


def test_a_deletion_that_is_not_confirmed_does_nothing(shop: Path) -> None:
    before = read_all(shop)
    asked: list[turnlog.Deletions] = []

    def refuse(plan: turnlog.Deletions) -> bool:
        asked.append(plan)
        return False

    done = turnlog.delete_sessions([DEMO], confirm=refuse)
    assert (done.deleted, len(asked), read_all(shop)) == (False, 1, before)


def test_an_export_and_a_redacted_copy_go_into_an_open_file(shop: Path) -> None:
    page, lines = io.BytesIO(), io.BytesIO()
    done = turnlog.export_session(DEMO, page, format="md", options=turnlog.ExportOptions(thinking=False))
    assert (done.output, page.getvalue()[:1]) == (None, b"#")
    assert turnlog.redact_session(DEMO, output=lines).output == "-"
    assert all(json.loads(line) for line in lines.getvalue().splitlines())


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: turnlog.build_strip_options(tools="sometimes"), "^tools sometimes: expected keep=N"),
        (lambda: turnlog.build_strip_options(thinking="some"), "^thinking some: expected keep"),
        (lambda: turnlog.strip_session(DEMO, fit="much"), "^fit much: expected a share"),
        (lambda: turnlog.strip_session(DEMO, "light", fit="60%"), "use either fit or strip"),
        (lambda: turnlog.strip_session(DEMO, "unheard-of"), "unknown preset 'unheard-of'"),
        (lambda: turnlog.export_session(DEMO, format="exe"), "^unknown format 'exe'; use one of html"),
        (
            lambda: turnlog.export_session(DEMO, options=turnlog.ExportOptions(turns="x")),
            "^turns x: not a turn; use a number",
        ),
        (
            lambda: turnlog.export_session(DEMO, io.BytesIO(), format="parquet"),
            "^a parquet export is a folder, not a file",
        ),
        (lambda: turnlog.redact_session(DEMO, clone=True, output="x"), "use either clone"),
        (lambda: turnlog.repair_session(DEMO, in_place=True, title="x"), "title can't be combined with in_place"),
        (lambda: turnlog.pack_sessions([DEMO], "no/such/folder.tar.zst"), "no such folder"),
        (lambda: turnlog.install_hook("everywhere"), "^unknown scope 'everywhere'; use one of user, project, local"),
    ],
)
def test_wrong_arguments_are_refused_in_the_words_of_python(
    shop: Path, call: Callable[[], Any], complaint: str
) -> None:
    before = read_all(shop)
    with pytest.raises(turnlog.UsageError, match=complaint):
        call()
    assert read_all(shop) == before


def test_what_a_user_should_know_goes_to_notify(monkeypatch: pytest.MonkeyPatch) -> None:
    remarks: list[str] = []
    turnlog.clone_session(DEMO, dry_run=True, notify=remarks.append)
    assert remarks == ["This is a made-up demo session that ships with turnlog."]


def test_packed_sessions_arrive_elsewhere(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    package = turnlog.pack_sessions([DEMO], tmp_path / "a.tar.zst")
    contents = turnlog.list_package(package.path)
    assert contents.sessions == package.sessions
    done = turnlog.unpack_sessions(package.path, project=tmp_path / "shop", config_dir=tmp_path / "other", new_ids=True)
    assert done.sessions[0].path.is_file()
    assert done.sessions[0].packed_id == package.sessions[0].session_id != done.sessions[0].session_id


def test_the_archive_gives_back_what_was_deleted(shop: Path) -> None:
    path = next(shop.glob(f"projects/*/{DEMO}-*.jsonl"))
    data = path.read_bytes()
    assert turnlog.archive_sessions().troubles == []
    path.unlink()
    assert [item.session_id for item in turnlog.list_archive(only_gone=True).sessions] == [path.stem]
    assert turnlog.restore_archived_session(DEMO).path == path
    assert path.read_bytes() == data


def test_redaction_reports_its_progress(shop: Path) -> None:
    seen: list[tuple[int, int]] = []
    turnlog.redact_session(DEMO, progress=lambda done, total: seen.append((done, total)))
    *work, end = seen
    assert end == (1, 1)
    assert [done for done, _ in work] == list(range(work[0][1]))
