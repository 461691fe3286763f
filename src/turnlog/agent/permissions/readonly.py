"""Commands that change nothing, and what they read; commands that only change the files that they name.

What is not known here, a command, an option, is asked about. Every word that is no option counts as a file, also the
value of an option: a number taken for a file lies in the working folder and does no harm.
"""

from __future__ import annotations

import glob
import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from turnlog.agent.permissions.programs import (
    BOTH,
    CHANGING,
    EACH,
    FILES,
    FIND,
    GIT,
    GIT_WHOLE,
    LISTING,
    NUMERIC,
    PLAIN,
    READING,
    SEARCHES,
    SUMMARY,
    TESTS,
    TOLD,
    VERSIONS,
    WRITING,
    Forbidden,
)
from turnlog.agent.permissions.words import Word, program

_DOUBLE = re.compile(r"--[a-z][a-z0-9-]*", re.ASCII)
_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)"
_PRINT = re.compile(r"(?:\d+|\$)(?:,(?:\d+|\$))?p(?:;(?:\d+|\$)(?:,(?:\d+|\$))?p)*")
_SUBSTITUTION = re.compile(r"s([/|#,])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpi0-9]*")
_SED = re.compile(rf"(?:{_ADDRESS}(?:,{_ADDRESS})?)?(?:[pdq=]|{_SUBSTITUTION.pattern})")
"""One command for sed that writes to no other file and runs nothing."""
_JQ = re.compile(
    r"(?!.*\b(?:env|ENV|import|include|input|inputs|input_filename|modulemeta|debug|stderr)\b)[^$@]*", re.DOTALL
)
_LONGEST_OPTION = 40


class Use(NamedTuple):
    """What a command reads and changes."""

    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    is_recursive: bool = False
    """It means whatever lies below a folder, or in the history, too."""


def reading(words: Sequence[Word]) -> Use | None:
    """What a command reads, if it does nothing else; None if it may do more."""
    name, rest = words[0].text, words[1:]
    texts = [word.text for word in rest]
    if name == "echo":
        good = all(word.is_known or word.raw.strip('"') in TOLD for word in rest)
        return Use() if good and not any(word.pattern and "/" in word.text for word in rest) else None
    if not all(word.is_known for word in rest):
        return None
    if name in FILES:
        files = _operands(rest)
        if name == "diff":  # of a folder it reads all files
            files += tuple(Word(f"{one.text}/*", pattern=f"{one.pattern or glob.escape(one.text)}/*") for one in files)
        return Use(files) if _harmless(rest, FILES[name]) else None
    if name in SEARCHES:
        return _search(name, rest)
    if name == "git":
        return _git(rest)
    if name == "jq":
        return _jq(rest)
    if name == "find":
        return Use(_operands(rest)) if _harmless(rest, Forbidden()) and not any(map(FIND.match, texts)) else None
    if name == "cd":
        return Use(tuple(rest)) if len(rest) == 1 and texts[0][:1] != "-" and rest[0].pattern is None else None
    if name == "sed" and texts[:1] == ["-n"] and len(texts) > 1 and _PRINT.fullmatch(texts[1]):
        return Use(_operands(rest[2:])) if not any(text.startswith("-") for text in texts[2:]) else None
    has_pattern = name != "[[" and any(word.pattern for word in rest)  # a file's name may be an option, or a variable's
    return Use() if _is_plain(name, texts) and not has_pattern else None


def _is_plain(name: str, texts: Sequence[str]) -> bool:
    """Whether a command reads no files, and only says something."""
    if name in TESTS:
        # `-v` and arithmetic look into an index, which may hold a command; so may the variable that a word names.
        is_numeric = name == "[[" and not NUMERIC.isdisjoint(texts)
        is_named = is_numeric and not all(re.fullmatch(r"-?\d+|-[a-z]{2}|\]\]", text) for text in texts)
        return not is_named and not any(set("[$`") & set(text) or text == "-v" for text in texts)
    if name == "printf":
        return texts[:1] != [] and not re.match(r"-|.*%[-+ #'0-9.*$]*[hlLjztq]*n", texts[0], re.DOTALL)
    if name in VERSIONS:
        return len(texts) == 1 and texts[0] in VERSIONS[name]
    return name in PLAIN or (name in EACH and all(re.fullmatch(EACH[name], text) for text in texts))


def _search(name: str, rest: Sequence[Word]) -> Use | None:
    """A search: the first word that is no option is what is looked for, if it is sure that no option says that."""
    if not _harmless(rest, SEARCHES[name]):
        return None
    texts = [word.text for word in rest]
    end = texts.index("--") if "--" in texts else len(texts)
    options = [text for text in texts[:end] if text.startswith("-") and text != "-"]
    short = "".join(text[1:] for text in options if text[1] != "-")
    is_recursive = (
        name == "rg" or bool(set("rd") & set(short)) or any(text.startswith(("--r", "--d")) for text in options)
    )
    takes_value = set("efABCmgtTdDEjMr" if name == "rg" else "efABCmdD") & set(short)
    is_sure = not takes_value and all(
        text[1] != "-" or re.match(r"--(?:in|ex)clude\S*=|--colou?r", text) for text in options
    )
    at = next((at for at, text in enumerate(texts) if at > end or text == "-" or text[:1] != "-"), len(texts))
    if is_sure and not any(word.pattern for word in rest[at : at + 1]):
        rest = [*rest[:at], *rest[at + 1 :]]
    return Use(_operands(rest), is_recursive=is_recursive)


def _jq(rest: Sequence[Word]) -> Use | None:
    """A query of JSON: the first word that is no option is what is asked for."""
    plain = [word for word in rest if not re.fullmatch(r"-[rcesSMCj]+", word.text)]
    if not plain or any(word.text.startswith("-") for word in plain) or plain[0].pattern:
        return None
    return Use(tuple(plain[1:])) if _JQ.fullmatch(plain[0].text) else None


def _git(rest: Sequence[Word]) -> Use | None:
    texts = [word.text for word in rest]
    is_asked = len(texts) == 3 and texts[:2] == ["config", "--get"] and texts[2][:1] != "-"
    if " ".join(texts) in GIT_WHOLE or is_asked:
        return Use()
    if not texts or texts[0] not in GIT or rest[0].pattern:
        return None
    given = [text for text in texts[1:] if text.startswith("-") and text != "--"]
    if not all(re.fullmatch(f"(?:{GIT[texts[0]]})(?:=.*)?", text, re.DOTALL) for text in given):
        return None
    named = [word for word in rest[1:] if word.text[:1] != "-"]
    if texts[0] in LISTING and named and not {"-l", "--list", "--contains"} & set(given):
        return None
    is_whole = any(re.match(r"-[pSGULv]|--patch|--unified|--word-diff", text) for text in given)
    is_whole |= texts[0] in ("diff", "show", "cat-file") and not any(text.startswith(SUMMARY) for text in given)
    in_history = (Word(word.text[at + 1 :]) for word in rest[1:] for at, char in enumerate(word.text) if char == ":")
    return Use((*named, *in_history), is_recursive=is_whole)


def changing(words: Sequence[Word]) -> Use | None:
    """What a command changes, if it only changes the files that it names; None if it may do more."""
    name, rest = words[0].text, words[1:]
    if not all(word.is_known and word.pattern is None for word in rest):  # a file may be named like an option
        return None
    if name in CHANGING:
        return touched(words) if _harmless(rest, CHANGING[name]) else None
    texts = [word.text for word in rest]
    is_gnu = sys.platform != "darwin"  # where `-i` takes the next word, and the script is the one after it
    if name == "sed" and is_gnu and texts[:1] == ["-i"] and len(texts) > 2 and _SUBSTITUTION.fullmatch(texts[1]):
        return Use(writes=tuple(rest[2:])) if not any(text.startswith("-") for text in texts[2:]) else None
    return None


def touched(words: Sequence[Word]) -> Use:
    """The files that a command may read and change, as far as can be told: what rules that forbid are held against."""
    known = [word for word in words[1:] if word.is_known]
    name = program(words)
    named = _operands(known)
    if name == "sed" and is_tame(words):
        named = tuple(word for word in named if not _SED.fullmatch(word.text))
    if name in WRITING:
        named += tuple(word._replace(text=word.text[3:]) for word in known if word.text.startswith("of="))
        if name in ("cp", "mv", "install") and len(named) > 1:  # into a folder, where a link may be
            named += tuple(_inside(named[-1], word) for word in named[:-1])
        return Use(named if name in BOTH else (), named, is_recursive=name in ("rm", "mv"))
    if name in FILES or name in SEARCHES or name in READING:
        return Use(named, _written(name, known))
    return Use()


def _inside(folder: Word, word: Word) -> Word:
    name = word.text.rstrip("/").rsplit("/", 1)[-1]
    if folder.pattern is None and word.pattern is None:
        return Word(f"{folder.text}/{name}", has_tilde=folder.has_tilde)
    ending = name if word.pattern else glob.escape(name)
    return Word(f"{folder.text}/{name}", pattern=f"{folder.pattern or glob.escape(folder.text)}/{ending}")


def _written(name: str, words: Sequence[Word]) -> tuple[Word, ...]:
    """What a command that reads writes to all the same, if it is told to."""
    if name not in ("git", "sort", "tree", "base64", "curl", "wget"):
        return ()
    found: list[Word] = []
    short = r"(?!)" if name == "git" else r"-[a-zA-Z]*?[oO](.*)"
    for word, following in pairwise([*words, Word("")]):
        told = re.fullmatch(rf"--o(?:u(?:t(?:p(?:ut?)?)?)?)?(?:=(.*))?|{short}", word.text, re.DOTALL)
        if told:
            stuck = "".join(filter(None, told.groups()))
            found.append(Word(stuck) if stuck else following)
    return tuple(found)


def is_tame(words: Sequence[Word]) -> bool:
    """Whether sed is told nothing that writes to other files or runs commands."""
    texts = [word.text for word in words[1:]]
    plain = [text for text in texts if not re.fullmatch(r"-[nErsuz]+|-i(?:\.\w+)?|-e", text)]
    scripts = [text for before, text in pairwise(texts) if before == "-e"] or plain[:1]
    may_be_option = any(text.startswith("-") for text in plain) or any(
        word.pattern and word.text[0] in "*?[" for word in words
    )
    return not may_be_option and all(map(_SED.fullmatch, scripts))


def _operands(rest: Sequence[Word]) -> tuple[Word, ...]:
    """The files among the words of a command, also those that may be stuck to an option."""
    found: list[Word] = []
    for place, word in enumerate(rest):
        text = word.text
        if not text.startswith("-") or any(one.text == "--" for one in rest[:place]):
            found.append(word)
        if text.startswith("--"):
            found += [Word(value)] if (value := text.partition("=")[2]) else []
        elif text.startswith("-"):
            found += [Word(text[start:]) for start in range(2, min(len(text), _LONGEST_OPTION))]
    return tuple(found)


def _harmless(rest: Sequence[Word], forbidden: Forbidden) -> bool:
    for word in rest:  # also behind a `--`: it may be the value of an option
        text = word.text
        if not text.startswith("-") or text == "--":
            continue
        is_long = text[1:2] != "-" and len(text) > _LONGEST_OPTION
        if is_long or (word.pattern and not re.match(r"--[a-z-]+=", text)):
            return False
        name = text.partition("=")[0]
        if not text.startswith("--"):
            if set(text[1:]) & set(forbidden.letters):
                return False
        elif not _DOUBLE.fullmatch(name) or any(bad.startswith(name[2:]) for bad in forbidden.names.split()):
            return False
    return True
