"""An agent that guesses learns nothing: two machines that differ only in their secrets give the same answers."""

from __future__ import annotations

import itertools
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import OWN, Shelf
from tests.session.build import Build
from turnlog.api.archives import archive_sessions
from turnlog.mcp.library import SessionLibrary
from turnlog.mcp.toolbox import call_tool

OTHER = "cccccccc-3333-4333-8333-333333333333"
TOKENS = ("glpat-" + "x7Kd93mNq0zPwXy5RtL2", "glpat-" + "q2Zb81vGh6cTjUe4WsM9")
"""Found by their form."""
PASSWORDS = ("tulip!garden", "maple!window")
"""Found only because one line says what they are; made of letters and one mark."""
LEARNED = ("hX93kfLw02mQ", "vB61trYp58cN")
HUMPS = (
    "sk-ant-" + "api03-" + "QzLk2VnXwRtYpBmGcHdJfS" * 4 + "AA",
    "sk-ant-" + "api03-" + "TyHb7NcMwQsDkXvJzLgFpR" * 4 + "AA",
)
"""Split at its capitals, as identifiers are."""
FREE_TOOLS = ("list_sessions", "get_session", "get_turns", "get_messages", "get_files_touched", "get_usage")


def plant(shelf: Shelf, which: int) -> None:
    """Write two sessions; the secrets stand in every field that a tool filters, sorts or counts by."""
    token, password, learned, humps = TOKENS[which], PASSWORDS[which], LEARNED[which], HUMPS[which]
    first, second = Build(), Build()
    first.prompt(f"Deploy with {token} and {password} today")
    first.call(
        "c1", "Write", {"file_path": f"{shelf.project}/keys/{learned}/{token}.py", "content": f"k = '{token}'\n"}
    )
    first.result("c1", "ok", toolUseResult={
        "type": "create", "filePath": f"{shelf.project}/keys/{learned}/{token}.py", "content": f"k = '{token}'\n",
    })  # fmt: skip
    first.call("c2", f"mcp__{token}__send", {"notes": f"deploy {learned} {humps}"})
    first.result("c2", f"deploy failed: {humps} {password}", error=True)
    first.call("c3", "Write", {"file_path": f"{shelf.project}/{password}/b.py", "content": "b = 1\n"})
    first.result("c3", "ok")
    first.answer(f"deploy done with {password}", model=f"claude-{token}", gitBranch=f"fix-{token}")
    first.answer(f"export DB_PASSWORD='{password}'")
    first.answer(f"export API_TOKEN={learned}")
    first.note("custom-title", customTitle=f"Deploy {password} {token}")
    second.prompt("deploy the tulip garden behind the maple window")
    second.call("d1", "Bash", {"command": "deploy"})
    second.result("d1", "deployed")
    for number in range(12):
        second.prompt(f"deploy step {number}")
        second.answer(f"deploy step {number} is done")
    shelf.add(OWN, first)
    shelf.add(OTHER, second)


def iter_guesses() -> Iterator[str]:
    """Parts of the secrets of both machines, as an agent may come by them one letter at a time."""
    for secret in (*TOKENS, *PASSWORDS, *LEARNED, *HUMPS):
        core = secret.removeprefix("glpat-").removeprefix("sk-ant-").removeprefix("api03-")[:24]
        yield from (secret, core, core[:1], core[:2], core[:5], core[2:9], core[-4:], secret[:-1], core[:-1] + "_")
        yield from re.findall("[A-Z][a-z]+|[a-z]+|[0-9]+", core)[:4]


def iter_calls() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every way in which a tool compares a text with an argument."""
    for guess in dict.fromkeys(iter_guesses()):
        plain = guess.strip("!-_")
        for query in (
            plain, f"{plain}*", f'"{guess}"', f"deploy {plain}*", f"deploy -{plain}*", f"deploy NOT ({plain}* OR step)",
            f"({plain}* OR nothing) kind:prompt", f"{plain}* OR step", f"file:{plain}*", f"file:keys/{plain}*",
            f"deploy -file:{plain}*", f"tool:{plain}*", f"tool:*{plain}*", f"deploy -tool:*{plain}*",
            f"model:*{plain}*", f"-model:*{plain}* deploy", f"error:yes {plain}*", f'"deploy {plain}"', f"{plain}x",
            f"step {plain}",
        ):  # fmt: skip
            yield "search_sessions", {"query": query, "limit": 1}
            yield "search_sessions", {"query": query, "newest": True}
        yield "list_sessions", {"title": guess}
        for glob in (
            f"*{guess}*",
            f"*/{guess[:1]}*",
            f"*{guess[:1]}?*/*",
            f"*[!{plain[:1]}]*.py",
            f"keys/[{plain[:1]}]*",
        ):
            yield "get_files_touched", {"glob": glob}
            yield "get_files_touched", {"glob": glob, "session": OWN}
        for name in (guess, f"{guess}.py", f"{guess}/b.py", f"keys/{guess}"):
            yield "get_file_version", {"file": name}
            yield "get_file_version", {"file": name, "session": OWN}
    for count in range(1, 20):
        for shape in ("?", "[a-z]", "[!a-z]"):
            yield "get_files_touched", {"glob": f"*/{shape * count}/b.py"}


def ask_all(shelf: Shelf, calls: list[tuple[str, dict[str, Any]]]) -> list[str]:
    library = shelf.open()
    answers = [ask(library, shelf, name, given) for name, given in calls]
    answers += [ask(library, shelf, name, {"session": OWN} if "get" in name else {}) for name in FREE_TOOLS[:-1]]
    kinds = ("daily", "session", "project", "model", "tool")
    answers += [ask(library, shelf, "get_usage", {"by": kind}) for kind in kinds]
    library.close()
    return answers


def ask(library: SessionLibrary, shelf: Shelf, name: str, given: dict[str, Any]) -> str:
    text = call_tool(library, name, given).text.replace(str(shelf.base), "BASE")
    text = re.sub("[0-9a-f]{8}(?= again|>)", "MARK", text)
    # Rows whose figures are equal are in no particular order.
    return "\n".join(sorted(text.split("\n"))) if name == "get_usage" else text


def build_shelf(base: Path, which: int, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    # One after the other in the same place, so that nothing but the secrets differs.
    shutil.rmtree(base / "machine", ignore_errors=True)
    shelf = Shelf(base / "machine")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(shelf.config))
    monkeypatch.setenv("TURNLOG_HOME", str(shelf.base / "data"))
    plant(shelf, which)
    return shelf


@pytest.mark.slow
@pytest.mark.parametrize("start", range(3))
def test_machines_that_differ_only_in_secrets_answer_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: int
) -> None:
    calls = list(iter_calls())[start::9]
    if start == 1:  # what an answer depends on may be learned by an earlier call
        calls.reverse()
    answers = [ask_all(build_shelf(tmp_path, which, monkeypatch), calls) for which in (0, 1)]
    differing = [(call, *pair) for call, *pair in itertools.zip_longest(calls, *answers) if pair[0] != pair[1]]
    assert not differing, (len(differing), differing[:3])
    for answer in itertools.chain(*answers):
        assert not any(secret[-8:] in answer for secret in (*TOKENS, *LEARNED, *HUMPS, *PASSWORDS))
    # The tools do find what is not secret.
    assert sum("deploy" in answer for answer in answers[0]) > len(calls) // 10


SHAPES: tuple[tuple[str, str, str], ...] = (
    ("search_sessions", "query", "glpat {}*"),
    ("search_sessions", "query", '"glpat-{}"*'),
    ("search_sessions", "query", "deploy -{}*"),
    ("search_sessions", "query", "tool:mcp__glpat-{}*"),
    ("search_sessions", "query", "model:claude-glpat-{}*"),
    ("search_sessions", "query", "file:{}*"),
    ("list_sessions", "title", "glpat-{}"),
    ("get_files_touched", "glob", "*/glpat-{}*"),
)


def recover(library: SessionLibrary, shelf: Shelf, shape: tuple[str, str, str], length: int) -> str:
    """Guess a secret letter by letter: the right one gives another answer than all others."""
    tool, argument, form = shape
    found = ""
    for _ in range(length):
        answers = {
            letter: ask(library, shelf, tool, {argument: form.format(found + letter)})
            for letter in ("x7Kvjzu" if found else "xvjzu")
        }
        counts = Counter(answers.values())
        right = [letter for letter, answer in answers.items() if counts[answer] == 1]
        if len(counts) != 2 or len(right) != 1:
            break
        found += right[0]
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape[0]}-{shape[2]}")
def test_no_tool_lets_a_secret_be_guessed_letter_by_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[str, str, str]
) -> None:
    shelf = build_shelf(tmp_path, 0, monkeypatch)
    library = shelf.open()
    assert recover(library, shelf, shape, 3) == ""
    library.close()


def test_the_program_that_guesses_works_without_redaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = build_shelf(tmp_path, 0, monkeypatch)
    library = shelf.open(redact=False)
    assert {recover(library, shelf, shape, 3).lower() for shape in SHAPES} == {"x7k"}
    library.close()


def test_what_is_not_secret_is_found_in_the_same_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build_shelf(tmp_path, 0, monkeypatch).open()
    for query in (
        "deploy failed",
        "deploy fail*",
        "tool:mcp*",
        "error:yes",
        "deploy today",
        '"deploy failed"',
        "depoly",
    ):
        answer = call_tool(library, "search_sessions", {"query": query}).text
        assert OWN[:8] in answer, (query, answer)
    library.close()


def test_a_learned_password_is_replaced_on_every_line_of_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = build_shelf(tmp_path, 0, monkeypatch).open()
    for name in FREE_TOOLS:
        text = call_tool(library, name, {"session": OWN, "results": "full"} if name == "get_turns" else {}).text
        assert PASSWORDS[0] not in text, name
    library.close()


def test_secrets_of_a_session_that_only_the_archive_has_are_replaced_and_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = build_shelf(tmp_path, 0, monkeypatch)
    archive_sessions()
    first = shelf.open()
    call_tool(first, "search_sessions", {"query": "deploy"})  # the index has to know the session
    first.close()
    for path in shelf.config.glob(f"projects/*/{OWN}*"):
        path.unlink()
    library = shelf.open()
    for query in ("fail*", "hX9 OR failed", "deploy done"):
        answer = call_tool(library, "search_sessions", {"query": query}).text
        assert OWN[:8] in answer, query
        assert not any(secret in answer for secret in (LEARNED[0], PASSWORDS[0], TOKENS[0])), query
    for query in (LEARNED[0], f"{LEARNED[0][:4]}*", "tulip! failed", f"{TOKENS[0][:9]}*"):
        assert call_tool(library, "search_sessions", {"query": query}).text == "Nothing found.", query
    library.close()


def test_an_error_does_not_confirm_a_guess(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build_shelf(tmp_path, 0, monkeypatch).open()
    for tool, argument in (("get_file_version", "file"), ("list_sessions", "since"), ("get_turns", "session")):
        answers = set()
        for password in PASSWORDS:
            given = {argument: password} | ({"session": OWN} if tool == "get_file_version" else {})
            answer = call_tool(library, tool, given)
            assert answer.is_error
            answers.add(answer.text)
        assert len(answers) == 1, answers
    unknown = [call_tool(library, "get_usage", {password: "x", "since": password}).text for password in PASSWORDS]
    assert unknown[0] == unknown[1]
    wrong = [call_tool(library, "get_usage", {"by": password}).text for password in PASSWORDS]
    assert wrong[0] == wrong[1]
    library.close()


def test_a_password_that_only_a_large_output_names_is_replaced_in_the_transcript(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = build_shelf(tmp_path, 0, monkeypatch)
    build = Build()
    build.prompt("Why does acorn!fence not work, and oak42Bridge9?")
    name = "dddddddd-4444-4444-8444-444444444444"
    outputs = shelf.add(name, build).with_suffix("") / "tool-results"
    outputs.mkdir(parents=True)
    (outputs / "b1.txt").write_text("export DB_PASSWORD='acorn!fence'\nexport API_TOKEN=oak42Bridge9\n")
    library = shelf.open()
    for tool, given in (
        ("search_sessions", {"query": "work"}),
        ("get_turns", {"session": name}),
        ("list_sessions", {}),
    ):
        text = call_tool(library, tool, given).text
        assert "dddddddd" in text
        assert "acorn" not in text, tool
        assert "oak42" not in text, tool
    library.close()
