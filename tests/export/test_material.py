"""What of a session is exported, by turns, branch and wishes; and that it takes no more memory for longer ones."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from tests.session.build import Build, find_recording, use
from turnlog.errors import UsageError
from turnlog.export.formats import iter_exported_bytes
from turnlog.export.material import ExportChoice, ExportMaterial
from turnlog.render.render_options import RenderOptions
from turnlog.render.view import PromptView
from turnlog.session.session import Session


def build_fork() -> Build:
    build = Build()
    build.prompt("one", "u1")
    build.answer("first", uuid="a1")
    build.prompt("two old", "u2")
    build.answer("old end", uuid="a2")
    build.prompt("two new", "u3", parent="a1")
    build.answer("new end", uuid="a3")
    return build


def text(session: Session, form: str = "txt", **choice: object) -> str:
    return b"".join(iter_exported_bytes(form, ExportMaterial(session, ExportChoice(**choice)))).decode()  # type: ignore[arg-type]


def prompts(session: Session, **choice: object) -> list[str]:
    material = ExportMaterial(session, ExportChoice(**choice))  # type: ignore[arg-type]
    return [
        view.text for stretch in material.iter_stretches() for view in stretch.views if isinstance(view, PromptView)
    ]


def test_the_branch_that_the_client_would_go_on_from_is_exported() -> None:
    assert prompts(build_fork().session()) == ["one", "two new"]


def test_another_branch_or_all_on_request() -> None:
    assert prompts(build_fork().session(), leaf="a2") == ["one", "two old"]
    assert prompts(build_fork().session(), all_branches=True) == ["one", "two old", "two new"]


def test_turns_are_chosen_by_their_numbers() -> None:
    assert prompts(build_fork().session(), first=2, last=2) == ["two old"]
    assert prompts(build_fork().session(), first=2) == ["two old", "two new"]
    assert prompts(build_fork().session(), last=1) == ["one"]


@pytest.mark.parametrize(("first", "last"), [(0, 1), (2, 1), (1, 4), (9, None)])
def test_turns_that_are_not_there_are_refused(first: int, last: int | None) -> None:
    with pytest.raises(UsageError, match="this session has turns 1 to 3"):
        prompts(build_fork().session(), first=first, last=last)


def test_where_only_some_turns_are_wanted_nothing_of_the_others_is_told() -> None:
    for form in ("md", "txt", "json"):
        found = text(build_fork().session(), form, first=2, last=2)
        assert "two old" in found
        assert "two new" not in found
        assert "first" not in found.replace("first_", "")


def test_a_document_says_what_is_left_out() -> None:
    found = text(build_fork().session(), wishes=RenderOptions(tools=False, thinking=False, pictures=False))
    assert "Left out:   1 turn, tool calls, thinking, images and documents" in found


def test_sub_agents_go_with_the_tools() -> None:
    with Session.open(find_recording("2.1.325/agents")) as session:
        assert "Sub-agent" in text(session, "md")
        assert "*Sub-agent" not in text(session, "md", wishes=RenderOptions(tools=False))
        assert "**Sub-agent" not in text(session, "md", agents=False)


def test_the_json_names_the_sub_agents_with_their_items() -> None:
    with Session.open(find_recording("2.1.325/agents")) as session:
        found = json.loads(text(session, "json"))
        assert {agent["agent_id"] for agent in found["agents"]} == {agent.agent_id for agent in session.agents}
        assert all(agent["items"] for agent in found["agents"])
        assert not any(agent["items"] for agent in json.loads(text(session, "json", agents=False))["agents"])


def test_a_sub_agent_that_no_call_started_stands_at_the_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("s")
    path = build_fork().write(folder)
    inner = Build()
    inner.prompt("LONELY", isSidechain=True, agentId="abc")
    place = path.with_suffix("") / "subagents"
    place.mkdir(parents=True)
    (place / "agent-abc.jsonl").write_bytes(inner.data())
    with Session.open(path) as session:
        assert "LONELY" in text(session, "md")
        assert "LONELY" not in text(session, "md", first=1, last=1)


def test_progress_is_told_up_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    material = ExportMaterial(build_fork().session(), ExportChoice(), lambda done, total: told.append((done, total)))
    list(material.iter_stretches())
    assert told[-1] == (4, 4)


def peak(turns: int) -> int:
    """How much memory the texts of a session take while it is exported."""
    build = Build()
    for number in range(turns):
        build.prompt(f"prompt {number}")
        build.answer(use(f"c{number}", "Bash", {"command": "x" * 2000}))
        build.result(f"c{number}", "y" * 4000)
    session = build.session()
    material = ExportMaterial(session)
    list(material.chapters)
    tracemalloc.start()
    for _ in iter_exported_bytes("md", material):
        pass
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_a_longer_session_takes_no_more_memory() -> None:
    assert peak(1200) < 1.5 * peak(300)


@pytest.mark.parametrize("form", ["messages", "openai"])
def test_a_format_without_a_timeline_does_not_build_one(form: str) -> None:
    material = ExportMaterial(build_fork().session())
    assert b"".join(iter_exported_bytes(form, material))
    title = material.title
    assert "timeline" not in vars(material)
    assert title == material.head.title
