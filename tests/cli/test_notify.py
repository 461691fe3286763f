"""`turnlog notify`: what its commands print, and with which exit status they end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.cli.test_json_doc import keys, list_documented_keys
from tests.notify.receiver import Receiver
from turnlog.notify.notification import Notification
from turnlog.notify.queue import NotifyQueue
from turnlog.notify.runner import hold_notifier_lock

Configure = Callable[[str], Path]
SECRET = "s3cr3t-0123456789"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: Machine, data: Path) -> Configure:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("TURNLOG_CONFIG", str(path))

    def write(text: str) -> Path:
        path.write_text(text)
        path.chmod(0o600)
        return path

    return write


def hook(name: str, url: str, kind: str = "webhook") -> str:
    return f'[notify.channels.{name}]\nkind = "{kind}"\nurl = "{url}"\ntimeout = 1\n'


def test_a_test_reports_the_outcome_of_each_channel(turnlog: Turnlog, configure: Configure) -> None:
    with Receiver() as good, Receiver(404, body=b"no_service") as bad:
        configure(hook("good", good.url) + hook("bad", f"{bad.url}/{SECRET}", "slack"))
        done = turnlog("notify", "test")
    assert done.status == 1
    assert done.lines == [
        f"good: sent (webhook {good.url})",
        f"bad: not sent: 404: no_service (slack {bad.url})",
    ]
    assert [request.document["headline"] for request in good.requests] == ["Test from turnlog"]
    assert SECRET not in done.out + done.err


def test_one_channel_can_be_tested_alone(turnlog: Turnlog, configure: Configure) -> None:
    with Receiver() as one, Receiver() as other:
        configure(hook("one", one.url) + hook("other", other.url))
        assert turnlog("notify", "test", "other").status == 0
    assert (len(one.requests), len(other.requests)) == (0, 1)


def test_a_test_for_the_browser_is_sent_only_while_a_page_may_listen(
    turnlog: Turnlog, configure: Configure, data: Path
) -> None:
    configure("")
    done = turnlog("notify", "test", "browser")
    assert done.status == 1
    assert "browser: not sent: no page is listening; open Live in `turnlog web`" in done.out
    data.mkdir(exist_ok=True)
    with hold_notifier_lock(data):
        done = turnlog("notify", "test", "browser")
    assert (done.status, done.lines) == (0, ["browser: sent (the open pages that have notifications on)"])


def test_an_unknown_channel_is_a_usage_error(turnlog: Turnlog, configure: Configure) -> None:
    configure("[notify.channels.desktop]\n")
    done = turnlog("notify", "test", "desk")
    assert done.status == 2
    assert "unknown channel 'desk'; choose from desktop, browser" in done.err


def test_without_a_channel_a_test_says_how_to_add_one(turnlog: Turnlog, configure: Configure) -> None:
    path = configure("")
    done = turnlog("notify", "test")
    assert done.status == 2
    assert f"{path}: [notify]: no channel is configured; add a table such as [notify.channels.desktop]" in done.err


@pytest.mark.parametrize("words", [("test",), ("run",), ("status",)])
def test_a_mistake_in_the_settings_is_one_line_with_status_2(
    turnlog: Turnlog, configure: Configure, words: tuple[str, ...]
) -> None:
    path = configure(f'[notify.channels.team]\nkind = "slack"\nurl = "http://example.com/{SECRET}"\n')
    done = turnlog("notify", *words)
    assert done.status == 2
    assert (
        f"{path}: [notify.channels.team]: messages to http://example.com would be sent unencrypted"
        in done.out + done.err
    )
    assert SECRET not in done.out + done.err


@pytest.mark.skipif(os.name != "posix", reason="permissions of files")
def test_secrets_that_others_can_read_are_warned_about(turnlog: Turnlog, configure: Configure) -> None:
    path = configure(hook("team", "https://example.com/x"))
    assert "Warning" not in turnlog("notify", "status").out
    path.chmod(0o644)
    assert f"Warning: {path} contains secrets, and other users can read it; run `chmod 600 {path}`" in (
        turnlog("notify", "status").out
    )
    configure("[notify.channels.desktop]\n")
    path.chmod(0o644)
    assert "Warning" not in turnlog("notify", "status").out


def fill(data: Path) -> None:
    with NotifyQueue(data) as queue:
        queue.store_changes({}, [("team", 1e12, Notification(str(number), "needs", "t", "x")) for number in range(3)])
        first = queue.begin_delivery("team")
        assert first is not None
        queue.mark_sent(first)
        second = queue.begin_delivery("team")
        assert second is not None
        queue.postpone_message(second, f"503: busy {HOSTILE}", 100)
        queue.store_changes({}, [("old", 1e12, Notification("z", "needs", "t", "x"))])


def test_status_shows_what_is_waiting_and_why(turnlog: Turnlog, configure: Configure, data: Path) -> None:
    configure('[notify]\nquiet = "22:00-07:00"\n' + hook("team", f"https://example.com/{SECRET}"))
    fill(data)
    done = turnlog("notify", "status")
    assert done.status == 0
    assert "Notifications are off; to turn them on, start `turnlog notify run` or `turnlog web`." in done.lines
    assert "Reports: needs, failed, finished, context" in done.lines
    assert "team: webhook https://example.com" in done.lines
    assert "old: no longer configured" in done.lines
    assert any(line.startswith("  2 messages waiting") for line in done.lines)
    assert any("503: busy" in line for line in done.lines)
    assert not harmful(done.out)
    assert SECRET not in done.out


def test_every_key_of_the_status_is_documented_and_printed(turnlog: Turnlog, configure: Configure, data: Path) -> None:
    configure(hook("team", "https://example.com/x"))
    fill(data)
    assert set(keys(turnlog("notify", "status", "--json").json)) == list_documented_keys("notify status")


def test_every_key_of_a_test_is_documented_and_printed(turnlog: Turnlog, configure: Configure) -> None:
    with Receiver() as receiver:
        configure(hook("team", receiver.url))
        assert set(keys(turnlog("notify", "test", "--json").json)) == list_documented_keys("notify test")


def test_status_creates_nothing(turnlog: Turnlog, configure: Configure, data: Path) -> None:
    configure("[notify.channels.desktop]\n")
    assert turnlog("notify", "status").status == 0
    assert not data.exists()
