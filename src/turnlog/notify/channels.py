"""The channels that notifications are sent through, as the user configured them.

    [notify.channels.desktop]                kind: desktop, terminal, webhook, slack, telegram or ntfy
    [notify.channels.terminal]               without `kind`, the name of the table is the kind
    style = "bell"                           or osc9, osc777

    [notify.channels.team]
    kind = "slack"
    url_env = "SLACK_WEBHOOK"                the variable that has the address; or url = "https://hooks.slack.com/…"

    [notify.channels.bot]
    kind = "telegram"
    token_env = "TELEGRAM_TOKEN"
    chat = "123456789"
    server = "https://api.telegram.org"      the default

    [notify.channels.phone]
    kind = "ntfy"
    topic_env = "NTFY_TOPIC"
    token_env = "NTFY_TOKEN"                 only if the topic is protected
    server = "https://ntfy.sh"               the default

    [notify.channels.mine]
    kind = "webhook"
    url = "https://example.com/hook"
    headers_env = { authorization = "HOOK_AUTHORIZATION" }

Every key with a secret has a variant that ends in `_env` and names an environment variable. Errors never contain the
value of such a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast, get_args
from urllib.parse import SplitResult, quote, unquote, urlsplit

from turnlog.errors import UsageError
from turnlog.network.addresses import (
    check_headers,
    encode_basic_credentials,
    find_proxy,
    format_public_address,
    is_loopback,
    parse_proxy_address,
    parse_target_address,
)

ChannelKind = Literal["desktop", "terminal", "webhook", "slack", "telegram", "ntfy"]
ContentLevel = Literal["none", "title", "text"]
TerminalStyle = Literal["bell", "osc9", "osc777"]
CHANNEL_KINDS: tuple[ChannelKind, ...] = get_args(ChannelKind)
CONTENT_LEVELS: tuple[ContentLevel, ...] = get_args(ContentLevel)
TERMINAL_STYLES: tuple[TerminalStyle, ...] = get_args(TerminalStyle)
LOCAL_KINDS = frozenset({"desktop", "terminal"})
"""Kinds that don't send anything to a server."""
BROWSER_NAME = "browser"
"""The open pages of `turnlog web`, which need no settings."""

_DEFAULT_SERVERS = {"telegram": "https://api.telegram.org", "ntfy": "https://ntfy.sh"}
_CHANNEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USUAL_VARIABLE_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
"""Anything else may be a secret that somebody has put where the name of its variable belongs."""
_TOPIC_NAME = re.compile(r"[-_A-Za-z0-9]{1,64}")
_TELEGRAM_TOKEN = re.compile(r"[0-9]+:[A-Za-z0-9_-]+")
_MIN_SECRET_CHARS = 4
_SECRET_KEYS = ("url", "token", "topic", "headers")
_KEYS: dict[ChannelKind, tuple[str, ...]] = {
    "desktop": ("content",),
    "terminal": ("content", "style"),
    "webhook": ("content", "url", "headers", "timeout", "certificate", "plain"),
    "slack": ("content", "url", "timeout", "certificate", "plain"),
    "telegram": ("content", "token", "chat", "server", "timeout", "certificate", "plain"),
    "ntfy": ("content", "topic", "token", "server", "timeout", "certificate", "plain"),
}
_REQUIRED_KEYS: dict[ChannelKind, tuple[str, ...]] = {
    "webhook": ("url",),
    "slack": ("url",),
    "telegram": ("token", "chat"),
    "ntfy": ("topic",),
}


class NotifyChannel(NamedTuple):
    """One way to reach the user; its text form contains no secret."""

    name: str
    kind: ChannelKind
    content: ContentLevel = "title"
    style: TerminalStyle = "bell"
    url: str = ""
    """Where messages are posted; empty for a local channel."""
    headers: Mapping[str, str] = MappingProxyType({})
    """Headers of each request, including the credentials."""
    chat: str | int = ""
    topic: str = ""
    timeout: float = 10.0
    certificate: str | None = None
    proxy: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether its messages stay on this machine."""
        return self.kind in LOCAL_KINDS

    @property
    def place(self) -> str:
        """Where its messages are sent, without secrets."""
        return self.kind if self.is_local else f"{self.kind} {format_public_address(urlsplit(self.url))}"

    def __repr__(self) -> str:
        return f"NotifyChannel({self.name!r}, {self.place!r})"

    def hide_secrets(self, text: str) -> str:
        """Remove the credentials from text such as a server's reply."""
        forms = {form for secret in self._iter_secrets() for form in (secret, quote(secret, safe=""), unquote(secret))}
        for form in sorted(forms, key=len, reverse=True):
            if len(form) >= _MIN_SECRET_CHARS:
                text = text.replace(form, "[secret]")
        return text

    def _iter_secrets(self) -> Iterator[str]:
        yield self.topic
        for value in self.headers.values():
            yield value
            yield value.partition(" ")[2]
        for address in (self.url, self.proxy or ""):
            parts = urlsplit(address)
            yield from (part for part in (address, parts.path, parts.query, parts.username, parts.password) if part)
            yield from (part for part in parts.path.split("/") if len(part) > 7)
            yield parts.path.removeprefix("/bot").partition("/")[0]


def parse_channels(
    tables: object, content: ContentLevel, environ: Mapping[str, str], where: str
) -> list[NotifyChannel]:
    """Parse the tables below [notify.channels]; `where` names the settings file."""
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise UsageError(f"{where}: [notify] channels: expected tables such as [notify.channels.desktop]")
    channels = []
    for name, table in tables.items():
        if not _CHANNEL_NAME.fullmatch(name) or name == BROWSER_NAME:
            remedy = (
                "the pages of `turnlog web` need no settings; remove it"
                if name == BROWSER_NAME
                else "use letters, digits, '.', '_' and '-', at most 64"
            )
            raise UsageError(f"{where}: {name!r} is not a valid name for a channel; {remedy}")
        channels.append(_parse_channel(name, table, content, environ, f"{where}: [notify.channels.{name}]"))
    return channels


def has_inline_secrets(tables: object) -> bool:
    """Return whether the settings file itself contains secrets, rather than names of environment variables."""
    values = tables.values() if isinstance(tables, Mapping) else ()
    return any(isinstance(table, Mapping) and any(key in table for key in _SECRET_KEYS) for table in values)


def _parse_channel(
    name: str, table: Mapping[str, Any], content: ContentLevel, environ: Mapping[str, str], where: str
) -> NotifyChannel:
    kind = table.get("kind", name)
    if kind not in CHANNEL_KINDS:
        problem = f"kind = {kind!r}" if "kind" in table else "kind is missing"
        raise UsageError(f"{where}: {problem}; use one of {', '.join(CHANNEL_KINDS)}")
    _check_keys(table, kind, where)
    values = _resolve_variables(table, environ, where)
    for key in _REQUIRED_KEYS.get(kind, ()):
        if key not in values:
            twin = f" or {key}_env" if key in _SECRET_KEYS else ""
            raise UsageError(f"{where}: {key} is missing; set {key}{twin}")
    common = {key: values[key] for key in ("content", "style", "timeout", "chat", "topic") if key in values}
    channel = NotifyChannel(name, kind, **{"content": content, **common})
    return channel if channel.is_local else _add_address(channel, values, environ, where)


_TEXT_RULE: tuple[Callable[[Any], bool], str] = (lambda value: isinstance(value, str) and bool(value.strip()), "a text")
_VALUE_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "content": (lambda value: value in CONTENT_LEVELS, '"none", "title" or "text"'),
    "style": (lambda value: value in TERMINAL_STYLES, '"bell", "osc9" or "osc777"'),
    "url": _TEXT_RULE,
    "token": _TEXT_RULE,
    "server": _TEXT_RULE,
    "certificate": _TEXT_RULE,
    "topic": (
        lambda value: isinstance(value, str) and bool(_TOPIC_NAME.fullmatch(value)),
        "letters, digits, '_' and '-', at most 64",
    ),
    "chat": (
        lambda value: type(value) is int or _TEXT_RULE[0](value),
        'the number of a chat, or "@channel"',
    ),
    "headers": (
        lambda value: isinstance(value, Mapping) and all(isinstance(item, str) for item in value.values()),
        'a table of texts such as { x-key = "…" }',
    ),
    "timeout": (lambda value: type(value) in (int, float) and 0 < value <= 120, "seconds, 120 at most"),
    "plain": (lambda value: isinstance(value, bool), "true or false"),
    "headers_env": (
        lambda value: isinstance(value, Mapping) and all(map(_is_variable, value.values())),
        "a table of names of environment variables",
    ),
}


def _is_variable(value: object) -> bool:
    return isinstance(value, str) and bool(_VARIABLE_NAME.fullmatch(value))


def _check_keys(table: Mapping[str, Any], kind: ChannelKind, where: str) -> None:
    known = [name for key in _KEYS[kind] for name in ((key, f"{key}_env") if key in _SECRET_KEYS else (key,))]
    for key, value in table.items():
        if key == "kind":
            continue
        if key not in known:
            nearest = "".join(f"; did you mean {name!r}?" for name in get_close_matches(key, known, 1))
            remedy = nearest or f"; {kind} has {', '.join(known)}"
            raise UsageError(f"{where}: unknown key {key!r}{remedy}")
        is_valid, expected = _VALUE_RULES.get(key, (_is_variable, "the name of an environment variable"))
        if not is_valid(value):
            text = "" if key.removesuffix("_env") in _SECRET_KEYS else f" = {value!r}"
            raise UsageError(f"{where} {key}{text}: expected {expected}")


def _resolve_variables(table: Mapping[str, Any], environ: Mapping[str, str], where: str) -> dict[str, Any]:
    """Replace the `_env` keys of a table with the values of their variables."""
    values = {key: value for key, value in table.items() if not key.endswith("_env")}
    for key in ("url", "token", "topic"):
        if f"{key}_env" in table:
            values[key] = _read_variable(table[f"{key}_env"], environ, f"{where} {key}_env")
    if "topic_env" in table and not _VALUE_RULES["topic"][0](values["topic"]):
        raise UsageError(f"{where} topic_env: expected {_VALUE_RULES['topic'][1]} in the variable")
    if "headers_env" in table:
        named = {
            name: _read_variable(variable, environ, f"{where} headers_env")
            for name, variable in table["headers_env"].items()
        }
        values["headers"] = {**values.get("headers", {}), **named}
    return values


def _read_variable(name: str, environ: Mapping[str, str], where: str) -> str:
    if value := environ.get(name, "").strip():
        return value
    variable = f"variable {name}" if _USUAL_VARIABLE_NAME.fullmatch(name) else "variable with this name"
    raise UsageError(f"{where}: the environment {variable} is not set")


def _add_address(
    channel: NotifyChannel, values: Mapping[str, Any], environ: Mapping[str, str], where: str
) -> NotifyChannel:
    key = "url" if "url" in values else "server"
    address = values.get(key) or _DEFAULT_SERVERS[channel.kind]
    parts = parse_target_address(cast("str", address), f"{where} {key}")
    headers = check_headers(values.get("headers", {}), f"{where} headers")
    if credentials := encode_basic_credentials(parts):
        headers = {"authorization": credentials, **headers}
        parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    if channel.kind == "telegram":
        if not _TELEGRAM_TOKEN.fullmatch(values["token"]):
            raise UsageError(f"{where} token: expected a bot token such as 123456:ABC…")
        parts = parts._replace(path=f"{parts.path.rstrip('/')}/bot{values['token']}/sendMessage")
    elif "token" in values:
        headers = check_headers({"authorization": f"Bearer {values['token']}"}, f"{where} token")
    parts = parts._replace(fragment="")
    _require_encryption(parts, values, where)
    proxy = find_proxy(parts, environ)
    if proxy is not None:
        parse_proxy_address(proxy)
    return channel._replace(
        url=parts.geturl(),
        headers=headers,
        proxy=proxy,
        certificate=_find_certificate(values.get("certificate"), where),
    )


def _require_encryption(parts: SplitResult, values: Mapping[str, Any], where: str) -> None:
    """Refuse to send messages and credentials over the network unencrypted."""
    if parts.scheme == "http" and not is_loopback(parts.hostname or "") and not values.get("plain", False):
        raise UsageError(
            f"{where}: messages to {format_public_address(parts)} would be sent unencrypted; use https,"
            " or set plain = true"
        )


def _find_certificate(path: str | None, where: str) -> str | None:
    if path is None:
        return None
    file = Path(path).expanduser()
    if not file.is_file():
        raise UsageError(f"{where} certificate: {file}: no such file")
    return str(file)
