"""Whether a command may be run: every simple command in it must be allowed, and none may be forbidden."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from turnlog.agent.permissions.access import Access
from turnlog.agent.permissions.commands import Line, Part, parse
from turnlog.agent.permissions.modes import ALLOWED, Finding, worst
from turnlog.agent.permissions.paths import is_protected, spellings
from turnlog.agent.permissions.readonly import Use, changing, reading, touched
from turnlog.agent.permissions.rules import Rule, Rules, is_exact, matches_command
from turnlog.agent.permissions.words import Word
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

_MOST_NAMES = 500
_MOST_FOLDERS = 8
_FIND = ("-exec", "-ok", "-delete", "-fprint", "-fls")


@dataclass
class Shell:
    """The rules for commands, in one place and one mode."""

    rules: Rules
    access: Access

    def decide(self, command: str) -> Finding:
        """Whether a command may be run."""
        line = parse(command)
        parts = list(nested(line))
        if line.is_opaque:  # whatever may be hidden in it
            parts.append(Part(command, (Word(command, is_known=False),)))
        found = self._forbidden(command, parts) or self._removal(parts) or self._permitted(line, parts)
        return found._replace(changes=found.changes or _changes(parts))

    # -- what forbids

    def _forbidden(self, command: str, parts: Sequence[Part]) -> Finding | None:
        if rule := self._spoken("deny", command, parts):
            return Finding("deny", f"Permission to use Bash with command {command} has been denied by the rule {rule}.")
        files = list(self._files(parts))
        if denied := next((finding for finding in files if finding.verdict == "deny"), None):
            return denied
        if rule := self._spoken("ask", command, parts) or self.rules.bare("ask", "Bash"):
            return Finding("ask", f"The rule {rule} wants it to be asked.", is_firm=True)
        return next((finding for finding in files if finding.is_firm), None)

    def _spoken(self, kind: str, command: str, parts: Sequence[Part]) -> Rule | None:
        """The first rule of those that forbid or ask that speaks of the line or anything in it."""
        rules = self.rules.specific("deny" if kind == "deny" else "ask", ["Bash"])
        if not rules:
            return None
        texts = {command.strip(), *(text for part in parts for text in _texts(part))}
        return next((rule for rule in rules if any(matches_command(rule, text) for text in texts)), None)

    def _files(self, parts: Sequence[Part]) -> Iterator[Finding]:
        """What the rules for files say of all that a line may read or change, wherever it may go before."""
        bases = self._bases(parts)
        for part in parts:
            for words in candidates(part.words):
                use = touched(words)
                yield from (self.access.read(name, base) for base in bases for name in _names(use.reads, base))
                yield from (self.access.write(name, base) for base in bases for name in _names(use.writes, base))
            for redirect in part.redirects:
                ask = self.access.write_by_command if redirect.is_written else self.access.read
                words = [redirect.target] if redirect.target else []
                yield from (ask(name, base) for base in bases for name in _names(words, base))

    def _removal(self, parts: Sequence[Part]) -> Finding | None:
        """Whether a working folder, a home or a whole disk would be removed."""
        for part in parts:
            for words in candidates(part.words):
                if words and words[0].text.rsplit("/", 1)[-1] == "rm" and _is_recursive(words):
                    for name in (name for base in self._bases(parts) for name in self._roots(words[1:], base)):
                        return Finding("ask", f"It would remove {name}, which must always be asked.", is_firm=True)
        return None

    def _roots(self, words: Sequence[Word], base: Path) -> Iterator[str]:
        kept = [self.access.home, *self.access.folders]
        for word in words:
            name = word.text.removesuffix("*") if word.pattern else word.text
            path = Path(os.path.normpath(base / _at_home(name, word, self.access.home)))
            if len(path.parts) <= 2 or any(folder.is_relative_to(path) for folder in kept):
                yield word.text

    # -- what allows

    def _permitted(self, line: Line, parts: Sequence[Part]) -> Finding:
        if self.rules.bare("allow", "Bash"):
            return self._with_all(line, parts)
        if not line.is_opaque and any(is_exact(rule) and rule.spec == line.text for rule in self._allowing()):
            return ALLOWED
        if line.doubts:
            return Finding("ask", f"This command needs permission: {line.doubts[0]}.")
        if not line.parts:
            return ALLOWED
        bases = self._bases(line.parts)
        moving = [part for part in line.parts if part.name == "cd"]
        if moving and (len(moving) > 1 or line.has_loop or self._may_not_move(line)):
            return Finding("ask", "This command needs permission: it goes to another folder and does more there.")
        return worst(self._part(part, bases, len(line.parts) == 1) for part in line.parts)

    def _with_all(self, line: Line, parts: Sequence[Part]) -> Finding:
        """All commands are allowed; what is left is what others run later, and what rules can't see."""
        has_rules = self.rules.specific("deny", ["Bash"]) or self.rules.specific("ask", ["Bash"])
        if has_rules and (line.is_opaque or any(is_opaque(part) for part in parts)):
            return Finding("ask", "This command needs permission: it can't be told whether a rule forbids it.")
        if self.access.hides() and any(_reads_unknown(part) for part in parts):
            return Finding("ask", "This command needs permission: it may read files that a rule forbids to read.")
        if any("background" in doubt for doubt in line.doubts):
            return Finding("ask", f"This command needs permission: {line.doubts[0]}.")
        for name, base in self._written_files(parts):
            if any(map(is_protected, spellings(name, base, self.access.home))):
                return self.access.write(name, base)
        return ALLOWED

    def _written_files(self, parts: Sequence[Part]) -> Iterator[tuple[str, Path]]:
        for base in self._bases(parts):
            for part in parts:
                words = [word for inner in candidates(part.words) for word in touched(inner).writes]
                words += [one.target for one in part.redirects if one.is_written and one.target]
                yield from ((name, base) for name in _names(words, base))

    def _may_not_move(self, line: Line) -> bool:
        """Writing and git mean something else in another folder."""
        return any(part.name == "git" or changing(part.words) or _written(part) for part in line.parts if part.words)

    def _part(self, part: Part, bases: Sequence[Path], is_alone: bool) -> Finding:
        found = [self._command(part, bases, is_alone)]
        for redirect in part.redirects:
            if redirect.target is None or not redirect.target.is_known:
                return Finding("ask", "This command needs permission: it can't be told which file it is redirected to.")
            ask = self.access.write_by_command if redirect.is_written else self.access.read
            found += [ask(name, base) for base in bases for name in _names([redirect.target], base)]
        return worst(found)

    def _command(self, part: Part, bases: Sequence[Path], is_alone: bool) -> Finding:
        if not part.words:
            return ALLOWED if is_alone else Finding("ask", "This command needs permission.")
        asking = Finding("ask", f"This command needs permission: {part.text}", _suggested(part))
        if part.name is None or not has_safe_settings(part):
            return asking._replace(suggested=())
        words = unwrapped(part.words, TIMING)
        use = reading(words)
        if use is None and not all(word.is_known for word in part.words):
            return Finding("ask", "This command needs permission: a variable in it can't be checked before it runs.")
        if self._allowed_by_rule(part):
            return self._confined(use or touched(unwrapped(part.words, RUNNING)), bases)
        if use is not None:
            return self._reading(use, bases, asking)
        use = changing(unwrapped(part.words, frozenset({"timeout"})))
        if use is not None and self.access.mode == "acceptEdits":
            return worst(self.access.write(name, base) for base in bases for name in _names(use.writes, base))
        return asking._replace(suggested=() if use else asking.suggested)

    def _confined(self, use: Use, bases: Sequence[Path]) -> Finding:
        """A rule allows a command, not the files that it names: those must be within the working folders."""
        found = [self.access.read(name, base) for base in bases for name in _names(use.reads, base)]
        found += [self.access.write_within(name, base) for base in bases for name in _names(use.writes, base)]
        return worst(found)

    def _reading(self, use: Use, bases: Sequence[Path], asking: Finding) -> Finding:
        if use.is_recursive and self.access.hides():
            return Finding("ask", "This command needs permission: it may read files that a rule forbids to read.")
        names = [(base, name) for base in bases for name in _names(use.reads, base)]
        if any(
            name.startswith("-")
            for word in use.reads
            if word.pattern
            for base in bases
            for name in _names([word], base)
        ):
            return asking
        return worst(self.access.read(name, base) for base, name in names)

    def _allowed_by_rule(self, part: Part) -> bool:
        texts = {_written_as(words) for words in (part.words, unwrapped(part.words, RUNNING))}
        return any(matches_command(rule, text) and _may(rule, part) for rule in self._allowing() for text in texts)

    def _allowing(self) -> list[Rule]:
        return self.rules.specific("allow", ["Bash"])

    # -- folders

    def _bases(self, parts: Sequence[Part]) -> list[Path]:
        """The folders that a line may be in: where it begins, and where it goes."""
        cwd = self.access.place.cwd
        moved = [part.words[1] for part in parts if part.name in ("cd", "pushd") and len(part.words) == 2]
        found = [Path(os.path.realpath(cwd / _at_home(word.text, word, self.access.home))) for word in moved]
        return list(dict.fromkeys([cwd, *found]))[:_MOST_FOLDERS]


def _reads_unknown(part: Part) -> bool:
    """Whether a command that reads files does not say plainly which."""
    use = reading(part.words) if part.words else None
    is_reader = use is not None or touched((*part.words[:1], Word("."))).reads
    return bool(is_reader) and (not all(word.is_known for word in part.words) or bool(use and use.is_recursive))


def _suggested(part: Part) -> tuple[str, ...]:
    rule = suggestion(part)
    return (rule,) if rule else ()


def _may(rule: Rule, part: Part) -> bool:
    """Whether a rule that speaks of many commands may speak of this one."""
    if is_exact(rule):
        return True
    words, spec = [word.text for word in part.words], rule.spec or ""
    is_open = "*" in spec.split(" ")[0].removesuffix(":*")
    if is_opaque(part) and (is_open or part.name not in SHELLS):
        return False
    return "find" not in words or not any(text.startswith(_FIND) and text not in spec for text in words)


def _written_as(words: Sequence[Word]) -> str:
    return " ".join([words[0].text, *(word.raw for word in words[1:])]) if words else ""


def _texts(part: Part) -> Iterator[str]:
    """All texts that a rule that forbids may mean: with quotes and without, with a program's folder and without."""
    yield part.text
    for words in candidates(part.words):
        if words:
            plain = [word.text for word in words]
            name = plain[0].rsplit("/", 1)[-1]
            yield _written_as(words)
            yield " ".join(plain)
            yield " ".join([name, *plain[1:]])
    if not all(word.is_known for word in part.words):
        pieces = [piece for piece in _plain_pieces(part.text) if piece]
        yield from (" ".join(pieces[start:]) for start in range(min(len(pieces), _MOST_NAMES)))


def _plain_pieces(text: str) -> list[str]:
    """The words of a command that can't be read, as well as can be."""
    for char in "\"'`$(){};|&<>\n\t\\":
        text = text.replace(char, " ")
    return text.split(" ")


def _names(words: Sequence[Word], base: Path) -> Iterator[str]:
    """The files that words stand for, as the shell would put them in the place of a pattern."""
    for word in words:
        if word.pattern is None:
            yield word.text if word.has_tilde or not word.text.startswith("~") else f"./{word.text}"
            continue
        names = glob.iglob(word.pattern, root_dir=base, include_hidden=True)  # noqa: PTH207 - as the shell does it
        found = list(islice(names, _MOST_NAMES + 1))
        yield from found or [word.text]
        if len(found) > _MOST_NAMES:
            yield "/"  # too many to look at: as if all were meant


def _at_home(name: str, word: Word, home: Path) -> str:
    return f"{home}{name[1:]}" if word.has_tilde and (name == "~" or name.startswith("~/")) else name


def _is_recursive(words: Sequence[Word]) -> bool:
    return any(
        word.text.startswith("--r")
        or (word.text.startswith("-") and word.text[1:2] != "-" and set(word.text) & set("rR"))
        for word in words[1:]
    )


def _written(part: Part) -> bool:
    return any(redirect.is_written for redirect in part.redirects)


def _changes(parts: Sequence[Part]) -> bool:
    """Whether a line plainly changes files."""
    for part in parts:
        if any(use.writes for words in candidates(part.words) if words and (use := touched(words))):
            return True
        if any(one.is_written and (one.target is None or one.target.text[:5] != "/dev/") for one in part.redirects):
            return True
    return False
