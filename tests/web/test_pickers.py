"""What filters offer: each project once, and only models that answered."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.session.build import Build
from tests.web.conftest import Folders, open_indexed
from turnlog.web.app import build_application
from turnlog.web.machine import Machine

PLACED = "aaaaaaaa-0000-4000-8000-000000000001"
PLACELESS = "aaaaaaaa-0000-4000-8000-000000000002"
STRANGER = "aaaaaaaa-0000-4000-8000-000000000003"


def talk(name: str, cwd: str | None) -> bytes:
    build = Build()
    build.prompt(f"hello from {name}", uuid=f"p-{name}")
    build.answer("Done.", id=f"m-{name}", usage={"input_tokens": 1000, "output_tokens": 100})
    build.answer("API Error: 500", id=f"s-{name}", model="<synthetic>", usage={"input_tokens": 0, "output_tokens": 0})
    lines = [json.loads(line) for line in build.data().splitlines()]
    for line in lines:
        line.pop("cwd", None)
        if cwd:
            line["cwd"] = cwd
    return b"".join(json.dumps({**line, "sessionId": name}).encode() + b"\n" for line in lines)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    found = Folders(tmp_path / "claude", tmp_path / "turnlog")
    found.add(PLACED, talk(PLACED, "/home/dana/webshop"))
    found.add(PLACELESS, talk(PLACELESS, None))
    found.add(STRANGER, talk(STRANGER, None), "-home-dana-other")
    return found


@pytest.fixture
def client(place: Machine) -> TestClient:
    return TestClient(build_application(place))


@pytest.mark.parametrize("path", ["/", "/insights?range=all", "/search?q=hello", "/prompts"])
def test_a_session_that_names_no_folder_belongs_to_the_project_of_those_beside_it(
    client: TestClient, path: str
) -> None:
    text = client.get(path).text
    assert "webshop" in text
    assert "-home-dana-webshop" not in text
    assert "home-dana-other" in text  # no session says where that is


@pytest.mark.parametrize("path", ["/", "/insights?range=all", "/search?q=hello"])
def test_texts_of_the_client_itself_are_offered_as_no_model(client: TestClient, path: str) -> None:
    text = client.get(path).text
    choices = re.findall(r"<(?:option|a|label|button)[^>]*>", text)
    assert not [choice for choice in choices if "synthetic" in choice]
    assert "synthetic" not in "".join(re.findall(r"<select name=\"model\".*?</select>", text, re.DOTALL))


def test_documents_name_one_project_too(client: TestClient) -> None:
    document = client.get("/api/usage/project").json()
    projects = {row["project"].rpartition("/")[2]: row["sessions"] for row in document["rows"]}
    assert projects == {"webshop": 2, "-home-dana-other": 1}


def test_a_project_is_named_only_after_its_own_folder(tmp_path: Path) -> None:
    """A session that was moved there by hand says nothing about the others."""
    folders = Folders(tmp_path / "claude", tmp_path / "turnlog")
    folders.add(PLACED, talk(PLACED, "/srv/elsewhere"))
    folders.add(PLACELESS, talk(PLACELESS, None))
    with open_indexed(folders) as machine:
        document = TestClient(build_application(machine)).get("/api/usage/project").json()
    assert sorted(row["project"].rpartition("/")[2] for row in document["rows"]) == ["-home-dana-webshop", "elsewhere"]
