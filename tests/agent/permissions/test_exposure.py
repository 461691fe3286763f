"""A file that a rule forbids to read is not printed by any command that some rule allows: bash itself is the judge."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.tools.call_result import Workspace

from .machine import flags

BASH, GIT = shutil.which("bash"), shutil.which("git")
SECRET = "HIDDENVALUE"
COMMANDS = [
    *("git diff", "git diff HEAD", "git show", "git show HEAD", "git show HEAD:.env", "git show :.env", "git log -p"),
    *("git log -u", "git log --cc -p", "git log -c", "git log -L1,1:.env", "git log -U1", "git log --patch-with-stat"),
    *(
        "git stash show -p",
        "git stash show",
        "git stash list -p",
        "git grep HIDDEN",
        "git grep -h . HEAD",
        "git archive HEAD",
    ),
    *(
        "git cat-file --batch-all-objects --batch",
        "git format-patch --stdout --root HEAD",
        "git diff-tree -p --root HEAD",
    ),
    *("git diff-index -p HEAD", "git diff-files -p", "git status -vv", "git commit -v --dry-run", "git blame .env"),
    *("git -c alias.x='!cat .e*' x", "git -c core.pager='cat .e*' -p log", "git --no-pager diff", "git -C . diff"),
    *("git config -f .env -l", "git diff --no-index a.txt .env", "git rev-list --objects HEAD", "git fast-export HEAD"),
    *("git rebase --exec 'cat .e*' --root", "git bisect run cat .env", "git whatchanged -p", "git reflog -p"),
    *("git bundle create - HEAD", "git stripspace < .env", "git checkout-index --temp .env", "git show --stat=9 -p"),
    *("git ls-files | xargs cat", "git stash push -p", "git add -p", "git x", "git hash-object -w .env", "git"),
    *("grep -r HIDDEN .", "grep -r HIDDEN", "grep -R HIDDEN .", "grep -d recurse HIDDEN .", "grep HIDDEN .e*"),
    *(
        "grep HIDDEN .*",
        "grep --dir=recurse HIDDEN .",
        "grep -hs HIDDEN .[a-z]*",
        "egrep -r HIDDEN",
        "zgrep HIDDEN .env",
    ),
    *("rg -uu HIDDEN", "rg --hidden HIDDEN", "rg HIDDEN", "ag HIDDEN", "ack HIDDEN", "find . -exec cat {} +"),
    *(
        "find . -name '.e*' -exec cat {} ';'",
        "find . -type f | xargs cat",
        "find . -print0 | xargs -0 cat",
        "find . -fls /dev/stdout",
    ),
    *(
        "echo .env | xargs cat",
        "echo .env | xargs -I{} cat {}",
        "echo .env | xargs -n1 head",
        "ls -A | xargs -d '\\n' cat",
    ),
    *(
        "ls -A | xargs grep H",
        "ls -A | xargs -I{} sh -c 'cat {}'",
        "ls -A | while read f; do cat $f; done",
        "xargs -a .env",
    ),
    *(
        "xargs < .env",
        "tar cf - .",
        "tar -cO .env",
        "tar c .e*",
        "cp -r . /dev/stdout",
        "cp .env /dev/stdout",
        "cp -r . new; cat new/a*",
    ),
    *(
        "ln -s .env link && cat link",
        "mv .env b.txt && cat b.txt",
        "cat .env",
        "cat .e*",
        "cat .e[n]v",
        "cat .{env,x}",
        "cat -- .env",
    ),
    *(
        "cat *",
        "cat .*",
        "cat ./*",
        'cat "$PWD/.env"',
        "cat $PWD/.env",
        "cat ${PWD}/.env",
        "cat ~+/.env",
        "cat $(ls -A)",
    ),
    *(
        "cat < .env",
        "cat < .e*",
        "cat 0<.env",
        "cat <<< $(<.env)",
        "cat <(cat .env)",
        "echo $(<.env)",
        'echo "$(cat .e*)"',
    ),
    *(
        "echo `cat .env`",
        "cat <<E\n$(<.env)\nE",
        "cat /proc/self/cwd/.env",
        "cat /proc/$$/cwd/.env",
        "cat /dev/fd/3 3<.env",
    ),
    *("exec 3< .env; cat <&3", "awk 1 .env", 'awk \'{while((getline l < ".e" "nv")>0) print l}\' a.txt', "awk 1 .e*"),
    *(
        "awk 'BEGIN{system(\"cat .e*\")}'",
        'awk \'BEGIN{ARGV[1]=".e" "nv";ARGC=2} 1\'',
        "awk 'BEGIN{\"cat .e*\" | getline x; print x}'",
    ),
    *(
        "sed '' .env",
        "sed 'r .env' a.txt",
        "sed '1e cat .e*' a.txt",
        "sed -n '$r.env' a.txt",
        "sed -s '' a.txt .e*",
        "sed -f .env a.txt",
    ),
    *(
        "python3 -c \"print(open('.env').read())\"",
        "python3 -c \"print(open('.e'+'nv').read())\"",
        "python3 -m json.tool .env",
    ),
    *(
        "echo \"print(open('.e'+'nv').read())\" | python3",
        "python3 <<'E'\nprint(open('.e' + 'nv').read())\nE",
        "python3 -m tokenize .env",
    ),
    *(
        "python3 -m base64 -e .env",
        'python3 -ic \'print(open(".e"+"nv").read())\'',
        'python3 -m timeit -n1 -r1 \'print(open(".e"+"nv").read())\'',
    ),
    *(
        "perl -pe 1 .env",
        "perl -e 'print `cat .e*`'",
        "perl -ne print .e*",
        "base64 -w0 a.txt .env",
        "sort .env",
        "sort .e*",
    ),
    *(
        "sort --files0-from=- < a.txt",
        "diff .env a.txt",
        "diff -r . sub",
        "diff . sub",
        "diff a.txt .e*",
        "dd if=.env",
        "dd < .env",
    ),
    *("env -S 'cat .env'", "env -S'cat .e*'", "env cat .env", "env cat .e*", "env sh -c 'cat .e*'", "env -i cat .env"),
    *(
        "man --pager='cat .env' ls",
        "man -P 'cat .e*' ls",
        "man -l .env",
        "less .env",
        "less -E .e*",
        "more .env",
        "vim -es -c 'r .env' -c '%p' -cq!",
    ),
    *(
        "ed -s .env",
        "printf '%s\\n' 'r .e''nv' ,p | ed -s a.txt",
        "head -c99 .e*",
        "tail .env",
        "tac .env",
        "rev .env",
        "nl .env",
        "od -c .env",
    ),
    *(
        "xxd .env",
        "strings .env",
        "cut -c1- .env",
        "paste .env",
        "fold .env",
        "uniq .env",
        "shuf .env",
        "split .env /dev/stdout",
    ),
    *(
        "bash -c 'cat .env'",
        "bash -c 'cat .e*'",
        "bash .env",
        "sh -c 'cat $0' .env",
        "bash -x .env",
        "sh < .env",
        "echo 'cat .e*' | sh",
    ),
    *(
        "eval 'cat .env'",
        "eval cat .e'*'",
        "source .env; echo $KEY",
        ". ./.env && echo $KEY",
        "set -a; . ./.env; env",
        "bash -v .env",
    ),
    *(
        "export $(cat .env); env",
        "read x < .env; echo $x",
        "mapfile x < .env; echo $x",
        "while read l; do echo $l; done < .env",
    ),
    *(
        "for f in .*; do cat $f; done",
        "for f in .env; do cat $f; done",
        "f() { cat $1; }; f .env",
        "x=.env; cat $x",
        "(cat .e*)",
    ),
    *(
        "{ cat .e*; }",
        "cat .e* &",
        "trap 'cat .e*' EXIT",
        "alias x='cat .e*'",
        "cd sub && cat ../.env",
        "cd sub; cat ../.e*",
    ),
    *(
        "cd . && cat .env",
        "cd $x && cat .env",
        "pushd sub; cat ../.env",
        "time cat .e*",
        "nice cat .env",
        "timeout 5 cat .e*",
    ),
    *(
        "command cat .env",
        "nohup cat .env",
        "stdbuf -o0 cat .e*",
        "exec cat .env",
        "setsid cat .env",
        "xargs -I{} cat .env < a.txt",
    ),
    *(
        "gcc -E -x c .env",
        "cpp .env",
        "make -f .env",
        "make -pnf .env",
        "openssl enc -in .env",
        "openssl base64 -in .env",
    ),
    *(
        "curl -s file://$PWD/.env",
        "curl -s file:///proc/self/cwd/.env",
        "gzip -c .env | zcat",
        "gzip -rc . | zcat",
        "zcat -f .env",
    ),
    *(
        "comm .env a.txt",
        "join .env a.txt",
        "cmp -l .env a.txt",
        "column .env",
        "pr .env",
        "iconv .env",
        "expand .env",
        "tee < .env",
    ),
    *(
        "file -f .env",
        "wc --files0-from=.env",
        "md5sum -c .env",
        "date -f .env",
        "ls --color=auto .env | cat .env",
        "jq -R . .env",
    ),
    *(
        "jq -nr --rawfile a .env '$a'",
        "sqlite3 :memory: \"select readfile('.e'||'nv')\"",
        "install .env /dev/stdout",
        "ptx .env",
    ),
    *(
        "foo .env; cat .env",
        "true && cat .e*",
        "false || cat .env",
        "! cat .env",
        "if cat .env; then true; fi",
        "cat a.txt .env",
    ),
    *(
        "cat .ENV .env",
        "cat sub/../.env",
        "cat ./././.env",
        "cat sub/./../.e??",
        "cat link",
        "cat link/.env",
        "cat linked/.e*",
    ),
]
COMMANDS += [
    *(
        "npm exec -c 'cat .e*'",
        "make --eval='x:;cat .e*' x",
        "make --eval 'x:;@cat .e*' x",
        "git mv sub new; cat new/b.txt",
    ),
    *("shopt -s nocaseglob; cat .E*", "bash -O nocaseglob -c 'cat .E*'", "BASHOPTS=nocaseglob bash -c 'cat .E*'"),
    *("LESSOPEN='|cat .e* %s' less a.txt", "env LESSOPEN='|cat .e* %s' less a.txt", "GIT_EDITOR='cat .e*' git commit"),
    *("export GIT_EDITOR='cat .e*'; git commit", "GIT_PAGER='cat .e*' git -p log", "BASH_ENV=.env bash -xc true"),
    *(
        "cd /proc/self; cat cwd/.e*",
        "cd /proc/self/cwd && cat .e*",
        "cat //proc//self//cwd/.e*",
        "pushd /proc/self; cat cwd/.en?",
    ),
    *(
        "MANPAGER='cat .e*' man ls",
        "export MANPAGER='cat .e*'; man ls",
        "PS4='$(cat .e*)' bash -xc true",
        "git worktree add w; cat w/.e*",
    ),
    *(
        "git clone -q . w; cat w/.e*",
        "git commit -t .env",
        "git commit -F .env --dry-run",
        "git tag -F .env x; git tag -n9",
    ),
    *(
        "git rebase -x 'cat .e*' --root",
        "git log --format=%B -p",
        "git log -1p",
        "git commit -va --dry-run",
        "git add -e",
    ),
    *(
        "tmux new 'cat .e*'",
        "script -qc 'cat .e*' /dev/null",
        "flock a.txt -c 'cat .e*'",
        "setsid sh -c 'cat .e*'",
        "nice sh -c 'cat .e*'",
    ),
    *(
        "timeout 5 bash -c 'cat .e*'",
        "su -c 'cat .e*'",
        "script -qec 'cat .env' /dev/null",
        "ssh-keygen -lf .env",
        "ssh -F .env x",
    ),
    *(
        "date -f .env",
        "date --file=.e*",
        "date -f.env",
        "uniq .e*",
        "numfmt < .env",
        "tr a b < .e*",
        "hostname -F .env",
        "ps -o pid -f .env",
    ),
    *(
        "expr x : $(cat .env)",
        "seq $(cat .env)",
        "test -f $(cat .env)",
        "ls $(cat .env)",
        "cd $(cat .env)",
        "mkdir $(cat .env); ls",
    ),
    *(
        'touch -d "$(cat .env)" x',
        "kill $(cat .env)",
        "sleep $(cat .env)",
        "export X=$(cat .env); env",
        "type $(<.env)",
        "echo ${X:-$(<.env)}",
    ),
    *(
        "ls ${X:?$(<.env)}",
        ": ${X:?$(cat .e*)}",
        "true ${X:?$(<.env)}",
        "cat<.env",
        "cat<.e*",
        "cat<$PWD/.env",
        "cat 3<.env <&3",
    ),
]
COMMANDS += [
    *("cat < .e[[:alpha:]]v", "for f in .e*; do cat < $f; done", "cat < $'.en\\x76'", "tr a b < $'.env'"),
    *("read x < .e[[:alpha:]]v; echo $x", 'echo "$(< .e[[:alpha:]]v)"', "mapfile a < .e[[:alpha:]]v; echo ${a[0]}"),
    *("git fetch --upl='cat .e*>&2;false' .", "git fetch --upload-pack='cat .e*>&2;false' .", "git add --edi"),
    *("git pull --upload-p 'cat .e*>&2;false' .", "git push --receive-p='cat .e*>&2;false' . HEAD:x"),
    *("git push --exe='cat .e*>&2;false' . HEAD:x", "git ls-remote --upl='cat .e*>&2;false' ."),
    *("git ls-remote --exe='cat .e*>&2;false' .", "git commit --dry-run -a --verbo", "git status --verbo --verbo"),
    *("git rebase --exe 'cat .e*' --root", "git tag t HEAD:.env; git for-each-ref --format='%(raw)' refs/tags"),
    *("git tag t HEAD:.env", "git for-each-ref --format='%(objectname) %(*raw)'", "git tag -l --format='%(contents)'"),
    *("rgrep HIDDEN", "rgrep HIDDEN .", "pcre2grep -r HIDDEN .", "fd -HIx cat", "curl -s 'FILE://'$PWD/'.[e-e]nv'"),
]
PREFIXES = sorted({command.split()[0] for command in COMMANDS if command[0].isalpha()} | {"xargs", "sh", "cat", "head"})
PROGRAMS = (
    "cat head grep rg git find xargs tar cp awk sed python3 sort diff dd env base64 jq bash echo ls less cut".split()
)
WORDS = [
    *". .. .env .e* .* * ./* a.txt sub sub/.. -r -R -a -x -c -e -f -n -p -- - -exec {} + ; | && > < $x ~+/.env".split(),
    *"diff show log -p -u HEAD HEAD:.env stash grep cat '.e'nv .e?v if=.env H 1 p 'r.env' \"$(<.env)\" --batch".split(),
    *[
        "'cat .e*'",
        '\'print(open(".e"+"nv").read())\'',
        "<(cat .e*)",
        "for f in .*; do cat $f; done",
        "/proc/self/cwd/.env",
    ],
]
pytestmark = pytest.mark.skipif(None in (BASH, GIT) or os.name != "posix", reason="needs bash and git")


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a secret in a file, in its history, in a stash and behind links."""
    root = tmp_path_factory.mktemp("exposure").resolve() / "proj"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("a\n")
    (root / "sub" / "b.txt").write_text("b\n")
    (root / ".env").write_text(f"KEY={SECRET}\n")
    (root / "link").symlink_to(".env")
    (root / "linked").symlink_to(".")
    for line in (
        "git init -q; git config user.name n; git config user.email e; git add .; git commit -qm c",
        f"echo MORE={SECRET} >> .env; git stash -q; echo AGAIN={SECRET} >> .env; git add .env",
    ):
        run(line, root)
    return root


def run(command: str, root: Path) -> str:
    assert BASH
    environ = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "GIT_PAGER": "cat", "MANPAGER": "cat"}
    done = subprocess.run(
        [BASH, "--norc", "-c", command],
        cwd=root,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def is_allowed(command: str, root: Path, mode: Any, allow: list[str]) -> bool:
    guard = SettingsGuard(flags(root, deny=["Read(.env)"], allow=allow), mode, home=root.parent / "home")
    return guard.decide("Bash", {"command": command}, Workspace(root, root)).verdict == "allow"


def assert_keeps_secret(command: str, origin: Path, root: Path) -> None:
    """Run a command in a copy, and look at what it says and leaves under another name."""
    shutil.copytree(origin, root, symlinks=True)
    assert SECRET not in run(command, root), command
    others = [path for path in root.rglob("*") if path.is_file() and path.name != ".env" and ".git" not in path.parts]
    assert [path for path in others if not path.is_symlink() and SECRET in path.read_text(errors="replace")] == []


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "dontAsk"])
@pytest.mark.parametrize("rules", [[], ["Bash"], [f"Bash({name}:*)" for name in PREFIXES]], ids=len)
def test_no_rule_lets_a_command_print_a_denied_file(rules: list[str], mode: str, origin: Path, tmp_path: Path) -> None:
    for number, command in enumerate(COMMANDS):
        if is_allowed(command, origin, mode, rules):
            assert_keeps_secret(command, origin, tmp_path / str(number))


@pytest.mark.parametrize("command", ["git diff", "git show HEAD", "grep -r H .", "echo .env | xargs cat", "cat .e*"])
def test_no_rule_with_the_very_same_text_lets_a_command_print_a_denied_file(command: str, origin: Path) -> None:
    assert not is_allowed(command, origin, "default", [f"Bash({command})"])


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.builds(
            "{} {}".format, st.sampled_from(PROGRAMS), st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
        ),
        min_size=1,
        max_size=2,
    ).map(" | ".join)
)
def test_no_line_that_is_allowed_prints_a_denied_file(
    origin: Path, tmp_path_factory: pytest.TempPathFactory, command: str
) -> None:
    if any(
        is_allowed(command, origin, "default", rules) for rules in (["Bash"], [f"Bash({one}:*)" for one in PROGRAMS])
    ):
        assert_keeps_secret(command, origin, tmp_path_factory.mktemp("run") / "proj")


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git status",
            "git log --oneline -5",
            "git diff --stat",
            "git add a.txt",
            "git commit -m x",
            "git push",
            "git fetch",
        ),
        *(
            "grep x a.txt",
            "cat a.txt sub/b.txt",
            "ls -la",
            "find . -name '*.py'",
            "npm test",
            "make",
            "pytest -q",
            "cargo build",
        ),
        *(
            "awk '{print $1}' a.txt",
            "sed -n 1,5p a.txt",
            "python3 x.py",
            "echo hi",
            "mkdir x",
            "head a.txt | sort",
            "env npm test",
        ),
        *(
            "python3 -m pytest",
            "jq . a.txt",
            "curl -s http://localhost:3000",
            "timeout 5 npm test",
            "docker ps",
            "ls | xargs rm",
        ),
    ],
)
def test_commands_that_print_no_other_files_stay_allowed_by_their_rule(command: str, origin: Path) -> None:
    assert is_allowed(command, origin, "default", ["Bash"])


def test_nothing_more_is_asked_where_no_rule_forbids_reading(origin: Path) -> None:
    guard = SettingsGuard(flags(origin), home=origin.parent / "home")
    for command in ("git status", "git diff", "git log -p", "grep -r foo src", "rg foo", "ls -R", "git show HEAD"):
        assert guard.decide("Bash", {"command": command}, Workspace(origin, origin)).verdict == "allow", command
