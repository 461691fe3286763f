"""Redaction rules of other packages: they redact at every exit, and a broken one lets nothing out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.conftest import SESSION_ID, Packages, issue_call
from tests.trace.recorder import Recorder
from tests.trace.test_wakes import leave
from turnlog.errors import BrokenPlugin
from turnlog.plugin_lookup import RULE_GROUP, InstalledPlugin
from turnlog.redact.plugin_rules import PluginRule, load_plugin_rule
from turnlog.redact.rules import SecretRules
from turnlog.redact.text_view import TextView
from turnlog.trace.hook import hash_surroundings

SECRET = "EMP-123456"
GOOD = """
import re

class BadgeRule:
    hints = ("emp-",)

    def find_secrets(self, text):
        return [found.span() for found in re.finditer(r"EMP-[0-9]{6}", text)]
"""
BROKEN = {
    "an import that fails": "raise ImportError('no module named acme')",
    "a program that ends itself": "import sys; sys.exit(3)",
    "a syntax error": "class BadgeRule(:",
    "no such class": "class Other: pass",
    "no class": "BadgeRule = 7",
    "a class that wants an argument": "class BadgeRule:\n    def __init__(self, path): pass",
    "no method": "class BadgeRule: pass",
    "hints that are no tuple": GOOD.replace('("emp-",)', "'emp-'"),
    "hints in capitals": GOOD.replace('"emp-"', '"EMP-"'),
    "an empty hint": GOOD.replace('"emp-"', '""'),
    "an exception": "class BadgeRule:\n    def find_secrets(self, text): raise ValueError('saw ' + text)",
    "an exception on one text": (
        "class BadgeRule:\n    def find_secrets(self, text):\n        return [()] if 'EMP-' in text else []"
    ),
    "an exception after the first finding": (
        "class BadgeRule:\n    def find_secrets(self, text):\n        yield 0, 1\n        raise OSError(2, 'gone')"
    ),
    "an exit": "import sys\nclass BadgeRule:\n    def find_secrets(self, text): sys.exit(0)",
    "nothing at all": "class BadgeRule:\n    def find_secrets(self, text): pass",
    "a place behind the end": "class BadgeRule:\n    def find_secrets(self, text): return [(0, len(text) + 1)]",
    "a place before the start": "class BadgeRule:\n    def find_secrets(self, text): return [(-1, 2)]",
    "an empty place": "class BadgeRule:\n    def find_secrets(self, text): return [(1, 1)]",
    "places that are no numbers": "class BadgeRule:\n    def find_secrets(self, text): return [('0', '1')]",
}
EXITS: dict[str, list[str]] = {
    "export": ["export", "last", "--redact", "-o", "out.html"],
    "export to a pipe": ["export", "last", "--redact", "-f", "md", "-o", "-"],
    "export of all": ["export", "--all", "--redact", "-o", "out"],
    "share": ["export", "last", "--share", "-f", "txt", "-o", "out.txt"],
    "pack": ["pack", "last", "-o", "out.turnlog", "--redact"],
    "redact": ["redact", "last", "-o", "out.jsonl"],
    "redact as a clone": ["redact", "last", "--clone"],
    "show": ["show", "last", "--redact", "--full"],
    "trace show": ["trace", "show", "last", "--json"],
    "trace backfill": ["trace", "backfill", "--all"],
}


@pytest.fixture
def backend(packages: Packages) -> Iterator[Recorder]:
    """A tracing backend that is configured."""
    with Recorder() as found:
        packages.settings.write_text(f'[trace.targets.local]\nendpoint = "{found.url}"\n', encoding="utf-8")
        yield found


@pytest.fixture
def files(packages: Packages) -> Callable[[], bytes]:
    """All bytes that a command left behind, beside the session itself."""
    path = packages.add_session(issue_call())

    def read() -> bytes:
        places = [packages.work, packages.claude, packages.data]
        found = [item for place in places for item in place.rglob("*") if item.is_file() and item != path]
        return b"\0".join(item.read_bytes() for item in found)

    return read


@pytest.mark.parametrize("way", EXITS)
def test_a_rule_of_another_package_redacts_at_every_exit(
    packages: Packages, backend: Recorder, files: Callable[[], bytes], way: str
) -> None:
    packages.install("acme-rules", GOOD, "rule badge = acme_rules:BadgeRule")
    done = packages.run(*EXITS[way])
    assert done.returncode == 0, done.stderr
    everything = done.stdout + files().decode("utf-8", "replace") + json.dumps(backend.spans)
    assert SECRET not in everything


def test_the_mark_bears_the_name_of_the_entry_point(packages: Packages) -> None:
    packages.add_session(issue_call())
    packages.install_wheel("acme-rules", GOOD, "rule badge = acme_rules:BadgeRule")
    done = packages.run("export", "last", "--redact", "-f", "txt", "-o", "-")
    assert "My badge is [secret:badge:1]." in done.stdout
    assert "badge 1" in done.stderr


@pytest.mark.parametrize("way", EXITS)
def test_a_broken_rule_stops_every_exit_with_one_line_and_nothing_leaves(
    packages: Packages, backend: Recorder, files: Callable[[], bytes], way: str
) -> None:
    packages.install("acme-rules", BROKEN["an exception on one text"], "rule badge = acme_rules:BadgeRule")
    done = packages.run(*EXITS[way])
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "turnlog: redaction rule 'badge' of package acme-rules 1.0 failed with ValueError (TURNLOG_DEBUG=1 shows the"
        " traceback); nothing unredacted was written or sent; update or remove it: pip uninstall acme-rules\n"
    )
    assert packages.left_in_work() == []
    assert SECRET.encode() not in files()
    assert SECRET not in json.dumps(backend.spans)


@pytest.mark.parametrize("kind", BROKEN)
def test_a_rule_that_is_broken_in_any_way_stops_a_redaction_and_tells_no_secret(
    packages: Packages, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    module = f"acme_rules_{list(BROKEN).index(kind)}"
    packages.install(module, BROKEN[kind])
    monkeypatch.syspath_prepend(packages.folder)
    plugin = InstalledPlugin(RULE_GROUP, "badge", "acme-rules", "1.0", f"{module}:BadgeRule")
    with pytest.raises(BrokenPlugin) as failure:
        load_plugin_rule(plugin, ()).find(TextView(f"My badge is {SECRET}."))
    line = str(failure.value)
    assert line.startswith("redaction rule 'badge' of package acme-rules 1.0 ")
    assert line.endswith("update or remove it: pip uninstall acme-rules")
    assert SECRET not in line
    assert "\n" not in line


class AnyRule:
    """A rule that finds what a test wants."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._spans = spans

    def find_secrets(self, text: str) -> list[tuple[int, int]]:
        return self._spans


@given(text=st.text(max_size=40), spans=st.lists(st.tuples(st.integers(-2, 45), st.integers(-2, 45)), max_size=4))
def test_whatever_places_a_rule_names_they_are_in_the_text_or_the_redaction_stops(
    text: str, spans: list[tuple[int, int]]
) -> None:
    rule = PluginRule(InstalledPlugin(RULE_GROUP, "any", "acme-rules", "1.0", "acme_rules:AnyRule"), AnyRule(spans))
    view = TextView(text)
    are_places = all(0 <= start < end <= len(view.text) for start, end in spans)
    if are_places:
        assert [finding.secret for finding in rule.find(view)] == [view.text[start:end] for start, end in spans]
    else:
        with pytest.raises(BrokenPlugin):
            rule.find(view)


def test_a_rule_that_fails_tells_its_traceback_on_request(packages: Packages) -> None:
    packages.add_session(issue_call())
    packages.install("acme-rules", BROKEN["an exception"], "rule badge = acme_rules:BadgeRule")
    done = packages.run("export", "last", "--redact", "-o", "-", TURNLOG_DEBUG="1")
    assert "find_secrets" in done.stderr


@pytest.mark.parametrize("name", ["github", "password", "email", "user", "private-key", "Badge", "a:b", "x" * 41, ""])
def test_a_rule_has_a_proper_name_that_no_built_in_rule_has(name: str) -> None:
    plugin = InstalledPlugin(RULE_GROUP, name, "acme-rules", "1.0", "acme_rules:BadgeRule")
    with pytest.raises(BrokenPlugin, match="can't be used"):
        load_plugin_rule(plugin, SecretRules(emails=True, homes=True).names)


def test_a_rule_cannot_take_the_place_of_a_built_in_one(packages: Packages) -> None:
    packages.add_session(issue_call())
    packages.install("acme-rules", GOOD, "rule email = acme_rules:BadgeRule")
    done = packages.run("export", "last", "--redact", "-o", "out.html")
    assert (done.returncode, packages.left_in_work()) == (1, [])
    assert "turnlog has a built-in rule named 'email'" in done.stderr


def test_two_rules_of_one_name_stop_the_export(packages: Packages) -> None:
    packages.add_session(issue_call())
    packages.install("acme-rules", GOOD, "rule badge = acme_rules:BadgeRule")
    packages.install("more-rules", GOOD, "rule badge = more_rules:BadgeRule")
    done = packages.run("export", "last", "--redact", "-o", "out.html")
    assert (done.returncode, packages.left_in_work()) == (1, [])
    assert "package more-rules has a rule with the same name" in done.stderr


def test_a_broken_rule_does_not_concern_an_export_that_redacts_nothing(packages: Packages) -> None:
    packages.add_session(issue_call())
    packages.install("acme-rules", BROKEN["an import that fails"], "rule badge = acme_rules:BadgeRule")
    assert packages.run("export", "last", "-o", "out.html").returncode == 0


def test_a_rule_that_is_left_out_is_not_asked(packages: Packages) -> None:
    packages.add_session(issue_call())
    packages.install("acme-rules", BROKEN["an exception"], "rule badge = acme_rules:BadgeRule")
    assert packages.run("redact", "last", "--without", "badge").returncode == 0
    assert packages.run("redact", "last").returncode == 1


def test_the_worker_of_the_hook_sends_nothing_past_a_broken_rule_and_says_why(
    packages: Packages, backend: Recorder
) -> None:
    path = packages.add_session(issue_call())
    packages.install("acme-rules", BROKEN["an exception on one text"], "rule badge = acme_rules:BadgeRule")
    _leave_wake(packages, path)
    packages.run("trace", "work")
    assert backend.spans == []
    assert "redaction rule 'badge' of package acme-rules 1.0 failed" in packages.run("hook", "status").stdout
    packages.install("acme-rules", GOOD, "rule badge = acme_rules:BadgeRule")
    packages.run("trace", "work")
    assert len(backend.spans) > 0
    assert SECRET not in json.dumps(backend.spans)


def _leave_wake(packages: Packages, path: Path) -> None:
    told = {"transcript_path": str(path), "session_id": SESSION_ID, "hook_event_name": "SessionEnd", "reason": "other"}
    leave(packages.data / "trace", told, mark=hash_surroundings(packages.environment), made=time.time_ns())
