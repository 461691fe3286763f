"""Generate realistic queries in every form that `turnlog search` supports; they are the same on every run."""

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

QUERY_COUNT = 500
SEED = 11
_TOOLS = ("Bash", "Read", "Edit", "Grep", "TodoWrite", "Write", "Glob", "mcp__docs__lookup", "Task", "WebFetch")
_FILTERS = (
    "role:user", "role:assistant", "role:tool", "kind:prompt", "kind:answer", "kind:thinking", "kind:result",
    "kind:call", "error:yes", "error:no", "model:opus", "model:sonnet", "session:last",
)  # fmt: skip
_TOOL_FILTERS = ("kind:result", "kind:call", "role:tool", "error:yes", "error:no", "after:2026-03-01", "session:last")
_COMMON_WORD_COUNT = 60
"""The number of words that occur in most sessions."""


class Query(NamedTuple):
    """A query and its form."""

    form: str
    text: str


def generate_queries(collection: Path, count: int = QUERY_COUNT) -> list[Query]:
    """Generate `count` different queries for a collection, alternating between the forms."""
    maker = _QueryMaker(collection)
    by_text: dict[str, Query] = {}
    for form, make in itertools.islice(itertools.cycle(maker.forms.items()), count):
        while (text := make()) in by_text:
            pass
        by_text[text] = Query(form, text)
    queries = list(by_text.values())
    maker.r.shuffle(queries)
    return queries


class _QueryMaker:
    def __init__(self, collection: Path) -> None:
        self.r = random.Random(f"queries:{SEED}")
        self.bank = Bank(1)
        self.projects = sorted(path.name for path in (collection / "projects").iterdir())
        self.days = sorted(json.loads((collection / "truth.json").read_bytes())["usage_by_day_and_model"])
        self.forms: dict[str, Callable[[], str]] = {
            "needle": self._make_needle_query,
            "common word": lambda: self.r.choice(WORDS[:_COMMON_WORD_COUNT]),
            "word": lambda: self.r.choice(WORDS[_COMMON_WORD_COUNT:]),
            "words": lambda: " ".join(self.r.sample(WORDS, self.r.randint(2, 4))),
            "phrase": self._make_phrase,
            "prefix": lambda: self._draw_word()[: self.r.randint(2, 5)] + "*",
            "identifier": self._draw_identifier,
            "parts of one": lambda: " ".join(_split_name(self._draw_identifier())),
            "path": lambda: self._draw_path(),
            "file": lambda: f"file:{self._draw_path()}",
            "or": lambda: f"{self._draw_word()} OR {self._draw_identifier()}",
            "not": lambda: f"{self._draw_word()} {self.r.choice(('NOT ', '-'))}{self._draw_word()}",
            "nested": lambda: (
                f"({self._draw_word()} OR {self._draw_word()}) {self._draw_word()} -{self._draw_identifier()}"
            ),
            "filter": lambda: f"{self._draw_word()} {self.r.choice(_FILTERS)}",
            "tool": lambda: f"{self._draw_word()} tool:{self.r.choice(_TOOLS)}",
            "project": lambda: f"{self._draw_word()} project:{self._draw_project()}",
            "time": self._make_time_query,
            "filters alone": lambda: f"tool:{self.r.choice(_TOOLS)} {self.r.choice(_TOOL_FILTERS)}",
            "Chinese": self._make_chinese_query,
            "nowhere": lambda: f"xq{self.r.getrandbits(40):x} {self._draw_word()}",
        }

    def _draw_word(self) -> str:
        return self.r.choice(WORDS)

    def _make_needle_query(self) -> str:
        needle = self.r.choice(NEEDLES)[0]
        return self.r.choice(
            (needle, f"{needle} {self._draw_word()}", f"{needle} {self.r.choice(_FILTERS)}", f"{needle[:-2]}*")
        )

    def _make_phrase(self) -> str:
        words = re.findall(r"[a-z]+", self.r.choice(self.bank.sentences))
        start = self.r.randrange(max(1, len(words) - 3))
        return f'"{" ".join(words[start : start + self.r.randint(2, 4)])}"'

    def _draw_identifier(self) -> str:
        while len(_split_name(name := self.bank.draw_identifier(self.r))) < 2:
            pass
        return name

    def _draw_path(self) -> str:
        place = f"src/{self.bank.draw_identifier(self.r)}"
        return self.r.choice(
            (place, f"{place}/{self.bank.draw_identifier(self.r)}.py", f"{self.bank.draw_identifier(self.r)}.ts")
        )

    def _draw_project(self) -> str:
        return self.r.choice(self.projects).rpartition("work-")[2]

    def _make_time_query(self) -> str:
        after, before = sorted(self.r.sample(self.days, 2))
        bounds = (f"after:{after}", f"before:{before}", f"after:{after} before:{before}", f"after:{after[:7]}")
        return f"{self._draw_word()} {self.r.choice(bounds)}"

    def _make_chinese_query(self) -> str:
        text = self.r.choice(self.bank.chinese)
        start = self.r.randrange(len(text) - 4)
        return self.r.choice((self.r.choice(CHINESE), text[start : start + self.r.randint(2, 6)].rstrip("。")))


def _split_name(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+", name)]
