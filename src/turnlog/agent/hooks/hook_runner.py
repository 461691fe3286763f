"""Runs all hooks of an event that fit, in parallel, each within its time limit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from turnlog.agent.hooks.hook_answer import HookAnswer, read_hook_answer, read_json_answer
from turnlog.agent.hooks.hook_definitions import HookDefinition
from turnlog.agent.hooks.hook_process import HookOutput, run_hook_command, start_hook_in_background
from turnlog.model.cancel import Cancel
from turnlog.model.failures import RequestCancelled
from turnlog.render.json_bytes import to_json_bytes

DEFAULT_TIMEOUT_SECONDS = 600.0
SESSION_END_TIMEOUT_SECONDS = 10.0
"""The limit for hooks that delay the end of the program."""
Object = Mapping[str, Any]
CallbackSender = Callable[[str, Object, str | None, float, Cancel], Object | str]
"""Sends the input of a hook to a program and returns its answer, or a text that says why there is none."""


class HookRunner:
    """The hooks of a session."""

    def __init__(self, definitions: Sequence[HookDefinition], root: Path) -> None:
        self._definitions = list(definitions)
        self._root = root
        self.send_callback: CallbackSender | None = None

    def replace_callbacks(self, definitions: Sequence[HookDefinition], send: CallbackSender) -> None:
        """Make these the only callbacks of the program."""
        self._definitions = [*(hook for hook in self._definitions if not hook.callback), *definitions]
        self.send_callback = send

    def replace_configured_hooks(self, definitions: Sequence[HookDefinition]) -> None:
        """Make these the only hooks of settings and plugins."""
        self._definitions = [*definitions, *(hook for hook in self._definitions if hook.callback)]

    def replace_plugin_hooks(self, definitions: Sequence[HookDefinition]) -> None:
        """Make these the only hooks of plugins."""
        self._definitions = [*(hook for hook in self._definitions if not hook.plugin_root), *definitions]

    def list_hooks(self) -> list[HookDefinition]:
        return list(self._definitions)

    def has_event(self, event: str) -> bool:
        return any(hook.event == event for hook in self._definitions)

    def select_hooks(self, event: str, subject: str, fits_condition: Callable[[str], bool]) -> list[HookDefinition]:
        """Return the hooks that run for an event; a command that is configured twice runs once."""
        fitting = [hook for hook in self._definitions if hook.event == event and hook.fits(subject)]
        distinct = {
            (hook.command, hook.args, hook.shell, hook.callback, hook.condition): hook for hook in reversed(fitting)
        }
        chosen = [hook for hook in fitting if hook in distinct.values()]
        return [hook for hook in dict.fromkeys(chosen) if not hook.condition or fits_condition(hook.condition)]

    def run_hooks(
        self,
        hooks: Sequence[HookDefinition],
        given: Object,
        cancel: Cancel,
        *,
        environ: Mapping[str, str],
        call: str | None = None,
    ) -> list[HookAnswer]:
        """Run hooks in parallel and return their answers in the order in which they ended.

        Raises RequestCancelled if the person ends the turn, once every hook has ended.
        """
        for hook in hooks:
            if hook.is_once:
                self._definitions.remove(hook)
        data = to_json_bytes(dict(given))
        waiting = [hook for hook in hooks if not hook.is_async]
        for hook in hooks:
            if hook.is_async:
                start_hook_in_background(hook, data, self._choose_folder(given), _add_plugin_root(environ, hook))
        answers: list[HookAnswer] = []
        errors: list[BaseException] = []

        def run(hook: HookDefinition) -> None:
            try:
                answers.append(self._run_hook(hook, given, data, environ, call, cancel))
            except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
                errors.append(error)

        threads = [threading.Thread(target=run, args=(hook,), name="hook", daemon=True) for hook in waiting[1:]]
        for thread in threads:
            thread.start()
        for hook in waiting[:1]:
            run(hook)
        for thread in threads:
            thread.join()
        if errors:
            raise next((error for error in errors if not isinstance(error, RequestCancelled)), errors[0])
        return answers

    def _run_hook(
        self,
        hook: HookDefinition,
        given: Object,
        data: bytes,
        environ: Mapping[str, str],
        call: str | None,
        cancel: Cancel,
    ) -> HookAnswer:
        is_end = hook.event == "SessionEnd"
        seconds = hook.timeout or (SESSION_END_TIMEOUT_SECONDS if is_end else DEFAULT_TIMEOUT_SECONDS)
        if hook.callback:
            return self._ask_program(hook, given, call, seconds, cancel)
        output = run_hook_command(
            hook, data, self._choose_folder(given), _add_plugin_root(environ, hook), seconds, cancel
        )
        return read_hook_answer(hook, output)

    def _choose_folder(self, given: Object) -> Path:
        """Return the folder of the session; the model's shell may since have removed the one it was in."""
        cwd = Path(str(given.get("cwd") or self._root))
        return cwd if cwd.is_dir() else self._root

    def _ask_program(
        self, hook: HookDefinition, given: Object, call: str | None, seconds: float, cancel: Cancel
    ) -> HookAnswer:
        send = self.send_callback
        found = send(hook.callback, given, call, seconds, cancel) if send else "the program is gone"
        answer = HookAnswer(hook, HookOutput())
        if isinstance(found, str):
            answer.error = found
            if hook.blocks_on_failure:
                answer.block_reason = f"A hook of the program failed: {found}"
        elif found.get("async") is not True:
            read_json_answer(answer, found)
        return answer


def _add_plugin_root(environ: Mapping[str, str], hook: HookDefinition) -> Mapping[str, str]:
    return {**environ, "CLAUDE_PLUGIN_ROOT": hook.plugin_root} if hook.plugin_root else environ
