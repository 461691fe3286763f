"""The console: a conversation in a terminal.

The main thread reads the keyboard while another thread runs the turn (`turn_worker`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnlog.agent.briefing.plan_mode import PlanModeTracker
from turnlog.agent.console import person_questions, session_title
from turnlog.agent.console.keyboard import Keyboard, ModeKeyPressed, TypingInterrupted
from turnlog.agent.console.screen import ConsoleScreen
from turnlog.agent.console.session_picker import choose_session
from turnlog.agent.console.turn_display import TurnDisplay
from turnlog.agent.console.turn_worker import TurnWorker
from turnlog.agent.console.user_command import run_user_command
from turnlog.agent.loop import AgentLoop
from turnlog.agent.permissions.decision import Decision
from turnlog.agent.person import PermissionAnswer
from turnlog.agent.session_starter import SessionStarter, StartedSession, StartOptions, derive_start_options
from turnlog.agent.settings import PermissionMode
from turnlog.agent.slash_commands import (
    describe_unknown_command,
    is_custom_command,
    is_slash_command,
    run_slash_command,
)
from turnlog.agent.tools.tool import Question
from turnlog.entries.layout import find_config_dirs
from turnlog.errors import TurnlogError
from turnlog.model.cancel import Cancel
from turnlog.render.terminal import to_visible_line
from turnlog.session.session_lookup import find_session_file

PROMPT_HINT = "> "
MODES_BY_KEY: tuple[PermissionMode, ...] = ("default", "acceptEdits", "plan")
_MODE_MEANINGS: dict[str, str] = {
    "default": "asks before every call that no rule allows",
    "acceptEdits": "changes files in the working folders without asking",
    "plan": "changes nothing until you approve a plan",
    "bypassPermissions": "never asks",
    "dontAsk": "denies every call that no rule allows",
}
_HOW_TO_LEAVE = "Press Ctrl-C again or Ctrl-D to exit."


class Console:
    """A person at a terminal and the session that they are working in."""

    def __init__(
        self, starter: SessionStarter, options: StartOptions, screen: ConsoleScreen, keyboard: Keyboard
    ) -> None:
        self._starter = starter
        self._options = options
        self._screen = screen
        self._keyboard = keyboard
        self._display = TurnDisplay(screen, str(starter.cwd))
        self._work = TurnWorker(keyboard, screen, self._switch_to_next_mode)
        self._session = starter.begin_session(options, self._display.watch, self)
        self._title_cancel: Cancel | None = None
        """Cancels the request for a title; None until the request starts."""
        self._plan_mode = PlanModeTracker(self.loop)
        self._modes = tuple(dict.fromkeys((*MODES_BY_KEY, self.loop.setup.guard.mode)))
        """The modes that Shift-Tab cycles through: the usual ones and the one with which the session started."""
        self._show_greeting(self._session)

    # -- the conversation

    @property
    def loop(self) -> AgentLoop:
        return self._session.loop

    def run(self, first: str | None = None) -> int:
        """Run the conversation until the person leaves, and return the exit status."""
        try:
            text = first
            if first and first.strip():
                self._screen.write_lines(f"{self._prompt_hint}{to_visible_line(first)}")
            while not self._work.is_leaving:
                text = self._read_next_input() if text is None else text
                if text is None:
                    break
                if text.strip():
                    self._handle_input(text)
                text = None
        finally:
            self.close("prompt_input_exit")
        if self.loop.record.path.exists():
            self._screen.write_lines(
                self._paint_dim(f"turnlog chat --resume {self.loop.record.session_id}   continues this session")
            )
        return 0

    def close(self, reason: str = "other") -> None:
        """Release the session and the terminal."""
        self._cancel_title_request()
        self._session.close(reason)
        self._keyboard.close()

    def _handle_input(self, text: str) -> None:
        try:
            if is_slash_command(text) and not is_custom_command(self.loop, text):
                self._run_slash_command(text)
            elif text.startswith("!") and (command := text[1:].strip()):
                self._plan_mode.announce_change()
                self._work.run_in_thread(
                    self._session, lambda cancel: run_user_command(self.loop, command, self._display, cancel)
                )
            else:
                self._run_turn(text)
        except (TurnlogError, OSError) as error:
            self._screen.write_lines(self._screen.look.paint(to_visible_line(str(error)), "red"))

    def _run_turn(self, text: str) -> None:
        if self._title_cancel is None and self._session.resumed is None and session_title.is_title_wanted(self.loop):
            self._title_cancel = Cancel()
            session_title.request_title(self.loop, text, self._title_cancel)
        self._plan_mode.announce_change()
        self._work.run_in_thread(self._session, lambda cancel: self.loop.run_turn(text, cancel))
        self._plan_mode.update_after_turn()

    def _read_next_input(self) -> str | None:
        """Return the text that was queued during the turn or, if there is none, read a prompt; None means exit."""
        if self._work.queue:
            text = self._work.queue.popleft()
            self.loop.record.write_queue_operation("dequeue")
            self._screen.write_lines(f"{self._prompt_hint}{to_visible_line(text)}")
            return text
        is_warned, shells = False, self.loop.shared.shells
        shells.watch = self._keyboard.interrupt_typing
        while True:
            for notice in shells.list_waiting_notices():
                self._display.show_notice(notice)
            try:
                return self._keyboard.read_line(self._prompt_hint, draft=self._work.draft.take_text(), keep=True)
            except ModeKeyPressed as interrupt:
                self._work.draft.text = str(interrupt)
                self._switch_to_next_mode()
            except TypingInterrupted as interrupt:
                self._work.draft.text = str(interrupt)
                self._screen.write_lines("")
            except EOFError:
                self._screen.write_lines("")
                return None
            except KeyboardInterrupt:
                self._screen.write_lines("" if is_warned else f"\n{self._paint_dim(_HOW_TO_LEAVE)}")
                if is_warned:
                    return None
                is_warned = True

    def _run_slash_command(self, text: str) -> None:
        lines = run_slash_command(self, text)
        self._screen.write_lines(*([describe_unknown_command(text)] if lines is None else lines))

    def _switch_to_next_mode(self) -> None:
        """Switch to the next permission mode, as Shift-Tab does in Claude Code."""
        guard = self.loop.setup.guard
        position = self._modes.index(guard.mode) + 1 if guard.mode in self._modes else 0
        guard.mode = self._modes[position % len(self._modes)]
        self.loop.record.write_permission_mode(guard.mode)
        self._screen.write_lines(self._paint_dim(f"· {guard.mode}: {_MODE_MEANINGS[guard.mode]}"))

    # -- questions from a turn

    def permit(
        self, name: str, arguments: Mapping[str, Any], decision: Decision, agent: str | None
    ) -> PermissionAnswer:
        place = self.loop.setup.place

        if self.loop.lifecycle is not None:
            self.loop.lifecycle.notify(f"turnlog needs your permission to use {name}", "permission_prompt")

        def ask() -> PermissionAnswer:
            self._screen.write_lines(
                *person_questions.render_permission_question(name, arguments, decision, place, self._screen.look, agent)
            )
            return person_questions.ask_permission(decision, self._work.read_answer)

        return self._work.ask_in_main_thread(self._session, ask, "permission prompt")

    def answer(self, question: Question) -> Mapping[str, Any] | None:
        """Ask the person a question from the model, or ask them to approve a plan."""
        ask = person_questions.ask_plan_approval if question.kind == "plan" else person_questions.ask_questions
        work, screen = self._work, self._screen
        return work.ask_in_main_thread(
            self._session,
            lambda: ask(question.arguments, work.read_answer, screen.write_lines, screen.look),
            "input needed",
        )

    # -- actions of slash commands

    def clear(self) -> None:
        """Start a new session with the same model."""
        self._switch_session(derive_start_options(self._current_options._replace(model=self.loop.setup.name)))

    def resume(self, name: str) -> bool:
        """Switch to a different session; return False if the person chooses none or the current one."""
        name_or_path = name or choose_session(self._starter, self._work.read_answer, self._screen)
        if (
            not name_or_path
            or find_session_file(name_or_path, find_config_dirs(self._starter.environ)) == self.loop.record.path
        ):
            return False
        self._switch_session(derive_start_options(self._current_options, name_or_path))
        self._show_greeting(self._session)
        return True

    @property
    def _current_options(self) -> StartOptions:
        """The start options with the current permission mode, which may have changed since the start."""
        return self._options._replace(mode=self.loop.setup.guard.mode)

    def compact(self, instructions: str) -> bool:
        return self._work.run_in_thread(self._session, lambda cancel: self.loop.compact(instructions, cancel))

    def rewind(self) -> Sequence[str]:
        """Let the person go back to an earlier prompt, which they can then edit and send again."""
        from turnlog.agent.console.rewind_dialog import ask_and_rewind  # imports the whole session package

        lines, draft = ask_and_rewind(self.loop, self._work.read_answer, self._screen)
        self._work.draft.text = draft or self._work.draft.text
        return lines

    def leave(self) -> None:
        self._work.is_leaving = True

    def _switch_session(self, options: StartOptions) -> None:
        before = self._session
        after = self._starter.begin_session(options, self._display.watch, self)
        self._cancel_title_request()
        before.close("clear" if options.resume is None else "resume")
        self._session = after
        self._plan_mode = PlanModeTracker(after.loop)

    def _cancel_title_request(self) -> None:
        if self._title_cancel is not None:
            self._title_cancel.set()
        self._title_cancel = None

    @property
    def _prompt_hint(self) -> str:
        mode = self.loop.setup.guard.mode
        return PROMPT_HINT if mode == "default" else f"{mode} {PROMPT_HINT}"

    def _show_greeting(self, session: StartedSession) -> None:
        setup = session.loop.setup
        facts = (setup.name, str(setup.place.root), setup.guard.mode)
        self._screen.write_lines(self._paint_dim(" · ".join(map(to_visible_line, facts))))
        for warning in session.warnings:
            self._screen.write_lines(self._screen.look.paint(f"· {to_visible_line(warning)}", "yellow"))
        if session.resumed is not None:
            for text in describe_last_exchange(session):
                self._screen.write_lines(text)

    def _paint_dim(self, text: str) -> str:
        return self._screen.look.paint(text, "dim")


def describe_last_exchange(session: StartedSession) -> list[str]:
    """Return the latest prompt and the start of the latest answer in a resumed session."""
    resumed = session.resumed
    if resumed is None:
        return []
    texts = [
        str(block.get("text"))
        for message in resumed.messages
        if message["role"] == "assistant"
        for block in message["content"]
        if block.get("type") == "text"
    ]
    prompt = [f"{PROMPT_HINT}{to_visible_line(resumed.last_prompt[:400])}"] if resumed.last_prompt else []
    return [*prompt, *([f"{to_visible_line(texts[-1][:400])}"] if texts else [])]
