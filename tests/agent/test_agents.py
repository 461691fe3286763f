"""Kinds of sub-agents: built in, of the person, of the project; and the heads of the files that describe them."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnlog.agent import frontmatter
from turnlog.agent.briefing.agents import BUILT_IN_AGENT_TYPES, load_agent_types


def put(folder: Path, name: str, text: str) -> None:
    path = folder / "agents" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_three_kinds_are_built_in(tmp_path: Path) -> None:
    found = load_agent_types(tmp_path, tmp_path / "config")
    assert list(found) == ["general-purpose", "Explore", "Plan"]
    assert found["general-purpose"].tools is None
    assert "Edit" not in (found["Explore"].tools or ())
    assert "Read" in (found["Explore"].tools or ())


def test_what_is_built_in_tells_when_to_use_it_and_what_to_report() -> None:
    assert all(kind.description and "report" in kind.prompt for kind in BUILT_IN_AGENT_TYPES)


def test_a_file_describes_a_kind(tmp_path: Path) -> None:
    put(
        tmp_path / ".claude",
        "r.md",
        "---\nname: reviewer\ndescription: Reviews.\ntools: Read, Grep\nmodel: haiku\n---\nBe strict.\n",
    )
    kind = load_agent_types(tmp_path, tmp_path / "config")["reviewer"]
    assert (kind.description, kind.prompt, kind.tools, kind.model) == (
        "Reviews.",
        "Be strict.",
        ("Read", "Grep"),
        "haiku",
    )


def test_a_kind_without_tools_gets_all_and_one_that_inherits_gets_the_model_of_the_session(tmp_path: Path) -> None:
    put(tmp_path / ".claude", "a.md", "---\nname: a\ndescription: A\nmodel: inherit\n---\nA.")
    put(tmp_path / ".claude", "b.md", "---\nname: b\ndescription: B\ntools: '*'\n---\nB.")
    found = load_agent_types(tmp_path, tmp_path / "config")
    assert (found["a"].tools, found["a"].model, found["b"].tools) == (None, None, None)


def test_the_project_wins_over_the_person_and_they_over_what_is_built_in(tmp_path: Path) -> None:
    config, project = tmp_path / "config", tmp_path / "project"
    inner = project / "inner"
    (project / ".git").mkdir(parents=True)
    inner.mkdir()
    put(config, "e.md", "---\nname: Explore\ndescription: mine\n---\nx")
    put(config, "p.md", "---\nname: p\ndescription: mine\n---\nx")
    put(project / ".claude", "p.md", "---\nname: p\ndescription: the project's\n---\nx")
    put(tmp_path / ".claude", "o.md", "---\nname: outside\ndescription: of no repository\n---\nx")
    found = load_agent_types(inner, config)
    assert (found["Explore"].description, found["p"].description) == ("mine", "the project's")
    assert "outside" not in found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("---\nname: x\n---\nno description", "it has no description"),
        ("---\ndescription: x\n---\nno name", "it has no name"),
        ("no head: notes of somebody", None),
        ("", None),
    ],
)
def test_a_file_that_describes_nothing_is_left_out_and_told_of(tmp_path: Path, text: str, told: str | None) -> None:
    put(tmp_path / ".claude", "x.md", text)
    warnings: list[str] = []
    assert len(load_agent_types(tmp_path, tmp_path / "config", warnings.append)) == len(BUILT_IN_AGENT_TYPES)
    path = tmp_path / ".claude" / "agents" / "x.md"
    assert warnings == ([f"{path}: {told}; the sub-agent is skipped"] if told else [])


def test_a_file_that_is_no_text_does_no_harm(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "x.md").write_bytes(b"---\nname: \xff\ndescription: \x00\n---\n\xfe")
    (folder / "dir.md").mkdir()
    assert "Explore" in load_agent_types(tmp_path, tmp_path / "config")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("a: b", {"a": "b"}),
        ("a: 'it''s'", {"a": "it's"}),
        ('a: "x\\ny"', {"a": "x\ny"}),
        ("a: [x, 'y z']", {"a": ["x", "y z"]}),
        ("a:\n  - x\n  - y", {"a": ["x", "y"]}),
        ("a:\n- x\n- y\nb: c", {"a": ["x", "y"], "b": "c"}),
        ("a: >\n  one\n  two\nb: c", {"a": "one two", "b": "c"}),
        ("a: |\n  one\n  two", {"a": "one\ntwo"}),
        ("a: one\n  two", {"a": "one two"}),
        ("a: b: c", {"a": "b: c"}),
        ("a:", {"a": ""}),
        ("# comment\na: b", {"a": "b"}),
    ],
)
def test_the_head_of_a_file_is_read(head: str, expected: dict[str, str | list[str]]) -> None:
    document = frontmatter.split_frontmatter(f"---\n{head}\n---\nbody")
    assert document == (expected, "body")


def test_a_file_without_a_head_or_with_an_open_one_is_all_body() -> None:
    assert frontmatter.split_frontmatter("a: b").fields == {}
    assert frontmatter.split_frontmatter("---\na: b\n").body == "---\na: b\n"


def test_fields_are_read_as_text_or_as_list() -> None:
    document = frontmatter.split_frontmatter("---\na: x, y\nb: [x, y]\n---\n")
    assert (document.get_items("a"), document.get_text("b"), document.get_items("c"), document.get_text("c")) == (
        ["x", "y"],
        "x, y",
        None,
        "",
    )
