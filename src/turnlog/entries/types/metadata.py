"""Entries outside the graph that say something about the session as a whole.

Many of them are written again and again; the last one counts.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from turnlog.entries.types.base import UNSEEN, FormatObject, Number
from turnlog.entries.types.envelope import ForkedFrom


class Aside(FormatObject, rename="camel", tag_field="type"):
    """An entry outside the graph: nothing hangs on it, and it has no uuid."""


class Metadata(Aside):
    """Such an entry that names its session."""

    session_id: str | None = None


class Summary(Aside, tag="summary"):
    """A title of old versions, often of a conversation in another file. Has nothing to do with compaction."""

    seen = ("1.0.17", "2.1.22")
    summary: str | None = None
    leaf_uuid: str | None = None
    """The last entry of the conversation it names."""


class CustomTitle(Metadata, tag="custom-title"):
    """The title that a person gave."""

    seen = ("2.0.76", None)
    custom_title: str | None = None


class AiTitle(Metadata, tag="ai-title"):
    """The title that the model gave."""

    seen = ("2.1.79", None)
    ai_title: str | None = None


class LastPrompt(Metadata, tag="last-prompt"):
    """The last prompt, and from 2.1.121 on where the conversation ends."""

    seen = ("2.1.76", None)
    last_prompt: str | None = None
    leaf_uuid: str | None = None
    """[2.1.121+] The entry to go on from; decides which branch is resumed."""
    explicit: bool | None = None
    """[2.1.325+] A person chose the place (rewind)."""


class Mode(Metadata, tag="mode"):
    """The mode of the session; always `normal` so far."""

    seen = ("2.1.150", None)
    mode: str | None = None


class PermissionMode(Metadata, tag="permission-mode"):
    """The mode of permissions from here on."""

    seen = ("2.1.90", None)
    permission_mode: str | None = None
    """`default`, `acceptEdits`, `plan`, `auto`, `bypassPermissions`."""


class PrLink(Metadata, tag="pr-link"):
    """A pull request that the session made."""

    seen = ("2.1.29", "2.1.233")
    pr_number: int | None = None
    pr_url: str | None = None
    pr_repository: str | None = None
    timestamp: str | None = None


class AgentName(Metadata, tag="agent-name"):
    """The name of the session's agent."""

    seen = ("2.1.119", None)
    agent_name: str | None = None


class AgentColor(Metadata, tag="agent-color"):
    """The colour of the session's agent on the screen."""

    seen = ("2.1.212", "2.1.212")
    agent_color: str | None = None


class AgentSetting(Metadata, tag="agent-setting"):
    """The kind of agent that the session runs as."""

    seen = ("2.1.233", "2.1.233")
    agent_setting: str | None = None


class Relocated(Metadata, tag="relocated"):
    """The session moved to another folder."""

    seen = ("2.1.233", "2.1.233")
    relocated_cwd: str | None = None


class WorktreeState(Metadata, tag="worktree-state"):
    """The git worktree that the session works in."""

    seen = ("2.1.233", "2.1.233")
    worktree_session: Any = None


class BridgeSession(Metadata, tag="bridge-session"):
    """The session's twin on the server."""

    seen = ("2.1.156", "2.1.237")
    bridge_session_id: str | None = None
    last_sequence_num: int | None = None
    owner_account_uuid: str | None = None
    """[2.1.227–2.1.237]"""
    owner_organization_uuid: str | None = None
    """[2.1.227–2.1.237]"""
    declared_dialog_kinds: Any = None
    """Known to 2.1.325, not seen; so are `sessionGroupingId` and `noHistoryBackfill`."""
    session_grouping_id: Any = None
    no_history_backfill: Any = None


class FrameLink(Metadata, tag="frame-link"):
    """An artifact that the session published."""

    seen = ("2.1.220", "2.1.220")
    path: str | None = None
    frame_url: str | None = None
    title: str | None = None
    timestamp: str | None = None
    artifact_count: int | None = None
    """Known to 2.1.325, not seen."""


class AtisLatch(Metadata, tag="atis-latch"):
    """Meaning not established; the value was always empty."""

    seen = ("2.1.235", None)
    atis: str | None = None


class ToolsUsed(Metadata, tag="tools-used"):
    """The names of the tools called so far."""

    seen = ("2.1.325", None)
    tools: Any = None


class ModelUsage(FormatObject, rename="camel"):
    """Totals of one model."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    thinking_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation_5m: int | None = field(default=None, name="cacheCreationEphemeral5mInputTokens")
    cache_creation_1h: int | None = field(default=None, name="cacheCreationEphemeral1hInputTokens")
    web_search_requests: int | None = None
    cost_usd: Number | None = field(default=None, name="costUSD")


class CostState(Metadata, tag="cost-state"):
    """Totals so far. Carried over on resume and into forks: never add them up."""

    seen = ("2.1.325", None)
    total_cost_usd: Number | None = field(default=None, name="totalCostUSD")
    has_unknown_model_cost: bool | None = None
    model_usage: dict[str, ModelUsage] | None = None
    """By model."""
    start_time: Number | None = None
    """Milliseconds since 1970."""
    total_duration: Number | None = None
    """Milliseconds; the other durations too."""
    total_api_duration: Number | None = field(default=None, name="totalAPIDuration")
    total_api_duration_without_retries: Number | None = field(default=None, name="totalAPIDurationWithoutRetries")
    total_tool_duration: Number | None = None
    total_lines_added: int | None = None
    total_lines_removed: int | None = None


class ContentReplacement(Metadata, tag="content-replacement"):
    """Contents that are sent in another form than they stand here."""

    seen = UNSEEN
    agent_id: str | None = None
    replacements: Any = None


class Tag(Metadata, tag="tag"):
    """A tag given by a person; an empty one takes it away."""

    seen = UNSEEN
    tag: str | None = None


class Turnlog(Metadata, tag="turnlog"):
    """What turnlog says of a session that it made from another; no client reads it."""

    seen = UNSEEN
    verb: str | None = None
    """What was done: clone, fork, repair …"""
    forked_from: ForkedFrom | None = None
    """The session it was made from."""
    timestamp: str | None = None
