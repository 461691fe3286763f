"""A checkout can't have a file of the machine sent by a link, whatever way it takes; the person's own links hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.desk import Desk, script
from turnlog.agent.briefing.agents import load_agent_types
from turnlog.agent.briefing.memory import load_memory_files
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.settings import Settings, SettingsLayer
from turnlog.agent.tools.call_result import Workspace

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs links")
MakeDesk = Callable[[dict[str, Any]], Desk]
FILES = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/x.md", ".claude/rules/deep/er/x.md")
SECRET = "SECRET of the machine"


class Checkout:
    """A folder of somebody else's, and files of the person's."""

    def __init__(self, base: Path) -> None:
        self.base = base.resolve()
        self.config, self.cwd = self.base / "home" / ".claude", self.base / "home" / "work" / "evil"
        for folder in (self.config, self.cwd):
            folder.mkdir(parents=True, exist_ok=True)
        self.secret = self.base / "home" / "secret.md"
        self.secret.write_text(SECRET)
        self.warned: list[str] = []

    def link(self, name: str, target: str | Path) -> None:
        path = self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def texts(self, cwd: Path | None = None, *, external: bool = False, deny: Sequence[str] = ()) -> list[str]:
        home, cwd = self.base / "home", cwd or self.cwd
        rules = Settings((SettingsLayer("flags", "flags", {"permissions": {"deny": list(deny)}}, cwd),))
        found = load_memory_files(
            cwd,
            self.config,
            external=external,
            home=home,
            warn=self.warned.append,
            is_unreadable=SettingsGuard(rules, home=home).build_unreadable_check(Workspace(cwd, cwd)),
        )
        return [memory.text.strip() for memory in found]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("below", ["", "sub/folder"])
def test_a_linked_file_that_leaves_the_folder_is_not_sent_and_that_is_said(
    checkout: Checkout, name: str, below: str
) -> None:
    checkout.link(name, checkout.secret)
    cwd = checkout.cwd / below
    cwd.mkdir(parents=True, exist_ok=True)
    assert checkout.texts(cwd) == []
    (warning,) = checkout.warned
    assert warning.startswith(
        f"{checkout.cwd / name} is not sent because it resolves to {checkout.secret}, which is outside"
    )


@pytest.mark.parametrize(
    "target", ["/proc/self/environ", "/proc/self/cwd/../../secret.md", "../../secret.md", "../evil/../../secret.md"]
)
def test_neither_is_one_that_leaves_it_by_a_detour(checkout: Checkout, target: str) -> None:
    checkout.link("CLAUDE.md", target)
    assert checkout.texts() == []


@pytest.mark.parametrize("name", [".claude", ".claude/rules"])
def test_a_linked_folder_that_leaves_it_is_not_looked_through(checkout: Checkout, name: str) -> None:
    elsewhere = checkout.base / "home" / "notes"
    for folder in (elsewhere, elsewhere / "rules"):
        folder.mkdir()
        (folder / "a.md").write_text(SECRET)
        (folder / "CLAUDE.md").write_text(SECRET)
    checkout.link(name, elsewhere)
    assert checkout.texts() == []
    assert checkout.warned


def test_a_link_that_stays_in_the_folder_is_followed(checkout: Checkout) -> None:
    (checkout.cwd / "AGENTS.md").write_text("Be brief.")
    (checkout.cwd / "docs").mkdir()
    (checkout.cwd / "docs" / "style.md").write_text("Be kind.")
    checkout.link("CLAUDE.md", "AGENTS.md")
    checkout.link(".claude/rules", checkout.cwd / "docs")
    assert checkout.texts() == ["Be brief.", "Be kind."]
    assert checkout.warned == []


def test_a_link_from_a_part_of_the_project_to_its_top_leaves_the_part(checkout: Checkout) -> None:
    (checkout.cwd / "AGENTS.md").write_text("Be brief.")
    checkout.link("part/CLAUDE.md", "../AGENTS.md")
    assert checkout.texts(checkout.cwd / "part") == []


def test_links_of_the_person_s_own_are_followed(checkout: Checkout) -> None:
    dotfiles = checkout.base / "home" / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "claude.md").write_text("Mine. @~/secret.md")
    (checkout.config / "CLAUDE.md").symlink_to(dotfiles / "claude.md")
    assert checkout.texts() == ["Mine. @~/secret.md", SECRET]
    assert checkout.warned == []


def test_the_person_can_agree_to_files_from_elsewhere(checkout: Checkout) -> None:
    checkout.link("CLAUDE.md", checkout.secret)
    assert checkout.texts(external=True) == [SECRET]


@pytest.mark.parametrize("name", ["~/secret.md", "../../secret.md", "inner.md", "folder/secret.md", "a/../inner.md"])
def test_an_import_that_leaves_the_folder_is_not_sent_and_that_is_said(checkout: Checkout, name: str) -> None:
    checkout.link("inner.md", checkout.secret)
    checkout.link("folder", checkout.base / "home")
    (checkout.cwd / "CLAUDE.md").write_text(f"@{name}")
    assert checkout.texts() == [f"@{name}"]
    (warning,) = checkout.warned
    assert f"@{name} is not sent because it resolves to {checkout.secret}" in warning


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_a_rule_forbids_to_read_is_not_sent_for_a_link_to_it(checkout: Checkout, name: str) -> None:
    (checkout.cwd / ".env").write_text(SECRET)
    checkout.link(name, checkout.cwd / ".env")
    assert checkout.texts(deny=["Read(.env)"]) == []
    assert checkout.texts() == [SECRET]
    assert [warning for warning in checkout.warned if "because a rule forbids reading" in warning] == checkout.warned


@pytest.mark.parametrize("name", [".env", "./.env", "sub/../.env", "link", "~/work/evil/.env"])
def test_nor_is_it_sent_for_an_import(checkout: Checkout, name: str) -> None:
    (checkout.cwd / "sub").mkdir()
    (checkout.cwd / ".env").write_text(SECRET)
    checkout.link("link", ".env")
    (checkout.cwd / "CLAUDE.md").write_text(f"Hello @{name}")
    assert checkout.texts(deny=["Read(.env)"]) == [f"Hello @{name}"]
    assert len(checkout.warned) == 1
    assert checkout.texts() == [f"Hello @{name}", SECRET]


def test_instructions_are_sent_though_a_rule_forbids_to_read_them(checkout: Checkout) -> None:
    (checkout.cwd / "CLAUDE.md").write_text("Hello")
    assert checkout.texts(deny=["Read(*.md)"]) == ["Hello"]


def test_print_mode_sends_no_file_that_a_rule_forbids_to_read(desk: MakeDesk) -> None:
    here = desk(script("Hi."))
    (here.cwd / ".env").write_text(SECRET)
    (here.cwd / "CLAUDE.md").write_text("Hello @.env")
    done = here.turnlog("-p", "hello", "--disallowedTools", "Read(.env)")
    assert "because a rule forbids reading" in done.stderr
    assert "Hello @.env" in str(here.requests)
    assert SECRET not in str(here.requests)


def test_words_that_only_look_like_an_import_are_not_warned_of(checkout: Checkout) -> None:
    (checkout.cwd / "CLAUDE.md").write_text("Ask @../someone or @~/nobody, use @scope/package.")
    checkout.texts()
    assert checkout.warned == []


def test_a_sub_agent_is_not_described_by_a_file_from_elsewhere(checkout: Checkout) -> None:
    described = f"---\nname: spy\ndescription: {SECRET}\n---\n{SECRET}"
    checkout.secret.write_text(described)
    checkout.link(".claude/agents/spy.md", checkout.secret)
    assert "spy" not in load_agent_types(checkout.cwd, checkout.config, checkout.warned.append)
    (warning,) = checkout.warned
    assert str(checkout.secret) in warning
    (checkout.config / "agents").symlink_to(checkout.base / "home")  # the person's own may lie anywhere
    assert "spy" in load_agent_types(checkout.cwd, checkout.config)


def test_a_linked_folder_of_sub_agents_is_not_looked_through(checkout: Checkout) -> None:
    checkout.secret.write_text(f"---\nname: spy\ndescription: {SECRET}\n---\n{SECRET}")
    checkout.link(".claude/agents", checkout.base / "home")
    assert "spy" not in load_agent_types(checkout.cwd, checkout.config, checkout.warned.append)
    assert len(checkout.warned) == 1


FOLDERS = st.sampled_from([".", ".", "a", ".claude", ".claude/rules", ".claude/agents"])
NAMES = st.sampled_from(["CLAUDE.md", "CLAUDE.local.md", "x.md", "a", "b", ".claude", "rules", "agents"])
TARGETS = st.sampled_from(["@", "@", "a", "b", "..", "../..", "../../..", ".", "x.md", "CLAUDE.md", "../secret.md"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(FOLDERS, NAMES, TARGETS, TARGETS), max_size=6))
def test_no_web_of_links_has_a_file_from_elsewhere_sent(links: list[tuple[str, str, str, str]]) -> None:
    with TemporaryDirectory() as base:
        checkout = Checkout(Path(base))
        for folder, name, first, second in links:
            target = Path(first, second) if first != "@" else checkout.secret
            path = checkout.cwd / folder / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                if checkout.cwd not in Path(os.path.realpath(path.parent), "x").parents:
                    continue  # only what a checkout can bring: nothing is put elsewhere
                if second == "@":
                    path.write_text("@a @b @x.md @a/secret.md @b/../secret.md @~/secret.md @a/b/x.md")
                else:
                    path.symlink_to(target)
            except OSError:
                continue
        assert not any(SECRET in text for text in checkout.texts())
        assert not any(SECRET in kind.prompt for kind in load_agent_types(checkout.cwd, checkout.config).values())


@pytest.mark.parametrize("is_trusted", [True, False])
def test_print_mode_says_what_it_does_not_send(desk: MakeDesk, is_trusted: bool) -> None:
    here = desk(script("Done."))
    if is_trusted:
        here.trust()
    (here.home / "secret.txt").write_text(SECRET)
    rules = here.cwd / ".claude" / "rules"
    rules.mkdir(parents=True)
    (rules / "x.md").symlink_to(here.home / "secret.txt")
    done = here.turnlog("-p", "go")
    assert done.stdout == "Done.\n"
    assert SECRET not in str(here.requests)
    assert done.stderr.startswith(
        f"turnlog: {rules / 'x.md'} is not sent because it resolves to {here.home / 'secret.txt'}"
    )
