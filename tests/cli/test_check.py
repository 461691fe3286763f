"""`turnlog check`: findings in plain words, news of the format, and an exit status for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import SESSION, Build, base, encode_lines, variant
from turnlog.api.checks import check_session_file
from turnlog.demo import config_dir


def sound() -> Build:
    build = Build()
    build.prompt("one", "u1")
    build.answer("first", uuid="a1")
    return build


def test_a_sound_file_has_no_errors_and_status_0(turnlog: Turnlog, tmp_path: Path) -> None:
    path = sound().write(tmp_path)
    done = turnlog("check", path)
    assert (done.status, done.err) == (0, "")
    assert done.lines == [str(path), "", "0 errors, 0 warnings"]


def test_findings_name_their_lines_the_gravest_first(turnlog: Turnlog, tmp_path: Path) -> None:
    build = sound()
    build.prompt("lost", parent="nobody")
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(build.data() + b"{broken\n" * 7 + b'{"torn')
    done = turnlog("check", path)
    assert done.status == 1
    assert done.lines[1] == ""
    assert done.lines[2] == "Errors"
    assert done.lines[3].startswith("  lines 4, 5, 6, 7, 8 …: a line is not valid JSON: ")
    assert done.lines[3].endswith(" (7 times)  [broken-line]")
    assert "Warnings" in done.lines
    assert "  line 3: the parent of an entry is not in the file  [missing-parent]" in done.lines
    assert any(line.startswith("  line 11: the last line is incomplete") for line in done.lines)
    assert done.lines[-1] == "1 error, 2 warnings"


def test_news_of_the_format_is_named_with_count_and_first_version(turnlog: Turnlog, tmp_path: Path) -> None:
    for number, version in enumerate(("2.1.100", "2.1.99")):
        build = Build(version)
        build.prompt()
        build.row("novelty")
        build.row("novelty")
        build.write(tmp_path, f"{number}")
    done = turnlog("check", tmp_path)
    assert done.status == 0
    assert "  4 ×  type novelty  first in 2.1.99  2 files" in done.lines
    assert turnlog("check", tmp_path, "--json").json["drift"] == [
        {"kind": "type", "path": "novelty", "count": 4, "version": "2.1.99", "files": 2}
    ]


def test_all_files_below_a_folder_are_checked_and_summed_up(turnlog: Turnlog, tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    sound().write(inner)
    (inner / "agent-x.jsonl").write_bytes(b"{broken\n" + sound().data())
    (tmp_path / "history.jsonl").write_text('{"display": "hello"}\n')
    done = turnlog("check", tmp_path)
    assert done.status == 1
    assert done.lines[:2] == ["  errors  warnings  file", f"       1         0  {inner / 'agent-x.jsonl'}"]
    assert any(line.startswith("      1       1  error  broken-line: ") for line in done.lines)
    assert done.lines[-1] == "1 error, 0 warnings in 2 files, 1 of them sound"


def test_several_names_may_be_given_and_a_file_is_checked_once(turnlog: Turnlog, tmp_path: Path) -> None:
    path = sound().write(tmp_path)
    done = turnlog("check", path, tmp_path, "bee7dbd3", "--json")
    assert [Path(file["path"]).stem for file in done.json["files"]] == [SESSION, "bee7dbd3-a71b-48ef-8c53-70ecb3f99f59"]
    assert done.json["summary"] == {"files": 2, "errors": 0, "warnings": 0, "infos": 0}


def test_the_demo_has_no_errors(turnlog: Turnlog) -> None:
    done = turnlog("check", config_dir() / "projects")
    assert done.status == 0
    assert "News of the format" not in done.out


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"timestamp":"2026","type":"session_meta","payload":{}}\n', "'session_meta', as in a Codex rollout"),
        ('{"id":"x","timestamp":"2026","instructions":null}\n', "the first has no type, as in an old Codex rollout"),
        ('{"role":"user","content":"hi"}\n', "the first has no type, as in a plain list of messages"),
        ('{\n  "messages": [\n  ]\n}\n', "the file may be one JSON document over several lines"),
        ("some words\n", "the first problem: "),
        ('{"type":"system","subtype":"init","session_id":"x"}\n{"type":"user"}\n', "it is the output of `claude -p"),
    ],
)  # fmt: skip
def test_a_file_of_another_program_is_recognised(turnlog: Turnlog, tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_text(content)
    done = turnlog("check", path)
    assert done.status == 1
    assert "this is not a Claude Code session: " in done.out
    assert reason in done.out


def test_a_link_to_nothing_is_no_file(turnlog: Turnlog, tmp_path: Path) -> None:
    sound().write(tmp_path)
    target = tmp_path / "dangling.jsonl"
    target.symlink_to(tmp_path / "gone.jsonl")
    assert turnlog("check", tmp_path).status == 0
    missing = turnlog("check", target)
    assert (missing.status, missing.out) == (1, "")
    assert missing.err == f"turnlog: {target}: no such file\n"


def test_a_file_that_can_not_be_read_is_a_finding_like_any_other(tmp_path: Path) -> None:
    (finding,) = check_session_file(tmp_path / "gone.jsonl").findings
    assert (finding.kind, finding.severity) == ("unreadable", "error")
    assert "gone.jsonl: No such file" in finding.text


def test_a_folder_without_session_files_says_so(turnlog: Turnlog, tmp_path: Path) -> None:
    done = turnlog("check", tmp_path)
    assert (done.status, done.err) == (1, f"turnlog: {tmp_path}: no .jsonl files in this folder or its subfolders\n")


def test_no_name_is_a_wrong_call(turnlog: Turnlog) -> None:
    assert turnlog("check").status == 2


def test_recorded_requests_prove_our_messages(turnlog: Turnlog) -> None:
    done = turnlog("check", "bee7dbd3", "--requests")
    assert done.status == 0
    assert "Requests: 14; 28 of 28 recorded messages resolved, 2 of them recorded in full." in done.lines
    (file,) = turnlog("check", "bee7dbd3", "--requests", "--json").json["files"]
    assert file["requests"]["messages"] == file["requests"]["rebuilt"] + file["requests"]["blobs"] == 28
    assert file["requests"]["unresolved"] == []


def test_a_file_without_recorded_requests_says_so(turnlog: Turnlog, tmp_path: Path) -> None:
    done = turnlog("check", sound().write(tmp_path), "--requests")
    assert "Requests: none recorded; only the newest versions of Claude Code record them." in done.lines


def test_a_message_that_we_do_not_know_is_a_warning(turnlog: Turnlog, tmp_path: Path) -> None:
    build = sound()
    build.note("api-request", id="r1", tail=["0" * 64])
    path = build.write(tmp_path)
    assert "0 of 1 recorded messages resolved" in turnlog("check", path, "--requests").out
    (file,) = turnlog("check", path, "--requests", "--json").json["files"]
    assert file["requests"]["unresolved"] == [{"request": "r1", "hash": "0" * 64}]


def test_json_findings_have_kind_severity_words_and_places(turnlog: Turnlog) -> None:
    (file,) = turnlog("check", variant("garbage-line-in-the-middle"), "--json").json["files"]
    (finding,) = [found for found in file["findings"] if found["severity"] == "error"]
    assert finding["kind"] == "broken-line"
    assert finding["count"] == 1
    assert finding["places"][0]["line"] == 3


def test_hostile_content_does_no_harm(turnlog: Turnlog, machine: Machine) -> None:
    build = Build(HOSTILE)
    build.prompt(parent=HOSTILE)
    build.row(HOSTILE)
    build.lines[-1][HOSTILE] = 1
    data = build.data() + json.dumps(HOSTILE).encode() + b"\n{\x1b[2J\n"
    for path in (machine.add(SESSION, data), machine.folder):
        done = turnlog("check", path, "--requests")
        assert done.status == 1
        assert harmful(done.out) == set()


def test_a_sound_file_can_be_resumed(turnlog: Turnlog, tmp_path: Path) -> None:
    path = sound().write(tmp_path)
    done = turnlog("check", path, "--resumable")
    assert done.status == 0
    assert f"{SESSION}.jsonl can be resumed: 2 messages would be sent" in done.lines
    (file,) = turnlog("check", path, "--resumable", "--json").json["files"]
    assert (file["resumable"]["ok"], file["resumable"]["broken"]) == (True, [])
    (file,) = turnlog("check", path, "--json").json["files"]
    assert file["resumable"] is None


def test_a_file_that_the_api_would_refuse_fails_though_nothing_in_it_is_broken(
    turnlog: Turnlog, tmp_path: Path
) -> None:
    build = sound()
    build.answer({"type": "thinking", "thinking": "hm", "signature": ""}, "so", uuid="a2")
    build.answer({"type": "thinking", "thinking": "hm", "signature": ""}, "so", uuid="a3")
    path = build.write(tmp_path)
    assert turnlog("check", path).status == 0
    done = turnlog("check", path, "--resumable")
    assert done.status == 1
    assert f"{SESSION}.jsonl can be resumed, with losses: 4 messages would be sent" in done.lines
    assert "  error: thinking without a signature (2 times)  [bad-thinking]" in done.lines


def test_a_file_that_the_client_refuses_and_what_old_clients_lose_are_told(turnlog: Turnlog) -> None:
    done = turnlog("check", variant("minimum-without-timestamp"), "--resumable")
    assert done.status == 1
    assert "minimum-without-timestamp.jsonl can't be resumed: 0 messages would be sent" in done.lines
    done = turnlog("check", variant("assistant-content-is-a-string"), "--resumable")
    text = "  Claude Code up to 2.1.45 loses answers in plain text, on which resuming fails (1)  [text-answer]"
    assert text in done.lines


def test_a_folder_is_sound_with_what_else_its_sessions_have(turnlog: Turnlog, machine: Machine) -> None:
    path = machine.add(SESSION, base().data())
    inside = path.with_suffix("")
    for place, data in (
        ("subagents/agent-a1.jsonl", encode_lines([{**line, "isSidechain": True} for line in base().lines])),
        ("subagents/workflows/w1/agent-a2.jsonl", base().data()),
        ("subagents/workflows/w1/journal.jsonl", b'{"event":"started"}\n'),
        ("tool-results/output.jsonl", b'{"rows":1}\n'),
    ):
        (inside / place).parent.mkdir(parents=True, exist_ok=True)
        (inside / place).write_bytes(data)
    done = turnlog("check", machine.folder)
    assert (done.status, done.lines[-1]) == (0, "0 errors, 0 warnings in 3 files, 3 of them sound")
    assert "would not resume" not in done.out
    assert "would not resume" not in turnlog("check", inside / "subagents" / "agent-a1.jsonl").out
