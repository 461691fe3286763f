"""The insights page on a lake: the figures of `turnlog usage` and `turnlog fleet report`, and nothing else."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

import turnlog
from tests.fleet.lakes import KEY, add_recorded, add_session, build_session
from tests.fleet.object_store import BUCKET, list_variables, serve_bucket
from tests.web.conftest import PORT, Folders, become_page, start
from turnlog.errors import NotFound, UsageError
from turnlog.web import app
from turnlog.web.lake.lake_machine import LakeMachine
from turnlog.web.lake.lake_upkeep import LakeUpkeep
from turnlog.web.security import RequestGuard
from turnlog.web.server_keys import ServerKeys

PATIENCE_SECONDS = 120
TOKEN_FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "messages")


@pytest.fixture(autouse=True)
def lake_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_FLEET_KEY", KEY)


def add_shared_sessions(source: Path) -> None:
    """Two people with the same session in the same project; the copy has another answer."""
    session = build_session(3, cwd="/srv/shop")
    add_session(source / "web/ana/.claude", session, name="aaaaaaaa-0000-4000-8000-000000000001")
    more = build_session(1, cwd="/srv/shop")
    origin = b'{"forkedFrom":{"sessionId":"aaaaaaaa-0000-4000-8000-000000000001"},'
    data = session.data().replace(b"{", origin, 1) + more.data()
    add_session(source / "ops/ben/.claude", data, name="aaaaaaaa-0000-4000-8000-000000000001")


@contextmanager
def open_client(lake: Path | str, data: Path) -> Iterator[TestClient]:
    machine = LakeMachine(str(lake), data)
    door = ServerKeys(PORT, b"s" * 32)
    try:
        guarded = RequestGuard(app.build_application(machine), door)
        with TestClient(guarded, f"http://127.0.0.1:{PORT}", follow_redirects=False) as found:
            become_page(found, door)
            yield found
    finally:
        machine.close()


def run_usage(folders: Folders, kind: str) -> Any:
    command = [sys.executable, "-m", "turnlog", "usage", kind, "--timezone", "UTC", "--json"]
    done = subprocess.run(command, env=folders.environment, capture_output=True, check=True)
    return json.loads(done.stdout)


def list_amounts(document: Any, *, without: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
    """The figures of the rows of a report, without what names them."""
    rows = [{key: value for key, value in row.items() if key not in without} for row in document["rows"]]
    return sorted((tuple(sorted((key, str(value)) for key, value in row.items())) for row in rows), key=str)


def list_files(folder: Path) -> dict[str, tuple[int, int]]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}


@pytest.mark.parametrize("redact", [True, False], ids=["redacted", "plain"])
def test_the_figures_are_those_of_usage_and_of_the_report(tmp_path: Path, redact: bool) -> None:
    folders = Folders(tmp_path / "claude", tmp_path / "data")
    add_recorded(folders.config)
    lake = tmp_path / "lake"
    turnlog.build_lake(folders.config, lake, workers=1, redact=redact)
    report = turnlog.report_lake(lake, limit=None)
    with open_client(lake, tmp_path / "data") as client:
        for kind in ("daily", "weekly", "monthly", "model", "blocks"):
            found, expected = client.get(f"/api/usage/{kind}").json(), run_usage(folders, kind)
            assert found == expected, kind
            assert found["rows"]
        for kind in ("project", "session"):
            names = ("project", "title", "session_id", "sessions")
            found, expected = client.get(f"/api/usage/{kind}").json(), run_usage(folders, kind)
            assert list_amounts(found, without=names) == list_amounts(expected, without=names), kind
            assert found["total"] == expected["total"]
        tools = client.get("/api/usage/tool").json()
        assert tools["rows"] == run_usage(folders, "tool")["rows"]
        assert {row["tool"]: row["failed"] for row in tools["rows"]} == {row.tool: row.failed for row in report.tools}
        models = client.get("/api/usage/model").json()
        by_model = {row["model"]: [row[name] for name in TOKEN_FIELDS] for row in models["rows"]}
        assert by_model == {row.name: [getattr(row.amounts, name) for name in TOKEN_FIELDS] for row in report.models}
        text = client.get("/insights?range=all").text
        assert f"${report.total.amounts.cost_usd:,.2f}" in text
        assert f"in {report.sessions} sessions" in text


def test_copies_count_once_and_two_people_may_have_the_same_session(tmp_path: Path) -> None:
    add_shared_sessions(tmp_path / "src")
    lake = tmp_path / "lake"
    turnlog.build_lake(tmp_path / "src", lake, workers=1, layout="{team}/{person}")
    report = turnlog.report_lake(lake)
    with open_client(lake, tmp_path / "data") as client:
        found = client.get("/api/usage/session").json()
        assert found["total"]["messages"] == report.total.amounts.messages == 4
        assert sorted((row["messages"], row["session_id"][:2]) for row in found["rows"]) == [(1, "aa"), (3, "aa")]
        assert found["sessions"] == report.sessions == 2
        projects = client.get("/api/usage/project").json()
        assert [(row["project"], row["sessions"]) for row in projects["rows"]] == [("/srv/shop", 2)]
        assert client.get("/api/usage/daily?project=shop").json()["total"] == found["total"]
        text = client.get("/insights?range=all").text
        for key, rows in (("team", report.teams), ("person", report.persons)):
            panel = text.partition(f'id="{key}"')[2].partition("</section>")[0]
            for row in rows:
                assert f"<bdi>{row.name}</bdi>" in panel
                tokens = row.amounts.input_tokens + row.amounts.output_tokens + row.amounts.cache_read_input_tokens
                assert f'title="{tokens + row.amounts.cache_creation_input_tokens:,}"' in panel
        assert "ana" not in re.sub(r"(?s)<[^>]*>", "", text).split()
        part = client.get("/insights/sessions").text
        assert part.count("prompt 0") == 2


def test_every_part_of_the_page_is_shown_and_leads_nowhere_else(tmp_path: Path) -> None:
    add_recorded(tmp_path / "src/ana")
    lake = tmp_path / "lake"
    turnlog.build_lake(tmp_path / "src", lake, workers=1, layout="{person}")
    with open_client(lake, tmp_path / "data") as client:
        text = client.get("/insights?range=all&parts=all").text
        for key in (
            "stack",
            "treemap",
            "time",
            "project",
            "model",
            "hours",
            "cache",
            "session",
            "filling",
            "slow",
            "long",
        ):
            panel = text.partition(f'id="{key}"')[2].partition("</section>")[0]
            assert "<table" in panel, key
        assert 'id="blocks"' not in text
        links = {html.unescape(link) for link in re.findall(r'(?:data-)?(?:href|src|action)="([^"#]+)"', text)}
        assert {link for link in links if not link.startswith(("/insights", "/static/"))} == set()
        assert all(client.get(link).status_code == 200 for link in links)
        assert f"Lake <bdi>{lake}</bdi>" in text


def test_the_pages_of_sessions_are_not_part_of_a_lake(tmp_path: Path) -> None:
    add_session(tmp_path / "src", build_session())
    turnlog.build_lake(tmp_path / "src", tmp_path / "lake", workers=1)
    with open_client(tmp_path / "lake", tmp_path / "data") as client:
        assert client.get("/").headers["location"] == "/insights"
        own = {route.path for page in app.LAKE_PAGE_MODULES for route in page.routes if isinstance(route, Route)}
        others = (route for page in app.PAGE_MODULES for route in page.routes if isinstance(route, Route))
        refused = [(method, route.path) for route in others for method in route.methods or () if route.path not in own]
        assert len(refused) > 30
        for method, path in refused:
            answer = client.request(method, re.sub(r"{[^}]+}", "x", path), json={} if method == "POST" else None)
            assert answer.status_code == 404, path
            assert method == "HEAD" or "not part of a lake" in answer.text, path
        assert client.get("/api/usage/daily?timezone=Asia/Kolkata").status_code == 400


def test_the_pages_read_no_sessions_of_this_machine_and_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_session(tmp_path / "src", build_session(cwd="/home/ana/shop"))
    turnlog.build_lake(tmp_path / "src", tmp_path / "lake", workers=1)
    secret = build_session(cwd="/home/dana/only-here")
    add_session(tmp_path / "claude", secret)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    before = list_files(tmp_path)
    with open_client(tmp_path / "lake", tmp_path / "data") as client:
        for path in (
            "/insights?range=all&parts=all",
            "/insights/sessions",
            "/api/insights?range=all",
            "/api/preferences",
        ):
            answer = client.get(path)
            assert answer.status_code == 200
            assert "only-here" not in answer.text
        assert list_files(tmp_path) == before


def test_a_new_snapshot_is_shown_and_a_person_who_was_forgotten_is_not(tmp_path: Path) -> None:
    source, lake = tmp_path / "src", tmp_path / "lake"
    add_session(source / "ana", build_session(2))
    turnlog.build_lake(source, lake, workers=1, layout="{person}")
    machine = LakeMachine(str(lake), tmp_path / "data")
    try:
        client = TestClient(app.build_application(machine))

        def count_messages() -> int:
            return int(client.get("/api/usage/model").json()["total"]["messages"])

        assert count_messages() == 2
        assert "2" in client.get("/insights?range=all").text
        assert machine.refresh() is False
        add_session(source / "ben", build_session(5))
        turnlog.build_lake(source, lake, workers=1, layout="{person}")
        assert machine.refresh() is True
        assert count_messages() == 7
        assert len(list(machine.index.parent.parent.iterdir())) == 2
        with LakeUpkeep(machine, print, poll_seconds=0.2):
            turnlog.forget_person(lake, "ben")
            end = time.monotonic() + PATIENCE_SECONDS
            while count_messages() != 2 and time.monotonic() < end:
                time.sleep(0.1)
        assert count_messages() == 2
    finally:
        machine.close()
    assert not machine.index.parent.parent.exists()


def test_a_place_without_a_lake_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such folder"):
        LakeMachine(str(tmp_path / "nothing"), tmp_path / "data")
    with pytest.raises(NotFound, match="not a lake"):
        LakeMachine(str(tmp_path), tmp_path / "data")
    with pytest.raises(UsageError, match="unknown scheme"):
        LakeMachine("ftp://company/lake", tmp_path / "data")


@pytest.mark.slow
def test_the_command_serves_a_lake_and_reports_what_is_wrong_in_one_line(tmp_path: Path) -> None:
    add_session(tmp_path / "src", build_session(3))
    turnlog.build_lake(tmp_path / "src", tmp_path / "lake", workers=1)
    folders = Folders(tmp_path / "claude", tmp_path / "data")
    server = start(folders, "--port", "0", "--lake", str(tmp_path / "lake"))
    try:
        with httpx2.Client(base_url=server.url, follow_redirects=True) as client:
            text = client.get(server.address).text
            assert "Lake <bdi>" in text
            assert client.get("/api/usage/model").json()["total"]["messages"] == 3
    finally:
        assert server.stop() == 0
    assert server.errors == []
    command = [sys.executable, "-m", "turnlog", "web", "--no-open", "--port", "0", "--lake"]
    done = subprocess.run([*command, str(tmp_path / "src")], env=folders.environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"turnlog: .*not a lake; `turnlog fleet build` creates one\n", done.stderr)
    blocked = tmp_path / "without"
    (blocked / "obstore").mkdir(parents=True)
    (blocked / "obstore/__init__.py").write_text("raise ImportError('not installed')\n")
    environment = {**folders.environment, "PYTHONPATH": os.pathsep.join([str(blocked), *sys.path])}
    done = subprocess.run([*command, str(tmp_path / "lake")], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        1,
        "turnlog: a lake requires obstore; run `pip install 'turnlog[fleet]'`\n",
    )


@pytest.mark.slow
def test_a_lake_in_an_object_store_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_bucket(tmp_path) as address:
        for name, value in list_variables(address).items():
            monkeypatch.setenv(name, value)
        add_session(tmp_path / "src", build_session(3))
        lake = f"s3://{BUCKET}/lake"
        turnlog.build_lake(tmp_path / "src", lake, workers=1)
        machine = LakeMachine(lake, tmp_path / "data")
        try:
            client = TestClient(app.build_application(machine))
            assert client.get("/api/usage/model").json()["total"]["messages"] == 3
            assert f"Lake <bdi>{lake}</bdi>" in client.get("/insights?range=all&parts=all").text
            add_session(tmp_path / "src", build_session(2))
            turnlog.build_lake(tmp_path / "src", lake, workers=1)
            assert machine.refresh() is True
            assert client.get("/api/usage/model").json()["total"]["messages"] == 5
        finally:
            machine.close()
