"""The arguments of the tools; their JSON schemas are generated from these classes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from turnlog.errors import UsageError
from turnlog.mcp.pages import DEFAULT_ANSWER_TOKENS, MAX_ANSWER_TOKENS, MIN_ANSWER_TOKENS

_SessionName = Annotated[str, Meta(description="Session id, its first 8 characters, or `last`", max_length=64)]
_TurnNumber = Annotated[int, Meta(ge=1, le=1_000_000)]
_Glob = Annotated[str, Meta(description="Only paths that match, such as src/*.py", max_length=500)]
_Day = Annotated[str, Meta(description="A day such as 2026-05-01, yesterday or 7d", max_length=40)]


class PagedArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """What all tools accept."""

    max_tokens: Annotated[
        int, Meta(ge=MIN_ANSWER_TOKENS, le=MAX_ANSWER_TOKENS, description="Size of the answer, about")
    ] = DEFAULT_ANSWER_TOKENS
    cursor: Annotated[str, Meta(description="Continues an answer: same arguments plus its cursor", max_length=40)] = ""


class SearchArguments(PagedArguments):
    query: Annotated[
        str,
        Meta(
            description='Words that occur together; "a phrase", a OR b, -not, prefix*; filters tool:Bash file:src/*.py '
            "kind:prompt error:yes after:7d before:2026-05-01",
            max_length=1000,
        ),
    ]
    session: _SessionName | None = None
    newest: Annotated[bool, Meta(description="Newest first instead of best first")] = False
    limit: Annotated[int, Meta(ge=1, le=50, description="Sessions to return")] = 8


class ListArguments(PagedArguments):
    title: Annotated[str, Meta(description="Only sessions whose title contains this", max_length=200)] = ""
    since: _Day | None = None


class OutlineArguments(PagedArguments):
    session: _SessionName


class TurnArguments(PagedArguments):
    session: _SessionName
    first: Annotated[_TurnNumber, Meta(description="First turn")] = 1
    last: Annotated[_TurnNumber, Meta(description="Last turn (default: the end)")] | None = None
    results: Annotated[
        Literal["none", "short", "full"], Meta(description="How much of tool inputs and results to include")
    ] = "short"
    agent: Annotated[str, Meta(description="Read this sub-agent instead", max_length=64)] | None = None


class MessageArguments(PagedArguments):
    session: _SessionName
    first: Annotated[int, Meta(ge=-100_000, le=1_000_000, description="First message; -5 means the last five")] = 1


class TouchedFileArguments(PagedArguments):
    session: _SessionName | None = None
    glob: _Glob | None = None
    changed_only: Annotated[bool, Meta(description="Leave out files that were only read")] = False


class FileVersionArguments(PagedArguments):
    file: Annotated[str, Meta(description="Path of the file, or its end", min_length=1, max_length=4000)]
    session: _SessionName | None = None
    after_turn: Annotated[_TurnNumber, Meta(description="As it was after this turn (default: the last)")] | None = None
    before_turn: Annotated[_TurnNumber, Meta(description="As it was before this turn")] | None = None


class UsageArguments(PagedArguments):
    by: Literal["daily", "weekly", "monthly", "session", "project", "model", "tool"] = "daily"
    since: _Day | None = None
    until: _Day | None = None


def build_input_schema(kind: type[PagedArguments]) -> dict[str, Any]:
    """Build the JSON schema of a tool's arguments, without references."""
    (_, schemas) = msgspec.json.schema_components([kind], ref_template="{name}")
    schema: dict[str, Any] = {name: value for name, value in schemas[kind.__name__].items() if name != "title"}
    common = ("max_tokens", "cursor")
    own = {name: value for name, value in schema["properties"].items() if name not in common}
    fields = own | {name: schema["properties"][name] for name in common}
    schema["properties"] = {name: _shorten_field(field) for name, field in fields.items()}
    return schema


def _shorten_field(field: dict[str, Any]) -> dict[str, Any]:
    """Leave out what only the check of the arguments needs: every word of a schema costs tokens in each session."""
    choices = [choice for choice in field.get("anyOf", ()) if choice.get("type") != "null"]
    inner = choices[0] if choices else field
    kept = {name: value for name, value in (field | inner).items() if name not in ("anyOf", "maxLength", "minLength")}
    return {name: value for name, value in kept.items() if name != "default" or value not in (None, "", False)}


def parse_arguments(kind: type[PagedArguments], given: dict[str, Any]) -> PagedArguments:
    """Check a tool's arguments; raise `UsageError` with the reason."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"invalid arguments: {error}") from None
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON allows
        raise UsageError("invalid arguments: a text contains half of a surrogate pair") from None
