"""Queries such as people type, of every form that the language of `turnlog search` has; the same ones every time."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from .corpus.text import CHINESE, WORDS, Bank
from .corpus.truth import NEEDLES

COUNT = 500
SEED = 11
_TOOLS = ("Bash", "Read", "Edit", "Grep", "TodoWrite", "Write", "Glob", "mcp__docs__lookup", "Task", "WebFetch")
_FILTERS = (
    "role:user", "role:assistant", "role:tool", "kind:prompt", "kind:answer", "kind:thinking", "kind:result",
    "kind:call", "error:yes", "error:no", "model:opus", "model:sonnet", "session:last",
)  # fmt: skip
_OF_TOOLS = ("kind:result", "kind:call", "role:tool", "error:yes", "error:no", "after:2026-03-01", "session:last")
_COMMON = 60
"""So many of the words are in most sessions."""


class Asked(NamedTuple):
    """A query, and of which form it is."""

    form: str
    text: str


def queries(collection: Path, count: int = COUNT) -> list[Asked]:
    """So many queries for a generated collection, the forms in turns, none twice."""
    maker = _Maker(collection)
    asked: dict[str, Asked] = {}
    for form, make in itertools.islice(itertools.cycle(maker.forms.items()), count):
        while (text := make()) in asked:
            pass
        asked[text] = Asked(form, text)
    found = list(asked.values())
    maker.r.shuffle(found)
    return found


class _Maker:
    def __init__(self, collection: Path) -> None:
        self.r = random.Random(f"queries:{SEED}")
        self.bank = Bank(1)
        self.projects = sorted(path.name for path in (collection / "projects").iterdir())
        self.days = sorted(json.loads((collection / "truth.json").read_bytes())["usage_by_day_and_model"])
        self.forms: dict[str, Callable[[], str]] = {
            "needle": self._needle,
            "common word": lambda: self.r.choice(WORDS[:_COMMON]),
            "word": lambda: self.r.choice(WORDS[_COMMON:]),
            "words": lambda: " ".join(self.r.sample(WORDS, self.r.randint(2, 4))),
            "phrase": self._phrase,
            "prefix": lambda: self._word()[: self.r.randint(2, 5)] + "*",
            "identifier": self._identifier,
            "parts of one": lambda: " ".join(_parts(self._identifier())),
            "path": lambda: self._path(),
            "file": lambda: f"file:{self._path()}",
            "or": lambda: f"{self._word()} OR {self._identifier()}",
            "not": lambda: f"{self._word()} {self.r.choice(('NOT ', '-'))}{self._word()}",
            "nested": lambda: f"({self._word()} OR {self._word()}) {self._word()} -{self._identifier()}",
            "filter": lambda: f"{self._word()} {self.r.choice(_FILTERS)}",
            "tool": lambda: f"{self._word()} tool:{self.r.choice(_TOOLS)}",
            "project": lambda: f"{self._word()} project:{self._project()}",
            "time": self._time,
            "filters alone": lambda: f"tool:{self.r.choice(_TOOLS)} {self.r.choice(_OF_TOOLS)}",
            "Chinese": self._chinese,
            "nowhere": lambda: f"xq{self.r.getrandbits(40):x} {self._word()}",
        }

    def _word(self) -> str:
        return self.r.choice(WORDS)

    def _needle(self) -> str:
        needle = self.r.choice(NEEDLES)[0]
        return self.r.choice(
            (needle, f"{needle} {self._word()}", f"{needle} {self.r.choice(_FILTERS)}", f"{needle[:-2]}*")
        )

    def _phrase(self) -> str:
        words = re.findall(r"[a-z]+", self.r.choice(self.bank.sentences))
        start = self.r.randrange(max(1, len(words) - 3))
        return f'"{" ".join(words[start : start + self.r.randint(2, 4)])}"'

    def _identifier(self) -> str:
        while len(_parts(found := self.bank.ident(self.r))) < 2:
            pass
        return found

    def _path(self) -> str:
        place = f"src/{self.bank.ident(self.r)}"
        return self.r.choice((place, f"{place}/{self.bank.ident(self.r)}.py", f"{self.bank.ident(self.r)}.ts"))

    def _project(self) -> str:
        return self.r.choice(self.projects).rpartition("work-")[2]

    def _time(self) -> str:
        after, before = sorted(self.r.sample(self.days, 2))
        bounds = (f"after:{after}", f"before:{before}", f"after:{after} before:{before}", f"after:{after[:7]}")
        return f"{self._word()} {self.r.choice(bounds)}"

    def _chinese(self) -> str:
        text = self.r.choice(self.bank.chinese)
        start = self.r.randrange(len(text) - 4)
        return self.r.choice((self.r.choice(CHINESE), text[start : start + self.r.randint(2, 6)].rstrip("。")))


def _parts(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+", name)]
