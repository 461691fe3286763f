"""Whether a command may print files that its words do not plainly name: the history, a whole folder, what code opens.

Rules that forbid reading are about names. Where there are such rules, a command whose names can't be told is asked
about, whatever else allows it. A program that is not known here is taken at its words: `make` may read anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnlog.agent.permissions.command.effects import is_tame, reading
from turnlog.agent.permissions.command.line import Part
from turnlog.agent.permissions.command.runners import RUNNING, candidates, find_script, unwrapped
from turnlog.agent.permissions.command.tables import fitting, is_one, known
from turnlog.agent.permissions.command.words import Word, are_known, program

_SEARCHES = ("find", "fd", "fdfind")
_PLAIN_VALUE = re.compile(r"""(['"]?)[\w./:=,+@%-]*\1""")
_AWK_CODE = re.compile(r"getline|system|[|<>@]|ARGV")
_CODE_MODULES = re.compile(r"(?!pytest$|unittest$|mypy$|ruff$|black$|isort$|build$|pip$|venv$|coverage$).*", re.DOTALL)


def may_expose(part: Part) -> bool:
    """Whether a command, or one that it runs, may print files that nobody sees named."""
    if not all(_PLAIN_VALUE.fullmatch(value) for _, value in part.assigned):  # `LESSOPEN`, `GIT_EDITOR`
        return True
    if part.words and not part.words[0].is_plain:
        return True
    if not all(redirect.target.is_known or redirect.is_written for redirect in part.redirects):
        return True
    found = [part.words] if program(part.words) in _SEARCHES else candidates(part.words)
    return any(_exposes(words) for words in found if words)


def is_silent(words: Sequence[Word]) -> bool:
    """Whether a command prints nothing of files, whatever it is told."""
    return is_one(program(words), "silent")


def _exposes(words: Sequence[Word]) -> bool:
    name, rest = program(words), words[1:]
    if is_silent(words) or name in ("echo", "printf"):
        return False
    if not are_known(rest) or any("/proc/" in word.text or "/dev/fd" in word.text for word in words):
        return True
    if name == "git":
        return _git_exposes(rest)
    use = reading([Word(name), *rest])
    if use is not None:
        return use.is_recursive
    if name in _BY_NAME:
        return _BY_NAME[name](words)
    if is_one(name, "shells"):
        has_options = any(re.match(r"[-+]\w*[oO]", word.text) for word in rest)  # `-O nocaseglob`
        return has_options or (not find_script(words) and not _is_script(rest))
    if is_one(name.rstrip("0123456789."), "languages"):
        return not _is_script(rest)
    return _exposes_by_options(name, [word.text for word in rest])


def _exposes_by_options(name: str, texts: Sequence[str]) -> bool:
    if is_one(name, "walking"):
        return not texts or not all(re.fullmatch(fitting("walking", name), text, re.DOTALL) for text in texts)
    if is_one(name, "changing"):
        return any(re.match(r"-(?!-).*[rRatd]|--[rat]", text) for text in texts)
    has_options = any(text[:1] in ("-", "+") and len(text) > 1 for text in texts)
    return has_options and is_one(name, "files", "reading", "saying")


def _git_exposes(rest: Sequence[Word]) -> bool:
    texts = [word.text for word in rest]
    if texts[:2] == ["stash", "show"]:  # a setting makes it print the change
        return True
    use = reading([Word("git"), *rest])
    if use is not None:
        return use.is_recursive
    verb = texts[0] if texts else ""
    if verb not in known("git_quiet"):
        return bool(texts)
    loud = "|".join([fitting("git_loud", verb), fitting("git_loud", "all")])
    return any(re.fullmatch(loud, text, re.DOTALL) or _shortens(text, loud) for text in texts[1:])


def _shortens(text: str, options: str) -> bool:
    """Whether a word may be one of some long options: git takes the beginning of a name for the whole."""
    name = text.partition("=")[0]
    return len(name) > 2 and any(one.startswith(name) for one in re.findall(r"--[a-z][a-z-]*", options))


def _is_script(rest: Sequence[Word]) -> bool:
    """Whether a language is given a file to run, or a module that is known, and no code."""
    texts = [word.text for word in rest]
    if texts[:1] == ["-m"]:
        return bool(texts[1:]) and not _CODE_MODULES.fullmatch(texts[1])
    is_asking = texts in (["--version"], ["-V"], ["-v"], ["--help"])
    return is_asking or (bool(texts) and texts[0][:1] not in ("-", "+", ""))


def _find(words: Sequence[Word]) -> bool:
    own = r"-\w*[xX].*|--exec.*" if program(words) != "find" else r"-(?:exec|ok|files0-from).*"
    return any(re.fullmatch(own, word.text, re.DOTALL) for word in words[1:])


def _awk(words: Sequence[Word]) -> bool:
    texts = [word.text for word in words[1:]]
    return any(_AWK_CODE.search(text) or re.match(r"-(?!F|v)", text) for text in texts)


def _xargs(words: Sequence[Word]) -> bool:
    """What xargs adds is not seen before; that does no harm to a command that prints nothing of files."""
    inner = unwrapped(words, RUNNING)
    return not is_silent(inner) and program(inner) != "echo"


def _env(words: Sequence[Word]) -> bool:
    texts = [word.text for word in words[1:]]
    values = [text.partition("=")[2] for text in texts if re.match(r"\w+=", text)]
    return any(re.match(r"-\w*S|--s", text) for text in texts) or not all(map(_PLAIN_VALUE.fullmatch, values))


def _curl(words: Sequence[Word]) -> bool:
    loud = r"(?i:file:)|@|^-\w*[KTie]|--(?:conf|up|in|post|body|net|use-ask|exe)"
    return any(re.search(loud, word.text) for word in words[1:])


def _sed(words: Sequence[Word]) -> bool:
    return not is_tame(words)


def _man(words: Sequence[Word]) -> bool:
    return any(word.text[:1] == "-" and not re.fullmatch(r"-[kfw]|--where", word.text) for word in words[1:])


_BY_NAME = {
    **dict.fromkeys(_SEARCHES, _find),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(("xargs", "parallel"), _xargs),
    **dict.fromkeys(("curl", "wget"), _curl),
    "env": _env,
    "jq": lambda _: True,
    "sed": _sed,
    "man": _man,
}
