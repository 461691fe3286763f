"""Decides whether a session can be resumed, and compares a session before and after an edit.

A rule concerns either a symptom in the file (`catalogue`) or the API (`session.resume.api_shape`). A verdict also
records what an edit must not lose: without it, a session may fail to resume even though no link is broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from msgspec import Struct

from turnlog.edit.draft import Draft
from turnlog.edit.illnesses.catalogue import diagnose_resume_view
from turnlog.edit.illnesses.illness import TALK_TYPES, Symptom
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.entries.entry import Entry
from turnlog.entries.layout import is_session_id
from turnlog.errors import TurnlogError
from turnlog.session.check import SEVERITIES, Severity
from turnlog.session.clock import to_epoch_milliseconds
from turnlog.session.graph import GRAPH_TYPES
from turnlog.session.resume.api_shape import SHAPE_RULES, Breach, find_breaches
from turnlog.session.session import Session

PORTABLE_LOSSES = frozenset({"compaction", "user", "assistant"})
"""What the portable form of a session may lack: it contains only what would be resumed."""
_MILD_SEVERITIES: dict[str, Severity] = {
    "api-same-role": "info",
    "api-first": "warning",
    "api-late-thinking": "warning",
}
_ALLOWED_IN_LAST_MESSAGE = ("api-unanswered", "api-last-thinking")
"""Rules whose violations the client repairs automatically in the last message, which may be unfinished."""
_EQUIVALENT_RULES = {"parent-in-agent": "missing-parent", "snapshot-id": "missing-parent", "torn-line": "broken-line"}
"""Rules that are compared as one: the kind of a lost parent depends on files that have not been copied yet, and an edit
completes a torn line.
"""
_FIELDS_TO_KEEP = {
    "last-prompt": ("leafUuid", "the entry that says where to continue (last-prompt)"),
    "permission-mode": ("permissionMode", "the last permission mode"),
    "mode": ("mode", "the last mode"),
    "custom-title": ("customTitle", "the title"),
    "ai-title": ("aiTitle", "the title that the model generated"),
    "tag": ("tag", "the tag"),
}

LAST_LOSSY_VERSION = "2.1.45"
LAST_VERSION_LOSING_PROGRESS = "2.0.76"
"""The latest versions known to lose something that the newest client resumes."""


class Loss(Struct, frozen=True):
    """Something that an older client does not show; `clone --portable` writes a form that all clients can resume."""

    kind: str
    version: str
    """The latest client version known to lose it."""
    text: str
    count: int


class BrokenRule(Struct, frozen=True):
    name: str
    severity: Severity
    text: str
    count: int
    uuids: tuple[str, ...] = ()
    """The uuids of the affected entries, if they have one."""


class Verdict(Struct, frozen=True):
    """What would happen when the client resumes a session."""

    resumes: bool
    """Whether the client resumes the session at all."""
    broken: tuple[BrokenRule, ...]
    """The broken rules, most severe first."""
    kept: dict[str, str]
    """The session's metadata: the last value of each kind, by name."""
    users: int
    assistants: int
    """User and assistant entries outside side chains."""
    messages: int
    """The number of messages that would be sent."""
    roots: int
    compactions: int
    old_clients: tuple[Loss, ...]
    """What older clients would not show."""

    @property
    def is_ok(self) -> bool:
        """Whether the session can be resumed without anything being refused or lost."""
        return self.resumes and not any(rule.severity == "error" for rule in self.broken)


def judge_session(session: Session) -> Verdict:
    view = ResumeView(session)
    messages = session.conversation(as_sent=True).messages if view.is_resumed else []
    rules = [*_to_rules(diagnose_resume_view(view)), *_check_api_shape(messages), *_check_file(view)]
    main = [entry for entry in session.file.entries if not entry.is_sidechain and not entry.is_lost]
    return Verdict(
        resumes=view.is_resumed,
        broken=tuple(sorted(rules, key=lambda rule: SEVERITIES.index(rule.severity))),
        kept=_read_kept_values(session, main),
        users=sum(entry.type == "user" for entry in main),
        assistants=sum(entry.type == "assistant" for entry in main),
        messages=len(messages),
        roots=len(session.graph.roots) + len(session.graph.rows_missing_parent),
        compactions=len(session.graph.compactions),
        old_clients=tuple(list_losses(view)),
    )


def _to_rules(symptoms: list[Symptom]) -> list[BrokenRule]:
    """Convert symptoms to rules, one for each kind and severity."""
    rules: dict[tuple[str, Severity], BrokenRule] = {}
    for symptom in symptoms:
        key = symptom.kind, symptom.severity
        before = rules.get(key, BrokenRule(symptom.kind, symptom.severity, symptom.text, 0))
        uuids = tuple(entry.uuid for entry in symptom.entries if entry.uuid)
        rules[key] = BrokenRule(*key, before.text, before.count + symptom.count, before.uuids + uuids)
    return list(rules.values())


def _check_api_shape(messages: list[dict[str, Any]]) -> list[BrokenRule]:
    breaches = [breach for breach in find_breaches(messages) if not _is_unfinished(breach, len(messages))]
    counts = Counter(breach.rule for breach in breaches)
    return [
        BrokenRule(name, _MILD_SEVERITIES.get(name, "error"), SHAPE_RULES[name], number)
        for name, number in counts.items()
    ]


def _is_unfinished(breach: Breach, count: int) -> bool:
    return breach.rule in _ALLOWED_IN_LAST_MESSAGE and breach.message == count - 1


def _check_file(view: ResumeView) -> list[BrokenRule]:
    """Check the rules for the file as a whole."""
    path, rules = view.session.path, []
    if path is not None and not is_session_id(path.stem):
        rules.append(
            BrokenRule("file-name", "warning", "the name of the file is not a session id; the client can't find it", 1)
        )
    dateless = [row for row in view.thread if to_epoch_milliseconds(row.timestamp) is None]
    if dateless:
        uuids = tuple(row.uuid for row in dateless if row.uuid)
        rules.append(
            BrokenRule("no-time", "warning", "an entry that would be resumed has no valid time", len(dateless), uuids)
        )
    if view.refusal is None and not any(row.type == "assistant" for row in view.thread):
        rules.append(BrokenRule("no-answer", "info", "what would be resumed contains no answer", 1))
    return rules


def _read_kept_values(session: Session, entries: list[Entry]) -> dict[str, str]:
    values = {}
    for entry in entries:
        if entry.type in _FIELDS_TO_KEEP:
            value = session.read_body(entry).get(_FIELDS_TO_KEEP[entry.type][0])
            if isinstance(value, str) and value:
                values[entry.type] = value
            elif entry.type in values and value in ("", None):
                del values[entry.type]
    return values


def list_regressions(before: Verdict, after: Verdict, *, apart_from: Collection[str] = ()) -> list[str]:
    """Describe how an edit made a session worse, one sentence per problem; return nothing if it did not.

    `apart_from` names rules, or values to keep, that the edit is meant to change; it may also contain `compaction`,
    `user` and `assistant`.
    """
    losses = []
    if before.resumes and not after.resumes:
        losses.append("the client would no longer resume it")
    losses += [text for name, text in _find_increased_rules(before, after) if name not in apart_from]
    for name, (_, text) in _FIELDS_TO_KEEP.items():
        if name in before.kept and name not in after.kept and name not in apart_from:
            losses.append(f"{text} is missing")
    if before.compactions and not after.compactions and "compaction" not in apart_from:
        losses.append("the last compaction is missing")
    for name, had, has in (("user", before.users, after.users), ("assistant", before.assistants, after.assistants)):
        if had and not has and name not in apart_from:
            losses.append(f"no {name} entry is left")
    return losses


def _find_increased_rules(before: Verdict, after: Verdict) -> list[tuple[str, str]]:
    """Return the rules that are broken more often than before."""
    had, has = _count_rules(before), _count_rules(after)
    rules: dict[str, BrokenRule] = {}
    for rule in after.broken:
        rules.setdefault(_EQUIVALENT_RULES.get(rule.name, rule.name), rule)
    return [
        (name, f"{rules[name].text} ({number:,} instead of {had[name]:,}) [{rules[name].name}]")
        for name, number in has.items()
        if number > had[name]
    ]


def _count_rules(verdict: Verdict) -> Counter[str]:
    counts: Counter[str] = Counter()
    for rule in verdict.broken:
        if rule.severity != "info":
            counts[_EQUIVALENT_RULES.get(rule.name, rule.name)] += rule.count
    return counts


def check_resumes(source: Session, draft: Draft, apart_from: Collection[str] = ()) -> None:
    """Refuse to write a new session that would be harder to resume than its source.

    `apart_from` names what the edit is meant to change (see `list_regressions`).
    """
    apart = {*apart_from, "other-session"}  # all entries of the copy will have the id of the new session
    with Session(draft.to_transcript()) as after:
        reasons = list_regressions(judge_session(source), judge_session(after), apart_from=apart)
    if reasons:
        raise TurnlogError(
            f"{source.path}: the result would be harder to resume than the original ({reasons[0]}); nothing was written"
        )


# -- older clients


def list_losses(view: ResumeView) -> Iterator[Loss]:
    """Yield what the newest client resumes but older clients would not show."""
    if lost := _list_answered_calls(view.thread) - _list_answered_calls(view.chain):
        yield Loss("parallel-calls", LAST_LOSSY_VERSION, "parallel calls with their results", len(lost))
    if unknown := [row for row in view.chain if _find_parent_type(view, row) not in (None, *GRAPH_TYPES)]:
        yield Loss(
            "unknown-type", LAST_LOSSY_VERSION, "entries of an unknown type, above which nothing is shown", len(unknown)
        )
    if progress := [row for row in view.chain if _find_parent_type(view, row) == "progress"]:
        text = "progress reports between entries, above which nothing is shown"
        yield Loss("progress", LAST_VERSION_LOSING_PROGRESS, text, len(progress))
    if texts := [row for row in view.thread if row.type == "assistant" and _is_text(row)]:
        yield Loss("text-answer", LAST_LOSSY_VERSION, "answers in plain text, on which resuming fails", len(texts))
    if other := _count_newer_elsewhere(view):
        yield Loss("newest-time", LAST_LOSSY_VERSION, "a later time on another branch, which is resumed instead", other)


def _list_answered_calls(rows: list[Entry]) -> set[str]:
    """Return the calls in some entries whose results are also in these entries."""
    blocks = [block for row in rows if row.message for block in row.message.blocks]
    results = {block.tool_use_id for block in blocks if block.type == "tool_result"}
    return {block.id for block in blocks if block.type == "tool_use" and block.id and block.id in results}


def _find_parent_type(view: ResumeView, row: Entry) -> str | None:
    """Return the type of an entry's own parent."""
    return view.session.file.entries[row.parent].type or "" if row.parent >= 0 else None


def _is_text(row: Entry) -> bool:
    return row.message is not None and isinstance(row.message.content, str)


def _count_newer_elsewhere(view: ResumeView) -> int:
    """Count the entries on other branches that are later than all resumed ones, because old clients choose by time."""
    shown = max((row.timestamp for row in view.thread if row.timestamp), default=None)
    if shown is None:
        return 0
    rest = (row for row in view.session.graph.rows if row.timestamp and row.timestamp > shown)
    return sum(row.index not in view.members and row.type in TALK_TYPES for row in rest)
