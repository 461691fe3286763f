"""The console: a conversation in a terminal.

The main thread reads the keyboard while another thread runs the turn (`turn_worker`).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from turnlog.agent.briefing.plan_mode import PlanModeTracker
from turnlog.agent.console import person_questions, session_title
from turnlog.agent.console.completion import complete_word
from turnlog.agent.console.keyboard import Keyboard, ModeKeyPressed, RewindKeyPressed, TypingInterrupted
from turnlog.agent.console.keys import protect_pasted_mark, restore_pasted_mark
from turnlog.agent.console.pasted_content import PastedContent
from turnlog.agent.console.screen import ConsoleScreen
from turnlog.agent.console.session_picker import choose_session
from turnlog.agent.console.status_line import StatusLine
from turnlog.agent.console.turn_display import TurnDisplay
from turnlog.agent.console.turn_worker import TurnWorker
from turnlog.agent.console.user_command import run_user_command
from turnlog.agent.conversation import MessageContent
from turnlog.agent.events import TurnEvent
from turnlog.agent.key_shield import build_child_environment
from turnlog.agent.loop import AgentLoop
from turnlog.agent.permissions.decision import Decision
from turnlog.agent.person import PermissionAnswer
from turnlog.agent.session_starter import SessionStarter
from turnlog.agent.settings import PermissionMode
from turnlog.agent.slash_commands import (
    describe_unknown_command,
    is_custom_command,
    is_slash_command,
    run_slash_command,
)
from turnlog.agent.start_options import StartOptions, derive_start_options
from turnlog.agent.started_session import StartedSession
from turnlog.agent.tools.tool import Question
from turnlog.api.lookup import find_existing_session
from turnlog.entries.layout import find_config_dirs
from turnlog.entries.marks import to_typed_text
from turnlog.errors import TurnlogError
from turnlog.model.cancel import Cancel
from turnlog.render.terminal import to_visible_line

PROMPT_HINT = "> "
MODES_BY_KEY: tuple[PermissionMode, ...] = ("default", "acceptEdits", "plan")
_MODE_MEANINGS: dict[str, str] = {
    "default": "asks before every call that no rule allows",
    "acceptEdits": "changes files in the working folders without asking",
    "plan": "changes nothing until you approve a plan",
    "bypassPermissions": "never asks",
    "dontAsk": "denies every call that no rule allows",
}
_MAX_DRAFT_CHARS = 4_000
"""A longer prompt that the conversation goes back to is folded like pasted text."""
_MAX_REPEATED_CHARS = 400
"""How much of a resumed session's latest prompt and answer to show."""
_HOW_TO_LEAVE = "Press Ctrl-C again or Ctrl-D to exit."


class Console:
    """A person at a terminal and the session that they are working in."""

    answers_background_agents = False
    fills_in_forms = True

    def __init__(
        self, starter: SessionStarter, options: StartOptions, screen: ConsoleScreen, keyboard: Keyboard
    ) -> None:
        self._starter = starter
        self._options = options
        self._screen = screen
        self._keyboard = keyboard
        self._display = TurnDisplay(screen, str(starter.cwd))
        self._status = StatusLine()
        self._work = TurnWorker(keyboard, screen, self._switch_to_next_mode, self._display.activity)
        self._session = starter.begin_session(options, self._watch, self)
        self._title_cancel: Cancel | None = None
        """Cancels the request for a title; None until the request starts."""
        self._plan_mode = PlanModeTracker(self.loop)
        self._modes = tuple(dict.fromkeys((*MODES_BY_KEY, self.loop.setup.guard.mode)))
        """The modes that Shift-Tab cycles through: the usual ones and the one with which the session started."""
        keyboard.complete = lambda word, is_first: complete_word(self.loop, word, is_first=is_first)
        self._pasted = PastedContent(self._find_reading_obstacle)
        keyboard.adopt_paste, keyboard.expand = self._pasted.adopt_paste, self._pasted.expand
        keyboard.paste_picture = self._paste_clipboard_picture
        if self._session.settings.get_value("editorMode", str) == "vim":
            keyboard.use_vi_keys()
        self._show_greeting(self._session)

    def _watch(self, event: TurnEvent) -> None:
        self._display.watch(event)
        self._status.watch(event)

    # -- the conversation

    @property
    def loop(self) -> AgentLoop:
        return self._session.loop

    def run(self, first: str | None = None) -> int:
        """Run the conversation until the person leaves, and return the exit status."""
        try:
            text = first
            if first and first.strip():
                self._screen.write_prose(f"{self._prompt_hint}{to_visible_line(first)}")
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
            self._screen.write_prose(f"To continue: turnlog chat --resume {self.loop.record.session_id}", style="dim")
        return 0

    def close(self, reason: str = "other") -> None:
        """Release the session and the terminal."""
        self._cancel_title_request()
        self._session.close(reason)
        self._keyboard.close()

    def _handle_input(self, text: str) -> None:
        self._screen.start_part("prompt")
        try:
            if text != (exact := restore_pasted_mark(text)):
                self._run_turn(exact, is_typed=False)
            elif is_slash_command(text) and not is_custom_command(self.loop, text):
                self._run_slash_command(self._pasted.expand(text))
            elif text.startswith("!") and (command := self._pasted.expand(text[1:]).strip()):
                self._plan_mode.announce_change()
                self._work.run_in_thread(
                    self._session, lambda cancel: run_user_command(self.loop, command, self._display, cancel)
                )
            else:
                self._run_turn(text)
        except (TurnlogError, OSError) as error:
            self._screen.write_prose(to_visible_line(str(error)), style="red")

    def _run_turn(self, text: str, *, is_typed: bool = True) -> None:
        """Send a prompt. One that is not typed at its start names no command, whatever it begins with."""
        typed = text if is_typed else f" {text}"
        text, pictures = self._pasted.expand(text), self._pasted.list_pictures(text)
        content: MessageContent = text
        fields: dict[str, Any] = {}
        if pictures:
            content = [{"type": "text", "text": text}, *(picture.block for picture in pictures)]
            fields = {"imagePasteIds": [picture.number for picture in pictures]}
        if self._title_cancel is None and self._session.resumed is None and session_title.is_title_wanted(self.loop):
            self._title_cancel = Cancel()
            session_title.request_title(self.loop, text, self._title_cancel)
        self._plan_mode.announce_change()
        self._work.run_in_thread(
            self._session, lambda cancel: self.loop.run_turn(content, cancel, typed_text=typed, **fields)
        )
        self._plan_mode.update_after_turn()

    def _run_notice_turn(self) -> None:
        """Let the model respond to the end of a background task."""
        for notice in self.loop.shared.notices.list_waiting():
            self._display.show_notice(notice)
        try:
            self._work.run_in_thread(self._session, self.loop.run_notice_turn)
        except (TurnlogError, OSError) as error:
            self._screen.write_prose(to_visible_line(str(error)), style="red")

    def _read_next_input(self) -> str | None:
        """Return the text that was queued during the turn or, if there is none, read a prompt; None means exit."""
        if self._work.queue:
            text = self._work.queue.popleft()
            self.loop.record.write_queue_operation("dequeue")
            self._screen.start_part("prompt")
            self._screen.write_prose(f"{self._prompt_hint}{to_visible_line(text)}")
            return text
        is_warned, notices = False, self.loop.shared.notices
        notices.watch = self._keyboard.interrupt_typing
        while True:
            while notices.list_waiting() and not self._work.is_leaving:
                self._run_notice_turn()
            if self._work.is_leaving:
                return None
            if self._work.queue:
                return self._read_next_input()
            self._screen.start_part("prompt")
            self._screen.write_lines(*self._status.render_change(self.loop, self._session.settings, self._screen.look))
            try:
                return self._keyboard.read_line(self._prompt_hint, draft=self._work.draft.take_text(), keep=True)
            except ModeKeyPressed as interrupt:
                self._work.draft.text = str(interrupt)
                self._switch_to_next_mode()
            except RewindKeyPressed as interrupt:
                self._leave_input(str(interrupt))
            except TypingInterrupted as interrupt:
                self._work.draft.text = str(interrupt)
                message, self._keyboard.message = self._keyboard.message, ""
                self._screen.write_lines("")
                if message:
                    self._screen.write_prose(f"· {to_visible_line(message)}", style="yellow")
            except EOFError:
                self._screen.write_lines("")
                return None
            except KeyboardInterrupt:
                self._screen.write_lines("" if is_warned else f"\n{self._paint_dim(_HOW_TO_LEAVE)}")
                if is_warned:
                    return None
                is_warned = True

    def _leave_input(self, text: str) -> None:
        """Put away what was typed, or, if nothing was, let the person go back to an earlier prompt (Esc, Esc)."""
        if text.strip():
            self._keyboard.remember(text)
            self._screen.write_prose("· put away; Up brings it back", style="dim")
        else:
            self._run_slash_command("/rewind")

    def _find_reading_obstacle(self, path: Path) -> str:
        decision = self.loop.setup.guard.decide("Read", {"file_path": str(path)}, self.loop.setup.place)
        return (decision.reason or "a rule denies it") if decision.verdict == "deny" else ""

    def _paste_clipboard_picture(self) -> str:
        from turnlog.agent.console.clipboard import read_clipboard_picture  # few sessions paste pictures

        environ = build_child_environment(self.loop.setup.environ)
        return self._pasted.add_picture(read_clipboard_picture(environ, self.loop.setup.place.root))

    def _run_slash_command(self, text: str) -> None:
        self._screen.start_part("command", is_attached=True)
        lines = run_slash_command(self, text)
        lines = [describe_unknown_command(text)] if lines is None else lines
        is_exact = text.split()[:2] == ["/context", "--raw"]  # the next request, as it would be sent
        (self._screen.write_lines if is_exact else self._screen.write_prose)(*lines)

    def _switch_to_next_mode(self) -> None:
        """Switch to the next permission mode, as Shift-Tab does in Claude Code."""
        guard = self.loop.setup.guard
        position = self._modes.index(guard.mode) + 1 if guard.mode in self._modes else 0
        guard.mode = self._modes[position % len(self._modes)]
        self.loop.record.write_permission_mode(guard.mode)
        self._screen.write_prose(f"· {guard.mode}: {_MODE_MEANINGS[guard.mode]}", style="dim")

    # -- questions from a turn

    def permit(
        self, name: str, arguments: Mapping[str, Any], decision: Decision, agent: str | None
    ) -> PermissionAnswer:
        place = self.loop.setup.place

        if self.loop.lifecycle is not None:
            self.loop.lifecycle.notify(f"turnlog needs your permission to use {name}", "permission_prompt")

        def ask() -> PermissionAnswer:
            screen, height = self._screen, shutil.get_terminal_size().lines
            screen.start_part("question")
            screen.write_lines(
                *person_questions.render_permission_question(
                    name, arguments, decision, place, screen.look, agent, height
                )
            )
            _, hidden = person_questions.split_call(name, arguments, place, screen.look, height)
            view = (lambda: screen.write_lines(*hidden)) if hidden else None
            answer = person_questions.ask_permission(decision, self._work.read_answer, view)
            if answer.verdict != "no" and agent is None:
                self._display.note_approved_change(name, arguments)
            return answer

        return self._work.ask_in_main_thread(self._session, ask, "permission prompt")

    def answer(self, question: Question) -> Mapping[str, Any] | None:
        """Ask the person a question from the model or a server, or ask them to approve a plan."""
        work, screen = self._work, self._screen
        if question.kind == "form" and not work.is_busy:
            return None  # between turns, the person is typing
        given = (question.arguments, work.read_answer, screen.write_lines, screen.look)

        def ask() -> Mapping[str, Any] | None:
            screen.start_part("question")
            if question.kind == "form":
                from turnlog.agent.console.server_form import ask_server_form  # few servers ask

                return ask_server_form(*given)
            if question.kind != "plan":
                return person_questions.ask_questions(*given)
            from turnlog.agent.console.plan_review import ask_plan_approval  # few sessions have plans

            return ask_plan_approval(*given, self._edit_plan)

        return work.ask_in_main_thread(self._session, ask, "input needed")

    def _edit_plan(self, plan: str) -> str:
        from turnlog.agent.console.plan_review import edit_plan

        with self._keyboard.lend_terminal():
            return edit_plan(plan, self._starter.environ)

    # -- actions of slash commands

    def clear(self) -> None:
        """Start a new session with the same model."""
        self._switch_session(derive_start_options(self._current_options._replace(model=self.loop.setup.name)))

    def resume(self, name: str) -> bool:
        """Switch to a different session; return False if the person chooses none or the current one."""
        name_or_path = name or choose_session(self._starter, self._work.read_answer, self._screen)
        if (
            not name_or_path
            or find_existing_session(name_or_path, find_config_dirs(self._starter.environ)) == self.loop.record.path
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

        done = ask_and_rewind(self.loop, self._work.read_answer, self._screen)
        draft = done.draft if len(done.draft) <= _MAX_DRAFT_CHARS else self._pasted.adopt_paste(done.draft)
        if draft:
            # An earlier prompt was never a shell command, although it may begin like one.
            self._work.draft.text = protect_pasted_mark(draft) if draft.startswith("!") else draft
        self._work.queue_prompt(self._session, done.prompt)
        return done.lines

    def edit_file(self, path: Path) -> None:
        from turnlog.agent.console.editor import edit_file

        with self._keyboard.lend_terminal():
            edit_file(path, self._starter.environ)

    def leave(self) -> None:
        self._work.is_leaving = True

    def _switch_session(self, options: StartOptions) -> None:
        before = self._session
        after = self._starter.begin_session(options, self._watch, self)
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
        self._screen.start_part("prompt")  # which follows without an empty row
        self._screen.write_prose(" · ".join(map(to_visible_line, facts)), style="dim")
        self._screen.write_prose(*(f"· {to_visible_line(warning)}" for warning in session.warnings), style="yellow")
        if session.resumed is not None:
            self._screen.write_prose(*describe_last_exchange(session))

    def _paint_dim(self, text: str) -> str:
        return self._screen.look.paint(text, "dim")


def describe_last_exchange(session: StartedSession) -> list[str]:
    """Return the latest prompt and the start of the latest answer in a resumed session."""
    from turnlog.session.messages import FILLER_TEXT  # resuming has already imported it

    resumed = session.resumed
    if resumed is None:
        return []
    texts = [
        str(block.get("text"))
        for message in resumed.messages
        if message["role"] == "assistant"
        for block in message["content"]
        if block.get("type") == "text" and block.get("text") != FILLER_TEXT
    ]
    prompt = to_typed_text(resumed.last_prompt)
    return [
        *([f"{PROMPT_HINT}{to_visible_line(_shorten(prompt))}"] if prompt else []),
        *([to_visible_line(_shorten(texts[-1]))] if texts else []),
    ]


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_REPEATED_CHARS else f"{text[:_MAX_REPEATED_CHARS]}…"
