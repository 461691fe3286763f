"""The worker: from wakes to the backends, each span once, whatever is in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import Build, encode_lines, find_recording
from tests.trace.recorder import Recorder
from tests.trace.test_wakes import leave
from turnlog.errors import UsageError
from turnlog.store.file_lock import try_lock_file
from turnlog.trace import hook
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.transcript_end import WaitLimits
from turnlog.trace.wakes import WakeCount, count_wakes
from turnlog.trace.worker import WorkerJob, WorkerReport, run_worker

ONE, TWO = (f"{number}0000000-0000-4000-8000-000000000000" for number in "12")
SHORT = WaitLimits(answer=0.3, duration=0.05, quiet=0.05)
LONG_AGO = 1_700_000_000


class Place:
    """A project, turnlog's data folder, and a backend."""

    def __init__(self, base: Path, recorder: Recorder) -> None:
        self.folder = base / "data" / "trace"
        self.project = base / "claude" / "projects" / "-home-dana"
        self.recorder = recorder
        self.target = TraceTarget(name="t", url=f"{recorder.url}/v1/traces")
        self.project.mkdir(parents=True)
        self.made = time.time_ns()

    def write(self, name: str, build: Build, *, mtime: float | None = LONG_AGO) -> Path:
        path = self.project / f"{name}.jsonl"
        path.write_bytes(encode_lines([{**line, "sessionId": name} for line in build.lines]))
        if mtime is not None:
            os.utime(path, (mtime, mtime))
        return path

    def wake(self, path: Path, event: str = "Stop", **said: Any) -> Path:
        self.made += 1
        told = {"transcript_path": str(path), "session_id": path.stem, "hook_event_name": event, **said}
        return leave(self.folder, told, made=self.made)

    def work(self, *targets: TraceTarget, delivery: float = 0, patience: WaitLimits = SHORT) -> WorkerReport:
        chosen = targets or (self.target,)
        return run_worker(WorkerJob(self.folder, "m", lambda _: [*chosen], patience, delivery))

    @property
    def names(self) -> list[str]:
        """What has arrived."""
        return sorted(span["name"] for span in self.recorder.spans)


@pytest.fixture
def place(tmp_path: Path, recorder: Recorder) -> Place:
    return Place(tmp_path, recorder)


def turn(name: str = ONE, *, answer: str | None = "Done.", version: str = "2.1.325") -> Build:
    """A turn with a call; without an answer it is still at work."""
    build = Build(version)
    build.prompt("go", uuid=f"{name}-p", promptId="p1")
    build.call(f"{name}-c", uuid=f"{name}-b", id=f"{name}-m")
    build.result(f"{name}-c", uuid=f"{name}-r", promptId="p1")
    if answer is not None:
        build.answer(answer, uuid=f"{name}-a", id=f"{name}-n")
    return build


TURN = ["chat claude-opus-5", "chat claude-opus-5", "execute_tool Bash", "invoke_agent claude-code"]


def test_a_turn_that_has_ended_is_sent_with_its_last_answer_and_the_wake_goes(place: Place) -> None:
    place.wake(place.write(ONE, turn()), last_assistant_message="Done.", prompt_id="p1")
    report = place.work()
    assert (report.sessions, report.put, report.troubles) == (1, 4, [])
    assert place.names == TURN
    assert count_wakes(place.folder) == WakeCount(0, 0)


def test_an_answer_that_is_written_after_the_wake_is_waited_for(place: Place) -> None:
    path = place.write(ONE, turn(answer=None), mtime=None)
    whole = encode_lines([{**line, "sessionId": ONE} for line in turn().lines])
    place.wake(path, last_assistant_message="Done.", prompt_id="p1")
    writer = threading.Timer(0.2, lambda: path.write_bytes(whole))
    writer.start()
    place.work(patience=SHORT._replace(answer=30))
    writer.join()
    assert place.names == TURN


def test_an_answer_that_does_not_come_is_sent_when_it_does(place: Place) -> None:
    place.wake(place.write(ONE, turn(answer=None)), last_assistant_message="Done.")
    assert place.work().put == 1, "the call is final, the answer that asked for it may go on"
    assert count_wakes(place.folder).waiting == 0
    place.wake(place.write(ONE, turn()), last_assistant_message="Done.")
    assert place.work().put == 3
    assert place.names == TURN


def test_a_session_that_has_ended_is_sent_whole(place: Place) -> None:
    build = turn(answer=None)
    build.lines.pop()
    place.wake(place.write(ONE, build), "SessionEnd", reason="other")
    assert place.work().put == 3
    assert place.names == ["chat claude-opus-5", "execute_tool Bash", "invoke_agent claude-code"]


def test_a_session_that_was_resumed_after_its_end_is_not_over(place: Place) -> None:
    place.wake(place.write(ONE, turn(answer=None), mtime=None), "SessionEnd")
    path = place.project / f"{ONE}.jsonl"
    os.utime(path, (time.time() + 60, time.time() + 60))
    assert place.work().put == 1


def test_an_event_after_the_end_means_that_it_goes_on(place: Place) -> None:
    path = place.write(ONE, turn(answer=None))
    place.wake(path, "SessionEnd")
    place.wake(path, "Stop", last_assistant_message="Not there.")
    assert place.work().put == 1


def test_a_sub_agent_that_has_ended_is_sent_before_its_session_knows(place: Place, tmp_path: Path) -> None:
    build = Build()
    build.prompt("go", uuid="p")
    build.call("call-1", "Agent", {"prompt": "look", "subagent_type": "explore"}, uuid="c", id="m1")
    launched = {"isAsync": True, "status": "async_launched", "agentId": "a1"}
    build.result("call-1", "launched", uuid="r", toolUseResult=launched)
    path = place.write(ONE, build)
    agent = Build()
    agent.prompt("look", uuid="ap", isSidechain=True, agentId="a1")
    agent.answer("Found.", uuid="aa", id="am", isSidechain=True, agentId="a1")
    file = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(encode_lines(agent.lines))
    file.with_suffix(".meta.json").write_text(json.dumps({"agentType": "explore", "toolUseId": "call-1"}))
    place.wake(path)
    place.work()
    assert "invoke_agent explore" not in place.names
    said = {"agent_id": "a1", "agent_transcript_path": str(file), "last_assistant_message": "Found."}
    place.wake(path, "SubagentStop", **said)
    place.work()
    assert "invoke_agent explore" in place.names
    assert place.recorder.repeats == 0


def test_what_a_sub_agent_has_not_written_yet_is_not_taken_for_its_end(place: Place) -> None:
    path = place.write(ONE, turn())
    place.wake(path, "SubagentStop", agent_id="a1", agent_transcript_path=str(path), last_assistant_message="No.")
    place.wake(path, "SubagentStop", agent_id="a1")
    assert place.work().troubles == []


def test_wakes_of_several_sessions_are_all_served(place: Place) -> None:
    for name in (ONE, TWO, ONE):
        place.wake(place.write(name, turn(name)), last_assistant_message="Done.")
    assert place.work().sessions == 2
    assert place.names == sorted(TURN * 2)


def test_wakes_that_come_while_it_works_are_served_too(place: Place) -> None:
    path = place.write(ONE, turn(answer=None, version="2.1.29"), mtime=None)
    place.wake(path, last_assistant_message="Never.")
    later = threading.Timer(0.2, lambda: place.wake(place.write(TWO, turn(TWO)), last_assistant_message="Done."))
    later.start()
    place.work(patience=SHORT._replace(answer=1.0))
    later.join()
    assert count_wakes(place.folder).waiting == 0
    assert place.names == sorted(["execute_tool Bash", *TURN])


def test_a_wake_of_other_surroundings_is_left_to_others(place: Place) -> None:
    leave(place.folder, {"transcript_path": str(place.write(ONE, turn()))}, mark="other")
    assert place.work().sessions == 0
    assert place.names == []
    assert count_wakes(place.folder).waiting == 1


def test_targets_are_those_that_the_hook_was_given(place: Place) -> None:
    path = place.write(ONE, turn())
    head = ascii((1, "m", [], ["a", "b"])).encode()
    leave(place.folder, {"transcript_path": str(path), "hook_event_name": "Stop"}, head=head)
    asked: list[Sequence[str]] = []

    def targets(names: Sequence[str]) -> list[TraceTarget]:
        asked.append(names)
        return [place.target]

    run_worker(WorkerJob(place.folder, "m", targets, SHORT, 0))
    assert asked == [("a", "b")]
    assert place.names == TURN


def test_a_hook_with_a_name_that_is_no_target_holds_up_no_other(place: Place) -> None:
    said = {"transcript_path": str(place.write(TWO, turn(TWO))), "hook_event_name": "Stop"}
    leave(place.folder, said, head=ascii((1, "m", [], ["gone"])).encode(), made=1)
    place.wake(place.write(ONE, turn()))

    def targets(names: Sequence[str]) -> list[TraceTarget]:
        if names:
            raise UsageError("no target is called gone")
        return [place.target]

    report = run_worker(WorkerJob(place.folder, "m", targets, SHORT, 0))
    assert place.names == TURN
    assert report.troubles == ["no target is called gone"]
    assert count_wakes(place.folder) == WakeCount(waiting=0, broken=1), "it is very old"


def test_a_wake_for_other_targets_that_comes_meanwhile_is_served_too(place: Place) -> None:
    path = place.write(ONE, turn())
    said = {"transcript_path": str(path), "hook_event_name": "Stop"}
    place.wake(path)
    with Recorder() as second:
        other = TraceTarget(name="u", url=f"{second.url}/v1/traces")

        def targets(names: Sequence[str]) -> list[TraceTarget]:
            if not names:
                leave(place.folder, said, head=ascii((1, "m", [], ["u"])).encode(), made=place.made + 1)
            return [other] if names else [place.target]

        run_worker(WorkerJob(place.folder, "m", targets, SHORT, 0))
        assert sorted(span["name"] for span in second.spans) == place.names == TURN
    assert count_wakes(place.folder).waiting == 0


def test_without_a_target_a_wake_asks_for_nothing(place: Place) -> None:
    place.wake(place.write(ONE, turn()))
    run_worker(WorkerJob(place.folder, "m", lambda _: [], SHORT, 0))
    assert count_wakes(place.folder).waiting == 0


def test_a_session_without_a_file_asks_for_nothing(place: Place) -> None:
    place.wake(place.project / f"{ONE}.jsonl")
    assert place.work().troubles == []
    assert count_wakes(place.folder).waiting == 0


def test_a_session_that_cannot_be_read_keeps_its_wake_and_holds_up_no_other(place: Place) -> None:
    bad = place.project / f"{ONE}.jsonl"
    bad.mkdir()
    place.wake(bad)
    place.wake(place.write(TWO, turn(TWO)), last_assistant_message="Done.")
    report = place.work()
    assert "a folder, not a session file" in report.troubles[0]
    assert place.names == TURN
    assert count_wakes(place.folder) == WakeCount(waiting=1, broken=0)


def test_a_wake_that_could_not_be_served_for_a_week_is_set_aside(place: Place) -> None:
    bad = place.project / f"{ONE}.jsonl"
    bad.mkdir()
    place.made -= 8 * 86400 * 10**9
    place.wake(bad)
    place.work()
    assert count_wakes(place.folder) == WakeCount(waiting=0, broken=1)


def test_a_previous_session_is_sent_first(place: Place) -> None:
    place.write(TWO, turn(TWO))
    said = {"transcript_path": str(place.write(ONE, turn())), "hook_event_name": "Stop"}
    leave(place.folder, said, head=ascii((1, "m", ["1"], [])).encode())
    report = place.work()
    assert (report.recovered, report.sessions) == (1, 1)
    sessions = [span["attributes"]["session.id"] for span in place.recorder.spans]
    assert sessions == [TWO] * 4 + [ONE] * 4


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that can't be read")
def test_a_previous_session_that_cannot_be_read_is_no_concern_of_this_one(place: Place) -> None:
    (place.project / f"{TWO}.jsonl").symlink_to("/proc/self/mem")
    said = {"transcript_path": str(place.write(ONE, turn())), "hook_event_name": "Stop"}
    leave(place.folder, said, head=ascii((1, "m", ["1"], [])).encode())
    report = place.work()
    assert len(report.troubles) == 1
    assert place.names == TURN
    assert count_wakes(place.folder).waiting == 0


def test_a_previous_session_that_another_worker_is_at_is_left_to_it(place: Place) -> None:
    from turnlog.trace.worker import _build_lock_path

    other = place.write(TWO, turn(TWO))
    said = {"transcript_path": str(place.write(ONE, turn())), "hook_event_name": "Stop"}
    leave(place.folder, said, head=ascii((1, "m", ["1"], [])).encode())
    with try_lock_file(_build_lock_path(place.folder, other)) as is_mine:
        assert is_mine
        assert place.work().recovered == 0
    assert place.names == TURN


def test_a_server_that_is_down_costs_nothing_but_time(place: Place) -> None:
    place.recorder.default = 503
    place.wake(place.write(ONE, turn()), last_assistant_message="Done.")
    place.work()
    assert place.names == []
    place.recorder.default = 200
    place.wake(place.write(TWO, turn(TWO)), last_assistant_message="Done.")
    place.work(delivery=30)
    assert place.names == sorted(TURN * 2)
    assert place.recorder.repeats == 0


def test_a_server_that_hangs_does_not_hold_up_another(place: Place) -> None:
    with Recorder(default=("hang", 60)) as hanging:
        slow = TraceTarget(name="slow", url=f"{hanging.url}/v1/traces", timeout=60)
        place.wake(place.write(ONE, turn()), last_assistant_message="Done.")
        worker = threading.Thread(target=place.work, args=(slow, place.target))
        worker.start()
        place.recorder.wait(spans=4)
        assert worker.is_alive()
        hanging.wait(requests=1)
    worker.join(30)
    assert not worker.is_alive()


def test_several_workers_at_once_send_every_span_once(place: Place) -> None:
    for name in (ONE, TWO):
        for _ in range(3):
            place.wake(place.write(name, turn(name)), last_assistant_message="Done.")
    workers = [threading.Thread(target=place.work, kwargs={"delivery": 30}) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert place.names == sorted(TURN * 2)
    assert count_wakes(place.folder).waiting == 0


def test_the_same_event_twice_sends_nothing_new(place: Place) -> None:
    for _ in range(2):
        place.wake(place.write(ONE, turn()), last_assistant_message="Done.")
        place.work()
    assert place.names == TURN
    assert place.recorder.repeats == 0


def test_the_hook_and_its_worker_bring_a_recorded_session_to_the_backend(place: Place, tmp_path: Path) -> None:
    source = find_recording("2.1.325/tools")
    path = place.project / source.name
    path.write_bytes(source.read_bytes())
    said = {"transcript_path": str(path), "session_id": path.stem, "hook_event_name": "SessionEnd"}
    environ = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": place.recorder.url, "TURNLOG_HOME": str(tmp_path / "other")}
    command = [sys.executable, "-I", "-S", hook.__file__, str(place.folder)]
    subprocess.run(command, input=json.dumps(said).encode(), env=environ, check=True, timeout=60)
    deadline = time.monotonic() + 60
    while not is_idle(place.folder):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert "invoke_agent claude-code" in place.names
    assert place.recorder.repeats == 0
    assert not (tmp_path / "other").exists()


def test_a_broken_configuration_keeps_the_wakes_and_is_noted(place: Place, tmp_path: Path) -> None:
    from turnlog.trace.trouble import read_last_trouble

    place.folder.mkdir(parents=True)
    mark = hook.hash_surroundings({**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "ftp://nowhere"})
    leave(place.folder, {"transcript_path": str(place.write(ONE, turn()))}, mark=mark)
    environ = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "ftp://nowhere", "TURNLOG_HOME": str(tmp_path / "data")}
    subprocess.run([sys.executable, "-m", "turnlog", "trace", "work"], env=environ, check=True)
    trouble = read_last_trouble(place.folder)
    assert trouble is not None
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in trouble.words
    assert count_wakes(place.folder).waiting == 1


def is_idle(folder: Path) -> bool:
    """Whether everything was put and delivered."""
    if not (folder / "outbox.db").exists() or count_wakes(folder).waiting:
        return False
    with Outbox.open(folder / "outbox.db") as outbox:
        return all(item.sent_spans and not item.pending_spans for item in outbox.list_statuses())
