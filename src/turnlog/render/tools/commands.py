"""Commands: what was run, what it printed, how it ended, and what goes on in the background."""

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
from turnlog.render.tools.generic_tools import guess_text_section, show_result
from turnlog.render.tools.generic_tools import show_input as asked_anyhow
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
    """Bash and PowerShell."""
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
        asked = asked_anyhow(work.detail.input)
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
        yield PlainSection("The person stopped it.", "Interrupted", "warning")
    yield from work.pictures
    yield from _show_changed_files(work)


def _show_streams(work: CardSource) -> Iterator[Section]:
    """What the client's record holds: standard output and standard error apart."""
    record = work.record
    stdout, stderr = pick_text(record.get("stdout")), pick_text(record.get("stderr"))
    if stdout.strip("\r\n") and record.get("isImage") is not True:
        yield TerminalSection(stdout.strip("\r\n"))
    if stderr.strip("\r\n"):
        yield TerminalSection(stderr.strip("\r\n"), "error")
    if work.outcome == "launched" and work.words.strip():
        yield PlainSection(work.words.strip(), "", "note")
    if work.detail.persisted:
        yield PlainSection(f"All of it was kept in {work.detail.persisted}", "", "note")


def _show_result_text(work: CardSource) -> Iterator[Section]:
    """What the model got to see: both streams in one, with the exit code in front."""
    words = _PERSISTED_TAGS.sub("", remove_interruption(work.words))
    ended = _EXIT_CODE.match(words)
    if work.outcome == "error" and not ended and "\x1b" not in words:
        yield from show_failure(work)
    elif words := words[ended.end() :].strip("\r\n") if ended else words.strip("\r\n"):
        yield TerminalSection(words, "error" if work.outcome == "error" and not ended else "output")


def _show_changed_files(work: CardSource) -> Iterator[Section]:
    """The files that the client saw a command change."""
    for path, item in read_changed_files({"toolUseResult": work.detail.structured}).items():
        yield DiffSection(path, read_recorded_hunks(item.get("hunks")) or (), item.get("created") is True)


def _iter_badges(work: CardSource) -> Iterator[str]:
    record = work.record
    if ended := _EXIT_CODE.match(work.words):
        yield f"exit {ended[1][:8]}"
    if work.outcome == "launched" or work.input_fields.get("run_in_background") is True:
        yield "in background"
    if to_count(record.get("timedOutAfterMs")) is not None:
        yield "timed out"
    if told := pick_text(record.get("returnCodeInterpretation")):
        yield to_short_line(told, 40).lower()
    if kept := to_count(record.get("persistedOutputSize")):
        yield format_size(kept)
    git = to_dict(record.get("gitOperation"))
    for name, fact, word in _GIT_FACTS:
        if (told := format_scalar(to_dict(git.get(name)).get(fact))) not in ("", "none"):
            yield to_short_line(f"{word} {told[:12] if name == 'commit' else told}", 40)


# -- what runs in the background


def build_task_output_parts(work: CardSource) -> CardParts:
    """BashOutput and TaskOutput: what a background task has printed so far."""
    given, told = work.input_fields, _read_task(work)
    asked = (
        [FieldsSection((("filter", to_short_line(pick_text(given.get("filter")))),))]
        if pick_text(given.get("filter"))
        else []
    )
    badges = [
        to_short_line(pick_text(told.get("description"), told.get("command")), 60),
        to_short_line(pick_text(told.get("status")), 40),
    ]
    code = format_scalar(told.get("exitCode"))
    if code not in ("", "none"):
        badges.append(f"exit {code[:8]}")
    return CardParts(asked, show_outcome(work, lambda work: _show_task_output(work, told)), badges)


def _read_task(work: CardSource) -> dict[str, object]:
    """What is known of the task, from the record or from the tags of the text."""
    record: dict[str, object] = dict(to_dict(work.record.get("task")) or work.record)
    if record:
        return record
    return {name: words for tag, name in _STATUS_TAGS.items() if (words := read_tag(work.words, tag))}


def _show_task_output(work: CardSource, told: dict[str, object]) -> SectionList:
    printed = pick_text(told.get("stdout"), told.get("output")).strip("\r\n")
    errors = pick_text(told.get("stderr")).strip("\r\n")
    found: list[Section] = [TerminalSection(printed)] if printed else []
    if errors:
        found.append(TerminalSection(errors, "error"))
    if report := pick_text(told.get("result")):
        found.append(guess_text_section(report))
    if not found and told:
        return (PlainSection("Nothing was printed.", "", "note"),)
    return found or show_result(work)


def build_stop_parts(work: CardSource) -> CardParts:
    """KillShell and TaskStop."""

    def show_sections(work: CardSource) -> SectionList:
        told = pick_text(work.record.get("message"), to_dict(parse_json_value(work.words)).get("message"))
        return (PlainSection(told),) if told else show_result(work)

    return CardParts((), show_outcome(work, show_sections))


def build_watch_parts(work: CardSource) -> CardParts:
    """Monitor: a command whose lines come back as notifications."""
    given = work.input_fields
    command = pick_text(given.get("command"), to_dict(given.get("ws")).get("url"))
    asked = (
        [CodeSection(command, "bash", to_short_line(pick_text(given.get("description"))))]
        if command
        else asked_anyhow(given)
    )
    badges = ["in background"] if work.outcome in ("answered", "launched") else []
    return CardParts(asked, show_outcome(work, show_result), badges)


def build_repl_parts(work: CardSource) -> CardParts:
    """REPL: code that ran inside the client."""
    code = pick_text(*(work.input_fields.get(name) for name in ("code", "script", "input", "command")))
    language = pick_text(work.input_fields.get("language")) or _TOOL_LANGUAGES["REPL"]
    asked = [CodeSection(code, to_short_line(language, 40))] if code else asked_anyhow(work.detail.input)
    return CardParts(asked, show_outcome(work, _show_evaluation))


def _show_evaluation(work: CardSource) -> SectionList:
    streams = list(_show_streams(work)) if isinstance(work.record.get("stdout"), str) else []
    return streams or show_result(work)
