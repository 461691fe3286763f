"""A home with one genuine session, in which turnlog is run as a user runs it, and then the client."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.normalise import NEXT
from tests.interop.resume import KEY, MODEL, Resumed, environment, judge, run, session_id

LONG_AGO = 1_700_000_000
"""Nobody writes these files any more."""


class Failed(Exception):
    """Turnlog did not do what it was asked to do."""


class Place:
    """A home, a project's folder and a session."""

    def __init__(self, base: Path, source: Path) -> None:
        self.base = base
        self.home, self.cwd = base / "home", base / "demo"
        self.config = self.home / ".claude"
        raw = source.read_bytes()
        name = session_id(source, raw)
        for folder in (self.cwd, self.home / "tmp", self.config):
            folder.mkdir(parents=True)
        self._belongings(source, name)
        self.session = self.project(self.cwd) / f"{name}.jsonl"
        self.rewrite(self._at_home(raw))

    def project(self, cwd: Path) -> Path:
        """The folder in which the client keeps the sessions of a project."""
        return self.config / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd))

    def _belongings(self, source: Path, name: str) -> None:
        """Copy what belongs to a session: the folder beside it, and copies of files."""
        folder = self.project(self.cwd)
        folder.mkdir(parents=True)
        pairs = [(source.with_suffix(""), folder / name)]
        pairs += [(source.parents[2] / kind / name, self.config / kind / name) for kind in ("file-history", "tasks")]
        for here, there in pairs:
            if here.is_dir():
                shutil.copytree(here, there, copy_function=shutil.copyfile)
        self._age()

    def _age(self) -> None:
        for path in self.config.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
            os.utime(path, (LONG_AGO, LONG_AGO))

    def rewrite(self, raw: bytes) -> None:
        """Give the session another content."""
        self.session.write_bytes(raw)
        os.utime(self.session, (LONG_AGO, LONG_AGO))

    def _at_home(self, raw: bytes) -> bytes:
        """The session as if it had been written in the project's folder."""
        found = re.search(rb'"cwd":"[^"]+"', raw)
        return raw.replace(found[0], b'"cwd":' + json.dumps(str(self.cwd)).encode()) if found else raw

    def forget(self) -> None:
        """Remove all sessions."""
        shutil.rmtree(self.config)
        self.config.mkdir()

    # -- turnlog

    def turnlog(self, *words: str) -> str:
        """Run turnlog; raises when it fails."""
        env = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("CLAUDE_", "TURNLOG_", "XDG_", "ANTHROPIC_"))
            },
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "TURNLOG_HOME": str(self.base / "data"),
        }
        done = subprocess.run(
            [sys.executable, "-m", "turnlog", *words],
            cwd=self.cwd if self.cwd.exists() else self.base,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=120,
        )
        if done.returncode:
            raise Failed(f"turnlog {' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def sessions(self) -> set[Path]:
        """All sessions of the home."""
        found = self.config.glob("projects/*/*.jsonl")
        return {path for path in found if re.fullmatch(r"[0-9a-f]{8}-[0-9a-f-]{27}", path.stem)}

    def new_session(self, *words: str) -> Path:
        """The one session that a run of turnlog made."""
        before = self.sessions()
        self.turnlog(*words)
        found = self.sessions() - before
        if len(found) != 1:
            raise Failed(f"turnlog {' '.join(words)}: made {len(found)} sessions")
        return found.pop()

    def moved_session(self) -> Path:
        """The session, in the project that it was moved to."""
        path = self.project(self.cwd) / self.session.name
        if not path.exists():
            raise Failed(f"the session is not in {path.parent.name}")
        return path

    # -- the client

    def resume_copy(self, client: Path, session: Path, limit: float = 60) -> Resumed:
        """What a client sends when it resumes a session of this home; it works on a copy."""
        home = self.base / f"home-{client.parents[2].name}"
        shutil.copytree(self.home, home)
        settings = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.cwd): {"hasTrustDialogAccepted": True}},
        }
        (home / ".claude.json").write_text(json.dumps(settings))
        words = [str(client), "-p", NEXT, "--resume", session.stem, "--model", MODEL, "--output-format", "json"]
        with MockAnthropic() as mock:
            ended = run(words, environment(home, mock.url), self.cwd, limit)
            return judge(mock.requests, ended)
