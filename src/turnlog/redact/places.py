"""Tools that take a password at a fixed place of the line, without an option."""

from __future__ import annotations

import re

QUOTE = r"(?:\\*[\"'])?"
VALUE = QUOTE + r"(?P<value>[^\s\"'`\\|;&<>]{3,200}+)"
_GOES_ON = r"\\{1,8}+(?:\r?\n|n)[ \t]{0,40}+"
GAP = rf"(?:[ \t]{{1,40}}+(?:{_GOES_ON})?|{_GOES_ON})"
"""What separates words: spaces, or the end of a line that goes on."""
_QUOTED = r"(?:\\*(?P<quote>[\"'])(?P<quoted>[^\"'\n\\]{3,200}+)\\*(?P=quote)|(?P<value>[^\s\"'`|;<>(){}\\]{3,200}+))"
_WORD = r"[^\s|;&]{1,200}+"
_OPTIONS = rf"(?:-[^\s|;&]{{1,60}}+{GAP}){{0,6}}+"
PLACES: dict[str, tuple[tuple[str, str], ...]] = {
    "pass": (
        ("htpasswd", rf"{GAP}-[a-z]*b[a-z]*{GAP}{_OPTIONS}{_WORD}{GAP}{_WORD}{GAP}{VALUE}"),
        ("htpasswd", rf"{GAP}-(?:[a-z]*n[a-z]*b|[a-z]*b[a-z]*n)[a-z]*{GAP}{_OPTIONS}{_WORD}{GAP}{VALUE}"),
        ("wpa_passphrase", rf"{GAP}{_WORD}{GAP}{_QUOTED}"),
        ("change_password", rf"{GAP}{_WORD}{GAP}{VALUE}"),
        ("openssl passwd", rf"{GAP}(?:-(?:salt{GAP}{_WORD}|[a-z0-9]{{1,9}}){GAP}){{0,4}}+{VALUE}"),
        ("requirepass", rf"{GAP}{VALUE}"),
        ("chpasswd", rf"{GAP}?<<<{GAP}?{QUOTE}[^\s:\"']{{1,64}}:{VALUE}"),
        ("wifi connect", rf"{GAP}{_WORD}{GAP}password{GAP}{_QUOTED}"),
    ),
    "login": (
        ("vault login", rf"{GAP}{_OPTIONS}(?:token=)?{VALUE}"),
        ("cargo login", rf"{GAP}{_OPTIONS}{VALUE}"),
        ("machine", rf"\s+\S{{1,200}}\s+login\s+\S{{1,200}}\s+(?:account\s+\S{{1,200}}\s+)?password\s+{VALUE}"),
    ),
    "user": (
        ("add_user", rf"{GAP}{_WORD}{GAP}{VALUE}"),
        ("net user", rf"{GAP}[^\s/]{{1,64}}+{GAP}{VALUE}{GAP}/"),
        ("user-secrets set", rf"{GAP}{QUOTE}[^\s\"']{{1,100}}+{QUOTE}{GAP}{_QUOTED}"),
    ),
    "identified": (
        ("identified", r"\s{1,9}by\s{1,9}(?:password\s{1,9})?\\*'(?P<value>[^'\n\\]{3,200}+)"),
        (
            "identified",
            r"\s{1,9}by\s{1,9}\\*[\"]?(?=[^\s;]{0,60}[0-9])(?P<value>[^\s\"'`;,.\\]{6,64}+)\\*[\"]?\s{0,9};",
        ),
    ),
    "secret": (
        ("configure set", rf"{GAP}\S{{0,40}}aws_(?:secret_access_key|session_token){GAP}{VALUE}"),
        ("secret set", rf"{GAP}{_WORD}{GAP}(?:-b|--body)[ =]{_QUOTED}"),
        ("from-literal", rf"[= ]{QUOTE}[^\s=\"']{{1,80}}={_QUOTED}"),
    ),
    "http": (
        ("alias set", rf"{GAP}{_WORD}{GAP}https?://{_WORD}{GAP}{_WORD}{GAP}{VALUE}"),
        ("http-basic.", rf"{_WORD}{GAP}{_WORD}{GAP}{VALUE}"),
    ),
    "token": (("pypi-token.", rf"{_WORD}{GAP}{VALUE}"),),
    "net use": (("net use", rf"{GAP}(?:[a-z*]:?{GAP})?\\\\{_WORD}{GAP}(?:/user:{_WORD}{GAP})?{VALUE}"),),
    "sqlplus": (
        ("sqlplus", rf"{GAP}(?:-[a-z]{{1,9}}{GAP}){{0,3}}+[^\s/\"']{{1,64}}/(?P<value>[^\s@\"'/]{{3,100}}+)@"),
    ),
    "securestring": (("convertto-securestring", rf"(?:{GAP}-(?:asplaintext|force|string))*+{GAP}{_QUOTED}"),),
    "rclone obscure": (("rclone obscure", rf"{GAP}{VALUE}"),),
}
"""By a word that several of them need: what the line holds, in small letters, and what follows it."""
PIPED = re.compile(
    r"(?:echo|printf) (?:-[neE]{1,3} )?(?:\\*[\"']?%s(?:\\+n)?\\*[\"']? )?\\*(?P<quote>[\"']?)"
    r"(?:[a-z_][a-z0-9_.-]{0,31}:)?(?P<value>[^\s\"'|;&<>$`\\]{4,100}+)\\*(?P=quote)"
    r" ?\| ?(?:sudo )?(?:sudo -[a-zA-Z]{0,5}S|chpasswd|passwd --stdin|kinit|cryptsetup|smbpasswd|gpg --batch|openssl"
    r"|(?:docker|podman|helm registry|gh auth|az|oc) login)"
)
"""A password that `echo` hands to a tool."""
TO_SECURE_STRING = re.compile(
    r"\\*(?P<quote>[\"'])(?P<value>[^\"'\n\\]{3,200}+)\\*(?P=quote) ?\| ?ConvertTo-SecureString", re.IGNORECASE
)
"""A password that PowerShell hands on."""
