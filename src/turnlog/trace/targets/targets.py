"""The configured targets, from the environment (see `variables`) and by name from `config.toml`.

    [trace]                                  # the defaults for all targets
    content = "redacted"                     # how the text is sent: full, redacted or none
    limit = 20000                            # the maximum number of characters sent per piece of text
    nest = false                             # true: nest calls below their generation
    user = "dana"                            # who the sessions belong to
    plain = false                            # true: credentials may be sent over http to other machines
    environment = true                       # false: ignore targets in environment variables

    [trace.targets.phoenix]
    endpoint = "http://127.0.0.1:6006"       # without a path, /v1/traces is added
    headers = { x-project-name = "claude" }
    headers_env = { authorization = "PHOENIX_AUTHORIZATION" }    # values from environment variables
    project = "demo"                         # distinguishes targets with the same address and different keys
    timeout = 10                             # seconds
    compression = "gzip"                     # or none
    certificate = "~/ca.pem"                 # certificates to trust instead of the usual ones

    [trace.targets.team]
    kind = "langfuse"                        # default: otlp
    endpoint = "https://langfuse.example"    # default: https://cloud.langfuse.com
    public_key = "pk-lf-…"
    secret_key_env = "TEAM_SECRET_KEY"       # the variable with the key; endpoint, public_key and user allow _env too

A target in the file replaces the target with the same name (`otel` or `langfuse`) from the environment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

from turnlog.errors import UsageError
from turnlog.network.addresses import check_headers, parse_target_address
from turnlog.trace.targets import address, variables
from turnlog.trace.targets.target import TraceTarget

NO_TARGET_REMEDY = (
    "set OTEL_EXPORTER_OTLP_ENDPOINT, or LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and TRACE_TO_LANGFUSE=true, or name a"
    " target in config.toml; see docs/trace.md"
)
"""What to do if no target is configured."""

_TARGET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHARED_KEYS = frozenset({"content", "limit", "nest", "user", "plain"})
_ENVIRONMENT_KEYS = ("endpoint", "public_key", "secret_key", "user")
_SECRET_KEYS = frozenset({"endpoint", "headers", "secret_key"})

ConfigTable = Mapping[str, Any]
ValueCheck = Callable[[Any], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_variable(value: object) -> bool:
    return isinstance(value, str) and bool(_VARIABLE_NAME.fullmatch(value))


def _are_texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(item, str) for item in value.values())


_BOOL_RULE: tuple[ValueCheck, str] = (lambda value: isinstance(value, bool), "true or false")
_TEXT_RULE: tuple[ValueCheck, str] = (_is_text, "a text")
_VARIABLE_RULE: tuple[ValueCheck, str] = (_is_variable, "the name of an environment variable")

# key -> the check for its value, and what the check expects
_VALUE_RULES: dict[str, tuple[ValueCheck, str]] = {
    "kind": (lambda value: value in ("otlp", "langfuse"), '"otlp" or "langfuse"'),
    "content": (lambda value: value in ("full", "redacted", "none"), '"full", "redacted" or "none"'),
    "limit": (lambda value: type(value) is int and value >= 1, "a whole number of characters, 1 or more"),
    "nest": _BOOL_RULE,
    "plain": _BOOL_RULE,
    "user": _TEXT_RULE,
    "endpoint": _TEXT_RULE,
    "project": _TEXT_RULE,
    "public_key": _TEXT_RULE,
    "secret_key": _TEXT_RULE,
    "certificate": _TEXT_RULE,
    "compression": (lambda value: value in ("gzip", "none"), '"gzip" or "none"'),
    "timeout": (lambda value: type(value) in (int, float) and 0 < value <= 600, "seconds, 600 at most"),
    "headers": (_are_texts, 'a table of strings such as { x-project-name = "claude" }'),
    "headers_env": (
        lambda value: isinstance(value, Mapping) and all(map(_is_variable, value.values())),
        "a table of names of environment variables",
    ),
    **{f"{name}_env": _VARIABLE_RULE for name in _ENVIRONMENT_KEYS},
}


def list_configured_targets(
    config: ConfigTable, environ: Mapping[str, str], names: Sequence[str] = ()
) -> list[TraceTarget]:
    """List the targets with the given names, or all targets; `config` is the file's [trace] table.

    Only the requested targets are checked, so a mistake in one target doesn't affect the others.
    """
    shared, tables = _split_config(config)
    makers: dict[str, Callable[[], TraceTarget]] = {}
    if config.get("environment", True):
        makers |= _find_environment_targets(environ, shared, is_named=variables.LANGFUSE_NAME in names)
    makers |= {name: partial(_build_from_table, name, table, environ, shared) for name, table in tables.items()}
    if unknown := next((name for name in names if name not in makers and not _is_closed(name, environ)), None):
        choices = f"choose one of {', '.join(makers)}" if makers else f"none is configured; {NO_TARGET_REMEDY}"
        raise UsageError(f"unknown target {unknown!r}; {choices}")
    chosen = dict.fromkeys(name for name in (names or makers) if name in makers)
    is_closed = variables.is_langfuse_allowed(environ) is False
    targets = [makers[name]() for name in chosen if not (is_closed and _is_langfuse(name, tables))]
    _check_distinct([target for target in targets if target.name in tables])
    return targets


def _check_distinct(targets: Sequence[TraceTarget]) -> None:
    """Refuse two tables for the same place: spans sent to one of them would never be sent to the other."""
    names: dict[str, str] = {}
    for target in targets:
        if (other := names.setdefault(target.key, target.name)) != target.name:
            raise UsageError(
                f"config.toml: targets {other} and {target.name} have the same destination, and nothing is sent there"
                ' twice; if their keys belong to different projects, add project = "…" to each'
            )


def require_targets(config: ConfigTable, environ: Mapping[str, str], names: Sequence[str] = ()) -> list[TraceTarget]:
    """List the targets; raise an error if there are none."""
    if targets := list_configured_targets(config, environ, names):
        return targets
    raise UsageError(f"no target is configured; {NO_TARGET_REMEDY}")


def _is_closed(name: str, environ: Mapping[str, str]) -> bool:
    """Return whether the environment both describes this target and forbids its use."""
    return name == variables.LANGFUSE_NAME and variables.is_langfuse_allowed(environ) is False


def _is_langfuse(name: str, tables: ConfigTable) -> bool:
    return tables[name].get("kind") == "langfuse" if name in tables else name == variables.LANGFUSE_NAME


def _split_config(config: ConfigTable) -> tuple[dict[str, Any], dict[str, ConfigTable]]:
    """Split the configuration into the defaults for all targets and the tables of named targets."""
    if not isinstance(config.get("environment", True), bool):
        raise UsageError(f"config.toml: [trace] environment = {config['environment']!r}: expected true or false")
    tables = config.get("targets", {})
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise UsageError("config.toml: [trace] targets: expected tables such as [trace.targets.mine]")
    for name in tables:
        if not _TARGET_NAME.fullmatch(name):
            raise UsageError(
                f"config.toml: {name!r} is not a valid target name: use at most 64 letters, digits, '.', '_' and '-'"
            )
    own = {key: value for key, value in config.items() if key not in ("targets", "environment")}
    return _check_table(own, "[trace]", _SHARED_KEYS | {"targets", "environment"}), dict(tables)


def _check_table(table: ConfigTable, where: str, known: frozenset[str] | set[str]) -> dict[str, Any]:
    """Check the keys and values of a table, because a misspelled `content` must not send more than intended."""
    for key, value in table.items():
        if key not in known:
            nearest = "".join(f"; did you mean {name!r}?" for name in get_close_matches(key, known, 1))
            raise UsageError(f"config.toml: {where}: unknown key {key!r}{nearest}")
        is_valid, expected = _VALUE_RULES[key]
        if not is_valid(value):
            shown_value = "" if key in _SECRET_KEYS else f" = {value!r}"
            raise UsageError(f"config.toml: {where} {key}{shown_value}: expected {expected}")
    return dict(table)


def _find_environment_targets(
    environ: Mapping[str, str], shared: ConfigTable, *, is_named: bool
) -> dict[str, Callable[[], TraceTarget]]:
    defaults = {key: value for key, value in shared.items() if key != "plain"}
    builders: dict[str, Callable[[], TraceTarget]] = {}
    if variables.has_otel(environ):
        builders[variables.OTEL_NAME] = lambda: variables.build_otel_target(environ, **defaults)
    is_open = variables.is_langfuse_allowed(environ) or (variables.is_langfuse_allowed(environ) is None and is_named)
    if is_open and variables.has_langfuse(environ):
        builders[variables.LANGFUSE_NAME] = lambda: variables.build_langfuse_from_environment(environ, **defaults)
    return {name: partial(_build_guarded, make, shared) for name, make in builders.items()}


def _build_guarded(make: Callable[[], TraceTarget], choices: ConfigTable) -> TraceTarget:
    return address.require_encryption(make(), plain=choices.get("plain", False))


def _build_from_table(name: str, table: ConfigTable, environ: Mapping[str, str], shared: ConfigTable) -> TraceTarget:
    """Build the target that a table in the file describes."""
    where = f"[trace.targets.{name}]"
    own = {**shared, **_resolve_variables(_check_table(table, where, {*_VALUE_RULES}), environ, where)}
    return _build_guarded(partial(_build_target, name, own, environ, f"config.toml: {where}"), own)


def _build_target(name: str, own: ConfigTable, environ: Mapping[str, str], where: str) -> TraceTarget:
    rest = {key: own[key] for key in ("content", "limit", "nest", "user", "timeout") if key in own}
    rest["compress"] = own["compression"] == "gzip" if "compression" in own else None
    rest["certificate"] = address.find_certificate(own.get("certificate"), where)
    headers = check_headers(own.get("headers", {}), where)
    is_langfuse = own.get("kind") == "langfuse"
    for key in ("public_key", "secret_key"):
        if is_langfuse and key not in own:
            raise UsageError(f"{where}: {key} is missing; Langfuse requires both keys of a project")
        if key in own and not is_langfuse:
            raise UsageError(f'{where} {key}: only allowed with kind = "langfuse"')
    if is_langfuse:
        host = own.get("endpoint", variables.LANGFUSE_CLOUD_URL)
        keys = own["public_key"], own["secret_key"]
        return variables.build_langfuse_target(name, host, f"{where} endpoint", *keys, environ, headers, **rest)
    if "endpoint" not in own:
        raise UsageError(f"{where}: endpoint is missing; set it to the address that spans are sent to")
    parts = parse_target_address(own["endpoint"], f"{where} endpoint")
    if parts.path in ("", "/"):
        parts = address.extend_path(parts, address.TRACES_PATH)
    url, sent = address.split_credentials(parts, headers)
    return TraceTarget(name, url, sent, own.get("project", ""), proxy=address.find_target_proxy(parts, environ), **rest)


def _resolve_variables(table: ConfigTable, environ: Mapping[str, str], where: str) -> dict[str, Any]:
    """Replace the `_env` keys of a table with the values of their variables."""
    resolved = {key: value for key, value in table.items() if not key.endswith("_env")}
    for key in _ENVIRONMENT_KEYS:
        if f"{key}_env" in table:
            resolved[key] = _read_variable(table[f"{key}_env"], environ, f"{where} {key}_env")
    if "headers_env" in table:
        named = table["headers_env"].items()
        more = {name: _read_variable(variable, environ, f"{where} headers_env") for name, variable in named}
        resolved["headers"] = {**resolved.get("headers", {}), **more}
    return resolved


def _read_variable(name: str, environ: Mapping[str, str], where: str) -> str:
    if value := environ.get(name, "").strip():
        return value
    raise UsageError(f"config.toml: {where}: the environment variable {name} is not set")
