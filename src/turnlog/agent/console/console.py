"""The console: a conversation in a terminal.

The main thread reads the keyboard, another one runs the turn. What a turn has to ask is handed to the main thread; what
is typed while it works is kept, and said next.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from turnlog.agent.console import asking
from turnlog.agent.console.keyboard import BACKSPACE, CLEAR, ENTER, ESCAPE, Key, Keyboard
from turnlog.agent.console.screen import Screen
from turnlog.agent.console.showing import Showing
from turnlog.agent.console.slash import SILENT, carried_out, is_command, unknown
from turnlog.agent.events import Event
from turnlog.agent.loop import Loop
from turnlog.agent.permissions.decision import Decision
from turnlog.agent.person import Leave
from turnlog.agent.start import Begun, Starting, Wishes, another
from turnlog.agent.tools.tool import Question
from turnlog.errors import TurnlogError
from turnlog.model.cancel import Cancel
from turnlog.model.failures import Cancelled
from turnlog.render.terminal import line

HINT = "> "
_BYE = "Ctrl-C again, or Ctrl-D, leaves."
_PATIENCE = 3
"""So often Ctrl-C asks a turn to end; then the program ends without it."""
Value = TypeVar("Value")


class Console:
    """A person at a terminal, and the session that they talk to."""

    def __init__(self, starting: Starting, wishes: Wishes, screen: Screen, keyboard: Keyboard) -> None:
        self._starting = starting
        self._wishes = wishes
        self._screen = screen
        self._keyboard = keyboard
        self._showing = Showing(screen, str(starting.cwd))
        self._questions: deque[_Handed[Any]] = deque()
        self._queue: deque[str] = deque()
        """What was typed while a turn was at work."""
        self._draft = ""
        self._is_leaving = False
        self._begun = starting.begin(wishes, self._watch, self)
        self._greet(self._begun)

    # -- the conversation

    @property
    def loop(self) -> Loop:
        """The session at work."""
        return self._begun.loop

    def run(self, first: str | None = None) -> int:
        """Talk until the person leaves; the exit status."""
        try:
            text = first
            while not self._is_leaving:
                text = self._next() if text is None else text
                if text is None:
                    break
                if text.strip():
                    self._take(text)
                text = None
        finally:
            self.close()
        if self.loop.record.path.exists():
            self._screen.say(self._dim(f"turnlog chat --resume {self.loop.record.session_id}   goes on with it"))
        return 0

    def close(self) -> None:
        """Let go of the session and of the terminal."""
        self._begun.close()
        self._keyboard.close()

    def _take(self, text: str) -> None:
        try:
            if is_command(text):
                self._command(text)
            else:
                self._at_work(lambda cancel: self.loop.turn(text, cancel))
        except TurnlogError as error:
            self._screen.say(self._screen.look.paint(line(str(error)), "red"))

    def _next(self) -> str | None:
        """What is said next: what was typed ahead, else what is typed now; None to leave."""
        if self._queue:
            text = self._queue.popleft()
            self.loop.record.queued("dequeue")
            self._screen.say(f"{HINT}{line(text)}")
            return text
        is_warned = False
        while True:
            draft, self._draft = self._draft, ""
            try:
                return self._keyboard.line(HINT, draft=draft, keep=True)
            except EOFError:
                self._screen.say("")
                return None
            except KeyboardInterrupt:
                self._screen.say("" if is_warned else f"\n{self._dim(_BYE)}")
                if is_warned:
                    return None
                is_warned = True

    def _command(self, text: str) -> None:
        name, _, words = text.strip().removeprefix("/").partition(" ")
        told = carried_out(self, text)
        self._screen.say(*([unknown(text)] if told is None else told))
        if told is not None and name not in SILENT and self.loop.record.path.exists():
            self.loop.record.local_command(name, words, "\n".join(told), is_sent=False)

    # -- a turn at work

    def _at_work(self, work: Callable[[Cancel], object]) -> bool:
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

        self._begun.owner.says("busy")
        worker = threading.Thread(target=run, name="turn", daemon=True)
        for _ in range(_PATIENCE):
            try:
                self._attend(worker, over, cancel)
                break
            except KeyboardInterrupt:
                cancel.set()
            except EOFError:
                self._is_leaving = True
                cancel.set()
                over.wait()
        else:
            raise KeyboardInterrupt
        self._rest(cancel)
        if failed and not isinstance(failed[0], Cancelled):
            raise failed[0]
        return not failed

    def _attend(self, worker: threading.Thread, over: threading.Event, cancel: Cancel) -> None:
        while not over.is_set():
            with self._keyboard.watching():
                if not worker.ident:
                    worker.start()
                while not over.is_set() and not self._questions:
                    for key in self._keyboard.wait(over):
                        self._pressed(key, cancel)
                    self._screen.typed(self._draft)
            while self._questions:
                self._screen.typed("")
                self._keyboard.forget()
                self._questions.popleft().settle()

    def _rest(self, cancel: Cancel) -> None:
        """The turn is over: what was typed and not said yet comes back, if it was interrupted."""
        self._screen.typed("")
        self._screen.finish()
        self._begun.owner.says("idle")
        if cancel.is_set and self._queue:
            whole = "\n".join(self._queue)
            self._queue.clear()
            self.loop.record.queued("popAll", whole)
            self._draft = "\n".join(part for part in (whole, self._draft) if part)

    def _pressed(self, key: Key, cancel: Cancel) -> None:
        if key.name == ESCAPE:
            cancel.set()
            return
        if key.name == ENTER:
            self._queued(self._draft.strip())
            self._draft = ""
        elif key.name == BACKSPACE:
            self._draft = self._draft[:-1]
        elif key.name == CLEAR:
            self._draft = ""
        else:
            self._draft += key.text

    def _queued(self, text: str) -> None:
        if text:
            self._screen.typed("")
            self._queue.append(text)
            self.loop.record.queued("enqueue", text)
            self._screen.say(self._dim(f"· will be said next: {line(text)}"))

    def _watch(self, event: Event) -> None:
        self._showing.watch(event)

    # -- what a turn asks

    def permit(self, name: str, given: Mapping[str, Any], decision: Decision, agent: str | None) -> Leave:
        """Whether a call may be made."""
        place = self.loop.setup.place

        def ask() -> Leave:
            self._screen.say(*asking.wanted(name, given, decision, place, self._screen.look, agent))
            return asking.leave(decision, self._answered)

        return self._handed(ask, "permission prompt")

    def answer(self, question: Question) -> Mapping[str, Any] | None:
        """What the person says to a question or a plan."""
        ask = asking.plan if question.kind == "plan" else asking.answers
        return self._handed(
            lambda: ask(question.given, self._answered, self._screen.say, self._screen.look), "input needed"
        )

    def _handed(self, ask: Callable[[], Value], why: str) -> Value:
        """Have the main thread ask, and wait for what it hears."""
        handed = _Handed(ask)
        self._begun.owner.says("waiting", why)
        self._questions.append(handed)
        self._keyboard.wake()
        handed.done.wait()
        self._begun.owner.says("busy")
        if handed.error is not None:
            raise handed.error
        return handed.value[0]

    def _answered(self, hint: str) -> str | None:
        try:
            return self._keyboard.line(hint)
        except (EOFError, KeyboardInterrupt):
            self._screen.say("")
            return None

    # -- what commands need

    def clear(self) -> None:
        """Begin a new session."""
        self._become(another(self._wishes))

    def resume(self, name: str) -> bool:
        """Take up another session."""
        chosen = name or pick_one(self._starting, self._answered, self._screen)
        if chosen:
            self._become(another(self._wishes, chosen))
            self._greet(self._begun)
        return bool(chosen)

    def compact(self, instructions: str) -> bool:
        """Replace the conversation by a summary."""
        return self._at_work(lambda cancel: self.loop.compact(instructions, cancel))

    def leave(self) -> None:
        """End after this."""
        self._is_leaving = True

    def _become(self, wishes: Wishes) -> None:
        before = self._begun
        after = self._starting.begin(wishes, self._watch, self)
        before.close()
        self._begun = after

    def _greet(self, begun: Begun) -> None:
        setup = begun.loop.setup
        facts = (setup.name, str(setup.place.root), setup.guard.mode)
        self._screen.say(self._dim(" · ".join(map(line, facts))))
        for warning in begun.warnings:
            self._screen.say(self._screen.look.paint(f"· {line(warning)}", "yellow"))
        if begun.resumed is not None:
            for text in last_words(begun):
                self._screen.say(text)

    def _dim(self, text: str) -> str:
        return self._screen.look.paint(text, "dim")


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


def last_words(begun: Begun) -> list[str]:
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
    prompt = [f"{HINT}{line(found.last_prompt[:400])}"] if found.last_prompt else []
    return [*prompt, *([f"{line(texts[-1][:400])}"] if texts else [])]


def pick_one(starting: Starting, ask: Callable[[str], str | None], screen: Screen) -> str | None:
    """Let the person choose a session of the folder; of all folders, where it has none."""
    from turnlog.agent.console.picker import pick
    from turnlog.agent.resume.choices import choices
    from turnlog.entries.layout import config_dirs

    folders = config_dirs(starting.environ)
    found = choices(folders, starting.cwd) or choices(folders, None, limit=200)
    if not found:
        screen.say("There is no session yet.")
        return None
    chosen = pick(found, ask, screen.say, screen.look)
    return str(chosen.path) if chosen else None
