"""Finds commands that may print files they do not name: from the git history or a whole folder, or by running code.

Rules that forbid reading are matched against file names. If such rules exist, a command whose file names are not known
requires permission, even if something else allows it. For an unknown program, only the words are checked: `make` may
read anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnlog.agent.permissions.command.bash_line import SimpleCommand
from turnlog.agent.permissions.command.effects import find_read_only_use, is_tame_sed
from turnlog.agent.permissions.command.named_files import shortens_option
from turnlog.agent.permissions.command.runners import (
    TRANSPARENT_RUNNERS,
    find_script,
    list_possible_commands,
    strip_runners,
)
from turnlog.agent.permissions.command.tables import build_table_pattern, is_in_tables, read_table
from turnlog.agent.permissions.command.words import ShellWord, are_words_known, get_program_name

_SEARCH_PROGRAMS = ("find", "fd", "fdfind")
_PLAIN_VALUE_PATTERN = re.compile(r"""(['"]?)[\w./:=,+@%-]*\1""")
_AWK_CODE_PATTERN = re.compile(r"getline|system|[|<>@]|ARGV")
_CODE_MODULE_PATTERN = re.compile(
    r"(?!pytest$|unittest$|mypy$|ruff$|black$|isort$|build$|pip$|venv$|coverage$).*", re.DOTALL
)


def may_expose_files(part: SimpleCommand) -> bool:
    """Return whether a command, or a command that it runs, may print files that it does not name."""
    if not all(_PLAIN_VALUE_PATTERN.fullmatch(value) for _, value in part.assigned):  # `LESSOPEN`, `GIT_EDITOR`
        return True
    if part.words and not part.words[0].is_plain:
        return True
    if not all(redirect.target.is_known or redirect.is_written for redirect in part.redirects):
        return True
    commands = [part.words] if get_program_name(part.words) in _SEARCH_PROGRAMS else list_possible_commands(part.words)
    return any(_may_expose_words(words) for words in commands if words)


def is_silent_command(words: Sequence[ShellWord]) -> bool:
    """Return whether a command never prints file contents, whatever its arguments."""
    return is_in_tables(get_program_name(words), "silent")


def _may_expose_words(words: Sequence[ShellWord]) -> bool:
    name, rest = get_program_name(words), words[1:]
    if is_silent_command(words) or name in ("echo", "printf"):
        return False
    if not are_words_known(rest) or any("/proc/" in word.text or "/dev/fd" in word.text for word in words):
        return True
    if name == "git":
        return _git_exposes(rest)
    use = find_read_only_use([ShellWord(name), *rest])
    if use is not None:
        return use.is_recursive
    if name in _EXPOSURE_CHECKS:
        return _EXPOSURE_CHECKS[name](words)
    if is_in_tables(name, "shells"):
        has_options = any(re.match(r"[-+]\w*[oO]", word.text) for word in rest)  # `-O nocaseglob`
        return has_options or (not find_script(words) and not _is_script_run(rest))
    if is_in_tables(name.rstrip("0123456789."), "languages"):
        return not _is_script_run(rest)
    return _exposes_by_options(name, [word.text for word in rest])


def _exposes_by_options(name: str, texts: Sequence[str]) -> bool:
    if is_in_tables(name, "walking"):
        return not texts or not all(
            re.fullmatch(build_table_pattern("walking", name), text, re.DOTALL) for text in texts
        )
    if is_in_tables(name, "changing"):
        return any(re.match(r"-(?!-).*[rRatd]|--[rat]", text) for text in texts)
    has_options = any(text[:1] in ("-", "+") and len(text) > 1 for text in texts)
    return has_options and is_in_tables(name, "files", "reading", "printing")


def _git_exposes(rest: Sequence[ShellWord]) -> bool:
    texts = [word.text for word in rest]
    if texts[:2] == ["stash", "show"]:  # a setting makes it print the change
        return True
    use = find_read_only_use([ShellWord("git"), *rest])
    if use is not None:
        return use.is_recursive
    verb = texts[0] if texts else ""
    if verb not in read_table("git_quiet"):
        return bool(texts)
    loud = "|".join([build_table_pattern("git_loud", verb), build_table_pattern("git_loud", "all")])
    long = re.findall(r"--[a-z][a-z-]*", loud)
    return any(re.fullmatch(loud, text, re.DOTALL) or shortens_option(text, long) for text in texts[1:])


def _is_script_run(rest: Sequence[ShellWord]) -> bool:
    """Return whether an interpreter is given a file or a known module to run rather than code."""
    texts = [word.text for word in rest]
    if texts[:1] == ["-m"]:
        return bool(texts[1:]) and not _CODE_MODULE_PATTERN.fullmatch(texts[1])
    is_query = texts in (["--version"], ["-V"], ["-v"], ["--help"])
    return is_query or (bool(texts) and texts[0][:1] not in ("-", "+", ""))


def _find_exposes(words: Sequence[ShellWord]) -> bool:
    own = r"-\w*[xX].*|--exec.*" if get_program_name(words) != "find" else r"-(?:exec|ok|files0-from).*"
    return any(re.fullmatch(own, word.text, re.DOTALL) for word in words[1:])


def _awk_exposes(words: Sequence[ShellWord]) -> bool:
    texts = [word.text for word in words[1:]]
    return any(_AWK_CODE_PATTERN.search(text) or re.match(r"-(?!F|v)", text) for text in texts)


def _xargs_exposes(words: Sequence[ShellWord]) -> bool:
    """Return whether xargs may expose files: it adds unknown words, which matters if its command prints files."""
    inner = strip_runners(words, TRANSPARENT_RUNNERS)
    return not is_silent_command(inner) and get_program_name(inner) != "echo"


def _env_exposes(words: Sequence[ShellWord]) -> bool:
    texts = [word.text for word in words[1:]]
    values = [text.partition("=")[2] for text in texts if re.match(r"\w+=", text)]
    return any(re.match(r"-\w*S|--s", text) for text in texts) or not all(map(_PLAIN_VALUE_PATTERN.fullmatch, values))


def _curl_exposes(words: Sequence[ShellWord]) -> bool:
    loud = r"(?i:file:)|@|^-\w*[KTie]|--(?:conf|up|in|post|body|net|use-ask|exe)"
    return any(re.search(loud, word.text) for word in words[1:])


def _sed_exposes(words: Sequence[ShellWord]) -> bool:
    return not is_tame_sed(words)


def _man_exposes(words: Sequence[ShellWord]) -> bool:
    return any(word.text[:1] == "-" and not re.fullmatch(r"-[kfw]|--where", word.text) for word in words[1:])


_EXPOSURE_CHECKS = {
    **dict.fromkeys(_SEARCH_PROGRAMS, _find_exposes),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk_exposes),
    **dict.fromkeys(("xargs", "parallel"), _xargs_exposes),
    **dict.fromkeys(("curl", "wget"), _curl_exposes),
    "env": _env_exposes,
    "jq": lambda _: True,
    "sed": _sed_exposes,
    "man": _man_exposes,
}
