"""The loop: ask, carry out, tell, until the model comes to rest; and all of it is on disk."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.agent.waits import HANG
from turnlog.agent.call_runner import CALL_REFUSED_INSTEAD_TEXT, CALL_REFUSED_STOP_TEXT
from turnlog.agent.conversation import AgentConversation, build_reminder
from turnlog.agent.events import (
    AnswerStreamed,
    CallDenied,
    CallEnded,
    ConversationCompacted,
    EntryWritten,
    TurnEnded,
    TurnEvent,
    WarningIssued,
)
from turnlog.agent.loop import AgentLoop
from turnlog.agent.permissions.decision import CallGuard, Decision, Verdict
from turnlog.agent.person import Nobody, PermissionAnswer, Person
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.settings import PermissionMode
from turnlog.agent.setup import AgentSetup, TurnLimits
from turnlog.agent.spending_tally import count_priced_tokens
from turnlog.agent.tools.call_result import CallResult, Object, ToolError, Workspace
from turnlog.agent.tools.task import AgentType
from turnlog.agent.tools.tool import CallContext, Question, Tool
from turnlog.model.answer import ModelAnswer
from turnlog.model.cancel import Cancel
from turnlog.model.failures import KeyRejected, ModelError, RateLimited, RequestRejected, ServerBusy, ServerUnreachable
from turnlog.model.scripted_model import DelayedStep, ScriptedModel, ScriptStep
from turnlog.session.session import Session
from turnlog.session.usage.prices import compute_cost

USAGE = {"input_tokens": 10, "output_tokens": 5}


class Does:
    """A tool that does what it is told to."""

    description = "Does something."

    def __init__(self, name: str, act: Callable[[Object, CallContext], CallResult], *, safe: bool = True) -> None:
        self.schema: Object = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}
        self.name = name
        self._act = act
        self._safe = safe

    def is_safe(self, given: Object) -> bool:
        return self._safe

    def run(self, given: Object, scene: CallContext) -> CallResult:
        return self._act(given, scene)


class Rule:
    """A guard that always says the same."""

    mode: PermissionMode = "default"

    def __init__(self, verdict: Verdict = "allow") -> None:
        self._verdict = verdict
        self.kept: list[tuple[str, ...]] = []

    def decide(self, name: str, given: Mapping[str, Any], place: Workspace) -> Decision:
        return Decision(self._verdict, f"{name} needs leave", (f"{name}(x)",))

    def decide_with_rules(
        self, name: str, given: Mapping[str, Any], place: Workspace, rules: Sequence[str]
    ) -> Decision:
        return self.decide(name, given, place)

    def allow_until_turn_end(self, rules: Sequence[str], place: Workspace) -> None:
        self.kept.append(tuple(rules))

    def forget_turn_rules(self, place: Workspace) -> None:
        """No rules are kept for a turn."""

    def find_change_refusal(self, path: Path, place: Workspace) -> str | None:
        return None

    def remember(self, rules: tuple[str, ...], place: Workspace) -> str:
        self.kept.append(rules)
        return "settings.local.json"

    def allow_until_exit(self, rules: Sequence[str], place: Workspace) -> None:
        self.kept.append(tuple(rules))

    def list_rules(self) -> list[str]:
        return []

    def is_hidden(self, name: str) -> bool:
        return name == "Hidden"

    def build_unreadable_check(self, place: Workspace) -> Callable[[Path], bool]:
        return lambda path: path.name == "secret"


class Says(Nobody):
    """A person who says the same to everything."""

    def __init__(self, leave: PermissionAnswer) -> None:
        self._leave = leave

    def permit(self, name: str, given: Mapping[str, Any], decision: Decision, agent: str | None) -> PermissionAnswer:
        return self._leave


def use(call: str, name: str = "Echo", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def build_call_answer(*blocks: dict[str, Any], number: int = 1) -> ModelAnswer:
    return ModelAnswer(blocks, "tool_use", USAGE, f"msg_{number}", "claude-opus-5")


def build_text_answer(text: str, number: int = 2, **usage: int) -> ModelAnswer:
    return ModelAnswer(
        ({"type": "text", "text": text},), "end_turn", {**USAGE, **usage}, f"msg_{number}", "claude-opus-5"
    )


class Desk:
    """A loop with a scripted model and all that it tells."""

    def __init__(self, folder: Path, *script: ScriptStep, tools: tuple[Tool, ...] = (), **changes: Any) -> None:
        self.model = ScriptedModel(script)
        self.events: list[TurnEvent] = []
        self.guard: Rule = changes.pop("guard", Rule())
        guard: CallGuard = self.guard  # so that a guard without all methods is found by the type checker
        person: Person = changes.pop("person", Nobody())
        echo = Does("Echo", lambda given, scene: CallResult(f"echo {given.get('x')}", {"out": 1}))
        offered = {tool.name: tool for tool in (echo, *tools)}
        place = Workspace(folder, folder)
        system = [{"type": "text", "text": "Be good."}]
        setup = AgentSetup(
            self.model,
            "claude-opus-5",
            "claude-haiku-4-5",
            system,
            [build_reminder("memory")],
            offered,
            guard,
            place,
            {},
        )
        for name, value in changes.items():
            setattr(setup, name, value)
        self.record = SessionRecord.create_session(folder / "claude", folder)
        self.loop = AgentLoop(setup, self.record, AgentConversation(preface=setup.preface), self.events.append, person)

    def say(self, text: str = "go", cancel: Cancel | None = None) -> TurnEnded:
        return self.loop.run_turn(text, cancel or Cancel())

    def list_events(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.record.path.read_bytes().splitlines()]

    def results(self) -> list[Any]:
        """What the model was told of its calls, in its last request."""
        blocks = [block for message in self.model.requests[-1].messages for block in message["content"]]
        return [block for block in blocks if block["type"] == "tool_result"]


def test_an_answer_without_calls_ends_the_turn(tmp_path: Path) -> None:
    desk = Desk(tmp_path, build_text_answer("Hello."))
    ended = desk.say("hi")
    assert (ended.reason, ended.text) == ("finished", "Hello.")
    sent = desk.model.requests[0]
    assert [block["text"] for block in sent.messages[0]["content"]] == [build_reminder("memory")["text"], "hi"]
    with Session.open(desk.record.path) as session:
        assert [turn.text for turn in session.turns] == ["hi"]
        assert session.turns[0].outcome == "finished"


def test_calls_are_carried_out_and_their_results_told_in_order(tmp_path: Path) -> None:
    desk = Desk(tmp_path, build_call_answer(use("c1", x="1"), use("c2", x="2")), build_text_answer("Done."))
    assert desk.say().text == "Done."
    assert [(block["tool_use_id"], block["content"]) for block in desk.results()] == [
        ("c1", "echo 1"),
        ("c2", "echo 2"),
    ]
    roles = [message["role"] for message in desk.model.requests[1].messages]
    assert roles == ["user", "assistant", "user"]
    with Session.open(desk.record.path) as session:
        assert [(call.id, call.is_error) for call in session.calls] == [("c1", False), ("c2", False)]


def test_calls_that_change_nothing_run_side_by_side_and_others_alone(tmp_path: Path) -> None:
    met = threading.Barrier(2, timeout=HANG)
    order: list[str] = []

    def meet(given: Object, scene: CallContext) -> CallResult:
        met.wait()
        return CallResult("met")

    def note(given: Object, scene: CallContext) -> CallResult:
        order.append(scene.call)
        return CallResult("noted")

    tools = (Does("Meet", meet), Does("Note", note, safe=False))
    calls = build_call_answer(use("a", "Meet"), use("b", "Meet"), use("c", "Note"), use("d", "Note"))
    desk = Desk(tmp_path, calls, build_text_answer("ok"), tools=tools)
    desk.say()
    assert [block["content"] for block in desk.results()] == ["met", "met", "noted", "noted"]
    assert order == ["c", "d"]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (use("c", "Nothing"), "<tool_use_error>Error: No such tool available: Nothing</tool_use_error>"),
        (use("c", "Hidden"), "<tool_use_error>Error: No such tool available: Hidden</tool_use_error>"),
        (use("c", "Fails"), "it is broken"),
        (use("c", "Breaks"), "Breaks failed: ValueError: oh"),
    ],
)
def test_what_goes_wrong_in_a_call_is_told_to_the_model(tmp_path: Path, call: dict[str, Any], told: str) -> None:
    def fail(given: Object, scene: CallContext) -> CallResult:
        raise ToolError("it is broken")

    def breaks(given: Object, scene: CallContext) -> CallResult:
        raise ValueError("oh")

    tools = (Does("Fails", fail), Does("Breaks", breaks), Does("Hidden", breaks))
    desk = Desk(tmp_path, build_call_answer(call), build_text_answer("I see."), tools=tools)
    assert desk.say().text == "I see."
    (block,) = desk.results()
    assert (block["content"], block["is_error"]) == (told, True)


def test_input_that_does_not_fit_is_told_to_the_model(tmp_path: Path) -> None:
    desk = Desk(tmp_path, build_call_answer(use("c", x=7)), build_text_answer("I see."))
    desk.say()
    (block,) = desk.results()
    assert "InputValidationError" in block["content"]


def test_a_denied_call_is_told_and_the_turn_goes_on(tmp_path: Path) -> None:
    desk = Desk(tmp_path, build_call_answer(use("c")), build_text_answer("Then not."), guard=Rule("deny"))
    assert desk.say().reason == "finished"
    assert desk.results()[0]["content"] == "Echo needs leave"
    assert [call.name for call in desk.loop.calls.denials] == ["Echo"]
    assert len(desk.list_events(CallDenied)) == 1


def test_where_nobody_can_be_asked_a_call_is_denied(tmp_path: Path) -> None:
    desk = Desk(tmp_path, build_call_answer(use("c")), build_text_answer("Then not."), guard=Rule("ask"))
    desk.say()
    assert desk.results()[0]["content"] == "Echo needs leave"
    assert len(desk.loop.calls.denials) == 1


@pytest.mark.parametrize(
    ("leave", "kept"), [(PermissionAnswer("once"), []), (PermissionAnswer("always"), [("Echo(x)",)])], ids=str
)
def test_a_person_may_allow_once_or_always(
    tmp_path: Path, leave: PermissionAnswer, kept: list[tuple[str, ...]]
) -> None:
    desk = Desk(
        tmp_path, build_call_answer(use("c", x="1")), build_text_answer("ok"), guard=Rule("ask"), person=Says(leave)
    )
    desk.say()
    assert desk.results()[0]["content"] == "echo 1"
    assert desk.guard.kept == kept


def test_a_refusal_with_words_goes_on_and_one_without_ends_the_turn(tmp_path: Path) -> None:
    words = Desk(
        tmp_path / "w",
        build_call_answer(use("c")),
        build_text_answer("ok"),
        guard=Rule("ask"),
        person=Says(PermissionAnswer("no", "use tabs")),
    )
    assert words.say().reason == "finished"
    assert words.results()[0]["content"] == CALL_REFUSED_INSTEAD_TEXT + "use tabs"
    mute = Desk(
        tmp_path / "m",
        build_call_answer(use("c"), use("d")),
        build_text_answer("later"),
        guard=Rule("ask"),
        person=Says(PermissionAnswer("no")),
    )
    assert mute.say().reason == "interrupted"
    assert [line["message"]["content"][0]["content"] for line in mute.lines if "toolUseResult" in line] == [
        CALL_REFUSED_STOP_TEXT,
        CALL_REFUSED_STOP_TEXT,
    ]
    assert mute.say("go on").reason == "finished"
    last = mute.model.requests[-1].messages
    assert [block["type"] for block in last[-1]["content"]] == ["tool_result", "tool_result", "text", "text"]


def test_a_turn_that_is_stopped_while_the_model_speaks_keeps_what_was_said(tmp_path: Path) -> None:
    cancel = Cancel()
    desk = Desk(tmp_path, build_text_answer("a long answer that is stopped"), build_text_answer("again"))
    seen = desk.loop.tell

    def stop(event: TurnEvent) -> None:
        seen(event)
        if isinstance(event, AnswerStreamed) and len(desk.events) > 4:
            cancel.set()

    desk.loop.tell = stop
    assert desk.say(cancel=cancel).reason == "interrupted"
    with Session.open(desk.record.path) as session:
        assert session.turns[0].outcome == "interrupted"
    assert desk.say("go on").text == "again"


def test_a_call_that_is_stopped_has_a_result(tmp_path: Path) -> None:
    cancel = Cancel()

    def wait(given: Object, scene: CallContext) -> CallResult:
        cancel.set()
        scene.cancel.pause(60)
        return CallResult("never")

    desk = Desk(
        tmp_path,
        build_call_answer(use("c", "Wait"), use("d")),
        build_text_answer("ok"),
        tools=(Does("Wait", wait, safe=False),),
    )
    assert desk.say(cancel=cancel).reason == "interrupted"
    assert desk.say("go on").reason == "finished"
    assert {block["tool_use_id"] for block in desk.results()} == {"c", "d"}


def test_an_error_of_the_api_ends_the_turn_and_is_not_sent_again(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path, RequestRejected("no such model", status=400, kind="invalid_request_error"), build_text_answer("ok")
    )
    ended = desk.say("first")
    assert (ended.reason, ended.text) == ("error", "API Error: no such model")
    (line,) = (line for line in desk.lines if line.get("isApiErrorMessage"))
    assert (line["error"], line["apiErrorStatus"], line["apiErrorType"]) == ("unknown", 400, "invalid_request_error")
    assert desk.say("second").text == "ok"
    assert "API Error" not in json.dumps([*desk.model.requests[-1].messages])


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (RateLimited("no", status=429), "rate_limit"),
        (ServerBusy("no", status=529), "server_error"),
        (KeyRejected("no", status=401), "authentication_failed"),
        (ServerUnreachable("no"), "unknown"),
    ],
)
def test_a_failure_is_called_what_the_real_client_calls_it(tmp_path: Path, error: ModelError, name: str) -> None:
    desk = Desk(tmp_path, error)
    desk.say()
    assert [line["error"] for line in desk.lines if line.get("isApiErrorMessage")] == [name]


def test_limits_end_a_turn(tmp_path: Path) -> None:
    calls = [build_call_answer(use(f"c{n}"), number=n) for n in range(9)]
    desk = Desk(tmp_path / "t", *calls, limits=TurnLimits(turns=3))
    assert (desk.say().reason, len(desk.model.requests)) == ("max_turns", 3)
    poor = Desk(tmp_path / "d", *calls, limits=TurnLimits(dollars=0.00001))
    assert (poor.say().reason, len(poor.model.requests)) == ("budget", 1)


def test_an_answer_that_was_cut_by_its_limit_is_gone_on_with(tmp_path: Path) -> None:
    cut = ModelAnswer(({"type": "text", "text": "half"},), "max_tokens", USAGE, "msg_1", "claude-opus-5")
    desk = Desk(tmp_path, cut, build_text_answer(" and half"))
    assert desk.say().text == " and half"
    assert len(desk.model.requests) == 2


def test_the_beginning_of_a_request_is_the_same_bytes_in_every_request(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path,
        build_call_answer(use("c1")),
        build_text_answer("one"),
        build_call_answer(use("c2"), number=3),
        build_text_answer("two", 4),
    )
    desk.say("first")
    desk.say("second")
    bodies = [json.dumps(without_marks(request.build_body())) for request in desk.model.requests]
    for before, after in pairwise(bodies):
        # All but the brackets that close the list of messages.
        assert after.startswith(before[: before.rindex("]}]}")])
    for request in desk.model.requests:
        assert json.dumps(request.build_body()).count("cache_control") <= 4


def without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key != "cache_control"}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


def test_thinking_is_kept_with_its_signature(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    desk = Desk(tmp_path, build_call_answer(thought, use("c")), build_text_answer("ok"))
    desk.say()
    assert desk.model.requests[1].messages[1]["content"][0] == thought


@pytest.mark.parametrize(("busy", "reason"), [(1, "finished"), (2, "finished"), (3, "error")])
def test_fallback_models_answer_one_after_another_while_the_server_is_overloaded(
    tmp_path: Path, busy: int, reason: str
) -> None:
    names = ["claude-haiku-5-5", "claude-sonnet-5"]
    desk = Desk(tmp_path, *[ServerBusy("overloaded")] * busy, *map(build_text_answer, ("one", "two")), fallbacks=names)
    assert desk.say().reason == reason
    asked = [request.model for request in desk.model.requests]
    assert asked == ["claude-opus-5", *names][: busy + 1]
    warnings = [event.text for event in desk.list_events(WarningIssued)]
    assert f"continuing this turn with {names[0]}" in warnings[0]
    desk.say()
    assert desk.model.requests[-1].model == "claude-opus-5"


def test_without_a_fallback_model_an_overloaded_server_ends_the_turn(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ServerBusy("overloaded"))
    assert desk.say().reason == "error"


def test_old_results_are_cleared_before_anything_is_summed_up(tmp_path: Path) -> None:
    big = Does("Big", lambda given, scene: CallResult("x" * 40_000))
    calls = [build_call_answer(use(f"c{n}", "Big"), number=n) for n in range(8)]
    full = ModelAnswer(
        calls[7].content, "tool_use", {"input_tokens": 190_000, "output_tokens": 5}, "m7", "claude-opus-5"
    )
    desk = Desk(tmp_path, *calls[:7], full, build_text_answer("ok", 9), tools=(big,), window=200_000)
    desk.say()
    assert [event.trigger for event in desk.list_events(ConversationCompacted)] == ["micro"]
    assert [len(block["content"]) < 100 for block in desk.results()] == [True] * 3 + [False] * 5


def test_a_picture_frees_what_it_is_worth_and_not_its_bytes(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x" * 400_000}}
    shows = Does("Shows", lambda given, scene: CallResult([image]))
    calls = [build_call_answer(use(f"c{n}", "Shows"), number=n) for n in range(8)]
    full = ModelAnswer(
        calls[7].content, "tool_use", {"input_tokens": 190_000, "output_tokens": 5}, "m7", "claude-opus-5"
    )
    summary = build_text_answer("<summary>Pictures.</summary>", 9)
    desk = Desk(tmp_path, *calls[:7], full, summary, build_text_answer("ok", 10), tools=(shows,), window=200_000)
    assert desk.say().text == "ok"
    assert [event.trigger for event in desk.list_events(ConversationCompacted)] == ["auto"]


def test_a_full_window_is_replaced_by_a_summary(tmp_path: Path) -> None:
    full = build_text_answer("so much", 1, input_tokens=190_000)
    summary = build_text_answer("<analysis>…</analysis><summary>We said much.</summary>", 2)
    desk = Desk(tmp_path, full, summary, build_text_answer("ok", 3), window=200_000)
    desk.say("first")
    assert desk.say("second").text == "ok"
    assert [event.trigger for event in desk.list_events(ConversationCompacted)] == ["auto"]
    asked = desk.model.requests[1]
    assert asked.system == desk.model.requests[0].system
    sent = json.dumps([*desk.model.requests[2].messages])
    assert "We said much." in sent
    assert "first" not in sent
    assert "second" in sent


def test_a_sub_agent_works_in_a_file_of_its_own_and_reports(tmp_path: Path) -> None:
    def task(given: Object, scene: CallContext) -> CallResult:
        return scene.desk.delegate(scene.call, given, scene.cancel, scene.progress)

    helper = AgentType("Explore", "looks", "You look around.", tools=("Echo",))
    tool = Does("Task", task)
    tool.schema = {"type": "object"}
    desk = Desk(
        tmp_path,
        build_call_answer(
            use("t", "Task", subagent_type="Explore", run_in_background=False, prompt="look", description="looking")
        ),
        build_call_answer(use("e", x="1"), number=5),
        build_text_answer("found it", 6),
        build_text_answer("thanks", 7),
        tools=(tool,),
        agents={"Explore": helper},
    )
    assert desk.say().text == "thanks"
    assert desk.results()[0]["content"][0]["text"] == "found it"
    inner = desk.model.requests[1]
    assert [tool["name"] for tool in inner.tools] == ["Echo"]
    with Session.open(desk.record.path) as session:
        (agent,) = session.agents
        assert (agent.type, agent.call_id) == ("Explore", "t")
        assert session.calls[0].agent_id == agent.agent_id
        assert [call.id for call in session.open_agent_session(agent).calls] == ["e"]
    assert desk.loop.spent.requests == 4


def test_progress_of_a_sub_agent_says_nothing_that_the_format_does_not_know(tmp_path: Path) -> None:
    def task(given: Object, scene: CallContext) -> CallResult:
        return scene.desk.delegate(scene.call, given, scene.cancel, scene.progress)

    kinds = {"helper": AgentType("helper", "Helps.", "You help.")}
    script = [
        build_call_answer(use("t1", "Task", subagent_type="helper", run_in_background=False, prompt="look")),
        build_call_answer(use("c1", x="a"), number=2),
    ]
    desk = Desk(
        tmp_path,
        *script,
        build_text_answer("seen", 3),
        build_text_answer("ok", 4),
        tools=(Does("Task", task),),
        agents=kinds,
    )
    desk.loop.setup.tools["Task"].schema["additionalProperties"] = True  # type: ignore[index]
    desk.say()
    (told,) = (line["data"] for line in desk.lines if line["type"] == "progress")
    assert told.keys() == {"type", "prompt", "agentId"}


def test_a_budget_is_one_for_a_session_and_its_sub_agents(tmp_path: Path) -> None:
    def task(given: Object, scene: CallContext) -> CallResult:
        return scene.desk.delegate(scene.call, given, scene.cancel, scene.progress)

    tool = Does("Task", task)
    tool.schema = {"type": "object"}
    price = compute_cost("claude-opus-5", count_priced_tokens(USAGE)).usd
    assert price
    desk = Desk(
        tmp_path,
        build_call_answer(use("t", "Task", subagent_type="Explore", run_in_background=False, prompt="look")),
        *[build_call_answer(use(f"e{n}", x="1"), number=n) for n in range(2, 9)],
        tools=(tool,),
        agents={"Explore": AgentType("Explore", "looks", "You look around.")},
        limits=TurnLimits(dollars=2.5 * price),
    )
    assert desk.say().reason == "budget"
    assert len(desk.model.requests) == 3


def test_a_budget_for_a_model_without_a_price_ends_the_turn(tmp_path: Path) -> None:
    answer = ModelAnswer((use("c", x="1"),), "tool_use", USAGE, "msg_1", "somebodys-model")
    desk = Desk(tmp_path, answer, build_text_answer("never"), limits=TurnLimits(dollars=5.0))
    ended = desk.say()
    assert (ended.reason, len(desk.model.requests)) == ("error", 1)
    assert "The price of somebodys-model is unknown" in ended.text


def test_an_unknown_kind_of_sub_agent_is_told(tmp_path: Path) -> None:
    def task(given: Object, scene: CallContext) -> CallResult:
        return scene.desk.delegate(scene.call, given, scene.cancel, scene.progress)

    tool = Does("Task", task)
    tool.schema = {"type": "object"}
    desk = Desk(
        tmp_path,
        build_call_answer(use("t", "Task", subagent_type="No", run_in_background=False, prompt="x")),
        build_text_answer("ok"),
        tools=(tool,),
    )
    desk.say()
    assert "Agent type 'No' not found" in desk.results()[0]["content"]


def test_what_fills_the_window_adds_up(tmp_path: Path) -> None:
    desk = Desk(tmp_path, build_call_answer(use("c")), build_text_answer("ok", 2, input_tokens=5000))
    desk.say()
    found = desk.loop.measure_context()
    assert found.is_exact
    assert abs(sum(tokens for _, tokens in found.parts) - found.used) <= len(found.parts)
    assert {name for name, _ in found.parts} >= {
        "system prompt",
        "tools",
        "memory and surroundings",
        "messages",
        "calls",
        "results",
    }


def test_everything_that_is_written_is_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path, build_call_answer(use("c")), build_text_answer("ok"))
    desk.say()
    told = [event.entry["uuid"] for event in desk.list_events(EntryWritten)]
    written = [line["uuid"] for line in desk.lines if line.get("uuid") and line["type"] != "progress"]
    assert told == written
    assert len(desk.list_events(CallEnded)) == 1


def test_a_question_that_nobody_answers_is_declined(tmp_path: Path) -> None:
    asked = Does("Ask", lambda given, scene: CallResult(str(scene.desk.ask(Question("question", given)))))
    desk = Desk(tmp_path, build_call_answer(use("c", "Ask")), build_text_answer("ok"), tools=(asked,))
    desk.say()
    assert desk.results()[0]["content"] == "None"


def test_a_late_answer_can_be_stopped(tmp_path: Path) -> None:
    cancel = Cancel()
    threading.Timer(0.1, cancel.set).start()
    assert Desk(tmp_path, DelayedStep(3600, build_text_answer("late"))).say(cancel=cancel).reason == "interrupted"


def test_results_stand_in_the_order_of_their_calls_whichever_ends_first(tmp_path: Path) -> None:
    second = threading.Event()

    def wait(given: Object, scene: CallContext) -> CallResult:
        assert second.wait(HANG)
        return CallResult("slow")

    def go(given: Object, scene: CallContext) -> CallResult:
        second.set()
        return CallResult("quick")

    calls = build_call_answer(use("a", "Wait"), use("b", "Go"), use("c", "No"), use("d", "Go"))
    desk = Desk(tmp_path, calls, build_text_answer("ok"), tools=(Does("Wait", wait), Does("Go", go)))
    desk.say()
    said = [line["message"]["content"] for line in desk.lines if line["type"] == "user"]
    written = [blocks[0]["tool_use_id"] for blocks in said if isinstance(blocks, list) and "tool_use_id" in blocks[0]]
    told = [block["tool_use_id"] for block in desk.results()]
    assert written == told == ["a", "b", "c", "d"]
