"""Sessions by the names that people use in addresses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.session.build import SESSION, Build, encoded
from tests.web.conftest import Folders, indexed
from turnlog.web.app import build_application
from turnlog.web.security import RequestGuard, ServerKeys

ONE, TWO, NEW = (f"{start}-0000-4000-8000-000000000001" for start in ("abcd0001", "abcd0002", "12345678"))


def session(uuid: str, title: str, minutes: int = 0) -> bytes:
    build = Build()
    build.wait(minutes * 60)
    build.prompt(f"Please do {title}", f"p-{uuid[:8]}")
    build.answer("Done.", uuid=f"a-{uuid[:8]}")
    build.note("custom-title", customTitle=title)
    return encoded(build.lines).replace(SESSION.encode(), uuid.encode()).replace(b"msg-", f"msg-{uuid[:8]}-".encode())


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    found = Folders(tmp_path / "claude", tmp_path / "turnlog")
    found.add(ONE, session(ONE, "Volume discounts"))
    found.add(TWO, session(TWO, "Volume of a sphere"))
    found.add(NEW, session(NEW, "The newest", 600))
    return found


@pytest.fixture
def client(folders: Folders, door: ServerKeys) -> Iterator[TestClient]:
    with indexed(folders) as machine:
        found = TestClient(
            RequestGuard(build_application(machine), door), "http://127.0.0.1:4747", follow_redirects=False
        )
        found.cookies.set(door.cookie_name, door.cookie)
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
    ],
)
def test_a_name_leads_to_its_session(client: TestClient, name: str, goal: str) -> None:
    answer = client.get(f"/s/{name}")
    assert (answer.status_code, answer.headers["location"]) == (307, f"/s/{goal}")


def test_the_rest_of_the_address_is_kept(client: TestClient) -> None:
    assert client.get("/s/abcd0001?turn=1&branch=x").headers["location"] == f"/s/{ONE}?turn=1&branch=x"
    assert client.get("/s/abcd0001/agent/a1?at=k").headers["location"] == f"/s/{ONE}/agent/a1?at=k"


def test_a_name_of_several_sessions_offers_them(client: TestClient) -> None:
    answer = client.get("/s/volume?turn=1")
    assert answer.status_code == 300
    for uuid in (ONE, TWO):
        assert f'href="/s/{uuid}?turn=1"' in answer.text
    assert NEW not in answer.text


@pytest.mark.parametrize("name", ["ffff", "no such title", "%20", "..%2f..%2fetc", "a" * 300])
def test_an_unknown_name_says_what_a_name_is(client: TestClient, name: str) -> None:
    answer = client.get(f"/s/{name}")
    assert answer.status_code == 404
    if name == "ffff":
        assert "the start of one" in answer.text


def test_a_title_is_never_markup(client: TestClient) -> None:
    answer = client.get("/s/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert answer.status_code == 404
    assert "<script>alert" not in answer.text


class TestRail:
    def test_the_rail_lists_the_sessions_newest_first_with_the_current_one_marked(self, client: TestClient) -> None:
        text = client.get(f"/rail?ref={ONE}").text
        assert text.index(NEW) < text.index(ONE)
        assert f'data-ref="{ONE}" aria-current="page"' in text
        assert 'data-total="3"' in text

    def test_the_rail_filters_by_words_and_groups_by_project(self, client: TestClient) -> None:
        text = client.get(f"/rail?ref={ONE}&q=SPHERE&group=project").text
        assert TWO in text
        assert ONE not in text
        assert '<li class="rail-group">webshop</li>' in text
        assert "No session matches" in client.get("/rail?q=nothing-of-the-kind").text
