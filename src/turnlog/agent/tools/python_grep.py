"""A substitute for ripgrep where it is not installed, with the same output for the options that Grep and Glob use.

It runs as a separate program so that a slow pattern can be stopped, and it uses only the standard library. Like
ripgrep, it skips files listed in .gitignore, .ignore, .rgignore and .git/info/exclude, but it does not read the ignore
file named in the user's git settings. Patterns use Python's syntax plus POSIX classes; the common file types are
supported.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_IGNORE_FILES = (".git/info/exclude", ".gitignore", ".ignore", ".rgignore")
"""The last one has the highest priority; the first two apply only in a repository."""
_FILE_TYPES = """
c [chH] [chH].in|clojure clj cljc cljs|cmake cmake /CMakeLists.txt|cpp [ChH] [ch]pp [ch]xx cc hh inl|cs cs|css css scss
|csv csv|dart dart|diff diff patch|docker /*Dockerfile*|elixir ex eex exs|erlang erl hrl|fsharp fs fsx fsi|go go
|gradle gradle|graphql graphql graphqls|groovy groovy gradle|h h hh hpp|haskell hs lhs|html htm html ejs
|java java jsp jspx properties|js js jsx vue cjs mjs|json json sarif /composer.lock|jsonl jsonl|jl jl|julia jl
|jupyter ipynb|kotlin kt kts|less less|log log|lua lua|make mk mak /[Mm]akefile /[Gg][Nn][Uu]makefile
|markdown markdown md mdown mdwn mkd mkdn mdx|md markdown md mdown mdwn mkd mkdn mdx|nim nim|nix nix|objc h m
|ocaml ml mli mll mly|org org|perl perl pl pm t|php php phtml|protobuf proto|ps ps1 psd1 psm1|py py pyi|python py pyi
|r R r Rmd rmd|rst rst|ruby rb rbw gemspec /Gemfile /Rakefile /config.ru|rust rs|sass sass scss|scala scala sbt
|sh sh bash zsh ksh /.bashrc /.profile /.zshrc|sql sql psql|svelte svelte|svg svg|swift swift|tex tex cls sty bib
|tf tf tfvars|toml toml /Cargo.lock|ts ts tsx cts mts|txt txt|typescript ts tsx cts mts|vim vim /.vimrc|vue vue
|xml xml xsd xsl xslt dtd xhtml|yaml yaml yml|zig zig"""
_POSIX_CLASSES = r"""
alpha a-zA-Z|digit 0-9|alnum a-zA-Z0-9|upper A-Z|lower a-z|space \s|punct !-/:-@\[-`{-~|xdigit 0-9a-fA-F|word \w"""
_GLOB_PART_PATTERN = re.compile(r"(?:(?<=/)|^)\*\*(?:/|$)|\[[!^]?\]?[^\]]*\]|(,)(?=[^{}]*\})|\\.|.", re.DOTALL)
_GLOB_EXPRESSIONS = {"**/": "(?:.*/)?", "**": ".+", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", "[": "["}
_BYTE_ORDER_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"))


# -- names


class IgnoreRule(NamedTuple):
    """A pattern from an ignore file or from the call."""

    fits: re.Pattern[str]
    """Matches paths relative to the folder of the rule."""
    is_exception: bool
    only_folders: bool
    folder: str

    def applies_to(self, path: str, is_folder: bool) -> bool:
        inner = path[len(self.folder) :].lstrip("/") if path.startswith(self.folder) else ""
        return (is_folder or not self.only_folders) and self.fits.fullmatch(inner) is not None


def parse_ignore_rule(line: str, folder: str) -> IgnoreRule:
    """Parse a line from an ignore file; raise `re.error` if it is not a valid pattern."""
    is_exception = line.startswith("!")
    name = line.removeprefix("!").removeprefix("\\") if line.startswith(("!", "\\!", "\\#")) else line
    glob = name.rstrip("/")
    glob = glob.removeprefix("/") if "/" in glob else f"**/{glob}"
    return IgnoreRule(
        re.compile(_GLOB_PART_PATTERN.sub(_translate_glob_part, glob), re.DOTALL),
        is_exception,
        name.endswith("/"),
        folder,
    )


def _translate_glob_part(found: re.Match[str]) -> str:
    """Translate a part of a pattern; leave an unclosed bracket unclosed so that the pattern is rejected."""
    part = found[0]
    if len(part) > 1 and part[0] == "[":
        inner = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
    return "|" if found[1] else _GLOB_EXPRESSIONS.get(part) or re.escape(part[-1])


def apply_ignore_rules(rules: Sequence[IgnoreRule], path: str, is_folder: bool) -> bool | None:
    """Return False if the last matching rule is an exception, True if it is not, and None if no rule matches."""
    return next((not one.is_exception for one in reversed(rules) if one.applies_to(path, is_folder)), None)


def read_ignore_rules(folder: str, has_git: bool) -> Iterator[IgnoreRule]:
    """Yield the rules from the ignore files in a folder."""
    for name in _IGNORE_FILES if has_git else _IGNORE_FILES[2:]:
        try:
            lines = Path(folder, name).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            continue
        for line in lines:
            text = line if line.endswith("\\ ") else line.rstrip()
            with contextlib.suppress(re.error):
                if text and not text.startswith("#"):
                    yield parse_ignore_rule(text, folder)


class GrepScope(NamedTuple):
    """Determines which files are searched."""

    chosen: Sequence[IgnoreRule]
    kinds: Sequence[IgnoreRule] | None
    """The patterns of a file type."""
    ignores: bool

    def is_searched(self, path: str, is_folder: bool, ignored: Sequence[IgnoreRule]) -> bool:
        """Return whether a file or folder should be searched."""
        is_chosen = apply_ignore_rules(self.chosen, path, is_folder)
        if is_chosen is not None:
            return is_chosen
        if not is_folder and not all(one.is_exception for one in self.chosen):
            return False
        if apply_ignore_rules(ignored, path, is_folder):
            return False
        return is_folder or self.kinds is None or bool(apply_ignore_rules(self.kinds, path, is_folder))


def walk_files(target: str, scope: GrepScope) -> Iterator[str]:
    """Yield all files below a folder that should be searched, sorted by name."""
    start = Path(target).absolute()
    root = next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)
    above = reversed(start.parents) if scope.ignores else ()
    known = [
        one for folder in above for one in read_ignore_rules(str(folder), bool(root and folder.is_relative_to(root)))
    ]
    waiting = [(target, str(start), known, True)]
    while waiting:
        display_path, path, known, is_folder = waiting.pop()
        if not is_folder:
            yield display_path
            continue
        inner = [*known, *read_ignore_rules(path, root is not None)] if scope.ignores else known
        for entry in sorted(_list_folder(path), key=lambda entry: os.fsencode(entry.name), reverse=True):
            opens = entry.is_dir(follow_symlinks=False)
            if (opens or entry.is_file(follow_symlinks=False)) and scope.is_searched(entry.path, opens, inner):
                name = f"{display_path.rstrip(os.sep)}{os.sep}{entry.name}" if display_path != "." else entry.name
                waiting.append((name, entry.path, inner, opens))


def _list_folder(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError as error:
        _print_error(folder, error)
        return []


def _print_error(path: str, error: OSError) -> None:
    print(f"rg: {path}: {error.strerror} (os error {error.errno})", file=sys.stderr)


# -- lines


def compile_pattern(options: argparse.Namespace) -> re.Pattern[str]:
    source = options.regexp
    for name, signs in (entry.split() for entry in _POSIX_CLASSES.split("|")):
        source = source.replace(f"[:{name}:]", signs)
    source = re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", source).replace(r"\z", r"\Z")
    flags = re.MULTILINE | (re.IGNORECASE if options.ignore_case else 0) | (re.DOTALL if options.multiline else 0)
    return re.compile(source, flags)


class FileMatches(NamedTuple):
    lines: Sequence[str]
    hits: Sequence[int]
    """Line numbers, from 0."""
    total: int


def find_matches(text: str, fits: re.Pattern[str], options: argparse.Namespace) -> FileMatches:
    lines = text.removesuffix("\n").split("\n") if text else []
    if not options.multiline:
        hits = [at for at, line in enumerate(lines) if fits.search(line)]
        return FileMatches(lines, hits, len(hits))
    spans = [found.span() for found in fits.finditer(text) if found.start() < len(text)]
    touched = {at for first, end in spans for at in _find_line_range(text, first, end)}
    return FileMatches(lines, sorted(touched), len(spans))


def _find_line_range(text: str, first: int, end: int) -> range:
    line = text.count("\n", 0, first)
    return range(line, line + text.count("\n", first, max(first, end - 1)) + 1)


def _read_text(path: str, is_named: bool) -> str:
    """Return the text of a file, or an empty string if the file is binary and the call did not name it."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        _print_error(path, error)
        return ""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return raw[len(mark) :].decode(encoding, "replace")
    return raw.decode("utf-8", "replace") if is_named or b"\0" not in raw else ""


def render_matches(path: str, matches: FileMatches, options: argparse.Namespace) -> Iterator[str]:
    """Yield the matching lines with their context, and `--` where lines have been omitted."""
    before, after = options.context or options.before_context, options.context or options.after_context
    near = {at for hit in matches.hits for at in range(max(0, hit - before), min(len(matches.lines), hit + after + 1))}
    hits, last = set(matches.hits), None
    for at in sorted(near):
        if last is not None and at > last + 1 and (before or after):
            yield "--\n"
        last, line = at, matches.lines[at]
        if options.max_columns and len(line.encode("utf-8", "replace")) > options.max_columns:
            line = f"[Omitted long {'matching' if at in hits else 'context'} line]"
        yield f"{path}\0{at + 1}{':' if at in hits else '-'}{line}\n"


# -- the program


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("rg", allow_abbrev=False)
    switches = "files hidden no-ignore null no-heading ignore-case multiline multiline-dotall line-number with-filename"
    for name in (*switches.split(), "count", "files-with-matches"):
        parser.add_argument(f"--{name}", action="store_true")
    for name in ("context", "before-context", "after-context", "max-columns"):
        parser.add_argument(f"--{name}", type=int, default=0)
    for name in ("color", "sort", "regexp", "type"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--glob", action="append", default=[])
    parser.add_argument("target", nargs="?", default=".")
    return parser.parse_args(argv)


def build_search_scope(options: argparse.Namespace) -> GrepScope:
    kinds = None
    if options.type:
        table = {name: ends for name, *ends in (line.split() for line in _FILE_TYPES.replace("\n", "").split("|"))}
        if options.type not in table:
            raise LookupError(f"unrecognized file type: {options.type}")
        kinds = [parse_ignore_rule(f"**{end}" if end[0] == "/" else f"*.{end}", "") for end in table[options.type]]
    return GrepScope([parse_ignore_rule(glob, str(Path.cwd())) for glob in options.glob], kinds, not options.no_ignore)


def render_output(options: argparse.Namespace) -> Iterator[str]:
    paths = (
        [options.target] if Path(options.target).is_file() else walk_files(options.target, build_search_scope(options))
    )
    if options.files:
        yield from (f"{path}\0" for path in paths)
        return
    fits, around = compile_pattern(options), options.context or options.before_context or options.after_context
    is_first = True
    for path in paths:
        text = _read_text(path, is_named=path == options.target)
        hit = find_matches(text, fits, options)
        if not hit.hits:
            continue
        if options.files_with_matches:
            yield f"{path}\0"
        elif options.count:
            yield f"{path}\0{hit.total}\n"
        elif "\0" in text:
            yield f'{path}: binary file matches (found "\\0" byte around offset {text.index(chr(0))})\n'
        else:
            yield "--\n" if around and not is_first else ""
            yield from render_matches(path, hit, options)
        is_first = False


def run_python_grep(argv: Sequence[str]) -> int:
    """Run the search and return ripgrep's exit status."""
    warnings.simplefilter("ignore")
    has_output = False
    try:
        for part in render_output(parse_arguments(argv)):
            sys.stdout.buffer.write(part.encode("utf-8", "surrogateescape"))
            has_output = has_output or bool(part)
        sys.stdout.buffer.flush()
    except (LookupError, re.error, RecursionError, OverflowError) as error:
        print(f"rg: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 2
    return 0 if has_output else 1


if __name__ == "__main__":
    sys.exit(run_python_grep(sys.argv[1:]))
