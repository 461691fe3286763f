"""Encrypted connections: a certificate that nobody vouches for is refused before the key is sent."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.model.server import KEY, QUICK, START, STOP, endpoint, page, read_request, text_block
from turnlog.model.anthropic import connect_model
from turnlog.model.failures import RequestRejected
from turnlog.model.request import build_prompt_request

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl, to make a certificate")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for `localhost`, with its key in the same file."""
    made, key = tmp_path / "made.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost".split(),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(made)),
        ],
        check=True,
        capture_output=True,
    )
    made.write_text(made.read_text() + key.read_text())
    return made


@pytest.fixture
def server(certificate: Path) -> Iterator[tuple[int, list[bytes]]]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    seen: list[bytes] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                plain, _ = listening.accept()
                with plain, suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
                    seen.append(read_request(connection))
                    connection.sendall(page(START + text_block("safe") + STOP))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1], seen
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
    thread.join(60)


def test_a_certificate_that_nobody_vouches_for_is_refused(server: tuple[int, list[bytes]]) -> None:
    port, seen = server
    with pytest.raises(RequestRejected, match="certificate was rejected"):
        connect_model(endpoint(f"https://localhost:{port}"), QUICK).complete(build_prompt_request("m", "x"))
    assert seen == []


def test_a_certificate_can_be_vouched_for(
    server: tuple[int, list[bytes]], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, seen = server
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert (
        connect_model(endpoint(f"https://localhost:{port}"), QUICK).complete(build_prompt_request("m", "x")).text
        == "safe"
    )
    assert KEY.encode() in seen[0]
