"""A turn at work in a thread of its own, while the main thread reads the keyboard.

What the turn has to ask is handed to the main thread; what is typed meanwhile is kept, and said next.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from turnlog.agent.console.answer import answered
from turnlog.agent.console.draft import Draft
from turnlog.agent.console.keyboard import Keyboard
from turnlog.agent.console.keys import ENTER, ESCAPE, MODE, Key
from turnlog.agent.console.screen import Screen
from turnlog.agent.start import Begun
from turnlog.model.cancel import Cancel
from turnlog.model.failures import Cancelled
from turnlog.render.terminal import line

_PATIENCE = 3
"""So often Ctrl-C asks a turn to end; then the program ends without it."""
Value = TypeVar("Value")


class Work:
    """What is done while a person waits, and what they do meanwhile."""

    def __init__(self, keyboard: Keyboard, screen: Screen, next_mode: Callable[[], None]) -> None:
        self._keyboard = keyboard
        self._screen = screen
        self._next_mode = next_mode
        self._questions: deque[_Handed[Any]] = deque()
        self._cancel: Cancel | None = None
        """Ends what is at work now."""
        self.queue: deque[str] = deque()
        """What was typed while a turn was at work."""
        self.draft = Draft()
        self.is_leaving = False

    def do(self, begun: Begun, work: Callable[[Cancel], object]) -> bool:
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
                self._keyboard.wake()

        begun.owner.says("busy")
        self._cancel = cancel
        worker = threading.Thread(target=run, name="turn", daemon=True)
        for _ in range(_PATIENCE):
            try:
                self._attend(begun, worker, over)
                break
            except KeyboardInterrupt:
                cancel.set()
            except EOFError:
                self.is_leaving = True
                cancel.set()
                over.wait()
        else:
            raise KeyboardInterrupt
        self._rest(begun, cancel)
        if failed and not isinstance(failed[0], Cancelled):
            raise failed[0]
        return not failed

    def ask(self, begun: Begun, question: Callable[[], Value], why: str) -> Value:
        """Have the main thread ask something, and wait for what it hears; called by the turn."""
        handed = _Handed(question)
        begun.owner.says("waiting", why)
        self._questions.append(handed)
        self._keyboard.wake()
        handed.done.wait()
        begun.owner.says("busy")
        if isinstance(handed.error, KeyboardInterrupt):
            raise Cancelled("cancelled")
        if handed.error is not None:
            raise handed.error
        return handed.value[0]

    def answered(self, hint: str) -> str | None:
        """What the person says to a question; whoever turns away from it ends the turn."""
        said = answered(self._keyboard, self._screen, hint)
        if said is None and self._cancel is not None:
            self._cancel.set()
        return said

    def _attend(self, begun: Begun, worker: threading.Thread, over: threading.Event) -> None:
        while not over.is_set():
            with self._keyboard.watching():
                if not worker.ident:
                    worker.start()
                while not over.is_set() and not self._questions:
                    self._screen.typed(self.draft.text)
                    for key in self._keyboard.wait(over):
                        self._pressed(begun, key)
            while self._questions:
                self._screen.typed("")
                self._keyboard.forget()
                self._questions.popleft().settle()

    def _rest(self, begun: Begun, cancel: Cancel) -> None:
        """It is over: what was typed and not said yet comes back, if it was interrupted."""
        self._cancel = None
        self._screen.typed("")
        self._screen.finish()
        begun.owner.says("idle")
        if cancel.is_set and self.queue:
            whole = "\n".join(self.queue)
            self.queue.clear()
            begun.loop.record.queued("popAll", whole)
            self.draft.text = "\n".join(part for part in (whole, self.draft.text) if part)

    def _pressed(self, begun: Begun, key: Key) -> None:
        if key.name == ESCAPE and self._cancel is not None:
            self._cancel.set()
        elif key.name == MODE:
            self._next_mode()
        elif key.name == ENTER:
            self._queued(begun, self.draft.take().strip())
        else:
            self.draft.press(key)

    def _queued(self, begun: Begun, text: str) -> None:
        if text:
            self._screen.typed("")
            self.queue.append(text)
            begun.loop.record.queued("enqueue", text)
            self._screen.say(self._screen.look.paint(f"· will be said next: {line(text)}", "dim"))


class _Handed(Generic[Value]):
    """A question on its way to the main thread."""

    def __init__(self, ask: Callable[[], Value]) -> None:
        self._ask = ask
        self.done = threading.Event()
        self.value: list[Value] = []
        self.error: BaseException | None = None

    def settle(self) -> None:
        """Ask, and let whoever waits go on."""
        try:
            self.value.append(self._ask())
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.done.set()
