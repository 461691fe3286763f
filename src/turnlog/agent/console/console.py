"""The console: a conversation in a terminal. The main thread reads the keyboard, another one runs the turn (`work`)."""

from __future__ import annotations

from collections.abc import Mapping
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
from turnlog.agent.slash_commands import describe_unknown_command, is_slash_command, run_slash_command
from turnlog.agent.tools.tool import Question
from turnlog.entries.layout import find_config_dirs
from turnlog.errors import TurnlogError
from turnlog.model.cancel import Cancel
from turnlog.render.terminal import to_visible_line
from turnlog.session.session_lookup import find_session_file

PROMPT_HINT = "> "
MODES_BY_KEY: tuple[PermissionMode, ...] = ("default", "acceptEdits", "plan")
_MODE_MEANINGS: dict[str, str] = {
    "default": "what no rule allows is asked",
    "acceptEdits": "files in the working folders are changed without asking",
    "plan": "nothing is changed until you agree to a plan",
    "bypassPermissions": "nothing is asked",
    "dontAsk": "what no rule allows is denied",
}
_HOW_TO_LEAVE = "Ctrl-C again, or Ctrl-D, leaves."


class Console:
    """A person at a terminal, and the session that they talk to."""

    def __init__(
        self, starting: SessionStarter, wishes: StartOptions, screen: ConsoleScreen, keyboard: Keyboard
    ) -> None:
        self._starting = starting
        self._wishes = wishes
        self._screen = screen
        self._keyboard = keyboard
        self._showing = TurnDisplay(screen, str(starting.cwd))
        self._work = TurnWorker(keyboard, screen, self._switch_to_next_mode)
        self._begun = starting.begin_session(wishes, self._showing.watch, self)
        self._naming: Cancel | None = None
        """Ends the search for a title, once it was begun."""
        self._planning = PlanModeTracker(self.loop)
        self._modes = tuple(dict.fromkeys((*MODES_BY_KEY, self.loop.setup.guard.mode)))
        """Those that the key leads to; any other only where the client was begun with it."""
        self._show_greeting(self._begun)

    # -- the conversation

    @property
    def loop(self) -> AgentLoop:
        """The session at work."""
        return self._begun.loop

    def run(self, first: str | None = None) -> int:
        """Talk until the person leaves; the exit status."""
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
            self.close()
        if self.loop.record.path.exists():
            self._screen.write_lines(
                self._paint_dim(f"turnlog chat --resume {self.loop.record.session_id}   goes on with it")
            )
        return 0

    def close(self) -> None:
        """Let go of the session and of the terminal."""
        self._cancel_title_request()
        self._begun.close()
        self._keyboard.close()

    def _handle_input(self, text: str) -> None:
        try:
            if is_slash_command(text):
                self._run_slash_command(text)
            elif text.startswith("!") and (command := text[1:].strip()):
                self._planning.announce_change()
                self._work.run_in_thread(
                    self._begun, lambda cancel: run_user_command(self.loop, command, self._showing, cancel)
                )
            else:
                self._run_turn(text)
        except (TurnlogError, OSError) as error:
            self._screen.write_lines(self._screen.look.paint(to_visible_line(str(error)), "red"))

    def _run_turn(self, text: str) -> None:
        if self._naming is None and self._begun.resumed is None and session_title.is_title_wanted(self.loop):
            self._naming = Cancel()
            session_title.request_title(self.loop, text, self._naming)
        self._planning.announce_change()
        self._work.run_in_thread(self._begun, lambda cancel: self.loop.run_turn(text, cancel))
        self._planning.update_after_turn()

    def _read_next_input(self) -> str | None:
        """What is said next: what was typed ahead, else what is typed now; None to leave."""
        if self._work.queue:
            text = self._work.queue.popleft()
            self.loop.record.write_queue_operation("dequeue")
            self._screen.write_lines(f"{self._prompt_hint}{to_visible_line(text)}")
            return text
        is_warned, shells = False, self.loop.shared.shells
        shells.watch = self._keyboard.interrupt_typing
        while True:
            for notice in shells.list_waiting_notices():
                self._showing.show_notice(notice)
            try:
                return self._keyboard.read_line(self._prompt_hint, draft=self._work.draft.take_text(), keep=True)
            except ModeKeyPressed as typed:
                self._work.draft.text = str(typed)
                self._switch_to_next_mode()
            except TypingInterrupted as typed:
                self._work.draft.text = str(typed)
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
        told = run_slash_command(self, text)
        self._screen.write_lines(*([describe_unknown_command(text)] if told is None else told))

    def _switch_to_next_mode(self) -> None:
        """Go on to the next permission mode, as the real client does it with the same key."""
        guard = self.loop.setup.guard
        at = self._modes.index(guard.mode) + 1 if guard.mode in self._modes else 0
        guard.mode = self._modes[at % len(self._modes)]
        self.loop.record.write_permission_mode(guard.mode)
        self._screen.write_lines(self._paint_dim(f"· {guard.mode}: {_MODE_MEANINGS[guard.mode]}"))

    # -- what a turn asks

    def permit(self, name: str, given: Mapping[str, Any], decision: Decision, agent: str | None) -> PermissionAnswer:
        """Whether a call may be made."""
        place = self.loop.setup.place

        def ask() -> PermissionAnswer:
            self._screen.write_lines(
                *person_questions.render_permission_question(name, given, decision, place, self._screen.look, agent)
            )
            return person_questions.ask_permission(decision, self._work.read_answer)

        return self._work.ask_in_main_thread(self._begun, ask, "permission prompt")

    def answer(self, question: Question) -> Mapping[str, Any] | None:
        """What the person says to a question or a plan."""
        ask = person_questions.ask_plan_approval if question.kind == "plan" else person_questions.ask_questions
        work, screen = self._work, self._screen
        return work.ask_in_main_thread(
            self._begun, lambda: ask(question.given, work.read_answer, screen.write_lines, screen.look), "input needed"
        )

    # -- what commands need

    def clear(self) -> None:
        """Begin a new session, with the same model."""
        self._switch_session(derive_start_options(self._current_options._replace(model=self.loop.setup.name)))

    def resume(self, name: str) -> bool:
        """Take up another session."""
        chosen = name or choose_session(self._starting, self._work.read_answer, self._screen)
        if not chosen or find_session_file(chosen, find_config_dirs(self._starting.environ)) == self.loop.record.path:
            return False
        self._switch_session(derive_start_options(self._current_options, chosen))
        self._show_greeting(self._begun)
        return True

    @property
    def _current_options(self) -> StartOptions:
        """The wishes as they are now: the mode may have been changed since."""
        return self._wishes._replace(mode=self.loop.setup.guard.mode)

    def compact(self, instructions: str) -> bool:
        """Replace the conversation by a summary."""
        return self._work.run_in_thread(self._begun, lambda cancel: self.loop.compact(instructions, cancel))

    def leave(self) -> None:
        """End after this."""
        self._work.is_leaving = True

    def _switch_session(self, wishes: StartOptions) -> None:
        before = self._begun
        after = self._starting.begin_session(wishes, self._showing.watch, self)
        self._cancel_title_request()
        before.close()
        self._begun = after
        self._planning = PlanModeTracker(after.loop)

    def _cancel_title_request(self) -> None:
        if self._naming is not None:
            self._naming.set()
        self._naming = None

    @property
    def _prompt_hint(self) -> str:
        mode = self.loop.setup.guard.mode
        return PROMPT_HINT if mode == "default" else f"{mode} {PROMPT_HINT}"

    def _show_greeting(self, begun: StartedSession) -> None:
        setup = begun.loop.setup
        facts = (setup.name, str(setup.place.root), setup.guard.mode)
        self._screen.write_lines(self._paint_dim(" · ".join(map(to_visible_line, facts))))
        for warning in begun.warnings:
            self._screen.write_lines(self._screen.look.paint(f"· {to_visible_line(warning)}", "yellow"))
        if begun.resumed is not None:
            for text in describe_last_exchange(begun):
                self._screen.write_lines(text)

    def _paint_dim(self, text: str) -> str:
        return self._screen.look.paint(text, "dim")


def describe_last_exchange(begun: StartedSession) -> list[str]:
    """How a session that is taken up again ended: the last prompt, and the end of the last answer."""
    found = begun.resumed
    if found is None:
        return []
    texts = [
        str(block.get("text"))
        for message in found.messages
        if message["role"] == "assistant"
        for block in message["content"]
        if block.get("type") == "text"
    ]
    prompt = [f"{PROMPT_HINT}{to_visible_line(found.last_prompt[:400])}"] if found.last_prompt else []
    return [*prompt, *([f"{to_visible_line(texts[-1][:400])}"] if texts else [])]
