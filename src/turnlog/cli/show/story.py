"""The turns of a session as lines: prompts, answers, calls with results, sub-agents below their calls, and events."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from turnlog.cli import time_format
from turnlog.cli.show.call_summary import (
    indent_lines,
    render_full_input,
    render_full_result,
    summarize_call_result,
)
from turnlog.cli.show.header import format_usage_tokens
from turnlog.cli.terminal import TerminalScreen, make_visible, take_first_lines, to_visible_line, to_visible_lines
from turnlog.entries.entry import Entry
from turnlog.entries.speakers import SENDING_SPEAKERS
from turnlog.render.call_titles import build_call_title
from turnlog.render.events import EventText, describe_entry_event, read_notification
from turnlog.render.figures import format_count
from turnlog.render.tools import ADVISOR_TOOL
from turnlog.render.tools.web import iter_advisor_figures
from turnlog.session.agents import SubAgent
from turnlog.session.calls import Call
from turnlog.session.lost_texts import count_lost_tokens, describe_lost_text
from turnlog.session.message_usage import sum_usage
from turnlog.session.messages import Message, is_filler
from turnlog.session.session import Session
from turnlog.session.turns import Turn

MAX_PROMPT_LINES = 20
MAX_ANSWER_LINES = 40
MAX_AGENT_LINES = 3
_MAX_LINE_CHARS = 1000
_MAX_NESTING = 8
_ROUND_WORDS = {"new_session": "new session", "new_round": "new round", "resume": "resumed after a pause"}
_OUTCOME_STYLES = {
    "finished": ("finished", "green"),
    "interrupted": ("interrupted", "yellow"),
    "error": ("ended with an error", "red"),
    "waiting": ("waits for an answer", "yellow"),
    "open": ("still open", "yellow"),
}


class SessionStory:
    """Renders one session, or a sub-agent nested in another story."""

    def __init__(
        self, session: Session, screen: TerminalScreen, *, thinking: bool = False, full: bool = False,
        above: tuple[SessionStory, ...] = (),
    ) -> None:  # fmt: skip
        self.session = session
        self.screen = screen
        self.thinking = thinking
        self.full = full
        self.above = above
        """The stories around this one, outermost first."""

    # -- turns

    def render_turn(self, turn: Turn) -> Iterator[str]:
        """Render one turn from its prompt to its outcome."""
        paint = self.screen.paint
        kind = f"{turn.kind} from {make_visible(turn.speaker.name)}" if turn.speaker.name else turn.kind
        moment = time_format.format_client_time(turn.started_at)
        head = f"── {turn.number} · {kind} · {_ROUND_WORDS[turn.round]} · {moment} "
        yield paint(head + "─" * max((self.screen.width or 80) - len(head), 2), "cyan")
        yield from self._render_prompt(turn)
        yield from self.render_events(turn)
        yield self._render_end(turn)

    def _render_prompt(self, turn: Turn) -> Iterator[str]:
        for tag, text in turn.prompt.context:
            first = to_visible_line(text[:_MAX_LINE_CHARS])
            yield self.screen.paint(self.screen.fit(f"  [{make_visible(tag)}] {first}"), "dim")
        if turn.prompt.images:
            yield self.screen.paint(f"  [{format_count(turn.prompt.images, 'image or document')}]", "dim")
        text = turn.text if turn.kind != "notification" else read_notification(turn.text)
        yield from (self.screen.paint(f"> {part}", "bold") for part in self._shorten_lines(text, MAX_PROMPT_LINES))

    def render_events(self, turn: Turn | None) -> Iterator[str]:
        """List what happened in a turn, in file order."""
        waiting = list(turn.further) if turn else []
        for entry in self._entries.get(turn.index if turn else None, []):
            if turn is not None and entry is turn.start:
                continue
            yield from self._render_entry(entry, waiting)
        for text in waiting:
            yield from self._render_typed(text)

    def _render_entry(self, entry: Entry, waiting: list[str]) -> Iterator[str]:
        message = self._first_lines.get(entry.index)
        if message is not None:
            yield from () if is_filler(self.session.file, message) else self._render_message(message)
        elif entry.type in ("user", "system", "attachment"):
            found = describe_side_event(self.session, entry)
            if found is not None and found.typed and found.text in waiting:
                waiting.remove(found.text)
                yield from self._render_typed(found.text)
            elif found is not None and not found.typed:
                text = self._shorten_lines(found.text, MAX_PROMPT_LINES if found.is_long else 1)
                yield from (self.screen.paint(f"  {part}", *found.styles) for part in text)

    def _render_typed(self, text: str) -> Iterator[str]:
        yield self.screen.paint("  typed meanwhile:", "dim")
        yield from (self.screen.paint(f"> {part}", "bold") for part in self._shorten_lines(text, MAX_PROMPT_LINES))

    def _render_end(self, turn: Turn) -> str:
        words, colour = _OUTCOME_STYLES[turn.outcome]
        parts = [self.screen.paint(words, colour) + self._format_duration(turn)]
        if turn.calls:
            parts.append(format_count(len(turn.calls), "call"))
        usage = sum_usage(turn.messages)
        if usage.quality["missing"] < sum(usage.quality.values()):
            parts.append(f"{format_count(usage.output_tokens, 'token')} out")
        if usage.cost_usd:
            parts.append(time_format.format_money(usage.cost_usd))
        return "  " + " · ".join(parts)

    def _format_duration(self, turn: Turn) -> str:
        if turn.duration_ms is not None:
            return f" after {time_format.format_milliseconds(turn.duration_ms)}"
        passed = time_format.measure_time_between(turn.started_at, turn.ended_at)
        return f" after about {time_format.format_milliseconds(passed.total_seconds() * 1000)}" if passed else ""

    # -- between the turns

    def render_before(self, turn: Turn) -> Iterator[str]:
        """Render the entries that precede this turn in the file but don't belong to any turn."""
        for entry in self._loose_entries.get(turn.index, []):
            yield from self._render_entry(entry, [])

    def render_after(self, turns: list[Turn]) -> Iterator[str]:
        """Render what follows the last turn, and sub-agents that no call started."""
        yield from (text for entry in self._loose_entries.get(None, []) for text in self._render_entry(entry, []))
        told = {call.agent_id for call in self.session.calls}
        aside = [agent for agent in self.session.agents if agent.agent_id not in told and not agent.parent_agent_id]
        if aside:
            yield ""
            yield self.screen.paint("Sub-agents without a call", "cyan")
        for agent in aside:
            yield from indent_lines(list(self._render_agent(agent)))

    # -- messages and calls

    def _render_message(self, message: Message) -> Iterator[str]:
        limit = MAX_AGENT_LINES if self.above else MAX_ANSWER_LINES
        advisors = iter_advisor_figures(message)
        if lost := describe_lost_text(count_lost_tokens(message)):
            yield self.screen.paint(f"  [{lost}]", "yellow")
        for block in self.session.read_content(message):
            kind = block.get("type")
            if kind == "advisor_tool_result":
                yield from self._render_advice(block, next(advisors, ()))
            elif kind == "server_tool_use" and block.get("name") == ADVISOR_TOOL:
                continue  # it has no input; the result is enough
            elif kind == "text" and isinstance(block.get("text"), str):
                style = ("red",) if message.is_error else ("dim",) if message.is_synthetic else ()
                for part in self._shorten_lines(block["text"], limit):
                    yield self.screen.paint(f"  {part}".rstrip(), *style)
            elif kind in ("thinking", "redacted_thinking"):
                yield from self._render_thought(block) if self.thinking else ()
            elif kind == "tool_use" and (call := self._calls.get(str(block.get("id")))):
                yield from self._render_call(call)
            elif kind != "tool_use":
                yield self.screen.paint(f"  [{to_visible_line(str(kind))}]", "dim")

    def _render_advice(self, block: dict[str, Any], figures: tuple[str, ...]) -> Iterator[str]:
        """Render the advisor's answer, which the API often encrypts."""
        about = " · ".join(filter(None, figures))
        yield f"  {self.screen.paint('●', 'blue')} {self.screen.paint(ADVISOR_TOOL, 'bold')} {about}".rstrip()
        found = block.get("content")
        said = found if isinstance(found, dict) else {}
        words = next((said[name] for name in ("error_code", "text") if isinstance(said.get(name), str)), "")
        style = "red" if "error_code" in said else "dim"
        for part in self._shorten_lines(words or "(encrypted: only the API can read it)", MAX_AGENT_LINES):
            yield "    " + self.screen.paint(f"→ {part}", style)

    def _render_thought(self, block: dict[str, Any]) -> Iterator[str]:
        text = block.get("thinking")
        told = text if isinstance(text, str) and text.strip() else "(thinking, not recorded)"
        yield from (self.screen.paint(f"  ~ {part}", "dim") for part in self._shorten_lines(told, MAX_ANSWER_LINES))

    def _render_call(self, call: Call) -> Iterator[str]:
        detail = self.session.read_detail(call)
        name = make_visible(call.name) or "(no name)"
        title = "" if self.full else make_visible(build_call_title(call.name, detail.input, call.line.cwd))
        title = self.screen.fit(title, len(name) + 6)
        yield f"  {self.screen.paint('●', 'blue')} {self.screen.paint(name, 'bold')} {title}".rstrip()
        if self.full:
            yield from indent_lines(render_full_input(detail.input), "    ")
        yield from indent_lines(list(self._render_agent_of(call)), "    ")
        result = summarize_call_result(detail)
        style = "red" if result.is_bad else "yellow" if call.result is None else "dim"
        shown = self.screen.fit(result.text, 8)
        yield "    " + self.screen.paint(f"→ {shown}", style)
        if self.full:
            yield from (self.screen.paint(f"      {part}", "dim") for part in render_full_result(detail))

    # -- sub-agents

    def _render_agent_of(self, call: Call) -> Iterator[str]:
        root = self.above[0] if self.above else self
        places = [root._agent_places.get(key) for key in (("call", call.id), ("agent", call.agent_id or ""))]
        if found := [place for place in places if place is not None]:
            yield from self._render_agent(root.session.agents[min(found)])

    @cached_property
    def _agent_places(self) -> dict[tuple[str, str | None], int]:
        """Where the first sub-agent that a call started, and the first one with an id, is in the list of them."""
        places: dict[tuple[str, str | None], int] = {}
        for place, agent in enumerate(self.session.agents):
            for key in (("call", agent.call_id), ("agent", agent.agent_id)):
                places.setdefault(key, place)
        return places

    def _render_agent(self, agent: SubAgent) -> Iterator[str]:
        """Render a sub-agent: its name, usage and turns."""
        root = self.above[0].session if self.above else self.session
        inner = root.open_agent_session(agent)
        seen = any(story.session is inner for story in (*self.above, self))
        yield self.screen.paint(f"┌ {to_visible_line(_name_agent(agent))}: {_describe_usage(inner)}", "cyan")
        if not seen and len(self.above) < _MAX_NESTING:
            story = SessionStory(inner, self.screen, thinking=self.thinking, full=self.full, above=(*self.above, self))
            yield from ((self.screen.paint("│", "cyan") + text).rstrip() for text in story.render_agent_turns())
        yield self.screen.paint("└", "cyan")

    def render_agent_turns(self) -> Iterator[str]:
        yield from self.render_events(None)
        for turn in self.session.turns:
            prompt = self._shorten_lines(turn.text, MAX_AGENT_LINES)
            yield from (self.screen.paint(f"  > {part}", "bold") for part in prompt)
            yield from self.render_events(turn)

    # -- cached lookups

    @cached_property
    def _first_lines(self) -> dict[int, Message]:
        return {message.lines[0].index: message for message in self.session.messages}

    @cached_property
    def _calls(self) -> dict[str, Call]:
        return {call.id: call for call in self.session.calls}

    @cached_property
    def _entries(self) -> dict[int | None, list[Entry]]:
        """The entries by turn; those without a turn are under None."""
        found: dict[int | None, list[Entry]] = {}
        for entry in self.session.entries:
            turn = self.session.find_turn(entry)
            found.setdefault(turn.index if turn else None, []).append(entry)
        return found

    @cached_property
    def _loose_entries(self) -> dict[int | None, list[Entry]]:
        """The entries without a turn, grouped by the turn that follows them."""
        starts = [(turn.start.index, turn.index) for turn in self.session.turns]
        found: dict[int | None, list[Entry]] = {}
        place = 0
        for entry in self._entries.get(None, []):
            while place < len(starts) and starts[place][0] < entry.index:
                place += 1
            found.setdefault(starts[place][1] if place < len(starts) else None, []).append(entry)
        return found

    def _shorten_lines(self, text: str, limit: int) -> list[str]:
        """Return the lines of the text up to a limit, and the number of omitted lines."""
        if self.full:
            return to_visible_lines(text)
        kept, left = take_first_lines(text, limit, _MAX_LINE_CHARS)
        return [*kept, f"… {format_count(left, 'more line')} (--full)"] if left else kept


def _name_agent(agent: SubAgent) -> str:
    name = f"{agent.type or agent.kind} {agent.agent_id}"
    told = f"{name} “{agent.description}”" if agent.description else name
    return f"{told} (incomplete: its file is missing)" if agent.is_incomplete else told


def _describe_usage(session: Session) -> str:
    usage = sum_usage(session.messages)
    money = f", {time_format.format_money(usage.cost_usd)}" if usage.cost_usd else ""
    return f"{format_count(len(session.calls), 'call')}, {format_usage_tokens(usage)}{money}"


_KIND_STYLES = {
    "teammate": "magenta",
    "peer": "magenta",
    "other": "magenta",
    "hook": "yellow",
    "interrupt": "yellow",
    "api-error": "red",
    "microcompaction": "cyan",
}
_HIDDEN_KINDS = frozenset({"orphan"})
_HIDDEN_SUBTYPES = frozenset({"turn_duration", "stop_hook_summary"})


class EventLine(NamedTuple):
    """One item in the story."""

    text: str
    styles: tuple[str, ...] = ("dim",)
    is_long: bool = False
    """Whether to show more than its first line."""
    typed: bool = False
    """Whether a person typed it during a turn."""


def describe_side_event(session: Session, entry: Entry) -> EventLine | None:
    """Describe an entry outside the conversation; return None if it is not worth a line."""
    if entry.subtype == "compact_boundary" and entry.type == "system":
        return EventLine(_describe_compaction(session, entry), ("cyan",))
    found = describe_entry_event(session.file, entry)
    if found is None or found.kind in _HIDDEN_KINDS or entry.subtype in _HIDDEN_SUBTYPES:
        return None
    is_long = found.kind == "output" or found.kind in SENDING_SPEAKERS or entry.subtype == "local_command"
    return EventLine(_word_event(found), (_choose_style(found),), is_long, found.kind == "typed")


def _word_event(found: EventText) -> str:
    match found.kind:
        case "output":
            return found.detail or found.text
        case "summary":
            return f"summary: {found.detail}"
        case "notification":
            return f"notification: {found.text}"
        case "teammate" | "peer" | "other":
            return f"{found.text}:\n{found.detail}"
        case "microcompaction":
            return f"── {found.text}"
        case "api-error":
            return to_visible_line(found.text)
    return found.text


def _choose_style(found: EventText) -> str:
    return _KIND_STYLES.get(found.kind, "yellow" if found.tone in ("warning", "error") else "dim")


def _describe_compaction(session: Session, entry: Entry) -> str:
    place = bisect_left(session.compactions, entry.index, key=lambda item: item.boundary.index)
    found = session.compactions[place] if place < len(session.compactions) else None
    if found is None or found.boundary is not entry:
        return "── compaction"
    parts = [f"── compaction ({found.trigger})" if found.trigger else "── compaction"]
    if found.summarised:
        parts.append(f"a summary replaces {format_count(len(found.summarised), 'entry')}".replace("entrys", "entries"))
    if found.preserved:
        parts.append(f"{format_count(len(found.preserved), 'message')} kept word for word")
    if found.pre_tokens:
        after = f" to {found.post_tokens:,}" if found.post_tokens else ""
        parts.append(f"from {found.pre_tokens:,}{after} tokens")
    return ", ".join(parts) + " ──"
