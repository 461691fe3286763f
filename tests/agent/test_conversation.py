"""What is sent of a conversation: always all of it, and what was sent before in the same form."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turnlog.agent.conversation import AgentConversation, build_reminder

PREFACE = [build_reminder("memory")]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.text(max_size=5)),
        st.tuples(st.just("call"), st.integers(0, 9)),
        st.tuples(st.just("clear"), st.integers(0, 3)),
        st.tuples(st.just("further"), st.text(max_size=5)),
        st.tuples(st.just("restart"), st.just("all of it")),
        st.tuples(st.just("model"), st.sampled_from("ab")),
    ),
    max_size=20,
)


def call(number: int) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {}}


def result(number: int) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"what {number} gave"}


def do(conversation: AgentConversation, step: str, given: Any) -> None:
    """One step of a conversation."""
    if step == "ask":
        conversation.add_user_content(given)
        conversation.add_answer([{"type": "text", "text": "so it is"}], "a")
    elif step == "call":
        conversation.add_answer([call(given)], "a")
        conversation.add_results([result(given)])
    elif step == "clear":
        conversation.cleared.add(f"c{given}")
    elif step == "restart":
        conversation.restart_from_summary(given)


@given(STEPS)
def test_what_was_sent_before_changes_nothing_in_what_is_sent(steps: list[tuple[str, Any]]) -> None:
    conversation, model = AgentConversation(preface=PREFACE), "a"
    for number in range(4):
        do(conversation, "call", number)
    for step, given_ in [("model", "a"), *steps]:
        do(conversation, step, given_)
        model = given_ if step == "model" else model
        further = given_ if step == "further" else ""
        anew = AgentConversation(conversation.messages, PREFACE)
        anew.cleared = set(conversation.cleared)
        assert [*conversation.build_messages(model, further)] == [*anew.build_messages(model, further)]


def test_messages_before_the_marks_are_settled() -> None:
    conversation = AgentConversation(preface=PREFACE)
    for number in range(3):
        do(conversation, "call", number)
    first, again = conversation.build_messages("a"), conversation.build_messages("a")
    assert first.settled is again.settled
    assert [message["role"] for message in first.settled] == ["assistant", "user", "assistant"]
    assert "cache_control" not in str(first.settled)
    do(conversation, "call", 3)
    assert conversation.build_messages("a").settled is first.settled
    assert [*first] == [*again]


def test_another_model_is_sent_messages_of_its_own() -> None:
    conversation = AgentConversation([{"role": "user", "content": "hi"}])
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    conversation.add_answer([thought, {"type": "text", "text": "hello"}], "claude-opus-4-1")
    for text in ("one", "two"):
        conversation.add_user_content(text)
        conversation.add_answer([{"type": "text", "text": text}], "claude-opus-4-1")
    assert "thinking" in str([*conversation.build_messages("claude-opus-4-1")])
    assert "thinking" not in str([*conversation.build_messages("claude-haiku-4-5")])
    assert "thinking" in str([*conversation.build_messages("claude-opus-4-1")])
