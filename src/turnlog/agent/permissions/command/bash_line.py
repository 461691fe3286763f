"""Parses a line of bash into its simple commands, their redirects, and the parts that can't be checked.

The grammar (tree-sitter) finds the commands, including those in substitutions and here-documents, and `words` splits
them into words. If the two disagree, the line is considered doubtful. A doubtful line is never allowed without asking.
Commands in the doubtful parts are listed too, because deny rules apply to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from turnlog.agent.permissions.command.tables import is_in_tables
from turnlog.agent.permissions.command.words import ShellWord, has_odd_characters, split_words

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

MAX_LINE_CHARS = 65536
MAX_LINE_WORDS = 1000
_MAX_TREE_DEPTH = 200
BACKGROUND_REASON = "the background operator & lets it continue after the check"
_UNREADABLE_REASON = "its words are not known before it runs"
_STRANGE_CHAR_PATTERN = re.compile(r"[^\x00-\x7f]")
_STAND_IN = "."
"""What the grammar sees of characters outside ASCII: part of a word, but of no name, number or operator. The grammar's
scanner looks them up in a table of 256 characters, and what lies beyond the table can end the process."""
_PLACEHOLDER = b"_"
_TEXT_FORMAT_PATTERN = re.compile(r"""['"]?(?!-)(?:[^%]|%[sq%])*""")
"""A format of printf for texts only; some shells evaluate numbers."""
_PLAIN_SUBSTITUTION_PATTERN = re.compile(r"""\$\((?:[^()#`\\\n'"<>&|;]|'[^()#`\\\n'"]*'|"[^()#`\\\n'"]*")+\)""")
_QUOTED_MARK_PATTERN = re.compile(r"""(['"])(\w+)\1""", re.ASCII)
_DUPLICATED_STREAM_PATTERN = re.compile(r"\d*[<>]&\s*(?:\d+-?|-)")
_REDIRECT_ARROW_PATTERN = re.compile(r"(\d*|\{\w+\})\s*(&>>?|>>|>\||>&|<&|<>|>|<)")


class Redirect(NamedTuple):
    """A file that a command reads from or writes to."""

    target: ShellWord
    is_written: bool


class SimpleCommand(NamedTuple):
    text: str
    """The command's text, without preceding assignments or redirects."""
    words: tuple[ShellWord, ...]
    """Empty if the line only sets variables or redirects."""
    assigned: tuple[tuple[str, str], ...] = ()
    """Variables that are set for the command: names and values."""
    redirects: tuple[Redirect, ...] = ()
    piped: str = ""
    """What is written before it in its pipeline: the commands whose output it reads."""

    @property
    def name(self) -> str | None:
        """The program's name, or None if the name is unknown or no program runs."""
        return self.words[0].text if self.words and self.words[0].is_plain else None


class BashLine(NamedTuple):
    text: str
    parts: tuple[SimpleCommand, ...]
    doubts: tuple[str, ...]
    """Why the line can't be checked; empty if it can."""
    is_opaque: bool = False
    """Whether the line may contain hidden commands and so run more than its parts."""
    has_loop: bool = False

    @property
    def is_ordered(self) -> bool:
        """Whether its commands run one after another, as they are written."""
        return not self.has_loop and "|" not in self.text


def parse_bash_line(text: str) -> BashLine:
    data = text.encode("utf-8", "surrogatepass")
    walk = _BashTreeWalk(data)
    if len(text) <= MAX_LINE_CHARS:
        root = _build_parser().parse(_STRANGE_CHAR_PATTERN.sub(_replace_char, text).encode()).root_node
        if root.has_error:
            walk.note_doubt("it can't be parsed", hides=True)
        walk.visit_node(root, 0)
    if len(text) > MAX_LINE_CHARS or sum(len(part.words) for part in walk.parts) > MAX_LINE_WORDS:
        return build_unseen_line(text, "it is too long to be checked")
    if has_odd_characters(text):
        walk.note_doubt("it contains characters that are not what they seem", hides=True)
    if any(part.words == () for part in walk.parts) and len(walk.parts) > 1:
        walk.note_doubt("it sets variables for what follows")
    return BashLine(text.strip(), tuple(walk.parts), tuple(dict.fromkeys(walk.doubts)), walk.is_opaque, walk.has_loop)


def build_unseen_line(text: str, doubt: str) -> BashLine:
    """Build a line of which nothing is known."""
    return BashLine(text, (), (doubt,), is_opaque=True)


def _replace_char(match: re.Match[str]) -> str:
    """Return a stand-in for a character that takes as many bytes."""
    return _STAND_IN * len(match[0].encode("utf-8", "surrogatepass"))


def _build_parser() -> Parser:
    """Build a new parser, because what its scanner keeps from one line could change how the next is read."""
    import tree_sitter

    return tree_sitter.Parser(_load_grammar())


@cache
def _load_grammar() -> Language:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


class _BashTreeWalk:
    """Walks the syntax tree and collects commands and doubtful parts."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.parts: list[SimpleCommand] = []
        self.doubts: list[str] = []
        self.is_opaque = False
        self.has_loop = False
        self.piped: dict[int, str] = {}
        """What is written before each command of a pipeline, by the id of its node."""
        self.printed: set[int] = set()
        """The substitutions whose output is only printed, by the id of their node."""

    def note_doubt(self, reason: str, *, hides: bool = False) -> None:
        """Record why the line can't be checked and whether it may hide commands."""
        self.doubts.append(reason)
        self.is_opaque |= hides

    def visit_node(self, node: Node, depth: int, redirects: tuple[Redirect, ...] = ()) -> None:
        """Collect the commands in a node."""
        if depth > _MAX_TREE_DEPTH:
            self.note_doubt("it is nested too deeply to be checked", hides=True)
            return
        self._note_unchecked(node)
        inner = list(node.children)
        if node.type == "pipeline":
            self.piped.update((child.id, self._read_text_between(node, child)) for child in inner if child.is_named)
        if node.type == "redirected_statement":
            redirects = (*self._read_redirects(node), *redirects)
            body = node.child_by_field_name("body")
            if body is None:
                self.parts.append(SimpleCommand("", (), (), redirects))
            else:
                inner.remove(body)
                self.visit_node(body, depth + 1, redirects)
            redirects = ()
        elif node.type in ("command_substitution", "process_substitution"):  # `$(< a)` has no command
            found = tuple(self._read_redirect(child) for child in inner if child.type == "file_redirect")
            self.parts += [SimpleCommand("", (), (), found)] if found else []
        elif is_in_tables(node.type, "simple"):
            self.parts.append(self._read_simple_command(node, redirects))
            redirects = ()
        for child in inner:
            is_set = (node.type, child.type) == ("command", "variable_assignment")  # not a command of its own
            for one in child.children if is_set else [child]:
                self.visit_node(one, depth + 1, redirects)

    def _note_unchecked(self, node: Node) -> None:
        """Record the parts of a node that can't be checked."""
        self.has_loop |= node.type == "do_group"
        if node.type == "&":
            self.note_doubt(BACKGROUND_REASON)
        elif node.type == "((" and (node.parent is None or node.parent.type != "c_style_for_statement"):
            # bash reads `((rm))` as arithmetic but `((rm) )` as a command, and the grammar may disagree with it.
            self.note_doubt("double parentheses can't be checked before it runs", hides=True)
        elif node.is_named and node.id not in self.printed and not is_in_tables(node.type, "simple", "order", "pieces"):
            self.note_doubt(f"a part of it ({node.type.replace('_', ' ')}) can't be checked before it runs")
        elif node.type in ("word", "number", "simple_expansion"):
            if len(split_words(self._read_node_text(node)) or ()) != 1:  # the grammar takes `$ a` for a variable
                self.note_doubt(_UNREADABLE_REASON, hides=True)
        elif node.type == "comment":
            # In bash a comment starts where a word could; elsewhere `#` is part of a word and hides nothing.
            before = self.data[: node.start_byte]
            if before and (before[-1:] not in b" \t\n;&|" or before[-2:-1] == b"\\"):
                self.note_doubt("a comment in it can't be checked before it runs", hides=True)
        elif node.type == "variable_assignment" and "[" in self._read_node_text(
            node
        ):  # bash computes an index, and what it names
            self.note_doubt("an index can't be checked before it runs")
        elif node.type == "for_statement":
            name = node.child_by_field_name("variable")
            if node.children[0].type != "for" or name is None or not is_in_tables(self._read_node_text(name), "plain"):
                self.note_doubt("a loop of this kind can't be checked before it runs")
        elif node.type == "heredoc_redirect":
            self._check_heredoc(node)

    def _read_redirects(self, node: Node) -> Iterator[Redirect]:
        """Yield a statement's redirects; words after a redirect belong to the command: `a > b c`, `cat <<'A' b`."""
        for child in node.children_by_field_name("redirect"):
            is_text = child.type == "heredoc_redirect"
            words_after = [one for one in child.children if is_text and not is_in_tables(one.type, "heredoc")]
            if words_after or len(child.children_by_field_name("destination")) > 1:
                self.note_doubt("words after a redirect can't be checked before it runs", hides=True)
            yield from self._read_redirects(child) if is_text else [self._read_redirect(child)]

    def _check_heredoc(self, node: Node) -> None:
        """Check that a here-document is plain text: its delimiter is quoted, and it ends where bash would end it."""
        texts = {child.type: self._read_node_text(child) for child in node.children}
        mark = _QUOTED_MARK_PATTERN.fullmatch(texts.get("heredoc_start", ""))
        lines = texts.get("heredoc_body", "").split("\n")
        if mark is None or "<<" not in texts:
            self.note_doubt("a here-document without quotes is expanded by the shell")
        elif texts.get("heredoc_end") != mark[2] or mark[2] in lines or self.data.count(b"<<") != 1:
            self.note_doubt("a here-document in it can't be checked before it runs", hides=True)

    def _read_simple_command(self, node: Node, redirects: tuple[Redirect, ...]) -> SimpleCommand:
        text = self._read_node_text(node)
        if node.type == "variable_assignment":
            return SimpleCommand(text, (), (self._read_assignment(node),), redirects)
        if node.type != "command":
            unknown = (ShellWord(self._read_node_text(node.children[0])), ShellWord(text, is_known=False))
            return SimpleCommand(text, tuple(split_words(text) or unknown), (), redirects)
        settings = [child for child in node.children if child.type == "variable_assignment"]
        rest = [child for child in node.children if child.type != "variable_assignment"]
        text = self._read_node_text(node, rest[0].start_byte - node.start_byte) if rest else ""
        self._find_printed(rest)
        words = tuple(map(self._read_word, rest))
        if split_words(self._mask_printed(node, rest[0].start_byte - node.start_byte) if rest else "") != list(words):
            self.note_doubt(_UNREADABLE_REASON, hides=not any(map(_is_computed_node, rest)))
        assigned = tuple(map(self._read_assignment, settings))
        return SimpleCommand(text.strip(), words, assigned, redirects, self.piped.get(node.id, ""))

    def _read_text_between(self, node: Node, child: Node) -> str:
        """Return the text of a node before one of its children, without the operator."""
        text = self.data[node.start_byte : child.start_byte].decode("utf-8", "replace").rstrip()
        return text.removesuffix("|").rstrip()

    def _find_printed(self, nodes: list[Node]) -> None:
        """Record the substitutions in quoted words of echo, and of printf after its format: `echo "on $(date)"`."""
        texts = [self._read_node_text(node) for node in nodes[:2]]
        is_printf = texts[:1] == ["printf"] and len(texts) > 1 and _TEXT_FORMAT_PATTERN.fullmatch(texts[1])
        start = 1 if texts[:1] == ["echo"] else 2 if is_printf else len(nodes)
        for node in nodes[start:]:
            found = [child for child in node.children if child.type == "command_substitution"]
            if node.type == "string" and all(map(self._is_plain_substitution, found)):
                self.printed.update(child.id for child in found)

    def _is_plain_substitution(self, node: Node) -> bool:
        """Return whether a substitution is a single command, and bash surely sees its end where the grammar does."""
        inner = [child for child in node.children if child.is_named]
        is_single = [child.type for child in inner] == ["command"]
        return is_single and _PLAIN_SUBSTITUTION_PATTERN.fullmatch(self._read_node_text(node)) is not None

    def _mask_printed(self, node: Node, begin: int = 0) -> str:
        """Return a node's text with a placeholder for each substitution whose output is only printed."""
        data = bytearray(self.data[node.start_byte : node.end_byte])
        for child in _iterate_nodes(node):
            if child.id in self.printed:
                start, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
                data[start:end] = _PLACEHOLDER * (end - start)
        return data[begin:].decode("utf-8", "replace")

    def _read_word(self, node: Node) -> ShellWord:
        words = split_words(self._mask_printed(node)) or ()
        return (
            words[0]
            if len(words) == 1
            else ShellWord(self._read_node_text(node), is_known=False, raw=self._read_node_text(node))
        )

    def _read_redirect(self, node: Node) -> Redirect:
        arrow, targets = (
            _REDIRECT_ARROW_PATTERN.match(self._read_node_text(node)),
            node.children_by_field_name("destination"),
        )
        if _DUPLICATED_STREAM_PATTERN.fullmatch(self._read_node_text(node)):
            return Redirect(ShellWord("/dev/null"), True)
        is_known = arrow and not arrow[1].startswith("{") and targets
        target = self._read_word(targets[0]) if is_known else ShellWord(self._read_node_text(node), is_known=False)
        return Redirect(target, arrow is None or arrow[2] not in ("<", "<&"))

    def _read_assignment(self, node: Node) -> tuple[str, str]:
        name, equals, value = self._read_node_text(node).partition("=")
        return (name if equals else "", value)

    def _read_node_text(self, node: Node, begin: int = 0) -> str:
        return self.data[node.start_byte + begin : node.end_byte].decode("utf-8", "replace")


def _is_computed_node(node: Node) -> bool:
    return is_in_tables(node.type, "computed") or any(map(_is_computed_node, node.children))


def _iterate_nodes(node: Node) -> Iterator[Node]:
    """Yield the nodes of a word or a command and those directly below each of its words."""
    for child in node.children:
        yield child
        yield from child.children
