"""From a query to what is found: every filter, every form of a word, in a real index."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import START, Build
from tests.store.findable import Findable
from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.store.index.facets import FACET_MARK
from turnlog.store.search.filter_times import list_day_facets, parse_time
from turnlog.store.search.match_expression import KINDS_BY_ROLE, MATCH_EVERYTHING, plan_search
from turnlog.store.search.query import parse_query
from turnlog.store.search.syntax import QueryError

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Findable]:
    """Three sessions of two projects."""
    found = Findable(tmp_path_factory.mktemp("machine"))
    first = Build()
    first.prompt("please call getUserName from src/app/main.py in foo_bar.baz()")
    first.answer({"type": "thinking", "thinking": "parseHTTPHeader ponders"}, "the answer café 日本語を話すtext")
    first.call("c1", "Bash", {"command": "pytest tests"})
    first.result("c1", "assertion failed here", error=True)
    first.call("c2", "Read", {"file_path": "/home/dana/webshop/src/app/main.py"})
    first.result("c2", "def main(): pass")
    first.note("custom-title", customTitle="Shop assistant")
    found.add(1, first)
    second = Build()
    second.wait(40 * 86_400)
    second.prompt("call the github API", cwd="/home/dana/blog")
    second.answer("the GitHub way", model="claude-sonnet-5", cwd="/home/dana/blog")
    second.note("ai-title", aiTitle="Blog engine")
    found.add(2, second, "-home-dana-blog")
    third = Build()
    third.wait(80 * 86_400)
    third.prompt("call nothing")
    found.add(3, third)
    found.refresh()
    yield found
    found.store.close()


@pytest.mark.parametrize(
    "query",
    [
        "getUserName",
        "getusername",
        "get_user_name",
        "user",
        "USER",
        '"user name"',
        "getU*",
        "getuser*",
        "src/app/main.py",
        "app/main.py",
        "main.py",
        "foo_bar",
        "bar",
        "foo_bar.baz()",
        "http",
        "parseHTTPHeader",
        "parse_http_header",
        "cafe",
        "CAFÉ",
        "日本",
        "語を話す",
        "話すtext",
        "text",
        "pond*",
        "file:main.py",
        "file:src/app",
        "file:src/*.py",
        "file:webshop/src/ap*",
        "pytest",
        "Bash",
        "Shop assistant",
    ],
)
def test_it_is_found_as_typed_and_by_its_parts(machine: Findable, query: str) -> None:
    assert machine.ids(query) == [1]


@pytest.mark.parametrize(
    "query",
    [
        "getName",
        "username",
        "ser",
        '"name user"',
        "main.js",
        "日語",
        "話すtex",
        "file:nowhere.py",
        "file:pytest",
        "pon",
    ],
)
def test_what_is_not_there_is_not_found(machine: Findable, query: str) -> None:
    assert machine.ids(query) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("call", {1, 2, 3}),
        ("call getUserName", {1}),
        ("github OR getUserName", {1, 2}),
        ("call -github", {1, 3}),
        ("call NOT (github OR getUserName)", {3}),
        ("-call role:user", set()),
        ("call project:webshop", {1, 3}),
        ("call project:SHOP", {1, 3}),
        ("call project:/home/dana", {1, 2, 3}),
        ("call project:blog,webshop", {1, 2, 3}),
        ("call -project:webshop", {2}),
        ("call session:00000002", {2}),
        ('call session:"blog ENGINE"', {2}),
        ("call session:last", {3}),
        ("model:claude-sonnet-5", {2}),
        ("model:sonnet", {2}),
        ("model:*sonnet*", {2}),
        ("tool:bash error:yes", {1}),
        ("tool:Bash,Read", {1}),
        ("error:yes", {1}),
        ("call error:no", {1, 2, 3}),
        ("failed error:no", set()),
        ("kind:title", {1, 2}),
        ("kind:titles", {1, 2}),
        ("role:tool", {1}),
        ("ponders role:assistant", {1}),
        ("ponders role:user", set()),
        ("call after:2026-02-01", {2, 3}),
        ("call before:2026-02-01", {1}),
        ("call after:2026-02-01 before:2026-03-01", {2}),
        ("call -after:2026-02-01", {1}),
        ("call (after:2026-03-01 OR before:2026-02-01)", {1, 3}),
        ("call before:2020", set()),
        ("call after:2099", set()),
    ],
)
def test_words_and_filters_combine(machine: Findable, query: str, expected: set[int]) -> None:
    assert set(machine.ids(query)) == expected


def test_a_time_is_checked_to_the_second(machine: Findable) -> None:
    said = START + timedelta(seconds=60)
    before, at, after = ((said + timedelta(seconds=step)).isoformat() for step in (-1, 0, 1))
    assert machine.ids(f"getUserName after:{at}") == [1]
    assert machine.ids(f"getUserName after:{after}") == []
    assert machine.ids(f"getUserName before:{after}") == [1]
    assert machine.ids(f"getUserName before:{at}") == []
    assert machine.ids(f"getUserName after:{before} before:{after}") == [1]


@pytest.mark.parametrize(
    ("query", "reason", "at"),
    [
        ("x tool:Basg", "no tool matches 'Basg'; closest matches: Bash", 7),
        ("project:webshpo", "no project matches 'webshpo'; closest matches: webshop", 8),
        ("model:gpt", "no model matches 'gpt'", 6),
        ("session:zzzz", "no session matches 'zzzz'", 8),
        ('session:"Shop assistent"', "no session matches 'Shop assistent'; closest matches: Shop assistant", 8),
        ("kind:foo", "must be one of title, prompt", 5),
        ("role:bot", "must be one of user, assistant, tool, system", 5),
        ("error:maybe", "must be one of yes, no", 6),
        ("after:someday", "not a time; examples:", 6),
        ("after:7d,8d", "after: accepts only one time", 9),
        ("file:*", "this value contains no letters or digits", 5),
    ],
)
def test_a_value_that_fits_nothing_is_explained(machine: Findable, query: str, reason: str, at: int) -> None:
    with pytest.raises(QueryError) as caught:
        plan_search(machine.store.db, parse_query(query))
    assert str(caught.value).startswith(reason)
    assert caught.value.at == at


@given(text=st.text(st.sampled_from("ab\"'()*:^+-{}NEAR日\\ \0"), min_size=1, max_size=30))
def test_whatever_is_typed_fts5_takes_the_expression(machine: Findable, text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    found = machine.find(f'zzz OR "a{escaped}"')
    assert found.total >= 0


def test_a_name_that_fits_too_much_is_explained(tmp_path: Path) -> None:
    found = Findable(tmp_path)
    for number in range(401):
        build = Build()
        build.prompt("x")
        build.note("custom-title", customTitle="the same")
        found.add(number, build)
    found.refresh()
    with pytest.raises(QueryError, match="401 sessions match; be more specific"):
        found.find('session:"the same"')
    found.store.close()


def test_every_kind_belongs_to_one_role() -> None:
    assert sorted(kind for kinds in KINDS_BY_ROLE.values() for kind in kinds) == sorted(TEXT_KINDS)
    assert MATCH_EVERYTHING.count(FACET_MARK) == len(TEXT_KINDS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("36h", NOW - timedelta(hours=36)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(days=14)),
        ("2026-03-01T10:30:00Z", datetime(2026, 3, 1, 10, 30, tzinfo=UTC)),
        ("2026-03-01T10:30:00+02:00", datetime(2026, 3, 1, 8, 30, tzinfo=UTC)),
    ],
)
def test_a_time_means_a_moment(text: str, expected: datetime) -> None:
    assert parse_time(text, NOW) == int(expected.timestamp())


def test_days_begin_at_midnight_where_we_are() -> None:
    here = NOW.astimezone()
    midnight = here.replace(hour=0, minute=0, second=0)
    assert parse_time("today", NOW) == int(midnight.timestamp())
    yesterday = parse_time("yesterday", NOW)
    assert yesterday == parse_time((here - timedelta(days=1)).strftime("%Y-%m-%d"))
    assert parse_time("2026-03") == parse_time("2026-03-01")
    assert parse_time("2026") == parse_time("2026-01-01")


@pytest.mark.parametrize("text", ["", "soon", "2026-13", "2026-02-30", "99999999d9", "7", "0000-01-01"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert parse_time(text, NOW) is None


@given(st.dates(date(2024, 1, 1), date(2027, 12, 31)), st.integers(0, 900))
def test_the_words_of_a_span_cover_each_of_its_days_once(first: date, days: int) -> None:
    start = datetime(first.year, first.month, first.day, tzinfo=UTC)
    end = min(start + timedelta(days=days), datetime(2028, 12, 31, tzinfo=UTC))
    words = [
        word.removeprefix(FACET_MARK) for word in list_day_facets(int(start.timestamp()), int(end.timestamp()) + 1)
    ]
    day, covered = start, 0
    while day <= end:
        forms = {day.strftime("y%Y"), day.strftime("n%Y%m"), day.strftime("d%Y%m%d")}
        assert len(forms.intersection(words)) == 1
        day += timedelta(days=1)
        covered += 1
    assert len(words) <= covered


def test_a_session_without_a_folder_does_not_lend_its_project_every_name_above_it(tmp_path: Path) -> None:
    machine = Findable(tmp_path)
    build, bare, alone = Build(), Build(), Build()
    build.prompt("call it")
    bare.note("summary", summary="call nothing")
    alone.note("summary", summary="call alone")
    machine.add(1, build)
    machine.add(2, bare)
    machine.add(3, alone, "-home-erin-blog")
    machine.refresh()
    assert set(machine.ids("call project:webshop")) == {1, 2}
    assert machine.ids("call project:erin") == [3]
    with pytest.raises(QueryError, match="no project matches 'dana'"):
        machine.ids("call project:dana")
    machine.store.close()
