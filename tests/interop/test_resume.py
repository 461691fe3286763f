"""Running a client: what it posts, how it ends, and that nothing of it stays behind."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.interop.case_rows import base, raw, row
from tests.interop.linear import is_linear
from tests.interop.recordings import explain_weakness
from tests.interop.resume import resume, session_id, version_of

posix = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in clients are shell scripts")

POST = """
import json, os, sys, urllib.request
body = {"model": "m", "messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": sys.argv[2]}]}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode())).read()
"""


def client(folder: Path, script: str) -> Path:
    path = folder / "client"
    path.write_text(script)
    path.chmod(0o755)
    return path


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw(base()))
    return path


@posix
def test_a_client_that_posts_has_sent(tmp_path: Path, session: Path) -> None:
    got = resume(client(tmp_path, f"#!{sys.executable}\n{POST}"), session)
    assert (got.outcome, got.status, len(got.messages)) == ("sent", 0, 2)


@posix
def test_a_client_that_fails_without_a_request_has_refused(tmp_path: Path, session: Path) -> None:
    got = resume(client(tmp_path, "#!/bin/sh\necho No conversation >&2\nexit 1\n"), session)
    assert (got.outcome, got.note, got.status) == ("refused", "No conversation", 1)


@posix
def test_a_client_that_ends_well_without_a_request_sent_nothing(tmp_path: Path, session: Path) -> None:
    assert resume(client(tmp_path, "#!/bin/sh\nexit 0\n"), session).outcome == "sent-nothing"


@posix
def test_a_client_that_hangs_is_killed_with_its_children(tmp_path: Path, session: Path) -> None:
    mark = tmp_path / "mark"
    hanging = client(tmp_path, f"#!/bin/sh\n(sleep 1; echo alive > {mark}) &\nwait\n")
    assert resume(hanging, session, limit=0.3).outcome == "timeout"
    time.sleep(1.2)
    assert not mark.exists()


@posix
def test_a_client_tells_its_version(tmp_path: Path) -> None:
    assert version_of(client(tmp_path, "#!/bin/sh\necho 2.1.325 '(Claude Code)'\n")) == "2.1.325"


def test_a_session_is_named_by_its_file_then_by_its_rows_then_by_its_content() -> None:
    name, other = "0a0a0a0a-0000-4000-8000-000000000001", "0A0A0A0A-0000-4000-8000-000000000002"
    assert session_id(Path(f"{name}.jsonl"), b"") == name
    assert session_id(Path("x.jsonl"), f'{{"sessionId": "{other}"}}'.encode()) == other.lower()
    assert session_id(Path("x.jsonl"), b"a") != session_id(Path("x.jsonl"), b"b")


@pytest.mark.parametrize(
    ("name", "rows", "linear"),
    [
        ("one chain", base(), True),
        ("one row", base()[:1], True),
        ("nothing", [], False),
        ("a fork", [*base(), row(7, 4, "user", "other")], False),
        ("a second root", [*base(), row(7, None, "user", "other")], False),
        ("a missing first row", base()[1:], False),
        ("a row twice", [*base(), row(6, 5, "assistant", "again")], False),
        ("times out of order", [*base()[:5], base()[5] | {"timestamp": "2020"}], False),
        ("two newest rows", [*base()[:5], base()[5] | {"timestamp": base()[4]["timestamp"]}], False),
        ("a sidechain beside", [*base(), row(8, None, "user", "side", isSidechain=True)], True),
        ("an attachment", [*base(), row(7, 6, "attachment")], False),
        ("a note of the system", [*base(), row(7, 6, "system", subtype="turn_duration")], True),
        ("a boundary", [*base(), row(7, 6, "system", subtype="compact_boundary")], False),
        ("progress", [*base(), row(7, 6, "progress")], False),
        ("an answer as a string", [*base()[:5], base()[5] | {"message": {"content": "x"}}], False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_session_is_linear_if_an_old_client_loses_nothing(
    name: str, rows: list[dict[str, object]], linear: bool, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw(rows) + b"no json\n[]\n")
    assert is_linear(path) is linear


def test_rows_without_links_are_not_judged() -> None:
    assert explain_weakness(raw(base()) + b"{\n[]\n") is None
    assert explain_weakness(raw([base()[0] | {"uuid": ""}])) == "rows without uuid or parentUuid"
