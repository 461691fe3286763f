"""Opens a page of the web app in the browser: of a running `turnlog web`, or of one that is started for it."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import threading

from turnlog.api.config import data_dir
from turnlog.errors import TurnlogError
from turnlog.web.secret import load_secret
from turnlog.web.security import DEFAULT_PORT, LOOPBACK_HOST, ServerKeys

_CHECK_SECONDS = 1.0
_ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)")


class PageOpener:
    """Opens pages; a server that it had to start ends when it is closed."""

    def __init__(self) -> None:
        self._root = ""
        self._token = ""
        """The one-time token of a server that was started here; empty once it was used."""
        self._process: subprocess.Popen[str] | None = None

    def open(self, path: str) -> str:
        """Open a page, and return a remark for the user."""
        if not self._root or (self._process is not None and self._process.poll() is not None):
            self._find_server()
        address = f"{self._root}{path}" + (f"?token={self._token}" if self._token else "")
        self._token = ""
        return f"Opened {self._root}{path}" if _open_browser(address) else f"Can't open a browser; open {address}"

    def close(self) -> None:
        """Stop the server that was started here."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def _find_server(self) -> None:
        self.close()
        if is_server_running():
            self._root = f"http://{LOOPBACK_HOST}:{DEFAULT_PORT}"
            return
        self._process = subprocess.Popen(
            [sys.executable, "-m", "turnlog", "web", "--no-open"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := _ADDRESS.search(line):
                self._root, self._token = found.groups()
                return
        raise TurnlogError("`turnlog web` did not start; run it to see why")


def is_server_running() -> bool:
    """Return whether a `turnlog web` with this user's secret listens on the default port."""
    try:
        keys = ServerKeys(DEFAULT_PORT, load_secret(data_dir()))
        connection = http.client.HTTPConnection(LOOPBACK_HOST, DEFAULT_PORT, timeout=_CHECK_SECONDS)
        try:
            connection.request("HEAD", "/api/state", headers={"cookie": f"{keys.cookie_name}={keys.cookie}"})
            return connection.getresponse().status == 200
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, TurnlogError):
        return False


def _open_browser(address: str) -> bool:
    import webbrowser

    opened: list[bool] = []

    def open_address() -> None:
        try:
            opened.append(webbrowser.open(address))
        except (webbrowser.Error, OSError):
            opened.append(False)

    thread = threading.Thread(target=open_address, daemon=True)
    thread.start()
    thread.join(2.0)  # some browsers only return when they are closed
    return opened != [False]
