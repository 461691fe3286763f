"""Whether a session can be resumed, as a verdict that two states of a session can be compared by.

A rule is either a symptom of the file (`illnesses`) or one of the API (`resume.apishape`). Beside these, a verdict
holds what a session has that an edit must not lose: sessions without one broken link did not resume for want of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from msgspec import Struct

from turnlog.entries.entry import Entry
from turnlog.entries.layout import is_session_id
from turnlog.session.clock import to_epoch_milliseconds
from turnlog.session.health.diagnosis import diagnose_resume_view
from turnlog.session.health.old_clients import Loss, list_losses
from turnlog.session.health.symptoms import SEVERITIES, Severity, Symptom
from turnlog.session.resume.api_shape import SHAPE_RULES, Breach, find_breaches
from turnlog.session.resume_view import ResumeView
from turnlog.session.session import Session

_MILD_SEVERITIES: dict[str, Severity] = {
    "api-same-role": "info",
    "api-first": "warning",
    "api-late-thinking": "warning",
}
_ALLOWED_IN_LAST_MESSAGE = ("api-unanswered", "api-last-thinking")
"""The client itself mends these in the last message, which may be unfinished."""
_EQUIVALENT_RULES = {"parent-in-agent": "missing-parent", "snapshot-id": "missing-parent", "torn-line": "broken-line"}
"""Which of these a lost parent is depends on files that a result has not got yet; a torn line gets an end."""
_FIELDS_TO_KEEP = {
    "last-prompt": ("leafUuid", "the entry that says where to go on (last-prompt)"),
    "permission-mode": ("permissionMode", "the last permission mode"),
    "mode": ("mode", "the last mode"),
    "custom-title": ("customTitle", "the title"),
    "ai-title": ("aiTitle", "the title that the model gave"),
    "tag": ("tag", "the tag"),
}


class BrokenRule(Struct, frozen=True):
    """A rule that a session breaks."""

    name: str
    severity: Severity
    text: str
    count: int
    uuids: tuple[str, ...] = ()
    """The entries it concerns, as far as they have a uuid."""


class Verdict(Struct, frozen=True):
    """What resuming a session would meet."""

    resumes: bool
    """Whether the client goes on with it at all."""
    broken: tuple[BrokenRule, ...]
    """The rules that are broken, the gravest first."""
    kept: dict[str, str]
    """What the session has beside its conversation: its last value by name."""
    users: int
    assistants: int
    """Entries outside side chains."""
    messages: int
    """Messages that would be sent."""
    roots: int
    compactions: int
    old_clients: tuple[Loss, ...]
    """What older clients would not show."""

    @property
    def is_ok(self) -> bool:
        """Whether it can be resumed, and nothing of it is refused or lost."""
        return self.resumes and not any(rule.severity == "error" for rule in self.broken)


def judge_session(session: Session) -> Verdict:
    """Judge whether a session can be resumed."""
    view = ResumeView(session)
    messages = [] if view.refusal is not None else session.conversation(as_sent=True).messages
    rules = [*_to_rules(diagnose_resume_view(view)), *_check_api_shape(messages), *_check_file(view)]
    main = [entry for entry in session.file.entries if not entry.is_sidechain and not entry.is_lost]
    return Verdict(
        resumes=view.refusal is None,
        broken=tuple(sorted(rules, key=lambda rule: SEVERITIES.index(rule.severity))),
        kept=_read_kept_values(session, main),
        users=sum(entry.type == "user" for entry in main),
        assistants=sum(entry.type == "assistant" for entry in main),
        messages=len(messages),
        roots=len(session.graph.roots) + len(session.graph.rows_missing_parent),
        compactions=len(session.graph.compactions),
        old_clients=tuple(list_losses(view)),
    )


def _to_rules(found: list[Symptom]) -> list[BrokenRule]:
    """The symptoms as rules, those of one kind and weight as one."""
    rules: dict[tuple[str, Severity], BrokenRule] = {}
    for symptom in found:
        key = symptom.kind, symptom.severity
        before = rules.get(key, BrokenRule(symptom.kind, symptom.severity, symptom.text, 0))
        uuids = tuple(entry.uuid for entry in symptom.entries if entry.uuid)
        rules[key] = BrokenRule(*key, before.text, before.count + symptom.count, before.uuids + uuids)
    return list(rules.values())


def _check_api_shape(messages: list[dict[str, Any]]) -> list[BrokenRule]:
    found = [breach for breach in find_breaches(messages) if not _is_unfinished(breach, len(messages))]
    counts = Counter(breach.rule for breach in found)
    return [
        BrokenRule(name, _MILD_SEVERITIES.get(name, "error"), SHAPE_RULES[name], number)
        for name, number in counts.items()
    ]


def _is_unfinished(breach: Breach, count: int) -> bool:
    return breach.rule in _ALLOWED_IN_LAST_MESSAGE and breach.message == count - 1


def _check_file(view: ResumeView) -> list[BrokenRule]:
    """The rules for the file as a whole."""
    path, rules = view.session.path, []
    if path is not None and not is_session_id(path.stem):
        rules.append(
            BrokenRule("file-name", "warning", "the name of the file is no session id; the client finds it by none", 1)
        )
    dateless = [row for row in view.thread if to_epoch_milliseconds(row.timestamp) is None]
    if dateless:
        uuids = tuple(row.uuid for row in dateless if row.uuid)
        rules.append(
            BrokenRule("no-time", "warning", "an entry that would be resumed has no valid time", len(dateless), uuids)
        )
    if view.refusal is None and not any(row.type == "assistant" for row in view.thread):
        rules.append(BrokenRule("no-answer", "info", "nothing in what would be resumed is an answer", 1))
    return rules


def _read_kept_values(session: Session, entries: list[Entry]) -> dict[str, str]:
    found = {}
    for entry in entries:
        if entry.type in _FIELDS_TO_KEEP:
            value = session.read_body(entry).get(_FIELDS_TO_KEEP[entry.type][0])
            if isinstance(value, str) and value:
                found[entry.type] = value
            elif entry.type in found and value in ("", None):
                del found[entry.type]
    return found


def list_regressions(before: Verdict, after: Verdict, *, apart_from: Collection[str] = ()) -> list[str]:
    """In which ways an edit made a session worse, in words; empty if it is no worse.

    `apart_from` names rules, or things kept, that the edit is meant to change; `compaction`, `user` and `assistant`
    are among them.
    """
    told = []
    if before.resumes and not after.resumes:
        told.append("the client would not resume it any more")
    told += [words for name, words in _find_increased_rules(before, after) if name not in apart_from]
    for name, (_, words) in _FIELDS_TO_KEEP.items():
        if name in before.kept and name not in after.kept and name not in apart_from:
            told.append(f"{words} is gone")
    if before.compactions and not after.compactions and "compaction" not in apart_from:
        told.append("the last compaction is gone")
    for name, had, has in (("user", before.users, after.users), ("assistant", before.assistants, after.assistants)):
        if had and not has and name not in apart_from:
            told.append(f"no {name} entry is left")
    return told


def _find_increased_rules(before: Verdict, after: Verdict) -> list[tuple[str, str]]:
    """The rules that are broken more often than before."""
    had, has = _count_rules(before), _count_rules(after)
    words: dict[str, BrokenRule] = {}
    for rule in after.broken:
        words.setdefault(_EQUIVALENT_RULES.get(rule.name, rule.name), rule)
    return [
        (name, f"{words[name].text} ({number:,} instead of {had[name]:,}) [{words[name].name}]")
        for name, number in has.items()
        if number > had[name]
    ]


def _count_rules(found: Verdict) -> Counter[str]:
    counts: Counter[str] = Counter()
    for rule in found.broken:
        if rule.severity != "info":
            counts[_EQUIVALENT_RULES.get(rule.name, rule.name)] += rule.count
    return counts
