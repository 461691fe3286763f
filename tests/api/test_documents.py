"""Values become the documents that `--json` prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType

import turnlog
from tests.cli.conftest import Turnlog
from turnlog.api.documents import to_document

SESSION = "22161731"
CASES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "ls": (lambda: turnlog.list_sessions(include_junk=True), ["ls", "--all"]),
    "ls page": (lambda: turnlog.list_sessions(limit=2, page=2), ["ls", "-n", "2", "--page", "2"]),
    "tree": (turnlog.build_session_tree, ["tree"]),
    "search": (lambda: turnlog.search_sessions("rounding", context=1), ["search", "rounding", "--context", "1"]),
    "usage": (turnlog.report_usage, ["usage"]),
    "usage by session": (lambda: turnlog.report_usage("session"), ["usage", "session"]),
    "usage by tool": (lambda: turnlog.report_usage("tool"), ["usage", "tool"]),
    "tools": (turnlog.count_tools, ["tools"]),
    "tools of a session": (lambda: turnlog.count_tools(SESSION), ["tools", SESSION]),
    "context": (lambda: turnlog.describe_context(SESSION), ["context", SESSION]),
    "show": (lambda: turnlog.describe_session(SESSION), ["show", SESSION]),
    "show redacted": (lambda: turnlog.describe_session(SESSION, redact=True), ["show", SESSION, "--redact"]),
    "messages": (lambda: turnlog.list_messages(SESSION), ["messages", SESSION]),
    "files": (lambda: turnlog.list_files(SESSION, glob="*.py"), ["files", SESSION, "--path", "*.py"]),
    "files of a project": (lambda: turnlog.list_project_files("webshop"), ["files", "--project", "webshop"]),
    "versions": (
        lambda: turnlog.list_versions("cart.py", session=SESSION),
        ["restore", "cart.py", "--list", "-s", SESSION],
    ),
    "check": (
        lambda: turnlog.check_session(SESSION, requests=True, resumable=True),
        ["check", SESSION, "--requests", "--resumable"],
    ),
    "doctor": (lambda: turnlog.diagnose_session(SESSION), ["doctor", SESSION]),
    "doctor of all": (turnlog.diagnose_machine, ["doctor"]),
    "salvage": (turnlog.list_lost_sessions, ["salvage"]),
    "index status": (turnlog.read_index_status, ["index", "status"]),
    "index verify": (turnlog.verify_index, ["index", "verify"]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_returns_what_its_command_prints(
    name: str, shop: Path, turnlog_command: Turnlog, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    function, words = CASES[name]
    turnlog.update_index()
    done = turnlog_command(*words, "--json")
    value = function()
    printed = capsysbinary.readouterr()
    assert (printed.out, printed.err) == (b"", b"")
    assert json.loads(json.dumps(to_document(value))) == done.json
    assert list(to_document(value)) == list(done.json)


class Colour(Enum):
    RED = "red"


class Pair(NamedTuple):
    left: int
    right: Path


class Inner(Struct, frozen=True):
    depth: int


class Sample(Struct, frozen=True):
    pair: Pair
    when: datetime
    colour: Colour
    labels: dict[str, Any]
    inner: Inner | None = None
    missing: int | UnsetType = UNSET
    renamed: int = msgspec.field(name="other", default=1)


class Flat(Struct, frozen=True):
    __flat_fields__: ClassVar = ("labels", "inner")
    labels: dict[str, int]
    inner: Inner | None


def test_fields_become_keys_and_what_json_lacks_becomes_text() -> None:
    value = Sample(
        Pair(1, Path("a") / "b"), datetime(2026, 1, 2, tzinfo=UTC), Colour.RED, {"x": (1, None, True)}, Inner(2)
    )
    assert to_document(value) == {
        "pair": {"left": 1, "right": str(Path("a") / "b")},
        "when": "2026-01-02T00:00:00.000Z",
        "colour": "red",
        "labels": {"x": [1, None, True]},
        "inner": {"depth": 2},
        "other": 1,
    }


def test_flat_fields_put_their_keys_in_their_place() -> None:
    assert to_document(Flat({"day": 1}, Inner(2))) == {"day": 1, "depth": 2}
    assert to_document(Flat({}, None)) == {}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_plain_values_stay_as_they_are(value: Any) -> None:
    assert to_document(value) == value
