"""`turnlog messages`: the conversation in Messages API shape."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import SESSION, Build, variant


def build_branches() -> Build:
    build = Build()
    build.prompt("one", "u1")
    build.answer("first", uuid="a1")
    build.prompt("two", "u2")
    build.answer("second", uuid="a2")
    return build


def test_json_is_one_object_in_messages_api_shape(turnlog: Turnlog, machine: Machine) -> None:
    done = turnlog("messages", machine.add(SESSION, build_branches().data()), "--json")
    assert (done.status, done.err) == (0, "")
    assert done.json == {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "one"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "first"}]},
            {"role": "user", "content": [{"type": "text", "text": "two"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "second"}]},
        ]
    }


def test_another_leaf_can_be_resumed(turnlog: Turnlog, machine: Machine) -> None:
    path = machine.add(SESSION, build_branches().data())
    assert len(turnlog("messages", path, "--leaf", "a1", "--json").json["messages"]) == 2
    unknown = turnlog("messages", path, "--leaf", "nobody", "--json")
    assert (unknown.status, unknown.out) == (1, "")
    assert unknown.err == "turnlog: nobody: no such entry, or an entry that a conversation can't end with\n"


def test_what_the_client_adds_is_added_on_request(turnlog: Turnlog, machine: Machine) -> None:
    build = build_branches()
    build.call("c1")
    path = machine.add(SESSION, build.data())
    plain = turnlog("messages", path, "--json").json["messages"]
    sent = turnlog("messages", path, "--as-sent", "--json").json["messages"]
    assert len(sent) > len(plain) or sent != plain


@pytest.mark.parametrize("name", ["only-metadata-rows", "empty-file", "minimum-without-timestamp"])
def test_a_session_that_the_client_refuses_ends_with_1_the_file_and_the_reason(turnlog: Turnlog, name: str) -> None:
    done = turnlog("messages", variant(name), "--json")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"turnlog: {variant(name)}: the client finds no conversation in it: ")
    assert done.err.count("\n") == 1


def test_json_is_valid_utf_8_whatever_the_session_says(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt(f"{HOSTILE} \ud83d and 😀")
    build.answer("ok")
    done = turnlog("messages", machine.add(SESSION, build.data()), "--json")
    text = json.loads(done.raw.decode("utf-8"))["messages"][0]["content"][0]["text"]
    assert text.startswith("a\x1b[2J")
    assert text.endswith(" and 😀")


def test_people_get_a_transcript(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt([{"type": "text", "text": "look"}, {"type": "image", "source": {}}])
    build.answer({"type": "thinking", "thinking": "hmm", "signature": "s"}, "Looking.", id="m1")
    build.call("c1", "Bash", {"command": "ls"}, id="m1")
    build.result("c1", "a\nb", error=True)
    build.answer("Done.")
    assert turnlog("messages", machine.add(SESSION, build.data())).lines == [
        "── 1 · user", "look", "[image]", "",
        "── 2 · assistant", "[thinking, 3 characters]", "Looking.", "● Bash ls", "",
        "── 3 · user", "→ a (+1 line)", "",
        "── 4 · assistant", "Done.",
    ]  # fmt: skip


def test_a_hostile_transcript_does_no_harm(turnlog: Turnlog, machine: Machine) -> None:
    build = Build()
    build.prompt(HOSTILE)
    build.call("c1", HOSTILE, {"command": HOSTILE})
    build.result("c1", [{"type": "text", "text": HOSTILE}, {"type": HOSTILE}])
    build.answer({"type": HOSTILE})
    done = turnlog("messages", machine.add(SESSION, build.data()))
    assert done.status == 0
    assert harmful(done.out) == set()
