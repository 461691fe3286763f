"""Give symbols new names over the whole tree, by what a language server says refers to them.

    python scripts/rename_symbols.py scripts/naming/symbols.txt [--dry-run]

Each line of the list is `turnlog.module:Class.method new_name`. basedpyright must be installed (`pip install
basedpyright`); it finds references through imports, attributes and types. Names in strings, templates and prose are not
found: search for them afterwards. `scripts/naming/modules.txt` lists the modules to rename or merge.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlparse

ROOT = Path(__file__).resolve().parent.parent
_SETTINGS = {"analysis": {"diagnosticMode": "workspace", "typeCheckingMode": "off"}}
"""References are looked for in all files, not only in those that are open."""


class Spot(NamedTuple):
    """Where a name is written: the line and column count from 0."""

    path: Path
    line: int
    column: int


class Server:
    """The language server, asked one question at a time."""

    def __init__(self) -> None:
        command = ["basedpyright-langserver", "--stdio"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._numbers = itertools.count(1)
        folders = [{"uri": ROOT.as_uri(), "name": "root"}]
        capabilities = {"workspace": {"configuration": True}}
        self.ask("initialize", processId=None, workspaceFolders=folders, capabilities=capabilities)
        self._send({"method": "initialized", "params": {}})

    def find_references(self, spot: Spot) -> Iterator[Spot]:
        """Every place that refers to the symbol defined in one place, that place included."""
        found = self.ask(
            "textDocument/references",
            textDocument={"uri": spot.path.as_uri()},
            position={"line": spot.line, "character": spot.column},
            context={"includeDeclaration": True},
        )
        yield spot
        for item in found or ():
            start = item["range"]["start"]
            yield Spot(Path(unquote(urlparse(item["uri"]).path)), start["line"], start["character"])

    def open_file(self, path: Path) -> None:
        """Tell the server that a file is being edited, so that it looks at it."""
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": path.read_text("utf-8")}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request and wait for its answer; answers what the server asks meanwhile."""
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._receive()
            if "method" in message and "id" in message:
                items = (message.get("params") or {}).get("items", ())
                self._send({"id": message["id"], "result": [_SETTINGS for _ in items] or None})
            elif message.get("id") == number:
                return message.get("result")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        size = 0
        while line := self._process.stdout.readline().strip():
            if line.lower().startswith(b"content-length"):
                size = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(self._process.stdout.read(size))
        return message


def main(words: list[str]) -> int:
    """Rename what the list names."""
    rows = [line.split() for line in Path(words[0]).read_text("utf-8").splitlines() if line.strip()]
    server, opened = Server(), set[Path]()
    edits: dict[Path, dict[tuple[int, int], tuple[str, str]]] = defaultdict(dict)
    for symbol, new in rows:
        name = re.split(r"[:.]", symbol)[-1]
        spot = locate_definition(symbol)
        if spot is None:
            print(f"not found: {symbol}", file=sys.stderr)
            continue
        if spot.path not in opened:
            server.open_file(spot.path)
            opened.add(spot.path)
        for place in server.find_references(spot):
            if place.path.is_relative_to(ROOT) and ".venv" not in place.path.parts and is_name_at(place, name):
                edits[place.path][place.line, place.column] = (name, new)
    for path, changes in edits.items():
        if "--dry-run" not in words:
            path.write_text(apply_changes(path.read_text("utf-8"), changes), "utf-8")
    print(f"{sum(map(len, edits.values())):,} places in {len(edits):,} files")
    return 0


def locate_definition(symbol: str) -> Spot | None:
    """Where a symbol gets its name."""
    module, _, qualified = symbol.partition(":")
    folder = ROOT.joinpath("src", *module.split("."))
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    if not path.is_file():
        return None
    text = path.read_text("utf-8")
    body: list[ast.stmt] = ast.parse(text).body
    spot = None
    for name in qualified.split("."):
        found = next((node for node in body if name in _defined_names(node)), None)
        if found is None:
            return None
        line = text.splitlines()[found.lineno - 1]
        column = re.search(rf"\b{re.escape(name)}\b", line)
        spot = Spot(path, found.lineno - 1, column.start()) if column else None
        body = getattr(found, "body", [])
    return spot


def _defined_names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def is_name_at(place: Spot, name: str) -> bool:
    """Whether a name is written in a place: an import under another name refers to it, too."""
    return place.path.read_text("utf-8").splitlines()[place.line][place.column :].startswith(name)


def apply_changes(text: str, changes: dict[tuple[int, int], tuple[str, str]]) -> str:
    """A text with names exchanged, from the last to the first so that places stay where they are."""
    lines = text.split("\n")
    for (line, column), (old, new) in sorted(changes.items(), reverse=True):
        lines[line] = lines[line][:column] + new + lines[line][column + len(old) :]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
