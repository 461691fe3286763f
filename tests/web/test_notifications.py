"""Notifications while `turnlog web` runs: through its channels, and in the browser of a user who asked for them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.live.clock import build_now, register_client
from tests.notify.receiver import Receiver
from tests.session.build import SESSION
from tests.web.conftest import Complaints, Folders, Server, start
from tests.web.test_live import cookie_of, listen_to
from turnlog.notify.notification import Notification
from turnlog.notify.queue import NotifyQueue
from turnlog.notify.runner import hold_notifier_lock, is_notifier_running

if TYPE_CHECKING:
    from playwright.sync_api import Browser

STREAM = "/api/notifications/updates"


def add_question(folders: Folders, number: int = 1) -> None:
    build = build_now()
    build.prompt(f"session {number}")
    build.call("c", "AskUserQuestion", {"questions": [{"question": "which one?"}]})
    name = f"{number:08d}-2222-4333-8444-555555555555"
    register_client(folders.config, name)
    folders.add(name, build.data().replace(SESSION.encode(), name.encode()))


def configure_folders(folders: Folders, text: str) -> Folders:
    """The same machine with settings; they stay in its folder."""
    path = folders.data.parent / "config.toml"
    path.write_text(text)
    path.chmod(0o600)

    class WithSettings(Folders):
        @property
        def environment(self) -> dict[str, str]:
            return {**super().environment, "TURNLOG_CONFIG": str(path)}

    return WithSettings(folders.config, folders.data)


@pytest.fixture
def running_server(folders: Folders) -> Iterator[Server]:
    found = start(folders)
    yield found
    found.stop()


@pytest.mark.slow
def test_web_sends_through_configured_channels_while_it_runs(folders: Folders) -> None:
    add_question(folders)
    with Receiver() as receiver:
        text = f'[notify.channels.hook]\nkind = "webhook"\nurl = "{receiver.url}"\n'
        server = start(configure_folders(folders, text))
        try:
            receiver.wait(accepted=1)
            assert is_notifier_running(folders.data)
        finally:
            assert server.stop() == 0
    assert receiver.requests[0].document["headline"] == "Needs you: session 1"
    assert not is_notifier_running(folders.data)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "[notify]\nweb = false\n[notify.channels.desktop]\n"])
def test_web_does_not_notify_unless_it_is_wanted(folders: Folders, text: str) -> None:
    server = start(configure_folders(folders, text))
    try:
        time.sleep(3)  # longer than it takes to start
        assert not is_notifier_running(folders.data)
        assert not (folders.data / "notify.sqlite3").exists()
    finally:
        server.stop()


def test_a_mistake_in_the_settings_does_not_keep_the_pages_away(folders: Folders) -> None:
    server = start(configure_folders(folders, "[notify]\nminute = 3\n"))
    assert server.stop() == 0
    told = "".join(server.errors)
    assert "No notifications are sent until this is fixed: " in told
    assert "unknown key 'minute'; did you mean 'minutes'?" in told


def test_a_page_that_listens_is_told_without_any_settings(folders: Folders, running_server: Server) -> None:
    with listen_to(running_server, cookie_of(running_server), STREAM) as listener:
        listener.until("ready")
        add_question(folders)
        (_, data, _) = listener.until("notification")[-1]
    assert data["headline"] == "Needs you: session 1"
    assert (data["kind"], data["body"]) == ("needs", "webshop: waiting for your answer")


@pytest.mark.slow
def test_pages_show_what_another_process_notifies(folders: Folders) -> None:
    """While `turnlog notify run` has the lock, its messages still reach the pages."""
    with hold_notifier_lock(folders.data):
        server = start(folders)
        try:
            with listen_to(server, cookie_of(server), STREAM) as listener:
                listener.until("ready")
                command = [sys.executable, "-m", "turnlog", "notify", "test", "browser"]
                subprocess.run(command, env=folders.environment, check=True, stdout=subprocess.DEVNULL)
                assert listener.until("notification")[-1][1]["headline"] == "Test from turnlog"
        finally:
            server.stop()


def test_a_page_that_comes_back_is_told_what_it_missed_once(folders: Folders, running_server: Server) -> None:
    cookie = cookie_of(running_server)
    with NotifyQueue(folders.data) as queue:
        queue.store_changes({}, page_notices=[Notification("old", "test", "t", "before")])
        with listen_to(running_server, cookie, STREAM) as listener:
            assert [name for name, *_ in listener.until("ready")] == ["ready"]
        queue.store_changes({}, page_notices=[Notification("new", "test", "t", "after")])
        with listen_to(running_server, cookie, STREAM, listener.cursor) as again:
            found = [data["headline"] for name, data, _ in again.until("ready") if name == "notification"]
            if not found:  # it was not polled yet
                found = [again.until("notification")[-1][1]["headline"]]
    assert found == ["after"]


@pytest.mark.slow
def test_the_button_on_the_board_turns_notifications_on(
    folders: Folders, running_server: Server, browser: Browser, complaints: Complaints
) -> None:
    from playwright.sync_api import expect

    context = browser.new_context(
        base_url=running_server.url, storage_state=running_server.entrance(browser), permissions=["notifications"]
    )
    # A browser without a desktop shows nothing, so the page keeps a list of what it would show.
    context.add_init_script(
        """window.shown = [];
        window.Notification = class extends EventTarget {
          static permission = "granted";
          static requestPermission = async () => "granted";
          constructor(title, options) { super(); window.shown.push([title, options.body, options.tag]); }
        };"""
    )
    page, other = context.new_page(), context.new_page()
    complaints.watch(page)
    page.goto("/live")
    button = page.locator("#notify")
    expect(button).to_have_attribute("aria-pressed", "false")
    with page.expect_response(f"**{STREAM}"):
        button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    other.goto("/")  # a second page does not listen too
    page.evaluate('Object.defineProperty(document, "hidden", { get: () => true, configurable: true })')
    with NotifyQueue(folders.data) as queue:
        queue.store_changes({}, page_notices=[Notification("n1", "test", "t", "<b>Hello</b>", "there")])
    expect(page).to_have_title("● <b>Hello</b>")
    assert page.evaluate("shown") == [["<b>Hello</b>", "there", "n1"]]
    assert other.evaluate("shown") == []
    page.evaluate(
        """() => {
          Object.defineProperty(document, "hidden", { get: () => false, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    expect(page).not_to_have_title("● <b>Hello</b>")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    context.close()
    assert complaints == []


def test_the_stream_needs_the_cookie(running_server: Server) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", running_server.port, timeout=10)
    connection.request("GET", STREAM)
    assert connection.getresponse().status == 403
    connection.close()


def test_listening_creates_no_queue_by_itself(folders: Folders) -> None:
    """A GET never writes."""
    from turnlog.web.live.notifications import NotificationChannel
    from turnlog.web.machine import Machine

    machine = Machine([folders.config], folders.data)
    try:
        channel = NotificationChannel(machine)
        assert channel.poll() is False
    finally:
        machine.close()
    assert not (Path(folders.data) / "notify.sqlite3").exists()
