"""Findings: what is wrong with a session, or new in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.build import DATA, Build, base, encode_lines, find_recording, open_variant, variant
from turnlog.session.check import (
    MAX_NAMED_PLACES,
    Finding,
    FindingPlace,
    Findings,
    check,
    filter_error_findings,
    find_repeated_keys,
    prove_session_requests,
)
from turnlog.session.session import Session
from turnlog.work_progress import listen_to_work, stop_listening


def findings(session: Session, *, requests: bool = False) -> dict[str, Finding]:
    return {finding.kind: finding for finding in check(session, requests=requests)}


def of(data: bytes) -> dict[str, Finding]:
    return findings(Session.from_bytes(data))


def check_changed_entry(**fields: object) -> dict[str, Finding]:
    """The findings of a session in which one entry has other fields."""
    build = base()
    build["u3"].update(fields)
    return findings(build.session())


def test_a_sound_session_has_no_findings() -> None:
    assert check(base().session()) == []


@pytest.mark.parametrize("run", ["1.0.128/tools", "2.0.76/tools", "2.1.29/tools", "2.1.45/tools", "2.1.325/tools"])
def test_recorded_sessions_are_sound(run: str) -> None:
    session = Session.from_bytes(find_recording(run).read_bytes())
    assert [finding.text for finding in check(session) if finding.severity != "info"] == []


def test_an_empty_file_is_told() -> None:
    assert set(of(b"")) == {"empty"}
    assert set(of(b"\n")) == {"empty", "blank-line"}


def test_a_file_of_another_program_is_told() -> None:
    assert set(of(b'{"type":"session_meta","payload":{},"timestamp":"x"}\n')) == {"foreign"}


GOOD = base().data()
LINES = [
    (b"{broken}\n", "broken-line", "error"),
    (b'{"type":"us', "torn-line", "warning"),
    (b"[1]\n", "value-line", "warning"),
    (b"\0\0\n", "padding-line", "warning"),
    (b"// a comment\n", "comment-line", "info"),
    (b"\n", "blank-line", "info"),
]


@pytest.mark.parametrize(("line", "kind", "severity"), LINES)
def test_a_line_that_is_no_entry_is_told_with_its_place(line: bytes, kind: str, severity: str) -> None:
    finding = of(GOOD + line)[kind]
    assert (finding.severity, finding.count) == (severity, 1)
    (place,) = finding.places
    assert (place.line, place.offset, place.uuid) == (7, len(GOOD), None)


def test_a_byte_order_mark_is_told() -> None:
    assert of(variant("utf-8-bom-first").read_bytes())["bom-line"].severity == "info"


def test_the_lines_of_glued_entries_are_counted_as_a_person_counts_them() -> None:
    first, second, third, *_ = GOOD.splitlines()
    found = of(first + second + b"\n" + third + b"\n{broken}\n")
    assert found["flaw-behind"].severity == "error"
    assert found["flaw-behind"].places[0].line == 1
    assert found["broken-line"].places[0].line == 3


def test_an_entry_with_a_flaw_is_told() -> None:
    assert check_changed_entry(cwd=5)["flaw-types"].severity == "warning"


def test_a_missing_parent_is_told_with_its_entry() -> None:
    finding = check_changed_entry(parentUuid="gone")["missing-parent"]
    assert [place.uuid for place in finding.places] == ["u3"]
    assert finding.places[0].line == 5


def test_a_parent_in_a_sub_agents_file_is_told(open_session: Callable[[Path], Session]) -> None:
    found = findings(open_session(find_recording("2.1.29/tui_progress")))
    assert "parent-in-agent" in found
    assert "missing-parent" not in found


def test_a_uuid_that_is_written_twice_is_told() -> None:
    assert findings(open_variant("first-rows-written-twice-same-uuids"))["duplicate-uuid"].count > 0


def test_a_cycle_is_told() -> None:
    assert findings(open_variant("parent-cycle"))["cycle"].severity == "error"


def test_a_branch_is_told() -> None:
    build = base()
    build.prompt("again", parent="a2")
    assert findings(build.session())["branch"].severity == "info"


def test_entries_of_another_session_are_told() -> None:
    finding = check_changed_entry(sessionId="another")["other-session"]
    assert [place.uuid for place in finding.places] == ["u3"]


def test_calls_without_results_are_told_apart_by_where_they_stand() -> None:
    build = base()
    build.call("c1")
    build.answer("on")
    build.call("c2")
    found = findings(build.session())
    assert (found["unanswered-call"].severity, found["open-call"].severity) == ("warning", "info")
    assert found["unanswered-call"].count == found["open-call"].count == 1


def test_a_result_without_its_call_is_told() -> None:
    build = base()
    build.result("c9")
    assert findings(build.session())["orphan-result"].severity == "warning"


def test_a_session_that_the_client_refuses_is_told_with_the_reason() -> None:
    build = base()
    del build["a3"]["timestamp"]
    finding = findings(build.session())["refused"]
    assert finding.severity == "error"
    assert "timestamp" in finding.text


def test_that_a_side_chain_alone_is_refused_is_no_error() -> None:
    assert findings(open_variant("all-rows-issidechain-true"))["refused"].severity == "info"


def test_a_key_that_stands_twice_is_told() -> None:
    data = GOOD.replace(b'"type":"user"', b'"type":"user","cwd":"/x"', 1)
    assert "cwd" in of(data)["repeated-key"].text


def test_news_of_the_format_are_told_with_version_and_count() -> None:
    build = base()
    build.note("brand-new", version="3.0.0")
    build.note("brand-new")
    finding = next(item for item in check(build.session()) if "brand-new" in item.text)
    assert (finding.kind, finding.severity, finding.count) == ("drift", "info", 2)
    assert "3.0.0" in finding.text


def test_the_gravest_findings_come_first() -> None:
    found = [finding.severity for finding in check(Session.from_bytes(GOOD + b"\n{broken}\n[1]\n"))]
    assert found == ["error", "warning", "info"]


def test_all_places_are_counted_but_only_some_are_named() -> None:
    finding = of(GOOD + b"\n" * (MAX_NAMED_PLACES + 5))["blank-line"]
    assert (finding.count, len(finding.places)) == (MAX_NAMED_PLACES + 5, MAX_NAMED_PLACES)


def test_only_errors_are_the_worst() -> None:
    found = check(Session.from_bytes(GOOD + b"\n{broken}\n"))
    assert [finding.kind for finding in filter_error_findings(found)] == ["broken-line"]


def test_a_place_that_begins_no_line_is_line_zero() -> None:
    assert Findings(Session.from_bytes(GOOD).file).find_line_number(3) == 0


def test_keys_are_repeated_only_within_one_object() -> None:
    assert find_repeated_keys(b'{"a":{"a":1},"b":[{"c":1,"c":2}]}') == ["c"]
    assert find_repeated_keys(b"{broken") == []
    assert find_repeated_keys(b"[" * 100_000) == []


@pytest.mark.parametrize("space", ["", " "])
def test_a_repeated_key_is_reported_however_the_line_is_written(space: str) -> None:
    line = b'{"type":"user","type":%s"user","uuid":"u1"}\n' % space.encode()
    assert of(line)["repeated-key"].count == 1


def test_the_search_for_what_is_new_in_the_format_reports_how_far_it_is() -> None:
    reports: list[tuple[str, int, int]] = []
    session = base().session()
    listen_to_work(lambda *report: reports.append(report))
    try:
        check(session)
    finally:
        stop_listening()
    assert reports == [("checking", done, len(session.file.entries)) for done in range(len(session.file.entries) + 1)]


# -- requests


def test_a_file_without_recorded_requests_says_so() -> None:
    finding = findings(base().session(), requests=True)["requests"]
    assert finding.count == 0
    assert "no requests" in finding.text


def test_an_unknown_message_of_a_request_is_told() -> None:
    build = base()
    build.note("api-request", id="r1", tail=["0" * 64])
    found = findings(build.session(), requests=True)
    assert "r1" in found["request-unresolved"].text
    assert found["requests"].text.startswith("0 of 1")


def test_every_recorded_request_of_the_newest_client_is_found_in_our_reconstruction() -> None:
    paths = sorted(DATA.glob("sessions/2.1.325/*/projects/*/????????-*.jsonl"))
    proofs = [prove_session_requests(Session.from_bytes(path.read_bytes())) for path in paths]
    assert sum(proof.requests for proof in proofs) > 80
    assert sum(proof.rebuilt for proof in proofs) > 200
    assert [found for proof in proofs for found in proof.unresolved] == []


def test_findings_hold_for_a_session_of_bytes_and_of_a_file(tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    path = tmp_path / "x.jsonl"
    path.write_bytes(encode_lines(build.lines) + b"{torn")
    with Session.open(path) as session:
        assert [f.text for f in check(session)] == [f.text for f in check(Session.from_bytes(path.read_bytes()))]


def test_a_finding_still_answers_to_the_earlier_name_of_its_method() -> None:
    finding = Finding("a-kind", "info", "a text")
    finding.add(FindingPlace(1, 0))
    assert (finding.count, finding.places) == (1, [FindingPlace(1, 0)])
    assert Finding.add is Finding.add_place
