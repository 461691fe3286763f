"""The replay page: the session page's items, shown one after another as they happened."""

from __future__ import annotations

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.live.replay.clock import DEFAULT_MAX_GAP_SECONDS, SPEEDS, schedule_times
from turnlog.session.clock import parse_timestamp
from turnlog.session.timeline.timeline import ItemKind
from turnlog.session.usage.prices import find_context_window
from turnlog.web.answers import build_json_response, render_page
from turnlog.web.reading import windows
from turnlog.web.reading.session_page import choose_title, remember_answers
from turnlog.web.reading.transcript_view import TranscriptView, open_transcript_view

_ITEMS_PER_READ = 1_280
_KIND_LETTERS: dict[ItemKind, str] = {
    "prompt": "p",
    "typed": "t",
    "answer": "a",
    "event": "e",
    "compaction": "c",
    "meta": "m",
}


class ReplayScore(Struct):
    """When a replay shows each item of a branch, and how full the context window was."""

    items: int
    kinds: str
    """One letter for each item: p(rompt), t(yped meanwhile), a(nswer), e(vent), c(ompaction), m(eta)."""
    at: list[float]
    """For each item, the seconds since the start of the replay, with long silences shortened."""
    elapsed: list[int]
    """For each item, the whole seconds since the start of the session."""
    max_gap: float
    """Silences are shortened to this many seconds."""
    turns: list[int]
    """The numbers of the turns, in order."""
    turn_total: int
    """The number of turns on all branches."""
    positions: list[int]
    """The position of each turn's first item."""
    compactions: list[int]
    """The positions of compactions."""
    steps: list[tuple[int, int]]
    """The positions of messages, each with the tokens in the context window."""
    window: int | None
    """The size of the context window; None if the model is unknown."""


def show_replay(request: Request) -> Response:
    """GET /replay/{ref}: render the page with the first window; `agent` and `branch` select a different transcript.

    A large session may not have been read to its end yet; the page waits for its score.
    """
    transcript = open_transcript_view(request, soon=True)
    return render_page(
        request,
        "replay.html",
        **windows.TEMPLATE_FUNCTIONS,
        transcript=transcript,
        head=transcript.head,
        title=choose_title(transcript),
        window=windows.build_window(transcript, 0),
        size=windows.ITEMS_PER_WINDOW,
        speeds=[f"{speed:g}" for speed in SPEEDS],
    )


def send_replay_score(request: Request) -> Response:
    """GET /api/s/{ref}/replay: send when a replay shows each item."""
    return build_json_response(build_replay_score(open_transcript_view(request)))


def build_replay_score(transcript: TranscriptView, max_gap: float = DEFAULT_MAX_GAP_SECONDS) -> ReplayScore:
    """Build the score of a branch from the timeline, without reading the transcript itself."""
    items = [
        (_KIND_LETTERS[item.kind], item.time)
        for first in range(0, transcript.count, _ITEMS_PER_READ)
        for item in transcript.read_items(first, _ITEMS_PER_READ)
    ]
    times = list(schedule_times((_to_seconds(time) for _, time in items), max_gap))
    steps = [(position, step.context) for position, step in transcript.iter_steps()]
    highest = max((tokens for _, tokens in steps), default=0)
    sizes = (find_context_window(model, highest) for model in transcript.head.models)
    return ReplayScore(
        items=len(items),
        kinds="".join(letter for letter, _ in items),
        at=[round(time.at, 1) for time in times],
        elapsed=[int(time.elapsed) for time in times],
        max_gap=max_gap,
        turns=[chapter.turn for _, chapter in transcript.turns],
        turn_total=transcript.turn_total,
        positions=[position for position, _ in transcript.turns],
        compactions=sorted(transcript.compactions.values()),
        steps=steps,
        window=max((size for size in sizes if size), default=None),
    )


def _to_seconds(time: str | None) -> float | None:
    moment = parse_timestamp(time)
    return None if moment is None else moment.timestamp()


routes: list[BaseRoute] = [
    Route("/replay/{ref}", show_replay),
    Route("/api/s/{ref}/replay", remember_answers(send_replay_score)),
]
