"""Actions: what a page may ask for, what is done, and what is not."""

from __future__ import annotations

import asyncio
import json
import shlex
import threading
import urllib.request
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

from tests.web.conftest import Folders, Server
from tests.web.loops import run_apart
from turnlog.errors import Busy, UsageError
from turnlog.web.actions.actions import MAX_RUNNING_ACTIONS, wait_for_thread
from turnlog.web.actions.calls import CALLS
from turnlog.web.actions.downloads import Downloads
from turnlog.web.actions.verbs import VERBS, build_arguments
from turnlog.web.machine import Machine

TITLE = "Zweiter Versuch; $(touch x) `id` --json"


@pytest.fixture
def ref(folders: Folders) -> str:
    """A session with calls."""
    return next(path.stem for path in (folders.projects).rglob("*.jsonl") if path.stat().st_size > 50_000)


def read_all_files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def post(client: TestClient, ref: str, verb: str, options: dict[str, Any] | None = None, **order: Any) -> Any:
    answer = client.post(f"/api/s/{ref}/actions/{verb}", json={"options": options or {}, **order})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("clone", {}),
        ("strip", {"preset": "standard", "protect": ["Bash"], "noise": False}),
        ("fork", {"at": "1"}),
        ("redact", {"emails": True}),
        ("repair", {}),
        ("rename", {"title": TITLE}),
        ("tag", {"tag": "urgent"}),
        ("export", {"format": "md"}),
        ("pack", {"redact": True}),
        ("archive", {}),
        ("delete", {"history": True}),
    ],
)
def test_a_dry_run_says_what_would_be_done_and_writes_nothing(
    client: TestClient, folders: Folders, ref: str, verb: str, options: dict[str, Any]
) -> None:
    before = read_all_files(folders.config)
    for order in ({}, {"dry_run": True}):  # nothing is written unless it is asked for
        told = post(client, ref, verb, options, **order)
        assert told["words"]
        assert (told["made"], told["download"]) == (None, None)
        assert shlex.split(told["command"])[:2] == ["turnlog", VERBS[verb].command]
        assert ref in shlex.split(told["command"])
    assert read_all_files(folders.config) == before


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("clone", {"title": TITLE}),
        ("strip", {"preset": "heavy", "title": TITLE}),
        ("fork", {"at": "1", "title": TITLE}),
        ("redact", {"homes": True, "title": TITLE}),
    ],
)
def test_a_new_session_is_made_and_can_be_opened(
    client: TestClient, place: Machine, folders: Folders, ref: str, verb: str, options: dict[str, Any]
) -> None:
    before = read_all_files(folders.config)
    told = post(client, ref, verb, options, dry_run=False)
    made = place.find_session(told["made"]["ref"])
    assert made.path.is_file()
    assert made.title == told["made"]["title"] == TITLE
    assert told["document"]["made"]["session_id"] == made.uuid
    assert before.items() <= read_all_files(folders.config).items()


def test_the_command_that_is_shown_does_the_same(client: TestClient, folders: Folders, ref: str, program: Any) -> None:
    told = post(client, ref, "clone", {"title": TITLE}, dry_run=False)
    done = program(*shlex.split(told["command"])[1:], "--json", **folders.environment)
    assert json.loads(done.stdout)["made"]["title"] == TITLE


def test_a_fork_at_an_item_keeps_the_whole_message(client: TestClient, place: Machine, ref: str) -> None:
    known = place.find_session(ref)
    kept = place.timelines.get_timeline(known.path)
    items = kept.read_items(None, 0, kept.count_items(None))
    answer = next(item for item in items if item.kind == "answer" and len(item.lines) > 1)
    told = post(client, ref, "fork", {"item": answer.key})
    last = kept.read_excerpt([answer]).find_item_at(answer.lines[-1].offset)
    assert f"--at={last.uuid}" in shlex.split(told["command"])  # type: ignore[union-attr]
    assert "would continue" in told["words"]


@pytest.mark.parametrize(
    ("form", "start"), [("html", b"<!doctype html"), ("md", b"#"), ("json", b"{"), ("parquet", b"P")]
)
def test_an_export_can_be_fetched_as_a_file_and_is_never_shown(
    client: TestClient, folders: Folders, ref: str, form: str, start: bytes
) -> None:
    before = read_all_files(folders.config)
    told = post(client, ref, "export", {"format": form, "no_thinking": True}, dry_run=False)
    answer = client.get(told["download"])
    assert answer.status_code == 200
    assert answer.content.lower().startswith(start.lower())
    assert answer.headers["content-disposition"].startswith("attachment; filename")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert read_all_files(folders.config) == before


def test_only_the_last_exports_are_kept_and_all_go_with_the_server(tmp_path: Path) -> None:
    kept = Downloads()
    names = []
    for number in range(10):
        folder = kept.make_folder()
        (folder / f"{number}.md").write_text("x")
        names.append(kept.offer_folder(folder))
    assert [_is_there(kept, name) for name in names] == [False] * 2 + [True] * 8
    root = folder.parent
    kept.close()
    assert not root.exists()


def test_an_export_of_several_files_becomes_one(tmp_path: Path) -> None:
    kept = Downloads()
    folder = kept.make_folder()
    (folder / "site").mkdir()
    (folder / "site" / "index.html").write_text("x")
    (folder / "site" / "page-2.html").write_text("y")
    answer = kept.send_file(kept.offer_folder(folder) or "")
    with zipfile.ZipFile(answer.path) as packed:
        assert {name for name in packed.namelist() if name.endswith("html")} == {"index.html", "page-2.html"}
    assert kept.offer_folder(kept.make_folder()) is None
    kept.close()


def _is_there(kept: Downloads, name: str | None) -> bool:
    try:
        return bool(kept.send_file(name or ""))
    except HTTPException:
        return False


def test_the_folder_that_the_server_was_started_in_is_not_trusted(
    client: TestClient, ref: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('hijacked')")
    monkeypatch.chdir(tmp_path)
    assert "dry run" in post(client, ref, "clone")["words"]


def test_a_title_is_given_and_a_tag_is_given_and_taken_away(client: TestClient, place: Machine, ref: str) -> None:
    post(client, ref, "rename", {"title": TITLE}, dry_run=False)
    assert place.store.refresh(place.config_dirs).files == 1
    assert place.find_session(ref).title == TITLE
    post(client, ref, "tag", {"tag": "urgent"}, dry_run=False)
    post(client, ref, "tag", {"remove": True}, dry_run=False)
    tags = [line for line in place.find_session(ref).path.read_bytes().splitlines() if b'"tag"' in line]
    assert [json.loads(line).get("tag") for line in tags][-2:] == ["urgent", ""]


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("clone", {"compress_log": "/tmp/x"}),
        ("clone", {"title": "a\nb"}),
        ("clone", {"title": ""}),
        ("clone", {"title": 7}),
        ("clone", {"title": ["a"]}),
        ("clone", {"title": "x" * 201}),
        ("clone", {"portable": "yes"}),
        ("strip", {"preset": "--help"}),
        ("strip", {"tools": "remove; rm -rf /"}),
        ("strip", {"preset": "nobody-has-this"}),
        ("fork", {"at": "../../etc"}),
        ("fork", {"item": "../../etc"}),
        ("fork", {"item": 7}),
        ("fork", {}),
        ("redact", {"output": "/tmp/x"}),
        ("redact", {"clone": True}),
        ("repair", {"only": ["--in-place"]}),
        ("rename", {"title": "\x1b[31m"}),
        ("export", {"format": "exe"}),
        ("export", {"output": "/tmp/x"}),
        ("tag", {"tag": "-x"}),
    ],
)
def test_an_option_that_is_none_or_a_value_that_can_not_be_is_refused(
    client: TestClient, folders: Folders, ref: str, verb: str, options: dict[str, Any]
) -> None:
    before = read_all_files(folders.config)
    answer = client.post(f"/api/s/{ref}/actions/{verb}", json={"options": options, "dry_run": False})
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]
    assert read_all_files(folders.config) == before


@pytest.mark.parametrize("title", ["--json", "-n", "--help", "--title=x"])
def test_a_value_is_never_taken_for_an_option(client: TestClient, place: Machine, ref: str, title: str) -> None:
    told = post(client, ref, "rename", {"title": title}, dry_run=False)
    assert shlex.split(told["command"]) == ["turnlog", "rename", "--", ref, title]
    place.store.refresh(place.config_dirs)
    assert place.find_session(ref).title == title


@pytest.mark.parametrize("verb", ["undelete", "undo", "Clone", "", "..", "archives"])
def test_there_are_no_other_verbs(client: TestClient, ref: str, verb: str) -> None:
    assert client.post(f"/api/s/{ref}/actions/{verb}", json={}).status_code in (404, 405)


@pytest.mark.parametrize(
    "body",
    [b"[]", b"x", b'{"dry_run":1}', b'{"more":1}', b'{"options":[]}', b"\xff", b'{"options":' + b'{"a":' * 5000],
)
def test_a_body_that_is_no_order_is_refused(client: TestClient, ref: str, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    assert client.post(f"/api/s/{ref}/actions/clone", content=body, headers=headers).status_code == 400


def test_what_the_program_refuses_is_told_in_its_words(client: TestClient, ref: str) -> None:
    answer = client.post(f"/api/s/{ref}/actions/fork", json={"options": {"at": "9999"}})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("--at 9999: ")


def test_a_session_whose_file_is_gone_can_not_be_edited(client: TestClient, place: Machine, ref: str) -> None:
    place.find_session(ref).path.unlink()
    place.store.refresh(place.config_dirs)
    assert client.post(f"/api/s/{ref}/actions/clone", json={}).status_code == 404


def test_every_option_of_the_table_is_one_of_the_program() -> None:

    from turnlog.cli.table import COMMANDS

    for verb in VERBS.values():
        command = COMMANDS[verb.command].load()
        if verb.subcommand:
            command = command.commands[verb.subcommand[0]]
        known = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
        used = {flag for option in verb.options.values() for flag in (option.flag, option.off) if flag}
        assert used | set(verb.real) | set(verb.rehearsal or ()) | set(verb.subcommand[1:]) <= known


def test_flags_stand_before_the_session_and_words_behind_it() -> None:
    assert build_arguments(VERBS["tag"], {"tag": "a", "remove": False}) == ([], ["a"])
    assert build_arguments(VERBS["strip"], {"noise": False, "protect": ["A", "B"]}) == (
        ["--no-noise", "--protect=A", "--protect=B"],
        [],
    )
    with pytest.raises(UsageError, match="unknown option"):
        build_arguments(VERBS["clone"], {"x": 1})


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("clone", {}),
        ("strip", {"preset": "heavy", "thinking": "keep-last=1"}),
        ("fork", {"at": "1", "portable": True}),
        ("redact", {"emails": True, "homes": True}),
        ("repair", {}),
        ("repair", {"only": ["cycle", "missing-cwd"]}),
    ],
)
def test_the_words_of_a_page_are_those_of_the_command_that_it_shows(
    client: TestClient, folders: Folders, ref: str, program: Any, verb: str, options: dict[str, Any]
) -> None:
    answer = post(client, ref, verb, options)
    done = program(*shlex.split(answer["command"])[1:], **folders.environment)
    assert done.stdout.rstrip("\n") == answer["words"]
    assert (done.returncode, done.stderr.rstrip("\n")) == (answer["status"], answer["notes"])


def test_the_document_of_a_page_has_the_keys_of_the_command_line(
    client: TestClient, folders: Folders, ref: str, program: Any
) -> None:
    answer = post(client, ref, "strip", {"preset": "heavy"}, dry_run=False)
    done = json.loads(program(*shlex.split(answer["command"])[1:], "--json", **folders.environment).stdout)
    assert list(answer["document"]) == list(done)
    assert answer["document"]["edits"] == done["edits"]


def test_what_can_not_be_done_is_a_conflict_in_the_words_of_the_refusal(
    client: TestClient, folders: Folders, ref: str, place: Machine
) -> None:
    path = place.find_session(ref).path
    path.write_bytes(b'{"type":"mode"}\n')
    before = read_all_files(folders.config)
    answer = client.post(f"/api/s/{ref}/actions/fork", json={"options": {"at": "1"}, "dry_run": False})
    assert (answer.status_code, "no conversation to fork" in answer.json()["error"]) == (409, True)
    assert read_all_files(folders.config) == before


def test_an_action_that_takes_too_long_goes_on_and_the_page_is_told() -> None:
    go_on, started, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        go_on.wait()
        ended.set()

    seconds = 0.01
    while True:
        with pytest.raises(Busy) as caught:
            run_apart(wait_for_thread(work, seconds))
        if started.is_set():
            break
        assert "was not started" in str(caught.value), "on a busy machine, a thread may start too late"
        seconds *= 2
    assert "continues in the background" in str(caught.value)
    assert not ended.is_set()
    go_on.set()
    assert ended.wait(60)


def test_an_action_that_waits_too_long_for_others_is_not_started_at_all() -> None:
    go_on, called = threading.Event(), threading.Event()
    started = [threading.Event() for _ in range(MAX_RUNNING_ACTIONS)]

    def work(number: int) -> int:
        started[number].set()
        go_on.wait()
        return number

    async def fill_threads() -> list[int]:
        others = [asyncio.create_task(wait_for_thread(partial(work, n), 600)) for n in range(len(started))]
        while not all(event.is_set() for event in started):
            await asyncio.sleep(0.01)
        with pytest.raises(Busy, match="was not started"):
            await wait_for_thread(called.set, 0.01)
        go_on.set()
        return [await other for other in others]

    assert run_apart(fill_threads()) == list(range(len(started)))
    assert not called.is_set()


def test_every_verb_of_the_table_has_a_function_and_none_is_without() -> None:
    assert {verb.command for verb in VERBS.values()} == set(CALLS)


def send(server: Server, ref: str, verb: str, options: dict[str, Any]) -> dict[str, Any]:
    """Let a server of its own process carry out an action: it has the folders of the test as its own."""
    body = json.dumps({"options": options, "dry_run": False}).encode()
    url = f"{server.url}/api/s/{ref}/actions/{verb}"
    with urllib.request.urlopen(urllib.request.Request(url, body, server.program_headers)) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def test_a_session_is_deleted_into_the_trash_and_restored(
    server: Server, folders: Folders, place: Machine, ref: str, program: Any
) -> None:
    path = place.find_session(ref).path
    answer = send(server, ref, "delete", {"force": True})
    assert not path.exists()
    assert f"turnlog undelete {ref}" in answer["words"]
    assert program("undelete", ref, **folders.environment).returncode == 0
    assert path.exists()


def test_a_session_is_archived(server: Server, folders: Folders, ref: str, program: Any) -> None:
    answer = send(server, ref, "archive", {})
    assert answer["words"].startswith("Archived: ")
    again = program(*shlex.split(answer["command"])[1:], **folders.environment)
    assert again.returncode == 0
    assert ref[:8] in program("archive", "list", **folders.environment).stdout


def test_a_session_is_packed_into_a_file_to_save(client: TestClient, ref: str) -> None:
    packed = post(client, ref, "pack", {}, dry_run=False)
    assert len(client.get(packed["download"]).content) > 1000


def test_the_sessions_of_a_project_follow_its_folder(server: Server, place: Machine, ref: str, tmp_path: Path) -> None:
    goal = tmp_path / "renamed"
    goal.mkdir()
    old = place.find_session(ref).cwd
    told = send(server, ref, "move", {"new_path": str(goal), "force": True})
    assert shlex.split(told["command"])[-2:] == [old, str(goal)]
    place.store.refresh(place.config_dirs)
    assert place.find_session(ref).cwd == str(goal)
