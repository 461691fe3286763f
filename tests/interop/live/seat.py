"""A real client in a terminal (tmux), in a home of its own, with nothing of this machine but `node` on its path."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.interop.clients import client
from tests.interop.live.server import WatchedServer
from tests.interop.resume import KEY, environment

HOOK_EVENTS = (
    "Notification", "PermissionRequest", "PreCompact", "SessionEnd", "SessionStart", "Stop", "SubagentStop",
    "UserPromptSubmit",
)  # fmt: skip
_HOOK_SCRIPT = """spool=$1 name="$(date +%s%N)-$$" process=$PPID
{
    cat
    for level in 1 2 3; do
        line=$(cat "/proc/$process/stat") || break
        printf '\\n%s' "$line"
        set -- $line
        process=$4
    done
} > "$spool/.$name" && mv "$spool/.$name" "$spool/$name.json"
"""
"""Keeps what a hook received, and on further lines the processes that started it, as /proc shows them."""
_MANUAL_MODE_SINCE = (2, 1, 300)
"""Newer clients decide about permissions on their own, unless asked not to."""


def write_script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)


class Home:
    """The folders of one run: a home, a project, and a spool into which hooks put what they receive."""

    def __init__(self, base: Path, version: str, settings: dict[str, Any], with_hooks: bool) -> None:
        self.base, self.version = base, version
        self.home, self.project, self.spool = base / "home", base / "webshop", base / "spool"
        self.config_dir = self.home / ".claude"
        for folder in (self.config_dir, self.home / "tmp", self.project / "src", self.spool):
            folder.mkdir(parents=True)
        (self.project / "README.md").write_text("# webshop\n\nA demo shop.\n")
        (self.project / "src" / "cart.py").write_text("def total(items):\n    return sum(items)\n")
        write_script(self.project / "work", 'sleep "$1"\n')
        hooks = dict(settings.get("hooks", {}))
        if with_hooks:
            write_script(base / "hook", _HOOK_SCRIPT)
            command = {"type": "command", "command": f"{base / 'hook'} {self.spool}"}
            hooks |= {name: [*hooks.get(name, []), {"hooks": [command]}] for name in HOOK_EVENTS}
        (self.config_dir / "settings.json").write_text(json.dumps({**settings, "hooks": hooks}))
        self._write_state()

    def _write_state(self) -> None:
        state = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 5,
            "lastOnboardingVersion": self.version,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        }
        (self.home / ".claude.json").write_text(json.dumps(state))

    def environment(self, url: str) -> dict[str, str]:
        values = environment(self.home, url)
        del values["DISABLE_AUTO_COMPACT"]
        return {**values, "TERM": "xterm-256color", "SHELL": "/bin/bash", "PWD": str(self.project)}


class Seat:
    """One client in its terminal."""

    def __init__(self, home: Home, server: WatchedServer, number: int, flags: list[str], resume: str | None) -> None:
        self.server = server
        self.session_id = resume or str(uuid4())
        self._tmux = ["tmux", "-S", str(home.base / f"tmux{number}")]
        words = [str(client(home.version)), *(["--resume", resume] if resume else ["--session-id", self.session_id])]
        version = tuple(int(part) for part in home.version.split("."))
        if version >= _MANUAL_MODE_SINCE and "--permission-mode" not in flags:
            words += ["--permission-mode", "manual"]
        values = home.environment(server.url)
        words = ["env", "-i", *(f"{name}={value}" for name, value in values.items()), *words, *flags]
        where = ["-x", "150", "-y", "60", "-c", str(home.project)]
        self._do("-f", "/dev/null", "new-session", "-d", *where, "exec " + shlex.join(words))
        self.pid = int(self._do("list-panes", "-F", "#{pane_pid}"))

    def _do(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True).stdout

    def read_screen(self) -> str:
        """Return the text on the screen; nothing once the terminal has closed."""
        done = subprocess.run([*self._tmux, "capture-pane", "-p"], capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else ""

    def press(self, *keys: str) -> None:
        for key in keys:
            self._do("send-keys", key)
            time.sleep(0.15)

    def type_text(self, text: str) -> None:
        """Type some text and wait until it is on the screen: an Enter that comes too early becomes a part of it."""
        if text.startswith("!"):  # the key that changes to the shell
            self.press("!")
            time.sleep(0.3)
            text = text[1:]
        self._do("send-keys", "-l", text)
        end = time.monotonic() + 10
        while text[:40] not in self.read_screen() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.4)

    def is_alive(self) -> bool:
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text()
        except OSError:
            return False
        return stat.rsplit(")", 1)[1].split()[0] != "Z"

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def close(self) -> None:
        """End the terminal, and with it the client."""
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)
        end = time.monotonic() + 10
        while self.is_alive() and time.monotonic() < end:
            time.sleep(0.1)
