"""Write the tables in `docs/format.md` from the registry of the format, `src/turnlog/entries/format.json`.

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
    """None if the field is as old as its object."""
    meaning: str


def main() -> None:
    """Rewrite the document."""
    DOCUMENT.write_text(renew_document(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


def renew_document(text: str) -> str:
    """Return the document with new tables."""

    def render_table(match: re.Match[str]) -> str:
        lines = TABLES[match["name"]]()
        return "".join((match[1], "\n", *(line + "\n" for line in lines), "\n", match[3]))

    return MARKED.sub(render_table, text)


def list_fields(kind: ObjectFormat) -> list[Field]:
    """List the fields of an object in order, with the versions and meanings from their notes."""
    return [Field(name, field.type, *parse_versions(field.note)) for name, field in REGISTRY.list_fields(kind).items()]


def parse_versions(note: str) -> tuple[SeenVersions | None, str]:
    """Split a note into the versions that it states and the rest."""
    match = VERSIONS.match(note)
    if match is None:
        return None, note
    return (match[1], match[2]), note[match.end() :]


def format_versions(seen: SeenVersions | None) -> str:
    if seen is None:
        return "not seen"
    first, last = seen
    return f"{first}+" if last is None else first if first == last else f"{first} – {last}"


def build_field_table(kind: ObjectFormat, without: str = "") -> Iterator[str]:
    """Build one row per field; `without` names a base object whose fields have their own table."""
    omitted = REGISTRY.list_fields(REGISTRY.objects[without]) if without else {}
    yield "| field | type | versions | meaning |"
    yield "|---|---|---|---|"
    for field in list_fields(kind):
        if field.name not in omitted:
            seen = format_versions(field.seen) if field.seen else ""
            yield f"| `{field.name}` | {field.type} | {seen} | {field.meaning} |"


def build_kind_table(kinds: dict[str, ObjectFormat], without: str = "") -> Iterator[str]:
    """Build one row per kind, with its fields in one cell."""
    omitted = REGISTRY.list_fields(REGISTRY.objects[without]) if without else {}
    yield "| kind | versions | what it is | fields |"
    yield "|---|---|---|---|"
    for tag, kind in sorted(kinds.items()):
        own = [_describe_field(field) for field in list_fields(kind) if field.name not in omitted]
        yield f"| `{tag}` | {format_versions(kind.seen)} | {kind.about} | {'; '.join(own) or '–'} |"


def _describe_field(field: Field) -> str:
    notes = [format_versions(field.seen)] if field.seen else []
    notes += [field.meaning.rstrip(".")] if field.meaning else []
    return f"`{field.name}`" + (f" ({': '.join(notes)})" if notes else "")


def build_overview() -> Iterator[str]:
    """Build one row per type and subtype, with its versions."""
    yield "| entry | versions | what it is |"
    yield "|---|---|---|"
    kinds = {tag: kind for tag, kind in REGISTRY.entries.items() if kind.seen}
    kinds |= {f"system/{tag}": kind for tag, kind in REGISTRY.system.items()}
    for name, kind in sorted(kinds.items()):
        yield f"| `{name}` | {format_versions(kind.seen)} | {kind.about} |"


def build_result_table() -> Iterator[str]:
    """Build one row per tool, with the fields of its result."""
    yield "| tool | fields of `toolUseResult` |"
    yield "|---|---|"
    for tool, kind in sorted(REGISTRY.tool_results.items()):
        yield f"| `{tool}` | {'; '.join(map(_describe_field, list_fields(kind)))} |"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "overview": build_overview,
    "envelope": lambda: build_field_table(REGISTRY.objects["envelope"]),
    "user": lambda: build_field_table(REGISTRY.entries["user"], "envelope"),
    "permission-decision": lambda: build_field_table(REGISTRY.objects["permission-decision"]),
    "assistant": lambda: build_field_table(REGISTRY.entries["assistant"], "envelope"),
    "message": lambda: build_field_table(REGISTRY.objects["assistant-message"]),
    "usage": lambda: build_field_table(REGISTRY.objects["message-usage"]),
    "system": lambda: build_kind_table(REGISTRY.system, "system-entry"),
    "compact-metadata": lambda: build_field_table(REGISTRY.objects["compact-metadata"]),
    "attachment": lambda: build_field_table(REGISTRY.entries["attachment"], "envelope"),
    "attachments": lambda: build_kind_table(REGISTRY.attachments),
    "progress": lambda: build_kind_table(REGISTRY.progress),
    "blocks": lambda: build_kind_table(REGISTRY.blocks, "block"),
    "metadata": lambda: build_kind_table(REGISTRY.metadata, "metadata"),
    "records": lambda: build_kind_table(REGISTRY.records, "metadata"),
    "backup": lambda: build_field_table(REGISTRY.objects["backup"]),
    "rare": lambda: build_kind_table(REGISTRY.rare, "metadata"),
    "results": build_result_table,
}


if __name__ == "__main__":
    main()
