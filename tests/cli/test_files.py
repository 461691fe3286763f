"""`turnlog files`: who touched which file, and the changes as patches that real tools take."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import DATA, SESSION, Build, find_recording
from tests.session.forms import VERSIONS, files_after, session_file
from tests.session.test_touches import with_agents
from tests.session.touch_calls import do, text
from turnlog.cli.files.file_tables import format_number_ranges
from turnlog.cli.files.files import render_patch
from turnlog.demo import config_dir
from turnlog.entries.layout import list_session_files
from turnlog.session.files.file_steps import list_file_steps
from turnlog.session.session import Session


def row(lines: list[str], name: str) -> list[str]:
    (found,) = [line for line in lines if line.split()[:1] == [name]]
    return found.split()


def test_files_are_listed_with_how_often_and_in_which_turns(turnlog: Turnlog) -> None:
    done = turnlog("files", find_recording("2.1.325/tui_edge"))
    assert row(done.lines, "file") == ["file", "read", "written", "edited", "shown", "failed", "turns", "last", "by"]
    assert row(done.lines, "src/cart.py")[1:7] == ["1", "·", "2", "·", "·", "1–2"]
    assert done.lines[-1].startswith("Read, written, edited: successful calls to")


def test_sub_agents_are_named(turnlog: Turnlog, tmp_path: Path) -> None:
    done = turnlog("files", with_agents(tmp_path))
    assert "Explore a1" in done.out


def test_failures_are_counted_apart_and_foreign_changes_told(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Edit", {"file_path": "/a"})
    build.result("c1", error=True)
    build.attachment("edited_text_file", filename="/a")
    done = turnlog("files", build.write(tmp_path))
    assert row(done.lines, "/a")[1:6] == ["·", "·", "·", "·", "1"]
    assert "(changed by someone else)" in done.out


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], {"/src/a.py", "/src/b.py", "/docs/c.md"}),
        (["--written"], {"/src/b.py"}),
        (["--path", "*.py"], {"/src/a.py", "/src/b.py"}),
        (["--path", "a.py"], {"/src/a.py"}),
        (["--path", "src/*"], {"/src/a.py", "/src/b.py"}),
        (["--path", "/docs/c.md"], {"/docs/c.md"}),
        (["--path", "nothing"], set()),
    ],
)
def test_files_are_chosen_by_path_and_by_what_was_done(
    turnlog: Turnlog, tmp_path: Path, words: list[str], names: set[str]
) -> None:
    build = Build()
    build.prompt()
    do(build, "Read", {"file_path": "/src/a.py"})
    do(build, "Write", {"file_path": "/src/b.py", "content": "x"})
    do(build, "Read", {"file_path": "/docs/c.md"})
    path = build.write(tmp_path)
    assert {item["path"] for item in turnlog("files", path, "--json", *words).json["files"]} == names
    assert ("No files." in turnlog("files", path, *words).out) == (not names)


def test_every_touch_is_in_the_json(turnlog: Turnlog) -> None:
    document = turnlog("files", find_recording("2.1.325/tui_edge"), "--json").json
    (cart,) = [item for item in document["files"] if item["path"].endswith("cart.py")]
    assert (cart["reads"], cart["writes"], cart["edits"], cart["turns"]) == (1, 0, 2, [1, 2])
    assert [touch["tool"] for touch in cart["touches"]] == ["Read", "Edit", "Edit"]


@pytest.mark.parametrize(
    "words", [["files"], ["files", "last", "--project", "x"], ["files", "--project", "x", "--diff"]]
)
def test_words_that_do_not_go_together_are_refused(turnlog: Turnlog, words: list[str]) -> None:
    assert turnlog(*words).status == 2


def test_turns_are_told_in_short() -> None:
    assert [format_number_ranges(numbers) for numbers in ([], [3], [1, 2, 3, 5, 7, 8])] == ["–", "3", "1–3, 5, 7–8"]


def test_hostile_names_and_texts_do_not_reach_the_terminal(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    do(build, "Write", {"file_path": "/" + HOSTILE, "content": "x"})
    do(build, "Edit", {"file_path": "/b" + HOSTILE, "old_string": "x", "new_string": "y"})
    build.attachment("file", filename="/c" + HOSTILE)
    assert harmful(turnlog("files", build.write(tmp_path)).out) == set()


# -- a project


def test_files_of_a_project_come_from_all_its_sessions_each_call_once(turnlog: Turnlog, machine: Machine) -> None:
    for name, tool in (("11111111", "Read"), ("22222222", "Edit")):
        build = Build()
        build.prompt()
        do(build, tool, {"file_path": "/home/dana/webshop/a.py"}, call=f"call-{tool}")
        do(build, "Read", {"file_path": "/home/dana/webshop/b.py"}, call="copied")
        machine.add(name + SESSION[8:], build.data())
    other = Build()
    other.prompt(cwd="/elsewhere")
    do(other, "Read", {"file_path": "/elsewhere/c.py"})
    machine.add("33333333" + SESSION[8:], other.data().replace(b"/home/dana/webshop", b"/elsewhere"))
    found = {item["path"]: item for item in turnlog("files", "--project", "webshop", "--json").json["files"]}
    assert set(found) == {"/home/dana/webshop/a.py", "/home/dana/webshop/b.py"}
    both = found["/home/dana/webshop/a.py"]
    assert (both["reads"], both["edits"], len(both["sessions"])) == (1, 1, 2)
    assert found["/home/dana/webshop/b.py"]["reads"] == 1
    lines = turnlog("files", "--project", "webshop", "--written").lines
    assert row(lines, "/home/dana/webshop/a.py")[1:4] == ["1", "·", "1"]
    assert lines[-1].startswith("Read, written, edited: successful calls in all sessions")


# -- patches


def apply(tool: list[str], folder: Path, data: bytes) -> None:
    done = subprocess.run(tool, cwd=folder, input=data, capture_output=True, timeout=60)
    assert done.returncode == 0, (done.stdout, done.stderr, data)


TOOLS = {
    "patch": ["patch", "-p1", "--binary", "--quiet", "--no-backup-if-mismatch"],
    "git": ["git", "apply", "--whitespace=nowarn", "--unidiff-zero"],
}
needs = {name: pytest.mark.skipif(shutil.which(name) is None, reason=f"there is no {name} here") for name in TOOLS}


def genuine() -> list[Path]:
    """Sessions that the real client wrote, and the made-up ones."""
    lab = [path for path in sorted(DATA.glob("sessions/**/????????-*.jsonl")) if "agent" not in path.name]
    return [*lab, *map(session_file, VERSIONS), *(item.path for item in list_session_files(config_dir()))]


@pytest.mark.parametrize("tool", [pytest.param(name, marks=mark) for name, mark in needs.items()])
def test_real_tools_take_every_rebuilt_change_of_genuine_sessions(tool: str, tmp_path: Path) -> None:
    applied = 0
    for path in genuine():
        with Session.open(path) as session:
            for step in list_file_steps(session):
                if not step.hunks or step.after is None or (step.before is None and not step.created):
                    continue
                if step.after.form.encoding != "utf-8":
                    continue
                lines = b"".join(render_patch(session, step))
                applied += 1
                folder = tmp_path / str(applied)
                place = folder / lines.split(b"+++ b/")[1].split(b"\n")[0].split(b"\t")[0].decode()
                place.parent.mkdir(parents=True)
                if step.before is not None:
                    place.write_bytes(step.before.data)
                apply(TOOLS[tool], folder, lines)
                assert place.read_bytes() == step.after.data, (path, lines)
    assert applied > 40


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("tool", [pytest.param(name, marks=mark) for name, mark in needs.items()])
@pytest.mark.parametrize("name", ["crlf2.txt", "nonl.txt", "tabs.go", "bom.txt", "n.ipynb", "made.txt", "made2.txt"])
def test_the_patch_of_a_session_leads_from_the_files_before_it_to_those_after_it(
    turnlog: Turnlog, tmp_path: Path, version: str, tool: str, name: str
) -> None:
    path = f"/tmp/demo/forms-{version}/forms/{name}"
    place = tmp_path / name
    before = files_after(version, 0).get(path)
    if before is not None:
        place.write_bytes(before)
    apply(TOOLS[tool], tmp_path, turnlog("files", session_file(version), "--diff", "--path", name).raw)
    assert place.read_bytes() == files_after(version, 2)[path]


def test_a_patch_says_whose_change_it_is_and_why_one_is_missing(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    do(build, "Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"})
    do(
        build,
        "Edit",
        {"file_path": "/b"},
        {"originalFile": "x\n", "oldString": "x", "newString": "y", "userModified": True},
    )
    do(build, "Write", {"file_path": "/c", "content": ""}, {"type": "create"})
    do(build, "Write", {"file_path": "/b", "content": "y\n"})
    done = turnlog("files", build.write(tmp_path), "--diff")
    notes = [line for line in done.lines if line.startswith("# ") and "turn 1" not in line]
    assert notes == [
        "# Can't be rebuilt: the earlier content of the file is not in the session.",
        "# The user changed the model's proposal; this is what was written.",
        "# Nothing changed: an empty file was created.",
        "# Nothing changed.",
    ]
    assert "1 of the changes can't be rebuilt" in done.err


def test_a_change_of_a_sub_agent_is_told_as_its(turnlog: Turnlog, tmp_path: Path) -> None:
    path = with_agents(tmp_path)
    build = Build()
    build.wait(90)
    build.prompt(isSidechain=True)
    build.call("w1", "Write", {"file_path": "/w", "content": "\tx\n"}, isSidechain=True)
    build.result("w1", isSidechain=True, toolUseResult={"structuredPatch": [{"lines": ["-a", "+  x"]}]})
    (tmp_path / SESSION / "subagents" / "agent-a9.jsonl").write_bytes(build.data())
    done = turnlog("files", path, "--diff")
    assert "by subagent a9" in done.out
    assert "# May not be exact: the client recorded leading tabs as spaces" in done.out


def test_changes_as_json_hold_the_patch_of_each(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    do(build, "Read", {"file_path": "/home/dana/webshop/a.py"}, text("one\n"))
    do(build, "Edit", {"file_path": "/home/dana/webshop/a.py", "old_string": "one", "new_string": "1"})
    (change,) = turnlog("files", build.write(tmp_path), "--diff", "--json").json["changes"]
    assert change["patch"] == "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-one\n+1\n"
    assert (change["turn"], change["source"], change["before_known"]) == (1, "texts", True)


@pytest.mark.parametrize("path", ["/a\n--- a/x\n+++ b/x", '/a"b', "/a\tb"])
def test_a_path_cannot_write_headers_into_a_patch(turnlog: Turnlog, tmp_path: Path, path: str) -> None:
    build = Build()
    build.prompt()
    do(build, "Write", {"file_path": path, "content": "x\n"}, {"type": "create"})
    lines = turnlog("files", build.write(tmp_path), "--diff").lines
    assert next(line for line in lines if line.startswith(("---", "+++"))) == "--- /dev/null"
    assert sum(line.startswith("+++") for line in lines) == 1


def test_windows_paths_become_paths_below_the_folder(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    do(build, "Write", {"file_path": "C:\\x\\a.py", "content": "x\n"}, {"type": "create"})
    assert "+++ b/C/x/a.py" in turnlog("files", build.write(tmp_path), "--diff").lines


def test_help_shows_examples(turnlog: Turnlog) -> None:
    assert "turnlog files last --diff" in turnlog("files", "--help").out
