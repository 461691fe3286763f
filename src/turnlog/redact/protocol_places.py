"""The places where only a secret can be: commands of protocols, calls of libraries, and some sentences.

To add a place, add a row: a string that the text must contain, in lower case, and an expression whose group `value` is
the secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from turnlog.redact.plausibility import (
    has_joined_words,
    has_letters_and_digits,
    is_password_like,
    is_placeholder,
    is_strong_secret,
)


def _is_password(value: str) -> bool:
    return is_password_like(value, quoted=True, sure=True)


def _is_conspicuous(value: str) -> bool:
    """Accept only what can't be the next word of a sentence."""
    if is_placeholder(value):
        return False
    return is_strong_secret(value) or (value[:1].isupper() and has_joined_words(value, sure=False))


def _is_encoded(value: str) -> bool:
    return len(value) >= 8 and not is_placeholder(value)


def _is_number(value: str) -> bool:
    return len(set(value)) > 1 and value not in "0123456789"


def _is_braced(value: str) -> bool:
    """Accept what ODBC has in braces, but no expression of a template."""
    return not re.fullmatch(r"[\w.\[\]()\"'!:]+|[{%$].*", value) and _is_password(value)


def _is_any(value: str) -> bool:
    return len(value) > 3


class SecretPlaceForm(NamedTuple):
    """A place where only a secret can be."""

    gate: str
    """A string that the lower-case text must contain."""
    expression: str
    check: Callable[[str], bool] = _is_password
    rule: str = "password"


_LINE = r"(?m)^[ \t]{0,20}(?:[CS]: ?|[-=<>*+]{1,4} ?)?"
_BREAK = r"(?:\r?\n|\\r\\n|\\n)"
_SPOKEN = r"[`\"'“]?(?P<value>[^\s`\"'”]{6,64}?)[`\"'”]?"
_QUOTED = r"[\"'`](?P<value>[^\"'`\n$]{4,300})[\"'`]"
_NAME_AFTER = (
    r"alue\\*[\"']?\s?[:=]\s?\\*[\"']?(?P<value>[^\s\"'\\,{}]{4,300})\\*[\"']?,?\s{1,40}\\*[\"']?(?:[Nn]ame|[Kk]ey)"
    r"\\*[\"']?\s?[:=]\s?\\*[\"']?[\w./-]{0,60}"
)
_AS_PASSWORD = ("as the pass", "as my pass", "as password", "as its pass", "for the pass", "as the admin pass")
SECRET_PLACES = (
    SecretPlaceForm(
        "passw",
        r"passw(?:or)?d(?:[^\n]{0,24} from \S{4,64} to |,? (?:just |please )?(?:type|enter|use|it'?s) )"
        rf"{_SPOKEN}[.,;!]?(?:\s|$)",
        _is_conspicuous,
    ),
    SecretPlaceForm(
        "passw",
        r"assw(?:or)?d[^\n()]{0,24}\){0,2}\.(?:type|fill|send_?[kK]eys|set_?(?:[vV]alue|[tT]ext)|enterText)\(\s?"
        + _QUOTED,
    ),
    *(
        SecretPlaceForm(
            gate,
            rf"\b(?:[Uu]s(?:e|ing)|[Ss]et|[Ww]ith) {_SPOKEN}"
            r" (?:as|for) (?:the |my |your |a |its )?(?:\w{1,20} )?passw",
            _is_conspicuous,
        )
        for gate in _AS_PASSWORD
    ),
    SecretPlaceForm(
        " login ",
        _LINE + r"[A-Za-z]{0,4}[0-9]{1,6} LOGIN (?:\"[^\"\n]{1,100}\"|[^\s\"]{1,100}) "
        r"(?:(?P<value>[^\s\"]{3,200})|\"(?P<quoted>[^\"\n]{3,200})\")",
    ),
    SecretPlaceForm("cache_peer", r"cache_peer [^\n]{1,200}? login=[^\s:]{1,64}:(?P<value>\S{3,200})"),
    SecretPlaceForm("login: ", r"ogin:? [\w.@+-]{2,64}[:/](?P<value>[^\s`\"',;]{6,64})", _is_conspicuous),
    SecretPlaceForm(
        "\npass ", r"\bUSER [^\n]{1,100}\n(?:[^\n]{0,160}\n){0,3}?[^\n\w]{0,12}PASS (?P<value>[^\s'\"]{3,200})"
    ),
    SecretPlaceForm(
        "> pass ", r"\bUSER [^\n]{1,100}\n(?:[^\n]{0,160}\n){0,3}?[^\n\w]{0,12}PASS (?P<value>[^\s'\"]{3,200})"
    ),
    SecretPlaceForm(
        "'pass ", r"\bUSER [^\n]{1,100}\n(?:[^\n]{0,160}\n){0,3}?[^\n\w]{0,12}PASS (?P<value>[^\s'\"]{3,200})"
    ),
    SecretPlaceForm("\npass ", r"(?:-> ?|\*cmd\* [\"'])PASS (?P<value>[^\s'\"*]{3,200})"),
    SecretPlaceForm("> pass ", r"(?:-> ?|\*cmd\* [\"'])PASS (?P<value>[^\s'\"*]{3,200})"),
    SecretPlaceForm("'pass ", r"(?:-> ?|\*cmd\* [\"'])PASS (?P<value>[^\s'\"*]{3,200})"),
    SecretPlaceForm("oauth:", _LINE + r"PASS (?P<value>oauth:[a-z0-9]{20,60})"),
    SecretPlaceForm(
        'send "',
        r"[Pp]assword: ?\\*[\"'}][^\n]{0,20}\n\s{0,20}(?:exp_)?send(?:line)?[^\"\n]{0,12}\"(?P<value>[^\"\\\n]{3,200})",
    ),
    SecretPlaceForm(
        "set password for",
        r"(?:SET PASSWORD FOR|set password for) [^\n=]{1,80}= ?(?:PASSWORD\()?'(?P<value>[^'\n]{3,200})'",
    ),
    SecretPlaceForm("username ", r"user(?:name)? [^\n]{0,60}?(?:password|secret) [05789] (?P<value>[^\s\"']{4,200})"),
    SecretPlaceForm(
        "echo ",
        r"echo (?:-n )?([\"']?)(?P<value>[^\s\"'|;&<>$`]{4,200})\1 >{1,2} ?[^\s|;&]{0,120}?pass[\w.-]{0,20}(?:\s|$)",
        _is_conspicuous,
    ),
    SecretPlaceForm(
        "(password", r"(?<=\w) / (?P<value>[^\s`\"'()]{6,64}) \((?:the )?(?:password|passwd|pw)\b", _is_conspicuous
    ),
    SecretPlaceForm(
        "(pw", r"(?<=\w) / (?P<value>[^\s`\"'()]{6,64}) \((?:the )?(?:password|passwd|pw)\b", _is_conspicuous
    ),
    SecretPlaceForm("pwd={", r"=\{(?:(?<=PWD=\{)|(?<=[Pp]wd=\{))(?P<value>[^}\n]{3,200})\}", _is_braced),
    SecretPlaceForm("password={", r"=\{(?<=assword=\{)(?P<value>[^}\n]{3,200})\}", _is_braced),
    SecretPlaceForm(
        "alue: ",
        _NAME_AFTER
        + r"(?:(?:pass|PASS|Pass)(?:w(?:or)?d|W(?:OR)?D)?|(?:secret|SECRET)(?:[_-](?:key|KEY))?|token|TOKEN)"
        r"(?=[\s\"'\\,}]|$)",
        rule="secret",
    ),
    SecretPlaceForm(
        'alue":',
        _NAME_AFTER
        + r"(?:(?:pass|PASS|Pass)(?:w(?:or)?d|W(?:OR)?D)?|(?:secret|SECRET)(?:[_-](?:key|KEY))?|token|TOKEN)"
        r"(?=[\s\"'\\,}]|$)",
        rule="secret",
    ),
    SecretPlaceForm(
        "alue=",
        _NAME_AFTER
        + r"(?:(?:pass|PASS|Pass)(?:w(?:or)?d|W(?:OR)?D)?|(?:secret|SECRET)(?:[_-](?:key|KEY))?|token|TOKEN)"
        r"(?=[\s\"'\\,}]|$)",
        rule="secret",
    ),
    SecretPlaceForm("enable secret", r"(?m)^[ \t]{0,8}enable secret (?:[0-9] )?(?P<value>[^\s\"']{4,200})$"),
    SecretPlaceForm(
        "auth plain ", r"AUTH(?:ENTICATE)? (?:PLAIN|XOAUTH2) (?P<value>[A-Za-z0-9+/]{8,4000}={0,2})", _is_encoded
    ),
    SecretPlaceForm(
        "xoauth2 ", r"AUTH(?:ENTICATE)? (?:PLAIN|XOAUTH2) (?P<value>[A-Za-z0-9+/]{8,4000}={0,2})", _is_encoded
    ),
    SecretPlaceForm("> auth ", r"> ?AUTH (?!PLAIN|LOGIN)(?:[\w.-]{1,64} )?(?P<value>[^\s\"']{3,200})\s{0,4}(?:\n|$)"),
    SecretPlaceForm(
        "$4",
        rf"\$4{_BREAK}(?:AUTH|auth){_BREAK}(?:\$\d{{1,3}}{_BREAK}\S{{1,64}}?{_BREAK}(?=\$))?"
        rf"\$\d{{1,3}}{_BREAK}(?P<value>[^\s\\]{{3,200}})",
    ),
    SecretPlaceForm("masterauth", r"(?m)^[ \t#]{0,8}masterauth (?P<value>\S{3,200})"),
    SecretPlaceForm("basicauth", r"(?m)^[ \t]{0,8}BasicAuth [\w.-]{1,64} (?P<value>\S{3,200})"),
    SecretPlaceForm("auth-user-pass", r"<auth-user-pass>\s{0,8}\n[^\n]{1,100}\n(?P<value>[^\s<]{3,200})"),
    SecretPlaceForm(
        "ugfzc3dvcmq6", r"UGFzc3dvcmQ6\s{0,4}\n[^\w\n]{0,6}(?:C: ?)?(?P<value>[A-Za-z0-9+/]{4,400}={0,2})", _is_encoded
    ),
    SecretPlaceForm(
        "nickserv", r"(?i)nickserv:? (?:identify|register) (?:\S{1,40} (?=\S))?(?P<value>[^\s\"';]{4,100})"
    ),
    SecretPlaceForm("setuser", r"SETUSER \S{1,64} [^\n]{0,200}?(?<= )>(?P<value>[^\s\"']{3,200})"),
    SecretPlaceForm("rootpw", r"(?m)^[ \t]{0,8}rootpw (?:--plaintext )?(?P<value>[^\s-]\S{2,200})"),
    SecretPlaceForm("community", r"(?m)^[ \t]{0,8}(?:r[ow]community6?|snmp-server community) (?P<value>\S{4,100})"),
    SecretPlaceForm("inline:", r"\binline:(?P<value>[A-Za-z0-9+/]{30,200}={0,2})", has_letters_and_digits, "key"),
    SecretPlaceForm("@tcp(", r"[\"'`=][\w.-]{1,64}:(?P<value>[^\s\"'`@]{3,100})@tcp\("),
    SecretPlaceForm("@unix(", r"[\"'`=][\w.-]{1,64}:(?P<value>[^\s\"'`@]{3,100})@unix\("),
    SecretPlaceForm("oracle:", r"jdbc:oracle:(?:thin|oci):[\w.-]{1,64}/(?P<value>[^\s\"'@/]{3,100})@"),
    SecretPlaceForm(
        "jwt.",
        r"\bjwt\.(?:sign|verify|encode|decode)\(\s{0,40}[\w.{}\[\]: ]{1,60},\s{0,40}"
        r"([\"'`])(?P<value>[^\"'`\n$]{4,300})\1",
        rule="secret",
    ),
    SecretPlaceForm("{aqaaab", r"(?P<value>\{AQAAAB[A-Za-z0-9+/=]{20,2000}\})", _is_any),
    SecretPlaceForm(
        'pin"', r"\\*\"(?:\w{1,20}[_-])?(?:pin|PIN)\\*\"\s?:\s?\\*\"(?P<value>[0-9]{4,8})\\*\"", _is_number
    ),
    SecretPlaceForm(
        "<<<", r"(?:sudo -S|passwd|-stdin|cryptsetup)[^\n<]{0,80}<<< ?\\*[\"']?(?P<value>[^\s\"'\\$]{4,200})"
    ),
    SecretPlaceForm(
        "data-urlencode",
        r"--data-urlencode \\*[\"'][\w.-]{0,40}(?:pass\w{0,8}|secret|token)=(?P<value>[^\"'\n\\]{3,200})",
    ),
    SecretPlaceForm("bundle config", r"bundle config (?:set )?(?:--\w+ )?\S{3,80} [\w.@-]{1,64}:(?P<value>\S{3,200})"),
    SecretPlaceForm("freerdp", r"freerdp[^\n]{0,300}? /p(?:assword)?:(?P<value>[^\s\"']{3,200})"),
    SecretPlaceForm(
        "pin is",
        r"PIN(?<![A-Za-z]PIN)(?: code| Code)?(?: (?:for|of|to)[^\n.:=]{1,40})?"
        r"(?: is|:| ?=) ?(?P<value>[0-9]{4,8})(?!\w|\.\d)",
        _is_number,
    ),
    SecretPlaceForm(
        "pin:",
        r"PIN(?<![A-Za-z]PIN)(?: code| Code)?(?: (?:for|of|to)[^\n.:=]{1,40})?"
        r"(?: is|:| ?=) ?(?P<value>[0-9]{4,8})(?!\w|\.\d)",
        _is_number,
    ),
    SecretPlaceForm(
        "pin for ",
        r"PIN(?<![A-Za-z]PIN)(?: code| Code)?(?: (?:for|of|to)[^\n.:=]{1,40})?"
        r"(?: is|:| ?=) ?(?P<value>[0-9]{4,8})(?!\w|\.\d)",
        _is_number,
    ),
    SecretPlaceForm(
        "pin code",
        r"PIN(?<![A-Za-z]PIN)(?: code| Code)?(?: (?:for|of|to)[^\n.:=]{1,40})?"
        r"(?: is|:| ?=) ?(?P<value>[0-9]{4,8})(?!\w|\.\d)",
        _is_number,
    ),
)
"""Searched for only near the start of long text."""
