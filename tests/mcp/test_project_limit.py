"""Sessions of other projects can't be reached, however an agent asks for them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import FOREIGN, OWN, Ask, Shelf, extract_quote
from tests.session.build import Build
from turnlog.mcp.library import SessionLibrary
from turnlog.mcp.project_scope import ProjectScope
from turnlog.mcp.toolbox import call_tool

MARK = "zanzibar"
"""A word that only the other project contains."""


@pytest.fixture(autouse=True)
def two_projects(shelf: Shelf) -> None:
    own, foreign = Build(), Build()
    own.prompt("Hello shop")
    own.call("c1", "Write", {"file_path": str(shelf.project / "a.py"), "content": "own = 1\n"})
    own.result(
        "c1", "ok", toolUseResult={"type": "create", "filePath": str(shelf.project / "a.py"), "content": "own = 1\n"}
    )
    own.answer("Hello")
    foreign.prompt(f"Hello {MARK}")
    foreign.call("c2", "Write", {"file_path": str(shelf.foreign / f"{MARK}.py"), "content": f"{MARK} = 2\n"})
    foreign.result(
        "c2", "ok", toolUseResult={"type": "create", "filePath": str(shelf.foreign / f"{MARK}.py"), "content": MARK}
    )
    foreign.call("c3", f"mcp__{MARK}__look", {"key": MARK})
    foreign.result("c3", MARK)
    foreign.answer(f"The {MARK} is done", model=f"claude-{MARK}")
    shelf.add(OWN, own)
    shelf.add(FOREIGN, foreign, shelf.foreign)


@pytest.mark.parametrize(
    "query",
    [
        MARK,
        f"{MARK[:5]}*",
        f"{MARK} OR shop",
        f"Hello) OR ({MARK}",
        f"nothing OR {MARK}",
        f"-nothing {MARK}",
        "hello NOT shop",
        f"file:{MARK}.py",
        "tool:Write",
        "zanzibat",  # similar words are tried if nothing is found
        "nzib",
    ],
)
def test_no_query_finds_text_of_another_project(library: SessionLibrary, query: str) -> None:
    text = call_tool(library, "search_sessions", {"query": query}).text
    assert MARK not in text.replace(query, "")
    assert FOREIGN[:8] not in text


@pytest.mark.parametrize("query", ["project:bank hello", "hello session:bbbbbbbb", "-project:webshop hello"])
def test_filters_for_other_sessions_are_refused(library: SessionLibrary, query: str) -> None:
    answer = call_tool(library, "search_sessions", {"query": query})
    assert answer.is_error
    assert "not available here" in answer.text


@pytest.mark.parametrize("query", ["tool:mcp__zanzibat__look x", "model:claude-zanzibat x", "tool:zanzi x"])
def test_an_error_suggests_no_name_of_another_project(library: SessionLibrary, query: str) -> None:
    text = call_tool(library, "search_sessions", {"query": query}).text
    assert MARK not in text


def list_names(shelf: Shelf) -> list[str]:
    path = shelf.config / "projects"
    file = next(path.glob(f"*/{FOREIGN}.jsonl"))
    return [
        FOREIGN,
        FOREIGN[:8],
        FOREIGN.upper(),
        f" {FOREIGN} ",
        "bbbb",
        str(file),
        f"../{file.parent.name}/{FOREIGN}",
        f"../{file.parent.name}/{FOREIGN}.jsonl",
        f"Hello {MARK}",
        f"{OWN}/../{FOREIGN}",
        "*",
        "",
        "b" * 64,
    ]


@pytest.mark.parametrize("tool", ["get_session", "get_turns", "get_messages", "get_files_touched", "get_file_version"])
def test_no_name_leads_to_a_session_of_another_project(shelf: Shelf, library: SessionLibrary, tool: str) -> None:
    for name in list_names(shelf):
        given: dict[str, Any] = {"session": name} | ({"file": f"{MARK}.py"} if tool == "get_file_version" else {})
        answer = call_tool(library, tool, given)
        if tool in ("get_files_touched", "get_file_version") and name == "":
            continue  # no name at all: the sessions of this project
        assert answer.is_error, (name, answer.text)
        assert "Hello" not in answer.text


def test_a_session_elsewhere_looks_like_one_that_does_not_exist(library: SessionLibrary) -> None:
    there = call_tool(library, "get_session", {"session": FOREIGN}).text
    nowhere = call_tool(library, "get_session", {"session": "cccccccc-3333-4333-8333-333333333333"}).text
    assert there.replace(FOREIGN, "X") == nowhere.replace("cccccccc-3333-4333-8333-333333333333", "X")


def test_lists_and_reports_leave_other_projects_out(shelf: Shelf, ask: Ask) -> None:
    for answer in (
        ask("list_sessions"),
        ask("get_files_touched"),
        *(ask("get_usage", by=kind) for kind in ("daily", "session", "project", "model", "tool")),
    ):
        assert MARK not in answer
        assert "bank" not in extract_quote(answer)
        assert FOREIGN[:8] not in answer


@pytest.mark.parametrize("name", ["{foreign}/{mark}.py", "{mark}.py", "../bank/{mark}.py", "bank/{mark}.py"])
def test_a_file_of_another_project_has_no_versions_here(shelf: Shelf, library: SessionLibrary, name: str) -> None:
    file = name.format(foreign=shelf.foreign, mark=MARK)
    for given in ({"file": file}, {"file": file, "session": OWN}):
        answer = call_tool(library, "get_file_version", given)
        assert answer.is_error
        assert f"{MARK} = 2" not in answer.text


def test_files_on_disk_are_not_read(shelf: Shelf, library: SessionLibrary) -> None:
    secret = shelf.project / "local.txt"
    secret.write_text("only on disk")
    for name in (str(secret), "local.txt", "/etc/passwd"):
        answer = call_tool(library, "get_file_version", {"file": name})
        assert answer.is_error
        assert "only on disk" not in answer.text


def test_projects_that_share_a_folder_of_sessions_stay_apart(shelf: Shelf) -> None:
    """Claude Code stores the sessions of /a/b-c and /a/b/c in the same folder."""
    other = "dddddddd-4444-4444-8444-444444444444"
    here, there = shelf.base / "web-shop", shelf.base / "web" / "shop"
    here.mkdir()
    for name, folder, word in ((OWN, here, "apples"), (other, there, MARK)):
        build = Build()
        build.prompt(f"Count the {word}")
        build.answer("Done")
        shelf.add(name, build, folder)
    library = shelf.open(here)
    for tool, given in (
        ("list_sessions", {}),
        ("search_sessions", {"query": f"count OR {MARK}"}),
        ("get_usage", {"by": "session"}),
        ("get_usage", {"by": "project"}),
    ):
        text = call_tool(library, tool, given).text
        assert MARK not in text
        assert other[:8] not in text
        assert str(there) not in text
    assert call_tool(library, "get_session", {"session": other}).is_error
    library.close()


def test_folders_below_belong_to_the_project_and_those_beside_do_not(tmp_path: Path) -> None:
    scope = ProjectScope(tmp_path / "shop")
    assert scope.contains_folder(str(tmp_path / "shop"))
    assert scope.contains_folder(str(tmp_path / "shop" / "api"))
    for other in ("shop2", "", "shop/../bank"):
        assert not scope.contains_folder(str(tmp_path) + "/" + other)
    assert not scope.contains_folder(None)


def test_the_home_folder_stands_only_for_itself(strange_machine: Path) -> None:
    for folder in (strange_machine, Path("/")):
        scope = ProjectScope(folder)
        assert scope.contains_folder(str(folder))
        assert not scope.contains_folder(str(strange_machine / "bank"))


def test_a_link_to_the_project_is_the_project(shelf: Shelf) -> None:
    link = shelf.base / "link"
    link.symlink_to(shelf.project)
    library = shelf.open(link)
    assert re.search("aaaaaaaa", call_tool(library, "list_sessions", {}).text)
    library.close()
