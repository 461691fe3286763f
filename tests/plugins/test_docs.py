"""docs/extending.md tells the truth: its package can be installed, and does what the page says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib

import pytest

import turnlog.plugins
from tests.cli.test_json_doc import keys, list_documented_keys
from tests.plugins.conftest import GROUPS, Packages, issue_call
from tests.session.build import ROOT
from turnlog.plugin_lookup import PLUGIN_KINDS

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
*EXAMPLES, TESTS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
(PROJECT,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
ISSUE = '{"status": "Open", "summary": "Rounding is off", "description": "**See** <b>x</b>"}'


@pytest.fixture
def machine(packages: Packages) -> Packages:
    """A machine with the package of the page, installed as a wheel."""
    project = tomllib.loads(PROJECT)["project"]
    kinds = {group: kind for kind, group in GROUPS.items()}
    entries = [
        f"{kinds[group]} {name} = {target}"
        for group, found in project["entry-points"].items()
        for name, target in found.items()
    ]
    packages.install_wheel(project["name"], "".join(EXAMPLES), *entries)
    packages.add_session(issue_call(ISSUE))
    return packages


@pytest.mark.parametrize("example", EXAMPLES, ids=["card", "exporter", "rule"])
def test_an_example_is_short(example: str) -> None:
    assert len(example.splitlines()) <= 24


def test_the_page_names_every_group_and_every_public_type() -> None:
    assert [group for group in PLUGIN_KINDS if f"`{group}`" not in PAGE] == []
    assert [name for name in turnlog.plugins.__all__ if name.endswith("Section") and f"`{name}`" not in PAGE] == [
        "CardSection"
    ]
    for name in ("ToolCall", "CardContents", "ExportDocument"):
        rows = re.search(rf"^\| `{name}` \| \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
        assert rows is not None
        members = {
            word.removesuffix("()") for word in re.findall(r"`([\w()]+)`", re.sub(r"\|[^|]*\|\n", "|\n", rows[1]))
        }
        kind = getattr(turnlog.plugins, name)
        fields = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "_fields", None) or vars(kind)
        assert members == {field for field in fields if not field.startswith("_")}


def test_the_card_is_shown(machine: Packages) -> None:
    done = machine.run("export", "last", "-f", "html", "-o", "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ACME-7: Rounding is off" in done.stdout
    assert "<strong>See</strong>" in done.stdout
    assert "<b>x</b>" not in done.stdout


def test_the_format_is_written(machine: Packages) -> None:
    done = machine.run("export", "last", "-f", "calls", "-o", "-")
    assert done.stdout.splitlines()[1].endswith(",mcp__jira__get_issue,answered,60000,ACME-7: Rounding is off")


def test_the_rule_redacts(machine: Packages) -> None:
    done = machine.run("export", "last", "-f", "calls", "--redact", "-o", "-")
    assert done.returncode == 0
    assert "EMP-123456" not in machine.run("export", "last", "-f", "md", "--share", "-o", "-").stdout
    assert "badge 1" in done.stderr


def test_the_checks_pass_and_the_tests_of_the_page_run(machine: Packages) -> None:
    assert machine.run("plugins", "--check").returncode == 0
    names = re.findall(r"^def (test_\w+)", TESTS, re.MULTILINE)
    assert len(names) == 3
    code = TESTS + "\n" + "\n".join(f"{name}()" for name in names)
    done = machine.start([sys.executable, "-c", code])
    assert (done.returncode, done.stderr) == (0, "")


def test_every_key_of_plugins_is_documented_and_printed(machine: Packages) -> None:
    assert set(keys(json.loads(machine.run("plugins", "--json").stdout))) == list_documented_keys("plugins")


@pytest.mark.slow
def test_the_example_has_its_types_right(machine: Packages) -> None:
    source = machine.work / "acme_turnlog.py"
    source.write_text("".join(EXAMPLES) + _ASSIGNMENTS, encoding="utf-8")
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(machine.data), str(source)]
    found = subprocess.run(words, cwd=machine.work, capture_output=True, text=True)
    if "No module named mypy" in found.stderr:
        pytest.skip("mypy is not installed here")
    assert found.returncode == 0, found.stdout


_ASSIGNMENTS = """
from turnlog.plugins import Exporter, RedactionRule, ToolCard

card: ToolCard = IssueCard()
exporter: Exporter = CallsExporter()
rule: RedactionRule = BadgeRule()
"""
