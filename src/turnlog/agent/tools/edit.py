"""Edit: a string in a file gives way to another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.tools.files import CHANGED, UNREAD, Files, located, missing
from turnlog.agent.tools.offered import Offered
from turnlog.agent.tools.patch import patch
from turnlog.agent.tools.textfile import Splice, TextFile, store
from turnlog.agent.tools.tool import Object, Result, Scene, Unfit
from turnlog.agent.tools.write import CURRENT, standing, trimmed

_STRAIGHT = str.maketrans("‘’“”", "''\"\"")
_OPENING = frozenset(" \t\n\r([{—–")
_STALE = (
    " (note: the file had been modified on disk since you last read it — the edit applied cleanly, but the file"
    " contains other changes not in your context. Read it before edits that depend on surrounding content.)"
)


class Wish(NamedTuple):
    """What is to give way to what."""

    old: str
    new: str
    everywhere: bool


class Edit(Offered):
    """The tool."""

    def run(self, given: Object, scene: Scene) -> Result:
        """Edit it."""
        path = located(given["file_path"], scene.place)
        wish = _wish(given, path)
        before = standing(path)
        if before is None:
            if wish.old:
                raise Unfit(missing(path, scene.place))
            return _made(path, given["file_path"], wish, scene.files)
        return _edited(before, path, given, wish, scene)


def _wish(given: Object, path: Path) -> Wish:
    old, new = (given[key].replace("\r\n", "\n") for key in ("old_string", "new_string"))
    new = trimmed(new, path)
    if old == new:
        raise Unfit("No changes to make: old_string and new_string are exactly the same.")
    if path.suffix.lower() == ".ipynb":
        raise Unfit("File is a Jupyter Notebook. Use the NotebookEdit to edit this file.")
    return Wish(old, new, bool(given.get("replace_all")))


def _made(path: Path, shown: str, wish: Wish, files: Files) -> Result:
    files.saw(path, store(path, wish.new, None), wish.new, is_written=True)
    return _result(shown, "", wish.new, wish, CURRENT, {})


def foreseen(before: TextFile | None, given: Object, path: Path) -> str:
    """The text that a call would leave in a file, as it would stand there; Unfit if it would not be made."""
    wish = _wish(given, path)
    if before is None and wish.old:
        raise Unfit("there is no such file")
    if before is None:
        return wish.new
    wish = wish._replace(old=_found(before.text, wish, given["old_string"], stale=False))
    return before.spliced(_splices(before.text, wish))


def _edited(before: TextFile, path: Path, given: Object, wish: Wish, scene: Scene) -> Result:
    stale = _is_stale(before, path, wish, scene.files)
    found = _found(before.text, wish, given["old_string"], stale=stale)
    before.must_be_sound(Unfit)
    wish = wish._replace(old=found)
    splices = _splices(before.text, wish)
    text = before.spliced(splices)
    whole = not before.shown or (scene.files.is_whole(path) and not stale)
    after = text.replace("\r\n", "\n")
    scene.files.saw(path, store(path, text, before), after if whole else None, is_written=True)
    extra = {"staleRecovered": True} if stale else {}
    extra |= {} if whole else {"contentNotInModelContext": True}
    return _result(given["file_path"], before.text, after, wish, _STALE if stale else CURRENT if whole else "", extra)


def _is_stale(before: TextFile, path: Path, wish: Wish, files: Files) -> bool:
    """Whether the file changed since it was read; it must have been, unless there is nothing in it."""
    if not wish.old:
        if before.shown.strip():
            raise Unfit("Cannot create new file - file already exists.")
        return False
    if not files.is_known(path):
        raise Unfit(UNREAD)
    return files.is_changed(path, before.status, before.text)


def _found(text: str, wish: Wish, given: str, *, stale: bool) -> str:
    """Give the string as it stands in the file: its quotes may be curly there."""
    found = wish.old
    if wish.old not in text:
        at = text.translate(_STRAIGHT).find(wish.old.translate(_STRAIGHT))
        if at < 0:
            raise Unfit(CHANGED if stale else f"String to replace not found in file.\nString: {given}")
        found = text[at : at + len(wish.old)]
    count = text.count(found) if found else 1
    if count > 1 and not wish.everywhere:
        raise Unfit(
            f"Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences,"
            " set replace_all to true. To replace only one occurrence, please provide more context to uniquely"
            f" identify the instance.\nString: {given}"
        )
    return found


def _splices(text: str, wish: Wish) -> list[Splice]:
    old, new = wish.old, _curled(wish.new, wish.old)
    if not old:
        return [Splice(0, len(text), new)]
    if not new and not old.endswith("\n") and old + "\n" in text:
        old += "\n"  # no empty line stays where lines are taken out
    spots = [found.start() for found in re.finditer(re.escape(old), text)]
    return [Splice(at, at + len(old), new) for at in (spots if wish.everywhere else spots[:1])]


def _curled(new: str, old: str) -> str:
    """Write quotes as the replaced text has them."""
    if "“" in old or "”" in old:
        new = re.sub('"', lambda found: "“" if _opens(new, found.start()) else "”", new)
    if "‘" in old or "’" in old:
        new = re.sub("'", lambda found: "‘" if _opens(new, found.start()) else "’", new)
    return new


def _opens(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in _OPENING


def _result(shown: str, before: str, after: str, wish: Wish, remark: str, extra: Object) -> Result:
    deed = ". All occurrences were successfully replaced." if wish.everywhere else " successfully."
    structured = {
        "filePath": shown,
        "oldString": wish.old,
        "newString": wish.new,
        "originalFile": before,
        "structuredPatch": patch(before, after),
        "userModified": False,
        "replaceAll": wish.everywhere,
        **extra,
    }
    return Result(f"The file {shown} has been updated{deed}{remark}", structured)
