"""Sessions that are written bit by bit, in the layouts of several clients."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from tests.session.build import SESSION, Build, encode_lines, outcome, use

MOVES = st.lists(
    st.sampled_from(
        "prompt answer think call parallel result early meta note command output bash interrupt boundary summary"
        " error retry rewind notice broken".split()
    ),
    min_size=1,
    max_size=25,
)


def write_moves(moves: list[str]) -> bytes:
    """A session made of some moves."""
    build = Build(step=1)
    waiting: list[str] = []
    prompts: list[str | None] = [None]
    extra: list[bytes] = []
    for number, move in enumerate(moves):
        _move(build, move, number, waiting, prompts)
        if move == "broken":
            extra.append(encode_lines(build.lines))
            build.lines.clear()
            extra.append(b'{"type":"user","uuid":\n')
    return b"".join(extra) + encode_lines(build.lines)


def _move(build: Build, move: str, number: int, waiting: list[str], prompts: list[str | None]) -> None:
    name = f"{move}-{number}"
    match move:
        case "prompt":
            prompts.append(build.prompt(f"do {number}", name))
        case "answer":
            build.answer("so", uuid=name, id=f"m{number}")
        case "think":
            build.answer({"type": "thinking", "thinking": "hm"}, uuid=name, id=f"m{number + 1}", stop=None)
        case "call":
            waiting.append(f"c{number}")
            build.call(f"c{number}", uuid=name, id=f"m{number}")
        case "parallel":
            for part in "ab":
                waiting.append(f"c{number}{part}")
                build.call(f"c{number}{part}", uuid=name + part, id=f"m{number}")
        case "result" if waiting:
            build.result(waiting.pop(0), uuid=name)
        case "early":
            build.result(f"c{number + 1}", uuid=name)
        case "meta":
            build.prompt("a reminder", name, isMeta=True)
        case "note":
            build.note("mode", mode="normal")
        case "command":
            build.prompt("<command-name>/model</command-name>", name)
        case "output":
            build.prompt("<local-command-stdout>done</local-command-stdout>", name)
        case "bash":
            build.prompt("<bash-input>ls</bash-input>", name)
        case "interrupt":
            build.interrupt(uuid=name)
        case "boundary":
            build.boundary(name)
        case "summary":
            build.summary(uuid=name)
        case "error":
            build.answer("overloaded", uuid=name, model="<synthetic>", isApiErrorMessage=True)
        case "retry":
            build.system("api_error", uuid=name, retryAttempt=1, maxRetries=10)
        case "rewind":
            build.prompt(f"again {number}", name, parent=prompts[-1])
        case "notice":
            build.prompt("<task-notification><task-id>a1</task-id></task-notification>", name)


def agent_lines(agent: str, count: int) -> bytes:
    """What a sub-agent does."""
    build = Build(step=1)
    for number in range(count):
        name = f"{agent}-{number}"
        match number % 3:
            case 0:
                build.prompt("explore", name) if number == 0 else build.answer(
                    "done", uuid=name, id=f"{agent}m{number}"
                )
            case 1:
                build.answer(use(f"{agent}c{number}", "Read"), uuid=name, id=f"{agent}m{number}", stop="tool_use")
            case 2:
                build.prompt([outcome(f"{agent}c{number - 1}")], name)
    for line in build.lines:
        line |= {"isSidechain": True, "agentId": agent}
    return encode_lines(build.lines)


def agent_path(session: Path, agent: str, layout: str) -> Path:
    """Where a client keeps the file of a sub-agent."""
    folders = {
        "nested": session.with_suffix("") / "subagents",
        "workflow": session.with_suffix("") / "subagents" / "workflows" / "wf1",
        "loose": session.parent,
        "beside": session.parent / "subagents",
    }
    folders[layout].mkdir(parents=True, exist_ok=True)
    return folders[layout] / f"agent-{agent}.jsonl"


def session_path(folder: Path) -> Path:
    """Where a session lies."""
    path = folder / "projects" / "-home-dana-webshop" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def append(path: Path, data: bytes) -> None:
    """Write something behind what stands in a file."""
    with path.open("ab") as file:
        file.write(data)
