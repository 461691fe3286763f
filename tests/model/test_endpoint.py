"""Where a model is asked, from the environment: which addresses and keys are taken, and which are refused."""

from __future__ import annotations

import pytest

from turnlog.errors import UsageError
from turnlog.model.anthropic import AnthropicModel
from turnlog.model.endpoint import DEFAULT_BASE_URL, Endpoint
from turnlog.model.request import build_prompt_request

KEY = {"ANTHROPIC_API_KEY": "sk-ant-secret"}


def test_a_key_is_enough() -> None:
    found = Endpoint.from_environment(KEY)
    assert (found.url, found.key, found.token, found.proxy) == (DEFAULT_BASE_URL, "sk-ant-secret", None, None)
    assert found.build_headers()["x-api-key"] == "sk-ant-secret"


def test_without_a_key_the_remedy_is_named() -> None:
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY"):
        Endpoint.from_environment({"ANTHROPIC_API_KEY": "  "})


def test_a_key_is_never_shown() -> None:
    given = {**KEY, "ANTHROPIC_AUTH_TOKEN": "tok-secret", "HTTPS_PROXY": "http://u:pass-secret@proxy:1"}
    assert "secret" not in repr(Endpoint.from_environment(given))


@pytest.mark.parametrize("value", ["sk\r\nx: y", "sk-ä", "sk\0"])
def test_a_key_that_is_none_is_refused_without_being_told(value: str) -> None:
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY contains") as caught:
        Endpoint.from_environment({"ANTHROPIC_API_KEY": value})
    assert value not in str(caught.value)


@pytest.mark.parametrize("url", ["gateway", "ftp://x", "https://", "https://x:99999", "http://[::1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="ANTHROPIC_BASE_URL is not a valid address"):
        Endpoint.from_environment({**KEY, "ANTHROPIC_BASE_URL": url})


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:5", "http://a.localhost"])
def test_a_key_may_go_to_this_machine_unencrypted(url: str) -> None:
    assert Endpoint.from_environment({**KEY, "ANTHROPIC_BASE_URL": url}).url == url


def test_a_key_does_not_go_elsewhere_unencrypted() -> None:
    given = {**KEY, "ANTHROPIC_BASE_URL": "http://user:pw@10.0.0.1:80/x/"}
    with pytest.raises(UsageError, match=r"http://10\.0\.0\.1:80: the key would be sent unencrypted"):
        Endpoint.from_environment(given)


@pytest.mark.parametrize(
    ("given", "proxy"),
    [
        ({"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ({"https_proxy": "p:1"}, "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ({"HTTP_PROXY": "http://p:1"}, None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com, .anthropic.com"}, None),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": "*"}, None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "thropic.com"}, "http://p:1"),
    ],
)
def test_a_proxy_is_taken_from_the_environment(given: dict[str, str], proxy: str | None) -> None:
    assert Endpoint.from_environment({**KEY, **given}).proxy == proxy


def test_this_machine_is_asked_without_a_proxy() -> None:
    given = {**KEY, "ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "HTTP_PROXY": "http://p:1", "ALL_PROXY": "http://p:1"}
    assert Endpoint.from_environment(given).proxy is None


def test_a_proxy_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="must start with http://"):
        AnthropicModel(Endpoint(key="k", proxy="socks5://p:1")).complete(build_prompt_request("m", "x"))
