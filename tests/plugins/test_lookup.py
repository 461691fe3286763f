"""Which plugins are found, by which commands, from where; and what `turnlog plugins` says of them."""

from __future__ import annotations

import json
import sys
import urllib.request
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.cli.conftest import harmful
from tests.plugins import test_cards, test_exporters, test_rules
from tests.plugins.conftest import SESSION_ID, Packages, issue_call
from tests.web.conftest import Folders, start

LOUD = "import pathlib, sys\npathlib.Path({path!r}).write_text('loaded')\n"
"""A module that leaves a sign of having been run."""
LOOKUPS = (
    "import sys; sys.argv[0] = 'turnlog'\n"
    "from turnlog.__main__ import main; status = main()\n"
    "found = sys.modules.get('turnlog.plugin_lookup')\n"
    "sys.exit(40 if found and found.find_plugins.cache_info().currsize else status)"
)


def install_all(packages: Packages) -> None:
    packages.install("acme-cards", test_cards.GOOD, test_cards.ENTRY)
    packages.install("acme-rules", test_rules.GOOD, "rule badge = acme_rules:BadgeRule")
    packages.install("acme-tables", test_exporters.GOOD, test_exporters.ENTRY)


@pytest.mark.parametrize(
    "words",
    [
        "--version",
        "ls",
        "show last",
        "search rounding",
        "usage",
        "statusline",
        "hook status",
        "check last",
        "doctor last",
        "export --format md last -o -",
        "pack last -o x.turnlog",
    ],
)
def test_commands_that_use_no_plugin_look_for_none(packages: Packages, words: str) -> None:
    packages.add_session(issue_call(tool="Bash"))
    install_all(packages)
    done = packages.start([sys.executable, "-P", "-c", LOOKUPS, *words.split()])
    assert done.returncode != 40, done.stderr


@pytest.mark.parametrize("words", ["export last -o - -f table", "export last -o - --redact", "trace show last"])
def test_commands_that_use_plugins_look_for_them(packages: Packages, words: str) -> None:
    packages.add_session(issue_call())
    install_all(packages)
    assert packages.start([sys.executable, "-P", "-c", LOOKUPS, *words.split()]).returncode == 40


@pytest.mark.parametrize("words", ["export last -o - -f txt --redact", "plugins"])
def test_nothing_in_the_current_folder_is_loaded(packages: Packages, tmp_path: Path, words: str) -> None:
    """Neither a package that lies there, nor a module there with the name of an installed one, nor one of ours."""
    packages.add_session(issue_call())
    install_all(packages)
    sign = tmp_path / "sign"
    loud = LOUD.format(path=str(sign))
    packages.install("evil-rules", loud + test_rules.GOOD, "rule evil = evil_rules:BadgeRule", into=packages.work)
    for name in ("acme_rules", "acme_cards", "click", "msgspec", "logging"):
        (packages.work / f"{name}.py").write_text(loud)
    done = packages.run(*words.split())
    assert done.returncode == 0, done.stderr
    assert not sign.exists()
    assert "evil" not in done.stdout


def test_plugins_are_listed_with_their_packages(packages: Packages) -> None:
    install_all(packages)
    done = packages.run("plugins")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "kind            name   package          state",
        "tool card       issue  acme-cards 1.0   ready",
        "exporter        table  acme-tables 1.0  ready",
        "redaction rule  badge  acme-rules 1.0   ready",
    ]


def test_plugins_that_cannot_be_used_are_listed_with_the_reason(packages: Packages) -> None:
    packages.install("acme-cards", "import no\x5fsuch_module", test_cards.ENTRY)
    packages.install("acme-rules", test_rules.GOOD, "rule github = acme_rules:BadgeRule")
    packages.install("acme-tables", test_exporters.GOOD, "exporter html = acme_tables:TableExporter")
    packages.install("bad-tables", "raise ValueError('\x1b[2J\u202e')", "exporter bad = bad_tables:TableExporter")
    done = packages.run("plugins", "--json")
    assert done.returncode == 1
    assert {item["package"]: item["problem"] for item in json.loads(done.stdout)["plugins"]} == {
        "acme-cards": "can't be loaded: ModuleNotFoundError: No module named 'no_such_module'",
        "acme-rules": "can't be used: turnlog has a built-in rule named 'github'",
        "acme-tables": "is not used: turnlog has its own format 'html'",
        "bad-tables": "can't be loaded: ValueError: \x1b[2J\u202e",
    }
    assert harmful(packages.run("plugins").stdout) == set()


def test_a_machine_without_plugins_says_so(packages: Packages) -> None:
    assert packages.run("plugins").stdout == "No installed package extends turnlog.\n"


def test_the_check_tries_each_plugin(packages: Packages) -> None:
    install_all(packages)
    done = packages.run("plugins", "--check", "--json")
    assert done.returncode == 1
    problems = {item["name"]: item["problem"] for item in json.loads(done.stdout)["plugins"]}
    assert problems["issue"].startswith("fails its check: show_call(ToolCall(")
    assert (problems["table"], problems["badge"]) == (None, None)


@dataclass(frozen=True)
class PluginFolders(Folders):
    """The machine of these tests for the web server of other ones."""

    packages: Packages

    @property
    def environment(self) -> dict[str, str]:
        return self.packages.environment


@pytest.mark.slow
def test_the_web_app_shows_cards_of_other_packages_and_reports_a_broken_one(packages: Packages) -> None:
    build = issue_call()
    build.call("c2", "mcp__jira__get_issue", {"key": "ACME-8"})
    build.result("c2", "no JSON")
    packages.add_session(build)
    install_all(packages)
    server = start(PluginFolders(packages.claude, packages.data, packages))
    try:
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        browser.open(server.address).read()
        pages = [browser.open(f"{server.url}/s/{SESSION_ID}/window/0").read().decode() for _ in range(2)]
    finally:
        server.stop()
    assert "Issue ACME-7" in pages[0]
    assert "key=ACME-8" in pages[1]
    (line,) = [line for line in server.errors if "plugin" in line or "package" in line]
    assert "tool card 'issue' of package acme-cards 1.0 failed on a call to mcp__jira__get_issue" in line
