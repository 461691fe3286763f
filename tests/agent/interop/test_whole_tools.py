"""Tools whose results depend on more than themselves, called in whole clients: a real one, and ours."""

from __future__ import annotations

import json
import re
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.agent.interop.side_by_side import HERE, Call, Furnish, Outcome
from tests.agent.interop.through import Machine, Told
from tests.interop.clients import NEWEST, OLD, list_missing_clients

pytestmark = [pytest.mark.interop, pytest.mark.skipif(bool(list_missing_clients()), reason="no client")]
NUMBERS = "".join(f"{number}\n" for number in range(1, 61))


def leave_empty(folder: Path) -> None:
    """An empty project."""


def both(base: Path, version: str, furnish: Furnish, calls: list[Call], *flags: str, **more: Any) -> tuple[Told, Told]:
    """What comes of the same calls in our client, and in a real one."""
    made = []
    for name, one in (("ours", None), ("theirs", version)):
        (base / name).mkdir()
        made.append(Machine((base / name).resolve(), one, furnish).go(calls, *flags, **more))
    return made[0], made[1]


def same(mine: Outcome, other: Outcome) -> None:
    assert (mine.content, mine.is_error, mine.structured) == (other.content, other.is_error, other.structured), (
        mine.call
    )


# -- inputs


def build_question_call(*questions: tuple[str, ...]) -> Call:
    made = [
        {
            "question": question,
            "header": "H",
            "options": [{"label": label, "description": "d"} for label in labels],
            "multiSelect": False,
        }
        for question, *labels in questions
    ]
    return "AskUserQuestion", {"questions": made}


def todo(**task: str) -> Call:
    return "TodoWrite", {"todos": [task]}


UNFIT: list[Call] = [
    build_question_call(),
    build_question_call(("Which?", "a")),
    build_question_call(("Which?", "a", "b", "c", "d", "e")),
    build_question_call(("Which?", "a", "a")),
    build_question_call(("Which?", "a", "b"), ("Which?", "c", "d")),
    ("WebFetch", {"url": "not a url", "prompt": "x"}),
    ("WebFetch", {"prompt": "x"}),
    ("WebFetch", {"url": "file:///etc/passwd", "prompt": "x"}),
    ("WebFetch", {"url": "https://u:p@example.com/", "prompt": "x"}),
    ("WebSearch", {"query": "x"}),
    ("WebSearch", {"query": "xx", "allowed_domains": ["a"], "blocked_domains": ["b"]}),
    ("Task", {"description": "d", "subagent_type": "x"}),
    ("Task", {"prompt": "p", "subagent_type": "x"}),
    todo(content="", status="pending", activeForm=""),
    todo(content="", status="bad", activeForm="x"),
    todo(content="", activeForm="x"),
    todo(status="pending", activeForm="x"),
    ("KillShell", {"shell_id": "nosuch"}),
    ("NoSuchTool", {}),
]


def test_what_a_tool_does_not_take_is_told_alike(tmp_path: Path) -> None:
    ours, theirs = both(tmp_path, OLD, leave_empty, UNFIT)
    for mine, other in zip(ours.outcomes, theirs.outcomes, strict=True):
        same(mine, other)


def test_where_nobody_can_be_asked_questions_and_plans_are_errors_everywhere(tmp_path: Path) -> None:
    calls = [build_question_call(("Which?", "a", "b")), ("ExitPlanMode", {"plan": "# Do it"})]
    for version in (OLD, NEWEST):
        (tmp_path / version).mkdir()
        for told in both(tmp_path / version, version, leave_empty, calls):
            assert [(one.is_error, one.keys) for one in told.outcomes] == [(True, "str")] * 2


# -- sub-agents

AGENT = "---\nname: helper\ndescription: helps\ntools: Bash\n---\nYou help.\n"
WORK = {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "echo hi", "description": "x"}}]}


def with_agent(folder: Path) -> None:
    (folder / ".claude" / "agents").mkdir(parents=True)
    (folder / ".claude" / "agents" / "helper.md").write_text(AGENT)


def test_a_sub_agent_reports_alike(tmp_path: Path) -> None:
    calls: list[Call] = [
        (
            "Task",
            {"description": "do it", "prompt": "Do it well", "subagent_type": "helper", "run_in_background": False},
        )
    ]
    agent = {"kind": "agent", "replies": [WORK, {"content": [{"type": "text", "text": "The report."}]}]}
    (mine,), (other,) = (told.outcomes for told in both(tmp_path, OLD, with_agent, calls, others=[agent]))
    assert _anonymous(mine.content[0]) == _anonymous(other.content[0])
    assert mine.content[1]["text"].split()[0] == other.content[1]["text"].split()[0] == "agentId:"
    assert mine.structured.keys() - other.structured.keys() == {"agentType", "resolvedModel"}  # of newer clients
    assert other.structured.keys() <= mine.structured.keys()
    fixed = ("status", "prompt", "content", "totalToolUseCount")
    assert [mine.structured[key] for key in fixed] == [other.structured[key] for key in fixed]
    for record in (mine.structured, other.structured):  # the tokens are those of the last answer alone
        usage = record["usage"]
        assert record["totalTokens"] == usage["input_tokens"] + usage["output_tokens"]
        assert mine.structured["usage"].keys() >= {"input_tokens", "output_tokens", "cache_read_input_tokens"}


def test_a_sub_agent_works_in_the_background_unless_the_model_waits(tmp_path: Path) -> None:
    agent = {"kind": "agent", "replies": [{"content": [{"type": "text", "text": "The report."}]}]}
    for number, (given, status) in enumerate((({}, "async_launched"), ({"run_in_background": False}, "completed"))):
        (tmp_path / str(number)).mkdir()
        calls: list[Call] = [("Task", {"description": "d", "prompt": "p", "subagent_type": "helper", **given})]
        both_told = both(tmp_path / str(number), NEWEST, with_agent, calls, others=[agent])
        assert [_find_launch(told.rows)["status"] for told in both_told] == [status, status]


def _find_launch(rows: list[dict[str, Any]]) -> dict[str, Any]:
    results = [row["toolUseResult"] for row in rows if isinstance(row.get("toolUseResult"), dict)]
    (found,) = [result for result in results if "agentId" in result]
    return dict(found)


def test_an_agent_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    calls: list[Call] = [("Task", {"description": "d", "prompt": "p", "subagent_type": "nosuch"})]
    for version in (OLD, NEWEST):
        (tmp_path / version).mkdir()
        (mine,), (other,) = (told.outcomes for told in both(tmp_path / version, version, with_agent, calls))
        assert _before_list(mine.content) == _before_list(other.content)
        assert "helper" in mine.content
        assert "helper" in other.content


def _anonymous(block: dict[str, Any]) -> dict[str, Any]:
    return {"type": block["type"], "text": block["text"]}


def _before_list(text: str) -> str:
    return text.split("Available agents:")[0]


# -- files that must not be read


def with_secrets(folder: Path) -> None:
    for name in ("a.txt", "secret.txt", "sub/secret.txt", "sub/b.txt", "hid/x.txt", ".env"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("one\nhit\ntwo\n")
    rules = {"permissions": {"deny": ["Read(secret.txt)", "Read(./hid/**)", "Read(.env)"]}}
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").write_text(json.dumps(rules))


SEARCHES: list[Call] = [
    ("Grep", {"pattern": "hit"}),
    ("Grep", {"pattern": "hit", "output_mode": "content", "-C": 1}),
    ("Grep", {"pattern": "hit", "output_mode": "count"}),
    ("Grep", {"pattern": "hit", "glob": "*.txt"}),
    ("Glob", {"pattern": "**/*.txt"}),
    ("Glob", {"pattern": "secret.txt"}),
]
FORBIDDEN: list[Call] = [
    ("Grep", {"pattern": "hit", "path": "secret.txt"}),
    ("Grep", {"pattern": "hit", "path": "hid"}),
    ("Glob", {"pattern": "*", "path": "hid"}),
]


def test_searches_do_not_show_what_must_not_be_read(tmp_path: Path) -> None:
    ours, theirs = both(tmp_path, NEWEST, with_secrets, SEARCHES + FORBIDDEN, "--tools", "Glob,Grep")
    for mine, other in zip(ours.outcomes, theirs.outcomes, strict=True):
        if mine.call in FORBIDDEN:
            assert mine.is_error or mine.content == "No files found"
            assert other.is_error
        else:
            assert sorted(mine.content.split("\n")) == sorted(other.content.split("\n")), mine.call
            assert "secret" not in mine.content
            assert mine.keys == other.keys


# -- files between runs


def letters(folder: Path) -> None:
    for name in "abcdefghij":
        (folder / f"{name}.txt").write_text("".join(f"{name}{number}\n" for number in range(1, 9)))


def read(name: str, **more: int) -> Call:
    return "Read", {"file_path": f"{HERE}/{name}.txt", **more}


def edit(name: str, old: str, new: str) -> Call:
    return "Edit", {"file_path": f"{HERE}/{name}.txt", "old_string": old, "new_string": new}


def put(name: str, content: str) -> Call:
    return "Write", {"file_path": f"{HERE}/{name}.txt", "content": content}


def shell(command: str) -> Call:
    return "Bash", {"command": command, "description": "x"}


SEEN = [
    read("a"),
    read("b", limit=1),
    put("new", "x\n"),
    read("d"),
    edit("d", "d1", "D1"),
    read("e"),
    read("f"),
    read("g", offset=2, limit=2),
    read("h"),
    read("j"),
    put("j", "j1\nnew\n"),
]
LATER = [
    edit("a", "a2", "A2"),
    edit("b", "b2", "B2"),
    edit("new", "x", "y"),
    edit("d", "d2", "D2"),
    edit("e", "e2", "E2"),
    edit("e", "e5\n", "x\n"),
    put("f", "all\n"),
    edit("g", "g3", "G3"),
    put("h", "h\n"),
    edit("j", "new", "newer"),
    put("a", "a\n"),
]


def run_resumed(base: Path, version: str | None) -> Told:
    """Some files are seen; some of them are changed, `h` is only touched; and the session goes on."""
    base.mkdir()
    machine = Machine(base.resolve(), version, letters)
    machine.go(SEEN)
    time.sleep(1.1)  # times in sessions have milliseconds, those of some file systems whole seconds
    for name in "efg":
        path = machine.folder / f"{name}.txt"
        path.write_text(path.read_text().replace("5", "five"))
    (machine.folder / "h.txt").touch()
    return machine.go(LATER, "--continue")


def test_a_session_that_goes_on_knows_its_files_as_far_as_they_are_unchanged(tmp_path: Path) -> None:
    ours, theirs = run_resumed(tmp_path / "ours", None), run_resumed(tmp_path / "theirs", NEWEST)
    for mine, other in zip(ours.outcomes, theirs.outcomes, strict=True):
        assert (mine.content, mine.is_error) == (other.content, other.is_error), mine.call
        assert mine.keys == other.keys, mine.call


# -- files that others change

ELSEWHERE = "sleep 1.1; sed 's/^10$/ten/; s/^30$/thirty/; 50d' w.txt > t; cat t > w.txt; rm t"


def test_what_others_did_to_a_file_that_the_model_wrote_is_shown_alike(tmp_path: Path) -> None:
    calls = [put("w", NUMBERS), shell(ELSEWHERE), shell("true"), edit("w", "ten", "TEN")]
    ours, theirs = both(tmp_path, NEWEST, leave_empty, calls)
    assert _changes(ours) == _changes(theirs) != []
    assert ours.outcomes[-1].content == theirs.outcomes[-1].content


def _changes(told: Told) -> list[str]:
    """The lines that the model was shown, in the last request."""
    text = json.dumps(told.of("main")[-1]["messages"])
    found = re.findall(
        r"changed on disk since.*?\(shown with line numbers\):\\n(.*?)(?:\\n</system-reminder>)?\"", text
    )
    return [lines.replace("\\t", "\t") for lines in found]


# -- WebFetch

PAGES: dict[str, tuple[int, bytes, dict[str, str]]] = {
    "/page": (200, b"<title>T</title><p>Para <b>b</b></p>", {"content-type": "text/html"}),
    "/plain": (200, b"just text", {"content-type": "text/plain"}),
    "/md": (200, b"# md", {"content-type": "text/markdown"}),
    "/json": (200, b'{"a":1}', {"content-type": "application/json"}),
    "/long": (200, b"a" * 100_005, {"content-type": "text/plain"}),
    "/empty": (200, b"", {"content-type": "text/html"}),
    "/same": (302, b"", {"location": "/plain"}),
    "/away": (301, b"", {"location": "https://example.com/x?y=1"}),
    "/again": (307, b"", {"location": "https://example.com/"}),
    "/loop": (302, b"", {"location": "/loop"}),
    "/500": (500, b"oh", {"content-type": "text/plain"}),
    "/403": (403, b"no", {}),
}


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, to make a certificate")
    made, key = tmp_path / "made.pem", tmp_path / "key.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1".split()
    more = ("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made))
    subprocess.run([*words, *more], check=True, capture_output=True)
    made.write_text(made.read_text() + key.read_text())
    return made


@pytest.fixture
def site(certificate: Path) -> Iterator[str]:
    """A server with pages, behind TLS: the real client takes no other."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *given: object) -> None: ...

        def do_GET(self) -> None:
            status, body, headers = PAGES.get(self.path, (404, b"nothing", {}))
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"https://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def without_asking_home(folder: Path) -> None:
    """The real client asks its maker whether a host is safe, unless the settings say otherwise."""
    (folder.parent / "home" / ".claude").mkdir()
    settings = {"skipWebFetchPreflight": True}
    (folder.parent / "home" / ".claude" / "settings.json").write_text(json.dumps(settings))


def test_pages_are_told_and_recorded_alike(tmp_path: Path, site: str, certificate: Path) -> None:
    calls: list[Call] = [("WebFetch", {"url": site + path, "prompt": "What is it?"}) for path in (*PAGES, "/nosuch")]
    calls += [("WebFetch", {"url": f"{site}/long", "prompt": "And?", "offset": at}) for at in (50, 100_000, 200_000)]
    calls += [("WebFetch", {"url": url, "prompt": "x"}) for url in ("http://localhost:1/", "https://intranet/")]
    reader = {"kind": "web_page", "replies": [{"content": [{"type": "text", "text": "It is."}]}], "when_done": "repeat"}
    trust = {"NODE_EXTRA_CA_CERTS": str(certificate), "SSL_CERT_FILE": str(certificate)}
    ours, theirs = both(tmp_path, NEWEST, without_asking_home, calls, others=[reader], more=trust)
    for mine, other in zip(ours.outcomes, theirs.outcomes, strict=True):
        same(_timeless(mine), _timeless(other))
    assert _pages(ours) == _pages(theirs)


def _timeless(outcome: Outcome) -> Outcome:
    if isinstance(outcome.structured, dict):
        return outcome._replace(structured=outcome.structured | {"durationMs": 0})
    return outcome


def _pages(told: Told) -> list[tuple[str, str]]:
    """What the reader of pages is given: the page, and the question; what it is told besides is each client's own."""
    found = [json.dumps(body["messages"][0]["content"]) for body in told.of("web_page")]
    form = re.compile(r"Web page content:\\n---\\n(.*?)(?:\\n\\n\[[^]]*\])?\\n---\\n\\n(.*?)(?:\\n|\")")
    parts = [form.search(text) for text in found]
    return [(part[1], part[2]) for part in parts if part]


# -- commands in the background


def test_a_command_in_the_background_is_ended_alike(tmp_path: Path) -> None:
    calls: list[Call] = [
        ("Bash", {"command": "sleep 60", "description": "x", "run_in_background": True}),
        ("KillShell", {"shell_id": "{{shell}}"}),
        ("KillShell", {"shell_id": "{{shell}}"}),
    ]
    ours, theirs = both(tmp_path, NEWEST, leave_empty, calls, capture={"shell": r"with ID: (\w+)"})
    same(_nameless(ours.outcomes[1], ours), _nameless(theirs.outcomes[1], theirs))
    assert ours.outcomes[2].is_error
    assert theirs.outcomes[2].is_error


def _nameless(outcome: Outcome, told: Told) -> Outcome:
    name = told.outcomes[0].structured["backgroundTaskId"]
    content, structured = json.loads(json.dumps([outcome.content, outcome.structured]).replace(name, "ID"))
    return outcome._replace(content=content, structured=structured)
