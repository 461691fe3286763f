"""Rules: `Tool` or `Tool(spec)`, as in the settings; deny rules take precedence over ask rules, and ask over allow.

Bash(npm run test:*)    a command followed by any words; the same as `npm run test *`; `*` matches any text
Read(./secret/**)       a gitignore pattern: `//` from the root, `~/` from home, `/` from the project, otherwise from
                        the start folder; `Edit` covers all tools that write, and `Read` all that read
WebFetch(domain:x.y)    one host; `*.x.y` covers its subdomains
Task(name) Skill(name)  one agent or one skill; `mcp__server` covers all tools of a server
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.settings import RuleKind, Settings

READ_TOOLS = frozenset({"Read", "Glob", "Grep", "NotebookRead", "LS"})
EDIT_TOOLS = frozenset({"Edit", "Write", "NotebookEdit", "MultiEdit"})
PATH_FIELDS = {
    **dict.fromkeys(READ_TOOLS | EDIT_TOOLS, "file_path"),
    **dict.fromkeys(("Glob", "Grep", "LS"), "path"),
    **dict.fromkeys(("NotebookEdit", "NotebookRead"), "notebook_path"),
}
"""The field of a call's input that names a file or folder, by tool."""
_RULE_PATTERN = re.compile(r"([\w*-]+)(?:\((.*)\))?", re.DOTALL)
_TOOL_ALIASES = {"Agent": "Task", "KillBash": "KillShell"}
_MATCH_ALL_SPECS = frozenset({"", "*", ":*", "**"})
_IGNORED_ALLOW_SPECS = frozenset({"", "*", ":*"})
"""Specs that are ignored in allow rules, as in Claude Code. (`Edit(**)` means the project.)"""


class PermissionRule(NamedTuple):
    kind: RuleKind
    tool: str
    spec: str | None
    """None if the rule covers every use of the tool."""
    text: str
    layer: str
    root: Path
    """The folder that `/` stands for in a path rule."""

    where: str = ""
    """The file or the option that the rule comes from."""

    def __str__(self) -> str:
        where = self.where.removeprefix("the ") if self.layer == "flags" else f"{self.layer} settings"
        return f"{self.text} ({self.kind}, {where})"


class PermissionRules:
    """All rules in effect."""

    def __init__(self, settings: Settings) -> None:
        self.warnings: list[str] = []
        kinds: tuple[RuleKind, ...] = ("deny", "ask", "allow")
        self._of = {kind: tuple(self._parse_rules(settings, kind)) for kind in kinds}

    def _parse_rules(self, settings: Settings, kind: RuleKind) -> Iterator[PermissionRule]:
        for text, layer in settings.list_rules(kind):
            match = _RULE_PATTERN.fullmatch(text)
            tool, spec = (_TOOL_ALIASES.get(match[1], match[1]), match[2] and match[2].strip()) if match else ("", "")
            if spec in _MATCH_ALL_SPECS and (kind != "allow" or (spec == "*" and tool not in READ_TOOLS | EDIT_TOOLS)):
                spec = None
            if (
                match
                and spec not in _IGNORED_ALLOW_SPECS
                and (tool != "WebFetch" or (spec or "domain:").startswith("domain:"))
            ):
                yield PermissionRule(kind, tool, spec, text, layer.name, layer.root, layer.where)
                continue
            hint = " (a host is written domain:HOST)" if tool == "WebFetch" else ""
            problem = f"matches nothing{hint}" if match else "is not a rule"
            self.warnings.append(f"{layer.where}: {text!r} in permissions.{kind} {problem}; it is ignored")

    def list_all(self) -> list[PermissionRule]:
        """Return the rules in the order in which they are applied."""
        return [rule for rules in self._of.values() for rule in rules]

    def find_bare_rule(self, kind: RuleKind, tool: str) -> PermissionRule | None:
        """Return the rule that covers a whole tool."""
        return next((rule for rule in self._of[kind] if rule.spec is None and _names_tool(rule, tool)), None)

    def list_specific_rules(self, kind: RuleKind, tools: Iterable[str]) -> list[PermissionRule]:
        """Return the rules that cover only certain uses of tools."""
        names = set(tools)
        return [rule for rule in self._of[kind] if rule.spec is not None and rule.tool in names]


def _names_tool(rule: PermissionRule, tool: str) -> bool:
    tool = _TOOL_ALIASES.get(tool, tool)
    if (
        rule.tool == tool
        or (rule.tool == "Edit" and tool in EDIT_TOOLS)
        or (rule.tool == "Read" and tool in READ_TOOLS)
    ):
        return True
    if rule.tool.startswith("mcp__") and rule.tool.count("__") == 1 and tool.startswith(f"{rule.tool}__"):
        return True
    may_fit = rule.kind != "allow" or re.match(r"mcp__[^*]+__", rule.tool)  # an allow rule must name the server
    return bool(may_fit) and "*" in rule.tool and fnmatchcase(tool, rule.tool)


def split_rule_list(texts: Sequence[str]) -> list[str]:
    """Split rules from the command line: several arguments, or a single one with commas or spaces between rules."""
    rules: list[str] = []
    for text in texts:
        depth, begin = 0, 0
        for position, char in enumerate([*text, ","]):
            depth += (char == "(") - (char == ")")
            if depth <= 0 and char in ", ":
                rules.append(text[begin:position].strip())
                begin = position + 1
        rules.append(text[begin:].strip())  # an unclosed bracket is reported when the rule is parsed
    return [rule for rule in rules if rule]


def matches_name(rule: PermissionRule, name: str) -> bool:
    """Return whether a rule for sub-agents or skills matches a name."""
    return fnmatchcase(name, (rule.spec or "").removesuffix(":*"))


def matches_host(rule: PermissionRule, host: str) -> bool:
    pattern, host = (_normalise_host(text) for text in ((rule.spec or "").partition(":")[2], host))
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return pattern == "*" or (bool(pattern) and host == pattern)


def _normalise_host(name: str) -> str:
    """Normalise a host: remove a trailing dot and encode non-ASCII letters."""
    name = name.strip().lower().rstrip(".")
    try:
        return name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        return name


def matches_command(rule: PermissionRule, text: str) -> bool:
    return _compile_command_pattern(rule.spec or "").fullmatch(text) is not None


def is_exact_rule(rule: PermissionRule) -> bool:
    """Return whether a Bash rule has no wildcard."""
    return "*" not in re.sub(r"\\.", "", rule.spec or "*")


@cache
def _compile_command_pattern(spec: str) -> re.Pattern[str]:
    begin = re.sub(r"\s*[ :]\*\Z", "", spec)
    pieces = re.findall(r"\\.|.", begin, re.DOTALL)
    plain = [".*" if one == "*" else re.escape(one[1:] if one in (r"\*", r"\\") else one) for one in pieces]
    return re.compile("".join([*plain, r"(?: .*)?" if begin != spec else ""]), re.DOTALL)
