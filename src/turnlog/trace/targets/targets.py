"""The targets that are configured: by the environment (see `variables`) and by name in `config.toml`.

    [trace]                                  # holds for every target that does not say otherwise
    content = "redacted"                     # how much of the texts is sent: full, redacted or none
    limit = 20000                            # characters that are sent of one text
    nest = false                             # true: calls stand under their generation
    user = "dana"                            # whom the sessions belong to
    plain = false                            # true: credentials may go over http to other machines
    environment = true                       # false: variables of the environment name no targets

    [trace.targets.phoenix]
    endpoint = "http://127.0.0.1:6006"       # /v1/traces is added where there is no path
    headers = { x-project-name = "claude" }
    headers_env = { authorization = "PHOENIX_AUTHORIZATION" }    # values that the environment has
    project = "demo"                         # tells two apart that have one address and differ only in their keys
    timeout = 10                             # seconds
    compression = "gzip"                     # or none
    certificate = "~/ca.pem"                 # certificates to trust instead of the usual ones

    [trace.targets.team]
    kind = "langfuse"                        # otlp without it
    endpoint = "https://langfuse.example"    # https://cloud.langfuse.com without it
    public_key = "pk-lf-…"
    secret_key_env = "TEAM_SECRET_KEY"       # the variable that has it; also with endpoint, public_key, user

A target of the file takes the place of the environment's of the same name (`otel`, `langfuse`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

from turnlog.errors import UsageError
from turnlog.trace.targets import address, variables
from turnlog.trace.targets.target import TraceTarget

NO_TARGET_REMEDY = (
    "set OTEL_EXPORTER_OTLP_ENDPOINT, or LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and TRACE_TO_LANGFUSE=true, or name a"
    " target in config.toml; see docs/trace.md"
)
"""What to do where no target is configured."""

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
_VARIABLE_RULE: tuple[ValueCheck, str] = (_is_variable, "the name of a variable of the environment")

# key -> what its value must be
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
    "headers": (_are_texts, 'a table of texts such as { x-project-name = "claude" }'),
    "headers_env": (
        lambda value: isinstance(value, Mapping) and all(map(_is_variable, value.values())),
        "a table of names of variables of the environment",
    ),
    **{f"{name}_env": _VARIABLE_RULE for name in _ENVIRONMENT_KEYS},
}


def list_configured_targets(
    config: ConfigTable, environ: Mapping[str, str], names: Sequence[str] = ()
) -> list[TraceTarget]:
    """The targets with some names, or all; `config` is the table [trace] of the file.

    Only what is asked for is looked at: a mistake in one target keeps nobody from using another.
    """
    shared, tables = _split_config(config)
    makers: dict[str, Callable[[], TraceTarget]] = {}
    if config.get("environment", True):
        makers |= _find_environment_targets(environ, shared, is_named=variables.LANGFUSE_NAME in names)
    makers |= {name: partial(_build_from_table, name, table, environ, shared) for name, table in tables.items()}
    if unknown := next((name for name in names if name not in makers and not _is_closed(name, environ)), None):
        there = f"there are: {', '.join(makers)}" if makers else f"there is none at all; {NO_TARGET_REMEDY}"
        raise UsageError(f"no target is called {unknown!r}; {there}")
    chosen = dict.fromkeys(name for name in (names or makers) if name in makers)
    is_closed = variables.is_langfuse_allowed(environ) is False
    found = [makers[name]() for name in chosen if not (is_closed and _is_langfuse(name, tables))]
    _check_distinct([target for target in found if target.name in tables])
    return found


def _check_distinct(found: Sequence[TraceTarget]) -> None:
    """Refuse two tables for one place: what one of them was sent, the other would never be."""
    names: dict[str, str] = {}
    for target in found:
        if (other := names.setdefault(target.key, target.name)) != target.name:
            raise UsageError(
                f"config.toml: targets {other} and {target.name} are one place, and nothing is sent there twice; if"
                ' their keys lead to different projects, say so: project = "…" in each'
            )


def require_targets(config: ConfigTable, environ: Mapping[str, str], names: Sequence[str] = ()) -> list[TraceTarget]:
    """The same where nothing can be done without a target."""
    if found := list_configured_targets(config, environ, names):
        return found
    raise UsageError(f"there is no target; {NO_TARGET_REMEDY}")


def _is_closed(name: str, environ: Mapping[str, str]) -> bool:
    """Whether a name is that of a target that the environment would have if it did not forbid it."""
    return name == variables.LANGFUSE_NAME and variables.is_langfuse_allowed(environ) is False


def _is_langfuse(name: str, tables: ConfigTable) -> bool:
    return tables[name].get("kind") == "langfuse" if name in tables else name == variables.LANGFUSE_NAME


def _split_config(config: ConfigTable) -> tuple[dict[str, Any], dict[str, ConfigTable]]:
    """What holds for every target, and the tables of the named ones."""
    if not isinstance(config.get("environment", True), bool):
        raise UsageError(f"config.toml: [trace] environment = {config['environment']!r}: expected true or false")
    tables = config.get("targets", {})
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise UsageError("config.toml: [trace] targets: expected tables such as [trace.targets.mine]")
    for name in tables:
        if not _TARGET_NAME.fullmatch(name):
            raise UsageError(
                f"config.toml: {name!r} is no name for a target: letters, digits, '.', '_' and '-', 64 at most"
            )
    own = {key: value for key, value in config.items() if key not in ("targets", "environment")}
    return _check_table(own, "[trace]", _SHARED_KEYS | {"targets", "environment"}), dict(tables)


def _check_table(table: ConfigTable, where: str, known: frozenset[str] | set[str]) -> dict[str, Any]:
    """A table whose keys are known and whose values fit: a misspelled `content` must not send more than was meant."""
    for key, value in table.items():
        if key not in known:
            nearest = "".join(f"; did you mean {name!r}?" for name in get_close_matches(key, known, 1))
            raise UsageError(f"config.toml: {where}: unknown key {key!r}{nearest}")
        fits, expected = _VALUE_RULES[key]
        if not fits(value):
            said = "" if key in _SECRET_KEYS else f" = {value!r}"
            raise UsageError(f"config.toml: {where} {key}{said}: expected {expected}")
    return dict(table)


def _find_environment_targets(
    environ: Mapping[str, str], shared: ConfigTable, *, is_named: bool
) -> dict[str, Callable[[], TraceTarget]]:
    choices = {key: value for key, value in shared.items() if key != "plain"}
    found: dict[str, Callable[[], TraceTarget]] = {}
    if variables.has_otel(environ):
        found[variables.OTEL_NAME] = lambda: variables.build_otel_target(environ, **choices)
    is_open = variables.is_langfuse_allowed(environ) or (variables.is_langfuse_allowed(environ) is None and is_named)
    if is_open and variables.has_langfuse(environ):
        found[variables.LANGFUSE_NAME] = lambda: variables.build_langfuse_from_environment(environ, **choices)
    return {name: partial(_build_guarded, make, shared) for name, make in found.items()}


def _build_guarded(make: Callable[[], TraceTarget], choices: ConfigTable) -> TraceTarget:
    return address.require_encryption(make(), plain=choices.get("plain", False))


def _build_from_table(name: str, table: ConfigTable, environ: Mapping[str, str], shared: ConfigTable) -> TraceTarget:
    """The target that a table of the file describes."""
    where = f"[trace.targets.{name}]"
    own = {**shared, **_resolve_variables(_check_table(table, where, {*_VALUE_RULES}), environ, where)}
    return _build_guarded(partial(_build_target, name, own, environ, f"config.toml: {where}"), own)


def _build_target(name: str, own: ConfigTable, environ: Mapping[str, str], where: str) -> TraceTarget:
    rest = {key: own[key] for key in ("content", "limit", "nest", "user", "timeout") if key in own}
    rest["compress"] = own["compression"] == "gzip" if "compression" in own else None
    rest["certificate"] = address.find_certificate(own.get("certificate"), where)
    headers = address.check_headers(own.get("headers", {}), where)
    is_langfuse = own.get("kind") == "langfuse"
    for key in ("public_key", "secret_key"):
        if is_langfuse and key not in own:
            raise UsageError(f"{where}: {key} is missing; Langfuse wants both keys of a project")
        if key in own and not is_langfuse:
            raise UsageError(f'{where} {key}: only with kind = "langfuse"')
    if is_langfuse:
        host = own.get("endpoint", variables.LANGFUSE_CLOUD_URL)
        keys = own["public_key"], own["secret_key"]
        return variables.build_langfuse_target(name, host, f"{where} endpoint", *keys, environ, headers, **rest)
    if "endpoint" not in own:
        raise UsageError(f"{where}: endpoint is missing; it says where the spans go")
    parts = address.parse_target_address(own["endpoint"], f"{where} endpoint")
    if parts.path in ("", "/"):
        parts = address.extend_path(parts, address.TRACES_PATH)
    url, sent = address.split_credentials(parts, headers)
    return TraceTarget(name, url, sent, own.get("project", ""), proxy=address.find_target_proxy(parts, environ), **rest)


def _resolve_variables(table: ConfigTable, environ: Mapping[str, str], where: str) -> dict[str, Any]:
    """A table with what the environment has for it."""
    found = {key: value for key, value in table.items() if not key.endswith("_env")}
    for key in _ENVIRONMENT_KEYS:
        if f"{key}_env" in table:
            found[key] = _read_variable(table[f"{key}_env"], environ, f"{where} {key}_env")
    if "headers_env" in table:
        named = table["headers_env"].items()
        more = {name: _read_variable(variable, environ, f"{where} headers_env") for name, variable in named}
        found["headers"] = {**found.get("headers", {}), **more}
    return found


def _read_variable(name: str, environ: Mapping[str, str], where: str) -> str:
    if value := environ.get(name, "").strip():
        return value
    raise UsageError(f"config.toml: {where}: the environment has no {name}; set it")
