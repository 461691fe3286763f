"""A made-up project: its folder, git branches and source files."""

from __future__ import annotations

import random

from .text import ENDINGS, Bank


class Project:
    """A folder in which sessions run."""

    def __init__(self, r: random.Random, bank: Bank, number: int) -> None:
        ident = bank.draw_identifier
        user = r.choice(("alice", "bob", "chen"))
        self.cwd = f"/home/{user}/work/{ident(r)}-{number}".replace("_", "-").lower()
        self.slug = self.cwd.replace("/", "-").replace(".", "-")
        self.chinese = r.random() < 0.08
        self.branches = ["main", f"feat/{ident(r)}", f"fix/{ident(r)}", ""]
        self.files: list[tuple[str, list[str]]] = []
        for _ in range(r.randint(20, 90)):
            lines = min(2500, max(3, int(r.lognormvariate(4.9, 0.95))))
            path = f"{self.cwd}/src/{ident(r)}/{ident(r)}{r.choice(ENDINGS)}"
            self.files.append((path, bank.draw_lines(bank.code, r, lines)))
