"""What these tests stand on: both backends, running, each with an empty database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backends.mlflow import Mlflow
from tests.backends.phoenix import Phoenix
from tests.backends.seen_spans import Backend
from tests.backends.servers import list_missing_backends, run_backend


@pytest.fixture(scope="session")
def backends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Backend]]:
    """Both servers, by their names: started together, since each takes its time.

    Without them these tests are skipped, but not where everything has to be tested.
    """
    if names := list_missing_backends():
        reason = f"{' and '.join(names)} not installed; scripts/install-backends gets them"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    folders: list[Path] = [tmp_path_factory.mktemp(name) for name in ("phoenix", "mlflow")]
    with run_backend("phoenix", folders[0]) as phoenix, run_backend("mlflow", folders[1]) as mlflow:
        yield {"phoenix": Phoenix(phoenix.ready()), "mlflow": Mlflow(mlflow.ready())}


@pytest.fixture(params=["phoenix", "mlflow"])
def backend(request: pytest.FixtureRequest, backends: dict[str, Backend]) -> Backend:
    """One backend after the other."""
    return backends[request.param]
