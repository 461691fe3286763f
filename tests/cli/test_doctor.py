"""`turnlog doctor`: what ails a session in the words of whoever has it, with the remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import SESSION, Build, base, variant
from turnlog.entries.slug import make_slug
from turnlog.session.session import Session
from turnlog.store import healthy_sessions

GONE = "aaaaaaaa-0000-4000-8000-000000000001"


def cut() -> Build:
    build = base()
    build["u3"]["parentUuid"] = "gone"
    return build


def add_in_project(machine: Machine, build: Build, name: str = SESSION) -> Path:
    """A session whose folder is that of its project, which exists."""
    cwd = machine.folder / "shop"
    cwd.mkdir(exist_ok=True)
    for line in build.lines:
        line["cwd"] = str(cwd)
    return machine.add(name, build.data(), slug=make_slug(str(cwd)))


def test_a_healthy_session_is_told_so_and_what_was_looked_at(turnlog: Turnlog, machine: Machine) -> None:
    path = add_in_project(machine, base())
    done = turnlog("doctor", SESSION)
    assert (done.status, done.err) == (0, "")
    assert done.lines[:2] == [f"{SESSION}  u1 text", str(path)]
    assert done.lines[-1].startswith("Healthy: none of the ")
    assert "examined 6 entries and 0 calls, 6 entries would be resumed" in done.lines[-1]


def test_each_illness_is_told_with_notice_case_cause_and_remedy(turnlog: Turnlog, machine: Machine) -> None:
    add_in_project(machine, cut())
    done = turnlog("doctor", SESSION)
    assert done.status == 1
    at = done.lines.index(
        "error: Resuming shows only the end of the conversation although the file is complete.  [hidden-tail]"
    )
    here, cause, remedy = done.lines[at + 1 : at + 4]
    hidden = "4 prompts and answers before this entry are not shown: the chain of parents ends here (line 5)"
    assert here == f"  here    {hidden}"
    assert cause.startswith("  cause   the client named an entry that it never wrote")
    assert remedy == f"  remedy  turnlog repair {SESSION} --only hidden-tail"
    assert done.lines[-1] == "2 errors, 0 warnings"


def test_a_file_that_no_id_finds_is_named_by_its_path_in_remedies(turnlog: Turnlog, tmp_path: Path) -> None:
    folder = tmp_path / "my files"
    folder.mkdir()
    path = cut().write(folder)
    assert f"turnlog repair '{path}' --only missing-parent" in turnlog("doctor", path).out


def test_warnings_alone_are_no_failure(turnlog: Turnlog, machine: Machine) -> None:
    path = add_in_project(machine, base())
    path.write_bytes(path.read_bytes() + b'{"torn')
    done = turnlog("doctor", SESSION)
    assert (done.status, done.lines[-1]) == (0, "0 errors, 1 warning")


def test_many_places_are_counted_and_some_named(turnlog: Turnlog, machine: Machine) -> None:
    path = add_in_project(machine, base())
    path.write_bytes(path.read_bytes() + b"{broken\n" * 7)
    assert "(lines 7, 8, 9, 10, 11 …, 7 times)" in turnlog("doctor", SESSION).out


def test_a_prompt_that_begins_anew_needs_no_remedy_after_a_rewind(turnlog: Turnlog, machine: Machine) -> None:
    build = base()
    build["u3"]["parentUuid"] = None
    add_in_project(machine, build)
    done = turnlog("doctor", SESSION)
    assert done.status == 0
    assert "remedy  none, if you rewound or cleared the conversation; else: turnlog repair" in done.out
    assert done.lines[-1].startswith("Healthy")


def test_over_all_sessions_each_sick_one_has_a_line_and_the_healthy_are_counted(
    turnlog: Turnlog, machine: Machine
) -> None:
    add_in_project(machine, base())
    add_in_project(machine, cut(), SESSION.replace("1", "2"))
    add_in_project(machine, Build(), SESSION.replace("1", "3"))
    for words in ((), ("--all",)):
        done = turnlog("doctor", *words)
        assert done.status == 1
        assert done.lines[0] == "22222222    2   0  hidden-tail, missing-parent  u1 text"
        assert "       1  error: hidden-tail" in done.lines
        assert done.lines[-1] == "2 sessions examined: 1 sick, 1 healthy; 1 file without a conversation skipped"


def test_a_machine_without_sessions_looks_at_the_demo_which_is_healthy(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("doctor")
    assert done.status == 0
    assert "showing a made-up demo" in done.err
    assert "0 sick" in done.lines[-1]


def test_the_state_of_the_machine_is_looked_at_too(turnlog: Turnlog, machine: Machine) -> None:
    add_in_project(machine, base())
    (machine.folder / ".claude.json").write_text("{cut")
    (machine.folder / "history.jsonl").write_text(json.dumps({"display": "hi", "sessionId": GONE}) + "\n")
    done = turnlog("doctor", "--all")
    assert done.status == 1
    assert "[broken-state-file]" in done.out
    assert "1 session left typed prompts but no transcript" in done.out
    assert "remedy  turnlog salvage ID" in done.out


def test_a_session_that_is_gone_is_told_with_what_is_left(turnlog: Turnlog, machine: Machine) -> None:
    add_in_project(machine, base())
    (machine.folder / "history.jsonl").write_text(json.dumps({"display": "hi", "sessionId": GONE}) + "\n")
    done = turnlog("doctor", "aaaaaaaa")
    assert done.status == 1
    assert done.lines[0] == f"{GONE}  hi"
    assert "1 prompt and 0 files are left of it" in done.out
    assert f"turnlog salvage {GONE}" in done.out
    assert turnlog("doctor", "aaaaaaaa", "--json").json["sessions"][0]["path"] is None


def test_a_session_that_the_archive_has_is_restored_and_not_salvaged(
    turnlog: Turnlog, own_data: Machine, machine: Machine
) -> None:
    path = add_in_project(machine, base())
    turnlog("archive", "run")
    path.unlink()
    for words in ((SESSION[:8],), (str(path),)):
        done = turnlog("doctor", *words)
        assert (done.status, done.lines[0]) == (1, f"{SESSION}  u1 text")
        assert f"remedy  turnlog archive restore {SESSION}" in done.out
    (machine.folder / "history.jsonl").write_text(
        "".join(json.dumps({"display": "hi", "sessionId": name}) + "\n" for name in (SESSION, GONE))
    )
    done = turnlog("doctor", SESSION[:8])
    assert "all of it is in the archive; 1 prompt and 0 files are left of it here" in done.out
    assert "salvage" not in done.out
    (symptom,) = turnlog("doctor", "--all", "--json").json["machine"]
    assert symptom["text"].endswith("2 sessions left typed prompts but no transcript; the archive has 1 of them whole")
    assert symptom["remedy"] == (
        "turnlog archive restore ID (`turnlog archive list --gone` lists the ids), turnlog salvage ID"
    )


def test_a_session_that_nothing_is_known_of_is_not_found(turnlog: Turnlog, machine: Machine) -> None:
    add_in_project(machine, base())
    done = turnlog("doctor", "no such session")
    assert (done.status, done.out) == (1, "")
    assert "no session is called" in done.err


def test_why_a_session_is_not_in_the_clients_list_is_told(turnlog: Turnlog, machine: Machine) -> None:
    machine.add(SESSION, base().data(), slug="-home-dana-elsewhere")
    done = turnlog("doctor", SESSION)
    assert "Claude Code's list of sessions shows it in another project.  [not-in-picker]" in done.out
    assert "the folder of another project than the one it was written in, /home/dana/webshop" in done.out
    assert "[missing-cwd]" in done.out


def test_a_file_that_can_not_be_read_is_ill_too(turnlog: Turnlog, machine: Machine) -> None:
    path = machine.add(SESSION, b"x")
    path.unlink()
    path.mkdir()
    from turnlog.api.diagnoses import examine_session_file

    (symptom,) = examine_session_file(path).symptoms
    assert (symptom.kind, symptom.severity) == ("unreadable", "error")


def test_json_names_every_place(turnlog: Turnlog) -> None:
    document = turnlog("doctor", variant("garbage-line-in-the-middle"), "--json").json
    (session,) = document["sessions"]
    (symptom,) = [item for item in session["symptoms"] if item["kind"] == "broken-line"]
    assert symptom["places"] == [
        {"line": 3, "offset": symptom["places"][0]["offset"], "uuid": None, "blocks": [], "detail": None}
    ]
    assert document["summary"]["errors"] == 1
    assert not session["healthy"]


def test_a_session_and_all_of_them_is_a_wrong_call(turnlog: Turnlog) -> None:
    assert turnlog("doctor", "last", "--all").status == 2


def test_hostile_content_does_no_harm(turnlog: Turnlog, machine: Machine) -> None:
    build = Build(HOSTILE)
    build.prompt(HOSTILE, parent=HOSTILE)
    build.call(HOSTILE, HOSTILE)
    build.prompt("on")
    for line in build.lines:
        line["cwd"] = line["entrypoint"] = HOSTILE
    machine.add(SESSION, build.data() + b"{\x1b[2J\n")
    (machine.folder / "history.jsonl").write_text(json.dumps({"display": HOSTILE, "sessionId": GONE}) + "\n")
    for words in ([SESSION], [], [GONE]):
        done = turnlog("doctor", *words)
        assert done.status in (0, 1)
        assert harmful(done.out) == set()


@pytest.fixture
def own_data(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with a data folder of its own."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return machine


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The sessions that are opened."""
    opened: list[Path] = []
    real = Session.open

    def note(path: Path) -> Session:
        opened.append(path)
        return real(path)

    monkeypatch.setattr(Session, "open", note)
    return opened


def examine(turnlog: Turnlog, *words: str) -> Any:
    return turnlog("doctor", "--json", *words).json


def test_what_was_healthy_is_not_read_again_and_what_changed_is(
    turnlog: Turnlog, own_data: Machine, reads: list[Path]
) -> None:
    path = add_in_project(own_data, base())
    other = add_in_project(own_data, base(), GONE)
    first = examine(turnlog)
    assert sorted(reads) == sorted([path, other])
    reads.clear()
    assert examine(turnlog) == first
    assert reads == []
    assert examine(turnlog, "--fresh") == first
    assert sorted(reads) == sorted([path, other])
    reads.clear()
    build = cut()
    for line in build.lines:
        line["cwd"] = str(own_data.folder / "shop")
    path.write_bytes(build.data())
    assert examine(turnlog)["summary"]["sick"] == 1
    assert reads == [path]


def test_a_sick_session_is_always_read(turnlog: Turnlog, own_data: Machine, reads: list[Path]) -> None:
    path = add_in_project(own_data, cut())
    first = examine(turnlog)
    assert examine(turnlog) == first
    assert reads == [path, path]


def change_rules(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(healthy_sessions, "hash_rules", lambda: b"others")


def remove_folder(path: Path, _: pytest.MonkeyPatch) -> None:
    (path.parent.parent.parent / "shop").rmdir()


def add_session_list(path: Path, _: pytest.MonkeyPatch) -> None:
    (path.parent / "sessions-index.json").write_text("{}")


def add_sub_agent(path: Path, _: pytest.MonkeyPatch) -> None:
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(base().data())


def add_loose_sub_agent(path: Path, _: pytest.MonkeyPatch) -> None:
    (path.parent / "agent-a1.jsonl").write_bytes(base().data())


def damage_memory(path: Path, _: pytest.MonkeyPatch) -> None:
    (path.parent.parent.parent.parent / "data" / "healthy.db").write_bytes(b"no database at all" * 1000)


@pytest.mark.parametrize(
    "change", [change_rules, remove_folder, add_session_list, add_sub_agent, add_loose_sub_agent, damage_memory]
)
def test_a_session_is_read_again_if_anything_it_depends_on_changes(
    turnlog: Turnlog,
    own_data: Machine,
    reads: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path, pytest.MonkeyPatch], None],
) -> None:
    path = add_in_project(own_data, base())
    examine(turnlog)
    reads.clear()
    change(path, monkeypatch)
    after = examine(turnlog)
    assert reads == [path]
    assert after == examine(turnlog, "--fresh")


def test_sessions_that_are_gone_are_forgotten(turnlog: Turnlog, own_data: Machine, tmp_path: Path) -> None:
    path = add_in_project(own_data, base())
    add_in_project(own_data, base(), GONE)
    examine(turnlog)
    path.unlink()
    examine(turnlog)
    database = apsw.Connection(str(tmp_path / "data" / "healthy.db"))
    assert database.execute("SELECT count(*) FROM healthy").get == 1
    database.close()


def test_where_all_transcripts_are_gone_the_demo_is_not_counted_as_the_users(
    turnlog: Turnlog, own_data: Machine
) -> None:
    (own_data.folder / "history.jsonl").write_text(json.dumps({"display": "hi", "sessionId": GONE}) + "\n")
    done = turnlog("doctor", "--all")
    assert "demo" not in done.err
    assert done.lines[-1] == "0 sessions examined: 0 sick, 0 healthy"
    assert "1 session left typed prompts but no transcript" in done.out
    assert turnlog("show", "last").status == 1
    assert "demo" not in turnlog("ls").err
