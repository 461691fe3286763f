"""All sessions of an index as rows of a list."""

from __future__ import annotations

from tests.session.build import Build
from tests.store.index_build import ONE, TWO, Desk, main
from turnlog.store.insight.catalog import list_catalog, list_used_tools, read_catalog_state
from turnlog.store.store import Store

THREE = "cccccccc-0000-4000-8000-000000000003"
USAGE = {"input_tokens": 1000, "output_tokens": 100}


def talk(title: str, *, fork_of: str | None = None, late: float = 0) -> Build:
    build = Build()
    build.wait(late)
    origin = {"forkedFrom": {"sessionId": fork_of}} if fork_of else {}
    build.prompt(f"Please do {title}", uuid=f"p-{title}", gitBranch="main", **origin)
    build.call(f"c-{title}", "Bash", {"command": "ls"}, usage=USAGE, id=f"m1-{title}")
    build.result(f"c-{title}", "no", error=True)
    build.answer("Done.", usage=USAGE, id=f"m2-{title}", model="claude-haiku-4-5")
    build.note("custom-title", customTitle=title)
    return build


def fill_store(desk: Desk) -> Store:
    desk.write(main(ONE), talk("first").data())
    desk.write(main(TWO), talk("second", late=5000).data())
    desk.write(main(THREE), talk("third", fork_of=ONE, late=9000).data())
    store = Store.open(desk.data)
    store.refresh([desk.config])
    return store


def test_a_row_says_what_a_session_is_about_how_long_it_is_and_what_it_cost(desk: Desk) -> None:
    with fill_store(desk) as store:
        row = next(row for row in list_catalog(store.db) if row.uuid == ONE)
    assert (row.title, row.first_prompt, row.project) == ("first", "Please do first", "/home/dana/webshop")
    assert (row.git_branch, row.prompts, row.messages, row.seconds) == ("main", 1, 2, 180.0)
    assert row.models in (("claude-opus-5", "claude-haiku-4-5"), ("claude-haiku-4-5", "claude-opus-5"))
    assert row.cost_usd > 0
    assert row.size == (desk.config / main(ONE)).stat().st_size


def test_a_family_stands_together_where_its_newest_member_would_stand(desk: Desk) -> None:
    with fill_store(desk) as store:
        rows = list_catalog(store.db)
    assert [(row.title, row.depth) for row in rows] == [("first", 0), ("third", 1), ("second", 0)]
    assert rows[1].origin is not None
    assert rows[1].origin.relation == "fork"
    assert rows[0].root == rows[1].root == rows[0].number


def test_deleted_and_archived_sessions_are_marked(desk: Desk) -> None:
    with fill_store(desk) as store:
        (desk.config / main(TWO)).unlink()
        store.refresh([desk.config])
        rows = {row.uuid: row for row in list_catalog(store.db, {TWO})}
    assert (rows[TWO].is_gone, rows[TWO].is_archived) == (True, True)
    assert (rows[ONE].is_gone, rows[ONE].is_archived) == (False, False)


def test_the_tools_of_some_sessions_are_counted_with_their_failures(desk: Desk) -> None:
    with fill_store(desk) as store:
        row = next(row for row in list_catalog(store.db) if row.uuid == ONE)
        found = list_used_tools(store.db, [row.number])
    assert {number: [tuple(used) for used in items] for number, items in found.items()} == {
        row.number: [("Bash", 1, 1)]
    }


def test_the_state_changes_when_a_session_grows_and_stays_when_none_does(desk: Desk) -> None:
    with fill_store(desk) as store:
        before = read_catalog_state(store.db)
        store.refresh([desk.config])
        assert read_catalog_state(store.db) == before
        with (desk.config / main(TWO)).open("ab") as file:
            file.write(talk("more").data())
        store.refresh([desk.config])
        assert read_catalog_state(store.db) != before
