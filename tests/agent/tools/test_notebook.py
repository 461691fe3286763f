"""Cells of a notebook are replaced, added and removed; the rest of it stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.tools.room import Room

CODE = {"cell_type": "code", "id": "c1", "execution_count": 3, "metadata": {"k": 1}, "source": ["a\n", "b"]}
OUTPUTS: list[dict[str, Any]] = [
    {"output_type": "stream", "name": "stdout", "text": ["hi\n"]},
    {"output_type": "display_data", "data": {"image/png": "iVBO\nRw==\n", "text/plain": "<F>"}, "metadata": {}},
    {"output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["l1", 7]},
]
NOTEBOOK: dict[str, Any] = {
    "cells": [
        {"cell_type": "markdown", "id": "m1", "metadata": {}, "source": "# é"},
        {**CODE, "outputs": OUTPUTS},
    ],
    "metadata": {"language_info": {"name": "python"}, "x": 1.0},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path / "demo")
    room.write("n.ipynb", json.dumps(NOTEBOOK, indent=1, ensure_ascii=False) + "\n")
    return room


def change(room: Room, source: str, **more: object) -> Any:
    return room.call("NotebookEdit", notebook_path="n.ipynb", new_source=source, **more)


def cells(room: Room) -> list[Any]:
    return list(json.loads((room.folder / "n.ipynb").read_text(encoding="utf-8"))["cells"])


def test_a_notebook_is_read_cell_by_cell_with_its_outputs(room: Room) -> None:
    told = room.call("Read", file_path="n.ipynb")
    assert [block["type"] for block in told.content] == ["text", "image", "text"]  # type: ignore[index]
    assert told.content[0]["text"] == (  # type: ignore[index]
        '<cell id="m1"><cell_type>markdown</cell_type># é</cell id="m1">\n'
        '<cell id="c1">a\nb</cell id="c1">\n\nhi\n\n\n<F>'
    )
    assert told.structured["file"]["cells"][1]["outputs"][1]["image"]["image_data"] == "iVBORw=="


def test_outputs_that_are_too_large_are_left_out(room: Room) -> None:
    large = [{"output_type": "stream", "text": "x" * 20_000}]
    room.write("n.ipynb", json.dumps({**NOTEBOOK, "cells": [{**CODE, "outputs": large}]}))
    told = room.call("Read", file_path="n.ipynb")
    assert "Outputs are too large" in told.content[0]["text"]  # type: ignore[index]


def test_a_cell_is_replaced_and_its_outputs_go(room: Room) -> None:
    room.read("n.ipynb")
    told = change(room, "c", cell_id="c1")
    assert told.content == "Updated cell c1 with c"
    assert told.structured["old_source"] == "a\nb"
    assert cells(room)[1] == {**CODE, "source": "c", "execution_count": None, "outputs": []}
    text = (room.folder / "n.ipynb").read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert '"x": 1.0' in text
    assert "# é" in text


def test_cells_are_added_behind_another_or_first(room: Room) -> None:
    room.read("n.ipynb")
    change(room, "new", cell_id="m1", edit_mode="insert", cell_type="code")
    change(room, "top", edit_mode="insert", cell_type="markdown")
    assert [cell["source"] for cell in cells(room)] == ["top", "# é", "new", ["a\n", "b"]]
    assert len(cells(room)[0]["id"]) == 8


def test_a_cell_is_removed(room: Room) -> None:
    room.read("n.ipynb")
    assert change(room, "", cell_id="m1", edit_mode="delete").content == "Deleted cell m1"
    assert [cell["id"] for cell in cells(room)] == ["c1"]


def test_a_cell_that_becomes_text_has_no_outputs(room: Room) -> None:
    room.read("n.ipynb")
    change(room, "words", cell_id="c1", cell_type="markdown")
    assert cells(room)[1] == {"cell_type": "markdown", "id": "c1", "metadata": {"k": 1}, "source": "words"}


def test_cells_without_ids_are_found_by_their_place(room: Room) -> None:
    bare = [{key: value for key, value in cell.items() if key != "id"} for cell in NOTEBOOK["cells"]]
    room.write("n.ipynb", json.dumps({**NOTEBOOK, "cells": bare, "nbformat_minor": 2}))
    room.read("n.ipynb")
    assert change(room, "z", cell_id="cell-1").content == "Updated cell cell-1 with z"
    told = change(room, "new", cell_id="cell-0", edit_mode="insert", cell_type="code")
    assert told.content == "Inserted a new cell with new"
    assert "cell_id" not in told.structured


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "Cell ID must be specified"),
        ({"cell_id": "nope"}, 'Cell with ID "nope" not found in notebook.'),
        ({"cell_id": "cell-9"}, "Cell with index 9 does not exist in notebook."),
        ({"edit_mode": "insert"}, "Cell type is required"),
    ],
)
def test_what_can_not_be_done_is_told(room: Room, more: dict[str, object], told: str) -> None:
    room.read("n.ipynb")
    result = change(room, "x", **more)
    assert result.is_error
    assert told in str(result.content)
    assert cells(room) == NOTEBOOK["cells"]


def test_a_notebook_must_be_read_first_and_not_have_changed_since(room: Room) -> None:
    assert "has not been read yet" in str(change(room, "x", cell_id="c1").content)
    room.read("n.ipynb")
    room.write("n.ipynb", json.dumps({**NOTEBOOK, "cells": []}))
    assert "modified since read" in str(change(room, "x", cell_id="c1").content)
    (room.folder / "n.ipynb").unlink()
    assert "does not exist" in str(change(room, "x", cell_id="c1").content)


def test_other_files_are_refused(room: Room) -> None:
    told = room.call("NotebookEdit", notebook_path="a.txt", new_source="x", cell_id="c")
    assert "must be a Jupyter notebook" in str(told.content)


@pytest.mark.parametrize("text", ["{nope", "[]", '{"cells": 3}', "[" * 100_000])
def test_what_is_no_notebook_is_told(room: Room, text: str) -> None:
    room.write("n.ipynb", text)
    assert room.call("Read", file_path="n.ipynb").is_error


@pytest.mark.parametrize(
    "cell",
    [
        3,
        {},
        {"cell_type": "code", "source": 3, "outputs": 3},
        {
            "cell_type": "code",
            "outputs": [3, {}, {"output_type": "error", "traceback": 3}, {"data": 3}, {"data": {"image/png": 3}}],
        },
    ],
)
def test_strange_cells_are_read_without_trouble(room: Room, cell: object) -> None:
    room.write("n.ipynb", json.dumps({"cells": [cell], "metadata": 3, "nbformat": "x"}))
    assert not room.call("Read", file_path="n.ipynb").is_error
    assert not change(room, "x", edit_mode="insert", cell_type="code").is_error
