"""`turnlog notify run` in a process of its own: sessions on disk become messages on a server, once each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.live.clock import build_now, register_client
from tests.notify.receiver import Received, Receiver, Reply
from tests.session.build import SESSION, Build
from turnlog.errors import Busy, TurnlogError
from turnlog.notify.channels import NotifyChannel
from turnlog.notify.notification import Notification
from turnlog.notify.outcome import SendOutcome
from turnlog.notify.queue import NotifyQueue
from turnlog.notify.quiet_hours import QuietHours, parse_quiet_hours
from turnlog.notify.runner import (
    CostReading,
    SessionNotifier,
    hold_notifier_lock,
    is_notifier_running,
)
from turnlog.notify.settings import NotifyConfig
from turnlog.notify.triggers import SessionSnapshot


class Desk:
    """A home with sessions, settings, and a notifier that can be started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.projects = folder / "claude" / "projects" / "-home-dana-webshop"
        self.projects.mkdir(parents=True)
        self.environment = {
            **os.environ,
            "CLAUDE_CONFIG_DIR": str(folder / "claude"),
            "TURNLOG_HOME": str(self.data),
            "TURNLOG_CONFIG": str(folder / "config.toml"),
        }

    def configure(self, text: str) -> None:
        (self.folder / "config.toml").write_text(text)
        (self.folder / "config.toml").chmod(0o600)

    def add_question(self, number: int, question: str = "which one?") -> str:
        """A session that asks a question."""
        build = build_now()
        build.prompt(f"session {number}")
        build.call(f"c{number}", "AskUserQuestion", {"questions": [{"question": question}]})
        return self._write(number, build)

    def add_answer(self, number: int) -> str:
        build = build_now()
        build.prompt(f"session {number}")
        build.answer("done")
        return self._write(number, build)

    def _write(self, number: int, build: Build) -> str:
        name = f"{number:08d}-2222-4333-8444-555555555555"
        register_client(self.folder / "claude", name)
        (self.projects / f"{name}.jsonl").write_bytes(build.data().replace(SESSION.encode(), name.encode()))
        return name

    @contextmanager
    def run(self) -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            [sys.executable, "-m", "turnlog", "notify", "run"],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def hook(url: str, **more: str) -> str:
    lines = "".join(f"{key} = {value}\n" for key, value in more.items())
    return f'[notify]\n{lines}[notify.channels.hook]\nkind = "webhook"\nurl = "{url}"\ntimeout = 1\n'


@pytest.mark.slow
def test_a_session_that_asks_is_reported_once_also_after_a_restart(desk: Desk) -> None:
    with Receiver() as receiver:
        desk.configure(hook(receiver.url, content='"text"'))
        name = desk.add_question(1)
        with desk.run() as process:
            receiver.wait(accepted=1)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=30)
            assert process.returncode == 0, err
        second = desk.add_question(2)
        with desk.run() as process:
            receiver.wait(accepted=2)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
    assert [request.document["session_id"] for request in receiver.accepted_requests] == [name, second]
    assert receiver.accepted_requests[0].document["headline"] == "Needs you: session 1"
    assert "which one?" in receiver.accepted_requests[0].document["body"]
    assert "Needs you: session 1" in out
    assert "hook (webhook http://127.0.0.1:" in err


def test_a_session_that_was_finished_before_is_not_reported(desk: Desk) -> None:
    with Receiver() as receiver:
        desk.configure(hook(receiver.url, minutes="0"))
        desk.add_answer(1)
        desk.add_question(2)
        with desk.run():
            receiver.wait(accepted=1)
    assert {request.document["kind"] for request in receiver.requests} == {"needs"}


def test_the_cost_of_a_session_and_of_the_day_are_reported(desk: Desk) -> None:
    build = Build(step=0)
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    build.prompt("session 1", timestamp=now)
    tokens = {"input_tokens": 1_000_000, "output_tokens": 1_000}
    build.answer("so", stop=None, model="claude-opus-4-5-20251101", usage=tokens, timestamp=now)
    build.call("c", model="claude-opus-4-5-20251101", usage=tokens, timestamp=now)
    desk._write(1, build)
    with Receiver() as receiver:
        desk.configure(hook(receiver.url, session_cost="1", daily_cost="2", on='["cost"]'))
        with desk.run():
            receiver.wait(accepted=2)
    found = {request.document["headline"] for request in receiver.accepted_requests}
    assert "Cost limit: session 1" in found
    assert any(headline.startswith("Today's sessions cost $") for headline in found)


def test_a_second_notifier_is_refused(desk: Desk) -> None:
    with Receiver() as receiver:
        desk.configure(hook(receiver.url))
        desk.add_question(1)
        with desk.run():
            receiver.wait(accepted=1)
            with desk.run() as second:
                _, err = second.communicate(timeout=60)
                assert second.returncode == 1
                assert err.splitlines()[-1].startswith("turnlog: `turnlog notify run` or `turnlog web` is already")
            assert is_notifier_running(desk.data)
    assert not is_notifier_running(desk.data)


@pytest.mark.slow
def test_a_message_waits_for_a_server_that_is_down(desk: Desk) -> None:
    with Receiver() as receiver:
        port, url = receiver.port, receiver.url
    desk.configure(hook(url))
    desk.add_question(1)
    with desk.run():
        wait_for_error(desk.data)
        with Receiver(port=port) as receiver:
            receiver.wait(accepted=1)
    assert len(receiver.ids) == 1


def wait_for_error(folder: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (folder / "notify.sqlite3").exists():
            with NotifyQueue(folder) as queue:
                if any(state.error for state in queue.list_channel_states()):
                    return
        time.sleep(0.05)
    raise AssertionError("no delivery was attempted")


def count_messages(requests: Sequence[Received]) -> Counter[str]:
    """How often each message was received, by its id."""
    return Counter(message["id"] for request in requests for message in request.messages)


@pytest.mark.slow
def test_faults_and_kills_lose_no_notification_and_repeat_none_under_another_id(desk: Desk) -> None:
    """Real processes, killed again and again, with a server that fails in every way."""
    sessions = 12
    faults: list[Reply] = [500, "cut", "lost", (429, {"retry-after": "1"}), "hang", "half", 503]
    with Receiver(*faults) as receiver:
        desk.configure(hook(receiver.url))
        names = [desk.add_question(number) for number in range(sessions // 2)]
        kills = 0
        for goal in (1, 2, 3, 4, 5):
            with desk.run() as process:
                receiver.wait(requests=goal, seconds=90)
                process.kill()
                kills += 1
        names += [desk.add_question(number) for number in range(sessions // 2, sessions)]
        with desk.run():
            deadline = time.monotonic() + 120
            while len(count_messages(receiver.accepted_requests)) < sessions and time.monotonic() < deadline:
                time.sleep(0.1)
        by_session: dict[str, set[str]] = {}
        for message in [message for request in receiver.requests for message in request.messages]:
            by_session.setdefault(message["session_id"], set()).add(message["id"])
    assert sorted(by_session) == sorted(names)
    assert {len(ids) for ids in by_session.values()} == {1}, "a session was reported twice"
    counts = count_messages(receiver.accepted_requests)
    assert len(counts) == sessions, "a message was lost"
    assert sum(counts.values()) - sessions <= kills + faults.count("lost")


# -- in this process, with a clock that the test moves


class Script:
    """Sessions that do what a test says."""

    def __init__(self) -> None:
        self.next: list[SessionSnapshot | str] = []

    def poll(self) -> list[SessionSnapshot | str]:
        found, self.next = self.next, []
        return found


def build_waiting_session(path: str = "/a.jsonl", since: str = "t1", **facts: Any) -> SessionSnapshot:
    own = {"project": "/code", "column": "needs", "state": "waiting", "words": "asks", "is_sure": True, **facts}
    return SessionSnapshot(path, path[1:2], "A title", since=since, **own)


def drain(queue: NotifyQueue, name: str = "hook") -> list[Notification]:
    found = []
    while queued := queue.begin_delivery(name):
        found.append(queued.notice)
        queue.mark_sent(queued)
    return found


def make(queue: NotifyQueue, clock: list[float], **settings: Any) -> tuple[SessionNotifier, Script]:
    source = Script()
    config = NotifyConfig(**{"channels": (NotifyChannel("hook", "webhook"),), **settings})
    return SessionNotifier(config, queue, source, clock=lambda: clock[0], redact=str), source


def at(text: str) -> float:
    """A day of a month and a moment of that day, in local time."""
    return datetime.fromisoformat(f"2026-11-{text}").astimezone().timestamp()


def test_quiet_hours_hold_messages_back_until_they_end(tmp_path: Path) -> None:
    clock = [at("16T23:00")]
    with NotifyQueue(tmp_path, lambda: clock[0]) as queue:
        notifier, source = make(queue, clock, quiet=parse_quiet_hours("22:00-07:00"))
        source.next = [build_waiting_session()]
        notifier.run_round()
        clock[0] = at("16T23:30")
        notifier.run_round()
        assert drain(queue) == []
        clock[0] = at("17T07:00")
        notifier.run_round()
        assert [notice.kind for notice in drain(queue)] == ["needs"]


def test_a_message_about_a_wait_that_is_over_is_withdrawn(tmp_path: Path) -> None:
    with NotifyQueue(tmp_path) as queue:
        notifier, source = make(queue, [time.time()])
        source.next = [build_waiting_session("/a"), build_waiting_session("/b")]
        notifier.run_round()
        source.next = [build_waiting_session("/a", column="working", state="running")]
        notifier.run_round()
        assert [notice.session_id for notice in drain(queue)] == ["b"]
        source.next = [build_waiting_session("/a", since="t2")]
        notifier.run_round()
        source.next = ["/a"]
        notifier.run_round()
        assert drain(queue) == [], "the session is gone"


def test_a_wait_that_ended_while_nobody_watched_is_withdrawn_too(tmp_path: Path) -> None:
    clock = [time.time()]
    with NotifyQueue(tmp_path) as queue:
        notifier, source = make(queue, clock)
        source.next = [build_waiting_session()]
        notifier.run_round()
        notifier, source = make(queue, clock)  # as after a restart
        source.next = [build_waiting_session(column="idle", state="finished")]
        notifier.run_round()
        assert drain(queue) == []


def test_a_second_wait_replaces_the_message_about_the_first(tmp_path: Path) -> None:
    with NotifyQueue(tmp_path) as queue:
        notifier, source = make(queue, [time.time()])
        source.next = [build_waiting_session(words="asks: red?")]
        notifier.run_round()
        source.next = [build_waiting_session(words="asks: green?", since="t2")]
        notifier.run_round()
        (only,) = drain(queue)
    assert only.state is None or "green" in only.state


def test_what_was_finished_or_cost_is_not_withdrawn(tmp_path: Path) -> None:
    clock = [time.time()]
    with NotifyQueue(tmp_path, lambda: clock[0]) as queue:
        notifier, source = make(queue, clock)
        source.next = [build_waiting_session(column="working", state="running")]
        notifier.run_round()
        clock[0] += 600
        source.next = [build_waiting_session(column="idle", state="finished", since="t2")]
        notifier.run_round()
        clock[0] += 10
        notifier.run_round()
        source.next = [build_waiting_session(column="working", state="running", since="t3")]
        notifier.run_round()
        assert [notice.kind for notice in drain(queue)] == ["finished"]


def test_a_part_of_a_combined_message_is_withdrawn(tmp_path: Path) -> None:
    names = [f"/{letter}" for letter in "abcdef"]
    with NotifyQueue(tmp_path) as queue:
        notifier, source = make(queue, [time.time()])
        source.next = [build_waiting_session(name) for name in names]
        notifier.run_round()
        queue.combine_messages("hook")
        source.next = [build_waiting_session(name, column="idle", state="finished") for name in names[:2]]
        notifier.run_round()
        (combined,) = drain(queue)
        assert combined.headline == "4 sessions need you"
        assert [member.session_id for member in combined.members] == ["c", "d", "e", "f"]
        assert [entry.notice.headline for entry in queue.list_page_notices(0)] == ["6 sessions need you"]


@pytest.mark.parametrize("left", [0, 1])
def test_a_combined_message_of_which_little_is_left_is_none(tmp_path: Path, left: int) -> None:
    names = [f"/{letter}" for letter in "abcd"]
    with NotifyQueue(tmp_path) as queue:
        notifier, source = make(queue, [time.time()])
        source.next = [build_waiting_session(name) for name in names]
        notifier.run_round()
        queue.combine_messages("hook")
        source.next = [build_waiting_session(name, column="idle", state="finished") for name in names[left:]]
        notifier.run_round()
        assert [(notice.session_id, notice.members) for notice in drain(queue)] == [("a", ())][:left]


def test_a_combined_message_that_was_sent_before_keeps_its_id_with_one_member_left(tmp_path: Path) -> None:
    names = [f"/{letter}" for letter in "abcd"]
    with NotifyQueue(tmp_path) as queue:
        notifier, source = make(queue, [time.time()])
        source.next = [build_waiting_session(name) for name in names]
        notifier.run_round()
        queue.combine_messages("hook")
        first = queue.begin_delivery("hook")  # the answer of the server is lost
        source.next = [build_waiting_session(name, column="idle", state="finished") for name in names[1:]]
        notifier.run_round()
        (again,) = drain(queue)
    assert first is not None
    assert again.id == first.notice.id
    assert [member.session_id for member in again.members] == ["a"]


def test_twenty_sessions_that_need_somebody_at_once_are_one_message(tmp_path: Path) -> None:
    from turnlog.notify.runner import NotifierThreads

    names = [f"/{number:02}" for number in range(20)]
    sent: list[Notification] = []
    source = Script()
    source.next = [build_waiting_session(name) for name in names]

    def send(channel: NotifyChannel, notice: Notification, tries: int) -> SendOutcome:
        sent.append(notice)
        return SendOutcome("sent")

    threads = NotifierThreads(NotifyConfig(channels=(NotifyChannel("hook", "webhook"),)), tmp_path, source, send=send)
    deadline = time.monotonic() + 60
    threads.run(lambda: bool(sent) or time.monotonic() > deadline)
    (only,) = sent
    assert (only.kind, only.headline, len(only.members)) == ("needs", "20 sessions need you", 20)
    assert only.body == "A title, A title, A title, A title, A title and 15 more"


def test_the_local_clock_decides_about_quiet_hours() -> None:
    moment = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
    clock = moment.astimezone().time()
    assert QuietHours(clock, clock.replace(minute=59)).contains(moment.astimezone())


def test_projects_that_are_off_are_not_reported(tmp_path: Path) -> None:
    with NotifyQueue(tmp_path) as queue:
        notifier, source = make(queue, [time.time()], projects=(("/secret", False),))
        source.next = [build_waiting_session("/a", project="/secret/x"), build_waiting_session("/b", project="/open")]
        notifier.run_round()
        assert [notice.session_id for notice in drain(queue)] == ["b"]


def test_each_channel_gets_its_own_amount_of_text(tmp_path: Path) -> None:
    channels = (NotifyChannel("hook", "webhook", "none"), NotifyChannel("desk", "desktop", "text"))
    with NotifyQueue(tmp_path) as queue:
        notifier, source = make(queue, [time.time()], channels=channels)
        source.next = [build_waiting_session()]
        notifier.run_round()
        (bare,), (full,) = drain(queue), drain(queue, "desk")
    assert (bare.headline, bare.title) == ("A session needs you", None)
    assert (full.headline, full.state) == ("Needs you: A title", "asks")
    assert bare.id == full.id


def test_costs_are_reported_for_a_session_and_for_the_day(tmp_path: Path) -> None:
    clock = [time.time()]
    with NotifyQueue(tmp_path) as queue:
        notifier, source = make(queue, clock, session_cost=5.0, daily_cost=20.0)
        source.next = [build_waiting_session(column="working", state="running")]
        notifier.run_round()
        for session, today in ((1.0, 3.0), (6.0, 19.0), (7.0, 21.0), (8.0, 30.0)):
            notifier.costs = CostReading({"a": session}, "2026-11-16", today)
            notifier.run_round()
        assert [notice.headline for notice in drain(queue)] == [
            "Cost limit: A title",
            "Today's sessions cost $21.00 so far",
        ]


def test_what_could_not_be_stored_is_stored_in_the_next_round(tmp_path: Path) -> None:
    with NotifyQueue(tmp_path) as queue:
        notifier, source = make(queue, [time.time()])
        source.next = [build_waiting_session()]
        locker = NotifyQueue(tmp_path)
        queue._db.set_busy_timeout(1)
        locker._db.execute("BEGIN IMMEDIATE")
        with pytest.raises(TurnlogError):
            notifier.run_round()
        locker._db.execute("ROLLBACK")
        locker._db.close()
        notifier.run_round()
        notifier.run_round()
        assert len(drain(queue)) == 1


def test_one_process_holds_the_lock(tmp_path: Path) -> None:
    with hold_notifier_lock(tmp_path) as first, hold_notifier_lock(tmp_path) as second:
        assert (first, second) == (True, False)


def test_a_server_that_hangs_does_not_delay_another_channel(tmp_path: Path) -> None:
    import threading

    from turnlog.notify.runner import NotifierThreads

    release, arrived = threading.Event(), threading.Event()

    def send(channel: NotifyChannel, notice: Notification, tries: int) -> SendOutcome:
        if channel.name == "slow":
            release.wait(60)
        else:
            arrived.set()
        return SendOutcome("sent")

    config = NotifyConfig(channels=(NotifyChannel("slow", "webhook"), NotifyChannel("fast", "webhook")))
    source = Script()
    source.next = [build_waiting_session()]
    threads = NotifierThreads(config, tmp_path, source, send=send)
    runner = threading.Thread(target=threads.run, args=[arrived.is_set])
    runner.start()
    assert arrived.wait(60)
    release.set()
    runner.join(60)
    assert not runner.is_alive()


def test_a_damaged_queue_is_named_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "notify.sqlite3").write_bytes(b"not a database" * 100)
    with pytest.raises(TurnlogError, match=r"damaged.*move it aside"):
        NotifyQueue(tmp_path)


def test_a_queue_from_another_version_is_left_alone(tmp_path: Path) -> None:
    with NotifyQueue(tmp_path) as queue:
        queue._db.pragma("user_version", 99)
    with pytest.raises(TurnlogError, match="different version of turnlog"):
        NotifyQueue(tmp_path)


def test_running_without_a_channel_is_a_usage_error(desk: Desk) -> None:
    desk.configure("")
    with desk.run() as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "no channel is configured; add a table such as [notify.channels.desktop]" in err


def test_busy_is_an_error_for_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import turnlog

    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path))
    config = turnlog.Config(notify={"channels": {"desktop": {}}})
    with hold_notifier_lock(tmp_path), pytest.raises(Busy):
        turnlog.run_notifier(config=config)
