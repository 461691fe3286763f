"""`turnlog archive`: what the commands do and say."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import Build
from tests.store.archive.test_schedule import until
from turnlog.api.archive_upkeep import parse_age_ns, parse_generation, parse_size_bytes, parse_typed_time
from turnlog.errors import UsageError
from turnlog.store.archive import Archive

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "bbbbbbbb-0000-4000-8000-000000000002"
DAY = 86400


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("TURNLOG_HOME", str(folder))
    return folder


def session(text: str = "hello") -> bytes:
    build = Build()
    build.prompt(text, cwd="/home/dana/webshop")
    build.answer("hi")
    return build.data()


def add(machine: Machine, name: str = ONE, text: str = "hello", age: float = 1) -> Path:
    return machine.add(name, session(text), mtime=time.time() - age * DAY)


def test_a_session_is_archived_deleted_and_restored(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    path = add(machine, text="Fix the cart")
    before = path.read_bytes()
    done = turnlog("archive", "run")
    assert done.lines[0].startswith("1 of 1 sessions were new or had changed: ")
    path.unlink()
    (row,) = turnlog("archive", "list", "--gone").lines
    assert row.split() [:2] + row.split()[-4:] == ["aaaaaaaa", "2026-01-01", "gone", "Fix", "the", "cart"]  # fmt: skip
    done = turnlog("archive", "restore", "fix the cart")
    assert done.lines == [f"{ONE}: 1 written (1 file)", f"  cd /home/dana/webshop && claude --resume {ONE}"]
    assert path.read_bytes() == before
    assert turnlog("archive", "list", "--gone").err == "All archived sessions are still on disk.\n"


def test_an_empty_machine_and_an_empty_archive_say_so(turnlog: Turnlog, data: Path) -> None:
    assert turnlog("archive", "run").lines == [
        "There are no Claude Code sessions on this machine, so there is nothing to archive."
    ]
    assert "The archive is empty" in turnlog("archive", "list").err
    assert turnlog("archive", "verify").status == 0
    assert turnlog("archive", "status").status == 0
    assert turnlog("archive", "restore", "x").status == 1


def test_on_starts_a_run_in_the_background_and_off_ends_that(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    add(machine)
    assert "every 12 hours" in turnlog("archive", "on", "--every", "12").out
    until(data / "archive" / "last.json")
    found = turnlog("archive", "status", "--json").json
    assert (found["on"], found["every_hours"], found["sessions"], found["not_archived"]) == (True, 12, 1, 0)
    assert found["last_error"] is None
    turnlog("archive", "off")
    found = turnlog("archive", "status", "--json").json
    assert (found["on"], found["every_hours"], found["due"], found["sessions"]) == (False, None, None, 1)


def test_status_tells_what_is_not_archived_and_deleted_soon(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    add(machine, age=25)
    add(machine, TWO, age=2)
    found = turnlog("archive", "status", "--json").json
    assert (found["on_disk"], found["not_archived"], found["deleted_soon"]) == (2, 2, 1)
    shown = turnlog("archive", "status").out
    assert "The archive is off; turn it on with `turnlog archive on`." in shown
    assert "Not archived and due to be deleted within a week: 1 session (first: 20" in shown
    assert "30 days after the last write" in shown
    turnlog("archive", "run")
    assert turnlog("archive", "status", "--json").json["deleted_soon"] == 0
    assert "The latest run ended" in turnlog("archive", "status").out


def test_status_gives_no_date_for_what_may_be_deleted_any_time(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    add(machine, age=45)
    assert "1 session (first: the next time that Claude Code starts)." in turnlog("archive", "status").out


def test_sessions_are_listed_by_the_time_that_is_shown(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    late = Build()
    late.wait(DAY)
    late.prompt("later")
    machine.add(ONE, late.data())
    turnlog("archive", "run")
    add(machine, TWO)
    turnlog("archive", "run")
    assert [row[:8] for row in turnlog("archive", "list").lines] == ["aaaaaaaa", "bbbbbbbb"]


def test_how_to_resume_is_told_for_the_folder_that_was_named(
    machine: Machine, turnlog: Turnlog, data: Path, tmp_path: Path
) -> None:
    build = Build()
    build.prompt("hello", cwd="/home/dana/my shop")
    machine.add(ONE, build.data())
    turnlog("archive", "run")
    place = tmp_path / "a look"
    done = turnlog("archive", "restore", ONE, "--to", str(place))
    assert done.lines[-1] == f"  cd '/home/dana/my shop' && CLAUDE_CONFIG_DIR='{place}' claude --resume {ONE}"


def test_a_failed_run_is_noted(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    add(machine)
    (data / "archive").mkdir(parents=True)
    (data / "archive" / "sessions").write_text("in the way")
    done = turnlog("archive", "run")
    assert (done.status, len(done.err.splitlines())) == (1, 1)
    assert turnlog("archive", "status", "--json").json["last_error"]


def test_a_hook_archives_the_session_that_it_names(
    machine: Machine, turnlog: Turnlog, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(machine)
    add(machine, TWO)

    def set_stdin(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    set_stdin(json.dumps({"session_id": TWO, "hook_event_name": "SessionEnd"}))
    done = turnlog("archive", "run", "--quiet", "--hook")
    assert (done.status, done.raw, done.err) == (0, b"", "")
    assert Archive(data).list_ids() == {TWO}
    assert not (data / "archive" / "last.json").exists(), "one session is no run over all"
    for text in (
        json.dumps({"session_id": "cccccccc-0000-4000-8000-000000000003"}),
        "{}",
        '{"session_id": "../x"}',
        "[]",
    ):
        set_stdin(text)
        assert turnlog("archive", "run", "--hook").status == 0
    set_stdin("no json")
    assert turnlog("archive", "run", "--hook").status == 2
    assert turnlog("archive", "run", "--quiet", "--session", ONE[:6]).status == 0
    assert Archive(data).list_ids() == {ONE, TWO}
    assert turnlog("archive", "run", "--session", "cccc").status == 1


def test_a_restored_file_that_differs_is_refused_and_forced(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    path = add(machine)
    turnlog("archive", "run")
    path.write_bytes(b"newer\n")
    refused = turnlog("archive", "restore", "aaaa")
    assert refused.status == 1
    assert "--force" in refused.err
    forced = turnlog("archive", "restore", "aaaa", "--force")
    assert "1 replaced" in forced.out
    assert "a copy is in" in forced.out


def test_a_session_is_restored_elsewhere_as_it_was_earlier(
    machine: Machine, turnlog: Turnlog, data: Path, tmp_path: Path
) -> None:
    first = add(machine).read_bytes()
    turnlog("archive", "run")
    add(machine, text="rewritten")
    assert "rewritten" in turnlog("archive", "run").out
    assert "[2 generations]" in turnlog("archive", "list").out
    turnlog("archive", "restore", "aaaa", "--to", tmp_path / "back", "--at", "1")
    assert (tmp_path / "back" / "projects" / "-home-dana" / f"{ONE}.jsonl").read_bytes() == first
    assert turnlog("archive", "restore", "aaaa", "--at", "2020-01-01").status == 1
    assert turnlog("archive", "restore", "aaaa", "--at", "yesterday").status == 2


def test_a_config_folder_that_is_not_in_use_here_must_be_named(
    machine: Machine, turnlog: Turnlog, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(machine)
    turnlog("archive", "run")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "other"))
    done = turnlog("archive", "restore", "aaaa")
    assert done.status == 1
    assert "--to DIR" in done.err


def test_damage_is_told_with_exit_status_1_and_repaired_from_disk(
    machine: Machine, turnlog: Turnlog, data: Path
) -> None:
    add(machine)
    turnlog("archive", "run")
    assert turnlog("archive", "verify").lines[-1] == "Everything matches its hash."
    (blob,) = (data / "archive" / "blobs").rglob("*.zst")
    blob.write_bytes(b"damaged")
    done = turnlog("archive", "verify")
    assert done.status == 1
    assert f"damaged: {ONE} (generation 1) projects/" in done.out
    assert turnlog("archive", "verify", "--repair").status == 1
    turnlog("archive", "run")
    assert turnlog("archive", "verify").status == 0


def test_prune_says_what_it_would_do_and_does_it_with_yes(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    for text in "abc":
        add(machine, text=text)
        turnlog("archive", "run")
    done = turnlog("archive", "prune", "--keep", "1")
    assert "Would remove 2 generations" in done.out
    assert done.lines[-1] == "Nothing was changed; use --yes to make the changes."
    assert turnlog("archive", "list", "--json").json["sessions"][0]["generations"] == [1, 2, 3]
    assert "Removed 2 generations" in turnlog("archive", "prune", "--keep", "1", "--yes").out
    assert turnlog("archive", "list", "--json").json["sessions"][0]["generations"] == [3]
    assert turnlog("archive", "prune", "--gone").status == 2
    assert turnlog("archive", "prune", "--max-size", "much").status == 2


def test_a_hostile_title_does_no_harm(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    path = machine.add(ONE, session(HOSTILE), slug="-x\x1b[2J" if os.name != "nt" else "-x")
    for words in (["run"], ["list"], ["verify"], ["status"], ["prune"], ["restore", ONE]):
        done = turnlog("archive", *words)
        assert harmful(done.out + done.err) == set(), words
    path.unlink()
    assert harmful(turnlog("archive", "prune", "--older-than", "0h", "--gone").out) == set()


def test_ls_warns_of_sessions_that_will_be_deleted_soon(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    add(machine, age=28)
    add(machine, TWO, age=2)
    when = time.strftime("%Y-%m-%d", time.localtime(time.time() + 2 * DAY))
    assert turnlog("ls").err == (
        f"Claude Code will delete 1 session starting on {when} (cleanupPeriodDays 30);"
        " run `turnlog archive on` to keep it.\n"
    )
    (machine.folder / "settings.json").write_text('{"cleanupPeriodDays": 1}')
    assert "Claude Code will delete 2 sessions the next time it starts (cleanupPeriodDays 1)" in turnlog("ls").err
    (machine.folder / "settings.json").write_text('{"cleanupPeriodDays": 5}')
    assert "2 sessions within a week, 1 of them the next time it starts (cleanupPeriodDays 5)" in turnlog("ls").err
    turnlog("archive", "run")
    assert turnlog("ls").err == ""


def test_ls_tells_when_each_session_is_deleted(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    machine.add(ONE, session(), mtime=1_800_000_000)
    (found,) = turnlog("ls", "--json").json["sessions"]
    assert found["deleted_after"] == "2027-02-14T08:00:00.000Z"
    (machine.folder / "settings.json").write_text('{"cleanupPeriodDays": 0}')
    (found,) = turnlog("ls", "--json").json["sessions"]
    assert found["deleted_after"] is None


def test_words_for_times_and_sizes() -> None:
    assert (parse_size_bytes("500MB"), parse_size_bytes("1.5 GiB"), parse_size_bytes("7"), parse_size_bytes(None)) == (
        500_000_000,
        1_610_612_736,
        7,
        None,
    )
    assert (parse_generation("3"), parse_generation(None), parse_age_ns(None)) == (3, None, None)
    assert parse_typed_time("2026-11-03").hour == 23
    assert parse_typed_time("2026-11-03T14:05").minute == 5
    assert (parse_age_ns("2d") or 0) == pytest.approx(time.time_ns() - 2 * DAY * 10**9, abs=10**10)
    assert (parse_age_ns("2026-11-03T14:05+00:00") or 0) == 1_793_714_700 * 10**9
    for words in ("x", "12 parsecs", ""):
        with pytest.raises(UsageError):
            parse_age_ns(words)
