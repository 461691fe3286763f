"""Sub-agents: what they were asked, who they are, what they reported; and messages between agents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from turnlog.render.card import Agent, Code, Fields, Plain, Section, Text, Tree
from turnlog.render.tools.anything import asked as asked_anyhow
from turnlog.render.tools.anything import results, worded
from turnlog.render.tools.work import Parts, Sections, Work, settled
from turnlog.render.values import fields, line, number, objects, parsed, text
from turnlog.session.clock import milliseconds

_ID = re.compile(r"\bagent(?:Id|_id): ?([\w@.-]{1,80})")
_OWN = re.compile(r"\A\s*(?:agentId: |<usage>|<tools-used-before-summary>)")
_LAUNCHED = re.compile(r"\A\s*(?:Async agent launched|Spawned successfully)")


def agent(work: Work) -> Parts:
    """Task and Agent."""
    given, record = work.given, work.record
    agent_id = _agent_id(work)
    prompt = text(given.get("prompt"), record.get("prompt"))
    kind = text(given.get("subagent_type"), record.get("agentType"), work.helper.type if work.helper else "")
    description = text(given.get("description"), record.get("description"))
    asked: list[Section] = [_prose(prompt, "Prompt")] if prompt else list(asked_anyhow(work.detail.input))
    who = [_who(work, agent_id, kind, description)] if agent_id else []
    badges = [line(kind, 40)] if kind else []
    if work.outcome == "launched" or given.get("run_in_background") is True:
        badges.append("in background")
    if model := text(given.get("model"), record.get("resolvedModel")):
        badges.append(line(model, 40))
    title = line(description or prompt or kind)
    return Parts(title, asked, [*who, *settled(work, _reported)], badges, agent_id)


def _agent_id(work: Work) -> str | None:
    recorded = text(work.record.get("agentId"), work.record.get("agent_id"))
    if recorded or work.helper:
        return recorded or (work.helper.agent_id if work.helper else None)
    told = _ID.search(work.words)
    return told[1] if told else None


def _who(work: Work, agent_id: str, kind: str, description: str) -> Agent:
    record, helper = work.record, work.helper
    calls, tokens = number(record.get("totalToolUseCount")), number(record.get("totalTokens"))
    duration = number(record.get("totalDurationMs"))
    if helper is not None:
        calls = helper.calls if calls is None else calls
        tokens = helper.input + helper.output if tokens is None else tokens
        began, ended = milliseconds(helper.started), milliseconds(helper.ended)
        if duration is None and began is not None and ended is not None:
            duration = number(ended - began)
    return Agent(agent_id, line(kind), line(description), calls, tokens, duration)


def _reported(work: Work) -> Sections:
    """The report without what the client adds for the model."""
    content = work.record.get("content") or work.detail.result
    texts = [content] if isinstance(content, str) else [text(block.get("text")) for block in objects(content)]
    report = "\n\n".join(words.strip() for words in texts if words.strip() and not _OWN.match(words))
    if not report:
        return () if texts else results(work)
    if work.outcome == "launched" or _LAUNCHED.match(report):
        path = text(work.record.get("outputFile"))
        return (Plain(f"It works on in the background{f'; its output goes to {path}' if path else ''}.", "", "note"),)
    return (_prose(report, "Report"),)


def _prose(words: str, title: str) -> Section:
    found = parsed(words)
    return Text(words, title) if found is None else Tree(found, title)


# -- between agents


def message(work: Work) -> Parts:
    """SendMessage."""
    given = work.given
    receiver = text(given.get("to"), given.get("recipient"), given.get("agentId"))
    raw = given.get("message", given.get("content"))
    words = text(raw, given.get("content"))
    summary = text(given.get("summary")) or words
    asked: list[Section] = [_prose(words, "Message")] if words else list(asked_anyhow(given))
    title = f"to {receiver}: {summary}" if receiver else summary or text(given.get("type"))
    return Parts(line(title), asked, settled(work, said))


def said(work: Work) -> Sections:
    """A result that is one sentence in a record."""
    told = fields(work.detail.structured) or fields(parsed(work.words))
    words = text(told.get("message"), told.get("summary"))
    return (worded(words),) if words else results(work)


def workflow(work: Work) -> Parts:
    """Workflow: a script that starts agents."""
    given, record = work.given, work.record
    script = text(given.get("script"))
    asked: list[Section] = [Code(script, "javascript")] if script else []
    rest: Any = {name: value for name, value in given.items() if name != "script"}
    asked += asked_anyhow(rest)
    title = text(given.get("title"), given.get("name"), record.get("workflowName"), given.get("description"), script)
    return Parts(line(title), asked, settled(work, lambda work: list(_run(work))), _status(work))


def _run(work: Work) -> Iterator[Section]:
    names = ("summary", "runId", "taskId", "scriptPath", "transcriptDir", "warning", "error")
    found = tuple((name, text(work.record.get(name))) for name in names if text(work.record.get(name)))
    if found:
        yield Fields(found)
    else:
        yield from results(work)


def _status(work: Work) -> list[str]:
    launched = "launched" in text(work.record.get("status")) or work.outcome == "launched"
    return ["in background"] if launched else []


def skill(work: Work) -> Parts:
    """Skill and SlashCommand."""
    given = work.given
    name = text(given.get("skill"), given.get("command"), given.get("name"))
    words = text(given.get("args"))
    asked = [worded(words, "Arguments")] if words else []
    if not name:
        asked = list(asked_anyhow(work.detail.input))
    return Parts(line(f"{name} {words}"), asked, settled(work, results))
