"""What a run takes into the archive, and what it costs."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.store.archive.place import ONE, SLUG, TWO, Place, main, tree
from turnlog.demo import config_dir as demo
from turnlog.entries.belongings import list_belongings
from turnlog.entries.layout import list_session_files
from turnlog.entries.plans import read_plan_names
from turnlog.store.archive import archive_run
from turnlog.store.archive.blobs import MAX_BLOB_BYTES

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
noise = random.Random(7).randbytes


def test_everything_that_belongs_to_a_session_is_archived(place: Place) -> None:
    others = [
        f"projects/{SLUG}/{ONE}/subagents/agent-a1.jsonl",
        f"projects/{SLUG}/{ONE}/subagents/agent-a1.meta.json",
        f"projects/{SLUG}/{ONE}/subagents/workflows/w/agent-a2.jsonl",
        f"projects/{SLUG}/{ONE}/tool-results/b.txt",
        f"projects/{SLUG}/{ONE}/custom-title.json",
        f"projects/{SLUG}/{ONE}/unheard-of/x",
        f"file-history/{ONE}/0a@v1",
        f"todos/{ONE}.json",
        f"todos/{ONE}-agent-{ONE}.json",
        f"tasks/{ONE}/.lock",
        f"session-env/{ONE}/env.sh",
        f"debug/{ONE}.txt",
        f"unheard-of/{ONE}.jsonl",
        "plans/quiet-otter.md",
    ]
    for path in others:
        place.write(path)
    loose = f"projects/{SLUG}/agent-a9.jsonl"
    place.write(loose, b'{"sessionId":"%s"}\n' % ONE.encode())
    place.session(b'{"type":"user","slug":"quiet-otter"}\n{"slug":"../../secret"}\n')
    place.write("plans/other.md")
    place.write("history.jsonl")
    place.write(f"todos/{TWO}.json")
    place.run()
    (session,) = place.archive.list_sessions()
    assert {file.path for file in session.files} == {*others, loose, main()}


@pytest.mark.parametrize(
    "folder", [demo(), *sorted((ROOT / "tests/data/sessions").glob("*/*"))], ids=lambda p: f"{p.parent.name}-{p.name}"
)
def test_no_belonging_of_a_recorded_session_is_missed(folder: Path) -> None:
    found = {item.file.path: set(item.paths) for item in archive_run.collect_sessions(folder)}
    for item in list_session_files(folder):
        named = list_belongings(folder, item.project_dir, item.session_id, read_plan_names(item.path))
        folders = (named.session_env, *named.other)
        files = [
            *(path for field in named for path in (field if isinstance(field, tuple) else (field,)) if path),
            *(path for inside in folders if inside for path in inside.rglob("*")),
        ]
        plans = archive_run.find_named_plans(item.path.read_bytes(), folder)
        assert {str(path) for path in files if path.is_file()} <= found[item.path] | plans


def test_an_unchanged_session_is_not_read(place: Place) -> None:
    place.session()
    place.write(f"todos/{ONE}.json")
    place.write("plans/quiet-otter.md")
    place.append(main(), b'{"slug":"quiet-otter"}\n')
    assert (place.run().archived, place.run().files) == (1, 0)


def test_of_a_session_that_grew_only_the_files_that_changed_are_read(place: Place) -> None:
    place.session()
    for number in range(5):
        place.write(f"file-history/{ONE}/{number}@v1")
    place.run()
    place.append(main(), b"{}\n")
    assert place.run().files == 1
    assert len(place.archive.find_session(ONE).files) == 6
    assert place.is_sound()


def test_a_young_file_is_looked_at_again_and_not_stored_again(place: Place) -> None:
    """It may change again under the same timestamp."""
    path = place.session()
    os.utime(path)
    place.run()
    again = place.run()
    assert (again.files, again.archived, again.stored) == (1, 0, 0)


def test_a_session_that_grew_stores_what_was_added(place: Place) -> None:
    place.session(noise(2 * MAX_BLOB_BYTES + 1000))
    whole = place.run().stored
    place.append(main(), noise(5000))
    added = place.run().stored
    assert whole > 2 * MAX_BLOB_BYTES
    assert 5000 < added < 6000
    assert tree(place.config) == {
        main(): (b"".join(place.archive.iter_chunks(place.archive.find_session(ONE).files[0])), 0o600)
    }


def test_a_session_that_grows_often_stays_in_few_stretches_and_stores_each_byte_a_few_times(place: Place) -> None:
    place.session(b"")
    stored, size, most = 0, 0, 0
    for _ in range(100):
        place.append(main(), noise(20_000))
        stored += place.run().stored
        most = max(most, len(place.archive.find_session(ONE).files[0].refs))
        size += 20_000
    assert most <= 16
    assert stored < 4 * size
    assert place.is_sound()


def test_small_files_share_a_blob(place: Place) -> None:
    place.session()
    for number in range(50):
        place.write(f"file-history/{ONE}/{number}@v1", noise(100))
    place.run()
    assert len(place.archive.blobs.list_names()) == 1


def test_the_same_bytes_are_stored_once(place: Place) -> None:
    data = noise(MAX_BLOB_BYTES + 50_000)
    place.session(data)
    place.write(main(TWO), data)
    assert place.run().stored < 1.1 * len(data)


def test_a_fork_shares_the_blobs_of_what_both_begin_with(place: Place) -> None:
    begin = noise(2 * MAX_BLOB_BYTES)
    place.session(begin + noise(20_000))
    place.run()
    place.write(main(TWO), begin + noise(30_000))
    assert place.run().stored < 40_000


@pytest.mark.parametrize("new", [b"other\n", b"", b"xx" + b"a" * 98])
def test_a_rewritten_or_cut_file_begins_a_generation_and_the_old_one_stays(place: Place, new: bytes) -> None:
    place.session(b"a" * 100)
    place.run()
    place.session(new)
    report = place.run()
    first, second = place.archive.list_generations(place.archive.find_session(ONE).name)
    assert (report.generations, first.generation, second.generation) == (1, 1, 2)
    assert b"".join(place.archive.iter_chunks(first.files[0])) == b"a" * 100
    assert b"".join(place.archive.iter_chunks(second.files[0])) == new


def test_a_change_that_leaves_size_and_time_as_they_were_is_noticed(place: Place) -> None:
    place.session(b"a" * 100)
    place.run()
    place.session(b"b" * 100)
    if os.name == "nt":
        pytest.skip("only POSIX has a time that nobody can set")
    assert place.run().generations == 1


def test_a_vanished_file_stays_in_the_session_and_is_marked(place: Place) -> None:
    """The client deletes large outputs of a session that it keeps."""
    output = f"projects/{SLUG}/{ONE}/tool-results/b.txt"
    place.session()
    path = place.write(output, b"large")
    place.run()
    path.unlink()
    assert place.run().archived == 1
    file = place.archive.find_session(ONE).find_file(output)
    assert file
    assert file.gone_ns
    assert place.archive.read_file(ONE, output) == b"large"
    assert place.run().files == 0
    place.write(output, b"large again")
    place.run()
    assert place.archive.read_file(ONE, output) == b"large again"
    assert len(place.archive.list_generations(place.archive.find_session(ONE).name)) == 1


def test_a_session_that_is_gone_stays(place: Place) -> None:
    path = place.session(b"kept\n")
    place.run()
    path.unlink()
    assert place.run().sessions == 0
    assert place.archive.has_session(ONE)
    assert not place.archive.has_session(TWO)
    assert place.archive.read_at(path, 1, 3) == b"ept"


@posix
def test_links_are_not_followed_and_pipes_are_not_opened(place: Place, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    place.session()
    folder = place.write(f"projects/{SLUG}/{ONE}/tool-results/b.txt").parent
    (folder / "link.txt").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe")
    report = place.run()
    assert [file.path for file in place.archive.find_session(ONE).files] == [
        main(),
        f"projects/{SLUG}/{ONE}/tool-results/b.txt",
    ]
    assert report.troubles == []


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_told_and_the_rest_archived(place: Place) -> None:
    place.session()
    place.write(f"todos/{ONE}.json", mode=0)
    report = place.run()
    assert len(report.troubles) == 1
    assert place.archive.has_session(ONE)


@posix
def test_names_that_are_no_text_are_kept(place: Place, tmp_path: Path) -> None:
    place.session()
    for name in (b"\xff\xfe%41", "ü%25".encode(), b"a\nb"):
        place.write(f"file-history/{ONE}/{os.fsdecode(name)}", name)
    place.run()
    place.restore(tmp_path / "back")
    assert tree(tmp_path / "back") == tree(place.config)


def test_a_file_that_grows_while_it_is_read_is_kept_as_one_of_its_beginnings(place: Place) -> None:
    """A writer appends numbered lines as fast as it can."""
    path = place.session(b"")
    code = (
        "import sys\n"
        "with open(sys.argv[1], 'ab', buffering=0) as file:\n"
        "    for number in range(200_000): file.write(b'%d\\n' % number)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)]) as writer:
        while writer.poll() is None:
            place.run()
    assert place.run().troubles == []
    session = place.archive.find_session(ONE)
    assert session.generation == 1
    assert place.archive.read_file(ONE, main()) == path.read_bytes()


def test_a_missing_blob_is_stored_again_while_the_file_is_there(place: Place) -> None:
    place.session(noise(50_000))
    place.run()
    (blob,) = place.archive.blobs.list_names()
    place.archive.blobs.drop(blob)
    assert not place.is_sound()
    place.run()
    assert place.is_sound()
    assert len(place.archive.list_generations(place.archive.find_session(ONE).name)) == 1


def test_only_some_sessions_are_archived_when_they_are_named(place: Place) -> None:
    place.session()
    place.session(name=TWO)
    assert place.run([TWO]).sessions == 1
    assert place.archive.list_ids() == {TWO}


def test_many_runs_at_once_make_one_archive(place: Place, tmp_path: Path) -> None:
    for number in range(40):
        place.session(noise(30_000), name=f"{number:08d}-0000-4000-8000-000000000001")
    code = (
        "import sys; from pathlib import Path; from tests.store.archive.place import Place\n"
        "Place(Path(sys.argv[1])).run()"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT) for _ in range(4)]
    assert [run.wait() for run in runs] == [0] * 4
    assert len(place.archive.list_sessions()) == 40
    assert place.is_sound()
    assert place.run().archived == 0


def test_a_damaged_manifest_does_not_stop_the_archive(place: Place) -> None:
    place.session()
    place.run()
    name = place.archive.find_session(ONE).name
    damaged = place.archive.manifests.get_path(name, 1)
    damaged.write_bytes(b"damaged")
    assert place.run().archived == 1
    assert place.archive.find_session(ONE).generation == 2
    assert damaged.read_bytes() == b"damaged"
