"""`/rewind`: a person chooses a prompt to go back to, and what goes back: the conversation, the files, or both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from turnlog.agent.console.screen import ConsoleScreen
from turnlog.agent.console.session_picker import format_age
from turnlog.agent.file_history.restoration import RestoredFiles, RestoreStep, describe_steps
from turnlog.agent.file_history.rewind_points import RewindPoint
from turnlog.agent.loop import AgentLoop
from turnlog.agent.session_rewind import (
    plan_session_files,
    read_rewind_points,
    restore_session_files,
    rewind_conversation,
)
from turnlog.errors import TurnlogError
from turnlog.render.figures import format_count
from turnlog.render.terminal import cut_to_cells, to_visible_line

MAX_LISTED_PROMPTS = 15
POINT_HINT = "  number of the prompt to go back to, Enter to cancel: "
PARTS_HINT = "  b: both   c: only the conversation   f: only the files   Enter: cancel   "
CONVERSATION_HINT = "  c: go back in the conversation   Enter: cancel   "
UNCHANGED_TEXT = "Nothing was changed."
_PROMPT_CELLS = 60
_MAX_PROMPT_CHARS = 400
Ask = Callable[[str], str | None]


class RewindResult(NamedTuple):
    lines: tuple[str, ...]
    """What to show."""
    draft: str = ""
    """The prompt that the conversation went back to, to be edited and sent again."""
    prompt: str = ""
    """What the person typed instead of a number: their next prompt, since a second Esc may have been one too many."""


def ask_and_rewind(loop: AgentLoop, ask: Ask, screen: ConsoleScreen) -> RewindResult:
    """Ask what to rewind, and do it."""
    points = read_rewind_points(loop)[::-1][:MAX_LISTED_PROMPTS]
    if not points:
        return RewindResult(("There is no prompt to go back to yet.",))
    screen.write_lines(*_render_points(points))
    typed = (ask(POINT_HINT) or "").rstrip()
    answer = typed.strip()
    if answer and not answer.isdecimal():
        return RewindResult((), prompt=typed)  # with the blank before a command's mark that was pasted
    if not (answer.isdecimal() and 1 <= int(answer) <= len(points)):
        return RewindResult((UNCHANGED_TEXT,))
    point = points[int(answer) - 1]
    steps, problem = _plan_steps(loop, point)
    screen.write_prose(*_render_plan(steps, problem, loop))
    choice = (ask(PARTS_HINT if steps else CONVERSATION_HINT) or "").strip().lower()
    if choice not in (("b", "c", "f") if steps else ("c",)):
        return RewindResult((UNCHANGED_TEXT,))
    lines: list[str] = []
    if choice in ("b", "f"):
        lines += _describe_restored(restore_session_files(loop, steps), loop)
    if choice == "f":
        return RewindResult(tuple(lines))
    rewind_conversation(loop, point)
    lines.append("The conversation continues before this prompt. What followed stays in the session as a branch.")
    return RewindResult(tuple(lines), point.text)


def _plan_steps(loop: AgentLoop, point: RewindPoint) -> tuple[list[RestoreStep], str]:
    """Return the steps for the files, and why there are none if that needs an explanation."""
    try:
        return plan_session_files(loop, point.prompt), ""
    except TurnlogError as error:
        return [], str(error)


def _render_points(points: Sequence[RewindPoint]) -> Iterator[str]:
    for number, point in enumerate(points, 1):
        age = format_age(point.time) if point.time else ""
        yield f"{number:>3}  {cut_to_cells(to_visible_line(point.text[:_MAX_PROMPT_CHARS]), _PROMPT_CELLS)}   {age}"


def _render_plan(steps: Sequence[RestoreStep], problem: str, loop: AgentLoop) -> Iterator[str]:
    if problem:
        yield f"  Files stay as they are: {to_visible_line(problem)}"
    elif not steps:
        yield "  The files are as they were before this prompt."
    for line in describe_steps(steps, loop.setup.place.root):
        yield f"  {to_visible_line(line)}"


def _describe_restored(done: RestoredFiles, loop: AgentLoop) -> Iterator[str]:
    yield f"{format_count(len(done.changed), 'file')} restored."
    for line in describe_steps(done.skipped, loop.setup.place.root):
        yield f"  {to_visible_line(line)}"
    if done.kept is not None:
        yield f"Copies of what was replaced: {to_visible_line(str(done.kept))}"
