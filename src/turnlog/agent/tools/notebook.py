"""NotebookEdit: replaces, inserts or deletes a cell in a Jupyter notebook."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from turnlog.agent.tools import notebook_text
from turnlog.agent.tools.call_result import CallResult, Object, RejectedCall, ToolError
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.seen_files import CHANGED_FILE_TEXT, UNREAD_FILE_TEXT, MissingFile, hold_file
from turnlog.agent.tools.text_file import TextFile, load_text_file, store_text_file
from turnlog.agent.tools.tool import CallContext

_CELL_INDEX_PATTERN = re.compile(r"cell-(\d{1,9})")


class CellChange(NamedTuple):
    message: str
    kind: str
    cell: str | None
    before: str | None
    """The previous source of the cell; None if it is new."""


class NotebookEdit(DescribedTool):
    def run(self, arguments: Object, context: CallContext) -> CallResult:
        file = hold_file(arguments["notebook_path"], context.place, "write")
        path = file.path
        if path.suffix.lower() != ".ipynb":
            raise RejectedCall(
                "File must be a Jupyter notebook (.ipynb file). For editing other file types, use the Edit tool."
            )
        mode = arguments.get("edit_mode", "replace")
        if mode == "insert" and "cell_type" not in arguments:
            raise RejectedCall("Cell type is required when using edit_mode=insert.")
        if not context.files.is_seen(path):
            raise RejectedCall(UNREAD_FILE_TEXT)
        try:
            before = load_text_file(file)
        except MissingFile:
            raise RejectedCall("Notebook file does not exist.") from None
        if context.files.is_changed(path, before.status, before.text):
            raise RejectedCall(CHANGED_FILE_TEXT)
        before.check_writable(ToolError)
        notebook = notebook_text.parse_notebook(before.shown_text)
        change = _change_cells(notebook, mode, arguments)
        after = _encode_notebook(notebook, before)
        context.keep_before_change(path)
        context.files.note_seen(
            path, store_text_file(file, before.replace_text(after), before), before.replace_text(after), is_written=True
        )
        return _build_result(change, arguments, mode, notebook, before, after)


def _change_cells(notebook: dict[str, Any], mode: str, arguments: Object) -> CellChange:
    cells, source = notebook["cells"], arguments["new_source"]
    if mode == "insert":
        at = _find_cell(cells, arguments["cell_id"]) + 1 if arguments.get("cell_id") else 0
        cell = _build_cell(arguments["cell_type"], source, notebook)
        cells.insert(at, cell)
        name = f"cell {cell['id']}" if "id" in cell else "a new cell"
        return CellChange(f"Inserted {name} with {source}", cell["cell_type"], cell.get("id"), None)
    if not arguments.get("cell_id"):
        raise RejectedCall("Cell ID must be specified when not inserting a new cell.")
    name = arguments["cell_id"]
    at = _find_cell(cells, name)
    before = notebook_text.join_lines(cells[at].get("source"))
    if mode == "delete":
        return CellChange(f"Deleted cell {name}", cells.pop(at).get("cell_type", "code"), name, before)
    _refill_cell(cells[at], source, arguments.get("cell_type"))
    return CellChange(f"Updated cell {name} with {source}", cells[at].get("cell_type", "code"), name, before)


def _find_cell(cells: Sequence[Object], name: str) -> int:
    for at, cell in enumerate(cells):
        if cell.get("id") == name:
            return at
    if found := _CELL_INDEX_PATTERN.fullmatch(name):
        at = int(found[1])
        if at < len(cells):
            return at
        raise RejectedCall(f"Cell with index {at} does not exist in notebook.")
    raise RejectedCall(f'Cell with ID "{name}" not found in notebook.')


def _build_cell(kind: str, source: str, notebook: Object) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind}
    version = tuple(
        value if isinstance(value, int) else 0 for value in map(notebook.get, ("nbformat", "nbformat_minor"))
    )
    if version >= (4, 5):
        cell["id"] = os.urandom(4).hex()
    cell |= {"source": source, "metadata": {}}
    return cell | {"execution_count": None, "outputs": []} if kind == "code" else cell


def _refill_cell(cell: dict[str, Any], source: str, kind: str | None) -> None:
    cell["source"] = source
    if kind:
        cell["cell_type"] = kind
    if cell.get("cell_type", "code") == "code":
        cell |= {"execution_count": None, "outputs": []}
    else:
        cell.pop("execution_count", None)
        cell.pop("outputs", None)


def _encode_notebook(notebook: Object, before: TextFile) -> str:
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    return text + "\n" if before.text.endswith("\n") else text


def _build_result(
    change: CellChange, arguments: Object, mode: str, notebook: Object, before: TextFile, after: str
) -> CallResult:
    structured = {
        "new_source": arguments["new_source"],
        "old_source": change.before,
        "cell_type": change.kind,
        "language": notebook_text.get_notebook_language(notebook),
        "edit_mode": mode,
        "cell_id": change.cell,
        "error": "",
        "notebook_path": arguments["notebook_path"],
        "original_file": before.text,
        "updated_file": after,
    }
    return CallResult(change.message, {key: value for key, value in structured.items() if value is not None})
