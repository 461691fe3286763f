"""The options with which a person or a program starts the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from turnlog.agent.settings import SETTING_SOURCES


class StartOptions(NamedTuple):
    """The options with which a person started the client."""

    model: str | None = None
    resume: str | None = None
    """The session to resume: its id, a title or a path."""
    is_continued: bool = False
    """Whether to resume the newest session in the folder."""
    is_forked: bool = False
    session_id: str | None = None
    mode: str | None = None
    allowed: tuple[str, ...] = ()
    disallowed: tuple[str, ...] = ()
    tools: str | None = None
    folders: tuple[str, ...] = ()
    system_prompt: str | None = None
    appended_prompt: str | None = None
    turns: int | None = None
    dollars: float | None = None
    settings: tuple[str, ...] = ()
    url: str | None = None
    mcp_configs: tuple[str, ...] = ()
    """Files or JSON that define MCP servers."""
    is_strict_mcp: bool = False
    """Whether only these servers start."""
    plugins: tuple[str, ...] = ()
    """Folders of plugins to load for this session."""
    serverless_plugins: tuple[str, ...] = ()
    """Folders of plugins to load without their MCP servers."""
    agent: str | None = None
    """The agent as which the session itself works."""
    defines_agents: bool = False
    """Whether a program may define agents after the start."""
    ignores_hooks: bool = False
    """Whether to start even if hooks that would guard the session can't run."""
    is_flat: bool = False
    """Whether the console writes everything once, for a screen reader."""
    leaf: str | None = None
    """The last entry to keep of the resumed session."""
    dropped_prompt: str | None = None
    """The prompt of the only turn that may come after this entry."""
    config_root: str | None = None
    """The folder whose project settings apply instead of those of the current one."""
    policy: str | None = None
    """Restrictions by the program that starts the client, as JSON."""
    effort: str | None = None
    thinking_tokens: int | None = None
    thinking: str | None = None
    """`adaptive`, `enabled` or `disabled`."""
    thinking_display: str | None = None
    """`summarized`, `omitted` or `highlights`."""
    task_tokens: int | None = None
    """How many tokens the model is told it may use for the task."""
    fallback: str | None = None
    betas: tuple[str, ...] = ()
    sources: tuple[str, ...] | None = None
    """Where settings and instructions come from: `user`, `project` and `local`; None means all of them."""
    output_schema: Mapping[str, Any] | None = None
    """The JSON schema of the data that the model must return in place of a text."""
    may_bypass: bool = False
    """Whether a program may switch to bypassPermissions later."""
    is_ephemeral: bool = False
    """Whether to remove the session's files at the end."""
    copies_files: bool = False
    """Whether to copy files before they are changed, so that a person can rewind."""

    @property
    def setting_sources(self) -> tuple[str, ...]:
        return SETTING_SOURCES if self.sources is None else self.sources


def derive_start_options(options: StartOptions, resume: str | None = None) -> StartOptions:
    """Return the same options for a different session: a new one or the one to resume."""
    return options._replace(
        resume=resume, is_continued=False, is_forked=False, session_id=None, leaf=None, dropped_prompt=None
    )
