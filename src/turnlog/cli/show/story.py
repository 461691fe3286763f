"""The turns of a session as lines: prompts, answers, calls with their results, sub-agents below their calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from turnlog.cli import when
from turnlog.cli.show.events import event
from turnlog.cli.show.gist import answered, answered_in_full, asked, asked_in_full, indented
from turnlog.cli.show.header import tokens
from turnlog.cli.terminal import Screen, first_lines, line, lines, visible
from turnlog.entries.entry import Entry
from turnlog.render.events import notified
from turnlog.render.figures import count
from turnlog.render.tools import ADVISOR
from turnlog.render.tools.advisor import advisor_figures
from turnlog.session.agents import Agent
from turnlog.session.calls import Call
from turnlog.session.messages import Message, is_filler
from turnlog.session.session import Session
from turnlog.session.turns import Turn
from turnlog.session.usage.usage import total

PROMPT_LINES = 20
ANSWER_LINES = 40
AGENT_LINES = 3
_LONGEST_LINE = 1000
_DEEPEST = 8
_OUTCOMES = {
    "finished": ("finished", "green"),
    "interrupted": ("interrupted", "yellow"),
    "error": ("ended with an error", "red"),
    "waiting": ("waits for an answer", "yellow"),
    "open": ("still open", "yellow"),
}


class Story:
    """Tells one session, or one sub-agent inside another's."""

    def __init__(
        self, session: Session, screen: Screen, *, thinking: bool = False, full: bool = False,
        above: tuple[Story, ...] = (),
    ) -> None:  # fmt: skip
        self.session = session
        self.screen = screen
        self.thinking = thinking
        self.full = full
        self.above = above
        """The stories that this one is told inside of, the outermost first."""

    # -- turns

    def turn(self, turn: Turn) -> Iterator[str]:
        """One turn from its prompt to its outcome."""
        paint = self.screen.paint
        kind = f"{turn.kind} from {visible(turn.speaker.name)}" if turn.speaker.name else turn.kind
        head = f"── {turn.number} · {kind} · {when.local(turn.started)} "
        yield paint(head + "─" * max((self.screen.width or 80) - len(head), 2), "cyan")
        yield from self._prompt(turn)
        yield from self.events(turn)
        yield self._end(turn)

    def _prompt(self, turn: Turn) -> Iterator[str]:
        for tag, text in turn.prompt.context:
            first = line(text[:_LONGEST_LINE])
            yield self.screen.paint(self.screen.fit(f"  [{visible(tag)}] {first}"), "dim")
        if turn.prompt.images:
            yield self.screen.paint(f"  [{count(turn.prompt.images, 'image or document')}]", "dim")
        text = turn.text if turn.kind != "notification" else notified(turn.text)
        yield from (self.screen.paint(f"> {part}", "bold") for part in self._shortened(text, PROMPT_LINES))

    def events(self, turn: Turn | None) -> Iterator[str]:
        """What happened in a turn, in the order of the file."""
        waiting = list(turn.further) if turn else []
        for entry in self._entries.get(turn.index if turn else None, []):
            if turn is not None and entry is turn.start:
                continue
            yield from self._entry(entry, waiting)
        for text in waiting:
            yield from self._typed(text)

    def _entry(self, entry: Entry, waiting: list[str]) -> Iterator[str]:
        message = self._first_lines.get(entry.index)
        if message is not None:
            yield from () if is_filler(self.session.file, message) else self._message(message)
        elif entry.type in ("user", "system", "attachment"):
            found = event(self.session, entry)
            if found is not None and found.typed and found.text in waiting:
                waiting.remove(found.text)
                yield from self._typed(found.text)
            elif found is not None and not found.typed:
                text = self._shortened(found.text, PROMPT_LINES if found.is_long else 1)
                yield from (self.screen.paint(f"  {part}", *found.styles) for part in text)

    def _typed(self, text: str) -> Iterator[str]:
        yield self.screen.paint("  typed meanwhile:", "dim")
        yield from (self.screen.paint(f"> {part}", "bold") for part in self._shortened(text, PROMPT_LINES))

    def _end(self, turn: Turn) -> str:
        words, colour = _OUTCOMES[turn.outcome]
        parts = [self.screen.paint(words, colour) + self._duration(turn)]
        if turn.calls:
            parts.append(count(len(turn.calls), "call"))
        usage = total(turn.messages)
        if usage.quality["missing"] < sum(usage.quality.values()):
            parts.append(f"{count(usage.output_tokens, 'token')} out")
        if usage.cost_usd:
            parts.append(when.money(usage.cost_usd))
        return "  " + " · ".join(parts)

    def _duration(self, turn: Turn) -> str:
        if turn.duration_ms is not None:
            return f" after {when.lasted(turn.duration_ms)}"
        passed = when.between(turn.started, turn.ended)
        return f" after about {when.lasted(passed.total_seconds() * 1000)}" if passed else ""

    # -- between the turns

    def before(self, turn: Turn) -> Iterator[str]:
        """What belongs to no turn and stands in the file before this one."""
        for entry in self._loose.get(turn.index, []):
            yield from self._entry(entry, [])

    def after(self, turns: list[Turn]) -> Iterator[str]:
        """What stands behind the last turn, and the sub-agents that no call leads to."""
        yield from (text for entry in self._loose.get(None, []) for text in self._entry(entry, []))
        told = {call.agent_id for call in self.session.calls}
        aside = [agent for agent in self.session.agents if agent.agent_id not in told and not agent.parent_agent_id]
        if aside:
            yield ""
            yield self.screen.paint("Sub-agents that no call leads to", "cyan")
        for agent in aside:
            yield from indented(list(self._agent(agent)))

    # -- messages and calls

    def _message(self, message: Message) -> Iterator[str]:
        limit = AGENT_LINES if self.above else ANSWER_LINES
        advisors = advisor_figures(message)
        for block in self.session.content(message):
            kind = block.get("type")
            if kind == "advisor_tool_result":
                yield from self._advice(block, next(advisors, ()))
            elif kind == "server_tool_use" and block.get("name") == ADVISOR:
                continue  # it is asked nothing: its answer says all
            elif kind == "text" and isinstance(block.get("text"), str):
                style = ("red",) if message.is_error else ("dim",) if message.is_synthetic else ()
                for part in self._shortened(block["text"], limit):
                    yield self.screen.paint(f"  {part}".rstrip(), *style)
            elif kind in ("thinking", "redacted_thinking"):
                yield from self._thought(block) if self.thinking else ()
            elif kind == "tool_use" and (call := self._calls.get(str(block.get("id")))):
                yield from self._call(call)
            elif kind != "tool_use":
                yield self.screen.paint(f"  [{line(str(kind))}]", "dim")

    def _advice(self, block: dict[str, Any], figures: tuple[str, ...]) -> Iterator[str]:
        """What the advisor said, which the API often encrypts."""
        about = " · ".join(filter(None, figures))
        yield f"  {self.screen.paint('●', 'blue')} {self.screen.paint(ADVISOR, 'bold')} {about}".rstrip()
        found = block.get("content")
        said = found if isinstance(found, dict) else {}
        words = next((said[name] for name in ("error_code", "text") if isinstance(said.get(name), str)), "")
        style = "red" if "error_code" in said else "dim"
        for part in self._shortened(words or "(encrypted: only the API can read it)", AGENT_LINES):
            yield "    " + self.screen.paint(f"→ {part}", style)

    def _thought(self, block: dict[str, Any]) -> Iterator[str]:
        text = block.get("thinking")
        told = text if isinstance(text, str) and text.strip() else "(thinking, not recorded)"
        yield from (self.screen.paint(f"  ~ {part}", "dim") for part in self._shortened(told, ANSWER_LINES))

    def _call(self, call: Call) -> Iterator[str]:
        detail = self.session.detail(call)
        name = visible(call.name) or "(no name)"
        gist = "" if self.full else asked(detail.input, self._cwd)
        gist = self.screen.fit(gist, len(name) + 6)
        yield f"  {self.screen.paint('●', 'blue')} {self.screen.paint(name, 'bold')} {gist}".rstrip()
        if self.full:
            yield from indented(asked_in_full(detail.input), "    ")
        yield from indented(list(self._agent_of(call)), "    ")
        result = answered(detail)
        style = "red" if result.is_bad else "yellow" if call.result is None else "dim"
        shown = self.screen.fit(result.text, 8)
        yield "    " + self.screen.paint(f"→ {shown}", style)
        if self.full:
            yield from (self.screen.paint(f"      {part}", "dim") for part in answered_in_full(detail))

    # -- sub-agents

    def _agent_of(self, call: Call) -> Iterator[str]:
        root = self.above[0].session if self.above else self.session
        for agent in root.agents:
            if agent.call_id == call.id or (call.agent_id and agent.agent_id == call.agent_id):
                yield from self._agent(agent)
                return

    def _agent(self, agent: Agent) -> Iterator[str]:
        """A sub-agent: who it is, what it used, and its own turns."""
        root = self.above[0].session if self.above else self.session
        inner = root.agent_session(agent)
        seen = any(story.session is inner for story in (*self.above, self))
        yield self.screen.paint(f"┌ {line(_called(agent))}: {_numbers(inner)}", "cyan")
        if not seen and len(self.above) < _DEEPEST:
            story = Story(inner, self.screen, thinking=self.thinking, full=self.full, above=(*self.above, self))
            yield from ((self.screen.paint("│", "cyan") + text).rstrip() for text in story.inside())
        yield self.screen.paint("└", "cyan")

    def inside(self) -> Iterator[str]:
        """The turns of a sub-agent without frames."""
        yield from self.events(None)
        for turn in self.session.turns:
            prompt = self._shortened(turn.text, AGENT_LINES)
            yield from (self.screen.paint(f"  > {part}", "bold") for part in prompt)
            yield from self.events(turn)

    # -- what is looked up often

    @cached_property
    def _first_lines(self) -> dict[int, Message]:
        return {message.lines[0].index: message for message in self.session.messages}

    @cached_property
    def _calls(self) -> dict[str, Call]:
        return {call.id: call for call in self.session.calls}

    @cached_property
    def _entries(self) -> dict[int | None, list[Entry]]:
        """The entries of each turn, and of none."""
        found: dict[int | None, list[Entry]] = {}
        for entry in self.session.entries:
            turn = self.session.turn_of(entry)
            found.setdefault(turn.index if turn else None, []).append(entry)
        return found

    @cached_property
    def _loose(self) -> dict[int | None, list[Entry]]:
        """The entries of no turn, by the turn that begins behind them."""
        starts = [(turn.start.index, turn.index) for turn in self.session.turns]
        found: dict[int | None, list[Entry]] = {}
        place = 0
        for entry in self._entries.get(None, []):
            while place < len(starts) and starts[place][0] < entry.index:
                place += 1
            found.setdefault(starts[place][1] if place < len(starts) else None, []).append(entry)
        return found

    @cached_property
    def _cwd(self) -> str | None:
        return self.session.folders[0] if self.session.folders else None

    def _shortened(self, text: str, limit: int) -> list[str]:
        """The lines of a text up to a limit, and how many are left out."""
        if self.full:
            return lines(text)
        kept, left = first_lines(text, limit, _LONGEST_LINE)
        return [*kept, f"… {count(left, 'more line')} (--full)"] if left else kept


def _called(agent: Agent) -> str:
    name = f"{agent.type or agent.kind} {agent.agent_id}"
    told = f"{name} “{agent.description}”" if agent.description else name
    return f"{told} (incomplete: its file is missing)" if agent.is_incomplete else told


def _numbers(session: Session) -> str:
    usage = total(session.messages)
    money = f", {when.money(usage.cost_usd)}" if usage.cost_usd else ""
    return f"{count(len(session.calls), 'call')}, {tokens(usage)}{money}"
