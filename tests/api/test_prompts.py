"""Everything that was typed: newest first, masked, filtered, with what came of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import turnlog
from tests.session.build import Build
from turnlog.api.config import Config
from turnlog.errors import UsageError

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "bbbbbbbb-0000-4000-8000-000000000002"
TOKEN = "ghp_" + "Zq8Wm3Rk7Xy2Lp5Vt9Bn4Hc6Jd1Fs0GaUeTi"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "turnlog"))
    folder = tmp_path / "claude" / "projects" / "-home-dana-webshop"
    folder.mkdir(parents=True)
    build = Build()
    build.prompt("Round the cents", uuid="p-1")
    build.call("c-1", "Bash", {"command": "ls"}, usage={"input_tokens": 9, "output_tokens": 9})
    build.result("c-1")
    build.answer("Done.", usage={"input_tokens": 1000, "output_tokens": 100})
    build.wait(3600)
    build.prompt(f"Push it with {TOKEN}", uuid="p-2")
    (folder / f"{ONE}.jsonl").write_bytes(build.data())
    other = Build()
    other.wait(1_000_000)
    other.prompt("Write the docs", uuid="q-1")
    other.answer("Written.", usage={"input_tokens": 10, "output_tokens": 10})
    (folder / f"{TWO}.jsonl").write_bytes(other.data().replace(b"msg-", b"other-"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    from turnlog.api.config import load_config

    return load_config()


def test_prompts_are_listed_newest_first_with_what_came_of_them(config: Config) -> None:
    found = turnlog.list_prompts(config=config)
    assert [item.session_id for item in found.prompts] == [TWO, ONE, ONE]
    assert (found.total, found.page, found.pages) == (3, 1, 1)
    newest, last, first = found.prompts
    assert (newest.text, newest.outcome, newest.round) == ("Write the docs", "finished", "new_session")
    assert (first.text, first.turn, first.calls, first.round) == ("Round the cents", 1, 1, "new_session")
    assert first.cost_usd is not None
    assert first.cost_usd > 0
    assert (last.round, last.outcome) == ("resume", "open")
    assert newest.resume == f"cd /home/dana/webshop && claude --resume {TWO}"


def test_secrets_are_masked(config: Config) -> None:
    texts = [item.text for item in turnlog.list_prompts(config=config).prompts]
    assert TOKEN not in "\n".join(texts)
    assert any("[secret:" in text for text in texts)


@pytest.mark.parametrize(
    ("query", "total"), [("docs", 1), ("CENTS round", 2), ("push cents", 1), ("webshop", 3), ("nothing", 0)]
)
def test_all_words_must_occur_in_a_prompt_its_title_or_its_project(config: Config, query: str, total: int) -> None:
    assert turnlog.list_prompts(query, config=config).total == total


def test_pages_hold_each_prompt_once(config: Config) -> None:
    pages = [turnlog.list_prompts(limit=1, page=page, config=config).prompts for page in (1, 2, 3)]
    assert [len(page) for page in pages] == [1, 1, 1]
    assert len({page[0].text for page in pages}) == 3


def test_a_page_or_a_project_that_can_not_be_is_refused(config: Config) -> None:
    with pytest.raises(UsageError, match="--limit"):
        turnlog.list_prompts(limit=0, config=config)
    with pytest.raises(UsageError, match="--project"):
        turnlog.list_prompts(project="nowhere-at-all", config=config)


def test_a_copy_in_a_fork_is_listed_once(config: Config, tmp_path: Path) -> None:
    path = tmp_path / "claude" / "projects" / "-home-dana-webshop" / f"{TWO}.jsonl"
    copy = path.with_name("cccccccc-0000-4000-8000-000000000003.jsonl")
    copy.write_bytes(path.read_bytes())
    assert [item.text for item in turnlog.list_prompts(config=config).prompts].count("Write the docs") == 1
