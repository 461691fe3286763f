"""Reading, verifying and pruning what is kept."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import zstandard

from tests.store.archive.place import ONE, TWO, Place, main
from turnlog.entries.path_escapes import escape_path, unescape_path
from turnlog.errors import Ambiguous, Busy, NotFound, TurnlogError, Unreadable
from turnlog.store.archive import Archive
from turnlog.store.archive.archive_lock import lock_archive
from turnlog.store.archive.blobs import MAX_BLOB_BYTES, Blobs
from turnlog.store.archive.manifest import SessionManifest
from turnlog.store.archive.prune import PruneRules, plan_prune, prune_archive, sweep_unused_blobs
from turnlog.store.archive.verify import put_damaged_blobs_aside, verify_archive

THREE = "bbbbbbbb-0000-4000-8000-000000000003"


def versions(place: Place, count: int, name: str = ONE) -> None:
    for number in range(count):
        place.session(os.urandom(20_000 + number), name=name)
        place.run()


def numbers(place: Place, name: str = ONE) -> list[int]:
    return place.archive.manifests.list_generations().get(place.archive.find_session(name).name, [])


def test_an_archive_that_is_not_there_is_empty(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "nothing")
    assert (archive.list_sessions(), archive.list_ids(), archive.has_session(ONE)) == ([], set(), False)
    assert verify_archive(archive).is_sound
    assert plan_prune(archive, PruneRules(keep=1)).drop == []
    assert not (tmp_path / "nothing").exists()


def test_any_stretch_of_an_archived_file_can_be_read(place: Place) -> None:
    data = bytes(range(256)) * 20_000
    path = place.session(data[: MAX_BLOB_BYTES + 10])
    place.run()
    place.append(main(), data[MAX_BLOB_BYTES + 10 :])
    place.run()
    path.unlink()
    archive = place.archive
    for start, size in [(0, 5), (MAX_BLOB_BYTES - 3, 20), (len(data) - 2, 100), (len(data), 5), (0, len(data))]:
        assert archive.read_at(str(path), start, size) == data[start : start + size]
    assert archive.read_file(ONE, main()) == data
    with pytest.raises(NotFound):
        archive.read_at(path.with_name("other.jsonl"), 0, 1)
    with pytest.raises(NotFound):
        archive.read_at(path.with_name(f"{TWO}.jsonl"), 0, 1)
    with pytest.raises(NotFound):
        archive.read_file(TWO, main(TWO))


def test_a_session_is_named_by_the_start_of_its_id_or_its_title(place: Place) -> None:
    place.session(b'{"type":"custom-title","customTitle":"Fix  the Cart","sessionId":"%s"}\n' % ONE.encode())
    place.session(name=TWO)
    place.session(name=THREE)
    place.run()
    assert place.archive.find_session("AAAA").session_id == place.archive.find_session("fix the cart").session_id == ONE
    with pytest.raises(Ambiguous, match="2 archived sessions"):
        place.archive.find_session("bbbb")
    for word in ("cccc", ""):
        with pytest.raises(NotFound):
            place.archive.find_session(word)


@pytest.mark.parametrize("damage", [b"", b"x", None, "other", "bomb"])
def test_damage_is_found_by_reading_everything_again(place: Place, damage: bytes | str | None) -> None:
    place.session(b"a" * 30_000)
    place.session(b"b" * 30_000, name=TWO)
    place.run()
    ref = place.archive.find_session(ONE).files[0].refs[0]
    path = place.archive.blobs.get_path(ref.blob)
    if damage is None:
        path.unlink()
    elif damage == "other":
        path.write_bytes(zstandard.compress(b"other"))
    elif damage == "bomb":
        path.write_bytes(zstandard.compress(bytes(MAX_BLOB_BYTES + 1)))
    else:
        assert isinstance(damage, bytes)
        path.write_bytes(damage)
    found = verify_archive(place.archive)
    assert [(item.session_id, item.path) for item in found.damaged] == [(ONE, main())]
    assert not found.is_sound
    put_damaged_blobs_aside(place.archive, found)
    place.run()
    assert verify_archive(place.archive).is_sound


def test_every_single_flipped_bit_of_the_archive_is_found(place: Place) -> None:
    place.session(os.urandom(300))
    place.run()
    files = list(place.archive.folder.rglob("*.zst"))
    assert len(files) == 2
    for path in files:
        whole = path.read_bytes()
        for at in range(0, len(whole), 7):
            # The header of a frame holds bits that mean nothing; what is read must be the same or told.
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
            if verify_archive(place.archive).is_sound:
                assert place.archive.read_file(ONE, main()) == (place.config / main()).read_bytes()
        path.write_bytes(whole)
    assert place.is_sound()


def test_a_damaged_manifest_is_told_and_the_generation_before_it_is_shown(place: Place) -> None:
    versions(place, 2)
    name = place.archive.find_session(ONE).name
    place.archive.manifests.get_path(name, 2).write_bytes(b"damaged")
    assert len(verify_archive(place.archive).manifests_damaged) == 1
    assert place.archive.find_session(ONE).generation == 1
    with pytest.raises(Unreadable, match="nothing was removed"):
        prune_archive(place.archive, PruneRules(keep=1))


def test_a_manifest_under_another_name_is_not_believed(place: Place) -> None:
    place.session()
    place.run()
    session = place.archive.find_session(ONE)
    path = place.archive.manifests.get_path(session.name, 1)
    path.rename(path.with_name(path.name.replace(ONE, TWO)))
    assert place.archive.list_sessions() == []
    assert "a different session" in verify_archive(place.archive).manifests_damaged[0]


def test_a_manifest_of_a_later_format_is_not_understood_and_kept(place: Place) -> None:
    place.session()
    place.run()
    session = place.archive.find_session(ONE)
    fields = {name: getattr(session, name) for name in session.__struct_fields__}
    place.archive.manifests.write(SessionManifest(**{**fields, "format": 2}))
    assert "a different version" in verify_archive(place.archive).manifests_damaged[0]


def test_old_generations_are_dropped_by_number(place: Place) -> None:
    versions(place, 4)
    found = plan_prune(place.archive, PruneRules(keep=2))
    assert [item.generation for item in found.drop] == [1, 2]
    assert found.freed > 30_000
    assert numbers(place) == [1, 2, 3, 4], "a plan does nothing"
    prune_archive(place.archive, PruneRules(keep=2))
    assert numbers(place) == [3, 4]
    assert place.is_sound()
    assert verify_archive(place.archive).unused == 0
    versions(place, 1)
    assert numbers(place) == [3, 4, 5]


def test_the_only_copy_of_a_gone_session_is_dropped_only_when_that_is_asked_for(place: Place) -> None:
    versions(place, 2)
    versions(place, 1, TWO)
    (place.config / main()).unlink()
    later = time.time_ns() + 10**9
    for rules in (PruneRules(keep=1), PruneRules(older_ns=later), PruneRules(largest=0)):
        assert [(item.session_id, item.generation) for item in plan_prune(place.archive, rules).drop] == [(ONE, 1)]
    prune_archive(place.archive, PruneRules(older_ns=later, gone=True))
    assert place.archive.list_ids() == {TWO}, "what is on disk stays"
    assert place.is_sound()


def test_the_oldest_go_first_until_the_archive_is_small_enough(place: Place) -> None:
    versions(place, 5)
    found = prune_archive(place.archive, PruneRules(largest=65_000))
    assert [item.generation for item in found.drop] == [1, 2]
    assert found.left <= 65_000


def test_blobs_that_nothing_needs_are_swept_once_a_day(place: Place) -> None:
    place.session()
    place.run()
    left = place.archive.blobs.put(b"left behind")
    sweep_unused_blobs(place.archive)
    assert not place.archive.blobs.has(left)
    place.archive.blobs.put(b"left behind")
    sweep_unused_blobs(place.archive)
    assert place.archive.blobs.has(left)
    assert place.is_sound()


def test_who_waits_too_long_for_the_lock_is_told(place: Place) -> None:
    with (
        lock_archive(place.archive.folder),
        pytest.raises(Busy, match="another turnlog process"),
        lock_archive(place.archive.folder, 0.1),
    ):
        pass
    with lock_archive(place.archive.folder, 0):
        pass


def test_a_blob_is_readable_by_other_programs(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    name = blobs.put(b"hello")
    assert zstandard.decompress(blobs.get_path(name).read_bytes()) == b"hello"


def test_the_cache_of_blobs_is_bounded(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    names = [blobs.put(b"%d" % number) for number in range(40)]
    assert [blobs.get(name) for name in [*names, *names[-3:]]][:2] == [b"0", b"1"]
    assert len(blobs._cache) <= 8


@pytest.mark.parametrize("path", ["a/b", "100%", "%41", "ü/%25", "\udcff%FF", "a\nb", "%2F"])
def test_any_path_is_a_text_and_back(path: str) -> None:
    assert unescape_path(escape_path(path)) == path
    escape_path(path).encode()


def test_a_folder_that_cannot_be_written_is_one_clear_error(place: Place) -> None:
    place.session()
    place.data.mkdir()
    (place.data / "archive").write_text("a file in the way")
    with pytest.raises((TurnlogError, OSError)):
        place.run()


@pytest.mark.skipif(os.name == "nt", reason="needs links")
def test_a_file_is_found_by_the_path_of_a_linked_config_folder(place: Place, tmp_path: Path) -> None:
    path = place.session(b"kept\n")
    place.run()
    link = tmp_path / "link"
    link.symlink_to(place.config)
    path.unlink()
    assert place.archive.read_at(link / main(), 0, 9) == b"kept\n"
