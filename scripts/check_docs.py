"""Check the documentation: every command is documented, no link is dead, and nothing refers to one machine.

Checks the files that git tracks or would track.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from turnlog.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parent.parent

# Written so that the patterns don't match themselves.
MACHINE_DETAILS = {
    "a path from one machine": re.compile(r"""(?<![\w.~/}-])/(?:root|work)(?=[/\s"'`),:;]|$)""", re.MULTILINE),
    "a registry address": re.compile(
        r"registry\.npmjs\.org|registry\.yarnpkg\.com|files\.pythonhosted\.org|pypi\.org/simple|\bartifactory/"
    ),
}
LOCKFILES = {"uv.lock", "package-lock.json", "yarn.lock", "poetry.lock"}
FENCE = re.compile(r"^(```+|~~~+).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|^\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)", re.MULTILINE)


def main() -> int:
    """Print all findings and return 1 if there are any."""
    files = list_files(ROOT)
    findings = [
        *find_undocumented_commands(ROOT, files),
        *find_machine_details(ROOT, files),
        *find_dead_links(ROOT, files),
    ]
    for finding in findings:
        print(f"check_docs: {finding}", file=sys.stderr)
    return 1 if findings else 0


def list_files(root: Path) -> list[Path]:
    """List the files of the project; in an unpacked archive, all files that are not hidden."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
        files = [root / name for name in names if name]
    except (OSError, subprocess.CalledProcessError):
        files = [path for path in root.rglob("*") if not any(p.startswith(".") for p in path.relative_to(root).parts)]
    return sorted(path for path in set(files) if path.is_file() and not path.is_symlink())


def find_undocumented_commands(root: Path, files: list[Path]) -> Iterator[str]:
    """Find commands that neither the README nor the documentation mentions."""
    pages = [path for path in select_pages(files) if path.parent == root or root / "docs" in path.parents]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    for name in COMMANDS:
        if not re.search(rf"\bturnlog {name}\b", text):
            yield f"`turnlog {name}` is documented neither in the README nor in docs/"


def find_machine_details(root: Path, files: list[Path]) -> Iterator[str]:
    """Find details of one machine: paths, registry addresses, and lock files that record them."""
    for path in files:
        place = path.relative_to(root).as_posix()
        if path.name in LOCKFILES:
            yield f"{place}: records registry addresses; use requirements.lock instead"
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".lock" and "://" in text:
            yield f"{place}: mentions a registry"
        for description, pattern in MACHINE_DETAILS.items():
            if match := pattern.search(text):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{place}:{line}: {description}: {match[0]}"


def find_dead_links(root: Path, files: list[Path]) -> Iterator[str]:
    """Find relative links in Markdown whose file or heading does not exist."""
    for page in select_pages(files):
        text = read_prose(page)
        for match in LINK.finditer(text):
            target = unquote(match[1] or match[2])
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (page.parent / name) if name else page
            line = text.count("\n", 0, match.start()) + 1
            place = f"{page.relative_to(root).as_posix()}:{line}"
            if not path.exists():
                yield f"{place}: dead link: {target}"
            elif anchor and path.suffix == ".md" and anchor not in collect_anchors(path):
                yield f"{place}: no such heading: {target}"


def select_pages(files: list[Path]) -> list[Path]:
    """Select the Markdown files."""
    return [path for path in files if path.suffix == ".md"]


def read_prose(page: Path) -> str:
    """Return a page without its code, with the line numbers unchanged."""
    text = FENCE.sub(lambda match: "\n" * match[0].count("\n"), page.read_text(encoding="utf-8"))
    return CODE.sub("", text)


def collect_anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    names: set[str] = set()
    for heading in re.findall(r"^#+\s+(.+?)\s*#*$", text, re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = sum(1 for other in names if other == name or re.fullmatch(rf"{re.escape(name)}-\d+", other))
        names.add(f"{name}-{count}" if count else name)
    return names


if __name__ == "__main__":
    sys.exit(main())
