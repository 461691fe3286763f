"""One sick session for each kind of illness that can be repaired, and what it says when it is well again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from tests.session.build import BASE, Build, base, outcome, use
from tests.session.replays import build_replays
from turnlog.edit.illnesses.bulk import GIANT_RESULT_BYTES


class Sick(NamedTuple):
    """A session with an illness."""

    data: bytes
    well: list[str]
    """What would be resumed after its repair, in short."""
    only: bool = False
    """Whether it is repaired only when its kind is named: a mere note, or the client would send less afterwards."""


def _lines(build: Build) -> list[bytes]:
    return build.data().splitlines(keepends=True)


def torn() -> Sick:
    return Sick(base().data() + b'{"type":"us', BASE)


def build_glued() -> Sick:
    first, second, *rest = _lines(base())
    return Sick(first.rstrip() + second + b"".join(rest), BASE)


def glued_behind_a_torn_line() -> Sick:
    *before, last = _lines(base())
    return Sick(b"".join(before) + b'{"parentUuid":"a2","type":"us' + last, BASE)


def controls() -> Sick:
    return Sick(base().data().replace(b"u2 text", b"u2\x01 text"), [*BASE[:2], "U u2\x01 text", *BASE[3:]])


def build_padded() -> Sick:
    first, *rest = _lines(base())
    return Sick(first + b"\0" * 512 + b"".join(rest) + b"\0\0\n", BASE)


def broken_by_a_line_end() -> Sick:
    return Sick(base().data().replace(b"u2 text", b"u2\n\ttext"), [*BASE[:2], "U u2\n\ttext", *BASE[3:]])


def broken() -> Sick:
    first, *rest = _lines(base())
    return Sick(first + b"{broken}\n[1]\n" + b"".join(rest), BASE)


def spread() -> Sick:
    return Sick(b"".join(json.dumps(line, indent=2).encode() + b"\n" for line in base().lines), BASE)


def spread_among_ordinary_lines() -> Sick:
    lines = _lines(base())
    lines[2] = json.dumps(json.loads(lines[2]), indent="\t").encode() + b"\n"
    return Sick(b"".join(lines), BASE)


def missing_parent() -> Sick:
    build = base()
    build["u3"]["parentUuid"] = "gone"
    return Sick(build.data(), BASE)


def bridged_parent() -> Sick:
    build = base(step=1)
    build["u2"]["parentUuid"] = "gone"
    build["u3"]["parentUuid"] = "gone too"
    return Sick(build.data(), BASE)


def first_parent() -> Sick:
    build = base()
    build["u1"]["parentUuid"] = "gone"
    return Sick(build.data(), BASE, only=True)


def result_without_parent() -> Sick:
    build = base()
    build.call("c1")
    build.attachment("reminder")
    build.result("c1", parent="gone")
    build.answer("done")
    return Sick(build.data(), [*BASE, "A call c1", "U result c1", "A done"])


def snapshot_id() -> Sick:
    build = base()
    build.note("file-history-snapshot", messageId="gone")
    build["u3"]["parentUuid"] = "gone"
    return Sick(build.data(), BASE)


def same_entry_twice() -> Sick:
    lines = _lines(base())
    return Sick(b"".join([*lines, *lines[:2]]), BASE, only=True)


def entry_written_anew() -> Sick:
    build = base()
    build.prompt("u2 better", "u2", parent="a1")
    build.note("last-prompt", leafUuid="a3")
    return Sick(build.data(), [*BASE[:2], "U u2 better", *BASE[3:]], only=True)


def two_entries_with_one_uuid() -> Sick:
    build = base()
    build.prompt("u4 text", "u2", parent="a3")
    build.answer("a4 text", parent="u2")
    return Sick(build.data(), [*BASE, "U u4 text", "A a4 text"])


def cycle() -> Sick:
    build = base()
    build["u2"]["parentUuid"] = "u3"
    return Sick(build.data(), BASE)


def several_roots() -> Sick:
    build = base()
    build["a2"]["parentUuid"] = None
    return Sick(build.data(), BASE)


def prompt_that_begins_anew() -> Sick:
    build = base()
    build["u3"]["parentUuid"] = None
    return Sick(build.data(), BASE, only=True)


def other_session() -> Sick:
    build = base()
    build.prompt("stray", "s1", parent=None, sessionId="another")
    build.answer("stray", uuid="s2", sessionId="another")
    build.note("last-prompt", leafUuid="a3")
    return Sick(build.data(), BASE)


def other_session_that_is_sent() -> Sick:
    build = base()
    build.prompt("stray", "s1", parent=None, sessionId="another")
    build.answer("stray", uuid="s2", sessionId="another")
    return Sick(build.data(), BASE, only=True)


def build_refused() -> Sick:
    build = base()
    del build["a3"]["timestamp"]
    return Sick(build.data(), BASE)


def refused_sub_agent() -> Sick:
    build = base()
    for line in build.lines:
        line |= {"isSidechain": True, "agentId": "a123"}
    return Sick(build.data(), BASE, only=True)


def refused_mark() -> Sick:
    build = base()
    build.prompt("aside", "s1", parent=None, isSidechain=True)
    build.note("last-prompt", leafUuid="s1")
    return Sick(build.data(), BASE)


def hidden_end() -> Sick:
    build = base()
    build.note("last-prompt", leafUuid="a3")
    build.prompt("branch", "b1", parent="a2")
    build.answer("fine", uuid="b2")
    build.system("turn_duration")
    return Sick(build.data(), [*BASE[:4], "U branch", "A fine"], only=True)


def hidden_answer() -> Sick:
    build = base()
    build.prompt("u4", "u4")
    build.answer("hidden", uuid="a4", id="m4")
    build.answer("and more", uuid="a4b", id="m4")
    build.system("away_summary", parent="u4", uuid="s4")
    build.prompt("u5", "u5")
    build.answer("yes")
    return Sick(build.data(), [*BASE, "U u4", "A hidden + and more", "U u5", "A yes"])


def stale_parent() -> Sick:
    build = base()
    build.boundary()
    build.summary()
    build.prompt("u4")
    build.answer("a4")
    build.prompt("on", "u5", parent="a2")
    build.answer("what?")
    return Sick(build.data(), ["U SUMMARY + u4", "A a4", "U on", "A what?"], only=True)


def lost_preserved() -> Sick:
    build = base()
    build.boundary("b1", preservedMessages={"anchorUuid": "s1", "uuids": ["u3", "gone", "a3"], "allUuids": ["u3"]})
    build.summary(uuid="s1")
    build.prompt("on", parent="s1")
    build.answer("yes")
    return Sick(build.data(), ["U SUMMARY + u3 text", "A a3 text", "U on", "A yes"])


def lost_leaf() -> Sick:
    build = base()
    build.note("last-prompt", leafUuid="gone")
    return Sick(build.data(), BASE, only=True)


def build_unanswered() -> Sick:
    build = base()
    build.answer("and", use("c1"), uuid="x1")
    build.prompt("on")
    build.answer("yes")
    return Sick(build.data(), [*BASE, "A and + call c1", "U result c1 + on", "A yes"])


def unanswered_of_several() -> Sick:
    build = base()
    first = build.call("c1", id="m9")
    second = build.call("c2", id="m9")
    build.call("c3", id="m9")
    build.result("c2", parent=second)
    build.result("c1", parent=first)
    build.answer("two")
    return Sick(build.data(), [*BASE, "A call c1 + call c2 + call c3", "U result c3 + result c2 + result c1", "A two"])


def unanswered_before_a_text() -> Sick:
    build = base()
    build.call("c1", id="m9")
    build.answer("still the same", id="m9")
    build.prompt("on")
    build.answer("yes")
    return Sick(build.data(), [*BASE, "A still the same + call c1", "U result c1 + on", "A yes"])


def orphan() -> Sick:
    build = base()
    build.prompt([{"type": "text", "text": "x"}, outcome("c9")], "r1")
    build.answer("yes")
    build.result("c8")
    build.answer("more", parent="user-8")
    return Sick(build.data(), [*BASE, "U x", "A yes", "A more"])


def late() -> Sick:
    build = base()
    build.call("c1")
    build.prompt("meanwhile")
    build.answer("well")
    build.result("c1", uuid="r1")
    build.answer("done")
    return Sick(build.data(), [*BASE, "A call c1", "U result c1 + meanwhile", "A well", "A done"])


def late_with_a_text() -> Sick:
    build = base()
    build.call("c1")
    build.prompt("meanwhile")
    build.answer("well")
    build.prompt([outcome("c1"), {"type": "text", "text": "there"}])
    build.answer("done")
    return Sick(build.data(), [*BASE, "A call c1", "U result c1 + meanwhile", "A well", "U there", "A done"])


def bad_thinking() -> Sick:
    build = base()
    build.answer({"type": "thinking", "thinking": "hm", "signature": "Ab=="}, id="m9")
    build.answer({"type": "thinking", "thinking": "hm"}, id="m9")
    build.answer("so", id="m9")
    build.prompt("on")
    build.answer({"type": "thinking", "thinking": "yes", "signature": "Ab=="}, "fine")
    return Sick(build.data(), [*BASE, "A so", "U on", "A thinking + fine"])


def thinking_of_another_provider() -> Sick:
    build = base()
    build.answer({"type": "thinking", "thinking": "hm"}, "so", model="glm-5")
    return Sick(build.data(), [*BASE, "A so"], only=True)


def bad_image() -> Sick:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "!!!!"}}
    build = base()
    build.prompt([{"type": "text", "text": "look"}, image])
    build.call("c1")
    build.prompt([outcome("c1", [image, {"type": "text", "text": "x"}])])
    build.answer("seen")
    told = "[turnlog: an image with damaged data, 3 bytes, was removed]"
    return Sick(build.data(), [*BASE, f"U look + {told}", "A call c1", "U result c1", "A seen"])


def long_tool_name() -> Sick:
    build = base()
    build.call("c1", "x" * 300)
    build.result("c1")
    build.call("c2", "a tool")
    build.result("c2")
    return Sick(build.data(), [*BASE, "A call c1", "U result c1", "A call c2", "U result c2"])


def giant_result() -> Sick:
    build = base()
    build.call("c1")
    build.result("c1", "x" * GIANT_RESULT_BYTES, toolUseResult={"stdout": ["y" * GIANT_RESULT_BYTES], "n": 1})
    build.answer("long")
    return Sick(build.data(), [*BASE, "A call c1", "U result c1", "A long"], only=True)


def progress_bloat() -> Sick:
    build = base()
    build.progress("p1", output="x" * (1 << 20))
    build.progress("p2")
    build.prompt("on")
    build.answer("yes")
    return Sick(build.data(), [*BASE, "U on", "A yes"])


def replayed_history() -> Sick:
    return Sick(build_replays().data(), ["U SUMMARY + last question", "A the end"])


def bad_attachment() -> Sick:
    build = base()
    build.row("attachment", attachment={"type": "read_truncation_notice", "banner": 5})
    build.prompt("on")
    build.row("attachment", attachment={"type": "peer_mention"})
    build.answer("yes")
    return Sick(build.data(), [*BASE, "U on", "A yes"])


def bad_queued_prompt() -> Sick:
    build = base()
    build.row("attachment", attachment={"type": "queued_command", "prompt": [None, {"type": "text", "text": "more"}]})
    return Sick(build.data(), [*BASE, "U more"])


def bad_batch() -> Sick:
    build = base()
    build.row("attachment", attachment={"type": "queued_command", "prompt": "one", "batchedRelayPrompts": "two"})
    build.answer("yes")
    build.row("attachment", attachment={"type": "queued_command", "prompt": "three", "batchedRelayPrompts": 5})
    return Sick(build.data(), [*BASE, "U one\n\ntwo", "A yes", "U three"])


SICK: dict[str, list[Callable[[], Sick]]] = {
    "spread-lines": [spread, spread_among_ordinary_lines],
    "torn-line": [torn],
    "glued-line": [build_glued, glued_behind_a_torn_line],
    "control-bytes": [controls, build_padded],
    "broken-line": [broken, broken_by_a_line_end, glued_behind_a_torn_line],
    "missing-parent": [missing_parent, bridged_parent, first_parent, result_without_parent],
    "snapshot-id": [snapshot_id],
    "duplicate-uuid": [same_entry_twice, entry_written_anew, two_entries_with_one_uuid],
    "replayed-history": [replayed_history],
    "cycle": [cycle],
    "several-roots": [several_roots, prompt_that_begins_anew],
    "other-session": [other_session, other_session_that_is_sent],
    "refused": [build_refused, refused_sub_agent, refused_mark],
    "bad-attachment": [bad_attachment, bad_queued_prompt, bad_batch],
    "hidden-tail": [missing_parent, several_roots, prompt_that_begins_anew],
    "hidden-end": [hidden_end],
    "hidden-answer": [hidden_answer],
    "stale-parent": [stale_parent],
    "lost-preserved": [lost_preserved],
    "lost-leaf": [lost_leaf],
    "unanswered-call": [build_unanswered, unanswered_of_several, unanswered_before_a_text],
    "orphan-result": [orphan],
    "late-result": [late, late_with_a_text],
    "bad-thinking": [bad_thinking, thinking_of_another_provider],
    "bad-image": [bad_image],
    "long-tool-name": [long_tool_name],
    "giant-result": [giant_result],
    "progress-bloat": [progress_bloat],
}
"""The sessions by the kind that they have."""
CASES = [(kind, make) for kind, makers in SICK.items() for make in makers]
IDS = [f"{kind}-{make.__name__}" for kind, make in CASES]
