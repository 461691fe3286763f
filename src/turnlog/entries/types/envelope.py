"""What all entries of the graph share."""

from __future__ import annotations

from msgspec import field

from turnlog.entries.types.base import FormatObject


class ForkedFrom(FormatObject, rename="camel"):
    """Where a copied entry comes from."""

    session_id: str | None = None
    message_uuid: str | None = None


class Envelope(FormatObject, rename="camel"):
    """The fields of every link of the graph: user, assistant, system, attachment and progress entries."""

    uuid: str | None = None
    """Unique in a file, not across files: forks copy entries with their uuid."""
    parent_uuid: str | None = None
    """The entry before; null at a root."""
    timestamp: str | None = None
    """ISO 8601, UTC, milliseconds."""
    session_id: str | None = None
    """Usually the file's name; forks of 2.0.76 and 2.1.45 keep that of the source."""
    version: str | None = None
    """The version of the client that wrote the line."""
    cwd: str | None = None
    """The working directory at that moment; it may change within a session."""
    git_branch: str | None = None
    """[1.0.56+]"""
    is_sidechain: bool | None = None
    """Whether the entry belongs to a sub-agent."""
    user_type: str | None = None
    """Always `external`."""
    agent_id: str | None = None
    """[2.0.50+] The sub-agent it belongs to."""
    slug: str | None = None
    """[2.0.64+] The name of the session's plan file, three words; nothing to do with the folder's slug."""
    entrypoint: str | None = None
    """[2.1.79+] `cli`, `sdk-cli`, `sdk-py`, `sdk-ts`, `claude-vscode`, `claude-desktop`."""
    snake_session_id: str | None = field(default=None, name="session_id")
    """[2.1.204+] The same as `sessionId`, on some entries."""
    session_kind: str | None = None
    """[2.1.207–2.1.233] `bg`: a background session."""
    team_name: str | None = None
    """[2.1.177–2.1.177] The team of agents."""
    forked_from: ForkedFrom | None = None
    """[2.1.325+] On entries that `/branch` or the SDK's `fork_session` copied."""
    is_meta: bool | None = None
    """[1.0.51+] On user and system entries: written by the client, not shown."""
