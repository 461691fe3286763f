"""Messages reach their server, whatever it does: none is lost, and repeats have the same id."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.notify.receiver import Receiver, Reply
from turnlog.notify.channels import NotifyChannel
from turnlog.notify.delivery import (
    BURST_SECONDS,
    FIRST_PAUSE_SECONDS,
    MAX_BURST_MESSAGES,
    MAX_PAUSE_SECONDS,
    BurstLimit,
    deliver_next,
)
from turnlog.notify.notification import Notification
from turnlog.notify.outcome import SendOutcome
from turnlog.notify.queue import MAX_WAITING, NotifyQueue
from turnlog.notify.server_sender import post_to_server

NOTE = Notification("id-1", "needs", "2026-11-16T12:00:00.000Z", "Needs you: <b>A & B</b>", "webshop: waiting")
KINDS = ("webhook", "slack", "telegram", "ntfy")


def channel(url: str, kind: Any = "webhook", **more: Any) -> NotifyChannel:
    return NotifyChannel("hook", kind, url=url, **{"timeout": 1.0, "topic": "my-topic", "chat": 7, **more})


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def message(number: int) -> Notification:
    return Notification(f"id-{number}", "needs", "t", f"message {number}")


def fill(queue: NotifyQueue, count: int, age: float = 86_400, now: float | None = None) -> None:
    expires = (time.time() if now is None else now) + age
    queue.store_changes({}, [("hook", expires, message(number)) for number in range(count)])


# -- what is sent


def test_a_webhook_receives_the_whole_message_as_json() -> None:
    with Receiver() as receiver:
        assert post_to_server(channel(f"{receiver.url}/hook?a=b", headers={"x-key": "k"}), NOTE, 2).result == "sent"
    (request,) = receiver.requests
    assert request.path == "/hook?a=b"
    assert request.id == "id-1"
    assert (request.headers["x-key"], request.headers["content-type"]) == ("k", "application/json")
    assert request.document == {
        "id": "id-1",
        "kind": "needs",
        "time": "2026-11-16T12:00:00.000Z",
        "headline": "Needs you: <b>A & B</b>",
        "body": "webshop: waiting",
        "session_id": None,
        "title": None,
        "project": None,
        "state": None,
        "members": [],
        "attempt": 3,
    }


def test_slack_text_can_neither_mention_nor_link_nor_unfurl() -> None:
    note = Notification("id", "needs", "t", "Needs you: <!channel> <http://x|y>")
    with Receiver(body=b"ok") as receiver:
        assert post_to_server(channel(receiver.url, "slack"), note).result == "sent"
    assert receiver.requests[0].document == {
        "text": "Needs you: &lt;!channel&gt; &lt;http://x|y&gt;",
        "mrkdwn": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }


def test_telegram_receives_plain_text() -> None:
    with Receiver() as receiver:
        assert post_to_server(channel(f"{receiver.url}/bot1:x/sendMessage", "telegram"), NOTE).result == "sent"
    (request,) = receiver.requests
    assert request.path == "/bot1:x/sendMessage"
    assert request.document == {
        "chat_id": 7,
        "text": "Needs you: <b>A & B</b>\nwebshop: waiting",
        "link_preview_options": {"is_disabled": True},
    }


def test_ntfy_receives_json_that_a_repeat_replaces() -> None:
    with Receiver() as receiver:
        assert post_to_server(channel(receiver.url, "ntfy"), NOTE).result == "sent"
    assert receiver.requests[0].document == {
        "topic": "my-topic",
        "title": "Needs you: <b>A & B</b>",
        "message": "webshop: waiting",
        "priority": 4,
        "sequence_id": "id-1",
    }


# -- how replies are judged


@pytest.mark.parametrize("status", [500, 502, 503, 408, 425, 429])
def test_a_server_that_may_accept_it_later_is_tried_again(status: int) -> None:
    with Receiver(status) as receiver:
        assert post_to_server(channel(receiver.url), NOTE).result == "later"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 413, 422])
def test_any_other_client_error_is_final(status: int) -> None:
    with Receiver(status) as receiver:
        assert post_to_server(channel(receiver.url), NOTE).result == "refused"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    """Neither the message nor the credentials reach a server that nobody configured."""
    with Receiver() as other, Receiver((status, {"location": f"{other.url}/steal"})) as receiver:
        outcome = post_to_server(channel(receiver.url, headers={"authorization": "Bearer secret"}), NOTE)
        assert other.requests == []
    assert outcome.result == "refused"
    assert "redirects" in outcome.reason


@pytest.mark.parametrize("reply", ["hang", "drip", "cut", "lost"])
def test_a_server_that_does_not_reply_is_tried_again(reply: str) -> None:
    with Receiver(reply) as receiver:
        assert post_to_server(channel(receiver.url, timeout=0.5), NOTE).result == "later"


@pytest.mark.parametrize("kind", KINDS)
def test_a_reply_that_breaks_off_after_a_good_status_counts(kind: str) -> None:
    with Receiver("half") as receiver:
        assert post_to_server(channel(receiver.url, kind), NOTE).result == "sent"


@pytest.mark.parametrize("kind", ["slack", "telegram", "ntfy"])
def test_a_web_page_in_between_is_not_taken_for_the_server(kind: str) -> None:
    with Receiver(body=b"<html>Please log in to the network</html>") as receiver:
        assert post_to_server(channel(receiver.url, kind), NOTE).result == "later"


def test_nobody_listening_is_tried_again() -> None:
    with Receiver() as receiver:
        url = receiver.url
    assert post_to_server(channel(url), NOTE).result == "later"


def test_a_certificate_that_is_not_trusted_is_refused_by_us() -> None:
    """TLS to a server without TLS fails before anything is sent."""
    with Receiver() as receiver:
        outcome = post_to_server(channel(receiver.url.replace("http:", "https:")), NOTE)
    assert outcome.result == "later"
    assert receiver.requests == []


@pytest.mark.parametrize(("value", "seconds"), [("7", 7.0), ("0", 0.0), ("soon", None), ("999999999", 86_400.0)])
def test_retry_after_is_read(value: str, seconds: float | None) -> None:
    with Receiver((429, {"retry-after": value})) as receiver:
        assert post_to_server(channel(receiver.url), NOTE).after == seconds


def test_telegram_states_the_wait_in_the_body() -> None:
    body = json.dumps({"ok": False, "description": "Too Many Requests", "parameters": {"retry_after": 11}}).encode()
    with Receiver(429, body=body) as receiver:
        outcome = post_to_server(channel(receiver.url, "telegram"), NOTE)
    assert (outcome.after, outcome.reason) == (11.0, "429: Too Many Requests")


def test_a_server_that_repeats_the_token_does_not_leak_it() -> None:
    token = "123456:AAbbCCddEE"
    body = json.dumps({"description": f"bad token {token}\x1b[2J"}).encode()
    with Receiver(404, body=body) as receiver:
        url = f"{receiver.url}/bot{token}/sendMessage"
        outcome = post_to_server(channel(url, "telegram"), NOTE)
    assert token not in outcome.reason
    assert outcome.reason.isprintable()


# -- the queue


def send_as(*results: SendOutcome) -> Any:
    left = [*results]
    return lambda *_: left.pop(0)


def test_messages_are_delivered_in_order(tmp_path: Path) -> None:
    with Receiver() as receiver, NotifyQueue(tmp_path) as queue:
        fill(queue, 5)
        while deliver_next(queue, channel(receiver.url)):
            pass
    assert receiver.ids == [f"id-{number}" for number in range(5)]


def test_a_channel_sends_no_more_than_three_messages_in_ten_seconds() -> None:
    now = [100.0]
    burst = BurstLimit(lambda: now[0])
    for _ in range(MAX_BURST_MESSAGES):
        assert burst.compute_pause() == 0
        burst.add_message()
        now[0] += 1
    assert burst.compute_pause() == BURST_SECONDS - MAX_BURST_MESSAGES
    now[0] += BURST_SECONDS - MAX_BURST_MESSAGES
    assert burst.compute_pause() == 0


def test_messages_that_were_sent_before_and_those_of_other_channels_are_not_combined(tmp_path: Path) -> None:
    with NotifyQueue(tmp_path) as queue:
        fill(queue, 5)
        queue.store_changes({}, [("other", time.time() + 60, NOTE)] * 3)
        first = queue.begin_delivery("hook")
        queue.combine_messages("hook")
        queue.combine_messages("other")
        assert first is not None
        waiting = {state.name: state.waiting for state in queue.list_channel_states()}
        assert waiting == {"hook": 2, "other": 3}
        retried, combined = queue.begin_delivery("hook"), None
        assert retried is not None
        queue.mark_sent(retried)
        combined = queue.begin_delivery("hook")
        assert combined is not None
        assert retried.notice.id == first.notice.id
        assert [member.id for member in combined.notice.members] == [f"id-{number}" for number in range(1, 5)]


def test_urgent_messages_go_first_and_are_combined_apart_from_others(tmp_path: Path) -> None:
    with NotifyQueue(tmp_path) as queue:
        kinds = ["finished"] * 4 + ["needs", "failed", "cost", "needs", "needs"]
        notices = [Notification(f"id-{at}", kind, "t", 'said "kind":"needs"') for at, kind in enumerate(kinds)]
        queue.store_changes({}, [("hook", time.time() + 60, notice) for notice in notices])
        queue.combine_messages("hook")
        urgent = queue.begin_delivery("hook", is_urgent=True)
        other = queue.begin_delivery("hook", is_urgent=False)
        assert urgent is not None
        assert other is not None
    assert urgent.notice.headline == "3 sessions need you, 1 session failed"
    assert (other.notice.kind, other.notice.headline) == ("finished", "4 sessions finished, 1 cost limit")


def test_a_failing_server_is_left_alone_for_a_growing_pause(tmp_path: Path) -> None:
    clock = Clock()
    with NotifyQueue(tmp_path, clock) as queue:
        fill(queue, 1, now=clock.now)
        pauses = []
        for _ in range(12):
            assert deliver_next(queue, channel(""), send_as(SendOutcome("later", "503: no")), lambda: 1.0)
            wait = queue.compute_wait("hook")
            assert wait
            pauses.append(wait)
            assert deliver_next(queue, channel(""), send_as()) is None
            clock.now += wait
    assert pauses[:4] == [FIRST_PAUSE_SECONDS, 4.0, 8.0, 16.0]
    assert max(pauses) == MAX_PAUSE_SECONDS


def test_the_wait_that_a_server_asks_for_is_kept(tmp_path: Path) -> None:
    clock = Clock()
    with NotifyQueue(tmp_path, clock) as queue:
        fill(queue, 1, now=clock.now)
        deliver_next(queue, channel(""), send_as(SendOutcome("later", "429", 500.0)))
        assert queue.compute_wait("hook") == 500.0


def test_a_clock_that_is_set_back_ends_a_pause(tmp_path: Path) -> None:
    clock = Clock()
    with NotifyQueue(tmp_path, clock) as queue:
        fill(queue, 1, now=clock.now)
        deliver_next(queue, channel(""), send_as(SendOutcome("later", "503")))
        clock.now -= 1000
        assert queue.compute_wait("hook") == 0.0


def test_a_refused_message_is_dropped_and_the_next_one_sent(tmp_path: Path) -> None:
    with Receiver(400) as receiver, NotifyQueue(tmp_path) as queue:
        fill(queue, 2)
        while deliver_next(queue, channel(receiver.url)):
            pass
        (state,) = queue.list_channel_states()
    assert receiver.ids == ["id-1"]
    assert (state.sent, state.dropped, state.waiting) == (1, 1, 0)
    assert state.error is not None
    assert state.error.startswith("400")


def test_a_message_that_is_too_old_is_dropped(tmp_path: Path) -> None:
    clock = Clock()
    with NotifyQueue(tmp_path, clock) as queue:
        fill(queue, 1, age=60, now=clock.now)
        deliver_next(queue, channel(""), send_as(SendOutcome("later", "503: down")))
        clock.now += 100
        assert deliver_next(queue, channel(""), send_as()) is None
        (state,) = queue.list_channel_states()
    assert (state.dropped, state.waiting, state.error) == (1, 0, "503: down")


def test_a_message_that_always_fails_lets_the_others_go_first(tmp_path: Path) -> None:
    clock = Clock()
    sent = []

    def send(_: NotifyChannel, notice: Notification, tries: int) -> SendOutcome:
        if notice.id == "id-0":
            return SendOutcome("later", "500: can't parse this one")
        sent.append(notice.id)
        return SendOutcome("sent")

    with NotifyQueue(tmp_path, clock) as queue:
        fill(queue, 3, now=clock.now)
        for _ in range(8):
            deliver_next(queue, channel(""), send)
            clock.now += 1000
    assert sent == ["id-1", "id-2"]


def test_a_damaged_message_is_dropped_and_the_next_one_sent(tmp_path: Path) -> None:
    sent: list[str] = []

    def send(_: NotifyChannel, notice: Notification, tries: int) -> SendOutcome:
        sent.append(notice.id)
        return SendOutcome("sent")

    with NotifyQueue(tmp_path) as queue:
        fill(queue, 3)
        for number, data in ((1, b"{"), (2, 7)):
            queue._db.execute("UPDATE delivery SET notice = ? WHERE id = ?", (data, number))
        while queue.compute_wait("hook") is not None:
            deliver_next(queue, channel("http://127.0.0.1:1"), send)
        (state,) = queue.list_channel_states()
    assert sent == ["id-2"]
    assert (state.sent, state.dropped, state.error) == (1, 2, "a message in the queue was damaged")


def test_the_queue_has_a_limit(tmp_path: Path) -> None:
    with NotifyQueue(tmp_path) as queue:
        fill(queue, MAX_WAITING + 3)
        (state,) = queue.list_channel_states()
        first = queue.begin_delivery("hook")
    assert (state.waiting, state.dropped) == (MAX_WAITING, 3)
    assert first is not None
    assert first.notice.id == "id-3"


def test_the_queue_is_private_and_holds_no_credentials(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Receiver(503) as receiver, NotifyQueue(folder) as queue:
        fill(queue, 1)
        deliver_next(queue, channel(f"{receiver.url}/T0/s3cr3t-path", headers={"authorization": "Bearer s3cr3t-token"}))
        data = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"s3cr3t" not in data
    if os.name == "posix":
        assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}


FAULTS: list[Reply] = [500, "hang", "half", (429, {"retry-after": "0"}), "cut", "lost", 503, "drip"]


def test_no_fault_loses_a_message_or_repeats_it_under_another_id(tmp_path: Path) -> None:
    clock = Clock()
    with Receiver(*FAULTS) as receiver, NotifyQueue(tmp_path, clock) as queue:
        fill(queue, 6, now=clock.now)
        while queue.compute_wait("hook") is not None:
            is_silent = receiver.replies[:1] in (["hang"], ["drip"])
            # On a busy machine, any other reply can take a while, too; giving up on it would repeat the message.
            deliver_next(queue, channel(receiver.url, timeout=0.3 if is_silent else 60))
            clock.now += 1000
    counts = Counter(receiver.ids)
    assert sorted(counts) == [f"id-{number}" for number in range(6)]
    assert sum(counts.values()) - len(counts) == 1  # the reply that was lost


# -- kill -9


def start(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "tests.notify.kill_steps", *words], cwd=ROOT)


def count_waiting(folder: Path) -> int:
    with NotifyQueue(folder) as queue:
        return sum(state.waiting for state in queue.list_channel_states())


def test_killing_the_sender_loses_nothing_and_repeats_at_most_one_message_each_time(tmp_path: Path) -> None:
    count, kills = 60, 0
    with NotifyQueue(tmp_path) as queue:
        fill(queue, count)
    with Receiver() as receiver:
        for goal in range(7, count, 9):
            process = start("deliver", str(tmp_path), receiver.url)
            receiver.wait(accepted=goal)
            process.kill()
            process.wait()
            kills += 1
        assert start("deliver", str(tmp_path), receiver.url).wait(60) == 0
    counts = Counter(receiver.ids)
    assert sorted(counts) == sorted(f"id-{number}" for number in range(count))
    assert sum(counts.values()) - count <= kills


def test_killing_the_watcher_neither_loses_nor_repeats_a_notification(tmp_path: Path) -> None:
    count = 60
    for goal in range(7, count, 9):
        process = start("watch", str(tmp_path), str(count))
        while count_waiting(tmp_path) < goal and process.poll() is None:
            time.sleep(0.001)
        process.kill()
        process.wait()
    assert start("watch", str(tmp_path), str(count)).wait(60) == 0
    found: list[str | None] = []
    with NotifyQueue(tmp_path) as queue:
        while queued := queue.begin_delivery("hook"):
            found.append(queued.notice.session_id)
            queue.mark_sent(queued)
    assert sorted(map(str, found), key=int) == [str(number) for number in range(count)]
