"""Posting: one request, one verdict, whatever a server does, and no credential in anything that is kept of it."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from tests.model.server import Raw, find_closed_address, page, read_request
from tests.trace.recorder import Answer, Recorder
from tests.trace.test_otlp import span
from turnlog._version import __version__
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.wire.otlp import build_span_batches
from turnlog.trace.wire.poster import PostAccepted, PostDeferred, Poster, PostRefused, PostTooLarge, PostVerdict

SECRET = "sk-lf-very-secret"
PAIR = b64encode(f"pk-lf-1:{SECRET}".encode()).decode()
(BATCH,) = build_span_batches([span(1, 100), span(2, 100)])


def target(url: str, **fields: Any) -> TraceTarget:
    return TraceTarget("mine", url, {"authorization": f"Basic {PAIR}"}, **{"timeout": 5.0, **fields})


def post(url: str, body: bytes = BATCH.body, **fields: Any) -> PostVerdict:
    with Poster(target(url, **fields)) as poster:
        return poster.post(body)


def post_with_answer(recorder: Recorder, answer: Answer, **fields: Any) -> PostVerdict:
    recorder.answers.append(answer)
    return post(recorder.url, **fields)


def test_a_request_says_what_it_brings_and_who_asks(recorder: Recorder) -> None:
    assert post(f"{recorder.url}/in/v1/traces?a=b") == PostAccepted()
    (request,) = recorder.requests
    assert request.path == "/in/v1/traces?a=b"
    assert request.body == BATCH.body
    told = {name: value for name, value in request.headers.items() if name not in ("host", "accept-encoding")}
    assert told == {
        "content-type": "application/x-protobuf",
        "content-encoding": "gzip",
        "content-length": str(len(BATCH.body)),
        "user-agent": f"turnlog/{__version__}",
        "authorization": f"Basic {PAIR}",
    }
    assert [each["name"] for each in recorder.spans] == ["span 1", "span 2"]


def test_where_nothing_is_to_be_compressed_it_is_not(recorder: Recorder) -> None:
    assert post(recorder.url, compress=False) == PostAccepted()
    assert "content-encoding" not in recorder.requests[0].headers
    assert [each["name"] for each in recorder.spans] == ["span 1", "span 2"]


def test_one_connection_brings_many_requests(recorder: Recorder) -> None:
    recorder.answers += [200, 503, ("status", 400, "no"), 200]
    with Poster(target(recorder.url)) as poster:
        for _ in range(5):
            poster.post(BATCH.body)
    assert (len(recorder.requests), recorder.connections) == (5, 1)


def test_a_connection_that_the_server_has_let_go_of_is_made_anew() -> None:
    with Recorder() as first, Poster(target(first.url)) as poster:
        assert poster.post(BATCH.body) == PostAccepted()
        port = first.port
        first.__exit__()
        with Recorder(listen=port) as second:
            assert poster.post(BATCH.body) == PostAccepted()
            assert len(second.requests) == 1


def test_a_server_that_ends_each_connection_gets_a_new_one() -> None:
    with Raw(*[page(b"", kind="application/x-protobuf")] * 2) as raw, Poster(target(raw.url)) as poster:
        assert [poster.post(BATCH.body), poster.post(BATCH.body)] == [PostAccepted(), PostAccepted()]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529])
def test_what_passes_is_for_later(recorder: Recorder, status: int) -> None:
    found = post_with_answer(recorder, ("status", status, "come back"))
    assert found == PostDeferred(f"{status}: come back", unsure=status in (500, 502, 504)), "a gateway does not know"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 415, 422])
def test_what_will_not_pass_is_refused_with_the_words_of_the_server(recorder: Recorder, status: int) -> None:
    assert post_with_answer(recorder, ("status", status, "no such thing")) == PostRefused(status, "no such thing")


def test_a_status_without_words_has_its_usual_ones(recorder: Recorder) -> None:
    assert post_with_answer(recorder, 404) == PostRefused(404, "Not Found")


def test_a_request_that_is_too_large_is_told_apart(recorder: Recorder) -> None:
    assert post_with_answer(recorder, ("status", 413, "1 MB at most")) == PostTooLarge("413: 1 MB at most")


def test_a_redirect_is_not_followed(recorder: Recorder) -> None:
    with Recorder() as other:
        found = post_with_answer(recorder, ("redirect", other.url))
        assert isinstance(found, PostRefused)
        assert (found.status, "redirects" in found.words, other.requests) == (307, True, [])


@pytest.mark.parametrize(
    ("said", "after"),
    [(2, 2.0), (0, 0.0), ("1.5", 1.5), (10**9, 86400.0), ("soon", None), ("nan", None), ("-1", None)],
)
def test_how_long_the_server_wants_to_be_left_alone_is_heard(
    recorder: Recorder, said: Any, after: float | None
) -> None:
    found = post_with_answer(recorder, ("retry-after", said))
    assert isinstance(found, PostDeferred)
    assert found.after == after


def test_a_date_after_which_to_come_back_is_understood(recorder: Recorder) -> None:
    for ahead, least, most in ((3600, 3000, 3600), (-3600, 0, 0)):
        found = post_with_answer(
            recorder, ("retry-after", format_datetime(datetime.now(UTC) + timedelta(seconds=ahead)))
        )
        assert isinstance(found, PostDeferred)
        assert found.after is not None
        assert least <= found.after <= most


def test_rejected_spans_of_an_accepted_request_are_told(recorder: Recorder) -> None:
    assert post_with_answer(recorder, ("partial", 2, "too\nold")) == PostAccepted(
        "2 of its spans were rejected: too old", 2
    )
    assert post_with_answer(recorder, ("partial", 1)) == PostAccepted(
        "1 of its spans were rejected: no reason given", 1
    )
    assert post_with_answer(recorder, ("partial", 0, "a warning")) == PostAccepted()


@pytest.mark.parametrize(
    ("body", "partial"),
    [
        (b"{}", None),
        (b'{"partialSuccess": {}}', None),
        (b'{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "bad"}}', "3 of its spans were rejected: bad"),
        (b'{"partial_success": {"rejected_spans": 1}}', "1 of its spans were rejected: no reason given"),
        (b'{"partialSuccess": {"rejectedSpans": ["x"], "errorMessage": 7}}', None),
        (b'{"partialSuccess": 7}', None),
        (b"[" * 5000, None),
        (b"\xff\xfe", None),
    ],
)
def test_an_answer_in_json_is_understood_too(recorder: Recorder, body: bytes, partial: str | None) -> None:
    assert post_with_answer(recorder, ("page", body, "application/json")) == PostAccepted(
        partial, int(partial[0]) if partial else 0
    )


def test_an_answer_that_is_no_protobuf_accepts_all_the_same(recorder: Recorder) -> None:
    assert post_with_answer(recorder, ("page", b"\x0a\xff", "application/x-protobuf")) == PostAccepted()


def test_a_page_is_no_answer_of_a_tracing_backend(recorder: Recorder) -> None:
    found = post_with_answer(recorder, ("page", b"<title>x</title><h1>Log in</h1>"))
    assert isinstance(found, PostRefused)
    assert "is the address correct? Log in" in found.words


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b'{"message": "no project"}', "application/json", "no project"),
        (b'{"error": {"message": "deep"}}', "application/json", "deep"),
        (b'{"detail": [{"message": "first"}, {"message": "second"}]}', "application/json", "first"),
        (b'{"strange": 1}', "application/json", '{"strange": 1}'),
        (b"\x08\x03\x12\x08bad span", "application/x-protobuf", "bad span"),
        (b"<html><style>b{}</style><b>Bad</b> gateway</html>", "text/html", "Bad gateway"),
        (b"\x1b[2Jred\x00\xff\xe2\x80\xae\nline", "text/plain", "[2Jred � line"),
        (b"x" * 9000, "text/plain", "x" * 500),
    ],
)
def test_the_words_of_a_server_are_found_and_can_be_shown(body: bytes, kind: str, words: str) -> None:
    with Raw(page(body, "400 Bad Request", kind)) as raw:
        assert post(raw.url) == PostRefused(400, words)


@pytest.mark.parametrize("form", [SECRET, PAIR, f"Basic {PAIR}", f"pk-lf-1:{SECRET}"])
@pytest.mark.parametrize("status", [400, 413, 503])
def test_no_credential_comes_back_in_the_words_of_a_server(recorder: Recorder, form: str, status: int) -> None:
    # At a place where the words are cut, half of a secret would be left.
    for before in ("you said ", "x" * 490):
        found = str(post_with_answer(recorder, ("status", status, f"{before}{form}!")))
        assert SECRET[:4] not in found
        assert PAIR[:8] not in found


def test_no_credential_comes_back_in_what_is_rejected(recorder: Recorder) -> None:
    found = post_with_answer(recorder, ("partial", 1, f"key {SECRET}"))
    assert found == PostAccepted("1 of its spans were rejected: key [secret]", 1)


def test_a_server_that_is_not_there_is_for_later() -> None:
    with find_closed_address() as url:
        found = post(url)
    assert isinstance(found, PostDeferred)
    assert found.reason.startswith("can't be reached: ")
    assert not found.unsure


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 70])
def test_a_name_that_nobody_has_is_for_later(host: str) -> None:
    found = post(f"http://{host}/")
    assert isinstance(found, PostDeferred)
    assert not found.unsure


@pytest.mark.parametrize("answer", ["cut", "lost", ("hang", 30)])
def test_what_went_out_and_was_not_answered_may_have_arrived(recorder: Recorder, answer: Answer) -> None:
    found = post_with_answer(recorder, answer, timeout=0.3)
    assert isinstance(found, PostDeferred)
    assert found.unsure


def test_after_a_cut_the_next_request_is_sent_over_a_new_connection(recorder: Recorder) -> None:
    recorder.answers += ["cut", 200]
    with Poster(target(recorder.url)) as poster:
        assert isinstance(poster.post(BATCH.body), PostDeferred)
        assert poster.post(BATCH.body) == PostAccepted()


def test_a_server_that_hangs_is_left_in_time(recorder: Recorder) -> None:
    assert post_with_answer(recorder, ("hang", 30), timeout=0.2) == PostDeferred("no response in time", unsure=True)


@pytest.mark.parametrize("answer", [b"", b"\x00\x01\x02 garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 500])
def test_what_is_no_answer_is_for_later(answer: bytes) -> None:
    with Raw(answer) as raw:
        found = post(raw.url)
    assert isinstance(found, PostDeferred)
    assert found.unsure


def test_a_2xx_counts_even_if_the_rest_of_the_answer_never_comes() -> None:
    with Raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab") as raw:
        assert post(raw.url) == PostAccepted()


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    with Raw(page(b"x" * (1 << 22), "503 Busy", "text/plain")) as raw:
        assert post(raw.url) == PostDeferred("503: " + "x" * 500)


def test_a_server_that_hangs_up_on_a_large_request_is_heard_out() -> None:
    with _impatient(page(b"too much", "413 Too Large", "text/plain")) as url:
        assert post(url, b"x" * (1 << 24), timeout=0.5) == PostTooLarge("413: too much")


@contextmanager
def _impatient(answer: bytes) -> Iterator[str]:
    """A server that answers before it has read the request, and reads no more."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(100)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                enough.wait(20)

        enough = threading.Event()
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        enough.set()
        thread.join(60)


def test_a_proxy_is_told_the_whole_address_and_its_own_password() -> None:
    with Raw(page(b"", kind="application/x-protobuf")) as proxy:
        assert (
            post("http://backend.invalid:99/v1/traces", proxy=f"http://me:word@127.0.0.1:{proxy.port}")
            == PostAccepted()
        )
    head = proxy.requests[0].partition(b"\r\n\r\n")[0].decode()
    assert head.startswith("POST http://backend.invalid:99/v1/traces HTTP/1.1\r\n")
    assert f"proxy-authorization: Basic {b64encode(b'me:word').decode()}" in head.splitlines()


def test_a_safe_request_goes_through_a_tunnel() -> None:
    with Raw(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") as proxy:
        found = post("https://backend.invalid/v1/traces", proxy=f"http://me:word@127.0.0.1:{proxy.port}")
    assert isinstance(found, PostDeferred)
    assert "407" in found.reason
    assert proxy.requests[0].startswith(b"CONNECT backend.invalid:443")
    assert PAIR.encode() not in proxy.requests[0]


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for `localhost`, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, to make a certificate")
    made, key = tmp_path / "made.pem", tmp_path / "key.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost".split()
    more = ("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(made))
    subprocess.run([*words, *more], check=True, capture_output=True)
    made.write_text(made.read_text() + key.read_text())
    return made


@contextmanager
def _safe(certificate: Path, seen: list[bytes]) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def serve() -> None:
        with suppress(OSError):
            while True:
                plain, _ = listening.accept()
                with plain, suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
                    for _ in range(2):
                        seen.append(read_request(connection))
                        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"https://localhost:{listening.getsockname()[1]}"
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
    thread.join(60)


def test_a_certificate_that_nobody_vouches_for_is_not_trusted_with_the_key(certificate: Path) -> None:
    seen: list[bytes] = []
    with _safe(certificate, seen) as url:
        found = post(url)
    assert isinstance(found, PostDeferred)
    assert found.reason.startswith("its certificate is not trusted")
    assert seen == []


def test_a_certificate_that_the_target_names_is_trusted(certificate: Path) -> None:
    seen: list[bytes] = []
    with _safe(certificate, seen) as url, Poster(target(url, certificate=str(certificate))) as poster:
        assert [poster.post(BATCH.body), poster.post(BATCH.body)] == [PostAccepted(), PostAccepted()]
    assert len(seen) == 2
