"""`turnlog trace backfill`: the whole history, once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.session.build import Build, encode_lines
from tests.trace.recorder import Recorder


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Recorder]:
    """A backend that the environment names."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "home"))
    with Recorder() as recorder:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", recorder.url)
        yield recorder


def talk(turns: int = 1, secret: str = "") -> Build:
    build = Build()
    for number in range(turns):
        build.prompt(f"do {number} {secret}", f"prompt-{secret[:4]}{number}")
        build.answer(f"did {number}", id=f"end-{secret[:4]}{number}")
    return build


def name(number: int) -> str:
    return f"{number:08d}-2222-4333-8444-555555555555"


def test_all_sessions_are_sent_once(turnlog: Turnlog, machine: Machine, backend: Recorder) -> None:
    for number in range(3):
        machine.add(name(number), talk(2, str(number)).data())
    first = turnlog("trace", "backfill", "--all")
    assert (first.status, first.err) == (0, "")
    assert "3 sessions, 12 new spans" in first.out
    assert len(backend.spans) == len({span["span"] for span in backend.spans}) == 12
    again = turnlog("trace", "backfill", "--all", "--json").json["targets"]
    assert [(item["spans"], item["known"]) for item in again] == [(0, 12)]
    assert len(backend.spans) == 12


def test_one_session_or_those_of_a_project_or_of_late_are_sent(
    turnlog: Turnlog, machine: Machine, backend: Recorder
) -> None:
    path = machine.add(name(1), talk(1, "one").data())
    machine.add(name(2), talk(1, "two").data())
    assert turnlog("trace", "backfill", path).status == 0
    assert {span["attributes"]["session.id"] for span in backend.spans} == {name(1)}
    assert turnlog("trace", "backfill", "--project", "webshop").status == 0
    assert {span["attributes"]["session.id"] for span in backend.spans} == {name(1), name(2)}
    assert turnlog("trace", "backfill", "--since", "2030-01-01").err.startswith("turnlog: no session matches")
    assert turnlog("trace", "backfill", "--project", "elsewhere").status == 2


@pytest.mark.parametrize("words", [(), ("last", "--all"), ("--all", "--target", "nobody")])
def test_words_that_do_not_go_together_are_a_mistake(
    turnlog: Turnlog, machine: Machine, backend: Recorder, words: tuple[str, ...]
) -> None:
    machine.add(name(1), talk().data())
    done = turnlog("trace", "backfill", *words)
    assert (done.status, len(done.err.splitlines())) == (2, 1)
    assert backend.requests == []


def test_without_a_target_it_says_how_to_name_one(
    turnlog: Turnlog, machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "home"))
    machine.add(name(1), talk().data())
    done = turnlog("trace", "backfill", "--all")
    assert done.status == 2
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in done.err


def test_a_dry_run_prints_what_would_be_sent_and_sends_nothing(
    turnlog: Turnlog, machine: Machine, backend: Recorder
) -> None:
    machine.add(name(1), talk(1, "sk-ant-api03-" + "a1B2" * 20).data())
    done = turnlog("trace", "backfill", "--all", "--dry-run")
    spans = done.json["targets"][0]["spans"]
    assert [span["name"] for span in spans] == ["invoke_agent claude-code", "chat claude-opus-5"]
    assert "a1B2a1B2" not in done.out
    assert backend.requests == []
    full = turnlog("trace", "backfill", "--all", "--dry-run", "--content", "full")
    assert "a1B2a1B2" in full.out
    none = turnlog("trace", "backfill", "--all", "--dry-run", "--content", "none").out
    assert "did 0" not in none
    assert turnlog("trace", "backfill", "--all").status == 0
    assert len(backend.spans) == 2


def test_the_last_turn_of_a_session_that_an_old_client_may_still_write_waits(
    turnlog: Turnlog, machine: Machine, backend: Recorder
) -> None:
    build = Build("2.1.29")
    build.prompt("go")
    build.call("c1", id="m1")
    path = machine.add(name(1), build.data())
    first = turnlog("trace", "backfill", "--all", "--json").json["targets"][0]
    assert (first["spans"], first["not_final"]) == (0, 3)
    build.result("c1", "found it")
    path.write_bytes(build.data())
    os.utime(path, (1_700_000_000, 1_700_000_000))
    turnlog("trace", "backfill", "--all")
    assert [span["attributes"].get("gen_ai.tool.call.result") for span in backend.spans] == [None, None, "found it"]


def test_a_dry_run_prints_what_copies_share_once(turnlog: Turnlog, machine: Machine, backend: Recorder) -> None:
    machine.add(name(1), talk(2).data())
    machine.add(name(2), talk(2).data())
    machine.add(name(3), encode_lines([{**line, "uuid": f"new-{line['uuid']}"} for line in talk(2).lines]))
    (target,) = turnlog("trace", "backfill", "--all", "--dry-run").json["targets"]
    assert [span["kind"] for span in target["spans"]] == ["agent", "generation"] * 2
    turnlog("trace", "backfill", "--all")
    assert [span["span"] for span in backend.spans] == [span["span"] for span in target["spans"]]


def test_what_a_server_does_not_take_waits_and_is_sent_by_flush(
    turnlog: Turnlog, machine: Machine, backend: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnlog.api.traces._SERVER_TIMEOUT_SECONDS", 0.0)
    machine.add(name(1), talk(2).data())
    backend.default = 503
    done = turnlog("trace", "backfill", "--all")
    assert done.status == 1
    assert "4 are waiting in the outbox" in done.out
    backend.default = 200
    assert turnlog("trace", "flush").status == 0
    assert len(backend.spans) == 4


def test_a_session_that_cannot_be_read_is_left_out_and_told(
    turnlog: Turnlog, machine: Machine, backend: Recorder
) -> None:
    machine.add(name(1), talk(1, "x").data())
    broken = machine.add(name(2), talk(1, "y").data())
    broken.unlink()
    broken.mkdir()
    done = turnlog("trace", "backfill", "--all")
    assert len(backend.spans) == 2
    assert done.status == 0  # a folder is no session at all


def test_made_up_sessions_are_not_sent(turnlog: Turnlog, machine: Machine, backend: Recorder) -> None:
    for words in (("--all",), ("last",)):
        done = turnlog("trace", "backfill", *words)
        assert done.status == 1
        assert "demo sessions are not sent" in done.err
    assert backend.requests == []


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_it_may_be_interrupted_and_repeated(machine: Machine, backend: Recorder) -> None:
    for number in range(6):
        machine.add(name(number), talk(30, str(number)).data())
    backend.answers += [200] * 4 + [("hang", 3)]
    program = [sys.executable, "-m", "turnlog", "trace", "backfill", "--all", "--json"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while len(backend.requests) < 5:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, b"turnlog: interrupted\n")
    done = subprocess.run(program, capture_output=True, check=True)
    assert json.loads(done.stdout)["targets"][0]["pending"] == 0
    sent = [span["span"] for span in backend.spans]
    assert len({*sent}) == 360
    assert len(sent) == 360  # what hung was not taken


@pytest.mark.parametrize("answer", [("status", 400, "bad tenant"), ("partial", 4, "bad tenant")])
def test_spans_that_the_server_refuses_are_a_failure_with_the_reason(
    turnlog: Turnlog, machine: Machine, backend: Recorder, answer: Any
) -> None:
    machine.add(name(1), talk(2).data())
    backend.default = answer
    done = turnlog("trace", "backfill", "--all")
    assert done.status == 1
    (line,) = done.err.splitlines()
    assert "4 spans were refused by the server" in line
    assert "bad tenant" in line
    machine.add(name(2), talk(2, "more").data())
    (found,) = turnlog("trace", "backfill", "--all", "--json").json["targets"]
    assert found["quarantined"] + found["rejected"] >= 4
    assert "bad tenant" in found["refusal"]


def test_spans_that_were_refused_and_sent_again_are_no_failure(
    turnlog: Turnlog, machine: Machine, backend: Recorder
) -> None:
    machine.add(name(1), talk(2).data())
    backend.default = 400
    assert turnlog("trace", "backfill", "--all").status == 1
    backend.default = 200
    assert turnlog("trace", "flush", "--quarantined").status == 0
    assert turnlog("trace", "backfill", "--all").status == 0


def test_a_flush_whose_spans_the_server_drops_is_a_failure(
    turnlog: Turnlog, machine: Machine, backend: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnlog.api.traces._SERVER_TIMEOUT_SECONDS", 0.0)
    machine.add(name(1), talk(1).data())
    backend.default = 503
    turnlog("trace", "backfill", "--all")
    backend.default = ("partial", 1, "too old")
    done = turnlog("trace", "flush")
    assert (done.status, "1 span dropped by the server (1 of its spans were rejected: too old)" in done.out) == (
        1,
        True,
    )


def test_a_dry_run_needs_no_target(
    turnlog: Turnlog, machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "home"))
    machine.add(name(1), talk(1).data())
    done = turnlog("trace", "backfill", "--all", "--dry-run")
    (found,) = done.json["targets"]
    assert (done.status, found["target"], len(found["spans"])) == (0, None, 2)
    assert turnlog("trace", "backfill", "--all", "--dry-run", "--target", "nobody").status == 2


# -- sessions of which only sub-agents are left


def sidechain(session: str, agent: str, text: str = "looked") -> bytes:
    build = Build()
    build.prompt("look", f"{agent}-p", isSidechain=True, agentId=agent)
    build.answer(text, id=f"{agent}-m", isSidechain=True, agentId=agent, usage={"input_tokens": 7, "output_tokens": 5})
    return encode_lines([{**line, "sessionId": session} for line in build.lines])


def put(machine: Machine, place: str, data: bytes) -> None:
    path = machine.folder / "projects" / "-home-dana" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (1_700_000_000, 1_700_000_000))


@pytest.fixture
def strays(machine: Machine) -> list[str]:
    """Sub-agents whose session has no file, in each layout, and one whose session's file is empty."""
    machine.add(name(1), talk(1, "one").data(), mtime=1_700_000_000)
    machine.add(name(2), b"", mtime=1_700_000_000)
    put(machine, f"{name(2)}/subagents/agent-a2.jsonl", sidechain(name(2), "a2"))
    put(machine, f"{name(3)}/subagents/agent-a3.jsonl", sidechain(name(3), "a3"))
    put(machine, f"{name(4)}/subagents/workflows/w/agent-a4.jsonl", sidechain(name(4), "a4"))
    put(machine, "agent-a5.jsonl", sidechain(name(5), "a5"))
    return ["a2", "a3", "a4", "a5"]


def test_sub_agents_whose_session_has_no_file_or_an_empty_one_are_sent(
    turnlog: Turnlog, backend: Recorder, strays: list[str]
) -> None:
    done = turnlog("trace", "backfill", "--all", "--json")
    assert done.status == 0
    generations = {span["attributes"].get("claude_code.message_id") for span in backend.spans} - {None}
    assert generations == {"end-one0", *(f"{agent}-m" for agent in strays)}
    ids = {span["attributes"]["session.id"] for span in backend.spans}
    assert ids == {name(number) for number in range(1, 6)}
    again = turnlog("trace", "backfill", "--all", "--json").json["targets"]
    assert [item["spans"] for item in again] == [0]


def test_what_is_sent_of_all_sessions_is_what_usage_counts(
    turnlog: Turnlog, backend: Recorder, strays: list[str]
) -> None:
    turnlog("trace", "backfill", "--all")
    total = turnlog("usage", "session", "--json").json["total"]
    sums = [
        sum(span["attributes"].get(f"gen_ai.usage.{kind}", 0) for span in backend.spans)
        for kind in ("input_tokens", "output_tokens")
    ]
    assert sums == [total["input_tokens"], total["output_tokens"]] == [28, 20]


def test_one_session_without_a_file_is_named_by_its_id(turnlog: Turnlog, backend: Recorder, strays: list[str]) -> None:
    assert turnlog("trace", "backfill", name(3)).status == 0
    assert {span["attributes"]["session.id"] for span in backend.spans} == {name(3)}
    assert "chat" in turnlog("trace", "show", name(3)[:8]).out
    assert turnlog("trace", "show", "99999999").status == 1


def test_sessions_without_a_file_are_chosen_by_project_and_time(
    turnlog: Turnlog, backend: Recorder, strays: list[str]
) -> None:
    assert turnlog("trace", "backfill", "--since", "2100-01-01").status == 1
    assert turnlog("trace", "backfill", "--project", "webshop").status == 0
    assert {span["attributes"]["session.id"] for span in backend.spans} >= {name(3), name(5)}
