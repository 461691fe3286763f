"""Decides whether a command may run: every simple command in it must be allowed, and none may be forbidden."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from turnlog.agent.permissions.command import effects, runners
from turnlog.agent.permissions.command.bash_line import (
    BACKGROUND_REASON,
    SimpleCommand,
    build_unseen_line,
    parse_bash_line,
)
from turnlog.agent.permissions.command.effects import FileUse, changes_files, iterate_file_uses
from turnlog.agent.permissions.command.exposure import is_silent_command, may_expose_files
from turnlog.agent.permissions.command.folders import LineFolders
from turnlog.agent.permissions.command.links import uses_brought_files
from turnlog.agent.permissions.command.parse_trial import can_parse
from turnlog.agent.permissions.command.runners import (
    TIMING_RUNNERS,
    TRANSPARENT_RUNNERS,
    list_possible_commands,
    strip_runners,
)
from turnlog.agent.permissions.command.tables import build_table_pattern, is_in_tables
from turnlog.agent.permissions.command.variables import has_safe_settings
from turnlog.agent.permissions.command.words import ShellWord, are_words_known, get_program_name, join_words
from turnlog.agent.permissions.decision import ALLOW_DECISION, Decision, pick_strictest
from turnlog.agent.permissions.file_access import FileAccess
from turnlog.agent.permissions.git_programs import has_unknown_programs
from turnlog.agent.permissions.paths import is_protected
from turnlog.agent.permissions.repository import REPOSITORY_NAMES, is_trusted_repository
from turnlog.agent.permissions.rules import EDIT_TOOLS, READ_TOOLS, PermissionRule, is_exact_rule, matches_command
from turnlog.agent.settings import RuleKind

_MAX_WORD_PIECES = 500
_UNPARSABLE_REASON = "it is too complicated to be checked"
_NEEDS_PERMISSION = "This command needs permission"
_UNKNOWN_RULE_REASON = "it is unclear whether a rule forbids it"
_BROUGHT_FILES_REASON = "what it puts in place may be links that then lead elsewhere"
_HIDDEN_FILES_REASON = "it may read files that a rule protects"


class CommandJudge:
    """Checks one command against the rules in one folder and one mode."""

    def __init__(self, command: str, access: FileAccess) -> None:
        self.command, self.access, self.rules = command, access, access.rules
        self.line = parse_bash_line(command) if can_parse(command) else build_unseen_line(command, _UNPARSABLE_REASON)
        self.parts = list(runners.iterate_nested_commands(self.line))
        """Everything that the line runs, including nested commands; only those in `line.parts` must be allowed."""
        if self.line.is_opaque:  # stands for whatever may be hidden in it
            self.parts.append(SimpleCommand(command, (ShellWord(command, is_known=False),)))
        self.folders = LineFolders(self.parts, access.place.cwd, access.home)
        self.allowing = self.rules.list_specific_rules("allow", ["Bash"])
        self.git_folders = self._list_git_folders()
        self.git_decisions = [one for folder in self.git_folders for one in access.decide_git_reads(folder)]

    def decide(self) -> Decision:
        found = self._find_prohibition() or self._decide_permission()
        return found._replace(changes=found.changes or any(map(changes_files, self.parts)))

    # -- prohibitions

    def _find_prohibition(self) -> Decision | None:
        if rule := self._find_strict_rule("deny"):
            reason = f"Permission to use Bash with command {self.command} has been denied by the rule {rule}."
            return Decision("deny", reason)
        files = list(self._decide_files())
        if denied := next((one for one in files if one.verdict == "deny"), None):
            return denied
        if rule := self._find_strict_rule("ask") or self.rules.find_bare_rule("ask", "Bash"):
            return Decision("ask", f"The rule {rule} requires permission.", is_firm=True)
        is_unnamed = any(part.words and part.name is None for part in self.line.parts)
        is_unseen = self.line.is_opaque and not self.line.parts
        if (is_unnamed and self._has_rules("Bash")) or (
            is_unseen and self._has_rules("Bash", *READ_TOOLS, *EDIT_TOOLS)
        ):
            return _ask_decision(_UNKNOWN_RULE_REASON)._replace(is_firm=True)
        return next((one for one in files if one.is_firm), None) or self._decide_removal()

    def _has_rules(self, *tools: str) -> bool:
        return bool(self.rules.list_specific_rules("deny", tools) or self.rules.list_specific_rules("ask", tools))

    def _find_strict_rule(self, kind: RuleKind) -> PermissionRule | None:
        """Return the first rule of the given kind that matches the line or any command in it."""
        rules = self.rules.list_specific_rules(kind, ["Bash"])
        texts = (
            {self.command.strip(), *(text for part in self.parts for text in _list_rule_texts(part))} if rules else ()
        )
        return next((rule for rule in rules if any(matches_command(rule, text) for text in texts)), None)

    def _decide_files(self) -> Iterator[Decision]:
        """Yield the decisions on all files that a line may read or change, in any folder that it may change to."""
        for use in (use for part in self.parts for use in iterate_file_uses(part)):
            yield from (self.access.decide_read(*file) for file in self.folders.resolve_files(use.reads))
            for file in self.folders.resolve_files(use.writes):
                yield self.access.decide_write_by_command(*file)
                if use.is_recursive:
                    yield self.access.decide_removal(*file)
        yield from self.git_decisions

    def _decide_removal(self) -> Decision | None:
        """Ask for permission if a working folder, a home folder or a whole disk would be deleted."""
        protected = [self.access.home, *self.access.folders]
        for words in (words for part in self.parts for words in list_possible_commands(part.words)):
            is_recursive = any(re.match(r"--r|-(?!-).*[rR]", word.text, re.DOTALL) for word in words[1:])
            for word in words[1:] if get_program_name(words) == "rm" and is_recursive else ():
                name = self.folders.expand_tilde(word, word.text.removesuffix("*") if word.pattern else word.text)
                paths = [Path(os.path.normpath(base / name)) for base in self.folders.bases]
                if any(len(path.parts) <= 2 or any(one.is_relative_to(path) for one in protected) for path in paths):
                    return Decision("ask", f"It would remove {word.text}, which always needs permission.", is_firm=True)
        return None

    # -- permissions

    def _decide_permission(self) -> Decision:
        found = self._decide_line()
        if found.verdict == "allow" and self.access.has_read_rules() and self._may_expose():
            return _ask_decision(_HIDDEN_FILES_REASON)  # without a suggested rule, since none would allow it
        return found

    def _may_expose(self) -> bool:
        """Return whether the line may print protected files without naming them explicitly."""
        is_aside = any(str(base).startswith(("/proc", "/dev")) for base in self.folders.bases)
        if is_aside or self.folders.is_lost or self.line.is_opaque or self._uses_brought_files():
            return True
        return any(may_expose_files(part) or self._names_hidden_file(part) for part in self.parts)

    def _uses_brought_files(self, *, only_written: bool = False) -> bool:
        """Return whether a command uses names that another one in the line may have turned into links."""
        is_ordered = not self.line.has_loop and "|" not in self.line.text
        return uses_brought_files(self.parts, is_ordered=is_ordered, only_written=only_written)

    def _names_hidden_file(self, part: SimpleCommand) -> bool:
        """Return whether any part of a word names a file that a rule protects, even inside code or after `=`."""
        if is_silent_command(part.words) or part.name in ("echo", "printf", "git"):
            return False
        texts = runners.list_argument_texts(part)
        pieces = [ShellWord(one) for text in texts for one in re.findall(r"[\w.~/+@%-]+", text)]
        pieces += [ShellWord(one.text.rsplit("/", 1)[-1]) for one in pieces if "/" in one.text]
        commands = (part, *runners.iterate_argument_commands(part))
        patterns = [word for one in commands for word in one.words if word.pattern]
        files = self.folders.resolve_files([*pieces[:_MAX_WORD_PIECES], *patterns])
        return len(pieces) > _MAX_WORD_PIECES or any(self.access.is_hidden(base / name) for name, base in files)

    def _decide_line(self) -> Decision:
        line = self.line
        if self.rules.find_bare_rule("allow", "Bash"):
            return self._decide_allowed_line()
        if not line.is_opaque and any(is_exact_rule(rule) and rule.spec == line.text for rule in self.allowing):
            return ALLOW_DECISION
        if reason := next(iter(line.doubts), None) or self._find_doubt():
            return _ask_decision(reason)
        return pick_strictest([*map(self._decide_part, line.parts), *self.git_decisions])

    def _decide_allowed_line(self) -> Decision:
        """Decide on a line whose commands are all allowed: check hidden and background commands and protected files."""
        if self._has_rules("Bash") and (self.line.is_opaque or any(map(runners.is_opaque_command, self.parts))):
            return _ask_decision(_UNKNOWN_RULE_REASON)
        if BACKGROUND_REASON in self.line.doubts:
            return _ask_decision(BACKGROUND_REASON)
        if self._has_rules(*EDIT_TOOLS) and self._uses_brought_files(only_written=True):
            return _ask_decision(_BROUGHT_FILES_REASON)
        for file in (
            file
            for part in self.parts
            for use in iterate_file_uses(part)
            for file in self.folders.resolve_files(use.writes)
        ):
            if any(map(is_protected, self.access.list_names(*file))):
                return self.access.decide_write_by_command(*file)
        return ALLOW_DECISION

    def _find_doubt(self) -> str | None:
        """Return how one command in a line may change the meaning of another, if at all."""
        parts, moves = self.line.parts, self.folders.move_count
        programs = [get_program_name(strip_runners(part.words, TRANSPARENT_RUNNERS | TIMING_RUNNERS)) for part in parts]
        writes = {part: name for part, name in zip(parts, programs, strict=True) if changes_files(part)}
        if moves and (moves > 1 or self.line.has_loop or writes or "git" in programs):
            return "it changes the folder and does more there"
        created = {
            Path(word.text).name.casefold() for part in writes for use in iterate_file_uses(part) for word in use.writes
        }
        if self.git_folders and (
            created & REPOSITORY_NAMES or not all(map(self._is_trusted_repository, self.git_folders))
        ):
            return "git may find settings in that folder that run other programs"
        if self._uses_brought_files():
            return _BROUGHT_FILES_REASON
        if len(parts) == 1 or not writes:
            return None
        if any(word.pattern and word.text[0] in "*?[-" for part in parts for word in part.words):
            return "names of files that it creates may be taken for options"
        moved = [word for part, name in writes.items() if name in ("mv", "cp", "ln") for word in part.words[1:]]
        there = [base / name for name, base in self.folders.resolve_files(moved[:-1])]
        if any(path.is_dir() or path.is_symlink() for path in there):
            return _BROUGHT_FILES_REASON
        return None

    def _list_git_folders(self) -> list[Path]:
        """Return the folders in which the line may run git."""
        commands = [words for part in self.parts for words in list_possible_commands(part.words)]
        found = [
            folder for words in commands if get_program_name(words) == "git" for folder in self._find_git_folders(words)
        ]
        return list(dict.fromkeys(found))

    def _find_git_folders(self, words: Sequence[ShellWord]) -> list[Path]:
        """Return the folders that a git command may use: the current one, and those that `-C` names."""
        named = [folder for option, folder in pairwise(words) if option.text == "-C"]
        return [self.access.place.cwd, *(base / name for name, base in self.folders.resolve_files(named))]

    def _is_trusted_repository(self, folder: Path) -> bool:
        is_known = self.access.is_trusted or not has_unknown_programs(folder)
        return is_known and is_trusted_repository(folder, self.access.folders)

    def _decide_part(self, part: SimpleCommand) -> Decision:
        if not all(redirect.target.is_known for redirect in part.redirects):
            return _ask_decision("it is not known which file it is redirected to")
        found = [self._decide_command(part)]
        for target, is_written in part.redirects:
            ask = self.access.decide_write_by_command if is_written else self.access.decide_read
            found += [ask(*file) for file in self.folders.resolve_files([target])]
        return pick_strictest(found)

    def _decide_command(self, part: SimpleCommand) -> Decision:
        needs_permission = Decision("ask", f"{_NEEDS_PERMISSION}: {part.text}")
        is_safe = has_safe_settings(part)
        if is_safe and not part.words and len(self.line.parts) == 1:
            return ALLOW_DECISION
        if part.name is None or not is_safe:
            return needs_permission
        use = effects.find_read_only_use(strip_runners(part.words, TIMING_RUNNERS))
        if use is None and not are_words_known(part.words):
            return _ask_decision("a variable in it can't be checked before it runs")
        if self._is_allowed_by_rule(part):
            return self._check_confinement(part, use) or needs_permission
        suggested = needs_permission._replace(suggested=runners.suggest_rules(part))
        if use is not None:
            return self._decide_reads(use, suggested)
        use = effects.find_change_use(strip_runners(part.words, frozenset({"timeout"})))
        if use is not None and self.access.mode == "acceptEdits":
            return pick_strictest(
                self.access.decide_write(*file, "") for file in self.folders.resolve_files(use.writes)
            )
        return needs_permission if use else suggested

    def _is_allowed_by_rule(self, part: SimpleCommand) -> bool:
        texts = {join_words(words) for words in (part.words, strip_runners(part.words, TRANSPARENT_RUNNERS))}
        return any(
            matches_command(rule, text) and _may_apply_rule(rule, part) for rule in self.allowing for text in texts
        )

    def _check_confinement(self, part: SimpleCommand, use: FileUse | None) -> Decision | None:
        """Check that an allowed command uses only permitted files: a rule allows the command, not its files."""
        inner = strip_runners(part.words, TRANSPARENT_RUNNERS)
        adds_words = get_program_name(inner) in ("xargs", "parallel")  # any of its words may be the program it runs
        heads = inner[1:] if adds_words else inner[:1]
        is_unseen = (adds_words or not are_words_known(inner)) and any(effects.touches_files(word) for word in heads)
        if (is_unseen and use is None) or (inner[0].text == "sed" and not effects.is_tame_sed(inner)):
            return None
        use = use or effects.find_touched_files(inner)
        found = [self.access.decide_read(*file) for file in self.folders.resolve_files(use.reads)]
        return pick_strictest(
            [*found, *(self.access.decide_write_within(*file) for file in self.folders.resolve_files(use.writes))]
        )

    def _decide_reads(self, use: FileUse, fallback: Decision) -> Decision:
        patterns = [word for word in use.reads if word.pattern]
        if any(name.startswith("-") for name, _ in self.folders.resolve_files(patterns)):
            return fallback
        return pick_strictest(self.access.decide_read(*file) for file in self.folders.resolve_files(use.reads))


def _ask_decision(reason: str, suggested: tuple[str, ...] = ()) -> Decision:
    return Decision("ask", f"{_NEEDS_PERMISSION}: {reason}.", suggested)


def _may_apply_rule(rule: PermissionRule, part: SimpleCommand) -> bool:
    """Return whether a rule with a wildcard may apply to this command."""
    if is_exact_rule(rule):
        return True
    words, spec = [word.text for word in part.words], rule.spec or ""
    is_open = "*" in spec.split(" ")[0].removesuffix(":*")
    if runners.is_opaque_command(part) and (is_open or not is_in_tables(part.name or "", "shells")):
        return False
    if runners.runs_unchecked_code(part):
        return False
    if is_open and len(words) > 2 and runners.runs_anything(part.words):
        return False  # `* --version` does not cover `python -c … --version`
    uncovered = (text for text in words if text not in spec)
    return "find" not in words or not any(
        re.fullmatch(build_table_pattern("find", "allowed"), text, re.DOTALL) for text in uncovered
    )


def _list_rule_texts(part: SimpleCommand) -> Iterator[str]:
    """Yield all forms of a command that deny or ask rules may match: with or without quotes or the program's folder."""
    yield part.text
    for words in filter(None, list_possible_commands(part.words)):
        plain = [word.text for word in words]
        yield join_words(words)
        yield " ".join(plain)
        yield " ".join([get_program_name(words), *plain[1:]])
    if not are_words_known(part.words):  # its words, as far as known
        pieces = re.sub(r"[\"'`$(){};|&<>\s\\]", " ", part.text).split()
        yield from (" ".join(pieces[start:]) for start in range(min(len(pieces), _MAX_WORD_PIECES)))
