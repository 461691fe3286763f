"""The functions that read: what they return, what they say meanwhile, and how they fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

import turnlog
from tests.session.build import Build
from turnlog.errors import Ambiguous, NotFound, Refused, TurnlogError, UsageError

FUNCTIONS = [name for name in turnlog.__all__ if inspect.isfunction(getattr(turnlog, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_is_typed_and_named_like_no_room(name: str) -> None:
    signature = inspect.signature(getattr(turnlog, name))
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(item.annotation is not inspect.Parameter.empty for item in signature.parameters.values())
    assert not (Path(turnlog.__file__).parent / name).is_dir()


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "empty" / "projects").mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "empty"))
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return tmp_path / "empty"


@pytest.mark.parametrize("name", ["list_sessions", "build_session_tree", "report_usage", "diagnose_machine"])
def test_a_machine_without_sessions_has_the_demo_and_says_so(name: str, empty_machine: Path) -> None:
    notices: list[str] = []
    getattr(turnlog, name)(notify=notices.append)
    assert notices == ["There are no Claude Code sessions on this machine; showing a made-up demo."]


def test_pages_of_sessions_join_to_the_whole_list(shop: Path) -> None:
    whole = turnlog.list_sessions()
    pages = [turnlog.list_sessions(limit=3, page=number + 1) for number in range(-(-whole.total // 3))]
    assert [session for page in pages for session in page.sessions] == whole.sessions
    assert {(page.total, page.pages) for page in pages} == {(whole.total, len(pages))}
    assert [session.active for session in whole.sessions] == sorted(
        (session.active for session in whole.sessions), reverse=True
    )


def test_a_short_id_opens_its_session(shop: Path) -> None:
    for session in turnlog.list_sessions().sessions:
        with turnlog.open(session.short_id or "") as found:
            assert str(found.path) == session.path


def test_a_setting_leads_to_other_config_folders(shop: Path, empty_machine: Path) -> None:
    config = turnlog.load_config(config_dirs=(str(shop),))
    assert not any(session.demo for session in turnlog.list_sessions(config=config).sessions)
    assert turnlog.search_sessions("rounding", config=config).total.hits


def test_days_may_be_dates_or_words(shop: Path) -> None:
    whole = turnlog.report_usage("daily", timezone="UTC")
    first = date.fromisoformat(whole.rows[0].labels["day"])
    later = turnlog.report_usage("daily", since=first, until=first, timezone="UTC")
    assert [row.labels["day"] for row in later.rows] == [first.isoformat()]
    assert turnlog.count_tools(since=first).total.calls == turnlog.count_tools(since=first.isoformat()).total.calls


def test_a_scan_reports_its_progress_and_what_it_read(shop: Path) -> None:
    turnlog.update_index()
    steps: list[tuple[int, int]] = []
    found = turnlog.search_sessions(substring="rounding", scan_progress=lambda *step: steps.append(step))
    assert found.scan is not None
    assert (found.scan.files > 0, found.scan.interrupted, bool(found.sessions)) == (True, False, True)
    assert all(0 <= done <= total for done, total in steps)


def test_matches_are_where_the_ranges_say(shop: Path) -> None:
    found = turnlog.search_sessions(regex="[Rr]ounding", limit=3)
    hits = [hit for session in found.sessions for hit in session.hits]
    assert hits
    assert {hit.text[start:end].lower() for hit in hits if hit.text for start, end in hit.ranges} == {"rounding"}


def test_a_redacted_description_has_the_paths_of_the_original(shop: Path, tmp_path: Path) -> None:
    build = Build()
    build.prompt("use ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6")
    path = build.write(tmp_path)
    found = turnlog.describe_session(path, redact=True)
    assert found.path == str(path)
    assert "[secret:github:1]" in found.turns[0].text


def test_pieces_of_a_file_cover_all_of_its_bytes(shop: Path, tmp_path: Path) -> None:
    build = Build()
    build.prompt("hello")
    path = tmp_path / "a.jsonl"
    path.write_bytes(build.data() + b'not json\n{"torn":')
    pieces = list(turnlog.list_file_pieces(path))
    assert sum(piece.size for piece in pieces) == path.stat().st_size
    assert [(piece.line, piece.kind) for piece in pieces] == [(1, "user"), (2, "(broken)"), (3, "(torn)")]


def test_the_events_of_a_session_include_those_of_its_sub_agents_in_the_order_of_time(tmp_path: Path) -> None:
    build, agent = Build(), Build()
    build.prompt("go")
    build.call("c1", "Agent", {"description": "job"})
    build.wait(200)
    build.result("c1", toolUseResult={"agentId": "a1"})
    agent.wait(90)
    agent.prompt("explore", isSidechain=True, agentId="a1")
    path = build.write(tmp_path)
    file = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(agent.data())
    found = [turnlog.to_document(event) for event in turnlog.iter_events(path)]
    assert [(event["actor"], event["event"]) for event in found] == [
        ("main", "session-start"),
        ("main", "prompt"),
        ("main", "call"),
        ("main", "agent-start"),
        ("a1", "prompt"),
        ("main", "result"),
        ("main", "agent-finish"),
    ]
    assert next(iter(found[0])) == "event"


def test_a_file_is_restored_only_where_it_is_told_to(shop: Path) -> None:
    versions = turnlog.list_versions("cart.py", session="22161731")
    turn = next(version.turn for version in versions.versions if version.action == "edit")
    assert turnlog.restore_file("cart.py", session="22161731", at=turn).output is None
    assert list(Path.cwd().iterdir()) == []
    Path("old.py").write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        turnlog.restore_file("cart.py", session="22161731", at=turn, output="old.py")
    done = turnlog.restore_file("cart.py", session="22161731", at=turn, output="old.py", force=True)
    assert Path("old.py").read_bytes() == done.data
    assert done.kept is not None
    assert Path(done.kept).read_text() == "mine"


def test_a_rebuilt_index_answers_as_before(shop: Path) -> None:
    before = turnlog.search_sessions("rounding")
    assert turnlog.rebuild_index().refreshed.files > 0
    assert turnlog.search_sessions("rounding").total == before.total
    assert turnlog.compact_index().sessions == turnlog.read_index_status().sessions
    assert turnlog.verify_index().faults == []


def test_a_lost_session_is_found_and_salvaged(shop: Path) -> None:
    name = "aaaaaaaa-0000-4000-8000-000000000001"
    with (shop / "history.jsonl").open("a") as file:
        file.write(f'{{"display":"fix it","project":"/home/dana/webshop","sessionId":"{name}"}}\n')
    assert name in {lost.session_id for lost in turnlog.list_lost_sessions().sessions}
    assert [typed.text for typed in turnlog.find_remains("aaaaaaaa").typed] == ["fix it"]
    done = turnlog.salvage_session("aaaaaaaa")
    with turnlog.open(Path(done.path)) as session:
        assert [turn.text for turn in session.turns] == ["fix it"]


FAILURES: list[tuple[Callable[[], object], type[TurnlogError], str]] = [
    (lambda: turnlog.list_sessions("no such"), UsageError, "no session has this project"),
    (lambda: turnlog.list_sessions(page=9), UsageError, "there is 1 page"),
    (lambda: turnlog.build_session_tree("no such"), UsageError, "no session has this project"),
    (lambda: turnlog.search_sessions(""), UsageError, "nothing to search for"),
    (lambda: turnlog.search_sessions(substring="a", regex="b"), UsageError, "not both"),
    (lambda: turnlog.search_sessions(regex="("), UsageError, "unterminated"),
    (lambda: turnlog.report_usage(since="someday"), UsageError, "someday"),
    (lambda: turnlog.count_tools("last", project="webshop"), UsageError, "can't be combined with SESSION"),
    (lambda: turnlog.describe_context("last", turn=99), UsageError, "this conversation has turns"),
    (lambda: turnlog.describe_context("last", branch="99"), UsageError, "this session has branches"),
    (lambda: turnlog.describe_session("no such session"), NotFound, "no session is called"),
    (lambda: turnlog.list_messages(Path("nowhere.jsonl")), TurnlogError, "nowhere.jsonl"),
    (lambda: list(turnlog.list_file_pieces("nowhere.jsonl")), TurnlogError, "nowhere.jsonl"),
    (lambda: turnlog.iter_events(Path("nowhere.jsonl")), TurnlogError, "nowhere.jsonl"),
    (lambda: turnlog.iter_events("no such session"), NotFound, "no session is called"),
    (lambda: turnlog.restore_file("cart.py"), UsageError, "use either"),
    (lambda: turnlog.list_versions("no-such-file.py"), NotFound, "no session touched this file"),
    (lambda: turnlog.check_session("."), NotFound, "no .jsonl files"),
    (lambda: turnlog.diagnose_session("no such session"), NotFound, "no session is called"),
    (lambda: turnlog.find_remains("ffffffff"), NotFound, "no lost session matches"),
]


@pytest.mark.parametrize("number", range(len(FAILURES)))
def test_a_failure_is_one_line_that_says_what_is_wrong(number: int, shop: Path) -> None:
    call, kind, words = FAILURES[number]
    with pytest.raises(kind) as failure:
        call()
    assert words in str(failure.value)
    assert "\n" not in str(failure.value)


def test_a_start_of_several_ids_is_ambiguous(shop: Path) -> None:
    for end in "12":
        build = Build()
        build.prompt("hello")
        name = f"aaaaaaaa-0000-4000-8000-00000000000{end}"
        (shop / "projects" / "-home-dana" / f"{name}.jsonl").parent.mkdir(exist_ok=True)
        (shop / "projects" / "-home-dana" / f"{name}.jsonl").write_bytes(build.data())
    with pytest.raises(Ambiguous, match="matches 2 sessions"):
        turnlog.describe_session("aaaaaaaa")


def test_a_session_that_the_client_would_not_resume_is_refused_by_name(shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "aaaaaaaa-0000-4000-8000-000000000009.jsonl"
    path.write_text('{"type":"summary","summary":"x","leafUuid":"1"}\n')
    with pytest.raises(Refused, match=r"aaaaaaaa-0000-4000-8000-000000000009\.jsonl"):
        turnlog.list_messages(path)
