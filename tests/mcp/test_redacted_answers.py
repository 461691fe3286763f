"""No tool gives a secret away: not in part, not before it is known, not in titles, paths or errors."""

from __future__ import annotations

import pytest

from tests.mcp.conftest import OWN, Shelf, call_every_tool
from tests.redact.cases import EVERYDAY
from tests.session.build import Build
from turnlog.mcp.library import SessionLibrary
from turnlog.mcp.toolbox import call_tool

KEY = "sk-ant-" + "api03-" + "Qz7Lk2Vn9Xw4Rt8Yp3Bm6Gc1Hd5Jf0S" * 3 + "-AbCdEfAA"
LATER = "hX93kfLw02mQ"
"""Looks like nothing in particular; only one later line says that it is a password."""
SHORT = "blue42"
"""Too short to be found without the name of its field."""


@pytest.fixture(autouse=True)
def leaky(shelf: Shelf) -> None:
    build = Build()
    build.prompt(f"hello, use {LATER} for the key, and my token is {KEY}")
    build.call(
        "c1", "Write", {"file_path": str(shelf.project / "a.py"), "content": f"key = '{KEY}'\nnotes = '{LATER}'\n"}
    )
    build.result("c1", "ok", toolUseResult={
        "type": "create", "filePath": str(shelf.project / "a.py"), "content": f"key = '{KEY}'\nnotes = '{LATER}'\n"
    })  # fmt: skip
    build.call("c2", "mcp__db__connect", {"user": "dana", "password": SHORT, "notes": f"notes {LATER}"})
    build.result("c2", f"token {KEY} for {LATER}")
    build.call("c3", "Read", {"file_path": f"/srv/{LATER}/{KEY}.txt"})
    build.result("c3", "hello", error=True)
    build.answer(f"The password is ready: export DB_PASSWORD={LATER}")
    shelf.add(OWN, build)


def test_no_tool_gives_a_secret_away(library: SessionLibrary) -> None:
    answers = call_every_tool(library, OWN)
    for name, answer in answers.items():
        assert not answer.is_error, (name, answer.text)
        for secret in (KEY, KEY[:20], KEY[-12:], LATER, SHORT):
            assert secret not in answer.text, (name, secret)
    assert "[secret:" in answers["get_turns"].text
    assert "[secret:" in answers["get_file_version"].text


@pytest.mark.parametrize("tokens", range(300, 900, 37))
def test_no_end_of_a_page_shows_a_part_of_a_secret(library: SessionLibrary, tokens: int) -> None:
    cursor, text = "", ""
    for _ in range(100):
        given = {"session": OWN, "results": "full", "max_tokens": tokens, "cursor": cursor}
        answer = call_tool(library, "get_turns", given).text
        text += answer
        cursor = answer.partition('cursor "')[2].partition('"')[0]
        if not cursor:
            break
    assert not cursor
    assert not any(part in text for part in (KEY[:16], KEY[20:36], LATER[:8], SHORT))


@pytest.mark.parametrize("query", [KEY, KEY[:14] + "*", LATER, SHORT, "blue*", "hX93*", '"DB_PASSWORD"'])
def test_a_search_for_a_secret_does_not_show_it(library: SessionLibrary, query: str) -> None:
    text = call_tool(library, "search_sessions", {"query": query}).text
    assert not any(secret in text for secret in (KEY, KEY[20:36], LATER, SHORT))


def test_an_error_shows_no_secret(library: SessionLibrary) -> None:
    answer = call_tool(library, "get_file_version", {"file": f"{KEY}.json", "session": OWN})
    assert answer.is_error
    assert KEY not in answer.text
    assert LATER not in answer.text


def test_secrets_are_shown_if_the_user_wants_them(shelf: Shelf) -> None:
    library = shelf.open(redact=False)
    assert LATER in call_tool(library, "get_turns", {"session": OWN}).text
    library.close()


def test_everyday_secrets_in_results_do_not_come_out(shelf: Shelf) -> None:
    build = Build()
    for number, case in enumerate(EVERYDAY):
        build.prompt("go on")
        build.call(f"d{number}", "Bash", {"command": "cat it"})
        build.result(f"d{number}", case.text, toolUseResult={"stdout": case.text, "stderr": ""})
        build.answer("done")
    name = "eeeeeeee-5555-4555-8555-555555555555"
    shelf.add(name, build)
    library = shelf.open()
    cursor, text = "", ""
    while True:
        given = {"session": name, "results": "full", "max_tokens": 20_000, "cursor": cursor}
        answer = call_tool(library, "get_turns", given).text
        text += answer
        if not (cursor := answer.partition('cursor "')[2].partition('"')[0]):
            break
    library.close()
    secrets = [secret for case in EVERYDAY for secret in case.secrets]
    leaks = [secret for secret in secrets if secret in text]
    assert len(leaks) <= len(secrets) // 50, leaks


def test_a_secret_that_is_added_later_is_removed_from_earlier_text(shelf: Shelf, library: SessionLibrary) -> None:
    word = "Kd83mNq0zPw7"
    build = Build()
    build.prompt(f"hello {word} again")
    build.answer("fine")
    name = "ffffffff-6666-4666-8666-666666666666"
    path = shelf.add(name, build)
    assert word in call_tool(library, "get_turns", {"session": name}).text
    build.answer(f"export API_TOKEN={word}")
    with path.open("ab") as file:
        file.write(build.data().splitlines(keepends=True)[-1])
    for tool in ("get_turns", "get_session", "list_sessions"):
        given = {} if tool == "list_sessions" else {"session": name}
        assert word not in call_tool(library, tool, given).text
