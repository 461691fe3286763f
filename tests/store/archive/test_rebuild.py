"""A damaged manifest is made again from the content of the archive, as far as that can be done."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.store.archive.place import ONE, SLUG, TWO, Place, main
from turnlog.store.archive.intake import CutSizes
from turnlog.store.archive.prune import PruneRules, prune_archive
from turnlog.store.archive.rebuild import MendedManifest, mend_manifests

CWD = "/home/dana/webshop"


def lines(count: int, first: int = 0, name: str = ONE, agent: str = "") -> bytes:
    own = f',"agentId":"{agent}"' if agent else ""
    rows = (
        f'{{"type":"user","sessionId":"{name}","cwd":"{CWD}",'
        f'"timestamp":"2026-01-01T10:{at // 60:02}:{at % 60:02}.000Z",'
        f'"uuid":"{agent}{at}"{own},"message":{{"content":"text {at}"}}}}\n'
        for at in range(first, first + count)
    )
    return "".join(rows).encode()


@pytest.fixture(params=[CutSizes(), CutSizes(blob=4000, small=500)], ids=["one blob", "many blobs"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    found = Place(tmp_path, request.param)
    found.session(lines(40))
    found.write(f"projects/{SLUG}/{ONE}/subagents/agent-a1.jsonl", lines(20, agent="a1"))
    found.session(lines(5, name=TWO), TWO)
    found.run()
    return found


def damage(place: Place, name: str = ONE) -> None:
    (path,) = place.archive.manifests.folder.glob(f"{name}*")
    path.write_bytes(b"\xff" * 40)


def mend(place: Place) -> list[MendedManifest]:
    return mend_manifests(place.archive, [place.config])


def test_the_transcripts_of_a_session_that_is_gone_are_rebuilt(place: Place, tmp_path: Path) -> None:
    before = {
        path: (place.config / path).read_bytes() for path in (main(), f"projects/{SLUG}/{ONE}/subagents/agent-a1.jsonl")
    }
    shutil.rmtree(place.config / "projects" / SLUG)
    damage(place)
    assert not place.is_sound()
    (found,) = mend(place)
    assert (found.session_id, found.files, found.bytes) == (ONE, 2, sum(map(len, before.values())))
    assert "rebuilt from blobs" in str(found)
    assert place.is_sound()
    place.restore(tmp_path / "to")
    assert {path: (tmp_path / "to" / path).read_bytes() for path in before} == before
    assert mend(place) == []


def test_what_was_appended_in_several_runs_is_rebuilt_in_order(place: Place, tmp_path: Path) -> None:
    for number in range(6):
        place.append(main(), lines(7, 100 + 7 * number))
        place.run()
    before = (place.config / main()).read_bytes()
    (place.config / main()).unlink()
    damage(place)
    mend(place)
    place.restore(tmp_path / "to")
    assert (tmp_path / "to" / main()).read_bytes() == before


def test_a_session_that_is_on_disk_is_archived_again_by_the_next_run(place: Place) -> None:
    damage(place)
    (found,) = mend(place)
    assert found.on_disk
    assert "turnlog archive run" in str(found)
    place.run()
    assert place.is_sound()


def test_what_is_lost_is_said_and_the_rest_can_be_pruned_again(place: Place) -> None:
    shutil.rmtree(place.config / "projects" / SLUG)
    damage(place, TWO)
    for blob in place.archive.blobs.list_names():
        if TWO.encode() in place.archive.blobs.get(blob):
            place.archive.blobs.drop(blob)
    (found,) = mend(place)
    assert found.files == 0
    assert "the archive contains no older generation" in str(found)
    prune_archive(place.archive, PruneRules())
    assert place.is_sound()


def test_the_damaged_manifest_is_kept(place: Place) -> None:
    damage(place)
    mend(place)
    (kept,) = (place.archive.folder / "damaged").iterdir()
    assert kept.read_bytes() == b"\xff" * 40
