"""Sessions that never happened, with everything that may happen in one: for properties that hold of all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.session.build import SESSION, Build, outcome, use

MAIN = Path(f"{SESSION}.jsonl")
SECRET = "ghp_Zk9vQ2xT7mLp4RwN8sYb3HdF6jGc1AeUiXo5"
OTHER = "ghp_Wq7nB4cK1yVd9TzJ3gMx6RfL8hPs2EoUaYi5"
WORDS = (
    "fine",
    f"the token is {SECRET}",
    f"{OTHER} it is",
    "password=Kx81mmQ2-zz91",
    "zażółć \ud83c gęś",
    "x" * 300,
    "",
)


def word(number: int) -> str:
    """Something to say."""
    return WORDS[number % len(WORDS)]


class Voice(Build):
    """The lines of one actor of a story; no two of a story have the same time."""

    def __init__(self, story: Story) -> None:
        super().__init__(step=1)
        self._story = story

    def row(self, kind: str, uuid: str | None = None, **fields: Any) -> str:
        """An entry of the graph, a second after whatever was said before."""
        self._now = self._story.now
        key = super().row(kind, uuid, **fields)
        self._story.now = self._now
        self._story.count += 1
        return key


class Agent:
    """A sub-agent of a story."""

    def __init__(self, story: Story, call: str, number: int, *, waits: bool) -> None:
        self.id = f"a{number:016x}"
        self.call = call
        self.waits = waits
        """Whether the one who called it waits for it."""
        self.build = Voice(story)
        self.over = False
        self.build.prompt(f"do it {number}", f"{self.id}-start", isSidechain=True)

    @property
    def file(self) -> Path:
        return Path(SESSION) / "subagents" / f"agent-{self.id}.jsonl"


class Story:
    """A session in the making: each step adds some lines to the session, or to one of its sub-agents."""

    def __init__(self) -> None:
        self.agents: list[Agent] = []
        self.open: dict[int, list[str]] = {}
        """Calls without a result, for each actor."""
        self.steps: list[tuple[str, int, int]] = []
        self.now = 0.0
        self.count = 0
        self.main = Voice(self)
        self.main.prompt("begin", "start")

    def __repr__(self) -> str:
        return f"Story({self.steps})"

    def name(self, kind: str) -> str:
        return f"{kind}-{self.count}"

    def step(self, what: str, who: int, number: int) -> None:
        """Do one thing."""
        self.steps.append((what, who, number))
        working = [agent for agent in self.agents if not agent.over]
        agent = working[who % len(working)] if working and who % 3 else None
        build = agent.build if agent else self.main
        getattr(self, what)(build, agent, number)

    # -- what any actor does

    def text(self, build: Build, agent: Agent | None, number: int) -> None:
        self._answer(build, agent, [word(number)])

    def lines(self, build: Build, agent: Agent | None, number: int) -> None:
        """An answer of several lines, one with a call."""
        call, key = self.name("call"), self.name("msg")
        thought = {"type": "thinking", "thinking": word(number), "signature": "c2ln"}
        for block in ([thought], [word(number + 1)], [use(call, "Bash", {"command": word(number)})]):
            self._answer(build, agent, block, id=key, usage={"input_tokens": 3, "output_tokens": number})
        self.open.setdefault(id(build), []).append(call)

    def again(self, build: Build, agent: Agent | None, number: int) -> None:
        """A line of an older answer, written once more."""
        old = [line for line in build.lines if line["type"] == "assistant"]
        if old:
            message = old[number % len(old)]["message"]
            self._answer(build, agent, message["content"], id=message["id"])

    def result(self, build: Build, agent: Agent | None, number: int) -> None:
        if waiting := self.open.get(id(build)):
            call = waiting.pop(number % len(waiting))
            self._write_prompt(build, agent, [outcome(call, word(number), error=number % 5 == 0)])

    def note(self, build: Build, agent: Agent | None, number: int) -> None:
        self._write_prompt(build, agent, f"Stop hook feedback: {word(number)}", isMeta=True)

    def interrupt(self, build: Build, agent: Agent | None, number: int) -> None:
        self._write_prompt(build, agent, [{"type": "text", "text": "[Request interrupted by user]"}])

    def failure(self, build: Build, agent: Agent | None, number: int) -> None:
        self._answer(build, agent, ["API Error: 529"], model="<synthetic>", isApiErrorMessage=True)

    def filler(self, build: Build, agent: Agent | None, number: int) -> None:
        self._answer(build, agent, ["No response requested."], model="<synthetic>")

    def duration(self, build: Build, agent: Agent | None, number: int) -> None:
        build.system("turn_duration", durationMs=number, isSidechain=agent is not None)

    def timeless(self, build: Build, agent: Agent | None, number: int) -> None:
        """An answer without a time."""
        self._answer(build, agent, ["late"])
        del build.lines[-1]["timestamp"]

    # -- what a person does, and what the client does for itself

    def prompt(self, build: Build, agent: Agent | None, number: int) -> None:
        self.main.prompt(word(number) or "go", self.name("prompt"))

    def command(self, build: Build, agent: Agent | None, number: int) -> None:
        self.main.prompt("<command-name>/fix</command-name>", self.name("command"))
        if number % 2:
            self.main.prompt("the text of the skill", isMeta=True)

    def branch(self, build: Build, agent: Agent | None, number: int) -> None:
        """The next line hangs on an older one."""
        uuids = [line["uuid"] for line in self.main.lines if "uuid" in line]
        self.main.last = uuids[number % len(uuids)]

    def ahead(self, build: Build, agent: Agent | None, number: int) -> None:
        """An answer hangs on a line that comes after it, if ever."""
        self._answer(build, agent, [word(number)])
        build.lines[-1]["parentUuid"] = f"prompt-{self.count + number % 9}"

    def twice(self, build: Build, agent: Agent | None, number: int) -> None:
        """A line is written a second time as it is."""
        self.main.lines.append(self.main.lines[number % len(self.main.lines)])

    def compaction(self, build: Build, agent: Agent | None, number: int) -> None:
        self.main.boundary(self.name("boundary"))
        self.main.summary(uuid=self.name("summary"))

    def write_queued_command(self, build: Build, agent: Agent | None, number: int) -> None:
        self.main.attachment("queued_command", prompt=word(number), uuid=self.name("queued"))

    def book_keeping(self, build: Build, agent: Agent | None, number: int) -> None:
        build.note("mode", mode="normal")

    # -- sub-agents

    def launch(self, build: Build, agent: Agent | None, number: int) -> None:
        """A sub-agent begins, in the background or not; sub-agents start some, too."""
        call = self.name("task")
        self._answer(build, agent, [use(call, "Task", {"prompt": "do it", "subagent_type": "Explore"})])
        new = Agent(self, call, len(self.agents) + 1, waits=bool(number % 2))
        self.agents.append(new)
        if not new.waits:
            launched = {"isAsync": True, "status": "async_launched", "agentId": new.id}
            self._write_prompt(build, agent, [outcome(call, "launched")], toolUseResult=launched)

    def side_work(self, build: Build, agent: Agent | None, number: int) -> None:
        """The client has something done by a sub-agent that no call started."""
        self.agents.append(Agent(self, "", len(self.agents) + 1, waits=True))

    def finish(self, build: Build, agent: Agent | None, number: int) -> None:
        """A sub-agent has the last word, and its end is reported."""
        if agent is None or any(other.call in self._calls(agent.build) and not other.over for other in self.agents):
            return
        self._answer(agent.build, agent, ["that was it"])
        caller = next((other for other in self.agents if agent.call in self._calls(other.build)), None)
        home = caller.build if caller else self.main
        agent.over = True
        if not agent.call:
            return
        if agent.waits:
            self._write_prompt(home, caller, [outcome(agent.call, "done")], toolUseResult={})
        else:
            text = f"<task-notification><task-id>{agent.id}</task-id><status>completed</status></task-notification>"
            self.main.prompt(text, self.name("notice"))

    def send(self, build: Build, agent: Agent | None, number: int) -> None:
        """A sub-agent in the background that had finished gets something more to do."""
        done = [other for other in self.agents if other.over and not other.waits]
        if done:
            other = done[number % len(done)]
            other.over = False
            self._write_prompt(other.build, other, "and that", isMeta=True)

    def _calls(self, build: Build) -> set[str]:
        blocks = [block for line in build.lines if "message" in line for block in line["message"]["content"]]
        return {block["id"] for block in blocks if isinstance(block, dict) and block["type"] == "tool_use"}

    def _answer(self, build: Build, agent: Agent | None, blocks: list[Any], **fields: Any) -> None:
        fields.setdefault("id", self.name("msg"))
        build.answer(*blocks, uuid=self._unique(build, "answer"), isSidechain=agent is not None, **fields)

    def _write_prompt(self, build: Build, agent: Agent | None, content: Any, **fields: Any) -> None:
        build.prompt(content, self._unique(build, "told"), isSidechain=agent is not None, **fields)

    def _unique(self, build: Build, kind: str) -> str:
        whose = next((agent.id for agent in self.agents if agent.build is build), "main")
        return f"{kind}-{whose}-{len(build.lines)}"

    # -- files

    def files(self) -> list[tuple[Path, bytes]]:
        """The session and its sub-agents."""
        agents = [(agent.file, agent.build.data()) for agent in self.agents]
        return [(MAIN, self.main.data()), *agents]

    def metas(self) -> list[tuple[Path, bytes]]:
        """What tells of the sub-agents."""
        called = [agent for agent in self.agents if agent.call]
        told = [(agent.file, {"agentType": "Explore", "toolUseId": agent.call}) for agent in called]
        return [(file.with_suffix(".meta.json"), json.dumps(meta).encode()) for file, meta in told]


STEPS = (
    *("text", "text", "lines", "lines", "result", "result", "result", "prompt", "prompt", "finish", "finish"),
    *("again", "note", "interrupt", "failure", "filler", "duration", "duration", "timeless", "command", "branch"),
    *("twice", "ahead", "side_work", "compaction", "write_queued_command", "book_keeping", "launch", "launch", "send"),
)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Any story."""
    story = Story()
    steps = st.tuples(st.sampled_from(STEPS), st.integers(0, 5), st.integers(0, 59))
    for what, who, number in draw(st.lists(steps, min_size=15, max_size=60)):
        story.step(what, who, number)
    return story
