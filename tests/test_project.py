"""The frame of the project: what is installed, what is locked, what the checks can find."""

from __future__ import annotations

import os
import tomllib
from importlib.metadata import distribution, version
from pathlib import Path

import check_docs
import pytest
from packaging.requirements import Requirement

import turnlog
from turnlog.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read_lock(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pins = [line.split()[0].partition("==") for line in lines if line and line[0].isalnum()]
    return {package: pin for package, _, pin in pins}


def list_requirements(*groups: str) -> list[Requirement]:
    named = [item for group in groups for item in PROJECT["dependency-groups"][group] if isinstance(item, str)]
    return [Requirement(line) for line in [*PROJECT["project"]["dependencies"], *named]]


@pytest.mark.skipif(os.environ.get("TURNLOG_TEST_WHEEL") != "1", reason="the source tree is being tested")
def test_the_wheel_is_what_is_tested() -> None:
    assert ROOT / "src" not in Path(turnlog.__file__).resolve().parents
    assert (Path(turnlog.__file__).parent / "py.typed").exists()
    assert distribution("turnlog").read_text("direct_url.json") is None or "editable" not in str(
        distribution("turnlog").read_text("direct_url.json")
    )


@pytest.mark.skipif(os.environ.get("TURNLOG_TEST_WHEEL") != "1", reason="the source tree is being tested")
def test_the_wheel_holds_every_file_of_the_package() -> None:
    def files(package: Path) -> set[str]:
        found = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {path.relative_to(package).as_posix() for path in found}

    assert files(Path(turnlog.__file__).parent) == files(ROOT / "src" / "turnlog")


@pytest.mark.skipif(os.environ.get("TURNLOG_TEST_WHEEL") != "1", reason="the source tree is being tested")
def test_the_version_is_the_same_everywhere() -> None:
    assert turnlog.__version__ == version("turnlog")


def test_every_dependency_has_an_upper_bound() -> None:
    extras = [Requirement(line) for group in PROJECT["project"]["optional-dependencies"].values() for line in group]
    unbounded = [
        str(requirement)
        for requirement in [*list_requirements(*PROJECT["dependency-groups"]), *extras]
        if not any(part.operator in ("<", "==") for part in requirement.specifier)
    ]
    assert unbounded == []


@pytest.mark.parametrize(
    ("name", "groups"),
    [("requirements.lock", ["build", "test", "check", "bench"]), ("requirements-test.lock", ["test"])],
)
def test_the_lock_holds_what_the_project_asks_for(name: str, groups: list[str]) -> None:
    pins = read_lock(name)
    for requirement in list_requirements(*groups):
        assert requirement.specifier.contains(pins[requirement.name]), f"{requirement}: run make lock"


def test_both_locks_agree() -> None:
    assert read_lock("requirements-test.lock").items() <= read_lock("requirements.lock").items()


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-test.lock", "requirements-uv.lock"])
def test_the_locks_name_no_registry_and_pin_every_package_by_hash(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert "index" not in text
    blocks = text.replace("\\\n", " ").splitlines()
    assert [line for line in blocks if line and "--hash=sha256:" not in line] == []


def page(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_documentation_check_finds_dead_links(tmp_path: Path) -> None:
    page(tmp_path, "docs/a.md", "# One thing\n\n## One `thing`, twice\n")
    text = (
        "[good](docs/a.md) [too](docs/a.md#one-thing) [three](docs/a.md#one-thing-twice) [web](https://x.example)\n"
        "```\n[code](nowhere.md)\n```\n"
        "[bad](nowhere.md) `[x](y.md)`\n"
        "[bad](docs/a.md#two)\n"
        "[ref]: missing.md\n"
    )
    readme = page(tmp_path, "README.md", text)
    assert list(check_docs.find_dead_links(tmp_path, [readme])) == [
        "README.md:5: dead link: nowhere.md",
        "README.md:6: no such heading: docs/a.md#two",
        "README.md:7: dead link: missing.md",
    ]


def test_the_documentation_check_finds_what_belongs_to_one_machine(tmp_path: Path) -> None:
    files = [
        page(tmp_path, "a.py", "# fine: /tmp/demo/work/x, ~/work/x, a/root/b\npath = '" + "/ro" + "ot/x'\n"),
        page(tmp_path, "b.md", "see https://registry." + "npmjs.org/x\n"),
        page(tmp_path, "requirements.lock", "--index-url https://x.example/simple\n"),
        page(tmp_path, "package-lock.json", "{}"),
    ]
    assert [finding.partition(": ")[0] for finding in check_docs.find_machine_details(tmp_path, files)] == [
        "a.py:2",
        "b.md:1",
        "requirements.lock",
        "package-lock.json",
    ]


def test_the_documentation_check_finds_commands_nobody_wrote_about(tmp_path: Path) -> None:
    words = ", ".join(f"`turnlog {name}`" for name in COMMANDS if name != "cat")
    readme = page(tmp_path, "README.md", f"{words}\n")
    assert list(check_docs.find_undocumented_commands(tmp_path, [readme])) == [
        "`turnlog cat` is documented neither in the README nor in docs/"
    ]


def test_the_documentation_check_sees_what_git_would_track(tmp_path: Path) -> None:
    kept = page(tmp_path, "src/a.py", "")
    page(tmp_path, ".tools/b.py", "")
    assert check_docs.list_files(tmp_path) == [kept]
