"""A session in which the client writes the whole earlier history again at each compaction."""

from __future__ import annotations

from tests.session.build import Build


def build_replays(rounds: int = 3, *, version: str = "2.1.258") -> Build:
    """Build a session with two prompts in each round; every round but the first begins with all earlier entries."""
    build = Build(version)
    history: list[dict[str, object]] = []
    for number in range(rounds):
        start = len(build.lines)
        for place in ("first", "second"):
            build.prompt(f"{place} question {number}")
            build.answer(f"{place} answer {number}", usage={"input_tokens": 3, "output_tokens": 50})
        history += build.lines[start:]
        if number:
            build.lines += [dict(line) for line in history[:-4]]
        build.boundary(f"b{number}")
        build.summary(uuid=f"s{number}")
    build.prompt("last question")
    build.answer("the end")
    return build
