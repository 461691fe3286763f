"""The search page: hits with their addresses, controls that write the query, mistakes that are explained, scans."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from markupsafe import Markup
from starlette.testclient import TestClient

from tests.session.build import Build
from tests.web.conftest import Folders, indexed, recorded
from tests.web.loops import run_apart
from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.trash import Trash
from turnlog.errors import UsageError
from turnlog.store.search.syntax import QueryError
from turnlog.web.app import build_application
from turnlog.web.machine import Machine
from turnlog.web.search.query_filters import apply_changed_controls, change_filters, quote_filter_value, read_filters
from turnlog.web.search.scanner import ScanJob, run_scan
from turnlog.web.search.search import mark_ranges

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "bbbbbbbb-0000-4000-8000-000000000002"


def talk(title: str, word: str) -> bytes:
    build = Build()
    build.prompt(f"Please do {word} <b>now</b> & here", uuid=f"p-{title}")
    build.call(f"c-{title}", "Bash", {"command": f"grep {word} => {{"})
    build.result(f"c-{title}", f"no such {word}", error=True)
    build.answer(f"The {word} is done.")
    build.note("custom-title", customTitle=title)
    return build.data()


def machine(root: Path) -> Folders:
    found = recorded(root)
    found.add(ONE, talk("Cent rounding", "quokka"))
    found.add(TWO, talk("Discounts", "quokka").replace(b"webshop", b"library"), "-home-dana-library")
    return found


# One machine for all of these tests but those that say otherwise: they only read.
@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return machine(tmp_path_factory.mktemp("searching"))


@pytest.fixture(scope="module")
def place(folders: Folders) -> Iterator[Machine]:
    with indexed(folders) as found:
        yield found


def document(folders: Folders, *words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "turnlog", "search", *words, "--json"],
        env=folders.environment,
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def without_time(found: Any) -> Any:
    """A document without what depends on how fast the files were read."""
    if found["scan"]:
        found["scan"] |= {"seconds": 0, "mb_per_second": 0}
    return found


@pytest.mark.parametrize(
    "query", ["quokka", "tool:Bash error:yes", "quokka project:library", "nothing-has-this", "=> quokka"]
)
def test_the_api_gives_the_same_document_as_the_command(folders: Folders, client: TestClient, query: str) -> None:
    found = client.get("/api/search", params={"q": query})
    assert found.status_code == 200
    assert found.json() == document(folders, query)


def test_the_api_takes_how_much_to_give(folders: Folders, client: TestClient) -> None:
    found = client.get("/api/search?q=quokka&limit=1&hits=1&context=1&sort=newest").json()
    assert found == document(folders, "quokka", "--limit", "1", "--hits", "1", "--context", "1", "--sort", "newest")


@pytest.mark.parametrize(("mode", "text"), [("substring", "=> {"), ("regex", r"quok+a =>")])
def test_a_scan_gives_the_same_document_as_the_command(
    folders: Folders, client: TestClient, mode: str, text: str
) -> None:
    found = client.get("/api/search", params={"mode": mode, "text": text, "q": "project:webshop"})
    assert found.status_code == 200, found.text
    expected = document(folders, f"--{mode}", text, "project:webshop")
    assert without_time(found.json()) == without_time(expected)
    assert found.json()["total"]["hits"] == 1


def test_a_hit_leads_to_its_place_in_the_session(folders: Folders, client: TestClient) -> None:
    text = client.get("/search?q=quokka+kind:answer+session:aaaaaaaa").text
    (found,) = client.get("/api/search?q=quokka+kind:answer+session:aaaaaaaa").json()["sessions"]
    offset = found["hits"][0]["offset"]
    assert f'href="/s/{ONE}?at=@{offset}#i-@{offset}"' in text


def test_a_hit_in_a_sub_agent_names_it(client: TestClient) -> None:
    sessions = client.get("/api/search", params={"q": "kind:answer", "limit": 100, "hits": 100}).json()["sessions"]
    agents = [hit["agent_id"] for session in sessions for hit in session["hits"] if hit["agent_id"]]
    assert agents
    text = html.unescape(client.get("/search", params={"q": "kind:answer", "limit": 100, "hits": 100}).text)
    assert all(f"&agent={agent}" in text for agent in agents)


def test_matches_are_marked_and_everything_else_is_escaped(client: TestClient) -> None:
    text = client.get("/search?q=quokka+kind:prompt").text
    assert "<mark>quokka</mark> &lt;b&gt;now&lt;/b&gt; &amp; here" in text
    assert "<b>now" not in text


def test_marks_are_made_from_ranges_alone() -> None:
    assert mark_ranges("<a> b <c>", [[1, 2], [6, 9]]) == Markup("&lt;<mark>a</mark>&gt; b <mark>&lt;c&gt;</mark>")
    assert mark_ranges("", []) == ""


def test_what_was_searched_is_said(client: TestClient) -> None:
    assert re.search(r"Searched [\d,]+ pieces of text in \d+ sessions", client.get("/search?q=quokka").text)
    assert "Nothing found." in client.get("/search?q=qqqqqqqq").text
    assert (
        "Words without letters or digits were ignored: =&gt;" in client.get("/search", params={"q": "=> quokka"}).text
    )


@pytest.mark.parametrize(("query", "here"), [("quokka AND", "AND"), ("tol:Bash", "tol:Bash"), ('a "open', '"open')])
def test_a_mistake_is_explained_with_its_place(client: TestClient, query: str, here: str) -> None:
    page = client.get("/search", params={"q": query})
    assert page.status_code == 200
    assert f'<mark class="here">{html.escape(here)}' in page.text.replace("&#34;", "&quot;")
    answer = client.get("/api/search", params={"q": query})
    assert answer.status_code == 400
    assert query[answer.json()["at"] :].startswith(here)
    assert answer.json()["error"]


def test_a_broken_expression_and_an_empty_query_are_explained(client: TestClient) -> None:
    assert "missing )" in client.get("/search", params={"mode": "regex", "text": "("}).text
    assert client.get("/api/search").status_code == 400
    assert client.get("/api/search?mode=regex&q=x").status_code == 400


def test_words_beside_an_exact_text_are_refused(client: TestClient) -> None:
    page = client.get("/search", params={"mode": "substring", "text": "=>", "q": "quokka"})
    assert '<mark class="here">quokka' in page.text


def test_words_like_the_typed_ones_are_labelled_and_not_shown_where_they_cannot_be(client: TestClient) -> None:
    assert (
        "Nothing found for “quokk”; these are hits for words that start with it: quokka."
        in client.get("/search?q=quokk").text
    )
    assert "quokka" not in client.get("/search/hits?q=quokk").text


def test_deleted_sessions_are_marked(tmp_path: Path) -> None:
    folders = machine(tmp_path)
    with indexed(folders) as place:
        next(folders.projects.glob(f"*/{TWO}.jsonl")).unlink()
        place.store.refresh(place.config_dirs)
        client = TestClient(build_application(place))
        text = client.get("/search?q=quokka+project:library").text
    assert '<span class="badge bad">deleted</span>' in text
    assert "this text is no longer available" in text


@pytest.mark.parametrize(
    ("query", "told"), [("q=quokka", "4 hits in 1 session"), ("mode=substring&text=quokka", "1 session")]
)
def test_a_session_in_the_trash_is_left_out_and_told_of(tmp_path: Path, query: str, told: str) -> None:
    folders = machine(tmp_path)
    with indexed(folders) as place:
        path = next(folders.projects.glob(f"*/{TWO}.jsonl"))
        delete_session(path, Trash(place.data_dir / "trash"), force=True)
        place.store.refresh(place.config_dirs)
        client = client_of(place)
        text = client.get(f"/search?{query}").text
        found = client.get(f"/api/search?{query}").json()
        below = client.get("/search/hits?q=quokka").text
    assert f"Left out: {told} in turnlog&#39;s trash; <code>turnlog undelete bbbbbbbb</code> restores it." in text
    assert "Discounts" not in text + below
    assert [item["session_id"] for item in found["sessions"]] == [ONE]
    hits = None if found["scan"] else 4
    assert (found["searched"]["trashed"], found["searched"]["deleted"]) == ({"sessions": [TWO], "hits": hits}, 0)
    assert found["scan"] is None or not found["scan"]["unread"]


def test_words_of_which_not_all_identifiers_were_looked_for_are_named(tmp_path: Path) -> None:
    folders = recorded(tmp_path)
    build = Build()
    build.prompt(" ".join(f"quokka{first}{second}" for first in ascii_uppercase for second in ascii_lowercase))
    folders.add(ONE, build.data())
    with indexed(folders) as place:
        text = client_of(place).get("/search?q=quokka").text
        other = client_of(place).get("/search?q=quokkaAb").text
    assert "Only some of the many identifiers that contain <bdi>quokka</bdi> were searched." in text
    assert "Too many identifiers" not in other


def client_of(place: Machine) -> TestClient:
    return TestClient(build_application(place))


def test_more_sessions_and_more_of_a_session_can_be_asked_for(client: TestClient) -> None:
    text = html.unescape(client.get("/search?q=quokka&limit=1&hits=1").text)
    assert "/search?q=quokka&limit=41&hits=1" in text
    assert re.search(r"/search\?q=quokka\+session%3A[0-9a-f-]{36}&hits=100", text)


# -- controls


def test_a_control_of_a_plain_form_is_written_into_the_query(client: TestClient) -> None:
    answer = client.get("/search?q=quokka&was=quokka&f_tool=Bash&f_role=&f_error=yes")
    assert answer.status_code == 303
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    assert query == {"q": ["quokka tool:Bash error:yes"]}


def test_the_script_of_the_page_gets_the_query_back_with_the_results(client: TestClient) -> None:
    text = html.unescape(client.get("/search/results?q=quokka&was=quokka&f_project=library").text)
    assert 'data-q="quokka project:library"' in text
    assert '{"project": "library"}' in text
    assert "Discounts" in text
    assert "Cent rounding" not in text


def test_controls_show_what_the_query_says(client: TestClient) -> None:
    text = client.get("/search?q=quokka+tool:Bash+kind:call,result").text
    assert '<option value="Bash" selected>' in text
    assert '<option value="call,result" selected>' in text


@pytest.mark.parametrize(
    ("query", "before", "controls", "after"),
    [
        ("a", "a", {"tool": "Bash"}, "a tool:Bash"),
        ("a tool:Bash b", "a tool:Bash b", {"tool": "Read"}, "a b tool:Read"),
        ("a tool:Bash", "a tool:Bash", {"tool": ""}, "a"),
        ("a", "a tool:Bash", {"tool": "Bash"}, "a"),  # taken out by hand: the control was not touched
        ("a OR b", "a OR b", {"error": "yes"}, "(a OR b) error:yes"),
        ("(a OR tool:Bash) -tool:Read", "", {"tool": "Grep"}, "(a OR tool:Bash) -tool:Read tool:Grep"),
        ("a", "a", {"project": "my shop"}, 'a project:"my shop"'),
        ("", "", {"after": "7d"}, "after:7d"),
        ('a "open', "", {"tool": "Bash"}, 'a "open tool:Bash'),
        ('"a  b" tool:Bash', '"a  b" tool:Bash', {"tool": ""}, '"a  b"'),
    ],
)
def test_controls_change_the_query_and_nothing_else(query: str, before: str, controls: Any, after: str) -> None:
    assert apply_changed_controls(query, before, controls) == after


def test_what_a_control_writes_it_reads_again() -> None:
    for value in ("my shop", 'a"b', "a,b", "a\\b c", "(x)", "plain"):
        query = change_filters("word", {"project": value})
        assert read_filters(query)["project"] == value
        assert change_filters(query, {"project": ""}) == "word"
    assert quote_filter_value("plain") == "plain"


# -- on the list of sessions


def test_hits_stand_below_the_list_of_sessions_and_none_for_a_mistake(client: TestClient) -> None:
    assert "In the text" in client.get("/search/hits?q=quokka").text
    assert "Discounts" not in client.get("/search/hits?q=quokka&in=/home/dana/webshop").text
    assert client.get('/search/hits?q="quokka').text == ""
    assert client.get("/search/hits?q=qqqqqq").text == ""


# -- scans that don't end


async def never() -> bool:
    return False


async def at_once() -> bool:
    return True


def job(place: Machine, text: str) -> ScanJob:
    return ScanJob(str(place.index), str(place.data_dir), "regex", text)


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[Machine]:
    folders = Folders(tmp_path / "claude", tmp_path / "turnlog")
    folders.add("cccccccc-0000-4000-8000-000000000003", talk("x", "a" * 60 + "!"))
    with indexed(folders) as found:
        yield found


def test_an_expression_that_never_ends_is_told_to_show_what_it_has(endless: Machine) -> None:
    found = run_apart(run_scan(job(endless, r"(a+a+)+$"), never, patience=2))
    assert found["scan"]["interrupted"] is True


def test_a_scan_that_nobody_waits_for_is_ended(endless: Machine) -> None:
    with pytest.raises(UsageError, match="too long"):
        run_apart(run_scan(job(endless, r"(a+a+)+$"), at_once))


def test_a_mistake_of_a_scan_keeps_its_place(place: Machine) -> None:
    with pytest.raises(QueryError) as caught:
        run_apart(run_scan(ScanJob(str(place.index), str(place.data_dir), "substring", "x", "role:nobody"), never))
    assert caught.value.at == 5


@pytest.mark.parametrize("query", ["limit=0&hits=x&q=quokka", "mode=other&q=quokka", "q=" + "a+" * 500, "q=%00"])
def test_an_address_that_makes_no_sense_is_answered_all_the_same(client: TestClient, query: str) -> None:
    assert client.get(f"/search?{query}").status_code == 200
