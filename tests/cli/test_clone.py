"""`turnlog clone` and `turnlog strip`: their options, what they say, what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.interop.mock_anthropic import MockAnthropic
from tests.model.server import script_server
from tests.session.build import SESSION, Build
from turnlog.session.session import Session

LONG = (
    "The cart adds up prices as floats and rounds at the end. That is why the total is off by a cent now and then. "
    "I looked at every place where money is handled. Nothing else rounds. The tests do not cover mixed rates. "
    "So the right thing is to keep cents as integers from the start and to format them only when they are shown. "
)


@pytest.fixture
def session(machine: Machine) -> Path:
    build = Build()
    for turn in range(4):
        build.prompt(f"question {turn}")
        build.call(f"c{turn}", "Read", {"file_path": f"/home/dana/webshop/{turn}.py"})
        build.result(f"c{turn}", "x" * 5000, toolUseResult={"stdout": "x" * 5000})
        build.answer(LONG + f"Number {turn}.")
    build.note("last-prompt", lastPrompt="question 3", leafUuid=build.last)
    return machine.add(SESSION, build.data(), mtime=1_700_000_000)


def read_clone(done: Any) -> Session:
    assert done.status == 0, done.err
    return Session.from_bytes(Path(done.json["made"]["path"]).read_bytes())


def calls(session: Session) -> int:
    return sum(call.result is not None for call in session.calls)


def test_a_clone_is_told_with_the_command_that_resumes_it(turnlog: Turnlog, session: Path) -> None:
    done = turnlog("clone", "last")
    assert (done.status, done.err) == (0, "")
    new = next(path for path in session.parent.glob("*.jsonl") if path != session)
    assert done.lines[0].startswith(f"{new.stem}  Clone of question 0  (")
    assert done.lines[1] == f"Resume it with: cd /home/dana/webshop && claude --resume {new.stem}"


def test_a_dry_run_writes_nothing(turnlog: Turnlog, session: Path) -> None:
    for words in ((), ("--preset", "extreme"), ("--compress", "oldest=50%"), ("--compact", "--keep", "1")):
        done = turnlog("clone", "last", "--dry-run", *words)
        assert (done.status, done.lines[-1]) == (0, "Nothing was written: this was a dry run.")
    assert [path.name for path in session.parent.iterdir()] == [session.name]
    assert "a dry run does not call a model" in turnlog("clone", "last", "-n", "--compact").out


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["--tools", "keep=1"], 1),
        (["--tools", "remove"], 0),
        (["--tools", "remove:Bash"], 4),
        (["--tools", "remove:Re*"], 0),
        (["--tools", "remove", "--protect", "Read"], 4),
        (["--tools", "remove", "--tools", "keep=3"], 3),
        (["--preset", "extreme"], 0),
        (["--preset", "extreme", "--tools", "keep=2"], 2),
    ],
)
def test_calls_go_with_their_results(turnlog: Turnlog, session: Path, words: list[str], left: int) -> None:
    found = read_clone(turnlog("clone", "last", *words, "--json"))
    assert calls(found) == len(found.calls) == left


def test_long_results_are_shortened_in_both_copies(turnlog: Turnlog, session: Path) -> None:
    done = turnlog("clone", "last", "--tools", "truncate=100", "--tools", "keep=1", "--json")
    sizes = [
        entry.size
        for entry in read_clone(done).entries
        if entry.message and entry.message.blocks[0].type == "tool_result"
    ]
    assert all(size < 1500 for size in sizes[:3])
    assert sizes[3] > 10_000
    assert done.json["edits"]["strip"]["rules"][0]["rule"] == "shortened"


def test_a_preset_of_ones_own_is_read_from_the_settings(
    turnlog: Turnlog, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    mine = '[presets.mine]\nbase = "light"\ntools = ["remove:Read", "keep=1"]\nthinking = "keep-last=2"\n'
    file.write_text(f"{mine}[presets.light]\nnoise = true\n")
    monkeypatch.setenv("TURNLOG_CONFIG", str(file))
    assert calls(read_clone(turnlog("clone", "last", "--preset", "mine", "--json"))) == 1
    assert turnlog("strip", SESSION, "--preset", "mine", "--json").json["preset"] == "mine"
    assert turnlog("strip", SESSION, "--preset", "light").status == 0, "one of that name goes before ours"
    for bad, complaint in (
        ('[presets.mine]\nbase = "nonsense"', "unknown preset 'nonsense'"),
        ('[presets.mine]\ntool = "remove"', "[presets.mine]: unknown key 'tool'"),
        ("[presets.mine]\nnoise = 3", "[presets.mine]: noise = 3: expected true or false"),
        ("[presets.mine]\ntools = [3]", "expected a string or a list of strings"),
        ('[presets.mine]\nthinking = "x"', "keep-last=N"),
        ("presets = 3", "expected tables such as [presets.mine]"),
        ('[presets.mine]\nbase = "mine"', "unknown preset 'mine'"),
    ):
        file.write_text(bad)
        done = turnlog("clone", "last", "--preset", "mine")
        assert done.status == 2
        assert complaint in done.err
        assert str(file) in done.err or "unknown preset" in complaint


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--preset", "nonsense"], "unknown preset 'nonsense'; use one of light, standard, heavy, extreme"),
        (["--tools", "nonsense"], "expected keep=N"),
        (["--tools", "keep=1", "--tools", "keep=2"], "keep=N is used 2 times"),
        (["--thinking", "some"], "keep-last=N"),
        (["--images", "all"], "keep=N with N"),
        (["--compress", "turns=3..99"], "the session has turns 1 to 4"),
        (["--compress", "turns=1..2", "--compress", "turns=2..3"], "overlap at turn 2"),
        (["--compress", "oldest=140%"], "at most 100%"),
        (["--compress", "oldest=50%", "--to", "140%"], "140%"),
        (["--to", "35%"], "require --compress"),
        (["--compact", "somehow"], "--compact offline"),
        (["--compact", "offline", "--keep", "99"], "turns"),
        (["--keep", "3"], "requires --compact"),
        (["--with-model", "x"], "requires --compress or --compact"),
        (["--compress", "oldest=50%"], "set ANTHROPIC_API_KEY"),
        (["--title", ""], "the title is empty"),
    ],
)
def test_wrong_words_are_explained_and_nothing_is_written(
    turnlog: Turnlog, session: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], complaint: str
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    done = turnlog("clone", "last", *words)
    assert (done.status, done.out) == (2, "")
    assert complaint in done.err
    assert len(done.err.splitlines()) == 1
    assert [path.name for path in session.parent.iterdir()] == [session.name]


def test_an_unknown_session_and_a_file_that_is_none_are_told(turnlog: Turnlog, session: Path, tmp_path: Path) -> None:
    assert "closest matches: 11111111-" in turnlog("clone", "11111112").err
    other = tmp_path / "notes.jsonl"
    other.write_text("hello\n")
    done = turnlog("clone", other)
    assert (done.status, "the file name is not a session id" in done.err) == (2, True)


def test_texts_are_made_shorter_without_a_model_and_the_log_tells_both(
    turnlog: Turnlog, session: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log.md"
    words = ("--compress", "turns=1..2", "--compress", "offline", "--to", "30%", "--compress-log", str(log))
    done = turnlog("clone", "last", *words, "--json")
    facts = done.json["edits"]["compress"]
    assert (facts["model"], facts["turns"], facts["shortened"]) == (None, [1, 2], 2)
    assert facts["characters_after"] < facts["characters_before"]
    assert "Number 1" in log.read_text()
    texts = [
        json.dumps(found["content"])
        for found in read_clone(done).conversation().messages
        if found["role"] == "assistant"
    ]
    assert sum(LONG[:40] in text for text in texts) >= 2


def test_a_log_that_can_not_be_written_is_told_before_anything_is_made(
    turnlog: Turnlog, session: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log.md"
    log.write_text("mine")
    for goal, complaint in ((log, "already exists"), (tmp_path / "no" / "log.md", "no such folder")):
        done = turnlog("clone", "last", "--compress", "offline", "--compress-log", goal)
        assert (done.status, done.out, complaint in done.err) == (2, "", True)
    assert log.read_text() == "mine"
    assert [path.name for path in session.parent.iterdir()] == [session.name]


def test_compressing_says_how_many_texts_became_shorter_and_why_others_did_not(
    turnlog: Turnlog, machine: Machine
) -> None:
    build = Build()
    for answer in ("hello", LONG * 4, f"{LONG * 4} Again."):
        build.prompt("and?")
        build.answer(answer)
    machine.add(SESSION, build.data())

    def clone_turns(session: str, turns: str) -> str:
        return turnlog("clone", session, "-n", "--compress", f"turns={turns},offline").lines[0]

    assert clone_turns(SESSION, "1") == "None of 1 text in 1 turn was shortened: all are already short."
    shorter = clone_turns(SESSION, "2..3")
    assert shorter.startswith("Shortened 2 of 2 texts in 2 turns by leaving out sentences: ")
    once = turnlog("clone", SESSION, "--compress", "turns=2,offline", "--json").json["made"]["session_id"]
    assert clone_turns(once, "2..3").endswith("; 1 could not be shortened.")
    assert clone_turns(once, "1..2") == "None of 2 texts in 2 turns was shortened: 1 could not be."


def test_a_dry_run_says_what_would_be_made(turnlog: Turnlog, session: Path) -> None:
    assert turnlog("clone", "last", "-n").lines[0].startswith("Would create: Clone of question 0  (")
    agent = session.with_suffix("") / "subagents" / "agent-1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_text("{}\n")
    told = turnlog("clone", "last", "-n", "--title", "Mine").lines[0]
    assert told.startswith("Would create: Mine  (")
    assert told.endswith(" KB, with 1 other file)")


def test_the_demo_can_be_tried_in_a_dry_run_only(turnlog: Turnlog) -> None:
    assert turnlog("clone", "bee7dbd3", "--preset", "heavy", "--dry-run").lines[-1].startswith("Nothing was written")
    assert turnlog("clone", "bee7dbd3").status == 2


def test_texts_are_made_shorter_by_a_model_that_is_named_before_anything_is_sent(
    turnlog: Turnlog, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MockAnthropic() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000")
        done = turnlog("clone", "last", "--compress", "oldest=25%", "--with-model", "claude-small", "--json")
        asked = list(server.requests)
    assert f"Sending text from the session to claude-small at {server.url}" in done.err
    assert asked
    assert done.json["edits"]["compress"]["model"] == "claude-small"
    assert read_clone(done).conversation().messages


def test_older_turns_are_summed_up_as_the_client_does(turnlog: Turnlog, session: Path) -> None:
    found = read_clone(turnlog("clone", "last", "--compact", "offline", "--keep", "1", "--json"))
    messages = found.conversation().messages
    assert "continued from a previous conversation" in json.dumps(messages[0])
    assert "question 3" in json.dumps(messages)
    assert len(found.compactions) == 1


def test_a_model_writes_the_summary_of_older_turns(
    turnlog: Turnlog, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with script_server({"content": [{"type": "text", "text": "<summary>They counted cents.</summary>"}]}) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000")
        done = turnlog("clone", "last", "--compact", "--keep", "1")
        (asked,) = server.requests
    assert "question 0" in json.dumps(asked)
    assert f"at {server.url}" in done.err
    assert "Summarised 3 turns, kept 1 word for word" in done.lines[0]
    assert done.lines[0].endswith("; a summary by claude-haiku-5-5.")
    (new,) = [path for path in session.parent.glob("*.jsonl") if path != session]
    assert "They counted cents." in json.dumps(Session.from_bytes(new.read_bytes()).conversation().messages[0])


def test_a_portable_clone_is_one_line_with_the_same_words(turnlog: Turnlog, session: Path) -> None:
    done = turnlog("clone", "last", "--portable", "--title", "Old clients too", "--json")
    assert done.json["edits"] == {"portable": True}
    found = read_clone(done)
    with Session.open(session) as source:
        assert found.conversation().messages == source.conversation().messages
    assert not found.graph.branches
    assert found.title == "Old clients too"


def test_what_another_model_would_refuse_is_counted(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("hi")
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk" * 40}
    build.answer(thought, "hello")
    machine.add(SESSION, build.data())
    done = turnlog("clone", "last", "--for-model", "other-provider", "--json")
    assert sum(done.json["edits"]["for_model"]["counts"].values()) == 1
    assert "thinking" not in json.dumps(read_clone(done).conversation().messages)


def test_what_is_said_shows_no_escapes_of_a_title(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt(HOSTILE)
    build.answer("hi")
    machine.add(SESSION, build.data())
    done = turnlog("clone", "last")
    assert done.status == 0
    assert not harmful(done.out + done.err)


def test_strip_tells_the_savings_of_context_and_writes_nothing(turnlog: Turnlog, session: Path) -> None:
    for preset in turnlog("context", "last", "--json").json["presets"]:
        found = turnlog("strip", "last", "--preset", preset["name"], "--json").json
        assert (found["tokens_before"], found["tokens_after"]) == (preset["before"], preset["after"])
    done = turnlog("strip", "last")
    assert done.lines[0] == "Preset standard."
    assert done.lines[-1].startswith(f"Nothing was written. `turnlog clone {session.stem} --preset standard`")
    assert [path.name for path in session.parent.iterdir()] == [session.name]


def test_where_nothing_is_to_be_stripped_that_is_said(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt("hi")
    build.answer("hello")
    machine.add(SESSION, build.data())
    assert turnlog("strip", "last", "--thinking", "remove").lines == ["There is nothing to strip."]


def test_the_tree_shows_a_clone_below_its_source_and_its_tokens_count_once(turnlog: Turnlog, session: Path) -> None:
    before = turnlog("usage", "--json").json["total"]
    new = turnlog("clone", "last", "--json").json["made"]["session_id"]
    (project,) = turnlog("tree", "--json").json["projects"]
    (source,) = project["sessions"]
    assert source["session_id"] == SESSION
    (below,) = source["children"]
    assert (below["session_id"], below["origin"]["relation"]) == (new, "clone")
    assert turnlog("usage", "--json").json["total"] == before


def test_of_a_short_session_fewer_turns_are_kept_if_nobody_says_how_many(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    for number in range(2):
        build.prompt(f"question {number}")
        build.answer("yes")
    machine.add(SESSION, build.data())
    assert turnlog("clone", "last", "--compact", "offline", "--json").json["edits"]["compact"]["kept"] == 1
