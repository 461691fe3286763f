"""`turnlog redact`: what it finds, what it writes, and that it never tells the secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.session.build import SESSION, Build, base

SECRET = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
"""Of the form of a token; made from parts, lest somebody's scanner takes it for one."""


@pytest.fixture
def session(machine: Machine) -> Path:
    build = Build()
    build.prompt(f"my token is {SECRET}, I am dana@example.org in /home/dana/shop, ticket ACME-123")
    build.answer("thanks")
    return machine.add(SESSION, build.data(), mtime=1_700_000_000)


def test_without_a_goal_only_what_there_is_is_told_and_nothing_written(turnlog: Turnlog, session: Path) -> None:
    before = session.read_bytes()
    done = turnlog("redact", "last")
    assert done.status == 1
    assert done.lines[1].split() == ["github", "1", "1"]
    assert "github in line 1 message.content" in done.out
    assert SECRET not in done.out + done.err
    assert session.read_bytes() == before
    assert [path.name for path in session.parent.iterdir()] == [session.name]


def test_a_clone_is_without_the_secret(turnlog: Turnlog, session: Path) -> None:
    made = turnlog("redact", "last", "--clone", "--title", "For Kim", "--json").json
    assert made["found"] == 1
    assert made["made"]["title"] == "For Kim"
    text = Path(made["made"]["path"]).read_text()
    assert SECRET not in text
    assert "my token is [secret:github:1]" in text
    assert SECRET in session.read_text()


def test_a_transcript_is_written_to_a_file_and_never_over_one(turnlog: Turnlog, session: Path, tmp_path: Path) -> None:
    goal = tmp_path / "shared.jsonl"
    done = turnlog("redact", "last", "-o", goal)
    assert (done.status, done.lines[-1]) == (0, f"Wrote {goal}.")
    assert len(goal.read_bytes().splitlines()) == len(session.read_bytes().splitlines())
    assert SECRET not in goal.read_text()
    again = turnlog("redact", "last", "-o", goal)
    assert (again.status, again.err) == (1, f"turnlog: {goal}: the file already exists; nothing was written\n")
    nowhere = turnlog("redact", "last", "-o", tmp_path / "no" / "folder")
    assert nowhere.status == 1
    assert "nothing was written" in nowhere.err


def test_standard_output_has_the_transcript_and_the_report_goes_beside_it(turnlog: Turnlog, session: Path) -> None:
    done = turnlog("redact", "last", "-o", "-")
    assert len(done.lines) == len(session.read_bytes().splitlines())
    assert "[secret:github:1]" in done.out
    assert "github" in done.err


def test_more_is_found_on_request_and_less_too(turnlog: Turnlog, session: Path) -> None:
    words = ("--emails", "--homes", "--pattern", "ticket=ACME-[0-9]+", "--without", "github", "--without", "token")
    found = turnlog("redact", "last", *words, "--json").json
    assert {row["rule"] for row in found["rules"]} == {"email", "user", "ticket"}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--clone", "-o", "x"), "use either --clone"),
        (("--title", "x"), "requires --clone"),
        (("--pattern", "x"), "NAME=EXPRESSION"),
        (("--without", "nonsense"), "unknown rule"),
    ],
)
def test_wrong_words_are_explained(turnlog: Turnlog, session: Path, words: tuple[str, ...], complaint: str) -> None:
    done = turnlog("redact", "last", *words)
    assert (done.status, done.out) == (2, "")
    assert complaint in done.err


def test_a_session_without_secrets_says_so_and_that_this_is_no_promise(turnlog: Turnlog, machine: Machine) -> None:
    machine.add(SESSION, base().data())
    done = turnlog("redact", "last")
    assert done.status == 0
    assert done.out.startswith("No secrets found.")


def test_many_places_are_counted_and_thinking_that_goes_is_told(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    for number in range(25):
        build.prompt(f"{number}: {SECRET} and {SECRET}")
    thought = {"type": "thinking", "thinking": SECRET, "signature": "c2lnbmVk"}
    text = {"type": "text", "text": "yes"}
    message = {"id": "m1", "role": "assistant", "model": "claude-x", "content": [thought, text]}
    build.row("assistant", message=message)
    machine.add(SESSION, build.data())
    done = turnlog("redact", "last")
    assert "(2 times)" in done.out
    assert "… and 6 more places" in done.out
    assert "A copy leaves out 1 block of thinking with a secret" in done.out
    assert "Removed 1 block of thinking with a secret" in turnlog("redact", "last", "--clone").out


def test_what_belongs_to_the_session_is_looked_at_too(turnlog: Turnlog, session: Path) -> None:
    output = session.with_suffix("") / "tool-results" / "1.txt"
    output.parent.mkdir(parents=True)
    output.write_text(f"token {SECRET}\n")
    done = turnlog("redact", "last")
    assert done.lines[1].split() == ["github", "2", "1"]
    assert "github in 1.txt" in done.out


def test_a_file_that_is_called_otherwise_is_looked_at_alone(turnlog: Turnlog, session: Path, tmp_path: Path) -> None:
    other = tmp_path / "notes.jsonl"
    other.write_bytes(session.read_bytes())
    assert turnlog("redact", other).lines[1].split() == ["github", "1", "1"]


def test_a_secret_in_a_line_that_is_no_entry_is_found_and_left_out(turnlog: Turnlog, session: Path) -> None:
    session.write_bytes(session.read_bytes() + f"token {SECRET}\n".encode())
    assert "github in lines that can't be read" in turnlog("redact", "last").out
    copy = turnlog("redact", "last", "-o", "-")
    assert copy.status == 0
    assert SECRET not in copy.out
