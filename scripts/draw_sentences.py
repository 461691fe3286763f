"""Draw random sentences from what people read: help, errors, pages, documents and docstrings.

    python scripts/draw_sentences.py [--seed N] [--count 100] [--kind help]

A reader who did not write the sentences marks those that a native editor would change. The same seed draws the same
sentences from the same tree. Each kind has an equal share, so that docstrings don't crowd out the rest.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "turnlog"
MIN_WORDS = 4
SPEAKING_CALLS = re.compile(r"(?:Error|Changed|Unreadable|NotFound|Refused|remark|notify|warn|say|tell)\w*$")
"""Calls whose arguments a user reads."""
HELP_CALLS = re.compile(r"(?:option|argument|CommandRow|SlashCommand)$")


class Sentence(NamedTuple):
    """A sentence and its place."""

    kind: str
    place: str
    text: str


def main(arguments: list[str]) -> int:
    """Draw sentences and print them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--kind", action="append", help="draw only this kind; can be repeated")
    options = parser.parse_args(arguments)
    by_kind: dict[str, list[Sentence]] = {}
    for sentence in dict.fromkeys(find_sentences()):
        by_kind.setdefault(sentence.kind, []).append(sentence)
    kinds = sorted(options.kind or by_kind)
    dice = random.Random(options.seed)
    for number in range(options.count):
        pool = by_kind[kinds[number % len(kinds)]]
        kind, place, text = pool.pop(dice.randrange(len(pool)))
        print(f"{number + 1:>3}  {kind:<9} {place}\n     {text}")
    return 0


def find_sentences() -> Iterator[Sentence]:
    """Find all sentences in the tree, by kind and file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield from read_source(path)
    for path in sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]):
        if path.name != "CHANGELOG.md":
            yield from split_text("docs", path, 1, strip_markdown(path.read_text("utf-8")))
    for path in sorted(PACKAGE.rglob("templates/*.html")):
        yield from split_text("page", path, 1, strip_template(path.read_text("utf-8")))


def read_source(path: Path) -> Iterator[Sentence]:
    """Find docstrings, help and messages in a module."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if text := ast.get_docstring(node):
                is_command = any("command" in ast.unparse(item) for item in getattr(node, "decorator_list", ()))
                line = getattr(node, "lineno", 1)
                yield from split_text("help" if is_command else "docstring", path, line, text.partition("\b")[0])
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            kind = "help" if HELP_CALLS.search(name) else "message" if SPEAKING_CALLS.search(name) else ""
            for value in (*node.args, *(item.value for item in node.keywords)) if kind else ():
                yield from split_text(kind, path, node.lineno, join_literals(value))


def join_literals(node: ast.expr) -> str:
    """Return the text of a string, with … in place of each inserted value."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(join_literals(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return ""


def split_text(kind: str, path: Path, line: int, text: str) -> Iterator[Sentence]:
    """Split text into sentences, and skip those that are too short."""
    for paragraph in re.split(r"\n\s*\n", text):
        flat = " ".join(paragraph.split())
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", flat):
            if len(re.findall(r"[A-Za-z']{2,}", sentence)) >= MIN_WORDS:
                yield Sentence(kind, f"{path.relative_to(ROOT)}:{line}", sentence)


def strip_markdown(text: str) -> str:
    """Return the prose of a document, without code, headings and tables."""
    text = re.sub(r"^(`{3,}|~{3,}).*?^\1\s*$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(?:\||#|<|!\[).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*(?:[*+-]|\d+\.)\s+", "\n", text, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def strip_template(text: str) -> str:
    """Return the text of a template, with a paragraph for each element."""
    text = re.sub(r"\{#.*?#\}|<script.*?</script>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"\{%.*?%\}", "", text, flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}", "…", text, flags=re.DOTALL)
    return unescape(re.sub(r"</?(?!b\b|i\b|em\b|strong\b|code\b|kbd\b|a\b)[a-z][^>]*>", "\n\n", text))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
