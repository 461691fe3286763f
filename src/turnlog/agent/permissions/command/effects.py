"""What a command does to files: which it reads if it does nothing else, which it changes, which it may touch at all.

What is not known here, a command, an option, is asked about. Every word that is no option counts as a file, also the
value of an option: a number taken for a file lies in the working folder and does no harm.
"""

from __future__ import annotations

import glob
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from turnlog.agent.permissions.access import HARMLESS
from turnlog.agent.permissions.command.line import Part
from turnlog.agent.permissions.command.runners import candidates
from turnlog.agent.permissions.command.tables import fitting, is_one, known
from turnlog.agent.permissions.command.variables import may_compute
from turnlog.agent.permissions.command.words import Word, are_known, program

_DOUBLE = re.compile(r"--[a-z][a-z0-9-]*", re.ASCII)
_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)"
_PRINT = re.compile(r"(?:\d+|\$)(?:,(?:\d+|\$))?p(?:;(?:\d+|\$)(?:,(?:\d+|\$))?p)*")
_SUBSTITUTION = re.compile(r"s([/|#,])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpi0-9]*")
_SED = re.compile(rf"(?:{_ADDRESS}(?:,{_ADDRESS})?)?(?:[pdq=]|{_SUBSTITUTION.pattern})")
"""One command for sed that writes to no other file and runs nothing."""
_JQ = re.compile(
    r"(?!.*\b(?:env|ENV|import|include|input|inputs|input_filename|modulemeta|debug|stderr)\b)[^$@]*", re.DOTALL
)
_IN_PLACE = "-i" if sys.platform != "darwin" else "(?!)"
"""On macOS, `-i` of sed takes the next word, and the script is the one after it."""
_LONGEST_OPTION = 40


class Use(NamedTuple):
    """What a command reads and changes."""

    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    is_recursive: bool = False
    """It means whatever lies below a folder, or in the history, too."""


def uses(part: Part) -> Iterator[Use]:
    """All that a command, or one that it runs, may read and change."""
    for words in filter(None, candidates(part.words)):
        yield touched(words)
        yield reading(words) or Use(_in_history(words) if program(words) == "git" else ())
    for target, is_written in part.redirects:
        yield Use(writes=(target,)) if is_written else Use(reads=(target,))


def changes(part: Part) -> bool:
    """Whether a command plainly changes files, or is given those that it changes by another one."""
    given = (touched((word, Word("."))) for word in part.words if part.name in ("xargs", "parallel"))
    return any(word.text not in HARMLESS for use in (*given, *uses(part)) for word in use.writes)


def touches_files(name: Word) -> bool:
    """Whether a program reads or changes what it is given."""
    return touched((name, Word("."))) != Use()


def reading(words: Sequence[Word]) -> Use | None:
    """What a command reads, if it does nothing else; None if it may do more."""
    name, rest = words[0].text, words[1:]
    if name == "echo":
        good = all(word.is_known or is_one(word.raw.strip('"'), "told") for word in rest)
        return Use() if good and not any(word.pattern and "/" in word.text for word in rest) else None
    if not are_known(rest):
        return None
    if is_one(name, "files"):
        return _files(name, rest) if _harmless(rest, known("files")[name]) else None
    special = {"git": _git, "jq": _jq, "cd": _cd}.get(name)
    if special and (use := special(rest)) is not None:
        return use
    if name == "sed" and (files := _edited(rest, "-n", _PRINT)) is not None:
        return Use(files)
    if may_compute(words):
        return None
    has_pattern = name != "[[" and any(word.pattern for word in rest)  # a file's name may be an option, or a variable's
    return Use() if _only_says(name, [word.text for word in rest]) and not has_pattern else None


def _only_says(name: str, texts: Sequence[str]) -> bool:
    """Whether a command reads no files, and only says something."""
    if is_one(name, "tests"):
        # An index may hold a command; so may the variable that a word names.
        return not any(set("[$`") & set(text) for text in texts)
    if name == "printf":
        return texts[:1] != [] and not re.match(r"-", texts[0]) and not _computes_numbers(texts)
    if re.fullmatch(fitting("phrases", name), " ".join(texts)):
        return True
    return is_one(name, "saying") and all(re.fullmatch(fitting("saying", name), text) for text in texts)


def _computes_numbers(texts: Sequence[str]) -> bool:
    """Whether printf sets a variable (`%n`), or takes a word for a number that some shells would compute."""
    told = "".join(re.findall(r"%[-+ #'0-9.*$]*[hlLjztq]*([a-zA-Z])", texts[0]))
    numbers = set("diouxXeEfFgGaA*") & set(told) or "*" in texts[0]
    return "n" in told or (bool(numbers) and not all(re.fullmatch(r"-?[\d.]+", text) for text in texts[1:]))


def _files(name: str, rest: Sequence[Word]) -> Use | None:
    """What reads the files that it is given; the first word of a search is none, if it is sure that no option is."""
    texts = [word.text for word in rest]
    if name == "find" and any(re.fullmatch(fitting("find", "free"), text, re.DOTALL) for text in texts):
        return None
    if name == "diff":  # of a folder it reads all files
        files = _operands(rest)
        return Use((*files, *(_inside(one, Word("*", pattern="*")) for one in files)))
    if not is_one(name, "searches"):
        return Use(_operands(rest))
    end = texts.index("--") if "--" in texts else len(texts)
    options = [text for text in texts[:end] if text.startswith("-") and text != "-"]
    at = next((at for at, text in enumerate(texts) if at > end or text == "-" or text[:1] != "-"), len(texts))
    is_sure = all(re.fullmatch(fitting("searches", name), text, re.DOTALL) for text in options)
    if is_sure and not any(word.pattern for word in rest[at : at + 1]):
        rest = [*rest[:at], *rest[at + 1 :]]
    is_recursive = name == "rg" or any(re.match(r"-(?!-).*[rd]|--[rd]", text, re.DOTALL) for text in options)
    return Use(_operands(rest), is_recursive=is_recursive)


def _cd(rest: Sequence[Word]) -> Use | None:
    return Use(tuple(rest)) if len(rest) == 1 and rest[0].text[:1] != "-" and rest[0].pattern is None else None


def _edited(rest: Sequence[Word], option: str, script: re.Pattern[str]) -> tuple[Word, ...] | None:
    """The files that sed is given, if it is told nothing but an option and a script."""
    texts = [word.text for word in rest]
    is_good = texts[:1] == [option] and any(map(script.fullmatch, texts[1:2])) and not _options(rest[2:])
    return tuple(rest[2:]) if is_good else None


def _jq(rest: Sequence[Word]) -> Use | None:
    """A query of JSON: the first word that is no option is what is asked for."""
    plain = [word for word in rest if not re.fullmatch(r"-[rcesSMCj]+", word.text)]
    is_good = plain and not _options(plain) and plain[0].pattern is None and _JQ.fullmatch(plain[0].text)
    return Use(tuple(plain[1:])) if is_good else None


def _git(rest: Sequence[Word]) -> Use | None:
    if not rest or not is_one(rest[0].text, "git") or rest[0].pattern:
        return None
    verb, rest = rest[0].text, rest[1:]
    given = [text for text in _options(rest) if text != "--"]
    if not all(re.fullmatch(f"(?:{fitting('git', verb)})(?:=.*)?", text, re.DOTALL) for text in given):
        return None
    named = [word for word in rest if word.text[:1] != "-"]
    if is_one(verb, "listing") and named and not {"-l", "--list", "--contains"} & set(given):
        return None
    is_less, is_whole = (any(re.match(fitting("shown", part), text) for text in given) for part in ("less", "more"))
    is_whole |= verb in ("diff", "show", "cat-file") and not is_less
    is_whole |= verb == "show" and any(re.search(r"[\da-fA-F]{4}", word.text) for word in named)  # a file's own number
    return Use((*named, *_in_history(rest)), is_recursive=is_whole)


def _in_history(words: Sequence[Word]) -> tuple[Word, ...]:
    """The files that words name in the history: `HEAD:a`, `:0:a`."""
    return tuple(Word(word.text[at + 1 :]) for word in words for at, char in enumerate(word.text) if char == ":")


def changing(words: Sequence[Word]) -> Use | None:
    """What a command changes, if it only changes the files that it names; None if it may do more."""
    name, rest = words[0].text, words[1:]
    if not all(word.is_known and word.pattern is None for word in rest):  # a file may be named like an option
        return None
    if is_one(name, "changing"):
        return touched(words) if _harmless(rest, known("changing")[name]) else None
    files = _edited(rest, _IN_PLACE, _SUBSTITUTION) if name == "sed" else ()
    return Use(writes=files) if files else None


def touched(words: Sequence[Word]) -> Use:
    """The files that a command may read and change, as far as can be told: what rules that forbid are held against."""
    known = [word for word in words[1:] if word.is_known]
    name = program(words)
    named = _operands(known)
    if name == "sed" and is_tame(words):
        named = tuple(word for word in named if not _SED.fullmatch(word.text))
    if name in ("dd", "curl"):  # `if=a`, `@a`, `x=@a;type=b`
        named += tuple(Word(told[1]) for word in known if (told := re.search(r"[=@]([^=@;]+)(?:;.*)?$", word.text)))
    if name in ("cp", "mv", "install") and len(named) > 1:  # into a folder, where a link may be
        named += tuple(_inside(named[-1], word) for word in named[:-1])
    reads = named if is_one(name, "files", "reading") else _told("input", name, known)
    writes = named if is_one(name, "changing", "writing") else _told("output", name, known)
    return Use(reads, writes, is_recursive=name in ("rm", "mv"))


def _inside(folder: Word, word: Word) -> Word:
    """A file of a name within a folder; either may be a pattern."""
    name = word.text.rstrip("/").rsplit("/", 1)[-1]
    path, is_pattern = f"{folder.text}/{name}", folder.pattern is not None or word.pattern is not None
    ending = name if word.pattern else glob.escape(name)
    pattern = f"{folder.pattern or glob.escape(folder.text)}/{ending}" if is_pattern else None
    return Word(path, pattern=pattern, has_tilde=folder.has_tilde)


def _told(table: str, name: str, words: Sequence[Word]) -> tuple[Word, ...]:
    """What a command reads or writes all the same, if an option tells it to."""
    found: list[Word] = []
    for word, following in pairwise([*words, Word("")]):
        if told := re.fullmatch(fitting(table, name), word.text, re.DOTALL):
            stuck = "".join(filter(None, told.groups()))
            found.append(Word(stuck) if stuck else following)
    return tuple(found)


def is_tame(words: Sequence[Word]) -> bool:
    """Whether sed is told nothing that writes to other files or runs commands."""
    texts = [word.text for word in words[1:]]
    plain = [text for text in texts if not re.fullmatch(rf"-[nErsuz]+|{_IN_PLACE}(?:\.\w+)?|-e", text)]
    scripts = [text for before, text in pairwise(texts) if before == "-e"] or plain[:1]
    may_be_option = [word for word in words if word.pattern and word.text[0] in "*?["]
    has_option = any(text.startswith("-") for text in plain)
    return not may_be_option and not has_option and all(map(_SED.fullmatch, scripts))


def _options(words: Sequence[Word]) -> list[str]:
    return [word.text for word in words if word.text.startswith("-")]


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


def _harmless(rest: Sequence[Word], forbidden: Sequence[str]) -> bool:
    """Whether no option is one of those that are forbidden, or may stand for one: also behind a `--`, as a value."""
    letters = {letter for one in forbidden if one[1] != "-" for letter in one[1:]}
    for word in rest:
        option, text = word.text.partition("=")[0], word.text
        if not text.startswith("-") or text == "--":
            continue
        if word.pattern and not re.match(r"--[a-z-]+=", text):
            return False
        if not text.startswith("--"):
            if len(text) > _LONGEST_OPTION or letters & set(text[1:]):
                return False
        elif not _DOUBLE.fullmatch(option) or any(name.startswith(option) for name in forbidden):
            return False
    return True
