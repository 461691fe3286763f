"""Secrets in every kind of place of a transcript, and none of them in any format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.redact.plants import TOKENS, drawer
from tests.session.build import SESSION, Build, use
from turnlog.errors import Unreadable
from turnlog.export.destination import build_file_name
from turnlog.export.formats import EXPORT_FORMATS, iter_exported_bytes
from turnlog.export.html import render_one_page
from turnlog.export.material import ExportChoice, ExportMaterial
from turnlog.export.parquet import ParquetTables
from turnlog.export.redaction import ExportRedaction
from turnlog.redact.rules import SecretRules
from turnlog.render.render_options import SHOW_EVERYTHING
from turnlog.session.session import Session

AGENT = "a1b2c3d"


class Plants:
    """Secrets, each for one place."""

    def __init__(self) -> None:
        self._draw = drawer(7)
        self.secrets: dict[str, str] = {}

    def __call__(self, place: str) -> str:
        self.secrets[place] = TOKENS["github"](self._draw)
        return self.secrets[place]


def transcript(plant: Plants) -> bytes:
    build = Build()
    build.note("custom-title", customTitle=f"Title {plant('title')}")
    build.note("summary", summary=f"About {plant('summary')}", leafUuid="x")
    build.note("mystery", payload={plant("key of a note"): [plant("note")]})
    build.prompt(f"prompt {plant('prompt')}", cwd=f"/srv/{plant('folder')}", gitBranch=f"fix/{plant('branch')}")
    build.answer(
        {"type": "thinking", "thinking": f"hm {plant('thinking')}", "signature": "c2ln"}, f"so {plant('answer')}"
    )
    build.answer({"type": "brand_new", "value": plant("unknown block")})
    calls: dict[str, Any] = {
        "Bash": {"command": f"echo {plant('command')}", "description": f"say {plant('description')}"},
        "Read": {"file_path": f"/srv/{plant('path')}.py"},
        "Edit": {"file_path": "/srv/a.py", "old_string": plant("old string"), "new_string": plant("new string")},
        "Grep": {"pattern": plant("pattern"), "path": "/srv"},
        "WebFetch": {"url": f"https://a.example/?q={plant('address')}", "prompt": "read"},
        "TodoWrite": {"todos": [{"content": plant("todo"), "status": "pending", "activeForm": "x"}]},
        "AskUserQuestion": {"questions": [{"question": plant("question"), "options": [{"label": plant("option")}]}]},
        "ExitPlanMode": {"plan": f"# {plant('plan')}"},
        "mcp__shop__order": {"deep": [{plant("key of an input"): plant("value of an input")}]},
        "Task": {"description": plant("task"), "prompt": plant("task prompt"), "subagent_type": "Explore"},
    }
    for number, (name, given) in enumerate(calls.items()):
        build.answer(use(f"c{number}", name, given), stop="tool_use")
        record = {"stdout": plant(f"record of {name}")} | ({"agentId": AGENT} if name == "Task" else {})
        build.result(f"c{number}", f"result {plant(f'result of {name}')}", toolUseResult=record)
    build.result("gone", f"orphan {plant('orphan')}")
    picture = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    build.prompt([{"type": "image", "source": picture, "title": plant("picture")}, {"type": "text", "text": "see"}])
    build.system("informational", content=f"system {plant('system')}")
    build.attachment("hook_blocking_error", hookName=plant("hook"), blockingError={"blockingError": plant("hook text")})
    build.attachment("queued_command", prompt=f"typed {plant('typed')}")
    build.boundary()
    build.summary(f"Summary {plant('compaction')}")
    build.prompt(f"<command-name>/x</command-name><command-args>{plant('command arguments')}</command-args>")
    build.answer("done", uuid="last")
    return build.data() + b'{"type":"user","message":{"content":"torn ' + plant("scrap").encode() + b"\n"


def agent(plant: Plants) -> bytes:
    build = Build()
    build.prompt(f"look {plant('prompt of an agent')}", isSidechain=True, agentId=AGENT)
    build.answer(f"saw {plant('answer of an agent')}", isSidechain=True, agentId=AGENT)
    return build.data()


@pytest.fixture
def planted_session(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    plant = Plants()
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(transcript(plant))
    inner = tmp_path / SESSION / "subagents"
    inner.mkdir(parents=True)
    (inner / f"agent-{AGENT}.jsonl").write_bytes(agent(plant))
    meta = {"agentType": "Explore", "description": plant("meta of an agent"), "toolUseId": "c9"}
    (inner / f"agent-{AGENT}.meta.json").write_text(json.dumps(meta))
    return path, plant.secrets


def write_export(form: str, path: Path, folder: Path) -> bytes:
    choice = ExportChoice(SHOW_EVERYTHING, all_branches=form not in ("messages", "openai"), is_redacted=True)
    with Session.open(path) as session:
        material = ExportMaterial(session, choice)
        if form == "parquet":
            return b"".join(tables(session, folder))
        return b"".join(render_one_page(material) if form == "html" else iter_exported_bytes(form, material))


def tables(session: Session, folder: Path) -> Iterator[bytes]:
    from importlib import import_module

    with ParquetTables(folder) as found:
        found.add(session)
    for file in sorted(folder.glob("*.parquet")):
        yield json.dumps(import_module("pyarrow.parquet").read_table(file).to_pylist(), default=str).encode()


@pytest.mark.parametrize("form", sorted(set(EXPORT_FORMATS) - {"pdf"}))  # which is printed from html
def test_no_secret_is_in_any_format(form: str, planted_session: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    path, secrets = planted_session
    before = write_export(form, path, folder(tmp_path / "before")).decode()
    assert any(secret in before for secret in secrets.values())
    redaction = ExportRedaction(SecretRules())
    redaction.learn_secrets([path])
    with redaction.copy_redacted(path) as copy:
        text = write_export(form, copy, folder(tmp_path / "after")).decode()
    assert {place for place, secret in secrets.items() if secret in text} == set()
    assert "[secret:github:" in text


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_the_places_are_shown_when_nothing_is_redacted(
    planted_session: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    path, secrets = planted_session
    text = write_export("html", path, tmp_path).decode()
    shown = {place for place, secret in secrets.items() if secret in text}
    assert shown >= {
        *("title", "folder", "branch", "prompt", "thinking", "answer", "unknown block", "command", "description"),
        *("path", "old string", "new string", "pattern", "address", "todo", "question", "option", "plan", "task"),
        *("task prompt", "key of an input", "value of an input", "orphan", "picture", "system", "hook text"),
        *("compaction", "command arguments", "prompt of an agent", "answer of an agent", "record of Bash"),
    }


def test_the_name_of_the_file_holds_no_secret(planted_session: tuple[Path, dict[str, str]]) -> None:
    path, secrets = planted_session
    redaction = ExportRedaction(SecretRules())
    redaction.learn_secrets([path])
    with redaction.copy_redacted(path) as copy, Session.open(copy) as session:
        name = build_file_name(ExportMaterial(session).title, session.session_id)
    assert secrets["title"].lower() not in name
    assert name.startswith("title-secret-github-")


def test_the_report_counts_what_was_replaced_once(planted_session: tuple[Path, dict[str, str]]) -> None:
    path, secrets = planted_session
    redaction = ExportRedaction(SecretRules())
    redaction.learn_secrets([path])
    assert redaction.build_report().replacement_count == 0
    with redaction.copy_redacted(path):
        pass
    assert redaction.build_report().rules["github"].secrets >= len(secrets) - 1  # the torn line goes as a whole


def test_thinking_that_changed_is_shown_and_not_sent(
    planted_session: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    redaction = ExportRedaction(SecretRules())
    redaction.learn_secrets([planted_session[0]])
    with redaction.copy_redacted(planted_session[0]) as copy:
        assert "hm [secret:github:" in write_export("txt", copy, tmp_path).decode()
        assert "hm [secret" not in write_export("messages", copy, tmp_path).decode()


def test_the_copy_is_gone_afterwards_and_the_session_as_before(planted_session: tuple[Path, dict[str, str]]) -> None:
    before = planted_session[0].read_bytes()
    redaction = ExportRedaction(SecretRules())
    with redaction.copy_redacted(planted_session[0]) as copy:
        assert copy.is_file()
    assert not copy.parent.exists()
    assert planted_session[0].read_bytes() == before


def test_without_secrets_a_copy_means_the_same(tmp_path: Path) -> None:
    build = Build()
    build.prompt("hello")
    build.answer("hi")
    path = build.write(tmp_path)
    with ExportRedaction(SecretRules()).copy_redacted(path) as copy:
        assert [json.loads(line) for line in copy.read_bytes().splitlines()] == build.lines


def test_what_cant_be_read_is_told_when_it_is_copied(tmp_path: Path) -> None:
    redaction = ExportRedaction(SecretRules())
    redaction.learn_secrets([tmp_path / "gone.jsonl"])
    with pytest.raises(Unreadable), redaction.copy_redacted(tmp_path / "gone.jsonl"):
        pass


def test_progress_is_told_in_bytes_up_to_the_end(planted_session: tuple[Path, dict[str, str]]) -> None:
    told: list[tuple[int, int]] = []
    redaction = ExportRedaction(SecretRules(), lambda done, total: told.append((done, total)))
    redaction.learn_secrets([planted_session[0]])
    with redaction.copy_redacted(planted_session[0]):
        pass
    assert told[-1][0] == told[-1][1]
    assert len({total for _, total in told}) == 1
