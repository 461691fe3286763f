"""What joins the name of a secret to its value, in the notations of settings, code, markup, forms and sentences."""

from __future__ import annotations

import re
from typing import NamedTuple

SHELL_NAME = re.compile(r"[A-Z][A-Z0-9_]*$")
_VERBS = "is|was|are|ist|war|lautet|heißt|est|es|era|è|é"
_OF = (
    "for|of|to|on|at|in|für|fuer|vom|von|des|der|zum|zur|im|am|du|de|del|della|dello|do|da|dos|van|voor|pour|para|per"
    "|di|al|you|we|I"
)
"""Words that a sentence may have between a name and its value: `Passwort für den Drucker lautet: …`."""
_GAP = r"(?:\s|\\[rn]){0,40}+"
_MARKUP_END = r"(?:>|&gt;)"
_MARKUP_START = rf"{_GAP}(?:<!\[CDATA\[|(?:<|&lt;)(?:[A-Za-z]{{1,20}}:)?(?:[Vv]alue|string|text){_MARKUP_END})?{_GAP}"
_WRAPPERS = (
    r"String::from|String|Some|Just|crypt|SecretStr|SecretString|SecretString::from|Secret::new|Secret|Buffer\.from"
    r"|std::string|bytes|md5|sha1|sha256|ref|useState|strdup|PASSWORD|Redacted|literal|Optional\.of"
)
"""Calls whose argument is the value."""
_OTHER_PAIR = (
    r"(?:\s{0,8},\s{0,40}\\*[\"']?(?:[Tt]ype|[Kk]ind|[Ss]ensitive|[Dd]escription)\\*[\"']?\s?[:=]\s?"
    r"\\*[\"']?[\w -]{1,60}\\*[\"']?)?"
)
_LINE_END = r"(?:(?:\r|\\r)?(?:\n|\\n))"
JOINT_PATTERN = re.compile(
    r"(?P<close>\\*+[\"'`]?(?:\[\w{0,6}\]|\]|\*\*)?)(?:"
    r"(?P<encoded>%(?:25)?3[Dd]|(?:%22)?%3[Aa](?:%20|\+)?%22)|"
    rf"(?P<field>{_OTHER_PAIR}\s{{0,8}}+,?\s{{0,40}}+\\*+[\"']?(?:[Vv]alue|content)\\*+[\"']?\s?[:=]\s?"
    r"|\s?\{\s{1,40}(?:[a-z_]{1,20}\s{0,8}=\s?[^\n]{0,80}\n\s{0,40}){0,4}default\s{0,8}=\s?)"
    rf"|(?P<part>(?:{_LINE_END}[A-Za-z-]{{4,30}}: [^\n\\]{{1,80}})?{_LINE_END}{{2}})"
    r"|(?P<sign>\s{0,8}+(?::=|\?=|=>|={1,3}|:-(?=[^\s}])|:(?![:?])|:(?=: )|->)(?::(?= ))?(?:\*\*)?\s{0,8}+)"
    r"(?P<typed>[&A-Za-z][\w.\[\]|'& ]{0,30}?\s?=\s?(?=[\"'`]))?"
    r"(?:[&!][\w!:-]{1,30}[ \t]{1,8}|[|>][-+0-9]{0,2}[ \t]{0,4}(?:\r?\n|\\n)[ \t]{1,40})?"
    rf"(?:(?:new )?(?:{_WRAPPERS})?\(\s{{0,40}}+(?=[NnEebB]?\\*[\"'`]))?"
    r"|(?P<fallback>\.(?:value|text|current)\s?=\s?(?=\\*[\"'`])"
    r"|\\*[\"']?[\])]{0,2}\s?(?:\|\||\?\?|\bor\b)\s?(?=\\*[\"'`])|\s{1,8}PIC\s[^'\n]{1,40}?VALUE\s(?='))"
    r"|(?P<comma>\s?,\s{0,24}+|\()(?=\\*[\"'`])"
    rf"|(?P<markup>(?:\s[^<>\n]{{0,160}})?{_MARKUP_END}{_MARKUP_START}"
    rf"|(?:<|&lt;)/(?:key|name|Key|Name){_MARKUP_END}{_MARKUP_START})"
    rf"|(?P<said>[ \t](?:{_VERBS}|=|[–-]|for [^\s=]{{1,64}} ?=)[ \t]?:?\s{{1,3}}+|： ?|は ?)"
    rf"|(?P<far>[ \t](?:{_OF})[ \t][^\n:=.,;\"'`(){{}}<>|]{{1,48}}?(?::|[ \t](?:{_VERBS})[ \t]?:?)\s{{1,3}}+)"
    r"|(?P<changed>[ \t](?:to|from|auf|von|naar)[ \t])"
    r"|(?P<cell>[ \t]{0,40}+[|│][ \t]{1,40}+)"
    r"|(?P<space>[ \t]{0,40}+\\{1,8}+(?:\r?\n|n)[ \t]{0,40}+|\n[ \t]{0,40}+- (?!-)|[ \t]{1,40}+)"
    r")(?:[bBrRuUN]{1,2}(?=[\"']))?(?P<open>[„“«「『]\s?|\[\[|\\*+[\"'`]{0,3})"
)


class NameValueJoint(NamedTuple):
    """The text between a name and its value."""

    match: re.Match[str]
    is_flag: bool
    """Whether the name is an option: `--name`."""
    name: str
    start: int
    """Where the name starts."""

    @property
    def is_doubtful(self) -> bool:
        """True if what follows may be the rest of a sentence or list instead of a value."""
        joined = self.match
        follows = joined["comma"] or joined["said"] or self.is_far or joined["cell"] or joined["space"]
        return bool(follows) and not self.is_sure

    @property
    def is_far(self) -> bool:
        """True if other words come between the name and its value."""
        return bool(self.match["far"] or self.match["changed"])

    @property
    def is_sure(self) -> bool:
        """True if only a value can follow, as after an option or a shell variable without spaces."""
        joined = self.match
        if (self.is_flag and joined["space"]) or joined["markup"] or joined["part"] or joined["encoded"]:
            return True
        return bool((self.match["sign"] == "=" or self.match["comma"]) and SHELL_NAME.match(self.name))
