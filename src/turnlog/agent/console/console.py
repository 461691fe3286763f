"""The console: a conversation in a terminal. The main thread reads the keyboard, another one runs the turn (`work`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog.agent.briefing.planning import Planning
from turnlog.agent.console import asking, title
from turnlog.agent.console.keyboard import Called, Keyboard, ModeKey
from turnlog.agent.console.own_command import run
from turnlog.agent.console.picker import choose
from turnlog.agent.console.screen import Screen
from turnlog.agent.console.showing import Showing
from turnlog.agent.console.slash import carried_out, is_command, unknown
from turnlog.agent.console.work import Work
from turnlog.agent.loop import Loop
from turnlog.agent.permissions.decision import Decision, Mode
from turnlog.agent.person import Leave
from turnlog.agent.start import Begun, Starting, Wishes, another
from turnlog.agent.tools.tool import Question
from turnlog.entries.layout import config_dirs
from turnlog.errors import TurnlogError
from turnlog.model.cancel import Cancel
from turnlog.render.terminal import line
from turnlog.session.find import find

HINT = "> "
MODES_BY_KEY: tuple[Mode, ...] = ("default", "acceptEdits", "plan")
_MEANING: dict[str, str] = {
    "default": "what no rule allows is asked",
    "acceptEdits": "files in the working folders are changed without asking",
    "plan": "nothing is changed until you agree to a plan",
    "bypassPermissions": "nothing is asked",
    "dontAsk": "what no rule allows is denied",
}
_BYE = "Ctrl-C again, or Ctrl-D, leaves."


class Console:
    """A person at a terminal, and the session that they talk to."""

    def __init__(self, starting: Starting, wishes: Wishes, screen: Screen, keyboard: Keyboard) -> None:
        self._starting = starting
        self._wishes = wishes
        self._screen = screen
        self._keyboard = keyboard
        self._showing = Showing(screen, str(starting.cwd))
        self._work = Work(keyboard, screen, self._next_mode)
        self._begun = starting.begin(wishes, self._showing.watch, self)
        self._naming: Cancel | None = None
        """Ends the search for a title, once it was begun."""
        self._planning = Planning(self.loop)
        self._modes = tuple(dict.fromkeys((*MODES_BY_KEY, self.loop.setup.guard.mode)))
        """Those that the key leads to; any other only where the client was begun with it."""
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
            if first and first.strip():
                self._screen.say(f"{self._hint}{line(first)}")
            while not self._work.is_leaving:
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
        self._stop_naming()
        self._begun.close()
        self._keyboard.close()

    def _take(self, text: str) -> None:
        try:
            if is_command(text):
                self._command(text)
            elif text.startswith("!") and (command := text[1:].strip()):
                self._planning.tell()
                self._work.do(self._begun, lambda cancel: run(self.loop, command, self._showing, cancel))
            else:
                self._turn(text)
        except (TurnlogError, OSError) as error:
            self._screen.say(self._screen.look.paint(line(str(error)), "red"))

    def _turn(self, text: str) -> None:
        if self._naming is None and self._begun.resumed is None and title.is_wanted(self.loop):
            self._naming = Cancel()
            title.name(self.loop, text, self._naming)
        self._planning.tell()
        self._work.do(self._begun, lambda cancel: self.loop.turn(text, cancel))
        self._planning.heard()

    def _next(self) -> str | None:
        """What is said next: what was typed ahead, else what is typed now; None to leave."""
        if self._work.queue:
            text = self._work.queue.popleft()
            self.loop.record.queued("dequeue")
            self._screen.say(f"{self._hint}{line(text)}")
            return text
        is_warned, shells = False, self.loop.shared.shells
        shells.watch = self._keyboard.call
        while True:
            for notice in shells.waiting():
                self._showing.notice(notice)
            try:
                return self._keyboard.line(self._hint, draft=self._work.draft.take(), keep=True)
            except ModeKey as typed:
                self._work.draft.text = str(typed)
                self._next_mode()
            except Called as typed:
                self._work.draft.text = str(typed)
                self._screen.say("")
            except EOFError:
                self._screen.say("")
                return None
            except KeyboardInterrupt:
                self._screen.say("" if is_warned else f"\n{self._dim(_BYE)}")
                if is_warned:
                    return None
                is_warned = True

    def _command(self, text: str) -> None:
        told = carried_out(self, text)
        self._screen.say(*([unknown(text)] if told is None else told))

    def _next_mode(self) -> None:
        """Go on to the next permission mode, as the real client does it with the same key."""
        guard = self.loop.setup.guard
        at = self._modes.index(guard.mode) + 1 if guard.mode in self._modes else 0
        guard.mode = self._modes[at % len(self._modes)]
        self.loop.record.permitting(guard.mode)
        self._screen.say(self._dim(f"· {guard.mode}: {_MEANING[guard.mode]}"))

    # -- what a turn asks

    def permit(self, name: str, given: Mapping[str, Any], decision: Decision, agent: str | None) -> Leave:
        """Whether a call may be made."""
        place = self.loop.setup.place

        def ask() -> Leave:
            self._screen.say(*asking.wanted(name, given, decision, place, self._screen.look, agent))
            return asking.leave(decision, self._work.answered)

        return self._work.ask(self._begun, ask, "permission prompt")

    def answer(self, question: Question) -> Mapping[str, Any] | None:
        """What the person says to a question or a plan."""
        ask = asking.plan if question.kind == "plan" else asking.answers
        work, screen = self._work, self._screen
        return work.ask(
            self._begun, lambda: ask(question.given, work.answered, screen.say, screen.look), "input needed"
        )

    # -- what commands need

    def clear(self) -> None:
        """Begin a new session, with the same model."""
        self._become(another(self._kept._replace(model=self.loop.setup.name)))

    def resume(self, name: str) -> bool:
        """Take up another session."""
        chosen = name or choose(self._starting, self._work.answered, self._screen)
        if not chosen or find(chosen, config_dirs(self._starting.environ)) == self.loop.record.path:
            return False
        self._become(another(self._kept, chosen))
        self._greet(self._begun)
        return True

    @property
    def _kept(self) -> Wishes:
        """The wishes as they are now: the mode may have been changed since."""
        return self._wishes._replace(mode=self.loop.setup.guard.mode)

    def compact(self, instructions: str) -> bool:
        """Replace the conversation by a summary."""
        return self._work.do(self._begun, lambda cancel: self.loop.compact(instructions, cancel))

    def leave(self) -> None:
        """End after this."""
        self._work.is_leaving = True

    def _become(self, wishes: Wishes) -> None:
        before = self._begun
        after = self._starting.begin(wishes, self._showing.watch, self)
        self._stop_naming()
        before.close()
        self._begun = after
        self._planning = Planning(after.loop)

    def _stop_naming(self) -> None:
        if self._naming is not None:
            self._naming.set()
        self._naming = None

    @property
    def _hint(self) -> str:
        mode = self.loop.setup.guard.mode
        return HINT if mode == "default" else f"{mode} {HINT}"

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
