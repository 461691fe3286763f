"""Renders a Jupyter notebook for the model: its cells and their outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from turnlog.agent.tools.call_result import Object, ToolError

_MAX_OUTPUT_CHARS = 10_000
"""The maximum number of characters to show of a cell's outputs."""
_PICTURE_MEDIA_TYPES = ("image/png", "image/jpeg")


def parse_notebook(text: str) -> dict[str, Any]:
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ToolError(
            f"Notebook file is not valid JSON (it may be truncated, corrupted, or still being written): {error}"
        ) from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ToolError("Notebook file has no list of cells; it is not a Jupyter notebook in format 4.")
    notebook["cells"] = [cell for cell in notebook["cells"] if isinstance(cell, dict)]
    return notebook


def get_notebook_language(notebook: Object) -> str:
    metadata = notebook.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else "python"


def join_lines(value: object) -> str:
    """Join text that may be stored as a list of lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def extract_cells(text: str) -> list[dict[str, Any]]:
    """Return the cells in the form in which they are recorded."""
    notebook = parse_notebook(text)
    return [_build_cell(cell, at, get_notebook_language(notebook)) for at, cell in enumerate(notebook["cells"])]


def _build_cell(cell: Object, at: int, language: str) -> dict[str, Any]:
    kind = cell.get("cell_type", "code")
    record: dict[str, Any] = {"cellType": kind, "source": join_lines(cell.get("source"))}
    if kind == "code" and cell.get("execution_count"):
        record["execution_count"] = cell["execution_count"]
    record["cell_id"] = cell.get("id") or f"cell-{at}"
    if kind == "code":
        record["language"] = language
        outputs = cell.get("outputs")
        if isinstance(outputs, list) and outputs:
            record["outputs"] = [_build_output(output) for output in outputs if isinstance(output, dict)]
    return record


def _build_output(output: Object) -> dict[str, Any]:
    kind = output.get("output_type")
    if kind == "stream":
        return {"output_type": kind, "text": join_lines(output.get("text"))}
    if kind == "error":
        trace = output.get("traceback")
        lines = [line for line in trace if isinstance(line, str)] if isinstance(trace, list) else []
        return {"output_type": kind, "text": "\n".join([f"{output.get('ename')}: {output.get('evalue')}", *lines])}
    data = output.get("data")
    data = data if isinstance(data, dict) else {}
    record: dict[str, Any] = {"output_type": kind, "text": join_lines(data.get("text/plain"))}
    for media in _PICTURE_MEDIA_TYPES:
        if picture := "".join(join_lines(data.get(media)).split()):
            record["image"] = {"image_data": picture, "media_type": media}
            break
    return record


def render_cell_blocks(cells: Sequence[Object], path: Path) -> list[Object]:
    """Render cells as blocks of text, with pictures in between."""
    blocks: list[dict[str, Any]] = []
    for at, cell in enumerate(cells):
        for block in _render_cell(cell, at, path):
            if blocks and blocks[-1]["type"] == block["type"] == "text":
                blocks[-1]["text"] += "\n" + block["text"]
            else:
                blocks.append(block)
    return list(blocks)


def _render_cell(cell: Object, at: int, path: Path) -> Iterator[dict[str, Any]]:
    name, kind, language = cell["cell_id"], cell["cellType"], cell.get("language", "python")
    mark = f"<cell_type>{kind}</cell_type>" if kind != "code" else ""
    mark += f"<language>{language}</language>" if language != "python" else ""
    yield {"type": "text", "text": f'<cell id="{name}">{mark}{cell["source"]}</cell id="{name}">'}
    outputs = cell.get("outputs", [])
    if sum(len(output["text"]) for output in outputs) > _MAX_OUTPUT_CHARS:
        advice = f"cat {path} | jq '.cells[{at}].outputs'"
        yield {"type": "text", "text": f"\nOutputs are too large to include. Use a shell command: {advice}"}
        return
    for output in outputs:
        if output["text"]:
            yield {"type": "text", "text": "\n" + output["text"]}
        if picture := output.get("image"):
            source = {"type": "base64", "media_type": picture["media_type"], "data": picture["image_data"]}
            yield {"type": "image", "source": source}
