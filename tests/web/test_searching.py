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
from tests.web.conftest import Folders, open_indexed, record_folders
from tests.web.loops import run_apart
from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.trash import Trash
from turnlog.errors import UsageError
from turnlog.store.search.syntax import QueryError
from turnlog.web.app import build_application
from turnlog.web.machine import Machine
from turnlog.web.search.query_filters import (
    change_filters,
    list_filter_values,
    list_filters,
    quote_filter_value,
    remove_filter,
    toggle_filter_value,
)
from turnlog.web.search.remembered_searches import list_remembered_searches
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
    found = record_folders(root)
    found.add(ONE, talk("Cent rounding", "quokka"))
    found.add(TWO, talk("Discounts", "quokka").replace(b"webshop", b"library"), "-home-dana-library")
    return found


# One machine for all of these tests but those that say otherwise: they only read.
@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return machine(tmp_path_factory.mktemp("searching"))


@pytest.fixture(scope="module")
def place(folders: Folders) -> Iterator[Machine]:
    with open_indexed(folders) as found:
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
    nothing = client.get("/search?q=qqqqqqqq").text
    assert "Nothing found." in nothing
    assert 'href="/search?text=qqqqqqqq&amp;mode=substring">Search for the exact text' in nothing
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
    with open_indexed(folders) as place:
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
    with open_indexed(folders) as place:
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
    folders = record_folders(tmp_path)
    build = Build()
    build.prompt(" ".join(f"quokka{first}{second}" for first in ascii_uppercase for second in ascii_lowercase))
    folders.add(ONE, build.data())
    with open_indexed(folders) as place:
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


# -- choices beside the hits


def read_choices(text: str) -> dict[str, tuple[str, str]]:
    """The choices of a page: their count and address, by `filter:value`."""
    found = {}
    for href, facet, rest in re.findall(r'<li><a href="([^"]*)" data-facet="([^"]+:[^"]+)"(.*?)</a></li>', text):
        count = re.search(r'class="count"[^>]*>([^<]*)<', rest)
        found[html.unescape(facet)] = count[1] if count else "", html.unescape(href)
    return found


def count_hits(client: TestClient, query: str) -> int:
    document = client.get("/api/search", params={"q": query, "limit": 100, "hits": 100}).json()
    assert not document["total"]["at_least"]
    count = document["total"]["hits"]
    assert isinstance(count, int)
    return count


@pytest.mark.parametrize("query", ["quokka", "quokka kind:call,result", "done OR quokka", "fix*", ""])
def test_every_choice_finds_as_many_hits_as_its_count_says(client: TestClient, query: str) -> None:
    choices = read_choices(client.get("/search", params={"q": query, "counts": "all"}).text)
    assert {name.partition(":")[0] for name in choices} >= {"kind", "project", "tool", "model"}
    for name, (count, href) in choices.items():
        changed = parse_qs(urlsplit(href).query).get("q", [""])[0]
        kind, _, value = name.partition(":")
        if (
            value not in list_filter_values(query, kind)
            and count_hits(client, f"{kind}:{quote_filter_value(value)}") < 1000
        ):
            alone = change_filters(query, {kind: ()})
            wanted = toggle_filter_value(alone, kind, value, is_single=kind in ("after", "error"))
            assert count_hits(client, wanted) == int(count.replace(",", "")), (name, changed)


def test_the_counts_of_a_group_ignore_its_own_filter(client: TestClient) -> None:
    everything = read_choices(client.get("/search?q=quokka&counts=all").text)
    narrowed = read_choices(client.get("/search?q=quokka+kind:call&counts=all").text)
    assert {n: c for n, (c, _) in narrowed.items() if n.startswith("kind:")} == {
        n: c for n, (c, _) in everything.items() if n.startswith("kind:")
    }
    assert narrowed["project:library"][0] == "1"
    assert int(everything["project:library"][0]) > 1


def test_a_choice_adds_itself_to_the_query_and_takes_itself_back(client: TestClient) -> None:
    text = client.get("/search?q=quokka+kind:call").text
    choices = read_choices(text)
    assert parse_qs(urlsplit(choices["kind:answer"][1]).query)["q"] == ["quokka kind:call,answer"]
    assert parse_qs(urlsplit(choices["kind:call"][1]).query)["q"] == ["quokka"]
    assert len(re.findall('aria-current="true"', text.partition('id="facets"')[2])) == 1


def test_the_total_is_exact_and_says_how_many_sessions_are_shown(client: TestClient) -> None:
    text = " ".join(re.sub("<[^>]+>", "", client.get("/search?q=quokka&limit=1&counts=all").text).split())
    assert f"{count_hits(client, 'quokka')} hits in 2 sessions; the best session is shown." in text
    assert "+ hits" not in text


def test_a_typed_filter_is_shown_and_can_be_removed(client: TestClient) -> None:
    text = client.get("/search?q=quokka+session:aaaaaaaa+before:2030").text
    chosen = text.partition('class="chosen"')[2].partition("</ul>")[0]
    assert re.findall('<span class="name">([^<]+)</span>', chosen) == ["session", "before"]
    assert "/search?q=quokka+before%3A2030" in html.unescape(chosen)


def test_a_scan_offers_choices_without_counts(client: TestClient) -> None:
    choices = read_choices(client.get("/search?mode=substring&text=quokka").text)
    assert choices["tool:Bash"][0] == ""
    assert parse_qs(urlsplit(choices["tool:Bash"][1]).query) == {
        "q": ["tool:Bash"],
        "mode": ["substring"],
        "text": ["quokka"],
    }


def test_branches_limit_a_search_and_a_scan(tmp_path: Path) -> None:
    found = record_folders(tmp_path, ())
    for name, branch in ((ONE, b"fix/cents"), (TWO, b"main")):
        data = talk(f"Work on {branch.decode()}", "quokka")
        found.add(name, data.replace(b'"version":', b'"gitBranch":"' + branch + b'","version":'))
    with open_indexed(found) as place, client_of(place) as client:
        for query in ("q=quokka+branch:fix/cents", "q=quokka+-branch:main", "mode=substring&text=quokka&q=branch:fix*"):
            sessions = client.get(f"/api/search?{query}").json()["sessions"]
            assert [session["session_id"] for session in sessions] == [ONE], query
        scan = client.get("/api/search?mode=substring&text=quokka&q=-branch:fix*").json()["sessions"]
        assert [session["session_id"] for session in scan] == [TWO]
        choices = read_choices(client.get("/search?q=quokka&counts=all").text)
        assert {name for name in choices if name.startswith("branch:")} == {"branch:fix/cents", "branch:main"}
        assert "no branch matches" in client.get("/api/search?q=branch:nowhere").json()["error"]


@pytest.mark.parametrize(
    ("query", "name", "value", "after"),
    [
        ("a", "tool", "Bash", "a tool:Bash"),
        ("a tool:Bash b", "tool", "Read", "a b tool:Bash,Read"),
        ("a tool:Bash,Read", "tool", "bash", "a tool:Read"),
        ("a tool:Bash", "tool", "Bash", "a"),
        ("a OR b", "tool", "Bash", "(a OR b) tool:Bash"),
        ("a OR tool:Bash", "tool", "Bash", "(a OR tool:Bash) tool:Bash"),
        ("(a OR tool:Bash) -tool:Read", "tool", "Grep", "(a OR tool:Bash) -tool:Read tool:Grep"),
        ("a", "project", "my shop", 'a project:"my shop"'),
        ('"a  b" tool:Bash', "tool", "Bash", '"a  b"'),
        ("", "kind", "call", "kind:call"),
    ],
)
def test_a_choice_changes_its_filter_and_nothing_else(query: str, name: str, value: str, after: str) -> None:
    assert toggle_filter_value(query, name, value) == after


def test_a_filter_with_one_value_is_replaced() -> None:
    assert toggle_filter_value("a after:7d", "after", "30d", is_single=True) == "a after:30d"
    assert toggle_filter_value("a after:7d", "after", "7d", is_single=True) == "a"


def test_what_a_choice_writes_it_reads_again() -> None:
    for value in ("my shop", 'a"b', "a,b", "a\\b c", "(x)", "plain"):
        query = change_filters("word", {"project": [value]})
        assert list_filter_values(query, "project") == [value]
        assert remove_filter(query, list_filters(query)[0]) == "word"
    assert quote_filter_value("plain") == "plain"


def test_only_addresses_of_the_search_page_are_remembered() -> None:
    values = {
        "search.saved.a": {"name": "Failing", "address": "/search?q=error%3Ayes"},
        "search.saved.b": {"name": "Elsewhere", "address": "https://example.org/search?q=x"},
        "search.saved.c": {"address": "/search?q=discount"},
        "search.saved.d": "damaged",
        "search.recent": ["/search?q=cent&text=x%20y", "javascript:alert(1)", 7],
    }
    found = list_remembered_searches(values)
    assert [(item.name, item.address) for item in found.saved] == [
        ("discount", "/search?q=discount"),
        ("Failing", "/search?q=error%3Ayes"),
    ]
    assert [item.name for item in found.recent] == ["x y cent"]
    assert list_remembered_searches({"search.recent": "damaged"}).recent == []


# -- on the list of sessions


def test_hits_stand_below_the_list_of_sessions_and_none_for_a_mistake(client: TestClient) -> None:
    assert "In the text" in client.get("/search/hits?q=quokka").text
    assert "Discounts" not in client.get("/search/hits?q=quokka&in=/home/dana/webshop").text
    assert client.get("/search/hits?q=quokka tool:").text == ""
    assert client.get("/search/hits?q=qqqqqq").text == ""


def test_hits_appear_before_the_last_word_is_complete(client: TestClient) -> None:
    assert "<mark>quok</mark>ka" in client.get("/search/hits?q=quok").text
    assert "<mark>quok</mark>ka" in client.get('/search/hits?q="quok').text


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
    with open_indexed(folders) as found:
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
