"""The verdicts as a table, in the terminal and in docs/interop.md."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.interop.clients import NEWEST, OLD
from tests.interop.verdicts import Verdict

START = "<!-- interop: written by scripts/interop.py --write-docs -->"
HEADINGS = (
    f"{NEWEST}: same messages",
    f"{NEWEST}: refused, by us too",
    f"{NEWEST}: different",
    f"{OLD}: resumed",
    f"{OLD}: of these one chain, same messages",
    f"{OLD}: different or not resumed",
)
END = "<!-- interop: end -->"


def table(verdicts: list[Verdict]) -> str:
    """One line a file: what each client says."""
    words: dict[str, dict[str, str]] = {}
    for verdict in verdicts:
        words.setdefault(verdict.file, {})[verdict.version] = verdict.word
    lines = [f"{NEWEST:12}{OLD:12}file"]
    lines += [f"{said.get(NEWEST, '-'):12}{said.get(OLD, '-'):12}{file}" for file, said in words.items()]
    return "\n".join(lines)


def summary(verdicts: list[Verdict]) -> str:
    """How many files of each group fared how, as a Markdown table."""
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for verdict in verdicts:
        counts.setdefault(group(verdict.file), Counter())[verdict.version, verdict.word] += 1
    rows = [
        f"| sessions | {' | '.join(HEADINGS)} |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, seen in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        cells = [
            seen[NEWEST, "same"],
            seen[NEWEST, "refused"],
            seen[NEWEST, "DIFFERENT"],
            seen[OLD, "resumed"] + seen[OLD, "same"],
            seen[OLD, "same"],
            seen[OLD, "DIFFERENT"] + seen[OLD, "NOT RESUMED"],
        ]
        rows.append(f"| {name} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


def group(file: str) -> str:
    """The line of the summary that a file belongs to."""
    name, rest = file.split("/", 1)
    return f"written by {rest.split('/', 1)[0]}" if name == "sessions" else "one session, edited"


def write_docs(path: Path, verdicts: list[Verdict]) -> None:
    """Put the summary between the marks of the document."""
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(START, 1)
    after = rest.split(END, 1)[1]
    path.write_text(f"{before}{START}\n\n{summary(verdicts)}\n\n{END}{after}", encoding="utf-8")
