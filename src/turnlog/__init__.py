"""Read, search, follow, count, trace, share, keep and edit the session files that Claude Code writes.

    import turnlog

    for session in turnlog.list_sessions("webshop").sessions:   # every command is a function that returns a value
        print(session.short_id, session.title)
    turnlog.search_sessions("cent rounding"), turnlog.report_usage("model"), turnlog.describe_session("last")

    session = turnlog.open("last")                              # or a path, an id, the start of an id, or a title
    for turn in session.turns:
        print(turn.number, turn.kind, turn.text, turn.outcome)
    session.messages, session.calls, session.graph, session.usage
    session.conversation().messages                             # what the client would send if resumed now

docs/python.md describes every function, and docs/json.md describes the fields of the returned values. Modules are
imported only when they are first used.
"""

from __future__ import annotations

from turnlog._version import __version__

TYPE_CHECKING = False  # as in typing, whose import alone would double the time of `turnlog --version`
if TYPE_CHECKING:
    from turnlog.api.archive_upkeep import ArchivePruning, ArchiveVerification, prune_archive, verify_archive
    from turnlog.api.archives import (
        ArchiveList,
        ArchiveRun,
        ArchiveStatus,
        RestoredSession,
        RestoredSessions,
        archive_sessions,
        list_archive,
        read_archive_status,
        restore_archived_session,
        restore_archived_sessions,
        schedule_archive,
    )
    from turnlog.api.changes import (
        AppendedLabel,
        Change,
        ChangeList,
        ProjectMove,
        PrunedChanges,
        UndoResult,
        list_changes,
        move_project,
        prune_changes,
        rename_session,
        tag_session,
        undo,
    )
    from turnlog.api.checks import CheckedFile, CheckReport, check_session
    from turnlog.api.clones import (
        CloneEdits,
        ClonePlan,
        CloneResult,
        CompactOptions,
        CompressOptions,
        ForkResult,
        SessionCopy,
        clone_session,
        fork_session,
    )
    from turnlog.api.comparisons import (
        ComparedFile,
        ComparedSide,
        ComparedTurn,
        SessionComparison,
        compare_sessions,
    )
    from turnlog.api.config import Config, load_config
    from turnlog.api.context import ContextReport, describe_context
    from turnlog.api.diagnoses import (
        DiagnosedSession,
        DiagnosisReport,
        SymptomReport,
        diagnose_machine,
        diagnose_session,
    )
    from turnlog.api.documents import to_document
    from turnlog.api.events import iter_events
    from turnlog.api.exports import ExportOptions, ExportResult, export_session, export_sessions
    from turnlog.api.files import (
        FilePatch,
        FileReport,
        FileVersions,
        ProjectFiles,
        RestoredVersion,
        SessionFiles,
        list_file_changes,
        list_files,
        list_project_files,
        list_versions,
        restore_file,
    )
    from turnlog.api.index import (
        IndexRefresh,
        IndexReport,
        IndexVerification,
        compact_index,
        read_index_status,
        rebuild_index,
        stop_indexing,
        update_index,
        verify_index,
    )
    from turnlog.api.lakes import (
        LakeMonth,
        LakeQueryResult,
        LakeSummary,
        LakeToolRow,
        LakeUnknown,
        LakeUsageRow,
        LakeVersion,
        query_lake,
        report_lake,
    )
    from turnlog.api.mcp_installation import (
        McpChange,
        McpSettings,
        McpStatus,
        install_mcp_server,
        read_mcp_status,
        uninstall_mcp_server,
    )
    from turnlog.api.notifications import (
        NotifyStatus,
        NotifyTestReport,
        load_notify_config,
        read_notify_status,
        run_notifier,
        send_test_notifications,
    )
    from turnlog.api.packages import (
        PackageContents,
        PackedSessions,
        UnpackedSessions,
        list_package,
        pack_sessions,
        unpack_sessions,
    )
    from turnlog.api.prompts import ListedPrompt, PromptList, list_prompts
    from turnlog.api.quest import (
        QuestRebuild,
        claim_quest_chest,
        list_cosmetics,
        open_quest_chest,
        open_quest_feed,
        read_quest_profile,
        rebuild_quest_profile,
        replay_quest,
        skip_quest_chest,
        wear_cosmetic,
    )
    from turnlog.api.redaction import RedactResult, redact_session
    from turnlog.api.repairs import RepairResult, repair_session
    from turnlog.api.replays import (
        RecordResult,
        ReplayedEvent,
        ReplayOptions,
        record_session,
        replay_session,
    )
    from turnlog.api.salvage import (
        LostSession,
        LostSessionList,
        SalvagedSession,
        SessionRemains,
        find_remains,
        list_lost_sessions,
        salvage_session,
    )
    from turnlog.api.search import MatchedSession, SearchHit, SearchReport, search_sessions
    from turnlog.api.session import FilePiece, MessageList, describe_session, list_file_pieces, list_messages
    from turnlog.api.session_tree import SessionTree, TreeOrigin, TreeProject, TreeSession, build_session_tree
    from turnlog.api.sessions import SessionInfo, SessionList, list_sessions
    from turnlog.api.store_redaction import RedactStoresResult, StoreSecrets, redact_stores
    from turnlog.api.strip import StripPreview, StripSavings, build_strip_options, strip_session
    from turnlog.api.tools import CallCounts, ServerCalls, ToolCalls, ToolReport, count_tools
    from turnlog.api.trace_hook import HookStatus, install_hook, read_hook_status, uninstall_hook
    from turnlog.api.trace_outbox import FlushReport, TraceStatus, flush_traces, read_trace_status
    from turnlog.api.trace_spans import SessionTraces, trace_session
    from turnlog.api.traces import BackfillReport, TracePreview, backfill_traces, preview_traces
    from turnlog.api.trash import (
        Deletions,
        EmptiedTrash,
        TrashedSession,
        TrashList,
        Undeletion,
        delete_session,
        delete_sessions,
        empty_trash,
        list_trash,
        undelete_session,
    )
    from turnlog.api.usage import (
        CallAmounts,
        UsageAmounts,
        UsageQuality,
        UsageTable,
        UsageTableRow,
        UsageTotal,
        report_usage,
    )
    from turnlog.api.watch import BoardList, BoardSession, EventWatch, list_board, watch_events
    from turnlog.edit.strip.strip_options import StripOptions
    from turnlog.entries.entry import Entry, Scrap
    from turnlog.entries.reader import Transcript
    from turnlog.entries.titles import SessionNames
    from turnlog.errors import Ambiguous, Busy, Changed, NotFound, Refused, TurnlogError, Unreadable, UsageError
    from turnlog.fleet.build import FailedFile, LakeBuild
    from turnlog.fleet.forget import ForgottenPerson
    from turnlog.fleet.lakes import build_lake, forget_person
    from turnlog.live.events.event import Event
    from turnlog.notify.notification import Notification
    from turnlog.notify.settings import NotifyConfig
    from turnlog.quest.feed import QuestFeed
    from turnlog.quest.game_event import GameEvent
    from turnlog.quest.profile import QuestProfile
    from turnlog.session.calls import Call
    from turnlog.session.check import Finding, check
    from turnlog.session.message_usage import Usage
    from turnlog.session.messages import Message
    from turnlog.session.open import open, sessions
    from turnlog.session.session import Session
    from turnlog.session.session_summary import CallOverview, SessionSummary, TurnOverview
    from turnlog.session.turns import Turn

_NAMES_BY_MODULE = {
    "turnlog.api.archive_upkeep": "ArchivePruning ArchiveVerification prune_archive verify_archive",
    "turnlog.api.archives": (
        "ArchiveList ArchiveRun ArchiveStatus RestoredSession RestoredSessions archive_sessions list_archive"
        " read_archive_status restore_archived_session restore_archived_sessions schedule_archive"
    ),
    "turnlog.api.changes": (
        "AppendedLabel Change ChangeList ProjectMove PrunedChanges UndoResult list_changes move_project prune_changes"
        " rename_session tag_session undo"
    ),
    "turnlog.api.checks": "CheckReport CheckedFile check_session",
    "turnlog.api.clones": (
        "CloneEdits ClonePlan CloneResult CompactOptions CompressOptions ForkResult SessionCopy clone_session"
        " fork_session"
    ),
    "turnlog.api.comparisons": "ComparedFile ComparedSide ComparedTurn SessionComparison compare_sessions",
    "turnlog.api.config": "Config load_config",
    "turnlog.api.context": "ContextReport describe_context",
    "turnlog.api.diagnoses": "DiagnosedSession DiagnosisReport SymptomReport diagnose_machine diagnose_session",
    "turnlog.api.documents": "to_document",
    "turnlog.api.events": "iter_events",
    "turnlog.api.exports": "ExportOptions ExportResult export_session export_sessions",
    "turnlog.api.files": (
        "FilePatch FileReport FileVersions ProjectFiles RestoredVersion SessionFiles list_file_changes list_files"
        " list_project_files list_versions restore_file"
    ),
    "turnlog.api.index": (
        "IndexRefresh IndexReport IndexVerification compact_index read_index_status rebuild_index stop_indexing"
        " update_index verify_index"
    ),
    "turnlog.api.mcp_installation": (
        "McpChange McpSettings McpStatus install_mcp_server read_mcp_status uninstall_mcp_server"
    ),
    "turnlog.api.lakes": "LakeMonth LakeQueryResult LakeSummary LakeToolRow LakeUnknown LakeUsageRow LakeVersion"
    " query_lake report_lake",
    "turnlog.api.notifications": (
        "NotifyStatus NotifyTestReport load_notify_config read_notify_status run_notifier send_test_notifications"
    ),
    "turnlog.api.packages": (
        "PackageContents PackedSessions UnpackedSessions list_package pack_sessions unpack_sessions"
    ),
    "turnlog.api.prompts": "ListedPrompt PromptList list_prompts",
    "turnlog.api.quest": (
        "QuestRebuild claim_quest_chest list_cosmetics open_quest_chest open_quest_feed read_quest_profile"
        " rebuild_quest_profile replay_quest skip_quest_chest wear_cosmetic"
    ),
    "turnlog.api.redaction": "RedactResult redact_session",
    "turnlog.api.store_redaction": "RedactStoresResult StoreSecrets redact_stores",
    "turnlog.api.repairs": "RepairResult repair_session",
    "turnlog.api.replays": "RecordResult ReplayOptions ReplayedEvent record_session replay_session",
    "turnlog.api.salvage": (
        "LostSession LostSessionList SalvagedSession SessionRemains find_remains list_lost_sessions salvage_session"
    ),
    "turnlog.api.search": "MatchedSession SearchHit SearchReport search_sessions",
    "turnlog.api.session": "FilePiece MessageList describe_session list_file_pieces list_messages",
    "turnlog.api.session_tree": "SessionTree TreeOrigin TreeProject TreeSession build_session_tree",
    "turnlog.api.sessions": "SessionInfo SessionList list_sessions",
    "turnlog.api.strip": "StripPreview StripSavings build_strip_options strip_session",
    "turnlog.api.tools": "CallCounts ServerCalls ToolCalls ToolReport count_tools",
    "turnlog.api.trace_hook": "HookStatus install_hook read_hook_status uninstall_hook",
    "turnlog.api.trace_outbox": "FlushReport TraceStatus flush_traces read_trace_status",
    "turnlog.api.trace_spans": "SessionTraces trace_session",
    "turnlog.api.traces": "BackfillReport TracePreview backfill_traces preview_traces",
    "turnlog.api.trash": (
        "Deletions EmptiedTrash TrashList TrashedSession Undeletion delete_session delete_sessions empty_trash"
        " list_trash undelete_session"
    ),
    "turnlog.api.usage": "CallAmounts UsageAmounts UsageQuality UsageTable UsageTableRow UsageTotal report_usage",
    "turnlog.api.watch": "BoardList BoardSession EventWatch list_board watch_events",
    "turnlog.edit.strip.strip_options": "StripOptions",
    "turnlog.entries.entry": "Entry Scrap",
    "turnlog.entries.reader": "Transcript",
    "turnlog.entries.titles": "SessionNames",
    "turnlog.errors": "Ambiguous Busy Changed NotFound Refused TurnlogError Unreadable UsageError",
    "turnlog.live.events.event": "Event",
    "turnlog.notify.notification": "Notification",
    "turnlog.notify.settings": "NotifyConfig",
    "turnlog.quest.feed": "QuestFeed",
    "turnlog.quest.game_event": "GameEvent",
    "turnlog.quest.profile": "QuestProfile",
    "turnlog.fleet.build": "FailedFile LakeBuild",
    "turnlog.fleet.forget": "ForgottenPerson",
    "turnlog.fleet.lakes": "build_lake forget_person",
    "turnlog.session.calls": "Call",
    "turnlog.session.check": "Finding check",
    "turnlog.session.message_usage": "Usage",
    "turnlog.session.messages": "Message",
    "turnlog.session.open": "open sessions",
    "turnlog.session.session": "Session",
    "turnlog.session.session_summary": "CallOverview SessionSummary TurnOverview",
    "turnlog.session.turns": "Turn",
}
_WHERE = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()}

__all__ = [
    "Ambiguous",
    "AppendedLabel",
    "ArchiveList",
    "ArchivePruning",
    "ArchiveRun",
    "ArchiveStatus",
    "ArchiveVerification",
    "BackfillReport",
    "BoardList",
    "BoardSession",
    "Busy",
    "Call",
    "CallAmounts",
    "CallCounts",
    "CallOverview",
    "Change",
    "ChangeList",
    "Changed",
    "CheckReport",
    "CheckedFile",
    "CloneEdits",
    "ClonePlan",
    "CloneResult",
    "CompactOptions",
    "ComparedFile",
    "ComparedSide",
    "ComparedTurn",
    "CompressOptions",
    "Config",
    "ContextReport",
    "Deletions",
    "DiagnosedSession",
    "DiagnosisReport",
    "EmptiedTrash",
    "Entry",
    "Event",
    "EventWatch",
    "ExportOptions",
    "ExportResult",
    "FailedFile",
    "FilePatch",
    "FilePiece",
    "FileReport",
    "FileVersions",
    "Finding",
    "FlushReport",
    "ForgottenPerson",
    "ForkResult",
    "GameEvent",
    "HookStatus",
    "IndexRefresh",
    "IndexReport",
    "IndexVerification",
    "LakeBuild",
    "LakeMonth",
    "LakeQueryResult",
    "LakeSummary",
    "LakeToolRow",
    "LakeUnknown",
    "LakeUsageRow",
    "LakeVersion",
    "ListedPrompt",
    "LostSession",
    "LostSessionList",
    "MatchedSession",
    "McpChange",
    "McpSettings",
    "McpStatus",
    "Message",
    "MessageList",
    "NotFound",
    "Notification",
    "NotifyConfig",
    "NotifyStatus",
    "NotifyTestReport",
    "PackageContents",
    "PackedSessions",
    "ProjectFiles",
    "ProjectMove",
    "PromptList",
    "PrunedChanges",
    "QuestFeed",
    "QuestProfile",
    "QuestRebuild",
    "RecordResult",
    "RedactResult",
    "RedactStoresResult",
    "Refused",
    "RepairResult",
    "ReplayOptions",
    "ReplayedEvent",
    "RestoredSession",
    "RestoredSessions",
    "RestoredVersion",
    "SalvagedSession",
    "Scrap",
    "SearchHit",
    "SearchReport",
    "ServerCalls",
    "Session",
    "SessionComparison",
    "SessionCopy",
    "SessionFiles",
    "SessionInfo",
    "SessionList",
    "SessionNames",
    "SessionRemains",
    "SessionSummary",
    "SessionTraces",
    "SessionTree",
    "StoreSecrets",
    "StripOptions",
    "StripPreview",
    "StripSavings",
    "SymptomReport",
    "ToolCalls",
    "ToolReport",
    "TracePreview",
    "TraceStatus",
    "Transcript",
    "TrashList",
    "TrashedSession",
    "TreeOrigin",
    "TreeProject",
    "TreeSession",
    "Turn",
    "TurnOverview",
    "TurnlogError",
    "Undeletion",
    "UndoResult",
    "UnpackedSessions",
    "Unreadable",
    "Usage",
    "UsageAmounts",
    "UsageError",
    "UsageQuality",
    "UsageTable",
    "UsageTableRow",
    "UsageTotal",
    "__version__",
    "archive_sessions",
    "backfill_traces",
    "build_lake",
    "build_session_tree",
    "build_strip_options",
    "check",
    "check_session",
    "claim_quest_chest",
    "clone_session",
    "compact_index",
    "compare_sessions",
    "count_tools",
    "delete_session",
    "delete_sessions",
    "describe_context",
    "describe_session",
    "diagnose_machine",
    "diagnose_session",
    "empty_trash",
    "export_session",
    "export_sessions",
    "find_remains",
    "flush_traces",
    "forget_person",
    "fork_session",
    "install_hook",
    "install_mcp_server",
    "iter_events",
    "list_archive",
    "list_board",
    "list_changes",
    "list_cosmetics",
    "list_file_changes",
    "list_file_pieces",
    "list_files",
    "list_lost_sessions",
    "list_messages",
    "list_package",
    "list_project_files",
    "list_prompts",
    "list_sessions",
    "list_trash",
    "list_versions",
    "load_config",
    "load_notify_config",
    "move_project",
    "open",
    "open_quest_chest",
    "open_quest_feed",
    "pack_sessions",
    "preview_traces",
    "prune_archive",
    "prune_changes",
    "query_lake",
    "read_archive_status",
    "read_hook_status",
    "read_index_status",
    "read_mcp_status",
    "read_notify_status",
    "read_quest_profile",
    "read_trace_status",
    "rebuild_index",
    "rebuild_quest_profile",
    "record_session",
    "redact_session",
    "redact_stores",
    "rename_session",
    "repair_session",
    "replay_quest",
    "replay_session",
    "report_lake",
    "report_usage",
    "restore_archived_session",
    "restore_archived_sessions",
    "restore_file",
    "run_notifier",
    "salvage_session",
    "schedule_archive",
    "search_sessions",
    "send_test_notifications",
    "sessions",
    "skip_quest_chest",
    "stop_indexing",
    "strip_session",
    "tag_session",
    "to_document",
    "trace_session",
    "undelete_session",
    "undo",
    "uninstall_hook",
    "uninstall_mcp_server",
    "unpack_sessions",
    "update_index",
    "verify_archive",
    "verify_index",
    "watch_events",
    "wear_cosmetic",
]


if not TYPE_CHECKING:  # a type checker knows the names, and shall complain of others

    def __getattr__(name: str) -> object:
        if name not in _WHERE:
            raise AttributeError(f"module 'turnlog' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
