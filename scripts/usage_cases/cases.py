"""The cases: each a small config folder, why it is hard, and the messages that count."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from usage_cases.expecting import LONG_CONTEXT, Counted, totals
from usage_cases.writing import PROJECT, Session, dump, iteration, iterations, session_id, usage

FABLE = "claude-fable-5"
HAIKU, SONNET, OPUS_45 = "claude-haiku-4-5-20251001", "claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101"


class Case(NamedTuple):
    """One case."""

    name: str
    why: str
    files: dict[str, bytes]
    counted: list[Counted]

    @property
    def expected(self) -> dict[str, Any]:
        """What a right count gives."""
        found: dict[str, Any] = {"case": self.name, "why": self.why, "total": totals(self.counted)}
        if payers := {item.session for item in self.counted if item.session}:
            found["sessions"] = {
                session_id(name): totals(item for item in self.counted if item.session == name)
                for name in sorted(payers)
            }
        for zone in sorted({zone for item in self.counted for zone in item.days}):
            days = sorted({item.days[zone] for item in self.counted})
            found.setdefault("days", {})[zone] = {
                day: totals(item for item in self.counted if item.days[zone] == day) for day in days
            }
        return found


CASES: list[Callable[[], Case]] = []


def case(make: Callable[[], tuple[dict[str, bytes], list[Counted]]]) -> Callable[[], Case]:
    """Take a function for a case: its name is the case's, its docstring says why it is hard."""

    def made() -> Case:
        return Case(make.__name__.replace("_", "-"), " ".join((make.__doc__ or "").split()), *make())

    CASES.append(made)
    return made


def all_cases() -> Iterator[Case]:
    """Every case."""
    return (make() for make in CASES)


def main(session: Session, **options: Any) -> dict[str, bytes]:
    """The file of a session."""
    return {f"{PROJECT}/{session.id}.jsonl": dump(session.lines, **options)}


@case
def growth() -> tuple[dict[str, bytes], list[Counted]]:
    """The lines of one message state more and more output; only the last line has the true number."""
    s = Session("growth", "2.0.76")
    s.prompt()
    s.answer("1", usage(12, 1, 3000, 500), stop=None, model=OPUS_45)
    s.answer("1", usage(12, 1, 3000, 500), stop=None, model=OPUS_45)
    s.answer("1", usage(12, 412, 3000, 500), stop="end_turn", model=OPUS_45)
    return main(s), [Counted(OPUS_45, 12, 412, 3000, 500)]


@case
def growth_downwards() -> tuple[dict[str, bytes], list[Counted]]:
    """A later line states less output than an earlier one: the largest value counts, not the last."""
    s = Session("growth-downwards", "2.0.76")
    s.prompt()
    s.answer("1", usage(4, 300), stop="tool_use", model=OPUS_45)
    s.answer("1", usage(4, 7), stop=None, model=OPUS_45)
    return main(s), [Counted(OPUS_45, 4, 300)]


@case
def repeats() -> tuple[dict[str, bytes], list[Counted]]:
    """Every line of a message repeats its whole usage; it counts once."""
    s = Session("repeats")
    s.prompt()
    for text in ("One.", "Two.", "Three."):
        s.answer("1", usage(5, 80, 1000, 200, 200), text=text)
    s.prompt()
    s.answer("2", usage(6, 20, 1200, 0, 0))
    return main(s), [Counted(input=5, output=80, read=1000, long=200), Counted(input=6, output=20, read=1200)]


@case
def missing_request_id() -> tuple[dict[str, bytes], list[Counted]]:
    """Lines have no requestId (other endpoints, redacted archives): the message id alone tells repeats."""
    s = Session("missing-request-id")
    s.prompt()
    s.answer("1", usage(5, 80), request=None)
    s.answer("1", usage(5, 80), request=None)
    s.answer("2", usage(7, 30), request=None)
    return main(s), [Counted(input=5, output=80), Counted(input=7, output=30)]


@case
def several_request_ids() -> tuple[dict[str, bytes], list[Counted]]:
    """The lines of one message bear different requestIds: it is still one message."""
    s = Session("several-request-ids")
    s.prompt()
    s.answer("1", usage(5, 80), request="a")
    s.answer("1", usage(5, 80), request="b")
    return main(s), [Counted(input=5, output=80)]


@case
def missing_message_id() -> tuple[dict[str, bytes], list[Counted]]:
    """Lines have no message.id: each is a message of its own by its uuid, and its copy in another file is not."""
    s = Session("missing-message-id")
    s.prompt()
    s.answer(None, usage(5, 80), request=None)
    s.answer(None, usage(7, 30), request=None)
    copy = Session("missing-message-id-copy")
    copy.lines = [{**line, "sessionId": copy.id} for line in s.lines]
    return main(s) | main(copy), [Counted(input=5, output=80), Counted(input=7, output=30)]


@case
def forked_copies() -> tuple[dict[str, bytes], list[Counted]]:
    """A branch copied the lines of a session, ids and times and all, and went on: the original pays for the copies."""
    origin, fork = Session("forked-copies-origin"), Session("forked-copies-branch-3", start=60)
    assert fork.id < origin.id  # in the order of names the copy comes first
    origin.prompt()
    origin.answer("1", usage(5, 80, 1000, 100, 100))
    fork.lines = [
        {**line, "sessionId": fork.id, "forkedFrom": {"sessionId": origin.id, "messageUuid": line["uuid"]}}
        for line in origin.lines
    ]
    fork.prompt()
    fork.answer("2", usage(6, 40, 1100, 0, 0))
    counted = [
        Counted(input=5, output=80, read=1000, long=100, session=origin.name),
        Counted(input=6, output=40, read=1100, session=fork.name),
    ]
    return main(origin) | main(fork), counted


@case
def resumed_copies() -> tuple[dict[str, bytes], list[Counted]]:
    """A resumed session wrote old messages again into its new file, later and with new uuids: the first file pays."""
    old, new = Session("resumed-copies-old", "1.0.128"), Session("resumed-copies-new", "1.0.128", start=300)
    old.prompt()
    old.answer("1", usage(5, 80, 1000, 100), model=OPUS_45)
    new.copy(old.lines[-1])
    new.prompt()
    new.answer("2", usage(6, 40, 1100), model=OPUS_45)
    counted = [
        Counted(OPUS_45, 5, 80, 1000, 100, session=old.name),
        Counted(OPUS_45, 6, 40, 1100, session=new.name),
    ]
    return main(old) | main(new), counted


@case
def copies_that_differ() -> tuple[dict[str, bytes], list[Counted]]:
    """Of a message one file has the beginning, a later one the end: the first pays, with the largest numbers."""
    old, new = Session("copies-that-differ-old", "2.0.76"), Session("copies-that-differ-new", "2.0.76", start=300)
    old.prompt()
    old.answer("1", usage(5, 1, 1000), model=OPUS_45, stop=None)
    new.copy(old.lines[-1])["message"] |= {"usage": usage(5, 250, 1000), "stop_reason": "end_turn"}
    return main(old) | main(new), [Counted(OPUS_45, 5, 250, 1000, session=old.name)]


@case
def sub_agents_in_a_folder() -> tuple[dict[str, bytes], list[Counted]]:
    """Sub-agents have files of their own in <session>/subagents, one of them two folders deeper."""
    s = Session("sub-agents-in-a-folder")
    s.prompt()
    s.answer("1", usage(5, 80), stop="tool_use")
    one = Session(s.name, agent="a1b2c3d4e5f60718")
    one.prompt()
    one.answer("agent-1", usage(9, 33, 700), model=HAIKU)
    two = Session(s.name, agent="b1b2c3d4e5f60718")
    two.prompt()
    two.answer("agent-2", usage(8, 22, 600), model=HAIKU)
    folder = f"{PROJECT}/{s.id}/subagents"
    files = {
        f"{folder}/agent-{one.agent}.jsonl": dump(one.lines),
        f"{folder}/workflows/wf_1/agent-{two.agent}.jsonl": dump(two.lines),
    }
    return main(s) | files, [
        Counted(input=5, output=80, session=s.name),
        Counted(HAIKU, 9, 33, 700, session=s.name),
        Counted(HAIKU, 8, 22, 600, session=s.name),
    ]


@case
def sub_agents_beside() -> tuple[dict[str, bytes], list[Counted]]:
    """Sub-agents of 2.0 have files beside the session's, agent-<id>.jsonl; their lines name the session."""
    s = Session("sub-agents-beside", "2.0.76")
    s.prompt()
    s.answer("1", usage(5, 80), stop="tool_use", model=OPUS_45)
    agent = Session(s.name, "2.0.76", agent="a1b2c3d")
    agent.prompt()
    agent.answer("agent", usage(9, 33, 700), model=HAIKU)
    files = {f"{PROJECT}/agent-{agent.agent}.jsonl": dump(agent.lines)}
    return main(s) | files, [
        Counted(OPUS_45, 5, 80, session=s.name),
        Counted(HAIKU, 9, 33, 700, session=s.name),
    ]


@case
def sub_agents_inside() -> tuple[dict[str, bytes], list[Counted]]:
    """Sub-agents of 1.0 stand inside the session's file, as side chains."""
    s = Session("sub-agents-inside", "1.0.128")
    s.prompt()
    s.answer("1", usage(5, 80), stop="tool_use", model=OPUS_45)
    s.answer("agent", usage(9, 33, 700), model=HAIKU, isSidechain=True)
    return main(s), [Counted(OPUS_45, 5, 80), Counted(HAIKU, 9, 33, 700)]


def _echoed(name: str) -> tuple[Session, Session]:
    s, agent = Session(name, "2.1.29"), Session(name, "2.1.29", agent="a1b2c3d")
    s.prompt()
    agent.wait(1).prompt()
    s.echo(agent.answer("agent", usage(9, 1, 700), stop=None, model=HAIKU))
    return s, agent


@case
def echoes_with_the_file() -> tuple[dict[str, bytes], list[Counted]]:
    """Progress entries repeat what a sub-agent said, and its own file is there: it counts once."""
    s, agent = _echoed("echoes-with-the-file")
    files = {f"{PROJECT}/{s.id}/subagents/agent-{agent.agent}.jsonl": dump(agent.lines)}
    return main(s) | files, [Counted(HAIKU, 9, 1, 700, quality="placeholder", session=s.name)]


@case
def echoes_without_the_file() -> tuple[dict[str, bytes], list[Counted]]:
    """Progress entries are all that is left of a sub-agent whose file is gone: they count."""
    s, _ = _echoed("echoes-without-the-file")
    return main(s), [Counted(HAIKU, 9, 1, 700, quality="placeholder", session=s.name)]


@case
def one_hour_cache() -> tuple[dict[str, bytes], list[Counted]]:
    """Tokens written to the cache for an hour cost more than those for five minutes."""
    s = Session("one-hour-cache")
    s.prompt()
    s.answer("1", usage(5, 80, 0, 10_000, 10_000))
    s.answer("2", usage(5, 80, 0, 10_000, 4_000))
    s.answer("3", usage(5, 80, 0, 10_000))
    return main(s), [
        Counted(input=5, output=80, long=10_000),
        Counted(input=5, output=80, short=6_000, long=4_000),
        Counted(input=5, output=80, short=10_000),
    ]


@case
def synthetic() -> tuple[dict[str, bytes], list[Counted]]:
    """The client writes answers itself (model <synthetic>), with a usage of nothing: no model was asked for them."""
    s = Session("synthetic")
    s.prompt()
    s.answer("1", usage(5, 80))
    s.answer("2", usage(0, 0), model="<synthetic>", stop="stop_sequence", request=None)
    return main(s), [Counted(input=5, output=80)]


@case
def long_context() -> tuple[dict[str, bytes], list[Counted]]:
    """A prompt above 200,000 tokens has other prices for the whole request; one of exactly 200,000 has not."""
    s = Session("long-context", "2.0.76")
    s.prompt()
    s.answer("1", usage(1, 100, 200_000), model=SONNET)
    s.answer("2", usage(0, 100, 190_000, 10_000), model=SONNET)
    return main(s), [
        Counted(SONNET, 1, 100, 200_000, prices=LONG_CONTEXT),
        Counted(SONNET, 0, 100, 190_000, 10_000),
    ]


@case
def dated_prices() -> tuple[dict[str, bytes], list[Counted]]:
    """A long-context tier was given up on 2026-03-13: the price depends on the day of the request."""
    s = Session("dated-prices", start=-400_000)
    s.prompt()
    s.answer("1", usage(1, 100, 250_000), model="claude-sonnet-4-6")
    s.wait(300_000)
    s.answer("2", usage(1, 100, 250_000), model="claude-sonnet-4-6")
    return main(s), [
        Counted("claude-sonnet-4-6", 1, 100, 250_000, prices=LONG_CONTEXT),
        Counted("claude-sonnet-4-6", 1, 100, 250_000),
    ]


@case
def web_search() -> tuple[dict[str, bytes], list[Counted]]:
    """Searches that the API itself makes cost a fee each, beside the tokens."""
    s = Session("web-search")
    s.prompt()
    s.answer("1", usage(5, 80, server_tool_use={"web_search_requests": 3, "web_fetch_requests": 1}))
    return main(s), [Counted(input=5, output=80, searches=3)]


@case
def unknown_model() -> tuple[dict[str, bytes], list[Counted]]:
    """A model that no price list has: its tokens are unpriced, not free, and no other model's price is taken."""
    s = Session("unknown-model")
    s.prompt()
    s.answer("1", usage(5, 80))
    s.answer("2", usage(11, 22, 33, 44), model="claude-opus-5000")
    return main(s), [Counted(input=5, output=80), Counted("claude-opus-5000", 11, 22, 33, 44)]


@case
def torn_tail() -> tuple[dict[str, bytes], list[Counted]]:
    """The last line is cut off behind its usage: a writer was stopped, or is still at work."""
    s = Session("torn-tail")
    s.prompt()
    s.answer("1", usage(5, 80))
    s.answer("2", usage(6, 40))
    path, data = next(iter(main(s).items()))
    return {path: data[:-40]}, [Counted(input=5, output=80)]


@case
def broken_lines() -> tuple[dict[str, bytes], list[Counted]]:
    """Lines that are no JSON, NUL bytes, a byte order mark and an empty line stand between good ones."""
    s = Session("broken-lines")
    s.prompt()
    s.answer("1", usage(5, 80))
    s.answer("2", usage(6, 40))
    lines = dump(s.lines).splitlines(keepends=True)
    data = b"\xef\xbb\xbf" + lines[0] + b"\n" + lines[1] + b'{"type":"assistant","mess\n\0\0\0\0\n' + lines[2]
    return {f"{PROJECT}/{s.id}.jsonl": data}, [Counted(input=5, output=80), Counted(input=6, output=40)]


@case
def placeholders() -> tuple[dict[str, bytes], list[Counted]]:
    """2.1.8 to 2.1.62 wrote the number that the stream began with on every line: it counts, and is no final count."""
    s = Session("placeholders", "2.1.29")
    s.prompt()
    s.answer("1", usage(5, 1, 1000), stop=None, model=OPUS_45, text="A long answer. " * 20)
    s.answer("1", usage(5, 1, 1000), stop=None, model=OPUS_45, text="And more. " * 20)
    return main(s), [Counted(OPUS_45, 5, 1, 1000, quality="placeholder")]


@case
def partial_counts() -> tuple[dict[str, bytes], list[Counted]]:
    """Numbers from the middle of a stream: growth without a stop reason in 2.1.45, an answer that was broken off."""
    s = Session("partial-counts", "2.1.45")
    s.prompt()
    s.answer("1", usage(5, 1, 1000), stop=None, model=OPUS_45)
    s.answer("1", usage(5, 60, 1000), stop=None, model=OPUS_45)
    s.version = "2.1.325"
    s.answer("2", usage(6, 4, 1100), stop=None)
    return main(s), [
        Counted(OPUS_45, 5, 60, 1000, quality="partial"),
        Counted(input=6, output=4, read=1100, quality="partial"),
    ]


@case
def missing_usage() -> tuple[dict[str, bytes], list[Counted]]:
    """A message whose lines have no usage at all is a message, of which nothing is known."""
    s = Session("missing-usage")
    s.prompt()
    s.answer("1", usage(5, 80))
    s.answer("2", None)
    return main(s), [Counted(input=5, output=80), Counted(quality="missing")]


@case
def spaces() -> tuple[dict[str, bytes], list[Counted]]:
    """Somebody has written the JSON anew, with spaces behind colons and commas."""
    s = Session("spaces")
    s.prompt()
    s.answer("1", usage(5, 80, 1000, 200, 200))
    return main(s, separators=(", ", ": ")), [Counted(input=5, output=80, read=1000, long=200)]


@case
def several_models() -> tuple[dict[str, bytes], list[Counted]]:
    """A session changes its model; each message has the price of its own."""
    s = Session("several-models")
    s.prompt()
    s.answer("1", usage(5, 80))
    s.answer("2", usage(6, 70), model=HAIKU)
    s.answer("3", usage(7, 60), model=SONNET)
    return main(s), [Counted(input=5, output=80), Counted(HAIKU, 6, 70), Counted(SONNET, 7, 60)]


@case
def days() -> tuple[dict[str, bytes], list[Counted]]:
    """A message counts on the day on which it ended, and days begin where somebody lives."""
    s = Session("days", start=14 * 60 + 57)
    s.prompt()  # 23:58
    s.answer("1", usage(5, 1), stop=None, model=OPUS_45)
    s.answer("1", usage(5, 80), model=OPUS_45)  # 00:00 on 2026-11-03, UTC
    s.wait(18 * 60 + 25)
    s.answer("2", usage(6, 40), model=OPUS_45)  # 18:26, four minutes before midnight in Kolkata
    s.wait(7)
    s.answer("3", usage(7, 30), model=OPUS_45)  # 18:34
    zones = ("UTC", "America/New_York", "Asia/Kolkata")
    ended = (
        ("2026-11-03", "2026-11-02", "2026-11-03"),
        ("2026-11-03", "2026-11-03", "2026-11-03"),
        ("2026-11-03", "2026-11-03", "2026-11-04"),
    )
    numbers = ((5, 80), (6, 40), (7, 30))
    return main(s), [
        Counted(OPUS_45, given, output, days=dict(zip(zones, day, strict=True)))
        for (given, output), day in zip(numbers, ended, strict=True)
    ]


@case
def terms() -> tuple[dict[str, bytes], list[Counted]]:
    """Fast mode costs twice as much, a batch half, inference in the US alone a tenth more; priority the list price."""
    s = Session("terms")
    s.prompt()
    s.answer("1", usage(5, 80, 1000, speed="fast"))
    s.answer("2", usage(5, 80, 1000, service_tier="batch"))
    s.answer("3", usage(5, 80, 1000, inference_geo="us"))
    s.answer("4", usage(5, 80, 1000, service_tier="priority", speed="standard", inference_geo="not_available"))
    return main(s), [Counted(input=5, output=80, read=1000, factor=factor) for factor in ("2", "1/2", "11/10", "1")]


@case
def wrong_types() -> tuple[dict[str, bytes], list[Counted]]:
    """Numbers where a program wrote words, nulls, fractions or nonsense: what can't be a count is none."""
    s = Session("wrong-types")
    s.prompt()
    s.answer("1", {"input_tokens": 5, "output_tokens": 80, "cache_read_input_tokens": None})
    s.answer("2", {"input_tokens": "many", "output_tokens": 40, "cache_creation": [], "server_tool_use": 3})
    s.answer("3", {"input_tokens": 2.5, "output_tokens": -5, "cache_read_input_tokens": 700})
    return main(s), [Counted(input=5, output=80), Counted(output=40), Counted(read=700)]


@case
def advisor() -> tuple[dict[str, bytes], list[Counted]]:
    """An advisor's answer is a request of another model, billed and in no sum: it counts as a message of its own."""
    s = Session("advisor")
    s.prompt()
    counts = usage(2, 1568, 219_031, 4107, 931) | iterations(
        iteration(1, 1171, 109_050, 931, 931),
        iteration(149_112, 14_153, kind="advisor_message", model=FABLE),
        iteration(1, 397, 109_981, 3176, 0),
    )
    for text in ("Let me ask.", "I was told.", "Done."):
        s.answer("1", counts, text=text)
    return main(s), [Counted(input=2, output=1568, read=219_031, short=3176, long=931), Counted(FABLE, 149_112, 14_153)]


@case
def advisor_twice() -> tuple[dict[str, bytes], list[Counted]]:
    """A message asks its advisor twice and a branch copies it: each answer of the advisor counts once."""
    origin, fork = Session("advisor-twice"), Session("advisor-twice-branch", start=60)
    origin.prompt()
    counts = usage(3, 90, 3000) | iterations(
        iteration(1, 30, 1000),
        iteration(500, 40, kind="advisor_message", model=FABLE),
        iteration(1, 30, 1000),
        iteration(600, 50, 500, kind="advisor_message", model=FABLE),
        iteration(1, 30, 1000),
    )
    origin.answer("1", counts)
    fork.lines = [
        {**line, "sessionId": fork.id, "forkedFrom": {"sessionId": origin.id, "messageUuid": line["uuid"]}}
        for line in origin.lines
    ]
    counted = [
        Counted(input=3, output=90, read=3000, session=origin.name),
        Counted(FABLE, 500, 40, session=origin.name),
        Counted(FABLE, 600, 50, 500, session=origin.name),
    ]
    return main(origin) | main(fork), counted


@case
def several_requests() -> tuple[dict[str, bytes], list[Counted]]:
    """A message took several requests: each has the tier of its own prompt, and its own share of the cache writes."""
    s = Session("several-requests", "2.0.76")
    s.prompt()
    counts = usage(2, 30, 250_000, 600) | iterations(
        iteration(1, 10, 120_000, 100, 0), iteration(1, 20, 130_000, 500, 500)
    )
    counts["cache_creation"] = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0}
    s.answer("1", counts, model=SONNET)
    counts = usage(2, 30, 350_000) | iterations(iteration(1, 10, 100_000), iteration(1, 20, 250_000))
    s.answer("2", counts, model=SONNET)
    return main(s), [
        Counted(SONNET, 2, 30, 250_000, 100, 500),
        Counted(SONNET, 1, 10, 100_000),
        Counted(SONNET, 1, 20, 250_000, prices=LONG_CONTEXT, is_further=True),
    ]


@case
def compaction_on_the_server() -> tuple[dict[str, bytes], list[Counted]]:
    """The API shortened the conversation before it answered: that request is billed and in no sum."""
    s = Session("compaction-on-the-server")
    s.prompt()
    counts = usage(40, 80) | iterations(iteration(180_000, 3500, kind="compaction"), iteration(40, 80))
    s.answer("1", counts)
    return main(s), [Counted(input=40, output=80), Counted(input=180_000, output=3500)]


@case
def fallback() -> tuple[dict[str, bytes], list[Counted]]:
    """One model stopped and another answered in its place: what the first one said is billed as its own, but an
    attempt without any output is free."""
    s = Session("fallback")
    s.prompt()
    served = iteration(2, 13_658, 79_214, kind="fallback_message", model="claude-opus-5")
    declined = iteration(2, 578, 72_769, 10_421, 0, kind="message", model=FABLE)
    s.answer("1", usage(2, 13_658, 79_214) | iterations(declined, served))
    refused = iteration(2, 0, 72_769, kind="message", model=FABLE)
    s.answer("2", usage(2, 13_658, 79_214) | iterations(refused, served))
    return main(s), [
        Counted(input=2, output=13_658, read=79_214),
        Counted(FABLE, 2, 578, 72_769, 10_421),
        Counted(input=2, output=13_658, read=79_214),
    ]


@case
def odd_iterations() -> tuple[dict[str, bytes], list[Counted]]:
    """Lists of requests that are empty, null, of one request, or of the wrong shape: the sums stay what they are."""
    s = Session("odd-iterations")
    s.prompt()
    lists: list[Any] = [[], None, [iteration(5, 80)], "none", [None, 3, {"type": "message"}], {}]
    for number, listed in enumerate(lists):
        s.answer(str(number), usage(5, 80, iterations=listed))
    s.answer("more", usage(5, 80) | iterations(iteration(50, 800), iteration(50, 800)))
    return main(s), [Counted(input=5, output=80) for _ in range(7)]


def written(expected: dict[str, Any]) -> str:
    """What is expected, as a file."""
    return json.dumps(expected, indent=1) + "\n"
