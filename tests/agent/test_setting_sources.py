"""`--setting-sources` chooses where settings, instructions, commands, agents and servers come from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.agent.api import Api
from tests.agent.desk import Desk, call, reply, script

FILES = {
    "home/.claude/CLAUDE.md": "MARK-user-memory",
    "home/.claude/settings.json": '{"env": {"MARKS": "mark-user-env"}}',
    "home/.claude/commands/usercommand.md": "---\ndescription: u\n---\nuser",
    "home/.claude/agents/useragent.md": "---\nname: useragent\ndescription: MARK-user-agent\n---\nx",
    "project/CLAUDE.md": "MARK-project-memory",
    "project/.claude/settings.json": '{"env": {"MARKP": "mark-project-env"}}',
    "project/.claude/commands/projectcommand.md": "---\ndescription: p\n---\nproject",
    "project/.claude/agents/projectagent.md": "---\nname: projectagent\ndescription: MARK-project-agent\n---\nx",
    "project/CLAUDE.local.md": "MARK-local-memory",
    "project/.claude/settings.local.json": '{"env": {"MARKL": "mark-local-env"}}',
}
SHOW = script(reply(call("Bash", command="echo $MARKS $MARKP $MARKL", description="Show")), "Done.")
WORDS = ("-p", "go", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash")


def furnish(base: Path) -> None:
    """Write files of every source, each with a mark of its own."""
    for name, text in FILES.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    server = {"command": "false"}  # it is listed, although it fails
    (base / "project" / ".mcp.json").write_text(json.dumps({"mcpServers": {"projectserver": server}}))


def find_marks(stdout: str, sent: str) -> set[str]:
    """Which of the files had an effect."""
    lines = [json.loads(line) for line in stdout.splitlines()]
    init = next(line for line in lines if line.get("subtype") == "init")
    names = {name for name in (*init["slash_commands"], *init["agents"]) if name.startswith(("user", "project"))}
    servers = {one["name"] for one in init["mcp_servers"]}
    texts = [f"MARK-{source}-memory" for source in ("user", "project", "local")]
    results = next(line["message"]["content"][0]["content"] for line in lines if line["type"] == "user")
    return names | servers | {text for text in texts if text in sent} | set(re.findall(r"mark-\w+-env", str(results)))


EXPECTED = {
    "user": {"usercommand", "useragent", "MARK-user-memory", "mark-user-env"},
    "project": {"projectcommand", "projectagent", "MARK-project-memory", "mark-project-env", "projectserver"},
    "local": {"MARK-local-memory", "mark-local-env"},
}
CHOICES = ["", "user", "project", "local", "user,project,local"]


@pytest.mark.parametrize("choice", CHOICES)
def test_only_the_chosen_sources_have_an_effect(tmp_path: Path, choice: str) -> None:
    with Api(scenario=SHOW) as api:
        here = Desk(tmp_path, api)
        furnish(tmp_path)
        here.trust()
        done = here.turnlog(*WORDS, f"--setting-sources={choice}")
        found = find_marks(done.stdout, json.dumps(here.requests))
    assert found == set().union(*(EXPECTED[source] for source in choice.split(",") if source))


def test_servers_of_an_untrusted_project_do_not_start_even_if_the_project_is_chosen(tmp_path: Path) -> None:
    with Api(scenario=SHOW) as api:
        here = Desk(tmp_path, api)
        furnish(tmp_path)
        done = here.turnlog(*WORDS, "--setting-sources", "project")
    init = json.loads(done.stdout.splitlines()[0])
    assert (init["mcp_servers"], "the folder is not trusted" in done.stderr) == ([], True)


def test_an_unknown_source_is_an_error(tmp_path: Path) -> None:
    with Api(scenario=SHOW) as api:
        done = Desk(tmp_path, api).turnlog(*WORDS, "--setting-sources", "user,nowhere")
    assert (done.returncode, done.stderr.strip()) == (
        2,
        "turnlog: --setting-sources: unknown source 'nowhere'; use user, project, local",
    )
