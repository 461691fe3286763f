"""The plan files of sessions: `slug` in their entries names a file below `<config>/plans`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from turnlog.entries.line_decoder import decode_first_object

_SLUG_FIELD = b'"slug":"'


def read_plan_names(path: Path) -> list[str]:
    """Return the plans named by the entries in a session file, without duplicates."""
    found: dict[str, None] = {}
    with path.open("rb") as lines:
        for line in lines:
            name = (decode_first_object(line) or {}).get("slug") if _SLUG_FIELD in line else None
            if isinstance(name, str):
                found[name] = None
    return list(found)


def find_plans_in_use(names: Iterable[str], paths: Iterable[Path]) -> set[str]:
    """Return the plans that any of the files may name; if a file can't be read, return all plans."""
    wanted = {name.encode("utf-8", "replace"): name for name in names}
    found: set[str] = set()
    for path in paths if wanted else ():
        try:
            with path.open("rb") as lines:
                for line in lines:
                    if _SLUG_FIELD in line:
                        found |= {name for text, name in wanted.items() if text in line}
        except FileNotFoundError:
            continue
        except OSError:
            return set(wanted.values())
    return found
