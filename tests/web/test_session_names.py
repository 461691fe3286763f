"""Sessions by the names that people use in addresses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.session.build import SESSION, Build, encode_lines
from tests.web.conftest import Folders, become_page, open_indexed
from turnlog.web.app import build_application
from turnlog.web.navigation.session_names import resolve_session_name
from turnlog.web.security import RequestGuard
from turnlog.web.server_keys import ServerKeys

ONE, TWO, NEW, SLASH = (
    f"{start}-0000-4000-8000-000000000001" for start in ("abcd0001", "abcd0002", "12345678", "99990000")
)


def session(uuid: str, title: str, minutes: int = 0) -> bytes:
    build = Build()
    build.wait(minutes * 60)
    build.prompt(f"Please do {title}", f"p-{uuid[:8]}")
    build.answer("Done.", uuid=f"a-{uuid[:8]}")
    build.note("custom-title", customTitle=title)
    return (
        encode_lines(build.lines).replace(SESSION.encode(), uuid.encode()).replace(b"msg-", f"msg-{uuid[:8]}-".encode())
    )


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    found = Folders(tmp_path / "claude", tmp_path / "turnlog")
    found.add(ONE, session(ONE, "Volume discounts"))
    found.add(TWO, session(TWO, "Volume of a sphere", 60))
    found.add(SLASH, session(SLASH, "Fix src/App.py"))
    found.add(NEW, session(NEW, "The newest", 600))
    return found


@pytest.fixture
def client(folders: Folders, door: ServerKeys) -> Iterator[TestClient]:
    with open_indexed(folders) as machine:
        found = TestClient(
            RequestGuard(build_application(machine), door), "http://127.0.0.1:4747", follow_redirects=False
        )
        become_page(found, door)
        yield found


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("abcd0001", ONE),
        ("ABCD0002", TWO),
        ("1234", NEW),
        ("abcd0001-0000", ONE),
        ("Volume%20discounts", ONE),
        ("volume   DISCOUNTS", ONE),
        ("sphere", TWO),
        ("last", NEW),
        ("Fix%20src%2FApp.py", SLASH),
    ],
)
@pytest.mark.parametrize("page", ["/s/{}", "/s/{}/agent/a1", "/replay/{}", "/live/{}"])
def test_a_name_leads_to_its_session(client: TestClient, page: str, name: str, goal: str) -> None:
    answer = client.get(page.format(name))
    assert (answer.status_code, answer.headers["location"]) == (307, page.format(goal))


def test_the_rest_of_the_address_is_kept(client: TestClient) -> None:
    assert client.get("/s/abcd0001?turn=1&branch=x").headers["location"] == f"/s/{ONE}?turn=1&branch=x"
    assert client.get("/s/abcd0001/agent/a%2F1?at=k").headers["location"] == f"/s/{ONE}/agent/a%2F1?at=k"


@pytest.mark.parametrize(
    "address",
    [
        "/api/s/{}",
        "/api/s/{}/turns?first=0",
        "/api/s/{}/steps",
        "/api/s/{}/find?q=please",
        "/api/s/{}/replay",
        "/api/s/{}/health",
        "/s/{}/window/0",
        "/s/{}/raw/0",
        "/s/{}/item?key=p-abcd0001",
        "/s/{}/agents",
        "/quest/replay/{}",
        "/api/compare?left={}&right=last",
        "/compare?right=" + TWO + "&left={}",
        "/quest?session={}",
        "/quest?replay={}",
    ],
)
def test_every_address_answers_to_a_name_as_to_the_id(client: TestClient, address: str) -> None:
    wanted = client.get(address.format(ONE))
    assert wanted.status_code == 200
    for name in ("abcd0001", "Volume discounts"):
        answer = client.get(address.format(name))
        assert answer.status_code == 200
        assert answer.text.replace(f'value="{name}"', f'value="{ONE}"') == wanted.text


@pytest.mark.parametrize("name", ["Volume%20discounts", "abcd0001", "volume", "last"])
def test_an_action_needs_the_whole_id(client: TestClient, name: str) -> None:
    refused = client.post(f"/api/s/{name}/actions/export", json={"dry_run": False, "options": {}})
    assert refused.status_code == 404
    assert "needs the whole id" in refused.json()["error"]
    done = client.post(f"/api/s/{ONE}/actions/export", json={"dry_run": False, "options": {}})
    assert done.status_code == 200, done.text
    assert client.get(done.json()["download"]).status_code == 200


def test_a_name_of_several_sessions_offers_them(client: TestClient) -> None:
    for page in ("/s/{}?turn=1", "/replay/{}?branch=x", "/live/{}", "/compare?left={}&right=last", "/quest?replay={}"):
        answer = client.get(page.format("volume"))
        assert answer.status_code == 300
        for uuid in (ONE, TWO):
            assert f'href="{page.format(uuid).replace("&", "&amp;")}"' in answer.text
        assert NEW not in answer.text


@pytest.mark.parametrize("name", ["ffff", "no such title", "%20", "..%2f..%2fetc", "a" * 300])
def test_an_unknown_name_says_what_a_name_is(client: TestClient, name: str) -> None:
    for page in ("/s/", "/replay/", "/live/", "/compare?left=", "/quest?session="):
        if (page, name) in (("/compare?left=", "%20"), ("/quest?session=", "%20")):
            continue  # nothing was named
        answer = client.get(page + name)
        assert answer.status_code == 404
        assert "the start of one" in answer.text


@pytest.mark.parametrize("page", ["/s/{}", "/replay/{}?agent=a1", "/live/{}", "/quest?session={}", "/s/{}/agent/A1"])
def test_an_unknown_name_offers_the_closest_sessions(client: TestClient, page: str) -> None:
    for name, goal in (("Volume%20discount5", ONE), ("abcd0001-0000-4000-8000-00000000000f", ONE)):
        answer = client.get(page.format(name))
        assert answer.status_code == 404
        assert f'href="{page.format(goal)}"' in answer.text


def test_a_script_gets_the_closest_sessions_too(client: TestClient) -> None:
    answer = client.get("/api/s/Volume%20discount5/turns")
    assert answer.status_code == 404
    found = answer.json()
    assert "no session is called 'Volume discount5'" in found["error"]
    assert found["sessions"][0] == {"ref": ONE, "title": "Volume discounts", "project": "/home/dana/webshop"}


def test_a_failure_keeps_the_case_of_what_was_asked(client: TestClient) -> None:
    assert "“<bdi>/Home/Dana/README.md</bdi>”" in client.get("/s/%2FHome%2FDana%2FREADME.md").text


def test_a_name_is_never_markup(client: TestClient) -> None:
    for page in ("/s/", "/replay/", "/compare?left=", "/quest?session="):
        answer = client.get(page + "%3Cscript%3Ealert(1)%3C%2Fscript%3E")
        assert answer.status_code == 404
        assert "<script>alert" not in answer.text


def test_a_session_that_the_index_does_not_have_yet_is_found_by_its_id(client: TestClient, folders: Folders) -> None:
    fresh = "feed0001-0000-4000-8000-000000000001"
    folders.add(fresh, session(fresh, "Written just now"))
    assert client.get("/live/feed").headers["location"] == f"/live/{fresh}"


class TestRail:
    def test_the_rail_lists_the_sessions_newest_first_with_the_current_one_marked(self, client: TestClient) -> None:
        text = client.get(f"/rail?ref={ONE}").text
        assert text.index(NEW) < text.index(ONE)
        assert f'data-ref="{ONE}" aria-current="page"' in text
        assert 'data-total="4"' in text

    def test_the_rail_filters_by_words_and_groups_by_project(self, client: TestClient) -> None:
        text = client.get(f"/rail?ref={ONE}&q=SPHERE&group=project").text
        assert TWO in text
        assert ONE not in text
        assert '<li class="rail-group">webshop</li>' in text
        assert "No session matches" in client.get("/rail?q=nothing-of-the-kind").text


def test_an_empty_file_is_not_the_last_session(folders: Folders) -> None:
    empty = "99990000-0000-4000-8000-00000000000e"
    folders.add(empty, b"")
    with open_indexed(folders) as machine:
        assert resolve_session_name(machine, "last") == NEW
        page = TestClient(build_application(machine)).get(f"/s/{empty}")
    assert page.status_code == 200
    assert "This session is empty" in page.text
