"""`turnlog trace show`: the spans of a session as a tree."""

from __future__ import annotations

from tests.cli.conftest import HOSTILE, Machine, Turnlog
from tests.session.build import SESSION, Build, find_recording

USAGE = {
    "input_tokens": 5,
    "output_tokens": 7,
    "cache_read_input_tokens": 1000,
    "cache_creation_input_tokens": 30,
    "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
}


def session(machine: Machine) -> str:
    build = Build()
    build.prompt("run the tests")
    build.call("c1", usage=USAGE)
    build.result("c1", "Exit code 1", error=True)
    build.answer("They fail.")
    build.prompt("thanks")
    build.answer("Gladly.")
    machine.add(SESSION, build.data())
    return SESSION


def test_each_turn_is_a_tree(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("trace", "show", session(machine))
    assert done.status == 0
    assert done.lines[:6] == [
        "Turn 1  run the tests",
        "└─ invoke_agent claude-code  3 min",
        "   ├─ chat claude-opus-5     1 min  5 + 1,000 r + 30 w → 7",
        "   ├─ execute_tool Bash      1 min  ✗ Exit code 1",
        "   └─ chat claude-opus-5     1 min",
        "",
    ]


def test_calls_stand_below_their_generation_on_request(turnlog: Turnlog, machine: Machine) -> None:
    lines = turnlog("trace", "show", session(machine), "--nest", "--turn", "1").lines
    assert lines[3].startswith("   │  └─ execute_tool Bash")
    assert not any(line.startswith("Turn 2") for line in lines)


def test_a_turn_that_is_not_there_is_told(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("trace", "show", session(machine), "--turn", "9")
    assert (done.status, done.err) == (
        1,
        f"turnlog: turn 9 has no trace; `turnlog trace show {SESSION}` shows all turns\n",
    )


def test_sub_agents_stand_below_their_call(turnlog: Turnlog) -> None:
    lines = turnlog("trace", "show", find_recording("2.1.325/agents")).lines
    call = next(number for number, line in enumerate(lines) if "execute_tool Task" in line or "Agent" in line)
    assert "invoke_agent" in lines[call + 1]


def test_nothing_of_a_transcript_reaches_the_terminal_as_it_is(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt(HOSTILE)
    build.call("c1", name=HOSTILE, model=HOSTILE)
    build.result("c1", HOSTILE, error=True)
    build.answer(HOSTILE, model=HOSTILE)
    machine.add(SESSION, build.data())
    done = turnlog("trace", "show", SESSION)
    assert done.status == 0
    assert not {*"\x1b\x07\x9b\u202e\u2066\r\x7f"} & {*done.out}
    assert turnlog("trace", "show", SESSION, "--json").status == 0


def test_a_session_without_an_answer_has_no_tree(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("hello?")
    machine.add(SESSION, build.data())
    assert turnlog("trace", "show", SESSION).lines == ["No turn has an answer yet."]
