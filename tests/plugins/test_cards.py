"""Cards of other packages: in every form, escaped like the rest, and replaced by the generic card when they fail."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.conftest import Packages, issue_call
from tests.render.attacks import ATTACKS
from tests.render.cards import card, recorded_sessions
from turnlog.errors import BrokenPlugin
from turnlog.plugin_lookup import CARD_GROUP, InstalledPlugin
from turnlog.render.card import (
    AgentSection,
    ChecklistSection,
    ChecklistTask,
    CodeSection,
    FieldsSection,
    HitsSection,
    LinkSection,
    PlainSection,
    TerminalSection,
    TextSection,
    TreeSection,
)
from turnlog.render.sections import SectionWriter
from turnlog.render.tools.plugin_cards import CardContents, check_contents, load_card

GOOD = """
import json
from turnlog.render.tools.plugin_cards import CardContents
from turnlog.render.card import FieldsSection

class IssueCard:
    tools = ("mcp__jira__get_*",)

    def show_call(self, call):
        issue = json.loads(call.result_text)
        rows = tuple((name, str(value)) for name, value in issue.items())
        return CardContents(f"Issue {call.input['key']}", (), (FieldsSection(rows),), (issue["status"],))
"""
ENTRY = "card issue = acme_cards:IssueCard"
FORMS = ["html", "md", "txt", "json"]


@pytest.fixture
def machine(packages: Packages) -> Packages:
    packages.add_session(issue_call())
    return packages


@pytest.mark.parametrize("form", FORMS)
def test_a_card_of_another_package_is_shown_in_every_form(machine: Packages, form: str) -> None:
    machine.install("acme-cards", GOOD, ENTRY)
    done = machine.run("export", "last", "-f", form, "-o", "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Issue ACME-7" in done.stdout
    assert "key=ACME" not in done.stdout
    assert "Rounding is off" in done.stdout


def test_the_output_of_a_card_is_escaped_like_everything_else(packages: Packages) -> None:
    attack = "".join(ATTACKS.values())
    packages.add_session(issue_call(json.dumps({"status": attack, attack: attack}), given={"key": attack}))
    packages.install("acme-cards", GOOD, ENTRY)
    done = packages.run("export", "last", "-f", "html", "-o", "-")
    assert "Issue &lt;script&gt;" in done.stdout
    assert "<script>alert" not in done.stdout
    assert "onerror=alert(1)>" not in done.stdout


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_card_that_fails_is_reported_once_and_the_generic_card_is_shown(packages: Packages, form: str) -> None:
    build = issue_call("no JSON \x1b[2J")
    build.call("c2", "mcp__jira__get_issue", {"key": "ACME-8"})
    build.result("c2", "none either")
    packages.add_session(build)
    packages.install("acme-cards", GOOD, ENTRY)
    done = packages.run("export", "last", "-f", form, "-o", "out")
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "turnlog: tool card 'issue' of package acme-cards 1.0 failed on a call to mcp__jira__get_issue: JSONDecodeError"
    )
    text = (packages.work / "out").read_text(encoding="utf-8")
    assert "key=ACME" in text
    assert "ACME-8" in text


BROKEN = {
    "an import that fails": "import no_such_module_anywhere",
    "an exit": "raise SystemExit(0)",
    "no class": "IssueCard = len",
    "no method": "class IssueCard:\n    tools = ('x',)",
    "no tools": "class IssueCard:\n    def show_call(self, call): pass",
    "tools that are a text": GOOD.replace('("mcp__jira__get_*",)', "'mcp'"),
    "an empty list of tools": GOOD.replace('("mcp__jira__get_*",)', "()"),
    "a tool that is no text": GOOD.replace('("mcp__jira__get_*",)', "(7,)"),
    "a tool with a built-in card": GOOD.replace('("mcp__jira__get_*",)', "('Bash',)"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_card_without_what_it_needs_is_refused(
    packages: Packages, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    module = f"acme_cards_{list(BROKEN).index(kind)}"
    packages.install(module, BROKEN[kind])
    monkeypatch.syspath_prepend(packages.folder)
    plugin = InstalledPlugin(CARD_GROUP, "issue", "acme-cards", "1.0", f"{module}:IssueCard")
    with pytest.raises(BrokenPlugin, match="tool card 'issue' of package acme-cards"):
        load_card(plugin, ["Bash", "Read"])


def test_a_card_that_cannot_be_loaded_is_reported_once_and_skipped(machine: Packages) -> None:
    machine.install("acme-cards", BROKEN["an import that fails"], ENTRY)
    machine.install("more-cards", GOOD, "card issue = more_cards:IssueCard")
    done = machine.run("export", "last", "-f", "txt", "-o", "-")
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("turnlog: tool card 'issue' of package acme-cards 1.0 can't be loaded: ModuleNotFoundError")
    assert "Issue ACME-7" in done.stdout


def test_of_two_cards_for_one_tool_the_first_package_shows_it_and_the_other_is_reported(machine: Packages) -> None:
    machine.install("acme-cards", GOOD, ENTRY)
    machine.install("more-cards", GOOD.replace("f'Issue", "f'More"), "card other = more_cards:IssueCard")
    done = machine.run("export", "last", "-f", "txt", "-o", "-")
    assert "Issue ACME-7" in done.stdout
    assert "tool card 'other' of package more-cards 1.0 is not used for mcp__jira__get_issue" in done.stderr


def test_a_card_of_another_package_never_shows_a_tool_that_turnlog_knows(packages: Packages) -> None:
    packages.add_session(issue_call("hi", tool="Bash", given={"command": "echo hi"}))
    packages.install("acme-cards", GOOD.replace("mcp__jira__get_*", "*"), ENTRY)
    done = packages.run("export", "last", "-f", "txt", "-o", "-")
    assert "echo hi" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    "contents",
    [
        None,
        "text",
        CardContents(7),  # type: ignore[arg-type]
        CardContents("x", badges=[7]),  # type: ignore[list-item]
        CardContents("x", ["<b>"]),  # type: ignore[list-item]
        CardContents("x", [AgentSection("a1")]),  # type: ignore[list-item]
        CardContents("x", [FieldsSection((("a", 1),))]),  # type: ignore[arg-type]
        CardContents("x", [FieldsSection((("a", "b", "c"),))]),  # type: ignore[arg-type]
        CardContents("x", [TextSection(None)]),  # type: ignore[arg-type]
        CardContents("x", [PlainSection("x", tone='"><script>')]),
        CardContents("x", [TerminalSection("x", "both")]),
        CardContents("x", [TreeSection(object())]),
        CardContents("x", [PlainSection("x")] * 101),
    ],
)
def test_contents_of_a_wrong_type_are_refused_before_they_are_written(contents: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        check_contents(contents)


TEXT = st.text(max_size=30) | st.sampled_from(sorted(ATTACKS.values()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
SECTIONS: st.SearchStrategy[Any] = st.one_of(
    st.builds(CodeSection, TEXT, TEXT, TEXT, st.none() | st.integers(-5, 10**9)),
    st.builds(TerminalSection, TEXT, st.sampled_from(["output", "error"])),
    st.builds(TextSection, TEXT, TEXT),
    st.builds(PlainSection, TEXT, TEXT, st.sampled_from(["plain", "note", "warning", "error"])),
    st.builds(FieldsSection, st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple)),
    st.builds(TreeSection, JSON, TEXT),
    st.builds(HitsSection, st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=3).map(tuple), st.integers()),
    st.builds(LinkSection, TEXT, TEXT, TEXT),
    st.builds(ChecklistSection, st.lists(st.builds(ChecklistTask, TEXT, TEXT, TEXT), max_size=3).map(tuple)),
)


@given(SECTIONS)
def test_whatever_a_section_holds_it_is_written_without_a_script(section: Any) -> None:
    (checked,) = check_contents(CardContents("x", [section])).asked
    html = SectionWriter(lambda picture: None).write_section(checked)
    assert re.search(r"<(?:script|img|svg|iframe|style)\b", html) is None


def test_titles_and_badges_are_cut_to_one_line() -> None:
    found = check_contents(CardContents("a\n" * 500, badges=["b\nc" * 100] * 20))
    assert len(found.title) <= 200
    assert "\n" not in found.title
    assert len(found.badges) == 8
    assert max(map(len, found.badges)) <= 60


def test_what_turnlog_shows_itself_stays_when_a_card_is_there(packages: Packages) -> None:
    """A denial is shown in turnlog's words, and pictures in a result are not lost."""
    build = issue_call()
    build.lines.pop()
    build.lines.pop()
    build.result("c1", "The user doesn't want to proceed with this tool use. the user said:\nNot now.", error=True)
    packages.add_session(build)
    packages.install("acme-cards", GOOD.replace("json.loads(call.result_text)", "{'status': 'x'}"), ENTRY)
    done = packages.run("export", "last", "-f", "txt", "-o", "-")
    assert "Issue ACME-7" in done.stdout
    assert "Not now." in done.stdout


def test_without_packages_the_cards_are_as_before() -> None:
    assert card("mcp__jira__get_issue", {"key": "ACME-7"}).title == "key=ACME-7"
    assert recorded_sessions()
