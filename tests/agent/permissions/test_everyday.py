"""Everyday commands that only read are free, and so are no others that look like them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.tools.call_result import Workspace

from .machine import flags

RULES = [f"Bash({name}:*)" for name in ("export", "declare", "read", "printf", "eval")]
EVERYDAY = [
    *(
        "git grep foo",
        "git grep -n foo -- '*.py'",
        "git grep -e /foo -e bar",
        "git grep /foo",
    ),
    *(
        "git stash show -p",
        "git stash show -p stash@{0}",
        "docker ps",
        "docker ps -a --format '{{.Names}}'",
    ),
    *(
        "docker images -q",
        "strings a.txt | head",
        "strings -n 8 a.txt",
        "lsof -i :3000",
    ),
    *(
        "lsof -nP -iTCP -sTCP:LISTEN",
        "ss -tln",
        "netstat -tln",
        "man ls | head",
        "man 3 printf",
        "tput cols",
    ),
    *(
        "pgrep -fl node",
        "date -d yesterday",
        "date -d '2 days ago' +%F",
        "date -u -d @0",
        "ip addr",
        "ip -br a",
    ),
    *(
        "ip route show",
        "ifconfig",
        'echo "today $(date +%F)"',
        'echo "branch: $(git branch --show-current)"',
    ),
    *(
        'echo "a $(pwd) b $(whoami)" x',
        "printf '%s\\n' \"$(date)\"",
        'echo "lines: $(wc -l a.txt)"',
    ),
    *(
        'echo "$(date "+%Y %m")"',
        "echo \"$(date '+%Y %m')\" && ls",
        'echo "é $(date) ü"',
        'cat "$PWD/a.txt"',
    ),
    *(
        'ls "$PWD"',
        'cat "$PWD"/*.txt',
        'cd src && cat "$PWD/a.py"',
        'basename "$PWD"',
    ),
    *(
        "find src -name '*.py' | xargs wc -l",
        "find src sub -type f | xargs grep -n foo",
    ),
    *(
        "find src -name '*.py' -print0 | xargs -0 wc -l",
        "find src | sort | head -5 | xargs head -20",
    ),
    *(
        "find src -name '*.py' | grep -v test | xargs cat",
        "find src -name '*.py' 2>/dev/null | xargs ls -la",
    ),
    *(
        "find src | xargs -n 1 basename",
        "find src | xargs wc -l | sort -n | tail -5",
    ),
    *(
        "find src | xargs grep -l foo | head",
        "find . -type f | xargs wc -l",
        "find . -name '*.py' | xargs wc -l",
    ),
    *(
        "find . -name '*.py' -print0 | xargs -0 grep -n foo",
        "rg -l foo | xargs wc -l",
    ),
    *("grep -rl foo src | xargs grep -c bar",),
]
"""Commands that are free without any rule."""
REACHING = [
    *(
        "git grep -O foo",
        "git grep -O./x foo",
        "git grep --open-files-in-pager=x foo",
        "git grep --no-index foo",
    ),
    *(
        "git grep -f list foo",
        "git grep foo ../",
        "git grep foo /etc",
        "git grep --textconv foo",
    ),
    *(
        "git stash show -p --ext-diff",
        "git stash show --output=x",
        "docker ps -H x",
        "docker run x",
    ),
    *(
        "docker images --host x",
        "docker rm x",
        "docker exec x ls",
        "strings @a.txt",
        "strings -T x a.txt",
    ),
    *(
        "strings /etc/passwd",
        "strings lure/away",
        "lsof -D b",
        "lsof +D /etc",
        "ss -K",
        "ss -D x",
        "ss -F x",
    ),
    *(
        "man -P x ls",
        "man ./a.txt",
        "man /etc/passwd",
        "man -l a.txt",
        "man -C a.txt ls",
        "tput init",
    ),
    *(
        "tput -T x cols",
        "tput reset",
        "pgrep -F a.txt",
        "pkill node",
        "date -s x",
        "date -f a.txt",
    ),
    *(
        "date -d x -f a.txt",
        "date -d x -s y",
        "date -r a.txt",
        "date 01010101",
        "ip addr add x",
    ),
    *(
        "ip link set eth0 down",
        "ip -b a.txt addr",
        "ip netns exec x y",
        "ifconfig eth0 down",
    ),
    *(
        "sed 's/a/b/w x' a.txt",
        "sed 's/a/id/e' a.txt",
        "sed '1e id' a.txt",
        "sed '1r /etc/passwd' a.txt",
    ),
    *(
        "sed -i 's/a/b/' a.txt",
        "sed -n 's/a/b/' -i a.txt",
        "sed -f x a.txt",
        "sed 's/a/b/' /etc/passwd",
    ),
    *(
        "sed 's/a/b/' lure/away",
        "sed -s 's/a/b/' -- -i",
        "sed 'w x' a.txt",
        "sed '$!N;w x' a.txt",
    ),
    *(
        "sed --in-place 's/a/b/' a.txt",
        "sed -E -i 's/a/b/' a.txt",
        "sed 'y/a/b/;e id' a.txt",
        "echo $SECRET",
    ),
    *(
        "echo $KEY",
        "netstat -c",
        'echo "today $(rm a.txt)"',
        'echo "$(cat /etc/passwd)"',
    ),
    *(
        'echo "$(cat lure/away)"',
        "echo $(date)",
        "echo a$(date)",
        'echo "`date`"',
    ),
    *(
        'echo "$(date; id -u; touch x)"',
        'echo "$(touch x)"',
        'echo "$(date > x)"',
        'echo "$(< /etc/passwd)"',
    ),
    *(
        'echo "$(<a.txt)"',
        'printf "$(date)"',
        'printf "$(date)" x',
        'printf -v RANDOM "$(date)"',
    ),
    *(
        "printf '%d' \"$(date)\"",
        'cat "$(ls)"',
        'ls "$(pwd)"',
        'echo "$(echo $(touch x))"',
    ),
    *(
        'echo "$(echo "$(touch x)")"',
        'echo "$(date # )" ; touch x; echo ")"',
        'echo "$(date \\) ; touch x)"',
    ),
    *(
        "echo \"$(echo ')' ; touch x)\"",
        'echo "$(x=1 touch y)"',
        'echo "$(ls)" > x',
        'echo "$(sort -o x a.txt)"',
    ),
    *(
        'echo "${x:-$(date)}"',
        'echo "$((1+$(date)))"',
        'echo "$(date)"$(touch x)',
        'echo "$(date)" "$(touch x)"',
    ),
    *(
        'echo "$(date)"; rm a.txt',
        'echo "$(date &)"',
        'echo "$(git checkout x)"',
        'test "$(date)" -eq 1',
    ),
    *(
        'eval "$(date)"',
        'bash -c "$(date)"',
        'echo "$(date)" | sh',
        'x="$(date)"',
        'export x="$(date)"',
    ),
    *(
        '"$(date)"',
        'echo "a"$(date)"b"',
        'echo $"$(touch x)"',
        'cat "$PWD/../outside.txt"',
    ),
    *(
        'cat "$PWD/lure/away"',
        'cat "$PWDX/a.txt"',
        'cat "$PWD.txt"',
        'cat "x$PWD/a.txt"',
        "cat $PWD/a.txt",
    ),
    *(
        'cat "$HOME/h.txt"',
        'cat "$OLDPWD/x"',
        'PWD=/etc; cat "$PWD/passwd"',
    ),
    *(
        'for PWD in /etc; do cat "$PWD/passwd"; done',
        'export PWD=/etc; cat "$PWD/passwd"',
    ),
    *(
        'export P""WD=/etc; cat "$PWD/passwd"',
        'declare P\\WD=/etc && cat "$PWD/passwd"',
    ),
    *(
        "read P'W'D < list; cat \"$PWD/passwd\"",
        'printf -v P"W"D /etc; cat "$PWD/passwd"',
    ),
    *(
        "eval 'PW''D=/etc'; cat \"$PWD/passwd\"",
        'cd /etc && cat "$PWD/passwd"',
    ),
    *(
        'cd ..; cat "$PWD/outside.txt"',
        'rm -rf "$PWD"',
        'cat "$PWD/$X"',
        'cat "$PWD"$X',
        'cat "$PWD/a.txt$X"',
    ),
    *(
        "find . | xargs cat",
        "find lure | xargs cat",
        "find src -L | xargs cat",
        "find -L src | xargs cat",
    ),
    *(
        "find /etc | xargs cat",
        "find src ../ | xargs cat",
        "find src -printf '/etc/passwd\\n' | xargs cat",
    ),
    *(
        "find src | sed 's/a/b/' | xargs cat",
        "find src; echo /etc/passwd | xargs cat",
    ),
    *(
        "echo /etc/passwd | xargs cat",
        "cat list | xargs cat",
        "find src | sort list - | xargs cat",
    ),
    *(
        "find src | grep -f list | xargs cat",
        "find src | grep -o x | xargs cat",
        "find src | tee x | xargs cat",
    ),
    *(
        "find src | xargs rm",
        "find src | xargs sort -o x",
        "find src | xargs grep -f list",
    ),
    *(
        "find src | xargs grep -R foo",
        "find src | xargs tail -f /etc/passwd",
        "find src | xargs cat /etc/passwd",
    ),
    *(
        "find src | xargs cat ../outside.txt",
        "find src | xargs -a list cat",
    ),
    *(
        "find src | xargs -I{} cat {}/../../outside.txt",
        "find src | xargs sh -c 'cat'",
    ),
    *(
        "find src | xargs python3",
        "find src | xargs",
        "find src | xargs diff",
        "find src | xargs cat > x",
    ),
    *(
        "find src | xargs cat < list",
        "find src | xargs sed -n 1p",
        "find src | xargs curl",
    ),
    *(
        "find src -exec cat {} + | xargs cat",
        "for i in 1; do find src; echo /etc/passwd; done | xargs cat",
    ),
    *("if true; then find src; echo /etc/passwd; fi | xargs cat",),
    *(
        "while read x; do echo $x; done < list | xargs cat",
        "(find src; echo /etc/passwd) | xargs cat",
    ),
    *(
        "{ find src; echo /etc/passwd; } | xargs cat",
        "cd .. && find src | xargs cat",
        "x=1 find src | xargs cat",
    ),
    *(
        "find src | head list | xargs cat",
        "find src | tail -n 1 list | xargs cat",
    ),
    *(
        "find src | uniq - list | xargs cat",
        "find $X | xargs cat",
        "find src | xargs $X",
        "find src | xargs ca*",
    ),
    *(
        "find src | xargs -d x cat",
        "find src | xargs -E x cat",
        "find src -name x -o -fprint y | xargs cat",
    ),
    *(
        "find src | timeout 5 xargs cat",
        "find src | xargs xargs cat",
        "git ls-files ../ | xargs cat",
    ),
    *(
        "rg -l foo /etc | xargs cat",
        "grep -rl foo /etc | xargs cat",
        "grep -rlh foo src | xargs cat",
    ),
    *(
        "rg --files -L | xargs cat",
        "rg foo | xargs cat",
        "grep -r foo src | xargs cat",
    ),
    *(
        "find src | xargs -0 cat",
        "find src -name '*.py' | xargs -0 cat",
    ),
    *(
        "find src -print0 | sort | xargs -0 cat",
        "find 'a b' | xargs cat",
        "find . -name 'aw*' | xargs cat",
    ),
    *(
        "find . -type f -o -name 'aw*' | xargs cat",
        "find . ! -type f | xargs cat",
    ),
    *(
        "find . -name '*' | xargs cat",
        "find . -iname 'AWAY' | xargs cat",
        "git ls-files | xargs cat",
    ),
    *(
        "find . -type l | xargs cat",
        "find . -newer -name -type l | xargs cat",
    ),
    *("find . -newer -type f -type l | xargs cat",),
]
"""Commands that are not free, and that the rules for builtins do not cover."""

pytestmark = pytest.mark.skipif(shutil.which("git") is None or os.name != "posix", reason="needs git")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    base = tmp_path.resolve()
    found = base / "proj"
    for folder in ("src", "sub", "lure", "../home"):
        (found / folder).mkdir(parents=True, exist_ok=True)
    (base / "outside.txt").write_text("OUTSIDE\n")
    (found / "lure" / "away").symlink_to(base / "outside.txt")
    for name in ("a.txt", "b.txt", "src/a.py", "sub/b.txt", "package.json", "list"):
        (found / name).write_text("a 1\n")
    for words in ("init -q", "add .", "-c user.name=n -c user.email=e commit -qm c"):
        subprocess.run(["git", *words.split()], cwd=found, check=True)
    return found


def verdict(command: str, root: Path, *allow: str, **rules: list[str]) -> str:
    guard = SettingsGuard(flags(root, allow=list(allow), **rules), home=root.parent / "home")
    return guard.decide("Bash", {"command": command}, Workspace(root, root)).verdict


def test_everyday_commands_are_free(root: Path) -> None:
    assert [command for command in EVERYDAY if verdict(command, root) != "allow"] == []


def test_commands_that_look_like_them_are_asked_about(root: Path) -> None:
    assert [command for command in REACHING if verdict(command, root, *RULES) == "allow"] == []


@pytest.mark.parametrize("name", ["b c", "b'", 'b"', "b\\c", "b\nc"])
def test_xargs_is_asked_about_where_it_would_split_a_name(name: str, root: Path) -> None:
    """`find` prints `src/b /etc/passwd` for a file below a folder whose name ends with a blank."""
    assert verdict("find src | xargs cat", root) == "allow"
    (root / "src" / name).mkdir()
    assert verdict("find src | xargs cat", root) == "ask"
    assert verdict("find src -print0 | xargs -0 cat", root) == "allow"


def test_xargs_is_asked_about_where_a_listed_link_leads_elsewhere(root: Path) -> None:
    assert verdict("find . -name '*.py' | xargs cat", root) == "allow"
    (root / "sub" / "b.py").symlink_to(root.parent / "outside.txt")
    assert verdict("find . -name '*.py' | xargs cat", root) == "ask"
    assert verdict("find . -type f -name '*.py' | xargs cat", root) == "allow"
    assert verdict("find src -name '*.py' | xargs cat", root) == "allow"


def test_files_that_a_rule_forbids_to_read_are_not_printed_by_them(root: Path) -> None:
    (root / ".env").write_text("HIDDEN\n")
    deny = ["Read(.env)"]
    for command in (
        *("find . | xargs cat", "git grep HIDDEN", "git stash show -p", 'cat "$PWD/.env"', "strings .env"),
        *(
            'echo "$(cat .env)"',
            'echo "$(git show)"',
            'PWD=sub; cat "$PWD/../.env"',
            'export P""WD=x; cat "$PWD/../.env"',
        ),
    ):
        for allow in ([], ["Bash"]):
            assert verdict(command, root, *allow, deny=deny) != "allow", command
    assert verdict('cat "$PWD/a.txt"', root, deny=deny) == "allow"
