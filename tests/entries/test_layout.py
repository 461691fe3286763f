"""Where sessions, their sub-agents and all that belongs to them lie."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.bound import permissions_bind, posix
from tests.entries.trees import OTHER, SID, row, write
from turnlog.entries.agents import (
    list_agent_files,
    list_agents_by_session,
    list_loose_agents,
    read_agent_meta,
    read_agent_owner,
)
from turnlog.entries.belongings import list_belongings, read_custom_title, read_history
from turnlog.entries.layout import (
    Survey,
    describe_other_file,
    find_config_dirs,
    find_state_file,
    is_missing,
    is_session_id,
    list_config_candidates,
    list_folder,
    list_project_folders,
    list_project_sessions,
    list_session_files,
    list_unfinished_ids,
    scan_folder,
)
from turnlog.entries.transcript_files import list_other_transcripts, list_transcripts
from turnlog.errors import Unreadable

Walk = Callable[[Path, Survey], Iterable[object]]
links = pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")


def test_without_a_word_in_the_environment_the_usual_folders_are_candidates(tmp_path: Path) -> None:
    usual = [tmp_path / ".claude", tmp_path / ".config" / "claude"]
    assert list_config_candidates({}, tmp_path, "linux") == usual
    assert list_config_candidates({"HOME": str(tmp_path)}, None, "linux") == usual
    xdg = {"XDG_CONFIG_HOME": str(tmp_path / "x")}
    assert list_config_candidates(xdg, tmp_path, "darwin") == [tmp_path / ".claude", tmp_path / "x" / "claude"]


def test_windows_has_one_usual_folder(tmp_path: Path) -> None:
    environ = {"USERPROFILE": str(tmp_path), "HOME": "/elsewhere", "XDG_CONFIG_HOME": "/x"}
    assert list_config_candidates(environ, None, "win32") == [tmp_path / ".claude"]


def test_the_home_of_the_machine_is_the_last_resort() -> None:
    assert list_config_candidates({}, None, "linux")[0] == Path.home() / ".claude"
    assert list_config_candidates()[0] == Path.home() / ".claude"


@pytest.mark.parametrize(("platform", "separator"), [("linux", ","), ("linux", ":"), ("win32", ";"), ("win32", ",")])
def test_the_environment_may_name_several_folders(platform: str, separator: str) -> None:
    environ = {"CLAUDE_CONFIG_DIR": f"one{separator} two {separator}{separator}~/three"}
    assert list_config_candidates(environ, Path("home"), platform) == [
        Path("one"),
        Path("two"),
        Path("home/three"),
    ]


def test_a_value_that_is_a_folder_is_one_folder_as_for_the_client(tmp_path: Path) -> None:
    named = tmp_path / "a,b"
    named.mkdir()
    assert find_config_dirs({"CLAUDE_CONFIG_DIR": str(named)}, tmp_path) == [named]


def test_a_blank_value_names_nothing(tmp_path: Path) -> None:
    assert list_config_candidates({"CLAUDE_CONFIG_DIR": " "}, tmp_path, "linux")[0] == tmp_path / ".claude"


def test_only_existing_folders_are_given_and_each_once(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / "more").mkdir()
    further: list[str | Path] = [
        tmp_path / "more",
        "~/more",
        tmp_path / ".claude" / ".." / ".claude",
        "~",
        tmp_path / "none",
    ]
    assert find_config_dirs({}, tmp_path, "linux", further) == [tmp_path / ".claude", tmp_path / "more", tmp_path]


def test_session_files_are_uuids_directly_in_a_project_folder(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-home-alice"
    main = write(project / f"{SID}.jsonl", row())
    write(project / "agent-a123456.jsonl", row())
    write(project / "notes.jsonl", row())
    write(project / f"{SID}.jsonl.bak", row())
    write(project / SID / "subagents" / f"{OTHER}.jsonl", row())
    write(tmp_path / "projects" / f"{OTHER}.jsonl", row())
    (project / f"{OTHER}.jsonl").mkdir()
    [found] = list_session_files(tmp_path)
    assert (found.path, found.session_id, found.is_symlink) == (main, SID, False)
    assert (found.project_dir, found.config_dir) == (project, tmp_path)
    assert (found.size, found.mtime_ns) == (main.stat().st_size, main.stat().st_mtime_ns)
    assert list(list_project_sessions(project)) == [found]


def test_a_config_folder_without_projects_is_empty(tmp_path: Path) -> None:
    assert list(list_session_files(tmp_path)) == []
    assert list_project_folders(tmp_path / "none") == []


@links
def test_linked_sessions_are_followed_and_reported(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "p"
    target = write(tmp_path / "elsewhere" / "file", row())
    project.mkdir(parents=True)
    (project / f"{SID}.jsonl").symlink_to(target)
    (project / f"{OTHER}.jsonl").symlink_to(tmp_path / "gone")
    loop = project / "00000000-2222-4333-8444-555555555555.jsonl"
    loop.symlink_to(loop)
    [found] = list_session_files(tmp_path)
    assert (found.session_id, found.is_symlink, found.size) == (SID, True, target.stat().st_size)


@links
def test_a_linked_project_folder_counts_once(tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    write(folder / "b" / f"{SID}.jsonl", row())
    write(tmp_path / "outside" / f"{OTHER}.jsonl", row())
    (folder / "a").symlink_to(folder / "b")
    (folder / "c").symlink_to(tmp_path / "outside")
    (folder / "d").symlink_to(tmp_path / "outside")
    (folder / "loop").symlink_to(folder / "loop")
    assert list_project_folders(tmp_path) == [folder / "b", folder / "c"]
    assert [session.session_id for session in list_session_files(tmp_path)] == [SID, OTHER]


def test_a_session_id_is_told_by_its_form() -> None:
    assert is_session_id(SID)
    assert is_session_id(SID.upper())
    assert not is_session_id(SID[:-1])
    assert not is_session_id(SID + "\n")


def test_sub_agents_are_found_in_every_layout(tmp_path: Path) -> None:
    inside = tmp_path / SID / "subagents"
    write(inside / "agent-a0123456789abcdef.jsonl", row())
    write(inside / "agent-a0123456789abcdef.meta.json", b'{"agentType":"Explore"}')
    write(inside / "agent-aprompt_suggestion-ddda9b.jsonl", row())
    write(inside / "agent-acompact-fffbd0.jsonl", row())
    write(inside / "agent-aresearcher-fffbd0.jsonl", row())
    write(inside / "workflows" / "wf_1" / "agent-a2.jsonl", row())
    write(inside / "workflows" / "wf_1" / "journal.jsonl", row())
    write(inside / "workflows" / "not-a-folder", b"")
    write(inside / "notes.txt", b"")
    (inside / "agent-folder.jsonl").mkdir()
    write(tmp_path / "agent-a77.jsonl", row(isSidechain=True))
    write(tmp_path / "agent-a88.jsonl", row(isSidechain=True, sessionId=OTHER))
    write(tmp_path / "subagents" / "agent-a99.jsonl", row(isSidechain=True))

    agents = list_agent_files(tmp_path / f"{SID}.jsonl")
    assert [(agent.agent_id, agent.kind, agent.workflow_id) for agent in agents] == [
        ("a0123456789abcdef", "subagent", None),
        ("acompact-fffbd0", "compact", None),
        ("aprompt_suggestion-ddda9b", "prompt_suggestion", None),
        ("aresearcher-fffbd0", "subagent", None),
        ("a2", "workflow", "wf_1"),
        ("a77", "subagent", None),
        ("a99", "subagent", None),
    ]
    assert [agent.path for agent in agents if agent.meta_path] == [inside / "agent-a0123456789abcdef.jsonl"]
    assert read_agent_meta(agents[0].meta_path) == {"agentType": "Explore"}

    by_session = list_agents_by_session(tmp_path)
    assert by_session[SID] == agents
    assert [agent.agent_id for agent in by_session[OTHER]] == ["a88"]
    assert list_agent_files(tmp_path / f"{OTHER}.jsonl", list_loose_agents(tmp_path)) == by_session[OTHER]


def test_a_loose_agent_belongs_to_the_session_it_ends_up_in(tmp_path: Path) -> None:
    """When 2.0.x resumes, it starts under the id of an empty file; the later entries name the session."""
    write(tmp_path / "agent-a1.jsonl", row(isSidechain=True, sessionId=OTHER), row(isSidechain=True))
    write(tmp_path / "agent-a2.jsonl", b"no json at all\n")
    assert {key: [agent.agent_id for agent in agents] for key, agents in list_loose_agents(tmp_path).items()} == {
        SID: ["a1"],
        "": ["a2"],
    }


def test_a_warm_up_agent_is_told_by_its_prompt(tmp_path: Path) -> None:
    write(tmp_path / "agent-a1.jsonl", row(content="Warmup", isSidechain=True))
    write(tmp_path / "agent-a2.jsonl", row(content="Warmup of the engine", isSidechain=True))
    write(tmp_path / "agent-a3.jsonl", row(kind="assistant", isSidechain=True))
    write(tmp_path / "agent-a4.jsonl", row(content="Warmup"))
    assert [agent.kind for agent in list_loose_agents(tmp_path)[SID]] == ["warm-up", *["subagent"] * 3]


@links
def test_linked_agents_are_reported_and_linked_folders_not_entered(tmp_path: Path) -> None:
    target = write(tmp_path / "outside" / "agent-a1.jsonl", row(isSidechain=True))
    project = tmp_path / "project"
    inside = project / SID / "subagents"
    inside.mkdir(parents=True)
    (inside / "agent-a1.jsonl").symlink_to(target)
    (inside / "agent-a2.jsonl").symlink_to(tmp_path / "gone")
    (inside / "agent-a3.jsonl").symlink_to(inside / "agent-a3.jsonl")
    (inside / "workflows").mkdir()
    (inside / "workflows" / "wf").symlink_to(inside)
    (project / OTHER).symlink_to(project / SID)
    (project / "subagents").symlink_to(tmp_path / "outside")
    assert [(agent.agent_id, agent.is_symlink) for agent in list_agent_files(project / f"{SID}.jsonl")] == [
        ("a1", True)
    ]
    assert list_agent_files(project / f"{OTHER}.jsonl") == []
    assert list(list_agents_by_session(project)) == [SID]
    (project / SID / "subagents").rename(project / "moved")
    (project / SID / "subagents").symlink_to(project / "moved")
    assert list_agent_files(project / f"{SID}.jsonl") == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_agents_that_vanish_or_are_pipes_do_no_harm(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "agent-a1.jsonl")
    assert list_loose_agents(tmp_path) == {}


def test_an_agent_that_cannot_be_read_belongs_to_nobody(tmp_path: Path) -> None:
    assert read_agent_owner(tmp_path / "agent-gone.jsonl") == ("", False)


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"a":', b"\xff", b"[" * 10_000])
def test_a_broken_meta_file_says_nothing(tmp_path: Path, content: bytes) -> None:
    assert read_agent_meta(write(tmp_path / "m.json", content)) == {}
    assert read_agent_meta(tmp_path / "none") == {}
    assert read_agent_meta(None) == {}


def test_everything_that_belongs_to_a_session_is_listed(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "p"
    inside = project / SID
    files = {
        "subagents": [
            write(inside / "subagents" / "agent-a1.jsonl"),
            write(inside / "subagents" / "w" / "j.jsonl"),
        ],
        "tool_results": [write(inside / "tool-results" / "b1.txt")],
        "workflows": [
            write(inside / "workflows" / "scripts" / "s.js"),
            write(inside / "workflows" / "wf.json"),
        ],
        "file_history": [write(tmp_path / "file-history" / SID / "0123@v1")],
        "todos": [
            write(tmp_path / "todos" / f"{SID}-agent-a1.json"),
            write(tmp_path / "todos" / f"{SID}.json"),
        ],
        "tasks": [write(tmp_path / "tasks" / SID / ".lock"), write(tmp_path / "tasks" / SID / "1.json")],
        "plans": [write(tmp_path / "plans" / "merry-heron.md")],
        "other": [
            write(inside / "new-thing" / "x").parent,
            write(tmp_path / "image-cache" / SID / "1.png").parent,
            write(tmp_path / "jobs" / f"{SID}.json"),
        ],
    }
    single = {
        "session_dir": inside,
        "custom_title": write(inside / "custom-title.json", b'{"customTitle":"mine"}'),
        "resume_head": write(inside / "resume-head.jsonl"),
        "session_env": write(tmp_path / "session-env" / SID / "x").parent,
        "debug": write(tmp_path / "debug" / f"{SID}.txt"),
    }
    loose = write(project / "agent-a7.jsonl", row())
    write(tmp_path / "todos" / f"{OTHER}-agent-{OTHER}.json")
    write(tmp_path / "jobs" / f"{OTHER}.json")
    write(tmp_path / "settings.json", b"{}")

    found = list_belongings(
        tmp_path, project, SID, plans=["merry-heron", "none", "..", "../todos", "a/b", ""]
    )._asdict()
    assert found.pop("loose_agents") == (loose,)
    assert {name: list(found.pop(name)) for name in files} == files
    assert found == single
    assert read_custom_title(single["custom_title"]) == "mine"
    assert list_belongings(tmp_path, project, SID, loose={}).loose_agents == ()


def test_a_session_without_belongings_has_none(tmp_path: Path) -> None:
    assert not any(list_belongings(tmp_path, tmp_path / "projects" / "p", SID))


@links
def test_linked_folders_of_a_session_are_not_entered(tmp_path: Path) -> None:
    target = write(tmp_path / "outside" / "secret.txt").parent
    inside = tmp_path / "projects" / "p" / SID
    inside.mkdir(parents=True)
    (inside / "tool-results").symlink_to(target)
    assert list_belongings(tmp_path, inside.parent, SID).tool_results == ()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"customTitle":5}'])
def test_a_broken_title_file_has_no_title(tmp_path: Path, content: bytes) -> None:
    assert read_custom_title(write(tmp_path / "t.json", content)) is None
    assert read_custom_title(tmp_path / "none") is None
    assert read_custom_title(None) is None


def test_history_gives_the_lines_of_one_session_or_all(tmp_path: Path) -> None:
    mine, theirs = {"display": "hi", "sessionId": SID}, {"display": "ho", "sessionId": OTHER}
    write(tmp_path / "history.jsonl", mine, b"broken\n\n[1]\n", theirs, json.dumps(mine).encode())
    assert list(read_history(tmp_path, SID)) == [mine, mine]
    assert list(read_history(tmp_path)) == [mine, theirs, mine]
    assert list(read_history(tmp_path / "none")) == []


@pytest.mark.corpus
def test_the_sub_agents_of_the_recorded_sessions_are_all_found(corpus: Path) -> None:
    """Every agent file of the six versions belongs to exactly one session."""
    lab = corpus / "lab"
    for config_dir in sorted(lab.glob("*/*")):
        expected = sorted(path for path in config_dir.rglob("agent-*.jsonl"))
        found = [
            agent
            for project in list_project_folders(config_dir)
            for agents in list_agents_by_session(project).values()
            for agent in agents
        ]
        assert sorted(agent.path for agent in found) == expected
        named = {session.session_id for session in list_session_files(config_dir)}
        assert all(
            key in named for project in list_project_folders(config_dir) for key in list_agents_by_session(project)
        )
        assert all(read_agent_meta(agent.meta_path).get("toolUseId") for agent in found if agent.meta_path)


@pytest.mark.corpus
def test_nothing_in_a_recorded_session_folder_is_unknown(corpus: Path) -> None:
    counted = {"file_history": 0, "todos": 0, "tasks": 0, "tool_results": 0, "custom_title": 0}
    for config_dir in sorted((corpus / "lab").glob("*/*")):
        for session in list_session_files(config_dir):
            found = list_belongings(config_dir, session.project_dir, session.session_id)
            assert found.other == ()
            for name in counted:
                counted[name] += bool(getattr(found, name))
        expected = (
            [json.loads(line) for line in (config_dir / "history.jsonl").read_text().splitlines()]
            if (config_dir / "history.jsonl").exists()
            else []
        )
        assert list(read_history(config_dir)) == expected
    assert all(counted.values()), counted


def test_sessions_that_are_being_made_are_known_by_their_notes(tmp_path: Path) -> None:
    own = "0ddba111-2222-4333-8444-555555555555"
    for name in (f".turnlog-making-{own}", ".turnlog-making-../x".replace("/", "_"), f"{own}.jsonl"):
        (tmp_path / name).touch()
    assert list_unfinished_ids(tmp_path) == [own]


# -- what can't be looked at


@pytest.fixture
def locked_neighbor(tmp_path: Path) -> Iterator[Path]:
    """A config folder beside one that nobody may look into."""
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked").chmod(0)
    with permissions_bind():
        yield tmp_path
    (tmp_path / "locked").chmod(0o700)


@posix
def test_a_config_folder_that_cannot_be_looked_at_is_not_a_missing_one(locked_neighbor: Path) -> None:
    inside = locked_neighbor / "locked" / "claude"
    assert find_config_dirs({"CLAUDE_CONFIG_DIR": str(inside)}, locked_neighbor) == [inside]
    assert find_config_dirs({"CLAUDE_CONFIG_DIR": str(locked_neighbor / "none")}, locked_neighbor) == []
    assert find_config_dirs({"CLAUDE_CONFIG_DIR": "a\0b"}, locked_neighbor) == []


@posix
def test_a_survey_tells_what_cannot_be_listed_from_what_is_not_there(locked_neighbor: Path) -> None:
    survey = Survey()
    assert (
        scan_folder(locked_neighbor / "locked", survey)
        == scan_folder(locked_neighbor / "none", survey)
        == scan_folder(locked_neighbor / "locked")
        == []
    )
    assert survey.folders == [str(locked_neighbor / "locked"), str(locked_neighbor / "none")]
    assert list(map(str, survey.unlisted)) == [f"{locked_neighbor / 'locked'}: Permission denied"]
    assert survey.hides(str(locked_neighbor / "locked" / "any"))
    assert survey.hides(str(locked_neighbor / "locked"))
    assert not survey.hides(str(locked_neighbor / "locked-not"))


@posix
def test_links_into_a_folder_that_cannot_be_looked_at_are_noted(locked_neighbor: Path) -> None:
    project = locked_neighbor / "projects" / "-p"
    project.mkdir(parents=True)
    (locked_neighbor / "projects" / "-linked").symlink_to(locked_neighbor / "locked" / "project")
    (project / f"{SID}.jsonl").symlink_to(locked_neighbor / "locked" / "session")
    (project / "other.jsonl").symlink_to(locked_neighbor / "locked" / "other")
    survey = Survey()
    assert list(list_session_files(locked_neighbor, survey)) == []
    noted = {item.path for item in survey.unlisted}
    assert noted == {str(locked_neighbor / "projects" / "-linked"), str(project / f"{SID}.jsonl")}
    assert survey.others == []
    again = Survey()
    assert list(list_transcripts(locked_neighbor, again)) == []
    assert {item.path for item in again.unlisted} == noted


@posix
def test_a_path_is_missing_only_where_that_is_known(locked_neighbor: Path) -> None:
    assert is_missing(locked_neighbor / "none")
    assert is_missing(locked_neighbor / "none" / "below")
    assert not is_missing(locked_neighbor)
    assert not is_missing(locked_neighbor / "locked" / "any")


@posix
def test_a_folder_that_must_be_listed_is_unreadable_where_it_cannot_be(locked_neighbor: Path) -> None:
    assert [item.name for item in list_folder(locked_neighbor)] == ["locked"]
    assert list_folder(locked_neighbor / "none") == []
    with pytest.raises(Unreadable, match="locked: Permission denied"):
        list_folder(locked_neighbor / "locked")


def test_files_with_other_names_are_noted(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-p"
    (project / "folder.jsonl").mkdir(parents=True)
    for name in (f"{SID}.jsonl", "agent-a.jsonl", "notes.jsonl", "notes.txt"):
        (project / name).write_bytes(b"")
    walks: tuple[Walk, ...] = (list_session_files, list_transcripts)
    for walk in walks:
        survey = Survey()
        list(walk(tmp_path, survey))
        assert survey.others == [str(project / "notes.jsonl")]


def test_other_files_are_listed_as_if_their_names_were_ids(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-p"
    project.mkdir(parents=True)
    for name in (f"{SID}.jsonl", "notes.jsonl"):
        (project / name).write_bytes(b"12")
    (item,) = list_other_transcripts(tmp_path)
    assert (item.path, item.kind, item.session, item.size) == (str(project / "notes.jsonl"), "session", "notes", 2)
    found = describe_other_file(item.path)
    assert found is not None
    assert (found.session_id, found.project_dir, found.config_dir, found.size) == ("notes", project, tmp_path, 2)
    assert describe_other_file(str(project / "gone.jsonl")) is None


# -- the client's state file


def test_the_state_file_is_in_the_config_folder_or_beside_the_usual_one(tmp_path: Path) -> None:
    usual, other = tmp_path / ".claude", tmp_path / "other"
    usual.mkdir()
    other.mkdir()
    assert find_state_file(usual) is None
    (tmp_path / ".claude.json").write_text("{}")
    assert find_state_file(usual) == tmp_path / ".claude.json"
    assert find_state_file(other) is None
    (usual / ".claude.json").write_text("{}")
    assert find_state_file(usual) == usual / ".claude.json"


@posix
def test_files_that_a_session_may_have_in_a_locked_folder_are_no_secret(tmp_path: Path) -> None:
    """Copying or deleting such a session is refused; views name the folder."""
    session = "11111111-2222-4333-8444-555555555555"
    locked = tmp_path / "file-history" / session
    locked.mkdir(parents=True)
    locked.chmod(0)
    with permissions_bind():
        with pytest.raises(Unreadable, match=f"{session}: Permission denied; files of session {session} may be there"):
            list_belongings(tmp_path, tmp_path / "projects" / "-a", session)
        survey = Survey()
        assert list_belongings(tmp_path, tmp_path / "projects" / "-a", session, survey=survey).file_history == ()
        assert [item.path for item in survey.unlisted] == [str(locked)]
    locked.chmod(0o700)
