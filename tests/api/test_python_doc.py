"""docs/python.md tells the truth: its examples run, and every public function is in it."""

from __future__ import annotations

import re
from inspect import isfunction
from pathlib import Path

import pytest

import turnlog

DOC = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def list_examples() -> list[tuple[str, str]]:
    """Every ```python block with the heading above it and its number below that."""
    found = []
    for section in re.split(r"^## ", DOC.read_text(encoding="utf-8"), flags=re.MULTILINE):
        heading = section.partition("\n")[0].removeprefix("# ")
        blocks = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        found += [(f"{heading} {number}", block) for number, block in enumerate(blocks, 1)]
    return found


@pytest.mark.parametrize("code", [pytest.param(code, id=name) for name, code in list_examples()])
def test_the_example_runs_and_prints_something(code: str, shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, str(DOC), "exec"), {"turnlog": turnlog})
    assert capsys.readouterr().out.strip()


def test_every_public_function_is_named_in_the_document() -> None:
    text = DOC.read_text(encoding="utf-8")
    functions = [name for name in turnlog.__all__ if isfunction(getattr(turnlog, name))]
    old = {"check", "sessions"}  # kept for programs that use them
    assert [name for name in functions if name not in old and f"{name}(" not in text] == []
