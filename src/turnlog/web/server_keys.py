"""A server's host names, the cookie and the token of its pages, and the tokens of launches and programs.

    cookie         lets a browser read; HttpOnly, so no script sees it
    page token     must also come with every POST of a page; in the page's own storage, so no cookie gives it away
    launch token   in the address that opens a browser: worth one visit, in exchange for the two above
    program token  in the printed address: worth one visit, and as a header it lets programs in while the server runs

Browsers send the cookies of a host to all of its ports, but keep the storage of each port apart. So another local
server may learn the cookie of 127.0.0.1, but never a page token. Cookie and page token belong to one of the host names,
and everything ends with the server, whose secret is made when it starts.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from turnlog.web.own_name import build_own_name

LOOPBACK_HOST = "127.0.0.1"
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
DEFAULT_PORT = 4747
_MAX_COOKIES = 64
_MAX_LAUNCH_TOKENS = 64
"""How many launch tokens may be unused at the same time; the oldest ones end."""


class ServerKeys:
    """A server's host names, and everything that proves a right to talk to it."""

    def __init__(self, port: int, installation_secret: bytes) -> None:
        self.port = port
        self.own_name = build_own_name(installation_secret)
        names = (*LOOPBACK_NAMES, self.own_name)
        self.hosts = frozenset(f"{name}:{port}" for name in names) | (frozenset(names) if port == 80 else frozenset())
        self.cookie_name = f"turnlog-{port}"
        self.program_token = secrets.token_urlsafe(32)
        """The token in the printed address."""
        self._is_program_token_used = False
        self._launch_tokens: dict[str, None] = {}
        self._secret = secrets.token_bytes(32)

    def derive_cookie(self, host: str) -> str:
        return self._derive("cookie", host)

    def derive_page_token(self, host: str) -> str:
        return self._derive("page token", host)

    def _derive(self, purpose: str, host: str) -> str:
        return hmac.new(self._secret, f"{purpose} of {host.lower()}".encode(), hashlib.sha256).hexdigest()

    def has_cookie(self, host: str, cookies: str) -> bool:
        wanted = self.derive_cookie(host)
        for part in cookies.split(";", _MAX_COOKIES)[:_MAX_COOKIES]:
            name, _, value = part.strip().partition("=")
            if name == self.cookie_name and _is_equal(value, wanted):
                return True
        return False

    def is_page_token(self, host: str, token: str) -> bool:
        return _is_equal(token, self.derive_page_token(host))

    def is_program_token(self, token: str) -> bool:
        return _is_equal(token, self.program_token)

    def create_launch_token(self) -> str:
        """Create a token for one visit; it may become visible in the list of processes while a browser is started."""
        token = secrets.token_urlsafe(32)
        self._launch_tokens[token] = None
        if len(self._launch_tokens) > _MAX_LAUNCH_TOKENS:
            del self._launch_tokens[next(iter(self._launch_tokens))]
        return token

    def redeem_token(self, token: str, *, has_cookie: bool) -> bool:
        """Return whether a token opens the pages, and mark it as used.

        A browser that already has the cookie may open the printed address as often as it likes.
        """
        if self.is_program_token(token):
            is_first = not self._is_program_token_used
            self._is_program_token_used = True
            return is_first or has_cookie
        found = next((known for known in self._launch_tokens if _is_equal(token, known)), None)
        if found is not None:
            del self._launch_tokens[found]
        return found is not None


def _is_equal(text: str, wanted: str) -> bool:
    return hmac.compare_digest(text.encode(), wanted.encode())
