"""Targets in environment variables.

`otel`, as in OpenTelemetry (variables with TRACES take precedence):
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT    the address, used unchanged
    OTEL_EXPORTER_OTLP_ENDPOINT           the address, to which /v1/traces is added
    OTEL_EXPORTER_OTLP[_TRACES]_HEADERS   name=value,name=value, percent-encoded
    OTEL_EXPORTER_OTLP[_TRACES]_TIMEOUT   milliseconds (default: 10000)
    OTEL_EXPORTER_OTLP[_TRACES]_COMPRESSION    gzip or none (default: gzip, except on this machine)
    OTEL_EXPORTER_OTLP[_TRACES]_PROTOCOL       only http/protobuf is supported
    OTEL_EXPORTER_OTLP[_TRACES]_CERTIFICATE    a file of certificates to trust
    OTEL_SDK_DISABLED=true, OTEL_TRACES_EXPORTER=none    turn the target off

`langfuse`; each variable may have the prefix CC_, which takes precedence:
    LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY
    LANGFUSE_BASE_URL or LANGFUSE_HOST    default: https://cloud.langfuse.com
    LANGFUSE_USER_ID                      who the sessions belong to
    TRACE_TO_LANGFUSE                     true: send; unset: send only if the target is requested by name;
                                          anything else: send nothing to any Langfuse server
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from turnlog.errors import UsageError
from turnlog.network.addresses import check_headers, parse_target_address
from turnlog.trace.targets import address
from turnlog.trace.targets.target import TraceTarget

OTEL_NAME, LANGFUSE_NAME = "otel", "langfuse"
LANGFUSE_CLOUD_URL = "https://cloud.langfuse.com"
_OTEL_PREFIX = "OTEL_EXPORTER_OTLP"

Environ = Mapping[str, str]


def has_otel(environ: Environ) -> bool:
    """Return whether the environment specifies an OTLP endpoint."""
    if _is_true(environ, "OTEL_SDK_DISABLED") or environ.get("OTEL_TRACES_EXPORTER", "").strip() == "none":
        return False
    return _read_otel_variable(environ, "ENDPOINT") is not None


def build_otel_target(environ: Environ, **choices: Any) -> TraceTarget:
    """Build the target from OTEL_EXPORTER_OTLP_*."""
    name, value = _read_otel_variable(environ, "ENDPOINT") or ("", "")
    parts = parse_target_address(value, name)
    if name == f"{_OTEL_PREFIX}_ENDPOINT":
        parts = address.extend_path(parts, address.TRACES_PATH)
    _check_protocol(environ)
    url, headers = address.split_credentials(parts, _parse_headers(environ))
    return TraceTarget(
        OTEL_NAME,
        url,
        headers,
        timeout=_read_timeout(environ),
        compress=_read_compression(environ),
        certificate=address.find_certificate(*reversed(_read_otel_variable(environ, "CERTIFICATE") or ("", ""))),
        proxy=address.find_target_proxy(parts, environ),
        **choices,
    )


def is_langfuse_allowed(environ: Environ) -> bool | None:
    """Return whether sending to Langfuse is allowed, or None if TRACE_TO_LANGFUSE is not set."""
    value = environ.get("TRACE_TO_LANGFUSE", "").strip().lower()
    return value in ("true", "1") if value else None


def has_langfuse(environ: Environ) -> bool:
    """Return whether the environment specifies a Langfuse project."""
    return bool(_read_langfuse_variable(environ, "PUBLIC_KEY") or _read_langfuse_variable(environ, "SECRET_KEY"))


def build_langfuse_from_environment(environ: Environ, **choices: Any) -> TraceTarget:
    """Build the target from LANGFUSE_*."""
    public, secret = _read_langfuse_variable(environ, "PUBLIC_KEY"), _read_langfuse_variable(environ, "SECRET_KEY")
    for key, name in ((public, "LANGFUSE_PUBLIC_KEY"), (secret, "LANGFUSE_SECRET_KEY")):
        if key is None:
            raise UsageError(f"{name} is not set; Langfuse requires both keys of a project")
    host = (
        _read_langfuse_variable(environ, "BASE_URL") or _read_langfuse_variable(environ, "HOST") or LANGFUSE_CLOUD_URL
    )
    choices["user"] = _read_langfuse_variable(environ, "USER_ID") or choices.get("user")
    return build_langfuse_target(LANGFUSE_NAME, host, "LANGFUSE_HOST", public or "", secret or "", environ, **choices)


def build_langfuse_target(
    name: str,
    host: str,
    where: str,
    public: str,
    secret: str,
    environ: Environ,
    headers: Environ | None = None,
    **rest: Any,
) -> TraceTarget:
    """Build the target for a Langfuse project from its two keys."""
    parts = address.to_langfuse_address(parse_target_address(host, where))
    own = {
        "authorization": "Basic " + b64encode(f"{public}:{secret}".encode()).decode(),
        "x-langfuse-ingestion-version": "4",  # without this, spans appear minutes later
        **(headers or {}),
    }
    url, headers = address.split_credentials(parts, own)
    return TraceTarget(name, url, headers, identity=public, proxy=address.find_target_proxy(parts, environ), **rest)


def _read_otel_variable(environ: Environ, what: str) -> tuple[str, str] | None:
    """Return an OpenTelemetry variable and its value; an empty variable counts as not set."""
    for name in (f"{_OTEL_PREFIX}_TRACES_{what}", f"{_OTEL_PREFIX}_{what}"):
        if value := environ.get(name, "").strip():
            return name, value
    return None


def _read_langfuse_variable(environ: Environ, what: str) -> str | None:
    return next((value for cc in ("CC_", "") if (value := environ.get(f"{cc}LANGFUSE_{what}", "").strip())), None)


def _is_true(environ: Environ, name: str) -> bool:
    return environ.get(name, "").strip().lower() == "true"


def _parse_headers(environ: Environ) -> dict[str, str]:
    name, value = _read_otel_variable(environ, "HEADERS") or ("", "")
    headers = {}
    for part in filter(None, (part.strip() for part in value.split(","))):
        key, is_pair, text = part.partition("=")
        if not is_pair:
            raise UsageError(f"{name}: expected percent-encoded pairs such as name=value,name=value")
        headers[unquote(key.strip())] = unquote(text.strip())
    return check_headers(headers, name)


def _check_protocol(environ: Environ) -> None:
    name, value = _read_otel_variable(environ, "PROTOCOL") or ("", "http/protobuf")
    if value != "http/protobuf":
        raise UsageError(
            f"{name}={value}: only http/protobuf is supported; set {_OTEL_PREFIX}_TRACES_PROTOCOL and "
            f"{_OTEL_PREFIX}_TRACES_ENDPOINT, or put environment = false under [trace] in config.toml"
        )


def _read_timeout(environ: Environ) -> float:
    name, value = _read_otel_variable(environ, "TIMEOUT") or ("", "10000")
    if not (value.isascii() and value.isdecimal()) or not 0 < int(value) <= 600_000:
        raise UsageError(f"{name}={value}: expected a number of milliseconds from 1 to 600000")
    return int(value) / 1000


def _read_compression(environ: Environ) -> bool | None:
    if (variable := _read_otel_variable(environ, "COMPRESSION")) is None:
        return None
    name, value = variable
    if value not in ("gzip", "none"):
        raise UsageError(f"{name}={value}: expected gzip or none")
    return value == "gzip"
