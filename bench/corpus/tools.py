"""Tool calls: the input, the text that the model receives, and the structured result."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from itertools import accumulate
from typing import Any, NamedTuple

from .text import ENDINGS
from .writer import Json, Writer

_SHARES = {
    "Bash": 46, "Read": 20, "Edit": 11, "Grep": 6, "TodoWrite": 5, "Write": 4, "Glob": 3,
    "mcp__docs__lookup": 2, "Task": 1, "WebFetch": 1, "WebSearch": 1,
}  # fmt: skip
_NAMES, _CUMULATIVE_SHARES = list(_SHARES), list(accumulate(_SHARES.values()))
_COMMANDS = ("pytest -q", "git diff", "ls -la", "npm run build", "cargo test", "grep -rn")
_SNIPPET = " Here's the result of running `cat -n` on a snippet of the edited file:\n"


class Outcome(NamedTuple):
    """The input and output of a call."""

    input: Json
    content: Any
    """The result that the model receives."""
    structured: Any
    """The result that the client records for itself."""


def pick_tool(w: Writer) -> str:
    """Pick a tool with the probability that it has in genuine sessions."""
    return _NAMES[bisect(_CUMULATIVE_SHARES, w.r.random() * _CUMULATIVE_SHARES[-1])]


def call_tool(w: Writer, name: str) -> Outcome:
    return _TOOLS.get(name, _call_mcp_tool)(w)


def _call_bash(w: Writer) -> Outcome:
    r, bank = w.r, w.bank
    command = r.choice(_COMMANDS) + f" {bank.draw_identifier(r)}"
    if r.random() < 0.06:
        name = bank.draw_identifier(r)
        command = (
            f"cat > /tmp/{name}.py <<'EOF'\n" + "\n".join(bank.draw_lines(bank.code, r, r.randint(10, 120))) + "\nEOF"
        )
    count = int(min(900, r.lognormvariate(1.8, 1.6)))
    output = w.plant_needle("\n".join(bank.draw_lines(bank.logs if r.random() < 0.7 else bank.code, r, count)))
    if r.random() < 0.06:
        arguments = {"command": command, "description": w.make_prose(40)}
        return Outcome(arguments, f"Exit code 1\n{output}", f"Error: Exit code 1\n{output}")
    if len(output) > 30_000 and w.is_new:
        output = _persist_output(w, output)
    result: Json = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    if w.is_new:
        result["noOutputExpected"] = False
    return Outcome({"command": command, "description": w.make_prose(40)}, output, result)


def _persist_output(w: Writer, output: str) -> str:
    name = f"{w.session_id}/tool-results/{'b' + w.draw_base58(8)}.txt"
    w.extra[name] = output.encode()
    size = f"Output too large ({len(output) / 1000:.1f}KB). Full output saved to: {name}"
    return f"<persisted-output>\n{size}\n\nPreview (first 2KB):\n{output[:2000]}\n...\n</persisted-output>"


def _call_read(w: Writer) -> Outcome:
    r = w.r
    path, lines = r.choice(w.project.files)
    if r.random() < 0.004:
        source = w.make_image_block()["source"]
        file = {"base64": source["data"], "type": "image/png", "originalSize": len(source["data"]) * 3 // 4}
        blocks = [{"type": "image", "source": source}]
        return Outcome({"file_path": path + ".png"}, blocks, {"type": "image", "file": file})
    if r.random() < 0.4:
        part = lines[:2000]
    else:
        start = r.randrange(len(lines))
        part = lines[start : start + r.randint(5, 200)]
    separator = "\t" if w.is_new else "→"
    content = "\n".join(f"{number:6d}{separator}{text}" for number, text in enumerate(part, 1))
    file = {
        "filePath": path,
        "content": "\n".join(part),
        "numLines": len(part),
        "startLine": 1,
        "totalLines": len(lines),
    }
    return Outcome({"file_path": path}, w.plant_needle(content), {"type": "text", "file": file})


def _call_edit(w: Writer) -> Outcome:
    r, bank = w.r, w.bank
    path, lines = r.choice(w.project.files)
    at = r.randrange(len(lines))
    old, new = lines[at : at + r.randint(1, 12)], bank.draw_lines(bank.code, r, r.randint(1, 16))
    lines[at : at + len(old)] = new
    hunk = [" " + line for line in lines[max(0, at - 3) : at]]
    hunk += ["-" + line for line in old] + ["+" + line for line in new]
    before, after = "\n".join(old), "\n".join(new)
    content = f"The file {path} has been updated."
    if not w.is_new:
        around = enumerate(lines[max(0, at - 4) : at + len(new) + 4], at + 1)
        content += _SNIPPET + "\n".join(f"{number:6d}→{text}" for number, text in around)
    patch = {"oldStart": at, "oldLines": len(old), "newStart": at, "newLines": len(new), "lines": hunk}
    return Outcome(
        {"file_path": path, "old_string": before, "new_string": after, "replace_all": False},
        content,
        {
            "filePath": path,
            "oldString": before,
            "newString": after,
            "originalFile": None if w.is_new else "\n".join(lines),
            "structuredPatch": [patch],
            "userModified": False,
            "replaceAll": False,
        },
    )


def _call_write(w: Writer) -> Outcome:
    r, bank = w.r, w.bank
    path = f"{w.project.cwd}/src/{bank.draw_identifier(r)}/{bank.draw_identifier(r)}{r.choice(ENDINGS)}"
    content = "\n".join(bank.draw_lines(bank.code, r, int(min(900, r.lognormvariate(4.2, 0.9)))))
    result: Json = {"type": "create", "filePath": path, "content": content, "structuredPatch": [], "originalFile": None}
    return Outcome({"file_path": path, "content": content}, f"File created successfully at: {path}", result)


def _pick_files(w: Writer) -> list[str]:
    return [w.r.choice(w.project.files)[0] for _ in range(int(min(200, w.r.lognormvariate(1.8, 1.0))))]


def _call_glob(w: Writer) -> Outcome:
    files = _pick_files(w)
    arguments = {"pattern": f"**/*{w.bank.draw_identifier(w.r)}*"}
    result = {"filenames": files, "durationMs": w.r.randint(3, 400), "numFiles": len(files), "truncated": False}
    return Outcome(arguments, "\n".join(files) or "No files found", result)


def _call_grep(w: Writer) -> Outcome:
    r, files = w.r, _pick_files(w)
    content = "\n".join(f"{file}:{r.randint(1, 999)}:{w.bank.code[r.randrange(30_000)]}" for file in files)
    arguments = {"pattern": w.bank.draw_identifier(r), "output_mode": "content", "-n": True}
    result = {"mode": "content", "numFiles": 0, "filenames": [], "content": content, "numLines": len(files)}
    return Outcome(arguments, content or "No matches found", result)


def _call_todo_write(w: Writer) -> Outcome:
    states = ("pending", "in_progress", "completed")
    before, w.todos = w.todos, [
        {"content": w.make_prose(40), "status": w.r.choice(states), "activeForm": w.make_prose(40)}
        for _ in range(w.r.randint(2, 8))
    ]  # fmt: skip
    content = "Todos have been modified successfully. Ensure that you continue to use the todo list."
    return Outcome({"todos": w.todos}, content, {"oldTodos": before, "newTodos": w.todos})


def _call_web_fetch(w: Writer) -> Outcome:
    text = w.bank.make_markdown(w.r, 1200)
    arguments = {"url": f"https://example.org/{w.bank.draw_identifier(w.r)}", "prompt": w.make_prose(80)}
    result = {"bytes": w.r.randint(2_000, 90_000), "code": 200, "codeText": "OK", "result": text}
    return Outcome(arguments, text, result | {"durationMs": 2857, "url": "https://example.org/"})


def _call_web_search(w: Writer) -> Outcome:
    text = w.make_prose(3000)
    arguments = {"query": w.make_prose(50)}
    call = "srvtoolu_01" + w.draw_base58(20)
    pages = [{"title": w.make_prose(40), "url": f"https://example.org/{w.bank.draw_identifier(w.r)}"} for _ in range(8)]
    results = [{"tool_use_id": call, "content": pages}, text]
    return Outcome(arguments, text, {"query": "", "results": results, "durationSeconds": 9.1})


def _call_mcp_tool(w: Writer) -> Outcome:
    """Call a tool of an MCP server, which returns plain content blocks, sometimes very large ones."""
    text = "\n".join(w.bank.draw_lines(w.bank.code, w.r, int(min(9000, w.r.lognormvariate(4.6, 1.7)))))
    arguments = {"libraryName": w.bank.draw_identifier(w.r)}
    return Outcome(arguments, [{"type": "text", "text": text}], [{"type": "text", "text": text}])


_TOOLS: dict[str, Callable[[Writer], Outcome]] = {
    "Bash": _call_bash,
    "Read": _call_read,
    "Edit": _call_edit,
    "Write": _call_write,
    "Glob": _call_glob,
    "Grep": _call_grep,
    "TodoWrite": _call_todo_write,
    "WebFetch": _call_web_fetch,
    "WebSearch": _call_web_search,
}


def write_progress(w: Writer, call_id: str, name: str) -> None:
    """Write the progress of hooks and of a running command, if the era recorded it."""
    r = w.r
    if w.era_name != "2.1a":
        return
    for event in ("PreToolUse", "PostToolUse"):
        for _ in range(r.choice((1, 1, 2))):
            data: Json = {"type": "hook_progress", "hookEvent": event, "hookName": f"{event}:{name}"}
            data["command"] = "/home/user/.claude/hooks/guard.sh check"
            w.write_chained_line({"type": "progress", "data": data, "parentToolUseID": call_id, "toolUseID": call_id})
    if name == "Bash" and r.random() < 0.45:
        output: list[str] = []
        for number in range(int(min(40, 1 + r.expovariate(0.3)))):  # most ticks add nothing
            if r.random() < 0.3:
                output += w.bank.draw_lines(w.bank.logs, r, r.randint(1, 8))
            data = {
                "type": "bash_progress",
                "output": "\n".join(output[-5:]),
                "fullOutput": "\n".join(output),
                "elapsedTimeSeconds": number + 2,
                "totalLines": len(output),
                "timeoutMs": 120000,
            }
            tick = f"bash-progress-{number}"
            w.write_chained_line({"type": "progress", "data": data, "toolUseID": tick, "parentToolUseID": call_id})
