"""Write the tables of `docs/format.md` from the classes in `turnlog.entries.types`.

`python scripts/generate_format_doc.py` writes the file anew; a test fails when that would change it. The
tables stand between markers (`<!-- table: user -->` and `<!-- end -->`); the rest is written by hand.
"""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

import msgspec

from turnlog.entries import types as registry
from turnlog.entries.types import blocks, conversation, envelope, metadata, rare, records, results, system
from turnlog.entries.types.base import FormatObject, SeenVersions

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "format.md"
MARKED = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
VERSIONS = re.compile(r"\[(\d[\d.]*)(?:\+|–(\d[\d.]*))\]\s*")
PLAIN = {str: "string", bool: "boolean", int: "number", float: "number", list: "list", dict: "map"}


class Field(NamedTuple):
    """A field as the specification tells it."""

    name: str
    """As it stands in the file."""
    type: str
    seen: SeenVersions | None
    """None: as long as its object."""
    meaning: str


def main() -> None:
    """Write the document anew."""
    DOCUMENT.write_text(renewed(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


def renewed(text: str) -> str:
    """The document with its tables made anew."""

    def table(marked: re.Match[str]) -> str:
        lines = TABLES[marked["name"]]()
        return "".join((marked[1], "\n", *(line + "\n" for line in lines), "\n", marked[3]))

    return MARKED.sub(table, text)


def fields(cls: type[FormatObject]) -> list[Field]:
    """All fields of a class, in order, with what the strings below them say."""
    told = _told(cls)
    return [
        Field(field.encode_name, _type(field.type), *versions(told.get(field.name, "")))
        for field in msgspec.structs.fields(cls)
    ]


def versions(note: str) -> tuple[SeenVersions | None, str]:
    """What a note says about versions, and the rest of it."""
    found = VERSIONS.match(note)
    if found is None:
        return None, note
    return (found[1], found[2]), note[found.end() :]


@cache
def _told(cls: type[FormatObject]) -> dict[str, str]:
    told: dict[str, str] = {}
    for owner in reversed(cls.__mro__):
        if issubclass(owner, FormatObject) and owner is not FormatObject:
            told |= _strings_below_fields(owner)
    return told


def _strings_below_fields(cls: type[FormatObject]) -> dict[str, str]:
    tree = ast.parse(inspect.getsource(cls)).body[0]
    assert isinstance(tree, ast.ClassDef)
    told = {}
    for above, below in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(note))):
                    told[above.target.id] = " ".join(note.split())
    return told


def _type(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _type(inner[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(part) for part in inner if part is not type(None)))
    if isinstance(hint, type) and issubclass(hint, FormatObject):
        return "object"
    return PLAIN.get(origin or hint, "any")


def span(seen: SeenVersions | None) -> str:
    """Versions in words."""
    if seen is None:
        return "not seen"
    first, last = seen
    return f"{first}+" if last is None else first if first == last else f"{first} – {last}"


def field_table(cls: type[FormatObject], without: type[FormatObject] | None = None) -> Iterator[str]:
    """One row per field; `without` leaves out what a base class has told."""
    left_out = {field.name for field in fields(without)} if without else set()
    yield "| field | type | versions | meaning |"
    yield "|---|---|---|---|"
    for field in fields(cls):
        if field.name not in left_out:
            seen = span(field.seen) if field.seen else ""
            yield f"| `{field.name}` | {field.type} | {seen} | {field.meaning} |"


def kind_table(
    classes: dict[str, type[FormatObject]], without: type[FormatObject], unseen: bool = True
) -> Iterator[str]:
    """One row per kind, its fields told in one cell."""
    left_out = {field.name for field in fields(without)}
    yield "| kind | versions | what it is | fields |"
    yield "|---|---|---|---|"
    for tag, cls in sorted(classes.items()):
        if cls.seen or unseen:
            own = [_brief(field) for field in fields(cls) if field.name not in left_out]
            yield f"| `{tag}` | {span(cls.seen)} | {_first_line(cls)} | {'; '.join(own) or '–'} |"


def _brief(field: Field) -> str:
    notes = [span(field.seen)] if field.seen else []
    notes += [field.meaning.rstrip(".")] if field.meaning else []
    return f"`{field.name}`" + (f" ({': '.join(notes)})" if notes else "")


def _first_line(cls: type[FormatObject]) -> str:
    return inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].replace("\n", " ")


def overview() -> Iterator[str]:
    """Every type and subtype with its versions."""
    yield "| entry | versions | what it is |"
    yield "|---|---|---|"
    found = {tag: cls for tag, cls in registry.ENTRY_CLASSES.items() if cls.seen and tag != "system"}
    found |= {f"system/{tag}": cls for tag, cls in registry.SYSTEM_CLASSES.items()}
    found["system"] = registry.ENTRY_CLASSES["system"]
    for name, cls in sorted(found.items()):
        yield f"| `{name}` | {span(cls.seen)} | {_first_line(cls)} |"


def result_table() -> Iterator[str]:
    """What each tool's result holds."""
    yield "| tool | fields of `toolUseResult` |"
    yield "|---|---|"
    for tool, named in sorted(results.RESULT_FIELDS.items()):
        cells = [_brief(Field(name, "", *versions(note))) for name, note in named.items()]
        yield f"| `{tool}` | {'; '.join(cells)} |"


def _apart(base: type[FormatObject], module: types.ModuleType) -> dict[str, type[FormatObject]]:
    return {
        tag: cls
        for tag, cls in registry.ENTRY_CLASSES.items()
        if issubclass(cls, base) and cls.__module__ == module.__name__
    }


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "overview": overview,
    "envelope": lambda: field_table(envelope.Envelope),
    "user": lambda: field_table(conversation.User, envelope.Envelope),
    "permission-decision": lambda: field_table(conversation.PermissionDecision),
    "assistant": lambda: field_table(conversation.Assistant, envelope.Envelope),
    "message": lambda: field_table(conversation.AssistantMessage),
    "usage": lambda: field_table(blocks.MessageUsage),
    "system": lambda: kind_table(registry.SYSTEM_CLASSES, system.SystemEntry),
    "compact-metadata": lambda: field_table(system.CompactMetadata),
    "attachment": lambda: field_table(registry.ENTRY_CLASSES["attachment"], envelope.Envelope),
    "attachments": lambda: kind_table(registry.ATTACHMENT_CLASSES, registry.Attachment),
    "progress": lambda: kind_table(registry.PROGRESS_CLASSES, registry.ProgressReport),
    "blocks": lambda: kind_table(registry.BLOCK_CLASSES, registry.Block),
    "metadata": lambda: kind_table(_apart(metadata.Aside, metadata), metadata.Metadata),
    "records": lambda: kind_table(_apart(metadata.Aside, records), metadata.Metadata),
    "backup": lambda: field_table(records.Backup),
    "rare": lambda: kind_table(_apart(metadata.Aside, rare), metadata.Metadata),
    "results": result_table,
}


if __name__ == "__main__":
    main()
