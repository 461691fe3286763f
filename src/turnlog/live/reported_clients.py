"""Which process has which session open, according to the hooks that it ran.

Old clients register nothing, so two of them in one folder can only be told apart by what they write. Their hooks know
better: a report names the session and the processes that started the hook, one of which is the client. A report from
another process namespace (a container) names processes that don't exist here, so its session has no client here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turnlog.live.hook_reports import HookReport
from turnlog.live.signs import ProcessKey

_MAX_SESSIONS = 1000


class ReportedClients:
    """What the reports of hooks say about clients."""

    def __init__(self, process_space: int | None) -> None:
        self._process_space = process_space
        self._sessions: dict[ProcessKey, str] = {}
        """The session that the hooks of each process named last."""
        self._hidden: dict[str, None] = {}
        """The sessions whose clients run in another process namespace."""

    @property
    def hidden_sessions(self) -> frozenset[str]:
        """The sessions whose clients run where their processes can't be seen."""
        return frozenset(self._hidden)

    def add(self, reports: Iterable[HookReport]) -> None:
        """Add the reports that are new, in the order in which they were written."""
        for report in reports:
            self._hidden.pop(report.session_id, None)
            if report.event == "SessionEnd":
                self._remove_session(report)
            elif report.event == "SessionStart" and report.source == "startup":
                continue  # a client that resumes a session reports a new one first, which it doesn't use
            elif report.process_space not in (None, self._process_space):
                self._hidden[report.session_id] = None
            else:
                for process in report.processes:
                    self._sessions.pop(process, None)
                    self._sessions[process] = report.session_id
        _keep_latest(self._hidden, _MAX_SESSIONS)
        _keep_latest(self._sessions, _MAX_SESSIONS)

    def find_session(self, process: ProcessKey | None) -> str | None:
        """Return the session that a client has open; None if its hooks said nothing."""
        return self._sessions.get(process) if process is not None else None

    def forget_process(self, process: ProcessKey | None) -> None:
        """Forget what the hooks of a client said, because it has gone on without them."""
        if process is not None:
            self._sessions.pop(process, None)

    def _remove_session(self, report: HookReport) -> None:
        for process in report.processes:
            if self._sessions.get(process) == report.session_id:
                del self._sessions[process]


def _keep_latest(entries: dict[Any, Any], count: int) -> None:
    """Remove all but the entries that were added last."""
    for key in list(entries)[:-count]:
        del entries[key]
