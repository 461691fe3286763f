"""Looking through the files: substrings and regular expressions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import Build
from tests.store.findable import Findable
from turnlog.errors import UsageError
from turnlog.store.search import scan as scanning
from turnlog.store.search.filtered_scan import TextSieve, group_scan_reports, has_text_filters, list_scan_targets
from turnlog.store.search.match_expression import plan_search
from turnlog.store.search.needle import SearchNeedle, build_regex_needle, build_text_needle
from turnlog.store.search.query import parse_query
from turnlog.store.search.scan import FileScanReport, ScanTarget, scan_file, scan_files


def line(text: str, ensure_ascii: bool = True) -> bytes:
    entry = {"type": "user", "message": {"role": "user", "content": text}}
    return json.dumps(entry, ensure_ascii=ensure_ascii).encode() + b"\n"


def list_sighting_offsets(needle: SearchNeedle, *pieces: bytes) -> list[int]:
    """Where the entries are that hold a needle."""
    report = scan_file(needle, ScanTarget(1, "", False, 0), lambda _: iter(pieces))
    return [item.offset for item in report.sightings]


TRICKY = [
    'say "hi"',
    "a\\b",
    "tab\there",
    "two\nlines",
    "日本語",
    "é",
    "a/b",
    "<b>&'",
    "=> {",
    "\x7f\x01",
    "😀",
    "\u2028",
]


@pytest.mark.parametrize("text", TRICKY)
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_a_substring_is_found_however_json_spells_it(text: str, ensure_ascii: bool) -> None:
    data = line("nothing") + line(f"before{text}after", ensure_ascii=ensure_ascii) + line("more")
    assert list_sighting_offsets(build_text_needle(text), data) == [len(line("nothing"))]


@given(st.text(min_size=1), st.text(), st.booleans())
def test_any_substring_is_found(text: str, around: str, ensure_ascii: bool) -> None:
    assert list_sighting_offsets(build_text_needle(text), line(around + text + around, ensure_ascii=ensure_ascii)) == [
        0
    ]


def test_what_only_the_json_around_the_texts_holds_is_not_found() -> None:
    assert list_sighting_offsets(build_text_needle("content"), line("hello")) == []
    assert list_sighting_offsets(build_regex_needle("us.r"), line("hello")) == []


@pytest.mark.parametrize(
    ("expression", "clues"),
    [
        (r"TODO\(\w+\)", (b"TODO(",)),
        (r"(?:foo)+bar?", (b"foo",)),
        (r"a|b", ()),
        (r"(?i)todo", ()),
        (r"(?i:todo)x", (b"x",)),
        (r"x?y*", ()),
        (r"(?>abc)\d", (b"abc",)),
        (r"(abc){2,}?", (b"abc",)),
        ("日本", ()),
    ],
)
def test_a_regex_has_a_clue_where_it_must_hold_a_text(expression: str, clues: tuple[bytes, ...]) -> None:
    assert build_regex_needle(expression).clues == clues


@pytest.mark.parametrize("expression", [r"T[A-Z]DO", r"to.*do", r"^hello", r"(?i)TODO\((\w+)\)", r"\bdana\b", r"é+"])
def test_a_regex_finds_what_it_finds_in_the_texts(expression: str) -> None:
    texts = ["hello", "TODO(dana)", "to\ndo", "todo do", "éé", "x"]
    data = b"".join(map(line, texts))
    offsets = [sum(len(line(text)) for text in texts[:number]) for number in range(len(texts))]
    expected = [at for at, text in zip(offsets, texts, strict=True) if re.search(expression, text)]
    assert list_sighting_offsets(build_regex_needle(expression), data) == expected


@pytest.mark.parametrize(("give", "reason"), [("(a", "unterminated subpattern"), ("*", "nothing to repeat")])
def test_a_bad_regex_is_explained(give: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        build_regex_needle(give)


def test_an_empty_substring_is_refused() -> None:
    with pytest.raises(UsageError, match="would match everything"):
        build_text_needle("")


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_lines_are_whole_however_the_file_is_cut(size: int) -> None:
    data = b"".join(line(f"{'x' * number} needle") for number in range(0, 60, 7))[:-1]
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert list_sighting_offsets(build_text_needle("needle"), *pieces) == list_sighting_offsets(
        build_text_needle("needle"), data
    )
    assert len(list_sighting_offsets(build_text_needle("needle"), data)) == 9


def test_broken_lines_are_passed_over() -> None:
    assert list_sighting_offsets(build_text_needle("needle"), b'{"needle\n\0\0needle\n' + line("needle")) == [18]


def test_of_many_texts_in_a_file_the_first_are_kept_and_all_counted() -> None:
    report = scan_file(
        build_text_needle("x"), ScanTarget(1, "", False, 0), lambda _: iter([line("x") * 100]), max_sightings=5
    )
    assert (report.total, len(report.sightings)) == (100, 5)


def test_a_plain_file_is_one_text() -> None:
    report = scan_file(
        build_text_needle("日本"), ScanTarget(1, "", True, 0), lambda _: iter(["ein\n日本語\n".encode()])
    )
    assert [(item.offset, item.kind) for item in report.sightings] == [(0, "result")]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Findable]:
    """Six sessions of two projects, the newest with the highest number."""
    found = Findable(tmp_path)
    for number in range(6):
        build = Build()
        cwd = "/home/dana/blog" if number % 2 else "/home/dana/webshop"
        build.prompt(f"needle({number})", cwd=cwd)
        build.call("c1", "Bash", {"command": "needle(x)"}, cwd=cwd)
        build.result("c1", "needle(y)", error=number == 4, cwd=cwd)
        found.add(number, build, cwd.replace("/", "-"))
    found.refresh()
    yield found
    found.store.close()


def hits(machine: Findable, query: str | None, needle: str = "needle(") -> list[tuple[int, str]]:
    """The sessions and kinds of what a scan finds and filters let through."""
    db = machine.store.db
    parsed = parse_query(query) if query else None
    sieve = TextSieve(db, plan_search(db, parsed) if parsed and has_text_filters(parsed) else None)
    reports = [
        sieve.sift_report(report)
        for report in scan_files(build_text_needle(needle), list_scan_targets(db, parsed)).reports
    ]
    groups = group_scan_reports(db, [report for report in reports if report.total], sieve, 99, 99)
    uuids = dict(db.execute("SELECT id, uuid FROM session"))
    return [(int(uuids[group.session][:8], 16), hit.kind) for group in groups for hit in group.hits]


def test_a_scan_gives_the_newest_files_first(machine: Findable) -> None:
    assert [number for number, kind in hits(machine, None) if kind == "prompt"] == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("project:webshop kind:prompt", [(4, "prompt"), (2, "prompt"), (0, "prompt")]),
        ("-project:webshop kind:prompt", [(5, "prompt"), (3, "prompt"), (1, "prompt")]),
        ("session:00000003", [(3, "prompt"), (3, "call"), (3, "result")]),
        ("error:yes", [(4, "result")]),
        ("tool:Bash session:00000001", [(1, "call"), (1, "result")]),
        ("session:00000002 after:2026-01-01T10:02:30Z", [(2, "result")]),
        ("role:system", []),
    ],
)
def test_filters_let_through_what_fits(machine: Findable, query: str, expected: list[tuple[int, str]]) -> None:
    assert hits(machine, query) == expected


def test_only_the_files_of_named_projects_are_read(machine: Findable) -> None:
    assert {
        Path(target.path).parent.name for target in list_scan_targets(machine.store.db, parse_query("project:blog"))
    } == {"-home-dana-blog"}


def test_a_scan_stops_when_there_is_enough(machine: Findable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "ROUND_BYTES_PER_CORE", 1)
    files = list_scan_targets(machine.store.db, None)
    result = scan_files(build_text_needle("needle("), files, is_enough=lambda found: len(found) >= 2)
    assert (result.files, result.left, len(result.reports)) == (2, 4, 2)


def test_an_interrupted_scan_gives_what_it_found_so_far(machine: Findable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "ROUND_BYTES_PER_CORE", 1)

    def stop(found: Sequence[FileScanReport]) -> bool:
        if len(found) == 3:
            raise KeyboardInterrupt
        return False

    result = scan_files(build_text_needle("needle("), list_scan_targets(machine.store.db, None), is_enough=stop)
    assert (result.is_interrupted, len(result.reports), result.left) == (True, 3, 3)


def test_a_file_that_cannot_be_read_is_named(machine: Findable) -> None:
    files = list_scan_targets(machine.store.db, None)
    Path(files[0].path).unlink()
    result = scan_files(build_text_needle("needle("), files)
    assert len(result.reports) == 5
    assert result.failures == (f"{files[0].path}: No such file or directory",)


def test_a_scan_tells_how_far_it_is(machine: Findable) -> None:
    told: list[tuple[int, int]] = []
    files = list_scan_targets(machine.store.db, None)
    scan_files(build_text_needle("needle("), files, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (sum(target.size for target in files),) * 2
