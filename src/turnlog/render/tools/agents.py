"""Cards for sub-agents (their prompts, types and reports) and for messages between agents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from turnlog.render.card import (
    AgentSection,
    CodeSection,
    FieldsSection,
    PlainSection,
    Section,
    TextSection,
    TreeSection,
)
from turnlog.render.tools.card_parts import CardParts, CardSource, SectionList, show_outcome
from turnlog.render.tools.generic_tools import guess_text_section, show_input, show_result
from turnlog.render.values import parse_json_value, pick_text, to_count, to_dict, to_dict_list, to_short_line
from turnlog.session.clock import to_epoch_milliseconds

_AGENT_ID = re.compile(r"\bagent(?:Id|_id): ?([\w@.-]{1,80})")
_CLIENT_NOTE = re.compile(r"\A\s*(?:agentId: |<usage>|<tools-used-before-summary>)")
_LAUNCHED_TEXT = re.compile(r"\A\s*(?:Async agent launched|Spawned successfully)")


def build_agent_parts(work: CardSource) -> CardParts:
    """Build the card parts for Task and Agent."""
    fields, record = work.input_fields, work.record
    agent_id = _find_agent_id(work)
    prompt = pick_text(fields.get("prompt"), record.get("prompt"))
    kind = pick_text(fields.get("subagent_type"), record.get("agentType"), work.helper.type if work.helper else "")
    description = pick_text(fields.get("description"), record.get("description"))
    asked: list[Section] = [_to_text_section(prompt, "Prompt")] if prompt else list(show_input(work.detail.input))
    who = [_build_agent_section(work, agent_id, kind, description)] if agent_id else []
    badges = [to_short_line(kind, 40)] if kind else []
    if work.outcome == "launched" or fields.get("run_in_background") is True:
        badges.append("in background")
    if model := pick_text(fields.get("model"), record.get("resolvedModel")):
        badges.append(to_short_line(model, 40))
    return CardParts(asked, [*who, *show_outcome(work, _show_report)], badges, agent_id)


def _find_agent_id(work: CardSource) -> str | None:
    recorded = pick_text(work.record.get("agentId"), work.record.get("agent_id"))
    if recorded or work.helper:
        return recorded or (work.helper.agent_id if work.helper else None)
    named = _AGENT_ID.search(work.words)
    return named[1] if named else None


def _build_agent_section(work: CardSource, agent_id: str, kind: str, description: str) -> AgentSection:
    record, helper = work.record, work.helper
    calls, tokens = to_count(record.get("totalToolUseCount")), to_count(record.get("totalTokens"))
    duration = to_count(record.get("totalDurationMs"))
    if helper is not None:
        calls = helper.calls if calls is None else calls
        tokens = helper.input + helper.output if tokens is None else tokens
        started, ended = to_epoch_milliseconds(helper.started), to_epoch_milliseconds(helper.ended)
        if duration is None and started is not None and ended is not None:
            duration = to_count(ended - started)
    return AgentSection(agent_id, to_short_line(kind), to_short_line(description), calls, tokens, duration)


def _show_report(work: CardSource) -> SectionList:
    """Show the report without Claude Code's additions for the model."""
    content = work.record.get("content") or work.detail.result
    texts = [content] if isinstance(content, str) else [pick_text(block.get("text")) for block in to_dict_list(content)]
    report = "\n\n".join(text.strip() for text in texts if text.strip() and not _CLIENT_NOTE.match(text))
    if not report:
        return () if texts else show_result(work)
    if work.outcome == "launched" or _LAUNCHED_TEXT.match(report):
        path = pick_text(work.record.get("outputFile"))
        return (
            PlainSection(
                f"It continues in the background{f'; its output goes to {path}' if path else ''}.", "", "note"
            ),
        )
    return (_to_text_section(report, "Report"),)


def _to_text_section(text: str, title: str) -> Section:
    value = parse_json_value(text)
    return TextSection(text, title) if value is None else TreeSection(value, title)


# -- messages between agents


def build_message_parts(work: CardSource) -> CardParts:
    """Build the card parts for SendMessage."""
    fields = work.input_fields
    text = pick_text(fields.get("message"), fields.get("content"))
    asked: list[Section] = [_to_text_section(text, "Message")] if text else list(show_input(fields))
    return CardParts(asked, show_outcome(work, show_sentence))


def show_sentence(work: CardSource) -> SectionList:
    """Show a result whose record consists of a message or a summary."""
    record = to_dict(work.detail.structured) or to_dict(parse_json_value(work.words))
    text = pick_text(record.get("message"), record.get("summary"))
    return (guess_text_section(text),) if text else show_result(work)


def build_workflow_parts(work: CardSource) -> CardParts:
    """Build the card parts for Workflow, a script that starts agents."""
    fields = work.input_fields
    script = pick_text(fields.get("script"))
    asked: list[Section] = [CodeSection(script, "javascript")] if script else []
    rest: Any = {name: value for name, value in fields.items() if name != "script"}
    asked += show_input(rest)
    return CardParts(asked, show_outcome(work, lambda work: list(_show_run(work))), _list_workflow_badges(work))


def _show_run(work: CardSource) -> Iterator[Section]:
    names = ("summary", "runId", "taskId", "scriptPath", "transcriptDir", "warning", "error")
    found = tuple((name, pick_text(work.record.get(name))) for name in names if pick_text(work.record.get(name)))
    if found:
        yield FieldsSection(found)
    else:
        yield from show_result(work)


def _list_workflow_badges(work: CardSource) -> list[str]:
    name = pick_text(work.record.get("workflowName"))
    is_named = name in (work.input_fields.get("title"), work.input_fields.get("name"))
    launched = "launched" in pick_text(work.record.get("status")) or work.outcome == "launched"
    return [*([] if is_named else [to_short_line(name, 60)]), *(["in background"] if launched else [])]


def build_skill_parts(work: CardSource) -> CardParts:
    """Build the card parts for Skill and SlashCommand."""
    fields = work.input_fields
    name = pick_text(fields.get("skill"), fields.get("command"), fields.get("name"))
    text = pick_text(fields.get("args"))
    asked = [guess_text_section(text, "Arguments")] if text else []
    if not name:
        asked = list(show_input(work.detail.input))
    return CardParts(asked, show_outcome(work, show_result))
