"""The text of generated sessions: words, code, logs and prose."""

from __future__ import annotations

import random
import re
from bisect import bisect
from itertools import accumulate

WORDS = """the to of and a in is for this that it with be on as are from not we can file code by
function test error return value use data type add if class new user string list run which should
config path line output message server request set default model name check import index update
session token parse event handler table client build key state query module version key option api
async cache context buffer stream result log thread worker queue render component schema field
method object array number boolean null field response header body status retry timeout connection
database migration column row insert select delete merge branch commit diff patch review deploy
container image network port host proxy gateway service cluster node pod volume secret token auth
login password hash salt cipher encode decode compress archive backup restore sync watch poll push
pull fetch clone rebase checkout stash tag release package dependency lock install upgrade remove
deprecated warning exception traceback stack frame heap memory leak profile benchmark latency
throughput percentile histogram metric counter gauge trace span sampler exporter collector agent
prompt completion embedding vector search ranking score threshold filter sort page cursor offset
limit window batch chunk shard partition replica leader follower quorum consensus snapshot journal
ledger account balance invoice payment order cart product catalog price discount tax shipping
address customer vendor report chart axis legend color theme layout grid flex margin padding border
button dialog modal toast tooltip menu toolbar sidebar navbar footer form input checkbox radio
slider dropdown calendar date time zone locale translate format template markdown parser lexer
grammar syntax tree visitor walker compiler linker loader runtime sandbox permission policy role
audit compliance encryption certificate signature verify validate sanitize escape quote bracket
comma colon semicolon dash underscore slash pipe redirect stdin stdout stderr process signal kill
spawn fork exec daemon cron schedule trigger webhook callback promise future coroutine generator
iterator closure lambda decorator mixin trait interface abstract protocol adapter facade factory
singleton observer mediator strategy command iterator memento flyweight bridge composite proxy
because however therefore while since although first second third finally also instead already
currently probably likely needs needed looks seems found missing wrong correct fixed failing passes
let me I will now look at see there was were has have been does did do what why how when where""".split()
CHINESE = (
    "我们 需要 先 检查 这个 函数 的 返回 值 然后 修改 配置 文件 测试 失败 因为 "
    "缺少 依赖 请 帮 我 分析 项目 结构 会话 记录 解析 消息 工具 调用 结果 用户 "
    "输入 错误 日志 数据库 索引 搜索 更新 完成 现在 可以 运行"
).split()
ENDINGS = [".py", ".ts", ".tsx", ".rs", ".go", ".md", ".json", ".yaml", ".css", ".sql"]

# $ident and $Title stand for names, $words for a few words, $ext for a file extension, and $1-99 for a number. The
# first template whose share is above a random number is used.
_CODE = [
    (0.10, None),
    (0.18, "# $words"),
    (0.28, "def $ident(self, $ident: str, $ident: int = $0-99) -> None:"),
    (0.38, 'const $ident = await $ident.$ident("$ident", { $ident: true });'),
    (0.46, "if $ident is None or $ident.$ident != '$ident':"),
    (0.56, 'raise $ident(f"$ident: {$ident} not found in $ident")'),
    (0.64, "return $ident($ident, $ident=[$ident for $ident in $ident])"),
    (0.70, "}"),
    (0.78, '"$ident": "$ident/$ident",'),
    (0.84, 'logger.info("%s $ident=%d", $ident, len($ident))'),
    (0.90, '<div className="$ident $ident">{$ident.map(x => <$Title key={x.id} />)}</div>'),
    (1.00, "self.$ident = $ident.$ident($ident)"),
]
_LOGS = [
    (0.2, "tests/test_$ident.py::test_$ident \x1b[32mPASSED\x1b[0m"),
    (0.4, "tests/test_$ident.py::test_$ident PASSED [ $1-99%]"),
    (0.5, "-rw-r--r-- 1 user user $10-99999 Jan $1-28 10:$10-59 $ident.py"),
    (0.6, '  File "/app/$ident/$ident.py", line $1-999, in $ident'),
    (0.7, "npm warn deprecated $ident@$0-9.$0-20.0: $ident is no longer supported"),
    (0.8, "$0-9.$0-99s INFO  [$ident] $ident -> $ident ok"),
    (1.0, "./src/$ident/$ident$ext:$1-900: $ident $ident"),
]
_SLOT = re.compile(r"\$(?:ident|Title|words|ext|(\d+)-(\d+))")


class Bank:
    """Pools of ready-made lines, from which documents are drawn with new tokens mixed in."""

    def __init__(self, seed: int) -> None:
        r = random.Random(f"bank:{seed}")
        self._names = list(dict.fromkeys(WORDS))
        self._names += [_make_name(r) for _ in range(24_000)]
        self._name_shares = _compute_shares(len(self._names), 6)
        self._word_shares = _compute_shares(len(WORDS), 3)
        self.code = [self._make_code_line(r) for _ in range(30_000)]
        self.logs = [self._fill_template(_LOGS, r, r.random()) for _ in range(20_000)]
        self.sentences = [self._make_sentence(r) for _ in range(12_000)]
        self.chinese = ["".join(r.choices(CHINESE, k=r.randint(6, 20))) + "。" for _ in range(3_000)]

    def draw_identifier(self, r: random.Random) -> str:
        """Draw a name; a few names are frequent, and most are rare."""
        return self._names[bisect(self._name_shares, r.random() * self._name_shares[-1])]

    def _draw_word(self, r: random.Random) -> str:
        return WORDS[bisect(self._word_shares, r.random() * self._word_shares[-1])]

    def _make_sentence(self, r: random.Random) -> str:
        words = " ".join(self._draw_word(r) for _ in range(r.randint(5, 16))).capitalize()
        name = f" `{self.draw_identifier(r)}`" if r.random() < 0.3 else ""
        return words + name + r.choice((".", ".", ":", "?"))

    def _make_code_line(self, r: random.Random) -> str:
        share = r.random()
        indent = "    " * r.choice((0, 1, 1, 2, 2, 3))
        return "" if share < _CODE[0][0] else indent + self._fill_template(_CODE, r, share)

    def _fill_template(
        self, templates: list[tuple[float, str | None]] | list[tuple[float, str]], r: random.Random, share: float
    ) -> str:
        template = next(text for limit, text in templates if share < limit)
        return _SLOT.sub(lambda slot: self._fill_slot(slot, r), template or "")

    def _fill_slot(self, slot: re.Match[str], r: random.Random) -> str:
        match slot[0]:
            case "$ident":
                return self.draw_identifier(r)
            case "$Title":
                return self.draw_identifier(r).title()
            case "$words":
                return " ".join(r.choices(WORDS, k=r.randint(3, 9)))
            case "$ext":
                return r.choice(ENDINGS)
        return str(r.randint(int(slot[1]), int(slot[2])))

    def draw_lines(self, pool: list[str], r: random.Random, count: int) -> list[str]:
        """Draw lines from a pool; about one line in 12 gets a token that occurs nowhere else."""
        lines: list[str] = []
        while count > 0:
            take = min(count, r.randint(20, 400))
            at = r.randrange(len(pool))
            lines += pool[at : at + take]
            count -= take
        for place in range(r.randrange(12), len(lines), 12):
            lines[place] += f" {r.getrandbits(40):010x}"
        return lines

    def make_prose(self, r: random.Random, chars: int, *, chinese: bool = False) -> str:
        """Make sentences of about `chars` characters in total."""
        pool = self.chinese if chinese else self.sentences
        count = max(1, chars // (34 if chinese else 62))
        return " ".join(pool[r.randrange(len(pool))] for _ in range(count))

    def make_markdown(self, r: random.Random, chars: int, *, chinese: bool = False) -> str:
        """Make about `chars` characters of Markdown."""
        parts, size = [], 0
        while size < chars:
            part = self._make_section(r, chinese)
            parts.append(part)
            size += len(part)
        text = "\n\n".join(parts)
        return text if chars > 200 else text[: max(20, chars)]

    def _make_section(self, r: random.Random, chinese: bool) -> str:
        share = r.random()
        if share < 0.45:
            return self.make_prose(r, r.randint(80, 400), chinese=chinese)
        if share < 0.55:
            return f"## {self.make_prose(r, 40, chinese=chinese)}"
        if share < 0.75:
            items = (
                f"- **{self.draw_identifier(r)}**: {self.make_prose(r, 80, chinese=chinese)}"
                for _ in range(r.randint(2, 6))
            )
            return "\n".join(items)
        if share < 0.92:
            language = r.choice(("python", "typescript", "bash", "json", "rust"))
            return f"```{language}\n" + "\n".join(self.draw_lines(self.code, r, r.randint(3, 20))) + "\n```"
        rows = "\n".join(f"| `{self.draw_identifier(r)}` | {r.randint(1, 9999)} |" for _ in range(4))
        return "| name | value |\n|---|---|\n" + rows


def _make_name(r: random.Random) -> str:
    parts = r.choices(WORDS, k=r.choice((2, 2, 2, 3)))
    style = r.random()
    if style < 0.5:
        return "_".join(parts)
    if style < 0.85:
        return parts[0] + "".join(part.title() for part in parts[1:])
    return "".join(part.title() for part in parts)


def _compute_shares(count: int, start: int) -> list[float]:
    """Return cumulative shares that follow Zipf's law."""
    return list(accumulate(1.0 / (place + start) for place in range(count)))
