"""The list of tasks is one for the session, and empty when all is done."""

from __future__ import annotations

from pathlib import Path

from tests.agent.tools.room import Room


def task(name: str, status: str) -> dict[str, str]:
    return {"content": name, "status": status, "activeForm": f"{name}ing"}


def test_a_list_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    room = Room(tmp_path / "demo")
    first, second = [task("a", "pending")], [task("a", "completed"), task("b", "in_progress")]
    room.call("TodoWrite", todos=first)
    told = room.call("TodoWrite", todos=second)
    assert told.structured == {"oldTodos": first, "newTodos": second}
    assert room.scene.todos == second


def test_the_list_is_emptied_when_all_is_done(tmp_path: Path) -> None:
    room = Room(tmp_path / "demo")
    todos = room.scene.todos
    told = room.call("TodoWrite", todos=[task("a", "completed")])
    assert told.structured["newTodos"] == [task("a", "completed")]
    assert room.scene.todos is todos
    assert todos == []
