"""Read, search, follow, count, trace, share, keep and edit the session files that Claude Code writes.

    import turnlog

    for session in turnlog.list_sessions("webshop").sessions:   # every command is a function that returns a value
        print(session.short_id, session.title)
    turnlog.search_sessions("cent rounding"), turnlog.report_usage("model"), turnlog.describe_session("last")

    session = turnlog.open("last")                              # or a path, an id or the start of one, a title
    for turn in session.turns:
        print(turn.number, turn.kind, turn.text, turn.outcome)
    session.messages, session.calls, session.graph, session.usage
    session.conversation().messages                             # what the client would send if resumed now

docs/python.md shows all functions, docs/json.md the fields of their values. Nothing is imported before it is used.
"""

from __future__ import annotations

from turnlog._version import __version__

TYPE_CHECKING = False  # as in typing, whose import alone would double the time of `turnlog --version`
if TYPE_CHECKING:
    from turnlog.api.checks import CheckedFile, CheckReport, check_session
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
        update_index,
        verify_index,
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
    from turnlog.api.tools import CallCounts, ServerCalls, ToolCalls, ToolReport, count_tools
    from turnlog.api.usage import (
        CallAmounts,
        UsageAmounts,
        UsageQuality,
        UsageTable,
        UsageTableRow,
        UsageTotal,
        report_usage,
    )
    from turnlog.entries.entry import Entry, Scrap
    from turnlog.entries.reader import Transcript
    from turnlog.entries.titles import SessionNames
    from turnlog.errors import TurnlogError, UsageError
    from turnlog.session.calls import Call
    from turnlog.session.check import Finding, check
    from turnlog.session.message_usage import Usage
    from turnlog.session.messages import Message
    from turnlog.session.open import open, sessions
    from turnlog.session.session import Session
    from turnlog.session.session_summary import CallOverview, SessionSummary, TurnOverview
    from turnlog.session.turns import Turn

_WHERE = {
    "Call": "turnlog.session.calls",
    "CallAmounts": "turnlog.api.usage",
    "CallCounts": "turnlog.api.tools",
    "CallOverview": "turnlog.session.session_summary",
    "CheckReport": "turnlog.api.checks",
    "CheckedFile": "turnlog.api.checks",
    "Config": "turnlog.api.config",
    "ContextReport": "turnlog.api.context",
    "DiagnosedSession": "turnlog.api.diagnoses",
    "DiagnosisReport": "turnlog.api.diagnoses",
    "Entry": "turnlog.entries.entry",
    "FilePatch": "turnlog.api.files",
    "FilePiece": "turnlog.api.session",
    "FileReport": "turnlog.api.files",
    "FileVersions": "turnlog.api.files",
    "Finding": "turnlog.session.check",
    "IndexRefresh": "turnlog.api.index",
    "IndexReport": "turnlog.api.index",
    "IndexVerification": "turnlog.api.index",
    "LostSession": "turnlog.api.salvage",
    "LostSessionList": "turnlog.api.salvage",
    "MatchedSession": "turnlog.api.search",
    "Message": "turnlog.session.messages",
    "MessageList": "turnlog.api.session",
    "ProjectFiles": "turnlog.api.files",
    "RestoredVersion": "turnlog.api.files",
    "SalvagedSession": "turnlog.api.salvage",
    "Scrap": "turnlog.entries.entry",
    "SearchHit": "turnlog.api.search",
    "SearchReport": "turnlog.api.search",
    "ServerCalls": "turnlog.api.tools",
    "Session": "turnlog.session.session",
    "SessionFiles": "turnlog.api.files",
    "SessionInfo": "turnlog.api.sessions",
    "SessionList": "turnlog.api.sessions",
    "SessionNames": "turnlog.entries.titles",
    "SessionRemains": "turnlog.api.salvage",
    "SessionSummary": "turnlog.session.session_summary",
    "SessionTree": "turnlog.api.session_tree",
    "SymptomReport": "turnlog.api.diagnoses",
    "ToolCalls": "turnlog.api.tools",
    "ToolReport": "turnlog.api.tools",
    "Transcript": "turnlog.entries.reader",
    "TreeOrigin": "turnlog.api.session_tree",
    "TreeProject": "turnlog.api.session_tree",
    "TreeSession": "turnlog.api.session_tree",
    "Turn": "turnlog.session.turns",
    "TurnOverview": "turnlog.session.session_summary",
    "TurnlogError": "turnlog.errors",
    "Usage": "turnlog.session.message_usage",
    "UsageAmounts": "turnlog.api.usage",
    "UsageError": "turnlog.errors",
    "UsageQuality": "turnlog.api.usage",
    "UsageTable": "turnlog.api.usage",
    "UsageTableRow": "turnlog.api.usage",
    "UsageTotal": "turnlog.api.usage",
    "build_session_tree": "turnlog.api.session_tree",
    "check": "turnlog.session.check",
    "check_session": "turnlog.api.checks",
    "compact_index": "turnlog.api.index",
    "count_tools": "turnlog.api.tools",
    "describe_context": "turnlog.api.context",
    "describe_session": "turnlog.api.session",
    "diagnose_machine": "turnlog.api.diagnoses",
    "diagnose_session": "turnlog.api.diagnoses",
    "find_remains": "turnlog.api.salvage",
    "list_file_changes": "turnlog.api.files",
    "list_file_pieces": "turnlog.api.session",
    "list_files": "turnlog.api.files",
    "list_lost_sessions": "turnlog.api.salvage",
    "list_messages": "turnlog.api.session",
    "list_project_files": "turnlog.api.files",
    "list_sessions": "turnlog.api.sessions",
    "list_versions": "turnlog.api.files",
    "load_config": "turnlog.api.config",
    "open": "turnlog.session.open",
    "read_index_status": "turnlog.api.index",
    "rebuild_index": "turnlog.api.index",
    "report_usage": "turnlog.api.usage",
    "restore_file": "turnlog.api.files",
    "salvage_session": "turnlog.api.salvage",
    "search_sessions": "turnlog.api.search",
    "sessions": "turnlog.session.open",
    "to_document": "turnlog.api.documents",
    "update_index": "turnlog.api.index",
    "verify_index": "turnlog.api.index",
}

__all__ = [
    "Call",
    "CallAmounts",
    "CallCounts",
    "CallOverview",
    "CheckReport",
    "CheckedFile",
    "Config",
    "ContextReport",
    "DiagnosedSession",
    "DiagnosisReport",
    "Entry",
    "FilePatch",
    "FilePiece",
    "FileReport",
    "FileVersions",
    "Finding",
    "IndexRefresh",
    "IndexReport",
    "IndexVerification",
    "LostSession",
    "LostSessionList",
    "MatchedSession",
    "Message",
    "MessageList",
    "ProjectFiles",
    "RestoredVersion",
    "SalvagedSession",
    "Scrap",
    "SearchHit",
    "SearchReport",
    "ServerCalls",
    "Session",
    "SessionFiles",
    "SessionInfo",
    "SessionList",
    "SessionNames",
    "SessionRemains",
    "SessionSummary",
    "SessionTree",
    "SymptomReport",
    "ToolCalls",
    "ToolReport",
    "Transcript",
    "TreeOrigin",
    "TreeProject",
    "TreeSession",
    "Turn",
    "TurnOverview",
    "TurnlogError",
    "Usage",
    "UsageAmounts",
    "UsageError",
    "UsageQuality",
    "UsageTable",
    "UsageTableRow",
    "UsageTotal",
    "__version__",
    "build_session_tree",
    "check",
    "check_session",
    "compact_index",
    "count_tools",
    "describe_context",
    "describe_session",
    "diagnose_machine",
    "diagnose_session",
    "find_remains",
    "list_file_changes",
    "list_file_pieces",
    "list_files",
    "list_lost_sessions",
    "list_messages",
    "list_project_files",
    "list_sessions",
    "list_versions",
    "load_config",
    "open",
    "read_index_status",
    "rebuild_index",
    "report_usage",
    "restore_file",
    "salvage_session",
    "search_sessions",
    "sessions",
    "to_document",
    "update_index",
    "verify_index",
]


if not TYPE_CHECKING:  # a type checker knows the names, and shall complain of others

    def __getattr__(name: str) -> object:
        if name not in _WHERE:
            raise AttributeError(f"module 'turnlog' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
