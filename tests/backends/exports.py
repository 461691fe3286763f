"""Genuine sessions on their way to a backend: through the outbox, as `turnlog trace backfill` sends them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tests.backends.seen_spans import Backend, SeenTrace, wait_for_spans
from turnlog.session.messages import Message
from turnlog.session.session import Session
from turnlog.trace.harvest import harvest_session, preview_spans
from turnlog.trace.outbox.delivery import deliver_batches
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.spans.span import SessionSignals, Span
from turnlog.trace.wire.otlp import build_span_batches
from turnlog.trace.wire.poster import PostAccepted, Poster

LAB = Path(__file__).resolve().parent.parent / "data" / "sessions"
OVER = SessionSignals(over=True)


class Export(NamedTuple):
    """Sessions that were sent, and what the backend made of them."""

    backend: Backend
    project: str
    sent: Mapping[str, Span]
    """What was put into the outbox, by ids in hexadecimal."""
    traces: Mapping[str, SeenTrace]
    """What was read back."""


def sessions(where: str = "*/*") -> list[Path]:
    """Recorded sessions of every client version; `2.1.325/agents` for some of them."""
    found = sorted(LAB.glob(f"{where}/projects/*/*.jsonl"))
    return [path for path in found if not path.name.startswith("agent-")]


def export_sessions(
    backend: Backend, project: str, outbox: Outbox, paths: Sequence[Path], *, nest: bool = False
) -> Export:
    """Send sessions and read them back."""
    target = replace(backend.target(project), nest=nest)
    sent: dict[str, Span] = {}
    for path in paths:
        sent |= {span.id.hex(): span for span in preview_spans(path, outbox, target, OVER)}
        harvest_session(path, outbox, target, OVER)
    with Poster(target) as poster:
        done = deliver_batches(outbox, poster, patience=60)
    assert (done.refused, done.error, done.left) == (0, None, False)
    wait_for_spans(backend, project, len(sent))
    return Export(backend, project, sent, read_back(backend, project, sent.values()))


def read_back(backend: Backend, project: str, spans: Iterable[Span]) -> dict[str, SeenTrace]:
    """The traces that some spans belong to, as the backend has them."""
    names = {span.trace.hex() for span in spans}
    return {name: found for name in sorted(names) if (found := backend.trace(project, name))}


def caught_up(backend: Backend, mark: str) -> None:
    """Wait until a backend has dealt with everything that it was sent before: until it has what is sent now."""
    key = sha256(mark.encode()).digest()
    span = Span(key[:16], key[16:24], None, "agent", mark, 10**18, 10**18, {"openinference.span.kind": "AGENT"})
    with Poster(backend.target(mark)) as poster:
        assert [poster.post(batch.body) for batch in build_span_batches([span])] == [PostAccepted()]
    assert wait_for_spans(backend, mark, 1) == [span.id.hex()]


def messages(paths: Sequence[Path]) -> Iterator[Message]:
    """The messages of some sessions, those of sub-agents too; each once, though copies of a session have it again."""
    found: dict[str, Message] = {}
    for path in paths:
        with Session.open(path) as session:
            found = {message.key: message for message in session.list_all_messages()} | found
    return iter(found.values())


def apart(paths: Sequence[Path]) -> list[Path]:
    """Sessions that share no message with another one."""
    owners: dict[str, list[Path]] = {}
    for path in paths:
        with Session.open(path) as session:
            for message in session.list_all_messages():
                owners.setdefault(message.key, []).append(path)
    shared = {path for places in owners.values() if len(places) > 1 for path in places}
    return [path for path in paths if path not in shared]
