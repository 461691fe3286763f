"""The tree of sessions: what belongs together, and what came from what."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.store.insight.family import (
    MAX_TREE_DEPTH,
    FamilyNode,
    FamilyRow,
    ProjectTree,
    Worktree,
    build_project_trees,
    iter_shared_messages,
    list_family_rows,
)
from turnlog.store.insight.worktrees import find_worktrees
from turnlog.store.store import Store

EMPTY = FamilyRow(0, "", "", "-p", False, 10, 1, 0, True, None, None, "/p", None, None, None, None)


def row(file: int, **fields: Any) -> FamilyRow:
    usual = {
        "session_id": f"s{file}",
        "path": f"/c/{file}",
        "started": f"2026-01-{file:02}",
        "ended": f"2026-02-{file:02}",
    }
    return EMPTY._replace(file=file, **{**usual, **fields})


def shape(nodes: Iterable[FamilyNode]) -> dict[str, Any]:
    """Sessions by their id, with what hangs below them."""
    return {node.row.session_id: shape(node.children) for node in nodes}


def shapes(projects: list[ProjectTree]) -> dict[str, dict[str, Any]]:
    return {project.path: shape(project.sessions) for project in projects}


def origin(projects: list[ProjectTree], session: str) -> tuple[Any, ...] | None:
    stack = [node for project in projects for node in project.sessions]
    while stack:
        node = stack.pop()
        if node.row.session_id == session:
            return None if node.origin is None else tuple(node.origin)
        stack += node.children
    raise LookupError(session)


def test_sessions_stand_in_their_projects_the_newest_first() -> None:
    found = build_project_trees([row(1), row(3), row(2, cwd="/q"), row(4, cwd=None, folder="-gone")])
    assert list(shapes(found).items()) == [("-gone", {"s4": {}}), ("/p", {"s3": {}, "s1": {}}), ("/q", {"s2": {}})]
    assert list(shapes(found)["/p"]) == ["s3", "s1"]
    assert [project.total for project in found] == [1, 2, 1]
    assert found[1].ended == "2026-02-03"


def test_no_sessions_are_no_tree() -> None:
    assert build_project_trees([]) == []


def test_a_project_is_as_new_as_its_newest_session_wherever_that_hangs() -> None:
    found = build_project_trees([row(1, cwd="/old"), row(9, cwd="/old", forked_from="s1"), row(5)])
    assert [project.path for project in found] == ["/old", "/p"]


def test_a_fork_hangs_below_what_it_names() -> None:
    found = build_project_trees([row(1), row(2, forked_from="s1"), row(3, forked_from="s2")], [("m", 1), ("m", 2)])
    assert shapes(found) == {"/p": {"s1": {"s2": {"s3": {}}}}}
    assert origin(found, "s2") == ("fork", "s1", 1, 1)


def test_a_fork_of_an_unknown_session_stands_by_itself_and_says_so() -> None:
    found = build_project_trees([row(1, forked_from="elsewhere"), row(2, forked_from="s2")])
    assert shapes(found) == {"/p": {"s2": {}, "s1": {}}}
    assert origin(found, "s1") == ("fork", "elsewhere", None, 0)
    assert origin(found, "s2") is None


def test_a_session_that_turnlog_made_says_how() -> None:
    found = build_project_trees([row(1), row(2), row(3, made_by="clone", forked_from="s2")])
    assert origin(found, "s3") == ("clone", "s2", 2, 0)


def test_a_copy_hangs_below_the_older_file_with_the_same_messages() -> None:
    found = build_project_trees([row(2), row(1)], [("m1", 1), ("m1", 2), ("m2", 1), ("m2", 2)])
    assert origin(found, "s2") == ("copy", "s1", 1, 2)
    assert origin(found, "s1") is None


def test_of_two_files_that_begin_alike_the_one_that_ended_first_is_older() -> None:
    same = {"started": "2026-01-01"}
    found = build_project_trees(
        [row(1, ended="2026-03-09", **same), row(2, ended="2026-03-01", **same)], [("m", 1), ("m", 2)]
    )
    assert shapes(found) == {"/p": {"s2": {"s1": {}}}}


def test_a_chain_of_resumed_files_is_a_chain() -> None:
    messages = {1: 3, 2: 6, 3: 9}
    copies = [(f"m{number}", file) for number in range(9) for file, last in messages.items() if number < last]
    assert shapes(build_project_trees([row(1), row(2), row(3)], copies)) == {"/p": {"s1": {"s2": {"s3": {}}}}}


def test_two_forks_of_one_session_hang_beside_each_other() -> None:
    copies = [("m1", 1), ("m1", 2), ("m1", 3), ("m2", 1), ("m2", 2), ("m2", 3)]
    assert shapes(build_project_trees([row(1), row(2), row(3)], copies)) == {"/p": {"s1": {"s3": {}, "s2": {}}}}


def test_files_with_the_same_first_entry_are_copies_even_without_a_message() -> None:
    found = build_project_trees([row(1, root="u"), row(2, root="u"), row(3, root="v"), row(4)])
    assert origin(found, "s2") == ("copy", "s1", 1, 0)
    assert origin(found, "s3") is None


def test_messages_count_more_than_the_first_entry() -> None:
    found = build_project_trees([row(1, root="u"), row(2, root="x"), row(3, root="u")], [("m", 2), ("m", 3)])
    assert origin(found, "s3") == ("copy", "s2", 2, 1)


def test_files_that_are_not_shown_are_no_origin() -> None:
    assert origin(build_project_trees([row(2)], [("m", 1), ("m", 2)]), "s2") is None


def test_a_copy_of_another_project_stands_in_its_own_and_says_where_from() -> None:
    found = build_project_trees([row(1, cwd="/q"), row(2, forked_from="s1")])
    assert shapes(found) == {"/p": {"s2": {}}, "/q": {"s1": {}}}
    assert origin(found, "s2") == ("fork", "s1", 1, 0)


def test_of_two_files_of_one_session_the_one_beside_it_is_the_origin() -> None:
    found = build_project_trees(
        [row(1, session_id="a", folder="-q", cwd="/q"), row(2, session_id="a"), row(3, forked_from="a")]
    )
    assert origin(found, "s3") == ("fork", "a", 2, 0)


def test_sessions_that_name_each_other_make_no_circle() -> None:
    found = build_project_trees([row(1, forked_from="s3"), row(2, forked_from="s1"), row(3, forked_from="s2")])
    assert shapes(found) == {"/p": {"s3": {"s1": {"s2": {}}}}}


def test_worktrees_of_one_repository_stand_together() -> None:
    homes = {"/p/.claude/worktrees/a": Worktree("/p", "a"), "/elsewhere": Worktree("/p", "b")}
    found = build_project_trees(
        [row(1), row(2, cwd="/p/.claude/worktrees/a", forked_from="s1"), row(3, cwd="/elsewhere")], (), homes
    )
    assert shapes(found) == {"/p": {"s3": {}, "s1": {"s2": {}}}}
    assert found[0].folders == ["/elsewhere", "/p", "/p/.claude/worktrees/a"]
    assert [node.worktree for node in found[0].sessions] == ["b", None]


def test_what_is_archived_is_marked() -> None:
    (project,) = build_project_trees([row(1), row(2, is_gone=True)], archived={"s2"})
    assert [(node.row.is_gone, node.is_archived) for node in project.sessions] == [(True, True), (False, False)]


def test_a_chain_that_nobody_could_follow_goes_on_side_by_side() -> None:
    chain = [row(n, started=f"{n:05}", ended=f"{n:05}", forked_from=f"s{n - 1}" if n else None) for n in range(3000)]
    (project,) = build_project_trees(chain)
    depth, nodes, seen = 0, project.sessions, 0
    while nodes:
        seen += len(nodes)
        depth, nodes = depth + 1, [child for node in nodes for child in node.children]
    assert (depth, seen, project.total) == (MAX_TREE_DEPTH + 1, 3000, 3000)


names = st.sampled_from(["s0", "s1", "s2", "s3", "s4", "x", None])
any_row = st.builds(
    lambda number, **fields: EMPTY._replace(file=number, path=str(number), **fields),
    st.integers(0, 9),
    session_id=st.sampled_from(["s0", "s1", "s2", "s3", "s4"]),
    started=st.sampled_from(["1", "2", None]),
    ended=st.sampled_from(["3", "4", None]),
    cwd=st.sampled_from(["/p", "/q", None]),
    root=names,
    forked_from=names,
    made_by=st.sampled_from([None, "clone", "fork"]),
)


@given(
    st.lists(any_row, max_size=10, unique_by=lambda item: item.file),
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=12, unique=True),
)
def test_every_session_is_in_the_tree_once_whatever_the_files_say(
    found: list[FamilyRow], copies: list[tuple[str, int]]
) -> None:
    projects = build_project_trees(found, sorted(copies))
    stack = [node for project in projects for node in project.sessions]
    files = []
    while stack:
        node = stack.pop()
        files.append(node.row.file)
        stack += node.children
    assert sorted(files) == sorted(item.file for item in found)
    assert sum(project.total for project in projects) == len(found)


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/r/.claude/worktrees/fix", Worktree("/r", "fix")),
        ("/r/.claude/worktrees/fix/src/deep", Worktree("/r", "fix")),
        ("C:\\r\\.claude\\worktrees\\fix", Worktree("C:\\r", "fix")),
        ("/r/.claude/worktrees", None),
        ("/r/worktrees/fix", None),
        ("relative", None),
        ("/nul\0l", None),
    ],
)
def test_a_worktree_is_known_by_its_path_even_if_it_is_gone(folder: str, expected: Worktree | None) -> None:
    assert find_worktrees([folder]).get(folder) == expected


def test_a_worktree_is_known_by_its_git_file(tmp_path: Path) -> None:
    repository, work = tmp_path / "repo", tmp_path / "elsewhere" / "fix"
    (repository / ".git" / "worktrees" / "fix").mkdir(parents=True)
    (work / "src").mkdir(parents=True)
    (work / ".git").write_text(f"gitdir: {repository}/.git/worktrees/fix\n")
    home = Worktree(str(repository), "fix")
    folders = [str(work), str(work / "src"), str(work / "src" / "gone"), str(repository)]
    assert find_worktrees(folders) == dict.fromkeys(folders[:3], home)
    (work / ".git").write_text("gitdir: ../../repo/.git/worktrees/fix")
    assert find_worktrees([str(work)]) == {str(work): home}
    (work / ".git").write_text(f"gitdir: {tmp_path}/bare.git/worktrees/fix")
    assert find_worktrees([str(work)]) == {str(work): Worktree(str(tmp_path / "bare.git"), "fix")}


@pytest.mark.parametrize("text", ["", "gitdir: ../.git/modules/x\n", "nonsense\0", "gitdir: a\n" * 1000])
def test_other_git_files_are_no_worktrees(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    assert find_worktrees([str(tmp_path)]) == {}


def test_the_index_answers_what_the_tree_asks(tmp_path: Path) -> None:
    from tests.session.build import Build

    project = tmp_path / "claude" / "projects" / "-home-dana-webshop"
    (project / "11111111-2222-4333-8444-555555555555" / "subagents").mkdir(parents=True)
    build = Build()
    build.prompt("first")
    build.answer("yes", id="m1")
    build.note("tag", tag="urgent")
    build.write(project, "11111111-2222-4333-8444-555555555555")
    (project / "11111111-2222-4333-8444-555555555555" / "subagents" / "agent-a1b2c3d.jsonl").write_bytes(build.data())
    build.prompt("second", forkedFrom={"sessionId": "11111111-2222-4333-8444-555555555555"})
    build.write(project, "22222222-2222-4333-8444-555555555555")
    (project / "33333333-2222-4333-8444-555555555555.jsonl").write_bytes(b"")
    with Store.open(tmp_path / "data") as store:
        store.refresh([tmp_path / "claude"])
        found = {item.session_id[:4]: item for item in list_family_rows(store.db)}
        (result,) = build_project_trees([found["1111"], found["2222"]], iter_shared_messages(store.db))
    assert (found["1111"].title, found["1111"].tag, found["1111"].agents) == ("first", "urgent", 1)
    assert (found["1111"].prompts, found["1111"].talks, found["1111"].cwd) == (1, True, "/home/dana/webshop")
    assert not found["3333"].talks
    assert found["2222"].forked_from == found["1111"].session_id
    (top,) = result.sessions
    assert top.children[0].origin == ("fork", found["1111"].session_id, found["1111"].file, 1)
