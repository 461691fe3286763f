"""Tools that take a password at a fixed position on the command line, without an option."""

from __future__ import annotations

import re

OPTIONAL_QUOTE = r"(?:\\*[\"'])?"
PASSWORD_VALUE = OPTIONAL_QUOTE + r"(?P<value>[^\s\"'`\\|;&<>]{3,200}+)"
_LINE_CONTINUATION = r"\\{1,8}+(?:\r?\n|n)[ \t]{0,40}+"
ARGUMENT_GAP = rf"(?:[ \t]{{1,40}}+(?:{_LINE_CONTINUATION})?|{_LINE_CONTINUATION})"
"""What separates words: spaces, or a line continuation."""
_QUOTED_OR_BARE_VALUE = (
    r"(?:\\*(?P<quote>[\"'])(?P<quoted>[^\"'\n\\]{3,200}+)\\*(?P=quote)|(?P<value>[^\s\"'`|;<>(){}\\]{3,200}+))"
)
_SHELL_WORD = r"[^\s|;&]{1,200}+"
_SHELL_OPTIONS = rf"(?:-[^\s|;&]{{1,60}}+{ARGUMENT_GAP}){{0,6}}+"
PASSWORD_PLACES: dict[str, tuple[tuple[str, str], ...]] = {
    "pass": (
        (
            "htpasswd",
            rf"{ARGUMENT_GAP}-[a-z]*b[a-z]*{ARGUMENT_GAP}{_SHELL_OPTIONS}{_SHELL_WORD}{ARGUMENT_GAP}{_SHELL_WORD}{ARGUMENT_GAP}{PASSWORD_VALUE}",
        ),
        (
            "htpasswd",
            rf"{ARGUMENT_GAP}-(?:[a-z]*n[a-z]*b|[a-z]*b[a-z]*n)[a-z]*{ARGUMENT_GAP}{_SHELL_OPTIONS}{_SHELL_WORD}{ARGUMENT_GAP}{PASSWORD_VALUE}",
        ),
        ("wpa_passphrase", rf"{ARGUMENT_GAP}{_SHELL_WORD}{ARGUMENT_GAP}{_QUOTED_OR_BARE_VALUE}"),
        ("change_password", rf"{ARGUMENT_GAP}{_SHELL_WORD}{ARGUMENT_GAP}{PASSWORD_VALUE}"),
        (
            "openssl passwd",
            rf"{ARGUMENT_GAP}(?:-(?:salt{ARGUMENT_GAP}{_SHELL_WORD}|[a-z0-9]{{1,9}}){ARGUMENT_GAP}){{0,4}}+{PASSWORD_VALUE}",
        ),
        (
            "mosquitto_passwd",
            rf"{ARGUMENT_GAP}-[a-z]*b[a-z]*{ARGUMENT_GAP}{_SHELL_WORD}{ARGUMENT_GAP}{_SHELL_WORD}{ARGUMENT_GAP}{PASSWORD_VALUE}",
        ),
        ("requirepass", rf"{ARGUMENT_GAP}{PASSWORD_VALUE}"),
        ("chpasswd", rf"{ARGUMENT_GAP}?<<<{ARGUMENT_GAP}?{OPTIONAL_QUOTE}[^\s:\"']{{1,64}}:{PASSWORD_VALUE}"),
        ("wifi connect", rf"{ARGUMENT_GAP}{_SHELL_WORD}{ARGUMENT_GAP}password{ARGUMENT_GAP}{_QUOTED_OR_BARE_VALUE}"),
    ),
    "login": (
        ("vault login", rf"{ARGUMENT_GAP}{_SHELL_OPTIONS}(?:token=)?{PASSWORD_VALUE}"),
        ("cargo login", rf"{ARGUMENT_GAP}{_SHELL_OPTIONS}{PASSWORD_VALUE}"),
        (
            "machine",
            rf"\s+\S{{1,200}}\s+login\s+\S{{1,200}}\s+(?:account\s+\S{{1,200}}\s+)?password\s+{PASSWORD_VALUE}",
        ),
    ),
    "user": (
        ("add_user", rf"{ARGUMENT_GAP}{_SHELL_WORD}{ARGUMENT_GAP}{PASSWORD_VALUE}"),
        ("net user", rf"{ARGUMENT_GAP}[^\s/]{{1,64}}+{ARGUMENT_GAP}{PASSWORD_VALUE}{ARGUMENT_GAP}/"),
        (
            "user-secrets set",
            rf"{ARGUMENT_GAP}{OPTIONAL_QUOTE}[^\s\"']{{1,100}}+{OPTIONAL_QUOTE}{ARGUMENT_GAP}{_QUOTED_OR_BARE_VALUE}",
        ),
    ),
    "identified": (
        ("identified", r"\s{1,9}by\s{1,9}(?:password\s{1,9})?\\*'(?P<value>[^'\n\\]{3,200}+)"),
        (
            "identified",
            r"\s{1,9}by\s{1,9}\\*[\"]?(?=[^\s;]{0,60}[0-9])(?P<value>[^\s\"'`;,\\]{6,64}+)\\*[\"]?\s{0,9};",
        ),
    ),
    "secret": (
        (
            "configure set",
            rf"{ARGUMENT_GAP}\S{{0,40}}aws_(?:secret_access_key|session_token){ARGUMENT_GAP}{PASSWORD_VALUE}",
        ),
        ("secret set", rf"{ARGUMENT_GAP}{_SHELL_WORD}{ARGUMENT_GAP}(?:-b|--body)[ =]{_QUOTED_OR_BARE_VALUE}"),
        ("from-literal", rf"[= ]{OPTIONAL_QUOTE}[^\s=\"']{{1,80}}={_QUOTED_OR_BARE_VALUE}"),
    ),
    "http": (
        (
            "alias set",
            rf"{ARGUMENT_GAP}{_SHELL_WORD}{ARGUMENT_GAP}https?://{_SHELL_WORD}{ARGUMENT_GAP}{_SHELL_WORD}{ARGUMENT_GAP}{PASSWORD_VALUE}",
        ),
        ("http-basic.", rf"{_SHELL_WORD}{ARGUMENT_GAP}{_SHELL_WORD}{ARGUMENT_GAP}{PASSWORD_VALUE}"),
    ),
    "token": (("pypi-token.", rf"{_SHELL_WORD}{ARGUMENT_GAP}{PASSWORD_VALUE}"),),
    "net use": (
        (
            "net use",
            rf"{ARGUMENT_GAP}(?:[a-z*]:?{ARGUMENT_GAP})?\\\\{_SHELL_WORD}{ARGUMENT_GAP}(?:/user:{_SHELL_WORD}{ARGUMENT_GAP})?{PASSWORD_VALUE}",
        ),
    ),
    "sqlplus": (
        (
            "sqlplus",
            rf"{ARGUMENT_GAP}(?:-[a-z]{{1,9}}{ARGUMENT_GAP}){{0,3}}+[^\s/\"']{{1,64}}/(?P<value>[^\s@\"'/]{{3,100}}+)@",
        ),
    ),
    "securestring": (
        (
            "convertto-securestring",
            rf"(?:{ARGUMENT_GAP}-(?:asplaintext|force|string))*+{ARGUMENT_GAP}{_QUOTED_OR_BARE_VALUE}",
        ),
    ),
    "rclone obscure": (("rclone obscure", rf"{ARGUMENT_GAP}{PASSWORD_VALUE}"),),
}
"""By a word that several tools share: the text that the line must contain, in lower case, and what follows it."""
PIPED_PASSWORD = re.compile(
    r"(?:echo|printf) (?:-[neE]{1,3} )?(?:\\*[\"']?%s(?:\\+n)?\\*[\"']? )?\\*(?P<quote>[\"']?)"
    r"(?:[a-z_][a-z0-9_.-]{0,31}:)?(?P<value>(?<=[\"'])[^\"'\n$`\\]{4,100}+(?=\\*[\"'])|[^\s\"'|;&<>$`\\]{4,100}+)\\*(?P=quote)"
    r" ?\| ?(?:sudo )?(?:sudo -[a-zA-Z]{0,5}S|chpasswd|passwd --stdin|kinit|cryptsetup|smbpasswd|gpg --batch|openssl"
    r"|vncpasswd|pass insert|secret-tool|gh secret|wrangler secret|htpasswd -[a-zA-Z]{0,4}i|kubeseal"
    r"|(?:docker|podman|helm registry|gh auth|az|oc) login)"
)
"""A password that `echo` pipes to a tool."""
TO_SECURE_STRING = re.compile(
    r"\\*(?P<quote>[\"'])(?P<value>[^\"'\n\\]{3,200}+)\\*(?P=quote) ?\| ?ConvertTo-SecureString", re.IGNORECASE
)
"""A password that PowerShell pipes to `ConvertTo-SecureString`."""
