"""Addresses of servers and proxies."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.errors import UsageError
from turnlog.network.addresses import (
    encode_basic_credentials,
    find_proxy,
    format_public_address,
    is_loopback,
    parse_proxy_address,
    parse_server_address,
)

secrets = st.text("abcXYZ0189!:@/?#", min_size=1, max_size=20).map(lambda text: f"s3cret{text}")


@given(st.sampled_from(["http", "https"]), secrets, secrets, st.sampled_from(["h.example", "[::1]", "10.0.0.1:8080"]))
def test_what_is_shown_of_an_address_holds_neither_user_nor_password(
    scheme: str, user: str, password: str, host: str
) -> None:
    parts = urlsplit(f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@{host}/path?token=s3cret#s3cret")
    assert format_public_address(parts) == f"{scheme}://{host}"
    assert (encode_basic_credentials(parts) or "").startswith("Basic ")


def test_an_address_without_a_user_has_no_credentials() -> None:
    assert encode_basic_credentials(urlsplit("https://h.example")) is None


@pytest.mark.parametrize("address", ["h.example", "ftp://h.example", "https://", "https://h:99999", "https://[h"])
def test_what_is_no_address_of_a_server_is_refused_by_the_name_it_was_set_under(address: str) -> None:
    with pytest.raises(UsageError, match="SOME_URL is not a valid address"):
        parse_server_address(address, "SOME_URL")


@pytest.mark.parametrize("address", ["socks5://h.example:1080", "https://h.example", "http://"])
def test_a_proxy_that_is_not_spoken_to_by_http_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="this proxy is not supported"):
        parse_proxy_address(address)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("localhost", True), ("a.localhost", True), ("127.8.8.8", True), ("::1", True), ("localhost.example", False)],
)
def test_only_this_machine_is_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_a_proxy_leads_to_other_machines_that_are_not_exempt() -> None:
    given_ = {"HTTPS_PROXY": "p.example:3128", "NO_PROXY": ".inner.example, other"}
    assert find_proxy(urlsplit("https://h.example"), given_) == "http://p.example:3128"
    for address in ("https://a.inner.example", "https://other", "https://localhost", "http://h.example"):
        assert find_proxy(urlsplit(address), given_) is None
