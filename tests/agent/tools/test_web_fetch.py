"""WebFetch, against a real server."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.agent.tools.workshop import Clerk, Workshop
from turnlog.agent.tools import web_fetch
from turnlog.agent.tools.call_result import CallResult, ToolError
from turnlog.agent.tools.web_fetch import WebFetch, parse_fetch_url
from turnlog.model.failures import RequestCancelled
from turnlog.render.page_text import convert_html_to_text

Answers = dict[str, tuple[int, bytes, dict[str, str]]]
PAGE = """<!doctype html><html><head><title>A &amp; B</title><style>p{}</style><script>if (a<b) bad("</p>")</script>
</head><body><h1>Head</h1><p>Para <b>bold</b>
 and <i>it</i> <a href="/x">a <em>link</em></a></p><ul><li>one</li><li>two<ul><li>sub</li></ul></li></ul>
<ol><li>a</li><li>b</li></ol><pre><code>code
  x</code></pre><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>
<img src="i.png" alt="im"><!-- not this --><hr><blockquote>q</blockquote>line<br>break &lt;x&gt;</body></html>"""
TEXT = """A & B

# Head

Para **bold** and _it_ [a _link_](/x)

*   one
*   two

    *   sub

1.  a
2.  b

```
code
  x
```

| A | B |
| 1 | 2 |

![im](i.png)

* * *

> q

line
break <x>"""


class Site:
    """A server of pages; it keeps what it was asked for."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.agents: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *given: object) -> None: ...

            def do_GET(self) -> None:
                site.asked.append(self.path)
                site.agents.append(self.headers["user-agent"])
                status, body, headers = site.answers.get(self.path, (404, b"nothing", {}))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


@pytest.fixture
def site() -> Iterator[Callable[[Answers], Site]]:
    made: list[Site] = []

    def serve(answers: Answers) -> Site:
        made.append(Site(answers))
        return made[-1]

    yield serve
    for each in made:
        each.server.shutdown()
        each.server.server_close()


def html(body: str | bytes, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    raw = body.encode() if isinstance(body, str) else body
    return 200, raw, {"content-type": "text/html", **{name.replace("_", "-"): text for name, text in headers.items()}}


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path, Clerk(blocks=[{"type": "text", "text": "It is"}, {"type": "text", "text": " good."}]))


def fetch(shop: Workshop, url: str, tool: WebFetch | None = None, **more: object) -> CallResult:
    return shop.call(tool or WebFetch(), url=url, prompt="What is it?", **more)


def get_consulted_page(shop: Workshop) -> str:
    """The page as the small model was shown it."""
    return shop.clerk.consulted[-1].prompt.split("\n---\n")[1]


def test_a_page_becomes_text_and_the_model_answers(site: Callable[[Answers], Site], shop: Workshop) -> None:
    here = site({"/page": html(PAGE)})
    found = fetch(shop, f"{here.url}/page")
    assert found.content == "It is good."
    assert found.structured.pop("durationMs") >= 0
    assert found.structured == {
        "bytes": len(PAGE.encode()),
        "code": 200,
        "codeText": "OK",
        "result": "It is good.",
        "url": f"{here.url}/page",
    }
    assert get_consulted_page(shop) == TEXT
    assert shop.clerk.consulted[0].prompt.endswith("\n---\n\nWhat is it?")
    assert here.agents[0].startswith("turnlog/")


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "text/markdown", "application/vnd.api+json"])
def test_what_is_text_already_stays_as_it_is(site: Callable[[Answers], Site], shop: Workshop, kind: str) -> None:
    here = site({"/x": (200, b"<p>{}", {"content-type": kind})})
    fetch(shop, f"{here.url}/x")
    assert get_consulted_page(shop) == "<p>{}"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("grün".encode("latin-1"), "text/html; charset=iso-8859-1"),
        (b"<meta charset='iso-8859-1'>" + "grün".encode("latin-1"), "text/html"),
        ("grün".encode(), "text/html; charset=nonsense"),
    ],
)
def test_a_page_is_read_in_its_own_encoding(
    site: Callable[[Answers], Site], shop: Workshop, body: bytes, kind: str
) -> None:
    here = site({"/x": (200, body, {"content-type": kind})})
    fetch(shop, f"{here.url}/x")
    assert get_consulted_page(shop) == "grün"


def test_a_page_is_kept_for_a_while(site: Callable[[Answers], Site], shop: Workshop) -> None:
    here, tool = site({"/page": html("x")}), WebFetch()
    fetch(shop, f"{here.url}/page", tool)
    fetch(shop, f"{here.url}/page", tool)
    assert here.asked == ["/page"]
    assert len(shop.clerk.consulted) == 2


def test_a_page_that_was_kept_too_long_is_fetched_again(
    site: Callable[[Answers], Site], shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_fetch, "PAGE_CACHE_SECONDS", 0.0)
    here, tool = site({"/page": html("x")}), WebFetch()
    fetch(shop, f"{here.url}/page", tool)
    fetch(shop, f"{here.url}/page", tool)
    assert here.asked == ["/page", "/page"]


def test_a_redirect_on_the_same_host_is_followed(site: Callable[[Answers], Site], shop: Workshop) -> None:
    here = site({"/a": (302, b"", {"location": "/b"}), "/b": html("there")})
    assert fetch(shop, f"{here.url}/a").content == "It is good."
    assert get_consulted_page(shop) == "there"


@pytest.mark.parametrize(
    "there", ["https://example.com/there?x=1", "http://127.0.0.1:1/", "file:///etc/passwd", "http://u:p@127.0.0.1/"]
)
def test_a_redirect_to_elsewhere_is_told_and_not_followed(
    site: Callable[[Answers], Site], shop: Workshop, there: str
) -> None:
    here = site({"/a": (302, b"", {"location": there})})
    found = fetch(shop, f"{here.url}/a")
    assert str(found.content).startswith("REDIRECT DETECTED: ")
    assert f"): {there}\n    Status: 302 Found\n" in str(found.content)
    assert found.structured["code"] == 302
    assert shop.clerk.consulted == []


def test_redirects_come_to_an_end(site: Callable[[Answers], Site], shop: Workshop) -> None:
    here = site({"/a": (302, b"", {"location": "/a"})})
    text = "Too many redirects (exceeded 10)"
    assert fetch(shop, f"{here.url}/a") == CallResult(text, f"Error: {text}", is_error=True)


@pytest.mark.parametrize(("status", "words"), [(404, "404 Not Found"), (500, "500 Internal Server Error")])
def test_a_refusal_is_told(site: Callable[[Answers], Site], shop: Workshop, status: int, words: str) -> None:
    here = site({"/a": (status, b"secret", {})})
    found = fetch(shop, f"{here.url}/a")
    assert str(found.content).startswith(f"The server returned HTTP {words}.\n\n")
    assert (found.structured["bytes"], found.structured["code"]) == (0, status)


def test_what_is_no_text_is_kept_as_a_file(site: Callable[[Answers], Site], shop: Workshop) -> None:
    here = site({"/a": (200, b"%PDF-1.4", {"content-type": "application/pdf"})})
    found = fetch(shop, f"{here.url}/a")
    kept = next((shop.session / "tool-results").iterdir())
    assert found.content == f"[Binary content (application/pdf, 8 bytes) saved to {kept}]"
    assert kept.suffix == ".pdf"
    assert kept.read_bytes() == b"%PDF-1.4"


def test_a_long_page_is_read_in_parts(site: Callable[[Answers], Site], shop: Workshop) -> None:
    here, tool = site({"/a": (200, b"a" * 100_000 + b"b" * 5, {"content-type": "text/plain"})}), WebFetch()
    first = fetch(shop, f"{here.url}/a", tool)
    assert str(first.content).endswith(
        "[WebFetch note: this page's text is 100005 characters long and the answer above covers only characters 0 to "
        "100000; the final 5 were not read — to read on, call WebFetch again with the same url and offset: 100000.]"
    )
    assert get_consulted_page(shop).startswith("a" * 100_000 + "\n\n[")
    last = fetch(shop, f"{here.url}/a", tool, offset=100_000)
    assert last.content == "It is good."
    assert get_consulted_page(shop) == "bbbbb"


def test_behind_the_end_of_a_page_there_is_nothing_to_ask(site: Callable[[Answers], Site], shop: Workshop) -> None:
    here = site({"/a": (200, b"short", {"content-type": "text/plain"})})
    told = "Nothing left to read from offset 5: this page's text is 5 characters long."
    assert fetch(shop, f"{here.url}/a", offset=5).content == told
    assert shop.clerk.consulted == []


def test_a_packed_page_is_unpacked(site: Callable[[Answers], Site], shop: Workshop) -> None:
    here = site({"/a": html(gzip.compress(b"packed"), content_encoding="gzip")})
    fetch(shop, f"{here.url}/a")
    assert get_consulted_page(shop) == "packed"


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_page_that_is_too_large_is_refused(
    site: Callable[[Answers], Site], shop: Workshop, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_fetch, "MAX_PAGE_BYTES", 1 << 20)
    body = b"a" * (2 << 20)
    here = site({"/a": html(gzip.compress(body) if encoding == "gzip" else body, content_encoding=encoding)})
    assert "larger than 1 MB" in str(fetch(shop, f"{here.url}/a").content)


def test_a_page_that_is_packed_wrongly_is_refused(site: Callable[[Answers], Site], shop: Workshop) -> None:
    here = site({"/a": html(b"not packed", content_encoding="gzip")})
    assert "can't be decompressed" in str(fetch(shop, f"{here.url}/a").content)


def test_a_page_that_takes_too_long_is_refused(
    site: Callable[[Answers], Site], shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = site({"/a": html("x")})
    monkeypatch.setattr(web_fetch, "MAX_FETCH_SECONDS", -1.0)
    assert "took longer" in str(fetch(shop, f"{here.url}/a").content)


def test_a_server_that_is_not_there_is_told(shop: Workshop) -> None:
    found = fetch(shop, "http://127.0.0.1:1/x")
    assert found.is_error
    assert str(found.content).startswith("127.0.0.1 can't be reached: ")


def test_fetching_can_be_cancelled(shop: Workshop, site: Callable[[Answers], Site]) -> None:
    class Slow(dict):  # type: ignore[type-arg]
        def get(self, *given: object) -> tuple[int, bytes, dict[str, str]]:
            shop.cancel.set()
            time.sleep(0.2)
            return html("late")

    here = site(Slow())
    with pytest.raises(RequestCancelled):
        shop.call(WebFetch(), url=f"{here.url}/a", prompt="x")


@pytest.mark.parametrize(
    "url",
    ["", "not a url", "http://", "file:///etc/passwd", "https://u:p@example.com/x", "https://[::1", "https://a b.com/",
     "https://example.com:port/", "gopher://example.com/", "https://exämple.com/"],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ToolError, match="Invalid URL"):
        parse_fetch_url(url)


@pytest.mark.parametrize("url", ["http://localhost/x", "https://intranet/"])
def test_names_without_a_dot_are_refused(url: str) -> None:
    with pytest.raises(ToolError, match="without a dot"):
        parse_fetch_url(url)


def test_http_becomes_https_except_on_this_machine() -> None:
    assert parse_fetch_url("http://example.com/x").scheme == "https"
    assert parse_fetch_url("http://127.0.0.1:8000/x").scheme == "http"


def test_signs_that_no_address_may_have_are_written_as_numbers() -> None:
    parts = parse_fetch_url("https://example.com/grün weg?q=ä b&x=%20#there")
    assert (parts.path, parts.query, parts.fragment) == ("/gr%C3%BCn%20weg", "q=%C3%A4%20b&x=%20", "")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("a < b and c > d", "a < b and c > d"),
        ("a<br", "a"),
        ("<!-- open", ""),
        ("<script>open", ""),
        ("</p></ul></blockquote></pre></a>x</td>", "x |"),
        ("<li>loose", "*   loose"),
        ("<a href='javascript:x'>y</a> <a>z</a>", "y z"),
        ("&#" + "9" * 5000 + ";", "&#" + "9" * 5000 + ";"),
        ("<TITLE>One</TITLE><title>Two</title><P>x", "One\n\nx"),
        ("<pre>a <b>b</b>\n c</pre>", "```\na b\n c\n```"),
        ("", ""),
    ],
)
def test_odd_pages_are_read_as_far_as_they_go(page: str, text: str) -> None:
    assert convert_html_to_text(page) == text


@pytest.mark.parametrize(
    "piece", ["<", "< ", "<a ", "<!--", "<!", "</", "&#", "<div>", "<ul><li>", "<a href=x>", "<b>"]
)
def test_pages_made_to_be_slow_are_read(piece: str) -> None:
    convert_html_to_text(piece * 50_000 + ">")


def test_fetching_runs_beside_others() -> None:
    assert WebFetch().is_safe({})
