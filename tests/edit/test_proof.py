"""What a hostile stranger would try with `clone`: links, changes meanwhile, files that begin in an odd way."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.edit.furnished_session import picture
from tests.session.build import BASE, SESSION, Build, base, describe_resumed, encode_lines, variant
from turnlog.edit import clone as clone_module
from turnlog.edit.clone import clone_session
from turnlog.edit.compress.compact import compact_draft
from turnlog.edit.compress.recap import build_recap
from turnlog.edit.draft import Draft
from turnlog.edit.id_renewal import IdRenewer, create_uuid
from turnlog.edit.package.contents import list_session_contents
from turnlog.errors import Changed, TurnlogError
from turnlog.session.session import Session

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")


def said_in(path: Path) -> list[str]:
    with Session.open(path) as session:
        assert not session.file.scraps
        return describe_resumed(session)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A session without anything that belongs to it."""
    folder = tmp_path / "claude" / "projects" / "-home-dana-webshop"
    folder.mkdir(parents=True)
    return base().write(folder)


@pytest.mark.parametrize("edited", [False, True])
def test_a_byte_order_mark_does_not_cost_the_first_line(bare: Path, edited: bool) -> None:
    shutil.copy(variant("utf-8-bom-first"), bare)
    with Session.open(bare) as source:
        made = clone_session(bare, Draft.from_transcript(source.file) if edited else None)
        assert said_in(made.path) == describe_resumed(source)


@needs_links
def test_a_linked_folder_beside_a_session_is_not_entered(bare: Path, tmp_path: Path) -> None:
    outside = tmp_path / "private"
    for name in ("subagents/agent-a1b2c3d.jsonl", "tool-results/x.txt", "notes/x.txt"):
        (outside / name).parent.mkdir(parents=True, exist_ok=True)
        (outside / name).write_text("{}\n")
    bare.with_suffix("").symlink_to(outside)
    made = clone_session(bare)
    assert made.files == 0
    assert sorted(path.name for path in made.path.with_suffix("").rglob("*")) == ["custom-title.json"]
    packed = list_session_contents(bare)
    assert not packed.files
    assert bare.with_suffix("") in packed.left_out


@needs_links
@pytest.mark.parametrize("name", ["projects", "file-history", "."])
def test_people_may_keep_a_folder_of_the_client_on_another_disk(bare: Path, tmp_path: Path, name: str) -> None:
    config = bare.parents[2]
    (config / "file-history" / SESSION).mkdir(parents=True)
    (config / "file-history" / SESSION / "a@v1").write_text("old")
    away = tmp_path / "away"
    shutil.move(config / name, away)
    (config / name).symlink_to(away)
    made = clone_session(bare)
    assert said_in(made.path) == BASE
    assert (config / "file-history" / made.session_id / "a@v1").read_text() == "old"


@needs_links
def test_a_project_that_is_a_link_out_of_the_projects_gets_no_clone(bare: Path, tmp_path: Path) -> None:
    away = tmp_path / "away"
    shutil.move(bare.parent, away)
    bare.parent.symlink_to(away)
    before = picture(tmp_path)
    with pytest.raises(TurnlogError, match="outside "):
        clone_session(bare)
    assert picture(tmp_path) == before


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _other(path: Path) -> None:
    path.write_bytes(
        encode_lines([{"type": "user", "uuid": "x", "message": {"role": "user", "content": "y" * 9_999_999}}])
    )


@pytest.mark.parametrize("change", [_cut, _other])
def test_a_session_that_is_rewritten_while_it_is_copied_is_refused(bare: Path, change: Callable[[Path], None]) -> None:
    build = Build()
    for number in range(40):
        build.prompt(f"{number} " + "x" * 100_000)
    build.write(bare.parent)
    lines = clone_module._stream_lines(bare, IdRenewer(SESSION, create_uuid()), [0])
    next(lines)
    change(bare)
    with pytest.raises(Changed, match="nothing was written"):
        list(lines)


def test_a_session_that_grows_or_goes_while_it_is_copied_is_copied_as_it_was(bare: Path) -> None:
    lines = clone_module._stream_lines(bare, IdRenewer(SESSION, create_uuid()), [0])
    first = next(lines)
    with bare.open("ab") as file:
        file.write(base().data())
    if sys.platform != "win32":
        bare.unlink()
    assert describe_resumed(Session.from_bytes(first + b"".join(lines))) == BASE


def test_a_session_that_an_old_client_resumed_into_a_new_file_is_compacted(bare: Path) -> None:
    """Most of its entries name the session that it was copied from."""
    build = base()
    for line in build.lines[:-2]:
        line["sessionId"] = "99999999-2222-4333-8444-555555555555"
    build.write(bare.parent)
    with Session.open(bare) as session:
        made = clone_session(bare, compact_draft(Draft.from_transcript(session.file), build_recap, keep=1).draft)
    assert said_in(made.path)[-1] == BASE[-1]


def test_values_nested_two_thousand_deep_come_along(bare: Path) -> None:
    deep = b"[" * 2000 + b"]" * 2000
    lines = base().data().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"version"', b'"x":' + deep + b',"version"')
    bare.write_bytes(b"".join(lines))
    made = clone_session(bare)
    assert deep in made.path.read_bytes()
    assert said_in(made.path) == BASE
