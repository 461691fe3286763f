"""Write the lines that a prompt adds to a session file."""

from __future__ import annotations

from .writer import Json, Writer


def write_prompt(w: Writer) -> None:
    """Write what a person typed, and the lines that the client adds to it."""
    r = w.r
    if w.era_name != "1.0" and not w.agent:
        write_snapshot(w, is_update=False)
    parent = w.parent
    if not w.agent and len(w.history) > 6 and r.random() < 0.03:  # a rewind
        parent = r.choice(w.history[-40:])
        w.truth.facts["branches"] += 1
    content = _make_content(w)
    w.prompt_id = w.make_uuid()
    body: Json = {"type": "user", "message": {"role": "user", "content": content}}
    tail: Json = {}
    if w.era_name in ("2.1a", "2.1b"):
        tail["permissionMode"] = r.choice(("default", "acceptEdits", "plan"))
    if w.is_new:
        body = {"promptId": w.prompt_id, **body}
        tail.update(promptSource="user", origin={"kind": "human"})
    w.history.append(w.write_chained_line(body, tail, 5, 400, parent=parent))
    w.truth.facts["agent_prompts" if w.agent else "prompts"] += 1
    if w.is_new:
        w.write_line({"type": "mode", "mode": "normal", "sessionId": w.session_id})
        w.write_line({"type": "permission-mode", "permissionMode": "default", "sessionId": w.session_id})
        write_attachment(w)
    if r.random() < 0.05:  # the text of a slash command
        blocks = [{"type": "text", "text": w.bank.make_markdown(r, 2500)}]
        w.write_chained_line({"type": "user", "message": {"role": "user", "content": blocks}, "isMeta": True})


def _make_content(w: Writer) -> object:
    chars = int(min(20_000, w.r.lognormvariate(4.7, 1.0)))
    text = w.plant_needle(w.bank.make_prose(w.r, chars, chinese=w.project.chinese))
    share = w.r.random()
    if not w.agent and share < 0.012:
        return [w.make_image_block(), {"type": "text", "text": text}]
    return [{"type": "text", "text": text}] if w.is_new or share < 0.15 else text


def write_attachment(w: Writer) -> None:
    """Write an attachment to the prompt in about 70 % of cases."""
    r = w.r
    if r.random() >= 0.7:
        return
    path, lines = r.choice(w.project.files)
    listing = {"type": "skill_listing", "content": w.make_prose(4000), "names": [], "skillCount": 12, "isInitial": True}
    snippet = {"type": "edited_text_file", "filename": path, "snippet": "\n".join(lines[: r.randint(5, 80)])}
    hook: Json = {
        "type": "hook_success",
        "hookName": "UserPromptSubmit",
        "hookEvent": "UserPromptSubmit",
        "toolUseID": w.make_uuid(),
    }
    hook |= {"content": "", "stdout": "{}", "stderr": "", "exitCode": 0, "command": "hook.sh", "durationMs": 12}
    reminder = {"type": "todo_reminder", "content": [], "itemCount": 0}
    choice: Json = r.choice((reminder, listing, snippet, _build_file_attachment(path, lines), hook))
    w.write_chained_line({"attachment": choice, "type": "attachment"})


def _build_file_attachment(path: str, lines: list[str]) -> Json:
    count = len(lines)
    inner = {"filePath": path, "content": "\n".join(lines), "numLines": count, "startLine": 1, "totalLines": count}
    content = {"type": "text", "file": inner}
    return {"type": "file", "filename": path, "content": content, "displayPath": path[-30:]}


def write_snapshot(w: Writer, *, is_update: bool) -> None:
    """Write which files have a backup."""
    r = w.r
    files = {
        f"src/{w.bank.draw_identifier(r)}.py": {
            "backupFileName": f"{r.getrandbits(64):016x}@v{r.randint(1, 9)}",
            "version": r.randint(1, 9),
            "backupTime": w.advance_clock(0, 0.01),
        }
        for _ in range(min(30, int(r.expovariate(0.25))))
    }
    message = w.parent or w.make_uuid()
    inner = {"messageId": message, "trackedFileBackups": files, "timestamp": w.advance_clock(0, 0.01)}
    w.write_line(
        {"type": "file-history-snapshot", "messageId": message, "snapshot": inner, "isSnapshotUpdate": is_update}
    )
