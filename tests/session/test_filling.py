"""What fills the window: measured by the requests, estimated from the texts, never mixed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.entries.strategies import files
from tests.session.build import DATA, Build, encode_lines
from tests.session.test_any import draw_damaged_session
from turnlog.demo import config_dir
from turnlog.edit.strip.presets import choose_advice, estimate_savings
from turnlog.errors import TurnlogError
from turnlog.session.session import Session
from turnlog.session.window.pieces import PIECE_GROUPS
from turnlog.session.window.window_fill import (
    MAX_TOKENS_PER_BYTE,
    MIN_FITTED_TOKENS_PER_BYTE,
    MIN_TOKENS_PER_BYTE,
    SAFETY_BUFFER_TOKENS,
    SUMMARY_RESERVE_TOKENS,
    UNSEEN_GROUP,
    USUAL_TOKENS_PER_BYTE,
    WindowFill,
    compute_window_fill,
)

MODEL = "claude-opus-4-5-20251101"
SYSTEM = 20_000
RATE = 0.35


def usage(tokens: float, output: int = 10) -> dict[str, Any]:
    return {"input_tokens": 4, "cache_read_input_tokens": round(tokens) - 4, "output_tokens": output}


class Talk(Build):
    """A session whose requests hold exactly the system prompt and the known text at a known rate."""

    def __init__(self, rate: float = RATE) -> None:
        super().__init__()
        self.rate, self.sent = rate, 0.0

    def say(self, text: str) -> None:
        self.prompt(text)
        self.sent += len(text)

    def reply(self, text: str, hidden: int = 0, model: str = MODEL) -> None:
        self.answer(text, usage=usage(SYSTEM + hidden + self.sent * self.rate), model=model)
        self.sent += len(text)

    def work(self, call: str, size: int, tool: str = "Bash") -> None:
        given = {"command": "x" * 100}
        self.call(call, tool, given, usage=usage(SYSTEM + self.sent * self.rate), model=MODEL)
        self.result(call, "r" * size)
        self.sent += size + 100 + len(tool) + 17  # what stands around the input


def long_talk() -> Talk:
    talk = Talk()
    talk.say("p" * 1000)
    for number in range(6):
        talk.work(f"c{number}", 3000)
    talk.reply("a" * 800)
    talk.say("more")
    talk.work("c9", 9000, "Read")
    talk.reply("b" * 100)
    return talk


def whole(found: WindowFill) -> int:
    return sum(part.tokens for part in found.list_parts())


def test_the_rate_and_what_is_not_in_the_file_come_from_the_sessions_own_requests() -> None:
    found = compute_window_fill(long_talk().session())
    assert found.rate == pytest.approx(RATE, rel=0.01)
    assert found.steps == 8
    assert found.unseen == pytest.approx(SYSTEM, rel=0.01)
    assert found.later <= 10


def test_the_last_request_is_measured_and_the_next_one_estimated() -> None:
    talk = long_talk()
    found = compute_window_fill(talk.session())
    assert found.measured_tokens == round(SYSTEM + (talk.sent - 100) * RATE)
    assert found.estimate == found.measured_tokens + 100 * RATE
    assert whole(found) == found.estimate


def test_parts_are_told_by_group_and_tool() -> None:
    parts = {(part.group, part.kind): part for part in compute_window_fill(long_talk().session()).list_parts()}
    assert parts["results", "Bash"].tokens == pytest.approx(6 * 3000 * RATE, rel=0.01)
    assert parts["results", "Read"].tokens == pytest.approx(9000 * RATE, rel=0.01)
    assert (parts["results", "Bash"].pieces, parts["prompts", ""].pieces) == (6, 2)
    assert parts[UNSEEN_GROUP, ""].pieces == 0


def test_growth_that_nothing_in_the_file_explains_is_told_apart() -> None:
    talk = long_talk()
    talk.say("and")
    talk.reply("c" * 50, hidden=5000)
    found = compute_window_fill(talk.session())
    assert found.unseen == pytest.approx(SYSTEM, rel=0.01)
    assert found.later == pytest.approx(5000, rel=0.01)
    assert (UNSEEN_GROUP, "later") in {(part.group, part.kind) for part in found.list_parts()}
    assert whole(found) == found.estimate


def test_a_turn_has_what_its_last_request_measured_and_what_it_added() -> None:
    first, second = compute_window_fill(long_talk().session()).list_turn_fills()
    assert (first.number, second.number) == (1, 2)
    assert first.measured is not None
    assert second.measured is not None
    assert first.growth == first.measured - round(SYSTEM + 1000 * RATE)
    assert second.growth == second.measured - first.measured
    assert list(second.added) == [group for group in PIECE_GROUPS if group in second.added]
    assert second.added["results"] == pytest.approx(9000 * RATE, rel=0.01)


def test_a_turn_without_an_answer_measures_nothing() -> None:
    talk = long_talk()
    talk.say("unheard")
    last = compute_window_fill(talk.session()).list_turn_fills()[-1]
    assert (last.measured, last.growth) == (None, None)
    assert last.added == {"prompts": int(7 * RATE)}


def test_the_heaviest_pieces_come_first() -> None:
    found = compute_window_fill(long_talk().session())
    heavy = found.list_heaviest()
    assert [item.tokens for item in heavy] == sorted((item.tokens for item in heavy), reverse=True)
    assert (heavy[0].piece.group, heavy[0].piece.kind, heavy[0].piece.turn) == ("results", "Read", 2)
    assert len(found.list_heaviest(count=3)) == 3
    assert {item.piece.turn for item in found.list_heaviest(turn=1)} == {1}


def test_the_window_is_the_models_and_the_client_compacts_before_its_end() -> None:
    found = compute_window_fill(long_talk().session())
    assert (found.model, found.window) == (MODEL, 200_000)
    assert found.threshold == 200_000 - SUMMARY_RESERVE_TOKENS - SAFETY_BUFFER_TOKENS
    build = Build()
    build.prompt("x")
    build.answer("y", model="nobody-1", usage=usage(100))
    unknown = compute_window_fill(build.session())
    assert (unknown.window, unknown.threshold) == (None, None)


def test_the_window_of_a_million_is_told_by_the_name_alone() -> None:
    build = Build()
    build.prompt("x")
    build.answer("y", model="nobody-1[1m]", usage=usage(100))
    assert compute_window_fill(build.session()).threshold == 1_000_000 - SUMMARY_RESERVE_TOKENS - SAFETY_BUFFER_TOKENS


def test_without_any_usage_the_usual_rate_is_taken_and_nothing_is_measured() -> None:
    build = Build()
    build.prompt("x" * 100)
    build.answer("y")
    found = compute_window_fill(build.session())
    assert (found.measured_tokens, found.rate, found.steps, found.unseen) == (None, USUAL_TOKENS_PER_BYTE, 0, 0)
    assert found.estimate == int(100 * USUAL_TOKENS_PER_BYTE)


def test_right_after_a_compaction_the_sessions_first_request_tells_what_is_not_in_the_file() -> None:
    talk = long_talk()
    talk.boundary()
    talk.summary("what was")
    found = compute_window_fill(talk.session())
    assert found.compacted
    assert found.measured_tokens is None
    assert found.unseen == pytest.approx(SYSTEM, rel=0.01)


def test_what_preserved_messages_measured_before_the_compaction_does_not_count() -> None:
    talk = long_talk()
    kept = talk.prompt("keep this")
    answer = talk.answer("kept", usage=usage(150_000), model=MODEL)
    talk.boundary(preservedMessages={"anchorUuid": "s", "uuids": [kept, answer]})
    talk.summary("what was", "s")
    talk.prompt("on")
    talk.answer("fine", usage=usage(21_000), model=MODEL)
    found = compute_window_fill(talk.session())
    assert [request.tokens for request in found.requests] == [21_000]
    assert [piece.group for piece in found.pieces] == ["summary", "prompts", "answers", "prompts", "answers"]


def test_pieces_are_never_more_than_was_measured() -> None:
    build = Build()
    build.prompt("x" * 10_000)
    build.answer("y", usage=usage(1_500))
    found = compute_window_fill(build.session())
    assert found.rate == pytest.approx(0.15)
    assert (found.unseen, found.measured_tokens) == (0, 1_500)
    assert whole(found) == found.estimate == 1_500


def test_a_request_that_states_absurdly_few_tokens_is_not_believed() -> None:
    build = Build()
    build.prompt("x" * 100_000)
    build.answer("y", usage=usage(7))
    assert compute_window_fill(build.session()).rate == MIN_FITTED_TOKENS_PER_BYTE


@pytest.mark.parametrize(("growth", "rate"), [(90_000, MAX_TOKENS_PER_BYTE), (100, MIN_TOKENS_PER_BYTE), (4_000, 0.4)])
def test_tokens_per_byte_stay_within_what_genuine_sessions_show(growth: int, rate: float) -> None:
    build = Build()
    for number in range(3):
        build.prompt("x" * 9_995)
        build.answer("y" * 5, usage=usage(20_000 + number * growth), model=MODEL)
    assert compute_window_fill(build.session()).rate == pytest.approx(rate)


def test_images_that_were_never_measured_do_not_make_anything_negative() -> None:
    build = Build()
    build.prompt([{"type": "image", "source": {}}, {"type": "text", "text": "x"}])
    build.answer("y", usage=usage(500))
    found = compute_window_fill(build.session())
    assert (found.rate, found.unseen, found.later) == (MIN_FITTED_TOKENS_PER_BYTE, 0, 0)
    assert whole(found) == found.estimate == 1600


def test_a_step_between_models_tells_no_rate() -> None:
    talk = Talk(rate=0.3)
    talk.say("p" * 9000)
    talk.reply("a" * 9000)
    talk.say("p" * 9000)
    talk.reply("b", model="claude-opus-4-6")
    assert compute_window_fill(talk.session()).steps == 0


def test_an_empty_request_is_no_measure() -> None:
    build = Build()
    build.prompt("x")
    build.answer("y", usage={"input_tokens": 0, "output_tokens": 5})
    build.answer("No response requested.", model="<synthetic>", usage=usage(50))
    assert compute_window_fill(build.session()).requests == []


def holds(session: Session) -> None:
    """What must be true of any conversation."""
    found = compute_window_fill(session)
    assert whole(found) == found.estimate >= 0
    assert min(found.unseen, found.later, found.rate) >= 0
    assert all(part.tokens >= 0 for part in found.list_parts())
    added = sum(sum(turn.added.values()) for turn in found.list_turn_fills())
    assert added <= found.estimate - found.unseen - found.later
    saved = estimate_savings(found, session.file.entries)
    for kind in ([item.saved_tokens for item in saved], [item.bytes for item in saved]):
        assert kind == sorted(kind)
        assert kind[0] >= 0
    assert all(0 <= item.after <= item.before for item in saved)
    assert choose_advice(found, saved).reason


@given(files)
def test_any_file_is_refused_or_adds_up(data: bytes) -> None:
    with suppress(TurnlogError):
        holds(Session.from_bytes(data))


@given(draw_damaged_session())
def test_real_entries_with_fields_of_any_json_are_refused_or_add_up(lines: list[dict[str, Any]]) -> None:
    with suppress(TurnlogError):
        holds(Session.from_bytes(encode_lines(lines)))


def test_every_genuine_and_made_up_file_is_refused_or_adds_up() -> None:
    done = 0
    for path in [*sorted(DATA.rglob("*.jsonl")), *sorted(config_dir().rglob("*.jsonl"))]:
        with Session.open(path) as session, suppress(TurnlogError):
            holds(session)
            done += 1
    assert done > 100


@pytest.mark.corpus
def test_every_file_of_the_corpus_is_refused_or_adds_up(corpus: Path) -> None:
    done = 0
    for path in sorted((corpus / "wild").rglob("*.jsonl")):
        with Session.open(path) as session, suppress(TurnlogError):
            holds(session)
            done += 1
    assert done > 100


@pytest.mark.corpus
def test_what_is_estimated_for_earlier_requests_is_near_what_they_measured(corpus: Path) -> None:
    wrong = []
    for path in sorted((corpus / "wild").rglob("*.jsonl")):
        with Session.open(path) as session, suppress(TurnlogError):
            found = compute_window_fill(session)
            for request in found.requests[1:-1]:
                held = found.unseen + sum(map(found.estimate_tokens, found.pieces[: request.before]))
                wrong.append(abs(held - request.tokens) / request.tokens)
    wrong.sort()
    assert wrong[len(wrong) // 2] < 0.05
    assert wrong[len(wrong) * 9 // 10] < 0.15
