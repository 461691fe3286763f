"""The cases: each consists of a small config folder, the reason why it is hard, and the messages to count."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from usage_cases.expected_totals import LONG_CONTEXT, CountedMessage, sum_messages
from usage_cases.session_lines import (
    PROJECT,
    Session,
    build_iteration,
    build_iterations,
    build_usage,
    encode_lines,
    make_session_id,
)

FABLE = "claude-fable-5"
HAIKU, SONNET, OPUS_45 = "claude-haiku-4-5-20251001", "claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101"


class Case(NamedTuple):
    name: str
    why: str
    files: dict[str, bytes]
    counted: list[CountedMessage]

    @property
    def expected_result(self) -> dict[str, Any]:
        """What a correct count returns."""
        result: dict[str, Any] = {"case": self.name, "why": self.why, "total": sum_messages(self.counted)}
        if payers := {item.session for item in self.counted if item.session}:
            result["sessions"] = {
                make_session_id(name): sum_messages(item for item in self.counted if item.session == name)
                for name in sorted(payers)
            }
        for zone in sorted({zone for item in self.counted for zone in item.days}):
            days = sorted({item.days[zone] for item in self.counted})
            result.setdefault("days", {})[zone] = {
                day: sum_messages(item for item in self.counted if item.days[zone] == day) for day in days
            }
        return result


CASES: list[Callable[[], Case]] = []


def register_case(make: Callable[[], tuple[dict[str, bytes], list[CountedMessage]]]) -> Callable[[], Case]:
    """Register a function that builds a case; its name names the case, and its docstring says what makes it hard."""
    name = make.__name__.removeprefix("build_").removesuffix("_case").replace("_", "-")

    def build_case() -> Case:
        return Case(name, " ".join((make.__doc__ or "").split()), *make())

    CASES.append(build_case)
    return build_case


def build_all_cases() -> Iterator[Case]:
    return (make() for make in CASES)


def build_session_file(session: Session, **options: Any) -> dict[str, bytes]:
    """Return the file of a session."""
    return {f"{PROJECT}/{session.id}.jsonl": encode_lines(session.lines, **options)}


@register_case
def build_growth_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """The lines of one message state an increasing output count; only the last line has the true number."""
    s = Session("growth", "2.0.76")
    s.add_prompt()
    s.add_answer("1", build_usage(12, 1, 3000, 500), stop=None, model=OPUS_45)
    s.add_answer("1", build_usage(12, 1, 3000, 500), stop=None, model=OPUS_45)
    s.add_answer("1", build_usage(12, 412, 3000, 500), stop="end_turn", model=OPUS_45)
    return build_session_file(s), [CountedMessage(OPUS_45, 12, 412, 3000, 500)]


@register_case
def build_growth_downwards_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """A later line states less output than an earlier one: the largest value counts, not the last."""
    s = Session("growth-downwards", "2.0.76")
    s.add_prompt()
    s.add_answer("1", build_usage(4, 300), stop="tool_use", model=OPUS_45)
    s.add_answer("1", build_usage(4, 7), stop=None, model=OPUS_45)
    return build_session_file(s), [CountedMessage(OPUS_45, 4, 300)]


@register_case
def build_repeats_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Every line of a message repeats the message's whole usage, which counts once."""
    s = Session("repeats")
    s.add_prompt()
    for text in ("One.", "Two.", "Three."):
        s.add_answer("1", build_usage(5, 80, 1000, 200, 200), text=text)
    s.add_prompt()
    s.add_answer("2", build_usage(6, 20, 1200, 0, 0))
    return build_session_file(s), [
        CountedMessage(input=5, output=80, read=1000, long=200),
        CountedMessage(input=6, output=20, read=1200),
    ]


@register_case
def build_missing_request_id_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Lines have no requestId (other endpoints, redacted archives): only the message id identifies repeats."""
    s = Session("missing-request-id")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80), request=None)
    s.add_answer("1", build_usage(5, 80), request=None)
    s.add_answer("2", build_usage(7, 30), request=None)
    return build_session_file(s), [CountedMessage(input=5, output=80), CountedMessage(input=7, output=30)]


@register_case
def build_several_request_ids_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """The lines of one message have different requestIds: it is still one message."""
    s = Session("several-request-ids")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80), request="a")
    s.add_answer("1", build_usage(5, 80), request="b")
    return build_session_file(s), [CountedMessage(input=5, output=80)]


@register_case
def build_missing_message_id_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Lines have no message.id: each is a separate message, identified by its uuid, but its copy in another file
    is not.
    """
    s = Session("missing-message-id")
    s.add_prompt()
    s.add_answer(None, build_usage(5, 80), request=None)
    s.add_answer(None, build_usage(7, 30), request=None)
    copy = Session("missing-message-id-copy")
    copy.lines = [{**line, "sessionId": copy.id} for line in s.lines]
    return build_session_file(s) | build_session_file(copy), [
        CountedMessage(input=5, output=80),
        CountedMessage(input=7, output=30),
    ]


@register_case
def build_forked_copies_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """A branch copied the lines of a session with their ids and times, and continued: the original pays for the
    copies.
    """
    origin, fork = Session("forked-copies-origin"), Session("forked-copies-branch-3", start=60)
    assert fork.id < origin.id  # in the order of names the copy comes first
    origin.add_prompt()
    origin.add_answer("1", build_usage(5, 80, 1000, 100, 100))
    fork.lines = [
        {**line, "sessionId": fork.id, "forkedFrom": {"sessionId": origin.id, "messageUuid": line["uuid"]}}
        for line in origin.lines
    ]
    fork.add_prompt()
    fork.add_answer("2", build_usage(6, 40, 1100, 0, 0))
    counted = [
        CountedMessage(input=5, output=80, read=1000, long=100, session=origin.name),
        CountedMessage(input=6, output=40, read=1100, session=fork.name),
    ]
    return build_session_file(origin) | build_session_file(fork), counted


@register_case
def build_resumed_copies_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """A resumed session wrote old messages to its new file again, later and with new uuids: the first file pays."""
    old, new = Session("resumed-copies-old", "1.0.128"), Session("resumed-copies-new", "1.0.128", start=300)
    old.add_prompt()
    old.add_answer("1", build_usage(5, 80, 1000, 100), model=OPUS_45)
    new.copy_line(old.lines[-1])
    new.add_prompt()
    new.add_answer("2", build_usage(6, 40, 1100), model=OPUS_45)
    counted = [
        CountedMessage(OPUS_45, 5, 80, 1000, 100, session=old.name),
        CountedMessage(OPUS_45, 6, 40, 1100, session=new.name),
    ]
    return build_session_file(old) | build_session_file(new), counted


@register_case
def build_copies_that_differ_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """One file has the start of a message, and a later one has its end: the first file pays, with the largest
    numbers.
    """
    old, new = Session("copies-that-differ-old", "2.0.76"), Session("copies-that-differ-new", "2.0.76", start=300)
    old.add_prompt()
    old.add_answer("1", build_usage(5, 1, 1000), model=OPUS_45, stop=None)
    new.copy_line(old.lines[-1])["message"] |= {"usage": build_usage(5, 250, 1000), "stop_reason": "end_turn"}
    return build_session_file(old) | build_session_file(new), [CountedMessage(OPUS_45, 5, 250, 1000, session=old.name)]


@register_case
def build_sub_agents_in_a_folder_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Sub-agents have their own files in <session>/subagents; one of them is two folders deeper."""
    s = Session("sub-agents-in-a-folder")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80), stop="tool_use")
    one = Session(s.name, agent="a1b2c3d4e5f60718")
    one.add_prompt()
    one.add_answer("agent-1", build_usage(9, 33, 700), model=HAIKU)
    two = Session(s.name, agent="b1b2c3d4e5f60718")
    two.add_prompt()
    two.add_answer("agent-2", build_usage(8, 22, 600), model=HAIKU)
    folder = f"{PROJECT}/{s.id}/subagents"
    files = {
        f"{folder}/agent-{one.agent}.jsonl": encode_lines(one.lines),
        f"{folder}/workflows/wf_1/agent-{two.agent}.jsonl": encode_lines(two.lines),
    }
    return build_session_file(s) | files, [
        CountedMessage(input=5, output=80, session=s.name),
        CountedMessage(HAIKU, 9, 33, 700, session=s.name),
        CountedMessage(HAIKU, 8, 22, 600, session=s.name),
    ]


@register_case
def build_sub_agents_beside_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """The sub-agents of 2.0 have files beside the session's (agent-<id>.jsonl), whose lines name the session."""
    s = Session("sub-agents-beside", "2.0.76")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80), stop="tool_use", model=OPUS_45)
    agent = Session(s.name, "2.0.76", agent="a1b2c3d")
    agent.add_prompt()
    agent.add_answer("agent", build_usage(9, 33, 700), model=HAIKU)
    files = {f"{PROJECT}/agent-{agent.agent}.jsonl": encode_lines(agent.lines)}
    return build_session_file(s) | files, [
        CountedMessage(OPUS_45, 5, 80, session=s.name),
        CountedMessage(HAIKU, 9, 33, 700, session=s.name),
    ]


@register_case
def build_sub_agents_inside_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """The sub-agents of 1.0 are sidechains in the session's own file."""
    s = Session("sub-agents-inside", "1.0.128")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80), stop="tool_use", model=OPUS_45)
    s.add_answer("agent", build_usage(9, 33, 700), model=HAIKU, isSidechain=True)
    return build_session_file(s), [CountedMessage(OPUS_45, 5, 80), CountedMessage(HAIKU, 9, 33, 700)]


def _build_echoed_session(name: str) -> tuple[Session, Session]:
    s, agent = Session(name, "2.1.29"), Session(name, "2.1.29", agent="a1b2c3d")
    s.add_prompt()
    agent.pass_time(1).add_prompt()
    s.echo_line(agent.add_answer("agent", build_usage(9, 1, 700), stop=None, model=HAIKU))
    return s, agent


@register_case
def build_echoes_with_the_file_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Progress entries repeat what a sub-agent said, and its own file exists: it counts once."""
    s, agent = _build_echoed_session("echoes-with-the-file")
    files = {f"{PROJECT}/{s.id}/subagents/agent-{agent.agent}.jsonl": encode_lines(agent.lines)}
    return build_session_file(s) | files, [CountedMessage(HAIKU, 9, 1, 700, quality="placeholder", session=s.name)]


@register_case
def build_echoes_without_the_file_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Progress entries are all that is left of a sub-agent whose file is gone: they count."""
    s, _ = _build_echoed_session("echoes-without-the-file")
    return build_session_file(s), [CountedMessage(HAIKU, 9, 1, 700, quality="placeholder", session=s.name)]


@register_case
def build_one_hour_cache_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Tokens that are cached for an hour cost more than tokens that are cached for five minutes."""
    s = Session("one-hour-cache")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80, 0, 10_000, 10_000))
    s.add_answer("2", build_usage(5, 80, 0, 10_000, 4_000))
    s.add_answer("3", build_usage(5, 80, 0, 10_000))
    return build_session_file(s), [
        CountedMessage(input=5, output=80, long=10_000),
        CountedMessage(input=5, output=80, short=6_000, long=4_000),
        CountedMessage(input=5, output=80, short=10_000),
    ]


@register_case
def build_synthetic_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """The client writes some answers itself (model <synthetic>) with zero usage: no model was called."""
    s = Session("synthetic")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80))
    s.add_answer("2", build_usage(0, 0), model="<synthetic>", stop="stop_sequence", request=None)
    return build_session_file(s), [CountedMessage(input=5, output=80)]


@register_case
def build_long_context_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """A prompt above 200,000 tokens changes the prices of the whole request; a prompt of exactly 200,000 does not."""
    s = Session("long-context", "2.0.76")
    s.add_prompt()
    s.add_answer("1", build_usage(1, 100, 200_000), model=SONNET)
    s.add_answer("2", build_usage(0, 100, 190_000, 10_000), model=SONNET)
    return build_session_file(s), [
        CountedMessage(SONNET, 1, 100, 200_000, prices=LONG_CONTEXT),
        CountedMessage(SONNET, 0, 100, 190_000, 10_000),
    ]


@register_case
def build_dated_prices_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """A long-context tier ended on 2026-03-13: the price depends on the date of the request."""
    s = Session("dated-prices", start=-400_000)
    s.add_prompt()
    s.add_answer("1", build_usage(1, 100, 250_000), model="claude-sonnet-4-6")
    s.pass_time(300_000)
    s.add_answer("2", build_usage(1, 100, 250_000), model="claude-sonnet-4-6")
    return build_session_file(s), [
        CountedMessage("claude-sonnet-4-6", 1, 100, 250_000, prices=LONG_CONTEXT),
        CountedMessage("claude-sonnet-4-6", 1, 100, 250_000),
    ]


@register_case
def build_web_search_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Each search that the API makes costs a fee in addition to the tokens."""
    s = Session("web-search")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80, server_tool_use={"web_search_requests": 3, "web_fetch_requests": 1}))
    return build_session_file(s), [CountedMessage(input=5, output=80, searches=3)]


@register_case
def build_unknown_model_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """A model is missing from the price list: its tokens are unpriced, not free, and no other model's price applies."""
    s = Session("unknown-model")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80))
    s.add_answer("2", build_usage(11, 22, 33, 44), model="claude-opus-5000")
    return build_session_file(s), [
        CountedMessage(input=5, output=80),
        CountedMessage("claude-opus-5000", 11, 22, 33, 44),
    ]


@register_case
def build_torn_tail_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """The last line is cut off after its usage, because its writer was stopped or is still working."""
    s = Session("torn-tail")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80))
    s.add_answer("2", build_usage(6, 40))
    path, data = next(iter(build_session_file(s).items()))
    return {path: data[:-40]}, [CountedMessage(input=5, output=80)]


@register_case
def build_broken_lines_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Good lines are mixed with lines that are not JSON, NUL bytes, a byte order mark and an empty line."""
    s = Session("broken-lines")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80))
    s.add_answer("2", build_usage(6, 40))
    lines = encode_lines(s.lines).splitlines(keepends=True)
    data = b"\xef\xbb\xbf" + lines[0] + b"\n" + lines[1] + b'{"type":"assistant","mess\n\0\0\0\0\n' + lines[2]
    return {f"{PROJECT}/{s.id}.jsonl": data}, [CountedMessage(input=5, output=80), CountedMessage(input=6, output=40)]


@register_case
def build_placeholders_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Versions 2.1.8 to 2.1.62 wrote the initial number of the stream on every line: it counts, but it is not final."""
    s = Session("placeholders", "2.1.29")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 1, 1000), stop=None, model=OPUS_45, text="A long answer. " * 20)
    s.add_answer("1", build_usage(5, 1, 1000), stop=None, model=OPUS_45, text="And more. " * 20)
    return build_session_file(s), [CountedMessage(OPUS_45, 5, 1, 1000, quality="placeholder")]


@register_case
def build_partial_counts_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """The numbers come from the middle of a stream: an answer that was cut off, and growth without a stop reason
    in 2.1.45.
    """
    s = Session("partial-counts", "2.1.45")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 1, 1000), stop=None, model=OPUS_45)
    s.add_answer("1", build_usage(5, 60, 1000), stop=None, model=OPUS_45)
    s.version = "2.1.325"
    s.add_answer("2", build_usage(6, 4, 1100), stop=None)
    return build_session_file(s), [
        CountedMessage(OPUS_45, 5, 60, 1000, quality="partial"),
        CountedMessage(input=6, output=4, read=1100, quality="partial"),
    ]


@register_case
def build_missing_usage_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """A message whose lines have no usage still counts as a message."""
    s = Session("missing-usage")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80))
    s.add_answer("2", None)
    return build_session_file(s), [CountedMessage(input=5, output=80), CountedMessage(quality="missing")]


@register_case
def build_spaces_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Somebody rewrote the JSON with spaces after colons and commas."""
    s = Session("spaces")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80, 1000, 200, 200))
    return build_session_file(s, separators=(", ", ": ")), [CountedMessage(input=5, output=80, read=1000, long=200)]


@register_case
def build_several_models_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """A session changes its model; each message has the price of its own model."""
    s = Session("several-models")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80))
    s.add_answer("2", build_usage(6, 70), model=HAIKU)
    s.add_answer("3", build_usage(7, 60), model=SONNET)
    return build_session_file(s), [
        CountedMessage(input=5, output=80),
        CountedMessage(HAIKU, 6, 70),
        CountedMessage(SONNET, 7, 60),
    ]


@register_case
def build_days_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """A message counts on the day on which it ended, and days depend on the time zone."""
    s = Session("days", start=14 * 60 + 57)
    s.add_prompt()  # 23:58
    s.add_answer("1", build_usage(5, 1), stop=None, model=OPUS_45)
    s.add_answer("1", build_usage(5, 80), model=OPUS_45)  # 00:00 on 2026-11-03, UTC
    s.pass_time(18 * 60 + 25)
    s.add_answer("2", build_usage(6, 40), model=OPUS_45)  # 18:26, four minutes before midnight in Kolkata
    s.pass_time(7)
    s.add_answer("3", build_usage(7, 30), model=OPUS_45)  # 18:34
    zones = ("UTC", "America/New_York", "Asia/Kolkata")
    ended = (
        ("2026-11-03", "2026-11-02", "2026-11-03"),
        ("2026-11-03", "2026-11-03", "2026-11-03"),
        ("2026-11-03", "2026-11-03", "2026-11-04"),
    )
    numbers = ((5, 80), (6, 40), (7, 30))
    return build_session_file(s), [
        CountedMessage(OPUS_45, input_tokens, output, days=dict(zip(zones, day, strict=True)))
        for (input_tokens, output), day in zip(numbers, ended, strict=True)
    ]


@register_case
def build_terms_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Fast mode costs twice as much, a batch half as much, and US-only inference a tenth more; priority costs
    the list price.
    """
    s = Session("terms")
    s.add_prompt()
    s.add_answer("1", build_usage(5, 80, 1000, speed="fast"))
    s.add_answer("2", build_usage(5, 80, 1000, service_tier="batch"))
    s.add_answer("3", build_usage(5, 80, 1000, inference_geo="us"))
    s.add_answer(
        "4", build_usage(5, 80, 1000, service_tier="priority", speed="standard", inference_geo="not_available")
    )
    return build_session_file(s), [
        CountedMessage(input=5, output=80, read=1000, factor=factor) for factor in ("2", "1/2", "11/10", "1")
    ]


@register_case
def build_wrong_types_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """A program wrote words, nulls, fractions or nonsense instead of numbers: values that can't be counts are
    ignored.
    """
    s = Session("wrong-types")
    s.add_prompt()
    s.add_answer("1", {"input_tokens": 5, "output_tokens": 80, "cache_read_input_tokens": None})
    s.add_answer("2", {"input_tokens": "many", "output_tokens": 40, "cache_creation": [], "server_tool_use": 3})
    s.add_answer("3", {"input_tokens": 2.5, "output_tokens": -5, "cache_read_input_tokens": 700})
    return build_session_file(s), [
        CountedMessage(input=5, output=80),
        CountedMessage(output=40),
        CountedMessage(read=700),
    ]


@register_case
def build_advisor_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """An advisor's answer comes from a separate request to another model, which is billed but not included in
    any sum: it counts as its own message.
    """
    s = Session("advisor")
    s.add_prompt()
    counts = build_usage(2, 1568, 219_031, 4107, 931) | build_iterations(
        build_iteration(1, 1171, 109_050, 931, 931),
        build_iteration(149_112, 14_153, kind="advisor_message", model=FABLE),
        build_iteration(1, 397, 109_981, 3176, 0),
    )
    for text in ("Let me ask.", "I was told.", "Done."):
        s.add_answer("1", counts, text=text)
    return build_session_file(s), [
        CountedMessage(input=2, output=1568, read=219_031, short=3176, long=931),
        CountedMessage(FABLE, 149_112, 14_153),
    ]


@register_case
def build_advisor_twice_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """A message asks its advisor twice, and a branch copies it: each of the advisor's answers counts once."""
    origin, fork = Session("advisor-twice"), Session("advisor-twice-branch", start=60)
    origin.add_prompt()
    counts = build_usage(3, 90, 3000) | build_iterations(
        build_iteration(1, 30, 1000),
        build_iteration(500, 40, kind="advisor_message", model=FABLE),
        build_iteration(1, 30, 1000),
        build_iteration(600, 50, 500, kind="advisor_message", model=FABLE),
        build_iteration(1, 30, 1000),
    )
    origin.add_answer("1", counts)
    fork.lines = [
        {**line, "sessionId": fork.id, "forkedFrom": {"sessionId": origin.id, "messageUuid": line["uuid"]}}
        for line in origin.lines
    ]
    counted = [
        CountedMessage(input=3, output=90, read=3000, session=origin.name),
        CountedMessage(FABLE, 500, 40, session=origin.name),
        CountedMessage(FABLE, 600, 50, 500, session=origin.name),
    ]
    return build_session_file(origin) | build_session_file(fork), counted


@register_case
def build_several_requests_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """A message took several requests: each has the price tier of its own prompt and its own share of the cache
    writes.
    """
    s = Session("several-requests", "2.0.76")
    s.add_prompt()
    counts = build_usage(2, 30, 250_000, 600) | build_iterations(
        build_iteration(1, 10, 120_000, 100, 0), build_iteration(1, 20, 130_000, 500, 500)
    )
    counts["cache_creation"] = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0}
    s.add_answer("1", counts, model=SONNET)
    counts = build_usage(2, 30, 350_000) | build_iterations(
        build_iteration(1, 10, 100_000), build_iteration(1, 20, 250_000)
    )
    s.add_answer("2", counts, model=SONNET)
    return build_session_file(s), [
        CountedMessage(SONNET, 2, 30, 250_000, 100, 500),
        CountedMessage(SONNET, 1, 10, 100_000),
        CountedMessage(SONNET, 1, 20, 250_000, prices=LONG_CONTEXT, is_further=True),
    ]


@register_case
def build_compaction_on_the_server_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """The API shortened the conversation before it answered: that request is billed but not included in any sum."""
    s = Session("compaction-on-the-server")
    s.add_prompt()
    counts = build_usage(40, 80) | build_iterations(
        build_iteration(180_000, 3500, kind="compaction"), build_iteration(40, 80)
    )
    s.add_answer("1", counts)
    return build_session_file(s), [CountedMessage(input=40, output=80), CountedMessage(input=180_000, output=3500)]


@register_case
def build_fallback_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """One model stopped, and another answered in its place: the output of the first is billed separately, but an
    attempt without any output is free.
    """
    s = Session("fallback")
    s.add_prompt()
    served = build_iteration(2, 13_658, 79_214, kind="fallback_message", model="claude-opus-5")
    declined = build_iteration(2, 578, 72_769, 10_421, 0, kind="message", model=FABLE)
    s.add_answer("1", build_usage(2, 13_658, 79_214) | build_iterations(declined, served))
    refused = build_iteration(2, 0, 72_769, kind="message", model=FABLE)
    s.add_answer("2", build_usage(2, 13_658, 79_214) | build_iterations(refused, served))
    return build_session_file(s), [
        CountedMessage(input=2, output=13_658, read=79_214),
        CountedMessage(FABLE, 2, 578, 72_769, 10_421),
        CountedMessage(input=2, output=13_658, read=79_214),
    ]


@register_case
def build_odd_iterations_case() -> tuple[dict[str, bytes], list[CountedMessage]]:
    """Lists of requests are empty, null, malformed or contain a single request: the sums stay the same."""
    s = Session("odd-iterations")
    s.add_prompt()
    lists: list[Any] = [[], None, [build_iteration(5, 80)], "none", [None, 3, {"type": "message"}], {}]
    for number, listed in enumerate(lists):
        s.add_answer(str(number), build_usage(5, 80, iterations=listed))
    s.add_answer("more", build_usage(5, 80) | build_iterations(build_iteration(50, 800), build_iteration(50, 800)))
    return build_session_file(s), [CountedMessage(input=5, output=80) for _ in range(7)]


def format_expected(result: dict[str, Any]) -> str:
    """Format the expected result as a file."""
    return json.dumps(result, indent=1) + "\n"
