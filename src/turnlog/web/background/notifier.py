"""Sends notifications while the server runs: through the configured channels, and through pages that requested them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from turnlog.api.config import Config
from turnlog.api.notifications import build_notifier, find_permission_problem, load_notify_config
from turnlog.errors import TurnlogError, UsageError
from turnlog.notify.runner import hold_notifier_lock
from turnlog.notify.settings import NotifyConfig
from turnlog.web.machine import Machine

_CHECK_SECONDS = 1.0
_LOCK_WAIT_SECONDS = 5.0
"""How long to wait while another process sends notifications."""
_FAILURE_WAIT_SECONDS = 30.0
_LISTENING_SECONDS = 30.0
"""How long to continue after the last page stopped listening."""
_STOP_TIMEOUT_SECONDS = 5.0


class WebNotifier:
    """Sends notifications in a thread while channels are configured or a page listens, unless another process does."""

    def __init__(self, machine: Machine, config: Config, tell: Callable[[str], object]) -> None:
        self._machine = machine
        self._config = config
        self._tell = tell
        self._settings = self._load_settings()
        self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)

    def __enter__(self) -> WebNotifier:
        if self._settings.web and not self._machine.is_demo:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._machine.ending.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_TIMEOUT_SECONDS)

    def _load_settings(self) -> NotifyConfig:
        """Load the settings; a mistake in them must not keep the pages from being shown."""
        try:
            settings = load_notify_config(self._config)
        except UsageError as error:
            self._tell(f"No notifications are sent until this is fixed: {error}")
            return NotifyConfig(web=False)
        if settings.web and (warning := find_permission_problem(settings)):
            self._tell(f"Warning: {warning}")
        return settings

    def _is_wanted(self) -> bool:
        listened = self._machine.listened
        return bool(self._settings.channels) or (
            listened is not None and time.monotonic() - listened < _LISTENING_SECONDS
        )

    def _should_stop(self) -> bool:
        return self._machine.ending.is_set() or not self._is_wanted()

    def _run(self) -> None:
        while not self._machine.ending.wait(_CHECK_SECONDS):
            if self._is_wanted():
                try:
                    self._notify()
                except (TurnlogError, OSError) as error:
                    self._tell(f"notifications: {error}")
                    self._machine.ending.wait(_FAILURE_WAIT_SECONDS)

    def _notify(self) -> None:
        machine = self._machine
        with hold_notifier_lock(machine.data_dir) as is_mine:
            if is_mine:
                notifier = build_notifier(
                    self._settings, self._config, machine.config_dirs, machine.data_dir, self._tell
                )
                notifier.run(self._should_stop)
                return
        machine.ending.wait(_LOCK_WAIT_SECONDS)
