"""A turn at work in a thread of its own, while the main thread reads the keyboard.

What the turn has to ask is handed to the main thread; what is typed meanwhile is kept, and said next.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from turnlog.agent.console.answer import read_answer
from turnlog.agent.console.draft import InputDraft
from turnlog.agent.console.keyboard import Keyboard
from turnlog.agent.console.keys import ENTER, ESCAPE, NEXT_MODE, Key
from turnlog.agent.console.screen import ConsoleScreen
from turnlog.agent.session_starter import StartedSession
from turnlog.model.cancel import Cancel
from turnlog.model.failures import RequestCancelled
from turnlog.render.terminal import to_visible_line

_MAX_INTERRUPTS = 3
"""So often Ctrl-C asks a turn to end; then the program ends without it."""
Value = TypeVar("Value")


class TurnWorker:
    """What is done while a person waits, and what they do meanwhile."""

    def __init__(self, keyboard: Keyboard, screen: ConsoleScreen, next_mode: Callable[[], None]) -> None:
        self._keyboard = keyboard
        self._screen = screen
        self._next_mode = next_mode
        self._questions: deque[_PendingQuestion[Any]] = deque()
        self._cancel: Cancel | None = None
        """Ends what is at work now."""
        self.queue: deque[str] = deque()
        """What was typed while a turn was at work."""
        self.draft = InputDraft()
        self.is_leaving = False

    def run_in_thread(self, begun: StartedSession, work: Callable[[Cancel], object]) -> bool:
        """Do something in another thread, and look after the keyboard meanwhile; False if it was interrupted."""
        cancel, failed = Cancel(), list[BaseException]()
        over = threading.Event()

        def run() -> None:
            try:
                work(cancel)
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits for it
                failed.append(error)
            finally:
                over.set()
                self._keyboard.wake_waiter()

        begun.owner.set_status("busy")
        self._cancel = cancel
        worker = threading.Thread(target=run, name="turn", daemon=True)
        for _ in range(_MAX_INTERRUPTS):
            try:
                self._watch_keyboard(begun, worker, over)
                break
            except KeyboardInterrupt:
                cancel.set()
            except EOFError:
                self.is_leaving = True
                cancel.set()
                over.wait()
        else:
            raise KeyboardInterrupt
        self._restore_typed(begun, cancel)
        if failed and not isinstance(failed[0], RequestCancelled):
            raise failed[0]
        return not failed

    def ask_in_main_thread(self, begun: StartedSession, question: Callable[[], Value], why: str) -> Value:
        """Have the main thread ask something, and wait for what it hears; called by the turn."""
        handed = _PendingQuestion(question)
        begun.owner.set_status("waiting", why)
        self._questions.append(handed)
        self._keyboard.wake_waiter()
        handed.done.wait()
        begun.owner.set_status("busy")
        if isinstance(handed.error, KeyboardInterrupt):
            raise RequestCancelled("cancelled")
        if handed.error is not None:
            raise handed.error
        return handed.value[0]

    def read_answer(self, hint: str) -> str | None:
        """What the person says to a question; whoever turns away from it ends the turn."""
        said = read_answer(self._keyboard, self._screen, hint)
        if said is None and self._cancel is not None:
            self._cancel.set()
        return said

    def _watch_keyboard(self, begun: StartedSession, worker: threading.Thread, over: threading.Event) -> None:
        while not over.is_set():
            with self._keyboard.watch_keys():
                if not worker.ident:
                    worker.start()
                while not over.is_set() and not self._questions:
                    self._screen.show_typed(self.draft.text)
                    for key in self._keyboard.wait_for_keys(over):
                        self._handle_key(begun, key)
            while self._questions:
                self._screen.show_typed("")
                self._keyboard.discard_typed()
                self._questions.popleft().ask_and_release()

    def _restore_typed(self, begun: StartedSession, cancel: Cancel) -> None:
        """It is over: what was typed and not said yet comes back, if it was interrupted."""
        self._cancel = None
        self._screen.show_typed("")
        self._screen.finish_line()
        begun.owner.set_status("idle")
        if cancel.is_set and self.queue:
            whole = "\n".join(self.queue)
            self.queue.clear()
            begun.loop.record.write_queue_operation("popAll", whole)
            self.draft.text = "\n".join(part for part in (whole, self.draft.text) if part)

    def _handle_key(self, begun: StartedSession, key: Key) -> None:
        if key.name == ESCAPE and self._cancel is not None:
            self._cancel.set()
        elif key.name == NEXT_MODE:
            self._next_mode()
        elif key.name == ENTER:
            self._queue_prompt(begun, self.draft.take_text().strip())
        else:
            self.draft.press_key(key)

    def _queue_prompt(self, begun: StartedSession, text: str) -> None:
        if text:
            self._screen.show_typed("")
            self.queue.append(text)
            begun.loop.record.write_queue_operation("enqueue", text)
            self._screen.write_lines(self._screen.look.paint(f"· will be said next: {to_visible_line(text)}", "dim"))


class _PendingQuestion(Generic[Value]):
    """A question on its way to the main thread."""

    def __init__(self, ask: Callable[[], Value]) -> None:
        self._ask = ask
        self.done = threading.Event()
        self.value: list[Value] = []
        self.error: BaseException | None = None

    def ask_and_release(self) -> None:
        """Ask, and let whoever waits go on."""
        try:
            self.value.append(self._ask())
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.done.set()
