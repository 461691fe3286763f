"""Whether a command may be run: every simple command in it must be allowed, and none may be forbidden."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from turnlog.agent.permissions.access import Access
from turnlog.agent.permissions.commands import Line, Part, parse
from turnlog.agent.permissions.modes import ALLOWED, Finding, worst
from turnlog.agent.permissions.paths import is_protected, spellings
from turnlog.agent.permissions.readonly import Use, changing, is_tame, reading, touched
from turnlog.agent.permissions.rules import EDITORS, READERS, Rule, Rules, is_exact, matches_command
from turnlog.agent.permissions.uses import changes, goes, is_bare, names, reads_unknown, run_in_the_end, uses
from turnlog.agent.permissions.words import Word, program, written
from turnlog.agent.permissions.wrappers import (
    RUNNING,
    SHELLS,
    TIMING,
    candidates,
    has_safe_settings,
    is_opaque,
    nested,
    suggestion,
    unwrapped,
)
from turnlog.agent.settings import Kind

_MOST_PIECES = 500
_MOST_FOLDERS = 16
_FIND = ("-exec", "-ok", "-delete", "-fprint", "-fls")
_REPOSITORY = frozenset({"head", "objects", "refs", "hooks", "config"})
"""What git looks for; a folder that has it is a repository, and its settings say what git runs."""
_NEEDS = "This command needs permission"


class Shell(Struct):
    """The rules for commands, in one place and one mode."""

    rules: Rules
    access: Access

    def decide(self, command: str) -> Finding:
        """Whether a command may be run."""
        line = parse(command)
        parts = list(nested(line))
        if line.is_opaque:  # whatever may be hidden in it
            parts.append(Part(command, (Word(command, is_known=False),)))
        found = self._forbidden(line, command, parts) or self._permitted(line, parts)
        return found._replace(changes=found.changes or any(map(changes, parts)))

    # -- what forbids

    def _forbidden(self, line: Line, command: str, parts: Sequence[Part]) -> Finding | None:
        if rule := self._spoken("deny", command, parts):
            return Finding("deny", f"Permission to use Bash with command {command} has been denied by the rule {rule}.")
        files = list(self._files(parts))
        if denied := next((finding for finding in files if finding.verdict == "deny"), None):
            return denied
        if rule := self._spoken("ask", command, parts) or self.rules.bare("ask", "Bash"):
            return Finding("ask", f"The rule {rule} wants it to be asked.", is_firm=True)
        is_unnamed = any(part.words and part.name is None for part in line.parts)
        is_unseen = line.is_opaque and not line.parts
        if (is_unnamed and self._has_rules("Bash")) or (is_unseen and self._has_rules("Bash", *READERS, *EDITORS)):
            return Finding("ask", f"{_NEEDS}: it can't be told whether a rule forbids it.", is_firm=True)
        return next((finding for finding in files if finding.is_firm), None) or self._removal(parts)

    def _has_rules(self, *tools: str) -> bool:
        return bool(self.rules.specific("deny", tools) or self.rules.specific("ask", tools))

    def _spoken(self, kind: Kind, command: str, parts: Sequence[Part]) -> Rule | None:
        """The first rule of those that forbid or ask that speaks of the line or anything in it."""
        rules = self.rules.specific(kind, ["Bash"])
        if not rules:
            return None
        texts = {command.strip(), *(text for part in parts for text in _texts(part))}
        return next((rule for rule in rules if any(matches_command(rule, text) for text in texts)), None)

    def _files(self, parts: Sequence[Part]) -> Iterator[Finding]:
        """What the rules for files say of all that a line may read or change, wherever it may go before."""
        for base in self._bases(parts):
            for use in (use for part in parts for use in uses(part)):
                yield from (self.access.read(name, base) for name in names(use.reads, base))
                for name in names(use.writes, base):
                    yield self.access.write_by_command(name, base)
                    if use.is_recursive:
                        yield self.access.remove(name, base)

    def _removal(self, parts: Sequence[Part]) -> Finding | None:
        """Whether a working folder, a home or a whole disk would be removed."""
        kept = [self.access.home, *self.access.folders]
        for words in (words for part in parts for words in candidates(part.words)):
            if program(words) != "rm" or not _is_recursive(words):
                continue
            for base, word in ((base, word) for base in self._bases(parts) for word in words[1:]):
                name = word.text.removesuffix("*") if word.pattern else word.text
                path = Path(os.path.normpath(base / self._at_home(name, word)))
                if len(path.parts) <= 2 or any(folder.is_relative_to(path) for folder in kept):
                    return Finding("ask", f"It would remove {word.text}, which must always be asked.", is_firm=True)
        return None

    # -- what allows

    def _permitted(self, line: Line, parts: Sequence[Part]) -> Finding:
        if self.rules.bare("allow", "Bash"):
            return self._with_all(line, parts)
        if not line.is_opaque and any(is_exact(rule) and rule.spec == line.text for rule in self._allowing()):
            return ALLOWED
        if reason := next(iter(line.doubts), None) or self._doubt(line):
            return Finding("ask", f"{_NEEDS}: {reason}.")
        bases = self._bases(line.parts)
        return worst(self._part(part, bases, len(line.parts) == 1) for part in line.parts)

    def _with_all(self, line: Line, parts: Sequence[Part]) -> Finding:
        """All commands are allowed; what is left is what others run later, and what rules can't see."""
        if self._has_rules("Bash") and (line.is_opaque or any(is_opaque(part) for part in parts)):
            return Finding("ask", f"{_NEEDS}: it can't be told whether a rule forbids it.")
        if self.access.hides() and (self._is_lost(parts) or any(reads_unknown(part) for part in parts)):
            return Finding("ask", f"{_NEEDS}: it may read files that a rule forbids to read.")
        if any("background" in doubt for doubt in line.doubts):
            return Finding("ask", f"{_NEEDS}: {line.doubts[0]}.")
        for base in self._bases(parts):
            for name in (name for part in parts for use in uses(part) for name in names(use.writes, base)):
                if any(map(is_protected, self.access.names(name, base))):
                    return self.access.write_by_command(name, base)
        return ALLOWED

    def _doubt(self, line: Line) -> str | None:
        """What one command of a line may do to the meaning of another."""
        programs = [run_in_the_end(part) for part in line.parts]
        moving = [part for part in line.parts if part.words and goes(part) and self._leaves(part)]
        writes = [part for part in line.parts if changes(part)]
        if moving and (len(moving) > 1 or line.has_loop or writes or "git" in programs):
            return "it goes to another folder and does more there"
        cwd = self.access.place.cwd
        made = {Path(word.text).name.casefold() for part in writes for use in uses(part) for word in use.writes}
        if "git" in programs and (is_bare(cwd) or made & _REPOSITORY):
            return "git may find settings there that run other programs"
        words = [word for part in line.parts for word in part.words]
        if len(line.parts) > 1 and writes and any(word.pattern and word.text[0] in "*?[-" for word in words):
            return "names of files that it makes may be taken for options"
        moved = [word for part in writes if run_in_the_end(part) in ("mv", "cp", "ln") for word in part.words[1:]]
        there = [cwd / name for name in names(moved[:-1], cwd)]
        if len(line.parts) > 1 and any(path.is_dir() or path.is_symlink() for path in there):
            return "what it moves may hold links that then lead elsewhere"
        return None

    def _part(self, part: Part, bases: Sequence[Path], is_alone: bool) -> Finding:
        found = [self._command(part, bases, is_alone)]
        for redirect in part.redirects:
            if redirect.target is None or not redirect.target.is_known:
                return Finding("ask", f"{_NEEDS}: it can't be told which file it is redirected to.")
            ask = self.access.write_by_command if redirect.is_written else self.access.read
            found += [ask(name, base) for base in bases for name in names([redirect.target], base)]
        return worst(found)

    def _command(self, part: Part, bases: Sequence[Path], is_alone: bool) -> Finding:
        if not part.words:
            return ALLOWED if is_alone else Finding("ask", f"{_NEEDS}.")
        rule = suggestion(part)
        asking = Finding("ask", f"{_NEEDS}: {part.text}", (rule,) if rule else ())
        if part.name is None or not has_safe_settings(part):
            return asking._replace(suggested=())
        use = reading(unwrapped(part.words, TIMING))
        if use is None and not all(word.is_known for word in part.words):
            return Finding("ask", f"{_NEEDS}: a variable in it can't be checked before it runs.")
        if self._allowed_by_rule(part):
            return self._confined(part, use, bases) or asking._replace(suggested=())
        if use is not None:
            return self._reading(use, bases, asking)
        use = changing(unwrapped(part.words, frozenset({"timeout"})))
        if use is not None and self.access.mode == "acceptEdits":
            return worst(self.access.write(name, base, "") for base in bases for name in names(use.writes, base))
        return asking._replace(suggested=() if use else asking.suggested)

    def _confined(self, part: Part, use: Use | None, bases: Sequence[Path]) -> Finding | None:
        """A rule allows a command, not the files that it names: those must be within the working folders."""
        inner = unwrapped(part.words, RUNNING)
        is_unseen = not all(word.is_known for word in inner) and touched((inner[0], Word("."))) != Use()
        if (is_unseen and use is None) or (inner[0].text == "sed" and not is_tame(inner)):
            return None
        use = use or touched(inner)
        found = [self.access.read(name, base) for base in bases for name in names(use.reads, base)]
        found += [self.access.write_within(name, base) for base in bases for name in names(use.writes, base)]
        return worst(found)

    def _reading(self, use: Use, bases: Sequence[Path], asking: Finding) -> Finding:
        patterns = [word for word in use.reads if word.pattern]
        if any(name.startswith("-") for base in bases for name in names(patterns, base)):
            return asking
        found = worst(self.access.read(name, base) for base in bases for name in names(use.reads, base))
        if found.verdict == "allow" and use.is_recursive and self.access.hides():
            reason = f"{_NEEDS}: it may read files that a rule forbids to read."
            return Finding("ask", reason, asking.suggested)
        return found

    def _allowed_by_rule(self, part: Part) -> bool:
        texts = {written(words) for words in (part.words, unwrapped(part.words, RUNNING))}
        return any(matches_command(rule, text) and _may(rule, part) for rule in self._allowing() for text in texts)

    def _allowing(self) -> list[Rule]:
        return self.rules.specific("allow", ["Bash"])

    # -- folders

    def _bases(self, parts: Sequence[Part]) -> list[Path]:
        """The folders that a line may be in: where it begins, and where it goes from there."""
        found = [self.access.place.cwd]
        for target in filter(None, map(goes, parts)):
            name = self._at_home(target.text, target)
            there = [path for base in found for path in spellings(name, base, self.access.home)]
            found = list(dict.fromkeys([*found, *there]))[:_MOST_FOLDERS]
        return found

    def _is_lost(self, parts: Sequence[Part]) -> bool:
        """Whether it can't be told which folders a line goes to."""
        targets = [target for target in map(goes, parts) if target]
        return len(self._bases(parts)) == _MOST_FOLDERS or any(
            not target.is_known or target.pattern or target.text.startswith("-") for target in targets
        )

    def _leaves(self, part: Part) -> bool:
        target = goes(part)
        cwd = self.access.place.cwd
        return target is not None and os.path.realpath(cwd / self._at_home(target.text, target)) != os.path.realpath(
            cwd
        )

    def _at_home(self, name: str, word: Word) -> str:
        return f"{self.access.home}{name[1:]}" if word.has_tilde and (name == "~" or name.startswith("~/")) else name


def _may(rule: Rule, part: Part) -> bool:
    """Whether a rule that speaks of many commands may speak of this one."""
    if is_exact(rule):
        return True
    words, spec = [word.text for word in part.words], rule.spec or ""
    is_open = "*" in spec.split(" ")[0].removesuffix(":*")
    if is_opaque(part) and (is_open or part.name not in SHELLS):
        return False
    return "find" not in words or not any(text.startswith(_FIND) and text not in spec for text in words)


def _texts(part: Part) -> Iterator[str]:
    """All texts that a rule that forbids may mean: with quotes and without, with a program's folder and without."""
    yield part.text
    for words in filter(None, candidates(part.words)):
        plain = [word.text for word in words]
        yield written(words)
        yield " ".join(plain)
        yield " ".join([program(words), *plain[1:]])
    if not all(word.is_known for word in part.words):  # its words as well as can be
        pieces = re.sub(r"[\"'`$(){};|&<>\s\\]", " ", part.text).split()
        yield from (" ".join(pieces[start:]) for start in range(min(len(pieces), _MOST_PIECES)))


def _is_recursive(words: Sequence[Word]) -> bool:
    return any(re.match(r"--r|-(?!-).*[rR]", word.text, re.DOTALL) for word in words[1:])
