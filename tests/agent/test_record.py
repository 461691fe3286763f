"""What is written of a session, and in which form."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from tests.agent.talk import STORIES, USAGE, Line, Story, answer, build_thinking, plain, rows, text, use, write_story
from turnlog.agent.record.chain import RECORD_VERSION
from turnlog.agent.record.line_bodies import Object
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.tools.call_result import CallResult
from turnlog.entries.slug import make_slug
from turnlog.errors import Busy, Changed, TurnlogError, UsageError
from turnlog.model.answer import ModelAnswer
from turnlog.session.check import check
from turnlog.session.session import Session

ROOT = Path(__file__).resolve().parents[2]
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links and signals")


@pytest.fixture
def record(tmp_path: Path) -> SessionRecord:
    return SessionRecord.create_session(tmp_path / "config", tmp_path)


def links(path: Path) -> list[Line]:
    """The lines of the chain; progress hangs beside it."""
    return [row for row in rows(path) if "uuid" in row and row["type"] != "progress"]


def of_type(path: Path, kind: str) -> list[Line]:
    return [row for row in rows(path) if row["type"] == kind]


# -- the file


def test_a_session_lies_in_the_folder_of_its_project(tmp_path: Path, record: SessionRecord) -> None:
    assert (
        record.path
        == tmp_path / "config" / "projects" / make_slug(str(tmp_path.resolve())) / f"{record.session_id}.jsonl"
    )


def test_nothing_is_made_before_the_first_line(tmp_path: Path, record: SessionRecord) -> None:
    record.write_title("A name")
    record.write_permission_mode("plan")
    assert not (tmp_path / "config").exists()


@posix
def test_others_can_not_read_a_session(record: SessionRecord) -> None:
    record.write_prompt("hello")
    assert record.path.stat().st_mode & 0o077 == 0
    assert record.path.parent.stat().st_mode & 0o077 == 0


def test_an_id_may_be_given_but_not_one_that_is_in_use(tmp_path: Path) -> None:
    name = "11111111-2222-4333-8444-555555555555"
    record = SessionRecord.create_session(tmp_path, tmp_path, name)
    record.write_prompt("hello")
    assert record.path.stem == name
    with pytest.raises(UsageError, match="in use"):
        SessionRecord.create_session(tmp_path, tmp_path, name)
    with pytest.raises(UsageError, match="not a session id"):
        SessionRecord.create_session(tmp_path, tmp_path, "../../x")


def test_two_that_begin_a_session_of_one_id_do_not_both_write(tmp_path: Path) -> None:
    name = "11111111-2222-4333-8444-555555555555"
    first, second = (SessionRecord.create_session(tmp_path, tmp_path, name) for _ in range(2))
    first.write_prompt("mine")
    with pytest.raises(Busy, match="another process started"):
        second.write_prompt("mine")
    assert len(rows(first.path)) == 1


@posix
def test_a_link_that_leads_out_of_the_projects_is_not_followed(tmp_path: Path, record: SessionRecord) -> None:
    record.path.parent.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    record.path.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TurnlogError, match="which is outside"):
        record.write_prompt("hello")
    assert list((tmp_path / "elsewhere").iterdir()) == []


@posix
def test_all_projects_may_lie_on_another_disk(tmp_path: Path, record: SessionRecord) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "projects").symlink_to(tmp_path / "elsewhere")
    record.write_prompt("hello")
    record.write_answer(answer("hi"))
    assert len(rows(record.path)) == 2


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_can_not_be_written_is_told(tmp_path: Path, record: SessionRecord) -> None:
    (tmp_path / "config").mkdir(mode=0o500)
    with pytest.raises(TurnlogError, match="the session was not written"):
        record.write_prompt("hello")


# -- the chain


@pytest.mark.parametrize("story", [pytest.param(story, id=name) for name, story in STORIES.items()])
def test_every_session_is_one_line_with_growing_times(tmp_path: Path, story: Story) -> None:
    found = links(write_story(tmp_path, story).path)
    assert found[0]["parentUuid"] is None
    for before, row in pairwise(found):
        above = row["logicalParentUuid"] if row.get("subtype") == "compact_boundary" else row["parentUuid"]
        assert above == before["uuid"]
    times = [row["timestamp"] for row in rows(write_story(tmp_path, story).path) if "uuid" in row]
    assert times == sorted(set(times))


@pytest.mark.parametrize("story", [pytest.param(story, id=name) for name, story in STORIES.items()])
def test_turnlog_finds_nothing_wrong_with_a_session_of_its_own(tmp_path: Path, story: Story) -> None:
    record = write_story(tmp_path, story)
    with Session.open(record.path) as session:
        assert [str(finding) for finding in check(session) if finding.severity != "info"] == []


def test_every_link_says_where_and_by_what_it_was_written(tmp_path: Path) -> None:
    record = SessionRecord.create_session(tmp_path, tmp_path)
    record.slug = "three-small-words"
    plain(record)
    for row in links(record.path):
        assert row["version"] == RECORD_VERSION
        assert row["entrypoint"] == "turnlog"
        assert row["sessionId"] == record.session_id
        assert row["cwd"] == str(tmp_path)
        assert row["isSidechain"] is False
        assert row["userType"] == "external"
        assert row["slug"] == "three-small-words"


def test_a_shell_that_moves_is_seen_in_the_next_line(tmp_path: Path, record: SessionRecord) -> None:
    record.write_prompt("hello")
    record.cwd = tmp_path / "src"
    record.write_answer(answer("hi"))
    assert [Path(row["cwd"]).name for row in links(record.path)] == [tmp_path.name, "src"]


def test_the_branch_of_git_is_looked_at_for_each_prompt(tmp_path: Path, record: SessionRecord) -> None:
    head = tmp_path / ".git" / "HEAD"
    record.write_prompt("outside of any repository")
    head.parent.mkdir()
    for said in ("ref: refs/heads/main\n", "ref: refs/heads/feature/x\n", "0123456789abcdef\n"):
        head.write_text(said)
        record.write_prompt(said)
    assert [row["gitBranch"] for row in links(record.path)] == ["HEAD", "main", "feature/x", "HEAD"]


def test_a_worktree_names_the_folder_of_git(tmp_path: Path) -> None:
    real = tmp_path / "real" / ".git" / "worktrees" / "tree"
    real.mkdir(parents=True)
    (real / "HEAD").write_text("ref: refs/heads/side\n")
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {real}\n")
    record = SessionRecord.create_session(tmp_path, tmp_path / "tree" / "sub")
    record.write_prompt("hello")
    assert links(record.path)[0]["gitBranch"] == "side"
    (tmp_path / "tree" / ".git").write_text("nonsense")
    record.write_prompt("hello")
    assert links(record.path)[1]["gitBranch"] == "HEAD"


# -- what is said


def test_a_prompt_says_who_typed_it_and_what_was_permitted(record: SessionRecord) -> None:
    record.write_permission_mode("acceptEdits")
    record.write_prompt("by a person")
    record.write_prompt("by a program", typed=False)
    record.write_prompt("by a task", typed=False, origin={"kind": "task-notification"})
    found = links(record.path)
    assert [row.get("origin", {}).get("kind") for row in found] == ["human", None, "task-notification"]
    assert [row["promptSource"] for row in found] == ["typed", "sdk", "sdk"]
    assert {row["permissionMode"] for row in found} == {"acceptEdits"}
    assert len({row["promptId"] for row in found}) == 3


def test_all_that_follows_a_prompt_carries_its_id(record: SessionRecord) -> None:
    record.write_prompt("hello")
    record.write_prompt("a reminder", meta=True)
    record.write_answer(answer(use("toolu_1")))
    record.write_result("toolu_1", CallResult("done"))
    found = [row for row in links(record.path) if row["type"] == "user"]
    assert len({row["promptId"] for row in found}) == 1
    assert [row.get("isMeta") for row in found] == [None, True, None]
    assert "permissionMode" not in found[1]


def test_a_prompt_of_several_blocks_is_a_line_for_each_and_its_first_text_stands_for_it(tmp_path: Path) -> None:
    record = write_story(tmp_path, STORIES["pictures"])
    found = links(record.path)[:4]
    assert [row["message"]["content"][0]["type"] for row in found] == ["image", "text", "text", "image"]
    assert [row.get("isMeta", False) for row in found] == [True, False, True, True]
    assert len({row["promptId"] for row in found}) == 1
    with Session.open(record.path) as session:
        assert [turn.text for turn in session.turns] == ["What is in this picture?"]


def test_an_answer_is_a_line_for_each_block_that_repeats_its_usage(record: SessionRecord) -> None:
    record.write_prompt("hello")
    record.write_answer(answer(build_thinking("hm"), "I look.", use("toolu_1"), id="msg_1"))
    found = of_type(record.path, "assistant")
    assert [row["message"]["content"][0]["type"] for row in found] == ["thinking", "text", "tool_use"]
    assert [row["apiBlockIndex"] for row in found] == [0, 1, 2]
    for row in found:
        assert row["message"]["id"] == "msg_1"
        assert row["requestId"] == "req_msg_1"
        assert row["message"]["usage"] == USAGE
        assert row["message"]["stop_reason"] == "tool_use"


def test_an_answer_that_was_stopped_in_the_middle_says_so(tmp_path: Path) -> None:
    found = of_type(write_story(tmp_path, STORIES["interrupt"]).path, "assistant")
    assert [row.get("isAbortedMidStream", False) for row in found] == [True, False, False, False]
    assert found[0]["message"]["stop_reason"] is None


def test_an_answer_whose_id_is_missing_or_taken_gets_one_of_its_own(record: SessionRecord) -> None:
    record.write_prompt("hello")
    for name in ("msg_1", "msg_1", ""):
        record.write_answer(ModelAnswer((text("x"), text("y")), "end_turn", {}, name, "m"))
    found = of_type(record.path, "assistant")
    names = [row["message"]["id"] for row in found]
    assert names[:2] == ["msg_1", "msg_1"]
    assert (names[2], names[4]) == (names[3], names[5])
    assert len(set(names)) == 3
    assert [row["apiBlockIndex"] for row in found] == [0, 1, 0, 1, 0, 1]
    assert "requestId" not in found[0]


def test_a_retry_says_which_it_is_and_how_many_there_are_at_most(tmp_path: Path) -> None:
    found = next(
        row for row in rows(write_story(tmp_path, STORIES["failure"]).path) if row.get("subtype") == "api_error"
    )
    assert (found["retryAttempt"], found["maxRetries"], found["retryInMs"]) == (1, 10, 500)
    assert found["error"]["status"] == 529


def test_a_result_names_the_line_of_its_call_and_what_the_client_kept(tmp_path: Path) -> None:
    path = write_story(tmp_path, STORIES["parallel"]).path
    calls = {row["message"]["content"][0].get("id"): row["uuid"] for row in of_type(path, "assistant")}
    found = [row for row in of_type(path, "user") if "toolUseResult" in row]
    assert [row["message"]["content"][0]["tool_use_id"] for row in found] == ["toolu_3", "toolu_1", "toolu_2"]
    for row in found:
        assert row["sourceToolAssistantUUID"] == calls[row["message"]["content"][0]["tool_use_id"]]
        assert row["toolUseResult"]["stderr"] == ""
        assert "is_error" not in row["message"]["content"][0]


def test_of_an_error_the_client_keeps_its_text(tmp_path: Path) -> None:
    found = [row for row in rows(write_story(tmp_path, STORIES["errors"]).path) if "toolUseResult" in row]
    assert [row["toolUseResult"] for row in found] == [
        "Error: Exit code 1\nno",
        "Error: No such tool available: Nope",
    ]
    assert all(row["message"]["content"][0]["is_error"] is True for row in found)


def test_an_answer_that_failed_is_no_model_s(tmp_path: Path) -> None:
    found = next(row for row in rows(write_story(tmp_path, STORIES["failure"]).path) if row.get("isApiErrorMessage"))
    assert found["message"]["model"] == "<synthetic>"
    assert (found["error"], found["apiErrorStatus"]) == ("server_error", 529)
    assert found["message"]["usage"]["output_tokens"] == 0


def test_a_turn_ends_with_its_duration_and_where_to_go_on(record: SessionRecord) -> None:
    record.write_prompt("one\ntwo " + "x" * 300)
    record.write_answer(answer("hi"))
    record.write_turn_end(42)
    *_, duration, last = rows(record.path)
    assert (duration["subtype"], duration["durationMs"], duration["messageCount"]) == ("turn_duration", 42, 2)
    assert last["leafUuid"] == duration["uuid"] == record.last
    assert last["lastPrompt"].startswith("one two xxx")
    assert last["lastPrompt"].endswith("x…")


def test_a_title_is_said_again_behind_every_turn(record: SessionRecord) -> None:
    record.write_title("Mine")
    plain(record)
    record.write_title("The model's", by_model=True)
    assert [row["customTitle"] for row in of_type(record.path, "custom-title")] == ["Mine", "The shop", "The shop"]
    assert rows(record.path)[-1] == {"type": "ai-title", "aiTitle": "The model's", "sessionId": record.session_id}


def test_progress_hangs_beside_the_chain(tmp_path: Path) -> None:
    path = write_story(tmp_path, STORIES["progress"]).path
    found, chain = of_type(path, "progress"), links(path)
    assert {row["parentUuid"] for row in chain} & {row["uuid"] for row in found} == set()
    assert [row["toolUseID"] for row in found] == [f"bash-progress-{number}" for number in range(4)]
    assert [row["parentToolUseID"] for row in found] == ["toolu_g1"] * 3 + ["toolu_g2"]


def test_a_compaction_is_a_boundary_and_a_summary_that_names_the_transcript(tmp_path: Path) -> None:
    path = write_story(tmp_path, STORIES["compaction"]).path
    found = rows(path)
    at = next(at for at, row in enumerate(found) if row.get("subtype") == "compact_boundary")
    boundary, summary, last = found[at : at + 3]
    assert boundary["parentUuid"] is None
    assert boundary["compactMetadata"] == {"trigger": "manual", "preTokens": 5000, "durationMs": 70}
    assert summary["parentUuid"] == boundary["uuid"]
    assert summary["isCompactSummary"] is summary["isVisibleInTranscriptOnly"] is True
    assert "They asked about the shop." in summary["message"]["content"]
    assert str(path) in summary["message"]["content"]
    assert last["leafUuid"] == summary["uuid"]


@pytest.mark.parametrize("deed", ["prompt", "compacted"])
def test_what_could_not_be_written_is_nowhere_in_the_chain(record: SessionRecord, deed: str) -> None:
    plain(record)
    away = record.path.rename(record.path.with_suffix(".away"))
    with pytest.raises(TurnlogError, match="was not written"):
        record.write_prompt("lost") if deed == "prompt" else record.write_compaction("manual", 10, "Lost.", 1)
    away.rename(record.path)
    last = links(record.path)[-1]["uuid"]
    record.write_prompt("again")
    assert links(record.path)[-1]["parentUuid"] == last


def test_a_command_that_the_model_hears_of_stands_in_prompts_and_another_does_not(tmp_path: Path) -> None:
    found = rows(write_story(tmp_path, STORIES["commands"]).path)
    said = [
        row["message"]["content"]
        for row in found
        if row["type"] == "user" and isinstance(row["message"]["content"], str)
    ]
    assert any("<command-name>/model</command-name>" in content for content in said)
    assert "<local-command-stdout>Set model to opus</local-command-stdout>" in said
    shown = [row for row in found if row.get("subtype") == "local_command"]
    assert len(shown) == 2
    assert all(row["isDisplayOnly"] for row in shown)


def test_whoever_watches_is_told_every_link_after_it_was_written(tmp_path: Path) -> None:
    told: list[Object] = []

    def watch(entry: Object) -> None:
        told.append(entry)
        assert entry in links(made.path)

    made = SessionRecord.create_session(tmp_path, tmp_path)
    made.watch = watch
    STORIES["compaction"](made)
    assert told == links(made.path)


# -- sub-agents


def test_a_sub_agent_has_a_file_of_its_own_and_says_whose_it_is(tmp_path: Path) -> None:
    record = write_story(tmp_path, STORIES["agents"])
    path = record.path.with_suffix("") / "subagents" / "agent-aone0000000000000.jsonl"
    found = rows(path)
    assert found[0]["message"]["content"] == "Look at one"
    assert {row["agentId"] for row in found} == {"aone0000000000000"}
    assert all(row["isSidechain"] for row in found)
    assert {row["promptId"] for row in found if row["type"] == "user"} == {links(record.path)[0]["promptId"]}
    assert json.loads(path.with_suffix(".meta.json").read_bytes()) == {
        "agentType": "Explore",
        "description": "Look",
        "toolUseId": "toolu_one",
        "spawnDepth": 1,
        "finished": True,
    }


def test_a_sub_agent_of_a_sub_agent_lies_beside_it(tmp_path: Path) -> None:
    record = SessionRecord.create_session(tmp_path, tmp_path)
    record.write_prompt("hello")
    inner = record.create_agent_record("toolu_1", "a1", "Explore", "look").create_agent_record(
        "toolu_2", "a2", "Explore", "look deeper"
    )
    inner.write_turn_end(5)
    assert inner.path.parent == record.folder / "subagents" == inner.folder / "subagents"
    meta = json.loads(inner.path.with_suffix(".meta.json").read_bytes())
    assert (meta["spawnDepth"], meta["parentAgentId"]) == (2, "a1")
    assert of_type(inner.path, "last-prompt") == []


def test_turnlog_reads_the_sub_agents_with_their_calls(tmp_path: Path) -> None:
    with Session.open(write_story(tmp_path, STORIES["agents"]).path) as session:
        assert {agent.agent_id: agent.call_id for agent in session.agents} == {
            "aone0000000000000": "toolu_one",
            "atwo0000000000000": "toolu_two",
        }


# -- others who write


def test_a_prompt_that_another_process_added_stops_this_one(record: SessionRecord) -> None:
    record.write_prompt("hello")
    other = SessionRecord.continue_session(record.path, record.last, cwd=record.cwd, size=record.path.stat().st_size)
    other.write_prompt("I am here, too")
    with pytest.raises(Busy, match="another process is continuing"):
        record.write_answer(answer("hi"))
    assert len(rows(record.path)) == 2


def test_a_title_that_another_process_added_does_not(record: SessionRecord) -> None:
    record.write_prompt("hello")
    with record.path.open("ab") as file:
        file.write(b'{"type":"custom-title","customTitle":"x","sessionId":"y"}\nnot even JSON\n')
    record.write_answer(answer("hi"))
    assert [json.loads(line)["type"] for line in record.path.read_bytes().splitlines()[::3]] == ["user", "assistant"]


def test_a_file_that_was_replaced_or_cut_is_not_written_to(record: SessionRecord) -> None:
    record.write_prompt("hello")
    data = record.path.read_bytes()
    record.path.write_bytes(data[:-5])
    with pytest.raises(Changed, match="replaced or truncated"):
        record.write_answer(answer("hi"))
    record.path.rename(record.path.with_suffix(".old"))
    record.path.write_bytes(data * 2)
    with pytest.raises(Changed, match="replaced or truncated"):
        record.write_answer(answer("hi"))
    assert record.path.read_bytes() == data * 2


def test_a_file_that_is_gone_is_told_and_the_chain_stays_where_it_was(record: SessionRecord) -> None:
    uuid = record.write_prompt("hello")
    record.path.unlink()
    with pytest.raises(TurnlogError, match="the session was not written"):
        record.write_answer(answer("hi"))
    assert record.last == uuid


def test_a_torn_last_line_gets_its_end_first(record: SessionRecord) -> None:
    record.write_prompt("hello")
    with record.path.open("ab") as file:
        file.write(b'{"type":"assi')
    record.write_answer(answer("hi"))
    lines = record.path.read_bytes().splitlines()
    assert lines[1] == b'{"type":"assi'
    assert json.loads(lines[2])["type"] == "assistant"


def test_threads_that_write_at_once_make_one_chain(record: SessionRecord) -> None:
    record.write_prompt("hello")
    record.write_answer(answer(*(use(f"toolu_{number}") for number in range(40))))
    work = [
        threading.Thread(target=lambda number=number: record.write_result(f"toolu_{number}", CallResult(str(number))))
        for number in range(40)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    found = links(record.path)
    assert len(found) == 81
    assert all(row["parentUuid"] == before["uuid"] for before, row in pairwise(found))


def test_what_can_not_be_encoded_is_written_as_escapes(record: SessionRecord) -> None:
    record.write_prompt("half of a pair: \ud83d, and \x00")
    assert rows(record.path)[0]["message"]["content"] == "half of a pair: \ud83d, and \x00"


# -- the end of the process at any moment

KILLED = """
import os, signal, sys
from pathlib import Path
from tests.agent.talk import STORIES
from turnlog.agent.record.record import SessionRecord

left, base, *names = int(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]

def hook(event, args):
    global left
    if event == "open" and str(args[0]).endswith(".jsonl") and args[2] & os.O_ACCMODE != os.O_RDONLY:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

def write(folder):
    record = SessionRecord.create_session(folder, folder, "11111111-2222-4333-8444-555555555555")
    record.write_prompt("the first")
    sys.addaudithook(hook)
    for name in names:
        STORIES[name](record)
"""
"""Writes stories, and is killed before one of its writes."""
ONCE = f"{KILLED}\nwrite(base)"
EVERY = f"""{KILLED}
for left in range(left):
    folder = base / str(left)
    folder.mkdir()
    if (pid := os.fork()) == 0:
        write(folder)
        os._exit(0)
    if os.waitpid(pid, 0)[1] == 0:
        break
"""


@posix
def test_a_process_that_is_killed_before_any_of_its_writes_leaves_a_session_that_goes_on(tmp_path: Path) -> None:
    words = ["200", str(tmp_path), "compaction", "parallel", "cut_off"]
    subprocess.run([sys.executable, "-c", EVERY, *words], check=True, cwd=ROOT)
    seen = []
    for path in sorted(tmp_path.glob("*/projects/*/*.jsonl")):
        with Session.open(path) as session:
            assert not session.file.scraps
            seen.append(len(session.file.entries))
            assert session.conversation().messages
    assert len(seen) < 200, "the last of them came to its end"
    assert len(set(seen)) == len(seen) > 40
