"""The same commands, skills and mentioned files through the newest client and through ours."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.interop.test_front import MODEL, ours, real
from tests.interop.clients import NEWEST, list_missing_clients

pytestmark = pytest.mark.interop
Json = dict[str, Any]

FILES = {
    "project/.claude/commands/fix.md": "---\ndescription: Fix\nargument-hint: [n]\nallowed-tools: Bash(echo:*)\n"
    "model: haiku\n---\nFix $ARGUMENTS first=$0 one=$1 not=!`echo no` see @notes.txt and @src/ end",
    "project/.claude/commands/plain.md": "Just do it",
    "project/.claude/commands/sub/deep.md": "---\ndescription: Deep\n---\nDeep $1 of $ARGUMENTS[0]",
    "home/.claude/commands/mine.md": 'Mine "$1" $2',
    "project/.claude/commands/both.md": "project",
    "home/.claude/commands/both.md": "person",
    "project/.claude/commands/args.md": "---\narguments: [one, two]\n---\n$one and $two, $ARGUMENTS[1] $3 \\$0 $other|",
    "project/.claude/commands/shell.md": "---\nallowed-tools: Bash(echo:*), Bash(printf:*)\n---\n!`echo start`\nA "
    '!`printf "a\\n\\nb\\n"`.\n```!\necho block\necho $0\n```\nend x!`echo no`',
    "project/.claude/skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets\n---\nSay hello to $ARGUMENTS. See"
    " ${CLAUDE_SKILL_DIR}/x",
    "project/.claude/skills/manual/SKILL.md": "---\ndescription: M\ndisable-model-invocation: true\n---\nmanual",
    "project/.claude/skills/fork/SKILL.md": "---\ndescription: F\ncontext: fork\n---\nFork $ARGUMENTS",
    "project/.claude/skills/mix/SKILL.md": "---\ndescription: x\n---\nskill",
    "project/.claude/commands/mix.md": "command",
    "plug/.claude-plugin/plugin.json": '{"name": "plug", "version": "1.0.0", "description": "x"}',
    "plug/commands/hi.md": "Hi from $ARGUMENTS",
    "plug/skills/psk/SKILL.md": "---\ndescription: psk\n---\nplugin skill",
    "project/notes.txt": "note one\nnote two\nnote three\n",
    "project/sp ace.txt": "spaced\n",
    "project/src/a.py": "print(1)\n",
    "project/src/b.py": "x",
}
PROMPTS = [
    "/fix 42 now",
    "/plain some args",
    "/sub:deep a b",
    '/mine "a b" c',
    "/both",
    '/args "a b" c',
    "/shell 7",
    "/greet Bob",
    "/manual",
    "/mix",
    "/plug:hi there",
    "/plug:psk x",
    "look at @notes.txt please",
    "lines @notes.txt#L2-3 of it",
    "@notes.txt#L2",
    "look @src/ and @src",
    "look @nope.txt, @notes.txt. (@src/a.py)",
    'see @"sp ace.txt"',
    "a@b.c user@notes.txt",
    "@notes.txt @notes.txt",
]


def furnish(base: Path) -> None:
    for name, text in FILES.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def to_plain_rows(base: Path) -> list[Json]:
    """What a session says about a prompt and what belongs to it."""
    (path,) = (base / "home" / ".claude" / "projects").glob("*/*.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    found: list[Json] = []
    for row in rows:
        kind = row.get("attachment", {}).get("type")
        if row["type"] == "user":
            kept = {key: row[key] for key in ("isMeta", "turnCompanion") if key in row}
            content = row["message"]["content"]
            blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
            found += [{"text": block.get("text", block.get("content")), **kept} for block in blocks]
        elif kind in ("file", "directory", "command_permissions"):
            found.append({key: row.get(key) for key in ("attachment", "rendered", "renderedRole")})
    text = json.dumps(found).replace(str(base), "BASE")
    plain: list[Json] = json.loads(re.sub(r"toolu_\w+", "ID", text))
    return plain


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_becomes_the_same(tmp_path: Path, prompt: str) -> None:
    rows: list[list[Json]] = []
    models = []
    for name in ("theirs", "ours"):
        base = tmp_path.resolve() / name
        furnish(base)
        words = ("-p", prompt, "--plugin-dir", str(base / "plug"))
        if name == "ours":
            Desk(base, None).trust()  # type: ignore[arg-type]
            done, mock = ours(base, script("Done."), *words)
        else:
            done, mock = real(NEWEST, base, script("Done."), *words, at="home")
        assert done.stdout == "Done.\n", done
        rows.append(to_plain_rows(base))
        models.append([one for one in mock.requests if one["kind"] == "main"][-1]["body"]["model"].rsplit("-", 2)[0])
    assert rows[1] == rows[0]
    assert models[1] == models[0]


@pytest.mark.parametrize(
    ("skill", "arguments"), [("greet", "Ann"), ("fork", "Ann"), ("fix", "7"), ("manual", ""), ("nope", "")]
)
def test_the_model_loads_a_skill_with_the_same_effect(tmp_path: Path, skill: str, arguments: str) -> None:
    results = []
    scenario = script(reply(call("Skill", skill=skill, args=arguments)), "Done.")
    for name in ("theirs", "ours"):
        base = tmp_path.resolve() / name
        furnish(base)
        if name == "ours":
            Desk(base, None).trust()  # type: ignore[arg-type]
            ours(base, scenario, "-p", "go")
        else:
            real(NEWEST, base, scenario, "-p", "go", at="home")
        results.append(to_plain_rows(base))
    theirs, mine = results
    if skill in ("greet", "fork"):
        assert mine == theirs
    else:
        assert len(mine) == len(theirs)


@pytest.mark.parametrize("version", ["2.0.50", "2.1.29", "2.1.45", NEWEST])
def test_a_session_with_commands_and_files_is_continued_by_every_client(tmp_path: Path, version: str) -> None:
    if list_missing_clients((version,)):
        pytest.skip(f"the client {version} is not installed")
    base = tmp_path.resolve()
    furnish(base)
    Desk(base, None).trust()  # type: ignore[arg-type]
    ours(base, script("Done."), "-p", "/fix 42 now")
    (path,) = (base / "home" / ".claude" / "projects").glob("*/*.jsonl")
    done, mock = real(version, base, script("Theirs."), "-p", "go on", "--resume", path.stem, at="home")
    assert done.stdout.strip() == "Theirs."
    sent = json.dumps([one for one in mock.requests if one["kind"] == "main"][-1]["body"]["messages"])
    for text in ("<command-name>/fix", "Fix 42 now first=42", "note two", "Done.", "go on"):
        assert text in sent
    back, again = ours(base, script("Ours."), "-p", "and back", "--resume", path.stem, "--model", MODEL)
    assert back.stdout == "Ours.\n"
    came = json.dumps(again.requests[-1]["body"]["messages"])
    for text in ("Fix 42 now first=42", "note two", "Theirs."):
        assert text in came
