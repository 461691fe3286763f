"""A call has the same title on every surface that names it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.agent.test_screen import Paper
from tests.render.cards import UNANSWERED, build_views, card
from tests.session.build import Build, use
from tests.session.test_any import values
from turnlog.agent.console.turn_display import TurnDisplay
from turnlog.agent.events import CallStarted, EntryWritten
from turnlog.cli.show.messages import render_api_messages
from turnlog.cli.show.story import SessionStory
from turnlog.entries.reader import scan_lines
from turnlog.live.activity import Activity
from turnlog.render.call_titles import MAX_TITLE_CHARS, build_call_title
from turnlog.render.html import HtmlWriter
from turnlog.render.terminal import TerminalScreen, make_visible
from turnlog.render.text import render_text
from turnlog.render.view import AnswerView
from turnlog.session.calls import TOOL_FAMILIES
from turnlog.session.session import Session

FOLDER = "/home/dana/webshop"

TITLES: list[tuple[str, Any, str]] = [
    ("Agent", {"description": "Count files", "prompt": "Count them", "subagent_type": "Explore"}, "Count files"),
    ("AgentOutputTool", {"agentId": "a1"}, "a1"),
    ("Artifact", {"file_path": f"{FOLDER}/page.html", "description": "The page"}, "page.html"),
    ("AskUserQuestion", {"questions": [{"question": "Which one?", "header": "One"}]}, "Which one?"),
    ("AskUserQuestion", {"questions": ["odd"]}, "a question"),
    ("Bash", {"command": "make test", "description": "Run the tests"}, "make test"),
    ("Bash", {"command": "cd /x\nmake\nmake test"}, "cd /x (+2 lines)"),
    ("Bash", {"command": f"{FOLDER}/run.sh"}, f"{FOLDER}/run.sh"),
    ("Bash", {"command": "x" * 300}, "x" * 199 + "…"),
    ("Bash", {"command": "\n\n  a\t b  \r\nc\n"}, "a b (+1 line)"),
    ("BashOutput", {"bash_id": "b1", "filter": "x"}, "b1"),
    ("CronCreate", {"cron": "0 9 * * *", "prompt": "look"}, "look"),
    ("CronDelete", {"id": "c1"}, "id=c1"),
    ("CronList", {}, ""),
    ("Edit", {"file_path": f"{FOLDER}/src/a.py", "old_string": "a", "new_string": "b"}, "src/a.py"),
    ("EnterPlanMode", {}, "plan before making changes"),
    ("EnterWorktree", {"name": "fix"}, "fix"),
    ("ExitPlanMode", {"plan": "# Discounts\n\n1. Add"}, "Discounts"),
    ("ExitPlanMode", {}, "a plan"),
    ("ExitWorktree", {"action": "keep"}, "action=keep"),
    ("Glob", {"pattern": "**/*.py", "path": f"{FOLDER}/src"}, "**/*.py in src"),
    ("Grep", {"pattern": "a+", "path": f"{FOLDER}/shop", "output_mode": "content"}, "a+ in shop"),
    ("Grep", {"pattern": "a\nb"}, "a b"),
    ("KillBash", {"shell_id": "b1"}, "b1"),
    ("KillShell", {"shell_id": "b1"}, "b1"),
    ("LS", {"path": f"{FOLDER}/src"}, "src"),
    ("LSP", {"operation": "hover", "filePath": f"{FOLDER}/a.py", "line": 3}, "hover a.py:3"),
    ("ListAgents", {}, ""),
    ("ListMcpResourcesTool", {}, "all servers"),
    ("ListMcpResourcesTool", {"server": "just"}, "just"),
    ("Monitor", {"command": "tail -f x", "description": "the log"}, "the log"),
    ("Monitor", {"ws": {"url": "wss://example.com"}}, "wss://example.com"),
    ("MultiEdit", {"file_path": f"{FOLDER}/a.py", "edits": [{}]}, "a.py"),
    ("NotebookEdit", {"notebook_path": f"{FOLDER}/n.ipynb", "new_source": "1"}, "n.ipynb"),
    ("NotebookRead", {"notebook_path": f"{FOLDER}/n.ipynb"}, "n.ipynb"),
    ("PowerShell", {"command": "dir"}, "dir"),
    ("REPL", {"code": "1 + 1"}, "1 + 1"),
    ("Read", {"file_path": f"{FOLDER}/a.py", "limit": 3}, "a.py"),
    ("Read", {"file_path": "/etc/hosts"}, "/etc/hosts"),
    ("ReadMcpResourceTool", {"server": "just", "uri": "file:///c.json"}, "just › file:///c.json"),
    ("ScheduleWakeup", {"delaySeconds": 60, "reason": "the build", "prompt": "look"}, "the build"),
    ("SendMessage", {"to": "lead", "summary": "done", "message": "all of it"}, "to lead: done"),
    ("SendUserFile", {"files": ["/a.png", "/b.png"]}, "/a.png, /b.png"),
    ("Skill", {"skill": "commit", "args": "-m x"}, "commit -m x"),
    ("SlashCommand", {"command": "/review 3"}, "/review 3"),
    ("StructuredOutput", {"due": [1]}, "a structured answer"),
    ("Task", {"description": "Count files", "prompt": "Count them"}, "Count files"),
    ("Task", {"prompt": "Count them.\nAll."}, "Count them. (+1 line)"),
    ("TaskCreate", {"subject": "Add discount", "description": "all of it"}, "Add discount"),
    ("TaskGet", {"taskId": "3"}, "#3"),
    ("TaskList", {}, "all tasks"),
    ("TaskOutput", {"task_id": "b1", "block": True}, "b1"),
    ("TaskStop", {"task_id": "b1"}, "b1"),
    ("TaskUpdate", {"taskId": "3", "status": "completed"}, "#3: completed"),
    ("TaskUpdate", {"taskId": 3, "subject": "Add"}, "#3 Add"),
    ("TaskUpdate", {}, "a task"),
    ("TeamCreate", {"team_name": "shop"}, "team_name=shop"),
    ("TeamDelete", {}, ""),
    ("TodoRead", {}, ""),
    ("TodoWrite", {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]}, "b"),
    ("TodoWrite", {"todos": [1]}, "1 task"),
    ("ToolSearch", {"query": "select:WebFetch"}, "select:WebFetch"),
    ("WebFetch", {"url": "https://example.com", "prompt": "what?"}, "https://example.com"),
    ("WebSearch", {"query": "fruit"}, "fruit"),
    ("Workflow", {"script": "run()", "name": "review"}, "review"),
    ("Write", {"file_path": f"{FOLDER}/a.md", "content": "x"}, "a.md"),
    ("mcp__shop__order", {"id": 7, "dry": True, "deep": {"a": 1}}, "id=7, dry=yes, deep=1 field"),
    ("mcp__shop__find", {"query": "pears\nplums"}, "pears (+1 line)"),
    ("Strange", {"text": "a\x1b[31m\u202eb"}, "a\x1b[31m\u202eb"),
    ("Strange", {"a": "x" * 100, "b": None}, "a=" + "x" * 59 + "…, b=none"),
    ("Strange", [1], "1 item"),
    ("Strange", "text", "text"),
    ("Bash", ["ls"], "1 item"),
    ("Bash", {"command": ["ls"]}, "command=1 item"),
    ("", {"command": "x"}, "x"),
]  # fmt: skip


def read_show_title(name: str, given_: Any) -> str:
    lines = SessionStory(open_session(name, given_), TerminalScreen()).render_turn
    return read_line_title(list(lines(open_session(name, given_).turns[0])), "  ● ", name or "(no name)")


def read_messages_title(name: str, given_: Any) -> str:
    sent = [{"role": "assistant", "content": [use("c1", name, given_)]}]
    return read_line_title(list(render_api_messages(sent, {"c1": FOLDER}, TerminalScreen())), "● ", name)


def read_live_title(name: str, given_: Any) -> str:
    found = Activity().add_all(scan_lines(io.BytesIO(build_call(name, given_).data())))
    return make_visible(found.calls["c1"].about)


def read_console_title(name: str, given_: Any) -> str:
    paper = Paper(width=None)
    display = TurnDisplay(paper.screen, "/home/dana")
    display.watch(EntryWritten({"cwd": FOLDER}))  # a command has changed the folder since the console started
    display.watch(CallStarted("c1", name, given_))
    return read_line_title(paper.text.splitlines(), "● ", name)


def read_card_title(name: str, given_: Any) -> str:
    return make_visible(card(name, given_).title)


def read_open_card_title(name: str, given_: Any) -> str:
    return make_visible(card(name, given_, UNANSWERED).title)


SURFACES: dict[str, Callable[[str, Any], str]] = {
    "show": read_show_title,
    "messages": read_messages_title,
    "live": read_live_title,
    "console": read_console_title,
    "card": read_card_title,
    "card of an open call": read_open_card_title,
}


def build_call(name: str, given_: Any) -> Build:
    build = Build()
    build.prompt()
    build.call("c1", name, given_)
    return build


def open_session(name: str, given_: Any) -> Session:
    return build_call(name, given_).session()


def read_line_title(lines: list[str], bullet: str, name: str) -> str:
    start = f"{bullet}{make_visible(name)}".rstrip()
    (found,) = [line for line in lines if line == start or line.startswith(f"{start} ")]
    return found.removeprefix(start).strip(" ")


def is_shown(surface: str, name: str, given_: Any) -> bool:
    """The console asks a question instead of naming these calls, and refuses what is no object before that."""
    return surface != "console" or (name not in ("AskUserQuestion", "ExitPlanMode") and isinstance(given_, dict))


@pytest.mark.parametrize(("name", "given_", "title"), TITLES)
def test_every_surface_gives_a_call_the_same_title(name: str, given_: Any, title: str) -> None:
    found = {surface: read(name, given_) for surface, read in SURFACES.items() if is_shown(surface, name, given_)}
    assert found == dict.fromkeys(found, make_visible(title))


def test_a_call_without_an_input_has_no_title() -> None:
    assert build_call_title("Strange", None) == ""


def test_the_table_names_every_known_tool() -> None:
    known = {name for names in TOOL_FAMILIES.values() for name in names}
    assert known <= {name for name, _, _ in TITLES}


@pytest.mark.parametrize(("name", "given_", "title"), [row for row in TITLES if row[2].isprintable()])
def test_exports_show_the_title_of_the_card(name: str, given_: Any, title: str) -> None:
    (view,) = [view for view in build_views(open_session(name, given_)) if isinstance(view, AnswerView)]
    html = str(HtmlWriter(lambda _: None).write_view(view))
    titles = re.findall(r'<span class="title">(.*?)</span>', html)
    assert [unescape(found) for found in titles] == [title]
    assert any(f"* {name} {title}".rstrip() in line for line in render_text(view).splitlines())


fields = st.sampled_from(
    "command file_path path pattern url query subject description skill plan message prompt todos questions question "
    "status taskId to args ws files line operation server uri odd".split()
)
texts = st.text(max_size=40) | st.just("a\nb") | st.just(f"{FOLDER}/x") | st.text("x", min_size=300, max_size=301)
inputs = st.dictionaries(fields | st.text(max_size=5), values | texts | st.lists(values, max_size=2), max_size=5)
tools = st.sampled_from([*sorted({name for name, _, _ in TITLES}), "mcp__", "mcp__a__b"])


@example("Bash", {"command": " "})
@example("Grep", {"pattern": "x" * 300, "path": "y" * 300})
@example("TaskUpdate", {"taskId": None, "status": {}})
@given(tools, inputs | values.filter(lambda value: value is not None))
def test_any_input_has_one_title_on_all_surfaces(name: str, given_: Any) -> None:
    assume("Infinity" not in json.dumps(given_) and "NaN" not in json.dumps(given_))  # such a line is no entry
    title = build_call_title(name, given_, FOLDER)
    assert len(title) <= MAX_TITLE_CHARS
    assert len(title.splitlines()) <= 1
    for surface in ("messages", "live", "console", "card"):
        if is_shown(surface, name, given_):
            assert SURFACES[surface](name, given_) == make_visible(title).strip(" "), surface
