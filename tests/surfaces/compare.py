"""What each surface says of each session, read as a user or a program would, and where two of them disagree."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from turnlog.web.app import build_application
from turnlog.web.machine import Machine
from turnlog.web.security import RequestGuard
from turnlog.web.server_keys import ServerKeys

Run = Callable[..., str]
"""Runs `turnlog` with some words and gives its standard output."""
Facts = dict[str, Any]
COMPARED_TITLE_CHARS = 60
PORT = 4747
_TOKENS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Surfaces:
    """What was read, by session file, then by surface."""

    def __init__(self) -> None:
        self.facts: defaultdict[str, dict[str, Facts]] = defaultdict(dict)
        self.counts: dict[str, int] = {}

    def add(self, path: str, surface: str, **facts: Any) -> None:
        """Note what one surface says of one session; what it does not say is left out."""
        if "title" in facts:
            facts["title"] = fold_title(facts["title"])
        self.facts[path][surface] = facts

    def disagreements(self) -> Iterator[str]:
        """One line for each fact that two surfaces state differently."""
        for path, surfaces in sorted(self.facts.items()):
            for name in sorted({name for facts in surfaces.values() for name in facts}):
                said = {surface: facts[name] for surface, facts in surfaces.items() if name in facts}
                if len({repr(value) for value in said.values()}) > 1:
                    yield f"{Path(path).parent.name}/{Path(path).name} {name}: {said}"
        if len(set(self.counts.values())) > 1:
            yield f"number of sessions: {self.counts}"


def fold_title(title: str | None) -> str | None:
    """A title as far as every surface can show it: on one line, its beginning."""
    return " ".join((title or "")[:1000].split())[:COMPARED_TITLE_CHARS].strip() or None


def read_commands(found: Surfaces, run: Run) -> None:
    """Read the commands that list all sessions."""
    listed = json.loads(run("ls", "--all", "--json"))
    for item in listed["sessions"]:
        found.add(item["path"], "ls", title=item["title"])
    by_id = defaultdict(list)
    for item in _tree(json.loads(run("tree", "--all", "--json"))):
        by_id[item["session_id"]].append(item["path"])
        found.add(item["path"], "tree", title=item["title"], prompts=item["prompts"])
    usage = json.loads(run("usage", "session", "--json"))
    for row in usage["rows"]:
        for path in by_id.get(row["session_id"], []) if len(by_id.get(row["session_id"], [])) == 1 else ():
            found.add(path, "usage", title=row["title"], **_amounts(row["whole"]))
    found.counts["ls"] = len(json.loads(run("ls", "--json"))["sessions"])
    found.counts["index"] = json.loads(run("index", "--json"))["sessions"]
    found.counts["search"] = json.loads(run("search", "--json", "zzzzqqq"))["searched"]["sessions"]
    found.counts["usage"] = usage["sessions"]
    found.counts["tree"] = sum(project["total"] for project in json.loads(run("tree", "--json"))["projects"])


def read_session(found: Surfaces, run: Run, path: str) -> None:
    """Read the commands that tell of one session."""
    facts = json.loads(run("show", "--json", path))
    turns = len(facts["turns"])
    found.add(
        path,
        "show",
        title=facts["title"],
        turns=turns,
        prompts=facts["prompts"],
        agents=len(facts["agents"]),
        messages=sum(facts["usage"]["quality"].values()),
        **_amounts(facts["usage"]),
    )
    document = json.loads(run("export", path, "--format", "json", "--branch", "all", "-o", "-"))
    found.add(
        path,
        "export json",
        title=document["session"]["title"],
        turns=len(document["turns"]),
        agents=len(document["agents"]),
        cost=_money(document["session"]["cost_usd"]),
        output_tokens=document["session"]["output"],
    )
    text = run("show", path, "--branch", "all")
    head = text.split("\n", 1)[0]
    found.add(path, "show text", title=None if head == "(no title)" else head, turns=_number(text, "turn"))


def read_web(found: Surfaces, config: Path, data: Path) -> None:
    """Read the pages and what programs ask of the web server."""
    place = Machine([config], data)
    place.store.refresh(place.config_dirs)
    door = ServerKeys(PORT, b"s" * 32)
    client = TestClient(
        RequestGuard(build_application(place), door), f"http://127.0.0.1:{PORT}", follow_redirects=False
    )
    client.cookies.set(door.cookie_name, door.derive_cookie(f"127.0.0.1:{PORT}"))
    page, rows = 0, []
    while True:
        got = client.get("/api/sessions", params={"all": "1", "page": page}).json()
        rows += got["sessions"]
        page += 1
        if page * got["page_size"] >= got["total"]:
            break
    found.counts["home"] = client.get("/api/sessions").json()["total"]
    for row in rows:
        found.add(
            row["path"],
            "home",
            title=row["title"],
            prompts=row["prompts"],
            messages=row["messages"],
            cost=_money(row["cost_usd"]),
        )
        outline = client.get(f"/api/s/{row['ref']}").json()
        found.add(
            row["path"],
            "session api",
            title=outline["title"],
            agents=len(outline["agents"]),
            output_tokens=outline["output"],
            cost=_money(outline["cost_usd"]),
        )
        html = client.get(f"/s/{row['ref']}").text
        head = re.search(r"<h1[^>]*>(.*?)</h1>", html, re.DOTALL)
        title = unescape(re.sub(r"<[^>]+>", "", head[1])).strip() if head else None
        found.add(row["path"], "session page", title=None if title == "(no title)" else title)


def _tree(document: Any) -> Iterator[Any]:
    waiting = [node for project in document["projects"] for node in project["sessions"]]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node["children"]


def _amounts(row: Facts) -> Facts:
    found: Facts = {name: row[name] for name in _TOKENS}
    found["cost"] = _money(row["cost_usd"])
    if "messages" in row:
        found["messages"] = row["messages"]
    return found


def _money(value: float) -> str:
    return f"{value:.9f}"


def _number(text: str, noun: str) -> int | None:
    found = re.search(rf"([\d,]+) {noun}s?\b", text)
    return int(found[1].replace(",", "")) if found else None
