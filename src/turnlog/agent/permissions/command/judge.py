"""Whether a command may be run: every simple command in it must be allowed, and none may be forbidden."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from turnlog.agent.permissions.access import Access
from turnlog.agent.permissions.command import effects, runners
from turnlog.agent.permissions.command.effects import Use, changes, uses
from turnlog.agent.permissions.command.exposure import is_silent, may_expose
from turnlog.agent.permissions.command.folders import Folders
from turnlog.agent.permissions.command.line import BACKGROUND, Part, parse
from turnlog.agent.permissions.command.runners import RUNNING, TIMING, candidates, unwrapped
from turnlog.agent.permissions.command.tables import fitting, is_one
from turnlog.agent.permissions.command.variables import has_safe_settings
from turnlog.agent.permissions.command.words import Word, are_known, program, written
from turnlog.agent.permissions.decision import ALLOWED, Decision, worst
from turnlog.agent.permissions.git_programs import has_unknown_programs
from turnlog.agent.permissions.paths import is_protected
from turnlog.agent.permissions.repository import REPOSITORY_NAMES, is_trusted_repository
from turnlog.agent.permissions.rules import EDITORS, READERS, Rule, is_exact, matches_command
from turnlog.agent.settings import Kind

_MOST_PIECES = 500
_NEEDS = "This command needs permission"
_UNTOLD = "it can't be told whether a rule forbids it"
_HIDDEN = "it may read files that a rule forbids to read"


class Judge:
    """One command, held against the rules in one place and one mode."""

    def __init__(self, command: str, access: Access) -> None:
        self.command, self.access, self.rules = command, access, access.rules
        self.line = parse(command)
        self.parts = list(runners.nested(self.line))
        """All that it runs; more than the parts of the line, which are what must be allowed."""
        if self.line.is_opaque:  # whatever may be hidden in it
            self.parts.append(Part(command, (Word(command, is_known=False),)))
        self.folders = Folders(self.parts, access.place.cwd, access.home)
        self.allowing = self.rules.specific("allow", ["Bash"])

    def decide(self) -> Decision:
        """Whether the command may be run."""
        found = self._forbidden() or self._permitted()
        return found._replace(changes=found.changes or any(map(changes, self.parts)))

    # -- what forbids

    def _forbidden(self) -> Decision | None:
        if rule := self._spoken("deny"):
            told = f"Permission to use Bash with command {self.command} has been denied by the rule {rule}."
            return Decision("deny", told)
        files = list(self._files())
        if denied := next((one for one in files if one.verdict == "deny"), None):
            return denied
        if rule := self._spoken("ask") or self.rules.bare("ask", "Bash"):
            return Decision("ask", f"The rule {rule} wants it to be asked.", is_firm=True)
        is_unnamed = any(part.words and part.name is None for part in self.line.parts)
        is_unseen = self.line.is_opaque and not self.line.parts
        if (is_unnamed and self._has_rules("Bash")) or (is_unseen and self._has_rules("Bash", *READERS, *EDITORS)):
            return _asking(_UNTOLD)._replace(is_firm=True)
        return next((one for one in files if one.is_firm), None) or self._removal()

    def _has_rules(self, *tools: str) -> bool:
        return bool(self.rules.specific("deny", tools) or self.rules.specific("ask", tools))

    def _spoken(self, kind: Kind) -> Rule | None:
        """The first rule of those that forbid or ask that speaks of the line or anything in it."""
        rules = self.rules.specific(kind, ["Bash"])
        texts = {self.command.strip(), *(text for part in self.parts for text in _texts(part))} if rules else ()
        return next((rule for rule in rules if any(matches_command(rule, text) for text in texts)), None)

    def _files(self) -> Iterator[Decision]:
        """What the rules for files say of all that a line may read or change, wherever it may go before."""
        for use in (use for part in self.parts for use in uses(part)):
            yield from (self.access.read(*file) for file in self.folders.files(use.reads))
            for file in self.folders.files(use.writes):
                yield self.access.write_by_command(*file)
                if use.is_recursive:
                    yield self.access.remove(*file)

    def _removal(self) -> Decision | None:
        """Whether a working folder, a home or a whole disk would be removed."""
        kept = [self.access.home, *self.access.folders]
        for words in (words for part in self.parts for words in candidates(part.words)):
            is_recursive = any(re.match(r"--r|-(?!-).*[rR]", word.text, re.DOTALL) for word in words[1:])
            for word in words[1:] if program(words) == "rm" and is_recursive else ():
                name = self.folders.at_home(word, word.text.removesuffix("*") if word.pattern else word.text)
                paths = [Path(os.path.normpath(base / name)) for base in self.folders.bases]
                if any(len(path.parts) <= 2 or any(one.is_relative_to(path) for one in kept) for path in paths):
                    return Decision("ask", f"It would remove {word.text}, which must always be asked.", is_firm=True)
        return None

    # -- what allows

    def _permitted(self) -> Decision:
        found = self._found()
        if found.verdict == "allow" and self.access.hides() and self._may_expose():
            return _asking(_HIDDEN)  # and no rule is offered: none would allow it
        return found

    def _may_expose(self) -> bool:
        """Whether the line may print files that a rule forbids to read, without naming them plainly."""
        is_aside = any(str(base).startswith(("/proc", "/dev")) for base in self.folders.bases)
        if is_aside or self.folders.is_lost or self.line.is_opaque:
            return True
        return any(may_expose(part) or self._names_hidden(part) for part in self.parts)

    def _names_hidden(self, part: Part) -> bool:
        """Whether any piece of a word names a file that must not be read: also within code, or behind a `=`."""
        if is_silent(part.words) or part.name in ("echo", "printf", "git"):
            return False
        texts = [word.text for word in part.words[1:]] + [value for _, value in part.assigned]
        pieces = [Word(one) for text in texts for one in re.findall(r"[\w.~/+@%-]+", text)]
        pieces += [Word(one.text.rsplit("/", 1)[-1]) for one in pieces if "/" in one.text]
        code = [inner for text in texts if re.search(r"\s", text) for inner in runners.nested(parse(text))]
        patterns = [word for one in (part, *code) for word in one.words if word.pattern]
        files = self.folders.files([*pieces[:_MOST_PIECES], *patterns])
        return len(pieces) > _MOST_PIECES or any(self.access.is_hidden(base / name) for name, base in files)

    def _found(self) -> Decision:
        line = self.line
        if self.rules.bare("allow", "Bash"):
            return self._with_all()
        if not line.is_opaque and any(is_exact(rule) and rule.spec == line.text for rule in self.allowing):
            return ALLOWED
        if reason := next(iter(line.doubts), None) or self._doubt():
            return _asking(reason)
        return worst(map(self._part, line.parts))

    def _with_all(self) -> Decision:
        """All commands are allowed; what is left is what others run later, and what rules can't see."""
        if self._has_rules("Bash") and (self.line.is_opaque or any(map(runners.is_opaque, self.parts))):
            return _asking(_UNTOLD)
        if BACKGROUND in self.line.doubts:
            return _asking(BACKGROUND)
        for file in (file for part in self.parts for use in uses(part) for file in self.folders.files(use.writes)):
            if any(map(is_protected, self.access.names(*file))):
                return self.access.write_by_command(*file)
        return ALLOWED

    def _doubt(self) -> str | None:
        """What one command of a line may do to the meaning of another."""
        parts, moves = self.line.parts, self.folders.moves
        programs = [program(unwrapped(part.words, RUNNING | TIMING)) for part in parts]
        writes = {part: name for part, name in zip(parts, programs, strict=True) if changes(part)}
        if moves and (moves > 1 or self.line.has_loop or writes or "git" in programs):
            return "it goes to another folder and does more there"
        made = {Path(word.text).name.casefold() for part in writes for use in uses(part) for word in use.writes}
        runs_git = any(program(words) == "git" for part in self.parts for words in candidates(part.words))
        if runs_git and (made & REPOSITORY_NAMES or not self._is_trusted_repository()):
            return "git may find settings there that run other programs"
        if len(parts) == 1 or not writes:
            return None
        if any(word.pattern and word.text[0] in "*?[-" for part in parts for word in part.words):
            return "names of files that it makes may be taken for options"
        moved = [word for part, name in writes.items() if name in ("mv", "cp", "ln") for word in part.words[1:]]
        there = [base / name for name, base in self.folders.files(moved[:-1])]
        if any(path.is_dir() or path.is_symlink() for path in there):
            return "what it moves may hold links that then lead elsewhere"
        return None

    def _is_trusted_repository(self) -> bool:
        cwd = self.access.place.cwd
        is_known = self.access.is_trusted or not has_unknown_programs(cwd)
        return is_known and is_trusted_repository(cwd, self.access.folders)

    def _part(self, part: Part) -> Decision:
        if not all(redirect.target.is_known for redirect in part.redirects):
            return _asking("it can't be told which file it is redirected to")
        found = [self._command(part)]
        for target, is_written in part.redirects:
            ask = self.access.write_by_command if is_written else self.access.read
            found += [ask(*file) for file in self.folders.files([target])]
        return worst(found)

    def _command(self, part: Part) -> Decision:
        asking = Decision("ask", f"{_NEEDS}: {part.text}")
        is_safe = has_safe_settings(part)
        if is_safe and not part.words and len(self.line.parts) == 1:
            return ALLOWED
        if part.name is None or not is_safe:
            return asking
        use = effects.reading(unwrapped(part.words, TIMING))
        if use is None and not are_known(part.words):
            return _asking("a variable in it can't be checked before it runs")
        if self._allowed_by_rule(part):
            return self._confined(part, use) or asking
        suggested = asking._replace(suggested=runners.suggestion(part))
        if use is not None:
            return self._reading(use, suggested)
        use = effects.changing(unwrapped(part.words, frozenset({"timeout"})))
        if use is not None and self.access.mode == "acceptEdits":
            return worst(self.access.write(*file, "") for file in self.folders.files(use.writes))
        return asking if use else suggested

    def _allowed_by_rule(self, part: Part) -> bool:
        texts = {written(words) for words in (part.words, unwrapped(part.words, RUNNING))}
        return any(matches_command(rule, text) and _may(rule, part) for rule in self.allowing for text in texts)

    def _confined(self, part: Part, use: Use | None) -> Decision | None:
        """A rule allows a command, not the files that it names: those must be within the working folders."""
        inner = unwrapped(part.words, RUNNING)
        is_more = program(inner) in ("xargs", "parallel")  # and its options, so that any word may be what it runs
        heads = inner[1:] if is_more else inner[:1]
        is_unseen = (is_more or not are_known(inner)) and any(effects.touches_files(word) for word in heads)
        if (is_unseen and use is None) or (inner[0].text == "sed" and not effects.is_tame(inner)):
            return None
        use = use or effects.touched(inner)
        found = [self.access.read(*file) for file in self.folders.files(use.reads)]
        return worst([*found, *(self.access.write_within(*file) for file in self.folders.files(use.writes))])

    def _reading(self, use: Use, asking: Decision) -> Decision:
        patterns = [word for word in use.reads if word.pattern]
        if any(name.startswith("-") for name, _ in self.folders.files(patterns)):
            return asking
        return worst(self.access.read(*file) for file in self.folders.files(use.reads))


def _asking(reason: str, suggested: tuple[str, ...] = ()) -> Decision:
    return Decision("ask", f"{_NEEDS}: {reason}.", suggested)


def _may(rule: Rule, part: Part) -> bool:
    """Whether a rule that speaks of many commands may speak of this one."""
    if is_exact(rule):
        return True
    words, spec = [word.text for word in part.words], rule.spec or ""
    is_open = "*" in spec.split(" ")[0].removesuffix(":*")
    if runners.is_opaque(part) and (is_open or not is_one(part.name or "", "shells")):
        return False
    if runners.runs_unchecked(part):
        return False
    if is_open and len(words) > 2 and runners.runs_anything(part.words):
        return False  # `* --version` means no `python -c … --version`
    told = (text for text in words if text not in spec)
    return "find" not in words or not any(re.fullmatch(fitting("find", "allowed"), text, re.DOTALL) for text in told)


def _texts(part: Part) -> Iterator[str]:
    """All texts that a rule that forbids may mean: with quotes and without, with a program's folder and without."""
    yield part.text
    for words in filter(None, candidates(part.words)):
        plain = [word.text for word in words]
        yield written(words)
        yield " ".join(plain)
        yield " ".join([program(words), *plain[1:]])
    if not are_known(part.words):  # its words as well as can be
        pieces = re.sub(r"[\"'`$(){};|&<>\s\\]", " ", part.text).split()
        yield from (" ".join(pieces[start:]) for start in range(min(len(pieces), _MOST_PIECES)))
