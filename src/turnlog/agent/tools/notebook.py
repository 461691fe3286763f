"""NotebookEdit: a cell of a Jupyter notebook is replaced, added or removed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from turnlog.agent.tools import notebook_text
from turnlog.agent.tools.files import CHANGED, UNREAD, Missing, located
from turnlog.agent.tools.offered import Offered
from turnlog.agent.tools.textfile import TextFile, load, store
from turnlog.agent.tools.tool import Object, Result, Scene, ToolError, Unfit

_INDEX = re.compile(r"cell-(\d{1,9})")


class Change(NamedTuple):
    """What became of the cells."""

    told: str
    kind: str
    cell: str | None
    before: str | None
    """The cell's source before; None if it is new."""


class NotebookEdit(Offered):
    """The tool."""

    def run(self, given: Object, scene: Scene) -> Result:
        """Edit it."""
        path = located(given["notebook_path"], scene.place)
        if path.suffix.lower() != ".ipynb":
            raise Unfit(
                "File must be a Jupyter notebook (.ipynb file). For editing other file types, use the Edit tool."
            )
        mode = given.get("edit_mode", "replace")
        if mode == "insert" and "cell_type" not in given:
            raise Unfit("Cell type is required when using edit_mode=insert.")
        if not scene.files.is_known(path):
            raise Unfit(UNREAD)
        try:
            before = load(path)
        except Missing:
            raise Unfit("Notebook file does not exist.") from None
        if scene.files.is_changed(path, before.status, before.text):
            raise Unfit(CHANGED)
        before.must_be_sound(ToolError)
        notebook = notebook_text.parsed(before.shown)
        change = _changed(notebook, mode, given)
        after = _spelled(notebook, before)
        scene.files.saw(path, store(path, before.replaced(after), before), before.replaced(after), is_written=True)
        return _result(change, given, mode, notebook, before, after)


def _changed(notebook: dict[str, Any], mode: str, given: Object) -> Change:
    cells, source = notebook["cells"], given["new_source"]
    if mode == "insert":
        at = _place(cells, given["cell_id"]) + 1 if given.get("cell_id") else 0
        cell = _new_cell(given["cell_type"], source, notebook)
        cells.insert(at, cell)
        name = f"cell {cell['id']}" if "id" in cell else "a new cell"
        return Change(f"Inserted {name} with {source}", cell["cell_type"], cell.get("id"), None)
    if not given.get("cell_id"):
        raise Unfit("Cell ID must be specified when not inserting a new cell.")
    name = given["cell_id"]
    at = _place(cells, name)
    before = notebook_text.joined(cells[at].get("source"))
    if mode == "delete":
        return Change(f"Deleted cell {name}", cells.pop(at).get("cell_type", "code"), name, before)
    _refill(cells[at], source, given.get("cell_type"))
    return Change(f"Updated cell {name} with {source}", cells[at].get("cell_type", "code"), name, before)


def _place(cells: Sequence[Object], name: str) -> int:
    for at, cell in enumerate(cells):
        if cell.get("id") == name:
            return at
    if found := _INDEX.fullmatch(name):
        at = int(found[1])
        if at < len(cells):
            return at
        raise Unfit(f"Cell with index {at} does not exist in notebook.")
    raise Unfit(f'Cell with ID "{name}" not found in notebook.')


def _new_cell(kind: str, source: str, notebook: Object) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind}
    version = tuple(
        value if isinstance(value, int) else 0 for value in map(notebook.get, ("nbformat", "nbformat_minor"))
    )
    if version >= (4, 5):
        cell["id"] = os.urandom(4).hex()
    cell |= {"source": source, "metadata": {}}
    return cell | {"execution_count": None, "outputs": []} if kind == "code" else cell


def _refill(cell: dict[str, Any], source: str, kind: str | None) -> None:
    cell["source"] = source
    if kind:
        cell["cell_type"] = kind
    if cell.get("cell_type", "code") == "code":
        cell |= {"execution_count": None, "outputs": []}
    else:
        cell.pop("execution_count", None)
        cell.pop("outputs", None)


def _spelled(notebook: Object, before: TextFile) -> str:
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    return text + "\n" if before.text.endswith("\n") else text


def _result(change: Change, given: Object, mode: str, notebook: Object, before: TextFile, after: str) -> Result:
    structured = {
        "new_source": given["new_source"],
        "old_source": change.before,
        "cell_type": change.kind,
        "language": notebook_text.language(notebook),
        "edit_mode": mode,
        "cell_id": change.cell,
        "error": "",
        "notebook_path": given["notebook_path"],
        "original_file": before.text,
        "updated_file": after,
    }
    return Result(change.told, {key: value for key, value in structured.items() if value is not None})
