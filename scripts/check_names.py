"""Check that names say what they mean and are easy to search for.

    python scripts/check_names.py

CONTRIBUTING.md states the rules. All of them apply to the package; those for participles also apply to bench/,
scripts/, fuzz/ and tests/, and those for limits to bench/, scripts/ and fuzz/. There is no list of exemptions: a name
that fails must be replaced with a better one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "turnlog"
TOOLS = (ROOT / "bench", ROOT / "scripts", ROOT / "fuzz")
TESTS = ROOT / "tests"
MAX_ONE_WORD_SHARE = 0.45
MAX_SHARED_NAME_SHARE = 0.15

_IRREGULAR = (
    "asked begun bought brought built caught chosen done drawn felt found given gone got grown held hidden kept known"
    " left lost made met said seen sent shown spoken stood taken thought told won worn written"
)
PARTICIPLE = re.compile(rf"_*(?:{_IRREGULAR.replace(' ', '|')}|[a-z]{{2,}}ed|[a-z]{{3,}}ing)")
_OTHER_WORDS = frozenset("bring feed need ping seed speed spring string thing".split())
"""Words that only end like participles."""
BARE_LIMIT = re.compile(r"_*(?:MOST|LEAST|[A-Z]+EST)")


class Definition(NamedTuple):
    """A function or class, and its place."""

    name: str
    place: str
    is_class: bool
    is_property: bool
    is_module_level: bool


def main() -> int:
    """Print every name that breaks a rule, and return 1 if there are any."""
    problems: list[str] = []
    for folder in (PACKAGE, *TOOLS):
        problems += check_limits(folder)
    for folder in (PACKAGE, *TOOLS, TESTS):
        problems += [*check_modules(folder), *check_participles(find_definitions(folder))]
    definitions = [*find_definitions(PACKAGE)]
    problems += check_class_names(definitions)
    problems += check_shares(definitions)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def check_modules(folder: Path) -> Iterator[str]:
    """Find modules that are named with a bare participle or gerund."""
    for path in sorted(folder.rglob("*.py")):
        if is_participle(path.stem):
            yield f"{path.relative_to(ROOT)}: a module is a noun; `{path.stem}` is a participle or gerund"


def check_participles(definitions: Iterable[Definition]) -> Iterator[str]:
    """Find functions that are named with a bare participle or gerund."""
    for item in definitions:
        if not item.is_class and is_participle(item.name):
            yield f"{item.place}: `{item.name}` is a bare participle or gerund; write verb + noun"


def check_class_names(definitions: list[Definition]) -> Iterator[str]:
    """Find class names that are used more than once."""
    places = defaultdict(list)
    for item in definitions:
        if item.is_class:
            places[item.name].append(item.place)
    for name, uses in places.items():
        if len(uses) > 1:
            yield f"{uses[1]}: there is another class `{name}` in {uses[0]}"


def check_shares(definitions: list[Definition]) -> Iterator[str]:
    """Check how many functions have one-word names, and how many public ones share a name."""
    functions = [item for item in definitions if not item.is_class and not item.name.startswith("__")]
    one_word = sum("_" not in item.name.strip("_") for item in functions)
    if one_word > MAX_ONE_WORD_SHARE * len(functions):
        yield f"{one_word} of {len(functions)} functions have one-word names; the limit is {MAX_ONE_WORD_SHARE:.0%}"
    public = Counter(item.name for item in functions if item.is_module_level and not item.name.startswith("_"))
    shared = sum(count for count in public.values() if count > 1)
    if shared > MAX_SHARED_NAME_SHARE * public.total():
        yield f"{shared} of {public.total()} public functions share a name; the limit is {MAX_SHARED_NAME_SHARE:.0%}"


def check_limits(folder: Path) -> Iterator[str]:
    """Find constants whose names don't say what they limit."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in targets:
                if isinstance(target, ast.Name) and BARE_LIMIT.fullmatch(target.id):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}: `{target.id}` doesn't say what it limits"


def is_participle(name: str) -> bool:
    """Return whether a name is a bare participle or gerund."""
    return name.strip("_") not in _OTHER_WORDS and PARTICIPLE.fullmatch(name) is not None


def find_definitions(folder: Path) -> Iterator[Definition]:
    """Find every function and class in a folder, including nested ones."""
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                is_property = any("property" in ast.unparse(item) for item in node.decorator_list)
                yield Definition(node.name, place, isinstance(node, ast.ClassDef), is_property, node in tree.body)


if __name__ == "__main__":
    sys.exit(main())
