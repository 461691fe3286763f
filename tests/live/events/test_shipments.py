"""Pushes and pull requests count when they have succeeded."""

from __future__ import annotations

from typing import Any

import pytest

from tests.live.events.event_list import list_events, read_events
from tests.session.build import Build

# -- pushes and pull requests

PUSHED = "To github.com:dana/webshop.git\n   83fa1b2..99c0de1  main -> main"
REQUEST = "https://github.com/dana/webshop/pull/12"


def list_shipments(command: str, content: str, **fields: Any) -> list[tuple[str, str | None]]:
    build = Build()
    build.prompt("go")
    build.call("c1", "Bash", {"command": command})
    build.result("c1", content, **fields)
    return [(event["kind"], event["url"]) for event in list_events(build, "ship")]


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git -C /srv/webshop push origin main",
        "make test && git push -u origin main",
        "git commit -m \"$(cat <<'EOF'\nFix; git push later\nEOF\n)\" && git push",
        "if true; then GIT_SSH=x git push; fi",
        "cat > notes <<EOF\nEOF\ngit push",
        "cat <<-EOF\n\tEOFS\n\tEOF\ngit push",
        "cat <<EOF\n" + "\n" * 15_000 + "EOF\ngit push",
    ],
)
def test_a_push_ships_when_it_has_succeeded(command: str) -> None:
    assert list_shipments(command, PUSHED) == [("push", None)]
    assert list_shipments(command, "Exit code 1\nerror: failed to push some refs", error=True) == []
    assert list_shipments(command, "The user doesn't want to proceed", error=True) == []


@pytest.mark.parametrize(
    "command",
    [
        "git push --dry-run",
        "echo 'git push'",
        "git stash push",
        "git log # git push",
        "cat <<X\ngit push\nX",
        "grep push x",
    ],
)
def test_a_command_that_only_mentions_a_push_ships_nothing(command: str) -> None:
    assert list_shipments(command, PUSHED) == []


@pytest.mark.parametrize("output", ["Everything up-to-date", "To x\n ! [rejected] main -> main (fetch first)\nfailed"])
def test_a_push_that_changed_nothing_ships_nothing(output: str) -> None:
    assert list_shipments("git push || echo failed", output) == []


def test_a_push_in_the_background_has_not_succeeded_yet() -> None:
    assert list_shipments("git push", "running", toolUseResult={"backgroundTaskId": "b1"}) == []


def test_a_quiet_push_is_inferred() -> None:
    build = Build()
    build.call("c1", "Bash", {"command": "git push -q"})
    build.result("c1", "")
    assert read_events(build.data())[-1].confidence == "inferred"


def test_a_pull_request_ships_with_its_address() -> None:
    command = 'gh pr create --title "Fix; cents" --body x'
    assert list_shipments(command, f"Creating pull request\n\n{REQUEST}\n") == [("pull-request", REQUEST)]
    assert list_shipments(command, "aborted") == []
    assert list_shipments(command, f"Exit code 1\nalready exists:\n{REQUEST}", error=True) == []


def test_a_pull_request_counts_once_however_often_the_client_links_it() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1", "Bash", {"command": "gh pr create --fill"})
    build.result("c1", REQUEST)
    for number in (12, 12, 13, 13):
        build.note("pr-link", prNumber=number, prUrl=f"https://github.com/dana/webshop/pull/{number}")
    build.note("pr-link", prUrl="javascript:alert(1)")
    build.note("pr-link", prUrl=["x"])
    assert [event["url"] for event in list_events(build, "ship")] == [REQUEST, REQUEST.replace("12", "13")]


def test_a_pull_request_from_a_tool_of_a_server_ships() -> None:
    build = Build()
    build.call("c1", "mcp__github__create_pull_request", {"title": "x"})
    build.result("c1", [{"type": "text", "text": f'{{"html_url":"{REQUEST}"}}'}])
    assert [event["url"] for event in list_events(build, "ship")] == [REQUEST]
