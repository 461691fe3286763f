"""Commands: what was run, what it printed, how it ended, and what goes on in the background."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.render.card import Code, Diff, Fields, Plain, Section, Terminal
from turnlog.render.figures import size
from turnlog.render.tools.anything import asked as asked_anyhow
from turnlog.render.tools.anything import gist, results, worded
from turnlog.render.tools.work import Parts, Sections, Work, failure, settled, uninterrupted
from turnlog.render.values import fields, line, number, parsed, scalar, tagged, text
from turnlog.session.files.patches import recorded
from turnlog.session.files.touches import changed_files

_EXIT = re.compile(r"\AExit code (-?\d+)\n?")
_PERSISTED = re.compile(r"</?persisted-output>\n?")
_TAGS = {"status": "status", "stdout": "stdout", "stderr": "stderr", "output": "output", "exit_code": "exitCode"}
_LANGUAGES = {"PowerShell": "powershell", "REPL": "javascript"}
_GIT = (("commit", "sha", "commit"), ("push", "branch", "pushed"), ("branch", "ref", "branch"), ("pr", "number", "PR"))


def shell(work: Work) -> Parts:
    """Bash and PowerShell."""
    command = text(work.given.get("command"))
    asked: Sections = ()
    if command:
        asked = (Code(command, _LANGUAGES.get(work.name, "bash"), line(text(work.given.get("description")))),)
    elif work.detail.input is not None:
        asked = asked_anyhow(work.detail.input)
    return Parts(work.titled(command or gist(work.detail.input)), asked, list(_printed(work)), list(_badges(work)))


def _printed(work: Work) -> Iterator[Section]:
    if work.outcome in ("unanswered", "denied"):
        yield from () if work.outcome == "unanswered" else failure(work)
        return
    if isinstance(work.record.get("stdout"), str) or isinstance(work.record.get("stderr"), str):
        yield from _streams(work)
    else:
        yield from _text(work)
    if work.outcome == "interrupted":
        yield Plain("The person stopped it.", "Interrupted", "warning")
    yield from work.pictures
    yield from _changed(work)


def _streams(work: Work) -> Iterator[Section]:
    """What the client's record holds: standard output and standard error apart."""
    record = work.record
    stdout, stderr = text(record.get("stdout")), text(record.get("stderr"))
    if stdout.strip("\r\n") and record.get("isImage") is not True:
        yield Terminal(stdout.strip("\r\n"))
    if stderr.strip("\r\n"):
        yield Terminal(stderr.strip("\r\n"), "error")
    if work.outcome == "launched" and work.words.strip():
        yield Plain(work.words.strip(), "", "note")
    if work.detail.persisted:
        yield Plain(f"All of it was kept in {work.detail.persisted}", "", "note")


def _text(work: Work) -> Iterator[Section]:
    """What the model got to see: both streams in one, with the exit code in front."""
    words = _PERSISTED.sub("", uninterrupted(work.words))
    ended = _EXIT.match(words)
    if work.outcome == "error" and not ended and "\x1b" not in words:
        yield from failure(work)
    elif words := words[ended.end() :].strip("\r\n") if ended else words.strip("\r\n"):
        yield Terminal(words, "error" if work.outcome == "error" and not ended else "output")


def _changed(work: Work) -> Iterator[Section]:
    """The files that the client saw a command change."""
    for path, item in changed_files({"toolUseResult": work.detail.structured}).items():
        yield Diff(path, recorded(item.get("hunks")) or (), item.get("created") is True)


def _badges(work: Work) -> Iterator[str]:
    record = work.record
    if ended := _EXIT.match(work.words):
        yield f"exit {ended[1][:8]}"
    if work.outcome == "launched" or work.given.get("run_in_background") is True:
        yield "in background"
    if number(record.get("timedOutAfterMs")) is not None:
        yield "timed out"
    if told := text(record.get("returnCodeInterpretation")):
        yield line(told, 40).lower()
    if kept := number(record.get("persistedOutputSize")):
        yield size(kept)
    git = fields(record.get("gitOperation"))
    for name, fact, word in _GIT:
        if (told := scalar(fields(git.get(name)).get(fact))) not in ("", "none"):
            yield line(f"{word} {told[:12] if name == 'commit' else told}", 40)


# -- what runs in the background


def output(work: Work) -> Parts:
    """BashOutput and TaskOutput: what a background task has printed so far."""
    given, told = work.given, _told(work)
    task = text(given.get("task_id"), given.get("bash_id"), given.get("agentId"), given.get("shell_id"))
    about = text(told.get("description"), told.get("command"))
    title = line(f"{task}: {about}" if about else task)
    asked = [Fields((("filter", line(text(given.get("filter")))),))] if text(given.get("filter")) else []
    badges = [line(scalar(told.get("status")), 40)] if text(told.get("status")) else []
    code = scalar(told.get("exitCode"))
    if code not in ("", "none"):
        badges.append(f"exit {code[:8]}")
    return Parts(title, asked, settled(work, lambda work: _so_far(work, told)), badges)


def _told(work: Work) -> dict[str, object]:
    """What is known of the task, from the record or from the tags of the text."""
    record: dict[str, object] = dict(fields(work.record.get("task")) or work.record)
    if record:
        return record
    return {name: words for tag, name in _TAGS.items() if (words := tagged(work.words, tag))}


def _so_far(work: Work, told: dict[str, object]) -> Sections:
    printed = text(told.get("stdout"), told.get("output")).strip("\r\n")
    errors = text(told.get("stderr")).strip("\r\n")
    found: list[Section] = [Terminal(printed)] if printed else []
    if errors:
        found.append(Terminal(errors, "error"))
    if report := text(told.get("result")):
        found.append(worded(report))
    if not found and told:
        return (Plain("Nothing was printed.", "", "note"),)
    return found or results(work)


def stop(work: Work) -> Parts:
    """KillShell and TaskStop."""
    title = text(work.given.get("task_id"), work.given.get("shell_id"))

    def shown(work: Work) -> Sections:
        told = text(work.record.get("message"), fields(parsed(work.words)).get("message"))
        return (Plain(told),) if told else results(work)

    return Parts(line(title), (), settled(work, shown))


def watch(work: Work) -> Parts:
    """Monitor: a command whose lines come back as notifications."""
    given = work.given
    command = text(given.get("command"), fields(given.get("ws")).get("url"))
    asked = [Code(command, "bash", line(text(given.get("description"))))] if command else asked_anyhow(given)
    badges = ["in background"] if work.outcome in ("answered", "launched") else []
    return Parts(line(text(given.get("description"), command)), asked, settled(work, results), badges)


def repl(work: Work) -> Parts:
    """REPL: code that ran inside the client."""
    code = text(*(work.given.get(name) for name in ("code", "script", "input", "command")))
    language = text(work.given.get("language")) or _LANGUAGES["REPL"]
    asked = [Code(code, line(language, 40))] if code else asked_anyhow(work.detail.input)
    return Parts(line(text(work.given.get("description"), code)), asked, settled(work, _evaluated))


def _evaluated(work: Work) -> Sections:
    streams = list(_streams(work)) if isinstance(work.record.get("stdout"), str) else []
    return streams or results(work)
