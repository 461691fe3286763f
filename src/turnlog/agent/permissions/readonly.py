"""Commands that change nothing, and what they read; commands that only change the files that they name.

What is not known here, a command, an option, is asked about. Every word that is no option counts as a file, also the
value of an option: a number taken for a file lies in the working folder and does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from turnlog.agent.permissions.words import Word

_DOUBLE = re.compile(r"--[a-z][a-z0-9-]*", re.ASCII)
_PRINT = re.compile(r"(?:\d+|\$)(?:,(?:\d+|\$))?p(?:;(?:\d+|\$)(?:,(?:\d+|\$))?p)*")
_SUBSTITUTION = re.compile(r"s([/|#,])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpi0-9]*")


class Forbidden(NamedTuple):
    """Options that make a command do more than it seems."""

    letters: str = ""
    names: tuple[str, ...] = ()


class Use(NamedTuple):
    """What a command reads and changes."""

    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    is_recursive: bool = False
    """It reads whatever lies below a folder."""
    moves: bool = False
    """It goes to another folder, which is what it reads."""


_F0 = ("files0-from",)
_FILES: dict[str, Forbidden] = {
    **dict.fromkeys("ls cat head stat cut paste nl tac rev comm cmp od realpath readlink fold".split(), Forbidden()),
    **dict.fromkeys("expand md5sum sha1sum sha256sum sha512sum column hexdump tsort pr fmt".split(), Forbidden()),
    "wc": Forbidden("", _F0),
    "tail": Forbidden(),
    "base64": Forbidden("o", ("output",)),
    "du": Forbidden("X", (*_F0, "exclude-from")),
    "df": Forbidden(),
    "file": Forbidden("mCfz", ("magic-file", "compile", "files-from", "uncompress")),
    "tree": Forbidden("oRl", ("fromfile", "output")),
    "diff": Forbidden("rlFN", ("recursive", "paginate", "from-file", "to-file", "exclude-from", "starting-file")),
    "sort": Forbidden("oTS", ("output", "compress-program", "temporary-directory", "buffer-size", *_F0)),
}
_SEARCHES: dict[str, Forbidden] = {
    "grep": Forbidden("RfP", ("dereference-recursive", "file", "exclude-from")),
    "rg": Forbidden(
        "Lfz", ("pre", "pre-glob", "hostname-bin", "follow", "file", "search-zip", "ignore-file", "hyperlink")
    ),
}
_PLAIN = {
    *"pwd whoami id uname true false sleep basename dirname seq expr nproc tr uptime free arch groups ps".split(),
    *"locale which type echo printf date hostname uniq".split(),
}
_TOLD = frozenset({"$HOME", "$PWD", "$USER", "$?"})
_PS = re.compile(r"aux|ax|-ef|-e|-A|-f|-p|-u|\d+")
"""Not `e`, which shows what is set for each process."""
_TESTS = frozenset({"test", "[", "[["})
_FIND = ("-exec", "-ok", "-delete", "-fprint", "-fls", "-files0-from")
_VERSIONS = {"node": ("--version", "-v"), "python": ("--version", "-V"), "python3": ("--version", "-V")}
_GIT: dict[str, re.Pattern[str]] = {
    name: re.compile(f"(?:{options})(?:=.*)?", re.DOTALL)
    for name, options in {
        "status": r"-s|-b|-sb|-v|-u|--short|--branch|--porcelain|--long|--untracked-files|--ignored|--show-stash",
        "log": r"-\d+|-n\d*|-p|-[SG].*|--oneline|--stat|--graph|--all|--decorate|--format|--pretty|--max-count|--since|"
        r"--until|--after|--before|--author|--grep|--name-only|--name-status|--follow|--first-parent|--no-merges|--merges|"
        r"--abbrev-commit|--date|--shortstat|--numstat|--patch|--reverse|--branches|--tags|--remotes|--topo-order",
        "diff": r"--stat|--cached|--staged|--name-only|--name-status|--numstat|--shortstat|-w|-b|-U\d+|--unified|"
        r"--check|--summary|--word-diff|--color|--no-color|-M|-C|--find-renames|--diff-filter|-p|--patch|--raw",
        "show": r"--stat|--name-only|--name-status|--format|--pretty|--oneline|-s|--no-patch|--shortstat|-p",
        "blame": r"-L|-L.*|-w|-C|-M|-l|-s|-e|--date|--porcelain|--show-email",
        "rev-parse": r"--abbrev-ref|--short|--show-toplevel|--git-dir|--verify|--is-inside-work-tree|--show-prefix|-q",
        "ls-files": r"-[cdmoist]|--cached|--deleted|--modified|--others|--ignored|--stage|--exclude-standard",
        "describe": r"--tags|--always|--dirty|--abbrev|--long|--all|--exact-match|--match",
        "branch": r"-a|-r|-v|-vv|--list|--all|--remotes|--show-current|--verbose|--no-color",
        "remote": r"-v|--verbose",
        "tag": r"-l|--list|-n\d*|--sort",
        "reflog": r"-\d+|-n\d+|--oneline|--date",
        "shortlog": r"-s|-n|-sn|-sne|-e|--summary|--numbered|--email",
    }.items()
}
_LISTING = frozenset({"branch", "remote", "tag", "reflog"})
"""Given a name, these make something."""
_CHANGING: dict[str, Forbidden] = {
    "mkdir": Forbidden("", ("context",)),
    "touch": Forbidden(),
    "rmdir": Forbidden(),
    "rm": Forbidden("", ("no-preserve-root",)),
    "mv": Forbidden("tSZ", ("suffix", "backup", "context", "target")),
    "cp": Forbidden(
        "trRaSZlsLPd", ("recursive", "archive", "suffix", "backup", "link", "symbolic", "parents", "target")
    ),
}


def reading(words: Sequence[Word]) -> Use | None:
    """What a command reads, if it does nothing else; None if it may do more."""
    name, rest = words[0].text, words[1:]
    if name == "echo":
        good = all(word.is_known or word.raw.strip('"') in _TOLD for word in rest)
        return Use() if good and not any(word.pattern and "/" in word.text for word in rest) else None
    if not all(word.is_known for word in rest):
        return None
    if name in _FILES:
        return Use(_operands(rest)) if _harmless(rest, _FILES[name]) else None
    if name in _SEARCHES:
        return _search(name, rest)
    if name in _PLAIN or name in _TESTS:
        return _plain(name, [word.text for word in rest])
    return _special(name, rest)


def _special(name: str, rest: Sequence[Word]) -> Use | None:
    texts = [word.text for word in rest]
    if name == "cd":
        return Use(tuple(rest), moves=True) if len(rest) == 1 and not texts[0].startswith("-") else None
    if name == "git":
        return _git(rest)
    if name == "find":
        return None if any(text.startswith(_FIND) for text in texts) else Use(_operands(rest))
    if name == "sed" and texts[:1] == ["-n"] and len(texts) > 1 and _PRINT.fullmatch(texts[1]):
        return Use(_operands(rest[2:])) if not any(text.startswith("-") for text in texts[2:]) else None
    if name in _VERSIONS:
        return Use() if len(texts) == 1 and texts[0] in _VERSIONS[name] else None
    return None


def _plain(name: str, texts: Sequence[str]) -> Use | None:
    if name in _TESTS:
        # `-v` and arithmetic look into an index, which may hold a command.
        good = not any("[" in text or "$" in text or "`" in text or text == "-v" for text in texts)
    elif name == "date":
        good = all(text.startswith("+") or text in ("-u", "--utc", "-I", "-R", "--iso-8601") for text in texts)
    elif name == "printf":
        good = texts[:1] != [] and not texts[0].startswith("-") and "%n" not in texts[0]
    elif name == "ps":
        good = all(_PS.fullmatch(text) for text in texts)
    elif name in ("hostname", "uniq"):
        good = all(re.fullmatch(r"-[a-zA-Z]", text) for text in texts) and "-F" not in texts and "-b" not in texts
    else:
        good = True
    return Use() if good else None


def _search(name: str, rest: Sequence[Word]) -> Use | None:
    """A search: the first word that is no option is what is looked for."""
    if not _harmless(rest, _SEARCHES[name]):
        return None
    texts = [word.text for word in rest]
    is_named = any(re.match(r"-[a-zA-Z]*e|--regexp", text) for text in texts)
    is_recursive = name == "rg" or any(
        re.match(r"-[a-zA-Z]*r|--recursive|-[a-zA-Z]*d|--directories", text) for text in texts
    )
    files = _operands(rest)
    plain = [word for word in rest if not word.text.startswith("-")]
    if plain and not is_named and not _has_value_option(texts):
        files = tuple(word for word in files if word is not plain[0])
    return Use(files, is_recursive=is_recursive)


def _has_value_option(texts: Sequence[str]) -> bool:
    """Whether an option takes the next word, which then is not what is looked for."""
    return any(re.fullmatch(r"-[a-zA-Z]*[ABCmgtTdDEjM]|--[a-z-]+", text) for text in texts)


def _git(rest: Sequence[Word]) -> Use | None:
    texts = [word.text for word in rest]
    if texts == ["stash", "list"] or (len(texts) == 3 and texts[:2] == ["config", "--get"] and texts[2][:1] != "-"):
        return Use()
    options = _GIT.get(texts[0]) if texts else None
    if options is None or rest[0].pattern:
        return None
    given = texts[1 : texts.index("--")] if "--" in texts else texts[1:]
    if not all(options.fullmatch(text) for text in given if text.startswith("-")):
        return None
    if texts[0] in _LISTING and any(not text.startswith("-") for text in texts[1:]):
        return None
    named = tuple(word for word in rest[1:] if word.text[:1] != "-")
    return Use((*named, *(Word(word.text.partition(":")[2]) for word in named if ":" in word.text)))


def changing(words: Sequence[Word]) -> Use | None:
    """What a command changes, if it only changes the files that it names; None if it may do more."""
    name, rest = words[0].text, words[1:]
    if not all(word.is_known for word in rest):
        return None
    if name in _CHANGING:
        return Use(writes=_operands(rest)) if _harmless(rest, _CHANGING[name]) else None
    texts = [word.text for word in rest]
    if name == "sed" and texts[:1] == ["-i"] and len(texts) > 2 and _SUBSTITUTION.fullmatch(texts[1]):
        return Use(writes=tuple(rest[2:])) if not any(text.startswith("-") for text in texts[2:]) else None
    return None


def touched(words: Sequence[Word]) -> Use:
    """The files that a command may read and change, as far as can be told: what rules that forbid are held against."""
    known = [word for word in words[1:] if word.is_known]
    name = words[0].text.rsplit("/", 1)[-1] if words else ""
    if name in _CHANGING or name in ("tee", "sed", "dd", "truncate", "install", "ln", "chmod", "chown"):
        named = (
            *_operands(known),
            *(word._replace(text=word.text[3:]) for word in known if word.text.startswith("of=")),
        )
        is_pure = name not in ("cp", "mv", "sed", "dd", "install", "ln")
        return Use(() if is_pure else named, named)
    is_reader = name in _FILES or name in _SEARCHES or name in _READING
    return Use(_operands(known)) if is_reader else Use()


_READING = frozenset(
    "find git uniq jq awk gawk less more xxd b2sum cksum sum split csplit join look bat view vi vim nano ed source . "
    "base32 strings zcat zgrep bzcat xzcat egrep fgrep ag ack iconv dd tar zip gzip curl wget scp rsync openssl".split()
)


def _operands(rest: Sequence[Word]) -> tuple[Word, ...]:
    """The files among the words of a command, also those that are stuck to an option."""
    found: list[Word] = []
    is_over = False
    for word in rest:
        if is_over or not word.text.startswith("-") or word.text == "-":
            found += [] if word.text == "-" else [word]
        elif word.text == "--":
            is_over = True
        else:
            stuck = word.text.partition("=")[2] if word.text.startswith("--") else word.text[2:]
            found += [Word(stuck)] if stuck else []
    return tuple(found)


def _harmless(rest: Sequence[Word], forbidden: Forbidden) -> bool:
    for word in rest:
        text = word.text
        if text == "--":
            return True
        if text.startswith("--") and not _is_good_name(text, forbidden.names):
            return False
        if text.startswith("-") and not text.startswith("--") and set(text[1:]) & set(forbidden.letters):
            return False
        if word.pattern and text.startswith("-") and not re.match(r"--[a-z-]+=", text):
            return False
    return True


def _is_good_name(text: str, forbidden: Sequence[str]) -> bool:
    """Whether a long option is none of the forbidden, nor the beginning of one."""
    name = text.partition("=")[0]
    if not _DOUBLE.fullmatch(name):
        return False
    return not any(bad.startswith(name[2:]) or name[2:].startswith(bad) for bad in forbidden)
