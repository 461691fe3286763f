"""`turnlog show`: what is told of a session, and what is left out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import DATA, SESSION, Build, find_recording, use
from turnlog.demo import config_dir
from turnlog.entries.layout import list_session_files

EVERY = sorted(DATA.glob("sessions/**/????????-*.jsonl")) + [item.path for item in list_session_files(config_dir())]


def show(turnlog: Turnlog, machine: Machine, build: Build, *words: str) -> list[str]:
    done = turnlog("show", machine.add(SESSION, build.data()), *words)
    assert (done.status, done.err) == (0, "")
    return done.lines


def turn_numbers(lines: list[str]) -> list[int]:
    return [int(found[1]) for line in lines if (found := re.match(r"── (\d+) ·", line))]


def build_branches() -> Build:
    """Two turns, then two different third ones."""
    build = Build()
    build.prompt("one", "u1")
    build.answer("first", uuid="a1")
    build.prompt("two", "u2")
    build.answer("second", uuid="a2")
    build.prompt("three, taken back", "u3")
    build.answer("third", uuid="a3")
    build.prompt("three again", "u4", parent="a2")
    build.answer("fourth", uuid="a4")
    return build


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem[:8])
@pytest.mark.parametrize("words", [[], ["--full", "--thinking", "--branch", "all"]], ids=["short", "full"])
def test_every_session_can_be_shown(turnlog: Turnlog, path: Path, words: list[str]) -> None:
    done = turnlog("show", path, *words)
    assert done.status == 0
    assert len(done.lines) >= 2
    assert harmful(done.out) == set()
    if words:
        assert turn_numbers(done.lines) == list(range(1, len(turnlog("show", path, "--json").json["turns"]) + 1))


def test_the_head_counts_the_lines_that_are_not_shown(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("one", "u1")
    raw = build.data()
    path = machine.add(SESSION, raw + b'{"broken\n[1]\n' + raw.replace(b"u1", b"u2") + b'{"torn')
    head = turnlog("show", path).lines[:6]
    assert "2 lines can't be read; `turnlog check` lists them" in head
    assert not any("can't be read" in line for line in show(turnlog, machine, build))


def test_the_head_says_what_when_where_and_how_much(turnlog: Turnlog) -> None:
    head = turnlog("show", "bee7dbd3").lines[:5]
    assert head[0] == "Fix cent rounding in the cart"
    assert head[1] == "bee7dbd3-a71b-48ef-8c53-70ecb3f99f59 · /home/dana/webshop (main) · demo"
    assert "(3 min 47 s) · Claude Code 2.1.325 · claude-opus-5-5" in head[2]
    assert head[3] == "2 turns · 14 messages · 20 calls (2 failed)"
    assert re.fullmatch(r"Tokens: 87 in, 2,165 out, .* · \$0\.\d\d at list prices · all counts final", head[4])


def test_the_head_says_how_far_the_counts_can_be_believed(turnlog: Turnlog) -> None:
    shown = turnlog("show", "b7bd55c1").out
    assert "Output tokens: 10 with only a placeholder, so far too low (of 10 messages, sub-agents included)." in shown
    assert "2 turns · 8 messages · 8 calls · 1 sub-agent, not counted here" in shown
    assert "1 counted before the answer was complete, so too low" in turnlog("show", "be21728e").out


def test_tokens_without_a_price_are_said_and_not_free(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt()
    build.answer("hi", model="nobody-knows-1", usage={"input_tokens": 5, "output_tokens": 7})
    assert "unpriced: 12 tokens from models without a known price" in "\n".join(show(turnlog, machine, build))


def test_a_turn_has_prompt_answers_calls_results_and_outcome(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("look around")
    build.call("c1", "Bash", {"command": "ls\npwd"})
    build.result("c1", "a\nb\nc")
    build.call("c2", "Read", {"file_path": "/home/dana/webshop/shop/cart.py"})
    build.result("c2", "gone", error=True)
    build.answer("That is all.")
    build.system("turn_duration", durationMs=83_000)
    assert show(turnlog, machine, build)[8:] == [
        "> look around",
        "  ● Bash ls (+1 line)",
        "    → a (+2 lines)",
        "  ● Read shop/cart.py",
        "    → failed: gone",
        "  That is all.",
        "  finished after 1 min 23 s · 2 calls",
    ]


def test_thinking_is_told_on_request_only(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt()
    build.answer({"type": "thinking", "thinking": "hmm\nwell"}, {"type": "thinking", "thinking": ""}, "Yes.")
    assert not any("hmm" in line for line in show(turnlog, machine, build))
    told = show(turnlog, machine, build, "--thinking")
    assert told[9:12] == ["  ~ hmm", "  ~ well", "  ~ (thinking, not recorded)"]


def test_long_texts_are_shortened_unless_all_is_wanted(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("\n".join(f"line {number}" for number in range(1, 31)))
    build.call("c1", "Write", {"file_path": "x", "content": "one\ntwo"})
    build.result("c1", "first\nsecond")
    build.answer("x" * 1500)
    short = show(turnlog, machine, build)
    assert "> line 20" in short
    assert "> … 10 more lines (--full)" in short
    assert "  " + "x" * 1000 + "…" in short
    full = show(turnlog, machine, build, "--full")
    assert "> line 30" in full
    assert "  " + "x" * 1500 in full
    assert full[full.index("  ● Write") + 1 :][:6] == [
        "    file_path: x", "    content:", "      one", "      two", "    → first (+1 line)", "      first",
    ]  # fmt: skip


def test_context_of_the_editor_is_one_line_beside_the_prompt(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("<ide_opened_file>The user opened\ncart.py</ide_opened_file>\nWhy?")
    build.answer("So.")
    assert show(turnlog, machine, build)[8:11] == ["  [ide_opened_file] The user opened cart.py", "> Why?", "  So."]


def test_what_was_typed_meanwhile_stands_where_it_was_taken_up(turnlog: Turnlog) -> None:
    lines = turnlog("show", "22161731").lines
    at = lines.index("> also show the discount in the order, please")
    assert lines[at - 1] == "  typed meanwhile:"
    assert lines[at + 1] == "  Noted: the order gets a `discount` field too."


def test_a_queued_prompt_of_old_clients_is_told_too(turnlog: Turnlog) -> None:
    assert "> upper and lower case should not matter" in turnlog("show", "67df1d90").lines


def test_compactions_interrupts_and_failed_requests_are_told(turnlog: Turnlog) -> None:
    volume = turnlog("show", "22161731").out
    assert "── compaction (manual), a summary replaces 94 entries, 3 messages kept word for word" in volume
    assert "  API error: 529 Overloaded (attempt 1 of 10)" in volume
    assert "  hook Stop blocked: shop/discount.py has no test" in volume
    assert "  /compact keep what is needed for the PR" in volume
    assert "  interrupted by the user" in turnlog("show", "be21728e").lines
    assert "  ended with an error after" in turnlog("show", "2a3b62b5").out


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"content": "The user doesn't want to proceed with this tool use.", "error": True}, "denied"),
        (
            {"content": "The user doesn't want to proceed. To tell you how, the user said:\nnot there", "error": True},
            "denied: not there",
        ),
        ({"content": "no", "error": True, "toolDenialKind": "permission-rule"}, "denied: no"),
        ({"content": "part", "toolUseResult": {"interrupted": True}}, "interrupted"),
        ({"content": "on", "toolUseResult": {"backgroundTaskId": "b1"}}, "continues in the background (b1)"),
        ({"content": "<tool_use_error>bad</tool_use_error>", "error": True}, "failed: bad"),
        ({"content": "Exit code 2\nfirst\nlast", "error": True}, "failed: exit code 2: last (+1 line)"),
        ({"content": ""}, "nothing"),
        ({"content": "x", "toolUseResult": {"type": "create", "content": "a\nb\n"}}, "created, 2 lines"),
        ({"content": "x", "toolUseResult": {"file": {"numLines": 1}}}, "1 line"),
        (
            {"content": "x", "toolUseResult": {"structuredPatch": [{"lines": ["+a", "-b", " c"]}, None, {"lines": 1}]}},
            "1 added, 1 removed",
        ),
        (
            {"content": "x", "toolUseResult": {"persistedOutputPath": "/t/o.txt"}},
            "too long for the transcript, kept in /t/o.txt",
        ),
    ],
)  # fmt: skip
def test_what_came_of_a_call_is_told_in_short(
    turnlog: Turnlog, machine: Machine, result: dict[str, object], told: str
) -> None:
    build = Build()
    build.prompt()
    build.call("c1")
    build.result("c1", **result)  # type: ignore[arg-type]
    assert f"    → {told}" in show(turnlog, machine, build)


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("Grep", {"pattern": "a+", "path": "/home/dana/webshop/shop"}, "Grep a+ in shop"),
        ("WebFetch", {"url": "https://example.com"}, "WebFetch https://example.com"),
        ("TodoWrite", {"todos": [1, 2]}, "TodoWrite 2 tasks"),
        ("AskUserQuestion", {"questions": [{"question": "Which?"}]}, "AskUserQuestion Which?"),
        ("AskUserQuestion", {"questions": ["odd"]}, "AskUserQuestion a question"),
        ("TaskUpdate", {"taskId": "1", "n": 2}, "TaskUpdate #1"),
        ("Strange", {}, "Strange"),
        ("Strange", [1], "Strange 1 item"),
        ("Strange", "text", "Strange text"),
        ("", {"command": "x"}, "(no name) x"),
    ],
)
def test_what_a_call_is_about_is_told_in_one_line(
    turnlog: Turnlog, machine: Machine, name: str, given: object, told: str
) -> None:
    build = Build()
    build.prompt()
    build.answer(use("c1", name, given))
    assert f"  ● {told}" in show(turnlog, machine, build)
    assert show(turnlog, machine, build, "--full")


def test_a_call_without_a_result_says_so(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt()
    build.call("c1")
    assert show(turnlog, machine, build)[-2:] == ["    → no result", "  still open after about 1 min · 1 call"]


def test_sub_agents_stand_indented_below_their_call_with_what_they_used(turnlog: Turnlog) -> None:
    lines = turnlog("show", "67df1d90").lines
    at = lines.index("  ● Task Look at the code")
    assert lines[at + 1].startswith("    ┌ Explore a57effe “Look at the code”: 1 call, 5 in, 65 out, ")
    assert lines[at + 2 : at + 7] == [
        "    │  > Which modules would a search command touch?",
        "    │  ● Glob **/*.py",
        "    │    → /home/dana/notes-cli/notes/__main__.py (+1 line)",
        "    │  Two: `notes/store.py` for the data and `notes/__main__.py` for the command line.",
        "    └",
    ]


def test_sub_agents_of_sub_agents_are_told_inside_them(turnlog: Turnlog, machine: Machine) -> None:
    main, outer, inner = Build(), Build(), Build()
    main.prompt("go")
    main.call("c1", "Agent", {"description": "outer", "prompt": "p"})
    main.result("c1", "ok", toolUseResult={"agentId": "aout"})
    outer.prompt("p", isSidechain=True)
    outer.call("c2", "Agent", {"description": "inner", "prompt": "q"}, isSidechain=True)
    outer.result("c2", "ok", toolUseResult={"agentId": "ain"}, isSidechain=True)
    inner.prompt("q", isSidechain=True)
    inner.answer("deep down", isSidechain=True)
    folder = machine.add(SESSION, main.data()).with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-aout.jsonl").write_bytes(outer.data())
    (folder / "agent-ain.jsonl").write_bytes(inner.data())
    (folder / "agent-ain.meta.json").write_text(json.dumps({"parentAgentId": "aout", "toolUseId": "c2"}))
    lines = turnlog("show", SESSION).lines
    assert "    │    │  deep down" in lines
    assert not any("no call leads to" in line for line in lines)


def test_an_agent_that_started_itself_does_not_trap_the_telling(turnlog: Turnlog, machine: Machine) -> None:
    main, loop = Build(), Build()
    main.prompt("go")
    main.call("c1", "Agent", {"prompt": "p"})
    main.result("c1", "ok", toolUseResult={"agentId": "aloop"})
    loop.prompt("p", isSidechain=True)
    loop.call("c2", "Agent", {"prompt": "p"}, isSidechain=True)
    loop.result("c2", "ok", toolUseResult={"agentId": "aloop"}, isSidechain=True)
    folder = machine.add(SESSION, main.data()).with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-aloop.jsonl").write_bytes(loop.data())
    assert sum("aloop" in line for line in turnlog("show", SESSION).lines) == 2


def test_sub_agents_that_no_call_leads_to_come_last(turnlog: Turnlog) -> None:
    lines = turnlog("show", "67df1d90").lines
    assert lines[lines.index("Sub-agents without a call") + 1].startswith("  ┌ warm-up ad6539e: 0 calls")


def test_the_branch_that_would_be_resumed_is_shown_and_the_others_are_named(turnlog: Turnlog, machine: Machine) -> None:
    lines = show(turnlog, machine, build_branches())
    assert turn_numbers(lines) == [1, 2, 4]
    assert "1 turn on other branches: --branch 1 (3 turns), --branch all" in lines


@pytest.mark.parametrize(
    ("branch", "turns"), [("1", [1, 2, 3]), ("2", [1, 2, 4]), ("a3", [1, 2, 3]), ("a2", [1, 2]), ("all", [1, 2, 3, 4])]
)
def test_any_branch_can_be_asked_for(turnlog: Turnlog, machine: Machine, branch: str, turns: list[int]) -> None:
    assert turn_numbers(show(turnlog, machine, build_branches(), "--branch", branch)) == turns


@pytest.mark.parametrize(
    ("branch", "complaint"),
    [
        ("3", "--branch 3: this session has branches 1 to 2"),
        ("0", "--branch 0: this session has branches 1 to 2"),
        ("zz", "--branch zz: no entry in this session has a uuid with this prefix"),
        ("a", "--branch a: several entries have a uuid with this prefix; use more of the uuid"),
    ],
)
def test_a_branch_that_does_not_exist_is_refused(
    turnlog: Turnlog, machine: Machine, branch: str, complaint: str
) -> None:
    done = turnlog("show", machine.add(SESSION, build_branches().data()), "--branch", branch)
    assert (done.status, done.out, done.err) == (2, "", f"turnlog: {complaint}\n")


def test_what_was_before_a_compaction_is_shown_too(turnlog: Turnlog, machine: Machine) -> None:
    build = build_branches()
    build.boundary()
    build.summary()
    build.prompt("after")
    build.answer("fifth")
    assert turn_numbers(show(turnlog, machine, build)) == [1, 2, 4, 5]


def test_a_session_that_the_client_refuses_is_shown_whole(turnlog: Turnlog, machine: Machine) -> None:
    build = build_branches()
    for line in build.lines:
        line["timestamp"] = "never"
    assert turn_numbers(show(turnlog, machine, build)) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("turn", "numbers"),
    [("1", [1]), ("4", [4]), ("2..3", [2, 3]), ("..2", [1, 2]), ("3..", [3, 4]), ("..", [1, 2, 3, 4])],
)
def test_turns_can_be_picked_by_their_number(turnlog: Turnlog, machine: Machine, turn: str, numbers: list[int]) -> None:
    lines = show(turnlog, machine, build_branches(), "--turn", turn)
    assert turn_numbers(lines) == numbers
    assert lines[1].startswith("──")


def test_the_number_of_a_turn_is_its_index_in_json(turnlog: Turnlog) -> None:
    turns = turnlog("show", "be21728e", "--json").json["turns"]
    assert [turn["index"] for turn in turns] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert f"> {turns[2]['text']}" in turnlog("show", "be21728e", "--turn", "3").lines


@pytest.mark.parametrize("turn", ["0", "5", "3..9", "3..2", "x", "-1", "1..2..3", ""])
def test_a_turn_that_does_not_exist_is_refused_with_those_that_do(
    turnlog: Turnlog, machine: Machine, turn: str
) -> None:
    done = turnlog("show", machine.add(SESSION, build_branches().data()), "--turn", turn)
    assert (done.status, done.out) == (2, "")
    assert "this session has turns 1 to 4" in done.err or "use a number such as 3" in done.err


def test_a_session_without_turns_has_none_to_pick(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("show", machine.add(SESSION, b'{"type":"mode"}\n'), "--turn", "1")
    assert done.err == "turnlog: --turn 1: this session has no turns\n"


def test_a_hostile_session_does_no_harm(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt(
        f"<ide_selection>{HOSTILE}</ide_selection>{HOSTILE}", cwd=f"/{HOSTILE}", gitBranch=HOSTILE, version=HOSTILE
    )
    build.answer({"type": "thinking", "thinking": HOSTILE}, HOSTILE, {"type": HOSTILE}, model=HOSTILE)
    build.answer(use("c1", HOSTILE, {HOSTILE: HOSTILE, "command": HOSTILE}))
    build.result("c1", HOSTILE, toolUseResult={"persistedOutputPath": HOSTILE, "backgroundTaskId": HOSTILE})
    build.system("informational", content=HOSTILE)
    build.system("api_error", error={"message": HOSTILE})
    build.system("compact_boundary", compactMetadata={"trigger": HOSTILE})
    build.attachment("hook_blocking_error", hookName=HOSTILE, stderr=HOSTILE)
    build.attachment("queued_command", prompt=HOSTILE)
    build.note("custom-title", customTitle=HOSTILE)
    path = machine.add(SESSION, build.data())
    for words in ([], ["--full", "--thinking"]):
        done = turnlog("show", path, *words)
        assert done.status == 0
        assert harmful(done.out) == set()
    assert turnlog("show", path, "--json").json["title"] == HOSTILE.replace("\ud800", "\ufffd")


@pytest.mark.parametrize("name", [HOSTILE, f"./{HOSTILE}.jsonl", f"{HOSTILE}/x"])
def test_a_hostile_name_does_no_harm(turnlog: Turnlog, name: str) -> None:
    done = turnlog("show", name)
    assert done.status == 1
    assert harmful(done.err) == set()
    assert done.err.count("\n") == 1


def test_a_demo_session_says_that_it_is_made_up(turnlog: Turnlog) -> None:
    assert turnlog("show", "last", "--json").err == "This is a made-up demo session that ships with turnlog.\n"


def test_messages_of_other_agents_are_told_with_who_sent_them_and_not_as_prompts(
    turnlog: Turnlog, machine: Machine
) -> None:
    frame = "Another Claude session sent a message:\n"
    build = Build()
    build.prompt("work")
    build.attachment("queued_command", prompt="5 files", origin={"kind": "peer", "from": "helper"})
    build.answer("Noted.")
    build.prompt(f'{frame}<teammate-message teammate_id="dev">\nDone.\n</teammate-message>')
    build.answer("Thanks.")
    lines = show(turnlog, machine, build)
    at = lines.index("  From another agent (helper):")
    assert lines[at + 1] == "  5 files"
    head = next(line for line in lines if line.startswith("── 2 "))
    assert "teammate from dev" in head
    assert lines[lines.index(head) + 1] == "> Done."


def test_an_answer_that_the_client_made_up_is_left_out_and_an_api_error_stays(
    turnlog: Turnlog, machine: Machine
) -> None:
    build = Build()
    build.prompt("work")
    build.answer("No response requested.", model="<synthetic>")
    build.answer("API Error: 529 Overloaded", model="<synthetic>", isApiErrorMessage=True)
    build.answer("No response requested.")
    lines = show(turnlog, machine, build)
    assert lines.count("  No response requested.") == 1
    assert "  API Error: 529 Overloaded" in lines


def test_requests_without_a_message_are_shown_beside_the_client_s_own_total(turnlog: Turnlog) -> None:
    lines = turnlog("show", find_recording("2.1.325/compact")).lines
    assert lines[5] == "Tokens: 14,915 in, 1,101 out, 375,000 read from cache · $0.16 at list prices"
    assert lines[6] == "Requests without a message: claude-opus-5-5, 14,069 in, 123 out · $0.059"
    assert lines[7] == "Client's own total: 28,984 in, 1,224 out, 375,000 read from cache · $0.215"
