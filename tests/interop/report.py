"""The verdicts as tables, in the terminal and in docs/interop.md."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.interop.clients import NEWEST, OLD
from tests.interop.edited_sessions import Outcome
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
EDITS_START = "<!-- edits: written by scripts/interop.py --write-docs -->"
EDITS_END = "<!-- edits: end -->"
EDIT_HEADINGS = (
    f"{NEWEST}: as predicted",
    f"{OLD}: resumed",
    f"{OLD}: of these portable, same messages",
    "failed",
)


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
    _write(path, START, END, summary(verdicts))


def write_edits(path: Path, outcomes: list[Outcome]) -> None:
    """Put the table of edits between its marks of the document."""
    _write(path, EDITS_START, EDITS_END, edit_summary(outcomes))


def _write(path: Path, start: str, end: str, table: str) -> None:
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(start, 1)
    after = rest.split(end, 1)[1]
    path.write_text(f"{before}{start}\n\n{table}\n\n{end}{after}", encoding="utf-8")


def edit_table(outcomes: list[Outcome]) -> str:
    """One line for each edit of a file: what each client says."""
    lines = [f"{NEWEST:14}{OLD:14}{'edit':44}file"]
    lines += [f"{one.newest:14}{one.old:14}{one.edit:44}{one.file}" for one in outcomes]
    return "\n".join(lines)


def edit_summary(outcomes: list[Outcome]) -> str:
    """How the results of each edit fared, as a Markdown table."""
    groups: dict[str, list[Outcome]] = {}
    for one in outcomes:
        groups.setdefault(f"`{one.edit}`", []).append(one)
    rows = [f"| edit | sessions | {' | '.join(EDIT_HEADINGS)} |", "|---|--:|--:|--:|--:|--:|"]
    for name, group in [*groups.items(), ("all", outcomes)]:
        cells = [
            len(group),
            sum(one.newest == "same" for one in group),
            sum(one.old in ("resumed", "same") for one in group),
            sum(one.old == "same" for one in group),
            sum(one.reason is not None for one in group),
        ]
        rows.append(f"| {name} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)
