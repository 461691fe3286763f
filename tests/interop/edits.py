"""Every way in which turnlog changes or makes a session, as a user would type it.

An edit takes a place (a home with one genuine session) and gives the session that is to be resumed. One more is one
more line in `EDITS`. An edit whose command is not there yet is left out, and told.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.interop.place import Failed, Place
from turnlog.cli.table import COMMANDS
from turnlog.session.session import Session

Work = Callable[[Place], Path]
Suits = Callable[[Session], bool]


class Edit(NamedTuple):
    """One way of changing a session."""

    name: str
    """As in the table: the words of the call."""
    work: Work
    says_same: bool = True
    """Whether the conversation must be that of the source, as far as it is compared at all."""
    portable: bool = False
    """Whether the old client too must send the same messages."""
    suits: Suits = lambda session: True
    """Which sessions it can be done to."""

    @property
    def command(self) -> str:
        """The command that it is about."""
        return re.split("[ ,]", self.name)[0]

    @property
    def is_there(self) -> bool:
        """Whether turnlog has the command."""
        return self.command in COMMANDS


def run_maker(words: str) -> Work:
    """A command that makes a new session from one."""

    def work(place: Place) -> Path:
        command, *rest = words.split()
        return place.new_session(command, place.session.stem, *rest)

    return work


def clone(options: str = "") -> Edit:
    """A way of cloning."""
    words = f"clone {options}".strip()
    return Edit(words, run_maker(words), portable="--portable" in options)


def clone_stripped(options: str) -> Edit:
    """A way of cloning that leaves something out."""
    return clone(options)._replace(says_same=False)


def fork(at: str, suits: Suits, options: str = "") -> Edit:
    """A way of forking."""
    words = f"fork --at {at} {options}".strip()
    return Edit(words, run_maker(words), says_same=False, portable="--portable" in options, suits=suits)


def forked_at_an_entry(place: Place) -> Path:
    """Fork at the entry in the middle of what would be resumed."""
    with Session.open(place.session) as session:
        said = [row.uuid for row in session.build_thread().rows if row.uuid and row.type in ("user", "assistant")]
    return place.new_session("fork", place.session.stem, "--at", said[len(said) // 2])


def pack_and_unpack(*options: str) -> Work:
    """Pack a session, forget it, and unpack it for another folder."""

    def work(place: Place) -> Path:
        package = place.base / "package.tar.zst"
        place.turnlog("pack", place.session.stem, "-o", str(package), *options)
        place.forget()
        place.cwd = place.base / "unpacked here"
        place.cwd.mkdir()
        return place.new_session("unpack", str(package), "--project", str(place.cwd))

    return work


def move_project(*options: str) -> Work:
    """Let a session follow the folder of its project."""

    def work(place: Place) -> Path:
        old, place.cwd = place.cwd, place.base / "renamed project"
        place.turnlog("move", str(old), str(place.cwd), *options)
        place.cwd.mkdir(exist_ok=True)
        return place.moved_session()

    return work


def undone(place: Place) -> Path:
    """Change a session in place and take that back: not a byte may differ."""
    before = place.session.read_bytes()
    place.turnlog("move", str(place.cwd), str(place.base / "elsewhere"))
    if place.session.exists():
        raise Failed("move left the session where it was")
    place.turnlog("undo")
    if place.session.read_bytes() != before:
        raise Failed("undo did not bring the same bytes back")
    return place.session


def harm_and_repair(sick: Callable[[list[bytes]], list[bytes]], *options: str) -> Work:
    """Make a session sick, and repair it."""

    def work(place: Place) -> Path:
        lines = place.session.read_bytes().splitlines(keepends=True)
        place.rewrite(b"".join(sick(lines)))
        if "--in-place" in options:
            place.turnlog("repair", place.session.stem, *options)
            return place.session
        return place.new_session("repair", place.session.stem, *options)

    return work


def torn(lines: list[bytes]) -> list[bytes]:
    """Half a line at the end, as after a crash."""
    return [*lines, b'{"type":"user","uuid":"']


def glue_lines(lines: list[bytes]) -> list[bytes]:
    """Two entries on one line."""
    at = len(lines) // 2
    return [*lines[:at], lines[at].rstrip(b"\r\n"), *lines[at + 1 :]]


def cut_off(lines: list[bytes]) -> list[bytes]:
    """A line in the middle is missing, and so is somebody's parent."""
    rows = [(at, json.loads(line)) for at, line in enumerate(lines)]
    parents = {row.get("parentUuid") for _, row in rows if not row.get("isSidechain")} - {None}
    middle = [at for at, row in rows if row.get("uuid") in parents and row.get("parentUuid")]
    return [line for at, line in enumerate(lines) if at != middle[len(middle) // 2]]


def drop_results(lines: list[bytes]) -> list[bytes]:
    """The results of calls are gone."""
    return [line for line in lines if b'"tool_result"' not in line]


def has_calls(session: Session) -> bool:
    """Whether tools were called."""
    return bool(session.calls)


def has_turns(session: Session) -> bool:
    """Whether there is more than one turn."""
    return len(session.turns) > 1


def has_compactions(session: Session) -> bool:
    """Whether it was compacted."""
    return bool(session.compactions)


def has_branches(session: Session) -> bool:
    """Whether it has a second branch."""
    return len(session.graph.leaves) > 1


def _always(session: Session) -> bool:
    return True


EDITS = (
    clone(),
    clone("--portable"),
    clone_stripped("--preset light"),
    clone_stripped("--preset standard"),
    clone_stripped("--preset heavy"),
    clone_stripped("--preset extreme"),
    clone_stripped("--preset standard --portable"),
    clone_stripped("--tools keep=1")._replace(suits=has_calls),
    clone_stripped("--tools truncate")._replace(suits=has_calls),
    clone_stripped("--tools remove")._replace(suits=has_calls),
    clone_stripped("--duplicates")._replace(suits=has_calls),
    clone_stripped("--stale-reads")._replace(suits=has_calls),
    clone("--thinking remove"),
    clone("--thinking keep-last=1"),
    clone("--noise"),
    clone_stripped("--images 0"),
    clone("--for-model claude-haiku-5"),
    clone("--for-model other-provider"),
    clone_stripped("--compress offline --compress oldest=60% --to 35%"),
    clone_stripped("--compact offline --keep 0"),
    clone_stripped("--compact offline --keep 1")._replace(suits=has_turns),
    clone_stripped("--compact offline --keep 1 --portable")._replace(suits=has_turns),
    fork("1", _always),
    fork("1", has_turns, "--portable"),
    Edit("fork --at UUID", forked_at_an_entry, says_same=False),
    fork("leaf:1", has_branches),
    fork("compaction:1", has_compactions),
    fork("compaction:last", has_compactions),
    fork("compaction:last", has_compactions, "--portable"),
    Edit("redact --clone", run_maker("redact --clone --emails --homes"), says_same=False),
    Edit("pack, unpack", pack_and_unpack()),
    Edit("pack --redact, unpack", pack_and_unpack("--redact"), says_same=False),
    Edit("move", move_project()),
    Edit("undo", undone),
    Edit("repair (a torn line)", harm_and_repair(torn)),
    Edit("repair (two entries on a line)", harm_and_repair(glue_lines)),
    Edit("repair (a missing parent)", harm_and_repair(cut_off), says_same=False, suits=has_calls),
    Edit("repair (calls without results)", harm_and_repair(drop_results), says_same=False, suits=has_calls),
    Edit("repair --in-place (a torn line)", harm_and_repair(torn, "--in-place")),
)


def sample(edit: Edit, files: list[str], size: int) -> list[str]:
    """Some files for an edit, always the same ones, and other ones for other edits."""
    return sorted(sorted(files, key=lambda file: hashlib.sha256(f"{edit.name} {file}".encode()).digest())[:size])
