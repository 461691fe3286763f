"""A stand-in for ripgrep where it is not installed: the words that Grep and Glob use, with the same output.

It is run as a program, so that a slow pattern can be stopped; it stands alone, with the standard library only.
Of what ripgrep leaves out it knows .gitignore, .ignore and .rgignore files and .git/info/exclude, but not the ignore
file of the user's git settings. Patterns are those of Python, with POSIX classes.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_BINARY = 65536
_TYPES = """
asm *.asm *.s *.S|c *.[chH] *.[chH].in *.cats|clojure *.clj *.cljc *.cljs *.cljx|cmake *.cmake CMakeLists.txt
|config *.cfg *.conf *.config *.ini|cs *.cs|csharp *.cs|css *.css *.scss|csv *.csv|dart *.dart|diff *.diff *.patch
|cpp *.[ChH] *.[ChH].in *.[ch]pp *.[ch]pp.in *.[ch]xx *.[ch]xx.in *.cc *.cc.in *.hh *.hh.in *.inl
|docker *Dockerfile*|elisp *.el|elixir *.ex *.eex *.exs|erlang *.erl *.hrl|fish *.fish|fsharp *.fs *.fsx *.fsi|go *.go
|gradle *.gradle|graphql *.graphql *.graphqls|groovy *.groovy *.gradle|h *.h *.hh *.hpp|haskell *.hs *.lhs *.cpphs
|html *.htm *.html *.ejs|java *.java *.jsp *.jspx *.properties|jl *.jl|js *.js *.jsx *.vue *.cjs *.mjs|jsonl *.jsonl
|json *.json composer.lock *.sarif|julia *.jl|jupyter *.ipynb *.jpynb|kotlin *.kt *.kts|less *.less|lock *.lock
|log *.log|lua *.lua|make *.mk *.mak [Mm]akefile [Gg][Nn][Uu]makefile [Mm]akefile.am [Mm]akefile.in
|markdown *.markdown *.md *.mdown *.mdwn *.mkd *.mkdn *.mdx|md *.markdown *.md *.mdown *.mdwn *.mkd *.mkdn *.mdx
|nim *.nim *.nimble *.nims|nix *.nix|objc *.h *.m|ocaml *.ml *.mli *.mll *.mly|org *.org|perl *.perl *.pl *.pm *.t
|php *.php *.php3 *.php4 *.php5 *.php7 *.php8 *.phtml|protobuf *.proto|ps *.ps1 *.psd1 *.psm1|py *.py *.pyi
|python *.py *.pyi|r *.R *.r *.Rmd *.Rnw *.rmd|rst *.rst|ruby *.rb *.rbw *.gemspec .irbrc Gemfile Rakefile config.ru
|rust *.rs|sass *.sass *.scss|scala *.scala *.sbt|sh *.sh *.bash *.zsh *.ksh *.csh *.tcsh .bashrc .profile .zshrc
|sql *.sql *.psql|svelte *.svelte|svg *.svg|swift *.swift|tcl *.tcl|tex *.tex *.ltx *.cls *.sty *.bib *.dtx *.ins
|tf *.tf *.tfvars|toml *.toml Cargo.lock|ts *.ts *.tsx *.cts *.mts|txt *.txt|typescript *.ts *.tsx *.cts *.mts
|verilog *.v *.vh *.sv *.svh|vim *.vim .vimrc|vue *.vue|xml *.xml *.xsd *.xsl *.xslt *.dtd *.xhtml|yaml *.yaml *.yml
|zig *.zig|zsh *.zsh .zshrc .zprofile .zshenv"""
_CROSSES = re.compile(r"\.|\[\^|\\[nrsDWx]|\n")
"""What lets a pattern go over the end of a line; without it, lines are counted also in multiline mode."""
_POSIX = {
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:space:]": r"\s",
    "[:punct:]": r"!-/:-@\[-`{-~",
    "[:xdigit:]": "0-9a-fA-F",
    "[:word:]": r"\w",
}


class Refused(Exception):
    """Words that can't be followed."""


# -- patterns of names


class Rule(NamedTuple):
    """One pattern."""

    fits: re.Pattern[str]
    """Of paths below the folder of the rule."""
    is_exception: bool
    only_folders: bool


class Rules(NamedTuple):
    """The patterns of one file, or of the call."""

    folder: str
    rules: Sequence[Rule]

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """Whether the last pattern that fits is a plain one (True) or an exception (False); None if none fits."""
        if not path.startswith(self.folder):
            return None
        inner = path[len(self.folder) :].lstrip("/")
        for rule in reversed(self.rules):
            if (is_folder or not rule.only_folders) and rule.fits.fullmatch(inner):
                return not rule.is_exception
        return None


def rule(pattern: str) -> Rule | None:
    """Read a line of an ignore file; None if it says nothing."""
    line = pattern if pattern.endswith("\\ ") else pattern.rstrip()
    if not line or line.startswith("#"):
        return None
    is_exception = line.startswith("!")
    line = line.removeprefix("!").removeprefix("\\") if line.startswith(("!", "\\!", "\\#")) else line
    only_folders = line.endswith("/")
    line = line.rstrip("/")
    glob = line.removeprefix("/") if "/" in line else f"**/{line}"
    return Rule(re.compile(expression(glob), re.DOTALL), is_exception, only_folders)


def expression(glob: str) -> str:
    """The regular expression of a pattern of paths."""
    made, at, open_braces = [], 0, 0
    while at < len(glob):
        rest, sign = glob[at:], glob[at]
        if rest.startswith("**/") and (at == 0 or glob[at - 1] == "/"):
            made.append("(?:.*/)?")
            at += 3
            continue
        if rest == "**" and (at == 0 or glob[at - 1] == "/"):
            made.append(".*" if at == 0 else ".+")
            at += 2
            continue
        if sign == "[":
            at, part = _class(glob, at)
        elif sign == "\\":
            at += 1
            part = re.escape(glob[at : at + 1])
        elif sign == "," and open_braces:
            part = "|"
        else:
            open_braces += (sign == "{") - (sign == "}")
            part = {"*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}.get(sign) or re.escape(sign)
        made.append(part)
        at += 1
        if open_braces < 0:
            break
    if open_braces:
        raise Refused(f"error parsing glob '{glob}': unclosed or unopened alternate group")
    return "".join(made)


def _class(glob: str, at: int) -> tuple[int, str]:
    end = glob.find("]", at + (3 if glob[at + 1 : at + 2] in ("!", "^") else 2))
    if end < 0:
        raise Refused(f"error parsing glob '{glob}': unclosed character class; missing ']'")
    inner = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
    return end, f"[^{inner[1:]}]" if inner[:1] in ("!", "^") else f"[{inner}]"


# -- files


class Level(NamedTuple):
    """A folder on the way, with the ignore files in it."""

    kinds: Sequence[Rules | None]
    """.rgignore, .ignore, .gitignore and .git/info/exclude."""
    has_git: bool


class Filter(NamedTuple):
    """What is searched."""

    chosen: Rules
    """The patterns of the call."""
    kinds: Rules | None
    """The types of the call."""
    ignores: bool

    def leaves_out(self, path: str, is_folder: bool, levels: Sequence[Level]) -> bool:
        """Whether a file or folder is passed over."""
        verdict = self.chosen.verdict(path, is_folder)
        if verdict is not None:
            return not verdict
        if not is_folder and any(not one.is_exception for one in self.chosen.rules):
            return True
        if self.ignores and _is_ignored(path, is_folder, levels):
            return True
        return self.kinds is not None and not is_folder and not self.kinds.verdict(path, is_folder=False)


def _is_ignored(path: str, is_folder: bool, levels: Sequence[Level]) -> bool:
    for kind in range(4):
        if kind >= 2 and not any(level.has_git for level in levels):
            return False
        for level in reversed(levels):
            rules = level.kinds[kind]
            verdict = rules.verdict(path, is_folder) if rules else None
            if verdict is not None:
                return verdict
            if kind >= 2 and level.has_git:
                break
    return False


def _level(folder: str) -> Level:
    names = (".rgignore", ".ignore", ".gitignore", ".git/info/exclude")
    return Level([_ignore_file(folder, name) for name in names], Path(folder, ".git").exists())


def _ignore_file(folder: str, name: str) -> Rules | None:
    try:
        lines = Path(folder, name).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return None
    rules = []
    for line in lines:
        try:
            rules.append(rule(line))
        except (Refused, re.error):
            continue
    return Rules(folder, [one for one in rules if one])


def files(target: str, wanted: Filter) -> Iterator[str]:
    """All files below a folder that are to be searched, in the order of their names."""
    start = Path(target).absolute()
    levels = [_level(str(folder)) for folder in (*reversed(start.parents), start)] if wanted.ignores else []
    waiting = [(target, str(start), levels, True)]
    while waiting:
        shown, path, levels, is_folder = waiting.pop()
        if not is_folder:
            yield shown
            continue
        inner = [*levels, _level(path)] if wanted.ignores and path != str(start) else levels
        for entry in sorted(_entries(path), key=lambda entry: os.fsencode(entry.name), reverse=True):
            opens = entry.is_dir(follow_symlinks=False)
            if (opens or entry.is_file(follow_symlinks=False)) and not wanted.leaves_out(entry.path, opens, inner):
                name = f"{shown.rstrip(os.sep)}{os.sep}{entry.name}" if shown != "." else entry.name
                waiting.append((name, entry.path, inner, opens))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError as error:
        print(f"rg: {folder}: {error.strerror} (os error {error.errno})", file=sys.stderr)
        return []


# -- lines


def pattern(words: argparse.Namespace) -> re.Pattern[str]:
    """The regular expression of the call."""
    source = words.regexp
    for name, signs in _POSIX.items():
        source = source.replace(name, signs)
    source = re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", source).replace(r"\z", r"\Z")
    flags = re.MULTILINE | (re.IGNORECASE if words.ignore_case else 0) | (re.DOTALL if words.multiline else 0)
    try:
        return re.compile(source, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise Refused(f"regex parse error:\n    (?:{words.regexp})\n    ^\nerror: {error}") from None


class Matches(NamedTuple):
    """What fits in a file."""

    lines: Sequence[str]
    hits: Sequence[int]
    """Numbers of lines, from 0."""
    total: int
    nul: int
    """Where a NUL stands in the text; -1 if there is none."""


def matches(path: str, fits: re.Pattern[str], words: argparse.Namespace) -> Matches:
    """Search a file."""
    text = _text(path, is_named=path == words.target)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not words.multiline or not _CROSSES.search(words.regexp):
        hits = [at for at, line in enumerate(lines) if fits.search(line)]
        return Matches(lines, hits, len(hits), text.find("\0"))
    spans = [found.span() for found in fits.finditer(text) if found.start() < len(text)]
    touched = {at for first, end in spans for at in _lines_of(text, first, end)}
    return Matches(lines, sorted(touched), len(spans), text.find("\0"))


def _lines_of(text: str, first: int, end: int) -> range:
    line = text.count("\n", 0, first)
    return range(line, line + text.count("\n", first, max(first, end - 1)) + 1)


def _text(path: str, is_named: bool) -> str:
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        print(f"rg: {path}: {error.strerror} (os error {error.errno})", file=sys.stderr)
        return ""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8")):
        if raw.startswith(mark):
            return raw[len(mark) :].decode(encoding, "replace")
    end = raw.find(b"\0")
    if 0 <= end < _BINARY and not is_named:
        return ""
    return (raw if end < 0 or is_named else raw[: raw.rfind(b"\n", 0, end) + 1]).decode("utf-8", "replace")


def shown(path: str, found: Matches, words: argparse.Namespace) -> Iterator[str]:
    """The lines that fit, with those around them; `--` where lines are left out."""
    before, after = words.context or words.before_context, words.context or words.after_context
    near = {at for hit in found.hits for at in range(max(0, hit - before), min(len(found.lines), hit + after + 1))}
    hits, last = set(found.hits), None
    for at in sorted(near):
        if last is not None and at > last + 1 and (before or after):
            yield "--"
        last = at
        kind, line = ("matching", found.lines[at]) if at in hits else ("context", found.lines[at])
        if words.max_columns and len(line.encode("utf-8", "replace")) > words.max_columns:
            line = f"[Omitted long {kind} line]"
        yield f"{path}\0{at + 1}{':' if at in hits else '-'}{line}"


# -- the program


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The words of the call."""
    parser = argparse.ArgumentParser("rg", allow_abbrev=False)
    for name in ("files", "hidden", "no-ignore", "null", "no-heading", "ignore-case", "multiline", "multiline-dotall"):
        parser.add_argument(f"--{name}", action="store_true")
    for name in ("line-number", "with-filename", "count", "files-with-matches"):
        parser.add_argument(f"--{name}", action="store_true")
    for name in ("context", "before-context", "after-context", "max-columns"):
        parser.add_argument(f"--{name}", type=int, default=0)
    for name in ("color", "sort", "regexp", "type"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--glob", action="append", default=[])
    parser.add_argument("target", nargs="?", default=".")
    return parser.parse_args(argv)


def wanted(words: argparse.Namespace) -> Filter:
    """Which files the call is about."""
    chosen = [rule(glob) for glob in words.glob]
    kinds = None
    if words.type:
        table = dict(line.strip().split(" ", 1) for line in _TYPES.replace("\n", "").split("|"))
        if words.type not in table:
            raise Refused(f"unrecognized file type: {words.type}")
        kinds = Rules("", [one for name in table[words.type].split() if (one := rule(name))])
    return Filter(Rules(str(Path.cwd()), [one for one in chosen if one]), kinds, ignores=not words.no_ignore)


def output(words: argparse.Namespace) -> Iterator[str]:
    """What is printed."""
    found = [words.target] if Path(words.target).is_file() else files(words.target, wanted(words))
    if words.files:
        yield from (f"{path}\0" for path in found)
        return
    fits, is_first = pattern(words), True
    for path in found:
        hit = matches(path, fits, words)
        if not hit.hits:
            continue
        if words.files_with_matches:
            yield f"{path}\0"
        elif words.count:
            yield f"{path}\0{hit.total}\n"
        elif hit.nul >= 0:
            yield f'{path}: binary file matches (found "\\0" byte around offset {hit.nul})\n'
        else:
            around = words.context or words.before_context or words.after_context
            yield "--\n" if around and not is_first else ""
            yield from (f"{line}\n" for line in shown(path, hit, words))
        is_first = False


def main(argv: Sequence[str]) -> int:
    """Search, and give ripgrep's exit status."""
    warnings.simplefilter("ignore")
    wrote = False
    try:
        for part in output(parsed(argv)):
            sys.stdout.buffer.write(part.encode("utf-8", "surrogateescape"))
            wrote = wrote or bool(part)
        sys.stdout.buffer.flush()
    except (Refused, re.error) as error:
        print(f"rg: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 2
    return 0 if wrote else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
