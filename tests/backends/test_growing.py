"""Sessions sent line by line, with calls below their generation, or with the one-hour cache: shown as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backends.exports import OVER, export_sessions, sessions
from tests.backends.seen_spans import Backend, SeenTrace, wait_for_spans
from tests.session.build import SESSION, Build, encode_lines
from turnlog.trace.harvest import harvest_session
from turnlog.trace.outbox.delivery import deliver_batches
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.spans.span import SessionSignals
from turnlog.trace.wire.poster import Poster

pytestmark = pytest.mark.backends

_UUID = re.compile(rb"\b[0-9a-f]{4}([0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b")
_KEY = re.compile(rb"\b(msg|toolu)_01")


def retold(path: Path, folder: Path, mark: str) -> Path:
    """The same session as if it had happened another time: with other uuids, message ids and call ids."""

    def other(data: bytes) -> bytes:
        return _KEY.sub(rb"\1_" + mark.encode(), _UUID.sub(mark.encode() + rb"\1", data))

    for source in (path, *path.with_suffix("").rglob("*.json*")):
        place = folder / other(str(source.relative_to(path.parent)).encode()).decode()
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(other(source.read_bytes()))
    return folder / other(path.name.encode()).decode()


def test_a_session_sent_line_by_line_is_shown_as_one_sent_whole(backend: Backend, tmp_path: Path) -> None:
    (source,) = sessions("2.1.325/hooks")
    with Outbox.open(tmp_path / "whole.db") as outbox:
        whole = export_sessions(backend, "whole", outbox, [retold(source, tmp_path / "whole", "aaaa")])
    path = retold(source, tmp_path / "grown", "bbbb")
    target = backend.target("grown")
    with Outbox.open(tmp_path / "grown.db") as outbox, Poster(target) as poster:
        steps = []
        for told in grow_session(path):
            harvest_session(path, outbox, target, told)
            steps.append(deliver_batches(outbox, poster, patience=60).spans)
    assert sum(steps) == len(whole.sent)
    assert sum(map(bool, steps)) > 5
    assert len(wait_for_spans(backend, "grown", len(whole.sent))) == len(whole.sent)
    assert [told_by(trace) for trace in in_order(backend, "grown", path)] == [
        told_by(trace) for trace in whole.traces.values()
    ]


def grow_session(path: Path) -> Iterator[SessionSignals]:
    """Write a session line by line; between two lines something may be sent."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"")
    for line in lines:
        with path.open("ab") as file:
            file.write(line)
        yield SessionSignals()
    yield OVER


def in_order(backend: Backend, project: str, path: Path) -> list[SeenTrace]:
    found = (backend.trace(project, name) for name in backend.session(project, path.stem))
    return sorted((trace for trace in found if trace), key=lambda trace: trace.start)


def told_by(trace: SeenTrace) -> tuple[list[str], int, int, tuple[int, ...], float]:
    """All that a trace says but ids."""
    return trace.tree, trace.start, trace.end, trace.tokens, round(trace.cost or 0, 12)


def test_calls_stand_below_their_generation_where_that_is_wished(backend: Backend, tmp_path: Path) -> None:
    (source,) = sessions("2.1.325/hooks")
    path = retold(source, tmp_path / "nested", "cccc")
    with Outbox.open(tmp_path / "outbox.db") as outbox:
        (trace,) = export_sessions(backend, "nested", outbox, [path], nest=True).traces.values()
    assert trace.tree == [
        "invoke_agent claude-code",
        "  chat claude-opus-5-5",
        "    execute_tool Bash",
        "  chat claude-opus-5-5",
        "    execute_tool Bash !",
        "  chat claude-opus-5-5",
        "    execute_tool Task",
        "      invoke_agent general-purpose",
        "        chat claude-opus-5-5",
        "          execute_tool Read",
        "        chat claude-opus-5-5",
        "  chat claude-opus-5-5",
        "  invoke_agent claude-code",
        "    chat claude-opus-5-5",
    ]


ONE_HOUR = "10101010-2222-4333-8444-555555555555"


def one_hour(path: Path) -> Path:
    """A session of one answer that wrote into the one-hour cache."""
    build = Build()
    build.prompt("Remember this for a while.", uuid="00000000-0000-4000-8000-00000000abcd")
    usage = {
        "input_tokens": 10,
        "output_tokens": 20,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 9100,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 9000},
    }
    build.answer("I will.", id="msg_one_hour", model="claude-opus-5-5", usage=usage)
    # Phoenix knows a session once, in whatever project: this one must not be the session of another test.
    path.write_bytes(encode_lines(build.lines).replace(SESSION.encode(), ONE_HOUR.encode()))
    return path


def test_what_is_cached_for_an_hour_has_its_own_price(backend: Backend, tmp_path: Path) -> None:
    """Phoenix has no price for it, and takes that of five minutes."""
    with Outbox.open(tmp_path / "outbox.db") as outbox:
        found = export_sessions(backend, "one hour", outbox, [one_hour(tmp_path / "session.jsonl")])
    (trace,) = found.traces.values()
    price = 5 if backend.name == "phoenix" else 8
    assert trace.cost == pytest.approx((10 * 4 + 30 * 0.2 + 100 * 5 + 9000 * price + 20 * 20) / 1e6, abs=1e-12)
