"""GET /compare: two sessions, or two branches of one, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.api.comparisons import ComparedSide, SessionComparison, compare_sessions
from turnlog.api.documents import to_document
from turnlog.errors import NotFound, TurnlogError, UsageError
from turnlog.web import amounts
from turnlog.web.answers import build_json_response, get_machine, render_page
from turnlog.web.machine import IndexedSession, Machine, UnknownSession
from turnlog.web.navigation.session_addresses import resolve_query_name
from turnlog.web.navigation.session_names import SessionCandidate, SessionNameError, list_newest_sessions
from turnlog.web.reading.branch_choices import BranchChoice, list_branch_choices

_MAX_OFFERED = 50
"""How many sessions the fields of the form offer."""
_MAX_SUGGESTED = 8
"""How many sessions the page suggests to compare with."""
_MAX_TITLE_CHARS = 100
_MAX_VALUE_CHARS = 200
_PARAMS = ("left", "right", "branch", "other_branch")


class ComparedPick(NamedTuple):
    """What is chosen on one side."""

    session: IndexedSession
    branch: str
    """The number or the uuid in the address; empty if none is chosen."""
    branches: Sequence[BranchChoice]
    """The branches to choose from, if there are several."""

    @property
    def branch_label(self) -> str:
        chosen = next((choice.label for choice in self.branches if choice.is_selected), "")
        return chosen or self.branch[:8]

    def turn_address(self, side: ComparedSide, number: int) -> str:
        """Return the address of a turn on this side."""
        params = {"turn": number, **({"branch": side.branch} if side.branch else {})}
        return f"/s/{self.session.ref}?{urlencode(params, errors='replace')}#t-{number}"


class ComparedPicks(NamedTuple):
    left: ComparedPick
    right: ComparedPick | None
    """None if nothing was chosen to compare with."""


def show_comparison(request: Request) -> Response:
    params = {name: request.query_params.get(name, "").strip()[:_MAX_VALUE_CHARS] for name in _PARAMS}
    picks, found, failure = None, None, ""
    try:
        picks = _read_picks(request)
        found = _compare(picks) if picks and picks.right else None
    except (SessionNameError, UnknownSession):
        raise
    except TurnlogError as error:
        failure = str(error).removeprefix("--")
    machine = get_machine(request)
    newest = list_newest_sessions(machine, _MAX_OFFERED)
    return render_page(
        request,
        "compare.html",
        picks=picks,
        found=found,
        failure=failure,
        params=params,
        newest=[
            (item.ref, f"{item.title[:_MAX_TITLE_CHARS]} · {amounts.folder_name(item.project)}") for item in newest
        ],
        suggested=list(_suggest_sessions(machine, picks.left.session)) if picks and not picks.right else [],
        amounts=amounts,
    )


def send_comparison(request: Request) -> Response:
    """Send the document of `turnlog compare --json`."""
    picks = _read_picks(request)
    if picks is None:
        raise UsageError("name the session on the left")
    if picks.right is None:
        raise UsageError("name two sessions, or one session and two branches (branch=1&other_branch=2)")
    return build_json_response(to_document(_compare(picks)))


def _compare(picks: ComparedPicks) -> SessionComparison:
    left, right = picks
    assert right is not None
    return compare_sessions(
        left.session.path,
        None if right.session is left.session else right.session.path,
        left_branch=left.branch or None,
        right_branch=right.branch or None,
    )


def _read_picks(request: Request) -> ComparedPicks | None:
    """Find the sessions that the address names; None if it names none."""
    machine = get_machine(request)
    left, right = (resolve_query_name(request, name) for name in ("left", "right"))
    if not left:
        return None
    branch, other = (
        request.query_params.get(name, "").strip()[:_MAX_VALUE_CHARS] for name in ("branch", "other_branch")
    )
    session = machine.find_session(left)
    first = ComparedPick(session, branch, _list_choices(machine, session, branch))
    if right:
        second = machine.find_session(right)
        return ComparedPicks(first, ComparedPick(second, other, _list_choices(machine, second, other)))
    if branch and other:
        return ComparedPicks(first, ComparedPick(session, other, _list_choices(machine, session, other)))
    return ComparedPicks(first, None)


def _list_choices(machine: Machine, session: IndexedSession, branch: str) -> list[BranchChoice]:
    """List the branches of a session if it has several."""
    if session.is_gone:
        raise NotFound(
            f"{session.uuid} was deleted; `turnlog archive restore {session.uuid}` restores it if it is in the archive"
        )
    head = machine.timelines.get_timeline(session.path).head
    leaf = next((line.leaf for line in head.branches if branch in (line.leaf, str(line.number))), "")
    return list_branch_choices(head, leaf) if len(head.branches) > 1 else []


def _suggest_sessions(machine: Machine, session: IndexedSession) -> Iterator[SessionCandidate]:
    """Yield the newest other sessions, those of the same project first."""
    others = [item for item in list_newest_sessions(machine, 10 * _MAX_OFFERED) if item.ref != session.ref]
    ordered = sorted(others, key=lambda item: item.project != session.cwd)
    yield from ordered[:_MAX_SUGGESTED]


routes: list[BaseRoute] = [Route("/compare", show_comparison), Route("/api/compare", send_comparison)]
