"""Tokens that tell by their form whose they are: the prefixes and lengths that providers document."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from binascii import Error
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from turnlog.redact.doubt import made_up, mixed, varied
from turnlog.redact.finding import Finding, Rank
from turnlog.redact.view import View

_BEFORE = 32
"""So far before a run a token may begin: `SG.`, `hooks.slack.com/services/`."""
# Where a token may begin: not inside of a word, but after an escape that ends in a letter.
_APART = r"(?<![A-Za-z0-9])"
_FREE = rf"(?:{_APART}|(?<=\\[nrtbf])|(?<=%[0-9A-F]{{2}})|(?<=\\x[0-9a-f]{{2}})|(?<=\\u[0-9a-fA-F]{{4}}))"
_ESCAPE = 6
"""An escape has at most so many characters."""
_BLIND = re.compile(r"~|%[0-9A-F]{2}|\\[nrtbfxu]")
"""What a token may begin after, or with, that the quick look does not know: escapes, and the start with `~`."""
_WORD = r"[A-Za-z0-9_-]"


class Form(NamedTuple):
    """What tokens of one kind look like."""

    name: str
    start: str
    """An expression for its first characters."""
    rest: str
    end: str = r"(?![A-Za-z0-9])"


FORMS = (
    Form("github", r"gh[pousr]_", r"[A-Za-z0-9]{36,255}+"),
    Form("github", r"github_pat_", r"\w{36,255}+"),
    Form("aws", r"A(?:KIA|SIA|BIA|CCA)", r"[A-Z2-7]{16}"),
    Form("aws", r"ABSK", r"[A-Za-z0-9+/]{100,300}+={0,2}"),
    Form("anthropic", r"sk-ant-", rf"{_WORD}{{20,255}}+"),
    Form("openrouter", r"sk-or-", rf"{_WORD}{{32,128}}+"),
    Form("openai", r"sk-", rf"{_WORD}{{20,255}}+"),
    Form("google", r"AIza", rf"{_WORD}{{35}}(?!{_WORD})"),
    Form("google", r"GOCSPX-", rf"{_WORD}{{20,64}}+"),
    Form("google", r"ya29\.", rf"{_WORD}{{20,2048}}+"),
    Form("google", r"1/(?=/0)", rf"/0{_WORD}{{30,256}}+"),
    Form("slack", r"xox[abeprso](?:\.xox[bp])?-", r"[A-Za-z0-9-]{10,255}+"),
    Form("slack", r"xapp-\d-", r"[A-Za-z0-9-]{20,255}+"),
    Form("slack", r"hooks\.slack\.com/(?:services|workflows|triggers)/", r"[A-Za-z0-9/]{20,255}+"),
    Form("stripe", r"sk_(?:live|test)_", r"[A-Za-z0-9]{16,255}+"),
    Form("stripe", r"rk_(?:live|test)_", r"[A-Za-z0-9]{16,255}+"),
    Form("stripe", r"whsec_", r"[A-Za-z0-9+/]{24,255}+={0,2}"),
    Form(
        "gitlab",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas|ffct)-",
        rf"{_WORD}{{20,300}}+(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{9}})?",
    ),
    Form("npm", r"npm_", r"[A-Za-z0-9]{36,255}+"),
    Form("pypi", r"pypi-A", rf"{_WORD}{{50,1000}}+"),
    Form("huggingface", r"hf_", r"[A-Za-z0-9]{30,64}+"),
    Form("huggingface", r"api_org_", r"[A-Za-z0-9]{30,64}+"),
    Form("sendgrid", r"SG\.", rf"{_WORD}{{16,32}}+\.{_WORD}{{16,64}}+"),
    Form("twilio", r"SK", r"[0-9a-f]{32}"),
    Form("azure", rf"{_WORD}{{3}}[78]Q~", r"[A-Za-z0-9_.~-]{31,34}"),
    Form("digitalocean", r"do[opr]_v1_", r"[0-9a-f]{64}"),
    Form("telegram", r"[0-9]{8,10}(?::|%3A)AA", rf"{_WORD}{{32,35}}+"),
    Form("discord", r"[MNO][DTjz]", rf"{_WORD}{{20,28}}+\.{_WORD}{{6}}\.{_WORD}{{27,40}}+"),
    Form("discord", r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/", rf"\d{{15,21}}/{_WORD}{{50,90}}+"),
    Form(
        "jwt",
        r"eyJ",
        rf"{_WORD}{{10,2000}}+\.{_WORD}{{0,16000}}+\.{_WORD}{{0,16000}}+(?:\.{_WORD}{{0,16000}}+\.{_WORD}{{1,99}}+)?",
    ),
    Form("shopify", r"shp(?:at|ca|pa|ss|tka)_", r"[0-9a-fA-F]{32}"),
    Form("linear", r"lin_(?:api|oauth)_", r"[A-Za-z0-9]{32,64}+"),
    Form("notion", r"ntn_", r"[A-Za-z0-9]{40,60}+"),
    Form("databricks", r"dapi", r"[0-9a-f]{32}(?:-\d)?"),
    Form("grafana", r"gl(?:sa|c)_", r"[A-Za-z0-9_+/]{32,400}+={0,2}"),
    Form("vault", r"hv[sbr]\.", rf"{_WORD}{{24,300}}+"),
    Form("docker", r"dckr_(?:pat|oat)_", rf"{_WORD}{{20,64}}+"),
    Form("planetscale", r"pscale_(?:tkn|pw|oauth)_", r"[A-Za-z0-9_.=-]{32,64}+"),
    Form("supabase", r"sb(?:p_|_secret_)", r"[A-Za-z0-9_]{30,64}+"),
    Form("groq", r"gsk_", r"[A-Za-z0-9]{40,64}+"),
    Form("xai", r"xai-", r"[A-Za-z0-9]{60,100}+"),
    Form("perplexity", r"pplx-", r"[A-Za-z0-9]{40,64}+"),
    Form("replicate", r"r8_", r"[A-Za-z0-9]{37,40}+"),
    Form("langsmith", r"lsv2_(?:pt|sk)_", r"[A-Za-z0-9_]{32,64}+"),
    Form("mailgun", r"key-", r"[0-9a-f]{32}"),
    Form("mailchimp", r"[0-9a-f]{32}-us", r"[0-9]{1,2}"),
    Form("newrelic", r"NRAK-", r"[A-Z0-9]{27}"),
    Form("postman", r"PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    Form("doppler", r"dp\.(?:st|ct|pt|sa|scim|audit)\.", r"(?:[a-z0-9_-]{1,35}+\.)?[A-Za-z0-9]{40,44}"),
    Form("private-key", r"AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    Form("atlassian", r"ATATT3", r"[A-Za-z0-9_=-]{100,300}+"),
    Form("figma", r"figd_", rf"{_WORD}{{36,64}}+"),
    Form("tavily", r"tvly-", rf"{_WORD}{{28,64}}+"),
    Form("sentry", r"sntry[su]_", r"[A-Za-z0-9+/=_-]{60,300}+"),
    Form("pinecone", r"pcsk_", r"[A-Za-z0-9_]{50,90}+"),
    Form("rubygems", r"rubygems_", r"[0-9a-f]{48}"),
    Form("elevenlabs", r"sk_", r"[0-9a-f]{48}"),
    Form("heroku", r"HRKU-", rf"{_WORD}{{30,70}}+"),
    Form("netlify", r"nf[poc]_", r"[A-Za-z0-9]{36,50}+"),
    Form("airtable", r"pat[A-Za-z0-9]{14}\.", r"[0-9a-f]{64}"),
    Form("square", r"sq0(?:atp|csp)-", rf"{_WORD}{{22,43}}+"),
)
FIRST, SECOND = "0-9a-hk-npr-twxyAGHMNOPS", "0-9a-fhijkl-qst-vyz/ABCDGIKMORST"
"""With which characters all starts begin but those with `~`: a look at two characters passes over most words."""
_SLOPPY = frozenset({"openai", "anthropic", "slack", "gitlab", "openrouter", "docker", "tavily"})
"""Their tokens may hold dashes, as words of a name do."""


class Tokens:
    """The rule for all of them: every token has a run, so each run is looked at."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the providers."""
        return tuple(dict.fromkeys(form.name for form in FORMS))

    def find(self, view: View) -> Iterator[Finding]:
        """Find the tokens of a text."""
        text, done = view.text, 0
        for start, end in _suspects(text, view.runs):
            at = max(done, start - _BEFORE)
            for finding in self._in_run(_start(_escapes(text, at, end)), text, at, end):
                yield finding
                done = finding.end
                if finding.rule == "aws":
                    yield from _beside(text, finding)

    def _in_run(self, start: re.Pattern[str], text: str, at: int, end: int) -> Iterator[Finding]:
        while begun := start.search(text, at, end):
            at = begun.start() + 1
            for form, expression in _whole():
                whole = expression.match(text, begun.start())
                if whole and _plausible(form, whole["start"], whole["rest"]):
                    at = whole.end()
                    first = whole.start("rest") if "/" in whole["start"] else begun.start()
                    yield Finding(first, at, form.name, Rank.TOKEN, text[first:at])
                    break


def _suspects(text: str, runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The runs with the start of a token in or before them, and those of which no quick look can tell."""
    if not runs:
        return []
    seen = _looked_at(text, runs)
    begins = _quick().search
    is_there = begins(seen) is not None
    is_blind = any(map(seen.__contains__, "~%\\")) and _BLIND.search(seen) is not None
    if not is_there and not is_blind:
        return []
    return [
        (start, end)
        for start, end in runs
        # The quick look wants a character before the token.
        if (is_there and (begins(text, start - _BEFORE - 1, end) if start > _BEFORE else begins(" " + text[:end])))
        or (is_blind and _BLIND.search(text, max(0, start - _BEFORE - _ESCAPE), end))
    ]


def _looked_at(text: str, runs: list[tuple[int, int]]) -> str:
    """The runs and what stands before each as one text: one look at all of them, for most texts have no token."""
    parts, first, last = [""], 0, 0
    for start, end in runs:
        if start - _BEFORE - _ESCAPE > last:
            parts.append(text[first:last])
            first = start - _BEFORE - _ESCAPE
        last = end
    parts.append(text[first:last])
    return "\n".join(parts)


def _escapes(text: str, start: int, end: int) -> bool:
    return text.find("\\", start, end) >= 0 or text.find("%", start, end) >= 0


@cache
def _start(escapes: bool) -> re.Pattern[str]:
    """What finds the start of any token."""
    return re.compile((_FREE if escapes else _APART) + _tree(FORMS))


@cache
def _quick() -> re.Pattern[str]:
    """What finds the start of any token and the character before it, except one with `~`, which may begin with any."""
    forms = [form for form in FORMS if not form.start.endswith("~")]
    return re.compile(rf"[^A-Za-z0-9](?=[{FIRST}][{SECOND}])" + _tree(forms))


def _tree(forms: Iterable[Form]) -> str:
    """The starts by their first letters, which is three times as quick as a list."""
    tree: dict[str, list[str]] = {}
    for form in forms:
        letter = form.start[0] if form.start[0].isalnum() else ""
        tree.setdefault(letter, []).append(form.start[len(letter) :])
    return "(?:" + "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in tree.items()) + ")"


@cache
def _whole() -> list[tuple[Form, re.Pattern[str]]]:
    return [(form, re.compile(f"(?P<start>{form.start})(?P<rest>{form.rest}){form.end}")) for form in FORMS]


_SECRET_KEY = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_NEAR = 400


def _plausible(form: Form, start: str, rest: str) -> bool:
    if made_up(rest) or not varied(rest):
        return False
    if form.name == "jwt":
        return _is_header(start + rest.partition(".")[0])
    if form.name == "discord" and "/" not in start:
        return _decoded(start + rest.partition(".")[0]).isdigit()
    if form.name in _SLOPPY:
        return mixed(rest) and max(map(len, re.split("[-_/.]", rest))) >= 10
    return True


def _is_header(part: str) -> bool:
    return b'"alg"' in _decoded(part) or b'"enc"' in _decoded(part)


def _decoded(part: str) -> bytes:
    try:
        return urlsafe_b64decode(part[: len(part) // 4 * 4] if len(part) % 4 == 1 else part + "=" * (-len(part) % 4))
    except (Error, ValueError):
        return b""


def _beside(text: str, key_id: Finding) -> Iterator[Finding]:
    """Find the secret half of an AWS key, which has no form of its own, near the half that has one."""
    start, end = max(0, key_id.start - _NEAR), min(len(text), key_id.end + _NEAR)
    for match in _SECRET_KEY.finditer(text, start, end):
        value = match[0]
        if mixed(value) and varied(value, 16) and not value.islower() and not value.isupper() and not made_up(value):
            yield Finding(*match.span(), "aws", Rank.TOKEN, value)
