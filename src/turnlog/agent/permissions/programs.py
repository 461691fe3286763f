"""Programs by what they do: read only, or change only what they are given; and what makes them do more."""

from __future__ import annotations

import re
from typing import NamedTuple


class Forbidden(NamedTuple):
    """Options that make a command do more than it seems."""

    letters: str = ""
    names: str = ""
    """As they are written in full; what may stand for one is forbidden too."""


_F0 = "files0-from"
FILES: dict[str, Forbidden] = {
    **dict.fromkeys("cat head tail stat cut paste nl tac rev comm cmp od realpath readlink fold".split(), Forbidden()),
    **dict.fromkeys("expand unexpand column tsort pr fmt df".split(), Forbidden()),
    **dict.fromkeys("md5sum sha1sum sha256sum sha512sum".split(), Forbidden("c", "check")),
    "ls": Forbidden("L", "dereference"),
    "wc": Forbidden("", _F0),
    "hexdump": Forbidden("f", "format-file"),
    "base64": Forbidden("o", "output"),
    "du": Forbidden("XL", f"{_F0} exclude-from dereference"),
    "file": Forbidden("mMCfzZ", "magic-file compile files-from uncompress uncompress-noreport"),
    "tree": Forbidden("oRl", "fromfile fromtabfile output"),
    "diff": Forbidden("rlFNX", "recursive paginate from-file to-file exclude-from starting-file"),
    "sort": Forbidden("oTS", f"output compress-program temporary-directory buffer-size {_F0}"),
}
_GREP = Forbidden("RfP", "dereference-recursive file exclude-from")
SEARCHES: dict[str, Forbidden] = {
    **dict.fromkeys(("grep", "egrep", "fgrep"), _GREP),
    "rg": Forbidden("Lfz", "pre pre-glob hostname-bin follow file search-zip ignore-file hyperlink-format files"),
}
PLAIN = frozenset(
    "pwd whoami id uname true false sleep basename dirname seq expr nproc tr uptime free groups locale which type "
    "numfmt cal".split()
)
EACH = {
    "date": r"\+.*|-u|--utc|-I|-R|--iso-8601",
    "ps": r"aux|ax|-ef|-e|-A|-f|-p|-u|\d+",  # not `e`, which shows what is set for each process
    "hostname": r"-[ac-zA-EG-Z]",
    "uniq": r"-[a-zA-Z]",
    "arch": r"(?!)",  # on some systems it runs what it is given
}
"""What each word must be."""
TOLD = frozenset({"$HOME", "$PWD", "$USER", "$?"})
TESTS = frozenset({"test", "[", "[["})
NUMERIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
FIND = re.compile(r"-(?:exec|ok|delete|fprint|fls|files0-from|follow|L$).*", re.DOTALL)
VERSIONS = {"node": ("--version", "-v"), "python": ("--version", "-V"), "python3": ("--version", "-V")}
_HISTORY = (
    r"-\d+|-n\d*|-[pswbMCle]|-[SGL].*|-U\d+|-sn|-sne|--(?:oneline|stat|graph|all|decorate|format|pretty|max-count|since|"
    r"until|after|before|author|grep|name-only|name-status|follow|first-parent|no-merges|merges|abbrev-commit|date|patch|"
    r"shortstat|numstat|reverse|branches|tags|remotes|topo-order|cached|staged|unified|check|summary|word-diff|color|"
    r"no-color|find-renames|diff-filter|raw|no-patch|porcelain|show-email|numbered|email|count|always|dirty|abbrev|long|"
    r"exact-match|match)"
)
"""What commands that show the history may be told; none of it does anything else for any of them."""
GIT = {
    **dict.fromkeys("log diff show blame shortlog rev-list describe".split(), _HISTORY),
    "status": r"-s|-b|-sb|-v|-u|--short|--branch|--porcelain|--long|--untracked-files|--ignored|--show-stash",
    "rev-parse": r"--abbrev-ref|--short|--show-toplevel|--git-dir|--verify|--is-inside-work-tree|--show-prefix|-q",
    "ls-files": r"-[cdmoist]|--cached|--deleted|--modified|--others|--ignored|--stage|--exclude-standard",
    "branch": r"-a|-r|-v|-vv|--list|--all|--remotes|--show-current|--verbose|--no-color|--contains",
    "remote": r"-v|--verbose",
    "tag": r"-l|--list|-n\d*|--sort",
    "reflog": r"-\d+|-n\d+|--oneline|--date",
    "cat-file": r"-[pts]",
    "merge-base": r"--all|--is-ancestor",
    "for-each-ref": r"--format|--sort|--count",
}
GIT_WHOLE = ("stash list", "stash show", "worktree list")
LISTING = frozenset({"branch", "remote", "tag", "reflog"})
"""Given a name, these make something; unless they are told to list."""
SUMMARY = ("--stat", "--name-", "--shortstat", "--numstat", "--summary", "-s", "--no-patch", "--check")
CHANGING: dict[str, Forbidden] = {
    "mkdir": Forbidden("", "context"),
    "touch": Forbidden(),
    "rmdir": Forbidden(),
    "rm": Forbidden("", "no-preserve-root"),
    "mv": Forbidden("tSZ", "suffix backup context target-directory"),
    "cp": Forbidden("trRaSZlsLPd", "recursive archive suffix backup link symbolic-link parents target-directory"),
}
WRITING = frozenset({*CHANGING, *"tee sed dd truncate install ln chmod chown".split()})
BOTH = frozenset("cp mv sed dd install ln".split())
READING = frozenset(
    "find git uniq jq awk gawk less more xxd b2sum cksum sum split csplit join look bat view vi vim nano ed source . "
    "base32 strings zcat zgrep bzcat xzcat ag ack iconv dd tar zip gzip curl wget scp rsync openssl".split()
)
