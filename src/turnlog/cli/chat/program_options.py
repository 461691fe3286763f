"""Options of `turnlog chat` that programs use (docs/sdk.md); the help leaves them out."""

from __future__ import annotations

from turnlog.cli.chat.chat_option import ChatOption

PROGRAM_OPTIONS = tuple(
    option._replace(is_hidden=True)
    for option in (
        ChatOption("is_verbose", ("--verbose",), "Accepted for compatibility; has no effect.", "flag"),
        ChatOption(
            "thinking", ("--thinking",), "Whether the model thinks.", choices=("adaptive", "enabled", "disabled")
        ),
        ChatOption(
            "thinking_display",
            ("--thinking-display",),
            "Whether the server returns summaries of the thinking.",
            choices=("summarized", "omitted", "highlights"),
        ),
        ChatOption(
            "dropped_prompt",
            ("--resume-drops-turn",),
            "With --resume-session-at, refuse if more than the turn of the prompt with this uuid would be dropped.",
        ),
        ChatOption(
            "task_tokens", ("--task-budget",), "Tokens that the model is told it may use for the task.", "number"
        ),
        ChatOption(
            "answerer",
            ("--permission-prompts",),
            "Who answers permission requests; with none, calls that need permission are denied.",
            choices=("host", "none"),
        ),
        ChatOption(
            "may_bypass",
            ("--allow-dangerously-skip-permissions",),
            "Let the program switch to bypassPermissions later.",
            "flag",
        ),
        ChatOption(
            "serverless_plugins",
            ("--plugin-dir-no-mcp",),
            "Load a plugin from this folder without its MCP servers (repeatable).",
            "many",
        ),
        ChatOption("config_root", ("--project-config-root",), "Use the project settings of this folder instead."),
        ChatOption("policy", ("--managed-settings",), "Restrictions for this session, as JSON."),
        ChatOption(
            "awaits_initialize",
            ("--await-initialize",),
            "Read the request initialize before the start; it may name plugins.",
            "flag",
        ),
        ChatOption("prints_hooks", ("--include-hook-events",), "Print the start and the end of every hook.", "flag"),
        ChatOption("is_mirrored", ("--session-mirror",), "Print every line that the session's files get.", "flag"),
        ChatOption("is_ephemeral", ("--no-session-persistence",), "Don't keep the session.", "flag"),
        ChatOption("is_debugged", ("--debug", "--debug-to-stderr"), "Log to standard error.", "flag"),
        ChatOption("debug_file", ("--debug-file",), "Log to this file."),
    )
)
