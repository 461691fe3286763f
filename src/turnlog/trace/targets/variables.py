"""Targets that variables of the environment name.

`otel`, as OpenTelemetry has it (what names TRACES wins over what does not):
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT    the address as it is
    OTEL_EXPORTER_OTLP_ENDPOINT           the address, to which /v1/traces is added
    OTEL_EXPORTER_OTLP[_TRACES]_HEADERS   name=value,name=value, percent-encoded
    OTEL_EXPORTER_OTLP[_TRACES]_TIMEOUT   milliseconds; 10000 without it
    OTEL_EXPORTER_OTLP[_TRACES]_COMPRESSION    gzip or none; without it gzip, but not on this machine
    OTEL_EXPORTER_OTLP[_TRACES]_PROTOCOL       http/protobuf; there is no other
    OTEL_EXPORTER_OTLP[_TRACES]_CERTIFICATE    a file of certificates to trust
    OTEL_SDK_DISABLED=true, OTEL_TRACES_EXPORTER=none    there is no such target

`langfuse`; each variable may have CC_ before it, which wins:
    LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY
    LANGFUSE_BASE_URL or LANGFUSE_HOST    https://cloud.langfuse.com without it
    LANGFUSE_USER_ID                      whom the sessions belong to
    TRACE_TO_LANGFUSE                     true: send; without it: only where the target is asked for by its name;
                                          anything else: nothing is sent to any Langfuse
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from turnlog.errors import UsageError
from turnlog.trace.targets import address
from turnlog.trace.targets.target import Target

OTEL, LANGFUSE = "otel", "langfuse"
CLOUD = "https://cloud.langfuse.com"
_PREFIX = "OTEL_EXPORTER_OTLP"

Environ = Mapping[str, str]


def has_otel(environ: Environ) -> bool:
    """Whether the environment names an OTLP endpoint."""
    if _is_true(environ, "OTEL_SDK_DISABLED") or environ.get("OTEL_TRACES_EXPORTER", "").strip() == "none":
        return False
    return _otel(environ, "ENDPOINT") is not None


def otel(environ: Environ, **choices: Any) -> Target:
    """The endpoint of OTEL_EXPORTER_OTLP_*."""
    name, value = _otel(environ, "ENDPOINT") or ("", "")
    parts = address.parsed(value, name)
    if name == f"{_PREFIX}_ENDPOINT":
        parts = address.extended(parts, address.TRACES)
    _check_protocol(environ)
    url, headers = address.with_credentials(parts, _headers(environ))
    return Target(
        OTEL,
        url,
        headers,
        timeout=_timeout(environ),
        compress=_compresses(environ),
        certificate=address.certificate(*reversed(_otel(environ, "CERTIFICATE") or ("", ""))),
        proxy=address.proxy(parts, environ),
        **choices,
    )


def gate(environ: Environ) -> bool | None:
    """Whether Langfuse may be sent to; None if TRACE_TO_LANGFUSE does not say."""
    said = environ.get("TRACE_TO_LANGFUSE", "").strip().lower()
    return said in ("true", "1") if said else None


def has_langfuse(environ: Environ) -> bool:
    """Whether the environment names a project of Langfuse."""
    return bool(_langfuse(environ, "PUBLIC_KEY") or _langfuse(environ, "SECRET_KEY"))


def langfuse(environ: Environ, **choices: Any) -> Target:
    """The project of LANGFUSE_*."""
    public, secret = _langfuse(environ, "PUBLIC_KEY"), _langfuse(environ, "SECRET_KEY")
    for key, name in ((public, "LANGFUSE_PUBLIC_KEY"), (secret, "LANGFUSE_SECRET_KEY")):
        if key is None:
            raise UsageError(f"{name} is not set, and Langfuse wants both keys of a project; set it")
    host = _langfuse(environ, "BASE_URL") or _langfuse(environ, "HOST") or CLOUD
    choices["user"] = _langfuse(environ, "USER_ID") or choices.get("user")
    return at_langfuse(LANGFUSE, host, "LANGFUSE_HOST", public or "", secret or "", environ, **choices)


def at_langfuse(
    name: str,
    host: str,
    where: str,
    public: str,
    secret: str,
    environ: Environ,
    headers: Environ | None = None,
    **rest: Any,
) -> Target:
    """A project of Langfuse, by its two keys."""
    parts = address.of_langfuse(address.parsed(host, where))
    own = {
        "authorization": "Basic " + b64encode(f"{public}:{secret}".encode()).decode(),
        "x-langfuse-ingestion-version": "4",  # without it what is sent shows only minutes later
        **(headers or {}),
    }
    url, headers = address.with_credentials(parts, own)
    return Target(name, url, headers, identity=public, proxy=address.proxy(parts, environ), **rest)


def _otel(environ: Environ, what: str) -> tuple[str, str] | None:
    """A variable of OpenTelemetry and what it says; an empty one counts as not set."""
    for name in (f"{_PREFIX}_TRACES_{what}", f"{_PREFIX}_{what}"):
        if value := environ.get(name, "").strip():
            return name, value
    return None


def _langfuse(environ: Environ, what: str) -> str | None:
    return next((value for cc in ("CC_", "") if (value := environ.get(f"{cc}LANGFUSE_{what}", "").strip())), None)


def _is_true(environ: Environ, name: str) -> bool:
    return environ.get(name, "").strip().lower() == "true"


def _headers(environ: Environ) -> dict[str, str]:
    name, value = _otel(environ, "HEADERS") or ("", "")
    found = {}
    for part in filter(None, (part.strip() for part in value.split(","))):
        key, is_pair, said = part.partition("=")
        if not is_pair:
            raise UsageError(f"{name}: expected name=value,name=value, percent-encoded")
        found[unquote(key.strip())] = unquote(said.strip())
    return address.headers(found, name)


def _check_protocol(environ: Environ) -> None:
    name, value = _otel(environ, "PROTOCOL") or ("", "http/protobuf")
    if value != "http/protobuf":
        raise UsageError(
            f"{name}={value}: only http/protobuf is spoken; set {_PREFIX}_TRACES_PROTOCOL and _TRACES_ENDPOINT, or put"
            " environment = false below [trace] in config.toml"
        )


def _timeout(environ: Environ) -> float:
    name, value = _otel(environ, "TIMEOUT") or ("", "10000")
    if not (value.isascii() and value.isdecimal()) or not 0 < int(value) <= 600_000:
        raise UsageError(f"{name}={value}: expected milliseconds, from 1 to 600000")
    return int(value) / 1000


def _compresses(environ: Environ) -> bool | None:
    if (found := _otel(environ, "COMPRESSION")) is None:
        return None
    name, value = found
    if value not in ("gzip", "none"):
        raise UsageError(f"{name}={value}: expected gzip or none")
    return value == "gzip"
