"""Words of megabytes and answers of thousands of calls: what a page contains of them, and how it is divided."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from tests.session.build import SESSION, Build, encode_lines, outcome, use
from tests.web.conftest import Folders, Server, record_folders, start_indexed
from turnlog.render.jinja_templates import MAX_ATTRIBUTE_CHARS
from turnlog.render.text_folds import MAX_DIFF_LINES, MAX_SHOWN_CHARS, MAX_TEXT_CHARS

if TYPE_CHECKING:
    from playwright.sync_api import Page

WORDS, CALLS, CHANGE = (f"eeeeeeee-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))
WORD = "w" * 600_000
CALL_COUNT = 500
FINISHED_AGENT = {
    "status": "completed", "agentId": "a000001", "agentType": "general-purpose-reviewer", "totalDurationMs": 754_000,
    "totalTokens": 1_234_567, "totalToolUseCount": 123,
}  # fmt: skip
MOST_TEXT_CHARS = int(MAX_SHOWN_CHARS * 1.25)
"""The most that is shown in one piece: the part before a fold, which is as long as folding isn't worth it."""


def name_everything() -> Build:
    """A session in which every string that a page shows is one long word."""
    build = Build()
    build.prompt(WORD, "p1", cwd=f"/{WORD}", gitBranch=WORD)
    build.answer({"type": "thinking", "thinking": WORD, "signature": "x"}, uuid="t1", model=WORD)
    results: list[tuple[str, dict[str, Any], Any]] = [
        ("Bash", {"command": WORD, "description": WORD}, WORD),
        ("Read", {"file_path": f"/{WORD}"}, WORD),
        ("Edit", {"file_path": "/a", "old_string": WORD, "new_string": f"{WORD}x"}, "ok"),
        ("Write", {"file_path": f"/{WORD}.py", "content": WORD}, "ok"),
        ("Grep", {"pattern": WORD}, WORD),
        ("Grep", {"pattern": "a", "output_mode": "content"}, f"{WORD}:3:{WORD}"),
        ("mcp__a__b", {"k": WORD, WORD: "v"}, json.dumps({"a": WORD, WORD: [WORD]})),
        ("Agent", {"description": WORD, "prompt": WORD, "subagent_type": WORD}, WORD),
        ("WebFetch", {"url": f"https://{WORD}", "prompt": WORD}, WORD),
        ("TodoWrite", {"todos": [{"content": WORD, "status": "pending", "activeForm": WORD}]}, "ok"),
        ("AskUserQuestion", {"questions": [{"question": WORD, "options": [{"label": WORD}]}]}, WORD),
        (WORD, {"a": 1}, "x"),
    ]  # fmt: skip
    for number, (name, given, result) in enumerate(results):
        build.call(f"c{number}", name, given, uuid=f"c-{number}")
        extra = {"toolUseResult": FINISHED_AGENT} if name == "Agent" else {}
        build.result(f"c{number}", result, uuid=f"r-{number}", error=number == 0, **extra)
    for number, text in enumerate((WORD, f"```\n{WORD}\n```", f"| a |\n|---|\n| {WORD} |", f"[x](https://{WORD})")):
        build.answer(text, uuid=f"b-{number}")
    for kind, field in (("custom-title", "customTitle"), ("tag", "tag"), ("summary", "summary"), ("odd", "odd")):
        build.note(kind, **{field: WORD})
    return build


def call_at_once() -> Build:
    build = Build()
    build.prompt("Many calls", "p1")
    uses = [use(f"a{n}", "Bash", {"command": f"echo {n}"}) for n in range(CALL_COUNT)]
    build.answer(*uses, stop="tool_use", uuid="many")
    build.prompt([outcome(f"a{n}", f"{n}\n", None) for n in range(CALL_COUNT)])
    return build


def change_thousands_of_lines() -> Build:
    build = Build()
    build.prompt("Replace all", "p1")
    old, new = ("\n".join(f"{sign} = {n}  # {'x' * 90}" for n in range(6000)) for sign in "ab")
    build.call("e1", "Edit", {"file_path": "/a.py", "old_string": old, "new_string": new})
    build.result("e1", "ok")
    return build


@pytest.fixture(scope="module")
def long_folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    found = record_folders(tmp_path_factory.mktemp("long"), ("2.1.325/plain",))
    for uuid, build in ((WORDS, name_everything()), (CALLS, call_at_once()), (CHANGE, change_thousands_of_lines())):
        own = encode_lines(build.lines).replace(SESSION.encode(), uuid.encode())
        found.add(uuid, own.replace(b"msg-", f"msg-{uuid}-".encode()))
    return found


@pytest.fixture
def folders(long_folders: Folders) -> Folders:
    return long_folders


@pytest.mark.parametrize(
    "path",
    ["/", "/live", "/prompts", "/insights?range=all", "/insights/sessions", "/rail", "/search?q=hello", "/replay/{}",
     "/s/{}", "/live/{}", "/api/palette?q=w", "/compare?left={}&right=" + CALLS],
)  # fmt: skip
def test_no_text_and_no_attribute_of_a_page_is_longer_than_a_browser_lays_out_at_once(
    client: TestClient, path: str
) -> None:
    answer = client.get(path.format(WORDS))
    assert answer.status_code == 200
    assert "www" in answer.text or "search" in path or "live" in path
    longest = max(re.findall("w+", re.sub(' data-copy="[^"]*"', "", answer.text)), key=len, default="")
    assert len(longest) <= MOST_TEXT_CHARS
    attributes = re.findall(r'(?<! data-copy)="([^"]*)"', answer.text)
    assert max(map(len, attributes), default=0) <= MAX_ATTRIBUTE_CHARS


def test_an_answer_of_many_calls_is_divided_into_groups(client: TestClient) -> None:
    page = client.get(f"/live/{CALLS}").text
    _, *groups = page.split('<div class="chunk">')
    assert len(groups) > 5
    assert max(group.count('<details class="card') for group in groups) <= 50
    assert page.count('<details class="card') == CALL_COUNT


def test_a_change_of_thousands_of_lines_says_how_many_are_left_out(client: TestClient) -> None:
    page = client.get(f"/s/{CHANGE}").text
    assert page.count("<tr") < 3 * MAX_DIFF_LINES
    assert "more lines, in the raw entry" in page


# -- in a browser


@pytest.fixture(scope="module")
def server(long_folders: Folders) -> Iterator[Server]:
    found = start_indexed(long_folders)
    yield found
    found.stop()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 390])
def test_with_everything_unfolded_no_word_widens_the_page(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for path in (f"/s/{WORDS}", "/", "/prompts", "/insights?range=all", f"/live/{WORDS}", f"/replay/{WORDS}"):
        page.goto(path)
        page.wait_for_load_state("networkidle")
        page.evaluate("for (const part of document.querySelectorAll('main details:not(.agent)')) part.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


@pytest.mark.slow
def test_code_in_pieces_is_copied_as_it_was(page: Page) -> None:
    page.goto(f"/s/{WORDS}")
    page.locator("article:has(#c-c3) + .item-rest [data-rest=item]").click()
    page.locator("article:has(#c-c3) + .item-rest").wait_for(state="detached")
    card = page.locator("#c-c3")
    card.locator("details.fold > summary").first.click()
    card.locator("button.copy").first.evaluate("button => button.click()")
    page.get_by_text("Copied.", exact=True).wait_for()
    field = page.get_by_label("Search all sessions")
    field.press("ControlOrMeta+V")
    assert field.input_value().startswith("w" * MAX_TEXT_CHARS)
