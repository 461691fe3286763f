"""Targets: what the environment and the file name, and a clear line about what is wrong with it."""

from __future__ import annotations

import re
import tomllib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from turnlog.api.config import load_config
from turnlog.errors import UsageError
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.targets.targets import NO_TARGET_REMEDY, list_configured_targets

KEYS = {"LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": "sk-lf-secret"}
LANGFUSE = {**KEYS, "TRACE_TO_LANGFUSE": "true"}
OTEL = "OTEL_EXPORTER_OTLP"
SECRET = "tok-very-secret"


def only(environ: Mapping[str, str], config: Mapping[str, Any] | None = None, *names: str) -> TraceTarget:
    (found,) = list_configured_targets(config or {}, environ, names)
    return found


def read_target(environ: Mapping[str, str] | None = None, **table: Any) -> TraceTarget:
    return only(environ or {}, {"targets": {"mine": table}})


def basic(pair: str) -> str:
    return "Basic " + b64encode(pair.encode()).decode()


def test_without_anything_there_is_no_target() -> None:
    assert list_configured_targets({}, {}) == []


def test_the_general_endpoint_gets_the_path_of_traces() -> None:
    for address in ("http://127.0.0.1:4318", "http://127.0.0.1:4318/", " http://127.0.0.1:4318 "):
        assert only({f"{OTEL}_ENDPOINT": address}).url == "http://127.0.0.1:4318/v1/traces"
    assert only({f"{OTEL}_ENDPOINT": "https://h/otlp/?a=b"}).url == "https://h/otlp/v1/traces?a=b"


def test_the_endpoint_for_traces_is_taken_as_it_is_and_wins() -> None:
    environ = {f"{OTEL}_ENDPOINT": "https://general", f"{OTEL}_TRACES_ENDPOINT": "https://special/in"}
    assert only(environ).url == "https://special/in"
    assert only({**environ, f"{OTEL}_TRACES_ENDPOINT": " "}).url == "https://general/v1/traces"


def test_the_variables_of_opentelemetry_are_heard(tmp_path: Path) -> None:
    trusted = tmp_path / "ca.pem"
    trusted.touch()
    found = only(
        {
            f"{OTEL}_ENDPOINT": "https://h",
            f"{OTEL}_HEADERS": "Authorization=Bearer%20abc%3D, x-project-name = claude code,",
            f"{OTEL}_TIMEOUT": "2500",
            f"{OTEL}_COMPRESSION": "none",
            f"{OTEL}_PROTOCOL": "http/protobuf",
            f"{OTEL}_CERTIFICATE": str(trusted),
            "HTTPS_PROXY": "proxy:3128",
        }
    )
    assert found.name == "otel"
    assert found.headers == {"authorization": "Bearer abc=", "x-project-name": "claude code"}
    assert (found.timeout, found.compress, found.certificate) == (2.5, False, str(trusted))
    assert found.proxy == "http://proxy:3128"


def test_what_is_said_of_traces_wins_over_what_is_said_in_general() -> None:
    found = only(
        {
            f"{OTEL}_ENDPOINT": "https://h",
            f"{OTEL}_HEADERS": "a=general",
            f"{OTEL}_TRACES_HEADERS": "b=special",
            f"{OTEL}_PROTOCOL": "grpc",
            f"{OTEL}_TRACES_PROTOCOL": "http/protobuf",
        }
    )
    assert found.headers == {"b": "special"}


@pytest.mark.parametrize("more", [{"OTEL_SDK_DISABLED": "TRUE"}, {"OTEL_TRACES_EXPORTER": "none"}])
def test_opentelemetry_can_be_switched_off(more: dict[str, str]) -> None:
    assert list_configured_targets({}, {f"{OTEL}_ENDPOINT": "https://h", **more}) == []


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("ENDPOINT", "localhost:4318", "must start with https://"),
        ("ENDPOINT", "https://h:99999", "OTEL_EXPORTER_OTLP_ENDPOINT is not a valid address"),
        ("ENDPOINT", "https://[::1", "is not a valid address"),
        ("ENDPOINT", "https://h/ä", "percent-encode spaces"),
        ("TRACES_ENDPOINT", "ftp://h", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not a valid address"),
        ("PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc: only http/protobuf"),
        ("TRACES_PROTOCOL", "http/json", "only http/protobuf"),
        ("TIMEOUT", "10s", "expected a number of milliseconds"),
        ("TIMEOUT", "0", "expected a number of milliseconds"),
        ("COMPRESSION", "zstd", "expected gzip or none"),
        ("CERTIFICATE", "/no/such.pem", "no such file; the path is set in OTEL_EXPORTER_OTLP_CERTIFICATE"),
        ("HEADERS", f"{SECRET}", "such as name=value"),
        ("HEADERS", f"a=x%0d%0ab: {SECRET}", "contains invalid characters"),
        ("HEADERS", f"a b={SECRET}", "contains invalid characters"),
        ("HEADERS", f"Content-Type={SECRET}", "header 'Content-Type' can't be set"),
    ],
)
def test_a_mistake_in_a_variable_is_told_in_a_line_without_a_secret(variable: str, value: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)) as told:
        list_configured_targets({}, {f"{OTEL}_ENDPOINT": "https://h", f"{OTEL}_{variable}": value})
    assert SECRET not in str(told.value)
    assert "\n" not in str(told.value)


def test_a_proxy_that_cant_be_used_is_told() -> None:
    with pytest.raises(UsageError, match="this proxy is not supported"):
        list_configured_targets({}, {f"{OTEL}_ENDPOINT": "https://h", "ALL_PROXY": "socks5://me:word@h"})


def test_langfuse_is_sent_to_as_it_documents() -> None:
    found = only(LANGFUSE)
    assert (found.name, found.url) == ("langfuse", "https://cloud.langfuse.com/api/public/otel/v1/traces")
    assert found.headers == {"authorization": basic("pk-lf-1:sk-lf-secret"), "x-langfuse-ingestion-version": "4"}


@pytest.mark.parametrize(
    "host", ["https://h/lf", "https://h/lf/", "https://h/lf/api/public/otel", "https://h/lf/api/public/otel/v1/traces/"]
)
def test_the_host_of_langfuse_may_have_any_of_its_paths(host: str) -> None:
    assert only({**LANGFUSE, "LANGFUSE_HOST": host}).url == "https://h/lf/api/public/otel/v1/traces"


def test_variables_with_cc_win() -> None:
    own = {"CC_LANGFUSE_PUBLIC_KEY": "pk-2", "CC_LANGFUSE_SECRET_KEY": "sk-2", "CC_LANGFUSE_BASE_URL": "https://mine"}
    found = only({**LANGFUSE, "LANGFUSE_HOST": "https://other", "LANGFUSE_USER_ID": "dana", **own})
    assert found.headers["authorization"] == basic("pk-2:sk-2")
    assert (found.url, found.user) == ("https://mine/api/public/otel/v1/traces", "dana")


def test_trace_to_langfuse_is_the_gate() -> None:
    assert list_configured_targets({}, KEYS) == []
    assert list_configured_targets({}, {**KEYS, "TRACE_TO_LANGFUSE": "false"}) == []
    assert len(list_configured_targets({}, {**KEYS, "TRACE_TO_LANGFUSE": "True"})) == 1


def test_a_langfuse_that_is_asked_for_by_name_needs_no_gate_but_a_closed_one_stays_closed() -> None:
    assert only(KEYS, {}, "langfuse").name == "langfuse"
    assert list_configured_targets({}, {**KEYS, "TRACE_TO_LANGFUSE": "false"}, ["langfuse"]) == []


def test_a_closed_gate_holds_for_every_langfuse() -> None:
    config = {
        "targets": {
            "team": {"kind": "langfuse", "public_key": "pk", "secret_key": "secret"},
            "other": {"endpoint": "https://h"},
        }
    }
    assert [target.name for target in list_configured_targets(config, {})] == ["team", "other"]
    assert [target.name for target in list_configured_targets(config, {"TRACE_TO_LANGFUSE": "0"})] == ["other"]


@pytest.mark.parametrize("missing", [*KEYS])
def test_one_key_of_langfuse_alone_is_a_mistake(missing: str) -> None:
    with pytest.raises(UsageError, match=f"{missing} is not set"):
        list_configured_targets({}, {name: value for name, value in LANGFUSE.items() if name != missing})


def test_several_targets_hold_at_once_and_can_be_chosen_by_name() -> None:
    config = {"targets": {"mine": {"endpoint": "https://h"}}}
    environ = {**LANGFUSE, f"{OTEL}_ENDPOINT": "https://o"}
    assert [target.name for target in list_configured_targets(config, environ)] == ["otel", "langfuse", "mine"]
    assert [target.name for target in list_configured_targets(config, environ, ["mine", "otel", "mine"])] == [
        "mine",
        "otel",
    ]


def test_a_mistake_in_one_target_keeps_nobody_from_another() -> None:
    config = {"targets": {"good": {"endpoint": "https://h"}, "bad": {"endpoint": "nowhere"}}}
    environ = {f"{OTEL}_ENDPOINT": "http://c:4317", f"{OTEL}_PROTOCOL": "grpc"}
    assert only(environ, config, "good").name == "good"
    with pytest.raises(UsageError, match="grpc"):
        list_configured_targets(config, environ)


def test_a_name_that_no_target_has_is_told_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="unknown target 'x'; choose one of otel"):
        list_configured_targets({}, {f"{OTEL}_ENDPOINT": "https://h"}, ["x"])
    with pytest.raises(UsageError, match="none is configured; set OTEL_EXPORTER_OTLP_ENDPOINT") as told:
        list_configured_targets({}, {}, ["x"])
    assert NO_TARGET_REMEDY in str(told.value)


def test_the_environment_can_be_left_out() -> None:
    assert list_configured_targets({"environment": False}, {**LANGFUSE, f"{OTEL}_ENDPOINT": "https://h"}) == []


def test_a_target_of_the_file_takes_the_place_of_the_environments() -> None:
    assert only(LANGFUSE, {"targets": {"langfuse": {"endpoint": "https://mine"}}}).url == "https://mine/v1/traces"


def test_an_endpoint_of_the_file_gets_a_path_where_it_has_none() -> None:
    assert read_target(endpoint="https://h").url == "https://h/v1/traces"
    assert read_target(endpoint="https://h/own/path").url == "https://h/own/path"


def test_a_table_says_everything_about_its_target(tmp_path: Path) -> None:
    trusted = tmp_path / "ca.pem"
    trusted.touch()
    found = read_target(
        {"MY_AUTH": "Bearer abc"},
        endpoint="https://h",
        headers={"X-Project-Name": "claude"},
        headers_env={"Authorization": "MY_AUTH"},
        content="none",
        limit=5,
        nest=True,
        user="dana",
        timeout=1.5,
        compression="none",
        certificate=str(trusted),
    )
    assert found == TraceTarget(
        "mine",
        "https://h/v1/traces",
        {"x-project-name": "claude", "authorization": "Bearer abc"},
        content="none",
        limit=5,
        nest=True,
        user="dana",
        timeout=1.5,
        compress=False,
        certificate=str(trusted),
    )


def test_a_langfuse_of_the_file_has_its_secret_from_the_environment() -> None:
    found = read_target(
        {"S": "sk-9", "U": "dana"}, kind="langfuse", public_key="pk-9", secret_key_env="S", user_env="U"
    )
    assert found.headers["authorization"] == basic("pk-9:sk-9")
    assert (found.url, found.user) == ("https://cloud.langfuse.com/api/public/otel/v1/traces", "dana")


def test_what_stands_above_the_targets_holds_for_all_that_say_nothing_else() -> None:
    shared = {"content": "none", "limit": 9, "nest": True, "user": "dana"}
    config = {**shared, "targets": {"a": {"endpoint": "https://h"}, "b": {"endpoint": "https://i", "content": "full"}}}
    found = list_configured_targets(config, {**LANGFUSE, f"{OTEL}_ENDPOINT": "https://h"})
    assert [(each.content, each.limit, each.nest, each.user) for each in found] == [
        *[("none", 9, True, "dana")] * 3,
        ("full", 9, True, "dana"),
    ]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "endpoint is missing"),
        ({"endpont": "https://h"}, "unknown key 'endpont'; did you mean 'endpoint'?"),
        ({"endpoint": "https://h", "conten": "none"}, "did you mean 'content'?"),
        ({"endpoint": "https://h", "content": "some"}, 'content = \'some\': expected "full", "redacted" or "none"'),
        ({"endpoint": "https://h", "content": ["none"]}, 'expected "full"'),
        ({"endpoint": "https://h", "limit": True}, "limit = True: expected a whole number"),
        ({"endpoint": "https://h", "limit": 0}, "1 or more"),
        ({"endpoint": "https://h", "nest": "yes"}, "expected true or false"),
        ({"endpoint": "https://h", "timeout": -1}, "expected seconds"),
        ({"endpoint": "https://h", "user": 7}, "expected a text"),
        ({"endpoint": 7}, "endpoint: expected a text"),
        ({"endpoint": "nowhere"}, "config.toml: [trace.targets.mine] endpoint is not a valid address"),
        ({"endpoint": "https://h", "kind": "jaeger"}, 'expected "otlp" or "langfuse"'),
        ({"endpoint": "https://h", "headers": {"a": 1, "b": SECRET}}, "headers: expected a table of strings"),
        ({"endpoint": "https://h", "headers": [SECRET]}, "headers: expected a table of strings"),
        ({"endpoint": "https://h", "headers": {"a": f"{SECRET}\n"}}, "contains invalid characters"),
        ({"endpoint": "https://h", "headers_env": {"a": "no name"}}, "names of environment variables"),
        (
            {"endpoint": "https://h", "headers_env": {"a": "MISSING"}},
            "headers_env: the environment variable MISSING is not set",
        ),
        ({"endpoint": "https://h", "secret_key": SECRET}, 'secret_key: only allowed with kind = "langfuse"'),
        ({"kind": "langfuse", "secret_key": SECRET}, "public_key is missing"),
        ({"kind": "langfuse", "public_key": "pk", "secret_key": ["x", SECRET]}, "secret_key: expected a text"),
        ({"kind": "langfuse", "public_key": "pk", "secret_key_env": "NO"}, "the environment variable NO is not set"),
        ({"endpoint": "https://h", "certificate": "/no/such"}, "no such file"),
        ({"endpoint": f"http://h?key={SECRET}"}, "credentials would be sent unencrypted"),
    ],
)
def test_a_mistake_in_a_table_is_told_in_a_line_without_a_secret(table: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)) as told:
        read_target(**table)
    assert "mine" in str(told.value)
    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"targets": []}, "expected tables"),
        ({"targets": {"a": 1}}, "expected tables"),
        ({"targets": {"a b": {"endpoint": "https://h"}}}, "is not a valid target name"),
        ({"targets": {"../x": {"endpoint": "https://h"}}}, "is not a valid target name"),
        ({"content": "all"}, "[trace] content = 'all'"),
        ({"contents": "none"}, "[trace]: unknown key 'contents'; did you mean 'content'?"),
        ({"endpoint": "https://h"}, "unknown key 'endpoint'"),
        ({"environment": "no"}, "expected true or false"),
    ],
)
def test_a_mistake_above_the_targets_is_told(config: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        list_configured_targets(config, {})


def test_credentials_go_unencrypted_to_no_other_machine_unless_it_is_allowed() -> None:
    environ = {**LANGFUSE, "LANGFUSE_HOST": "http://langfuse:3000"}
    with pytest.raises(UsageError, match="langfuse: http://langfuse:3000: credentials would be sent unencrypted"):
        list_configured_targets({}, environ)
    assert only(environ, {"plain": True}).url.startswith("http://langfuse:3000/")
    assert only({**LANGFUSE, "LANGFUSE_HOST": "http://localhost:3000"}).url.startswith("http://localhost:3000/")
    assert only({f"{OTEL}_ENDPOINT": "http://collector:4318"}).headers == {}
    assert read_target(endpoint="http://h", headers={"authorization": "Bearer x"}, plain=True).headers


def test_user_and_password_of_an_address_are_sent_as_a_header() -> None:
    found = read_target(endpoint="https://me:w%40rd@h:8443/in")
    assert (found.url, found.headers) == ("https://h:8443/in", {"authorization": basic("me:w@rd")})


@pytest.mark.parametrize(
    ("address", "more", "is_far"),
    [
        ("http://127.0.0.1:6006/v1/traces", {}, False),
        ("https://localhost/v1/traces", {"compress": False}, False),
        ("http://[::1]:4318/v1/traces", {"compress": True}, True),
        ("http://127.0.0.1:6006/v1/traces", {"proxy": "http://proxy:8080"}, True),
        ("http://192.168.1.2:6006/v1/traces", {}, True),
        ("https://cloud.langfuse.com/api/public/otel/v1/traces", {"compress": False}, True),
    ],
)
def test_what_is_on_this_machine_is_not_far_unless_compression_is_asked_for(
    address: str, more: dict[str, Any], is_far: bool
) -> None:
    assert TraceTarget("a", address, **more).is_far == is_far


def test_compression_is_what_was_said_of_it() -> None:
    said = [{}, {"compression": "gzip"}, {"compression": "none"}]
    tables = {f"t{number}": {"endpoint": f"http://{number}.example", **more} for number, more in enumerate(said)}
    assert [target.compress for target in list_configured_targets({"targets": tables}, {})] == [None, True, False]
    spoken = [{}, {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}, {"OTEL_EXPORTER_OTLP_COMPRESSION": "none"}]
    address = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://one.example"}
    assert [list_configured_targets({}, address | more)[0].compress for more in spoken] == [None, True, False]


def test_a_key_says_where_it_goes_and_does_not_change_with_a_secret() -> None:
    found = only(LANGFUSE)
    assert found.key == only({**LANGFUSE, "LANGFUSE_SECRET_KEY": "sk-lf-new"}).key
    others = [
        only({**LANGFUSE, "LANGFUSE_PUBLIC_KEY": "pk-lf-2"}),
        only({**LANGFUSE, "LANGFUSE_HOST": "https://us.cloud.langfuse.com"}),
        replace(found, url=found.url + "/x"),
        replace(found, headers={**found.headers, "x-project-name": "p"}),
    ]
    assert len({found.key, *(each.key for each in others)}) == 5
    assert replace(found, content="none", limit=3, timeout=1).key == found.key
    assert found.key.startswith("https://cloud.langfuse.com ")
    assert replace(found, name="other").key == found.key


def test_a_token_in_the_path_is_not_repeated_with_the_words_of_a_server() -> None:
    target = read_target(endpoint="http://h.example/in/tok-99zz-secret/v1/traces")
    assert target.hide_secrets("Cannot POST /in/tok-99zz-secret/v1/traces") == "Cannot POST /in/[secret]/v1/traces"
    assert not target.has_secrets


def test_two_tables_for_one_place_must_say_which_project_each_is() -> None:
    table = {"endpoint": "https://logs.example"}
    one, two = ({**table, "headers": {"authorization": key}} for key in ("first-key", "second-key"))
    with pytest.raises(UsageError, match="targets one and two have the same destination") as caught:
        list_configured_targets({"targets": {"one": one, "two": two}}, {})
    assert "key" not in str(caught.value).replace("keys", "")
    assert list_configured_targets({"targets": {"one": one, "two": two}}, {}, ["two"])[0].name == "two"
    found = list_configured_targets({"targets": {"one": one, "two": {**two, "project": "two"}}}, {})
    assert found[0].key != found[1].key
    assert len(list_configured_targets({"targets": {"one": one}}, {f"{OTEL}_ENDPOINT": "https://logs.example"})) == 2


def test_no_secret_stands_in_what_is_shown_or_kept() -> None:
    found = read_target(
        {"HTTPS_PROXY": f"http://me:{SECRET}@p"},
        endpoint=f"https://u:{SECRET}@h/path/{SECRET}?key={SECRET}",
        headers={"x-api-key": SECRET, "x-project-name": "p"},
    )
    for text in (found.key, found.display_name, repr(found), str(found)):
        assert SECRET not in text
        assert basic(f"u:{SECRET}") not in text
    assert found.display_name == "mine (https://h)"


def test_the_policy_of_a_target_is_what_was_chosen() -> None:
    assert tuple(read_target(endpoint="https://h").policy) == ("redacted", 20_000)
    assert tuple(read_target(endpoint="https://h", content="none", limit=7).policy) == ("none", 7)


def test_the_table_comes_from_the_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    monkeypatch.setenv("TURNLOG_CONFIG", str(file))
    file.write_text('[trace]\ncontent = "none"\n[trace.targets.mine]\nendpoint = "https://h"\n', encoding="utf-8")
    assert [(each.name, each.content) for each in list_configured_targets(load_config().trace, {})] == [
        ("mine", "none")
    ]
    file.write_text("trace = true\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"trace = True: expected a table with targets"):
        load_config()
    file.write_text("", encoding="utf-8")
    assert load_config().trace == {}


@pytest.mark.parametrize("number", range(4))
def test_what_the_documentation_shows_is_taken(number: int, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "trace.md").read_text("utf-8")
    example = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[number]
    (tmp_path / "ca.pem").touch()
    config = tomllib.loads(example.replace("~/ca.pem", (tmp_path / "ca.pem").as_posix()))["trace"]
    environ = {"PHOENIX_AUTHORIZATION": "Bearer x", "TEAM_SECRET_KEY": "sk"}
    assert [target.name for target in list_configured_targets(config, environ)] == list(config["targets"])
