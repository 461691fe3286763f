"""Exported pages: whole by themselves, and nothing of a transcript acts in them."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from tests.render.attacks import ATTACKS
from tests.render.walk import Walk
from tests.session.build import Build, find_recording, use
from turnlog.export import html
from turnlog.export.html import render_one_page, to_data_url, write_pages
from turnlog.export.material import ExportChoice, ExportMaterial
from turnlog.export.page_frame import build_content_policy
from turnlog.export.site import Site
from turnlog.render.card import Picture
from turnlog.render.figures import format_cost_usd
from turnlog.render.render_options import SHOW_EVERYTHING, RenderOptions
from turnlog.session.session import Session

PNG = "iVBORw0KGgo="
OWN = frozenset(
    "head body a div header h1 p dl dt dd code span label input button output nav details summary ol li small".split()
)
"""The elements around the content."""


def page(session: Session, choice: ExportChoice | None = None, *, unfolded: bool = False) -> str:
    return b"".join(render_one_page(ExportMaterial(session, choice or ExportChoice()), unfolded=unfolded)).decode()


def hostile(*texts: str) -> Build:
    """A session with each of some texts in every field that can hold one."""
    build = Build()
    for text in texts:
        _add(build, text)
    return build


def _add(build: Build, text: str) -> None:
    own = len(build.lines)
    build.note("custom-title", customTitle=text)
    build.note("ai-title", aiTitle=text)
    build.prompt(text, cwd=text, gitBranch=text, version=text)
    build.prompt([{"type": "text", "text": text}, {"type": "image", "source": {"media_type": text, "data": text}}])
    build.answer({"type": "thinking", "thinking": text, "signature": text}, text, model=text, stop=text)
    build.answer({"type": text or "x", text: text})
    for number, name in enumerate(("Bash", "Read", "Write", "Edit", "Grep", "WebFetch", "Task", "mcp__x__y", text)):
        fields = "command description file_path content old_string new_string pattern url prompt subagent_type".split()
        build.answer(use(f"c{own}-{number}{text}", name, dict.fromkeys(fields, text)), stop="tool_use")
        record = {"stdout": text, "filePath": text, "agentId": text, "file": {"content": text, "filePath": text}}
        build.result(f"c{own}-{number}{text}", text, error=number % 2 == 0, toolUseResult=record)
    build.system(text, content=text, level=text)
    build.attachment("hook_blocking_error", hookName=text, blockingError={"blockingError": text, "command": text})
    build.row(text or "x", content=text)
    build.boundary(trigger=text)
    build.summary(text)


def content(text: str) -> str:
    """What stands between the page's own parts."""
    return text.split('<main id="content">', 1)[1].split("</main>", 1)[0].replace("<section", "<div").replace(
        "</section>", "</div>"
    ).replace("<h2", "<h3").replace("</h2>", "</h3>").replace(" aria-labelledby=", " data-key=")  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_in_every_field_of_a_session_becomes_text(name: str) -> None:
    text = page(hostile(ATTACKS[name]).session(), ExportChoice(SHOW_EVERYTHING, all_branches=True))
    assert Walk(content(text)).faults == []
    head = text.split('<main id="content">', 1)[0]
    assert len(re.findall("<script", text)) == 1
    assert set(re.findall(r"<([a-z0-9]+)", head.split("</style>", 1)[1])) <= OWN
    assert not re.search(r"<[^>]* on\w+\s*=", head)


def test_the_policy_allows_exactly_the_style_and_the_script_of_the_page() -> None:
    text = page(hostile("x").session())
    for element in ("style", "script"):
        inner = re.search(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
        assert inner is not None
        digest = base64.b64encode(hashlib.sha256(inner[1].encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in build_content_policy()
    assert f'content="{build_content_policy()}"'.replace("'", "&#39;") in text
    assert "default-src 'none'" in build_content_policy()


def test_a_page_asks_no_address_for_anything() -> None:
    build = hostile("![x](https://evil.example/a.png) https://evil.example/b")
    text = page(build.session())
    assert not re.search(r"""(?:src|srcset|poster|action|data)=["']?https?:""", text)
    assert "@import" not in text
    assert "url(http" not in text


def test_the_contents_lead_to_every_turn() -> None:
    with Session.open(find_recording("2.1.325/tools")) as session:
        text = page(session)
        anchors = re.findall(r'<li><a href="#(t-\d+)"', text)
        assert anchors == [f"t-{turn.number}" for turn in session.turns]
        assert all(f'id="{name}"' in text for name in anchors)


def test_no_id_stands_twice_in_a_page() -> None:
    for path in sorted(find_recording("2.1.325/agents").parent.glob("*.jsonl")):
        with Session.open(path) as session:
            ids = re.findall(r'\sid="([^"]+)"', page(session, ExportChoice(SHOW_EVERYTHING, all_branches=True)))
            assert len(ids) == len(set(ids))


def test_a_sub_agent_stands_inside_of_its_card() -> None:
    with Session.open(find_recording("2.1.325/agents")) as session:
        agents = [agent for agent in session.agents if agent.call_id]
        assert agents
        text = page(session)
        for agent in agents:
            inside = text.split(f'data-agent="{agent.agent_id}"', 1)[1].split("</article>", 1)[0]
            assert 'class="item prompt' in inside
        assert "<!--" not in text


def test_the_heading_of_a_turn_has_its_cost_with_its_sub_agents() -> None:
    with Session.open(find_recording("2.1.325/agents")) as session:
        head, text = ExportMaterial(session, ExportChoice()).head, page(session)
    turn, cost = next((turn, cost) for turn, cost in head.sum_agent_costs().items() if cost)
    own = next(chapter.cost_usd for chapter in head.chapters if chapter.turn == turn)
    heading = re.search(rf">Turn {turn}</a>([^<]*)</h2>", text)
    assert heading is not None
    assert heading[1].endswith(f" · {format_cost_usd(own + cost)}")
    assert format_cost_usd(own + cost) != format_cost_usd(own)


def test_a_sub_agent_that_two_calls_name_is_shown_once(tmp_path: Path) -> None:
    build = Build()
    build.prompt("go")
    for number in (1, 2):
        build.answer(use(f"c{number}", "Task", {"prompt": "look", "description": "d"}), stop="tool_use")
        build.result(f"c{number}", "seen", toolUseResult={"agentId": "abc"})
    path = build.write(tmp_path)
    inner = Build()
    inner.prompt("INNER PROMPT", isSidechain=True, agentId="abc")
    inner.answer(use("x", "Task", {"prompt": "look", "description": "d"}), isSidechain=True, agentId="abc")
    inner.result("x", "seen", toolUseResult={"agentId": "abc"}, isSidechain=True, agentId="abc")
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-abc.jsonl").write_bytes(inner.data())
    with Session.open(path) as session:
        assert page(session).count("INNER PROMPT") == 1


def test_paper_has_everything_open_and_no_script() -> None:
    with Session.open(find_recording("2.1.325/tools")) as session:
        text = page(session, unfolded=True)
    assert "<script" not in text
    assert "script-src &#39;none&#39;" in text
    assert not re.search(r"<details (?!open)", text)


def test_images_stand_in_the_page_and_other_kinds_are_named() -> None:
    assert to_data_url(Picture("image", "image/png", PNG)) == f"data:image/png;base64,{PNG}"
    assert to_data_url(Picture("image", "image/svg+xml", PNG)) is None
    assert to_data_url(Picture("image", "image/png", "<script>")) is None
    assert to_data_url(Picture("image", "image/png", "")) is None
    assert to_data_url(Picture("document", "application/pdf", PNG)) == f"data:application/pdf;base64,{PNG}"
    assert to_data_url(Picture("document", "text/html", PNG)) is None
    assert to_data_url(Picture("document", "application/pdf", "A" * 5_000_000)) is None


def test_pictures_can_be_left_out() -> None:
    build = Build()
    build.prompt([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}])
    assert PNG in page(build.session())
    assert PNG not in page(build.session(), ExportChoice(RenderOptions(pictures=False)))


def long(turns: int = 30) -> Build:
    build = Build()
    for number in range(turns):
        build.prompt(f"prompt {number}")
        build.answer(f"answer {number}")
    return build


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MAX_PAGE_ITEMS", 20)


@pytest.mark.usefixtures("small_pages")
def test_a_long_session_becomes_pages_that_lead_to_each_other(tmp_path: Path) -> None:
    goal = tmp_path / "my session.html"
    count = write_pages(ExportMaterial(long().session()), goal)
    assert count == 3
    first = goal.read_text()
    second, third = ((tmp_path / "my session-pages" / f"page-{number}.html").read_text() for number in (2, 3))
    assert 'href="my%20session-pages/page-2.html"' in first
    assert 'href="../my%20session.html"' in second
    assert 'href="page-3.html"' in second
    assert 'href="page-2.html"' in third
    assert 'href="my%20session-pages/page-2.html#t-11"' in first
    assert 'id="t-11"' in second
    texts = first + second + third
    assert all(texts.count(f"prompt {number}<") >= 1 for number in range(30))
    assert all(text.count("<script>") == 1 and "</html>" in text for text in (first, second, third))


@pytest.mark.usefixtures("small_pages")
def test_a_turn_that_does_not_fit_goes_on_on_the_next_page(tmp_path: Path) -> None:
    build = Build()
    build.prompt("start")
    for number in range(150):
        build.answer(f"answer {number}")
    write_pages(ExportMaterial(build.session()), tmp_path / "a.html")
    second = (tmp_path / "a-pages" / "page-2.html").read_text()
    assert "Turn 1, continued" in second
    assert 'id="t-1-2"' in second


@pytest.mark.usefixtures("small_pages")
def test_pages_of_an_earlier_export_go_with_it(tmp_path: Path) -> None:
    goal = tmp_path / "a.html"
    write_pages(ExportMaterial(long().session()), goal)
    write_pages(ExportMaterial(long(3).session()), goal, force=True)
    assert not (tmp_path / "a-pages").exists()


def test_one_page_is_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MAX_PAGE_ITEMS", 5)
    assert "answer 29" in page(long().session())


@pytest.mark.usefixtures("small_pages")
def test_a_site_has_an_index_that_leads_to_every_session(tmp_path: Path) -> None:
    site = Site(tmp_path)
    files = [site.add(ExportMaterial(build.session())) for build in (long(), long(2), hostile("<b>x</b>"))]
    site.finish("All of it")
    index = (tmp_path / "index.html").read_text()
    assert len(set(files)) == 3
    assert all(f'href="{file}"' in index and (tmp_path / file).is_file() for file in files)
    assert "<b>x</b>" not in index
    assert 'href="index.html"' in (tmp_path / files[0]).read_text()
    assert 'href="../index.html"' in (tmp_path / f"{files[0].stem}-pages" / "page-2.html").read_text()
