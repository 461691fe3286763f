"""Decides whether a command may run: every simple command in it must be allowed, and none may be forbidden."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from turnlog.agent.permissions.command import effects, runners
from turnlog.agent.permissions.command.bash_line import (
    BACKGROUND_REASON,
    SimpleCommand,
    build_unseen_line,
    parse_bash_line,
)
from turnlog.agent.permissions.command.coverage import covers_command, follows_links, list_walked_folders, may_take_code
from turnlog.agent.permissions.command.effects import FileUse, changes_files, iterate_file_uses
from turnlog.agent.permissions.command.exposure import is_silent_command, may_expose_files
from turnlog.agent.permissions.command.folders import LineFolders
from turnlog.agent.permissions.command.line_doubts import (
    BROUGHT_FILES_REASON,
    find_line_doubt,
    list_git_folders,
    may_change_folder_variable,
)
from turnlog.agent.permissions.command.links import list_named_files, uses_brought_files
from turnlog.agent.permissions.command.parse_trial import can_parse
from turnlog.agent.permissions.command.piped_names import PipedNames, find_piped_names
from turnlog.agent.permissions.command.runners import (
    TIMING_RUNNERS,
    TRANSPARENT_RUNNERS,
    list_possible_commands,
    strip_runners,
)
from turnlog.agent.permissions.command.variables import has_safe_settings
from turnlog.agent.permissions.command.words import ShellWord, are_words_known, get_program_name, join_words
from turnlog.agent.permissions.decision import ALLOW_DECISION, Decision, pick_strictest
from turnlog.agent.permissions.file_access import HARMLESS_DEVICES, FileAccess
from turnlog.agent.permissions.paths import is_protected
from turnlog.agent.permissions.rules import EDIT_TOOLS, READ_TOOLS, PermissionRule, is_exact_rule, matches_command
from turnlog.agent.settings import RuleKind

_MAX_WORD_PIECES = 500
_UNPARSABLE_REASON = "it is too complicated to be checked"
_NEEDS_PERMISSION = "This command needs permission"
_UNKNOWN_RULE_REASON = "it is unclear whether a rule forbids it"
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
        used = list_git_folders(self.parts, self.folders)
        self.git_decisions = [one for folder in used for one in access.decide_git_reads(folder)]

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
        if is_aside or self.folders.is_lost or self.line.is_opaque:
            return True
        if uses_brought_files(self.parts, is_ordered=self.line.is_ordered):
            return True
        if may_change_folder_variable(self.line, self.parts):
            return True
        return any(may_expose_files(part) or self._names_hidden_file(part) for part in self.parts)

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
        if reason := next(iter(line.doubts), None) or find_line_doubt(line, self.parts, self.folders, self.access):
            return _ask_decision(reason)
        return pick_strictest([*map(self._decide_part, line.parts), *self.git_decisions])

    def _decide_allowed_line(self) -> Decision:
        """Decide on a line whose commands are all allowed: check hidden and background commands and protected files."""
        if self._has_rules("Bash") and (self.line.is_opaque or any(map(runners.is_opaque_command, self.parts))):
            return _ask_decision(_UNKNOWN_RULE_REASON)
        if BACKGROUND_REASON in self.line.doubts:
            return _ask_decision(BACKGROUND_REASON)
        if self._has_rules(*EDIT_TOOLS) and uses_brought_files(
            self.parts, is_ordered=self.line.is_ordered, only_written=True
        ):
            return _ask_decision(BROUGHT_FILES_REASON)
        for file in (
            file
            for part in self.parts
            for use in iterate_file_uses(part)
            for file in self.folders.resolve_files(use.writes)
        ):
            if any(map(is_protected, self.access.list_names(*file))):
                return self.access.decide_write_by_command(*file)
        return ALLOW_DECISION

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
        if names := find_piped_names(part):
            return self._decide_piped_names(part, names)
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

    def _decide_piped_names(self, part: SimpleCommand, names: PipedNames) -> Decision:
        """Decide on xargs with a command that reads the files that another command lists."""
        named = [word for word in list_named_files(part) if word.text != "xargs"]
        return pick_strictest(
            [
                *(self.access.decide_read(*file) for file in self.folders.resolve_files(named)),
                *(
                    self.access.decide_read_listed(*file, names.listing)
                    for file in self.folders.resolve_files(names.folders)
                ),
            ]
        )

    def _is_allowed_by_rule(self, part: SimpleCommand) -> bool:
        texts = {join_words(words) for words in (part.words, strip_runners(part.words, TRANSPARENT_RUNNERS))}
        return any(
            matches_command(rule, text) and covers_command(rule, part) for rule in self.allowing for text in texts
        )

    def _check_confinement(self, part: SimpleCommand, use: FileUse | None) -> Decision | None:
        """Check that an allowed command uses only permitted files: a rule allows the command, not its files."""
        inner = strip_runners(part.words, TRANSPARENT_RUNNERS)
        adds_words = get_program_name(inner) in ("xargs", "parallel")  # any of its words may be the program it runs
        heads = inner[1:] if adds_words else inner[:1]
        is_unseen = (adds_words or not are_words_known(inner)) and any(may_take_code(word) for word in heads)
        commands = list(list_possible_commands(inner)) if get_program_name(inner) != "ssh" else [inner]
        has_wild_sed = any(get_program_name(words) == "sed" and not effects.is_tame_sed(words) for words in commands)
        if (is_unseen and use is None) or has_wild_sed:
            return None
        uses = [use] if use else [effects.find_touched_files(words) for words in commands]
        reads = [file for one in uses for file in self.folders.resolve_files(one.reads)]
        writes = [file for one in uses for file in self.folders.resolve_files(one.writes)]
        walked = [word for words in commands if follows_links(words) for word in list_walked_folders(words)]
        return pick_strictest(
            [
                *(self.access.decide_read(*file) for file in reads if file[0] not in HARMLESS_DEVICES),
                *(self.access.decide_write_within(*file) for file in writes),
                *(self.access.decide_read_below(*file) for file in self.folders.resolve_files(walked)),
            ]
        )

    def _decide_reads(self, use: FileUse, fallback: Decision) -> Decision:
        patterns = [word for word in use.reads if word.pattern]
        if any(name.startswith("-") for name, _ in self.folders.resolve_files(patterns)):
            return fallback
        return pick_strictest(self.access.decide_read(*file) for file in self.folders.resolve_files(use.reads))


def _ask_decision(reason: str, suggested: tuple[str, ...] = ()) -> Decision:
    return Decision("ask", f"{_NEEDS_PERMISSION}: {reason}.", suggested)


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
