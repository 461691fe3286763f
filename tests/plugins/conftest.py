"""Packages with plugins, as pip installs them, on the path of a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import Build

GROUPS = {"card": "turnlog.cards", "exporter": "turnlog.exporters", "rule": "turnlog.redaction_rules"}
SESSION_ID = "5e55aaaa-0000-4000-8000-000000000001"


class Packages:
    """A machine with one session, and the packages that a test installs."""

    def __init__(self, base: Path) -> None:
        self.folder = base / "site"
        self.work = base / "work"
        self.claude = base / "claude"
        self.data = base / "data"
        self.settings = base / "config.toml"
        for folder in (self.folder, self.work, self.data):
            folder.mkdir()
        self.settings.touch()
        self._wheels: list[Path] = []

    def install(self, name: str, source: str, *entries: str, version: str = "1.0", into: Path | None = None) -> None:
        """Install a package of one module; an entry is `rule acme = acme_rules:Rule`."""
        for path, text in self._files(name, source, entries, version).items():
            goal = (into or self.folder) / path
            goal.parent.mkdir(parents=True, exist_ok=True)
            goal.write_text(text, encoding="utf-8")

    def install_wheel(self, name: str, source: str, *entries: str) -> None:
        """Put a wheel on the path as it is: Python imports from it."""
        wheel = self.folder / f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for path, text in self._files(name, source, entries, "1.0").items():
                archive.writestr(path, text)
        self._wheels.append(wheel)

    def _files(self, name: str, source: str, entries: tuple[str, ...], version: str) -> Mapping[str, str]:
        module = name.replace("-", "_")
        info = f"{module}-{version}.dist-info"
        lines = []
        for entry in entries:
            kind, _, rest = entry.partition(" ")
            lines += [f"[{GROUPS[kind]}]", rest, ""]
        return {
            f"{module}.py": source,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/entry_points.txt": "\n".join(lines),
            f"{info}/RECORD": "",
        }

    def add_session(self, build: Build, name: str = SESSION_ID) -> Path:
        path = self.claude / "projects" / "-home-dana" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(build.data())
        return path

    @property
    def environment(self) -> dict[str, str]:
        search = [str(self.folder), *map(str, self._wheels), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(search),
            "CLAUDE_CONFIG_DIR": str(self.claude),
            "TURNLOG_HOME": str(self.data),
            "TURNLOG_CONFIG": str(self.settings),
        }

    def run(self, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `turnlog` in the working folder."""
        return self.start([sys.executable, "-m", "turnlog", *map(str, words)], **environment)

    def start(self, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.work,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=120,
        )

    def left_in_work(self) -> list[str]:
        """What stands in the working folder, hidden files too."""
        return sorted(path.relative_to(self.work).as_posix() for path in self.work.rglob("*"))


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    found = Packages(tmp_path)
    (found.claude / "projects").mkdir(parents=True)
    return found


def issue_call(text: str = "", tool: str = "mcp__jira__get_issue", given: Any = None) -> Build:
    """A session in which the model asks for an issue."""
    build = Build()
    build.prompt("What is ACME-7 about? My badge is EMP-123456.")
    build.call("c1", tool, {"key": "ACME-7"} if given is None else given)
    build.result("c1", text or '{"key": "ACME-7", "summary": "Rounding is off", "status": "Open"}')
    build.answer("It is about rounding.")
    return build
