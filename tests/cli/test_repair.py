"""`turnlog repair`: a new session or the same one, made well, and an honest report."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.edit import sick
from tests.session.build import BASE, SESSION, Build, base, describe_resumed, encode_lines
from turnlog.api.repairs import replace_repaired
from turnlog.edit.illnesses.picker import diagnose_surroundings
from turnlog.edit.illnesses.repair import repair_session
from turnlog.edit.session_target import find_target
from turnlog.entries.slug import make_slug
from turnlog.errors import Changed
from turnlog.session.session import Session

LONG_AGO = 1_700_000_000


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where turnlog keeps what it needs to undo."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def add(machine: Machine, content: bytes, name: str = SESSION) -> Path:
    return machine.add(name, content, slug="-home-dana-webshop", mtime=LONG_AGO)


def others(machine: Machine) -> list[Path]:
    return [path for path in machine.folder.glob("projects/*/*.jsonl") if path.stem != SESSION]


def said_in(path: Path) -> list[str]:
    with Session.open(path) as session:
        return describe_resumed(session)


def test_a_repair_makes_a_new_session_that_says_what_it_is(turnlog: Turnlog, machine: Machine) -> None:
    ill = sick.missing_parent()
    path = add(machine, ill.data)
    done = turnlog("repair", SESSION)
    assert done.status == 0
    assert path.read_bytes() == ill.data
    (made,) = others(machine)
    assert said_in(made) == BASE
    assert "Repair of u1 text" in done.out
    assert f"claude --resume {made.stem}" in done.out
    assert b"gone" not in made.read_bytes()
    assert turnlog("doctor", made.stem).status == 0


def test_what_was_done_is_told_kind_by_kind(turnlog: Turnlog, machine: Machine) -> None:
    add(machine, sick.missing_parent().data + b'{"torn')
    lines = turnlog("repair", SESSION, "--dry-run").lines
    assert lines == [
        "kind               before  after   what was done",
        "torn-line               1      0   removed the cut-off last line, 6 bytes; the source has it",
        "missing-parent          1      0   attached to what was written just before",
        "hidden-tail             1      0   cured by the other repairs",
        "before, after: number of places in the session that have the problem",
        "Nothing was written: this was a dry run.",
    ]
    assert not others(machine)


def test_a_repair_in_place_keeps_mode_and_times_and_is_undone_byte_for_byte(turnlog: Turnlog, machine: Machine) -> None:
    ill = sick.build_glued()
    path = add(machine, ill.data)
    path.chmod(0o640)
    done = turnlog("repair", SESSION, "--in-place")
    assert done.status == 0
    assert said_in(path) == BASE
    assert stat.S_IMODE(path.stat().st_mode) == 0o640 or os.name == "nt"
    assert path.stat().st_mtime == LONG_AGO
    assert not others(machine)
    assert turnlog("undo").status == 0
    assert path.read_bytes() == ill.data


def test_a_session_that_was_written_just_now_is_not_repaired_in_place(turnlog: Turnlog, machine: Machine) -> None:
    path = machine.add(SESSION, sick.cycle().data)
    done = turnlog("repair", SESSION, "--in-place")
    assert done.status == 1
    assert "written" in done.err
    assert path.read_bytes() == sick.cycle().data
    assert turnlog("repair", SESSION, "--in-place", "--force").status == 0
    assert said_in(path) == BASE


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_a_session_that_is_open_in_a_client_is_not_repaired_in_place_even_by_force(
    turnlog: Turnlog, machine: Machine
) -> None:
    own = str(uuid.uuid4())  # other tests look for processes with the usual one at the same time
    path = machine.add(own, sick.cycle().data, mtime=LONG_AGO)
    program = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program, "--resume", own], stdin=subprocess.PIPE) as client:
        try:
            done = turnlog("repair", own, "--in-place", "--force")
        finally:
            client.communicate()
    assert done.status == 1
    assert str(client.pid) in done.err
    assert path.read_bytes() == sick.cycle().data


def test_a_session_that_grows_during_the_work_is_not_changed(machine: Machine) -> None:
    path = add(machine, sick.cycle().data)
    with Session.open(path) as session:
        outcome = repair_session(session)
        assert outcome.draft is not None
        with path.open("ab") as file:
            file.write(b'{"type":"mode"}\n')
        os.utime(path, (LONG_AGO, LONG_AGO))
        with pytest.raises(Changed):
            replace_repaired(find_target(path), session, outcome.draft, outcome.treatments)
    assert path.read_bytes() == sick.cycle().data + b'{"type":"mode"}\n'


def test_a_sound_session_is_left_alone(turnlog: Turnlog, machine: Machine) -> None:
    add(machine, base().data())
    for words in ([], ["--in-place"], ["--dry-run"]):
        done = turnlog("repair", SESSION, *words)
        assert (done.status, done.out.startswith("Nothing to repair")) == (0, True)
    assert turnlog("repair", SESSION, "--only", "cycle").lines == ["Nothing to repair: the session has no cycle."]
    assert not others(machine)


def test_what_is_no_matter_of_a_session_is_told_with_what_to_do(turnlog: Turnlog, machine: Machine) -> None:
    add(machine, base().data())
    done = turnlog("repair", SESSION, "--only", "broken-state-file")
    assert done.status == 0
    assert "newest copy" in done.out


def test_an_unknown_kind_is_refused_with_the_list(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("repair", SESSION, "--only", "headache")
    assert done.status == 2
    assert "missing-parent" in done.err


@pytest.mark.parametrize("words", [["--title", "x", "--in-place"], ["--force"]])
def test_options_that_do_not_go_together_are_refused(turnlog: Turnlog, machine: Machine, words: list[str]) -> None:
    add(machine, base().data())
    assert turnlog("repair", SESSION, *words).status == 2


def test_what_is_left_is_told_and_is_a_failure(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.result("c9")
    build.answer("what?")
    add(machine, build.data())
    done = turnlog("repair", SESSION)
    assert done.status == 1
    assert "not repaired: not done: no user entry is left" in done.out
    assert done.lines[-2:] == [
        "Not repaired: orphan-result.",
        "Nothing could be repaired; nothing was written.",
    ]
    assert not others(machine)


def test_the_title_can_be_given(turnlog: Turnlog, machine: Machine) -> None:
    add(machine, sick.cycle().data)
    assert "  Well again  (" in turnlog("repair", SESSION, "--title", "Well again").out


def test_a_title_in_the_middle_stands_at_the_end_again(turnlog: Turnlog, machine: Machine) -> None:
    build = base()
    build.prompt("x" * 90_000)
    build.note("custom-title", customTitle="My title")
    build.prompt("y" * 90_000)
    build.answer("well")
    path = add(machine, build.data())
    assert "Repair of My title" in turnlog("repair", SESSION).out
    assert turnlog("repair", SESSION, "--in-place").status == 0
    with Session.open(path) as session:
        assert "title-not-in-tail" not in {symptom.kind for symptom in diagnose_surroundings(session)}
        assert session.titles.custom == "My title"


def test_a_session_that_a_program_began_gets_into_the_list_when_that_is_asked_for(
    turnlog: Turnlog, machine: Machine
) -> None:
    build = base()
    for row in build.lines:
        row["entrypoint"] = "sdk-cli"
    path = add(machine, build.data())
    assert turnlog("repair", SESSION).out.startswith("Nothing to repair")
    done = turnlog("repair", SESSION, "--only", "not-in-picker", "--in-place")
    assert done.status == 0
    with Session.open(path) as session:
        assert "not-in-picker" not in {symptom.kind for symptom in diagnose_surroundings(session)}


def test_a_session_that_begins_with_a_sub_agent_gets_into_the_list(turnlog: Turnlog, machine: Machine) -> None:
    aside = Build()
    aside.prompt("aside", "s1", isSidechain=True)
    path = add(machine, encode_lines(aside.lines + base().lines))
    assert turnlog("repair", SESSION, "--in-place").status == 0
    assert said_in(path) == BASE
    with Session.open(path) as session:
        assert "not-in-picker" not in {symptom.kind for symptom in diagnose_surroundings(session)}


def test_the_remedy_for_a_session_whose_project_is_gone_is_a_move(turnlog: Turnlog, machine: Machine) -> None:
    machine.add(SESSION, base().data(), slug="-somewhere-else", mtime=LONG_AGO)
    done = turnlog("repair", SESSION)
    assert done.status == 1
    assert "`turnlog move /home/dana/webshop NEW`" in done.out
    assert not others(machine)


def test_a_session_in_another_projects_folder_is_copied_to_its_own(
    turnlog: Turnlog, machine: Machine, tmp_path: Path
) -> None:
    home = tmp_path / "web shop"
    home.mkdir()
    build = base()
    for line in build.lines:
        line["cwd"] = str(home)
    path = machine.add(SESSION, build.data(), slug="-somewhere-else", mtime=LONG_AGO)
    agent = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(build.data())
    os.utime(agent, (LONG_AGO, LONG_AGO))
    assert f"remedy  turnlog repair {SESSION} --only not-in-picker" in turnlog("doctor", SESSION).out
    done = turnlog("repair", SESSION, "--only", "not-in-picker")
    assert (done.status, "own project's folder" in done.out) == (0, True)
    (made,) = (machine.folder / "projects" / make_slug(str(home))).glob("*.jsonl")
    assert turnlog("doctor", made.stem).lines[-1].startswith("Healthy")
    assert (made.with_suffix("") / "subagents" / "agent-a1.jsonl").exists()
    assert path.exists()
    done = turnlog("repair", SESSION, "--only", "not-in-picker", "--in-place")
    assert done.status == 1
    assert "without --in-place" in done.out, done.err


def test_a_project_that_was_renamed_is_moved_by_the_command_that_the_doctor_names(
    turnlog: Turnlog, machine: Machine, tmp_path: Path
) -> None:
    """Somebody renamed the project and its folder of sessions by hand, and has worked there since."""
    old, new = tmp_path / "old shop", tmp_path / "new shop"
    new.mkdir()
    slug = make_slug(str(new))
    for name, cwd in ((SESSION, old), (SESSION.replace("1", "2"), new)):
        build = base()
        for line in build.lines:
            line["cwd"] = str(cwd)
        machine.add(name, build.data(), slug=slug, mtime=LONG_AGO)
    report = turnlog("doctor", SESSION, "--json").json
    remedies = {symptom["remedy"] for symptom in report["sessions"][0]["symptoms"]}
    command = f"turnlog move '{old}' '{new}'"
    assert remedies == {command, f"{command}, if the project has moved"}
    assert turnlog(*shlex.split(command)[1:]).status == 0
    assert turnlog("doctor", SESSION).lines[-1].startswith("Healthy: none")


def test_the_sessions_of_a_removed_worktree_are_moved_to_its_repository(
    turnlog: Turnlog, machine: Machine, tmp_path: Path
) -> None:
    tree = tmp_path / "shop" / ".claude" / "worktrees" / "fix"
    (tmp_path / "shop").mkdir()
    build = base()
    for line in build.lines:
        line["cwd"] = str(tree)
    machine.add(SESSION, build.data(), slug=make_slug(str(tree)), mtime=LONG_AGO)
    assert f"remedy  turnlog move {tree} {tmp_path / 'shop'}, if" in turnlog("doctor", SESSION).out


def test_no_resume_command_is_printed_for_a_copy_that_would_not_resume(turnlog: Turnlog, machine: Machine) -> None:
    """A cut line is repaired, but nothing in the file is a conversation that could go on."""
    build = Build()
    build.note("custom-title", customTitle="Only a title")
    machine.add(SESSION, build.data() + b'{"type":"us', mtime=LONG_AGO)
    for words in (("repair", SESSION), ("clone", SESSION)):
        done = turnlog(*words)
        assert "Claude Code would not resume it: " in done.out
        assert "Resume it with" not in done.out
    assert turnlog("repair", SESSION, "--json").json["made"]["refusal"]


def test_texts_of_strangers_do_no_harm_on_a_terminal(turnlog: Turnlog, machine: Machine) -> None:
    build = base()
    build.prompt("stray", "s1", parent=None, sessionId=HOSTILE)
    add(machine, build.data())
    assert not harmful(turnlog("repair", SESSION, "--dry-run").out)


def test_the_demo_is_not_repaired(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("repair", "last", "--dry-run")
    assert (done.status, done.out[:17]) == (0, "Nothing to repair")
    assert turnlog("repair", "last").status == 2


def test_everything_is_told_as_json(turnlog: Turnlog, machine: Machine) -> None:
    path = add(machine, sick.cycle().data)
    told = json.loads(turnlog("repair", SESSION, "--json").raw)
    (made,) = others(machine)
    assert told["session"] == str(path)
    assert told["made"]["session_id"] == made.stem
    first = told["treatments"][0]
    assert (first["kind"], first["left"], first["cured"]) == ("cycle", 0, True)
    assert (told["cured"], told["dry_run"], told["change"]) == (True, False, None)
    assert turnlog("repair", SESSION, "--in-place", "--json").json["change"].endswith("-repair")
