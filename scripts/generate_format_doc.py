"""Write the tables of `docs/format.md` from the registry of the format, `src/turnlog/entries/format.json`.

`python scripts/generate_format_doc.py` rewrites the file; a test fails if that would change it. The tables are between
markers (`<!-- table: user -->` and `<!-- end -->`); the rest is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.format import ObjectFormat, SeenVersions, load_format

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "format.md"
MARKED = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
VERSIONS = re.compile(r"\[(\d[\d.]*)(?:\+|–(\d[\d.]*))\]\s*")
REGISTRY = load_format()


class Field(NamedTuple):
    """A field as the specification describes it."""

    name: str
    """As in the file."""
    type: str
    seen: SeenVersions | None
    """None: as old as its object."""
    meaning: str


def main() -> None:
    """Rewrite the document."""
    DOCUMENT.write_text(renewed(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


def renewed(text: str) -> str:
    """The document with new tables."""

    def table(marked: re.Match[str]) -> str:
        lines = TABLES[marked["name"]]()
        return "".join((marked[1], "\n", *(line + "\n" for line in lines), "\n", marked[3]))

    return MARKED.sub(table, text)


def fields(kind: ObjectFormat) -> list[Field]:
    """All fields of an object, in order, with what their notes say."""
    return [Field(name, field.type, *versions(field.note)) for name, field in REGISTRY.list_fields(kind).items()]


def versions(note: str) -> tuple[SeenVersions | None, str]:
    """What a note says about versions, and the rest of it."""
    found = VERSIONS.match(note)
    if found is None:
        return None, note
    return (found[1], found[2]), note[found.end() :]


def span(seen: SeenVersions | None) -> str:
    """Versions in words."""
    if seen is None:
        return "not seen"
    first, last = seen
    return f"{first}+" if last is None else first if first == last else f"{first} – {last}"


def field_table(kind: ObjectFormat, without: str = "") -> Iterator[str]:
    """One row per field; `without` names a base whose fields have a table of their own."""
    left_out = REGISTRY.list_fields(REGISTRY.objects[without]) if without else {}
    yield "| field | type | versions | meaning |"
    yield "|---|---|---|---|"
    for field in fields(kind):
        if field.name not in left_out:
            seen = span(field.seen) if field.seen else ""
            yield f"| `{field.name}` | {field.type} | {seen} | {field.meaning} |"


def kind_table(kinds: dict[str, ObjectFormat], without: str = "") -> Iterator[str]:
    """One row per kind, with its fields in one cell."""
    left_out = REGISTRY.list_fields(REGISTRY.objects[without]) if without else {}
    yield "| kind | versions | what it is | fields |"
    yield "|---|---|---|---|"
    for tag, kind in sorted(kinds.items()):
        own = [_brief(field) for field in fields(kind) if field.name not in left_out]
        yield f"| `{tag}` | {span(kind.seen)} | {kind.about} | {'; '.join(own) or '–'} |"


def _brief(field: Field) -> str:
    notes = [span(field.seen)] if field.seen else []
    notes += [field.meaning.rstrip(".")] if field.meaning else []
    return f"`{field.name}`" + (f" ({': '.join(notes)})" if notes else "")


def overview() -> Iterator[str]:
    """Every type and subtype with its versions."""
    yield "| entry | versions | what it is |"
    yield "|---|---|---|"
    found = {tag: kind for tag, kind in REGISTRY.entries.items() if kind.seen}
    found |= {f"system/{tag}": kind for tag, kind in REGISTRY.system.items()}
    for name, kind in sorted(found.items()):
        yield f"| `{name}` | {span(kind.seen)} | {kind.about} |"


def result_table() -> Iterator[str]:
    """What each tool's result holds."""
    yield "| tool | fields of `toolUseResult` |"
    yield "|---|---|"
    for tool, kind in sorted(REGISTRY.tool_results.items()):
        yield f"| `{tool}` | {'; '.join(map(_brief, fields(kind)))} |"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "overview": overview,
    "envelope": lambda: field_table(REGISTRY.objects["envelope"]),
    "user": lambda: field_table(REGISTRY.entries["user"], "envelope"),
    "permission-decision": lambda: field_table(REGISTRY.objects["permission-decision"]),
    "assistant": lambda: field_table(REGISTRY.entries["assistant"], "envelope"),
    "message": lambda: field_table(REGISTRY.objects["assistant-message"]),
    "usage": lambda: field_table(REGISTRY.objects["message-usage"]),
    "system": lambda: kind_table(REGISTRY.system, "system-entry"),
    "compact-metadata": lambda: field_table(REGISTRY.objects["compact-metadata"]),
    "attachment": lambda: field_table(REGISTRY.entries["attachment"], "envelope"),
    "attachments": lambda: kind_table(REGISTRY.attachments),
    "progress": lambda: kind_table(REGISTRY.progress),
    "blocks": lambda: kind_table(REGISTRY.blocks, "block"),
    "metadata": lambda: kind_table(REGISTRY.metadata, "metadata"),
    "records": lambda: kind_table(REGISTRY.records, "metadata"),
    "backup": lambda: field_table(REGISTRY.objects["backup"]),
    "rare": lambda: kind_table(REGISTRY.rare, "metadata"),
    "results": result_table,
}


if __name__ == "__main__":
    main()
