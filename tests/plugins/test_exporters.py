"""Exporters of other packages: `turnlog export --format NAME` finds them, and a broken one writes nothing."""

from __future__ import annotations

import json

import pytest

from tests.plugins.conftest import Packages, issue_call
from tests.session.build import find_recording
from turnlog.errors import BrokenPlugin
from turnlog.export.formats import iter_exported_bytes
from turnlog.export.material import ExportChoice, ExportMaterial
from turnlog.export.plugin_exporters import ExportDocument, load_exporter
from turnlog.plugin_lookup import EXPORTER_GROUP, InstalledPlugin
from turnlog.render.render_options import SHOW_EVERYTHING
from turnlog.session.session import Session

GOOD = """
import json

class TableExporter:
    file_ending = ".table.csv"

    def export_session(self, document):
        yield f"{document.title},{len(document.turns)},{document.is_redacted}\\n"
        for item in document.iter_items():
            yield json.dumps(item) + "\\n"
        for agent in document.iter_agents():
            yield agent["agent_id"].encode()
"""
TOKEN = "ghp_" + "x7Kq9ZrT2mWv4LpB8nYd6HcJ3sFg5QaE1uXo"
ENTRY = "exporter table = acme_tables:TableExporter"
LATE = """
class TableExporter:
    file_ending = ".csv"

    def export_session(self, document):
        yield "a" * 100_000
        raise ValueError("no more\\x1b[2J\\nrows")
"""
BROKEN = {
    "an import that fails": "import no_such_module_anywhere",
    "an exit": "raise SystemExit(0)",
    "no class": "TableExporter = len",
    "no method": "class TableExporter:\n    file_ending = '.csv'",
    "no ending": "class TableExporter:\n    def export_session(self, document): return []",
    "an ending that leads elsewhere": GOOD.replace(".table.csv", "/../../x"),
    "an ending without a dot": GOOD.replace(".table.csv", "csv"),
    "no ending at all": GOOD.replace('".table.csv"', "7"),
}


@pytest.fixture
def machine(packages: Packages) -> Packages:
    packages.add_session(issue_call())
    return packages


def test_a_format_of_another_package_is_written_like_the_built_in_ones(machine: Packages) -> None:
    machine.install("acme-tables", GOOD, ENTRY)
    done = machine.run("export", "last", "--format", "table", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["format"] == "table"
    (name,) = machine.left_in_work()
    assert name.endswith(".table.csv")
    head, *items = (machine.work / name).read_text(encoding="utf-8").splitlines()
    assert head.endswith(",1,False")
    views = [json.loads(item) for item in items]
    whole = json.loads(machine.run("export", "last", "-f", "json", "-o", "-").stdout)
    assert views == whole["items"]


def test_redaction_comes_before_the_exporter(machine: Packages) -> None:
    machine.install_wheel("acme-tables", GOOD, ENTRY)
    machine.add_session(issue_call(TOKEN))
    done = machine.run("export", "last", "-f", "table", "--redact", "-o", "-")
    assert done.returncode == 0, done.stderr
    assert ",True\n" in done.stdout
    assert "[secret:github:1]" in done.stdout
    assert TOKEN not in done.stdout


def test_the_ending_of_a_file_that_names_the_format_is_enough(machine: Packages) -> None:
    machine.install("acme-tables", GOOD, ENTRY)
    assert machine.run("export", "last", "-o", "calls.table").returncode == 0
    assert ",1,False\n" in (machine.work / "calls.table").read_text(encoding="utf-8")


def test_many_sessions_become_a_folder_with_a_file_each(machine: Packages) -> None:
    machine.install("acme-tables", GOOD, ENTRY)
    machine.add_session(issue_call(), "6e66bbbb-0000-4000-8000-000000000002")
    assert machine.run("export", "--all", "-f", "table", "-o", "out").returncode == 0
    assert len(list((machine.work / "out").glob("*.table.csv"))) == 2


def test_help_and_errors_name_the_formats_of_other_packages(machine: Packages) -> None:
    machine.install("acme-tables", GOOD, ENTRY)
    assert "parquet|table]" in " ".join(machine.run("export", "--help").stdout.split()).replace(" ", "")
    done = machine.run("export", "last", "--format", "tabel")
    assert done.returncode == 2
    assert "'parquet', 'table'" in done.stderr


@pytest.mark.parametrize(
    "words",
    [["last", "-o", "out.csv"], ["last", "-o", "-"], ["--all", "-o", "out"], ["last", "-o", "old.csv", "--force"]],
    ids=" ".join,
)
def test_an_exporter_that_fails_midway_leaves_nothing_and_is_named(machine: Packages, words: list[str]) -> None:
    machine.install("acme-tables", LATE, ENTRY)
    (machine.work / "old.csv").write_text("old")
    done = machine.run("export", "--format", "table", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "turnlog: exporter 'table' of package acme-tables 1.0 failed: ValueError: no more\\x1b[2J rows;"
        " update or remove it: pip uninstall acme-tables\n"
    )
    assert machine.left_in_work() == ["old.csv"]
    assert (machine.work / "old.csv").read_text() == "old"


def test_a_broken_exporter_does_not_concern_other_formats(machine: Packages) -> None:
    machine.install("acme-tables", BROKEN["an import that fails"], ENTRY)
    done = machine.run("export", "last", "-f", "md", "-o", "out.md")
    assert (done.returncode, done.stderr) == (0, "")
    done = machine.run("export", "last", "-f", "table", "-o", "out.table")
    assert (done.returncode, machine.left_in_work()) == (1, ["out.md"])
    assert "exporter 'table' of package acme-tables 1.0 can't be loaded: ModuleNotFoundError" in done.stderr


def test_a_plugin_cannot_take_the_place_of_a_built_in_format(machine: Packages) -> None:
    machine.install("acme-tables", GOOD, "exporter md = acme_tables:TableExporter")
    done = machine.run("export", "last", "-f", "md", "-o", "-")
    assert "# " in done.stdout
    assert machine.run("export", "--help").stdout.count("|md|") == 1


def test_two_packages_with_one_format_are_both_named_and_neither_is_used(machine: Packages) -> None:
    machine.install("acme-tables", GOOD, ENTRY)
    machine.install("more-tables", GOOD, "exporter table = more_tables:TableExporter")
    done = machine.run("export", "last", "-f", "table", "-o", "-")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        "of package acme-tables 1.0 can't be used: package more-tables also has a format with that name" in done.stderr
    )


@pytest.mark.parametrize("name", ["2.1.325/agents", "2.1.325/tools", "2.1.325/compact"])
@pytest.mark.parametrize("choice", [ExportChoice(SHOW_EVERYTHING, all_branches=True), ExportChoice(first=1, last=1)])
def test_a_document_is_the_json_model(name: str, choice: ExportChoice) -> None:
    with Session.open(find_recording(name)) as session:
        model = json.loads(b"".join(iter_exported_bytes("json", ExportMaterial(session, choice))))
        document = ExportDocument(ExportMaterial(session, choice))
        assert document.session == model["session"]
        assert document.branch == model["branch"]
        assert document.turns == model["turns"]
        assert [*document.iter_items()] == model["items"]
        assert [*document.iter_agents()] == model["agents"]


@pytest.mark.parametrize("kind", BROKEN)
def test_an_exporter_without_what_it_needs_is_refused(
    packages: Packages, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    module = f"acme_tables_{list(BROKEN).index(kind)}"
    packages.install(module, BROKEN[kind])
    monkeypatch.syspath_prepend(packages.folder)
    plugin = InstalledPlugin(EXPORTER_GROUP, "table", "acme-tables", "1.0", f"{module}:TableExporter")
    with pytest.raises(BrokenPlugin, match=r"exporter 'table' of package acme-tables 1\.0 can't be"):
        load_exporter(plugin, ())
