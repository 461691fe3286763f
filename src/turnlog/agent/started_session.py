"""A session that is ready for prompts, with everything that it holds open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from turnlog.agent.loop import AgentLoop
from turnlog.agent.settings import Settings

if TYPE_CHECKING:
    from turnlog.agent.record.owner import SessionHolder
    from turnlog.agent.resume.resume import ResumableSession
    from turnlog.agent.setup_builder import SetupBuilder


class StartedSession(NamedTuple):
    """A session that is ready for prompts."""

    loop: AgentLoop
    owner: SessionHolder
    warnings: list[str]
    builder: SetupBuilder
    """What the setup was built from, for what is read again while the session runs."""
    settings: Settings
    resumed: ResumableSession | None = None
    scratch: Path | None = None
    """The folder that contains the session's files if they are not kept."""

    def close(self, reason: str = "other") -> None:
        """Release everything that the session uses: background commands and the lock on its file.

        Hooks learn the reason: `clear`, `resume`, `prompt_input_exit` or `other`.
        """
        if self.loop.lifecycle is not None:
            self.loop.lifecycle.end_session(reason)
        self.loop.shared.tasks.close()
        if self.loop.setup.servers is not None:
            self.loop.setup.servers.close()
        self.owner.close()
        if self.scratch is not None:
            import shutil

            shutil.rmtree(self.scratch, ignore_errors=True)
