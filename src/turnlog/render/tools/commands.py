"""Cards for commands: what was run, its output, how it ended, and what continues in the background."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.render.card import CodeSection, DiffSection, FieldsSection, PlainSection, Section, TerminalSection
from turnlog.render.figures import format_size
from turnlog.render.tools.card_parts import (
    CardParts,
    CardSource,
    SectionList,
    remove_interruption,
    show_failure,
    show_outcome,
)
from turnlog.render.tools.generic_tools import guess_text_section, show_input, show_result
from turnlog.render.values import format_scalar, parse_json_value, pick_text, read_tag, to_count, to_dict, to_short_line
from turnlog.session.files.patches import read_recorded_hunks
from turnlog.session.files.touches import read_changed_files

_EXIT_CODE = re.compile(r"\AExit code (-?\d+)\n?")
_PERSISTED_TAGS = re.compile(r"</?persisted-output>\n?")
_STATUS_TAGS = {"status": "status", "stdout": "stdout", "stderr": "stderr", "output": "output", "exit_code": "exitCode"}
_TOOL_LANGUAGES = {"PowerShell": "powershell", "REPL": "javascript"}
_GIT_FACTS = (
    ("commit", "sha", "commit"),
    ("push", "branch", "pushed"),
    ("branch", "ref", "branch"),
    ("pr", "number", "PR"),
)


def build_shell_parts(work: CardSource) -> CardParts:
    """Build the card parts for Bash and PowerShell."""
    command = pick_text(work.input_fields.get("command"))
    asked: SectionList = ()
    if command:
        asked = (
            CodeSection(
                command,
                _TOOL_LANGUAGES.get(work.name, "bash"),
                to_short_line(pick_text(work.input_fields.get("description"))),
            ),
        )
    elif work.detail.input is not None:
        asked = show_input(work.detail.input)
    return CardParts(asked, list(_show_output(work)), list(_iter_badges(work)))


def _show_output(work: CardSource) -> Iterator[Section]:
    if work.outcome in ("unanswered", "denied"):
        yield from () if work.outcome == "unanswered" else show_failure(work)
        return
    if isinstance(work.record.get("stdout"), str) or isinstance(work.record.get("stderr"), str):
        yield from _show_streams(work)
    else:
        yield from _show_result_text(work)
    if work.outcome == "interrupted":
        yield PlainSection("The user stopped it.", "Interrupted", "warning")
    yield from work.pictures
    yield from _show_changed_files(work)


def _show_streams(work: CardSource) -> Iterator[Section]:
    """Show the streams in Claude Code's record: standard output and standard error separately."""
    record = work.record
    stdout, stderr = pick_text(record.get("stdout")), pick_text(record.get("stderr"))
    if stdout.strip("\r\n") and record.get("isImage") is not True:
        yield TerminalSection(stdout.strip("\r\n"))
    if stderr.strip("\r\n"):
        yield TerminalSection(stderr.strip("\r\n"), "error")
    if work.outcome == "launched" and work.words.strip():
        yield PlainSection(work.words.strip(), "", "note")
    if work.detail.persisted:
        yield PlainSection(f"The full output is in {work.detail.persisted}", "", "note")


def _show_result_text(work: CardSource) -> Iterator[Section]:
    """Show what the model saw: both streams as one, starting with the exit code."""
    text = _PERSISTED_TAGS.sub("", remove_interruption(work.words))
    exit_code = _EXIT_CODE.match(text)
    if work.outcome == "error" and not exit_code and "\x1b" not in text:
        yield from show_failure(work)
    elif text := text[exit_code.end() :].strip("\r\n") if exit_code else text.strip("\r\n"):
        yield TerminalSection(text, "error" if work.outcome == "error" and not exit_code else "output")


def _show_changed_files(work: CardSource) -> Iterator[Section]:
    """Show the files that a command changed, according to Claude Code."""
    for path, item in read_changed_files({"toolUseResult": work.detail.structured}).items():
        yield DiffSection(path, read_recorded_hunks(item.get("hunks")) or (), item.get("created") is True)


def _iter_badges(work: CardSource) -> Iterator[str]:
    record = work.record
    if exit_code := _EXIT_CODE.match(work.words):
        yield f"exit {exit_code[1][:8]}"
    if work.outcome == "launched" or work.input_fields.get("run_in_background") is True:
        yield "in background"
    if to_count(record.get("timedOutAfterMs")) is not None:
        yield "timed out"
    if meaning := pick_text(record.get("returnCodeInterpretation")):
        yield to_short_line(meaning, 40).lower()
    if size := to_count(record.get("persistedOutputSize")):
        yield format_size(size)
    git = to_dict(record.get("gitOperation"))
    for name, fact, label in _GIT_FACTS:
        if (value := format_scalar(to_dict(git.get(name)).get(fact))) not in ("", "none"):
            yield to_short_line(f"{label} {value[:12] if name == 'commit' else value}", 40)


# -- background tasks


def build_task_output_parts(work: CardSource) -> CardParts:
    """Build the card parts for BashOutput and TaskOutput: what a background task has printed so far."""
    fields, task = work.input_fields, _read_task(work)
    asked = (
        [FieldsSection((("filter", to_short_line(pick_text(fields.get("filter")))),))]
        if pick_text(fields.get("filter"))
        else []
    )
    badges = [
        to_short_line(pick_text(task.get("description"), task.get("command")), 60),
        to_short_line(pick_text(task.get("status")), 40),
    ]
    code = format_scalar(task.get("exitCode"))
    if code not in ("", "none"):
        badges.append(f"exit {code[:8]}")
    return CardParts(asked, show_outcome(work, lambda work: _show_task_output(work, task)), badges)


def _read_task(work: CardSource) -> dict[str, object]:
    """Read what is known about the task, from the record or from the tags in the text."""
    record: dict[str, object] = dict(to_dict(work.record.get("task")) or work.record)
    if record:
        return record
    return {name: value for tag, name in _STATUS_TAGS.items() if (value := read_tag(work.words, tag))}


def _show_task_output(work: CardSource, task: dict[str, object]) -> SectionList:
    output = pick_text(task.get("stdout"), task.get("output")).strip("\r\n")
    errors = pick_text(task.get("stderr")).strip("\r\n")
    found: list[Section] = [TerminalSection(output)] if output else []
    if errors:
        found.append(TerminalSection(errors, "error"))
    if report := pick_text(task.get("result")):
        found.append(guess_text_section(report))
    if not found and task:
        return (PlainSection("No output.", "", "note"),)
    return found or show_result(work)


def build_stop_parts(work: CardSource) -> CardParts:
    """Build the card parts for KillShell and TaskStop."""

    def show_sections(work: CardSource) -> SectionList:
        message = pick_text(work.record.get("message"), to_dict(parse_json_value(work.words)).get("message"))
        return (PlainSection(message),) if message else show_result(work)

    return CardParts((), show_outcome(work, show_sections))


def build_watch_parts(work: CardSource) -> CardParts:
    """Build the card parts for Monitor, a command whose lines arrive as notifications."""
    fields = work.input_fields
    command = pick_text(fields.get("command"), to_dict(fields.get("ws")).get("url"))
    asked = (
        [CodeSection(command, "bash", to_short_line(pick_text(fields.get("description"))))]
        if command
        else show_input(fields)
    )
    badges = ["in background"] if work.outcome in ("answered", "launched") else []
    return CardParts(asked, show_outcome(work, show_result), badges)


def build_repl_parts(work: CardSource) -> CardParts:
    """Build the card parts for REPL, code that ran inside Claude Code."""
    code = pick_text(*(work.input_fields.get(name) for name in ("code", "script", "input", "command")))
    language = pick_text(work.input_fields.get("language")) or _TOOL_LANGUAGES["REPL"]
    asked = [CodeSection(code, to_short_line(language, 40))] if code else show_input(work.detail.input)
    return CardParts(asked, show_outcome(work, _show_evaluation))


def _show_evaluation(work: CardSource) -> SectionList:
    streams = list(_show_streams(work)) if isinstance(work.record.get("stdout"), str) else []
    return streams or show_result(work)
