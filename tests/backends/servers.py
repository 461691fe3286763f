"""Tracing backends as processes of their own: on loopback, on free ports, in a folder that is thrown away."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.request import ProxyHandler, build_opener

from bootstrap import ROOT, find_script

BACKENDS = ROOT / ".backends"
NAMES = ("phoenix", "mlflow")

# The first start makes a database, on a machine that may be busy.
PATIENCE = 180.0


class NotReady(Exception):
    """A server that ended or says nothing; with the last lines it wrote."""


class Server(NamedTuple):
    """A server that was started."""

    name: str
    address: str
    health: str
    """The path that answers when it is ready."""
    process: subprocess.Popen[bytes]
    log: Path

    def ready(self) -> str:
        """Wait until it answers; its address."""
        until = time.monotonic() + PATIENCE
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > until:
                words = self.log.read_text("utf-8", "replace").splitlines()[-20:]
                raise NotReady("\n".join([f"{self.name} does not answer at {self.address}", *words]))
            time.sleep(0.2)
        return self.address

    def _answers(self) -> bool:
        try:
            with build_opener(ProxyHandler({})).open(self.address + self.health, timeout=60) as answer:
                return bool(answer.status == 200)
        except (OSError, HTTPException):
            return False

    def end(self) -> None:
        """End it and what it started."""
        _signal(self.process, signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            _signal(self.process, getattr(signal, "SIGKILL", signal.SIGTERM))
            self.process.wait(60)


def list_missing_backends() -> list[str]:
    """The backends that are not installed."""
    return [name for name in NAMES if not find_script(BACKENDS / name, "python").exists()]


@contextmanager
def run_backend(name: str, folder: Path) -> Iterator[Server]:
    """Start a backend whose files are below a folder; it may not be ready yet."""
    port = free_port()
    words, environment, health = {"phoenix": _phoenix, "mlflow": _mlflow}[name](folder, port)
    log = folder / f"{name}.log"
    # What our own environment says of proxies, paths and endpoints is not for them.
    kept = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP") if key in os.environ}
    with log.open("wb") as out:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env={**kept, "HOME": str(folder), **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(name, f"http://127.0.0.1:{port}", health, process, log)
    try:
        yield server
    finally:
        server.end()


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _phoenix(folder: Path, port: int) -> tuple[list[str], Mapping[str, str], str]:
    # -P: the folder of the program holds a module that is called as the package is.
    words = [str(find_script(BACKENDS / "phoenix", "python")), "-P", str(Path(__file__).with_name("serve_phoenix.py"))]
    environment = {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }
    return words, environment, "/healthz"


def _mlflow(folder: Path, port: int) -> tuple[list[str], Mapping[str, str], str]:
    words = [str(find_script(BACKENDS / "mlflow", "python")), "-m", "mlflow", "server", "--host", "127.0.0.1"]
    words += ["--port", str(port), "--workers", "1", "--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"]
    words += ["--artifacts-destination", str(folder / "artifacts")]
    environment = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        # Prices come from the package, not from the network.
        "MLFLOW_MODEL_CATALOG_URI": "",
        # Without this it starts a worker for each kind of job.
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
    return words, environment, "/health"


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    if hasattr(os, "killpg"):
        # Its own group, which it leads: MLflow serves from a child.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    else:
        process.terminate()
