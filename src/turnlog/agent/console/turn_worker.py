"""Runs a turn in its own thread while the main thread reads the keyboard.

The main thread asks the turn's questions and queues whatever the person types in the meantime as the next prompts.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from turnlog.agent.console.activity_line import ActivityLine
from turnlog.agent.console.answer import read_answer
from turnlog.agent.console.draft import InputDraft
from turnlog.agent.console.keyboard import Keyboard
from turnlog.agent.console.keys import ENTER, ESCAPE, NEXT_MODE, PASTE, PICTURE, UP, Key
from turnlog.agent.console.screen import ConsoleScreen
from turnlog.agent.started_session import StartedSession
from turnlog.errors import TurnlogError
from turnlog.model.cancel import Cancel
from turnlog.model.failures import RequestCancelled
from turnlog.render.terminal import to_visible_line

_MAX_INTERRUPTS = 3
"""How many times Ctrl-C asks a turn to end before the program exits without waiting for it."""
_REFRESH_SECONDS = 1.0
"""How often the line about the work in progress is repainted."""
Value = TypeVar("Value")


class TurnWorker:
    """Runs work in a thread while handling the person's keystrokes."""

    def __init__(
        self, keyboard: Keyboard, screen: ConsoleScreen, next_mode: Callable[[], None], activity: ActivityLine
    ) -> None:
        self._activity = activity
        self._keyboard = keyboard
        self._screen = screen
        self._next_mode = next_mode
        self._questions: deque[_PendingQuestion[Any]] = deque()
        self._cancel: Cancel | None = None
        """Cancels the current work."""
        self.queue: deque[str] = deque()
        """Prompts that were typed during the turn."""
        self.draft = InputDraft()
        self.is_leaving = False

    def run_in_thread(self, session: StartedSession, work: Callable[[Cancel], object]) -> bool:
        """Run `work` in a separate thread while handling the keyboard; return False if it was interrupted."""
        cancel, errors = Cancel(), list[BaseException]()
        over = threading.Event()

        def run() -> None:
            try:
                work(cancel)
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits for it
                errors.append(error)
            finally:
                over.set()
                self._keyboard.wake_waiter()

        session.owner.set_status("busy")
        self._activity.begin()
        self._cancel = cancel
        worker = threading.Thread(target=run, name="turn", daemon=True)
        for _ in range(_MAX_INTERRUPTS):
            try:
                self._watch_keyboard(session, worker, over)
                break
            except KeyboardInterrupt:
                cancel.set()
            except EOFError:
                self.is_leaving = True
                cancel.set()
                over.wait()
        else:
            raise KeyboardInterrupt
        self._restore_typed(session, cancel)
        if errors and not isinstance(errors[0], RequestCancelled):
            raise errors[0]
        return not errors

    @property
    def is_busy(self) -> bool:
        """Whether a turn is running."""
        return self._cancel is not None

    def ask_in_main_thread(self, session: StartedSession, question: Callable[[], Value], reason: str) -> Value:
        """Have the main thread ask a question, and wait for the answer; called from the turn's thread."""
        pending = _PendingQuestion(question)
        session.owner.set_status("waiting", reason)
        self._questions.append(pending)
        self._keyboard.wake_waiter()
        pending.done.wait()
        session.owner.set_status("busy")
        if isinstance(pending.error, KeyboardInterrupt):
            raise RequestCancelled("cancelled")
        if pending.error is not None:
            raise pending.error
        return pending.value[0]

    def read_answer(self, hint: str) -> str | None:
        """Return the answer to a question; cancelling the question ends the turn."""
        answer = read_answer(self._keyboard, self._screen, hint)
        if answer is None and self._cancel is not None:
            self._cancel.set()
        return answer

    def _watch_keyboard(self, session: StartedSession, worker: threading.Thread, over: threading.Event) -> None:
        while not over.is_set():
            with self._keyboard.watch_keys():
                if not worker.ident:
                    worker.start()
                self._screen.show_activity(self._activity.render)
                while not over.is_set() and not self._questions:
                    self._screen.show_typed(self.draft.text)
                    for key in self._keyboard.wait_for_keys(over, _REFRESH_SECONDS):
                        self._handle_key(session, key)
            self._screen.show_activity(None)
            while self._questions:
                self._screen.show_typed("")
                self._keyboard.discard_typed()
                self._questions.popleft().ask_and_release()

    def _restore_typed(self, session: StartedSession, cancel: Cancel) -> None:
        """Clean up after a turn; if it was interrupted, put queued prompts back into the draft."""
        self._cancel = None
        while self._questions:
            self._questions.popleft().withdraw()
        self._screen.show_activity(None)
        self._screen.show_typed("")
        self._screen.finish_line()
        session.owner.set_status("idle")
        if cancel.is_set:
            self._take_back_queue(session)

    def _take_back_queue(self, session: StartedSession) -> None:
        """Put queued prompts back into the draft."""
        if self.queue:
            whole = "\n".join(self.queue)
            self.queue.clear()
            session.loop.record.write_queue_operation("popAll", whole)
            self.draft.text = "\n".join(part for part in (whole, self.draft.text) if part)

    def _handle_key(self, session: StartedSession, key: Key) -> None:
        if key.name == ESCAPE and self._cancel is not None:
            self._cancel.set()
        elif key.name == NEXT_MODE:
            self._next_mode()
        elif key.name == UP:
            self._take_back_queue(session)
        elif key.name == ENTER:
            self.queue_prompt(session, self.draft.take_text().rstrip())
        elif key.name in (PASTE, PICTURE):
            self._insert_paste(key)
        else:
            self.draft.press_key(key)

    def _insert_paste(self, key: Key) -> None:
        """Add pasted text or the picture on the clipboard to the draft."""
        try:
            self.draft.insert_paste(
                self._keyboard.paste_picture() if key.name == PICTURE else self._keyboard.adopt_paste(key.text)
            )
        except TurnlogError as error:
            self.draft.press_key(key)
            self._screen.write_prose(f"· {to_visible_line(str(error))}", style="yellow")

    def queue_prompt(self, session: StartedSession, text: str) -> None:
        if text:
            self._screen.show_typed("")
            self.queue.append(text)
            session.loop.record.write_queue_operation("enqueue", text)
            self._screen.write_prose(f"· queued: {to_visible_line(text)}", style="dim")


class _PendingQuestion(Generic[Value]):
    """A question waiting for the main thread to ask it."""

    def __init__(self, ask: Callable[[], Value]) -> None:
        self._ask = ask
        self.done = threading.Event()
        self.value: list[Value] = []
        self.error: BaseException | None = None

    def withdraw(self) -> None:
        """Release the thread that waits for an answer, which nobody needs any more."""
        self.error = RequestCancelled("cancelled")
        self.done.set()

    def ask_and_release(self) -> None:
        """Ask the question and release the thread that is waiting for the answer."""
        try:
            self.value.append(self._ask())
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.done.set()
