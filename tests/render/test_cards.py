"""Cards: what is shown of the calls of each tool, in the shapes that its inputs and results have had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.render.cards import UNANSWERED, build_views, card, cards, recorded_sessions
from tests.session.build import Build, find_recording, genuine
from tests.session.test_any import scalars, values
from turnlog.entries.format import load_format
from turnlog.render.card import (
    AgentSection,
    Card,
    ChecklistSection,
    ChecklistTask,
    CodeSection,
    DiffSection,
    FieldsSection,
    HitsSection,
    LinkSection,
    Picture,
    PlainSection,
    QuestionChoice,
    QuestionsSection,
    Section,
    TerminalSection,
    TextSection,
    TreeSection,
)  # fmt: skip
from turnlog.render.tools import PART_BUILDERS, CallPlace, CardSource
from turnlog.render.tools import build_card as made
from turnlog.session.calls import TOOL_FAMILIES, CallDetail
from turnlog.session.files.patches import Hunk
from turnlog.session.session import Session

PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected. "


def kinds(sections: tuple[Section, ...]) -> list[type]:
    return [type(section) for section in sections]


# -- outcomes


def test_a_card_has_the_place_of_call_and_result_and_the_time_between_them() -> None:
    build = Build(step=2)
    build.prompt()
    build.call("c1", "Bash", {"command": "ls"})
    build.result("c1", "a")
    session = build.session()
    (found,) = cards(build_views(session))
    _, call, result = (entry.offset for entry in session.entries)
    assert (found.offset, found.result_offset, found.duration_ms) == (call, result, 2000)
    assert (found.id, found.tool, found.family, found.outcome) == ("c1", "Bash", "running", "answered")


def test_an_error_is_told_without_the_clients_tags() -> None:
    found = card("Read", {"file_path": "/x"}, "<tool_use_error>File does not exist.</tool_use_error>", error=True)
    assert (found.outcome, found.answered) == ("error", (PlainSection("File does not exist.", "", "error"),))


def test_a_refusal_is_told_in_the_words_of_the_person() -> None:
    silent = card("Edit", {"file_path": "/x", "old_string": "a", "new_string": "b"}, REJECTED + "STOP.", error=True)
    assert (silent.outcome, silent.answered) == (
        "denied",
        (PlainSection("The user denied it.", "Denied", "warning"),),
    )
    assert kinds(silent.asked) == [DiffSection]
    said = REJECTED + "To tell you how to proceed, the user said:\nuse a switch"
    note = "\n\nNote: The user's next message may contain a correction."
    for words in (said, said + note):
        found = card("Bash", {"command": "x"}, words, error=True)
        assert found.answered == (PlainSection("use a switch", "Denied", "warning"),)


def test_an_interruption_is_told_with_what_there_was() -> None:
    words = "Exit code 137\npart of it\n[Request interrupted by user for tool use]"
    found = card("Bash", {"command": "sleep 9"}, words, error=True)
    assert (found.outcome, found.badges) == ("interrupted", ("exit 137",))
    assert found.answered == (
        TerminalSection("part of it"),
        PlainSection("The user stopped it.", "Interrupted", "warning"),
    )
    other = card("Task", {"prompt": "look"}, "[Request interrupted by user for tool use]", error=True)
    assert other.answered == (PlainSection("The user stopped it.", "Interrupted", "warning"),)


@pytest.mark.parametrize("name", [*PART_BUILDERS, "mcp__a__b", "Unknown"])
def test_a_call_without_a_result_says_nothing_of_one(name: str) -> None:
    found = card(name, {"command": "ls", "query": "x", "pattern": "x", "plan": "x"}, UNANSWERED)
    assert (found.outcome, found.answered, found.result_offset) == ("unanswered", (), None)


# -- commands


def test_a_command_shows_both_streams_apart() -> None:
    record = {"stdout": "\x1b[32mok\x1b[0m\n", "stderr": "careful", "interrupted": False, "isImage": False}
    found = card("Bash", {"command": "make\ntest", "description": "Run the tests"}, "ok\ncareful", record)
    assert found.title == "make (+1 line)"
    assert found.asked == (CodeSection("make\ntest", "bash", "Run the tests"),)
    assert found.answered == (TerminalSection("\x1b[32mok\x1b[0m"), TerminalSection("careful", "error"))


def test_the_exit_code_of_a_command_is_a_badge() -> None:
    found = card("Bash", {"command": "false"}, "Exit code 3\n1 failed", "Error: Exit code 3\n1 failed", error=True)
    assert (found.badges, found.answered) == (("exit 3",), (TerminalSection("1 failed"),))
    hook = card("Bash", {"command": "rm"}, "PreToolUse:Bash hook error: forbidden", error=True)
    assert hook.answered == (PlainSection("PreToolUse:Bash hook error: forbidden", "", "error"),)


def test_a_command_in_the_background_says_so_and_where_its_output_goes() -> None:
    words = "Command running in background with ID: b1. Output is being written to: /tmp/b1"
    record = {"stdout": "", "stderr": "", "backgroundTaskId": "b1"}
    found = card("Bash", {"command": "serve", "run_in_background": True}, words, record)
    assert (found.outcome, found.badges, found.answered) == (
        "launched",
        ("in background",),
        (PlainSection(words, "", "note"),),
    )


def test_an_output_that_was_too_long_says_where_all_of_it_is() -> None:
    words = (
        "<persisted-output>\nOutput too large (2KB). Full output saved to: /r/x.txt\n\nPreview:\na\n</persisted-output>"
    )
    record = {"stdout": "a", "stderr": "", "persistedOutputPath": "/r/x.txt", "persistedOutputSize": 2048}
    found = card("Bash", {"command": "seq 9"}, words, record)
    assert found.badges == ("2 KB",)
    assert found.answered == (TerminalSection("a"), PlainSection("The full output is in /r/x.txt", "", "note"))
    old = card("Bash", {"command": "seq 9"}, words)
    assert isinstance(old.answered[0], TerminalSection)
    assert "persisted-output" not in old.answered[0].text


def test_what_a_command_did_to_git_and_to_files_is_shown() -> None:
    hunk = {"oldStart": 0, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+x"]}
    record = {
        "stdout": "",
        "stderr": "",
        "gitOperation": {"commit": {"sha": "abcdef0123456789"}, "pr": {"number": 5}},
        "bashEditDiff": {"files": [{"filePath": "/a", "created": True, "hunks": [hunk]}]},
        "timedOutAfterMs": 5,
        "returnCodeInterpretation": "No matches found",
    }
    found = card("Bash", {"command": "x"}, "", record)
    assert found.badges == ("timed out", "no matches found", "commit abcdef012345", "PR 5")
    assert found.answered == (DiffSection("/a", (Hunk(0, 1, ("+x",)),), True),)


def test_a_command_that_printed_an_image_shows_it() -> None:
    record = {"stdout": "data:image/png;base64,iVBORw0KGgo=", "stderr": "", "isImage": True}
    found = card("Bash", {"command": "plot"}, [PNG], record)
    assert kinds(found.answered) == [Picture]


def test_powershell_is_a_shell_too() -> None:
    assert card("PowerShell", {"command": "ls"}).asked == (CodeSection("ls", "powershell"),)


@pytest.mark.parametrize(
    ("name", "given_", "result", "record"),
    [
        (
            "BashOutput",
            {"bash_id": "b1"},
            "x",
            {"command": "serve", "status": "running", "stdout": "up\n", "stderr": ""},
        ),
        ("BashOutput", {"bash_id": "b1"}, "<status>running</status>\n\n<stdout>\nup\n</stdout>", None),
        ("TaskOutput", {"task_id": "b1"}, "x", {"task": {"status": "running", "output": "up", "description": "serve"}}),
    ],
)
def test_the_output_of_a_background_task_is_shown(name: str, given_: Any, result: str, record: Any) -> None:
    found = card(name, given_, result, record)
    about = ("serve",) if record else ()
    assert (found.title, found.badges) == ("b1", (*about, "running"))
    assert found.answered == (TerminalSection("up"),)


def test_a_background_task_that_printed_nothing_says_so_and_errors_stand_apart() -> None:
    silent = card("TaskOutput", {"task_id": "b1"}, "x", {"task": {"status": "completed", "output": "", "exitCode": 0}})
    assert (silent.badges, silent.answered) == (
        ("completed", "exit 0"),
        (PlainSection("No output.", "", "note"),),
    )
    failed = card("BashOutput", {"bash_id": "b1"}, "<status>failed</status><stderr>no</stderr><exit_code>2</exit_code>")
    assert (failed.badges, failed.answered) == (("failed", "exit 2"), (TerminalSection("no", "error"),))
    task = {"status": "completed", "result": "## Done\n\n**all**"}
    assert card("TaskOutput", {"task_id": "a1"}, "x", {"task": task}).answered == (TextSection("## Done\n\n**all**"),)


def test_stopping_a_task_tells_the_sentence_and_not_the_record() -> None:
    message = json.dumps({"message": "Stopped b1", "task_id": "b1"})
    assert card("TaskStop", {"task_id": "b1"}, message).answered == (PlainSection("Stopped b1"),)
    assert card("KillShell", {"shell_id": "b1"}, message, {"message": "Stopped b1"}).title == "b1"


def test_monitor_and_repl_show_their_code() -> None:
    watch = card("Monitor", {"command": "tail -f x", "description": "the log"}, "Monitor started")
    assert (watch.title, watch.asked) == ("the log", (CodeSection("tail -f x", "bash", "the log"),))
    assert card("REPL", {"code": "1 + 1"}, "2").asked == (CodeSection("1 + 1", "javascript"),)


# -- files


def test_read_shows_the_lines_of_the_file_without_the_clients_numbers() -> None:
    file = {"filePath": "/home/dana/webshop/a.py", "content": "x = 1\ny = 2", "startLine": 5, "numLines": 2}
    record = {"type": "text", "file": {**file, "totalLines": 90}}
    for extra in (record, None):
        found = card("Read", {"file_path": "/home/dana/webshop/a.py", "offset": 5}, "     5→x = 1\n     6→y = 2", extra)
        assert found.title == "a.py"
        assert found.answered == (CodeSection("x = 1\ny = 2", "/home/dana/webshop/a.py", "", 5),)
    assert card("Read", {"file_path": "/a"}, "", record).badges == ("lines 5–6 of 90",)
    assert found.badges == ("2 lines",)


def test_read_shows_what_other_programs_wrote_without_numbers() -> None:
    assert card("Read", {"file_path": "m.py"}, "def main(): pass").answered == (
        CodeSection("def main(): pass", "m.py"),
    )


def test_read_shows_images_documents_and_notebooks() -> None:
    image = card("Read", {"file_path": "/a.png"}, [PNG], {"type": "image", "file": {"base64": "x", "originalSize": 70}})
    assert image.answered == (Picture("image", "image/png", "iVBORw0KGgo=", "/a.png", image.result_offset or 0, 0),)
    assert image.badges == ("70 B",)
    pdf = card("Read", {"file_path": "/a.pdf"}, "read", {"type": "pdf", "file": {"base64": "JVBERi0="}})
    assert [section.media_type for section in pdf.answered if isinstance(section, Picture)] == ["application/pdf"]
    cells = [
        {"cellType": "code", "source": ["x = 1\n", "x"], "outputs": [{"output_type": "stream", "text": "1"}]},
        {"cellType": "markdown", "source": "# Hi", "cell_id": "bb"},
    ]
    notebook = card("Read", {"file_path": "/n.ipynb"}, "…", {"type": "notebook", "file": {"cells": cells}})
    assert notebook.answered == (
        CodeSection("x = 1\nx", "python", "cell 1"),
        TerminalSection("1"),
        TextSection("# Hi", "bb"),
    )


def test_pages_of_a_pdf_are_pictures_or_named_by_their_folder() -> None:
    parts = {"type": "parts", "file": {"outputDir": "/tmp/pages", "count": 2}}
    found = card("Read", {"file_path": "/a.pdf", "pages": "1-2"}, "PDF pages extracted", parts)
    assert found.badges == ("pages 1-2",)
    assert found.answered == (PlainSection("Its pages were saved as images in /tmp/pages", "", "note"),)
    pages = {**parts, "pages": [{"base64": "aaaa", "mediaType": "image/jpeg"}, {"error": "no"}]}
    shown_ = card("Read", {"file_path": "/a.pdf"}, "PDF pages extracted", pages).answered
    assert [section.media_type for section in shown_ if isinstance(section, Picture)] == ["image/jpeg"]


def test_an_empty_file_is_told_to_be_empty() -> None:
    record = {"type": "text", "file": {"content": "", "numLines": 0, "startLine": 1, "totalLines": 0}}
    found = card("Read", {"file_path": "/e"}, "<system-reminder>empty</system-reminder>", record)
    assert found.answered == (PlainSection("The file is empty.", "", "note"),)


def test_a_new_file_is_a_difference_from_nothing() -> None:
    record: dict[str, Any] = {
        "type": "create",
        "filePath": "/a",
        "content": "x\ny\n",
        "structuredPatch": [],
        "originalFile": None,
    }
    found = card("Write", {"file_path": "/a", "content": "x\ny\n"}, "File created", record)
    assert found.answered == (DiffSection("/a", (Hunk(0, 1, ("+x", "+y")),), True),)
    assert (found.asked, found.badges) == ((), ("+2", "new file"))


def test_a_file_written_anew_is_the_difference_to_the_one_before() -> None:
    record = {"type": "update", "content": "x\nz\n", "structuredPatch": [], "originalFile": "x\ny\n"}
    found = card("Write", {"file_path": "/a", "content": "x\nz\n"}, "updated", record)
    assert found.answered == (DiffSection("/a", (Hunk(1, 1, (" x", "-y", "+z")),)),)
    assert found.badges == ("+1 −1",)


def test_a_file_whose_former_content_nobody_knows_is_shown_as_it_was_written() -> None:
    found = card("Write", {"file_path": "/a.py", "content": "x"}, "File written")
    assert (found.asked, found.answered) == ((CodeSection("x", "/a.py"),), (PlainSection("File written"),))


def test_an_edit_is_the_patch_that_the_client_recorded() -> None:
    patch = [{"oldStart": 7, "oldLines": 1, "newStart": 7, "newLines": 2, "lines": ["-a", "+b", "+c"]}]
    record = {"filePath": "/a", "structuredPatch": patch, "originalFile": None, "userModified": True}
    given_ = {"file_path": "/a", "old_string": "a", "new_string": "b\nc", "replace_all": True}
    found = card("Edit", given_, "updated", record)
    assert found.answered == (DiffSection("/a", (Hunk(7, 7, ("-a", "+b", "+c")),)),)
    assert found.badges == ("+2 −1", "changed by the user", "everywhere")


def test_an_edit_without_a_record_is_the_difference_of_its_strings() -> None:
    (diff,) = card("Edit", {"file_path": "/a", "old_string": "x\na", "new_string": "x\nb"}, "updated").asked
    assert isinstance(diff, DiffSection)
    assert (diff.hunks, bool(diff.note)) == ((Hunk(1, 1, (" x", "-a", "+b")),), True)
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    (several,) = card("MultiEdit", {"file_path": "/a", "edits": edits}, "no such tool", error=True).asked
    assert isinstance(several, DiffSection)
    assert [hunk.lines for hunk in several.hunks] == [("-a", "+b"), ("-c", "+d")]


def test_a_cell_of_a_notebook_is_shown_as_such() -> None:
    given_ = {"notebook_path": "/n.ipynb", "cell_id": "aa", "new_source": "x = 3"}
    found = card("NotebookEdit", given_, "Updated", {"old_source": "x = 1", "new_source": "x = 3"})
    assert [section.hunks for section in found.answered if isinstance(section, DiffSection)] == [
        (Hunk(1, 1, ("-x = 1", "+x = 3")),)
    ]
    assert card("NotebookEdit", given_, "Updated", {"language": "r"}).answered == (CodeSection("x = 3", "r"),)
    assert found.badges == ("replace cell aa",)


# -- searches


def test_grep_shows_lines_with_their_files_and_numbers() -> None:
    words = "src/a-b.py:3:def total():\nsrc/a-b.py-4-    pass\n--\nC:\\x.py:9:total"
    record = {"mode": "content", "numFiles": 0, "filenames": [], "content": words, "numLines": 3}
    given_ = {"pattern": "total", "path": "/home/dana/webshop/src", "output_mode": "content", "-A": 1}
    for extra in (record, None):
        found = card("Grep", given_, words, extra)
        rows = (("src/a-b.py", "3", "def total():"), ("src/a-b.py", "4", "    pass"), ("C:\\x.py", "9", "total"))
        assert found.answered == (HitsSection(rows, 3),)
        assert (found.title, found.badges) == ("total in src", ("2 hits",))


def test_grep_in_one_file_shows_the_numbers_alone() -> None:
    record = {"mode": "content", "content": "74:\tif x\n75-\ty", "numLines": 2, "totalLines": 40, "appliedLimit": 2}
    found = card("Grep", {"pattern": "if", "path": "a.go", "output_mode": "content"}, "…", record)
    assert found.answered == (HitsSection((("a.go", "74", "\tif x"), ("a.go", "75", "\ty")), 40),)
    assert found.badges == ("1+ hits", "cut")


def test_grep_shows_files_and_counts() -> None:
    files = {"mode": "files_with_matches", "filenames": ["a", "b"], "numFiles": 2}
    for extra in (files, None):
        found = card("Grep", {"pattern": "x"}, "Found 2 files\na\nb", extra)
        assert (found.badges, found.answered) == (("2 files",), (HitsSection((("a", "", ""), ("b", "", "")), 2),))
    counts = {"mode": "count", "content": "a.py:3\nb.py:1", "numMatches": 4}
    found = card("Grep", {"pattern": "x", "output_mode": "count"}, "…", counts)
    assert found.answered == (HitsSection((("a.py", "", "3 matches"), ("b.py", "", "1 match")), 2),)


def test_a_search_without_hits_says_so() -> None:
    for words in ("No matches found", "No files found", ""):
        found = card("Grep", {"pattern": "x", "output_mode": "content"}, words)
        assert (found.badges, found.answered) == (("no hits",), (PlainSection("Nothing was found.", "", "note"),))


def test_glob_and_ls_show_files() -> None:
    record = {"filenames": ["a.py"], "numFiles": 1, "truncated": True, "totalMatches": 120}
    found = card("Glob", {"pattern": "*.py"}, "a.py", record)
    assert (found.answered, found.badges) == ((HitsSection((("a.py", "", ""),), 120),), ("120 files", "cut"))
    listing = card("LS", {"path": "/d"}, "- /d/\n  - sub/\n    - x.py\n  - y.py\n\nNOTE: do not read")
    assert listing.answered == (HitsSection((("/d/sub/", "", ""), ("/d/sub/x.py", "", ""), ("/d/y.py", "", "")), 3),)


def test_tools_that_were_looked_for_are_named() -> None:
    blocks = [{"type": "tool_reference", "tool_name": "WebFetch"}]
    found = card("ToolSearch", {"query": "select:WebFetch"}, blocks)
    assert (found.badges, found.answered) == (("1 tool",), (HitsSection((("WebFetch", "", ""),), 1),))


@pytest.mark.parametrize(
    ("content", "section"),
    [
        ({"type": "advisor_result", "text": "Do **less**."}, TextSection("Do **less**.")),
        (
            {"type": "advisor_redacted_result", "encrypted_content": "Eq…"},
            PlainSection("The advice is encrypted: only the API can read it.", "", "note"),
        ),
        (
            {"type": "advisor_tool_result_error", "error_code": "max_uses_exceeded"},
            PlainSection("max_uses_exceeded", "", "error"),
        ),
        ({"type": "advisor_thing"}, TreeSection({"type": "advisor_thing"})),
    ],
)
def test_an_advisor_says_who_it_is_what_it_used_and_what_it_advised(content: Any, section: Section) -> None:
    build = Build()
    advice = {"type": "advisor_message", "model": "claude-fable-5", "input_tokens": 1500, "output_tokens": 60}
    asked = {"type": "server_tool_use", "id": "s1", "name": "advisor", "input": {}}
    answer = {"type": "advisor_tool_result", "tool_use_id": "s1", "content": content}
    build.answer(asked, answer, "Done.", usage={"input_tokens": 1, "iterations": [{"type": "message"}, advice]})
    (found,) = cards(build_views(build.session()))
    assert (found.tool, found.title) == ("advisor", "")
    assert found.badges == ("claude-fable-5", "1,500 in", "60 out", "$0.018")
    assert found.answered == (section,)


def test_an_advisor_that_has_not_answered_shows_nothing() -> None:
    build = Build()
    build.answer({"type": "server_tool_use", "id": "s1", "name": "advisor", "input": {}})
    (found,) = cards(build_views(build.session()))
    assert (found.outcome, found.answered, found.badges) == ("unanswered", (), ())


def test_a_language_server_is_asked_about_a_place() -> None:
    given_ = {"operation": "hover", "filePath": "/home/dana/webshop/a.py", "line": 3}
    found = card("LSP", given_, "def total()", {"result": "def total()", "resultCount": 1})
    assert (found.title, found.badges, found.answered) == (
        "hover a.py:3",
        ("1 result",),
        (PlainSection("def total()"),),
    )


# -- the web


def test_a_page_shows_its_address_the_question_and_the_answer() -> None:
    record = {"code": 200, "codeText": "OK", "bytes": 14_503, "result": "**21**", "url": "https://example.com"}
    found = card("WebFetch", {"url": "https://example.com", "prompt": "Which?"}, "**21**", record)
    assert found.asked == (LinkSection("https://example.com"), PlainSection("Which?", "Question"))
    assert (found.answered, found.badges) == ((TextSection("**21**"),), ("200 OK", "15 KB"))


def test_a_web_search_shows_pages_as_links() -> None:
    pages = [{"title": "Fruit", "url": "https://example.com/f"}]
    record = {"query": "fruit", "results": [{"tool_use_id": "s", "content": pages}, "It says **so**."]}
    words = f'Web search results for query: "fruit"\n\nLinks: {json.dumps(pages)}\n\nIt says **so**.'
    for extra in (record, None):
        found = card("WebSearch", {"query": "fruit", "allowed_domains": ["example.com"]}, words, extra)
        assert found.answered == (LinkSection("https://example.com/f", "Fruit"), TextSection("It says **so**."))
        assert found.asked == (FieldsSection((("allowed domains", "example.com"),)),)
        assert found.badges == ("1 page",)


# -- plans and questions


def todo(content: str, status: str) -> dict[str, str]:
    return {"content": content, "status": status, "activeForm": content}


def test_a_list_of_tasks_shows_what_has_changed() -> None:
    old = [todo("a", "in_progress"), todo("b", "pending"), todo("gone", "pending")]
    new = [todo("a", "completed"), todo("b", "pending"), todo("c", "in_progress")]
    found = card("TodoWrite", {"todos": new}, "ok", {"oldTodos": old, "newTodos": new})
    tasks = (
        ChecklistTask("a", "completed", "changed"),
        ChecklistTask("b", "pending"),
        ChecklistTask("c", "in_progress", "new"),
        ChecklistTask("gone", "pending", "gone"),
    )
    assert (found.asked, found.title, found.badges) == ((ChecklistSection(tasks),), "c", ("1 of 3 done",))
    first = card("TodoWrite", {"todos": old}, "ok", {"oldTodos": [], "newTodos": old})
    assert [
        task.change for section in first.asked if isinstance(section, ChecklistSection) for task in section.tasks
    ] == [""] * 3


def test_a_list_without_a_record_is_compared_with_the_one_before_it() -> None:
    build = Build()
    build.prompt()
    build.call("c1", "TodoWrite", {"todos": [todo("a", "pending")]})
    build.result("c1")
    build.call("c2", "TodoWrite", {"todos": [todo("a", "completed")]})
    build.result("c2")
    _, second = cards(build_views(build.session()))
    assert second.asked == (ChecklistSection((ChecklistTask("a", "completed", "changed"),)),)


def test_tasks_are_known_by_their_number_and_subject() -> None:
    with Session.open(find_recording("2.1.325/misc")) as session:
        found = {made.tool: made for made in cards(build_views(session)) if made.tool.startswith("Task")}
    assert found["TaskCreate"].asked[0] == ChecklistSection((ChecklistTask("#2 Test it", "pending", "new"),))
    update = found["TaskUpdate"]
    assert (update.title, update.badges) == ("#1: completed", ("Add discount", "pending → completed"))
    assert update.asked == (ChecklistSection((ChecklistTask("#1 Add discount", "completed", "changed"),)),)
    tasks = (ChecklistTask("#1 Add discount", "completed"), ChecklistTask("#2 Test it", "pending"))
    assert (found["TaskList"].answered, found["TaskList"].badges) == ((ChecklistSection(tasks),), ("1 of 2 done",))


def test_a_task_without_a_record_is_read_from_the_text() -> None:
    listing = card("TaskList", {}, "#1 [completed] Add\n#2 [pending] Test")
    assert listing.answered == (
        ChecklistSection((ChecklistTask("#1 Add", "completed"), ChecklistTask("#2 Test", "pending"))),
    )
    made_ = card("TaskCreate", {"subject": "Add", "description": "all of it"}, "Task #7 created successfully: Add")
    assert (made_.title, made_.badges, made_.asked[1]) == ("Add", ("#7",), TextSection("all of it"))
    failed = card("TaskUpdate", {"taskId": "9"}, "…", {"success": False, "error": "Task not found"})
    assert failed.answered == (PlainSection("Task not found", "", "error"),)


def test_a_plan_is_shown_with_the_verdict() -> None:
    given_ = {"plan": "# Discounts\n\n1. Add", "planFilePath": "/p.md", "allowedPrompts": [{"prompt": "run tests"}]}
    found = card("ExitPlanMode", given_, "User has approved your plan.\nMore", {"planWasEdited": True})
    assert (found.title, found.badges) == ("Discounts", ("approved", "edited by the user"))
    assert found.asked[0] == TextSection("# Discounts\n\n1. Add", "Plan")
    assert found.answered == (PlainSection("User has approved your plan.", "", "note"),)
    refused = card("ExitPlanMode", given_, REJECTED + "the user said:\nsmaller", error=True)
    assert (refused.badges, refused.answered) == ((), (PlainSection("smaller", "Denied", "warning"),))


def test_questions_have_their_options_and_answers() -> None:
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    given_ = {"questions": [{"question": "Colour?", "header": "C", "options": options, "multiSelect": True}]}
    record = {"answers": {"Colour?": "Red, Blue"}, "annotations": {"Colour?": {"notes": "mix"}}}
    words = 'User has answered your questions: "Colour?"="Red, Blue". You can now continue.'
    choice = QuestionChoice("Colour?", (("Red", "warm"), ("Blue", "cold")), ("Red", "Blue"))
    found = card("AskUserQuestion", given_, words, record)
    assert (found.title, found.asked) == ("Colour?", (QuestionsSection((choice,)),))
    assert found.answered == (FieldsSection((("Colour?", "mix"),)),)
    assert card("AskUserQuestion", given_, words).asked == (QuestionsSection((choice,)),)
    own = card("AskUserQuestion", given_, "…", {"answers": {"Colour?": "Green, I think"}}).asked[0]
    assert isinstance(own, QuestionsSection)
    assert own.choices[0].answers == ("Green, I think",)


# -- agents


def test_an_agent_shows_its_prompt_its_numbers_and_its_report() -> None:
    record = {
        "status": "completed", "agentId": "a1", "content": [{"type": "text", "text": "Two **files**."}],
        "totalDurationMs": 526, "totalTokens": 141, "totalToolUseCount": 1,
    }  # fmt: skip
    result = [{"type": "text", "text": "Two **files**."}, {"type": "text", "text": "agentId: a1 (for resuming)"}]
    given_ = {"description": "Count", "prompt": "Count them", "subagent_type": "Explore"}
    found = card("Task", given_, result, record)
    assert (found.title, found.badges, found.agent_id) == ("Count", ("Explore",), "a1")
    assert found.asked == (TextSection("Count them", "Prompt"),)
    assert found.answered == (
        AgentSection("a1", "Explore", "Count", 1, 141, 526),
        TextSection("Two **files**.", "Report"),
    )
    without = card("Agent", given_, result)
    assert without.answered == (AgentSection("a1", "Explore", "Count"), TextSection("Two **files**.", "Report"))


def test_an_agent_in_the_background_has_the_numbers_that_the_session_knows() -> None:
    with Session.open(find_recording("2.1.325/agents")) as session:
        found = next(made for made in cards(build_views(session)) if made.family == "agents")
    assert found.outcome == "launched"
    agent, note = found.answered
    assert isinstance(agent, AgentSection)
    assert (agent.calls, agent.type) == (1, "general-purpose")
    assert agent.tokens
    assert isinstance(note, PlainSection)
    assert note.text.startswith("It continues in the background; its output goes to ")


def test_an_agent_of_the_oldest_clients_is_found_through_the_session() -> None:
    with Session.open(find_recording("1.0.128/agents")) as session:
        found = [made for made in cards(build_views(session)) if made.tool == "Task"]
    assert found
    assert all(made.agent_id for made in found)
    assert all(kinds(made.answered) == [AgentSection, TextSection] for made in found)


def test_messages_workflows_and_skills_say_what_they_are_about() -> None:
    message = card("SendMessage", {"to": "lead", "message": "done **now**"}, "{}", {"success": True, "message": "Sent"})
    assert (message.title, message.answered) == ("to lead: done **now**", (PlainSection("Sent"),))
    flow = card("Workflow", {"script": "run()", "name": "review"}, "…", {"status": "async_launched", "runId": "r1"})
    assert (flow.title, flow.badges) == ("review", ("in background",))
    assert flow.asked[0] == CodeSection("run()", "javascript")
    assert flow.answered == (FieldsSection((("runId", "r1"),)),)
    assert card("Skill", {"skill": "commit", "args": "-m x"}, "Launching skill: commit").title == "commit -m x"


# -- anything else


def test_a_tool_of_a_server_is_a_family_apart_and_its_json_is_a_tree() -> None:
    found = card("mcp__my_server__get_it", {"project": "x", "deep": [1]}, [{"type": "text", "text": '{"total": 2}'}])
    assert (found.family, found.title) == ("mcp", "project=x, deep=1 item")
    assert found.asked == (FieldsSection((("project", "x"),)), TreeSection({"deep": [1]}))
    assert found.answered == (TreeSection({"total": 2}),)
    words = [{"type": "text", "text": "## Result\n\n**done**"}, PNG, {"type": "odd", "x": 1}]
    shot = card("mcp__browser__shot", {}, words)
    assert kinds(shot.answered) == [TextSection, Picture, TreeSection]
    linked = [
        {"type": "resource", "resource": {"uri": "file:///a.md", "text": "x"}},
        {"type": "resource_link", "uri": "u:"},
    ]
    assert card("mcp__a__b", {}, linked).answered == (
        LinkSection("file:///a.md"),
        CodeSection("x", "file:///a.md"),
        LinkSection("u:"),
    )


def test_an_unknown_tool_is_shown_as_names_and_values() -> None:
    found = card("Frobnicate", {"speed": 3, "dry": True, "text": "a\nb", "list": [1]}, "[1, 2]")
    assert found.family == "other"
    assert found.asked == (
        FieldsSection((("speed", "3"), ("dry", "yes"))),
        PlainSection("a\nb", "text"),
        TreeSection({"list": [1]}),
    )
    assert found.answered == (TreeSection([1, 2]),)
    assert card("Frobnicate", "bare").asked == (TreeSection("bare"),)
    assert card("Frobnicate", {"x": 1}, '{"code": 5}', error=True).answered == (TreeSection({"code": 5}, "Error"),)


def test_resources_of_servers_are_links() -> None:
    record = [{"uri": "file:///c.json", "name": "c.json", "description": "settings", "server": "just"}]
    assert card("ListMcpResourcesTool", {}, "[]", record).answered == (
        LinkSection("file:///c.json", "c.json", "settings"),
    )
    contents = {"contents": [{"uri": "file:///c.json", "text": '{"a": 1}'}]}
    found = card("ReadMcpResourceTool", {"server": "just", "uri": "file:///c.json"}, "…", contents)
    assert (found.title, found.answered) == (
        "just › file:///c.json",
        (LinkSection("file:///c.json"), TreeSection({"a": 1})),
    )


def test_an_answer_as_data_and_files_for_the_person_are_shown() -> None:
    assert card("StructuredOutput", {"due": [1]}, "ok").asked == (TreeSection({"due": [1]}),)
    sent = card("SendUserFile", {"files": ["/a.png"], "caption": "Look"}, "sent")
    assert (sent.title, sent.asked[0]) == ("Look", FieldsSection((("file", "/a.png"),)))


# -- whatever stands there


def hostile(name: str, detail: CallDetail) -> Card:
    found = made(CardSource(name, detail, "/home/dana"), CallPlace("c1", 0))
    for section in (*found.asked, *found.answered):
        assert isinstance(section, get_args(Section))
    assert "\n" not in found.title
    assert len(found.title) <= 200
    assert all(len(badge) <= 80 and "\n" not in badge for badge in found.badges)
    return found


KNOWN = {name for tools in TOOL_FAMILIES.values() for name in tools}
NAMES = sorted({*PART_BUILDERS, *KNOWN, "mcp__a__b", "mcp__", "Unknown", ""})
fields = st.sampled_from(
    sorted({field for facts in load_format().tool_results.values() for field in load_format().list_fields(facts)})
    + "command file_path path pattern query url prompt todos content status questions question options label edits "
    "old_string new_string new_source plan taskId subject script skill message to text type resource uri task cells "
    "source data tool_name description structuredPatch lines oldStart results title answers".split()
)
anything = st.recursive(
    scalars | st.sampled_from(['{"a": [1]}', "Exit code 1\nx", "a:1:b", "- /a/\n  - b", "text", "image", "\ud800"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(fields, inner, max_size=5),
    max_leaves=20,
)
outcomes = st.sampled_from(["answered", "error", "denied", "interrupted", "launched", "unanswered"])


@example("", None, [{"type": []}], None, "answered")
@given(st.sampled_from(NAMES), anything | values, anything | values, anything | values, outcomes)
def test_any_json_gives_a_card(name: str, given_: Any, result: Any, record: Any, outcome: str) -> None:
    hostile(name, CallDetail(given_, result, record, outcome, None, None))


@pytest.mark.parametrize("name", NAMES)
def test_values_that_are_nested_without_end_or_huge_give_a_card(name: str) -> None:
    deep: Any = "x"
    for _ in range(10_000):
        deep = {"content": [deep]}
    text = "[" * 10_000 + "]" * 10_000
    wide = {f"k{number}": "v" * 1000 for number in range(1000)}
    for given_, result, record in ((deep, [deep], deep), (wide, text, wide), ({"command": text}, [text], [deep])):
        hostile(name, CallDetail(given_, result, record, "answered", None, None))


def raw_json(section: Section) -> bool:
    if not isinstance(section, PlainSection):
        return False
    try:
        return isinstance(json.loads(section.text), dict | list)
    except (ValueError, RecursionError):
        return False


def no_raw_json(session: Session) -> None:
    for found in cards(build_views(session)):
        for section in (*found.asked, *found.answered):
            assert not raw_json(section), (found.tool, section)


@pytest.mark.parametrize("path", recorded_sessions(), ids=lambda path: "/".join(path.parts[-6:]))
def test_no_card_shows_raw_json(path: Path) -> None:
    with Session.open(path) as session:
        no_raw_json(session)


@pytest.mark.slow
@pytest.mark.corpus
def test_no_card_of_a_published_session_shows_raw_json(corpus: Path) -> None:
    for path in corpus.rglob("*.jsonl"):
        with Session.open(path) as session:
            no_raw_json(session)


def test_every_known_tool_has_a_card_of_its_own_or_is_shown_well_enough_as_names_and_values() -> None:
    plain = {"TodoRead", "Artifact", "ScheduleWakeup", "EnterWorktree", "ExitWorktree", "CronCreate", "CronDelete"}
    plain |= {"CronList", "ListAgents", "TeamCreate", "TeamDelete"}
    assert KNOWN - set(PART_BUILDERS) == plain


def test_the_cards_of_a_genuine_session_read_well() -> None:
    found = [(made.tool, made.title, made.outcome, made.badges) for made in cards(build_views(genuine("2.1.29/tools")))]
    assert found == [
        ("Read", "src/cart.py", "answered", ("5 lines",)),
        ("Glob", "**/*.py", "answered", ("2 files",)),
        ("Grep", "total", "answered", ("4 hits",)),
        ("Bash", "sleep 0.3; ls src; echo warn >&2", "answered", ()),
        ("Edit", "src/cart.py", "answered", ("+1 −1",)),
        ("Write", "CHANGES.md", "answered", ("+3", "new file")),
        ("Bash", "echo 1 failed; exit 3", "error", ("exit 3",)),
        ("Read", "missing.txt", "error", ()),
        ("Edit", "src/cart.py", "error", ("+1 −1",)),
        ("TodoWrite", "Fix tests", "answered", ("1 of 2 done",)),
        ("NoSuchTool", "x=1", "error", ()),
    ]
