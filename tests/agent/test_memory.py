"""Project memory: which files are found, what they bring in, and what stays out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from turnlog.agent.briefing.memory import (
    MAX_IMPORT_DEPTH,
    MEMORY_INTRODUCTION,
    find_imports,
    load_memory_files,
    render_memory_reminder,
)
from turnlog.agent.permissions.trust import may_import_external


class Home:
    """A home with a project in it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.config, self.cwd = base / "home" / ".claude", base / "work" / "shop"
        self.config.mkdir(parents=True)
        self.cwd.mkdir(parents=True)

    def put(self, name: str, text: str | bytes) -> Path:
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def list_memory(self, *, external: bool = False) -> list[tuple[str, str, str]]:
        """The names below the base, the kinds and the texts."""
        memory = load_memory_files(self.cwd, self.config, external=external, home=self.base / "home")
        return [(str(item.path.relative_to(self.base)), item.kind, item.text.strip()) for item in memory]

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.list_memory()]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


def test_files_come_from_the_person_then_from_the_top_down(home: Home) -> None:
    home.put("home/.claude/CLAUDE.md", "mine")
    home.put("work/CLAUDE.md", "above")
    home.put("work/CLAUDE.local.md", "above, local")
    home.put("work/shop/CLAUDE.md", "here")
    home.put("work/shop/.claude/CLAUDE.md", "here, hidden")
    home.put("work/shop/.claude/rules/style.md", "a rule")
    home.put("work/shop/CLAUDE.local.md", "here, local")
    assert home.list_memory() == [
        ("home/.claude/CLAUDE.md", "user", "mine"),
        ("work/CLAUDE.md", "project", "above"),
        ("work/CLAUDE.local.md", "local", "above, local"),
        ("work/shop/CLAUDE.md", "project", "here"),
        ("work/shop/.claude/CLAUDE.md", "project", "here, hidden"),
        ("work/shop/.claude/rules/style.md", "project", "a rule"),
        ("work/shop/CLAUDE.local.md", "local", "here, local"),
    ]


def test_nothing_is_sent_where_there_is_nothing(home: Home) -> None:
    home.put("work/shop/CLAUDE.md", "  \n")
    assert home.list_memory() == []
    assert render_memory_reminder([]) == ""


def test_the_person_s_own_file_is_not_sent_again_as_that_of_a_project(tmp_path: Path) -> None:
    config = tmp_path / ".claude"
    config.mkdir()
    (config / "CLAUDE.md").write_text("mine")
    found = load_memory_files(tmp_path, config, home=tmp_path)
    assert [item.kind for item in found] == ["user"]


def test_a_rule_for_some_files_only_is_not_for_all_of_the_work(home: Home) -> None:
    home.put("work/shop/.claude/rules/api.md", "---\npaths: src/api/**\n---\nOnly there.")
    assert home.list_memory() == []


def test_imports_follow_the_file_that_names_them_depth_first(home: Home) -> None:
    home.put("work/shop/CLAUDE.md", "See @docs/a.md and @docs/z.md")
    home.put("work/shop/docs/a.md", "---\ntitle: A\n---\nA, @b.md")
    home.put("work/shop/docs/b.md", "B")
    home.put("work/shop/docs/z.md", "Z")
    shop = "work/shop/"
    assert [(name.removeprefix(shop), text) for name, _, text in home.list_memory()] == [
        ("CLAUDE.md", "See @docs/a.md and @docs/z.md"),
        ("docs/a.md", "A, @b.md"),
        ("docs/b.md", "B"),
        ("docs/z.md", "Z"),
    ]


def test_files_that_name_each_other_are_sent_once(home: Home) -> None:
    home.put("work/shop/CLAUDE.md", "@a.md")
    home.put("work/shop/a.md", "@b.md @CLAUDE.md")
    home.put("work/shop/b.md", "@a.md")
    assert [Path(name).name for name in home.names] == ["CLAUDE.md", "a.md", "b.md"]


def test_imports_end_at_a_depth_of_five_files(home: Home) -> None:
    home.put("work/shop/CLAUDE.md", "@1.md")
    for number in range(1, 10):
        home.put(f"work/shop/{number}.md", f"@{number + 1}.md")
    assert len(home.names) == MAX_IMPORT_DEPTH


def test_missing_files_folders_pictures_and_binary_files_bring_in_nothing(home: Home) -> None:
    home.put("work/shop/CLAUDE.md", "@missing.md @docs @logo.png @data.txt @" + "x" * 300)
    home.put("work/shop/docs/a.md", "A")
    home.put("work/shop/logo.png", "P")
    home.put("work/shop/data.txt", b"a\0b")
    assert [Path(name).name for name in home.names] == ["CLAUDE.md"]


def test_a_project_brings_in_nothing_from_outside_of_the_working_folder(home: Home) -> None:
    home.put("home/secret.md", "SECRET")
    home.put("work/other.md", "OTHER")
    home.put("work/shop/CLAUDE.md", f"@~/secret.md @../other.md @{home.base}/work/other.md @link.md")
    (home.cwd / "link.md").symlink_to(home.base / "home" / "secret.md")
    assert home.names == ["work/shop/CLAUDE.md"]
    assert len(home.list_memory(external=True)) == 3


def test_the_person_s_own_file_may_bring_in_any_file(home: Home) -> None:
    home.put("home/.claude/CLAUDE.md", "@more.md @~/also.md")
    home.put("home/.claude/more.md", "more")
    home.put("home/also.md", "also")
    assert [kind for _, kind, _ in home.list_memory()] == ["user", "user", "user"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@a.md", ["a.md"]),
        ("see @a.md, too", ["a.md,"]),
        ("- @a.md\n- @b/c.md", ["a.md", "b/c.md"]),
        ("@my\\ notes.md", ["my notes.md"]),
        ("**@a.md** _@b.md_", ["a.md", "b.md"]),
        ("@a.md#part", ["a.md"]),
        ("mail me@a.md (@b.md)", []),
        ("`@a.md` and ``x ` @b.md``", []),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("~~~ text\n@a.md\n~~~", []),
        ("```\n@a.md", []),
        ("text\n\n    @a.md\n\n@b.md", ["b.md"]),
        ("text\n    @a.md", ["a.md"]),
        ("@ @", []),
        ("@a.md @a.md", ["a.md"]),
    ],
)
def test_an_import_is_an_at_sign_before_a_path_outside_of_code(text: str, expected: list[str]) -> None:
    assert find_imports(text) == expected


def test_comments_are_not_sent_and_bring_in_nothing(home: Home) -> None:
    home.put("work/shop/CLAUDE.md", "one\n<!-- hidden\n@a.md -->\ntwo\n")
    home.put("work/shop/a.md", "A")
    assert home.list_memory() == [("work/shop/CLAUDE.md", "project", "one\ntwo")]


def test_the_reminder_names_every_file_and_whose_it_is(home: Home) -> None:
    home.put("home/.claude/CLAUDE.md", "mine\n\n")
    home.put("work/shop/CLAUDE.md", "here")
    told = render_memory_reminder(load_memory_files(home.cwd, home.config, home=home.base / "home"))
    assert told.startswith(MEMORY_INTRODUCTION)
    assert (
        f"Contents of {home.config}/CLAUDE.md (user's private global instructions for all projects):\n\nmine\n\n"
        in told
    )
    assert told.endswith("(project instructions, checked into the codebase):\n\nhere")


def test_a_folder_that_can_t_be_read_is_left_out(home: Home) -> None:
    if os.name == "nt" or os.geteuid() == 0:
        home.put("work/shop/CLAUDE.md/inner", "a folder of that name")
    else:
        home.put("work/shop/CLAUDE.md", "x").chmod(0)
    assert home.list_memory() == []


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ('{"projects": {"@": {"hasClaudeMdExternalIncludesApproved": true}}}', True),
        ('{"projects": {"@": {"hasClaudeMdExternalIncludesApproved": "yes"}}}', False),
        ('{"projects": {"@": []}}', False),
        ('{"projects": 5}', False),
        ("{broken", False),
        ("[]", False),
        (None, False),
    ],
)
def test_a_person_may_agree_that_files_from_elsewhere_are_brought_in(
    home: Home, state: str | None, expected: bool
) -> None:
    if state is not None:
        home.put("home/.claude.json", state.replace("@", home.cwd.as_posix()))
    assert may_import_external(home.cwd, home.config) is expected
