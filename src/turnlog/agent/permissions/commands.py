"""A line of bash, taken apart: the simple commands in it, what they redirect, and whatever can't be checked beforehand.

The grammar (tree-sitter) finds the commands, also those within substitutions and here-documents; their words are read
by `words`, and where the two don't agree, the line is in doubt. Doubt never allows: it asks. What stands in doubtful
places is given all the same, because a rule that denies holds there too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from turnlog.agent.permissions.words import Word, is_odd, split

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 65536
MOST_WORDS = 1000
_DEEPEST = 200
_KNOWN = frozenset(
    # what only puts commands in an order
    "program list pipeline if_statement elif_clause else_clause while_statement do_group negated_command for_statement "
    # what is looked at here
    "command redirected_statement variable_assignment test_command declaration_command unset_command "
    "variable_assignments comment file_redirect heredoc_redirect "
    # pieces of words, which hold no command of themselves
    "word string raw_string string_content concatenation number variable_name simple_expansion special_variable_name "
    "command_name file_descriptor heredoc_start heredoc_body heredoc_end heredoc_content subscript array ansi_c_string "
    "translated_string unary_expression binary_expression test_operator regex extglob_pattern".split()
)
_SIMPLE = frozenset(
    {"command", "variable_assignment", "test_command", "declaration_command", "unset_command", "variable_assignments"}
)
_DOUBTS = {
    "&": "the background operator & lets it run on after it was checked",
    "subshell": "a subshell can't be checked before it runs",
    "compound_statement": "a group in braces can't be checked before it runs",
    "function_definition": "a function can't be checked before it runs",
    "case_statement": "a case statement can't be checked before it runs",
    "command_substitution": "a nested command can't be checked before it runs",
    "process_substitution": "a nested command can't be checked before it runs",
    "expansion": "a variable in braces can't be checked before it runs",
    "arithmetic_expansion": "arithmetic can't be checked before it runs",
    "herestring_redirect": "a here-string can't be checked before it runs",
    "ERROR": "it can't be parsed",
}
_COMPUTED = frozenset(
    "command_substitution process_substitution expansion arithmetic_expansion herestring_redirect ansi_c_string".split()
)
_LOOP_VARIABLE = re.compile(r"[a-z][a-z0-9]{0,30}")
"""Nothing like `http_proxy`, which other programs heed."""
_QUOTED_MARK = re.compile(r"""(['"])(\w+)\1""", re.ASCII)
_DUPLICATES = re.compile(r"\d*[<>]&\s*(?:\d+-?|-)")
_ARROW = re.compile(r"(\d*|\{\w+\})\s*(&>>?|>>|>\||>&|<&|<>|>|<)")


class Redirect(NamedTuple):
    """A file that a command reads from or writes to."""

    target: Word | None
    """None if it can't be told which one."""
    is_written: bool


class Part(NamedTuple):
    """One simple command."""

    text: str
    """As it stands in the line, without what is set before it and without redirects."""
    words: tuple[Word, ...]
    """Empty for a line that only sets variables or redirects."""
    assigned: tuple[tuple[str, str], ...] = ()
    """Variables that are set for it: names and values."""
    redirects: tuple[Redirect, ...] = ()

    @property
    def name(self) -> str | None:
        """What is run; None if that can't be told, or nothing is."""
        first = self.words[0] if self.words else None
        return first.text if first and first.is_known and first.pattern is None and not first.has_tilde else None


class Line(NamedTuple):
    """A line of bash."""

    text: str
    parts: tuple[Part, ...]
    doubts: tuple[str, ...]
    """Why it can't be checked; nothing if it can."""
    is_opaque: bool = False
    """Whether commands may be hidden in it, so that the parts are not all that it runs."""
    has_loop: bool = False


def parse(text: str) -> Line:
    """Take a line of bash apart."""
    too_long = Line(text, (), ("it is too long to be checked",), is_opaque=True)
    if len(text) > LONGEST:
        return too_long
    data = text.encode("utf-8", "surrogatepass")
    walk = _Walk(data)
    root = _parser().parse(data).root_node
    walk.visit(root, 0)
    if sum(len(part.words) for part in walk.parts) > MOST_WORDS:
        return too_long
    if root.has_error:
        walk.doubt(_DOUBTS["ERROR"], hides=True)
    if is_odd(text):
        walk.doubt("it holds characters that are not what they seem", hides=True)
    if any(part.words == () for part in walk.parts) and len(walk.parts) > 1:
        walk.doubt("it sets variables for what follows")
    return Line(text.strip(), tuple(walk.parts), tuple(dict.fromkeys(walk.doubts)), walk.is_opaque, walk.has_loop)


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class _Walk:
    """Goes through the tree and gathers."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.parts: list[Part] = []
        self.doubts: list[str] = []
        self.is_opaque = False
        self.has_loop = False

    def doubt(self, reason: str, *, hides: bool = False) -> None:
        """Note that the line can't be checked, and whether something may be hidden in it."""
        self.doubts.append(reason)
        self.is_opaque |= hides

    def visit(self, node: Node, depth: int, redirects: tuple[Redirect, ...] = ()) -> None:
        """Gather what is in a node."""
        if depth > _DEEPEST:
            self.doubt("it is nested too deeply to be checked", hides=True)
            return
        self._judge(node)
        body = None
        if node.type in _SIMPLE:
            self.parts.append(self._part(node, redirects))
            redirects = ()
        elif node.type == "redirected_statement":
            redirects = (*self._redirects(node), *redirects)
            body = node.child_by_field_name("body")
            if body is None:
                self.parts.append(Part("", (), (), redirects))
        for child in self._within(node):
            is_outside = node.type == "redirected_statement" and child != body
            self.visit(child, depth + 1, () if is_outside else redirects)

    def _within(self, node: Node) -> Iterator[Node]:
        """What is in a node; what is set for a command is no part of the line by itself."""
        for child in node.children:
            yield from child.children if (node.type, child.type) == ("command", "variable_assignment") else [child]

    def _judge(self, node: Node) -> None:
        """Note what about a node can't be checked."""
        self.has_loop |= node.type == "do_group"
        if node.type in _DOUBTS:
            self.doubt(_DOUBTS[node.type])
        elif node.is_named and node.type not in _KNOWN:
            self.doubt(f"{node.type.replace('_', ' ')} can't be checked before it runs")
        elif node.type in ("word", "number", "simple_expansion"):
            if len(split(_text(node)) or ()) != 1:  # the grammar takes `$ a` for a variable
                self.doubt("its words can't be told before it runs", hides=True)
        elif node.type == "comment":
            # To bash, a comment begins where a word might; what stands elsewhere is a word, and hides nothing.
            before = self.data[: node.start_byte]
            if before and (before[-1:] not in b" \t\n;&|" or before[-2:-1] == b"\\"):
                self.doubt("a comment in it can't be checked before it runs", hides=True)
        elif node.type == "for_statement":
            name = node.child_by_field_name("variable")
            if node.children[0].type != "for" or name is None or not _LOOP_VARIABLE.fullmatch(_text(name)):
                self.doubt("a loop of this kind can't be checked before it runs")
        elif node.type == "heredoc_redirect":
            self._heredoc(node)

    def _redirects(self, node: Node) -> list[Redirect]:
        """The redirects of a statement; words behind one belong to the command: `a > b c`."""
        found: list[Redirect] = []
        is_followed = False
        for child in node.children_by_field_name("redirect"):
            if child.type == "file_redirect":
                is_followed |= len(child.children_by_field_name("destination")) > 1
                found.append(_file_redirect(child))
            elif child.type == "heredoc_redirect":  # also `cat <<'A' b`, `cat <<'A' && b`
                allowed = {"<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end", "file_redirect"}
                is_followed |= any(one.type not in allowed for one in child.children)
                found += self._redirects(child)
        if is_followed:
            self.doubt("words after a redirect can't be checked before it runs", hides=True)
        return found

    def _heredoc(self, node: Node) -> None:
        """A here-document is plain text if its mark is quoted, and if it ends where bash sees its end."""
        found = {child.type: _text(child) for child in node.children}
        mark = _QUOTED_MARK.fullmatch(found.get("heredoc_start", ""))
        lines = found.get("heredoc_body", "").split("\n")
        if mark is None or "<<" not in found:
            self.doubt("a here-document without quotes is expanded by the shell")
        elif found.get("heredoc_end") != mark[2] or mark[2] in lines or self.data.count(b"<<") != 1:
            self.doubt("a here-document in it can't be checked before it runs", hides=True)

    def _part(self, node: Node, redirects: tuple[Redirect, ...]) -> Part:
        if node.type == "variable_assignment":
            return Part(_text(node), (), (_assignment(node),), redirects)
        if node.type != "command":
            unknown = [Word(_text(node.children[0])), Word(_text(node), is_known=False)]
            return Part(_text(node), tuple(split(_text(node)) or unknown), (), redirects)
        settings = [child for child in node.children if child.type == "variable_assignment"]
        rest = [child for child in node.children if child.type != "variable_assignment"]
        source = node.text or b""
        text = source[rest[0].start_byte - node.start_byte :].decode("utf-8", "replace") if rest else ""
        words = tuple(_word(child) for child in rest)
        if split(text) != list(words):
            self.doubt("its words can't be told before it runs", hides=not any(map(_is_computed, rest)))
        return Part(text.strip(), words, tuple(map(_assignment, settings)), redirects)


def _word(node: Node) -> Word:
    words = split(_text(node))
    return words[0] if words and len(words) == 1 else Word(_text(node), is_known=False, raw=_text(node))


def _is_computed(node: Node) -> bool:
    return node.type in _COMPUTED or any(map(_is_computed, node.children))


def _file_redirect(node: Node) -> Redirect:
    text = _text(node)
    if _DUPLICATES.fullmatch(text):
        return Redirect(Word("/dev/null"), True)
    arrow = _ARROW.match(text)
    target = next(iter(node.children_by_field_name("destination")), None)
    words = split(_text(target)) if target is not None else None
    if arrow is None or arrow[1].startswith("{"):
        return Redirect(None, True)
    return Redirect(words[0] if words and len(words) == 1 else None, arrow[2] not in ("<", "<&"))


def _assignment(node: Node) -> tuple[str, str]:
    name, equals, value = _text(node).partition("=")
    return (name if equals else "", value)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
