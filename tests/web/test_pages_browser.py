"""The list, the search and the insights in a browser: typing, scrolling, keys, and without script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.session.build import Build
from tests.web.conftest import Complaints, Folders, Server, record_folders, start_indexed
from tests.web.test_preferences import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Route

pytestmark = pytest.mark.slow

MANY = 90


def talk(number: int) -> bytes:
    build = Build()
    build.wait(number * 10_000)
    build.prompt(f"Please look at part {number}", uuid=f"p-{number}")
    build.call(
        f"c-{number}", "Bash", {"command": f"cat quokka-{number}"}, usage={"input_tokens": 9, "output_tokens": 9}
    )
    build.result(f"c-{number}", "no such file", error=number % 3 == 0)
    build.answer("The quokka is fine.", usage={"input_tokens": 1000, "output_tokens": 100})
    build.note("custom-title", customTitle=f"Session number {number}")
    return build.data().replace(b"msg-", f"msg-{number}-".encode())


# One machine and one server for all of these tests: they only read.
@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    found = record_folders(tmp_path_factory.mktemp("pages"))
    for number in range(MANY):
        found.add(f"aaaaaaaa-0000-4000-8000-{number:012}", talk(number), "-home-many")
    return found


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


def has_saved_search(context: BrowserContext) -> bool:
    values = context.request.get("/api/preferences").json()["values"]
    return any(name.startswith("search.saved.") for name in values)


def rows(page: Page) -> int:
    return page.locator("tr.session:visible").count()


def test_the_list_filters_as_one_types_and_finds_in_the_texts(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/")
    page.keyboard.press("f")
    page.keyboard.type("number 77")
    expect(page.locator("tr.session:visible")).to_have_count(1)
    expect(page.locator("#count")).to_contain_text("1 session of")
    expect(page.locator("#hits .hit-group").first).to_contain_text("Session number 77")
    assert page.url.endswith("/?q=number+77")
    page.locator("#filter").fill("")
    expect(page.locator("#hits")).to_be_hidden()
    expect(page.locator("#count")).not_to_contain_text(" of ")


def test_more_rows_come_as_one_scrolls(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/?project=/home/dana/webshop")
    page.mouse.wheel(0, 20_000)
    expect(page.locator("tr.session").nth(MANY - 1)).to_be_attached()
    refs = page.locator("tr.session").evaluate_all("rows => rows.map((row) => row.dataset.ref)")
    assert len(refs) == len(set(refs)) >= MANY


def test_rows_that_are_looked_at_tell_their_health_and_turns(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/?q=number+5")
    row = page.locator("tr.session").first
    expect(row.locator("td.health .badge").first).to_have_text(re.compile("healthy|error|warning"))
    expect(row.locator(".turn-count")).to_have_text("1")


def test_keys_go_from_session_to_session(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("tr.session a.title").nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator("tr.session a.title").nth(0)).to_be_focused()


def test_choosing_a_project_and_an_order_renews_the_list(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/")
    page.get_by_label("By project").check()
    expect(page.locator("tr.group").first).to_be_visible()
    assert "group=project" in page.url
    page.get_by_role("link", name="Cost").click()
    page.wait_for_url(re.compile("sort=cost"))
    expect(page.locator("th.cost")).to_have_attribute("aria-sort", "descending")


def test_searching_as_one_types_marks_what_was_found(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/search")
    page.keyboard.type("quokka")
    expect(page.locator("mark").first).to_have_text("quokka")
    expect(page.locator(".summary")).to_contain_text("Searched")
    assert page.url.endswith("/search?q=quokka")


def test_a_hit_leads_to_its_place_in_the_session(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/search?q=fine+kind:answer+session:aaaaaaaa-0000-4000-8000-000000000042")
    page.locator("ol.found a").first.click()
    page.wait_for_url(re.compile(r"/s/aaaaaaaa-0000-4000-8000-000000000042\?at=@\d+"))
    expect(page.locator("article.item", has_text="The quokka is fine.").first).to_be_in_viewport()


def test_a_choice_made_while_results_load_keeps_the_one_before(page: Page) -> None:
    from playwright.sync_api import expect

    held: list[Route] = []
    page.route(re.compile(r"/search/results\?.*error"), lambda route: route.continue_() if held else held.append(route))
    page.goto("/search?q=such")
    page.locator('.facet [data-facet="tool:Bash"]').click()
    expect(page.locator(".chosen a")).to_have_count(1)
    with page.expect_request(re.compile("/search/results.*error")):
        page.locator('.facet [data-facet="error:yes"]').click()
    page.locator(".chosen a", has_text="tool").click()
    expect(page.locator("#q")).to_have_value("such tool:Bash error:yes")
    held[0].continue_()
    expect(page.locator("#q")).to_have_value("such error:yes")
    expect(page.locator(".chosen a")).to_have_count(1)


def test_a_choice_changes_the_query_and_back_takes_it_back(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/search?q=such")
    page.locator('.facet [data-facet="tool:Bash"]').click()
    expect(page.locator("#q")).to_have_value("such tool:Bash")
    expect(page.locator(".hit-group .sort").first).to_have_text(re.compile("call|result"))
    expect(page.locator('.facet [data-facet="tool:Bash"]')).to_be_focused()
    page.locator('.facet [data-facet="error:yes"]').click()
    expect(page.locator("#q")).to_have_value("such tool:Bash error:yes")
    page.locator(".chosen a", has_text="tool").click()
    expect(page.locator("#q")).to_have_value("such error:yes")
    page.go_back()
    expect(page.locator("#q")).to_have_value("such tool:Bash error:yes")
    expect(page.locator('.facet [data-facet="tool:Bash"]')).to_have_attribute("aria-current", "true")
    page.locator("#q").fill("such error:no")
    expect(page.locator('.facet [data-facet="error:no"]')).to_have_attribute("aria-current", "true")
    expect(page.locator('.facet [data-facet="tool:Bash"]')).not_to_have_attribute("aria-current", "true")


def test_a_search_is_saved_and_forgotten(page: Page, context: BrowserContext) -> None:
    from playwright.sync_api import expect

    page.goto("/search?q=quokka")
    page.get_by_role("button", name="Save search").click()
    page.get_by_label("Name").fill("Small wallabies")
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_have_text("Saved as Small wallabies.")
    wait_until(lambda: has_saved_search(context))
    page.goto("/search")
    link = page.locator("[data-remembered=saved] a", has_text="Small wallabies")
    expect(link).to_have_attribute("href", "/search?q=quokka")
    expect(page.locator("[data-remembered=recent] a")).to_have_text(["quokka"])
    link.click()
    expect(page.locator("#q")).to_have_value("quokka")
    page.goto("/search")
    page.get_by_role("button", name="Forget the search Small wallabies").click()
    page.get_by_role("button", name="Forget the search quokka").click()
    expect(page.locator("[data-remembered]:visible")).to_have_count(0)
    wait_until(lambda: not has_saved_search(context))
    page.reload()
    expect(page.locator(".empty")).to_be_visible()
    expect(page.locator("[data-remembered=saved]")).to_be_hidden()


def test_on_a_phone_the_choices_are_behind_a_button(page: Page) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/search?q=quokka+kind:answer")
    expect(page.locator("#facets")).to_be_hidden()
    button = page.get_by_role("button", name="Filters (1)")
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    page.locator('.facet [data-facet="kind:call"]').click()
    expect(page.locator("#q")).to_have_value("quokka kind:answer,call")
    expect(page.locator("#facets")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_mistake_is_explained_while_one_types_and_goes_away_again(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/search?q=quokka")
    page.locator("#q").fill('quokka "open')
    expect(page.locator(".mistake")).to_contain_text("never closed")
    expect(page.locator(".mistake .here")).to_have_text('"open')
    page.locator("#q").fill('quokka "is fine"')
    expect(page.locator(".mistake")).to_have_count(0)


def test_an_exact_text_is_found_by_reading_the_files(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/search")
    page.locator("#mode").select_option("substring")
    page.locator("#text").fill("cat quokka-42")
    expect(page.locator(".hit-group h2")).to_have_text("Session number 42")
    expect(page.locator(".summary")).to_contain_text("Read ")


def test_a_chart_tells_what_one_points_at_by_mouse_and_by_keys(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/insights?range=all")
    chart = page.locator("#time .field-of-marks").first
    chart.locator(".mark").last.hover()
    expect(page.locator(".tip")).to_contain_text("$")
    page.mouse.move(0, 0)
    expect(page.locator(".tip")).to_be_hidden()
    chart.focus()
    page.keyboard.press("Home")
    expect(page.locator(".tip")).to_be_visible()
    said = page.locator(".tip").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/insights/sessions"))
    expect(page.locator(".insights-head")).to_contain_text(said[:10])


def test_a_part_of_a_column_leads_to_its_sessions_and_labels_fit_their_areas(page: Page) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/insights?range=all&by=tool")
    cut = """() => [...document.querySelectorAll("#treemap svg.label text")].filter((line) => line.textContent
        && line.getComputedTextLength() > line.closest(".mark").querySelector("rect").getBoundingClientRect().width - 8)
        .length"""
    page.wait_for_function(f"() => ({cut})() === 0")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_function(f"() => ({cut})() === 0")
    expect(page.locator("#treemap svg.label text").first).not_to_be_empty()
    part = page.locator("#stack rect[data-href*=by_tool]").first
    part.hover()
    expect(page.locator(".tip")).to_have_text(str(part.get_attribute("data-words")))
    part.click()
    page.wait_for_url(re.compile("/insights/sessions.*by_tool="))
    expect(page.locator("tfoot")).to_contain_text("Total")


def test_parts_that_take_longer_appear_by_themselves(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/insights?range=all")
    expect(page.locator("#files table")).to_be_visible()
    expect(page.locator("#tools table")).to_contain_text("Bash")
    expect(page.locator("[aria-busy]")).to_have_count(0)


@pytest.mark.parametrize("path", ["/?q=number+5", "/search?q=quokka", "/insights?range=all&parts=all"])
def test_pages_work_without_script(browser: Browser, server: Server, path: str) -> None:
    entrance = server.entrance(browser)
    context = browser.new_context(base_url=server.url, storage_state=entrance, java_script_enabled=False)
    page = context.new_page()
    complaints = Complaints()
    complaints.watch(page)
    page.goto(path)
    assert page.locator("main h1").inner_text() in ("Sessions", "Search", "Insights")
    if path.startswith("/search"):
        page.locator('.facet [data-facet="tool:Bash"]').click()
        assert page.locator("#q").input_value() == "quokka tool:Bash"
        assert page.locator("mark").count() > 0
    assert not complaints
    context.close()
